/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The state machine on hand-made traces; numbers in names are those of METRICS' rules of record. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analyzer/base/cpumask.h"
#include "tests/unit/tl_fixture.h"

static const struct tl_fixture_opts plain, no_oncpu = { .oncpu_ns = 1 };

/* A wakeup that moves to an idle CPU: decided at the migrate record, pending until the enqueue. */
static void moved_wakeup(void **state)
{
	(void)state;
	const char *events = "1000 0 100 other\n"
			     "1000 1 200 switch S 0\n"
			     "2000 0 100 waking 200 1\n"
			     "2005 0 100 migrate 200 1 4\n"
			     "2020 4 0 wakeup 200 4\n"
			     "2030 4 0 switch R 200\n"
			     "9000 0 100 other\n";

	tl_expect(&plain, events, "DC",
		  "D 2005 200 select waker 100@0 prev 1 chosen 4 idle 1-7\n"
		  "C 2030 200 run latency 30 wait 10 on 4 after 0\n");
}

static void idle_covers_pending(void **state)
{
	(void)state;
	tl_expect(&plain,
		  "1000 0 100 other\n"
		  "1000 1 200 switch S 0\n"
		  "2000 0 100 waking 200 1\n"
		  "2005 0 100 migrate 200 1 4\n"
		  "2020 4 0 wakeup 200 4\n"
		  "2030 4 0 switch R 200\n",
		  "W", "W 2020 cpu4 200 +1\nW 2030 cpu4 200 -1\n");
	char *told = tl_fixture_run(&plain,
				    "1000 0 100 other\n"
				    "1000 1 200 switch S 0\n"
				    "2000 0 100 waking 200 1\n"
				    "2005 0 100 migrate 200 1 4\n"
				    "2020 4 0 wakeup 200 4\n"
				    "2030 4 0 switch R 200\n",
				    "I", NULL);
	assert_non_null(strstr(told, "I 2005 cpu4 0\n"));
	assert_null(strstr(told, "I 2020 cpu4"));
	free(told);
}

/* Rule 14: not moved: the earliest of t_wake + g, the waker's next record, the sched_wakeup. */
static void decision_instant(void **state)
{
	(void)state;
	/* g = 10 */
	tl_expect(&no_oncpu, "1000 0 100 other\n1000 1 200 switch S 0\n2000 0 100 waking 200 1\n2050 0 100 other\n2060 1 0 wakeup 200 1\n2070 1 0 switch R 200\n",
		  "D", "D 2010 200 select waker 100@0 prev 1 chosen 1 idle 1-7\n");
	/* the waker's next record */
	tl_expect(&no_oncpu, "1000 0 100 other\n1000 1 200 switch S 0\n2000 0 100 waking 200 1\n2003 0 100 other\n2060 1 0 wakeup 200 1\n2070 1 0 switch R 200\n",
		  "D", "D 2003 200 select waker 100@0 prev 1 chosen 1 idle 1-7\n");
	/* the sched_wakeup */
	tl_expect(&no_oncpu, "1000 0 100 other\n1000 1 200 switch S 0\n2000 0 100 waking 200 1\n2004 1 0 wakeup 200 1\n2070 1 0 switch R 200\n2080 0 100 other\n", "D",
		  "D 2004 200 select waker 100@0 prev 1 chosen 1 idle 1-7\n");
	/* the state is that before the instant: CPU 3 stops being idle 1 ns before it, CPU 5 at it */
	tl_expect(&no_oncpu,
		  "1000 0 100 other\n1000 1 200 switch S 0\n2000 0 100 waking 200 1\n2009 3 0 switch R 300\n2010 5 0 switch R 500\n2050 0 100 other\n"
		  "2060 1 0 wakeup 200 1\n2070 1 0 switch R 200\n",
		  "D", "D 2010 200 select waker 100@0 prev 1 chosen 1 idle 1-2,4-7\n");
}

/* Rule 20. */
static void stalled_waker(void **state)
{
	(void)state;
	tl_expect(&no_oncpu, "1000 0 100 other\n1000 1 200 switch S 0\n2000 0 100 waking 200 1\n2060 1 0 wakeup 200 1\n102001 0 100 other\n103000 1 0 other\n", "D",
		  "D 2010 200 select waker 100@0 prev 1 chosen 1 idle 1-7 stalled\n");
	tl_expect(&no_oncpu, "1000 0 100 other\n1000 1 200 switch S 0\n2000 0 100 waking 200 1\n2060 1 0 wakeup 200 1\n102000 0 100 other\n103000 1 0 other\n", "D",
		  "D 2010 200 select waker 100@0 prev 1 chosen 1 idle 1-7\n");
	/* the recording ends before anybody could know */
	tl_expect(&no_oncpu, "1000 0 100 other\n1000 1 200 switch S 0\n2000 0 100 waking 200 1\n2060 1 0 wakeup 200 1\n", "D",
		  "D 2010 200 select waker 100@0 prev 1 chosen 1 idle 1-7\n");
}

