/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Linux 3.1 to 3.13: wake_affine by load, then select_idle_sibling. Four forms of the latter (before, with and after
 * "Avoid SMT siblings in select_idle_sibling() if possible", lkml 1321350377.1421.55.camel@twins), the BALANCE_WAKE
 * experiments of February 2012, and the load series of 2013.
 *
 * Read: v3.2.71, v3.3.8, v3.4.113, v3.9.6, v3.13.10. From memory or our own reading: linux-3.1, balance-wake=1..3,
 * load=runnable+burst, throttle. SMT siblings share a core's power equally and all cores are alike, so powers cancel.
 */
#include <stdlib.h>
#include <string.h>

#include "models/builtin.h"
#include "models/cpuset.h"
#include "models/old_domains.h"
#include "models/pelt.h"

enum search_form { SEARCH_3_1, SEARCH_3_2, SEARCH_3_4, SEARCH_3_9 };
enum load_form { LOAD_WEIGHT, LOAD_RUNNABLE, LOAD_RUNNABLE_BURST };
enum wide_form { WIDE_OFF, WIDE_3_12, WIDE_4_4 };

#define MIGRATION_COST_NS 500000
#define SMT_GAIN_POWER 1178 /* of a core with SMT, shared by its threads; 1024 without */

static const uint32_t imbalance_pct[WI_NR_OLD_LEVELS] = { 110, 125, 125, 125 };

struct linux3 {
	const struct wakeif_host *host;
	struct wi_old_domains domains;
	enum search_form search;
	enum load_form load;
	enum wide_form wide;
	uint32_t balance_wake;
	bool powersave;
	uint64_t throttle_ns;
	uint64_t *affine_ns; /* by task slot: last wake_affine attempt + 1; 0 none */
	uint32_t nr_slots;
};

/* One decision. */
struct decision {
	struct linux3 *m;
	const struct wakeif_wakeup *w;
	const struct wakeif_view *v;
	bool sync;
	bool attempted; /* wake_affine was asked */
	struct wakeif_choice *choice;
};

static void linux3_fini(void *model)
{
	struct linux3 *m = model;

	wi_old_domains_fini(&m->domains);
	free(m->affine_ns);
	free(m);
}

static struct linux3 *linux3_new(const struct wakeif_host *host, enum search_form search)
{
	struct linux3 *m = calloc(1, sizeof(*m));

	if (!m || !wi_old_domains_init(&m->domains, host->topology)) {
		free(m);
		host->say(host->ctx, "out of memory");
		return NULL;
	}
	m->host = host;
	m->search = search;
	return m;
}

static bool idle(struct decision *d, uint32_t cpu)
{
	d->choice->examined++;
	return wi_mask_test(d->v->idle, cpu);
}

static bool allowed(const struct decision *d, uint32_t cpu)
{
	return wi_mask_test(d->w->allowed, cpu);
}

static bool share_cache(const struct decision *d, uint32_t a, uint32_t b)
{
	const uint32_t *llc = d->m->domains.topo->group[WAKEIF_LLC];

	return a == b || llc[a] == llc[b];
}

static uint32_t answer(struct decision *d, uint32_t cpu, enum wakeif_rule rule)
{
	d->choice->rule = (uint16_t)rule;
	return cpu;
}

/* ---- select_idle_sibling ---- */

/* First allowed CPU of a group that is idle altogether, CPUs that are not allowed included. except: disqualifies its group. */
static uint32_t idle_group(struct decision *d, const wakeif_word *group, uint32_t except)
{
	uint32_t first = wi_mask_first_from(group, d->w->allowed, d->m->domains.words, 0);

	if (first == WAKEIF_CPU_NONE)
		return WAKEIF_CPU_NONE;
	wi_mask_for_each (c, group, d->m->domains.words)
		if (c == except || !idle(d, c))
			return WAKEIF_CPU_NONE;
	return first;
}

/* The idle group of the domain at index i of target's list. */
static uint32_t search_domain(struct decision *d, uint32_t target, uint32_t i, uint32_t except)
{
	const wakeif_word *group;
	uint32_t c = WAKEIF_CPU_NONE;

	wi_old_groups_begin(&d->m->domains, target, i);
	while (c == WAKEIF_CPU_NONE && (group = wi_old_groups_next(&d->m->domains)))
		c = idle_group(d, group, except);
	return c;
}

