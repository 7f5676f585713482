/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "parsers/tracedat_head.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/base/cpumask.h"

/* Longest format text that is read; the kernel's own are a page at most. */
#define FORMAT_MAX (256u << 10)
#define HEADER_TEXT_MAX 65536u
#define NR_FORMATS_MAX 100000u

static const uint8_t magic[10] = { 0x17, 0x08, 0x44, 't', 'r', 'a', 'c', 'i', 'n', 'g' };

void wi_td_fini(struct wi_td *td)
{
	for (uint32_t i = 0; i < td->nr_buffers; i++) {
		free(td->buffer[i].name);
		free(td->buffer[i].clock);
		free(td->buffer[i].cpu);
	}
	free(td->buffer);
	for (uint32_t i = 0; i < td->nr_stats; i++)
		free(td->stat[i].buffer);
	free(td->stat);
	free(td->stat_buffer);
	for (uint32_t i = 0; i < td->time.nr_shift; i++)
		free(td->shift[i].sample);
	free(td->shift);
	free(td->kernel);
	free(td->arch);
	free(td->clock);
	wi_evfmt_free(td->formats);
	wi_td_file_fini(&td->file);
	memset(td, 0, sizeof(*td));
}

/* "header_page" or "header_event" and the text behind it, which the caller frees. */
static char *header_text(struct wi_td *td, struct wi_td_cursor *c, const char *name, uint64_t *size, struct wi_err *err)
{
	uint64_t at = wi_td_where(c);
	char got[16];
	char *text;

	if (!wi_td_bytes(c, got, strlen(name) + 1, name, err))
		return NULL;
	if (memcmp(got, name, strlen(name) + 1) != 0) {
		wi_err_at(err, WI_EREFUSED, td->file.path, at, "%s is missing: found bytes %02x %02x %02x %02x", name,
			  (uint8_t)got[0], (uint8_t)got[1], (uint8_t)got[2], (uint8_t)got[3]);
		return NULL;
	}
	if (!wi_td_u64(c, size, name, err))
		return NULL;
	if (*size > HEADER_TEXT_MAX) {
		wi_err_at(err, WI_EREFUSED, td->file.path, at, "absurd size of %s: %" PRIu64 " bytes", name, *size);
		return NULL;
	}
	text = malloc(*size + 1);
	if (!text) {
		wi_err_nomem(err);
		return NULL;
	}
	if (!wi_td_bytes(c, text, *size, name, err)) {
		free(text);
		return NULL;
	}
	text[*size] = '\0';
	return text;
}

bool wi_td_read_headers(struct wi_td *td, struct wi_td_cursor *c, struct wi_err *err)
{
	uint64_t at = wi_td_where(c), page_len = 0, event_len = 0;
	char *page = header_text(td, c, "header_page", &page_len, err);
	char *event = page ? header_text(td, c, "header_event", &event_len, err) : NULL;
	bool ok = event && wi_rb_layout_init(&td->layout, page, page_len, event, event_len, td->long_size,
					     td->file.path, at, err);

	free(page);
	free(event);
	return ok;
}

/* One format text of n bytes: read if somebody wants it, else stepped over. */
static bool one_format(struct wi_td *td, struct wi_td_cursor *c, const char *system, uint64_t n, struct wi_err *err)
{
	uint64_t at = wi_td_where(c);
	bool ftrace = !strcmp(system, "ftrace"), ok;
	size_t got;
	const uint8_t *head = wi_td_peek(c, n < 128 ? (size_t)n : 128, &got);

	if (!wi_evfmt_claim_id(td->formats, system, (const char *)head, got, td->file.path, at, err))
		return false;
	if (n > FORMAT_MAX ||
	    !(wi_evfmt_wanted(system, (const char *)head, got) || ftrace || !td->formats->have_common)) {
		td->formats->nr_formats++;
		return wi_td_skip(c, n, "an event format", err);
	}
	char *text = malloc(n + 1);
	if (!text)
		return wi_err_nomem(err);
	text[n] = '\0';
	ok = wi_td_bytes(c, text, n, "an event format", err) &&
	     wi_evfmt_add(td->formats, system, text, n, td->file.path, at, td->log, err);
	free(text);
	return ok;
}

