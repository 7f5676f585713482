/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Bootstrap intervals and comparisons of analyzer/stats/: what they must keep to whatever the data, and the edges. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <math.h>
#include <string.h>

#include <cmocka.h>

#include "analyzer/base/random.h"
#include "analyzer/stats/compare.h"
#include "analyzer/stats/special.h"
#include "tests/unit/share.h"

#define MAX_N 60

static struct wi_err err;

static struct wi_boot boot(const double *a, size_t na, const double *b, size_t nb, uint64_t seed)
{
	struct wi_resamples ra, rb;
	struct wi_boot out;

	assert_true(wi_resample(&(struct wi_sample){ a, na, 0 }, 2000, seed, 0, &ra, &err));
	assert_true(wi_resample(&(struct wi_sample){ b, nb, 0 }, 2000, seed, 1, &rb, &err));
	assert_true(wi_boot_difference(&ra, &rb, 0.95, &out, &err));
	wi_resamples_fini(&ra);
	wi_resamples_fini(&rb);
	return out;
}

static void assert_interval(struct wi_interval in, double low, double high, double slack)
{
	assert_int_equal(in.state, WI_INTERVAL_KNOWN);
	if (!(fabs(in.low - low) <= slack && fabs(in.high - high) <= slack))
		fail_msg("got %.17g .. %.17g, not %.17g .. %.17g", in.low, in.high, low, high);
}

static void assert_unknown(struct wi_interval in, enum wi_interval_state state)
{
	assert_int_equal(in.state, state);
	assert_true(isnan(in.low) && isnan(in.high));
}

static void make(struct wi_random *r, double *v, size_t n, bool skewed, double scale)
{
	for (size_t i = 0; i < n; i++)
		v[i] = scale * (skewed ? exp(wi_random_normal(r)) : 20 + wi_random_normal(r));
}

/* Units, zero points, order and roles of the groups: what they change is known beforehand. */
static void equivariance(void **state)
{
	struct wi_random r;
	double a[MAX_N], b[MAX_N], a2[MAX_N], b2[MAX_N];

	(void)state;
	wi_random_seed(&r, 1, 0);
	for (int round = 0; round < (int)test_share(60); round++) {
		size_t na = 3 + wi_random_below(&r, MAX_N - 3), nb = 3 + wi_random_below(&r, MAX_N - 3);
		make(&r, a, na, round % 2, 1);
		make(&r, b, nb, round % 2, 1.1);
		struct wi_boot x = boot(a, na, b, nb, 7), y;
		if (x.diff_in.state == WI_INTERVAL_KNOWN)
			assert_true(x.diff_in.low <= x.diff_in.high);
		/* Another unit: a power of 2 changes no bit. */
		for (size_t i = 0; i < na; i++)
			a2[i] = ldexp(a[na - 1 - i], 40); /* and turned around */
		for (size_t i = 0; i < nb; i++)
			b2[i] = ldexp(b[i], 40);
		y = boot(a2, na, b2, nb, 7);
		assert_true(fabs(ldexp(y.diff_in.low, -40) - x.diff_in.low) <= 1e-12 * fabs(x.diff_in.low));
		assert_true(fabs(ldexp(y.diff_in.high, -40) - x.diff_in.high) <= 1e-12 * fabs(x.diff_in.high));
		assert_interval(y.ratio_in, x.ratio_in.low, x.ratio_in.high, 1e-12 * (1 + x.ratio_in.high));
		assert_true(y.significant == x.significant);
		/* Another zero point. */
		for (size_t i = 0; i < na; i++)
			a2[i] = a[i] + 1000;
		for (size_t i = 0; i < nb; i++)
			b2[i] = b[i] + 1000;
		y = boot(a2, na, b2, nb, 7);
		double width = x.diff_in.high - x.diff_in.low;
		assert_interval(y.diff_in, x.diff_in.low, x.diff_in.high, 1e-6 * width);
		/* The other way round, each group with its own draws. */
		struct wi_resamples ra, rb;
		assert_true(wi_resample(&(struct wi_sample){ a, na, 0 }, 2000, 7, 0, &ra, &err));
		assert_true(wi_resample(&(struct wi_sample){ b, nb, 0 }, 2000, 7, 1, &rb, &err));
		assert_true(wi_boot_difference(&rb, &ra, 0.95, &y, &err));
		assert_true(y.diff == -x.diff && y.significant == x.significant);
		assert_interval(y.diff_in, -x.diff_in.high, -x.diff_in.low, 1e-12 * width);
		assert_interval(y.ratio_in, 1 / (1 + x.ratio_in.high) - 1, 1 / (1 + x.ratio_in.low) - 1, 1e-9);
		/* A higher level makes it wider. */
		assert_true(wi_boot_difference(&ra, &rb, 0.8, &y, &err));
		assert_true(y.diff_in.low >= x.diff_in.low && y.diff_in.high <= x.diff_in.high);
		wi_resamples_fini(&ra);
		wi_resamples_fini(&rb);
	}
}

