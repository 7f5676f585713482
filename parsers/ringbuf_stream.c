/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "parsers/ringbuf_stream.h"
#include "parsers/chain.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Texts of markers of one batch. A batch ends early when the next text might not fit. */
#define ARENA_BYTES (256u << 10)
#define PROGRESS_STEP (1u << 20)

/* What has to happen before the next record of a stream is delivered. */
enum { FIRST_RECORD = 1, RECORDS_LOST = 2 };

struct stream {
	/* what every record touches */
	const uint8_t *p, *page_end; /* rest of the current page's records */
	uint64_t raw_ts;	     /* as the recording counts */
	uint64_t seen_ts;	     /* raw, of the last record of any kind */
	int32_t current; /* task that the last record left on the CPU, or WI_CHAIN_UNKNOWN (parsers/chain.h) */
	int32_t leaving; /* task that the last record, a sched_switch, took off; else WI_CHAIN_UNKNOWN */
	/* head: the next event. Its time is never before that of the head before it */
	const uint8_t *rec;
	uint64_t ts_ns;
	uint32_t len;
	uint8_t type;	   /* enum wi_event_type */
	bool in_other_run; /* of records that nobody reads */
	bool pid_stale;	   /* the head was written between sched_switch and the change of "current" */
	uint8_t before;	   /* FIRST_RECORD, RECORDS_LOST */
	uint32_t cpu;
	uint64_t pos_mask, pos_base; /* where the head lies in the file: see pos_of_head */
	/* now and then */
	uint64_t latest;   /* raw; what follows the current page begins earlier than that */
	int32_t other_pid; /* of the run of records that nobody reads */
	bool gap;	   /* the loss is damage, not the kernel's */
	bool nr_lost_unknown;
	uint8_t lost_kind; /* of the loss at the head: enum wi_lost_kind */
	bool ended, dead;  /* no more blocks; nothing at the head any more */
	uint64_t nr_lost;
	const uint8_t *next_page, *block_end;
	struct wi_rb_block block;
} __attribute__((aligned(64)));

/* What the reader knows beforehand of a record with a slot. */
struct slot_rule {
	uint16_t was, next; /* offsets of who ran before the record and after it */
	uint32_t need;	    /* shortest record that can simply be followed; RECORD_MAX: none can */
	int32_t leaving;    /* ORed to who ran: WI_CHAIN_UNKNOWN where that task stays */
	uint32_t usual;	    /* enum usual: how to decode it */
};

#define RECORD_MAX UINT32_MAX

/* Records of today's 64-bit kernels with a decoder of their own. */
enum usual { UNUSUAL, USUAL_SWITCH, USUAL_WAKEUP, USUAL_MIGRATE };

/* Rare work is kept out of the loops. */
#define OUT_OF_LINE __attribute__((noinline))
#define RARE __attribute__((noinline, cold))

_Static_assert(WI_NR_EVENT_TYPES <= WI_MERGE_RANKS, "a type is a rank of the merge");

struct wi_rb_streams {
	struct wi_rb_streams_cfg cfg;
	const uint8_t *slot;
	uint32_t filter, type_off, pid_off, common_len;
	struct slot_rule rule[WI_SLOT_HIDDEN + 1];
	struct wi_evfmt_names names;
	bool swap, plain_clock;
	uint64_t clock_offset;
	uint64_t latest; /* raw: no record can be later */
	struct stream *s;
	struct wi_merge merge;
	bool merge_ready;
	char *arena;
	size_t arena_bytes, arena_used;
	uint32_t damage_mark;
	uint64_t done_bytes, shown_bytes;
	struct wi_err err; /* I/O error met while moving on; returned by the next call */
};

static uint64_t mul_shift(uint64_t a, uint32_t mul, uint32_t shift)
{
	return shift > 127 ? 0 : (uint64_t)((unsigned __int128)a * mul >> shift);
}

static uint64_t shift_between(const struct wi_rb_clock *c, uint64_t ts, const struct wi_rb_shift_sample *lo,
			      const struct wi_rb_shift_sample *hi)
{
	__int128 offset = lo->offset;

	if (c->interpolate && hi->time != lo->time) {
		__int128 delta = (__int128)(hi->time - lo->time);
		__int128 part;

		if (!__builtin_mul_overflow((__int128)ts - lo->time, (__int128)hi->offset - lo->offset, &part) &&
		    !__builtin_add_overflow(part, delta / 2, &part))
			offset += part / delta;
	}
	return (lo->fraction > 63 ? 0 : (ts * lo->scaling) >> lo->fraction) + (uint64_t)offset;
}

