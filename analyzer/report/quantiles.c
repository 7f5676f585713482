/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analyzer/report/quantiles.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/base/fmt.h"
#include "analyzer/report/columns.h"
#include "analyzer/report/markdown.h"
#include "analyzer/report/document.h"

static const char *fmt_ns(char *out, size_t size, const struct wi_diff_report *r, double ns)
{
	if (isnan(ns))
		snprintf(out, size, "-");
	else if (r->nanoseconds)
		snprintf(out, size, "%.0f", ns);
	else
		wi_fmt_ns(out, size, ns > 0 ? (uint64_t)(ns + 0.5) : 0);
	return out;
}

/* "12.3 us [12.1 us, 12.5 us]" */
static void fmt_value(char *out, size_t size, const struct wi_diff_report *r, const struct wi_quantile_value *v)
{
	char ns[WI_FMT_LEN], low[WI_FMT_LEN], high[WI_FMT_LEN];

	fmt_ns(ns, sizeof(ns), r, v->ns);
	if (v->in.state == WI_INTERVAL_KNOWN)
		snprintf(out, size, "%s [%7s, %7s]", ns, fmt_ns(low, sizeof(low), r, v->in.low),
			 fmt_ns(high, sizeof(high), r, v->in.high));
	else
		snprintf(out, size, "%s [%16s]", ns, isnan(v->ns) ? "-" : "unknown");
}

/* Shorter waits are the better ones: the sign is turned as in the tables of means. */
static void fmt_gain(char *out, size_t size, double ratio, bool significant)
{
	char left = significant ? '*' : '(', right = significant ? '*' : ')';
	double gain = ratio == 0 ? 0 : -ratio;

	if (isnan(ratio))
		snprintf(out, size, "%c%7s %c", left, "-", right);
	else
		snprintf(out, size, fabs(gain) >= 10 ? "%c%7.0f%%%c" : "%c%7.2f%%%c", left, gain * 100, right);
}

static struct wi_columns *columns_of(const struct wi_diff_report *r)
{
	const char **title = calloc(r->nr_groups + 1, sizeof(*title));
	struct wi_columns *t;

	if (!title)
		return NULL;
	for (size_t g = 0; g < r->nr_groups; g++)
		title[g] = r->group[g].name;
	t = wi_columns_new(title, r->nr_groups, r->baseline);
	free(title);
	return t;
}

static void add_counts(struct wi_columns *t, const struct wi_quantile_table *q)
{
	char text[WI_FMT_LEN];

	wi_columns_row(t, "wakeups", "");
	for (size_t g = 0; g < q->nr_groups; g++) {
		snprintf(text, sizeof(text), "%" PRIu64, q->group[g].all.count);
		wi_columns_cell(t, text, "");
	}
	wi_columns_row(t, "runs", "");
	for (size_t g = 0; g < q->nr_groups; g++) {
		snprintf(text, sizeof(text), "%zu", q->group[g].nr_runs);
		wi_columns_cell(t, text, "");
	}
}

static bool print_table(FILE *out, const struct wi_diff_report *r, const struct wi_quantile_table *q,
			struct wi_err *err)
{
	struct wi_columns *t = columns_of(r);

	add_counts(t, q);
	for (enum wi_quantile i = 0; i < WI_NR_QUANTILES; i++) {
		wi_columns_row(t, wi_quantile_name(i), "");
		for (size_t g = 0; g < q->nr_groups; g++) {
			const struct wi_quantile_group *of = &q->group[g];
			char value[4 * WI_FMT_LEN], note[48];
			bool known = !isnan(of->value[i].ns) && !isnan(q->group[q->baseline].value[i].ns);

			fmt_value(value, sizeof(value), r, &of->value[i]);
			fmt_gain(note, sizeof(note),
				 !known		    ? NAN
				 : g == q->baseline ? 0
						    : of->against[i].ratio,
				 g != q->baseline && of->against[i].significant);
			wi_columns_cell(t, value, note);
		}
	}
	return wi_columns_print(t, out) || wi_err_nomem(err);
}

/* ---- bars ---- */

#define OCTAVES 64
#define BAR 46

static unsigned int octave_of(uint64_t ns)
{
	return ns < 2 ? 0 : 63 - (unsigned int)__builtin_clzll(ns);
}

/* Share of the waits in each power of two. */
static void octave_shares(const struct wi_hist *h, double share[OCTAVES])
{
	memset(share, 0, OCTAVES * sizeof(*share));
	for (uint32_t i = 0; i < h->nr && h->count; i++)
		share[octave_of(wi_hist_lower_ns(i))] += (double)h->bucket[i] / (double)h->count;
}

