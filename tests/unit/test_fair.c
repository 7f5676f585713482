/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The fair class's decision on hand-made states: every rule and every tie-break at least once, the answers worked out
 * by hand. See fair_fixture.h for machines and words. Waker's CPU 0, previous CPU 4 unless the state says otherwise; a
 * CPU that is not named idle runs one task.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "models/fair_priv.h"
#include "tests/unit/fair_fixture.h"
#include "tests/unit/share.h"

struct one {
	char machine;
	const char *kernel, *state, *expected;
};

/* An answer that ends in xN counts the idle states looked at, too. */
static void run(const struct one *cases, size_t nr)
{
	for (size_t i = 0; i < nr; i++) {
		const struct one *c = &cases[i];
		struct fair_fixture f;

		ff_machine(&f, c->machine);
		ff_kernel(&f, c->kernel);
		ff_state(&f, c->state);
		struct wi_fair_result r = wi_fair_select(&f.in);
		const char *got = ff_answer(&r, strstr(c->expected, " x") != NULL);

		if (strcmp(got, c->expected))
			fail_msg("%zu: %c %s: %s: expected \"%s\", got \"%s\"", i, c->machine, c->kernel, c->state,
				 c->expected, got);
		ff_fini(&f);
	}
}

#define RUN(cases) run(cases, sizeof(cases) / sizeof(*(cases)))

static void wake_affine(void **state)
{
	static const struct one cases[] = {
		/* waker's CPU idle (an interrupt): it wins, unless the previous CPU idles as well */
		{ 'S', "6.1", "idle=0,2", "0 target idle_waker x3" }, /* looks at 0, 4, then the target */
		{ 'S', "6.1", "idle=0,4", "4 target idle_prev x3" },
		/* not across LLCs: then the third rule; 0 runs nothing, so that sync does not matter */
		{ 'N', "6.1", "idle=0,4", "4 target idle_prev" },
		{ 'N', "4.14", "idle=0,4", "0 target idle_waker" },	 /* 4.14 pulls from anywhere */
		{ 'N', "4.16", "idle=0,4", "4 target load_prev sync?" }, /* no third rule yet: loads are equal */
		/* sync: the waker runs alone on 0 */
		{ 'S', "6.1", "sync idle=4", "4 prev sync sync?" },
		{ 'S', "6.1", "idle=4", "4 target idle_prev sync?" },
		{ 'S', "6.1", "sync nr=0:2,4:0 idle=4", "4 target idle_prev" },
		{ 'S', "6.1", "sync exiting idle=4", "4 target idle_prev" },
		{ 'S', "4.14", "sync exiting",
		  "0 noidle sync sync?" }, /* before 4.16 an exiting waker's sync counted */
		{ 'N', "6.1", "sync idle=4",
		  "0 noidle sync recent sync?" }, /* across LLCs the idle previous CPU is lost */
		/* delayed tasks are not counted from 6.12 on */
		{ 'S', "6.12", "sync nr=0:2 delayed=1 budget=0", "0 budget0 sync recent sync?" },
		{ 'S', "6.1", "sync nr=0:2 delayed=1 budget=0", "0 budget0 load_waker recent sync?" },
		/* loads: (100 + 10) * 100 < (200 - 10) * 108 */
		{ 'S', "6.1", "load=0:100,4:200 tload=0,10", "0 budget load_waker recent sync?" },
		/* 108 * 100 against 100 * 108: equal, strictly less is asked for; sync adds one on the other side */
		{ 'S', "6.1", "load=0:108,4:100", "4 budget load_prev recent sync?" },
		{ 'S', "6.1", "sync nr=0:2 load=0:108,4:100", "0 budget load_waker recent sync?" },
		{ 'S', "4.14", "nr=0:2 load=0:108,4:100", "0 noidle load_waker sync?" }, /* 4.14: not more is enough */
		{ 'S', "6.1", "load=0:105,4:100", "0 budget load_waker recent sync?" },
		{ 'S', "6.1 no-bias", "load=0:105,4:100", "4 budget load_prev recent sync?" },
		/* within a core the factor is 105: 106 * 100 is not below 100 * 105, but would be below 100 * 108 */
		{ 'S', "6.1", "prev=1 load=0:106,1:100", "1 budget load_prev recent sync?" },
		{ 'S', "6.1", "prev=1 load=0:104,1:100", "0 budget load_waker recent sync?" },
		/* sync takes the waker's own load off; more than there is: waker's CPU at once */
		{ 'S', "6.1", "sync nr=0:2 load=0:300,4:250 tload=60,0",
		  "0 budget load_waker recent sync?" }, /* 240 * 100 < 250 * 108 */
		{ 'S', "6.1", "nr=0:2 load=0:300,4:250 tload=60,0", "4 budget load_prev recent sync?" },
		{ 'S', "6.1", "sync nr=0:2 load=0:50,4:0 tload=60,10", "0 budget load_waker recent sync?" },
		/* the wakee's load is taken off the previous CPU and may exceed it: negative */
		{ 'S', "6.1", "load=0:0,4:5 tload=0,10", "4 budget load_prev recent sync?" },
		/* features */
		{ 'S', "6.1 no-idle", "idle=0,4", "4 target load_prev sync?" },
		{ 'S', "6.1 no-idle no-weight", "idle=0", "0 scan load_prev recent" }, /* target 4; scan 5 6 7 0 */
		{ 'S', "6.1 no-weight", "load=0:0,4:500", "4 budget load_prev recent sync?" },
		/* waker's CPU is the previous one: not asked */
		{ 'S', "6.1", "waker=4", "4 budget not_asked recent" },
	};

	(void)state;
	RUN(cases);
}

