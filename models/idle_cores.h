/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * When cores become idle as a whole: what sets has_idle_cores of an LLC in the kernel (update_idle_core()). It hangs on
 * the recorded run alone, so that one object serves all models.
 */
#ifndef WI_MODELS_IDLE_CORES_H
#define WI_MODELS_IDLE_CORES_H

#include "models/fair.h"

struct wi_idle_cores {
	struct wi_fair_machine machine;
	wakeif_word *idle; /* as followed from what happens; the view's at each decision */
	uint64_t *times;   /* by CPU that is the lowest of its LLC: how often a core there became idle */
};

/* false: out of memory (c is empty then). The topology is borrowed. */
bool wi_idle_cores_init(struct wi_idle_cores *c, const struct wakeif_topology *topology);
void wi_idle_cores_fini(struct wi_idle_cores *c);

/* The CPU picks its idle task. */
void wi_idle_cores_idles(struct wi_idle_cores *c, uint32_t cpu);

/* A decision is about to be made: the idle CPUs are these. */
static inline void wi_idle_cores_look(struct wi_idle_cores *c, const wakeif_word *idle)
{
	for (uint32_t i = 0; i < c->machine.nr_words; i++)
		c->idle[i] = idle[i];
}

static inline void wi_idle_cores_happened(struct wi_idle_cores *c, const struct wakeif_happening *h)
{
	if (h->cpu >= c->machine.nr_cpus)
		return;
	switch (h->type) {
	case WAKEIF_CPU_IDLES:
		wi_idle_cores_idles(c, h->cpu);
		break;
	case WAKEIF_TASK_MOVED:
		if (h->flags & WAKEIF_EV_WAKING)
			break;
		/* fall through */
	case WAKEIF_CPU_WAKES:
	case WAKEIF_CPU_LOST:
	case WAKEIF_PLACED:
	case WAKEIF_TASK_ENQUEUED:
		c->idle[h->cpu >> 6] &= ~(1ull << (h->cpu & 63));
		break;
	default:
		break;
	}
}

/* How often a core of cpu's LLC became idle; cpu below the topology's nr_cpus. */
static inline uint64_t wi_idle_cores_times(const struct wi_idle_cores *c, uint32_t cpu)
{
	return c->times[c->machine.llc_id[cpu]];
}

#endif
