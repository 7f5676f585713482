/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What each event does to the state (doc/METRICS.md, rules 4 to 18). */
#include <stdlib.h>

#include "analyzer/timeline/internal.h"

tl_rare static void note_skew(struct wi_timeline *tl, uint32_t a, uint32_t b, uint64_t ns)
{
	uint64_t key = (uint64_t)a << 32 | b;
	uint32_t i = 0;

	if (!tl->in_window)
		return;
	while (i < tl->nr_skew && tl->skew[i].key != key)
		i++;
	if (i == tl->nr_skew) {
		if (tl->nr_skew == tl->skew_cap) {
			uint32_t cap = tl->skew_cap ? tl->skew_cap * 2 : 16;
			struct skew_pair *p = realloc(tl->skew, cap * sizeof(*p));

			if (!p) {
				tl->failed = true;
				wi_err_nomem(tl->err);
				return;
			}
			tl->skew = p;
			tl->skew_cap = cap;
		}
		tl->skew[tl->nr_skew++] = (struct skew_pair){ .key = key };
	}
	struct skew_pair *p = &tl->skew[i];
	p->count++;
	if (ns > p->ns)
		p->ns = ns;
	if (p->ns > tl->q.skew.ns)
		tl->q.skew = (struct wi_skew){ a, b, p->ns, p->count };
	tl->q.skew_pairs = tl->nr_skew;
}

/* prev was current on c and leaves it with state letter and preempt mark. */
static void switch_out(struct wi_timeline *tl, uint32_t c, struct task *prev, const struct wi_event *ev)
{
	bool runnable = ev->sw.preempted || ev->sw.prev_state == 'R';
	char letter = ev->sw.prev_state;

	if (prev->pub.state != WI_TASK_RUNNING || prev->pub.cpu != c) { /* already seen running elsewhere: clocks disagree */
		if (prev->skew_cpu == c)
			note_skew(tl, c, prev->pub.cpu, tl->now_ns - prev->skew_ns);
		prev->skew_cpu = WI_CPU_NONE;
		return;
	}
	tl_queue_uncount(tl, c, prev);
	if (runnable) {
		if (tl->in_window) {
			prev->pub.nr_preempted += ev->sw.preempted;
			prev->pub.nr_preempt_unknown += !(ev->known & WI_KNOWN_PREEMPTED);
		}
		if (ev->sw.next_pid) {
			tl_wait_begin(tl, prev, c);
			return;
		}
		tl_set_state(tl, prev, WI_TASK_UNKNOWN); /* the CPU idles: it cannot be queued there */
		prev->ghost = true;
		prev->ghost_cpu = c;
		prev->unknown_since_ns = tl->now_ns;
		tl_count_repair(tl, &tl->q.repairs.ghosts);
		return;
	}
	prev->pub.blocked_ns = tl->now_ns;
	if (letter == 'X' || letter == 'Z' || letter == 'x' || (prev->pub.exiting && letter == '?')) {
		tl_set_state(tl, prev, WI_TASK_DEAD);
		prev->pub.died_ns = tl->now_ns;
		tl_task_gone(tl, prev);
		return;
	}
	struct open_wakeup *o = prev->wakeup;
	bool waking = o && !o->enqueued && o->w.was_running;
	if (o && !waking && (o->state_at_wake != WI_TASK_RUNNING || !o->decided)) /* not decided: its decision will close it */
		o = NULL;
	if (o && !waking)
		tl_wakeup_close(tl, o, WI_OUT_REPLACED);
	if (!waking && !tl->opt.survey->has_wakeups) { /* nothing will tell when its sleep ended */
		tl_become_unknown(tl, prev);
		return;
	}
	tl_set_state(tl, prev, waking ? WI_TASK_WAKING : WI_TASK_BLOCKED);
}

/* Everything that waits on a CPU that goes idle is not there. */
tl_rare static void clear_ghosts(struct wi_timeline *tl, uint32_t c)
{
	while (tl->cpu[c].waiting) {
		struct task *t = tl->cpu[c].waiting;

		tl_wait_end(tl, t);
		tl_set_state(tl, t, WI_TASK_UNKNOWN);
		t->ghost = true;
		t->ghost_cpu = c;
		t->unknown_since_ns = tl->now_ns;
		tl_count_repair(tl, &tl->q.repairs.ghosts);
	}
}

