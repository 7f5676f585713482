/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tables of the text report about wakeups: classes, latency, missed idle, the worst, idle while waiting, wake_affine.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/report/text_priv.h"

#define NR(a) (sizeof(a) / sizeof(*(a)))

static bool print(struct wi_table *t, FILE *out, struct wi_err *err)
{
	return wi_table_print(t, out, 2) || wi_err_nomem(err);
}

/* count .. max of a histogram: five cells. */
static void latency_cells(struct wi_table *t, const struct wi_hist *h)
{
	wi_table_count(t, h->count);
	if (!h->count) {
		for (int i = 0; i < 4; i++)
			wi_table_none(t);
		return;
	}
	wi_table_ns(t, wi_hist_quantile(h, 0.5));
	wi_table_ns(t, wi_hist_quantile(h, 0.9));
	wi_table_ns(t, wi_hist_quantile(h, 0.99));
	wi_table_ns(t, h->max_ns);
}

bool wi_text_wakeups(FILE *out, const struct wi_report *rep, struct wi_err *err)
{
	static const struct wi_column columns[] = { { "class", true, false },  { "wakeups", false, false },
						    { "share", false, false }, { "measured", false, false },
						    { "p50", false, false },   { "p90", false, false },
						    { "p99", false, false },   { "max", false, false } };
	const struct wi_results *r = rep->results;
	const struct wi_wakeup_results *w = &r->wakeups;
	struct wi_table *t;

	if (!w->total && !r->quality.exec_count)
		return true;
	fprintf(out,
		"\nWAKEUPS %" PRIu64
		" by what the kernel did, and their latency (class select: a placement decision)\n",
		w->total);
	t = wi_table_new(columns, NR(columns));
	for (int c = 0; c < WAKEIF_NR_CLASSES; c++) {
		if (!w->by_class[c])
			continue;
		wi_table_text(t, wi_class_name((enum wakeif_class)c));
		wi_table_count(t, w->by_class[c]);
		wi_table_share(t, w->by_class[c], w->total);
		latency_cells(t, &r->latency.by_class[c]);
	}
	if (!print(t, out, err))
		return false;
	if (w->running || w->died || w->replaced || w->unknown || w->censored) {
		struct wi_para p = { 0 };

		wi_para_add(&p,
			    "%" PRIu64 " ran on without a wait, %" PRIu64 " died first, %" PRIu64
			    " woken again or contradicted, %" PRIu64 " lost, %" PRIu64 " still waiting",
			    w->running, w->died, w->replaced, w->unknown, w->censored);
		if (!wi_para_print(&p, out, "  not measured:", 16))
			return wi_err_nomem(err);
	}
	if (w->stalled)
		fprintf(out,
			"  waker silent > 100 us after sched_waking: decision instant uncertain: %" PRIu64
			" of class select\n",
			w->stalled);
	if (rep->maybe_delayed_known && w->maybe_delayed)
		fprintf(out,
			"  of class select %" PRIu64 " may have been delayed dequeues without a decision (6.12+)\n",
			w->maybe_delayed);
	if (r->quality.exec_count)
		fprintf(out, "  besides, sched_process_exec: %" PRIu64 "\n", r->quality.exec_count);
	return true;
}

/* Sums of the counts per power of two. */
static uint64_t octave_count(const struct wi_hist *h, unsigned int octave)
{
	uint64_t lo = octave ? 1ull << octave : 0, sum = 0;
	uint32_t first = wi_hist_index(lo), last = octave >= 63 ? h->nr : wi_hist_index(2ull << octave);

	for (uint32_t i = first; i < last && i < h->nr; i++)
		sum += h->bucket[i];
	return sum;
}

