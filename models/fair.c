/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * select_task_rq_fair(), wake_affine() and select_idle_sibling() in our own words. The order of tests is the kernel's:
 * it decides which race is lost, and it is checked against recorded sequences of idle tests.
 */
#include "models/fair_priv.h"

#define SD_FLAGS                                                                                                       \
	(WAKEIF_SD_BALANCE_EXEC | WAKEIF_SD_BALANCE_FORK | WAKEIF_SD_BALANCE_WAKE) /* = WF_EXEC, WF_FORK, WF_TTWU */

static uint32_t answer(const struct fair *f, uint32_t cpu, enum wakeif_rule rule)
{
	f->r->cpu = cpu;
	f->r->rule = (uint16_t)rule;
	fair_step(f, WI_FAIR_STEP_ANSWER, 0, cpu, rule);
	return cpu;
}

static uint32_t queued_on_waker(const struct fair *f)
{
	uint32_t nr = f->in->cpu[f->in->waker_cpu].nr_running,
		 delayed = f->k->less_delayed ? f->in->delayed_on_waker : 0;

	return nr > delayed ? nr - delayed : 0;
}

static bool wide(const struct fair *f)
{
	const struct wi_fair_inputs *in = f->in;
	bool is = wi_fair_wide(in->waker_flips, in->wakee_flips, f->m->topology->llc_size[in->waker_cpu]);

	fair_step(f, WI_FAIR_STEP_WIDE, 0, in->waker_cpu, is);
	return is;
}

enum affine_answer { NO_OPINION, WAKER, PREV };

static enum affine_answer affine_idle(const struct fair *f, bool sync)
{
	const struct wi_fair_inputs *in = f->in;
	uint32_t w = in->waker_cpu, p = in->prev_cpu;

	if (fair_idle(f, w, WI_FAIR_AFFINE)) {
		f->r->affine = WAKEIF_AFFINE_IDLE_WAKER;
		if (f->k->affine_idle == WI_FAIR_AFFINE_OR)
			return WAKER;
		if (wi_fair_share(f->m, w, p)) {
			if (!fair_idle(f, p, WI_FAIR_AFFINE))
				return WAKER;
			f->r->affine = WAKEIF_AFFINE_IDLE_PREV;
			return PREV;
		}
	}
	uint32_t nr = queued_on_waker(f);

	fair_step(f, WI_FAIR_STEP_SYNC, 0, w, nr);
	if (nr == 1) {
		f->r->sync_looked_at = true;
		if (sync) {
			f->r->affine = WAKEIF_AFFINE_SYNC;
			return WAKER;
		}
	}
	if (f->k->affine_idle == WI_FAIR_AFFINE_PREV && fair_idle(f, p, WI_FAIR_AFFINE)) {
		f->r->affine = WAKEIF_AFFINE_IDLE_PREV;
		return PREV;
	}
	return NO_OPINION;
}

static bool sync_filtered(const struct fair *f)
{
	return f->in->waker_exiting && !f->k->sync_exiting;
}

struct loads {
	int64_t here, wakee, there, current; /* waker's CPU, wakee, previous CPU, waker */
};

/* Both sides of the comparison; false: nothing but the waker loads its CPU. */
static bool weigh(const struct fair *f, const struct wakeif_domain *d, const struct loads *l, bool sync, int64_t *this_eff,
		  int64_t *prev_eff)
{
	const uint32_t *capacity = f->m->topology->capacity;
	bool bias = f->k->wa_bias;

	if (sync && l->current > l->here)
		return false;
	*this_eff = (l->here - (sync ? l->current : 0) + l->wakee) * (bias ? 100 : 1) * capacity[f->in->prev_cpu];
	*prev_eff = (l->there - l->wakee) * (bias ? 100 + ((int32_t)d->imbalance_pct - 100) / 2 : 1) *
		    capacity[f->in->waker_cpu];
	if (sync && !f->k->weight_le)
		++*prev_eff;
	return true;
}

static bool less_or_equal(const struct fair *f, int64_t this_eff, int64_t prev_eff)
{
	return f->k->weight_le ? this_eff <= prev_eff : this_eff < prev_eff;
}

static int64_t load_of_task(const struct fair *f, uint32_t task)
{
	return task != WAKEIF_TASK_NONE ? (int64_t)f->in->ask->task_load(f->in->ask->ctx, task) : 0;
}

/* wake_affine_weight(): all in 64 bits with sign, as the kernel's longs. */
static bool affine_weight(const struct fair *f, const struct wakeif_domain *d, bool sync)
{
	const struct wi_fair_inputs *in = f->in;
	const struct wi_fair_ask *ask = in->ask;
	uint32_t w = in->waker_cpu, p = in->prev_cpu;
	/* A lone waker has been asked about sync before: it is known which CPU that leads to. */
	bool turn = !f->r->sync_looked_at && !f->quiet && !ask->weight && f->k->sync == WI_FAIR_SYNC_OFF && !sync_filtered(f);
	struct loads l = { .here = (int64_t)ask->cpu_load(ask->ctx, w, false) };
	int64_t here, there;

	f->r->sync_looked_at = f->r->weighed = true;
	if (sync || turn)
		l.current = load_of_task(f, in->waker);
	if (turn || !sync || l.current <= l.here) {
		l.wakee = load_of_task(f, in->wakee);
		l.there = (int64_t)ask->cpu_load(ask->ctx, p, false);
	}
	if (turn) {
		f->r->turned_told = true;
		f->r->turned_target = !weigh(f, d, &l, !sync, &here, &there) || less_or_equal(f, here, there) ? w : p;
	}
	if (!weigh(f, d, &l, sync, &here, &there)) {
		f->r->prev_eff = INT64_MAX;
		return !ask->weight || ask->weight(ask->ctx, 0, INT64_MAX);
	}
	f->r->this_eff = here;
	f->r->prev_eff = there;
	fair_step(f, WI_FAIR_STEP_THIS_EFF, 0, w, here > 0 ? (uint64_t)here : 0);
	fair_step(f, WI_FAIR_STEP_PREV_EFF, 0, p, there > 0 ? (uint64_t)there : 0);
	return ask->weight ? ask->weight(ask->ctx, here, there) : less_or_equal(f, here, there);
}

