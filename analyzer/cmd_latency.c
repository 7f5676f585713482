/* SPDX-License-Identifier: GPL-2.0-or-later */
/* wakeif latency: wakeup latency split by task, CPU, waker, class or placement. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/base/fmt.h"
#include "analyzer/cmd_print.h"

#define NR(a) (sizeof(a) / sizeof(*(a)))
#define MAX_ROWS 65536 /* task rows kept; more are told */

enum by { BY_TASK, BY_CPU, BY_WAKER, BY_CLASS, BY_PLACEMENT, NR_BY };

static const char *const by_name[NR_BY] = { "task", "cpu", "waker", "class", "placement" };

struct latency_opts {
	struct wi_opts o;
	enum by by;
	bool hist;
};

enum { KEY_BY = 0x200, KEY_HIST };

static const struct argp_option own_options[] = {
	{ "by", KEY_BY, "task|cpu|waker|class|placement", 0, "how to split (default: task)", 2 },
	{ "hist", KEY_HIST, NULL, 0, "histograms: bars by powers of two in text, buckets in CSV and JSON", 2 },
	{ 0 },
};

static error_t own_key(int key, char *arg, struct argp_state *state)
{
	struct latency_opts *l = state->input;

	if (key == KEY_HIST) {
		l->hist = true;
		return 0;
	}
	if (key != KEY_BY)
		return wi_opts_key(key, arg, state);
	for (size_t i = 0; i < NR_BY; i++)
		if (!strcmp(arg, by_name[i])) {
			l->by = (enum by)i;
			return 0;
		}
	argp_error(state, "--by: neither task, cpu, waker, class nor placement: '%s'", arg);
	return 0;
}

static const struct argp_child children[] = {
	{ &wi_argp_input, 0, "Input:", 1 },
	{ &wi_argp_filter, 0, "Which wakeups count:", 3 },
	{ &wi_argp_output, 0, "Output:", 4 },
	{ &wi_argp_common, 0, NULL, -1 },
	{ 0 },
};

/* One row, however it was split. */
struct row {
	char key[WI_FMT_NAME_LEN]; /* for text */
	const char *comm;	   /* NULL: none */
	int32_t pid;		   /* WI_PID_NONE: none */
	uint64_t wakeups;	   /* measured or not; UINT64_MAX: not told apart */
	struct wi_hist hist;	   /* filled by the row's maker, freed by rows() */
};

typedef bool (*row_fn)(void *ctx, const struct row *row, struct wi_err *err);

static bool give(struct row *row, const struct wi_chist *c, const struct wi_hist *h, row_fn fn, void *ctx,
		 struct wi_err *err)
{
	bool ok;

	memset(&row->hist, 0, sizeof(row->hist));
	ok = (c ? wi_chist_expand(c, &row->hist) : wi_hist_merge(&row->hist, h)) || wi_err_nomem(err);
	ok = ok && fn(ctx, row, err);
	wi_hist_fini(&row->hist);
	return ok;
}

static bool task_rows(const struct wi_results *r, size_t max, row_fn fn, void *ctx, struct wi_err *err)
{
	const struct wi_task_row **task = malloc((r->tasks.nr ? r->tasks.nr : 1) * sizeof(*task));
	size_t nr = task ? wi_results_tasks(r, WI_TASKS_BY_LATENCY, task, r->tasks.nr < max ? r->tasks.nr : max) : 0;
	bool ok = task || wi_err_nomem(err);

	for (size_t i = 0; ok && i < nr; i++) {
		struct row row = { .comm = wi_results_name(r, task[i]->comm),
				   .pid = task[i]->pid,
				   .wakeups = task[i]->latency_wakeups };

		wi_fmt_task(row.key, sizeof(row.key), row.comm, row.pid);
		ok = give(&row, &task[i]->latency, NULL, fn, ctx, err);
	}
	free(task);
	return ok;
}

