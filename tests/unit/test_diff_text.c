/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tables of comparisons, line by line: analyzer/report/diff.h, columns.h. The numbers can be checked by hand. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analyzer/base/utf8.h"
#include "analyzer/report/columns.h"
#include "analyzer/report/diff.h"

static char *text;
static size_t len;
static struct wi_comparison *comparison;

static FILE *open_text(void)
{
	FILE *out = open_memstream(&text, &len);

	assert_non_null(out);
	return out;
}

static int drop(void **state)
{
	(void)state;
	free(text);
	text = NULL;
	wi_comparison_free(comparison);
	comparison = NULL;
	return 0;
}

/* Compares groups of metrics and writes them. value[metric][group] are the samples. */
static void write_text(struct wi_compare_metric *metric, size_t nr_metrics, struct wi_diff_group *group,
		       size_t nr_groups, size_t baseline, bool stats)
{
	const struct wi_compare_options options = { nr_groups, baseline, 1000, 1, 0 };
	const char *unit[] = { "ns", "ns", "ns", "ns" };
	size_t nr_runs[8];
	struct wi_err err = { 0 };
	FILE *out = open_text();

	assert_in_range(nr_metrics, 1, 4);
	comparison = wi_compare(metric, nr_metrics, &options, &err);
	assert_non_null(comparison);
	for (size_t g = 0; g < nr_groups; g++)
		nr_runs[g] = group[g].nr_runs;
	const struct wi_diff_stratum stratum = { .nr_runs = nr_runs, .comparison = comparison, .unit = unit };
	const struct wi_diff_report report = { .version = "0",
					       .source = "a.db",
					       .group = group,
					       .nr_groups = nr_groups,
					       .baseline = baseline,
					       .stratum = &stratum,
					       .nr_strata = 1,
					       .resamples = 1000,
					       .seed = 1,
					       .stats = stats };

	assert_true(wi_diff_text(out, &report, &err));
	fclose(out);
}

#define HEAD "a.db\nDifferences to the baseline in brackets, positive is better; *: the 95 % interval excludes 0\n"

/* Means 20 and 10, no overlap: the difference is certain. Lower is better: +50 %. */
static void lower_is_better(void **state)
{
	const double a[] = { 19, 20, 21, 20 }, b[] = { 9, 10, 11, 10 };
	const struct wi_sample lower[] = { { a, 4, 0 }, { b, 4, 0 } }, higher[] = { { b, 4, 0 }, { a, 4, 1 } };
	struct wi_compare_metric metric[] = { { "latency.wakeup.p99_ns", WI_LOWER_IS_BETTER, lower },
					      { "good.share", WI_HIGHER_IS_BETTER, higher },
					      { "plain", WI_NO_DIRECTION, lower } };
	struct wi_diff_group group[] = { { "6.1.*", "kernel=6.1.*", 4, { 4 }, 0 },
					 { "6.12.*", "kernel=6.12.*", 5, { 3, 1, [WI_RUN_CRASHED] = 1 }, 0 } };

	(void)state;
	write_text(metric, 3, group, 2, 0, false);
	/* stddev of 19 20 21 20: sqrt(2/3) = 0.8165; CoeffVar 4.0825 and 8.1650; harmonic means 19.97491, 9.94975 */
	assert_string_equal(text, HEAD "  6.1.*   kernel=6.1.*: 4 runs, baseline\n"
				       "  6.12.*  kernel=6.12.*: 5 runs, 1 damaged, 1 without results (1 crashed)\n"
				       "\n"
				       "                                            6.1.*             6.12.*\n"
				       "Amean    latency.wakeup.p99_ns   20.00 (   0.00%)   10.00 *  50.00%*\n"
				       "Amean    good.share              10.00 (   0.00%)   20.00 * 100.00%*\n"
				       "Hmean    good.share              9.950 (   0.00%)  19.975 ( 100.76%)\n"
				       "Stddev   latency.wakeup.p99_ns  0.8165 (   0.00%)  0.8165 (   0.00%)\n"
				       "Stddev   good.share             0.8165 (   0.00%)  0.8165 (   0.00%)\n"
				       "CoeffVar latency.wakeup.p99_ns   4.082 (   0.00%)   8.165 (-100.00%)\n"
				       "CoeffVar good.share              8.165 (   0.00%)   4.082 (  50.00%)\n"
				       "Min      good.share              9.000 (   0.00%)  19.000 ( 111.11%)\n"
				       "Max      latency.wakeup.p99_ns   21.00 (   0.00%)   11.00 (  47.62%)\n"
				       "Unknown  good.share             0 of 4             1 of 5\n"
				       "\n"
				       "Neither way is better: the change itself\n"
				       "                            6.1.*             6.12.*\n"
				       "Amean    plain   20.00 (   0.00%)   10.00 * -50.00%*\n"
				       "Stddev   plain  0.8165 (   0.00%)  0.8165 (   0.00%)\n"
				       "CoeffVar plain   4.082 (   0.00%)   8.165 (-100.00%)\n"
				       "Min      plain  19.000 (   0.00%)   9.000 ( -52.63%)\n"
				       "Max      plain   21.00 (   0.00%)   11.00 ( -47.62%)\n");
}

