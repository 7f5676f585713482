/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Markers: what a machine says of itself (topology, scheduler settings, tasks), carried inside a trace as texts written
 * to trace_marker. doc/markers.md is the format. A set of numbered chunks holds one file tree.
 *
 * Chunks may come in any order, twice, interleaved with those of other sets, or not at all. Of several complete sets
 * the one that became complete last counts. Memory is bounded whatever the texts say: WI_MARKERS_MAX_OPEN sets that
 * are not complete (the one least recently added to goes first), WI_MARKERS_MAX_CHUNKS chunks of
 * WI_MARKERS_MAX_TEXT bytes each, and WI_MARKERS_MAX_BYTES of expanded files.
 */
#ifndef WI_TOPOLOGY_MARKERS_H
#define WI_TOPOLOGY_MARKERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyzer/base/err.h"
#include "analyzer/topology/filetree.h"

#define WI_MARKERS_VERSION 1
#define WI_MARKERS_PREFIX "wakeif/" /* then the version, a blank, SET, a blank, N/TOTAL, a blank, PAYLOAD, "|" */

#define WI_MARKERS_MAX_TEXT 1000u    /* bytes of one chunk's text, without a newline: fits the oldest trace_marker */
#define WI_MARKERS_MAX_CHUNKS 65536u /* chunks of a set */
#define WI_MARKERS_MAX_SET 16u	     /* characters of a set's name */
#define WI_MARKERS_MAX_OPEN 4u	     /* sets in progress */
#define WI_MARKERS_MAX_BYTES (128ull << 20) /* paths and contents that one set may expand to */
#define WI_MARKERS_MAX_FILES (1u << 20)
#define WI_MARKERS_MAX_FILES_IN_ALL (4u << 20)	/* of all sets of a trace */
#define WI_MARKERS_MAX_SETS 4096u		/* that are begun in a trace */
#define WI_MARKERS_MAX_OPEN_BYTES (64ull << 20) /* payloads of the sets in progress */

/* Marks in a record of the payload: NUMBERS@PATH=CONTENT; */
#define WI_MARKERS_END '|'
#define WI_MARKERS_RECORD_END ';'
#define WI_MARKERS_LIST_END '@'
#define WI_MARKERS_PATH_END '='
#define WI_MARKERS_NUMBER '%'

enum wi_markers_state {
	WI_MARKERS_NONE,     /* no chunk seen */
	WI_MARKERS_PARTIAL,  /* chunks seen, no set complete */
	WI_MARKERS_COMPLETE, /* wi_markers_tree() has a tree */
};

struct wi_markers_status {
	enum wi_markers_state state;
	uint32_t got,
		total;	  /* chunks: of the complete set if there is one, else of the one last added to; 0 of 0: none */
	uint32_t nr_sets; /* that became complete */
	uint32_t nr_damaged; /* texts that begin as a chunk and are none, contradict another, or were given up for lack
				of room */
	uint32_t nr_other_version;
	char what[160]; /* the first cause behind nr_damaged or nr_other_version, or why a complete set was refused; ""
			   if none */
};

struct wi_marker_set;

struct wi_marker_set *wi_markers_new(void);    /* NULL: out of memory */
void wi_markers_free(struct wi_marker_set *s); /* NULL is allowed */

/*
 * Takes the text of one marker event (not NUL-terminated, with or without a newline at its end, with or without the
 * "tracing_mark_write: " or similar that a text form puts before it). A text that is no chunk is ignored. A damaged
 * one is counted in the status. False only when out of memory (err set).
 */
bool wi_markers_add(struct wi_marker_set *s, const char *text, size_t len, struct wi_err *err);

struct wi_markers_status wi_markers_status(const struct wi_marker_set *s);

/* The tree of the last complete set, borrowed until the next wi_markers_add() or wi_markers_free(); NULL if none. */
const struct wi_filetree *wi_markers_tree(const struct wi_marker_set *s);

/* The same, and the caller owns it: it outlives the set. NULL if none or already taken. */
struct wi_filetree *wi_markers_take_tree(struct wi_marker_set *s);

#endif
