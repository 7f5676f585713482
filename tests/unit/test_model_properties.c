/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What holds of every built-in model on machines that run by lot: the answer is a CPU that is online and allowed, once
 * the engine's fallback has stepped in where the model cannot tell; the same run gives the same answers; where nothing
 * is a tie, CPUs that are numbered differently give the same answers under their other numbers; nothing makes a model
 * crash.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analyzer/base/cpumask.h"
#include "analyzer/replay/verdict.h"
#include "models/params.h"
#include "models/registry.h"
#include "tests/unit/model_world.h"
#include "tests/unit/share.h"
#include "tests/unit/topo_fixture.h"

#define MACHINES(X)                                                                                                    \
	X("pack:1 l3:1 core:1 pu:1") /* a single CPU */                                                                \
	X("pack:1 l3:1 core:4 pu:2")                                                                                   \
	X("node:2 pack:1 l3:1 core:4 pu:2")                                                                            \
	X("node:2 pack:1 l3:2 l2:2 core:2 pu:2")                                                                       \
	X("node:4 pack:1 l3:2 core:3 pu:1")                                                                            \
	X("pack:1 l3:1 core:5 pu:4")

static const char *const machines[] = {
#define X(text) text,
	MACHINES(X)
#undef X
};

/* Parameters that open other paths than the defaults do. */
static const char *const variants[] = { "linux-2.6.29,mc=2,smt=2,variant=v3",
					"linux-2.6.29,wake-idle=far",
					"linux-2.6.29,mc=2,nominate=leader",
					"linux-3.4,balance-wake=2",
					"linux-3.4,balance-wake=3",
					"linux-3.1,powersave=on",
					"linux-3.9,load=runnable+burst",
					"linux-3.9,wake-wide=4.4",
					"linux-4.8,sis=prop,scan-cpu=2us",
					"linux-5.15,sis=prop",
					"linux-6.1,history=observed",
					"linux-6.1,wf-sync=vagin",
					"linux-6.1,wf-sync=sis-current",
					"linux-6.1,wf-sync=sis-short",
					"linux-6.1,sis-cache=rfc",
					"linux-6.1,sis-cache=v1",
					"linux-6.1,sis-node=on",
					"linux-6.1,vcpu-preempted=1ms",
					"linux-6.1,recent-fix=off",
					"linux-6.12,sis-node=on,sched-idle=off",
					"scx-rusty,greedy-numa=on",
					"nest,reserve=0" };

static void for_each_model(void (*check)(const struct wi_model_spec *spec))
{
	size_t nr, nr_variants = sizeof(variants) / sizeof(*variants), at;
	const struct wakeif_model_ops *const *all = wi_models(&nr);

	assert_true(nr > 30);
	for (size_t i = 0; i < nr + nr_variants; i++) {
		const char *text = i < nr ? all[i]->name : variants[i - nr];
		struct wi_model_spec spec;
		struct wi_err err = { 0 };

		if (!wi_model_spec_parse(text, &spec, &at, &err))
			fail_msg("%s: %s", text, err.msg);
		check(&spec);
		wi_model_spec_fini(&spec);
	}
}

static bool legal(const struct wakeif_topology *t, const struct wakeif_wakeup *w, uint32_t cpu)
{
	return cpu < t->nr_cpus && wi_mask_test(t->online, cpu) && wi_mask_test(w->allowed, cpu);
}

/* These kernels test the affinity to the previous CPU where they mean the recently used one, and leave the rest to the
 * fallback. */
static bool recent_cpu_fault(const struct wi_model_spec *spec)
{
	return !strncmp(spec->label, "linux-5.15", 10) || strstr(spec->label, "recent-fix=off");
}

static unsigned by_models, by_fallback;

/*
 * The engine's answer. What a model tells must be legal by itself where the previous CPU is; where it is not, kernels
 * leave it to their fallback, and so may models.
 */
