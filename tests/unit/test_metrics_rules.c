/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Cases computed by hand, for the rules of record of doc/METRICS.md (numbers in the names). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analyzer/base/cpumask.h"
#include "tests/unit/metrics_fixture.h"

#define KERNEL(major, minor) ((major) << 16 | (minor) << 8)

/* 2 nodes of 2 LLCs of 2 cores of 2 threads: core 0-1, LLC 0-3, node 0-7. */
static struct wakeif_topology *big;
/* 1 LLC of 4 cores of 2 threads. */
static struct wakeif_topology *small;

static int setup(void **state)
{
	(void)state;
	big = tl_fixture_topology(2, 2, 2, 2);
	small = tl_fixture_topology(1, 1, 4, 2);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	tl_fixture_topology_free(big);
	tl_fixture_topology_free(small);
	return 0;
}

static struct wi_results *run_on(struct wakeif_topology *t, const char *events)
{
	struct tl_fixture_opts tl = { .topology = t, .oncpu_ns = 1, .kernel_version = KERNEL(6, 1) };
	struct wi_results *r = mx_run(&tl, NULL, events, true);

	mx_invariants(r);
	return r;
}

/*
 * State of each CPU as a letter (b busy with task 300+c, i idle, u unknown, s busy with task 500+c), then task 200 is woken on
 * the last CPU and placed from CPU prev on CPU `to` at 2005, queued at 2010, and runs at 2500. extra: more lines.
 */
static struct wi_results *placed(struct wakeif_topology *t, const struct tl_fixture_opts *base, const char *cpus, uint32_t prev, uint32_t to,
				 const char *extra)
{
	char *text = NULL;
	size_t len, last = strlen(cpus) - 1;
	FILE *f = open_memstream(&text, &len);
	struct tl_fixture_opts tl = base ? *base : (struct tl_fixture_opts){ .kernel_version = KERNEL(6, 1) };
	int current = cpus[to] == 'i' ? 0 : (int)(cpus[to] == 's' ? 500 + to : 300 + to);

	tl.topology = t;
	tl.oncpu_ns = 1;
	for (size_t c = 0; c <= last; c++) {
		int pid = (int)((cpus[c] == 's' ? 500 : 300) + c);

		if (cpus[c] == 'i')
			fprintf(f, "1000 %zu 0 other\n", c);
		else
			fprintf(f, "1000 %zu %d other\n", c, pid);
		if (cpus[c] == 'u')
			fprintf(f, "1001 %zu %d lost\n", c, pid);
	}
	fprintf(f, "2000 %zu %zu waking 200 %u\n", last, 300 + last, prev);
	if (prev != to)
		fprintf(f, "2005 %zu %zu migrate 200 %u %u\n", last, 300 + last, prev, to);
	if (cpus[to] != 'u') {
		fprintf(f, "2010 %u %d wakeup 200 %u\n", to, current, to);
		if (extra)
			fputs(extra, f);
		fprintf(f, "2500 %u %d switch S 200\n", to, current);
	}
	fprintf(f, "3000 %zu %zu other\n", last, 300 + last);
	fclose(f);
	struct wi_results *r = mx_run(&tl, NULL, text, false);
	mx_invariants(r);
	free(text);
	return r;
}

static int the_row(const struct wi_results *r)
{
	int found = WI_MISSED_NONE;

	assert_int_equal(r->missed.decided, 1);
	for (int i = 0; i < WI_NR_MISSED_ROWS; i++) {
		if (!r->missed.row[i].count)
			continue;
		assert_int_equal(found, WI_MISSED_NONE);
		assert_int_equal(r->missed.row[i].count, 1);
		found = i;
	}
	return found;
}

static void expect_row(const char *cpus, int row)
{
	struct wi_results *r = placed(big, NULL, cpus, 15, 0, NULL);

	if (the_row(r) != row)
		fail_msg("%s: expected %s, got %s", cpus, wi_missed_row_name((enum wi_missed_row)row),
			 wi_missed_row_name((enum wi_missed_row)the_row(r)));
	wi_results_free(r);
}

static void rule_21_rings(void **state)
{
	(void)state;
	expect_row("bbbbbbbbbbbbbbbb", WI_MISSED_NO_IDLE);
	expect_row("bibbbbbbbbbbbbbb", WI_MISSED_SIBLING);
	expect_row("bibiiiiiiiiiiiib", WI_MISSED_SIBLING);
	expect_row("bbibbbbbbbbbbbbb", WI_MISSED_LLC);
	expect_row("bbbbbbbibbbbbbbb", WI_MISSED_NODE);
	expect_row("bbbbbbbbibbbbbbb", WI_MISSED_MACHINE);
	expect_row("bubbbbbbbbbbbbbb", WI_MISSED_UNKNOWN);
	expect_row("buiibbbbbbbbbbbb", WI_MISSED_UNKNOWN); /* the nearer ring may have held one */
	expect_row("bbuibbbbbbbbbbbb", WI_MISSED_LLC);	   /* this ring held one for sure */
	expect_row("bbbbubbbiiiiiibb", WI_MISSED_UNKNOWN);
	expect_row("uibbbbbbbbbbbbbb", WI_MISSED_UNKNOWN);
	expect_row("ibbbbbbbbbbbbbbb", WI_MISSED_NONE);
}

static void rule_21_cluster_between_core_and_llc(void **state)
{
	(void)state;
	static const uint32_t group[8] = { 0, 0, 0, 0, 1, 1, 1, 1 };
	static const wakeif_word a = 0x0f, b = 0xf0;
	static const wakeif_word *const span[2] = { &a, &b };
	const uint32_t *old_group = small->group[WAKEIF_CLUSTER];
	const wakeif_word *const *old_span = small->span[WAKEIF_CLUSTER];
	uint32_t old_nr = small->nr_groups[WAKEIF_CLUSTER];

	small->group[WAKEIF_CLUSTER] = group;
	small->span[WAKEIF_CLUSTER] = span;
	small->nr_groups[WAKEIF_CLUSTER] = 2;
	struct wi_results *r = placed(small, NULL, "bbibbbbb", 7, 0, NULL);
	assert_int_equal(the_row(r), WI_MISSED_CLUSTER);
	wi_results_free(r);
	r = placed(small, NULL, "bbbbibbb", 7, 0, NULL);
	assert_int_equal(the_row(r), WI_MISSED_LLC);
	wi_results_free(r);
	small->group[WAKEIF_CLUSTER] = old_group;
	small->span[WAKEIF_CLUSTER] = old_span;
	small->nr_groups[WAKEIF_CLUSTER] = old_nr;
}

static void rule_21_unknown_chosen_is_not_queued_on_busy(void **state)
{
	(void)state;
	struct wi_results *r = placed(big, NULL, "uibbbbbbbbbbbbbb", 15, 0, NULL);

	assert_int_equal(r->missed.queued_on_busy, 0);
	assert_int_equal(r->missed.chosen_unknown, 1);
	wi_results_free(r);
}