static void wide_and_domains(void **state)
{
	static const struct one cases[] = {
		/* llc_size 8: the lesser at least 8, the greater at least 8 times the lesser */
		{ 'S', "6.1", "flips=8,64 idle=0", "0 scan wide recent" },
		{ 'S', "6.1", "flips=64,8 idle=0", "0 scan wide recent" },
		{ 'S', "6.1", "flips=8,63 idle=0", "0 target idle_waker" },
		{ 'S', "6.1", "flips=7,1000 idle=0", "0 target idle_waker" },
		{ 'N', "6.1", "flips=4,16 prev=2 idle=0", "0 scan wide recent" }, /* llc_size 4; scan 3 0 */
		/* waker's CPU not allowed */
		{ 'S', "6.1", "allowed=4-7 idle=0,6", "6 scan wide recent" },
		/* no domain with wake_affine spans both */
		{ 'X', "6.1", "idle=0,4", "4 target no_domain" },
		{ 'X', "6.1", "idle=0 prev=2", "0 target idle_waker" },
		/* a guest whose CPUs share no cache: no search at all */
		{ 'V', "6.1", "sync", "0 nollc sync recent sync?" },
		{ 'V', "6.1", "idle=1", "1 target idle_prev sync?" },
		{ 'V', "6.1", "load=0:0,1:100 recent=1", "0 nollc load_waker recent sync?" },
	};

	(void)state;
	RUN(cases);
}

static void idle_sibling(void **state)
{
	static const struct one cases[] = {
		/* a kernel thread bound to its CPU wakes on it: nothing else queued, not from an interrupt (5.15) */
		{ 'S', "6.1", "waker=4 pinned idle=0", "4 kthread not_asked x1" },
		{ 'S', "6.1", "waker=4 pinned irq idle=0", "0 scan not_asked recent" },
		{ 'S', "5.10", "waker=4 pinned irq idle=0", "4 kthread not_asked" },
		{ 'S', "5.4", "waker=4 pinned idle=0", "0 scan not_asked" },
		{ 'S', "6.1", "waker=4 pinned nr=4:2 idle=0", "0 scan not_asked recent" },
		{ 'S', "6.1", "waker=0 pinned sync idle=2", "2 scan sync recent sync?" }, /* not its own CPU */
		/* recently used CPU */
		{ 'S', "6.1", "waker=4 recent=2 idle=2,5", "2 recent not_asked recent x2" },
		{ 'S', "6.1", "waker=4 recent=4 idle=5", "5 smt not_asked recent" }, /* the previous one: not again */
		{ 'S', "6.1", "sync recent=0 idle=5", "5 smt sync recent sync?" },   /* the target: not again */
		{ 'S', "6.1", "waker=4 recent=2 idle=2 allowed=4-7",
		  "4 noidle not_asked recent" }, /* four CPUs, a budget of 7 */
		{ 'S', "6.1 recent-bug", "waker=4 recent=2 idle=2 allowed=4-7", "2 recent not_asked recent" },
		{ 'N', "6.1", "waker=4 recent=2 idle=2", "4 noidle not_asked recent" }, /* other LLC */
		{ 'S', "5.10", "waker=4 recent=2 idle=2,5", "2 recent not_asked recent" },
		{ 'S', "5.10", "waker=4 recent=2 idle=5",
		  "5 scan not_asked" }, /* up to 5.14 a miss leaves it as it was */
		{ 'S', "4.14", "waker=4 recent=2 idle=2,5", "5 scan not_asked" }, /* came with 4.16 */
		/* the previous CPU's sibling, not the target's, and only without the idle-core flag */
		{ 'S', "6.1", "sync idle=1,5",
		  "5 smt sync recent sync? x4" }, /* the waker's CPU, again as target, 4, 5 */
		{ 'S', "6.1", "sync idle=1", "1 scan sync recent sync?" },
		{ 'S', "6.1", "waker=4 idle=5 allowed=4,6", "4 noidle not_asked recent" },
		{ 'S', "6.1", "waker=4 idle=5 hic=4", "5 corenone not_asked recent clear" },
		{ 'N', "6.1", "sync idle=5",
		  "0 noidle sync recent sync?" }, /* previous CPU in another LLC: no shortcut */
		/* shortcut without a budget */
		{ 'S', "6.1", "waker=4 idle=5 budget=0", "5 smt not_asked recent" },
	};

	(void)state;
	RUN(cases);
}

