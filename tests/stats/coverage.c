/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How often a 95 % interval of the difference of two means holds the true one, on data made up for it: the method of
 * analyzer/stats/bootstrap.h beside Welch's t and BCa, which it was chosen over. doc/statistics.md shows the table.
 *
 *	coverage [TRIALS [RESAMPLES]]	(make coverage-stats)
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/base/random.h"
#include "analyzer/stats/bootstrap.h"
#include "analyzer/stats/hypothesis.h"
#include "analyzer/stats/quantiles.h"
#include "analyzer/stats/select.h"
#include "analyzer/stats/special.h"

#define MAX_N 100
#define MAX_RESAMPLES 100000

struct law {
	const char *name;
	double (*draw)(struct wi_random *r, double scale);
	double mean; /* at scale 1 */
};

static double normal(struct wi_random *r, double scale)
{
	return scale * (1 + 0.2 * wi_random_normal(r));
}

static double lognormal(struct wi_random *r, double scale)
{
	return scale * exp(0.5 * wi_random_normal(r));
}

static double lognormal_1(struct wi_random *r, double scale)
{
	return scale * exp(wi_random_normal(r));
}

static double exponential(struct wi_random *r, double scale)
{
	return -scale * log(wi_random_unit(r));
}

static const struct law laws[] = {
	{ "normal, cv 0.2", normal, 1 },
	{ "lognormal, sigma 0.5", lognormal, 1.1331484530668263 },
	{ "lognormal, sigma 1", lognormal_1, 1.6487212707001282 },
	{ "exponential", exponential, 1 },
};

enum method { BOOTSTRAP, RATIO, EQUAL_TAILED, SYMMETRIC, BCA, WELCH, NR_METHODS };

struct tally {
	unsigned hit[NR_METHODS], known[NR_METHODS];
	double width[NR_METHODS];
};

static void count(struct tally *t, enum method m, struct wi_interval in, double truth)
{
	if (in.state != WI_INTERVAL_KNOWN)
		return;
	t->known[m]++;
	t->hit[m] += in.low <= truth && truth <= in.high;
	t->width[m] += in.high - in.low;
}

/* Acceleration of a difference of means: skewness of the influence of single values. */
static double acceleration(const struct wi_sample s[2], const struct wi_describe d[2])
{
	double cubes = 0, squares = 0;

	for (int g = 0; g < 2; g++) {
		double n = (double)s[g].n, sign = g ? 1 : -1;
		for (size_t i = 0; i < s[g].n; i++) {
			double u = sign * (s[g].v[i] - d[g].mean) / (n * (n - 1)) * n;
			cubes += u * u * u / n / n / n;
			squares += u * u / n / n;
		}
	}
	return squares > 0 ? cubes / (6 * pow(squares, 1.5)) : 0;
}

static struct wi_interval bca(const struct wi_sample s[2], const struct wi_resamples r[2])
{
	static double d[MAX_RESAMPLES];
	double a = acceleration(s, (struct wi_describe[]){ r[0].of, r[1].of }), below = 0;
	struct wi_interval in = { NAN, NAN, WI_INTERVAL_KNOWN };

	for (uint32_t i = 0; i < r[0].nr; i++) {
		d[i] = r[1].mean[i] * r[1].unit - r[0].mean[i] * r[0].unit;
		below += d[i] < 0 ? 1 : d[i] == 0 ? 0.5 : 0;
	}
	double z0 = wi_normal_quantile(below / r[0].nr), estimate = r[1].of.mean - r[0].of.mean;
	for (int side = 0; side < 2; side++) {
		double z = z0 + (side ? 1 : -1) * 1.959963984540054;
		double p = wi_normal_cdf(z0 + z / (1 - a * z)), k = floor(p * (r[0].nr + 1)) - 1;
		double v = wi_kth(d, r[0].nr, (size_t)fmin(fmax(k, 0), r[0].nr - 1));
		*(side ? &in.high : &in.low) = estimate + v;
	}
	return in;
}

