/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Timers of tasks, on the CPU that the task sleeps on. The clock of a halted CPU may go off late: a guest's CPU has to
 * be given a CPU of the host first, a deep idle state has to be left. Whatever else wakes that CPU after the timer was
 * due lets it go off, too, so that the woken task finds its CPU taken. A sleep that was recorded so would have gone on:
 * where nothing disturbs it, it is as long as one of those of the task that nothing disturbed and that are longer.
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

static bool follows_edge(const struct sim_task *t, const struct wi_work_sleep *e)
{
	return t->due_ns && timed(e) && e->length_ns >= t->due_ns && e->length_ns <= t->due_ns * LATE_AT_MOST;
}

static void begin_task(struct sim *s, struct sim_task *t, const struct wi_work_task *a, uint64_t *ns, size_t *nr_late)
{
	const struct wi_workload *w = s->w;
	uint32_t nr = 0;

	for (size_t k = a->first_op; k < a->first_op + a->nr_ops; k++)
		if (w->ops[k].kind == WI_OP_SLEEP && timed(&w->sleep[w->ops[k].target]))
			ns[nr++] = w->sleep[w->ops[k].target].length_ns;
	t->due_ns = edge_of(ns, nr);
	t->next_sleeper = t->prev_sleeper = NONE;
	t->first_late = *nr_late;
	for (size_t k = a->first_op; k < a->first_op + a->nr_ops; k++) {
		const struct wi_work_sleep *e = w->ops[k].kind == WI_OP_SLEEP ? &w->sleep[w->ops[k].target] : NULL;

		if (e && !e->disturbed && follows_edge(t, e))
			s->late_ns[(*nr_late)++] = e->length_ns;
	}
	t->nr_late = *nr_late - t->first_late;
	qsort(s->late_ns + t->first_late, t->nr_late, sizeof(*s->late_ns), by_ns);
}

bool s_timers_begin(struct sim *s)
{
	size_t room = 1, nr_late = 0;
	uint64_t *ns;

	for (uint32_t i = 0; i < s->w->nr_tasks; i++) /* a sleep may be on several tapes */
		for (size_t k = 0; k < s->w->task[i].nr_ops; k++)
			room += s->w->ops[s->w->task[i].first_op + k].kind == WI_OP_SLEEP;
	ns = malloc(room * sizeof(*ns));
	s->late_ns = malloc(room * sizeof(*s->late_ns));
	if (!ns || !s->late_ns) {
		free(ns);
		return false;
	}
	for (uint32_t i = 0; i < s->w->nr_tasks; i++)
		begin_task(s, &s->task[i], &s->w->task[i], ns, &nr_late);
	for (uint32_t c = 0; c < s->topo->nr_cpus; c++)
		s->cpu[c].sleepers = NONE;
	free(ns);
	return true;
}

static uint64_t undisturbed_ns(const struct sim *s, const struct sim_task *t, const struct wi_work_sleep *e)
{
	const uint64_t *late = s->late_ns + t->first_late;
	size_t lo = 0, hi = t->nr_late;

	if (!e->disturbed)
		return e->length_ns;
	while (lo < hi) {
		size_t mid = (lo + hi) / 2;

		if (late[mid] < e->length_ns)
			lo = mid + 1;
		else
			hi = mid;
	}
	if (lo == t->nr_late)
		return e->length_ns;
	return late[lo + s_hash(s, s_number(s, t), t->op, 14) % (t->nr_late - lo)];
}

/* t has begun to sleep on its CPU. */
uint64_t s_timer_set(struct sim *s, struct sim_task *t, const struct wi_work_sleep *e)
{
	struct sim_cpu *c = &s->cpu[t->cpu];

	if (!follows_edge(t, e))
		return s->now_ns + e->length_ns;
	t->prev_sleeper = NONE;
	t->next_sleeper = c->sleepers;
	if (c->sleepers != NONE)
		s->task[c->sleepers].prev_sleeper = s_number(s, t);
	c->sleepers = s_number(s, t);
	t->timed = true;
	return s->now_ns + undisturbed_ns(s, t, e);
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
