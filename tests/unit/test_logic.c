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
#include "analyzer/topology/topology.h"
#include "parsers/source.h"
#include "tests/unit/topo_fixture.h"

/* Stamps of the trace, read as far as the next decision. */
struct stamps {
	struct wi_names *names;
	struct wi_source *src;
	struct wi_event ev[512];
	int nr, at;
};

static void feed(struct stamps *s, struct wi_logic *l, uint64_t until_ns)
{
	struct wi_err err = { WI_OK, "" };

	for (;;) {
		if (s->at == s->nr) {
			s->nr = wi_source_next_batch(s->src, s->ev, 512, &err);
			s->at = 0;
			if (s->nr < 0)
				fail_msg("%s", err.msg);
			if (!s->nr)
				return;
		}
		const struct wi_event *e = &s->ev[s->at];

		if (e->ts_ns >= until_ns)
			return;
		if (e->type == WI_EV_SCHED_SWITCH && e->sw.next_pid == 0)
			wi_logic_idled(l, e->cpu, e->ts_ns);
		s->at++;
	}
}

static void check_one(const char *name, const struct wi_fair_knobs *knobs, struct wi_logic_results *sum)
{
	struct wi_err err = { WI_OK, "" };
	char path[256], truth_path[512];
	const char *found;
	struct stamps *s = calloc(1, sizeof(*s));

	snprintf(path, sizeof(path), "corpus/%s/topology.tar.gz", name);
	found = tf_shared(path);
	assert_non_null(found);
	const struct wakeif_topology *topo = wi_topology_load(found, &err);

	if (!topo)
		fail_msg("%s", err.msg);
	snprintf(path, sizeof(path), "corpus/%s/trace.dat", name);
	s->names = wi_names_new();
	s->src = wi_source_open(tf_shared(path), &(struct wi_open_opts){ 0 }, s->names, &err);
	if (!s->src)
		fail_msg("%s", err.msg);
	wi_source_set_filter(s->src, WI_EV_BIT(SCHED_SWITCH));
	snprintf(path, sizeof(path), "corpus/%s/decisions.tsv.zst", name);
	snprintf(truth_path, sizeof(truth_path), "%s", tf_shared(path));
	struct wi_truth *t = wi_truth_open(truth_path, &err);
	struct wi_logic *l = wi_logic_new(topo, knobs, &err);
	struct wi_truth_decision d;
	int got;

	if (!t || !l)
		fail_msg("%s", err.msg);
	while ((got = wi_truth_next(t, &d, &err)) > 0) {
		struct wi_logic_case c;

		feed(s, l, d.ts_ns);
		if (!wi_logic_check(l, &d, truth_path, &c, &err))
			fail_msg("%s", err.msg);
		if (c.checked && (c.reason || (c.wide_known && !c.wide_ok)))
			print_message("%s:%llu pid %d %s: kernel %u, model %u by %u%s%s: %s\n", name,
				      (unsigned long long)c.line, c.pid,
				      c.class_ == WAKEIF_SELECT ? "wakeup"
				      : c.class_ == WAKEIF_FORK ? "fork"
								: "exec",
				      c.ret, c.model, c.rule, c.sequence_ok ? "" : ", other tests",
				      c.wide_known && !c.wide_ok ? ", wide" : "", wi_logic_reason_name(c.reason));
	}
	if (got < 0)
		fail_msg("%s", err.msg);
	const struct wi_logic_results *r = wi_logic_results(l);

	print_message("%-26s %6llu ret %.3f%% seq %.3f%% wide %llu/%llu target %llu/%llu weight %llu/%llu fork "
		      "%llu/%llu exec %llu/%llu\n",
		      name, (unsigned long long)r->decisions, 100.0 * (double)r->ret_ok / (double)r->decisions,
		      100.0 * (double)r->sequence_ok / (double)r->decisions, (unsigned long long)r->wide_ok,
		      (unsigned long long)r->wide_known, (unsigned long long)r->target_ok,
		      (unsigned long long)r->target_known, (unsigned long long)r->weight_ok,
		      (unsigned long long)r->weight_known, (unsigned long long)r->fork_ok, (unsigned long long)r->fork,
		      (unsigned long long)r->exec_ok, (unsigned long long)r->exec);
	wi_logic_merge(sum, r);
	wi_logic_free(l);
	wi_truth_close(t);
	wi_source_close(s->src);
	wi_names_free(s->names);
	free(s);
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
	print_message("  %llu wakeups right only if the other tasks of the waker's CPU were delayed ones, which is not "
		      "recorded\n",
		      (unsigned long long)r->delayed_assumed);
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
	struct wi_fair_knobs knobs = wi_fair_knobs_of(6 << 16 | 1 << 8);
	struct wi_logic_results sum = { 0 };

	(void)state;
	if (!tf_shared("corpus/README.md")) {
		print_message("skipped: no recordings (WAKEIF_SHARED)\n");
		skip();
	}
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		check_one(names[i], &knobs, &sum);
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
	struct wi_fair_knobs knobs = wi_fair_knobs_of(6 << 16 | 12 << 8);
	struct wi_logic_results sum = { 0 };

	(void)state;
	if (!tf_shared("corpus/README.md")) {
		print_message("skipped: no recordings (WAKEIF_SHARED)\n");
		skip();
	}
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		check_one(names[i], &knobs, &sum);
	report("6.12", &sum);
	expect("6.12 same CPU", sum.ret_ok, sum.decisions, 99.9);
	expect("6.12 same tests", sum.sequence_ok, sum.decisions, 99.6);
	expect("6.12 wake_wide", sum.wide_ok, sum.wide_known, 100);
	expect("6.12 without an assumption on delayed tasks", sum.ret_ok - sum.delayed_assumed, sum.decisions, 99.6);
	expect("6.12 fork", sum.fork_ok, sum.fork, 96);
	assert_int_equal(sum.reasons[WI_LOGIC_UNEXPLAINED], 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_61), cmocka_unit_test(test_612) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
