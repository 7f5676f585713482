/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A run of the machine, watched event by event. */
#include <stdlib.h>
#include <string.h>

#include "analyzer/base/cpumask.h"
#include "analyzer/base/names.h"
#include "tests/unit/sim_world.h"

#define NOBODY UINT32_MAX

enum is { IS_UNBORN, IS_BLOCKED, IS_WAKING, IS_RUNNABLE, IS_RUNNING, IS_DEAD };

struct watch {
	const struct wi_workload *w;
	const struct sim_opts *o;
	const struct wakeif_topology *topo;
	struct sim_seen *seen;
	const char *wrong;				 /* the first thing */
	uint64_t now_ns;
	uint32_t nr_busy;
	struct {
		uint32_t curr;
	} * cpu;
	struct {
		enum is is;
		uint32_t cpu;
		uint64_t since_ns;
		bool waits;
	} * task;
	bool *touched; /* cores that changed at now_ns */
	uint64_t migrations;
};

static void wrong(struct watch *x, const char *what)
{
	x->wrong = x->wrong ? x->wrong : what;
}

static uint32_t cookie_on(const struct watch *x, uint32_t cpu)
{
	uint32_t t = x->cpu[cpu].curr;

	return t == NOBODY ? NOBODY : x->o->o.cookie[t];
}

/* At the end of an instant no core may run two cookies. Real-time tasks have cookies, too. */
static void check_cookies(struct watch *x)
{
	const struct wakeif_topology *topo = x->topo;

	for (uint32_t core = 0; core < topo->nr_groups[WAKEIF_CORE]; core++) {
		const wakeif_word *span = topo->span[WAKEIF_CORE][core];
		uint32_t one = NOBODY;

		if (!x->touched[core])
			continue;
		x->touched[core] = false;
		for (uint32_t c = wi_mask_next(span, topo->nr_words, 0); c != UINT32_MAX;
		     c = wi_mask_next(span, topo->nr_words, c + 1)) {
			uint32_t cookie = cookie_on(x, c);

			if (cookie == NOBODY)
				continue;
			if (one != NOBODY && cookie != one)
				wrong(x, "two cookies run on a core");
			one = cookie;
		}
	}
}

static void go_to(struct watch *x, uint64_t now_ns)
{
	if (now_ns < x->now_ns)
		wrong(x, "time goes back");
	if (now_ns > x->now_ns && x->o->o.core_sched && x->o->o.cookie)
		check_cookies(x);
	x->seen->busy_ns += (now_ns - x->now_ns) * x->nr_busy;
	x->now_ns = now_ns;
}

static bool may_run(const struct watch *x, uint32_t task, uint32_t cpu)
{
	uint32_t set = x->w->task[task].allowed;

	if (!wi_mask_test(x->topo->online, cpu))
		return false;
	return x->topo != x->w->topology || set == WI_WORK_NONE ||
	       wi_mask_test(x->w->masks + (size_t)set * x->topo->nr_words, cpu);
}

/* Task that an event names; NOBODY: the idle task. */
static uint32_t named(struct watch *x, uint32_t name)
{
	if (name == WI_NAME_NONE)
		return NOBODY;
	if (name > x->w->nr_tasks) {
		wrong(x, "an event names no task");
		return NOBODY;
	}
	return name - 1;
}

static void leave(struct watch *x, const struct wi_event *ev)
{
	uint32_t t = named(x, ev->sw.prev_comm);

	if (t != x->cpu[ev->cpu].curr)
		wrong(x, "another task leaves a CPU than came to it");
	if (t == NOBODY)
		return;
	if (x->task[t].is != IS_RUNNING)
		wrong(x, "a task that does not run leaves a CPU");
	x->seen->ran_ns[t] += x->now_ns - x->task[t].since_ns;
	x->nr_busy--;
	x->task[t].is = ev->sw.prev_state == 'R' ? IS_RUNNABLE : ev->sw.prev_state == 'X' ? IS_DEAD : IS_BLOCKED;
	if (ev->sw.preempted && ev->sw.prev_state != 'R')
		wrong(x, "a task is preempted and not runnable");
	x->task[t].waits = false;
}

