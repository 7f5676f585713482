/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Closed loop: a discrete-event machine runs a workload under a placement model; every choice changes what follows.
 * Same workload, options and seed: same bytes. doc/simulate.md describes the machine and its limits.
 *
 * One run is one call. The workload is only read, so runs of several processes may share it.
 */
#ifndef WI_SIM_H
#define WI_SIM_H

#include "analyzer/sim/tally.h"
#include "analyzer/workload/workload.h"
#include "models/wakeif_model.h"
#include "parsers/event.h"

enum wi_sim_pick {
	WI_PICK_AUTO, /* by the kernel's version: CFS up to 6.5, EEVDF from 6.6 */
	WI_PICK_CFS,
	WI_PICK_EEVDF,
	WI_PICK_FIFO
}; /* order of arrival, no preemption of fair tasks: for queueing theory */

enum wi_sim_balance { WI_BALANCE_FULL, WI_BALANCE_NEWIDLE, WI_BALANCE_OFF };
enum wi_sim_noise {
	WI_NOISE_OWN,	/* a wakeup whose kind is as recorded keeps its recorded latencies, others draw */
	WI_NOISE_DRAWN, /* all draw from those of their kind */
	WI_NOISE_NONE
}; /* all latencies are 0 */
enum wi_sim_external {
	WI_EXTERNAL_AUTO,     /* kernel threads absolute, others relative */
	WI_EXTERNAL_ABSOLUTE, /* at the recorded time */
	WI_EXTERNAL_RELATIVE
}; /* the recorded length after the block */

/* How cookies share a core (specification: models of 2019 and mainline, doc/simulate.md). X(id, name, help) */
#define WI_CORE_SCHEDS(X)                                                                                              \
	X(OFF, "off", "no core scheduling")                                                                            \
	X(CSC, "csc", "v3 of May 2019: vruntime against each queue's min_vruntime")                                    \
	X(CSC_STALLFIX, "csc_stallfix", "with the tick's slice test on a queue of one")                                \
	X(CSC_TIM, "csc_tim", "with an allowance of 5 ms for each queue")                                              \
	X(CSC_VRUNTIME, "csc_vruntime", "with a core-wide vruntime")                                                   \
	X(MAINLINE, "mainline", "as in Linux 5.14 and later")

enum wi_core_sched {
#define X(id, name, help) WI_CORE_SCHED_##id,
	WI_CORE_SCHEDS(X)
#undef X
		WI_NR_CORE_SCHEDS
};

struct wi_sim_opts {
	const struct wakeif_topology *topology; /* of the simulated machine; NULL: the workload's */
	uint32_t kernel;			/* for the defaults of scheduler and estimates; 0: the workload's */
	uint32_t hz;				/* 0: the workload's, else 250 */
	uint64_t seed;				/* tick phase, ties, draws, unknown vruntimes */

	const struct wakeif_model_ops *ops; /* placement; required */
	const int64_t *values;

	enum wi_sim_pick pick;
	bool no_wakeup_preemption;
	enum wi_sim_balance balance;
	enum wi_sim_noise noise;
	enum wi_sim_external external;
	bool no_orders;	    /* without what is inferred: UNSEEN and TAKE; answers as on the tape */
	uint64_t commit_ns; /* a stored wake younger than this lets its task block and queues it again; UINT64_MAX: the
			       workload's */
	uint32_t smt_speed; /* 1/1024; 0: the workload's */
	uint32_t (*smt_speed_of)(void *ctx, const char *comm); /* may be NULL */
	void *smt_ctx;
	uint32_t host_cpus; /* busy CPUs share this many; 0: none shared */
	uint64_t tick_ns;   /* 0: 1 s / hz. For scaled worlds */
	uint64_t scale; /* all times of the kernel (slices, granularities, migration cost, half-lives) times this; 0: 1
			 */

	enum wi_core_sched core_sched;
	const uint32_t *cookie;	      /* by task of the workload; for core_sched */
	uint32_t power_mc, power_smt; /* sched_mc_power_savings, sched_smt_power_savings: 0 .. 2 */

	/*
	 * The result as the recording of it would be, in time order: for the twin experiment. Names are numbers of the
	 * workload's tasks, counted from 1; WI_NAME_NONE: idle task. false ends the run as out of memory. May be NULL
	 */
	bool (*sink)(void *ctx, const struct wi_event *ev);
	void *sink_ctx;
	double tally_from, tally_to; /* 0, 0: 0.03 .. 0.97 */
};

struct wi_sim_result {
	struct wi_tally_result tally;
	uint64_t end_ns;			  /* makespan: the last task's last work */
	uint64_t ran_ns, tape_ns;		  /* work done, and on the tapes */
	uint64_t ops_done, ops_total, wakes_lost; /* wakes_lost: stored wakes that no block ever took */
	uint64_t not_blocked;			  /* blocks that found their wake there already */
	uint64_t tasks_undone;			  /* tasks whose tape was not run to its end */
	uint32_t moved_pins;			  /* affinities to CPUs none of which is here */
	uint64_t invalid;			  /* answers of the model that were illegal */
	uint64_t forced_idle_ns;		  /* core scheduling */
	uint32_t nr_cookies;
	uint64_t *cookie_ran_ns, *cookie_wait_ns, *cookie_forced_ns; /* by rank of cookie in ascending order */
	uint32_t *cookie;
	uint64_t incompatible_corun_ns, compatible_corun_ns;
	uint64_t balance_moves, newidle_moves, active_moves;
	uint64_t noise_own, noise_drawn;
};

/* false: err set (out of memory; the model refuses; a workload that its own check refuses). result:
 * wi_sim_result_fini(). */
bool wi_sim_run(const struct wi_workload *w, const struct wi_sim_opts *opts, struct wi_sim_result *result,
		struct wi_err *err);
void wi_sim_result_fini(struct wi_sim_result *r);
bool wi_sim_result_write(const struct wi_sim_result *r, FILE *to);
bool wi_sim_result_read(struct wi_sim_result *r, FILE *from);

#endif
