/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A file tree as the chunks of one marker set (doc/markers.md); the reader is analyzer/topology/markers.h. */
#ifndef WI_RECORD_MARKER_ENCODE_H
#define WI_RECORD_MARKER_ENCODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyzer/base/err.h"
#include "analyzer/topology/filetree.h"

/* Takes one chunk's text: len bytes, a newline last. False stops (err set). */
typedef bool (*wi_marker_emit)(void *ctx, const char *text, size_t len, struct wi_err *err);

/*
 * Calls emit for every chunk of the tree, in order. set: 1 to WI_MARKERS_MAX_SET letters and digits. Files of
 * .../cpuN/... and .../nodeN/... with the same contents share one record. *nr_chunks (may be NULL) is their number.
 * False: err set by emit, or WI_EIO (no memory), or WI_EREFUSED (the tree is empty or too big for one set).
 */
bool wi_markers_encode(const struct wi_filetree *t, const char *set, wi_marker_emit emit, void *ctx,
		       uint32_t *nr_chunks, struct wi_err *err);

#endif
