/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Made-up workloads for the closed loop, and a run of the machine that watches every event for what must never happen.
 * Test code: it stops the program when it runs out of memory.
 */
#ifndef SIM_WORLD_H
#define SIM_WORLD_H

#include "analyzer/sim/sim.h"
#include "analyzer/workload/build.h"
#include "models/params.h"

#define US 1000ull
#define MS 1000000ull

/* ---- a workload in the making ---- */

struct sim_world {
	struct wi_work_builder *b;
	const struct wakeif_topology *topo;
	struct wi_work_machine m;
	struct wi_wake_noise noise; /* of wakes that are added from here on */
	uint64_t rng;
	uint32_t nr_tasks;
	uint64_t nr_wakes, nr_blocks; /* ops so far */
};

/* topo: borrowed. kernel WI_KERNEL(). Latencies of wakes: none, until `noise` is changed. */
void sim_world_begin(struct sim_world *w, const struct wakeif_topology *topo, uint32_t kernel, uint64_t seed);
struct wi_workload *sim_world_end(struct sim_world *w); /* tapes that have no end get one */

uint64_t sim_lot(struct sim_world *w, uint64_t below);
uint64_t sim_exponential(struct sim_world *w, uint64_t mean_ns);

/* start: RUNNABLE, BLOCKED (its first op must be a block or sleep), UNBORN. CPU: where it starts. */
uint32_t sim_task(struct sim_world *w, const char *comm, uint32_t cpu, enum wi_work_start start);
void sim_nice(struct sim_world *w, uint32_t task, int nice);
void sim_pin(struct sim_world *w, uint32_t task, uint32_t cpu);
uint32_t sim_counter(struct sim_world *w, uint32_t task);

/* After run_ns more of work. */
void sim_run(struct sim_world *w, uint32_t task, uint64_t run_ns); /* any length */
void sim_wake(struct sim_world *w, uint32_t task, uint64_t run_ns, uint32_t counter, bool sync);
void sim_block(struct sim_world *w, uint32_t task, uint64_t run_ns, uint32_t counter);
void sim_sleep(struct sim_world *w, uint32_t task, uint64_t run_ns, uint64_t length_ns);
void sim_op(struct sim_world *w, uint32_t task, uint64_t run_ns, enum wi_op_kind kind, uint32_t target, uint64_t value);

/* ---- whole worlds; all tasks start on CPUs by turns ---- */

void sim_hogs(struct sim_world *w, uint32_t nr, uint64_t each_ns);			   /* CPU bound, never sleep */
void sim_arrivals(struct sim_world *w, uint32_t nr, uint64_t apart_ns, uint64_t work_ns);  /* Poisson, exponential */
void sim_ping_pong(struct sim_world *w, uint32_t pairs, uint32_t rounds, uint64_t run_ns); /* pipe; sync wakes */
/* Sender writes on while the receiver reads; wakes it only when it sleeps: here once a packet. Sync wakes. */
void sim_stream(struct sim_world *w, uint32_t pairs, uint32_t packets, uint64_t send_ns, uint64_t receive_ns);
/* Every sender writes to every receiver of its group, round after round; reading takes a third of the time of writing.
 */
void sim_hackbench(struct sim_world *w, uint32_t groups, uint32_t senders, uint32_t receivers, uint32_t rounds,
		   uint64_t run_ns);
/* A make of so many jobs at a time: forks compilers, waits for one before it forks the next. */
void sim_make(struct sim_world *w, uint32_t jobs, uint32_t total, uint64_t each_ns);
/* Threads pass a few mutexes from hand to hand, yields between. */
void sim_mutexes(struct sim_world *w, uint32_t threads, uint32_t mutexes, uint32_t rounds, uint64_t hold_ns,
		 uint64_t outside_ns);
void sim_timers(struct sim_world *w, uint32_t nr, uint32_t rounds, uint64_t run_ns, uint64_t sleep_ns);
/* Message and worker threads: a message thread wakes its workers, they think and answer (schbench). */
void sim_requests(struct sim_world *w, uint32_t messengers, uint32_t workers, uint32_t rounds, uint64_t think_ns);
/* Anything that can be on tapes, by lot, and that comes to an end. strange: real-time tasks, and children that may not
 * run where their parents do. */
void sim_anything(struct sim_world *w, uint32_t nr_tasks, uint32_t nr_ops, bool strange);
/* The same of fair tasks that run, wake, block, sleep, yield, fork and die, a microsecond or more for each. */
void sim_plain(struct sim_world *w, uint32_t nr_tasks, uint32_t nr_ops);

/*
 * Latencies for the draws, as of hardware: a decision of 0.3 us, 0.8 us to another CPU, 0.5 us to preempt here and 1.5
 * us there; to leave idle takes a half to one and a half of exit_ns. The wakes to come have none of their own.
 */
void sim_latencies(struct sim_world *w, uint64_t exit_ns);

/* ---- runs ---- */

struct sim_opts {
	const char *model; /* as a user names it; NULL: "prev" */
	struct wi_sim_opts o;
	bool (*also)(void *ctx, const struct wi_event *ev); /* told every event; may be NULL */
	void *also_ctx;
};

struct sim_seen {			    /* counted from the events alone */
	uint64_t busy_ns, end_ns, waits_ns; /* waits: wakeup to switch-in */
	uint64_t nr_waits, nr_zero_waits, nr_switches, nr_migrations, nr_wakings;
	uint64_t *ran_ns; /* by task */
};

/*
 * The machine's run, watched: time goes on; a CPU's events hang together; nobody is in two places, runs where it may
 * not, runs without having been woken or is woken while awake; cookies do not mix on a core; the tally's sums are those
 * of the events. Returns NULL or what was wrong (static text). result and seen: to be freed with sim_run_fini().
 */
const char *sim_run_watched(const struct wi_workload *w, const struct sim_opts *opts, struct wi_sim_result *result,
			    struct sim_seen *seen, struct wi_err *err);
void sim_run_fini(struct wi_sim_result *result, struct sim_seen *seen);

#endif
