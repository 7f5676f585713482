/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Results: histograms against exact percentiles, merging in any order, filters, splits, the sink, groups, bounded lists. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analyzer/base/cpumask.h"
#include "analyzer/metrics/priv.h"
#include "tests/unit/metrics_fixture.h"

/* ---- histograms ---- */

static int cmp_u64(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static uint64_t random_ns(struct mx_rng *rng)
{
	return (uint64_t)mx_random(rng, 1000) << mx_random(rng, 30);
}

static void histogram_percentiles_within_one_percent(void **state)
{
	(void)state;
	static const double quantiles[] = { 0.001, 0.1, 0.5, 0.9, 0.99, 0.999, 1.0 };
	struct mx_rng rng = { 1 };

	for (int n = 1; n <= 3000; n = n * 3 + 1) {
		struct wi_chist c = { 0 };
		struct wi_hist h = { 0 }, expanded = { 0 };
		uint64_t *exact = calloc((size_t)n, sizeof(*exact)), sum = 0;

		for (int i = 0; i < n; i++) {
			exact[i] = random_ns(&rng);
			sum += exact[i];
			assert_true(wi_chist_add(&c, exact[i]));
			assert_true(wi_hist_add(&h, exact[i]));
		}
		qsort(exact, (size_t)n, sizeof(*exact), cmp_u64);
		assert_int_equal(c.count, n);
		assert_int_equal(c.sum_ns, sum);
		assert_int_equal(c.min_ns, exact[0]);
		assert_int_equal(c.max_ns, exact[n - 1]);
		assert_true(wi_chist_expand(&c, &expanded));
		for (size_t q = 0; q < sizeof(quantiles) / sizeof(*quantiles); q++) {
			size_t rank = (size_t)(quantiles[q] * n + 0.999999999);
			uint64_t truth = exact[rank ? rank - 1 : 0], got = wi_hist_quantile(&expanded, quantiles[q]);
			uint64_t error = got > truth ? got - truth : truth - got;

			assert_true(error * 100 <= truth);
			assert_int_equal(got, wi_hist_quantile(&h, quantiles[q]));
		}
		free(exact);
		wi_chist_fini(&c);
		wi_hist_fini(&h);
		wi_hist_fini(&expanded);
	}
}

static void compact_histograms_merge_in_every_form(void **state)
{
	(void)state;
	static const int sizes[] = { 0, 1, 7, 255, 256, 257, 2000 };
	struct mx_rng rng = { 2 };

	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		for (size_t k = 0; k < sizeof(sizes) / sizeof(*sizes); k++) {
			struct wi_chist a = { 0 }, b = { 0 };
			struct wi_hist all = { 0 }, got = { 0 };

			for (int n = 0; n < sizes[i] + sizes[k]; n++) {
				uint64_t ns = random_ns(&rng);

				assert_true(wi_chist_add(n < sizes[i] ? &a : &b, ns));
				assert_true(wi_hist_add(&all, ns));
			}
			assert_true(wi_chist_merge(&a, &b));
			assert_true(wi_chist_expand(&a, &got));
			assert_int_equal(all.count, got.count);
			assert_int_equal(all.sum_ns, got.sum_ns);
			for (uint32_t n = 0; n < all.nr; n++)
				assert_int_equal(all.bucket[n], n < got.nr ? got.bucket[n] : 0);
			wi_chist_fini(&a);
			wi_chist_fini(&b);
			wi_hist_fini(&all);
			wi_hist_fini(&got);
		}
	}
}

static void compact_histogram_counts_beyond_32_bits(void **state)
{
	(void)state;
	struct wi_chist a = { 0 }, b = { 0 };

	for (int i = 0; i < 300; i++)
		assert_true(wi_chist_add(&a, 5000));
	for (int i = 0; i < 30; i++) { /* doubles each time */
		assert_true(wi_chist_merge(&b, &a));
		assert_true(wi_chist_merge(&a, &b));
	}
	struct wi_hist h = { 0 };
	assert_true(wi_chist_expand(&a, &h));
	assert_true(h.count > (uint64_t)UINT32_MAX * 100);
	assert_int_equal(h.bucket[wi_hist_index(5000)], h.count);
	wi_hist_fini(&h);
	wi_chist_fini(&a);
	wi_chist_fini(&b);
}

