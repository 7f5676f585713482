/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Descriptions and tests of analyzer/stats/ against published figures and brute force. Random data against an exact
 * computation: tests/cli/test_stats.py; intervals: test_stats_boot.c.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <math.h>

#include <cmocka.h>

#include "analyzer/base/random.h"
#include "analyzer/stats/describe.h"
#include "analyzer/stats/hypothesis.h"
#include "analyzer/stats/select.h"
#include "analyzer/stats/special.h"
#include "tests/unit/share.h"

#define NR(a) (sizeof(a) / sizeof(*(a)))
#define SAMPLE(a)                                                                                                      \
	(struct wi_sample)                                                                                             \
	{                                                                                                              \
		(a), NR(a), 0                                                                                          \
	}

static struct wi_err err;

static void assert_close(double got, double want, double relative)
{
	if (!(fabs(got - want) <= relative * fabs(want)))
		fail_msg("got %.17g, not %.17g", got, want);
}

/* NIST's Statistical Reference Datasets, NumAcc1 to NumAcc4, and their certified means and standard deviations. */
static void nist(void **state)
{
	static const struct {
		double first, low, high;
		size_t n;
		double mean, stddev, digits;
	} sets[] = {
		{ 10000002, 10000001, 10000003, 3, 10000002, 1, 1e-15 },
		{ 1.2, 1.1, 1.3, 1001, 1.2, 0.1, 1e-13 },
		{ 1000000.2, 1000000.1, 1000000.3, 1001, 1000000.2, 0.1, 2e-9 }, /* 0.1 is not one at that height */
		{ 10000000.2, 10000000.1, 10000000.3, 1001, 10000000.2, 0.1, 2e-8 },
	};
	double v[1001];

	(void)state;
	for (size_t i = 0; i < NR(sets); i++) {
		v[0] = sets[i].first;
		for (size_t k = 1; k < sets[i].n; k++)
			v[k] = k % 2 ? sets[i].low : sets[i].high;
		struct wi_describe d = wi_describe(&(struct wi_sample){ v, sets[i].n, 7 });
		assert_close(d.mean, sets[i].mean, 1e-15);
		assert_close(d.stddev, sets[i].stddev, sets[i].digits);
		assert_close(d.cv, sets[i].stddev / sets[i].mean, sets[i].digits);
		assert_int_equal(d.n, sets[i].n);
		assert_int_equal(d.nr_unknown, 7);
		assert_true(d.min == sets[i].low && d.max == sets[i].high);
	}
}

static void described(void **state)
{
	double speeds[] = { 60, 20 }, with_zero[] = { 0, 5, 10 }, negative[] = { -2, -4 }, equal[] = { 0.1, 0.1, 0.1 };
	double huge[] = { 1e300, 1e300, -1e300 }, tiny[] = { 1e-300, 3e-300 }, balanced[] = { -1, 1 };
	struct wi_describe d = wi_describe(&SAMPLE(speeds));

	(void)state;
	assert_close(d.hmean, 30, 1e-15); /* there at 60, back at 20 */
	assert_close(d.mean, 40, 0);
	assert_close(d.stddev, 20 * M_SQRT2, 1e-15);
	assert_true(isnan(wi_describe(&SAMPLE(with_zero)).hmean));
	d = wi_describe(&SAMPLE(negative));
	assert_true(isnan(d.hmean));
	assert_close(d.cv, M_SQRT2 / 3, 1e-15);
	d = wi_describe(&SAMPLE(equal));
	assert_true(d.mean == 0.1 && d.hmean == 0.1 && d.stddev == 0 && d.cv == 0);
	d = wi_describe(&SAMPLE(huge));
	assert_close(d.mean, 1e300 / 3, 1e-15);
	assert_close(d.stddev, 2e300 / sqrt(3), 1e-15);
	assert_close(wi_describe(&SAMPLE(tiny)).stddev, M_SQRT2 * 1e-300, 1e-15);
	d = wi_describe(&SAMPLE(balanced));
	assert_true(d.mean == 0 && isnan(d.cv));
}

