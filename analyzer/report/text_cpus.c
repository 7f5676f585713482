/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tables of the text report about CPUs and tasks: SMT co-scheduling, idle, migrations, tasks. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/report/text_priv.h"

#define NR(a) (sizeof(a) / sizeof(*(a)))

static bool print(struct wi_table *t, FILE *out, struct wi_err *err)
{
	return wi_table_print(t, out, 2) || wi_err_nomem(err);
}

static bool print_busy_threads(FILE *out, const struct wi_smt_results *s)
{
	uint64_t all = s->unknown_ns;
	char a[WI_FMT_LEN], b[WI_FMT_LEN];
	struct wi_para p = { 0 };

	for (uint32_t i = 0; i <= s->nr_threads; i++)
		all += s->busy_threads_ns[i];
	for (uint32_t i = 0; i <= s->nr_threads; i++)
		wi_para_add(&p, "%s%" PRIu32 " busy: %s (%s)", i ? ", " : "", i,
			    wi_fmt_share(a, sizeof(a), s->busy_threads_ns[i], all),
			    wi_fmt_ns(b, sizeof(b), s->busy_threads_ns[i]));
	if (s->unknown_ns)
		wi_para_add(&p, ", unknown: %s", wi_fmt_share(a, sizeof(a), s->unknown_ns, all));
	return wi_para_print(&p, out, "  core time with", 17);
}

static void print_avoidable(FILE *out, const struct wi_report *rep, const struct wi_smt_results *s)
{
	char a[WI_FMT_LEN];
	bool any = false;

	fputs("  avoidable co-run (a core was idle meanwhile):", out);
	for (int i = 0; i < WI_NR_WIDE; i++) {
		if (i != WI_WIDE_LLC && !wi_scope_differs(rep->topology, wi_wide_scope((enum wi_wide_scope)i)))
			continue;
		fprintf(out, "%s %s in the %s", any ? "," : "", wi_fmt_ns(a, sizeof(a), s->avoidable_corun_ns[i]),
			wi_text_scope(wi_wide_scope((enum wi_wide_scope)i)));
		any = true;
	}
	putc('\n', out);
}

static bool print_pairs(FILE *out, const struct wi_results *r, size_t max_rows, struct wi_err *err)
{
	static const struct wi_column columns[] = { { "shared a core", false, false },
						    { "group", true, true },
						    { "with", true, true } };
	const struct wi_smt_results *s = &r->smt;
	size_t nr = s->nr_pair < max_rows ? s->nr_pair : max_rows;
	struct wi_table *t;

	if (!nr)
		return true;
	t = wi_table_new(columns, NR(columns));
	for (size_t i = 0; i < nr; i++) {
		wi_table_ns(t, s->pair[i].ns);
		wi_table_name(t, wi_results_name(r, s->pair[i].a));
		wi_table_name(t, wi_results_name(r, s->pair[i].b));
	}
	if (!print(t, out, err))
		return false;
	wi_text_more(out, s->nr_pair, nr, "pairs");
	return true;
}

static bool print_smt_tasks(FILE *out, const struct wi_results *r, size_t max_rows, struct wi_err *err)
{
	static const struct wi_column columns[] = { { "task", true, true },	      { "run", false, false },
						    { "busy sibling", false, false }, { "of run", false, false },
						    { "alone", false, false },	      { "lost at s=0.5", false, false },
						    { "s=0.62", false, false },	      { "s=0.9", false, false } };
	const struct wi_task_row *row[WI_REPORT_SMT_TASKS];
	size_t nr = wi_results_tasks(r, WI_TASKS_BY_CORUN, row, max_rows < NR(row) ? max_rows : NR(row));
	struct wi_table *t;

	if (!nr)
		return true;
	t = wi_table_new(columns, NR(columns));
	for (size_t i = 0; i < nr; i++) {
		wi_table_task(t, wi_results_name(r, row[i]->comm), row[i]->pid);
		wi_table_ns(t, row[i]->run_ns);
		wi_table_ns(t, row[i]->corun_ns);
		wi_table_share(t, row[i]->corun_ns, row[i]->run_ns);
		wi_table_ns(t, row[i]->alone_ns);
		wi_table_ns(t, wi_smt_lost_ns(row[i]->corun_ns, WI_SMT_SPEED_LOW));
		wi_table_ns(t, wi_smt_lost_ns(row[i]->corun_ns, WI_SMT_SPEED_DEFAULT));
		wi_table_ns(t, wi_smt_lost_ns(row[i]->corun_ns, WI_SMT_SPEED_HIGH));
	}
	if (!print(t, out, err))
		return false;
	wi_text_more(out, r->tasks.total[WI_TASKS_BY_CORUN], nr, "tasks");
	return true;
}

