/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analyzer/replay/validate.h"

#include <stdlib.h>
#include <string.h>

#include "analyzer/base/cpumask.h"
#include "analyzer/replay/tags.h"
#include "models/linux6.h"

/* What is kept of a line of the truth. */
struct told {
	uint64_t waking_ns;
	int32_t pid;
	uint32_t ret, target; /* target: of wake_affine; WI_CPU_NONE: not called */
	bool decided;	      /* else: a wakeup without a decision */
	bool sync, seen;
};

struct wi_validate {
	struct wi_validate_opts opt;
	struct told *told; /* by waking_ns, pid */
	size_t nr, cap;
	struct wi_tags *tags; /* NULL until a model that can be tagged has answered */
	struct wi_logic *logic;
	struct wi_truth *logic_truth;
	struct wi_truth_decision next; /* the next one for the logic */
	bool has_next;
	struct wi_task_fact *facts; /* by pid once all are read; masks in one piece behind them */
	wakeif_word *masks;
	size_t nr_facts, cap_facts;
	uint8_t *expects; /* by slot of an open wakeup: form + 1 that tells where its sched_wakeup is recorded; 0 none */
	uint32_t nr_slots;
	struct wi_timeline_observer obs;
	struct wi_validate_results r;
	struct wi_err err; /* the first failure of a callback */
};

/* A tagged decision on its way: what was found of it at the decision. */
struct verdict {
	struct wi_validate *v;
	uint16_t rule;
	bool agrees, stalled;
};

#define X(id, name, help) name,
static const char *const form_name[] = { WI_CLOSED_FORMS(X) };
#undef X
#define X(id, name, help) help,
static const char *const form_help[] = { WI_CLOSED_FORMS(X) };
#undef X

const char *wi_closed_form_name(enum wi_closed_form f)
{
	return form_name[f];
}

const char *wi_closed_form_help(enum wi_closed_form f)
{
	return form_help[f];
}

/* ---- the truth in memory ---- */

static int by_time(const void *a, const void *b)
{
	const struct told *x = a, *y = b;

	if (x->waking_ns != y->waking_ns)
		return x->waking_ns < y->waking_ns ? -1 : 1;
	return x->pid < y->pid ? -1 : x->pid > y->pid;
}

static struct told *find_told(struct wi_validate *v, uint64_t waking_ns, int32_t pid)
{
	struct told key = { .waking_ns = waking_ns, .pid = pid };

	return v->nr ? bsearch(&key, v->told, v->nr, sizeof(*v->told), by_time) : NULL;
}

static bool keep(struct wi_validate *v, const struct told *t, struct wi_err *err)
{
	if (v->nr == v->cap) {
		size_t cap = v->cap ? v->cap * 2 : 4096;
		struct told *p = realloc(v->told, cap * sizeof(*p));

		if (!p)
			return wi_err_nomem(err);
		v->told = p;
		v->cap = cap;
	}
	v->told[v->nr++] = *t;
	return true;
}

/* fact_of: by pid, index + 1 of its fact. */
static bool keep_fact(struct wi_validate *v, const struct wi_truth_decision *d, uint32_t *fact_of, struct wi_err *err)
{
	uint32_t words = v->opt.topology->nr_words, *at = &fact_of[d->pid];

	if (!*at && v->nr_facts == v->cap_facts) {
		size_t cap = v->cap_facts ? v->cap_facts * 2 : 256;
		struct wi_task_fact *f = realloc(v->facts, cap * sizeof(*f));
		wakeif_word *m = f ? realloc(v->masks, cap * words * sizeof(*m)) : NULL;

		v->facts = f ? f : v->facts;
		v->masks = m ? m : v->masks;
		if (!m)
			return wi_err_nomem(err);
		v->cap_facts = cap;
	}
	if (!*at) {
		v->facts[v->nr_facts] = (struct wi_task_fact){ .pid = d->pid, .nice = INT32_MIN };
		*at = (uint32_t)++v->nr_facts;
	}
	wakeif_word *mask = v->masks + (size_t)(*at - 1) * words;
	for (uint32_t i = 0; i < words; i++)
		mask[i] = i < d->allowed_words ? d->allowed[i] : 0;
	v->facts[*at - 1].policy = d->policy;
	return true;
}

static int by_pid(const void *a, const void *b)
{
	const struct wi_task_fact *x = a, *y = b;

	return x->pid < y->pid ? -1 : x->pid > y->pid;
}

