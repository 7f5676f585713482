/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Comparisons as Markdown: one table a stratum, a row a metric and group, with all that is known. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/base/fmt.h"
#include "analyzer/report/diff.h"
#include "analyzer/report/markdown.h"
#include "analyzer/report/quantiles.h"

void wi_md_text(FILE *out, const char *text)
{
	char safe[WI_FMT_NAME_LEN];

	for (const char *s = wi_fmt_name(safe, sizeof(safe), text); *s; s++) {
		if (strchr("\\`*_{}[]<>|#~&", *s))
			putc('\\', out);
		putc(*s, out);
	}
}

const char *wi_md_interval(char *out, size_t size, const struct wi_interval *ratio, enum wi_direction direction)
{
	double a = wi_gain(ratio->low, direction), b = wi_gain(ratio->high, direction);

	if (ratio->state != WI_INTERVAL_KNOWN)
		snprintf(out, size, "unknown: %s", wi_interval_state_text(ratio->state));
	else
		snprintf(out, size, "[%.2f%%, %.2f%%]", fmin(a, b) * 100 + 0.0, fmax(a, b) * 100 + 0.0);
	return out;
}

static void put_number(FILE *out, double v)
{
	char text[WI_FMT_LEN];

	if (isnan(v))
		fputs(" - |", out);
	else if (v == 0 || (fabs(v) >= 100 && fabs(v) < 1e15))
		fprintf(out, " %.2f |", v);
	else
		fprintf(out, " %s |", (snprintf(text, sizeof(text), "%.5g", v), text));
}

static void put_p(FILE *out, double p)
{
	char text[WI_FMT_LEN];

	fputc(' ', out);
	wi_md_text(out, wi_diff_fmt_p(text, sizeof(text), p));
	fputs(" |", out);
}

static void put_against(FILE *out, const struct wi_compare_row *m, const struct wi_against *a)
{
	double gain = wi_gain(a->boot.ratio, m->direction);
	char text[96];

	if (isnan(gain))
		fputs(" - |", out);
	else
		fprintf(out, " %.2f%%%s |", gain * 100 + 0.0, a->boot.significant ? "\\*" : "");
	fprintf(out, " %s |", wi_md_interval(text, sizeof(text), &a->boot.ratio_in, m->direction));
	put_p(out, a->welch.p);
	put_p(out, a->welch_holm);
	put_p(out, a->mwu.p);
	put_p(out, a->mwu_holm);
}

static const char *better(enum wi_direction d)
{
	return d == WI_LOWER_IS_BETTER ? "lower" : d == WI_HIGHER_IS_BETTER ? "higher" : "-";
}

static void put_row(FILE *out, const struct wi_diff_report *r, const struct wi_compare_row *m, size_t g)
{
	const struct wi_describe *d = &m->group[g];

	fputs("| ", out);
	wi_md_text(out, m->name);
	fprintf(out, " | %s | ", better(m->direction));
	wi_md_text(out, r->group[g].name);
	fprintf(out, " | %zu | %zu |", d->n, d->nr_unknown);
	put_number(out, d->mean);
	put_number(out, d->hmean);
	put_number(out, d->stddev);
	put_number(out, d->cv * 100);
	put_number(out, d->min);
	put_number(out, d->max);
	if (g == r->baseline)
		fputs("  |  |  |  |  |  |", out);
	else
		put_against(out, m, &m->against[g]);
	putc('\n', out);
}

static bool put_stratum(FILE *out, const struct wi_diff_report *r, const struct wi_diff_stratum *s, struct wi_err *err)
{
	if (r->nr_by) {
		char *name = wi_diff_stratum_name(r, s);

		if (!name)
			return wi_err_nomem(err);
		fputs("\n### ", out);
		wi_md_text(out, name);
		putc('\n', out);
		free(name);
	}
	if (!s->comparison) {
		fputs("\nNot compared, there are no runs of", out);
		for (size_t g = 0, nr = 0; g < r->nr_groups; g++)
			if (!s->nr_runs[g]) {
				fputs(nr++ ? ", " : " ", out);
				wi_md_text(out, r->group[g].name);
			}
		fputs(".\n", out);
		return true;
	}
	fputs("\n| metric | better | group | n | unknown | Amean | Hmean | Stddev | CoeffVar % | Min | Max | "
	      "difference | "
	      "95 % interval | Welch p | Holm | MWU p | Holm |\n"
	      "|---|---|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|\n",
	      out);
	for (size_t i = 0; i < s->comparison->nr_rows; i++)
		for (size_t g = 0; g < r->nr_groups; g++)
			put_row(out, r, &s->comparison->row[i], g);
	for (size_t i = 0; i < s->nr_hists; i++)
		if (!wi_quantiles_markdown(out, r, &s->hist[i], err))
			return false;
	return true;
}

bool wi_diff_markdown(FILE *out, const struct wi_diff_report *r, struct wi_err *err)
{
	if (r->source) {
		wi_md_text(out, r->source);
		fputs(": ", out);
	}
	fputs("difference to the baseline ", out);
	wi_md_text(out, r->group[r->baseline].name);
	fputs(", positive is better (where neither way is: the change itself); \\*: its 95 % interval excludes 0\n",
	      out);
	for (size_t i = 0; i < r->nr_strata; i++)
		if (!put_stratum(out, r, &r->stratum[i], err))
			return false;
	if (r->nr_verdicts)
		putc('\n', out);
	return wi_diff_verdicts(out, r, "- ", err);
}
