/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a model sees and answers. Tasks that no model is asked for are placed by the kernel's plain rules. */
#include "analyzer/sim/machine.h"

static void write_bit(wakeif_word *m, uint32_t cpu, bool on)
{
	if (on)
		wi_mask_set(m, cpu);
	else
		wi_mask_clear(m, cpu);
}

void s_view_cpu(struct sim *s, uint32_t cpu)
{
	struct sim_cpu *c = &s->cpu[cpu];
	struct wakeif_cpu *v = &s->view_cpu[cpu];
	const struct sim_task *curr = c->curr != NONE ? &s->task[c->curr] : NULL;
	uint32_t nr_cfs = c->q.nr - c->q.nr_delayed;
	bool was_idle = wi_mask_test(s->idle, cpu), idle;
	uint32_t had = v->nr_running;
	const struct wi_entity *rt = wi_rt_first(&c->rt);

	if (!c->online)
		return;
	if (s->o.balance != WI_BALANCE_OFF)
		s_load_set(s, cpu, curr ? 1024 : 0, 1024 * (uint64_t)nr_cfs, c->q.weight);
	v->nr_running = nr_cfs + c->rt.nr;
	s->nr_overloaded += (uint32_t)(v->nr_running > 1) - (uint32_t)(had > 1);
	s_power_count(s, cpu, had, v->nr_running);
	v->nr_cfs = nr_cfs;
	v->nr_sched_idle = c->q.nr_idle;
	v->curr_pid = curr ? curr->about->pid : 0;
	v->curr_prio = curr ? curr->e.prio : 140;
	v->highest_rt_prio = 100;
	if (rt)
		v->highest_rt_prio = rt->prio;
	if (c->rt.curr && c->rt.curr->prio < v->highest_rt_prio)
		v->highest_rt_prio = c->rt.curr->prio;
	idle = !curr && !v->nr_running && !c->pending;
	if (idle != was_idle)
		v->idle_since_ns = s->now_ns;
	write_bit(s->idle, cpu, idle);
	write_bit(s->pending, cpu, c->pending);
	write_bit(s->sched_idle_only, cpu, v->nr_running && v->nr_sched_idle == v->nr_running && !c->pending);
}

static uint32_t first_allowed(const struct sim *s, const struct sim_task *t, uint32_t prefer)
{
	return wi_mask_test(t->allowed, prefer) ? prefer : wi_mask_next(t->allowed, s->topo->nr_words, 0);
}

static uint32_t ask(struct sim *s, struct sim_task *t, struct wakeif_wakeup *w)
{
	struct wakeif_choice choice = { .size = sizeof(choice),
					.cpu = WAKEIF_CPU_NONE,
					.target = WAKEIF_CPU_NONE,
					.other_sync_cpu = WAKEIF_CPU_NONE };

	s->view.now_ns = s->now_ns;
	wi_estimates_look(s->est, &s->view);
	if (s->o.ops->select_cpu(s->model, w, &s->view, &choice) && choice.cpu < s->topo->nr_cpus &&
	    wi_mask_test(t->allowed, choice.cpu))
		return choice.cpu;
	s->result->invalid++;
	return first_allowed(s, t, t->cpu);
}

/* A task that executes a new program is placed as if it were not there. */
static uint32_t ask_exec(struct sim *s, struct sim_task *t, struct wakeif_wakeup *w)
{
	struct wakeif_cpu *v = &s->view_cpu[t->cpu], was = *v;
	bool was_idle = wi_mask_test(s->idle, t->cpu);
	uint32_t cpu;

	v->nr_running--;
	v->nr_cfs--;
	v->nr_sched_idle -= t->e.policy == WAKEIF_POLICY_IDLE;
	write_bit(s->idle, t->cpu, !v->nr_running && !s->cpu[t->cpu].pending);
	cpu = ask(s, t, w);
	*v = was;
	write_bit(s->idle, t->cpu, was_idle);
	return cpu;
}

uint32_t s_place(struct sim *s, struct sim_task *t, uint32_t flags, enum wakeif_class *class_)
{
	const struct sim_task *waker = t->waker != NONE ? &s->task[t->waker] : NULL;
	uint32_t curr = s->cpu[t->waker_cpu].curr;
	struct wakeif_wakeup w = { .size = sizeof(w),
				   .now_ns = s->now_ns,
				   .wake_ns = t->waking_ns,
				   .pid = t->about->pid,
				   .prio = t->e.prio,
				   .policy = t->e.policy,
				   .context = t->context,
				   .prev_cpu = t->cpu,
				   .waker_cpu = t->waker_cpu,
				   .wake_flags = flags,
				   .wake_flags_known = WAKEIF_WF_TTWU | WAKEIF_WF_FORK | WAKEIF_WF_EXEC,
				   .slept_ns = s->now_ns - t->block_ns,
				   .allowed = t->allowed,
				   .allowed_source = WAKEIF_ALLOWED_RECORDED,
				   .wakee_task = s->topo->nr_cpus + s_number(s, t) };

	if (t->noise.flags & WI_WAKE_SYNC_KNOWN)
		w.wake_flags_known |= WAKEIF_WF_SYNC;
	if (t->noise.flags & WI_WAKE_SYNC && flags & WAKEIF_WF_TTWU)
		w.wake_flags |= WAKEIF_WF_SYNC;
	/* In interrupt context the waker is whoever was interrupted. */
	w.waker_pid = waker ? waker->about->pid : curr != NONE ? s->task[curr].about->pid : 0;
	w.waker_task = waker ? s->topo->nr_cpus + t->waker : curr != NONE ? s->topo->nr_cpus + curr : t->waker_cpu;
	w.waker_pinned = waker && waker->about->kthread && waker->nr_allowed == 1;
	if (!waker && w.waker_task >= s->topo->nr_cpus)
		w.waker_pinned = s->task[curr].about->kthread && s->task[curr].nr_allowed == 1;
	*class_ = flags & WAKEIF_WF_FORK	      ? WAKEIF_FORK
		  : flags & WAKEIF_WF_EXEC	      ? WAKEIF_EXEC
		  : t->nr_allowed == 1		      ? WAKEIF_PINNED
		  : !wi_mask_test(t->allowed, t->cpu) ? WAKEIF_FALLBACK
		  : s_is_rt(t)			      ? WAKEIF_RT
						      : WAKEIF_SELECT;
	w.class_ = (uint8_t)*class_;
	wi_estimates_wakeup(s->est, &w);
	if (t->nr_allowed == 1 || *class_ == WAKEIF_FALLBACK)
		return first_allowed(s, t, t->cpu);
	if (s_is_rt(t))
		return s_place_rt(s, t);
	return *class_ == WAKEIF_EXEC ? ask_exec(s, t, &w) : ask(s, t, &w);
}
