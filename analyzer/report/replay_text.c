/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <inttypes.h>
#include <string.h>

#include "analyzer/base/fmt.h"
#include "analyzer/report/replay.h"

#define NR(a) (sizeof(a) / sizeof(*(a)))

const struct wi_model_results *wi_replay_kernel_row(const struct wi_replay_results *r)
{
	for (size_t i = 1; i < r->nr_models; i++)
		if (r->model[i].of_kernel)
			return &r->model[i];
	return NULL;
}

static bool print(struct wi_table *t, FILE *out, struct wi_err *err)
{
	return wi_table_print(t, out, 0) || wi_err_nomem(err);
}

/* ---- head ---- */

static void print_notes(FILE *out, const char *notes)
{
	while (*notes) {
		size_t n = strcspn(notes, "\n");

		fprintf(out, "note: %.*s\n", (int)n, notes);
		notes += n + (notes[n] == '\n');
	}
}

static void print_sync(FILE *out, const struct wi_replay_report *p)
{
	const struct wi_sync_results *s = &p->r->sync;
	char a[WI_FMT_LEN], b[WI_FMT_LEN], c[WI_FMT_LEN];
	uint32_t needs = 0;

	for (size_t i = 1; i < p->r->nr_models; i++)
		needs |= p->r->model[i].needs;
	if (!(needs & WAKEIF_NEED_SYNC))
		return;
	fprintf(out, "WF_SYNC: %s", p->sync);
	if (s->asked[WI_SYNC_RECORDED])
		fprintf(out, "; recorded for %s", wi_fmt_share(a, sizeof(a), s->asked[WI_SYNC_RECORDED], p->r->decided));
	if (s->asked[WI_SYNC_LEARNED])
		fprintf(out, "; %" PRIu64 " outcomes tell it (%s set), for %" PRIu64
			     " pairs of names; judged by pair %s, by context %s, by default the rest",
			s->votes, wi_fmt_share(a, sizeof(a), s->votes_sync, s->votes), s->pairs,
			wi_fmt_share(b, sizeof(b), s->by_pair, s->asked[WI_SYNC_LEARNED]),
			wi_fmt_share(c, sizeof(c), s->by_context, s->asked[WI_SYNC_LEARNED]));
	fprintf(out, "; taken as set for %s of decisions\n", wi_fmt_share(a, sizeof(a), s->set, p->r->decided));
}

static void print_allowed(FILE *out, const struct wi_replay_results *r)
{
	char a[WI_FMT_LEN], b[WI_FMT_LEN], c[WI_FMT_LEN];

	fprintf(out, "affinity: recorded %s, inferred %s, assumed %s of decisions\n",
		wi_fmt_share(a, sizeof(a), r->allowed[WAKEIF_ALLOWED_RECORDED], r->decided),
		wi_fmt_share(b, sizeof(b), r->allowed[WAKEIF_ALLOWED_INFERRED], r->decided),
		wi_fmt_share(c, sizeof(c), r->allowed[WAKEIF_ALLOWED_ASSUMED], r->decided));
}

void wi_replay_text_head(FILE *out, const struct wi_replay_report *p)
{
	const struct wi_replay_results *r = p->r;

	print_notes(out, p->notes);
	if (p->rep->note[0])
		fprintf(out, "note: %s\n", p->rep->note);
	fprintf(out, "topology: %s\n", p->rep->topology->source);
	fprintf(out, "engine: open loop (the recorded state stays true); %" PRIu64 " decided wakeups, %" PRIu64
		     " of them by a stalled waker",
		r->decided, r->stalled);
	if (r->not_replayed)
		fprintf(out, "; %" PRIu64 " not replayed: a CPU of theirs is not in the topology", r->not_replayed);
	fputs("\nnot decided:", out);
	for (int c = 0; c < WAKEIF_NR_CLASSES; c++)
		if (c != WAKEIF_SELECT && c != WAKEIF_FORK && c != WAKEIF_EXEC && r->by_class[c])
			fprintf(out, " %s %" PRIu64, wi_class_name((enum wakeif_class)c), r->by_class[c]);
	fputc('\n', out);
	print_sync(out, p);
	print_allowed(out, r);
}

/* ---- agreement ---- */

static void share_or_none(struct wi_table *t, uint64_t part, uint64_t whole)
{
	if (whole)
		wi_table_share(t, part, whole);
	else
		wi_table_none(t);
}

