/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Models that take over answers from one another give the answers that each gives alone: a herd of them is shown runs
 * by lot, every one in two copies, one of them paired with those before it. What they may be asked later is the same.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "models/fair_state_priv.h"
#include "models/linux6.h"
#include "models/params.h"
#include "tests/unit/model_world.h"
#include "tests/unit/share.h"
#include "tests/unit/topo_fixture.h"

static const char *const herd[] = { "linux-6.1,history=observed",
				    "linux-6.6",
				    "linux-6.12",
				    "linux-6.18,history=observed",
				    "linux-6.1,wf-sync=vagin",
				    "linux-6.6,wf-sync=vagin,history=observed",
				    "linux-6.1,sis-util=off",
				    "linux-6.1,sis-util=off,history=observed",
				    "linux-6.1,nr-idle-scan=0",
				    "linux-6.1,nr-idle-scan=3,history=observed",
				    "linux-5.15",
				    "linux-5.15,history=observed",
				    "linux-5.15,sis=off",
				    "linux-5.15,sis=prop",
				    "linux-6.1,recent-fix=off",
				    "linux-6.1,wf-sync=sis-current",
				    "linux-6.1,wf-sync=sis-current,history=observed,short-run=2ms",
				    "linux-6.1,wf-sync=sis-short,short-run=2ms",
				    "linux-6.1,sched-idle=off",
				    "linux-6.1,wa-weight=off",
				    "linux-6.1,sis-node=on",
				    "linux-6.1,sis-cache=v1",
				    "linux-5.10",
				    "linux-6.1,vcpu-preempted=1ms",
				    "linux-6.6,vcpu-preempted=1ms" };

#define NR (sizeof(herd) / sizeof(*herd))

static struct model {
	struct wi_model_spec spec;
	void *state[2]; /* paired, alone */
	bool paired;
} model[NR];

static struct wakeif_host host;
static struct wi_idle_cores cores;
static unsigned taken, rebudgeted, decided;

static uint64_t cores_idled(void *ctx, uint32_t cpu)
{
	(void)ctx;
	return wi_idle_cores_times(&cores, cpu);
}

static struct wi_fair_state *state_of(const struct model *m, int copy)
{
	struct wi_fair_state *s = wi_linux6_state(m->spec.ops, m->state[copy]);

	return s ? s : wi_linux5_state(m->spec.ops, m->state[copy]);
}

static void *herd_init(const struct wakeif_host *lent, const int64_t *values)
{
	(void)values;
	host = *lent;
	host.cores_idled = cores_idled;
	assert_true(wi_idle_cores_init(&cores, host.topology));
	for (size_t i = 0; i < NR; i++) {
		struct wi_err err = { 0 };
		size_t at;

		if (!wi_model_spec_parse(herd[i], &model[i].spec, &at, &err))
			fail_msg("%s: %s", herd[i], err.msg);
		for (int copy = 0; copy < 2; copy++)
			model[i].state[copy] = model[i].spec.ops->init(&host, model[i].spec.values);
		model[i].paired = false;
		for (size_t k = 0; k < i; k++)
			model[i].paired |= wi_fair_state_pair(state_of(&model[i], 0), state_of(&model[k], 0));
	}
	return model;
}

static void herd_fini(void *state)
{
	(void)state;
	for (size_t i = 0; i < NR; i++) {
		for (int copy = 0; copy < 2; copy++)
			model[i].spec.ops->fini(model[i].state[copy]);
		wi_model_spec_fini(&model[i].spec);
	}
	wi_idle_cores_fini(&cores);
}

/* Both copies can be asked the same afterwards. */
static void same_inputs(const struct model *m)
{
	const struct wi_fair_inputs *a = wi_fair_state_inputs(state_of(m, 0)),
				    *b = wi_fair_state_inputs(state_of(m, 1));
	struct wi_fair_result r = wi_fair_select(a), s = wi_fair_select(b);

	assert_int_equal(a->waker_idle_cores, b->waker_idle_cores);
	assert_int_equal(a->prev_idle_cores, b->prev_idle_cores);
	assert_int_equal(a->recent_cpu, b->recent_cpu);
	assert_int_equal(a->waker_flips, b->waker_flips);
	if (r.cpu != s.cpu || r.examined != s.examined)
		fail_msg("%s: %d by rule %u after %u looks, alone %d by rule %u after %u", m->spec.label, (int)r.cpu,
			 r.rule, r.examined, (int)s.cpu, s.rule, s.examined);
	assert_int_equal(wi_fair_state_result(state_of(m, 0))->cpu, wi_fair_state_result(state_of(m, 1))->cpu);
}

