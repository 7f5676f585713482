/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Run queues: schedules worked out by hand, and random sequences of operations beside a slow model that follows the
 * definitions (linear scans, sums from scratch) and knows nothing of the code under test.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analyzer/base/kernel.h"
#include "analyzer/sim/queue.h"
#include "models/pelt.h"
#include "models/wakeif_model.h"

#define MS 1000000ll
#define NR_ENT 12
#define NR_QUEUES 2

/* ---- the slow model ---- */

struct slow_ent {
	int64_t v, d, lag, prot, slice;
	uint32_t w;
	uint64_t came; /* to wait: who was first */
	int64_t ran;
	int policy, queue; /* -1: nowhere */
	bool born, delayed, relative, over;
};

struct slow_queue {
	int64_t min_v;
	int curr, next, last, skip; /* -1: none */
};

struct slow {
	struct wi_queue_params p;
	struct slow_ent e[NR_ENT];
	struct slow_queue q[NR_QUEUES];
	uint64_t came;
	bool eevdf;
};

static int64_t scaled(int64_t ns, uint32_t w)
{
	return ns * 1024 / w;
}

static bool here(const struct slow *s, int q, int i)
{
	return s->e[i].queue == q;
}

static int nr(const struct slow *s, int q)
{
	int n = 0;

	for (int i = 0; i < NR_ENT; i++)
		n += here(s, q, i);
	return n;
}

static int64_t weights(const struct slow *s, int q)
{
	int64_t n = 0;

	for (int i = 0; i < NR_ENT; i++)
		n += here(s, q, i) ? s->e[i].w : 0;
	return n;
}

/* Leftmost of those that wait, but not `but`. */
static int leftmost(const struct slow *s, int q, int but)
{
	int best = -1;

	for (int i = 0; i < NR_ENT; i++)
		if (here(s, q, i) && i != s->q[q].curr && i != but &&
		    (best < 0 || s->e[i].v < s->e[best].v ||
		     (s->e[i].v == s->e[best].v && s->e[i].came < s->e[best].came)))
			best = i;
	return best;
}

static __int128 sum_from(const struct slow *s, int q, int64_t v)
{
	__int128 n = 0;

	for (int i = 0; i < NR_ENT; i++)
		if (here(s, q, i))
			n += (__int128)(s->e[i].v - v) * s->e[i].w;
	return n;
}

static int64_t avg(const struct slow *s, int q)
{
	__int128 n = sum_from(s, q, 0);
	int64_t w = weights(s, q);

	if (!w)
		return s->q[q].min_v;
	if (n >= 0)
		return (int64_t)(n / w);
	return -(int64_t)((-n + w - 1) / w);
}

static bool slow_eligible(const struct slow *s, int i)
{
	return sum_from(s, s->e[i].queue, s->e[i].v) >= 0;
}

static int64_t own_slice(const struct slow *s, int i)
{
	return s->e[i].slice ? s->e[i].slice : (int64_t)s->p.base_slice_ns;
}

static int64_t cfs_slice(const struct slow *s, int q, int i, bool more)
{
	int64_t n = nr(s, q) + more, w = weights(s, q) + (more ? s->e[i].w : 0);
	int64_t period = n > 8 ? n * (int64_t)s->p.min_granularity_ns : (int64_t)s->p.latency_ns;
	int64_t least = (int64_t)s->p.min_granularity_ns, slice = w ? period * s->e[i].w / w : period;
	bool others = false;

	for (int k = 0; k < NR_ENT; k++)
		others |= here(s, q, k) && s->e[k].policy != WAKEIF_POLICY_IDLE;
	if (s->e[i].policy == WAKEIF_POLICY_IDLE && others)
		least = 750000;
	return slice > least ? slice : least;
}

static void slow_advance(struct slow *s, int q)
{
	int l = leftmost(s, q, -1), c = s->q[q].curr;
	int64_t v;

	if (s->eevdf) {
		if (c >= 0 || l >= 0)
			s->q[q].min_v = avg(s, q) > s->q[q].min_v ? avg(s, q) : s->q[q].min_v;
		return;
	}
	if (l < 0 && c < 0)
		return;
	v = l < 0 ? s->e[c].v : c < 0 ? s->e[l].v : s->e[c].v < s->e[l].v ? s->e[c].v : s->e[l].v;
	s->q[q].min_v = v > s->q[q].min_v ? v : s->q[q].min_v;
}

static bool is_prot(const struct slow *s, int i)
{
	return s->e[i].v < s->e[i].prot;
}

static void slow_update(struct slow *s, int q, int64_t ns)
{
	int i = s->q[q].curr;
	struct slow_ent *e = &s->e[i];

	e->v += scaled(ns, e->w);
	e->ran += ns;
	slow_advance(s, q);
	if (!s->eevdf)
		return;
	if (e->v >= e->d) {
		e->d = e->v + scaled(own_slice(s, i), e->w);
		e->over |= nr(s, q) > 1;
	}
	if (nr(s, q) > 1 && !is_prot(s, i)) {
		if (s->p.version >= WI_KERNEL(6, 17))
			e->over = true;
		else if (s->p.version >= WI_KERNEL(6, 12) && !slow_eligible(s, i))
			e->over = true;
	}
}

