/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The decision logic against what kernels did: every recording with full probes, the bars of each kernel. Skips where
 * the recordings are not there.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analyzer/replay/logic.h"
#include "analyzer/replay/runnable.h"
#include "analyzer/timeline/timeline.h"
#include "analyzer/topology/topology.h"
#include "parsers/source.h"
#include "tests/unit/topo_fixture.h"

/* One recording: its decisions are checked as the trace comes to them. */
struct run {
	const char *name, *truth_path;
	struct wi_truth *truth;
	struct wi_truth_decision next;
	bool has_next;
	struct wi_logic *logic;
	struct wi_timeline *tl;
};

static void next_decision(struct run *r)
{
	struct wi_err err = { WI_OK, "" };
	int got = wi_truth_next(r->truth, &r->next, &err);

	if (got < 0)
		fail_msg("%s", err.msg);
	r->has_next = got > 0;
}

static void check_until(struct run *r, uint64_t until_ns)
{
	struct wi_err err = { WI_OK, "" };

	for (; r->has_next && r->next.ts_ns < until_ns; next_decision(r)) {
		struct wi_logic_case c;

		if (!wi_logic_check(r->logic, &r->next, r->truth_path, &c, &err))
			fail_msg("%s", err.msg);
		if (c.checked && (c.reason || (c.wide_known && !c.wide_ok)))
			print_message("%s:%llu pid %d %s: kernel %u, model %u by %u%s%s: %s\n", r->name,
				      (unsigned long long)c.line, c.pid,
				      c.class_ == WAKEIF_SELECT ? "wakeup"
				      : c.class_ == WAKEIF_FORK ? "fork"
								: "exec",
				      c.ret, c.model, c.rule, c.sequence_ok ? "" : ", other tests",
				      c.wide_known && !c.wide_ok ? ", wide" : "", wi_logic_reason_name(c.reason));
	}
}

static void happened(void *ctx, const struct wakeif_happening *h)
{
	struct run *r = ctx;

	check_until(r, h->now_ns);
	assert_true(wi_logic_happened(r->logic, h));
}

static void feed(struct run *r, const char *path, const struct wakeif_topology *topo, uint32_t kernel)
{
	const struct wi_timeline_observer obs = { .ctx = r, .happened = happened };
	struct wi_names *names = wi_names_new();
	struct wi_err err = { WI_OK, "" };
	struct wi_source *src = wi_source_open(path, &(struct wi_open_opts){ 0 }, names, &err);
	struct wi_survey survey;
	struct wi_event *ev;
	int max, n;

	if (!src || !wi_survey(src, &survey, &err))
		fail_msg("%s", err.msg);
	struct wi_timeline_opts to = { .topology = topo,
				       .names = names,
				       .trace_name = path,
				       .survey = &survey,
				       .stop_ns = UINT64_MAX,
				       .kernel_version = kernel };

	r->tl = wi_timeline_new(&to, &obs, &err);
	assert_non_null(r->tl);
	while ((ev = wi_timeline_room(r->tl, &max)) &&
	       (n = wi_source_next_batch(src, ev, max < 512 ? max : 512, &err)) > 0)
		assert_true(wi_timeline_take(r->tl, ev, n, &err));
	assert_true(wi_timeline_finish(r->tl, &err));
	check_until(r, UINT64_MAX);
	wi_timeline_free(r->tl);
	wi_survey_fini(&survey);
	wi_source_close(src);
	wi_names_free(names);
}