static void histogram_being_filled_never_overflows(void **state)
{
	(void)state;
	struct mx_rng rng = { 5 };
	struct m_hist h = { 0 };
	struct wi_hist exact = { 0 }, out = { 0 };
	struct wi_metrics m = { 0 };

	for (int i = 0; i < 5000; i++) {
		uint64_t ns = i % 3 ? random_ns(&rng) : 7;

		if (i == 2500) { /* as if one bucket had taken nearly all that it can */
			uint32_t more = UINT32_MAX - 100 - h.bucket[7];

			h.bucket[7] += more;
			h.sum_ns += more * 7ull;
			exact.bucket[7] += more;
			exact.count += more;
			exact.sum_ns += more * 7ull;
		}
		assert_true(wi_hist_add(&exact, ns));
		m_hist_add(&m, &h, ns);
	}
	assert_false(m.failed);
	assert_non_null(h.full);
	assert_true(m_hist_move(&h, &out));
	assert_int_equal(out.count, exact.count);
	assert_int_equal(out.sum_ns, exact.sum_ns);
	assert_int_equal(out.min_ns, exact.min_ns);
	assert_int_equal(out.max_ns, exact.max_ns);
	for (uint32_t i = 0; i < out.nr; i++)
		assert_int_equal(out.bucket[i], i < exact.nr ? exact.bucket[i] : 0);
	assert_null(h.bucket);
	wi_hist_fini(&exact);
	wi_hist_fini(&out);
}

static void latencies_of_a_task_counted_several_at_once(void **state)
{
	(void)state;
	struct mx_rng rng = { 6 };

	for (uint32_t n = 1; n < 9000; n = n * 2 + 1) {
		struct wi_chist one = { 0 }, many = { 0 };
		struct m_task t = { 0 };

		for (uint32_t i = 0; i < n; i++) {
			uint64_t ns = random_ns(&rng);
			assert_true(wi_chist_add(&one, ns));
			assert_true(m_task_add_latency(&t, ns, wi_hist_index(ns)));
			if (mx_random(&rng, 200) == 0)
				assert_true(m_task_settle(&t));
		}
		assert_true(m_task_settle(&t));
		assert_true(m_task_settle(&t)); /* nothing is left */
		many = t.latency;
		assert_int_equal(many.count, one.count);
		assert_int_equal(many.sum_ns, one.sum_ns);
		assert_int_equal(many.min_ns, one.min_ns);
		assert_int_equal(many.max_ns, one.max_ns);
		struct wi_hist x = { 0 }, y = { 0 };
		assert_true(wi_chist_expand(&many, &x) && wi_chist_expand(&one, &y));
		for (double q = 0.01; q <= 1; q += 0.01)
			assert_int_equal(wi_hist_quantile(&x, q), wi_hist_quantile(&y, q));
		wi_hist_fini(&x);
		wi_hist_fini(&y);
		wi_chist_fini(&one);
		wi_chist_fini(&many);
		free(t.recent.index);
	}
}

/* ---- what is kept of tasks ---- */

static void task_places_stay_and_are_used_again(void **state)
{
	(void)state;
	struct m_tasktab t = { 0 };
	struct mx_rng rng = { 3 };
	static struct wi_task task[3000];
	static struct m_task *alive[3000];
	uint32_t nr = 0, most = 0;

	for (int step = 0; step < 60000; step++) {
		if (nr < 3000 && (nr < 10 || mx_random(&rng, 2))) {
			alive[nr] = m_task_add(&t, &task[step % 3000]);
			assert_non_null(alive[nr]);
			assert_ptr_equal(alive[nr]->task, &task[step % 3000]);
			assert_int_equal(alive[nr]->latency.count, 0);
			assert_true(wi_chist_add(&alive[nr]->latency, (uint64_t)step));
			alive[nr]->wakeups = (uintptr_t)alive[nr];
			nr++;
		} else {
			uint32_t i = mx_random(&rng, nr);

			m_task_del(&t, alive[i]);
			alive[i] = alive[--nr];
		}
		most = nr > most ? nr : most;
		for (uint32_t i = 0; !(step % 1000) && i < nr; i++) { /* each has a place of its own */
			assert_int_equal(alive[i]->wakeups, (uintptr_t)alive[i]);
			assert_int_equal(alive[i]->latency.count, 1);
		}
	}
	assert_true(t.nr_blocks * TASKS_PER_BLOCK < most + TASKS_PER_BLOCK);
	m_tasktab_fini(&t); /* those alive too */
}

