/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdlib.h>

#include "models/fair_priv.h"

static const struct wakeif_domain *llc_domain(const struct wakeif_topology *t, uint32_t cpu)
{
	const struct wakeif_domain *best = NULL;

	for (uint32_t i = 0; i < t->nr_domains[cpu]; i++)
		if (t->domains[cpu][i].flags & WAKEIF_SD_SHARE_LLC)
			best = &t->domains[cpu][i];
	return best;
}

/* Cluster domains are those between the siblings and the LLC that the kernel calls CLS. */
static const struct wakeif_domain *cluster_domain(const struct wakeif_topology *t, uint32_t cpu)
{
	for (uint32_t i = 0; i < t->nr_domains[cpu]; i++) {
		const struct wakeif_domain *d = &t->domains[cpu][i];

		if (!(d->flags & WAKEIF_SD_SHARE_CPUCAPACITY) && d->name &&
		    (!strcmp(d->name, "CLS") || !strcmp(d->name, "CLUSTER")))
			return d;
	}
	return NULL;
}

static const struct wakeif_domain *asym_domain(const struct wakeif_topology *t, uint32_t cpu)
{
	for (uint32_t i = 0; i < t->nr_domains[cpu]; i++) {
		const struct wakeif_domain *d = &t->domains[cpu][i];
		bool all = true;

		wi_mask_for_each (c, t->online, t->nr_words) {
			bool found = false;

			wi_mask_for_each (s, d->span, t->nr_words)
				found |= t->capacity[s] == t->capacity[c];
			all &= found;
		}
		if (all)
			return d;
	}
	return NULL;
}

/* What F.7's imb_numa_nr is made of: the LLCs of the first level above an LLC, and the size of the first NUMA level. */
static void numa_sizes(struct wi_fair_machine *m)
{
	const struct wakeif_topology *t = m->topology;
	uint32_t cpu = wi_mask_next(t->online, t->nr_words, 0);

	m->imb_numa_nr = 1;
	if (cpu == UINT32_MAX)
		return;
	/* The package level exists even where it was dropped for being equal to the LLC: its span is the node at most.
	 */
	const wakeif_word *node = t->span[WAKEIF_NODE][t->group[WAKEIF_NODE][cpu]];
	uint32_t span = 0, nr_llcs = 0, llc_weight = m->llc[cpu] ? m->llc[cpu]->weight : 1;

	wi_mask_for_each (c, node, t->nr_words) {
		if (!wi_mask_test(t->online, c) || t->package[c] != t->package[cpu])
			continue;
		span++;
		nr_llcs += m->llc_id[c] == c;
	}
	if (span == llc_weight)
		m->imb_numa_nr = span / 8 ? span / 8 : 1;
	else
		m->imb_numa_nr = nr_llcs ? nr_llcs : 1;
	for (uint32_t i = 0; i < t->nr_domains[cpu] && !m->numa_weight; i++)
		if (t->domains[cpu][i].flags & WAKEIF_SD_NUMA)
			m->numa_weight = t->domains[cpu][i].weight;
}

