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

/* The average of the vruntimes by weight is value / weight. */
struct sums {
	__int128 value;
	int64_t weight;
};

static struct sums sum(const struct wi_queue *q)
{
	return (struct sums){ q->value, (int64_t)q->weight };
}

/* Rounded towards minus infinity, as the kernel does. Where nobody is queued, the queue's own. */
static int64_t average(const struct wi_queue *q)
{
	struct sums s = sum(q);

	if (!s.weight)
		return q->min_vruntime;
	if (s.value < 0)
		s.value -= s.weight - 1;
	return (int64_t)(s.value / s.weight);
}

static bool eligible(const struct sums *s, const struct wi_entity *e)
{
	return s->value >= (__int128)e->vruntime * s->weight;
}

static bool is_protected(const struct wi_entity *e)
{
	return e->vruntime < e->protected_to;
}

static void unprotect(struct wi_entity *e)
{
	e->protected_to = e->vruntime;
}

static void update(struct wi_queue *q, uint64_t ran_ns)
{
	struct wi_entity *e = q->curr;
	int64_t delta = at_nice0(ran_ns, e->weight), v;
	uint32_t version = q->params->version;

	e->vruntime += delta;
	e->ran_ns += ran_ns;
	q->value += (__int128)delta * e->weight;
	v = average(q);
	q->min_vruntime = v > q->min_vruntime ? v : q->min_vruntime;
	if (e->vruntime >= e->deadline) {
		e->deadline = e->vruntime + at_nice0(slice_of(q, e), e->weight);
		e->slice_over |= q->nr > 1;
	}
	/* 6.12: one that lost its protection goes as soon as it is not eligible; 6.17: as soon as it lost it. */
	if (version >= WI_KERNEL(6, 12) && q->nr > 1 && !is_protected(e)) {
		struct sums s = sum(q);

		e->slice_over |= version >= WI_KERNEL(6, 17) || !eligible(&s, e);
	}
}

/* Of one that is queued here. */
static int64_t lag_of(const struct wi_queue *q, const struct wi_entity *e)
{
	uint64_t most = 2 * slice_of(q, e) > q->params->tick_ns ? 2 * slice_of(q, e) : q->params->tick_ns;
	int64_t limit = at_nice0(most, e->weight), lag = average(q) - e->vruntime;

	return lag > limit ? limit : lag < -limit ? -limit : lag;
}

static void place(struct wi_queue *q, struct wi_entity *e, bool initial, bool woken)
{
	int64_t lag = initial ? 0 : e->lag, rest = e->deadline - e->vruntime;
	bool moved = e->relative && !initial && !woken;

	e->relative = false;
	if (e->in_place) {
		e->in_place = false;
		return;
	}
	/* Its coming moves the average: the lag is stretched so that it is what it was when it is there. */
	if (q->weight)
		lag = (int64_t)((__int128)lag * (int64_t)(q->weight + e->weight) / (int64_t)q->weight);
	e->vruntime = average(q) - (q->nr ? lag : 0);
	e->deadline = e->vruntime + at_nice0(slice_of(q, e), e->weight) / (initial ? 2 : 1);
	/* 6.12: one that is moved while it is runnable takes along what is left of its request. */
	if (moved && q->params->version >= WI_KERNEL(6, 12))
		e->deadline = e->vruntime + rest;
}

/* One that was kept until now does not gain by it (DELAY_ZERO). */
static void keep_lag(struct wi_queue *q, struct wi_entity *e)
{
	e->lag = lag_of(q, e);
	if (e->delayed && e->lag > 0)
		e->lag = 0;
}

static void detach(struct wi_queue *q, struct wi_entity *e)
{
	if (e->queued)
		keep_lag(q, e);
	e->relative = e->queued;
}

static bool delays(struct wi_queue *q, struct wi_entity *e)
{
	struct sums s = sum(q);

	return q->params->version >= WI_KERNEL(6, 12) && !eligible(&s, e);
}

static void rejoin(struct wi_queue *q, struct wi_entity *e)
{
	int64_t lag = lag_of(q, e);

	e->in_place = lag <= 0;
	e->lag = 0;
}

static struct wi_entity *pick(struct wi_queue *q)
{
	struct sums s = sum(q);
	struct wi_entity *curr = q->curr && eligible(&s, q->curr) ? q->curr : NULL, *best = NULL;

	if (q->nr == 1)
		return q->curr ? q->curr : q->waiting[0];
	if (curr && is_protected(curr))
		return curr;
	for (uint32_t i = 0; i < q->nr_waiting; i++) {
		struct wi_entity *e = q->waiting[i];

		if (!eligible(&s, e)) /* nor is any behind it */
			break;
		if (!best || e->deadline < best->deadline ||
		    (e->deadline == best->deadline && e->inserted < best->inserted))
			best = e;
	}
	return !best || (curr && curr->deadline < best->deadline) ? curr : best;
}

/* 6.12: a shorter request ends the protection of a longer one. */
static bool is_short(const struct wi_queue *q, const struct wi_entity *e)
{
	const struct wi_entity *curr = q->curr;
	struct sums s = sum(q);

	return q->params->version >= WI_KERNEL(6, 12) && slice_of(q, e) < slice_of(q, curr) && eligible(&s, e) &&
	       (e->deadline < curr->deadline || !eligible(&s, curr));
}

static bool preempts(struct wi_queue *q, struct wi_entity *e)
{
	struct wi_entity *curr = q->curr;
	bool curr_idle = curr && curr->policy == WAKEIF_POLICY_IDLE, idle = e->policy == WAKEIF_POLICY_IDLE;

	if (!curr || curr == e)
		return !curr;
	if (curr->slice_over) { /* seen as this wakeup brought its time up to date */
		curr->slice_over = false;
		return true;
	}
	if (curr_idle != idle)
		return curr_idle;
	if (e->policy == WAKEIF_POLICY_BATCH || idle || q->params->no_wakeup_preemption)
		return false;
	if (is_short(q, e))
		unprotect(curr);
	return pick(q) == e;
}

/* The shortest request on the queue, that of e included. */
static uint64_t least_slice(const struct wi_queue *q, const struct wi_entity *e)
{
	uint64_t least = slice_of(q, e);

	for (uint32_t i = 0; i < q->nr_waiting; i++)
		least = slice_of(q, q->waiting[i]) < least ? slice_of(q, q->waiting[i]) : least;
	return least;
}

/* It runs until its request is done (RUN_TO_PARITY); 6.17: or for as long as the shortest request here. */
static void set(struct wi_queue *q, struct wi_entity *e)
{
	e->ran_ns = 0;
	e->slice_over = false;
	e->protected_to = e->deadline;
	if (q->params->version >= WI_KERNEL(6, 17)) {
		int64_t to = e->vruntime + at_nice0(least_slice(q, e), e->weight);

		e->protected_to = to < e->deadline ? to : e->deadline;
	}
}

static bool tick(struct wi_queue *q)
{
	bool over = q->curr && q->nr > 1 && q->curr->slice_over;

	if (q->curr)
		q->curr->slice_over = false;
	return over;
}

static void yield(struct wi_queue *q)
{
	struct wi_entity *e = q->curr;

	if (!e)
		return;
	e->deadline += at_nice0(slice_of(q, e), e->weight);
	unprotect(e);
}

const struct wi_queue_ops wi_eevdf_ops = { .name = "eevdf",
					   .update = update,
					   .place = place,
					   .sleep = keep_lag,
					   .detach = detach,
					   .delays = delays,
					   .rejoin = rejoin,
					   .preempts = preempts,
					   .pick = pick,
					   .set = set,
					   .tick = tick,
					   .yield = yield };
