/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Groups of runs compared, as readers of kernel mailing lists expect it from mmtests. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/base/fmt.h"
#include "analyzer/base/utf8.h"
#include "analyzer/report/columns.h"
#include "analyzer/report/diff.h"
#include "analyzer/report/quantiles.h"

/* The blocks of rows: X(id, label) */
#define ROWS(X)                                                                                                        \
	X(AMEAN, "Amean")                                                                                              \
	X(HMEAN, "Hmean")                                                                                              \
	X(STDDEV, "Stddev")                                                                                            \
	X(COEFFVAR, "CoeffVar")                                                                                        \
	X(MIN, "Min")                                                                                                  \
	X(MAX, "Max")                                                                                                  \
	X(UNKNOWN, "Unknown")

enum row_kind {
#define X(id, label) ROW_##id,
	ROWS(X)
#undef X
		NR_ROWS
};

static const char *const row_label[] = {
#define X(id, label) label,
	ROWS(X)
#undef X
};

static double row_value(enum row_kind kind, const struct wi_describe *d)
{
	switch (kind) {
	case ROW_AMEAN:
		return d->mean;
	case ROW_HMEAN:
		return d->hmean;
	case ROW_STDDEV:
		return d->stddev;
	case ROW_COEFFVAR:
		return d->cv * 100; /* in per cent, as mmtests has it */
	case ROW_MIN:
		return d->min;
	case ROW_MAX:
		return d->max;
	default:
		return NAN;
	}
}

/* Spread is better when it is less, whatever the metric. */
static enum wi_direction row_direction(enum row_kind kind, enum wi_direction of_metric)
{
	return kind == ROW_STDDEV || kind == ROW_COEFFVAR ? WI_LOWER_IS_BETTER : of_metric;
}

static bool any_known(const struct wi_compare_row *m, size_t nr_groups, enum row_kind kind)
{
	for (size_t g = 0; g < nr_groups; g++)
		if (!isnan(row_value(kind, &m->group[g])))
			return true;
	return false;
}

static bool any_unknown(const struct wi_compare_row *m, size_t nr_groups)
{
	for (size_t g = 0; g < nr_groups; g++)
		if (m->group[g].nr_unknown)
			return true;
	return false;
}

/* One value everywhere: a mean tells all of it. */
static bool is_constant(const struct wi_compare_row *m, size_t nr_groups)
{
	for (size_t g = 0; g < nr_groups; g++)
		if (m->group[g].n && m->group[g].min != m->group[g].max)
			return false;
	return true;
}

/*
 * Which rows a metric has: Hmean is for rates, where more is better; of the extremes the worst is told, both where
 * neither is.
 */
static bool row_wanted(enum row_kind kind, const struct wi_compare_row *m, size_t nr_groups)
{
	if (kind == ROW_UNKNOWN)
		return any_unknown(m, nr_groups);
	if (kind == ROW_HMEAN && m->direction != WI_HIGHER_IS_BETTER)
		return false;
	if (kind == ROW_MIN && m->direction == WI_LOWER_IS_BETTER)
		return false;
	if (kind == ROW_MAX && m->direction == WI_HIGHER_IS_BETTER)
		return false;
	return kind == ROW_AMEAN || (any_known(m, nr_groups, kind) && !is_constant(m, nr_groups));
}

/* One number of decimals for a row; an exponent where a cell would look like 0. */
static void fmt_value(char *out, size_t size, double v, int decimals)
{
	if (isnan(v))
		snprintf(out, size, "-");
	else if (fabs(v) >= 1e15)
		snprintf(out, size, "%.6e", v);
	else if (v != 0 && fabs(v) * pow(10, decimals) < 0.5)
		snprintf(out, size, "%.3e", v);
	else
		snprintf(out, size, "%.*f", decimals, v);
}

/* By the least value that still matters beside the greatest. */
static int row_decimals(enum row_kind kind, const struct wi_compare_row *m, size_t nr_groups)
{
	double most = 0, least;

	for (size_t g = 0; g < nr_groups; g++)
		most = fmax(most, fabs(row_value(kind, &m->group[g])));
	least = most;
	for (size_t g = 0; g < nr_groups; g++) {
		double v = fabs(row_value(kind, &m->group[g]));

		if (v > most / 1000 && v < least)
			least = v;
	}
	return wi_columns_decimals(least);
}

static double relative(double base, double v)
{
	return base > 0 ? v / base - 1 : base == v ? 0 : NAN;
}

/* "(   3.41%)", "*   3.41%*" */
static void fmt_note(char *out, size_t size, double gain, bool significant)
{
	char left = significant ? '*' : '(', right = significant ? '*' : ')';

	if (gain == 0)
		gain = 0; /* no -0.00 */
	if (isnan(gain))
		snprintf(out, size, "%c%7s %c", left, "-", right);
	else if (fabs(gain) >= 10)
		snprintf(out, size, "%c%7.0f%%%c", left, gain * 100, right);
	else
		snprintf(out, size, "%c%7.2f%%%c", left, gain * 100, right);
}

