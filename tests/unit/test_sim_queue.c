/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Run queues: random sequences of operations beside a slow model that follows the definitions. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analyzer/base/kernel.h"
#include "models/pelt.h"
#include "models/wakeif_model.h"
#include "tests/unit/sim_slow_queue.h"

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
		assert_int_equal(b->q[q].nr, slow_nr(&b->s, q));
		assert_int_equal(b->q[q].weight, slow_weights(&b->s, q));
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
		int64_t V = slow_avg(&b->s, q), w = slow_weights(&b->s, q);

		for (int i = 0; i < NR_ENT; i++)
			n += slow_here(&b->s, q, i) ? (__int128)(V - b->e[i].vruntime) * b->e[i].weight : 0;
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
		int64_t v = b->s.q[q].min_v + (b->s.eevdf ? 0 : slow_scaled(slow_cfs_slice(&b->s, q, i, true), s->w));

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
		b->s.e[i].d += slow_scaled(slow_own_slice(&b->s, i), b->s.e[i].w);
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

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(cfs_as_defined), cmocka_unit_test(eevdf_as_defined) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
