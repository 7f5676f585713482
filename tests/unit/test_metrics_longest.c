/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The longest waits and who ran meanwhile (METRICS rule 35), and who was on the chosen CPU (rule 24), computed by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analyzer/metrics/priv.h"
#include "tests/unit/metrics_fixture.h"

/* 1 LLC of 4 cores of 2 threads, and 4 cores of one. */
static struct wakeif_topology *smt, *flat;

static int setup(void **state)
{
	(void)state;
	smt = tl_fixture_topology(1, 1, 4, 2);
	flat = tl_fixture_topology(1, 1, 4, 1);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	tl_fixture_topology_free(smt);
	tl_fixture_topology_free(flat);
	return 0;
}

static struct wi_results *run_on(struct wakeif_topology *t, const char *events)
{
	struct tl_fixture_opts tl = { .topology = t, .oncpu_ns = 1, .kernel_version = 6 << 16 | 1 << 8 };
	struct wi_results *r = mx_run(&tl, NULL, events, true);

	mx_invariants(r);
	return r;
}

/* "pid:comm:ns ..." of who ran, then " complete" or " incomplete", then sibling idle time or "-". */
static void expect_behind(const struct wi_results *r, size_t row, const char *expected)
{
	char *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	assert_true(row < r->latency.nr_longest);
	const struct wi_longest_row *w = &r->latency.longest[row];
	assert_true(w->behind_known);
	for (int i = 0; i < w->nr_behind; i++)
		fprintf(f, "%d:%s:%llu ", w->behind[i].pid, w->behind[i].pid ? wi_results_name(r, w->behind[i].comm) : "idle",
			(unsigned long long)w->behind[i].ns);
	fputs(w->behind_complete ? "complete" : "incomplete", f);
	if (w->sibling_idle_ns == WI_TIME_UNKNOWN)
		fputs(" -", f);
	else
		fprintf(f, " %llu", (unsigned long long)w->sibling_idle_ns);
	fclose(f);
	assert_string_equal(text, expected);
	free(text);
}

/* Task 200 waits on CPU 0 from 2010 to 2500, woken on CPU 7. `between`: what happens meanwhile. */
static struct wi_results *waits(struct wakeif_topology *t, const char *between, const char *last)
{
	char text[4096];

	snprintf(text, sizeof(text),
		 "1000 0 300 other\n1000 1 301 other\n1000 3 307 other\n"
		 "2000 3 307 waking 200 3\n2005 3 307 migrate 200 3 0\n2010 0 300 wakeup 200 0\n%s%s3000 3 307 other\n",
		 between, last);
	return run_on(t, text);
}

static void who_ran_during_the_wait(void **state)
{
	(void)state;
	struct wi_results *r = waits(smt, "2100 0 300 switch R 400\n2300 0 400 switch R 401=x\n2350 0 401=x switch R 300\n",
				     "2500 0 300 switch R 200\n");

	assert_int_equal(r->latency.nr_longest, 1);
	const struct wi_longest_row *w = &r->latency.longest[0];
	assert_int_equal(w->wake_ns, 2000);
	assert_int_equal(w->latency_ns, 500);
	assert_int_equal(w->queue_wait_ns, 490);
	assert_int_equal(w->pid, 200);
	assert_string_equal(wi_results_name(r, w->comm), "t200");
	assert_int_equal(w->waker_pid, 307);
	assert_int_equal(w->waker_cpu, 3);
	assert_int_equal(w->prev_cpu, 3);
	assert_int_equal(w->chosen_cpu, 0);
	assert_int_equal(w->run_cpu, 0);
	assert_int_equal(w->class_, WAKEIF_SELECT);
	assert_false(w->censored);
	expect_behind(r, 0, "300:t300:240 400:t400:200 401:x:50 complete 0");
	wi_results_free(r);
}

static void only_the_three_longest_are_named(void **state)
{
	(void)state;
	struct wi_results *r = waits(smt,
				     "2020 0 300 switch R 401\n2040 0 401 switch R 402\n2060 0 402 switch R 403\n2120 0 403 switch R 404\n",
				     "2500 0 404 switch R 200\n");

	expect_behind(r, 0, "404:t404:380 403:t403:60 401:t401:20 complete 0"); /* 401 and 402: the lower pid */
	wi_results_free(r);
}

