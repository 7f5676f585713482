/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * nr_idle_scan of each LLC (SIS_UTIL, 5.19 on): how many CPUs a search for an idle one may look at. The kernel computes
 * it in its periodic load balancing; here the balancing's timers are followed jiffy by jiffy:
 *
 *   at a tick a busy CPU balances its LLC domain when its own interval (16 times longer than that of an idle CPU) is
 * over; the idle CPUs are balanced on their behalf when a busy CPU finds, at its tick, two tasks queued or a second
 * busy CPU in its LLC (counted from tick to tick, as the kernel does); the one that may balance a group is its first
 * idle CPU, or its first CPU when none is idle; who may does the update.
 *
 * The interval is taken as doubled by each pass and set back by a task pulled. Where the phases of the timers are
 * unknown (before a CPU's first balancing), it is due at once.
 */
#ifndef WI_MODELS_SCAN_BUDGET_H
#define WI_MODELS_SCAN_BUDGET_H

#include <stdbool.h>
#include <stdint.h>

#include "models/wakeif_model.h"

/* The formula: weight CPUs in the LLC, pct imbalance percentage of its domain, sum of min(max(util, util_est), 1024).
 */
uint32_t wi_scan_budget_formula(uint64_t sum_util, uint32_t weight, uint32_t pct);

struct wi_scan_budget;

/* What it asks of the estimates; ctx as given. */
struct wi_scan_budget_host {
	void *ctx;
	uint64_t (*util)(void *ctx, uint32_t cpu);		 /* as of the last update, capped */
	void (*decay)(void *ctx, uint32_t cpu, uint64_t now_ns); /* brings an idle CPU's averages up to date */
};

struct wi_scan_budget *wi_scan_budget_new(const struct wakeif_topology *topo, uint32_t hz,
					  const struct wi_scan_budget_host *host); /* NULL: no memory */
void wi_scan_budget_free(struct wi_scan_budget *b);

void wi_scan_budget_idle(struct wi_scan_budget *b, uint32_t cpu, bool idle);  /* swapper is current, or is not */
void wi_scan_budget_queue(struct wi_scan_budget *b, uint32_t cpu, int delta); /* of tasks of all classes queued there */
void wi_scan_budget_pulled(struct wi_scan_budget *b, uint32_t cpu, uint32_t from); /* load balancing moved a task */

/* A jiffy begins on all CPUs. */
void wi_scan_budget_tick(struct wi_scan_budget *b, uint64_t jiffy, uint64_t now_ns);

/* The value, and the range within which it may lie given that the moment of the last update is not known. */
uint32_t wi_scan_budget_get(const struct wi_scan_budget *b, uint32_t llc, uint32_t *min, uint32_t *max);

/* For tests: CPUs of the LLC that the kernel counts as busy. */
uint32_t wi_scan_budget_nr_busy(const struct wi_scan_budget *b, uint32_t llc);

#endif
