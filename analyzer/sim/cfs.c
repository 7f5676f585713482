/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The completely fair scheduler up to 6.5, one level of tasks. */
#include "analyzer/base/kernel.h"
#include "analyzer/sim/queue.h"
#include "models/wakeif_model.h"

/* So many run within the latency; more of them stretch the period. */
static uint32_t nr_latency(const struct wi_queue *q)
{
	return q->params->version && q->params->version <= WI_KERNEL(2, 6) ? 5 : 8;
}

#define IDLE_MIN_GRANULARITY_NS 750000u

static int64_t at_nice0(uint64_t ns, uint32_t weight)
{
	return (int64_t)(ns * 1024 / weight);
}

static int64_t max64(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

static void advance(struct wi_queue *q)
{
	const struct wi_entity *first = q->nr_waiting ? q->waiting[0] : NULL;
	int64_t v;

	if (!q->curr && !first)
		return;
	v = !first || (q->curr && q->curr->vruntime < first->vruntime) ? q->curr->vruntime : first->vruntime;
	q->min_vruntime = max64(q->min_vruntime, v);
}

static void update(struct wi_queue *q, uint64_t ran_ns)
{
	q->curr->vruntime += at_nice0(ran_ns, q->curr->weight);
	q->curr->ran_ns += ran_ns;
	advance(q);
}

/* more: e is not queued yet and counts all the same. */
static uint64_t slice(const struct wi_queue *q, const struct wi_entity *e, bool more)
{
	const struct wi_queue_params *p = q->params;
	uint32_t nr = q->nr + more;
	uint64_t weight = q->weight + (more ? e->weight : 0);
	uint64_t period = nr > nr_latency(q) ? nr * p->min_granularity_ns : p->latency_ns;
	uint64_t ns = weight ? period * e->weight / weight : period, least = p->min_granularity_ns;

	if (p->version && p->version < WI_KERNEL(5, 13))
		return ns;
	if (e->policy == WAKEIF_POLICY_IDLE && q->nr_idle < q->nr) /* beside others, not scaled by CPUs */
		least = IDLE_MIN_GRANULARITY_NS * p->scale;
	return ns > least ? ns : least;
}

static void place(struct wi_queue *q, struct wi_entity *e, bool initial, bool woken)
{
	const struct wi_queue_params *p = q->params;
	int64_t v = q->min_vruntime;

	if (e->relative)
		e->vruntime += q->min_vruntime;
	if (initial && !e->relative) /* born of nobody: fork() has not been here */
		e->vruntime = max64(e->vruntime, v + at_nice0(slice(q, e, true), e->weight));
	e->relative = false;
	if (!woken)
		return;
	if (p->version && p->version <= WI_KERNEL(2, 6))
		v -= at_nice0(p->latency_ns, e->weight);
	else
		v -= (int64_t)(e->policy == WAKEIF_POLICY_IDLE ? p->min_granularity_ns : p->latency_ns) / 2;
	e->vruntime = max64(e->vruntime, v);
}

/* It begins where its parent stands, or a slice behind the queue; what counts is the parent's queue. */
static void fork_(struct wi_queue *q, struct wi_entity *child)
{
	int64_t v = q->min_vruntime + at_nice0(slice(q, child, true), child->weight);

	child->vruntime = (q->curr ? max64(q->curr->vruntime, v) : v) - q->min_vruntime;
	child->relative = true;
}

static void sleep_(struct wi_queue *q, struct wi_entity *e)
{
	(void)q;
	(void)e; /* vruntime stands still and stays absolute */
}

static void detach(struct wi_queue *q, struct wi_entity *e)
{
	if (!e->relative)
		e->vruntime -= q->min_vruntime;
	e->relative = true;
}

static int64_t granularity(const struct wi_queue *q, const struct wi_entity *e)
{
	return at_nice0(q->params->wakeup_granularity_ns, e->weight);
}

static bool preempts(struct wi_queue *q, struct wi_entity *e)
{
	struct wi_entity *curr = q->curr;
	bool curr_idle = curr && curr->policy == WAKEIF_POLICY_IDLE, idle = e->policy == WAKEIF_POLICY_IDLE;

	if (!curr || curr == e)
		return !curr;
	if (curr_idle && !idle)
		return true;
	if (idle || e->policy == WAKEIF_POLICY_BATCH || q->params->no_wakeup_preemption)
		return false;
	if (curr->vruntime - e->vruntime <= granularity(q, e))
		return false;
	q->next = e;
	if (q->nr >= nr_latency(q))
		q->last = curr_idle ? q->last : curr;
	return true;
}

/* Not so far behind the leftmost that it would be unfair. */
static bool near(const struct wi_queue *q, const struct wi_entity *e, const struct wi_entity *left)
{
	return e && e->vruntime - left->vruntime <= granularity(q, left);
}

static struct wi_entity *pick(struct wi_queue *q)
{
	struct wi_entity *first = q->nr_waiting ? q->waiting[0] : NULL, *left = first, *e;

	if (!left || (q->curr && q->curr->vruntime < left->vruntime))
		left = q->curr;
	e = left;
	if (!left)
		return NULL;
	if (q->skip == e) {
		struct wi_entity *second = e == q->curr ? first : q->nr_waiting > 1 ? q->waiting[1] : NULL;

		if (!second || (e != q->curr && q->curr && q->curr->vruntime < second->vruntime))
			second = q->curr ? q->curr : second;
		if (near(q, second, left))
			e = second;
	}
	if (near(q, q->next, left))
		e = q->next;
	else if (near(q, q->last, left))
		e = q->last;
	return e;
}

static void clear_buddy(struct wi_queue *q, const struct wi_entity *e)
{
	q->next = q->next == e ? NULL : q->next;
	q->last = q->last == e ? NULL : q->last;
}

static void set(struct wi_queue *q, struct wi_entity *e)
{
	e->ran_ns = 0;
	clear_buddy(q, e);
	q->skip = q->skip == e ? NULL : q->skip;
	advance(q);
}

static bool tick(struct wi_queue *q)
{
	struct wi_entity *curr = q->curr;
	uint64_t ideal;

	if (!curr || !q->nr_waiting)
		return false;
	ideal = slice(q, curr, false);
	if (curr->ran_ns > ideal) {
		clear_buddy(q, curr);
		return true;
	}
	return curr->ran_ns >= q->params->min_granularity_ns &&
	       curr->vruntime - q->waiting[0]->vruntime > (int64_t)ideal;
}

static void yield(struct wi_queue *q)
{
	clear_buddy(q, q->curr);
	q->skip = q->curr;
}

const struct wi_queue_ops wi_cfs_ops = { .name = "cfs",
					 .update = update,
					 .place = place,
					 .fork = fork_,
					 .sleep = sleep_,
					 .detach = detach,
					 .preempts = preempts,
					 .pick = pick,
					 .set = set,
					 .tick = tick,
					 .yield = yield };
