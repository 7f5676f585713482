/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Inside analyzer/topology only: memory that lives as long as one topology. */
#ifndef WI_TOPOLOGY_ARENA_H
#define WI_TOPOLOGY_ARENA_H

#include <stddef.h>
#include <stdint.h>

struct topo_chunk;

struct topo_arena {
	struct topo_chunk *chunks;
	uint64_t **mask; /* hash set of the masks that were interned */
	size_t nr_masks, nr_slots;
};

/* Zeroed, aligned for anything; NULL: out of memory. size 0 gives a valid pointer. */
void *topo_alloc(struct topo_arena *a, size_t size);
char *topo_strdup(struct topo_arena *a, const char *s);

/* One copy of each distinct mask. NULL: out of memory. */
const uint64_t *topo_intern_mask(struct topo_arena *a, const uint64_t *mask, uint32_t words);
void topo_arena_free(struct topo_arena *a);

#endif