/* The two textbook choices of critical values of t*, between which the method's lie. */
static void textbook(const struct wi_resamples r[2], struct wi_interval *equal_tailed, struct wi_interval *symmetric)
{
	static double t[MAX_RESAMPLES];
	double unit[2] = { r[0].unit * r[0].unit, r[1].unit * r[1].unit }, d = r[1].of.mean - r[0].of.mean, se = 0;
	uint32_t nr = r[0].nr;
	size_t tail = wi_tail_rank(nr, 0.025);

	for (int g = 0; g < 2; g++)
		se += r[g].of.stddev * r[g].of.stddev / (double)r[g].of.n;
	se = sqrt(se);
	for (uint32_t i = 0; i < nr; i++) {
		double se2 = r[0].se2[i] * unit[0] + r[1].se2[i] * unit[1];
		double difference = r[1].mean[i] * r[1].unit - r[0].mean[i] * r[0].unit;
		t[i] = se2 > 0 ? difference / sqrt(se2) : difference > 0 ? INFINITY : difference < 0 ? -INFINITY : 0;
	}
	double low = wi_kth(t, nr, tail), high = wi_kth(t, nr, nr - 1 - tail);
	for (uint32_t i = 0; i < nr; i++)
		t[i] = fabs(t[i]);
	double both = wi_kth(t, nr, nr - 1 - wi_tail_rank(nr, 0.05));
	*equal_tailed = (struct wi_interval){ d - high * se, d - low * se, WI_INTERVAL_KNOWN };
	*symmetric = (struct wi_interval){ d - both * se, d + both * se, WI_INTERVAL_KNOWN };
}

static struct wi_interval welch(const struct wi_describe *a, const struct wi_describe *b)
{
	struct wi_welch w = wi_welch(a, b);
	double se = sqrt(a->stddev * a->stddev / (double)a->n + b->stddev * b->stddev / (double)b->n);
	double half = wi_student_quantile(0.975, w.df) * se, d = b->mean - a->mean;

	return (struct wi_interval){ d - half, d + half, isnan(w.t) ? WI_INTERVAL_FEW : WI_INTERVAL_KNOWN };
}

static void trial(struct wi_random *r, const struct law *law, size_t na, size_t nb, double scale, uint32_t nr,
		  struct tally *t)
{
	double v[2][MAX_N], truth = law->mean * (scale - 1);
	struct wi_sample s[2] = { { v[0], na, 0 }, { v[1], nb, 0 } };
	struct wi_resamples re[2];
	struct wi_err err = { 0 };
	struct wi_boot boot;

	for (int g = 0; g < 2; g++) {
		for (size_t i = 0; i < s[g].n; i++)
			v[g][i] = law->draw(r, g ? scale : 1);
		if (!wi_resample(&s[g], nr, wi_random_u64(r), (uint64_t)g, &re[g], &err))
			goto fail;
	}
	if (!wi_boot_difference(&re[0], &re[1], 0.95, &boot, &err))
		goto fail;
	count(t, BOOTSTRAP, boot.diff_in, truth);
	count(t, RATIO, boot.ratio_in, scale - 1);
	struct wi_interval equal_tailed, symmetric;
	textbook(re, &equal_tailed, &symmetric);
	count(t, EQUAL_TAILED, equal_tailed, truth);
	count(t, SYMMETRIC, symmetric, truth);
	count(t, BCA, bca(s, re), truth);
	count(t, WELCH, welch(&re[0].of, &re[1].of), truth);
	wi_resamples_fini(&re[0]);
	wi_resamples_fini(&re[1]);
	return;
fail:
	fprintf(stderr, "coverage: %s\n", err.msg);
	exit(1);
}

static void print_row(const struct law *law, size_t na, size_t nb, double scale, unsigned trials, const struct tally *t)
{
	printf("| %s | %zu, %zu | %.2g |", law->name, na, nb, scale);
	for (int m = 0; m < NR_METHODS; m++)
		if (t->known[m])
			printf(" %.1f |", 100.0 * t->hit[m] / t->known[m]);
		else
			printf(" - |");
	printf(" %.2f | %.1f, %.1f |\n",
	       t->width[BOOTSTRAP] / t->known[BOOTSTRAP] / (t->width[WELCH] / t->known[WELCH]),
	       100 - 100.0 * t->known[BOOTSTRAP] / trials, 100 - 100.0 * t->known[RATIO] / trials);
}

/* Histograms of runs whose own medians scatter, cv 0.2: their wakeups together are lognormal too. */
#define MAX_RUNS 30
#define WITHIN 1.0
#define BETWEEN 0.2
#define FLOOR_NS 10000.0

struct quantile_tally {
	unsigned known[3], hit[3]; /* value, difference, ratio */
};

static void make_runs(struct wi_random *r, struct wi_hist *h, size_t nr_runs, int wakeups, double scale)
{
	for (size_t k = 0; k < nr_runs; k++) {
		double own = nr_runs > 1 ? exp(BETWEEN * wi_random_normal(r)) : 1;
		h[k] = (struct wi_hist){ 0 };
		for (int i = 0; i < wakeups; i++)
			if (!wi_hist_add(&h[k], (uint64_t)(FLOOR_NS * scale * own * exp(WITHIN * wi_random_normal(r)))))
				exit(1);
	}
}

static void count_quantile(struct quantile_tally *t, int which, struct wi_interval in, double truth)
{
	if (in.state != WI_INTERVAL_KNOWN)
		return;
	t->known[which]++;
	t->hit[which] += in.low <= truth && truth <= in.high;
}