/* Of much data that is nearly normal, the interval is Student's; another seed moves it by little. */
static void meets_students(void **state)
{
	struct wi_random r;
	double a[MAX_N], b[MAX_N];

	(void)state;
	wi_random_seed(&r, 2, 0);
	for (int round = 0; round < 10; round++) {
		make(&r, a, MAX_N, false, 1);
		make(&r, b, MAX_N, false, 1.05);
		struct wi_sample sa = { a, MAX_N, 0 }, sb = { b, MAX_N, 0 };
		struct wi_describe da = wi_describe(&sa), db = wi_describe(&sb);
		struct wi_welch w = wi_welch(&da, &db);
		double half = wi_student_quantile(0.975, w.df) * (db.mean - da.mean) / w.t;
		struct wi_boot x = boot(a, MAX_N, b, MAX_N, 1), y = boot(a, MAX_N, b, MAX_N, 2);
		assert_interval(x.diff_in, x.diff - half, x.diff + half, 0.15 * half);
		assert_interval(y.diff_in, x.diff_in.low, x.diff_in.high, 0.15 * half);
		assert_true(x.diff_in.low != y.diff_in.low);
		assert_interval(x.ratio_in, x.diff_in.low / da.mean, x.diff_in.high / da.mean, 0.02);
	}
}

/* At n = 30, intervals hold the truth 95 times of 100; of 1200 trials, 93 to 97 are within 3.2 standard deviations. */
static void coverage(void **state)
{
	struct wi_random r;
	double a[30], b[30], truth = exp(0.5) * 0.3;
	int trials = (int)test_share(1200), hit[4] = { 0 };

	(void)state;
	wi_random_seed(&r, 3, 0);
	for (int i = 0; i < trials; i++) {
		make(&r, a, 30, false, 1);
		make(&r, b, 30, false, 1.3);
		struct wi_boot x = boot(a, 30, b, 30, (uint64_t)i);
		hit[0] += x.diff_in.low <= 6 && x.diff_in.high >= 6;
		hit[1] += x.ratio_in.low <= 0.3 && x.ratio_in.high >= 0.3;
		make(&r, a, 30, true, 1);
		make(&r, b, 30, true, 1.3);
		x = boot(a, 30, b, 30, (uint64_t)i);
		hit[2] += x.diff_in.low <= truth && x.diff_in.high >= truth;
		hit[3] += x.ratio_in.low <= 0.3 && x.ratio_in.high >= 0.3;
	}
	double slack = trials < 1200 ? 3.2 * sqrt(0.95 * 0.05 / trials) : 0.02;
	for (int k = 0; k < 4; k++)
		if (fabs((double)hit[k] / trials - 0.95) > slack)
			fail_msg("%d: %d of %d", k, hit[k], trials);
}

