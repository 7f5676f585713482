/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Loads: what happened, as updates of the PELT objects of tasks and CPUs at the instants at which the kernel makes
 * them. Between two of them inputs are steady, so that ticks need not be followed: the last one is made up for when a
 * value is read or a task leaves.
 */
#include "models/estimates_priv.h"

/*
 * The queue as if there were no groups: what a task does there leaves the task itself alone.
 */
static void flat_update(struct wi_estimates *e, uint32_t c, uint64_t now_ns)
{
	e->cpu[c].flat.running = e->cpu[c].pelt.running;
	wi_pelt_update_cpu(&e->cpu[c].flat, now_ns);
}

static void flat_task(struct wi_estimates *e, uint32_t c, const struct est_task *t,
		      void (*what)(struct wi_pelt_cpu *c, struct wi_pelt_task *t))
{
	struct wi_pelt_task copy = t->pelt;

	if (e->nr_groups)
		what(&e->cpu[c].flat, &copy);
}

/* The queues on the way from a task of this group to the root. */
static void update_cpu(struct wi_estimates *e, uint32_t c, uint32_t group, uint64_t now_ns)
{
	if (e->nr_groups)
		flat_update(e, c, now_ns);
	if (group)
		est_group_update(e, group, c, now_ns);
	else
		wi_pelt_update_cpu(&e->cpu[c].pelt, now_ns);
}

/* The queue that the task itself counts in. */
static struct wi_pelt_cpu *own_queue(struct wi_estimates *e, const struct est_task *t, uint32_t c)
{
	return t->group ? &est_grq(e, t->group, c)->queue : &e->cpu[c].pelt;
}

static bool tracked(const struct wi_estimates *e, uint32_t cpu)
{
	return cpu < e->topo->nr_cpus;
}

/*
 * The last tick that is assumed to have been served on a CPU; 0: none. Where CPUs stand still at times (virtual ones of
 * a busy host), ticks are as late as answers to wakeups are.
 */
static uint64_t last_tick(const struct wi_estimates *e, const struct est_cpu *cpu)
{
	uint64_t late = e->answers.late_ns;

	if (cpu->curr == NONE || e->ticks_recorded)
		return 0;
	if (e->now_ns - e->jiffy_ns >= late)
		return e->jiffy_ns;
	late = (late - (e->now_ns - e->jiffy_ns) + e->tick_ns - 1) / e->tick_ns * e->tick_ns;
	return e->jiffy_ns > late ? e->jiffy_ns - late : 0;
}

void est_load_sync_cpu(struct wi_estimates *e, uint32_t c)
{
	struct est_cpu *cpu = &e->cpu[c];
	uint64_t tick = last_tick(e, cpu);

	if (tick > cpu->pelt.last_ns)
		update_cpu(e, c, e->task[cpu->curr].group, tick);
}

void est_load_sync_task(struct wi_estimates *e, struct est_task *t)
{
	uint64_t tick = t->running ? last_tick(e, &e->cpu[t->cpu]) : 0;

	if (tick > t->pelt.last_ns)
		wi_pelt_update_task(&t->pelt, tick, true, true);
}

void est_load_tick(struct wi_estimates *e, uint32_t c)
{
	struct est_cpu *cpu = &e->cpu[c];

	if (cpu->curr == NONE)
		return;
	update_cpu(e, c, e->task[cpu->curr].group, e->now_ns);
	wi_pelt_update_task(&e->task[cpu->curr].pelt, e->now_ns, true, true);
}

void est_load_decay_idle(void *ctx, uint32_t c, uint64_t now_ns)
{
	struct wi_estimates *e = ctx;

	wi_pelt_update_cpu(&e->cpu[c].pelt, now_ns);
	if (e->nr_groups)
		flat_update(e, c, now_ns);
	for (uint32_t g = 1; g <= e->nr_groups; g++)
		if (e->group[g].cpu[c].queue.load_sum)
			est_group_update(e, g, c, now_ns);
}

