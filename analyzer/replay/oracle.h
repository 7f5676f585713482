/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Answers that need hindsight: at a decision where no CPU lets the wakee run at once (and undisturbed), the oracle waits until
 * the trace shows which allowed CPU would have. A start on a busy CPU is when its estimated wait (wait.h) is over; a run
 * beside a busy sibling takes longer by the sibling speed; how long the wakee runs is what it did run until it slept again.
 */
#ifndef WI_REPLAY_ORACLE_H
#define WI_REPLAY_ORACLE_H

#include "analyzer/replay/verdict.h"
#include "analyzer/replay/wait.h"

struct wi_oracle_answer {
	uint32_t model; /* as given to wi_oracle_ask() */
	uint32_t cpu, kernel_cpu;
	bool stalled;	       /* the waker was */
	enum wi_wait_end how;  /* OVER: wait_ns is its start */
	uint64_t wait_ns;
	struct wi_verdict verdict; /* of cpu, at the decision */
	uint8_t kernel_state;	   /* enum wi_cpu_kind of kernel_cpu, at the decision */
};

struct wi_oracle;

/* NULL: out of memory. topo is borrowed. */
struct wi_oracle *wi_oracle_new(const struct wakeif_topology *topo, void (*done)(void *ctx, const struct wi_oracle_answer *a), void *ctx);
void wi_oracle_free(struct wi_oracle *o); /* NULL is fine */

/* Everything that the timeline tells, before the decisions that follow it; view: after it. */
void wi_oracle_happened(struct wi_oracle *o, const struct wakeif_happening *h, const struct wakeif_view *view);
void wi_oracle_cpu_idle(struct wi_oracle *o, uint64_t now_ns, uint32_t cpu, const struct wakeif_view *view);

/*
 * Asks for model, whose sibling speed is speed_percent (100: the first start wins). judge has been turned to the decision.
 * Costs time and memory for every allowed CPU.
 */
void wi_oracle_ask(struct wi_oracle *o, uint64_t now_ns, const struct wi_wakeup *w, const struct wi_judge *judge, uint32_t model, uint32_t speed_percent);

bool wi_oracle_finish(struct wi_oracle *o); /* the window is over: answers what is open; false: memory ran out on the way */

#endif
