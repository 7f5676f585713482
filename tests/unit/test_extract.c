/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Hand-computed tapes: a few events through the timeline, and every operation that must come of them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analyzer/base/kernel.h"
#include "analyzer/workload/extract.h"
#include "tests/unit/tl_fixture.h"

struct extracted {
	struct wakeif_topology *topo;
	struct wi_names *names;
	struct wi_workload *w;
};

/* opts->first etc. as for the timeline; smt_speed in 1/1024. Machine: 2 cores of 2 threads, CPUs 0-1, 2-3. */
static struct extracted extract(const struct tl_fixture_opts *o, uint32_t smt_speed, const char *events)
{
	struct extracted e = { .topo = tl_fixture_topology(1, 1, 2, 2), .names = wi_names_new() };
	struct wi_err err = { 0 };
	struct wi_event *ev;
	struct wi_survey s;
	int n = tl_fixture_parse(events, e.names, &ev);
	const struct wi_extract_opts xo = {
		.topology = e.topo, .names = e.names, .kernel = WI_KERNEL(6, 1), .smt_speed = smt_speed
	};
	struct wi_extract *x = wi_extract_new(&xo, &err);

	assert_non_null(x);
	tl_fixture_survey(&s, o, e.topo->nr_cpus, ev, n);
	struct wi_timeline_opts to = { .topology = e.topo,
				       .names = e.names,
				       .survey = &s,
				       .start_ns = o->start_ns,
				       .stop_ns = o->stop_ns,
				       .oncpu_ns = 5000,
				       .kernel_version = WI_KERNEL(6, 1) };
	struct wi_timeline *tl = wi_timeline_new(&to, wi_extract_observer(x), &err);

	assert_non_null(tl);
	wi_extract_bind(x, tl);
	if (!tl_fixture_feed(tl, ev, n, &err) || !wi_timeline_finish(tl, &err))
		fail_msg("%s", err.msg);
	e.w = wi_extract_finish(x, &err);
	if (!e.w)
		fail_msg("%s", err.msg);
	wi_extract_free(x);
	wi_timeline_free(tl);
	wi_survey_fini(&s);
	free(ev);
	return e;
}

static void end(struct extracted *e)
{
	wi_workload_free(e->w);
	wi_names_free(e->names);
	tl_fixture_topology_free(e->topo);
}

static int pid_of(const struct wi_workload *w, uint32_t task)
{
	return w->task[task].pid;
}

/* "running: 100 wake 20; 50 forever; 0 end": how the task starts, then work and operation. forever: a sleep that
 * nothing ends in the window. */
static void tape(const struct extracted *e, int pid, char *text, size_t size)
{
	static const char *const starts[] = { "running", "runnable", "blocked", "unborn" };
	const struct wi_workload *w = e->w;
	const struct wi_work_task *t = NULL;
	size_t at;

	for (uint32_t i = 0; i < w->nr_tasks; i++)
		t = w->task[i].pid == pid ? &w->task[i] : t;
	if (!t)
		fail_msg("no task %d", pid);
	at = (size_t)snprintf(text, size, "%s:", starts[t->start]);
	for (size_t n = 0; n < t->nr_ops; n++) {
		const struct wi_op *op = &w->ops[t->first_op + n];

		at += (size_t)snprintf(text + at, size - at, " %u %s", op->work_ns, wi_op_name(op->kind));
		if (op->kind == WI_OP_WAKE || op->kind == WI_OP_UNSEEN)
			at += (size_t)snprintf(text + at, size - at, " %d", pid_of(w, w->counter[op->target].task));
		if (op->kind == WI_OP_FORK)
			at += (size_t)snprintf(text + at, size - at, " %d", pid_of(w, op->target));
		if (op->kind == WI_OP_SLEEP && w->sleep[op->target].waker_cpu == WI_WORK_NONE)
			at = at - strlen("sleep") + (size_t)snprintf(text + at - strlen("sleep"), 8, "forever");
		else if (op->kind == WI_OP_SLEEP)
			at += (size_t)snprintf(text + at, size - at, " %llu",
					       (unsigned long long)w->sleep[op->target].length_ns);
		at += (size_t)snprintf(text + at, size - at, "%s", n + 1 < t->nr_ops ? ";" : "");
		assert_true(at < size);
	}
}