/* Rule 17. */
static void class_self(void **state)
{
	(void)state;
	tl_expect(&plain, "1000 0 100 other\n2000 0 100 waking 100 0\n2001 0 100 wakeup 100 0\n", "DC",
		  "D 2001 100 self waker 100@0 prev 0 chosen 0 idle 1-7\nC 2001 100 running\n");
	/* from an interrupt that hit the task itself: not by itself, but it has not left its queue */
	tl_expect(&plain, "1000 0 100 other\n2000 0 100h waking 100 0\n2001 0 100h wakeup 100 0\n", "DC",
		  "D 2001 100 onrq waker 100@0 prev 0 chosen 0 idle 1-7\nC 2001 100 running\n");
}

static void class_onrq_waiting(void **state)
{
	(void)state;
	/* 200 was preempted while about to sleep: it waits, is woken, and its wait counts from the sched_waking */
	tl_expect(&plain,
		  "1000 0 100 other\n1000 1 200 other\n1500 1 200 switch R+ 300\n2000 0 100 waking 200 1\n2001 0 100 wakeup 200 1\n2600 1 300 switch S 200\n", "DC",
		  "D 2001 200 onrq waker 100@0 prev 1 chosen 1 idle 2-7\nC 2600 200 run latency 600 wait 599 on 1 after 300\n");
}

/* perfetto 6788 (reports A 4): waking while running, then a switch-out, the sched_wakeup after it. */
static void class_oncpu(void **state)
{
	(void)state;
	tl_expect(&plain,
		  "1000 0 100 other\n1000 1 200 other\n2000 0 100 waking 200 1\n2004 1 200 switch S 0\n2050 1 0h wakeup 200 1\n2060 1 0 switch R 200\n2070 0 100 other\n",
		  "DC", "D 2010 200 oncpu waker 100@0 prev 1 chosen 1 idle 1-7\nC 2060 200 run latency 10 wait 10 on 1 after 0\n");
	/* blocked 4 us before */
	tl_expect(&plain,
		  "1000 0 100 other\n1000 1 200 switch S 0\n5000 0 100 waking 200 1\n5050 1 0h wakeup 200 1\n5060 1 0 switch R 200\n5070 0 100 other\n", "D",
		  "D 5010 200 oncpu waker 100@0 prev 1 chosen 1 idle 1-7\n");
	/* blocked 5 us before: no longer */
	tl_expect(&plain,
		  "1000 0 100 other\n1000 1 200 switch S 0\n6000 0 100 waking 200 1\n6050 1 0h wakeup 200 1\n6060 1 0 switch R 200\n6070 0 100 other\n", "D",
		  "D 6010 200 select waker 100@0 prev 1 chosen 1 idle 1-7\n");
	/* another task is queued there: the kernel could not use the wakelist */
	tl_expect(&plain,
		  "1000 0 100 other\n1000 1 200 switch S 300\n2000 0 100 waking 200 1\n2050 1 300h wakeup 200 1\n2060 1 300 switch S 200\n2070 0 100 other\n", "D",
		  "D 2010 200 select waker 100@0 prev 1 chosen 1 idle 2-7\n");
}

