/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The state machine's life: start, events, finish, and reading its state. */
#include <stdlib.h>
#include <string.h>

#include "analyzer/timeline/internal.h"

#define PID_LEAVES (WI_PID_MAX / 1024 + 1)

/* Several CPUs' first records may name one task: it ran where the earliest of them lies (METRICS rule 3). */
static bool is_earliest(const struct wi_survey *s, uint32_t cpu, int32_t pid)
{
	if (pid <= 0)
		return true;
	for (uint32_t c = 0; c < s->nr_cpus; c++)
		if (c != cpu && s->first_pid[c] == pid &&
		    (s->first_ts_ns[c] < s->first_ts_ns[cpu] || (s->first_ts_ns[c] == s->first_ts_ns[cpu] && c < cpu)))
			return false;
	return true;
}

/* State of every CPU at the recording's start (METRICS rules 3, 5). */
static void start(struct wi_timeline *tl)
{
	const struct wi_survey *s = tl->opt.survey;

	tl->started = true;
	tl->now_ns = s->recording_start_ns;
	tl_set_alarm(tl);
	for (uint32_t c = 0; c < tl->nr_cpus; c++) {
		struct cpu *cpu = &tl->cpu[c];
		int32_t pid = c < s->nr_cpus ? s->first_pid[c] : -1;
		bool quiet = c >= s->nr_cpus || s->first_ts_ns[c] == WI_TIME_UNKNOWN;

		if (!cpu->active)
			continue;
		if (cpu->kind == WI_CPU_UNKNOWN && (quiet ? !tl->opt.quiet_unknown : pid >= 0) && !cpu->overwritten && is_earliest(s, c, pid)) {
			struct task *t = quiet ? NULL : tl_task_get(tl, pid, WI_NAME_NONE);

			tl_set_kind(tl, c, t ? WI_CPU_BUSY : WI_CPU_IDLE);
			tl->view_cpu[c].curr_pid = t ? pid : 0;
			tl->view_cpu[c].curr_prio = t ? WI_PRIO_UNKNOWN : 140;
			cpu->prev_pid = -1;
			if (t) {
				t->pub.cpu = c;
				tl_set_state(tl, t, WI_TASK_RUNNING);
				cpu->cur = t;
				tl_queue_count(tl, c, t);
			}
		}
		tl_update_idle(tl, c);
		if (tl->obs.cpu_changed)
			tl->obs.cpu_changed(tl->obs.ctx, tl->now_ns, c, cpu->kind, cpu->cur ? &cpu->cur->pub : NULL);
	}
}

/* The CPU that the event names and the topology lacks. */
static uint32_t foreign_cpu(const struct wi_timeline *tl, const struct wi_event *ev)
{
	int64_t nr = tl->nr_cpus;

	if (ev->cpu >= nr)
		return ev->cpu;
	switch (ev->type) {
	case WI_EV_SCHED_WAKING:
	case WI_EV_SCHED_WAKEUP:
	case WI_EV_SCHED_WAKEUP_NEW:
		return (uint32_t)ev->wk.target_cpu;
	default: /* sched_migrate_task */
		return (uint32_t)(ev->mig.orig_cpu >= nr ? ev->mig.orig_cpu : ev->mig.dest_cpu);
	}
}

static bool drain(struct wi_timeline *tl, struct wi_err *err)
{
	const struct wi_event *ev;

	tl->err = err;
	while (!tl->done && !tl->failed) {
		uint32_t nr = wi_lookahead_stretch(tl->la, &ev), i;

		for (i = 0; i < nr && !tl->failed; i++) { /* behind the window the functions called do nothing */
			if (!wi_lookahead_places(tl->la, &ev[i])) {
				tl_apply(tl, &ev[i]);
				continue;
			}
			const struct wi_placement *p = wi_lookahead_placement(tl->la);
			if (!p)
				break;
			tl_apply_waking(tl, &ev[i], p);
		}
		wi_lookahead_drop(tl->la, i);
		if (!i)
			break;
	}
	return !tl->failed;
}

struct wi_event *wi_timeline_room(struct wi_timeline *tl, int *max)
{
	uint32_t room = 0;
	struct wi_event *ev = wi_lookahead_room(tl->la, &room);

	*max = (int)room;
	return ev;
}

