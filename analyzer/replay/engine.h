/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Open-loop replay: state always follows the trace; at each placement decision every model says where it would have put
 * the wakee, and the answers are compared with what the kernel did. All models run in one pass.
 *
 *   r = wi_replay_new(&opts, &err);
 *   tl = wi_timeline_new(&topts, wi_replay_observer(r), &err);
 *   wi_replay_bind(r, tl);              before the first event
 *   ... wi_timeline_feed ... wi_timeline_finish(tl, &err);
 *   res = wi_replay_finish(r, &err);    borrowed until wi_replay_free, or wi_replay_take
 *
 * Which wakeups are asked: class SELECT, and FORK and EXEC, which have rows of their own. Those of other classes never
 * came to a placement decision; they are counted by class.
 */
#ifndef WI_REPLAY_ENGINE_H
#define WI_REPLAY_ENGINE_H

#include "analyzer/replay/results.h"
#include "analyzer/replay/sync.h"
#include "analyzer/replay/verdict.h"
#include "analyzer/timeline/timeline.h"
#include "models/wakeif_model.h"

#define WI_REPLAY_MODELS 63u /* at most, in one run */

struct wi_replay_model {
	const struct wakeif_model_ops *ops;
	const int64_t *values; /* ops->nr_params of them */
	const char *label, *params; /* copied */
	bool plugin;	       /* from a shared object: a crash in it is told as such */
	bool of_kernel;	       /* the model of the kernel that made the recording */
};

/*
 * One decision with all answers, for those who look at single ones. Borrowed for the length of the call, which is made
 * before the decision's own effect on the state.
 */
struct wi_replay_decision {
	uint64_t now_ns, number; /* number: of the decisions of class SELECT, from 0; others: of the next one */
	const struct wi_wakeup *w;
	const struct wakeif_wakeup *asked; /* as the models were told: with WF_SYNC as found */
	enum wi_sync_mode sync_mode;	   /* how that was found */
	enum wi_sync_source sync_source;   /* LEARNED: by which votes */
	const struct wakeif_view *view;
	const struct wi_judge *judge; /* wi_judge_cpu() tells what any CPU would have meant */
	size_t nr_models;
	const struct wakeif_choice *choice; /* as given; cpu may be illegal */
	const uint32_t *cpu;		    /* with the kernel's fallback in the place of illegal answers */
	uint32_t kernel_cpu;		    /* what the kernel chose */
	bool counts;			    /* in the window */
	const struct wi_replay *replay;	    /* for wi_replay_state() */
};

/* The state of model i (what its init returned), for built-in code that knows the model; *ops: whose it is. */
void *wi_replay_state(const struct wi_replay_decision *d, size_t i, const struct wakeif_model_ops **ops);

struct wi_replay_opts {
	const struct wakeif_topology *topology; /* borrowed */
	uint32_t kernel_version; /* major << 16 | minor << 8; 0 unknown */
	uint32_t hz;		 /* 0 unknown */
	uint64_t seed;
	const struct wi_task_fact *facts; /* what is known of tasks (their groups are used); borrowed */
	size_t nr_facts;
	const struct wi_replay_model *models; /* copied, but for ops and values */
	size_t nr_models;		      /* 0: only what happened */
	/* LEARNED: as recorded where it is, else by the table; RECORDED: else not set; NEVER, ALWAYS: whatever is recorded */
	enum wi_sync_mode sync;
	/* RECORDED: knows the flag of a wakeup from elsewhere (recorded truth); false: it does not. May be NULL */
	bool (*sync_of)(void *ctx, const struct wi_wakeup *w, bool *set);
	void *sync_ctx;
	const struct wi_sync_table *learned; /* for LEARNED; borrowed; NULL: nothing is known */
	/*
	 * Not NULL: a pass that only learns. The first model is asked, nothing is counted, and where its answer turns with
	 * WF_SYNC the kernel's choice votes.
	 */
	struct wi_sync_table *learn;
	uint32_t (*cookie)(void *ctx, uint32_t slot); /* host->cookie of the models; NULL: no map, none has any */
	void *cookie_ctx;
	void (*sink)(void *ctx, const struct wi_replay_decision *d); /* may be NULL */
	void *sink_ctx;
};

struct wi_replay;

/* NULL: err set (out of memory; WI_EREFUSED: a model refuses, with its reason; WI_EUSAGE: too many models). */
struct wi_replay *wi_replay_new(const struct wi_replay_opts *opts, struct wi_err *err);
const struct wi_timeline_observer *wi_replay_observer(struct wi_replay *r); /* borrowed from r */
void wi_replay_bind(struct wi_replay *r, struct wi_timeline *tl);
/* After wi_timeline_finish(). NULL: err set. Once. After a pass that learns: empty results. */
const struct wi_replay_results *wi_replay_finish(struct wi_replay *r, struct wi_err *err);
struct wi_replay_results *wi_replay_take(struct wi_replay *r); /* the results become the caller's; after finish */
void wi_replay_free(struct wi_replay *r);

#endif