/* cpu_load[i] moves 2^-i of the way to the queue's weight at each tick, rounded up when it rises. */
void est_old_load_sync(struct wi_estimates *e, uint32_t c)
{
	struct est_cpu *cpu = &e->cpu[c];
	uint64_t n = e->jiffy - cpu->old_jiffy, weight = cpu->pelt.weight;

	cpu->old_jiffy = e->jiffy;
	for (uint32_t i = 0; i < NR_OLD_LOADS && n; i++) {
		uint64_t load = cpu->old_load[i];

		for (uint64_t k = 0; k < n; k++) {
			uint64_t to = ((load << i) - load + weight + (weight > load ? (1u << i) - 1 : 0)) >> i;

			if (to == load)
				break;
			load = to;
		}
		cpu->old_load[i] = load;
	}
}

static void before_weight_changes(struct wi_estimates *e, uint32_t c)
{
	if (e->needs & WAKEIF_NEED_OLD_CPU_LOAD)
		est_old_load_sync(e, c);
}

static void update_task(struct wi_estimates *e, struct est_task *t)
{
	wi_pelt_update_task(&t->pelt, e->now_ns, t->queued, t->running);
}

/* A sleeping task leaves its CPU's averages. */
static void remove_task(struct wi_estimates *e, struct est_task *t, bool idle)
{
	struct wi_pelt_task copy = t->pelt;

	if (e->nr_groups)
		wi_pelt_remove(&e->cpu[t->cpu].flat, &copy, e->now_ns, idle);
	wi_pelt_remove(own_queue(e, t, t->cpu), &t->pelt, e->now_ns, idle);
}

static void stop_running(struct wi_estimates *e, struct est_task *t, uint32_t slot)
{
	struct est_cpu *cpu = &e->cpu[t->cpu];

	t->running = false;
	if (cpu->curr != slot)
		return;
	cpu->curr = NONE;
	cpu->pelt.running = false;
}

/* Both are brought up to date, the task off its queue. It goes on to count in the CPU's averages. */
static void dequeue(struct wi_estimates *e, struct est_task *t, uint32_t slot)
{
	if (!t->queued)
		return;
	before_weight_changes(e, t->cpu);
	update_cpu(e, t->cpu, t->group, e->now_ns);
	update_task(e, t);
	if (t->running)
		stop_running(e, t, slot);
	flat_task(e, t->cpu, t, wi_pelt_dequeue);
	if (t->group)
		est_group_dequeue(e, t, t->cpu);
	else
		wi_pelt_dequeue(&e->cpu[t->cpu].pelt, &t->pelt);
	t->queued = false;
}

/* What was told contradicts: the task left that CPU unseen. */
static void leave_unseen(struct wi_estimates *e, struct est_task *t, uint32_t slot)
{
	dequeue(e, t, slot);
	if (t->pelt.attached && t->cpu != NONE)
		remove_task(e, t, e->cpu[t->cpu].idle);
	t->cpu = NONE;
}

static void enqueue(struct wi_estimates *e, struct est_task *t, uint32_t slot, uint32_t c, bool is_new)
{
	if (t->queued && t->cpu == c)
		return;
	if (t->cpu != c && t->cpu != NONE)
		leave_unseen(e, t, slot);
	before_weight_changes(e, c);
	update_cpu(e, c, t->group, e->now_ns);
	if (t->pelt.attached) {
		update_task(e, t);
	} else {
		if (is_new)
			wi_pelt_init_new(own_queue(e, t, c), &t->pelt, t->pelt.weight, e->new_unscaled);
		flat_task(e, c, t, wi_pelt_attach);
		if (t->group)
			est_group_attach(e, t, c);
		else
			wi_pelt_attach(&e->cpu[c].pelt, &t->pelt);
	}
	t->cpu = c;
	t->queued = true;
	flat_task(e, c, t, wi_pelt_enqueue);
	if (t->group)
		est_group_enqueue(e, t, c);
	else
		wi_pelt_enqueue(&e->cpu[c].pelt, &t->pelt);
}

static void runs(struct wi_estimates *e, struct est_task *t, uint32_t slot, uint32_t c)
{
	struct est_cpu *cpu = &e->cpu[c];

	if (!t->queued || t->cpu != c)
		enqueue(e, t, slot, c, false);
	if (cpu->curr != NONE && cpu->curr != slot) {
		struct est_task *other = &e->task[cpu->curr];

		update_cpu(e, c, other->group, e->now_ns);
		update_task(e, other);
		other->running = false;
	}
	update_cpu(e, c, t->group, e->now_ns);
	update_task(e, t);
	t->running = true;
	cpu->curr = slot;
	cpu->pelt.running = true;
}