void wi_report_text_hist(FILE *out, const struct wi_hist *h, unsigned int indent)
{
	enum { BAR = 50 };
	unsigned int first = 64, last = 0;
	uint64_t most = 0;

	for (unsigned int o = 0; o < 64; o++) {
		uint64_t n = octave_count(h, o);

		if (!n)
			continue;
		first = first == 64 ? o : first;
		last = o;
		most = n > most ? n : most;
	}
	for (unsigned int o = first; first < 64 && o <= last; o++) {
		uint64_t n = octave_count(h, o);
		char a[WI_FMT_LEN], b[WI_FMT_LEN], s[WI_FMT_LEN];
		int bar = (int)((double)n / (double)most * BAR + 0.5);

		fprintf(out, "%*s%8s .. %-8s |%-*.*s| %8" PRIu64 "  %s\n", (int)indent, "",
			wi_fmt_ns(a, sizeof(a), o ? 1ull << o : 0),
			wi_fmt_ns(b, sizeof(b), o < 63 ? 2ull << o : UINT64_MAX), BAR,
			bar ? bar
			: n ? 1
			    : 0,
			bar ? "##################################################" : ":", n,
			wi_fmt_share(s, sizeof(s), n, h->count));
	}
}

static bool print_latency_parts(FILE *out, const struct wi_report *rep, struct wi_err *err)
{
	static const struct wi_column columns[] = { { "", true, false },     { "count", false, false },
						    { "p50", false, false }, { "p90", false, false },
						    { "p99", false, false }, { "p99.9", false, false },
						    { "max", false, false }, { "sum", false, false } };
	const struct wi_latency_results *l = &rep->results->latency;
	const struct {
		const char *name;
		const struct wi_hist *h;
	} part[] = { { "wakeup (waking to run)", &l->wakeup },
		     { "transit (waking to enqueue)", &l->transit },
		     { "queue wait (enqueue to run)", &l->queue_wait } };
	struct wi_table *t = wi_table_new(columns, NR(columns));

	for (size_t i = 0; i < NR(part); i++) {
		const struct wi_hist *h = part[i].h;

		wi_table_text(t, part[i].name);
		wi_table_count(t, h->count);
		if (!h->count) {
			for (int k = 0; k < 6; k++)
				wi_table_none(t);
			continue;
		}
		wi_table_ns(t, wi_hist_quantile(h, 0.5));
		wi_table_ns(t, wi_hist_quantile(h, 0.9));
		wi_table_ns(t, wi_hist_quantile(h, 0.99));
		wi_table_ns(t, wi_hist_quantile(h, 0.999));
		wi_table_ns(t, h->max_ns);
		wi_table_ns(t, h->sum_ns);
	}
	return print(t, out, err);
}

static bool print_placements(FILE *out, const struct wi_results *r, struct wi_err *err)
{
	static const struct wi_column columns[] = { { "placed on (decided)", true, false },
						    { "measured", false, false },
						    { "p50", false, false },
						    { "p90", false, false },
						    { "p99", false, false },
						    { "max", false, false } };
	static const char *const meaning[WI_NR_PLACEMENTS] = { "the previous CPU, idle", "the previous CPU, busy",
							       "another CPU of an idle core",
							       "another idle CPU, sibling busy", "another CPU, busy" };
	struct wi_table *t = wi_table_new(columns, NR(columns));

	for (int p = 0; p < WI_NR_PLACEMENTS; p++) {
		wi_table_text(t, meaning[p]);
		latency_cells(t, &r->latency.by_placement[p]);
	}
	return print(t, out, err);
}

bool wi_report_text_latency(FILE *out, const struct wi_report *rep, struct wi_err *err)
{
	const struct wi_results *r = rep->results;

	if (!r->latency.wakeup.count)
		return true;
	wi_text_title(out, "WAKEUP LATENCY");
	if (!print_latency_parts(out, rep, err))
		return false;
	wi_report_text_hist(out, &r->latency.wakeup, 2);
	return print_placements(out, r, err);
}

/* count, share, wait sum, p50, p99, max, avoidable: seven cells. */
static void cost_cells(struct wi_table *t, const struct wi_missed_cost *c, uint64_t decided, bool avoidable)
{
	wi_table_count(t, c->count);
	wi_table_share(t, c->count, decided);
	if (c->wait.count) {
		wi_table_ns(t, c->wait.sum_ns);
		wi_table_ns(t, wi_hist_quantile(&c->wait, 0.5));
		wi_table_ns(t, wi_hist_quantile(&c->wait, 0.99));
		wi_table_ns(t, c->wait.max_ns);
	} else {
		for (int i = 0; i < 4; i++)
			wi_table_none(t);
	}
	if (avoidable)
		wi_table_ns(t, c->avoidable.sum_ns);
	else
		wi_table_none(t);
}

