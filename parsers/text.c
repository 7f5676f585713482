/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Text traces as a source of events. A first pass (text_scan) learns what the text is; then lines are decoded one by
 * one, in the file's order when that is a time order, else in the order of text_order.
 *
 * Equal stamps: microsecond stamps alias, and a text that is in time order was merged by a tool that saw the full
 * stamps, so its order is kept. Where lines had to be sorted, lines of one CPU keep the file's order and those of
 * different CPUs are ordered by wi_event_rank(), then by CPU.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analyzer/base/cpumask.h"
#include "parsers/source.h"
#include "parsers/text_body.h"
#include "parsers/text_file.h"
#include "parsers/text_line.h"
#include "parsers/text_order.h"
#include "parsers/text_scan.h"

#define MAX_DAMAGE 16
#define MAX_TIE 256
#define ARENA_BYTES (4 * WI_LINE_MAX)

struct cpu_run {
	uint64_t lost; /* of lost-events lines not delivered yet */
	bool lost_pending;
	bool lost_number; /* lost is a number; else the line gave none */
	uint32_t comm_id; /* last name of the task column, to look it up once for a run of lines */
};

struct arena {
	char *bytes;
	uint32_t used;
};

struct text {
	struct wi_text_file file;
	struct wi_text_facts facts;
	struct wi_text_decoder decoder;
	struct wi_text_columns columns;
	struct wi_text_sorter *sorter;
	struct wi_names *names;
	struct wi_source_info *info;
	struct wi_open_opts opts;
	struct cpu_run *run; /* facts.cpu_room of them */
	struct wi_cpu_info *cpu_info;
	struct wi_buffer_info buffers[WI_TEXT_MAX_INSTANCES];
	struct wi_damage damage[MAX_DAMAGE];
	uint32_t filter;
	struct arena out; /* marker texts of the batch */
	/* sorted order: a line that is to be looked at again after its CPU's lost-events event */
	struct wi_str again;
	uint64_t again_offset;
	bool has_again;
	/* other orders: events of one stamp */
	struct wi_event tie[MAX_TIE];
	struct arena tie_text;
	uint32_t nr_tie, nr_tie_given;
	struct wi_text_place peek;
	bool has_peek;
	uint64_t next_progress;
};

/* ---- probing ---- */

static bool head_is_html(const uint8_t *head, size_t len)
{
	size_t n = len < 1024 ? len : 1024;

	return memmem(head, n, "<!DOCTYPE html", 14) || memmem(head, n, "<!DOCTYPE HTML", 14) ||
	       memmem(head, n, "<html", 5) || memmem(head, n, "<!doctype html", 14);
}

static int text_probe(const uint8_t *head, size_t len, uint64_t file_bytes)
{
	const char *p = (const char *)head, *end = p + len, *nl;
	struct wi_text_head h;
	size_t nuls = 0;

	(void)file_bytes;
	for (size_t i = 0; i < len && i < 4096; i++)
		nuls += head[i] < 9;
	if (nuls > 16)
		return 0;
	if (head_is_html(head, len))
		return 40;
	for (; p < end; p = nl + 1) {
		nl = memchr(p, '\n', (size_t)(end - p));
		if (!nl)
			nl = end;
		struct wi_str line = { p, (uint32_t)(nl - p) };

		if (line.len > 9 && !memcmp(p, "# tracer:", 9))
			return 90;
		if (wi_text_parse_head(line.p, line.len, &h))
			return 80;
		if (wi_text_broken_sched(line))
			return 50;
		if (line.len > 15 && !memcmp(p, "# captured on  ", 15)) /* perf script --header, which may be long */
			return 60;
	}
	return 0;
}

/* ---- markers ---- */

static bool arena_room(const struct arena *a, uint32_t len)
{
	return ARENA_BYTES - a->used >= len;
}

/* Copies a marker's text so that it outlives the line; there is room (one line's, see next_batch and read_tie). */
static void keep_marker(struct arena *a, struct wi_event *ev)
{
	if (ev->type != WI_EV_MARKER)
		return;
	memcpy(a->bytes + a->used, ev->marker.text, ev->marker.len);
	ev->marker.text = a->bytes + a->used;
	a->used += ev->marker.len;
}

/* ---- one line ---- */

