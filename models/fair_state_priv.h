/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the files of a kernel's memory share; nothing outside includes it. */
#ifndef WI_MODELS_FAIR_STATE_PRIV_H
#define WI_MODELS_FAIR_STATE_PRIV_H

#include "models/fair_state.h"
#include "models/idle_cores.h"

#define NONE UINT32_MAX

/* Kept only where a knob asks for it. */
struct lengths {
	uint64_t since_ns;	   /* runs, or sleeps, since; 0 not known */
	uint64_t ran_ns;	   /* since its last sleep */
	uint64_t run_ns, sleep_ns; /* averages, a new value counting an eighth; 0 nothing yet */
	uint32_t last_wakee;
	bool runs;
};

/*
 * What past choices say of nr_idle_scan: a search that found its CPU after n looks had as many, one that gave up before
 * had fewer. It holds until the kernel computes the value anew, which is not seen.
 */
struct evidence {
	uint32_t least, below; /* least <= nr_idle_scan < below */
	uint32_t gave_up;      /* looks until the idle CPU that the latest search did not reach; 0 none */
	uint64_t least_ns, below_ns, gave_up_ns;
};

/*
 * Core scheduling: a core has the cookie of its latest pick of a task, which is that of a thread's running one; a core
 * whose threads all idle picked the idle task last, which has none.
 */
struct picked {
	uint64_t number; /* of the pick */
	uint32_t cookie;
	enum { PICKED_UNKNOWN, PICKED_IDLE, PICKED_TASK } what;
};

struct wi_fair_state {
	struct wi_fair_state_opts opt;
	const struct wakeif_host *host;
	struct wi_fair_machine machine;
	struct wi_fair_ask ask;
	struct wi_fair_inputs in;
	struct wi_fair_result r;
	uint32_t nr_cpus, nr_words, nr_slots;
	uint32_t *recent;	 /* by slot */
	struct lengths *lengths; /* by slot; NULL: not needed */
	/* By CPU that is the lowest of its LLC: has_idle_cores is set, or has been since by a core that became idle. */
	uint8_t *cores;
	uint64_t *since;
	struct wi_idle_cores own;
	wakeif_word *usable; /* idle without the preempted vCPUs */
	wakeif_word *cleared;
	uint64_t *hot_until;
	struct evidence *evidence; /* by LLC; NULL: nothing is learned */
	struct picked *picked;	   /* by CPU; NULL: no core scheduling */
	uint64_t nr_picks;
	uint32_t *core_cookie; /* by CPU: its core's */
	uint32_t *slept;       /* by CPU: slot that left it last */
	bool began, failed, asked;
	uint64_t serial; /* of the latest decision */
	bool answered;	 /* it was */
	uint32_t other_sync;
	/* Models of the same knobs, asked before: the first of them, and the latest. NULL: none */
	struct wi_fair_state *twin[2];
	const struct wi_fair_state *taken; /* whose answer to the latest decision was taken over; NULL: none */
	bool rebudgeted;		   /* ... but r is that answer with other budgets */
	uint32_t taken_recent; /* recent_used_cpu then */
	/* The latest decision, until what came of it is told. */
	struct {
		uint32_t task, prev, waker, cpu;
		bool asked_cores;
		uint32_t other_cores_cpu; /* the answer under the other has_idle_cores; NONE: not looked at */
		bool other_cores, other_clears;
	} last;
	bool late;	   /* that answer is found when what came of the decision is told, and only where it matters */
	wakeif_word *kept; /* idle, sched_idle_only, unknown, allowed of that decision, nr_words each */
	bool host_follows; /* idle cores; else own does */
	struct {	   /* nr_idle_scan, as it was told in this decision: of the LLCs of waker and previous CPU */
		uint32_t nr, llc_id[2];
		struct wi_fair_budget_range of[2];
		bool corrected; /* any of them, by evidence */
	} budget;
};

/* has_idle_cores, by the lowest CPU of the LLC. */
static inline uint64_t fair_cores_idled(const struct wi_fair_state *s, uint32_t llc_id)
{
	return s->host_follows ? s->host->cores_idled(s->host->ctx, llc_id) : wi_idle_cores_times(&s->own, llc_id);
}

static inline bool fair_has_idle_cores(const struct wi_fair_state *s, uint32_t llc_id)
{
	return s->cores[llc_id] || fair_cores_idled(s, llc_id) != s->since[llc_id];
}

/* fair_state.c: nr_idle_scan of cpu's LLC, as this model takes it. */
struct wi_fair_budget_range fair_budget(struct wi_fair_state *s, uint32_t cpu);

/* fair_twin.c: true: s->taken is set, whose answer (s->r where rebudgeted) s would give, too; *other_sync with it. */
bool fair_take_over(struct wi_fair_state *s, const struct wakeif_wakeup *w);
/* What s->taken looked at becomes s->in. */
void fair_take_inputs(struct wi_fair_state *s);

#endif
