/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdlib.h>
#include <string.h>

#include "analyzer/base/cpumask.h"
#include "models/fair_state_priv.h"

#define MIGRATION_COST_NS 500000u /* sysctl_sched_migration_cost: longer sleeps reserve no CPU (SIS_CACHE) */

/* ---- what fair.c asks ---- */

static uint64_t less(uint64_t a, uint64_t b)
{
	return a > b ? a - b : 0;
}

static uint64_t task_load(void *ctx, uint32_t task)
{
	const struct wi_fair_state *s = ctx;

	return task == NONE ? 0 : s->host->task_load(s->host->ctx, task);
}

static uint64_t task_util(void *ctx, uint32_t task)
{
	const struct wi_fair_state *s = ctx;

	return task == NONE ? 0 : s->host->task_util(s->host->ctx, task);
}

static uint64_t cpu_load(void *ctx, uint32_t cpu, bool without)
{
	const struct wi_fair_state *s = ctx;
	uint64_t load =
		s->opt.runnable_load ? s->host->runnable_load(s->host->ctx, cpu) : s->host->cpu_load(s->host->ctx, cpu);

	return without ? less(load, task_load(ctx, s->in.wakee)) : load;
}

static uint64_t cpu_util(void *ctx, uint32_t cpu, bool without)
{
	const struct wi_fair_state *s = ctx;
	uint64_t util = s->host->cpu_util(s->host->ctx, cpu);

	return without ? less(util, task_util(ctx, s->in.wakee)) : util;
}

/* A task's own part of the runnable average is near its utilisation while it runs undisturbed, as one that execs does.
 */
static uint64_t cpu_runnable(void *ctx, uint32_t cpu, bool without)
{
	const struct wi_fair_state *s = ctx;
	uint64_t runnable = s->host->cpu_runnable(s->host->ctx, cpu);

	return without ? less(runnable, task_util(ctx, s->in.wakee)) : runnable;
}

/* The longest time between two periodic balances of a domain while a CPU of it idles: twice as many ms as it has CPUs.
 */
static bool still_holds(const struct wi_fair_state *s, uint32_t llc_id, uint64_t since_ns, uint64_t now_ns)
{
	return now_ns - since_ns < s->machine.topology->llc_size[llc_id] * 2000000ull;
}

static bool correct(const struct wi_fair_state *s, uint32_t llc_id, struct wi_fair_budget_range *b)
{
	const struct evidence *e = &s->evidence[llc_id];
	const struct wi_fair_budget_range was = *b;

	if (e->least && still_holds(s, llc_id, e->least_ns, s->in.now_ns) && b->n < e->least)
		b->n = e->least;
	else if (e->below && still_holds(s, llc_id, e->below_ns, s->in.now_ns) && b->n >= e->below)
		b->n = e->below - 1;
	b->min = b->min < b->n ? b->min : b->n;
	b->max = b->max > b->n ? b->max : b->n;
	return b->n != was.n || b->min != was.min || b->max != was.max;
}

struct wi_fair_budget_range fair_budget(struct wi_fair_state *s, uint32_t cpu)
{
	uint32_t llc_id = s->machine.llc_id[cpu], i = 0;
	struct wi_fair_budget_range *b;

	if (s->opt.knobs.budget == WI_FAIR_BUDGET_NONE)
		return (struct wi_fair_budget_range){ UINT32_MAX, UINT32_MAX, UINT32_MAX };
	if (s->opt.nr_idle_scan >= 0)
		return (struct wi_fair_budget_range){ (uint32_t)s->opt.nr_idle_scan, (uint32_t)s->opt.nr_idle_scan,
						      (uint32_t)s->opt.nr_idle_scan };
	for (; i < s->budget.nr; i++)
		if (s->budget.llc_id[i] == llc_id)
			return s->budget.of[i];
	i = s->budget.nr < 2 ? s->budget.nr++ : 1; /* the search of a whole node looks at more of them */
	b = &s->budget.of[i];
	s->budget.llc_id[i] = llc_id;
	b->n = s->host->scan_budget(s->host->ctx, s->machine.topology->group[WAKEIF_LLC][cpu], &b->min, &b->max);
	if (s->evidence)
		s->budget.corrected |= correct(s, llc_id, b);
	return *b;
}

