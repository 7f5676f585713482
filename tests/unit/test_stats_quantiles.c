/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Intervals of quantiles: analyzer/stats/quantiles.h. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <math.h>
#include <string.h>

#include <cmocka.h>

#include "analyzer/base/random.h"
#include "analyzer/stats/quantile_draws.h"
#include "analyzer/stats/quantiles.h"
#include "tests/unit/share.h"

#define RUNS 12

static struct wi_err err;

static void fill(struct wi_hist *h, struct wi_random *r, int n, double scale)
{
	for (int i = 0; i < n; i++)
		assert_true(wi_hist_add(h, (uint64_t)(20000 * scale * exp(wi_random_normal(r)))));
}

static void fini(struct wi_hist *h, size_t nr)
{
	for (size_t i = 0; i < nr; i++)
		wi_hist_fini(&h[i]);
}

/* Values below 128 have buckets of their own: of 1 to 100, the median's interval is that of the tables, 40 to 61. */
static void order_statistics(void **state)
{
	struct wi_hist h = { 0 }, few = { 0 };
	const struct wi_hist *run[] = { &h }, *none[] = { &few, &few };
	struct wi_hist_group g[] = { { run, 1 }, { run, 1 }, { none, 2 }, { NULL, 0 } };

	(void)state;
	for (uint64_t i = 1; i <= 100; i++)
		assert_true(wi_hist_add(&h, i));
	struct wi_quantile_table *t = wi_quantiles(g, 4, 0, 1000, 1, 0, &err);
	assert_non_null(t);
	const struct wi_quantile_value *v = t->group[0].value;
	assert_true(v[WI_QUANTILE_P50].ns == 50 && v[WI_QUANTILE_P50].in.low == 40 && v[WI_QUANTILE_P50].in.high == 61);
	/* P(Bin(100, 0.9) <= 83) = 0.0206, <= 84 = 0.0399; P(>= 96) = 0.0237, >= 95 = 0.0576 */
	assert_true(v[WI_QUANTILE_P90].in.low == 84 && v[WI_QUANTILE_P90].in.high == 96);
	/* 0.95^100 = 0.006, 0.99^100 = 0.37: the greatest of 100 may well be below p99. */
	assert_int_equal(v[WI_QUANTILE_P95].in.state, WI_INTERVAL_KNOWN);
	assert_int_equal(v[WI_QUANTILE_P99].in.state, WI_INTERVAL_FEW_COUNTS);
	assert_true(v[WI_QUANTILE_P99].ns == 99 && isnan(v[WI_QUANTILE_P99].in.low) &&
		    isnan(v[WI_QUANTILE_P99].in.high));
	/* Against the same: nothing. */
	for (int q = 0; q < WI_NR_QUANTILES; q++) {
		const struct wi_quantile_against *x = &t->group[1].against[q];
		assert_true(x->diff_ns == 0 && x->ratio == 0 && !x->significant);
		assert_int_equal(x->diff_in.state, q >= WI_QUANTILE_P99 ? WI_INTERVAL_FEW_COUNTS : WI_INTERVAL_KNOWN);
		assert_true(q >= WI_QUANTILE_P99 || (x->diff_in.low <= 0 && x->diff_in.high >= 0));
		for (int e = 2; e < 4; e++) {
			assert_true(isnan(t->group[e].value[q].ns) && isnan(t->group[e].against[q].diff_ns));
			assert_int_equal(t->group[e].value[q].in.state, WI_INTERVAL_NO_VALUES);
			assert_int_equal(t->group[e].against[q].diff_in.state, WI_INTERVAL_NO_VALUES);
		}
		assert_true(isnan(t->group[0].against[q].diff_ns)); /* the baseline itself */
	}
	assert_true(t->group[2].nr_empty == 2 && t->group[2].nr_runs == 0 && t->group[0].nr_runs == 1);
	wi_quantile_table_free(t);
	wi_hist_fini(&h);
}

