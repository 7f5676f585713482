/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Linux 2.6.29 with sched_mc_power_savings and sched_smt_power_savings: wakeups go to the waker's CPU, stay, or go to the
 * preferred wakeup CPU that load balancing nominated (7a09b1a27b1e, 7eb52dfa70db, ad273b32e482).
 *
 * v2.6.29 read. The variant v3 (Gautham R Shenoy, March 2009, "Extend sched_mc/smt_power_savings framework") is from memory:
 * its text was not found. Nominations follow from balancing that the trace does not show; nominate= tells how they are
 * made up. Kernel threads as wakees are not told from user tasks.
 */
#include <stdlib.h>

#include "models/builtin.h"
#include "models/cpuset.h"
#include "models/old_domains.h"
#include "models/pelt.h"

#define MIGRATION_COST_NS 500000
#define SMT_GAIN_POWER 1178 /* of a core with SMT */

enum nominate { NOMINATE_BALANCE, NOMINATE_LEADER };
enum wake_idle { WAKE_IDLE_OFF, WAKE_IDLE_SMT, WAKE_IDLE_MC, WAKE_IDLE_FAR };

static const uint32_t imbalance_pct[WI_NR_OLD_LEVELS] = { 110, 125, 125, 125 };
static const uint32_t wake_idx[WI_NR_OLD_LEVELS] = { 0, 1, 1, 1 }, forkexec_idx[WI_NR_OLD_LEVELS] = { 0, 1, 1, 1 };

struct linux2 {
	const struct wakeif_host *host;
	struct wi_old_domains domains;
	uint32_t mc, smt; /* power-saving levels */
	bool v3;
	enum nominate nominate;
	enum wake_idle wake_idle;
	uint64_t interval_ns, next_ns;
	uint32_t nominated; /* preferred wakeup CPU; 0 until it is written */
	wakeif_word *leader; /* room for a group */
};

struct decision {
	struct linux2 *m;
	const struct wakeif_wakeup *w;
	const struct wakeif_view *v;
	bool sync, asked_sync;
	struct wakeif_choice *choice;
};

static void linux2_fini(void *model)
{
	struct linux2 *m = model;

	wi_old_domains_fini(&m->domains);
	free(m->leader);
	free(m);
}

static void *linux2_init(const struct wakeif_host *host, const int64_t *values)
{
	struct linux2 *m = calloc(1, sizeof(*m));

	if (m)
		m->leader = calloc(host->topology->nr_words, sizeof(*m->leader));
	if (!m || !m->leader || !wi_old_domains_init(&m->domains, host->topology)) {
		host->say(host->ctx, "out of memory");
		if (m)
			free(m->leader);
		free(m);
		return NULL;
	}
	m->host = host;
	m->mc = (uint32_t)values[0];
	m->smt = (uint32_t)values[1];
	m->v3 = values[2] == 1;
	m->nominate = (enum nominate)values[3];
	m->interval_ns = (uint64_t)values[4];
	m->wake_idle = (enum wake_idle)values[5];
	return m;
}

static bool idle(struct decision *d, uint32_t cpu)
{
	d->choice->examined++;
	return wi_mask_test(d->v->idle, cpu);
}

static uint32_t answer(struct decision *d, uint32_t cpu, enum wakeif_rule rule)
{
	d->choice->rule = (uint16_t)rule;
	return cpu;
}

/* ---- loads: now, or as of the last tick, whichever is lower (source) or higher (target) ---- */

static uint64_t load_at(const struct linux2 *m, uint32_t cpu, uint32_t idx, bool source)
{
	const struct wakeif_host *h = m->host;
	uint64_t now = h->queue_weight(h->ctx, cpu), ticked;

	if (!idx)
		return now;
	ticked = h->old_cpu_load(h->ctx, cpu, idx - 1);
	return source == (now < ticked) ? now : ticked;
}

static uint64_t idlest_load(void *ctx, uint32_t cpu, bool local, enum wi_old_level level)
{
	return load_at(ctx, cpu, forkexec_idx[level], local);
}

/* ---- the preferred wakeup CPU ---- */

