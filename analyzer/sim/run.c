/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Who runs on a CPU, for how long, and what its tape says it does then. */
#include "analyzer/sim/machine.h"
#include "models/pelt.h"

#define RR_SLICE_NS WI_RR_SLICE_NS

/* ---- work and speed ---- */

static uint32_t speed_of(const struct sim *s, uint32_t cpu)
{
	const struct sim_cpu *c = &s->cpu[cpu];
	uint32_t speed = WORK;

	if (s->core_busy[c->core] > 1) {
		speed = s->o.smt_speed;
		if (s->o.smt_speed_of)
			speed = s->o.smt_speed_of(s->o.smt_ctx, s->task[c->curr].about->comm);
	}
	if (s->o.host_cpus && s->nr_busy > s->o.host_cpus)
		speed = (uint32_t)((uint64_t)speed * s->o.host_cpus / s->nr_busy);
	return speed ? speed : 1;
}

void s_account(struct sim *s, uint32_t cpu)
{
	struct sim_cpu *c = &s->cpu[cpu];
	uint64_t ran_ns = s->now_ns - c->since_ns;

	c->since_ns = s->now_ns;
	if (c->curr == NONE || !ran_ns)
		return;
	struct sim_task *t = &s->task[c->curr];
	uint64_t work = ran_ns * c->speed;

	if (s_is_rt(t))
		t->rr_ns += ran_ns;
	else
		s->fair->update(&c->q, ran_ns);
	s->result->ran_ns += ran_ns;
	if (s->core) {
		s->result->cookie_ran_ns[t->cookie_rank] += ran_ns;
		s_core_vruntime(s, cpu);
	}
	t->ran_until_ns = s->now_ns;
	if (work >= t->left) {
		t->credit = work - t->left;
		t->left = 0;
	} else {
		t->left -= work;
	}
}

/* When the task that runs reaches its next operation. */
void s_rekey(struct sim *s, uint32_t cpu)
{
	struct sim_cpu *c = &s->cpu[cpu];

	c->gen++;
	if (c->curr == NONE)
		return;
	s_push(s, s->now_ns + (s->task[c->curr].left + c->speed - 1) / c->speed, EV_PROGRESS, cpu, c->gen);
}

static void change_speed(struct sim *s, uint32_t cpu)
{
	struct sim_cpu *c = &s->cpu[cpu];
	uint32_t speed;

	if (c->curr == NONE)
		return;
	speed = speed_of(s, cpu);
	if (speed == c->speed)
		return;
	s_account(s, cpu);
	c->speed = speed;
	s_rekey(s, cpu);
}

/* cpu has become busy or idle: others get faster or slower. */
static void change_others(struct sim *s, uint32_t cpu)
{
	const struct wakeif_topology *topo = s->topo;
	const wakeif_word *core = topo->span[WAKEIF_CORE][s->cpu[cpu].core];

	if (s->o.host_cpus) {
		for (uint32_t c = 0; c < topo->nr_cpus; c++)
			if (c != cpu)
				change_speed(s, c);
		return;
	}
	for (uint32_t c = wi_mask_next(core, topo->nr_words, 0); c != UINT32_MAX;
	     c = wi_mask_next(core, topo->nr_words, c + 1))
		if (c != cpu)
			change_speed(s, c);
}

static void count_busy(struct sim *s, uint32_t cpu, int delta)
{
	s->core_busy[s->cpu[cpu].core] += (uint32_t)delta;
	s->nr_busy += (uint32_t)delta;
	if (s->o.smt_speed < WORK || s->o.smt_speed_of || s->o.host_cpus)
		change_others(s, cpu);
}

void s_load_op(struct sim *s, struct sim_task *t)
{
	uint64_t work = t->op < t->end_op ? (uint64_t)s->w->ops[t->op].work_ns * WORK : 0;

	t->left = work > t->credit ? work - t->credit : 0;
	t->credit = work > t->credit ? 0 : t->credit - work;
}

/* ---- switching ---- */

