/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analyzer/replay/runnable.h"

#include <stdlib.h>

bool wi_runnable_init(struct wi_runnable *r, uint32_t nr_cpus)
{
	*r = (struct wi_runnable){ .nr_cpus = nr_cpus };
	r->pushed = calloc(nr_cpus + 1, sizeof(*r->pushed));
	r->change = calloc((size_t)nr_cpus + 1, WI_RUNNABLE_KEPT * sizeof(*r->change));
	if (r->pushed && r->change)
		return true;
	wi_runnable_fini(r);
	return false;
}

void wi_runnable_fini(struct wi_runnable *r)
{
	free(r->cpu_of);
	free(r->pushed);
	free(r->change);
	*r = (struct wi_runnable){ 0 };
}

static bool room_for(struct wi_runnable *r, uint32_t slot)
{
	uint32_t nr = (slot | 255) + 1, *grown;

	if (slot < r->nr_slots)
		return true;
	grown = slot == WAKEIF_TASK_NONE ? NULL : realloc(r->cpu_of, nr * sizeof(*grown));
	if (!grown)
		return false;
	for (uint32_t i = r->nr_slots; i < nr; i++)
		grown[i] = WAKEIF_CPU_NONE;
	r->cpu_of = grown;
	r->nr_slots = nr;
	return true;
}

static struct wi_runnable_change *kept(const struct wi_runnable *r, uint32_t cpu, uint64_t number)
{
	return &r->change[(size_t)cpu * WI_RUNNABLE_KEPT + (number & (WI_RUNNABLE_KEPT - 1))];
}

static void change(struct wi_runnable *r, uint32_t cpu, uint64_t now_ns, int by)
{
	uint64_t n = r->pushed[cpu];
	uint32_t was = n ? kept(r, cpu, n - 1)->nr : 0;

	*kept(r, cpu, n) = (struct wi_runnable_change){ now_ns, by > 0 ? was + 1 : was - 1 };
	r->pushed[cpu]++;
}

static bool put(struct wi_runnable *r, const struct wakeif_happening *h, uint32_t cpu)
{
	uint32_t was;

	if (!room_for(r, h->task))
		return false;
	was = r->cpu_of[h->task];
	if (was == cpu)
		return true;
	if (was < r->nr_cpus)
		change(r, was, h->now_ns, -1);
	if (cpu < r->nr_cpus)
		change(r, cpu, h->now_ns, 1);
	r->cpu_of[h->task] = cpu;
	return true;
}

bool wi_runnable_at(const struct wi_runnable *r, uint32_t cpu, uint64_t ns, uint32_t *nr)
{
	uint64_t n = r->pushed[cpu], oldest = n > WI_RUNNABLE_KEPT ? n - WI_RUNNABLE_KEPT : 0;

	while (n > oldest) {
		const struct wi_runnable_change *c = kept(r, cpu, --n);

		if (c->ns < ns) {
			*nr = c->nr;
			return true;
		}
	}
	return false;
}

bool wi_runnable_happened(struct wi_runnable *r, const struct wakeif_happening *h)
{
	bool known = h->task < r->nr_slots && r->cpu_of[h->task] < r->nr_cpus;

	switch (h->type) {
	case WAKEIF_TASK_ENQUEUED:
	case WAKEIF_TASK_RUNS:
	case WAKEIF_TASK_PREEMPTED:
		return put(r, h, h->cpu);
	case WAKEIF_TASK_MOVED:
		return !known || put(r, h, h->cpu);
	case WAKEIF_TASK_SLEEPS:
	case WAKEIF_TASK_LOST:
	case WAKEIF_TASK_ENDED:
		return !known || put(r, h, WAKEIF_CPU_NONE);
	default:
		return true;
	}
}
