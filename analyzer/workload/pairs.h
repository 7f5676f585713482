/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A map from pairs of numbers to a number. Zeroed is empty; the owner frees `at`. */
#ifndef WI_WORKLOAD_PAIRS_H
#define WI_WORKLOAD_PAIRS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct wi_pair {
	uint64_t key; /* plus 1; 0: free */
	uint32_t value;
};

struct wi_pairs {
	struct wi_pair *at;
	size_t nr, room;
};

/* The value's place, until the next call; *fresh: it was not there. NULL: out of memory. */
uint32_t *wi_pairs_get(struct wi_pairs *m, uint32_t a, uint32_t b, bool *fresh);
/* The value; 0: not there. */
uint32_t wi_pairs_value(const struct wi_pairs *m, uint32_t a, uint32_t b);

#endif