static uint64_t load_of(const struct fair *f, uint32_t cpu)
{
	return f->in->ask->cpu_load(f->in->ask->ctx, cpu, false);
}

static uint64_t node_load(const struct fair *f, uint32_t cpu, uint64_t *capacity)
{
	const struct wakeif_topology *t = f->m->topology;
	const wakeif_word *node = t->span[WAKEIF_NODE][t->group[WAKEIF_NODE][cpu]];
	uint64_t load = 0;

	*capacity = 0;
	wi_mask_for_each (c, node, f->m->nr_words) {
		if (!wi_mask_test(t->online, c))
			continue;
		load += load_of(f, c);
		*capacity += t->capacity[c];
	}
	return load;
}

/*
 * Before 4.14: the waker's CPU, or its node, gets the wakee when it is not more loaded with it than the other without;
 * a sync waker's own load is left out. 4.13 pulls within an LLC whatever the loads are.
 */
static bool affine_old(const struct fair *f, const struct wakeif_domain *d, bool sync)
{
	const struct wi_fair_inputs *in = f->in;
	uint64_t here_capacity = f->m->topology->capacity[in->waker_cpu],
		 there_capacity = f->m->topology->capacity[in->prev_cpu];
	bool shared = f->k->affine_idle == WI_FAIR_AFFINE_SHARED;
	int64_t here, there, wakee;

	if (shared && wi_fair_share(f->m, in->waker_cpu, in->prev_cpu))
		return true;
	f->r->sync_looked_at = f->r->weighed = true;
	here = (int64_t)(shared ? node_load(f, in->waker_cpu, &here_capacity) : load_of(f, in->waker_cpu));
	there = (int64_t)(shared ? node_load(f, in->prev_cpu, &there_capacity) : load_of(f, in->prev_cpu));
	wakee = in->wakee != WAKEIF_TASK_NONE ? (int64_t)in->ask->task_load(in->ask->ctx, in->wakee) : 0;
	if (sync && in->waker != WAKEIF_TASK_NONE)
		here -= (int64_t)in->ask->task_load(in->ask->ctx, in->waker);
	int64_t this_eff = 100 * (int64_t)there_capacity,
		prev_eff = (100 + ((int32_t)d->imbalance_pct - 100) / 2) * (int64_t)here_capacity;
	if (here > 0) {
		this_eff *= here + wakee;
		prev_eff *= there;
	}
	f->r->this_eff = this_eff;
	f->r->prev_eff = prev_eff;
	fair_step(f, WI_FAIR_STEP_THIS_EFF, 0, in->waker_cpu, (uint64_t)this_eff);
	fair_step(f, WI_FAIR_STEP_PREV_EFF, 0, in->prev_cpu, (uint64_t)prev_eff);
	return in->ask->weight ? in->ask->weight(in->ask->ctx, this_eff, prev_eff) : this_eff <= prev_eff;
}

static uint32_t wake_affine(const struct fair *f, const struct wakeif_domain *d, bool sync)
{
	const struct wi_fair_inputs *in = f->in;
	bool old = f->k->affine_idle >= WI_FAIR_AFFINE_LOAD;
	enum affine_answer a = f->k->wa_idle && !old ? affine_idle(f, sync) : NO_OPINION;

	if (a == NO_OPINION) {
		bool waker = old ? affine_old(f, d, sync) : f->k->wa_weight && affine_weight(f, d, sync);

		a = waker ? WAKER : PREV;
		f->r->affine = waker ? WAKEIF_AFFINE_LOAD_WAKER : WAKEIF_AFFINE_LOAD_PREV;
	}
	uint32_t cpu = a == WAKER ? in->waker_cpu : in->prev_cpu;

	fair_step(f, WI_FAIR_STEP_AFFINE, 0, cpu, f->r->affine);
	return cpu;
}

static bool target_fits(const struct fair *f, uint32_t cpu)
{
	return !f->m->asymmetric || fair_fits(f->util, f->m->topology->capacity[cpu]);
}

/* select_idle_capacity(): machines with CPUs of different size. */
static uint32_t idle_capacity(const struct fair *f, const struct wakeif_domain *d, uint32_t target)
{
	wakeif_word *cpus = f->m->scratch;
	struct fair_wrap w = fair_wrap(target);
	uint32_t best = WAKEIF_CPU_NONE, best_capacity = 0;

	for (uint32_t i = 0; i < f->m->nr_words; i++)
		cpus[i] = d->span[i] & f->in->allowed[i];
	for (uint32_t c; (c = fair_wrap_next(&w, cpus, f->m->nr_words)) != WAKEIF_CPU_NONE;) {
		uint32_t capacity = f->m->topology->capacity[c];

		if (!fair_idle_or_sidle(f, c, WI_FAIR_CAPACITY))
			continue;
		if (fair_fits(f->util, capacity))
			return c;
		if (capacity > best_capacity) {
			best = c;
			best_capacity = capacity;
		}
	}
	return best;
}

/* SIS_CACHE: is an idle CPU reserved for whoever left it a moment ago? */
static bool hot(const struct fair *f, uint32_t cpu)
{
	if (!f->k->cache || !f->in->hot_until || f->in->now_ns >= f->in->hot_until[cpu])
		return false;
	fair_step(f, WI_FAIR_STEP_HOT, 0, cpu, 0);
	return true;
}