static uint32_t scan_budget(void *ctx, uint32_t cpu, uint32_t *min, uint32_t *max)
{
	struct wi_fair_budget_range b = fair_budget(ctx, cpu);

	*min = b.min;
	*max = b.max;
	return b.n;
}

static uint32_t prop_budget(void *ctx, uint32_t cpu)
{
	const struct wi_fair_state *s = ctx;

	return s->opt.prop_budget(s->opt.prop_ctx, cpu);
}

static void set_idle_cores(struct wi_fair_state *s, uint32_t llc_id, bool has)
{
	s->cores[llc_id] = has;
	s->since[llc_id] = fair_cores_idled(s, llc_id);
}

static bool idle_cores(void *ctx, uint32_t cpu)
{
	const struct wi_fair_state *s = ctx;

	return fair_has_idle_cores(s, s->machine.llc_id[cpu]);
}

/* ---- life ---- */

static bool needs_lengths(const struct wi_fair_knobs *k)
{
	return k->sync >= WI_FAIR_SYNC_CURRENT || k->cache;
}

/* Between a decision and what came of it only estimates change: those that a search reads, but for nr_idle_scan. */
static bool can_be_late(const struct wi_fair_state *s)
{
	const struct wi_fair_knobs *k = &s->opt.knobs;

	return k->passes == WI_FAIR_ONE_PASS && k->budget != WI_FAIR_BUDGET_PROP && !k->sis_node &&
	       k->sync != WI_FAIR_SYNC_SHORT && !s->machine.asymmetric && !s->picked;
}

struct wi_fair_state *wi_fair_state_new(const struct wakeif_host *host, const struct wi_fair_state_opts *opts)
{
	struct wi_fair_state *s = calloc(1, sizeof(*s));
	uint32_t n = host->topology->nr_cpus, words = host->topology->nr_words;

	if (!s)
		goto nomem;
	s->opt = *opts;
	s->host = host;
	s->nr_cpus = n;
	s->nr_words = words;
	if (!wi_fair_machine_init(&s->machine, host->topology))
		goto nomem;
	s->cores = calloc(n, sizeof(*s->cores));
	s->since = calloc(n, sizeof(*s->since));
	s->usable = calloc(words, sizeof(*s->usable));
	s->cleared = calloc(words, sizeof(*s->cleared));
	s->hot_until = calloc(n, sizeof(*s->hot_until));
	s->slept = calloc(n, sizeof(*s->slept));
	if (opts->observed)
		s->evidence = calloc(n, sizeof(*s->evidence));
	if (opts->core_sched) {
		s->picked = calloc(n, sizeof(*s->picked));
		s->core_cookie = malloc(n * sizeof(*s->core_cookie));
		if (!s->picked || !s->core_cookie)
			goto nomem;
		for (uint32_t c = 0; c < n; c++)
			s->core_cookie[c] = WAKEIF_COOKIE_UNKNOWN;
	}
	s->kept = calloc((size_t)4 * words, sizeof(*s->kept));
	s->host_follows = host->cores_idled && !opts->forks_elsewhere;
	if (!s->kept || (!s->host_follows && !wi_idle_cores_init(&s->own, host->topology)))
		goto nomem;
	if ((opts->observed && !s->evidence) || !s->cores || !s->since || !s->usable || !s->cleared || !s->hot_until ||
	    !s->slept)
		goto nomem;
	for (uint32_t c = 0; c < n; c++) {
		s->slept[c] = NONE;
		set_idle_cores(s, c, false);
	}
	s->ask = (struct wi_fair_ask){ .ctx = s,
				       .cpu_load = cpu_load,
				       .cpu_util = cpu_util,
				       .cpu_runnable = cpu_runnable,
				       .task_load = task_load,
				       .task_util = task_util,
				       .scan_budget = scan_budget,
				       .prop_budget = opts->prop_budget ? prop_budget : NULL,
				       .idle_cores = idle_cores };
	s->in = (struct wi_fair_inputs){ .machine = &s->machine,
					 .knobs = &s->opt.knobs,
					 .ask = &s->ask,
					 .core_cookie = s->core_cookie,
					 .hot_until = opts->knobs.cache ? s->hot_until : NULL,
					 .cleared = opts->knobs.sis_node ? s->cleared : NULL };
	s->last.task = NONE;
	s->late = can_be_late(s);
	if (host->observe_only && s->host_follows && !s->picked && !needs_lengths(&opts->knobs))
		host->observe_only(host->ctx, 1u << WAKEIF_PLACED | 1u << WAKEIF_TASK_BEGAN);
	return s;
nomem:
	if (host->say)
		host->say(host->ctx, "out of memory");
	wi_fair_state_free(s);
	return NULL;
}

