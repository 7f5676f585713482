/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Groups of tasks, one level below the root (autogroups, cgroups of depth one). On each CPU a group has a queue of its
 * own, and an entity that stands for it in the root's queue: its weight is the group's shares, divided among the CPUs
 * by the load that the group has there. Utilisation, runnable and the number of tasks go up to the root as they are;
 * load does so as the entity's.
 */
#include <stdlib.h>

#include "models/estimates_priv.h"

#define KERNEL_6_12 (6u << 16 | 12u << 8)
#define MIN_SHARES 2u

struct est_grq *est_grq(struct wi_estimates *e, uint32_t group, uint32_t c)
{
	return &e->group[group].cpu[c];
}

bool est_groups_new(struct wi_estimates *e, const struct wi_estimates_opts *o)
{
	if (!o->nr_groups)
		return true;
	e->group = calloc((size_t)o->nr_groups + 1, sizeof(*e->group));
	if (!e->group)
		return false;
	e->nr_groups = o->nr_groups;
	for (uint32_t g = 1; g <= o->nr_groups; g++) {
		e->group[g].shares = o->group_shares ? o->group_shares[g - 1] : WI_PELT_WEIGHT_NICE0;
		e->group[g].cpu = calloc(e->topo->nr_cpus ? e->topo->nr_cpus : 1, sizeof(*e->group[g].cpu));
		if (!e->group[g].cpu)
			return false;
		for (uint32_t c = 0; c < e->topo->nr_cpus; c++) {
			e->group[g].cpu[c].entity.attached = true;
			e->group[g].cpu[c].entity.weight = e->group[g].shares;
		}
	}
	return true;
}

void est_groups_free(struct wi_estimates *e)
{
	for (uint32_t g = 1; e->group && g <= e->nr_groups; g++)
		free(e->group[g].cpu);
	free(e->group);
}

void est_groups_start(struct wi_estimates *e)
{
	for (uint32_t g = 1; g <= e->nr_groups; g++)
		for (uint32_t c = 0; c < e->topo->nr_cpus; c++)
			e->group[g].cpu[c].queue.last_ns = e->group[g].cpu[c].entity.last_ns = e->now_ns;
}

/* The part of the shares that falls to this CPU. */
static uint32_t entity_weight(const struct est_group *g, const struct est_grq *q)
{
	uint64_t load = q->queue.weight > q->queue.load_avg ? q->queue.weight : q->queue.load_avg;
	uint64_t all = (g->load_avg > q->contributes ? g->load_avg - q->contributes : 0) + load;
	uint64_t w = g->shares * load;

	if (all)
		w /= all;
	return w < MIN_SHARES ? MIN_SHARES : w > g->shares ? g->shares : (uint32_t)w;
}

/* A CPU's part of the group's load is told to the others when it has moved by more than a 64th. */
static void tell_load(struct est_group *g, struct est_grq *q)
{
	uint64_t now = q->queue.load_avg, was = q->contributes, by = now > was ? now - was : was - now;

	if (by <= was / 64)
		return;
	g->load_avg = g->load_avg - was + now;
	q->contributes = now;
}

static void weigh(struct wi_estimates *e, struct est_group *g, struct est_grq *q, uint32_t c)
{
	uint32_t w;

	tell_load(g, q);
	if (!q->queue.weight && e->kernel >= KERNEL_6_12) /* keeps its weight when it is left empty */
		return;
	w = entity_weight(g, q);
	if (w != q->entity.weight)
		wi_pelt_reweight(&e->cpu[c].pelt, &q->entity, q->queue.nr > 0, w);
}

/* What tasks brought (their time on a queue, decayed) or took changes how long the entity is taken to have been queued.
 */
static void pass_load_up(struct wi_estimates *e, struct est_grq *q, uint32_t c, bool brought, uint32_t sum)
{
	struct wi_pelt_cpu *root = &e->cpu[c].pelt;
	struct wi_pelt_task *t = &q->entity;
	uint32_t div = wi_pelt_divider(root->contrib), running = t->util_sum / WI_PELT_UNIT, old_avg = t->load_avg;
	uint64_t old_sum = (uint64_t)t->weight * t->load_sum, to = 0;

	if (brought)
		to = (uint64_t)t->load_sum + sum < div ? (uint64_t)t->load_sum + sum : div;
	else if (q->queue.weight)
		to = q->queue.load_sum / q->queue.weight;
	if (!brought && to > t->load_sum)
		to = t->load_sum;
	t->load_sum = (uint32_t)(to > running ? to : running);
	t->load_avg = (uint32_t)((uint64_t)t->weight * t->load_sum / div);
	root->load_avg = root->load_avg + t->load_avg > old_avg ? root->load_avg + t->load_avg - old_avg : 0;
	root->load_sum = root->load_sum + (uint64_t)t->weight * t->load_sum > old_sum
				 ? root->load_sum + (uint64_t)t->weight * t->load_sum - old_sum
				 : 0;
}

