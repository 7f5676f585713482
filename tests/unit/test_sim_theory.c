/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The closed loop's machine against what can be known without it: schedules by hand, queueing theory, shares, scaling.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analyzer/base/kernel.h"
#include "analyzer/base/names.h"
#include "analyzer/topology/topology.h"
#include "tests/unit/share.h"
#include "tests/unit/sim_world.h"

static const struct wakeif_topology *machine(const char *spec)
{
	struct wi_err err = { 0 };
	const struct wakeif_topology *t = wi_topology_load(spec, &err);

	if (!t)
		fail_msg("%s: %s", spec, err.msg);
	return t;
}

static void run(const struct wi_workload *w, const struct sim_opts *o, struct wi_sim_result *r, struct sim_seen *seen)
{
	struct wi_err err = { 0 };
	const char *wrong = sim_run_watched(w, o, r, seen, &err);

	if (wrong)
		fail_msg("%s %s", wrong, err.msg);
}

/* ---- a schedule by hand ---- */

struct log {
	char text[4096];
	size_t len;
};

static bool write_down(void *ctx, const struct wi_event *ev)
{
	struct log *l = ctx;

	if (ev->type == WI_EV_SCHED_SWITCH)
		l->len += (size_t)snprintf(l->text + l->len, sizeof(l->text) - l->len, "%llu:%d>%d%c\n",
					   (unsigned long long)ev->ts_ns, ev->sw.prev_pid, ev->sw.next_pid,
					   ev->sw.prev_state);
	return l->len < sizeof(l->text) - 64;
}

/*
 * One CPU, order of arrival. A runs 1000, wakes B (asleep), runs 500, sleeps 2000; C is queued behind A from the start.
 * B answers after 300 while A sleeps: its wake is stored until A blocks for it.
 */
static void test_by_hand(void **state)
{
	(void)state;
	const struct wakeif_topology *topo = machine("pu:1");
	struct sim_world w;
	struct log log = { .len = 0 };
	struct sim_opts o = { .o = { .pick = WI_PICK_FIFO, .noise = WI_NOISE_NONE, .balance = WI_BALANCE_OFF },
			      .also = write_down,
			      .also_ctx = &log };
	struct wi_sim_result r;
	struct sim_seen seen;

	sim_world_begin(&w, topo, WI_KERNEL(6, 1), 1);
	uint32_t a = sim_task(&w, "A", 0, WI_START_RUNNING), b = sim_task(&w, "B", 0, WI_START_BLOCKED),
		 c = sim_task(&w, "C", 0, WI_START_RUNNABLE), to_a = sim_counter(&w, a), to_b = sim_counter(&w, b);

	sim_wake(&w, a, 1000, to_b, false);
	sim_sleep(&w, a, 500, 2000);
	sim_block(&w, a, 100, to_a);
	sim_run(&w, a, 50);
	sim_block(&w, b, 0, to_b);
	sim_wake(&w, b, 300, to_a, false);
	sim_run(&w, b, 7);
	sim_run(&w, c, 10000);
	struct wi_workload *load = sim_world_end(&w);

	run(load, &o, &r, &seen);
	/*
	 * C waits from 0, B from 1000, A sleeps from 1500 and is due at 3500. C runs to 11500, B to 11807, A the rest,
	 * 150, without sleeping: B's answer came long ago.
	 */
	assert_string_equal(log.text, "0:0>1000R\n"
				      "1500:1000>1002S\n"
				      "11500:1002>1001X\n"
				      "11807:1001>1000X\n"
				      "11957:1000>0X\n");
	assert_int_equal(r.not_blocked, 1);
	assert_int_equal(seen.waits_ns, (11500 - 1000) + (11807 - 3500));
	sim_run_fini(&r, &seen);
	wi_workload_free(load);
	wi_topology_free(topo);
}

