/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Real-time tasks in the machine: none waits beside a CPU that runs something less urgent, if it may go there. */
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

#define MOST 64

static const struct wakeif_topology *machine(const char *spec)
{
	struct wi_err err = { 0 };
	const struct wakeif_topology *t = wi_topology_load(spec, &err);

	if (!t)
		fail_msg("%s: %s", spec, err.msg);
	return t;
}

/* What the events say: who runs where, who waits. */
struct look {
	const struct wi_workload *w;
	uint32_t nr_cpus, running[MOST]; /* task + 1; 0: none */
	bool waits[MOST];
	uint64_t now_ns, waited_ns[MOST], nr_waits, nr_moves;
	bool wrong;
};

static bool is_rt(const struct look *l, uint32_t t)
{
	return l->w->task[t].prio < 100;
}

/* Before time goes on: with free affinity the most urgent ones run. */
static void look(struct look *l, uint64_t now_ns)
{
	for (uint32_t t = 0; t < l->w->nr_tasks; t++) {
		if (!l->waits[t])
			continue;
		l->waited_ns[t] += now_ns - l->now_ns;
		if (!is_rt(l, t) || now_ns == l->now_ns)
			continue;
		l->nr_waits++;
		for (uint32_t c = 0; c < l->nr_cpus; c++) {
			uint32_t r = l->running[c];

			l->wrong |= !r || l->w->task[r - 1].prio > l->w->task[t].prio;
		}
	}
	l->now_ns = now_ns;
}

static uint32_t by_pid(const struct look *l, int32_t pid)
{
	for (uint32_t t = 0; t < l->w->nr_tasks; t++)
		if (l->w->task[t].pid == pid)
			return t;
	return 0;
}

static bool see(void *ctx, const struct wi_event *ev)
{
	struct look *l = ctx;

	if (ev->ts_ns != l->now_ns)
		look(l, ev->ts_ns);
	l->nr_moves += ev->type == WI_EV_SCHED_MIGRATE_TASK;
	if (ev->type == WI_EV_SCHED_WAKEUP || ev->type == WI_EV_SCHED_WAKEUP_NEW)
		l->waits[by_pid(l, ev->wk.pid)] = true;
	if (ev->type != WI_EV_SCHED_SWITCH)
		return true;
	if (ev->sw.prev_pid)
		l->waits[by_pid(l, ev->sw.prev_pid)] = ev->sw.prev_state == 'R';
	l->running[ev->cpu] = ev->sw.next_pid ? by_pid(l, ev->sw.next_pid) + 1 : 0;
	if (ev->sw.next_pid)
		l->waits[by_pid(l, ev->sw.next_pid)] = false;
	return true;
}

static void run(struct sim_world *w, struct look *l, struct wi_sim_result *r)
{
	struct sim_opts o = { .model = "linux-6.1", .also = see, .also_ctx = l };
	struct wi_workload *load = sim_world_end(w);
	struct sim_seen seen;
	struct wi_err err = { 0 };
	const char *wrong;

	o.o.noise = WI_NOISE_NONE;
	o.o.smt_speed = 1024;
	l->w = load;
	l->nr_cpus = load->topology->nr_cpus;
	assert_true(load->nr_tasks <= MOST && l->nr_cpus <= MOST);
	wrong = sim_run_watched(load, &o, r, &seen, &err);
	if (wrong)
		fail_msg("%s %s", wrong, err.msg);
	wi_workload_free(load);
	sim_run_fini(r, &seen);
}

static uint32_t urgent(struct sim_world *w, uint32_t cpu, int16_t prio, enum wi_work_start start)
{
	uint32_t t = sim_task(w, "rt", cpu, start);

	wi_work_task(w->b, t)->prio = prio;
	wi_work_task(w->b, t)->policy = prio % 2 ? WAKEIF_POLICY_RR : WAKEIF_POLICY_FIFO;
	return t;
}

/* b is woken where a, more urgent, runs: it goes to the other CPU at once, though a fair task runs there. */
static void goes_elsewhere(void **state)
{
	const struct wakeif_topology *topo = machine("pack:1 l3:1 core:2 pu:1");
	struct look l = { 0 };
	struct wi_sim_result r;
	struct sim_world w;
	uint32_t a, b, fair;

	(void)state;
	sim_world_begin(&w, topo, WI_KERNEL(6, 1), 1);
	a = urgent(&w, 0, 10, WI_START_RUNNABLE);
	fair = sim_task(&w, "fair", 1, WI_START_RUNNABLE);
	b = urgent(&w, 0, 50, WI_START_BLOCKED);
	sim_run(&w, a, 100 * MS);
	sim_run(&w, fair, 100 * MS);
	sim_sleep(&w, b, 0, 10 * MS);
	sim_run(&w, b, 20 * MS);
	run(&w, &l, &r);
	assert_int_equal(l.waited_ns[b], 0);
	assert_int_equal(l.waited_ns[fair], 20 * MS);
	wi_topology_free(topo);
}