static uint64_t less(uint64_t a, uint64_t b)
{
	return a > b ? a - b : 0;
}

static void take_from_root(struct wi_estimates *e, uint32_t c, uint64_t runnable, uint64_t util)
{
	struct wi_pelt_cpu *root = &e->cpu[c].pelt;
	uint64_t div = wi_pelt_divider(root->contrib);

	root->runnable_avg = less(root->runnable_avg, runnable);
	root->runnable_sum = less(root->runnable_sum, runnable * div);
	root->util_avg = less(root->util_avg, util);
	root->util_sum = less(root->util_sum, util * div);
}

/* What left the queue is taken off it as it was then, and off the root as it would be by now. */
static void update_removed(struct wi_estimates *e, struct est_grq *q, uint32_t c, uint64_t now_ns)
{
	struct wi_pelt_cpu kept = q->queue;

	kept.has_removed = false;
	wi_pelt_update_cpu(&kept, now_ns);
	wi_pelt_update_cpu(&q->queue, now_ns);
	take_from_root(e, c, less(kept.runnable_avg, q->queue.runnable_avg), less(kept.util_avg, q->queue.util_avg));
	pass_load_up(e, q, c, false, 0);
}

void est_group_update(struct wi_estimates *e, uint32_t group, uint32_t c, uint64_t now_ns)
{
	struct est_grq *q = est_grq(e, group, c);
	struct est_cpu *cpu = &e->cpu[c];
	bool running = cpu->curr != NONE && e->task[cpu->curr].group == group;

	q->queue.running = running;
	wi_pelt_update_cpu(&cpu->pelt, now_ns);
	wi_pelt_update_task(&q->entity, now_ns, q->queue.nr > 0, running);
	if (q->queue.has_removed)
		update_removed(e, q, c, now_ns);
	else
		wi_pelt_update_cpu(&q->queue, now_ns);
	weigh(e, &e->group[group], q, c);
}

void est_group_attach(struct wi_estimates *e, struct est_task *t, uint32_t c)
{
	struct est_grq *q = est_grq(e, t->group, c);
	struct wi_pelt_cpu *root = &e->cpu[c].pelt;
	uint64_t div = wi_pelt_divider(root->contrib);

	wi_pelt_attach(&q->queue, &t->pelt);
	root->runnable_avg += t->pelt.runnable_avg;
	root->runnable_sum += t->pelt.runnable_avg * div;
	root->util_avg += t->pelt.util_avg;
	root->util_sum += t->pelt.util_avg * div;
	pass_load_up(e, q, c, true, t->pelt.load_sum);
}

void est_group_detach(struct wi_estimates *e, struct est_task *t, uint32_t c)
{
	struct est_grq *q = est_grq(e, t->group, c);

	wi_pelt_detach(&q->queue, &t->pelt);
	take_from_root(e, c, t->pelt.runnable_avg, t->pelt.util_avg);
	pass_load_up(e, q, c, false, 0);
	weigh(e, &e->group[t->group], q, c);
}

static void entity_on_queue(struct wi_pelt_cpu *root, const struct wi_pelt_task *entity, bool on)
{
	uint64_t sum = (uint64_t)entity->weight * entity->load_sum;

	root->weight = on ? root->weight + entity->weight : less(root->weight, entity->weight);
	root->queued_avg = on ? root->queued_avg + entity->load_avg : less(root->queued_avg, entity->load_avg);
	root->queued_sum = on ? root->queued_sum + sum : less(root->queued_sum, sum);
}

void est_group_enqueue(struct wi_estimates *e, struct est_task *t, uint32_t c)
{
	struct est_grq *q = est_grq(e, t->group, c);
	struct wi_pelt_cpu *root = &e->cpu[c].pelt;

	wi_pelt_enqueue(&q->queue, &t->pelt);
	root->nr++;
	root->util_est += wi_pelt_est(&t->pelt);
	if (q->queue.nr == 1)
		entity_on_queue(root, &q->entity, true);
	weigh(e, &e->group[t->group], q, c);
}

