/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdlib.h>
#include <string.h>

#include "models/estimates_priv.h"

#define DEFAULT_HZ 250
#define KERNEL(major, minor) ((uint32_t)(major) << 16 | (uint32_t)(minor) << 8)
#define FEW_JIFFIES 1024 /* a longer gap is not followed jiffy by jiffy: every average has decayed by then */
#define SLOT_STEP 256u
#define MAX_SLOTS (1u << 26)

#define NEEDS_PELT (WAKEIF_NEED_LOAD | WAKEIF_NEED_SCAN_BUDGET | WAKEIF_NEED_RUNNABLE_LOAD | WAKEIF_NEED_OLD_CPU_LOAD)

static uint64_t budget_util(void *ctx, uint32_t c)
{
	struct wi_estimates *e = ctx;

	est_load_sync_cpu(e, c);
	return wi_pelt_cpu_util(&e->cpu[c].pelt);
}

static bool start(struct wi_estimates *e, const struct wi_estimates_opts *o)
{
	struct wi_scan_budget_host host = { .ctx = e, .util = budget_util, .decay = est_load_decay_idle };

	e->cpu = calloc(e->topo->nr_cpus ? e->topo->nr_cpus : 1, sizeof(*e->cpu));
	if (!e->cpu)
		return false;
	for (uint32_t c = 0; c < e->topo->nr_cpus; c++) {
		e->cpu[c].curr = NONE;
		e->cpu[c].avg_idle.avg_ns = WI_AVG_IDLE_MAX_NS;
	}
	if (e->loads && !est_groups_new(e, o))
		return false;
	if (!e->budgets)
		return true;
	e->budget = wi_scan_budget_new(e->topo, e->hz, &host);
	return e->budget != NULL;
}

struct wi_estimates *wi_estimates_new(const struct wi_estimates_opts *o, struct wi_err *err)
{
	struct wi_estimates *e = calloc(1, sizeof(*e));

	if (!e) {
		wi_err_nomem(err);
		return NULL;
	}
	e->topo = o->topology;
	e->needs = o->needs;
	e->kernel = o->kernel_version;
	e->hz = o->hz ? o->hz : DEFAULT_HZ;
	e->seed = o->seed;
	e->caller = o->caller;
	e->flips_from_zero = o->flips_from_zero;
	e->flat = o->nr_groups > 0;
	e->asked.task = e->weighed.task = NONE;
	for (uint32_t c = 0; c < e->topo->nr_cpus; c++)
		if (e->topo->llc_size[c] > e->llc_size)
			e->llc_size = e->topo->llc_size[c];
	e->tick_ns = 1000000000u / e->hz;
	e->loads = o->needs & NEEDS_PELT;
	e->budgets = o->needs & WAKEIF_NEED_SCAN_BUDGET;
	e->est_single = e->kernel >= KERNEL(6, 8);
	e->new_unscaled = e->kernel < KERNEL(6, 10);
	e->members = o->members;
	e->nr_members = o->nr_members;
	e->other_group = o->other_group <= o->nr_groups ? o->other_group : 0;
	if (!start(e, o)) {
		wi_err_nomem(err);
		wi_estimates_free(e);
		return NULL;
	}
	return e;
}

void wi_estimates_free(struct wi_estimates *e)
{
	if (!e)
		return;
	wi_scan_budget_free(e->budget);
	wi_idle_cores_fini(&e->idle_cores);
	est_groups_free(e);
	free(e->cpu);
	free(e->task);
	free(e->flips);
	free(e->flips_reset);
	free(e->lengths);
	free(e->guess);
	free(e);
}

bool wi_estimates_ok(const struct wi_estimates *e, struct wi_err *err)
{
	return !e->failed || wi_err_nomem(err);
}

static bool grow_one(void *array, size_t size, uint32_t from, uint32_t to)
{
	void **p = array;
	char *bigger = realloc(*p, to * size);

	if (!bigger)
		return false;
	memset(bigger + from * size, 0, (to - from) * size);
	*p = bigger;
	return true;
}

static bool grow(struct wi_estimates *e, uint32_t slot)
{
	uint32_t to = slot + slot / 2 + SLOT_STEP, from = e->nr_slots;

	if (slot >= MAX_SLOTS || !grow_one(&e->task, sizeof(*e->task), from, to) ||
	    ((e->needs & WAKEIF_NEED_FLIPS) && !grow_one(&e->flips, sizeof(*e->flips), from, to)) ||
	    ((e->needs & WAKEIF_NEED_FLIPS_RESET) && !grow_one(&e->flips_reset, sizeof(*e->flips_reset), from, to)) ||
	    ((e->needs & (WAKEIF_NEED_RUN_LENGTH | WAKEIF_NEED_AVG_OVERLAP)) &&
	     !grow_one(&e->lengths, sizeof(*e->lengths), from, to))) {
		e->failed = true;
		return false;
	}
	e->nr_slots = to;
	return true;
}

