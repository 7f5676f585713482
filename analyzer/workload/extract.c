/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The observer: raw tapes, one a task, and every wake with what came of it. */
#include "analyzer/workload/extract.h"

#include <string.h>

#include "analyzer/workload/extract_priv.h"

static void *more(struct wi_extract *x, struct xarray *a, size_t size)
{
	if (x->failed || !wi_work_grow(&a->at, a->nr, &a->room, size)) {
		x->failed = true;
		return NULL;
	}
	void *p = (char *)a->at + a->nr++ * size;

	memset(p, 0, size);
	return p;
}

/* ---- tasks by slot ---- */

static void remember(struct wi_extract *x, struct xarray *map, uint32_t slot, uint32_t value)
{
	while (map->nr <= slot) {
		uint32_t *p = more(x, map, sizeof(*p));

		if (!p)
			return;
		*p = NONE;
	}
	((uint32_t *)map->at)[slot] = value;
}

static uint32_t recall(const struct xarray *map, uint32_t slot)
{
	return slot < map->nr ? ((const uint32_t *)map->at)[slot] : NONE;
}

static uint32_t task_of(struct wi_extract *x, uint32_t slot)
{
	uint32_t i = slot >= x->opt.topology->nr_cpus ? recall(&x->slot, slot) : NONE;

	if (i != NONE || slot < x->opt.topology->nr_cpus || slot == WAKEIF_TASK_NONE)
		return i;
	struct xtask *t = more(x, &x->task, sizeof(*t));

	if (!t)
		return NONE;
	i = (uint32_t)x->task.nr - 1;
	t->comm = WI_NAME_NONE;
	t->cpu = t->open_wake = t->last_wake = t->away_for = t->waits_on = NONE;
	t->about.parent = WI_WORK_NONE;
	t->about.cpu = WI_WORK_NONE;
	t->prio = WI_PRIO_UNKNOWN;
	t->policy = WAKEIF_POLICY_UNKNOWN;
	remember(x, &x->slot, slot, i);
	return i;
}

/* ---- tapes ---- */

void wi_extract_put(struct wi_extract *x, struct xtask *t, struct wi_op op)
{
	if (x->failed)
		return;
	if (!wi_work_grow((void **)&t->ops, t->nr_ops, &t->room, sizeof(op))) {
		x->failed = true;
		return;
	}
	uint64_t ns = t->work >> 10;

	t->work &= 1023;
	if (ns > UINT32_MAX) {
		t->ops[t->nr_ops++] = (struct wi_op){ .kind = WI_OP_RUN, .value = ns };
		ns = 0;
		wi_extract_put(x, t, op);
		return;
	}
	op.work_ns = (uint32_t)ns;
	t->ops[t->nr_ops++] = op;
}

/* The first thing known of a task tells how it was when the window began. */
static void first_seen(struct xtask *t, enum wi_work_start start, uint32_t cpu)
{
	if (t->seen)
		return;
	t->seen = true;
	t->about.start = (uint8_t)start;
	t->about.cpu = start == WI_START_UNBORN ? WI_WORK_NONE : cpu;
	t->about.prio = t->prio;
	t->about.policy = t->policy;
}

static void block(struct wi_extract *x, struct xtask *t, uint32_t wake)
{
	wi_extract_put(x, t, (struct wi_op){ .kind = WI_OP_BLOCK, .target = wake == NONE ? NO_WAKE : wake });
	t->about.nr_blocks++;
}

/* A wake ends the block that stands last on the wakee's tape. */
static void end_block(struct wi_extract *x, uint32_t wake)
{
	struct wake *w = x_wake(x, wake);
	struct xtask *t = x_task(x, w->wakee);

	if (!t->nr_ops || t->ops[t->nr_ops - 1].kind != WI_OP_BLOCK || t->ops[t->nr_ops - 1].target != NO_WAKE)
		return;
	t->ops[t->nr_ops - 1].target = wake;
	t->last_wake = wake;
	w->fate = WAKE_ENDED_BLOCK;
	w->block_ns = t->block_ns;
	w->slept_cpu = t->cpu;
}

/* ---- what happened ---- */

static void idles(struct wi_extract *x, uint32_t cpu, bool yes)
{
	struct xcpu *c = &x->cpu[cpu];

	if (c->was_idle && !yes)
		c->idle_to_ns = x->now_ns;
	c->was_idle = yes;
	c->kicked = false;
}

