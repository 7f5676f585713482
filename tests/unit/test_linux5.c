/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Linux 4.8 to 5.15 on hand-made machine states: what differs between them. 1 LLC of 4 cores of 2 threads, cores 0-1 2-3
 * 4-5 6-7; wake_affine lies in the LLC's domain (imbalance 117: factor 108), within a core 110: 105.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "tests/unit/model_fixture.h"
#include "tests/unit/topo_fixture.h"


#define BUSY \
	"runnable=0:1024,1:1024,2:1024,3:1024,4:1024,5:1024,6:1024,7:1024 load=0:1024,1:1024,2:1024,3:1024,4:1024,5:1024,6:1024,7:1024 " \
	"task=8:1024,9:1024 avg_idle=0:10000000,2:10000000 "

static const struct model_case cases[] = {
	/*
	 * 4.8: 100 * (1024 + 1024) > 108 * 1024: the previous CPU. A sync waker's load goes: not above 0, so 100 against 108:
	 * the waker's.
	 */
	{ "linux-4.8", BUSY "prev=2 waker=0 nosync", "2 noidle" },
	{ "linux-4.8", BUSY "prev=2 waker=0 sync", "0 noidle" },
	/* 100 * 2048 = 204800 <= 108 * 1897 = 204876, but not 108 * 1896 */
	{ "linux-4.8", BUSY "runnable=2:1897 prev=2 waker=0 nosync", "0 noidle" },
	{ "linux-4.8", BUSY "runnable=2:1896 prev=2 waker=0 nosync", "2 noidle" },
	/* The search begins at the target, 2, wraps, and looks for any idle CPU; the sibling last. */
	{ "linux-4.8", BUSY "prev=2 waker=0 idle=1,5 nosync", "5 scan" },
	{ "linux-4.8", BUSY "prev=2 waker=0 idle=1 nosync", "1 scan" },
	/* SIS_AVG_CPU: the waker idles 25 us on average, 48 ns a 512th; below the cost so far of 0 it never is, see searches(). */
	{ "linux-4.8", BUSY "avg_idle=0:25000 prev=2 waker=0 idle=5 nosync", "5 scan" },

	/* 4.13: within an LLC the waker's CPU, whatever the loads. */
	{ "linux-4.13", BUSY "runnable=0:9999 prev=2 waker=0 nosync", "0 noidle" },
	{ "linux-4.13", BUSY "prev=2 waker=0 idle=2 nosync", "2 prev" },

	/* 4.14: an interrupted idle CPU pulls, even from an idle previous one; sync and alone pulls; else weights, "<=". */
	{ "linux-4.14", BUSY "prev=2 waker=0 idle=0,2 nosync", "0 target" },
	{ "linux-4.14", BUSY "prev=2 waker=0 sync", "0 noidle" },
	{ "linux-4.14", BUSY "prev=2 waker=0 nr=0:2 task=8:0,9:0 runnable=0:1080,2:1000 nosync", "0 noidle" }, /* 108000 <= 108000 */
	{ "linux-4.14", BUSY "prev=2 waker=0 nr=0:2 task=8:0,9:0 runnable=0:1081,2:1000 nosync", "2 noidle" },
	/* 4.16: an idle previous CPU wins over an idle waker's; weights strictly less. */
	{ "linux-4.16", BUSY "prev=2 waker=0 idle=0,2 nosync", "2 target" },
	{ "linux-4.16", BUSY "prev=2 waker=0 idle=0 nosync", "0 target" },
	{ "linux-4.16", BUSY "prev=2 waker=0 nr=0:2 task=8:0,9:0 runnable=0:1080,2:1000 nosync", "2 noidle" },
	{ "linux-4.16", BUSY "prev=2 waker=0 nr=0:2 task=8:0,9:0 runnable=0:1079,2:1000 nosync", "0 noidle" },
	/* Before 5.11 sync and a lone waker pull although the previous CPU is idle; then select_idle_sibling goes back. */
	{ "linux-5.10", BUSY "prev=2 waker=0 idle=2 sync", "2 prev" },
	/* 5.7 and later compare loads with blocked tasks: here load, not runnable. */
	{ "linux-5.4", BUSY "prev=2 waker=0 nr=0:2 task=8:0,9:0 runnable=0:500,2:1000 load=0:2000,2:1000 nosync", "0 noidle" },
	{ "linux-5.10", BUSY "prev=2 waker=0 nr=0:2 task=8:0,9:0 runnable=0:500,2:1000 load=0:2000,2:1000 nosync", "2 noidle" },
	/* 5.15 looks at the previous CPU's sibling first, then behind the target; it has SIS_UTIL: nr_idle_scan. */
	{ "linux-5.15", BUSY "prev=2 waker=0 budget=0:8 idle=3,5 nosync", "3 smt" },
	{ "linux-5.15", BUSY "prev=2 waker=0 budget=0:2 idle=5 nosync", "2 budget" },
	{ "linux-5.15", BUSY "prev=2 waker=0 budget=0:3 idle=5 nosync", "5 scan" },
	{ "linux-5.10", BUSY "prev=2 waker=0 idle=3,5 nosync", "3 scan" }, /* from the target on: 2, 3 */
	{ "linux-5.10", BUSY "prev=2 waker=0 idle=1 nosync", "1 scan" },
	/* SIS_PROP: 4 at least; the fourth is never looked at: 2, 3, 4. */
	{ "linux-5.10,sis-prop-nr=3", BUSY "prev=2 waker=0 idle=5 nosync", "2 budget" },
	{ "linux-5.10,sis-prop-nr=4", BUSY "prev=2 waker=0 idle=5 nosync", "5 scan" },
	{ "linux-5.10,sis=off", BUSY "avg_idle=0:0 prev=2 waker=0 idle=1 nosync", "1 scan" },
	/* avg_idle 0: 4, so 3 CPUs are looked at, then the sibling of the target */
	{ "linux-5.10", BUSY "avg_idle=0:0 prev=2 waker=0 idle=5 nosync", "2 budget" },
	{ "linux-5.10", BUSY "avg_idle=0:0 prev=2 waker=0 idle=4 nosync", "4 scan" },

	/*
	 * fork up to 5.4: runnable loads of the groups from 0: 512 (1024 * 1024 / 2048), 0, 0, 0: the first, 2-3. Both idle: 3
	 * went idle last. From 3: its own group and 2 have 0 each: not less loaded by more than the imbalance, but 100 * 0 <
	 * 105 * 0 does not hold either, so 2.
	 */
	{ "linux-5.4", "runnable=0:1024 load=0:1024 prev=0 waker=0 idle=1-7 since=2:100,3:200 fork", "2 slow" },
	/* All runnable loads within the imbalance (174), averages decide: 4-5 has 100, and 100 * 900 > 108 * 100. */
	{ "linux-5.4", "runnable=0:100,1:100,4:100,5:200 load=0:900,1:900,2:900,3:900,4:100,5:100,6:900,7:900 prev=0 waker=0 fork", "4 slow" },
	/* Nothing is better than the parent's group by more than the imbalance: CPU 0's core; then 1, at 0 against 200. */
	{ "linux-5.4", "runnable=0:200,2:500,3:500,4:500,5:500,6:500,7:500 load=0:200,2:500,3:500,4:500,5:500,6:500,7:500 prev=0 waker=0 fork", "1 slow" },
};

