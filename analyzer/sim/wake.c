/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A wakeup: sched_waking, the decision after a gap, the enqueue after a transit, the switch after a start. */
#include "analyzer/sim/machine.h"

void s_wake(struct sim *s, uint32_t task, uint32_t waker, uint32_t cpu, enum wakeif_context context,
	    const struct wi_wake_noise *noise)
{
	struct sim_task *t = &s->task[task];
	bool irq = context != WAKEIF_CTX_TASK;

	t->state = S_WAKING;
	t->noise = *noise;
	t->waker = waker;
	t->waker_cpu = cpu;
	t->context = (uint8_t)context;
	t->kind = irq ? WI_WAKE_IRQ : 0;
	t->waking_ns = s->now_ns;
	s_sink_waking(s, t);
	t->waking = wi_tally_waking(s->tally, s->now_ns, t->e.delayed ? WAKEIF_DELAYED : WAKEIF_SELECT);
	s_push(s, s->now_ns + s_gap_ns(s, t), EV_DECIDE, task, 0);
}

/* Something outside of all tasks wakes it. */
void s_timer(struct sim *s, uint32_t task)
{
	struct sim_task *t = &s->task[task];
	const struct wi_work_sleep *e = t->wait_kind == WI_OP_SLEEP ? &s->w->sleep[t->waits_for] : NULL;
	uint32_t cpu = t->cpu;

	t->timer_gen++;
	s_timer_clear(s, t);
	if (e && !e->on_own_cpu && e->waker_cpu < s->topo->nr_cpus && s->cpu[e->waker_cpu].online)
		cpu = e->waker_cpu;
	if (e) {
		s_wake(s, task, NONE, cpu, e->context == WAKEIF_CTX_SOFTIRQ ? WAKEIF_CTX_SOFTIRQ : WAKEIF_CTX_HARDIRQ,
		       &e->wake);
	} else { /* it was on its way when the window began */

		s_wake(s, task, NONE, cpu, WAKEIF_CTX_HARDIRQ, &s_no_noise);
	}
}

void s_decide(struct sim *s, uint32_t task)
{
	struct sim_task *t = &s->task[task];
	uint32_t from = t->cpu, to = from;
	enum wakeif_class class_ = WAKEIF_DELAYED;

	if (!t->e.delayed)
		to = s_place(s, t, WAKEIF_WF_TTWU, &class_);
	wi_tally_placed(s->tally, t->waking, from, to, class_ == WAKEIF_SELECT);
	if (class_ == WAKEIF_SELECT)
		s_tell_task(s, t, WAKEIF_PLACED, 0, to, from);
	if (to != from) {
		if (!s_is_rt(t))
			s->fair->detach(&s->cpu[from].q, &t->e);
		wi_tally_moved(s->tally, s->now_ns, from, to, true);
		s_sink_migrate(s, t, from, to);
		s_tell_task(s, t, WAKEIF_TASK_MOVED, WAKEIF_EV_WAKING, to, from);
		t->cpu = to;
	}
	t->kind |= s->cpu[to].curr == NONE ? 0 : WI_WAKE_BUSY;
	t->kind |= to != t->waker_cpu ? WI_WAKE_REMOTE : 0;
	t->state = S_PENDING;
	t->placing = true;
	s->cpu[to].pending++;
	s_view_cpu(s, to);
	uint64_t at_ns = t->waking_ns + s_transit_ns(s, t);

	s_push(s, at_ns > s->now_ns ? at_ns : s->now_ns, EV_ENQUEUE, task, 0);
}

bool s_queue_on(struct sim *s, uint32_t task, uint32_t cpu, bool initial, bool woken)
{
	struct sim_task *t = &s->task[task];
	struct sim_cpu *c = &s->cpu[cpu];
	bool ok;

	s_account(s, cpu);
	t->cpu = cpu;
	t->state = S_RUNNABLE;
	t->e.arrived = t->touched = s->seq++;
	t->wait_since_ns = s->now_ns;
	if (s_is_rt(t)) {
		ok = wi_rt_add(&c->rt, &t->e, false);
	} else {
		s->fair->place(&c->q, &t->e, initial, woken);
		ok = wi_queue_add(&c->q, &t->e);
	}
	s->failed |= !ok;
	wi_tally_wait(s->tally, s->now_ns, cpu, 1);
	s_tell_task(s, t, WAKEIF_TASK_ENQUEUED, initial ? WAKEIF_EV_NEW : 0, cpu, WAKEIF_CPU_NONE);
	s_view_cpu(s, cpu);
	return ok;
}

/* Off the queue where it waits, or is kept as a delayed one. */
void s_dequeue(struct sim *s, uint32_t task)
{
	struct sim_task *t = &s->task[task];
	struct sim_cpu *c = &s->cpu[t->cpu];

	if (s_is_rt(t))
		wi_rt_remove(&c->rt, &t->e);
	else
		wi_queue_remove(&c->q, &t->e);
}