/* What reaches a guest's idle CPU reaches it together: a timer may be the earlier for another's wakeup. */
#define TOGETHER_NS 50000u

static bool disturbed(const struct wi_extract *x, uint32_t cpu)
{
	const struct xcpu *c = cpu < x->opt.topology->nr_cpus ? &x->cpu[cpu] : NULL;

	return c && (c->task == NONE ? c->kicked : c->idle_to_ns && x->now_ns - c->idle_to_ns <= TOGETHER_NS);
}

static void on_runs(struct wi_extract *x, uint32_t i, const struct wakeif_happening *h)
{
	struct xtask *t = x_task(x, i);
	/* What a CPU runs at the window's start is told as its first switch. */
	bool from_start = h->now_ns == x->from_ns && !x->cpu[h->cpu].nr_switches;

	first_seen(t, from_start ? WI_START_RUNNING : WI_START_RUNNABLE, h->cpu);
	wi_extract_count_around(x, h->cpu);
	wi_stall_waits(x, t, NONE);
	if (x->begun && t->state == X_BLOCKED && t->last_wake == NONE && t->nr_ops)
		x->facts.implied++;
	if (t->lost_ns)
		x->facts.throttled_ns += h->now_ns - t->lost_ns;
	t->lost_ns = 0;
	if (t->away_for != NONE && t->away_cpu == h->cpu && x_task(x, t->away_for)->about.nr_blocks > t->away_blocks) {
		struct order *o = more(x, &x->order, sizeof(*o));

		if (o) {
			const struct wake *k = t->last_wake != NONE ? x_wake(x, t->last_wake) : NULL;

			*o = (struct order){ .waits = i, .first = t->away_for, .nr_blocks = t->away_blocks + 1 };
			o->noise.gap = o->noise.transit = o->noise.start = WI_NOISE_UNKNOWN;
			if (k && k->waker == t->away_for)
				o->noise = k->noise;
			wi_extract_put(x, t, (struct wi_op){ .kind = WI_OP_TAKE, .target = (uint32_t)x->order.nr - 1 });
		}
	}
	t->away_for = NONE;
	t->state = X_RUNNING;
	t->cpu = h->cpu;
	t->counted_ns = h->now_ns > x->from_ns ? h->now_ns : x->from_ns;
	x->cpu[h->cpu].task = i;
	idles(x, h->cpu, false);
	wi_stall_runs(x, h->cpu);
	x->cpu[h->cpu].nr_switches++;
	x->facts.switches_in++;

	/* It takes the place of its own waker, which goes on when it has blocked? */
	const struct xcpu *c = &x->cpu[h->cpu];
	const struct wake *w = t->last_wake != NONE ? x_wake(x, t->last_wake) : NULL;

	if (w && c->out_preempted && c->out_ns == h->now_ns && c->out_task != NONE && w->waker == c->out_task &&
	    !x->opt.no_orders) {
		struct xtask *p = x_task(x, c->out_task);

		p->away_for = i;
		p->away_blocks = t->about.nr_blocks;
		p->away_cpu = h->cpu;
	}
}

static void leave_cpu(struct wi_extract *x, uint32_t i, uint32_t cpu, bool preempted)
{
	struct xcpu *c = cpu < x->opt.topology->nr_cpus ? &x->cpu[cpu] : NULL;

	if (!c || c->task != i)
		return;
	wi_extract_count_around(x, cpu);
	wi_stall_acts(x, cpu);
	c->task = NONE;
	c->out_ns = x->now_ns;
	c->out_task = i;
	c->out_preempted = preempted;
}

static void on_sleeps(struct wi_extract *x, uint32_t i, const struct wakeif_happening *h)
{
	struct xtask *t = x_task(x, i);

	first_seen(t, WI_START_RUNNING, h->cpu);
	leave_cpu(x, i, h->cpu, false);
	wi_stall_waits(x, t, NONE);
	t->block_ns = h->now_ns;
	t->last_wake = NONE;
	if (h->flags & WAKEIF_EV_DEAD) {
		wi_extract_put(x, t, (struct wi_op){ .kind = WI_OP_EXIT });
		t->state = X_DEAD;
		x->facts.exits++;
		return;
	}
	t->state = X_BLOCKED;
	block(x, t, NONE);
	if (t->open_wake != NONE) { /* it came while the task was on its way out */
		x_wake(x, t->open_wake)->oncpu_ns = h->now_ns - x_wake(x, t->open_wake)->wake_ns;
		end_block(x, t->open_wake);
		t->open_wake = NONE;
	}
}