/* An empty mask tells nothing. */
static void finish_facts(struct wi_validate *v)
{
	uint32_t words = v->opt.topology->nr_words;

	for (size_t i = 0; i < v->nr_facts; i++)
		if (!wi_mask_empty(v->masks + i * words, words))
			v->facts[i].allowed = v->masks + i * words;
	if (v->nr_facts)
		qsort(v->facts, v->nr_facts, sizeof(*v->facts), by_pid);
}

const struct wi_task_fact *wi_validate_facts(const struct wi_validate *v, size_t *nr)
{
	*nr = v->nr_facts;
	return v->facts;
}

static bool cpu_is_known(const struct wi_validate *v, uint32_t cpu, uint64_t line, struct wi_err *err)
{
	if (cpu < v->opt.topology->nr_cpus)
		return true;
	return wi_err_at(err, WI_EREFUSED, v->opt.truth, WI_NO_OFFSET, "%s %llu names CPU %u, the topology (%s) has %u", v->opt.open ? "decision" : "line", (unsigned long long)line, cpu,
			 v->opt.topology->source, v->opt.topology->nr_cpus);
}

static struct wi_truth *open_truth(const struct wi_validate *v, struct wi_err *err)
{
	return v->opt.open ? v->opt.open(v->opt.open_ctx, false, err) : wi_truth_open(v->opt.truth, err);
}

static bool read_decisions(struct wi_validate *v, struct wi_err *err)
{
	struct wi_truth *truth = open_truth(v, err);
	uint32_t *fact_of = calloc(WI_PID_MAX + 1, sizeof(*fact_of));
	struct wi_truth_decision d;
	int got = -1;

	if (!fact_of)
		wi_err_nomem(err);
	while (truth && fact_of && (got = wi_truth_next(truth, &d, err)) > 0) {
		struct told t = { .waking_ns = d.waking_ts_ns, .pid = d.pid, .ret = d.ret, .target = WI_CPU_NONE, .decided = true,
				  .sync = d.wake_flags & WAKEIF_WF_SYNC };

		got = -1;
		if (!cpu_is_known(v, d.ret, d.line, err) || !cpu_is_known(v, d.prev, d.line, err) || !cpu_is_known(v, d.cpu, d.line, err))
			break;
		if (d.pid > 0 && d.pid <= WI_PID_MAX && !keep_fact(v, &d, fact_of, err))
			break;
		if (d.called_affine && d.sis_target != WI_TRUTH_NO_CPU)
			t.target = d.sis_target;
		v->opt.logic &= d.nr_rqs > 0;
		v->r.truth_forks += !!(d.wake_flags & WAKEIF_WF_FORK);
		v->r.truth_execs += !!(d.wake_flags & WAKEIF_WF_EXEC);
		if (!(d.wake_flags & WAKEIF_WF_TTWU))
			continue;
		v->r.truth_wakeups++;
		if (d.waking_ts_ns == WI_TRUTH_NO_TIME)
			v->r.not_in_trace++;
		else if (!keep(v, &t, err))
			break;
	}
	wi_truth_close(truth);
	free(fact_of);
	finish_facts(v);
	return !got;
}

static bool read_nodecisions(struct wi_validate *v, struct wi_err *err)
{
	struct wi_truth *truth;
	struct wi_truth_nodecision d;
	int got = -1;

	if (!v->opt.nodecision && !v->opt.open)
		return true;
	truth = v->opt.nodecision ? wi_truth_open_nodecision(v->opt.nodecision, err) : v->opt.open(v->opt.open_ctx, true, err);
	while (truth && (got = wi_truth_next_nodecision(truth, &d, err)) > 0) {
		struct told t = { .waking_ns = d.waking_ts_ns, .pid = d.pid };

		if (d.waking_ts_ns != WI_TRUTH_NO_TIME && !keep(v, &t, err)) {
			got = -1;
			break;
		}
	}
	wi_truth_close(truth);
	return !got;
}

static void on_decision(void *ctx, uint64_t now_ns, const struct wi_wakeup *w)
{
	struct wi_validate *v = ctx;
	struct told *t = find_told(v, w->pub.wake_ns, w->pub.pid);
	struct wi_validate_class *c = &v->r.by_class[w->pub.class_];

	(void)now_ns;
	if (w->pub.class_ == WAKEIF_FORK)
		return;
	if (t)
		t->seen = true;
	c->decided += t && t->decided;
	c->not_decided += t && !t->decided;
	c->not_told += !t;
}

static void on_idle_changed(void *ctx, uint64_t now_ns, uint32_t cpu, bool idle)
{
	struct wi_validate *v = ctx;

	if (v->tags)
		wi_tags_idle_changed(v->tags, now_ns, cpu, idle);
}

