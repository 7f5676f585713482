/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Begin, main loop, end. */
#include "analyzer/sim/machine.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/base/kernel.h"
#include "models/pelt.h"

/* ---- begin: the machine ---- */

static bool alloc_machine(struct sim *s)
{
	const struct wakeif_topology *t = s->topo;
	uint32_t words = t->nr_words, cpus = t->nr_cpus;

	s->cpu = calloc(cpus, sizeof(*s->cpu));
	s->view_cpu = calloc(cpus, sizeof(*s->view_cpu));
	s->task = calloc(s->w->nr_tasks + 1, sizeof(*s->task));
	s->counter = calloc(s->w->nr_counters + 1, sizeof(*s->counter));
	s->core_busy = calloc(t->nr_groups[WAKEIF_CORE] + 1, sizeof(*s->core_busy));
	s->masks = calloc((size_t)words * (s->w->nr_masks + 1), sizeof(*s->masks));
	s->idle = calloc(words, sizeof(*s->idle));
	s->unknown = calloc(words, sizeof(*s->unknown));
	s->pending = calloc(words, sizeof(*s->pending));
	s->lowest = calloc(words, sizeof(*s->lowest));
	s->sched_idle_only = calloc(words, sizeof(*s->sched_idle_only));
	s->left = calloc(words, sizeof(*s->left));
	return s->cpu && s->view_cpu && s->task && s->counter && s->core_busy && s->masks && s->idle && s->unknown &&
	       s->pending && s->sched_idle_only && s->left && s->lowest;
}

static void begin_cpus(struct sim *s)
{
	const struct wakeif_topology *t = s->topo;

	for (uint32_t c = 0; c < t->nr_cpus; c++) {
		struct sim_cpu *cpu = &s->cpu[c];

		wi_queue_init(&cpu->q, s->fair, &s->params);
		cpu->curr = cpu->on_record = NONE;
		cpu->speed = WORK;
		cpu->avg_idle_ns = 2 * 500000 * s->params.scale;
		cpu->online = wi_mask_test(t->online, c);
		cpu->core = t->group[WAKEIF_CORE][c] != UINT32_MAX ? t->group[WAKEIF_CORE][c] : 0;
		s->view_cpu[c].curr_prio = 140;
		s->view_cpu[c].highest_rt_prio = 100;
		if (cpu->online) {
			wi_mask_set(s->idle, c);
			wi_tally_cpu(s->tally, 0, c, false, false);
		} else {
			wi_mask_set(s->unknown, c);
		}
	}
	s->view = (struct wakeif_view){ .size = sizeof(s->view),
					.topology = t,
					.idle = s->idle,
					.unknown = s->unknown,
					.pending = s->pending,
					.sched_idle_only = s->sched_idle_only,
					.cpu = s->view_cpu };
}

/* Who idled for longest is not known: any order, but one. 0 would be never. */
static void begin_idle(struct sim *s)
{
	uint32_t nr = s->topo->nr_cpus, first = (uint32_t)(s_hash(s, 0, 0, 14) % nr);

	for (uint32_t i = 0; i < nr; i++)
		s->view_cpu[(first + i) % nr].idle_since_ns = i + 1;
}

/* A set of CPUs as it is on this machine: those of it that are there; else the SMT siblings of its CPUs; else all. */
static void translate_mask(struct sim *s, const wakeif_word *from, wakeif_word *to)
{
	const struct wakeif_topology *old = s->w->topology, *t = s->topo;
	bool all = true;

	for (uint32_t c = 0; c < old->nr_cpus; c++) {
		bool in = wi_mask_test(from, c);

		all &= in || !wi_mask_test(old->online, c);
		if (in && c < t->nr_cpus && s->cpu[c].online)
			wi_mask_set(to, c);
	}
	if (all) { /* anywhere is anywhere here, too */
		memcpy(to, t->online, t->nr_words * sizeof(*to));
		return;
	}
	for (uint32_t c = 0; c < old->nr_cpus && wi_mask_empty(to, t->nr_words); c++) {
		uint32_t g = wi_mask_test(from, c) ? old->group[WAKEIF_CORE][c] : UINT32_MAX;

		for (uint32_t sib = 0; g != UINT32_MAX && sib < old->nr_cpus && sib < t->nr_cpus; sib++)
			if (old->group[WAKEIF_CORE][sib] == g && s->cpu[sib].online)
				wi_mask_set(to, sib);
	}
	if (wi_mask_empty(to, t->nr_words)) {
		memcpy(to, t->online, t->nr_words * sizeof(*to));
		s->result->moved_pins++;
	}
}

