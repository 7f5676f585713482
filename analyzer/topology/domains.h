/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Inside analyzer/topology only: the scheduling domains of a topology whose groups are laid out. */
#ifndef WI_TOPOLOGY_DOMAINS_H
#define WI_TOPOLOGY_DOMAINS_H

#include "analyzer/topology/arena.h"
#include "analyzer/topology/raw.h"

/*
 * Fills nr_domains, domains, llc_size and the flag DOMAINS_DERIVED of t, whose masks, groups, spans and distances are
 * there: as the kernel says where raw has that, else by the rules the kernel builds them by. False: err set.
 */
bool topo_make_domains(struct wakeif_topology *t, struct topo_raw *raw, struct topo_arena *a, struct wi_err *err);

#endif
