/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Saved workloads: they read back as they were written, and damage is refused or harmless. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "analyzer/base/kernel.h"
#include "analyzer/sim/saved.h"
#include "analyzer/topology/topology.h"
#include "sim_world.h"

struct made {
	const struct wakeif_topology *topo;
	struct wi_workload *w;
	struct wi_tally_result tally;
};

static void make(struct made *m, const char *machine, uint32_t nr_tasks, uint32_t nr_ops)
{
	struct wi_err err = { 0 };
	struct sim_world world;

	m->topo = wi_topology_load(machine, &err);
	assert_non_null(m->topo);
	sim_world_begin(&world, m->topo, WI_KERNEL(6, 1), 7);
	sim_anything(&world, nr_tasks, nr_ops, true);
	sim_latencies(&world, 20 * US);
	m->w = sim_world_end(&world);
	m->w->facts.wakes = 12345;

	const struct wi_tally_opts to = { .topology = m->topo };
	struct wi_tally *t = wi_tally_new(&to, &err);

	assert_non_null(t);
	for (uint32_t c = 0; c < m->topo->nr_cpus; c++)
		wi_tally_cpu(t, 0, c, c % 2, false);
	for (uint64_t i = 1; i < 200; i++) {
		uint32_t waking = wi_tally_waking(t, i * 1000, WAKEIF_SELECT);

		wi_tally_placed(t, waking, 0, i % 3 == 0, true);
		wi_tally_queued(t, i * 1000 + 10, waking);
		wi_tally_ran(t, i * 1000 + 7 * i % 900, waking);
	}
	assert_true(wi_tally_finish(t, 300000, &m->tally, &err));
	wi_tally_free(t);
}

static void unmake(struct made *m)
{
	wi_workload_free(m->w);
	wi_tally_result_fini(&m->tally);
	wi_topology_free(m->topo);
}

/* What is read is what was written: it is written as the same bytes, and runs the same. */
static void same(const struct made *m, const struct wi_saved *s)
{
	struct wi_bytes_out a = { 0 }, b = { 0 };

	wi_saved_put(m->w, &m->tally, &a);
	wi_saved_put(s->workload, &s->recorded, &b);
	assert_int_equal(a.nr, b.nr);
	assert_memory_equal(a.at, b.at, a.nr);
	free(a.at);
	free(b.at);
	assert_int_equal(s->workload->topology->smt, m->topo->smt);
	assert_int_equal(s->workload->facts.wakes, 12345);
	assert_int_equal(s->workload->nr_tasks, m->w->nr_tasks);
	for (uint32_t i = 0; i < m->w->nr_tasks; i++) {
		assert_int_equal(s->workload->task[i].work_ns, m->w->task[i].work_ns);
		assert_int_equal(s->workload->task[i].nr_blocks, m->w->task[i].nr_blocks);
		assert_string_equal(s->workload->task[i].comm, m->w->task[i].comm);
	}
	assert_int_equal(s->recorded.latency.count, m->tally.latency.count);
	assert_true(wi_tally_stay(&s->recorded) == wi_tally_stay(&m->tally));
}

static void test_round_trip(void **state)
{
	static const char *const machines[] = { "pack:1 l3:1 core:1 pu:1", "pack:2 l3:2 core:4 pu:2",
						"pack:2 numa:2 l3:1 core:9 pu:4" };

	(void)state;
	for (size_t i = 0; i < sizeof(machines) / sizeof(*machines); i++) {
		char path[] = "/tmp/wakeif-saved-XXXXXX";
		int fd = mkstemp(path);
		struct wi_err err = { 0 };
		struct wi_saved s;
		struct made m;

		assert_true(fd >= 0);
		close(fd);
		make(&m, machines[i], 12, 40);
		assert_false(wi_saved_is(path));
		assert_true(wi_saved_write(m.w, &m.tally, path, &err));
		assert_true(wi_saved_is(path));
		if (!wi_saved_read(&s, path, &err))
			fail_msg("%s", err.msg);
		same(&m, &s);
		wi_saved_fini(&s);
		unlink(path);
		unmake(&m);
	}
}

/* Every byte of the file: the check sum, the sizes or the frame tell. Every length, too. */
static void test_damaged_files(void **state)
{
	struct wi_bytes_out o = { 0 };
	struct wi_err none = { 0 };
	struct made m;

	(void)state;
	make(&m, "pack:1 l3:1 core:2 pu:2", 3, 10);
	assert_true(wi_saved_pack(m.w, &m.tally, &o, &none));
	for (size_t i = 0; i < o.nr; i++) {
		struct wi_err err = { 0 };
		struct wi_saved s;

		o.at[i] ^= 1u << i % 8;
		if (wi_saved_unpack(&s, o.at, o.nr, "x", &err)) /* a bit of the frame's header that means nothing */
			same(&m, &s);
		else
			assert_int_equal(err.code, WI_EREFUSED);
		wi_saved_fini(&s);
		o.at[i] ^= 1u << i % 8;
		memset(&err, 0, sizeof(err));
		assert_false(wi_saved_unpack(&s, o.at, i, "x", &err));
		assert_int_equal(err.code, WI_EREFUSED);
		assert_non_null(strstr(err.msg, "x@0x"));
		wi_saved_fini(&s);
	}
	free(o.at);
	unmake(&m);
}

/* And where the check sum is right: refused, or a workload that keeps its promises. */
static void test_damaged_contents(void **state)
{
	size_t refused = 0, taken = 0;
	struct wi_bytes_out o = { 0 };
	struct made m;

	(void)state;
	make(&m, "pack:1 l3:1 core:2 pu:2", 4, 8);
	wi_saved_put(m.w, &m.tally, &o);
	assert_false(o.failed);
	for (size_t i = 0; i < o.nr; i++) {
		static const uint8_t changes[] = { 1, 0x80, 0xff };
		uint8_t change = changes[i % 3];
		struct wi_err err = { 0 };
		struct wi_saved s;

		o.at[i] ^= change;
		if (wi_saved_contents(&s, o.at, o.nr, "x", &err)) {
			struct wi_bytes_out again = { 0 };

			taken++;
			assert_true(wi_workload_check(s.workload, &err));
			wi_saved_put(s.workload, &s.recorded, &again);
			assert_int_equal(again.nr, o.nr);
			assert_memory_equal(again.at, o.at, o.nr);
			free(again.at);
		} else {
			refused++;
			assert_int_equal(err.code, WI_EREFUSED);
		}
		wi_saved_fini(&s);
		o.at[i] ^= change;
		if (i % 5)
			continue;
		assert_false(wi_saved_contents(&s, o.at, i, "x", &(struct wi_err){ 0 })); /* cut */
		wi_saved_fini(&s);
	}
	assert_true(refused > 200 && taken > 200);
	free(o.at);
	unmake(&m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_round_trip),
		cmocka_unit_test(test_damaged_files),
		cmocka_unit_test(test_damaged_contents),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
