/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Wakeups from sched_waking to switch-in: decision instant, class, pending CPUs (METRICS rules 13 to 20). */
#include <stdlib.h>
#include <string.h>

#include "analyzer/base/kernel.h"
#include "analyzer/timeline/internal.h"

static struct open_wakeup *slot_take(struct wi_timeline *tl)
{
	if (!tl->nr_free_slots) {
		if (tl->nr_slots == tl->slot_cap) {
			uint32_t cap = tl->slot_cap ? tl->slot_cap * 2 : 64;
			struct open_wakeup **open = realloc(tl->open, cap * sizeof(struct open_wakeup *));

			if (!open)
				return NULL;
			tl->open = open;
			uint32_t *free_slot = realloc(tl->free_slot, cap * sizeof(*free_slot));
			if (!free_slot)
				return NULL;
			tl->free_slot = free_slot;
			tl->slot_cap = cap;
		}
		struct open_wakeup *o = malloc(sizeof(*o));
		if (!o)
			return NULL;
		tl->open[tl->nr_slots] = o;
		tl->free_slot[tl->nr_free_slots++] = tl->nr_slots++;
	}
	uint32_t slot = tl->free_slot[--tl->nr_free_slots];
	tl->open[slot]->w.slot = slot;
	return tl->open[slot];
}

static bool due_insert(struct wi_timeline *tl, struct open_wakeup *o)
{
	if (tl->nr_due == tl->due_cap) {
		uint32_t cap = tl->due_cap ? tl->due_cap * 2 : 64;
		struct open_wakeup **due = realloc(tl->due, cap * sizeof(struct open_wakeup *));

		if (!due)
			return false;
		tl->due = due;
		tl->due_cap = cap;
	}
	uint32_t i = tl->nr_due++;
	for (; i > 0 && tl->due[i - 1]->placement.dec_ns > o->placement.dec_ns; i--)
		tl->due[i] = tl->due[i - 1];
	tl->due[i] = o;
	tl->due_ns = tl->due[0]->placement.dec_ns;
	if (tl->due_ns < tl->alarm_ns)
		tl->alarm_ns = tl->due_ns;
	return true;
}

static void due_remove(struct wi_timeline *tl, uint32_t i)
{
	if (--tl->nr_due > i) /* most often there is but one */
		memmove(&tl->due[i], &tl->due[i + 1], (tl->nr_due - i) * sizeof(*tl->due));
	tl->due_ns = tl->nr_due ? tl->due[0]->placement.dec_ns : UINT64_MAX;
}

static enum wakeif_context context_of(const struct wi_event *ev)
{
	if (!(ev->known & WI_KNOWN_FLAGS))
		return WAKEIF_CTX_UNKNOWN;
	if (ev->common_flags & (WI_FLAG_HARDIRQ | WI_FLAG_NMI))
		return WAKEIF_CTX_HARDIRQ;
	if (ev->common_flags & WI_FLAG_SOFTIRQ)
		return WAKEIF_CTX_SOFTIRQ;
	if (ev->known & WI_KNOWN_COMMON_PID)
		return ev->common_pid ? WAKEIF_CTX_TASK : WAKEIF_CTX_IDLE;
	return WAKEIF_CTX_UNKNOWN;
}

static void describe_waker(struct wi_timeline *tl, struct wi_wakeup *w, const struct wi_event *ev)
{
	const struct cpu *c = &tl->cpu[ev->cpu];

	w->pub.waker_cpu = ev->cpu;
	w->pub.waker_task = WAKEIF_TASK_NONE;
	w->pub.context = (uint8_t)context_of(ev);
	w->pub.waker_pid = ev->known & WI_KNOWN_COMMON_PID ? ev->common_pid
			   : c->kind == WI_CPU_BUSY && c->cur ? c->cur->pub.pid
			   : c->kind == WI_CPU_IDLE	      ? 0
							      : -1;
	if (w->pub.waker_pid > 0) {
		const struct task *waker = c->cur && c->cur->pub.pid == w->pub.waker_pid ? c->cur : tl_task_find(tl, w->pub.waker_pid);

		w->waker_comm = waker ? waker->pub.comm : WI_NAME_NONE;
		if (waker) {
			w->pub.waker_task = waker->pub.slot;
			w->pub.waker_exiting = waker->pub.exiting;
			w->pub.waker_pinned = waker->names_cpu && wi_mask_weight(waker->pub.allowed, tl->words) == 1;
		}
		if (w->waker_comm == WI_NAME_NONE && tl->opt.comm_of) /* no record has named it yet */
			w->waker_comm = tl->opt.comm_of(tl->opt.comm_of_ctx, w->pub.waker_pid);
	} else if (!w->pub.waker_pid) {
		w->pub.waker_task = ev->cpu; /* the idle task of this CPU */
	}
}