/* Gap, transit and start of a wakeup, each to the ns. */
static void test_latencies_by_hand(void **state)
{
	(void)state;
	const struct wakeif_topology *topo = machine("pack:1 core:2 pu:1");
	struct sim_world w;
	struct log log = { .len = 0 };
	struct sim_opts o = {
		.model = "prev", .o = { .balance = WI_BALANCE_OFF }, .also = write_down, .also_ctx = &log
	};
	struct wi_sim_result r;
	struct sim_seen seen;

	sim_world_begin(&w, topo, WI_KERNEL(6, 1), 1);
	uint32_t a = sim_task(&w, "A", 0, WI_START_RUNNING), b = sim_task(&w, "B", 1, WI_START_BLOCKED),
		 to_b = sim_counter(&w, b);

	w.noise = (struct wi_wake_noise){ 40, 130, 900, WI_WAKE_REMOTE, 0 };
	sim_wake(&w, a, 1000, to_b, false);
	sim_run(&w, a, 5000);
	sim_block(&w, b, 0, to_b);
	sim_run(&w, b, 100);
	struct wi_workload *load = sim_world_end(&w);

	run(load, &o, &r, &seen);
	/* waking 1000, decided 1040, queued 1130, runs 2030 to 2130 */
	assert_string_equal(log.text, "0:0>1000R\n"
				      "2030:0>1001R\n"
				      "2130:1001>0X\n"
				      "6000:1000>0X\n");
	assert_int_equal(seen.waits_ns, 900);
	assert_int_equal(r.noise_drawn, 0);
	sim_run_fini(&r, &seen);
	wi_workload_free(load);
	wi_topology_free(topo);
}

/* ---- queueing theory ---- */

/* Probability that an arrival waits with c servers at load a = lambda / mu (Erlang's second formula). */
static double erlang_c(unsigned int c, double a)
{
	double term = 1, sum = 1;

	for (unsigned int k = 1; k < c; k++) {
		term *= a / k;
		sum += term;
	}
	term *= a / c * (c / (c - a));
	return term / (sum + term);
}

#define SEEDS 8
#define T_999 5.41 /* two-sided 99.9 % of t with 7 degrees of freedom */

/* Mean wait and the share that waits, over seeds, hold the theory's values within the interval. */
static void check_queue(const char *spec, unsigned int c, double rho)
{
	const struct wakeif_topology *topo = machine(spec);
	uint64_t work_ns = 1000000, apart_ns = (uint64_t)((double)work_ns / rho / c);
	double pw = erlang_c(c, rho * c), mean_ns = pw * (double)work_ns / (c * (1 - rho));
	double wait[SEEDS], share[SEEDS], m[2] = { 0 }, v[2] = { 0 };

	for (int i = 0; i < SEEDS; i++) {
		struct sim_world w;
		struct sim_opts o = { .model = "idle-core-first",
				      .o = { .pick = WI_PICK_FIFO,
					     .noise = WI_NOISE_NONE,
					     .balance = c > 1 ? WI_BALANCE_NEWIDLE : WI_BALANCE_OFF,
					     .seed = (uint64_t)i } };
		struct wi_sim_result r;
		struct sim_seen seen;

		sim_world_begin(&w, topo, WI_KERNEL(6, 1), (uint64_t)i * 7 + c);
		sim_arrivals(&w, 12000, apart_ns, work_ns);
		struct wi_workload *load = sim_world_end(&w);

		run(load, &o, &r, &seen);
		assert_int_equal(seen.nr_waits, 12000);
		wait[i] = (double)seen.waits_ns / 12000;
		share[i] = 1 - (double)seen.nr_zero_waits / 12000;
		m[0] += wait[i] / SEEDS;
		m[1] += share[i] / SEEDS;
		sim_run_fini(&r, &seen);
		wi_workload_free(load);
	}
	for (int i = 0; i < SEEDS; i++) {
		v[0] += (wait[i] - m[0]) * (wait[i] - m[0]) / (SEEDS - 1);
		v[1] += (share[i] - m[1]) * (share[i] - m[1]) / (SEEDS - 1);
	}
	print_message("M/M/%u at %.2f: wait %.0f us (theory %.0f), waits %.3f (theory %.3f)\n", c, rho, m[0] / 1000,
		      mean_ns / 1000, m[1], pw);
	assert_true(fabs(m[0] - mean_ns) < T_999 * sqrt(v[0] / SEEDS));
	assert_true(fabs(m[1] - pw) < T_999 * sqrt(v[1] / SEEDS));
	assert_true(sqrt(v[0] / SEEDS) < 0.1 * mean_ns); /* the interval says something */
	wi_topology_free(topo);
}

static void test_mm1(void **state)
{
	(void)state;
	check_queue("pu:1", 1, 0.7);
}

static void test_mm4(void **state)
{
	(void)state;
	check_queue("pack:1 core:4 pu:1", 4, 0.8);
}

static void test_mm8(void **state)
{
	(void)state;
	check_queue("pack:1 core:8 pu:1", 8, 0.8);
}

/* ---- shares ---- */

