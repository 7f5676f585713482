/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef WI_TOPOLOGY_MARKERS_EXPAND_H
#define WI_TOPOLOGY_MARKERS_EXPAND_H

#include "analyzer/topology/filetree.h"

/*
 * The files of a whole payload (the chunks of one set, joined), of at most *files_left, which becomes less. The caller
 * owns the tree. NULL: err set, WI_EREFUSED for a payload that is not as doc/markers.md says or expands to too much,
 * WI_EIO when out of memory.
 */
struct wi_filetree *wi_markers_expand(const char *payload, size_t len, uint32_t *files_left, struct wi_err *err);

#endif
