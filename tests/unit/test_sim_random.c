/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Workloads by lot on every machine under every model: what is on the tapes is done, once, and nowhere else. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "analyzer/base/kernel.h"
#include "analyzer/topology/topology.h"
#include "models/registry.h"
#include "tests/unit/share.h"
#include "tests/unit/sim_world.h"

/* CPU,core,socket,node and the third-level cache, with holes in the numbers, an offline one, and a core of one thread.
 */
static const char holes[] = "# CPU,Core,Socket,Node,,L1d,L1i,L2,L3\n"
			    "1,0,0,0,,0,0,0,0\n3,0,0,0,,0,0,0,0\n4,1,0,0,,1,1,1,0\n6,2,0,0,,2,2,2,0\n"
			    "9,2,0,0,,2,2,2,0\n70,3,1,1,,3,3,3,1\n71,4,1,1,,4,4,4,1\n75,3,1,1,,3,3,3,1\n";

static const struct {
	const char *name, *spec; /* spec NULL: holes */
} machines[] = {
	{ "one CPU", "pu:1" },
	{ "8 threads", "pack:1 l3:1 core:4 pu:2" },
	{ "no SMT", "pack:1 l3:2 core:3 pu:1" },
	{ "SMT4", "pack:1 l3:1 core:3 pu:4" },
	{ "numa16", "numa:2 pack:1 l3:2 core:2 pu:2" },
	{ "72 CPUs", "pack:2 numa:1 l3:2 core:9 pu:2" },
	{ "holes", NULL },
};
#define NR_MACHINES (sizeof(machines) / sizeof(*machines))

static const struct wakeif_topology *machine(size_t i)
{
	struct wi_err err = { 0 };
	const struct wakeif_topology *t;
	char path[] = "/tmp/wakeif-holes-XXXXXX";
	int fd = -1;

	if (!machines[i].spec) {
		fd = mkstemp(path);
		assert_true(fd >= 0);
		assert_int_equal(write(fd, holes, sizeof(holes) - 1), sizeof(holes) - 1);
	}
	t = wi_topology_load(machines[i].spec ? machines[i].spec : path, &err);
	if (fd >= 0) {
		close(fd);
		unlink(path);
	}
	if (!t)
		fail_msg("%s: %s", machines[i].name, err.msg);
	return t;
}

static const uint32_t kernels[] = { WI_KERNEL(2, 6), WI_KERNEL(3, 2), WI_KERNEL(4, 19),
				    WI_KERNEL(6, 1), WI_KERNEL(6, 6), WI_KERNEL(6, 12) };

/* Everything that an option can be, by lot. */
static void any_opts(struct sim_world *lots, struct wi_sim_opts *o, uint64_t seed)
{
	o->seed = seed;
	o->pick = (enum wi_sim_pick)sim_lot(lots, 4);
	o->no_wakeup_preemption = !sim_lot(lots, 5);
	o->balance = (enum wi_sim_balance)sim_lot(lots, 3);
	o->noise = (enum wi_sim_noise)sim_lot(lots, 3);
	o->external = (enum wi_sim_external)sim_lot(lots, 3);
	o->no_orders = !sim_lot(lots, 4);
	o->commit_ns = sim_lot(lots, 2) ? 0 : 20 * US;
	o->smt_speed = sim_lot(lots, 2) ? 1024 : 512 + (uint32_t)sim_lot(lots, 512);
	o->host_cpus = sim_lot(lots, 8) ? 0 : 2;
}

/* One workload under one model. false: the model knows the future and was refused, as it should be. */
static bool one(const struct wakeif_topology *topo, const char *where, const struct wakeif_model_ops *ops,
		uint64_t seed)
{
	struct sim_world w;
	struct sim_opts o = { .model = ops->name };
	struct wi_sim_result r;
	struct sim_seen seen;
	struct wi_err err = { 0 };
	uint32_t kernel = kernels[seed % (sizeof(kernels) / sizeof(*kernels))];
	const char *wrong;

	sim_world_begin(&w, topo, kernel, seed);
	if (seed & 1)
		sim_latencies(&w, 20 * US);
	sim_anything(&w, 2 + (uint32_t)sim_lot(&w, 24), 200 + (uint32_t)sim_lot(&w, 1200), seed & 2);
	any_opts(&w, &o.o, seed);
	uint64_t lost = w.nr_wakes - w.nr_blocks;
	struct wi_workload *load = sim_world_end(&w);

	wrong = sim_run_watched(load, &o, &r, &seen, &err);
	if (wrong && ops->needs & WAKEIF_NEED_FUTURE && err.code == WI_EUSAGE)
		wrong = NULL;
	else if (!wrong && r.wakes_lost != lost)
		wrong = "wakes are lost";
	else if (!wrong && o.o.smt_speed == 1024 && !o.o.host_cpus && r.ran_ns != r.tape_ns)
		wrong = "time run is not that of the tapes";
	else if (!wrong && r.ran_ns < r.tape_ns)
		wrong = "less was run than is on the tapes";
	else if (!wrong && r.invalid && !(seed & 2))
		wrong = "an illegal answer of a built-in model";
	if (wrong)
		fail_msg(
			"%s, %s, seed %llu: %s %s (ops %llu of %llu, undone %llu, ran %llu of %llu, lost %llu of %llu)",
			where, ops->name, (unsigned long long)seed, wrong, err.msg, (unsigned long long)r.ops_done,
			(unsigned long long)r.ops_total, (unsigned long long)r.tasks_undone,
			(unsigned long long)r.ran_ns, (unsigned long long)r.tape_ns, (unsigned long long)r.wakes_lost,
			(unsigned long long)lost);
	sim_run_fini(&r, &seen);
	wi_workload_free(load);
	return !err.code;
}