static void wide_rows(struct wi_table *t, const struct wi_report *rep, const char *what,
		      const struct wi_missed_cost cost[WI_NR_WIDE])
{
	static const char *const where[WI_NR_WIDE] = { "in LLC", "in node", "in machine" };
	/* Half a core is no wait: what it costs is speed, not time in a queue. */
	bool avoidable = cost != rep->results->missed.half_busy_core;

	for (int s = 0; s < WI_NR_WIDE; s++) {
		if (s != WI_WIDE_LLC && !wi_scope_differs(rep->topology, wi_wide_scope((enum wi_wide_scope)s)))
			continue;
		wi_table_textf(t, "%s %s", what, where[s]);
		cost_cells(t, &cost[s], rep->results->missed.decided, avoidable);
	}
}

/* A row of which only the count is known. */
static void count_row(struct wi_table *t, const char *name, uint64_t count, uint64_t decided)
{
	wi_table_text(t, name);
	wi_table_count(t, count);
	wi_table_share(t, count, decided);
	for (int i = 0; i < 5; i++)
		wi_table_none(t);
}

/*
 * The row "unknown" is two here, so that the outer rows add up to decided and the inner ones to the queued: the chosen
 * CPU's own state was unknown, or it was busy and a CPU that would have named the row was unknown. What they waited is
 * known for both together.
 */
static void unknown_rows(struct wi_table *t, const struct wi_missed_results *m, bool outer)
{
	const struct wi_missed_cost *c = &m->row[WI_MISSED_UNKNOWN];
	uint64_t count = outer ? m->chosen_unknown : c->count - m->chosen_unknown;
	const char *name = outer ? "chosen CPU unknown" : "  unknown";

	if (count == c->count && count) {
		wi_table_text(t, name);
		cost_cells(t, c, m->decided, false);
	} else {
		count_row(t, name, count, m->decided);
	}
}

static void print_unknown_cost(FILE *out, const struct wi_missed_results *m)
{
	const struct wi_missed_cost *c = &m->row[WI_MISSED_UNKNOWN];
	char a[WI_FMT_LEN], b[WI_FMT_LEN], d[WI_FMT_LEN];

	if (m->chosen_unknown && c->count > m->chosen_unknown && c->wait.count)
		fprintf(out, "  queue wait of both kinds of unknown: %s, p50 %s, p99 %s, max %s\n",
			wi_fmt_ns(a, sizeof(a), c->wait.sum_ns),
			wi_fmt_ns(b, sizeof(b), wi_hist_quantile(&c->wait, 0.5)),
			wi_fmt_ns(d, sizeof(d), wi_hist_quantile(&c->wait, 0.99)),
			wi_fmt_ns((char[WI_FMT_LEN]){ 0 }, WI_FMT_LEN, c->wait.max_ns));
}

static void print_besides(FILE *out, const struct wi_missed_results *m)
{
	const char *before = " (";

	if (m->on_waker_cpu)
		fprintf(out,
			"  queued on a busy CPU: of them on the waker's CPU %" PRIu64 " (waker alone there %" PRIu64
			")\n",
			m->on_waker_cpu, m->on_waker_cpu_alone);
	fprintf(out, "  previous CPU idle, placed elsewhere: %" PRIu64, m->prev_idle_elsewhere);
	for (int d = WI_DIST_CORE; d < WI_NR_DISTANCES; d++) {
		if (!m->prev_idle_by_distance[d])
			continue;
		fprintf(out, "%s%s %" PRIu64, before, wi_text_distance((enum wi_distance)d),
			m->prev_idle_by_distance[d]);
		before = ", ";
	}
	if (m->prev_idle_elsewhere)
		fprintf(out, "%s; wake_affine may explain %" PRIu64, *before == ',' ? ")" : "",
			m->prev_idle_affine_possible);
	putc('\n', out);
	if (m->on_sched_idle_only)
		fprintf(out, "  chosen CPU ran SCHED_IDLE tasks only: %" PRIu64 "\n", m->on_sched_idle_only);
	if (m->stalled_decided)
		fprintf(out,
			"  waker silent > 100 us after sched_waking (decision instant uncertain): %" PRIu64
			",\n  of them queued on a busy CPU %" PRIu64 "\n",
			m->stalled_decided, m->stalled_queued_on_busy);
}

