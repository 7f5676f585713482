/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which answers can be reached when some of the inputs are in doubt: runs the decision again and again, each run
 * answering the doubtful questions by a script; the next script differs in the last answer that still has another side.
 */
#include "models/fair_priv.h"

#define MAX_QUESTIONS 64

struct script {
	const struct wi_fair_inputs *in;
	const struct wi_fair_doubt *doubt;
	struct question {
		uint32_t cpu;	       /* WAKEIF_CPU_NONE: the load compare; its LLC + NR_CPUS for a budget */
		uint8_t answer, sides; /* of 0 .. sides-1 */
		bool budget;
	} q[MAX_QUESTIONS];
	uint32_t nr, asked;
	bool overflow;
};

/* The answer to the next doubtful question; a new one is answered as the inputs say, `usual`, first. */
static uint32_t ask_script(struct script *s, uint32_t cpu, bool budget, uint32_t usual, uint32_t sides)
{
	if (!s->doubt->each_test || budget)
		for (uint32_t i = 0; i < s->asked; i++)
			if (s->q[i].cpu == cpu && s->q[i].budget == budget && cpu != WAKEIF_CPU_NONE)
				return (s->q[i].answer + usual) % sides;
	if (s->asked < s->nr)
		return (s->q[s->asked++].answer + usual) % sides;
	if (s->nr == MAX_QUESTIONS) {
		s->overflow = true;
		return usual;
	}
	s->q[s->nr++] = (struct question){ .cpu = cpu, .answer = 0, .sides = (uint8_t)sides, .budget = budget };
	s->asked++;
	return usual;
}

static bool next_script(struct script *s)
{
	s->asked = 0;
	while (s->nr) {
		struct question *q = &s->q[s->nr - 1];

		if (++q->answer < q->sides)
			return true;
		s->nr--;
	}
	return false;
}

static bool script_idle(void *ctx, uint32_t cpu, enum wi_fair_site site)
{
	struct script *s = ctx;
	const struct wi_fair_ask *ask = s->in->ask;
	bool usual = ask->idle ? ask->idle(ask->ctx, cpu, site) : wi_mask_test(s->in->idle, cpu);

	if (!s->doubt->uncertain || !wi_mask_test(s->doubt->uncertain, cpu))
		return usual;
	return ask_script(s, cpu, false, usual, 2);
}

static bool script_weight(void *ctx, int64_t this_eff, int64_t prev_eff)
{
	struct script *s = ctx;
	const struct wi_fair_ask *ask = s->in->ask;
	bool usual = ask->weight	       ? ask->weight(ask->ctx, this_eff, prev_eff)
		     : s->in->knobs->weight_le ? this_eff <= prev_eff
					       : this_eff < prev_eff;
	double a = (double)this_eff, b = (double)prev_eff, most = a > b ? a : b, apart = a > b ? a - b : b - a;

	if (!s->doubt->load_percent || apart * 100 > most * s->doubt->load_percent)
		return usual;
	return ask_script(s, WAKEIF_CPU_NONE, false, usual, 2);
}

static uint32_t script_budget(void *ctx, uint32_t cpu, uint32_t *min, uint32_t *max)
{
	struct script *s = ctx;
	const struct wi_fair_ask *ask = s->in->ask;
	uint32_t usual = ask->scan_budget(ask->ctx, cpu, min, max), steps = s->doubt->budget_steps, sides;

	*min = *max = usual;
	if (!steps || steps > 100)
		return usual;
	sides = 2 * steps + 1;
	uint32_t a = ask_script(s, s->in->machine->llc_id[cpu], true, 0,
				sides); /* 0: usual, then 1 less, 1 more, 2 less ... */
	uint32_t by = (a + 1) / 2;

	if (a % 2)
		return usual > by ? usual - by : 0;
	return usual + by;
}

static uint64_t pass_load(void *ctx, uint32_t cpu, bool without)
{
	const struct wi_fair_ask *ask = ((struct script *)ctx)->in->ask;

	return ask->cpu_load(ask->ctx, cpu, without);
}

static uint64_t pass_util(void *ctx, uint32_t cpu, bool without)
{
	const struct wi_fair_ask *ask = ((struct script *)ctx)->in->ask;

	return ask->cpu_util(ask->ctx, cpu, without);
}

static uint64_t pass_runnable(void *ctx, uint32_t cpu, bool without)
{
	const struct wi_fair_ask *ask = ((struct script *)ctx)->in->ask;

	return ask->cpu_runnable(ask->ctx, cpu, without);
}

static uint64_t pass_task_load(void *ctx, uint32_t task)
{
	const struct wi_fair_ask *ask = ((struct script *)ctx)->in->ask;

	return ask->task_load(ask->ctx, task);
}

static uint64_t pass_task_util(void *ctx, uint32_t task)
{
	const struct wi_fair_ask *ask = ((struct script *)ctx)->in->ask;

	return ask->task_util(ask->ctx, task);
}

static uint32_t pass_prop(void *ctx, uint32_t cpu)
{
	const struct wi_fair_ask *ask = ((struct script *)ctx)->in->ask;

	return ask->prop_budget(ask->ctx, cpu);
}

static uint32_t pass_latency(void *ctx, uint32_t cpu)
{
	const struct wi_fair_ask *ask = ((struct script *)ctx)->in->ask;

	return ask->exit_latency(ask->ctx, cpu);
}

static bool pass_cores(void *ctx, uint32_t cpu)
{
	const struct wi_fair_ask *ask = ((struct script *)ctx)->in->ask;

	return ask->idle_cores(ask->ctx, cpu);
}

static uint64_t pass_stamp(void *ctx, uint32_t cpu)
{
	const struct wi_fair_ask *ask = ((struct script *)ctx)->in->ask;

	return ask->idle_stamp(ask->ctx, cpu);
}

struct wi_fair_reach wi_fair_reachable(const struct wi_fair_inputs *in, const struct wi_fair_doubt *doubt,
				       uint32_t other)
{
	struct script s = { .in = in, .doubt = doubt };
	const struct wi_fair_ask *own = in->ask;
	struct wi_fair_ask ask = { .ctx = &s,
				   .idle = script_idle,
				   .weight = script_weight,
				   .cpu_load = pass_load,
				   .cpu_util = pass_util,
				   .cpu_runnable = pass_runnable,
				   .task_load = pass_task_load,
				   .task_util = pass_task_util,
				   .scan_budget = script_budget,
				   .prop_budget = own->prop_budget ? pass_prop : NULL,
				   .exit_latency = own->exit_latency ? pass_latency : NULL,
				   .idle_cores = own->idle_cores ? pass_cores : NULL,
				   .idle_stamp = own->idle_stamp ? pass_stamp : NULL };
	struct wi_fair_inputs mine = *in;
	struct wi_fair_reach reach = { 0 };
	uint32_t first = WAKEIF_CPU_NONE, max = doubt->max_runs ? doubt->max_runs : 256;
	bool looking = other < in->machine->nr_cpus;

	mine.ask = &ask;
	mine.trace = NULL;
	mine.cleared = NULL;
	do {
		uint32_t cpu = wi_fair_select(&mine).cpu;

		if (reach.nr_runs++ == 0)
			first = cpu;
		reach.ambiguous |= cpu != first;
		reach.other_found |= cpu == other;
		if (reach.ambiguous && (!looking || reach.other_found))
			return reach;
		if (reach.nr_runs == max || s.overflow) {
			reach.gave_up = reach.ambiguous = true;
			return reach;
		}
	} while (next_script(&s));
	return reach;
}
