/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The text report from its top: facts of the recording, what is known and what not, the verdict. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/base/utf8.h"
#include "analyzer/report/text_priv.h"
#include "analyzer/report/topology.h"

#define LABEL 11 /* columns of the labels at the left of the head */

static void para_grow(struct wi_para *p, const char *text, size_t len)
{
	if (p->failed)
		return;
	if (p->len + len + 1 > p->room) {
		size_t room = 2 * p->room + len + 256;
		char *more = realloc(p->text, room);

		if (!more) {
			p->failed = true;
			return;
		}
		p->text = more;
		p->room = room;
	}
	memcpy(p->text + p->len, text, len);
	p->len += len;
	p->text[p->len] = '\0';
}

void wi_para_add(struct wi_para *p, const char *fmt, ...)
{
	char *text;
	va_list ap;
	int len;

	va_start(ap, fmt);
	len = vasprintf(&text, fmt, ap);
	va_end(ap);
	if (len < 0) {
		p->failed = true;
		return;
	}
	para_grow(p, text, (size_t)len);
	free(text);
}

void wi_para_name(struct wi_para *p, const char *name)
{
	char text[WI_FMT_NAME_LEN];

	wi_fmt_name(text, sizeof(text), name);
	para_grow(p, text, strlen(text));
}

/* Bytes of the first line: up to the last blank that fits, a whole word where none does. */
static size_t line_len(const char *text, size_t columns)
{
	size_t len = strlen(text), last_blank = 0, used = 0;

	for (size_t i = 0; i < len;) {
		uint32_t cp;
		size_t n = wi_utf8_next(text + i, len - i, &cp);

		if (cp == ' ')
			last_blank = i;
		used += cp == WI_UTF8_INVALID ? 1 : wi_utf8_width(cp);
		if (used > columns) {
			if (last_blank)
				return last_blank;
			return i + strcspn(text + i, " ");
		}
		i += n;
	}
	return len;
}

bool wi_para_print(struct wi_para *p, FILE *out, const char *label, int indent)
{
	bool ok = !p->failed;

	if (ok && p->len) {
		const char *at = p->text;

		fprintf(out, "%-*s", indent, label);
		while (*at) {
			size_t n = line_len(at, (size_t)(WI_TEXT_WIDTH - indent));

			fprintf(out, "%.*s\n", (int)n, at);
			at += n;
			while (*at == ' ')
				at++;
			if (*at)
				fprintf(out, "%*s", indent, "");
		}
	}
	free(p->text);
	memset(p, 0, sizeof(*p));
	return ok;
}

bool wi_scope_differs(const struct wakeif_topology *t, enum wakeif_scope scope)
{
	return scope == WAKEIF_CORE ? t->smt > 1 : t->nr_groups[scope] != t->nr_groups[scope - 1];
}

enum wakeif_scope wi_wide_scope(enum wi_wide_scope s)
{
	static const enum wakeif_scope scope[WI_NR_WIDE] = {
#define X(id, name, model_scope) [WI_WIDE_##id] = model_scope,
		WI_WIDE_SCOPES(X)
#undef X
	};

	return scope[s];
}

void wi_text_title(FILE *out, const char *title)
{
	fprintf(out, "\n%s\n", title);
}

void wi_text_more(FILE *out, uint64_t total, uint64_t shown, const char *what)
{
	if (total > shown)
		fprintf(out, "  and %" PRIu64 " more %s\n", total - shown, what);
}

static void add_recording(struct wi_para *p, const struct wi_source_info *in)
{
	bool others = false;

	wi_para_name(p, in->format);
	if (in->wrapper[0])
		wi_para_add(p, " (%s)", in->wrapper);
	if (in->kernel[0]) {
		wi_para_add(p, ", Linux ");
		wi_para_name(p, in->kernel);
	} else {
		wi_para_add(p, ", kernel not told");
	}
	if (in->arch[0]) {
		wi_para_add(p, " ");
		wi_para_name(p, in->arch);
	}
	if (in->clock[0]) {
		wi_para_add(p, ", clock ");
		wi_para_name(p, in->clock);
	} else {
		wi_para_add(p, ", clock not told");
	}
	if (in->time_res_ns > 1)
		wi_para_add(p, " (stamps of %" PRIu32 " ns)", in->time_res_ns);
	for (uint32_t i = 0; i < in->nr_buffers; i++) {
		if (in->nr_buffers < 2)
			break;
		if (in->buffers[i].chosen) {
			wi_para_add(p, ", buffer \"");
			wi_para_name(p, in->buffers[i].name);
			wi_para_add(p, "\"");
		}
	}
	for (uint32_t i = 0; i < in->nr_buffers; i++) {
		if (in->buffers[i].chosen)
			continue;
		wi_para_add(p, others ? ", \"" : "; not analysed: \"");
		wi_para_name(p, in->buffers[i].name);
		wi_para_add(p, "\"");
		others = true;
	}
}