static uint64_t shift_cpu(const struct wi_rb_clock *c, uint32_t cpu, uint64_t ts)
{
	if (cpu >= c->nr_shift || !c->shift[cpu].nr)
		return ts;

	const struct wi_rb_shift_sample *s = c->shift[cpu].sample;
	uint32_t lo = 0, hi = c->shift[cpu].nr - 1;

	if (hi == 0)
		return ts + (uint64_t)s[0].offset;
	while (hi - lo > 1) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (s[mid].time <= ts)
			lo = mid;
		else
			hi = mid;
	}
	return shift_between(c, ts, &s[lo], &s[hi]);
}

uint64_t wi_rb_clock_map(const struct wi_rb_clock *c, uint32_t cpu, uint64_t raw)
{
	if (c->nr_shift)
		raw = shift_cpu(c, cpu, raw);
	if (c->mult)
		raw = mul_shift(raw, c->mult, c->tsc_shift);
	return raw + c->offset_ns;
}

/* Clocks of different CPUs may disagree by so much, and the statistics are cut to microseconds. */
#define END_MARGIN 1000000000ull

uint64_t wi_rb_stats_end(const char *stats)
{
	const char *at = strstr(stats, "now ts:");
	char *rest;

	if (!at)
		return 0;
	at += 7;
	uint64_t end = strtoull(at, &rest, 10);
	if (*rest == '.')
		end = end < UINT64_MAX / 2000000000 ? end * 1000000000 + strtoull(rest + 1, NULL, 10) * 1000 : 0;
	return end < UINT64_MAX - END_MARGIN ? end : 0;
}

static uint64_t map_ts(const struct wi_rb_streams *r, const struct stream *s, uint64_t raw)
{
	return r->plain_clock ? raw + r->clock_offset : wi_rb_clock_map(r->cfg.clock, s->cpu, raw);
}

static uint64_t pos_of(const struct stream *s, const uint8_t *at)
{
	return s->block.pos_linear && at ? s->block.pos + (uint64_t)(at - s->block.data) : s->block.pos;
}

/* The same for a record of the current block, without a branch. */
static inline uint64_t pos_of_head(const struct stream *s)
{
	return s->pos_base + ((uintptr_t)s->rec & s->pos_mask);
}

static void mark_lost(struct stream *s, uint64_t nr, bool gap)
{
	s->before |= RECORDS_LOST;
	s->nr_lost_unknown |= !nr;
	s->nr_lost += nr;
	s->gap |= gap;
}

static void count_progress(struct wi_rb_streams *r, uint64_t bytes)
{
	r->done_bytes += bytes;
	if (r->cfg.progress && r->done_bytes - r->shown_bytes >= PROGRESS_STEP) {
		r->shown_bytes = r->done_bytes;
		r->cfg.progress(r->cfg.progress_ctx,
				r->done_bytes < r->cfg.total_bytes ? r->done_bytes : r->cfg.total_bytes,
				r->cfg.total_bytes);
	}
}

static bool next_block(struct wi_rb_streams *r, uint32_t i)
{
	struct stream *s = &r->s[i];
	struct wi_rb_block b = { 0 };

	if (s->ended)
		return false;
	int rc = r->cfg.ops->next_block(r->cfg.ctx, i, &b, &r->err);
	if (b.gap)
		mark_lost(s, 0, true);
	if (rc <= 0) {
		s->ended = true;
		return false;
	}
	count_progress(r, b.consumed);
	s->block = b;
	s->next_page = b.data;
	s->block_end = b.data + b.bytes;
	s->pos_mask = b.pos_linear ? UINT64_MAX : 0;
	s->pos_base = b.pos_linear ? b.pos - (uintptr_t)b.data : b.pos;
	return true;
}

static void bad_page(struct wi_rb_streams *r, struct stream *s, const uint8_t *at, const char *what, uint64_t found)
{
	wi_damage_note(r->cfg.log, WI_DMG_PAGE, s->cpu, pos_of(s, at),
		       "CPU %" PRIu32 ": sub-buffer skipped: %s 0x%" PRIx64, s->cpu, what, found);
	mark_lost(s, 0, true);
}

