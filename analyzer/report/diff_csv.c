/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Comparisons as CSV: a row a stratum, metric and group; then, if asked for, a table of quantiles. */
#include "analyzer/report/diff.h"
#include "analyzer/report/quantiles.h"
#include "analyzer/report/table.h"

static void put_keys(FILE *out, const struct wi_diff_report *r)
{
	struct wi_csv csv = { out, false };

	for (size_t i = 0; i < r->nr_by; i++)
		wi_csv_text(&csv, r->by[i]);
	if (r->nr_by)
		putc(',', out);
}

static void put_against(struct wi_csv *csv, const struct wi_against *a, bool baseline)
{
	if (baseline) {
		for (int n = 0; n < 18; n++)
			wi_csv_none(csv);
		return;
	}
	wi_csv_real(csv, a->boot.diff);
	wi_csv_real(csv, a->boot.diff_in.low);
	wi_csv_real(csv, a->boot.diff_in.high);
	wi_csv_text(csv, wi_interval_state_text(a->boot.diff_in.state));
	wi_csv_real(csv, a->boot.ratio);
	wi_csv_real(csv, a->boot.ratio_in.low);
	wi_csv_real(csv, a->boot.ratio_in.high);
	wi_csv_text(csv, wi_interval_state_text(a->boot.ratio_in.state));
	wi_csv_u64(csv, a->boot.significant);
	wi_csv_text(csv, wi_diff_change_name(a->change));
	wi_csv_real(csv, a->welch.t);
	wi_csv_real(csv, a->welch.df);
	wi_csv_real(csv, a->welch.p);
	wi_csv_real(csv, a->welch_holm);
	wi_csv_real(csv, a->mwu.u);
	wi_csv_real(csv, a->mwu.p);
	wi_csv_u64(csv, a->mwu.exact);
	wi_csv_real(csv, a->mwu_holm);
}

static void put_group(struct wi_csv *csv, const struct wi_diff_report *r, const struct wi_diff_stratum *s, size_t row,
		      size_t g)
{
	const struct wi_compare_row *m = &s->comparison->row[row];
	const struct wi_describe *d = &m->group[g];

	for (size_t k = 0; k < r->nr_by; k++)
		s->value[k] ? wi_csv_text(csv, s->value[k]) : wi_csv_none(csv);
	wi_csv_text(csv, m->name);
	wi_csv_text(csv, s->unit[row]);
	wi_csv_text(csv, wi_direction_name(m->direction));
	wi_csv_text(csv, r->group[g].name);
	wi_csv_u64(csv, g == r->baseline);
	wi_csv_u64(csv, s->nr_runs[g]);
	wi_csv_u64(csv, d->n);
	wi_csv_u64(csv, d->nr_unknown);
	wi_csv_real(csv, d->mean);
	wi_csv_real(csv, d->hmean);
	wi_csv_real(csv, d->stddev);
	wi_csv_real(csv, d->cv);
	wi_csv_real(csv, d->min);
	wi_csv_real(csv, d->max);
	put_against(csv, &m->against[g], g == r->baseline);
	wi_csv_end(csv);
}

static void put_quantiles(FILE *out, const struct wi_diff_report *r)
{
	struct wi_csv csv = { out, false };
	bool any = false;

	for (size_t i = 0; i < r->nr_strata; i++)
		any |= r->stratum[i].nr_hists > 0;
	if (!any)
		return;
	fputs("\n# table quantiles\n", out);
	put_keys(out, r);
	wi_csv_header(&csv, WI_QUANTILES_CSV);
	for (size_t i = 0; i < r->nr_strata; i++)
		for (size_t h = 0; h < r->stratum[i].nr_hists; h++)
			wi_quantiles_csv(&csv, r, &r->stratum[i], &r->stratum[i].hist[h]);
}

bool wi_diff_csv(FILE *out, const struct wi_diff_report *r, struct wi_err *err)
{
	struct wi_csv csv = { out, false };

	(void)err;
	put_keys(out, r);
	wi_csv_header(&csv,
		      "metric,unit,better,group,baseline,runs,n,unknown,mean,hmean,stddev,cv,min,max,diff,diff_low,"
		      "diff_high,diff_interval,ratio,ratio_low,ratio_high,ratio_interval,significant,change,welch_t,"
		      "welch_df,welch_p,welch_holm,mwu_u,mwu_p,mwu_exact,mwu_holm");
	for (size_t i = 0; i < r->nr_strata; i++) {
		const struct wi_diff_stratum *s = &r->stratum[i];

		for (size_t m = 0; s->comparison && m < s->comparison->nr_rows; m++)
			for (size_t g = 0; g < r->nr_groups; g++)
				put_group(&csv, r, s, m, g);
	}
	put_quantiles(out, r);
	return true;
}