static void check_one(const char *name, uint32_t kernel, struct wi_logic_results *sum)
{
	struct wi_fair_knobs knobs = wi_fair_knobs_of(kernel);
	struct wi_err err = { WI_OK, "" };
	char path[256], truth_path[512];
	const char *found;
	struct run run = { .name = name, .truth_path = truth_path };

	snprintf(path, sizeof(path), "corpus/%s/topology.tar.gz", name);
	found = tf_shared(path);
	assert_non_null(found);
	const struct wakeif_topology *topo = wi_topology_load(found, &err);

	if (!topo)
		fail_msg("%s", err.msg);
	snprintf(path, sizeof(path), "corpus/%s/decisions.tsv.zst", name);
	snprintf(truth_path, sizeof(truth_path), "%s", tf_shared(path));
	run.truth = wi_truth_open(truth_path, &err);
	run.logic = wi_logic_new(topo, &knobs, &err);
	if (!run.truth || !run.logic)
		fail_msg("%s", err.msg);
	next_decision(&run);
	snprintf(path, sizeof(path), "corpus/%s/trace.dat", name);
	feed(&run, tf_shared(path), topo, kernel);
	const struct wi_logic_results *r = wi_logic_results(run.logic);

	print_message("%-26s %6llu ret %.3f%% seq %.3f%% wide %llu/%llu target %llu/%llu weight %llu/%llu fork "
		      "%llu/%llu exec %llu/%llu\n",
		      name, (unsigned long long)r->decisions, 100.0 * (double)r->ret_ok / (double)r->decisions,
		      100.0 * (double)r->sequence_ok / (double)r->decisions, (unsigned long long)r->wide_ok,
		      (unsigned long long)r->wide_known, (unsigned long long)r->target_ok,
		      (unsigned long long)r->target_known, (unsigned long long)r->weight_ok,
		      (unsigned long long)r->weight_known, (unsigned long long)r->fork_ok, (unsigned long long)r->fork,
		      (unsigned long long)r->exec_ok, (unsigned long long)r->exec);
	wi_logic_merge(sum, r);
	wi_logic_free(run.logic);
	wi_truth_close(run.truth);
	wi_topology_free(topo);
}

static void report(const char *kernel, const struct wi_logic_results *r)
{
	print_message("%s: %llu decisions, same CPU %.4f%%, same tests %.4f%%, wide %llu of %llu, target %.3f%%, fork "
		      "%.2f%% exec %.2f%%\n",
		      kernel, (unsigned long long)r->decisions, 100.0 * (double)r->ret_ok / (double)r->decisions,
		      100.0 * (double)r->sequence_ok / (double)r->decisions, (unsigned long long)r->wide_ok,
		      (unsigned long long)r->wide_known, 100.0 * (double)r->target_ok / (double)r->target_known,
		      100.0 * (double)r->fork_ok / (double)r->fork, 100.0 * (double)r->exec_ok / (double)r->exec);
	print_message(
		"  %llu wakeups with delayed tasks on the waker's CPU; %llu right only if there were more of them\n",
		(unsigned long long)r->delayed_seen, (unsigned long long)r->delayed_assumed);
	for (int i = 1; i < WI_LOGIC_NR_REASONS; i++)
		print_message("  %-16s %llu wakeups, %llu forks and execs\n",
			      wi_logic_reason_name((enum wi_logic_reason)i), (unsigned long long)r->reasons[i],
			      (unsigned long long)r->slow_reasons[i]);
}

static void expect(const char *what, uint64_t part, uint64_t all, double percent)
{
	if (!all || (double)part * 100 < percent * (double)all)
		fail_msg("%s: %llu of %llu, the bar is %.2f %%", what, (unsigned long long)part,
			 (unsigned long long)all, percent);
}

static void test_61(void **state)
{
	static const char *const names[] = {
		"61-nosmt4-hb-pipe-full", "61-nosmt4-schbench-full", "61-numa16-cpuset-full", "61-numa16-hb-pipe-full",
		"61-numa16-mix-full",	  "61-numa16-pp-N-full",     "61-smt8-forks-full",    "61-smt8-hb-pipe-full",
		"61-smt8-overload-full",  "61-smt8-perfpipe-full",   "61-smt8-policies-full", "61-smt8-schbench-full",
		"61-smt8-schedidle-full"
	};
	struct wi_logic_results sum = { 0 };

	(void)state;
	if (!tf_shared("corpus/README.md")) {
		print_message("skipped: no recordings (WAKEIF_SHARED)\n");
		skip();
	}
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		check_one(names[i], 6 << 16 | 1 << 8, &sum);
	report("6.1", &sum);
	expect("6.1 same CPU", sum.ret_ok, sum.decisions, 99.95);
	expect("6.1 same tests", sum.sequence_ok, sum.decisions, 99.9);
	expect("6.1 wake_wide", sum.wide_ok, sum.wide_known, 100);
	expect("6.1 fork", sum.fork_ok, sum.fork, 96);
	expect("6.1 exec", sum.exec_ok, sum.exec, 98);
	assert_int_equal(sum.reasons[WI_LOGIC_UNEXPLAINED], 0);
}