/* ---- merging ---- */

#define NR_PARTS 6

static struct wi_results *copy_of(const struct wi_results *r)
{
	struct wi_err err = { 0 };
	struct wi_results *c = wi_results_new(&err);

	assert_non_null(c);
	assert_true(wi_results_merge(c, r, &err));
	return c;
}

/* Merges parts in a random order and grouping. */
static struct wi_results *merge_somehow(struct mx_rng *rng, struct wi_results **part, int nr)
{
	struct wi_results *set[NR_PARTS];
	struct wi_err err = { 0 };

	for (int i = 0; i < nr; i++)
		set[i] = copy_of(part[i]);
	while (nr > 1) {
		int a = (int)mx_random(rng, (uint32_t)nr), b = (int)mx_random(rng, (uint32_t)nr);

		if (a == b)
			continue;
		assert_true(wi_results_merge(set[a], set[b], &err));
		wi_results_free(set[b]);
		set[b] = set[--nr];
	}
	return set[0];
}

static void merging_does_not_depend_on_order(void **state)
{
	(void)state;
	struct wakeif_topology *same = tl_fixture_topology(1, 1, 4, 2), *other = tl_fixture_topology(2, 1, 2, 4);
	struct wi_results *part[NR_PARTS];
	struct mx_rng rng = { 4 };
	struct wi_metrics_opts mo = { .worst_n = 5, .max_tasks = 4, .split_cpu = true, .split_waker = true };

	for (int i = 0; i < NR_PARTS; i++) {
		struct tl_fixture_opts tl = { .topology = i % 3 == 2 ? other : same, .oncpu_ns = 1 };
		char *events = mx_random_trace(&rng, tl.topology, NULL, 0, 400, i & 1);

		part[i] = mx_run(&tl, &mo, events, false);
		free(events);
	}
	struct wi_results *first = merge_somehow(&rng, part, NR_PARTS);
	char *expected = mx_dump(first);
	assert_int_equal(first->nr_traces, NR_PARTS);
	assert_int_equal(first->missed.nr_worst, 5);
	assert_true(first->tasks.nr <= 3 * 4 && first->tasks.nr >= 4);
	for (int i = 0; i < 40; i++) {
		struct wi_results *r = merge_somehow(&rng, part, NR_PARTS);
		char *got = mx_dump(r);

		assert_string_equal(expected, got);
		free(got);
		wi_results_free(r);
	}
	free(expected);
	wi_results_free(first);
	for (int i = 0; i < NR_PARTS; i++)
		wi_results_free(part[i]);
	tl_fixture_topology_free(same);
	tl_fixture_topology_free(other);
}

static void merging_into_nothing_copies(void **state)
{
	(void)state;
	struct wakeif_topology *t = tl_fixture_topology(1, 2, 2, 2);
	struct mx_rng rng = { 5 };
	struct tl_fixture_opts tl = { .topology = t, .oncpu_ns = 1 };
	struct wi_metrics_opts mo = { .split_cpu = true, .split_waker = true };
	char *events = mx_random_trace(&rng, t, NULL, 0, 500, true);
	struct wi_results *r = mx_run(&tl, &mo, events, false), *c = copy_of(r), *empty = copy_of(r);
	struct wi_err err = { 0 };
	char *a = mx_dump(r), *b = mx_dump(c);

	assert_string_equal(a, b);
	wi_results_free(empty);
	empty = wi_results_new(&err);
	assert_true(wi_results_merge(c, empty, &err)); /* adds nothing */
	free(b);
	b = mx_dump(c);
	assert_string_equal(a, b);
	free(a);
	free(b);
	free(events);
	wi_results_free(r);
	wi_results_free(c);
	wi_results_free(empty);
	tl_fixture_topology_free(t);
}

/* ---- filters, splits, sink ---- */

