/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The estimates fed with hand-made happenings: who counts where, as of when, and what contradictions do. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analyzer/replay/groups.h"
#include "models/estimates_priv.h"
#include "tests/unit/tl_fixture.h"

#define MS 1000000ull
#define FIRST 8u /* slot of the first task on 8 CPUs */

struct world {
	struct wakeif_topology *topo;
	struct wi_estimates *e;
	struct wakeif_host h;
};

static void open_world(struct world *w, struct wi_estimates_opts *o)
{
	struct wi_err err = { 0 };

	w->topo = tl_fixture_topology(1, 1, 4, 2);
	o->topology = w->topo;
	if (!o->needs)
		o->needs = WAKEIF_NEED_LOAD | WAKEIF_NEED_FLIPS | WAKEIF_NEED_FLIPS_RESET | WAKEIF_NEED_SCAN_BUDGET |
			   WAKEIF_NEED_OLD_CPU_LOAD | WAKEIF_NEED_AVG_IDLE | WAKEIF_NEED_RUN_LENGTH |
			   WAKEIF_NEED_AVG_OVERLAP;
	w->e = wi_estimates_new(o, &err);
	assert_non_null(w->e);
	wi_estimates_host(w->e, &w->h);
}

static void close_world(struct world *w)
{
	struct wi_err err = { 0 };

	assert_true(wi_estimates_ok(w->e, &err));
	wi_estimates_free(w->e);
	tl_fixture_topology_free(w->topo);
}

static void tell(struct world *w, uint64_t now_ns, enum wakeif_event_type type, uint32_t task, uint32_t cpu,
		 uint32_t other, uint8_t flags)
{
	struct wakeif_happening h = { .size = sizeof(h),
				      .type = (uint8_t)type,
				      .flags = flags,
				      .policy = WAKEIF_POLICY_NORMAL,
				      .prio = 120,
				      .now_ns = now_ns,
				      .task = task,
				      .cpu = cpu,
				      .other = other,
				      .pid = (int32_t)task };

	wi_estimates_happened(w->e, &h);
}

static void now(struct world *w, uint64_t now_ns)
{
	struct wakeif_wakeup wk = { .size = sizeof(wk),
				    .now_ns = now_ns,
				    .class_ = WAKEIF_ONRQ,
				    .waker_task = WAKEIF_TASK_NONE,
				    .wakee_task = WAKEIF_TASK_NONE };

	wi_estimates_wakeup(w->e, &wk);
}

static uint64_t load(struct world *w, uint32_t cpu)
{
	return w->h.cpu_load(w->h.ctx, cpu);
}

static void near(uint64_t a, uint64_t b, uint64_t by)
{
	if ((a > b ? a - b : b - a) > by)
		fail_msg("%llu is not %llu +- %llu", (unsigned long long)a, (unsigned long long)b,
			 (unsigned long long)by);
}

/* All CPUs idle, task FIRST + i begun. */
static void begin(struct world *w, uint32_t tasks)
{
	for (uint32_t c = 0; c < 8; c++)
		tell(w, 0, WAKEIF_CPU_IDLES, c, c, WAKEIF_CPU_NONE, 0);
	for (uint32_t i = 0; i < tasks; i++)
		tell(w, 0, WAKEIF_TASK_BEGAN, FIRST + i, WAKEIF_CPU_NONE, WAKEIF_TASK_NONE, 0);
}

static void runs(struct world *w, uint64_t t, uint32_t task, uint32_t cpu)
{
	tell(w, t, WAKEIF_TASK_ENQUEUED, task, cpu, WAKEIF_CPU_NONE, 0);
	tell(w, t, WAKEIF_CPU_WAKES, cpu, cpu, WAKEIF_CPU_NONE, 0);
	tell(w, t, WAKEIF_TASK_RUNS, task, cpu, WAKEIF_CPU_NONE, 0);
}

static void sleeps(struct world *w, uint64_t t, uint32_t task, uint32_t cpu)
{
	tell(w, t, WAKEIF_TASK_SLEEPS, task, cpu, WAKEIF_CPU_NONE, 0);
	tell(w, t, WAKEIF_CPU_IDLES, cpu, cpu, WAKEIF_CPU_NONE, 0);
}