void wi_fair_state_free(struct wi_fair_state *s)
{
	if (!s)
		return;
	wi_fair_machine_fini(&s->machine);
	free(s->recent);
	free(s->lengths);
	free(s->cores);
	free(s->since);
	free(s->kept);
	wi_idle_cores_fini(&s->own);
	free(s->usable);
	free(s->cleared);
	free(s->hot_until);
	free(s->slept);
	free(s->evidence);
	free(s->picked);
	free(s->core_cookie);
	free(s);
}

static bool room_for(struct wi_fair_state *s, uint32_t slot)
{
	if (slot < s->nr_slots)
		return true;
	uint32_t n = slot < 32 ? 64 : slot < UINT32_MAX / 2 ? slot * 2 : slot + 1;
	uint32_t *recent = realloc(s->recent, n * sizeof(*recent));

	if (!recent)
		return false;
	s->recent = recent;
	if (needs_lengths(&s->opt.knobs)) {
		struct lengths *l = realloc(s->lengths, n * sizeof(*l));

		if (!l)
			return false;
		s->lengths = l;
	}
	for (uint32_t i = s->nr_slots; i < n; i++) {
		recent[i] = NONE;
		if (s->lengths)
			s->lengths[i] = (struct lengths){ .last_wakee = NONE };
	}
	s->nr_slots = n;
	return true;
}

/* ---- what happens ---- */

static void average(uint64_t *avg, uint64_t sample)
{
	*avg = *avg ? *avg + (uint64_t)(((int64_t)sample - (int64_t)*avg) / 8) : sample;
}

static void follow_lengths(struct wi_fair_state *s, const struct wakeif_happening *h)
{
	struct lengths *l = &s->lengths[h->task];

	switch (h->type) {
	case WAKEIF_TASK_BEGAN:
		*l = (struct lengths){ .last_wakee = NONE };
		break;
	case WAKEIF_TASK_ENQUEUED:
		if (l->since_ns && !l->runs && !(h->flags & WAKEIF_EV_NEW))
			average(&l->sleep_ns, h->now_ns - l->since_ns);
		l->since_ns = 0;
		break;
	case WAKEIF_TASK_RUNS:
		l->since_ns = h->now_ns;
		l->runs = true;
		break;
	case WAKEIF_TASK_PREEMPTED:
	case WAKEIF_TASK_SLEEPS:
		if (l->runs && l->since_ns)
			l->ran_ns += h->now_ns - l->since_ns;
		l->since_ns = 0;
		l->runs = false;
		if (h->type == WAKEIF_TASK_PREEMPTED)
			break;
		average(&l->run_ns, l->ran_ns);
		l->ran_ns = 0;
		l->since_ns = h->now_ns;
		if (h->cpu < s->nr_cpus)
			s->slept[h->cpu] = h->task;
		break;
	case WAKEIF_TASK_LOST:
		l->since_ns = l->ran_ns = 0;
		l->runs = false;
		break;
	default:
		break;
	}
}

/* SIS_CACHE: whoever left the CPU idle may be back soon. */
static void reserve(struct wi_fair_state *s, uint32_t cpu, uint64_t now_ns)
{
	uint32_t task = s->slept[cpu];

	s->hot_until[cpu] = 0;
	s->slept[cpu] = NONE;
	if (task >= s->nr_slots)
		return;
	const struct lengths *l = &s->lengths[task];

	if (!l->runs && l->since_ns == now_ns && l->sleep_ns && l->sleep_ns < MIGRATION_COST_NS)
		s->hot_until[cpu] = now_ns + l->sleep_ns;
}

static void core_picked(struct wi_fair_state *s, uint32_t cpu)
{
	uint32_t cookie = 0;
	uint64_t latest = 0;

	wi_mask_for_each (c, s->machine.core[cpu], s->nr_words) {
		if (s->picked[c].what == PICKED_TASK && s->picked[c].number > latest) {
			latest = s->picked[c].number;
			cookie = s->picked[c].cookie;
		} else if (s->picked[c].what == PICKED_UNKNOWN && !latest) {
			cookie = WAKEIF_COOKIE_UNKNOWN;
		}
	}
	wi_mask_for_each (c, s->machine.core[cpu], s->nr_words)
		s->core_cookie[c] = cookie;
}