static enum wakeif_rule rule_of(const struct wi_old_domain *dom)
{
	return dom->level == WI_OLD_SMT ? WAKEIF_RULE_SMT_SIBLING : dom->child ? WAKEIF_RULE_IDLE_CORE : WAKEIF_RULE_IDLE_CPU;
}

/* Before the patch: from the inside out, any idle CPU. */
static uint32_t search_3_1(struct decision *d, uint32_t target, int llc)
{
	uint32_t nr;
	const struct wi_old_domain *dom = wi_old_domains_of(&d->m->domains, target, &nr);

	for (int i = 0; i <= llc; i++)
		wi_mask_for_each (c, dom[i].span, d->m->domains.words)
			if (allowed(d, c) && idle(d, c))
				return answer(d, c, dom[i].level == WI_OLD_SMT ? WAKEIF_RULE_SMT_SIBLING : WAKEIF_RULE_IDLE_CPU);
	return answer(d, target, WAKEIF_RULE_NONE_IDLE);
}

/* The patch as first merged: all levels but SMT from the inside out, then SMT. */
static uint32_t search_3_2(struct decision *d, uint32_t target, int llc)
{
	uint32_t nr, c;
	const struct wi_old_domain *dom = wi_old_domains_of(&d->m->domains, target, &nr);

	for (int smt = 0; smt <= 1; smt++)
		for (int i = 0; i <= llc; i++)
			if ((dom[i].level == WI_OLD_SMT) == smt && (c = search_domain(d, target, (uint32_t)i, WAKEIF_CPU_NONE)) != WAKEIF_CPU_NONE)
				return answer(d, c, rule_of(&dom[i]));
	return answer(d, target, WAKEIF_RULE_NONE_IDLE);
}

/* 3.3 and later: from the LLC inwards. */
static uint32_t search_inwards(struct decision *d, uint32_t target, int llc, uint32_t except)
{
	uint32_t nr, c;
	const struct wi_old_domain *dom = wi_old_domains_of(&d->m->domains, target, &nr);

	for (int i = llc; i >= 0; i--)
		if ((c = search_domain(d, target, (uint32_t)i, except)) != WAKEIF_CPU_NONE)
			return answer(d, c, rule_of(&dom[i]));
	return answer(d, target, WAKEIF_RULE_NONE_IDLE);
}

static uint32_t select_idle_sibling(struct decision *d, uint32_t target)
{
	uint32_t waker = d->w->waker_cpu, prev = d->w->prev_cpu;
	int llc = wi_old_llc(&d->m->domains, target);

	d->choice->target = target;
	if (d->m->search == SEARCH_3_9) {
		if (idle(d, target))
			return answer(d, target, WAKEIF_RULE_TARGET_IDLE);
		if (prev != target && share_cache(d, prev, target) && idle(d, prev))
			return answer(d, prev, WAKEIF_RULE_PREV_IDLE);
	} else if ((target == waker && idle(d, waker)) || (target == prev && idle(d, prev))) {
		return answer(d, target, WAKEIF_RULE_TARGET_IDLE);
	} else if (d->m->balance_wake == 3 && waker != prev && target == waker && share_cache(d, prev, target) && idle(d, prev)) {
		return answer(d, prev, WAKEIF_RULE_PREV_IDLE);
	}
	if (llc < 0)
		return answer(d, target, WAKEIF_RULE_NO_LLC);
	d->choice->flags |= WAKEIF_CHOICE_SEARCHED;
	switch (d->m->search) {
	case SEARCH_3_1:
		return search_3_1(d, target, llc);
	case SEARCH_3_2:
		return search_3_2(d, target, llc);
	case SEARCH_3_4:
		return search_inwards(d, target, llc, WAKEIF_CPU_NONE);
	default:
		return search_inwards(d, target, llc, target);
	}
}

/* ---- wake_affine ---- */

static uint64_t load_of(const struct linux3 *m, uint32_t cpu, bool instant)
{
	return m->load == LOAD_WEIGHT || instant ? m->host->queue_weight(m->host->ctx, cpu) : m->host->runnable_load(m->host->ctx, cpu);
}

static bool is_wide(const struct decision *d, enum wide_form form)
{
	const struct wakeif_host *h = d->m->host;
	uint64_t size = h->topology->llc_size[d->w->waker_cpu];
	uint32_t (*flips)(void *, uint32_t) = form == WIDE_4_4 ? h->wakee_flips : h->wakee_flips_reset;
	uint64_t waker = d->w->waker_task == WAKEIF_TASK_NONE ? 0 : flips(h->ctx, d->w->waker_task), wakee = flips(h->ctx, d->w->wakee_task);

	if (form == WIDE_3_12)
		return wakee > size && waker > size * wakee;
	uint64_t most = waker > wakee ? waker : wakee, least = waker > wakee ? wakee : waker;
	return least >= size && most >= least * size;
}