static void print_cookie_core(struct wi_table *t, const char *cpus, const struct wi_cookie_time *k)
{
	uint64_t corun = k->ns[WI_COOKIE_CLASS_COMPATIBLE] + k->ns[WI_COOKIE_CLASS_INCOMPATIBLE];

	wi_table_text(t, cpus);
	wi_table_ns(t, k->ns[WI_COOKIE_CLASS_COMPATIBLE]);
	wi_table_ns(t, k->ns[WI_COOKIE_CLASS_INCOMPATIBLE]);
	if (corun)
		wi_table_share(t, k->ns[WI_COOKIE_CLASS_COMPATIBLE], corun);
	else
		wi_table_none(t);
	wi_table_ns(t, k->idle_min_ns);
	wi_table_ns(t, k->ns[WI_COOKIE_CLASS_CORUN_UNKNOWN]);
	wi_table_ns(t, k->ns[WI_COOKIE_CLASS_SINGLE]);
	wi_table_ns(t, k->ns[WI_COOKIE_CLASS_IDLE]);
	wi_table_ns(t, k->ns[WI_COOKIE_CLASS_UNKNOWN]);
}

static bool print_cookie_groups(FILE *out, const struct wi_results *r, size_t max_rows, struct wi_err *err)
{
	static const struct wi_column columns[] = {
		{ "cookie", true, true },	   { "run", false, false },   { "beside its own", false, false },
		{ "beside others", false, false }, { "alone", false, false }, { "unknown", false, false }
	};
	const struct wi_cookie_results *k = &r->smt.cookies;
	size_t nr = k->nr_group < max_rows ? k->nr_group : max_rows;
	struct wi_table *t;

	if (!nr)
		return true;
	t = wi_table_new(columns, NR(columns));
	for (size_t i = 0; i < nr; i++) {
		const struct wi_cookie_group_row *g = &k->group[i];

		if (g->kind == WI_COOKIE_KIND_TAGGED)
			wi_table_name(t, wi_results_name(r, g->name));
		else
			wi_table_textf(t, "(%s)", wi_cookie_kind_name(g->kind));
		wi_table_ns(t, wi_cookie_group_run_ns(g));
		for (int s = 0; s < WI_NR_COOKIE_SHARES; s++)
			wi_table_ns(t, g->ns[s]);
	}
	if (!print(t, out, err))
		return false;
	wi_text_more(out, k->nr_group, nr, "cookies");
	return true;
}

static bool print_cookies(FILE *out, const struct wi_results *r, size_t max_rows, struct wi_err *err)
{
	static const struct wi_column columns[] = {
		{ "core", true, true },	    { "compatible", false, false },	{ "incompatible", false, false },
		{ "ratio", false, false },  { "forced idle >=", false, false }, { "co-run unknown", false, false },
		{ "single", false, false }, { "idle", false, false },		{ "unknown", false, false }
	};
	const struct wi_cookie_results *k = &r->smt.cookies;
	size_t nr = k->nr_core < max_rows ? k->nr_core : max_rows;
	struct wi_table *t;

	if (!k->present)
		return true;
	wi_text_title(out, "CORE-SCHEDULING COOKIES");
	t = wi_table_new(columns, NR(columns));
	print_cookie_core(t, "all", &k->all);
	for (size_t i = 0; i < nr; i++)
		print_cookie_core(t, k->core[i].cpus, &k->core[i].time);
	if (!print(t, out, err))
		return false;
	wi_text_more(out, k->nr_core, nr, "cores");
	return print_cookie_groups(out, r, max_rows, err);
}