static void follow_picks(struct wi_fair_state *s, const struct wakeif_happening *h)
{
	struct picked *p = &s->picked[h->cpu];

	switch (h->type) {
	case WAKEIF_TASK_RUNS:
		*p = (struct picked){ ++s->nr_picks, s->host->cookie(s->host->ctx, h->task), PICKED_TASK };
		break;
	case WAKEIF_TASK_PREEMPTED:
	case WAKEIF_TASK_SLEEPS:
	case WAKEIF_CPU_IDLES:
		p->what = PICKED_IDLE; /* until it is told what runs instead */
		break;
	case WAKEIF_CPU_LOST:
		p->what = PICKED_UNKNOWN;
		break;
	default:
		return;
	}
	core_picked(s, h->cpu);
}

/* How far did the kernel look? */
static void learn_budget(struct wi_fair_state *s, uint32_t cpu, uint64_t now_ns)
{
	uint32_t llc_id = s->machine.llc_id[s->r.target];
	struct evidence *e = &s->evidence[llc_id];
	uint32_t at = s->r.walk.at;

	if (cpu == s->r.walk.cpu) {
		e->least = at;
		e->least_ns = now_ns;
		if (e->below <= at)
			e->below = 0;
		if (e->gave_up <= at)
			e->gave_up = 0;
	} else if (cpu == s->r.target) {
		/* That CPU may have ceased to be idle unseen: one such case proves nothing. */
		if (e->gave_up && still_holds(s, llc_id, e->gave_up_ns, now_ns)) {
			e->below = e->gave_up > at ? e->gave_up : at;
			e->below_ns = now_ns;
			if (e->least >= e->below)
				e->least = 0;
		}
		e->gave_up = at;
		e->gave_up_ns = now_ns;
	}
}

/* The answer had has_idle_cores of the searched LLC been the other way round. */
static void other_cores(struct wi_fair_state *s)
{
	struct wi_fair_inputs in = s->in;
	bool at_waker = s->r.target == in.waker_cpu, was = at_waker ? in.waker_idle_cores : in.prev_idle_cores;
	struct wi_fair_result r;

	in.waker_idle_cores ^= at_waker || wi_fair_share(&s->machine, in.waker_cpu, s->r.target);
	in.prev_idle_cores ^= !at_waker || wi_fair_share(&s->machine, in.prev_cpu, s->r.target);
	in.cleared = NULL;
	if (s->late) {
		in.idle = s->kept;
		in.sidle = in.sidle ? s->kept + s->nr_words : NULL;
		in.unknown = in.unknown ? s->kept + 2 * s->nr_words : NULL;
		in.allowed = s->kept + 3 * s->nr_words;
		in.waker_pinned = false; /* that rule was passed over, and needs the view's CPUs */
		wi_fair_search(&in, s->r.target, &r);
	} else {
		wi_fair_decide(&in, &r);
	}
	s->last.other_cores_cpu = r.cpu;
	s->last.other_cores = !was;
	s->last.other_clears = r.clears_idle_cores;
}

/* What the look at the other has_idle_cores needs later on. */
static void keep(struct wi_fair_state *s)
{
	uint32_t words = s->nr_words;

	for (uint32_t i = 0; i < words; i++) {
		s->kept[i] = s->in.idle[i];
		s->kept[words + i] = s->in.sidle ? s->in.sidle[i] : 0;
		s->kept[2 * words + i] = s->in.unknown ? s->in.unknown[i] : 0;
		s->kept[3 * words + i] = s->in.allowed[i];
	}
	if (s->opt.knobs.budget == WI_FAIR_BUDGET_UTIL)
		fair_budget(s, s->r.target);
}

