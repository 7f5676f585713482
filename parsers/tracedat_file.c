/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "parsers/tracedat_file.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <zlib.h>
#include <zstd.h>

#include "parsers/evfmt_decode.h"

#define WINDOW_BYTES 65536u

void wi_td_file_fini(struct wi_td_file *f)
{
	ZSTD_freeDCtx(f->zstd);
	f->zstd = NULL;
}

/* Reads up to n bytes; short only at the end of the file. -1: errno. */
static ssize_t read_some(const struct wi_td_file *f, uint64_t offset, uint8_t *out, size_t n)
{
	size_t done = 0;

	while (done < n) {
		ssize_t got = pread(f->fd, out + done, n - done, (off_t)(offset + done));

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -1;
		if (got == 0)
			break;
		done += (size_t)got;
	}
	return (ssize_t)done;
}

static bool no_bytes(const struct wi_td_file *f, uint64_t offset, uint64_t left, uint64_t n, const char *what,
		     struct wi_err *err)
{
	return wi_err_at(err, WI_EREFUSED, f->path, offset,
			 "file ends inside %s: %" PRIu64 " bytes needed, %" PRIu64 " left", what, n, left);
}

bool wi_td_read(const struct wi_td_file *f, uint64_t offset, void *out, size_t n, const char *what, struct wi_err *err)
{
	uint64_t left = offset < f->bytes ? f->bytes - offset : 0;

	if (n > left)
		return no_bytes(f, offset, left, n, what, err);
	ssize_t got = read_some(f, offset, out, n);
	if (got < 0)
		return wi_err_at(err, WI_EIO, f->path, offset, "read error: %s", strerror(errno));
	if ((size_t)got < n)
		return no_bytes(f, offset, (uint64_t)got, n, what, err);
	return true;
}

static bool inflate_zlib(const uint8_t *in, size_t in_bytes, uint8_t *out, size_t n)
{
	uLongf len = n;

	return uncompress(out, &len, in, in_bytes) == Z_OK && len == n;
}

static bool inflate_zstd(struct wi_td_file *f, const uint8_t *in, size_t in_bytes, uint8_t *out, size_t n)
{
	if (!f->zstd)
		f->zstd = ZSTD_createDCtx();
	return f->zstd && ZSTD_decompressDCtx(f->zstd, out, n, in, in_bytes) == n;
}

bool wi_td_inflate(struct wi_td_file *f, const uint8_t *in, size_t in_bytes, uint8_t *out, size_t n)
{
	switch (f->codec) {
	case WI_TD_ZLIB:
		return inflate_zlib(in, in_bytes, out, n);
	case WI_TD_ZSTD:
		return inflate_zstd(f, in, in_bytes, out, n);
	case WI_TD_NONE:
		break;
	}
	return false;
}

void wi_td_cursor_file(struct wi_td_cursor *c, const struct wi_td_file *f, uint64_t offset, uint64_t end)
{
	memset(c, 0, sizeof(*c));
	c->f = f;
	c->pos = offset;
	c->end = end < f->bytes ? end : f->bytes;
}

bool wi_td_cursor_section(struct wi_td_cursor *c, struct wi_td_file *f, uint64_t offset, uint64_t bytes,
			  bool compressed, const char *what, struct wi_err *err)
{
	uint8_t head[8], *in = NULL;
	uint32_t in_bytes, n;

	if (!compressed) {
		uint64_t left = offset < f->bytes ? f->bytes - offset : 0;

		wi_td_cursor_file(c, f, offset, offset + (bytes < left ? bytes : left));
		return true;
	}
	memset(c, 0, sizeof(*c));
	c->f = f;
	c->section = offset;
	c->inflated = true;
	if (!wi_td_read(f, offset, head, sizeof(head), what, err))
		return false;
	in_bytes = wi_get32(head, f->swap);
	n = wi_get32(head + 4, f->swap);
	if (in_bytes > WI_TD_SECTION_MAX || n > WI_TD_SECTION_MAX)
		return wi_err_at(err, WI_EREFUSED, f->path, offset,
				 "absurd size of %s: %" PRIu32 " bytes inflate to %" PRIu32, what, in_bytes, n);
	in = malloc(in_bytes ? in_bytes : 1);
	c->mem = malloc(n ? n : 1);
	if (!in || !c->mem) {
		wi_err_nomem(err);
		goto out;
	}
	if (!wi_td_read(f, offset + 8, in, in_bytes, what, err))
		goto out;
	if (!wi_td_inflate(f, in, in_bytes, c->mem, n)) {
		wi_err_at(err, WI_EREFUSED, f->path, offset,
			  "%s cannot be inflated: %" PRIu32 " bytes that claim to be %" PRIu32, what, in_bytes, n);
		goto out;
	}
	free(in);
	c->mem_bytes = c->end = n;
	return true;
out:
	free(in);
	wi_td_cursor_fini(c);
	return false;
}

