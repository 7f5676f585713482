/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Linux 2.6.29 on hand-made machine states: 1 node of 2 packages (LLCs) of 2 cores of 2 threads: cores 0-1 2-3 | 4-5 6-7.
 * Levels of CPU 0: SMT {0,1}, MC {0-3}, CPU {0-7}. A thread has power 589, so a core holds 1 task, a package 2 (2356/1024).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "tests/unit/model_fixture.h"
#include "tests/unit/tl_fixture.h"

#define BUSY "load=0:1024,1:1024,2:1024,3:1024,4:1024,5:1024,6:1024,7:1024 ticked=0:1024,1:1024,2:1024,3:1024,4:1024,5:1024,6:1024,7:1024 "

static const struct model_case cases[] = {
	{ "linux-2.6.29", BUSY "prev=2 waker=2 idle=2 nosync", "2 prev" },
	{ "linux-2.6.29", BUSY "prev=2 waker=2 idle=3-7 nosync", "2 stay" }, /* no search */
	/* sync: 0 + 1024 against 1024: 102400 <= 112 * 1024: the waker's CPU, idle neighbours or not */
	{ "linux-2.6.29", BUSY "prev=2 waker=0 idle=1,3-7 sync", "0 affine" },
	/* not sync: 204800 > 114688; 112 * 1024 > 100 * 1024: stay */
	{ "linux-2.6.29", BUSY "prev=2 waker=0 idle=1,3-7 nosync", "2 stay" },
	/* WAKE_BALANCE: 112 * 1024 <= 100 * 1147 = 114700, though 100 * 2048 > 112 * 1147 */
	{ "linux-2.6.29", BUSY "load=2:1147 ticked=2:1147 prev=2 waker=0 nosync", "0 affine" },
	{ "linux-2.6.29", BUSY "load=2:1146 ticked=2:1146 prev=2 waker=0 nosync", "2 stay" },
	/* The previous CPU counts with the lower of now and last tick, the waker's with the higher. */
	{ "linux-2.6.29", BUSY "load=2:5000 ticked=2:1024 prev=2 waker=0 nosync", "2 stay" },
	{ "linux-2.6.29", BUSY "load=2:5000 ticked=2:5000 prev=2 waker=0 nosync", "0 affine" },
	{ "linux-2.6.29", BUSY "load=2:2000 ticked=0:3000,2:2000 prev=2 waker=0 nosync", "2 stay" },
	/* Within a core (SMT, index 0) only the present load counts. */
	{ "linux-2.6.29", BUSY "load=1:5000 ticked=1:1024 prev=1 waker=0 nosync", "0 affine" },
	/* Long overlap of waker and wakee: not taken for sync. */
	{ "linux-2.6.29", BUSY "overlap=9:500001 prev=2 waker=0 sync", "2 stay" },
	{ "linux-2.6.29", BUSY "overlap=8:500001 prev=2 waker=0 sync", "2 stay" },
	{ "linux-2.6.29", BUSY "overlap=8:500000,9:500000 prev=2 waker=0 sync", "0 affine" },
	{ "linux-2.6.29", BUSY "prev=2 waker=0 allowed=2-7 sync", "2 stay" },

	/* Levels with SD_WAKE_IDLE. */
	{ "linux-2.6.29,wake-idle=smt", BUSY "prev=2 waker=2 idle=0,3 nosync", "3 smt" },
	{ "linux-2.6.29,wake-idle=smt", BUSY "prev=2 waker=2 idle=0 nosync", "2 stay" },
	{ "linux-2.6.29,wake-idle=mc", BUSY "prev=2 waker=2 idle=0,7 nosync", "0 scan" },
	{ "linux-2.6.29,wake-idle=mc", BUSY "prev=2 waker=2 idle=7 nosync", "2 stay" },
	{ "linux-2.6.29,wake-idle=far", BUSY "prev=2 waker=2 idle=7 nosync", "7 scan" },
	{ "linux-2.6.29,wake-idle=mc", BUSY "prev=2 waker=2 nr=2:2 idle=0 nosync", "2 stay" }, /* more than one task there */

	/*
	 * An interrupt on an idle CPU elsewhere: loads 0 and 0 are balanced, the wakee goes there. On its own CPU: see mc=2.
	 */
	{ "linux-2.6.29,mc=2", "prev=2 waker=1 idle=0-5,7 nosync load=6:1024", "1 affine" },
	/*
	 * mc=2: previous CPU and waker's CPU idle (an interrupt there): the nominated one. Packages: 0-3 has no task, 4-7 one
	 * (CPU 6): the only one with work is leader and would be emptied at once, so nobody is nominated: CPU 0 from the start.
	 */
	{ "linux-2.6.29,mc=2", "prev=2 waker=2 idle=0-5,7 nosync load=6:1024", "0 nominated" },
	{ "linux-2.6.29,mc=1", "prev=2 waker=2 idle=0-5,7 nosync load=6:1024", "2 prev" }, /* level 1 does not steer wakeups */
	{ "linux-2.6.29,smt=2", "prev=2 waker=2 idle=0-5,7 nosync load=6:1024", "2 prev" }, /* nor does smt */
	{ "linux-2.6.29,smt=2,variant=v3", "prev=2 waker=2 idle=0-5,7 nosync load=6:1024", "0 nominated" },
	/* The previous CPU busy: nothing is steered. */
	{ "linux-2.6.29,mc=2", BUSY "prev=6 waker=6 idle=0-5,7 nosync", "6 stay" },
	/* The nominated CPU must be allowed. */
	{ "linux-2.6.29,mc=2", "prev=2 waker=2 idle=0-5,7 allowed=1-7 nosync", "2 prev" },

	/* fork: own package 1024 against 0: CPU 4; from there 4-5 (own) and 6-7 have 0 each, and 100 * 0 >= 112 * 0: 6; likewise 7. */
	{ "linux-2.6.29", "load=0:1024,1:1024,2:1024,3:1024 ticked=0:1024,1:1024,2:1024,3:1024 prev=0 waker=0 fork", "7 slow" },
	/* Power saving at the CPU level: fork stays in the package. */
	{ "linux-2.6.29,mc=1", "load=0:1024,1:1024,2:1024,3:500 ticked=0:1024,1:1024,2:1024,3:500 prev=0 waker=0 fork", "3 slow" },
};