static uint32_t answer(struct observer *o, const struct wi_model_spec *spec, struct wakeif_choice *c)
{
	const struct wakeif_wakeup *w = observer_wakeup(o);
	const struct wakeif_topology *t = observer_view(o)->topology;
	bool told = observer_ask(o, c);

	bool good = told && legal(t, w, c->cpu);

	if (told && !good && legal(t, w, w->prev_cpu) && w->class_ == WAKEIF_SELECT &&
	    !(c->rule == WAKEIF_RULE_RECENT && recent_cpu_fault(spec)))
		fail_msg("%s: CPU %d by rule %u is not allowed (previous %u, waker's %u)", spec->label, (int)c->cpu,
			 c->rule, w->prev_cpu, w->waker_cpu);
	if (c->rule >= WAKEIF_NR_RULES || c->affine >= WAKEIF_NR_AFFINE)
		fail_msg("%s: rule %u, wake_affine %u", spec->label, c->rule, c->affine);
	uint32_t cpu = good ? c->cpu : wi_fallback_cpu(t, w->allowed, w->prev_cpu);

	assert_true(legal(t, w, cpu));
	by_models += good;
	by_fallback += !good;
	return cpu;
}

/* Two of the same model see the same run, in which tasks go where the model says, or elsewhere. */
static void run_twins(const struct wi_model_spec *spec, const struct wakeif_topology *topo,
		      const struct world_opts *opts, unsigned rounds)
{
	struct world *w = world_new(topo, opts, 24);
	struct observer *o[2] = { observer_new(w, spec->ops, spec->values, NULL),
				  observer_new(w, spec->ops, spec->values, NULL) };

	for (unsigned i = 0; i < rounds; i++) {
		struct wakeif_choice a, b;

		world_run(w, o, 2);
		uint32_t cpu = answer(o[0], spec, &a);

		answer(o[1], spec, &b);
		if (memcmp(&a, &b, sizeof(a)))
			fail_msg("%s: %d by rule %u, then %d by rule %u", spec->label, (int)a.cpu, a.rule, (int)b.cpu,
				 b.rule);
		world_place(w, o, 2, cpu);
	}
	observer_free(o[0]);
	observer_free(o[1]);
	world_free(w);
}

static const struct wakeif_topology *topo;
static struct world_opts opts;
static unsigned rounds;

static void twins(const struct wi_model_spec *spec)
{
	run_twins(spec, topo, &opts, rounds);
}

static void legal_and_deterministic(void **state)
{
	(void)state;
	rounds = test_share(400);
	for (size_t i = 0; i < sizeof(machines) / sizeof(*machines); i++) {
		topo = tf_load(machines[i]);
		opts = (struct world_opts){ .seed = i + 1, .classes = true };
		for_each_model(twins);
		opts = (struct world_opts){ .seed = i + 10, .classes = true, .narrow = true, .unknowns = true };
		for_each_model(twins);
		opts = (struct world_opts){ .seed = i + 20, .classes = true, .unknowns = true, .all_unknown = true };
		for_each_model(twins);
		opts = (struct world_opts){ .seed = i + 30, .classes = true, .unknowns = true, .pinned = true };
		for_each_model(twins);
		wi_topology_free(topo);
	}
	assert_true(by_models > by_fallback && by_fallback);
}

/* Every third CPU is offline, among them first siblings; CPU numbers have holes. */
static void offline_cpus(void **state)
{
	static const struct tf_machine machine = { .packages = 2, .cores_per_llc = 6, .threads = 2 };

	(void)state;
	rounds = test_share(400);
	for (int holes = 0; holes < 2; holes++) {
		struct wi_filetree *tree = tf_machine_tree(&machine);

		tf_put(tree, "cpu/online=1,2,4,5,7,8,10,11,13,14,16,17,19,20,22,23\n");
		if (holes) {
			tree = tf_without(tree, "cpu3/");
			tree = tf_without(tree, "cpu12/");
			tf_put(tree, "cpu/present=0-2,4-11,13-23\n");
		}
		topo = tf_build(tree);
		assert_true(!wi_mask_test(topo->online, 3));
		assert_int_equal(topo->nr_cpus, 24);
		for (unsigned seed = 1; seed < 4; seed++) {
			opts = (struct world_opts){
				.seed = seed, .classes = true, .narrow = true, .unknowns = true, .strange = true
			};
			for_each_model(twins);
		}
		wi_topology_free(topo);
	}
}

