/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which group of a domain has too much to do for what a CPU's own group has, and how much of it should move: the rules
 * of load_balance() as since 5.5, without capacities that differ and without groups of tasks.
 */
#include "analyzer/sim/machine.h"
#include "models/pelt.h"

/* ---- what a CPU has had to do, decayed ---- */

#define PERIOD_NS (1u << 20)

static void decayed(uint64_t *sum, uint64_t *part, uint64_t value, uint64_t left_units, uint64_t periods)
{
	*sum = wi_pelt_decay(*sum + *part + value * left_units, 1);
	*sum = wi_pelt_decay(*sum, periods) + value * (WI_PELT_MAX - wi_pelt_decay(WI_PELT_MAX, periods));
	*part = 0;
}

/* Up to now, with what the CPU had to do since the last call. */
void s_load_advance(struct sim *s, uint32_t cpu)
{
	struct sim_load *l = &s->cpu[cpu].load;
	uint64_t now = s->now_ns / s->params.scale / WI_PELT_UNIT; /* in units of 1024 ns */
	uint64_t dt = now - l->last, left = WI_PELT_UNIT - l->last % WI_PELT_UNIT;

	if (!dt)
		return;
	l->last = now;
	if (dt < left) {
		for (uint32_t i = 0; i < SIM_LOADS; i++)
			l->part[i] += l->value[i] * dt;
		return;
	}
	for (uint32_t i = 0; i < SIM_LOADS; i++) {
		decayed(&l->sum[i], &l->part[i], l->value[i], left, (dt - left) / WI_PELT_UNIT);
		l->part[i] += l->value[i] * ((dt - left) % WI_PELT_UNIT);
	}
}

/* What it has to do from now on. */
void s_load_set(struct sim *s, uint32_t cpu, uint64_t util, uint64_t runnable, uint64_t weight)
{
	struct sim_load *l = &s->cpu[cpu].load;

	if (l->value[SIM_UTIL] == util && l->value[SIM_RUNNABLE] == runnable && l->value[SIM_WEIGHT] == weight)
		return;
	s_load_advance(s, cpu);
	l->value[SIM_UTIL] = util;
	l->value[SIM_RUNNABLE] = runnable;
	l->value[SIM_WEIGHT] = weight;
}

static uint64_t load_of(struct sim *s, uint32_t cpu, enum sim_load_kind kind)
{
	s_load_advance(s, cpu);
	return s->cpu[cpu].load.sum[kind] / WI_PELT_MAX;
}

/* ---- groups ---- */

enum group_type { HAS_SPARE, FULLY_BUSY, OVERLOADED };

struct group {
	uint32_t nr, nr_fair, idle, weight; /* weight: CPUs */
	uint64_t util, runnable, load, capacity, avg_load;
	enum group_type type;
	const wakeif_word *span; /* NULL: one CPU */
	uint32_t first;
};

static bool idles(const struct sim *s, uint32_t cpu)
{
	return s->cpu[cpu].curr == NONE && !s->view_cpu[cpu].nr_running && !s->cpu[cpu].pending;
}

static void add_cpu(struct sim *s, struct group *g, uint32_t cpu)
{
	g->nr += s->view_cpu[cpu].nr_running;
	g->nr_fair += s->view_cpu[cpu].nr_cfs;
	g->idle += idles(s, cpu);
	g->weight++;
	g->util += load_of(s, cpu, SIM_UTIL);
	g->runnable += load_of(s, cpu, SIM_RUNNABLE);
	g->load += load_of(s, cpu, SIM_WEIGHT);
	g->capacity += 1024;
}

static enum group_type classify(const struct group *g, uint32_t pct)
{
	bool queued = g->capacity * pct < g->runnable * 100;

	if (g->nr > g->weight && (g->capacity * 100 < g->util * pct || queued))
		return OVERLOADED;
	if (g->nr < g->weight || (!queued && g->capacity * 100 > g->util * pct))
		return HAS_SPARE;
	return FULLY_BUSY;
}

/* span: of the domain below, NULL: none. Its CPUs leave `left`. */
static struct group survey(struct sim *s, const struct wakeif_domain *sd, const wakeif_word *span, uint32_t cpu,
			   wakeif_word *left)
{
	struct group g = { .span = span, .first = cpu };

	if (!span) {
		add_cpu(s, &g, cpu);
		wi_mask_clear(left, cpu);
	} else {
		for (uint32_t c = wi_mask_next(span, s->topo->nr_words, 0); c != UINT32_MAX;
		     c = wi_mask_next(span, s->topo->nr_words, c + 1)) {
			wi_mask_clear(left, c);
			if (s->cpu[c].online)
				add_cpu(s, &g, c);
		}
	}
	g.type = classify(&g, sd->imbalance_pct);
	g.avg_load = g.type == OVERLOADED ? g.load * 1024 / g.capacity : 0;
	return g;
}

static bool busier(const struct group *g, const struct group *best)
{
	if (!g->nr_fair)
		return false;
	if (!best->weight || g->type != best->type)
		return !best->weight || g->type > best->type;
	if (g->type != HAS_SPARE)
		return g->avg_load > best->avg_load;
	return g->idle < best->idle || (g->idle == best->idle && g->nr > best->nr);
}

static uint64_t above(uint64_t a, uint64_t b)
{
	return a > b ? a - b : 0;
}

/* Two nodes may differ by a pair of tasks as long as hardly anything runs there. */
static uint64_t between_nodes(const struct wakeif_domain *sd, const struct group *local, uint64_t nr)
{
	bool few = sd->flags & WAKEIF_SD_NUMA && local->nr + 1 <= above(local->weight, 1) / 4 + 1;

	return few && nr <= 2 ? 0 : nr;
}