static bool many_formats(struct wi_td *td, struct wi_td_cursor *c, const char *system, uint32_t nr, struct wi_err *err)
{
	uint64_t at = wi_td_where(c), n;

	if (nr > NR_FORMATS_MAX)
		return wi_err_at(err, WI_EREFUSED, td->file.path, at, "absurd number of event formats: %" PRIu32, nr);
	for (uint32_t i = 0; i < nr; i++)
		if (!wi_td_u64(c, &n, "the size of an event format", err) || !one_format(td, c, system, n, err))
			return false;
	return true;
}

bool wi_td_read_ftrace_formats(struct wi_td *td, struct wi_td_cursor *c, struct wi_err *err)
{
	uint32_t nr;

	return wi_td_u32(c, &nr, "the number of ftrace formats", err) && many_formats(td, c, "ftrace", nr, err);
}

bool wi_td_read_event_formats(struct wi_td *td, struct wi_td_cursor *c, struct wi_err *err)
{
	uint32_t systems, nr;
	char name[256];
	uint64_t at = wi_td_where(c);

	if (!wi_td_u32(c, &systems, "the number of event systems", err))
		return false;
	if (systems > NR_FORMATS_MAX)
		return wi_err_at(err, WI_EREFUSED, td->file.path, at, "absurd number of event systems: %" PRIu32,
				 systems);
	for (uint32_t i = 0; i < systems; i++) {
		if (!wi_td_string(c, name, sizeof(name), "the name of an event system", err) ||
		    !wi_td_u32(c, &nr, "the number of event formats", err) || !many_formats(td, c, name, nr, err))
			return false;
	}
	return true;
}

struct wi_td_buffer *wi_td_add_buffer(struct wi_td *td, const char *name, uint64_t offset, struct wi_err *err)
{
	struct wi_td_buffer *all, *b;

	if (td->nr_buffers >= WI_TD_BUFFERS_MAX) {
		wi_err_at(err, WI_EREFUSED, td->file.path, offset, "absurd number of buffers: more than %u",
			  WI_TD_BUFFERS_MAX);
		return NULL;
	}
	all = realloc(td->buffer, (td->nr_buffers + 1) * sizeof(*all));
	if (!all) {
		wi_err_nomem(err);
		return NULL;
	}
	td->buffer = all;
	b = &all[td->nr_buffers];
	memset(b, 0, sizeof(*b));
	b->name = strdup(name);
	if (!b->name) {
		wi_err_nomem(err);
		return NULL;
	}
	b->offset = offset;
	b->page_bytes = td->page_bytes;
	td->nr_buffers++;
	return b;
}

void wi_td_drop_buffer(struct wi_td *td)
{
	struct wi_td_buffer *b = &td->buffer[--td->nr_buffers];

	free(b->name);
	free(b->clock);
	free(b->cpu);
}

static int by_cpu(const void *a, const void *b)
{
	const struct wi_td_cpu *x = a, *y = b;

	return x->cpu < y->cpu ? -1 : x->cpu > y->cpu;
}

static const char *quoted_name(const struct wi_td_buffer *b)
{
	return *b->name ? b->name : "top";
}

static void clip_cpu(struct wi_td *td, const struct wi_td_buffer *b, struct wi_td_cpu *c)
{
	uint64_t left = c->offset < td->file.bytes ? td->file.bytes - c->offset : 0;

	if (c->bytes <= left)
		return;
	wi_damage_note(td->log, WI_DMG_CUT, c->cpu, left ? td->file.bytes : c->offset,
		       "CPU %" PRIu32 " of buffer %.40s: file ends before its data: %" PRIu64 " of %" PRIu64
		       " bytes are there",
		       c->cpu, quoted_name(b), left, c->bytes);
	c->bytes = left;
	c->cut = true;
}

static int by_offset(const void *a, const void *b)
{
	const struct wi_td_cpu *x = *(struct wi_td_cpu *const *)a, *y = *(struct wi_td_cpu *const *)b;

	return x->offset < y->offset ? -1 : x->offset > y->offset ? 1 : by_cpu(x, y);
}