/* A value is that of the last update: ticks while a task runs, nothing while the CPU idles. */
static void as_of_last_update(void **state)
{
	struct wi_estimates_opts o = { .needs = WAKEIF_NEED_LOAD };
	struct world w;
	uint64_t at_sleep;

	(void)state;
	open_world(&w, &o);
	begin(&w, 1);
	runs(&w, MS, FIRST, 0);
	now(&w, MS + 33 * MS + 554432); /* half life: the last tick was at 32 ms */
	near(load(&w, 0), 482, 3);	/* 1024 * (1 - 2^(-31/33.55)) */
	near(w.h.task_load(w.h.ctx, FIRST), 482, 3);
	sleeps(&w, 40 * MS, FIRST, 0);
	at_sleep = load(&w, 0);
	now(&w, 400 * MS);
	assert_int_equal(load(&w, 0), at_sleep);
	runs(&w, 400 * MS, FIRST, 0);
	near(load(&w, 0), 0, 1);
	close_world(&w);
}

/* Recorded ticks take the place of assumed ones. */
static void recorded_ticks(void **state)
{
	struct wi_estimates_opts o = { 0 };
	struct world w;

	(void)state;
	open_world(&w, &o);
	begin(&w, 1);
	tell(&w, 0, WAKEIF_TICK, 3, 3, WAKEIF_CPU_NONE, 0);
	runs(&w, MS, FIRST, 0);
	now(&w, 30 * MS);
	assert_int_equal(load(&w, 0), 0);
	tell(&w, 34 * MS + 554432, WAKEIF_TICK, 0, 0, WAKEIF_CPU_NONE, 0);
	near(load(&w, 0), 512, 2);
	close_world(&w);
}

/* A wakeup elsewhere: the old CPU keeps the load until it is updated, the new one has it from the enqueue on. */
static void deferred_removal(void **state)
{
	struct wi_estimates_opts o = { 0 };
	struct world w;
	uint64_t at_sleep;

	(void)state;
	open_world(&w, &o);
	begin(&w, 2);
	runs(&w, MS, FIRST, 0);
	sleeps(&w, 31 * MS, FIRST, 0);
	runs(&w, 31 * MS, FIRST + 1, 0);
	at_sleep = load(&w, 0);
	tell(&w, 32 * MS, WAKEIF_TASK_MOVED, FIRST, 4, 0, WAKEIF_EV_WAKING);
	near(load(&w, 0), at_sleep, 25); /* the tick of 32 ms */
	assert_int_equal(load(&w, 4), 0);
	tell(&w, 32 * MS + 5000, WAKEIF_TASK_ENQUEUED, FIRST, 4, WAKEIF_CPU_NONE, 0);
	near(load(&w, 4), at_sleep, 15);
	tell(&w, 33 * MS, WAKEIF_TASK_PREEMPTED, FIRST + 1, 0, WAKEIF_CPU_NONE, 0);
	near(load(&w, 0), 1024 * 2 / 48, 25); /* what the other ran */
	close_world(&w);
}

/* A runnable task is pulled: its load leaves with it. */
static void pulled(void **state)
{
	struct wi_estimates_opts o = { 0 };
	struct world w;

	(void)state;
	open_world(&w, &o);
	begin(&w, 2);
	runs(&w, MS, FIRST, 0);
	tell(&w, MS, WAKEIF_TASK_ENQUEUED, FIRST + 1, 0, WAKEIF_CPU_NONE, 0);
	tell(&w, 35 * MS, WAKEIF_TASK_MOVED, FIRST + 1, 2, 0, 0);
	near(load(&w, 0), 512, 12);
	near(load(&w, 2), 512, 12);
	assert_int_equal(w.h.queue_weight(w.h.ctx, 0), 1024);
	assert_int_equal(w.h.queue_weight(w.h.ctx, 2), 1024);
	near(w.h.task_load(w.h.ctx, FIRST + 1), 512, 12);
	assert_int_equal(w.e->task[FIRST + 1].pelt.util_avg, 0);
	close_world(&w);
}