static void row_note(char *out, size_t size, enum row_kind kind, const struct wi_compare_row *m, size_t g, size_t base)
{
	const struct wi_against *a = &m->against[g];
	double v = row_value(kind, &m->group[g]);
	double ratio = relative(row_value(kind, &m->group[base]), v);

	if (isnan(v))
		out[0] = '\0';
	else
		fmt_note(out, size, wi_gain(ratio, row_direction(kind, m->direction)),
			 kind == ROW_AMEAN && g != base && a->boot.significant);
}

static void add_row(struct wi_columns *t, const struct wi_comparison *c, const struct wi_compare_row *m,
		    enum row_kind kind, const char *label)
{
	size_t nr_groups = c->options.nr_groups;
	int decimals = row_decimals(kind, m, nr_groups);
	char value[64], note[48];

	wi_columns_row(t, label, m->name);
	for (size_t g = 0; g < nr_groups; g++) {
		const struct wi_describe *d = &m->group[g];

		note[0] = '\0';
		if (kind == ROW_UNKNOWN) {
			snprintf(value, sizeof(value), "%zu of %zu", d->nr_unknown, d->nr_unknown + d->n);
		} else {
			fmt_value(value, sizeof(value), row_value(kind, d), decimals);
			row_note(note, sizeof(note), kind, m, g, c->options.baseline);
		}
		wi_columns_cell(t, value, note);
	}
}

/* Nothing but single runs: means and spreads of one value would only repeat it. */
static bool all_single(const struct wi_comparison *c)
{
	for (size_t i = 0; i < c->nr_rows; i++)
		for (size_t g = 0; g < c->options.nr_groups; g++)
			if (c->row[i].group[g].n > 1)
				return false;
	return true;
}

static bool is_directed(const struct wi_compare_row *m)
{
	return m->direction != WI_NO_DIRECTION;
}

static bool print_rows(FILE *out, const struct wi_diff_report *r, const struct wi_comparison *c, bool directed,
		       struct wi_err *err)
{
	const char **title = calloc(r->nr_groups + 1, sizeof(*title));
	struct wi_columns *t;
	bool single = all_single(c);

	if (!title)
		return wi_err_nomem(err);
	for (size_t g = 0; g < r->nr_groups; g++)
		title[g] = r->group[g].name;
	t = wi_columns_new(title, r->nr_groups, r->baseline);
	free(title);
	for (enum row_kind kind = 0; kind < NR_ROWS; kind++) {
		if (single && kind != ROW_AMEAN && kind != ROW_UNKNOWN)
			continue;
		for (size_t i = 0; i < c->nr_rows; i++)
			if (is_directed(&c->row[i]) == directed && row_wanted(kind, &c->row[i], r->nr_groups))
				add_row(t, c, &c->row[i], kind,
					single && kind == ROW_AMEAN ? "Value" : row_label[kind]);
	}
	return wi_columns_print(t, out) || wi_err_nomem(err);
}

/* Why differences have no interval, one line a reason. */
static void print_interval_notes(FILE *out, const struct wi_diff_report *r, const struct wi_comparison *c)
{
	static const enum wi_interval_state states[] = {
#define X(id, text) WI_INTERVAL_##id,
		WI_INTERVAL_STATES(X)
#undef X
	};

	for (size_t k = 0; k < sizeof(states) / sizeof(states[0]); k++) {
		enum wi_interval_state s = states[k];
		size_t nr = 0, all = 0;

		if (s == WI_INTERVAL_KNOWN)
			continue;

		for (size_t i = 0; i < c->nr_rows; i++)
			for (size_t g = 0; g < r->nr_groups; g++) {
				all += g != r->baseline;
				nr += g != r->baseline && c->row[i].against[g].boot.diff_in.state == s;
			}
		if (nr)
			fprintf(out, "no interval for %zu of %zu differences: %s\n", nr, all,
				wi_interval_state_text(s));
	}
}

static bool has_rows(const struct wi_comparison *c, bool directed)
{
	for (size_t i = 0; i < c->nr_rows; i++)
		if (is_directed(&c->row[i]) == directed)
			return true;
	return false;
}

static bool print_comparison(FILE *out, const struct wi_diff_report *r, const struct wi_diff_stratum *s,
			     struct wi_err *err)
{
	const struct wi_comparison *c = s->comparison;

	if (!c->nr_rows)
		fputs("nothing to compare: these runs have no figures of the kind (--all shows what they have)\n", out);
	if (!print_rows(out, r, c, true, err))
		return false;
	if (has_rows(c, false)) {
		fprintf(out, "%sNeither way is better: the change itself\n", has_rows(c, true) ? "\n" : "");
		if (!print_rows(out, r, c, false, err))
			return false;
	}
	print_interval_notes(out, r, c);
	if (r->stats) {
		putc('\n', out);
		if (!wi_diff_text_stats(out, r, c, err))
			return false;
	}
	for (size_t i = 0; i < s->nr_hists; i++) {
		putc('\n', out);
		if (!wi_quantiles_text(out, r, &s->hist[i], err))
			return false;
	}
	return true;
}

