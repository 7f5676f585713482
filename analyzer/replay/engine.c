/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Life of the engine; asks the models at each decision. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/replay/priv.h"
#include "models/linux6.h"
#include "models/oracle.h"
#include "models/plugin.h"

/* ---- asking ---- */

static bool legal(const struct wi_replay *r, const struct wakeif_wakeup *w, uint32_t cpu)
{
	return cpu < r->topo->nr_cpus && wi_mask_test(r->topo->online, cpu) && wi_mask_test(w->allowed, cpu);
}

static bool ask_one(struct r_model *m, const struct wakeif_wakeup *w, const struct wakeif_view *v,
		    struct wakeif_choice *c)
{
	bool ok;

	*c = (struct wakeif_choice){ .size = sizeof(*c),
				     .cpu = WAKEIF_CPU_NONE,
				     .target = WAKEIF_CPU_NONE,
				     .other_sync_cpu = WAKEIF_CPU_NONE };
	if (m->m.plugin)
		wi_plugin_enter(m->m.ops->name, "select_cpu");
	ok = m->m.ops->select_cpu(m->state, w, v, c);
	if (m->m.plugin)
		wi_plugin_leave();
	return ok;
}

/* All models, answers in r->choice and r->answer. */
void r_ask(struct wi_replay *r, const struct wakeif_wakeup *w, const struct wakeif_view *v)
{
	r->later = 0;
	wi_estimates_look(r->est, v);
	for (uint32_t i = 0; i < r->nr; i++) {
		struct wakeif_choice *c = &r->choice[i];
		bool answered = ask_one(&r->model[i], w, v, c);

		if (!answered)
			c->cpu = WAKEIF_CPU_NONE;
		if (!answered && r->model[i].m.ops->needs & WAKEIF_NEED_FUTURE)
			r->later |= 1ull << i;
		r->answer[i] = answered && legal(r, w, c->cpu) ? c->cpu
							       : wi_fallback_cpu(r->topo, w->allowed, w->prev_cpu);
	}
}

/*
 * The view without a task that still counts on a CPU: it had not left when it was woken, or runs on into an exec.
 * leaves_idle: where nothing else is queued there, the CPU counts as idle.
 */
const struct wakeif_view *r_view_without(struct wi_replay *r, const struct wi_task *task, bool leaves_idle)
{
	const struct wakeif_view *v = wi_timeline_view(r->tl);
	uint32_t c = task ? task->cpu : NONE;

	if (c >= r->topo->nr_cpus || (task->state != WI_TASK_RUNNING && task->state != WI_TASK_RUNNABLE) ||
	    !v->cpu[c].nr_running)
		return v;
	r->scratch_view = *v;
	memcpy(r->scratch_cpu, v->cpu, r->topo->nr_cpus * sizeof(*r->scratch_cpu));
	r->scratch_view.cpu = r->scratch_cpu;
	struct wakeif_cpu *cpu = &r->scratch_cpu[c];
	cpu->nr_running--;
	if ((task->prio >= 100 || task->prio == WI_PRIO_UNKNOWN) && cpu->nr_cfs)
		cpu->nr_cfs--;
	if (task->policy == WAKEIF_POLICY_IDLE && cpu->nr_sched_idle)
		cpu->nr_sched_idle--;
	if (leaves_idle && !cpu->nr_running && !wi_mask_test(v->pending, c)) {
		memcpy(r->scratch_idle, v->idle, r->topo->nr_words * sizeof(*r->scratch_idle));
		wi_mask_set(r->scratch_idle, c);
		r->scratch_view.idle = r->scratch_idle;
	}
	return &r->scratch_view;
}

static struct wi_sync_key sync_key(const struct wi_wakeup *w)
{
	return (struct wi_sync_key){ w->waker_comm, w->wakee ? w->wakee->comm : WI_NAME_NONE, w->pub.context };
}

/* Sets WF_SYNC of the question; true: it is what was recorded. */
static bool find_sync(struct wi_replay *r, const struct wi_wakeup *w, struct wakeif_wakeup *asked,
		      enum wi_sync_mode *mode, enum wi_sync_source *source)
{
	bool set = false;

