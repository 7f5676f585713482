/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analyzer/replay/explain.h"

#include <stdlib.h>
#include <string.h>

#include "analyzer/base/cpumask.h"
#include "analyzer/replay/explain_turns.h"
#include "models/linux6.h"

struct wi_explain {
	struct wi_explain_opts opt;
	struct wi_timeline_observer obs;
	struct wi_explained *kept; /* by sched_waking, opt.nr of them at most */
	size_t nr;
	struct wi_explained *now; /* the one whose decision is being told */
	uint64_t serial;
	struct wi_explain_seen seen;
	bool nomem;
};

#define X(id, name, help) name,
static const char *const turn_name[] = { WI_TURNS(X) };
#undef X

const char *wi_turn_name(enum wi_turn_kind k)
{
	return turn_name[k];
}

static void fini_models(struct wi_explained *x)
{
	for (uint32_t i = 0; i < x->nr_models; i++) {
		free(x->model[i].steps);
		free(x->model[i].turns);
	}
	free(x->model);
	x->model = NULL;
	x->nr_models = 0;
}

static void fini_explained(struct wi_explained *x)
{
	fini_models(x);
	free(x->cpu);
}

struct wi_explain *wi_explain_new(const struct wi_explain_opts *opts, struct wi_err *err)
{
	struct wi_explain *e = calloc(1, sizeof(*e));

	if (e) {
		e->opt = *opts;
		e->kept = calloc((size_t)opts->nr + 1, sizeof(*e->kept));
	}
	if (e && e->kept)
		return e;
	wi_explain_free(e);
	wi_err_nomem(err);
	return NULL;
}

void wi_explain_free(struct wi_explain *e)
{
	if (!e)
		return;
	for (size_t i = 0; i < e->nr; i++)
		fini_explained(&e->kept[i]);
	free(e->kept);
	free(e);
}

/* ---- which ones ---- */

/* Room for a wakeup among the first so many by sched_waking; NULL: it is not one of them. */
static struct wi_explained *place(struct wi_explain *e, uint64_t wake_ns)
{
	size_t at = e->nr;

	while (at && e->kept[at - 1].w.pub.wake_ns > wake_ns)
		at--;
	if (at == e->opt.nr)
		return NULL;
	if (e->nr == e->opt.nr)
		fini_explained(&e->kept[--e->nr]);
	memmove(&e->kept[at + 1], &e->kept[at], (e->nr - at) * sizeof(*e->kept));
	e->nr++;
	memset(&e->kept[at], 0, sizeof(*e->kept));
	return &e->kept[at];
}

/* ---- the machine ---- */

static void take_view(struct wi_explain *e, struct wi_explained *x, const struct wakeif_view *v, const wakeif_word *allowed)
{
	const struct wakeif_topology *t = e->opt.topology;
	const struct wi_timeline *tl = *e->opt.timeline;

	x->nr_allowed = wi_mask_weight(allowed, t->nr_words);
	for (uint32_t c = 0; c < t->nr_cpus; c++) {
		const struct wi_task *current = wi_timeline_current(tl, c);
		bool same = current && current->pid == v->cpu[c].curr_pid;

		x->cpu[c] = (struct wi_explained_cpu){ .online = wi_mask_test(t->online, c),
						       .idle = wi_mask_test(v->idle, c),
						       .unknown = wi_mask_test(v->unknown, c),
						       .pending = wi_mask_test(v->pending, c),
						       .sched_idle_only = wi_mask_test(v->sched_idle_only, c),
						       .allowed = wi_mask_test(allowed, c),
						       .nr_running = v->cpu[c].nr_running,
						       .nr_cfs = v->cpu[c].nr_cfs,
						       .curr_pid = v->cpu[c].curr_pid,
						       .curr_comm = same ? current->comm : WI_NAME_NONE,
						       .idle_since_ns = v->cpu[c].idle_since_ns };
	}
}

static void on_decision(void *ctx, uint64_t now_ns, const struct wi_wakeup *w)
{
	struct wi_explain *e = ctx;
	struct wi_explained *x;

	(void)now_ns;
	e->now = NULL;
	if (e->nomem || !w->in_window)
		return;
	e->seen.wakeups++;
	if (e->opt.pid >= 0 && w->pub.pid != e->opt.pid)
		return;
	e->seen.of_pid++;
	e->seen.last_ns = w->pub.wake_ns > e->seen.last_ns ? w->pub.wake_ns : e->seen.last_ns;
	if (w->pub.wake_ns < e->opt.from_ns)
		return;
	x = place(e, w->pub.wake_ns);
	if (!x)
		return;
	x->cpu = calloc(e->opt.topology->nr_cpus, sizeof(*x->cpu));
	if (!x->cpu) {
		e->nomem = true;
		return;
	}
	x->w = *w;
	x->serial = ++e->serial;
	x->pid = w->pub.pid;
	x->comm = w->wakee ? w->wakee->comm : WI_NAME_NONE;
	x->waker_comm = w->waker_comm;
	take_view(e, x, wi_timeline_view(*e->opt.timeline), w->pub.allowed);
	x->w.wakee = NULL;
	x->w.pub.allowed = NULL;
	e->now = x;
}

static void on_closed(void *ctx, uint64_t now_ns, const struct wi_wakeup *w, enum wi_outcome outcome)
{
	struct wi_explain *e = ctx;

	(void)now_ns;
	for (size_t i = 0; i < e->nr; i++) {
		struct wi_explained *x = &e->kept[i];

		if (x->closed || x->w.slot != w->slot || x->w.pub.wake_ns != w->pub.wake_ns || x->pid != w->pub.pid)
			continue;
		x->closed = true;
		x->outcome = outcome;
		x->w.enq_ns = w->enq_ns;
		x->w.run_ns = w->run_ns;
		x->w.run_cpu = w->run_cpu;
		x->w.enq_record_cpu = w->enq_record_cpu;
		return;
	}
}

