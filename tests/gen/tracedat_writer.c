/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tests/gen/tracedat_writer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <zlib.h>
#include <zstd.h>

#include "tests/gen/tracedat_formats.h"

struct page_list {
	uint64_t *pos; /* of each page in the spool */
	size_t nr, cap;
};

struct cpu_buf {
	uint8_t *page; /* being filled; NULL: none */
	uint32_t used; /* bytes of records */
	uint64_t last_ts;
	bool absolute, missed, any;
	uint64_t nr_missed;
	uint64_t records;
	struct page_list pages;
};

struct stat_text {
	uint64_t overrun, dropped;
};

struct bytes {
	uint8_t *p;
	size_t n, cap;
};

struct tdw {
	struct tdw_cfg cfg;
	struct tdf *formats;
	uint32_t nr_buffers, head_bytes, room;
	struct cpu_buf *cpu; /* [buffer * nr_cpus + cpu] */
	struct stat_text *stat;
	struct bytes cmdlines;
	FILE *spool;
	uint64_t spool_pages;
	FILE *out;
};

static void *must(void *p)
{
	if (!p) {
		fprintf(stderr, "out of memory\n");
		exit(1);
	}
	return p;
}

static void fail(const char *what)
{
	perror(what);
	exit(1);
}

static void put(uint8_t *out, uint64_t v, uint32_t n, bool big)
{
	for (uint32_t i = 0; i < n; i++)
		out[big ? n - 1 - i : i] = (uint8_t)(v >> (8 * i));
}

static void add(struct bytes *b, const void *p, size_t n)
{
	if (b->n + n > b->cap) {
		b->cap = (b->n + n) * 2 + 256;
		b->p = must(realloc(b->p, b->cap));
	}
	if (n)
		memcpy(b->p + b->n, p, n);
	b->n += n;
}

static void add_num(const struct tdw *w, struct bytes *b, uint64_t v, uint32_t n)
{
	uint8_t raw[8];

	put(raw, v, n, w->cfg.big_endian);
	add(b, raw, n);
}

static void add_str(struct bytes *b, const char *s)
{
	add(b, s, strlen(s) + 1);
}

struct tdw *tdw_new(const struct tdw_cfg *cfg)
{
	struct tdw *w = must(calloc(1, sizeof(*w)));

	w->cfg = *cfg;
	w->nr_buffers = 1;
	while (w->nr_buffers < 9 && cfg->buffers[w->nr_buffers - 1])
		w->nr_buffers++;
	w->head_bytes = 8 + cfg->long_size;
	w->room = cfg->page_bytes - w->head_bytes;
	w->cpu = must(calloc((size_t)w->nr_buffers * cfg->nr_cpus, sizeof(*w->cpu)));
	w->stat = must(calloc(cfg->nr_cpus, sizeof(*w->stat)));
	w->formats = must(tdf_new(cfg));
	w->spool = tmpfile();
	if (!w->spool)
		fail("temporary file");
	return w;
}

static struct cpu_buf *cpu_of(struct tdw *w, uint32_t buffer, uint32_t cpu)
{
	return &w->cpu[(size_t)buffer * w->cfg.nr_cpus + cpu];
}

static void spool_page(struct tdw *w, struct cpu_buf *c, const void *page)
{
	struct page_list *l = &c->pages;

	if (l->nr == l->cap) {
		l->cap = l->cap ? l->cap * 2 : 16;
		l->pos = must(realloc(l->pos, l->cap * sizeof(*l->pos)));
	}
	l->pos[l->nr++] = w->spool_pages++;
	if (fwrite(page, w->cfg.page_bytes, 1, w->spool) != 1)
		fail("temporary file");
}

static void close_page(struct tdw *w, struct cpu_buf *c)
{
	uint64_t commit = c->used;

	if (!c->page)
		return;
	if (c->missed) {
		/* the kernel adds a negative int to a long: the mark's sign fills the upper half */
		commit += (uint64_t)(int64_t)INT32_MIN;
		if (c->nr_missed && w->room - c->used >= w->cfg.long_size) {
			commit += 1u << 30;
			put(c->page + w->head_bytes + c->used, c->nr_missed, w->cfg.long_size, w->cfg.big_endian);
		}
		c->missed = false;
		c->nr_missed = 0;
	}
	put(c->page + 8, commit, w->cfg.long_size, w->cfg.big_endian);
	spool_page(w, c, c->page);
	free(c->page);
	c->page = NULL;
}

