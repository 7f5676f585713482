/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analyzer/timeline/lookahead.h"

#include <stdlib.h>
#include <string.h>

#include "analyzer/base/cpumask.h"

/* A sched_waking in the queue: one cache line. */
struct entry {
	struct wi_placement p;
	uint64_t wake_ns;
	uint32_t record; /* its number among the counted records; wraps */
	int32_t pid;
	uint16_t waker_cpu;
	bool resolved;
};

_Static_assert(WI_MAX_CPUS <= 65536 && sizeof(struct entry) <= 64, "a cache line");


/* Open entries by pid: linear probing, at most half full; few entries are open at a time, so it stays in the cache. */
struct open_slot {
	int32_t pid; /* 0: free (pid 0 is never woken) */
	uint32_t entry;
};

struct wi_lookahead {
	struct wi_event *ev; /* ring, power of two */
	uint32_t cap, head, count;
	struct entry *entry; /* ring of the wakings in the queue, in the same order; index = number & (cap - 1) */
	uint32_t entry_cap, entry_head, entry_count;
	struct open_slot *open;
	uint32_t open_cap, open_count;
	/* Which pids may be open, by their low 6 bits: most sched_switch events stop here. */
	uint64_t open_filter;
	uint16_t filter_count[64];
	uint32_t nr_cpus;
	uint32_t *await; /* by CPU: number + 1 of the entry that waits for the CPU's next record; 0 none */
	uint64_t tail_ns, gap_ns;
	uint32_t records;
	uint8_t seen[WI_NR_EVENT_TYPES]; /* 1: an event of this type came */
	uint8_t switch_known;
	bool has_waking, ended;
};

struct wi_lookahead *wi_lookahead_new(uint32_t nr_cpus, uint64_t gap_ns, bool has_waking)
{
	struct wi_lookahead *la = calloc(1, sizeof(*la));

	if (!la)
		return NULL;
	la->cap = 4096;
	la->entry_cap = 512;
	la->open_cap = 512;
	la->ev = malloc(la->cap * sizeof(*la->ev));
	la->entry = malloc(la->entry_cap * sizeof(*la->entry));
	la->open = calloc(la->open_cap, sizeof(*la->open));
	la->nr_cpus = nr_cpus;
	la->await = calloc(nr_cpus + 1, sizeof(*la->await));
	if (!la->ev || !la->entry || !la->open || !la->await) {
		wi_lookahead_free(la);
		return NULL;
	}
	la->gap_ns = gap_ns;
	la->has_waking = has_waking;
	return la;
}

void wi_lookahead_free(struct wi_lookahead *la)
{
	if (!la)
		return;
	free(la->ev);
	free(la->entry);
	free(la->open);
	free(la->await);
	free(la);
}

static inline uint32_t open_hash(const struct wi_lookahead *la, int32_t pid)
{
	return ((uint32_t)pid * 0x9e3779b1u >> 12) & (la->open_cap - 1);
}

static inline bool maybe_open(const struct wi_lookahead *la, int32_t pid)
{
	return la->open_filter >> (pid & 63) & 1;
}

/* NULL: none; pid 0 never has one */
static inline struct open_slot *open_find(struct wi_lookahead *la, int32_t pid)
{
	if (!maybe_open(la, pid))
		return NULL;
	uint32_t i = open_hash(la, pid);

	while (la->open[i].pid) {
		if (la->open[i].pid == pid)
			return &la->open[i];
		i = (i + 1) & (la->open_cap - 1);
	}
	return NULL;
}

static void filter_add(struct wi_lookahead *la, int32_t pid)
{
	la->filter_count[pid & 63]++;
	la->open_filter |= 1ull << (pid & 63);
}

static void filter_remove(struct wi_lookahead *la, int32_t pid)
{
	if (!--la->filter_count[pid & 63])
		la->open_filter &= ~(1ull << (pid & 63));
}

/* Backward-shift deletion: no tombstones. */
static void open_remove(struct wi_lookahead *la, struct open_slot *s)
{
	uint32_t i = (uint32_t)(s - la->open), mask = la->open_cap - 1;

	filter_remove(la, s->pid);
	for (uint32_t j = (i + 1) & mask; la->open[j].pid; j = (j + 1) & mask) {
		uint32_t home = open_hash(la, la->open[j].pid);

		if (((j - home) & mask) >= ((j - i) & mask)) {
			la->open[i] = la->open[j];
			i = j;
		}
	}
	la->open[i].pid = 0;
	la->open_count--;
}