const struct wi_timeline_observer *wi_explain_observer(struct wi_explain *e)
{
	e->obs = (struct wi_timeline_observer){ .ctx = e, .decision = on_decision, .wakeup_closed = on_closed };
	return &e->obs;
}

/* ---- answers ---- */

struct tracing {
	struct wi_explained_model *m;
	const struct wi_fair_inputs *in;
	uint32_t room;
	bool nomem;
};

static void on_step(void *ctx, const struct wi_fair_step *s)
{
	struct tracing *t = ctx;
	struct wi_explained_model *m = t->m;
	struct wi_explained_step *to;

	m->nr_steps_all++;
	if (t->nomem || m->nr_steps == WI_EXPLAIN_STEPS)
		return;
	if (m->nr_steps == t->room) {
		uint32_t room = t->room ? t->room * 2 : 32;

		to = realloc(m->steps, room * sizeof(*to));
		if (!to) {
			t->nomem = true;
			return;
		}
		m->steps = to;
		t->room = room;
	}
	to = &m->steps[m->nr_steps++];
	*to = (struct wi_explained_step){ .s = *s };
	if (s->kind == WI_FAIR_STEP_BUDGET)
		t->in->ask->scan_budget(t->in->ask->ctx, s->cpu, &to->min, &to->max);
}

/* The decision once more, from the same inputs, with every step told. */
static bool trace(struct wi_explained_model *m, const struct wi_fair_inputs *in)
{
	struct tracing t = { .m = m, .in = in };
	struct wi_fair_inputs again = *in;
	struct wi_fair_result r;

	again.trace = on_step;
	again.trace_ctx = &t;
	again.cleared = NULL;
	r = wi_fair_select(&again);
	m->weighed = r.weighed;
	m->this_eff = r.this_eff > 0 ? (uint64_t)r.this_eff : 0;
	m->prev_eff = r.prev_eff > 0 ? (uint64_t)r.prev_eff : 0;
	return !t.nomem;
}

static bool explain_fair(struct wi_explained_model *m, const struct wi_fair_inputs *in, uint32_t kernel_cpu, bool wakeup)
{
	const struct wi_fair_ask *a = in->ask;

	m->has_steps = true;
	m->asked = m->choice.rule != WAKEIF_RULE_ONE_ALLOWED;
	m->waker_flips = in->waker_flips;
	m->wakee_flips = in->wakee_flips;
	m->wide_factor = in->machine->topology->llc_size[in->waker_cpu];
	m->recent_cpu = in->recent_cpu;
	m->waker_idle_cores = in->waker_idle_cores;
	m->prev_idle_cores = in->prev_idle_cores;
	m->waker_cpu_load = a->cpu_load(a->ctx, in->waker_cpu, false);
	m->prev_cpu_load = a->cpu_load(a->ctx, in->prev_cpu, false);
	m->waker_load = in->waker != WAKEIF_TASK_NONE ? a->task_load(a->ctx, in->waker) : 0;
	m->wakee_load = in->wakee != WAKEIF_TASK_NONE ? a->task_load(a->ctx, in->wakee) : 0;
	if (m->asked && !trace(m, in))
		return false;
	if (!m->asked || !wakeup || m->cpu == kernel_cpu)
		return true;
	return wi_explain_turns(in, kernel_cpu, &m->turns, &m->nr_turns);
}

static bool explain_model(const struct wi_replay_decision *d, size_t i, struct wi_explained_model *m)
{
	const struct wakeif_model_ops *ops;
	void *state = wi_replay_state(d, i, &ops);
	struct wi_fair_state *fair = wi_linux6_state(ops, state);
	const struct wi_fair_inputs *in = fair ? wi_fair_state_inputs(fair) : NULL;

	m->choice = d->choice[i];
	m->cpu = d->cpu[i];
	m->illegal = m->choice.cpu != m->cpu;
	m->verdict = wi_judge_cpu(d->judge, m->cpu);
	return !in || explain_fair(m, in, d->kernel_cpu, d->w->pub.class_ == WAKEIF_SELECT);
}

void wi_explain_sink(void *ctx, const struct wi_replay_decision *d)
{
	struct wi_explain *e = ctx;
	struct wi_explained *x = e->now;

	if (!x || e->nomem || x->w.slot != d->w->slot || x->w.pub.wake_ns != d->w->pub.wake_ns)
		return;
	x->asked = true;
	x->sync_used = d->w->pub.class_ == WAKEIF_SELECT;
	x->sync = d->asked->wake_flags & WAKEIF_WF_SYNC;
	x->sync_mode = d->sync_mode;
	x->sync_source = d->sync_source;
	x->verdict = wi_judge_cpu(d->judge, d->kernel_cpu);
	take_view(e, x, d->view, d->w->pub.allowed);
	x->model = calloc(d->nr_models + 1, sizeof(*x->model));
	if (!x->model) {
		e->nomem = true;
		return;
	}
	x->nr_models = (uint32_t)d->nr_models;
	for (size_t i = 0; i < d->nr_models; i++)
		if (!explain_model(d, i, &x->model[i]))
			e->nomem = true;
}

const struct wi_explained *wi_explain_finish(struct wi_explain *e, size_t *nr, struct wi_err *err)
{
	if (e->nomem) {
		wi_err_nomem(err);
		return NULL;
	}
	*nr = e->nr;
	return e->kept;
}

struct wi_explain_seen wi_explain_seen(const struct wi_explain *e)
{
	return e->seen;
}