static bool throttled(const struct decision *d)
{
	const struct linux3 *m = d->m;
	uint64_t last = d->w->wakee_task < m->nr_slots ? m->affine_ns[d->w->wakee_task] : 0;

	return m->throttle_ns && last && d->w->now_ns - (last - 1) < m->throttle_ns;
}

/* Does the waker's CPU get the wakee? */
static bool wake_affine(struct decision *d, enum wi_old_level level)
{
	struct linux3 *m = d->m;
	const struct wakeif_host *h = m->host;
	uint32_t waker = d->w->waker_cpu, prev = d->w->prev_cpu;
	bool burst = m->load == LOAD_RUNNABLE_BURST &&
		     (h->avg_idle_ns(h->ctx, waker) < MIGRATION_COST_NS || h->avg_idle_ns(h->ctx, prev) < MIGRATION_COST_NS);

	if (m->wide == WIDE_3_12 && is_wide(d, WIDE_3_12)) {
		d->choice->affine = WAKEIF_AFFINE_WIDE;
		return false;
	}
	d->attempted = true;
	int64_t here = (int64_t)load_of(m, waker, burst), there = (int64_t)load_of(m, prev, burst);
	int64_t weight = wi_pelt_weight(d->w->prio, d->w->policy == WAKEIF_POLICY_IDLE);
	const struct wakeif_cpu *cpu = &d->v->cpu[waker];

	if (d->sync && cpu->curr_pid > 0)
		here -= wi_pelt_weight(cpu->curr_prio, false);
	bool balanced = here <= 0 || 100 * (here + weight) <= (100 + ((int64_t)imbalance_pct[level] - 100) / 2) * there;
	if (d->sync && balanced) {
		d->choice->affine = WAKEIF_AFFINE_SYNC;
		return true;
	}
	int64_t per_task = cpu->nr_running ? (int64_t)load_of(m, waker, burst) / cpu->nr_running : 0;
	bool wins = balanced || (here <= there && here + (int64_t)load_of(m, prev, burst) <= per_task);
	d->choice->affine = wins ? WAKEIF_AFFINE_LOAD_WAKER : WAKEIF_AFFINE_LOAD_PREV;
	return wins;
}

/* ---- select_task_rq_fair ---- */

/* Power saving: is there so little to do in this domain that its tasks fit in half of it? */
static bool has_room(const struct decision *d, const struct wi_old_domain *dom)
{
	bool smt = d->m->domains.topo->smt > 1;
	uint64_t power = (uint64_t)dom->weight * (smt ? SMT_GAIN_POWER / d->m->domains.topo->smt : 1024), tasks = 0;

	wi_mask_for_each (c, dom->span, d->m->domains.words)
		tasks += d->v->cpu[c].nr_cfs;
	return tasks / 2 < (power + 512) / 1024;
}

static bool balances(const struct decision *d, enum wi_old_level level)
{
	if (!(d->w->wake_flags & WAKEIF_WF_TTWU))
		return true; /* fork and exec: every level */
	return (d->m->balance_wake == 1 || d->m->balance_wake == 2) && level <= WI_OLD_MC;
}

static uint64_t idlest_load(void *ctx, uint32_t cpu, bool local, enum wi_old_level level)
{
	(void)local;
	(void)level; /* wake_idx and forkexec_idx are 0 on x86 */
	return load_of(ctx, cpu, false);
}