void est_group_dequeue(struct wi_estimates *e, struct est_task *t, uint32_t c)
{
	struct est_grq *q = est_grq(e, t->group, c);
	struct wi_pelt_cpu *root = &e->cpu[c].pelt;

	if (q->queue.nr == 1)
		entity_on_queue(root, &q->entity, false);
	wi_pelt_dequeue(&q->queue, &t->pelt);
	root->nr -= root->nr > 0;
	root->util_est = (uint32_t)less(root->util_est, wi_pelt_est(&t->pelt));
	weigh(e, &e->group[t->group], q, c);
}

void est_group_reweight(struct wi_estimates *e, struct est_task *t, uint32_t weight)
{
	struct est_grq *q = est_grq(e, t->group, t->cpu);

	wi_pelt_reweight(&q->queue, &t->pelt, t->queued, weight);
	weigh(e, &e->group[t->group], q, t->cpu);
}

/* The task's load as a part of the root's: what the kernel calls h_load. */
uint64_t est_group_load(struct wi_estimates *e, const struct est_task *t)
{
	const struct est_grq *q;

	if (!t->group)
		return t->pelt.load_avg;
	if (t->cpu == NONE)
		return 0;
	q = est_grq(e, t->group, t->cpu);
	return (uint64_t)t->pelt.load_avg * q->entity.load_avg / (q->queue.load_avg + 1);
}

#define SURE 1.2      /* loads that differ by less foretell nothing */
#define SCORE_TURNS 3 /* twenty to one */
#define SCORE_MAX 10
#define SCORE_STEP 1.5 /* the likelier place is taken eight times of ten */

/* wake_affine's comparison, sync or not: 1 the waker's CPU, -1 the previous one, 0 too close, or it hangs on the sync.
 */
static int compare(uint64_t here, uint64_t there, uint64_t task, uint64_t current)
{
	double with = (double)(here > current ? here - current : 0) + (double)task,
	       without = (double)here + (double)task;
	double prev = there > task ? (double)(there - task) : 0;

	if (without * SURE < prev)
		return 1;
	return with > prev * SURE ? -1 : 0;
}

/* Which way the loads speak when both CPUs are busy and more than the waker is queued on its. */
void est_group_wakeup(struct wi_estimates *e, const struct wakeif_wakeup *w)
{
	uint32_t a = w->waker_cpu, b = w->prev_cpu, n = e->topo->nr_cpus;
	const struct est_task *p = &e->task[w->wakee_task], *cur = &e->task[w->waker_task];
	int grouped, flat;

	e->weighed.task = NONE;
	if (a >= n || b >= n || a == b || e->cpu[a].idle || e->cpu[b].idle || e->cpu[a].pelt.nr < 2 ||
	    e->topo->group[WAKEIF_LLC][a] != e->topo->group[WAKEIF_LLC][b])
		return;
	est_load_sync_cpu(e, a);
	est_load_sync_cpu(e, b);
	grouped =
		compare(e->cpu[a].pelt.load_avg, e->cpu[b].pelt.load_avg, est_group_load(e, p), est_group_load(e, cur));
	flat = compare(e->cpu[a].flat.load_avg, e->cpu[b].flat.load_avg, p->pelt.load_avg, cur->pelt.load_avg);
	if (!grouped || !flat || grouped == flat)
		return;
	e->weighed.task = w->wakee_task;
	e->weighed.waker_cpu = a;
	e->weighed.prev_cpu = b;
	e->weighed.grouped_says_waker = grouped > 0;
}

void est_group_placed(struct wi_estimates *e, const struct wakeif_happening *h)
{
	bool on_waker = h->cpu == e->weighed.waker_cpu;

	if (h->task == e->weighed.task && (on_waker || h->cpu == e->weighed.prev_cpu)) {
		e->group_score += on_waker == e->weighed.grouped_says_waker ? SCORE_STEP : -SCORE_STEP;
		e->group_score = e->group_score > SCORE_MAX    ? SCORE_MAX
				 : e->group_score < -SCORE_MAX ? -SCORE_MAX
							       : e->group_score;
		if (e->group_score > SCORE_TURNS || e->group_score < -SCORE_TURNS)
			e->flat = e->group_score < 0;
	}
	e->weighed.task = NONE;
}

static int by_pid(const void *a, const void *b)
{
	const struct wi_estimates_member *x = a, *y = b;

	return x->pid < y->pid ? -1 : x->pid > y->pid;
}

uint32_t est_group_of(const struct wi_estimates *e, int32_t pid)
{
	struct wi_estimates_member key = { .pid = pid };
	const struct wi_estimates_member *m =
		e->nr_members ? bsearch(&key, e->members, e->nr_members, sizeof(key), by_pid) : NULL;

	return m && m->group <= e->nr_groups ? m->group : e->other_group;
}
