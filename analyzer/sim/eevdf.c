/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Earliest eligible virtual deadline first, 6.6 on, one level of tasks. */
#include "analyzer/base/kernel.h"
#include "analyzer/sim/queue.h"
#include "models/wakeif_model.h"

static int64_t at_nice0(uint64_t ns, uint32_t weight)
{
	return (int64_t)(ns * 1024 / weight);
}

static uint64_t slice_of(const struct wi_queue *q, const struct wi_entity *e)
{
	return e->slice_ns ? e->slice_ns : q->params->base_slice_ns;
}

struct sums {
	int64_t base;	/* vruntimes count from here, so that products fit */
	__int128 value; /* sum of (vruntime - base) * weight of all that are queued */
	uint64_t weight;
};

static struct sums sum(const struct wi_queue *q)
{
	struct sums s = { .base = q->curr	  ? q->curr->vruntime
				  : q->nr_waiting ? q->waiting[0]->vruntime
						  : q->min_vruntime };

	if (q->curr)
		s.weight += q->curr->weight;
	for (uint32_t i = 0; i < q->nr_waiting; i++) {
		s.value += (__int128)(q->waiting[i]->vruntime - s.base) * q->waiting[i]->weight;
		s.weight += q->waiting[i]->weight;
	}
	return s;
}

/* Rounded towards minus infinity, as the kernel does. */
static int64_t average(const struct sums *s)
{
	if (!s->weight)
		return s->base;
	__int128 v = s->value;

	if (v < 0)
		v -= (__int128)(s->weight - 1);
	return s->base + (int64_t)(v / (__int128)s->weight);
}

static bool eligible(const struct sums *s, const struct wi_entity *e)
{
	return s->value >= (__int128)(e->vruntime - s->base) * s->weight;
}

static void renew(const struct wi_queue *q, struct wi_entity *e)
{
	e->deadline = e->vruntime + at_nice0(slice_of(q, e), e->weight);
}

static void update(struct wi_queue *q, uint64_t ran_ns)
{
	struct wi_entity *e = q->curr;

	e->vruntime += at_nice0(ran_ns, e->weight);
	e->ran_ns += ran_ns;
	if (e->vruntime >= e->deadline) {
		renew(q, e);
		e->slice_over = true;
		e->protected_ = false;
	}
	struct sums s = sum(q);
	int64_t v = average(&s);

	q->min_vruntime = v > q->min_vruntime ? v : q->min_vruntime;
}

static int64_t clamped_lag(const struct wi_queue *q, const struct wi_entity *e)
{
	struct sums s = sum(q);
	uint64_t most = 2 * slice_of(q, e) > q->params->tick_ns ? 2 * slice_of(q, e) : q->params->tick_ns;
	int64_t limit = at_nice0(most, e->weight), lag = average(&s) - e->vruntime;

	return lag > limit ? limit : lag < -limit ? -limit : lag;
}

static void place(struct wi_queue *q, struct wi_entity *e, bool initial, bool woken)
{
	struct sums s = sum(q);
	int64_t lag = initial ? 0 : e->lag, v = q->nr ? average(&s) : q->min_vruntime;

	(void)woken;
	/* Its coming moves the average: the lag is stretched so that it is what it was when it is there. */
	if (s.weight)
		lag = (int64_t)((__int128)lag * (__int128)(s.weight + e->weight) / (__int128)s.weight);
	e->vruntime = q->nr ? v - lag : v;
	e->relative = false;
	e->deadline = e->vruntime + at_nice0(slice_of(q, e), e->weight) / (initial ? 2 : 1);
}

static void keep_lag(struct wi_queue *q, struct wi_entity *e)
{
	e->lag = clamped_lag(q, e);
}

static void detach(struct wi_queue *q, struct wi_entity *e)
{
	if (e->queued)
		keep_lag(q, e);
	e->relative = true;
}

static bool delays(struct wi_queue *q, struct wi_entity *e)
{
	struct sums s = sum(q);

	return q->params->version >= WI_KERNEL(6, 12) && q->nr > 1 && !eligible(&s, e);
}

static struct wi_entity *pick(struct wi_queue *q)
{
	struct sums s = sum(q);
	struct wi_entity *best = q->curr && q->curr->queued && eligible(&s, q->curr) ? q->curr : NULL;

	if (q->nr == 1)
		return q->curr ? q->curr : q->waiting[0];
	if (best && best->protected_)
		return best;
	for (uint32_t i = 0; i < q->nr_waiting; i++) {
		struct wi_entity *e = q->waiting[i];

		if (eligible(&s, e) && (!best || e->deadline < best->deadline))
			best = e;
	}
	if (!best) /* rounding left nobody: the first in line */
		best = q->nr_waiting ? q->waiting[0] : q->curr;
	return best;
}

static bool preempts(struct wi_queue *q, struct wi_entity *e)
{
	struct wi_entity *curr = q->curr;
	bool curr_idle = curr && curr->policy == WAKEIF_POLICY_IDLE, idle = e->policy == WAKEIF_POLICY_IDLE;

	if (!curr || curr == e)
		return !curr;
	if (curr_idle != idle)
		return curr_idle;
	if (e->policy == WAKEIF_POLICY_BATCH || idle || q->params->no_wakeup_preemption)
		return false;
	if (q->params->version >= WI_KERNEL(6, 12) && slice_of(q, e) < slice_of(q, curr))
		curr->protected_ = false;
	return pick(q) == e;
}

static void set(struct wi_queue *q, struct wi_entity *e)
{
	(void)q;
	e->ran_ns = 0;
	e->slice_over = false;
	e->protected_ = true;
}

static bool tick(struct wi_queue *q)
{
	return q->curr && q->nr > 1 && q->curr->slice_over;
}

static void yield(struct wi_queue *q)
{
	if (q->curr) {
		q->curr->deadline += at_nice0(slice_of(q, q->curr), q->curr->weight);
		q->curr->protected_ = false;
	}
}

const struct wi_queue_ops wi_eevdf_ops = { .name = "eevdf",
					   .update = update,
					   .place = place,
					   .sleep = keep_lag,
					   .detach = detach,
					   .delays = delays,
					   .preempts = preempts,
					   .pick = pick,
					   .set = set,
					   .tick = tick,
					   .yield = yield };
