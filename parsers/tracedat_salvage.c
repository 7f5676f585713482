/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A version 7 file that was cut has lost its last options, which say where each CPU's data begin. Sections follow one
 * another, so they are found by stepping from header to header; and CPU data begin at page boundaries, one CPU after
 * another, so they are found by stepping from chunk to chunk (compressed) or where time jumps back (not compressed).
 */
#include "parsers/tracedat_head.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/base/cpumask.h"

#define SECTIONS_MAX 65536u

static bool plausible_id(uint32_t id)
{
	return id == WI_TD_SEC_OPTIONS || id == WI_TD_SEC_BUFFER || (id >= WI_TD_SEC_STRINGS && id < WI_TD_NR_SECTIONS);
}

bool wi_td_scan_sections(struct wi_td *td, uint64_t from, struct wi_err *err)
{
	for (uint32_t i = 0; i < SECTIONS_MAX && from < td->file.bytes; i++) {
		struct wi_td_section sec;
		struct wi_err why = { 0 };
		uint64_t next;
		uint32_t id;

		if (!wi_td_section_at(td, from, &id, &sec) || !plausible_id(id))
			return true;
		if (!td->section[id].offset)
			td->section[id] = sec;
		if (id == WI_TD_SEC_OPTIONS && sec.offset + sec.bytes > td->options_end &&
		    !wi_td_read_options(td, from, &next, &why) && why.code != WI_EREFUSED) {
			*err = why;
			return false;
		}
		if (sec.bytes > td->file.bytes - sec.offset)
			return true;
		from = sec.offset + sec.bytes;
	}
	return true;
}

static uint64_t page_align(const struct wi_td *td, uint64_t offset)
{
	uint64_t page = td->page_bytes;

	return (offset + page - 1) / page * page;
}

/* CPUs that have data, as their statistics say, in order; the n-th of them. Without statistics: n. */
static uint32_t nth_cpu(const struct wi_td *td, uint32_t n)
{
	uint32_t seen = 0, any = 0;

	for (uint32_t i = 0; i < td->nr_stats; i++) {
		const struct wi_td_stat *s = &td->stat[i];

		if (*s->buffer)
			continue;
		any++;
		if (s->entries + s->read && seen++ == n)
			return s->cpu;
	}
	return any ? UINT32_MAX : n;
}

static bool add_cpu(struct wi_td *td, struct wi_td_buffer *b, uint64_t offset, uint64_t bytes, bool cut,
		    struct wi_err *err)
{
	struct wi_td_cpu *all;
	uint32_t cpu = nth_cpu(td, b->nr_cpus);

	if (cpu >= WI_MAX_CPUS)
		return true;
	all = realloc(b->cpu, (b->nr_cpus + 1) * sizeof(*all));
	if (!all)
		return wi_err_nomem(err);
	b->cpu = all;
	all[b->nr_cpus++] = (struct wi_td_cpu){ .cpu = cpu, .offset = offset, .bytes = bytes, .cut = cut };
	return true;
}

/* End of the run of chunks at offset; 0 if there is no such run. *cut: the file ends inside it. */
static uint64_t chunk_run(const struct wi_td *td, uint64_t offset, bool *cut)
{
	struct wi_err ignored = { 0 };
	uint8_t head[8];
	uint32_t count;

	*cut = false;
	if (!wi_td_read(&td->file, offset, head, 4, "", &ignored))
		return 0;
	count = wi_get32(head, td->file.swap);
	if (!count)
		return 0;
	offset += 4;
	for (uint32_t i = 0; i < count; i++) {
		if (offset + 8 > td->file.bytes) {
			*cut = true;
			return td->file.bytes;
		}
		ignored.code = WI_OK;
		if (!wi_td_read(&td->file, offset, head, 8, "", &ignored))
			return 0;
		uint32_t in = wi_get32(head, td->file.swap), n = wi_get32(head + 4, td->file.swap);

		if (!in || in > WI_TD_CHUNK_MAX || !n || n > WI_TD_CHUNK_MAX)
			return i ? offset : 0;
		if (in > td->file.bytes - offset - 8) {
			*cut = true;
			return td->file.bytes;
		}
		offset += 8 + (uint64_t)in;
	}
	return offset;
}

