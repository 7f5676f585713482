/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The statistics room on numbers from standard input, for tests/cli/test_stats.py. A line is one question; "/"
 *separates the groups. Answers have all digits; unknown is "nan".
 *
 *	describe V...		n mean hmean stddev cv min max
 *	welch V... / V...	t df p
 *	mwu V... / V...		u p exact
 *	holm P...		adjusted P...
 *	boot SEED V... / V...	diff ratio, and the ends of their intervals
 *	quantiles SEED V...	low and high of each quantile's interval, of one run
 *	beta A B X		the incomplete beta function
 *
 *	stats_numbers --speed METRICS N RESAMPLES	compares two groups of N made-up values, for timing
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/base/random.h"
#include "analyzer/stats/compare.h"
#include "analyzer/stats/quantiles.h"
#include "analyzer/stats/special.h"

struct numbers {
	double *v;
	size_t n, split; /* split: where the second group begins; n if there is one group */
};

static struct numbers read_numbers(char *text)
{
	struct numbers x = { malloc((strlen(text) + 1) * sizeof(*x.v)), 0, SIZE_MAX };

	if (!x.v)
		exit(1);
	for (char *word = strtok(text, " \n"); word; word = strtok(NULL, " \n"))
		if (!strcmp(word, "/"))
			x.split = x.n;
		else
			x.v[x.n++] = strtod(word, NULL);
	if (x.split > x.n)
		x.split = x.n;
	return x;
}

static bool say_boot(const struct numbers *x, struct wi_err *err)
{
	struct wi_sample s[2] = { { x->v + 1, x->split - 1, 0 }, { x->v + x->split, x->n - x->split, 0 } };
	struct wi_compare_metric m = { "m", WI_NO_DIRECTION, s };
	struct wi_compare_options o = { .nr_groups = 2, .seed = (uint64_t)x->v[0] };
	struct wi_comparison *c = wi_compare(&m, 1, &o, err);

	if (!c)
		return false;
	const struct wi_boot *b = &c->row[0].against[1].boot;
	printf("%.17g %.17g %.17g %.17g %.17g %.17g\n", b->diff, b->ratio, b->diff_in.low, b->diff_in.high,
	       b->ratio_in.low, b->ratio_in.high);
	wi_comparison_free(c);
	return true;
}

static bool say_quantiles(const struct numbers *x, struct wi_err *err)
{
	struct wi_hist h = { 0 };
	const struct wi_hist *run[] = { &h };
	struct wi_quantile_table *t;

	for (size_t i = 1; i < x->n; i++)
		if (!wi_hist_add(&h, (uint64_t)x->v[i]))
			return wi_err_nomem(err);
	t = wi_quantiles(&(struct wi_hist_group){ run, 1 }, 1, 0, WI_RESAMPLES_MIN, (uint64_t)x->v[0], 0, err);
	wi_hist_fini(&h);
	if (!t)
		return false;
	for (int q = 0; q < WI_NR_QUANTILES; q++)
		printf("%.17g %.17g%c", t->group[0].value[q].in.low, t->group[0].value[q].in.high,
		       q == WI_NR_QUANTILES - 1 ? '\n' : ' ');
	wi_quantile_table_free(t);
	return true;
}

static bool answer(const char *what, struct numbers *x, struct wi_err *err)
{
	struct wi_sample s[2] = { { x->v, x->split, 0 }, { x->v + x->split, x->n - x->split, 0 } };
	struct wi_describe d = wi_describe(&s[0]), e = wi_describe(&s[1]);

	if (!strcmp(what, "describe")) {
		printf("%zu %.17g %.17g %.17g %.17g %.17g %.17g\n", d.n, d.mean, d.hmean, d.stddev, d.cv, d.min, d.max);
	} else if (!strcmp(what, "welch")) {
		struct wi_welch w = wi_welch(&d, &e);
		printf("%.17g %.17g %.17g\n", w.t, w.df, w.p);
	} else if (!strcmp(what, "mwu")) {
		struct wi_mwu m;
		if (!wi_mwu(&s[0], &s[1], &m, err))
			return false;
		printf("%.17g %.17g %d\n", m.u, m.p, m.exact);
	} else if (!strcmp(what, "holm")) {
		if (!wi_holm(x->v, x->n, x->v, err))
			return false;
		for (size_t i = 0; i < x->n; i++)
			printf("%.17g%c", x->v[i], i == x->n - 1 ? '\n' : ' ');
	} else if (!strcmp(what, "boot") && x->split > 0 && x->split < x->n) {
		return say_boot(x, err);
	} else if (!strcmp(what, "quantiles") && x->n > 1) {
		return say_quantiles(x, err);
	} else if (!strcmp(what, "beta") && x->n == 3) {
		printf("%.17g\n", wi_beta_inc(x->v[0], x->v[1], x->v[2]));
	} else {
		return wi_err_set(err, WI_EUSAGE, "no such question: %s", what);
	}
	return true;
}

static int speed(size_t nr, size_t n, uint32_t resamples)
{
	double *v = malloc((2 * n + 1) * sizeof(*v));
	struct wi_compare_metric *m = malloc((nr + 1) * sizeof(*m));
	struct wi_sample s[2] = { { v, n, 0 }, { v + n, n, 0 } };
	struct wi_compare_options o = { .nr_groups = 2, .resamples = resamples };
	struct wi_err err = { 0 };
	struct wi_random r;

	if (!v || !m)
		return 1;
	wi_random_seed(&r, 1, 0);
	for (size_t i = 0; i < 2 * n; i++)
		v[i] = exp(wi_random_normal(&r));
	for (size_t i = 0; i < nr; i++)
		m[i] = (struct wi_compare_metric){ "m", WI_LOWER_IS_BETTER, s };
	struct wi_comparison *c = wi_compare(m, nr, &o, &err);
	if (!c)
		fprintf(stderr, "stats_numbers: %s\n", err.msg);
	int status = c ? 0 : 1;
	wi_comparison_free(c);
	free(v);
	free(m);
	return status;
}

int main(int argc, char **argv)
{
	char *line = NULL;
	size_t size = 0;
	struct wi_err err = { 0 };

	if (argc == 5 && !strcmp(argv[1], "--speed"))
		return speed(strtoul(argv[2], NULL, 10), strtoul(argv[3], NULL, 10),
			     (uint32_t)strtoul(argv[4], NULL, 10));
	while (getline(&line, &size, stdin) > 0) {
		size_t len = strcspn(line, " \n");
		bool rest = line[len] == ' ';
		line[len] = '\0';
		struct numbers x = read_numbers(line + len + rest);
		bool ok = answer(line, &x, &err);
		free(x.v);
		if (!ok) {
			fprintf(stderr, "stats_numbers: %s\n", err.msg);
			free(line);
			return 1;
		}
	}
	free(line);
	return 0;
}