static void on_enqueued(struct wi_extract *x, uint32_t i, const struct wakeif_happening *h)
{
	struct xtask *t = x_task(x, i);

	t->cpu = h->cpu;
	if (t->state != X_RUNNING) {
		wi_stall_waits(x, t, h->cpu);
		t->state = t->state == X_BLOCKED && t->last_wake == NONE ? X_BLOCKED : X_RUNNABLE;
	}
	if (t->last_wake == NONE)
		return;
	struct wake *w = x_wake(x, t->last_wake);
	const struct xcpu *c = h->cpu < x->opt.topology->nr_cpus ? &x->cpu[h->cpu] : NULL;

	w->enqueued_switches = c ? c->nr_switches : 0;
	w->busy = c && c->task != NONE;
	if (!w->decided && w->busy)
		w->noise.kind |= WI_WAKE_BUSY;
	w->noise.kind |= h->cpu != w->waker_cpu ? WI_WAKE_REMOTE : 0;
}

static void set_prio(struct wi_extract *x, struct xtask *t, const struct wakeif_happening *h)
{
	bool none = h->prio < -1 || h->prio > 139; /* no event of a task in good health says so: not known */

	if (none || (t->prio == h->prio && t->policy == h->policy))
		return;
	if (t->seen && t->prio != WI_PRIO_UNKNOWN && x->begun)
		wi_extract_put(
			x, t,
			(struct wi_op){ .kind = WI_OP_RENICE, .value = (uint64_t)(uint16_t)h->prio << 8 | h->policy });
	else if (t->seen) {
		t->about.prio = h->prio;
		t->about.policy = h->policy;
	}
	t->prio = h->prio;
	t->policy = h->policy;
}

/* From the window's start on: what came before is state, not tape. */
static void begin(struct wi_extract *x)
{
	x->begun = true;
	for (uint32_t i = 0; i < x->task.nr; i++) {
		struct xtask *t = x_task(x, i);

		if (t->state == X_BLOCKED && t->last_wake != NONE) /* its wake came before */
			t->state = X_RUNNABLE;
		t->nr_ops = 0;
		t->fork_seen = false;
		t->work = t->about.ran_ns = 0;
		t->about.nr_blocks = 0;
		t->about.start_ns = 0; /* born before: a time before the window's start is none */
		t->open_wake = t->last_wake = t->away_for = NONE;
		t->seen = t->state != X_UNKNOWN && t->state != X_DEAD;
		t->about.prio = t->prio;
		t->about.policy = t->policy;
		t->about.cpu = t->cpu;
		t->counted_ns = x->from_ns;
		t->about.start = t->state == X_RUNNING	  ? WI_START_RUNNING
				 : t->state == X_RUNNABLE ? WI_START_RUNNABLE
							  : WI_START_BLOCKED;
		if (t->state == X_BLOCKED) {
			t->block_ns = x->from_ns;
			block(x, t, NONE);
		}
	}
	x->wake.nr = x->order.nr = 0;
	for (size_t s = 0; s < x->by_slot.nr; s++)
		((uint32_t *)x->by_slot.at)[s] = NONE;
	memset(&x->facts, 0, sizeof(x->facts));
}

/* false: outside of the window, or out of memory. */
static bool reach(struct wi_extract *x, uint64_t now_ns)
{
	if (x->over || x->failed)
		return false;
	if (now_ns > x->opt.to_ns) {
		wi_extract_count_to(x, x->opt.to_ns);
		return false;
	}
	if (!x->begun && now_ns >= x->from_ns) {
		x->now_ns = x->from_ns;
		begin(x);
	}
	x->now_ns = now_ns;
	return true;
}

static void on_born(struct wi_extract *x, uint32_t i, const struct wakeif_happening *h)
{
	uint32_t parent = h->other != WAKEIF_TASK_NONE ? task_of(x, h->other) : NONE;
	struct xtask *t = x_task(x, i);

	first_seen(t, WI_START_UNBORN, NONE);
	t->about.start_ns = h->now_ns - x->from_ns;
	t->about.parent = parent;
}

