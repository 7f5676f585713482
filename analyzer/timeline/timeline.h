/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The machine's state rebuilt from events: who runs and who waits on every CPU, every wakeup from sched_waking to
 * switch-in. State machine only: it counts what it had to repair, tells an observer what changed, and measures nothing.
 *
 *   wi_survey()     what must be known before the first event: waking→migrate gap, current task of each CPU, gaps
 *   wi_lookahead    annotates each sched_waking with what came of it (decision instant, chosen CPU)
 *   wi_timeline     applies one step after another
 */
#ifndef WI_TIMELINE_H
#define WI_TIMELINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyzer/base/err.h"
#include "analyzer/base/names.h"
#include "models/wakeif_model.h"
#include "parsers/event.h"

#define WI_TIME_UNKNOWN UINT64_MAX
#define WI_CPU_NONE UINT32_MAX

enum wi_task_state { WI_TASK_UNKNOWN, WI_TASK_RUNNING, WI_TASK_RUNNABLE, WI_TASK_BLOCKED, WI_TASK_WAKING, WI_TASK_DEAD, WI_NR_TASK_STATES };

/* One incarnation of a pid. Borrowed by observers for the length of a call; task_gone is the last one. */
struct wi_task {
	int32_t pid;
	int32_t tgid;	   /* 0 unknown */
	uint32_t comm;	   /* latest name by time; WI_NAME_NONE if never named */
	uint32_t slot;	   /* as models name it (wakeif_model.h, "Task slots") */
	uint32_t id;	   /* unique per incarnation, in order of appearance, from 1; the idle task of CPU c has none (NULL) */
	uint32_t cpu;	   /* last CPU known; WI_CPU_NONE unknown */
	uint8_t state;	   /* enum wi_task_state */
	uint8_t policy;	   /* enum wakeif_policy; UNKNOWN without a side file unless prio tells (RT: FIFO/RR not told apart) */
	int16_t prio;	   /* -1 DL, 0..99 RT, 100..139; WI_PRIO_UNKNOWN */
	bool exiting;	   /* sched_process_exit seen */
	bool renamed;
	bool throttle_suspected; /* was runnable while its CPU idled, then ran without a wakeup */
	uint64_t since_ns; /* start of the present state, or of the window if later */
	uint64_t born_ns, died_ns; /* WI_TIME_UNKNOWN: before the window / alive */
	uint64_t blocked_ns; /* time of the last switch-out in a blocked state; WI_TIME_UNKNOWN none */
	uint64_t state_ns[WI_NR_TASK_STATES]; /* time in each state, within the window. WAKING counts as sleep, see METRICS */
	uint64_t nr_switches_in, nr_preempted, nr_wakeups, nr_migrations;
	uint64_t nr_preempt_unknown; /* switched out runnable, and the format does not tell whether it was preempted */
	const wakeif_word *allowed; /* never NULL */
	uint8_t allowed_source;	    /* enum wakeif_allowed_source */
	uint32_t cgroup;	    /* name id; WI_NAME_NONE unknown */
	void *observer;		    /* the observer's own, the only part that it may write; NULL in a new task */
};

#define WI_PRIO_UNKNOWN INT16_MIN

enum wi_cpu_kind { WI_CPU_UNKNOWN, WI_CPU_IDLE, WI_CPU_BUSY };

/* How chosen_cpu is known. */
enum wi_chosen_source { WI_CHOSEN_MIGRATE, WI_CHOSEN_WAKEUP, WI_CHOSEN_SWITCH, WI_CHOSEN_NONE };

enum wi_outcome {
	WI_OUT_RUN,	 /* switched in: run_ns, run_cpu are set */
	WI_OUT_RUNNING,	 /* it was running and went on running: it waited for nothing, no latency */
	WI_OUT_DIED,	 /* exited, or its pid was reused, before it ran */
	WI_OUT_REPLACED, /* woken again, or blocked, with no switch-in in between: records are missing or contradict */
	WI_OUT_UNKNOWN,	 /* lost events took it */
	WI_OUT_CENSORED	 /* still open at the window's end */
};