static int64_t slow_lag(const struct slow *s, int i)
{
	int64_t l = avg(s, s->e[i].queue) - s->e[i].v, most = 2 * own_slice(s, i);

	most = scaled(most > (int64_t)s->p.tick_ns ? most : (int64_t)s->p.tick_ns, s->e[i].w);
	return l > most ? most : l < -most ? -most : l;
}

static bool behind(const struct slow *s, int a, int b, int gran_of) /* a by more than the granularity */
{
	return s->e[a].v - s->e[b].v > scaled((int64_t)s->p.wakeup_granularity_ns, s->e[gran_of].w);
}

static int slow_pick_cfs(const struct slow *s, int q)
{
	const struct slow_queue *Q = &s->q[q];
	int first = leftmost(s, q, -1), left = first, e, second;

	if (left < 0 || (Q->curr >= 0 && s->e[Q->curr].v < s->e[left].v))
		left = Q->curr;
	e = left;
	if (left >= 0 && Q->skip == left) {
		if (left == Q->curr) {
			second = first;
		} else {
			second = leftmost(s, q, left);
			if (second < 0 || (Q->curr >= 0 && s->e[Q->curr].v < s->e[second].v))
				second = Q->curr;
		}
		if (second >= 0 && !behind(s, second, left, left))
			e = second;
	}
	if (Q->next >= 0 && !behind(s, Q->next, left, left))
		return Q->next;
	if (Q->last >= 0 && !behind(s, Q->last, left, left))
		return Q->last;
	return e;
}

/* By definition: among all whose vruntime is not above the average, the earliest deadline; on a tie whoever waits. */
static int slow_pick_eevdf(const struct slow *s, int q)
{
	int best = -1, c = s->q[q].curr;

	if (nr(s, q) == 1)
		for (int i = 0; i < NR_ENT; i++)
			if (here(s, q, i))
				return i;
	if (c >= 0 && slow_eligible(s, c) && is_prot(s, c))
		return c;
	for (int i = 0; i < NR_ENT; i++) {
		if (!here(s, q, i) || !slow_eligible(s, i) || i == c)
			continue;
		if (best < 0 || s->e[i].d < s->e[best].d ||
		    (s->e[i].d == s->e[best].d && s->e[i].came < s->e[best].came))
			best = i;
	}
	if (c >= 0 && slow_eligible(s, c) && (best < 0 || s->e[c].d < s->e[best].d))
		best = c;
	return best;
}

static int slow_pick(const struct slow *s, int q)
{
	return s->eevdf ? slow_pick_eevdf(s, q) : slow_pick_cfs(s, q);
}

static void slow_place(struct slow *s, int q, int i, bool initial, bool woken)
{
	struct slow_ent *e = &s->e[i];
	int64_t W = weights(s, q), V = avg(s, q), v;

	if (s->eevdf) {
		int64_t l = initial ? 0 : e->lag, rest = e->d - e->v;
		bool moved = e->relative && !woken && !initial && s->p.version >= WI_KERNEL(6, 12);

		if (W)
			l = (int64_t)((__int128)l * (W + e->w) / W);
		e->v = W ? V - l : V;
		e->d = e->v + (moved ? rest : scaled(own_slice(s, i), e->w) / (initial ? 2 : 1));
		e->relative = false;
		return;
	}
	if (e->relative)
		e->v += s->q[q].min_v;
	e->relative = false;
	if (!woken)
		return;
	v = s->q[q].min_v - (int64_t)(e->policy == WAKEIF_POLICY_IDLE ? s->p.min_granularity_ns : s->p.latency_ns) / 2;
	e->v = v > e->v ? v : e->v;
}

static bool slow_preempts(struct slow *s, int q, int i)
{
	struct slow_queue *Q = &s->q[q];
	int c = Q->curr;

	if (c < 0)
		return true;
	bool ci = s->e[c].policy == WAKEIF_POLICY_IDLE, pi = s->e[i].policy == WAKEIF_POLICY_IDLE;

	if (s->eevdf && s->e[c].over) {
		s->e[c].over = false;
		return true;
	}
	if (ci && !pi)
		return true;
	if (pi || s->e[i].policy == WAKEIF_POLICY_BATCH)
		return false;
	if (s->eevdf) {
		bool shorter = s->p.version >= WI_KERNEL(6, 12) && own_slice(s, i) < own_slice(s, c);

		if (shorter && slow_eligible(s, i) && (s->e[i].d < s->e[c].d || !slow_eligible(s, c)))
			s->e[c].prot = s->e[c].v;
		return slow_pick(s, q) == i;
	}
	if (!behind(s, c, i, i))
		return false;
	Q->next = i;
	if (nr(s, q) >= 8)
		Q->last = c;
	return true;
}