static void rule_22_isolated_only_where_affinity_names_them(void **state)
{
	(void)state;
	const wakeif_word *none = big->isolated;
	wakeif_word isolated = 1 << 1, named = 0xffff;
	struct wi_task_fact fact = { .pid = 200, .policy = -1, .allowed = &named };
	struct tl_fixture_opts tl = { .kernel_version = KERNEL(6, 1), .facts = &fact, .nr_facts = 1 };

	big->isolated = &isolated;
	struct wi_results *r = placed(big, NULL, "bibbbbbbbbbbbbbb", 15, 0, NULL);
	assert_int_equal(the_row(r), WI_MISSED_NO_IDLE);
	assert_int_equal(r->missed.allowed[WAKEIF_ALLOWED_ASSUMED], 1);
	assert_int_equal(r->waste[WAKEIF_CORE].wall_ns, 0); /* rule 26: left out */
	wi_results_free(r);
	r = placed(big, &tl, "bibbbbbbbbbbbbbb", 15, 0, NULL);
	assert_int_equal(the_row(r), WI_MISSED_SIBLING);
	assert_int_equal(r->missed.allowed[WAKEIF_ALLOWED_RECORDED], 1);
	wi_results_free(r);
	named = 0xfffd; /* not CPU 1 */
	r = placed(big, &tl, "bibbbbbbbbbbbbbb", 15, 0, NULL);
	assert_int_equal(the_row(r), WI_MISSED_NO_IDLE);
	wi_results_free(r);
	big->isolated = none;
}

static void rule_22_sched_idle_only(void **state)
{
	(void)state;
	struct wi_task_fact facts[] = { { .pid = 500, .policy = WAKEIF_POLICY_IDLE }, { .pid = 501, .policy = WAKEIF_POLICY_IDLE } };
	struct tl_fixture_opts tl = { .kernel_version = KERNEL(5, 4), .facts = facts, .nr_facts = 2 };
	struct wi_results *r = placed(small, &tl, "bsbbbbbb", 7, 0, NULL);

	assert_int_equal(the_row(r), WI_MISSED_SIBLING);
	assert_int_equal(r->missed.on_sched_idle_only, 0);
	assert_int_equal(r->waste[WAKEIF_CORE].wall_ns, 0); /* it does not idle */
	wi_results_free(r);
	r = placed(small, &tl, "sbbbbbbb", 7, 0, NULL);
	assert_int_equal(the_row(r), WI_MISSED_NONE);
	assert_int_equal(r->missed.on_sched_idle_only, 1);
	assert_int_equal(r->missed.chosen_idle, 1);
	wi_results_free(r);
	/* An idle CPU comes before one that runs SCHED_IDLE tasks, however long. */
	r = placed(small, &tl, "bsibbbbb", 7, 0, NULL);
	assert_int_equal(the_row(r), WI_MISSED_SIBLING); /* the ring decides first */
	wi_results_free(r);
	tl.kernel_version = KERNEL(5, 3);
	r = placed(small, &tl, "bsbbbbbb", 7, 0, NULL);
	assert_int_equal(the_row(r), WI_MISSED_NO_IDLE);
	wi_results_free(r);
	r = placed(small, &tl, "sbbbbbbb", 7, 0, NULL);
	assert_int_equal(the_row(r), WI_MISSED_NO_IDLE);
	assert_int_equal(r->missed.on_sched_idle_only, 0);
	wi_results_free(r);
	tl.nr_facts = 0; /* policies not known */
	tl.kernel_version = KERNEL(6, 1);
	r = placed(small, &tl, "bsbbbbbb", 7, 0, NULL);
	assert_int_equal(the_row(r), WI_MISSED_NO_IDLE);
	wi_results_free(r);
}

static void rule_25_sched_idle_stretch(void **state)
{
	(void)state;
	struct wi_task_fact facts[] = { { .pid = 501, .policy = WAKEIF_POLICY_IDLE }, { .pid = 502, .policy = WAKEIF_POLICY_IDLE } };
	struct tl_fixture_opts tl = { .kernel_version = KERNEL(6, 1), .facts = facts, .nr_facts = 2 };
	/* On CPU 1 the SCHED_IDLE task sleeps, CPU 1 idles on: one stretch, which a task ends at 2300. */
	struct wi_results *r = placed(small, &tl, "bsbbbbbb", 7, 0,
				      "2100 1 501 switch S 0\n"
				      "2300 1 0 switch R 600\n");

	assert_int_equal(r->missed.row[WI_MISSED_SIBLING].avoidable.sum_ns, 2300 - 2010);
	assert_int_equal(r->missed.worst[0].missed_idle_ns, 2300 - 1000);
	wi_results_free(r);
}

static void rule_25_avoidable(void **state)
{
	(void)state;
	struct wi_results *r = placed(small, NULL, "bibbbbbb", 7, 0, NULL); /* idle throughout */

	assert_int_equal(r->missed.row[WI_MISSED_SIBLING].wait.sum_ns, 490);
	assert_int_equal(r->missed.row[WI_MISSED_SIBLING].avoidable.sum_ns, 490);
	assert_int_equal(r->missed.nr_worst, 1);
	assert_int_equal(r->missed.worst[0].missed_cpu, 1);
	assert_int_equal(r->missed.worst[0].missed_idle_ns, 2000); /* still idle at the end, 3000 */
	assert_int_equal(r->missed.worst[0].ran_pid, 300);
	assert_string_equal(wi_results_name(r, r->missed.worst[0].ran_comm), "t300"); /* named by a later record */
	assert_int_equal(r->missed.worst[0].waker_pid, 307);
	assert_int_equal(r->missed.worst[0].prev_cpu, 7);
	wi_results_free(r);
	r = placed(small, NULL, "bibbbbbb", 7, 0, "2300 1 0 switch R 400\n"); /* busy before it ran */
	assert_int_equal(r->missed.row[WI_MISSED_SIBLING].avoidable.sum_ns, 290);
	assert_int_equal(r->missed.worst[0].missed_idle_ns, 1300);
	wi_results_free(r);
	r = placed(small, NULL, "bibbbbbb", 7, 0, "2300 1 0 switch R 400\n2310 1 400 switch S 0\n"); /* the first end counts */
	assert_int_equal(r->missed.row[WI_MISSED_SIBLING].avoidable.sum_ns, 290);
	wi_results_free(r);
	/* The missed CPU stops before the enqueue. */
	r = run_on(small, "1000 0 300 other\n1000 2 302 other\n1000 3 303 other\n1000 4 304 other\n1000 5 305 other\n1000 6 306 other\n1000 7 307 other\n"
			  "2000 7 307 waking 200 7\n2005 7 307 migrate 200 7 0\n2007 1 0 switch R 400\n2010 0 300 wakeup 200 0\n"
			  "2500 0 300 switch S 200\n3000 7 307 other\n");
	assert_int_equal(r->missed.row[WI_MISSED_SIBLING].wait.sum_ns, 490);
	assert_int_equal(r->missed.row[WI_MISSED_SIBLING].avoidable.count, 1);
	assert_int_equal(r->missed.row[WI_MISSED_SIBLING].avoidable.sum_ns, 0);
	wi_results_free(r);
}