/* c preempts b where that runs: b is pushed away to where the least urgent one runs. */
static void is_pushed(void **state)
{
	const struct wakeif_topology *topo = machine("pack:1 l3:1 core:3 pu:1");
	struct look l = { 0 };
	struct wi_sim_result r;
	struct sim_world w;
	uint32_t a, b, c, fair;

	(void)state;
	sim_world_begin(&w, topo, WI_KERNEL(6, 1), 1);
	a = urgent(&w, 0, 40, WI_START_RUNNABLE);
	b = urgent(&w, 1, 50, WI_START_RUNNABLE);
	fair = sim_task(&w, "fair", 2, WI_START_RUNNABLE);
	c = urgent(&w, 1, 10, WI_START_BLOCKED);
	sim_run(&w, a, 100 * MS);
	sim_run(&w, b, 100 * MS);
	sim_run(&w, fair, 100 * MS);
	sim_sleep(&w, c, 0, 10 * MS);
	sim_run(&w, c, 20 * MS);
	run(&w, &l, &r);
	assert_int_equal(l.waited_ns[a] + l.waited_ns[b] + l.waited_ns[c], 0);
	assert_false(l.wrong);
	wi_topology_free(topo);
}

/* c ends where d, more urgent than b, waits: b is not fetched there only to wait beside another one. */
static void is_not_pulled_to_wait(void **state)
{
	const struct wakeif_topology *topo = machine("pack:1 l3:1 core:2 pu:1");
	struct look l = { 0 };
	struct wi_sim_result r;
	struct sim_world w;
	uint32_t a, b, c, d;

	(void)state;
	sim_world_begin(&w, topo, WI_KERNEL(6, 1), 1);
	a = urgent(&w, 0, 10, WI_START_RUNNABLE);
	b = urgent(&w, 0, 50, WI_START_RUNNABLE);
	c = urgent(&w, 1, 20, WI_START_RUNNABLE);
	d = urgent(&w, 1, 30, WI_START_RUNNABLE);
	sim_run(&w, a, 30 * MS);
	sim_run(&w, b, 20 * MS);
	sim_run(&w, c, 20 * MS);
	sim_run(&w, d, 20 * MS);
	run(&w, &l, &r);
	assert_int_equal(l.nr_moves, 0);
	assert_int_equal(l.now_ns, 50 * MS);
	wi_topology_free(topo);
}

/* Many of them by lot: after every instant whoever waits is not more urgent than anybody who runs. */
static void most_urgent_run(void **state)
{
	static const char *const machines[] = { "pack:1 l3:1 core:2 pu:1", "pack:1 l3:1 core:2 pu:2",
						"numa:2 pack:1 l3:1 core:2 pu:1", "pu:1" };
	uint64_t waits = 0, moves = 0;

	(void)state;
	for (uint64_t seed = 1; seed <= test_share(200); seed++) {
		const struct wakeif_topology *topo = machine(machines[seed % 4]);
		struct look l = { 0 };
		struct wi_sim_result r;
		struct sim_world w;
		uint32_t nr = 3 + (uint32_t)(seed % 7);

		sim_world_begin(&w, topo, WI_KERNEL(6, 1), seed);
		for (uint32_t i = 0; i < nr; i++) {
			uint32_t t = urgent(&w, i % topo->nr_cpus, (int16_t)(10 + sim_lot(&w, 5)), WI_START_BLOCKED);

			for (int n = 0; n < 30; n++)
				sim_sleep(&w, t, n ? 1 + sim_lot(&w, 2 * MS) : 0, 1 + sim_lot(&w, 3 * MS));
			sim_run(&w, t, MS);
		}
		for (uint32_t i = 0; i < 2; i++)
			sim_run(&w, sim_task(&w, "fair", i % topo->nr_cpus, WI_START_RUNNABLE), 30 * MS);
		run(&w, &l, &r);
		if (l.wrong)
			fail_msg("seed %llu: one waits that is more urgent than one that runs",
				 (unsigned long long)seed);
		waits += l.nr_waits;
		moves += l.nr_moves;
		wi_topology_free(topo);
	}
	assert_true(waits > 1000 && moves > 1000);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(goes_elsewhere), cmocka_unit_test(is_pushed),
					    cmocka_unit_test(is_not_pulled_to_wait),
					    cmocka_unit_test(most_urgent_run) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