static const char three_wakeups[] = "1000 0 300=main other\n1000 7 0 other\n"
				    "2000 0 300 waking 200=web-1 2\n2001 0 300 migrate 200=web-1 2 1\n2010 1 0 wakeup 200=web-1 1\n2050 1 0 switch R 200=web-1\n"
				    "3000 0 300 waking 201=web-2 2\n3001 0 300 migrate 201=web-2 2 3\n3010 3 0 wakeup 201=web-2 3\n3070 3 0 switch R 201=web-2\n"
				    "4000 7 0h waking 202=db 2\n4001 7 0 migrate 202=db 2 4\n4010 4 0 wakeup 202=db 4\n4100 4 0 switch R 202=db\n5000 0 300 other\n";

static struct wi_results *run_three(const struct wi_metrics_opts *mo)
{
	struct wakeif_topology *t = tl_fixture_topology(1, 1, 4, 2);
	struct tl_fixture_opts tl = { .topology = t, .oncpu_ns = 1 };
	struct wi_results *r = mx_run(&tl, mo, three_wakeups, false);

	mx_invariants(r);
	tl_fixture_topology_free(t);
	return r;
}

static void merging_keeps_what_was_seen_and_known(void **state)
{
	(void)state;
	struct wi_err err = { WI_OK, "" };
	struct wi_results *a = wi_results_new(&err), *b = wi_results_new(&err);

	assert_non_null(a);
	assert_non_null(b);
	a->nr_traces = b->nr_traces = 1;
	a->quality.types = WI_EV_BIT(SCHED_SWITCH);
	b->quality.types = WI_EV_BIT(SCHED_WAKING);
	b->quality.switch_known = WI_KNOWN_PREEMPTED;
	assert_true(wi_results_merge(a, b, &err));
	assert_int_equal(a->quality.types, WI_EV_BIT(SCHED_SWITCH) | WI_EV_BIT(SCHED_WAKING));
	assert_int_equal(a->quality.switch_known, WI_KNOWN_PREEMPTED);
	wi_results_free(a);
	wi_results_free(b);
}

static void filters_choose_the_wakeups_that_count(void **state)
{
	(void)state;
	wakeif_word cpus = 1 << 1 | 1 << 4;
	int32_t pids[] = { 202, 200 };
	struct wi_metrics_opts by_cpu = { .filter_cpus = &cpus }, by_pid = { .filter_pids = pids, .nr_filter_pids = 2 },
			       by_comm = { .filter_comm = "^web-[0-9]$" },
			       both = { .filter_comm = "^web-", .filter_pids = pids, .nr_filter_pids = 2 };
	struct wi_results *r = run_three(&by_cpu);

	assert_int_equal(r->wakeups.total, 2);
	assert_int_equal(r->latency.wakeup.sum_ns, 50 + 100);
	assert_int_equal(r->missed.decided, 2);
	assert_int_equal(r->idle.cpu.row[3].busy_ns, 5000 - 3070); /* the machine is seen whole */
	wi_results_free(r);
	r = run_three(&by_pid);
	assert_int_equal(r->latency.wakeup.sum_ns, 50 + 100);
	wi_results_free(r);
	r = run_three(&by_comm);
	assert_int_equal(r->latency.wakeup.sum_ns, 50 + 70);
	assert_int_equal(r->tasks.total[WI_TASKS_BY_LATENCY], 2);
	wi_results_free(r);
	r = run_three(&both);
	assert_int_equal(r->latency.wakeup.sum_ns, 50);
	wi_results_free(r);
}

static void a_wrong_expression_is_refused(void **state)
{
	(void)state;
	struct wakeif_topology *t = tl_fixture_topology(1, 1, 1, 2);
	struct wi_names *names = wi_names_new();
	struct wi_metrics_opts mo = { .topology = t, .names = names, .filter_comm = "a(" };
	struct wi_err err = { 0 };

	assert_null(wi_metrics_new(&mo, &err));
	assert_int_equal(err.code, WI_EUSAGE);
	assert_non_null(strstr(err.msg, "a("));
	wi_names_free(names);
	tl_fixture_topology_free(t);
}

