/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Version 7: sections and the chain of options sections that points at them. */
#include "parsers/tracedat_head.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/base/cpumask.h"

#define OPTIONS_SECTIONS_MAX 4096u
#define SECTION_COMPRESSED 1u

bool wi_td_section_at(const struct wi_td *td, uint64_t offset, uint32_t *id, struct wi_td_section *out)
{
	struct wi_err ignored = { 0 };
	uint8_t head[16];

	if (!wi_td_read(&td->file, offset, head, sizeof(head), "a section header", &ignored))
		return false;
	*id = wi_get16(head, td->file.swap);
	out->offset = offset + sizeof(head);
	out->bytes = wi_get64(head + 8, td->file.swap);
	out->compressed = (wi_get16(head + 2, td->file.swap) & SECTION_COMPRESSED) != 0;
	return true;
}

/* Behind the names: page size and the CPUs' regions. */
static bool buffer_cpus(struct wi_td *td, struct wi_td_buffer *b, struct wi_td_cursor *c, struct wi_err *err)
{
	uint64_t at = wi_td_where(c);
	struct wi_td_section sec;
	uint32_t nr, id;

	if (!wi_td_u32(c, &b->page_bytes, "option BUFFER", err) || !wi_td_u32(c, &nr, "option BUFFER", err))
		return false;
	if (nr > WI_MAX_CPUS)
		return wi_err_at(err, WI_EREFUSED, td->file.path, at, "impossible number of CPUs in a buffer: %" PRIu32,
				 nr);
	if (wi_td_section_at(td, b->offset, &id, &sec) && id == WI_TD_SEC_BUFFER)
		b->compressed = sec.compressed;
	else
		b->compressed = td->file.codec != WI_TD_NONE;
	if (!wi_td_room_for_cpus(td, b, nr, err))
		return false;
	for (; b->nr_cpus < nr; b->nr_cpus++) {
		struct wi_td_cpu *cpu = &b->cpu[b->nr_cpus];

		if (!wi_td_u32(c, &cpu->cpu, "option BUFFER", err) ||
		    !wi_td_u64(c, &cpu->offset, "option BUFFER", err) ||
		    !wi_td_u64(c, &cpu->bytes, "option BUFFER", err))
			return false;
		if (b->compressed && cpu->bytes && cpu->bytes < UINT64_MAX - 4)
			cpu->bytes += 4; /* the size leaves out the count of chunks in front of them */
	}
	return wi_td_check_buffer(td, b, err);
}

/* BUFFER and BUFFER_TEXT: section, name, clock, page size, CPU regions. What cannot be read whole leaves no buffer
 * behind. */
static bool buffer_option(struct wi_td *td, uint32_t option, struct wi_td_cursor *c, struct wi_err *err)
{
	uint64_t offset;
	char name[256], clock[64];
	struct wi_td_buffer *b;
	bool ok;

	if (!wi_td_u64(c, &offset, "option BUFFER", err) ||
	    !wi_td_string(c, name, sizeof(name), "the name of a buffer", err) ||
	    !wi_td_string(c, clock, sizeof(clock), "the clock of a buffer", err))
		return false;
	b = wi_td_add_buffer(td, name, offset, err);
	if (!b)
		return false;
	b->text = option == WI_TD_OPT_BUFFER_TEXT;
	b->clock = strdup(clock);
	ok = b->clock || wi_err_nomem(err);
	if (ok && !b->text)
		ok = buffer_cpus(td, b, c, err);
	if (!ok)
		wi_td_drop_buffer(td);
	return ok;
}

/* HEADER_INFO .. CMDLINES: where the section is. */
static bool section_option(struct wi_td *td, uint32_t option, struct wi_td_cursor *c, struct wi_err *err)
{
	uint64_t offset;
	struct wi_td_section sec;
	uint32_t id;

	if (!wi_td_u64(c, &offset, "an option", err))
		return false;
	if (wi_td_section_at(td, offset, &id, &sec) && id == option)
		td->section[option] = sec;
	else
		wi_damage_note(td->log, WI_DMG_HEAD, UINT32_MAX, offset,
			       "section %" PRIu32 " is not where its option says", option);
	return true;
}

static bool plain_option(struct wi_td *td, uint32_t option, uint32_t n, struct wi_td_cursor *c, struct wi_err *err)
{
	uint64_t at = wi_td_where(c);
	char *data;
	bool ok;

	if (n > WI_TD_OPTION_MAX) {
		wi_damage_note(td->log, WI_DMG_HEAD, UINT32_MAX, at,
			       "option %" PRIu32 " is absurdly long, not read: %" PRIu32 " bytes", option, n);
		return wi_td_skip(c, n, "an option", err);
	}
	data = malloc((size_t)n + 1);
	if (!data)
		return wi_err_nomem(err);
	data[n] = '\0';
	ok = wi_td_bytes(c, data, n, "an option", err) && wi_td_option(td, option, data, n, at, err);
	free(data);
	return ok;
}

static bool one_option(struct wi_td *td, struct wi_td_cursor *c, uint64_t *next, bool *done, struct wi_err *err)
{
	uint16_t option;
	uint32_t n;
	bool ok;

	if (!wi_td_u16(c, &option, "the options", err) || !wi_td_u32(c, &n, "the options", err))
		return false;
	if (option == WI_TD_OPT_DONE) {
		*done = true;
		return n < 8 || wi_td_u64(c, next, "the options", err);
	}

	uint64_t start = c->pos, outer_end = c->end;
	if (n > outer_end - start)
		return wi_td_skip(c, n, "an option", err); /* fails with the message */
	if (option == WI_TD_OPT_BUFFER || option == WI_TD_OPT_BUFFER_TEXT ||
	    (option >= WI_TD_SEC_HEADER_INFO && option <= WI_TD_SEC_CMDLINES)) {
		c->end = start + n;
		ok = option == WI_TD_OPT_BUFFER || option == WI_TD_OPT_BUFFER_TEXT ? buffer_option(td, option, c, err)
										   : section_option(td, option, c, err);
		c->end = outer_end;
		c->pos = start + n;
		return ok;
	}
	return plain_option(td, option, n, c, err);
}