static void expect(const struct extracted *e, int pid, const char *expected)
{
	char got[4096];

	tape(e, pid, got, sizeof(got));
	if (strcmp(got, expected))
		fail_msg("task %d, expected:\n%s\ngot:\n%s", pid, expected, got);
}

#define ALONE 1024

/* 10 runs 1000..1500, is preempted by 30, runs on 1800..2000: one burst of 700 ns, 500 of it before it wakes 20. */
static void test_preemption_is_not_on_the_tape(void **state)
{
	struct extracted e = extract(&(struct tl_fixture_opts){ .first = "0=10 2=0" }, ALONE,
				     "1000 0 10 other\n"
				     "1000 2 0 other\n"
				     "1500 0 10 switch R+ 30\n"
				     "1800 0 30 switch S 10\n"
				     "1900 0 10 waking 20 2\n"
				     "1920 2 0 wakeup 20 2\n"
				     "1940 2 0 switch R 20\n"
				     "2000 0 10 switch S 0\n"
				     "2340 2 20 switch S 0\n"
				     "2400 0 0 other\n");

	(void)state;
	expect(&e, 10, "running: 600 wake 20; 100 forever; 0 end");
	expect(&e, 20, "blocked: 0 block; 400 forever; 0 end");
	assert_int_equal(e.w->facts.preemptions, 1);
	assert_int_equal(e.w->facts.busy_ns, 500 + 300 + 200 + 400);
	assert_int_equal(e.w->facts.tape_ns, e.w->facts.busy_ns);
	assert_int_equal(e.w->facts.internal, 1);
	end(&e);
}

/* From hardirq context and from the idle task: nobody's work, a sleep of 600 ns that ends at 600 after the start. */
static void test_external(void **state)
{
	struct extracted e = extract(&(struct tl_fixture_opts){ .first = "0=10 2=0" }, ALONE,
				     "1000 0 10 other\n"
				     "1000 2 0 other\n"
				     "1100 2 0 waking 20 2\n"
				     "1110 2 0 wakeup 20 2\n"
				     "1120 2 0 switch R 20\n"
				     "1220 2 20 switch S 0\n"
				     "1820 0 10h waking 20 2\n"
				     "1840 2 0 wakeup 20 2\n"
				     "1850 2 0 switch R 20\n"
				     "1950 2 20 switch X 0\n"
				     "2000 0 10 other\n");

	(void)state;
	expect(&e, 20, "blocked: 0 sleep 100; 100 sleep 600; 100 exit");
	expect(&e, 10, "running: 1000 end");
	assert_int_equal(e.w->facts.external, 2);
	assert_int_equal(e.w->facts.internal, 0);
	assert_int_equal(e.w->facts.exits, 1);
	end(&e);
}

/* The wake comes at 1400, while 20 is on its way out (off at 1450): it ends that block, and is of class ONCPU. */
static void test_on_its_way_out(void **state)
{
	struct extracted e = extract(&(struct tl_fixture_opts){ .first = "0=10 2=20" }, ALONE,
				     "1000 0 10 other\n"
				     "1000 2 20 other\n"
				     "1400 0 10 waking 20 2\n"
				     "1450 2 20 switch S 0\n"
				     "1470 2 0 wakeup 20 2\n"
				     "1500 2 0 switch R 20\n"
				     "1600 2 20 switch S 0\n"
				     "1700 0 10 other\n");

	(void)state;
	expect(&e, 10, "running: 400 wake 20; 300 end");
	expect(&e, 20, "running: 450 block; 100 forever; 0 end");
	assert_int_equal(e.w->facts.wakes, 1);
	assert_int_equal(e.w->facts.implied, 0);
	end(&e);
}

/* Both threads of a core run 1000..2000, one alone until 3000: half speed, then full. */
static void test_smt_speed_by_pieces(void **state)
{
	struct extracted e = extract(&(struct tl_fixture_opts){ .first = "0=10 1=20" }, 512,
				     "1000 0 10 other\n"
				     "1000 1 20 other\n"
				     "2000 1 20 switch S 0\n"
				     "3000 0 10 switch S 0\n"
				     "3000 1 0 other\n");

	(void)state;
	expect(&e, 10, "running: 1500 forever; 0 end");
	expect(&e, 20, "running: 500 forever; 0 end");
	assert_int_equal(e.w->facts.smt_ns, 2000);
	assert_int_equal(e.w->facts.busy_ns, 3000);
	end(&e);
}