static void quantile_trial(struct wi_random *r, size_t nr_runs, int wakeups, double scale, uint32_t nr,
			   struct quantile_tally tally[WI_NR_QUANTILES])
{
	struct wi_hist h[2][MAX_RUNS];
	const struct wi_hist *run[2][MAX_RUNS];
	struct wi_err err = { 0 };
	double sigma = nr_runs > 1 ? sqrt(WITHIN * WITHIN + BETWEEN * BETWEEN) : WITHIN;

	for (int g = 0; g < 2; g++) {
		make_runs(r, h[g], nr_runs, wakeups, g ? scale : 1);
		for (size_t k = 0; k < nr_runs; k++)
			run[g][k] = &h[g][k];
	}
	struct wi_quantile_table *t = wi_quantiles((struct wi_hist_group[]){ { run[0], nr_runs }, { run[1], nr_runs } },
						   2, 0, nr, wi_random_u64(r), 0, &err);
	if (!t) {
		fprintf(stderr, "coverage: %s\n", err.msg);
		exit(1);
	}
	for (int q = 0; q < WI_NR_QUANTILES; q++) {
		double truth = FLOOR_NS * exp(sigma * wi_normal_quantile(wi_quantile_of(q)));
		count_quantile(&tally[q], 0, t->group[0].value[q].in, truth);
		count_quantile(&tally[q], 1, t->group[1].against[q].diff_in, truth * (scale - 1));
		count_quantile(&tally[q], 2, t->group[1].against[q].ratio_in, scale - 1);
	}
	wi_quantile_table_free(t);
	for (size_t k = 0; k < nr_runs; k++) {
		wi_hist_fini(&h[0][k]);
		wi_hist_fini(&h[1][k]);
	}
}

static void quantiles(unsigned trials, uint32_t nr)
{
	static const struct {
		size_t runs;
		int wakeups;
	} rows[] = { { 1, 20 }, { 1, 200 }, { 1, 5000 }, { 5, 200 }, { 10, 200 }, { 30, 200 } };

	printf("\n| runs | wakeups a run | quantile | value | difference | ratio | unknown "
	       "|\n|--:|--:|---|--:|--:|--:|--:|\n");
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct quantile_tally tally[WI_NR_QUANTILES] = { 0 };
		struct wi_random r;
		wi_random_seed(&r, 2, i);
		for (unsigned n = 0; n < trials; n++)
			quantile_trial(&r, rows[i].runs, rows[i].wakeups, 1.3, nr, tally);
		for (int q = 0; q < WI_NR_QUANTILES; q++) {
			if (!tally[q].known[0])
				continue;
			printf("| %zu | %d | %s |", rows[i].runs, rows[i].wakeups,
			       wi_quantile_name((enum wi_quantile)q));
			for (int k = 0; k < 3; k++)
				printf(" %.1f |", 100.0 * tally[q].hit[k] / tally[q].known[k]);
			printf(" %.1f |\n", 100 - 100.0 * tally[q].known[1] / trials);
		}
		fflush(stdout);
	}
}

int main(int argc, char **argv)
{
	static const size_t sizes[][2] = { { 3, 3 },	 { 4, 4 },  { 5, 5 },  { 10, 10 }, { 30, 30 },
					   { 100, 100 }, { 5, 30 }, { 30, 5 }, { 100, 30 } };
	unsigned trials = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : 4000;
	uint32_t nr = argc > 2 ? (uint32_t)strtoul(argv[2], NULL, 10) : 2000;
	static const double scales[] = { 1, 1.5 };

	if (!trials || nr > MAX_RESAMPLES) {
		fprintf(stderr, "coverage: 1 trial or more, %d resamples or fewer\n", MAX_RESAMPLES);
		return 2;
	}
	printf("| data | n | scale | difference | ratio | equal-tailed | symmetric | BCa | Welch t | width / Welch's | "
	       "unknown: difference, ratio "
	       "|\n|---|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|\n");
	for (size_t k = 0; k < sizeof(sizes) / sizeof(*sizes); k++)
		for (size_t i = 0; i < sizeof(laws) / sizeof(*laws); i++)
			for (size_t j = 0; j < 2; j++) {
				struct tally t = { 0 };
				struct wi_random r;
				wi_random_seed(&r, 1, i * 1000 + k * 10 + j);
				for (unsigned n = 0; n < trials; n++)
					trial(&r, &laws[i], sizes[k][0], sizes[k][1], scales[j], nr, &t);
				print_row(&laws[i], sizes[k][0], sizes[k][1], scales[j], trials, &t);
				fflush(stdout);
			}
	quantiles(trials / 4, nr);
	return 0;
}