/* Agreement: the last per cent is what models differ in. */
static void agreement(struct wi_table *t, uint64_t part, uint64_t whole)
{
	if (whole)
		wi_table_textf(t, "%.2f %%", 100 * (double)part / (double)whole);
	else
		wi_table_none(t);
}

static bool print_agreement(FILE *out, const struct wi_replay_results *r, struct wi_err *err)
{
	static const struct wi_column columns[] = { { "model", true, true },	  { "CPU", false, false },
						    { "core", false, false },	  { "LLC", false, false },
						    { "idle/busy", false, false }, { "stalled", false, false },
						    { "fork", false, false },	  { "exec", false, false },
						    { "tagged", false, false },	  { "untagged", false, false },
						    { "turns w. sync", false, false }, { "invalid", false, false } };
	struct wi_table *t;

	if (r->nr_models < 2)
		return true;
	fputs("\nanswers that are the kernel's choice (of decided wakeups; forks and execs apart)\n", out);
	t = wi_table_new(columns, NR(columns));
	for (size_t i = 1; i < r->nr_models; i++) {
		const struct wi_model_results *m = &r->model[i];
		uint64_t n = m->select.decided;

		wi_table_name(t, m->label);
		agreement(t, m->select.cpu, n);
		agreement(t, m->select.core, n);
		agreement(t, m->select.llc, n);
		agreement(t, m->select.busy, n);
		agreement(t, m->stalled.cpu, m->stalled.decided);
		agreement(t, m->fork.cpu, m->fork.decided);
		agreement(t, m->exec.cpu, m->exec.decided);
		share_or_none(t, m->tagged.answers, n);
		agreement(t, m->select.cpu - m->tagged.agree, n - m->tagged.answers);
		if (m->needs & WAKEIF_NEED_SYNC)
			share_or_none(t, m->sync_matters, n);
		else
			wi_table_none(t);
		wi_table_count(t, m->invalid);
	}
	return print(t, out, err);
}

static bool print_reasons(FILE *out, const struct wi_replay_results *r, struct wi_err *err)
{
	static const struct wi_column columns[] = { { "model", true, true },
						    { "differ", false, false },
						    { "hindsight", false, false },
						    { "race", false, false },
						    { "sis ambiguous", false, false },
						    { "sync unknown", false, false },
						    { "affinity unknown", false, false },
						    { "load", false, false },
						    { "repair", false, false },
						    { "other", false, false } };
	struct wi_table *t;

	_Static_assert(NR(columns) == WI_NR_REASONS + 2, "a column a reason");
	if (r->nr_models < 2)
		return true;
	fputs("\nwhy answers differ (the first reason that holds)\n", out);
	t = wi_table_new(columns, NR(columns));
	for (size_t i = 1; i < r->nr_models; i++) {
		const struct wi_model_results *m = &r->model[i];

		wi_table_name(t, m->label);
		wi_table_count(t, m->select.decided - m->select.cpu);
		for (int k = 0; k < WI_NR_REASONS; k++)
			wi_table_count(t, m->disagree[k]);
	}
	return print(t, out, err);
}

static bool print_rules(FILE *out, const struct wi_model_results *m, struct wi_err *err)
{
	static const struct wi_column columns[] = {
		{ "rule", true, false }, { "answers", false, false }, { "share", false, false }, { "agree", false, false }, { "", true, true }
	};
	static const char *const help[] = {
#define X(id, name, text) text,
		WAKEIF_RULES(X)
#undef X
	};
	char name[WI_FMT_NAME_LEN];
	struct wi_table *t;

	fprintf(out, "\nrules of %s\n", wi_fmt_name(name, sizeof(name), m->label));
	t = wi_table_new(columns, NR(columns));
	for (int k = 0; k < WAKEIF_NR_RULES; k++) {
		if (!m->rule[k].answers)
			continue;
		wi_table_text(t, wi_rule_name((enum wakeif_rule)k));
		wi_table_count(t, m->rule[k].answers);
		wi_table_share(t, m->rule[k].answers, m->select.decided);
		agreement(t, m->rule[k].agree, m->rule[k].answers);
		wi_table_text(t, help[k]);
	}
	return print(t, out, err);
}