static void splits_by_cpu_and_waker(void **state)
{
	(void)state;
	struct wi_metrics_opts mo = { .split_cpu = true, .split_waker = true };
	struct wi_results *r = run_three(&mo);

	assert_int_equal(r->latency.nr_by_cpu, 3);
	assert_int_equal(r->latency.by_cpu[0].cpu, 1);
	assert_int_equal(r->latency.by_cpu[1].cpu, 3);
	assert_int_equal(r->latency.by_cpu[1].wakeup.sum_ns, 70);
	assert_int_equal(r->latency.by_cpu[1].queue_wait_ns, 60);
	assert_int_equal(r->latency.nr_by_waker, 2);
	assert_int_equal(r->latency.by_waker[0].pid, 300);
	assert_int_equal(r->latency.by_waker[0].wakeup.sum_ns, 120);
	assert_int_equal(r->latency.by_waker[0].wakeups, 2);
	assert_int_equal(r->latency.by_waker[1].pid, WI_PID_NONE); /* interrupts are a row of their own */
	assert_int_equal(r->latency.by_waker[1].context, WAKEIF_CTX_HARDIRQ);
	wi_results_free(r);
}

struct told {
	int nr;
	uint64_t latency, wait, transit;
	int placement[WI_NR_PLACEMENTS + 1];
};

static void take(void *ctx, const struct wi_wakeup_verdict *v)
{
	struct told *t = ctx;

	t->nr++;
	assert_int_equal(v->outcome, WI_OUT_RUN);
	assert_true(v->decided);
	assert_int_equal(v->row, WI_MISSED_NONE);
	if (v->half_busy) { /* CPU 1, beside busy CPU 0, while core 2-3 idled */
		assert_int_equal(v->half_busy, 1 << WI_WIDE_LLC | 1 << WI_WIDE_NODE | 1 << WI_WIDE_MACHINE);
		assert_int_equal(v->missed_cpu, 2);
		assert_int_equal(v->missed_since_ns, 1000);
		assert_int_equal(v->missed_until_ns, WI_TIME_UNKNOWN);
		assert_int_equal(v->avoidable_ns, v->queue_wait_ns);
	} else {
		assert_int_equal(v->missed_cpu, WI_CPU_NONE);
		assert_int_equal(v->avoidable_ns, WI_TIME_UNKNOWN);
	}
	assert_int_equal(v->ran_pid, 0);
	t->latency += v->latency_ns;
	t->wait += v->queue_wait_ns;
	t->transit += v->transit_ns;
	t->placement[v->placement]++;
}

static void the_sink_is_told_of_every_wakeup_that_counts(void **state)
{
	(void)state;
	struct told told = { 0 };
	struct wi_metrics_opts mo = { .sink = take, .sink_ctx = &told };
	struct wi_results *r = run_three(&mo);

	assert_int_equal(told.nr, 3);
	assert_int_equal(told.latency, r->latency.wakeup.sum_ns);
	assert_int_equal(told.wait, r->latency.queue_wait.sum_ns);
	assert_int_equal(told.transit, r->latency.transit.sum_ns);
	assert_int_equal(told.placement[WI_PLACED_IDLE_SIBLING_BUSY], 1); /* CPU 1 beside CPU 0 */
	assert_int_equal(told.placement[WI_PLACED_IDLE_CORE], 2);
	wi_results_free(r);
}

/* ---- groups ---- */

static const char two_on_a_core[] = "1000 0 0 switch R 200=web-1\n1000 1 0 switch R 201=web-2\n2000 0 200 switch S 202=db\n3000 0 202 switch S 0\n4000 1 201 other\n";

static void expect_pairs(const struct wi_metrics_opts *mo, const struct wi_task_fact *facts, size_t nr_facts, const char *expected)
{
	struct wakeif_topology *t = tl_fixture_topology(1, 1, 4, 2);
	struct tl_fixture_opts tl = { .topology = t, .oncpu_ns = 1, .facts = facts, .nr_facts = nr_facts };
	struct wi_results *r = mx_run(&tl, mo, two_on_a_core, false);
	char text[256] = "";

	for (size_t i = 0; i < r->smt.nr_pair; i++)
		snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s+%s %llu;", wi_results_name(r, r->smt.pair[i].a),
			 wi_results_name(r, r->smt.pair[i].b), (unsigned long long)r->smt.pair[i].ns);
	assert_string_equal(text, expected);
	wi_results_free(r);
	tl_fixture_topology_free(t);
}