/* c and all that runs or waits there are not known from now to its next sched_switch (METRICS rule 4). */
tl_rare static void cpu_unknown(struct wi_timeline *tl, uint32_t c)
{
	struct cpu *cpu = &tl->cpu[c];
	struct task *cur = cpu->cur;
	bool was_known = cpu->kind != WI_CPU_UNKNOWN;

	tl_set_kind(tl, c, WI_CPU_UNKNOWN);
	while (cpu->waiting) {
		struct task *t = cpu->waiting;

		tl_wait_end(tl, t);
		tl_become_unknown(tl, t);
		if (t->wakeup)
			tl_wakeup_close(tl, t->wakeup, WI_OUT_UNKNOWN);
	}
	if (cur && cur->pub.state == WI_TASK_RUNNING && cur->pub.cpu == c) {
		cpu->cur = NULL;
		tl_queue_uncount(tl, c, cur);
		tl_become_unknown(tl, cur);
		if (cur->wakeup)
			tl_wakeup_close(tl, cur->wakeup, WI_OUT_UNKNOWN);
	}
	cpu->cur = NULL;
	if (!was_known)
		return;
	cpu->prev_pid = -1;
	tl->view_cpu[c].curr_pid = -1;
	tl->view_cpu[c].curr_prio = WI_PRIO_UNKNOWN;
	tl_update_idle(tl, c);
	tl_write_bit(tl->sched_idle_only, c, false);
	if (tl->obs.cpu_changed)
		tl->obs.cpu_changed(tl->obs.ctx, tl->now_ns, c, WI_CPU_UNKNOWN, NULL);
}

static void switch_in_closes(struct wi_timeline *tl, uint32_t c, struct task *next)
{
	struct open_wakeup *o = next->wakeup;

	o->w.run_ns = tl->now_ns;
	o->w.run_cpu = c;
	o->w.run_after_pid = tl->cpu[c].prev_pid;
	tl_wakeup_close(tl, o, WI_OUT_RUN);
}

/* next is switched in elsewhere while it is shown running on c: clocks disagree, or c's start was not what its first record says. */
tl_rare static void leave_other_cpu(struct wi_timeline *tl, uint32_t c, struct task *next)
{
	bool switched = tl->cpu[c].has_switch;

	cpu_unknown(tl, c);
	if (!switched)
		return;
	next->skew_ns = tl->now_ns;
	next->skew_cpu = c;
}

static void switch_in(struct wi_timeline *tl, uint32_t c, struct task *next)
{
	enum wi_task_state was = (enum wi_task_state)next->pub.state;
	bool here = next->pub.cpu == c;

	if (was == WI_TASK_RUNNABLE) {
		if (!here)
			tl_count_repair(tl, &tl->q.repairs.elsewhere);
		tl_queue_leave(tl, next);
	} else if (was == WI_TASK_RUNNING) {
		uint32_t other = next->pub.cpu;

		tl_count_repair(tl, &tl->q.repairs.elsewhere);
		if (other != WI_CPU_NONE && tl->cpu[other].cur == next)
			leave_other_cpu(tl, other, next);
	} else if (!next->wakeup && was != WI_TASK_UNKNOWN) {
		tl_count_repair(tl, &tl->q.repairs.implied_runnable);
	}
	if (next->ghost && next->ghost_cpu == c && !next->wakeup)
		next->pub.throttle_suspected = true;
	next->ghost = false;
	next->fresh = false;
	if (next->awaits_wakeup)
		tl_count_repair(tl, &tl->q.repairs.waking_without_wakeup);
	next->awaits_wakeup = false;
	if (!here)
		tl_move_inferred(tl, next, c, false);
	if (__builtin_expect(next->pinned_by_name > 0, 0))
		tl_task_seen_on(tl, next, c);
	if (next->wakeup)
		switch_in_closes(tl, c, next);
	tl_set_state(tl, next, WI_TASK_RUNNING);
	if (tl->in_window)
		next->pub.nr_switches_in++;
}