static void add_window(struct wi_para *p, const struct wi_report *rep)
{
	const struct wi_timeline_quality *q = &rep->results->quality;
	char a[WI_FMT_LEN], b[WI_FMT_LEN], c[WI_FMT_LEN];

	wi_para_add(p, "%s, from %s to %s", wi_fmt_ns(a, sizeof(a), rep->results->window_ns),
		    wi_fmt_stamp(b, sizeof(b), q->window_start_ns, rep->nanoseconds),
		    wi_fmt_stamp(c, sizeof(c), q->window_end_ns, rep->nanoseconds));
	if (q->window_start_ns > q->recording_start_ns)
		wi_para_add(p, "; the first %s of the recording left out%s",
			    wi_fmt_ns(a, sizeof(a), q->window_start_ns - q->recording_start_ns),
			    q->window_start_ns == rep->survey->window_start_ns ? " (buffers overwritten there)" : "");
	if (q->window_end_ns < q->recording_end_ns)
		wi_para_add(p, "; ends before the recording does");
}

static void add_events(struct wi_para *p, const struct wi_timeline_quality *q)
{
	bool any = false;

	for (int t = 0; t < WI_NR_EVENT_TYPES; t++) {
		if (t == WI_EV_LOST || t == WI_EV_OTHER || t == WI_EV_MARKER || !q->events[t])
			continue;
		wi_para_add(p, "%s%s %" PRIu64, any ? ", " : "", wi_event_name((enum wi_event_type)t), q->events[t]);
		any = true;
	}
	if (!any)
		wi_para_add(p, "none of the scheduler");
}

static void add_coverage(struct wi_para *p, const struct wi_report *rep)
{
	const struct wi_results *r = rep->results;
	const struct wi_timeline_quality *q = &r->quality;
	char a[WI_FMT_LEN];

	wi_para_add(p, "%s of CPU time known", wi_fmt_share(a, sizeof(a), r->cpu_ns - q->unknown_ns, r->cpu_ns));
	if (q->lost_marks)
		wi_para_add(p, "; %" PRIu64 " gaps marked as lost", q->lost_marks);
	if (q->lost_events)
		wi_para_add(p, " (%" PRIu64 " events)", q->lost_events);
	if (q->chain_breaks)
		wi_para_add(p, "; %" PRIu64 " breaks in the switch chain (records missing without a mark)",
			    q->chain_breaks);
	if (!q->lost_marks && !q->lost_events && !q->chain_breaks)
		wi_para_add(p, "; nothing lost");
	if (q->quiet_cpus)
		wi_para_add(p, "; %" PRIu64 " CPU%s without any switch (--quiet-cpus)", q->quiet_cpus,
			    q->quiet_cpus == 1 ? "" : "s");
	if (rep->info->nr_damage)
		wi_para_add(p, "; INPUT DAMAGED in %" PRIu32 " place%s: only what was whole is counted",
			    rep->info->nr_damage, rep->info->nr_damage == 1 ? "" : "s");
}