static bool herd_select(void *state, const struct wakeif_wakeup *w, const struct wakeif_view *v,
			struct wakeif_choice *choice)
{
	bool told = false;

	(void)state;
	wi_idle_cores_look(&cores, v->idle);
	for (size_t i = 0; i < NR; i++) {
		struct model *m = &model[i];
		struct wakeif_choice c[2];
		bool ok[2];

		for (int copy = 0; copy < 2; copy++) {
			c[copy] = *choice;
			ok[copy] = m->spec.ops->select_cpu(m->state[copy], w, v, &c[copy]);
		}
		if (ok[0] != ok[1] || memcmp(&c[0], &c[1], sizeof(c[0])))
			fail_msg("%s: %d by rule %u (%u looks, flags %x, sync %d), alone %d by rule %u (%u, %x, %d)",
				 herd[i], (int)c[0].cpu, c[0].rule, c[0].examined, c[0].flags, (int)c[0].other_sync_cpu,
				 (int)c[1].cpu, c[1].rule, c[1].examined, c[1].flags, (int)c[1].other_sync_cpu);
		decided += ok[0] && m->paired;
		taken += ok[0] && state_of(m, 0)->taken;
		rebudgeted += ok[0] && state_of(m, 0)->taken && state_of(m, 0)->rebudgeted;
		assert_true(m->paired || !state_of(m, 0)->taken);
		if (ok[0] && state_of(m, 0)->taken)
			same_inputs(m);
		if (!i) {
			*choice = c[0];
			told = ok[0];
		}
	}
	return told;
}

static void herd_observe(void *state, const struct wakeif_happening *h)
{
	(void)state;
	wi_idle_cores_happened(&cores, h);
	for (size_t i = 0; i < NR; i++)
		for (int copy = 0; copy < 2; copy++)
			model[i].spec.ops->observe(model[i].state[copy], h);
}

static const struct wakeif_model_ops herd_ops = { .abi = WAKEIF_ABI,
						  .size = sizeof(herd_ops),
						  .name = "herd",
						  .init = herd_init,
						  .fini = herd_fini,
						  .select_cpu = herd_select,
						  .observe = herd_observe };

/* Tasks go where the first model says, or anywhere: then those that learn from it have something to learn. */
static void run(const struct wakeif_topology *topo, const struct world_opts *opts)
{
	struct world *w = world_new(topo, opts, 24);
	struct observer *o = observer_new(w, &herd_ops, NULL, NULL);

	for (unsigned i = 0; i < test_share(1500); i++) {
		struct wakeif_choice c = { .size = sizeof(c), .cpu = WAKEIF_CPU_NONE };
		uint32_t cpu;

		world_run(w, &o, 1);
		cpu = observer_ask(o, &c) && c.cpu < topo->nr_cpus && i % 4 ? c.cpu : observer_wakeup(o)->prev_cpu;
		world_place(w, &o, 1, cpu);
	}
	observer_free(o);
	world_free(w);
}

static void answers_are_the_same(void **state)
{
	static const char *const machines[] = { "pack:1 l3:1 core:4 pu:2", "node:2 pack:1 l3:1 core:4 pu:2",
						"node:2 pack:1 l3:2 l2:2 core:2 pu:2", "pack:1 l3:1 core:8 pu:1" };

	(void)state;
	for (size_t i = 0; i < sizeof(machines) / sizeof(*machines); i++) {
		const struct wakeif_topology *topo = tf_load(machines[i]);
		struct world_opts opts = { .seed = i + 1, .classes = true };

		run(topo, &opts);
		opts.narrow = opts.unknowns = true;
		run(topo, &opts);
		wi_topology_free(topo);
	}
	print_message("%u decisions, %u answers taken over, %u of them with other budgets\n", decided, taken,
		      rebudgeted);
	assert_true(taken > decided / 3 && rebudgeted > taken / 20);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(answers_are_the_same),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