static bool salvage_chunks(struct wi_td *td, struct wi_td_buffer *b, uint64_t from, uint64_t end, struct wi_err *err)
{
	bool cut;

	for (uint64_t at = page_align(td, from); at < end && b->nr_cpus < WI_MAX_CPUS;) {
		uint64_t stop = chunk_run(td, at, &cut);

		if (!stop)
			break;
		if (!add_cpu(td, b, at, stop - at, cut, err))
			return false;
		at = page_align(td, stop);
	}
	return true;
}

static bool page_time(const struct wi_td *td, uint64_t at, uint64_t *ts)
{
	struct wi_err ignored = { 0 };
	uint8_t head[256];
	struct wi_rb_layout l = td->layout;
	struct wi_rb_page pg;
	uint32_t commit;

	l.page_bytes = td->page_bytes;
	if (!wi_td_read(&td->file, at, head, l.data_offset, "", &ignored) ||
	    !wi_rb_page_open(&l, head, td->file.swap, &pg, &commit))
		return false;
	*ts = pg.ts;
	return true;
}

static bool salvage_pages(struct wi_td *td, struct wi_td_buffer *b, uint64_t from, uint64_t end, struct wi_err *err)
{
	uint64_t start = page_align(td, from), last = 0, ts, at;

	for (at = start; at + td->page_bytes <= end && b->nr_cpus < WI_MAX_CPUS; at += td->page_bytes) {
		if (!page_time(td, at, &ts))
			continue;
		if (ts < last && at > start) {
			if (!add_cpu(td, b, start, at - start, false, err))
				return false;
			start = at;
		}
		last = ts;
	}
	return at == start || add_cpu(td, b, start, end - start, true, err);
}

/* CPUs that had data, and whose data the cut took away. */
static bool add_lost_cpus(struct wi_td *td, struct wi_td_buffer *b, struct wi_err *err)
{
	while (b->nr_cpus < WI_MAX_CPUS) {
		uint32_t cpu = td->nr_stats		    ? nth_cpu(td, b->nr_cpus)
			       : b->nr_cpus < td->cpu_count ? b->nr_cpus
							    : UINT32_MAX;

		if (cpu == UINT32_MAX)
			return true;
		wi_damage_note(td->log, WI_DMG_CUT, cpu, td->file.bytes,
			       "CPU %" PRIu32 " of buffer top: file ends before its data", cpu);
		if (!add_cpu(td, b, td->file.bytes, 0, true, err))
			return false;
	}
	return true;
}

bool wi_td_salvage_buffer(struct wi_td *td, struct wi_err *err)
{
	const struct wi_td_section *sec = &td->section[WI_TD_SEC_BUFFER];
	struct wi_td_buffer *b;
	uint64_t end;

	if (!sec->offset)
		return true;
	end = sec->bytes && sec->bytes < td->file.bytes - sec->offset ? sec->offset + sec->bytes : td->file.bytes;
	b = wi_td_add_buffer(td, "", sec->offset - 16, err);
	if (!b)
		return false;
	b->compressed = sec->compressed;
	if (!(b->compressed ? salvage_chunks(td, b, sec->offset, end, err)
			    : salvage_pages(td, b, sec->offset, end, err)))
		return false;
	if (!b->nr_cpus) {
		wi_td_drop_buffer(td);
		return true;
	}
	wi_damage_note(td->log, WI_DMG_CUT, UINT32_MAX, td->file.bytes,
		       "file ends early: its table of CPU data is lost; data of %" PRIu32
		       " CPUs found by looking for them%s",
		       b->nr_cpus, td->nr_stats ? "" : ", numbered in order");
	return add_lost_cpus(td, b, err) && wi_td_check_buffer(td, b, err);
}