static void open_page(struct tdw *w, struct cpu_buf *c, uint64_t ts)
{
	c->page = must(calloc(1, w->cfg.page_bytes));
	c->used = 0;
	c->last_ts = ts;
	put(c->page, ts, 8, w->cfg.big_endian);
}

static void put_head(struct tdw *w, struct cpu_buf *c, uint32_t type_len, uint64_t delta)
{
	uint32_t head = w->cfg.big_endian ? type_len << 27 | (uint32_t)delta : (uint32_t)delta << 5 | type_len;

	put(c->page + w->head_bytes + c->used, head, 4, w->cfg.big_endian);
	c->used += 4;
}

static void put_word(struct tdw *w, struct cpu_buf *c, uint32_t v)
{
	put(c->page + w->head_bytes + c->used, v, 4, w->cfg.big_endian);
	c->used += 4;
}

/* Room for a record of len bytes with its longest head and a time record in front; opens a page. Delta for the head. */
static uint64_t make_room(struct tdw *w, struct cpu_buf *c, uint64_t ts, uint32_t len)
{
	uint64_t delta;

	/* a page with lost marks keeps room for the number */
	if (c->page && c->used + len + 16 + (c->missed ? w->cfg.long_size : 0) > w->room)
		close_page(w, c);
	if (!c->page)
		open_page(w, c, ts);
	delta = ts - c->last_ts;
	if (c->absolute) {
		put_head(w, c, 31, ts & 0x7ffffff);
		put_word(w, c, (uint32_t)(ts >> 27));
		c->absolute = false;
		delta = 0;
	} else if (delta >> 27) {
		put_head(w, c, 30, delta & 0x7ffffff);
		put_word(w, c, (uint32_t)(delta >> 27));
		delta = 0;
	}
	c->last_ts = ts;
	return delta;
}

void tdw_raw_record(struct tdw *w, uint32_t buffer, uint32_t cpu, uint64_t ts, const void *rec, uint32_t len)
{
	struct cpu_buf *c = cpu_of(w, buffer, cpu);
	uint32_t padded = (len + 3) & ~3u;
	uint64_t delta = make_room(w, c, ts, padded);

	if (padded && padded <= 112) {
		put_head(w, c, padded / 4, delta);
	} else {
		put_head(w, c, 0, delta);
		put_word(w, c, padded + 4);
	}
	memcpy(c->page + w->head_bytes + c->used, rec, len);
	c->used += padded;
	c->records++;
}

void tdw_absolute(struct tdw *w, uint32_t buffer, uint32_t cpu)
{
	cpu_of(w, buffer, cpu)->absolute = true;
}

void tdw_discarded(struct tdw *w, uint32_t buffer, uint32_t cpu, uint64_t ts, uint32_t len)
{
	struct cpu_buf *c = cpu_of(w, buffer, cpu);
	uint64_t delta = make_room(w, c, ts, len);

	put_head(w, c, 29, delta ? delta : 1);
	c->last_ts += delta ? 0 : 1;
	put_word(w, c, len + 4);
	c->used += len;
}

void tdw_page_break(struct tdw *w, uint32_t buffer, uint32_t cpu)
{
	close_page(w, cpu_of(w, buffer, cpu));
}

void tdw_raw_page(struct tdw *w, uint32_t buffer, uint32_t cpu, const void *page)
{
	struct cpu_buf *c = cpu_of(w, buffer, cpu);

	close_page(w, c);
	spool_page(w, c, page);
}

void tdw_event(struct tdw *w, uint32_t buffer, const struct wi_event *ev, const char *comm, const char *comm2)
{
	uint8_t rec[8192];
	uint32_t len;

	if (ev->type == WI_EV_LOST) {
		struct cpu_buf *c = cpu_of(w, buffer, ev->cpu);

		close_page(w, c);
		c->missed = true;
		c->nr_missed = ev->lost.nr_lost;
		c->absolute = false; /* libtracecmd overlooks the mark of a page that starts with a time record */
		return;
	}
	len = tdf_encode(w->formats, ev, comm, comm2, rec, sizeof(rec));
	tdw_raw_record(w, buffer, ev->cpu, ev->ts_ns, rec, len);
}