/* 10 forks 20, which forks 30: each at its parent's progress. */
static void test_forks(void **state)
{
	struct extracted e = extract(&(struct tl_fixture_opts){ .first = "0=10 2=0" }, ALONE,
				     "1000 0 10 other\n"
				     "1000 2 0 other\n"
				     "1290 0 10 fork 20\n"
				     "1300 0 10 new 20 2\n"
				     "1310 2 0 switch R 20\n"
				     "1400 2 20 fork 30\n"
				     "1410 2 20 new 30 2\n"
				     "1500 2 20 switch X 30\n"
				     "1550 2 30 switch X 0\n"
				     "1600 0 10 other\n");

	(void)state;
	expect(&e, 10, "running: 300 fork 20; 300 end");
	expect(&e, 20, "unborn: 100 fork 30; 90 exit");
	expect(&e, 30, "unborn: 50 exit");
	assert_int_equal(e.w->facts.forks, 2);
	assert_int_equal(e.w->facts.births, 0);
	end(&e);
}

/* 20 wakes its parent 10 three times, another task once; with the last one it dies: WF_SYNC does not count there. */
static void test_dying_child(void **state)
{
	struct extracted e = extract(&(struct tl_fixture_opts){ .first = "0=10 2=0" }, ALONE,
				     "1000 0 10 other\n"
				     "1000 2 0 other\n"
				     "1290 0 10 fork 20\n"
				     "1300 0 10 new 20 2\n"
				     "1310 2 0 switch R 20\n"
				     "1400 0 10 switch S 0\n"
				     "1500 2 20 waking 10 0\n1510 0 0 wakeup 10 0\n1520 0 0 switch R 10\n"
				     "1600 2 20 switch S 0\n"
				     "1700 0 10 waking 20 2\n1710 2 0 wakeup 20 2\n1720 2 0 switch R 20\n"
				     "1800 0 10 switch S 0\n"
				     "1900 2 20 waking 30 3\n1910 3 0 wakeup 30 3\n1920 3 0 switch R 30\n"
				     "1930 2 20 waking 10 0\n1940 0 0 wakeup 10 0\n1950 0 0 switch R 10\n"
				     "1990 0 10 switch S 0\n"
				     "2000 2 20 waking 10 0\n2010 0 0 wakeup 10 0\n2020 0 0 switch R 10\n"
				     "2100 2 20 switch X 0\n"
				     "2200 0 10 switch S 0\n");
	uint32_t known = 0, wakes = 0;

	(void)state;
	for (size_t i = 0; i < e.w->nr_ops; i++) {
		const struct wi_op *op = &e.w->ops[i];

		if (op->kind != WI_OP_WAKE)
			continue;
		wakes++;
		if (op->wake.flags & (WI_WAKE_SYNC | WI_WAKE_SYNC_KNOWN)) {
			assert_int_equal(op->wake.flags & (WI_WAKE_SYNC | WI_WAKE_SYNC_KNOWN), WI_WAKE_SYNC_KNOWN);
			assert_int_equal(op[1].kind, WI_OP_EXIT);
			known++;
		}
	}
	assert_int_equal(wakes, 5);
	assert_int_equal(known, 1);
	end(&e);
}