static void nothing_is_unknown(void **state)
{
	double one[] = { 3 };
	struct wi_describe d = wi_describe(&(struct wi_sample){ NULL, 0, 4 });

	(void)state;
	assert_true(isnan(d.mean) && isnan(d.hmean) && isnan(d.stddev) && isnan(d.cv) && isnan(d.min) && isnan(d.max));
	assert_int_equal(d.nr_unknown, 4);
	d = wi_describe(&SAMPLE(one));
	assert_true(d.mean == 3 && d.hmean == 3 && d.min == 3 && d.max == 3 && isnan(d.stddev) && isnan(d.cv));
}

/* Student's t as every textbook prints it, to the three decimals that it prints. */
static void student_table(void **state)
{
	static const struct {
		double df, t[3]; /* two-sided 10, 5, 1 % */
	} table[] = { { 1, { 6.314, 12.706, 63.657 } }, { 2, { 2.920, 4.303, 9.925 } },
		      { 3, { 2.353, 3.182, 5.841 } },	{ 4, { 2.132, 2.776, 4.604 } },
		      { 5, { 2.015, 2.571, 4.032 } },	{ 10, { 1.812, 2.228, 3.169 } },
		      { 20, { 1.725, 2.086, 2.845 } },	{ 30, { 1.697, 2.042, 2.750 } },
		      { 60, { 1.671, 2.000, 2.660 } },	{ 120, { 1.658, 1.980, 2.617 } } };
	static const double alpha[] = { 0.1, 0.05, 0.01 };

	(void)state;
	for (size_t i = 0; i < NR(table); i++)
		for (int k = 0; k < 3; k++) {
			double t = wi_student_quantile(1 - alpha[k] / 2, table[i].df);
			assert_true(fabs(t - table[i].t[k]) <= 0.00051);
			assert_close(wi_student_tails(t, table[i].df), alpha[k], 1e-12);
			assert_close(wi_student_quantile(alpha[k] / 2, table[i].df), -t, 1e-9);
		}
	assert_close(wi_normal_quantile(0.975), 1.959963984540054, 1e-14);
	assert_close(wi_normal_quantile(0.001), -3.090232306167813, 1e-14);
	assert_close(wi_student_tails(1e-9, 7), 1, 1e-8);
	assert_true(wi_student_tails(INFINITY, 3) == 0 && isnan(wi_student_tails(NAN, 3)) &&
		    isnan(wi_student_tails(1, 0)));
}

/* Closed forms: 1 and 2 degrees of freedom, I_x(a, 1) = x^a, I_x(1, b) = 1 - (1-x)^b; and the symmetry. */
static void closed_forms(void **state)
{
	struct wi_random r;

	(void)state;
	wi_random_seed(&r, 5, 0);
	for (int i = 0; i < 2000; i++) {
		double t = exp(10 * wi_random_unit(&r) - 5), x = wi_random_unit(&r),
		       a = exp(8 * wi_random_unit(&r) - 2), b = exp(12 * wi_random_unit(&r) - 2);
		assert_close(wi_student_tails(t, 1), 2 * atan2(1, t) / M_PI, 1e-12);
		assert_close(wi_student_tails(-t, 2), 2 / (2 + t * t + t * sqrt(2 + t * t)), 1e-12);
		assert_close(wi_beta_inc(a, 1, x), pow(x, a), 1e-11);
		assert_close(wi_beta_inc(1, a, x), -expm1(a * log1p(-x)), 1e-11);
		assert_true(fabs(wi_beta_inc(a, b, x) + wi_beta_inc(b, a, 1 - x) - 1) < 1e-11);
	}
	assert_true(isnan(wi_beta_inc(0, 1, 0.5)) && isnan(wi_beta_inc(1, -1, 0.5)) && isnan(wi_beta_inc(1, 1, 1.5)) &&
		    isnan(wi_beta_inc(INFINITY, 1, 0.5)) && isnan(wi_beta_inc(1, 1, NAN)));
	assert_true(wi_beta_inc(2, 3, 0) == 0 && wi_beta_inc(2, 3, 1) == 1);
}

