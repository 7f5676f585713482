/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Tags on hand-made decisions: sched_waking at 1,000,000, decided at 1,010,000, the waker's next record at 1,020,000, so
 * the window is 980,000 .. 1,040,000. Machine S of fair_fixture.h: waker's CPU 0, previous CPU 4.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analyzer/replay/tags.h"
#include "tests/unit/fair_fixture.h"

#define WAKE 1000000u
#define DECIDED 1010000u
#define NEXT 1020000u
#define UNTIL (NEXT + WI_TAGS_AROUND_NS)

struct change {
	uint64_t ns;
	uint32_t cpu;
	bool idle;
};

struct one {
	const char *state;
	uint32_t chosen;
	struct change before[3], after[3]; /* ns 0: no more */
	uint64_t glitch_ns;
	int32_t idle_task_on; /* its idle task is current, whatever is on its way; -1 none */
	bool tagged, in_set;
};

static struct wi_tag got;
static int nr_done;

static void done(void *ctx, void *what, const struct wi_tag *tag)
{
	assert_ptr_equal(ctx, &got);
	assert_ptr_equal(what, &nr_done);
	got = *tag;
	nr_done++;
}

static void tell(struct wi_tags *t, const struct change *c)
{
	for (int i = 0; i < 3 && c[i].ns; i++)
		wi_tags_idle_changed(t, c[i].ns, c[i].cpu, c[i].idle);
}

static void check(size_t number, const struct one *c)
{
	struct fair_fixture f;
	struct wi_err err = { 0 };
	struct wi_wakeup w = { .pub = { .wake_ns = WAKE, .now_ns = DECIDED, .prev_cpu = 4 },
			       .enq_ns = 1050000,
			       .next_waker_record_ns = NEXT,
			       .chosen_cpu = c->chosen };
	struct wi_tags_opts o = { .around_ns = WI_TAGS_AROUND_NS, .glitch_ns = c->glitch_ns, .load_percent = WI_TAGS_LOAD_PERCENT, .done = done, .ctx = &got };
	struct wi_tags *t;

	ff_machine(&f, 'S');
	ff_kernel(&f, "6.1");
	ff_state(&f, c->state);
	for (int i = 0; i < FF_CPUS; i++)
		f.cpu[i].curr_pid = i == c->idle_task_on ? 0 : 100 + i;
	o.topology = f.topo;
	t = wi_tags_new(&o, &err);
	assert_non_null(t);
	nr_done = 0;
	tell(t, c->before);
	assert_true(wi_tags_add(t, &w, &f.in, &nr_done, &err));
	/* what the model had is its own again */
	f.idle = ~f.idle;
	f.load[0] = f.load[4] = 7777;
	tell(t, c->after);
	wi_tags_until(t, UNTIL);
	if (nr_done && !(c->after[0].ns > UNTIL))
		fail_msg("%zu: answered before the window was over", number);
	wi_tags_finish(t);
	assert_int_equal(nr_done, 1);
	if (got.tagged != c->tagged || got.in_set != c->in_set || got.gave_up)
		fail_msg("%zu: %s: tagged %d, in set %d", number, c->state, got.tagged, got.in_set);
	wi_tags_free(t);
	ff_fini(&f);
}

#define CHECK(cases)                                                                                                   \
	for (size_t i = 0; i < sizeof(cases) / sizeof(*(cases)); i++)                                                  \
	check(i, &(cases)[i])

#define PREV "idle=4 load=0:100,4:200"	 /* the previous CPU is idle: 4 */
#define SEARCH "idle=2 load=0:100,4:200" /* both busy, the waker's less loaded: 2 by the search */

static void window(void **state)
{
	static const struct one cases[] = {
		/* nothing changes: one answer */
		{ PREV, 4, { { 0 } }, { { 0 } }, 0, -1, false, true },
		/* at its start, and before it */
		{ PREV, 4, { { WAKE - WI_TAGS_AROUND_NS, 4, false } }, { { 0 } }, 0, -1, true, true },
		{ PREV, 4, { { WAKE - WI_TAGS_AROUND_NS - 1, 4, false } }, { { 0 } }, 0, -1, false, true },
		/* at its end, and behind it */
		{ PREV, 4, { { 0 } }, { { UNTIL, 4, false } }, 0, -1, true, true },
		{ PREV, 4, { { 0 } }, { { UNTIL + 1, 4, false } }, 0, -1, false, true },
		/* a CPU that was not looked at matters not */
		{ PREV, 4, { { WAKE, 6, true } }, { { DECIDED + 1, 7, true } }, 0, -1, false, true },
		/* the kernel chose what only the change explains, and what nothing explains */
		{ SEARCH, 4, { { 0 } }, { { DECIDED + 500, 4, true } }, 0, -1, true, true },
		{ SEARCH, 7, { { 0 } }, { { DECIDED + 500, 4, true } }, 0, -1, true, false },
		{ SEARCH, 7, { { 0 } }, { { 0 } }, 0, -1, false, false },
	};

	(void)state;
	CHECK(cases);
}

/* A CPU is idle from the record of its idle task on, but for what lies between switch and record. */
static void became_idle(void **state)
{
	static const struct one cases[] = {
		{ PREV, 4, { { WAKE - WI_TAGS_RECORD_NS, 4, true } }, { { 0 } }, 0, -1, true, true },
		{ PREV, 4, { { WAKE - WI_TAGS_RECORD_NS - 1, 4, true } }, { { 0 } }, 0, -1, false, true },
		/* ceasing to be idle is not as certain, whatever was before */
		{ PREV, 4, { { WAKE - 9000, 4, true }, { WAKE - 8000, 4, false } }, { { 0 } }, 0, -1, true, true },
		{ PREV, 4, { { WAKE - 9000, 4, false }, { WAKE - 8000, 4, true } }, { { 0 } }, 0, -1, false, true },
		{ PREV, 4, { { WAKE - 9000, 4, true } }, { { DECIDED + 1, 4, false } }, 0, -1, true, true },
	};

	(void)state;
	CHECK(cases);
}