static void begin(struct wi_estimates *e, uint32_t slot)
{
	struct est_task *t = &e->task[slot];

	*t = (struct est_task){ .id = ++e->next_id, .cpu = NONE, .on_cpu = NONE, .seen_ns = e->now_ns, .fair = true };
	t->pelt.weight = WI_PELT_WEIGHT_NICE0;
	est_flips_begin(e, slot);
	if (e->lengths)
		e->lengths[slot] = (struct wi_lengths){ 0 };
}

struct est_task *est_task_make(struct wi_estimates *e, uint32_t slot)
{
	if (slot == WAKEIF_TASK_NONE || (slot >= e->nr_slots && !grow(e, slot)))
		return NULL;
	if (!e->task[slot].id)
		begin(e, slot);
	return &e->task[slot];
}

/* A task that is born takes after its parent. */
static void inherit(struct wi_estimates *e, uint32_t slot, uint32_t parent)
{
	if (!est_task(e, parent) || !est_task(e, slot))
		return;
	e->task[slot].group = e->task[parent].group;
	if (e->flips)
		e->flips[slot] = e->flips[parent];
	if (e->flips_reset)
		e->flips_reset[slot] = e->flips_reset[parent];
}

/* The slot stands for another task from now on, or for none. */
static void forget_task(struct wi_estimates *e, uint32_t slot)
{
	struct est_task *t = &e->task[slot];

	if (e->loads)
		est_load_forget(e, slot);
	if (e->budget && t->on_cpu != NONE)
		wi_scan_budget_queue(e->budget, t->on_cpu, -1);
	t->on_cpu = NONE;
	t->id = 0;
}

static void task_began(struct wi_estimates *e, const struct wakeif_happening *h)
{
	struct est_task *t = est_task(e, h->task);

	if (!t)
		return;
	forget_task(e, h->task);
	begin(e, h->task);
	t->born = h->flags & WAKEIF_EV_NEW;
	if (h->other != WAKEIF_TASK_NONE)
		inherit(e, h->task, h->other);
	else if (e->nr_groups)
		e->task[h->task].group = est_group_of(e, h->pid);
}

/* Long gaps are jumped over. */
static void next_jiffies(struct wi_estimates *e)
{
	uint64_t jiffy = e->now_ns / e->tick_ns;

	if (jiffy > e->jiffy + FEW_JIFFIES)
		e->jiffy = jiffy - FEW_JIFFIES;
	while (e->jiffy < jiffy) {
		e->jiffy++;
		e->jiffy_ns = e->jiffy * e->tick_ns;
		if (e->budget)
			wi_scan_budget_tick(e->budget, e->jiffy, e->jiffy_ns);
		else
			e->jiffy = jiffy;
	}
	e->jiffy_ns = e->jiffy * e->tick_ns;
}

static void start_time(struct wi_estimates *e)
{
	e->started = true;
	e->first_ns = e->now_ns;
	e->jiffy = e->now_ns / e->tick_ns;
	e->jiffy_ns = e->jiffy * e->tick_ns;
	for (uint32_t c = 0; c < e->topo->nr_cpus; c++) {
		e->cpu[c].pelt.last_ns = e->cpu[c].flat.last_ns = e->now_ns;
		e->cpu[c].old_jiffy = e->jiffy;
	}
	est_groups_start(e);
}

static inline void set_time(struct wi_estimates *e, uint64_t now_ns)
{
	if (now_ns > e->now_ns)
		e->now_ns = now_ns;
	if (__builtin_expect(!e->started, 0))
		start_time(e);
	if (__builtin_expect(e->now_ns >= e->jiffy_ns + e->tick_ns, 0))
		next_jiffies(e);
}

static uint32_t answer_bucket(uint64_t ns)
{
	uint32_t octave = ns > 3 ? 63 - (uint32_t)__builtin_clzll(ns) : 2;

	return 4 * octave + ((uint32_t)(ns >> (octave - 2)) & 3);
}

/* Upper end of a bucket. */
static uint64_t bucket_ns(uint32_t b)
{
	return (uint64_t)(4 + b % 4 + 1) << (b / 4 - 2);
}

