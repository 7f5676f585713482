/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the metrics keep of a living task, at wi_task.observer. */
#ifndef WI_METRICS_TASKTAB_H
#define WI_METRICS_TASKTAB_H

#include "analyzer/metrics/hist.h"
#include "analyzer/metrics/results.h"

struct m_cpu;

/* Places of m_task.share_ns: run time by what the siblings did. */
enum m_share { SHARE_CORUN, SHARE_ALONE, SHARE_UNKNOWN, NR_SHARES };

#define M_RECENT_FIRST 16u
#define M_RECENT_MAX 1024u

/* By cache line: what a wait, a switch, and the end of a wakeup touch. */
struct m_task {
	const struct wi_task *task;
	/* idle_while_waiting.c */
	struct m_cpu *wait_cpu;		     /* NULL: does not wait, or is not counted */
	struct m_task *wait_next, **wait_at; /* wait_at: what points at it, in the list of wait_cpu */
	int32_t pid;			     /* pid, comm: when it began to wait, or took a new name */
	uint32_t comm;
	uint64_t wait_since_ns;
	uint64_t wait_join_ns; /* when it joined the queue of queue_cpu */
	uint64_t wait_left_ns; /* when it left it; WI_TIME_UNKNOWN: it has not, or it ran since. Taken up again at the
				* same instant it was moved */
	/* Where its affinity mask was when it was asked, never followed. NULL: not yet, or not since its name changed,
	 * with which an inferred mask can change. */
	const wakeif_word *mask_allowed;
	uint32_t mask;	 /* number of the mask */
	bool covers_all; /* the mask covers all candidates */
	/* smt.c */
	bool group_known;
	uint32_t nr_threads; /* threads on which it is current: one, or more when clocks disagree */
	uint64_t share_ns[NR_SHARES];
	/* affine.c, longest.c */
	uint32_t bounce;    /* first of its watches; NONE */
	uint32_t hops;	    /* where it waited before, in the same wait; NONE */
	uint32_t queue_cpu; /* where it waits, or waited last, counted or not; NONE */
	uint32_t group;
	/* latency.c */
	struct m_recent {
		struct m_extent extent; /* of all latencies */
		uint64_t sum_ns;
		uint16_t *index; /* buckets */
		uint32_t nr, cap;
	} recent; /* latencies that are not yet in `latency` */
	uint64_t wakeups, queue_wait_ns;
	struct wi_chist latency;
	uint32_t group_comm;
	/* cookies.c */
	uint32_t cookie, cookie_queue; /* cookie_queue: CPU where it waits, + 1; 0 none */
	bool cookie_known;
	struct m_task *next_free;
};

#define TASKS_PER_BLOCK 64u

struct m_tasktab {
	struct m_task **block; /* their addresses stay */
	uint32_t nr_blocks, cap_blocks;
	struct m_task *free;
};

void m_tasktab_fini(struct m_tasktab *t);
m_rare struct m_task *m_task_add(struct m_tasktab *t, const struct wi_task *task); /* NULL: out of memory */
void m_task_del(struct m_tasktab *t, struct m_task *task);
/* What is recent goes into the task's histogram. All of these: false: out of memory. */
bool m_task_settle(struct m_task *t);
m_rare bool m_task_recent_room(struct m_task *t);

/*
 * Latencies of one task come one by one, and its buckets are rarely in the cache: they are counted many at once.
 * index: wi_hist_index(ns).
 */
static inline bool m_task_add_latency(struct m_task *t, uint64_t ns, uint32_t index)
{
	struct m_recent *r = &t->recent;

	if (r->nr == r->cap && !m_task_recent_room(t))
		return false;
	r->index[r->nr++] = (uint16_t)index;
	r->sum_ns += ns;
	if (!m_extent_holds(&r->extent, ns))
		m_extent_add(&r->extent, ns);
	return true;
}

#endif
