/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * sched_ext: the default idle-CPU selection of the kernel (6.18) and what scx_rusty and scx_bpfland do with wakeups, as
 * of August 2026. An idle CPU is claimed by the one who finds it, so two wakers never take the same. The kernel's pick
 * among equals rotates in a way that cannot be told; here it goes on behind the last pick.
 */
#include <stdlib.h>

#include "models/builtin.h"
#include "models/claims.h"

enum flavour { SCX_DEFAULT, SCX_RUSTY, SCX_BPFLAND };

struct scx {
	const struct wakeif_host *host;
	const struct wakeif_topology *topo;
	uint32_t words, last_pick;
	struct wi_claims claims;
	wakeif_word *allowed, *in; /* scratch */
	uint32_t greedy_under;
	bool greedy_numa;
};

struct decision {
	struct scx *m;
	const struct wakeif_wakeup *w;
	const struct wakeif_view *v;
	uint32_t prev;
	bool sync, asked_sync, dry; /* dry: what if; claims nothing */
	struct wakeif_choice *choice;
};

static void scx_fini(void *model)
{
	struct scx *m = model;

	wi_claims_fini(&m->claims);
	free(m->allowed);
	free(m->in);
	free(m);
}

static void *scx_init(const struct wakeif_host *host, const int64_t *values)
{
	struct scx *m = calloc(1, sizeof(*m));

	if (!m || !wi_claims_init(&m->claims, host->topology, (uint64_t)values[0])) {
		free(m);
		host->say(host->ctx, "out of memory");
		return NULL;
	}
	m->host = host;
	m->topo = host->topology;
	m->words = m->topo->nr_words;
	m->allowed = calloc(m->words, sizeof(*m->allowed));
	m->in = calloc(m->words, sizeof(*m->in));
	if (m->allowed && m->in)
		return m;
	scx_fini(m);
	host->say(host->ctx, "out of memory");
	return NULL;
}

static void *rusty_init(const struct wakeif_host *host, const int64_t *values)
{
	struct scx *m = scx_init(host, values);

	if (m) {
		m->greedy_under = (uint32_t)values[1];
		m->greedy_numa = values[2];
	}
	return m;
}

static bool answer(struct decision *d, uint32_t cpu, enum wakeif_rule rule)
{
	d->choice->cpu = cpu;
	d->choice->rule = (uint16_t)rule;
	return true;
}

static bool claim(struct decision *d, uint32_t cpu)
{
	d->choice->examined++;
	if (!wi_mask_test(d->m->allowed, cpu) || !wi_mask_test(d->m->claims.free, cpu))
		return false;
	if (!d->dry)
		wi_claims_take(&d->m->claims, cpu, d->w->now_ns);
	return true;
}

/* All threads free: the kernel keeps such cores in a mask of their own. */
static bool core_is_free(const struct decision *d, uint32_t cpu)
{
	const struct scx *m = d->m;
	const wakeif_word *core = wi_span(m->topo, WAKEIF_CORE, cpu);

	for (uint32_t i = 0; i < m->words; i++)
		if (core[i] & m->topo->online[i] & ~m->claims.free[i])
			return false;
	return true;
}

/* A free CPU of span, or one of a free core; claims it. WAKEIF_CPU_NONE: none. */
static uint32_t pick(struct decision *d, const wakeif_word *span, bool whole_core)
{
	struct scx *m = d->m;
	uint32_t first, c;

	for (uint32_t i = 0; i < m->words; i++)
		m->in[i] = m->allowed[i] & span[i];
	first = c = wi_mask_first_from(m->in, m->claims.free, m->words, m->last_pick + 1);
	while (c != WAKEIF_CPU_NONE && whole_core && !core_is_free(d, c)) {
		c = wi_mask_first_from(m->in, m->claims.free, m->words, c + 1);
		if (c == first)
			c = WAKEIF_CPU_NONE;
	}
	d->choice->examined += c == WAKEIF_CPU_NONE ? wi_mask_weight(m->in, m->words) : wi_mask_steps(m->in, m->words, m->last_pick + 1, c);
	if (c != WAKEIF_CPU_NONE && !d->dry) {
		m->last_pick = c;
		wi_claims_take(&m->claims, c, d->w->now_ns);
	}
	return c;
}