static void note_damage(struct text *t, uint64_t offset, const char *what, struct wi_str line)
{
	struct wi_damage *d;

	for (uint32_t i = 0; i < t->info->nr_damage; i++)
		if (t->damage[i].offset == offset)
			return;
	if (t->info->nr_damage == MAX_DAMAGE)
		return;
	d = &t->damage[t->info->nr_damage++];
	d->offset = offset;
	snprintf(d->what, sizeof(d->what), "%s: found \"%.*s\"", what, line.len > 90 ? 90 : (int)line.len, line.p);
	for (char *p = d->what; *p; p++)
		if ((unsigned char)*p < 0x20 || *p == 0x7f)
			*p = '?';
}

static bool wanted(const struct text *t, uint32_t type)
{
	return t->filter >> type & 1;
}

static uint32_t comm_of_head(struct text *t, const struct wi_text_head *h, struct cpu_run *run)
{
	const char *last = wi_names_get(t->names, run->comm_id);

	if (!h->comm.len || h->pid <= 0 || WI_STR_IS(h->comm, "<...>") || WI_STR_IS(h->comm, "<idle>") ||
	    (h->form == WI_TEXT_PERF && h->comm.p[0] == ':') || (h->form == WI_TEXT_LATENCY && h->comm.len >= 8))
		return WI_NAME_NONE;
	if (!wi_str_equal(h->comm, last))
		run->comm_id = wi_names_intern(t->names, h->comm.p, h->comm.len);
	return run->comm_id;
}

static void fill_head(struct text *t, const struct wi_text_head *h, uint64_t offset, struct wi_event *ev)
{
	struct wi_text_flags f = wi_text_decode_flags(&t->columns, h);

	ev->ts_ns = h->ts_ns;
	ev->pos = offset;
	ev->cpu = h->cpu;
	ev->common_pid = h->pid < 0 ? 0 : h->pid;
	ev->common_tgid = h->tgid;
	ev->common_flags = f.flags;
	ev->common_preempt_count = f.preempt_count;
	ev->known = f.known | (h->pid < 0 ? 0 : WI_KNOWN_COMMON_PID);
}

static void lost_event(struct text *t, uint32_t cpu, uint64_t ts, uint64_t offset, struct wi_event *ev)
{
	struct cpu_run *run = &t->run[cpu];

	memset(ev, 0, sizeof(*ev));
	ev->type = WI_EV_LOST;
	ev->ts_ns = ts;
	ev->pos = offset;
	ev->cpu = cpu;
	ev->lost.nr_lost = run->lost_number ? run->lost : 0;
	ev->lost.kind = WI_LOST_MARK;
	run->lost_pending = false;
	run->lost = 0;
}

static void add_lost(struct cpu_run *run, uint64_t nr)
{
	run->lost_number = (!run->lost_pending || run->lost_number) && nr;
	run->lost = run->lost_pending ? run->lost + nr : nr;
	run->lost_pending = true;
}

/* "PERF_RECORD_LOST lost 12" */
static uint64_t perf_lost(const struct wi_text_head *h)
{
	const char *p = h->body.len ? memmem(h->body.p, h->body.len, "lost ", 5) : NULL;
	uint64_t nr;

	return p && wi_text_uint(p + 5, h->body.p + h->body.len, &nr) ? nr : 0;
}

/* true: an event to deliver. */
static bool decode(struct text *t, const struct wi_text_head *h, uint32_t type, struct wi_str line, uint64_t offset,
		   struct wi_event *ev)
{
	struct cpu_run *run = &t->run[h->cpu];

	if (type == WI_TEXT_IGNORE)
		return false;
	if (type == WI_EV_OTHER && h->pid < 0)
		return false;
	if (!wanted(t, type))
		return false;
	memset(ev, 0, sizeof(*ev));
	ev->type = (uint8_t)type;
	fill_head(t, h, offset, ev);
	if (!wi_text_decode(&t->decoder, h, ev)) {
		if (wi_text_is_sched(type)) {
			t->info->unparsed++;
			note_damage(t, offset, "sched line cannot be read", line);
		}
		return false;
	}
	if (line.len >= WI_LINE_MAX && wi_text_is_sched(type))
		note_damage(t, offset, "rest of a long line not read", line);
	ev->common_comm = comm_of_head(t, h, run);
	return true;
}

static void broken_line(struct text *t, struct wi_str line, uint64_t offset)
{
	t->info->unparsed++;
	note_damage(t, offset, "sched line without a readable task, CPU and time stamp", line);
}