/* Was a wakee whose state the trace does not show off its run queue? Then it would have run before prev_cpu idled. */
static bool proved_blocked(const struct wi_timeline *tl, const struct task *t, uint32_t prev_cpu, bool moved)
{
	const struct cpu *prev = prev_cpu < tl->nr_cpus ? &tl->cpu[prev_cpu] : NULL;

	if (moved || t->ghost)
		return true;
	if (!prev || !prev->ever_idle)
		return false;
	return prev->kind == WI_CPU_IDLE || !t->unknown_since_ns || prev->last_idle_ns > t->unknown_since_ns;
}

void tl_wakeups_init(struct wi_timeline *tl)
{
	tl->blank = (struct wi_wakeup){
		.pub = { .size = sizeof(tl->blank.pub),
			 .wake_flags = WAKEIF_WF_TTWU,
			 .wake_flags_known = WAKEIF_WF_TTWU | WAKEIF_WF_FORK | WAKEIF_WF_EXEC,
			 .slept_ns = UINT64_MAX,
			 .class_ = WAKEIF_UNKNOWN /* until it is decided */ },
		.enq_ns = WI_TIME_UNKNOWN,
		.run_ns = WI_TIME_UNKNOWN,
		.run_cpu = WI_CPU_NONE,
		.run_after_pid = -1,
	};
}

/* What the record, its placement and the wakee's state before it say. */
static void begin(const struct wi_timeline *tl, struct open_wakeup *o, struct task *t, const struct wi_event *ev, uint32_t prev_cpu)
{
	const struct wi_placement *p = &o->placement;
	struct wi_wakeup *w = &o->w;
	uint32_t slot = w->slot;

	*w = tl->blank;
	w->slot = slot;
	w->wakee = &t->pub;
	w->next_waker_record_ns = p->next_waker_record_ns;
	w->chosen_cpu = p->chosen_cpu;
	w->chosen_source = p->source;
	w->enq_record_cpu = p->enq_record_cpu;
	w->pub.now_ns = p->dec_ns;
	w->pub.wake_ns = ev->ts_ns;
	w->pub.pid = t->pub.pid;
	w->pub.prio = ev->wk.prio;
	w->pub.policy = t->pub.policy;
	w->pub.prev_cpu = prev_cpu;
	if (t->pub.state == WI_TASK_BLOCKED && t->pub.blocked_ns != WI_TIME_UNKNOWN)
		w->pub.slept_ns = ev->ts_ns - t->pub.blocked_ns;
	w->pub.allowed = t->pub.allowed;
	w->pub.allowed_source = t->pub.allowed_source;
	w->pub.waker_stalled = p->stalled;
	w->pub.wakee_task = t->pub.slot;
}

struct open_wakeup *tl_wakeup_open(struct wi_timeline *tl, struct task *t, const struct wi_event *ev, const struct wi_placement *p)
{
	struct open_wakeup *o = slot_take(tl);

	if (o)
		o->placement = *p;
	if (!o || !due_insert(tl, o)) {
		tl->failed = true;
		wi_err_nomem(tl->err);
		return NULL;
	}
	uint32_t prev_cpu = ev->type == WI_EV_SCHED_WAKING ? (uint32_t)ev->wk.target_cpu : t->pub.cpu;

	o->state_at_wake = t->pub.state;
	if (t->pub.state == WI_TASK_UNKNOWN && proved_blocked(tl, t, prev_cpu, p->by_migrate))
		o->state_at_wake = WI_TASK_BLOCKED;
	o->decided = o->pending = o->enqueued = o->duplicate = false;
	o->blocked_ns_at_wake = t->pub.blocked_ns;
	begin(tl, o, t, ev, prev_cpu);
	o->w.was_running = t->pub.state == WI_TASK_RUNNING && (p->by_migrate || (p->switched_out && p->source == WI_CHOSEN_WAKEUP));
	o->w.in_window = ev->ts_ns >= tl->start_ns && ev->ts_ns <= tl->stop_ns;
	describe_waker(tl, &o->w, ev);
	return o;
}

/* Queued on a CPU at the decision, the wakee itself left out. */
static uint32_t others_queued(const struct wi_timeline *tl, const struct open_wakeup *o, uint32_t c)
{
	const struct wi_task *t = o->w.wakee;
	bool counts_itself = t->cpu == c && (t->state == WI_TASK_RUNNING || t->state == WI_TASK_RUNNABLE);

	return tl->view_cpu[c].nr_running - (counts_itself && tl->view_cpu[c].nr_running ? 1 : 0);
}

