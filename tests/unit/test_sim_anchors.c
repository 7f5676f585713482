/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What papers and threads say of policies, as an order of results on made-up workloads: who gains, who loses. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analyzer/base/kernel.h"
#include "analyzer/topology/topology.h"
#include "tests/unit/sim_world.h"

#define SEEDS 4

static const struct wakeif_topology *machine(const char *spec)
{
	struct wi_err err = { 0 };
	const struct wakeif_topology *t = wi_topology_load(spec, &err);

	if (!t)
		fail_msg("%s: %s", spec, err.msg);
	return t;
}

typedef void make_world(struct sim_world *w);

struct outcome {
	double end_ns, forced_ns, incompatible_ns;
};

/* Means over seeds. */
static struct outcome outcome(const struct wakeif_topology *topo, make_world *make, const struct sim_opts *like,
			      uint32_t (*cookie)(uint32_t task))
{
	struct outcome out = { 0 };

	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		struct sim_world w;
		struct sim_opts o = *like;
		struct wi_sim_result r;
		struct sim_seen seen;
		struct wi_err err = { 0 };
		uint32_t *cookies;
		const char *wrong;

		sim_world_begin(&w, topo, WI_KERNEL(6, 1), seed);
		w.m.smt_speed = 635;
		sim_latencies(&w, 3 * US);
		make(&w);
		struct wi_workload *load = sim_world_end(&w);

		cookies = calloc(load->nr_tasks, sizeof(*cookies));
		assert_non_null(cookies);
		for (uint32_t t = 0; t < load->nr_tasks; t++)
			cookies[t] = cookie ? cookie(t) : 0;
		o.o.cookie = cookies;
		o.o.seed = seed;
		o.o.commit_ns = 2 * US;
		wrong = sim_run_watched(load, &o, &r, &seen, &err);
		if (wrong)
			fail_msg("%s %s", wrong, err.msg);
		out.end_ns += (double)r.end_ns / SEEDS;
		out.forced_ns += (double)r.forced_idle_ns / SEEDS;
		out.incompatible_ns += (double)r.incompatible_corun_ns / SEEDS;
		sim_run_fini(&r, &seen);
		free(cookies);
		wi_workload_free(load);
	}
	return out;
}

/* ---- Vagin 2022: WF_SYNC stays on the waker's CPU if that runs nobody else ---- */

static void pipe_ping_pong(struct sim_world *w)
{
	sim_ping_pong(w, 1, 4000, 3 * US);
}

/* The sender goes on while the receiver works: side by side they take half of the time. */
static void udp_stream(struct sim_world *w)
{
	sim_stream(w, 1, 4000, 10 * US, 9 * US);
}

static void test_vagin(void **state)
{
	(void)state;
	const struct wakeif_topology *topo = machine("pack:1 l3:1 core:4 pu:1");
	struct sim_opts as_is = { .model = "linux-6.1" }, vagin = { .model = "linux-6.1,wf-sync=vagin" };
	double pipe = outcome(topo, pipe_ping_pong, &vagin, NULL).end_ns /
		      outcome(topo, pipe_ping_pong, &as_is, NULL).end_ns,
	       stream = outcome(topo, udp_stream, &vagin, NULL).end_ns / outcome(topo, udp_stream, &as_is, NULL).end_ns;

	print_message("wf-sync=vagin: pipe ping-pong takes %.2f of the time, streaming %.2f\n", pipe, stream);
	assert_true(pipe < 0.95);   /* gains */
	assert_true(stream > 1.25); /* loses: 47 to 54 % of the throughput in the thread */
	wi_topology_free(topo);
}

/* ---- 2009: sched_mc_power_savings. Two packages of four cores, kernel builds of 4 and 8 jobs ---- */

static void make_j4(struct sim_world *w)
{
	sim_make(w, 4, 160, 20 * MS);
}

static void make_j8(struct sim_world *w)
{
	sim_make(w, 8, 160, 20 * MS);
}

struct packages {
	double most, least; /* idle share of the package that idles more, and of the other; mean over seeds */
};

static struct packages packages(make_world *make, uint32_t mc)
{
	const struct wakeif_topology *topo = machine("pack:2 numa:1 l3:1 core:4 pu:1");
	struct packages p = { 0 };
	char model[64];

	snprintf(model, sizeof(model), "linux-2.6.29,mc=%u", mc);
	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		struct sim_world w;
		struct sim_opts o = {
			.model = model,
			.o = { .seed = seed, .power_mc = mc, .kernel = WI_KERNEL(2, 6), .commit_ns = 2 * US }
		};
		struct wi_sim_result r;
		struct sim_seen seen;
		struct wi_err err = { 0 };
		double idle[2];

		sim_world_begin(&w, topo, WI_KERNEL(2, 6), seed);
		sim_latencies(&w, 3 * US);
		make(&w);
		struct wi_workload *load = sim_world_end(&w);
		const char *wrong = sim_run_watched(load, &o, &r, &seen, &err);

		if (wrong)
			fail_msg("%s %s", wrong, err.msg);
		for (int i = 0; i < 2; i++)
			idle[i] = (double)r.tally.package_idle_ns[i] / (double)(r.tally.to_ns - r.tally.from_ns);
		p.most += (idle[0] > idle[1] ? idle[0] : idle[1]) / SEEDS;
		p.least += (idle[0] > idle[1] ? idle[1] : idle[0]) / SEEDS;
		sim_run_fini(&r, &seen);
		wi_workload_free(load);
	}
	wi_topology_free(topo);
	return p;
}

static void test_power_savings(void **state)
{
	(void)state;
	struct packages j4[3], j8[3];

	for (uint32_t mc = 0; mc < 3; mc++) {
		j4[mc] = packages(make_j4, mc);
		j8[mc] = packages(make_j8, mc);
		print_message("mc=%u: packages idle %.0f and %.0f %% with 4 jobs, %.0f and %.0f %% with 8\n", mc,
			      100 * j4[mc].most, 100 * j4[mc].least, 100 * j8[mc].most, 100 * j8[mc].least);
	}
	/* One idles while the other works, level by level, where there is room for that: four jobs, not eight. */
	assert_true(j4[1].most > j4[0].most + 0.05 && j4[2].most > j4[1].most);
	assert_true(j4[2].least <= j4[0].least);
	assert_true(j4[2].most - j4[0].most > j8[2].most - j8[0].most + 0.1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_vagin),
		cmocka_unit_test(test_power_savings),
	};

	return cmocka_run_group_tests_name("sim: anchors", tests, NULL, NULL);
}