bool wi_fair_machine_init(struct wi_fair_machine *m, const struct wakeif_topology *t)
{
	uint32_t n = t->nr_cpus, words = t->nr_words;

	*m = (struct wi_fair_machine){ .topology = t, .nr_cpus = n, .nr_words = words };
	m->llc = calloc(n, sizeof(*m->llc));
	m->asym = calloc(n, sizeof(*m->asym));
	m->cluster = calloc(n, sizeof(*m->cluster));
	m->llc_id = calloc(n, sizeof(*m->llc_id));
	m->cluster_id = calloc(n, sizeof(*m->cluster_id));
	m->core = calloc(n, sizeof(*m->core));
	m->cores = calloc((size_t)n * words, sizeof(*m->cores));
	m->scratch = calloc((size_t)4 * words, sizeof(*m->scratch));
	if (!m->llc || !m->asym || !m->cluster || !m->llc_id || !m->cluster_id || !m->core || !m->cores ||
	    !m->scratch) {
		wi_fair_machine_fini(m);
		return false;
	}
	uint32_t capacity = 0;

	for (uint32_t c = 0; c < n; c++) {
		wakeif_word *core = &m->cores[(size_t)c * words];

		m->core[c] = core;
		m->llc_id[c] = m->cluster_id[c] = c;
		if (t->group[WAKEIF_CORE][c] != UINT32_MAX)
			for (uint32_t i = 0; i < words; i++)
				core[i] = t->span[WAKEIF_CORE][t->group[WAKEIF_CORE][c]][i] & t->online[i];
		wi_mask_set(core, c);
		if (!wi_mask_test(t->online, c))
			continue;
		m->smt |= wi_mask_weight(core, words) > 1;
		m->asymmetric |= capacity && t->capacity[c] != capacity;
		capacity = t->capacity[c];
		m->llc[c] = llc_domain(t, c);
		if (m->llc[c])
			m->llc_id[c] = wi_mask_next(m->llc[c]->span, words, 0);
		m->cluster[c] = cluster_domain(t, c);
		if (m->cluster[c] && m->llc[c] && m->cluster[c]->weight < m->llc[c]->weight)
			m->clusters = true;
		else
			m->cluster[c] = NULL;
		m->cluster_id[c] = m->cluster[c] ? wi_mask_next(m->cluster[c]->span, words, 0) : m->llc_id[c];
	}
	if (m->asymmetric)
		for (uint32_t c = 0; c < n; c++)
			m->asym[c] = asym_domain(t, c);
	numa_sizes(m);
	return true;
}

void wi_fair_machine_fini(struct wi_fair_machine *m)
{
	free(m->llc);
	free(m->asym);
	free(m->cluster);
	free(m->llc_id);
	free(m->cluster_id);
	free(m->core);
	free(m->cores);
	free(m->scratch);
	*m = (struct wi_fair_machine){ 0 };
}

#define V(major, minor) ((uint32_t)(major) << 16 | (uint32_t)(minor) << 8)

struct wi_fair_knobs wi_fair_knobs_of(uint32_t v)
{
	struct wi_fair_knobs k = { .wa_idle = true, .wa_weight = true, .wa_bias = true, .short_run_ns = 375000 };

	k.affine_idle = v >= V(5, 11) ? WI_FAIR_AFFINE_PREV : v >= V(4, 16) ? WI_FAIR_AFFINE_CACHE : v >= V(4, 14) ? WI_FAIR_AFFINE_OR
			: v >= V(4, 13) ? WI_FAIR_AFFINE_SHARED : WI_FAIR_AFFINE_LOAD;
	k.weight_le = v < V(4, 16);
	k.sync_exiting = v < V(4, 16);
	k.recent = v >= V(5, 15) ? WI_FAIR_RECENT_ALWAYS : v >= V(4, 16) ? WI_FAIR_RECENT_ON_HIT : WI_FAIR_RECENT_NONE;
	k.recent_fixed = v < V(5, 15) || v >= V(6, 1); /* 6.1.y has the fix since July 2023 */
	k.kthread = v >= V(5, 15) ? WI_FAIR_KTHREAD_TASK : v >= V(5, 6) ? WI_FAIR_KTHREAD_ANY : WI_FAIR_KTHREAD_NONE;
	k.passes = v >= V(5, 12) ? WI_FAIR_ONE_PASS : WI_FAIR_THREE_PASSES;
	k.from_target = v < V(5, 15);
	k.budget = v >= V(6, 0) ? WI_FAIR_BUDGET_UTIL : WI_FAIR_BUDGET_PROP;
	k.prop_core_budget = v < V(4, 19);
	k.sidle = v >= V(5, 10) ? WI_FAIR_SIDLE_EQUAL : v >= V(5, 4) ? WI_FAIR_SIDLE_SECOND : WI_FAIR_SIDLE_NONE;
	k.cluster_scan = v >= V(6, 7);
	k.less_delayed = v >= V(6, 12);
	k.current_cpu = v >= V(6, 6);
	return k;
}
