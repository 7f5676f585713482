/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Record -> struct wi_event at the offsets that evfmt.c found. All inline: this is the innermost loop of the program.
 * "swap" is a constant at every place of use, so that the compiler makes one copy for each byte order.
 */
#ifndef WI_EVFMT_DECODE_H
#define WI_EVFMT_DECODE_H

#include <string.h>

#include "analyzer/base/cpumask.h"
#include "parsers/evfmt.h"

#define WI_INLINE static inline __attribute__((always_inline))

WI_INLINE uint16_t wi_get16(const uint8_t *p, bool swap)
{
	uint16_t v;

	memcpy(&v, p, 2);
	return swap ? __builtin_bswap16(v) : v;
}

WI_INLINE uint32_t wi_get32(const uint8_t *p, bool swap)
{
	uint32_t v;

	memcpy(&v, p, 4);
	return swap ? __builtin_bswap32(v) : v;
}

WI_INLINE uint64_t wi_get64(const uint8_t *p, bool swap)
{
	uint64_t v;

	memcpy(&v, p, 8);
	return swap ? __builtin_bswap64(v) : v;
}

/* An integer of any size, extended as the format says. */
static inline int64_t wi_evfmt_int(const struct wi_evfmt_field *f, const uint8_t *rec, bool swap)
{
	const uint8_t *p = rec + f->offset;

	switch (f->size) {
	case 1:
		return f->is_signed ? (int8_t)*p : *p;
	case 2:
		return f->is_signed ? (int16_t)wi_get16(p, swap) : wi_get16(p, swap);
	case 4:
		return f->is_signed ? (int32_t)wi_get32(p, swap) : (int64_t)wi_get32(p, swap);
	default:
		return (int64_t)wi_get64(p, swap);
	}
}

/* Where a dynamic text lies. false: outside of the record. */
static inline bool wi_evfmt_loc(const struct wi_evfmt_field *f, const uint8_t *rec, uint32_t len, bool swap,
				const char **text, uint32_t *text_len)
{
	uint32_t loc = wi_get32(rec + f->offset, swap), off = loc & 0xffff, n = loc >> 16;

	if (f->kind == WI_FK_REL)
		off += f->offset + 4u;
	if (off > len || n > len - off)
		return false;
	*text = (const char *)rec + off;
	*text_len = n;
	return true;
}

/* Ids of names that were seen lately, by their 16 bytes: spares the search in the table of names. */
#define WI_EVFMT_NAMES 512

struct wi_evfmt_names {
	struct wi_names *names;
	struct wi_evfmt_seen {
		uint64_t lo, hi;
		uint32_t id, unused[3]; /* a power of two in size */
	} seen[WI_EVFMT_NAMES];
};

WI_INLINE uint32_t wi_evfmt_name_slot(uint64_t lo, uint64_t hi)
{
	return (uint32_t)(((lo ^ (hi << 1 | hi >> 63)) * 0x9e3779b97f4a7c15u) >> 55);
}

/* Free slots hold 16 bytes whose slot is another one: nothing is found there. */
static inline void wi_evfmt_names_init(struct wi_evfmt_names *n, struct wi_names *names)
{
	memset(n, 0, sizeof(*n));
	n->names = names;
	n->seen[wi_evfmt_name_slot(0, 0)].lo = 1;
}

/* A name that its slot does not hold. */
uint32_t wi_evfmt_comm16_missed(struct wi_evfmt_names *n, struct wi_evfmt_seen *s, const void *comm16);

WI_INLINE uint32_t wi_evfmt_comm16(struct wi_evfmt_names *n, const void *comm16)
{
	uint64_t lo, hi;

	memcpy(&lo, comm16, 8);
	memcpy(&hi, (const char *)comm16 + 8, 8);
	struct wi_evfmt_seen *s = &n->seen[wi_evfmt_name_slot(lo, hi)];

	if (__builtin_expect(s->lo == lo && s->hi == hi, 1))
		return s->id;
	return wi_evfmt_comm16_missed(n, s, comm16);
}

