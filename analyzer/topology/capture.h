/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * This machine's topology, scheduler settings and tasks as a file tree: what "wakeif topology --capture" writes and
 * what "wakeif record" puts into a trace. Works without root; what then cannot be read (the scheduling domains and
 * features in debugfs) is simply not in it.
 */
#ifndef WI_TOPOLOGY_CAPTURE_H
#define WI_TOPOLOGY_CAPTURE_H

#include <stdbool.h>
#include <stddef.h>

#include "analyzer/base/err.h"
#include "analyzer/topology/filetree.h"

/*
 * Everything wi_filetree_wants() of /sys and /proc, and all threads as one file "tasks" (tasks.h). Newer kernels
 * (6.12, not yet 6.1) show their scheduling domains only while sched/verbose is Y: root sets it for the moment of
 * reading. NULL: err set.
 */
struct wi_filetree *wi_capture_live(struct wi_err *err);

/* The same for another root folder (tests); its own proc/ gives the tasks. verbose_too: may write sched/verbose there.
 */
struct wi_filetree *wi_capture_root(const char *root, bool verbose_too, struct wi_err *err);

/* The list of tasks alone, from ROOT/proc. *text is allocated, the caller frees it. False: err set. */
bool wi_capture_tasks(const char *root, char **text, size_t *len, struct wi_err *err);

/*
 * Writes a tree as a tar archive, compressed as the name ends (.gz .tgz .xz .zst .bz2, else plain; "-" = standard
 * output, plain). The same tree gives the same bytes. A file that could not be written whole is removed. False: err set
 * (WI_EIO).
 */
bool wi_capture_write_tar(const struct wi_filetree *tree, const char *path, struct wi_err *err);

#endif
