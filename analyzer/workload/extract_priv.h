/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Between the observer that writes raw tapes (extract.c) and the end that turns them into a workload
 * (extract_finish.c). On a raw tape WAKE, BLOCK and FORK name wakes (struct wake), which are sorted into causes and
 * accidents when all of them are known.
 */
#ifndef WI_WORKLOAD_EXTRACT_PRIV_H
#define WI_WORKLOAD_EXTRACT_PRIV_H

#include "analyzer/workload/build.h"
#include "analyzer/workload/extract.h"
#include "analyzer/workload/pairs.h"
#include "analyzer/workload/priv.h"

#define NO_WAKE ((1u << 27) - 1) /* a block that nothing ended */
#define NONE UINT32_MAX

enum xstate { X_UNKNOWN, X_BLOCKED, X_RUNNABLE, X_RUNNING, X_DEAD };

enum xrank { RANK_IDLE, RANK_FAIR, RANK_RT, NR_RANKS }; /* whoever is of a higher one preempts at once */

/* One task while it is observed. */
struct xtask {
	struct wi_op *ops; /* raw tape */
	size_t nr_ops, room;
	struct wi_work_task about; /* strings are set at the end */
	uint32_t comm;		   /* name id, latest */
	uint8_t state;		   /* enum xstate */
	bool seen;		   /* has a state in the window */
	bool fork_seen;		   /* a FORK op stands on its parent's raw tape */
	bool forked;		   /* ... and on its tape */
	int16_t prio;
	uint8_t policy;
	uint32_t cpu;
	uint64_t work;	     /* 1/1024 ns of solo-speed work since the last op */
	uint64_t counted_ns; /* up to where work is counted, while it runs */
	uint64_t block_ns;   /* last switch-out to sleep */
	uint32_t open_wake;  /* a wake that came while it was not asleep and is not over; NONE */
	uint32_t last_wake;  /* that ended its last block; NONE */
	/* stalls.c */
	uint32_t waits_on, waits_weight; /* CPU on whose queue it waits; NONE */
	uint8_t waits_rank;
	uint64_t quiet_ns, nr_quiet; /* between signs of life of its CPUs while it ran */
	uint64_t lost_ns;	     /* since when its place is not known; 0: it is known */
	/* soft order edge: preempted by its own wakee, which had blocked so often; NONE: no */
	uint32_t away_for, away_blocks, away_cpu;
};

enum wake_fate { WAKE_NOTHING, WAKE_ENDED_BLOCK, WAKE_FORKED };

/* One sched_waking (or sched_wakeup_new). */
struct wake {
	uint64_t wake_ns, block_ns; /* block_ns: when the block that it ended began */
	uint32_t waker, wakee;	    /* NONE: nobody */
	uint32_t waker_comm, waker_cpu, slept_cpu;
	uint8_t context, class_, fate;
	bool internal;	       /* a task's own doing; told at the end */
	bool unseen_request;   /* it answers a request that found the waker awake */
	bool disturbed;	       /* another wakeup had just reached the CPU that it came on, which idled */
	uint32_t last_request; /* of the wakee to the waker, if it is an answer: wake, plus 1; 0 none */
	bool on_tape;	       /* the waker's raw tape has it */
	bool decided; /* noise.kind tells whether the chosen CPU was busy at the decision, else at the enqueue */
	bool busy;    /* at the enqueue */
	struct wi_wake_noise noise;
	uint64_t enqueued_switches; /* switches on the CPU at the enqueue */
	uint64_t oncpu_ns;	    /* switch-out minus waking where the wakee was still on its CPU; else 0 */
};

struct order {
	uint32_t waits, first; /* tasks: waits goes on when first has blocked nr_blocks times */
	uint32_t nr_blocks;
	struct wi_wake_noise noise; /* of the wakeup of waits by first that came before */
};

struct xcpu {
	uint32_t task; /* NONE: idle or unknown */
	uint64_t nr_switches;
	uint64_t out_ns; /* of the last task that was switched out here */
	uint32_t out_task;
	bool out_preempted;
	bool was_idle;	     /* until now */
	bool kicked;	     /* it idles, and a wakeup was sent there */
	uint64_t idle_to_ns; /* it idled until then */
	/* stalls.c */
	uint64_t acted_ns, run_ns; /* last sign of life; when its task was switched in */
	uint64_t weight;	   /* of those that wait */
	struct {
		uint32_t nr;
		uint64_t since_ns;
	} waiting[NR_RANKS]; /* of this rank or above, and since when there has been somebody all the time */
};

struct xarray {
	void *at;
	size_t nr, room;
};

struct wi_extract {
	struct wi_extract_opts opt;
	struct wi_timeline_observer obs;
	struct wi_timeline *tl;
	struct wi_work_builder *builder; /* gets masks on the way, all else at the end */
	struct xcpu *cpu;
	struct xarray task;    /* struct xtask */
	struct xarray slot;    /* uint32_t: task by slot */
	struct xarray wake;    /* struct wake */
	struct xarray by_slot; /* uint32_t: open wake by the timeline's wakeup slot */
	struct xarray order;   /* struct order */
	struct wi_work_facts facts;
	uint64_t from_ns, now_ns;
	bool begun, over, failed;
};

static inline struct xtask *x_task(struct wi_extract *x, uint32_t i)
{
	return (struct xtask *)x->task.at + i;
}

static inline struct wake *x_wake(struct wi_extract *x, uint32_t i)
{
	return (struct wake *)x->wake.at + i;
}

void wi_extract_put(struct wi_extract *x, struct xtask *t, struct wi_op op); /* with the work done since the last op */
void wi_extract_count_around(struct wi_extract *x, uint32_t cpu);	     /* all whose speed changes with cpu */
void wi_extract_count(struct wi_extract *x, uint32_t cpu); /* work of the task that runs there, up to now */
uint32_t wi_extract_speed(const struct wi_extract *x, uint32_t cpu, const struct xtask *t); /* in 1/1024 */

/* stalls.c */
void wi_stall_waits(struct wi_extract *x, struct xtask *t, uint32_t cpu); /* t waits there; NONE: nowhere */
void wi_stall_runs(struct wi_extract *x, uint32_t cpu);			  /* its task was switched in */
/* cpu shows a sign of life; what it does is not on its task's tape yet. */
void wi_stall_acts(struct wi_extract *x, uint32_t cpu);

/*
 * talk.c: who serves whom (server, client -> 1), and which wakes are requests and answers (in noise.flags). woke:
 * waker, wakee -> times; nr_woken: by wakee, by tasks. false: out of memory.
 */
bool wi_talk_find(struct wi_extract *x, const struct wi_pairs *woke, const uint32_t *nr_woken, struct wi_pairs *served);

void wi_extract_count_to(struct wi_extract *x, uint64_t end_ns);

#endif
