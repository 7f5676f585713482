/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Who is taken where by balancing, and timers that go off with the interrupt that wakes their CPU. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analyzer/base/kernel.h"
#include "analyzer/topology/topology.h"
#include "tests/unit/sim_world.h"

static const struct wakeif_topology *machine(const char *spec)
{
	struct wi_err err = { 0 };
	const struct wakeif_topology *t = wi_topology_load(spec, &err);

	if (!t)
		fail_msg("%s: %s", spec, err.msg);
	return t;
}

/* What it points to is gone. */
static struct wi_sim_result run(struct sim_world *world, struct sim_opts *o)
{
	struct wi_workload *w = sim_world_end(world);
	struct wi_sim_result r;
	struct sim_seen seen;
	struct wi_err err = { 0 };
	const char *wrong;

	o->o.noise = WI_NOISE_NONE;
	wrong = sim_run_watched(w, o, &r, &seen, &err);
	if (wrong)
		fail_msg("%s %s", wrong, err.msg);
	struct wi_sim_result numbers = r;

	sim_run_fini(&r, &seen);
	wi_workload_free(w);
	return numbers;
}

/* All hogs begin on one CPU. */
static struct wi_sim_result hogs(const char *spec, uint32_t nr, uint64_t each_ns, enum wi_sim_balance balance)
{
	const struct wakeif_topology *topo = machine(spec);
	struct sim_opts o = { .o = { .balance = balance } };
	struct sim_world w;

	sim_world_begin(&w, topo, WI_KERNEL(6, 1), 1);
	for (uint32_t i = 0; i < nr; i++) {
		uint32_t t = sim_task(&w, "hog", 0, i ? WI_START_RUNNABLE : WI_START_RUNNING);

		sim_run(&w, t, each_ns);
	}
	struct wi_sim_result r = run(&w, &o);

	wi_topology_free(topo);
	return r;
}

static void test_waiting_tasks_spread(void **state)
{
	(void)state;
	struct wi_sim_result off = hogs("pack:1 core:4 pu:1", 4, 500 * MS, WI_BALANCE_OFF),
			     full = hogs("pack:1 core:4 pu:1", 4, 500 * MS, WI_BALANCE_FULL);

	assert_int_equal(off.end_ns, 2000 * MS);
	assert_int_equal(off.balance_moves, 0);
	assert_in_range(full.end_ns, 500 * MS, 600 * MS);
	assert_in_range(full.balance_moves, 3, 8);
}

/* Eight waiting tasks of one CPU, on two nodes: half of them must run on the other one. */
static void test_nodes_share(void **state)
{
	(void)state;
	struct wi_sim_result r = hogs("pack:2 numa:1 core:2 pu:1", 8, 500 * MS, WI_BALANCE_FULL);

	assert_in_range(r.end_ns, 1000 * MS, 1300 * MS);
}

static bool note_move(void *ctx, const struct wi_event *ev)
{
	uint64_t *moved_ns = ctx;

	if (ev->type == WI_EV_SCHED_MIGRATE_TASK)
		*moved_ns = ev->ts_ns;
	return true;
}

/*
 * Two hogs that share a core while another one idles: one of them is pushed there, though both run. Not before the
 * fourth look that failed, looks being a tick apart at least and two intervals of 4 ms at most.
 */
static void test_running_task_is_pushed(void **state)
{
	(void)state;
	const struct wakeif_topology *topo = machine("pack:1 core:2 pu:2");
	uint64_t moved_ns = 0;
	struct sim_opts o = { .o = { .balance = WI_BALANCE_FULL }, .also = note_move, .also_ctx = &moved_ns };
	struct sim_world w;

	sim_world_begin(&w, topo, WI_KERNEL(6, 1), 1);
	for (uint32_t cpu = 0; cpu < 2; cpu++)
		sim_run(&w, sim_task(&w, "hog", cpu, WI_START_RUNNING), 1000 * MS);
	struct wi_sim_result r = run(&w, &o);

	assert_int_equal(r.active_moves, 1);
	assert_in_range(moved_ns, 12 * MS, 64 * MS);
	wi_topology_free(topo);
}

