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

void tl_idle_changed(struct wi_timeline *tl, uint32_t c)
{
	bool idle = !tl->cpu[c].idle;

	tl->cpu[c].idle = idle;
	tl_write_bit(tl->idle, c, idle);
	tl->view_cpu[c].idle_since_ns = tl->now_ns;
	if (tl->obs.idle_changed)
		tl->obs.idle_changed(tl->obs.ctx, tl->now_ns, c, idle);
}

tl_rare static void leave_or_enter_unknown(struct wi_timeline *tl, uint32_t c, enum wi_cpu_kind kind)
{
	struct cpu *cpu = &tl->cpu[c];

	if (cpu->kind == WI_CPU_UNKNOWN && tl->now_ns > tl->start_ns && wi_mask_test(tl->topo->online, c))
		tl->q.unknown_ns += tl->now_ns - tl_clip(tl, cpu->unknown_since_ns);
	if (kind == WI_CPU_UNKNOWN)
		cpu->unknown_since_ns = tl->now_ns;
	tl_write_bit(tl->unknown, c, kind == WI_CPU_UNKNOWN);
}

void tl_kind_changes(struct wi_timeline *tl, uint32_t c, enum wi_cpu_kind kind)
{
	struct cpu *cpu = &tl->cpu[c];

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
	const struct wakeif_cpu *v = &tl->view_cpu[c];

	tl_write_bit(tl->sched_idle_only, c,
		  cpu->kind == WI_CPU_BUSY && v->nr_sched_idle && v->nr_sched_idle == v->nr_running && !cpu->nr_pending);
}

void tl_rt_count(struct wi_timeline *tl, uint32_t c, const struct task *t)
{
	struct wakeif_cpu *v = &tl->view_cpu[c];

	tl->cpu[c].nr_rt++;
	if (t->counted_prio < v->highest_rt_prio)
		v->highest_rt_prio = t->counted_prio;
}

static int16_t highest_rt(const struct cpu *cpu)
{
	int16_t best = cpu->cur && tl_is_rt(cpu->cur->counted_prio) ? cpu->cur->counted_prio : 100;

	for (const struct task *t = cpu->waiting; t; t = t->next_waiting)
		if (tl_is_rt(t->counted_prio) && t->counted_prio < best)
			best = t->counted_prio;
	return best;
}

void tl_rt_uncount(struct wi_timeline *tl, uint32_t c)
{
	struct cpu *cpu = &tl->cpu[c];

	cpu->nr_rt--;
	tl->view_cpu[c].highest_rt_prio = cpu->nr_rt ? highest_rt(cpu) : 100;
}

void tl_sched_idle_count(struct wi_timeline *tl, uint32_t c, struct task *t)
{
	t->counted_sched_idle = t->pub.policy == WAKEIF_POLICY_IDLE;
	tl->view_cpu[c].nr_sched_idle += t->counted_sched_idle;
	tl_update_sched_idle_only(tl, c);
}

void tl_sched_idle_uncount(struct wi_timeline *tl, uint32_t c, const struct task *t)
{
	tl->view_cpu[c].nr_sched_idle -= t->counted_sched_idle;
	tl_update_sched_idle_only(tl, c);
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

void tl_wait_begin(struct wi_timeline *tl, struct task *t, uint32_t c)
{
	tl_queue_join(tl, t, c);
}

void tl_wait_end(struct wi_timeline *tl, struct task *t)
{
	tl_queue_leave(tl, t);
}

void tl_become_unknown(struct wi_timeline *tl, struct task *t)
{
	tl_set_state(tl, t, WI_TASK_UNKNOWN);
	t->ghost = false;
	t->unknown_since_ns = tl->now_ns;
}