/* Opens the next page that has a sane header. false: the stream is at its end. */
OUT_OF_LINE static bool next_page(struct wi_rb_streams *r, uint32_t i)
{
	const struct wi_rb_layout *l = r->cfg.layout;
	struct stream *s = &r->s[i];
	struct wi_rb_page pg;
	uint32_t commit;

	for (;;) {
		if ((size_t)(s->block_end - s->next_page) < l->page_bytes) {
			if (!next_block(r, i))
				return false;
			continue;
		}
		const uint8_t *at = s->next_page;

		s->next_page += l->page_bytes;
		if (!wi_rb_page_open(l, at, r->swap, &pg, &commit)) {
			bad_page(r, s, at, "commit word", commit);
			continue;
		}
		if (pg.data == pg.end && !pg.ts) { /* zeros: never written, though the file has room for it */
			bad_page(r, s, at, "empty, with time stamp", pg.ts);
			continue;
		}
		s->latest = wi_rb_latest(l, pg.ts, s->seen_ts, s->next_page, s->block_end, r->swap);
		if (!s->latest) {
			bad_page(r, s, at, "out of order, with time stamp", pg.ts);
			continue;
		}
		if (r->latest < s->latest) {
			s->latest = r->latest;
			if (pg.ts > s->latest) {
				bad_page(r, s, at, "behind the recording's end, with time stamp", pg.ts);
				continue;
			}
		}
		s->p = pg.data;
		s->page_end = pg.end;
		s->raw_ts = pg.ts;
		if (pg.missed)
			mark_lost(s, pg.nr_missed, false);
		return true;
	}
}

RARE static void bad_record(struct wi_rb_streams *r, struct stream *s, const char *what)
{
	wi_damage_note(r->cfg.log, WI_DMG_RECORD, s->cpu, pos_of(s, s->p),
		       "CPU %" PRIu32 ": rest of a sub-buffer skipped: %s", s->cpu, what);
	s->p = s->page_end;
	mark_lost(s, 0, true);
}

WI_INLINE void set_head_time(struct wi_rb_streams *r, struct stream *s, uint64_t ns)
{
	if (__builtin_expect(ns < s->ts_ns, 0)) {
		r->cfg.info->unordered++;
		return;
	}
	s->ts_ns = ns;
}

/* Puts a loss at the head. It happened after the last record that was seen, and carries that record's time. */
static void lose(struct wi_rb_streams *r, struct stream *s, enum wi_lost_kind kind, const uint8_t *at)
{
	uint64_t ns = map_ts(r, s, s->seen_ts);

	if (ns > s->ts_ns)
		s->ts_ns = ns;
	s->before = 0;
	s->type = WI_EV_LOST;
	s->lost_kind = (uint8_t)kind;
	s->rec = at;
	s->in_other_run = false;
	s->current = s->leaving = WI_CHAIN_UNKNOWN;
}

/* The loss that ends a stream has no record behind it. */
RARE static bool end_of_stream(struct wi_rb_streams *r, struct stream *s)
{
	if ((s->before & RECORDS_LOST) && !(s->before & FIRST_RECORD)) {
		lose(r, s, WI_LOST_MARK, NULL);
		return true;
	}
	if (!(s->before & FIRST_RECORD)) {
		uint64_t ns = map_ts(r, s, s->seen_ts);

		if (ns > r->cfg.info->last_ts_ns)
			r->cfg.info->last_ts_ns = ns;
	}
	s->dead = true;
	return false;
}

RARE static void first_record(struct wi_rb_streams *r, struct stream *s, const uint8_t *rec, uint32_t len)
{
	struct wi_cpu_info *ci = &r->cfg.cpu_info[s->cpu];

	s->before &= (uint8_t)~FIRST_RECORD;
	s->seen_ts = s->raw_ts;
	if (ci->has_data) /* a second pass */
		return;
	ci->has_data = true;
	ci->first_ts_ns = map_ts(r, s, s->raw_ts);
	ci->overwritten = (s->before & RECORDS_LOST) && !s->gap;
	if (len >= r->common_len) {
		int32_t pid = (int32_t)wi_get32(rec + r->pid_off, r->swap);

		ci->first_pid = wi_pid_ok(pid) ? pid : -1;
	}
}