void wi_td_cursor_fini(struct wi_td_cursor *c)
{
	free(c->mem);
	c->mem = NULL;
	c->mem_bytes = 0;
}

uint64_t wi_td_where(const struct wi_td_cursor *c)
{
	return c->inflated ? c->section : c->pos;
}

/* Makes n bytes at pos available: all of an inflated section are, else n <= WINDOW_BYTES in the window. */
static bool load(struct wi_td_cursor *c, size_t n)
{
	if (c->pos >= c->mem_pos && c->pos + n <= c->mem_pos + c->mem_bytes)
		return true;
	if (c->inflated)
		return false;
	if (!c->mem) {
		c->mem = malloc(WINDOW_BYTES);
		if (!c->mem)
			return false;
	}
	size_t want = c->end - c->pos < WINDOW_BYTES ? (size_t)(c->end - c->pos) : WINDOW_BYTES;
	ssize_t got = read_some(c->f, c->pos, c->mem, want);

	c->mem_pos = c->pos;
	c->mem_bytes = got < 0 ? 0 : (size_t)got;
	return c->mem_bytes >= n;
}

static bool left_over(const struct wi_td_cursor *c, uint64_t n, const char *what, struct wi_err *err)
{
	if (n <= c->end - c->pos)
		return true;
	if (c->inflated)
		return wi_err_at(err, WI_EREFUSED, c->f->path, c->section,
				 "section ends inside %s: %" PRIu64 " bytes needed at its byte %" PRIu64 ", %" PRIu64
				 " left",
				 what, n, c->pos, c->end - c->pos);
	return no_bytes(c->f, c->pos, c->end - c->pos, n, what, err);
}

bool wi_td_bytes(struct wi_td_cursor *c, void *out, size_t n, const char *what, struct wi_err *err)
{
	if (c->pos > c->end)
		c->pos = c->end;
	if (!left_over(c, n, what, err))
		return false;
	if ((c->inflated || n <= WINDOW_BYTES) && load(c, n)) {
		memcpy(out, c->mem + (c->pos - c->mem_pos), n);
		c->pos += n;
		return true;
	}
	if (!wi_td_read(c->f, c->pos, out, n, what, err))
		return false;
	c->pos += n;
	return true;
}

bool wi_td_skip(struct wi_td_cursor *c, uint64_t n, const char *what, struct wi_err *err)
{
	if (c->pos > c->end)
		c->pos = c->end;
	if (!left_over(c, n, what, err))
		return false;
	c->pos += n;
	return true;
}

bool wi_td_u16(struct wi_td_cursor *c, uint16_t *v, const char *what, struct wi_err *err)
{
	uint8_t b[2];

	if (!wi_td_bytes(c, b, sizeof(b), what, err))
		return false;
	*v = wi_get16(b, c->f->swap);
	return true;
}

bool wi_td_u32(struct wi_td_cursor *c, uint32_t *v, const char *what, struct wi_err *err)
{
	uint8_t b[4];

	if (!wi_td_bytes(c, b, sizeof(b), what, err))
		return false;
	*v = wi_get32(b, c->f->swap);
	return true;
}

bool wi_td_u64(struct wi_td_cursor *c, uint64_t *v, const char *what, struct wi_err *err)
{
	uint8_t b[8];

	if (!wi_td_bytes(c, b, sizeof(b), what, err))
		return false;
	*v = wi_get64(b, c->f->swap);
	return true;
}

bool wi_td_string(struct wi_td_cursor *c, char *out, size_t size, const char *what, struct wi_err *err)
{
	uint64_t at = wi_td_where(c);

	for (size_t i = 0; i < size; i++) {
		if (!wi_td_bytes(c, &out[i], 1, what, err))
			return false;
		if (!out[i])
			return true;
	}
	out[size - 1] = '\0';
	return wi_err_at(err, WI_EREFUSED, c->f->path, at, "%s is not a string shorter than %zu bytes", what, size);
}

const uint8_t *wi_td_peek(struct wi_td_cursor *c, size_t n, size_t *got)
{
	uint64_t left = c->pos < c->end ? c->end - c->pos : 0;

	*got = n < left ? n : (size_t)left;
	if (!load(c, *got)) {
		*got = 0;
		return NULL;
	}
	return c->mem + (c->pos - c->mem_pos);
}