static void the_idle_task_and_siblings(void **state)
{
	(void)state;
	/* CPU 1, the sibling, idles from 2100 to 2200 and from 2400 on. */
	struct wi_results *r = waits(smt, "2100 1 301 switch S 0\n2200 1 0 switch R 301\n2400 1 301 switch S 0\n",
				     "2500 0 300 switch R 200\n");

	expect_behind(r, 0, "300:t300:490 complete 200"); /* only the last record names it */
	wi_results_free(r);
	r = waits(smt, "2100 1 301 switch S 0\n2200 1 0 lost\n", "2500 0 300 switch R 200\n");
	expect_behind(r, 0, "300:t300:490 complete -"); /* the sibling is not known to the end */
	wi_results_free(r);
	r = waits(flat, "", "2500 0 300 switch R 200\n");
	expect_behind(r, 0, "300:t300:490 complete -"); /* no sibling */
	wi_results_free(r);
	/* Woken to an idle CPU: the idle task ran. */
	r = run_on(smt, "1000 3 307 other\n2000 3 307 waking 200 0\n2001 3 307 other\n2010 0 0 wakeup 200 0\n2050 0 0 switch R 200\n");
	expect_behind(r, 0, "0:idle:40 complete 40");
	wi_results_free(r);
}

static void an_unknown_cpu_makes_it_incomplete(void **state)
{
	(void)state;
	struct wi_results *r = run_on(smt, "1000 0 300 other\n1000 3 307 other\n1500 0 300 lost\n"
					   "2000 3 307 waking 200 3\n2005 3 307 migrate 200 3 0\n2010 3 307 wakeup 200 0\n"
					   "2100 0 300 switch R 400\n2500 0 400 switch R 200\n3000 3 307 other\n");

	expect_behind(r, 0, "400:t400:400 incomplete 490");
	wi_results_free(r);
}

static void moved_while_it_waits(void **state)
{
	(void)state;
	/* On CPU 0 to 2200, on CPU 2 (sibling 3: busy with 307) to 2350, on CPU 1 to 2500. */
	struct wi_results *r = waits(smt,
				     "2200 2 0 migrate 200 0 2\n2350 1 301 migrate 200 2 1\n",
				     "2500 1 301 switch R 200\n");

	assert_int_equal(r->latency.longest[0].run_cpu, 1);
	expect_behind(r, 0, "300:<...>:190 0:idle:150 301:t301:150 complete 0");
	wi_results_free(r);
}

static void too_many_moves_are_incomplete(void **state)
{
	(void)state;
	char text[2048] = "", line[64];

	for (int i = 0; i < 9; i++) { /* between CPU 0 and 1, ten queues in all */
		snprintf(line, sizeof(line), "%d 3 307 migrate 200 %d %d\n", 2100 + i * 10, i & 1, !(i & 1));
		strcat(text, line);
	}
	struct wi_results *r = waits(smt, text, "2500 1 301 switch R 200\n");
	expect_behind(r, 0, "301:t301:350 300:<...>:40 incomplete -"); /* from 2110 on */
	wi_results_free(r);
}

static void a_ring_that_does_not_reach_back_is_incomplete(void **state)
{
	(void)state;
	char *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	fputs("1000 0 300 other\n1000 3 307 other\n2000 3 307 waking 200 3\n2005 3 307 migrate 200 3 0\n2010 0 300 wakeup 200 0\n", f);
	for (int i = 0; i < 600; i++) /* at 2101, 2102, ...: 400 and 401 in turn; the last one at 2700 */
		fprintf(f, "%d 0 %d switch R %d\n", 2101 + i, i ? 400 + (i & 1) : 300, 400 + !(i & 1));
	fputs("3000 0 400 switch R 200\n4000 3 307 other\n", f);
	fclose(f);
	struct wi_results *r = run_on(smt, text);
	/* The last 512 stretches began at 2189 .. 2700; the last one, of 400, lasts 300. */
	expect_behind(r, 0, "400:t400:555 401:t401:256 incomplete 990");
	wi_results_free(r);
	free(text);
}

static void censored_ones_are_among_them(void **state)
{
	(void)state;
	struct wi_results *r = waits(smt, "", "");

	assert_int_equal(r->latency.wakeup.count, 0);
	assert_int_equal(r->latency.nr_longest, 1);
	assert_true(r->latency.longest[0].censored);
	assert_int_equal(r->latency.longest[0].latency_ns, 1000);
	assert_int_equal(r->latency.longest[0].queue_wait_ns, 990);
	assert_int_equal(r->latency.longest[0].run_cpu, WI_CPU_NONE);
	expect_behind(r, 0, "300:<...>:990 complete 0");
	wi_results_free(r);
}

static void without_an_enqueue_nothing_is_said(void **state)
{
	(void)state;
	struct wi_results *r = run_on(smt, "1000 0 300 other\n2000 3 0 waking 200 0\n2001 3 0 other\n2500 0 300 switch R 200\n3000 0 200 other\n");

	assert_int_equal(r->latency.nr_longest, 1);
	assert_int_equal(r->latency.longest[0].latency_ns, 500);
	assert_true(r->latency.longest[0].queue_wait_ns == WI_TIME_UNKNOWN);
	assert_false(r->latency.longest[0].behind_known);
	wi_results_free(r);
}