/* A window from 2000 on: what was before is state. 40 has died, 20's wake is on its way, 30 sleeps. */
static void test_window_begins_late(void **state)
{
	struct extracted e = extract(&(struct tl_fixture_opts){ .first = "0=10 2=40 3=0", .start_ns = 2000 }, ALONE,
				     "1000 0 10 other\n"
				     "1000 2 40 other\n"
				     "1050 0 10 fork 50\n"
				     "1060 0 10 new 50 3\n"
				     "1070 3 0 switch R 50\n"
				     "1100 2 40 switch X 20\n"
				     "1200 2 20 switch S 30\n"
				     "1300 2 30 switch S 0\n"
				     "1900 0 10 waking 20 2\n"
				     "2100 2 0 wakeup 20 2\n"
				     "2200 2 0 switch R 20\n"
				     "2250 0 10 waking 30 2\n"
				     "2260 2 20 wakeup 30 2\n"
				     "2300 2 20 switch S 30\n"
				     "2400 2 30 switch S 0\n"
				     "2500 0 10 other\n");

	(void)state;
	expect(&e, 10, "running: 250 wake 30; 250 end");
	expect(&e, 20, "runnable: 100 forever; 0 end");
	expect(&e, 30, "blocked: 0 block; 100 forever; 0 end");
	expect(&e, 40, "blocked: 0 forever; 0 end");
	expect(&e, 50, "running: 500 end");
	for (uint32_t i = 0; i < e.w->nr_tasks; i++)
		assert_int_equal(e.w->task[i].start_ns, 0); /* 50 was born before the window */
	assert_int_equal(e.w->facts.implied, 0);
	assert_int_equal(e.w->window_ns, 500);
	end(&e);
}

/*
 * Partners on one CPU: 10 wakes 20, is preempted by it and goes on when 20 has blocked. It finds an answer that no
 * event tells of: as late in 20's burst as its wakes are, 100 ns before the block or when the burst begins.
 */
static void test_waker_preempted_by_its_wakee(void **state)
{
	char events[4096] = "1000 0 10 other\n";
	size_t at = strlen(events);
	struct extracted e;

	(void)state;
	for (unsigned t = 1000, i = 0; i < 3; i++, t += 1000)
		at += (size_t)snprintf(events + at, sizeof(events) - at,
				       "%u 0 10 waking 20 0\n%u 0 10 wakeup 20 0\n%u 0 10 switch R+ 20\n"
				       "%u 0 20 switch S 10\n%u 0 10 waking 20 0\n%u 0 10 wakeup 20 0\n"
				       "%u 0 10 switch S 20\n%u 0 20 waking 10 0\n%u 0 20 wakeup 10 0\n"
				       "%u 0 20 switch S 10\n",
				       t + 100, t + 110, t + 120, t + 200, t + 300, t + 310, t + 400, t + 600, t + 610,
				       t + 700);
	e = extract(&(struct tl_fixture_opts){ .first = "0=10" }, ALONE, events);
	assert_int_equal(e.w->facts.orders, 3);
	assert_int_equal(e.w->facts.requests, 0);
	char got[4096];

	tape(&e, 10, got, sizeof(got));
	assert_non_null(strstr(got, "running: 100 wake 20; 20 take; 100 wake 20; 100 block; 400 wake 20; 20 take;"));
	tape(&e, 20, got, sizeof(got));
	assert_non_null(strstr(got, "blocked: 0 block; 0 unseen 10; 80 block; 200 wake 10; 100 block; 0 unseen 10;"));
	end(&e);
}

static uint32_t flagged(const struct wi_workload *w, uint8_t flag)
{
	uint32_t nr = 0;

	for (size_t i = 0; i < w->nr_ops; i++)
		nr += (w->ops[i].kind == WI_OP_WAKE || w->ops[i].kind == WI_OP_UNSEEN) && w->ops[i].wake.flags & flag;
	return nr;
}

/*
 * 20 and 30 ask server 10 and sleep until it answers. In the third round 30 asks while 10 works for 20: what is seen is
 * an answer only. 30 asks 50 ns before it blocks, as it did before; 10 has taken note before it answers.
 */