static const int nices[] = { -10, -5, 0, 0, 5, 10 };
static const double weights[] = { 9548, 3121, 1024, 1024, 335, 110 };
#define NR_NICES 6

/* What tasks got more than their share of the time, at every switch: least and most. */
struct fairness {
	uint64_t since_ns[NR_NICES], ran_ns[NR_NICES];
	double least_ns[NR_NICES], most_ns[NR_NICES];
	bool over;
};

static bool follow_shares(void *ctx, const struct wi_event *ev)
{
	struct fairness *f = ctx;
	double all = 0;

	if (ev->type != WI_EV_SCHED_SWITCH || f->over)
		return true;
	if (ev->sw.prev_comm != WI_NAME_NONE)
		f->ran_ns[ev->sw.prev_comm - 1] += ev->ts_ns - f->since_ns[ev->sw.prev_comm - 1];
	f->over = ev->sw.prev_state == 'X';
	if (ev->sw.next_comm != WI_NAME_NONE)
		f->since_ns[ev->sw.next_comm - 1] = ev->ts_ns;
	for (int i = 0; i < NR_NICES; i++)
		all += weights[i];
	for (int i = 0; i < NR_NICES; i++) {
		double more_ns = (double)f->ran_ns[i] - (double)ev->ts_ns * weights[i] / all;

		if (ev->ts_ns < 200 * MS) { /* what they were before is not known, and has to wear off */
			f->least_ns[i] = f->most_ns[i] = more_ns;
			continue;
		}
		f->least_ns[i] = fmin(f->least_ns[i], more_ns);
		f->most_ns[i] = fmax(f->most_ns[i], more_ns);
	}
	return true;
}

static double worst_share(enum wi_sim_pick pick, uint32_t kernel, uint64_t tick_ns, uint64_t seed)
{
	const struct wakeif_topology *topo = machine("pu:1");
	struct sim_world w;
	struct fairness f = { .over = false };
	double worst_ns = 0;
	struct sim_opts o = { .o = { .pick = pick, .seed = seed, .tick_ns = tick_ns, .noise = WI_NOISE_NONE },
			      .also = follow_shares,
			      .also_ctx = &f };
	struct wi_sim_result r;
	struct sim_seen seen;

	sim_world_begin(&w, topo, kernel, 1);
	for (int i = 0; i < NR_NICES; i++) {
		uint32_t t = sim_task(&w, "hog", 0, WI_START_RUNNABLE);

		sim_nice(&w, t, nices[i]);
		sim_run(&w, t, (uint64_t)(weights[i] * 500 * US));
	}
	struct wi_workload *load = sim_world_end(&w);

	run(load, &o, &r, &seen);
	sim_run_fini(&r, &seen);
	wi_workload_free(load);
	wi_topology_free(topo);
	for (int i = 0; i < NR_NICES; i++)
		worst_ns = fmax(worst_ns, f.most_ns[i] - f.least_ns[i]);
	return worst_ns;
}

/* Of 7.6 s. A period, the unknown vruntimes at the start (as nice 0 sees them, half a period either way) and a tick
 * late. */
static void test_cfs_shares(void **state)
{
	(void)state;
	for (uint64_t seed = 0; seed < 4; seed++) {
		double ns = worst_share(WI_PICK_CFS, WI_KERNEL(6, 1), 4 * MS, seed);

		print_message("CFS: shares within %.1f ms\n", ns / 1e6);
		assert_true(ns < 2 * 6e6 + 4e6 + 3e6);
	}
}

/* EEVDF: lag is bounded by a slice and what it may be late, whatever the weights; the slice is 0.75 ms. */
static void test_eevdf_lag(void **state)
{
	(void)state;
	for (uint64_t seed = 0; seed < 4; seed++) {
		double ns = worst_share(WI_PICK_EEVDF, WI_KERNEL(6, 6), 100 * US, seed);

		print_message("EEVDF: lags within %.1f ms\n", ns / 1e6);
		assert_true(ns < 2 * (0.75e6 + 0.1e6));
	}
}

/* ---- scaling ---- */

struct stream {
	uint64_t nr, hash, times;
	uint64_t factor;
};