/* Name of a field in any of its forms. false: the record is damaged. */
static inline bool wi_evfmt_name(const struct wi_evfmt_field *f, const uint8_t *rec, uint32_t len, bool swap,
				 struct wi_evfmt_names *names, uint32_t *id)
{
	const char *text;
	uint32_t n;

	switch (f->kind) {
	case WI_FK_COMM:
		*id = wi_evfmt_comm16(names, rec + f->offset);
		return true;
	case WI_FK_CHARS:
		text = (const char *)rec + f->offset;
		n = f->size;
		break;
	case WI_FK_LOC:
	case WI_FK_REL:
		if (!wi_evfmt_loc(f, rec, len, swap, &text, &n))
			return false;
		break;
	default:
		*id = WI_NAME_NONE;
		return true;
	}
	n = (uint32_t)strnlen(text, n);
	if (n <= WI_COMM_LEN) {
		char comm[WI_COMM_LEN] = { 0 };

		memcpy(comm, text, n);
		*id = wi_evfmt_comm16(names, comm);
		return true;
	}
	*id = wi_names_intern(names->names, text, n);
	return true;
}

/* Layouts that nearly every trace has, as constants for the compiler. */
static const struct wi_evfmt wi_usual_switch = {
	.min_len = 64,
	.f = { { 8, 16, WI_FK_COMM, true },
	       { 24, 4, WI_FK_U4, true },
	       { 28, 4, WI_FK_U4, true },
	       { 32, 8, WI_FK_INT, true },
	       { 40, 16, WI_FK_COMM, true },
	       { 56, 4, WI_FK_U4, true },
	       { 60, 4, WI_FK_U4, true } },
};

static const struct wi_evfmt wi_usual_wakeup = {
	.min_len = 36,
	.f = { { 8, 16, WI_FK_COMM, true },
	       { 24, 4, WI_FK_U4, true },
	       { 28, 4, WI_FK_U4, true },
	       { 32, 4, WI_FK_U4, true } },
};

static const struct wi_evfmt wi_usual_migrate = {
	.min_len = 40,
	.f = { { 8, 16, WI_FK_COMM, true },
	       { 24, 4, WI_FK_U4, true },
	       { 28, 4, WI_FK_U4, true },
	       { 32, 4, WI_FK_U4, true },
	       { 36, 4, WI_FK_U4, true } },
};

#define WI_PRIO_MIN (-1)
#define WI_PRIO_MAX 140

WI_INLINE int32_t wi_evfmt_s32(const struct wi_evfmt *fmt, int i, const uint8_t *rec, bool plain, bool swap)
{
	return plain ? (int32_t)wi_get32(rec + fmt->f[i].offset, swap) : (int32_t)wi_evfmt_int(&fmt->f[i], rec, swap);
}

WI_INLINE bool wi_evfmt_comm(const struct wi_evfmt *fmt, int i, const uint8_t *rec, uint32_t len, bool plain, bool swap,
			     struct wi_evfmt_names *names, uint32_t *id)
{
	if (plain) {
		*id = wi_evfmt_comm16(names, rec + fmt->f[i].offset);
		return true;
	}
	return wi_evfmt_name(&fmt->f[i], rec, len, swap, names, id);
}

static inline bool wi_pid_ok(int32_t pid)
{
	return (uint32_t)pid <= WI_PID_MAX;
}

static inline bool wi_prio_ok(int32_t prio)
{
	return prio >= WI_PRIO_MIN && prio <= WI_PRIO_MAX;
}

static inline bool wi_cpu_ok(int32_t cpu)
{
	return (uint32_t)cpu < WI_MAX_CPUS;
}

