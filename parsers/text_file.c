/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "parsers/text_file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BUF_BYTES (4 * WI_LINE_MAX)

/* Cache for lines read by position: a sorted file of per-CPU parts is read at as many places at once as it has parts.
 */
#define BLOCK_BYTES (16u << 10)
#define NR_BLOCKS 512

struct wi_text_block {
	uint64_t nr; /* number of the block in the file + 1; 0: empty */
	uint32_t len;
	char *bytes;
};

bool wi_text_file_init(struct wi_text_file *f, int fd, uint64_t bytes, const char *path, struct wi_err *err)
{
	memset(f, 0, sizeof(*f));
	f->fd = fd;
	f->bytes = bytes;
	f->path = path;
	f->buf = malloc(BUF_BYTES);
	f->plain = malloc(WI_LINE_MAX);
	return (f->buf && f->plain) || wi_err_nomem(err);
}

void wi_text_file_fini(struct wi_text_file *f)
{
	for (unsigned int i = 0; f->blocks && i < NR_BLOCKS; i++)
		free(f->blocks[i].bytes);
	free(f->blocks);
	free(f->across);
	free(f->plain);
	free(f->buf);
}

void wi_text_file_rewind(struct wi_text_file *f)
{
	f->have = f->pos = 0;
	f->base = 0;
	f->skip = false;
	f->nr_cut = 0;
}

static long read_at(const struct wi_text_file *f, void *to, size_t len, uint64_t at, struct wi_err *err)
{
	ssize_t n;

	do {
		n = pread(f->fd, to, len, (off_t)at);
	} while (n < 0 && errno == EINTR);
	if (n < 0)
		wi_err_at(err, WI_EIO, f->path, at, "read error: %s", strerror(errno));
	return n;
}

/* Moves the unread part to the front and reads behind it. 1: more bytes, 0: end, -1: err. */
static int refill(struct wi_text_file *f, struct wi_err *err)
{
	long n;

	memmove(f->buf, f->buf + f->pos, f->have - f->pos);
	f->base += f->pos;
	f->have -= f->pos;
	f->pos = 0;
	n = read_at(f, f->buf + f->have, BUF_BYTES - f->have, f->base + f->have, err);
	if (n < 0)
		return -1;
	f->have += (uint32_t)n;
	return n > 0;
}

/* The five named entities and &#39; into their characters; anything else stays. */
static uint32_t unescape_entity(const char *p, uint32_t len, char *out)
{
	static const struct {
		const char *text;
		uint32_t len;
		char c;
	} entities[] = {
		{ "&lt;", 4, '<' },    { "&gt;", 4, '>' },   { "&amp;", 5, '&' },  { "&quot;", 6, '"' },
		{ "&apos;", 6, '\'' }, { "&#39;", 5, '\'' }, { "&#34;", 5, '"' },  { "&#x27;", 6, '\'' },
		{ "&#60;", 5, '<' },   { "&#62;", 5, '>' },  { "&nbsp;", 6, ' ' },
	};

	for (size_t i = 0; i < sizeof(entities) / sizeof(*entities); i++) {
		if (len >= entities[i].len && !memcmp(p, entities[i].text, entities[i].len)) {
			*out = entities[i].c;
			return entities[i].len;
		}
	}
	*out = *p;
	return 1;
}

/* A line of a trace inside HTML: entities; in old files a JavaScript string whose lines end in \n\ ; a <script> tag in
 * front. */
static void from_html(struct wi_text_file *f, struct wi_str *line)
{
	const char *p = line->p, *end = p + line->len, *tag;
	bool js = false;
	uint32_t n = 0;

	if (line->len > 7 && !memcmp(p, "<script", 7) && (tag = memchr(p, '>', line->len)))
		p = tag + 1;
	if (end - p >= 3 && !memcmp(end - 3, "\\n\\", 3)) {
		js = true;
		end -= 3;
	} else if (end - p >= 1 && end[-1] == '\\') {
		end--;
	}
	if (!js && !memchr(p, '&', (size_t)(end - p))) {
		*line = (struct wi_str){ p, (uint32_t)(end - p) };
		return;
	}
	while (p < end) {
		if (js && *p == '\\' && p + 1 < end) {
			f->plain[n++] = p[1] == 't' ? '\t' : p[1];
			p += 2;
		} else if (*p == '&') {
			p += unescape_entity(p, (uint32_t)(end - p), &f->plain[n++]);
		} else {
			f->plain[n++] = *p++;
		}
	}
	*line = (struct wi_str){ f->plain, n };
}