static void class_pinned_and_fallback(void **state)
{
	(void)state;
	uint64_t one = 1 << 3, two = 3 << 4;
	struct wi_task_fact facts[] = { { .pid = 200, .policy = 0, .nice = 0, .allowed = &one }, { .pid = 201, .policy = 0, .nice = 0, .allowed = &two } };
	struct tl_fixture_opts o = { .facts = facts, .nr_facts = 2 };

	tl_expect(&o, "1000 0 100 other\n1000 3 200 switch S 0\n9000 0 100 waking 200 3\n9005 3 0 wakeup 200 3\n", "D",
		  "D 9005 200 pinned waker 100@0 prev 3 chosen 3 idle 1-7\n");
	tl_expect(&o, "1000 0 100 other\n1000 3 201 switch S 0\n9000 0 100 waking 201 3\n9004 0 100 migrate 201 3 4\n9005 4 0 wakeup 201 4\n", "D",
		  "D 9004 201 fallback waker 100@0 prev 3 chosen 4 idle 1-7\n");
	tl_expect(&plain, "1000 0 100 other\n1000 3 30=kworker/3:1 switch S 0\n9000 0 100 waking 30=kworker/3:1 3\n9005 3 0 wakeup 30=kworker/3:1 3\n", "D",
		  "D 9005 30 pinned waker 100@0 prev 3 chosen 3 idle 1-7\n");
	/* unbound workers and names that only look like it */
	tl_expect(&plain, "1000 0 100 other\n1000 3 30=kworker/u8:1 switch S 0\n9000 0 100 waking 30=kworker/u8:1 3\n9005 3 0 wakeup 30=kworker/u8:1 3\n", "D",
		  "D 9005 30 select waker 100@0 prev 3 chosen 3 idle 1-7\n");
	/* seen on another CPU: the name is wrong */
	tl_expect(&plain,
		  "1000 0 100 other\n1000 2 30=ksoftirqd/3 switch S 0\n9000 0 100 waking 30=ksoftirqd/3 2\n9005 2 0 wakeup 30=ksoftirqd/3 2\n"
		  "9010 2 0 switch R 30=ksoftirqd/3\n9020 2 30=ksoftirqd/3 switch S 0\n"
		  "99000 0 100 waking 30=ksoftirqd/3 2\n99005 2 0 wakeup 30=ksoftirqd/3 2\n",
		  "D",
		  "D 9005 30 pinned waker 100@0 prev 2 chosen 2 idle 1-7\nD 99005 30 select waker 100@0 prev 2 chosen 2 idle 1-7\n");
}

static void class_rt_dl(void **state)
{
	(void)state;
	tl_expect(&plain, "1000 0 100 other\n1000 1 200 switch S 0\n9000 0 100 waking 200 1 49\n9005 1 0 wakeup 200 1 49\n", "D",
		  "D 9005 200 rt waker 100@0 prev 1 chosen 1 idle 1-7\n");
	tl_expect(&plain, "1000 0 100 other\n1000 1 200 switch S 0\n9000 0 100 waking 200 1 -1\n9005 1 0 wakeup 200 1 -1\n", "D",
		  "D 9005 200 dl waker 100@0 prev 1 chosen 1 idle 1-7\n");
}

/* 6.12: 200 blocked on CPU 1 while 300 was queued there ever since; woken on the spot although others idle. */
static void class_delayed(void **state)
{
	(void)state;
	const char *events = "1000 0 100 other\n1000 1 200 other\n1200 0 100 waking 300 1\n1205 0 100 wakeup 300 1\n2000 1 200 switch S 300\n"
			     "9000 0 100 waking 200 1\n9001 0 100 wakeup 200 1\n9500 1 300 switch R+ 200\n";
	struct tl_fixture_opts new_kernel = { .kernel_version = 6 << 16 | 12 << 8 }, old_kernel = { .kernel_version = 6 << 16 | 1 << 8 };

	tl_expect(&new_kernel, events, "D",
		  "D 1205 300 unknown waker 100@0 prev 1 chosen 1 idle 2-7\nD 9001 200 select(delayed?) waker 100@0 prev 1 chosen 1 idle 2-7\n");
	tl_expect(&old_kernel, events, "D",
		  "D 1205 300 unknown waker 100@0 prev 1 chosen 1 idle 2-7\nD 9001 200 select waker 100@0 prev 1 chosen 1 idle 2-7\n");
}

static void class_delayed_since_when(void **state)
{
	(void)state;
	struct tl_fixture_opts new_kernel = { .kernel_version = 6 << 16 | 12 << 8 };

	/* 300 and 400 take each other's place on CPU 1: one of them was always queued */
	tl_expect(&new_kernel,
		  "1000 0 100 other\n1000 1 200 other\n1200 0 100 waking 300 1\n1205 0 100 wakeup 300 1\n2000 1 200 switch S 300\n"
		  "3000 1 300 new 400 1\n4000 1 300 switch R+ 400\n5000 1 400 switch S 300\n9000 0 100 waking 200 1\n9001 0 100 wakeup 200 1\n",
		  "D",
		  "D 1205 300 unknown waker 100@0 prev 1 chosen 1 idle 2-7\nD 3000 400 fork waker 300@1 prev 1 chosen 1 idle 2-7\n"
		  "D 9001 200 select(delayed?) waker 100@0 prev 1 chosen 1 idle 2-7\n");
	/* 200 was never seen to block: since when it is off its queue is not known */
	tl_expect(&new_kernel,
		  "1000 0 100 other\n1000 1 0 switch R 300\n9000 0 100 waking 200 1\n9001 0 100 wakeup 200 1\n", "D",
		  "D 9001 200 select waker 100@0 prev 1 chosen 1 idle 2-7\n");
}