static void happened(void *ctx, const struct wakeif_happening *h)
{
	struct wi_extract *x = ctx;
	uint32_t i;

	if (h->task < x->opt.topology->nr_cpus) {
		if (reach(x, h->now_ns) && h->type == WAKEIF_CPU_IDLES) {
			x->cpu[h->cpu].nr_switches++;
			idles(x, h->cpu, true);
		}
		return;
	}
	if (!reach(x, h->now_ns) || (i = task_of(x, h->task)) == NONE)
		return;
	struct xtask *t = x_task(x, i);
	bool placed = h->cpu < x->opt.topology->nr_cpus;

	set_prio(x, t, h);
	t->about.pid = h->pid;
	switch (h->type) {
	case WAKEIF_TASK_BEGAN:
		if (h->flags & WAKEIF_EV_NEW)
			on_born(x, i, h);
		break;
	case WAKEIF_TASK_ENQUEUED:
		if (placed)
			on_enqueued(x, i, h);
		break;
	case WAKEIF_TASK_RUNS:
		if (placed)
			on_runs(x, i, h);
		break;
	case WAKEIF_TASK_PREEMPTED:
		first_seen(t, WI_START_RUNNING, h->cpu);
		leave_cpu(x, i, h->cpu, true);
		wi_stall_waits(x, t, h->cpu);
		t->state = X_RUNNABLE;
		x->facts.preemptions++;
		break;
	case WAKEIF_TASK_SLEEPS:
		on_sleeps(x, i, h);
		break;
	case WAKEIF_TASK_MOVED:
		t->cpu = h->cpu;
		if (t->waits_on != NONE)
			wi_stall_waits(x, t, h->cpu);
		break;
	case WAKEIF_TASK_LOST:
		leave_cpu(x, i, t->cpu, false);
		wi_stall_waits(x, t, NONE);
		if (t->state == X_RUNNING || t->state == X_RUNNABLE)
			t->state = X_RUNNABLE;
		t->lost_ns = h->now_ns;
		break;
	default:
		break;
	}
}

/* ---- wakes ---- */

static uint32_t running_waker(struct wi_extract *x, const struct wi_wakeup *w)
{
	uint32_t waker = w->pub.waker_task != WAKEIF_TASK_NONE && w->pub.waker_task >= x->opt.topology->nr_cpus
				 ? task_of(x, w->pub.waker_task)
				 : NONE;

	return waker != NONE && x_task(x, waker)->state == X_RUNNING && x_task(x, waker)->cpu == w->pub.waker_cpu
		       ? waker
		       : NONE;
}

static void waking(void *ctx, uint64_t now_ns, const struct wi_wakeup *w)
{
	struct wi_extract *x = ctx;

	remember(x, &x->by_slot, w->slot, NONE);
	if (!reach(x, now_ns))
		return;
	if (w->pub.waker_cpu < x->opt.topology->nr_cpus)
		wi_stall_acts(x, w->pub.waker_cpu);
	uint32_t wakee = task_of(x, w->pub.wakee_task), waker = running_waker(x, w);
	struct wake *k = wakee != NONE ? more(x, &x->wake, sizeof(*k)) : NULL;
	uint32_t nr = (uint32_t)x->wake.nr - 1;

	if (!k || nr >= NO_WAKE) {
		x->failed |= k != NULL;
		return;
	}
	bool irq = w->pub.context == WAKEIF_CTX_HARDIRQ || w->pub.context == WAKEIF_CTX_SOFTIRQ ||
		   w->pub.context == WAKEIF_CTX_IDLE || waker == NONE;

	*k = (struct wake){ .wake_ns = now_ns,
			    .waker = waker,
			    .wakee = wakee,
			    .waker_comm = w->waker_comm,
			    .waker_cpu = w->pub.waker_cpu,
			    .disturbed = disturbed(x, w->pub.waker_cpu),
			    .slept_cpu = w->pub.prev_cpu,
			    .context = w->pub.context,
			    .class_ = w->pub.class_,
			    .noise = { .gap = WI_NOISE_UNKNOWN,
				       .transit = WI_NOISE_UNKNOWN,
				       .start = WI_NOISE_UNKNOWN,
				       .kind = irq ? WI_WAKE_IRQ : 0,
				       .flags = w->pub.context == WAKEIF_CTX_SOFTIRQ ? WI_WAKE_SOFTIRQ : 0 } };
	remember(x, &x->by_slot, w->slot, nr);
	struct xtask *t = x_task(x, wakee);
	bool fork = w->pub.class_ == WAKEIF_FORK;

	if (!t->seen && !fork) { /* it slept when the window began */
		first_seen(t, WI_START_BLOCKED, w->pub.prev_cpu);
		t->state = X_BLOCKED;
		t->cpu = w->pub.prev_cpu;
		t->block_ns = x->from_ns;
		block(x, t, NONE);
	}
	if (waker != NONE && w->pub.context != WAKEIF_CTX_HARDIRQ) { /* its own work, or a softirq that may be */
		wi_extract_count(x, w->pub.waker_cpu);
		wi_extract_put(x, x_task(x, waker),
			       (struct wi_op){ .kind = fork ? WI_OP_FORK : WI_OP_WAKE, .target = nr });
		x_wake(x, nr)->on_tape = true;
	}
	if (fork) {
		first_seen(t, WI_START_UNBORN, NONE); /* sched_process_fork may have come before the window */
		x_wake(x, nr)->fate = WAKE_FORKED;
		t->fork_seen = x_wake(x, nr)->on_tape;
		t->about.parent = waker;
		t->about.start_ns = now_ns - x->from_ns;
		t->last_wake = nr;
	} else if (t->state == X_BLOCKED && t->last_wake == NONE) {
		end_block(x, nr);
	} else if (t->state == X_RUNNING || t->state == X_RUNNABLE) {
		t->open_wake = nr;
	}
}

