/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The kernel's ring-buffer sub-buffer ("page") as trace files hold it: a time stamp, a commit word (bytes used and
 * the missed-events marks), then records. The layout comes from the recording's own header_page and header_event.
 */
#ifndef WI_RINGBUF_H
#define WI_RINGBUF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyzer/base/err.h"
#include "parsers/evfmt_decode.h"

#define WI_RB_PAGE_MIN 256u
#define WI_RB_PAGE_MAX (1u << 20)

struct wi_rb_layout {
	uint32_t page_bytes;   /* size of a sub-buffer in the file */
	uint32_t header_bytes; /* what header_page says of that size; 0: nothing */
	uint32_t ts_offset, commit_offset, commit_size, data_offset;
};

/* Values of type_len. */
enum { WI_RB_DATA_MAX = 28, WI_RB_PADDING = 29, WI_RB_TIME_EXTEND = 30, WI_RB_TIME_STAMP = 31 };
#define WI_RB_TS_SHIFT 27
#define WI_RB_TS_MSB (0xf8ull << 56) /* an absolute time stamp record has no room for these */

/*
 * From the texts of events/header_page and events/header_event (NULL: not in the file, then long_size decides and
 * today's record layout is assumed). page_bytes is left alone. false: err set, WI_EREFUSED.
 */
bool wi_rb_layout_init(struct wi_rb_layout *l, const char *page_text, size_t page_len, const char *event_text,
		       size_t event_len, uint32_t long_size, const char *path, uint64_t offset, struct wi_err *err);

struct wi_rb_page {
	uint64_t ts;
	const uint8_t *data, *end; /* records */
	bool missed;		   /* records were lost before this page */
	uint64_t nr_missed;	   /* 0: unknown number */
};

#define WI_RB_COMMIT_MASK 0x07ffffffu
#define WI_RB_MISSED_EVENTS (1u << 31)
#define WI_RB_MISSED_STORED (1u << 30)

/* The commit word without the sign that the kernel smears over its upper half together with the missed-events mark. */
WI_INLINE uint32_t wi_rb_commit(const struct wi_rb_layout *l, const uint8_t *page, bool swap)
{
	const uint8_t *p = page + l->commit_offset;

	return l->commit_size == 8 ? (uint32_t)wi_get64(p, swap) : wi_get32(p, swap);
}

/* false: the commit word is absurd (*commit tells). page has l->page_bytes bytes. */
WI_INLINE bool wi_rb_page_open(const struct wi_rb_layout *l, const uint8_t *page, bool swap, struct wi_rb_page *out,
			       uint32_t *commit)
{
	uint32_t word = wi_rb_commit(l, page, swap), used = word & WI_RB_COMMIT_MASK,
		 room = l->page_bytes - l->data_offset;

	*commit = word;
	if (used > room || (word & ~(WI_RB_COMMIT_MASK | WI_RB_MISSED_EVENTS | WI_RB_MISSED_STORED)))
		return false;
	out->ts = wi_get64(page + l->ts_offset, swap);
	out->data = page + l->data_offset;
	out->end = out->data + used;
	out->missed = (word & WI_RB_MISSED_EVENTS) != 0;
	out->nr_missed = 0;
	if (out->missed && (word & WI_RB_MISSED_STORED) && room - used >= l->commit_size)
		out->nr_missed = l->commit_size == 8 ? wi_get64(out->end, swap) : wi_get32(out->end, swap);
	return true;
}

/* Time may step back by so much, in units of the clock: an interrupt's records may carry later stamps than what they
 * interrupted. */
#define WI_RB_BACKWARD (1ull << 30)

/*
 * The latest stamp that is credible in a page that begins at ts, after records up to seen, when the pages from next on
 * follow it: they begin later. 0: ts itself is not credible. UINT64_MAX: nothing follows that could tell.
 */
uint64_t wi_rb_latest(const struct wi_rb_layout *l, uint64_t ts, uint64_t seen, const uint8_t *next, const uint8_t *end,
		      bool swap);

/* One entry of a page: a record, or something between records. */
enum wi_rb_entry { WI_RB_RECORD, WI_RB_SKIP, WI_RB_BAD };

/*
 * Reads the entry at *p (< end): moves *p behind it, *ts to its time; a record's bytes in *rec, *len. WI_RB_BAD: its
 * size does not fit into the page; nothing moved.
 */
WI_INLINE enum wi_rb_entry wi_rb_next(const uint8_t **p, const uint8_t *end, bool swap, uint64_t *ts,
				      const uint8_t **rec, uint32_t *len)
{
	const bool big = swap != (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__);
	const uint8_t *at = *p;
	size_t left = (size_t)(end - at);

	if (left < 4)
		return WI_RB_BAD;
	uint32_t head = wi_get32(at, swap);
	uint32_t type_len = big ? head >> 27 : head & 31, delta = big ? head & 0x07ffffff : head >> 5;

	if (__builtin_expect(type_len - 1 < WI_RB_DATA_MAX, 1)) {
		uint32_t n = type_len * 4;

		if (n > left - 4)
			return WI_RB_BAD;
		*rec = at + 4;
		*len = n;
		*p = at + 4 + n;
		*ts += delta;
		return WI_RB_RECORD;
	}
	if (type_len == WI_RB_PADDING && !delta) { /* the rest of the page is empty */
		*p = end;
		return WI_RB_SKIP;
	}
	if (left < 8)
		return WI_RB_BAD;
	uint64_t array = wi_get32(at + 4, swap);

	if (type_len == WI_RB_TIME_EXTEND) {
		*ts += (array << WI_RB_TS_SHIFT) + delta;
		*p = at + 8;
		return WI_RB_SKIP;
	}
	if (type_len == WI_RB_TIME_STAMP) {
		uint64_t abs = (array << WI_RB_TS_SHIFT) + delta;

		if (*ts & WI_RB_TS_MSB) {
			abs |= *ts & WI_RB_TS_MSB;
			if (abs < *ts)
				abs += 1ull << 59;
		}
		*ts = abs;
		*p = at + 8;
		return WI_RB_SKIP;
	}
	if (type_len == WI_RB_PADDING) { /* a record that was discarded after it had been reserved */
		if (array > left - 4)
			return WI_RB_BAD;
		*ts += delta;
		*p = at + 4 + array;
		return WI_RB_SKIP;
	}
	/* type_len 0: the length, with itself, in the first word */
	if (array < 4 || ((array + 3) & ~3ull) > left - 4)
		return WI_RB_BAD;
	*rec = at + 8;
	*len = (uint32_t)array - 4;
	*p = at + 4 + ((array + 3) & ~3ull);
	*ts += delta;
	return WI_RB_RECORD;
}

/*
 * How many of the bytes, from their start on, look like whole pages of l->page_bytes: not empty, with records that end
 * exactly at the commit, and with time that does not run backward. Used where a recording leaves its page size or byte
 * order open: the right one explains most, and of two that explain as much the smaller page.
 */
size_t wi_rb_plausible(const struct wi_rb_layout *l, const uint8_t *bytes, size_t len, bool swap);

#endif