static bool split_rows(const struct wi_results *r, bool by_cpu, size_t max, row_fn fn, void *ctx, struct wi_err *err)
{
	const struct wi_split_row *split = by_cpu ? r->latency.by_cpu : r->latency.by_waker;
	size_t nr = by_cpu ? r->latency.nr_by_cpu : r->latency.nr_by_waker;

	for (size_t i = 0; i < nr && i < max; i++) {
		struct row row = { .pid = WI_PID_NONE, .wakeups = split[i].wakeups };

		if (by_cpu) {
			wi_fmt_cpu(row.key, sizeof(row.key), split[i].cpu);
		} else if (split[i].pid == WI_PID_NONE) {
			snprintf(row.key, sizeof(row.key), "(%s)",
				 wi_context_name((enum wakeif_context)split[i].context));
		} else {
			row.pid = split[i].pid;
			row.comm = wi_results_name(r, split[i].comm);
			wi_fmt_task(row.key, sizeof(row.key), row.comm, row.pid);
		}
		if (!give(&row, &split[i].wakeup, NULL, fn, ctx, err))
			return false;
	}
	return true;
}

static bool fixed_rows(const struct wi_results *r, bool by_class, row_fn fn, void *ctx, struct wi_err *err)
{
	int nr = by_class ? (int)WAKEIF_NR_CLASSES : (int)WI_NR_PLACEMENTS;

	for (int i = 0; i < nr; i++) {
		const struct wi_hist *h = by_class ? &r->latency.by_class[i] : &r->latency.by_placement[i];
		struct row row = { .pid = WI_PID_NONE, .wakeups = by_class ? r->wakeups.by_class[i] : UINT64_MAX };

		if (!h->count && !(by_class && row.wakeups))
			continue;
		snprintf(row.key, sizeof(row.key), "%s",
			 by_class ? wi_class_name((enum wakeif_class)i) : wi_placed_name((enum wi_placed)i));
		if (!give(&row, NULL, h, fn, ctx, err))
			return false;
	}
	return true;
}

static bool rows(const struct wi_results *r, enum by by, size_t max, row_fn fn, void *ctx, struct wi_err *err)
{
	switch (by) {
	case BY_TASK:
		return task_rows(r, max, fn, ctx, err);
	case BY_CPU:
	case BY_WAKER:
		return split_rows(r, by == BY_CPU, max, fn, ctx, err);
	default:
		return fixed_rows(r, by == BY_CLASS, fn, ctx, err);
	}
}

static bool table_row(void *ctx, const struct row *row, struct wi_err *err)
{
	static const double quantile[] = { 0.5, 0.9, 0.99, 0.999 };
	struct wi_table *t = ctx;

	(void)err;
	wi_table_text(t, row->key);
	if (row->wakeups == UINT64_MAX)
		wi_table_none(t);
	else
		wi_table_count(t, row->wakeups);
	wi_table_count(t, row->hist.count);
	for (size_t i = 0; i < NR(quantile); i++)
		if (row->hist.count)
			wi_table_ns(t, wi_hist_quantile(&row->hist, quantile[i]));
		else
			wi_table_none(t);
	if (row->hist.count)
		wi_table_ns(t, row->hist.max_ns);
	else
		wi_table_none(t);
	wi_table_ns(t, row->hist.sum_ns);
	return true;
}

static bool hist_row(void *ctx, const struct row *row, struct wi_err *err)
{
	FILE *out = ctx;

	(void)err;
	if (!row->hist.count)
		return true;
	fprintf(out, "\n%s: %" PRIu64 " measured\n", row->key, row->hist.count);
	wi_report_text_hist(out, &row->hist, 2);
	return true;
}

struct csv_ctx {
	struct wi_csv csv;
	const char *by;
	bool hist;
};

static void csv_key(struct csv_ctx *c, const struct row *row)
{
	wi_csv_text(&c->csv, c->by);
	if (row->comm) {
		wi_csv_text(&c->csv, row->comm);
		wi_csv_i64(&c->csv, row->pid);
	} else {
		wi_csv_text(&c->csv, row->key);
		wi_csv_none(&c->csv);
	}
}

static bool csv_row(void *ctx, const struct row *row, struct wi_err *err)
{
	static const double quantile[] = { 0.5, 0.9, 0.99, 0.999 };
	struct csv_ctx *c = ctx;
	const struct wi_hist *h = &row->hist;

	(void)err;
	for (uint32_t i = 0; c->hist && i < h->nr; i++) {
		if (!h->bucket[i])
			continue;
		csv_key(c, row);
		wi_csv_u64(&c->csv, wi_hist_lower_ns(i));
		wi_csv_u64(&c->csv, wi_hist_width_ns(i));
		wi_csv_u64(&c->csv, h->bucket[i]);
		wi_csv_end(&c->csv);
	}
	if (c->hist)
		return true;
	csv_key(c, row);
	if (row->wakeups == UINT64_MAX)
		wi_csv_none(&c->csv);
	else
		wi_csv_u64(&c->csv, row->wakeups);
	wi_csv_u64(&c->csv, h->count);
	wi_csv_u64(&c->csv, h->sum_ns);
	for (size_t i = 0; i < 2 + NR(quantile); i++)
		if (!h->count)
			wi_csv_none(&c->csv);
		else
			wi_csv_u64(&c->csv, i == 0   ? h->min_ns
					    : i == 1 ? h->max_ns
						     : wi_hist_quantile(h, quantile[i - 2]));
	wi_csv_end(&c->csv);
	return true;
}

