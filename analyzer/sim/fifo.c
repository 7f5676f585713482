/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Order of arrival, nobody is preempted: what queueing theory can be asked about. And the queue of real-time tasks. */
#include <stdlib.h>
#include <string.h>

#include "analyzer/sim/queue.h"

static void update(struct wi_queue *q, uint64_t ran_ns)
{
	q->curr->ran_ns += ran_ns;
}

static void place(struct wi_queue *q, struct wi_entity *e, bool initial, bool woken)
{
	(void)q;
	(void)initial;
	(void)woken;
	e->relative = false;
}

static void nothing(struct wi_queue *q, struct wi_entity *e)
{
	(void)q;
	(void)e;
}

static bool preempts(struct wi_queue *q, struct wi_entity *e)
{
	(void)e;
	return !q->curr;
}

static struct wi_entity *pick(struct wi_queue *q)
{
	return q->curr ? q->curr : q->nr_waiting ? q->waiting[0] : NULL;
}

static void set(struct wi_queue *q, struct wi_entity *e)
{
	(void)q;
	e->ran_ns = 0;
}

static bool tick(struct wi_queue *q)
{
	(void)q;
	return false;
}

static void yield(struct wi_queue *q)
{
	(void)q;
}

const struct wi_queue_ops wi_fifo_ops = { .name = "fifo",
					  .update = update,
					  .place = place,
					  .sleep = nothing,
					  .detach = nothing,
					  .preempts = preempts,
					  .pick = pick,
					  .set = set,
					  .tick = tick,
					  .yield = yield };

bool wi_rt_add(struct wi_rt_queue *q, struct wi_entity *e, bool head)
{
	uint32_t at = q->nr_waiting;

	if (q->nr_waiting == q->room) {
		uint32_t room = q->room ? q->room * 2 : 4;
		struct wi_entity **more = realloc(q->waiting, room * sizeof(struct wi_entity *));

		if (!more)
			return false;
		q->waiting = more;
		q->room = room;
	}
	while (at > 0 && (q->waiting[at - 1]->prio > e->prio || (head && q->waiting[at - 1]->prio == e->prio)))
		at--;
	memmove(&q->waiting[at + 1], &q->waiting[at], (q->nr_waiting - at) * sizeof(*q->waiting));
	q->waiting[at] = e;
	q->nr_waiting++;
	q->nr++;
	e->queued = true;
	return true;
}

void wi_rt_remove(struct wi_rt_queue *q, struct wi_entity *e)
{
	if (q->curr == e) {
		q->curr = NULL;
	} else {
		uint32_t at = 0;

		while (q->waiting[at] != e)
			at++;
		memmove(&q->waiting[at], &q->waiting[at + 1], (q->nr_waiting - at - 1) * sizeof(*q->waiting));
		q->nr_waiting--;
	}
	q->nr--;
	e->queued = false;
}

struct wi_entity *wi_rt_first(const struct wi_rt_queue *q)
{
	return q->nr_waiting ? q->waiting[0] : NULL;
}
