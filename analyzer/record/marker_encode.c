/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analyzer/record/marker_encode.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/base/cpumask.h"
#include "analyzer/topology/markers.h"

/* What may stand before the payload at most: "wakeif/1 SET 65536/65536 " and the end mark after it. */
#define HEADER_BYTES (sizeof(WI_MARKERS_PREFIX "1 ") + WI_MARKERS_MAX_SET + 1 + 12)
#define PAYLOAD_BYTES (WI_MARKERS_MAX_TEXT - HEADER_BYTES)

struct text {
	char *bytes;
	size_t len, size;
	bool failed; /* out of memory once */
};

/* One file; its path is cut in two where a CPU's or node's number stands. */
struct entry {
	const char *path, *tail; /* tail: after the number; NULL: the path has none */
	size_t head_len;
	const char *content;
	size_t len;
	uint32_t number;
};

static void put(struct text *t, const char *bytes, size_t len)
{
	if (t->failed)
		return;
	if (t->size - t->len < len) {
		size_t size = (t->size ? t->size * 2 : 65536) + len;
		char *b = realloc(t->bytes, size);

		if (!b) {
			t->failed = true;
			return;
		}
		t->bytes = b;
		t->size = size;
	}
	memcpy(t->bytes + t->len, bytes, len);
	t->len += len;
}

static void put_char(struct text *t, char c)
{
	put(t, &c, 1);
}

/* Marks of the format, and whatever is no printable ASCII, become escapes. */
static void put_escaped(struct text *t, const char *s, size_t len, const char *marks)
{
	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)s[i];

		if (c == '\\') {
			put(t, "\\\\", 2);
		} else if (c == '\n') {
			put(t, "\\n", 2);
		} else if (c == '\t') {
			put(t, "\\t", 2);
		} else if (c < ' ' || c > '~' || strchr(marks, c)) {
			char hex[5];

			snprintf(hex, sizeof(hex), "\\x%02x", c);
			put(t, hex, 4);
		} else {
			put_char(t, (char)c);
		}
	}
}

/* Finds the first "/cpuN/" or "/nodeN/" whose number is written as the reader will write it. */
static struct entry make_entry(const struct wi_file *f)
{
	struct entry e = { .path = f->path, .content = f->bytes, .len = f->len };

	e.head_len = strlen(f->path);
	for (const char *at = strchr(f->path, '/'); at; at = strchr(at + 1, '/')) {
		const char *digits = !strncmp(at, "/cpu", 4) ? at + 4 : !strncmp(at, "/node", 5) ? at + 5 : NULL;
		size_t n = digits ? strspn(digits, "0123456789") : 0;

		if (!n || n > 5 || digits[n] != '/' || (n > 1 && digits[0] == '0'))
			continue;
		uint32_t number = (uint32_t)strtoul(digits, NULL, 10);
		if (number >= WI_MAX_CPUS)
			continue;
		e.number = number;
		e.head_len = (size_t)(digits - f->path);
		e.tail = digits + n;
		break;
	}
	return e;
}

static int compare_bytes(const char *a, size_t alen, const char *b, size_t blen)
{
	size_t n = alen < blen ? alen : blen;
	int c = n ? memcmp(a, b, n) : 0;

	return c ? c : (alen > blen) - (alen < blen);
}

static int by_template(const struct entry *a, const struct entry *b)
{
	int c = compare_bytes(a->path, a->head_len, b->path, b->head_len);

	if (!c)
		c = !!a->tail - !!b->tail;
	return c || !a->tail ? c : strcmp(a->tail, b->tail);
}

static int by_content(const struct entry *a, const struct entry *b)
{
	return compare_bytes(a->content, a->len, b->content, b->len);
}

static int order(const void *pa, const void *pb)
{
	const struct entry *a = pa, *b = pb;
	int c = by_template(a, b);

	if (!c)
		c = by_content(a, b);
	return c ? c : (a->number > b->number) - (a->number < b->number);
}

static void put_path(struct text *t, const struct entry *e)
{
	static const char marks[] = { WI_MARKERS_END,	   WI_MARKERS_RECORD_END, WI_MARKERS_LIST_END,
				      WI_MARKERS_PATH_END, WI_MARKERS_NUMBER,	  '\0' };

	put_escaped(t, e->path, e->head_len, marks);
	if (e->tail) {
		put_char(t, WI_MARKERS_NUMBER);
		put_escaped(t, e->tail, strlen(e->tail), marks);
	}
}