static bool slow_tick(struct slow *s, int q)
{
	struct slow_queue *Q = &s->q[q];
	int c = Q->curr, l = leftmost(s, q, -1);

	if (c < 0)
		return false;
	if (s->eevdf) {
		bool over = s->e[c].over && nr(s, q) > 1;

		s->e[c].over = false;
		return over;
	}
	if (l < 0)
		return false;
	if (s->e[c].ran > cfs_slice(s, q, c, false)) {
		Q->next = Q->next == c ? -1 : Q->next;
		Q->last = Q->last == c ? -1 : Q->last;
		return true;
	}
	return s->e[c].ran >= (int64_t)s->p.min_granularity_ns && s->e[c].v - s->e[l].v > cfs_slice(s, q, c, false);
}

static void slow_forget(struct slow *s, int q, int i)
{
	struct slow_queue *Q = &s->q[q];

	Q->next = Q->next == i ? -1 : Q->next;
	Q->last = Q->last == i ? -1 : Q->last;
	Q->skip = Q->skip == i ? -1 : Q->skip;
}

static void slow_set(struct slow *s, int q, int i)
{
	s->q[q].curr = i;
	s->e[i].ran = 0;
	s->e[i].over = false;
	slow_forget(s, q, i);
	if (!s->eevdf) {
		slow_advance(s, q);
		return;
	}
	s->e[i].prot = s->e[i].d;
	if (s->p.version >= WI_KERNEL(6, 17)) {
		int64_t least = own_slice(s, i);

		for (int k = 0; k < NR_ENT; k++)
			if (here(s, q, k) && own_slice(s, k) < least)
				least = own_slice(s, k);
		if (s->e[i].v + scaled(least, s->e[i].w) < s->e[i].prot)
			s->e[i].prot = s->e[i].v + scaled(least, s->e[i].w);
	}
}

/* ---- both, side by side ---- */

struct both {
	struct slow s;
	struct wi_queue q[NR_QUEUES];
	struct wi_entity e[NR_ENT];
	const struct wi_queue_ops *ops;
	uint64_t rng, arrived;
	uint32_t nr_delayed, nr_preempts, nr_ticks, nr_rejoined;
};

static uint32_t draw(struct both *b, uint32_t n)
{
	b->rng ^= b->rng << 13;
	b->rng ^= b->rng >> 7;
	b->rng ^= b->rng << 17;
	return (uint32_t)(b->rng >> 20) % n;
}

static void same(const struct both *b, const char *after)
{
	for (int q = 0; q < NR_QUEUES; q++) {
		if (b->q[q].min_vruntime != b->s.q[q].min_v)
			fail_msg("%s: queue %d: min_vruntime %lld, by definition %lld", after, q,
				 (long long)b->q[q].min_vruntime, (long long)b->s.q[q].min_v);
		assert_int_equal(b->q[q].nr, nr(&b->s, q));
		assert_int_equal(b->q[q].weight, weights(&b->s, q));
	}
	for (int i = 0; i < NR_ENT; i++) {
		const struct slow_ent *s = &b->s.e[i];

		assert_int_equal(b->e[i].queued, s->queue >= 0);
		if (!s->born)
			continue;
		if (b->e[i].vruntime != s->v || (b->s.eevdf && b->e[i].lag != s->lag) ||
		    (b->s.eevdf && b->e[i].deadline != s->d))
			fail_msg("%s: task %d: vruntime %lld lag %lld deadline %lld, by definition %lld %lld %lld",
				 after, i, (long long)b->e[i].vruntime, (long long)b->e[i].lag,
				 (long long)b->e[i].deadline, (long long)s->v, (long long)s->lag, (long long)s->d);
	}
}

/* The lags of all that are queued, by weight, are nil together, to the rounding of the average. */
static void lags_are_nil(const struct both *b)
{
	for (int q = 0; q < NR_QUEUES; q++) {
		__int128 n = 0;
		int64_t V = avg(&b->s, q), w = weights(&b->s, q);

		for (int i = 0; i < NR_ENT; i++)
			n += here(&b->s, q, i) ? (__int128)(V - b->e[i].vruntime) * b->e[i].weight : 0;
		assert_true(n <= 0 && n > -w - 1);
	}
}

static void drop_delayed(struct both *b, int q, int i)
{
	struct slow_ent *s = &b->s.e[i];

	b->ops->sleep(&b->q[q], &b->e[i]);
	wi_queue_remove(&b->q[q], &b->e[i]);
	s->lag = slow_lag(&b->s, i) < 0 ? slow_lag(&b->s, i) : 0;
	s->queue = -1;
	s->delayed = false;
}