WI_INLINE bool wi_decode_switch(const struct wi_evfmt_set *set, const struct wi_evfmt *fmt, const uint8_t *rec,
				uint32_t len, bool plain, bool swap, struct wi_evfmt_names *names, struct wi_event *ev)
{
	int32_t prev_prio = wi_evfmt_s32(fmt, 2, rec, plain, swap), next_prio = wi_evfmt_s32(fmt, 6, rec, plain, swap);
	struct wi_state st = { '?', false, false };

	ev->sw.prev_pid = wi_evfmt_s32(fmt, 1, rec, plain, swap);
	ev->sw.next_pid = wi_evfmt_s32(fmt, 5, rec, plain, swap);
	ev->sw.prev_prio = (int16_t)prev_prio;
	ev->sw.next_prio = (int16_t)next_prio;
	if (fmt->f[3].kind != WI_FK_ABSENT) {
		uint64_t raw = (uint64_t)wi_evfmt_int(&fmt->f[3], rec, swap);

		st = raw < WI_STATE_CACHE ? set->state_cache[raw] : wi_state_decode(&set->states, raw);
		ev->known |= WI_KNOWN_PREEMPTED | (st.known ? WI_KNOWN_STATE : 0);
	}
	ev->sw.prev_state = st.letter;
	ev->sw.preempted = st.preempted;
	return wi_pid_ok(ev->sw.prev_pid) && wi_pid_ok(ev->sw.next_pid) && wi_prio_ok(prev_prio) &&
	       wi_prio_ok(next_prio) && wi_evfmt_comm(fmt, 0, rec, len, plain, swap, names, &ev->sw.prev_comm) &&
	       wi_evfmt_comm(fmt, 4, rec, len, plain, swap, names, &ev->sw.next_comm);
}

WI_INLINE bool wi_decode_wakeup(const struct wi_evfmt *fmt, const uint8_t *rec, uint32_t len, bool plain, bool swap,
				struct wi_evfmt_names *names, struct wi_event *ev)
{
	int32_t prio = wi_evfmt_s32(fmt, 2, rec, plain, swap);

	ev->wk.pid = wi_evfmt_s32(fmt, 1, rec, plain, swap);
	ev->wk.prio = (int16_t)prio;
	ev->wk.target_cpu = wi_evfmt_s32(fmt, 3, rec, plain, swap);
	ev->wk.success = fmt->f[4].kind == WI_FK_ABSENT || wi_evfmt_int(&fmt->f[4], rec, swap) != 0;
	return wi_pid_ok(ev->wk.pid) && wi_prio_ok(prio) && wi_cpu_ok(ev->wk.target_cpu) &&
	       wi_evfmt_comm(fmt, 0, rec, len, plain, swap, names, &ev->wk.comm);
}

WI_INLINE bool wi_decode_migrate(const struct wi_evfmt *fmt, const uint8_t *rec, uint32_t len, bool plain, bool swap,
				 struct wi_evfmt_names *names, struct wi_event *ev)
{
	int32_t prio = wi_evfmt_s32(fmt, 2, rec, plain, swap);

	ev->mig.pid = wi_evfmt_s32(fmt, 1, rec, plain, swap);
	ev->mig.prio = (int16_t)prio;
	ev->mig.orig_cpu = wi_evfmt_s32(fmt, 3, rec, plain, swap);
	ev->mig.dest_cpu = wi_evfmt_s32(fmt, 4, rec, plain, swap);
	return wi_pid_ok(ev->mig.pid) && wi_prio_ok(prio) && wi_cpu_ok(ev->mig.orig_cpu) &&
	       wi_cpu_ok(ev->mig.dest_cpu) && wi_evfmt_comm(fmt, 0, rec, len, plain, swap, names, &ev->mig.comm);
}

/* The name that a task gets by sched_process_exec's filename. false: the text lies outside of the record. */
static inline bool wi_decode_exec_name(const struct wi_evfmt_field *f, const uint8_t *rec, uint32_t len, bool swap,
				       struct wi_evfmt_names *names, uint32_t *id)
{
	const char *text;
	uint32_t n;

	*id = WI_NAME_NONE;
	if (f->kind != WI_FK_LOC && f->kind != WI_FK_REL)
		return true;
	if (!wi_evfmt_loc(f, rec, len, swap, &text, &n))
		return false;
	*id = wi_names_of_exec(names->names, text, strnlen(text, n));
	return true;
}

/* The events that are too rare for a fast path. */
static inline bool wi_decode_rare(const struct wi_evfmt *fmt, const uint8_t *rec, uint32_t len, bool swap,
				  struct wi_evfmt_names *names, struct wi_event *ev)
{
	int64_t prio;