void tdw_function(struct tdw *w, uint32_t buffer, uint32_t cpu, uint64_t ts, int32_t pid)
{
	uint8_t rec[64];

	tdw_raw_record(w, buffer, cpu, ts, rec, tdf_encode_function(w->formats, pid, rec));
}

void tdw_stat(struct tdw *w, uint32_t cpu, uint64_t overrun, uint64_t dropped)
{
	w->stat[cpu].overrun = overrun;
	w->stat[cpu].dropped = dropped;
}

void tdw_cmdline(struct tdw *w, int32_t pid, const char *comm)
{
	char line[64];

	add(&w->cmdlines, line, (size_t)snprintf(line, sizeof(line), "%d %s\n", pid, comm));
}

/* ---- the file ---- */

static void out(struct tdw *w, const void *p, size_t n)
{
	if (n && fwrite(p, n, 1, w->out) != 1)
		fail("write");
}

static uint64_t where(struct tdw *w)
{
	return (uint64_t)ftello(w->out);
}

static void align_out(struct tdw *w)
{
	static const uint8_t zero[4096];
	uint64_t page = w->cfg.header_page_bytes ? w->cfg.header_page_bytes : w->cfg.page_bytes, over = where(w) % page;

	for (uint64_t left = over ? page - over : 0; left;) {
		size_t n = left < sizeof(zero) ? (size_t)left : sizeof(zero);

		out(w, zero, n);
		left -= n;
	}
}

static void headers(const struct tdw *w, struct bytes *b)
{
	char page[512];
	int n = tdf_header_page(w->formats, page, sizeof(page));

	add_str(b, "header_page");
	add_num(w, b, (uint64_t)n, 8);
	add(b, page, (size_t)n);
	add_str(b, "header_event");
	add_num(w, b, strlen(tdf_header_event), 8);
	add(b, tdf_header_event, strlen(tdf_header_event));
}

static void formats_of(const struct tdw *w, struct bytes *b, const char *system, uint32_t *nr)
{
	char *text = must(malloc(65536));

	*nr = 0;
	for (int i = 0; tdf_name(w->formats, i); i++) {
		if (strcmp(tdf_system(w->formats, i), system) != 0)
			continue;
		int n = tdf_text(w->formats, i, text, 65536);

		add_num(w, b, (uint64_t)n, 8);
		add(b, text, (size_t)n);
		++*nr;
	}
	free(text);
}

static void ftrace_formats(const struct tdw *w, struct bytes *b)
{
	struct bytes f = { 0 };
	uint32_t nr;

	formats_of(w, &f, "ftrace", &nr);
	add_num(w, b, nr, 4);
	add(b, f.p, f.n);
	free(f.p);
}

static void event_formats(const struct tdw *w, struct bytes *b)
{
	static const char *const systems[] = { "irq", "irq_vectors", "power", "raw_syscalls", "sched", "timer" };
	const uint32_t nr_systems = sizeof(systems) / sizeof(systems[0]);

	add_num(w, b, nr_systems, 4);
	for (uint32_t i = 0; i < nr_systems; i++) {
		struct bytes f = { 0 };
		uint32_t nr;

		formats_of(w, &f, systems[i], &nr);
		add_str(b, systems[i]);
		add_num(w, b, nr, 4);
		add(b, f.p, f.n);
		free(f.p);
	}
}

static void option(const struct tdw *w, struct bytes *b, uint32_t id, const void *p, size_t n)
{
	add_num(w, b, id, 2);
	add_num(w, b, n, 4);
	add(b, p, n);
}

static void text_option(const struct tdw *w, struct bytes *b, uint32_t id, const char *s)
{
	if (s)
		option(w, b, id, s, strlen(s) + 1);
}