/* Preempted while about to sleep, between sched_waking and sched_wakeup: it never left its queue. */
static void class_onrq_preempted(void **state)
{
	(void)state;
	tl_expect(&plain,
		  "1000 0 100 other\n1000 1 200 other\n1100 0 100 waking 300 1\n1101 0 100 wakeup 300 1\n2000 0 100 waking 200 1\n2002 1 200 switch R+ 300\n"
		  "2005 0 100 wakeup 200 1\n2600 1 300 switch S 200\n",
		  "D", "D 1101 300 unknown waker 100@0 prev 1 chosen 1 idle 2-7\nD 2005 200 onrq waker 100@0 prev 1 chosen 1 idle 2-7\n");
}

/* Rule 16: sent by an IPI, the record's CPU is not the waker's: that it is unknown does not make the wakeup so. */
static void lone_wakeup_on_unknown_cpu(void **state)
{
	(void)state;
	struct tl_fixture_opts o = { .no_waking = true };

	tl_expect(&o, "1000 0 100 other\n1000 1 200 switch S 0\n2000 1 0 lost\n3000 1 0h wakeup 200 1\n", "D",
		  "D 3000 200 select waker -1@1 prev 1 chosen 1 idle 2-7 unknown 1\n");
}

/* Rule 10: a task never seen before its first sched_waking. */
static void class_unknown_wakee(void **state)
{
	(void)state;
	/* prev_cpu was never idle and nothing moved: it may have been queued there */
	tl_expect(&plain, "1000 0 100 other\n1000 1 300 other\n2000 0 100 waking 200 1\n2001 0 100 wakeup 200 1\n2600 1 300 switch S 200\n", "D",
		  "D 2001 200 unknown waker 100@0 prev 1 chosen 1 idle 2-7\n");
	/* prev_cpu idles: a runnable task would have run there */
	tl_expect(&plain, "1000 0 100 other\n1000 1 0 other\n2000 0 100 waking 200 1\n2001 1 0 wakeup 200 1\n", "D",
		  "D 2001 200 select waker 100@0 prev 1 chosen 1 idle 1-7\n");
	/* it moved: only a task off its queue is placed */
	tl_expect(&plain, "1000 0 100 other\n1000 1 300 other\n2000 0 100 waking 200 1\n2001 0 100 migrate 200 1 2\n2005 2 0 wakeup 200 2\n", "D",
		  "D 2001 200 select waker 100@0 prev 1 chosen 2 idle 2-7\n");
}

static void forked(void **state)
{
	(void)state;
	tl_expect(&plain, "1000 0 100 other\n2000 0 100 fork 200\n2010 0 100 new 200 3\n2050 3 0 switch R 200\n3000 3 200 exit\n3100 3 200 switch X 0\n", "DCMG",
		  "D 2010 200 fork waker 100@0 prev 0 chosen 3 idle 1-7\n"
		  "C 2050 200 run latency 40 wait 40 on 3 after 0\n"
		  "G 200 run 1050 wait 40 sleep 10 unknown 0\n"
		  "G 100 run 2100 wait 0 sleep 0 unknown 0\n");
}

/* lisa 926, 1170 (reports A 9): a pid comes back as another task. */
static void pid_reuse(void **state)
{
	(void)state;
	struct wi_timeline_quality q;
	char *told = tl_fixture_run(&plain,
				    "1000 0 42=make other\n2000 0 42=make switch X 0\n3000 1 100 new 42=sh 2\n3050 2 0 switch R 42=sh\n3100 2 42=sh switch S 0\n", "G", &q);
	assert_string_equal(told, "G make:42 run 1000 wait 0 sleep 0 unknown 0\nG sh:42 run 50 wait 50 sleep 0 unknown 0\nG 100 run 2100 wait 0 sleep 0 unknown 0\n");
	assert_int_equal(q.repairs.reused_pids, 0);
	free(told);
	told = tl_fixture_run(&plain, "1000 0 42=make switch S 0\n3000 1 100 new 42=sh 2\n3050 2 0 switch R 42=sh\n3100 2 42=sh switch S 0\n", "G", &q);
	assert_string_equal(told, "G make:42 run 0 wait 0 sleep 2000 unknown 0\nG sh:42 run 50 wait 50 sleep 0 unknown 0\nG 100 run 2100 wait 0 sleep 0 unknown 0\n");
	assert_int_equal(q.repairs.reused_pids, 1);
	free(told);
}

