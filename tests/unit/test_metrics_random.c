/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Random traces on many machines: the metrics against an oracle that computes everything anew, and what always holds. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analyzer/base/cpumask.h"
#include "tests/unit/metrics_fixture.h"
#include "tests/unit/share.h"

#define NR_FACTS 40

struct machine {
	uint32_t nodes, llcs, cores, threads;
};

static const struct machine machines[] = { { 1, 1, 4, 2 }, { 2, 1, 4, 2 }, { 1, 2, 2, 4 }, { 1, 1, 4, 1 }, { 2, 2, 2, 2 },
					   { 1, 1, 1, 1 }, { 1, 1, 1, 8 }, { 2, 2, 9, 2 }, { 4, 1, 17, 2 } };

/* Tasks with one CPU, a few CPUs, all CPUs but some, and without a row. */
static size_t random_facts(struct mx_rng *rng, const struct wakeif_topology *t, struct wi_task_fact *facts, wakeif_word (*masks)[4])
{
	size_t n = 0;

	for (int pid = 100; pid < 100 + NR_FACTS; pid++) {
		uint32_t kind = mx_random(rng, 5);
		wakeif_word *m = masks[n];

		if (kind == 4)
			continue;
		memset(m, 0, sizeof(*masks));
		for (uint32_t c = 0; c < t->nr_cpus; c++)
			if (kind == 2 ? mx_random(rng, 3) : kind == 3 ? mx_random(rng, 4) != 0 : mx_random(rng, 2))
				wi_mask_set(m, c);
		if (kind == 0)
			memset(m, 0, sizeof(*masks));
		wi_mask_set(m, mx_random(rng, t->nr_cpus)); /* never empty */
		facts[n] = (struct wi_task_fact){ .pid = pid, .policy = -1, .nice = INT32_MIN, .allowed = m };
		n++;
	}
	return n;
}

static void one(uint64_t seed, bool affinity, bool lost, bool holes)
{
	struct mx_rng rng = { seed * 7919 + 1 };
	const struct machine *mc = &machines[mx_random(&rng, sizeof(machines) / sizeof(*machines))];
	struct wakeif_topology *t = tl_fixture_topology(mc->nodes, mc->llcs, mc->cores, mc->threads);
	struct wi_task_fact facts[NR_FACTS];
	wakeif_word masks[NR_FACTS][4], online[4] = { 0 }, isolated[4] = { 0 };
	const wakeif_word *all = t->online, *none = t->isolated;
	int nr = t->nr_cpus > 64 ? 250 : 600;

	if (holes && t->nr_cpus > 2) {
		memcpy(online, all, t->nr_words * sizeof(*online));
		wi_mask_clear(online, 1 + mx_random(&rng, t->nr_cpus - 1));
		wi_mask_set(isolated, mx_random(&rng, t->nr_cpus));
		t->online = online;
		t->isolated = isolated;
	}
	size_t nr_facts = affinity ? random_facts(&rng, t, facts, masks) : 0;
	for (size_t i = 0; i < nr_facts; i++)
		if (t->online == online)
			for (uint32_t k = 0; k < t->nr_words; k++)
				masks[i][k] = masks[i][k] & online[k] ? masks[i][k] & online[k] : online[k];
	char *events = mx_random_trace(&rng, t, facts, nr_facts, nr, lost);
	struct tl_fixture_opts tl = { .topology = t, .facts = facts, .nr_facts = nr_facts, .oncpu_ns = 1,
				      .start_ns = mx_random(&rng, 3) ? 0 : 1000 + mx_random(&rng, 60000) };
	struct wi_metrics_opts mo = { .split_cpu = true, .split_waker = true };
	struct wi_results *r = mx_run(&tl, &mo, events, true);

	mx_invariants(r);
	assert_true(r->wakeups.total > 0 || tl.start_ns);
	wi_results_free(r);
	free(events);
	t->online = all;
	t->isolated = none;
	tl_fixture_topology_free(t);
}

static void plain(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= test_share(60); seed++)
		one(seed, false, false, false);
}

static void under_affinity(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= test_share(120); seed++)
		one(1000 + seed, true, false, false);
}

static void with_gaps(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= test_share(60); seed++)
		one(2000 + seed, seed & 1, true, false);
}

static void offline_and_isolated(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= test_share(80); seed++)
		one(3000 + seed, seed & 1, seed & 2, true);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(plain),
		cmocka_unit_test(under_affinity),
		cmocka_unit_test(with_gaps),
		cmocka_unit_test(offline_and_isolated),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
