/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What all fair classes share: a sorted array of those that wait, beside the one that runs. */
#include "analyzer/sim/queue.h"

#include <stdlib.h>
#include <string.h>

#include "models/slices.h"
#include "models/wakeif_model.h"

void wi_queue_params_fill(struct wi_queue_params *p)
{
	uint64_t scale = p->scale ? p->scale : 1;

	p->scale = scale;
	if (!p->latency_ns)
		p->latency_ns = wi_slice_latency_ns(p->version, p->nr_cpus) * scale;
	if (!p->min_granularity_ns)
		p->min_granularity_ns = wi_slice_min_granularity_ns(p->version, p->nr_cpus) * scale;
	if (!p->wakeup_granularity_ns)
		p->wakeup_granularity_ns = wi_slice_wakeup_granularity_ns(p->version, p->nr_cpus) * scale;
	if (!p->base_slice_ns)
		p->base_slice_ns = wi_slice_base_ns(p->version, p->nr_cpus) * scale;
	if (!p->tick_ns)
		p->tick_ns = 4000000 * scale;
}

void wi_queue_init(struct wi_queue *q, const struct wi_queue_ops *ops, const struct wi_queue_params *p)
{
	memset(q, 0, sizeof(*q));
	q->ops = ops;
	q->params = p;
}

/* Where e stands among those that wait: behind all that are not after it. */
static uint32_t place_of(const struct wi_queue *q, const struct wi_entity *e)
{
	uint32_t lo = 0, hi = q->nr_waiting;

	while (lo < hi) {
		uint32_t mid = (lo + hi) / 2;
		const struct wi_entity *m = q->waiting[mid];
		bool before = q->ops == &wi_fifo_ops ? m->arrived < e->arrived
						     : m->vruntime < e->vruntime || (m->vruntime == e->vruntime &&
										     m->inserted < e->inserted);

		if (before)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

static bool insert(struct wi_queue *q, struct wi_entity *e)
{
	if (q->nr_waiting == q->room) {
		uint32_t room = q->room ? q->room * 2 : 8;
		struct wi_entity **more = realloc(q->waiting, room * sizeof(struct wi_entity *));

		if (!more)
			return false;
		q->waiting = more;
		q->room = room;
	}
	e->inserted = ++q->inserts;
	uint32_t at = place_of(q, e);

	memmove(&q->waiting[at + 1], &q->waiting[at], (q->nr_waiting - at) * sizeof(*q->waiting));
	q->waiting[at] = e;
	q->nr_waiting++;
	return true;
}

static void take_out(struct wi_queue *q, const struct wi_entity *e)
{
	uint32_t at = place_of(q, e);

	while (at < q->nr_waiting && q->waiting[at] != e)
		at++;
	for (uint32_t i = 0; at == q->nr_waiting && i < q->nr_waiting; i++)
		if (q->waiting[i] == e)
			at = i;
	memmove(&q->waiting[at], &q->waiting[at + 1], (q->nr_waiting - at - 1) * sizeof(*q->waiting));
	q->nr_waiting--;
}

bool wi_queue_add(struct wi_queue *q, struct wi_entity *e)
{
	if (!insert(q, e))
		return false;
	e->queued = true;
	q->nr++;
	q->nr_idle += e->policy == WAKEIF_POLICY_IDLE;
	q->weight += e->weight;
	q->value += (__int128)e->vruntime * e->weight;
	return true;
}

void wi_queue_remove(struct wi_queue *q, struct wi_entity *e)
{
	if (q->curr == e)
		q->curr = NULL;
	else
		take_out(q, e);
	e->queued = false;
	q->nr--;
	q->nr_idle -= e->policy == WAKEIF_POLICY_IDLE;
	q->nr_delayed -= e->delayed;
	e->delayed = false;
	q->weight -= e->weight;
	q->value -= (__int128)e->vruntime * e->weight;
	q->next = q->next == e ? NULL : q->next;
	q->last = q->last == e ? NULL : q->last;
	q->skip = q->skip == e ? NULL : q->skip;
}

bool wi_queue_put_back(struct wi_queue *q)
{
	struct wi_entity *e = q->curr;

	q->curr = NULL;
	return !e || insert(q, e);
}

void wi_queue_take(struct wi_queue *q, struct wi_entity *e)
{
	take_out(q, e);
	q->curr = e;
}

void wi_queue_fini(struct wi_queue *q)
{
	free(q->waiting);
	q->waiting = NULL;
}