/* perfetto 53, rezolus 1045 (reports A 5, 6): one idle task a CPU, never a task of its own. */
static void idle_task_is_no_task(void **state)
{
	(void)state;
	tl_expect(&plain, "1000 0 100 switch S 0\n1000 1 101 switch S 0\n5000 0 0 other\n", "KG",
		  "K 1000 cpu0 busy 100\nK 1000 cpu1 busy 101\nK 1000 cpu2 idle 0\nK 1000 cpu3 idle 0\nK 1000 cpu4 idle 0\nK 1000 cpu5 idle 0\n"
		  "K 1000 cpu6 idle 0\nK 1000 cpu7 idle 0\nK 1000 cpu0 idle 0\nK 1000 cpu1 idle 0\n"
		  "G 101 run 0 wait 0 sleep 4000 unknown 0\nG 100 run 0 wait 0 sleep 4000 unknown 0\n");
}

/* orbit 2494, lisa 1750 (reports A 24): a gap makes the CPU unknown until its next switch. */
static void gap(void **state)
{
	(void)state;
	struct wi_timeline_quality q;
	char *told = tl_fixture_run(&plain,
				    "1000 0 100 other\n1000 1 200 other\n2000 1 200 lost\n2500 0 100 waking 300 2\n2502 0 100 other\n2503 2 0 wakeup 300 2\n"
				    "3000 1 400 other\n4000 1 400 switch S 0\n5000 1 0 other\n",
				    "KDG", &q);
	assert_non_null(strstr(told, "K 2000 cpu1 unknown 0\n"));
	assert_non_null(strstr(told, "D 2502 300 select waker 100@0 prev 2 chosen 2 idle 2-7 unknown 1\n"));
	assert_non_null(strstr(told, "K 4000 cpu1 idle 0\n"));
	assert_non_null(strstr(told, "G 200 run 1000 wait 0 sleep 0 unknown 3000\n"));
	assert_int_equal(q.unknown_ns, 2000);
	assert_int_equal(q.lost_marks, 1);
	assert_int_equal(q.chain_breaks, 0);
	free(told);
}

static void ghosts_and_throttling(void **state)
{
	(void)state;
	struct wi_timeline_quality q;
	/* 200 leaves runnable and the CPU idles: throttled, it comes back with no wakeup */
	char *told = tl_fixture_run(&plain, "1000 0 100 other\n1000 1 200 switch R 0\n5000 1 0 switch R 200\n6000 1 200 switch S 0\n", "WG", &q);
	assert_string_equal(told, "G 200 run 1000 wait 0 sleep 0 unknown 4000 throttled\nG 100 run 5000 wait 0 sleep 0 unknown 0\n");
	assert_int_equal(q.repairs.ghosts, 1);
	free(told);
	/* a lost switch leaves 200 waiting; the CPU idles: it is not there */
	told = tl_fixture_run(&plain, "1000 0 100 other\n1000 1 200 switch R+ 300\n2000 1 300 switch S 0\n3000 0 100 waking 200 1\n3005 1 0 wakeup 200 1\n3006 1 0 switch R 200\n",
			      "DWC", &q);
	assert_string_equal(told, "W 1000 cpu1 200 +1\nW 2000 cpu1 200 -1\n"
				  "D 3005 200 select waker 100@0 prev 1 chosen 1 idle 1-7\n"
				  "W 3005 cpu1 200 +1\nW 3006 cpu1 200 -1\nC 3006 200 run latency 6 wait 1 on 1 after 0\n");
	assert_int_equal(q.repairs.ghosts, 1);
	free(told);
}

/* bcc 2973 (reports A 25). */
static void inferred_migration(void **state)
{
	(void)state;
	tl_expect(&plain, "1000 0 100 other\n1000 1 200 switch S 0\n2000 2 0 switch R 200\n3000 2 200 switch S 0\n", "M", "M 2000 200 1>2 inferred\n");
	/* no sched_migrate_task recorded: the sched_wakeup names another CPU */
	tl_expect(&plain, "1000 0 100 other\n1000 1 200 switch S 0\n9000 0 100 waking 200 1\n9005 0 100 wakeup 200 5\n9010 5 0 switch R 200\n", "DM",
		  "D 9005 200 select waker 100@0 prev 1 chosen 5 idle 1-7\nM 9005 200 1>5 inferred placement\n");
}

/* perfetto 452 (reports A 19): CPU 1's clock is 2 ms behind. */
static void skew(void **state)
{
	(void)state;
	struct wi_timeline_quality q;
	char *told = tl_fixture_run(&plain, "1000000 0 0 switch R 100\n1000000 1 0 other\n4000000 1 0 switch R 100\n5000000 1 100 switch S 0\n6000000 0 100 switch S 0\n", "C", &q);

	assert_int_equal(q.skew.ns, 2000000);
	assert_int_equal(q.skew.cpu_a, 0);
	assert_int_equal(q.repairs.elsewhere, 1);
	free(told);
}

