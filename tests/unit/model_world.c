/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tests/unit/model_world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analyzer/base/cpumask.h"

#define NONE UINT32_MAX

struct a_task {
	uint32_t cpu; /* where it is queued, or was last */
	bool queued, runs;
};

struct a_cpu {
	uint32_t nr, curr; /* queued tasks of these; the running one, NONE: idle */
	bool unknown, pending;
	uint64_t idle_since_ns;
};

struct world {
	const struct wakeif_topology *topo;
	struct world_opts o;
	uint64_t rng, now_ns;
	uint32_t n, nr_tasks, wakes;
	struct a_task *task;
	struct a_cpu *cpu;
	struct { /* of the wakeup, CPUs as the run numbers them */
		uint32_t prev, waker;
		wakeif_word *allowed;
		struct wakeif_wakeup pub;
	} now;
};

struct observer {
	struct world *w;
	const struct wakeif_model_ops *ops;
	void *model;
	uint32_t *number, *cpu_of; /* run -> observer, observer -> run */
	struct wakeif_host host;
	wakeif_word *idle, *unknown, *pending, *sched_idle, *allowed;
	struct wakeif_cpu *cpu;
	struct wakeif_view view;
	struct wakeif_wakeup wakeup;
};

static void *room(size_t nr, size_t size)
{
	void *p = calloc(nr ? nr : 1, size);

	assert_non_null(p);
	return p;
}

static uint64_t lot(struct world *w, uint64_t below)
{
	w->rng ^= w->rng << 13;
	w->rng ^= w->rng >> 7;
	w->rng ^= w->rng << 17;
	return below ? (w->rng * 0x9e3779b97f4a7c15ull >> 20) % below : 0;
}

/* A value that belongs to a thing and changes every now and then. */
static uint64_t value_of(const struct world *w, uint64_t kind, uint64_t which)
{
	uint64_t x = (w->o.seed + 1) * 0x9e3779b97f4a7c15ull ^ kind << 56 ^ which << 24 ^ w->now_ns / 3000000;

	x = (x ^ x >> 31) * 0xbf58476d1ce4e5b9ull;
	x = (x ^ x >> 27) * 0x94d049bb133111ebull;
	return x ^ x >> 32;
}

/* ---- what models are told ---- */

static uint64_t of_cpu(const struct observer *o, uint64_t kind, uint32_t cpu, uint64_t most)
{
	uint32_t c = o->cpu_of[cpu];
	uint64_t v = value_of(o->w, kind, c) % most;

	return o->w->o.no_ties ? (v / o->w->n + 1) * o->w->n + c : v; /* no two alike */
}

static uint64_t of_task(const struct observer *o, uint64_t kind, uint32_t slot, uint64_t most)
{
	return value_of(o->w, kind, slot < o->w->n ? 1u << 20 : slot) % most;
}

#define OF_CPU(name, kind, most)                                                                                       \
	static uint64_t name(void *ctx, uint32_t cpu)                                                                  \
	{                                                                                                              \
		return of_cpu(ctx, kind, cpu, most);                                                                   \
	}
#define OF_TASK(name, kind, most)                                                                                      \
	static uint64_t name(void *ctx, uint32_t slot)                                                                 \
	{                                                                                                              \
		return of_task(ctx, kind, slot, most);                                                                 \
	}
OF_CPU(cpu_load, 1, 9000)
OF_CPU(cpu_util, 2, 1024)
OF_CPU(cpu_runnable, 3, 3000)
OF_CPU(runnable_load, 4, 9000)
OF_CPU(queue_weight, 5, 9000)
OF_CPU(avg_idle, 6, 2000000)
OF_TASK(task_load, 7, 2048)
OF_TASK(task_util, 8, 1024)
OF_TASK(overlap, 9, 1000000)
OF_TASK(run_avg, 10, 2000000)
OF_TASK(sleep_avg, 11, 2000000)

static uint64_t old_cpu_load(void *ctx, uint32_t cpu, uint32_t idx)
{
	return of_cpu(ctx, 12 + idx, cpu, 9000);
}

static uint32_t flips(void *ctx, uint32_t slot)
{
	return (uint32_t)of_task(ctx, 20, slot, 40);
}