static const char *fmt_share(char *out, size_t size, double share)
{
	snprintf(out, size,
		 share <= 0		       ? "0"
		 : share < 0.0005	       ? "<0.1"
		 : share > 0.9995 && share < 1 ? ">99.9"
					       : "%.1f",
		 share * 100);
	return out;
}

static int bar_len(double share, double most)
{
	int n = (int)(share / most * BAR + 0.5);

	return n ? n : share > 0;
}

static void print_bar(FILE *out, unsigned int octave, double base, double other, double most)
{
	char from[WI_FMT_LEN], a[WI_FMT_LEN], b[WI_FMT_LEN];
	int na = bar_len(base, most), nb = bar_len(other, most), both = na < nb ? na : nb;

	fprintf(out, "%9s %6s %6s%s", wi_fmt_ns(from, sizeof(from), octave ? 1ull << octave : 0),
		fmt_share(a, sizeof(a), base), fmt_share(b, sizeof(b), other), na || nb ? "  " : "");
	for (int i = 0; i < both; i++)
		putc('#', out);
	for (int i = both; i < na; i++)
		putc('-', out);
	for (int i = both; i < nb; i++)
		putc('+', out);
	putc('\n', out);
}

/* A group laid over the baseline. */
static void print_overlay(FILE *out, const struct wi_diff_report *r, const struct wi_quantile_table *q, size_t g)
{
	double base[OCTAVES], other[OCTAVES], most = 0;
	unsigned int first = OCTAVES, last = 0;
	char a[WI_FMT_NAME_LEN], b[WI_FMT_NAME_LEN];

	octave_shares(&q->group[q->baseline].all, base);
	octave_shares(&q->group[g].all, other);
	for (unsigned int o = 0; o < OCTAVES; o++) {
		most = fmax(most, fmax(base[o], other[o]));
		if (!(base[o] > 0) && !(other[o] > 0))
			continue;
		first = first == OCTAVES ? o : first;
		last = o;
	}
	wi_fmt_name(a, sizeof(a), r->group[q->baseline].name);
	wi_fmt_name(b, sizeof(b), r->group[g].name);
	fprintf(out, "\n%% of the waits by power of two: # both, - more in %s, + more in %s\n", a, b);
	fprintf(out, "%9s %6s %6s\n", "from", "-", "+");
	for (unsigned int o = first; first < OCTAVES && o <= last; o++)
		print_bar(out, o, base[o], other[o], most);
}

bool wi_quantiles_text(FILE *out, const struct wi_diff_report *r, const struct wi_diff_hist *h, struct wi_err *err)
{
	const struct wi_quantile_table *q = h->table;
	char path[WI_FMT_NAME_LEN];

	fprintf(out, "%s, quantile by quantile [95 %% interval]\n", wi_fmt_name(path, sizeof(path), h->path));
	if (!print_table(out, r, q, err))
		return false;
	for (size_t g = 0; g < q->nr_groups; g++)
		if (g != q->baseline)
			print_overlay(out, r, q, g);
	return true;
}

/* ---- for programs ---- */

static void json_interval(struct wi_json *j, const char *low, const char *high, const char *state,
			  const struct wi_interval *in)
{
	wi_json_real(j, low, in->low);
	wi_json_real(j, high, in->high);
	if (in->state != WI_INTERVAL_KNOWN)
		wi_json_string(j, state, wi_interval_state_text(in->state));
}

static void json_quantile(struct wi_json *j, const struct wi_quantile_group *of, enum wi_quantile i, bool baseline)
{
	const struct wi_quantile_against *a = &of->against[i];

	wi_json_object_flat(j, wi_quantile_name(i));
	wi_json_real(j, "ns", of->value[i].ns);
	json_interval(j, "low_ns", "high_ns", "no_interval", &of->value[i].in);
	if (!baseline) {
		wi_json_real(j, "diff_ns", a->diff_ns);
		wi_json_real(j, "ratio", a->ratio);
		json_interval(j, "diff_low_ns", "diff_high_ns", "no_diff_interval", &a->diff_in);
		wi_json_real(j, "ratio_low", a->ratio_in.low);
		wi_json_real(j, "ratio_high", a->ratio_in.high);
		wi_json_bool(j, "significant", a->significant);
	}
	wi_json_end_object(j);
}

