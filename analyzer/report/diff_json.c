/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Comparisons as JSON (doc/json.md, member .diff). */
#include "analyzer/report/diff.h"
#include "analyzer/report/quantiles.h"
#include "analyzer/report/document.h"

#define NOBODY ((size_t)-1)

static void put_group(struct wi_json *j, const struct wi_diff_group *g, bool baseline)
{
	wi_json_object(j, NULL);
	wi_json_string(j, "name", g->name);
	wi_json_string(j, "selector", g->selector);
	wi_json_bool(j, "baseline", baseline);
	wi_json_u64(j, "runs", g->nr_runs);
	if (g->nr_guessed)
		wi_json_u64(j, "machine_guessed", g->nr_guessed);
	wi_json_object_flat(j, "by_status");
	for (enum wi_run_status s = 0; s < WI_NR_RUN_STATUSES; s++)
		if (g->nr_status[s])
			wi_json_u64(j, wi_run_status_name(s), g->nr_status[s]);
	wi_json_end_object(j);
	wi_json_end_object(j);
}

static void put_boot(struct wi_json *j, const struct wi_boot *b)
{
	wi_json_real(j, "diff", b->diff);
	wi_json_real(j, "diff_low", b->diff_in.low);
	wi_json_real(j, "diff_high", b->diff_in.high);
	if (b->diff_in.state != WI_INTERVAL_KNOWN)
		wi_json_string(j, "no_diff_interval", wi_interval_state_text(b->diff_in.state));
	wi_json_real(j, "ratio", b->ratio);
	wi_json_real(j, "ratio_low", b->ratio_in.low);
	wi_json_real(j, "ratio_high", b->ratio_in.high);
	if (b->ratio_in.state != WI_INTERVAL_KNOWN)
		wi_json_string(j, "no_ratio_interval", wi_interval_state_text(b->ratio_in.state));
	wi_json_bool(j, "significant", b->significant);
}

static void put_against(struct wi_json *j, const struct wi_against *a)
{
	put_boot(j, &a->boot);
	wi_json_string(j, "change", wi_diff_change_name(a->change));
	wi_json_object_flat(j, "welch");
	wi_json_real(j, "t", a->welch.t);
	wi_json_real(j, "df", a->welch.df);
	wi_json_real(j, "p", a->welch.p);
	wi_json_real(j, "p_holm", a->welch_holm);
	wi_json_end_object(j);
	wi_json_object_flat(j, "mann_whitney");
	wi_json_real(j, "u", a->mwu.u);
	wi_json_real(j, "p", a->mwu.p);
	wi_json_bool(j, "exact", a->mwu.exact);
	wi_json_real(j, "p_holm", a->mwu_holm);
	wi_json_end_object(j);
}

static void put_metric(struct wi_json *j, const struct wi_diff_report *r, const struct wi_compare_row *m,
		       const char *unit)
{
	wi_json_object(j, NULL);
	wi_json_string(j, "metric", m->name);
	wi_json_string(j, "unit", unit);
	wi_json_string(j, "better", wi_direction_name(m->direction));
	wi_json_array(j, "groups");
	for (size_t g = 0; g < r->nr_groups; g++) {
		const struct wi_describe *d = &m->group[g];

		wi_json_object(j, NULL);
		wi_json_string(j, "name", r->group[g].name);
		wi_json_u64(j, "n", d->n);
		wi_json_u64(j, "unknown", d->nr_unknown);
		wi_json_real(j, "mean", d->mean);
		wi_json_real(j, "hmean", d->hmean);
		wi_json_real(j, "stddev", d->stddev);
		wi_json_real(j, "cv", d->cv);
		wi_json_real(j, "min", d->min);
		wi_json_real(j, "max", d->max);
		if (g != r->baseline) {
			wi_json_object(j, "against_baseline");
			put_against(j, &m->against[g]);
			wi_json_end_object(j);
		}
		wi_json_end_object(j);
	}
	wi_json_end_array(j);
	wi_json_end_object(j);
}

static void put_stratum(struct wi_json *j, const struct wi_diff_report *r, const struct wi_diff_stratum *s)
{
	wi_json_object(j, NULL);
	wi_json_object(j, "values");
	for (size_t k = 0; k < r->nr_by; k++)
		if (s->value[k])
			wi_json_string(j, r->by[k], s->value[k]);
	wi_json_end_object(j);
	wi_json_array_flat(j, "runs");
	for (size_t g = 0; g < r->nr_groups; g++)
		wi_json_u64(j, NULL, s->nr_runs[g]);
	wi_json_end_array(j);
	wi_json_bool(j, "compared", s->comparison != NULL);
	if (s->comparison) {
		wi_json_object_flat(j, "family");
		wi_json_u64(j, "welch", s->comparison->welch_family);
		wi_json_u64(j, "mann_whitney", s->comparison->mwu_family);
		wi_json_end_object(j);
		wi_json_array(j, "metrics");
		for (size_t i = 0; i < s->comparison->nr_rows; i++)
			put_metric(j, r, &s->comparison->row[i], s->unit[i]);
		wi_json_end_array(j);
	}
	if (s->nr_hists) {
		wi_json_array(j, "histograms");
		for (size_t i = 0; i < s->nr_hists; i++)
			wi_quantiles_json(j, r, &s->hist[i]);
		wi_json_end_array(j);
	}
	wi_json_end_object(j);
}

static void put_verdict(struct wi_json *j, const struct wi_diff_report *r, const struct wi_diff_verdict *v)
{
	wi_json_object(j, NULL);
	wi_json_string(j, "gate", v->gate);
	wi_json_bool(j, "passed", v->passed == WI_DIFF_PASSED);
	wi_json_bool(j, "judged", v->passed != WI_DIFF_UNJUDGED);
	if (v->metric)
		wi_json_string(j, "metric", v->metric);
	wi_json_u64(j, "metrics", v->nr_metrics);
	if (v->group != NOBODY)
		wi_json_string(j, "group", r->group[v->group].name);
	if (v->stratum != NOBODY)
		wi_json_u64(j, "stratum", v->stratum);
	wi_json_string(j, "found", v->found);
	wi_json_end_object(j);
}

bool wi_diff_json(FILE *out, const struct wi_diff_report *r, struct wi_err *err)
{
	struct wi_json j;

	(void)err;
	wi_document_begin(&j, out, r->version);
	wi_json_object(&j, "diff");
	if (r->source)
		wi_json_string(&j, "source", r->source);
	wi_json_array(&j, "groups");
	for (size_t g = 0; g < r->nr_groups; g++)
		put_group(&j, &r->group[g], g == r->baseline);
	wi_json_end_array(&j);
	wi_json_array_flat(&j, "by");
	for (size_t k = 0; k < r->nr_by; k++)
		wi_json_string(&j, NULL, r->by[k]);
	wi_json_end_array(&j);
	wi_json_u64(&j, "seed", r->seed);
	wi_json_u64(&j, "resamples", r->resamples);
	wi_json_real(&j, "level", 0.95);
	wi_json_array(&j, "strata");
	for (size_t i = 0; i < r->nr_strata; i++)
		put_stratum(&j, r, &r->stratum[i]);
	wi_json_end_array(&j);
	wi_json_array(&j, "gates");
	for (size_t i = 0; i < r->nr_verdicts; i++)
		put_verdict(&j, r, &r->verdict[i]);
	wi_json_end_array(&j);
	wi_json_end_object(&j);
	wi_json_end_object(&j);
	return true;
}
