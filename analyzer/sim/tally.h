/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a replay is judged by, counted in one way for a recording (tally_recorded.h) and for a simulation. The window of
 * the numbers goes from 3 % to 97 % of the wakings, by count: a replay that runs faster or slower is compared over the
 * same part of the work (doc/simulate.md). Integer sums; nothing depends on the order of pointers.
 */
#ifndef WI_SIM_TALLY_H
#define WI_SIM_TALLY_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "analyzer/base/err.h"
#include "analyzer/base/hist.h"
#include "models/wakeif_model.h"

struct wi_tally;

struct wi_tally_opts {
	const struct wakeif_topology *topology; /* borrowed */
	double from, to;			/* share of the wakings; 0, 0: 0.03 .. 0.97 */
};

struct wi_tally *wi_tally_new(const struct wi_tally_opts *opts, struct wi_err *err);
void wi_tally_free(struct wi_tally *t);

/* Time never goes back. A CPU is busy while a task runs on it; it is unknown (neither) until told. */
void wi_tally_cpu(struct wi_tally *t, uint64_t now_ns, uint32_t cpu, bool busy, bool forced_idle);
void wi_tally_wait(struct wi_tally *t, uint64_t now_ns, uint32_t cpu, int delta); /* runnable, not running, on cpu */
/* sched_waking of a task that had blocked. Returns the number that wi_tally_ran() wants. */
uint32_t wi_tally_waking(struct wi_tally *t, uint64_t now_ns, enum wakeif_class class_);
/* It was placed: prev_cpu to cpu. Class SELECT, PINNED, FALLBACK, RT, DL and UNKNOWN have a place; ONCPU stays. */
void wi_tally_placed(struct wi_tally *t, uint32_t waking, uint32_t prev_cpu, uint32_t cpu, bool decided);
/* Its class turned out to be ONCPU. */
void wi_tally_oncpu(struct wi_tally *t, uint32_t waking);
void wi_tally_queued(struct wi_tally *t, uint64_t now_ns, uint32_t waking); /* sched_wakeup */
void wi_tally_ran(struct wi_tally *t, uint64_t now_ns, uint32_t waking);    /* switch-in */
void wi_tally_moved(struct wi_tally *t, uint64_t now_ns, uint32_t from_cpu, uint32_t to_cpu,
		    bool placement); /* sched_migrate_task */
void wi_tally_preempted(struct wi_tally *t, uint64_t now_ns);
void wi_tally_ipi(struct wi_tally *t, uint64_t now_ns);

struct wi_tally_result {
	uint64_t from_ns, to_ns;				/* the window */
	uint64_t wakings, decided, stayed, oncpu, placed_moves; /* in it; stayed: of decided, on prev_cpu */
	uint64_t migrations;					/* all moves, those of wakeups included */
	uint64_t preemptions, ipis;
	uint64_t cpu_ns; /* window times CPUs (online) */
	uint64_t busy_ns, forced_idle_ns, unknown_ns;
	uint64_t corun_ns;				  /* Σ over CPUs of time busy while a sibling is busy */
	uint64_t waiting_ns;				  /* Σ over tasks, runnable and not running */
	uint64_t idle_while_waiting_ns[WAKEIF_NR_SCOPES]; /* wall time with a task waiting and an idle CPU in the same
							     group, Σ over groups */
	struct wi_hist latency;				  /* sched_waking to switch-in, tasks that had blocked */
	struct wi_hist queue_wait;			  /* sched_wakeup to switch-in */
	uint32_t nr_cpus;
	uint64_t *cpu_idle_ns;			   /* by CPU, in the window */
	uint64_t *group_idle_ns[WAKEIF_NR_SCOPES]; /* by group: all its CPUs idle */
	uint64_t *package_idle_ns;		   /* by package */
	uint32_t nr_groups[WAKEIF_NR_SCOPES], nr_packages;
};

/* end_ns: open intervals are closed there. false: out of memory (also earlier). Result is the caller's,
 * wi_tally_result_fini(). */
bool wi_tally_finish(struct wi_tally *t, uint64_t end_ns, struct wi_tally_result *out, struct wi_err *err);
void wi_tally_result_fini(struct wi_tally_result *r);

/* Through a pipe from a worker. read: checks sizes; false: cut or damaged. */
bool wi_tally_result_write(const struct wi_tally_result *r, FILE *to);
bool wi_tally_result_read(struct wi_tally_result *r, FILE *from);

/* Share, percentiles and distances; NAN where there is nothing to divide by. */
double wi_tally_util(const struct wi_tally_result *r);	/* busy / (cpu - unknown) */
double wi_tally_corun(const struct wi_tally_result *r); /* of the same: share of CPU time */
double wi_tally_stay(const struct wi_tally_result *r);
double wi_tally_migrations(const struct wi_tally_result *r); /* per waking */
double wi_tally_migrations_per_s(const struct wi_tally_result *r);
double wi_tally_wakings_per_s(const struct wi_tally_result *r);
double wi_hist_ks(const struct wi_hist *a,
		  const struct wi_hist *b); /* Kolmogorov-Smirnov distance, to a bucket's width */

#endif