static void come(struct watch *x, const struct wi_event *ev)
{
	uint32_t t = named(x, ev->sw.next_comm);

	x->cpu[ev->cpu].curr = t;
	if (t == NOBODY)
		return;
	if (x->task[t].is == IS_RUNNING)
		wrong(x, "a task runs in two places");
	else if (x->task[t].is != IS_RUNNABLE)
		wrong(x, "a task runs that nobody woke");
	if (x->task[t].cpu != ev->cpu && x->task[t].cpu != NOBODY)
		wrong(x, "a task runs where it was not put");
	x->task[t].cpu = ev->cpu;
	if (!may_run(x, t, ev->cpu))
		wrong(x, "a task runs where it may not");
	if (x->task[t].waits) {
		uint64_t wait_ns = x->now_ns - x->task[t].since_ns;

		x->seen->waits_ns += wait_ns;
		x->seen->nr_waits++;
		x->seen->nr_zero_waits += !wait_ns;
	}
	x->task[t].is = IS_RUNNING;
	x->task[t].since_ns = x->now_ns;
	x->nr_busy++;
}

static void on_waking(struct watch *x, const struct wi_event *ev)
{
	uint32_t t = named(x, ev->wk.comm);

	if (t == NOBODY)
		return;
	if (x->task[t].is != IS_BLOCKED)
		wrong(x, "a task is woken that does not sleep");
	if (x->task[t].cpu == NOBODY)
		x->task[t].cpu = (uint32_t)ev->wk.target_cpu;
	if ((uint32_t)ev->wk.target_cpu != x->task[t].cpu)
		wrong(x, "sched_waking names another CPU than the wakee's last");
	x->task[t].is = IS_WAKING;
	x->seen->nr_wakings++;
}

static void on_wakeup(struct watch *x, const struct wi_event *ev)
{
	uint32_t t = named(x, ev->wk.comm);

	if (t == NOBODY)
		return;
	if (x->task[t].is != (ev->type == WI_EV_SCHED_WAKEUP_NEW ? IS_UNBORN : IS_WAKING))
		wrong(x, "a wakeup of a task that is not being woken");
	if (ev->type == WI_EV_SCHED_WAKEUP && (uint32_t)ev->wk.target_cpu != x->task[t].cpu)
		wrong(x, "a wakeup on another CPU than the decided one");
	x->task[t].cpu = (uint32_t)ev->wk.target_cpu;
	x->task[t].is = IS_RUNNABLE;
	x->task[t].since_ns = x->now_ns;
	x->task[t].waits = true;
}

static void on_migrate(struct watch *x, const struct wi_event *ev)
{
	uint32_t t = named(x, ev->mig.comm);

	if (t == NOBODY)
		return;
	if (x->task[t].is != IS_WAKING && x->task[t].is != IS_RUNNABLE)
		wrong(x, "a task moves that neither wakes nor waits");
	if (x->task[t].cpu == NOBODY)
		x->task[t].cpu = (uint32_t)ev->mig.orig_cpu;
	if ((uint32_t)ev->mig.orig_cpu != x->task[t].cpu || ev->mig.orig_cpu == ev->mig.dest_cpu)
		wrong(x, "a task moves from where it is not, or to where it is");
	x->task[t].cpu = (uint32_t)ev->mig.dest_cpu;
	x->seen->nr_migrations++;
	x->migrations++;
}

static bool sink(void *ctx, const struct wi_event *ev)
{
	struct watch *x = ctx;

	go_to(x, ev->ts_ns);
	if (ev->cpu >= x->topo->nr_cpus) {
		wrong(x, "an event on a CPU that is not there");
		return false;
	}
	uint32_t curr = x->cpu[ev->cpu].curr;

	if (ev->common_pid != (curr == NOBODY ? 0 : x->w->task[curr].pid))
		wrong(x, "a record of a task that its CPU has not switched to");
	switch (ev->type) {
	case WI_EV_SCHED_WAKING:
		on_waking(x, ev);
		break;
	case WI_EV_SCHED_WAKEUP:
	case WI_EV_SCHED_WAKEUP_NEW:
		on_wakeup(x, ev);
		break;
	case WI_EV_SCHED_MIGRATE_TASK:
		on_migrate(x, ev);
		break;
	case WI_EV_SCHED_SWITCH:
		x->seen->nr_switches++;
		if (ev->sw.prev_comm == ev->sw.next_comm)
			wrong(x, "a switch to the same task");
		leave(x, ev);
		come(x, ev);
		x->touched[x->topo->group[WAKEIF_CORE][ev->cpu]] = true;
		break;
	default:
		break;
	}
	return !x->o->also || x->o->also(x->o->also_ctx, ev);
}

