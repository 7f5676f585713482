/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the replay says of the kernel's own choices is what the metrics say: missed idle on random traces of many
 * machines, computed by either from the same events. And what always holds for answers.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analyzer/base/cpumask.h"
#include "models/registry.h"
#include "models/params.h"
#include "tests/unit/metrics_fixture.h"
#include "tests/unit/replay_fixture.h"

#define NR_FACTS 30

struct machine {
	uint32_t nodes, llcs, cores, threads;
};

static const struct machine machines[] = { { 1, 1, 4, 2 }, { 2, 1, 4, 2 }, { 1, 2, 2, 4 }, { 1, 1, 4, 1 },
					   { 2, 2, 2, 2 }, { 1, 1, 1, 1 }, { 2, 2, 9, 2 } };

static size_t random_facts(struct mx_rng *rng, const struct wakeif_topology *t, struct wi_task_fact *facts, wakeif_word (*masks)[2],
			   bool sched_idle)
{
	size_t n = 0;

	for (int pid = 100; pid < 100 + NR_FACTS; pid++) {
		if (!mx_random(rng, 4))
			continue;
		memset(masks[n], 0, sizeof(*masks));
		for (uint32_t c = 0; c < t->nr_cpus; c++)
			if (mx_random(rng, 3))
				wi_mask_set(masks[n], c);
		wi_mask_set(masks[n], mx_random(rng, t->nr_cpus));
		facts[n] = (struct wi_task_fact){ .pid = pid, .nice = INT32_MIN, .allowed = masks[n],
						  .policy = sched_idle && !mx_random(rng, 6) ? WAKEIF_POLICY_IDLE : WAKEIF_POLICY_NORMAL };
		n++;
	}
	return n;
}

static void same(const char *what, uint64_t metrics, uint64_t replay)
{
	if (metrics != replay)
		fail_msg("%s: metrics %llu, replay %llu", what, (unsigned long long)metrics, (unsigned long long)replay);
}

static void compare(const struct wi_missed_results *m, const struct wi_model_missed *r)
{
	same("decided", m->decided, r->decided);
	same("chosen idle", m->chosen_idle, r->chosen_idle);
	same("queued on busy", m->queued_on_busy, r->queued_on_busy);
	same("chosen unknown", m->chosen_unknown, r->chosen_unknown);
	for (int k = 0; k < WI_NR_MISSED_ROWS; k++)
		same(wi_missed_row_name((enum wi_missed_row)k), m->row[k].count, r->row[k]);
	for (int k = 0; k < WI_NR_WIDE; k++) {
		same("while idle core", m->queued_while_idle_core[k].count, r->queued_while_idle_core[k]);
		same("half-busy", m->half_busy_core[k].count, r->half_busy_core[k]);
	}
	same("stacked", m->stacked_on_waker.count, r->stacked_on_waker);
	same("prev idle elsewhere", m->prev_idle_elsewhere, r->prev_idle_elsewhere);
	same("sched_idle only", m->on_sched_idle_only, r->on_sched_idle_only);
}

/* For every row: the parts sum up to the whole. */
static void sums(const struct wi_model_results *m, uint64_t decided)
{
	uint64_t rows = m->missed.chosen_idle, moves = 0, reasons = 0, rules = 0;

	for (int k = 0; k < WI_NR_MISSED_ROWS; k++)
		rows += m->missed.row[k];
	for (int k = 0; k <= WI_NR_DISTANCES; k++)
		moves += m->moves[k];
	for (int k = 0; k < WI_NR_REASONS; k++)
		reasons += m->disagree[k];
	for (int k = 0; k < WAKEIF_NR_RULES; k++)
		rules += m->rule[k].answers;
	same("decided of the row", decided, m->select.decided);
	same("sum of missed rows", decided, rows);
	same("sum of moves", decided, moves);
	same("sum of reasons", m->select.decided - m->select.cpu, reasons);
	if (m->position)
		same("sum of rules", decided, rules);
	same("sum of waits", decided, m->est_wait.wait.count + m->est_wait.censored + m->est_wait.unknown + m->est_wait.dropped);
	if (m->invalid && m->position > 3) /* the others may stay on a previous CPU that is offline */
		fail_msg("%s: %llu invalid of %llu", m->label, (unsigned long long)m->invalid, (unsigned long long)decided);
	assert_true(m->select.cpu <= m->select.core && m->select.core <= m->select.llc && m->select.llc <= decided);
}

static uint64_t nr_decided, nr_busy, nr_half_busy, nr_sched_idle, nr_unknown;

