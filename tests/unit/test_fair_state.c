/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the models of 6.1 and later remember: sequences of decisions and happenings, each answer worked out by hand.
 * Machine: 1 LLC, cores 0-1 2-3 4-5 6-7. wakee 20, waker 30 unless a line says otherwise.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analyzer/topology/topology.h"
#include "models/registry.h"
#include "tests/unit/model_fixture.h"

static const struct wakeif_topology *topo;

static struct model_fixture *begin(const char *spec)
{
	struct wi_err err = { WI_OK, "" };

	topo = wi_topology_load("pack:1 l3:1 core:4 pu:2", &err);
	assert_non_null(topo);
	return model_fixture_new(topo, spec);
}

static void end(struct model_fixture *f)
{
	model_fixture_free(f);
	wi_topology_free(topo);
}

static void tell(struct model_fixture *f, enum wakeif_event_type type, uint8_t flags, uint32_t task, uint32_t cpu,
		 uint32_t other, uint64_t now_ns)
{
	struct wakeif_happening h = { .size = sizeof(h),
				      .type = (uint8_t)type,
				      .flags = flags,
				      .prio = 120,
				      .now_ns = now_ns,
				      .task = task,
				      .cpu = cpu,
				      .other = other };

	model_fixture_observe(f, &h);
}

static void placed(struct model_fixture *f, uint32_t task, uint32_t cpu)
{
	tell(f, WAKEIF_PLACED, 0, task, cpu, WAKEIF_CPU_NONE, 1000000000);
}

#define BUSY "budget=0:7 by=30 wakee=20 waker=4 prev=4 "
#define FROM6 "budget=0:7 by=30 wakee=20 waker=6 prev=6 "

static void recent(void **state)
{
	struct model_fixture *f = begin("linux-6.1");

	(void)state;
	model_expect(f, BUSY "idle=6", "6 scan");      /* the search was reached: recent_used_cpu is 4 now */
	model_expect(f, FROM6 "idle=4,7", "4 recent"); /* before the sibling 7; recent_used_cpu: 6 */
	model_expect(f, FROM6 "idle=6,4", "6 target"); /* not reached: stays 6 */
	model_expect(f, "budget=0:7 by=30 wakee=20 waker=2 prev=2 idle=6,3", "6 recent");
	/* another task has its own, and a slot given anew begins without */
	model_expect(f, "budget=0:7 by=30 wakee=21 waker=6 prev=6 idle=2,7", "7 smt");
	tell(f, WAKEIF_TASK_BEGAN, 0, 20, WAKEIF_CPU_NONE, WAKEIF_TASK_NONE, 1);
	model_expect(f, FROM6 "idle=2,7", "7 smt");
	/* a new task has that of its parent's CPU at the fork */
	tell(f, WAKEIF_TASK_BEGAN, WAKEIF_EV_NEW, 22, WAKEIF_CPU_NONE, 30, 1);
	tell(f, WAKEIF_PLACED, WAKEIF_EV_NEW, 22, 5, 2, 2);
	model_expect(f, "budget=0:7 by=30 wakee=22 waker=6 prev=6 idle=2,7", "2 recent");
	end(f);
}

static void idle_cores(void **state)
{
	struct model_fixture *f = begin("linux-6.1");

	(void)state;
	model_expect(f, BUSY "idle=2-3,5", "2 core"); /* at the beginning: a core idles, so the flag is taken as set */
	model_expect(f, BUSY "idle=5,3", "5 corenone");		/* none idles any more: cleared */
	model_expect(f, BUSY "idle=2-3,5", "5 smt");		/* and stays so while no CPU goes idle */
	tell(f, WAKEIF_CPU_IDLES, 0, 6, 6, WAKEIF_CPU_NONE, 1); /* 7 is busy */
	model_expect(f, BUSY "idle=3,5", "5 smt");
	tell(f, WAKEIF_TASK_ENQUEUED, 0, 25, 3, WAKEIF_CPU_NONE, 2); /* 3 is idle no more when 2 goes idle */
	tell(f, WAKEIF_CPU_IDLES, 0, 2, 2, WAKEIF_CPU_NONE, 3);
	model_expect(f, BUSY "idle=3,5", "5 smt");
	tell(f, WAKEIF_CPU_IDLES, 0, 2, 2, WAKEIF_CPU_NONE, 4); /* 3 was idle at the last decision */
	model_expect(f, BUSY "idle=2-3,5", "2 core");
	model_expect(f, BUSY "idle=2-3,5 budget=0:0", "4 budget0"); /* nothing is searched, nothing cleared */
	model_expect(f, BUSY "idle=2-3,5", "2 core");
	end(f);
}