struct scan {
	uint32_t found;
	enum wakeif_rule rule; /* of found, or why nothing was */
	bool clears;	       /* no idle core: the flag goes */
	uint32_t left;	       /* CPUs that may be looked at */
	uint32_t idle_cpu;     /* while looking for a core: the first idle CPU met */
	uint32_t hot_cpu;      /* SIS_CACHE v1: the first hot one met, and how many may still be skipped */
	uint32_t skips;
};

/* The core of cpu, tested in ascending order; all siblings count, also those where the wakee may not run. */
static bool core_is_idle(const struct fair *f, uint32_t cpu, const wakeif_word *cpus, uint32_t *idle_cpu)
{
	bool all = true;

	wi_mask_for_each (s, f->m->core[cpu], f->m->nr_words) {
		if (!fair_idle(f, s, WI_FAIR_CORE) || (f->k->cache == WI_FAIR_CACHE_RFC && hot(f, s))) {
			all = false;
			if (*idle_cpu != WAKEIF_CPU_NONE)
				break;
			if (fair_is_sidle(f, s) && wi_mask_test(cpus, s)) {
				*idle_cpu = s;
				break;
			}
			continue;
		}
		if (*idle_cpu == WAKEIF_CPU_NONE && wi_mask_test(cpus, s))
			*idle_cpu = s;
	}
	return all;
}

/* One walk over cpus, which loses the cores that were looked at. false: over, for better or worse. */
static bool walk(const struct fair *f, wakeif_word *cpus, uint32_t from, bool want_core, struct scan *s)
{
	uint32_t words = f->m->nr_words;
	struct fair_wrap w = fair_wrap(from);

	for (uint32_t c; (c = fair_wrap_next(&w, cpus, words)) != WAKEIF_CPU_NONE;) {
		if (want_core) {
			if (core_is_idle(f, c, cpus, &s->idle_cpu)) {
				s->found = c;
				s->rule = WAKEIF_RULE_IDLE_CORE;
				return false;
			}
			for (uint32_t i = 0; i < words; i++)
				cpus[i] &= ~f->m->core[c][i];
			continue;
		}
		if (!s->left) {
			s->rule = WAKEIF_RULE_BUDGET;
			return false;
		}
		if (s->left != UINT32_MAX)
			s->left--;
		if (!fair_idle_or_sidle(f, c, WI_FAIR_SCAN) || !fair_cookie_fits(f, c))
			continue;
		if (hot(f, c)) {
			if (f->k->cache == WI_FAIR_CACHE_RFC)
				continue;
			if (s->skips) {
				s->skips--;
				if (s->hot_cpu == WAKEIF_CPU_NONE)
					s->hot_cpu = c;
				continue;
			}
		}
		s->found = c;
		s->rule = WAKEIF_RULE_IDLE_CPU;
		return false;
	}
	return true;
}

/* select_idle_cpu() of 5.12 and later, with a given budget (CPUs to look at; UINT32_MAX: all). */
static struct scan scan_llc(const struct fair *f, const struct wakeif_domain *d, bool want_core, uint32_t target,
			    uint32_t budget)
{
	struct wi_fair_machine *m = f->m;
	uint32_t words = m->nr_words, from = f->k->from_target ? target : target + 1;
	wakeif_word *cpus = m->scratch, *part = m->scratch + words;
	struct scan s = { .found = WAKEIF_CPU_NONE,
			  .rule = WAKEIF_RULE_NONE_IDLE,
			  .left = budget,
			  .idle_cpu = WAKEIF_CPU_NONE,
			  .hot_cpu = WAKEIF_CPU_NONE };
	bool on = true;

	s.skips = f->k->cache == WI_FAIR_CACHE_V1 && budget != UINT32_MAX ? (budget + 1) / 2 : UINT32_MAX;
	for (uint32_t i = 0; i < words; i++)
		cpus[i] = d->span[i] & f->in->allowed[i];
	if (f->k->cluster_scan && m->clusters && m->cluster[target]) {
		const wakeif_word *cluster = m->cluster[target]->span;

		for (uint32_t i = 0; i < words; i++)
			part[i] = cpus[i] & cluster[i];
		on = walk(f, part, from, want_core, &s);
		if (s.found != WAKEIF_CPU_NONE && s.rule == WAKEIF_RULE_IDLE_CPU)
			s.rule = WAKEIF_RULE_CLUSTER;
		for (uint32_t i = 0; i < words; i++)
			cpus[i] &= ~cluster[i];
	}
	if (on)
		on = walk(f, cpus, from, want_core, &s);
	if (want_core && s.found == WAKEIF_CPU_NONE) {
		s.clears = true;
		s.found = s.idle_cpu;
		if (s.found != WAKEIF_CPU_NONE)
			s.rule = WAKEIF_RULE_CORE_NONE;
	} else if (s.found == WAKEIF_CPU_NONE && s.hot_cpu != WAKEIF_CPU_NONE) {
		s.found = s.hot_cpu;
		s.rule = WAKEIF_RULE_IDLE_CPU;
	}
	return s;
}

/* May the idle mask be read as a whole, with nobody to be told of single tests? */
static bool by_mask(const struct fair *f, const wakeif_word *span)
{
	const struct wi_fair_inputs *in = f->in;

	if (in->ask->idle || (in->trace && !f->quiet) || f->k->cache || in->core_cookie)
		return false;
	for (uint32_t i = 0; in->unknown && i < f->m->nr_words; i++)
		if (in->unknown[i] & span[i])
			return false;
	return true;
}