/* The least number of wakeups that bounds p99.99: q^n <= 2.5 % from n = 36,887 on. */
static void counts_that_suffice(void **state)
{
	(void)state;
	for (int more = 0; more < 2; more++) {
		struct wi_hist h = { 0 };
		const struct wi_hist *run[] = { &h };
		for (int i = 0; i < 36886 + more; i++)
			assert_true(wi_hist_add(&h, (uint64_t)i));
		struct wi_quantile_table *t = wi_quantiles(&(struct wi_hist_group){ run, 1 }, 1, 0, 1000, 1, 0, &err);
		assert_non_null(t);
		assert_int_equal(t->group[0].value[WI_QUANTILE_P99_99].in.state,
				 more ? WI_INTERVAL_KNOWN : WI_INTERVAL_FEW_COUNTS);
		assert_true(!more || t->group[0].value[WI_QUANTILE_P99_99].in.high == (double)h.max_ns);
		wi_quantile_table_free(t);
		wi_hist_fini(&h);
	}
}

static void runs(void **state)
{
	struct wi_random r;
	struct wi_hist h[2][RUNS] = { 0 };
	const struct wi_hist *run[2][RUNS], *turned[RUNS];

	(void)state;
	wi_random_seed(&r, 1, 0);
	for (int g = 0; g < 2; g++)
		for (int i = 0; i < RUNS; i++) {
			fill(&h[g][i], &r, 300, (g ? 1.5 : 1) * exp(0.05 * wi_random_normal(&r)));
			run[g][i] = &h[g][i];
			turned[RUNS - 1 - i] = &h[0][i];
		}
	struct wi_hist_group g[] = {
		{ run[0], RUNS }, { run[1], RUNS }, { run[0], 4 }, { run[0], 1 }, { turned, RUNS }
	};
	struct wi_quantile_table *t = wi_quantiles(g, 5, 0, 1000, 1, 0, &err);
	assert_non_null(t);
	for (int q = 0; q < WI_NR_QUANTILES; q++) {
		const struct wi_quantile_value *v = &t->group[0].value[q];
		const struct wi_quantile_against *x = &t->group[1].against[q];
		if (q == WI_QUANTILE_P99_9 || q == WI_QUANTILE_P99_99) { /* of 3600 wakeups: 0.999^3600 = 0.027 */
			assert_int_equal(v->in.state, WI_INTERVAL_FEW_COUNTS);
			continue;
		}
		assert_int_equal(v->in.state, WI_INTERVAL_KNOWN);
		assert_true(v->in.low <= v->ns && v->ns <= v->in.high && v->in.low < v->in.high);
		assert_true(x->diff_in.low <= x->diff_ns && x->diff_ns <= x->diff_in.high);
		assert_true(x->ratio_in.low <= x->ratio && x->ratio <= x->ratio_in.high);
		assert_true((x->diff_in.low > 0) == (x->ratio_in.low > 0));
		assert_true(x->significant == (x->diff_in.low > 0 || x->diff_in.high < 0));
		if (q <= WI_QUANTILE_P90)
			assert_true(x->significant && x->ratio > 0.3 && x->ratio < 0.7);
		assert_int_equal(t->group[2].value[q].in.state, WI_INTERVAL_FEW_RUNS);
		assert_int_equal(t->group[2].against[q].diff_in.state, WI_INTERVAL_FEW_RUNS);
		assert_true(!isnan(t->group[2].against[q].diff_ns));
		if (t->group[3].value[q].in.state == WI_INTERVAL_KNOWN)
			assert_int_equal(t->group[3].against[q].diff_in.state, WI_INTERVAL_OTHER_BASIS);
	}
	wi_quantile_table_free(t);
	/* The order of runs is nobody's business, the seed is. */
	struct wi_quantile_table *x = wi_quantiles(&g[0], 1, 0, 1000, 1, 0, &err),
				 *y = wi_quantiles(&g[4], 1, 0, 1000, 1, 0, &err);
	assert_true(x && y);
	assert_memory_equal(x->group[0].value, y->group[0].value, sizeof(x->group[0].value));
	wi_quantile_table_free(y);
	wi_quantile_table_free(x);
	fini(h[0], RUNS);
	fini(h[1], RUNS);
}