static void stat_options(struct tdw *w, struct bytes *b, uint32_t buffer)
{
	char text[256];

	for (uint32_t i = 0; i < w->cfg.nr_cpus; i++) {
		const struct cpu_buf *c = cpu_of(w, buffer, i);

		snprintf(text, sizeof(text),
			 "CPU: %u\nentries: %llu\noverrun: %llu\ncommit overrun: 0\nbytes: 0\ndropped events: "
			 "%llu\nread events: 0\n\n",
			 i, (unsigned long long)c->records, buffer ? 0ull : (unsigned long long)w->stat[i].overrun,
			 buffer ? 0ull : (unsigned long long)w->stat[i].dropped);
		text_option(w, b, 2, text);
	}
}

static void common_options(struct tdw *w, struct bytes *b)
{
	const struct tdw_cfg *c = &w->cfg;

	text_option(w, b, 1, c->date_option);
	text_option(w, b, 4, c->clock);
	text_option(w, b, 5, c->uname);
	text_option(w, b, 7, c->offset_option);
	text_option(w, b, 9, "writer of the tests");
	option(w, b, 4711, "unknown option", 14);
	if (c->tsc_mult) {
		struct bytes t = { 0 };

		add_num(w, &t, c->tsc_mult, 4);
		add_num(w, &t, c->tsc_shift, 4);
		add_num(w, &t, 0, 8);
		option(w, b, 14, t.p, t.n);
		free(t.p);
	}
	if (c->time_shift)
		option(w, b, 12, c->time_shift, c->time_shift_bytes);
	stat_options(w, b, 0);
	for (uint32_t i = 1; i < w->nr_buffers; i++) {
		char text[128];

		snprintf(text, sizeof(text), "\nBuffer: %s\n\n", c->buffers[i - 1]);
		text_option(w, b, 2, text);
		stat_options(w, b, i);
	}
	if (c->gpuvis_tgids) {
		char text[1047];

		memset(text, '3', sizeof(text));
		text[sizeof(text) - 1] = '\0';
		option(w, b, 8, text, sizeof(text));
	} else {
		uint8_t nr[4];

		put(nr, c->nr_cpus, 4, c->big_endian);
		option(w, b, 8, nr, 4);
	}
}

static void read_page(struct tdw *w, uint64_t nr, uint8_t *page)
{
	if (fseeko(w->spool, (off_t)(nr * w->cfg.page_bytes), SEEK_SET) < 0 ||
	    fread(page, w->cfg.page_bytes, 1, w->spool) != 1)
		fail("temporary file");
}

/* A CPU's pages as they are. */
static uint64_t write_pages(struct tdw *w, const struct cpu_buf *c)
{
	uint8_t *page = must(malloc(w->cfg.page_bytes));

	for (size_t i = 0; i < c->pages.nr; i++) {
		read_page(w, c->pages.pos[i], page);
		out(w, page, w->cfg.page_bytes);
	}
	free(page);
	return c->pages.nr * (uint64_t)w->cfg.page_bytes;
}

static size_t deflate_bytes(const struct tdw *w, const uint8_t *in, size_t n, uint8_t *to, size_t cap)
{
	if (w->cfg.codec == TDW_ZSTD) {
		size_t r = ZSTD_compress(to, cap, in, n, 1);

		if (ZSTD_isError(r))
			fail("zstd");
		return r;
	}
	uLongf len = cap;

	if (compress2(to, &len, in, n, 1) != Z_OK)
		fail("zlib");
	return len;
}

/* A CPU's pages in chunks. The size that trace-cmd writes into the table leaves out the count in front. */
static uint64_t write_chunks(struct tdw *w, const struct cpu_buf *c)
{
	uint32_t per = w->cfg.chunk_pages ? w->cfg.chunk_pages : 10, page = w->cfg.page_bytes;
	size_t cap = ZSTD_compressBound((size_t)per * page) + compressBound((uLong)per * page);
	uint8_t *in = must(malloc((size_t)per * page)), *to = must(malloc(cap)), head[8];
	uint64_t total = 0;

	put(head, (c->pages.nr + per - 1) / per, 4, w->cfg.big_endian);
	out(w, head, 4);
	for (size_t i = 0; i < c->pages.nr; i += per) {
		size_t k = c->pages.nr - i < per ? c->pages.nr - i : per;

		for (size_t j = 0; j < k; j++)
			read_page(w, c->pages.pos[i + j], in + j * page);
		size_t n = deflate_bytes(w, in, k * page, to, cap);

		put(head, n, 4, w->cfg.big_endian);
		put(head + 4, k * page, 4, w->cfg.big_endian);
		out(w, head, 8);
		out(w, to, n);
		total += 8 + n;
	}
	free(in);
	free(to);
	return total;
}