static void rule_25_longest_idle_then_lowest(void **state)
{
	(void)state;
	struct wi_results *r = run_on(small, "1000 0 300 other\n1000 1 301 other\n1000 7 307 other\n1000 2 302 other\n1000 3 303 other\n"
					     "1000 4 304 other\n1000 5 305 other\n1000 6 306 other\n"
					     "1500 5 305 switch S 0\n1400 6 306 other\n1600 6 306 switch S 0\n1600 4 304 switch S 0\n"
					     "2000 7 307 waking 200 7\n2005 7 307 migrate 200 7 0\n2010 0 300 wakeup 200 0\n2500 0 300 switch S 200\n");

	assert_int_equal(r->missed.worst[0].missed_cpu, 5);
	wi_results_free(r);
	r = run_on(small, "1000 0 300 other\n1000 1 301 other\n1000 7 307 other\n1000 2 302 other\n1000 3 303 other\n"
			  "1000 4 304 other\n1000 5 305 other\n1000 6 306 other\n"
			  "1600 6 306 switch S 0\n1600 4 304 switch S 0\n"
			  "2000 7 307 waking 200 7\n2005 7 307 migrate 200 7 0\n2010 0 300 wakeup 200 0\n2500 0 300 switch S 200\n");
	assert_int_equal(r->missed.worst[0].missed_cpu, 4);
	wi_results_free(r);
}

static void rule_25_censored(void **state)
{
	(void)state;
	struct wi_results *r = run_on(small, "1000 0 300 other\n1000 7 307 other\n"
					     "2000 7 307 waking 200 7\n2005 7 307 migrate 200 7 0\n2010 0 300 wakeup 200 0\n3000 7 307 other\n");

	assert_int_equal(r->wakeups.censored, 1);
	assert_int_equal(r->missed.row[WI_MISSED_SIBLING].count, 1);
	assert_int_equal(r->missed.row[WI_MISSED_SIBLING].wait.count, 0);
	assert_int_equal(r->latency.wakeup.count, 0);
	assert_int_equal(r->missed.nr_worst, 1);
	assert_true(r->missed.worst[0].censored);
	assert_int_equal(r->missed.worst[0].avoidable_ns, 990);
	assert_int_equal(r->missed.worst[0].wait_ns, 990);
	wi_results_free(r);
}

static void rule_23_idle_cores(void **state)
{
	(void)state;
	/* Queued on CPU 0; core 2-3 idle (LLC), or 4-5 (node), or 8-9 (machine). */
	struct wi_results *r = placed(big, NULL, "bbiibbbbbbbbbbbb", 15, 0, NULL);
	for (int i = 0; i < WI_NR_WIDE; i++) {
		assert_int_equal(r->missed.queued_while_idle_core[i].count, 1);
		assert_int_equal(r->missed.queued_while_idle_core[i].avoidable.sum_ns, 490);
		assert_int_equal(r->missed.half_busy_core[i].count, 0);
	}
	wi_results_free(r);
	r = placed(big, NULL, "bbibiibbbbbbbbbb", 15, 0, NULL);
	assert_int_equal(r->missed.queued_while_idle_core[WI_WIDE_LLC].count, 0);
	assert_int_equal(r->missed.queued_while_idle_core[WI_WIDE_NODE].count, 1);
	assert_int_equal(r->missed.queued_while_idle_core[WI_WIDE_MACHINE].count, 1);
	assert_int_equal(the_row(r), WI_MISSED_LLC);
	wi_results_free(r);
	r = placed(big, NULL, "bbiubbbbiibbbbbb", 15, 0, NULL); /* half unknown is not idle */
	assert_int_equal(r->missed.queued_while_idle_core[WI_WIDE_NODE].count, 0);
	assert_int_equal(r->missed.queued_while_idle_core[WI_WIDE_MACHINE].count, 1);
	wi_results_free(r);
	/* Placed on idle CPU 0 beside busy CPU 1. */
	r = placed(big, NULL, "ibbbiibbbbbbbbbb", 15, 0, NULL);
	assert_int_equal(r->missed.half_busy_core[WI_WIDE_LLC].count, 0);
	assert_int_equal(r->missed.half_busy_core[WI_WIDE_NODE].count, 1);
	assert_int_equal(r->missed.half_busy_core[WI_WIDE_MACHINE].count, 1);
	assert_int_equal(r->missed.half_busy_core[WI_WIDE_NODE].wait.sum_ns, 490);
	wi_results_free(r);
	r = placed(big, NULL, "iibbiibbbbbbbbbb", 15, 0, NULL); /* its core is idle: nothing missed */
	assert_int_equal(r->missed.half_busy_core[WI_WIDE_MACHINE].count, 0);
	wi_results_free(r);
	r = placed(big, NULL, "iubbiibbbbbbbbbb", 15, 0, NULL); /* the sibling is not known to be busy */
	assert_int_equal(r->missed.half_busy_core[WI_WIDE_MACHINE].count, 0);
	wi_results_free(r);
}

static void rule_23_sched_idle_makes_no_core_idle(void **state)
{
	(void)state;
	struct wi_task_fact facts[] = { { .pid = 501, .policy = WAKEIF_POLICY_IDLE }, { .pid = 503, .policy = WAKEIF_POLICY_IDLE } };
	struct tl_fixture_opts tl = { .kernel_version = KERNEL(6, 1), .facts = facts, .nr_facts = 2 };
	struct wi_results *r = placed(small, &tl, "bbisbbbb", 7, 0, NULL); /* core 2-3: idle and SCHED_IDLE */

	assert_int_equal(the_row(r), WI_MISSED_LLC);
	assert_int_equal(r->missed.queued_while_idle_core[WI_WIDE_LLC].count, 0);
	wi_results_free(r);
	/* Placed on idle CPU 0 beside SCHED_IDLE-only CPU 1, while core 4-5 idles. */
	r = placed(small, &tl, "isbbiibb", 7, 0, NULL);
	assert_int_equal(r->missed.half_busy_core[WI_WIDE_LLC].count, 1);
	assert_int_equal(r->latency.by_placement[WI_PLACED_IDLE_SIBLING_BUSY].count, 1);
	wi_results_free(r);
	r = placed(small, &tl, "isbsibbb", 7, 0, NULL); /* no core idles */
	assert_int_equal(r->missed.half_busy_core[WI_WIDE_LLC].count, 0);
	wi_results_free(r);
	/* On a SCHED_IDLE-only CPU beside an idle one: an idle choice without a busy sibling. */
	r = placed(small, &tl, "bsibbbbb", 7, 1, NULL);
	assert_int_equal(r->missed.on_sched_idle_only, 1);
	assert_int_equal(r->latency.by_placement[WI_PLACED_IDLE_SIBLING_BUSY].count, 1);
	wi_results_free(r);
}