/* One run each: the values and their difference, and why there is no more. */
static void single_runs(void **state)
{
	const double a[] = { 0.04 }, b[] = { 0.05 }, zero[] = { 0 };
	const struct wi_sample lower[] = { { a, 1, 0 }, { b, 1, 0 } }, none[] = { { zero, 1, 0 }, { b, 1, 0 } },
			       lost[] = { { a, 1, 0 }, { b, 0, 1 } };
	struct wi_compare_metric metric[] = { { "x.share", WI_LOWER_IS_BETTER, lower },
					      { "from.zero", WI_LOWER_IS_BETTER, none },
					      { "to.unknown", WI_LOWER_IS_BETTER, lost } };
	struct wi_diff_group group[] = { { "a.dat", "a.dat", 1, { 1 }, 0 }, { "b.dat", "b.dat", 1, { 1 }, 0 } };

	(void)state;
	write_text(metric, 3, group, 2, 0, false);
	assert_string_equal(text, HEAD "  a.dat  1 run, baseline\n"
				       "  b.dat  1 run\n"
				       "\n"
				       "                                 a.dat               b.dat\n"
				       "Value   x.share     0.04000 (   0.00%)  0.05000 ( -25.00%)\n"
				       "Value   from.zero   0.00000 (   0.00%)  0.05000 (      - )\n"
				       "Value   to.unknown  0.04000 (   0.00%)        -\n"
				       "Unknown to.unknown   0 of 1              1 of 1\n"
				       "no interval for 1 of 3 differences: no values\n"
				       "no interval for 2 of 3 differences: too few values\n");
}

static size_t widest_line(const char *s)
{
	size_t most = 0;

	while (*s) {
		size_t n = strcspn(s, "\n");
		char *line = strndup(s, n);

		assert_non_null(line);
		assert_true(!n || line[n - 1] != ' '); /* nothing that a mailer would mark */
		most = wi_utf8_columns(line) > most ? wi_utf8_columns(line) : most;
		free(line);
		s += n + (s[n] == '\n');
	}
	return most;
}

static size_t count(const char *s, const char *what)
{
	size_t n = 0;

	while ((s = strstr(s, what))) {
		n++;
		s += strlen(what);
	}
	return n;
}

/* Five groups do not fit into a mail: several tables, each with the baseline, which is not the first group here. */
static void many_groups(void **state)
{
	const double v[] = { 123456789, 123456790, 123456791 };
	const struct wi_sample sample[] = { { v, 3, 0 }, { v, 3, 0 }, { v, 3, 0 }, { v, 3, 0 }, { v, 3, 0 } };
	struct wi_compare_metric metric[] = { { "missed_idle.half_busy_core.llc.avoidable_ns", WI_LOWER_IS_BETTER,
						sample } };
	struct wi_diff_group group[] = { { "one", "k=1", 3, { 3 }, 0 },
					 { "two", "k=2", 3, { 3 }, 2 },
					 { "three", "k=3", 3, { 3 }, 0 },
					 { "four", "k=4", 3, { 3 }, 0 },
					 { "a name that is longer than a column\033[2J", "k=5", 3, { 3 }, 0 } };

	(void)state;
	write_text(metric, 1, group, 5, 2, true);
	assert_non_null(strstr(text, "k=2: 3 runs, 2 with a guessed topology"));
	assert_in_range(widest_line(strstr(text, "\n\n")), 72, WI_COLUMNS_WIDTH);
	assert_null(strchr(text, '\033'));
	/* The name is too long beside two groups: it has its own line, so that three go beside the baseline. */
	assert_int_equal(count(text, "Amean    missed_idle.half_busy_core.llc.avoidable_ns\n"), 2);
	assert_int_equal(count(text, "123456790 (   0.00%)"), 2 + 4);
	assert_int_equal(count(text, " against three\n"), 4);
	assert_int_equal(count(text, " a name that is longer t+"), 1);
}

/* A name that leaves no room for numbers stands on a line of its own; nothing of it is cut. */
static void long_names(void **state)
{
	static const char *const title[] = { "a", "b" };
	char name[120];
	struct wi_columns *t;
	FILE *out = open_text();

	(void)state;
	memset(name, 'n', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	t = wi_columns_new(title, 2, 0);
	wi_columns_row(t, "Amean", name);
	wi_columns_cell(t, "1.00", "(   0.00%)");
	wi_columns_cell(t, "2.00", "(-100.00%)");
	wi_columns_row(t, "Amean", "short");
	wi_columns_cell(t, "3.00", "(   0.00%)");
	wi_columns_cell(t, "4.00", "");
	assert_true(wi_columns_print(t, out));
	fclose(out);
	char *expected;

	assert_true(asprintf(&expected,
			     "                           a                b\n"
			     "Amean %s\n"
			     "             1.00 (   0.00%%)  2.00 (-100.00%%)\n"
			     "Amean short  3.00 (   0.00%%)  4.00\n",
			     name) > 0);
	assert_string_equal(text, expected);
	free(expected);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test_teardown(lower_is_better, drop),
	cmocka_unit_test_teardown(single_runs, drop),
	cmocka_unit_test_teardown(many_groups, drop),
	cmocka_unit_test_teardown(long_names, drop),
};

int main(void)
{
	return cmocka_run_group_tests(tests, NULL, NULL);
}