/* The task that runs leaves: it sleeps, ends, or has to be queued again by others' wish. */
static void put_prev(struct sim *s, uint32_t cpu, struct sim_task *t)
{
	struct sim_cpu *c = &s->cpu[cpu];
	bool rt = s_is_rt(t);

	if (t->state == S_RUNNING) {
		t->state = S_RUNNABLE;
		if (rt) {
			bool over = t->e.policy == WAKEIF_POLICY_RR && t->rr_ns >= RR_SLICE_NS;

			wi_rt_remove(&c->rt, &t->e);
			s->failed |= !wi_rt_add(&c->rt, &t->e, !over);
			t->rr_ns = over ? 0 : t->rr_ns;
		} else {
			s->failed |= !wi_queue_put_back(&c->q);
		}
		t->wait_since_ns = s->now_ns;
		wi_tally_wait(s->tally, s->now_ns, cpu, 1);
		wi_tally_preempted(s->tally, s->now_ns);
		s_tell_task(s, t, WAKEIF_TASK_PREEMPTED, 0, cpu, WAKEIF_CPU_NONE);
		return;
	}
	if (rt) {
		wi_rt_remove(&c->rt, &t->e);
	} else if (t->state == S_BLOCKED && !t->moves && s->fair->delays && s->fair->delays(&c->q, &t->e)) {
		s->failed |= !wi_queue_put_back(&c->q);
		t->e.delayed = true;
		c->q.nr_delayed++;
	} else {
		s->fair->sleep(&c->q, &t->e);
		wi_queue_remove(&c->q, &t->e);
	}
	s_tell_task(s, t, WAKEIF_TASK_SLEEPS, t->state == S_OVER ? WAKEIF_EV_DEAD : 0, cpu, WAKEIF_CPU_NONE);
}

struct sim_task *s_pick(struct sim *s, uint32_t cpu)
{
	struct sim_cpu *c = &s->cpu[cpu];
	struct wi_entity *e = wi_rt_first(&c->rt);

	if (c->rt.curr && (!e || e->prio >= c->rt.curr->prio))
		e = c->rt.curr;
	if (e)
		return &s->task[e->task];
	while ((e = s->fair->pick(&c->q)) && e->delayed) {
		s->fair->sleep(&c->q, e);
		wi_queue_remove(&c->q, e);
	}
	return e ? &s->task[e->task] : NULL;
}

static void switch_in(struct sim *s, uint32_t cpu, struct sim_task *t)
{
	struct sim_cpu *c = &s->cpu[cpu];

	if (s_is_rt(t)) {
		wi_rt_remove(&c->rt, &t->e);
		c->rt.curr = &t->e;
		c->rt.nr++;
		t->e.queued = true;
	} else {
		wi_queue_take(&c->q, &t->e);
		s->fair->set(&c->q, &t->e);
	}
	t->state = S_RUNNING;
	t->touched = s->seq++;
	c->curr = s_number(s, t);
	wi_tally_wait(s->tally, s->now_ns, cpu, -1);
	if (s->core)
		s->result->cookie_wait_ns[t->cookie_rank] += s->now_ns - t->wait_since_ns;
	if (t->waking != NONE)
		wi_tally_ran(s->tally, s->now_ns, t->waking);
	t->waking = NONE;
}

static void finish_switch(struct sim *s, uint32_t cpu, uint32_t prev, bool prev_stays, char prev_state, bool woken)
{
	struct sim_cpu *c = &s->cpu[cpu];
	bool was_busy = prev != NONE, is_busy = c->curr != NONE;

	s_sink_switch(s, cpu, prev, c->curr, prev_state, prev_stays);
	if (was_busy != is_busy) {
		wi_tally_cpu(s->tally, s->now_ns, cpu, is_busy, false);
		s_tell_cpu(s, cpu, is_busy ? WAKEIF_CPU_WAKES : WAKEIF_CPU_IDLES);
		if (is_busy) {
			s_idle_ended(s, cpu, woken);
			s_timers_due(s, cpu);
		}
		c->idle_since_ns = s->now_ns;
	}
	if (is_busy)
		s_tell_task(s, &s->task[c->curr], WAKEIF_TASK_RUNS, 0, cpu, WAKEIF_CPU_NONE);
	if (was_busy != is_busy)
		count_busy(s, cpu, is_busy ? 1 : -1);
	if (is_busy)
		c->speed = speed_of(s, cpu);
	s_rekey(s, cpu);
	s_view_cpu(s, cpu);
}