static uint32_t cookie(void *ctx, uint32_t slot)
{
	return (uint32_t)of_task(ctx, 21, slot, 3);
}

static uint32_t scan_budget(void *ctx, uint32_t llc, uint32_t *min, uint32_t *max)
{
	struct observer *o = ctx;
	uint32_t first = wi_mask_next(o->w->topo->span[WAKEIF_LLC][llc], o->w->topo->nr_words, 0);
	uint32_t n = o->w->o.no_ties
			     ? 4096
			     : (uint32_t)(value_of(o->w, 22, o->w->topo->group[WAKEIF_LLC][o->cpu_of[first]]) % 12);

	*min = n > 2 ? n - 2 : 0;
	*max = n + 2;
	return n;
}

static void say(void *ctx, const char *reason)
{
	(void)ctx;
	fail_msg("%s", reason);
}

static void mark(wakeif_word *m, uint32_t cpu, bool set)
{
	if (set)
		wi_mask_set(m, cpu);
	else
		wi_mask_clear(m, cpu);
}

static void show(struct observer *o)
{
	struct world *w = o->w;

	for (uint32_t c = 0; c < w->n; c++) {
		uint32_t as = o->number[c];
		const struct a_cpu *cpu = &w->cpu[c];
		bool idle = !cpu->unknown && cpu->curr == NONE && !cpu->nr && wi_mask_test(w->topo->online, c);

		mark(o->idle, as, idle);
		mark(o->unknown, as, cpu->unknown);
		mark(o->pending, as, cpu->pending);
		o->cpu[as] = (struct wakeif_cpu){ .nr_running = cpu->unknown ? 0 : cpu->nr,
						  .nr_cfs = cpu->unknown ? 0 : cpu->nr,
						  .curr_pid = cpu->unknown	  ? -1
							      : cpu->curr == NONE ? 0
										  : 100 + (int)cpu->curr,
						  .curr_prio = cpu->curr == NONE ? 140 : 120,
						  .highest_rt_prio = 100,
						  .idle_since_ns = cpu->idle_since_ns };
	}
	o->view.now_ns = w->now_ns;
}

static void tell(struct world *w, struct observer *const *o, int nr, uint8_t type, uint32_t task, uint32_t cpu,
		 uint32_t other)
{
	for (int i = 0; i < nr; i++) {
		bool other_is_cpu = type == WAKEIF_PLACED || type == WAKEIF_TASK_MOVED;
		uint32_t slot = task == NONE ? NONE : task + w->n;
		struct wakeif_happening h = { .size = sizeof(h),
					      .type = type,
					      .prio = 120,
					      .now_ns = w->now_ns,
					      .cpu = cpu == NONE ? NONE : o[i]->number[cpu],
					      .other = other_is_cpu && other != NONE ? o[i]->number[other] : other,
					      .pid = task == NONE ? 0 : 100 + (int)task };

		if (type == WAKEIF_CPU_IDLES || type == WAKEIF_CPU_WAKES)
			slot = o[i]->number[cpu];
		h.task = slot;
		if (o[i]->ops->observe)
			o[i]->ops->observe(o[i]->model, &h);
	}
}

/* ---- the run ---- */

static void run_someone(struct world *w, struct observer *const *o, int nr, uint32_t cpu)
{
	struct a_cpu *c = &w->cpu[cpu];

	for (uint32_t t = 0; c->curr == NONE && t < w->nr_tasks; t++)
		if (w->task[t].queued && w->task[t].cpu == cpu && !w->task[t].runs) {
			c->curr = t;
			w->task[t].runs = true;
			tell(w, o, nr, WAKEIF_TASK_RUNS, t, cpu, NONE);
		}
	if (c->curr == NONE) {
		c->idle_since_ns = w->now_ns;
		tell(w, o, nr, WAKEIF_CPU_IDLES, NONE, cpu, NONE);
	}
}

static void stop_running(struct world *w, struct observer *const *o, int nr, uint32_t cpu, bool sleeps)
{
	struct a_cpu *c = &w->cpu[cpu];
	uint32_t t = c->curr;

	if (t == NONE || (sleeps && w->o.no_ties && c->nr == 1 && lot(w, 4)))
		return;
	c->curr = NONE;
	w->task[t].runs = false;
	if (sleeps) {
		w->task[t].queued = false;
		c->nr--;
	}
	tell(w, o, nr, sleeps ? WAKEIF_TASK_SLEEPS : WAKEIF_TASK_PREEMPTED, t, cpu, NONE);
	run_someone(w, o, nr, cpu);
}

