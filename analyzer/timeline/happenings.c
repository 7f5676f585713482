/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The timeline's changes in the words of wakeif_model.h, for models and estimators that keep history. */
#include "analyzer/timeline/internal.h"

void tl_task_happened(struct wi_timeline *tl, const struct task *t, enum wakeif_event_type type, uint8_t flags, uint32_t cpu, uint32_t other)
{
	struct wakeif_happening h = { .size = sizeof(h),
				      .type = (uint8_t)type,
				      .flags = flags,
				      .policy = t->pub.policy,
				      .prio = t->pub.prio,
				      .now_ns = tl->now_ns,
				      .task = t->pub.slot,
				      .cpu = cpu,
				      .other = other,
				      .pid = t->pub.pid };

	tl->obs.happened(tl->obs.ctx, &h);
}

static bool on_queue(enum wi_task_state s)
{
	return s == WI_TASK_RUNNING || s == WI_TASK_RUNNABLE;
}

/* A state change of t as one or two happenings; a move from queue to queue is told where it is made. */
void tl_state_happened(struct wi_timeline *tl, const struct task *t, enum wi_task_state from, enum wi_task_state to)
{
	uint32_t cpu = t->pub.cpu;

	if (on_queue(to) && !on_queue(from))
		tl_task_happened(tl, t, WAKEIF_TASK_ENQUEUED, t->fresh ? WAKEIF_EV_NEW : 0, cpu, WI_CPU_NONE);
	if (to == WI_TASK_RUNNING && from != WI_TASK_RUNNING)
		tl_task_happened(tl, t, WAKEIF_TASK_RUNS, 0, cpu, WI_CPU_NONE);
	else if (to == WI_TASK_RUNNABLE && from == WI_TASK_RUNNING)
		tl_task_happened(tl, t, WAKEIF_TASK_PREEMPTED, 0, cpu, WI_CPU_NONE);
	else if (!on_queue(to) && on_queue(from) && to != WI_TASK_UNKNOWN)
		tl_task_happened(tl, t, WAKEIF_TASK_SLEEPS, to == WI_TASK_DEAD ? WAKEIF_EV_DEAD : 0, cpu, WI_CPU_NONE);
	else if (to == WI_TASK_UNKNOWN && from != WI_TASK_UNKNOWN)
		tl_task_happened(tl, t, WAKEIF_TASK_LOST, 0, cpu, WI_CPU_NONE);
}

void tl_cpu_happened(struct wi_timeline *tl, uint32_t c, enum wakeif_event_type type)
{
	struct wakeif_happening h = { .size = sizeof(h),
				      .type = (uint8_t)type,
				      .now_ns = tl->now_ns,
				      .task = c,
				      .cpu = c,
				      .other = WI_CPU_NONE };

	tl->obs.happened(tl->obs.ctx, &h);
}