void s_switch_to(struct sim *s, uint32_t cpu, uint32_t prev, struct sim_task *next, bool woken)
{
	struct sim_cpu *c = &s->cpu[cpu];
	struct sim_task *t = prev != NONE ? &s->task[prev] : NULL;

	if (next && s_number(s, next) == c->curr)
		return;
	if (c->curr != NONE) {
		put_prev(s, cpu, t);
		c->curr = NONE;
	}
	if (next)
		switch_in(s, cpu, next);
	if (prev == NONE && !next) {
		s_view_cpu(s, cpu);
		return;
	}
	bool stays = t && (t->state == S_RUNNABLE || t->moves); /* who is taken elsewhere does not sleep */

	finish_switch(s, cpu, prev, stays, !t || stays ? 'R' : t->state == S_OVER ? 'X' : 'S', woken);
}

void s_switch_due(struct sim *s, uint32_t cpu)
{
	if (s_stalls(s, cpu))
		s->cpu[cpu].missed_switch = true;
	else
		s_schedule(s, cpu);
}

void s_schedule(struct sim *s, uint32_t cpu)
{
	struct sim_cpu *c = &s->cpu[cpu];
	uint32_t prev = c->curr;
	struct sim_task *t = prev != NONE ? &s->task[prev] : NULL, *next;
	bool woken = c->resched;

	s_account(s, cpu);
	if (s->core)
		s_core_note(s, cpu);
	c->resched = c->missed_switch = false;
	c->switch_gen++;
	if (t && t->state != S_RUNNING) {
		put_prev(s, cpu, t);
		c->curr = NONE;
	}
	if (t && s_is_rt(t) && t->state != S_RUNNING) {
		s_view_cpu(s, cpu);
		s_rt_pull(s, cpu, t->e.prio);
	}
	next = s_pick(s, cpu);
	if (!next && s->o.balance != WI_BALANCE_OFF) {
		s_view_cpu(s, cpu);
		if (s_newidle(s, cpu))
			next = s_pick(s, cpu);
	}
	if (s_core_scheds(s))
		s_core_schedule(s, cpu, prev, next, woken);
	else
		s_switch_to(s, cpu, prev, next, woken);
	if (c->rt.curr && c->rt.nr_waiting)
		s_rt_push(s, cpu);
}

/* ---- operations ---- */

static void sleep_on(struct sim *s, struct sim_task *t, enum wi_op_kind kind, uint32_t what)
{
	t->state = S_BLOCKED;
	t->wait_kind = (uint8_t)kind;
	t->waits_for = what;
	t->block_ns = s->now_ns;
}

static bool absolute(const struct sim *s, const struct sim_task *t)
{
	return s->o.external == WI_EXTERNAL_ABSOLUTE || (s->o.external == WI_EXTERNAL_AUTO && t->about->kthread);
}

static void sleep_external(struct sim *s, struct sim_task *t, uint32_t nr)
{
	const struct wi_work_sleep *e = &s->w->sleep[nr];
	uint64_t at_ns;

	sleep_on(s, t, WI_OP_SLEEP, nr);
	if (e->waker_cpu == WI_WORK_NONE)
		return; /* nothing ever woke it */
	at_ns = s_timer_set(s, t, e);
	if (absolute(s, t))
		at_ns = e->wake_ns > s->now_ns ? e->wake_ns : s->now_ns;
	s_push(s, at_ns, EV_TIMER, s_number(s, t), ++t->timer_gen);
}

/* A server does not sleep while somebody waits for its answer: that request was taken note of with another's. */
static bool is_there(const struct sim *s, const struct sim_task *t, uint32_t counter)
{
	return s->counter[counter].stored > 0 || (t->first_asker != NONE && t->asked_at == counter);
}

/* true: it goes on running. */
static bool block(struct sim *s, struct sim_task *t, uint32_t counter)
{
	struct sim_counter *k = &s->counter[counter];

	if (!is_there(s, t, counter)) {
		sleep_on(s, t, WI_OP_BLOCK, counter);
		return false;
	}
	k->stored--;
	if (s->now_ns - k->last_ns < s->o.commit_ns) {
		sleep_on(s, t, WI_OP_BLOCK, counter);
		t->requeues = true;
		t->waker = k->last_waker ? k->last_waker - 1 : NONE;
		return false;
	}
	s->result->not_blocked++;
	return true;
}

/* Where it did not block when it was recorded. true: it goes on running. */
static bool take(struct sim *s, struct sim_task *t, uint32_t counter)
{
	if (s->o.no_orders)
		return true;
	if (!is_there(s, t, counter)) {
		sleep_on(s, t, WI_OP_BLOCK, counter);
		return false;
	}
	s->counter[counter].stored--;
	return true;
}

