/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analyzer/base/hist.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

uint64_t wi_hist_lower_ns(uint32_t i)
{
	if (i < 128)
		return i;
	uint32_t e = (i - 128) / 64 + 7;
	return (uint64_t)(64 + (i - 128) % 64) << (e - 6);
}

uint64_t wi_hist_width_ns(uint32_t i)
{
	return i < 128 ? 1 : 1ull << ((i - 128) / 64 + 1);
}

static bool reserve(struct wi_hist *h, uint32_t nr)
{
	if (nr <= h->nr)
		return true;
	nr = (nr + 255) & ~255u; /* few steps while a trace warms up */
	if (nr > WI_HIST_BUCKETS)
		nr = WI_HIST_BUCKETS;
	uint64_t *b = realloc(h->bucket, nr * sizeof(*b));
	if (!b)
		return false;
	memset(b + h->nr, 0, (nr - h->nr) * sizeof(*b));
	h->bucket = b;
	h->nr = nr;
	return true;
}

bool wi_hist_add(struct wi_hist *h, uint64_t ns)
{
	uint32_t i = wi_hist_index(ns);

	if (i >= h->nr && !reserve(h, i + 1))
		return false;
	h->bucket[i]++;
	if (!h->count || ns < h->min_ns)
		h->min_ns = ns;
	if (!h->count || ns > h->max_ns)
		h->max_ns = ns;
	h->count++;
	h->sum_ns += ns;
	return true;
}

bool wi_hist_merge(struct wi_hist *into, const struct wi_hist *from)
{
	if (!from->count)
		return true;
	if (!reserve(into, from->nr))
		return false;
	for (uint32_t i = 0; i < from->nr; i++)
		into->bucket[i] += from->bucket[i];
	if (!into->count || from->min_ns < into->min_ns)
		into->min_ns = from->min_ns;
	if (!into->count || from->max_ns > into->max_ns)
		into->max_ns = from->max_ns;
	into->count += from->count;
	into->sum_ns += from->sum_ns;
	return true;
}

uint64_t wi_hist_quantile(const struct wi_hist *h, double q)
{
	uint64_t want = (uint64_t)ceil(q * (double)h->count), seen = 0;

	if (!h->count)
		return 0;
	if (!want)
		want = 1;
	for (uint32_t i = 0; i < h->nr; i++) {
		seen += h->bucket[i];
		if (seen < want)
			continue;
		uint64_t v = wi_hist_lower_ns(i) + wi_hist_width_ns(i) / 2;
		return v < h->min_ns ? h->min_ns : v > h->max_ns ? h->max_ns : v;
	}
	return h->max_ns;
}

void wi_hist_fini(struct wi_hist *h)
{
	free(h->bucket);
	*h = (struct wi_hist){ 0 };
}