static void schedule(struct both *b, int q)
{
	struct wi_queue *Q = &b->q[q];

	for (;;) {
		struct wi_entity *e = b->ops->pick(Q);
		int i = slow_pick(&b->s, q);

		assert_int_equal(e ? (int)e->task : -1, i);
		if (i < 0)
			return;
		if (b->s.e[i].delayed) {
			assert_true(e->delayed);
			drop_delayed(b, q, i);
			continue;
		}
		if (e == Q->curr)
			return;
		if (Q->curr) {
			b->s.e[b->s.q[q].curr].came = ++b->s.came;
			assert_true(wi_queue_put_back(Q));
		}
		wi_queue_take(Q, e);
		b->ops->set(Q, e);
		slow_set(&b->s, q, i);
		return;
	}
}

static void enqueue(struct both *b, int q, int i, bool initial, bool woken)
{
	slow_place(&b->s, q, i, initial, woken);
	b->s.e[i].queue = q;
	b->s.e[i].came = ++b->s.came;
	b->e[i].arrived = ++b->arrived;
	b->ops->place(&b->q[q], &b->e[i], initial, woken);
	assert_true(wi_queue_add(&b->q[q], &b->e[i]));
}

static void let_run(struct both *b, int q, int64_t ns)
{
	if (b->s.q[q].curr < 0)
		return;
	b->ops->update(&b->q[q], (uint64_t)ns);
	slow_update(&b->s, q, ns);
}

static void block(struct both *b, int q)
{
	int i = b->s.q[q].curr;

	if (i < 0)
		return;
	struct slow_ent *s = &b->s.e[i];
	bool stays = b->s.eevdf && b->s.p.version >= WI_KERNEL(6, 12) && !slow_eligible(&b->s, i);

	assert_int_equal(b->ops->delays ? b->ops->delays(&b->q[q], &b->e[i]) : false, stays);
	b->s.q[q].curr = -1;
	if (stays) {
		b->nr_delayed++;
		assert_true(wi_queue_put_back(&b->q[q]));
		s->came = ++b->s.came;
		s->delayed = b->e[i].delayed = true;
		b->q[q].nr_delayed++;
	} else {
		b->ops->sleep(&b->q[q], &b->e[i]);
		wi_queue_remove(&b->q[q], &b->e[i]);
		s->lag = b->s.eevdf ? slow_lag(&b->s, i) : 0;
		s->queue = -1;
		slow_forget(&b->s, q, i);
	}
	schedule(b, q);
}

/* One that sleeps, or is born, comes to q. from: where it slept. */
static void come(struct both *b, int q, int i)
{
	struct slow_ent *s = &b->s.e[i];
	bool initial = !s->born, yes;
	int from = i % NR_QUEUES; /* where it was last does not matter, but that its vruntime counts from there */

	if (s->queue >= 0 && s->delayed) { /* it was never away */
		int64_t lag = slow_lag(&b->s, i), v = s->v, d = s->d;

		q = s->queue;
		b->nr_rejoined++;
		b->ops->rejoin(&b->q[q], &b->e[i]);
		wi_queue_remove(&b->q[q], &b->e[i]);
		s->queue = -1;
		s->delayed = false;
		s->lag = 0;
		enqueue(b, q, i, false, true);
		if (lag <= 0) {
			s->v = v;
			s->d = d;
		}
	} else if (initial) {
		int parent = b->s.q[q].curr;
		int64_t v = b->s.q[q].min_v + (b->s.eevdf ? 0 : scaled(cfs_slice(&b->s, q, i, true), s->w));

		s->born = true;
		if (parent >= 0 && !b->s.eevdf && s->v < b->s.e[parent].v)
			s->v = b->s.e[parent].v;
		s->v = !b->s.eevdf && v > s->v ? v : s->v;
		if (b->ops->fork && parent >= 0) {
			b->ops->fork(&b->q[q], &b->e[i]);
			s->v = b->s.e[parent].v > v ? b->s.e[parent].v : v;
		}
		enqueue(b, q, i, true, false);
	} else {
		if (from != q && !b->s.eevdf) {
			b->ops->detach(&b->q[from], &b->e[i]);
			s->v -= b->s.q[from].min_v;
			s->relative = true;
		}
		enqueue(b, q, i, false, true);
	}
	yes = b->ops->preempts(&b->q[q], &b->e[i]);
	assert_int_equal(yes, slow_preempts(&b->s, q, i));
	b->nr_preempts += yes && b->q[q].curr;
	if (yes)
		schedule(b, q);
}

static void move(struct both *b, int q, int i)
{
	struct slow_ent *s = &b->s.e[i];
	int from = s->queue;

	if (b->s.eevdf)
		s->lag = slow_lag(&b->s, i);
	else
		s->v -= b->s.q[from].min_v;
	s->relative = true;
	b->ops->detach(&b->q[from], &b->e[i]);
	wi_queue_remove(&b->q[from], &b->e[i]);
	slow_forget(&b->s, from, i);
	s->queue = -1;
	enqueue(b, q, i, false, false);
	if (b->s.q[q].curr < 0)
		schedule(b, q);
}

