/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A slow model of run queues: it follows the definitions (linear scans, sums from scratch) and knows nothing of the
 * code under test.
 */
#ifndef SIM_SLOW_QUEUE_H
#define SIM_SLOW_QUEUE_H

#include <stdbool.h>
#include <stdint.h>

#include "analyzer/sim/queue.h"

#define MS 1000000ll
#define NR_ENT 12
#define NR_QUEUES 2

struct slow_ent {
	int64_t v, d, lag, prot, slice;
	uint32_t w;
	uint64_t came; /* to wait: who was first */
	int64_t ran;
	int policy, queue; /* -1: nowhere */
	bool born, delayed, relative, over;
};

struct slow_queue {
	int64_t min_v;
	int curr, next, last, skip; /* -1: none */
};

struct slow {
	struct wi_queue_params p;
	struct slow_ent e[NR_ENT];
	struct slow_queue q[NR_QUEUES];
	uint64_t came;
	bool eevdf;
};

/* q: queue, i: entity; an entity that is picked: -1, there is none. */
int64_t slow_scaled(int64_t ns, uint32_t w);
bool slow_here(const struct slow *s, int q, int i);
int slow_nr(const struct slow *s, int q);
int64_t slow_weights(const struct slow *s, int q);
int64_t slow_avg(const struct slow *s, int q);
bool slow_eligible(const struct slow *s, int i);
int64_t slow_own_slice(const struct slow *s, int i);
int64_t slow_cfs_slice(const struct slow *s, int q, int i, bool more);
void slow_update(struct slow *s, int q, int64_t ns);
int64_t slow_lag(const struct slow *s, int i);
int slow_pick(const struct slow *s, int q);
void slow_place(struct slow *s, int q, int i, bool initial, bool woken);
bool slow_preempts(struct slow *s, int q, int i);
bool slow_tick(struct slow *s, int q);
void slow_forget(struct slow *s, int q, int i);
void slow_set(struct slow *s, int q, int i);

#endif