static void on_switch(struct wi_timeline *tl, const struct wi_event *ev)
{
	uint32_t c = ev->cpu;
	struct cpu *cpu = &tl->cpu[c];
	struct task *prev = cpu->cur;

	cpu->has_switch = true;
	if (prev && prev->pub.pid != ev->sw.prev_pid) { /* the reader saw no break, yet this is another task */
		cpu->cur = NULL;
		if (prev->pub.state == WI_TASK_RUNNING && prev->pub.cpu == c) {
			tl_queue_uncount(tl, c, prev);
			tl_become_unknown(tl, prev);
		}
		prev = NULL;
	}
	if (prev && ev->sw.prev_comm != prev->pub.comm)
		tl_task_name(tl, prev, ev->sw.prev_comm);
	else if (!prev && ev->sw.prev_pid)
		prev = tl_task_get(tl, ev->sw.prev_pid, ev->sw.prev_comm);
	if (tl->failed)
		return;
	cpu->prev_pid = ev->sw.prev_pid;
	cpu->cur = NULL;
	if (prev) {
		if (prev->pub.state != WI_TASK_RUNNING && prev->skew_cpu != c) { /* first seen, or after a gap: it ran until now */
			if (prev->wakeup && (prev->pub.state == WI_TASK_RUNNABLE || prev->pub.state == WI_TASK_WAKING))
				tl_wakeup_close(tl, prev->wakeup, WI_OUT_REPLACED); /* it ran unseen */
			if (prev->pub.state == WI_TASK_RUNNABLE)
				tl_wait_end(tl, prev);
			if (prev->pub.cpu != c)
				tl_move_inferred(tl, prev, c, false);
			tl_set_state(tl, prev, WI_TASK_RUNNING);
			tl_set_prio(tl, prev, ev->sw.prev_prio);
			tl_queue_count(tl, c, prev);
		}
		tl_set_prio(tl, prev, ev->sw.prev_prio);
		switch_out(tl, c, prev, ev);
	}
	if (!ev->sw.next_pid) {
		clear_ghosts(tl, c);
		tl_set_kind(tl, c, WI_CPU_IDLE);
		tl->view_cpu[c].curr_pid = 0;
		tl->view_cpu[c].curr_prio = 140;
	} else {
		struct task *next = tl_task_get(tl, ev->sw.next_pid, ev->sw.next_comm);

		if (!next)
			return;
		tl_set_kind(tl, c, WI_CPU_BUSY); /* first, so that it never looks idle while its queue empties */
		switch_in(tl, c, next);
		tl_set_prio(tl, next, ev->sw.next_prio);
		cpu->cur = next;
		tl_queue_count(tl, c, next);
		tl->view_cpu[c].curr_pid = next->pub.pid;
		tl->view_cpu[c].curr_prio = next->pub.prio;
	}
	tl_update_idle(tl, c);
	if (tl->have_sched_idle)
		tl_update_sched_idle_only(tl, c);
	if (tl->obs.cpu_changed)
		tl->obs.cpu_changed(tl->obs.ctx, tl->now_ns, c, cpu->kind, cpu->cur ? &cpu->cur->pub : NULL);
}

static void on_waking(struct wi_timeline *tl, const struct wi_event *ev, const struct wi_placement *p)
{
	struct task *t = tl_task_get(tl, ev->wk.pid, ev->wk.comm);

	if (!t || ev->wk.target_cpu < 0)
		return;
	struct open_wakeup *o = tl_wakeup_open(tl, t, ev, p);
	if (!o)
		return;
	tl_tell_waking(tl, o);
	if (tl->in_window)
		t->pub.nr_wakeups++;
	if (p->unresolved)
		tl_count_repair(tl, &tl->q.repairs.unresolved);
	tl_set_prio(tl, t, ev->wk.prio);
	if (t->awaits_wakeup)
		tl_count_repair(tl, &tl->q.repairs.waking_without_wakeup);
	t->awaits_wakeup = true;
	if (p->by_migrate) {
		t->place_ns = p->dec_ns;
		t->place_cpu = ev->cpu;
	}
	if (t->wakeup) {
		tl_count_repair(tl, &tl->q.repairs.duplicate_waking);
		if (t->pub.state == WI_TASK_RUNNABLE || t->pub.state == WI_TASK_WAKING) { /* the wait is that of the first */
			o->duplicate = true;
			return;
		}
		tl_wakeup_close(tl, t->wakeup, WI_OUT_REPLACED);
	}
	t->wakeup = o;
	if (t->pub.cpu == WI_CPU_NONE)
		t->pub.cpu = (uint32_t)ev->wk.target_cpu;
	if (o->state_at_wake == WI_TASK_BLOCKED)
		tl_set_state(tl, t, WI_TASK_WAKING);
}

/* p becomes runnable on the CPU that its sched_wakeup names. */
TL_INLINE void enqueue(struct wi_timeline *tl, struct task *t, uint32_t target)
{
	struct open_wakeup *o = t->wakeup;

	if (t->pub.state == WI_TASK_RUNNING || t->pub.state == WI_TASK_RUNNABLE)
		return;
	if (t->pub.cpu != target) {
		if (t->fresh || t->pub.cpu == WI_CPU_NONE)
			t->pub.cpu = target;
		else
			tl_move_inferred(tl, t, target, o != NULL);
	}
	tl_queue_join(tl, t, target);
}