/* ---- the file's own order ---- */

static int next_line(struct text *t, struct wi_str *line, uint64_t *offset, struct wi_err *err)
{
	if (!t->has_again)
		return wi_text_file_next(&t->file, line, offset, err);
	*line = t->again;
	*offset = t->again_offset;
	t->has_again = false;
	return 1;
}

/* At the end of the file: lost events of which no later line of the CPU told. */
static bool left_over_lost(struct text *t, struct wi_event *ev)
{
	for (uint32_t cpu = 0; cpu < t->facts.nr_cpus; cpu++) {
		if (t->run[cpu].lost_pending) {
			lost_event(t, cpu, t->peek.ts_ns, t->file.bytes, ev);
			return wanted(t, WI_EV_LOST);
		}
	}
	return false;
}

/* 1: *ev is the next event, 0: end, -1: err. peek.ts_ns is the last line's stamp. */
static int next_sorted(struct text *t, struct wi_event *ev, struct wi_err *err)
{
	struct wi_text_head h;
	struct wi_str line;
	uint64_t offset, nr;
	uint32_t cpu;
	int rc;

	while ((rc = next_line(t, &line, &offset, err)) > 0) {
		if (line.len && *line.p == '#') {
			wi_text_header_line(&t->columns, line.p, line.len);
		} else if (wi_text_parse_head(line.p, line.len, &h)) {
			uint32_t type = wi_text_event_type(&h, t->facts.report);

			if (type == WI_TEXT_IGNORE || !wi_text_chosen(&t->facts, &h) || h.cpu >= t->facts.nr_cpus)
				continue;
			if (type == WI_TEXT_LOST_TIMED) {
				add_lost(&t->run[h.cpu], perf_lost(&h));
				continue;
			}
			t->peek.ts_ns = h.ts_ns;
			if (t->run[h.cpu].lost_pending) {
				lost_event(t, h.cpu, h.ts_ns, offset, ev);
				t->again = line;
				t->again_offset = offset;
				t->has_again = true;
				if (wanted(t, WI_EV_LOST))
					return 1;
				continue;
			}
			if (decode(t, &h, type, line, offset, ev))
				return 1;
		} else if (wi_text_parse_lost(line, &cpu, &nr)) {
			if (cpu < t->facts.nr_cpus)
				add_lost(&t->run[cpu], nr);
		} else if (wi_text_broken_sched(line)) {
			broken_line(t, line, offset);
		}
	}
	return rc < 0 ? -1 : left_over_lost(t, ev);
}

/* ---- any other order ---- */

/* The event of the line at a place. 1, 0: the line gives none, -1: err. */
static int event_at(struct text *t, const struct wi_text_place *place, struct wi_event *ev, struct wi_err *err)
{
	struct wi_text_head h;
	struct wi_str line;
	uint64_t nr;
	uint32_t cpu, type;

	if (!wi_text_file_at(&t->file, place->offset, &line, err))
		return -1;
	if (wi_text_parse_head(line.p, line.len, &h)) {
		if (h.cpu >= t->facts.nr_cpus)
			return 0;
		type = wi_text_event_type(&h, t->facts.report);
		if (type != WI_TEXT_LOST_TIMED)
			return decode(t, &h, type, line, place->offset, ev);
		cpu = h.cpu;
		nr = perf_lost(&h);
	} else if (!wi_text_parse_lost(line, &cpu, &nr)) {
		broken_line(t, line, place->offset);
		return 0;
	}
	if (cpu >= t->facts.nr_cpus || !wanted(t, WI_EV_LOST))
		return 0;
	add_lost(&t->run[cpu], nr);
	lost_event(t, cpu, place->ts_ns, place->offset, ev);
	return 1;
}

static bool tie_before(const struct wi_event *a, const struct wi_event *b)
{
	uint32_t ra = wi_event_rank(a->type), rb = wi_event_rank(b->type);

	return ra != rb ? ra < rb : a->cpu < b->cpu;
}

/* Events of one stamp, in file order: again and again the lowest in rank of those that are their CPU's first. */
static void order_tie(struct wi_event *ev, uint32_t nr)
{
	for (uint32_t i = 0; i + 1 < nr; i++) {
		uint32_t best = i;

		for (uint32_t k = i + 1; k < nr; k++) {
			bool first = tie_before(&ev[k], &ev[best]);

			for (uint32_t m = i; first && m < k; m++)
				first = ev[m].cpu != ev[k].cpu;
			if (first)
				best = k;
		}
		if (best == i)
			continue;
		struct wi_event e = ev[best];

		memmove(&ev[i + 1], &ev[i], (best - i) * sizeof(*ev));
		ev[i] = e;
	}
}

