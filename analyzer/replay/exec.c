/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Placement at exec. The kernel decides it before the new program is loaded; no record tells that. Where it moves the
 * task, the task wakes the stopper thread of its CPU, which moves it: the models are asked at that wakeup, and when a
 * sched_process_exec of the task follows, it was an exec. Where it stays nothing is recorded; then the models are asked
 * at the sched_process_exec itself.
 */
#include <stdlib.h>
#include <string.h>

#include "analyzer/replay/priv.h"

bool r_exec_init(struct wi_replay *r)
{
	uint32_t words = r->topo->nr_words;

	r->exec = calloc(EXECS, sizeof(*r->exec));
	r->exec_words = calloc(EXECS * 2 * (size_t)words + 1, sizeof(*r->exec_words));
	if (!r->exec || !r->exec_words)
		return false;
	for (uint32_t i = 0; i < EXECS; i++) {
		r->exec[i].task = NONE;
		r->exec[i].idle = r->exec_words + (size_t)i * 2 * words;
		r->exec[i].unknown = r->exec[i].idle + words;
	}
	return true;
}

void r_exec_fini(struct wi_replay *r)
{
	free(r->exec);
	free(r->exec_words);
}

/* NULL: not a fair task, or where it runs is not known. Else the view that the models were shown. */
static const struct wakeif_view *ask(struct wi_replay *r, const struct wi_task *task, uint64_t now_ns)
{
	const struct wakeif_view *v;
	struct wakeif_wakeup w = { .size = sizeof(w),
				   .now_ns = now_ns,
				   .wake_ns = now_ns,
				   .pid = task->pid,
				   .prio = task->prio == WI_PRIO_UNKNOWN ? 120 : task->prio,
				   .policy = task->policy,
				   .context = WAKEIF_CTX_TASK,
				   .prev_cpu = task->cpu,
				   .waker_cpu = task->cpu,
				   .waker_pid = task->pid,
				   .wake_flags = WAKEIF_WF_EXEC,
				   .wake_flags_known = WAKEIF_WF_TTWU | WAKEIF_WF_FORK | WAKEIF_WF_EXEC | WAKEIF_WF_SYNC,
				   .slept_ns = UINT64_MAX,
				   .allowed = task->allowed,
				   .allowed_source = task->allowed_source,
				   .class_ = WAKEIF_EXEC,
				   .wakee_task = task->slot,
				   .waker_task = task->slot };

	if (!wi_cpu_present(r->topo, task->cpu) || (task->prio >= 0 && task->prio < 100) || task->prio == -1)
		return NULL;
	wi_estimates_wakeup(r->est, &w);
	v = r_view_without(r, task, true);
	r_ask(r, &w, v);
	return v;
}

static struct r_exec *find(struct wi_replay *r, uint32_t task)
{
	for (uint32_t i = 0; i < EXECS; i++)
		if (r->exec[i].task == task)
			return &r->exec[i];
	return NULL;
}

/* "migration/7" */
static bool is_stopper(const struct wi_wakeup *w)
{
	return w->pub.class_ == WAKEIF_PINNED && w->pub.prev_cpu == w->pub.waker_cpu && w->pub.waker_pid > 0 &&
	       w->pub.context == WAKEIF_CTX_TASK && w->pub.prio < 100;
}

void r_exec_maybe_moving(struct wi_replay *r, const struct wi_wakeup *w)
{
	const struct wakeif_view *v;
	const struct wi_task *waker;
	struct r_exec *e;

	if (!is_stopper(w))
		return;
	waker = wi_timeline_current(r->tl, w->pub.waker_cpu);
	v = waker && waker->pid == w->pub.waker_pid ? ask(r, waker, w->pub.now_ns) : NULL;
	if (!v)
		return;
	e = find(r, waker->slot);
	if (!e)
		e = &r->exec[r->next_exec++ % EXECS];
	e->task = waker->slot;
	e->from = waker->cpu;
	e->to = NONE;
	memcpy(e->answer, r->answer, r->nr * sizeof(*e->answer));
	memcpy(e->idle, v->idle, r->topo->nr_words * sizeof(*e->idle));
	memcpy(e->unknown, v->unknown, r->topo->nr_words * sizeof(*e->unknown));
}

void r_exec_moved(struct wi_replay *r, const struct wi_task *task, uint32_t orig, uint32_t dest)
{
	struct r_exec *e = find(r, task->slot);

	if (e && e->from == orig && e->to == NONE && wi_cpu_present(r->topo, dest))
		e->to = dest;
}

void r_exec(struct wi_replay *r, uint64_t now_ns, const struct wi_task *task)
{
	const size_t row = offsetof(struct wi_model_results, exec);
	struct r_exec *e = find(r, task->slot);
	const struct wakeif_view *v;

	if (now_ns >= wi_timeline_window_start_ns(r->tl)) {
		r->results->by_class[WAKEIF_EXEC]++;
		if (e && e->to != NONE)
			r_count_simple(r, row, e->to, e->answer, e->idle, e->unknown);
		else if ((v = ask(r, task, now_ns)) != NULL)
			r_count_simple(r, row, task->cpu, r->answer, v->idle, v->unknown);
	}
	if (e)
		e->task = NONE;
}

void r_exec_task_ended(struct wi_replay *r, uint32_t task)
{
	struct r_exec *e = find(r, task);

	if (e)
		e->task = NONE;
}