static void add_repairs(struct wi_para *p, const struct wi_report *rep)
{
	const struct wi_timeline_quality *q = &rep->results->quality;
	char a[WI_FMT_LEN];
	bool any = false;

#define X(field, name, meaning)                                                                                        \
	if (q->repairs.field) {                                                                                        \
		wi_para_add(p, "%s%" PRIu64 " %s", any ? ", " : "", q->repairs.field, meaning);                        \
		any = true;                                                                                            \
	}
	WI_REPAIRS(X)
#undef X
	if (rep->info->unordered) {
		wi_para_add(p, "%s%" PRIu64 " records out of order", any ? ", " : "", rep->info->unordered);
		any = true;
	}
	if (rep->info->unparsed) {
		wi_para_add(p, "%s%" PRIu64 " scheduler records not understood", any ? ", " : "", rep->info->unparsed);
		any = true;
	}
	if (rep->info->unknown_state_letters) {
		wi_para_add(p, "%s%" PRIu64 " unknown task states", any ? ", " : "", rep->info->unknown_state_letters);
		any = true;
	}
	if (q->unnamed_tasks) {
		wi_para_add(p, "%s%" PRIu64 " tasks that nothing names", any ? ", " : "", q->unnamed_tasks);
		any = true;
	}
	if (rep->results->tasks.throttle_suspected) {
		wi_para_add(p, "%s%" PRIu64 " tasks look throttled (left out of idle while waiting)", any ? ", " : "",
			    rep->results->tasks.throttle_suspected);
		any = true;
	}
	if (q->skew.ns) {
		wi_para_add(p,
			    "%sCLOCK SKEW of at least %s between CPUs %" PRIu32 " and %" PRIu32
			    ": latencies below that mean nothing",
			    any ? ", " : "", wi_fmt_ns(a, sizeof(a), q->skew.ns), q->skew.cpu_a, q->skew.cpu_b);
		any = true;
	}
	if (!any)
		wi_para_add(p, "none");
}

static void add_affinity(struct wi_para *p, const struct wi_results *r)
{
	const uint64_t *n = r->missed.allowed;
	uint64_t all = n[WAKEIF_ALLOWED_RECORDED] + n[WAKEIF_ALLOWED_INFERRED] + n[WAKEIF_ALLOWED_ASSUMED];
	char a[WI_FMT_LEN], b[WI_FMT_LEN], c[WI_FMT_LEN];

	if (!all)
		return;
	wi_para_add(p, "of the decided wakeups %s recorded, %s inferred, %s assumed to be all CPUs",
		    wi_fmt_share(a, sizeof(a), n[WAKEIF_ALLOWED_RECORDED], all),
		    wi_fmt_share(b, sizeof(b), n[WAKEIF_ALLOWED_INFERRED], all),
		    wi_fmt_share(c, sizeof(c), n[WAKEIF_ALLOWED_ASSUMED], all));
}

/* What this recording cannot tell, and why. */
static void add_missing(struct wi_para *p, const struct wi_report *rep)
{
	const struct wi_timeline_quality *q = &rep->results->quality;
	const uint64_t *n = q->events;
	bool wakes = n[WI_EV_SCHED_WAKING] || n[WI_EV_SCHED_WAKEUP];

	if (!wakes)
		wi_para_add(p, "no wakeup events: wakeup latency and placement are not measurable; ");
	else if (!rep->survey->has_waking)
		wi_para_add(p, "no sched_waking: latency starts at sched_wakeup, the waker may be unknown; ");
	if (!n[WI_EV_SCHED_SWITCH])
		wi_para_add(p, "no sched_switch: occupancy is not measurable; ");
	if (wakes && !n[WI_EV_SCHED_MIGRATE_TASK])
		wi_para_add(p, "no sched_migrate_task: migrations inferred; ");
	if (!n[WI_EV_SCHED_PROCESS_FORK] && !n[WI_EV_SCHED_PROCESS_EXIT])
		wi_para_add(p, "no fork and exit events: reuse of pids is guessed; ");
	if (!n[WI_EV_CPU_IDLE])
		wi_para_add(p, "no cpu_idle: C-states; ");
	if (!rep->preempted_known)
		wi_para_add(p, "preemption (the format drops it); ");
	wi_para_add(p, "the sync flag of wakeups");
	if (!rep->has_facts)
		wi_para_add(p, "; policies and affinity of tasks (--tasks)");
}

