/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Run queues: schedules worked out by hand, and shares over time. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analyzer/base/kernel.h"
#include "analyzer/sim/queue.h"
#include "models/pelt.h"
#include "models/wakeif_model.h"

#define MS 1000000ll

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
 * two, 7.87, which is still ahead of b, so it is picked again, but its slice is over: looked at again a tick
 * later, 9.19; b.
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
	free(rt.waiting);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(constants), cmocka_unit_test(cfs_by_hand),   cmocka_unit_test(cfs_wakes),
		cmocka_unit_test(cfs_moves), cmocka_unit_test(eevdf_by_hand), cmocka_unit_test(eevdf_lag),
		cmocka_unit_test(shares),    cmocka_unit_test(in_line),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