/* Rule 3: CPU 1's buffer starts late; the task of its first record was seen elsewhere before. */
static void late_start(void **state)
{
	(void)state;
	struct wi_timeline_quality q;
	char *told = tl_fixture_run(&plain, "1000 0 0 other\n2000 0 0 switch R 200\n3000 0 200 switch S 0\n9000 1 200 switch S 0\n9500 0 0 other\n", "K", &q);

	assert_non_null(strstr(told, "K 2000 cpu1 unknown 0\n"));
	assert_non_null(strstr(told, "K 9000 cpu1 idle 0\n"));
	assert_int_equal(q.skew.ns, 0);
	assert_int_equal(q.unknown_ns, 7000);
	free(told);
}

/* trace-viewer 19 (reports C 63): with nothing but switches, sleep is not told from wait. */
static void switch_only(void **state)
{
	(void)state;
	tl_expect(&(struct tl_fixture_opts){ .switch_only = true }, "1000 0 100 switch S 0\n5000 0 0 switch R 100\n6000 0 100 switch R+ 200\n7000 0 200 switch S 100\n8000 0 100 other\n",
		  "G", "G 200 run 1000 wait 0 sleep 0 unknown 6000\nG 100 run 2000 wait 1000 sleep 0 unknown 4000\n");
}

/* Rule 16: a kernel before 4.3. */
static void only_wakeups(void **state)
{
	(void)state;
	struct tl_fixture_opts o = { .no_waking = true };

	tl_expect(&o, "1000 0 100 other\n1000 1 200 switch S 0\n9000 0 100 wakeup 200 3\n9010 3 0 switch R 200\n9100 3 200 switch S 0\n9200 3 0 failed 200 3\n", "DC",
		  "D 9000 200 select waker 100@0 prev 1 chosen 3 idle 1-7\nC 9010 200 run latency 10 wait 10 on 3 after 0\n");
	tl_expect(&o, "1000 0 100 other\n1000 1 200 switch S 0\n9000 3 0h wakeup 200 3\n9010 3 0 switch R 200\n", "D",
		  "D 9000 200 select waker -1@3 prev 1 chosen 3 idle 1-7\n");
}

/* reports A 12: duplicates and failures are not wakeups of their own. */
static void duplicates(void **state)
{
	(void)state;
	struct wi_timeline_quality q;
	char *told = tl_fixture_run(&plain,
				    "1000 0 100 other\n1000 1 200 switch S 300\n9000 0 100 waking 200 1\n9001 0 100 wakeup 200 1\n9100 0 100 waking 200 1\n9101 0 100 wakeup 200 1\n"
				    "9200 0 100 failed 200 1\n9500 1 300 switch R+ 200\n",
				    "C", &q);
	assert_string_equal(told, "C 9101 200 replaced\nC 9500 200 run latency 500 wait 499 on 1 after 300\n");
	assert_int_equal(q.repairs.duplicate_waking, 1);
	assert_int_equal(q.repairs.unsuccessful, 1);
	free(told);
}

/* A recording without sched_wakeup, and one switch missing: the wait counts from the first sched_waking, as in perf sched timehist. */
static void woken_twice(void **state)
{
	(void)state;
	tl_expect(&plain, "1000 0 100 other\n1000 1 200 switch S 0\n9000 0 100 waking 200 1\n19000 0 100 waking 200 1\n19100 1 0 switch R 200\n", "C",
		  "C 19010 200 replaced\nC 19100 200 run latency 10100 on 1 after 0\n");
}

/* The same recording: woken while running, it runs on; its later sleep and waking are another wakeup. */
static void woken_while_running(void **state)
{
	(void)state;
	tl_expect(&plain, "1000 0 100 other\n1000 1 200 other\n9000 0 100 waking 200 1\n10000 1 200 switch S 0\n19000 0 100 waking 200 1\n19100 1 0 switch R 200\n", "C",
		  "C 9010 200 running\nC 19100 200 run latency 100 on 1 after 0\n");
}

