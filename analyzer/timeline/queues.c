/* SPDX-License-Identifier: GPL-2.0-or-later */
/* CPUs and their queues: who runs, who waits, what is idle. */
#include "analyzer/timeline/internal.h"

void tl_write_bit(wakeif_word *m, uint32_t c, bool on)
{
	if (on)
		wi_mask_set(m, c);
	else
		wi_mask_clear(m, c);
}

/* idle(c) of METRICS, told to the observer when it changed. */
void tl_update_idle(struct wi_timeline *tl, uint32_t c)
{
	const struct cpu *cpu = &tl->cpu[c];
	bool idle = cpu->kind == WI_CPU_IDLE && !cpu->nr_waiting && !cpu->nr_pending;

	if (idle == wi_mask_test(tl->idle, c))
		return;
	tl_write_bit(tl->idle, c, idle);
	tl->view_cpu[c].idle_since_ns = tl->now_ns;
	if (tl->obs.idle_changed)
		tl->obs.idle_changed(tl->obs.ctx, tl->now_ns, c, idle);
}

static void leave_or_enter_unknown(struct wi_timeline *tl, uint32_t c, enum wi_cpu_kind kind)
{
	struct cpu *cpu = &tl->cpu[c];

	if (cpu->kind == WI_CPU_UNKNOWN && kind != WI_CPU_UNKNOWN && tl->now_ns > tl->start_ns && wi_mask_test(tl->topo->online, c))
		tl->q.unknown_ns += tl->now_ns - tl_clip(tl, cpu->unknown_since_ns);
	if (kind == WI_CPU_UNKNOWN && cpu->kind != WI_CPU_UNKNOWN)
		cpu->unknown_since_ns = tl->now_ns;
	tl_write_bit(tl->unknown, c, kind == WI_CPU_UNKNOWN);
}

void tl_set_kind(struct wi_timeline *tl, uint32_t c, enum wi_cpu_kind kind)
{
	struct cpu *cpu = &tl->cpu[c];

	if (cpu->kind == kind)
		return;
	if (cpu->kind == WI_CPU_UNKNOWN || kind == WI_CPU_UNKNOWN)
		leave_or_enter_unknown(tl, c, kind);
	if (cpu->kind == WI_CPU_IDLE)
		cpu->last_idle_ns = tl->now_ns;
	tl_tell_cpu(tl, c, kind == WI_CPU_IDLE ? WAKEIF_CPU_IDLES : kind == WI_CPU_BUSY ? WAKEIF_CPU_WAKES : WAKEIF_CPU_LOST);
	cpu->kind = kind;
	cpu->ever_idle |= kind == WI_CPU_IDLE;
}

void tl_update_sched_idle_only(struct wi_timeline *tl, uint32_t c)
{
	const struct cpu *cpu = &tl->cpu[c];

	tl_write_bit(tl->sched_idle_only, c,
		  cpu->kind == WI_CPU_BUSY && cpu->nr_sched_idle && cpu->nr_sched_idle == tl->view_cpu[c].nr_running && !cpu->nr_pending);
}

/* The task's weight in what is queued on c: counted when it becomes runnable or running, uncounted as it was counted. */
void tl_queue_count(struct wi_timeline *tl, uint32_t c, struct task *t)
{
	struct cpu *cpu = &tl->cpu[c];
	struct wakeif_cpu *v = &tl->view_cpu[c];

	t->counted_prio = t->pub.prio;
	t->counted_sched_idle = t->pub.policy == WAKEIF_POLICY_IDLE;
	v->nr_running++;
	if (tl_is_fair(t->counted_prio)) {
		if (!cpu->nr_fair++ && cpu->fair_until_ns != tl->now_ns) /* else one took the other's place */
			cpu->fair_since_ns = tl->now_ns;
		v->nr_cfs++;
	} else if (tl_is_rt(t->counted_prio)) {
		cpu->nr_rt++;
		if (t->counted_prio < v->highest_rt_prio)
			v->highest_rt_prio = t->counted_prio;
	}
	if (t->counted_sched_idle) {
		cpu->nr_sched_idle++;
		v->nr_sched_idle++;
	}
	if (tl->have_sched_idle)
		tl_update_sched_idle_only(tl, c);
}