static void rule_24_stacked_on_waker(void **state)
{
	(void)state;
	static const char *head = "1000 0 300 other\n1000 1 301 other\n1000 2 302 other\n";
	char text[1024];

	/* W = CPU 0 = chosen, nobody else there: not stacked. */
	snprintf(text, sizeof(text), "%s%s", head,
		 "2000 0 300 waking 200 2\n2005 0 300 migrate 200 2 0\n2010 0 300 wakeup 200 0\n2500 0 300 switch S 200\n");
	struct wi_results *r = run_on(small, text);
	assert_int_equal(r->missed.queued_on_busy, 1);
	assert_int_equal(r->missed.stacked_on_waker.count, 0);
	wi_results_free(r);
	/* With one more that waits there. */
	snprintf(text, sizeof(text), "%s%s", head,
		 "1500 0 300 waking 210 2\n1505 0 300 migrate 210 2 0\n1510 0 300 wakeup 210 0\n"
		 "2000 0 300 waking 200 2\n2005 0 300 migrate 200 2 0\n2010 0 300 wakeup 200 0\n2500 0 300 switch S 200\n");
	r = run_on(small, text);
	assert_int_equal(r->missed.queued_on_busy, 2);
	assert_int_equal(r->missed.stacked_on_waker.count, 1);
	assert_int_equal(r->missed.stacked_on_waker.wait.sum_ns, 490);
	wi_results_free(r);
}

static void rule_24_prev_idle_elsewhere(void **state)
{
	(void)state;
	struct wi_results *r = placed(big, NULL, "biiiiiiiiiiiiiib", 1, 0, NULL);

	assert_int_equal(r->missed.prev_idle_elsewhere, 1);
	assert_int_equal(r->missed.prev_idle_by_distance[WI_DIST_CORE], 1);
	assert_int_equal(r->missed.prev_idle_affine_possible, 0); /* chosen 0 is not in the LLC of waker 15 */
	wi_results_free(r);
	r = placed(big, NULL, "biiiiiiiiiiiiiib", 9, 13, NULL);
	assert_int_equal(r->missed.prev_idle_by_distance[WI_DIST_NODE], 1);
	assert_int_equal(r->missed.prev_idle_affine_possible, 1);
	wi_results_free(r);
	r = placed(big, NULL, "biiiiiiiiiiiiiib", 12, 14, NULL); /* within the waker's LLC an idle prev_cpu comes first anyway */
	assert_int_equal(r->missed.prev_idle_by_distance[WI_DIST_LLC], 1);
	assert_int_equal(r->missed.prev_idle_affine_possible, 0);
	wi_results_free(r);
	r = placed(big, NULL, "bbiiiiiiiiiiiiib", 1, 0, NULL); /* prev was busy */
	assert_int_equal(r->missed.prev_idle_elsewhere, 0);
	wi_results_free(r);
}

static void placements(void **state)
{
	(void)state;
	static const struct {
		const char *cpus;
		uint32_t prev, to;
		int placed;
	} cases[] = {
		{ "biiiiiib", 7, 0, WI_PLACED_BUSY },	      { "iibbbbbb", 7, 0, WI_PLACED_IDLE_CORE },
		{ "ibbbbbbb", 7, 0, WI_PLACED_IDLE_SIBLING_BUSY }, { "iubbbbbb", 7, 0, WI_PLACED_UNKNOWN },
		{ "ubbbbbbb", 7, 0, WI_PLACED_UNKNOWN },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct wi_results *r = placed(small, NULL, cases[i].cpus, cases[i].prev, cases[i].to, NULL);

		for (int p = 0; p < WI_NR_PLACEMENTS; p++)
			assert_int_equal(r->latency.by_placement[p].count, p == cases[i].placed);
		wi_results_free(r);
	}
	struct wi_results *r = run_on(small, "1000 0 300 other\n1000 2 200 switch S 0\n2000 0 300 waking 200 2\n2010 2 0 wakeup 200 2\n2020 2 0 switch R 200\n");
	assert_int_equal(r->latency.by_placement[WI_PLACED_PREV_IDLE].count, 1);
	wi_results_free(r);
	r = run_on(small, "1000 0 300 other\n1000 2 200 switch S 302\n2000 0 300 waking 200 2\n2001 0 300 other\n2010 2 302 wakeup 200 2\n2020 2 302 switch S 200\n");
	assert_int_equal(r->latency.by_placement[WI_PLACED_PREV_BUSY].count, r->missed.decided);
	wi_results_free(r);
}

/* ---- rule 18 ---- */

static void rule_18_latencies(void **state)
{
	(void)state;
	struct wi_results *r = run_on(small, "1000 0 300 other\n1000 2 200 switch S 0\n2000 0 300 waking 200 2\n2010 2 0 wakeup 200 2\n2050 2 0 switch R 200\n");

	assert_int_equal(r->latency.wakeup.sum_ns, 50);
	assert_int_equal(r->latency.queue_wait.sum_ns, 40);
	assert_int_equal(r->latency.transit.sum_ns, 10);
	wi_results_free(r);
	/* Running at sched_waking, gone before its sched_wakeup: from the enqueue, and no transit. */
	r = run_on(small, "1000 0 300 other\n1000 2 200 other\n2000 0 300 waking 200 2\n2005 2 200 switch S 0\n2010 2 0 wakeup 200 2\n2050 2 0 switch R 200\n");
	assert_int_equal(r->latency.wakeup.count, 1);
	assert_int_equal(r->latency.wakeup.sum_ns, 40);
	assert_int_equal(r->latency.queue_wait.sum_ns, 40);
	assert_int_equal(r->latency.transit.count, 0);
	wi_results_free(r);
	/* Running and stays so: none. */
	r = run_on(small, "1000 0 300 other\n1000 2 200 other\n2000 0 300 waking 200 2\n2010 0 300 wakeup 200 2\n2050 2 200 switch S 0\n");
	assert_int_equal(r->latency.wakeup.count, 0);
	assert_int_equal(r->wakeups.running, 1);
	assert_int_equal(r->wakeups.by_class[WAKEIF_ONRQ], 1);
	wi_results_free(r);
	/* No sched_wakeup seen: latency, but no parts. */
	r = run_on(small, "1000 0 300 other\n1000 2 200 switch S 0\n2000 0 300 waking 200 2\n2050 2 0 switch R 200\n");
	assert_int_equal(r->latency.wakeup.sum_ns, 50);
	assert_int_equal(r->latency.queue_wait.count, 0);
	assert_int_equal(r->latency.transit.count, 0);
	wi_results_free(r);
	/* Fork. */
	r = run_on(small, "1000 0 300 other\n2000 0 300 fork 200\n2010 0 300 new 200 2\n2050 2 0 switch R 200\n");
	assert_int_equal(r->wakeups.by_class[WAKEIF_FORK], 1);
	assert_int_equal(r->latency.by_class[WAKEIF_FORK].sum_ns, 40);
	assert_int_equal(r->latency.queue_wait.sum_ns, 40);
	assert_int_equal(r->latency.transit.count, 0);
	assert_int_equal(r->missed.decided, 0);
	wi_results_free(r);
	/* Died while waiting. */
	r = run_on(small, "1000 0 300 other\n1000 1 301 other\n1000 2 200 switch S 302\n2000 0 300 waking 200 2\n2010 0 300 wakeup 200 2\n2050 1 301 fork 200\n");
	assert_int_equal(r->wakeups.died, 1);
	wi_results_free(r);
}

