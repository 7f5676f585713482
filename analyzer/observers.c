/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analyzer/observers.h"

#include <string.h>

/* Calls the hook of all that have it. */
#define TELL(hook, ...)                                                                                                \
	do {                                                                                                           \
		const struct wi_observers *o = ctx;                                                                    \
		for (uint32_t i = 0; i < o->nr; i++)                                                                   \
			if (o->of[i].hook)                                                                             \
				o->of[i].hook(o->of[i].ctx, __VA_ARGS__);                                              \
	} while (0)

static void cpu_changed(void *ctx, uint64_t now_ns, uint32_t cpu, enum wi_cpu_kind kind, const struct wi_task *task)
{
	TELL(cpu_changed, now_ns, cpu, kind, task);
}

static void idle_changed(void *ctx, uint64_t now_ns, uint32_t cpu, bool idle)
{
	TELL(idle_changed, now_ns, cpu, idle);
}

static void wait_changed(void *ctx, uint64_t now_ns, uint32_t cpu, const struct wi_task *task, int delta)
{
	TELL(wait_changed, now_ns, cpu, task, delta);
}

static void waking(void *ctx, uint64_t now_ns, const struct wi_wakeup *w)
{
	TELL(waking, now_ns, w);
}

static void decision(void *ctx, uint64_t now_ns, const struct wi_wakeup *w)
{
	TELL(decision, now_ns, w);
}

static void wakeup_closed(void *ctx, uint64_t now_ns, const struct wi_wakeup *w, enum wi_outcome outcome)
{
	TELL(wakeup_closed, now_ns, w, outcome);
}

static void migrated(void *ctx, uint64_t now_ns, const struct wi_task *task, uint32_t orig, uint32_t dest, bool inferred,
		     bool placement)
{
	TELL(migrated, now_ns, task, orig, dest, inferred, placement);
}

static void exec(void *ctx, uint64_t now_ns, const struct wi_task *task)
{
	TELL(exec, now_ns, task);
}

static void cpu_idle(void *ctx, uint64_t now_ns, uint32_t cpu, uint32_t state)
{
	TELL(cpu_idle, now_ns, cpu, state);
}

static void renamed(void *ctx, uint64_t now_ns, const struct wi_task *task)
{
	TELL(renamed, now_ns, task);
}

static void happened(void *ctx, const struct wakeif_happening *h)
{
	TELL(happened, h);
}

static void task_gone(void *ctx, uint64_t now_ns, const struct wi_task *task)
{
	TELL(task_gone, now_ns, task);
}

const struct wi_timeline_observer *wi_observers_join(struct wi_observers *o, const struct wi_timeline_observer *const *list,
						     uint32_t nr)
{
	struct wi_timeline_observer *all = &o->obs;

	memset(o, 0, sizeof(*o));
	for (uint32_t i = 0; i < nr && o->nr < WI_OBSERVERS; i++)
		if (list[i])
			o->of[o->nr++] = *list[i];
	if (o->nr == 1) {
		*all = o->of[0];
		return all;
	}
	all->ctx = o;
	for (uint32_t i = 0; i < o->nr; i++) {
#define HOOK(hook) all->hook = o->of[i].hook ? hook : all->hook
		HOOK(cpu_changed);
		HOOK(idle_changed);
		HOOK(wait_changed);
		HOOK(waking);
		HOOK(decision);
		HOOK(wakeup_closed);
		HOOK(migrated);
		HOOK(exec);
		HOOK(cpu_idle);
		HOOK(renamed);
		HOOK(happened);
		HOOK(task_gone);
#undef HOOK
	}
	return all;
}
