/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The tally by hand-computed cases, the cut of its window, and the statistics over seeds against known values. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "analyzer/sim/compare.h"
#include "analyzer/topology/topology.h"

static const struct wakeif_topology *topo; /* 2 cores of 2 threads: 0-1, 2-3 */

static int begin(void **state)
{
	struct wi_err err = { 0 };

	(void)state;
	topo = wi_topology_load("pack:1 l3:1 core:2 pu:2", &err);
	return topo ? 0 : -1;
}

static int end(void **state)
{
	(void)state;
	wi_topology_free(topo);
	return 0;
}

static struct wi_tally *tally(double from, double to)
{
	struct wi_err err = { 0 };
	const struct wi_tally_opts o = { .topology = topo, .from = from, .to = to };
	struct wi_tally *t = wi_tally_new(&o, &err);

	assert_non_null(t);
	return t;
}

static struct wi_tally_result finish(struct wi_tally *t, uint64_t end_ns)
{
	struct wi_tally_result r;
	struct wi_err err = { 0 };

	assert_true(wi_tally_finish(t, end_ns, &r, &err));
	wi_tally_free(t);
	return r;
}

static void all_idle(struct wi_tally *t)
{
	for (uint32_t c = 0; c < 4; c++)
		wi_tally_cpu(t, 0, c, false, false);
}

/* CPU 0 runs 100..500, CPU 1 200..400, CPU 2 300..600; a task waits on CPU 1 from 250 to 400. */
static void test_integrals(void **state)
{
	struct wi_tally *t = tally(0, 1);

	(void)state;
	all_idle(t);
	wi_tally_cpu(t, 100, 0, true, false);
	wi_tally_cpu(t, 200, 1, true, false);
	wi_tally_wait(t, 250, 1, 1);
	wi_tally_cpu(t, 300, 2, true, false);
	wi_tally_cpu(t, 400, 1, false, false);
	wi_tally_wait(t, 400, 1, -1);
	wi_tally_moved(t, 450, 0, 1, true);
	wi_tally_moved(t, 460, 0, 1, false);
	wi_tally_preempted(t, 470);
	wi_tally_ipi(t, 480);
	wi_tally_cpu(t, 500, 0, false, false);
	wi_tally_cpu(t, 600, 2, false, false);

	struct wi_tally_result r = finish(t, 1000);

	assert_int_equal(r.cpu_ns, 4000);
	assert_int_equal(r.unknown_ns, 0);
	assert_int_equal(r.busy_ns, 400 + 200 + 300);
	assert_int_equal(r.corun_ns, 2 * 200); /* both threads of core 0, 200..400 */
	assert_int_equal(r.waiting_ns, 150);
	/* core 0 is full while it waits; the LLC has an idle CPU all the time */
	assert_int_equal(r.idle_while_waiting_ns[WAKEIF_CORE], 0);
	assert_int_equal(r.idle_while_waiting_ns[WAKEIF_LLC], 150);
	assert_int_equal(r.migrations, 2);
	assert_int_equal(r.placed_moves, 1);
	assert_int_equal(r.preemptions, 1);
	assert_int_equal(r.ipis, 1);
	assert_int_equal(r.cpu_idle_ns[0], 600);
	assert_int_equal(r.cpu_idle_ns[1], 800);
	assert_int_equal(r.cpu_idle_ns[3], 1000);
	assert_int_equal(r.group_idle_ns[WAKEIF_CORE][0], 600);
	assert_int_equal(r.group_idle_ns[WAKEIF_CORE][1], 700);
	assert_int_equal(r.group_idle_ns[WAKEIF_LLC][0], 100 + 400);
	assert_int_equal(r.package_idle_ns[0], 500);
	assert_true(fabs(wi_tally_util(&r) - 900.0 / 4000) < 1e-12);
	assert_true(fabs(wi_tally_corun(&r) - 400.0 / 4000) < 1e-12);
	assert_true(isnan(wi_tally_stay(&r)));
	wi_tally_result_fini(&r);
}

static void test_unknown_is_neither(void **state)
{
	struct wi_tally *t = tally(0, 1);

	(void)state;
	wi_tally_cpu(t, 0, 0, true, false);
	wi_tally_cpu(t, 500, 1, false, false);

	struct wi_tally_result r = finish(t, 1000);

	assert_int_equal(r.unknown_ns, 500 + 2 * 1000); /* CPU 1 to 500, CPUs 2 and 3 all the time */
	assert_int_equal(r.busy_ns, 1000);
	assert_int_equal(r.group_idle_ns[WAKEIF_CORE][1], 0);
	assert_int_equal(r.busy_ns + r.cpu_idle_ns[1] + r.unknown_ns, r.cpu_ns);
	wi_tally_result_fini(&r);
}

static void test_wakings(void **state)
{
	struct wi_tally *t = tally(0, 1);
	uint32_t w;

	(void)state;
	all_idle(t);
	w = wi_tally_waking(t, 100, WAKEIF_SELECT);
	wi_tally_placed(t, w, 2, 2, true);
	wi_tally_queued(t, 130, w);
	wi_tally_ran(t, 150, w);
	w = wi_tally_waking(t, 200, WAKEIF_SELECT);
	wi_tally_placed(t, w, 2, 3, true);
	wi_tally_queued(t, 210, w);
	wi_tally_ran(t, 220, w);
	w = wi_tally_waking(t, 300, WAKEIF_ONCPU);
	wi_tally_placed(t, w, 1, 1, false);
	w = wi_tally_waking(t, 400, WAKEIF_SELECT); /* never ran */

	struct wi_tally_result r = finish(t, 500);

	assert_int_equal(r.wakings, 4);
	assert_int_equal(r.decided, 2);
	assert_int_equal(r.stayed, 1);
	assert_int_equal(r.oncpu, 1);
	assert_int_equal(r.latency.count, 2);
	assert_int_equal(r.latency.sum_ns, 50 + 20);
	assert_int_equal(r.queue_wait.sum_ns, 20 + 10);
	wi_tally_result_fini(&r);
}