/* What the recording kernel chose tells what it knew. */
static void learn(struct wi_fair_state *s, const struct wakeif_happening *h)
{
	if (h->task != s->last.task)
		return;
	if (h->cpu != s->last.prev && h->cpu != s->last.waker && h->task < s->nr_slots &&
	    s->opt.knobs.recent == WI_FAIR_RECENT_ALWAYS)
		s->recent[h->task] = s->last.prev;
	if (s->r.walk.what == WI_FAIR_WALK_CPU && s->r.walk.at != UINT32_MAX &&
	    s->opt.knobs.budget == WI_FAIR_BUDGET_UTIL)
		learn_budget(s, h->cpu, h->now_ns);
	if (h->cpu == s->last.cpu || !s->last.asked_cores)
		return;
	if (s->late)
		other_cores(s);
	if (h->cpu == s->last.other_cores_cpu)
		set_idle_cores(s, s->machine.llc_id[s->r.target], s->last.other_cores && !s->last.other_clears);
}

/* What every event of a trace leads to, and nothing is remembered of unless lengths are kept. */
#define ONLY_LENGTHS                                                                                                   \
	(1u << WAKEIF_TASK_RUNS | 1u << WAKEIF_TASK_PREEMPTED | 1u << WAKEIF_TASK_SLEEPS | 1u << WAKEIF_TASK_LOST |    \
	 1u << WAKEIF_TICK)

void wi_fair_state_observe(struct wi_fair_state *s, const struct wakeif_happening *h)
{
	bool cpu_known = h->cpu < s->nr_cpus;

	if (__builtin_expect(s->picked && cpu_known, 0))
		follow_picks(s, h);
	if (!s->lengths && (ONLY_LENGTHS >> h->type & 1))
		return;
	if (!s->host_follows)
		wi_idle_cores_happened(&s->own, h);
	switch (h->type) {
	case WAKEIF_CPU_IDLES:
		if (s->opt.knobs.cache && h->cpu < s->nr_cpus)
			reserve(s, h->cpu, h->now_ns);
		return;
	case WAKEIF_CPU_WAKES:
	case WAKEIF_CPU_LOST:
	case WAKEIF_TICK:
		return;
	case WAKEIF_PLACED:
		if (s->opt.observed && !(h->flags & WAKEIF_EV_NEW))
			learn(s, h);
		s->last.task = NONE;
		if ((h->flags & WAKEIF_EV_NEW) && h->task < s->nr_slots && h->other < s->nr_cpus)
			s->recent[h->task] = h->other;
		break;
	case WAKEIF_TASK_BEGAN:
		if (!room_for(s, h->task)) {
			s->failed = true;
			return;
		}
		s->recent[h->task] = NONE;
		break;
	default:
		break;
	}
	if (s->lengths && h->task < s->nr_slots)
		follow_lengths(s, h);
}

/* ---- decisions ---- */

/* Before the first decision nothing is known of has_idle_cores: it is set where a core idles now. */
static void begin(struct wi_fair_state *s, const struct wakeif_view *v)
{
	s->began = true;
	for (uint32_t c = 0; s->picked && c < s->nr_cpus; c++)
		if (s->picked[c].what == PICKED_UNKNOWN && wi_mask_test(v->idle, c)) {
			s->picked[c].what = PICKED_IDLE;
			core_picked(s, c);
		}
	for (uint32_t c = 0; c < s->nr_cpus && s->machine.smt; c++) {
		bool all = wi_mask_test(v->idle, c);

		for (uint32_t i = 0; i < s->nr_words; i++)
			all &= !(s->machine.core[c][i] & ~v->idle[i]);
		if (all)
			set_idle_cores(s, s->machine.llc_id[c], true);
	}
}

static const wakeif_word *without_preempted(struct wi_fair_state *s, const struct wakeif_view *v)
{
	memcpy(s->usable, v->idle, s->nr_words * sizeof(*s->usable));
	wi_mask_for_each (c, v->idle, s->nr_words) {
		if (v->now_ns - v->cpu[c].idle_since_ns > s->opt.vcpu_preempted_ns)
			wi_mask_clear(s->usable, c);
	}
	return s->usable;
}