static void pairs_by_group(void **state)
{
	(void)state;
	struct wi_task_fact facts[] = { { .pid = 200, .tgid = 200, .policy = -1, .cgroup = "/a" },
					{ .pid = 201, .tgid = 200, .policy = -1, .cgroup = "/b" },
					{ .pid = 202, .policy = -1 } };
	struct wi_group_rule rules[] = { { .pid = -1, .comm = "web-2", .group = "front" }, { .pid = 202, .group = "back" },
					 { .pid = 201, .group = "one" } };
	struct wi_metrics_opts comm = { 0 }, task = { .smt_group = WI_GROUP_TASK }, tgid = { .smt_group = WI_GROUP_TGID }, cgroup = { .smt_group = WI_GROUP_CGROUP },
			       map = { .smt_group = WI_GROUP_MAP, .group_rules = rules, .nr_group_rules = 2 };

	expect_pairs(&comm, NULL, 0, "db+web-2 1000;web-1+web-2 1000;");
	expect_pairs(&task, NULL, 0, "db:202+web-2:201 1000;web-1:200+web-2:201 1000;");
	expect_pairs(&tgid, facts, 3, "(unknown)+200 1000;200+200 1000;");
	expect_pairs(&cgroup, facts, 3, "(unknown)+/b 1000;/a+/b 1000;");
	expect_pairs(&map, NULL, 0, "(other)+front 1000;back+front 1000;");
	map.nr_group_rules = 3; /* a pid's line goes before a name's */
	expect_pairs(&map, NULL, 0, "(other)+one 1000;back+one 1000;");
	map.nr_group_rules = 0;
	expect_pairs(&map, NULL, 0, "(other)+(other) 2000;");
}

/* Hooks alone: a running task that changes its name. */
static void a_renamed_task_changes_its_group(void **state)
{
	(void)state;
	struct wakeif_topology *t = tl_fixture_topology(1, 1, 4, 2);
	struct wi_names *names = wi_names_new();
	struct wi_metrics_opts mo = { .topology = t, .names = names };
	struct wi_err err = { 0 };
	int32_t first_pid[8] = { 0 };
	uint64_t first_ts[8] = { 0 };
	bool overwritten[8] = { false };
	struct wi_survey survey = { .gap_ns = 10, .has_waking = true, .has_wakeups = true, .nr_cpus = 8, .first_pid = first_pid, .first_ts_ns = first_ts,
				    .overwritten = overwritten };
	struct wi_timeline_opts to = { .topology = t, .names = names, .survey = &survey };
	struct wi_metrics *m = wi_metrics_new(&mo, &err);
	const struct wi_timeline_observer *obs = wi_metrics_observer(m);
	struct wi_timeline *tl = wi_timeline_new(&to, NULL, &err);
	struct wi_task a = { .pid = 200, .id = 1, .cpu = 0, .comm = wi_names_intern(names, "bash", 4) };
	struct wi_task b = { .pid = 201, .id = 2, .cpu = 1, .comm = wi_names_intern(names, "make", 4) };

	wi_metrics_bind(m, tl);
	for (uint32_t c = 0; c < 8; c++)
		obs->cpu_changed(obs->ctx, 0, c, WI_CPU_IDLE, NULL);
	obs->cpu_changed(obs->ctx, 1000, 0, WI_CPU_BUSY, &a);
	obs->cpu_changed(obs->ctx, 1000, 1, WI_CPU_BUSY, &b);
	a.comm = wi_names_intern(names, "cc1", 3);
	obs->renamed(obs->ctx, 1700, &a);
	obs->cpu_changed(obs->ctx, 2000, 0, WI_CPU_IDLE, NULL);
	obs->task_gone(obs->ctx, 2000, &a);
	obs->task_gone(obs->ctx, 2000, &b);
	const struct wi_results *r = wi_metrics_finish(m, &err);
	assert_non_null(r);
	assert_int_equal(r->smt.nr_pair, 2);
	assert_string_equal(wi_results_name(r, r->smt.pair[0].a), "bash");
	assert_int_equal(r->smt.pair[0].ns, 700);
	assert_string_equal(wi_results_name(r, r->smt.pair[1].a), "cc1");
	assert_int_equal(r->smt.pair[1].ns, 300);
	wi_metrics_free(m);
	wi_timeline_free(tl);
	wi_names_free(names);
	tl_fixture_topology_free(t);
}

/* ---- bounded lists ---- */