static void initial(struct tdw *w)
{
	struct bytes b = { 0 };

	add(&b, "\x17\x08\x44tracing", 10);
	add_str(&b, w->cfg.version == 6 ? "6" : "7");
	add_num(w, &b, w->cfg.big_endian, 1);
	add_num(w, &b, w->cfg.long_size, 1);
	add_num(w, &b, w->cfg.header_page_bytes ? w->cfg.header_page_bytes : w->cfg.page_bytes, 4);
	if (w->cfg.version == 7) {
		add_str(&b, w->cfg.codec == TDW_NONE ? "none" : w->cfg.codec == TDW_ZLIB ? "zlib" : "zstd");
		add_str(&b, "1");
	}
	out(w, b.p, b.n);
	free(b.p);
}

/* Table of a version 6 buffer, then its data, then the table again with what is known now. */
static void v6_data(struct tdw *w, uint32_t buffer)
{
	struct bytes table = { 0 };
	uint64_t at, end;

	out(w, "flyrecord", 10);
	at = where(w);
	for (uint32_t i = 0; i < w->cfg.nr_cpus; i++)
		add_num(w, &table, 0, 8), add_num(w, &table, 0, 8);
	out(w, table.p, table.n);
	if (!buffer && w->cfg.clock) {
		struct bytes clock = { 0 };

		add_num(w, &clock, strlen(w->cfg.clock), 8);
		add(&clock, w->cfg.clock, strlen(w->cfg.clock));
		out(w, clock.p, clock.n);
		free(clock.p);
	}
	table.n = 0;
	for (uint32_t i = 0; i < w->cfg.nr_cpus; i++) {
		const struct cpu_buf *c = cpu_of(w, buffer, i);

		align_out(w);
		add_num(w, &table, where(w), 8);
		add_num(w, &table, write_pages(w, c), 8);
	}
	end = where(w);
	if (fseeko(w->out, (off_t)at, SEEK_SET) < 0)
		fail("seek");
	out(w, table.p, table.n);
	if (fseeko(w->out, (off_t)end, SEEK_SET) < 0)
		fail("seek");
	free(table.p);
}

static void write_v6(struct tdw *w)
{
	struct bytes b = { 0 };
	uint64_t patch[8], base;

	initial(w);
	base = where(w);
	headers(w, &b);
	ftrace_formats(w, &b);
	event_formats(w, &b);
	add_num(w, &b, 0, 4); /* kernel symbols */
	add_num(w, &b, 0, 4); /* printk formats */
	add_num(w, &b, w->cmdlines.n, 8);
	add(&b, w->cmdlines.p, w->cmdlines.n);
	add_num(w, &b, w->cfg.nr_cpus, 4);
	add(&b, "options  ", 10);
	common_options(w, &b);
	for (uint32_t i = 1; i < w->nr_buffers; i++) {
		add_num(w, &b, 3, 2);
		add_num(w, &b, 8 + strlen(w->cfg.buffers[i - 1]) + 1, 4);
		patch[i - 1] = base + b.n;
		add_num(w, &b, 0, 8);
		add_str(&b, w->cfg.buffers[i - 1]);
	}
	add_num(w, &b, 0, 2);
	if (w->cfg.latency)
		add(&b, "latency  \0# tracer: wakeup\n", 27);
	out(w, b.p, b.n);
	free(b.p);
	if (w->cfg.latency)
		return;
	v6_data(w, 0);
	for (uint32_t i = 1; i < w->nr_buffers; i++) {
		uint8_t raw[8];
		uint64_t at = where(w);

		put(raw, at, 8, w->cfg.big_endian);
		if (fseeko(w->out, (off_t)patch[i - 1], SEEK_SET) < 0)
			fail("seek");
		out(w, raw, 8);
		if (fseeko(w->out, (off_t)at, SEEK_SET) < 0)
			fail("seek");
		v6_data(w, i);
	}
}

