/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Hindsight: the CPU that, as the trace went on to show, would have let the wakee run first (oracle-lat) or finish first
 * (oracle-smt). A bound on what any policy could gain, not a policy: what the other choice would have changed is left out.
 *
 * Here is only what can be said at once: an idle CPU lets the wakee run now, an idle core lets it also run undisturbed. Where
 * there is none select_cpu says so, and the replay answers when it knows (analyzer/replay/oracle.h).
 */
#include <stdlib.h>

#include "models/builtin.h"
#include "models/cpuset.h"
#include "models/oracle.h"

struct oracle {
	const struct wakeif_topology *topo;
	uint32_t words, speed_percent;
	bool whole_core;
	wakeif_word *cand;
};

static void oracle_fini(void *model)
{
	struct oracle *o = model;

	free(o->cand);
	free(o);
}

static void *oracle_new(const struct wakeif_host *host, bool whole_core, uint32_t speed_percent)
{
	struct oracle *o = calloc(1, sizeof(*o));

	if (o)
		o->cand = calloc(host->topology->nr_words, sizeof(*o->cand));
	if (!o || !o->cand) {
		free(o);
		host->say(host->ctx, "out of memory");
		return NULL;
	}
	o->topo = host->topology;
	o->words = o->topo->nr_words;
	o->whole_core = whole_core;
	o->speed_percent = speed_percent;
	return o;
}

static void *lat_init(const struct wakeif_host *host, const int64_t *values)
{
	(void)values;
	return oracle_new(host, false, 100);
}

static void *smt_init(const struct wakeif_host *host, const int64_t *values)
{
	return oracle_new(host, true, (uint32_t)values[0]);
}

/* Of CPUs that are equally good: prev_cpu, then its LLC, then an idle core, then the first from prev_cpu on. */
static uint32_t rank(const struct oracle *o, const struct wakeif_wakeup *w, const struct wakeif_view *v, uint32_t cpu)
{
	uint32_t prev = w->prev_cpu;
	bool shares = prev < o->topo->nr_cpus && o->topo->group[WAKEIF_LLC][cpu] == o->topo->group[WAKEIF_LLC][prev];

	return cpu == prev ? 0 : (shares ? 1 : 3) + !wi_core_is_idle(v, cpu);
}

static bool oracle_select(void *model, const struct wakeif_wakeup *w, const struct wakeif_view *v, struct wakeif_choice *choice)
{
	struct oracle *o = model;
	bool named = w->allowed_source == WAKEIF_ALLOWED_RECORDED;
	uint32_t best_rank = UINT32_MAX, first, c;

	for (uint32_t i = 0; i < o->words; i++)
		o->cand[i] = w->allowed[i] & o->topo->online[i] & (named ? ~(wakeif_word)0 : ~o->topo->isolated[i]);
	first = c = wi_mask_first_from(o->cand, v->idle, o->words, w->prev_cpu);
	while (c != WAKEIF_CPU_NONE) {
		uint32_t r = rank(o, w, v, c);

		if (r < best_rank && (!o->whole_core || wi_core_is_idle(v, c))) {
			best_rank = r;
			choice->cpu = c;
		}
		c = wi_mask_first_from(o->cand, v->idle, o->words, c + 1);
		if (c == first)
			break;
	}
	choice->rule = WAKEIF_RULE_HINDSIGHT;
	return choice->cpu != WAKEIF_CPU_NONE;
}

uint32_t wi_oracle_speed_percent(const struct wakeif_model_ops *ops, const void *state)
{
	return ops->select_cpu == oracle_select ? ((const struct oracle *)state)->speed_percent : 0;
}

static const struct wakeif_param smt_params[] = {
	{ "speed", WAKEIF_PARAM_INT, "62", 1, 100, NULL, "speed of a thread beside a busy sibling, percent of its speed alone" },
};

#define ORACLE(id, model_name, text, init_fn, table, nr)                                                               \
	const struct wakeif_model_ops wi_model_##id = { .abi = WAKEIF_ABI,                                             \
							.size = sizeof(struct wakeif_model_ops),                       \
							.name = model_name,                                            \
							.summary = text,                                               \
							.source = "hindsight: a bound, not a policy",                  \
							.confidence = "exact for the recorded run; what another choice would have changed is left out", \
							.needs = WAKEIF_NEED_FUTURE | WAKEIF_NEED_TOPOLOGY,           \
							.nr_params = nr,                                               \
							.params = table,                                               \
							.init = init_fn,                                               \
							.fini = oracle_fini,                                           \
							.select_cpu = oracle_select }

ORACLE(oracle_lat, "oracle-lat", "hindsight: where the wakee would have run first", lat_init, NULL, 0);
ORACLE(oracle_smt, "oracle-smt", "hindsight: where it would have been done first, busy siblings counted", smt_init, smt_params, 1);