static void scan(void **state)
{
	static const struct one cases[] = {
		/* from the target + 1, wrapping; the target comes last */
		{ 'S', "6.1", "waker=4 idle=2,6", "6 scan not_asked recent x4" },     /* 4; sibling 5; 5 6 */
		{ 'S', "6.1", "waker=4 idle=2,3", "2 scan not_asked recent x8" },     /* 4; 5; 5 6 7 0 1 2 */
		{ 'S', "6.1", "waker=7 prev=7 idle=0,5", "0 scan not_asked recent" }, /* starts beyond the last CPU */
		/* budget: counts allowed CPUs only */
		{ 'S', "6.1", "waker=4 idle=7 budget=2", "4 budget not_asked recent x4" },
		{ 'S', "6.1", "waker=4 idle=7 budget=3", "7 scan not_asked recent x5" },
		{ 'S', "6.1", "waker=4 idle=7 budget=0", "4 budget0 not_asked recent x2" },
		{ 'S', "6.1", "waker=4 idle=0-3,7 allowed=4,7 budget=1", "7 scan not_asked recent" },
		{ 'S', "6.1", "waker=4 budget=8",
		  "4 noidle not_asked recent x10" }, /* 4; 5; all eight, the target last */
		{ 'S', "6.1 no-budget", "waker=4 idle=3 budget=0", "3 scan not_asked recent" },
		/* another budget within the range would do otherwise */
		{ 'S', "6.1", "waker=4 idle=7 budget=2 range=2,3", "4 budget not_asked recent budget?" },
		{ 'S', "6.1", "waker=4 idle=7 budget=2 range=0,2", "4 budget not_asked recent" },
		{ 'S', "6.1", "waker=4 idle=7 budget=3 range=2,3", "7 scan not_asked recent budget?" },
		{ 'S', "6.1", "waker=4 idle=7 budget=3 range=3,7", "7 scan not_asked recent" },
		{ 'S', "6.1", "waker=4 idle=7 budget=0 range=0,3", "4 budget0 not_asked recent budget?" },
		{ 'S', "6.1", "waker=4 budget=2 range=0,8", "4 budget not_asked recent" },
		{ 'S', "6.1", "waker=4 idle=6-7 hic=0 budget=2 range=1,8", "6 core not_asked recent" },
		{ 'S', "6.1", "waker=4 idle=6-7 hic=0 budget=2 range=0,8", "6 core not_asked recent budget?" },
		/* idle core: the CPU the walk stands on; a sibling need not be allowed */
		{ 'S', "6.1", "waker=4 idle=2-3,7 hic=0", "2 core not_asked recent" },
		{ 'S', "6.1", "waker=4 idle=2-3 hic=0 allowed=3-4", "3 core not_asked recent" },
		{ 'S', "6.1", "waker=4 idle=0-1,2-3 hic=0", "0 core not_asked recent" }, /* 5 6 7 0 */
		{ 'S', "6.1", "waker=3 prev=3 idle=0-1,6-7 hic=0", "6 core not_asked recent" },
		/* no idle core: first idle allowed CPU on the way, siblings ascending; the flag goes */
		{ 'S', "6.1", "waker=4 idle=1,7 hic=0", "7 corenone not_asked recent clear" },
		{ 'S', "6.1", "waker=4 idle=1,7 hic=0 allowed=0-6", "1 corenone not_asked recent clear" },
		{ 'S', "6.1", "waker=4 hic=0", "4 noidle not_asked recent clear" },
		/* without a budget nothing is searched, and the flag stays */
		{ 'S', "6.1", "waker=4 idle=6-7 hic=0 budget=0", "4 budget0 not_asked recent" },
		/* a state that is not known is not idle, and the answer hangs on it */
		{ 'S', "6.1", "waker=4 unknown=6 idle=7", "7 scan not_asked recent unknown?" },
	};

	(void)state;
	RUN(cases);
}

static void sched_idle_cpus(void **state)
{
	static const struct one cases[] = {
		{ 'S', "6.1", "waker=4 sidle=4", "4 target not_asked" },
		{ 'S', "6.1", "sync sidle=4", "4 prev sync sync?" }, /* wake_affine itself looks at idle CPUs only */
		{ 'S', "6.1", "waker=4 sidle=2 recent=2", "2 recent not_asked recent" },
		{ 'S', "6.1", "waker=4 sidle=5 idle=6", "5 smt not_asked recent" },
		{ 'S', "6.1", "waker=4 sidle=6 idle=7", "6 scan not_asked recent" }, /* as good as idle, in order */
		/* in a core search it counts as a find but makes no idle core, and ends the look at that core */
		{ 'S', "6.1", "waker=4 sidle=6 idle=7,1 hic=0", "6 corenone not_asked recent clear" },
		{ 'S', "6.1", "waker=4 sidle=6 idle=7,2,3 hic=0", "2 core not_asked recent" },
		/* 5.4: only when no CPU is idle; also when the budget ends; from the target on */
		{ 'S', "5.4", "waker=4 sidle=6 idle=1", "1 scan not_asked" },
		{ 'S', "5.4", "waker=4 sidle=6,7", "6 scan not_asked" },
		{ 'S', "5.4", "waker=4 sidle=6 idle=1 prop=4", "6 scan not_asked" }, /* 4 5 6, then no more */
		{ 'S', "4.16", "waker=4 sidle=4,6", "4 noidle not_asked" },
		/* February 2026: not for a SCHED_IDLE wakee */
		{ 'S', "6.18 tip2026", "waker=4 sidle=4", "4 target not_asked" },
		{ 'S', "6.18 tip2026", "waker=4 sidle=4,6 idlepol budget=8", "4 noidle not_asked recent" },
		{ 'S', "6.18", "waker=4 sidle=6 idlepol", "6 scan not_asked recent" },
	};

	(void)state;
	RUN(cases);
}

static void clusters(void **state)
{
	static const struct one cases[] = {
		/* target 1, its cluster 0-3 first: 2 3 0 1, then 4 5 6 7 */
		{ 'C', "6.12", "waker=1 prev=1 idle=2,5", "2 cluster not_asked recent" },
		{ 'C', "6.12", "waker=1 prev=1 idle=0,4", "0 cluster not_asked recent" },
		{ 'C', "6.1", "waker=1 prev=1 idle=0,4", "4 scan not_asked recent" },
		{ 'C', "6.12", "waker=1 prev=1 idle=5", "5 scan not_asked recent" },
		{ 'C', "6.12", "waker=1 prev=1 idle=5 budget=5", "1 budget not_asked recent" },
		{ 'C', "6.12", "waker=1 prev=1 idle=5 budget=6", "5 scan not_asked recent" },
		{ 'C', "6.12", "waker=1 prev=1 idle=5 budget=3", "1 budget not_asked recent" },
		/* an idle previous or recent CPU of another cluster is kept for the end */
		{ 'C', "6.12", "waker=1 prev=5 sync idle=5,0", "0 cluster sync recent sync?" },
		{ 'C', "6.12", "waker=1 prev=5 sync idle=5 budget=0", "5 prev sync recent sync?" },
		{ 'C', "6.1", "waker=1 prev=5 sync idle=5,0", "5 prev sync sync?" },
		{ 'C', "6.12", "waker=1 prev=5 sync idle=6 recent=6 budget=0", "6 recent sync recent sync?" },
		{ 'C', "6.12", "waker=1 prev=5 sync idle=2 recent=2", "2 recent sync recent sync?" },
		{ 'C', "6.12", "waker=1 prev=2 sync idle=2", "2 prev sync sync?" }, /* same cluster: at once */
		/* no clusters: as before */
		{ 'S', "6.12", "sync idle=4", "4 prev sync sync?" },
	};

	(void)state;
	RUN(cases);
}