static void decided(void *ctx, uint64_t now_ns, const struct wi_wakeup *w)
{
	struct wi_extract *x = ctx;
	uint32_t nr = recall(&x->by_slot, w->slot);

	if (nr == NONE || !reach(x, now_ns))
		return;
	struct wake *k = x_wake(x, nr);

	k->class_ = w->pub.class_;
	/* How it was sent depends on what the CPU did then, not on what it does when the wakeup arrives. */
	k->decided = w->chosen_cpu < x->opt.topology->nr_cpus;
	if (k->decided && x->cpu[w->chosen_cpu].task == NONE)
		x->cpu[w->chosen_cpu].kicked = true;
	if (k->decided && x->cpu[w->chosen_cpu].task != NONE)
		k->noise.kind |= WI_WAKE_BUSY;
}

void wi_extract_sync(struct wi_extract *x, const struct wi_wakeup *w, bool set)
{
	uint32_t nr = recall(&x->by_slot, w->slot);

	if (nr != NONE && !x->over)
		x_wake(x, nr)->noise.flags |= WI_WAKE_SYNC_KNOWN | (set ? WI_WAKE_SYNC : 0);
}

/* The longest time from the enqueue to a switch-in that can still be the answer to the wakeup's own resched request. */
#define PREEMPTION_NS 1000000

static void latencies(const struct wi_extract *x, struct wake *k, const struct wi_wakeup *w)
{
	if (w->pub.now_ns >= k->wake_ns && (k->class_ == WAKEIF_SELECT || k->class_ == WAKEIF_FORK))
		k->noise.gap = wi_noise_encode(w->pub.now_ns - k->wake_ns);
	if (w->enq_ns == WI_TIME_UNKNOWN || w->enq_ns < k->wake_ns)
		return;
	k->noise.transit = wi_noise_encode(w->enq_ns - k->wake_ns);
	if (w->run_ns == WI_TIME_UNKNOWN || w->run_cpu >= x->opt.topology->nr_cpus || w->run_cpu != w->chosen_cpu)
		return;
	const struct xcpu *c = &x->cpu[w->run_cpu];
	uint64_t wait_ns = w->run_ns - w->enq_ns;

	if (c->nr_switches != k->enqueued_switches) /* somebody else ran in between */
		return;
	if (!k->busy && w->run_after_pid == 0) {
		k->noise.start = wi_noise_encode(wait_ns);
	} else if (k->busy && c->out_preempted && c->out_ns == w->run_ns && wait_ns < PREEMPTION_NS) {
		k->noise.start = wi_noise_encode(wait_ns);
		k->noise.flags |= WI_WAKE_PREEMPTED;
	}
}