/* A section with its payload; offset of its header. */
static uint64_t section(struct tdw *w, uint32_t id, const struct bytes *b, bool may_compress)
{
	bool packed = may_compress && w->cfg.codec != TDW_NONE;
	uint64_t at = where(w);
	struct bytes head = { 0 };
	uint8_t *to = NULL;
	size_t n = b->n;

	if (packed) {
		size_t cap = ZSTD_compressBound(b->n) + compressBound((uLong)b->n);

		to = must(malloc(cap));
		n = deflate_bytes(w, b->p, b->n, to, cap);
	}
	add_num(w, &head, id, 2);
	add_num(w, &head, packed, 2);
	add_num(w, &head, 0, 4);
	add_num(w, &head, packed ? n + 8 : n, 8);
	if (packed) {
		add_num(w, &head, n, 4);
		add_num(w, &head, b->n, 4);
	}
	out(w, head.p, head.n);
	out(w, packed ? to : b->p, n);
	free(head.p);
	free(to);
	return at;
}

static void offset_option(const struct tdw *w, struct bytes *b, uint32_t id, uint64_t at)
{
	add_num(w, b, id, 2);
	add_num(w, b, 8, 4);
	add_num(w, b, at, 8);
}

/* Data of a buffer in a section of its own; its option into b. */
static void v7_data(struct tdw *w, uint32_t buffer, struct bytes *b)
{
	struct bytes opt = { 0 }, table = { 0 }, head = { 0 };
	uint64_t at = where(w), end;
	uint32_t nr = 0;

	add_num(w, &head, 3, 2);
	add_num(w, &head, w->cfg.codec != TDW_NONE, 2);
	add_num(w, &head, 0, 4);
	add_num(w, &head, 0, 8);
	out(w, head.p, head.n);
	for (uint32_t i = 0; i < w->cfg.nr_cpus; i++) {
		const struct cpu_buf *c = cpu_of(w, buffer, i);

		if (!c->pages.nr && w->cfg.skip_empty_cpus)
			continue;
		align_out(w);
		nr++;
		add_num(w, &table, i, 4);
		add_num(w, &table, where(w), 8);
		if (!c->pages.nr)
			add_num(w, &table, 0, 8);
		else
			add_num(w, &table, w->cfg.codec == TDW_NONE ? write_pages(w, c) : write_chunks(w, c), 8);
	}
	end = where(w);
	head.n = 8;
	add_num(w, &head, end - at - 16, 8);
	if (fseeko(w->out, (off_t)at, SEEK_SET) < 0)
		fail("seek");
	out(w, head.p, head.n);
	if (fseeko(w->out, (off_t)end, SEEK_SET) < 0)
		fail("seek");
	add_num(w, &opt, at, 8);
	add_str(&opt, buffer ? w->cfg.buffers[buffer - 1] : "");
	add_str(&opt, "local");
	add_num(w, &opt, w->cfg.page_bytes, 4);
	add_num(w, &opt, nr, 4);
	add(&opt, table.p, table.n);
	option(w, b, 3, opt.p, opt.n);
	free(opt.p);
	free(table.p);
	free(head.p);
}

static void patch8(struct tdw *w, uint64_t at, uint64_t v)
{
	uint8_t raw[8];
	uint64_t here = where(w);

	put(raw, v, 8, w->cfg.big_endian);
	if (fseeko(w->out, (off_t)at, SEEK_SET) < 0)
		fail("seek");
	out(w, raw, 8);
	if (fseeko(w->out, (off_t)here, SEEK_SET) < 0)
		fail("seek");
}

static uint64_t section_of(struct tdw *w, uint32_t id, void (*fill)(const struct tdw *, struct bytes *),
			   bool may_compress)
{
	struct bytes b = { 0 };
	uint64_t at;

	fill(w, &b);
	at = section(w, id, &b, may_compress);
	free(b.p);
	return at;
}

static void no_symbols(const struct tdw *w, struct bytes *b)
{
	add_num(w, b, 0, 4);
}

static void task_names(const struct tdw *w, struct bytes *b)
{
	add_num(w, b, w->cmdlines.n, 8);
	add(b, w->cmdlines.p, w->cmdlines.n);
}