bool wi_report_text_smt(FILE *out, const struct wi_report *rep, size_t max_rows, struct wi_err *err)
{
	const struct wi_results *r = rep->results;

	if (!r->smt.present)
		return true;
	wi_text_title(out, "SMT CO-SCHEDULING");
	if (!print_busy_threads(out, &r->smt))
		return wi_err_nomem(err);
	print_avoidable(out, rep, &r->smt);
	return print_pairs(out, r, max_rows, err) && print_smt_tasks(out, r, max_rows, err) &&
	       print_cookies(out, r, max_rows, err);
}

bool wi_text_migrations(FILE *out, const struct wi_report *rep, struct wi_err *err)
{
	const struct wi_migration_results *m = &rep->results->migrations;
	struct wi_para p = { 0 };
	char a[WI_FMT_LEN];
	bool any = false;

	if (!m->total)
		return true;
	wi_text_title(out, "MIGRATIONS");
	wi_para_add(&p, "%" PRIu64 " (%" PRIu64 " by placement, ", m->total, m->placement);
	if (m->inferred == m->total)
		wi_para_add(&p, "all inferred)");
	else
		wi_para_add(&p, "%" PRIu64 " inferred)", m->inferred);
	wi_para_add(&p, ", %s a wakeup", wi_fmt_ratio(a, sizeof(a), m->total, rep->results->wakeups.total));
	if (rep->results->window_ns)
		wi_para_add(&p, ", %.1f a second", (double)m->total / ((double)rep->results->window_ns / 1e9));
	for (int d = WI_DIST_CORE; d < WI_NR_DISTANCES; d++) {
		if (!m->by_distance[d])
			continue;
		wi_para_add(&p, "%s %s %" PRIu64, any ? "," : "; how far:", wi_text_distance((enum wi_distance)d),
			    m->by_distance[d]);
		any = true;
	}
	if (m->distance_unknown)
		wi_para_add(&p, "%s not known %" PRIu64, any ? "," : "; how far:", m->distance_unknown);
	return wi_para_print(&p, out, " ", 2) || wi_err_nomem(err);
}

static void idle_cells(struct wi_table *t, const struct wi_idle_row *row)
{
	uint64_t all = row->idle_ns + row->busy_ns + row->unknown_ns;

	wi_table_share(t, row->idle_ns, all);
	wi_table_share(t, row->busy_ns, all);
	wi_table_share(t, row->unknown_ns, all);
}

static void idle_rows(struct wi_table *t, const char *what, const struct wi_idle_table *table, size_t max_rows)
{
	for (size_t i = 0; i < table->nr && i < max_rows; i++) {
		wi_table_textf(t, "%s %" PRIu32, what, table->row[i].id);
		wi_table_text(t, table->row[i].cpus ? table->row[i].cpus : "");
		idle_cells(t, &table->row[i]);
	}
}

/* Idle shares of single CPUs, many to a line. */
static void print_cpu_idle(FILE *out, const struct wi_idle_table *cpu, size_t max_rows)
{
	enum { PER_LINE = 8 };
	char a[WI_FMT_LEN];

	fputs("  single CPUs idle:", out);
	for (size_t i = 0; i < cpu->nr && i < max_rows; i++) {
		const struct wi_idle_row *r = &cpu->row[i];
		uint64_t all = r->idle_ns + r->busy_ns + r->unknown_ns;

		if (i % PER_LINE == 0)
			putc('\n', out);
		fprintf(out, "  %s %3.0f%%", wi_fmt_cpu(a, sizeof(a), r->id),
			all ? 100.0 * (double)r->idle_ns / (double)all : 0);
	}
	putc('\n', out);
}