/* One walk of scan_by_mask(); done CPUs were looked at before. Position of the first idle CPU of all, or UINT32_MAX. */
static uint32_t walk_by_mask(const struct fair *f, const wakeif_word *cpus, uint32_t from, uint32_t *done,
			     uint32_t *found)
{
	uint32_t words = f->m->nr_words, steps;
	wakeif_word *hits = f->m->scratch + 3 * words;

	for (uint32_t i = 0; i < words; i++)
		hits[i] = cpus[i] & (f->in->idle[i] | (f->sidle ? f->sidle[i] : 0));
	*found = fair_first_hit(cpus, hits, words, from, &steps);
	*done += steps;
	return *found != WAKEIF_CPU_NONE ? *done : UINT32_MAX;
}

static bool walk_gets_there(const struct wi_fair_walk *w, const struct wi_fair_budget_range *b)
{
	return w->at != UINT32_MAX && w->at <= b->n;
}

/* Would another budget of the range end the walk otherwise? */
static bool walk_doubted(const struct wi_fair_walk *w, const struct wi_fair_budget_range *b)
{
	return (w->at <= b->min) != (w->at <= b->n) || (w->at <= b->max) != (w->at <= b->n);
}

static uint32_t looks_of(const struct wi_fair_walk *w, const struct wi_fair_budget_range *b)
{
	return w->length < b->n ? w->length : b->n;
}

/* scan_llc() for an idle CPU, on whole masks: the CPU that is met first is found if the budget reaches it. */
static void scan_by_mask(const struct fair *f, const struct wakeif_domain *d, uint32_t target,
			 const struct wi_fair_budget_range *budget, struct scan *s)
{
	struct wi_fair_machine *m = f->m;
	uint32_t words = m->nr_words, from = f->k->from_target ? target : target + 1, done = 0, at = UINT32_MAX,
		 cpu = WAKEIF_CPU_NONE;
	wakeif_word *cpus = m->scratch, *part = m->scratch + words;

	for (uint32_t i = 0; i < words; i++)
		cpus[i] = d->span[i] & f->in->allowed[i];
	if (f->k->cluster_scan && m->clusters && m->cluster[target]) {
		const wakeif_word *cluster = m->cluster[target]->span;

		for (uint32_t i = 0; i < words; i++) {
			part[i] = cpus[i] & cluster[i];
			cpus[i] &= ~cluster[i];
		}
		at = walk_by_mask(f, part, from, &done, &cpu);
		s->rule = WAKEIF_RULE_CLUSTER;
	}
	if (at == UINT32_MAX) {
		at = walk_by_mask(f, cpus, from, &done, &cpu);
		s->rule = WAKEIF_RULE_IDLE_CPU;
	}
	f->r->walk = (struct wi_fair_walk){ .what = WI_FAIR_WALK_CPU,
					    .budget = *budget,
					    .before = f->r->examined,
					    .at = at,
					    .length = done,
					    .cpu = cpu,
					    .rule = (uint16_t)s->rule };
	f->r->examined += looks_of(&f->r->walk, budget);
	f->r->budget_matters |= walk_doubted(&f->r->walk, budget);
	if (walk_gets_there(&f->r->walk, budget))
		s->found = cpu;
	else
		s->rule = done > budget->n ? WAKEIF_RULE_BUDGET : WAKEIF_RULE_NONE_IDLE;
}

/*
 * scan_llc() for an idle core on machines of one word. Siblings are tested in ascending order; once an idle CPU is
 * known a busy one ends the look at a core.
 */
static void core_by_mask(const struct fair *f, const struct wakeif_domain *d, uint32_t target, struct scan *s)
{
	uint32_t from = f->k->from_target ? target : target + 1;
	uint64_t idle = f->in->idle[0], left = d->span[0] & f->in->allowed[0], behind = from < 64 ? ~0ull << from : 0;

	s->rule = WAKEIF_RULE_NONE_IDLE;
	while (left) {
		uint32_t c = (uint32_t)__builtin_ctzll(left & behind ? left & behind : left);
		uint64_t core = f->m->core[c][0], busy = core & ~idle, usable = core & idle & left, last = 0;

		if (busy && s->found != WAKEIF_CPU_NONE)
			last = busy;
		else if (busy && usable)
			last = busy & (~0ull << __builtin_ctzll(usable));
		f->r->examined += (uint32_t)__builtin_popcountll(last ? core & (last ^ (last - 1)) : core);
		if (!busy) {
			s->found = c;
			s->rule = WAKEIF_RULE_IDLE_CORE;
			return;
		}
		if (s->found == WAKEIF_CPU_NONE && usable) {
			s->found = (uint32_t)__builtin_ctzll(usable);
			s->rule = WAKEIF_RULE_CORE_NONE;
		}
		left &= ~core;
	}
	s->clears = true;
}

/* The same search with another budget, leaving no traces of it. */
static uint32_t scan_instead(const struct fair *f, const struct wakeif_domain *d, bool want_core, uint32_t target,
			     uint32_t budget)
{
	struct wi_fair_result r = *f->r;
	struct fair g = *f;

	g.r = &r;
	g.quiet = true;
	return budget ? scan_llc(&g, d, want_core, target, budget).found : WAKEIF_CPU_NONE;
}

static bool no_sidle_in(const struct fair *f, const wakeif_word *span)
{
	return !f->sidle || !(f->sidle[0] & span[0]);
}

/* Budgets min and max instead of the one in use: a search that is slow because of it is run again. */
static void try_budgets(const struct fair *f, const struct wakeif_domain *d, bool want_core, uint32_t target,
			const struct wi_fair_budget_range *b, uint32_t found)
{
	/* Less can only lose what was found; more can only find what was not. */
	bool lost = found != WAKEIF_CPU_NONE && b->min < b->n && (!want_core || !b->min);
	bool more = found == WAKEIF_CPU_NONE && b->max > b->n && (!want_core || !b->n);

	if (lost || more)
		f->r->budget_matters |= scan_instead(f, d, want_core, target, lost ? b->min : b->max) != found;
}

