/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Bytes of a trace.dat: bounded reads in the file's byte order, from the file itself or from an inflated section.
 * Internal to the trace.dat reader.
 */
#ifndef WI_TRACEDAT_FILE_H
#define WI_TRACEDAT_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyzer/base/err.h"

/* Sizes that a sane file does not exceed. trace-cmd writes chunks of ten pages; metadata sections are a few MB. */
#define WI_TD_CHUNK_MAX (16u << 20)
#define WI_TD_SECTION_MAX (24u << 20)

enum wi_td_codec { WI_TD_NONE, WI_TD_ZLIB, WI_TD_ZSTD };

struct wi_td_file {
	int fd;
	uint64_t bytes;
	const char *path;
	bool swap; /* the file's byte order is not ours */
	enum wi_td_codec codec;
	void *zstd; /* ZSTD_DCtx, made when first needed */
};

void wi_td_file_fini(struct wi_td_file *f);

/* Reads exactly n bytes. false: err set (WI_EREFUSED "file ends", WI_EIO). */
bool wi_td_read(const struct wi_td_file *f, uint64_t offset, void *out, size_t n, const char *what, struct wi_err *err);

/* Inflates exactly n bytes from in. false (no message): the data are damaged. */
bool wi_td_inflate(struct wi_td_file *f, const uint8_t *in, size_t in_bytes, uint8_t *out, size_t n);

/* Forward reading. Positions are file offsets; in an inflated section, offsets into it. */
struct wi_td_cursor {
	const struct wi_td_file *f;
	uint64_t pos, end;
	uint64_t section; /* file offset of an inflated section, for messages */
	uint8_t *mem;	  /* inflated bytes, or the window on the file */
	uint64_t mem_pos; /* position of mem[0] */
	size_t mem_bytes;
	bool inflated;
};

/* Cursor over [offset, end) of the file. Never fails; wi_td_cursor_fini when done. */
void wi_td_cursor_file(struct wi_td_cursor *c, const struct wi_td_file *f, uint64_t offset, uint64_t end);

/* Cursor over the payload of a v7 section: bytes long from offset on, inflated if it is compressed. false: err set. */
bool wi_td_cursor_section(struct wi_td_cursor *c, struct wi_td_file *f, uint64_t offset, uint64_t bytes,
			  bool compressed, const char *what, struct wi_err *err);
void wi_td_cursor_fini(struct wi_td_cursor *c);

/* File offset for messages. */
uint64_t wi_td_where(const struct wi_td_cursor *c);

/* All: false when the bytes are not there, err set with what, offset and sizes. */
bool wi_td_bytes(struct wi_td_cursor *c, void *out, size_t n, const char *what, struct wi_err *err);
bool wi_td_skip(struct wi_td_cursor *c, uint64_t n, const char *what, struct wi_err *err);
bool wi_td_u16(struct wi_td_cursor *c, uint16_t *v, const char *what, struct wi_err *err);
bool wi_td_u32(struct wi_td_cursor *c, uint32_t *v, const char *what, struct wi_err *err);
bool wi_td_u64(struct wi_td_cursor *c, uint64_t *v, const char *what, struct wi_err *err);

/* NUL-terminated string shorter than size. */
bool wi_td_string(struct wi_td_cursor *c, char *out, size_t size, const char *what, struct wi_err *err);

/* Up to n next bytes without moving; *got may be less at the end of the data. n <= 4096. */
const uint8_t *wi_td_peek(struct wi_td_cursor *c, size_t n, size_t *got);

#endif