/* scx 1318 (reports A 53): open at the end is censored; the window may end before the trace does. */
static void censored(void **state)
{
	(void)state;
	struct tl_fixture_opts o = { .stop_ns = 9400 };
	struct wi_timeline_quality q;
	const char *events = "1000 0 100 other\n1000 1 200 switch S 300\n9000 0 100 waking 200 1\n9001 0 100 wakeup 200 1\n9500 1 300 switch R+ 200\n9600 0 100 other\n";
	char *told = tl_fixture_run(&o, events, "CG", &q);

	assert_string_equal(told, "C 9400 200 censored\nG 300 run 8400 wait 0 sleep 0 unknown 0\nG 200 run 0 wait 399 sleep 8001 unknown 0\nG 100 run 8400 wait 0 sleep 0 unknown 0\n");
	assert_int_equal(q.censored_oldest_ns, 400);
	assert_int_equal(q.window_end_ns, 9400);
	free(told);
	/* the start: state is built, nothing counted */
	o = (struct tl_fixture_opts){ .start_ns = 9450 };
	told = tl_fixture_run(&o, events, "G", &q);
	assert_string_equal(told, "G 300 run 50 wait 100 sleep 0 unknown 0\nG 200 run 100 wait 50 sleep 0 unknown 0\nG 100 run 150 wait 0 sleep 0 unknown 0\n");
	assert_int_equal(q.events[WI_EV_SCHED_SWITCH], 1);
	free(told);
}

/* wakes nothing that the trace shows within the look-ahead */
static void unresolved(void **state)
{
	(void)state;
	struct wi_timeline_quality q;
	char *text = NULL, *told;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	fprintf(f, "1000 0 100 other\n1000 1 200 switch S 0\n2000 0 100 waking 200 1\n");
	for (int i = 0; i < 17000; i++) /* two counted records each */
		fprintf(f, "%d 2 300 switch S 0\n%d 2 0 switch R 300\n", 300000 + 20 * i, 300010 + 20 * i);
	fclose(f);
	told = tl_fixture_run(&(struct tl_fixture_opts){ .first = "2=300" }, text, "D", &q);
	assert_string_equal(told, "D 2010 200 unknown waker 100@0 prev 1 chosen -1 idle 1,3-7 stalled\n");
	assert_int_equal(q.repairs.unresolved, 1);
	free(told);
	free(text);
}

/* Rule 11: a thread that execs takes its leader's pid. */
static void exec_by_thread(void **state)
{
	(void)state;
	tl_expect(&plain, "1000 0 102 other\n1000 1 101 switch S 0\n2000 0 101 exec 101 102\n3000 0 101 switch S 0\n", "G",
		  "G 101 run 0 wait 0 sleep 1000 unknown 0\nG 101 run 2000 wait 0 sleep 0 unknown 0\n");
}

static void exec_renames(void **state)
{
	(void)state;
	tl_expect(&plain, "1000 0 102=bash other\n1000 1 101=bash switch S 0\n2000 0 102=bash exec 102 102 /usr/local/bin/a-very-long-program\n3000 0 102 other\n", "G",
		  "G bash:101 run 0 wait 0 sleep 2000 unknown 0\nG a-very-long-pro:102 run 2000 wait 0 sleep 0 unknown 0\n");
}

/* What models and estimators are told, in the words of wakeif_model.h. */
static void happenings(void **state)
{
	(void)state;
	tl_expect(&plain,
		  "1000 0 100 other\n"
		  "1000 1 200 switch S 0\n"
		  "2000 0 100 waking 200 1\n"
		  "2005 0 100 migrate 200 1 4\n"
		  "2020 4 0 wakeup 200 4\n"
		  "2030 4 0 switch R 200\n"
		  "2100 0 100 fork 300\n"
		  "2110 0 100 new 300 4\n"
		  "2200 4 200 switch R+ 300\n"
		  "2300 4 300 migrate 200 4 5\n"
		  "2310 5 0 switch R 200\n"
		  "2400 4 300 switch X 0\n",
		  "H",
		  "H 1000 began 100/8\n"
		  "H 1000 cpu wakes cpu0\n"
		  "H 1000 enqueued 100/8 cpu0\n"
		  "H 1000 runs 100/8 cpu0\n"
		  "H 1000 began 200/9\n"
		  "H 1000 cpu wakes cpu1\n"
		  "H 1000 enqueued 200/9 cpu1\n"
		  "H 1000 runs 200/9 cpu1\n"
		  "H 1000 cpu idles cpu2\n"
		  "H 1000 cpu idles cpu3\n"
		  "H 1000 cpu idles cpu4\n"
		  "H 1000 cpu idles cpu5\n"
		  "H 1000 cpu idles cpu6\n"
		  "H 1000 cpu idles cpu7\n"
		  "H 1000 reniced 200/9 cpu1\n"
		  "H 1000 sleeps 200/9 cpu1\n"
		  "H 1000 cpu idles cpu1\n"
		  "H 2005 placed 200/9 cpu4 from 1\n"
		  "H 2005 moved 200/9 cpu4 from 1 waking\n"
		  "H 2020 enqueued 200/9 cpu4\n"
		  "H 2030 cpu wakes cpu4\n"
		  "H 2030 runs 200/9 cpu4\n"
		  "H 2100 began 300/10 from 8 new\n"
		  "H 2110 reniced 300/10\n"
		  "H 2110 placed 300/10 cpu4 from 0 new\n"
		  "H 2110 enqueued 300/10 cpu4 new\n"
		  "H 2200 preempted 200/9 cpu4\n"
		  "H 2200 runs 300/10 cpu4\n"
		  "H 2300 moved 200/9 cpu5 from 4\n"
		  "H 2310 cpu wakes cpu5\n"
		  "H 2310 runs 200/9 cpu5\n"
		  "H 2400 sleeps 300/10 cpu4 dead\n"
		  "H 2400 ended 300/10 cpu4\n"
		  "H 2400 cpu idles cpu4\n");
}

