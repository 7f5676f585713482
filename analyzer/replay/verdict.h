/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What it means to place a wakee on a CPU: missed idle as METRICS defines it, for any CPU, not only the one that the
 * kernel chose. For that one it says what analyzer/metrics/missed_idle.c says (tests/unit/test_replay_verdict.c).
 */
#ifndef WI_REPLAY_VERDICT_H
#define WI_REPLAY_VERDICT_H

#include "analyzer/metrics/results.h"
#include "analyzer/timeline/timeline.h"

struct wi_verdict {
	uint8_t state;		/* enum wi_cpu_kind of the CPU; IDLE also where it runs SCHED_IDLE tasks only (5.4+) */
	uint8_t row;		/* enum wi_missed_row; NONE: idle */
	uint8_t idle_core;	/* queued on a busy CPU while an idle core existed: bit per enum wi_wide_scope */
	uint8_t half_busy;	/* beside a busy sibling while an idle core existed: bit per enum wi_wide_scope */
	uint8_t prev_distance;	/* enum wi_distance from prev_cpu */
	bool stacked_on_waker, prev_idle_elsewhere, on_sched_idle_only;
};

struct wi_judge {
	const struct wakeif_topology *topo;
	uint32_t words;
	bool sched_idle_rule;	  /* a CPU that runs SCHED_IDLE tasks only counts as idle */
	uint32_t *threads;	  /* by core: online CPUs */
	uint32_t *idle_threads;	  /* by core: of them idle(c) */
	wakeif_word *idle_core;	  /* CPUs of cores whose online CPUs are all idle(c) */
	uint32_t nr_idle_cores;
	wakeif_word *candidates;  /* online, not isolated */
	/* of the decision looked at */
	const struct wakeif_view *view;
	const struct wi_wakeup *w;
	wakeif_word *idle; /* online CPUs that are idle, or count as idle */
	wakeif_word *cand; /* CPUs that could have been chosen */
	uint32_t waker_cpu; /* WI_CPU_NONE: not known */
};

bool wi_judge_init(struct wi_judge *j, const struct wakeif_topology *topo, uint32_t kernel_version);
void wi_judge_fini(struct wi_judge *j);

/* idle(cpu) changed. */
void wi_judge_idle_changed(struct wi_judge *j, uint32_t cpu, bool idle);

/* Turns to the decision of w; view and w are borrowed until the next one. */
void wi_judge_look(struct wi_judge *j, const struct wakeif_view *view, const struct wi_wakeup *w);

/* What it means to put that wakee on cpu, which must be in the topology. */
struct wi_verdict wi_judge_cpu(const struct wi_judge *j, uint32_t cpu);

/* How far apart two CPUs are; UNKNOWN where one is not in the topology. */
enum wi_distance wi_cpu_distance(const struct wakeif_topology *t, uint32_t a, uint32_t b);

static inline bool wi_cpu_present(const struct wakeif_topology *t, uint32_t cpu)
{
	return cpu < t->nr_cpus && t->group[WAKEIF_CORE][cpu] != UINT32_MAX;
}

/*
 * Where the kernel puts a task whose chosen CPU it may not use (select_fallback_rq): the lowest usable CPU of the node
 * of its previous CPU, then of its affinity, then of all online ones.
 */
uint32_t wi_fallback_cpu(const struct wakeif_topology *t, const wakeif_word *allowed, uint32_t prev_cpu);

#endif