/* The draws, against resamples that are really made. */
static void draws(void **state)
{
	enum { NR = 1500 };
	struct wi_random r;
	struct wi_hist h[6] = { 0 }, all = { 0 };
	const struct wi_hist *run[6];
	static uint32_t bucket[WI_NR_QUANTILES * NR];
	double drawn[2] = { 0 }, made[2] = { 0 }, squares[2] = { 0 };

	(void)state;
	wi_random_seed(&r, 2, 0);
	for (int i = 0; i < 6; i++) {
		fill(&h[i], &r, 20 + 30 * i, 1 + 0.2 * i);
		run[i] = &h[i];
		assert_true(wi_hist_merge(&all, &h[i]));
	}
	for (int which = 0; which < 2; which++) {
		assert_true(which ? wi_draw_wakeups(&all, NR, 3, 0, bucket, &err)
				  : wi_draw_runs(run, 6, &all, NR, 3, 0, bucket, &err));
		for (int i = 0; i < NR; i++) {
			struct wi_hist some = { 0 };
			for (int k = 0; k < (which ? (int)all.count : 6); k++) {
				uint64_t rank = which ? 1 + wi_random_below(&r, (uint32_t)all.count) : 0;
				if (which)
					assert_true(wi_hist_add(&some,
								wi_hist_lower_ns(wi_hist_bucket_of_rank(&all, rank))));
				else
					assert_true(wi_hist_merge(&some, run[wi_random_below(&r, 6)]));
			}
			double x = log(1.0 + (double)wi_hist_lower_ns(
						     wi_hist_bucket_of_rank(&some, wi_quantile_rank(0.9, some.count))));
			made[which] += x / NR;
			squares[which] += x * x / NR;
			drawn[which] += log(1.0 + (double)wi_hist_lower_ns(bucket[WI_QUANTILE_P90 * NR + i])) / NR;
			wi_hist_fini(&some);
		}
		double sd = sqrt(squares[which] - made[which] * made[which]);
		assert_true(sd > 0.01 && fabs(made[which] - drawn[which]) < 5 * sd * sqrt(2.0 / NR));
	}
	fini(h, 6);
	wi_hist_fini(&all);
}

static void refused(void **state)
{
	struct wi_err e = { 0 };

	(void)state;
	assert_null(wi_quantiles(NULL, 0, 0, 0, 1, 0, &e));
	assert_int_equal(e.code, WI_EUSAGE);
	e = (struct wi_err){ 0 };
	assert_null(wi_quantiles(&(struct wi_hist_group){ NULL, 0 }, 1, 0, 5, 1, 0, &e));
	assert_non_null(strstr(e.msg, "5 resamples"));
	uint64_t none[1] = { 0 }, one[2] = { 1, UINT64_MAX };
	struct wi_hist wrong[] = {
		{ 5, 5, 1, 1, 0, NULL }, { 5, 5, 1, 1, 1, none }, { 5, 5, 1, 1, 1, one }, { 5, 5, 1, 1, 2, one }
	};
	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		const struct wi_hist *run[] = { &wrong[i] };
		e = (struct wi_err){ 0 };
		assert_null(wi_quantiles(&(struct wi_hist_group){ run, 1 }, 1, 0, 0, 1, 0, &e));
		assert_int_equal(e.code, WI_EIO);
		assert_non_null(strstr(e.msg, "do not add up"));
	}
	wi_quantile_table_free(NULL);
	assert_string_equal(wi_quantile_name(WI_QUANTILE_P99_9), "p99.9");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(order_statistics),
		cmocka_unit_test(counts_that_suffice),
		cmocka_unit_test(runs),
		cmocka_unit_test(draws),
		cmocka_unit_test(refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