static void rule_6_window(void **state)
{
	(void)state;
	struct tl_fixture_opts tl = { .topology = small, .oncpu_ns = 1, .start_ns = 2000 };
	struct wi_results *r = mx_run(&tl, NULL,
				      "1000 0 300 other\n1000 2 200 switch S 0\n1990 0 300 waking 200 2\n2010 2 0 wakeup 200 2\n2050 2 0 switch R 200\n"
				      "2100 2 200 switch S 0\n2200 0 300 waking 200 2\n2210 2 0 wakeup 200 2\n2250 2 0 switch R 200\n3000 0 300 other\n",
				      true);

	assert_int_equal(r->wakeups.total, 1); /* the first was woken before */
	assert_int_equal(r->latency.wakeup.sum_ns, 50);
	assert_int_equal(r->window_ns, 1000);
	assert_int_equal(r->idle.cpu.row[2].busy_ns, 50 + 750);
	assert_int_equal(r->idle.cpu.row[2].idle_ns, 50 + 150);
	wi_results_free(r);
}

/* ---- rule 26 ---- */

static void rule_26_pairs(void **state)
{
	(void)state;
	/* CPU 0 runs t300; t200 waits there from 2000 to 4000, t201 from 3000 to 5000; CPU 1 idles until 4500; all others run. */
	struct wi_results *r = run_on(small, "1000 0 300 other\n1000 2 302 other\n1000 3 303 other\n1000 4 304 other\n1000 5 305 other\n1000 6 306 other\n1000 7 307 other\n"
					     "1900 7 307 waking 200 7\n1905 7 307 migrate 200 7 0\n2000 7 307 wakeup 200 0\n"
					     "2900 7 307 waking 201 7\n2905 7 307 migrate 201 7 0\n3000 7 307 wakeup 201 0\n"
					     "4000 0 300 switch S 200\n4500 1 0 switch R 400\n5000 0 200 switch S 201\n6000 7 307 other\n");

	for (int s = 0; s < WAKEIF_NR_SCOPES; s++) {
		assert_int_equal(r->waste[s].wall_ns, 2500);
		assert_int_equal(r->waste[s].behind_ns, 2500);
		assert_int_equal(r->waste[s].cpu_ns, 2500);
		assert_int_equal(r->waste[s].task_ns, 2500); /* one idle CPU */
		assert_int_equal(r->waste[s].longest_ns, 2500);
		assert_int_equal(r->waste[s].longest_start_ns, 2000);
		assert_int_equal(r->waste[s].pid, 201); /* at its end t201 waits; t200 has run since 4000 */
		assert_string_equal(wi_results_name(r, r->waste[s].comm), "t201");
		assert_int_equal(r->waste[s].waiting_cpu, 0);
		assert_int_equal(r->waste[s].idle_cpu, 1);
	}
	wi_results_free(r);
	/* Three idle CPUs, two tasks on one CPU: two task pairs, one CPU pair; nothing within the core. */
	r = run_on(small, "1000 0 300 other\n1000 1 301 other\n1000 2 302 other\n1000 3 303 other\n1000 7 307 other\n"
			  "1900 7 307 waking 200 7\n1905 7 307 migrate 200 7 0\n2000 7 307 wakeup 200 0\n"
			  "1990 7 307 waking 201 7\n2000 7 307 migrate 201 7 0\n2000 7 307 wakeup 201 0\n"
			  "3000 0 300 switch S 200\n3500 0 200 switch S 201\n4000 7 307 other\n");
	assert_int_equal(r->waste[WAKEIF_CORE].wall_ns, 0);
	assert_int_equal(r->waste[WAKEIF_LLC].wall_ns, 1500);
	assert_int_equal(r->waste[WAKEIF_LLC].cpu_ns, 1500);
	assert_int_equal(r->waste[WAKEIF_LLC].task_ns, 2 * 1000 + 500);
	wi_results_free(r);
}

static void rule_26_behind(void **state)
{
	(void)state;
	/*
	 * From 2000 t200 waits for its own idle CPU 0 to switch to it while CPU 1 idles; from 2200 t201 waits there too, still behind
	 * nobody. At 3000 t200 runs, t201 waits behind it, until CPU 0 runs it at 4000. From 5000 t202 waits on the busy CPU 2, pinned
	 * there: no pair.
	 */
	wakeif_word pinned = 0x04, core = 0x0c;
	struct wi_task_fact facts[] = { { .pid = 202, .policy = -1, .allowed = &pinned } };
	struct tl_fixture_opts tl = { .topology = small, .oncpu_ns = 1, .facts = facts, .nr_facts = 1 };
	const char *trace = "1000 2 302 other\n1000 3 303 other\n"
			    "1000 0 210 switch S 0\n1000 1 211 switch S 0\n"
			    "2000 3 303 wakeup 200 0\n2200 3 303 wakeup 201 0\n"
			    "3000 0 0 switch R 200\n4000 0 200 switch S 201\n"
			    "5000 3 303 wakeup 202 2\n6000 2 302 switch S 202\n7000 3 303 other\n";
	struct wi_results *r = mx_run(&tl, NULL, trace, true);

	assert_int_equal(r->waste[WAKEIF_CORE].wall_ns, 2000);
	assert_int_equal(r->waste[WAKEIF_CORE].behind_ns, 1000);
	assert_int_equal(r->waste[WAKEIF_MACHINE].wall_ns, 2000);
	assert_int_equal(r->waste[WAKEIF_MACHINE].behind_ns, 1000);
	wi_results_free(r);
	/* Where t202 may go to CPU 3 as well, which is busy, and then to CPU 1, which idles: behind t302 in the machine, not in the core. */
	facts[0].allowed = &core;
	r = mx_run(&tl, NULL, trace, true);
	assert_int_equal(r->waste[WAKEIF_MACHINE].behind_ns, 1000);
	wi_results_free(r);
	core = 0x0e;
	r = mx_run(&tl, NULL, trace, true);
	assert_int_equal(r->waste[WAKEIF_CORE].behind_ns, 1000);
	assert_int_equal(r->waste[WAKEIF_MACHINE].wall_ns, 3000);
	assert_int_equal(r->waste[WAKEIF_MACHINE].behind_ns, 2000);
	wi_results_free(r);
}