static void test_anything(void **state)
{
	(void)state;
	size_t nr_models;
	const struct wakeif_model_ops *const *models = wi_models(&nr_models);
	uint64_t rounds = getenv("WAKEIF_FULL") ? 80 : 12, seed = 1, ran = 0, refused = 0;

	for (size_t m = 0; m < NR_MACHINES; m++) {
		const struct wakeif_topology *topo = machine(m);

		for (size_t i = 0; i < nr_models; i++)
			for (uint64_t n = 0; n < test_share((unsigned int)rounds); n++, seed++) {
				if (one(topo, machines[m].name, models[i], seed))
					ran++;
				else
					refused++;
			}
		wi_topology_free(topo);
	}
	print_message("%llu runs, %llu refused\n", (unsigned long long)ran, (unsigned long long)refused);
	assert_true(ran > refused * 10);
}

/* On another machine than the recorded one: SMT off, more CPUs, fewer; tasks on CPUs that are not there find others. */
static void test_other_machine(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= test_share(60); seed++) {
		const struct wakeif_topology *from = machine(seed % NR_MACHINES),
					     *to = machine(seed / NR_MACHINES % NR_MACHINES);
		struct sim_world w;
		struct sim_opts o = { .model = seed & 1 ? "linux-6.1" : "idle-core-first" };
		struct wi_sim_result r;
		struct sim_seen seen;
		struct wi_err err = { 0 };
		const char *wrong;

		sim_world_begin(&w, from, WI_KERNEL(6, 1), seed);
		sim_anything(&w, 12, 600, seed & 2);
		any_opts(&w, &o.o, seed);
		o.o.topology = to;
		struct wi_workload *load = sim_world_end(&w);

		wrong = sim_run_watched(load, &o, &r, &seen, &err);
		if (wrong)
			fail_msg("%s on %s, seed %llu: %s %s", machines[seed % NR_MACHINES].name,
				 machines[seed / NR_MACHINES % NR_MACHINES].name, (unsigned long long)seed, wrong,
				 err.msg);
		sim_run_fini(&r, &seen);
		wi_workload_free(load);
		wi_topology_free(from);
		wi_topology_free(to);
	}
}

static bool hash_bytes(void *ctx, const struct wi_event *ev)
{
	uint64_t *h = ctx;
	const unsigned char *p = (const unsigned char *)&ev->sw;

	*h = (*h ^ ev->ts_ns) * 0x100000001b3ull;
	*h = (*h ^ ev->cpu ^ (uint64_t)ev->type << 32) * 0x100000001b3ull;
	for (size_t i = 0; i < 12; i++)
		*h = (*h ^ p[i]) * 0x100000001b3ull;
	return true;
}

/* The same again is the same; another seed is not. */
static void test_repeats(void **state)
{
	(void)state;
	const struct wakeif_topology *topo = machine(1);
	uint64_t hash[3];

	for (int i = 0; i < 3; i++) {
		struct sim_world w;
		struct sim_opts o = {
			.model = "linux-6.1", .o = { .seed = i == 2 ? 8 : 7 }, .also = hash_bytes, .also_ctx = &hash[i]
		};
		struct wi_sim_result r;
		struct sim_seen seen;
		struct wi_err err = { 0 };

		hash[i] = 1;
		sim_world_begin(&w, topo, WI_KERNEL(6, 1), 5);
		sim_latencies(&w, 20 * US);
		sim_anything(&w, 20, 3000, true);
		struct wi_workload *load = sim_world_end(&w);

		assert_null(sim_run_watched(load, &o, &r, &seen, &err));
		assert_true(seen.nr_switches > 500);
		sim_run_fini(&r, &seen);
		wi_workload_free(load);
	}
	assert_int_equal(hash[0], hash[1]);
	assert_int_not_equal(hash[0], hash[2]);
	wi_topology_free(topo);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_anything),
		cmocka_unit_test(test_other_machine),
		cmocka_unit_test(test_repeats),
	};

	return cmocka_run_group_tests_name("sim: anything", tests, NULL, NULL);
}