static struct wi_fair_budget_range budget_of(const struct fair *f, bool want_core, uint32_t target)
{
	const struct wi_fair_ask *ask = f->in->ask;
	struct wi_fair_budget_range b = { UINT32_MAX, UINT32_MAX, UINT32_MAX };

	if (f->k->budget == WI_FAIR_BUDGET_UTIL) {
		b.min = b.max = 0;
		b.n = ask->scan_budget(ask->ctx, target, &b.min, &b.max);
	} else if (f->k->budget == WI_FAIR_BUDGET_PROP && !want_core && ask->prop_budget) {
		uint32_t nr = ask->prop_budget(ask->ctx, target);

		b.n = b.min = b.max = nr ? nr - 1 : 0;
	}
	if (b.n != UINT32_MAX)
		fair_step(f, WI_FAIR_STEP_BUDGET, 0, target, b.n);
	return b;
}

static void search(const struct fair *f, const struct wakeif_domain *d, bool want_core, uint32_t target, struct scan *s)
{
	struct wi_fair_budget_range b = budget_of(f, want_core, target);
	bool util = f->k->budget == WI_FAIR_BUDGET_UTIL, masks = by_mask(f, d->span);

	*s = (struct scan){ .found = WAKEIF_CPU_NONE, .rule = WAKEIF_RULE_BUDGET_ZERO };
	if (masks && !want_core) {
		scan_by_mask(f, d, target, &b, s);
		if (!b.n && util)
			s->rule = WAKEIF_RULE_BUDGET_ZERO;
		return;
	}
	f->r->walk = (struct wi_fair_walk){ .what = want_core ? WI_FAIR_WALK_CORE : WI_FAIR_WALK_UNTOLD, .budget = b };
	if (b.n || !util) {
		if (masks && f->m->nr_words == 1 && no_sidle_in(f, d->span) && !(f->k->cluster_scan && f->m->clusters))
			core_by_mask(f, d, target, s);
		else
			*s = scan_llc(f, d, want_core, target, b.n);
	}
	if (!f->in->ask->idle)
		try_budgets(f, d, want_core, target, &b, s->found);
}

/* The other LLCs of the node (c5214e13ad60, never released). */
static uint32_t search_node(const struct fair *f, const struct wakeif_domain *llc, uint32_t target)
{
	const struct wakeif_topology *t = f->m->topology;
	const struct wakeif_domain *parent = llc + 1;

	if (parent >= t->domains[target] + t->nr_domains[target] || parent->flags & WAKEIF_SD_NUMA)
		return WAKEIF_CPU_NONE;
	wakeif_word *left = f->m->scratch + 2 * f->m->nr_words;
	struct fair_wrap w = fair_wrap(target);
	const struct wi_fair_walk own = f->r->walk; /* told is the search of the target's LLC */
	uint32_t found = WAKEIF_CPU_NONE;

	for (uint32_t i = 0; i < f->m->nr_words; i++)
		left[i] = parent->span[i] & ~llc->span[i];
	for (uint32_t c; found == WAKEIF_CPU_NONE && (c = fair_wrap_next(&w, left, f->m->nr_words)) != WAKEIF_CPU_NONE;) {
		const struct wakeif_domain *d = f->m->llc[c];

		if (!d)
			continue;
		for (uint32_t i = 0; i < f->m->nr_words; i++)
			left[i] &= ~d->span[i];
		uint32_t first = f->m->llc_id[c];
		bool cores = f->m->smt && f->in->ask->idle_cores && f->in->ask->idle_cores(f->in->ask->ctx, first);
		struct scan s;

		search(f, d, cores, first, &s);

		if (s.clears && f->in->cleared)
			wi_mask_set(f->in->cleared, first);
		found = s.found;
	}
	f->r->walk = own;
	return found;
}