static void wakers_cpu(void **state)
{
	static const struct one cases[] = {
		/* certain from its next record on */
		{ SEARCH, 2, { { 0 } }, { { NEXT - 1, 0, true } }, 0, -1, true, true },
		{ SEARCH, 2, { { 0 } }, { { NEXT, 0, true } }, 0, -1, false, true },
		/* other CPUs are not */
		{ SEARCH, 2, { { 0 } }, { { NEXT, 4, true } }, 0, -1, true, true },
	};

	(void)state;
	CHECK(cases);
}

static void own_arrival(void **state)
{
	static const struct one cases[] = {
		/* the wakee's own arrival at the decision is no change; one of another CPU, later, or back again is */
		{ PREV, 4, { { 0 } }, { { DECIDED, 4, false } }, 0, -1, false, true },
		{ PREV, 4, { { 0 } }, { { DECIDED + 1, 4, false } }, 0, -1, true, true },
		{ PREV, 4, { { 0 } }, { { DECIDED, 4, false }, { DECIDED + 9, 4, true } }, 0, -1, true, true },
		{ SEARCH, 2, { { 0 } }, { { DECIDED, 2, false } }, 0, -1, false, true },
		{ PREV, 2, { { 0 } }, { { DECIDED, 4, false } }, 0, -1, true, false },
	};

	(void)state;
	CHECK(cases);
}

/* Before 6.2 a CPU with a wakeup on its way may look idle again. */
static void pending_glitch(void **state)
{
	static const struct one cases[] = {
		{ SEARCH, 2, { { DECIDED - WI_TAGS_GLITCH_NS, 4, false } }, { { 0 } }, WI_TAGS_GLITCH_NS, 4, true, true },
		{ SEARCH, 2, { { DECIDED - WI_TAGS_GLITCH_NS - 1, 4, false } }, { { 0 } }, WI_TAGS_GLITCH_NS, 4, false, true },
		{ SEARCH, 2, { { DECIDED - WI_TAGS_GLITCH_NS, 4, false } }, { { 0 } }, 0, 4, false, true },		     /* 6.2 */
		{ SEARCH, 2, { { DECIDED - WI_TAGS_GLITCH_NS, 4, false } }, { { 0 } }, WI_TAGS_GLITCH_NS, -1, false, true }, /* a task runs there */
	};

	(void)state;
	CHECK(cases);
}

/* No idle CPU, no search: the target is the answer, and the loads choose it. 0 is compared as 10000. */
static void close_loads(void **state)
{
	static const struct one cases[] = {
		{ "budget=0 load=0:100,4:110", 0, { { 0 } }, { { 0 } }, 0, -1, true, true },	  /* 11880: 16 % apart */
		{ "budget=0 load=0:100,4:110", 4, { { 0 } }, { { 0 } }, 0, -1, true, true },
		{ "budget=0 load=0:100,4:123", 0, { { 0 } }, { { 0 } }, 0, -1, true, true },	  /* 13284: 24.7 % */
		{ "budget=0 load=0:100,4:124", 0, { { 0 } }, { { 0 } }, 0, -1, false, true },	  /* 13392: 25.3 % */
		{ "budget=0 load=0:100,4:124", 4, { { 0 } }, { { 0 } }, 0, -1, false, false },
		{ "budget=0 load=0:100,4:70", 4, { { 0 } }, { { 0 } }, 0, -1, true, true },	  /* 7560: 24.4 % of 10000 */
		{ "budget=0 load=0:100,4:69", 4, { { 0 } }, { { 0 } }, 0, -1, false, true },	  /* 7452: 25.5 % */
	};

	(void)state;
	CHECK(cases);
}

/* Several at once: each is answered when its own window is over, and what is open at the end then. */
static void several(void **state)
{
	struct fair_fixture f;
	struct wi_err err = { 0 };
	struct wi_tags_opts o = { .around_ns = WI_TAGS_AROUND_NS, .load_percent = WI_TAGS_LOAD_PERCENT, .done = done, .ctx = &got };
	struct wi_tags *t;

	(void)state;
	ff_machine(&f, 'S');
	ff_kernel(&f, "6.1");
	ff_state(&f, PREV);
	o.topology = f.topo;
	t = wi_tags_new(&o, &err);
	assert_non_null(t);
	nr_done = 0;
	for (uint64_t i = 0; i < 50; i++) {
		struct wi_wakeup w = { .pub = { .wake_ns = i * 1000, .now_ns = i * 1000 + 10, .prev_cpu = 4 },
				       .enq_ns = WI_TIME_UNKNOWN,
				       .next_waker_record_ns = WI_TIME_UNKNOWN,
				       .chosen_cpu = 4 };

		wi_tags_until(t, w.pub.now_ns);
		/* those decided more than 20 us ago: i*1000 + 10 > j*1000 + 10 + 20000 */
		assert_int_equal(nr_done, i > 20 ? i - 20 : 0);
		assert_true(wi_tags_add(t, &w, &f.in, &nr_done, &err));
	}
	wi_tags_finish(t);
	assert_int_equal(nr_done, 50);
	wi_tags_free(t);
	wi_tags_free(NULL);
	ff_fini(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(window),	  cmocka_unit_test(wakers_cpu),	 cmocka_unit_test(own_arrival),
		cmocka_unit_test(pending_glitch), cmocka_unit_test(close_loads), cmocka_unit_test(several),
		cmocka_unit_test(became_idle),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