static void give_way(struct both *b, int q)
{
	int i = b->s.q[q].curr;

	if (i < 0)
		return;
	b->ops->yield(&b->q[q]);
	if (b->s.eevdf) {
		b->s.e[i].d += scaled(own_slice(&b->s, i), b->s.e[i].w);
		b->s.e[i].prot = b->s.e[i].v;
	} else {
		slow_forget(&b->s, q, i);
		b->s.q[q].skip = i;
	}
	schedule(b, q);
}

static void begin(struct both *b, const struct wi_queue_ops *ops, uint32_t version, uint64_t seed)
{
	static const int16_t prio[] = { 120, 120, 120, 120, 115, 125, 100, 139, 110, 130, 120, 120 };
	static const uint8_t policy[] = { 0, 0, 0, 0, 0, 0, 0, 0, WAKEIF_POLICY_BATCH, 0, WAKEIF_POLICY_IDLE, 0 };

	memset(b, 0, sizeof(*b));
	b->rng = seed * 0x9e3779b97f4a7c15ull + 77;
	b->ops = ops;
	b->s.p = (struct wi_queue_params){ .version = version, .nr_cpus = 4, .scale = 1, .tick_ns = 4 * MS };
	wi_queue_params_fill(&b->s.p);
	b->s.eevdf = ops == &wi_eevdf_ops;
	for (int q = 0; q < NR_QUEUES; q++) {
		wi_queue_init(&b->q[q], ops, &b->s.p);
		b->s.q[q] = (struct slow_queue){ 0, -1, -1, -1, -1 };
	}
	for (int i = 0; i < NR_ENT; i++) {
		struct wi_entity *e = &b->e[i];
		bool is_policy = policy[i] != 0;

		e->task = (uint32_t)i;
		e->prio = prio[i];
		e->policy = is_policy ? policy[i] : WAKEIF_POLICY_NORMAL;
		e->weight = wi_pelt_weight(e->prio, e->policy == WAKEIF_POLICY_IDLE);
		e->slice_ns = i % 5 == 3 ? 1 * MS : 0;
		b->s.e[i] = (struct slow_ent){ .w = e->weight, .policy = e->policy, .queue = -1 };
		b->s.e[i].slice = (int64_t)e->slice_ns;
	}
}

static void end(struct both *b)
{
	for (int q = 0; q < NR_QUEUES; q++)
		wi_queue_fini(&b->q[q]);
}

static void step(struct both *b)
{
	int q = (int)draw(b, NR_QUEUES), i = (int)draw(b, NR_ENT);
	const struct slow_ent *s = &b->s.e[i];

	switch (draw(b, 10)) {
	case 0:
	case 1:
	case 2:
		let_run(b, q, 1 + draw(b, draw(b, 4) ? 2 * MS : 8 * MS));
		same(b, "run");
		break;
	case 3:
	case 4: {
		let_run(b, q, 1 + draw(b, MS));
		bool over = b->ops->tick(&b->q[q]);

		assert_int_equal(over, slow_tick(&b->s, q));
		b->nr_ticks += over;
		if (over)
			schedule(b, q);
		same(b, "tick");
		break;
	}
	case 5:
		block(b, q);
		same(b, "block");
		break;
	case 6:
		give_way(b, q);
		same(b, "yield");
		break;
	case 7:
		if (s->queue >= 0 && !s->delayed && s->queue != q && b->s.q[s->queue].curr != i) {
			move(b, q, i);
			same(b, "move");
		}
		break;
	default:
		if (s->queue < 0 || s->delayed) {
			come(b, s->delayed ? s->queue : q, i);
			same(b, "wake");
		}
	}
	if (b->s.eevdf)
		lags_are_nil(b);
}

static void as_defined(const struct wi_queue_ops *ops, uint32_t version)
{
	uint32_t delayed = 0, preempts = 0, ticks = 0, rejoined = 0;

	for (uint64_t seed = 1; seed <= 60; seed++) {
		struct both b;

		begin(&b, ops, version, seed);
		for (int n = 0; n < 2500; n++)
			step(&b);
		delayed += b.nr_delayed;
		preempts += b.nr_preempts;
		ticks += b.nr_ticks;
		rejoined += b.nr_rejoined;
		end(&b);
	}
	/* What is compared has happened. */
	assert_true(preempts > 1000 && ticks > 100);
	assert_int_equal(delayed > 1000, version >= WI_KERNEL(6, 12));
	assert_int_equal(rejoined > 100, version >= WI_KERNEL(6, 12));
}

static void cfs_as_defined(void **state)
{
	(void)state;
	as_defined(&wi_cfs_ops, WI_KERNEL(6, 1));
}

static void eevdf_as_defined(void **state)
{
	(void)state;
	as_defined(&wi_eevdf_ops, WI_KERNEL(6, 6));
	as_defined(&wi_eevdf_ops, WI_KERNEL(6, 12));
	as_defined(&wi_eevdf_ops, WI_KERNEL(6, 18));
}

/* ---- by hand ---- */