	*mode = r->opt.sync;
	*source = WI_SYNC_BY_DEFAULT;
	if (*mode <= WI_SYNC_RECORDED && w->pub.wake_flags_known & WAKEIF_WF_SYNC) {
		*mode = WI_SYNC_RECORDED;
		return true;
	}
	if (*mode == WI_SYNC_RECORDED && (!r->opt.sync_of || !r->opt.sync_of(r->opt.sync_ctx, w, &set)))
		*mode = WI_SYNC_NEVER;
	if (*mode == WI_SYNC_LEARNED && r->opt.learned) {
		struct wi_sync_key key = sync_key(w);

		set = wi_sync_ask(r->opt.learned, &key, r->number, source);
	} else if (*mode == WI_SYNC_ALWAYS) {
		set = true;
	}
	asked->wake_flags = set ? asked->wake_flags | WAKEIF_WF_SYNC : asked->wake_flags & ~(uint32_t)WAKEIF_WF_SYNC;
	return *mode == WI_SYNC_RECORDED;
}

static void count_sync(struct wi_replay *r, enum wi_sync_mode mode, enum wi_sync_source source, bool set)
{
	struct wi_sync_results *s = &r->results->sync;

	s->asked[mode]++;
	s->set += set;
	if (mode != WI_SYNC_LEARNED)
		return;
	s->by_pair += source == WI_SYNC_BY_PAIR;
	s->by_context += source == WI_SYNC_BY_CONTEXT;
	s->by_default += source == WI_SYNC_BY_DEFAULT;
}

static void tell_sink(struct wi_replay *r, uint64_t now_ns, const struct wi_wakeup *w, const struct wakeif_wakeup *asked,
		      enum wi_sync_mode mode, enum wi_sync_source source, const struct wakeif_view *v)
{
	const struct wi_replay_decision d = {
		.now_ns = now_ns,
		.number = r->number,
		.w = w,
		.asked = asked,
		.sync_mode = mode,
		.sync_source = source,
		.view = v,
		.judge = &r->judge,
		.nr_models = r->nr,
		.choice = r->choice,
		.cpu = r->answer,
		.kernel_cpu = w->chosen_cpu,
		.counts = w->in_window,
		.replay = r,
	};

	r->opt.sink(r->opt.sink_ctx, &d);
}

/* Can it be replayed? Models index the topology by these CPUs. */
static bool known_cpus(const struct wi_replay *r, const struct wi_wakeup *w)
{
	return wi_cpu_present(r->topo, w->pub.prev_cpu) && wi_cpu_present(r->topo, w->pub.waker_cpu) &&
	       wi_cpu_present(r->topo, w->chosen_cpu);
}

/* Those that need hindsight are asked again; the answers come when the trace has shown them. */
static void ask_oracles(struct wi_replay *r, uint64_t now_ns, const struct wi_wakeup *w)
{
	for (uint64_t later = r->later; later; later &= later - 1) {
		uint32_t i = (uint32_t)__builtin_ctzll(later);

		wi_oracle_ask(r->oracle, now_ns, w, &r->judge, i, wi_oracle_speed_percent(r->model[i].m.ops, r->model[i].state));
	}
}

static void on_select(struct wi_replay *r, uint64_t now_ns, const struct wi_wakeup *w)
{
	struct wakeif_wakeup asked = w->pub;
	const struct wakeif_view *v = r_view_without(r, w->wakee, false);
	enum wi_sync_source source;
	enum wi_sync_mode mode;
	bool sync_known = find_sync(r, w, &asked, &mode, &source);

	r_ask(r, &asked, v);
	if (w->in_window) {
		count_sync(r, mode, source, asked.wake_flags & WAKEIF_WF_SYNC);
		wi_judge_look(&r->judge, v, w);
		r_count_select(r, now_ns, w, sync_known);
		ask_oracles(r, now_ns, w);
	} else if (r->opt.sink) {
		wi_judge_look(&r->judge, v, w);
	}
	if (r->opt.sink)
		tell_sink(r, now_ns, w, &asked, mode, source, v);
}

static void on_fork(struct wi_replay *r, uint64_t now_ns, const struct wi_wakeup *w)
{
	const struct wakeif_view *v = wi_timeline_view(r->tl);

	if (!known_cpus(r, w))
		return;
	r_ask(r, &w->pub, v);
	if (w->in_window)
		r_count_simple(r, offsetof(struct wi_model_results, fork), w->chosen_cpu, r->answer, v->idle, v->unknown);
	if (r->opt.sink) {
		wi_judge_look(&r->judge, v, w);
		tell_sink(r, now_ns, w, &w->pub, WI_SYNC_RECORDED, WI_SYNC_BY_DEFAULT, v);
	}
}