/* Power saving is on at this level: its groups are cores (MC) or packages (CPU). */
static bool saves_power(const struct linux2 *m, enum wi_old_level level)
{
	return level == WI_OLD_MC ? m->smt > 0 : level == WI_OLD_CPU ? m->mc > 0 || m->smt > 0 : false;
}

static uint32_t capacity(const struct linux2 *m, const wakeif_word *group)
{
	uint32_t power = 0, smt = m->domains.topo->smt;

	power = wi_mask_weight(group, m->domains.words) * (smt > 1 ? SMT_GAIN_POWER / smt : 1024) / 1024;
	return power ? power : 1;
}

/*
 * The leader among the groups of a domain: the fullest that still has room (ties: the one that comes first by number); it
 * counts only when another group, the one with least to do, could be emptied into it. WAKEIF_CPU_NONE: none.
 */
static uint32_t leader_of(struct linux2 *m, const struct wakeif_view *v, uint32_t cpu, uint32_t i)
{
	uint32_t most = 0, least = UINT32_MAX, leader = WAKEIF_CPU_NONE, emptied = WAKEIF_CPU_NONE;
	const wakeif_word *group;

	wi_old_groups_begin(&m->domains, cpu, i);
	while ((group = wi_old_groups_next(&m->domains))) {
		uint32_t first = wi_mask_next(group, m->domains.words, 0), cap = capacity(m, group), nr = 0;

		wi_mask_for_each (c, group, m->domains.words)
			nr += v->cpu[c].nr_running;
		if (!nr || nr >= cap)
			continue;
		if (nr < least || (nr == least && first > emptied)) {
			least = nr;
			emptied = first;
		}
		if (nr > most || (nr == most && first < leader)) { /* nr <= cap - 1 holds */
			most = nr;
			leader = first;
		}
	}
	return leader == emptied ? WAKEIF_CPU_NONE : leader;
}

static bool wakeup_bias(const struct linux2 *m)
{
	return m->v3 ? m->mc >= 2 || m->smt >= 2 : m->mc >= 2;
}

/*
 * What one round of balancing over all domains with power saving writes. A domain is balanced by its CPUs from the inside
 * out, so the outermost writes last; in v3 it is the outermost that picks, and an inner one may refine the pick if it lies
 * within its own span.
 */
static void nominate(struct linux2 *m, const struct wakeif_view *v)
{
	const struct wi_old_domains *d = &m->domains;
	const struct wakeif_topology *t = d->topo;
	static const enum wi_old_level outwards[] = { WI_OLD_MC, WI_OLD_CPU };

	for (int k = 0; k < 2; k++) {
		enum wi_old_level level = m->v3 ? outwards[1 - k] : outwards[k];

		if (!saves_power(m, level))
			continue;
		wi_mask_for_each (c, t->online, d->words) {
			uint32_t nr, leader;
			const struct wi_old_domain *dom = wi_old_domains_of(d, c, &nr);
			int at = -1, topmost = -1;

			for (uint32_t i = 0; i < nr; i++) {
				at = dom[i].level == level ? (int)i : at;
				topmost = saves_power(m, dom[i].level) ? (int)i : topmost;
			}
			if (at < 0 || wi_mask_next(dom[at].span, d->words, 0) != c) /* once a domain */
				continue;
			if (m->v3 && at != topmost && !wi_mask_test(dom[at].span, m->nominated))
				continue;
			leader = leader_of(m, v, c, (uint32_t)at);
			if (leader != WAKEIF_CPU_NONE)
				m->nominated = leader;
		}
	}
}

/* ---- select_task_rq_fair ---- */

static bool task_hot(const struct wakeif_wakeup *w)
{
	return w->slept_ns < MIGRATION_COST_NS;
}

static bool has_wake_idle(const struct decision *d, enum wi_old_level level)
{
	switch (d->m->wake_idle) {
	case WAKE_IDLE_SMT:
		return level == WI_OLD_SMT;
	case WAKE_IDLE_MC:
		return level <= WI_OLD_MC;
	case WAKE_IDLE_FAR:
		return !task_hot(d->w);
	default:
		return false;
	}
}

static bool can_go(const struct decision *d, uint32_t cpu)
{
	const struct wakeif_topology *t = d->m->domains.topo;

	return cpu < t->nr_cpus && wi_mask_test(t->online, cpu) && wi_mask_test(d->w->allowed, cpu);
}

