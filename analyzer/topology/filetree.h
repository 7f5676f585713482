/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A set of small files held in memory, path -> bytes: what a machine says of itself in /sys and /proc, whether it comes
 * from the live machine, a directory, a tarball or the markers inside a trace.
 *
 * Paths are normalised when they are added: no leading "/" or "./", no "//", and no folders before "sys/" or "proc/"
 * ("x86_64-64cpu/sys/devices/..." and "/sys/devices/..." are both "sys/devices/..."). Folders before a file named
 * "tasks" or "tasks.*" go too. "topology/node0/..." (SchedViz) is "sys/devices/system/node/node0/...". Memory is
 * bounded: WI_FILETREE_MAX_FILES files, WI_FILETREE_MAX_BYTES in all.
 */
#ifndef WI_TOPOLOGY_FILETREE_H
#define WI_TOPOLOGY_FILETREE_H

#include <stdbool.h>
#include <stddef.h>

#include "analyzer/base/err.h"

#define WI_FILETREE_MAX_FILES (4u << 20)
#define WI_FILETREE_MAX_BYTES (256u << 20) /* paths and contents together */
#define WI_FILETREE_MAX_PATH 4095u

struct wi_filetree;

/* Borrowed from the tree, valid until it is freed or the path is added again. */
struct wi_file {
	const char *path;
	const char *bytes; /* len bytes, and a NUL that is not counted */
	size_t len;
};

struct wi_filetree *wi_filetree_new(void);    /* NULL: out of memory */
void wi_filetree_free(struct wi_filetree *t); /* NULL is allowed */

/*
 * Copies path and bytes in. A path that is there already gets the new bytes. False: err set (WI_EREFUSED for an empty
 * or over-long path, one with a ".." component, or when a bound above is reached; WI_EIO when out of memory).
 */
bool wi_filetree_add(struct wi_filetree *t, const char *path, const void *bytes, size_t len, struct wi_err *err);

/* Contents of a (normalised) path, NUL-terminated; NULL if it is not there. len may be NULL. */
const char *wi_filetree_get(const struct wi_filetree *t, const char *path, size_t *len);

size_t wi_filetree_count(const struct wi_filetree *t);
struct wi_file wi_filetree_at(const struct wi_filetree *t, size_t i); /* i < count; in the order they were added */

/*
 * Iteration in byte order of the paths over those that begin with prefix ("" = all):
 *	size_t at = 0;
 *	while (wi_filetree_next(t, "sys/kernel/", &at, &file)) ...
 * The tree must not be added to in between. False at the end (also when out of memory: then nothing was returned).
 */
bool wi_filetree_next(const struct wi_filetree *t, const char *prefix, size_t *at, struct wi_file *file);

/* True for the files that topology, sched domains, system facts and tasks are read from; the two readers below keep
 * only these. */
bool wi_filetree_wants(const char *path);

/*
 * Reads a directory that holds sys/ and proc/ (at its top, or in one folder below it), or is itself a "sys". Symbolic
 * links, devices and pipes inside are not followed. False: err set; WI_EREFUSED if no wanted file was found.
 */
bool wi_filetree_add_dir(struct wi_filetree *t, const char *dir, struct wi_err *err);

/*
 * Reads a tar, cpio or zip archive, plain or compressed. Only regular members are read, nothing is written to disk.
 * False: err set; WI_EREFUSED for anything that is no such archive, that is damaged, or exceeds the bounds.
 */
bool wi_filetree_add_archive(struct wi_filetree *t, const char *path, struct wi_err *err);
/* Same, from fd's position on; path is for messages, fd stays the caller's. */
bool wi_filetree_add_archive_fd(struct wi_filetree *t, int fd, const char *path, struct wi_err *err);

#endif
