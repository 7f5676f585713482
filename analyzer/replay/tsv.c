/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analyzer/replay/tsv.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zstd.h>

#define CHUNK (256u << 10)

struct wi_tsv_input {
	int fd;
	ZSTD_DCtx *zstd; /* NULL: plain */
	uint8_t raw[CHUNK];
	size_t raw_len, raw_at;
	char *buf; /* text not yet handed out: at .. len */
	size_t size, at, len;
	bool raw_over, over;
	bool mid_frame; /* the compressed data goes on */
	char path[];
};

bool wi_tsv_err(const struct wi_tsv *t, struct wi_err *err, const char *fmt, ...)
{
	char text[400];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	return wi_err_set(err, WI_EREFUSED, "%.200s:%" PRIu64 ": %s", t->path, t->line, text);
}

static bool read_raw(struct wi_tsv *t, struct wi_err *err)
{
	struct wi_tsv_input *in = t->input;
	ssize_t n;

	do
		n = read(in->fd, in->raw, sizeof(in->raw));
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return wi_err_set(err, WI_EIO, "%.200s: cannot be read: %s", t->path, strerror(errno));
	in->raw_len = (size_t)n;
	in->raw_at = 0;
	in->raw_over = n == 0;
	return true;
}

/* More text behind what is there; in->over at the end. */
static bool fill(struct wi_tsv *t, struct wi_err *err)
{
	struct wi_tsv_input *in = t->input;

	if (in->at) {
		memmove(in->buf, in->buf + in->at, in->len - in->at);
		in->len -= in->at;
		in->at = 0;
	}
	if (in->size - in->len < CHUNK) {
		size_t size = in->size + (in->size > CHUNK ? in->size : CHUNK);
		char *buf = realloc(in->buf, size + 1);

		if (!buf)
			return wi_err_nomem(err);
		in->buf = buf;
		in->size = size;
	}
	if (in->raw_at == in->raw_len && !in->raw_over && !read_raw(t, err))
		return false;
	if (!in->zstd) {
		size_t n = in->raw_len - in->raw_at;

		memcpy(in->buf + in->len, in->raw + in->raw_at, n);
		in->len += n;
		in->raw_at = in->raw_len;
		in->over = in->raw_over;
		return true;
	}
	ZSTD_inBuffer src = { in->raw, in->raw_len, in->raw_at };
	ZSTD_outBuffer dst = { in->buf, in->size, in->len };
	size_t left = ZSTD_decompressStream(in->zstd, &dst, &src);

	if (ZSTD_isError(left)) {
		t->line++;
		return wi_tsv_err(t, err, "compressed data is damaged: %s", ZSTD_getErrorName(left));
	}
	if (src.pos > in->raw_at || dst.pos > in->len)
		in->mid_frame = left != 0;
	in->over = in->raw_over && dst.pos == in->len;
	if (in->over && in->mid_frame) {
		t->line++;
		return wi_tsv_err(t, err, "compressed data ends early");
	}
	in->raw_at = src.pos;
	in->len = dst.pos;
	return true;
}

bool wi_tsv_open(struct wi_tsv *t, const char *path, struct wi_err *err)
{
	size_t len = strlen(path);
	struct wi_tsv_input *in = calloc(1, sizeof(*in) + len + 1);

	*t = (struct wi_tsv){ .path = path, .input = in };
	if (!in)
		return wi_err_nomem(err);
	memcpy(in->path, path, len + 1);
	t->path = in->path;
	in->fd = open(path, O_RDONLY | O_CLOEXEC);
	if (in->fd < 0) {
		wi_err_set(err, WI_EIO, "%.200s: cannot be opened: %s", path, strerror(errno));
		goto fail;
	}
	if (!read_raw(t, err))
		goto fail;
	static const uint8_t magic[4] = { 0x28, 0xb5, 0x2f, 0xfd };

	if (in->raw_len >= 4 && !memcmp(in->raw, magic, 4)) {
		in->zstd = ZSTD_createDCtx();
		/* A window this wide costs 128 MiB at most, whatever the file asks for. */
		if (!in->zstd || ZSTD_isError(ZSTD_DCtx_setParameter(in->zstd, ZSTD_d_windowLogMax, 27))) {
			wi_err_nomem(err);
			goto fail;
		}
	}
	return true;
fail:
	wi_tsv_close(t);
	return false;
}

static bool split(struct wi_tsv *t, char *line, size_t len, struct wi_err *err)
{
	if (memchr(line, '\0', len))
		return wi_tsv_err(t, err, "is no text: a NUL byte");
	if (len && line[len - 1] == '\r')
		len--;
	line[len] = '\0';
	t->nr_fields = 0;
	for (char *at = line, *tab;; at = tab + 1) {
		if (t->nr_fields == WI_TSV_MAX_FIELDS)
			return wi_tsv_err(t, err, "has more than %d fields", WI_TSV_MAX_FIELDS);
		t->field[t->nr_fields++] = at;
		tab = strchr(at, '\t');
		if (!tab)
			return true;
		*tab = '\0';
	}
}

int wi_tsv_next(struct wi_tsv *t, struct wi_err *err)
{
	struct wi_tsv_input *in = t->input;
	size_t looked = 0;

	for (;;) {
		char *nl = in->len - in->at > looked
				   ? memchr(in->buf + in->at + looked, '\n', in->len - in->at - looked)
				   : NULL;

		if (nl || (in->over && in->len > in->at)) {
			char *line = in->buf + in->at;
			size_t len = nl ? (size_t)(nl - line) : in->len - in->at;

			in->at += len + (nl != NULL);
			t->line++;
			return split(t, line, len, err) ? 1 : -1;
		}
		if (in->over)
			return 0;
		looked = in->len - in->at;
		if (looked > WI_TSV_MAX_LINE) {
			t->line++;
			wi_tsv_err(t, err, "is longer than %u bytes", WI_TSV_MAX_LINE);
			return -1;
		}
		if (!fill(t, err))
			return -1;
	}
}

void wi_tsv_close(struct wi_tsv *t)
{
	struct wi_tsv_input *in = t->input;

	if (!in)
		return;
	if (in->fd >= 0)
		close(in->fd);
	ZSTD_freeDCtx(in->zstd);
	free(in->buf);
	free(in);
	t->input = NULL;
}