/* Options as trace-cmd lays them out: one section before the data, one behind each buffer's. */
static void write_v7(struct tdw *w)
{
	struct bytes b = { 0 };
	uint64_t first, done;

	initial(w);
	first = where(w);
	out(w, "\0\0\0\0\0\0\0", 8);
	offset_option(w, &b, 16, section_of(w, 16, headers, true));
	offset_option(w, &b, 17, section_of(w, 17, ftrace_formats, true));
	offset_option(w, &b, 18, section_of(w, 18, event_formats, true));
	offset_option(w, &b, 19, section_of(w, 19, no_symbols, true));
	offset_option(w, &b, 20, section_of(w, 20, no_symbols, true));
	offset_option(w, &b, 21, section_of(w, 21, task_names, true));
	common_options(w, &b);
	for (uint32_t i = 0; i <= w->nr_buffers; i++) {
		offset_option(w, &b, 0, 0);
		if (i)
			patch8(w, done, where(w));
		else
			patch8(w, first, where(w));
		section(w, 0, &b, false);
		done = where(w) - 8;
		b.n = 0;
		if (i == w->nr_buffers)
			break;
		if (w->cfg.latency) {
			struct bytes opt = { 0 }, text = { 0 };

			add_str(&text, "# tracer: wakeup\n");
			add_num(w, &opt, section(w, 22, &text, false), 8);
			add_str(&opt, "");
			add_str(&opt, "local");
			option(w, &b, 22, opt.p, opt.n);
			free(opt.p);
			free(text.p);
		} else {
			v7_data(w, i, &b);
		}
	}
	free(b.p);
}

static void close_all(struct tdw *w)
{
	for (size_t i = 0; i < (size_t)w->nr_buffers * w->cfg.nr_cpus; i++)
		close_page(w, &w->cpu[i]);
	if (fflush(w->spool) != 0)
		fail("temporary file");
}

static void free_all(struct tdw *w)
{
	for (size_t i = 0; i < (size_t)w->nr_buffers * w->cfg.nr_cpus; i++)
		free(w->cpu[i].pages.pos);
	free(w->cpu);
	free(w->stat);
	free(w->cmdlines.p);
	tdf_free(w->formats);
	fclose(w->spool);
	free(w);
}

uint64_t tdw_finish(struct tdw *w, const char *path)
{
	uint64_t n;

	close_all(w);
	w->out = fopen(path, "wb+");
	if (!w->out)
		fail(path);
	if (w->cfg.version == 6)
		write_v6(w);
	else
		write_v7(w);
	n = where(w);
	if (fclose(w->out) != 0)
		fail(path);
	free_all(w);
	return n;
}

static void write_text(const char *dir, const char *name, const void *p, size_t n)
{
	char path[1024];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		mkdir(path, 0777);
		*slash = '/';
	}
	f = fopen(path, "wb");
	if (!f || (n && fwrite(p, n, 1, f) != 1) || fclose(f) != 0)
		fail(path);
}

void tdw_finish_raw(struct tdw *w, const char *directory)
{
	char *text = must(malloc(65536)), name[256];

	close_all(w);
	write_text(directory, "formats/header_page", text, (size_t)tdf_header_page(w->formats, text, 65536));
	write_text(directory, "formats/header_event", tdf_header_event, strlen(tdf_header_event));
	for (int i = 0; tdf_name(w->formats, i); i++) {
		snprintf(name, sizeof(name), "formats/%s/%s/format", tdf_system(w->formats, i),
			 tdf_name(w->formats, i));
		write_text(directory, name, text, (size_t)tdf_text(w->formats, i, text, 65536));
	}
	for (uint32_t i = 0; i < w->cfg.nr_cpus; i++) {
		const struct cpu_buf *c = cpu_of(w, 0, i);

		snprintf(name, sizeof(name), "traces/cpu%u", i);
		write_text(directory, name, "", 0);
		snprintf(name, sizeof(name), "%s/traces/cpu%u", directory, i);
		w->out = fopen(name, "wb");
		if (!w->out)
			fail(name);
		write_pages(w, c);
		if (fclose(w->out) != 0)
			fail(name);
	}
	free(text);
	free_all(w);
}