static void answered(struct est_answers *a, uint64_t ns)
{
	uint64_t above = 0;
	uint32_t b = 4 * 64;

	a->count[answer_bucket(ns)]++;
	if (++a->nr > 64 && a->nr % 64)
		return;
	while (b > 8 && above * 20 <= a->nr)
		above += a->count[--b];
	a->late_ns = bucket_ns(b);
}

/* The first wakeup that was sent to a CPU in its idle time is answered by the end of that. */
static void placed(struct wi_estimates *e, const struct wakeif_happening *h)
{
	if (h->cpu < e->topo->nr_cpus && e->cpu[h->cpu].idle && !e->cpu[h->cpu].placed_ns)
		e->cpu[h->cpu].placed_ns = h->now_ns;
}

static void cpu_idles(struct wi_estimates *e, uint32_t c, bool idle)
{
	if (c >= e->topo->nr_cpus)
		return;
	if (!idle && e->cpu[c].idle && e->cpu[c].placed_ns)
		answered(&e->answers, e->now_ns - e->cpu[c].placed_ns);
	e->cpu[c].placed_ns = 0;
	e->cpu[c].idle = idle;
	if (idle)
		e->cpu[c].avg_idle.idle_ns = e->now_ns;
	if (e->budget)
		wi_scan_budget_idle(e->budget, c, idle);
}

/* A wakeup ends an idle time; what load balancing brings ends it, too, but does not count. */
static void idle_ends(struct wi_estimates *e, const struct wakeif_happening *h)
{
	if (h->cpu >= e->topo->nr_cpus)
		return;
	if (h->type == WAKEIF_TASK_ENQUEUED && !(h->flags & WAKEIF_EV_NEW))
		wi_avg_idle_wakeup(&e->cpu[h->cpu].avg_idle, h->now_ns);
	else if (h->type == WAKEIF_TASK_MOVED && !(h->flags & WAKEIF_EV_WAKING))
		e->cpu[h->cpu].avg_idle.idle_ns = 0;
}

static void lengths_happened(struct wi_estimates *e, const struct wakeif_happening *h)
{
	struct wi_lengths *l;

	if (!est_task(e, h->task))
		return;
	l = &e->lengths[h->task];
	switch (h->type) {
	case WAKEIF_TASK_ENQUEUED:
		wi_lengths_woken(l, h->now_ns);
		break;
	case WAKEIF_TASK_RUNS:
		wi_lengths_runs(l, h->now_ns);
		break;
	case WAKEIF_TASK_PREEMPTED:
		wi_lengths_stops(l, h->now_ns, false);
		break;
	case WAKEIF_TASK_SLEEPS:
		wi_lengths_stops(l, h->now_ns, true);
		break;
	case WAKEIF_TASK_LOST:
		wi_lengths_forget(l);
		break;
	default:
		break;
	}
}

/* Queue lengths of all classes, for who kicks whom. */
static void count_queue(struct wi_estimates *e, struct est_task *t, uint32_t c)
{
	if (t->on_cpu == c)
		return;
	if (t->on_cpu != NONE)
		wi_scan_budget_queue(e->budget, t->on_cpu, -1);
	if (c != NONE)
		wi_scan_budget_queue(e->budget, c, 1);
	t->on_cpu = c;
}

static void budget_happened(struct wi_estimates *e, const struct wakeif_happening *h)
{
	uint32_t n = e->topo->nr_cpus, c = h->cpu < n ? h->cpu : NONE;
	struct est_task *t = est_task(e, h->task);

	if (!t)
		return;
	switch (h->type) {
	case WAKEIF_TASK_ENQUEUED:
	case WAKEIF_TASK_RUNS:
		count_queue(e, t, c);
		break;
	case WAKEIF_TASK_SLEEPS:
	case WAKEIF_TASK_LOST:
		count_queue(e, t, NONE);
		break;
	case WAKEIF_TASK_MOVED:
		if (t->on_cpu == NONE)
			break;
		count_queue(e, t, c);
		if (c != NONE && h->other < n)
			wi_scan_budget_pulled(e->budget, c, h->other);
		break;
	default:
		break;
	}
}