/* How much should move from best to local; kind tells of what. */
static uint64_t imbalance(const struct wakeif_domain *sd, const struct group *local, const struct group *best,
			  uint64_t average, bool spread, bool idle, enum sim_move *kind)
{
	*kind = SIM_MOVE_TASKS;
	if (local->type == HAS_SPARE) {
		if (best->type > FULLY_BUSY && !(sd->flags & WAKEIF_SD_SHARE_LLC)) {
			uint64_t gap =
				above(local->capacity > local->util ? local->capacity : local->util, local->util);

			*kind = gap || !idle ? SIM_MOVE_UTIL : SIM_MOVE_TASKS;
			return gap || !idle ? gap : 1;
		}
		uint64_t nr = best->weight == 1 || spread ? above(best->nr, local->nr) : above(local->idle, best->idle);

		return between_nodes(sd, local, nr) / 2;
	}
	*kind = SIM_MOVE_LOAD;
	uint64_t local_avg = local->load * 1024 / local->capacity;

	if (local_avg >= best->avg_load || local_avg >= average)
		return 0;
	uint64_t out = above(best->avg_load, average) * best->capacity,
		 in = above(average, local_avg) * local->capacity;

	return (out < in ? out : in) / 1024;
}

static bool balanced(const struct wakeif_domain *sd, const struct group *local, const struct group *best,
		     uint64_t average, bool spread, bool idle)
{
	if (local->type > best->type)
		return true;
	if (local->type == OVERLOADED && (local->avg_load >= best->avg_load || local->avg_load >= average ||
					  100 * best->avg_load <= sd->imbalance_pct * local->avg_load))
		return true;
	if (spread && local->type == HAS_SPARE && best->nr > local->nr + 1)
		return false;
	if (best->type == OVERLOADED)
		return false;
	return !idle || (best->weight > 1 && local->idle <= best->idle + 1) || best->nr_fair == 1;
}

static uint32_t busiest_cpu(struct sim *s, const struct group *g, enum sim_move kind, uint64_t amount)
{
	uint32_t best = NONE;
	uint64_t most = 0;

	for (uint32_t c = g->span ? wi_mask_next(g->span, s->topo->nr_words, 0) : g->first; c != UINT32_MAX;
	     c = g->span ? wi_mask_next(g->span, s->topo->nr_words, c + 1) : UINT32_MAX) {
		uint32_t nr = s->cpu[c].online ? s->view_cpu[c].nr_cfs : 0;
		uint64_t value = !nr			  ? 0
				 : kind == SIM_MOVE_TASKS ? nr
				 : kind == SIM_MOVE_UTIL  ? (nr > 1 ? load_of(s, c, SIM_UTIL) + 1 : 0)
							  : load_of(s, c, SIM_WEIGHT) + 1;

		if (kind == SIM_MOVE_LOAD && nr == 1 && value > amount)
			continue;
		if (value > most) {
			most = value;
			best = c;
		}
	}
	return best;
}

/* A CPU to take from, what and how much; NONE: nothing should move to cpu. */
uint32_t s_find_busiest(struct sim *s, uint32_t cpu, uint32_t level, bool idle, enum sim_move *kind, uint64_t *amount)
{
	const struct wakeif_domain *sd = &s->topo->domains[cpu][level], *below = level ? sd - 1 : NULL;
	uint32_t words = s->topo->nr_words;
	struct group local = { 0 }, best = { 0 };
	uint64_t load = 0, capacity = 0;
	bool spread = below && below->flags & WAKEIF_SD_PREFER_SIBLING && !s->o.power_smt;
	wakeif_word *left = s->left;

	for (uint32_t i = 0; i < words; i++)
		left[i] = sd->span[i] & s->topo->online[i];
	for (uint32_t c; (c = wi_mask_next(left, words, 0)) != UINT32_MAX;) {
		const struct wakeif_domain *d = NULL;

		for (uint32_t i = 0; i < s->topo->nr_domains[c] && s->topo->domains[c][i].weight < sd->weight; i++)
			d = &s->topo->domains[c][i];
		bool own = d ? wi_mask_test(d->span, cpu) : c == cpu;
		struct group g = survey(s, sd, d ? d->span : NULL, c, left);

		load += g.load;
		capacity += g.capacity;
		if (own)
			local = g;
		else if (busier(&g, &best))
			best = g;
	}
	if (!best.weight || !local.weight)
		return NONE;
	uint64_t average = load * 1024 / capacity;

	if (balanced(sd, &local, &best, average, spread, idle))
		return NONE;
	*amount = imbalance(sd, &local, &best, average, spread, idle, kind);
	return *amount ? busiest_cpu(s, &best, *kind, *amount) : NONE;
}

/* Of the CPUs of cpu's own group only one looks for all: the first that idles, or the first. */
bool s_looks_for_group(const struct sim *s, uint32_t cpu, uint32_t level)
{
	const wakeif_word *span = level ? s->topo->domains[cpu][level - 1].span : NULL;
	uint32_t first = NONE;

	for (uint32_t c = span ? wi_mask_next(span, s->topo->nr_words, 0) : UINT32_MAX; c != UINT32_MAX;
	     c = wi_mask_next(span, s->topo->nr_words, c + 1)) {
		if (!s->cpu[c].online)
			continue;
		first = first == NONE ? c : first;
		if (idles(s, c))
			return c == cpu;
	}
	return first == NONE || first == cpu;
}
