/* SPDX-License-Identifier: GPL-2.0-or-later */
/* wakeif affine: where wakees went relative to their waker and their previous CPU. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/affine_pairs.h"
#include "analyzer/base/fmt.h"
#include "analyzer/cmd_print.h"

#define NR(a) (sizeof(a) / sizeof(*(a)))

enum by { BY_CONTEXT, BY_WAKER, BY_WAKEE, BY_BOTH };

struct affine_opts {
	struct wi_opts o;
	enum by by;
	struct wi_affine_pairs *pairs; /* NULL: by context */
	const struct wi_names *names;
	const struct wi_affine_pair *row; /* of pairs, for the writers */
	size_t nr_rows;
};

static const char *const by_name[] = { "context", "waker", "wakee", "waker-wakee" };

enum { KEY_BY = 0x200 };

static const struct argp_option own_options[] = {
	{ "by", KEY_BY, "context|waker|wakee|waker-wakee", 0, "how to split; tasks by name (default: context)", 2 },
	{ 0 },
};

static error_t own_key(int key, char *arg, struct argp_state *state)
{
	struct affine_opts *a = state->input;

	if (key != KEY_BY)
		return wi_opts_key(key, arg, state);
	for (size_t i = 0; i < NR(by_name); i++)
		if (!strcmp(arg, by_name[i])) {
			a->by = (enum by)i;
			return 0;
		}
	argp_error(state, "--by: neither context, waker, wakee nor waker-wakee: '%s'", arg);
	return 0;
}

static const struct argp_child children[] = {
	{ &wi_argp_input, 0, "Input:", 1 },
	{ &wi_argp_filter, 0, "Which wakeups count:", 3 },
	{ &wi_argp_output, 0, "Output:", 4 },
	{ &wi_argp_common, 0, NULL, -1 },
	{ 0 },
};

static const char *waker_text(const struct affine_opts *a, const struct wi_affine_pair *p, char *out, size_t size)
{
	if (p->context == WAKEIF_CTX_TASK)
		return wi_fmt_name(out, size, wi_names_get(a->names, p->waker));
	snprintf(out, size, "(%s)", wi_context_name((enum wakeif_context)p->context));
	return out;
}

static bool pairs_text(FILE *out, const struct affine_opts *a, struct wi_err *err)
{
	static const struct wi_column columns[] = { { "waker", true, true },	  { "wakee", true, true },
						    { "wakeups", false, false },  { "same CPU", false, false },
						    { "core", false, false },	  { "LLC", false, false },
						    { "farther", false, false },  { "on prev", false, false },
						    { "left LLC", false, false }, { "p50", false, false },
						    { "p99", false, false },	  { "max", false, false } };
	const struct wi_affine_pair *row = a->row;
	size_t nr = a->nr_rows, max = a->o.worst ? a->o.worst : 20;
	struct wi_table *t;
	char name[WI_FMT_NAME_LEN];

	fputs("\nwhere the wakee went: same CPU .. farther are relative to the waker's CPU\n", out);
	t = wi_table_new(columns, NR(columns));
	for (size_t i = 0; i < nr && i < max; i++) {
		const uint64_t *w = row[i].waker_distance;

		wi_table_text(t, a->by == BY_WAKEE ? "(any)" : waker_text(a, &row[i], name, sizeof(name)));
		if (a->by == BY_WAKER)
			wi_table_text(t, "(any)");
		else
			wi_table_name(t, wi_names_get(a->names, row[i].wakee));
		wi_table_count(t, row[i].considered);
		wi_table_share(t, w[WI_DIST_CPU], row[i].considered);
		wi_table_share(t, w[WI_DIST_CORE], row[i].considered);
		wi_table_share(t, w[WI_DIST_CLUSTER] + w[WI_DIST_LLC], row[i].considered);
		wi_table_share(t, w[WI_DIST_NODE] + w[WI_DIST_REMOTE], row[i].considered);
		wi_table_share(t, row[i].prev[WI_DIST_CPU], row[i].considered);
		wi_table_share(t, row[i].cross_llc, row[i].considered);
		if (row[i].latency.count) {
			wi_table_ns(t, wi_hist_quantile(&row[i].latency, 0.5));
			wi_table_ns(t, wi_hist_quantile(&row[i].latency, 0.99));
			wi_table_ns(t, row[i].latency.max_ns);
		} else {
			for (int k = 0; k < 3; k++)
				wi_table_none(t);
		}
	}
	if (!wi_table_print(t, out, 0))
		return wi_err_nomem(err);
	if (nr > max)
		fprintf(out, "and %zu more (--worst N shows more, --csv all)\n", nr - max);
	return true;
}