/*
 * sched_switch is written before the kernel changes "current": what is written in between (tlb_flush, FPU and timer
 * events of the switch itself) still carries the old pid. That proves no lost switch, and says nothing about who runs.
 */
static bool within_switch(const struct stream *s, uint32_t slot, int32_t pid)
{
	return pid == s->leaving && pid != s->current && (slot == WI_SLOT_OTHER || slot == WI_EV_HRTIMER_START);
}

enum follow { PASS, DELIVER, BROKEN };

/*
 * Who is current on the CPU, record by record (parsers/chain.h, on raw bytes), for the records that the fast path
 * leaves alone. PASS: not delivered; BROKEN: the record contradicts the last switch.
 */
OUT_OF_LINE static enum follow follow_special(struct wi_rb_streams *r, struct stream *s, uint32_t slot,
					      const uint8_t *rec, uint32_t len)
{
	const struct wi_evfmt *fmt = slot < WI_NR_EVENT_TYPES ? &r->cfg.formats->fmt[slot] : NULL;
	int32_t pid = (int32_t)wi_get32(rec + r->pid_off, r->swap), was = s->current, next = pid;
	bool whole = fmt && len >= fmt->min_len;

	s->pid_stale = false;
	if (slot == WI_SLOT_HIDDEN)
		return PASS;
	if (slot == WI_EV_MARKER) /* proves nothing, as all of ftrace's own */
		return DELIVER;
	if (within_switch(s, slot, pid)) {
		s->in_other_run &= slot == WI_SLOT_OTHER;
		s->pid_stale = true;
		return slot == WI_SLOT_OTHER ? PASS : DELIVER;
	}
	s->leaving = WI_CHAIN_UNKNOWN;
	if (slot == WI_EV_SCHED_SWITCH && whole) {
		pid = s->leaving = wi_evfmt_s32(fmt, 1, rec, false, r->swap);
		next = wi_evfmt_s32(fmt, 5, rec, false, r->swap);
	} else if (slot == WI_EV_SCHED_PROCESS_EXEC && whole) {
		/* a thread that execs takes its leader's pid */
		next = wi_evfmt_s32(fmt, 0, rec, false, r->swap);
		pid = wi_evfmt_s32(fmt, 1, rec, false, r->swap) == was ? was : next;
	}
	s->current = next;
	if (was != WI_CHAIN_UNKNOWN && pid != was)
		return BROKEN;
	if (slot == WI_SLOT_OTHER && s->in_other_run && s->other_pid == pid)
		return PASS;
	s->in_other_run = slot == WI_SLOT_OTHER;
	s->other_pid = pid;
	return DELIVER;
}

/* A loss in front of the record that starts at start: the record comes again. */
RARE static bool lose_before(struct wi_rb_streams *r, struct stream *s, enum wi_lost_kind kind, const uint8_t *start,
			     uint64_t start_ts)
{
	lose(r, s, kind, start);
	s->p = start;
	s->raw_ts = start_ts;
	return true;
}

/* The record was written by another task than the last one left: does that break a chain? */
RARE static bool is_break(struct stream *s)
{
	bool known = s->current != WI_CHAIN_UNKNOWN;

	s->nr_lost_unknown |= known;
	return known;
}

