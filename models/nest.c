/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Nest (Lawall et al., EuroSys 2022): keep tasks on few, warm cores. "Core" is the paper's word for a CPU. A primary nest
 * of CPUs in use and a reserve of CPUs used of late are searched before the scheduler's own choice is asked for, which
 * here is: the previous CPU if idle, the first idle CPU of its LLC, the previous CPU.
 *
 * Parameters from memory of the paper. The nests follow the model's own choices; whether a CPU is idle, the trace. Spinning
 * of idle nest CPUs keeps clocks up and moves nothing, so it is left out.
 */
#include <stdlib.h>
#include <string.h>

#include "models/builtin.h"
#include "models/claims.h"

struct nest_task {
	uint32_t last, before_last; /* CPUs of the last two placements; WAKEIF_CPU_NONE */
	uint32_t impatience;	    /* wakeups in a row that found the previous CPU busy */
};

struct nest {
	const struct wakeif_topology *topo;
	uint32_t words, nr_reserve, max_reserve, impatient;
	uint64_t remove_ns;
	wakeif_word *primary, *reserve, *in;
	uint64_t *used_ns; /* by CPU: last time it was chosen or seen busy */
	struct wi_claims claims;
	struct nest_task *task;
	uint32_t nr_slots, reserve_start;
	uint32_t exit_cpu; /* a task has just ended here ... */
	uint64_t exit_ns;  /* ... at this time */
};

static void nest_fini(void *model)
{
	struct nest *m = model;

	wi_claims_fini(&m->claims);
	free(m->primary);
	free(m->reserve);
	free(m->in);
	free(m->used_ns);
	free(m->task);
	free(m);
}

static void *nest_init(const struct wakeif_host *host, const int64_t *values)
{
	const struct wakeif_topology *t = host->topology;
	struct nest *m = calloc(1, sizeof(*m));

	if (!m || !wi_claims_init(&m->claims, t, (uint64_t)values[3])) {
		free(m);
		host->say(host->ctx, "out of memory");
		return NULL;
	}
	m->topo = t;
	m->words = t->nr_words;
	m->remove_ns = (uint64_t)values[0] * 1000000000 / (host->hz ? host->hz : 250);
	m->max_reserve = (uint32_t)values[1];
	m->impatient = (uint32_t)values[2];
	m->exit_cpu = WAKEIF_CPU_NONE;
	m->primary = calloc(m->words, sizeof(*m->primary));
	m->reserve = calloc(m->words, sizeof(*m->reserve));
	m->in = calloc(m->words, sizeof(*m->in));
	m->used_ns = calloc(t->nr_cpus, sizeof(*m->used_ns));
	if (m->primary && m->reserve && m->in && m->used_ns)
		return m;
	nest_fini(m);
	host->say(host->ctx, "out of memory");
	return NULL;
}

static struct nest_task *task_of(struct nest *m, uint32_t slot)
{
	if (slot >= m->nr_slots) {
		uint32_t nr = slot + slot / 2 + 64;
		struct nest_task *p = realloc(m->task, nr * sizeof(*p));

		if (!p)
			return NULL;
		for (uint32_t i = m->nr_slots; i < nr; i++)
			p[i] = (struct nest_task){ WAKEIF_CPU_NONE, WAKEIF_CPU_NONE, 0 };
		m->task = p;
		m->nr_slots = nr;
	}
	return &m->task[slot];
}

static void into_reserve(struct nest *m, uint32_t cpu)
{
	if (m->nr_reserve >= m->max_reserve || wi_mask_test(m->reserve, cpu) || wi_mask_test(m->primary, cpu))
		return;
	wi_mask_set(m->reserve, cpu);
	m->nr_reserve++;
}

static void into_primary(struct nest *m, uint32_t cpu)
{
	if (wi_mask_test(m->reserve, cpu)) {
		wi_mask_clear(m->reserve, cpu);
		m->nr_reserve--;
	}
	wi_mask_set(m->primary, cpu);
}

static void demote(struct nest *m, uint32_t cpu)
{
	wi_mask_clear(m->primary, cpu);
	into_reserve(m, cpu);
}

/* First free, allowed CPU of `nest` from `from` on; those of the LLC of `near` first. */
static uint32_t search(struct nest *m, const struct wakeif_wakeup *w, const wakeif_word *nest, uint32_t from, uint32_t near, struct wakeif_choice *choice)
{
	const wakeif_word *llc = wi_span(m->topo, WAKEIF_LLC, near);

	for (int pass = 0; pass < 2; pass++) {
		uint32_t c;

		for (uint32_t i = 0; i < m->words; i++)
			m->in[i] = nest[i] & w->allowed[i] & (pass ? ~llc[i] : llc[i]);
		c = wi_mask_first_from(m->in, m->claims.free, m->words, from);
		choice->examined += c == WAKEIF_CPU_NONE ? wi_mask_weight(m->in, m->words) : wi_mask_steps(m->in, m->words, from, c);
		if (c != WAKEIF_CPU_NONE)
			return c;
	}
	return WAKEIF_CPU_NONE;
}

/* CPUs of the primary nest that have been out of use for too long leave it when a search comes across them. */
static uint32_t search_primary(struct nest *m, const struct wakeif_wakeup *w, uint32_t from, struct wakeif_choice *choice)
{
	uint32_t c;

	while ((c = search(m, w, m->primary, from, from, choice)) != WAKEIF_CPU_NONE && w->now_ns - m->used_ns[c] > m->remove_ns)
		demote(m, c);
	return c;
}