static void born(void **state)
{
	struct wi_estimates_opts o = { 0 };
	struct world w;

	(void)state;
	open_world(&w, &o);
	begin(&w, 1);
	w.e->flips[FIRST].flips = 5;
	tell(&w, MS, WAKEIF_TASK_BEGAN, FIRST + 1, WAKEIF_CPU_NONE, FIRST, WAKEIF_EV_NEW);
	assert_int_equal(w.h.wakee_flips(w.h.ctx, FIRST + 1), 5);
	tell(&w, MS, WAKEIF_TASK_ENQUEUED, FIRST + 1, 3, WAKEIF_CPU_NONE, WAKEIF_EV_NEW);
	assert_int_equal(load(&w, 3), 1024);
	assert_int_equal(w.h.cpu_util(w.h.ctx, 3), 512);
	assert_int_equal(wi_estimates_task_age_ns(w.e, FIRST + 1), UINT64_MAX);
	tell(&w, 2 * MS, WAKEIF_TASK_SLEEPS, FIRST + 1, 3, WAKEIF_CPU_NONE, WAKEIF_EV_DEAD);
	tell(&w, 2 * MS, WAKEIF_TASK_ENDED, FIRST + 1, 3, WAKEIF_CPU_NONE, 0);
	assert_int_equal(w.h.wakee_flips(w.h.ctx, FIRST + 1), 5); /* of a slot that waits for its next task */
	tell(&w, 3 * MS, WAKEIF_TASK_BEGAN, FIRST + 1, WAKEIF_CPU_NONE, WAKEIF_TASK_NONE, 0);
	assert_int_equal(w.h.wakee_flips(w.h.ctx, FIRST + 1), 0);
	tell(&w, 3 * MS, WAKEIF_TASK_ENQUEUED, FIRST, 3, WAKEIF_CPU_NONE, 0);
	near(load(&w, 3), 0, 1); /* the dead one is taken off */
	close_world(&w);
}

/* Real-time tasks are no load of the fair class; a boost and its end takes a task out and in. */
static void other_classes(void **state)
{
	struct wi_estimates_opts o = { 0 };
	struct wakeif_happening h = {
		.size = sizeof(h), .type = WAKEIF_TASK_RENICED, .task = FIRST, .cpu = 0, .now_ns = 20 * MS, .prio = 50
	};
	struct world w;

	(void)state;
	open_world(&w, &o);
	begin(&w, 1);
	runs(&w, MS, FIRST, 0);
	wi_estimates_happened(w.e, &h);
	assert_int_equal(w.h.queue_weight(w.h.ctx, 0), 0);
	h = (struct wakeif_happening){
		.size = sizeof(h), .type = WAKEIF_TASK_SLEEPS, .task = FIRST, .cpu = 0, .now_ns = 21 * MS, .prio = 50
	};
	wi_estimates_happened(w.e, &h);
	h = (struct wakeif_happening){
		.size = sizeof(h), .type = WAKEIF_TASK_ENQUEUED, .task = FIRST, .cpu = 1, .now_ns = 22 * MS, .prio = 139
	};
	wi_estimates_happened(w.e, &h);
	assert_int_equal(w.h.queue_weight(w.h.ctx, 1), 15);
	h.type = WAKEIF_TASK_RENICED;
	h.policy = WAKEIF_POLICY_IDLE;
	wi_estimates_happened(w.e, &h);
	assert_int_equal(w.h.queue_weight(w.h.ctx, 1), 3);
	close_world(&w);
}