static void begin_masks(struct sim *s)
{
	uint32_t words = s->topo->nr_words, nr = s->w->nr_masks;

	for (uint32_t i = 0; i < nr; i++)
		translate_mask(s, s->w->masks + (size_t)i * s->w->topology->nr_words, s->masks + (size_t)i * words);
	memcpy(s->masks + (size_t)nr * words, s->topo->online, words * sizeof(*s->masks));
}

/* ---- begin: tasks ---- */

/* Where it was; else beside that, from the core's first thread on where siblings are neighbours; else anywhere. */
static uint32_t start_cpu(const struct sim *s, const struct sim_task *t)
{
	uint32_t was = t->about->cpu, words = s->topo->nr_words, near;

	if (was >= s->topo->nr_cpus)
		return wi_mask_next(t->allowed, words, 0);
	if (s->cpu[was].online && wi_mask_test(t->allowed, was))
		return was;
	near = wi_mask_next(t->allowed, words, was & ~1u);
	return near != UINT32_MAX ? near : wi_mask_next(t->allowed, words, 0);
}

static void begin_task(struct sim *s, uint32_t i)
{
	struct sim_task *t = &s->task[i];
	const struct wi_work_task *a = &s->w->task[i];
	uint32_t words = s->topo->nr_words;
	uint64_t scale = s->params.scale, spread = s->params.latency_ns / scale;

	t->about = a;
	t->allowed = s->masks + (size_t)(a->allowed == WI_WORK_NONE ? s->w->nr_masks : a->allowed) * words;
	t->nr_allowed = wi_mask_weight(t->allowed, words);
	t->op = a->first_op;
	t->end_op = a->first_op + a->nr_ops;
	t->state = a->start == WI_START_UNBORN ? S_UNBORN : S_BLOCKED;
	t->waking = t->waker = NONE;
	t->e.task = i;
	t->e.prio = a->prio == -1 ? 0 : a->prio;
	t->e.policy = a->policy == WAKEIF_POLICY_UNKNOWN ? WAKEIF_POLICY_NORMAL : a->policy;
	t->e.weight = wi_pelt_weight(t->e.prio, t->e.policy == WAKEIF_POLICY_IDLE);
	/* Where it stood against others is not recorded. */
	t->e.vruntime = (int64_t)(s_hash(s, i, 0, 11) % (spread + 1) * scale) - (int64_t)(spread / 2 * scale);
	t->cpu = start_cpu(s, t);
	s->result->tape_ns += a->work_ns;
	s->result->ops_total += a->nr_ops;
	s_load_op(s, t);
}

/* Who runs comes first, so that it is not preempted by who waits. */
static void start_task(struct sim *s, uint32_t i, enum wi_work_start which)
{
	struct sim_task *t = &s->task[i];
	const struct wi_work_task *a = t->about;

	if (a->start != which)
		return;
	if (which == WI_START_UNBORN) {
		if (a->born_unseen)
			s_push(s, a->start_ns, EV_BIRTH, i, 0);
		return;
	}
	s_tell_task(s, t, WAKEIF_TASK_BEGAN, 0, WAKEIF_CPU_NONE, WAKEIF_TASK_NONE);
	if (which == WI_START_BLOCKED) {
		s_block_first(s, i);
		return;
	}
	if (!s_queue_on(s, i, t->cpu, false, false))
		return;
	if (s->cpu[t->cpu].curr == NONE)
		s_schedule(s, t->cpu);
}

static void begin_tasks(struct sim *s)
{
	static const enum wi_work_start order[] = { WI_START_RUNNING, WI_START_RUNNABLE, WI_START_BLOCKED,
						    WI_START_UNBORN };

	for (uint32_t i = 0; i < s->w->nr_counters; i++)
		s->counter[i].stored = s->w->counter[i].initial;
	for (uint32_t i = 0; i < s->w->nr_tasks; i++)
		begin_task(s, i);
	for (uint32_t o = 0; o < 4; o++)
		for (uint32_t i = 0; i < s->w->nr_tasks; i++)
			start_task(s, i, order[o]);
}

/* ---- begin: the model ---- */

static void say(void *ctx, const char *reason)
{
	struct sim *s = wi_estimates_caller(ctx);

	snprintf(s->said, sizeof(s->said), "%s", reason ? reason : "");
}

static void observe_only(void *ctx, uint32_t types)
{
	struct sim *s = wi_estimates_caller(ctx);

	s->types = types;
}

static uint32_t cookie(void *ctx, uint32_t task)
{
	const struct sim *s = wi_estimates_caller(ctx);

	return s->o.cookie && task >= s->topo->nr_cpus ? s->o.cookie[task - s->topo->nr_cpus] : 0;
}