static bool open_insert(struct wi_lookahead *la, int32_t pid, uint32_t entry)
{
	if (la->open_count * 2 >= la->open_cap) {
		uint32_t old_cap = la->open_cap;
		struct open_slot *old = la->open, *bigger = calloc(old_cap * 2, sizeof(*bigger));

		if (!bigger)
			return false;
		la->open = bigger;
		la->open_cap = old_cap * 2;
		for (uint32_t k = 0; k < old_cap; k++) {
			if (!old[k].pid)
				continue;
			uint32_t i = open_hash(la, old[k].pid);

			while (la->open[i].pid)
				i = (i + 1) & (la->open_cap - 1);
			la->open[i] = old[k];
		}
		free(old);
	}
	uint32_t i = open_hash(la, pid);
	while (la->open[i].pid)
		i = (i + 1) & (la->open_cap - 1);
	la->open[i] = (struct open_slot){ pid, entry };
	la->open_count++;
	filter_add(la, pid);
	return true;
}

static inline struct entry *entry_at(struct wi_lookahead *la, uint32_t number)
{
	return &la->entry[number & (la->entry_cap - 1)];
}

static bool grow_events(struct wi_lookahead *la)
{
	struct wi_event *ev = malloc(2ul * la->cap * sizeof(*ev));

	if (!ev)
		return false;
	for (uint32_t i = 0; i < la->count; i++)
		ev[i] = la->ev[(la->head + i) & (la->cap - 1)];
	free(la->ev);
	la->ev = ev;
	la->head = 0;
	la->cap *= 2;
	return true;
}

static bool grow_entries(struct wi_lookahead *la)
{
	uint32_t cap = la->entry_cap * 2;
	struct entry *e = malloc((size_t)cap * sizeof(*e));

	if (!e)
		return false;
	for (uint32_t n = la->entry_head; n != la->entry_head + la->entry_count; n++)
		e[n & (cap - 1)] = *entry_at(la, n);
	free(la->entry);
	la->entry = e;
	la->entry_cap = cap;
	return true;
}

struct wi_event *wi_lookahead_room(struct wi_lookahead *la, uint32_t *max)
{
	if (!la->count)
		la->head = 0; /* start over in what the cache still holds */
	if (la->count > la->cap / 2 && !grow_events(la))
		return NULL;
	uint32_t tail = (la->head + la->count) & (la->cap - 1), room = la->cap - la->count;

	*max = room < la->cap - tail ? room : la->cap - tail;
	return &la->ev[tail];
}

static void resolve(struct wi_lookahead *la, struct open_slot *s, const struct wi_event *ev, enum wi_chosen_source source, uint32_t chosen)
{
	struct entry *e = entry_at(la, s->entry);

	e->resolved = true;
	e->p.source = source;
	e->p.chosen_cpu = chosen;
	e->p.by_migrate = source == WI_CHOSEN_MIGRATE;
	if (source == WI_CHOSEN_WAKEUP) {
		e->p.enq_ns = ev->ts_ns;
		e->p.enq_record_cpu = ev->cpu;
	}
	if (e->p.by_migrate)
		e->p.dec_ns = ev->ts_ns;
	else if (ev->ts_ns < e->p.dec_ns)
		e->p.dec_ns = ev->ts_ns;
	open_remove(la, s);
}

static inline void resolve_none(struct wi_lookahead *la, int32_t pid, const struct wi_event *ev)
{
	struct open_slot *s = open_find(la, pid);

	if (s)
		resolve(la, s, ev, WI_CHOSEN_NONE, WI_CPU_NONE);
}

static inline __attribute__((always_inline)) bool push_waking(struct wi_lookahead *la, const struct wi_event *ev)
{
	uint32_t number = la->entry_head + la->entry_count;

	resolve_none(la, ev->wk.pid, ev);
	if (la->entry_count == la->entry_cap && !grow_entries(la))
		return false;
	*entry_at(la, number) = (struct entry){
		.p = { .dec_ns = ev->ts_ns + la->gap_ns,
		       .enq_ns = WI_TIME_UNKNOWN,
		       .next_waker_record_ns = WI_TIME_UNKNOWN,
		       .chosen_cpu = WI_CPU_NONE,
		       .enq_record_cpu = WI_CPU_NONE,
		       .source = WI_CHOSEN_NONE },
		.wake_ns = ev->ts_ns,
		.record = la->records,
		.waker_cpu = (uint16_t)ev->cpu,
		.pid = ev->wk.pid,
	};
	la->entry_count++;
	la->await[ev->cpu] = number + 1;
	return open_insert(la, ev->wk.pid, number);
}