static void queue(struct world *w, struct observer *const *o, int nr, uint32_t t, uint32_t cpu)
{
	bool was_idle = w->cpu[cpu].curr == NONE;

	w->task[t].queued = true;
	w->task[t].cpu = cpu;
	w->cpu[cpu].nr++;
	tell(w, o, nr, WAKEIF_TASK_ENQUEUED, t, cpu, NONE);
	if (was_idle) {
		w->cpu[cpu].idle_since_ns = w->now_ns;
		tell(w, o, nr, WAKEIF_CPU_WAKES, NONE, cpu, NONE);
		run_someone(w, o, nr, cpu);
	}
}

static uint32_t any_cpu(struct world *w, bool online)
{
	uint32_t c;

	do
		c = (uint32_t)lot(w, w->n);
	while (online && !wi_mask_test(w->topo->online, c));
	return c;
}

struct world *world_new(const struct wakeif_topology *topo, const struct world_opts *o, uint32_t nr_tasks)
{
	struct world *w = room(1, sizeof(*w));

	*w = (struct world){ .topo = topo,
			     .o = *o,
			     .rng = o->seed * 2 + 88172645463325252ull,
			     .now_ns = 1000000000,
			     .n = topo->nr_cpus,
			     .nr_tasks = nr_tasks };
	w->task = room(nr_tasks, sizeof(*w->task));
	w->cpu = room(w->n, sizeof(*w->cpu));
	w->now.allowed = room(topo->nr_words, sizeof(*w->now.allowed));
	for (uint32_t c = 0; c < w->n; c++)
		w->cpu[c] = (struct a_cpu){ .curr = NONE,
					    .unknown = o->all_unknown || !wi_mask_test(topo->online, c),
					    .idle_since_ns = w->now_ns - c };
	for (uint32_t t = 0; t < nr_tasks; t++)
		w->task[t].cpu = any_cpu(w, true);
	return w;
}

void world_free(struct world *w)
{
	free(w->task);
	free(w->cpu);
	free(w->now.allowed);
	free(w);
}

static void something(struct world *w, struct observer *const *o, int nr)
{
	uint32_t cpu = any_cpu(w, true);

	switch (lot(w, w->o.unknowns ? 8 : 6)) {
	case 0:
	case 1:
		stop_running(w, o, nr, cpu, true);
		break;
	case 2:
		stop_running(w, o, nr, cpu, false);
		break;
	case 3:
		tell(w, o, nr, WAKEIF_TICK, NONE, cpu, NONE);
		break;
	case 4:
		if (!w->o.no_ties)
			w->cpu[cpu].pending = !w->cpu[cpu].pending;
		break;
	case 6:
		w->cpu[cpu].unknown = true;
		tell(w, o, nr, WAKEIF_CPU_LOST, NONE, cpu, NONE);
		break;
	case 7:
		w->cpu[cpu].unknown = w->o.all_unknown;
		break;
	default:
		break;
	}
}

static bool ties(const struct world *w)
{
	uint32_t idle = 0;

	for (uint32_t a = 0; a < w->n; a++) {
		idle += !w->cpu[a].nr;
		for (uint32_t b = 0; b < a; b++)
			if (w->cpu[a].nr && w->cpu[a].nr == w->cpu[b].nr)
				return true;
	}
	return idle > 1;
}

/* Only counts are changed: what was told of tasks stays as it was. */
static void break_ties(struct world *w)
{
	uint32_t idle = lot(w, 3) ? (uint32_t)lot(w, w->n) : NONE;

	if (!ties(w))
		return;
	for (uint32_t c = 0; c < w->n; c++)
		w->cpu[c].nr = c == idle ? 0 : 1 + (c * 7 + (uint32_t)(w->now_ns / 1000)) % 1009;
	for (uint32_t c = 0; c < w->n; c++)
		if (c == idle && w->cpu[c].curr != NONE) {
			w->task[w->cpu[c].curr].runs = w->task[w->cpu[c].curr].queued = false;
			w->cpu[c].curr = NONE;
		}
}