/* A kernel without sched_waking: the sched_wakeup is all there is of a wakeup. */
tl_rare static struct open_wakeup *open_from_wakeup(struct wi_timeline *tl, struct task *t, const struct wi_event *ev)
{
	struct wi_placement p = { .dec_ns = ev->ts_ns,
				  .enq_ns = ev->ts_ns,
				  .next_waker_record_ns = WI_TIME_UNKNOWN,
				  .chosen_cpu = (uint32_t)ev->wk.target_cpu,
				  .enq_record_cpu = ev->cpu,
				  .source = WI_CHOSEN_WAKEUP };

	bool waits = t->wakeup && t->pub.state == WI_TASK_RUNNABLE; /* since an earlier one: the wait is that one's */
	if (t->wakeup)
		tl_count_repair(tl, &tl->q.repairs.duplicate_waking);
	if (t->wakeup && !waits)
		tl_wakeup_close(tl, t->wakeup, WI_OUT_REPLACED);
	struct open_wakeup *o = tl_wakeup_open(tl, t, ev, &p);
	if (!o)
		return NULL;
	o->w.only_wakeup = true;
	bool maybe_ipi = o->w.pub.context == WAKEIF_CTX_HARDIRQ || !(ev->known & WI_KNOWN_FLAGS);
	if (maybe_ipi && ev->cpu == p.chosen_cpu) {
		o->w.pub.waker_pid = -1; /* perhaps delivered by an IPI: who sent it is not recorded */
		o->w.waker_comm = WI_NAME_NONE;
		o->w.pub.context = WAKEIF_CTX_UNKNOWN;
	}
	tl_tell_waking(tl, o);
	if (tl->in_window)
		t->pub.nr_wakeups++;
	o->duplicate = waits;
	if (!waits)
		t->wakeup = o;
	tl_decide_due(tl, ev->ts_ns);
	return t->wakeup;
}

static void on_wakeup(struct wi_timeline *tl, const struct wi_event *ev)
{
	if (!ev->wk.success) {
		tl_count_repair(tl, &tl->q.repairs.unsuccessful);
		return;
	}
	struct task *t = tl_task_get(tl, ev->wk.pid, ev->wk.comm);
	if (!t || ev->wk.target_cpu < 0)
		return;
	tl_set_prio(tl, t, ev->wk.prio);
	if (!tl->opt.survey->has_waking && !open_from_wakeup(tl, t, ev))
		return;
	struct open_wakeup *o = t->wakeup;
	bool first = o && !o->enqueued;

	if (!t->awaits_wakeup && tl->opt.survey->has_waking)
		tl_count_repair(tl, &tl->q.repairs.wakeup_without_waking);
	t->awaits_wakeup = false;
	if (first) {
		if (o->placement.by_migrate && o->w.chosen_cpu != (uint32_t)ev->wk.target_cpu)
			tl_count_repair(tl, &tl->q.repairs.target_mismatch);
		tl_wakeup_enqueued(tl, o, ev->cpu);
	}
	if (first && t->pub.state == WI_TASK_RUNNING) {
		tl_wakeup_close(tl, o, WI_OUT_RUNNING);
		return;
	}
	enqueue(tl, t, (uint32_t)ev->wk.target_cpu);
	if (first)
		tl_wakeup_arrived(tl, o);
}

