/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Finds the traces below folders, by what files hold, not by their names. In short: wi_discover_add() what to look at,
 * then wi_discover_step() until it is done; wi_discover_take() hands out what was found so far.
 *
 * The order is a function of the names alone: roots as they were added; below a root, paths as bytes, what symbolic
 * links lead to behind all else. A folder is entered once, whatever leads there (device and inode), so loops end. What
 * is still to be looked at, and what was found, lies in a temporary database, not in memory.
 */
#ifndef WI_BATCH_DISCOVER_H
#define WI_BATCH_DISCOVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyzer/base/err.h"

/* What comes of a file. Everything that is met is counted in exactly one of these. */
#define WI_FINDINGS(X)                                                                                                 \
	X(TRACE, "traces", "begins as a trace does, or is compressed")                                                 \
	X(NOT_TRACE, "not traces", "begins as no trace does")                                                          \
	X(EMPTY, "empty", "holds nothing")                                                                             \
	X(SPECIAL, "special", "a FIFO, a socket or a device: not opened")                                              \
	X(UNREADABLE, "unreadable", "a file or folder that cannot be read, or a link that leads nowhere")              \
	X(OTHER_SHARD, "of other shards", "a trace that --shard leaves to others")

enum wi_finding {
#define X(name, text, meaning) WI_FINDING_##name,
	WI_FINDINGS(X)
#undef X
		WI_NR_FINDINGS
};

const char *wi_finding_name(enum wi_finding finding);

struct wi_found {
	char *path;		       /* the caller's to free */
	size_t below;		       /* where in it the part below the root begins */
	uint64_t seq;		       /* 1, 2, ... in the order of finding */
	uint64_t dev, ino, size_bytes; /* size: of a folder nothing that is of use */
	int64_t mtime_ns, ctime_ns;
	bool folder; /* a raw dump */
};

struct wi_discover_opts {
	uint32_t shard, nr_shards; /* 1 .. nr_shards; nr_shards 0: all */
	/* Told of everything that is no trace, with the reason ("" none); may be NULL. */
	void (*tell)(void *ctx, const char *path, enum wi_finding finding, const char *why);
	void *ctx;
	const char
		*own; /* the database that is written: it and its companions are nothing that is found; may be NULL */
};

struct wi_discover;

struct wi_discover *wi_discover_new(const struct wi_discover_opts *opts, struct wi_err *err);
void wi_discover_free(struct wi_discover *d);

/* A file or folder to look at. */
bool wi_discover_add(struct wi_discover *d, const char *path, struct wi_err *err);

/*
 * A list of them in a file ("-": standard input), read as far as it is needed; a name ends at a newline, or at a NUL.
 * Empty names are skipped. The list comes behind what was added by name.
 */
bool wi_discover_list(struct wi_discover *d, const char *path, bool nul, struct wi_err *err);

/* A bounded piece of work. *done: nothing is left. false: the temporary database or the list failed. */
bool wi_discover_step(struct wi_discover *d, bool *done, struct wi_err *err);

/* The next trace that was found; *got false: none is waiting. */
bool wi_discover_take(struct wi_discover *d, struct wi_found *out, bool *got, struct wi_err *err);

/* Of this run: was this content met before? Notes it with its analysis; *met: it was, *same: under the same one. */
bool wi_discover_meet(struct wi_discover *d, const uint8_t sha256[32], const char *analysis, bool *met, bool *same,
		      struct wi_err *err);

struct wi_discover_count {
	uint64_t nr[WI_NR_FINDINGS];
	uint64_t folders; /* entered */
	uint64_t again;	  /* folders that were met again and not entered */
	uint64_t bytes;	  /* of the traces */
	bool done;
};
struct wi_discover_count wi_discover_count(const struct wi_discover *d);

#endif