static uint32_t decide(struct decision *d)
{
	struct linux3 *m = d->m;
	uint32_t waker = d->w->waker_cpu, prev = d->w->prev_cpu, nr;
	bool wake = d->w->wake_flags & WAKEIF_WF_TTWU;
	bool want_affine = wake && allowed(d, waker), want_slow = true;
	const struct wi_old_domain *dom = wi_old_domains_of(&m->domains, waker, &nr);
	int affine = -1, slow = -1;

	if (want_affine && m->wide == WIDE_4_4 && is_wide(d, WIDE_4_4)) {
		d->choice->affine = WAKEIF_AFFINE_WIDE;
		want_affine = false;
	}
	for (uint32_t i = 0; i < nr; i++) {
		if (m->powersave && (dom[i].level == WI_OLD_MC || dom[i].level == WI_OLD_CPU) && has_room(d, &dom[i]))
			want_slow = false;
		if (want_affine && m->balance_wake != 2 && wi_mask_test(dom[i].span, prev)) {
			affine = (int)i;
			want_affine = false;
			if (m->search == SEARCH_3_9)
				break;
		}
		if (!want_slow && !want_affine)
			break;
		if (want_slow && balances(d, dom[i].level))
			slow = (int)i;
	}
	if (affine >= 0) {
		bool pulls = waker != prev && !throttled(d) && wake_affine(d, dom[affine].level);

		return select_idle_sibling(d, pulls ? waker : prev);
	}
	if (slow >= 0) {
		uint32_t idlest = wi_old_idlest(&m->domains, waker, slow, d->w->allowed, idlest_load, m, imbalance_pct, &d->choice->examined);

		return answer(d, idlest != WAKEIF_CPU_NONE ? idlest : wake ? prev : waker, WAKEIF_RULE_SLOW);
	}
	if (wake && waker != prev && d->choice->affine == WAKEIF_AFFINE_NOT_ASKED)
		d->choice->affine = WAKEIF_AFFINE_NO_DOMAIN;
	/* With the symmetric wake_wide came a search around the previous CPU; before, it was kept. */
	return wake && m->wide == WIDE_4_4 ? select_idle_sibling(d, prev) : answer(d, wake ? prev : waker, WAKEIF_RULE_STAY);
}

/* Remembers that wake_affine was tried for this task, for the throttle. */
static bool note_attempt(struct linux3 *m, const struct wakeif_wakeup *w)
{
	if (!m->throttle_ns)
		return true;
	if (w->wakee_task >= m->nr_slots) {
		uint32_t nr = w->wakee_task + w->wakee_task / 2 + 64;
		uint64_t *p = realloc(m->affine_ns, nr * sizeof(*p));

		if (!p)
			return false;
		memset(p + m->nr_slots, 0, (nr - m->nr_slots) * sizeof(*p));
		m->affine_ns = p;
		m->nr_slots = nr;
	}
	m->affine_ns[w->wakee_task] = w->now_ns + 1;
	return true;
}

static bool linux3_select(void *model, const struct wakeif_wakeup *w, const struct wakeif_view *v, struct wakeif_choice *choice)
{
	bool sync = w->wake_flags & WAKEIF_WF_SYNC;
	struct wakeif_choice other = *choice;
	struct decision d = { model, w, v, sync, false, choice }, flipped = { model, w, v, !sync, false, &other };
	struct linux3 *m = model;

	if (w->prev_cpu >= v->topology->nr_cpus || w->waker_cpu >= v->topology->nr_cpus)
		return false;
	choice->cpu = decide(&d);
	choice->other_sync_cpu = d.attempted ? decide(&flipped) : choice->cpu;
	choice->flags |= WAKEIF_CHOICE_KNOWS_SYNC;
	return !d.attempted || note_attempt(m, w);
}

static void linux3_observe(void *model, const struct wakeif_happening *h)
{
	struct linux3 *m = model;

	if (h->type == WAKEIF_TASK_BEGAN && h->task < m->nr_slots)
		m->affine_ns[h->task] = 0;
}

/* ---- the table ---- */

#define AVOID_SMT { "avoid-smt", WAKEIF_PARAM_BOOL, "on", 0, 0, NULL, "idle cores before idle SMT siblings; off: as before the patch" }
#define BALANCE_WAKE \
	{ "balance-wake", WAKEIF_PARAM_INT, "0", 0, 3, NULL, \
	  "SD_BALANCE_WAKE at SMT and MC: 0 off, 1 on, 2 on and wake_affine off, 3 off, but an idle previous CPU wins over a busy waker's" }
#define POWERSAVE { "powersave", WAKEIF_PARAM_BOOL, "off", 0, 0, NULL, "power-saving flags at MC and CPU level: fork and exec do not spread while there is room" }

static const struct wakeif_param params_3_4[] = { AVOID_SMT, BALANCE_WAKE, POWERSAVE };
static const struct wakeif_param params_3_1[] = { BALANCE_WAKE, POWERSAVE };

#define WAKE_WIDE(dflt) { "wake-wide", WAKEIF_PARAM_CHOICE, dflt, 0, 0, "off|3.12|4.4", "wakers and wakees with many partners are not pulled together" }
#define LOAD(dflt) \
	{ "load", WAKEIF_PARAM_CHOICE, dflt, 0, 0, "weight|runnable|runnable+burst", \
	  "what wake_affine compares: queue weights, runnable load averages, or these but for CPUs that hardly idle" }
