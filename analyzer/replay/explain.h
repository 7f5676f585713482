/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Single wakeups, taken apart: the machine as it was at the decision, what each model answered, and for models of
 * models/fair.c every rule in the kernel's order with what was looked at. A sink of the replay and an observer beside it.
 */
#ifndef WI_REPLAY_EXPLAIN_H
#define WI_REPLAY_EXPLAIN_H

#include "analyzer/replay/engine.h"
#include "models/fair.h"

#define WI_EXPLAIN_MAX 1000u  /* wakeups at most, in one run */
#define WI_EXPLAIN_STEPS 4096 /* steps kept of one answer; more are counted */

struct wi_explained_cpu {
	bool online, idle, unknown, pending, sched_idle_only, allowed;
	uint32_t nr_running, nr_cfs;
	int32_t curr_pid;   /* 0 idle task, -1 unknown */
	uint32_t curr_comm; /* name id */
	uint64_t idle_since_ns;
};

struct wi_explained_step {
	struct wi_fair_step s;
	uint32_t min, max; /* BUDGET: what it could be as well */
};

/*
 * One single thing that, had it been otherwise, would have made the model answer what the kernel chose.
 * X(id, name, what cpu or value is)
 */
#define WI_TURNS(X)                                                                                                    \
	X(SYNC, "sync", "WF_SYNC the other way round")                                                                 \
	X(WIDE, "wake_wide", "wake_wide the other way round: value")                                                   \
	X(LOAD, "load", "the comparison of loads the other way round")                                                 \
	X(CORES, "has_idle_cores", "has_idle_cores the other way round: value")                                        \
	X(BUDGET, "nr_idle_scan", "nr_idle_scan: value")                                                               \
	X(RECENT, "recent", "the recently used CPU: cpu")                                                              \
	X(IDLE, "idle", "cpu idle")                                                                                    \
	X(BUSY, "busy", "cpu busy")

enum wi_turn_kind {
#define X(id, name, help) WI_TURN_##id,
	WI_TURNS(X)
#undef X
	WI_NR_TURNS
};

const char *wi_turn_name(enum wi_turn_kind k);

struct wi_turn {
	enum wi_turn_kind kind;
	uint32_t cpu, value;
};

struct wi_explained_model {
	struct wakeif_choice choice;
	uint32_t cpu; /* with the kernel's fallback in the place of an illegal answer */
	bool illegal;
	struct wi_verdict verdict;
	bool has_steps; /* the rest is of models whose inputs are known */
	bool asked;	/* false: one CPU allowed, the kernel does not look */
	struct wi_explained_step *steps;
	uint32_t nr_steps, nr_steps_all;
	uint32_t waker_flips, wakee_flips, wide_factor; /* wake_wide */
	uint32_t recent_cpu;				/* WAKEIF_CPU_NONE not known */
	bool waker_idle_cores, prev_idle_cores;		/* has_idle_cores of their LLCs, estimated */
	uint64_t waker_cpu_load, prev_cpu_load, waker_load, wakee_load;
	uint64_t this_eff, prev_eff; /* as compared */
	bool weighed;
	struct wi_turn *turns; /* only where the answer is not the kernel's choice */
	uint32_t nr_turns;
};

struct wi_explained {
	struct wi_wakeup w; /* wakee and pub.allowed are NULL: see below */
	int32_t pid;
	uint32_t comm;	/* name ids */
	uint32_t waker_comm;
	bool asked;	      /* models were asked: class SELECT or FORK, known CPUs */
	bool sync, sync_used; /* WF_SYNC as the models were told; used: of class SELECT */
	enum wi_sync_mode sync_mode;
	enum wi_sync_source sync_source;
	struct wi_explained_cpu *cpu; /* by CPU */
	uint32_t nr_allowed;
	struct wi_verdict verdict; /* of what the kernel did; asked only */
	struct wi_explained_model *model;
	uint32_t nr_models;
	bool closed;
	enum wi_outcome outcome;
	uint64_t serial; /* while it is open */
};

struct wi_explain_opts {
	const struct wakeif_topology *topology; /* borrowed */
	struct wi_timeline *const *timeline;	/* where the run's timeline will be; borrowed */
	uint64_t from_ns;			/* of sched_waking; 0: from the start */
	int32_t pid;				/* of the wakee; -1: any */
	uint32_t nr;				/* the first so many, by sched_waking: 1 .. WI_EXPLAIN_MAX */
};

struct wi_explain;

/* NULL: err set (out of memory). */
struct wi_explain *wi_explain_new(const struct wi_explain_opts *opts, struct wi_err *err);
void wi_explain_free(struct wi_explain *e);

void wi_explain_sink(void *ctx, const struct wi_replay_decision *d); /* ctx: the struct wi_explain */
const struct wi_timeline_observer *wi_explain_observer(struct wi_explain *e); /* to be told before the replay */

/* After the replay: *nr of them in the order of their sched_waking, borrowed. NULL: err set. */
const struct wi_explained *wi_explain_finish(struct wi_explain *e, size_t *nr, struct wi_err *err);

/* What was seen of the task asked for, to say why there is nothing. */
struct wi_explain_seen {
	uint64_t wakeups, of_pid; /* wakeups in the window; of them of that task */
	uint64_t last_ns;	  /* sched_waking of the latest one that passed the pid; 0 none */
};

struct wi_explain_seen wi_explain_seen(const struct wi_explain *e);

#endif