/* cpu_load[i] after n ticks of one nice-0 task: 1024 * (1 - (1 - 2^-i)^n), and a little above when rising. */
static void old_loads(void **state)
{
	struct wi_estimates_opts o = { .needs = WAKEIF_NEED_OLD_CPU_LOAD };
	struct world w;

	(void)state;
	open_world(&w, &o);
	begin(&w, 1);
	runs(&w, MS, FIRST, 0);
	now(&w, 17 * MS); /* ticks at 4, 8, 12, 16 */
	assert_int_equal(w.h.old_cpu_load(w.h.ctx, 0, 0), 1024);
	assert_int_equal(w.h.old_cpu_load(w.h.ctx, 0, 1), 960);
	assert_int_equal(w.h.old_cpu_load(w.h.ctx, 0, 2), 700);
	sleeps(&w, 18 * MS, FIRST, 0);
	now(&w, 21 * MS);
	assert_int_equal(w.h.old_cpu_load(w.h.ctx, 0, 0), 0);
	assert_int_equal(w.h.old_cpu_load(w.h.ctx, 0, 1), 480);
	now(&w, 100000 * MS);
	assert_int_equal(w.h.old_cpu_load(w.h.ctx, 0, 4), 0);
	assert_int_equal(w.h.old_cpu_load(w.h.ctx, 0, 5), 0);
	close_world(&w);
}

/* What contradicts or names nothing known neither crashes nor leaves weight behind. */
static void contradict(struct wi_estimates_opts o)
{
	struct world w;
	uint64_t x = 88172645463325252ull;

	open_world(&w, &o);
	for (int i = 0; i < 20000; i++) {
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		tell(&w, (uint64_t)i * 100000 + (x >> 50), (enum wakeif_event_type)(x % (WAKEIF_PLACED + 1)),
		     (uint32_t)(x >> 8) % 20, (x >> 20) % 10 == 9 ? WAKEIF_CPU_NONE : (uint32_t)(x >> 20) % 9,
		     (uint32_t)(x >> 30) % 9, (uint8_t)(x >> 40) & 7);
	}
	for (uint32_t t = 0; t < 20; t++)
		tell(&w, 3000 * MS, WAKEIF_TASK_LOST, t, WAKEIF_CPU_NONE, WAKEIF_CPU_NONE, 0);
	for (uint32_t c = 0; c < 8; c++) {
		assert_int_equal(w.h.queue_weight(w.h.ctx, c), 0);
		assert_int_equal(w.e->cpu[c].pelt.nr, 0);
		assert_int_equal(w.e->cpu[c].pelt.weight, 0);
		assert_true(w.h.cpu_util(w.h.ctx, c) <= 1024);
	}
	assert_int_equal(load(&w, WAKEIF_CPU_NONE), 0);
	assert_int_equal(w.h.task_load(w.h.ctx, WAKEIF_TASK_NONE), 0);
	assert_int_equal(w.h.scan_budget(w.h.ctx, 7, NULL, NULL), 0);
	tell(&w, UINT64_MAX - 1, WAKEIF_CPU_IDLES, 0, 0, WAKEIF_CPU_NONE, 0); /* a stamp from beyond: no endless walk */
	close_world(&w);
}

static void contradictions(void **state)
{
	struct wi_estimates_member m[] = { { .pid = 10, .group = 1 },
					   { .pid = 11, .group = 2 },
					   { .pid = 12, .group = 1 },
					   { .pid = 13, .group = 9 } };

	(void)state;
	contradict((struct wi_estimates_opts){ 0 });
	contradict((struct wi_estimates_opts){ .nr_groups = 2, .members = m, .nr_members = 4, .other_group = 2 });
}

/* Eight hogs: nothing may be searched. None: all may. */
static void budget(void **state)
{
	struct wi_estimates_opts o = { 0 };
	struct world w;
	uint32_t lo, hi;

	(void)state;
	open_world(&w, &o);
	begin(&w, 10);
	for (uint32_t c = 0; c < 8; c++)
		runs(&w, MS, FIRST + c, c);
	tell(&w, MS, WAKEIF_TASK_ENQUEUED, FIRST + 8, 0, WAKEIF_CPU_NONE, 0);
	for (uint64_t t = 2; t < 1000; t++)
		now(&w, t * MS);
	assert_int_equal(w.h.scan_budget(w.h.ctx, 0, &lo, &hi), 0);
	assert_int_equal(hi, 0);
	tell(&w, 1000 * MS, WAKEIF_TASK_SLEEPS, FIRST + 8, 0, WAKEIF_CPU_NONE, 0);
	for (uint32_t c = 2; c < 8; c++)
		sleeps(&w, 1000 * MS, FIRST + c, c);
	for (uint64_t t = 1000; t < 2000; t++)
		now(&w, t * MS);
	assert_int_equal(w.h.scan_budget(w.h.ctx, 0, &lo, &hi), 7); /* two of eight run: mean 256 */
	assert_true(lo <= 7 && hi >= 7);
	close_world(&w);
}

