/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdlib.h>
#include <string.h>

#include "analyzer/base/fmt.h"
#include "analyzer/base/utf8.h"
#include "analyzer/store/bundle_priv.h"

#define CHUNK_BYTES 16384u

struct chunk {
	struct chunk *next;
	size_t used, size;
	char at[];
};

struct wi_bundle_memory {
	struct chunk *chunk;
	size_t metric_room, hist_room, row_room, tag_room;
	bool finished;
};

static const char *const status_name[] = {
#define X(name, text, meaning) text,
	WI_RUN_STATUSES(X)
#undef X
};

const char *wi_run_status_name(enum wi_run_status status)
{
	return status_name[status];
}

bool wi_run_status_parse(const char *text, enum wi_run_status *status)
{
	for (int i = 0; i < WI_NR_RUN_STATUSES; i++)
		if (!strcmp(status_name[i], text)) {
			*status = (enum wi_run_status)i;
			return true;
		}
	return false;
}

/* ---- memory ---- */

void *wi_bundle_take(struct wi_bundle *b, size_t size)
{
	struct wi_bundle_memory *m = b->memory;

	size = (size + 7) & ~(size_t)7;
	if (!m->chunk || size > m->chunk->size - m->chunk->used) {
		size_t room = size > CHUNK_BYTES ? size : CHUNK_BYTES;
		struct chunk *c = malloc(sizeof(*c) + room);

		if (!c)
			return NULL;
		*c = (struct chunk){ .next = m->chunk, .size = room };
		m->chunk = c;
	}
	void *p = m->chunk->at + m->chunk->used;

	m->chunk->used += size;
	return p;
}

const char *wi_bundle_copy(struct wi_bundle *b, const char *s, size_t len)
{
	char *p = wi_bundle_take(b, len + 1);

	if (!p)
		return NULL;
	memcpy(p, s, len);
	p[len] = '\0';
	return p;
}

/* Room for one more element of an array. */
static bool grow(void **at, size_t nr, size_t *room, size_t each)
{
	if (nr < *room)
		return true;
	size_t more = *room ? 2 * *room : 64;
	void *p = reallocarray(*at, more, each);

	if (!p)
		return false;
	*at = p;
	*room = more;
	return true;
}

bool wi_bundle_init(struct wi_bundle *b, struct wi_err *err)
{
	*b = (struct wi_bundle){ .memory = calloc(1, sizeof(*b->memory)) };
	return b->memory || wi_err_nomem(err);
}

void wi_bundle_fini(struct wi_bundle *b)
{
	for (size_t i = 0; i < b->nr_hists; i++)
		wi_hist_fini(&b->hist[i].hist);
	free(b->metric);
	free(b->hist);
	free(b->row);
	free(b->tag);
	while (b->memory && b->memory->chunk) {
		struct chunk *c = b->memory->chunk;

		b->memory->chunk = c->next;
		free(c);
	}
	free(b->memory);
	*b = (struct wi_bundle){ 0 };
}

/* ---- texts ---- */

bool wi_bundle_is_text(const char *s, size_t len)
{
	uint32_t cp;

	for (size_t i = 0; i < len;) {
		if (!s[i])
			return false;
		if ((unsigned char)s[i] < 0x80) {
			i++;
			continue;
		}
		i += wi_utf8_next(s + i, len - i, &cp);
		if (cp == WI_UTF8_INVALID)
			return false;
	}
	return true;
}

/* Bytes as text: what is no UTF-8 as U+FFFD, and control characters too, but for line ends and tabs where kept. */
static const char *cleaned(struct wi_bundle *b, const char *s, size_t len, bool lines)
{
	static const char replacement[] = "\xef\xbf\xbd";
	char *out = wi_bundle_take(b, 3 * len + 1);
	size_t n = 0;

	for (size_t i = 0; out && i < len;) {
		uint32_t cp;
		size_t used = wi_utf8_next(s + i, len - i, &cp);
		bool line = s[i] == '\n' || s[i] == '\t';

		if (line && !lines) {
			out[n++] = ' ';
		} else if (cp == WI_UTF8_INVALID || (!line && (cp < 0x20 || cp == 0x7f))) {
			memcpy(out + n, replacement, 3);
			n += 3;
		} else {
			memcpy(out + n, s + i, used);
			n += used;
		}
		i += used;
	}
	if (out)
		out[n] = '\0';
	return out;
}

