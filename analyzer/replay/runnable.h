/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How many tasks are runnable on each CPU as the trace shows it, the running one included. A task that blocked does not
 * count, also where the kernel left it on the run queue (delayed dequeue, 6.12). The latest changes are kept, for
 * questions about a while ago.
 */
#ifndef WI_REPLAY_RUNNABLE_H
#define WI_REPLAY_RUNNABLE_H

#include <stdbool.h>
#include <stdint.h>

#include "models/wakeif_model.h"

#define WI_RUNNABLE_KEPT 1024u /* changes of a CPU; a power of two */

struct wi_runnable_change {
	uint64_t ns;
	uint32_t nr;
};

struct wi_runnable {
	uint32_t nr_cpus, nr_slots;
	uint32_t *cpu_of;		   /* by slot: where the task is runnable; WAKEIF_CPU_NONE nowhere */
	uint64_t *pushed;		   /* by CPU: changes so far */
	struct wi_runnable_change *change; /* WI_RUNNABLE_KEPT a CPU: rings */
};

/* false: out of memory (r is empty then). */
bool wi_runnable_init(struct wi_runnable *r, uint32_t nr_cpus);
void wi_runnable_fini(struct wi_runnable *r);
bool wi_runnable_happened(struct wi_runnable *r, const struct wakeif_happening *h); /* false: out of memory */

/* On cpu just before ns; false: not known, or so long ago that it is not known any more. */
bool wi_runnable_at(const struct wi_runnable *r, uint32_t cpu, uint64_t ns, uint32_t *nr);

#endif
