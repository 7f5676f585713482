/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "parsers/tracedat_choose.h"

#include <stdio.h>
#include <string.h>

#include "parsers/tracedat_data.h"

/* How much of each CPU is looked at to learn what a buffer holds. */
#define PEEK_BLOCKS 2

static bool is_sched(uint32_t slot)
{
	return slot == WI_EV_SCHED_SWITCH || slot == WI_EV_SCHED_WAKING || slot == WI_EV_SCHED_WAKEUP;
}

static bool block_has_sched(const struct wi_td *td, const struct wi_rb_layout *l, const struct wi_rb_block *blk)
{
	const bool swap = td->file.swap;

	for (size_t at = 0; at + l->page_bytes <= blk->bytes; at += l->page_bytes) {
		struct wi_rb_page pg;
		const uint8_t *rec;
		uint32_t commit, len;
		uint64_t ts = 0;

		if (!wi_rb_page_open(l, blk->data + at, swap, &pg, &commit))
			continue;
		for (const uint8_t *p = pg.data; p < pg.end;) {
			enum wi_rb_entry e = wi_rb_next(&p, pg.end, swap, &ts, &rec, &len);

			if (e == WI_RB_BAD)
				break;
			if (e == WI_RB_RECORD && len >= td->formats->common_len &&
			    is_sched(td->formats->slot[wi_get16(rec + td->formats->common_type.offset, swap)]))
				return true;
		}
	}
	return false;
}

/*
 * Size of the sub-buffers: the buffer's page size, unless the recording's own header_page says otherwise and the data
 * agree with that.
 */
static void choose_page_bytes(const struct wi_td *td, const struct wi_td_buffer *b, const struct wi_rb_block *blk,
			      struct wi_rb_layout *l)
{
	struct wi_rb_layout other = td->layout;

	*l = td->layout;
	l->page_bytes = b->page_bytes;
	other.page_bytes = td->layout.header_bytes;
	if (!other.page_bytes || other.page_bytes == l->page_bytes || other.page_bytes < WI_RB_PAGE_MIN ||
	    other.page_bytes > WI_RB_PAGE_MAX)
		return;
	size_t here = wi_rb_plausible(l, blk->data, blk->bytes, td->file.swap);
	size_t there = wi_rb_plausible(&other, blk->data, blk->bytes, td->file.swap);

	if (there > here || (there == here && there && other.page_bytes < l->page_bytes))
		*l = other;
}

/* Looks at the start of every CPU's data: page size, and whether there are sched events. */
static bool peek_buffer(struct wi_td *td, const struct wi_td_buffer *b, bool want_sched, struct wi_rb_layout *l,
			bool *sched, struct wi_err *err)
{
	const uint32_t said = td->layout.header_bytes;
	struct wi_td_data *d =
		wi_td_data_new(td, b, said >= WI_RB_PAGE_MIN && said < b->page_bytes ? said : b->page_bytes, err);
	uint32_t noted = td->log->nr;
	bool ok = d != NULL, sized = false;

	*sched = false;
	*l = td->layout;
	l->page_bytes = b->page_bytes;
	for (uint32_t i = 0; ok && i < b->nr_cpus && !(sized && (*sched || !want_sched)); i++) {
		for (int k = 0; k < PEEK_BLOCKS && !*sched; k++) {
			struct wi_rb_block blk = { 0 };
			int rc = wi_td_data_ops.next_block(d, i, &blk, err);

			ok = rc >= 0;
			if (rc <= 0)
				break;
			if (!sized)
				choose_page_bytes(td, b, &blk, l);
			sized = true;
			if (!want_sched)
				break;
			*sched = block_has_sched(td, l, &blk);
		}
	}
	wi_damage_rewind(td->log, noted); /* they come again when the data are read */
	wi_td_data_free(d);
	return ok;
}

static const struct wi_td_buffer *buffer_by_name(const struct wi_td *td, const char *name, struct wi_err *err)
{
	char list[256] = "";
	size_t at = 0;

	for (uint32_t i = 0; i < td->nr_buffers; i++) {
		if (!strcmp(td->buffer[i].name, name) && !td->buffer[i].text)
			return &td->buffer[i];
		if (at < sizeof(list))
			at += (size_t)snprintf(list + at, sizeof(list) - at, "%s\"%s\"", i ? ", " : "",
					       td->buffer[i].name);
	}
	wi_err_at(err, WI_EREFUSED, td->file.path, WI_NO_OFFSET, "no buffer \"%.64s\" in the file: it has %s", name,
		  list);
	return NULL;
}

/* The buffer with sched events, of several the one with most data; without any, the one with most data. */
static const struct wi_td_buffer *best_buffer(struct wi_td *td, struct wi_err *err)
{
	const struct wi_td_buffer *best = NULL;
	bool best_sched = false;

	for (uint32_t i = 0; i < td->nr_buffers; i++) {
		const struct wi_td_buffer *b = &td->buffer[i];
		struct wi_rb_layout ignored;
		bool sched = false;

		if (b->text)
			continue;
		if (td->nr_buffers > 1 && b->bytes && !peek_buffer(td, b, true, &ignored, &sched, err))
			return NULL;
		if (!best || sched > best_sched || (sched == best_sched && b->bytes > best->bytes)) {
			best = b;
			best_sched = sched;
		}
	}
	if (!best)
		wi_err_at(err, WI_EREFUSED, td->file.path, WI_NO_OFFSET, "no ring-buffer data in the file");
	return best;
}

const struct wi_td_buffer *wi_td_choose_buffer(struct wi_td *td, const char *name, struct wi_err *err)
{
	return name ? buffer_by_name(td, name, err) : best_buffer(td, err);
}

bool wi_td_buffer_layout(struct wi_td *td, const struct wi_td_buffer *b, struct wi_rb_layout *l, struct wi_err *err)
{
	bool ignored;

	return peek_buffer(td, b, false, l, &ignored, err);
}