/* Sums of the binomial's terms, also where there are so many that it is nearly a normal distribution. */
static void binomial(void **state)
{
	static const double q[] = { 0.5, 0.9, 0.999 };

	(void)state;
	for (size_t i = 0; i < NR(q); i++)
		for (int n = 1; n < 400; n = n * 3 / 2 + 1) {
			double sum = 0;
			for (int k = 0; k < n; k++) {
				sum += exp(lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1) + k * log(q[i]) +
					   (n - k) * log1p(-q[i]));
				assert_true(fabs(wi_binomial_cdf(k, n, q[i]) - sum) < 1e-11);
			}
			assert_true(wi_binomial_cdf(n, n, q[i]) == 1 && wi_binomial_cdf(-1, n, q[i]) == 0);
		}
	for (double n = 1e4; n < 1e11; n *= 10) {
		double sd = sqrt(n * 0.25);
		assert_true(fabs(wi_binomial_cdf(n / 2 - sd, n, 0.5) - wi_normal_cdf(-1)) < 0.3 / sd);
	}
}

/* Student's sleep data (1908), with Welch's test as R's t.test prints it; examples of the test in Wikipedia's article.
 */
static void welch_examples(void **state)
{
	static const double sleep_1[] = { 0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0, 2 };
	static const double sleep_2[] = { 1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4 };
	static const double few[] = { 17.2, 20.9, 22.6, 18.1, 21.7, 21.4, 23.5, 24.2, 14.7, 21.8 };
	static const double many[] = { 21.5, 22.8, 21.0, 23.0, 21.6, 23.6, 22.5, 20.7, 23.4, 21.8,
				       20.7, 21.7, 21.5, 22.5, 23.6, 21.5, 22.5, 23.5, 21.5, 21.8 };
	static const double steady[] = { 19.8, 20.4, 19.6, 17.8, 18.5, 18.9, 18.3, 18.9, 19.5, 22.0 };
	static const double unsteady[] = { 28.2, 26.6, 20.1, 23.3, 25.2, 22.1, 17.7, 27.6, 20.6, 13.7,
					   23.2, 17.5, 20.6, 18.0, 23.9, 21.6, 24.3, 20.4, 24.0, 13.2 };
	struct wi_describe a = wi_describe(&SAMPLE(sleep_1)), b = wi_describe(&SAMPLE(sleep_2));
	struct wi_welch w = wi_welch(&a, &b);

	(void)state;
	assert_true(fabs(w.t - 1.8608) < 5e-5 && fabs(w.df - 17.776) < 5e-4 && fabs(w.p - 0.07939) < 5e-6);
	w = wi_welch(&b, &a);
	assert_true(fabs(w.t + 1.8608) < 5e-5);
	a = wi_describe(&SAMPLE(few));
	b = wi_describe(&SAMPLE(many));
	w = wi_welch(&a, &b);
	assert_true(fabs(w.t - 1.57) < 5e-3 && fabs(w.df - 9.9) < 5e-2 && fabs(w.p - 0.149) < 5e-4);
	a = wi_describe(&SAMPLE(steady));
	b = wi_describe(&SAMPLE(unsteady));
	w = wi_welch(&a, &b);
	assert_true(fabs(w.t - 2.22) < 5e-3 && fabs(w.df - 24.5) < 5e-2 && fabs(w.p - 0.036) < 5e-4);
}

static void welch_unknown(void **state)
{
	double one[] = { 1 }, two[] = { 1, 2 }, same[] = { 4, 4, 4 }, other[] = { 5, 5 };
	struct wi_describe o = wi_describe(&SAMPLE(one)), t = wi_describe(&SAMPLE(two)), s = wi_describe(&SAMPLE(same));
	struct wi_describe u = wi_describe(&SAMPLE(other)), none = wi_describe(&(struct wi_sample){ NULL, 0, 0 });

	(void)state;
	assert_true(isnan(wi_welch(&o, &t).p) && isnan(wi_welch(&t, &o).t) && isnan(wi_welch(&none, &t).p));
	assert_true(isnan(wi_welch(&s, &u).p) && isnan(wi_welch(&s, &s).df)); /* no spread: no scale for t */
	struct wi_welch w = wi_welch(&s, &t); /* one group's spread is enough: Student's one-sample test */
	assert_close(w.df, 1, 1e-15);
	assert_close(w.t, -2.5 / 0.5, 1e-14);
	assert_close(w.p, 2 * atan(0.2) / M_PI, 1e-12);
}

/*
 * Critical values of U, two-sided, as the tables after Mann and Whitney (1947) give them: the greatest U with p at most
 * 5 % and 1 %. -1: there is none.
 */