static bool print_affine(FILE *out, const struct wi_model_results *m, struct wi_err *err)
{
	static const struct wi_column columns[] = {
		{ "wake_affine", true, false }, { "wakeups", false, false }, { "agree", false, false }
	};
	char name[WI_FMT_NAME_LEN];
	uint64_t asked = 0;
	struct wi_table *t;

	for (int k = WAKEIF_AFFINE_NOT_ASKED + 1; k < WAKEIF_NR_AFFINE; k++)
		asked += m->affine[k].answers;
	if (!asked)
		return true;
	fprintf(out, "\nwhat wake_affine says by %s, where the waker's CPU is not the previous one\n",
		wi_fmt_name(name, sizeof(name), m->label));
	t = wi_table_new(columns, NR(columns));
	for (int k = 0; k <= WAKEIF_NR_AFFINE; k++) {
		const struct wi_tally *n = k < WAKEIF_NR_AFFINE ? &m->affine[k] : &m->affine_sync;

		if (!n->answers)
			continue;
		wi_table_text(t, k < WAKEIF_NR_AFFINE ? wi_affine_name((enum wakeif_affine)k) :
							"(of these: turn with WF_SYNC)");
		wi_table_count(t, n->answers);
		agreement(t, n->agree, n->answers);
	}
	return print(t, out, err);
}

/* ---- what the answers mean ---- */

static bool print_missed(FILE *out, const struct wi_replay_results *r, struct wi_err *err)
{
	static const struct wi_column columns[] = {
		{ "placed by", true, true },	  { "on idle", false, false },	   { "on busy", false, false },
		{ "sibling", false, false },	  { "cluster", false, false },	   { "LLC", false, false },
		{ "node", false, false },	  { "machine", false, false },	   { "no idle", false, false },
		{ "unknown", false, false },	  { "idle core", false, false },   { "half-busy", false, false },
		{ "stacked", false, false },	  { "left prev", false, false }
	};
	static const enum wi_missed_row rows[] = { WI_MISSED_SIBLING, WI_MISSED_CLUSTER, WI_MISSED_LLC, WI_MISSED_NODE,
						   WI_MISSED_MACHINE, WI_MISSED_NO_IDLE, WI_MISSED_UNKNOWN };
	struct wi_table *t = wi_table_new(columns, NR(columns));

	fputs("\nmissed idle: queued on a busy CPU while the nearest idle one was in ...; idle core, half-busy: while an idle "
	      "core existed in the LLC;\n"
	      "left prev: placed elsewhere than on an idle previous CPU\n",
	      out);
	for (size_t i = 0; i < r->nr_models; i++) {
		const struct wi_model_missed *m = &r->model[i].missed;

		wi_table_name(t, r->model[i].label);
		share_or_none(t, m->chosen_idle, m->decided);
		share_or_none(t, m->queued_on_busy, m->decided);
		for (size_t k = 0; k < NR(rows); k++)
			wi_table_count(t, m->row[rows[k]]);
		wi_table_count(t, m->queued_while_idle_core[WI_WIDE_LLC]);
		wi_table_count(t, m->half_busy_core[WI_WIDE_LLC]);
		wi_table_count(t, m->stacked_on_waker);
		wi_table_count(t, m->prev_idle_elsewhere);
	}
	return print(t, out, err);
}

static void wait_cells(struct wi_table *t, const struct wi_hist *h)
{
	static const double quantile[] = { 0.5, 0.9, 0.99 };

	if (!h->count) {
		for (int k = 0; k < 5; k++)
			wi_table_none(t);
		return;
	}
	wi_table_ns(t, h->sum_ns / h->count);
	for (size_t q = 0; q < NR(quantile); q++)
		wi_table_ns(t, wi_hist_quantile(h, quantile[q]));
	wi_table_ns(t, h->max_ns);
}

static bool print_waits(FILE *out, const struct wi_replay_results *r, struct wi_err *err)
{
	static const struct wi_column columns[] = { { "placed by", true, true },  { "waits", false, false },
						    { "mean", false, false },	  { "p50", false, false },
						    { "p90", false, false },	  { "p99", false, false },
						    { "max", false, false },	  { "censored", false, false },
						    { "unknown", false, false },  { "dropped", false, false } };
	const struct wi_hist *real = &r->model[0].real_wait;
	struct wi_table *t = wi_table_new(columns, NR(columns));

	fputs("\nestimated wait: 0 on an idle CPU, else until it idled or all who were queued there had been switched out "
	      "once\n",
	      out);
	for (size_t i = 0; i < r->nr_models; i++) {
		const struct wi_est_wait *e = &r->model[i].est_wait;

		wi_table_name(t, r->model[i].label);
		share_or_none(t, e->wait.count ? e->wait.count - (e->wait.nr ? e->wait.bucket[0] : 0) : 0, e->wait.count);
		wait_cells(t, &e->wait);
		wi_table_count(t, e->censored);
		wi_table_count(t, e->unknown);
		wi_table_count(t, e->dropped);
	}
	if (real->count) {
		wi_table_text(t, "(measured queue wait)");
		wi_table_none(t);
		wait_cells(t, real);
		for (int k = 0; k < 3; k++)
			wi_table_none(t);
	}
	return print(t, out, err);
}