static void fill_wakeup(struct wi_fair_state *s, const struct wakeif_wakeup *w)
{
	struct wi_fair_inputs *in = &s->in;
	const struct wakeif_host *host = s->host;
	bool waker_known = w->waker_task != WAKEIF_TASK_NONE;

	in->flags = w->class_ == WAKEIF_FORK   ? WAKEIF_WF_FORK
		    : w->class_ == WAKEIF_EXEC ? WAKEIF_WF_EXEC
					       : WAKEIF_WF_TTWU | (w->wake_flags & WAKEIF_WF_SYNC);
	in->now_ns = w->now_ns;
	in->waker_cpu = w->waker_cpu;
	in->prev_cpu = w->prev_cpu;
	in->waker = w->waker_task;
	in->wakee = w->wakee_task;
	in->waker_flips = waker_known ? host->wakee_flips(host->ctx, w->waker_task) : 0;
	in->wakee_flips = w->wakee_task != WAKEIF_TASK_NONE ? host->wakee_flips(host->ctx, w->wakee_task) : 0;
	in->recent_cpu = w->wakee_task < s->nr_slots ? s->recent[w->wakee_task] : NONE;
	in->waker_exiting = w->waker_exiting;
	in->waker_pinned = w->waker_pinned;
	in->waker_in_task = w->context == WAKEIF_CTX_TASK || w->context == WAKEIF_CTX_UNKNOWN;
	in->wakee_idle_policy = w->policy == WAKEIF_POLICY_IDLE;
	in->allowed = w->allowed;
	if (s->picked)
		in->cookie = w->wakee_task != WAKEIF_TASK_NONE ? host->cookie(host->ctx, w->wakee_task)
							       : WAKEIF_COOKIE_UNKNOWN;
}

static void fill_view(struct wi_fair_state *s, const struct wakeif_view *v)
{
	struct wi_fair_inputs *in = &s->in;

	uint32_t waker_llc = s->machine.llc_id[in->waker_cpu], prev_llc = s->machine.llc_id[in->prev_cpu];

	if (!s->host_follows)
		wi_idle_cores_look(&s->own, v->idle);
	in->idle = s->opt.vcpu_preempted_ns ? without_preempted(s, v) : v->idle;
	in->sidle = v->sched_idle_only;
	in->unknown = v->unknown;
	in->cpu = v->cpu;
	in->waker_idle_cores = fair_has_idle_cores(s, waker_llc);
	in->prev_idle_cores = prev_llc == waker_llc ? in->waker_idle_cores : fair_has_idle_cores(s, prev_llc);
}

static bool runs_briefly(const struct wi_fair_state *s, uint32_t task)
{
	return task < s->nr_slots && s->lengths[task].run_ns && s->lengths[task].run_ns < s->opt.knobs.short_run_ns;
}

static void fill_lengths(struct wi_fair_state *s, const struct wakeif_wakeup *w)
{
	struct wi_fair_inputs *in = &s->in;
	uint32_t waker = w->waker_task, wakee = w->wakee_task;

	in->short_tasks = runs_briefly(s, waker) && runs_briefly(s, wakee);
	in->mutual = false;
	if (waker >= s->nr_slots || wakee >= s->nr_slots)
		return;
	if (w->class_ == WAKEIF_SELECT)
		s->lengths[waker].last_wakee = wakee;
	in->mutual = s->lengths[waker].last_wakee == wakee && s->lengths[wakee].last_wakee == waker;
}

/* What the decision leaves behind. */
static void remember(struct wi_fair_state *s, const struct wakeif_wakeup *w, const struct wi_fair_result *r)
{
	if (r->rule == WAKEIF_RULE_ONE_ALLOWED)
		return;
	if (r->recent_reached && w->wakee_task < s->nr_slots)
		s->recent[w->wakee_task] = w->prev_cpu;
	if (s->opt.knobs.recent == WI_FAIR_RECENT_ON_HIT && r->wanted_affine && w->waker_task < s->nr_slots)
		s->recent[w->waker_task] = w->waker_cpu;
	if (r->clears_idle_cores)
		set_idle_cores(s, s->machine.llc_id[r->target], false);
	if (s->in.cleared)
		wi_mask_for_each (c, s->cleared, s->nr_words)
			set_idle_cores(s, c, false);
	if (r->scanned && s->opt.prop_searched)
		s->opt.prop_searched(s->opt.prop_ctx, r->target, r->examined);
}

static void tell(const struct wi_fair_result *r, uint32_t other_sync_cpu, struct wakeif_choice *c)
{
	c->cpu = r->cpu;
	c->rule = r->rule;
	c->affine = r->affine;
	c->target = r->target;
	c->examined = r->examined;
	c->flags = WAKEIF_CHOICE_KNOWS_SYNC | (r->scanned ? WAKEIF_CHOICE_SEARCHED : 0) |
		   (r->wanted_core ? WAKEIF_CHOICE_WANTED_CORE : 0) |
		   (r->budget_matters || r->unknown_matters ? WAKEIF_CHOICE_AMBIGUOUS : 0);
	c->other_sync_cpu = other_sync_cpu;
}

