/* SPDX-License-Identifier: GPL-2.0-or-later */
/* select_idle_cpu() since it looks for idle cores and idle CPUs in one walk: 5.13 and later, with what was proposed for
 * it. */
#include "models/fair_priv.h"

/* SIS_CACHE: is an idle CPU reserved for whoever left it a moment ago? */
static bool hot(const struct fair *f, uint32_t cpu)
{
	if (!f->k->cache || !f->in->hot_until || f->in->now_ns >= f->in->hot_until[cpu])
		return false;
	fair_step(f, WI_FAIR_STEP_HOT, 0, cpu, 0);
	return true;
}

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
static bool walk(const struct fair *f, wakeif_word *cpus, uint32_t from, bool want_core, struct fair_scan *s)
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
static struct fair_scan scan_llc(const struct fair *f, const struct wakeif_domain *d, bool want_core, uint32_t target,
				 uint32_t budget)
{
	struct wi_fair_machine *m = f->m;
	uint32_t words = m->nr_words, from = f->k->from_target ? target : target + 1;
	wakeif_word *cpus = m->scratch, *part = m->scratch + words;
	struct fair_scan s = { .found = WAKEIF_CPU_NONE,
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
			 const struct wi_fair_budget_range *budget, struct fair_scan *s)
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
static void core_by_mask(const struct fair *f, const struct wakeif_domain *d, uint32_t target, struct fair_scan *s)
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

void fair_search(const struct fair *f, const struct wakeif_domain *d, bool want_core, uint32_t target,
		 struct fair_scan *s)
{
	struct wi_fair_budget_range b = budget_of(f, want_core, target);
	bool util = f->k->budget == WI_FAIR_BUDGET_UTIL, masks = by_mask(f, d->span);

	*s = (struct fair_scan){ .found = WAKEIF_CPU_NONE, .rule = WAKEIF_RULE_BUDGET_ZERO };
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
uint32_t fair_search_node(const struct fair *f, const struct wakeif_domain *llc, uint32_t target)
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
	for (uint32_t c;
	     found == WAKEIF_CPU_NONE && (c = fair_wrap_next(&w, left, f->m->nr_words)) != WAKEIF_CPU_NONE;) {
		const struct wakeif_domain *d = f->m->llc[c];

		if (!d)
			continue;
		for (uint32_t i = 0; i < f->m->nr_words; i++)
			left[i] &= ~d->span[i];
		uint32_t first = f->m->llc_id[c];
		bool cores = f->m->smt && f->in->ask->idle_cores && f->in->ask->idle_cores(f->in->ask->ctx, first);
		struct fair_scan s;

		fair_search(f, d, cores, first, &s);

		if (s.clears && f->in->cleared)
			wi_mask_set(f->in->cleared, first);
		found = s.found;
	}
	f->r->walk = own;
	return found;
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