static void rule_26_affinity(void **state)
{
	(void)state;
	/* t200 and t201 may both only go to CPU 1 besides 0; t202 may go to 1 and 2: CPUs 1 and 2 idle. Two pairs, by t200 or t201, and t202. */
	wakeif_word narrow = 0x03, wide = 0x07;
	struct wi_task_fact facts[] = { { .pid = 200, .policy = -1, .allowed = &narrow },
					{ .pid = 201, .policy = -1, .allowed = &narrow },
					{ .pid = 202, .policy = -1, .allowed = &wide } };
	struct tl_fixture_opts tl = { .topology = small, .oncpu_ns = 1, .facts = facts, .nr_facts = 3 };
	struct wi_results *r = mx_run(&tl, NULL,
				      "1000 0 300 other\n1000 3 303 other\n1000 4 304 other\n1000 5 305 other\n1000 6 306 other\n1000 7 307 other\n"
				      "1900 7 307 wakeup 202 0\n1900 7 307 wakeup 201 0\n2000 7 307 wakeup 200 0\n3000 7 307 other\n",
				      true);

	assert_int_equal(r->waste[WAKEIF_MACHINE].wall_ns, 1100);
	assert_int_equal(r->waste[WAKEIF_MACHINE].cpu_ns, 1100);  /* one CPU with waiting tasks */
	assert_int_equal(r->waste[WAKEIF_MACHINE].task_ns, 2200); /* 1900-2000: 202 and 201; then still two CPUs */
	assert_int_equal(r->waste[WAKEIF_CORE].task_ns, 1100);
	wi_results_free(r);
	/* A task pinned to its busy CPU is no pair with an idle one, and is not named. */
	narrow = 0x01;
	wide = 0x11; /* CPUs 0 and 4 */
	r = mx_run(&tl, NULL,
		   "1000 0 300 other\n1000 7 307 other\n"
		   "1900 7 307 wakeup 200 0\n2000 7 307 wakeup 202 0\n1002000 0 300 switch S 202\n1003000 0 202 other\n",
		   true);
	assert_int_equal(r->waste[WAKEIF_MACHINE].wall_ns, 1000000);
	assert_int_equal(r->waste[WAKEIF_CORE].wall_ns, 0);
	assert_int_equal(r->waste[WAKEIF_MACHINE].pid, 202);
	assert_int_equal(r->waste[WAKEIF_MACHINE].idle_cpu, 4);
	assert_int_equal(r->waste[WAKEIF_MACHINE].episodes[0], 0); /* not longer than 1 ms */
	wi_results_free(r);
}

static void rule_26_episodes(void **state)
{
	(void)state;
	/* Episodes of 2 ms and 150 ms; a hand-over within one instant does not end one. */
	struct wi_results *r = run_on(small, "0 0 300 other\n0 1 301 other\n"
					     "1000 1 301 wakeup 200 0\n2001000 0 300 switch S 200\n"
					     "3000000 1 301 wakeup 201 0\n"
					     "100000000 1 301 wakeup 202 1\n"
					     "100000000 0 200 switch S 201\n" /* 201 leaves as 202 comes */
					     "153000000 1 301 switch S 202\n200000000 0 201 other\n");

	assert_int_equal(r->waste[WAKEIF_MACHINE].wall_ns, 2000000 + 150000000);
	assert_int_equal(r->waste[WAKEIF_MACHINE].episodes[0], 2);
	assert_int_equal(r->waste[WAKEIF_MACHINE].episodes[1], 1);
	assert_int_equal(r->waste[WAKEIF_MACHINE].episodes[2], 1);
	assert_int_equal(r->waste[WAKEIF_MACHINE].longest_ns, 150000000);
	assert_int_equal(r->waste[WAKEIF_MACHINE].longest_start_ns, 3000000);
	assert_int_equal(r->waste[WAKEIF_MACHINE].pid, 202);
	assert_int_equal(r->waste[WAKEIF_MACHINE].waiting_cpu, 1);
	assert_int_equal(r->waste[WAKEIF_MACHINE].idle_cpu, 2);
	wi_results_free(r);
	/* Still going on at the end of the window. */
	r = run_on(small, "0 0 300 other\n1000 0 300 wakeup 200 0\n20001000 0 300 other\n");
	assert_int_equal(r->waste[WAKEIF_CORE].longest_ns, 20000000);
	assert_int_equal(r->waste[WAKEIF_CORE].episodes[1], 1);
	assert_int_equal(r->waste[WAKEIF_CORE].pid, 200);
	assert_int_equal(r->waste[WAKEIF_CORE].idle_cpu, 1);
	wi_results_free(r);
}

static void rule_26_moved_task_waits_on(void **state)
{
	(void)state;
	/* t200 waits on CPU 0 from 1000, is moved to CPU 2 at 3000; t201 waits on CPU 2 from 2000. t200 waited longest. */
	struct wi_results *r = run_on(small, "0 0 300 other\n0 2 302 other\n0 4 304 other\n1000 4 304 wakeup 200 0\n2000 4 304 wakeup 201 2\n"
					     "3000 4 304 migrate 200 0 2\n9000 4 304 other\n");

	assert_int_equal(r->waste[WAKEIF_MACHINE].longest_ns, 8000);
	assert_int_equal(r->waste[WAKEIF_MACHINE].pid, 200);
	assert_int_equal(r->waste[WAKEIF_MACHINE].waiting_cpu, 2);
	wi_results_free(r);
}

/* ---- rules 27 to 30 ---- */

static const struct wi_smt_pair_row *pair_of(const struct wi_results *r, const char *a, const char *b)
{
	for (size_t i = 0; i < r->smt.nr_pair; i++)
		if (!strcmp(wi_results_name(r, r->smt.pair[i].a), a) && !strcmp(wi_results_name(r, r->smt.pair[i].b), b))
			return &r->smt.pair[i];
	fail_msg("no pair %s, %s", a, b);
	return NULL;
}

static const struct wi_task_row *task_of(const struct wi_results *r, int32_t pid)
{
	for (size_t i = 0; i < r->tasks.nr; i++)
		if (r->tasks.row[i].pid == pid)
			return &r->tasks.row[i];
	fail_msg("no task %d", pid);
	return NULL;
}

