/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Agreement with recorded ground truth: the replay's answers against what the kernel itself said of each decision, with
 * the doubtful ones tagged by the trace alone; closed forms that need no model; and, where the truth is full, the check
 * of the decision logic (logic.h).
 */
#ifndef WI_REPLAY_VALIDATE_H
#define WI_REPLAY_VALIDATE_H

#include "analyzer/replay/engine.h"
#include "analyzer/replay/logic.h"

/*
 * What must hold whatever the estimates are, on decided wakeups. X(id, name, what it says)
 */
#define WI_CLOSED_FORMS(X)                                                                                             \
	X(PREV_IDLE, "prev_idle", "previous CPU idle, and no sync wakeup by a lone waker of another LLC: it is kept")  \
	X(WAKER_IDLE, "waker_idle", "previous CPU busy, waker's CPU idle, same LLC, not wide: the waker's CPU")         \
	X(NONE_IDLE, "none_idle", "no idle CPU in the LLCs of both: the previous or the waker's CPU")                   \
	X(WAKELIST, "wakelist", "another CPU with nothing queued, or of another LLC: its sched_wakeup is recorded there") \
	X(DIRECT, "direct", "another CPU of the LLC with tasks queued: sched_wakeup is recorded on the waker's CPU")

enum wi_closed_form {
#define X(id, name, help) WI_FORM_##id,
	WI_CLOSED_FORMS(X)
#undef X
	WI_NR_CLOSED_FORMS
};

const char *wi_closed_form_name(enum wi_closed_form f);
const char *wi_closed_form_help(enum wi_closed_form f);

/* What the kernel did with wakeups of a class that the trace gave them. */
struct wi_validate_class {
	uint64_t decided;	/* it took a decision */
	uint64_t not_decided;	/* the truth says that it took none */
	uint64_t not_told;	/* the truth does not know the wakeup */
};

struct wi_validate_results {
	uint64_t nr_traces;
	uint64_t truth_wakeups, truth_forks, truth_execs; /* decisions in the truth */
	uint64_t not_in_trace; /* wakeups of the truth that the trace has no sched_waking for */
	/* Wakeups that the kernel decided and the trace gives class SELECT: */
	uint64_t decided, agree, in_set;
	bool has_tags; /* the model is one whose inputs are known: */
	uint64_t tagged, tagged_agree, gave_up;
	uint64_t stalled, stalled_agree, stalled_tagged, stalled_tagged_agree; /* by a stalled waker: part of decided */
	uint64_t sync_right;			      /* WF_SYNC was as recorded */
	uint64_t sync_agree[WI_NR_SYNC_MODES];	      /* answers that agree with WF_SYNC found in each way */
	uint64_t affine_agree, affine_asked;	      /* wake_affine was called, and the answer handed on is the same */
	uint64_t choice_wrong; /* chosen CPU read from the trace is not what the kernel returned */
	struct wi_validate_class by_class[WAKEIF_NR_CLASSES];
	struct {
		uint64_t answers, agree, tagged, tagged_agree;
	} by_rule[WAKEIF_NR_RULES];
	struct {
		uint64_t cases, hold;
	} forms[WI_NR_CLOSED_FORMS];
	bool has_logic;
	struct wi_logic_results logic;
};

void wi_validate_merge(struct wi_validate_results *into, const struct wi_validate_results *from);

struct wi_validate_opts {
	const struct wakeif_topology *topology; /* borrowed */
	uint32_t kernel_version;
	const char *truth, *nodecision; /* paths; nodecision NULL: not known */
	/* Where the truth comes from, if not from tables; truth is its name in messages then. NULL: tables. */
	struct wi_truth *(*open)(void *ctx, bool nodecision, struct wi_err *err);
	void *open_ctx;
	bool logic; /* check the logic where the truth has run queues */
	/* Called for each logic case that differs; may be NULL. */
	void (*logic_case)(void *ctx, const struct wi_logic_case *c);
	void *logic_ctx;
};

struct wi_validate;

/* Reads the truth: memory grows with its number of lines. NULL: err set. */
struct wi_validate *wi_validate_new(const struct wi_validate_opts *opts, struct wi_err *err);
void wi_validate_free(struct wi_validate *v);

/*
 * Affinity and policy of the tasks that the truth names, as it last told them, by pid: stands in for a list of tasks that
 * was taken when they lived. Borrowed from v.
 */
const struct wi_task_fact *wi_validate_facts(const struct wi_validate *v, size_t *nr);

/* For the replay: its sink, its sync_of (the truth's flag), and an observer beside it. ctx: the struct wi_validate. */
void wi_validate_sink(void *ctx, const struct wi_replay_decision *d);
bool wi_validate_sync_of(void *ctx, const struct wi_wakeup *w, bool *set);
const struct wi_timeline_observer *wi_validate_observer(struct wi_validate *v);

/* After the replay. NULL: err set. Borrowed from v. */
const struct wi_validate_results *wi_validate_finish(struct wi_validate *v, struct wi_err *err);

#endif