/* 4.8 .. 5.11: idle core, idle CPU, idle sibling of the target, each in a walk of its own. */
static uint32_t three_passes(const struct fair *f, const struct wakeif_domain *d, bool want_core, uint32_t target)
{
	struct wi_fair_machine *m = f->m;
	const struct wi_fair_ask *ask = f->in->ask;
	uint32_t words = m->nr_words, first_sidle = WAKEIF_CPU_NONE, left = UINT32_MAX;
	enum wakeif_rule why = WAKEIF_RULE_NONE_IDLE;
	wakeif_word *cpus = m->scratch;
	struct fair_wrap w = fair_wrap(target);

	for (uint32_t i = 0; i < words; i++)
		cpus[i] = d->span[i] & f->in->allowed[i];
	if (want_core) {
		for (uint32_t c; (c = fair_wrap_next(&w, cpus, words)) != WAKEIF_CPU_NONE;) {
			bool all = true;

			wi_mask_for_each (s, m->core[c], words) {
				all = fair_idle(f, s, WI_FAIR_CORE);
				if (!all)
					break;
			}
			if (all)
				return answer(f, c, WAKEIF_RULE_IDLE_CORE);
			for (uint32_t i = 0; i < words; i++)
				cpus[i] &= ~m->core[c][i];
		}
		f->r->clears_idle_cores = true;
	}
	for (uint32_t i = 0; i < words; i++)
		cpus[i] = d->span[i] & (f->k->prop_core_budget ? ~0ull : f->in->allowed[i]);
	if (f->k->budget == WI_FAIR_BUDGET_PROP && ask->prop_budget) {
		left = ask->prop_budget(ask->ctx, target);
		left = left ? left - 1 : 0;
		fair_step(f, WI_FAIR_STEP_BUDGET, 0, target, left);
	}
	w = fair_wrap(target);
	for (uint32_t c; (c = fair_wrap_next(&w, cpus, words)) != WAKEIF_CPU_NONE;) {
		if (!left) {
			why = WAKEIF_RULE_BUDGET;
			break;
		}
		left -= left != UINT32_MAX;
		if (!wi_mask_test(f->in->allowed, c))
			continue;
		if (f->k->sidle == WI_FAIR_SIDLE_SECOND) {
			if (fair_idle(f, c, WI_FAIR_SCAN))
				return answer(f, c, WAKEIF_RULE_IDLE_CPU);
			if (first_sidle == WAKEIF_CPU_NONE && fair_is_sidle(f, c))
				first_sidle = c;
		} else if (fair_idle_or_sidle(f, c, WI_FAIR_SCAN)) {
			return answer(f, c, WAKEIF_RULE_IDLE_CPU);
		}
	}
	if (first_sidle != WAKEIF_CPU_NONE)
		return answer(f, first_sidle, WAKEIF_RULE_IDLE_CPU);
	if (m->smt)
		wi_mask_for_each (s, m->core[target], words) {
			if (!wi_mask_test(f->in->allowed, s) || !wi_mask_test(d->span, s))
				continue;
			if (f->k->sidle == WI_FAIR_SIDLE_SECOND) {
				if (fair_idle(f, s, WI_FAIR_SMT))
					return answer(f, s, WAKEIF_RULE_SMT_SIBLING);
				if (first_sidle == WAKEIF_CPU_NONE && fair_is_sidle(f, s))
					first_sidle = s;
			} else if (fair_idle_or_sidle(f, s, WI_FAIR_SMT)) {
				return answer(f, s, WAKEIF_RULE_SMT_SIBLING);
			}
		}
	if (first_sidle != WAKEIF_CPU_NONE)
		return answer(f, first_sidle, WAKEIF_RULE_SMT_SIBLING);
	return answer(f, target, why);
}

static bool same_cluster(const struct fair *f, uint32_t a, uint32_t b)
{
	return !f->k->cluster_scan || !f->m->clusters || a == b || f->m->cluster_id[a] == f->m->cluster_id[b];
}

static bool kthread_stays(const struct fair *f, uint32_t prev)
{
	const struct wi_fair_inputs *in = f->in;

	if (f->k->kthread == WI_FAIR_KTHREAD_NONE || !in->waker_pinned || prev != in->waker_cpu)
		return false;
	if (f->k->kthread == WI_FAIR_KTHREAD_TASK && !in->waker_in_task)
		return false;
	return in->cpu[prev].nr_running <= 1 && target_fits(f, prev);
}

/* The CPU used before the previous one, if it will do; else WAKEIF_CPU_NONE. */
static uint32_t recent_cpu(const struct fair *f, uint32_t prev, uint32_t target)
{
	const struct wi_fair_inputs *in = f->in;
	uint32_t c = in->recent_cpu;

	if (f->k->recent == WI_FAIR_RECENT_NONE)
		return WAKEIF_CPU_NONE;
	if (f->k->recent == WI_FAIR_RECENT_ALWAYS)
		f->r->recent_reached = true;
	if (c == WAKEIF_CPU_NONE || c >= f->m->nr_cpus)
		return WAKEIF_CPU_NONE;
	fair_step(f, WI_FAIR_STEP_RECENT, 0, c, 0);
	if (c == prev || c == target)
		return WAKEIF_CPU_NONE;
	if (!wi_fair_share(f->m, c, target)) {
		fair_step(f, WI_FAIR_STEP_NO_SHARE, 0, c, 0);
		return WAKEIF_CPU_NONE;
	}
	if (!fair_idle_or_sidle(f, c, WI_FAIR_SIS))
		return WAKEIF_CPU_NONE;
	uint32_t tested = f->k->recent_fixed ? c : prev;

	if (!wi_mask_test(in->allowed, tested)) {
		fair_step(f, WI_FAIR_STEP_NOT_ALLOWED, 0, tested, 0);
		return WAKEIF_CPU_NONE;
	}
	if (!target_fits(f, c))
		return WAKEIF_CPU_NONE;
	f->r->recent_reached = true;
	return c;
}