/* A record of a CPU, or about one, that the machine lacks: refused, with its place and that CPU's number. */
static void expect_foreign(const char *events, const char *cpu)
{
	struct wakeif_topology *topo = tl_fixture_topology(1, 1, 4, 2);
	struct wi_names *names = wi_names_new();
	struct wi_err err = { 0 };
	struct wi_event *ev;
	struct wi_survey s;
	int n = tl_fixture_parse(events, names, &ev);

	tl_fixture_survey(&s, &plain, topo->nr_cpus, ev, n);
	struct wi_timeline_opts opts = { .topology = topo, .names = names, .survey = &s, .trace_name = "t.dat" };
	struct wi_timeline *tl = wi_timeline_new(&opts, NULL, &err);

	ev[n - 1].pos = 0x1234;
	assert_non_null(tl);
	assert_false(tl_fixture_feed(tl, ev, n, &err));
	assert_int_equal(err.code, WI_EREFUSED);
	if (!strstr(err.msg, "t.dat@0x1234: ") || !strstr(err.msg, cpu))
		fail_msg("%s", err.msg);
	wi_timeline_free(tl);
	wi_survey_fini(&s);
	wi_names_free(names);
	free(ev);
	tl_fixture_topology_free(topo);
}

static void foreign_cpus(void **state)
{
	(void)state;
	expect_foreign("1000 7 100 other\n1010 8 100 switch S 0\n", "names CPU 8,");
	expect_foreign("1000 0 100 other\n1010 0 100 waking 200 8\n", "names CPU 8,");
	expect_foreign("1000 0 100 other\n1010 0 100 wakeup 200 9\n", "names CPU 9,");
	expect_foreign("1000 0 100 other\n1010 0 100 new 200 10\n", "names CPU 10,");
	expect_foreign("1000 0 100 other\n1010 0 100 migrate 200 11 1\n", "names CPU 11,");
	expect_foreign("1000 0 100 other\n1010 0 100 migrate 200 1 12\n", "names CPU 12,");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(idle_covers_pending), cmocka_unit_test(decision_instant),   cmocka_unit_test(stalled_waker),
		cmocka_unit_test(class_self),	       cmocka_unit_test(class_onrq_waiting), cmocka_unit_test(class_oncpu),
		cmocka_unit_test(class_pinned_and_fallback), cmocka_unit_test(class_rt_dl),  cmocka_unit_test(class_delayed),
		cmocka_unit_test(lone_wakeup_on_unknown_cpu), cmocka_unit_test(class_delayed_since_when), cmocka_unit_test(class_onrq_preempted),
		cmocka_unit_test(class_unknown_wakee), cmocka_unit_test(forked),	     cmocka_unit_test(pid_reuse),
		cmocka_unit_test(idle_task_is_no_task), cmocka_unit_test(gap),		     cmocka_unit_test(ghosts_and_throttling),
		cmocka_unit_test(inferred_migration),  cmocka_unit_test(skew),		     cmocka_unit_test(only_wakeups),
		cmocka_unit_test(duplicates),	       cmocka_unit_test(woken_twice),	     cmocka_unit_test(woken_while_running),	       cmocka_unit_test(censored),	     cmocka_unit_test(unresolved),
		cmocka_unit_test(exec_by_thread),      cmocka_unit_test(exec_renames),	     cmocka_unit_test(late_start),	     cmocka_unit_test(switch_only),
		      cmocka_unit_test(moved_wakeup), cmocka_unit_test(happenings), cmocka_unit_test(foreign_cpus),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