static int16_t highest_rt(const struct cpu *cpu)
{
	int16_t best = cpu->cur && tl_is_rt(cpu->cur->counted_prio) ? cpu->cur->counted_prio : 100;

	for (const struct task *t = cpu->waiting; t; t = t->next_waiting)
		if (tl_is_rt(t->counted_prio) && t->counted_prio < best)
			best = t->counted_prio;
	return best;
}

/* Call when t is no longer cur nor on the list of c. */
void tl_queue_uncount(struct wi_timeline *tl, uint32_t c, struct task *t)
{
	struct cpu *cpu = &tl->cpu[c];
	struct wakeif_cpu *v = &tl->view_cpu[c];

	v->nr_running--;
	if (tl_is_fair(t->counted_prio)) {
		if (!--cpu->nr_fair)
			cpu->fair_until_ns = tl->now_ns;
		v->nr_cfs--;
	} else if (tl_is_rt(t->counted_prio)) {
		cpu->nr_rt--;
		v->highest_rt_prio = cpu->nr_rt ? highest_rt(cpu) : 100;
	}
	if (t->counted_sched_idle) {
		cpu->nr_sched_idle--;
		v->nr_sched_idle--;
	}
	if (tl->have_sched_idle)
		tl_update_sched_idle_only(tl, c);
}

void tl_set_state(struct wi_timeline *tl, struct task *t, enum wi_task_state state)
{
	uint64_t now = tl_clip(tl, tl->now_ns);

	enum wi_task_state from = (enum wi_task_state)t->pub.state;

	t->pub.state_ns[from] += now - t->pub.since_ns;
	t->pub.since_ns = now;
	t->pub.state = (uint8_t)state;
	if (tl->obs.happened)
		tl_tell_state(tl, t, from, state);
}

void tl_count_repair(struct wi_timeline *tl, uint64_t *counter)
{
	if (tl->in_window)
		++*counter;
}

void tl_move_inferred(struct wi_timeline *tl, struct task *t, uint32_t dest, bool placement)
{
	uint32_t orig = t->pub.cpu;

	t->pub.cpu = dest;
	if (orig == WI_CPU_NONE || orig == dest)
		return;
	if (tl->in_window)
		t->pub.nr_migrations++;
	tl_tell_task(tl, t, WAKEIF_TASK_MOVED, t->pub.state == WI_TASK_WAKING ? WAKEIF_EV_WAKING : 0, dest, orig);
	if (tl->obs.migrated)
		tl->obs.migrated(tl->obs.ctx, tl->now_ns, &t->pub, orig, dest, true, placement);
}

/* t becomes RUNNABLE on c. */
void tl_wait_begin(struct wi_timeline *tl, struct task *t, uint32_t c)
{
	struct cpu *cpu = &tl->cpu[c];

	t->pub.cpu = c;
	tl_set_state(tl, t, WI_TASK_RUNNABLE);
	t->ghost = false;
	t->fresh = false;
	tl_task_seen_on(tl, t, c);
	t->prev_waiting = NULL;
	t->next_waiting = cpu->waiting;
	if (cpu->waiting)
		cpu->waiting->prev_waiting = t;
	cpu->waiting = t;
	cpu->nr_waiting++;
	tl_queue_count(tl, c, t);
	tl_update_idle(tl, c);
	if (tl->obs.wait_changed)
		tl->obs.wait_changed(tl->obs.ctx, tl->now_ns, c, &t->pub, 1);
}

/* t leaves the list of its CPU; the caller gives it its next state. */
void tl_wait_end(struct wi_timeline *tl, struct task *t)
{
	struct cpu *cpu = &tl->cpu[t->pub.cpu];

	if (t->prev_waiting)
		t->prev_waiting->next_waiting = t->next_waiting;
	else
		cpu->waiting = t->next_waiting;
	if (t->next_waiting)
		t->next_waiting->prev_waiting = t->prev_waiting;
	t->next_waiting = t->prev_waiting = NULL;
	cpu->nr_waiting--;
	tl_queue_uncount(tl, t->pub.cpu, t);
	if (tl->obs.wait_changed)
		tl->obs.wait_changed(tl->obs.ctx, tl->now_ns, t->pub.cpu, &t->pub, -1);
	tl_update_idle(tl, t->pub.cpu);
}

void tl_become_unknown(struct wi_timeline *tl, struct task *t)
{
	tl_set_state(tl, t, WI_TASK_UNKNOWN);
	t->ghost = false;
	t->unknown_since_ns = tl->now_ns;
}