#define THROTTLE { "throttle", WAKEIF_PARAM_NS, "0", 0, 1000000000, NULL, "time after a wake_affine attempt in which a task gets no other; 0 none (1ms proposed)" }

static const struct wakeif_param params_3_9[] = { LOAD("weight"), WAKE_WIDE("off"), THROTTLE };
static const struct wakeif_param params_3_13[] = { LOAD("runnable"), WAKE_WIDE("3.12"), THROTTLE };

static void *init_2012(const struct wakeif_host *host, const int64_t *balance_wake_on, enum search_form search)
{
	struct linux3 *m = linux3_new(host, search);

	if (m) {
		m->balance_wake = (uint32_t)balance_wake_on[0];
		m->powersave = balance_wake_on[1];
	}
	return m;
}

static void *init_3_1(const struct wakeif_host *host, const int64_t *values)
{
	return init_2012(host, values, SEARCH_3_1);
}

static void *init_3_2(const struct wakeif_host *host, const int64_t *values)
{
	return init_2012(host, values + 1, values[0] ? SEARCH_3_2 : SEARCH_3_1);
}

static void *init_3_4(const struct wakeif_host *host, const int64_t *values)
{
	return init_2012(host, values + 1, values[0] ? SEARCH_3_4 : SEARCH_3_1);
}

static void *init_3_9(const struct wakeif_host *host, const int64_t *values)
{
	struct linux3 *m = linux3_new(host, SEARCH_3_9);

	if (m) {
		m->load = (enum load_form)values[0];
		m->wide = (enum wide_form)values[1];
		m->throttle_ns = (uint64_t)values[2];
	}
	return m;
}

#define NEEDS (WAKEIF_NEED_OLD_CPU_LOAD | WAKEIF_NEED_TOPOLOGY | WAKEIF_NEED_SYNC)
#define NEEDS_2013 (NEEDS | WAKEIF_NEED_RUNNABLE_LOAD | WAKEIF_NEED_AVG_IDLE | WAKEIF_NEED_FLIPS | WAKEIF_NEED_FLIPS_RESET)
#define LINUX3_OPS(id, model_name, text, src, conf, param_table, init_fn, what_needs)                                  \
	const struct wakeif_model_ops wi_model_##id = { .abi = WAKEIF_ABI,                                             \
							.size = sizeof(struct wakeif_model_ops),                       \
							.name = model_name,                                            \
							.summary = text,                                               \
							.source = src,                                                 \
							.confidence = conf,                                            \
							.needs = what_needs,                                           \
							.nr_params = sizeof(param_table) / sizeof(*param_table),       \
							.params = param_table,                                         \
							.init = init_fn,                                               \
							.fini = linux3_fini,                                           \
							.select_cpu = linux3_select,                                   \
							.observe = linux3_observe }

LINUX3_OPS(linux_3_1, "linux-3.1", "wake_affine, then any idle CPU from the SMT sibling outwards", "mainline before 4dcfe1025b51",
	   "search from the patch's description; the rest as 3.2, code read; balance-wake from memory of the thread of February 2012", params_3_1, init_3_1, NEEDS);
LINUX3_OPS(linux_3_2, "linux-3.2", "wake_affine, then an idle core of the LLC before an SMT sibling (first form)",
	   "mainline 3.2.71; 4dcfe1025b51, lkml 1321350377.1421.55.camel@twins", "code read; balance-wake: our reading, results of the thread unconfirmed", params_3_4,
	   init_3_2, NEEDS);
LINUX3_OPS(linux_3_4, "linux-3.4", "wake_affine, then an idle core of the LLC, then the idle SMT sibling", "mainline 3.3.8, 3.4.113",
	   "code read; balance-wake: our reading, results of the thread unconfirmed", params_3_4, init_3_4, NEEDS);
LINUX3_OPS(linux_3_9, "linux-3.9", "as 3.4, and an idle previous CPU is kept; runnable-load and burst-wakeup variants",
	   "mainline 3.9.6; \"use runnable avg in load balance\" v3 (Alex Shi, 2013)", "code read; load=runnable+burst and throttle from memory", params_3_9, init_3_9,
	   NEEDS_2013);
LINUX3_OPS(linux_3_13, "linux-3.13", "as 3.9 with runnable load averages and wake_wide", "mainline 3.13.10", "code read; throttle from memory", params_3_13,
	   init_3_9, NEEDS_2013);
