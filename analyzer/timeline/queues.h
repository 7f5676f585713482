/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The end of internal.h: what nearly every event does to a CPU's queue and a task's state, in line. The rest is in queues.c. */
#ifndef WI_TIMELINE_QUEUES_H
#define WI_TIMELINE_QUEUES_H

/* queues.c: the rest of the functions below */
void tl_idle_changed(struct wi_timeline *tl, uint32_t c);
void tl_kind_changes(struct wi_timeline *tl, uint32_t c, enum wi_cpu_kind kind);
tl_rare void tl_rt_count(struct wi_timeline *tl, uint32_t c, const struct task *t);
tl_rare void tl_rt_uncount(struct wi_timeline *tl, uint32_t c);
tl_rare void tl_sched_idle_count(struct wi_timeline *tl, uint32_t c, struct task *t);
tl_rare void tl_sched_idle_uncount(struct wi_timeline *tl, uint32_t c, const struct task *t);

/* idle(c) of METRICS, told to the observer when it changed. */
static inline void tl_update_idle(struct wi_timeline *tl, uint32_t c)
{
	const struct cpu *cpu = &tl->cpu[c];
	bool idle = cpu->kind == WI_CPU_IDLE && !(cpu->nr_waiting | cpu->nr_pending);

	if (idle != cpu->idle)
		tl_idle_changed(tl, c);
}

static inline void tl_set_kind(struct wi_timeline *tl, uint32_t c, enum wi_cpu_kind kind)
{
	if (tl->cpu[c].kind != kind)
		tl_kind_changes(tl, c, kind);
}

static inline void tl_set_state(struct wi_timeline *tl, struct task *t, enum wi_task_state state)
{
	enum wi_task_state from = (enum wi_task_state)t->pub.state;
	uint64_t now = tl_clip(tl, tl->now_ns);

	t->pub.state_ns[from] += now - t->pub.since_ns;
	t->pub.since_ns = now;
	t->pub.state = (uint8_t)state;
	if (__builtin_expect(tl->obs.happened != NULL, 0))
		tl_state_happened(tl, t, from, state);
}

static inline void tl_set_prio(struct wi_timeline *tl, struct task *t, int16_t prio)
{
	if (__builtin_expect(t->pub.prio == prio, 1))
		return;
	t->pub.prio = prio;
	tl_tell_task(tl, t, WAKEIF_TASK_RENICED, 0, t->pub.cpu, WI_CPU_NONE);
}

/* The task's weight in what is queued on c: counted when it becomes runnable or running, uncounted as it was counted. */
static inline void tl_queue_count(struct wi_timeline *tl, uint32_t c, struct task *t)
{
	struct cpu *cpu = &tl->cpu[c];
	struct wakeif_cpu *v = &tl->view_cpu[c];

	t->counted_prio = t->pub.prio;
	v->nr_running++;
	if (__builtin_expect(tl_is_fair(t->counted_prio), 1)) {
		if (!v->nr_cfs++ && cpu->fair_until_ns != tl->now_ns) /* else one took the other's place */
			cpu->fair_since_ns = tl->now_ns;
	} else if (tl_is_rt(t->counted_prio)) {
		tl_rt_count(tl, c, t);
	}
	if (tl->have_sched_idle)
		tl_sched_idle_count(tl, c, t);
}

/* Call when t is no longer cur nor on the list of c. */
static inline void tl_queue_uncount(struct wi_timeline *tl, uint32_t c, struct task *t)
{
	struct wakeif_cpu *v = &tl->view_cpu[c];

	v->nr_running--;
	if (__builtin_expect(tl_is_fair(t->counted_prio), 1)) {
		if (!--v->nr_cfs)
			tl->cpu[c].fair_until_ns = tl->now_ns;
	} else if (tl_is_rt(t->counted_prio)) {
		tl_rt_uncount(tl, c);
	}
	if (tl->have_sched_idle)
		tl_sched_idle_uncount(tl, c, t);
}

#define TL_INLINE static inline __attribute__((always_inline))

/* t becomes RUNNABLE on c. */
TL_INLINE void tl_queue_join(struct wi_timeline *tl, struct task *t, uint32_t c)
{
	struct cpu *cpu = &tl->cpu[c];

	t->pub.cpu = c;
	tl_set_state(tl, t, WI_TASK_RUNNABLE);
	t->ghost = false;
	t->fresh = false;
	if (__builtin_expect(t->pinned_by_name > 0, 0))
		tl_task_seen_on(tl, t, c);
	t->prev_waiting = NULL;
	t->next_waiting = cpu->waiting;
	if (cpu->waiting)
		cpu->waiting->prev_waiting = t;
	cpu->waiting = t;
	cpu->nr_waiting++;
	tl_queue_count(tl, c, t);
	if (cpu->idle)
		tl_idle_changed(tl, c);
	if (tl->obs.wait_changed)
		tl->obs.wait_changed(tl->obs.ctx, tl->now_ns, c, &t->pub, 1);
}

/* t leaves the list of its CPU; the caller gives it its next state. */
TL_INLINE void tl_queue_leave(struct wi_timeline *tl, struct task *t)
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

#endif