static bool any_free_in(const struct decision *d, const wakeif_word *span)
{
	for (uint32_t i = 0; i < d->m->words; i++)
		if (span[i] & d->m->claims.free[i])
			return true;
	return false;
}

/* Nothing waits on the waker's CPU, and the wakee may run there. */
static bool waker_takes(const struct decision *d)
{
	return wi_mask_test(d->m->allowed, d->w->waker_cpu) && d->v->cpu[d->w->waker_cpu].nr_running <= 1;
}

static bool same_llc(const struct decision *d, uint32_t a, uint32_t b)
{
	return d->m->topo->group[WAKEIF_LLC][a] == d->m->topo->group[WAKEIF_LLC][b];
}

/* Picks within LLC, node, machine; a scope of which there is one is the machine. */
static uint32_t pick_outwards(struct decision *d, bool whole_core)
{
	const struct wakeif_topology *t = d->m->topo;
	uint32_t c;

	if (t->nr_groups[WAKEIF_LLC] > 1 && (c = pick(d, wi_span(t, WAKEIF_LLC, d->prev), whole_core)) != WAKEIF_CPU_NONE)
		return c;
	if (t->nr_groups[WAKEIF_NODE] > 1 && (c = pick(d, wi_span(t, WAKEIF_NODE, d->prev), whole_core)) != WAKEIF_CPU_NONE)
		return c;
	return pick(d, t->online, whole_core);
}

/* ---- scx_select_cpu_dfl ---- */

static bool select_default(struct decision *d)
{
	const struct wakeif_topology *t = d->m->topo;
	uint32_t waker = d->w->waker_cpu, c;

	d->asked_sync = true;
	if (d->sync) {
		if (same_llc(d, waker, d->prev) && claim(d, d->prev))
			return answer(d, d->prev, WAKEIF_RULE_PREV_IDLE);
		if (!d->w->waker_exiting && waker_takes(d) && any_free_in(d, wi_span(t, WAKEIF_NODE, waker)))
			return answer(d, waker, WAKEIF_RULE_WAKE_SYNC);
	}
	if (t->smt > 1) {
		if (core_is_free(d, d->prev) && claim(d, d->prev))
			return answer(d, d->prev, WAKEIF_RULE_PREV_IDLE);
		if ((c = pick_outwards(d, true)) != WAKEIF_CPU_NONE)
			return answer(d, c, WAKEIF_RULE_IDLE_CORE);
	}
	if (claim(d, d->prev))
		return answer(d, d->prev, WAKEIF_RULE_PREV_IDLE);
	if ((c = pick_outwards(d, false)) != WAKEIF_CPU_NONE)
		return answer(d, c, WAKEIF_RULE_IDLE_CPU);
	return answer(d, d->prev, WAKEIF_RULE_NONE_IDLE); /* to the shared queue */
}

/* ---- scx_rusty: domains are LLCs; a task's own domain is taken to be that of its previous CPU ---- */

static bool lightly_loaded(const struct decision *d, uint32_t llc)
{
	const struct scx *m = d->m;
	uint64_t util = 0, n = 0;

	wi_mask_for_each (c, m->topo->span[WAKEIF_LLC][llc], m->words) {
		if (!wi_mask_test(m->topo->online, c))
			continue;
		util += m->host->cpu_util(m->host->ctx, c);
		n++;
	}
	return n && util * 100 < n * 1024 * m->greedy_under;
}

static bool unrestricted(const struct decision *d)
{
	for (uint32_t i = 0; i < d->m->words; i++)
		if (d->m->topo->online[i] & ~d->w->allowed[i])
			return false;
	return true;
}