static void edges(void **state)
{
	double five[] = { 5, 5, 5, 5, 5 }, six[] = { 6, 6, 6, 6, 6 }, zero[] = { 0, 0, 0, 0, 0 },
	       spread[] = { 1, 2, 3, 4, 6 };
	double signs[] = { -3, 1, 4, -2, 0.5 }, below[] = { -3, -1, -4, -2, -5 }, rare[] = { 0, 0, 0, 0, 5 },
	       other[] = { 1, 1, 1, 1, 7 };

	(void)state;
	/* Nothing, one, two. */
	struct wi_boot x = boot(NULL, 0, five, 5, 1);
	assert_true(isnan(x.diff) && isnan(x.ratio) && !x.significant);
	assert_unknown(x.diff_in, WI_INTERVAL_NO_VALUES);
	x = boot(spread, 1, five, 5, 1);
	assert_true(x.diff == 4 && x.ratio == 4);
	assert_unknown(x.diff_in, WI_INTERVAL_FEW);
	assert_unknown(x.ratio_in, WI_INTERVAL_FEW);
	x = boot(spread, 5, spread, 2, 1);
	assert_unknown(x.diff_in, WI_INTERVAL_FEW);
	/* No spread: the permutation test of 3 against 3 has 2 / 20, of 4 against 4 2 / 70. */
	x = boot(five, 3, six, 3, 1);
	assert_unknown(x.diff_in, WI_INTERVAL_NO_SPREAD);
	assert_false(x.significant);
	x = boot(five, 4, six, 4, 1);
	assert_interval(x.diff_in, 1, 1, 0);
	assert_interval(x.ratio_in, 0.2, 0.2, 0);
	assert_true(x.significant);
	x = boot(five, 5, five, 4, 1);
	assert_interval(x.diff_in, 0, 0, 0);
	assert_false(x.significant);
	x = boot(five, 3, five, 3, 1);
	assert_unknown(x.diff_in, WI_INTERVAL_NO_SPREAD);
	/* Against 0 there is a difference but no ratio. */
	x = boot(zero, 5, six, 5, 1);
	assert_true(isnan(x.ratio) && x.significant);
	assert_interval(x.diff_in, 6, 6, 0);
	assert_unknown(x.ratio_in, WI_INTERVAL_NO_BASE);
	x = boot(zero, 5, spread, 5, 1);
	assert_int_equal(x.diff_in.state, WI_INTERVAL_KNOWN);
	assert_unknown(x.ratio_in, WI_INTERVAL_NO_BASE);
	x = boot(below, 5, spread, 5, 1);
	assert_true(isnan(x.ratio) && x.significant && x.diff_in.low > 0);
	x = boot(spread, 5, zero, 5, 1); /* gone altogether: -100 % has no logarithm */
	assert_true(x.ratio == -1 && x.significant && x.diff_in.high < 0);
	assert_unknown(x.ratio_in, WI_INTERVAL_NO_BASE);
	/* A mean above 0 by chance alone does not bound a ratio. */
	x = boot(signs, 5, spread, 5, 1);
	assert_true(x.ratio > 0);
	assert_unknown(x.ratio_in, WI_INTERVAL_UNBOUNDED);
	/* One value in five differs: a tenth of the resamples show no spread in either group. */
	x = boot(rare, 5, other, 5, 1);
	assert_unknown(x.diff_in, WI_INTERVAL_UNBOUNDED);
	/* One group's spread is enough. */
	x = boot(five, 5, spread, 5, 1);
	assert_int_equal(x.diff_in.state, WI_INTERVAL_KNOWN);
	assert_true(x.diff_in.low < x.diff && x.diff_in.high > x.diff);
}

static void huge_and_tiny(void **state)
{
	struct wi_random r;
	double a[20], b[20];

	(void)state;
	wi_random_seed(&r, 4, 0);
	make(&r, a, 20, false, 1);
	make(&r, b, 20, false, 1.5);
	struct wi_boot x = boot(a, 20, b, 20, 1);
	for (int exponent = -900; exponent <= 900; exponent += 600) {
		double a2[20], b2[20];
		for (int i = 0; i < 20; i++) {
			a2[i] = ldexp(a[i], exponent);
			b2[i] = ldexp(b[i], exponent);
		}
		struct wi_boot y = boot(a2, 20, b2, 20, 1);
		assert_interval(y.ratio_in, x.ratio_in.low, x.ratio_in.high, 1e-12);
		assert_int_equal(y.diff_in.state, WI_INTERVAL_KNOWN);
		assert_true(y.significant);
	}
}

