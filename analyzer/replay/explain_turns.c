/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analyzer/replay/explain_turns.h"

#include <stdlib.h>
#include <string.h>

#include "analyzer/base/cpumask.h"

struct trying {
	const struct wi_fair_inputs *in;
	uint32_t kernel_cpu;
	struct wi_turn *turns;
	uint32_t nr;
};

/* Stands before the real answers, with a budget of its own. */
struct proxy {
	const struct wi_fair_ask *real;
	uint32_t budget;
};

static uint64_t cpu_load(void *ctx, uint32_t cpu, bool without)
{
	const struct wi_fair_ask *a = ((const struct proxy *)ctx)->real;

	return a->cpu_load(a->ctx, cpu, without);
}

static uint64_t cpu_util(void *ctx, uint32_t cpu, bool without)
{
	const struct wi_fair_ask *a = ((const struct proxy *)ctx)->real;

	return a->cpu_util(a->ctx, cpu, without);
}

static uint64_t cpu_runnable(void *ctx, uint32_t cpu, bool without)
{
	const struct wi_fair_ask *a = ((const struct proxy *)ctx)->real;

	return a->cpu_runnable(a->ctx, cpu, without);
}

static uint64_t task_load(void *ctx, uint32_t task)
{
	const struct wi_fair_ask *a = ((const struct proxy *)ctx)->real;

	return a->task_load(a->ctx, task);
}

static uint64_t task_util(void *ctx, uint32_t task)
{
	const struct wi_fair_ask *a = ((const struct proxy *)ctx)->real;

	return a->task_util(a->ctx, task);
}

static uint32_t own_budget(void *ctx, uint32_t cpu, uint32_t *min, uint32_t *max)
{
	(void)cpu;
	return *min = *max = ((const struct proxy *)ctx)->budget;
}

static bool waker_lighter(void *ctx, int64_t this_eff, int64_t prev_eff)
{
	(void)ctx;
	(void)this_eff;
	(void)prev_eff;
	return true;
}

static bool waker_heavier(void *ctx, int64_t this_eff, int64_t prev_eff)
{
	(void)ctx;
	(void)this_eff;
	(void)prev_eff;
	return false;
}

static struct wi_fair_inputs same(const struct trying *t)
{
	struct wi_fair_inputs in = *t->in;

	in.trace = NULL;
	in.cleared = NULL;
	return in;
}

static bool gives(const struct trying *t, const struct wi_fair_inputs *in)
{
	return wi_fair_select(in).cpu == t->kernel_cpu;
}

static void add(struct trying *t, enum wi_turn_kind kind, uint32_t cpu, uint32_t value)
{
	t->turns[t->nr++] = (struct wi_turn){ kind, cpu, value };
}

static void try_flags(struct trying *t, const struct wi_fair_result *was)
{
	const struct wi_fair_machine *m = t->in->machine;
	uint32_t factor = m->topology->llc_size[t->in->waker_cpu];
	struct wi_fair_inputs in = same(t);
	struct wi_fair_ask ask = *t->in->ask;

	in.flags ^= WAKEIF_WF_SYNC;
	if (was->sync_looked_at && gives(t, &in))
		add(t, WI_TURN_SYNC, WAKEIF_CPU_NONE, !!(in.flags & WAKEIF_WF_SYNC));
	in = same(t);
	in.wakee_flips = was->wide ? 0 : factor;
	in.waker_flips = was->wide ? 0 : factor * factor;
	if (gives(t, &in))
		add(t, WI_TURN_WIDE, WAKEIF_CPU_NONE, !was->wide);
	in = same(t);
	in.ask = &ask;
	ask.weight = was->affine == WAKEIF_AFFINE_LOAD_WAKER ? waker_heavier : waker_lighter;
	if (was->weighed && gives(t, &in))
		add(t, WI_TURN_LOAD, WAKEIF_CPU_NONE, 0);
	in = same(t);
	if (was->asked_cores) {
		bool of_waker = was->target == in.waker_cpu, now = of_waker ? in.waker_idle_cores : in.prev_idle_cores;

		in.waker_idle_cores = in.prev_idle_cores = !now;
		if (gives(t, &in))
			add(t, WI_TURN_CORES, WAKEIF_CPU_NONE, !now);
	}
}

/* The nearest other nr_idle_scan that does it. */
static void try_budget(struct trying *t, const struct wi_fair_result *was)
{
	const struct wi_fair_ask *real = t->in->ask;
	struct proxy proxy = { real, 0 };
	struct wi_fair_ask ask = *real;
	struct wi_fair_inputs in = same(t);
	uint32_t min, max, now, most, best = UINT32_MAX, best_apart = UINT32_MAX;

	if (t->in->knobs->budget != WI_FAIR_BUDGET_UTIL || was->target == WAKEIF_CPU_NONE || real->idle)
		return;
	now = real->scan_budget(real->ctx, was->target, &min, &max);
	most = t->in->machine->topology->llc_size[was->target];
	ask = (struct wi_fair_ask){ .ctx = &proxy,
				    .cpu_load = cpu_load,
				    .cpu_util = cpu_util,
				    .cpu_runnable = cpu_runnable,
				    .task_load = task_load,
				    .task_util = task_util,
				    .scan_budget = own_budget };
	in.ask = &ask;
	for (proxy.budget = 0; proxy.budget <= most; proxy.budget++) {
		uint32_t apart = proxy.budget > now ? proxy.budget - now : now - proxy.budget;

		if (apart && apart < best_apart && gives(t, &in)) {
			best = proxy.budget;
			best_apart = apart;
		}
	}
	if (best != UINT32_MAX)
		add(t, WI_TURN_BUDGET, WAKEIF_CPU_NONE, best);
}

static void try_cpus(struct trying *t, wakeif_word *idle)
{
	const struct wakeif_topology *topo = t->in->machine->topology;
	struct wi_fair_inputs in = same(t);

	in.recent_cpu = t->kernel_cpu;
	if (t->in->recent_cpu != t->kernel_cpu && gives(t, &in))
		add(t, WI_TURN_RECENT, t->kernel_cpu, 0);
	in = same(t);
	memcpy(idle, t->in->idle, topo->nr_words * sizeof(*idle));
	in.idle = idle;
	wi_mask_for_each (c, topo->online, topo->nr_words) {
		bool was = wi_mask_test(idle, c);

		idle[c >> 6] ^= 1ull << (c & 63);
		if (gives(t, &in))
			add(t, was ? WI_TURN_BUSY : WI_TURN_IDLE, c, 0);
		idle[c >> 6] ^= 1ull << (c & 63);
	}
}

bool wi_explain_turns(const struct wi_fair_inputs *in, uint32_t kernel_cpu, struct wi_turn **turns, uint32_t *nr)
{
	const struct wakeif_topology *topo = in->machine->topology;
	struct trying t = { .in = in, .kernel_cpu = kernel_cpu };
	wakeif_word *idle = calloc(topo->nr_words, sizeof(*idle));
	struct wi_fair_inputs again = same(&t);
	struct wi_fair_result was;

	t.turns = calloc((size_t)topo->nr_cpus + WI_NR_TURNS, sizeof(*t.turns));
	if (!idle || !t.turns) {
		free(idle);
		free(t.turns);
		return false;
	}
	was = wi_fair_select(&again);
	try_flags(&t, &was);
	try_budget(&t, &was);
	try_cpus(&t, idle);
	free(idle);
	*turns = t.turns;
	*nr = t.nr;
	return true;
}