static void rules_27_to_29_corun(void **state)
{
	(void)state;
	/* Core 0-1: t300 all the time; on CPU 1 t301 until 2000, idle until 3000, t301 until 4000, unknown from 4000 (a gap) to 5000. Core 2-3 busy from 1500. */
	struct wi_results *r = run_on(small, "1000 0 0 switch R 300\n1000 1 0 switch R 301\n"
					     "1500 2 0 switch R 302\n"
					     "2000 1 301 switch S 0\n3000 1 0 switch R 301\n4000 1 301 lost\n5000 1 301 switch S 0\n6000 0 300 other\n");

	assert_int_equal(r->smt.nr_threads, 2);
	assert_int_equal(r->smt.core[0].busy_threads_ns[2], 1000 + 1000);
	assert_int_equal(r->smt.core[0].busy_threads_ns[1], 1000 + 1000);
	assert_int_equal(r->smt.core[0].busy_threads_ns[0], 0);
	assert_int_equal(r->smt.core[0].unknown_ns, 1000);
	assert_int_equal(r->smt.unknown_ns, 1000);
	assert_int_equal(r->smt.core[1].busy_threads_ns[1], 4500);
	assert_int_equal(r->smt.busy_threads_ns[0], 500 + 2 * 5000);
	assert_int_equal(pair_of(r, "t300", "t301")->ns, 2000);
	assert_int_equal(r->smt.nr_pair, 1);
	assert_int_equal(task_of(r, 300)->corun_ns, 2000);
	assert_int_equal(task_of(r, 300)->alone_ns, 2000);
	assert_int_equal(task_of(r, 300)->smt_unknown_ns, 1000);
	assert_int_equal(task_of(r, 300)->run_ns, 5000);
	assert_int_equal(r->smt.avoidable_corun_ns[WI_WIDE_MACHINE], 2000); /* two or three cores idle meanwhile */
	wi_results_free(r);
}

static void rule_28_within_a_scope(void **state)
{
	(void)state;
	/* Core 0-1 of LLC 0-3 runs two; core 2-3 runs one; the idle cores are in other LLCs and nodes. */
	struct wi_results *r = run_on(big, "1000 0 300 other\n1000 1 301 other\n1000 2 302 other\n1000 4 304 other\n1000 6 306 other\n"
					   "2000 4 304 switch S 0\n3000 0 300 other\n");

	assert_int_equal(r->smt.avoidable_corun_ns[WI_WIDE_LLC], 0);
	assert_int_equal(r->smt.avoidable_corun_ns[WI_WIDE_NODE], 1000);
	assert_int_equal(r->smt.avoidable_corun_ns[WI_WIDE_MACHINE], 2000);
	wi_results_free(r);
}

static void rule_29_four_threads(void **state)
{
	(void)state;
	struct wakeif_topology *t = tl_fixture_topology(1, 1, 2, 4);
	struct wi_results *r = run_on(t, "1000 0 0 switch R 300\n1000 1 0 switch R 301\n1000 2 0 switch R 302\n1000 4 304 other\n2000 4 304 other\n");

	assert_int_equal(r->smt.busy_threads_ns[3], 1000);
	assert_int_equal(pair_of(r, "t300", "t301")->ns, 1000);
	assert_int_equal(pair_of(r, "t300", "t302")->ns, 1000);
	assert_int_equal(pair_of(r, "t301", "t302")->ns, 1000);
	assert_int_equal(r->smt.nr_pair, 3);
	wi_results_free(r);
	tl_fixture_topology_free(t);
}

static void smt_lost_time(void **state)
{
	(void)state;
	assert_int_equal(wi_smt_lost_ns(1000, 620), 380);
	assert_int_equal(wi_smt_lost_ns(1001, 620), 380);
	assert_int_equal(wi_smt_lost_ns(999, 500), 499);
	assert_int_equal(wi_smt_lost_ns(5, 1000), 0);
	assert_int_equal(wi_smt_lost_ns(UINT64_MAX, 0), UINT64_MAX);
}

static void rule_30_idle_tables(void **state)
{
	(void)state;
	/* CPU 0 idle, unknown from 2000 to 3000, then busy; CPU 1 busy from 2500 to 2800. */
	struct wi_results *r = run_on(small, "1000 0 0 other\n2000 0 0 lost\n2500 1 0 switch R 301\n2800 1 301 switch S 0\n3000 0 0 switch R 300\n4000 0 300 other\n");
	const struct wi_idle_row *core = &r->idle.core.row[0], *llc = &r->idle.llc.row[0];

	assert_string_equal(core->cpus, "0-1");
	assert_int_equal(core->idle_ns, 1000);
	assert_int_equal(core->unknown_ns, 500 + 200);
	assert_int_equal(core->busy_ns, 300 + 1000);
	assert_int_equal(llc->idle_ns, 1000);
	assert_int_equal(llc->unknown_ns, 700);
	assert_int_equal(r->idle.cpu.row[0].unknown_ns, 1000);
	assert_int_equal(r->quality.unknown_ns, 1000);
	assert_int_equal(r->idle.package.nr, 1);
	wi_results_free(r);
}

static void rule_30_touched_idle_package(void **state)
{
	(void)state;
	struct wi_results *r = placed(big, NULL, "iiiiiiiiiiiiiiib", 15, 0, NULL);
	assert_int_equal(r->idle.touched_idle_package, 1);
	wi_results_free(r);
	r = placed(big, NULL, "iiibiiiiiiiiiiib", 15, 0, NULL);
	assert_int_equal(r->idle.touched_idle_package, 0);
	wi_results_free(r);
	r = placed(big, NULL, "iiiuiiiiiiiiiiib", 15, 0, NULL);
	assert_int_equal(r->idle.touched_idle_package, 0);
	wi_results_free(r);
}

static void cstates(void **state)
{
	(void)state;
	struct wi_results *r = run_on(small, "1000 0 0 cpu_idle 1\n1500 0 0 cpu_idle -1\n1600 0 0 cpu_idle 2\n2000 0 0 cpu_idle 1\n2100 0 0 lost\n2200 1 301 other\n");

	assert_int_equal(r->idle.nr_cstate, 2);
	assert_int_equal(r->idle.cstate[0].state, 1);
	assert_int_equal(r->idle.cstate[0].ns, 500 + 100); /* not beyond the gap */
	assert_int_equal(r->idle.cstate[0].entries, 2);
	assert_int_equal(r->idle.cstate[1].ns, 400);
	wi_results_free(r);
}

/* ---- rules 31, 32 ---- */

static void rule_31_migrations(void **state)
{
	(void)state;
	struct wi_results *r = run_on(big, "1000 0 300 other\n1000 4 304 other\n"
					   "1900 0 300 waking 200 1\n1905 0 300 migrate 200 1 4\n2000 0 300 wakeup 200 4\n" /* LLC to LLC of one node */
					   "2100 4 304 migrate 200 4 8\n"						    /* balancer, to the other node */
					   "2200 9 0 switch R 200\n"							    /* and it runs beside it: inferred */
					   "3000 0 300 other\n");

	assert_int_equal(r->migrations.total, 3);
	assert_int_equal(r->migrations.inferred, 1);
	assert_int_equal(r->migrations.placement, 1);
	assert_int_equal(r->migrations.by_distance[WI_DIST_NODE], 1);
	assert_int_equal(r->migrations.by_distance[WI_DIST_REMOTE], 1);
	assert_int_equal(r->migrations.by_distance[WI_DIST_CORE], 1);
	assert_int_equal(task_of(r, 200)->migrations, 3);
	wi_results_free(r);
}