/* Three groups, the middle one the baseline: each against it, as if the others were not there. */
static void comparison(void **state)
{
	struct wi_random r;
	double v[3][20];
	struct wi_sample s[3], none[3] = { { v[0], 1, 0 }, { NULL, 0, 3 }, { v[2], 1, 0 } };

	(void)state;
	wi_random_seed(&r, 5, 0);
	for (int g = 0; g < 3; g++) {
		make(&r, v[g], 20, false, g == 2 ? 1.5 : 1);
		s[g] = (struct wi_sample){ v[g], 20, (size_t)g };
	}
	struct wi_compare_metric m[] = { { "latency", WI_LOWER_IS_BETTER, s },
					 { "throughput", WI_HIGHER_IS_BETTER, s },
					 { "number", WI_NO_DIRECTION, s },
					 { "unknown", WI_LOWER_IS_BETTER, none } };
	struct wi_compare_options o = { .nr_groups = 3, .baseline = 1, .seed = 9, .resamples = 1000 };
	struct wi_comparison *c = wi_compare(m, 4, &o, &err);
	assert_non_null(c);
	assert_int_equal(c->nr_rows, 4);
	assert_true(c->options.level == 0.95);
	assert_int_equal(c->welch_family, 6);
	assert_int_equal(c->mwu_family, 6);
	static const enum wi_change change[] = { WI_CHANGE_WORSE, WI_CHANGE_BETTER, WI_CHANGE_OTHER };
	for (int i = 0; i < 3; i++) {
		const struct wi_against *x = c->row[i].against;
		assert_string_equal(c->row[i].name, m[i].name);
		assert_int_equal(x[2].change, change[i]);
		assert_int_equal(x[0].change, WI_CHANGE_NONE);
		assert_true(x[2].boot.significant && !x[0].boot.significant);
		assert_true(fabs(x[2].welch_holm - 6 * x[2].welch.p) <= 1e-12 * x[2].welch.p);
		assert_true(x[2].mwu_holm >= x[2].mwu.p && x[2].mwu.exact && x[2].mwu.u == 400);
		assert_true(isnan(x[1].boot.diff) && isnan(x[1].welch.p) && isnan(x[1].mwu_holm));
		assert_int_equal(x[1].change, WI_CHANGE_UNKNOWN);
		for (int g = 0; g < 3; g++) {
			struct wi_describe d = wi_describe(&s[g]), *got = &c->row[i].group[g];
			assert_true(fabs(got->mean - d.mean) < 1e-13 && fabs(got->stddev - d.stddev) < 1e-13);
			assert_true(got->n == 20 && got->nr_unknown == (size_t)g && got->max == d.max);
		}
	}
	assert_int_equal(c->row[3].against[0].change, WI_CHANGE_UNKNOWN);
	assert_true(isnan(c->row[3].against[0].boot.diff) && c->row[3].group[1].nr_unknown == 3);
	/* Alone, a metric's figures are the same but for Holm's. */
	struct wi_comparison *alone = wi_compare(m + 1, 1, &o, &err);
	assert_non_null(alone);
	assert_memory_equal(&alone->row[0].against[2].boot, &c->row[1].against[2].boot, sizeof(struct wi_boot));
	assert_true(alone->row[0].against[2].welch_holm < c->row[1].against[2].welch_holm);
	/* Another baseline: the mirror image. */
	o.baseline = 2;
	struct wi_comparison *other = wi_compare(m, 4, &o, &err);
	assert_non_null(other);
	assert_interval(other->row[0].against[1].boot.diff_in, -c->row[0].against[2].boot.diff_in.high,
			-c->row[0].against[2].boot.diff_in.low, 1e-12);
	assert_int_equal(other->row[0].against[1].change, WI_CHANGE_BETTER);
	wi_comparison_free(other);
	wi_comparison_free(alone);
	wi_comparison_free(c);
	assert_true(wi_gain(0.05, WI_LOWER_IS_BETTER) == -0.05 && wi_gain(0.05, WI_HIGHER_IS_BETTER) == 0.05);
	assert_true(wi_gain(-0.05, WI_NO_DIRECTION) == -0.05 && isnan(wi_gain(NAN, WI_LOWER_IS_BETTER)));
}

static void refused(void **state)
{
	double v[] = { 1, 2, 3, NAN }, beyond[] = { 1, 2, INFINITY };
	struct wi_sample s[] = { { v, 3, 0 }, { v, 3, 0 } }, bad[] = { { v, 3, 0 }, { v, 4, 0 } },
			 far[] = { { beyond, 3, 0 }, { v, 3, 0 } };
	struct wi_compare_metric m = { "m", WI_NO_DIRECTION, s };
	struct {
		struct wi_compare_options o;
		const char *text;
	} wrong[] = {
		{ { .nr_groups = 0 }, "no baseline" },
		{ { .nr_groups = 2, .baseline = 2 }, "no baseline" },
		{ { .nr_groups = 2, .resamples = 999 }, "999 resamples" },
		{ { .nr_groups = 2, .resamples = WI_RESAMPLES_MAX + 1 }, "10000001 resamples" },
		{ { .nr_groups = 2, .level = 0.9999 }, "level 0.9999" },
		{ { .nr_groups = 2, .level = NAN }, "level nan" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		struct wi_err e = { 0 };
		assert_null(wi_compare(&m, 1, &wrong[i].o, &e));
		assert_int_equal(e.code, WI_EUSAGE);
		assert_non_null(strstr(e.msg, wrong[i].text));
	}
	struct wi_compare_options o = { .nr_groups = 2, .resamples = 1000 };
	for (int i = 0; i < 2; i++) {
		struct wi_err e = { 0 };
		m.group = i ? far : bad;
		assert_null(wi_compare(&m, 1, &o, &e));
		assert_int_equal(e.code, WI_EIO);
		assert_non_null(strstr(e.msg, "m: a value that is no measurement"));
	}
	struct wi_comparison *c = wi_compare(NULL, 0, &o, &err); /* no metrics: nothing to say */
	assert_non_null(c);
	assert_int_equal(c->nr_rows, 0);
	wi_comparison_free(c);
	wi_comparison_free(NULL);
	for (int i = WI_INTERVAL_KNOWN; i <= WI_INTERVAL_FEW_COUNTS; i++)
		assert_non_null(wi_interval_state_text((enum wi_interval_state)i));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(equivariance), cmocka_unit_test(meets_students), cmocka_unit_test(coverage),
		cmocka_unit_test(edges),	cmocka_unit_test(huge_and_tiny),  cmocka_unit_test(comparison),
		cmocka_unit_test(refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
