/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analyzer/stats/quantile_draws.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/base/random.h"

uint64_t wi_quantile_rank(double q, uint64_t n)
{
	uint64_t rank = (uint64_t)ceil(q * (double)n);

	return rank < 1 ? 1 : rank > n ? n : rank;
}

uint32_t wi_hist_bucket_of_rank(const struct wi_hist *h, uint64_t rank)
{
	uint64_t seen = 0;

	for (uint32_t i = 0; i < h->nr; i++) {
		seen += h->bucket[i];
		if (seen >= rank)
			return i;
	}
	return h->nr ? h->nr - 1 : 0;
}

/* Runs in an order of their own, so that the draws do not depend on the caller's. */
static int by_content(const void *a, const void *b)
{
	const struct wi_hist *x = *(const struct wi_hist *const *)a, *y = *(const struct wi_hist *const *)b;
	uint32_t nr = x->nr < y->nr ? x->nr : y->nr;

	if (x->count != y->count)
		return x->count < y->count ? -1 : 1;
	if (x->sum_ns != y->sum_ns)
		return x->sum_ns < y->sum_ns ? -1 : 1;
	/* Of equal counts, what one has beyond the other's buckets shows in these. */
	for (uint32_t i = 0; i < nr; i++)
		if (x->bucket[i] != y->bucket[i])
			return x->bucket[i] < y->bucket[i] ? -1 : 1;
	return 0;
}

/* The buckets that are not empty, with the cumulative counts of each run: [bucket][run]. */
struct steps {
	size_t nr_runs, nr;
	uint32_t *bucket; /* [nr] */
	uint64_t *seen;	  /* [nr * nr_runs] */
	uint32_t *weight; /* [nr_runs] how often the run was drawn */
};

static void steps_fini(struct steps *s)
{
	free(s->bucket);
	free(s->seen);
	free(s->weight);
}

static bool steps_init(struct steps *s, const struct wi_hist **run, size_t nr_runs, const struct wi_hist *all)
{
	*s = (struct steps){ .nr_runs = nr_runs };
	for (uint32_t i = 0; i < all->nr; i++)
		s->nr += all->bucket[i] > 0;
	if (nr_runs > SIZE_MAX / sizeof(*s->seen) / (s->nr ? s->nr : 1))
		return false;
	s->bucket = malloc(s->nr * sizeof(*s->bucket));
	s->seen = malloc(s->nr * nr_runs * sizeof(*s->seen));
	s->weight = malloc(nr_runs * sizeof(*s->weight));
	if (!s->bucket || !s->seen || !s->weight) {
		steps_fini(s);
		return false;
	}
	for (uint32_t i = 0, at = 0; i < all->nr; i++) {
		if (!all->bucket[i])
			continue;
		for (size_t r = 0; r < nr_runs; r++) {
			uint64_t before = at ? s->seen[(at - 1) * nr_runs + r] : 0;
			s->seen[at * nr_runs + r] = before + (i < run[r]->nr ? run[r]->bucket[i] : 0);
		}
		s->bucket[at++] = i;
	}
	return true;
}

/* Wakeups of the runs drawn, up to and with a step. */
static uint64_t seen_at(const struct steps *s, size_t step)
{
	const uint64_t *seen = s->seen + step * s->nr_runs;
	uint64_t sum = 0;

	for (size_t r = 0; r < s->nr_runs; r++)
		sum += s->weight[r] * seen[r];
	return sum;
}

/* The first step at which rank wakeups are seen, searched from a guess: most resamples have it close by. */
static size_t find_step(const struct steps *s, uint64_t rank, size_t guess)
{
	size_t low = 0, high = s->nr - 1, reach = 1; /* the step is in low..high */

	if (seen_at(s, guess) >= rank) {
		high = guess;
		while (high > low && reach <= high && seen_at(s, high - reach) >= rank) {
			high -= reach;
			reach *= 2;
		}
		low = reach <= high ? high - reach + 1 : 0;
	} else {
		low = guess + 1;
		while (low + reach - 1 < high && seen_at(s, low + reach - 1) < rank) {
			low += reach;
			reach *= 2;
		}
		high = low + reach - 1 < high ? low + reach - 1 : high;
	}
	while (low < high) {
		size_t mid = low + (high - low) / 2;
		if (seen_at(s, mid) >= rank)
			high = mid;
		else
			low = mid + 1;
	}
	return low;
}