/* Moves stream i to its next event. false: end. */
WI_INLINE bool advance(struct wi_rb_streams *r, uint32_t i, bool swap)
{
	struct stream *s = &r->s[i];

	for (;;) {
		if (__builtin_expect(s->p >= s->page_end, 0)) {
			if (!next_page(r, i))
				return end_of_stream(r, s);
			continue;
		}
		const uint8_t *start = s->p, *rec;
		uint64_t start_ts = s->raw_ts;
		uint32_t len;
		enum wi_rb_entry e = wi_rb_next(&s->p, s->page_end, swap, &s->raw_ts, &rec, &len);

		if (e != WI_RB_RECORD) {
			if (e == WI_RB_BAD)
				bad_record(r, s, "record exceeds it by its size");
			else if (s->raw_ts > s->latest ||
				 (s->raw_ts < start_ts && start_ts - s->raw_ts > WI_RB_BACKWARD))
				bad_record(r, s, "time stamp out of order");
			continue;
		}
		if (__builtin_expect(s->before, 0)) {
			if (s->before & FIRST_RECORD)
				first_record(r, s, rec, len);
			if (s->before & RECORDS_LOST)
				return lose_before(r, s, WI_LOST_MARK, start, start_ts);
		}
		if (__builtin_expect(len < r->common_len, 0)) {
			bad_record(r, s, "record exceeds it by its size");
			continue;
		}

		uint32_t slot = r->slot[wi_get16(rec + r->type_off, swap)];
		const struct slot_rule *rule = &r->rule[slot];

		if (__builtin_expect(len < rule->need, 0)) {
			enum follow f = follow_special(r, s, slot, rec, len);

			if (f == BROKEN) {
				s->nr_lost_unknown = true;
				return lose_before(r, s, WI_LOST_CHAIN, start, start_ts);
			}
			s->seen_ts = s->raw_ts;
			if (f == PASS)
				continue;
			if (slot == WI_SLOT_OTHER)
				slot = WI_EV_OTHER;
		} else {
			int32_t pid = (int32_t)wi_get32(rec + rule->was, swap);

			if (__builtin_expect(pid != s->current, 0) && is_break(s))
				return lose_before(r, s, WI_LOST_CHAIN, start, start_ts);
			s->current = (int32_t)wi_get32(rec + rule->next, swap);
			s->leaving = pid | rule->leaving;
			s->in_other_run = s->pid_stale = false;
			s->seen_ts = s->raw_ts;
		}
		if (__builtin_expect(!(r->filter >> slot & 1), 0))
			continue;
		s->rec = rec;
		s->len = len;
		s->type = (uint8_t)slot;
		set_head_time(r, s, map_ts(r, s, s->raw_ts));
		return true;
	}
}

static bool marker(struct wi_rb_streams *r, const struct stream *s, struct wi_event *ev)
{
	const struct wi_evfmt *fmt = &r->cfg.formats->fmt[WI_EV_MARKER];
	const char *text;
	uint32_t len;

	if (!wi_decode_marker(fmt, s->rec, s->len, r->swap, &text, &len))
		return false;
	memcpy(r->arena + r->arena_used, text, len);
	ev->marker.text = r->arena + r->arena_used;
	ev->marker.len = len;
	r->arena_used += len;
	return true;
}

/* Common fields, wherever they lie. */
static void general_common(const struct wi_rb_streams *r, const uint8_t *rec, struct wi_event *ev)
{
	const struct wi_evfmt_set *set = r->cfg.formats;

	ev->common_pid = (int32_t)wi_get32(rec + r->pid_off, r->swap);
	ev->known = WI_KNOWN_COMMON_PID;
	if (set->common_flags.kind != WI_FK_ABSENT) {
		ev->common_flags = rec[set->common_flags.offset] & set->flags_mask;
		ev->known |= WI_KNOWN_FLAGS;
	}
	if (set->common_preempt.kind != WI_FK_ABSENT) {
		ev->common_preempt_count = rec[set->common_preempt.offset];
		ev->known |= WI_KNOWN_PREEMPT_COUNT;
	}
}

/* Common fields at 0, 2, 3, 4. */
WI_INLINE void usual_common(const struct wi_rb_streams *r, const uint8_t *rec, struct wi_event *ev, bool swap)
{
	ev->common_flags = rec[2] & r->cfg.formats->flags_mask;
	ev->common_preempt_count = rec[3];
	ev->common_pid = (int32_t)wi_get32(rec + 4, swap);
	ev->known = WI_KNOWN_FLAGS | WI_KNOWN_PREEMPT_COUNT | WI_KNOWN_COMMON_PID;
}

WI_INLINE void init_event(const struct stream *s, struct wi_event *ev, uint64_t pos)
{
	memset(ev, 0, sizeof(*ev));
	ev->ts_ns = s->ts_ns;
	ev->pos = pos;
	ev->cpu = s->cpu;
	ev->type = s->type;
}

static void count_state(struct wi_rb_streams *r, const struct wi_evfmt *fmt, const struct wi_event *ev)
{
	if (__builtin_expect(!(ev->known & WI_KNOWN_STATE), 0) && fmt->f[3].kind != WI_FK_ABSENT)
		r->cfg.info->unknown_state_letters++;
}

/* The fields of a record, of whatever layout. false: they are damaged. */
WI_INLINE bool general_fields(struct wi_rb_streams *r, struct stream *s, const struct wi_evfmt *fmt, bool plain,
			      struct wi_event *ev)
{
	const struct wi_evfmt_set *set = r->cfg.formats;
	struct wi_evfmt_names *names = &r->names;
	const uint8_t *rec = s->rec;
	uint32_t len = s->len;
	bool swap = r->swap;

