/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A small made-up machine that runs by lot, as models see it: views, wakeups, happenings, estimates. The same run can
 * be shown to several observers with their CPUs numbered differently.
 */
#ifndef MODEL_WORLD_H
#define MODEL_WORLD_H

#include "models/wakeif_model.h"

/* What may happen in a run. */
struct world_opts {
	uint64_t seed;
	bool narrow;	  /* affinity by lot, one CPU at times, also CPUs that are offline */
	bool unknowns;	  /* CPUs whose state gets lost, wakers and flags that are not known */
	bool strange;	  /* previous and waker's CPU may be offline */
	bool all_unknown; /* no CPU is ever known */
	bool pinned;	  /* the wakee may run on one CPU */
	bool no_ties; /* at most one CPU idles; no two CPUs are queued on or loaded alike; searches have no budget */
	bool classes; /* forks and execs, too */
};

struct world;
struct world *world_new(const struct wakeif_topology *topo, const struct world_opts *o, uint32_t nr_tasks);
void world_free(struct world *w);

/*
 * One who watches: number[c] is what CPU c of the run is called there (NULL: c); the numbering must be a symmetry of
 * the topology. What is lent stays valid until the observer is freed.
 */
struct observer;
struct observer *observer_new(struct world *w, const struct wakeif_model_ops *ops, const int64_t *values,
			      const uint32_t *number);
void observer_free(struct observer *o);
uint32_t observer_number(const struct observer *o, uint32_t cpu);

/* Runs on until a task wakes; the observers are told what happens. */
void world_run(struct world *w, struct observer *const *o, int nr);

/* Asks a model about the task that wakes; false when it cannot tell. */
bool observer_ask(struct observer *o, struct wakeif_choice *choice);
const struct wakeif_wakeup *observer_wakeup(const struct observer *o);
const struct wakeif_view *observer_view(const struct observer *o);

/* The task that wakes is put on this CPU of the run. */
void world_place(struct world *w, struct observer *const *o, int nr, uint32_t cpu);

#endif