static struct wi_queue_params params(uint32_t version, uint32_t nr_cpus)
{
	struct wi_queue_params p = { .version = version, .nr_cpus = nr_cpus, .scale = 1, .tick_ns = 4 * MS };

	wi_queue_params_fill(&p);
	return p;
}

static struct wi_entity entity(uint32_t task, int16_t prio)
{
	return (struct wi_entity){
		.task = task, .prio = prio, .weight = wi_pelt_weight(prio, false), .policy = WAKEIF_POLICY_NORMAL
	};
}

static void constants(void **state)
{
	static const struct {
		uint32_t version, cpus;
		double latency, min, wakeup, base;
	} t[] = { { WI_KERNEL(6, 1), 1, 6, 0.75, 1, 0.75 },  { WI_KERNEL(6, 1), 2, 12, 1.5, 2, 1.5 },
		  { WI_KERNEL(6, 1), 3, 12, 1.5, 2, 1.5 },   { WI_KERNEL(6, 1), 4, 18, 2.25, 3, 2.25 },
		  { WI_KERNEL(6, 1), 7, 18, 2.25, 3, 2.25 }, { WI_KERNEL(6, 1), 8, 24, 3, 4, 3 },
		  { WI_KERNEL(6, 1), 64, 24, 3, 4, 3 },	     { WI_KERNEL(2, 6), 1, 20, 4, 5, 0.75 },
		  { WI_KERNEL(6, 6), 8, 24, 3, 4, 3 },	     { WI_KERNEL(6, 12), 8, 24, 3, 4, 2.8 },
		  { WI_KERNEL(6, 13), 8, 24, 3, 4, 3 },	     { WI_KERNEL(6, 14), 8, 24, 3, 4, 3 },
		  { WI_KERNEL(6, 15), 8, 24, 3, 4, 2.8 },    { WI_KERNEL(6, 18), 2, 12, 1.5, 2, 1.4 } };

	(void)state;
	for (size_t i = 0; i < sizeof(t) / sizeof(*t); i++) {
		struct wi_queue_params p = params(t[i].version, t[i].cpus);

		assert_int_equal(p.latency_ns, (uint64_t)(t[i].latency * MS + 0.5));
		assert_int_equal(p.min_granularity_ns, (uint64_t)(t[i].min * MS + 0.5));
		assert_int_equal(p.wakeup_granularity_ns, (uint64_t)(t[i].wakeup * MS + 0.5));
		assert_int_equal(p.base_slice_ns, (uint64_t)(t[i].base * MS + 0.5));
	}
}

/* Runs whoever is picked to the next tick; who ran is written as letters. */
static void ticks(struct wi_queue *q, int n, char *out)
{
	for (int i = 0; i < n; i++) {
		struct wi_entity *e = i && !q->ops->tick(q) ? q->curr : q->ops->pick(q);

		if (e != q->curr) {
			assert_true(wi_queue_put_back(q));
			wi_queue_take(q, e);
			q->ops->set(q, e);
		}
		out[i] = (char)('a' + e->task);
		q->ops->update(q, q->params->tick_ns);
	}
	out[n] = 0;
}

static void queue_up(struct wi_queue *q, struct wi_entity *e)
{
	q->ops->place(q, e, false, false);
	assert_true(wi_queue_add(q, e));
}

/*
 * CFS, one CPU: latency 6 ms. Two equals have 3 ms each, so a tick of 4 ms ends every turn. a of nice -5 (weight 3121)
 * beside b (1024): slices 4.51 and 1.48 ms: a runs two ticks, vruntime 2.62 ms; b one, 4 ms; a two, 5.25; b one, 8; a
 * two, 7.87, which is still ahead of b, so it is picked again, but its slice is over: looked at again a tick later, 9.19;
 * b.
 */
static void cfs_by_hand(void **state)
{
	struct wi_queue_params p = params(WI_KERNEL(6, 1), 1);
	struct wi_entity a = entity(0, 120), b = entity(1, 120);
	struct wi_queue q;
	char ran[32];

	(void)state;
	wi_queue_init(&q, &wi_cfs_ops, &p);
	queue_up(&q, &a);
	queue_up(&q, &b);
	ticks(&q, 8, ran);
	assert_string_equal(ran, "abababab");
	wi_queue_fini(&q);

	a = entity(0, 115);
	b = entity(1, 120);
	wi_queue_init(&q, &wi_cfs_ops, &p);
	queue_up(&q, &a);
	queue_up(&q, &b);
	ticks(&q, 10, ran);
	assert_string_equal(ran, "aabaabaaab");
	assert_int_equal(a.vruntime, 7 * (4 * MS * 1024 / 3121));
	wi_queue_fini(&q);
}

