/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the files of this room share; nothing outside includes it. */
#ifndef WI_TIMELINE_INTERNAL_H
#define WI_TIMELINE_INTERNAL_H

#include "analyzer/base/cpumask.h"
#include "analyzer/timeline/lookahead.h"
#include "analyzer/timeline/timeline.h"

#define tl_rare __attribute__((noinline, cold)) /* off the path of most events */

/* A wakeup from sched_waking to its end. */
struct open_wakeup {
	struct wi_wakeup w;
	struct wi_placement placement;
	uint8_t state_at_wake; /* enum wi_task_state of the wakee at sched_waking */
	bool decided, pending, enqueued, duplicate;
	uint64_t blocked_ns_at_wake;
};

/* The timeline's part of a task. pub is first: a struct wi_task * is a struct task *. */
struct task {
	struct wi_task pub;
	struct task *next_waiting, *prev_waiting; /* on the queue of pub.cpu while RUNNABLE */
	struct task *next_alive, *prev_alive;
	struct open_wakeup *wakeup; /* the one that its next switch-in closes */
	bool fresh;		    /* forked, not yet woken */
	bool awaits_wakeup;	    /* a sched_waking came, its sched_wakeup not yet */
	uint32_t place_cpu;	    /* the sched_migrate_task of this CPU ... */
	uint64_t place_ns;	    /* ... with this stamp is part of its wakeup */
	bool ghost;		    /* UNKNOWN, but known not to be queued */
	bool counted_sched_idle;   /* counted as SCHED_IDLE while queued */
	int16_t counted_prio;
	int8_t pinned_by_name;
	bool names_cpu; /* named like a per-CPU kernel thread */
	uint64_t unknown_since_ns; /* 0: never seen before */
	uint64_t skew_ns;	   /* switched in elsewhere at this time while still running on skew_cpu */
	uint32_t skew_cpu;
	uint32_t ghost_cpu;
	wakeif_word *own_mask; /* inferred single CPU, owned */
};

struct cpu {
	enum wi_cpu_kind kind;
	uint32_t nr_waiting, nr_pending;
	uint32_t nr_rt; /* queued, the current one included; the other counts are in wakeif_cpu */
	bool idle;	/* as told to the observer, and in tl->idle */
	bool ever_idle, has_switch, active, overwritten;
	int32_t prev_pid; /* task that ran before the present one; 0 idle task, -1 unknown */
	struct task *cur; /* NULL: idle task, or unknown */
	struct task *waiting;
	uint64_t last_idle_ns;	  /* last moment known idle (kind), valid if ever_idle; now while idle */
	uint64_t fair_since_ns;	  /* since when at least one fair task is queued */
	uint64_t fair_until_ns;	  /* when the last one left */
	uint64_t unknown_since_ns;
};

struct skew_pair {
	uint64_t key, ns, count;
};

struct wi_timeline {
	struct wi_timeline_opts opt;
	struct wi_timeline_observer obs;
	const struct wakeif_topology *topo;
	uint32_t nr_cpus, words;
	struct wi_err *err; /* of the call in progress */
	bool failed;

	uint64_t now_ns, start_ns, stop_ns; /* start, stop: the window */
	uint64_t end_ns; /* of the recording, when told; 0 */
	bool started, done, in_window;
	uint64_t edge_ns;  /* next gap or window edge */
	uint64_t alarm_ns; /* that, or the next decision: no event before this needs more than its own work */
	struct wi_lookahead *la;
	size_t next_gap;

	struct cpu *cpu;
	struct wakeif_cpu *view_cpu;
	struct wakeif_view view;
	wakeif_word *idle, *unknown, *pending, *sched_idle_only, *all;
	bool have_sched_idle; /* some task's policy is known to be SCHED_IDLE */

	struct task ***pid_leaf; /* two levels: pid >> 10, pid & 1023 */
	struct task *alive;
	struct task *free_tasks;
	uint32_t next_task_id, nr_task_slots;

	struct wi_wakeup blank;	   /* of which nothing is known yet: copied faster than written field by field */
	struct open_wakeup **open; /* by slot */
	uint32_t nr_slots;
	uint32_t *free_slot;
	uint32_t nr_free_slots, slot_cap;
	struct open_wakeup **due; /* decisions to come, by (instant, seq) */
	uint32_t nr_due, due_cap;
	uint64_t due_ns; /* of the first; UINT64_MAX none */

	struct skew_pair *skew;
	uint32_t nr_skew, skew_cap;
	struct wi_timeline_quality q;
};

