/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analyzer/report/trend.h"

#include <math.h>
#include <string.h>

#include "analyzer/base/fmt.h"
#include "analyzer/base/json.h"
#include "analyzer/base/utf8.h"
#include "analyzer/report/columns.h"
#include "analyzer/report/table.h"
#include "analyzer/stats/compare.h"
#include "analyzer/report/document.h"

#define BAR 24
#define BAR_LEAST 8
#define LABEL 14 /* columns of a value beside which the whole bar has room */

/* ---- text ---- */

static void table_number(struct wi_table *t, double v, int decimals)
{
	if (isnan(v))
		wi_table_none(t);
	else if (fabs(v) >= 1e15)
		wi_table_textf(t, "%.6e", v);
	else
		wi_table_textf(t, "%.*f", decimals, v);
}

/* One number of decimals for all lines, by the least mean that still matters beside the greatest. */
static int decimals_of(const struct wi_trend_series *s)
{
	double most = 0, least;

	for (size_t i = 0; i < s->nr; i++)
		most = fmax(most, fabs(s->point[i].of.mean));
	least = most;
	for (size_t i = 0; i < s->nr; i++) {
		double mean = fabs(s->point[i].of.mean);

		if (mean > most / 1000 && mean < least)
			least = mean;
	}
	return wi_columns_decimals(least);
}

static void add_change(struct wi_table *t, const struct wi_trend_series *s, const struct wi_trend_point *p)
{
	double gain = wi_gain(p->change.ratio, s->info.direction);
	double low = wi_gain(p->change.ratio_in.low, s->info.direction);
	double high = wi_gain(p->change.ratio_in.high, s->info.direction);
	const char *mark = p->change.significant ? "*" : " ";

	if (!p->has_previous || isnan(gain))
		wi_table_textf(t, "-%s", p->has_previous ? mark : " ");
	else
		wi_table_textf(t, "%.2f%%%s", gain * 100 + 0.0, mark);
	if (!p->has_previous)
		wi_table_text(t, "");
	else if (p->change.ratio_in.state != WI_INTERVAL_KNOWN)
		wi_table_text(t, "unknown");
	else
		wi_table_textf(t, "[%.2f%%, %.2f%%]", fmin(low, high) * 100 + 0.0, fmax(low, high) * 100 + 0.0);
}

/* Long values, kernels' releases say, are told apart by their ends: rather a short bar than a cut name. */
static int bar_width(const struct wi_trend_series *s)
{
	size_t longest = 0;

	for (size_t i = 0; i < s->nr; i++)
		if (s->point[i].value && wi_utf8_columns(s->point[i].value) > longest)
			longest = wi_utf8_columns(s->point[i].value);
	if (longest <= LABEL)
		return BAR;
	return longest < LABEL + BAR - BAR_LEAST ? BAR + LABEL - (int)longest : BAR_LEAST;
}

/* Bars stand on 0, so that their lengths compare as the means do. */
static void add_bar(struct wi_table *t, double mean, double most, int width)
{
	static const char bar[] = "########################";
	int n = most > 0 && mean > 0 ? (int)(mean / most * width + 0.5) : 0;

	_Static_assert(sizeof(bar) == BAR + 1, "the longest bar");
	wi_table_textf(t, "|%.*s", n, bar); /* the line at 0 */
}

static const struct wi_column columns[] = {
	{ "", true, WI_CUT_NOT },  { "runs", false, false },	{ "n", false, false },
	{ "mean", false, false },  { "stddev", false, false },	{ "min", false, false },
	{ "max", false, false },   { "change ", false, false }, { "95 % interval", false, false },
	{ "from 0", true, false },
};

static bool print_series(FILE *out, const struct wi_trend_report *r, const struct wi_trend_series *s,
			 struct wi_err *err)
{
	char metric[WI_FMT_NAME_LEN], by[WI_FMT_NAME_LEN];
	struct wi_table *t = wi_table_new(columns, sizeof(columns) / sizeof(columns[0]));
	int decimals = decimals_of(s), bar = bar_width(s);
	double most = 0;

	fprintf(out, "%s by %s, unit: %s; change: to the line before%s; *: its 95 %% interval excludes 0\n",
		wi_fmt_name(metric, sizeof(metric), s->metric), wi_fmt_name(by, sizeof(by), r->by), s->info.unit,
		s->info.direction == WI_NO_DIRECTION ? "" : ", positive is better");
	for (size_t i = 0; i < s->nr; i++)
		most = fmax(most, s->point[i].of.mean);
	for (size_t i = 0; i < s->nr; i++) {
		const struct wi_trend_point *p = &s->point[i];

		if (p->value)
			wi_table_name(t, p->value);
		else
			wi_table_text(t, "unknown");
		wi_table_count(t, p->nr_runs);
		wi_table_count(t, p->of.n);
		table_number(t, p->of.mean, decimals);
		table_number(t, p->of.stddev, decimals);
		table_number(t, p->of.min, decimals);
		table_number(t, p->of.max, decimals);
		add_change(t, s, p);
		add_bar(t, p->of.mean, most, bar);
	}
	return wi_table_print(t, out, 0) || wi_err_nomem(err);
}

bool wi_trend_text(FILE *out, const struct wi_trend_report *r, struct wi_err *err)
{
	for (size_t i = 0; i < r->nr_series; i++) {
		if (i)
			putc('\n', out);
		if (!print_series(out, r, &r->series[i], err))
			return false;
	}
	return true;
}

