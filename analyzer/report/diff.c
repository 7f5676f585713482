/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the writers of comparisons share: names of things, verdicts, intervals and p values. */
#include "analyzer/report/diff.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/base/fmt.h"
#include "analyzer/base/utf8.h"

#define NOBODY ((size_t)-1)

const char *wi_diff_change_name(enum wi_change change)
{
	switch (change) {
	case WI_CHANGE_NONE:
		return "none";
	case WI_CHANGE_BETTER:
		return "better";
	case WI_CHANGE_WORSE:
		return "worse";
	case WI_CHANGE_OTHER:
		return "other";
	case WI_CHANGE_UNKNOWN:
		break;
	}
	return "unknown";
}

const char *wi_diff_passed_name(enum wi_diff_passed passed)
{
	return passed == WI_DIFF_PASSED ? "passed" : passed == WI_DIFF_FAILED ? "FAILED" : "FAILED (cannot be judged)";
}

char *wi_diff_stratum_name(const struct wi_diff_report *r, const struct wi_diff_stratum *s)
{
	char *text = NULL, part[WI_FMT_NAME_LEN];
	size_t size;
	FILE *f = open_memstream(&text, &size);
	bool failed;

	if (!f)
		return NULL;
	for (size_t i = 0; i < r->nr_by; i++) {
		fprintf(f, "%s%s", i ? ", " : "", wi_fmt_name(part, sizeof(part), r->by[i]));
		if (s->value[i])
			fprintf(f, "=%s", wi_fmt_name(part, sizeof(part), s->value[i]));
		else
			fputs(" unknown", f);
	}
	failed = ferror(f);
	if (fclose(f) || failed) {
		free(text);
		return NULL;
	}
	return text;
}

static bool put_place(FILE *out, const struct wi_diff_report *r, const struct wi_diff_verdict *v, struct wi_err *err)
{
	char text[WI_FMT_NAME_LEN];

	if (v->group != NOBODY && r->nr_groups > 2)
		fprintf(out, " of %s", wi_fmt_name(text, sizeof(text), r->group[v->group].name));
	if (v->stratum != NOBODY && r->nr_by) {
		char *name = wi_diff_stratum_name(r, &r->stratum[v->stratum]);

		if (!name)
			return wi_err_nomem(err);
		fprintf(out, " at %s", name);
		free(name);
	}
	return true;
}

bool wi_diff_verdicts(FILE *out, const struct wi_diff_report *r, const char *prefix, struct wi_err *err)
{
	for (size_t i = 0; i < r->nr_verdicts; i++) {
		const struct wi_diff_verdict *v = &r->verdict[i];
		char text[WI_FMT_NAME_LEN];

		fprintf(out, "%sgate '%s'", prefix, wi_fmt_name(text, sizeof(text), v->gate));
		if (!put_place(out, r, v, err))
			return false;
		fprintf(out, " %s: ", wi_diff_passed_name(v->passed));
		if (v->metric && v->nr_metrics > 1)
			fprintf(out, "worst of %zu is %s: ", v->nr_metrics, wi_fmt_name(text, sizeof(text), v->metric));
		fprintf(out, "%s\n", wi_fmt_name(text, sizeof(text), v->found));
	}
	return true;
}

const char *wi_diff_fmt_p(char *out, size_t size, double p)
{
	if (isnan(p))
		snprintf(out, size, "-");
	else if (p < 0.0001)
		snprintf(out, size, "<.0001");
	else
		snprintf(out, size, "%.4f", p);
	return out;
}

/* ---- intervals and p values ---- */

#define NAME_WIDTH 40

/* "-10.00%", or the difference itself where the baseline is 0. */
static void fmt_percent(char *out, size_t size, double v)
{
	if (isnan(v))
		snprintf(out, size, "-");
	else
		snprintf(out, size, fabs(v) >= 100 ? "%.0f%%" : "%.2f%%", v * 100 + 0.0);
}

static void put_interval(FILE *out, const struct wi_compare_row *m, const struct wi_against *a)
{
	double low = wi_gain(a->boot.ratio_in.low, m->direction), high = wi_gain(a->boot.ratio_in.high, m->direction);
	char ends[2][WI_FMT_LEN], text[2 * WI_FMT_LEN + 8];

	if (a->boot.ratio_in.state != WI_INTERVAL_KNOWN) {
		fprintf(out, "  %-21s", "unknown");
		return;
	}
	fmt_percent(ends[0], sizeof(ends[0]), low < high ? low : high);
	fmt_percent(ends[1], sizeof(ends[1]), low < high ? high : low);
	snprintf(text, sizeof(text), "[%8s, %8s]", ends[0], ends[1]);
	fprintf(out, "  %-20s", text);
	putc(a->boot.significant ? '*' : ' ', out);
}

static void put_stats_row(FILE *out, const struct wi_compare_row *m, size_t g, size_t width)
{
	const struct wi_against *a = &m->against[g];
	char name[WI_FMT_NAME_LEN], diff[WI_FMT_LEN];
	double p[] = { a->welch.p, a->welch_holm, a->mwu.p, a->mwu_holm };

	wi_fmt_name(name, sizeof(name), m->name);
	fputs(name, out);
	if (wi_utf8_columns(name) > width)
		fprintf(out, "\n%*s", (int)width, "");
	else
		fprintf(out, "%*s", (int)(width - wi_utf8_columns(name)), "");
	fmt_percent(diff, sizeof(diff), wi_gain(a->boot.ratio, m->direction));
	fprintf(out, " %9s", diff);
	put_interval(out, m, a);
	for (size_t i = 0; i < 4; i++) {
		char text[WI_FMT_LEN];

		fprintf(out, " %6s", wi_diff_fmt_p(text, sizeof(text), p[i]));
	}
	putc('\n', out);
}

bool wi_diff_text_stats(FILE *out, const struct wi_diff_report *r, const struct wi_comparison *c, struct wi_err *err)
{
	size_t width = 6;

	(void)err;
	for (size_t i = 0; i < c->nr_rows; i++) {
		char name[WI_FMT_NAME_LEN];
		size_t n = wi_utf8_columns(wi_fmt_name(name, sizeof(name), c->row[i].name));

		if (n <= NAME_WIDTH && n > width)
			width = n;
	}
	for (size_t g = 0, nr = 0; g < r->nr_groups; g++) {
		char a[WI_FMT_NAME_LEN], b[WI_FMT_NAME_LEN];

		if (g == r->baseline)
			continue;
		fprintf(out, "%s%s against %s\n", nr++ ? "\n" : "", wi_fmt_name(a, sizeof(a), r->group[g].name),
			wi_fmt_name(b, sizeof(b), r->group[r->baseline].name));
		fprintf(out, "%-*s %9s  %-21s %6s %6s %6s %6s\n", (int)width, "", "diff", "95 % interval", "Welch",
			"Holm", "MWU", "Holm");
		for (size_t i = 0; i < c->nr_rows; i++)
			put_stats_row(out, &c->row[i], g, width);
	}
	fprintf(out, "p values; Holm: corrected for the %zu (Welch) and %zu (MWU) comparisons of this table\n",
		c->welch_family, c->mwu_family);
	return true;
}
