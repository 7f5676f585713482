/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Linux 3.x on hand-made machine states: 1 LLC of 4 cores of 2 threads, cores 0-1 2-3 4-5 6-7. Unless a case says so,
 * wakee and waker weigh 1024, and wake_affine lies in the MC domain (imbalance 125: factor 112).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "tests/unit/model_fixture.h"
#include "tests/unit/tl_fixture.h"

#define BUSY "load=0:1024,1:1024,2:1024,3:1024,4:1024,5:1024,6:1024,7:1024 "

static const struct model_case cases[] = {
	/* Both run on one CPU: it is the target; idle when an interrupt woke the task. */
	{ "linux-3.4", BUSY "prev=2 waker=2 idle=2 nosync", "2 target" },
	/* 100 * (1024 + 1024) > 112 * 1024, and 2048 > 1024 a task: prev is the target; 4-5 is the next idle core. */
	{ "linux-3.4", BUSY "prev=2 waker=0 idle=4-7 nosync", "4 core" },
	/* Nothing on prev's queue either: 204800 > 112 * 0 */
	{ "linux-3.4", "load=0:1024,2:0 prev=2 waker=0 idle=2 nosync", "2 target" },
	/* prev has three tasks: 204800 <= 112 * 3072: the waker's CPU is the target. 0's own core is first in its list. */
	{ "linux-3.4", BUSY "load=2:3072 prev=2 waker=0 idle=4-7 nosync", "4 core" },
	{ "linux-3.4", BUSY "load=2:3072 prev=2 waker=0 idle=1 nosync", "1 smt" },
	/* 112 * 1829 = 204848 is enough, 112 * 1828 = 204736 is not: the answer is the target when nothing idles. */
	{ "linux-3.4", BUSY "load=2:1829 prev=2 waker=0 nosync", "0 noidle" },
	{ "linux-3.4", BUSY "load=2:1828 prev=2 waker=0 nosync", "2 noidle" },
	/* The average-load test: 0 has 3 tasks of weight 335 each, prev has 335: 335*3 > 335 fails "here <= there". */
	{ "linux-3.4", BUSY "load=0:1005,2:335 nr=0:3 prev=2 waker=0 nosync", "2 noidle" },
	/* sync takes the waker's own weight off: 0 <= 0, balanced. */
	{ "linux-3.4", BUSY "prev=2 waker=0 sync", "0 noidle" },
	{ "linux-3.4", BUSY "prev=2 waker=0 idle=1,3 sync", "1 smt" },
	{ "linux-3.4", BUSY "prev=2 waker=0 idle=1,3 nosync", "3 smt" },
	/* An idle previous CPU does not count once the waker's CPU is the target ... */
	{ "linux-3.4", BUSY "prev=2 waker=0 idle=2 sync", "0 noidle" },
	/* ... but did in the third proposal, and does since 3.9. */
	{ "linux-3.4,balance-wake=3", BUSY "prev=2 waker=0 idle=2 sync", "2 prev" },
	{ "linux-3.9", BUSY "prev=2 waker=0 idle=2 sync", "2 prev" },
	/* An idle thread of another, half-busy core is never found. */
	{ "linux-3.4", BUSY "prev=2 waker=0 idle=5 nosync", "2 noidle" },
	/* The sibling need not be allowed, but the answer must. */
	{ "linux-3.4", BUSY "prev=2 waker=0 idle=4-5 allowed=0,2,5 nosync", "5 core" },
	/* The waker's CPU is not allowed: no affine domain, the previous CPU as it is. */
	{ "linux-3.4", BUSY "prev=2 waker=0 idle=4-7 allowed=2-7 nosync", "2 stay" },

	/* Before the patch: the SMT sibling of the target won over idle cores. */
	{ "linux-3.1", BUSY "prev=2 waker=0 idle=1,4-7 sync", "1 smt" },
	{ "linux-3.4,avoid-smt=off", BUSY "prev=2 waker=0 idle=1,4-7 sync", "1 smt" },
	{ "linux-3.4", BUSY "prev=2 waker=0 idle=1,4-7 sync", "4 core" },
	{ "linux-3.1", BUSY "prev=2 waker=0 idle=5 nosync", "5 scan" },
	/* The first form of the patch: the same with one level above SMT. */
	{ "linux-3.2", BUSY "prev=2 waker=0 idle=1,4-7 sync", "4 core" },
	{ "linux-3.2", BUSY "prev=2 waker=0 idle=1,5 sync", "1 smt" },
	{ "linux-3.2,avoid-smt=off", BUSY "prev=2 waker=0 idle=1,4-7 sync", "1 smt" },

	/*
	 * SD_BALANCE_WAKE without wake_affine: averages of the groups from 0: 512, 1024, 0, 512; 4-5 it is, CPU 4. On from
	 * there: groups 4 (own, 0) and 5 (0): 100 * 0 < 105 * 0 does not hold, so 5.
	 */
	{ "linux-3.4,balance-wake=2", "load=0:1024,2:1024,3:1024,7:1024 prev=2 waker=0 nosync", "5 slow" },
	/* own group 512, least other 512: 100 * 512 < 112 * 512: stay; then SMT: 1 with 0 beats 0 with 1024. */
	{ "linux-3.4,balance-wake=2", "load=0:1024,2:1024,3:1024,4:1024,7:1024,5:1024 prev=2 waker=0 nosync", "1 slow" },
	/* With wake_affine still on it comes first; the slow path is for wakers whose CPU is not allowed. */
	{ "linux-3.4,balance-wake=1", BUSY "load=4:0,5:0 prev=2 waker=0 idle=4-5 nosync", "4 core" },
	/* The own group has no allowed CPU and counts as idle: 100 * 0 < 112 * 50, nothing is better: the previous CPU. */
	{ "linux-3.4,balance-wake=1", BUSY "load=4:0,5:100 prev=2 waker=0 allowed=2-7 nosync", "2 slow" },
	{ "linux-3.4,balance-wake=1", BUSY "load=4:0,5:0 prev=2 waker=0 allowed=2-7 nosync", "5 slow" },

	/* fork: the same walk from the parent's CPU. */
	{ "linux-3.4", BUSY "load=6:0,7:512 prev=0 waker=0 fork", "6 slow" },
	/*
	 * Power saving: 8 threads of power 589 are 5 (4712 / 1024, rounded); 8 tasks / 2 < 5: no spreading beyond SMT. The
	 * SMT domain (want_slow is looked at before): 0 has 1024, 1 has 0.
	 */
	{ "linux-3.4,powersave=on", BUSY "load=1:0,6:0,7:0 prev=0 waker=0 fork", "1 slow" },
	{ "linux-3.4", BUSY "load=1:0,6:0,7:0 prev=0 waker=0 fork", "7 slow" },

	/* 3.9: the target's own core is never taken as a whole; its sibling at SMT level is. */
	{ "linux-3.9", BUSY "prev=2 waker=0 idle=3 nosync", "3 smt" },
	{ "linux-3.9", BUSY "prev=2 waker=0 idle=6-7 nosync", "6 core" },
	{ "linux-3.9", BUSY "prev=2 waker=0 nosync", "2 noidle" },
	{ "linux-3.9", BUSY "prev=2 waker=0 idle=4-7 allowed=2-7 nosync", "2 stay" },
	/* wake_wide of 3.12: wakee 9 > 8 and waker 73 > 8 * 9. */
	{ "linux-3.9,wake-wide=3.12", BUSY "flips=8:9,9:73 prev=2 waker=0 sync", "2 noidle" },
	{ "linux-3.9,wake-wide=3.12", BUSY "flips=8:9,9:72 prev=2 waker=0 sync", "0 noidle" },
	{ "linux-3.9,wake-wide=3.12", BUSY "flips=8:8,9:999 prev=2 waker=0 sync", "0 noidle" },
	/* The symmetric one: the lesser at least 8, the greater at least 8 times it. */
	{ "linux-3.9,wake-wide=4.4", BUSY "flips=8:64,9:8 prev=2 waker=0 sync", "2 noidle" },
	{ "linux-3.9,wake-wide=4.4", BUSY "flips=8:63,9:8 prev=2 waker=0 sync", "0 noidle" },
	{ "linux-3.9,wake-wide=4.4", BUSY "flips=8:64,9:7 prev=2 waker=0 sync", "0 noidle" },
	/* Loads: queue weights say the waker's CPU (3072 on prev), runnable averages say prev; bursts look at weights. */
	{ "linux-3.9", BUSY "load=2:3072 runnable=0:1024,2:1024 prev=2 waker=0 nosync", "0 noidle" },
	{ "linux-3.13", BUSY "load=2:3072 runnable=0:1024,2:1024 prev=2 waker=0 nosync", "2 noidle" },
	{ "linux-3.13,load=runnable+burst", BUSY "load=2:3072 runnable=0:1024,2:1024 avg_idle=0:400000,2:600000 prev=2 waker=0 nosync", "0 noidle" },
	{ "linux-3.13,load=runnable+burst", BUSY "load=2:3072 runnable=0:1024,2:1024 avg_idle=0:500000,2:600000 prev=2 waker=0 nosync", "2 noidle" },
};

