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
static bool weigh(const struct fair *f, const struct wakeif_domain *d, const struct loads *l, bool sync,
		  int64_t *this_eff, int64_t *prev_eff)
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
	bool turn = !f->r->sync_looked_at && !f->quiet && !ask->weight && f->k->sync == WI_FAIR_SYNC_OFF &&
		    !sync_filtered(f);
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
	struct fair_scan s;

	fair_search(f, d, cores, target, &s);

	f->r->clears_idle_cores = s.clears;
	f->r->walk.instead = prev_aff != WAKEIF_CPU_NONE ? prev_aff : recent != WAKEIF_CPU_NONE ? recent : target;
	f->r->walk.instead_rule = prev_aff != WAKEIF_CPU_NONE ? WAKEIF_RULE_PREV_IDLE
				  : recent != WAKEIF_CPU_NONE ? WAKEIF_RULE_RECENT
							      : WAKEIF_RULE_NO_RULE;
	if (s.found != WAKEIF_CPU_NONE)
		return answer(f, s.found, s.rule);
	if (f->k->sis_node) {
		uint32_t c = fair_search_node(f, d, target);

		if (c != WAKEIF_CPU_NONE)
			return answer(f, c, WAKEIF_RULE_OTHER_LLC);
	}
	return answer(f, f->r->walk.instead,
		      f->r->walk.instead_rule != WAKEIF_RULE_NO_RULE ? f->r->walk.instead_rule : s.rule);
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

static uint32_t other_sync(const struct wi_fair_inputs *in, const struct wi_fair_result *r,
			   struct wi_fair_result *other)
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