bool wi_report_text_missed(FILE *out, const struct wi_report *rep, struct wi_err *err)
{
	static const struct wi_column columns[] = { { "at the decision", true, false },
						    { "wakeups", false, false },
						    { "share", false, false },
						    { "queue wait", false, false },
						    { "p50", false, false },
						    { "p99", false, false },
						    { "max", false, false },
						    { "avoidable", false, false } };
	static const char *const row_text[WI_MISSED_UNKNOWN] = {
		"  nothing idle",	"  idle, nearest: sibling", "  idle, nearest: cluster",
		"  idle, nearest: LLC", "  idle, nearest: node",    "  idle, nearest: machine"
	};
	static const int row_scope[WI_MISSED_UNKNOWN] = { -1,	      WAKEIF_CORE, WAKEIF_CLUSTER,
							  WAKEIF_LLC, WAKEIF_NODE, WAKEIF_MACHINE };
	const struct wi_missed_results *m = &rep->results->missed;
	struct wi_table *t;

	if (!m->decided)
		return true;
	fprintf(out, "\nMISSED IDLE of %" PRIu64 " decided wakeups\n", m->decided);
	t = wi_table_new(columns, NR(columns));
	count_row(t, "placed on an idle CPU", m->chosen_idle, m->decided);
	count_row(t, "queued on a busy CPU", m->queued_on_busy, m->decided);
	for (int i = 0; i < WI_MISSED_UNKNOWN; i++) {
		if (row_scope[i] >= 0 && !wi_scope_differs(rep->topology, (enum wakeif_scope)row_scope[i]) &&
		    !m->row[i].count)
			continue;
		wi_table_text(t, row_text[i]);
		cost_cells(t, &m->row[i], m->decided, i != WI_MISSED_NO_IDLE);
	}
	unknown_rows(t, m, false);
	unknown_rows(t, m, true);
	wide_rows(t, rep, "queued; idle core", m->queued_while_idle_core);
	if (rep->topology->smt > 1)
		wide_rows(t, rep, "half-busy; idle core", m->half_busy_core);
	wi_table_text(t, "stacked on the waker");
	cost_cells(t, &m->stacked_on_waker, m->decided, true);
	if (!print(t, out, err))
		return false;
	print_unknown_cost(out, m);
	print_besides(out, m);
	return true;
}

/* Who was there: "comm:pid", "comm:pid (waking)" where nobody ran and that one had been sent there before. */
static void behind_cell(struct wi_table *t, const struct wi_results *r, const struct wi_worst_row *w)
{
	char task[WI_FMT_NAME_LEN];

	if (w->ran_pid == 0)
		wi_table_text(t, "another wakeup");
	else
		wi_table_textf(t, "%s%s", wi_fmt_task(task, sizeof(task), wi_results_name(r, w->ran_comm), w->ran_pid),
			       w->ran_waking ? " (waking)" : "");
}