/* No two CPUs have the same bytes: which of them is right cannot be told, so each one's data end where others begin. */
static bool part_cpus(struct wi_td *td, struct wi_td_buffer *b, struct wi_err *err)
{
	struct wi_td_cpu **order = malloc((b->nr_cpus ? b->nr_cpus : 1) * sizeof(*order)), *last = NULL;
	uint32_t nr = 0;

	if (!order)
		return wi_err_nomem(err);
	for (uint32_t i = 0; i < b->nr_cpus; i++)
		if (b->cpu[i].bytes)
			order[nr++] = &b->cpu[i];
	qsort(order, nr, sizeof(*order), by_offset);
	for (uint32_t i = 0; i < nr; last = order[i++]) {
		if (!last || order[i]->offset - last->offset >= last->bytes)
			continue;
		wi_damage_note(td->log, WI_DMG_HEAD, last->cpu, order[i]->offset,
			       "CPU %" PRIu32 " of buffer %.40s: %" PRIu64
			       " bytes of its data not used: those of CPU %" PRIu32 " begin inside them",
			       last->cpu, quoted_name(b), last->bytes - (order[i]->offset - last->offset),
			       order[i]->cpu);
		last->bytes = order[i]->offset - last->offset;
		last->cut = true;
	}
	free(order);
	return true;
}

bool wi_td_room_for_cpus(struct wi_td *td, struct wi_td_buffer *b, uint32_t nr, struct wi_err *err)
{
	if (nr > WI_TD_REGIONS_MAX - td->nr_regions)
		return wi_err_at(err, WI_EREFUSED, td->file.path, b->offset,
				 "absurd number of CPUs in all buffers: more than %u", WI_TD_REGIONS_MAX);
	b->cpu = calloc(nr ? nr : 1, sizeof(*b->cpu));
	if (!b->cpu)
		return wi_err_nomem(err);
	td->nr_regions += nr;
	return true;
}

bool wi_td_check_buffer(struct wi_td *td, struct wi_td_buffer *b, struct wi_err *err)
{
	b->bytes = 0;
	if (b->page_bytes < WI_RB_PAGE_MIN || b->page_bytes > WI_RB_PAGE_MAX)
		return wi_err_at(err, WI_EREFUSED, td->file.path, b->offset,
				 "absurd page size of buffer %.40s: %" PRIu32 " bytes", quoted_name(b), b->page_bytes);
	if (b->nr_cpus)
		qsort(b->cpu, b->nr_cpus, sizeof(*b->cpu), by_cpu);
	for (uint32_t i = 0; i < b->nr_cpus; i++) {
		struct wi_td_cpu *c = &b->cpu[i];

		if (c->cpu >= WI_MAX_CPUS)
			return wi_err_at(err, WI_EREFUSED, td->file.path, b->offset,
					 "impossible CPU number in buffer %.40s: %" PRIu32, quoted_name(b), c->cpu);
		if (i && b->cpu[i - 1].cpu == c->cpu)
			return wi_err_at(err, WI_EREFUSED, td->file.path, b->offset,
					 "CPU %" PRIu32 " is twice in buffer %.40s", c->cpu, quoted_name(b));
		clip_cpu(td, b, c);
		if (c->cpu >= td->cpu_count)
			td->cpu_count = c->cpu + 1;
	}
	if (!part_cpus(td, b, err))
		return false;
	for (uint32_t i = 0; i < b->nr_cpus; i++)
		b->bytes += b->cpu[i].bytes;
	return true;
}

/* "flyrecord" and the table of CPU regions, at the cursor. */
static bool v6_cpu_table(struct wi_td *td, struct wi_td_cursor *c, struct wi_td_buffer *b, uint32_t nr_cpus,
			 struct wi_err *err)
{
	if (!wi_td_room_for_cpus(td, b, nr_cpus, err))
		return false;
	for (uint32_t i = 0; i < nr_cpus; i++) {
		b->cpu[i].cpu = i;
		if (!wi_td_u64(c, &b->cpu[i].offset, "the table of CPU data", err) ||
		    !wi_td_u64(c, &b->cpu[i].bytes, "the table of CPU data", err))
			return false;
	}
	b->nr_cpus = nr_cpus;
	return wi_td_check_buffer(td, b, err);
}

static bool v6_options(struct wi_td *td, struct wi_td_cursor *c, struct wi_err *err)
{
	for (;;) {
		uint64_t at = wi_td_where(c);
		uint16_t id;
		uint32_t n;

		if (!wi_td_u16(c, &id, "the options", err))
			return false;
		if (id == WI_TD_OPT_DONE)
			return true;
		if (!wi_td_u32(c, &n, "the options", err))
			return false;
		if (n > WI_TD_OPTION_MAX) {
			wi_damage_note(td->log, WI_DMG_HEAD, UINT32_MAX, at,
				       "option %u is absurdly long, not read: %" PRIu32 " bytes", id, n);
			if (!wi_td_skip(c, n, "an option", err))
				return false;
			continue;
		}
		char *data = malloc((size_t)n + 1);
		bool ok = data ? wi_td_bytes(c, data, n, "an option", err) : wi_err_nomem(err);

		if (ok) {
			data[n] = '\0';
			ok = wi_td_option(td, id, data, n, at, err);
		}
		free(data);
		if (!ok)
			return false;
	}
}

