/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a search for traces has to remember, in a temporary SQLite database that spills to $TMPDIR: however many files
 * there are, memory stays the same. Gone when it is closed, or when the process dies.
 */
#ifndef WI_BATCH_BACKLOG_H
#define WI_BATCH_BACKLOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyzer/batch/discover.h"

struct wi_backlog;

/* A name that is still to be looked at; taken in the order of (root, link, path as bytes). */
struct wi_todo {
	int64_t root;
	bool link;    /* a symbolic link led there */
	char *path;   /* of take: the caller's to free */
	size_t below; /* where the part below the root begins */
};

struct wi_backlog *wi_backlog_new(struct wi_err *err);
void wi_backlog_free(struct wi_backlog *q);

bool wi_backlog_add(struct wi_backlog *q, const struct wi_todo *t, struct wi_err *err);
bool wi_backlog_next(struct wi_backlog *q, struct wi_todo *out, bool *got, struct wi_err *err);

/* *first: this folder was not there before. */
bool wi_backlog_folder(struct wi_backlog *q, uint64_t dev, uint64_t ino, bool *first, struct wi_err *err);

/* Traces, first in, first out. */
bool wi_backlog_found(struct wi_backlog *q, const struct wi_found *f, struct wi_err *err);
bool wi_backlog_take(struct wi_backlog *q, struct wi_found *out, bool *got, struct wi_err *err);

/* As wi_discover_meet(). */
bool wi_backlog_meet(struct wi_backlog *q, const uint8_t sha256[32], const char *analysis, bool *met, bool *same,
		     struct wi_err *err);

#endif