static void choose_allowed(struct world *w)
{
	wakeif_word *a = w->now.allowed;
	uint32_t words = w->topo->nr_words, how = (uint32_t)lot(w, 4);

	memcpy(a, w->topo->online, words * sizeof(*a));
	if (w->o.pinned || (w->o.narrow && how == 0)) {
		memset(a, 0, words * sizeof(*a));
		wi_mask_set(a, any_cpu(w, true));
	} else if (w->o.narrow && how < 3) {
		memset(a, 0, words * sizeof(*a));
		for (uint32_t c = 0; c < w->n; c++)
			if (lot(w, how + 1) == 0)
				wi_mask_set(a, c);
		wi_mask_set(a, any_cpu(w, true));
	}
}

static void wakeup(struct world *w, uint32_t t)
{
	static const uint8_t policy[] = { WAKEIF_POLICY_NORMAL, WAKEIF_POLICY_NORMAL, WAKEIF_POLICY_BATCH,
					  WAKEIF_POLICY_IDLE, WAKEIF_POLICY_UNKNOWN };
	struct wakeif_wakeup *p = &w->now.pub;
	uint32_t kind = w->o.classes ? (uint32_t)lot(w, 8) : 7;
	bool strange = w->o.strange && !lot(w, 3), no_waker = w->o.unknowns && !lot(w, 4);

	w->now.waker = any_cpu(w, !strange);
	w->now.prev = strange ? any_cpu(w, false) : w->task[t].cpu;
	choose_allowed(w);
	if (!w->o.pinned && lot(w, 4))
		wi_mask_set(w->now.allowed, w->now.prev);
	uint32_t curr = w->cpu[w->now.waker].curr;

	*p = (struct wakeif_wakeup){ .size = sizeof(*p),
				     .now_ns = w->now_ns,
				     .wake_ns = w->now_ns - lot(w, 3000),
				     .pid = 100 + (int)t,
				     .prio = (int16_t)(lot(w, 3) ? 120 : 100 + lot(w, 40)),
				     .policy = policy[lot(w, 5)],
				     .context = (uint8_t)lot(w, WAKEIF_NR_CONTEXTS),
				     .waker_pid = no_waker	 ? -1
						  : curr == NONE ? 0
								 : 100 + (int)curr,
				     .wake_flags = kind == 0   ? WAKEIF_WF_FORK
						   : kind == 1 ? WAKEIF_WF_EXEC
							       : WAKEIF_WF_TTWU,
				     .wake_flags_known = ~0u,
				     .slept_ns = w->o.unknowns && !lot(w, 3) ? UINT64_MAX : lot(w, 3000000),
				     .allowed_source = (uint8_t)(w->o.narrow ? WAKEIF_ALLOWED_RECORDED
									     : lot(w, WAKEIF_NR_ALLOWED_SOURCES)),
				     .class_ = kind == 0   ? WAKEIF_FORK
					       : kind == 1 ? WAKEIF_EXEC
							   : WAKEIF_SELECT,
				     .waker_stalled = !lot(w, 8),
				     .waker_exiting = !lot(w, 16),
				     .waker_pinned = !lot(w, 8),
				     .wakee_task = t + w->n,
				     .waker_task = curr == NONE ? w->now.waker : curr + w->n };
	if (no_waker)
		p->waker_task = WAKEIF_TASK_NONE;
	if (lot(w, 2))
		p->wake_flags |= WAKEIF_WF_SYNC;
	if (w->o.unknowns && lot(w, 2)) {
		p->wake_flags_known &= ~(uint32_t)WAKEIF_WF_SYNC;
		p->wake_flags &= ~(uint32_t)WAKEIF_WF_SYNC;
	}
}

