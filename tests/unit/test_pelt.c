/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Load tracking, wake history and search budget: against values worked out by hand and against their own definitions.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <math.h>

#include <cmocka.h>

#include "models/pelt.h"
#include "models/scan_budget.h"
#include "models/wake_history.h"

#define MS 1000000u
#define PERIOD (1024u * 1024u) /* ns */

static void near(uint64_t a, uint64_t b, uint64_t by)
{
	if ((a > b ? a - b : b - a) > by)
		fail_msg("%llu is not %llu +- %llu", (unsigned long long)a, (unsigned long long)b,
			 (unsigned long long)by);
}

/* The table in 128 bit arithmetic: entry k is the product of roots of a half, to within one in the last place. */
static void inverse_table(void **state)
{
	(void)state;
	for (int k = 0; k < 32; k++)
		near(wi_pelt_inverse[k], (uint64_t)floorl(4294967295.0L * powl(2.0L, -k / 32.0L)), 0);
}

static void decays(void **state)
{
	(void)state;
	assert_int_equal(wi_pelt_decay(1000, 32), 499); /* 500, and the factor 1 - 2^-32 */
	assert_int_equal(wi_pelt_decay(1024, 1), 1002);
	assert_int_equal(wi_pelt_decay(UINT64_MAX, 63 * 32 + 1), 0);
	assert_int_equal(wi_pelt_decay(1ull << 40, 0), (1ull << 40) - (1ull << 8));
}

/* The greatest sum is what adding 1024 and decaying period by period comes to. */
static void longest_run(void **state)
{
	uint64_t sum = 0, last;

	(void)state;
	do {
		last = sum;
		sum = wi_pelt_decay(sum, 1) + 1024;
	} while (sum != last);
	near(sum, WI_PELT_MAX, 33);
}

static void task_runs_and_sleeps(void **state)
{
	struct wi_pelt_task t = { .weight = 1024 };

	(void)state;
	wi_pelt_update_task(&t, 1023, true, true); /* less than a unit */
	assert_int_equal(t.last_ns, 0);
	wi_pelt_update_task(&t, 1024 * 1023, true, true); /* less than a period: no average yet */
	assert_int_equal(t.load_sum, 1023);
	assert_int_equal(t.load_avg, 0);
	wi_pelt_update_task(&t, PERIOD, true, true); /* 1023 * y + y, one period over, nothing of the next */
	assert_int_equal(t.contrib, 0);
	near(t.load_sum, 1002, 1);
	assert_int_equal(t.util_avg, t.util_sum / 46718);
	wi_pelt_update_task(&t, 32 * PERIOD, true, true); /* half way after 32 periods */
	near(t.util_avg, 512, 1);
	near(t.load_avg, 512, 1);
	wi_pelt_update_task(&t, 64 * PERIOD, true, false); /* waits: load goes on, util halves */
	near(t.util_avg, 256, 1);
	near(t.load_avg, 768, 1);
	wi_pelt_update_task(&t, 96 * PERIOD, false, false);
	near(t.util_avg, 128, 1);
	near(t.load_avg, 384, 1);
	wi_pelt_update_task(&t, 95 * PERIOD, true, true); /* time runs backwards: nothing but the stamp */
	near(t.util_avg, 128, 1);
}

/* One long step and many short ones come to the same. */
static void steps_do_not_matter(void **state)
{
	struct wi_pelt_task a = { .weight = 335 }, b = a;
	struct wi_pelt_cpu c = { .weight = 2048, .nr = 2, .running = true }, d = c;

	(void)state;
	for (uint64_t t = 0; t <= 400; t++) {
		wi_pelt_update_task(&a, t * 777777, true, false);
		wi_pelt_update_cpu(&c, t * 777777);
	}
	wi_pelt_update_task(&b, 400 * 777777ull, true, false);
	wi_pelt_update_cpu(&d, 400 * 777777ull);
	near(a.load_avg, b.load_avg, 1);
	near(c.load_avg, d.load_avg, 2);
	near(c.util_avg, d.util_avg, 1);
	near(c.runnable_avg, 2048 - 2, 4);
}