/* The next record of a waker's CPU: the kernel had chosen by then. */
static inline __attribute__((always_inline)) void note_waker_record(struct wi_lookahead *la, const struct wi_event *ev)
{
	uint32_t number = la->await[ev->cpu] - 1;

	if (ev->type == WI_EV_LOST || ev->type == WI_EV_MARKER)
		return;
	la->await[ev->cpu] = 0;
	if (number - la->entry_head >= la->entry_count)
		return; /* has left the queue: it was stalled */
	struct entry *e = entry_at(la, number);

	if (ev->ts_ns > e->wake_ns + WI_STALLED_NS)
		e->p.stalled = true;
	else
		e->p.next_waker_record_ns = ev->ts_ns;
	if (!e->resolved || !e->p.by_migrate)
		if (ev->ts_ns < e->p.dec_ns)
			e->p.dec_ns = ev->ts_ns;
}

static inline void match_wakeup(struct wi_lookahead *la, const struct wi_event *ev)
{
	struct open_slot *s = ev->wk.success ? open_find(la, ev->wk.pid) : NULL;

	la->records++;
	if (s)
		resolve(la, s, ev, WI_CHOSEN_WAKEUP, (uint32_t)ev->wk.target_cpu);
}

static inline void match_migrate(struct wi_lookahead *la, const struct wi_event *ev)
{
	struct open_slot *s = open_find(la, ev->mig.pid);

	la->records++;
	if (s && entry_at(la, s->entry)->waker_cpu == ev->cpu)
		resolve(la, s, ev, WI_CHOSEN_MIGRATE, (uint32_t)ev->mig.dest_cpu);
}

/* A switch of tasks of which one may be open: few are. */
static void match_switch_of(struct wi_lookahead *la, const struct wi_event *ev)
{
	struct open_slot *s = open_find(la, ev->sw.prev_pid);

	if (s) {
		struct wi_placement *p = &entry_at(la, s->entry)->p;

		p->switched_out = true;
		p->blocked |= !ev->sw.preempted && ev->sw.prev_state != 'R';
	}
	s = open_find(la, ev->sw.next_pid);
	if (s)
		resolve(la, s, ev, WI_CHOSEN_SWITCH, ev->cpu);
}

static inline void match_switch(struct wi_lookahead *la, const struct wi_event *ev)
{
	la->records++;
	la->switch_known |= ev->known;
	if (maybe_open(la, ev->sw.prev_pid) | maybe_open(la, ev->sw.next_pid))
		match_switch_of(la, ev);
}

/* A sched_process_exec may rename the current task: from then on it is known by the new pid. */
static void match_exec(struct wi_lookahead *la, const struct wi_event *ev)
{
	la->records++;
	if (ev->exec.old_pid != ev->exec.pid && ev->exec.old_pid > 0)
		resolve_none(la, ev->exec.old_pid, ev);
}

/* Does the machine lack this CPU? Numbers below 0 are no CPU. */
static inline bool is_foreign(const struct wi_lookahead *la, int32_t cpu)
{
	return cpu >= (int32_t)la->nr_cpus;
}

enum taken { TAKEN, TAKEN_FOREIGN, TAKEN_NOMEM };

