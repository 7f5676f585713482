/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What happened, to the estimates, to the model and to the sink, in the words of a recording. */
#include "analyzer/sim/machine.h"
#include "analyzer/base/names.h"

static void tell(struct sim *s, const struct wakeif_happening *h)
{
	wi_estimates_happened(s->est, h);
	if (s->o.ops->observe && s->types >> h->type & 1)
		s->o.ops->observe(s->model, h);
}

void s_tell_task(struct sim *s, const struct sim_task *t, enum wakeif_event_type type, uint8_t flags, uint32_t cpu,
		 uint32_t other)
{
	struct wakeif_happening h = { .size = sizeof(h),
				      .type = (uint8_t)type,
				      .flags = flags,
				      .policy = t->e.policy,
				      .prio = t->e.prio,
				      .now_ns = s->now_ns,
				      .task = s->topo->nr_cpus + s_number(s, t),
				      .cpu = cpu,
				      .other = other,
				      .pid = t->about->pid };

	tell(s, &h);
}

void s_tell_cpu(struct sim *s, uint32_t cpu, enum wakeif_event_type type)
{
	struct wakeif_happening h = { .size = sizeof(h),
				      .type = (uint8_t)type,
				      .now_ns = s->now_ns,
				      .task = cpu,
				      .cpu = cpu,
				      .other = WAKEIF_CPU_NONE };

	tell(s, &h);
}

/* ---- the sink; names are numbers of tasks from 1 on: 0 is no name ---- */

static uint32_t name(uint32_t task)
{
	return task == NONE ? WI_NAME_NONE : task + 1;
}

static int32_t pid(const struct sim *s, uint32_t task)
{
	return task == NONE ? 0 : s->w->task[task].pid;
}

static struct wi_event event(const struct sim *s, enum wi_event_type type, uint32_t cpu, uint32_t current,
			     enum wakeif_context context)
{
	return (struct wi_event){ .ts_ns = s->now_ns,
				  .cpu = cpu,
				  .common_pid = pid(s, current),
				  .common_comm = WI_NAME_NONE,
				  .type = (uint8_t)type,
				  .common_flags = context == WAKEIF_CTX_HARDIRQ	  ? WI_FLAG_HARDIRQ
						  : context == WAKEIF_CTX_SOFTIRQ ? WI_FLAG_SOFTIRQ
										  : 0,
				  .known = WI_KNOWN_FLAGS | WI_KNOWN_COMMON_PID | WI_KNOWN_STATE | WI_KNOWN_PREEMPTED };
}

static void send(struct sim *s, const struct wi_event *ev)
{
	if (!s->o.sink(s->o.sink_ctx, ev))
		s->failed = true;
}

static void wakeup_event(struct sim *s, const struct sim_task *t, enum wi_event_type type, uint32_t cpu,
			 enum wakeif_context context, uint32_t target)
{
	struct wi_event ev = event(s, type, cpu, s->cpu[cpu].on_record, context);

	ev.wk.pid = t->about->pid;
	ev.wk.comm = name(s_number(s, t));
	ev.wk.target_cpu = (int32_t)target;
	ev.wk.prio = t->e.prio;
	ev.wk.success = 1;
	send(s, &ev);
}

void s_sink_waking(struct sim *s, const struct sim_task *t)
{
	if (s->o.sink)
		wakeup_event(s, t, WI_EV_SCHED_WAKING, t->waker_cpu, t->context, t->cpu);
}

/* The record is the target's own where the wakeup was sent there. */
void s_sink_wakeup(struct sim *s, const struct sim_task *t, bool new_)
{
	bool sent = !new_ && t->kind & WI_WAKE_REMOTE;

	if (s->o.sink)
		wakeup_event(s, t, new_ ? WI_EV_SCHED_WAKEUP_NEW : WI_EV_SCHED_WAKEUP, sent ? t->cpu : t->waker_cpu,
			     sent ? WAKEIF_CTX_HARDIRQ : (enum wakeif_context)t->context, t->cpu);
}

void s_sink_migrate(struct sim *s, const struct sim_task *t, uint32_t from, uint32_t to)
{
	if (!s->o.sink)
		return;
	uint32_t cpu = t->state == S_WAKING ? t->waker_cpu : to;
	struct wi_event ev = event(s, WI_EV_SCHED_MIGRATE_TASK, cpu, s->cpu[cpu].on_record,
				   t->state == S_WAKING ? (enum wakeif_context)t->context : WAKEIF_CTX_TASK);

	ev.mig.pid = t->about->pid;
	ev.mig.comm = name(s_number(s, t));
	ev.mig.orig_cpu = (int32_t)from;
	ev.mig.dest_cpu = (int32_t)to;
	ev.mig.prio = t->e.prio;
	send(s, &ev);
}

void s_sink_fork(struct sim *s, const struct sim_task *parent, const struct sim_task *child)
{
	if (!s->o.sink)
		return;
	struct wi_event ev = event(s, WI_EV_SCHED_PROCESS_FORK, parent->cpu, s_number(s, parent), WAKEIF_CTX_TASK);

	ev.fork.parent_pid = parent->about->pid;
	ev.fork.parent_comm = name(s_number(s, parent));
	ev.fork.child_pid = child->about->pid;
	ev.fork.child_comm = name(s_number(s, child));
	send(s, &ev);
}

void s_sink_switch(struct sim *s, uint32_t cpu, uint32_t prev, uint32_t next, char prev_state, bool preempted)
{
	if (!s->o.sink)
		return;
	struct wi_event ev = event(s, WI_EV_SCHED_SWITCH, cpu, prev, WAKEIF_CTX_TASK);

	s->cpu[cpu].on_record = next;
	ev.sw.prev_pid = pid(s, prev);
	ev.sw.next_pid = pid(s, next);
	ev.sw.prev_comm = name(prev);
	ev.sw.next_comm = name(next);
	ev.sw.prev_prio = prev == NONE ? 120 : s->task[prev].e.prio;
	ev.sw.next_prio = next == NONE ? 120 : s->task[next].e.prio;
	ev.sw.prev_state = prev == NONE ? 'R' : prev_state;
	ev.sw.preempted = prev != NONE && preempted;
	send(s, &ev);
}