bool wi_text_worst(FILE *out, const struct wi_report *rep, size_t max_rows, struct wi_err *err)
{
	static const struct wi_column columns[] = { { "woken at", false, false }, { "task", true, true },
						    { "waited", false, false },	  { "avoidable", false, false },
						    { "on", true, false },	  { "behind", true, true },
						    { "idle", true, false },	  { "in", true, false },
						    { "idle for", false, false } };
	const struct wi_results *r = rep->results;
	size_t nr = r->missed.nr_worst < max_rows ? r->missed.nr_worst : max_rows;
	struct wi_table *t;
	bool censored = false, sched_idle = false;

	if (!nr)
		return true;
	wi_text_title(out, "WORST WAITS beside an idle CPU (in: nearest scope of it; wakeif wakeups shows every one)");
	t = wi_table_new(columns, NR(columns));
	for (size_t i = 0; i < nr; i++) {
		const struct wi_worst_row *w = &r->missed.worst[i];
		char stamp[WI_FMT_LEN], wait[WI_FMT_LEN], cpu[WI_FMT_LEN];

		wi_table_text(t, wi_fmt_stamp(stamp, sizeof(stamp), w->wake_ns, rep->nanoseconds));
		wi_table_task(t, wi_results_name(r, w->comm), w->pid);
		wi_table_textf(t, "%s%s", w->censored ? ">" : "", wi_fmt_ns(wait, sizeof(wait), w->wait_ns));
		wi_table_ns(t, w->avoidable_ns);
		wi_table_cpu(t, w->chosen_cpu);
		behind_cell(t, r, w);
		wi_table_textf(t, "%s%s", wi_fmt_cpu(cpu, sizeof(cpu), w->missed_cpu), w->missed_sched_idle ? "s" : "");
		sched_idle |= w->missed_sched_idle;
		wi_table_text(t, wi_text_scope(WAKEIF_CORE + (enum wakeif_scope)(w->row - WI_MISSED_SIBLING)));
		wi_table_ns(t, w->missed_idle_ns);
		censored |= w->censored;
	}
	if (!print(t, out, err))
		return false;
	if (censored)
		fputs("  >: still waiting at the end\n", out);
	if (sched_idle)
		fputs("  [n]s: not idle, but ran only SCHED_IDLE tasks\n", out);
	return true;
}

/* "vhost-2920:2941 99.9 %", the others too with all */
static void behind_longest(struct wi_para *p, const struct wi_results *r, const struct wi_longest_row *w, bool all)
{
	char task[WI_FMT_NAME_LEN], share[WI_FMT_LEN];

	if (!w->behind_known || w->queue_wait_ns == WI_TIME_UNKNOWN) {
		wi_para_add(p, "not known");
		return;
	}
	for (int i = 0; i < w->nr_behind && (all || !i); i++)
		wi_para_add(p, "%s%s %s", i ? ", " : "",
			    w->behind[i].pid ? wi_fmt_task(task, sizeof(task), wi_results_name(r, w->behind[i].comm),
							   w->behind[i].pid)
					     : "idle task",
			    wi_fmt_share(share, sizeof(share), w->behind[i].ns, w->queue_wait_ns));
	if (!w->nr_behind)
		wi_para_add(p, "nobody");
	if (all && !w->behind_complete)
		wi_para_add(p, ", not all known");
}

static bool longest_cells(struct wi_table *t, const struct wi_report *rep, const struct wi_longest_row *w)
{
	const struct wi_results *r = rep->results;
	uint32_t cpu = w->run_cpu != WI_CPU_NONE ? w->run_cpu : w->chosen_cpu;
	char stamp[WI_FMT_LEN], wait[WI_FMT_LEN];
	struct wi_para p = { 0 };

	wi_table_text(t, wi_fmt_stamp(stamp, sizeof(stamp), w->wake_ns, rep->nanoseconds));
	wi_table_task(t, wi_results_name(r, w->comm), w->pid);
	wi_table_textf(t, "%s%s", w->censored ? ">" : "", wi_fmt_ns(wait, sizeof(wait), w->latency_ns));
	if (w->queue_wait_ns == WI_TIME_UNKNOWN)
		wi_table_none(t);
	else
		wi_table_ns(t, w->queue_wait_ns);
	wi_table_text(t, wi_class_name((enum wakeif_class)w->class_));
	wi_table_cpu(t, cpu);
	if (r->smt.present) {
		if (w->sibling_idle_ns == WI_TIME_UNKNOWN || w->queue_wait_ns == WI_TIME_UNKNOWN)
			wi_table_none(t);
		else
			wi_table_share(t, w->sibling_idle_ns, w->queue_wait_ns);
	}
	behind_longest(&p, r, w, rep->verbose);
	if (!p.failed)
		wi_table_text(t, p.text);
	free(p.text);
	return !p.failed;
}

