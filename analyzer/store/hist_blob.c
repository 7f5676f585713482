/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analyzer/store/hist_blob.h"

#include <stdlib.h>

/* The first bucket whose lower edge is 2^63 ns. */
#define END_INDEX (128 + 64 * (63 - 7))

static void put_leb(struct wi_bytes_out *out, uint64_t v)
{
	uint8_t b[10];
	size_t n = 0;

	do {
		b[n++] = (uint8_t)((v & 0x7f) | (v > 0x7f ? 0x80 : 0));
		v >>= 7;
	} while (v);
	wi_bytes_put(out, b, n);
}

void wi_hist_blob_put_one(struct wi_bytes_out *out, uint32_t index, uint32_t *last, uint64_t count)
{
	if (index >= END_INDEX || count > INT64_MAX)
		out->failed = true;
	put_leb(out, index - *last);
	put_leb(out, count);
	*last = index;
}

void wi_hist_blob_put(struct wi_bytes_out *out, const struct wi_hist *h)
{
	uint32_t last = UINT32_MAX;

	for (uint32_t i = 0; i < h->nr; i++)
		if (h->bucket[i])
			wi_hist_blob_put_one(out, i, &last, h->bucket[i]);
}

/* A number that takes no more bytes than it needs and is no more than INT64_MAX. */
static bool get_leb(const uint8_t *blob, size_t nr, size_t *pos, uint64_t *v)
{
	*v = 0;
	for (unsigned int shift = 0; shift < 63 && *pos < nr; shift += 7) {
		uint8_t b = blob[(*pos)++];

		*v |= (uint64_t)(b & 0x7f) << shift;
		if (!(b & 0x80))
			return b || !shift;
	}
	return false;
}

struct tally {
	uint32_t first, last, nr;
	uint64_t count;
	long double low, high; /* between which the sum must lie */
};

/* One walk over the pairs; with h, into its buckets, which are as many as needed. */
static const char *walk(const uint8_t *blob, size_t size, struct wi_hist *h, struct tally *t)
{
	size_t pos = 0;
	uint64_t at = UINT64_MAX, delta, n;

	*t = (struct tally){ 0 };
	while (pos < size) {
		if (!get_leb(blob, size, &pos, &delta) || !get_leb(blob, size, &pos, &n))
			return "its buckets cannot be read";
		if (!delta || !n)
			return "its buckets do not rise";
		at += delta;
		if (at >= END_INDEX)
			return "it has a bucket beyond 2^63 ns";
		if (__builtin_add_overflow(t->count, n, &t->count) || t->count > INT64_MAX)
			return "its counts are too large";
		if (!t->nr++)
			t->first = (uint32_t)at;
		t->last = (uint32_t)at;
		t->low += (long double)wi_hist_lower_ns((uint32_t)at) * (long double)n;
		t->high += (long double)(wi_hist_lower_ns((uint32_t)at) + wi_hist_width_ns((uint32_t)at) - 1) *
			   (long double)n;
		if (h)
			h->bucket[at] = n;
	}
	return NULL;
}

static const char *check(const struct tally *t, const struct wi_hist *exact)
{
	if (t->count != exact->count)
		return "the counts of its buckets do not add up to its count";
	if (!t->nr)
		return exact->sum_ns ? "it is empty but has a sum" : NULL;
	if (exact->min_ns > exact->max_ns || wi_hist_index(exact->min_ns) != t->first ||
	    wi_hist_index(exact->max_ns) != t->last)
		return "its minimum and maximum are not in its first and last bucket";
	/* The sum wraps at 2^64 in the program, so only one that cannot have wrapped is told from a wrong one. */
	if (t->high < 0x1p64L && ((long double)exact->sum_ns < t->low || (long double)exact->sum_ns > t->high))
		return "its sum does not fit its buckets";
	return NULL;
}

bool wi_hist_blob_get(struct wi_hist *h, const uint8_t *blob, size_t nr, const struct wi_hist *exact, const char **why)
{
	struct tally t;

	*h = (struct wi_hist){ 0 };
	*why = walk(blob, nr, NULL, &t);
	if (!*why)
		*why = check(&t, exact);
	if (*why || !t.nr)
		return !*why;
	h->bucket = calloc(t.last + 1, sizeof(*h->bucket));
	if (!h->bucket) {
		*why = "out of memory";
		return false;
	}
	h->nr = t.last + 1;
	walk(blob, nr, h, &t);
	h->count = exact->count;
	h->sum_ns = exact->sum_ns;
	h->min_ns = exact->min_ns;
	h->max_ns = exact->max_ns;
	return true;
}