static uint32_t wake_idle(struct decision *d, uint32_t cpu)
{
	struct linux2 *m = d->m;
	uint32_t nr;
	const struct wi_old_domain *dom = wi_old_domains_of(&m->domains, cpu, &nr);
	bool is_idle = idle(d, cpu);

	if (wakeup_bias(m) && is_idle && idle(d, d->w->waker_cpu) && can_go(d, m->nominated))
		return answer(d, m->nominated, WAKEIF_RULE_NOMINATED);
	if (is_idle)
		return answer(d, cpu, WAKEIF_RULE_PREV_IDLE);
	if (d->v->cpu[cpu].nr_cfs > 1)
		return answer(d, cpu, WAKEIF_RULE_STAY);
	for (uint32_t i = 0; i < nr && has_wake_idle(d, dom[i].level); i++)
		wi_mask_for_each (c, dom[i].span, m->domains.words)
			if (wi_mask_test(d->w->allowed, c) && idle(d, c))
				return answer(d, c, dom[i].level == WI_OLD_SMT ? WAKEIF_RULE_SMT_SIBLING : WAKEIF_RULE_IDLE_CPU);
	return answer(d, cpu, WAKEIF_RULE_STAY);
}

static bool wake_affine(struct decision *d, enum wi_old_level level)
{
	const struct linux2 *m = d->m;
	const struct wakeif_host *h = m->host;
	uint32_t waker = d->w->waker_cpu, prev = d->w->prev_cpu;
	const struct wakeif_cpu *cpu = &d->v->cpu[waker];
	int64_t there = (int64_t)load_at(m, prev, wake_idx[level], true), here = (int64_t)load_at(m, waker, wake_idx[level], false);
	int64_t weight = wi_pelt_weight(d->w->prio, d->w->policy == WAKEIF_POLICY_IDLE);
	bool overlaps = (d->w->waker_task != WAKEIF_TASK_NONE && h->avg_overlap_ns(h->ctx, d->w->waker_task) > MIGRATION_COST_NS) ||
			h->avg_overlap_ns(h->ctx, d->w->wakee_task) > MIGRATION_COST_NS;
	bool sync = d->sync && !overlaps;

	d->asked_sync = !overlaps;
	if (sync && cpu->curr_pid > 0)
		here -= wi_pelt_weight(cpu->curr_prio, false);
	bool balanced = 100 * (here + weight) <= (100 + ((int64_t)imbalance_pct[level] - 100) / 2) * there;
	if (sync && balanced) {
		d->choice->affine = WAKEIF_AFFINE_SYNC;
		return true;
	}
	int64_t per_task = cpu->nr_running ? (int64_t)h->queue_weight(h->ctx, waker) / cpu->nr_running : 0;
	bool wins = balanced || (here <= there && here + (int64_t)load_at(m, prev, wake_idx[level], false) <= per_task);
	d->choice->affine = wins ? WAKEIF_AFFINE_LOAD_WAKER : WAKEIF_AFFINE_LOAD_PREV;
	return wins;
}

static uint32_t select_wakeup(struct decision *d)
{
	const struct linux2 *m = d->m;
	uint32_t waker = d->w->waker_cpu, prev = d->w->prev_cpu, nr, i = 0;
	const struct wi_old_domain *dom = wi_old_domains_of(&m->domains, waker, &nr);

	if (prev == waker)
		return wake_idle(d, prev);
	while (i < nr && !wi_mask_test(dom[i].span, prev))
		i++;
	if (i == nr || !wi_mask_test(d->w->allowed, waker)) {
		d->choice->affine = i == nr ? WAKEIF_AFFINE_NO_DOMAIN : WAKEIF_AFFINE_NOT_ASKED;
		return wake_idle(d, prev);
	}
	if (wake_affine(d, dom[i].level))
		return answer(d, waker, WAKEIF_RULE_AFFINE); /* idle or not */
	uint64_t here = load_at(m, waker, wake_idx[dom[i].level], false), there = load_at(m, prev, wake_idx[dom[i].level], true);
	if ((100 + (imbalance_pct[dom[i].level] - 100) / 2) * here <= 100 * there) {
		d->choice->affine = WAKEIF_AFFINE_LOAD_WAKER;
		return answer(d, waker, WAKEIF_RULE_AFFINE);
	}
	return wake_idle(d, prev);
}