static void twenty_by_latency_of_all_classes(void **state)
{
	(void)state;
	char *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	fputs("1000 0 300 other\n1000 3 307 other\n", f);
	for (int i = 0; i < 30; i++) { /* latencies 110, 120, ... 400, then the same times for RT tasks */
		int at = 10000 + i * 1000, wait = 100 + (i % 15) * 20;

		fprintf(f, "%d 3 307 waking %d 2%s\n%d 3 307 migrate %d 2 0\n%d 0 300 wakeup %d 0%s\n", at, 500 + i, i < 15 ? "" : " 50", at + 1, 500 + i, at + 10,
			500 + i, i < 15 ? "" : " 50");
		fprintf(f, "%d 0 300 switch R %d\n%d 0 %d switch S 300\n", at + wait, 500 + i, at + wait + 50, 500 + i);
	}
	fclose(f);
	struct wi_results *r = run_on(smt, text);
	assert_int_equal(r->latency.nr_longest, WI_LONGEST);
	for (int i = 0; i < WI_LONGEST; i++) {
		const struct wi_longest_row *w = &r->latency.longest[i];

		assert_int_equal(w->latency_ns, 100 + (14 - i / 2) * 20); /* two of each */
		assert_int_equal(w->pid, 500 + 14 - i / 2 + (i & 1) * 15); /* the earlier one first */
		assert_int_equal(w->class_, i & 1 ? WAKEIF_RT : WAKEIF_SELECT);
	}
	/* Merging keeps the 20 longest, the same in any order. */
	struct wi_results *other = waits(smt, "", "2500 0 300 switch R 200\n"), *ab = wi_results_new(NULL), *ba = wi_results_new(NULL);
	assert_true(wi_results_merge(ab, r, NULL) && wi_results_merge(ab, other, NULL));
	assert_true(wi_results_merge(ba, other, NULL) && wi_results_merge(ba, r, NULL));
	assert_int_equal(ab->latency.nr_longest, WI_LONGEST);
	assert_int_equal(ab->latency.longest[0].latency_ns, 500);
	char *x = mx_dump(ab), *y = mx_dump(ba);
	assert_string_equal(x, y);
	expect_behind(ab, 0, "300:t300:490 complete 0");
	free(x);
	free(y);
	wi_results_free(ab);
	wi_results_free(ba);
	wi_results_free(other);
	wi_results_free(r);
	free(text);
}

/* ---- who was on the chosen CPU ---- */

static void a_wakee_on_its_way_is_named(void **state)
{
	(void)state;
	/* 200 is sent to idle CPU 0 and is yet to arrive when 201 is sent there too, beside idle CPU 1. */
	struct wi_results *r = run_on(smt, "1000 3 307 other\n1000 5 305 other\n"
					   "2000 3 307 waking 200 3\n2005 3 307 migrate 200 3 0\n"
					   "2010 5 305 waking 201 5\n2015 5 305 migrate 201 5 0\n"
					   "2020 0 0 wakeup 200 0\n2025 0 0 wakeup 201 0\n"
					   "2030 0 0 switch R 200\n2100 0 200 switch S 201\n3000 5 305 other\n");

	assert_int_equal(r->missed.queued_on_busy, 1);
	assert_int_equal(r->missed.nr_worst, 1);
	assert_int_equal(r->missed.worst[0].pid, 201);
	assert_int_equal(r->missed.worst[0].ran_pid, 200);
	assert_string_equal(wi_results_name(r, r->missed.worst[0].ran_comm), "t200");
	assert_true(r->missed.worst[0].ran_waking);
	wi_results_free(r);
}

struct seen {
	int32_t pid, ran_pid;
	uint8_t class_;
	bool ran_waking;
};

struct seen_list {
	struct seen item[8];
	int nr;
};

static void see(void *ctx, const struct wi_wakeup_verdict *v)
{
	struct seen_list *l = ctx;

	assert_true(l->nr < 8);
	l->item[l->nr++] = (struct seen){ v->w->pub.pid, v->ran_pid, v->w->pub.class_, v->ran_waking };
}