tl_rare static void on_wakeup_new(struct wi_timeline *tl, const struct wi_event *ev)
{
	if (!ev->wk.success) {
		tl_count_repair(tl, &tl->q.repairs.unsuccessful);
		return;
	}
	struct task *t = tl_task_find(tl, ev->wk.pid);
	if (!t || !t->fresh)
		t = tl_task_born(tl, ev->wk.pid, ev->wk.comm, tl->cpu[ev->cpu].cur);
	if (!t || ev->wk.target_cpu < 0)
		return;
	struct wi_placement p = { .dec_ns = ev->ts_ns,
				  .enq_ns = ev->ts_ns,
				  .next_waker_record_ns = WI_TIME_UNKNOWN,
				  .chosen_cpu = (uint32_t)ev->wk.target_cpu,
				  .enq_record_cpu = ev->cpu,
				  .source = WI_CHOSEN_WAKEUP };

	tl_task_name(tl, t, ev->wk.comm);
	tl_set_prio(tl, t, ev->wk.prio);
	t->pub.cpu = ev->cpu;
	struct open_wakeup *o = tl_wakeup_open(tl, t, ev, &p);
	if (!o)
		return;
	o->w.pub.class_ = WAKEIF_FORK;
	o->w.pub.wake_flags = WAKEIF_WF_FORK;
	o->w.pub.prev_cpu = ev->cpu;
	tl_tell_waking(tl, o);
	if (tl->in_window)
		t->pub.nr_wakeups++;
	t->wakeup = o;
	tl_decide_due(tl, ev->ts_ns);
	t->pub.cpu = WI_CPU_NONE; /* a first placement moves nothing */
	tl_wakeup_enqueued(tl, o, ev->cpu);
	enqueue(tl, t, p.chosen_cpu);
	tl_wakeup_arrived(tl, o);
}

static void on_migrate(struct wi_timeline *tl, const struct wi_event *ev)
{
	struct task *t = tl_task_get(tl, ev->mig.pid, ev->mig.comm);
	uint32_t orig = (uint32_t)ev->mig.orig_cpu, dest = (uint32_t)ev->mig.dest_cpu;

	if (!t || ev->mig.orig_cpu < 0 || ev->mig.dest_cpu < 0)
		return;
	if (t->pub.cpu != WI_CPU_NONE && t->pub.cpu != orig)
		tl_count_repair(tl, &tl->q.repairs.migrate_mismatch);
	bool placement = t->place_ns == ev->ts_ns && t->place_cpu == ev->cpu;
	if (tl->in_window)
		t->pub.nr_migrations++;
	if (t->pub.state == WI_TASK_RUNNABLE) {
		tl_wait_end(tl, t);
		tl_wait_begin(tl, t, dest);
	} else if (t->pub.state != WI_TASK_RUNNING) {
		t->pub.cpu = dest;
	}
	tl_tell_task(tl, t, WAKEIF_TASK_MOVED, placement ? WAKEIF_EV_WAKING : 0, dest, orig);
	if (tl->obs.migrated)
		tl->obs.migrated(tl->obs.ctx, tl->now_ns, &t->pub, orig, dest, false, placement);
}

tl_rare static void on_fork(struct wi_timeline *tl, const struct wi_event *ev)
{
	struct task *parent = tl_task_get(tl, ev->fork.parent_pid, ev->fork.parent_comm);

	if (ev->fork.child_pid > 0)
		tl_task_born(tl, ev->fork.child_pid, ev->fork.child_comm, parent);
}

tl_rare static void on_exec(struct wi_timeline *tl, const struct wi_event *ev)
{
	int32_t old_pid = ev->exec.old_pid > 0 ? ev->exec.old_pid : ev->exec.pid;
	struct task *t = tl_task_get(tl, old_pid, WI_NAME_NONE);

	if (!t)
		return;
	if (old_pid != ev->exec.pid && ev->exec.pid > 0)
		tl_task_rename_pid(tl, t, ev->exec.pid);
	if (tl->view_cpu[ev->cpu].curr_pid == old_pid)
		tl->view_cpu[ev->cpu].curr_pid = ev->exec.pid;
	tl_task_name(tl, t, ev->exec.comm);
	if (tl->in_window)
		tl->q.exec_count++;
	if (tl->obs.exec)
		tl->obs.exec(tl->obs.ctx, tl->now_ns, &t->pub);
}

tl_rare static void on_task_exit(struct wi_timeline *tl, const struct wi_event *ev)
{
	struct task *t = tl_task_get(tl, ev->exit.pid, ev->exit.comm);

	if (t)
		t->pub.exiting = true;
}

tl_rare static void cpu_lost(struct wi_timeline *tl, uint32_t c, enum wi_lost_kind kind, uint64_t nr)
{
	if (tl->in_window && kind == WI_LOST_CHAIN) {
		tl->q.chain_breaks++;
	} else if (tl->in_window) {
		tl->q.lost_marks++;
		tl->q.lost_events += nr;
	}
	cpu_unknown(tl, c);
}