void world_run(struct world *w, struct observer *const *o, int nr)
{
	uint32_t t = NONE;

	for (uint64_t left = lot(w, 6);; left -= left > 0) {
		w->now_ns += 1000 + lot(w, 200000);
		if (left || (t = (uint32_t)lot(w, w->nr_tasks), w->task[t].queued))
			something(w, o, nr);
		else
			break;
	}
	if (w->o.no_ties)
		break_ties(w);
	w->wakes = t;
	wakeup(w, t);
	for (int i = 0; i < nr; i++) {
		show(o[i]);
		o[i]->wakeup = w->now.pub;
		o[i]->wakeup.prev_cpu = o[i]->number[w->now.prev];
		o[i]->wakeup.waker_cpu = o[i]->number[w->now.waker];
		o[i]->wakeup.allowed = o[i]->allowed;
		if (w->now.pub.waker_task < w->n)
			o[i]->wakeup.waker_task = o[i]->number[w->now.pub.waker_task];
		for (uint32_t c = 0; c < w->n; c++)
			mark(o[i]->allowed, o[i]->number[c], wi_mask_test(w->now.allowed, c));
	}
}

void world_place(struct world *w, struct observer *const *o, int nr, uint32_t cpu)
{
	tell(w, o, nr, WAKEIF_PLACED, w->wakes, cpu, w->now.prev);
	queue(w, o, nr, w->wakes, cpu);
}

/* ---- observers ---- */

struct observer *observer_new(struct world *w, const struct wakeif_model_ops *ops, const int64_t *values,
			      const uint32_t *number)
{
	struct observer *o = room(1, sizeof(*o));
	uint32_t words = w->topo->nr_words;

	o->w = w;
	o->ops = ops;
	o->number = room(w->n, sizeof(*o->number));
	o->cpu_of = room(w->n, sizeof(*o->cpu_of));
	for (uint32_t c = 0; c < w->n; c++) {
		o->number[c] = number ? number[c] : c;
		o->cpu_of[o->number[c]] = c;
	}
	o->idle = room(words, 8);
	o->unknown = room(words, 8);
	o->pending = room(words, 8);
	o->sched_idle = room(words, 8);
	o->allowed = room(words, 8);
	o->cpu = room(w->n, sizeof(*o->cpu));
	o->view = (struct wakeif_view){ .size = sizeof(o->view),
					.topology = w->topo,
					.idle = o->idle,
					.unknown = o->unknown,
					.pending = o->pending,
					.sched_idle_only = o->sched_idle,
					.cpu = o->cpu };
	o->host = (struct wakeif_host){ .size = sizeof(o->host),
					.kernel_version = 6u << 16 | 1u << 8,
					.hz = 250,
					.nr_idle_states = 2,
					.seed = 1,
					.topology = w->topo,
					.ctx = o,
					.cpu_load = cpu_load,
					.cpu_util = cpu_util,
					.cpu_runnable = cpu_runnable,
					.task_load = task_load,
					.task_util = task_util,
					.wakee_flips = flips,
					.wakee_flips_reset = flips,
					.scan_budget = scan_budget,
					.runnable_load = runnable_load,
					.queue_weight = queue_weight,
					.old_cpu_load = old_cpu_load,
					.avg_idle_ns = avg_idle,
					.avg_overlap_ns = overlap,
					.run_avg_ns = run_avg,
					.sleep_avg_ns = sleep_avg,
					.cookie = cookie,
					.say = say };
	o->model = ops->init(&o->host, values);
	assert_non_null(o->model);
	for (uint32_t t = 0; t < w->nr_tasks; t++)
		tell(w, &o, 1, WAKEIF_TASK_BEGAN, t, w->task[t].cpu, WAKEIF_TASK_NONE);
	return o;
}

void observer_free(struct observer *o)
{
	o->ops->fini(o->model);
	free(o->number);
	free(o->cpu_of);
	free(o->idle);
	free(o->unknown);
	free(o->pending);
	free(o->sched_idle);
	free(o->allowed);
	free(o->cpu);
	free(o);
}

uint32_t observer_number(const struct observer *o, uint32_t cpu)
{
	return o->number[cpu];
}

bool observer_ask(struct observer *o, struct wakeif_choice *choice)
{
	*choice = (struct wakeif_choice){ .size = sizeof(*choice),
					  .cpu = WAKEIF_CPU_NONE,
					  .target = WAKEIF_CPU_NONE,
					  .other_sync_cpu = WAKEIF_CPU_NONE };
	return o->ops->select_cpu(o->model, &o->wakeup, &o->view, choice);
}

const struct wakeif_wakeup *observer_wakeup(const struct observer *o)
{
	return &o->wakeup;
}

const struct wakeif_view *observer_view(const struct observer *o)
{
	return &o->view;
}
