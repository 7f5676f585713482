/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Run queues: who runs next on a CPU, who preempts whom, when a slice is over. Pure: no time but what is told, no
 * events, no placement. One file a class: cfs.c (to 6.5), eevdf.c (6.6 on), fifo.c (order of arrival), rt.c (FIFO and
 * RR, on top of any).
 *
 * Entities are embedded in the machine's tasks. vruntime and lag are in ns at nice 0, signed 64 bit, as the kernel's.
 */
#ifndef WI_SIM_QUEUE_H
#define WI_SIM_QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct wi_entity {
	int64_t vruntime;
	int64_t deadline, lag; /* EEVDF */
	int64_t protected_to;  /* EEVDF: while vruntime is below, nobody eligible takes its place */
	uint64_t slice_ns;
	uint64_t ran_ns;   /* since it was picked (sum_exec - prev_sum_exec) */
	uint64_t arrived;  /* order of arrival: FIFO */
	uint64_t inserted; /* ties: whoever came to wait first */
	uint32_t weight;   /* 1024 is nice 0; SCHED_IDLE 3 */
	uint32_t task;	   /* the machine's number */
	int16_t prio;	   /* 0..99 RT, 100..139 */
	uint8_t policy;	   /* enum wakeif_policy */
	bool queued;	   /* on a queue, running included */
	bool delayed;	   /* EEVDF from 6.12: asleep, but kept until picked */
	bool relative;	   /* CFS: vruntime counts from no queue's min_vruntime, see detach */
	bool slice_over;   /* EEVDF: its request is done, or its protection: to be looked at */
	bool in_place;	   /* EEVDF: wakes up while it is kept, and stays where it stands */
};

struct wi_queue_params {
	uint32_t version; /* major << 16 | minor << 8 */
	uint32_t nr_cpus; /* scales the defaults */
	uint64_t scale;	  /* all constants times this */
	uint64_t tick_ns;
	bool no_wakeup_preemption;
	uint64_t latency_ns, min_granularity_ns, wakeup_granularity_ns, base_slice_ns; /* 0: the version's */
};

struct wi_queue;

/* What a fair class does. curr is the entity that runs (not among the waiting), NULL: none of this class. */
struct wi_queue_ops {
	const char *name;
	void (*update)(struct wi_queue *q, uint64_t ran_ns); /* curr ran for this long */
	/* Before it is queued: new, woken, or (neither) moved while runnable. Undoes detach. */
	void (*place)(struct wi_queue *q, struct wi_entity *e, bool initial, bool woken);
	/* A child of q's curr, before it is placed on any queue; NULL: the class does not care. */
	void (*fork)(struct wi_queue *q, struct wi_entity *child);
	void (*sleep)(struct wi_queue *q,
		      struct wi_entity *e); /* still queued, about to leave for a sleep: what is kept of it */
	void (*detach)(struct wi_queue *q,
		       struct wi_entity *e); /* goes to another CPU, asleep or just before it is removed */
	bool (*delays)(struct wi_queue *q,
		       struct wi_entity *e); /* 6.12: is kept queued instead of leaving; may be NULL */
	void (*rejoin)(
		struct wi_queue *q,
		struct wi_entity *e); /* 6.12: wakes up while it is kept, and is removed and placed next; may be NULL */
	bool (*preempts)(struct wi_queue *q, struct wi_entity *e); /* e was queued by a wakeup: shall curr go? */
	struct wi_entity *(*pick)(struct wi_queue *q);		   /* next to run, curr included; NULL: none */
	void (*set)(struct wi_queue *q, struct wi_entity *e);	   /* e was picked and begins to run */
	bool (*tick)(struct wi_queue *q);			   /* is curr's time over? asked once */
	void (*yield)(struct wi_queue *q);
};

extern const struct wi_queue_ops wi_cfs_ops, wi_eevdf_ops, wi_fifo_ops;

struct wi_queue { /* of one CPU; fair tasks */
	const struct wi_queue_ops *ops;
	const struct wi_queue_params *params;
	struct wi_entity *curr;
	struct wi_entity **
		waiting; /* sorted by vruntime (CFS), deadline and vruntime as the class likes; the class's own order */
	uint32_t nr_waiting, room;
	uint32_t nr;	  /* queued, curr and delayed ones included */
	uint32_t nr_idle; /* of them SCHED_IDLE */
	uint32_t nr_delayed;
	uint64_t weight; /* sum, curr included */
	uint64_t inserts;
	__int128 value; /* EEVDF: sum of vruntime times weight, curr included */
	int64_t min_vruntime;
	struct wi_entity *next, *last; /* buddies */
	struct wi_entity *skip;
	int64_t min_vruntime_fi; /* core scheduling, mainline: snapshot when forced idle began */
	int64_t allowance_ns;	 /* core scheduling, csc_tim */
};

void wi_queue_params_fill(struct wi_queue_params *p); /* what is 0 gets the version's value */
void wi_queue_init(struct wi_queue *q, const struct wi_queue_ops *ops, const struct wi_queue_params *p);

/* Common to all classes. false: out of memory. */
bool wi_queue_add(struct wi_queue *q, struct wi_entity *e);    /* e was placed */
void wi_queue_remove(struct wi_queue *q, struct wi_entity *e); /* waiting or curr */
bool wi_queue_put_back(struct wi_queue *q);		       /* curr waits again; false: out of memory */
void wi_queue_take(struct wi_queue *q, struct wi_entity *e);   /* waiting becomes curr; there is none */
void wi_queue_fini(struct wi_queue *q);

/* RT: by prio, then order of arrival (a preempted FIFO task goes to the head of its prio). */
struct wi_rt_queue {
	struct wi_entity **waiting; /* by prio, then place in line */
	struct wi_entity *curr;
	uint32_t nr_waiting, room, nr;
};

bool wi_rt_add(struct wi_rt_queue *q, struct wi_entity *e, bool head);
void wi_rt_remove(struct wi_rt_queue *q, struct wi_entity *e);
struct wi_entity *wi_rt_first(const struct wi_rt_queue *q); /* waiting; NULL none */
#define WI_RR_SLICE_NS 100000000ull

#endif
