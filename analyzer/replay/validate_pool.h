/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Agreement of several recordings, summed by the kernel that was recorded. */
#ifndef WI_REPLAY_VALIDATE_POOL_H
#define WI_REPLAY_VALIDATE_POOL_H

#include "analyzer/replay/validate.h"

/* One recording. */
struct wi_validated {
	char *file, *model, *notes; /* model: that was asked; notes: lines, "" none */
	uint32_t kernel;	    /* WI_KERNEL(); 0 unknown */
	struct wi_validate_results v;
};

void wi_validated_fini(struct wi_validated *one);

struct wi_validate_pool {
	bool all;		      /* of every kernel */
	uint32_t kernel;	      /* else: of this one; 0 unknown */
	const char *model;	      /* that all of them asked; NULL: not the same. Borrowed from them */
	struct wi_validate_results v; /* v.nr_traces: how many */
};

/* Fills pool, which has nr + 1 places: kernels by version, then all of them where there are several. Returns how many.
 */
size_t wi_validate_pool(const struct wi_validated *one, size_t nr, struct wi_validate_pool *pool);

#endif