/* n wakings, one every 1000 ns, with latency 10 in the first tenth, 20 in the middle, 30 in the last tenth. */
static struct wi_tally_result many(uint32_t n, double from, double to)
{
	struct wi_tally *t = tally(from, to);

	all_idle(t);
	for (uint32_t i = 0; i < n; i++) {
		uint64_t at = (uint64_t)(i + 1) * 1000;
		uint32_t w = wi_tally_waking(t, at, WAKEIF_SELECT);

		wi_tally_ran(t, at + (i < n / 10 ? 10 : i < n - n / 10 ? 20 : 30), w);
	}
	return finish(t, (uint64_t)(n + 1) * 1000);
}

/* The window is cut by number; with many wakings at the checkpoint that is nearest, at most 1/256 away. */
static void test_window(void **state)
{
	static const uint32_t sizes[] = { 100, 1000, 5000, 100000 };

	(void)state;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		struct wi_tally_result r = many(sizes[i], 0.1, 0.9);
		double n = sizes[i];

		assert_true(fabs((double)r.wakings - 0.8 * n) <= n / 128 + 1);
		assert_true(fabs((double)(r.to_ns - r.from_ns) - 800 * n) <= 1000 * (n / 128 + 1));
		assert_int_equal(r.latency.count, r.wakings);
		assert_true(fabs((double)r.latency.sum_ns / (double)r.wakings - 20) < 0.2);
		wi_tally_result_fini(&r);
	}
}

static void test_through_a_pipe(void **state)
{
	struct wi_tally_result a = many(3000, 0, 0), b;
	FILE *f = tmpfile();

	(void)state;
	assert_non_null(f);
	assert_true(wi_tally_result_write(&a, f));
	rewind(f);
	assert_true(wi_tally_result_read(&b, f));
	assert_int_equal(a.wakings, b.wakings);
	assert_int_equal(a.latency.sum_ns, b.latency.sum_ns);
	assert_true(wi_hist_ks(&a.latency, &b.latency) == 0);
	assert_memory_equal(a.cpu_idle_ns, b.cpu_idle_ns, a.nr_cpus * sizeof(*a.cpu_idle_ns));
	wi_tally_result_fini(&b);
	/* cut anywhere it is refused, and nothing is left behind */
	long size = ftell(f);
	for (long cut = 0; cut < size; cut += 97) {
		char *text = malloc((size_t)size + 1);
		FILE *part;

		rewind(f);
		assert_int_equal(fread(text, 1, (size_t)size, f), (size_t)size);
		part = fmemopen(text, (size_t)(cut ? cut : 1), "r");
		assert_false(wi_tally_result_read(&b, part));
		fclose(part);
		free(text);
	}
	fclose(f);
	wi_tally_result_fini(&a);
}

/* Two-sided 95 % quantiles as any table has them. */
static void test_student(void **state)
{
	static const struct {
		uint32_t degrees;
		double t;
	} known[] = { { 1, 12.7062 }, { 2, 4.3027 }, { 4, 2.7764 }, { 9, 2.2622 }, { 29, 2.0452 }, { 999, 1.9623 } };

	(void)state;
	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
		assert_true(fabs(wi_student_t(known[i].degrees) - known[i].t) < 1e-3);
	assert_true(isnan(wi_student_t(0)));
}

static void test_statistics(void **state)
{
	const double v[] = { 2, 4, 4, 4, 5, 5, 7, 9, NAN };
	struct wi_sim_stat s;

	(void)state;
	wi_sim_stat(v, 9, &s);
	assert_int_equal(s.nr, 8);
	assert_true(fabs(s.mean - 5) < 1e-12);
	assert_true(fabs(s.stddev - sqrt(32.0 / 7)) < 1e-12);
	assert_true(fabs(s.high - (5 + 2.364624 * sqrt(32.0 / 7 / 8))) < 1e-4);
	wi_sim_stat(v, 1, &s);
	assert_true(s.mean == 2 && isnan(s.low));
	wi_sim_stat(v, 0, &s);
	assert_true(isnan(s.mean));
}

static void test_distance(void **state)
{
	struct wi_hist a = { 0 }, b = { 0 };

	(void)state;
	assert_true(isnan(wi_hist_ks(&a, &b)));
	for (uint64_t i = 1; i <= 100; i++) {
		assert_true(wi_hist_add(&a, i));
		assert_true(wi_hist_add(&b, i + 25)); /* below 128 every value has its bucket */
	}
	assert_true(fabs(wi_hist_ks(&a, &b) - 0.25) < 1e-12);
	assert_true(wi_hist_ks(&a, &a) == 0);
	wi_hist_fini(&a);
	wi_hist_fini(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_integrals),      cmocka_unit_test(test_unknown_is_neither),
		cmocka_unit_test(test_wakings),	       cmocka_unit_test(test_window),
		cmocka_unit_test(test_through_a_pipe), cmocka_unit_test(test_student),
		cmocka_unit_test(test_statistics),     cmocka_unit_test(test_distance),
	};

	return cmocka_run_group_tests(tests, begin, end);
}