static void older_kernels(void **state)
{
	static const struct one cases[] = {
		/* three passes, all from the target on: idle core, idle CPU, the target's sibling */
		{ 'S', "5.10", "waker=4 idle=2-3,7 hic=0", "2 core not_asked" },
		{ 'S', "5.10", "waker=4 idle=3,7 hic=0", "7 scan not_asked clear" },
		{ 'S', "5.10", "waker=4 idle=5 prop=1",
		  "5 smt not_asked" }, /* budget nil: the scan fails, the sibling does not */
		{ 'S', "5.10", "waker=4 idle=7 prop=4", "4 budget not_asked" }, /* 4 5 6, not 7 */
		{ 'S', "5.10", "waker=4 idle=7 prop=5", "7 scan not_asked" },
		/* 4.13 .. 4.18 counted CPUs that are not allowed as well */
		{ 'S', "4.14", "waker=4 idle=7 allowed=4,7 prop=4", "4 budget not_asked" },
		{ 'S', "4.19", "waker=4 idle=7 allowed=4,7 prop=3", "7 scan not_asked" },
		/* 5.15: one pass, behind the target, sibling of the previous CPU first */
		{ 'S', "5.15", "waker=4 idle=5 prop=1", "5 smt not_asked recent" },
		{ 'S', "5.15", "waker=4 idle=7 prop=3", "4 budget not_asked recent" }, /* 5 6 */
		{ 'S', "5.15", "waker=4 idle=7 prop=4", "7 scan not_asked recent" },
		{ 'S', "5.12", "waker=4 idle=7 prop=4", "4 budget not_asked" }, /* from the target: 4 5 6 */
	};

	(void)state;
	RUN(cases);
}

static void proposals(void **state)
{
	static const struct one cases[] = {
		/* Vagin: the waker alone on its CPU, sync: the search is left out, whatever idles */
		{ 'S', "6.1 vagin", "sync idle=4", "0 sync sync sync?" },
		{ 'S', "6.1 vagin", "idle=4", "4 target idle_prev sync?" },
		{ 'S', "6.1 vagin", "sync waker=4 idle=5",
		  "4 sync not_asked sync?" }, /* own CPU: no wake_affine before */
		{ 'S', "6.1 vagin", "sync nr=0:2,4:0 idle=4", "4 target idle_prev" },
		{ 'S', "6.1 vagin", "sync exiting idle=4", "4 target idle_prev" },
		/* SIS_CURRENT: two short tasks that wake each other and no others */
		{ 'S', "6.1 sis-current", "short mutual idle=4", "0 current not_asked" },
		{ 'S', "6.1 sis-current", "short mutual flips=0,1 idle=4", "4 target idle_prev sync?" },
		{ 'S', "6.1 sis-current", "short idle=4", "4 target idle_prev sync?" },
		{ 'S', "6.1 sis-current", "mutual idle=4", "4 target idle_prev sync?" },
		{ 'S', "6.1 sis-current", "short mutual nr=0:2,4:0 idle=4", "4 target idle_prev" },
		{ 'S', "6.1 sis-current", "short mutual allowed=4-7 idle=4", "4 target wide" },
		{ 'S', "6.1 sis-short", "short idle=4", "0 current not_asked" },
		{ 'S', "6.1 sis-short", "short idle=4,5 hic=0",
		  "4 target idle_prev sync?" }, /* not while a core idles */
		/* SIS_CACHE: in the scan an idle CPU that is spoken for is passed over; v1 takes it if nothing else is
		   there */
		{ 'S', "6.1 cache-rfc", "waker=4 idle=6,7 hot=6", "7 scan not_asked recent" },
		{ 'S', "6.1 cache-rfc", "waker=4 idle=6 hot=6", "4 budget not_asked recent" },
		{ 'S', "6.1 cache-v1", "waker=4 idle=6 hot=6", "6 scan not_asked recent" },
		{ 'S', "6.1 cache-v1", "waker=4 idle=6,7 hot=6", "7 scan not_asked recent" },
		{ 'S', "6.1 cache-v1", "waker=4 idle=6,7 hot=6,7 budget=1", "4 budget not_asked recent" },
		{ 'S', "6.1 cache-rfc", "waker=4 idle=4 hot=4",
		  "4 target not_asked" }, /* the target is taken as it is */
		{ 'S', "6.1", "waker=4 idle=6,7 hot=6", "6 scan not_asked recent" },
		/* SIS_NODE: other LLCs of the node, not of other nodes */
		{ 'P', "6.1 sis-node", "waker=1 prev=1 idle=6", "6 other-llc not_asked recent" },
		{ 'P', "6.1", "waker=1 prev=1 idle=6", "1 noidle not_asked recent" },
		{ 'N', "6.1 sis-node", "waker=1 prev=1 idle=6", "1 noidle not_asked recent" },
		{ 'P', "6.1 sis-node", "waker=1 prev=1 idle=4,6-7 hic=4",
		  "6 other-llc not_asked recent" }, /* for an idle core there */
		{ 'P', "6.1 sis-node", "waker=1 prev=1 idle=4", "4 other-llc not_asked recent" },
		{ 'P', "6.1 sis-node", "waker=1 prev=1 idle=4 budget=3",
		  "1 budget not_asked recent" }, /* 5 6 7, not 4 */
		/* WF_CURRENT_CPU, 6.6 */
		{ 'S', "6.6", "current idle=4", "0 waker not_asked" },
		{ 'S', "6.6", "current idle=4 allowed=4-7", "4 target wide" },
		{ 'S', "6.1", "current idle=4", "4 target idle_prev sync?" },
	};

	(void)state;
	RUN(cases);
}