/* Reads the events of the next stamp into t->tie. 1, 0 at the end, -1. */
static int read_tie(struct text *t, struct wi_err *err)
{
	uint64_t ts = 0;
	int rc = 1;

	t->nr_tie = t->nr_tie_given = 0;
	t->tie_text.used = 0;
	while (t->nr_tie < MAX_TIE && arena_room(&t->tie_text, WI_LINE_MAX)) {
		if (!t->has_peek && (rc = wi_text_sorter_next(t->sorter, &t->peek, err)) <= 0)
			break;
		t->has_peek = true;
		if (t->nr_tie && t->peek.ts_ns != ts)
			break;
		ts = t->peek.ts_ns;
		rc = event_at(t, &t->peek, &t->tie[t->nr_tie], err);
		if (rc < 0)
			break;
		t->has_peek = false;
		if (rc)
			keep_marker(&t->tie_text, &t->tie[t->nr_tie++]);
		rc = 1;
	}
	if (rc < 0)
		return -1;
	order_tie(t->tie, t->nr_tie);
	return t->nr_tie > 0;
}

static int next_resorted(struct text *t, struct wi_event *ev, struct wi_err *err)
{
	if (t->nr_tie_given == t->nr_tie) {
		int rc = read_tie(t, err);

		if (rc <= 0)
			return rc;
	}
	*ev = t->tie[t->nr_tie_given++];
	return 1;
}

/* ---- operations ---- */

static void report_progress(struct text *t)
{
	uint64_t at = t->facts.order == WI_ORDER_SORTED ? t->file.base + t->file.pos : 0;

	if (!t->opts.progress || at < t->next_progress)
		return;
	t->opts.progress(t->opts.progress_ctx, t->file.bytes + at, 2 * t->file.bytes);
	t->next_progress = at + (1 << 20);
}

static int text_next_batch(void *self, struct wi_event *ev, int max, struct wi_err *err)
{
	struct text *t = self;
	int n = 0, rc = 1;

	t->out.used = 0;
	while (n < max && arena_room(&t->out, WI_LINE_MAX)) {
		rc = t->sorter ? next_resorted(t, &ev[n], err) : next_sorted(t, &ev[n], err);
		if (rc <= 0)
			break;
		keep_marker(&t->out, &ev[n++]);
	}
	t->info->unknown_state_letters = t->decoder.unknown_letters;
	report_progress(t);
	return rc < 0 ? -1 : n;
}

static bool text_rewind(void *self, struct wi_err *err)
{
	struct text *t = self;

	(void)err;
	if (t->sorter)
		wi_text_sorter_rewind(t->sorter);
	else
		wi_text_file_rewind(&t->file);
	memset(t->run, 0, t->facts.cpu_room * sizeof(*t->run));
	t->columns = t->facts.columns;
	t->has_again = t->has_peek = false;
	t->peek.ts_ns = 0;
	t->nr_tie = t->nr_tie_given = 0;
	t->decoder.unknown_letters = 0;
	t->info->unparsed = t->info->unknown_state_letters = 0;
	t->next_progress = 0;
	return true;
}

static void text_set_filter(void *self, uint32_t type_bits)
{
	struct text *t = self;

	t->filter = type_bits;
}

static uint32_t text_comm_of(void *self, int32_t pid)
{
	struct text *t = self;

	return wi_text_pid_name(&t->facts, pid);
}

static void text_close(void *self)
{
	struct text *t = self;

	if (!t)
		return;
	wi_text_sorter_free(t->sorter);
	wi_text_facts_fini(&t->facts);
	wi_text_file_fini(&t->file);
	free(t->run);
	free(t->cpu_info);
	free(t->out.bytes);
	free(t->tie_text.bytes);
	free(t);
}