static void pairs_csv(FILE *out, const struct affine_opts *a)
{
	static const double quantile[] = { 0.5, 0.99 };
	struct wi_csv c = { .out = out };
	const struct wi_affine_pair *row = a->row;

	wi_csv_header(&c, "waker_comm,waker_context,wakee_comm,considered,prev_cpu,prev_core,prev_cluster,prev_llc,"
			  "prev_node,prev_remote,waker_cpu,"
			  "waker_core,waker_cluster,waker_llc,waker_node,waker_remote,cross_llc,count,sum_ns,p50_ns,"
			  "p99_ns,max_ns");
	for (size_t i = 0; i < a->nr_rows; i++) {
		const struct wi_hist *h = &row[i].latency;

		if (a->by == BY_WAKEE || row[i].context != WAKEIF_CTX_TASK)
			wi_csv_none(&c);
		else
			wi_csv_text(&c, wi_names_get(a->names, row[i].waker));
		wi_csv_text(&c, a->by == BY_WAKEE ? "" : wi_context_name((enum wakeif_context)row[i].context));
		if (a->by == BY_WAKER)
			wi_csv_none(&c);
		else
			wi_csv_text(&c, wi_names_get(a->names, row[i].wakee));
		wi_csv_u64(&c, row[i].considered);
		for (int d = 0; d < WI_NR_DISTANCES; d++)
			wi_csv_u64(&c, row[i].prev[d]);
		for (int d = 0; d < WI_NR_DISTANCES; d++)
			wi_csv_u64(&c, row[i].waker_distance[d]);
		wi_csv_u64(&c, row[i].cross_llc);
		wi_csv_u64(&c, h->count);
		wi_csv_u64(&c, h->sum_ns);
		for (size_t q = 0; q < NR(quantile); q++)
			if (h->count)
				wi_csv_u64(&c, wi_hist_quantile(h, quantile[q]));
			else
				wi_csv_none(&c);
		if (h->count)
			wi_csv_u64(&c, h->max_ns);
		else
			wi_csv_none(&c);
		wi_csv_end(&c);
	}
}

/* The rows as a list of .wake_affine. */
static void pairs_json(struct wi_json *j, const void *ctx)
{
	static const char *const key[] = {
		[BY_WAKER] = "by_waker", [BY_WAKEE] = "by_wakee", [BY_BOTH] = "by_waker_wakee"
	};
	const struct affine_opts *a = ctx;

	wi_json_array(j, key[a->by]);
	for (size_t i = 0; i < a->nr_rows; i++) {
		const struct wi_affine_pair *p = &a->row[i];

		wi_json_object(j, NULL);
		if (a->by != BY_WAKEE && p->context == WAKEIF_CTX_TASK)
			wi_json_string(j, "waker_comm", wi_names_get(a->names, p->waker));
		if (a->by != BY_WAKEE)
			wi_json_string(j, "waker_context", wi_context_name((enum wakeif_context)p->context));
		if (a->by != BY_WAKER)
			wi_json_string(j, "wakee_comm", wi_names_get(a->names, p->wakee));
		wi_json_u64(j, "considered", p->considered);
		wi_report_json_distances(j, "prev", p->prev, WI_DIST_CPU);
		wi_report_json_distances(j, "waker", p->waker_distance, WI_DIST_CPU);
		wi_json_u64(j, "cross_llc", p->cross_llc);
		wi_report_json_latency(j, "latency", &p->latency, false);
		wi_json_end_object(j);
	}
	wi_json_end_array(j);
}

static bool write_json(FILE *out, const struct wi_report *rep, const struct affine_opts *a, struct wi_err *err)
{
	struct wi_report with = *rep;

	if (a->pairs) {
		with.affine_members = pairs_json;
		with.affine_ctx = a;
	}
	return wi_report_json(out, &with, WI_SECTION_AFFINE, err);
}

static bool write(FILE *out, const struct wi_report *rep, const void *ctx, struct wi_err *err)
{
	const struct affine_opts *a = ctx;

	switch (a->o.format) {
	case WI_FORMAT_JSON:
		return write_json(out, rep, a, err);
	case WI_FORMAT_CSV:
		if (!a->pairs)
			return wi_report_csv(out, rep, "wake_affine", err);
		pairs_csv(out, a);
		return true;
	default:
		wi_cmd_headline(out, rep);
		if (!rep->results->affine.all.considered) {
			fputs("no decided wakeup whose waker was on another CPU than the previous one\n", out);
			return true;
		}
		return wi_report_text_affine(out, rep, err) && (!a->pairs || pairs_text(out, a, err));
	}
}

int wi_cmd_affine(int argc, char **argv)
{
	const struct argp argp = { own_options,
				   own_key,
				   "[FILE]",
				   "Tells where wakees went relative to their waker and to their previous CPU, and "
				   "what that cost: the outcome of wake_affine. Counted "
				   "are decided wakeups whose waker was not on the previous CPU.",
				   children,
				   NULL,
				   NULL };
	struct affine_opts a = { 0 };
	struct wi_session s;
	struct wi_err err = { 0 };
	int status;

	wi_opts_parse(&argp, argc, argv, &a.o);
	if (a.by != BY_CONTEXT) {
		a.pairs = wi_affine_pairs_new(a.by != BY_WAKEE, a.by != BY_WAKER);
		if (!a.pairs)
			wi_err_nomem(&err);
	}

	struct wi_metrics_opts wanted = { .sink = a.pairs ? wi_affine_pairs_sink : NULL, .sink_ctx = a.pairs };

	if (wi_session_start(&s, &a.o, &wanted, &err) == WI_OK) {
		a.names = s.names;
		if (a.pairs && !wi_affine_pairs_rows(a.pairs, a.names, &a.row, &a.nr_rows))
			wi_err_nomem(&err);
		else
			wi_session_print(&s, write, &a, &err);
	}
	status = wi_session_end(&s, &err);
	wi_opts_fini(&a.o);
	wi_affine_pairs_free(a.pairs);
	return status;
}