/* A group of two hogs on two CPUs has the weight of one task: half of it on each. */
static void groups(void **state)
{
	struct wi_estimates_member m[] = { { .pid = FIRST, .group = 1 }, { .pid = FIRST + 1, .group = 1 } };
	struct wi_estimates_opts o = { .nr_groups = 1, .members = m, .nr_members = 2 };
	struct world w;

	(void)state;
	open_world(&w, &o);
	begin(&w, 3);
	runs(&w, MS, FIRST, 0);
	runs(&w, MS, FIRST + 1, 4);
	runs(&w, MS, FIRST + 2, 6);
	for (uint64_t t = 2; t < 800; t++) {
		now(&w, t * MS);
		load(&w, 0);
		load(&w, 4);
		load(&w, 6);
	}
	assert_false(wi_estimates_grouped(w.e)); /* not before placements speak for it */
	near(load(&w, 0), 1022, 4);
	w.e->flat = false;
	near(load(&w, 0), 511, 8);
	near(load(&w, 4), 511, 8);
	near(load(&w, 6), 1022, 4);
	near(w.h.task_load(w.h.ctx, FIRST), 511, 8);
	near(w.h.task_load(w.h.ctx, FIRST + 2), 1022, 4);
	near(w.h.cpu_util(w.h.ctx, 0), 1022, 4);
	tell(&w, 800 * MS, WAKEIF_TASK_MOVED, FIRST + 1, 0, 4, 0); /* both on one: all of the group's weight there */
	for (uint64_t t = 800; t < 1600; t++) {
		now(&w, t * MS);
		load(&w, 0);
	}
	near(load(&w, 0), 1022, 30);
	near(w.h.task_load(w.h.ctx, FIRST), 511, 30);
	close_world(&w);
}

static void group_names(void **state)
{
	const struct wi_task_fact f[] = { { .pid = 1 },
					  { .pid = 2, .autogroup = "/autogroup-9 nice 0" },
					  { .pid = 3, .autogroup = "/autogroup-2 nice 5" },
					  { .pid = 4, .autogroup = "/autogroup-9 nice 0" },
					  { .pid = 5, .autogroup = "/autogroup-x" },
					  { .pid = 6, .autogroup = "/autogroup-2 nice 77" } };
	struct wi_groups g;
	struct wi_err err = { 0 };

	(void)state;
	assert_true(wi_groups_find(&g, f, 6, &err));
	assert_int_equal(g.nr, 2);
	assert_int_equal(g.other, 2);
	assert_int_equal(g.members[0].group, 0);
	assert_int_equal(g.members[1].group, 2);
	assert_int_equal(g.members[2].group, 1);
	assert_int_equal(g.members[4].group, 0);
	assert_int_equal(g.members[5].group, 0);
	assert_int_equal(g.shares[0], 335);
	assert_int_equal(g.shares[1], 1024);
	wi_groups_fini(&g);
	assert_true(wi_groups_find(&g, f, 1, &err));
	assert_int_equal(g.nr, 0);
	wi_groups_fini(&g);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(as_of_last_update),
		cmocka_unit_test(recorded_ticks),
		cmocka_unit_test(deferred_removal),
		cmocka_unit_test(pulled),
		cmocka_unit_test(born),
		cmocka_unit_test(other_classes),
		cmocka_unit_test(old_loads),
		cmocka_unit_test(contradictions),
		cmocka_unit_test(budget),
		cmocka_unit_test(groups),
		cmocka_unit_test(group_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