/* 1,280 CPUs in 8 nodes of 2 LLCs. */
static void many_cpus(void **state)
{
	(void)state;
	topo = tf_load("node:8 pack:1 l3:2 core:40 pu:2");
	assert_int_equal(topo->nr_cpus, 1280);
	rounds = test_share(25);
	opts = (struct world_opts){ .seed = 3, .classes = true, .narrow = true, .unknowns = true };
	for_each_model(twins);
	wi_topology_free(topo);
}

/* ---- other numbers ---- */

/* Shuffles units of nr CPUs each that lie in a row within groups of `group` CPUs. */
static void shuffle(uint32_t *number, uint32_t n, uint32_t unit, uint32_t group, unsigned *seed)
{
	uint32_t *old = malloc(n * sizeof(*old));

	assert_non_null(old);
	for (uint32_t base = 0; base < n; base += group) {
		memcpy(old, number, n * sizeof(*old));
		uint32_t nr = group / unit, order[64];

		assert_true(nr && nr <= 64);
		for (uint32_t i = 0; i < nr; i++) {
			uint32_t j = (uint32_t)rand_r(seed) % (i + 1);

			order[i] = order[j];
			order[j] = i;
		}
		for (uint32_t i = 0; i < nr; i++)
			for (uint32_t k = 0; k < unit; k++)
				number[base + i * unit + k] = old[base + order[i] * unit + k];
	}
	free(old);
}

/* CPU c of the run is number[c]: threads within cores, cores within LLCs, LLCs within nodes, nodes. */
static void renumber(uint32_t *number, const struct wakeif_topology *t, unsigned *seed)
{
	uint32_t n = t->nr_cpus, per[WAKEIF_NR_SCOPES], unit = 1;

	for (uint32_t c = 0; c < n; c++)
		number[c] = c;
	for (int s = 0; s < WAKEIF_NR_SCOPES; s++) {
		per[s] = n / t->nr_groups[s];
		if (per[s] > unit)
			shuffle(number, n, unit, per[s], seed);
		unit = per[s];
	}
}

/*
 * What is left out, because it goes by CPU numbers as such where no two CPUs are alike: random-idle, whose lots are
 * numbers; answers of the nominated CPU (linux-2.6.29), which is CPU 0 until another one is, and then the first of its
 * group; budgets of SIS_PROP, with which a search ends after so many CPUs from the target on (they are set to the whole
 * LLC).
 */
static bool goes_by_number(const struct wi_model_spec *spec, const struct wakeif_choice *c)
{
	return !strcmp(spec->label, "random-idle") || c->rule == WAKEIF_RULE_NOMINATED;
}

static void without_budget(const struct wi_model_spec *spec)
{
	for (uint32_t i = 0; i < spec->ops->nr_params; i++)
		if (!strcmp(spec->ops->params[i].name, "sis-prop-nr"))
			spec->values[i] = 4096;
}

static unsigned asked, moved;

