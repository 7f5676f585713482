/* SPDX-License-Identifier: GPL-2.0-or-later */
/* sched_ext policies and Nest on hand-made machine states; 2 nodes of 1 LLC of 2 cores of 2 threads: 0-1 2-3 | 4-5 6-7. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "tests/unit/model_fixture.h"
#include "tests/unit/tl_fixture.h"

static const struct model_case cases[] = {
	/* sync, same LLC, previous CPU idle: that, even on a half-busy core */
	{ "scx-default", "prev=2 waker=0 idle=2,4-7 sync", "2 prev" },
	/* sync, previous CPU busy, nobody waits on the waker's CPU, something idles in its node */
	{ "scx-default", "prev=2 waker=0 idle=3 sync", "0 sync" },
	/* ... nothing idles in the waker's node */
	{ "scx-default", "prev=2 waker=0 idle=4 sync", "4 scan" },
	/* ... somebody waits there */
	{ "scx-default", "prev=2 waker=0 nr=0:2 idle=3 sync", "3 scan" },
	/* ... it is not allowed */
	{ "scx-default", "prev=2 waker=0 idle=3 allowed=2-7 sync", "3 scan" },
	/* previous CPU in another LLC: not that way */
	{ "scx-default", "prev=4 waker=0 idle=4-5 sync", "4 prev" }, /* but its core is idle */
	/* no sync: a whole core: the previous one, of the LLC, anywhere; then the previous CPU; then a CPU nearest first */
	{ "scx-default", "prev=2 waker=0 idle=2-3,4-7 nosync", "2 prev" },
	{ "scx-default", "prev=2 waker=0 idle=0-1,2,4-7 nosync", "1 core" }, /* from behind the last pick, CPU 0 at the start */
	{ "scx-default", "prev=2 waker=0 idle=2,6-7 nosync", "6 core" },
	{ "scx-default", "prev=2 waker=0 idle=1,2,6 nosync", "2 prev" },
	{ "scx-default", "prev=2 waker=0 idle=1,6 nosync", "1 scan" },
	{ "scx-default", "prev=2 waker=0 idle=6 nosync", "6 scan" },
	{ "scx-default", "prev=2 waker=0 nosync", "2 noidle" },

	{ "scx-rusty", "prev=2 waker=0 idle=2 sync", "2 prev" },
	{ "scx-rusty", "prev=2 waker=0 idle=1 sync", "0 sync" },
	{ "scx-rusty", "prev=2 waker=0 idle=2,6-7 nosync", "2 prev" },	/* own domain before an idle core elsewhere */
	{ "scx-rusty", "prev=2 waker=0 idle=0-1,2 nosync", "1 core" },
	{ "scx-rusty", "prev=2 waker=0 idle=1 nosync", "1 scan" },
	{ "scx-rusty", "prev=2 waker=0 idle=6-7 nosync", "2 noidle" },	/* another node is no greedy target */
	{ "scx-rusty,greedy-numa=on", "prev=2 waker=0 idle=6-7 nosync", "6 greedy" },
	{ "scx-rusty,greedy-numa=on", "prev=2 waker=0 idle=6 nosync", "6 greedy" },
	{ "scx-rusty,greedy-numa=on,greedy-under=0", "prev=2 waker=0 idle=6-7 nosync", "2 noidle" }, /* none has room */
	{ "scx-rusty,greedy-numa=on", "prev=2 waker=0 idle=6-7 allowed=1-7 nosync", "2 noidle" },	  /* restricted tasks stay */

	{ "scx-bpfland", "prev=2 waker=0 idle=2,6-7 nosync", "6 core" },	/* as scx-default */
	{ "scx-bpfland", "prev=2 waker=0 idle=0-1 allowed=0-1,4 nosync", "0 prev" }, /* previous CPU not allowed: the waker's */
	{ "scx-bpfland", "prev=2 waker=0 idle=4-5 allowed=4-5 nosync", "4 prev" },  /* nor that: the first allowed */
};

static void by_hand(void **state)
{
	struct wakeif_topology *topo = tl_fixture_topology(2, 1, 2, 2);

	(void)state;
	model_expect_all(topo, cases, sizeof(cases) / sizeof(*cases));
	tl_fixture_topology_free(topo);
}