/* "source: notes" of the topology, loud where it is only a guess. */
static bool print_machine(FILE *out, const struct wi_report *rep, struct wi_err *err)
{
	const struct wakeif_topology *t = rep->topology;
	const char *name, *meaning;
	unsigned int at = 0;
	struct wi_para p = { 0 };
	char *line = NULL;
	size_t len = 0;
	FILE *mem = open_memstream(&line, &len);
	bool ok = mem && wi_report_topology_line(mem, t, err);

	if (mem && fclose(mem))
		ok = false;
	if (ok) {
		wi_para_add(&p, "%s; from ", line);
		wi_para_name(&p, t->source);
		while (wi_report_topology_flag(t->flags, &at, &name, &meaning))
			wi_para_add(&p, "; %s", meaning);
		if (t->note[0]) {
			wi_para_add(&p, "; ");
			wi_para_name(&p, t->note);
		}
		ok = wi_para_print(&p, out, "machine", LABEL);
	}
	free(line);
	return ok || wi_err_nomem(err);
}

bool wi_report_text_head(FILE *out, const struct wi_report *rep, struct wi_err *err)
{
	struct wi_para p = { 0 };
	bool ok;

	wi_para_name(&p, rep->info->path);
	ok = wi_para_print(&p, out, "trace", LABEL);
	add_recording(&p, rep->info);
	ok = wi_para_print(&p, out, "recorded", LABEL) && ok;
	add_window(&p, rep);
	ok = wi_para_print(&p, out, "window", LABEL) && ok;
	add_events(&p, &rep->results->quality);
	ok = wi_para_print(&p, out, "events", LABEL) && ok;
	ok = print_machine(out, rep, err) && ok;
	add_coverage(&p, rep);
	ok = wi_para_print(&p, out, "coverage", LABEL) && ok;
	add_repairs(&p, rep);
	ok = wi_para_print(&p, out, "repairs", LABEL) && ok;
	add_affinity(&p, rep->results);
	ok = wi_para_print(&p, out, "affinity", LABEL) && ok;
	add_missing(&p, rep);
	ok = wi_para_print(&p, out, "not told", LABEL) && ok;
	wi_para_add(&p, "%s", rep->note);
	ok = wi_para_print(&p, out, "note", LABEL) && ok;
	wi_para_name(&p, rep->filter);
	ok = wi_para_print(&p, out, "filter", LABEL) && ok;
	return ok || wi_err_nomem(err);
}

static void add_worst(struct wi_para *p, const struct wi_results *r)
{
	const struct wi_worst_row *w = r->missed.nr_worst ? &r->missed.worst[0] : NULL;
	char a[WI_FMT_LEN], b[WI_FMT_LEN], task[WI_FMT_NAME_LEN];

	if (!w)
		return;
	wi_para_add(p, ", worst %s %s", wi_fmt_ns(a, sizeof(a), w->wait_ns),
		    wi_fmt_task(task, sizeof(task), wi_results_name(r, w->comm), w->pid));
	if (w->ran_pid == 0)
		wi_para_add(p, " behind another wakeup");
	else if (w->ran_pid > 0)
		wi_para_add(p, " behind %s",
			    wi_fmt_task(task, sizeof(task), wi_results_name(r, w->ran_comm), w->ran_pid));
	if (w->avoidable_ns >= w->wait_ns)
		wi_para_add(p, ", CPU %" PRIu32 " idle throughout", w->missed_cpu);
	else
		wi_para_add(p, ", CPU %" PRIu32 " idle for %s of it", w->missed_cpu,
			    wi_fmt_ns(b, sizeof(b), w->avoidable_ns));
}

static void verdict_missed(FILE *out, const struct wi_results *r)
{
	const struct wi_missed_results *m = &r->missed;
	uint64_t missed = 0, avoidable = 0;
	char a[WI_FMT_LEN], b[WI_FMT_LEN];
	struct wi_para p = { 0 };

	for (int i = WI_MISSED_SIBLING; i <= WI_MISSED_MACHINE; i++) {
		missed += m->row[i].count;
		avoidable += m->row[i].avoidable.sum_ns;
	}
	if (!m->decided) {
		wi_para_add(&p, "No wakeup of this window had its CPU chosen by a placement decision.");
	} else if (!missed) {
		wi_para_add(&p, "No decided wakeup queued on a busy CPU while another CPU that it could use was idle.");
	} else {
		wi_para_add(&p,
			    "%s of the decided wakeups (%" PRIu64 " of %" PRIu64
			    ") queued on a busy CPU while another was idle: %s avoidable wait",
			    wi_fmt_share(a, sizeof(a), missed, m->decided), missed, m->decided,
			    wi_fmt_ns(b, sizeof(b), avoidable));
		add_worst(&p, r);
		wi_para_add(&p, ".");
	}
	wi_para_print(&p, out, "  *", 4);
}