static void form(struct wi_validate *v, enum wi_closed_form f, bool holds)
{
	v->r.forms[f].cases++;
	v->r.forms[f].hold += holds;
}

static void on_closed(void *ctx, uint64_t now_ns, const struct wi_wakeup *w, enum wi_outcome outcome)
{
	struct wi_validate *v = ctx;
	uint8_t expects = w->slot < v->nr_slots ? v->expects[w->slot] : 0;

	(void)now_ns;
	(void)outcome;
	if (!expects)
		return;
	v->expects[w->slot] = 0;
	if (w->enq_record_cpu != WI_CPU_NONE && w->enq_ns != WI_TIME_UNKNOWN)
		form(v, (enum wi_closed_form)(expects - 1), w->enq_record_cpu == (expects - 1 == WI_FORM_DIRECT ? w->pub.waker_cpu : w->chosen_cpu));
}

/* ---- the logic, from the kernel's own state; the trace tells since when CPUs idle, and who is not runnable ---- */

static void check_logic(struct wi_validate *v, uint64_t until_ns)
{
	while (v->has_next && v->next.ts_ns < until_ns && !v->err.code) {
		struct wi_logic_case c;

		if (!wi_logic_check(v->logic, &v->next, v->opt.truth, &c, &v->err))
			return;
		if (c.checked && (c.reason || (c.wide_known && !c.wide_ok)) && v->opt.logic_case)
			v->opt.logic_case(v->opt.logic_ctx, &c);
		v->has_next = wi_truth_next(v->logic_truth, &v->next, &v->err) > 0;
	}
}

static void on_happened(void *ctx, const struct wakeif_happening *h)
{
	struct wi_validate *v = ctx;

	if (v->tags)
		wi_tags_until(v->tags, h->now_ns);
	if (!v->logic)
		return;
	check_logic(v, h->now_ns);
	if (!wi_logic_happened(v->logic, h))
		wi_err_nomem(&v->err);
}

static bool begin_logic(struct wi_validate *v, struct wi_err *err)
{
	struct wi_fair_knobs knobs = wi_fair_knobs_of(v->opt.kernel_version ? v->opt.kernel_version : 6u << 16 | 1u << 8);

	if (!v->opt.logic || !v->r.truth_wakeups)
		return true;
	v->logic = wi_logic_new(v->opt.topology, &knobs, err);
	v->logic_truth = v->logic ? open_truth(v, err) : NULL;
	v->has_next = v->logic_truth && wi_truth_next(v->logic_truth, &v->next, err) > 0;
	v->r.has_logic = true;
	return v->logic_truth && !err->code;
}

struct wi_validate *wi_validate_new(const struct wi_validate_opts *opts, struct wi_err *err)
{
	struct wi_validate *v = calloc(1, sizeof(*v));

	if (!v) {
		wi_err_nomem(err);
		return NULL;
	}
	v->opt = *opts;
	v->r.nr_traces = 1;
	v->obs = (struct wi_timeline_observer){ .ctx = v, .idle_changed = on_idle_changed, .decision = on_decision, .wakeup_closed = on_closed, .happened = on_happened };
	if (read_decisions(v, err) && read_nodecisions(v, err) && begin_logic(v, err)) {
		if (v->nr)
			qsort(v->told, v->nr, sizeof(*v->told), by_time);
		return v;
	}
	wi_validate_free(v);
	return NULL;
}

void wi_validate_free(struct wi_validate *v)
{
	if (!v)
		return;
	wi_tags_free(v->tags);
	wi_logic_free(v->logic);
	wi_truth_close(v->logic_truth);
	free(v->expects);
	free(v->told);
	free(v->facts);
	free(v->masks);
	free(v);
}

const struct wi_timeline_observer *wi_validate_observer(struct wi_validate *v)
{
	return &v->obs;
}

bool wi_validate_sync_of(void *ctx, const struct wi_wakeup *w, bool *set)
{
	const struct told *t = find_told(ctx, w->pub.wake_ns, w->pub.pid);

	if (!t || !t->decided)
		return false;
	*set = t->sync;
	return true;
}

/* ---- closed forms ---- */

/* Where its sched_wakeup will be recorded; looked at when the wakeup is over. */
static void expect_enqueue(struct wi_validate *v, uint32_t slot, enum wi_closed_form f)
{
	if (slot >= v->nr_slots) {
		uint32_t nr = slot + slot / 2 + 64;
		uint8_t *p = realloc(v->expects, nr);

		if (!p) {
			wi_err_nomem(&v->err);
			return;
		}
		memset(p + v->nr_slots, 0, nr - v->nr_slots);
		v->expects = p;
		v->nr_slots = nr;
	}
	v->expects[slot] = (uint8_t)(f + 1);
}

