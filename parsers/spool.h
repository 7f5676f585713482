/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Unwraps what cannot be read in place - a pipe, or a file compressed with gzip, xz, zstd or bzip2 - into an unlinked
 * file in $TMPDIR (/tmp if unset). Its per-CPU parts lie one after another, so a trace has to be seekable.
 */
#ifndef WI_SPOOL_H
#define WI_SPOOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyzer/base/err.h"

struct wi_spool_in {
	int fd;		     /* lent; read from its current position on */
	const char *path;    /* for messages */
	const uint8_t *head; /* bytes already taken from fd, come first */
	size_t head_len;
	uint64_t total;	    /* bytes to be read in all, 0 if unknown */
	uint64_t max_bytes; /* limit of what is written */
	void (*progress)(void *ctx, uint64_t done, uint64_t total);
	void *progress_ctx;
	/* Called when the first WI_SPOOL_LOOK_BYTES are in the new file: false (err set) spares the rest. NULL: nobody
	 * looks. */
	bool (*look)(void *ctx, int fd, struct wi_err *err);
	void *look_ctx;
};

#define WI_SPOOL_LOOK_BYTES (64u << 10)

struct wi_spool_out {
	int fd; /* the caller closes it; at offset 0 */
	uint64_t bytes;
	char damage[160];   /* not "": the compressed file ends early or is damaged; what came before was kept */
	uint64_t damage_at; /* position in the compressed file, about */
};

/* "gz", "xz", "zst", "bz2" by magic, or "". Static string. */
const char *wi_spool_wrapper(const uint8_t *head, size_t len);

/*
 * Copies (wrapper "") or decompresses in into a new unlinked file. false: err set - WI_EIO for read and write errors
 * and for the limit (named with --max-spool), WI_EREFUSED for a compressed file of which nothing could be decoded.
 */
bool wi_spool(const struct wi_spool_in *in, const char *wrapper, struct wi_spool_out *out, struct wi_err *err);

/* New unlinked file in $TMPDIR, or -1 with err set (WI_EIO). */
int wi_spool_file(struct wi_err *err);

/* read() and write() that go on after signals and short counts. read: bytes got, fewer only at the end; -1: errno. */
long wi_read_full(int fd, void *buf, size_t len);
bool wi_write_full(int fd, const void *buf, size_t len);

#endif