/* The trace_clock text that follows the CPU table where a TRACECLOCK option said so. */
static void v6_trailing_clock(struct wi_td *td, struct wi_td_cursor *c)
{
	struct wi_err ignored = { 0 };
	uint64_t n;
	char text[4096];

	if (td->clock || !wi_td_u64(c, &n, "the clock", &ignored) || n >= sizeof(text) ||
	    !wi_td_bytes(c, text, n, "the clock", &ignored))
		return;
	td->clock = wi_td_chosen_clock(text, n);
}

/* Instances: each has its own "flyrecord" and CPU table, at the offset of its BUFFER option. */
static bool v6_instances(struct wi_td *td, uint32_t nr_cpus, struct wi_err *err)
{
	for (uint32_t i = 0; i < td->nr_buffers; i++) {
		struct wi_td_buffer *b = &td->buffer[i];
		struct wi_err why = { 0 };
		struct wi_td_cursor c;
		char type[10];

		if (b->cpu)
			continue;
		wi_td_cursor_file(&c, &td->file, b->offset, UINT64_MAX);
		bool ok = wi_td_bytes(&c, type, sizeof(type), "a buffer's header", &why) &&
			  !memcmp(type, "flyrecord", 10) && v6_cpu_table(td, &c, b, nr_cpus, &why);
		wi_td_cursor_fini(&c);
		if (!ok && why.code == WI_EIO) {
			*err = why;
			return false;
		}
		if (!ok) {
			b->nr_cpus = 0;
			b->bytes = 0;
			wi_damage_note(td->log, WI_DMG_HEAD, UINT32_MAX, b->offset,
				       "buffer %.40s cannot be read: no table of CPU data", b->name);
		}
	}
	return true;
}

bool wi_td_read_v6(struct wi_td *td, struct wi_td_cursor *c, struct wi_err *err)
{
	uint32_t n, nr_cpus;
	uint64_t at, size;
	char type[10];
	bool options = false;

	if (!wi_td_read_headers(td, c, err) || !wi_td_read_ftrace_formats(td, c, err) ||
	    !wi_td_read_event_formats(td, c, err))
		return false;
	if (!wi_td_u32(c, &n, "the size of the kernel symbols", err) || !wi_td_skip(c, n, "the kernel symbols", err))
		return false;
	if (!wi_td_u32(c, &n, "the size of the printk formats", err) || !wi_td_skip(c, n, "the printk formats", err))
		return false;
	if (!wi_td_u64(c, &size, "the size of the task names", err))
		return false;
	td->cmdlines = (struct wi_td_section){ .offset = c->pos, .bytes = size };
	if (!wi_td_skip(c, size, "the task names", err))
		return false;
	at = c->pos;
	if (!wi_td_u32(c, &nr_cpus, "the number of CPUs", err))
		return false;
	if (nr_cpus > WI_MAX_CPUS)
		return wi_err_at(err, WI_EREFUSED, td->file.path, at, "impossible number of CPUs: %" PRIu32, nr_cpus);
	td->cpu_count = nr_cpus;
	at = c->pos;
	if (!wi_td_bytes(c, type, sizeof(type), "the kind of data", err))
		return false;
	if (!memcmp(type, "options  ", 10)) {
		options = true;
		at = c->pos;
		if (!v6_options(td, c, err) || !wi_td_bytes(c, type, sizeof(type), "the kind of data", err))
			return false;
	}
	if (!memcmp(type, "latency  ", 10))
		return wi_err_at(err, WI_EREFUSED, td->file.path, at,
				 "latency trace: it holds text, not ring-buffer data; \"trace-cmd report\" prints it "
				 "and wakeif reads that");
	if (memcmp(type, "flyrecord", 10) != 0)
		return wi_err_at(err, WI_EREFUSED, td->file.path, c->pos - 10,
				 "kind of data is not known: bytes %02x %02x %02x %02x", (uint8_t)type[0],
				 (uint8_t)type[1], (uint8_t)type[2], (uint8_t)type[3]);

	struct wi_td_buffer *top = wi_td_add_buffer(td, "", c->pos - 10, err);
	if (!top || !v6_cpu_table(td, c, top, nr_cpus, err))
		return false;
	if (options)
		v6_trailing_clock(td, c);
	return v6_instances(td, nr_cpus, err);
}