/* Wakeups of CFS on eight CPUs: credit 12 ms, granularity 4 ms; a new task begins a slice behind. */
static void cfs_wakes(void **state)
{
	struct wi_queue_params p = params(WI_KERNEL(6, 1), 8);
	struct wi_entity a = entity(0, 120), b = entity(1, 120), c = entity(2, 120);
	struct wi_queue q;

	(void)state;
	wi_queue_init(&q, &wi_cfs_ops, &p);
	queue_up(&q, &a);
	wi_queue_take(&q, &a);
	wi_cfs_ops.set(&q, &a);
	wi_cfs_ops.update(&q, 100 * MS);
	assert_int_equal(q.min_vruntime, 100 * MS);
	b.vruntime = 99 * MS; /* slept a moment: keeps its own */
	wi_cfs_ops.place(&q, &b, false, true);
	assert_int_equal(b.vruntime, 99 * MS);
	b.vruntime = 3 * MS; /* slept long: half a latency before the queue */
	wi_cfs_ops.place(&q, &b, false, true);
	assert_int_equal(b.vruntime, 88 * MS);
	b.vruntime = 96 * MS;
	assert_true(wi_queue_add(&q, &b));
	assert_false(wi_cfs_ops.preempts(&q, &b)); /* by the granularity, not more */
	wi_cfs_ops.update(&q, 1);
	assert_true(wi_cfs_ops.preempts(&q, &b));
	assert_ptr_equal(wi_cfs_ops.pick(&q), &b);
	b.policy = WAKEIF_POLICY_BATCH;
	assert_false(wi_cfs_ops.preempts(&q, &b));
	b.policy = WAKEIF_POLICY_IDLE;
	assert_false(wi_cfs_ops.preempts(&q, &b));
	b.policy = WAKEIF_POLICY_NORMAL;
	a.policy = WAKEIF_POLICY_IDLE;
	b.vruntime = 200 * MS;
	assert_true(wi_cfs_ops.preempts(&q, &b));
	a.policy = WAKEIF_POLICY_NORMAL;
	wi_queue_remove(&q, &b);
	wi_cfs_ops.fork(&q, &c); /* two share 24 ms */
	wi_cfs_ops.place(&q, &c, true, false);
	assert_int_equal(c.vruntime, q.min_vruntime + 12 * MS);
	wi_queue_fini(&q);
}

/* A task that goes elsewhere keeps its distance to the queue. */
static void cfs_moves(void **state)
{
	struct wi_queue_params p = params(WI_KERNEL(6, 1), 8);
	struct wi_entity a = entity(0, 120);
	struct wi_queue from, to;

	(void)state;
	wi_queue_init(&from, &wi_cfs_ops, &p);
	wi_queue_init(&to, &wi_cfs_ops, &p);
	from.min_vruntime = 70 * MS;
	to.min_vruntime = 5 * MS;
	a.vruntime = 72 * MS;
	wi_cfs_ops.detach(&from, &a);
	from.min_vruntime = 90 * MS; /* does not matter any more */
	wi_cfs_ops.place(&to, &a, false, true);
	assert_int_equal(a.vruntime, 7 * MS);
}

/*
 * EEVDF, 6.6, one CPU: requests of 0.75 ms. Ticks of 0.25 ms: a runs its request out (3 ticks) though b became eligible
 * after the first; then b (deadline 0.75 ms) beats a (1.5 ms).
 */
static void eevdf_by_hand(void **state)
{
	struct wi_queue_params p = params(WI_KERNEL(6, 6), 1);
	struct wi_entity a = entity(0, 120), b = entity(1, 120);
	struct wi_queue q;
	char ran[32];

	(void)state;
	p.tick_ns = MS / 4;
	wi_queue_init(&q, &wi_eevdf_ops, &p);
	queue_up(&q, &a);
	queue_up(&q, &b);
	ticks(&q, 12, ran);
	assert_string_equal(ran, "aaabbbaaabbb");
	assert_int_equal(a.vruntime, 3 * MS / 2);
	assert_int_equal(a.deadline, 9 * MS / 4);
	wi_queue_fini(&q);
}

/* Lag is kept over a sleep: V - v = -0.5 ms at the block; back among the same weight it is -0.5 ms again. */
static void eevdf_lag(void **state)
{
	struct wi_queue_params p = params(WI_KERNEL(6, 6), 1);
	struct wi_entity a = entity(0, 120), b = entity(1, 120);
	struct wi_queue q;

	(void)state;
	wi_queue_init(&q, &wi_eevdf_ops, &p);
	queue_up(&q, &a);
	queue_up(&q, &b);
	wi_queue_take(&q, &a);
	wi_eevdf_ops.set(&q, &a);
	wi_eevdf_ops.update(&q, MS);
	wi_eevdf_ops.sleep(&q, &a);
	wi_queue_remove(&q, &a);
	assert_int_equal(a.lag, -MS / 2);
	wi_queue_take(&q, &b);
	wi_eevdf_ops.set(&q, &b);
	wi_eevdf_ops.update(&q, 10 * MS);
	wi_eevdf_ops.place(&q, &a, false, true);
	assert_int_equal(a.vruntime, 11 * MS); /* twice the lag: half of it moves the average */
	assert_true(wi_queue_add(&q, &a));
	wi_eevdf_ops.sleep(&q, &a);
	assert_int_equal(a.lag, -MS / 2);
	wi_queue_fini(&q);
}