/* ---- head and strata ---- */

static void print_group(FILE *out, const struct wi_diff_report *r, size_t g, size_t width)
{
	const struct wi_diff_group *group = &r->group[g];
	char name[WI_FMT_NAME_LEN], selector[WI_FMT_NAME_LEN];
	size_t without = 0;

	wi_fmt_name(name, sizeof(name), group->name);
	wi_fmt_name(selector, sizeof(selector), group->selector);
	fprintf(out, "  %s%*s ", name, (int)(width - wi_utf8_columns(name)), "");
	if (strcmp(name, selector))
		fprintf(out, " %s:", selector);
	fprintf(out, " %zu run%s", group->nr_runs, group->nr_runs == 1 ? "" : "s");
	if (group->nr_status[WI_RUN_DAMAGED])
		fprintf(out, ", %zu damaged", group->nr_status[WI_RUN_DAMAGED]);
	if (group->nr_guessed)
		fprintf(out, ", %zu with a guessed topology (nothing known of cores and caches)", group->nr_guessed);
	for (enum wi_run_status s = WI_RUN_DAMAGED + 1; s < WI_NR_RUN_STATUSES; s++)
		without += group->nr_status[s];
	if (without) {
		const char *comma = "";

		fprintf(out, ", %zu without results (", without);
		for (enum wi_run_status s = WI_RUN_DAMAGED + 1; s < WI_NR_RUN_STATUSES; s++)
			if (group->nr_status[s]) {
				fprintf(out, "%s%zu %s", comma, group->nr_status[s], wi_run_status_name(s));
				comma = ", ";
			}
		putc(')', out);
	}
	fputs(g == r->baseline ? ", baseline\n" : "\n", out);
}

static void print_head(FILE *out, const struct wi_diff_report *r)
{
	char source[WI_FMT_NAME_LEN];
	size_t width = 0;

	if (r->source)
		fprintf(out, "%s\n", wi_fmt_name(source, sizeof(source), r->source));
	fputs("Differences to the baseline in brackets, positive is better; *: the 95 % interval excludes 0\n", out);
	for (size_t g = 0; g < r->nr_groups; g++) {
		char name[WI_FMT_NAME_LEN];
		size_t n = wi_utf8_columns(wi_fmt_name(name, sizeof(name), r->group[g].name));

		width = n > width ? n : width;
	}
	for (size_t g = 0; g < r->nr_groups; g++)
		print_group(out, r, g, width);
}

/* "workload=hackbench: 6, 5 runs" */
static bool print_stratum_head(FILE *out, const struct wi_diff_report *r, const struct wi_diff_stratum *s,
			       struct wi_err *err)
{
	char *name = wi_diff_stratum_name(r, s);

	if (!name)
		return wi_err_nomem(err);
	fprintf(out, "\n%s: ", name);
	for (size_t g = 0; g < r->nr_groups; g++)
		fprintf(out, "%s%zu", g ? ", " : "", s->nr_runs[g]);
	fputs(" runs\n", out);
	free(name);
	return true;
}

/* "not compared: workload=sysbench has no runs of 6.12.*" */
static bool print_lacking(FILE *out, const struct wi_diff_report *r, const struct wi_diff_stratum *s,
			  struct wi_err *err)
{
	char *name = wi_diff_stratum_name(r, s), group[WI_FMT_NAME_LEN];
	const char *comma = "";

	if (!name)
		return wi_err_nomem(err);
	fprintf(out, "not compared: %s%shas no runs of ", name, *name ? " " : "");
	for (size_t g = 0; g < r->nr_groups; g++)
		if (!s->nr_runs[g]) {
			fprintf(out, "%s%s", comma, wi_fmt_name(group, sizeof(group), r->group[g].name));
			comma = ", ";
		}
	putc('\n', out);
	free(name);
	return true;
}

bool wi_diff_text(FILE *out, const struct wi_diff_report *r, struct wi_err *err)
{
	bool lacking = false;

	print_head(out, r);
	for (size_t i = 0; i < r->nr_strata; i++) {
		const struct wi_diff_stratum *s = &r->stratum[i];

		lacking |= !s->comparison;
		if (!s->comparison)
			continue;
		if (r->nr_by && !print_stratum_head(out, r, s, err))
			return false;
		if (!r->nr_by)
			putc('\n', out);
		if (!print_comparison(out, r, s, err))
			return false;
	}
	if (lacking)
		putc('\n', out);
	for (size_t i = 0; i < r->nr_strata; i++)
		if (!r->stratum[i].comparison && !print_lacking(out, r, &r->stratum[i], err))
			return false;
	if (r->nr_verdicts)
		putc('\n', out);
	return wi_diff_verdicts(out, r, "", err);
}
