/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Estimated wait of a wakee that would have been put on a busy CPU: until that CPU becomes idle in the trace, or every
 * task that was queued there at the decision has been switched out once (or has left), whichever comes first.
 *
 * Each CPU's queued tasks, the running one included, stand in the order in which they were queued or last switched out,
 * numbered; a wait is over when the first number of the queue is newer than the wait. So an event costs the same
 * whatever the number of tasks and of waits, and waits of one CPU end in the order in which they began.
 */
#ifndef WI_REPLAY_WAIT_H
#define WI_REPLAY_WAIT_H

#include <stdbool.h>
#include <stdint.h>

#include "models/wakeif_model.h"

enum wi_wait_end { WI_WAIT_OVER, WI_WAIT_UNKNOWN, WI_WAIT_CENSORED, WI_WAIT_DROPPED };

#define WI_WAITS_PER_CPU 65536u /* open at most; the oldest is dropped */

struct wi_wait_cpu {
	uint32_t first, last; /* queued tasks; WAKEIF_TASK_NONE */
	uint32_t head, tail;  /* open waits; UINT32_MAX none */
	uint32_t nr_waits;
	uint64_t number; /* latest given out */
};

struct wi_wait_task {
	uint32_t next, prev, cpu; /* cpu: WAKEIF_CPU_NONE: not queued */
	uint64_t number;
};

struct wi_wait {
	uint64_t since_ns, number, models;
	uint32_t next;
};

struct wi_waits {
	uint32_t nr_cpus, nr_tasks, nr_waits, free;
	struct wi_wait_cpu *cpu;
	struct wi_wait_task *task; /* by slot */
	struct wi_wait *wait;
	bool failed; /* out of memory */
	/* models: the bits given to wi_waits_add(). */
	void (*end)(void *ctx, uint64_t models, enum wi_wait_end how, uint64_t ns);
	void *ctx;
};

bool wi_waits_init(struct wi_waits *w, uint32_t nr_cpus);
void wi_waits_fini(struct wi_waits *w);
void wi_waits_happened(struct wi_waits *w, const struct wakeif_happening *h);
void wi_waits_cpu_idle(struct wi_waits *w, uint64_t now_ns, uint32_t cpu);
/* pending: another wakee is on its way to cpu, and is waited for as well. */
void wi_waits_add(struct wi_waits *w, uint64_t now_ns, uint32_t cpu, bool pending, uint64_t models);
void wi_waits_finish(struct wi_waits *w); /* the window is over: all that are open are censored */

#endif