	switch (fmt->type) {
	case WI_EV_SCHED_PROCESS_FORK:
		ev->fork.parent_pid = wi_evfmt_s32(fmt, 1, rec, false, swap);
		ev->fork.child_pid = wi_evfmt_s32(fmt, 3, rec, false, swap);
		return wi_pid_ok(ev->fork.parent_pid) && wi_pid_ok(ev->fork.child_pid) &&
		       wi_evfmt_name(&fmt->f[0], rec, len, swap, names, &ev->fork.parent_comm) &&
		       wi_evfmt_name(&fmt->f[2], rec, len, swap, names, &ev->fork.child_comm);
	case WI_EV_SCHED_PROCESS_EXEC:
		ev->exec.pid = wi_evfmt_s32(fmt, 0, rec, false, swap);
		ev->exec.old_pid = wi_evfmt_s32(fmt, 1, rec, false, swap);
		return wi_pid_ok(ev->exec.pid) && wi_pid_ok(ev->exec.old_pid) &&
		       wi_decode_exec_name(&fmt->f[2], rec, len, swap, names, &ev->exec.comm);
	case WI_EV_SCHED_PROCESS_EXIT:
		prio = wi_evfmt_int(&fmt->f[2], rec, swap);
		ev->exit.pid = wi_evfmt_s32(fmt, 1, rec, false, swap);
		ev->exit.prio = (int16_t)prio;
		return wi_pid_ok(ev->exit.pid) && wi_prio_ok((int32_t)prio) &&
		       wi_evfmt_name(&fmt->f[0], rec, len, swap, names, &ev->exit.comm);
	case WI_EV_SCHED_STAT_RUNTIME:
		ev->stat.pid = wi_evfmt_s32(fmt, 0, rec, false, swap);
		ev->stat.runtime_ns = (uint64_t)wi_evfmt_int(&fmt->f[1], rec, swap);
		ev->stat.vruntime_ns =
			fmt->f[2].kind == WI_FK_ABSENT ? UINT64_MAX : (uint64_t)wi_evfmt_int(&fmt->f[2], rec, swap);
		return wi_pid_ok(ev->stat.pid);
	case WI_EV_HRTIMER_START:
		ev->hrtimer.hrtimer = (uint64_t)wi_evfmt_int(&fmt->f[0], rec, swap);
		ev->hrtimer.expires_ns = (uint64_t)wi_evfmt_int(&fmt->f[1], rec, swap);
		return true;
	case WI_EV_HRTIMER_EXPIRE_ENTRY:
		ev->hrtimer.hrtimer = (uint64_t)wi_evfmt_int(&fmt->f[0], rec, swap);
		ev->hrtimer.expires_ns = 0;
		return true;
	case WI_EV_SYS_ENTER:
	case WI_EV_SYS_EXIT:
		ev->sys.nr = wi_evfmt_int(&fmt->f[0], rec, swap);
		return true;
	default: /* the interrupt entries have no field that we read */
		return true;
	}
}

WI_INLINE bool wi_decode_idle(const struct wi_evfmt *fmt, const uint8_t *rec, bool plain, bool swap,
			      struct wi_event *ev)
{
	ev->idle.state = (uint32_t)wi_evfmt_s32(fmt, 0, rec, plain, swap);
	ev->idle.cpu_id = (uint32_t)wi_evfmt_s32(fmt, 1, rec, plain, swap);
	return ev->idle.cpu_id < WI_MAX_CPUS;
}

/* Text of a marker: up to a NUL, without the newline at its end. */
static inline bool wi_decode_marker(const struct wi_evfmt *fmt, const uint8_t *rec, uint32_t len, bool swap,
				    const char **text, uint32_t *text_len)
{
	const struct wi_evfmt_field *f = &fmt->f[0];

	if (f->kind == WI_FK_TAIL) {
		*text = (const char *)rec + f->offset;
		*text_len = len - f->offset;
	} else if (!wi_evfmt_loc(f, rec, len, swap, text, text_len)) {
		return false;
	}
	*text_len = (uint32_t)strnlen(*text, *text_len);
	if (*text_len && (*text)[*text_len - 1] == '\n')
		--*text_len;
	return true;
}

#endif