static void comes_and_goes(void **state)
{
	struct wi_pelt_cpu a = { 0 }, b = { 0 };
	struct wi_pelt_task t = { .weight = 1024, .load_avg = 500, .util_avg = 300, .runnable_avg = 500 };

	(void)state;
	wi_pelt_attach(&a, &t);
	wi_pelt_enqueue(&a, &t);
	assert_int_equal(a.load_avg, 500);
	assert_int_equal(a.util_avg, 300);
	assert_int_equal(a.weight, 1024);
	assert_int_equal(a.queued_avg, 500);
	wi_pelt_dequeue(&a, &t);
	assert_int_equal(a.queued_avg, 0);
	assert_int_equal(a.load_avg, 500);
	/* sent elsewhere: counts here until the next update, with its value of the last one */
	wi_pelt_remove(&a, &t, 32 * PERIOD, true);
	assert_int_equal(a.load_avg, 500);
	near(t.load_avg, 250, 1); /* the CPU was idle: decayed on */
	wi_pelt_update_cpu(&b, 32 * PERIOD);
	wi_pelt_attach(&b, &t);
	near(b.load_avg, 250, 1);
	near(b.load_sum, b.load_avg * 46718, 1024);
	wi_pelt_update_cpu(&a, 32 * PERIOD);
	near(a.load_avg, 0, 1);
	wi_pelt_detach(&b, &t);
	assert_int_equal(b.load_avg, 0);
}

static void new_task(void **state)
{
	struct wi_pelt_cpu c = { .util_avg = 224, .load_avg = 1023 };
	struct wi_pelt_task t;

	(void)state;
	wi_pelt_init_new(&c, &t, 1024, true);
	assert_int_equal(t.load_avg, 1024);
	assert_int_equal(t.util_avg, 400); /* (1024 - 224) / 2 */
	wi_pelt_init_new(&c, &t, 1024, false);
	assert_int_equal(t.util_avg, 224); /* 224 * 1024 / 1024 */
	c.util_avg = 0;
	wi_pelt_init_new(&c, &t, 15, false);
	assert_int_equal(t.util_avg, 512);
	assert_int_equal(t.load_avg, 15);
}

static void util_est(void **state)
{
	struct wi_pelt_task t = { .util_avg = 400 };

	(void)state;
	wi_pelt_est_sleep(&t, false); /* up at once */
	assert_int_equal(t.est_ewma, 400);
	assert_int_equal(t.est_enqueued, 400);
	t.util_avg = 300;
	wi_pelt_est_sleep(&t, false); /* nothing moved since */
	assert_int_equal(t.est_enqueued, 400);
	t.est_unchanged = false;
	wi_pelt_est_sleep(&t, false); /* a quarter down */
	assert_int_equal(t.est_ewma, 375);
	assert_int_equal(t.est_enqueued, 300);
	t.est_unchanged = false;
	t.util_avg = 370;
	wi_pelt_est_sleep(&t, false); /* within ten of the average, not of the last */
	assert_int_equal(t.est_ewma, 375);
	assert_int_equal(t.est_enqueued, 370);

	t = (struct wi_pelt_task){ .util_avg = 400, .runnable_avg = 400 };
	wi_pelt_est_sleep(&t, true);
	t.est_unchanged = false;
	t.util_avg = 300;
	wi_pelt_est_sleep(&t, true); /* it waited for its CPU: kept */
	assert_int_equal(t.est_ewma, 400);
	t.est_unchanged = false;
	t.runnable_avg = 310;
	wi_pelt_est_sleep(&t, true);
	assert_int_equal(t.est_ewma, 375);
}

static void weights(void **state)
{
	struct wi_pelt_cpu c = { 0 };
	struct wi_pelt_task t = { .weight = 1024, .load_avg = 1024 };

	(void)state;
	assert_int_equal(wi_pelt_weight(120, false), 1024);
	assert_int_equal(wi_pelt_weight(100, false), 88761);
	assert_int_equal(wi_pelt_weight(139, false), 15);
	assert_int_equal(wi_pelt_weight(120, true), 3);
	wi_pelt_attach(&c, &t);
	wi_pelt_enqueue(&c, &t);
	wi_pelt_reweight(&c, &t, true, 335);
	assert_int_equal(c.weight, 335);
	near(t.load_avg, 335, 1);
	near(c.load_avg, 335, 1);
	near(c.queued_avg, 335, 1);
}

static void flips(void **state)
{
	struct wi_flips f = { .decay_jiffy = 1000 }, r = f;

	(void)state;
	for (uint64_t i = 1; i <= 6; i++)
		wi_flips_record(&f, 1 + i % 2, 1000, 250, false);
	assert_int_equal(f.flips, 6);
	wi_flips_record(&f, 1, 1250, 250, false); /* the same, a second exactly: no decay */
	assert_int_equal(f.flips, 6);
	wi_flips_record(&f, 1, 9999, 250, false); /* halved once, however long the gap */
	assert_int_equal(f.flips, 3);
	r.flips = 6;
	wi_flips_record(&r, 1, 9999, 250, true);
	assert_int_equal(r.flips, 1);
}