bool wi_text_longest(FILE *out, const struct wi_report *rep, size_t max_rows, struct wi_err *err)
{
	static const struct wi_column with_smt[] = { { "woken at", false, false },     { "task", true, false },
						     { "latency", false, false },      { "queued", false, false },
						     { "class", true, false },	       { "on", true, false },
						     { "idle sibling", false, false }, { "behind", true, false } };
	static const struct wi_column without_smt[] = { { "woken at", false, false }, { "task", true, false },
							{ "latency", false, false },  { "queued", false, false },
							{ "class", true, false },     { "on", true, false },
							{ "behind", true, false } };
	const struct wi_results *r = rep->results;
	size_t nr = r->latency.nr_longest < max_rows ? r->latency.nr_longest : max_rows;
	struct wi_table *t;
	bool censored = false, ok = true;

	if (!nr)
		return true;
	wi_text_title(out, "LONGEST WAITS of every class; behind: who ran there for how much of the time queued");
	t = r->smt.present ? wi_table_new(with_smt, NR(with_smt)) : wi_table_new(without_smt, NR(without_smt));
	for (size_t i = 0; i < nr; i++) {
		ok = longest_cells(t, rep, &r->latency.longest[i]) && ok;
		censored |= r->latency.longest[i].censored;
	}
	if (!print(t, out, err) || !ok)
		return wi_err_nomem(err);
	if (censored)
		fputs("  >: still waiting at the end\n", out);
	return true;
}

static void print_episode(FILE *out, const struct wi_report *rep, enum wakeif_scope scope)
{
	const struct wi_waste *w = &rep->results->waste[scope];
	char a[WI_FMT_LEN], b[WI_FMT_LEN], c[WI_FMT_LEN], d[WI_FMT_LEN], task[WI_FMT_NAME_LEN];

	if (w->longest_ns)
		fprintf(out, "  longest in %s %s: %s from %s: %s waited on %s, %s idled\n",
			scope == WAKEIF_LLC ? "an" : "a", wi_text_scope(scope), wi_fmt_ns(a, sizeof(a), w->longest_ns),
			wi_fmt_stamp(b, sizeof(b), w->longest_start_ns, rep->nanoseconds),
			wi_fmt_task(task, sizeof(task), wi_results_name(rep->results, w->comm), w->pid),
			wi_fmt_cpu(c, sizeof(c), w->waiting_cpu), wi_fmt_cpu(d, sizeof(d), w->idle_cpu));
}

bool wi_text_waste(FILE *out, const struct wi_report *rep, struct wi_err *err)
{
	static const struct wi_column columns[] = {
		{ "within a", true, false },	    { "wall time", false, false }, { "of window", false, false },
		{ "behind a task", false, false },  { "CPU time", false, false },  { "task time", false, false },
		{ "episodes >1 ms", false, false }, { ">10 ms", false, false },	   { ">100 ms", false, false },
		{ "longest", false, false }
	};
	const struct wi_results *r = rep->results;
	struct wi_table *t;

	if (!r->waste[WAKEIF_MACHINE].wall_ns)
		return true;
	wi_text_title(out, "IDLE WHILE WAITING: a CPU idled and a task that could run there waited");
	t = wi_table_new(columns, NR(columns));
	for (int s = 0; s < WAKEIF_NR_SCOPES; s++) {
		const struct wi_waste *w = &r->waste[s];

		if (!wi_scope_differs(rep->topology, (enum wakeif_scope)s))
			continue;
		wi_table_text(t, wi_text_scope((enum wakeif_scope)s));
		wi_table_ns(t, w->wall_ns);
		wi_table_share(t, w->wall_ns, r->window_ns);
		wi_table_ns(t, w->behind_ns);
		wi_table_ns(t, w->cpu_ns);
		wi_table_ns(t, w->task_ns);
		for (int e = 0; e < WI_NR_EPISODES; e++)
			wi_table_count(t, w->episodes[e]);
		if (w->longest_ns)
			wi_table_ns(t, w->longest_ns);
		else
			wi_table_none(t);
	}
	if (!print(t, out, err))
		return false;
	fputs("  behind a task: part of the wall time in which such a task waited on a CPU that ran another one;\n"
	      "  else it waited for its own idle CPU to switch to it\n",
	      out);
	for (int s = 0; s < WAKEIF_NR_SCOPES; s++)
		if (wi_scope_differs(rep->topology, (enum wakeif_scope)s))
			print_episode(out, rep, (enum wakeif_scope)s);
	return true;
}