/* ", n of them with one in the chosen CPU's LLC", where that is not all the machine. */
static void add_in_llc(struct wi_para *p, const struct wi_report *rep, const struct wi_missed_cost cost[WI_NR_WIDE])
{
	if (rep->topology->nr_groups[WAKEIF_LLC] > 1)
		wi_para_add(p, ", %" PRIu64 " of them with one in the same LLC", cost[WI_WIDE_LLC].count);
}

static void verdict_idle_core(FILE *out, const struct wi_report *rep)
{
	const struct wi_missed_results *m = &rep->results->missed;
	const struct wi_missed_cost *c = &m->queued_while_idle_core[WI_WIDE_MACHINE],
				    *h = &m->half_busy_core[WI_WIDE_MACHINE];
	char a[WI_FMT_LEN], b[WI_FMT_LEN];
	struct wi_para p = { 0 };

	if (rep->topology->smt > 1 && c->count) {
		wi_para_add(&p, "%s (%" PRIu64 ") queued on a busy CPU while a whole core was idle",
			    wi_fmt_share(a, sizeof(a), c->count, m->decided), c->count);
		add_in_llc(&p, rep, m->queued_while_idle_core);
		wi_para_add(&p, ": %s avoidable wait.", wi_fmt_ns(b, sizeof(b), c->avoidable.sum_ns));
	}
	wi_para_print(&p, out, "  *", 4);
	if (rep->topology->smt > 1 && h->count) {
		wi_para_add(&p, "%s (%" PRIu64 ") were placed beside a busy sibling while a whole core was idle",
			    wi_fmt_share(a, sizeof(a), h->count, m->decided), h->count);
		add_in_llc(&p, rep, m->half_busy_core);
		wi_para_add(&p, ".");
	}
	wi_para_print(&p, out, "  *", 4);
	if (m->stacked_on_waker.count)
		wi_para_add(
			&p,
			"%s (%" PRIu64
			") were stacked on a waker's CPU that had others waiting while a core was idle: %s of wait.",
			wi_fmt_share(a, sizeof(a), m->stacked_on_waker.count, m->decided), m->stacked_on_waker.count,
			wi_fmt_ns(b, sizeof(b), m->stacked_on_waker.wait.sum_ns));
	wi_para_print(&p, out, "  *", 4);
}

static void verdict_waste(FILE *out, const struct wi_results *r)
{
	const struct wi_waste *w = &r->waste[WAKEIF_MACHINE];
	char a[WI_FMT_LEN], b[WI_FMT_LEN], c[WI_FMT_LEN], task[WI_FMT_NAME_LEN];
	struct wi_para p = { 0 };

	if (w->wall_ns)
		wi_para_add(&p,
			    "For %s (%s of the window) a CPU idled while a task that could run there waited; longest "
			    "%s: %s waited on CPU %" PRIu32 ", CPU %" PRIu32 " idled.",
			    wi_fmt_ns(a, sizeof(a), w->wall_ns), wi_fmt_share(b, sizeof(b), w->wall_ns, r->window_ns),
			    wi_fmt_ns(c, sizeof(c), w->longest_ns),
			    wi_fmt_task(task, sizeof(task), wi_results_name(r, w->comm), w->pid), w->waiting_cpu,
			    w->idle_cpu);
	wi_para_print(&p, out, "  *", 4);
}

static void verdict_smt(FILE *out, const struct wi_results *r)
{
	const struct wi_smt_results *s = &r->smt;
	char a[WI_FMT_LEN], b[WI_FMT_LEN], c[WI_FMT_LEN];
	uint64_t shared = 0, busy = 0;
	struct wi_para p = { 0 };

	for (uint32_t i = 1; s->present && i <= s->nr_threads; i++) {
		busy += s->busy_threads_ns[i];
		shared += i > 1 ? s->busy_threads_ns[i] : 0;
	}
	if (shared)
		wi_para_add(&p,
			    "Cores ran two or more tasks at once for %s of their busy time (%s); for %s of it another "
			    "core of the machine was idle.",
			    wi_fmt_share(a, sizeof(a), shared, busy), wi_fmt_ns(b, sizeof(b), shared),
			    wi_fmt_share(c, sizeof(c), s->avoidable_corun_ns[WI_WIDE_MACHINE], shared));
	wi_para_print(&p, out, "  *", 4);
}