static void by_hand(void **state)
{
	struct wakeif_topology *topo = tl_fixture_topology(1, 2, 2, 2);

	(void)state;
	model_expect_all(topo, cases, sizeof(cases) / sizeof(*cases));
	tl_fixture_topology_free(topo);
}

/* 4 packages of 4 cores without SMT (capacity 4 each): 3 tasks in 4-7, 1 in 8-11: the fullest with room leads. */
static void leaders(void **state)
{
	struct wakeif_topology *topo = tl_fixture_topology(1, 4, 4, 1);
	struct model_fixture *f = model_fixture_new(topo, "linux-2.6.29,mc=2,nominate=leader");
	struct model_fixture *g = model_fixture_new(topo, "linux-2.6.29,mc=2,interval=4ms");

	(void)state;
	model_expect(f, "prev=0 waker=0 idle=0-3,7,9-15 nosync", "4 nominated");
	/* Full (4 of 4): no leader but 8-11; it alone is no reason to move: the last nomination stays. */
	model_expect(f, "prev=0 waker=0 idle=0-3,9-15 nosync", "4 nominated");
	/* Tie of 2 and 2 (4-7, 8-11): the lower number leads, the higher is emptied. */
	model_expect(f, "prev=0 waker=0 idle=0-3,6-7,10-15 nosync", "4 nominated");
	/* 1 in 4-7, 3 in 8-11 */
	model_expect(f, "prev=0 waker=0 idle=0-3,5-7,11-15 nosync", "8 nominated");
	/* By balancing: the nomination of the first wakeup holds for 4 ms of the trace (all these come at one instant). */
	model_expect(g, "prev=0 waker=0 idle=0-3,7,9-15 nosync", "4 nominated");
	model_expect(g, "prev=0 waker=0 idle=0-3,5-7,11-15 nosync", "4 nominated");
	model_fixture_free(f);
	model_fixture_free(g);
	tl_fixture_topology_free(topo);
}

/*
 * v3, mc=2 and smt=2, 2 packages of 4 cores of 2 threads (core 1 task, package 4): tasks on 8, 10, 12 and 0. Packages: 8-15
 * leads (3 of 4). A core with one task is full, so within the package nobody leads and the pick stays 8.
 */
static void arbitration(void **state)
{
	struct wakeif_topology *topo = tl_fixture_topology(1, 2, 4, 2);
	struct model_fixture *f = model_fixture_new(topo, "linux-2.6.29,mc=2,smt=2,variant=v3,nominate=leader");

	(void)state;
	model_expect(f, "prev=2 waker=2 idle=1-7,9,11,13-15 nosync", "8 nominated");
	model_fixture_free(f);
	tl_fixture_topology_free(topo);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(by_hand), cmocka_unit_test(leaders), cmocka_unit_test(arbitration) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
