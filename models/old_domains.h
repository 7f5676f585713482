/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Scheduling domains as kernels up to 4.x built them on x86: SMT, MC (CPUs that share the last-level cache), CPU (the
 * node), NODE (the machine); a level that spans no more CPUs than the one below is left out. Cluster levels did not exist.
 * And the search of the idlest CPU that these kernels used for fork, exec and SD_BALANCE_WAKE.
 */
#ifndef WI_MODELS_OLD_DOMAINS_H
#define WI_MODELS_OLD_DOMAINS_H

#include "models/wakeif_model.h"

enum wi_old_level { WI_OLD_SMT, WI_OLD_MC, WI_OLD_CPU, WI_OLD_NODE, WI_NR_OLD_LEVELS };

struct wi_old_domain {
	enum wi_old_level level;
	const wakeif_word *span;  /* online CPUs only */
	const wakeif_word *child; /* span of the level below around the CPU that owns this list; NULL: the CPU alone */
	uint32_t weight;
};

/* One list a CPU, innermost first. */
struct wi_old_domains {
	const struct wakeif_topology *topo;
	uint32_t words;
	wakeif_word *spans;	   /* storage */
	struct wi_old_domain *dom; /* nr_cpus * WI_NR_OLD_LEVELS */
	uint8_t *nr;		   /* by CPU */
	wakeif_word *group, *left, *best; /* room: a group of one CPU, CPUs not walked yet, the idlest group */
	uint32_t cpu;		   /* of the walk in progress */
	enum wi_old_level level;
	bool single;
};

bool wi_old_domains_init(struct wi_old_domains *d, const struct wakeif_topology *topo); /* false: out of memory */
void wi_old_domains_fini(struct wi_old_domains *d);

static inline const struct wi_old_domain *wi_old_domains_of(const struct wi_old_domains *d, uint32_t cpu, uint32_t *nr)
{
	*nr = d->nr[cpu];
	return &d->dom[(uint64_t)cpu * WI_NR_OLD_LEVELS];
}

/*
 * The groups of the domain at index i of cpu's list, in the kernel's order: the one with cpu first, then ascending with
 * wrap-around; NULL after the last. A set is valid until the next call; one walk at a time.
 */
void wi_old_groups_begin(struct wi_old_domains *d, uint32_t cpu, uint32_t i);
const wakeif_word *wi_old_groups_next(struct wi_old_domains *d);

/* Index of the outermost domain of cpu's list that shares the last-level cache; -1: none. */
int wi_old_llc(const struct wi_old_domains *d, uint32_t cpu);

/* Load of a CPU as a search of the idlest reads it: local CPUs by the lower, remote ones by the higher estimate. */
typedef uint64_t (*wi_old_load_fn)(void *ctx, uint32_t cpu, bool local, enum wi_old_level level);

/*
 * find_idlest_group and find_idlest_cpu from domain `top` of cpu's list inwards, as 2.6.29 .. 4.x walked: the group with
 * strictly the least load (2.6.29: sched.c, find_idlest_group), unless 100 * own load < imbalance * that; then the CPU
 * with the least load in it, cpu itself at a tie; on from there, inwards. pct: imbalance percentage by level.
 * WAKEIF_CPU_NONE: no group was better than the local one. A local group without an allowed CPU counts as idle.
 */
uint32_t wi_old_idlest(struct wi_old_domains *d, uint32_t cpu, int top, const wakeif_word *allowed, wi_old_load_fn load, void *ctx,
		       const uint32_t pct[WI_NR_OLD_LEVELS], uint32_t *examined);

#endif