static bool fill_cpu_info(struct text *t, struct wi_source_info *info)
{
	struct wi_text_facts *f = &t->facts;

	info->nr_cpus = f->nr_cpus > f->header_cpus ? f->nr_cpus : f->header_cpus;
	info->told_cpus = f->header_cpus;
	t->cpu_info = calloc(info->nr_cpus ? info->nr_cpus : 1, sizeof(*t->cpu_info));
	t->run = calloc(f->cpu_room ? f->cpu_room : 1, sizeof(*t->run));
	if (!t->cpu_info || !t->run)
		return false;
	for (uint32_t cpu = 0; cpu < info->nr_cpus; cpu++) {
		struct wi_cpu_info *c = &t->cpu_info[cpu];

		/* the text says how much was overwritten in all, not on which CPU */
		c->overwritten = f->in_buffer < f->written;
		c->first_pid = -1;
		if (cpu >= f->cpu_room)
			continue;
		c->has_data = f->cpu[cpu].seen;
		c->first_ts_ns = f->cpu[cpu].first_ts_ns;
		c->first_pid = c->has_data ? f->cpu[cpu].first_pid : -1;
		c->overwritten |= f->cpu[cpu].buffer_started;
	}
	info->cpu = t->cpu_info;
	info->last_ts_ns = f->last_ts_ns;
	return true;
}

static void fill_buffer_info(struct text *t, struct wi_source_info *info)
{
	struct wi_text_facts *f = &t->facts;

	info->nr_buffers = f->nr_instances ? f->nr_instances : 1;
	t->buffers[0] = (struct wi_buffer_info){ .name = "", .bytes = t->file.bytes, .chosen = true };
	for (uint32_t i = 0; i < f->nr_instances; i++)
		t->buffers[i] = (struct wi_buffer_info){ .name = f->instance[i].name,
							 .bytes = f->instance[i].bytes,
							 .chosen = i == f->chosen };
	info->buffers = t->buffers;
}

static uint32_t time_res(const struct wi_text_facts *f)
{
	uint32_t res = 1;

	for (uint32_t digits = f->max_digits; digits && digits < 9; digits++)
		res *= 10;
	return res;
}

static void *text_open(int fd, uint64_t file_bytes, const char *path, const struct wi_open_opts *opts,
		       struct wi_names *names, struct wi_source_info *info, struct wi_err *err)
{
	static const struct wi_open_opts no_opts;
	struct text *t = calloc(1, sizeof(*t));
	char head[1024];
	bool ok = false;

	if (!t) {
		wi_err_nomem(err);
		return NULL;
	}
	t->opts = opts ? *opts : no_opts;
	t->info = info;
	t->names = t->decoder.names = names;
	t->filter = UINT32_MAX;
	t->out.bytes = malloc(ARENA_BYTES);
	t->tie_text.bytes = malloc(ARENA_BYTES);
	if (!t->out.bytes || !t->tie_text.bytes) {
		wi_err_nomem(err);
		goto out;
	}
	if (!wi_text_file_init(&t->file, fd, file_bytes, path, err))
		goto out;
	ssize_t n = pread(fd, head, sizeof(head), 0);

	t->file.html = n > 0 && head_is_html((const uint8_t *)head, (size_t)n);
	if (!wi_text_scan(&t->file, t->opts.buffer, names, &t->opts, &t->facts, err))
		goto out;
	if (!fill_cpu_info(t, info)) {
		wi_err_nomem(err);
		goto out;
	}
	fill_buffer_info(t, info);
	t->decoder.states = t->facts.states;
	info->format = t->facts.format;
	info->kernel = t->facts.kernel;
	info->arch = t->facts.arch;
	info->clock = t->facts.max_digits || t->facts.clock[0] ? t->facts.clock : "counter";
	info->time_res_ns = time_res(&t->facts);
	info->damage = t->damage;
	info->nr_damage = 0;
	if (t->facts.more_instances)
		note_damage(t, WI_NO_OFFSET, "more than 64 buffer instances are named, the later ones are left out",
			    (struct wi_str){ "", 0 });
	if (t->facts.order != WI_ORDER_SORTED) {
		t->sorter = wi_text_sorter_new(&t->file, &t->facts, err);
		if (!t->sorter)
			goto out;
	}
	ok = text_rewind(t, err);
out:
	if (!ok) {
		text_close(t);
		t = NULL;
	}
	return t;
}

const struct wi_parser_ops wi_text_ops = {
	.name = "text",
	.probe = text_probe,
	.open = text_open,
	.next_batch = text_next_batch,
	.rewind = text_rewind,
	.set_filter = text_set_filter,
	.comm_of = text_comm_of,
	.close = text_close,
};
