/* SPDX-License-Identifier: GPL-2.0-or-later */
/* CPUs that a host runs others in place of: what comes in the meantime is seen to when they go on. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analyzer/base/kernel.h"
#include "analyzer/base/names.h"
#include "analyzer/topology/topology.h"
#include "tests/unit/sim_world.h"

struct look {
	uint64_t first_ns[8], away_ns; /* first switch-in, by task; the first preemption of any */
	uint32_t nr_moves;
};

static bool note(void *ctx, const struct wi_event *ev)
{
	struct look *l = ctx;

	l->nr_moves += ev->type == WI_EV_SCHED_MIGRATE_TASK;
	if (ev->type != WI_EV_SCHED_SWITCH)
		return true;
	if (ev->sw.next_comm != WI_NAME_NONE && l->first_ns[ev->sw.next_comm - 1] == UINT64_MAX)
		l->first_ns[ev->sw.next_comm - 1] = ev->ts_ns;
	if (ev->sw.prev_comm != WI_NAME_NONE && ev->sw.preempted && !l->away_ns)
		l->away_ns = ev->ts_ns;
	return true;
}

static const struct wakeif_topology *begin(struct sim_world *w, const char *spec)
{
	struct wi_err err = { 0 };
	const struct wakeif_topology *t = wi_topology_load(spec, &err);

	if (!t)
		fail_msg("%s: %s", spec, err.msg);
	sim_world_begin(w, t, WI_KERNEL(6, 1), 1);
	return t;
}

/* tick_ns: 0 is the default. */
static void run(struct sim_world *world, const struct wakeif_topology *topo, enum wi_sim_balance balance,
		struct look *l)
{
	struct sim_opts o = { .o = { .balance = balance, .noise = WI_NOISE_NONE }, .also = note, .also_ctx = l };
	struct wi_workload *w = sim_world_end(world);
	struct wi_sim_result r;
	struct sim_seen seen;
	struct wi_err err = { 0 };
	const char *wrong;

	memset(l, 0, sizeof(*l));
	for (size_t i = 0; i < sizeof(l->first_ns) / sizeof(*l->first_ns); i++)
		l->first_ns[i] = UINT64_MAX;
	wrong = sim_run_watched(w, &o, &r, &seen, &err);
	if (wrong)
		fail_msg("%s %s", wrong, err.msg);
	assert_int_equal(r.ran_ns, r.tape_ns);
	assert_int_equal(r.tasks_undone, 0);
	sim_run_fini(&r, &seen);
	wi_workload_free(w);
	wi_topology_free(topo);
}

/* A stall from `from` on for `length` in a task's 100 ms of work. */
static uint32_t stalled_hog(struct sim_world *w, uint32_t cpu, uint64_t from_ns, uint64_t length_ns)
{
	uint32_t t = sim_task(w, "hog", cpu, WI_START_RUNNING);

	if (length_ns) {
		sim_op(w, t, from_ns, WI_OP_STALL, 0, 0);
		sim_op(w, t, length_ns, WI_OP_RESUME, 0, 0);
	}
	sim_run(w, t, 100 * MS - length_ns - (length_ns ? from_ns : 0));
	return t;
}

/* 60 ms are long enough for the hog to have lost its lead: its wakee preempts at once, or as soon as the CPU goes on.
 */
static void wakeup(uint64_t length_ns, uint64_t expected_ns)
{
	struct sim_world w;
	const struct wakeif_topology *topo = begin(&w, "pack:1 l3:1 core:2 pu:1");
	struct look l;
	uint32_t wakee;

	stalled_hog(&w, 0, 50 * MS, length_ns);
	wakee = sim_task(&w, "wakee", 0, WI_START_BLOCKED);
	sim_pin(&w, wakee, 0);
	sim_sleep(&w, wakee, 0, 60 * MS);
	sim_run(&w, wakee, MS);
	run(&w, topo, WI_BALANCE_OFF, &l);
	assert_int_equal(l.first_ns[wakee], expected_ns);
}

static void test_wakee_waits_for_the_stall(void **state)
{
	(void)state;
	wakeup(0, 60 * MS);
	wakeup(25 * MS, 75 * MS);
}

/* The slice of one of two hogs is over by 16 ms: 12 of 24 ms at the latest, and a tick. */
static void slices(uint64_t length_ns, uint64_t from_ns, uint64_t to_ns)
{
	struct sim_world w;
	const struct wakeif_topology *topo = begin(&w, "pu:1");
	struct look l;

	stalled_hog(&w, 0, MS, length_ns);
	sim_run(&w, sim_task(&w, "hog", 0, WI_START_RUNNABLE), 100 * MS);
	run(&w, topo, WI_BALANCE_OFF, &l);
	assert_in_range(l.away_ns, from_ns, to_ns);
}

static void test_ticks_are_missed(void **state)
{
	(void)state;
	slices(0, MS, 16 * MS);
	slices(40 * MS, 41 * MS, 41 * MS);
}

/* As test_sim_balance's: two hogs share a core beside an idle one; one of them is pushed, unless its CPU stalls. */
static void pushed(uint64_t length_ns, uint32_t expected)
{
	struct sim_world w;
	const struct wakeif_topology *topo = begin(&w, "pack:1 core:2 pu:2");
	struct look l;

	stalled_hog(&w, 0, MS, length_ns);
	stalled_hog(&w, 1, MS, length_ns);
	run(&w, topo, WI_BALANCE_FULL, &l);
	assert_int_equal(l.nr_moves, expected);
}

static void test_stalled_task_is_not_pushed(void **state)
{
	(void)state;
	pushed(0, 1);
	pushed(99 * MS, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_wakee_waits_for_the_stall),
					    cmocka_unit_test(test_ticks_are_missed),
					    cmocka_unit_test(test_stalled_task_is_not_pushed) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