static void test_612(void **state)
{
	static const char *const names[] = { "612-smt8-hb-pipe-full", "612-smt8-perfpipe-full",
					     "612-smt8-policies-full" };
	struct wi_logic_results sum = { 0 };

	(void)state;
	if (!tf_shared("corpus/README.md")) {
		print_message("skipped: no recordings (WAKEIF_SHARED)\n");
		skip();
	}
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		check_one(names[i], 6 << 16 | 12 << 8, &sum);
	report("6.12", &sum);
	expect("6.12 same CPU", sum.ret_ok, sum.decisions, 99.9);
	expect("6.12 same tests", sum.sequence_ok, sum.decisions, 99.6);
	expect("6.12 wake_wide", sum.wide_ok, sum.wide_known, 100);
	/* Delayed tasks are told by the trace, none is made up to explain a choice. */
	expect("6.12 same tests, no assumption on delayed tasks", sum.sequence_ok - sum.delayed_assumed, sum.decisions,
	       99.6);
	assert_true(sum.delayed_seen > 100);
	expect("6.12 fork", sum.fork_ok, sum.fork, 96);
	assert_int_equal(sum.reasons[WI_LOGIC_UNEXPLAINED], 0);
}

static void tell(struct wi_runnable *r, uint8_t type, uint64_t ns, uint32_t task, uint32_t cpu)
{
	struct wakeif_happening h = { .size = sizeof(h), .type = type, .now_ns = ns, .task = task, .cpu = cpu };

	assert_true(wi_runnable_happened(r, &h));
}

static uint32_t at(const struct wi_runnable *r, uint32_t cpu, uint64_t ns)
{
	uint32_t nr;

	return wi_runnable_at(r, cpu, ns, &nr) ? nr : 99;
}

static void test_runnable(void **state)
{
	struct wi_runnable r;

	(void)state;
	assert_true(wi_runnable_init(&r, 2));
	assert_int_equal(at(&r, 0, 1000), 99); /* nothing is known yet */
	tell(&r, WAKEIF_TASK_MOVED, 5, 7, 1);  /* asleep: no change */
	tell(&r, WAKEIF_TASK_ENQUEUED, 10, 7, 0);
	tell(&r, WAKEIF_TASK_RUNS, 11, 7, 0);
	tell(&r, WAKEIF_TASK_ENQUEUED, 20, 300, 0);
	tell(&r, WAKEIF_TASK_SLEEPS, 30, 7, 0);
	tell(&r, WAKEIF_TASK_MOVED, 40, 300, 1);
	tell(&r, WAKEIF_TASK_ENDED, 50, 300, 1);
	static const uint32_t expected[2][6] = { { 99, 1, 2, 1, 0, 0 }, { 99, 99, 99, 99, 1, 0 } };
	for (uint32_t c = 0; c < 2; c++)
		for (uint32_t i = 0; i < 6; i++)
			assert_int_equal(at(&r, c, 10 * i + 10), expected[c][i]);
	assert_int_equal(at(&r, 0, UINT64_MAX), 0);
	/* what is too long ago is forgotten, the rest not */
	for (uint64_t i = 0; i < WI_RUNNABLE_KEPT; i++)
		tell(&r, i % 2 ? WAKEIF_TASK_SLEEPS : WAKEIF_TASK_PREEMPTED, 100 + i, 7, 0);
	assert_int_equal(at(&r, 0, 100), 99);
	assert_int_equal(at(&r, 0, 101), 1);
	assert_int_equal(at(&r, 0, 102), 0);
	wi_runnable_fini(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_runnable), cmocka_unit_test(test_61),
					    cmocka_unit_test(test_612) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