	switch (s->type) {
	case WI_EV_SCHED_SWITCH:
		if (!wi_decode_switch(set, fmt, rec, len, plain, swap, names, ev))
			return false;
		count_state(r, fmt, ev);
		return true;
	case WI_EV_SCHED_WAKING:
	case WI_EV_SCHED_WAKEUP:
	case WI_EV_SCHED_WAKEUP_NEW:
		return wi_decode_wakeup(fmt, rec, len, plain, swap, names, ev);
	case WI_EV_SCHED_MIGRATE_TASK:
		return wi_decode_migrate(fmt, rec, len, plain, swap, names, ev);
	case WI_EV_CPU_IDLE:
		return wi_decode_idle(fmt, rec, plain, swap, ev);
	case WI_EV_MARKER:
		return marker(r, s, ev);
	default:
		return wi_decode_rare(fmt, rec, len, swap, names, ev);
	}
}

/* The head of a stream as an event. false: its fields are damaged. */
OUT_OF_LINE static bool decode_general(struct wi_rb_streams *r, struct stream *s, struct wi_event *ev)
{
	const struct wi_evfmt *fmt = &r->cfg.formats->fmt[s->type];

	init_event(s, ev, pos_of(s, s->rec));
	if (s->type == WI_EV_LOST) {
		ev->lost.nr_lost = s->nr_lost_unknown ? 0 : s->nr_lost;
		ev->lost.kind = s->lost_kind;
		s->nr_lost = 0;
		s->nr_lost_unknown = s->gap = false;
		return true;
	}
	general_common(r, s->rec, ev);
	if (s->pid_stale)
		ev->known &= (uint8_t)~WI_KNOWN_COMMON_PID;
	if (!wi_pid_ok(ev->common_pid))
		return false;
	if (s->type == WI_EV_OTHER)
		return true;
	if (s->len < fmt->min_len)
		return false;
	return fmt->plain ? general_fields(r, s, fmt, true, ev) : general_fields(r, s, fmt, false, ev);
}

/* The same for a record of the usual layout. */
WI_INLINE bool decode_usual(struct wi_rb_streams *r, struct stream *s, enum usual usual, struct wi_event *ev, bool swap)
{
	const struct wi_evfmt_set *set = r->cfg.formats;
	struct wi_evfmt_names *names = &r->names;
	const uint8_t *rec = s->rec;
	uint32_t len = s->len;

	/* Every field by itself, those of the type below: clearing all of it first costs as much as half of them. */
	ev->ts_ns = s->ts_ns;
	ev->pos = pos_of_head(s);
	ev->cpu = s->cpu;
	ev->common_tgid = 0;
	ev->common_comm = WI_NAME_NONE;
	ev->type = s->type;
	usual_common(r, rec, ev, swap);
	if (__builtin_expect(!wi_pid_ok(ev->common_pid), 0))
		return false;
	if (usual == USUAL_SWITCH) {
		if (len < wi_usual_switch.min_len ||
		    !wi_decode_switch(set, &wi_usual_switch, rec, len, true, swap, names, ev))
			return false;
		count_state(r, &wi_usual_switch, ev);
		return true;
	}
	if (usual == USUAL_WAKEUP)
		return len >= wi_usual_wakeup.min_len &&
		       wi_decode_wakeup(&wi_usual_wakeup, rec, len, true, swap, names, ev);
	return len >= wi_usual_migrate.min_len && wi_decode_migrate(&wi_usual_migrate, rec, len, true, swap, names, ev);
}

/* Does the text of the marker at the head wait for the next batch? */
static bool waits_for_arena(const struct wi_rb_streams *r, const struct stream *s)
{
	return s->type == WI_EV_MARKER && s->len > r->arena_bytes - r->arena_used;
}

RARE static void bad_content(struct wi_rb_streams *r, struct stream *s)
{
	r->cfg.info->unparsed++;
	wi_damage_note(r->cfg.log, WI_DMG_CONTENT, s->cpu, pos_of(s, s->rec),
		       "CPU %" PRIu32 ": record of %s not used: impossible field", s->cpu,
		       wi_event_name((enum wi_event_type)s->type));
	mark_lost(s, 0, true);
}