static void capacity(void **state)
{
	static const struct one cases[] = {
		/* CPUs 4-7 have 512: a task of 409 fits (409 * 1280 < 512 * 1024), one of 410 does not */
		{ 'B', "6.1", "waker=4 tutil=409 idle=4", "4 target not_asked" },
		{ 'B', "6.1", "waker=4 tutil=410 idle=4,1", "1 capacity not_asked recent" },
		{ 'B', "6.1", "waker=4 tutil=410 idle=2 recent=2", "2 recent not_asked recent" },
		{ 'B', "6.1", "waker=4 tutil=410 idle=5 recent=5",
		  "5 capacity not_asked recent" }, /* the biggest idle one, for want of better */
		{ 'B', "6.1", "waker=4 tutil=900 idle=5,1,2",
		  "1 capacity not_asked recent" }, /* none fits: the first of the biggest */
		{ 'B', "6.1", "waker=4 tutil=410", "4 noidle not_asked recent" },
		{ 'B', "6.1", "waker=4 tutil=410 idle=1 allowed=4-7", "4 noidle not_asked recent" },
	};

	(void)state;
	RUN(cases);
}

/* The waker is the parent: its CPU and the previous one are the same. */
static void slow_path(void **state)
{
	static const struct one cases[] = {
		/* most idle CPUs, first in list order; in it the CPU idle for the shortest time */
		{ 'S', "6.1", "fork prev=0 idle=1-7 since=2:100,3:200", "3 slow not_asked" },
		{ 'S', "6.1", "fork prev=0 idle=1-7 since=2:200,3:200",
		  "2 slow not_asked" }, /* tie: the lower number */
		{ 'S', "6.1", "fork prev=0 idle=1-7 util=3:50 since=5:9",
		  "5 slow not_asked" },						      /* equal idle: less utilisation */
		{ 'S', "6.1", "fork waker=6 prev=6 idle=0-5,7", "0 slow not_asked" }, /* list order: 6-7, 0-1, 2-3 */
		/* no group has more idle CPUs than the own one: within it, the sibling */
		{ 'S', "6.1", "fork prev=0 idle=1,3", "1 slow not_asked" },
		{ 'S', "6.1", "fork prev=0 idle=1,3 allowed=0,2-7", "3 slow not_asked" },
		/* the own group is not allowed: any candidate */
		{ 'S', "6.1", "fork prev=0 idle=1 allowed=5 nr=5:3", "5 slow not_asked" },
		/* everything busy, 2000 * 117 > 2048 * 100: fully busy, and loads decide; the least loaded CPU in the
		   group */
		{ 'S', "6.1",
		  "fork prev=0 util=1000,1000,1000,1000,1000,1000,1000,1000 load=1000,1000,150,50,900,900,900,900",
		  "3 slow not_asked" },
		/* 900 is not less than 1000 by enough: 100 * 1000 <= 117 * 900; siblings: 1000 vs 980, too close as
		   well */
		{ 'S', "6.1",
		  "fork prev=0 util=1000,1000,1000,1000,1000,1000,1000,1000 load=1000,980,900,900,900,900,900,900",
		  "0 slow not_asked" },
		/* one group is overloaded (3 tasks on 2 CPUs, runnable 4096 > 2048 * 1.17): busy ones are better */
		{ 'S', "6.1",
		  "fork prev=0 nr=0:2 util=1000,1000,1000,1000,1000,1000,1000,1000 runnable=0:3000,1:1096 "
		  "load=100,100,900,800,900,900,900,900",
		  "3 slow not_asked" },
		/* in the other node 5 runs SCHED_IDLE tasks only and is taken at once; then its core stays (one idle
		 * CPU in each), and in that the idle sibling wins. Without that rule 6, idle for the shortest time,
		 * leads to the other core. */
		{ 'N', "6.1", "fork prev=0 idle=4,6 since=6:9 sidle=5", "4 slow not_asked" },
		{ 'N', "6.18 tip2026", "fork prev=0 idle=4,6 since=6:9 sidle=5 idlepol", "6 slow not_asked" },
		/* exec: the task itself does not make its CPU busy */
		{ 'S', "6.1", "exec prev=0 idle=1-7", "0 slow not_asked" },
		{ 'S', "6.1", "exec prev=0 nr=0:2 idle=2-7", "2 slow not_asked" },
		/* nodes: one task may stay while the nodes differ by up to 2 idle CPUs; a second one goes */
		{ 'N', "6.1", "exec prev=0 idle=1,4-7 nr=0:1,2:0,3:0", "0 slow not_asked" },
		{ 'N', "6.1", "exec prev=0 idle=1,4-7 nr=0:1,2:1,3:0", "4 slow not_asked" },
		{ 'N', "6.1", "fork prev=0 idle=1-7 since=6:50", "6 slow not_asked" },
		{ 'N', "6.1", "fork prev=0 idle=1-7 allowed=0-3 since=3:9", "3 slow not_asked" },
		{ 'X', "6.1", "fork prev=0 idle=1-7 since=6:50,3:9", "3 slow not_asked" }, /* nodes too far apart */
		{ 'X', "6.1", "fork prev=0 allowed=5 idle=5",
		  "0 slow not_asked" }, /* nothing allowed in the domain: previous CPU */
		/* an LLC below a package: 1-3 of the own one idle, 4-7 of the other */
		{ 'P', "6.1", "fork prev=0 idle=1-7 since=7:9", "7 slow not_asked" },
	};

	(void)state;
	RUN(cases);
}