static void test_unseen_request(void **state)
{
	static const char ask[] = "%u %u %u waking 10 0\n%u 0 0 wakeup 10 0\n%u 0 0 switch R 10\n%u %u %u switch S 0\n",
			  answer[] = "%u 0 10 waking %u %u\n%u %u 0 wakeup %u %u\n%u %u 0 switch R %u\n";
	char events[8192] = "1000 0 0 other\n1000 2 20 other\n1000 3 30 other\n", *at = events + strlen(events);
	struct extracted e;

	(void)state;
	for (unsigned t = 1000, round = 0; round < 3; round++, t += 1000) {
		unsigned u = t;

		for (unsigned cpu = 2, pid = 20; cpu < 4 && (cpu == 2 || round < 2); cpu++, pid += 10, u += 200) {
			at += sprintf(at, ask, u + 100, cpu, pid, u + 110, u + 120, u + 150, cpu, pid);
			at += round == 2 ? sprintf(at, "%u 3 30 switch S 0\n", u + 160) : 0;
			at += sprintf(at, answer, u + 200, pid, cpu, u + 210, cpu, pid, cpu, u + 220, cpu, pid);
			if (round == 2)
				at += sprintf(at, answer, u + 230, 30, 3, u + 235, 3, 30, 3, u + 240, 3, 30);
			at += sprintf(at, "%u 0 10 switch S 0\n", u + 250);
		}
	}
	e = extract(&(struct tl_fixture_opts){ .first = "0=0 2=20 3=30" }, ALONE, events);
	assert_int_equal(e.w->facts.requests, 1);
	assert_int_equal(e.w->facts.internal, 5 + 6);
	assert_int_equal(flagged(e.w, WI_WAKE_REQUEST), 6);
	assert_int_equal(flagged(e.w, WI_WAKE_ANSWER), 6);
	char got[4096];

	tape(&e, 30, got, sizeof(got));
	assert_non_null(strstr(got, "; 880 wake 10; 50 block; 690 unseen 10; 50 block;"));
	tape(&e, 10, got, sizeof(got));
	assert_non_null(strstr(got, "; 80 wake 20; 30 take; 0 wake 30; 20 "));
	end(&e);
}

/* As the first rounds above, but 10 sleeps once more, until CPU 1 wakes it, before it answers 20: it serves nobody. */
static void test_who_sleeps_meanwhile_does_not_serve(void **state)
{
	char events[8192] = "1000 0 0 other\n1000 1 40 other\n1000 2 20 other\n1000 3 30 other\n",
	     *at = events + strlen(events);
	struct extracted e;

	(void)state;
	for (unsigned t = 1000, round = 0; round < 4; round++, t += 1000)
		for (unsigned u = t, cpu = 2, pid = 20; cpu < 4; cpu++, pid += 10, u += 400)
			at += sprintf(
				at,
				"%u %u %u waking 10 0\n%u 0 0 wakeup 10 0\n%u 0 0 switch R 10\n%u %u %u switch S 0\n"
				"%u 0 10 switch S 0\n%u 1 40 waking 10 0\n%u 0 0 wakeup 10 0\n%u 0 0 switch R 10\n"
				"%u 0 10 waking %u %u\n%u %u 0 wakeup %u %u\n%u %u 0 switch R %u\n%u 0 10 switch S 0\n",
				u + 100, cpu, pid, u + 110, u + 120, u + 150, cpu, pid, u + 160, u + 180, u + 185,
				u + 190, u + 200, pid, cpu, u + 210, cpu, pid, cpu, u + 220, cpu, pid, u + 250);
	e = extract(&(struct tl_fixture_opts){ .first = "0=0 1=40 2=20 3=30" }, ALONE, events);
	assert_int_equal(e.w->facts.internal, 4 * 2 * 3);
	assert_int_equal(flagged(e.w, WI_WAKE_REQUEST | WI_WAKE_ANSWER), 0);
	end(&e);
}

/* 10 wakes 20 again and again and is preempted by it every time; that 20 wakes it once does not make it wait for 20. */
static void test_a_rare_answer_is_none(void **state)
{
	char events[8192] = "1000 0 10 other\n";
	size_t at = strlen(events);
	struct extracted e;
	unsigned t = 1000;

	(void)state;
	for (unsigned i = 0; i < 21; i++, t += 500)
		at += (size_t)snprintf(events + at, sizeof(events) - at,
				       "%u 0 10 waking 20 0\n%u 0 10 wakeup 20 0\n%u 0 10 switch R+ 20\n"
				       "%u 0 20 switch S 10\n",
				       t + 100, t + 110, t + 120, t + 200);
	snprintf(events + at, sizeof(events) - at,
		 "%u 0 10 waking 20 0\n%u 0 10 wakeup 20 0\n%u 0 10 switch S 20\n%u 0 20 waking 10 0\n"
		 "%u 0 20 wakeup 10 0\n%u 0 20 switch S 10\n",
		 t + 100, t + 110, t + 120, t + 200, t + 210, t + 300);
	e = extract(&(struct tl_fixture_opts){ .first = "0=10" }, ALONE, events);
	assert_int_equal(e.w->facts.internal, 21 + 2);
	assert_int_equal(e.w->facts.orders, 0);
	end(&e);
}

