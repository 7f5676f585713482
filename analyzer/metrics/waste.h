/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Idle while waiting (METRICS rule 26), "waste" for short: CPUs that idle while tasks wait that might run there.
 * idle_while_waiting.c, matching.c.
 */
#ifndef WI_METRICS_WASTE_H
#define WI_METRICS_WASTE_H

#include "analyzer/metrics/layout.h"
#include "analyzer/metrics/tasktab.h"

struct wi_metrics;

struct m_mask_count {
	uint32_t mask, nr;
};

struct m_mask_bag { /* which restricted masks wait here, and how often */
	struct m_mask_count *item;
	uint32_t nr, cap;
};

/*
 * Waiting tasks, CPUs with waiting tasks, and those of them that run another task, in one word: what changes together
 * is added in one go. Tasks take 30 bits (memory ends before), CPUs 17 bits.
 */
typedef uint64_t m_waiting;

#define M_WAITING_TASK 1ull
#define M_WAITING_CPU (1ull << 30)
#define M_WAITING_BEHIND (1ull << 47)

static inline uint32_t m_waiting_tasks(m_waiting w)
{
	return (uint32_t)(w & (M_WAITING_CPU - 1));
}

static inline uint32_t m_waiting_cpus(m_waiting w)
{
	return (uint32_t)(w >> 30 & 0x1ffff);
}

static inline bool m_waiting_behind(m_waiting w)
{
	return w >= M_WAITING_BEHIND;
}

struct m_waste_group {
	struct m_waste_level *level;
	m_waiting waiting;
	uint32_t nr_idle; /* idle candidates */
	uint32_t pairs, cpu_pairs;
	uint32_t nr_restricted;	 /* waiting tasks whose affinity does not cover the group's candidates */
	uint32_t number;	 /* of the group at its level */
	bool to_match;		 /* is in m_waste.to_match */
	bool behind;		 /* one of its pairs has a task that waits on a CPU that runs another one */
	uint64_t pairs_ended_ns; /* when pairs last went to 0; valid while it is 0 */
	struct m_mask_bag restricted;
};

/*
 * An episode is a time in which a level has pairs. It is over when time goes on without pairs: it may end and go on at
 * one instant.
 */
struct m_waste_level {
	const struct m_level *in_layout;
	struct m_waste_group *group;
	uint64_t pairs, cpu_pairs, nr_behind; /* sums over groups */
	/*
	 * Their integrals over time, but for what follows from the end: a rise by n at t counts n x (end - t). Modulo
	 * 2^64, as is the sum at the end.
	 */
	uint64_t pairs_ns, cpu_pairs_ns;
	uint64_t episode_ns;	   /* start of the latest; WI_TIME_UNKNOWN: there was none */
	uint64_t episode_ended_ns; /* valid while pairs is 0 */
	struct wi_waste r;
};

struct m_left { /* what ceased at the present instant, for the names of an episode that it ends */
	uint64_t since_ns;
	int32_t pid;		  /* WI_PID_NONE: an idle CPU */
	uint32_t comm, cpu, mask; /* mask: number of the task's */
};

struct m_mask {
	wakeif_word *words;
	bool covers_all;
};

struct m_waste {
	struct m_waste_level level[WAKEIF_NR_SCOPES];
	struct m_mask *mask;
	uint32_t nr_masks, cap_masks;
	uint32_t *mask_hash; /* number + 1 */
	uint32_t mask_hash_mask;
	wakeif_word *restricted_cpus; /* CPUs with a waiting task whose mask does not cover the machine */
	wakeif_word *idle;	      /* idle candidates */
	bool unsettled;		      /* one of the following has to be worked off before time goes on */
	struct m_waste_group **to_match;
	uint32_t nr_to_match;
	/* An episode that ends after this instant may be the longest of its level: its names will be asked for. */
	uint64_t names_from_ns;
	struct m_left *left;
	uint32_t nr_left, cap_left;
	/* matching.c: scratch */
	uint32_t *parent_of, *queue, *owner_of;
	wakeif_word *seen, *adjacent;
	uint32_t cap_adjacent;
};

bool m_waste_init(struct wi_metrics *m);
void m_waste_fini(struct wi_metrics *m);
m_rare void m_waste_settle(struct wi_metrics *m); /* works off what changed at m->now_ns, before time goes on */
m_rare void m_waste_kind_changed(struct wi_metrics *m, struct m_cpu *c);	  /* where tasks go on waiting */
m_rare void m_waste_cpu_known(struct wi_metrics *m, struct m_cpu *c, bool known); /* c->kind is still the old one */
void m_waste_idle_changed(struct wi_metrics *m, uint64_t now_ns, struct m_cpu *c, bool idle);
void m_waste_wait_begin(struct wi_metrics *m, uint64_t now_ns, struct m_cpu *c, struct m_task *t, bool moved);
void m_waste_wait_end(struct wi_metrics *m, struct m_task *t);
bool m_waste_finish(struct wi_metrics *m, struct wi_results *r, uint64_t end_ns);
bool m_mask_covers(const struct wi_metrics *m, const wakeif_word *mask, const wakeif_word *span);
void m_match_group(struct wi_metrics *m, const struct m_waste_group *group, uint32_t *pairs, uint32_t *cpu_pairs);
bool m_match_init(struct wi_metrics *m);
void m_match_fini(struct wi_metrics *m);

#endif
