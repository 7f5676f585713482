/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A histogram while it is filled: half the size of struct wi_hist, and cheaper to add to. */
#ifndef WI_METRICS_HIST_H
#define WI_METRICS_HIST_H

#include <stdbool.h>
#include <stdint.h>

#include "analyzer/base/hist.h"

#define m_rare __attribute__((noinline, cold)) /* off the path of most events */

/* The least and the greatest of some values; zeroed: none. One comparison tells whether a value changes either. */
struct m_extent {
	uint64_t min_ns;
	uint64_t range_ns; /* greatest - least + 1; 0 none. Durations are less than 2^64 - 1 */
};

static inline bool m_extent_holds(const struct m_extent *e, uint64_t ns)
{
	return ns - e->min_ns < e->range_ns;
}

m_rare void m_extent_add(struct m_extent *e, uint64_t ns);

static inline uint64_t m_extent_max(const struct m_extent *e)
{
	return e->min_ns + (e->range_ns - 1);
}

struct m_hist {
	uint32_t *bucket;
	uint64_t sum_ns;
	struct m_extent extent;
	uint32_t nr;	      /* buckets allocated: at least up to the greatest value's */
	struct wi_hist *full; /* what was counted before a bucket was full; NULL */
};

m_rare bool m_hist_add_slowly(struct m_hist *h, uint64_t ns, uint32_t index);
m_rare bool m_hist_wrapped(struct m_hist *h, uint64_t ns, uint32_t index); /* its bucket was full before this value */
bool m_hist_move(struct m_hist *h, struct wi_hist *into); /* adds it to into, and empties it */
void m_hist_fini(struct m_hist *h);

/* One value more; index: wi_hist_index(ns), for one ns in many. false: out of memory. */
static inline bool m_hist_count(struct m_hist *h, uint64_t ns, uint32_t index)
{
	if (__builtin_expect(!m_extent_holds(&h->extent, ns), 0))
		return m_hist_add_slowly(h, ns, index);
	h->sum_ns += ns;
	return __builtin_expect(++h->bucket[index] != 0, 1) || m_hist_wrapped(h, ns, index);
}

#endif