/* A task that may run on its own CPU alone stays, however many idle. */
static void test_pinned_tasks_stay(void **state)
{
	(void)state;
	const struct wakeif_topology *topo = machine("pack:1 core:4 pu:1");
	struct sim_opts o = { .o = { .balance = WI_BALANCE_FULL } };
	struct sim_world w;

	sim_world_begin(&w, topo, WI_KERNEL(6, 1), 1);
	for (uint32_t i = 0; i < 3; i++) {
		uint32_t t = sim_task(&w, "hog", 0, i ? WI_START_RUNNABLE : WI_START_RUNNING);

		sim_run(&w, t, 200 * MS);
		sim_pin(&w, t, 0);
	}
	struct wi_sim_result r = run(&w, &o);

	assert_int_equal(r.end_ns, 600 * MS);
	assert_int_equal(r.balance_moves + r.newidle_moves + r.active_moves, 0);
	wi_topology_free(topo);
}

/* ---- timers ---- */

#define ROUNDS 20

struct watch {
	uint64_t last_ns; /* when the sleeper was woken last */
	int32_t pid;
};

static bool see(void *ctx, const struct wi_event *ev)
{
	struct watch *s = ctx;

	if (ev->type == WI_EV_SCHED_WAKING && ev->wk.pid == s->pid)
		s->last_ns = ev->ts_ns;
	return true;
}

/*
 * A task sleeps ROUNDS times for 1 ms and once, as recorded, for late_ns. Meanwhile another CPU wakes a task there, at
 * poke_ns from the start; 0: it does not.
 */
static uint64_t last_wake_ns(uint64_t late_ns, uint64_t poke_ns)
{
	const struct wakeif_topology *topo = machine("pack:1 core:2 pu:1");
	struct watch watch = { .pid = 0 };
	struct sim_opts o = { .also = see, .also_ctx = &watch };
	struct sim_world w;

	sim_world_begin(&w, topo, WI_KERNEL(6, 1), 1);
	uint32_t sleeper = sim_task(&w, "sleeper", 1, WI_START_RUNNING),
		 waker = sim_task(&w, "waker", 0, WI_START_RUNNING), wakee = sim_task(&w, "wakee", 1, WI_START_BLOCKED);
	uint32_t to = sim_counter(&w, wakee);

	watch.pid = wi_work_task(w.b, sleeper)->pid;
	for (uint32_t i = 0; i <= ROUNDS; i++) {
		sim_sleep(&w, sleeper, 1000, i == ROUNDS ? late_ns : MS);
		wi_work_sleep(w.b, i)->on_own_cpu = true;
	}
	sim_run(&w, sleeper, 1000);
	sim_pin(&w, sleeper, 1);
	sim_block(&w, wakee, 0, to);
	sim_run(&w, wakee, 1000);
	sim_pin(&w, wakee, 1);
	sim_wake(&w, waker, poke_ns ? poke_ns : 100 * MS, to, false);
	sim_pin(&w, waker, 0);
	run(&w, &o);
	wi_topology_free(topo);
	return watch.last_ns;
}

static void test_late_timers_go_off_with_a_wakeup(void **state)
{
	(void)state;
	const uint64_t began_ns = ROUNDS * (MS + 1000) + 1000; /* the last sleep */

	/* nobody wakes the CPU: as recorded */
	assert_int_equal(last_wake_ns(5 * MS, 0), began_ns + 5 * MS);
	/* a wakeup after it was due, which others tell: with that */
	assert_int_equal(last_wake_ns(5 * MS, began_ns + 3 * MS), began_ns + 3 * MS);
	/* before it was due */
	assert_int_equal(last_wake_ns(5 * MS, began_ns + MS / 2), began_ns + 5 * MS);
	/* so long that it is another timer's */
	assert_int_equal(last_wake_ns(50 * MS, began_ns + 3 * MS), began_ns + 50 * MS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_waiting_tasks_spread),
		cmocka_unit_test(test_nodes_share),
		cmocka_unit_test(test_running_task_is_pushed),
		cmocka_unit_test(test_pinned_tasks_stay),
		cmocka_unit_test(test_late_timers_go_off_with_a_wakeup),
	};

	return cmocka_run_group_tests_name("sim: balance", tests, NULL, NULL);
}