/* select_idle_sibling() */
static uint32_t idle_sibling(const struct fair *f, uint32_t prev, uint32_t target)
{
	const struct wi_fair_inputs *in = f->in;
	struct wi_fair_machine *m = f->m;
	uint32_t prev_aff = WAKEIF_CPU_NONE, recent;

	f->r->target = target;
	fair_step(f, WI_FAIR_STEP_TARGET, 0, target, 0);
	if (fair_idle_or_sidle(f, target, WI_FAIR_SIS) && target_fits(f, target))
		return answer(f, target, WAKEIF_RULE_TARGET_IDLE);
	if (prev != target && wi_fair_share(m, prev, target) && fair_idle_or_sidle(f, prev, WI_FAIR_SIS) &&
	    target_fits(f, prev)) {
		if (same_cluster(f, prev, target))
			return answer(f, prev, WAKEIF_RULE_PREV_IDLE);
		prev_aff = prev;
	}
	if (kthread_stays(f, prev))
		return answer(f, prev, WAKEIF_RULE_KTHREAD);
	recent = recent_cpu(f, prev, target);
	if (recent != WAKEIF_CPU_NONE && same_cluster(f, recent, target))
		return answer(f, recent, WAKEIF_RULE_RECENT);
	if (m->asymmetric && m->asym[target]) {
		uint32_t c = idle_capacity(f, m->asym[target], target);

		return answer(f, c != WAKEIF_CPU_NONE ? c : target,
			      c != WAKEIF_CPU_NONE ? WAKEIF_RULE_CAPACITY : WAKEIF_RULE_NONE_IDLE);
	}
	const struct wakeif_domain *d = m->llc[target];

	if (!d)
		return answer(f, target, WAKEIF_RULE_NO_LLC);
	bool cores = m->smt && (target == in->waker_cpu ? in->waker_idle_cores : in->prev_idle_cores);

	if (m->smt) {
		f->r->asked_cores = true;
		fair_step(f, WI_FAIR_STEP_WANT_CORE, 0, target, cores);
	}
	f->r->wanted_core = cores;
	f->r->scanned = true;
	if (f->k->passes == WI_FAIR_THREE_PASSES)
		return three_passes(f, d, cores, target);
	if (m->smt && !cores && wi_fair_share(m, prev, target)) {
		wi_mask_for_each (s, m->core[prev], m->nr_words) {
			if (s == prev || !wi_mask_test(in->allowed, s) || !wi_mask_test(d->span, s))
				continue;
			if (fair_idle_or_sidle(f, s, WI_FAIR_SMT)) {
				f->r->scanned = false;
				return answer(f, s, WAKEIF_RULE_SMT_SIBLING);
			}
		}
	}
	struct scan s;

	search(f, d, cores, target, &s);

	f->r->clears_idle_cores = s.clears;
	f->r->walk.instead = prev_aff != WAKEIF_CPU_NONE ? prev_aff : recent != WAKEIF_CPU_NONE ? recent : target;
	f->r->walk.instead_rule = prev_aff != WAKEIF_CPU_NONE ? WAKEIF_RULE_PREV_IDLE
				  : recent != WAKEIF_CPU_NONE ? WAKEIF_RULE_RECENT
							      : WAKEIF_RULE_NO_RULE;
	if (s.found != WAKEIF_CPU_NONE)
		return answer(f, s.found, s.rule);
	if (f->k->sis_node) {
		uint32_t c = search_node(f, d, target);

		if (c != WAKEIF_CPU_NONE)
			return answer(f, c, WAKEIF_RULE_OTHER_LLC);
	}
	return answer(f, f->r->walk.instead, f->r->walk.instead_rule != WAKEIF_RULE_NO_RULE ? f->r->walk.instead_rule : s.rule);
}

/* SIS_CURRENT and SIS_SHORT: two tasks that run briefly meet on the waker's CPU. */
static bool meet_on_waker(const struct fair *f)
{
	const struct wi_fair_inputs *in = f->in;

	if (f->k->sync < WI_FAIR_SYNC_CURRENT || !in->short_tasks || in->cpu[in->waker_cpu].nr_running > 1)
		return false;
	if (f->k->sync == WI_FAIR_SYNC_SHORT)
		return !in->waker_idle_cores;
	return in->mutual && !in->waker_flips && !in->wakee_flips;
}

/* The innermost domain of the waker's CPU that lets wake_affine choose between it and the previous one; NULL none. */
static const struct wakeif_domain *affine_domain(const struct fair *f)
{
	const struct wakeif_topology *t = f->m->topology;
	uint32_t w = f->in->waker_cpu;

	for (uint32_t i = 0; i < t->nr_domains[w]; i++) {
		const struct wakeif_domain *d = &t->domains[w][i];

		if ((d->flags & WAKEIF_SD_WAKE_AFFINE) && wi_mask_test(d->span, f->in->prev_cpu))
			return d;
	}
	return NULL;
}

/* Index of the outermost domain, of those that follow one another from the innermost on, with the flag of fork or exec.
 */
static uint32_t slow_level(const struct fair *f, bool want)
{
	const struct wakeif_topology *t = f->m->topology;
	uint32_t w = f->in->waker_cpu, level = UINT32_MAX;

	for (uint32_t i = 0; i < t->nr_domains[w]; i++) {
		if (t->domains[w][i].flags & f->in->flags & SD_FLAGS)
			level = i;
		else if (!want)
			break;
	}
	return level;
}

static uint32_t select_wakeup(const struct fair *f)
{
	const struct wi_fair_inputs *in = f->in;
	uint32_t w = in->waker_cpu, p = in->prev_cpu, target = p;
	bool filtered = sync_filtered(f), sync = (in->flags & WAKEIF_WF_SYNC) && !filtered,
	     may = wi_mask_test(in->allowed, w);
	const struct wakeif_domain *d = NULL;

	if (f->k->current_cpu && (in->flags & WI_FAIR_WF_CURRENT_CPU) && may)
		return answer(f, w, WAKEIF_RULE_WAKER);
	if (may && meet_on_waker(f))
		return answer(f, w, WAKEIF_RULE_ON_CURRENT);
	f->r->wide = wide(f);
	if (!may)
		fair_step(f, WI_FAIR_STEP_WAKER_FORBIDDEN, 0, w, 0);
	f->r->wanted_affine = !f->r->wide && may;
	if (f->r->wanted_affine)
		d = affine_domain(f);
	if (w != p)
		f->r->affine = f->r->wanted_affine ? WAKEIF_AFFINE_NO_DOMAIN : WAKEIF_AFFINE_WIDE;
	if (d && w != p)
		target = wake_affine(f, d, sync);
	f->r->sync_looked_at &= !filtered;
	/* No domain of an ordinary kernel balances at wakeup: the slow path is for those that do. */
	uint32_t level = d ? UINT32_MAX : slow_level(f, f->r->wanted_affine);

	if (level != UINT32_MAX)
		return answer(f, wi_fair_idlest_cpu(in, f->r, level, w), WAKEIF_RULE_SLOW);
	if (f->k->sync == WI_FAIR_SYNC_VAGIN && target == w && in->cpu[w].nr_running == 1) {
		f->r->sync_looked_at |= !filtered;
		if (sync)
			return answer(f, w, WAKEIF_RULE_WAKE_SYNC);
	}
	return idle_sibling(f, p, target);
}