static void core_cookies(void **state)
{
	struct model_fixture *f = begin("linux-6.1,core-sched=on");

	(void)state;
#define WAKES(wakee, idle) "budget=0:9 by=30 waker=4 prev=4 wakee=" #wakee " idle=" idle
	model_expect(f, WAKES(40, "6"), "4 noidle"); /* nobody knows what runs on 7 */
	tell(f, WAKEIF_TASK_RUNS, 0, 41, 7, WAKEIF_CPU_NONE, 1);
	model_expect(f, WAKES(40, "6"), "6 scan");
	model_expect(f, WAKES(50, "6"), "4 noidle");
	model_expect(f, WAKES(20, "6"), "4 noidle");
	model_expect(f, WAKES(60, "6"), "4 noidle");
	/* the latest pick's, while that runs */
	tell(f, WAKEIF_TASK_RUNS, 0, 51, 6, WAKEIF_CPU_NONE, 2);
	tell(f, WAKEIF_TASK_SLEEPS, 0, 41, 7, WAKEIF_CPU_NONE, 3);
	model_expect(f, WAKES(40, "7"), "4 noidle");
	model_expect(f, WAKES(50, "7"), "7 scan");
	tell(f, WAKEIF_TASK_RUNS, 0, 41, 7, WAKEIF_CPU_NONE, 4);
	tell(f, WAKEIF_TASK_PREEMPTED, 0, 41, 7, WAKEIF_CPU_NONE, 5);
	tell(f, WAKEIF_TASK_RUNS, 0, 61, 7, WAKEIF_CPU_NONE, 5);
	tell(f, WAKEIF_TASK_SLEEPS, 0, 51, 6, WAKEIF_CPU_NONE, 6);
	model_expect(f, WAKES(50, "6"), "4 noidle"); /* 61's is not known */
	/* all idle: none */
	tell(f, WAKEIF_TASK_SLEEPS, 0, 61, 7, WAKEIF_CPU_NONE, 7);
	model_expect(f, WAKES(50, "6-7"), "4 noidle");
	model_expect(f, WAKES(21, "6-7"), "6 scan");
	tell(f, WAKEIF_CPU_LOST, 0, WAKEIF_TASK_NONE, 7, WAKEIF_CPU_NONE, 8);
	model_expect(f, WAKES(22, "6"), "4 noidle");
	tell(f, WAKEIF_TASK_RUNS, 0, 24, 7, WAKEIF_CPU_NONE, 9);
	model_expect(f, WAKES(23, "6"), "6 scan");
	end(f);
	f = begin("linux-6.1");
	tell(f, WAKEIF_TASK_RUNS, 0, 41, 7, WAKEIF_CPU_NONE, 1);
	model_expect(f, WAKES(50, "6"), "6 scan");
	end(f);
}

/* The kernel's own model corrects what it remembers by what the kernel then chose. */
static void observed(void **state)
{
	struct model_fixture *f = begin("linux-6.1,history=observed");

	(void)state;
	model_expect(f, BUSY "idle=4", "4 target");
	placed(f, 20, 6); /* neither previous nor waker's CPU: the recent test was reached, 4 is remembered */
	model_expect(f, FROM6 "idle=4,7", "4 recent");
	placed(f, 20, 4);
	model_expect(f, BUSY, "4 budget"); /* the flag: no core idles */
	placed(f, 20, 4);
	model_expect(f, "budget=0:7 by=30 wakee=21 waker=4 prev=4 idle=2-3,5", "5 smt");
	placed(f, 21, 2); /* as only a set flag gives */
	model_expect(f, "budget=0:7 by=30 wakee=21 waker=4 prev=4 idle=2-3,5", "2 core");
	placed(f, 21, 5); /* as only a clear flag gives */
	model_expect(f, "budget=0:7 by=30 wakee=21 waker=4 prev=4 idle=2-3,5", "5 smt");
	end(f);
	f = begin("linux-6.1"); /* own: not so */
	model_expect(f, BUSY "idle=4", "4 target");
	placed(f, 20, 6);
	model_expect(f, FROM6 "idle=4,7", "7 smt");
	end(f);
}

