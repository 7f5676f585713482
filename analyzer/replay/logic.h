/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Is the decision logic of models/fair.c the kernel's? Each recorded decision is run again from the kernel's own state:
 * idle tests are answered as they were recorded and must be asked in the same order, the load compare has its recorded
 * outcome, everything else is what the probes saw when the function was entered. What differs then is a value that
 * changed between that instant and its use, or a fault; the harness tries which single changed value explains it.
 *
 * Of delayed tasks (6.12) the kernel's run queues tell in their total only: those on the waker's CPU are what its queue
 * holds beyond the tasks that the trace shows runnable there.
 */
#ifndef WI_REPLAY_LOGIC_H
#define WI_REPLAY_LOGIC_H

#include <stdbool.h>
#include <stdint.h>

#include "analyzer/base/err.h"
#include "analyzer/replay/truth.h"
#include "models/fair.h"

/* Why a decision came out differently, first that fits. X(id, name, meaning) */
#define WI_LOGIC_REASONS(X)                                                                                            \
	X(NONE, "none", "it did not")                                                                                  \
	X(IDLE_CORES, "has_idle_cores", "has_idle_cores changed between entry and use")                                \
	X(BUDGET, "nr_idle_scan", "nr_idle_scan changed between entry and use")                                        \
	X(SIDLE, "sched_idle", "a CPU began or ceased to run SCHED_IDLE tasks only")                                   \
	X(QUEUE, "nr_running", "a run queue (wakeups: the waker's) got or lost a task, or counted a delayed one")      \
	X(IDLE, "idle", "slow path: a CPU became idle or busy during the call")                                        \
	X(STAMP, "idle_stamp", "slow path: since when a CPU is idle is not known, or two differ by little")            \
	X(TWO, "two", "two of these together")                                                                         \
	X(UNEXPLAINED, "unexplained", "none of these: a fault, or more than two")

enum wi_logic_reason {
#define X(id, name, help) WI_LOGIC_##id,
	WI_LOGIC_REASONS(X)
#undef X
		WI_LOGIC_NR_REASONS
};

const char *wi_logic_reason_name(enum wi_logic_reason reason);
const char *wi_logic_reason_meaning(enum wi_logic_reason reason);

/* What was found of one decision. */
struct wi_logic_case {
	uint64_t line, ts_ns;
	int32_t pid;
	uint8_t class_; /* enum wakeif_class: SELECT, FORK, EXEC */
	bool checked;	/* the recording has what it takes */
	bool ret_ok, sequence_ok;
	bool target_known, target_ok;
	uint32_t delayed;		/* tasks of the waker's CPU that the trace shows to be asleep */
	bool delayed_assumed;		/* right only if more are: all but the waker; nothing shows it */
	bool wide_known, wide_ok, wide; /* wide: as recorded */
	bool weight_known, weight_ok;	/* the load compare was reached where the kernel reached it */
	uint32_t ret, model;
	uint16_t rule;	/* enum wakeif_rule of the model's answer */
	uint8_t reason; /* enum wi_logic_reason */
};

struct wi_logic_results {
	uint64_t decisions, ret_ok, sequence_ok; /* of wakeups */
	uint64_t unchecked;			 /* no run queues or no tests recorded */
	uint64_t delayed_seen, delayed_assumed;	 /* wakeups with struct wi_logic_case delayed, delayed_assumed */
	uint64_t wide_known, wide_true, wide_ok;
	uint64_t target_known, target_ok;
	uint64_t weight_known, weight_ok;
	uint64_t fork, fork_ok, exec, exec_ok;
	struct {
		uint64_t decisions, wrong;
	} by_rule[WAKEIF_NR_RULES];
	uint64_t reasons[WI_LOGIC_NR_REASONS];	    /* of wakeups with ret or sequence wrong */
	uint64_t slow_reasons[WI_LOGIC_NR_REASONS]; /* of forks and execs */
};

void wi_logic_merge(struct wi_logic_results *into, const struct wi_logic_results *from);

struct wi_logic;

/* knobs: of the recording kernel (wi_fair_knobs_of). Topology is borrowed. NULL: err set. */
struct wi_logic *wi_logic_new(const struct wakeif_topology *topology, const struct wi_fair_knobs *knobs,
			      struct wi_err *err);
void wi_logic_free(struct wi_logic *l); /* NULL is allowed */

/* What the trace shows, in time order with the decisions. false: out of memory. */
bool wi_logic_happened(struct wi_logic *l, const struct wakeif_happening *h);

/*
 * Decisions in time order, each after what happened before it. Counts it in results; *out tells of it. false: err set:
 * the decision names a CPU that the topology lacks (path: of the truth, for the message).
 */
bool wi_logic_check(struct wi_logic *l, const struct wi_truth_decision *d, const char *path, struct wi_logic_case *out,
		    struct wi_err *err);

const struct wi_logic_results *wi_logic_results(const struct wi_logic *l);

#endif