static bool share_llc(const struct wakeif_topology *topo, uint32_t a, uint32_t b)
{
	return topo->group[WAKEIF_LLC][a] == topo->group[WAKEIF_LLC][b];
}

static bool is_oncpu(const struct wi_timeline *tl, const struct open_wakeup *o)
{
	const struct wi_wakeup *w = &o->w;
	uint32_t prev = w->pub.prev_cpu;
	bool leaving = (o->state_at_wake == WI_TASK_BLOCKED && o->blocked_ns_at_wake != WI_TIME_UNKNOWN && w->pub.wake_ns - o->blocked_ns_at_wake < tl->opt.oncpu_ns) ||
		       (o->state_at_wake == WI_TASK_RUNNING && o->placement.blocked);

	return leaving && w->pub.waker_cpu != prev && o->placement.enq_record_cpu == prev &&
	       (!share_llc(tl->topo, w->pub.waker_cpu, prev) || others_queued(tl, o, prev) == 0);
}

/*
 * 6.12+: a task that blocked with negative lag stays queued until it is picked; woken before, no CPU is chosen for it.
 * The trace shows when that is possible, not whether it happened (METRICS rule 17).
 */
static bool maybe_delayed(const struct wi_timeline *tl, const struct open_wakeup *o)
{
	const struct wi_wakeup *w = &o->w;
	const struct cpu *prev = w->pub.prev_cpu < tl->nr_cpus ? &tl->cpu[w->pub.prev_cpu] : NULL;

	return prev && tl->opt.kernel_version >= WI_KERNEL(6, 12) && !o->placement.by_migrate && o->placement.enq_record_cpu == w->pub.waker_cpu &&
	       o->state_at_wake == WI_TASK_BLOCKED && o->blocked_ns_at_wake != WI_TIME_UNKNOWN && tl->view_cpu[w->pub.prev_cpu].nr_cfs > 0 &&
	       prev->fair_since_ns <= o->blocked_ns_at_wake;
}

TL_INLINE enum wakeif_class classify(const struct wi_timeline *tl, const struct open_wakeup *o)
{
	const struct wi_wakeup *w = &o->w;
	bool moved = o->placement.by_migrate;

	bool no_waker = w->only_wakeup && w->pub.waker_pid < 0; /* rule 16: the record's CPU is not the waker's */

	if (w->chosen_cpu >= tl->nr_cpus || w->pub.prev_cpu >= tl->nr_cpus || (!no_waker && tl->cpu[w->pub.waker_cpu].kind == WI_CPU_UNKNOWN))
		return WAKEIF_UNKNOWN;
	if (o->state_at_wake == WI_TASK_UNKNOWN)
		return WAKEIF_UNKNOWN;
	if (w->pub.waker_pid == w->pub.pid && (w->pub.context == WAKEIF_CTX_TASK || w->pub.context == WAKEIF_CTX_UNKNOWN))
		return WAKEIF_SELF;
	if (!moved && (o->state_at_wake == WI_TASK_RUNNABLE || (o->state_at_wake == WI_TASK_RUNNING && !o->placement.blocked)))
		return WAKEIF_ONRQ;
	if (!moved && is_oncpu(tl, o))
		return WAKEIF_ONCPU;
	if (w->pub.allowed != tl->all && wi_mask_weight(w->pub.allowed, tl->words) == 1)
		return WAKEIF_PINNED;
	if (w->pub.allowed_source == WAKEIF_ALLOWED_RECORDED && !wi_mask_test(w->pub.allowed, w->pub.prev_cpu))
		return WAKEIF_FALLBACK;
	if (w->pub.prio == -1)
		return WAKEIF_DL;
	if (tl_is_rt(w->pub.prio))
		return WAKEIF_RT;
	return WAKEIF_SELECT;
}

/* One more wakee is on its way to c. */
static void pending_begins(struct wi_timeline *tl, uint32_t c)
{
	struct cpu *cpu = &tl->cpu[c];

	if (!cpu->nr_pending++)
		wi_mask_set(tl->pending, c);
	if (tl->have_sched_idle)
		tl_update_sched_idle_only(tl, c);
	if (cpu->idle)
		tl_idle_changed(tl, c);
}

static void pending_ends(struct wi_timeline *tl, uint32_t c)
{
	struct cpu *cpu = &tl->cpu[c];

	cpu->nr_pending--;
	if (tl->have_sched_idle)
		tl_update_sched_idle_only(tl, c);
	if (cpu->nr_pending) /* then it is not idle, and was not */
		return;
	wi_mask_clear(tl->pending, c);
	tl_update_idle(tl, c);
}