/* A file's name as text: the escapes of wi_fmt_char(). */
static const char *escaped(struct wi_bundle *b, const char *path)
{
	size_t len = strlen(path), n = 0, used;
	char *out = wi_bundle_take(b, len * WI_FMT_CHAR_LEN + 1);

	for (size_t i = 0; out && i < len; i += used) {
		char part[WI_FMT_CHAR_LEN];
		size_t w = wi_fmt_char(part, path + i, len - i, &used);

		memcpy(out + n, part, w);
		n += w;
	}
	if (out)
		out[n] = '\0';
	return out;
}

bool wi_bundle_identify(struct wi_bundle *b, const uint8_t sha256[WI_SHA256_BYTES], uint64_t size_bytes,
			const char *path, const char *version, const char *analysis, struct wi_err *err)
{
	if (size_bytes > INT64_MAX)
		return wi_err_set(err, WI_EREFUSED, "a trace cannot have %llu bytes", (unsigned long long)size_bytes);
	if (path && (!*path || strlen(path) > WI_STORE_PATH_MAX))
		return wi_err_set(err, WI_EREFUSED, "the path of a trace is %s",
				  *path ? "longer than 4096 bytes" : "empty");
	memcpy(b->sha256, sha256, sizeof(b->sha256));
	b->size_bytes = size_bytes;
	b->path = path ? escaped(b, path) : NULL;
	b->version = cleaned(b, version, strlen(version), false);
	b->analysis = cleaned(b, analysis, strlen(analysis), false);
	return ((!path || b->path) && b->version && b->analysis) || wi_err_nomem(err);
}

bool wi_bundle_outcome(struct wi_bundle *b, enum wi_run_status status, const char *reason, int signal, int exit_status,
		       const char *stderr_bytes, size_t nr, struct wi_err *err)
{
	b->status = status;
	b->signal = signal;
	b->exit_status = exit_status;
	b->reason = reason ? cleaned(b, reason, strlen(reason), false) : NULL;
	b->stderr_tail = NULL;
	if (reason && !b->reason)
		return wi_err_nomem(err);
	if (!stderr_bytes || !nr)
		return true;
	if (nr > WI_STDERR_TAIL) {
		stderr_bytes += nr - WI_STDERR_TAIL;
		nr = WI_STDERR_TAIL;
		/* Not in the middle of a character. */
		while (nr && ((unsigned char)*stderr_bytes & 0xc0) == 0x80) {
			stderr_bytes++;
			nr--;
		}
	}
	b->stderr_tail = cleaned(b, stderr_bytes, nr, true);
	return b->stderr_tail || wi_err_nomem(err);
}

bool wi_bundle_tag(struct wi_bundle *b, const char *key, const char *value, struct wi_err *err)
{
	size_t nk = strlen(key), nv = strlen(value);

	if (!nk || nk > WI_TAG_KEY_MAX || !wi_bundle_is_text(key, nk))
		return wi_err_set(err, WI_EUSAGE, "a tag's key must be 1 to %u bytes of UTF-8", WI_TAG_KEY_MAX);
	if (!nv || nv > WI_TAG_VALUE_MAX || !wi_bundle_is_text(value, nv))
		return wi_err_set(err, WI_EUSAGE, "the value of tag %.64s must be 1 to %u bytes of UTF-8", key,
				  WI_TAG_VALUE_MAX);
	for (size_t i = 0; i < b->nr_tags; i++)
		if (!strcmp(b->tag[i].key, key) && !strcmp(b->tag[i].value, value))
			return true;
	if (b->nr_tags >= WI_BUNDLE_MAX_TAGS)
		return wi_err_set(err, WI_EUSAGE, "more than %u tags of one trace", WI_BUNDLE_MAX_TAGS);
	if (!grow((void **)&b->tag, b->nr_tags, &b->memory->tag_room, sizeof(*b->tag)))
		return wi_err_nomem(err);
	struct wi_tag t = { wi_bundle_copy(b, key, nk), wi_bundle_copy(b, value, nv) };

	if (!t.key || !t.value)
		return wi_err_nomem(err);
	b->tag[b->nr_tags++] = t;
	b->memory->finished = false;
	return true;
}