bool wi_text_idle(FILE *out, const struct wi_report *rep, struct wi_err *err)
{
	static const struct wi_column columns[] = { { "", true, false },
						    { "CPUs", true, true },
						    { "idle", false, false },
						    { "busy", false, false },
						    { "unknown", false, false } };
	const struct wi_idle_results *d = &rep->results->idle;
	size_t max_rows = rep->verbose ? SIZE_MAX : 32;
	char a[WI_FMT_LEN];
	struct wi_table *t;

	wi_text_title(out, "IDLE: share of time all CPUs of it were idle");
	t = wi_table_new(columns, NR(columns));
	idle_rows(t, "package", &d->package, max_rows);
	if (wi_scope_differs(rep->topology, WAKEIF_LLC) || d->llc.nr > 1)
		idle_rows(t, "LLC", &d->llc, max_rows);
	if (rep->topology->smt > 1)
		idle_rows(t, "core", &d->core, max_rows);
	if (!print(t, out, err))
		return false;
	print_cpu_idle(out, &d->cpu, rep->verbose ? SIZE_MAX : 128);
	if (!rep->verbose && (d->core.nr > 32 || d->cpu.nr > 128))
		fputs("  (-v shows every group and CPU)\n", out);
	if (d->decided && rep->topology->nr_packages > 1)
		fprintf(out, "  decided wakeups that went to an idle package: %" PRIu64 " (%s)\n",
			d->touched_idle_package, wi_fmt_share(a, sizeof(a), d->touched_idle_package, d->decided));
	return true;
}

/* Migrations per wakeup, and per second of the task's life in the window. */
static void migration_rates(struct wi_table *t, const struct wi_task_row *k)
{
	uint64_t life_ns = k->run_ns + k->wait_ns + k->sleep_ns + k->unknown_ns;
	char a[WI_FMT_LEN];

	wi_table_text(t, wi_fmt_ratio(a, sizeof(a), k->migrations, k->wakeups));
	if (life_ns)
		wi_table_textf(t, "%.1f", (double)k->migrations / ((double)life_ns / 1e9));
	else
		wi_table_none(t);
}

bool wi_text_tasks(FILE *out, const struct wi_report *rep, struct wi_err *err)
{
	static const struct wi_column columns[] = { { "task", true, true },	    { "run", false, false },
						    { "wait", false, false },	    { "sleep", false, false },
						    { "unknown", false, false },    { "wakeups", false, false },
						    { "switches", false, false },   { "preempted", false, false },
						    { "migrations", false, false }, { "/wakeup", false, false },
						    { "/s", false, false } };
	const struct wi_results *r = rep->results;
	const struct wi_task_row *row[WI_REPORT_TASKS];
	size_t nr = wi_results_tasks(r, WI_TASKS_BY_RUN, row, rep->verbose ? WI_REPORT_TASKS : WI_REPORT_TEXT_ROWS);
	struct wi_table *t;

	if (!nr)
		return true;
	fprintf(out, "\nTASKS %" PRIu64 ", by run time\n", r->tasks.total[WI_TASKS_BY_RUN]);
	t = wi_table_new(columns, NR(columns));
	for (size_t i = 0; i < nr; i++) {
		const struct wi_task_row *k = row[i];

		wi_table_task(t, wi_results_name(r, k->comm), k->pid);
		wi_table_ns(t, k->run_ns);
		wi_table_ns(t, k->wait_ns);
		wi_table_ns(t, k->sleep_ns);
		wi_table_ns(t, k->unknown_ns);
		wi_table_count(t, k->wakeups);
		wi_table_count(t, k->switches_in);
		if (!rep->preempted_known || !wi_task_preempted_known(k))
			wi_table_none(t);
		else
			wi_table_textf(t, "%s%" PRIu64, k->preempt_unknown ? ">=" : "", k->preempted);
		wi_table_count(t, k->migrations);
		migration_rates(t, k);
	}
	if (!print(t, out, err))
		return false;
	wi_text_more(out, r->tasks.total[WI_TASKS_BY_RUN], nr, "tasks");
	return true;
}