void wi_estimates_happened(struct wi_estimates *e, const struct wakeif_happening *h)
{
	set_time(e, h->now_ns);
	if (e->idle_cores.times)
		wi_idle_cores_happened(&e->idle_cores, h);
	switch (h->type) {
	case WAKEIF_TASK_BEGAN:
		task_began(e, h);
		return;
	case WAKEIF_CPU_IDLES:
		cpu_idles(e, h->cpu, true);
		return;
	case WAKEIF_CPU_WAKES:
	case WAKEIF_CPU_LOST:
		cpu_idles(e, h->cpu, false);
		return;
	case WAKEIF_TICK:
		e->ticks_recorded = true;
		if (e->loads && h->cpu < e->topo->nr_cpus)
			est_load_tick(e, h->cpu);
		return;
	case WAKEIF_PLACED:
		placed(e, h);
		est_flips_placed(e, h);
		if (e->nr_groups)
			est_group_placed(e, h);
		return;
	default:
		break;
	}
	if (h->type == WAKEIF_TASK_ENDED) {
		if (h->task < e->nr_slots && e->task[h->task].id)
			forget_task(e, h->task);
		return;
	}
	idle_ends(e, h);
	if (e->budget)
		budget_happened(e, h);
	if (e->loads)
		est_load_happened(e, h);
	if (e->lengths)
		lengths_happened(e, h);
}

void wi_estimates_wakeup(struct wi_estimates *e, const struct wakeif_wakeup *w)
{
	struct est_task *waker, *wakee;

	set_time(e, w->now_ns);
	waker = est_task(e, w->waker_task);
	wakee = est_task(e, w->wakee_task);
	if (!waker || !wakee)
		return;
	wakee = &e->task[w->wakee_task]; /* the array may have moved */
	if (w->class_ == WAKEIF_SELECT)
		est_flips_wakeup(e, w);
	if (w->class_ == WAKEIF_SELECT && e->nr_groups)
		est_group_wakeup(e, w);
	if (e->lengths && w->context == WAKEIF_CTX_TASK)
		wi_lengths_wakes_other(&e->lengths[w->waker_task], e->now_ns);
}

void wi_estimates_look(struct wi_estimates *e, const struct wakeif_view *v)
{
	if (e->idle_cores.times)
		wi_idle_cores_look(&e->idle_cores, v->idle);
}

bool wi_estimates_grouped(const struct wi_estimates *e)
{
	return e->nr_groups && !e->flat;
}

uint64_t wi_estimates_age_ns(const struct wi_estimates *e)
{
	return e->now_ns - e->first_ns;
}

uint64_t wi_estimates_task_age_ns(const struct wi_estimates *e, uint32_t slot)
{
	if (slot >= e->nr_slots || !e->task[slot].id)
		return 0;
	return e->task[slot].born ? UINT64_MAX : e->now_ns - e->task[slot].seen_ns;
}

void *wi_estimates_caller(void *host_ctx)
{
	return ((struct wi_estimates *)host_ctx)->caller;
}

/* struct wakeif_host */

static struct est_cpu *cpu_up_to_tick(struct wi_estimates *e, uint32_t c)
{
	if (c >= e->topo->nr_cpus)
		return NULL;
	est_load_sync_cpu(e, c);
	return &e->cpu[c];
}

static struct est_task *task_up_to_tick(struct wi_estimates *e, uint32_t slot)
{
	if (slot >= e->nr_slots || !e->task[slot].id)
		return NULL;
	est_load_sync_task(e, &e->task[slot]);
	return &e->task[slot];
}

uint64_t est_host_cpu_load(void *ctx, uint32_t c)
{
	struct est_cpu *cpu = cpu_up_to_tick(ctx, c);

	return !cpu ? 0 : ((struct wi_estimates *)ctx)->flat ? cpu->flat.load_avg : cpu->pelt.load_avg;
}

static uint64_t host_cpu_util(void *ctx, uint32_t c)
{
	struct est_cpu *cpu = cpu_up_to_tick(ctx, c);

	return cpu ? wi_pelt_cpu_util(&cpu->pelt) : 0;
}

static uint64_t host_cpu_runnable(void *ctx, uint32_t c)
{
	struct est_cpu *cpu = cpu_up_to_tick(ctx, c);

	return cpu ? cpu->pelt.runnable_avg : 0;
}

uint64_t est_host_task_load(void *ctx, uint32_t slot)
{
	struct est_task *t = task_up_to_tick(ctx, slot);

	return !t ? 0 : t->group && !((struct wi_estimates *)ctx)->flat ? est_group_load(ctx, t) : t->pelt.load_avg;
}

static uint64_t host_task_util(void *ctx, uint32_t slot)
{
	struct est_task *t = task_up_to_tick(ctx, slot);
	uint32_t est;

	if (!t)
		return 0;
	est = wi_pelt_est(&t->pelt);
	return t->pelt.util_avg > est ? t->pelt.util_avg : est;
}

