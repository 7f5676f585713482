/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which decisions could have gone another way, by the trace alone: the kernel looked at other CPUs at an instant that the
 * trace does not tell exactly. A decision is tagged when more than one CPU can be reached by trying both ways every CPU that
 * was looked at and whose idle state is not certain around that instant, and every comparison of loads that are close.
 * The idle states of a while after the decision count, too, so an answer comes later than the question.
 */
#ifndef WI_REPLAY_TAGS_H
#define WI_REPLAY_TAGS_H

#include "analyzer/base/err.h"
#include "analyzer/timeline/timeline.h"
#include "models/fair.h"

struct wi_tag {
	bool tagged;
	bool in_set;  /* what the kernel chose is among the CPUs that can be reached */
	bool gave_up; /* too many paths: tagged */
};

struct wi_tags_opts {
	const struct wakeif_topology *topology; /* borrowed */
	uint64_t around_ns;  /* before sched_waking and after the decision's latest instant */
	uint64_t glitch_ns;  /* a CPU that left idle for a wakeup on its way may look idle again for as long (before 6.2); 0: never */
	uint32_t load_percent, budget_steps; /* struct wi_fair_doubt */
	void (*done)(void *ctx, void *what, const struct wi_tag *tag);
	void *ctx;
};

#define WI_TAGS_AROUND_NS 20000
#define WI_TAGS_GLITCH_NS 100000
#define WI_TAGS_RECORD_NS 1000 /* no longer from a switch to the idle task to its record, clocks of CPUs that differ included */
#define WI_TAGS_LOAD_PERCENT 25

struct wi_tags;

/* NULL: out of memory, err set. */
struct wi_tags *wi_tags_new(const struct wi_tags_opts *opts, struct wi_err *err);
void wi_tags_free(struct wi_tags *t); /* decisions still open are dropped; NULL is fine */

/* In time order, each before what follows from it. */
void wi_tags_idle_changed(struct wi_tags *t, uint64_t now_ns, uint32_t cpu, bool idle);
void wi_tags_until(struct wi_tags *t, uint64_t now_ns); /* everything before now_ns has been told */

/* A decision, before its own effect: in as the model looked at it (copied). what: handed to done(), some time later. */
bool wi_tags_add(struct wi_tags *t, const struct wi_wakeup *w, const struct wi_fair_inputs *in, void *what, struct wi_err *err);

void wi_tags_finish(struct wi_tags *t); /* nothing more will be told: answers all that is open */

#endif