/* Shall the CPU of t run it now? */
void s_check_preempt(struct sim *s, uint32_t task)
{
	struct sim_task *t = &s->task[task];
	struct sim_cpu *c = &s->cpu[t->cpu];
	struct sim_task *curr = c->curr != NONE ? &s->task[c->curr] : NULL;
	bool yes;

	if (c->resched)
		return;
	if (!curr)
		yes = true;
	else if (s_is_rt(t))
		yes = !s_is_rt(curr) || t->e.prio < curr->e.prio;
	else
		yes = !s_is_rt(curr) && s->fair->preempts(&c->q, &t->e);
	if (!yes) {
		if (s_is_rt(t))
			s_rt_push(s, t->cpu);
		return;
	}
	c->resched = true;
	if (t->kind & WI_WAKE_REMOTE)
		wi_tally_ipi(s->tally, s->now_ns);
	s_push(s, s->now_ns + s_start_ns(s, t, curr != NULL), EV_SWITCH, t->cpu, c->switch_gen);
	if (!curr)
		s_timers_due(s, t->cpu);
}

void s_enqueue(struct sim *s, uint32_t task)
{
	struct sim_task *t = &s->task[task];

	if (t->placing) {
		t->placing = false;
		s->cpu[t->cpu].pending--;
	}
	if (t->e.delayed) {
		s_account(s, t->cpu);
		if (s->fair->rejoin)
			s->fair->rejoin(&s->cpu[t->cpu].q, &t->e);
		s_dequeue(s, task);
	}
	wi_tally_queued(s->tally, s->now_ns, t->waking);
	s_sink_wakeup(s, t, false);
	if (s_queue_on(s, task, t->cpu, false, true))
		s_check_preempt(s, task);
}

void s_fork(struct sim *s, uint32_t parent, uint32_t child, const struct wi_wake_noise *noise)
{
	struct sim_task *t = &s->task[child];
	uint32_t cpu = parent != NONE ? s->task[parent].cpu : t->about->cpu < s->topo->nr_cpus ? t->about->cpu : 0;
	enum wakeif_class class_;

	if (!s->cpu[cpu].online)
		cpu = wi_mask_next(t->allowed, s->topo->nr_words, 0);
	t->noise = *noise;
	t->waker = parent;
	t->waker_cpu = t->cpu = cpu;
	t->context = WAKEIF_CTX_TASK;
	t->waking_ns = s->now_ns;
	t->kind = 0;
	t->waking = NONE;
	if (parent != NONE)
		s_sink_fork(s, &s->task[parent], t);
	s_tell_task(s, t, WAKEIF_TASK_BEGAN, WAKEIF_EV_NEW, WAKEIF_CPU_NONE,
		    parent != NONE ? s->topo->nr_cpus + parent : WAKEIF_TASK_NONE);
	if (parent != NONE && s->fair->fork && !s_is_rt(t)) {
		s_account(s, cpu);
		s->fair->fork(&s->cpu[cpu].q, &t->e);
	}
	uint32_t to = s_place(s, t, WAKEIF_WF_FORK, &class_);

	s_tell_task(s, t, WAKEIF_PLACED, WAKEIF_EV_NEW, to, cpu);
	t->kind = (uint8_t)((s->cpu[to].curr == NONE ? 0 : WI_WAKE_BUSY) | (to != cpu ? WI_WAKE_REMOTE : 0));
	t->cpu = to;
	s_sink_wakeup(s, t, true);
	s_load_op(s, t);
	if (s_queue_on(s, child, to, true, false))
		s_check_preempt(s, child);
}

/* Its wake was there while it was on its way out: its own CPU queues it again as soon as it has left, nobody decides.
 */
void s_wake_oncpu(struct sim *s, uint32_t task)
{
	struct sim_task *t = &s->task[task];
	const struct sim_task *waker = t->waker != NONE ? &s->task[t->waker] : NULL;

	t->requeues = false;
	t->state = S_PENDING;
	t->noise = s_no_noise;
	t->waker = NONE;
	t->waker_cpu = t->cpu;
	t->context = WAKEIF_CTX_HARDIRQ;
	t->kind = (uint8_t)(WI_WAKE_IRQ | (s->cpu[t->cpu].curr != NONE ? WI_WAKE_BUSY : 0));
	t->waking_ns = s->now_ns;
	if (waker && waker->state == S_RUNNING) { /* on record it is still its waker's doing */
		t->waker_cpu = waker->cpu;
		t->context = WAKEIF_CTX_TASK;
	}
	s_sink_waking(s, t);
	t->waker_cpu = t->cpu;
	t->context = WAKEIF_CTX_HARDIRQ;
	t->waking = wi_tally_waking(s->tally, s->now_ns, WAKEIF_ONCPU);
	wi_tally_placed(s->tally, t->waking, t->cpu, t->cpu, false);
	s_enqueue(s, task);
}