static void on_decision(void *ctx, uint64_t now_ns, const struct wi_wakeup *w)
{
	struct wi_replay *r = ctx;

	r->serial++;
	wi_estimates_wakeup(r->est, &w->pub);
	r->results->by_class[w->pub.class_] += w->in_window;
	if (w->pub.class_ == WAKEIF_SELECT) {
		if (known_cpus(r, w))
			on_select(r, now_ns, w);
		else
			r->results->not_replayed += w->in_window;
		r->number++;
	} else if (w->pub.class_ == WAKEIF_FORK) {
		on_fork(r, now_ns, w);
	} else {
		r_exec_maybe_moving(r, w);
	}
	r->dis.own_cpu = w->chosen_cpu;
	r->dis.own_ns = now_ns;
	r->dis.own_serial = r->serial;
}

void *wi_replay_state(const struct wi_replay_decision *d, size_t i, const struct wakeif_model_ops **ops)
{
	*ops = d->replay->model[i].m.ops;
	return d->replay->model[i].state;
}

/* ---- what else is told ---- */

static void observe(struct wi_replay *r, const struct wakeif_happening *h)
{
	for (uint64_t told = r->told[h->type & 31]; told; told &= told - 1) {
		struct r_model *m = &r->model[__builtin_ctzll(told)];

		if (m->m.plugin)
			wi_plugin_enter(m->m.ops->name, "observe");
		m->m.ops->observe(m->state, h);
		if (m->m.plugin)
			wi_plugin_leave();
	}
}

static void on_happened(void *ctx, const struct wakeif_happening *h)
{
	struct wi_replay *r = ctx;

	wi_estimates_happened(r->est, h);
	observe(r, h);
	wi_waits_happened(&r->waits, h);
	if (r->oracle)
		wi_oracle_happened(r->oracle, h, wi_timeline_view(r->tl));
	r_disagree_happened(r, h);
	if (h->type == WAKEIF_TASK_ENDED)
		r_exec_task_ended(r, h->task);
}

static void on_idle_changed(void *ctx, uint64_t now_ns, uint32_t cpu, bool idle)
{
	struct wi_replay *r = ctx;

	wi_judge_idle_changed(&r->judge, cpu, idle);
	r_disagree_idle_changed(r, now_ns, cpu, idle);
	if (idle && r->waits.cpu[cpu].head != NONE)
		wi_waits_cpu_idle(&r->waits, now_ns, cpu);
	if (idle && r->oracle)
		wi_oracle_cpu_idle(r->oracle, now_ns, cpu, wi_timeline_view(r->tl));
}

static void on_closed(void *ctx, uint64_t now_ns, const struct wi_wakeup *w, enum wi_outcome outcome)
{
	struct wi_replay *r = ctx;

	(void)now_ns;
	if (w->pub.class_ != WAKEIF_SELECT || !w->in_window || outcome != WI_OUT_RUN || w->enq_ns > w->run_ns)
		return;
	if (!wi_hist_add(&r->results->model[0].real_wait, w->run_ns - w->enq_ns))
		r->failed = true;
}

static void on_migrated(void *ctx, uint64_t now_ns, const struct wi_task *task, uint32_t orig, uint32_t dest,
			bool inferred, bool placement)
{
	(void)now_ns;
	if (!inferred && !placement)
		r_exec_moved(ctx, task, orig, dest);
}

static void on_exec(void *ctx, uint64_t now_ns, const struct wi_task *task)
{
	r_exec(ctx, now_ns, task);
}

/* ---- a pass that learns ---- */

static void learn_decision(void *ctx, uint64_t now_ns, const struct wi_wakeup *w)
{
	struct wi_replay *r = ctx;
	const struct wakeif_choice *c = &r->choice[0];

	(void)now_ns;
	wi_estimates_wakeup(r->est, &w->pub);
	if (w->pub.class_ != WAKEIF_SELECT)
		return;
	if (known_cpus(r, w) && !(w->pub.wake_flags_known & WAKEIF_WF_SYNC)) {
		struct wi_sync_key key = sync_key(w);

		r_ask(r, &w->pub, r_view_without(r, w->wakee, false));
		if (c->flags & WAKEIF_CHOICE_KNOWS_SYNC && c->cpu != c->other_sync_cpu &&
		    (c->cpu == w->chosen_cpu || c->other_sync_cpu == w->chosen_cpu) &&
		    !wi_sync_vote(r->opt.learn, &key, r->number, c->other_sync_cpu == w->chosen_cpu))
			r->failed = true;
	}
	r->number++;
}