static bool write_csv(FILE *out, const struct wi_report *rep, const struct latency_opts *l, struct wi_err *err)
{
	struct csv_ctx c = { .csv = { .out = out }, .by = by_name[l->by], .hist = l->hist };

	wi_csv_header(&c.csv, l->hist ? "by,key,pid,lower_ns,width_ns,count"
				      : "by,key,pid,wakeups,count,sum_ns,min_ns,max_ns,p50_ns,p90_ns,p99_ns,p999_ns");
	return rows(rep->results, l->by, SIZE_MAX, csv_row, &c, err);
}

static bool write_text(FILE *out, const struct wi_report *rep, const struct latency_opts *l, struct wi_err *err)
{
	struct wi_column columns[] = { { by_name[l->by], true, true }, { "wakeups", false, false },
				       { "measured", false, false },   { "p50", false, false },
				       { "p90", false, false },	       { "p99", false, false },
				       { "p99.9", false, false },      { "max", false, false },
				       { "sum", false, false } };
	size_t max = l->o.worst ? l->o.worst : l->hist ? 5 : 20;
	const struct wi_results *r = rep->results;
	uint64_t total = l->by == BY_TASK    ? r->tasks.total[WI_TASKS_BY_LATENCY]
			 : l->by == BY_WAKER ? r->latency.nr_by_waker
					     : 0;
	struct wi_table *t;

	if (l->by == BY_CPU)
		max = SIZE_MAX;
	wi_cmd_headline(out, rep);
	if (l->hist) {
		fputs("\nall wakeups\n", out);
		wi_report_text_hist(out, &r->latency.wakeup, 2);
		if (!rows(r, l->by, max, hist_row, out, err))
			return false;
		putc('\n', out);
	}
	t = wi_table_new(columns, NR(columns));
	if (!rows(r, l->by, max, table_row, t, err)) {
		wi_table_free(t);
		return false;
	}
	if (!wi_table_print(t, out, 0))
		return wi_err_nomem(err);
	if (total > max)
		fprintf(out, "and %" PRIu64 " more (--worst N shows more, --csv all)\n", total - max);
	return true;
}

static bool write(FILE *out, const struct wi_report *rep, const void *ctx, struct wi_err *err)
{
	const struct latency_opts *l = ctx;

	struct wi_report with = *rep;

	with.histograms = l->hist;
	switch (l->o.format) {
	case WI_FORMAT_JSON:
		return wi_report_json(out, &with, WI_SECTION_WAKEUPS | WI_SECTION_LATENCY, err);
	case WI_FORMAT_CSV:
		return write_csv(out, rep, l, err);
	default:
		return write_text(out, rep, l, err);
	}
}

int wi_cmd_latency(int argc, char **argv)
{
	const struct argp argp = { own_options,
				   own_key,
				   "[FILE]",
				   "Wakeup latency, from sched_waking until the task runs, split by task, CPU (where "
				   "it ran), waker, class or placement.",
				   children,
				   NULL,
				   NULL };
	struct latency_opts l = { 0 };
	struct wi_session s;
	struct wi_err err = { 0 };
	int status;

	wi_opts_parse(&argp, argc, argv, &l.o);

	struct wi_metrics_opts wanted = { .max_tasks = l.by == BY_TASK ? MAX_ROWS : 0,
					  .split_cpu = l.by == BY_CPU,
					  .split_waker = l.by == BY_WAKER };

	if (wi_session_start(&s, &l.o, &wanted, &err) == WI_OK) {
		wi_session_print(&s, write, &l, &err);
		if (!err.code && l.by == BY_TASK && s.results->tasks.total[WI_TASKS_BY_LATENCY] > MAX_ROWS)
			wi_cmd_note(&l.o, "only the first %d tasks are listed", MAX_ROWS);
	}
	status = wi_session_end(&s, &err);
	wi_opts_fini(&l.o);
	return status;
}
