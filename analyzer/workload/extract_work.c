/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How much work tasks do, at solo speed, while they are observed. */
#include "analyzer/workload/extract_priv.h"

static bool busy_sibling(const struct wi_extract *x, uint32_t cpu)
{
	const struct wakeif_topology *topo = x->opt.topology;
	const wakeif_word *core = topo->group[WAKEIF_CORE][cpu] != UINT32_MAX
					  ? topo->span[WAKEIF_CORE][topo->group[WAKEIF_CORE][cpu]]
					  : NULL;

	for (uint32_t c = core ? wi_mask_next(core, topo->nr_words, 0) : UINT32_MAX; c != UINT32_MAX;
	     c = wi_mask_next(core, topo->nr_words, c + 1))
		if (c != cpu && x->cpu[c].task != NONE)
			return true;
	return false;
}

static uint32_t nr_busy(const struct wi_extract *x)
{
	uint32_t n = 0;

	for (uint32_t c = 0; c < x->opt.topology->nr_cpus; c++)
		n += x->cpu[c].task != NONE;
	return n;
}

/* Share of solo speed at which the task on cpu runs, in 1/1024. */
uint32_t wi_extract_speed(const struct wi_extract *x, uint32_t cpu, const struct xtask *t)
{
	uint32_t s = 1024;

	if ((x->opt.smt_speed < 1024 || x->opt.smt_speed_of) && busy_sibling(x, cpu))
		s = x->opt.smt_speed_of ? x->opt.smt_speed_of(x->opt.smt_ctx, t->comm) : x->opt.smt_speed;
	if (x->opt.host_cpus && nr_busy(x) > x->opt.host_cpus)
		s = (uint32_t)((uint64_t)s * x->opt.host_cpus / nr_busy(x));
	return s ? s : 1;
}

void wi_extract_count(struct wi_extract *x, uint32_t cpu)
{
	struct xtask *t = x->cpu[cpu].task != NONE ? x_task(x, x->cpu[cpu].task) : NULL;

	if (!t || x->now_ns <= t->counted_ns)
		return;
	uint64_t dt = x->now_ns - t->counted_ns;

	t->work += dt * wi_extract_speed(x, cpu, t);
	t->about.ran_ns += dt;
	t->counted_ns = x->now_ns;
	x->facts.busy_ns += dt;
	x->facts.smt_ns += busy_sibling(x, cpu) ? dt : 0;
}

/* All CPUs whose speed changes when cpu becomes busy or idle. */
void wi_extract_count_around(struct wi_extract *x, uint32_t cpu)
{
	const struct wakeif_topology *topo = x->opt.topology;

	if (x->opt.host_cpus) {
		for (uint32_t c = 0; c < topo->nr_cpus; c++)
			wi_extract_count(x, c);
		return;
	}
	uint32_t g = topo->group[WAKEIF_CORE][cpu];

	if (g == UINT32_MAX) {
		wi_extract_count(x, cpu);
		return;
	}
	for (uint32_t c = wi_mask_next(topo->span[WAKEIF_CORE][g], topo->nr_words, 0); c != UINT32_MAX;
	     c = wi_mask_next(topo->span[WAKEIF_CORE][g], topo->nr_words, c + 1))
		wi_extract_count(x, c);
}

/* The window ends: what runs has run until then. */
void wi_extract_count_to(struct wi_extract *x, uint64_t end_ns)
{
	x->now_ns = end_ns;
	for (uint32_t c = 0; c < x->opt.topology->nr_cpus; c++)
		wi_extract_count(x, c);
	x->over = true;
}