static void mwu_table(void **state)
{
	static const struct {
		int na, nb, u5, u1;
	} table[] = { { 3, 3, -1, -1 },	   { 3, 5, 0, -1 },    { 4, 4, 0, -1 },	   { 5, 5, 2, 0 },
		      { 5, 8, 6, 2 },	   { 5, 10, 8, 4 },    { 6, 6, 5, 2 },	   { 7, 7, 8, 4 },
		      { 8, 8, 13, 7 },	   { 8, 12, 22, 15 },  { 9, 9, 17, 11 },   { 10, 10, 23, 16 },
		      { 10, 15, 39, 29 },  { 12, 12, 37, 27 }, { 15, 15, 64, 51 }, { 15, 20, 90, 73 },
		      { 20, 20, 127, 105 } };
	double a[20], b[20];

	(void)state;
	for (size_t i = 0; i < NR(table); i++) {
		int na = table[i].na, nb = table[i].nb;
		for (int u = 0; u < na * nb / 2; u++) {
			/* u pairs in which b is greater: u / na values of b are above all of a, one is above u % na of
			 * them. */
			for (int k = 0; k < na; k++)
				a[k] = 2 * k;
			for (int k = 0; k < nb; k++)
				b[k] = k < u / na ? 1000 + k : k == u / na ? 2 * (u % na) - 1 : -1000 - k;
			struct wi_mwu m;
			assert_true(wi_mwu(&(struct wi_sample){ a, (size_t)na, 0 },
					   &(struct wi_sample){ b, (size_t)nb, 0 }, &m, &err));
			assert_true(m.exact && m.u == u);
			assert_int_equal(m.p <= 0.05, u <= table[i].u5);
			assert_int_equal(m.p <= 0.01, u <= table[i].u1);
		}
	}
}

/* All ways to deal the values, one by one. */
static double mwu_by_force(const double *v, int n, int nb, double seen, double mean)
{
	double far = 0, all = 0;

	for (unsigned set = 0; set < 1u << n; set++) {
		double u = 0;
		if (__builtin_popcount(set) != nb)
			continue;
		for (int i = 0; i < n; i++)
			for (int k = 0; k < n; k++)
				if (set >> i & 1 && !(set >> k & 1))
					u += v[i] > v[k] ? 1 : v[i] == v[k] ? 0.5 : 0;
		all++;
		far += fabs(u - mean) >= fabs(seen - mean) - 1e-9;
	}
	return far / all;
}

static void mwu_ties(void **state)
{
	struct wi_random r;
	double v[12];

	(void)state;
	wi_random_seed(&r, 11, 0);
	for (int round = 0; round < (int)test_share(200); round++) {
		int n = 2 + (int)wi_random_below(&r, 11), na = 1 + (int)wi_random_below(&r, (uint32_t)n - 1);
		uint32_t kinds = 1 + wi_random_below(&r, 6);
		double u = 0;
		struct wi_mwu m, mirrored;
		for (int i = 0; i < n; i++)
			v[i] = wi_random_below(&r, kinds) * 0.1 - 0.2;
		for (int i = 0; i < na; i++)
			for (int k = na; k < n; k++)
				u += v[k] > v[i] ? 1 : v[k] == v[i] ? 0.5 : 0;
		struct wi_sample a = { v, (size_t)na, 0 }, b = { v + na, (size_t)(n - na), 0 };
		assert_true(wi_mwu(&a, &b, &m, &err) && wi_mwu(&b, &a, &mirrored, &err));
		assert_true(m.exact && m.u == u && mirrored.u == na * (n - na) - u);
		assert_close(m.p, mwu_by_force(v, n, n - na, u, na * (n - na) / 2.0), 1e-13);
		assert_close(mirrored.p, m.p, 1e-13);
	}
}

