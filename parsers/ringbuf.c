/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "parsers/ringbuf.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* "\tfield: TYPE NAME;\toffset:N;\tsize:N;" - the line of one field. */
static bool header_field(const char *text, size_t len, const char *name, uint32_t *offset, uint32_t *size)
{
	const char *end = text + len;

	for (const char *line = text; line < end;) {
		const char *nl = memchr(line, '\n', (size_t)(end - line));
		size_t n = nl ? (size_t)(nl - line) : (size_t)(end - line);
		char buf[256];
		unsigned int off, sz;

		if (n < sizeof(buf)) {
			memcpy(buf, line, n);
			buf[n] = '\0';
			char *semi = strchr(buf, ';'), *at = strstr(buf, "offset:");
			size_t k = strlen(name);

			if (semi && at && (size_t)(semi - buf) > k && !memcmp(semi - k, name, k) &&
			    semi[-(long)k - 1] == ' ' && sscanf(at, "offset:%u; size:%u;", &off, &sz) == 2) {
				*offset = off;
				*size = sz;
				return true;
			}
		}
		if (!nl)
			break;
		line = nl + 1;
	}
	return false;
}

/* A number behind a label: "time_delta  :   27 bits", "padding : type == 29". */
static bool event_number(const char *text, size_t len, const char *label, unsigned int *value)
{
	const char *p = memmem(text, len, label, strlen(label)), *end = text + len;

	if (!p)
		return false;
	p += strlen(label);
	while (p < end && (*p < '0' || *p > '9') && *p != '\n')
		p++;
	if (p == end || *p == '\n')
		return false;
	*value = 0;
	for (; p < end && *p >= '0' && *p <= '9' && *value < 10000; p++)
		*value = *value * 10 + (unsigned int)(*p - '0');
	return true;
}

static bool check_event_header(const char *text, size_t len, const char *path, uint64_t offset, struct wi_err *err)
{
	static const struct {
		const char *label;
		unsigned int value;
	} today[] = { { "type_len", 5 },
		      { "time_delta", 27 },
		      { "array", 32 },
		      { "padding", WI_RB_PADDING },
		      { "time_extend", WI_RB_TIME_EXTEND },
		      { "data max type_len", WI_RB_DATA_MAX } };

	for (size_t i = 0; i < sizeof(today) / sizeof(today[0]); i++) {
		unsigned int v;

		if (event_number(text, len, today[i].label, &v) && v != today[i].value)
			return wi_err_at(err, WI_EREFUSED, path, offset,
					 "ring-buffer record layout is not known: header_event says %s %u, not %u",
					 today[i].label, v, today[i].value);
	}
	if (!memmem(text, len, "type_len", 8))
		return wi_err_at(err, WI_EREFUSED, path, offset,
				 "ring-buffer record layout is not known: header_event has no type_len");
	return true;
}

bool wi_rb_layout_init(struct wi_rb_layout *l, const char *page_text, size_t page_len, const char *event_text,
		       size_t event_len, uint32_t long_size, const char *path, uint64_t offset, struct wi_err *err)
{
	uint32_t size;

	l->ts_offset = 0;
	l->commit_offset = 8;
	l->commit_size = long_size;
	l->data_offset = 8 + long_size;
	l->header_bytes = 0;
	if (page_text && page_len) {
		if (!header_field(page_text, page_len, "timestamp", &l->ts_offset, &size) || size != 8)
			return wi_err_at(err, WI_EREFUSED, path, offset, "header_page: no 8-byte timestamp field");
		if (!header_field(page_text, page_len, "commit", &l->commit_offset, &l->commit_size) ||
		    (l->commit_size != 4 && l->commit_size != 8))
			return wi_err_at(err, WI_EREFUSED, path, offset,
					 "header_page: no commit field of 4 or 8 bytes");
		if (!header_field(page_text, page_len, "data", &l->data_offset, &size))
			return wi_err_at(err, WI_EREFUSED, path, offset, "header_page: no data field");
		if (l->ts_offset > 64 || l->commit_offset > 64 || l->data_offset > 128 ||
		    l->ts_offset + 8 > l->data_offset || l->commit_offset + l->commit_size > l->data_offset)
			return wi_err_at(err, WI_EREFUSED, path, offset,
					 "header_page: absurd offsets: timestamp %u, commit %u, data %u", l->ts_offset,
					 l->commit_offset, l->data_offset);
		if (size <= WI_RB_PAGE_MAX)
			l->header_bytes = l->data_offset + size;
	}
	return !event_text || !event_len || check_event_header(event_text, event_len, path, offset, err);
}

static bool is_before(uint64_t a, uint64_t b)
{
	return a < b && b - a > WI_RB_BACKWARD;
}

/* Stamp of the next page with records. */
static bool next_stamp(const struct wi_rb_layout *l, const uint8_t **next, const uint8_t *end, bool swap, uint64_t *ts)
{
	while ((size_t)(end - *next) >= l->page_bytes) {
		struct wi_rb_page pg;
		uint32_t commit;
		bool ok = wi_rb_page_open(l, *next, swap, &pg, &commit) && pg.data < pg.end;

		*next += l->page_bytes;
		if (ok) {
			*ts = pg.ts;
			return true;
		}
	}
	return false;
}

uint64_t wi_rb_latest(const struct wi_rb_layout *l, uint64_t ts, uint64_t seen, const uint8_t *next, const uint8_t *end,
		      bool swap)
{
	uint64_t after;

	if (is_before(ts, seen))
		return 0;
	if (!next_stamp(l, &next, end, swap, &after))
		return UINT64_MAX;
	if (is_before(after, ts)) {
		bool second_is_wrong = is_before(after, seen);

		/* which of the two is wrong, the third one tells */
		if (next_stamp(l, &next, end, swap, &after))
			second_is_wrong = !is_before(after, ts);
		if (!second_is_wrong)
			return 0;
		if (is_before(after, ts))
			return UINT64_MAX;
	}
	return after > UINT64_MAX - WI_RB_BACKWARD ? UINT64_MAX : after + WI_RB_BACKWARD;
}

static bool page_fits(const struct wi_rb_page *pg, bool swap)
{
	const uint8_t *p = pg->data, *rec;
	uint64_t ts = pg->ts;
	uint32_t len;

	while (p < pg->end)
		if (wi_rb_next(&p, pg->end, swap, &ts, &rec, &len) == WI_RB_BAD)
			return false;
	return true;
}

size_t wi_rb_plausible(const struct wi_rb_layout *l, const uint8_t *bytes, size_t len, bool swap)
{
	uint32_t commit;
	uint64_t last = 0;
	size_t at;

	for (at = 0; at + l->page_bytes <= len; at += l->page_bytes) {
		struct wi_rb_page pg;

		if (!wi_rb_page_open(l, bytes + at, swap, &pg, &commit) || pg.data == pg.end || pg.ts < last ||
		    !page_fits(&pg, swap))
			break;
		last = pg.ts;
	}
	return at;
}
