/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a kernel remembers between the decisions of models/fair.c: recent_used_cpu of each task, has_idle_cores of each
 * LLC, last wakees, run lengths; kept from a model's own run of every decision. The models of single kernels are this
 * with their knobs.
 */
#ifndef WI_MODELS_FAIR_STATE_H
#define WI_MODELS_FAIR_STATE_H

#include "models/fair.h"

struct wi_fair_state_opts {
	struct wi_fair_knobs knobs;
	/*
	 * The recording kernel's own model may learn from what that kernel chose before: a choice other than the
	 * previous and the waker's CPU proves that recent_used_cpu was reached; one that only the other value of
	 * has_idle_cores gives proves that value;
	 * how far it looked for an idle CPU bounds nr_idle_scan for a while.
	 */
	bool observed;
	bool core_sched;	    /* core scheduling, with the cookies of host->cookie */
	bool forks_elsewhere;	    /* forks and execs are not asked here: their views are not seen, idle cores are followed without */
	bool runnable_load;	    /* CPUs are compared by host->runnable_load (up to 5.6), not by cpu_load */
	int64_t nr_idle_scan;	    /* fixed; negative: host->scan_budget */
	uint64_t vcpu_preempted_ns; /* CPUs idle for longer count as taken from the guest, as busy; 0: never */
	/* SIS_PROP: CPUs + 1 that may be looked at; NULL: all. examined: after a search, how many it looked at */
	uint32_t (*prop_budget)(void *ctx, uint32_t cpu);
	void (*prop_searched)(void *ctx, uint32_t cpu, uint32_t examined);
	void *prop_ctx;
};

struct wi_fair_state;

/* NULL: out of memory; told through host->say. host is borrowed. */
struct wi_fair_state *wi_fair_state_new(const struct wakeif_host *host, const struct wi_fair_state_opts *opts);
void wi_fair_state_free(struct wi_fair_state *s);

/*
 * `like` is asked before s at every decision of the run. Where they differ in nothing that decisions hang on, and
 * remember the same, s takes over its answer. false: they differ.
 */
bool wi_fair_state_pair(struct wi_fair_state *s, struct wi_fair_state *like);

/* As the hooks of struct wakeif_model_ops. A fork or exec (w->class_) goes the slow path. */
bool wi_fair_state_select(struct wi_fair_state *s, const struct wakeif_wakeup *w, const struct wakeif_view *v,
			  struct wakeif_choice *choice);
void wi_fair_state_observe(struct wi_fair_state *s, const struct wakeif_happening *h);

/*
 * Everything that the latest select looked at, as it was before that decision changed the state; for wi_fair_select()
 * with a trace, and for wi_fair_reachable(). Valid until the model is called again, and no longer than the view of that
 * select. NULL: there was none.
 */
const struct wi_fair_inputs *wi_fair_state_inputs(struct wi_fair_state *s);
const struct wi_fair_result *wi_fair_state_result(const struct wi_fair_state *s);

#endif