static void wake(struct sim *s, struct sim_task *t, const struct wi_op *op)
{
	uint32_t counter = op->target;

	if (op->kind == WI_OP_UNSEEN && s->o.no_orders)
		return;
	if (op->wake.flags & WI_WAKE_ANSWER && !s->o.no_orders)
		counter = s_answer(s, t, counter);
	if (counter == NONE)
		return;
	if (op->wake.flags & WI_WAKE_REQUEST && !s->o.no_orders)
		s_ask(s, t, counter);
	uint32_t wakee = s->w->counter[counter].task;
	struct sim_task *q = &s->task[wakee];

	if (q->state == S_BLOCKED && q->wait_kind == WI_OP_BLOCK && q->waits_for == counter) {
		s_wake(s, wakee, s_number(s, t), t->cpu,
		       op->wake.flags & WI_WAKE_SOFTIRQ ? WAKEIF_CTX_SOFTIRQ : WAKEIF_CTX_TASK, &op->wake);
		return;
	}
	s->counter[counter].stored++;
	s->counter[counter].last_ns = s->now_ns;
	s->counter[counter].last_waker = s_number(s, t) + 1;
}

static void renice(struct sim *s, struct sim_task *t, uint64_t value)
{
	struct sim_cpu *c = &s->cpu[t->cpu];
	int16_t prio = (int16_t)(uint16_t)(value >> 8);
	bool was_rt = s_is_rt(t);

	if (was_rt)
		wi_rt_remove(&c->rt, &t->e);
	else
		wi_queue_remove(&c->q, &t->e);
	t->e.prio = prio == -1 ? 0 : prio;
	t->e.policy = (uint8_t)value;
	t->e.weight = wi_pelt_weight(t->e.prio, t->e.policy == WAKEIF_POLICY_IDLE);
	if (s_is_rt(t)) {
		c->rt.curr = &t->e;
		c->rt.nr++;
		t->e.queued = true;
	} else {
		s->fair->place(&c->q, &t->e, false, false);
		s->failed |= !wi_queue_add(&c->q, &t->e);
		wi_queue_take(&c->q, &t->e);
		s->fair->set(&c->q, &t->e);
	}
	s_tell_task(s, t, WAKEIF_TASK_RENICED, 0, t->cpu, WAKEIF_CPU_NONE);
	s_view_cpu(s, t->cpu);
}

static void tick_cpu(struct sim *s, uint32_t cpu);

/* Its CPU goes on, and sees to what has come in the meantime. true: t runs on. */
static bool resume(struct sim *s, struct sim_task *t)
{
	struct sim_cpu *c = &s->cpu[t->cpu];
	bool tick = c->missed_tick;

	c->missed_tick = false;
	if (c->missed_switch)
		s_schedule(s, t->cpu);
	else if (tick)
		tick_cpu(s, t->cpu);
	return t->state == S_RUNNING;
}

/* What t does now. true: it goes on running on its CPU. */
static bool apply(struct sim *s, struct sim_task *t)
{
	const struct wi_op *op = &s->w->ops[t->op++];
	bool goes_on = true;

	s->result->ops_done++;
	switch (op->kind) {
	case WI_OP_RUN:
		s_load_op(s, t);
		t->left += op->value * WORK;
		return true;
	case WI_OP_WAKE:
	case WI_OP_UNSEEN:
		wake(s, t, op);
		break;
	case WI_OP_FORK:
		s_fork(s, s_number(s, t), op->target, &op->wake);
		break;
	case WI_OP_BLOCK:
		t->nr_blocks++;
		goes_on = block(s, t, op->target);
		break;
	case WI_OP_TAKE:
		goes_on = take(s, t, op->target);
		break;
	case WI_OP_SLEEP:
		t->nr_blocks++;
		sleep_external(s, t, op->target);
		goes_on = false;
		break;
	case WI_OP_YIELD:
		if (!s_is_rt(t))
			s->fair->yield(&s->cpu[t->cpu].q);
		s_schedule(s, t->cpu);
		goes_on = t->state == S_RUNNING;
		break;
	case WI_OP_EXEC: {
		enum wakeif_class class_;

		t->waker = s_number(s, t); /* it asks for itself */
		t->waker_cpu = t->cpu;
		t->context = WAKEIF_CTX_TASK;
		t->waking_ns = s->now_ns;
		uint32_t to = s_place(s, t, WAKEIF_WF_EXEC, &class_);

		if (to != t->cpu && s_is_rt(t) == false) {
			t->moves = true;
			t->waits_for = to;
			goes_on = false;
		}
		break;
	}
	case WI_OP_STALL:
		t->stalls = true;
		break;
	case WI_OP_RESUME:
		t->stalls = false;
		s_load_op(s, t);
		return resume(s, t);
	case WI_OP_RENICE:
		renice(s, t, op->value);
		break;
	default: /* EXIT, END */
		t->state = S_OVER;
		goes_on = false;
		break;
	}
	if (t->state != S_OVER)
		s_load_op(s, t);
	return goes_on;
}