WI_INLINE int fill(struct wi_rb_streams *r, struct wi_event *ev, int max, bool swap)
{
	struct wi_merge m = r->merge; /* a copy: no store to an event can change it */
	struct wi_event *to = ev, *end = ev + max;

	r->arena_used = 0;
	while (to < end && wi_merge_more(&m)) {
		uint32_t i = wi_merge_winner(&m);
		struct stream *s = &r->s[i];

		enum usual usual = (enum usual)r->rule[wi_merge_winner_rank(&m)].usual;

		if (usual == UNUSUAL && waits_for_arena(r, s))
			break;
		if (__builtin_expect(usual ? decode_usual(r, s, usual, to, swap) : decode_general(r, s, to), 1))
			to++;
		else
			bad_content(r, s);
		if (__builtin_expect(advance(r, i, swap), 1))
			wi_merge_replace(&m, i, s->ts_ns, s->type);
		else
			wi_merge_end(&m, i);
	}
	r->merge = m;
	return (int)(to - ev);
}

static int fill_native(struct wi_rb_streams *r, struct wi_event *ev, int max)
{
	return fill(r, ev, max, false);
}

static int fill_swapped(struct wi_rb_streams *r, struct wi_event *ev, int max)
{
	return fill(r, ev, max, true);
}

int wi_rb_streams_next(struct wi_rb_streams *r, struct wi_event *ev, int max, struct wi_err *err)
{
	int n;

	if (r->err.code != WI_OK) {
		*err = r->err;
		return -1;
	}
	n = r->swap ? fill_swapped(r, ev, max) : fill_native(r, ev, max);
	if (!n && r->err.code != WI_OK) {
		*err = r->err;
		return -1;
	}
	if (!n && r->cfg.progress)
		r->cfg.progress(r->cfg.progress_ctx, r->cfg.total_bytes, r->cfg.total_bytes);
	return n;
}

/*
 * Losses before a CPU's first record begin with the recording, which is known when all streams have been looked at.
 * That includes CPUs whose data are lost as a whole: they must not look like CPUs that idled throughout.
 */
static void date_first_losses(struct wi_rb_streams *r)
{
	uint64_t first = UINT64_MAX;

	for (uint32_t i = 0; i < r->cfg.nr_streams; i++) {
		const struct wi_cpu_info *ci = &r->cfg.cpu_info[r->cfg.cpu[i]];

		if (ci->has_data && ci->first_ts_ns < first)
			first = ci->first_ts_ns;
	}
	for (uint32_t i = 0; i < r->cfg.nr_streams && first != UINT64_MAX; i++) {
		struct stream *s = &r->s[i];

		if (s->dead && (s->before & RECORDS_LOST)) {
			s->dead = false;
			lose(r, s, WI_LOST_MARK, NULL);
		}
		if (!s->dead && s->type == WI_EV_LOST)
			s->ts_ns = first;
	}
}

/* Puts the first event of every stream at its head. */
static bool prime(struct wi_rb_streams *r, struct wi_err *err)
{
	for (uint32_t i = 0; i < r->cfg.nr_streams; i++) {
		struct stream *s = &r->s[i];
		uint32_t cpu = r->cfg.cpu[i];

		memset(s, 0, sizeof(*s));
		s->cpu = cpu;
		s->before = FIRST_RECORD;
		s->current = s->leaving = WI_CHAIN_UNKNOWN;
		if (r->swap)
			advance(r, i, true);
		else
			advance(r, i, false);
		if (r->err.code != WI_OK) {
			*err = r->err;
			return false;
		}
	}
	date_first_losses(r);
	for (uint32_t i = 0; i < r->cfg.nr_streams; i++)
		wi_merge_start(&r->merge, i, r->s[i].ts_ns, r->s[i].type, !r->s[i].dead);
	wi_merge_build(&r->merge);
	return true;
}

static enum usual usual_of(const struct wi_evfmt_set *f, uint32_t type)
{
	bool usual_common = f->common_flags.kind != WI_FK_ABSENT && f->common_flags.offset == 2 &&
			    f->common_preempt.kind != WI_FK_ABSENT && f->common_preempt.offset == 3 &&
			    f->common_pid.offset == 4;

