/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analyzer/replay/wait.h"

#include <stdlib.h>
#include <string.h>

#define NONE UINT32_MAX

bool wi_waits_init(struct wi_waits *w, uint32_t nr_cpus)
{
	*w = (struct wi_waits){ .nr_cpus = nr_cpus, .free = NONE };
	w->cpu = calloc(nr_cpus + 1, sizeof(*w->cpu));
	for (uint32_t c = 0; w->cpu && c < nr_cpus; c++)
		w->cpu[c].first = w->cpu[c].last = w->cpu[c].head = w->cpu[c].tail = NONE;
	return w->cpu != NULL;
}

void wi_waits_fini(struct wi_waits *w)
{
	free(w->cpu);
	free(w->task);
	free(w->wait);
	*w = (struct wi_waits){ 0 };
}

/* ---- open waits ---- */

static void end_first(struct wi_waits *w, struct wi_wait_cpu *c, enum wi_wait_end how, uint64_t now_ns)
{
	uint32_t i = c->head;
	struct wi_wait *wait = &w->wait[i];

	c->head = wait->next;
	if (c->head == NONE)
		c->tail = NONE;
	c->nr_waits--;
	w->end(w->ctx, wait->models, how, now_ns > wait->since_ns ? now_ns - wait->since_ns : 0);
	wait->next = w->free;
	w->free = i;
}

static void end_all(struct wi_waits *w, struct wi_wait_cpu *c, enum wi_wait_end how, uint64_t now_ns)
{
	while (c->head != NONE)
		end_first(w, c, how, now_ns);
}

static void end_those_passed(struct wi_waits *w, struct wi_wait_cpu *c, uint64_t now_ns)
{
	while (c->head != NONE && c->first != NONE && w->task[c->first].number > w->wait[c->head].number)
		end_first(w, c, WI_WAIT_OVER, now_ns);
}

static uint32_t take_wait(struct wi_waits *w)
{
	uint32_t i = w->free;

	if (i != NONE) {
		w->free = w->wait[i].next;
		return i;
	}
	if (!(w->nr_waits & (w->nr_waits - 1))) { /* a power of two, or none: full */
		uint32_t cap = w->nr_waits ? w->nr_waits * 2 : 1;
		struct wi_wait *wait = realloc(w->wait, cap * sizeof(*wait));

		if (!wait) {
			w->failed = true;
			return NONE;
		}
		w->wait = wait;
	}
	return w->nr_waits++;
}

void wi_waits_add(struct wi_waits *w, uint64_t now_ns, uint32_t cpu, bool pending, uint64_t models)
{
	struct wi_wait_cpu *c = &w->cpu[cpu];

	if (c->nr_waits >= WI_WAITS_PER_CPU)
		end_first(w, c, WI_WAIT_DROPPED, now_ns);

	uint32_t i = take_wait(w);
	if (i == NONE)
		return;
	w->wait[i] = (struct wi_wait){ now_ns, c->number + pending, models, NONE };
	if (c->tail != NONE)
		w->wait[c->tail].next = i;
	else
		c->head = i;
	c->tail = i;
	c->nr_waits++;
}

void wi_waits_cpu_idle(struct wi_waits *w, uint64_t now_ns, uint32_t cpu)
{
	end_all(w, &w->cpu[cpu], WI_WAIT_OVER, now_ns);
}

void wi_waits_finish(struct wi_waits *w)
{
	for (uint32_t c = 0; c < w->nr_cpus; c++)
		end_all(w, &w->cpu[c], WI_WAIT_CENSORED, 0);
}

/* ---- queued tasks ---- */

static struct wi_wait_task *task_at(struct wi_waits *w, uint32_t slot)
{
	if (slot < w->nr_tasks)
		return &w->task[slot];

	uint32_t nr = (slot | 255) + 1;
	struct wi_wait_task *task = slot == NONE ? NULL : realloc(w->task, nr * sizeof(*task));
	if (!task) {
		w->failed = true;
		return NULL;
	}
	for (uint32_t i = w->nr_tasks; i < nr; i++)
		task[i] = (struct wi_wait_task){ .cpu = WAKEIF_CPU_NONE };
	w->task = task;
	w->nr_tasks = nr;
	return &task[slot];
}

static void leave(struct wi_waits *w, struct wi_wait_task *t)
{
	struct wi_wait_cpu *c = &w->cpu[t->cpu];

	if (t->prev != NONE)
		w->task[t->prev].next = t->next;
	else
		c->first = t->next;
	if (t->next != NONE)
		w->task[t->next].prev = t->prev;
	else
		c->last = t->prev;
	t->cpu = WAKEIF_CPU_NONE;
}

static void join(struct wi_waits *w, struct wi_wait_task *t, uint32_t slot, uint32_t cpu)
{
	struct wi_wait_cpu *c = &w->cpu[cpu];

	*t = (struct wi_wait_task){ .next = NONE, .prev = c->last, .cpu = cpu, .number = ++c->number };
	if (c->last != NONE)
		w->task[c->last].next = slot;
	else
		c->first = slot;
	c->last = slot;
}

static void requeue(struct wi_waits *w, const struct wakeif_happening *h, uint32_t cpu)
{
	struct wi_wait_task *t = task_at(w, h->task);
	uint32_t left = t ? t->cpu : WAKEIF_CPU_NONE;

	if (!t)
		return;
	if (left != WAKEIF_CPU_NONE)
		leave(w, t);
	if (cpu < w->nr_cpus) {
		join(w, t, h->task, cpu);
		if (w->cpu[cpu].head != NONE)
			end_those_passed(w, &w->cpu[cpu], h->now_ns);
	}
	if (left < w->nr_cpus && left != cpu && w->cpu[left].head != NONE)
		end_those_passed(w, &w->cpu[left], h->now_ns);
}

void wi_waits_happened(struct wi_waits *w, const struct wakeif_happening *h)
{
	switch (h->type) {
	case WAKEIF_TASK_ENQUEUED:
	case WAKEIF_TASK_PREEMPTED:
		requeue(w, h, h->cpu);
		break;
	case WAKEIF_TASK_MOVED:
		if (h->task < w->nr_tasks && w->task[h->task].cpu != WAKEIF_CPU_NONE)
			requeue(w, h, h->cpu);
		break;
	case WAKEIF_TASK_SLEEPS:
	case WAKEIF_TASK_LOST:
	case WAKEIF_TASK_ENDED:
		if (h->task < w->nr_tasks && w->task[h->task].cpu != WAKEIF_CPU_NONE)
			requeue(w, h, WAKEIF_CPU_NONE);
		break;
	case WAKEIF_CPU_LOST:
		if (h->cpu < w->nr_cpus)
			end_all(w, &w->cpu[h->cpu], WI_WAIT_UNKNOWN, h->now_ns);
		break;
	default:
		break;
	}
}