static bool print_moves(FILE *out, const struct wi_replay_results *r, struct wi_err *err)
{
	static const struct wi_column columns[] = { { "placed by", true, true },  { "stayed", false, false },
						    { "core", false, false },	  { "cluster", false, false },
						    { "LLC", false, false },	  { "node", false, false },
						    { "remote", false, false },	  { "CPUs examined", false, false } };
	struct wi_table *t = wi_table_new(columns, NR(columns));
	char text[WI_FMT_LEN];

	fputs("\nmoves from the previous CPU, by what both CPUs share\n", out);
	for (size_t i = 0; i < r->nr_models; i++) {
		const struct wi_model_results *m = &r->model[i];

		wi_table_name(t, m->label);
		for (int d = 0; d < WI_NR_DISTANCES; d++)
			share_or_none(t, m->moves[d], m->select.decided);
		if (i && m->select.decided && m->examined)
			wi_table_text(t, wi_fmt_ratio(text, sizeof(text), m->examined, m->select.decided));
		else
			wi_table_none(t);
	}
	return print(t, out, err);
}

static void search_row(struct wi_table *t, const char *name, const struct wi_search *s)
{
	char text[WI_FMT_LEN];

	wi_table_text(t, name);
	wi_table_count(t, s->tries);
	wi_table_count(t, s->scans);
	wi_table_count(t, s->found);
	wi_table_count(t, s->failed);
	share_or_none(t, s->found, s->tries);
	if (s->tries)
		wi_table_text(t, wi_fmt_ratio(text, sizeof(text), s->examined, s->tries));
	else
		wi_table_none(t);
	share_or_none(t, s->tries, s->examined);
}

static bool print_search(FILE *out, const struct wi_model_results *m, struct wi_err *err)
{
	static const struct wi_column columns[] = { { "busy CPUs of the LLC", true, false }, { "tries", false, false },
						    { "scans", false, false },	{ "found", false, false },
						    { "failed", false, false }, { "success", false, false },
						    { "examined/try", false, false }, { "efficiency", false, false } };
	static const char *const bucket[WI_NR_LOAD_BUCKETS] = { "none", "below 25 %", "25 to 50 %", "50 to 75 %",
								 "75 to 100 %", "all" };
	const struct wi_search_results *s = &m->search;
	char name[WI_FMT_NAME_LEN];
	struct wi_table *t;

	if (!s->all.tries)
		return true;
	fprintf(out,
		"\nsearch for an idle CPU by %s: hits target %" PRIu64 ", prev %" PRIu64 ", recent %" PRIu64
		", kthread %" PRIu64 ", SMT %" PRIu64 "; idle core wanted %" PRIu64 ", found %" PRIu64 "\n",
		wi_fmt_name(name, sizeof(name), m->label), s->target, s->prev, s->recent, s->kthread, s->smt, s->core_wanted,
		s->core_found);
	t = wi_table_new(columns, NR(columns));
	for (uint32_t b = 0; b < WI_NR_LOAD_BUCKETS; b++)
		if (s->by_load[b].tries)
			search_row(t, bucket[b], &s->by_load[b]);
	search_row(t, "(any)", &s->all);
	return print(t, out, err);
}

bool wi_replay_text(FILE *out, const struct wi_replay_report *p, struct wi_err *err)
{
	const struct wi_replay_results *r = p->r;
	const struct wi_model_results *kernel = wi_replay_kernel_row(r);

	wi_replay_text_head(out, p);
	if (!r->decided) {
		fputs("no decided wakeup in the window\n", out);
		return true;
	}
	if (!print_agreement(out, r, err) || !print_reasons(out, r, err) || !print_missed(out, r, err) ||
	    !print_waits(out, r, err) || !print_moves(out, r, err))
		return false;
	for (size_t i = 1; i < r->nr_models; i++) {
		const struct wi_model_results *m = &r->model[i];

		if (!p->verbose && m != kernel && r->nr_models > 2)
			continue;
		if (!print_rules(out, m, err) || !print_affine(out, m, err) || !print_search(out, m, err))
			return false;
	}
	return true;
}