static void learn_happened(void *ctx, const struct wakeif_happening *h)
{
	struct wi_replay *r = ctx;

	wi_estimates_happened(r->est, h);
	observe(r, h);
}

/* ---- life ---- */

static void say(void *ctx, const char *reason)
{
	const struct wi_replay *r = wi_estimates_caller(ctx);

	if (r->begins && reason)
		snprintf(r->begins->said, sizeof(r->begins->said), "%s", reason);
}

static void observe_only(void *ctx, uint32_t types)
{
	const struct wi_replay *r = wi_estimates_caller(ctx);

	if (r->begins)
		r->begins->types = types;
}

static uint32_t cookie(void *ctx, uint32_t task)
{
	const struct wi_replay *r = wi_estimates_caller(ctx);

	return r->opt.cookie ? r->opt.cookie(r->opt.cookie_ctx, task) : 0;
}

static bool begin_model(struct wi_replay *r, struct r_model *m, struct wi_err *err)
{
	m->host = (struct wakeif_host){ .size = sizeof(m->host),
					.kernel_version = r->opt.kernel_version,
					.hz = r->opt.hz,
					.seed = r->opt.seed,
					.topology = r->topo };
	wi_estimates_host_for(r->est, m->m.ops->needs, &m->host);
	m->host.cookie = cookie;
	m->host.say = say;
	m->host.observe_only = observe_only;
	m->types = UINT32_MAX;
	r->begins = m;
	if (m->m.plugin)
		wi_plugin_enter(m->m.ops->name, "init");
	m->state = m->m.ops->init ? m->m.ops->init(&m->host, m->m.values) : NULL;
	if (m->m.plugin)
		wi_plugin_leave();
	r->begins = NULL;
	m->begun = m->state || !m->m.ops->init;
	if (!m->begun)
		return wi_err_set(err, WI_EREFUSED, "model %s: %s", m->m.label,
				  m->said[0] ? m->said : "it refuses without a reason");
	for (uint32_t type = 0; m->m.ops->observe && type < 32; type++)
		r->told[type] |= (uint64_t)(m->types >> type & 1) << (m - r->model);
	return true;
}

static struct wi_fair_state *fair_state(const struct r_model *m)
{
	struct wi_fair_state *s = wi_linux6_state(m->m.ops, m->state);

	return s ? s : wi_linux5_state(m->m.ops, m->state);
}

/* Kernels' models with the same answers share the work. */
static void pair_model(struct wi_replay *r, uint32_t i)
{
	struct wi_fair_state *s = fair_state(&r->model[i]);

	for (uint32_t k = 0; s && k < i; k++) {
		struct wi_fair_state *like = fair_state(&r->model[k]);

		if (like)
			wi_fair_state_pair(s, like);
	}
}

static bool begin_models(struct wi_replay *r, const struct wi_replay_opts *o, struct wi_err *err)
{
	struct wi_estimates_opts eo = { .topology = o->topology,
					.kernel_version = o->kernel_version,
					.hz = o->hz,
					.seed = o->seed,
					.caller = r };
	uint32_t nr = o->learn && o->nr_models ? 1 : (uint32_t)o->nr_models;

	for (uint32_t i = 0; i < nr; i++)
		eo.needs |= o->models[i].ops->needs;
	if (!wi_groups_find(&r->groups, o->facts, o->nr_facts, err))
		return false;
	eo.nr_groups = r->groups.nr;
	eo.group_shares = r->groups.shares;
	eo.members = r->groups.members;
	eo.nr_members = r->groups.nr_members;
	eo.other_group = r->groups.other;
	if (eo.needs & WAKEIF_NEED_FUTURE) {
		r->oracle = wi_oracle_new(o->topology, r_count_hindsight, r);
		if (!r->oracle)
			return wi_err_nomem(err);
	}
	r->est = wi_estimates_new(&eo, err);
	if (!r->est)
		return false;
	for (uint32_t i = 0; i < nr; i++) {
		r->model[i].m = o->models[i];
		r->nr++;
		if (!begin_model(r, &r->model[i], err))
			return false;
		pair_model(r, i);
	}
	return true;
}