bool wi_timeline_take(struct wi_timeline *tl, const struct wi_event *ev, int nr, struct wi_err *err)
{
	tl->err = err;
	if (!tl->started)
		start(tl);
	int taken = wi_lookahead_take(tl->la, nr);
	if (taken < 0)
		return wi_err_nomem(err);
	if (taken < nr)
		return wi_err_at(err, WI_EREFUSED, tl->opt.trace_name ? tl->opt.trace_name : "trace", ev[taken].pos,
				 "the record names CPU %u, which the topology lacks: %s", foreign_cpu(tl, &ev[taken]), tl->topo->source);
	tl->q.types = wi_lookahead_types(tl->la);
	return drain(tl, err);
}

bool wi_timeline_done(const struct wi_timeline *tl)
{
	return tl->done;
}

static void finish_unknown(struct wi_timeline *tl)
{
	for (uint32_t c = 0; c < tl->nr_cpus; c++) {
		struct cpu *cpu = &tl->cpu[c];
		uint64_t from = tl_clip(tl, cpu->unknown_since_ns);

		if (wi_mask_test(tl->topo->online, c) && cpu->kind == WI_CPU_UNKNOWN && tl->now_ns > from)
			tl->q.unknown_ns += tl->now_ns - from;
		tl->q.quiet_cpus += cpu->active && !cpu->has_switch;
	}
}

static void censor(struct wi_timeline *tl)
{
	for (uint32_t i = 0; i < tl->nr_slots; i++) {
		struct open_wakeup *o = tl->open[i];
		struct task *t = (struct task *)o->w.wakee;

		if (!t || t->wakeup != o)
			continue;
		uint64_t age = tl->now_ns - o->w.pub.wake_ns;
		if (o->w.in_window && age >= tl->q.censored_oldest_ns) {
			tl->q.censored_oldest_ns = age;
			tl->q.censored_oldest_pid = t->pub.pid;
		}
		tl_wakeup_close(tl, o, WI_OUT_CENSORED);
	}
}

void wi_timeline_set_end(struct wi_timeline *tl, uint64_t end_ns)
{
	tl->end_ns = end_ns;
}

bool wi_timeline_finish(struct wi_timeline *tl, struct wi_err *err)
{
	tl->err = err;
	if (!tl->started)
		start(tl);
	wi_lookahead_end(tl->la);
	if (!drain(tl, err))
		return false;
	if (!tl->done) {
		tl_apply_gaps(tl, UINT64_MAX);
		tl_decide_due(tl, tl->now_ns);
		if (tl->end_ns > tl->now_ns)
			tl->now_ns = tl->end_ns < tl->stop_ns ? tl->end_ns : tl->stop_ns;
	}
	if (tl->done && tl->stop_ns > tl->now_ns)
		tl->now_ns = tl->stop_ns; /* the window goes on to the time asked for, as the trace does */
	tl->done = true;
	tl->obs.happened = NULL; /* what is tidied up at the end has not happened */
	tl->q.switch_known = wi_lookahead_switch_known(tl->la);
	tl->q.recording_end_ns = tl->now_ns;
	tl->q.recording_start_ns = tl->opt.survey->recording_start_ns;
	tl->q.window_start_ns = tl->start_ns < tl->now_ns ? tl->start_ns : tl->now_ns;
	tl->q.window_end_ns = tl->now_ns;
	while (tl->nr_due) {
		struct open_wakeup *o = tl->due[0];

		o->placement.dec_ns = tl->now_ns;
		tl_decide_due(tl, tl->now_ns);
	}
	censor(tl);
	finish_unknown(tl);
	while (tl->alive)
		tl_task_gone(tl, tl->alive);
	return !tl->failed;
}

static bool allocate(struct wi_timeline *tl)
{
	tl->cpu = calloc(tl->nr_cpus, sizeof(*tl->cpu));
	tl->view_cpu = calloc(tl->nr_cpus, sizeof(*tl->view_cpu));
	tl->idle = calloc(tl->words, sizeof(*tl->idle));
	tl->unknown = calloc(tl->words, sizeof(*tl->unknown));
	tl->pending = calloc(tl->words, sizeof(*tl->pending));
	tl->sched_idle_only = calloc(tl->words, sizeof(*tl->sched_idle_only));
	tl->all = calloc(tl->words, sizeof(*tl->all));
	tl->pid_leaf = calloc(PID_LEAVES, sizeof(*tl->pid_leaf));
	tl->la = wi_lookahead_new(tl->nr_cpus, tl->opt.survey->gap_ns, tl->opt.survey->has_waking);
	return tl->cpu && tl->view_cpu && tl->idle && tl->unknown && tl->pending && tl->sched_idle_only && tl->all && tl->pid_leaf && tl->la;
}