/* fork and exec; power saving keeps the search below the first domain that saves power. */
static uint32_t balance_self(struct decision *d)
{
	const struct linux2 *m = d->m;
	uint32_t cpu = d->w->waker_cpu, nr, idlest;
	const struct wi_old_domain *dom = wi_old_domains_of(&m->domains, cpu, &nr);
	int top = -1;

	for (uint32_t i = 0; i < nr && !saves_power(m, dom[i].level); i++)
		top = (int)i;
	idlest = wi_old_idlest(&d->m->domains, cpu, top, d->w->allowed, idlest_load, d->m, imbalance_pct, &d->choice->examined);
	return answer(d, idlest == WAKEIF_CPU_NONE ? cpu : idlest, WAKEIF_RULE_SLOW);
}

static bool linux2_select(void *model, const struct wakeif_wakeup *w, const struct wakeif_view *v, struct wakeif_choice *choice)
{
	struct linux2 *m = model;
	bool sync = w->wake_flags & WAKEIF_WF_SYNC;
	struct wakeif_choice other = *choice;
	struct decision d = { m, w, v, sync, false, choice }, flipped = { m, w, v, !sync, false, &other };

	if (w->prev_cpu >= v->topology->nr_cpus || w->waker_cpu >= v->topology->nr_cpus)
		return false;
	if (wakeup_bias(m) && (m->nominate == NOMINATE_LEADER || w->now_ns >= m->next_ns)) {
		nominate(m, v);
		m->next_ns = w->now_ns + m->interval_ns;
	}
	if (!(w->wake_flags & WAKEIF_WF_TTWU)) {
		choice->cpu = balance_self(&d);
		return true;
	}
	choice->cpu = select_wakeup(&d);
	choice->other_sync_cpu = d.asked_sync ? select_wakeup(&flipped) : choice->cpu;
	choice->flags |= WAKEIF_CHOICE_KNOWS_SYNC;
	return true;
}

static const struct wakeif_param params[] = {
	{ "mc", WAKEIF_PARAM_INT, "0", 0, 2, NULL, "sched_mc_power_savings: 0 spread, 1 consolidate packages, 2 and wake up in the nominated one" },
	{ "smt", WAKEIF_PARAM_INT, "0", 0, 2, NULL, "sched_smt_power_savings: 0 spread, 1 consolidate cores, 2 as mc=2 (only in variant v3)" },
	{ "variant", WAKEIF_PARAM_CHOICE, "mainline", 0, 0, "mainline|v3", "v3: one level, the greater of mc and smt; the outer level nominates, the inner refines" },
	{ "nominate", WAKEIF_PARAM_CHOICE, "balance", 0, 0, "balance|leader", "by balancing every interval, or at every wakeup: the limit of ever more frequent balancing" },
	{ "interval", WAKEIF_PARAM_NS, "4ms", 0, 1000000000, NULL, "time between two balancings" },
	{ "wake-idle", WAKEIF_PARAM_CHOICE, "off", 0, 0, "off|smt|mc|far",
	  "levels with SD_WAKE_IDLE, where a busy target's idle neighbours are looked for; far: SD_WAKE_IDLE_FAR everywhere" },
};

const struct wakeif_model_ops wi_model_linux_2_6_29 = {
	.abi = WAKEIF_ABI,
	.size = sizeof(struct wakeif_model_ops),
	.name = "linux-2.6.29",
	.summary = "wake_affine by load, no idle search; power saving with a preferred wakeup CPU",
	.source = "mainline 2.6.29; 7a09b1a27b1e, 7eb52dfa70db, ad273b32e482; v3: series of March 2009",
	.confidence = "2.6.29 code read; variant=v3 from memory, its text was not found; nominations are made up from queue lengths",
	.needs = WAKEIF_NEED_OLD_CPU_LOAD | WAKEIF_NEED_AVG_OVERLAP | WAKEIF_NEED_TOPOLOGY | WAKEIF_NEED_SYNC,
	.nr_params = sizeof(params) / sizeof(*params),
	.params = params,
	.init = linux2_init,
	.fini = linux2_fini,
	.select_cpu = linux2_select,
};