static bool hash_event(void *ctx, const struct wi_event *ev)
{
	struct stream *s = ctx;
	uint64_t at = ev->ts_ns;

	if (at % s->factor)
		s->times++;
	at /= s->factor;
	s->nr++;
	s->hash = (s->hash ^ at) * 0x100000001b3ull;
	s->hash = (s->hash ^ (uint64_t)ev->cpu << 32 ^ ev->type) * 0x100000001b3ull;
	if (ev->type == WI_EV_SCHED_SWITCH)
		s->hash = (s->hash ^ (uint64_t)ev->sw.prev_pid << 32 ^ (uint64_t)ev->sw.next_pid) * 0x100000001b3ull;
	return true;
}

static struct stream scaled(const struct wakeif_topology *topo, const char *model, uint32_t kernel, uint64_t factor,
			    uint64_t seed)
{
	struct sim_world w;
	struct stream s = { .hash = 1, .factor = factor };
	struct sim_opts o = { .model = model,
			      .o = { .seed = seed,
				     .scale = factor,
				     .tick_ns = 4000000 * factor,
				     .commit_ns = 2000 * factor,
				     .noise = WI_NOISE_NONE },
			      .also = hash_event,
			      .also_ctx = &s };
	struct wi_sim_result r;
	struct sim_seen seen;

	sim_world_begin(&w, topo, kernel, 3);
	sim_requests(&w, 2, 5, 60, 0); /* times of its own are not scaled: none */
	struct wi_workload *load = sim_world_end(&w);

	for (size_t i = 0; i < load->nr_ops; i++) /* by hand: what the world's lots gave, times the factor */
		load->ops[i].work_ns = (uint32_t)((load->ops[i].work_ns + i * 7919 % 400000) * factor);
	for (uint32_t i = 0; i < load->nr_tasks; i++) {
		struct wi_work_task *t = &load->task[i];

		if (t->start == WI_START_BLOCKED)
			load->ops[t->first_op].work_ns = 0;
		t->work_ns = 0;
		for (size_t n = 0; n < t->nr_ops; n++)
			t->work_ns += load->ops[t->first_op + n].work_ns;
	}
	for (uint32_t i = 0; i < load->nr_sleeps; i++)
		load->sleep[i].length_ns = load->sleep[i].wake_ns = (i * 104729 % 900000 + 1000) * factor;
	run(load, &o, &r, &seen);
	sim_run_fini(&r, &seen);
	wi_workload_free(load);
	return s;
}

/* Twice as slow a world, kernel included, does the same in twice the time. */
static void test_scaling(void **state)
{
	(void)state;
	static const struct {
		const char *model;
		uint32_t kernel;
	} cases[] = { { "prev", WI_KERNEL(6, 1) },
		      { "idle-core-first", WI_KERNEL(6, 1) },
		      { "idle-core-first", WI_KERNEL(6, 6) },
		      { "idle-core-first", WI_KERNEL(6, 12) },
		      { "prev-idle", WI_KERNEL(2, 6) } };
	const struct wakeif_topology *topo = machine("pack:1 core:2 pu:2");

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		for (uint64_t seed = 1; seed < 4; seed++) {
			struct stream one = scaled(topo, cases[i].model, cases[i].kernel, 1, seed),
				      two = scaled(topo, cases[i].model, cases[i].kernel, 2, seed),
				      eight = scaled(topo, cases[i].model, cases[i].kernel, 8, seed);

			print_message("%s %x: %llu events, %llu odd times\n", cases[i].model, cases[i].kernel,
				      (unsigned long long)one.nr, (unsigned long long)two.times);
			assert_true(one.nr > 1000);
			assert_int_equal(one.nr, two.nr);
			assert_int_equal(two.times, 0);
			assert_int_equal(one.hash, two.hash);
			assert_int_equal(one.hash, eight.hash);
		}
	wi_topology_free(topo);
}

/* ---- SMT ---- */

static uint64_t makespan(const struct wakeif_topology *topo, uint32_t hogs, uint32_t speed, const char *model)
{
	struct sim_world w;
	struct sim_opts o = { .model = model, .o = { .smt_speed = speed, .noise = WI_NOISE_NONE } };
	struct wi_sim_result r;
	struct sim_seen seen;
	uint64_t ns;

	sim_world_begin(&w, topo, WI_KERNEL(6, 1), hogs);
	for (uint32_t i = 0; i < hogs; i++)
		sim_run(&w, sim_task(&w, "hog", i % topo->nr_cpus, WI_START_RUNNABLE), 50 * MS + sim_lot(&w, 50 * MS));
	struct wi_workload *load = sim_world_end(&w);

	run(load, &o, &r, &seen);
	ns = r.end_ns;
	assert_true(r.ran_ns >= r.tape_ns);
	if (speed == 1024)
		assert_int_equal(r.ran_ns, r.tape_ns);
	sim_run_fini(&r, &seen);
	wi_workload_free(load);
	return ns;
}