	if (type >= WI_NR_EVENT_TYPES || !usual_common || !f->fmt[type].usual)
		return UNUSUAL;
	switch (type) {
	case WI_EV_SCHED_SWITCH:
		return USUAL_SWITCH;
	case WI_EV_SCHED_WAKING:
	case WI_EV_SCHED_WAKEUP:
	case WI_EV_SCHED_WAKEUP_NEW:
		return USUAL_WAKEUP;
	case WI_EV_SCHED_MIGRATE_TASK:
		return USUAL_MIGRATE;
	default:
		return UNUSUAL;
	}
}

static void set_rules(struct wi_rb_streams *r)
{
	static const uint8_t special[] = { WI_SLOT_HIDDEN, WI_SLOT_OTHER, WI_EV_MARKER, WI_EV_SCHED_PROCESS_EXEC,
					   WI_EV_HRTIMER_START };
	const struct wi_evfmt_set *f = r->cfg.formats;
	const struct wi_evfmt *sw = &f->fmt[WI_EV_SCHED_SWITCH];

	for (uint32_t slot = 0; slot <= WI_SLOT_HIDDEN; slot++)
		r->rule[slot] = (struct slot_rule){ .was = f->common_pid.offset,
						    .next = f->common_pid.offset,
						    .need = r->common_len,
						    .leaving = WI_CHAIN_UNKNOWN,
						    .usual = usual_of(f, slot) };
	for (size_t i = 0; i < sizeof(special) / sizeof(*special); i++)
		r->rule[special[i]].need = RECORD_MAX;

	struct slot_rule *rule = &r->rule[WI_EV_SCHED_SWITCH];
	if (sw->f[1].kind == WI_FK_U4 && sw->f[5].kind == WI_FK_U4) {
		rule->was = sw->f[1].offset;
		rule->next = sw->f[5].offset;
		rule->need = sw->min_len;
		rule->leaving = 0;
	} else {
		rule->need = RECORD_MAX;
	}
}

struct wi_rb_streams *wi_rb_streams_open(const struct wi_rb_streams_cfg *cfg, struct wi_err *err)
{
	struct wi_rb_streams *r = calloc(1, sizeof(*r));
	const struct wi_evfmt_set *f = cfg->formats;

	if (!r)
		goto nomem;
	r->cfg = *cfg;
	r->filter = UINT32_MAX;
	r->slot = f->slot;
	r->type_off = f->common_type.offset;
	r->pid_off = f->common_pid.offset;
	r->common_len = f->common_len;
	wi_evfmt_names_init(&r->names, cfg->names);
	set_rules(r);
	r->swap = f->swap;
	r->plain_clock = !cfg->clock->mult && !cfg->clock->nr_shift;
	r->clock_offset = cfg->clock->offset_ns;
	r->latest = cfg->clock->end ? cfg->clock->end + END_MARGIN : UINT64_MAX;
	r->arena_bytes = ARENA_BYTES > cfg->layout->page_bytes ? ARENA_BYTES : cfg->layout->page_bytes;
	r->arena = malloc(r->arena_bytes);
	r->s = aligned_alloc(64, (cfg->nr_streams ? cfg->nr_streams : 1ul) * sizeof(*r->s));
	r->merge_ready = wi_merge_init(&r->merge, cfg->nr_streams ? cfg->nr_streams : 1);
	if (!r->arena || !r->s || !r->merge_ready)
		goto nomem;
	r->damage_mark = cfg->log->nr;
	if (!prime(r, err)) {
		wi_rb_streams_close(r);
		return NULL;
	}
	return r;
nomem:
	wi_rb_streams_close(r);
	wi_err_nomem(err);
	return NULL;
}

bool wi_rb_streams_rewind(struct wi_rb_streams *r, struct wi_err *err)
{
	r->err.code = WI_OK;
	r->done_bytes = r->shown_bytes = 0;
	r->cfg.info->unparsed = r->cfg.info->unordered = r->cfg.info->unknown_state_letters = 0;
	wi_damage_rewind(r->cfg.log, r->damage_mark);
	r->cfg.ops->rewind(r->cfg.ctx);
	return prime(r, err);
}

void wi_rb_streams_set_filter(struct wi_rb_streams *r, uint32_t type_bits)
{
	r->filter = type_bits | WI_EV_BIT(LOST);
}

void wi_rb_streams_close(struct wi_rb_streams *r)
{
	if (!r)
		return;
	if (r->merge_ready)
		wi_merge_fini(&r->merge);
	free(r->arena);
	free(r->s);
	free(r);
}