/* Both see the same run, one of them with other numbers. left_out: answers that may differ. */
static void compare_numbers(const struct wi_model_spec *spec, const uint32_t *number,
			    bool (*left_out)(const struct wi_model_spec *spec, const struct wakeif_choice *c))
{
	struct world *w = world_new(topo, &opts, 24);
	struct observer *o[2] = { observer_new(w, spec->ops, spec->values, NULL),
				  observer_new(w, spec->ops, spec->values, number) };

	for (unsigned i = 0; i < rounds; i++) {
		const struct wakeif_wakeup *wakeup = observer_wakeup(o[0]);
		struct wakeif_choice a, b;

		world_run(w, o, 2);
		bool told = observer_ask(o[0], &a);

		assert_int_equal(observer_ask(o[1], &b), told);
		if (told && !left_out(spec, &a) && !left_out(spec, &b)) {
			if (b.cpu != number[a.cpu] || a.rule != b.rule || a.affine != b.affine)
				fail_msg("%s: CPU %u (there %u) by rule %u, but CPU %u by rule %u; previous %u, "
					 "waker's %u",
					 spec->label, a.cpu, number[a.cpu], a.rule, b.cpu, b.rule, wakeup->prev_cpu,
					 wakeup->waker_cpu);
			asked++;
			moved += b.cpu != a.cpu;
		}
		world_place(w, o, 2,
			    told && legal(topo, wakeup, a.cpu)
				    ? a.cpu
				    : wi_fallback_cpu(topo, wakeup->allowed, wakeup->prev_cpu));
	}
	observer_free(o[0]);
	observer_free(o[1]);
	world_free(w);
}

static void renumbered(const struct wi_model_spec *spec)
{
	uint32_t *number = calloc(topo->nr_cpus, sizeof(*number));
	unsigned seed = (unsigned)opts.seed;

	assert_non_null(number);
	without_budget(spec);
	renumber(number, topo, &seed);
	compare_numbers(spec, number, goes_by_number);
	free(number);
}

static void numbers_do_not_matter(void **state)
{
	(void)state;
	rounds = test_share(300);
	for (size_t i = 1; i < sizeof(machines) / sizeof(*machines); i++) {
		topo = tf_load(machines[i]);
		for (unsigned seed = 1; seed < 4; seed++) {
			opts = (struct world_opts){ .seed = seed, .no_ties = true };
			for_each_model(renumbered);
		}
		wi_topology_free(topo);
	}
	assert_true(moved > asked / 2); /* the other numbers are other ones */
}

/*
 * One LLC, its cores turned in a ring: kernels and policies that search from the target or the previous CPU on,
 * wrapping, turn with it, whatever is idle. Left out besides: those that take the lowest number of equals (linux-2.6.29
 * with wake-idle, linux-3.1, pack, sched_ext's), and nest, whose reserve is
 * searched from a fixed core on.
 */
static bool takes_the_lowest(const struct wi_model_spec *spec, const struct wakeif_choice *c)
{
	if (!strcmp(spec->label, "pack") || !strncmp(spec->label, "linux-3.1", 10) ||
	    !strncmp(spec->label, "linux-3.1,", 10) || strstr(spec->label, "wake-idle=") ||
	    !strncmp(spec->label, "scx-", 4) || !strncmp(spec->label, "nest", 4))
		return true;
	return goes_by_number(spec, c);
}

static void turned(const struct wi_model_spec *spec)
{
	uint32_t n = topo->nr_cpus, *number = calloc(n, sizeof(*number));

	assert_non_null(number);
	for (uint32_t c = 0; c < n; c++)
		number[c] = (c + topo->smt * ((uint32_t)opts.seed % (n / topo->smt - 1) + 1)) % n;
	compare_numbers(spec, number, takes_the_lowest);
	free(number);
}

static void a_ring_of_cores(void **state)
{
	static const char *const rings[] = { "pack:1 l3:1 core:4 pu:2", "pack:1 l3:1 core:5 pu:4",
					     "pack:1 l3:1 core:7 pu:1" };

	(void)state;
	rounds = test_share(300);
	asked = moved = 0;
	for (size_t i = 0; i < sizeof(rings) / sizeof(*rings); i++) {
		topo = tf_load(rings[i]);
		for (unsigned seed = 1; seed < 4; seed++) {
			opts = (struct world_opts){ .seed = seed, .unknowns = true, .narrow = seed > 1 };
			for_each_model(turned);
		}
		wi_topology_free(topo);
	}
	assert_true(moved == asked && asked);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(legal_and_deterministic),
		cmocka_unit_test(offline_cpus),
		cmocka_unit_test(many_cpus),
		cmocka_unit_test(numbers_do_not_matter),
		cmocka_unit_test(a_ring_of_cores),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