static void verdict_affine(FILE *out, const struct wi_report *rep)
{
	const struct wi_affine_part *a = &rep->results->affine.all;
	const struct wi_missed_results *m = &rep->results->missed;
	char x[WI_FMT_LEN], y[WI_FMT_LEN];
	struct wi_para p = { 0 };

	if (a->considered && rep->topology->nr_groups[WAKEIF_LLC] > 1)
		wi_para_add(&p,
			    "Of %" PRIu64 " wakeups across CPUs %s left the LLC of their previous CPU; %s of those "
			    "came back within 10 ms.",
			    a->considered, wi_fmt_share(x, sizeof(x), a->cross_llc, a->considered),
			    wi_fmt_share(y, sizeof(y), a->bounce, a->cross_llc));
	wi_para_print(&p, out, "  *", 4);
	if (m->prev_idle_elsewhere)
		wi_para_add(&p, "%s (%" PRIu64 ") left a previous CPU that was idle.",
			    wi_fmt_share(x, sizeof(x), m->prev_idle_elsewhere, m->decided), m->prev_idle_elsewhere);
	wi_para_print(&p, out, "  *", 4);
}

static void verdict_latency(FILE *out, const struct wi_results *r)
{
	const struct wi_hist *h = &r->latency.wakeup;
	char a[WI_FMT_LEN], b[WI_FMT_LEN], c[WI_FMT_LEN], d[WI_FMT_LEN];
	struct wi_para p = { 0 };

	if (h->count)
		wi_para_add(&p, "Wakeup latency: p50 %s, p99 %s, max %s over %" PRIu64 " wakeups.",
			    wi_fmt_ns(a, sizeof(a), wi_hist_quantile(h, 0.5)),
			    wi_fmt_ns(b, sizeof(b), wi_hist_quantile(h, 0.99)), wi_fmt_ns(c, sizeof(c), h->max_ns),
			    h->count);
	if (r->wakeups.censored)
		wi_para_add(&p, "%s%" PRIu64 " still waiting at the end, the longest for %s.", h->count ? " " : "",
			    r->wakeups.censored, wi_fmt_ns(d, sizeof(d), r->quality.censored_oldest_ns));
	wi_para_print(&p, out, "  *", 4);
}

void wi_report_text_verdict(FILE *out, const struct wi_report *rep)
{
	wi_text_title(out, "VERDICT");
	if (!rep->results->wakeups.total) {
		struct wi_para p = { 0 };

		wi_para_add(&p, "%s", rep->filter[0] ? "No wakeup passes the filter." : "No wakeup in this window.");
		wi_para_print(&p, out, "  *", 4);
	} else {
		verdict_missed(out, rep->results);
		verdict_idle_core(out, rep);
	}
	verdict_waste(out, rep->results);
	verdict_smt(out, rep->results);
	if (rep->results->wakeups.total) {
		verdict_affine(out, rep);
		verdict_latency(out, rep->results);
	}
}

bool wi_report_text(FILE *out, const struct wi_report *rep, struct wi_err *err)
{
	bool ok = wi_report_text_head(out, rep, err);

	if (ok)
		wi_report_text_verdict(out, rep);
	return ok && wi_text_wakeups(out, rep, err) && wi_report_text_latency(out, rep, err) &&
	       wi_report_text_missed(out, rep, err) &&
	       wi_text_worst(out, rep, rep->verbose ? SIZE_MAX : WI_REPORT_TEXT_ROWS, err) &&
	       wi_text_waste(out, rep, err) &&
	       wi_report_text_smt(out, rep, rep->verbose ? WI_REPORT_PAIRS : WI_REPORT_TEXT_ROWS, err) &&
	       wi_report_text_affine(out, rep, err) && wi_text_migrations(out, rep, err) &&
	       wi_text_idle(out, rep, err) && wi_text_tasks(out, rep, err);
}