/* Other domains with room, from the own one on, wrapping; of the node, or of the machine. */
static uint32_t pick_greedy(struct decision *d)
{
	const struct wakeif_topology *t = d->m->topo;
	uint32_t nr = t->nr_groups[WAKEIF_LLC], own = t->group[WAKEIF_LLC][d->prev];

	for (int whole_core = 1; whole_core >= 0; whole_core--)
		for (uint32_t k = 1; k < nr; k++) {
			uint32_t llc = (own + k) % nr, c = wi_mask_next(t->span[WAKEIF_LLC][llc], d->m->words, 0);

			if ((!d->m->greedy_numa && t->group[WAKEIF_NODE][c] != t->group[WAKEIF_NODE][d->prev]) || !lightly_loaded(d, llc))
				continue;
			c = pick(d, t->span[WAKEIF_LLC][llc], whole_core);
			if (c != WAKEIF_CPU_NONE)
				return c;
		}
	return WAKEIF_CPU_NONE;
}

static bool select_rusty(struct decision *d)
{
	const struct wakeif_topology *t = d->m->topo;
	const wakeif_word *own = wi_span(t, WAKEIF_LLC, d->prev);
	uint32_t waker = d->w->waker_cpu, c;

	d->asked_sync = true;
	if (d->sync) {
		if (same_llc(d, waker, d->prev) && claim(d, d->prev))
			return answer(d, d->prev, WAKEIF_RULE_PREV_IDLE);
		if (any_free_in(d, wi_span(t, WAKEIF_LLC, waker)) && waker_takes(d))
			return answer(d, waker, WAKEIF_RULE_WAKE_SYNC);
	}
	if (core_is_free(d, d->prev) && claim(d, d->prev))
		return answer(d, d->prev, WAKEIF_RULE_PREV_IDLE);
	if ((c = pick(d, own, true)) != WAKEIF_CPU_NONE)
		return answer(d, c, WAKEIF_RULE_IDLE_CORE);
	if (claim(d, d->prev))
		return answer(d, d->prev, WAKEIF_RULE_PREV_IDLE);
	if ((c = pick(d, own, false)) != WAKEIF_CPU_NONE)
		return answer(d, c, WAKEIF_RULE_IDLE_CPU);
	if (unrestricted(d) && (c = pick_greedy(d)) != WAKEIF_CPU_NONE)
		return answer(d, c, WAKEIF_RULE_GREEDY);
	return answer(d, d->prev, WAKEIF_RULE_NONE_IDLE);
}

/* ---- scx_bpfland: the default, from the waker's CPU if that is the faster one ---- */

static bool select_bpfland(struct decision *d)
{
	const struct wakeif_topology *t = d->m->topo;
	uint32_t waker = d->w->waker_cpu;

	if (!wi_mask_test(d->m->allowed, d->prev)) {
		uint32_t first = wi_mask_next(d->m->allowed, d->m->words, 0);

		d->prev = wi_mask_test(d->m->allowed, waker) ? waker : first != UINT32_MAX ? first : d->prev;
	}
	if (t->capacity[waker] > t->capacity[d->prev]) {
		if (same_llc(d, waker, d->prev) && core_is_free(d, d->prev) && claim(d, d->prev))
			return answer(d, d->prev, WAKEIF_RULE_PREV_IDLE);
		if (wi_mask_test(d->m->allowed, waker))
			d->prev = waker;
	}
	return select_default(d);
}

/* ---- */