static void by_hand(void **state)
{
	struct wakeif_topology *topo = tl_fixture_topology(1, 1, 4, 2);

	(void)state;
	model_expect_all(topo, cases, sizeof(cases) / sizeof(*cases));
	tl_fixture_topology_free(topo);
}

/* A second wake_affine for the same task within the interval is not tried: its previous CPU. */
static void throttle(void **state)
{
	struct wakeif_topology *topo = tl_fixture_topology(1, 1, 4, 2);
	struct model_fixture *f = model_fixture_new(topo, "linux-3.9,throttle=1ms");
	struct wakeif_happening reborn = { .size = sizeof(reborn), .type = WAKEIF_TASK_BEGAN, .task = 8 };

	(void)state;
	model_expect(f, BUSY "prev=2 waker=0 sync", "0 noidle");
	model_expect(f, BUSY "prev=2 waker=0 sync", "2 noidle");
	model_expect(f, BUSY "prev=2 waker=0 wakee=10 sync", "0 noidle");
	model_fixture_observe(f, &reborn);
	model_expect(f, BUSY "prev=2 waker=0 sync", "0 noidle");
	model_fixture_free(f);
	tl_fixture_topology_free(topo);
}

/* Two nodes: only the machine-wide domain has both CPUs; the search stays in the target's LLC. */
static void across_nodes(void **state)
{
	struct wakeif_topology *topo = tl_fixture_topology(2, 1, 2, 2);
	struct model_fixture *f = model_fixture_new(topo, "linux-3.9");

	(void)state;
	model_expect(f, BUSY "prev=5 waker=0 idle=2-3 sync", "2 core"); /* pulled over */
	model_expect(f, BUSY "prev=5 waker=0 idle=5 sync", "0 noidle"); /* an idle previous CPU of another LLC is left */
	model_expect(f, BUSY "prev=5 waker=0 idle=2-3,6-7 nosync", "6 core");
	model_fixture_free(f);
	tl_fixture_topology_free(topo);
}

/* What the answer would be with the other value of sync. */
static void other_sync(void **state)
{
	struct wakeif_topology *topo = tl_fixture_topology(1, 1, 4, 2);
	struct model_fixture *f = model_fixture_new(topo, "linux-3.4");
	struct wakeif_choice c = model_fixture_ask(f, BUSY "prev=2 waker=0 idle=1,3 sync");

	(void)state;
	assert_true(c.flags & WAKEIF_CHOICE_KNOWS_SYNC);
	assert_int_equal(c.cpu, 1);
	assert_int_equal(c.other_sync_cpu, 3);
	assert_int_equal(c.affine, WAKEIF_AFFINE_SYNC);
	assert_int_equal(c.target, 0);
	model_fixture_free(f);
	tl_fixture_topology_free(topo);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(by_hand), cmocka_unit_test(throttle), cmocka_unit_test(across_nodes), cmocka_unit_test(other_sync) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
