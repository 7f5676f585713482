/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analyzer/stats/quantiles.h"

#include <math.h>
#include <stdlib.h>

#include "analyzer/stats/quantile_draws.h"
#include "analyzer/stats/select.h"
#include "analyzer/stats/special.h"

static const struct wi_interval unknown = { NAN, NAN, WI_INTERVAL_NO_VALUES };

const char *wi_quantile_name(enum wi_quantile q)
{
	static const char *const name[] = {
#define X(id, n, v) [WI_QUANTILE_##id] = n,
		WI_QUANTILES(X)
#undef X
	};

	return name[q];
}

double wi_quantile_of(enum wi_quantile q)
{
	static const double value[] = {
#define X(id, n, v) [WI_QUANTILE_##id] = v,
		WI_QUANTILES(X)
#undef X
	};

	return value[q];
}

/* A group while its table is filled. */
struct drawn {
	const struct wi_hist **run; /* those with wakeups */
	uint32_t *bucket;	    /* [WI_NR_QUANTILES * nr]; NULL: nothing can be drawn */
};

struct work {
	struct wi_quantile_table *t;
	struct drawn *drawn; /* [nr_groups] */
	double *low, *high;  /* [resamples] */
};

/* What lies in a bucket lies between these, the group's extremes included. */
static double low_edge(const struct wi_hist *h, uint32_t bucket)
{
	return (double)(wi_hist_lower_ns(bucket) > h->min_ns ? wi_hist_lower_ns(bucket) : h->min_ns);
}

static double high_edge(const struct wi_hist *h, uint32_t bucket)
{
	uint64_t last = wi_hist_lower_ns(bucket) + (wi_hist_width_ns(bucket) - 1);

	return (double)(last < h->max_ns ? last : h->max_ns);
}

/*
 * Ranks of order statistics of n independent values between which the q-quantile lies with the level's chance: fewer
 * than low are below it, and fewer than n - high above, but for half_alpha each. false: n is too small, there are no
 * such ranks.
 */
static bool ranks_about(double q, uint64_t n, double half_alpha, uint64_t *low, uint64_t *high)
{
	uint64_t least = 0, beyond = n;

	/* low: the greatest l with P(successes <= l - 1) <= half_alpha. */
	while (least < beyond) {
		uint64_t l = least + (beyond - least + 1) / 2;
		if (wi_binomial_cdf((double)(l - 1), (double)n, q) <= half_alpha)
			least = l;
		else
			beyond = l - 1;
	}
	*low = least;
	/* high: the least u with P(successes >= u) <= half_alpha; seen from the other side, so that no small tail is 1
	 * less much. */
	least = 0;
	beyond = n;
	while (least < beyond) {
		uint64_t l = least + (beyond - least + 1) / 2;
		if (wi_binomial_cdf((double)(l - 1), (double)n, 1 - q) <= half_alpha)
			least = l;
		else
			beyond = l - 1;
	}
	*high = n + 1 - least;
	return *low >= 1 && least >= 1;
}

/*
 * Tail of the percentiles that gives the level, after Hesterberg (2014): resamples of few runs spread too little, and
 * Student's tails are longer. spread: variance as it should be / as the resamples have it.
 */
static double expanded_tail(double half_alpha, double df, double spread)
{
	return wi_normal_cdf(wi_student_quantile(half_alpha, df) * sqrt(spread));
}

static struct wi_interval interval_of_value(const struct work *w, size_t group, enum wi_quantile q)
{
	const struct wi_quantile_group *g = &w->t->group[group];
	const uint32_t *bucket = w->drawn[group].bucket;
	struct wi_interval in = unknown;
	double half_alpha = (1 - w->t->level) / 2, n = (double)g->nr_runs;
	uint32_t nr = w->t->resamples;
	uint64_t low, high;

	if (!g->all.count)
		return in;
	in.state = WI_INTERVAL_FEW_COUNTS;
	if (!ranks_about(wi_quantile_of(q), g->all.count, half_alpha, &low, &high))
		return in;
	in.state = WI_INTERVAL_FEW_RUNS;
	if (!bucket)
		return in;
	in.state = WI_INTERVAL_KNOWN;
	in.low = low_edge(&g->all, wi_hist_bucket_of_rank(&g->all, low));
	in.high = high_edge(&g->all, wi_hist_bucket_of_rank(&g->all, high));
	if (g->nr_runs == 1)
		return in;
	/* Runs that differ make it wider; few runs that are alike by chance do not know more than their wakeups. */
	size_t tail = wi_tail_rank(nr, expanded_tail(half_alpha, n - 1, n / (n - 1)));
	for (uint32_t i = 0; i < nr; i++)
		w->low[i] = bucket[(size_t)q * nr + i];
	in.low = fmin(in.low, low_edge(&g->all, (uint32_t)wi_kth(w->low, nr, tail)));
	in.high = fmax(in.high, high_edge(&g->all, (uint32_t)wi_kth(w->low, nr, nr - 1 - tail)));
	return in;
}