/* How far the kernel looked corrects the estimated budget: 5 busy, then 5 6 7 in the scan, three looks for CPU 7. */
static void observed_budget(void **state)
{
	struct model_fixture *f = begin("linux-6.1,history=observed");

	(void)state;
	for (int i = 0; i < 2; i++) {
		model_expect(f, BUSY "idle=7", "7 scan");
		placed(f, 20, 4); /* the target: it did not get as far; once proves nothing */
	}
	model_expect(f, BUSY "idle=7", "4 budget");
	placed(f, 20, 7); /* it did */
	model_expect(f, BUSY "idle=7", "7 scan");
	placed(f, 20, 7);
	model_expect(f, BUSY "idle=7 budget=0:1", "7 scan"); /* three at least, whatever is estimated */
	placed(f, 20, 7);
	model_expect(f, BUSY "idle=0 budget=0:3", "4 budget"); /* more is not known */
	end(f);
}

static void other_sync(void **state)
{
	struct model_fixture *f = begin("linux-6.1");
	struct wakeif_choice c = model_fixture_ask(f, "budget=0:0 by=30 wakee=20 waker=0 prev=4 nosync");

	(void)state;
	/* busy, equal loads: previous CPU; with sync the waker alone on 0 */
	assert_int_equal(c.cpu, 4);
	assert_int_equal(c.other_sync_cpu, 0);
	assert_true(c.flags & WAKEIF_CHOICE_KNOWS_SYNC);
	c = model_fixture_ask(f, "budget=0:0 by=30 wakee=20 waker=0 prev=4 sync");
	assert_int_equal(c.cpu, 0);
	assert_int_equal(c.other_sync_cpu, 4);
	c = model_fixture_ask(f, "budget=0:0 by=30 wakee=20 waker=0 prev=4 sync idle=4");
	assert_int_equal(c.cpu, 4); /* previous CPU idle: either way */
	assert_int_equal(c.other_sync_cpu, 4);
	/* one CPU allowed: the kernel asks nobody */
	c = model_fixture_ask(f, "budget=0:0 by=30 wakee=20 waker=0 prev=4 sync allowed=6");
	assert_int_equal(c.cpu, 6);
	assert_int_equal(c.rule, WAKEIF_RULE_ONE_ALLOWED);
	end(f);
}