static uint32_t scheduler_choice(struct nest *m, const struct wakeif_wakeup *w, uint32_t from, struct wakeif_choice *choice)
{
	const wakeif_word *llc = wi_span(m->topo, WAKEIF_LLC, from);
	uint32_t c;

	choice->rule = WAKEIF_RULE_PREV_IDLE;
	choice->examined++;
	if (wi_mask_test(w->allowed, from) && wi_mask_test(m->claims.free, from))
		return from;
	for (uint32_t i = 0; i < m->words; i++)
		m->in[i] = llc[i] & w->allowed[i];
	c = wi_mask_first_from(m->in, m->claims.free, m->words, from);
	choice->rule = c == WAKEIF_CPU_NONE ? WAKEIF_RULE_NONE_IDLE : WAKEIF_RULE_IDLE_CPU;
	return c == WAKEIF_CPU_NONE ? from : c;
}

static bool attached(const struct nest *m, const struct nest_task *t, const struct wakeif_wakeup *w)
{
	uint32_t c = t->last;

	return c != WAKEIF_CPU_NONE && c == t->before_last && wi_mask_test(m->primary, c) && wi_mask_test(w->allowed, c) && wi_mask_test(m->claims.free, c);
}

static uint32_t decide(struct nest *m, struct nest_task *t, const struct wakeif_wakeup *w, const struct wakeif_view *v, struct wakeif_choice *choice)
{
	uint32_t from = w->prev_cpu, c;
	bool prev_busy = !wi_mask_test(v->idle, from), impatient;

	t->impatience = prev_busy ? t->impatience + 1 : 0;
	impatient = t->impatience >= m->impatient;
	if (!impatient) {
		choice->rule = WAKEIF_RULE_WARM;
		if (attached(m, t, w))
			return t->last;
		if ((c = search_primary(m, w, from, choice)) != WAKEIF_CPU_NONE)
			return c;
		choice->rule = WAKEIF_RULE_RESERVE;
		if ((c = search(m, w, m->reserve, m->reserve_start, from, choice)) != WAKEIF_CPU_NONE) {
			into_primary(m, c);
			return c;
		}
	}
	c = scheduler_choice(m, w, from, choice);
	if (impatient) {
		into_primary(m, c);
		t->impatience = 0;
	} else {
		into_reserve(m, c);
	}
	return c;
}

static bool nest_select(void *model, const struct wakeif_wakeup *w, const struct wakeif_view *v, struct wakeif_choice *choice)
{
	struct nest *m = model;
	struct nest_task *t = task_of(m, w->wakee_task);

	if (!t || w->prev_cpu >= m->topo->nr_cpus || m->topo->group[WAKEIF_LLC][w->prev_cpu] == UINT32_MAX)
		return false;
	wi_claims_look(&m->claims, v);
	choice->cpu = decide(m, t, w, v, choice);
	if (wi_mask_test(m->claims.free, choice->cpu))
		wi_claims_take(&m->claims, choice->cpu, w->now_ns);
	m->used_ns[choice->cpu] = w->now_ns;
	t->before_last = t->last;
	t->last = choice->cpu;
	return true;
}

static void nest_observe(void *model, const struct wakeif_happening *h)
{
	struct nest *m = model;

	switch (h->type) {
	case WAKEIF_CPU_IDLES:
		m->used_ns[h->cpu] = h->now_ns; /* in use until now */
		if (m->exit_cpu == h->cpu && m->exit_ns == h->now_ns && wi_mask_test(m->primary, h->cpu))
			demote(m, h->cpu);
		break;
	case WAKEIF_TASK_SLEEPS:
		if (h->flags & WAKEIF_EV_DEAD) {
			m->exit_cpu = h->cpu;
			m->exit_ns = h->now_ns;
		}
		break;
	case WAKEIF_TASK_BEGAN:
		if (h->task < m->nr_slots)
			m->task[h->task] = (struct nest_task){ WAKEIF_CPU_NONE, WAKEIF_CPU_NONE, 0 };
		break;
	default:
		break;
	}
}

static const struct wakeif_param params[] = {
	{ "remove", WAKEIF_PARAM_INT, "2", 0, 1000, NULL, "P_remove: ticks out of use after which a CPU leaves the primary nest" },
	{ "reserve", WAKEIF_PARAM_INT, "5", 0, 65536, NULL, "R_max: most CPUs in the reserve" },
	{ "impatient", WAKEIF_PARAM_INT, "2", 1, 1000, NULL, "R_impatient: wakeups in a row with a busy previous CPU that enlarge the primary nest" },
	{ "claim", WAKEIF_PARAM_NS, "10us", 0, 10000000, NULL, "how long a CPU just chosen is not chosen again" },
};

const struct wakeif_model_ops wi_model_nest = {
	.abi = WAKEIF_ABI,
	.size = sizeof(struct wakeif_model_ops),
	.name = "nest",
	.summary = "few, warm CPUs: primary nest, reserve, then the scheduler's own choice",
	.source = "Lawall, Chhaya-Shailesh, Lozi, Lepers, Zwaenepoel, Muller: OS Scheduling with Nest, EuroSys 2022",
	.confidence = "structure from the paper, parameters from memory; the scheduler's own choice is a plain search of the LLC",
	.needs = WAKEIF_NEED_TOPOLOGY,
	.nr_params = sizeof(params) / sizeof(*params),
	.params = params,
	.init = nest_init,
	.fini = nest_fini,
	.select_cpu = nest_select,
	.observe = nest_observe,
};
