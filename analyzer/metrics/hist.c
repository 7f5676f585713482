/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Histograms while they are filled: 32-bit counts, so that more of them stay in the cache. */
#include "analyzer/metrics/priv.h"

void m_extent_add(struct m_extent *e, uint64_t ns)
{
	uint64_t max_ns = e->range_ns && m_extent_max(e) > ns ? m_extent_max(e) : ns;

	if (!e->range_ns || ns < e->min_ns)
		e->min_ns = ns;
	e->range_ns = max_ns - e->min_ns + 1;
}

static bool reserve(struct m_hist *h, uint32_t nr)
{
	if (nr <= h->nr)
		return true;
	nr = (nr + 255) & ~255u; /* few steps while a trace warms up */
	if (nr > WI_HIST_BUCKETS)
		nr = WI_HIST_BUCKETS;
	uint32_t *bucket = realloc(h->bucket, nr * sizeof(*bucket));
	if (!bucket)
		return false;
	memset(bucket + h->nr, 0, (nr - h->nr) * sizeof(*bucket));
	h->bucket = bucket;
	h->nr = nr;
	return true;
}

/* Adds the counts to into. */
static bool pour(const struct m_hist *h, struct wi_hist *into)
{
	uint64_t count = 0;

	if (!h->extent.range_ns)
		return true;
	uint64_t *wide = malloc(h->nr * sizeof(*wide));
	if (!wide)
		return false;
	for (uint32_t i = 0; i < h->nr; i++)
		count += wide[i] = h->bucket[i];
	struct wi_hist from = { count, h->sum_ns, h->extent.min_ns, m_extent_max(&h->extent), h->nr, wide };
	bool ok = wi_hist_merge(into, &from);
	free(wide);
	return ok;
}

/* A bucket is full: all of it moves to where counts are wide. */
static bool spill(struct m_hist *h)
{
	if (!h->full)
		h->full = calloc(1, sizeof(*h->full));
	if (!h->full || !pour(h, h->full))
		return false;
	memset(h->bucket, 0, h->nr * sizeof(*h->bucket));
	h->extent = (struct m_extent){ 0 };
	h->sum_ns = 0;
	return true;
}

bool m_hist_add_slowly(struct m_hist *h, uint64_t ns, uint32_t index)
{
	if (!reserve(h, index + 1))
		return false;
	if (h->bucket[index] == UINT32_MAX && !spill(h))
		return false;
	h->bucket[index]++;
	h->sum_ns += ns;
	m_extent_add(&h->extent, ns);
	return true;
}

bool m_hist_wrapped(struct m_hist *h, uint64_t ns, uint32_t index)
{
	h->bucket[index] = UINT32_MAX;
	h->sum_ns -= ns;
	return m_hist_add_slowly(h, ns, index);
}

bool m_hist_move(struct m_hist *h, struct wi_hist *into)
{
	bool ok = pour(h, into) && (!h->full || wi_hist_merge(into, h->full));

	m_hist_fini(h);
	return ok;
}

void m_hist_fini(struct m_hist *h)
{
	free(h->bucket);
	if (h->full)
		wi_hist_fini(h->full);
	free(h->full);
	*h = (struct m_hist){ 0 };
}