static void draw_runs(const struct steps *s, uint32_t nr, struct wi_random *r, uint32_t *bucket)
{
	size_t guess[WI_NR_QUANTILES] = { 0 };

	for (uint32_t i = 0; i < nr; i++) {
		memset(s->weight, 0, s->nr_runs * sizeof(*s->weight));
		for (size_t k = 0; k < s->nr_runs; k++)
			s->weight[wi_random_below(r, (uint32_t)s->nr_runs)]++;
		uint64_t n = seen_at(s, s->nr - 1);
		for (int q = 0; q < WI_NR_QUANTILES; q++) {
			size_t step = find_step(s, wi_quantile_rank(wi_quantile_of(q), n), guess[q]);
			bucket[(size_t)q * nr + i] = s->bucket[step];
			guess[q] = i ? guess[q] : step;
		}
	}
}

bool wi_draw_runs(const struct wi_hist *const *run, size_t nr_runs, const struct wi_hist *all, uint32_t nr,
		  uint64_t seed, uint64_t stream, uint32_t *bucket, struct wi_err *err)
{
	const struct wi_hist **sorted = malloc(nr_runs * sizeof(*sorted));
	struct wi_random r;
	struct steps s;
	bool ok = false;

	if (!sorted)
		return wi_err_nomem(err);
	memcpy(sorted, run, nr_runs * sizeof(*sorted));
	qsort(sorted, nr_runs, sizeof(*sorted), by_content);
	if (!steps_init(&s, sorted, nr_runs, all)) {
		wi_err_nomem(err);
		goto out;
	}
	wi_random_seed(&r, seed, stream);
	draw_runs(&s, nr, &r, bucket);
	steps_fini(&s);
	ok = true;
out:
	free(sorted);
	return ok;
}

/* The first of nr cumulative counts that is >= rank; the last is. */
static uint32_t find_rank(const uint64_t *seen, uint32_t nr, uint64_t rank)
{
	uint32_t low = 0, high = nr - 1;

	while (low < high) {
		uint32_t mid = low + (high - low) / 2;
		if (seen[mid] >= rank)
			high = mid;
		else
			low = mid + 1;
	}
	return low;
}

/*
 * A resample of n wakeups need not be made: the k-th of n numbers drawn uniformly from (0, 1) has the distribution
 * Beta(k, n + 1 - k), and where it falls among n equal steps is the place, among the wakeups, of the resample's k-th.
 */
bool wi_draw_wakeups(const struct wi_hist *h, uint32_t nr, uint64_t seed, uint64_t stream, uint32_t *bucket,
		     struct wi_err *err)
{
	uint64_t *seen = malloc(h->nr * sizeof(*seen)), sum = 0;
	struct wi_random r;
	double n = (double)h->count;

	if (!seen)
		return wi_err_nomem(err);
	for (uint32_t i = 0; i < h->nr; i++)
		seen[i] = sum += h->bucket[i];
	wi_random_seed(&r, seed, stream);
	for (int q = 0; q < WI_NR_QUANTILES; q++) {
		double k = (double)wi_quantile_rank(wi_quantile_of(q), h->count);
		for (uint32_t i = 0; i < nr; i++) {
			double place = ceil(n * wi_random_beta(&r, k, n + 1 - k));
			bucket[(size_t)q * nr + i] = find_rank(seen, h->nr, place < 1 ? 1 : (uint64_t)place);
		}
	}
	free(seen);
	return true;
}
