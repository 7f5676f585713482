/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Migrations and how far they went (METRICS rule 31). */
#include "analyzer/metrics/priv.h"

void m_migrated(struct wi_metrics *m, uint64_t now_ns, uint32_t orig_cpu, uint32_t dest_cpu, bool inferred,
		bool placement)
{
	struct wi_migration_results *r = &m->migrations;

	if (now_ns < m->start_ns)
		return;
	r->total++;
	r->inferred += inferred;
	r->placement += placement;
	enum wi_distance d = m_distance(&m->lay, orig_cpu, dest_cpu);
	if (d == WI_DIST_UNKNOWN)
		r->distance_unknown++;
	else
		r->by_distance[d == WI_DIST_CPU ? WI_DIST_CORE
						: d]++; /* a move to where it was went no farther than the core */
}

void wi_migration_results_merge(struct wi_migration_results *into, const struct wi_migration_results *from)
{
	into->total += from->total;
	into->inferred += from->inferred;
	into->placement += from->placement;
	into->distance_unknown += from->distance_unknown;
	for (int d = 0; d < WI_NR_DISTANCES; d++)
		into->by_distance[d] += from->by_distance[d];
}