/*
 * 10 wakes 20 once a millisecond; from 4 ms on 30 waits behind it. It has run since 1 ms: at 1 + 9 ms (18 ms for two)
 * its slice is over, a tick later, at 14 ms, the CPU has to have switched. It does so at `out_ms`. If it was stalled,
 * it was from 4 ms on: after another millisecond, its mean time between wakes.
 */
static struct extracted stalls(unsigned out_ms, const char *waits)
{
	char events[4096];

	snprintf(events, sizeof(events),
		 "900000 0 0 other\n900000 2 0 other\n1000000 0 0 switch R 10\n"
		 "2000000 0 10 waking 20 2\n2000000 2 0 wakeup 20 2\n2000000 2 0 switch R 20\n2500000 2 20 switch S 0\n"
		 "3000000 0 10 waking 20 2\n3000000 2 0 wakeup 20 2\n3000000 2 0 switch R 20\n3500000 2 20 switch S 0\n"
		 "%s%u000000 0 10 switch %s\n60000000 0 %s other\n",
		 *waits ? "4000000 2 0h waking 30 0\n4000000 2 0 wakeup 30 0\n" : "", out_ms, *waits ? "R 30" : "S 0",
		 *waits ? "30" : "0");
	return extract(&(struct tl_fixture_opts){ .first = "0=0 2=0", .start_ns = 900000 }, ALONE, events);
}

static void test_stalled_cpu(void **state)
{
	static const char head[] = "runnable: 1000000 wake 20; 1000000 wake 20; ";
	struct extracted e;
	char text[256];

	(void)state;
	e = stalls(40, "30");
	snprintf(text, sizeof(text), "%s1000000 stall; 36000000 resume; 0 end", head);
	expect(&e, 10, text);
	assert_int_equal(e.w->facts.stalls, 1);
	assert_int_equal(e.w->facts.stalled_ns, 36000000);
	assert_int_equal(e.w->facts.tape_ns, e.w->facts.busy_ns);
	end(&e);
	e = stalls(14, "30"); /* in time */
	snprintf(text, sizeof(text), "%s11000000 end", head);
	expect(&e, 10, text);
	assert_int_equal(e.w->facts.stalls, 0);
	end(&e);
	e = stalls(40, ""); /* nobody to switch to */
	snprintf(text, sizeof(text), "%s37000000 forever; 0 end", head);
	expect(&e, 10, text);
	assert_int_equal(e.w->facts.stalls, 0);
	end(&e);
}

/* 20 is woken five times in softirq context, `own` times over 10, then over idle CPU 1; sleeps 880 ns in between. */
static struct extracted softirqs(unsigned own)
{
	char events[4096] = "1000 0 10 other\n1000 1 0 other\n1000 2 0 other\n";
	size_t at = strlen(events);

	for (unsigned i = 0, t = 2000; i < 5; i++, t += 1000)
		at += (size_t)snprintf(
			events + at, sizeof(events) - at,
			"%u %s waking 20 2\n%u 2 0 wakeup 20 2\n%u 2 0 switch R 20\n%u 2 20 switch S 0\n", t,
			i < own ? "0 10s" : "1 0s", t + 10, t + 20, t + 120);
	snprintf(events + at, sizeof(events) - at, "7000 0 10 other\n");
	return extract(&(struct tl_fixture_opts){ .first = "0=10 1=0 2=0" }, ALONE, events);
}

/* 3 of 5 interrupt a task: those are its own. 2 of 5: none is. */
static void test_softirq(void **state)
{
	struct extracted e = softirqs(3);

	(void)state;
	expect(&e, 10, "running: 1000 wake 20; 1000 wake 20; 1000 wake 20; 3000 end");
	expect(&e, 20, "blocked: 0 block; 100 block; 100 block; 100 sleep 880; 100 sleep 880; 100 forever; 0 end");
	assert_int_equal(e.w->facts.softirq, 3);
	assert_int_equal(e.w->facts.external, 2);
	end(&e);
	e = softirqs(2);
	expect(&e, 10, "running: 6000 end");
	expect(&e, 20,
	       "blocked: 0 sleep 1000; 100 sleep 880; 100 sleep 880; 100 sleep 880; 100 sleep 880; 100 forever; 0 "
	       "end");
	assert_int_equal(e.w->facts.softirq, 0);
	assert_int_equal(e.w->facts.external, 5);
	end(&e);
}