/* One wakeup. `slot` is unique among the open ones and reused: observers keep their own per-slot data. */
struct wi_wakeup {
	struct wakeif_wakeup pub; /* as a model may know it; pub.now_ns = decision instant */
	uint32_t slot;
	struct wi_task *wakee;
	uint32_t waker_comm;	/* name id of the task current on waker_cpu; WI_NAME_NONE unknown */
	uint64_t enq_ns;	/* sched_wakeup(_new); WI_TIME_UNKNOWN: not (yet) seen */
	uint64_t run_ns;	/* switch-in; WI_TIME_UNKNOWN: not (yet) */
	uint64_t next_waker_record_ns; /* W's next record, for the stalled-waker row; WI_TIME_UNKNOWN none */
	uint32_t chosen_cpu;	/* WI_CPU_NONE: not known */
	uint32_t enq_record_cpu; /* CPU that wrote the sched_wakeup record (== chosen, != waker: wakelist) */
	uint32_t run_cpu;
	int32_t run_after_pid;	/* task that ran on run_cpu just before switch-in; 0 idle task; -1 unknown */
	uint8_t chosen_source;	/* enum wi_chosen_source */
	bool in_window;		/* t_wake lies in the window: it counts */
	bool was_running;	/* the wakee had not been switched out at sched_waking: latency counts from enq_ns */
	bool maybe_delayed;	/* SELECT, but it may have been a delayed dequeue with no decision (6.12+) */
	bool only_wakeup;	/* no sched_waking (kernel before 4.3): wake_ns is the sched_wakeup */
};

/* Time at which waiting began for the latency: wake_ns, or enq_ns when the wakee was still running at sched_waking. */
static inline uint64_t wi_wakeup_start_ns(const struct wi_wakeup *w)
{
	return w->was_running ? w->enq_ns : w->pub.wake_ns;
}

/*
 * What an observer is told; any hook may be NULL. Called after the state changed, in time order; now_ns never decreases.
 * The timeline (and the task and wakeup lent) may be read, not changed. Hooks before the window's start are called too:
 * clip with wi_timeline_window_start_ns().
 */
struct wi_timeline;
struct wi_timeline_observer {
	void *ctx;
	/* The current task of cpu changed. task NULL: the idle task, or not known (kind tells). */
	void (*cpu_changed)(void *ctx, uint64_t now_ns, uint32_t cpu, enum wi_cpu_kind kind, const struct wi_task *task);
	/* idle(cpu) of METRICS changed: swapper current, nothing runnable, nothing on its way. */
	void (*idle_changed)(void *ctx, uint64_t now_ns, uint32_t cpu, bool idle);
	/* task began (+1) or ceased (-1) to wait on cpu: runnable there, not running */
	void (*wait_changed)(void *ctx, uint64_t now_ns, uint32_t cpu, const struct wi_task *task, int delta);
	/* sched_waking of w (or what stands for it): the waker has come this far; what comes of w is not told yet. */
	void (*waking)(void *ctx, uint64_t now_ns, const struct wi_wakeup *w);
	/* Decision instant of w, before its own effect on the state: wi_timeline_view() is what the kernel saw. */
	void (*decision)(void *ctx, uint64_t now_ns, const struct wi_wakeup *w);
	/* w is over; its slot is free after the call. */
	void (*wakeup_closed)(void *ctx, uint64_t now_ns, const struct wi_wakeup *w, enum wi_outcome outcome);
	/* task moved; inferred: no sched_migrate_task said so; placement: part of a wakeup */
	void (*migrated)(void *ctx, uint64_t now_ns, const struct wi_task *task, uint32_t orig_cpu, uint32_t dest_cpu, bool inferred,
			 bool placement);
	void (*exec)(void *ctx, uint64_t now_ns, const struct wi_task *task);
	void (*cpu_idle)(void *ctx, uint64_t now_ns, uint32_t cpu, uint32_t state); /* cpu_idle event; UINT32_MAX: leaves idle */
	/* task->comm changed, or became known, while the task lives. */
	void (*renamed)(void *ctx, uint64_t now_ns, const struct wi_task *task);
	/* For models and estimators: what happened in their words (wakeif_model.h). Costs nothing where it is NULL. */
	void (*happened)(void *ctx, const struct wakeif_happening *h);
	/* The incarnation ended (or the window did): its counters are final. */
	void (*task_gone)(void *ctx, uint64_t now_ns, const struct wi_task *task);
};

