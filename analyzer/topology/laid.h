/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Inside analyzer/topology only: what wi_topology_free() frees. */
#ifndef WI_TOPOLOGY_LAID_H
#define WI_TOPOLOGY_LAID_H

#include "analyzer/topology/arena.h"
#include "models/wakeif_model.h"

struct topology {
	struct wakeif_topology pub; /* first: the public pointer is the owner's */
	struct topo_arena arena;
	wakeif_word *ones; /* see span_of_one() */
};

#endif