/* The decision instant of o: nothing that the state shows now came later. */
TL_INLINE void decide(struct wi_timeline *tl, struct open_wakeup *o)
{
	struct wi_wakeup *w = &o->w;
	struct task *t = (struct task *)w->wakee;

	if (w->pub.class_ != WAKEIF_FORK)
		w->pub.class_ = (uint8_t)classify(tl, o);
	w->maybe_delayed = w->pub.class_ == WAKEIF_SELECT && maybe_delayed(tl, o);
	o->decided = true;
	if (tl->obs.decision)
		tl->obs.decision(tl->obs.ctx, tl->now_ns, w);
	if ((w->pub.class_ == WAKEIF_SELECT || w->pub.class_ == WAKEIF_FORK) && w->chosen_cpu < tl->nr_cpus)
		tl_tell_task(tl, t, WAKEIF_PLACED, w->pub.class_ == WAKEIF_FORK ? WAKEIF_EV_NEW : 0, w->chosen_cpu, w->pub.prev_cpu);
	if (o->duplicate) {
		tl_wakeup_close(tl, o, WI_OUT_REPLACED);
		return;
	}
	if (t->wakeup == o && o->state_at_wake == WI_TASK_RUNNING && !w->was_running && o->placement.source != WI_CHOSEN_WAKEUP && !o->enqueued) {
		t->awaits_wakeup = false;
		tl_wakeup_close(tl, o, WI_OUT_RUNNING); /* it ran on, and no sched_wakeup will say so */
		return;
	}
	bool on_its_way = t->wakeup == o && !o->enqueued && w->chosen_cpu < tl->nr_cpus && w->pub.class_ != WAKEIF_SELF &&
			  w->pub.class_ != WAKEIF_ONRQ && t->pub.state != WI_TASK_RUNNABLE;
	if (on_its_way) {
		o->pending = true;
		pending_begins(tl, w->chosen_cpu);
	}
}

void tl_decide(struct wi_timeline *tl, struct open_wakeup *o)
{
	decide(tl, o);
}

void tl_decide_due(struct wi_timeline *tl, uint64_t until_ns)
{
	while (tl->nr_due && tl->due[0]->placement.dec_ns <= until_ns) {
		struct open_wakeup *o = tl->due[0];

		due_remove(tl, 0);
		if (o->placement.dec_ns > tl->now_ns)
			tl->now_ns = o->placement.dec_ns;
		decide(tl, o);
	}
}

static void end_pending(struct wi_timeline *tl, struct open_wakeup *o)
{
	if (!o->pending)
		return;
	o->pending = false;
	pending_ends(tl, o->w.chosen_cpu);
}

void tl_wakeup_enqueued(struct wi_timeline *tl, struct open_wakeup *o, uint32_t record_cpu)
{
	o->enqueued = true;
	o->w.enq_ns = tl->now_ns;
	o->w.enq_record_cpu = record_cpu;
}

/* After the wakee was put on its queue: the CPU must not look idle in between. */
void tl_wakeup_arrived(struct wi_timeline *tl, struct open_wakeup *o)
{
	end_pending(tl, o);
}

static void due_drop(struct wi_timeline *tl, const struct open_wakeup *o)
{
	for (uint32_t i = 0; i < tl->nr_due; i++)
		if (tl->due[i] == o) {
			due_remove(tl, i);
			return;
		}
}

void tl_wakeup_close(struct wi_timeline *tl, struct open_wakeup *o, enum wi_outcome outcome)
{
	struct task *t = (struct task *)o->w.wakee;

	if (!o->decided) {
		bool duplicate = o->duplicate;

		due_drop(tl, o);
		o->duplicate = false;
		o->enqueued = true; /* over: nothing is on its way any more */
		tl_decide(tl, o);
		o->duplicate = duplicate;
	}
	end_pending(tl, o);
	if (t->wakeup == o)
		t->wakeup = NULL;
	if (tl->obs.wakeup_closed)
		tl->obs.wakeup_closed(tl->obs.ctx, tl->now_ns, &o->w, outcome);
	tl->free_slot[tl->nr_free_slots++] = o->w.slot;
}

void tl_wakeups_of_gone(struct wi_timeline *tl, struct task *t)
{
	for (uint32_t i = 0; i < tl->nr_due;) {
		struct open_wakeup *o = tl->due[i];

		if (o->w.wakee != &t->pub || o == t->wakeup) {
			i++;
			continue;
		}
		due_remove(tl, i);
		tl_decide(tl, o); /* a duplicate closes itself */
	}
	if (t->wakeup)
		tl_wakeup_close(tl, t->wakeup, tl->done ? WI_OUT_CENSORED : WI_OUT_DIED);
}

void tl_wakeups_free(struct wi_timeline *tl)
{
	for (uint32_t i = 0; i < tl->nr_slots; i++)
		free(tl->open[i]);
	free(tl->open);
	free(tl->free_slot);
	free(tl->due);
}