/* Wakeups that only a count of 8 or more makes wide, and what it takes for one to be believed. */
static void unknown_flips(void **state)
{
	struct wi_flips_guess g = { 0 };

	(void)state;
	assert_true(wi_wake_wide(8, 64, 8));
	assert_false(wi_wake_wide(8, 63, 8));
	assert_false(wi_wake_wide(7, 640, 8));
	assert_int_equal(wi_flips_guessed(0, 8), 0);
	assert_int_equal(wi_flips_guessed(3, 8), 12);
	wi_flips_learn(&g, 0x7e, false); /* goes to the previous CPU: as wide ones do */
	assert_int_equal(g.best, 0);
	wi_flips_learn(&g, 0x7e, false);
	assert_int_not_equal(g.best, 0);
	for (int i = 0; i < 3; i++)
		wi_flips_learn(&g, 0x7e, true);
	assert_int_equal(g.best, 0);
	for (int i = 0; i < 6; i++)
		wi_flips_learn(&g, 0x0e, false); /* large guesses say it is not wide */
	assert_in_range(g.best, 1, 3);
}

static void lengths(void **state)
{
	struct wi_lengths l = { 0 };
	struct wi_avg_idle a = { .avg_ns = WI_AVG_IDLE_MAX_NS };

	(void)state;
	wi_lengths_runs(&l, 100); /* not seen from the start: no length */
	wi_lengths_stops(&l, 1000, true);
	assert_false(l.run_known);
	wi_lengths_woken(&l, 5000);
	assert_int_equal(l.sleep_avg_ns, 4000);
	wi_lengths_runs(&l, 5100);
	wi_lengths_stops(&l, 6100, false);
	wi_lengths_runs(&l, 8000);
	wi_lengths_wakes_other(&l, 8200);
	wi_lengths_stops(&l, 9000, true); /* 1000 + 1000, the last 800 after waking another */
	assert_int_equal(l.run_avg_ns, 2000);
	assert_int_equal(l.overlap_avg_ns, 100);
	wi_lengths_woken(&l, 9800);
	assert_int_equal(l.sleep_avg_ns, 4000 - 400);
	assert_int_equal(wi_eighth(10, 9), 9); /* -1 shifted right by 3 is -1 */

	wi_avg_idle_wakeup(&a, 10);
	assert_int_equal(a.avg_ns, WI_AVG_IDLE_MAX_NS);
	a.idle_ns = 1000;
	wi_avg_idle_wakeup(&a, 201000);
	assert_int_equal(a.avg_ns, 900000);
	a.idle_ns = 1000;
	wi_avg_idle_wakeup(&a, 900000000);
	assert_int_equal(a.avg_ns, WI_AVG_IDLE_MAX_NS);
}

/* The borders of the table in the specification: mean utilisation at which the budget changes, 117 %. */
static void budget_formula(void **state)
{
	static const uint16_t at8[] = { 0, 28, 311, 439, 537, 620, 693, 759, 820 };
	static const uint16_t at16[] = { 0,   28,  221, 311, 380, 439, 491, 537, 580,
					 620, 657, 693, 727, 759, 790, 820, 848 };

	(void)state;
	for (uint32_t i = 0; i < 9; i++) {
		assert_int_equal(wi_scan_budget_formula(at8[i] * 8u, 8, 117), 8 - i);
		if (i)
			assert_int_equal(wi_scan_budget_formula((at8[i] - 1u) * 8, 8, 117), 9 - i);
	}
	for (uint32_t i = 0; i < 17; i++) {
		assert_int_equal(wi_scan_budget_formula(at16[i] * 16u, 16, 117), 16 - i);
		if (i)
			assert_int_equal(wi_scan_budget_formula((at16[i] - 1u) * 16, 16, 117), 17 - i);
	}
	assert_int_equal(wi_scan_budget_formula(2 * 620, 2, 117), 0);
	assert_int_equal(wi_scan_budget_formula(0, 0, 117), 0);
	assert_int_equal(wi_scan_budget_formula(8 * 1024, 8, 110), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(inverse_table),
		cmocka_unit_test(decays),
		cmocka_unit_test(longest_run),
		cmocka_unit_test(task_runs_and_sleeps),
		cmocka_unit_test(steps_do_not_matter),
		cmocka_unit_test(comes_and_goes),
		cmocka_unit_test(new_task),
		cmocka_unit_test(util_est),
		cmocka_unit_test(weights),
		cmocka_unit_test(flips),
		cmocka_unit_test(unknown_flips),
		cmocka_unit_test(lengths),
		cmocka_unit_test(budget_formula),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
