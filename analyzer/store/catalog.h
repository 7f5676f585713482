/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is known of a metric by its path: unit, which direction is better, whether default tables show it. */
#ifndef WI_STORE_CATALOG_H
#define WI_STORE_CATALOG_H

#include <stdbool.h>
#include <stddef.h>

#include "analyzer/base/direction.h"

struct wi_metric_info {
	const char *unit; /* "ns", "count", "share" (0 to 1), "per_second", "number", ... */
	enum wi_direction direction;
	unsigned int headline; /* 1, 2, ...: place in default tables; 0: not in them */
	const char *meaning;   /* short; NULL: see METRICS.md by its path */
};

/* false: no entry and no rule knows the path; *out is then unit "number", no direction. */
bool wi_catalog_find(const char *path, struct wi_metric_info *out);

/*
 * Does the figure depend on which CPUs share a core, a cache, a node? Where nothing told the machine (topology flag
 * "fallback") such a figure is one of the flat guess, not of the machine: archives leave it out.
 */
bool wi_catalog_needs_groups(const char *path);

const char *wi_direction_name(enum wi_direction direction); /* "none", "lower", "higher" */

/* The headline metrics in their order: paths, *nr of them. */
const char *const *wi_catalog_headline(size_t *nr);

#endif
