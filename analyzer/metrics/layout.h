/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The topology as the metrics need it. */
#ifndef WI_METRICS_LAYOUT_H
#define WI_METRICS_LAYOUT_H

#include <stdbool.h>
#include <stdint.h>

#include "analyzer/base/cpumask.h"
#include "analyzer/metrics/results.h"

#define NONE UINT32_MAX /* no CPU, no index */

/* One partition of the CPUs; scopes with the same partition share it. */
struct m_level {
	enum wakeif_scope scope; /* the nearest scope that it stands for */
	uint32_t nr_groups;
	const uint32_t *group; /* by CPU */
	const wakeif_word *const *span;
	bool trivial; /* no group has two online CPUs */
};

struct m_layout {
	const struct wakeif_topology *topo;
	uint32_t nr_cpus, words;
	wakeif_word *candidates; /* online, not isolated */
	uint32_t nr_levels, level_of[WAKEIF_NR_SCOPES];
	struct m_level level[WAKEIF_NR_SCOPES];
	uint32_t nr_cores;
	uint32_t *core_threads; /* by core: online CPUs */
	uint32_t *core_first;	/* by core: index of its first online CPU in core_cpu */
	uint32_t *core_cpu;	/* online CPUs, core by core */
	uint32_t *thread;	/* by CPU: index within its core */
	uint32_t max_threads;
	uint8_t *distance; /* of CPUs a, b at a * nr_cpus + b; NULL on machines too large for it */
};

bool m_layout_init(struct m_layout *l, const struct wakeif_topology *topo);
void m_layout_fini(struct m_layout *l);
enum wi_distance m_distance_of(const struct wakeif_topology *t, uint32_t a, uint32_t b);
/* "0-3,8" of mask & also (also may be NULL); malloced, NULL: out of memory. */
char *m_cpu_list(const wakeif_word *mask, const wakeif_word *also, uint32_t words);

static inline bool m_online(const struct m_layout *l, uint32_t cpu)
{
	return wi_mask_test(l->topo->online, cpu);
}

static inline enum wi_distance m_distance(const struct m_layout *l, uint32_t a, uint32_t b)
{
	if (a >= l->nr_cpus || b >= l->nr_cpus)
		return WI_DIST_UNKNOWN;
	return l->distance ? (enum wi_distance)l->distance[a * l->nr_cpus + b] : m_distance_of(l->topo, a, b);
}

static inline bool m_same_llc(const struct wakeif_topology *t, uint32_t a, uint32_t b)
{
	return t->group[WAKEIF_LLC][a] == t->group[WAKEIF_LLC][b];
}

#endif