/* Independent tasks that only compute: threads that hinder each other less never make it slower. */
static void test_smt_speed(void **state)
{
	(void)state;
	static const uint32_t hogs[] = { 1, 2, 5, 8 };
	const struct wakeif_topology *topo = machine("pack:1 core:4 pu:2");

	for (size_t i = 0; i < sizeof(hogs) / sizeof(*hogs); i++) {
		uint64_t before = UINT64_MAX;

		for (uint32_t speed = 512; speed <= 1024; speed += 32) {
			uint64_t ns = makespan(topo, hogs[i], speed, "idle-core-first");

			assert_true(ns <= before);
			before = ns;
		}
	}
	wi_topology_free(topo);
}

/* Two hogs on one core: each at the given speed while both run, then alone; to the ns. */
static void test_smt_by_hand(void **state)
{
	(void)state;
	const struct wakeif_topology *topo = machine("pack:1 core:1 pu:2");
	struct sim_world w;
	struct log log = { .len = 0 };
	struct sim_opts o = { .o = { .smt_speed = 512, .noise = WI_NOISE_NONE }, .also = write_down, .also_ctx = &log };
	struct wi_sim_result r;
	struct sim_seen seen;

	sim_world_begin(&w, topo, WI_KERNEL(6, 1), 1);
	sim_run(&w, sim_task(&w, "A", 0, WI_START_RUNNING), 1000000);
	sim_run(&w, sim_task(&w, "B", 1, WI_START_RUNNING), 3000000);
	struct wi_workload *load = sim_world_end(&w);

	run(load, &o, &r, &seen);
	/* A: 1 ms of work at half speed; B has done 1 ms by then and does 2 ms more alone */
	assert_string_equal(log.text, "0:0>1000R\n"
				      "0:0>1001R\n"
				      "2000000:1000>0X\n"
				      "4000000:1001>0X\n");
	assert_int_equal(r.ran_ns, 6000000);
	sim_run_fini(&r, &seen);
	wi_workload_free(load);
	wi_topology_free(topo);
}

/* ---- nobody waits where there is room ---- */

static void test_room_for_all(void **state)
{
	(void)state;
	static const struct {
		const char *spec;
		uint32_t kernel;
	} cases[] = { { "pack:1 core:8 pu:2", WI_KERNEL(6, 1) },
		      { "pack:2 core:4 pu:2", WI_KERNEL(6, 6) },
		      { "pack:2 core:8 pu:1", WI_KERNEL(6, 12) },
		      { "pack:1 core:4 pu:4", WI_KERNEL(5, 10) } };

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		const struct wakeif_topology *topo = machine(cases[i].spec);
		struct sim_world w;
		struct sim_opts o = { .model = "idle-core-first", .o = { .noise = WI_NOISE_NONE, .smt_speed = 635 } };
		struct wi_sim_result r;
		struct sim_seen seen;

		sim_world_begin(&w, topo, cases[i].kernel, i);
		sim_ping_pong(&w, 2, 300, 20 * US);
		sim_requests(&w, 1, 5, 60, 300 * US);
		sim_timers(&w, 4, 100, 50 * US, 400 * US);
		struct wi_workload *load = sim_world_end(&w);

		assert_true(load->nr_tasks < topo->nr_cpus);
		run(load, &o, &r, &seen);
		assert_true(seen.nr_waits > 1500);
		assert_int_equal(seen.waits_ns, 0);
		assert_int_equal(r.tally.waiting_ns, 0);
		assert_int_equal(r.tally.queue_wait.max_ns, 0);
		sim_run_fini(&r, &seen);
		wi_workload_free(load);
		wi_topology_free(topo);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_by_hand),	     cmocka_unit_test(test_latencies_by_hand),
		cmocka_unit_test(test_mm1),	     cmocka_unit_test(test_mm4),
		cmocka_unit_test(test_mm8),	     cmocka_unit_test(test_cfs_shares),
		cmocka_unit_test(test_eevdf_lag),    cmocka_unit_test(test_scaling),
		cmocka_unit_test(test_smt_speed),    cmocka_unit_test(test_smt_by_hand),
		cmocka_unit_test(test_room_for_all),
	};

	return cmocka_run_group_tests_name("sim: theory", tests, NULL, NULL);
}
