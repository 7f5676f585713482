/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The tables of 2009: with sched_mc_power_savings a package idles while the other works, and the more so the fewer jobs
 * make has; with sched_smt_power_savings cores idle. Ordering only: the sizes were those of one machine.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analyzer/base/kernel.h"
#include "analyzer/topology/topology.h"
#include "tests/unit/sim_world.h"

#define SEEDS 5

struct idle { /* shares of the whole time, means over seeds */
	double package, least_package, cores, end_ms;
};

/* make -jN: how long the idler package and how many cores idle. */
static struct idle make(const char *machine, uint32_t jobs, uint32_t mc, uint32_t smt)
{
	struct wi_err err = { 0 };
	const struct wakeif_topology *topo = wi_topology_load(machine, &err);
	struct idle idle = { 0 };
	char model[64];

	assert_non_null(topo);
	snprintf(model, sizeof(model), "linux-2.6.29,mc=%u,smt=%u,variant=v3", mc, smt);
	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		struct sim_opts o = { .model = model };
		struct wi_sim_result r;
		struct sim_seen seen;
		struct sim_world w;
		const char *wrong;

		sim_world_begin(&w, topo, WI_KERNEL(2, 6), seed);
		sim_latencies(&w, 5 * US);
		sim_make(&w, jobs, 30 * jobs, 40 * MS);
		o.o.seed = seed;
		o.o.power_mc = mc;
		o.o.power_smt = smt;
		o.o.smt_speed = 635;
		struct wi_workload *load = sim_world_end(&w);

		wrong = sim_run_watched(load, &o, &r, &seen, &err);
		if (wrong)
			fail_msg("%s: %s %s", model, wrong, err.msg);
		double all = (double)(r.tally.to_ns - r.tally.from_ns), a = (double)r.tally.package_idle_ns[0] / all,
		       b = (double)r.tally.package_idle_ns[1] / all;

		idle.package += (a > b ? a : b) / SEEDS;
		idle.least_package += (a > b ? b : a) / SEEDS;
		for (uint32_t c = 0; c < r.tally.nr_groups[WAKEIF_CORE]; c++)
			idle.cores += (double)r.tally.group_idle_ns[WAKEIF_CORE][c] / all / SEEDS;
		idle.end_ms += (double)r.end_ns / 1e6 / SEEDS;
		sim_run_fini(&r, &seen);
		wi_workload_free(load);
	}
	wi_topology_free(topo);
	print_message("%s, make -j%u, mc=%u smt=%u: package idle %.1f %%, the other %.1f %%, cores %.2f; %.0f ms\n",
		      machine, jobs, mc, smt, idle.package * 100, idle.least_package * 100, idle.cores, idle.end_ms);
	return idle;
}

/* Level by level more, and at -j4 more than at -j8, which fills the machine. The other package works all the time. */
static void a_package_idles(void **state)
{
	static const char *const machines[] = { "pack:2 l3:1 core:4 pu:1", "pack:2 l3:1 core:2 pu:2" };

	(void)state;
	for (int m = 0; m < 2; m++) {
		struct idle four[3], eight[3];

		for (uint32_t level = 0; level < 3; level++) {
			four[level] = make(machines[m], 4, level, 0);
			eight[level] = make(machines[m], 8, level, 0);
		}
		assert_true(four[1].package > four[0].package * 2);
		assert_true(four[2].package >= four[1].package);
		assert_true(four[2].least_package < 0.05);
		assert_true(four[2].package - four[0].package > 2 * (eight[2].package - eight[0].package));
	}
}

/* Cores are emptied, too, and packages more than by mc alone, because they hold twice as many tasks. */
static void cores_idle(void **state)
{
	static const char machine[] = "pack:2 l3:1 core:2 pu:2";
	struct idle none = make(machine, 4, 0, 0), mc = make(machine, 4, 2, 0), smt = make(machine, 4, 0, 2);

	(void)state;
	assert_true(smt.cores > mc.cores && mc.cores > none.cores);
	assert_true(smt.package > mc.package);
	assert_true(smt.end_ms > none.end_ms); /* that is what it costs */
}

/* A package is as full whether or not the threads of a core have neighbouring numbers. */
static void any_numbering(void **state)
{
	struct idle near = make("pack:2 l3:1 core:2 pu:2", 4, 2, 0),
		    apart = make("pack:2 l3:1 core:2 pu:2(indexes=0,4,1,5,2,6,3,7)", 4, 2, 0);

	(void)state;
	assert_true(fabs(near.package - apart.package) <
		    0.15); /* it idles for half of the time if each thread counts as a core */
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(a_package_idles), cmocka_unit_test(cores_idle),
					    cmocka_unit_test(any_numbering) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