static void parameters(void **state)
{
	static const struct {
		const char *spec, *state, *expected;
	} cases[] = {
		{ "linux-6.1,nr-idle-scan=1", "budget=0:7 waker=4 prev=4 idle=7", "4 budget" },
		{ "linux-6.1,nr-idle-scan=0", "budget=0:7 waker=4 prev=4 idle=7", "4 budget0" },
		{ "linux-6.1,sis-util=off", "budget=0:0 waker=4 prev=4 idle=3", "3 scan" },
		{ "linux-6.1,wf-sync=vagin", "budget=0:7 waker=0 prev=4 sync idle=4", "0 sync" },
		{ "linux-6.1,wa-idle=off,wa-weight=off", "budget=0:7 waker=0 prev=4 idle=0,4", "4 target" },
		{ "linux-6.1,wa-idle=off", "budget=0:7 waker=0 prev=4 idle=4 load=0:0,4:9", "4 prev" },
		{ "linux-6.1,vcpu-preempted=1ms", "budget=0:7 waker=4 prev=4 idle=7 since=7:998000000", "4 budget" },
		{ "linux-6.1,vcpu-preempted=1ms", "budget=0:7 waker=4 prev=4 idle=7 since=7:999500000", "7 scan" },
		{ "linux-6.18", "budget=0:7 waker=4 prev=4 idle=7", "7 scan" },
		{ "linux-6.12", "budget=0:7 waker=0 prev=0 fork idle=1-7 since=1:1,2:1,3:9,4:1,5:1,6:1,7:1", "3 slow" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct model_fixture *f = begin(cases[i].spec);

		model_expect(f, cases[i].state, cases[i].expected);
		end(f);
	}
}

static void runs(struct model_fixture *f, uint32_t task, uint64_t at_ns, uint64_t run_ns)
{
	tell(f, WAKEIF_TASK_ENQUEUED, 0, task, 0, WAKEIF_CPU_NONE, at_ns);
	tell(f, WAKEIF_TASK_RUNS, 0, task, 0, WAKEIF_CPU_NONE, at_ns);
	tell(f, WAKEIF_TASK_SLEEPS, 0, task, 0, WAKEIF_CPU_NONE, at_ns + run_ns);
}

static void short_tasks(void **state)
{
	struct model_fixture *f = begin("linux-6.1,wf-sync=sis-current,short-run=200us");

	(void)state;
	tell(f, WAKEIF_TASK_BEGAN, 0, 20, WAKEIF_CPU_NONE, WAKEIF_TASK_NONE, 1);
	tell(f, WAKEIF_TASK_BEGAN, 0, 30, WAKEIF_CPU_NONE, WAKEIF_TASK_NONE, 1);
	runs(f, 20, 1000, 100000);
	runs(f, 30, 500000, 100000);
	model_expect(f, "budget=0:7 by=30 wakee=20 waker=0 prev=4 idle=4", "4 target"); /* 20 has woken nobody yet */
	model_expect(f, "budget=0:7 by=20 wakee=30 waker=0 prev=4 idle=4", "0 current");
	model_expect(f, "budget=0:7 by=30 wakee=20 waker=0 prev=4 idle=4", "0 current");
	runs(f, 20, 1000000, 5000000); /* average (100 us * 7 + 5 ms) / 8 */
	model_expect(f, "budget=0:7 by=30 wakee=20 waker=0 prev=4 idle=4", "4 target");
	end(f);
}

static void reserved_cpus(void **state)
{
	struct model_fixture *f = begin("linux-6.1,sis-cache=rfc");
	const uint64_t now = 1000000000; /* of the fixture's decisions */

	(void)state;
	model_expect(f, BUSY, "4 budget"); /* makes room for the slots */
	/* 20 sleeps 100 us at a time; it last left CPU 6 idle 50 us ago: 6 is its own for 50 us more */
	tell(f, WAKEIF_TASK_SLEEPS, 0, 20, 6, WAKEIF_CPU_NONE, now - 300000);
	tell(f, WAKEIF_TASK_ENQUEUED, 0, 20, 6, WAKEIF_CPU_NONE, now - 200000);
	tell(f, WAKEIF_TASK_RUNS, 0, 20, 6, WAKEIF_CPU_NONE, now - 200000);
	tell(f, WAKEIF_TASK_SLEEPS, 0, 20, 6, WAKEIF_CPU_NONE, now - 50000);
	tell(f, WAKEIF_CPU_IDLES, 0, 6, 6, WAKEIF_CPU_NONE, now - 50000);
	model_expect(f, "budget=0:7 by=30 wakee=21 waker=4 prev=4 idle=6,1", "1 scan");
	tell(f, WAKEIF_CPU_WAKES, 0, 6, 6, WAKEIF_CPU_NONE, now - 40000);
	tell(f, WAKEIF_CPU_IDLES, 0, 6, 6, WAKEIF_CPU_NONE, now - 30000); /* somebody unknown left it: nobody's */
	model_expect(f, "budget=0:7 by=30 wakee=21 waker=4 prev=4 idle=6,1", "6 scan");
	end(f);
}

static void kernels(void **state)
{
	static const struct {
		uint32_t major, minor;
		const char *name;
		bool exact;
	} cases[] = { { 6, 1, "linux-6.1", true },   { 6, 6, "linux-6.6", true },    { 6, 8, "linux-6.6", false },
		      { 6, 12, "linux-6.12", true }, { 6, 17, "linux-6.12", false }, { 6, 18, "linux-6.18", true },
		      { 7, 0, "linux-6.18", false } };

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		bool exact;
		const struct wakeif_model_ops *ops =
			wi_model_of_kernel(cases[i].major << 16 | cases[i].minor << 8, &exact);

		assert_non_null(ops);
		assert_string_equal(ops->name, cases[i].name);
		assert_int_equal(exact, cases[i].exact);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(recent),	   cmocka_unit_test(idle_cores),    cmocka_unit_test(observed),
		cmocka_unit_test(observed_budget), cmocka_unit_test(other_sync),    cmocka_unit_test(parameters),
		cmocka_unit_test(short_tasks),	   cmocka_unit_test(reserved_cpus), cmocka_unit_test(kernels),
		cmocka_unit_test(core_cookies),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
