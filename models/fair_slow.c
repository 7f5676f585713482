/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The slow path of fork and exec: find_idlest_cpu() and below, as since 5.5, in our own words. */
#include "models/fair_priv.h"

enum group_type { HAS_SPARE, FULLY_BUSY, OVERLOADED };

struct group {
	const wakeif_word *span; /* NULL: one CPU, `first` */
	uint32_t first;		 /* where the list has it; the local group: the CPU searched from */
	uint32_t weight;
	uint32_t idle, nr;
	uint64_t capacity, util, runnable, load, avg_load;
	enum group_type type;
};

static bool in_group(const struct group *g, uint32_t cpu)
{
	return g->span ? wi_mask_test(g->span, cpu) : cpu == g->first;
}

/* The domain that cpu has below the one with this weight: its span is cpu's group there. NULL: cpu alone. */
static const struct wakeif_domain *child_domain(const struct wakeif_topology *t, uint32_t cpu, uint32_t weight)
{
	const struct wakeif_domain *child = NULL;

	for (uint32_t i = 0; i < t->nr_domains[cpu] && t->domains[cpu][i].weight < weight; i++)
		child = &t->domains[cpu][i];
	return child;
}

static struct group group_of(const struct fair *f, const struct wakeif_domain *sd, uint32_t cpu)
{
	const struct wakeif_domain *child = child_domain(f->m->topology, cpu, sd->weight);

	return (struct group){ .span = child ? child->span : NULL, .first = cpu, .weight = child ? child->weight : 1 };
}

/* An exec'ing task is looked at as if it were not there: its own CPU may be idle. */
static bool wakee_is_on(const struct fair *f, uint32_t cpu)
{
	return (f->in->flags & WAKEIF_WF_EXEC) && cpu == f->in->prev_cpu;
}

static void add_cpu(const struct fair *f, struct group *g, uint32_t cpu)
{
	const struct wi_fair_inputs *in = f->in;
	bool own = wakee_is_on(f, cpu);
	uint32_t nr = in->cpu[cpu].nr_running;

	nr -= own && in->exec_counted && nr;
	g->util += in->ask->cpu_util(in->ask->ctx, cpu, own);
	g->runnable += in->ask->cpu_runnable(in->ask->ctx, cpu, own);
	g->load += in->ask->cpu_load(in->ask->ctx, cpu, own);
	g->nr += nr;
	if (in->unknown && wi_mask_test(in->unknown, cpu))
		f->r->unknown_matters = true;
	if (!nr && ((own && in->exec_counted) || wi_mask_test(in->idle, cpu)))
		g->idle++;
}

static enum group_type classify(const struct group *g, uint32_t pct)
{
	bool queue_long = g->capacity * pct < g->runnable * 100;

	if (g->nr > g->weight && (g->capacity * 100 < g->util * pct || queue_long))
		return OVERLOADED;
	if (g->nr < g->weight || (!queue_long && g->capacity * 100 > g->util * pct))
		return HAS_SPARE;
	return FULLY_BUSY;
}

/* false: the wakee is allowed nowhere in it. */
static bool weigh_group(const struct fair *f, const struct wakeif_domain *sd, struct group *g)
{
	const struct wi_fair_machine *m = f->m;
	const wakeif_word *allowed = f->in->allowed;
	bool any = false;

	if (!g->span) {
		if (!wi_mask_test(allowed, g->first))
			return false;
		g->capacity = m->topology->capacity[g->first];
		add_cpu(f, g, g->first);
	} else {
		wi_mask_for_each (c, g->span, m->nr_words) {
			g->capacity += m->topology->capacity[c];
			if (!wi_mask_test(allowed, c))
				continue;
			add_cpu(f, g, c);
			any = true;
		}
		if (!any)
			return false;
	}
	g->type = classify(g, sd->imbalance_pct);
	if (g->type != HAS_SPARE && g->capacity)
		g->avg_load = g->load * 1024 / g->capacity;
	fair_step(f, WI_FAIR_STEP_GROUP, 0, g->first, g->idle);
	return true;
}