static bool begin_model(struct sim *s, struct wi_err *err)
{
	struct wi_estimates_opts eo = { .topology = s->topo,
					.needs = s->o.ops->needs,
					.kernel_version = s->o.kernel,
					.hz = s->o.hz,
					.seed = s->o.seed,
					.flips_from_zero = true,
					.caller = s };

	if (s->o.ops->needs & WAKEIF_NEED_FUTURE)
		return wi_err_set(err, WI_EUSAGE, "model %s knows the future: a simulation has none", s->o.ops->name);
	s->est = wi_estimates_new(&eo, err);
	if (!s->est)
		return false;
	s->host = (struct wakeif_host){ .size = sizeof(s->host),
					.kernel_version = s->o.kernel,
					.hz = s->o.hz,
					.seed = s->o.seed,
					.topology = s->topo };
	wi_estimates_host_for(s->est, s->o.ops->needs, &s->host);
	s->host.cookie = cookie;
	s->host.say = say;
	s->host.observe_only = observe_only;
	s->types = UINT32_MAX;
	s->model = s->o.ops->init ? s->o.ops->init(&s->host, s->o.values) : NULL;
	if (s->o.ops->init && !s->model)
		return wi_err_set(err, WI_EREFUSED, "model %s: %s", s->o.ops->name,
				  s->said[0] ? s->said : "it refuses without a reason");
	return true;
}

static void defaults(struct sim *s)
{
	const struct wi_workload *w = s->w;
	struct wi_sim_opts *o = &s->o;

	s->topo = o->topology ? o->topology : w->topology;
	o->kernel = o->kernel ? o->kernel : w->kernel;
	o->hz = o->hz ? o->hz : w->hz ? w->hz : 250;
	o->scale = o->scale ? o->scale : 1;
	o->smt_speed = o->smt_speed ? o->smt_speed : w->smt_speed;
	if (o->commit_ns == UINT64_MAX)
		o->commit_ns = w->facts.commit_ns;
	s->tick_ns = o->tick_ns ? o->tick_ns : 1000000000u / o->hz * o->scale;
	if (o->pick == WI_PICK_AUTO)
		o->pick = o->kernel >= WI_KERNEL(6, 6) ? WI_PICK_EEVDF : WI_PICK_CFS;
	s->fair = o->pick == WI_PICK_EEVDF ? &wi_eevdf_ops : o->pick == WI_PICK_FIFO ? &wi_fifo_ops : &wi_cfs_ops;
	s->params = (struct wi_queue_params){ .version = o->kernel,
					      .nr_cpus = wi_mask_weight(s->topo->online, s->topo->nr_words),
					      .scale = o->scale,
					      .tick_ns = s->tick_ns,
					      .no_wakeup_preemption = o->no_wakeup_preemption };
	wi_queue_params_fill(&s->params);
}

/* ---- the main loop ---- */

/* Something else has come in between: it is not to happen any more. */
static bool stale(const struct sim *s, const struct sim_event *ev)
{
	return (ev->type == EV_PROGRESS && s->cpu[ev->id].gen != ev->gen) ||
	       (ev->type == EV_SWITCH && s->cpu[ev->id].switch_gen != ev->gen) ||
	       (ev->type == EV_TIMER && s->task[ev->id].timer_gen != ev->gen);
}

/* While nobody runs or waits ticks do nothing: only those count (s->seq) that would have come before the next event. */
static void next_tick(struct sim *s)
{
	uint64_t nr = 1;

	if (!s->nr_busy && !s->nr_overloaded && s->nr_heap && s->heap[0].at_ns - s->now_ns > s->tick_ns)
		nr = (s->heap[0].at_ns - s->now_ns + s->tick_ns - 1) / s->tick_ns;
	s->seq += nr - 1;
	s->nr_ticks_done++;
	s_push(s, s->now_ns + nr * s->tick_ns, EV_TICK, 0, 0);
}

static void dispatch(struct sim *s, const struct sim_event *ev)
{
	switch (ev->type) {
	case EV_PROGRESS:
		s_progress(s, ev->id);
		break;
	case EV_SWITCH:
		s_switch_due(s, ev->id);
		break;
	case EV_DECIDE:
		s_decide(s, ev->id);
		break;
	case EV_ENQUEUE:
		s_enqueue(s, ev->id);
		break;
	case EV_TIMER:
		s_timer_expires(s, ev->id);
		break;
	case EV_BIRTH: {

		s_fork(s, NONE, ev->id, &s_no_noise);
		break;
	}
	case EV_TICK:
		s_tick(s);
		next_tick(s);
		break;
	}
}

/*
 * A bound on a run's time: a file of a few bytes can speak of years. Ticks at which nothing is to be done do not count,
 * so that 8 CPUs at 250 Hz may be busy for 18 hours.
 */
#define MAX_CPU_TICKS (1ull << 27)

static bool too_long(const struct sim *s, uint64_t nr_ticks)
{
	return nr_ticks > MAX_CPU_TICKS / s->params.nr_cpus;
}