static void rule_32_outcome_and_bounce(void **state)
{
	(void)state;
	/* Waker on CPU 0, prev 8 (other node); placed on 1 (waker's core). Back on node 1, LLC 8-11, 9 ms after t_run. */
	static const char *first = "1000 0 300 other\n1000 8 200 switch S 0\n"
				   "1000000 0 300 waking 200 8\n1000005 0 300 migrate 200 8 1\n1000010 1 0 wakeup 200 1\n1000020 1 0 switch R 200\n"
				   "1000500 1 200 switch S 0\n";
	char text[1024];

	snprintf(text, sizeof(text), "%s%s", first,
		 "9000000 0 300 waking 200 1\n9000005 0 300 migrate 200 1 9\n9000010 9 0 wakeup 200 9\n10000020 9 0 switch R 200\n20000000 0 300 other\n");
	struct wi_results *r = run_on(big, text);
	assert_int_equal(r->affine.all.considered, 2);
	assert_int_equal(r->affine.all.prev[WI_DIST_REMOTE], 2);
	assert_int_equal(r->affine.matrix[WI_DIST_REMOTE][WI_DIST_CORE], 1);
	assert_int_equal(r->affine.matrix[WI_DIST_REMOTE][WI_DIST_REMOTE], 1);
	assert_int_equal(r->affine.all.cross_llc, 2);
	assert_int_equal(r->affine.all.bounce, 1);
	assert_int_equal(r->affine.by_context[WAKEIF_CTX_TASK].bounce, 1);
	assert_int_equal(r->affine.all.latency.count, 2);
	wi_results_free(r);
	/* 10 ms and 1 ns after t_run: no bounce. */
	snprintf(text, sizeof(text), "%s%s", first,
		 "9000000 0 300 waking 200 1\n9000005 0 300 migrate 200 1 9\n9000010 9 0 wakeup 200 9\n11000021 9 0 switch R 200\n20000000 0 300 other\n");
	r = run_on(big, text);
	assert_int_equal(r->affine.all.bounce, 0);
	wi_results_free(r);
	/* At 10 ms sharp it is one. */
	snprintf(text, sizeof(text), "%s%s", first,
		 "9000000 0 300 waking 200 1\n9000005 0 300 migrate 200 1 9\n9000010 9 0 wakeup 200 9\n11000020 9 0 switch R 200\n20000000 0 300 other\n");
	r = run_on(big, text);
	assert_int_equal(r->affine.all.bounce, 1);
	wi_results_free(r);
	/* The waker's CPU is prev_cpu: not considered. */
	r = run_on(big, "1000 0 300 other\n1000 8 200 switch S 308\n2000 8 308h waking 200 8\n2005 8 308h migrate 200 8 1\n2010 1 0 wakeup 200 1\n2020 1 0 switch R 200\n");
	assert_int_equal(r->missed.decided, 1);
	assert_int_equal(r->affine.all.considered, 0);
	wi_results_free(r);
}

static void rule_16_unknown_waker(void **state)
{
	(void)state;
	static const char *const by[] = { "0 300", "2 0h" }; /* a task on CPU 0; the interrupt on CPU 2 that brought the wakeup */
	char text[256];

	for (size_t i = 0; i < 2; i++) {
		struct tl_fixture_opts tl = { .topology = big, .no_waking = true };

		snprintf(text, sizeof(text), "1000 0 300 other\n1000 4 200 switch S 0\n2000 %s wakeup 200 2\n2010 2 0 switch R 200\n3000 0 300 other\n", by[i]);
		struct wi_results *r = mx_run(&tl, NULL, text, false);
		assert_int_equal(r->missed.decided, 1);
		assert_int_equal(r->missed.prev_idle_elsewhere, 1);
		assert_int_equal(r->missed.prev_idle_affine_possible, i == 0);
		assert_int_equal(r->affine.all.considered, i == 0);
		assert_int_equal(r->latency.wakeup.sum_ns, 10);
		assert_int_equal(r->latency.transit.count, 0);
		wi_results_free(r);
	}
}

static void rule_19_contexts(void **state)
{
	(void)state;
	struct wi_results *r = run_on(small, "1000 0 300 other\n"
					     "2000 0 300h waking 200 1\n2001 0 300 migrate 200 1 2\n2002 2 0 wakeup 200 2\n2003 2 0 switch R 200\n"
					     "3000 0 300s waking 201 1\n3001 0 300 migrate 201 1 3\n3002 3 0 wakeup 201 3\n3003 3 0 switch R 201\n"
					     "4000 5 0 waking 202 1\n4001 5 0 migrate 202 1 4\n4002 4 0 wakeup 202 4\n4003 4 0 switch R 202\n");

	assert_int_equal(r->affine.by_context[WAKEIF_CTX_HARDIRQ].considered, 1);
	assert_int_equal(r->affine.by_context[WAKEIF_CTX_SOFTIRQ].considered, 1);
	assert_int_equal(r->affine.by_context[WAKEIF_CTX_IDLE].considered, 1);
	assert_int_equal(r->affine.by_context[WAKEIF_CTX_TASK].considered, 0);
	wi_results_free(r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rule_21_rings),
		cmocka_unit_test(rule_21_cluster_between_core_and_llc),
		cmocka_unit_test(rule_21_unknown_chosen_is_not_queued_on_busy),
		cmocka_unit_test(rule_22_isolated_only_where_affinity_names_them),
		cmocka_unit_test(rule_22_sched_idle_only),
		cmocka_unit_test(rule_25_sched_idle_stretch),
		cmocka_unit_test(rule_25_avoidable),
		cmocka_unit_test(rule_25_longest_idle_then_lowest),
		cmocka_unit_test(rule_25_censored),
		cmocka_unit_test(rule_23_idle_cores),
		cmocka_unit_test(rule_23_sched_idle_makes_no_core_idle),
		cmocka_unit_test(rule_24_stacked_on_waker),
		cmocka_unit_test(rule_24_prev_idle_elsewhere),
		cmocka_unit_test(placements),
		cmocka_unit_test(rule_18_latencies),
		cmocka_unit_test(rule_6_window),
		cmocka_unit_test(rule_26_pairs),
		cmocka_unit_test(rule_26_behind),
		cmocka_unit_test(rule_26_affinity),
		cmocka_unit_test(rule_26_episodes),
		cmocka_unit_test(rule_26_moved_task_waits_on),
		cmocka_unit_test(rules_27_to_29_corun),
		cmocka_unit_test(rule_28_within_a_scope),
		cmocka_unit_test(rule_29_four_threads),
		cmocka_unit_test(smt_lost_time),
		cmocka_unit_test(rule_30_idle_tables),
		cmocka_unit_test(rule_30_touched_idle_package),
		cmocka_unit_test(cstates),
		cmocka_unit_test(rule_31_migrations),
		cmocka_unit_test(rule_32_outcome_and_bounce),
		cmocka_unit_test(rule_16_unknown_waker),
		cmocka_unit_test(rule_19_contexts),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
