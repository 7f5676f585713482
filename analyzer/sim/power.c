/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * sched_mc_power_savings and sched_smt_power_savings of 2.6.29 at balance: where nothing else is to be done, the
 * fullest group that has room takes the tasks of the emptiest one, so that whole packages (mc, smt) and cores (smt)
 * idle. The wakeup's part is the model's (linux-2.6.29).
 */
#include <stdlib.h>

#include "analyzer/sim/machine.h"

enum level { BY_CORE, BY_PACKAGE };

static uint32_t group_of(const struct sim *s, enum level level, uint32_t cpu)
{
	return level == BY_PACKAGE ? s->topo->package[cpu] : s->cpu[cpu].core;
}

static struct sim_filling *filling(const struct sim *s, enum level level, uint32_t cpu)
{
	return &(level == BY_PACKAGE ? s->package : s->core_filling)[group_of(s, level, cpu)];
}

bool s_power_begin(struct sim *s)
{
	if (!s->o.power_mc && !s->o.power_smt)
		return true;
	s->package = calloc(s->topo->nr_packages, sizeof(*s->package));
	s->core_filling = calloc(s->topo->nr_groups[WAKEIF_CORE], sizeof(*s->core_filling));
	if (!s->package || !s->core_filling)
		return false;
	for (uint32_t c = 0; c < s->topo->nr_cpus; c++) {
		if (!s->cpu[c].online)
			continue;
		struct sim_filling *core = filling(s, BY_CORE, c), *package = filling(s, BY_PACKAGE, c);
		bool first = !core->nr_cpus;

		core->first_cpu = core->nr_cpus++ ? core->first_cpu : c;
		core->nr_cores = 1;
		package->first_cpu = package->nr_cpus++ ? package->first_cpu : c;
		package->nr_cores += first;
	}
	return true;
}

void s_power_count(struct sim *s, uint32_t cpu, uint32_t was, uint32_t is)
{
	if (!s->package)
		return;
	filling(s, BY_CORE, cpu)->nr_tasks += is - was;
	filling(s, BY_PACKAGE, cpu)->nr_tasks += is - was;
}

/* Does it hold something and have room? It counts as full with one task a core, or a thread where cores are filled. */
static bool has_part(const struct sim *s, const struct sim_filling *g)
{
	return g->nr_tasks && g->nr_tasks < (s->o.power_smt ? g->nr_cpus : g->nr_cores);
}

/* The fullest and the emptiest of the groups that hold something and have room; NULL: there is none. Cores: those of
 * cpu's package. Ties: the lower first CPU is the fuller. */
static void survey(const struct sim *s, enum level level, uint32_t cpu, const struct sim_filling **leader,
		   const struct sim_filling **least)
{
	uint32_t nr = level == BY_PACKAGE ? s->topo->nr_packages : s->topo->nr_groups[WAKEIF_CORE];

	*leader = *least = NULL;
	for (uint32_t id = 0; id < nr; id++) {
		const struct sim_filling *g = &(level == BY_PACKAGE ? s->package : s->core_filling)[id];

		if (!has_part(s, g) || (level == BY_CORE && s->topo->package[g->first_cpu] != s->topo->package[cpu]))
			continue;
		if (!*least || g->nr_tasks <= (*least)->nr_tasks) /* groups are numbered by first CPU */
			*least = g;
		if (!*leader || g->nr_tasks > (*leader)->nr_tasks)
			*leader = g;
	}
}

/* A CPU of the group whose task may run on cpu. */
static uint32_t victim(const struct sim *s, enum level level, uint32_t id, uint32_t cpu)
{
	for (uint32_t c = 0; c < s->topo->nr_cpus; c++) {
		const struct sim_task *t = s->cpu[c].online && s->cpu[c].curr != NONE ? &s->task[s->cpu[c].curr] : NULL;

		if (t && group_of(s, level, c) == id && !s_is_rt(t) && wi_mask_test(t->allowed, cpu))
			return c;
	}
	return NONE;
}

static bool save(struct sim *s, enum level level, uint32_t cpu)
{
	struct sim_cpu *c = &s->cpu[cpu];
	const struct sim_filling *leader, *least;
	uint32_t from;

	survey(s, level, cpu, &leader, &least);
	if (!leader || leader != filling(s, level, cpu) || least == leader)
		return false;
	from = victim(s, level, group_of(s, level, least->first_cpu), cpu);
	/* A task that runs alone is pushed after some failures: two for new idle CPUs of level 2, cache_nice_tries + 2
	 * else. */
	if (from == NONE || ++c->failed_savings <= (s->o.power_mc >= 2 || s->o.power_smt >= 2 ? 2u : 3u))
		return from != NONE;
	c->failed_savings = 0;
	s_push_running(s, from, cpu);
	return true;
}

void s_save_power(struct sim *s, uint32_t cpu)
{
	if (!save(s, BY_PACKAGE, cpu) && !(s->o.power_smt && save(s, BY_CORE, cpu)))
		s->cpu[cpu].failed_savings = 0;
}