static void set_hooks(struct wi_replay *r)
{
	if (r->opt.learn)
		r->obs = (struct wi_timeline_observer){ .ctx = r,
							.decision = learn_decision,
							.happened = learn_happened };
	else
		r->obs = (struct wi_timeline_observer){ .ctx = r,
							.idle_changed = on_idle_changed,
							.decision = on_decision,
							.wakeup_closed = on_closed,
							.migrated = on_migrated,
							.exec = on_exec,
							.happened = on_happened };
}

struct wi_replay *wi_replay_new(const struct wi_replay_opts *opts, struct wi_err *err)
{
	const struct wakeif_topology *t = opts->topology;
	struct wi_replay *r;

	if (opts->nr_models > WI_REPLAY_MODELS) {
		wi_err_set(err, WI_EUSAGE, "%zu models: at most %u in one run", opts->nr_models, WI_REPLAY_MODELS);
		return NULL;
	}
	r = calloc(1, sizeof(*r));
	if (!r) {
		wi_err_nomem(err);
		return NULL;
	}
	r->opt = *opts;
	r->topo = t;
	r->stamp = calloc(t->nr_cpus + 1, sizeof(*r->stamp));
	r->asked_by = calloc(t->nr_cpus + 1, sizeof(*r->asked_by));
	r->verdict = calloc(t->nr_cpus + 1, sizeof(*r->verdict));
	r->scratch_cpu = calloc(t->nr_cpus + 1, sizeof(*r->scratch_cpu));
	r->scratch_idle = calloc(t->nr_words + 1, sizeof(*r->scratch_idle));
	r->results = wi_replay_results_new(err);
	set_hooks(r);
	if (!r->stamp || !r->asked_by || !r->verdict || !r->scratch_cpu || !r->scratch_idle || !r->results ||
	    !wi_judge_init(&r->judge, t, opts->kernel_version) || !wi_waits_init(&r->waits, t->nr_cpus) ||
	    !r_disagree_init(r) || !r_exec_init(r))
		wi_err_nomem(err);
	else if (begin_models(r, opts, err) && !opts->learn && !r_count_init(r))
		wi_err_nomem(err);
	if (err->code) {
		wi_replay_free(r);
		return NULL;
	}
	r->waits.end = r_count_wait_ended;
	r->waits.ctx = r;
	return r;
}

const struct wi_timeline_observer *wi_replay_observer(struct wi_replay *r)
{
	return &r->obs;
}

void wi_replay_bind(struct wi_replay *r, struct wi_timeline *tl)
{
	r->tl = tl;
}

const struct wi_replay_results *wi_replay_finish(struct wi_replay *r, struct wi_err *err)
{
	if (!wi_estimates_ok(r->est, err))
		return NULL;
	if (!r->opt.learn) {
		r_disagree_settle(r, UINT64_MAX);
		wi_waits_finish(&r->waits);
		if (r->oracle && !wi_oracle_finish(r->oracle))
			r->failed = true;
		if (!r_count_finish(r))
			r->failed = true;
	}
	if (r->failed || r->waits.failed) {
		wi_err_nomem(err);
		return NULL;
	}
	return r->results;
}

struct wi_replay_results *wi_replay_take(struct wi_replay *r)
{
	struct wi_replay_results *res = r->results;

	r->results = NULL;
	return res;
}

static void end_model(struct r_model *m)
{
	if (!m->begun || !m->m.ops->fini)
		return;
	if (m->m.plugin)
		wi_plugin_enter(m->m.ops->name, "fini");
	m->m.ops->fini(m->state);
	if (m->m.plugin)
		wi_plugin_leave();
}

void wi_replay_free(struct wi_replay *r)
{
	if (!r)
		return;
	for (uint32_t i = 0; i < r->nr; i++)
		end_model(&r->model[i]);
	wi_estimates_free(r->est);
	wi_groups_fini(&r->groups);
	wi_judge_fini(&r->judge);
	wi_waits_fini(&r->waits);
	wi_oracle_free(r->oracle);
	r_disagree_fini(r);
	r_exec_fini(r);
	wi_replay_results_free(r->results);
	free(r->stamp);
	free(r->asked_by);
	free(r->verdict);
	free(r->scratch_cpu);
	free(r->scratch_idle);
	free(r);
}
