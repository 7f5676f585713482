/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Histograms side by side, line by line: analyzer/report/quantiles.h. The table is filled in by hand. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analyzer/report/quantiles.h"

static const struct wi_interval unknown = { NAN, NAN, WI_INTERVAL_FEW_COUNTS };

static void fill(struct wi_quantile_group *g, size_t nr_runs, double ns)
{
	g->nr_runs = nr_runs;
	for (enum wi_quantile i = 0; i < WI_NR_QUANTILES; i++) {
		g->value[i] = (struct wi_quantile_value){ ns, unknown };
		g->against[i] = (struct wi_quantile_against){ NAN, NAN, unknown, unknown, false };
	}
}

static void add(struct wi_quantile_group *g, uint64_t ns, unsigned int n)
{
	while (n--)
		assert_true(wi_hist_add(&g->all, ns));
}

/* 8 waits of 5 ns and 2 of 100 ns, against 5 of 5 ns and 5 of 100 ns, and nothing between. */
static void laid_over(void **state)
{
	struct wi_quantile_group group[2] = { 0 };
	struct wi_quantile_table table = { .nr_groups = 2, .baseline = 0, .group = group };
	const struct wi_diff_hist hist = { "latency.wakeup", &table };
	const struct wi_diff_group name[] = { { .name = "old" }, { .name = "new\033" } };
	const struct wi_diff_report report = { .group = name, .nr_groups = 2 };
	struct wi_err err = { 0 };
	char *text = NULL, *bars;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	(void)state;
	fill(&group[0], 1, 5);
	fill(&group[1], 3, 100);
	add(&group[0], 5, 8);
	add(&group[0], 100, 2);
	add(&group[1], 5, 5);
	add(&group[1], 100, 5);
	group[0].value[WI_QUANTILE_P50] = (struct wi_quantile_value){ 5, { 4, 1500, WI_INTERVAL_KNOWN } };
	group[1].against[WI_QUANTILE_P50].ratio = 19;
	group[1].against[WI_QUANTILE_P75].ratio = -0.25;
	group[1].against[WI_QUANTILE_P75].significant = true;
	assert_true(wi_quantiles_text(out, &report, &hist, &err));
	fclose(out);
	assert_true(strstr(text, "latency.wakeup, quantile by quantile [95 % interval]\n") == text);
	assert_non_null(strstr(text, "\nwakeups"));
	assert_non_null(strstr(text, "5 ns [   4 ns, 1.50 us] (   0.00%)  100 ns [         unknown] (  -1900%)\n"));
	assert_non_null(strstr(text, "*  25.00%*\n"));
	bars = strstr(text, "\n%");
	assert_non_null(bars);
	/* The longest share, 80 %, has 46 marks: 50 % have 29, 20 % have 12. */
	assert_string_equal(bars, "\n% of the waits by power of two: # both, - more in old, + more in new\\x1b\n"
				  "     from      -      +\n"
				  "     4 ns   80.0   50.0  #############################-----------------\n"
				  "     8 ns      0      0\n"
				  "    16 ns      0      0\n"
				  "    32 ns      0      0\n"
				  "    64 ns   20.0   50.0  ############+++++++++++++++++\n");
	for (size_t g = 0; g < 2; g++)
		wi_hist_fini(&group[g].all);
	free(text);
}

/* A group that nobody measured has no quantile, no share and no bar. */
static void nothing(void **state)
{
	struct wi_quantile_group group[2] = { 0 };
	struct wi_quantile_table table = { .nr_groups = 2, .baseline = 1, .group = group };
	const struct wi_diff_hist hist = { "latency.wakeup", &table };
	const struct wi_diff_group name[] = { { .name = "old" }, { .name = "new" } };
	const struct wi_diff_report report = { .group = name, .nr_groups = 2, .baseline = 1, .nanoseconds = true };
	struct wi_err err = { 0 };
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	(void)state;
	fill(&group[0], 0, NAN);
	fill(&group[1], 1, 1234);
	add(&group[1], 1234, 10);
	assert_true(wi_quantiles_text(out, &report, &hist, &err));
	fclose(out);
	assert_non_null(strstr(text, "1234 [         unknown] (   0.00%)     - [               -] (      - )\n"));
	assert_non_null(strstr(text, "\n  1.02 us  100.0      0  ----------------------------------------------\n"));
	wi_hist_fini(&group[1].all);
	free(text);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(laid_over),
	cmocka_unit_test(nothing),
};

int main(void)
{
	return cmocka_run_group_tests(tests, NULL, NULL);
}