/* Lengths 300, 600, 610, 900 by interrupts of its own CPU: 600 and 610 repeat, so these two are a timer's. */
static void test_timers_repeat(void **state)
{
	static const unsigned length[] = { 300, 600, 610, 900 };
	char events[4096] = "1000 2 0 other\n";
	size_t at = strlen(events);
	unsigned t = 1000;

	(void)state;
	for (unsigned i = 0; i < 4; i++, t += 100) {
		t += length[i];
		at += (size_t)snprintf(
			events + at, sizeof(events) - at,
			"%u 2 0h waking 20 2\n%u 2 0h wakeup 20 2\n%u 2 0 switch R 20\n%u 2 20 switch S 0\n", t, t + 10,
			t + 20, t + 100);
	}
	struct extracted e = extract(&(struct tl_fixture_opts){ .first = "2=0" }, ALONE, events);

	expect(&e, 20, "blocked: 0 sleep 300; 80 sleep 600; 80 sleep 610; 80 sleep 900; 80 forever; 0 end");
	assert_int_equal(e.w->facts.timers, 2);
	for (uint32_t i = 0; i < 4; i++) {
		assert_int_equal(e.w->sleep[i].timer, i == 1 || i == 2);
		assert_true(e.w->sleep[i].on_own_cpu);
	}
	end(&e);
}

/* A timer of 20 on idle CPU 2, alone; with a wakeup of 30 that was sent there; 60 us after 30 began to run there. */
static void test_disturbed_timer(void **state)
{
	struct extracted e = extract(&(struct tl_fixture_opts){ .first = "0=10 2=0" }, ALONE,
				     "1000 0 10 other\n1000 2 0 other\n"
				     "2000 2 0h waking 20 2\n2010 2 0 wakeup 20 2\n2020 2 0 switch R 20\n"
				     "2100 2 20 switch S 0\n"
				     "3000 0 10 waking 30 2\n3100 2 0h waking 20 2\n3110 2 0 wakeup 20 2\n"
				     "3120 2 0 wakeup 30 2\n3130 2 0 switch R 20\n3200 2 20 switch S 30\n"
				     "3300 2 30 switch S 0\n"
				     "4000 0 10 waking 30 2\n4010 2 0 wakeup 30 2\n4020 2 0 switch R 30\n"
				     "64020 2 30h waking 20 2\n64030 2 30 wakeup 20 2\n64040 2 30 switch S 20\n"
				     "64100 2 20 switch S 0\n");

	(void)state;
	assert_int_equal(e.w->nr_sleeps, 5); /* three of 20, two for ever */
	uint32_t nr = 0, disturbed = 0;

	for (uint32_t i = 0; i < e.w->nr_sleeps; i++) {
		nr += e.w->sleep[i].waker_cpu == 2;
		disturbed += e.w->sleep[i].disturbed;
		assert_true(!e.w->sleep[i].disturbed || e.w->sleep[i].length_ns == 3100 - 2100);
	}
	assert_int_equal(nr, 3);
	assert_int_equal(disturbed, 1);
	end(&e);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_preemption_is_not_on_the_tape),
		cmocka_unit_test(test_external),
		cmocka_unit_test(test_on_its_way_out),
		cmocka_unit_test(test_smt_speed_by_pieces),
		cmocka_unit_test(test_forks),
		cmocka_unit_test(test_dying_child),
		cmocka_unit_test(test_window_begins_late),
		cmocka_unit_test(test_waker_preempted_by_its_wakee),
		cmocka_unit_test(test_unseen_request),
		cmocka_unit_test(test_who_sleeps_meanwhile_does_not_serve),
		cmocka_unit_test(test_a_rare_answer_is_none),
		cmocka_unit_test(test_stalled_cpu),
		cmocka_unit_test(test_softirq),
		cmocka_unit_test(test_timers_repeat),
		cmocka_unit_test(test_disturbed_timer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