/* ---- properties ---- */

static uint64_t lot;

static uint32_t draw(uint32_t n)
{
	lot = lot * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)(lot >> 33) % n;
}

static const char *const kernels[] = { "4.14",	       "4.19",		"5.4",	       "5.10", "5.15",
				       "6.1",	       "6.1 vagin",	"6.12",	       "6.18", "6.1 cache-v1",
				       "6.1 sis-node", "6.1 no-budget", "6.18 tip2026" };

static void cookies(void **state)
{
	static const struct one cases[] = {
		/* the scan from 5 on: 6 has another cookie, 2 the wakee's */
		{ 'S', "6.1", "idle=2,6 cookie=1 cookies=2:1,3:1,6:2,7:2 budget=9", "2 scan load_prev recent sync?" },
		{ 'S', "6.1", "idle=2,6 budget=9", "6 scan load_prev recent sync?" },
		{ 'S', "6.1", "idle=2,6 cookie=2 cookies=2:1,3:1,6:2,7:2 budget=9", "6 scan load_prev recent sync?" },
		{ 'S', "6.1", "idle=2,6 cookie=0 cookies=2:1,3:1,6:2,7:2 budget=9", "4 noidle load_prev recent sync?" },
		/* an untagged task fits untagged cores; an idle core has none, which is no cookie of a tagged task */
		{ 'S', "6.1", "idle=6-7 cookie=0 cookies=0:1 budget=9", "6 scan load_prev recent sync?" },
		{ 'S', "6.1", "idle=6-7 cookie=1 cookies=0:1 budget=9", "4 noidle load_prev recent sync?" },
		/* a look at what does not fit uses up the budget all the same */
		{ 'S', "6.1", "idle=5,6 allowed=0-4,6-7 cookie=1 cookies=6:1 budget=1", "6 scan load_prev recent sync?" },
		{ 'S', "6.1", "idle=2,6 cookie=1 cookies=2:1,3:1,6:2,7:2 budget=4", "4 budget load_prev recent sync?" },
		/* no cookie is looked at where the kernel does not: target, previous and recent CPU, sibling, idle core, what was met on the way */
		{ 'S', "6.1", "idle=4 cookie=1 cookies=4:2,5:2 budget=9", "4 target idle_prev sync?" },
		{ 'S', "6.1", "idle=5 cookie=1 cookies=4:2,5:2 budget=9", "5 smt load_prev recent sync?" },
		{ 'S', "6.1", "idle=2 recent=2 cookie=1 cookies=2:2,3:2 budget=9", "2 recent load_prev recent sync?" },
		{ 'S', "6.1", "idle=6-7 hic=0-7 cookie=1 cookies=0:1 budget=9", "6 core load_prev recent sync?" },
		{ 'S', "6.1", "idle=6 hic=0-7 cookie=1 cookies=6:2,7:2 budget=9", "6 corenone load_prev recent clear sync?" },
		/* not known: no fit, and said */
		{ 'S', "6.1", "idle=6 cookie=1 cookies=6:4294967295 budget=9", "4 noidle load_prev recent sync? unknown?" },
		{ 'S', "6.1", "idle=6 cookie=4294967295 cookies=6:1 budget=9", "4 noidle load_prev recent sync? unknown?" },
		/* slow path: groups of equal idleness; 2-3 has another cookie; a core that idles will do for any */
		{ 'S', "6.1", "fork prev=0 idle=3,5", "3 slow not_asked" },
		{ 'S', "6.1", "fork prev=0 idle=3,5 cookie=1 cookies=1,1,2,2,1,1,1,1", "5 slow not_asked" },
		{ 'S', "6.1", "fork prev=0 idle=3,6-7 cookie=1 cookies=1,1,2,2,2,2,0,0", "6 slow not_asked" },
		{ 'S', "6.1", "fork prev=0 idle=3,5 cookie=9 cookies=1,1,2,2,1,1,1,1", "0 slow not_asked" },
	};

	(void)state;
	RUN(cases);
}

static void random_state(struct fair_fixture *f)
{
	uint32_t n = f->topo->nr_cpus;

	ff_state(f, "");
	f->idle = draw(1u << n);
	f->idle &= draw(4) ? ~0ull : draw(1u << n);
	f->allowed = draw(3) ? f->topo->online[0] : draw(1u << n);
	f->in.waker_cpu = draw(n);
	f->in.prev_cpu = draw(n);
	f->allowed |= 1ull << f->in.prev_cpu;
	f->sidle = draw(4) ? 0 : draw(1u << n) & ~f->idle;
	f->in.recent_cpu = draw(4) ? draw(n) : WAKEIF_CPU_NONE;
	f->in.waker_flips = draw(200);
	f->in.wakee_flips = draw(30);
	f->in.flags |= draw(2) ? WAKEIF_WF_SYNC : 0;
	f->in.waker_pinned = !draw(8);
	f->in.waker_exiting = !draw(8);
	f->cores = draw(2) ? ~0ull : 0;
	f->in.waker_idle_cores = f->cores;
	f->in.prev_idle_cores = f->cores;
	f->budget = draw(10);
	f->min = f->budget - draw(f->budget + 1);
	f->max = f->budget + draw(4);
	f->task_load[0] = draw(500);
	f->task_load[1] = draw(500);
	for (uint32_t c = 0; c < n; c++) {
		f->load[c] = draw(3000);
		f->util[c] = draw(1024);
		f->runnable[c] = draw(3000);
		f->cpu[c].nr_running = f->idle >> c & 1 ? 0 : 1 + draw(3);
		f->cpu[c].idle_since_ns = 1 + draw(100);
	}
}