/* What ev says of the wakings before it; a waking is noted itself. */
static inline enum taken take(struct wi_lookahead *la, const struct wi_event *ev)
{
	if (ev->cpu >= la->nr_cpus)
		return TAKEN_FOREIGN;
	if (la->await[ev->cpu])
		note_waker_record(la, ev);
	la->seen[ev->type] = 1;
	if (ev->type == WI_EV_SCHED_SWITCH) { /* the most frequent: branches are foretold better than one jump for all */
		match_switch(la, ev);
		return TAKEN;
	}
	if (ev->type == WI_EV_SCHED_WAKEUP) {
		if (is_foreign(la, ev->wk.target_cpu))
			return TAKEN_FOREIGN;
		match_wakeup(la, ev);
		return TAKEN;
	}
	switch (ev->type) {
	case WI_EV_SCHED_WAKING:
		if (is_foreign(la, ev->wk.target_cpu))
			return TAKEN_FOREIGN;
		la->records++;
		return !ev->wk.success || !la->has_waking || push_waking(la, ev) ? TAKEN : TAKEN_NOMEM;
	case WI_EV_SCHED_WAKEUP_NEW:
		if (is_foreign(la, ev->wk.target_cpu))
			return TAKEN_FOREIGN;
		la->records++;
		resolve_none(la, ev->wk.pid, ev);
		return TAKEN;
	case WI_EV_SCHED_MIGRATE_TASK:
		if (is_foreign(la, ev->mig.orig_cpu) || is_foreign(la, ev->mig.dest_cpu))
			return TAKEN_FOREIGN;
		match_migrate(la, ev);
		return TAKEN;
	case WI_EV_SCHED_PROCESS_EXIT:
		la->records++;
		resolve_none(la, ev->exit.pid, ev);
		return TAKEN;
	case WI_EV_SCHED_PROCESS_EXEC:
		match_exec(la, ev);
		return TAKEN;
	case WI_EV_SCHED_PROCESS_FORK:
		la->records++;
		return TAKEN;
	default:
		return TAKEN;
	}
}

int wi_lookahead_take(struct wi_lookahead *la, int nr)
{
	const struct wi_event *ev = &la->ev[(la->head + la->count) & (la->cap - 1)];

	for (int i = 0; i < nr; i++) {
		enum taken t = take(la, &ev[i]);

		if (__builtin_expect(t != TAKEN, 0))
			return t == TAKEN_FOREIGN ? i : -1;
	}
	la->count += (uint32_t)nr;
	if (nr)
		la->tail_ns = ev[nr - 1].ts_ns;
	return nr;
}

uint32_t wi_lookahead_types(const struct wi_lookahead *la)
{
	uint32_t types = 0;

	for (uint32_t t = 0; t < WI_NR_EVENT_TYPES; t++)
		types |= (uint32_t)la->seen[t] << t;
	return types;
}

uint8_t wi_lookahead_switch_known(const struct wi_lookahead *la)
{
	return la->switch_known;
}

bool wi_lookahead_push(struct wi_lookahead *la, const struct wi_event *ev)
{
	uint32_t max;
	struct wi_event *room = wi_lookahead_room(la, &max);

	if (!room)
		return false;
	*room = *ev;
	return wi_lookahead_take(la, 1) >= 0;
}

void wi_lookahead_end(struct wi_lookahead *la)
{
	la->ended = true;
}

static bool ready(struct wi_lookahead *la, struct entry *e)
{
	if (!e->resolved) {
		if (!la->ended && la->records - e->record <= WI_LOOKAHEAD_RECORDS)
			return false;
		struct open_slot *s = open_find(la, e->pid);

		if (s)
			open_remove(la, s);
		e->resolved = true;
		e->p.unresolved = !la->ended;
	}
	if (e->p.next_waker_record_ns != WI_TIME_UNKNOWN || e->p.stalled)
		return true;
	if (la->tail_ns > e->wake_ns + WI_STALLED_NS) {
		e->p.stalled = true;
		return true;
	}
	return la->ended;
}

uint32_t wi_lookahead_stretch(const struct wi_lookahead *la, const struct wi_event **ev)
{
	uint32_t to_end = la->cap - la->head;

	*ev = &la->ev[la->head];
	return la->count < to_end ? la->count : to_end;
}

bool wi_lookahead_places(const struct wi_lookahead *la, const struct wi_event *ev)
{
	return ev->type == WI_EV_SCHED_WAKING && la->has_waking && ev->wk.success;
}

const struct wi_placement *wi_lookahead_placement(struct wi_lookahead *la)
{
	struct entry *e = entry_at(la, la->entry_head);

	if (!ready(la, e))
		return NULL;
	la->entry_head++;
	la->entry_count--;
	return &e->p;
}

void wi_lookahead_drop(struct wi_lookahead *la, uint32_t nr)
{
	la->head = (la->head + nr) & (la->cap - 1);
	la->count -= nr;
}

const struct wi_event *wi_lookahead_pop(struct wi_lookahead *la, const struct wi_placement **placement)
{
	const struct wi_event *ev;

	*placement = NULL;
	if (!wi_lookahead_stretch(la, &ev))
		return NULL;
	if (wi_lookahead_places(la, ev) && !(*placement = wi_lookahead_placement(la)))
		return NULL;
	wi_lookahead_drop(la, 1);
	return ev;
}
