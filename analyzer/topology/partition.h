/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Inside analyzer/topology only: a partition of the CPUs as an array rep[cpu] = lowest CPU of its group; TOPO_NONE for
 * CPUs outside. All functions are O(n log n) and need no more memory than a few arrays of n.
 */
#ifndef WI_TOPOLOGY_PARTITION_H
#define WI_TOPOLOGY_PARTITION_H

#include <stdbool.h>
#include <stdint.h>

#include "analyzer/base/err.h"

/* rep from labels: CPUs with the same label are one group, those labelled TOPO_NONE are outside. rep may be label. */
bool topo_group(uint32_t *rep, const uint32_t *label, uint32_t n, struct wi_err *err);

/* Cuts every group of rep at the borders of by. *cut: whether that changed anything; may be NULL. */
bool topo_cut(uint32_t *rep, const uint32_t *by, uint32_t n, bool *cut, struct wi_err *err);

/* Joins the groups of rep that one group of by has members in. *joined as above. */
bool topo_join(uint32_t *rep, const uint32_t *by, uint32_t n, bool *joined, struct wi_err *err);

/* index[cpu] = number of its group, counted by lowest CPU; returns the number of groups. */
uint32_t topo_number(uint32_t *index, const uint32_t *rep, uint32_t n);

#endif