static uint32_t select_cpu(const struct fair *f)
{
	const struct wi_fair_inputs *in = f->in;

	if (in->flags & WAKEIF_WF_TTWU)
		return select_wakeup(f);
	uint32_t level = slow_level(f, false);

	if (level != UINT32_MAX)
		return answer(f, wi_fair_idlest_cpu(in, f->r, level, in->waker_cpu), WAKEIF_RULE_SLOW);
	return answer(f, in->prev_cpu, WAKEIF_RULE_STAY);
}

static struct fair begin(const struct wi_fair_inputs *in, struct wi_fair_result *r)
{
	const struct wi_fair_knobs *k = in->knobs;
	struct fair f = { .in = in, .m = in->machine, .k = k, .r = r };

	if (k->sidle != WI_FAIR_SIDLE_NONE && !(k->sidle == WI_FAIR_SIDLE_TIP2026 && in->wakee_idle_policy))
		f.sidle = in->sidle;
	if (in->machine->asymmetric && in->wakee != WAKEIF_TASK_NONE)
		f.util = in->ask->task_util(in->ask->ctx, in->wakee);
	return f;
}

void wi_fair_decide(const struct wi_fair_inputs *in, struct wi_fair_result *r)
{
	struct fair f = begin(in, r);

	*r = (struct wi_fair_result){ .cpu = in->prev_cpu, .target = WAKEIF_CPU_NONE };
	select_cpu(&f);
}

void wi_fair_search(const struct wi_fair_inputs *in, uint32_t target, struct wi_fair_result *r)
{
	struct fair f = begin(in, r);

	*r = (struct wi_fair_result){ .cpu = in->prev_cpu, .target = WAKEIF_CPU_NONE };
	idle_sibling(&f, in->prev_cpu, target);
}

static uint32_t other_sync(const struct wi_fair_inputs *in, const struct wi_fair_result *r, struct wi_fair_result *other)
{
	struct fair f = begin(in, other);
	bool sync = in->flags & WAKEIF_WF_SYNC;
	uint32_t target;

	f.quiet = true;
	if (f.k->sync != WI_FAIR_SYNC_OFF) {
		struct wi_fair_inputs turned = *in;

		turned.flags ^= WAKEIF_WF_SYNC;
		turned.cleared = NULL;
		f.in = &turned;
		return select_cpu(&f);
	}
	/* Not sync and the waker alone on its CPU: sync would have chosen that before anything else. */
	if (r->turned_told)
		target = r->turned_target;
	else if (!sync && f.k->wa_idle && queued_on_waker(&f) == 1 && r->affine != WAKEIF_AFFINE_IDLE_WAKER)
		target = in->waker_cpu;
	else
		target = wake_affine(&f, affine_domain(&f), !sync);
	if (target == r->target)
		return r->cpu;
	struct wi_fair_inputs plain = *in;

	plain.cleared = NULL;
	f.in = &plain;
	return idle_sibling(&f, in->prev_cpu, target);
}

uint32_t wi_fair_other_sync(const struct wi_fair_inputs *in, struct wi_fair_result *r)
{
	r->other_target = WAKEIF_CPU_NONE;
	r->other_asked_cores = false;
	r->other_walk.what = WI_FAIR_NO_WALK;
	if (!r->sync_looked_at)
		return r->cpu;
	struct wi_fair_result other = { .cpu = in->prev_cpu, .target = WAKEIF_CPU_NONE };
	uint32_t cpu = other_sync(in, r, &other);

	r->other_target = other.target;
	r->other_asked_cores = other.asked_cores;
	r->other_walk = other.walk;
	return cpu;
}

/* Does a search that was not told look by look end alike with both budgets? */
static bool ends_alike(const struct wi_fair_walk *w, const struct wi_fair_budget_range *b)
{
	const struct wi_fair_budget_range *was = &w->budget;

	if (w->what == WI_FAIR_WALK_CORE)
		return !b->n == !was->n && !b->min == !was->min && !b->max == !was->max;
	return b->n == was->n && b->min == was->min && b->max == was->max;
}

bool wi_fair_rebudget(struct wi_fair_result *r, uint32_t *other, const struct wi_fair_budget_range *budget,
		      const struct wi_fair_budget_range *other_budget)
{
	struct wi_fair_walk *w = &r->walk;
	const struct wi_fair_walk *o = &r->other_walk;
	bool there;

	if (w->what == WI_FAIR_WALK_CPU) {
		there = walk_gets_there(w, budget);
		r->cpu = there ? w->cpu : w->instead;
		r->rule = there					   ? w->rule
			  : w->instead_rule != WAKEIF_RULE_NO_RULE ? w->instead_rule
			  : !budget->n				   ? WAKEIF_RULE_BUDGET_ZERO
			  : w->length > budget->n		   ? WAKEIF_RULE_BUDGET
								   : WAKEIF_RULE_NONE_IDLE;
		r->examined = w->before + looks_of(w, budget);
		r->budget_matters = walk_doubted(w, budget);
	} else if (w->what != WI_FAIR_NO_WALK && !ends_alike(w, budget)) {
		return false;
	}
	if (r->other_target == WAKEIF_CPU_NONE)
		*other = r->cpu;
	else if (o->what == WI_FAIR_WALK_CPU)
		*other = walk_gets_there(o, other_budget) ? o->cpu : o->instead;
	else
		return o->what == WI_FAIR_NO_WALK || ends_alike(o, other_budget);
	return true;
}