static bool same(const struct wi_fair_result *a, const struct wi_fair_result *b)
{
	return a->cpu == b->cpu && a->rule == b->rule && a->affine == b->affine && a->examined == b->examined &&
	       a->target == b->target;
}

static void check_budget(struct fair_fixture *f, const struct wi_fair_result *r)
{
	uint32_t budget = f->budget, min = f->min, max = f->max;
	bool other = false;

	for (uint32_t b = min; b <= max; b++) {
		f->budget = f->min = f->max = b;
		other |= wi_fair_select(&f->in).cpu != r->cpu;
	}
	f->budget = budget;
	f->min = min;
	f->max = max;
	assert_int_equal(other, r->budget_matters);
}

static void generated_states(void **state)
{
	static const char machines[] = { 'S', 'N', 'P', 'C', 'X' };

	(void)state;
	lot = 1;
	for (size_t m = 0; m < sizeof(machines); m++)
		for (size_t k = 0; k < sizeof(kernels) / sizeof(*kernels); k++) {
			struct fair_fixture f;

			ff_machine(&f, machines[m]);
			ff_kernel(&f, kernels[k]);
			for (unsigned i = 0; i < test_share(400); i++) {
				random_state(&f);
				struct wi_fair_result r = wi_fair_select(&f.in), again = wi_fair_select(&f.in);

				assert_true(same(&r, &again)); /* nothing is kept */
				assert_true(r.cpu < f.topo->nr_cpus);
				if (f.knobs.recent_fixed) /* the fault of 5.15: a recent CPU that is not allowed */
					assert_true(f.allowed >> r.cpu & 1);
				if (f.knobs.budget == WI_FAIR_BUDGET_UTIL && !f.knobs.sis_node && !f.knobs.cache)
					check_budget(&f, &r);
				uint32_t other = wi_fair_other_sync(&f.in, &r);

				f.in.flags ^= WAKEIF_WF_SYNC;
				assert_int_equal(wi_fair_select(&f.in).cpu, other);
				assert_true(other == r.cpu || r.sync_looked_at);
				f.in.flags = draw(2) ? WAKEIF_WF_FORK : WAKEIF_WF_EXEC;
				f.in.waker_cpu = f.in.prev_cpu;
				r = wi_fair_select(&f.in);
				assert_int_equal(r.rule, WAKEIF_RULE_SLOW);
				assert_true(f.allowed >> r.cpu & 1);
			}
			ff_fini(&f);
		}
}

/* Turning a machine of equal cores by whole cores turns the answer: no rule of the fast path knows the first CPU. */
static void turned_machine(void **state)
{
	struct fair_fixture f;

	(void)state;
	lot = 2;
	ff_machine(&f, 'S');
	for (size_t k = 0; k < sizeof(kernels) / sizeof(*kernels); k++) {
		ff_kernel(&f, kernels[k]);
		for (unsigned i = 0; i < test_share(300); i++) {
			random_state(&f);
			struct wi_fair_result r = wi_fair_select(&f.in);
			uint32_t by = 2 * (1 + draw(3));
			struct fair_fixture g = f;

#define TURN(mask) (((mask) << by | (mask) >> (8 - by)) & 0xff)
			g.idle = TURN(f.idle);
			g.sidle = TURN(f.sidle);
			g.allowed = TURN(f.allowed);
			for (uint32_t c = 0; c < 8; c++) {
				g.cpu[(c + by) % 8] = f.cpu[c];
				g.load[(c + by) % 8] = f.load[c];
			}
			g.in.waker_cpu = (f.in.waker_cpu + by) % 8;
			g.in.prev_cpu = (f.in.prev_cpu + by) % 8;
			if (f.in.recent_cpu != WAKEIF_CPU_NONE)
				g.in.recent_cpu = (f.in.recent_cpu + by) % 8;
			g.in.machine = &g.machine;
			g.in.knobs = &g.knobs;
			g.in.allowed = &g.allowed;
			g.in.idle = &g.idle;
			g.in.sidle = &g.sidle;
			g.in.unknown = &g.unknown;
			g.in.cpu = g.cpu;
			g.in.hot_until = g.hot;
			g.in.ask = &g.ask;
			g.ask.ctx = &g;
			struct wi_fair_result t = wi_fair_select(&g.in);

			assert_int_equal(t.cpu, (r.cpu + by) % 8);
			assert_int_equal(t.rule, r.rule);
			assert_int_equal(t.examined, r.examined);
		}
	}
	ff_fini(&f);
}

/* What some state of the doubtful CPUs gives must be among the reachable answers; without doubt there is one. */
static void reachable(void **state)
{
	struct fair_fixture f;
	uint64_t ambiguous = 0;

	(void)state;
	lot = 3;
	ff_machine(&f, 'S');
	for (size_t k = 0; k < sizeof(kernels) / sizeof(*kernels); k++) {
		ff_kernel(&f, kernels[k]);
		for (unsigned i = 0; i < test_share(200); i++) {
			random_state(&f);
			wakeif_word doubt_mask = draw(256) & draw(256), flip, was = f.idle;
			struct wi_fair_doubt none = { 0 }, doubt = { .uncertain = &doubt_mask };
			struct wi_fair_reach reach = wi_fair_reachable(&f.in, &none, WAKEIF_CPU_NONE);
			uint32_t answer = wi_fair_select(&f.in).cpu, other;

			assert_false(reach.ambiguous);
			assert_int_equal(reach.nr_runs, 1);
			flip = draw(256) & doubt_mask;
			f.idle ^= flip;
			other = wi_fair_select(&f.in).cpu;
			f.idle = was;
			reach = wi_fair_reachable(&f.in, &doubt, other);
			assert_true(reach.other_found || reach.gave_up);
			assert_true(other == answer || reach.ambiguous);
			reach = wi_fair_reachable(&f.in, &doubt, answer);
			assert_true(reach.other_found);
			ambiguous += reach.ambiguous;
		}
	}
	assert_true(ambiguous > 0);
	ff_fini(&f);
}