static double variance_of(const struct wi_hist *h, const uint32_t *bucket, uint32_t nr)
{
	double mean = 0, sum = 0;

	for (uint32_t i = 0; i < nr; i++)
		mean += (low_edge(h, bucket[i]) + high_edge(h, bucket[i])) / 2 / nr;
	for (uint32_t i = 0; i < nr; i++) {
		double x = (low_edge(h, bucket[i]) + high_edge(h, bucket[i])) / 2 - mean;
		sum += x * x / nr;
	}
	return sum;
}

/* As expanded_tail() of two groups: variances add up, degrees of freedom as Welch and Satterthwaite have them. */
static double expanded_tail_of_two(double half_alpha, double va, double na, double vb, double nb)
{
	double a = va * na / (na - 1), b = vb * nb / (nb - 1);

	if (!(a + b > 0))
		return half_alpha; /* all draws are equal: so are all percentiles */
	return expanded_tail(half_alpha, (a + b) * (a + b) / (a * a / (na - 1) + b * b / (nb - 1)),
			     (a + b) / (va + vb));
}

static size_t tail_of_difference(const struct work *w, size_t a, size_t b, enum wi_quantile q)
{
	const struct wi_quantile_group *ga = &w->t->group[a], *gb = &w->t->group[b];
	double half_alpha = (1 - w->t->level) / 2;
	uint32_t nr = w->t->resamples;

	if (ga->nr_runs > 1)
		half_alpha = expanded_tail_of_two(
			half_alpha, variance_of(&ga->all, w->drawn[a].bucket + (size_t)q * nr, nr), (double)ga->nr_runs,
			variance_of(&gb->all, w->drawn[b].bucket + (size_t)q * nr, nr), (double)gb->nr_runs);
	return wi_tail_rank(nr, half_alpha);
}

/* Percentiles of what the draws give, once with the edges of the buckets that make it less, once more. */
static struct wi_interval percentiles(const struct work *w, size_t tail)
{
	uint32_t nr = w->t->resamples;
	double low = wi_kth(w->low, nr, tail), high = wi_kth(w->high, nr, nr - 1 - tail);

	if (!isfinite(low) || !isfinite(high))
		return (struct wi_interval){ NAN, NAN, WI_INTERVAL_NO_BASE };
	return (struct wi_interval){ low, high, WI_INTERVAL_KNOWN };
}

static void intervals_of_difference(const struct work *w, size_t a, size_t b, enum wi_quantile q,
				    struct wi_quantile_against *x)
{
	const struct wi_hist *ha = &w->t->group[a].all, *hb = &w->t->group[b].all;
	uint32_t nr = w->t->resamples;
	const uint32_t *da = w->drawn[a].bucket + (size_t)q * nr, *db = w->drawn[b].bucket + (size_t)q * nr;
	size_t tail = tail_of_difference(w, a, b, q);

	for (uint32_t i = 0; i < nr; i++) {
		w->low[i] = low_edge(hb, db[i]) - high_edge(ha, da[i]);
		w->high[i] = high_edge(hb, db[i]) - low_edge(ha, da[i]);
	}
	x->diff_in = percentiles(w, tail);
	for (uint32_t i = 0; i < nr; i++) {
		double from = low_edge(ha, da[i]), to = high_edge(ha, da[i]);
		w->low[i] = to > 0 ? low_edge(hb, db[i]) / to - 1 : INFINITY;
		w->high[i] = from > 0 ? high_edge(hb, db[i]) / from - 1 : INFINITY;
	}
	x->ratio_in = percentiles(w, tail);
	x->significant = x->diff_in.low > 0 || x->diff_in.high < 0;
}

static void compare(const struct work *w, size_t b, enum wi_quantile q)
{
	const struct wi_quantile_group *ga = &w->t->group[w->t->baseline];
	struct wi_quantile_group *gb = &w->t->group[b];
	struct wi_quantile_value va = ga->value[q], vb = gb->value[q];
	struct wi_quantile_against *x = &gb->against[q];

	x->diff_ns = vb.ns - va.ns;
	if (va.ns > 0)
		x->ratio = x->diff_ns / va.ns;
	if (!ga->nr_runs || !gb->nr_runs)
		return;
	if (va.in.state != WI_INTERVAL_KNOWN || vb.in.state != WI_INTERVAL_KNOWN)
		x->diff_in.state = va.in.state != WI_INTERVAL_KNOWN ? va.in.state : vb.in.state;
	else if ((ga->nr_runs == 1) != (gb->nr_runs == 1))
		x->diff_in.state = WI_INTERVAL_OTHER_BASIS;
	else
		intervals_of_difference(w, w->t->baseline, b, q, x);
	if (x->diff_in.state != WI_INTERVAL_KNOWN)
		x->ratio_in.state = x->diff_in.state;
}

