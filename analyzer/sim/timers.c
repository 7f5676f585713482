/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Timers of tasks, on the CPU that the task sleeps on. The clock of a halted CPU may go off late: a guest's CPU has to
 * be given a CPU of the host first, a deep idle state has to be left. Whatever else wakes that CPU after the timer was
 * due lets it go off, too, so that the woken task finds its CPU taken.
 */
#include <stdlib.h>
#include <string.h>

#include "analyzer/sim/machine.h"

/*
 * When a sleep was due is not on record. A task that sleeps for the same time again and again shows a sharp edge: few
 * sleeps are shorter, many are hardly longer, none of those that are late tells how late it is.
 */
#define MIN_SLEEPS 16u
#define BELOW_PERCENT 5u /* of the sleeps are shorter than the edge */
#define NEAR_PERCENT 10u /* at least are at most a quarter longer */
#define LATE_AT_MOST 16u /* a sleep that is longer than so many edges is another timer's */

static bool timed(const struct wi_work_sleep *e)
{
	return e->on_own_cpu && e->waker_cpu != WI_WORK_NONE &&
	       (e->context == WAKEIF_CTX_HARDIRQ || e->context == WAKEIF_CTX_IDLE);
}

static int by_ns(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/* 0: the task's sleeps have no edge. */
static uint64_t edge_of(uint64_t *ns, uint32_t nr)
{
	uint64_t edge, near = 0;

	if (nr < MIN_SLEEPS)
		return 0;
	qsort(ns, nr, sizeof(*ns), by_ns);
	edge = ns[nr * BELOW_PERCENT / 100];
	for (uint32_t i = 0; i < nr; i++)
		near += ns[i] >= edge && ns[i] - edge <= edge / 4;
	return (near - 1) * 100 >= (uint64_t)nr * NEAR_PERCENT ? edge : 0; /* the edge is near itself */
}

bool s_timers_begin(struct sim *s)
{
	const struct wi_workload *w = s->w;
	uint32_t most = 0; /* not nr_sleeps: operations may share a sleep */
	uint64_t *ns;

	for (uint32_t i = 0; i < w->nr_tasks; i++)
		most = w->task[i].nr_blocks > most ? w->task[i].nr_blocks : most;
	ns = malloc(((size_t)most + 1) * sizeof(*ns));
	for (uint32_t i = 0; ns && i < w->nr_tasks; i++) {
		const struct wi_work_task *t = &w->task[i];
		uint32_t nr = 0;

		for (size_t k = t->first_op; k < t->first_op + t->nr_ops; k++)
			if (w->ops[k].kind == WI_OP_SLEEP && timed(&w->sleep[w->ops[k].target]))
				ns[nr++] = w->sleep[w->ops[k].target].length_ns;
		s->task[i].due_ns = edge_of(ns, nr);
		s->task[i].next_sleeper = s->task[i].prev_sleeper = NONE;
	}
	for (uint32_t c = 0; c < s->topo->nr_cpus; c++)
		s->cpu[c].sleepers = NONE;
	free(ns);
	return ns;
}

/* t has begun to sleep on its CPU. */
void s_timer_set(struct sim *s, struct sim_task *t, const struct wi_work_sleep *e)
{
	struct sim_cpu *c = &s->cpu[t->cpu];

	if (!t->due_ns || !timed(e) || e->length_ns < t->due_ns || e->length_ns > t->due_ns * LATE_AT_MOST)
		return;
	t->prev_sleeper = NONE;
	t->next_sleeper = c->sleepers;
	if (c->sleepers != NONE)
		s->task[c->sleepers].prev_sleeper = s_number(s, t);
	c->sleepers = s_number(s, t);
	t->timed = true;
}

void s_timer_clear(struct sim *s, struct sim_task *t)
{
	if (!t->timed)
		return;
	t->timed = false;
	if (t->prev_sleeper != NONE)
		s->task[t->prev_sleeper].next_sleeper = t->next_sleeper;
	else
		s->cpu[t->cpu].sleepers = t->next_sleeper;
	if (t->next_sleeper != NONE)
		s->task[t->next_sleeper].prev_sleeper = t->prev_sleeper;
}

/* Its time has come; a CPU that idles may have missed others. */
void s_timer_expires(struct sim *s, uint32_t task)
{
	uint32_t cpu = s->task[task].cpu;
	bool idle = s->task[task].timed && s_sleeps(s, cpu);

	s_timer(s, task);
	if (idle)
		s_timers_due(s, cpu);
}

/* An interrupt has reached a CPU that idled. */
void s_timers_due(struct sim *s, uint32_t cpu)
{
	uint32_t next;

	for (uint32_t i = s->cpu[cpu].sleepers; i != NONE; i = next) {
		struct sim_task *t = &s->task[i];

		next = t->next_sleeper;
		if (t->block_ns + t->due_ns <= s->now_ns)
			s_timer(s, i);
	}
}