/* sched_core_cookie_match(): any idle core will do, too. */
static bool core_fits(const struct fair *f, uint32_t cpu)
{
	const struct wi_fair_inputs *in = f->in;

	if (!in->core_cookie)
		return true;
	wi_mask_for_each (s, f->m->core[cpu], f->m->nr_words) {
		bool idle = in->ask->idle ? in->ask->idle(in->ask->ctx, s, WI_FAIR_SLOW) : wi_mask_test(in->idle, s);

		if (!idle)
			return fair_cookie_fits(f, cpu);
	}
	return true;
}

/* sched_group_cookie_match() */
static bool group_fits(const struct fair *f, const struct group *g)
{
	if (!f->in->core_cookie)
		return true;
	if (!g->span)
		return core_fits(f, g->first);
	wi_mask_for_each (c, g->span, f->m->nr_words)
		if (wi_mask_test(f->in->allowed, c) && core_fits(f, c))
			return true;
	return false;
}

static bool idler(const struct group *g, const struct group *best)
{
	if (g->type != best->type)
		return g->type < best->type;
	if (g->type != HAS_SPARE)
		return g->avg_load < best->avg_load;
	return g->idle > best->idle || (g->idle == best->idle && g->util < best->util);
}

/* How many tasks may run on a node before another one is tried. */
static uint32_t numa_room(const struct fair *f, const struct wakeif_domain *sd, const struct group *local)
{
	const struct wi_fair_machine *m = f->m;
	uint32_t factor = m->numa_weight ? sd->weight / m->numa_weight : 1,
		 room = m->imb_numa_nr * (factor ? factor : 1), allowed = 0;

	for (uint32_t i = 0; local->span && i < m->nr_words; i++)
		allowed += (uint32_t)__builtin_popcountll(local->span[i] & f->in->allowed[i]);
	if (!local->span)
		allowed = 1;
	return allowed < room ? allowed : room;
}

static bool stay_local(const struct fair *f, const struct wakeif_domain *sd, const struct group *local,
		       const struct group *best)
{
	bool numa = sd->flags & WAKEIF_SD_NUMA;

	if (local->type != best->type)
		return local->type < best->type;
	if (local->type != HAS_SPARE) {
		uint64_t imbalance = 1024ull * (sd->imbalance_pct - 100) / 100;

		return (numa && best->avg_load + imbalance >= local->avg_load) ||
		       best->avg_load >= local->avg_load + imbalance ||
		       100 * local->avg_load <= sd->imbalance_pct * best->avg_load;
	}
	if (numa) {
		uint32_t apart = local->idle > best->idle ? local->idle - best->idle : best->idle - local->idle;

		if (local->nr + 1 <= numa_room(f, sd, local) && apart <= 2)
			return true;
	}
	return local->idle >= best->idle;
}

/* find_idlest_group(): false: stay in the group of `from`, or go down. */
static bool idlest_group(const struct fair *f, const struct wakeif_domain *sd, uint32_t from, struct group *out)
{
	uint32_t words = f->m->nr_words;
	wakeif_word *left = f->m->scratch;
	struct group local = group_of(f, sd, from), best = { .type = OVERLOADED, .avg_load = UINT32_MAX };
	struct fair_wrap w = fair_wrap(from);
	bool has_local = false, has_best = false;

	memcpy(left, sd->span, words * sizeof(*left));
	for (uint32_t c; (c = fair_wrap_next(&w, left, words)) != WAKEIF_CPU_NONE;) {
		struct group g = group_of(f, sd, c);

		if (g.span)
			for (uint32_t i = 0; i < words; i++)
				left[i] &= ~g.span[i];
		if (!group_fits(f, &g) || !weigh_group(f, sd, &g))
			continue;
		if (in_group(&g, from)) {
			local = g;
			has_local = true;
		} else if (idler(&g, &best)) {
			best = g;
			has_best = true;
		}
	}
	if (!has_best || (has_local && stay_local(f, sd, &local, &best))) {
		fair_step(f, WI_FAIR_STEP_GROUP_STAY, 0, from, local.idle);
		return false;
	}
	fair_step(f, WI_FAIR_STEP_GROUP_CHOSEN, 0, best.first, best.idle);
	*out = best;
	return true;
}