static void put_content(struct text *t, const struct entry *e)
{
	static const char marks[] = { WI_MARKERS_END, WI_MARKERS_RECORD_END, '\0' };
	bool newline = e->len && e->content[e->len - 1] == '\n';

	put_escaped(t, e->content, e->len - newline, marks);
	if (!newline)
		put(t, "\\c", 2);
	put_char(t, WI_MARKERS_RECORD_END);
}

static bool put_numbers(struct text *t, const struct entry *e, size_t nr, uint64_t *mask, char *list, size_t list_size)
{
	uint32_t words = wi_mask_words(WI_MAX_CPUS);

	memset(mask, 0, words * sizeof(*mask));
	for (size_t i = 0; i < nr; i++)
		wi_mask_set(mask, e[i].number);
	size_t len = wi_mask_format(list, list_size, mask, words);
	if (len >= list_size)
		return false;
	put(t, list, len);
	return true;
}

/* The payload of all entries, which are in order. */
static bool put_records(struct text *t, const struct entry *e, size_t nr, struct wi_err *err)
{
	size_t list_size = 8u * WI_MAX_CPUS;
	uint64_t *mask = malloc(wi_mask_words(WI_MAX_CPUS) * sizeof(*mask));
	char *list = malloc(list_size);
	bool ok = mask && list;

	for (size_t i = 0, n; ok && i < nr; i += n) {
		for (n = 1; i + n < nr && e[i].tail && !by_template(&e[i], &e[i + n]) && !by_content(&e[i], &e[i + n]);)
			n++;
		if (e[i].tail)
			ok = put_numbers(t, e + i, n, mask, list, list_size);
		put_char(t, WI_MARKERS_LIST_END);
		if (!i || by_template(&e[i - 1], &e[i]))
			put_path(t, &e[i]);
		put_char(t, WI_MARKERS_PATH_END);
		put_content(t, &e[i]);
	}
	free(list);
	free(mask);
	return (ok && !t->failed) || wi_err_nomem(err);
}

static bool emit_chunks(const struct text *t, const char *set, wi_marker_emit emit, void *ctx, uint32_t *nr_chunks,
			struct wi_err *err)
{
	size_t total = (t->len + PAYLOAD_BYTES - 1) / PAYLOAD_BYTES;
	char chunk[WI_MARKERS_MAX_TEXT + 2];

	if (total > WI_MARKERS_MAX_CHUNKS)
		return wi_err_set(err, WI_EREFUSED, "too much for one set of markers: %zu chunks", total);
	for (size_t i = 0; i < total; i++) {
		size_t at = i * PAYLOAD_BYTES, len = t->len - at < PAYLOAD_BYTES ? t->len - at : PAYLOAD_BYTES;
		int n = snprintf(chunk, sizeof(chunk), WI_MARKERS_PREFIX "%d %s %zu/%zu ", WI_MARKERS_VERSION, set,
				 i + 1, total);

		memcpy(chunk + n, t->bytes + at, len);
		len += (size_t)n;
		chunk[len++] = WI_MARKERS_END;
		chunk[len++] = '\n';
		if (!emit(ctx, chunk, len, err))
			return false;
	}
	if (nr_chunks)
		*nr_chunks = (uint32_t)total;
	return true;
}

bool wi_markers_encode(const struct wi_filetree *t, const char *set, wi_marker_emit emit, void *ctx,
		       uint32_t *nr_chunks, struct wi_err *err)
{
	size_t nr = wi_filetree_count(t), set_len = strlen(set);
	struct text text = { 0 };
	struct entry *e = NULL;
	bool ok = false;

	if (!nr || !set_len || set_len > WI_MARKERS_MAX_SET)
		return wi_err_set(err, WI_EREFUSED, "no markers to write: %s", nr ? "bad name of the set" : "no files");
	e = calloc(nr, sizeof(*e));
	if (!e)
		return wi_err_nomem(err);
	for (size_t i = 0; i < nr; i++) {
		struct wi_file f = wi_filetree_at(t, i);

		e[i] = make_entry(&f);
	}
	qsort(e, nr, sizeof(*e), order);
	ok = put_records(&text, e, nr, err) && emit_chunks(&text, set, emit, ctx, nr_chunks, err);
	free(text.bytes);
	free(e);
	return ok;
}