/* Gaps that the survey found, for sources that do not look ahead: told after all records up to their start. */
void tl_apply_gaps(struct wi_timeline *tl, uint64_t before_ns)
{
	const struct wi_survey *s = tl->opt.survey;

	while (tl->next_gap < s->nr_gaps && s->gaps[tl->next_gap].from_ns < before_ns) {
		const struct wi_gap *g = &s->gaps[tl->next_gap++];

		tl_decide_due(tl, g->from_ns);
		if (g->from_ns > tl->now_ns)
			tl->now_ns = g->from_ns;
		cpu_lost(tl, g->cpu, (enum wi_lost_kind)g->kind, g->nr);
	}
}

void tl_set_alarm(struct wi_timeline *tl)
{
	const struct wi_survey *s = tl->opt.survey;
	uint64_t at = tl->stop_ns;

	if (tl->next_gap < s->nr_gaps && s->gaps[tl->next_gap].from_ns < at)
		at = s->gaps[tl->next_gap].from_ns;
	if (!tl->in_window && tl->start_ns < at)
		at = tl->start_ns;
	tl->edge_ns = at;
	tl->alarm_ns = tl->due_ns < at ? tl->due_ns : at;
}

/* What must happen before an event at ts_ns; false: the event lies behind the window. */
tl_rare static bool edge(struct wi_timeline *tl, uint64_t ts_ns)
{
	tl_apply_gaps(tl, ts_ns < tl->stop_ns ? ts_ns : tl->stop_ns);
	tl_decide_due(tl, ts_ns < tl->stop_ns ? ts_ns : tl->stop_ns);
	tl->in_window = ts_ns >= tl->start_ns;
	tl->done = ts_ns > tl->stop_ns;
	tl_set_alarm(tl);
	return !tl->done;
}

static bool alarm(struct wi_timeline *tl, uint64_t ts_ns)
{
	if (__builtin_expect(ts_ns >= tl->edge_ns, 0))
		return edge(tl, ts_ns);
	tl_decide_due(tl, ts_ns);
	tl->alarm_ns = tl->due_ns < tl->edge_ns ? tl->due_ns : tl->edge_ns;
	return true;
}

/* false: the event lies behind the window. */
static inline bool reach(struct wi_timeline *tl, const struct wi_event *ev)
{
	if (ev->ts_ns >= tl->alarm_ns && !alarm(tl, ev->ts_ns))
		return false;
	uint64_t now_ns = tl->now_ns; /* written in any case: a branch would be foretold badly */
	tl->now_ns = ev->ts_ns > now_ns ? ev->ts_ns : now_ns;
	tl->q.events[ev->type] += tl->in_window;
	return true;
}

void tl_apply_waking(struct wi_timeline *tl, const struct wi_event *ev, const struct wi_placement *p)
{
	if (reach(tl, ev))
		on_waking(tl, ev, p);
}

void tl_apply(struct wi_timeline *tl, const struct wi_event *ev)
{
	if (!reach(tl, ev))
		return;
	if (ev->type == WI_EV_SCHED_SWITCH) { /* the most frequent: branches are foretold better than one jump for all */
		on_switch(tl, ev);
		return;
	}
	if (ev->type == WI_EV_SCHED_WAKEUP) {
		on_wakeup(tl, ev);
		return;
	}
	switch (ev->type) {
	case WI_EV_SCHED_WAKING: /* one that no look-ahead has placed */
		tl_count_repair(tl, ev->wk.success ? &tl->q.repairs.late_waking : &tl->q.repairs.unsuccessful);
		break;
	case WI_EV_SCHED_WAKEUP_NEW:
		on_wakeup_new(tl, ev);
		break;
	case WI_EV_SCHED_MIGRATE_TASK:
		on_migrate(tl, ev);
		break;
	case WI_EV_SCHED_PROCESS_FORK:
		on_fork(tl, ev);
		break;
	case WI_EV_SCHED_PROCESS_EXEC:
		on_exec(tl, ev);
		break;
	case WI_EV_SCHED_PROCESS_EXIT:
		on_task_exit(tl, ev);
		break;
	case WI_EV_CPU_IDLE:
		if (tl->obs.cpu_idle && ev->idle.cpu_id < tl->nr_cpus)
			tl->obs.cpu_idle(tl->obs.ctx, tl->now_ns, ev->idle.cpu_id, ev->idle.state);
		break;
	case WI_EV_LOCAL_TIMER_ENTRY:
		tl_tell_cpu(tl, ev->cpu, WAKEIF_TICK);
		break;
	case WI_EV_LOST:
		if (!tl->opt.survey->gaps_dated)
			cpu_lost(tl, ev->cpu, (enum wi_lost_kind)ev->lost.kind, ev->lost.nr_lost);
		break;
	default:
		break;
	}
}