/* ---- over time ---- */

/* Always runnable tasks of several nice levels get shares by weight, and nobody waits for longer than a few rounds. */
static void shares(void **state)
{
	static const struct {
		const struct wi_queue_ops *ops;
		uint32_t version;
	} t[] = { { &wi_cfs_ops, WI_KERNEL(6, 1) },
		  { &wi_eevdf_ops, WI_KERNEL(6, 6) },
		  { &wi_eevdf_ops, WI_KERNEL(6, 12) },
		  { &wi_eevdf_ops, WI_KERNEL(6, 18) } };
	static const int16_t prio[] = { 120, 115, 125, 110, 130 };
	enum { N = 5, TICKS = 200000 };

	(void)state;
	for (size_t k = 0; k < sizeof(t) / sizeof(*t); k++) {
		struct wi_queue_params p = params(t[k].version, 1);
		struct wi_entity e[N];
		uint64_t ran[N] = { 0 }, waited[N] = { 0 }, weight = 0;
		struct wi_queue q;

		p.tick_ns = MS;
		wi_queue_init(&q, t[k].ops, &p);
		for (uint32_t i = 0; i < N; i++) {
			e[i] = entity(i, prio[i]);
			weight += e[i].weight;
			queue_up(&q, &e[i]);
		}
		for (int n = 0; n < TICKS; n++) {
			struct wi_entity *next = q.curr && !t[k].ops->tick(&q) ? q.curr : t[k].ops->pick(&q);

			if (next != q.curr) {
				assert_true(wi_queue_put_back(&q));
				wi_queue_take(&q, next);
				t[k].ops->set(&q, next);
			}
			t[k].ops->update(&q, p.tick_ns);
			for (int i = 0; i < N; i++)
				waited[i] = next == &e[i] ? 0 : waited[i] + 1;
			ran[next->task]++;
			for (uint32_t i = 0; i < N; i++)
				if (waited[i] > 60 + 4 * weight / e[i].weight)
					fail_msg("%s: task %u waits for %llu ticks", t[k].ops->name, i,
						 (unsigned long long)waited[i]);
		}
		for (int i = 0; i < N; i++) {
			double share = (double)ran[i] / TICKS, due = (double)e[i].weight / (double)weight;

			if (share < due * 0.99 || share > due * 1.01)
				fail_msg("%s %x: share %.4f, by weight %.4f", t[k].ops->name, t[k].version, share, due);
		}
		wi_queue_fini(&q);
	}
}

/* Order of arrival, whoever was preempted by others' classes first; real-time by priority, then by place in line. */
static void in_line(void **state)
{
	struct wi_queue_params p = params(WI_KERNEL(6, 1), 1);
	struct wi_entity a = entity(0, 120), b = entity(1, 120), r[4];
	struct wi_queue q;
	struct wi_rt_queue rt = { 0 };

	(void)state;
	wi_queue_init(&q, &wi_fifo_ops, &p);
	a.arrived = 1;
	b.arrived = 2;
	assert_true(wi_queue_add(&q, &b) && wi_queue_add(&q, &a));
	assert_ptr_equal(wi_fifo_ops.pick(&q), &a);
	wi_queue_take(&q, &a);
	assert_true(wi_queue_put_back(&q));
	assert_ptr_equal(wi_fifo_ops.pick(&q), &a);
	wi_queue_fini(&q);

	for (uint32_t i = 0; i < 4; i++)
		r[i] = entity(i, i == 2 ? 10 : 50);
	assert_true(wi_rt_add(&rt, &r[0], false) && wi_rt_add(&rt, &r[1], false));
	assert_true(wi_rt_add(&rt, &r[2], false) && wi_rt_add(&rt, &r[3], true));
	assert_ptr_equal(wi_rt_first(&rt), &r[2]);
	wi_rt_remove(&rt, &r[2]);
	assert_ptr_equal(wi_rt_first(&rt), &r[3]);
	wi_rt_remove(&rt, &r[3]);
	assert_ptr_equal(wi_rt_first(&rt), &r[0]);
	rt.curr = &r[2];
	assert_false(wi_rt_preempts(&rt, &r[0]));
	rt.curr = &r[0];
	assert_false(wi_rt_preempts(&rt, &r[1]));
	assert_true(wi_rt_preempts(&rt, &r[2]));
	free(rt.waiting);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(constants),	  cmocka_unit_test(cfs_by_hand),      cmocka_unit_test(cfs_wakes),
		cmocka_unit_test(cfs_moves),	  cmocka_unit_test(eevdf_by_hand),    cmocka_unit_test(eevdf_lag),
		cmocka_unit_test(cfs_as_defined), cmocka_unit_test(eevdf_as_defined), cmocka_unit_test(shares),
		cmocka_unit_test(in_line),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
