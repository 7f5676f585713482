/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analyzer/topology/arena.h"

#include <stdlib.h>
#include <string.h>

#define CHUNK_BYTES (16u << 10)

struct topo_chunk {
	struct topo_chunk *next;
	size_t used, size;
	_Alignas(16) char data[];
};

void *topo_alloc(struct topo_arena *a, size_t size)
{
	struct topo_chunk *c = a->chunks;

	size = (size + 15) & ~(size_t)15;
	if (!c || c->size - c->used < size) {
		size_t want = size > CHUNK_BYTES ? size : CHUNK_BYTES;

		c = calloc(1, sizeof(*c) + want);
		if (!c)
			return NULL;
		c->size = want;
		c->next = a->chunks;
		a->chunks = c;
	}
	void *p = c->data + c->used;
	c->used += size;
	return p;
}

char *topo_strdup(struct topo_arena *a, const char *s)
{
	size_t len = strlen(s) + 1;
	char *p = topo_alloc(a, len);

	if (p)
		memcpy(p, s, len);
	return p;
}

static size_t mask_slot(const struct topo_arena *a, const uint64_t *mask, uint32_t words)
{
	uint64_t h = 0x9e3779b97f4a7c15ull;

	for (uint32_t i = 0; i < words; i++)
		h = (h ^ mask[i]) * 0xff51afd7ed558ccdull, h ^= h >> 32;
	size_t i = h & (a->nr_slots - 1);
	while (a->mask[i] && memcmp(a->mask[i], mask, words * sizeof(*mask)) != 0)
		i = (i + 1) & (a->nr_slots - 1);
	return i;
}

static int grow(struct topo_arena *a, uint32_t words)
{
	struct topo_arena old = *a;

	a->nr_slots = old.nr_slots ? old.nr_slots * 2 : 256;
	a->mask = calloc(a->nr_slots, sizeof(*a->mask));
	if (!a->mask) {
		*a = old;
		return 0;
	}
	for (size_t i = 0; i < old.nr_slots; i++)
		if (old.mask[i])
			a->mask[mask_slot(a, old.mask[i], words)] = old.mask[i];
	free(old.mask);
	return 1;
}

const uint64_t *topo_intern_mask(struct topo_arena *a, const uint64_t *mask, uint32_t words)
{
	if (a->nr_masks * 2 >= a->nr_slots && !grow(a, words))
		return NULL;
	size_t i = mask_slot(a, mask, words);
	if (!a->mask[i]) {
		uint64_t *m = topo_alloc(a, words * sizeof(*m));

		if (!m)
			return NULL;
		memcpy(m, mask, words * sizeof(*m));
		a->mask[i] = m;
		a->nr_masks++;
	}
	return a->mask[i];
}

void topo_arena_free(struct topo_arena *a)
{
	while (a->chunks) {
		struct topo_chunk *c = a->chunks;

		a->chunks = c->next;
		free(c);
	}
	free(a->mask);
	*a = (struct topo_arena){ 0 };
}
