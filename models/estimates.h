/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the kernel knew and a trace does not say, rebuilt from what happened: loads, wakee flips, the budget of the idle
 * search, idle and run lengths. One object serves all models of a run; it follows the recorded run, not a model's own.
 *
 * Fed with every happening in time order, and with each wakeup at its decision instant before the models are asked:
 *
 *	wi_estimates_happened(e, h);		from the timeline's happened()
 *	wi_estimates_wakeup(e, &w->pub);	from decision(): records the wakee with the waker, sets the time of
 *reading
 *	... models ask the functions of struct wakeif_host ...
 *
 * Values are as the kernel would read them at that instant, that is of their last update: enqueue, dequeue, switch or
 * tick there. Ticks are those recorded (irq_vectors:local_timer_entry); without them a CPU that runs a fair task is
 * assumed to tick every 1/hz, all CPUs together, from the start of the clock.
 * The cost of a happening does not depend on the number of CPUs or tasks.
 */
#ifndef WI_MODELS_ESTIMATES_H
#define WI_MODELS_ESTIMATES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyzer/base/err.h"
#include "models/wakeif_model.h"

struct wi_estimates;

/* A task that is in a group when the recording begins. */
struct wi_estimates_member {
	int32_t pid;
	uint32_t group; /* 1 .. nr_groups; 0 the root */
};

struct wi_estimates_opts {
	const struct wakeif_topology *topology; /* borrowed until the estimates are freed */
	uint32_t needs;		 /* enum wakeif_need of all models together; the others' functions give 0 */
	uint32_t kernel_version; /* of the recording: major << 16 | minor << 8; 0 unknown: as 6.1 */
	uint32_t hz;		 /* 0 unknown: 250 */
	uint64_t seed;		 /* handed on to models */
	bool flips_from_zero; /* counts that tasks brought along are taken as 0, and not learned from past placements */
	/*
	 * Groups of tasks that share CPU time, one level deep (autogroups, cgroups): loads of CPUs and tasks are then
	 * those of the root's level. A new task is in its parent's group.
	 */
	uint32_t nr_groups;			   /* 0: all tasks are in the root */
	const uint32_t *group_shares;		   /* nr_groups of them, 1024 is nice 0; NULL: 1024 each */
	const struct wi_estimates_member *members; /* by pid; borrowed until the estimates are freed */
	size_t nr_members;
	uint32_t other_group; /* of tasks that were there before the recording and are not named */
	void *caller;	      /* for the caller's own functions in struct wakeif_host, see wi_estimates_caller() */
};

/* NULL: out of memory, err set. */
struct wi_estimates *wi_estimates_new(const struct wi_estimates_opts *opts, struct wi_err *err);
void wi_estimates_free(struct wi_estimates *e); /* NULL is fine */

void wi_estimates_happened(struct wi_estimates *e, const struct wakeif_happening *h);

/* Any class; only SELECT is recorded as waking (no other is counted by the kernel). */
void wi_estimates_wakeup(struct wi_estimates *e, const struct wakeif_wakeup *w);

/* The models are about to be asked with this view. */
void wi_estimates_look(struct wi_estimates *e, const struct wakeif_view *v);

/* false: memory ran out on the way and what was told since is missing; err set. To be asked at the end. */
bool wi_estimates_ok(const struct wi_estimates *e, struct wi_err *err);

/* Fills every field of *host but say, observe_only, cookie and nr_idle_states, which are the caller's and are left as they are. */
void wi_estimates_host(struct wi_estimates *e, struct wakeif_host *host);

/* The same for a model of these needs; what it did not ask for may be there all the same, because another model did. */
void wi_estimates_host_for(struct wi_estimates *e, uint32_t needs, struct wakeif_host *host);

/* Whether loads count groups now: there are some, and past placements speak for it. */
bool wi_estimates_grouped(const struct wi_estimates *e);

/* What opts.caller was, from the ctx that a host function (say, cookie) is called with. */
void *wi_estimates_caller(void *host_ctx);

/*
 * How long the estimates of a CPU or task have been fed: loads that began as unknown are good after some 200 ms, flips
 * after 2 s. UINT64_MAX: from its birth.
 */
uint64_t wi_estimates_task_age_ns(const struct wi_estimates *e, uint32_t task);
uint64_t wi_estimates_age_ns(const struct wi_estimates *e);

#endif