static void closed(void *ctx, uint64_t now_ns, const struct wi_wakeup *w, enum wi_outcome outcome)
{
	struct wi_extract *x = ctx;
	uint32_t nr = recall(&x->by_slot, w->slot);

	remember(x, &x->by_slot, w->slot, NONE);
	if (nr == NONE || !reach(x, now_ns))
		return;
	struct wake *k = x_wake(x, nr);
	struct xtask *t = x_task(x, k->wakee);

	(void)outcome;
	if (t->open_wake == nr)
		t->open_wake = NONE;
	k->class_ = w->pub.class_;
	latencies(x, k, w);
}

static void exec(void *ctx, uint64_t now_ns, const struct wi_task *task)
{
	struct wi_extract *x = ctx;
	uint32_t i;

	if (!reach(x, now_ns) || (i = task_of(x, task->slot)) == NONE || x_task(x, i)->state != X_RUNNING)
		return;
	wi_extract_count(x, x_task(x, i)->cpu);
	wi_extract_put(x, x_task(x, i), (struct wi_op){ .kind = WI_OP_EXEC });
}

static void renamed(void *ctx, uint64_t now_ns, const struct wi_task *task)
{
	struct wi_extract *x = ctx;
	uint32_t i = reach(x, now_ns) ? task_of(x, task->slot) : NONE;

	if (i == NONE)
		return;
	if (x->opt.smt_speed_of && x_task(x, i)->state == X_RUNNING)
		wi_extract_count(x, x_task(x, i)->cpu); /* its speed may go by its name */
	x_task(x, i)->comm = task->comm;
}

static void gone(void *ctx, uint64_t now_ns, const struct wi_task *task)
{
	struct wi_extract *x = ctx;
	uint32_t i = recall(&x->slot, task->slot);

	if (i == NONE)
		return;
	struct xtask *t = x_task(x, i);

	t->comm = task->comm;
	t->about.pid = task->pid;
	t->about.tgid = task->tgid;
	t->about.allowed = WI_WORK_NONE;
	if (task->policy != WAKEIF_POLICY_UNKNOWN && t->about.policy == WAKEIF_POLICY_UNKNOWN)
		t->about.policy = task->policy;
	if (task->cgroup != WI_NAME_NONE)
		t->about.cgroup = wi_names_get(x->opt.names, task->cgroup);
	if (task->allowed_source != WAKEIF_ALLOWED_ASSUMED)
		t->about.allowed = wi_work_add_mask(x->builder, task->allowed, x->opt.topology->nr_words);
	remember(x, &x->slot, task->slot, NONE);
	(void)now_ns;
}

struct wi_extract *wi_extract_new(const struct wi_extract_opts *opts, struct wi_err *err)
{
	struct wi_extract *x = calloc(1, sizeof(*x));

	if (!x) {
		wi_err_nomem(err);
		return NULL;
	}
	x->opt = *opts;
	x->cpu = calloc(opts->topology->nr_cpus, sizeof(*x->cpu));
	x->builder = wi_work_builder_new(err);
	if (!x->cpu || !x->builder) {
		wi_err_nomem(err);
		wi_extract_free(x);
		return NULL;
	}
	if (!x->opt.to_ns)
		x->opt.to_ns = UINT64_MAX;
	for (uint32_t c = 0; c < opts->topology->nr_cpus; c++)
		x->cpu[c].task = x->cpu[c].out_task = NONE;
	x->obs = (struct wi_timeline_observer){ .ctx = x,
						.waking = waking,
						.decision = decided,
						.wakeup_closed = closed,
						.exec = exec,
						.renamed = renamed,
						.happened = happened,
						.task_gone = gone };
	return x;
}

const struct wi_timeline_observer *wi_extract_observer(struct wi_extract *x)
{
	return &x->obs;
}

void wi_extract_bind(struct wi_extract *x, struct wi_timeline *tl)
{
	x->tl = tl;
	x->from_ns = wi_timeline_window_start_ns(tl);
	if (x->opt.from_ns > x->from_ns)
		x->from_ns = x->opt.from_ns;
}

void wi_extract_free(struct wi_extract *x)
{
	if (!x)
		return;
	for (uint32_t i = 0; i < x->task.nr; i++)
		free(x_task(x, i)->ops);
	free(x->task.at);
	free(x->slot.at);
	free(x->wake.at);
	free(x->by_slot.at);
	free(x->order.at);
	wi_work_builder_free(x->builder);
	free(x->cpu);
	free(x);
}
