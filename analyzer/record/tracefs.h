/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The tracing file system: where it is, what this kernel can record, and writing markers to it. */
#ifndef WI_RECORD_TRACEFS_H
#define WI_RECORD_TRACEFS_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "analyzer/base/err.h"
#include "analyzer/topology/filetree.h"

struct wi_tracefs {
	char dir[PATH_MAX - 256]; /* of the top instance */
};

/*
 * dir: from the command line or NULL, then $TRACEFS_PATH, then where it is mounted. Checks that it is a tracefs that
 * this user may write. False: err set with one line that names the remedy.
 */
bool wi_tracefs_find(struct wi_tracefs *fs, const char *dir, struct wi_err *err);

/* "sched:sched_switch" or "sched_switch" in any system. */
bool wi_tracefs_has_event(const struct wi_tracefs *fs, const char *event);

/* False: err names the clock and lists those that the kernel has. */
bool wi_tracefs_check_clock(const struct wi_tracefs *fs, const char *clock, struct wi_err *err);

/*
 * Writes the tree as one marker set to trace_marker of the instance (NULL or "": top). *nr_chunks and *nr_failed may be
 * NULL; a chunk that the kernel does not take (tracing is off) counts as failed and is no error. False: err set.
 */
bool wi_tracefs_write_markers(const struct wi_tracefs *fs, const char *instance, const struct wi_filetree *t,
			      uint32_t *nr_chunks, uint32_t *nr_failed, struct wi_err *err);

#endif