bool wi_td_read_options(struct wi_td *td, uint64_t offset, uint64_t *next, struct wi_err *err)
{
	struct wi_td_section sec;
	struct wi_td_cursor c;
	uint32_t id;
	bool ok = true, done = false;

	*next = 0;
	if (!wi_td_section_at(td, offset, &id, &sec))
		return wi_err_at(err, WI_EREFUSED, td->file.path, offset,
				 "no options section: the file ends at 0x%" PRIx64, td->file.bytes);
	if (id != WI_TD_SEC_OPTIONS)
		return wi_err_at(err, WI_EREFUSED, td->file.path, offset, "no options section: found section %" PRIu32,
				 id);
	if (!wi_td_cursor_section(&c, &td->file, sec.offset, sec.bytes, sec.compressed, "the options", err))
		return false;
	if (c.end > c.pos)
		td->options_bytes += c.end - c.pos;
	if (td->options_bytes > WI_TD_SECTION_MAX)
		ok = wi_err_at(err, WI_EREFUSED, td->file.path, offset, "absurd size of all options: %" PRIu64 " bytes",
			       td->options_bytes);
	while (ok && !done && c.pos < c.end)
		ok = one_option(td, &c, next, &done, err);
	wi_td_cursor_fini(&c);
	if (ok && !done)
		wi_damage_note(td->log, WI_DMG_HEAD, UINT32_MAX, offset,
			       "options end without an end mark: %" PRIu64 " bytes", sec.bytes);
	td->options_end = sec.offset + sec.bytes;
	return ok;
}

/* The chain from the first options section. What breaks it is damage: sections may still be found by looking for them.
 */
static bool read_chain(struct wi_td *td, uint64_t options, bool *whole, struct wi_err *err)
{
	*whole = false;
	for (uint32_t i = 0; i < OPTIONS_SECTIONS_MAX; i++) {
		struct wi_err why = { 0 };
		uint64_t next;

		if (!wi_td_read_options(td, options, &next, &why)) {
			if (why.code != WI_EREFUSED) {
				*err = why;
				return false;
			}
			wi_damage_note(td->log, WI_DMG_HEAD, UINT32_MAX, options, "options cannot be read: %s",
				       wi_err_reason(&why, td->file.path));
			return true;
		}
		if (!next) {
			*whole = true;
			return true;
		}
		if (next <= options) {
			wi_damage_note(td->log, WI_DMG_HEAD, UINT32_MAX, options, "options point backward: 0x%" PRIx64,
				       next);
			return true;
		}
		options = next;
	}
	wi_damage_note(td->log, WI_DMG_HEAD, UINT32_MAX, options, "absurd number of options sections: more than %u",
		       OPTIONS_SECTIONS_MAX);
	return true;
}

static bool parse_section(struct wi_td *td, enum wi_td_section_id id, const char *what,
			  bool (*parse)(struct wi_td *, struct wi_td_cursor *, struct wi_err *), struct wi_err *err)
{
	const struct wi_td_section *s = &td->section[id];
	struct wi_td_cursor c;
	bool ok;

	if (!s->offset)
		return wi_err_at(err, WI_EREFUSED, td->file.path, td->file.bytes,
				 "%s are missing: no such section in the file", what);
	if (!wi_td_cursor_section(&c, &td->file, s->offset, s->bytes, s->compressed, what, err))
		return false;
	ok = parse(td, &c, err);
	wi_td_cursor_fini(&c);
	return ok;
}

static bool only_text(const struct wi_td *td)
{
	for (uint32_t i = 0; i < td->nr_buffers; i++)
		if (!td->buffer[i].text)
			return false;
	return td->nr_buffers > 0;
}

bool wi_td_read_v7(struct wi_td *td, uint64_t options, struct wi_err *err)
{
	bool whole;

	if (!read_chain(td, options, &whole, err))
		return false;
	if (!whole && !wi_td_scan_sections(td, td->first_section, err))
		return false;
	if (only_text(td))
		return wi_err_at(err, WI_EREFUSED, td->file.path, td->buffer[0].offset,
				 "latency trace: it holds text, not ring-buffer data; \"trace-cmd report\" prints it "
				 "and wakeif reads that");
	if (!parse_section(td, WI_TD_SEC_HEADER_INFO, "the header texts", wi_td_read_headers, err) ||
	    !parse_section(td, WI_TD_SEC_FTRACE_EVENTS, "the ftrace formats", wi_td_read_ftrace_formats, err) ||
	    !parse_section(td, WI_TD_SEC_EVENT_FORMATS, "the event formats", wi_td_read_event_formats, err))
		return false;
	td->cmdlines = td->section[WI_TD_SEC_CMDLINES];
	if (!td->nr_buffers && !whole && !wi_td_salvage_buffer(td, err))
		return false;
	if (!td->nr_buffers)
		return wi_err_at(err, WI_EREFUSED, td->file.path, whole ? WI_NO_OFFSET : td->file.bytes,
				 "no trace data in the file: %s",
				 whole ? "its options name no buffer" : "it ends before them");
	return true;
}