static void task_rows_are_the_first_of_each_order(void **state)
{
	(void)state;
	struct wakeif_topology *t = tl_fixture_topology(1, 1, 1, 1);
	char *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);
	unsigned long long now = 1000;

	/* 400 tasks, one after another: task i waits i and runs 1000 - i, except that some do not wait at all. */
	fprintf(f, "1000 0 0 other\n");
	for (int i = 0; i < 400; i++) {
		int pid = 1000 + i, wait = i % 7 ? i : 0, run = 1000 - (i * 37) % 400;

		fprintf(f, "%llu 0 0 new %d 0\n%llu 0 0 switch R %d\n%llu 0 %d exit\n%llu 0 %d switch X 0\n", now, pid, now + (unsigned)wait, pid,
			now + (unsigned)wait + (unsigned)run, pid, now + (unsigned)wait + (unsigned)run, pid);
		now += (unsigned)wait + (unsigned)run + 10;
	}
	fclose(f);
	struct tl_fixture_opts tl = { .topology = t, .oncpu_ns = 1 };
	struct wi_metrics_opts few = { .max_tasks = 8 }, many = { .max_tasks = 1000 };
	struct wi_results *a = mx_run(&tl, &few, text, false), *b = mx_run(&tl, &many, text, false);
	const struct wi_task_row *in_a[8], *in_b[8];

	assert_int_equal(b->tasks.nr, 400);
	assert_true(a->tasks.nr <= 16);
	for (int o = 0; o < WI_NR_TASK_ORDERS; o++) {
		assert_int_equal(a->tasks.total[o], b->tasks.total[o]);
		size_t n = wi_results_tasks(a, (enum wi_task_order)o, in_a, 8);

		assert_int_equal(n, wi_results_tasks(b, (enum wi_task_order)o, in_b, 8));
		for (size_t i = 0; i < n; i++)
			assert_int_equal(in_a[i]->pid, in_b[i]->pid);
	}
	assert_int_equal(a->tasks.total[WI_TASKS_BY_RUN], 400);
	assert_int_equal(a->tasks.total[WI_TASKS_BY_LATENCY], 400);
	wi_results_free(a);
	wi_results_free(b);
	free(text);
	tl_fixture_topology_free(t);
}

static void names_of_rows(void **state)
{
	(void)state;
	assert_string_equal(wi_missed_row_name(WI_MISSED_SIBLING), "sibling");
	assert_string_equal(wi_missed_row_name(WI_MISSED_NONE), "none");
	assert_string_equal(wi_placed_name(WI_PLACED_IDLE_CORE), "idle_core");
	assert_string_equal(wi_placed_name(WI_PLACED_UNKNOWN), "unknown");
	assert_string_equal(wi_distance_name(WI_DIST_REMOTE), "remote");
	assert_string_equal(wi_wide_scope_name(WI_WIDE_NODE), "node");
	assert_string_equal(wi_scope_name(WAKEIF_CLUSTER), "cluster");
	assert_string_equal(wi_class_name(WAKEIF_ONCPU), "oncpu");
	assert_string_equal(wi_context_name(WAKEIF_CTX_SOFTIRQ), "softirq");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(histogram_percentiles_within_one_percent),
		cmocka_unit_test(compact_histograms_merge_in_every_form),
		cmocka_unit_test(compact_histogram_counts_beyond_32_bits),
		cmocka_unit_test(task_places_stay_and_are_used_again),
		cmocka_unit_test(histogram_being_filled_never_overflows),
		cmocka_unit_test(latencies_of_a_task_counted_several_at_once),
		cmocka_unit_test(merging_does_not_depend_on_order),
		cmocka_unit_test(merging_into_nothing_copies),
		cmocka_unit_test(merging_keeps_what_was_seen_and_known),
		cmocka_unit_test(filters_choose_the_wakeups_that_count),
		cmocka_unit_test(a_wrong_expression_is_refused),
		cmocka_unit_test(splits_by_cpu_and_waker),
		cmocka_unit_test(the_sink_is_told_of_every_wakeup_that_counts),
		cmocka_unit_test(pairs_by_group),
		cmocka_unit_test(a_renamed_task_changes_its_group),
		cmocka_unit_test(task_rows_are_the_first_of_each_order),
		cmocka_unit_test(names_of_rows),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
