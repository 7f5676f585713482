/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Latency histogram. In short: counts of durations in buckets whose width is at most 1/64 of their lower edge, so a
 * percentile is known to within 0.8 %; count, sum, min and max are exact; two histograms merge exactly.
 *
 * In full: value v (ns) falls into
 *   v < 128:  bucket v, width 1 (exact)
 *   else      e = floor(log2 v);  bucket = 128 + 64*(e - 7) + ((v >> (e - 6)) - 64),  lower edge (64 + k) << (e - 6), width 1 << (e - 6)
 * The q-quantile is the midpoint (lower edge + width/2, integer division) of the first bucket whose cumulative count is
 * >= max(1, ceil(q * count)), then clamped to [min, max]. The midpoint is at most width/2 = 1/128 of the value away (0.78 %).
 */
#ifndef WI_BASE_HIST_H
#define WI_BASE_HIST_H

#include <stdbool.h>
#include <stdint.h>

#define WI_HIST_BUCKETS (128 + 64 * (64 - 7))

struct wi_hist {
	uint64_t count, sum_ns, min_ns, max_ns; /* min, max: undefined while count is 0 */
	uint32_t nr;				/* buckets allocated; grows with the largest value */
	uint64_t *bucket;
};

static inline uint32_t wi_hist_index(uint64_t ns)
{
	uint32_t shift = 57 - (uint32_t)__builtin_clzll(ns | 64); /* e - 6; 0 for all that are exact */

	return (shift << 6) + (uint32_t)(ns >> shift);
}

uint64_t wi_hist_lower_ns(uint32_t index); /* lower edge of a bucket */
uint64_t wi_hist_width_ns(uint32_t index);

/* A zeroed struct wi_hist is an empty histogram. false: out of memory, nothing was counted. */
bool wi_hist_add(struct wi_hist *h, uint64_t ns);
bool wi_hist_merge(struct wi_hist *into, const struct wi_hist *from);
uint64_t wi_hist_quantile(const struct wi_hist *h, double q); /* 0 if empty; q in (0, 1] */
void wi_hist_fini(struct wi_hist *h);

#endif