static void check_forms(struct wi_validate *v, const struct wi_replay_decision *d, const struct told *t)
{
	const struct wakeif_topology *topo = v->opt.topology;
	const struct wakeif_view *view = d->view;
	uint32_t waker = d->w->pub.waker_cpu, prev = d->w->pub.prev_cpu, chosen = t->ret;
	bool same_llc = topo->group[WAKEIF_LLC][waker] == topo->group[WAKEIF_LLC][prev];
	bool allowed = wi_mask_test(d->w->pub.allowed, waker) && wi_mask_test(d->w->pub.allowed, prev);
	bool lone_sync = t->sync && view->cpu[waker].nr_running == 1;
	const wakeif_word *a = topo->span[WAKEIF_LLC][topo->group[WAKEIF_LLC][waker]], *b = topo->span[WAKEIF_LLC][topo->group[WAKEIF_LLC][prev]];
	bool any_idle = false;

	for (uint32_t i = 0; i < topo->nr_words; i++)
		any_idle |= ((a[i] | b[i]) & (view->idle[i] | view->unknown[i] | view->sched_idle_only[i])) != 0;
	if (allowed && wi_mask_test(view->idle, prev) && (same_llc || !lone_sync))
		form(v, WI_FORM_PREV_IDLE, chosen == prev);
	if (allowed && same_llc && waker != prev && d->choice[0].affine != WAKEIF_AFFINE_WIDE && wi_mask_test(view->idle, waker) &&
	    !wi_mask_test(view->idle, prev) && !wi_mask_test(view->unknown, prev) && !wi_mask_test(view->sched_idle_only, prev))
		form(v, WI_FORM_WAKER_IDLE, chosen == waker);
	if (allowed && !any_idle)
		form(v, WI_FORM_NONE_IDLE, chosen == prev || chosen == waker);
	if (chosen != waker && !wi_mask_test(view->unknown, chosen)) {
		bool shares = topo->group[WAKEIF_LLC][chosen] == topo->group[WAKEIF_LLC][waker];

		expect_enqueue(v, d->w->slot, shares && view->cpu[chosen].nr_running > 0 ? WI_FORM_DIRECT : WI_FORM_WAKELIST);
	}
}

/* ---- decisions ---- */

static void tag_done(void *ctx, void *what, const struct wi_tag *tag)
{
	struct wi_validate *v = ctx;
	struct verdict *verdict = what;

	v->r.in_set += tag->in_set;
	v->r.gave_up += tag->gave_up;
	if (tag->tagged) {
		v->r.tagged++;
		v->r.tagged_agree += verdict->agrees;
		v->r.by_rule[verdict->rule].tagged++;
		v->r.by_rule[verdict->rule].tagged_agree += verdict->agrees;
		v->r.stalled_tagged += verdict->stalled;
		v->r.stalled_tagged_agree += verdict->stalled && verdict->agrees;
	}
	free(verdict);
}

static bool begin_tags(struct wi_validate *v)
{
	struct wi_tags_opts o = { .topology = v->opt.topology,
				  .around_ns = WI_TAGS_AROUND_NS,
				  .glitch_ns = v->opt.kernel_version >= (6u << 16 | 2u << 8) ? 0 : WI_TAGS_GLITCH_NS,
				  .load_percent = WI_TAGS_LOAD_PERCENT,
				  .done = tag_done,
				  .ctx = v };

	if (!v->tags)
		v->tags = wi_tags_new(&o, &v->err);
	v->r.has_tags = v->tags;
	return v->tags;
}

/* Was the model one whose inputs are known? Then the tag comes later. */
static void tag(struct wi_validate *v, const struct wi_replay_decision *d, bool agrees)
{
	const struct wakeif_model_ops *ops;
	void *state = wi_replay_state(d, 0, &ops);
	struct wi_fair_state *fair = wi_linux6_state(ops, state);
	const struct wi_fair_inputs *in = fair ? wi_fair_state_inputs(fair) : NULL;
	struct verdict *verdict;

	if (!in || !begin_tags(v))
		return;
	verdict = malloc(sizeof(*verdict));
	if (!verdict) {
		wi_err_nomem(&v->err);
		return;
	}
	*verdict = (struct verdict){ v, d->choice[0].rule < WAKEIF_NR_RULES ? d->choice[0].rule : WAKEIF_RULE_NO_RULE, agrees, d->w->pub.waker_stalled };
	if (!wi_tags_add(v->tags, d->w, in, verdict, &v->err))
		free(verdict);
}