/* Where counting gives way to the approximation, and the approximation by hand. */
static void mwu_normal(void **state)
{
	struct wi_random r;
	double v[80];

	(void)state;
	wi_random_seed(&r, 3, 0);
	for (int round = 0; round < 20; round++) {
		struct wi_mwu exact, normal;
		uint32_t kinds = round % 2 ? 12 : 1000000;
		for (int i = 0; i < 80; i++)
			v[i] = wi_random_below(&r, kinds) + (i < 40 ? 0 : kinds / 20 * (round % 5));
		assert_true(
			wi_mwu(&(struct wi_sample){ v, 31, 0 }, &(struct wi_sample){ v + 40, 31, 0 }, &exact, &err));
		assert_true(
			wi_mwu(&(struct wi_sample){ v, 32, 0 }, &(struct wi_sample){ v + 40, 32, 0 }, &normal, &err));
		assert_true(exact.exact && !normal.exact);
		assert_true(normal.p > 0 && normal.p <= 1);
	}
	/* By hand: U = 0 of 40 against 40: z = (800 - 0.5) / sqrt(1600 * 81 / 12). */
	for (int i = 0; i < 80; i++)
		v[i] = i < 40 ? i : -i;
	struct wi_mwu m;
	assert_true(wi_mwu(&(struct wi_sample){ v, 40, 0 }, &(struct wi_sample){ v + 40, 40, 0 }, &m, &err));
	assert_true(m.u == 0 && !m.exact);
	assert_close(m.p, erfc(799.5 / sqrt(10800) / M_SQRT2), 1e-12);
	/* Ties: two values, 10 and 30 of the 40 are the greater one; variance 1600 / 12 * (81 - (2 * (40^3 - 40)) / (80
	 * * 79)). */
	for (int i = 0; i < 80; i++)
		v[i] = i < 10 || i >= 50;
	assert_true(wi_mwu(&(struct wi_sample){ v, 40, 0 }, &(struct wi_sample){ v + 40, 40, 0 }, &m, &err));
	assert_true(m.u == 30 * 30 + (30 * 10 + 10 * 30) / 2.0);
	assert_close(m.p, erfc(399.5 / sqrt(1600 / 12.0 * (81 - 127920 / 6320.0)) / M_SQRT2), 1e-12);
	for (int i = 0; i < 80; i++)
		v[i] = 5;
	assert_true(wi_mwu(&(struct wi_sample){ v, 40, 0 }, &(struct wi_sample){ v + 40, 40, 0 }, &m, &err) &&
		    m.p == 1);
	assert_true(wi_mwu(&(struct wi_sample){ v, 0, 0 }, &(struct wi_sample){ v + 40, 40, 0 }, &m, &err) &&
		    isnan(m.p) && isnan(m.u));
	assert_true(wi_mwu(&(struct wi_sample){ v, 3, 0 }, &(struct wi_sample){ v, 0, 0 }, &m, &err) && isnan(m.p) &&
		    isnan(m.u));
}

static void holm(void **state)
{
	double p[] = { 0.01, 0.04, 0.03, 0.005 }, q[] = { NAN, 0.5, 0.01, NAN, 0.5, 0.6 }, out[6];

	(void)state;
	assert_true(wi_holm(p, 4, out, &err));
	assert_close(out[0], 0.03, 1e-15);
	assert_close(out[1], 0.06, 1e-15);
	assert_close(out[2], 0.06, 1e-15);
	assert_close(out[3], 0.02, 1e-15);
	assert_true(wi_holm(q, 6, q, &err)); /* in place */
	assert_true(isnan(q[0]) && isnan(q[3]));
	assert_close(q[2], 0.04, 1e-15);
	assert_true(q[1] == 1 && q[4] == 1 && q[5] == 1);
	assert_true(wi_holm(NULL, 0, NULL, &err));
}

/* Never less than the raw value, never more than Bonferroni's, same order, and nobody's place matters. */
static void holm_random(void **state)
{
	struct wi_random r;
	double p[50], rev[50], out[50], back[50];

	(void)state;
	wi_random_seed(&r, 8, 0);
	for (int round = 0; round < 200; round++) {
		size_t n = 1 + wi_random_below(&r, 50);
		for (size_t i = 0; i < n; i++) {
			p[i] = wi_random_below(&r, 3) ? pow(wi_random_unit(&r), 3) : 0.25;
			rev[n - 1 - i] = p[i];
		}
		assert_true(wi_holm(p, n, out, &err) && wi_holm(rev, n, back, &err));
		for (size_t i = 0; i < n; i++) {
			assert_true(out[i] >= p[i] && out[i] <= fmin(1, (double)n * p[i]));
			assert_true(out[i] == back[n - 1 - i]);
			for (size_t k = 0; k < n; k++)
				assert_true(p[i] > p[k] || out[i] <= out[k]);
		}
	}
}