static void check_end(struct watch *x, const struct wi_sim_result *r)
{
	const struct wi_tally_result *t = &r->tally;
	uint64_t idle_ns = 0;

	if (x->o->o.core_sched && x->o->o.cookie)
		check_cookies(x);
	x->seen->end_ns = x->now_ns;
	if (x->nr_busy)
		wrong(x, "a task still runs at the end");
	if (r->ran_ns != x->seen->busy_ns)
		wrong(x, "time run is not that of the events");
	if (r->end_ns != x->now_ns)
		wrong(x, "the end is not the last event");
	for (uint32_t c = 0; c < t->nr_cpus; c++)
		idle_ns += t->cpu_idle_ns[c];
	if (idle_ns + t->busy_ns + t->unknown_ns != t->cpu_ns)
		wrong(x, "idle + busy is not the window");
	if (t->from_ns || t->busy_ns != x->seen->busy_ns)
		wrong(x, "the tally's busy time is not that of the events");
	if (t->wakings != x->seen->nr_wakings || t->migrations != x->migrations)
		wrong(x, "the tally's counts are not those of the events");
	if (r->ops_done != r->ops_total || r->tasks_undone)
		wrong(x, "operations are left undone");
}

static bool begin(struct watch *x, struct sim_seen *seen)
{
	x->cpu = calloc(x->topo->nr_cpus, sizeof(*x->cpu));
	x->task = calloc(x->w->nr_tasks + 1, sizeof(*x->task));
	x->touched = calloc(x->topo->nr_groups[WAKEIF_CORE] + 1, sizeof(*x->touched));
	seen->ran_ns = calloc(x->w->nr_tasks + 1, sizeof(*seen->ran_ns));
	if (!x->cpu || !x->task || !x->touched || !seen->ran_ns)
		return false;
	for (uint32_t c = 0; c < x->topo->nr_cpus; c++)
		x->cpu[c].curr = NOBODY;
	for (uint32_t t = 0; t < x->w->nr_tasks; t++) {
		uint8_t start = x->w->task[t].start;

		/* On another machine it starts where that one puts it. */
		x->task[t].cpu = x->topo == x->w->topology ? x->w->task[t].cpu : NOBODY;
		x->task[t].is = start == WI_START_UNBORN    ? IS_UNBORN
				: start == WI_START_BLOCKED ? IS_BLOCKED
							    : IS_RUNNABLE;
	}
	return true;
}

const char *sim_run_watched(const struct wi_workload *w, const struct sim_opts *opts, struct wi_sim_result *result,
			    struct sim_seen *seen, struct wi_err *err)
{
	struct watch x = { .w = w, .o = opts, .topo = opts->o.topology ? opts->o.topology : w->topology, .seen = seen };
	struct wi_sim_opts o = opts->o;
	struct wi_model_spec model;
	size_t at;

	memset(seen, 0, sizeof(*seen));
	memset(result, 0, sizeof(*result));
	if (!wi_model_spec_parse(opts->model ? opts->model : "prev", &model, &at, err))
		return "no such model";
	o.ops = model.ops;
	o.values = model.values;
	o.sink = sink;
	o.sink_ctx = &x;
	o.tally_from = 0;
	o.tally_to = 1;
	if (!begin(&x, seen))
		wrong(&x, "out of memory");
	else if (!wi_sim_run(w, &o, result, err))
		wrong(&x, "the machine refuses");
	else
		check_end(&x, result);
	free(x.cpu);
	free(x.task);
	free(x.touched);
	wi_model_spec_fini(&model);
	return x.wrong;
}

void sim_run_fini(struct wi_sim_result *result, struct sim_seen *seen)
{
	wi_sim_result_fini(result);
	free(seen->ran_ns);
	seen->ran_ns = NULL;
}