static void by_hand(void **state)
{
	const struct wakeif_topology *topo = tf_load("pack:1 l3:1 core:4 pu:2");

	(void)state;
	model_expect_all(topo, cases, sizeof(cases) / sizeof(*cases));
	wi_topology_free(topo);
}

/*
 * SIS_AVG_CPU: a search looks at 2 (target), then 2, 3, 4, 5 and takes 50 + 30 * 5 = 200 ns; its average rises 25, 46, 65. A
 * waker that idles 25 us spends 25000 / 512 = 48: three searches are made, the fourth not, nor any later one, as the average
 * stands.
 */
static void searches(void **state)
{
	const struct wakeif_topology *topo = tf_load("pack:1 l3:1 core:4 pu:2");
	struct model_fixture *f = model_fixture_new(topo, "linux-4.8");

	(void)state;
	model_expect(f, BUSY "avg_idle=0:25000 prev=2 waker=0 idle=5 nosync", "5 scan");
	model_expect(f, BUSY "avg_idle=0:25000 prev=2 waker=0 idle=5 nosync", "5 scan");
	model_expect(f, BUSY "avg_idle=0:25000 prev=2 waker=0 idle=5 nosync", "5 scan");
	model_expect(f, BUSY "avg_idle=0:25000 prev=2 waker=0 idle=5 nosync", "2 budget");
	model_expect(f, BUSY "avg_idle=0:25000 prev=2 waker=0 idle=5 nosync", "2 budget");
	model_expect(f, BUSY "avg_idle=0:50000 prev=2 waker=0 idle=5 nosync", "5 scan");
	model_fixture_free(f);
	wi_topology_free(topo);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(by_hand), cmocka_unit_test(searches) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