static void selection(void **state)
{
	struct wi_random r;
	double v[300], sorted[300];

	(void)state;
	wi_random_seed(&r, 2, 0);
	for (int round = 0; round < 3000; round++) {
		size_t n = 1 + wi_random_below(&r, 300), k = wi_random_below(&r, (uint32_t)n);
		uint32_t kinds = round % 3 ? 1 + wi_random_below(&r, 1000) : 2;
		for (size_t i = 0; i < n; i++)
			sorted[i] = v[i] = round % 7 == 0	     ? (double)i
					   : wi_random_below(&r, 20) ? wi_random_below(&r, kinds)
								     : INFINITY;
		wi_sort_doubles(sorted, n);
		assert_true(wi_kth(v, n, k) == sorted[k]);
		for (size_t i = 0; i < n; i++)
			assert_true(i < k ? v[i] <= v[k] : v[i] >= v[k]);
	}
	assert_int_equal(wi_tail_rank(10000, 0.025), 249);
	assert_int_equal(wi_tail_rank(1000, 0.025), 24);
	assert_int_equal(wi_tail_rank(1000, 1e-9), 0);
}

/* The generator: first outputs of xoshiro256++ from the state 1, 2, 3, 4, as its authors' code gives them; moments. */
static void random_numbers(void **state)
{
	struct wi_random r = { { 1, 2, 3, 4 } }, other;
	static const uint64_t first[] = { 41943041, 58720359, 3588806011781223, 3591011842654386 };
	double sum[4] = { 0 }, squares[4] = { 0 };
	unsigned seen[3] = { 0 };
	const int n = 200000;

	(void)state;
	for (size_t i = 0; i < NR(first); i++)
		assert_true(wi_random_u64(&r) == first[i]);
	wi_random_seed(&r, 1, 0);
	wi_random_seed(&other, 1, 1);
	assert_true(wi_random_u64(&r) != wi_random_u64(&other));
	wi_random_seed(&other, 1, 0);
	wi_random_u64(&other);
	for (int i = 0; i < n; i++) {
		assert_true(wi_random_u64(&r) == wi_random_u64(&other));
		double v[4] = { wi_random_unit(&r), wi_random_normal(&r), wi_random_gamma(&r, 2.5),
				wi_random_beta(&r, 3, 2) };
		assert_true(v[0] > 0 && v[0] < 1 && v[2] > 0 && v[3] > 0 && v[3] < 1);
		for (int k = 0; k < 4; k++) {
			sum[k] += v[k];
			squares[k] += v[k] * v[k];
		}
		seen[wi_random_below(&r, 3)]++;
		other = r;
	}
	static const double mean[] = { 0.5, 0, 2.5, 0.6 }, variance[] = { 1 / 12.0, 1, 2.5, 0.04 };
	for (int k = 0; k < 4; k++) {
		double m = sum[k] / n, v = squares[k] / n - m * m;
		assert_true(fabs(m - mean[k]) < 5 * sqrt(variance[k] / n));
		assert_close(v, variance[k], 0.02);
	}
	for (int k = 0; k < 3; k++)
		assert_true(fabs(seen[k] - n / 3.0) < 5 * sqrt(n * 2 / 9.0));
	/* Where nearly half of all products have to be drawn anew: still even. */
	unsigned low = 0;
	for (int i = 0; i < n; i++)
		low += wi_random_below(&r, 0x80000001u) < 0x40000000u;
	assert_true(fabs(low - n / 2.0) < 5 * sqrt(n / 4.0));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nist),		  cmocka_unit_test(described),	   cmocka_unit_test(nothing_is_unknown),
		cmocka_unit_test(student_table),  cmocka_unit_test(closed_forms),  cmocka_unit_test(binomial),
		cmocka_unit_test(welch_examples), cmocka_unit_test(welch_unknown), cmocka_unit_test(mwu_table),
		cmocka_unit_test(mwu_ties),	  cmocka_unit_test(mwu_normal),	   cmocka_unit_test(holm),
		cmocka_unit_test(holm_random),	  cmocka_unit_test(selection),	   cmocka_unit_test(random_numbers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