/* Ranks are looked up in the buckets: a histogram whose count is another one would answer nonsense. */
static bool adds_up(const struct wi_hist *h)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < h->nr; i++)
		if (__builtin_add_overflow(sum, h->bucket[i], &sum))
			return false;
	return sum == h->count;
}

static bool fill_group(struct work *w, const struct wi_hist_group *from, size_t number, struct wi_err *err)
{
	struct wi_quantile_group *g = &w->t->group[number];
	struct drawn *d = &w->drawn[number];
	uint32_t nr = w->t->resamples;

	for (int q = 0; q < WI_NR_QUANTILES; q++) {
		g->value[q] = (struct wi_quantile_value){ NAN, unknown };
		g->against[q] = (struct wi_quantile_against){ NAN, NAN, unknown, unknown, false };
	}
	d->run = malloc((from->nr_runs + 1) * sizeof(*d->run));
	if (!d->run)
		return wi_err_nomem(err);
	for (size_t i = 0; i < from->nr_runs; i++) {
		if (!from->run[i]->count) {
			g->nr_empty++;
			continue;
		}
		d->run[g->nr_runs++] = from->run[i];
		if (!wi_hist_merge(&g->all, from->run[i]))
			return wi_err_nomem(err);
	}
	if (!adds_up(&g->all))
		return wi_err_set(err, WI_EIO, "a histogram's buckets do not add up to its count");
	if (g->nr_runs != 1 && g->nr_runs < WI_CLUSTER_MIN_RUNS)
		return true;
	d->bucket = malloc((size_t)nr * WI_NR_QUANTILES * sizeof(*d->bucket));
	if (!d->bucket)
		return wi_err_nomem(err);
	if (g->nr_runs > 1)
		return wi_draw_runs(d->run, g->nr_runs, &g->all, nr, w->t->seed, number, d->bucket, err);
	return wi_draw_wakeups(&g->all, nr, w->t->seed, number, d->bucket, err);
}

static bool check(const struct wi_quantile_table *t, struct wi_err *err)
{
	if (t->baseline >= t->nr_groups)
		return wi_err_set(err, WI_EUSAGE, "no baseline among %zu groups", t->nr_groups);
	return wi_resamples_check(t->resamples, t->level, err);
}

static bool fill_table(struct work *w, const struct wi_hist_group *group, struct wi_err *err)
{
	struct wi_quantile_table *t = w->t;

	w->drawn = calloc(t->nr_groups, sizeof(*w->drawn));
	w->low = malloc(t->resamples * sizeof(*w->low));
	w->high = malloc(t->resamples * sizeof(*w->high));
	t->group = calloc(t->nr_groups, sizeof(*t->group));
	if (!w->drawn || !w->low || !w->high || !t->group)
		return wi_err_nomem(err);
	for (size_t g = 0; g < t->nr_groups; g++) {
		if (!fill_group(w, &group[g], g, err))
			return false;
		for (int q = 0; q < WI_NR_QUANTILES; q++) {
			struct wi_quantile_value *v = &t->group[g].value[q];
			if (t->group[g].all.count)
				v->ns = (double)wi_hist_quantile(&t->group[g].all, wi_quantile_of(q));
			v->in = interval_of_value(w, g, q);
		}
	}
	for (size_t g = 0; g < t->nr_groups; g++)
		for (int q = 0; q < WI_NR_QUANTILES; q++)
			if (g != t->baseline)
				compare(w, g, q);
	return true;
}

struct wi_quantile_table *wi_quantiles(const struct wi_hist_group *group, size_t nr_groups, size_t baseline,
				       uint32_t resamples, uint64_t seed, double level, struct wi_err *err)
{
	struct wi_quantile_table *t = calloc(1, sizeof(*t));
	struct work w = { .t = t };
	bool ok;

	if (!t) {
		wi_err_nomem(err);
		return NULL;
	}
	t->nr_groups = nr_groups;
	t->baseline = baseline;
	t->resamples = resamples ? resamples : WI_RESAMPLES;
	t->seed = seed;
	t->level = level != 0 ? level : WI_LEVEL;
	ok = check(t, err) && fill_table(&w, group, err);
	for (size_t g = 0; w.drawn && g < nr_groups; g++) {
		free(w.drawn[g].run);
		free(w.drawn[g].bucket);
	}
	free(w.drawn);
	free(w.low);
	free(w.high);
	if (ok)
		return t;
	wi_quantile_table_free(t);
	return NULL;
}

void wi_quantile_table_free(struct wi_quantile_table *t)
{
	if (!t)
		return;
	for (size_t g = 0; t->group && g < t->nr_groups; g++)
		wi_hist_fini(&t->group[g].all);
	free(t->group);
	free(t);
}