static void rows_of_other_classes_name_it_too(void **state)
{
	(void)state;
	struct seen_list seen = { .nr = 0 };
	struct tl_fixture_opts tl = { .topology = smt, .oncpu_ns = 1 };
	struct wi_metrics_opts mo = { .sink = see, .sink_ctx = &seen };
	struct wi_results *r = mx_run(&tl, &mo,
				      "1000 0 300 other\n1000 3 307 other\n"
				      "2000 3 307 waking 200 5 50\n2001 3 307 migrate 200 5 0\n2010 0 300 wakeup 200 0 50\n2050 0 300 switch R 200\n" /* RT on busy */
				      "2100 3 307 waking 201 4 50\n2101 3 307 other\n2110 4 0 wakeup 201 4 50\n2150 4 0 switch R 201\n"   /* on idle */
				      "2200 3 307 new 202 2\n2250 2 0 switch R 202\n"
				      "2300 3 307 waking 203 6\n2305 3 307 migrate 203 6 7\n2306 3 307 waking 204 6 50\n2307 3 307 migrate 204 6 7\n"
				      "2310 7 0 wakeup 203 7\n2315 7 0 wakeup 204 7 50\n2320 7 0 switch R 204\n2350 7 204 switch S 203\n",
				      false);

	assert_int_equal(seen.nr, 5);
	static const struct seen expected[] = { { 200, 300, WAKEIF_RT, false },	     { 201, 0, WAKEIF_RT, false },
						{ 202, 0, WAKEIF_FORK, false },	     { 204, 203, WAKEIF_RT, true },
						{ 203, 0, WAKEIF_SELECT, false } };
	for (int i = 0; i < seen.nr; i++) {
		assert_int_equal(seen.item[i].pid, expected[i].pid);
		assert_int_equal(seen.item[i].ran_pid, expected[i].ran_pid);
		assert_int_equal(seen.item[i].class_, expected[i].class_);
		assert_int_equal(seen.item[i].ran_waking, expected[i].ran_waking);
	}
	wi_results_free(r);
}

static void on_the_wakers_cpu(void **state)
{
	(void)state;
	/* 200 beside the waker alone; then 201, while 200 waits there too; then 202 elsewhere. */
	struct wi_results *r = run_on(smt, "1000 0 300 other\n1000 1 301 other\n1000 2 302 other\n"
					   "2000 0 300 waking 200 2\n2005 0 300 migrate 200 2 0\n2010 0 300 wakeup 200 0\n"
					   "2100 0 300 waking 201 2\n2105 0 300 migrate 201 2 0\n2110 0 300 wakeup 201 0\n"
					   "2200 0 300 waking 202 2\n2205 0 300 migrate 202 2 1\n2210 0 300 wakeup 202 1\n3000 0 300 other\n");

	assert_int_equal(r->missed.queued_on_busy, 3);
	assert_int_equal(r->missed.on_waker_cpu, 2);
	assert_int_equal(r->missed.on_waker_cpu_alone, 1);
	assert_int_equal(r->missed.stacked_on_waker.count, 1);
	wi_results_free(r);
}

static void policies_of_tasks_that_ran(void **state)
{
	(void)state;
	struct wi_task_fact facts[] = { { .pid = 200, .policy = WAKEIF_POLICY_NORMAL, .nice = INT32_MIN },
					{ .pid = 300, .policy = -1, .nice = INT32_MIN },
					{ .pid = 900, .policy = WAKEIF_POLICY_NORMAL, .nice = INT32_MIN } };
	struct tl_fixture_opts tl = { .topology = smt, .facts = facts, .nr_facts = 3 };
	struct wi_results *r = mx_run(&tl, NULL,
				      "1000 0 300 other\n2000 0 300 waking 900 0\n2001 0 300 other\n2010 0 300 wakeup 900 0\n2100 0 300 switch R 200\n"
				      "2200 0 200 fork 201\n2250 0 200 new 201 1\n2300 1 0 switch R 201\n2500 0 200 other\n",
				      true);

	assert_int_equal(r->tasks.policy_known, 2); /* 200 and its child; 900 did not run */
	assert_int_equal(r->tasks.policy_unknown, 1);
	wi_results_free(r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(who_ran_during_the_wait),
		cmocka_unit_test(only_the_three_longest_are_named),
		cmocka_unit_test(the_idle_task_and_siblings),
		cmocka_unit_test(an_unknown_cpu_makes_it_incomplete),
		cmocka_unit_test(moved_while_it_waits),
		cmocka_unit_test(too_many_moves_are_incomplete),
		cmocka_unit_test(a_ring_that_does_not_reach_back_is_incomplete),
		cmocka_unit_test(censored_ones_are_among_them),
		cmocka_unit_test(without_an_enqueue_nothing_is_said),
		cmocka_unit_test(twenty_by_latency_of_all_classes),
		cmocka_unit_test(a_wakee_on_its_way_is_named),
		cmocka_unit_test(rows_of_other_classes_name_it_too),
		cmocka_unit_test(on_the_wakers_cpu),
		cmocka_unit_test(policies_of_tasks_that_ran),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