/* What had to be repaired or could not be used; counts of the window. X(field, JSON name, meaning) */
#define WI_REPAIRS(X)                                                                                                  \
	X(ghosts, "ghosts", "tasks shown runnable on a CPU that went idle")                                            \
	X(implied_runnable, "implied_runnable", "switched in without having been woken")                               \
	X(elsewhere, "elsewhere", "switched in while shown runnable or running on another CPU")                        \
	X(duplicate_waking, "duplicate_waking", "woken again before running")                                          \
	X(wakeup_without_waking, "wakeup_without_waking", "sched_wakeup with no sched_waking before it")              \
	X(waking_without_wakeup, "waking_without_wakeup", "sched_waking with no sched_wakeup after it")               \
	X(target_mismatch, "target_mismatch", "sched_migrate_task and sched_wakeup name different CPUs")              \
	X(migrate_mismatch, "migrate_mismatch", "orig_cpu is not where the task was")                                 \
	X(unresolved, "unresolved", "nothing of a wakeup within the look-ahead")                                      \
	X(unsuccessful, "unsuccessful", "sched_wakeup with success=0")                                                \
	X(late_waking, "late_waking", "sched_waking in a trace whose wakeups were taken from sched_wakeup")             \
	X(reused_pids, "reused_pids", "pid used by a new task without an exit")

struct wi_repairs {
#define X(field, name, meaning) uint64_t field;
	WI_REPAIRS(X)
#undef X
};

/* Worst disorder that proves clock skew between two CPUs: a task ran on b before it had left a. */
struct wi_skew {
	uint32_t cpu_a, cpu_b;
	uint64_t ns, count;
};

struct wi_timeline_quality {
	uint32_t types;	       /* bits WI_EV_BIT of all events read, also outside the window */
	uint8_t switch_known;  /* enum wi_event_known that some sched_switch had */
	uint64_t events[WI_NR_EVENT_TYPES]; /* in the window */
	uint64_t lost_marks, lost_events;   /* gaps marked by the buffer, and records lost where it says how many */
	uint64_t chain_breaks;
	struct wi_repairs repairs;
	uint64_t exec_count;
	uint64_t unnamed_tasks, nr_tasks;
	struct wi_skew skew; /* the worst pair; ns 0: none */
	uint64_t skew_pairs;
	uint64_t censored_oldest_ns; /* age of the oldest wakeup open at the end */
	int32_t censored_oldest_pid;
	uint64_t quiet_cpus;	  /* online, no sched_switch */
	uint64_t recording_start_ns, recording_end_ns, window_start_ns, window_end_ns;
	uint64_t unknown_ns; /* Σ over online CPUs, within the window */
};

/* Side knowledge about tasks (side file or markers), sorted by pid; borrowed until the timeline is freed. */
struct wi_task_fact {
	int32_t pid, tgid; /* -1 / 0 unknown */
	const char *comm, *cgroup, *autogroup; /* NULL unknown */
	int32_t policy;	    /* enum wakeif_policy; -1 unknown */
	int32_t nice;	    /* INT32_MIN unknown */
	const wakeif_word *allowed; /* topology's nr_words; NULL unknown */
};

/* A hole in the records of one CPU, for sources that do not look ahead. */
struct wi_gap {
	uint64_t from_ns;
	uint32_t cpu;
	uint8_t kind; /* enum wi_lost_kind */
	uint64_t nr;
};