static void judge(struct wi_validate *v, const struct wi_replay_decision *d, const struct told *t)
{
	const struct wakeif_choice *c = &d->choice[0];
	bool agrees = d->cpu[0] == t->ret, asked_sync = d->asked->wake_flags & WAKEIF_WF_SYNC;
	uint32_t other = c->flags & WAKEIF_CHOICE_KNOWS_SYNC ? c->other_sync_cpu : d->cpu[0];
	uint32_t with = asked_sync ? d->cpu[0] : other, without = asked_sync ? other : d->cpu[0];
	uint16_t rule = c->rule < WAKEIF_NR_RULES ? c->rule : WAKEIF_RULE_NO_RULE;

	v->r.decided++;
	v->r.agree += agrees;
	v->r.choice_wrong += d->kernel_cpu != t->ret;
	v->r.stalled += d->w->pub.waker_stalled;
	v->r.stalled_agree += d->w->pub.waker_stalled && agrees;
	v->r.by_rule[rule].answers++;
	v->r.by_rule[rule].agree += agrees;
	v->r.sync_right += asked_sync == t->sync;
	v->r.sync_agree[WI_SYNC_LEARNED] += d->sync_mode == WI_SYNC_LEARNED && agrees;
	v->r.sync_agree[WI_SYNC_RECORDED] += (t->sync ? with : without) == t->ret;
	v->r.sync_agree[WI_SYNC_NEVER] += without == t->ret;
	v->r.sync_agree[WI_SYNC_ALWAYS] += with == t->ret;
	if (t->target != WI_CPU_NONE && c->target != WI_CPU_NONE) {
		v->r.affine_asked++;
		v->r.affine_agree += c->target == t->target;
	}
	check_forms(v, d, t);
	tag(v, d, agrees);
}

void wi_validate_sink(void *ctx, const struct wi_replay_decision *d)
{
	struct wi_validate *v = ctx;
	struct told *t;

	if (v->err.code || !d->counts || d->w->pub.class_ != WAKEIF_SELECT || !d->nr_models)
		return;
	t = find_told(v, d->w->pub.wake_ns, d->w->pub.pid);
	if (t && t->decided)
		judge(v, d, t);
}

const struct wi_validate_results *wi_validate_finish(struct wi_validate *v, struct wi_err *err)
{
	if (v->tags)
		wi_tags_finish(v->tags);
	if (v->logic) {
		check_logic(v, UINT64_MAX);
		v->r.logic = *wi_logic_results(v->logic);
	}
	for (size_t i = 0; i < v->nr; i++)
		v->r.not_in_trace += v->told[i].decided && !v->told[i].seen;
	if (!v->err.code)
		return &v->r;
	*err = v->err;
	return NULL;
}

void wi_validate_merge(struct wi_validate_results *into, const struct wi_validate_results *from)
{
#define ADD(field) into->field += from->field
	ADD(nr_traces);
	ADD(truth_wakeups);
	ADD(truth_forks);
	ADD(truth_execs);
	ADD(not_in_trace);
	ADD(decided);
	ADD(agree);
	ADD(in_set);
	ADD(tagged);
	ADD(tagged_agree);
	ADD(gave_up);
	ADD(stalled);
	ADD(stalled_agree);
	ADD(stalled_tagged);
	ADD(stalled_tagged_agree);
	ADD(sync_right);
	ADD(affine_agree);
	ADD(affine_asked);
	ADD(choice_wrong);
	for (int i = 0; i < WI_NR_SYNC_MODES; i++)
		ADD(sync_agree[i]);
	for (int i = 0; i < WAKEIF_NR_CLASSES; i++) {
		ADD(by_class[i].decided);
		ADD(by_class[i].not_decided);
		ADD(by_class[i].not_told);
	}
	for (int i = 0; i < WAKEIF_NR_RULES; i++) {
		ADD(by_rule[i].answers);
		ADD(by_rule[i].agree);
		ADD(by_rule[i].tagged);
		ADD(by_rule[i].tagged_agree);
	}
	for (int i = 0; i < WI_NR_CLOSED_FORMS; i++) {
		ADD(forms[i].cases);
		ADD(forms[i].hold);
	}
#undef ADD
	into->has_tags |= from->has_tags;
	into->has_logic |= from->has_logic;
	wi_logic_merge(&into->logic, &from->logic);
}