/* Two wakeups at one instant never get the same idle CPU; the what-if for the other sync claims nothing. */
static void no_stacking(void **state)
{
	struct wakeif_topology *topo = tl_fixture_topology(2, 1, 2, 2);
	struct model_fixture *f = model_fixture_new(topo, "scx-default");

	(void)state;
	model_expect(f, "prev=2 waker=0 idle=2-3,6-7 nosync", "2 prev");
	model_expect(f, "prev=2 waker=0 idle=2-3,6-7 nosync", "6 core"); /* 3's sibling is promised */
	model_expect(f, "prev=2 waker=0 idle=2-3,6-7 nosync", "3 scan"); /* no core left: own LLC first */
	model_expect(f, "prev=2 waker=0 idle=2-3,6-7 nosync", "7 scan");
	model_expect(f, "prev=2 waker=0 idle=2-3,6-7 nosync", "2 noidle");
	model_fixture_free(f);
	tl_fixture_topology_free(topo);
}

static void nest(void **state)
{
	struct wakeif_topology *topo = tl_fixture_topology(2, 1, 2, 2);
	struct model_fixture *f = model_fixture_new(topo, "nest,claim=0");

	(void)state;
	/* Nests are empty: the scheduler's choice, which goes to the reserve. */
	model_expect(f, "wakee=8 prev=2 waker=0 idle=1-7", "2 prev");
	/* From the reserve into the primary nest. */
	model_expect(f, "wakee=9 prev=0 waker=0 idle=1-7", "2 reserve");
	/* The primary nest before an idle previous CPU of its own. */
	model_expect(f, "wakee=10 prev=1 waker=0 idle=1-7", "2 warm");
	/* The nest is full: 3 by the scheduler, into the reserve; then out of it. */
	model_expect(f, "wakee=11 prev=2 waker=0 idle=3-7", "3 scan");
	model_expect(f, "wakee=12 prev=2 waker=0 idle=3-7", "3 reserve");
	/* Impatient: the second wakeup in a row that finds prev busy goes past the nests and enlarges the primary one. */
	model_expect(f, "wakee=13 prev=0 waker=0 idle=2-7", "2 warm");
	model_expect(f, "wakee=13 prev=0 waker=0 idle=1,3-7", "1 scan");
	model_expect(f, "wakee=14 prev=0 waker=1 idle=1,4-7", "1 warm"); /* 1 is primary now */
	/* Attached: 9 ran on 2 twice in a row, so 2 it is, not the nearer 1. */
	model_expect(f, "wakee=9 prev=2 waker=0 idle=1-7", "2 warm");
	model_expect(f, "wakee=9 prev=7 waker=0 idle=1-7", "2 warm");
	/* The own die first: 7's LLC has nothing in the nest, so the other one's CPUs, from 7 on: 1. */
	model_expect(f, "wakee=15 prev=7 waker=0 idle=1-7", "1 warm");
	model_fixture_free(f);
	tl_fixture_topology_free(topo);
}

/* Out of use for longer than 2 ticks (8 ms), or left by a task that ended: no longer primary. */
static void nest_demotes(void **state)
{
	struct wakeif_topology *topo = tl_fixture_topology(2, 1, 2, 2);
	struct model_fixture *f = model_fixture_new(topo, "nest,claim=0,reserve=1");
	/* The fixture's wakeups come at 1 s. */
	struct wakeif_happening idled = { .size = sizeof(idled), .type = WAKEIF_CPU_IDLES, .cpu = 2, .now_ns = 1000000000 - 8000000 };
	struct wakeif_happening died = { .size = sizeof(died), .type = WAKEIF_TASK_SLEEPS, .flags = WAKEIF_EV_DEAD, .cpu = 2, .now_ns = 999999000 };

	(void)state;
	model_expect(f, "wakee=8 prev=2 waker=0 idle=1-7", "2 prev");
	model_expect(f, "wakee=9 prev=0 waker=0 idle=1-7", "2 reserve");
	model_fixture_observe(f, &idled);
	model_expect(f, "wakee=10 prev=0 waker=0 idle=1-7", "2 warm"); /* 8 ms is not more */
	idled.now_ns--;
	model_fixture_observe(f, &idled);
	model_expect(f, "wakee=12 prev=0 waker=0 idle=1-7", "2 reserve"); /* demoted, found in the reserve, promoted again */
	model_fixture_observe(f, &died);
	idled.now_ns = died.now_ns;
	model_fixture_observe(f, &idled);
	model_expect(f, "wakee=11 prev=0 waker=0 idle=1-7", "2 reserve");
	model_fixture_free(f);
	tl_fixture_topology_free(topo);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(by_hand), cmocka_unit_test(no_stacking), cmocka_unit_test(nest), cmocka_unit_test(nest_demotes) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