/* queues.c; what it does for nearly every event is in queues.h */
void tl_write_bit(wakeif_word *m, uint32_t c, bool on);
tl_rare void tl_update_sched_idle_only(struct wi_timeline *tl, uint32_t c);
tl_rare void tl_become_unknown(struct wi_timeline *tl, struct task *t);
void tl_wait_begin(struct wi_timeline *tl, struct task *t, uint32_t c); /* tl_queue_join(), where few come along */
void tl_wait_end(struct wi_timeline *tl, struct task *t);		/* tl_queue_leave(), likewise */
tl_rare void tl_move_inferred(struct wi_timeline *tl, struct task *t, uint32_t dest, bool placement);

/* happenings.c: where somebody listens (tl->obs.happened); the functions tl_tell_... below ask for that */
tl_rare void tl_task_happened(struct wi_timeline *tl, const struct task *t, enum wakeif_event_type type, uint8_t flags, uint32_t cpu, uint32_t other);
tl_rare void tl_state_happened(struct wi_timeline *tl, const struct task *t, enum wi_task_state from, enum wi_task_state to);
tl_rare void tl_cpu_happened(struct wi_timeline *tl, uint32_t c, enum wakeif_event_type type);

/* events.c */
void tl_apply(struct wi_timeline *tl, const struct wi_event *ev);
void tl_apply_waking(struct wi_timeline *tl, const struct wi_event *ev, const struct wi_placement *p);
tl_rare void tl_apply_gaps(struct wi_timeline *tl, uint64_t before_ns);
void tl_set_alarm(struct wi_timeline *tl); /* after anything changed that alarm_ns stands for */

/* tasks.c */
struct task *tl_task_find(struct wi_timeline *tl, int32_t pid);
struct task *tl_task_get(struct wi_timeline *tl, int32_t pid, uint32_t comm); /* creates; NULL: out of memory, or pid 0 */
tl_rare struct task *tl_task_born(struct wi_timeline *tl, int32_t pid, uint32_t comm, struct task *parent);
tl_rare void tl_task_name(struct wi_timeline *tl, struct task *t, uint32_t comm);
tl_rare void tl_task_seen_on(struct wi_timeline *tl, struct task *t, uint32_t cpu); /* drops a pin by name that is wrong; where there is one */
tl_rare void tl_task_gone(struct wi_timeline *tl, struct task *t);
tl_rare void tl_task_rename_pid(struct wi_timeline *tl, struct task *t, int32_t pid);
void tl_tasks_free(struct wi_timeline *tl);

/* wakeups.c */
void tl_wakeups_init(struct wi_timeline *tl);
struct open_wakeup *tl_wakeup_open(struct wi_timeline *tl, struct task *t, const struct wi_event *ev, const struct wi_placement *p);
tl_rare void tl_wakeups_of_gone(struct wi_timeline *tl, struct task *t); /* decides and closes all that wait for t */
void tl_decide_due(struct wi_timeline *tl, uint64_t until_ns); /* all decisions with instant <= until_ns */
tl_rare void tl_decide(struct wi_timeline *tl, struct open_wakeup *o); /* before its time */
void tl_wakeup_enqueued(struct wi_timeline *tl, struct open_wakeup *o, uint32_t record_cpu);
void tl_wakeup_arrived(struct wi_timeline *tl, struct open_wakeup *o);
void tl_wakeup_close(struct wi_timeline *tl, struct open_wakeup *o, enum wi_outcome outcome);
void tl_wakeups_free(struct wi_timeline *tl);

/* Before the window nothing is counted. */
static inline uint64_t tl_clip(const struct wi_timeline *tl, uint64_t ns)
{
	return ns < tl->start_ns ? tl->start_ns : ns;
}

static inline bool tl_is_fair(int16_t prio)
{
	return prio >= 100 || prio == WI_PRIO_UNKNOWN;
}

static inline bool tl_is_rt(int16_t prio)
{
	return prio >= 0 && prio < 100;
}

static inline void tl_count_repair(const struct wi_timeline *tl, uint64_t *counter)
{
	*counter += tl->in_window;
}

static inline void tl_tell_task(struct wi_timeline *tl, const struct task *t, enum wakeif_event_type type, uint8_t flags, uint32_t cpu, uint32_t other)
{
	if (__builtin_expect(tl->obs.happened != NULL, 0))
		tl_task_happened(tl, t, type, flags, cpu, other);
}

static inline void tl_tell_waking(struct wi_timeline *tl, const struct open_wakeup *o)
{
	if (__builtin_expect(tl->obs.waking != NULL, 0))
		tl->obs.waking(tl->obs.ctx, tl->now_ns, &o->w);
}

static inline void tl_tell_cpu(struct wi_timeline *tl, uint32_t c, enum wakeif_event_type type)
{
	if (__builtin_expect(tl->obs.happened != NULL, 0))
		tl_cpu_happened(tl, c, type);
}

#include "analyzer/timeline/queues.h"

#endif