static void preempted(struct wi_estimates *e, struct est_task *t, uint32_t slot)
{
	if (!t->queued)
		return;
	update_cpu(e, t->cpu, t->group, e->now_ns);
	update_task(e, t);
	if (t->running)
		stop_running(e, t, slot);
}

static void sleeps(struct wi_estimates *e, struct est_task *t, uint32_t slot, bool dead)
{
	if (!t->queued)
		return;
	dequeue(e, t, slot);
	wi_pelt_est_sleep(&t->pelt, e->est_single);
	if (dead)
		remove_task(e, t, false);
}

static void moved(struct wi_estimates *e, struct est_task *t, uint32_t slot, uint32_t to)
{
	if (t->cpu == to || t->cpu == NONE)
		return;
	if (t->queued) {
		dequeue(e, t, slot);
		flat_task(e, t->cpu, t, wi_pelt_detach);
		if (t->group)
			est_group_detach(e, t, t->cpu);
		else
			wi_pelt_detach(&e->cpu[t->cpu].pelt, &t->pelt);
		t->cpu = NONE;
		enqueue(e, t, slot, to, false);
		return;
	}
	est_load_sync_cpu(e, t->cpu);
	remove_task(e, t, e->cpu[t->cpu].idle);
	t->cpu = NONE;
}

static void lost(struct wi_estimates *e, struct est_task *t, uint32_t slot)
{
	if (t->queued)
		leave_unseen(e, t, slot);
}

/* prio or policy may be new with any happening: the class of the task decides whether it counts at all. */
static void know(struct wi_estimates *e, struct est_task *t, const struct wakeif_happening *h)
{
	bool fair = h->prio >= 100 || h->prio < -1;
	uint32_t weight = wi_pelt_weight(h->prio, h->policy == WAKEIF_POLICY_IDLE);

	if (t->fair && !fair)
		leave_unseen(e, t, h->task);
	t->fair = fair;
	if (!fair || weight == t->pelt.weight)
		return;
	if (t->cpu == NONE) {
		t->pelt.load_avg = (uint32_t)((uint64_t)t->pelt.runnable_avg * weight / WI_PELT_WEIGHT_NICE0);
		t->pelt.weight = weight;
		return;
	}
	before_weight_changes(e, t->cpu);
	update_cpu(e, t->cpu, t->group, e->now_ns);
	update_task(e, t);
	if (e->nr_groups) {
		struct wi_pelt_task copy = t->pelt;

		wi_pelt_reweight(&e->cpu[t->cpu].flat, &copy, t->queued, weight);
	}
	if (t->group)
		est_group_reweight(e, t, weight);
	else
		wi_pelt_reweight(&e->cpu[t->cpu].pelt, &t->pelt, t->queued, weight);
}

void est_load_forget(struct wi_estimates *e, uint32_t slot)
{
	leave_unseen(e, &e->task[slot], slot);
}

void est_load_happened(struct wi_estimates *e, const struct wakeif_happening *h)
{
	struct est_task *t = est_task(e, h->task);

	if (!t)
		return;
	know(e, t, h);
	if (!t->fair || (h->type != WAKEIF_TASK_LOST && !tracked(e, h->cpu)))
		return;
	switch (h->type) {
	case WAKEIF_TASK_ENQUEUED:
		enqueue(e, t, h->task, h->cpu, h->flags & WAKEIF_EV_NEW);
		break;
	case WAKEIF_TASK_RUNS:
		runs(e, t, h->task, h->cpu);
		break;
	case WAKEIF_TASK_PREEMPTED:
		preempted(e, t, h->task);
		break;
	case WAKEIF_TASK_SLEEPS:
		sleeps(e, t, h->task, h->flags & WAKEIF_EV_DEAD);
		break;
	case WAKEIF_TASK_MOVED:
		moved(e, t, h->task, h->cpu);
		break;
	case WAKEIF_TASK_LOST:
		lost(e, t, h->task);
		break;
	default:
		break;
	}
}
