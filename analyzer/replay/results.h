/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the replay found: one row for what happened and one a model. Plain data, no pointer into the timeline. Results
 * of several traces, or of shards of one, merge associatively and commutatively. doc/replay.md says what each number
 * means.
 */
#ifndef WI_REPLAY_RESULTS_H
#define WI_REPLAY_RESULTS_H

#include "analyzer/base/err.h"
#include "analyzer/base/hist.h"
#include "analyzer/metrics/results.h"
#include "models/wakeif_model.h"

/*
 * Why an answer differs from what the kernel did. Each disagreement has the first of these that holds.
 * X(id, name, what it means)
 */
#define WI_REASONS(X)                                                                                                  \
	X(HINDSIGHT, "hindsight", "the model knows what came after")                                                   \
	X(RACE, "race", "a CPU that the two answers hang on became idle or busy between sched_waking and the decision, or within 2 us of it") \
	X(SIS_AMBIGUOUS, "sis_ambiguous", "the model's search hangs on an estimate (its budget) whose error turns the answer") \
	X(SYNC_UNKNOWN, "sync_unknown", "the kernel's choice is the model's with WF_SYNC the other way round, and the flag was not recorded") \
	X(AFFINITY_UNKNOWN, "affinity_unknown", "the affinity was not recorded, and the task never ran on the model's choice before") \
	X(LOAD, "load", "a comparison of estimated loads gave the answer")                                             \
	X(REPAIR, "repair", "records are missing or contradict: an unknown CPU, a choice known from the switch only, a wakeup that may have been decided by nobody") \
	X(OTHER, "other", "none of these")

enum wi_reason {
#define X(id, name, help) WI_REASON_##id,
	WI_REASONS(X)
#undef X
	WI_NR_REASONS
};

const char *wi_reason_name(enum wi_reason r);
const char *wi_reason_help(enum wi_reason r);
const char *wi_rule_name(enum wakeif_rule r);	  /* "none" for other numbers */
const char *wi_rule_help(enum wakeif_rule r);	  /* what it means */
const char *wi_affine_name(enum wakeif_affine a); /* "not_asked" for other numbers */

/* Which answers equal the kernel's choice: its CPU, its core, its LLC; and whether both CPUs were idle, or both not. */
struct wi_agreement {
	uint64_t decided, cpu, core, llc, busy;
};

/* Missed idle (METRICS) of an answer, at the decision instant; counts only: what it would have cost is in est_wait. */
struct wi_model_missed {
	uint64_t decided, chosen_idle, queued_on_busy, chosen_unknown; /* chosen_unknown: part of row[UNKNOWN] */
	uint64_t row[WI_NR_MISSED_ROWS];			       /* chosen_idle + sum of rows = decided */
	uint64_t queued_while_idle_core[WI_NR_WIDE], half_busy_core[WI_NR_WIDE];
	uint64_t stacked_on_waker, prev_idle_elsewhere, on_sched_idle_only;
};

/*
 * Estimated wait of the answers: 0 on an idle CPU; else until that CPU became idle in the trace, or every task that was
 * queued there had been switched out once. wait.count + the three others = decided.
 */
struct wi_est_wait {
	struct wi_hist wait;
	uint64_t censored; /* not over at the end of the window */
	uint64_t unknown;  /* the CPU's state was unknown, or became so */
	uint64_t dropped;  /* given up: too many at once */
};

/* Search for an idle CPU (select_idle_sibling); found + failed = tries. */
struct wi_search {
	uint64_t tries, scans, found, failed, examined;
};

/* Share of busy CPUs of the LLC searched: 0, below 25, 50, 75, 100 %, 100 %. */
#define WI_NR_LOAD_BUCKETS 6
const char *wi_load_bucket_name(uint32_t bucket);

struct wi_search_results {
	struct wi_search all, by_load[WI_NR_LOAD_BUCKETS];
	uint64_t target, prev, recent, kthread, smt; /* hits before the scan */
	uint64_t core_wanted, core_found;
};

struct wi_tally { /* answers of a kind, and how many of them were the kernel's choice */
	uint64_t answers, agree;
};

struct wi_model_results {
	char *label;   /* name and parameters that are not their defaults; "what happened" for the first row; owned */
	char *params;  /* all parameters, "" none; owned */
	uint32_t position; /* on the command line; 0: what happened */
	bool of_kernel;	   /* the model of the kernel that made the recording */
	uint32_t needs;	   /* enum wakeif_need */
	struct wi_agreement select, stalled, fork, exec; /* stalled: part of select */
	uint64_t invalid;    /* illegal answers, replaced by the kernel's fallback */
	uint64_t unanswered; /* no answer: replaced likewise; part of invalid */
	struct wi_tally rule[WAKEIF_NR_RULES]; /* of select */
	struct wi_tally affine[WAKEIF_NR_AFFINE], affine_sync; /* of select, waker not on prev_cpu; _sync: turns with WF_SYNC */
	struct wi_tally tagged; /* of select: answers that the model calls ambiguous */
	uint64_t sync_matters;	/* of select: answers that turn with WF_SYNC */
	uint64_t disagree[WI_NR_REASONS]; /* of select; sums to select.decided - select.cpu */
	struct wi_model_missed missed;
	struct wi_est_wait est_wait;
	uint64_t moves[WI_NR_DISTANCES + 1]; /* from prev_cpu, by distance; the last: not known */
	uint64_t examined;
	struct wi_search_results search;
	struct wi_hist real_wait; /* what happened only: queue wait of those that were switched in */
};

/* How WF_SYNC was found. */
#define WI_SYNC_MODES(X) X(LEARNED, "learned") X(RECORDED, "recorded") X(NEVER, "never") X(ALWAYS, "always")

enum wi_sync_mode {
#define X(id, name) WI_SYNC_##id,
	WI_SYNC_MODES(X)
#undef X
	WI_NR_SYNC_MODES
};

const char *wi_sync_mode_name(enum wi_sync_mode m);

struct wi_sync_results {
	uint64_t asked[WI_NR_SYNC_MODES]; /* decided wakeups by the way their flag was found */
	uint64_t set;			  /* of them with the flag */
	uint64_t by_pair, by_context, by_default; /* of asked[LEARNED]: what its table knew */
	uint64_t pairs, votes, votes_sync;	  /* the table: pairs of names and context; outcomes that tell */
};

struct wi_replay_results {
	uint64_t nr_traces;
	uint64_t by_class[WAKEIF_NR_CLASSES]; /* wakeups of the window that came to their decision, and execs */
	uint64_t decided, stalled;	      /* class SELECT */
	uint64_t not_replayed; /* class SELECT, but the chosen CPU is not in the topology or not known */
	uint64_t allowed[WAKEIF_NR_ALLOWED_SOURCES]; /* decided wakeups by source of the affinity */
	struct wi_sync_results sync;
	struct wi_model_results *model; /* [0] what happened; then by position, label, params */
	size_t nr_models;
};

/*
 * Adds from to into; models are matched by label and parameters, one that into lacks is added. false: err set (out of
 * memory); into is then only good for wi_replay_results_free().
 */
bool wi_replay_results_merge(struct wi_replay_results *into, const struct wi_replay_results *from, struct wi_err *err);
struct wi_replay_results *wi_replay_results_new(struct wi_err *err); /* empty: merging into it copies */
void wi_replay_results_free(struct wi_replay_results *r);

#endif