/* Distances that this machine does not have are left out, unless something was counted there all the same. */
static bool distance_shown(const struct wi_report *rep, int d)
{
	static const enum wakeif_scope scope[WI_NR_DISTANCES] = {
		[WI_DIST_CORE] = WAKEIF_CORE, [WI_DIST_CLUSTER] = WAKEIF_CLUSTER, [WI_DIST_LLC] = WAKEIF_LLC,
		[WI_DIST_NODE] = WAKEIF_NODE, [WI_DIST_REMOTE] = WAKEIF_MACHINE,
	};
	const struct wi_affine_part *a = &rep->results->affine.all;

	return d == WI_DIST_CPU || a->prev[d] || a->waker[d] || wi_scope_differs(rep->topology, scope[d]);
}

static void affine_row(struct wi_table *t, const struct wi_report *rep, const char *name,
		       const struct wi_affine_part *p, bool waker)
{
	wi_table_text(t, name);
	wi_table_count(t, p->considered);
	for (int d = 0; d < WI_NR_DISTANCES; d++)
		if (distance_shown(rep, d))
			wi_table_share(t, waker ? p->waker[d] : p->prev[d], p->considered);
	if (waker) {
		wi_table_count(t, p->cross_llc);
		wi_table_count(t, p->bounce);
	} else if (p->latency.count) {
		wi_table_ns(t, wi_hist_quantile(&p->latency, 0.5));
		wi_table_ns(t, wi_hist_quantile(&p->latency, 0.99));
	} else {
		wi_table_none(t);
		wi_table_none(t);
	}
}

static bool affine_table(FILE *out, const struct wi_report *rep, bool waker, struct wi_err *err)
{
	const struct wi_affine_results *a = &rep->results->affine;
	struct wi_column columns[2 + WI_NR_DISTANCES + 2] = {
		{ waker ? "to the waker" : "to the previous", true, false },
		{ "wakeups", false, false },
	};
	size_t nr = 2;
	struct wi_table *t;

	for (int d = 0; d < WI_NR_DISTANCES; d++)
		if (distance_shown(rep, d))
			columns[nr++].title = wi_text_distance((enum wi_distance)d);
	columns[nr++].title = waker ? "left LLC" : "p50";
	columns[nr++].title = waker ? "came back" : "p99";
	t = wi_table_new(columns, nr);
	for (int c = 0; c < WAKEIF_NR_CONTEXTS; c++) {
		static const char *const name[WAKEIF_NR_CONTEXTS] = {
			[WAKEIF_CTX_TASK] = "woken by a task", [WAKEIF_CTX_SOFTIRQ] = "softirq",
			[WAKEIF_CTX_HARDIRQ] = "hardirq",      [WAKEIF_CTX_IDLE] = "idle task",
			[WAKEIF_CTX_UNKNOWN] = "not known",
		};

		if (a->by_context[c].considered)
			affine_row(t, rep, name[c], &a->by_context[c], waker);
	}
	affine_row(t, rep, "all", &a->all, waker);
	return print(t, out, err);
}

bool wi_report_text_affine(FILE *out, const struct wi_report *rep, struct wi_err *err)
{
	const struct wi_affine_results *a = &rep->results->affine;

	if (!a->all.considered)
		return true;
	wi_text_title(out, "WAKE_AFFINE OUTCOME of decided wakeups whose waker was not on the previous CPU");
	return affine_table(out, rep, true, err) && affine_table(out, rep, false, err);
}