static void doubts(void **state)
{
	static const struct {
		const char *state;
		uint32_t load_percent, budget_steps;
		wakeif_word uncertain;
		bool ambiguous;
	} cases[] = {
		{ "load=0:100,4:100", 25, 0, 0, true }, /* 10000 against 10800 */
		{ "load=0:100,4:100", 5, 0, 0, false },
		{ "load=0:100,4:100 idle=4", 25, 0, 0, false },	    /* no compare: the previous CPU idles */
		{ "load=0:100,4:100 idle=4", 25, 0, 1 << 4, true }, /* ... if it does: else 0 or 4 is not sure */
		{ "waker=4 idle=7 budget=2", 0, 1, 0, true },
		{ "waker=4 idle=7 budget=2", 0, 0, 0, false },
		{ "waker=4 idle=7 budget=4", 0, 2, 0, true }, /* 3 are needed, 2 do not find it */
		{ "waker=4 idle=7 budget=5", 0, 2, 0, false },
		{ "waker=4 idle=6 budget=5", 0, 2, 0, false },
		{ "waker=4 idle=6", 0, 0, 1 << 7, false }, /* 7 comes behind 6 */
		{ "waker=4 idle=7", 0, 0, 1 << 6, true },
		{ "waker=4 idle=7", 0, 0, 1 << 4, true }, /* the target, idle or not: 4 or 7 */
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct fair_fixture f;
		struct wi_fair_doubt doubt = { .uncertain = &cases[i].uncertain,
					       .load_percent = cases[i].load_percent,
					       .budget_steps = cases[i].budget_steps };

		ff_machine(&f, 'S');
		ff_kernel(&f, "6.1");
		ff_state(&f, cases[i].state);
		if (wi_fair_reachable(&f.in, &doubt, WAKEIF_CPU_NONE).ambiguous != cases[i].ambiguous)
			fail_msg("%zu: %s", i, cases[i].state);
		ff_fini(&f);
	}
}

/* What is told step by step ends with the answer and names every idle test. */
struct listener {
	uint32_t tests, answers, last;
};

static void listen(void *ctx, const struct wi_fair_step *s)
{
	struct listener *l = ctx;

	l->tests += s->kind == WI_FAIR_STEP_IDLE;
	l->answers += s->kind == WI_FAIR_STEP_ANSWER;
	if (s->kind == WI_FAIR_STEP_ANSWER)
		l->last = s->cpu;
}

static void steps(void **state)
{
	struct fair_fixture f;

	(void)state;
	lot = 4;
	for (const char *m = "PSCN"; *m; m++) {
		ff_machine(&f, *m);
		for (size_t k = 0; k < sizeof(kernels) / sizeof(*kernels); k++) {
			ff_kernel(&f, kernels[k]);
			for (unsigned i = 0; i < test_share(100); i++) {
				struct listener l = { 0 };

				random_state(&f);
				struct wi_fair_result quiet = wi_fair_select(&f.in);

				f.in.trace = listen;
				f.in.trace_ctx = &l;
				struct wi_fair_result r = wi_fair_select(&f.in);

				assert_true(same(&r, &quiet));
				assert_int_equal(l.tests, r.examined);
				assert_int_equal(l.answers, 1);
				assert_int_equal(l.last, r.cpu);
			}
		}
		ff_fini(&f);
	}
}

/* The walk on whole masks against one CPU after the other, on machines of one and of several words. */
static void walks(void **state)
{
	(void)state;
	lot = 5;
	for (unsigned i = 0; i < test_share(4000); i++) {
		uint32_t words = 1 + draw(3), nr = words * 64 - draw(63), from = draw(nr + 1), steps, expected = 0,
			 hit = WAKEIF_CPU_NONE;
		wakeif_word set[3] = { 0 }, hits[3] = { 0 };
		uint32_t dense = 1 + draw(40);

		for (uint32_t c = 0; c < nr; c++)
			if (!draw(2)) {
				wi_mask_set(set, c);
				if (!draw(dense))
					wi_mask_set(hits, c);
			}
		for (uint32_t k = 0; k < nr && hit == WAKEIF_CPU_NONE; k++) {
			uint32_t c = (from + k) % nr;

			expected += wi_mask_test(set, c);
			if (wi_mask_test(hits, c))
				hit = c;
		}
		assert_int_equal(fair_first_hit(set, hits, words, from, &steps), hit);
		assert_int_equal(steps, expected);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(wake_affine),	 cmocka_unit_test(wide_and_domains), cmocka_unit_test(idle_sibling),
		cmocka_unit_test(scan),		 cmocka_unit_test(sched_idle_cpus),  cmocka_unit_test(clusters),
		cmocka_unit_test(older_kernels), cmocka_unit_test(proposals),	     cmocka_unit_test(capacity),
		cmocka_unit_test(slow_path),	 cmocka_unit_test(generated_states), cmocka_unit_test(turned_machine),
		cmocka_unit_test(reachable),	 cmocka_unit_test(doubts),	     cmocka_unit_test(steps),
		cmocka_unit_test(walks),	 cmocka_unit_test(cookies),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