/* ---- figures ---- */

bool wi_bundle_put_metric(struct wi_bundle *b, const struct wi_metric_value *v, struct wi_err *err)
{
	if (!grow((void **)&b->metric, b->nr_metrics, &b->memory->metric_room, sizeof(*b->metric)))
		return wi_err_nomem(err);
	b->metric[b->nr_metrics++] = *v;
	b->memory->finished = false;
	return true;
}

bool wi_bundle_put_hist(struct wi_bundle *b, const char *path, struct wi_hist *taken, struct wi_err *err)
{
	if (b->nr_hists >= WI_BUNDLE_MAX_HISTS) {
		wi_hist_fini(taken);
		return wi_err_set(err, WI_EIO, "more than %u histograms in one analysis", WI_BUNDLE_MAX_HISTS);
	}
	if (!grow((void **)&b->hist, b->nr_hists, &b->memory->hist_room, sizeof(*b->hist))) {
		wi_hist_fini(taken);
		return wi_err_nomem(err);
	}
	b->hist[b->nr_hists++] = (struct wi_metric_hist){ path, *taken };
	*taken = (struct wi_hist){ 0 };
	b->memory->finished = false;
	return true;
}

struct wi_row *wi_bundle_put_row(struct wi_bundle *b, enum wi_part part, struct wi_err *err)
{
	size_t nr = wi_part_info(part)->nr;

	if (b->nr_rows >= WI_BUNDLE_MAX_ROWS) {
		wi_err_set(err, WI_EIO, "more than %u models and worst wakeups in one analysis", WI_BUNDLE_MAX_ROWS);
		return NULL;
	}
	if (!grow((void **)&b->row, b->nr_rows, &b->memory->row_room, sizeof(*b->row))) {
		wi_err_nomem(err);
		return NULL;
	}
	struct wi_cell *cell = wi_bundle_take(b, nr * sizeof(*cell));

	if (!cell) {
		wi_err_nomem(err);
		return NULL;
	}
	memset(cell, 0, nr * sizeof(*cell));
	b->memory->finished = false;
	b->row[b->nr_rows] = (struct wi_row){ part, cell };
	return &b->row[b->nr_rows++];
}

struct wi_row *wi_bundle_row(struct wi_bundle *b, enum wi_part part, size_t text_column, const char *text,
			     size_t number_column, int64_t number, struct wi_err *err)
{
	size_t nr = wi_part_info(part)->nr;

	for (size_t i = 0; i < b->nr_rows; i++) {
		struct wi_cell *c = b->row[i].cell;

		if (b->row[i].part != part)
			continue;
		if (text_column < nr && strcmp(c[text_column].text, text))
			continue;
		if (number_column >= nr || c[number_column].integer == number)
			return &b->row[i];
	}
	struct wi_row *row = wi_bundle_put_row(b, part, err);

	if (row && text_column < nr)
		row->cell[text_column] = (struct wi_cell){ .type = WI_CELL_TEXT, .text = text };
	if (row && number_column < nr)
		row->cell[number_column] = (struct wi_cell){ .type = WI_CELL_INTEGER, .integer = number };
	return row;
}

const struct wi_row *wi_bundle_rows(const struct wi_bundle *b, enum wi_part part, size_t *nr)
{
	const struct wi_row *first = NULL;

	*nr = 0;
	for (size_t i = 0; i < b->nr_rows; i++)
		if (b->row[i].part == part) {
			first = first ? first : &b->row[i];
			++*nr;
		}
	return first;
}