static void finish(struct wi_text_file *f, struct wi_str *line)
{
	if (line->len && line->p[line->len - 1] == '\r')
		line->len--;
	if (f->html)
		from_html(f, line);
}

int wi_text_file_next(struct wi_text_file *f, struct wi_str *line, uint64_t *offset, struct wi_err *err)
{
	uint32_t seen = 0;

	for (;;) {
		char *start = f->buf + f->pos, *nl = memchr(start + seen, '\n', f->have - f->pos - seen);
		uint32_t len = nl ? (uint32_t)(nl - start) : f->have - f->pos;

		if (f->skip) {
			f->pos += len + (nl != NULL);
			f->skip = !nl;
			seen = 0;
			if (nl)
				continue;
		} else if (nl || len >= WI_LINE_MAX) {
			*offset = f->base + f->pos;
			f->pos += len + (nl != NULL);
			f->skip = !nl;
			f->nr_cut += len > WI_LINE_MAX || !nl;
			*line = (struct wi_str){ start, len > WI_LINE_MAX ? WI_LINE_MAX : len };
			finish(f, line);
			return 1;
		} else {
			seen = len;
		}
		int rc = refill(f, err);

		if (rc < 0)
			return -1;
		if (!rc) {
			if (f->skip || f->pos == f->have)
				return 0;
			*offset = f->base + f->pos;
			*line = (struct wi_str){ f->buf + f->pos, f->have - f->pos };
			f->pos = f->have;
			finish(f, line);
			return 1;
		}
	}
}

static struct wi_text_block *block_at(struct wi_text_file *f, uint64_t nr, struct wi_err *err)
{
	struct wi_text_block *b;
	long n;

	if (!f->blocks) {
		f->blocks = calloc(NR_BLOCKS, sizeof(*f->blocks));
		f->across = malloc(WI_LINE_MAX);
		if (!f->blocks || !f->across) {
			wi_err_nomem(err);
			return NULL;
		}
	}
	b = &f->blocks[nr % NR_BLOCKS];
	if (b->nr == nr + 1)
		return b;
	if (!b->bytes && !(b->bytes = malloc(BLOCK_BYTES))) {
		wi_err_nomem(err);
		return NULL;
	}
	b->nr = 0;
	n = read_at(f, b->bytes, BLOCK_BYTES, nr * BLOCK_BYTES, err);
	if (n < 0)
		return NULL;
	b->len = (uint32_t)n;
	b->nr = nr + 1;
	return b;
}

bool wi_text_file_at(struct wi_text_file *f, uint64_t offset, struct wi_str *line, struct wi_err *err)
{
	uint64_t nr = offset / BLOCK_BYTES;
	uint32_t at = (uint32_t)(offset % BLOCK_BYTES), n = 0;

	for (;; nr++, at = 0) {
		struct wi_text_block *b = block_at(f, nr, err);
		const char *nl;
		uint32_t len;

		if (!b)
			return false;
		len = b->len > at ? b->len - at : 0;
		nl = len ? memchr(b->bytes + at, '\n', len) : NULL;
		if (nl)
			len = (uint32_t)(nl - b->bytes) - at;
		if (nl && !n) {
			*line = (struct wi_str){ b->bytes + at, len };
			break;
		}
		if (len > WI_LINE_MAX - n)
			len = WI_LINE_MAX - n;
		if (len)
			memcpy(f->across + n, b->bytes + at, len);
		n += len;
		if (nl || n == WI_LINE_MAX || b->len < BLOCK_BYTES) {
			*line = (struct wi_str){ f->across, n };
			break;
		}
	}
	finish(f, line);
	return true;
}