static bool refuse_length(const struct sim *s, uint64_t ns, struct wi_err *err)
{
	return wi_err_set(err, WI_EREFUSED,
			  "too long to be simulated: %llu s of work on %u CPUs; --time chooses a part of the trace",
			  (unsigned long long)(ns / 1000000000u), s->params.nr_cpus);
}

/* What can be seen before the run: one task's work is done at one place, one thing after the other. */
static bool check_length(const struct sim *s, struct wi_err *err)
{
	for (uint32_t i = 0; i < s->w->nr_tasks; i++)
		if (too_long(s, s->w->task[i].work_ns / s->tick_ns))
			return refuse_length(s, s->w->task[i].work_ns, err);
	return true;
}

/* Nothing is to come any more but ticks: all tapes have ended, or wait for ever. */
static bool over(const struct sim *s)
{
	return s->nr_heap == s->nr_ticks;
}

static void loop(struct sim *s)
{
	struct sim_event ev;

	s_push(s, s_hash(s, 0, 0, 12) % (s->tick_ns / s->params.scale) * s->params.scale, EV_TICK, 0, 0);
	while (!s->failed && !over(s) && !too_long(s, s->nr_ticks_done) && s_pop(s, &ev)) {
		if (stale(s, &ev))
			continue;
		s->now_ns = ev.at_ns;
		if (ev.type != EV_TICK)
			s->result->end_ns = ev.at_ns;
		dispatch(s, &ev);
	}
}

/* ---- end ---- */

static bool never_woken(const struct sim *s, const struct sim_task *t)
{
	return t->state == S_BLOCKED && t->wait_kind == WI_OP_SLEEP &&
	       s->w->sleep[t->waits_for].waker_cpu == WI_WORK_NONE;
}

static bool finish(struct sim *s, struct wi_err *err)
{
	struct wi_sim_result *r = s->result;

	s->now_ns = r->end_ns; /* ticks may have come after the last work */
	for (uint32_t c = 0; c < s->topo->nr_cpus; c++)
		s_account(s, c);
	s_core_end(s);
	for (uint32_t i = 0; i < s->w->nr_tasks; i++)
		r->tasks_undone += s->task[i].state != S_OVER && !never_woken(s, &s->task[i]);
	for (uint32_t i = 0; i < s->w->nr_counters; i++)
		r->wakes_lost += s->counter[i].stored > 0 ? (uint64_t)s->counter[i].stored : 0;
	if (s->failed || !wi_estimates_ok(s->est, err))
		return wi_err_nomem(err);
	if (too_long(s, s->nr_ticks_done))
		return refuse_length(s, s->now_ns, err);
	return wi_tally_finish(s->tally, s->now_ns, &r->tally, err);
}

static void free_machine(struct sim *s)
{
	if (s->model && s->o.ops->fini)
		s->o.ops->fini(s->model);
	wi_estimates_free(s->est);
	wi_tally_free(s->tally);
	for (uint32_t c = 0; s->cpu && c < s->topo->nr_cpus; c++) {
		wi_queue_fini(&s->cpu[c].q);
		free(s->cpu[c].rt.waiting);
	}
	free(s->cpu);
	free(s->view_cpu);
	free(s->task);
	free(s->counter);
	free(s->client);
	free(s->late_ns);
	free(s->core);
	free(s->core_busy);
	free(s->package);
	free(s->core_filling);
	free(s->masks);
	free(s->idle);
	free(s->unknown);
	free(s->pending);
	free(s->sched_idle_only);
	free(s->lowest);
	free(s->left);
	free(s->heap);
}

bool wi_sim_run(const struct wi_workload *w, const struct wi_sim_opts *opts, struct wi_sim_result *result,
		struct wi_err *err)
{
	struct sim s = { .w = w, .o = *opts, .result = result };
	bool ok = false;

	memset(result, 0, sizeof(*result));
	defaults(&s);
	const struct wi_tally_opts to = { .topology = s.topo, .from = opts->tally_from, .to = opts->tally_to };

	s.tally = wi_tally_new(&to, err);
	if (!s.tally)
		goto out;
	if (!alloc_machine(&s)) {
		wi_err_nomem(err);
		goto out;
	}
	if (!begin_model(&s, err))
		goto out;
	if (!check_length(&s, err))
		goto out;
	begin_cpus(&s);
	begin_idle(&s);
	begin_masks(&s);
	if (!s_core_begin(&s, err))
		goto out;
	if (!s_answers_begin(&s) || !s_timers_begin(&s) || !s_balance_begin(&s) || !s_power_begin(&s)) {
		wi_err_nomem(err);
		goto out;
	}
	begin_tasks(&s);
	loop(&s);
	ok = finish(&s, err);
out:
	free_machine(&s);
	return ok;
}