static bool scx_decide(struct scx *m, const struct wakeif_wakeup *w, const struct wakeif_view *v, struct wakeif_choice *choice, bool (*select)(struct decision *))
{
	bool sync = w->wake_flags & WAKEIF_WF_SYNC;
	struct wakeif_choice other = *choice;
	struct decision d = { m, w, v, w->prev_cpu, sync, false, false, choice }, flipped = { m, w, v, w->prev_cpu, !sync, false, true, &other };

	if (w->prev_cpu >= m->topo->nr_cpus || w->waker_cpu >= m->topo->nr_cpus || m->topo->group[WAKEIF_LLC][w->prev_cpu] == UINT32_MAX ||
	    m->topo->group[WAKEIF_LLC][w->waker_cpu] == UINT32_MAX)
		return false;
	for (uint32_t i = 0; i < m->words; i++)
		m->allowed[i] = w->allowed[i] & m->topo->online[i];
	wi_claims_look(&m->claims, v);
	select(&flipped);
	select(&d);
	choice->other_sync_cpu = d.asked_sync ? other.cpu : choice->cpu;
	choice->flags |= WAKEIF_CHOICE_KNOWS_SYNC;
	return true;
}

static bool default_select(void *model, const struct wakeif_wakeup *w, const struct wakeif_view *v, struct wakeif_choice *choice)
{
	return scx_decide(model, w, v, choice, select_default);
}

static bool rusty_select(void *model, const struct wakeif_wakeup *w, const struct wakeif_view *v, struct wakeif_choice *choice)
{
	return scx_decide(model, w, v, choice, select_rusty);
}

static bool bpfland_select(void *model, const struct wakeif_wakeup *w, const struct wakeif_view *v, struct wakeif_choice *choice)
{
	return scx_decide(model, w, v, choice, select_bpfland);
}

#define CLAIM { "claim", WAKEIF_PARAM_NS, "10us", 0, 10000000, NULL, "how long a claimed CPU is not claimed again, unless it has been busy since" }
static const struct wakeif_param params_default[] = { CLAIM };
static const struct wakeif_param params_rusty[] = {
	CLAIM,
	{ "greedy-under", WAKEIF_PARAM_INT, "90", 0, 100, NULL, "utilisation in percent below which another domain takes tasks" },
	{ "greedy-numa", WAKEIF_PARAM_BOOL, "off", 0, 0, NULL, "domains of other nodes, too" },
};

#define SCX_OPS(id, model_name, text, src, conf, need, param_table, init_fn, select)                                   \
	const struct wakeif_model_ops wi_model_##id = { .abi = WAKEIF_ABI,                                             \
							.size = sizeof(struct wakeif_model_ops),                       \
							.name = model_name,                                            \
							.summary = text,                                               \
							.source = src,                                                 \
							.confidence = conf,                                            \
							.needs = need,                                                 \
							.nr_params = sizeof(param_table) / sizeof(*param_table),       \
							.params = param_table,                                         \
							.init = init_fn,                                               \
							.fini = scx_fini,                                              \
							.select_cpu = select }

SCX_OPS(scx_default, "scx-default", "sched_ext's built-in selection: idle cores first, claimed atomically, with WF_SYNC",
	"Linux 6.18.2, kernel/sched/ext_idle.c, scx_select_cpu_dfl", "code read; the rotation among equals is made up",
	WAKEIF_NEED_TOPOLOGY | WAKEIF_NEED_SYNC | WAKEIF_NEED_WAKING, params_default, scx_init, default_select);
SCX_OPS(scx_rusty, "scx-rusty", "scx_rusty: idle cores of the own LLC, then other LLCs that have room", "scx repository, August 2026, scx_rusty",
	"code read; a task's domain is taken from its previous CPU, loads are estimated",
	WAKEIF_NEED_TOPOLOGY | WAKEIF_NEED_SYNC | WAKEIF_NEED_WAKING | WAKEIF_NEED_LOAD, params_rusty, rusty_init, rusty_select);
SCX_OPS(scx_bpfland, "scx-bpfland", "scx_bpfland: the built-in selection, from the waker's CPU if that is faster", "scx repository, August 2026, scx_bpfland",
	"code read; without primary domain and preferred-CPU scan", WAKEIF_NEED_TOPOLOGY | WAKEIF_NEED_SYNC | WAKEIF_NEED_WAKING, params_default, scx_init,
	bpfland_select);