/* ---- for programs ---- */

static void json_point(struct wi_json *j, const struct wi_trend_point *p)
{
	wi_json_object(j, NULL);
	if (p->value)
		wi_json_string(j, "value", p->value);
	wi_json_u64(j, "runs", p->nr_runs);
	wi_json_u64(j, "n", p->of.n);
	wi_json_u64(j, "unknown", p->of.nr_unknown);
	wi_json_real(j, "mean", p->of.mean);
	wi_json_real(j, "hmean", p->of.hmean);
	wi_json_real(j, "stddev", p->of.stddev);
	wi_json_real(j, "cv", p->of.cv);
	wi_json_real(j, "min", p->of.min);
	wi_json_real(j, "max", p->of.max);
	if (p->has_previous) {
		wi_json_object(j, "change");
		wi_json_real(j, "diff", p->change.diff);
		wi_json_real(j, "diff_low", p->change.diff_in.low);
		wi_json_real(j, "diff_high", p->change.diff_in.high);
		if (p->change.diff_in.state != WI_INTERVAL_KNOWN)
			wi_json_string(j, "no_diff_interval", wi_interval_state_text(p->change.diff_in.state));
		wi_json_real(j, "ratio", p->change.ratio);
		wi_json_real(j, "ratio_low", p->change.ratio_in.low);
		wi_json_real(j, "ratio_high", p->change.ratio_in.high);
		if (p->change.ratio_in.state != WI_INTERVAL_KNOWN)
			wi_json_string(j, "no_ratio_interval", wi_interval_state_text(p->change.ratio_in.state));
		wi_json_bool(j, "significant", p->change.significant);
		wi_json_end_object(j);
	}
	wi_json_end_object(j);
}

bool wi_trend_json(FILE *out, const struct wi_trend_report *r, struct wi_err *err)
{
	struct wi_json j;

	(void)err;
	wi_document_begin(&j, out, r->version);
	wi_json_object(&j, "trend");
	wi_json_string(&j, "source", r->source);
	wi_json_string(&j, "by", r->by);
	wi_json_u64(&j, "seed", r->seed);
	wi_json_u64(&j, "resamples", r->resamples);
	wi_json_real(&j, "level", 0.95);
	wi_json_array(&j, "metrics");
	for (size_t i = 0; i < r->nr_series; i++) {
		const struct wi_trend_series *s = &r->series[i];

		wi_json_object(&j, NULL);
		wi_json_string(&j, "metric", s->metric);
		wi_json_string(&j, "unit", s->info.unit);
		wi_json_string(&j, "better", wi_direction_name(s->info.direction));
		wi_json_array(&j, "points");
		for (size_t p = 0; p < s->nr; p++)
			json_point(&j, &s->point[p]);
		wi_json_end_array(&j);
		wi_json_end_object(&j);
	}
	wi_json_end_array(&j);
	wi_json_end_object(&j);
	wi_json_end_object(&j);
	return true;
}

static void csv_point(struct wi_csv *csv, const struct wi_trend_series *s, const struct wi_trend_point *p)
{
	wi_csv_text(csv, s->metric);
	wi_csv_text(csv, s->info.unit);
	wi_csv_text(csv, wi_direction_name(s->info.direction));
	p->value ? wi_csv_text(csv, p->value) : wi_csv_none(csv);
	wi_csv_u64(csv, p->nr_runs);
	wi_csv_u64(csv, p->of.n);
	wi_csv_u64(csv, p->of.nr_unknown);
	wi_csv_real(csv, p->of.mean);
	wi_csv_real(csv, p->of.hmean);
	wi_csv_real(csv, p->of.stddev);
	wi_csv_real(csv, p->of.cv);
	wi_csv_real(csv, p->of.min);
	wi_csv_real(csv, p->of.max);
	if (p->has_previous) {
		wi_csv_real(csv, p->change.diff);
		wi_csv_real(csv, p->change.diff_in.low);
		wi_csv_real(csv, p->change.diff_in.high);
		wi_csv_text(csv, wi_interval_state_text(p->change.diff_in.state));
		wi_csv_real(csv, p->change.ratio);
		wi_csv_real(csv, p->change.ratio_in.low);
		wi_csv_real(csv, p->change.ratio_in.high);
		wi_csv_text(csv, wi_interval_state_text(p->change.ratio_in.state));
		wi_csv_u64(csv, p->change.significant);
	} else {
		for (int i = 0; i < 9; i++)
			wi_csv_none(csv);
	}
	wi_csv_end(csv);
}

bool wi_trend_csv(FILE *out, const struct wi_trend_report *r, struct wi_err *err)
{
	struct wi_csv csv = { out, false };

	(void)err;
	fputs("metric,unit,better,", out);
	wi_csv_text(&csv, r->by);
	putc(',', out);
	wi_csv_header(&csv, "runs,n,unknown,mean,hmean,stddev,cv,min,max,diff,diff_low,diff_high,diff_interval,ratio,"
			    "ratio_low,ratio_high,ratio_interval,significant");
	csv.in_row = false;
	for (size_t i = 0; i < r->nr_series; i++)
		for (size_t p = 0; p < r->series[i].nr; p++)
			csv_point(&csv, &r->series[i], &r->series[i].point[p]);
	return true;
}
