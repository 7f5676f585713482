/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * sched_mc_power_savings and sched_smt_power_savings of 2.6.29 at balance: where nothing else is to be done, the
 * fullest group that has room takes the tasks of the emptiest one, so that whole packages (mc, smt) and cores (smt)
 * idle. The wakeup's part is the model's (linux-2.6.29).
 */
#include "analyzer/sim/machine.h"

enum level { BY_CORE, BY_PACKAGE };

struct filling {
	uint32_t id; /* group's number; NONE: there is no such group */
	uint32_t nr; /* tasks that run or wait in it */
	uint32_t first_cpu;
};

static uint32_t group_of(const struct sim *s, enum level level, uint32_t cpu)
{
	return level == BY_PACKAGE ? s->topo->package[cpu] : s->cpu[cpu].core;
}

/* Tasks that a group holds before it counts as full: one a core, one a thread where cores are filled as well. */
static uint32_t capacity(const struct sim *s, enum level level, uint32_t id)
{
	uint32_t cpus = 0, cores = 0, last_core = NONE;

	for (uint32_t c = 0; c < s->topo->nr_cpus; c++) {
		if (!s->cpu[c].online || group_of(s, level, c) != id)
			continue;
		cpus++;
		cores += s->cpu[c].core != last_core;
		last_core = s->cpu[c].core;
	}
	return s->o.power_smt ? cpus : cores;
}

static uint32_t running_in(const struct sim *s, enum level level, uint32_t id, uint32_t *first_cpu)
{
	uint32_t nr = 0;

	*first_cpu = NONE;
	for (uint32_t c = 0; c < s->topo->nr_cpus; c++) {
		if (!s->cpu[c].online || group_of(s, level, c) != id)
			continue;
		nr += s->view_cpu[c].nr_running;
		*first_cpu = *first_cpu == NONE ? c : *first_cpu;
	}
	return nr;
}

/* The fullest and the emptiest of the groups that hold something and have room. Cores: those of cpu's package. */
static void survey(const struct sim *s, enum level level, uint32_t cpu, struct filling *leader, struct filling *least)
{
	uint32_t nr_groups = level == BY_PACKAGE ? s->topo->nr_packages : s->topo->nr_groups[WAKEIF_CORE];

	*leader = *least = (struct filling){ .id = NONE };
	for (uint32_t id = 0; id < nr_groups; id++) {
		struct filling g = { .id = id };

		g.nr = running_in(s, level, id, &g.first_cpu);
		if (g.first_cpu == NONE || (level == BY_CORE && s->topo->package[g.first_cpu] != s->topo->package[cpu]))
			continue;
		if (!g.nr || g.nr >= capacity(s, level, id))
			continue;
		if (least->id == NONE || g.nr < least->nr || (g.nr == least->nr && g.first_cpu > least->first_cpu))
			*least = g;
		if (leader->id == NONE || g.nr > leader->nr) /* ties: the lower first CPU, which came first */
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
	struct filling leader, least;
	uint32_t own = group_of(s, level, cpu), from;

	survey(s, level, cpu, &leader, &least);
	if (leader.id == NONE || leader.id != own || least.id == own)
		return false;
	from = victim(s, level, least.id, cpu);
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
