/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where real-time tasks go: to a CPU whose most urgent real-time task is the least urgent (6.1 read). A CPU that has
 * one too many pushes it there, one that becomes less urgent pulls. Fair tasks do not count: to the kernel a CPU that
 * runs them is as good as an idle one.
 */
#include <string.h>

#include "analyzer/sim/machine.h"

/* The most urgent real-time task of the CPU; 100: it has none. */
static int urgency(const struct sim *s, uint32_t cpu)
{
	return s->view_cpu[cpu].highest_rt_prio;
}

/* The next of the set after the one that this CPU was given last: they are to have their turns. */
static uint32_t any_of(struct sim *s, const wakeif_word *set, const wakeif_word *span, uint32_t by)
{
	uint32_t words = s->topo->nr_words, first = NONE;

	for (uint32_t c = wi_mask_next(set, words, 0); c != UINT32_MAX; c = wi_mask_next(set, words, c + 1)) {
		if (span && !wi_mask_test(span, c))
			continue;
		first = first == NONE ? c : first;
		if (c > s->cpu[by].rt_last) {
			first = c;
			break;
		}
	}
	if (first != NONE)
		s->cpu[by].rt_last = first;
	return first;
}

/* find_lowest_rq(): the CPU for t when it is `by` that looks; NONE: all that it may use are as urgent as t. */
static uint32_t least_urgent(struct sim *s, const struct sim_task *t, uint32_t by)
{
	uint32_t words = s->topo->nr_words, found;
	wakeif_word *set = s->lowest;
	int least = t->e.prio;
	bool by_fits;

	if (t->nr_allowed == 1)
		return NONE;
	memset(set, 0, words * sizeof(*set));
	for (uint32_t c = wi_mask_next(t->allowed, words, 0); c != UINT32_MAX;
	     c = wi_mask_next(t->allowed, words, c + 1)) {
		if (urgency(s, c) < least || urgency(s, c) == t->e.prio)
			continue;
		if (urgency(s, c) > least)
			memset(set, 0, words * sizeof(*set));
		least = urgency(s, c);
		wi_mask_set(set, c);
	}
	if (wi_mask_empty(set, words) || wi_mask_test(set, t->cpu))
		return wi_mask_empty(set, words) ? NONE : t->cpu;
	by_fits = wi_mask_test(set, by);
	for (uint32_t i = 0; i < s->topo->nr_domains[t->cpu]; i++) {
		const struct wakeif_domain *sd = &s->topo->domains[t->cpu][i];

		if (!(sd->flags & WAKEIF_SD_WAKE_AFFINE))
			continue;
		if (by_fits && wi_mask_test(sd->span, by))
			return by;
		found = any_of(s, set, sd->span, by);
		if (found != NONE)
			return found;
	}
	return by_fits ? by : any_of(s, set, NULL, by);
}

/* select_task_rq_rt(): it stays unless its CPU runs a real-time task that it cannot or should not preempt. */
uint32_t s_place_rt(struct sim *s, const struct sim_task *t)
{
	uint32_t curr = s->cpu[t->cpu].curr, to;

	if (!wi_mask_test(t->allowed, t->cpu))
		return wi_mask_next(t->allowed, s->topo->nr_words, 0);
	if (curr == NONE || !s_is_rt(&s->task[curr]) ||
	    (s->task[curr].nr_allowed > 1 && s->task[curr].e.prio > t->e.prio))
		return t->cpu;
	to = least_urgent(s, t, t->waker_cpu);
	return to != NONE && t->e.prio < urgency(s, to) ? to : t->cpu;
}

static void move(struct sim *s, struct sim_task *t, uint32_t to)
{
	uint32_t from = t->cpu;

	wi_rt_remove(&s->cpu[from].rt, &t->e);
	wi_tally_wait(s->tally, s->now_ns, from, -1);
	wi_tally_moved(s->tally, s->now_ns, from, to, false);
	s_sink_migrate(s, t, from, to);
	t->cpu = to;
	s_tell_task(s, t, WAKEIF_TASK_MOVED, 0, to, from);
	s_view_cpu(s, from);
	s->failed |= !wi_rt_add(&s->cpu[to].rt, &t->e, false);
	wi_tally_wait(s->tally, s->now_ns, to, 1);
	s_view_cpu(s, to);
	t->kind = WI_WAKE_REMOTE;
	t->noise = s_no_noise;
	s->result->balance_moves++;
}

/* The most urgent one that waits and may go elsewhere (to a certain CPU); NULL: none. */
static struct sim_task *pushable(struct sim *s, uint32_t cpu, uint32_t to)
{
	const struct wi_rt_queue *q = &s->cpu[cpu].rt;

	for (uint32_t i = 0; i < q->nr_waiting; i++) {
		struct sim_task *t = &s->task[q->waiting[i]->task];

		if (t->nr_allowed > 1 && (to == NONE || wi_mask_test(t->allowed, to)))
			return t;
	}
	return NULL;
}

void s_rt_push(struct sim *s, uint32_t cpu)
{
	struct sim_task *t;

	while (s->o.balance != WI_BALANCE_OFF && (t = pushable(s, cpu, NONE))) {
		uint32_t to = least_urgent(s, t, cpu);

		if (to == NONE || to == cpu)
			return;
		move(s, t, to);
		s_check_preempt(s, s_number(s, t));
	}
}

/* cpu lets go of a task of this urgency: if what is left is less urgent, others' may come. */
void s_rt_pull(struct sim *s, uint32_t cpu, int left)
{
	if (s->o.balance == WI_BALANCE_OFF || !s->nr_overloaded || urgency(s, cpu) <= left)
		return;
	for (uint32_t c = 0; c < s->topo->nr_cpus; c++) {
		const struct wi_entity *curr = s->cpu[c].rt.curr;
		struct sim_task *t = c != cpu && s->cpu[c].rt.nr_waiting ? pushable(s, c, cpu) : NULL;

		/* One that is about to run where it is is left alone. */
		if (t && t->e.prio < urgency(s, cpu) && curr && t->e.prio >= curr->prio)
			move(s, t, cpu);
	}
}
