/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Compact histograms: a list of bucket numbers while short, a range of counts afterwards. */
#include <stdlib.h>
#include <string.h>

#include "analyzer/metrics/results.h"

enum { LIST = WI_CHIST_LIST, DENSE = WI_CHIST_DENSE, WIDE = WI_CHIST_WIDE };

#define LIST_MAX 256u

static uint64_t dense_get(const struct wi_chist *h, uint32_t i)
{
	return h->form == WIDE ? ((const uint64_t *)h->data)[i] : ((const uint32_t *)h->data)[i];
}

static bool widen(struct wi_chist *h)
{
	uint64_t *wide = calloc(h->cap, sizeof(*wide));

	if (!wide)
		return false;
	for (uint32_t i = 0; i < h->cap; i++)
		wide[i] = ((const uint32_t *)h->data)[i];
	free(h->data);
	h->data = wide;
	h->form = WIDE;
	return true;
}

/* Makes room for buckets first .. last in a dense histogram. */
static bool dense_reserve(struct wi_chist *h, uint32_t first, uint32_t last)
{
	uint32_t lo = h->base, hi = (uint32_t)h->base + h->cap;

	if (h->cap && first >= lo && last < hi)
		return true;
	if (!h->cap)
		lo = hi = first;
	if (first < lo)
		lo = first;
	if (last + 1 > hi)
		hi = last + 1;
	lo &= ~31u;
	hi = (hi + 31) & ~31u;
	size_t size = h->form == WIDE ? sizeof(uint64_t) : sizeof(uint32_t);
	char *data = calloc(hi - lo, size);
	if (!data)
		return false;
	if (h->cap)
		memcpy(data + (h->base - lo) * size, h->data, h->cap * size);
	free(h->data);
	h->data = data;
	h->base = (uint16_t)lo;
	h->cap = (uint16_t)(hi - lo);
	return true;
}

static bool dense_count(struct wi_chist *h, uint32_t bucket, uint64_t n)
{
	if (!dense_reserve(h, bucket, bucket))
		return false;
	if (h->form == DENSE) {
		uint32_t *at = &((uint32_t *)h->data)[bucket - h->base];

		if (n <= UINT32_MAX - *at) {
			*at += (uint32_t)n;
			return true;
		}
		if (!widen(h))
			return false;
	}
	((uint64_t *)h->data)[bucket - h->base] += n;
	return true;
}

static bool to_dense(struct wi_chist *h)
{
	struct wi_chist d = *h;
	const uint16_t *list = h->data;
	uint32_t nr = (uint32_t)h->count, lo = UINT32_MAX, hi = 0;

	for (uint32_t i = 0; i < nr; i++) {
		lo = list[i] < lo ? list[i] : lo;
		hi = list[i] > hi ? list[i] : hi;
	}
	d.form = DENSE;
	d.data = NULL;
	d.cap = 0;
	if (nr && !dense_reserve(&d, lo, hi))
		return false;
	for (uint32_t i = 0; i < nr; i++)
		((uint32_t *)d.data)[list[i] - d.base]++;
	free(h->data);
	*h = d;
	return true;
}

static bool list_add(struct wi_chist *h, uint32_t bucket)
{
	if (h->count == h->cap) {
		uint32_t cap = h->cap ? h->cap * 2u : 8;
		uint16_t *list = realloc(h->data, cap * sizeof(*list));

		if (!list)
			return false;
		h->data = list;
		h->cap = (uint16_t)cap;
	}
	((uint16_t *)h->data)[h->count] = (uint16_t)bucket;
	return true;
}

/* In the buckets alone. A list is as long as count says. */
static bool add_bucket(struct wi_chist *h, uint32_t bucket)
{
	if (h->form == LIST && h->count == LIST_MAX && !to_dense(h))
		return false;
	return h->form == LIST ? list_add(h, bucket) : dense_count(h, bucket, 1);
}

bool wi_chist_add_slowly(struct wi_chist *h, uint64_t ns, uint32_t bucket)
{
	if (!add_bucket(h, bucket))
		return false;
	if (!h->count || ns < h->min_ns)
		h->min_ns = ns;
	if (!h->count || ns > h->max_ns)
		h->max_ns = ns;
	h->count++;
	h->sum_ns += ns;
	return true;
}

bool wi_chist_add_many(struct wi_chist *h, const uint16_t *index, uint32_t nr, uint64_t sum_ns, uint64_t min_ns,
		       uint64_t max_ns)
{
	if (!h->count || min_ns < h->min_ns)
		h->min_ns = min_ns;
	if (!h->count || max_ns > h->max_ns)
		h->max_ns = max_ns;
	h->sum_ns += sum_ns;
	for (uint32_t i = 0; i < nr; i++) {
		uint32_t at = (uint32_t)index[i] - h->base;

		if (h->form == DENSE && at < h->cap && h->count < UINT32_MAX) /* so no bucket can overflow */
			((uint32_t *)h->data)[at]++;
		else if (!add_bucket(h, index[i]))
			return false;
		h->count++;
	}
	return true;
}

static bool merge_buckets(struct wi_chist *into, const struct wi_chist *from)
{
	if (into->form == LIST && !to_dense(into))
		return false;
	if (from->form == LIST) {
		for (uint64_t i = 0; i < from->count; i++)
			if (!dense_count(into, ((const uint16_t *)from->data)[i], 1))
				return false;
		return true;
	}
	for (uint32_t i = 0; i < from->cap; i++) {
		uint64_t n = dense_get(from, i);

		if (n && !dense_count(into, from->base + i, n))
			return false;
	}
	return true;
}

static bool copy(struct wi_chist *into, const struct wi_chist *from)
{
	size_t item = from->form == WIDE ? sizeof(uint64_t) : from->form == DENSE ? sizeof(uint32_t) : sizeof(uint16_t);
	void *data = malloc(from->cap * item);

	if (!data)
		return false;
	memcpy(data, from->data, from->cap * item);
	free(into->data);
	*into = *from;
	into->data = data;
	return true;
}

bool wi_chist_merge(struct wi_chist *into, const struct wi_chist *from)
{
	if (!from->count)
		return true;
	if (!into->count)
		return copy(into, from);
	if (!merge_buckets(into, from))
		return false;
	if (!into->count || from->min_ns < into->min_ns)
		into->min_ns = from->min_ns;
	if (!into->count || from->max_ns > into->max_ns)
		into->max_ns = from->max_ns;
	into->count += from->count;
	into->sum_ns += from->sum_ns;
	return true;
}

bool wi_chist_expand(const struct wi_chist *h, struct wi_hist *into)
{
	if (!h->count)
		return true;
	/* Reserve the buckets with an empty merge of the right width, then count. */
	uint32_t top = wi_hist_index(h->max_ns);
	uint64_t *bucket = calloc(top + 1, sizeof(*bucket));
	struct wi_hist full = { h->count, h->sum_ns, h->min_ns, h->max_ns, top + 1, bucket };
	bool ok = bucket != NULL;

	if (ok && h->form == LIST)
		for (uint64_t i = 0; i < h->count; i++)
			bucket[((const uint16_t *)h->data)[i]]++;
	else if (ok)
		for (uint32_t i = 0; i < h->cap && h->base + i <= top; i++)
			bucket[h->base + i] = dense_get(h, i);
	ok = ok && wi_hist_merge(into, &full);
	free(bucket);
	return ok;
}

void wi_chist_fini(struct wi_chist *h)
{
	free(h->data);
	*h = (struct wi_chist){ 0 };
}