static uint32_t host_flips(void *ctx, uint32_t slot)
{
	struct wi_estimates *e = ctx;

	return est_flips(e, e->flips, slot);
}

static uint32_t host_flips_reset(void *ctx, uint32_t slot)
{
	struct wi_estimates *e = ctx;

	return est_flips(e, e->flips_reset, slot);
}

static uint32_t host_scan_budget(void *ctx, uint32_t llc, uint32_t *min, uint32_t *max)
{
	struct wi_estimates *e = ctx;
	uint32_t lo = 0, hi = 0, v = e->budget ? wi_scan_budget_get(e->budget, llc, &lo, &hi) : 0;

	if (min)
		*min = lo;
	if (max)
		*max = hi;
	return v;
}

static uint64_t host_runnable_load(void *ctx, uint32_t c)
{
	struct est_cpu *cpu = cpu_up_to_tick(ctx, c);

	return !cpu ? 0 : ((struct wi_estimates *)ctx)->flat ? cpu->flat.queued_avg : cpu->pelt.queued_avg;
}

static uint64_t host_queue_weight(void *ctx, uint32_t c)
{
	struct wi_estimates *e = ctx;

	return c >= e->topo->nr_cpus ? 0 : e->flat ? e->cpu[c].flat.weight : e->cpu[c].pelt.weight;
}

static uint64_t host_old_cpu_load(void *ctx, uint32_t c, uint32_t idx)
{
	struct wi_estimates *e = ctx;

	if (c >= e->topo->nr_cpus || idx >= NR_OLD_LOADS || !(e->needs & WAKEIF_NEED_OLD_CPU_LOAD))
		return 0;
	est_old_load_sync(e, c);
	return e->cpu[c].old_load[idx];
}

static uint64_t host_avg_idle(void *ctx, uint32_t c)
{
	struct wi_estimates *e = ctx;

	return c < e->topo->nr_cpus ? e->cpu[c].avg_idle.avg_ns : 0;
}

static const struct wi_lengths *lengths_of(const struct wi_estimates *e, uint32_t slot)
{
	return e->lengths && slot < e->nr_slots ? &e->lengths[slot] : NULL;
}

static uint64_t host_avg_overlap(void *ctx, uint32_t slot)
{
	const struct wi_lengths *l = lengths_of(ctx, slot);

	return l ? l->overlap_avg_ns : 0;
}

static uint64_t host_run_avg(void *ctx, uint32_t slot)
{
	const struct wi_lengths *l = lengths_of(ctx, slot);

	return l ? l->run_avg_ns : 0;
}

static uint64_t host_sleep_avg(void *ctx, uint32_t slot)
{
	const struct wi_lengths *l = lengths_of(ctx, slot);

	return l ? l->sleep_avg_ns : 0;
}

/* Kept from the first question on, which models that want to know ask when they begin. */
static uint64_t host_cores_idled(void *ctx, uint32_t c)
{
	struct wi_estimates *e = ctx;

	if (!e->idle_cores.times && !wi_idle_cores_init(&e->idle_cores, e->topo)) {
		e->failed = true;
		return 0;
	}
	return c < e->topo->nr_cpus ? wi_idle_cores_times(&e->idle_cores, c) : 0;
}

void wi_estimates_host(struct wi_estimates *e, struct wakeif_host *h)
{
	h->size = sizeof(*h);
	h->kernel_version = e->kernel;
	h->hz = e->hz;
	h->seed = e->seed;
	h->topology = e->topo;
	h->ctx = e;
	h->cpu_load = est_host_cpu_load;
	h->cpu_util = host_cpu_util;
	h->cpu_runnable = host_cpu_runnable;
	h->task_load = est_host_task_load;
	h->task_util = host_task_util;
	h->wakee_flips = host_flips;
	h->wakee_flips_reset = host_flips_reset;
	h->scan_budget = host_scan_budget;
	h->runnable_load = host_runnable_load;
	h->queue_weight = host_queue_weight;
	h->old_cpu_load = host_old_cpu_load;
	h->avg_idle_ns = host_avg_idle;
	h->avg_overlap_ns = host_avg_overlap;
	h->run_avg_ns = host_run_avg;
	h->sleep_avg_ns = host_sleep_avg;
	h->cores_idled = host_cores_idled;
}

void wi_estimates_host_for(struct wi_estimates *e, uint32_t needs, struct wakeif_host *h)
{
	(void)needs; /* every estimate has a function of its own: nothing to choose between */
	wi_estimates_host(e, h);
}