/* ---- order ---- */

static int by_path(const void *a, const void *b)
{
	return strcmp(((const struct wi_metric_value *)a)->path, ((const struct wi_metric_value *)b)->path);
}

static int by_hist_path(const void *a, const void *b)
{
	return strcmp(((const struct wi_metric_hist *)a)->path, ((const struct wi_metric_hist *)b)->path);
}

static int by_tag(const void *a, const void *b)
{
	const struct wi_tag *x = a, *y = b;
	int c = strcmp(x->key, y->key);

	return c ? c : strcmp(x->value, y->value);
}

static bool same_value(const struct wi_metric_value *a, const struct wi_metric_value *b)
{
	return a->is_real == b->is_real && (a->is_real ? a->real == b->real : a->integer == b->integer);
}

static bool same_hist(const struct wi_hist *a, const struct wi_hist *b)
{
	if (a->count != b->count || a->sum_ns != b->sum_ns ||
	    (a->count && (a->min_ns != b->min_ns || a->max_ns != b->max_ns)))
		return false;
	for (uint32_t i = 0; i < a->nr || i < b->nr; i++)
		if ((i < a->nr ? a->bucket[i] : 0) != (i < b->nr ? b->bucket[i] : 0))
			return false;
	return true;
}

static bool disagree(const char *path, struct wi_err *err)
{
	return wi_err_set(err, WI_EIO, "two documents of one analysis disagree on %.200s", path);
}

/* By part, and in it by what names a row. */
static int by_row(const void *a, const void *b)
{
	const struct wi_row *x = a, *y = b;
	size_t text, number;
	int c = 0;

	if (x->part != y->part)
		return x->part < y->part ? -1 : 1;
	wi_part_key(x->part, &text, &number);
	if (text != (size_t)-1)
		c = strcmp(x->cell[text].text, y->cell[text].text);
	if (!c && number != (size_t)-1)
		c = x->cell[number].integer < y->cell[number].integer
			    ? -1
			    : x->cell[number].integer > y->cell[number].integer;
	return c;
}

static bool sort_metrics(struct wi_bundle *b, struct wi_err *err)
{
	size_t n = 0;

	if (b->nr_metrics)
		qsort(b->metric, b->nr_metrics, sizeof(*b->metric), by_path);
	for (size_t i = 0; i < b->nr_metrics; i++) {
		if (n && !strcmp(b->metric[n - 1].path, b->metric[i].path)) {
			if (!same_value(&b->metric[n - 1], &b->metric[i]))
				return disagree(b->metric[i].path, err);
			continue;
		}
		b->metric[n++] = b->metric[i];
	}
	b->nr_metrics = n;
	return true;
}

static bool sort_hists(struct wi_bundle *b, struct wi_err *err)
{
	size_t n = 0;
	bool ok = true;

	if (b->nr_hists)
		qsort(b->hist, b->nr_hists, sizeof(*b->hist), by_hist_path);
	for (size_t i = 0; i < b->nr_hists; i++) {
		if (n && !strcmp(b->hist[n - 1].path, b->hist[i].path)) {
			if (!same_hist(&b->hist[n - 1].hist, &b->hist[i].hist))
				ok = disagree(b->hist[i].path, err);
			wi_hist_fini(&b->hist[i].hist);
			continue;
		}
		b->hist[n++] = b->hist[i];
	}
	b->nr_hists = n;
	return ok;
}

bool wi_bundle_finish(struct wi_bundle *b, struct wi_err *err)
{
	if (b->memory->finished)
		return true;
	if (!sort_metrics(b, err) || !sort_hists(b, err))
		return false;
	if (b->nr_rows)
		qsort(b->row, b->nr_rows, sizeof(*b->row), by_row);
	if (b->nr_tags)
		qsort(b->tag, b->nr_tags, sizeof(*b->tag), by_tag);
	b->memory->finished = true;
	return true;
}