static bool known_codec(struct wi_td *td, uint64_t at, struct wi_err *err)
{
	if (!strcmp(td->codec_name, "none"))
		td->file.codec = WI_TD_NONE;
	else if (!strcmp(td->codec_name, "zlib"))
		td->file.codec = WI_TD_ZLIB;
	else if (!strcmp(td->codec_name, "zstd"))
		td->file.codec = WI_TD_ZSTD;
	else {
		td->unknown = true;
		return wi_err_at(err, WI_EREFUSED, td->file.path, at, "compression is not known: %s", td->codec_name);
	}
	return true;
}

/* The initial header; the cursor stands behind it. */
static bool initial_header(struct wi_td *td, struct wi_td_cursor *c, uint64_t *options, struct wi_err *err)
{
	const char *what = "the file header";
	char version[16], ignored[64];
	uint8_t m[sizeof(magic)], flags[2];
	uint64_t at;

	if (!wi_td_bytes(c, m, sizeof(m), what, err))
		return false;
	if (memcmp(m, magic, sizeof(m)) != 0)
		return wi_err_at(err, WI_EREFUSED, td->file.path, 0, "not a trace.dat: found bytes %02x %02x %02x %02x",
				 m[0], m[1], m[2], m[3]);
	at = c->pos;
	if (!wi_td_string(c, version, sizeof(version), what, err))
		return false;
	if (strcmp(version, "6") != 0 && strcmp(version, "7") != 0) {
		td->unknown = strspn(version, "0123456789") == strlen(version) && atoi(version) > 7;
		return wi_err_at(err, WI_EREFUSED, td->file.path, at, "version of the file is not known: %s", version);
	}
	td->version = (uint32_t)(version[0] - '0');
	at = c->pos;
	if (!wi_td_bytes(c, flags, 2, what, err))
		return false;
	if (flags[0] > 1 || (flags[1] != 4 && flags[1] != 8))
		return wi_err_at(err, WI_EREFUSED, td->file.path, at, "byte order or size of long is not known: %u, %u",
				 flags[0], flags[1]);
	td->big_endian = flags[0] == 1;
	td->long_size = flags[1];
	td->file.swap = td->big_endian != (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__);
	at = c->pos;
	if (!wi_td_u32(c, &td->page_bytes, what, err))
		return false;
	if (td->page_bytes < WI_RB_PAGE_MIN || td->page_bytes > WI_RB_PAGE_MAX)
		return wi_err_at(err, WI_EREFUSED, td->file.path, at, "absurd page size: %" PRIu32 " bytes",
				 td->page_bytes);
	if (td->version == 6)
		return true;
	at = c->pos;
	if (!wi_td_string(c, td->codec_name, sizeof(td->codec_name), "the name of the compression", err) ||
	    !wi_td_string(c, ignored, sizeof(ignored), "the version of the compression", err) ||
	    !known_codec(td, at, err))
		return false;
	if (!wi_td_u64(c, options, what, err))
		return false;
	td->first_section = c->pos;
	return true;
}

bool wi_td_open(struct wi_td *td, struct wi_err *err)
{
	struct wi_td_cursor c;
	uint64_t options = 0;
	bool ok;

	wi_td_cursor_file(&c, &td->file, 0, UINT64_MAX);
	ok = initial_header(td, &c, &options, err);
	if (ok) {
		td->formats = wi_evfmt_new(td->big_endian, td->long_size);
		ok = td->formats || wi_err_nomem(err);
	}
	if (ok)
		ok = td->version == 6 ? wi_td_read_v6(td, &c, err) : wi_td_read_v7(td, options, err);
	wi_td_cursor_fini(&c);
	if (!ok)
		return false;
	if (!td->formats->have_common)
		return wi_err_at(err, WI_EREFUSED, td->file.path, WI_NO_OFFSET,
				 "no usable event format: %" PRIu32 " formats, none of an event that is read",
				 td->formats->nr_formats);
	wi_evfmt_finish(td->formats, td->kernel ? td->kernel : "");
	return true;
}
