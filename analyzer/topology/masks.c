/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analyzer/topology/masks.h"

#include <stdlib.h>
#include <string.h>

struct seen {
	uint64_t hash;	 /* of the mask */
	uint32_t first;	 /* lowest CPU of it, TOPO_NONE: this CPU has no mask */
	uint32_t weight; /* of the mask */
	uint32_t nr;	 /* for the lowest CPU of a group: CPUs that were named with it */
};

static uint64_t hash_mask(const uint64_t *mask, uint32_t words)
{
	uint64_t h = 0x9e3779b97f4a7c15ull;

	for (uint32_t i = 0; i < words; i++) {
		h = (h ^ mask[i]) * 0xff51afd7ed558ccdull;
		h ^= h >> 32;
	}
	return h;
}

static bool get_present(const struct topo_raw *raw, topo_mask_fn *get, void *ctx, uint32_t cpu, uint64_t *out)
{
	memset(out, 0, raw->nr_words * sizeof(*out));
	if (!get(ctx, cpu, out))
		return false;
	for (uint32_t w = 0; w < raw->nr_words; w++)
		out[w] &= raw->present[w];
	return !wi_mask_empty(out, raw->nr_words);
}

enum topo_agree topo_labels_from_masks(const struct topo_raw *raw, topo_mask_fn *get, void *ctx, uint32_t *label,
				       struct wi_err *err)
{
	uint32_t n = raw->nr_cpus, words = raw->nr_words, nr = 0;
	struct seen *seen = calloc(n, sizeof(*seen));
	uint64_t *mask = calloc(words, sizeof(*mask));
	uint32_t *by_mask = malloc(n * sizeof(*by_mask)); /* also of CPUs without a mask that another's mask names */
	enum topo_agree agree = TOPO_AGREE;

	if (!seen || !mask || !by_mask) {
		wi_err_nomem(err);
		agree = TOPO_MASK_NOMEM;
		goto out;
	}
	memset(by_mask, 0xff, n * sizeof(*by_mask));
	for (uint32_t c = 0; c < n; c++) {
		struct seen *s = &seen[c];

		s->first = TOPO_NONE;
		if (!wi_mask_test(raw->present, c) || !get_present(raw, get, ctx, c, mask))
			continue;
		nr++;
		s->first = wi_mask_next(mask, words, 0);
		s->hash = hash_mask(mask, words);
		s->weight = wi_mask_weight(mask, words);
		if (!wi_mask_test(mask, c))
			agree = TOPO_DISAGREE;
		/* The first CPU that shows a mask tells whom it names. */
		if (by_mask[s->first] == s->first && seen[s->first].hash == s->hash &&
		    seen[s->first].first != TOPO_NONE)
			continue;
		wi_mask_for_each (m, mask, words)
			by_mask[m] = s->first;
	}
	for (uint32_t c = 0; c < n; c++)
		if (by_mask[c] != TOPO_NONE)
			seen[by_mask[c]].nr++;
	for (uint32_t c = 0; c < n && agree == TOPO_AGREE; c++) {
		/* Named by another's mask, but its own says otherwise; or two masks with the same lowest CPU. */
		if (seen[c].first == TOPO_NONE)
			continue;
		if (by_mask[c] != seen[c].first)
			agree = TOPO_DISAGREE;
		const struct seen *low = &seen[seen[c].first];
		if ((low->first != TOPO_NONE && low->hash != seen[c].hash) || low->nr != seen[c].weight)
			agree = TOPO_DISAGREE;
	}
	if (!nr)
		agree = TOPO_NO_MASKS;
	if (agree == TOPO_AGREE)
		memcpy(label, by_mask, n * sizeof(*label));
out:
	free(seen);
	free(mask);
	free(by_mask);
	return agree;
}

static uint32_t find(uint32_t *parent, uint32_t c)
{
	while (parent[c] != c) {
		parent[c] = parent[parent[c]];
		c = parent[c];
	}
	return c;
}

bool topo_labels_join_masks(const struct topo_raw *raw, topo_mask_fn *get, void *ctx, uint32_t *label,
			    struct wi_err *err)
{
	uint32_t n = raw->nr_cpus;
	uint32_t *parent = malloc(n * sizeof(*parent));
	uint64_t *mask = calloc(raw->nr_words, sizeof(*mask)), *named = calloc(raw->nr_words, sizeof(*named));
	bool ok = parent && mask && named;

	if (!ok) {
		wi_err_nomem(err);
		goto out;
	}
	for (uint32_t c = 0; c < n; c++)
		parent[c] = c;
	wi_mask_for_each (c, raw->present, raw->nr_words) {
		if (!get_present(raw, get, ctx, c, mask))
			continue;
		wi_mask_set(mask, c);
		wi_mask_for_each (m, mask, raw->nr_words) {
			uint32_t a = find(parent, c), b = find(parent, m);

			wi_mask_set(named, m);
			parent[a > b ? a : b] = a > b ? b : a;
		}
	}
	for (uint32_t c = 0; c < n; c++)
		label[c] = wi_mask_test(named, c) ? find(parent, c) : TOPO_NONE;
out:
	free(parent);
	free(mask);
	free(named);
	return ok;
}