/* What the survey found. Freed with wi_survey_fini(). */
struct wi_survey {
	uint64_t gap_ns;	/* median waking→migrate gap of the first 10,000 moved wakeups; 1000 if none */
	uint64_t gap_samples;
	bool gaps_dated;	/* gaps[] says when each hole began, which the source's own WI_EV_LOST does not */
	bool has_waking;	/* a sched_waking before the 10,000th sched_wakeup */
	bool has_wakeups;	/* a sched_waking or a sched_wakeup at all */
	uint32_t nr_cpus;	/* highest CPU that the file or a surveyed event names + 1 */
	int32_t *first_pid;	/* by CPU; -1: no record on it */
	uint64_t *first_ts_ns;	/* by CPU; WI_TIME_UNKNOWN: no record on it */
	bool *overwritten;	/* by CPU: the start of its buffer was overwritten */
	struct wi_gap *gaps;	/* by from_ns; only for sources that do not look ahead */
	size_t nr_gaps;
	uint64_t recording_start_ns;
	uint64_t window_start_ns; /* latest first record of the CPUs whose start was overwritten; else recording start */
};

/* Who wants to see the first events, too: one pass serves both. */
struct wi_survey_guest {
	void *ctx;
	/* All events from the first one on, in batches. *more false: no further ones, please. false: err set, the survey ends. */
	bool (*look)(void *ctx, const struct wi_event *ev, int nr, bool *more, struct wi_err *err);
};

struct wi_source;
bool wi_survey(struct wi_source *src, struct wi_survey *s, struct wi_err *err);
bool wi_survey_with(struct wi_source *src, const struct wi_survey_guest *guest, struct wi_survey *s, struct wi_err *err);
void wi_survey_fini(struct wi_survey *s);

struct wi_timeline_opts {
	const struct wakeif_topology *topology; /* borrowed */
	struct wi_names *names;			/* borrowed */
	const char *trace_name;			/* for messages; borrowed */
	const struct wi_survey *survey;		/* borrowed */
	const struct wi_task_fact *facts;
	size_t nr_facts;
	uint32_t (*comm_of)(void *ctx, int32_t pid); /* table of latest names, asked last; may be NULL */
	void *comm_of_ctx;
	uint64_t start_ns, stop_ns; /* user's window; 0 and UINT64_MAX: the recording's */
	uint64_t oncpu_ns;	    /* a task woken this soon after it blocked may still be on its CPU (rule 17, ONCPU); 0: 5000 */
	bool quiet_unknown;	    /* --quiet-cpus=unknown */
	uint32_t kernel_version;    /* WI_KERNEL(); 0 unknown */
};

struct wi_timeline *wi_timeline_new(const struct wi_timeline_opts *opts, const struct wi_timeline_observer *obs, struct wi_err *err);
void wi_timeline_free(struct wi_timeline *tl);

/*
 * Events come in time order, without a copy: room for up to *max events (at least 1; NULL: out of memory), to be filled
 * by a reader and handed over with wi_timeline_take() before any other call, which applies all that have become certain.
 * false: err set: out of memory, or an event names a CPU that the topology lacks (WI_EREFUSED naming both).
 * wi_timeline_done(): the window's end has been passed, more events change nothing.
 */
struct wi_event *wi_timeline_room(struct wi_timeline *tl, int *max);
bool wi_timeline_take(struct wi_timeline *tl, const struct wi_event *room, int nr, struct wi_err *err);
bool wi_timeline_done(const struct wi_timeline *tl);

/* The recording goes on to end_ns, whatever the last event was: records that are not delivered count, too. Before finish. */
void wi_timeline_set_end(struct wi_timeline *tl, uint64_t end_ns);

/* Applies what is still held back, closes intervals, open wakeups (censored) and tasks. Once, at the end. */
bool wi_timeline_finish(struct wi_timeline *tl, struct wi_err *err);

const struct wakeif_view *wi_timeline_view(struct wi_timeline *tl); /* state now; valid until the next call */
uint64_t wi_timeline_window_start_ns(const struct wi_timeline *tl);
const struct wi_task *wi_timeline_current(const struct wi_timeline *tl, uint32_t cpu); /* NULL: idle task or unknown */
const struct wi_timeline_quality *wi_timeline_quality(const struct wi_timeline *tl);

#endif