void wi_quantiles_json(struct wi_json *j, const struct wi_diff_report *r, const struct wi_diff_hist *h)
{
	const struct wi_quantile_table *q = h->table;

	wi_json_object(j, NULL);
	wi_json_string(j, "path", h->path);
	wi_json_array(j, "groups");
	for (size_t g = 0; g < q->nr_groups; g++) {
		const struct wi_quantile_group *of = &q->group[g];

		wi_json_object(j, NULL);
		wi_json_string(j, "name", r->group[g].name);
		wi_json_u64(j, "runs", of->nr_runs);
		wi_json_u64(j, "runs_empty", of->nr_empty);
		wi_json_u64(j, "count", of->all.count);
		wi_json_object(j, "quantiles");
		for (enum wi_quantile i = 0; i < WI_NR_QUANTILES; i++)
			json_quantile(j, of, i, g == q->baseline);
		wi_json_end_object(j);
		wi_document_histogram(j, &of->all);
		wi_json_end_object(j);
	}
	wi_json_end_array(j);
	wi_json_end_object(j);
}

static void csv_quantile(struct wi_csv *csv, const struct wi_quantile_group *of, enum wi_quantile i, bool baseline)
{
	const struct wi_quantile_value *v = &of->value[i];
	const struct wi_quantile_against *a = &of->against[i];

	wi_csv_text(csv, wi_quantile_name(i));
	wi_csv_real(csv, v->ns);
	wi_csv_real(csv, v->in.low);
	wi_csv_real(csv, v->in.high);
	wi_csv_text(csv, wi_interval_state_text(v->in.state));
	if (baseline) {
		for (int n = 0; n < 8; n++)
			wi_csv_none(csv);
		return;
	}
	wi_csv_real(csv, a->diff_ns);
	wi_csv_real(csv, a->diff_in.low);
	wi_csv_real(csv, a->diff_in.high);
	wi_csv_real(csv, a->ratio);
	wi_csv_real(csv, a->ratio_in.low);
	wi_csv_real(csv, a->ratio_in.high);
	wi_csv_text(csv, wi_interval_state_text(a->diff_in.state));
	wi_csv_u64(csv, a->significant);
}

void wi_quantiles_csv(struct wi_csv *csv, const struct wi_diff_report *r, const struct wi_diff_stratum *s,
		      const struct wi_diff_hist *h)
{
	const struct wi_quantile_table *q = h->table;

	for (size_t g = 0; g < q->nr_groups; g++)
		for (enum wi_quantile i = 0; i < WI_NR_QUANTILES; i++) {
			for (size_t k = 0; k < r->nr_by; k++)
				s->value[k] ? wi_csv_text(csv, s->value[k]) : wi_csv_none(csv);
			wi_csv_text(csv, h->path);
			wi_csv_text(csv, r->group[g].name);
			wi_csv_u64(csv, g == q->baseline);
			wi_csv_u64(csv, q->group[g].nr_runs);
			wi_csv_u64(csv, q->group[g].nr_empty);
			wi_csv_u64(csv, q->group[g].all.count);
			csv_quantile(csv, &q->group[g], i, g == q->baseline);
			wi_csv_end(csv);
		}
}

bool wi_quantiles_markdown(FILE *out, const struct wi_diff_report *r, const struct wi_diff_hist *h, struct wi_err *err)
{
	const struct wi_quantile_table *q = h->table;

	(void)err;
	fprintf(out, "\n| ");
	wi_md_text(out, h->path);
	fputs(" | group | wakeups | runs | value [95 % interval] | difference | 95 % interval |\n"
	      "|---|---|---:|---:|---:|---:|---:|\n",
	      out);
	for (enum wi_quantile i = 0; i < WI_NR_QUANTILES; i++)
		for (size_t g = 0; g < q->nr_groups; g++) {
			const struct wi_quantile_against *a = &q->group[g].against[i];
			char value[4 * WI_FMT_LEN], gain[48] = "", in[80] = "";

			fmt_value(value, sizeof(value), r, &q->group[g].value[i]);
			if (g != q->baseline) {
				fmt_gain(gain, sizeof(gain), a->ratio, a->significant);
				wi_md_interval(in, sizeof(in), &a->ratio_in, WI_LOWER_IS_BETTER);
			}
			fprintf(out, "| %s | ", wi_quantile_name(i));
			wi_md_text(out, r->group[g].name);
			fprintf(out, " | %" PRIu64 " | %zu | %s | ", q->group[g].all.count, q->group[g].nr_runs, value);
			wi_md_text(out, gain);
			fprintf(out, " | %s |\n", in);
		}
	return true;
}