struct wi_timeline *wi_timeline_new(const struct wi_timeline_opts *opts, const struct wi_timeline_observer *obs, struct wi_err *err)
{
	struct wi_timeline *tl = calloc(1, sizeof(*tl));
	const struct wi_survey *s = opts->survey;

	if (!tl) {
		wi_err_nomem(err);
		return NULL;
	}
	tl->opt = *opts;
	if (obs)
		tl->obs = *obs;
	if (!tl->opt.oncpu_ns)
		tl->opt.oncpu_ns = 5000;
	tl->topo = opts->topology;
	tl->nr_cpus = opts->topology->nr_cpus;
	tl->words = opts->topology->nr_words;
	tl_wakeups_init(tl);
	tl->due_ns = UINT64_MAX;
	tl->start_ns = opts->start_ns > s->window_start_ns ? opts->start_ns : s->window_start_ns;
	if (opts->start_ns && opts->start_ns < s->window_start_ns) /* asked for: the user's word holds */
		tl->start_ns = opts->start_ns > s->recording_start_ns ? opts->start_ns : s->recording_start_ns;
	tl->stop_ns = opts->stop_ns ? opts->stop_ns : UINT64_MAX;
	if (!allocate(tl)) {
		wi_err_nomem(err);
		wi_timeline_free(tl);
		return NULL;
	}
	tl->view = (struct wakeif_view){ .size = sizeof(tl->view),
					 .topology = tl->topo,
					 .idle = tl->idle,
					 .unknown = tl->unknown,
					 .pending = tl->pending,
					 .sched_idle_only = tl->sched_idle_only,
					 .cpu = tl->view_cpu };
	for (uint32_t c = 0; c < tl->nr_cpus; c++) {
		bool seen = c < s->nr_cpus && s->first_ts_ns[c] != WI_TIME_UNKNOWN;

		tl->cpu[c].active = wi_mask_test(tl->topo->online, c) || seen;
		tl->cpu[c].unknown_since_ns = s->recording_start_ns;
		tl->cpu[c].fair_until_ns = WI_TIME_UNKNOWN;
		tl->cpu[c].prev_pid = -1;
		tl->view_cpu[c].curr_pid = -1;
		tl->view_cpu[c].curr_prio = WI_PRIO_UNKNOWN;
		tl->view_cpu[c].highest_rt_prio = 100;
		tl->view_cpu[c].idle_since_ns = s->recording_start_ns;
		if (tl->cpu[c].active)
			wi_mask_set(tl->unknown, c);
		tl->cpu[c].overwritten = seen && s->overwritten[c];
		wi_mask_set(tl->all, c);
	}
	return tl;
}

void wi_timeline_free(struct wi_timeline *tl)
{
	if (!tl)
		return;
	if (tl->pid_leaf)
		tl_tasks_free(tl);
	tl_wakeups_free(tl);
	wi_lookahead_free(tl->la);
	free(tl->cpu);
	free(tl->view_cpu);
	free(tl->idle);
	free(tl->unknown);
	free(tl->pending);
	free(tl->sched_idle_only);
	free(tl->all);
	free(tl->skew);
	free(tl);
}

/* ---- reading the state ---- */

const struct wakeif_view *wi_timeline_view(struct wi_timeline *tl)
{
	tl->view.now_ns = tl->now_ns;
	return &tl->view;
}

uint64_t wi_timeline_window_start_ns(const struct wi_timeline *tl)
{
	return tl->start_ns;
}

const struct wi_task *wi_timeline_current(const struct wi_timeline *tl, uint32_t cpu)
{
	return tl->cpu[cpu].cur ? &tl->cpu[cpu].cur->pub : NULL;
}

const struct wi_timeline_quality *wi_timeline_quality(const struct wi_timeline *tl)
{
	return &tl->q;
}