/* A task that has left its CPU to run elsewhere at once. */
static void move_running(struct sim *s, struct sim_task *t)
{
	uint32_t from = t->cpu, to = t->waits_for;

	t->state = S_BLOCKED; /* as far as that CPU is concerned */
	s_schedule(s, from);
	t->moves = false;
	s->fair->detach(&s->cpu[from].q, &t->e);
	wi_tally_moved(s->tally, s->now_ns, from, to, true);
	s_sink_migrate(s, t, from, to);
	s_tell_task(s, t, WAKEIF_TASK_MOVED, 0, to, from);
	t->cpu = to;
	t->kind = WI_WAKE_REMOTE;
	t->noise = s_no_noise;
	if (s_queue_on(s, s_number(s, t), to, false, false))
		s_check_preempt(s, s_number(s, t));
}

void s_progress(struct sim *s, uint32_t cpu)
{
	struct sim_cpu *c = &s->cpu[cpu];

	s_account(s, cpu);
	while (c->curr != NONE && !s->failed) {
		struct sim_task *t = &s->task[c->curr];

		if (t->left) {
			s_rekey(s, cpu);
			return;
		}
		uint32_t nr = c->curr;

		if (!apply(s, t) && c->curr == nr) {
			if (t->moves)
				move_running(s, t);
			else
				s_schedule(s, cpu);
			if (t->requeues)
				s_wake_oncpu(s, nr);
			return;
		}
	}
}

void s_block_first(struct sim *s, uint32_t task)
{
	struct sim_task *t = &s->task[task];
	const struct wi_op *op = &s->w->ops[t->op++];

	s->result->ops_done++;
	t->nr_blocks++;
	if (op->kind == WI_OP_SLEEP)
		sleep_external(s, t, op->target);
	else if (s->counter[op->target].stored > 0) {
		s->counter[op->target].stored--;
		sleep_on(s, t, WI_OP_BLOCK, op->target);
		s_push(s, s->now_ns, EV_TIMER, task, ++t->timer_gen);
	} else {
		sleep_on(s, t, WI_OP_BLOCK, op->target);
	}
	s_load_op(s, t);
}

/* ---- the tick ---- */

static void tick_cpu(struct sim *s, uint32_t cpu)
{
	struct sim_cpu *c = &s->cpu[cpu];
	struct sim_task *t = c->curr != NONE ? &s->task[c->curr] : NULL;

	if (!t)
		return;
	c->missed_tick = t->stalls;
	if (t->stalls)
		return;
	s_account(s, cpu);
	if (s_is_rt(t)) {
		struct wi_entity *e = wi_rt_first(&c->rt);

		if (t->e.policy == WAKEIF_POLICY_RR && t->rr_ns >= RR_SLICE_NS && !c->resched) {
			if (e && e->prio == t->e.prio)
				s_schedule(s, cpu);
			else
				t->rr_ns = 0;
		}
		return;
	}
	bool over = s->fair->tick(&c->q) || (s_core_scheds(s) && s_core_tick(s, cpu));

	if (over && !c->resched)
		s_schedule(s, cpu);
}

void s_tick(struct sim *s)
{
	for (uint32_t cpu = 0; cpu < s->topo->nr_cpus; cpu++) {
		if (!s->cpu[cpu].online)
			continue;
		tick_cpu(s, cpu);
		if (s->o.balance == WI_BALANCE_FULL && !s_stalls(s, cpu))
			s_balance(s, cpu);
	}
}
