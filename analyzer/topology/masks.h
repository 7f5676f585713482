/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Inside analyzer/topology only: groups from sibling masks, one mask a CPU, as sysfs gives them. When all masks agree
 * (each CPU is in its own, and the members of a group all show the same mask) they are the groups.
 */
#ifndef WI_TOPOLOGY_MASKS_H
#define WI_TOPOLOGY_MASKS_H

#include <stdbool.h>
#include <stdint.h>

#include "analyzer/topology/raw.h"

/* Puts the mask of cpu into out (nr_words words, zeroed by the caller). False: this CPU has none. */
typedef bool topo_mask_fn(void *ctx, uint32_t cpu, uint64_t *out);

enum topo_agree {
	TOPO_NO_MASKS,	 /* no CPU has one */
	TOPO_AGREE,	 /* label is filled: the lowest CPU of the mask */
	TOPO_DISAGREE,	 /* label is untouched */
	TOPO_MASK_NOMEM, /* err set */
};

enum topo_agree topo_labels_from_masks(const struct topo_raw *raw, topo_mask_fn *get, void *ctx, uint32_t *label,
				       struct wi_err *err);

/* For masks that disagree and where nothing better is known: CPUs that any mask names together are together. */
bool topo_labels_join_masks(const struct topo_raw *raw, topo_mask_fn *get, void *ctx, uint32_t *label,
			    struct wi_err *err);

#endif
