/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the files of the engine share; nothing outside includes it. */
#ifndef WI_REPLAY_PRIV_H
#define WI_REPLAY_PRIV_H

#include "analyzer/base/cpumask.h"
#include "analyzer/replay/engine.h"
#include "analyzer/replay/groups.h"
#include "analyzer/replay/oracle.h"
#include "analyzer/replay/wait.h"
#include "models/estimates.h"

#define NONE UINT32_MAX
#define RACE_NS 2000u /* before sched_waking and after the decision */

struct r_model {
	struct wi_replay_model m;
	struct wakeif_host host;
	void *state;
	uint32_t types; /* of what happens that it wants to be told, bit by type */
	bool begun;
	char said[160];	  /* why it refused */
};

/* ---- disagree.c: why answers differ; what happens within 2 us after the decision counts, so they wait for that ---- */

struct r_change { /* of idle(cpu) */
	uint64_t ns, before_ns; /* the latest change, and the one before it */
	uint64_t by;		/* the decision whose wakee made the latest one; 0 other */
};

struct r_open { /* a disagreement */
	uint64_t from_ns, until_ns; /* the race window */
	uint64_t serial;
	uint32_t answer, kernel, prev, waker, target;
	uint16_t model;
	uint8_t reason; /* unless it is a race */
};

struct r_disagree {
	struct r_change *change; /* by CPU */
	struct r_open *open;	 /* ring */
	uint32_t head, nr, mask; /* mask + 1 places; 0 none yet */
	wakeif_word **ran_on;	 /* by slot: CPUs that the task ran on; NULL: none */
	uint32_t nr_ran_on;
	uint32_t own_cpu; /* the latest decision's wakee is on its way to it; NONE */
	uint64_t own_ns, own_serial;
};

/* ---- exec.c ---- */

#define EXECS 256u /* moved tasks whose sched_process_exec has not come yet */

struct r_exec {
	uint32_t task; /* slot; NONE: free */
	uint32_t from, to;
	uint32_t answer[WI_REPLAY_MODELS];
	wakeif_word *idle, *unknown; /* of the view when the models were asked */
};

struct wi_replay {
	struct wi_replay_opts opt;
	const struct wakeif_topology *topo;
	struct wi_timeline *tl;
	struct wi_timeline_observer obs;
	struct wi_estimates *est;
	struct wi_groups groups; /* borrowed by est */
	struct r_model model[WI_REPLAY_MODELS];
	struct r_model *begins; /* the one whose init() runs: what it says is for it */
	uint32_t nr;
	uint64_t told[32]; /* by type of what happens: models that are told, bit i */
	struct wakeif_choice choice[WI_REPLAY_MODELS];
	uint32_t answer[WI_REPLAY_MODELS];
	uint64_t no_wait[WI_REPLAY_MODELS + 1]; /* by row: answers on idle CPUs */
	struct wi_judge judge;
	struct wi_waits waits;
	struct wi_oracle *oracle; /* NULL: no model has hindsight */
	uint64_t later; /* models whose answer to the decision in hand comes later, bit i */
	struct r_disagree dis;
	struct r_exec *exec;
	wakeif_word *exec_words;
	uint32_t next_exec;
	uint64_t number; /* decisions of class SELECT so far */
	uint64_t serial; /* all decisions so far */
	/* verdicts of the decision in hand, by CPU: valid where stamp is its serial */
	uint64_t *stamp, *asked_by; /* asked_by: models that chose the CPU, bit i + 1; bit 0: the kernel */
	struct wi_verdict *verdict;
	uint32_t distinct[WI_REPLAY_MODELS + 1], nr_distinct;
	struct { /* of the LLC asked for last */
		uint64_t serial;
		uint32_t llc, bucket;
	} bucket;
	/* view with one CPU changed, for wakees that still count as running */
	struct wakeif_view scratch_view;
	struct wakeif_cpu *scratch_cpu;
	wakeif_word *scratch_idle;
	struct wi_replay_results *results;
	bool failed; /* out of memory in a hook */
};

/* engine.c */
const struct wakeif_view *r_view_without(struct wi_replay *r, const struct wi_task *wakee, bool leaves_idle);
void r_ask(struct wi_replay *r, const struct wakeif_wakeup *w, const struct wakeif_view *v);

/* count.c */
bool r_count_init(struct wi_replay *r);
void r_count_select(struct wi_replay *r, uint64_t now_ns, const struct wi_wakeup *w, bool sync_known);
void r_count_simple(struct wi_replay *r, size_t offset, uint32_t kernel_cpu, const uint32_t *answer,
		    const wakeif_word *idle, const wakeif_word *unknown);
void r_count_hindsight(void *ctx, const struct wi_oracle_answer *a);
void r_count_wait_ended(void *ctx, uint64_t models, enum wi_wait_end how, uint64_t ns);
bool r_count_finish(struct wi_replay *r);

/* disagree.c */
bool r_disagree_init(struct wi_replay *r);
void r_disagree_fini(struct wi_replay *r);
void r_disagree_add(struct wi_replay *r, uint64_t now_ns, const struct wi_wakeup *w, uint32_t model, bool sync_known);
void r_disagree_settle(struct wi_replay *r, uint64_t now_ns); /* those whose window ended before now */
void r_disagree_idle_changed(struct wi_replay *r, uint64_t now_ns, uint32_t cpu, bool idle);
void r_disagree_happened(struct wi_replay *r, const struct wakeif_happening *h);

/* exec.c */
bool r_exec_init(struct wi_replay *r);
void r_exec_fini(struct wi_replay *r);
void r_exec_maybe_moving(struct wi_replay *r, const struct wi_wakeup *w); /* a stopper thread is woken */
void r_exec_moved(struct wi_replay *r, const struct wi_task *task, uint32_t orig, uint32_t dest);
void r_exec(struct wi_replay *r, uint64_t now_ns, const struct wi_task *task);
void r_exec_task_ended(struct wi_replay *r, uint32_t task);

#endif
