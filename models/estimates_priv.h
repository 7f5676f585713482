/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef WI_MODELS_ESTIMATES_PRIV_H
#define WI_MODELS_ESTIMATES_PRIV_H

#include "models/estimates.h"
#include "models/idle_cores.h"
#include "models/pelt.h"
#include "models/scan_budget.h"
#include "models/wake_history.h"

#define NONE UINT32_MAX
#define NR_OLD_LOADS 5

struct est_task {
	struct wi_pelt_task pelt;
	uint64_t id;	  /* never used twice; 0: the slot is free */
	uint64_t seen_ns; /* told of since */
	uint32_t cpu;	  /* where it counts; NONE unknown */
	uint32_t on_cpu;  /* queued there, whatever its class (kept for the budget); NONE */
	uint32_t group;	  /* 0: the root */
	bool born;	  /* since its birth */
	bool queued, running;
	bool fair;
	bool idle_policy;
};

struct est_cpu {
	struct wi_pelt_cpu pelt; /* the root's queue */
	struct wi_pelt_cpu flat; /* kept with groups: the same as if there were none */
	uint64_t placed_ns;	 /* a wakeup was sent here while it idled; 0: none since it began to idle */
	uint32_t curr;		 /* slot of the fair task that runs; NONE */
	bool idle;		 /* swapper is current */
	uint64_t old_load[NR_OLD_LOADS];
	uint64_t old_jiffy; /* up to which old_load counts */
	struct wi_avg_idle avg_idle;
};

/* A group on one CPU. */
struct est_grq {
	struct wi_pelt_cpu queue;
	struct wi_pelt_task entity; /* stands for it in the root's queue */
	uint64_t contributes;	    /* to the group's load_avg */
};

/*
 * Whether groups count is not recorded: autogroups are named by the kernel even where they are switched off. While
 * there are groups the loads are kept both ways, and the way that foretells better where tasks go is the one that is
 * read.
 */
struct est_group {
	uint32_t shares;
	uint64_t load_avg; /* over all CPUs */
	struct est_grq *cpu;
};

/* How long idle CPUs take to answer a wakeup: counts by quarter octave. */
struct est_answers {
	uint32_t count[4 * 64];
	uint32_t nr;
	uint64_t late_ns; /* one in twenty takes longer */
};

/* A decision whose outcome is about to be told. */
struct est_asked {
	uint32_t task, waker_cpu, prev_cpu; /* NONE: none */
	uint32_t unknown;
	uint32_t wide; /* by guess */
};

struct wi_estimates {
	const struct wakeif_topology *topo;
	uint32_t needs, kernel, hz;
	uint64_t seed;
	void *caller;
	uint64_t now_ns, first_ns;
	uint64_t tick_ns; /* length of a jiffy */
	struct est_answers answers;
	uint64_t jiffy, jiffy_ns; /* the present one and its beginning */
	bool started, failed, ticks_recorded;
	bool loads, budgets; /* of needs */
	bool est_single;     /* 6.8 on: util_est is one value */
	bool new_unscaled;   /* before 6.10, see wi_pelt_init_new() */
	uint64_t next_id;
	struct est_cpu *cpu;
	struct est_task *task;
	struct wi_flips *flips, *flips_reset;
	struct wi_flips_guess *guess; /* of unknown counts, from 1 */
	uint32_t nr_guesses, max_guesses;
	bool flips_from_zero;
	uint32_t llc_size; /* the largest */
	struct est_asked asked;
	struct wi_lengths *lengths;
	uint32_t nr_slots; /* of all four */
	struct wi_scan_budget *budget;
	struct wi_idle_cores idle_cores;
	struct est_group *group; /* 1 .. nr_groups; [0] is not used */
	uint32_t nr_groups, other_group;
	bool flat;	    /* loads are read as if there were no groups */
	double group_score; /* logarithm of how much likelier groups make what happened */
	struct {
		uint32_t task, waker_cpu, prev_cpu; /* task NONE: none */
		bool grouped_says_waker;	    /* and the other way the opposite */
	} weighed;				    /* a decision whose outcome is about to be told */
	const struct wi_estimates_member *members;
	size_t nr_members;
};

struct est_task *est_task_make(struct wi_estimates *e, uint32_t slot);

/* The slot, made if need be; NULL: out of memory, or no slot. */
static inline struct est_task *est_task(struct wi_estimates *e, uint32_t slot)
{
	if (__builtin_expect(slot < e->nr_slots && e->task[slot].id, 1))
		return &e->task[slot];
	return est_task_make(e, slot);
}

/* estimates.c: as in struct wakeif_host */
uint64_t est_host_cpu_load(void *e, uint32_t cpu);
uint64_t est_host_task_load(void *e, uint32_t slot);

/* estimates_flips.c */
void est_flips_begin(struct wi_estimates *e, uint32_t slot);
void est_flips_wakeup(struct wi_estimates *e, const struct wakeif_wakeup *w);
void est_flips_placed(struct wi_estimates *e, const struct wakeif_happening *h);
uint32_t est_flips(const struct wi_estimates *e, const struct wi_flips *all, uint32_t slot);

/* estimates_load.c: PELT */
void est_load_happened(struct wi_estimates *e, const struct wakeif_happening *h);
void est_load_forget(struct wi_estimates *e, uint32_t slot);
void est_load_tick(struct wi_estimates *e, uint32_t cpu);     /* a recorded one */
void est_load_sync_cpu(struct wi_estimates *e, uint32_t cpu); /* to the last tick assumed */
void est_load_sync_task(struct wi_estimates *e, struct est_task *t);
void est_load_decay_idle(void *e, uint32_t cpu, uint64_t now_ns);
void est_old_load_sync(struct wi_estimates *e, uint32_t cpu);

/* estimates_group.c: what estimates_load.c does for tasks of the root, for those of a group */
bool est_groups_new(struct wi_estimates *e, const struct wi_estimates_opts *o);
void est_groups_free(struct wi_estimates *e);
void est_groups_start(struct wi_estimates *e);
struct est_grq *est_grq(struct wi_estimates *e, uint32_t group, uint32_t cpu);
void est_group_update(struct wi_estimates *e, uint32_t group, uint32_t cpu, uint64_t now_ns);
void est_group_attach(struct wi_estimates *e, struct est_task *t, uint32_t cpu);
void est_group_detach(struct wi_estimates *e, struct est_task *t, uint32_t cpu);
void est_group_enqueue(struct wi_estimates *e, struct est_task *t, uint32_t cpu);
void est_group_dequeue(struct wi_estimates *e, struct est_task *t, uint32_t cpu);
void est_group_reweight(struct wi_estimates *e, struct est_task *t, uint32_t weight);
void est_group_wakeup(struct wi_estimates *e, const struct wakeif_wakeup *w);
void est_group_placed(struct wi_estimates *e, const struct wakeif_happening *h);
uint64_t est_group_load(struct wi_estimates *e, const struct est_task *t);
uint32_t est_group_of(const struct wi_estimates *e, int32_t pid);

#endif