static uint64_t idle_stamp(const struct wi_fair_inputs *in, uint32_t cpu)
{
	return in->ask->idle_stamp ? in->ask->idle_stamp(in->ask->ctx, cpu) : in->cpu[cpu].idle_since_ns;
}

/* find_idlest_group_cpu() */
static uint32_t idlest_in_group(const struct fair *f, const struct group *g, uint32_t from)
{
	const struct wi_fair_inputs *in = f->in;
	uint32_t idlest = WAKEIF_CPU_NONE, least = from, latency = UINT32_MAX;
	uint64_t latest = 0, min_load = UINT64_MAX;

	if (!g->span || g->weight == 1)
		return g->first;
	wi_mask_for_each (c, g->span, f->m->nr_words) {
		if (!wi_mask_test(in->allowed, c) || !core_fits(f, c))
			continue;
		if (fair_is_sidle(f, c)) {
			fair_step(f, WI_FAIR_STEP_IDLE, WI_FAIR_SLOW, c, 2);
			return c;
		}
		if (fair_idle(f, c, WI_FAIR_SLOW)) {
			uint32_t exit = in->ask->exit_latency ? in->ask->exit_latency(in->ask->ctx, c) : UINT32_MAX;
			uint64_t since = idle_stamp(in, c);

			if (exit < latency) {
				latency = exit;
				latest = since;
				idlest = c;
			} else if ((exit == UINT32_MAX || exit == latency) && since > latest) {
				latest = since;
				idlest = c;
			}
		} else if (idlest == WAKEIF_CPU_NONE) {
			uint64_t load = in->ask->cpu_load(in->ask->ctx, c, false);

			if (load < min_load) {
				min_load = load;
				least = c;
			}
		}
	}
	return idlest != WAKEIF_CPU_NONE ? idlest : least;
}

uint32_t wi_fair_idlest_cpu(const struct wi_fair_inputs *in, struct wi_fair_result *r, uint32_t level, uint32_t from)
{
	const struct wakeif_topology *t = in->machine->topology;
	struct fair f = { .in = in, .m = in->machine, .k = in->knobs, .r = r };
	uint32_t flag = in->flags & (WAKEIF_WF_EXEC | WAKEIF_WF_FORK | WAKEIF_WF_TTWU), cpu = from;
	const struct wakeif_domain *sd = &t->domains[cpu][level];
	bool any = false;

	if (in->knobs->sidle != WI_FAIR_SIDLE_NONE &&
	    !(in->knobs->sidle == WI_FAIR_SIDLE_TIP2026 && in->wakee_idle_policy))
		f.sidle = in->sidle;
	for (uint32_t i = 0; i < f.m->nr_words; i++)
		any |= (sd->span[i] & in->allowed[i]) != 0;
	if (!any)
		return in->prev_cpu;
	for (;;) {
		const struct wakeif_domain *first = t->domains[cpu];
		struct group g;
		uint32_t next = cpu;

		if ((sd->flags & flag) && idlest_group(&f, sd, cpu, &g))
			next = idlest_in_group(&f, &g, cpu);
		if (next == cpu) { /* a level down */
			if (sd == first)
				return cpu;
			sd--;
			continue;
		}
		uint32_t weight = sd->weight;

		cpu = next;
		sd = NULL;
		for (uint32_t i = 0; i < t->nr_domains[cpu] && t->domains[cpu][i].weight < weight; i++)
			if (t->domains[cpu][i].flags & flag)
				sd = &t->domains[cpu][i];
		if (!sd)
			return cpu;
	}
}