static void one(uint64_t seed)
{
	static const char *const specs[] = { "prev", "waker", "idle-core-first", "least-loaded", "random-idle" };
	struct mx_rng rng = { seed * 104729 + 7 };
	const struct machine *mc = &machines[mx_random(&rng, sizeof(machines) / sizeof(*machines))];
	struct wakeif_topology *t = tl_fixture_topology(mc->nodes, mc->llcs, mc->cores, mc->threads);
	struct wi_model_spec spec[5];
	struct wi_replay_model models[5];
	struct wi_task_fact facts[NR_FACTS];
	wakeif_word masks[NR_FACTS][2], online[2], isolated[2] = { 0 };
	const wakeif_word *all = t->online, *none = t->isolated;
	struct wi_err err = { 0 };
	size_t wrong_at;

	if (t->nr_cpus > 2 && mx_random(&rng, 2)) {
		memcpy(online, all, t->nr_words * sizeof(*online));
		wi_mask_clear(online, 1 + mx_random(&rng, t->nr_cpus - 1));
		wi_mask_set(isolated, mx_random(&rng, t->nr_cpus));
		t->online = online;
		t->isolated = isolated;
	}
	bool sched_idle = mx_random(&rng, 4) == 0;
	size_t nr_facts = sched_idle || mx_random(&rng, 2) ? random_facts(&rng, t, facts, masks, sched_idle) : 0;
	for (size_t i = 0; i < nr_facts; i++)
		for (uint32_t k = 0; k < t->nr_words; k++)
			masks[i][k] = masks[i][k] & t->online[k] ? masks[i][k] & t->online[k] : t->online[k];
	char *events = mx_random_trace(&rng, t, facts, nr_facts, 500, mx_random(&rng, 3) == 0);
	struct tl_fixture_opts tl = { .topology = t, .facts = facts, .nr_facts = nr_facts, .oncpu_ns = 1, .kernel_version = 6 << 16 | 1 << 8 };
	for (int i = 0; i < 5; i++) {
		assert_true(wi_model_spec_parse(specs[i], &spec[i], &wrong_at, &err));
		models[i] = (struct wi_replay_model){ .ops = spec[i].ops, .values = spec[i].values, .label = spec[i].label, .params = spec[i].params };
	}
	struct wi_replay_opts ro = { .models = models, .nr_models = 5, .seed = seed };
	struct wi_results *m = mx_run(&tl, NULL, events, false);
	struct wi_replay_results *r = rx_run(&tl, &ro, events), *again = rx_run(&tl, &ro, events);

	same("replayed", m->missed.decided, r->decided + r->not_replayed);
	/* A CPU left with SCHED_IDLE tasks only by the arrival of another one: the metrics hear of it at the next change. */
	if (!r->not_replayed && !sched_idle)
		compare(&m->missed, &r->model[0].missed);
	for (size_t i = 0; i < r->nr_models; i++)
		sums(&r->model[i], r->decided);
	if (!sched_idle) /* it wants CPUs that are idle altogether */
		same("queued on busy though idle was allowed, by idle-core-first", 0,
		     r->model[3].missed.queued_on_busy - r->model[3].missed.row[WI_MISSED_NO_IDLE] -
			     (r->model[3].missed.row[WI_MISSED_UNKNOWN] - r->model[3].missed.chosen_unknown));
	char *a = rx_dump(r), *b = rx_dump(again);
	assert_string_equal(a, b);
	free(a);
	free(b);
	nr_decided += r->decided;
	nr_busy += m->missed.queued_on_busy;
	nr_half_busy += m->missed.half_busy_core[WI_WIDE_MACHINE].count;
	nr_sched_idle += r->model[0].missed.on_sched_idle_only;
	nr_unknown += m->missed.chosen_unknown;
	for (int i = 0; i < 5; i++)
		wi_model_spec_fini(&spec[i]);
	wi_results_free(m);
	wi_replay_results_free(r);
	wi_replay_results_free(again);
	free(events);
	t->online = all;
	t->isolated = none;
	tl_fixture_topology_free(t);
}

static void as_the_metrics(void **state)
{
	(void)state;
	for (uint64_t seed = 0; seed < 150; seed++)
		one(seed);
	/* all that matters occurred */
	assert_true(nr_decided > 3000 && nr_busy > 500 && nr_half_busy > 50 && nr_sched_idle > 20 && nr_unknown > 5);
}

static void distances(void **state)
{
	struct wakeif_topology *t = tl_fixture_topology(2, 2, 2, 2); /* 16 CPUs; LLC of 4, node of 8 */

	(void)state;
	assert_int_equal(wi_cpu_distance(t, 3, 3), WI_DIST_CPU);
	assert_int_equal(wi_cpu_distance(t, 2, 3), WI_DIST_CORE);
	assert_int_equal(wi_cpu_distance(t, 1, 2), WI_DIST_LLC);
	assert_int_equal(wi_cpu_distance(t, 1, 4), WI_DIST_NODE);
	assert_int_equal(wi_cpu_distance(t, 1, 8), WI_DIST_REMOTE);
	assert_int_equal(wi_cpu_distance(t, 1, 16), WI_DIST_UNKNOWN);
	tl_fixture_topology_free(t);
}

static void fallback(void **state)
{
	struct wakeif_topology *t = tl_fixture_topology(2, 1, 2, 2); /* nodes 0-3 and 4-7 */
	const wakeif_word low = 0x0e, high = 0xe0, none = 0;

	(void)state;
	assert_int_equal(wi_fallback_cpu(t, &low, 3), 1);  /* the lowest of its node */
	assert_int_equal(wi_fallback_cpu(t, &high, 3), 5); /* none there: the lowest allowed */
	assert_int_equal(wi_fallback_cpu(t, &none, 3), 0); /* none at all: any */
	assert_int_equal(wi_fallback_cpu(t, &high, 99), 5);
	tl_fixture_topology_free(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(as_the_metrics), cmocka_unit_test(distances), cmocka_unit_test(fallback) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