static bool can_answer(const struct wi_fair_state *s, const struct wakeif_wakeup *w)
{
	return !s->failed && w->waker_cpu < s->nr_cpus && w->prev_cpu < s->nr_cpus;
}

static bool one_cpu(const wakeif_word *set, uint32_t words)
{
	uint32_t nr = 0;

	for (uint32_t i = 0; i < words && nr < 2; i++)
		if (set[i])
			nr += set[i] & (set[i] - 1) ? 2 : 1;
	return nr == 1;
}

static void decide(struct wi_fair_state *s, const struct wakeif_wakeup *w)
{
	if (one_cpu(w->allowed, s->nr_words)) { /* the kernel does not ask its class then */
		s->r = (struct wi_fair_result){ .cpu = wi_mask_next(w->allowed, s->nr_words, 0),
						.target = WAKEIF_CPU_NONE,
						.other_target = WAKEIF_CPU_NONE,
						.rule = WAKEIF_RULE_ONE_ALLOWED };
		s->other_sync = s->r.cpu;
		return;
	}
	if (s->in.cleared)
		memset(s->cleared, 0, s->nr_words * sizeof(*s->cleared));
	wi_fair_decide(&s->in, &s->r);
	s->other_sync = wi_fair_other_sync(&s->in, &s->r);
}

static bool is_awaited(const struct wi_fair_state *s, const struct wakeif_wakeup *w)
{
	return s->opt.observed && w->class_ == WAKEIF_SELECT;
}

/* An answer that was taken over, where what came of it will be learned from: what it hangs on becomes its own. */
static void own_what_is_awaited(struct wi_fair_state *s, const struct wakeif_wakeup *w)
{
	if (!is_awaited(s, w))
		return;
	if (!s->rebudgeted)
		s->r = s->taken->r;
	s->rebudgeted = true;
	if (s->r.asked_cores)
		fair_take_inputs(s);
}

static void await(struct wi_fair_state *s, const struct wakeif_wakeup *w, const struct wi_fair_result *r)
{
	s->last.task = NONE;
	if (!is_awaited(s, w) || r->rule == WAKEIF_RULE_ONE_ALLOWED)
		return;
	s->last.task = w->wakee_task;
	s->last.prev = w->prev_cpu;
	s->last.waker = w->waker_cpu;
	s->last.cpu = r->cpu;
	s->last.other_cores_cpu = NONE;
	s->last.asked_cores = r->asked_cores;
	if (s->last.asked_cores && !s->late)
		other_cores(s);
	else if (s->last.asked_cores)
		keep(s);
}

bool wi_fair_state_select(struct wi_fair_state *s, const struct wakeif_wakeup *w, const struct wakeif_view *v,
			  struct wakeif_choice *choice)
{
	const struct wi_fair_result *r;

	s->serial++;
	s->answered = false;
	s->taken = NULL;
	if (!can_answer(s, w) || (w->wakee_task != WAKEIF_TASK_NONE && !room_for(s, w->wakee_task)))
		return false;
	if (!s->began)
		begin(s, v);
	s->asked = s->answered = true;
	s->in.now_ns = w->now_ns;
	s->budget.nr = 0;
	s->budget.corrected = false;
	if (s->lengths)
		fill_lengths(s, w);
	if (s->twin[0] && fair_take_over(s, w)) {
		own_what_is_awaited(s, w);
	} else {
		fill_wakeup(s, w);
		fill_view(s, v);
		decide(s, w);
	}
	r = wi_fair_state_result(s);
	tell(r, s->other_sync, choice);
	await(s, w, r);
	remember(s, w, r);
	return true;
}

const struct wi_fair_inputs *wi_fair_state_inputs(struct wi_fair_state *s)
{
	if (s->taken)
		fair_take_inputs(s);
	return s->asked ? &s->in : NULL;
}

const struct wi_fair_result *wi_fair_state_result(const struct wi_fair_state *s)
{
	return !s->asked ? NULL : s->taken && !s->rebudgeted ? &s->taken->r : &s->r;
}
