/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Linux 4.8 to 5.15: the rewritten select_idle_sibling with the budgets of its time (SIS_AVG_CPU, SIS_PROP), the forms of
 * wake_affine up to 5.11, and the slow path that 5.5 replaced. The decision itself is models/fair.c by knobs.
 *
 * Read: 4.9.115, 4.12.4 (with the wake_affine of the 4.13 cycle), 4.14.74, 4.14.177, 4.19.304, 5.4.59, 5.10.7, 5.15.100. Which
 * release a change first came with is partly from memory; so are the sums of 4.13's wake_affine across nodes.
 */
#include <stdlib.h>
#include <string.h>

#include "models/builtin.h"
#include "models/cpuset.h"
#include "models/linux6.h"
#include "models/old_domains.h"

#define V(major, minor) ((uint32_t)(major) << 16 | (uint32_t)(minor) << 8)
#define HZ_OF(host) ((host)->hz ? (host)->hz : 250)

enum { SIS_OFF, SIS_PROP, SIS_UTIL };

/* nr-idle-scan is the last one: kernels before 5.15 have none. */
#define PARAMS(X, DFLT_SIS, SIS_FORMS, DFLT_AVG_CPU)                                                                                        \
	X(HISTORY, "history", CHOICE, "own", 0, 0, "own|observed",                                                     \
	  "recent_used_cpu and has_idle_cores from the model's own run, or corrected by what the recording kernel "    \
	  "chose")                                                                                                     \
	X(SIS, "sis", CHOICE, DFLT_SIS, 0, 0, SIS_FORMS, "how far the LLC is searched: all of it, SIS_PROP, SIS_UTIL")  \
	X(AVG_CPU, "sis-avg-cpu", BOOL, DFLT_AVG_CPU, 0, 0, NULL, "no search where the waker's CPU idles too briefly (SIS_AVG_CPU)") \
	X(PROP_NR, "sis-prop-nr", INT, "-1", -1, 65536, NULL, "fixed number of CPUs for SIS_PROP; -1: computed")       \
	X(SCAN_BASE, "scan-base", NS, "50ns", 0, 1000000, NULL, "assumed cost of a search that looks at no CPU")       \
	X(SCAN_CPU, "scan-cpu", NS, "30ns", 0, 1000000, NULL, "assumed cost of each CPU that a search looks at")        \
	X(WA_IDLE, "wa-idle", BOOL, "on", 0, 0, NULL, "scheduler feature WA_IDLE (4.14)")                              \
	X(WA_WEIGHT, "wa-weight", BOOL, "on", 0, 0, NULL, "scheduler feature WA_WEIGHT (4.14)")                        \
	X(WA_BIAS, "wa-bias", BOOL, "on", 0, 0, NULL, "scheduler feature WA_BIAS (4.14)")                              \
	X(NR_IDLE_SCAN, "nr-idle-scan", INT, "-1", -1, 65536, NULL, "fixed nr_idle_scan for SIS_UTIL; -1: estimated")

enum {
#define X(id, name, type, dflt, min, max, choices, help) P_##id,
	PARAMS(X, "", "", "")
#undef X
		NR_PARAMS
};

#define X(id, name, type, dflt, min, max, choices, help) { name, WAKEIF_PARAM_##type, dflt, min, max, choices, help },
static const struct wakeif_param params_avg_cpu[] = { PARAMS(X, "off", "off|prop", "on") }, params_prop[] = { PARAMS(X, "prop", "off|prop", "off") },
				 params_util[] = { PARAMS(X, "util", "off|prop|util", "off") };
#undef X

struct linux5 {
	const struct wakeif_host *host;
	struct wi_fair_state *fair;
	struct wi_old_domains domains; /* of the slow path before 5.5 */
	uint32_t version, waker;
	bool avg_cpu, prop, ages; /* ages: wake_idle is kept */
	int64_t prop_nr;
	uint64_t scan_base_ns, scan_cpu_ns, now_ns;
	uint64_t *scan_cost;   /* by LLC: avg_scan_cost, ns */
	uint64_t *wake_idle;   /* by CPU: wake_avg_idle, ns (5.14) */
	uint64_t *wake_jiffy;  /* ... and when it was last aged */
};

/* ---- budgets ---- */

static uint64_t jiffy(const struct linux5 *m)
{
	return m->now_ns / (1000000000 / HZ_OF(m->host));
}

static uint64_t *scan_cost(const struct linux5 *m)
{
	return &m->scan_cost[m->host->topology->group[WAKEIF_LLC][m->waker]];
}

/* What the waker's CPU may spend: average idle time, before 5.14 a 512th of it; since then half, less with every jiffy and search. */
static uint64_t idle_to_spend(struct linux5 *m)
{
	if (m->version < V(5, 14))
		return m->host->avg_idle_ns(m->host->ctx, m->waker) / 512;
	uint64_t age = jiffy(m) - m->wake_jiffy[m->waker];

	m->wake_idle[m->waker] = age < 64 ? m->wake_idle[m->waker] >> age : 0;
	m->wake_jiffy[m->waker] = jiffy(m);
	return m->wake_idle[m->waker];
}

static uint32_t prop_budget(void *ctx, uint32_t target)
{
	struct linux5 *m = ctx;
	const struct wakeif_topology *t = m->host->topology;
	uint64_t cost = *scan_cost(m), spend = idle_to_spend(m);

	if (m->avg_cpu && m->host->avg_idle_ns(m->host->ctx, m->waker) / 512 < cost)
		return 1; /* none */
	if (!m->prop)
		return UINT32_MAX;
	if (m->prop_nr >= 0)
		return (uint32_t)m->prop_nr + 1;
	uint64_t span = t->llc_size[target] * spend, nr = span > 4 * (cost + 1) ? span / (cost + 1) : 4;

	return nr < UINT32_MAX ? (uint32_t)nr : UINT32_MAX;
}

static void prop_searched(void *ctx, uint32_t target, uint32_t examined)
{
	struct linux5 *m = ctx;
	uint64_t took = m->scan_base_ns + m->scan_cpu_ns * examined, *avg = scan_cost(m);

	(void)target;
	*avg += (uint64_t)(((int64_t)took - (int64_t)*avg) / 8);
	m->wake_idle[m->waker] -= took < m->wake_idle[m->waker] ? took : m->wake_idle[m->waker];
}

/* ---- the slow path up to 5.4: least runnable load, most spare capacity ---- */

struct group_sum {
	uint64_t runnable, load, spare;
};

static struct group_sum sum_up(const struct linux5 *m, const struct wakeif_wakeup *w, const wakeif_word *group)
{
	const struct wakeif_host *h = m->host;
	struct group_sum s = { 0 };
	uint64_t capacity = 0;

	wi_mask_for_each (c, group, m->domains.words) {
		uint64_t has = h->topology->capacity[c], util = h->cpu_util(h->ctx, c);

		if (c == w->prev_cpu && w->class_ == WAKEIF_EXEC) {
			uint64_t own = h->task_util(h->ctx, w->wakee_task);

			util -= own < util ? own : util;
		}
		s.runnable += h->runnable_load(h->ctx, c);
		s.load += h->cpu_load(h->ctx, c);
		if (has > util && has - util > s.spare)
			s.spare = has - util;
		capacity += has;
	}
	if (capacity) {
		s.runnable = s.runnable * 1024 / capacity;
		s.load = s.load * 1024 / capacity;
	}
	return s;
}

static bool intersects(const wakeif_word *a, const wakeif_word *b, uint32_t words)
{
	for (uint32_t i = 0; i < words; i++)
		if (a[i] & b[i])
			return true;
	return false;
}

/* The group to go to is copied to best; false: stay in the local one. */
static bool idlest_group(struct linux5 *m, const struct wakeif_wakeup *w, uint32_t cpu, uint32_t i, wakeif_word *best, wakeif_word *roomiest)
{
	static const uint32_t pct_of[WI_NR_OLD_LEVELS] = { 110, 117, 125, 125 };
	uint32_t nr, words = m->domains.words;
	enum wi_old_level level = wi_old_domains_of(&m->domains, cpu, &nr)[i].level;
	uint64_t pct = pct_of[level], imbalance = 1024 * (pct - 100) / 100, scale = 100 + (pct - 100) / 2;
	uint64_t min_runnable = UINT64_MAX, min_load = UINT64_MAX, most_spare = 0, util;
	struct group_sum local = { 0 };
	const wakeif_word *group;
	bool found = false, has_room = false;

	wi_old_groups_begin(&m->domains, cpu, i);
	while ((group = wi_old_groups_next(&m->domains))) {
		struct group_sum s;

		if (!intersects(group, w->allowed, words))
			continue;
		s = sum_up(m, w, group);
		if (wi_mask_test(group, cpu)) {
			local = s;
			continue;
		}
		if (min_runnable == UINT64_MAX || min_runnable > s.runnable + imbalance) {
			min_runnable = s.runnable;
			min_load = s.load;
			memcpy(best, group, words * sizeof(*best));
			found = true;
		} else if (s.runnable < min_runnable + imbalance && 100 * min_load > scale * s.load) {
			min_load = s.load;
			memcpy(best, group, words * sizeof(*best));
		}
		if (most_spare < s.spare) {
			most_spare = s.spare;
			memcpy(roomiest, group, words * sizeof(*roomiest));
			has_room = true;
		}
	}
	if (w->class_ != WAKEIF_FORK) {
		util = m->host->task_util(m->host->ctx, w->wakee_task);
		if (local.spare > util / 2 && scale * local.spare > 100 * most_spare)
			return false;
		if (has_room && most_spare > util / 2) {
			memcpy(best, roomiest, words * sizeof(*best));
			return true;
		}
	}
	if (!found)
		return false;
	if (level == WI_OLD_NODE && min_runnable + imbalance >= local.runnable)
		return false;
	if (min_runnable > local.runnable + imbalance)
		return false;
	return !(local.runnable < min_runnable + imbalance && 100 * local.load < scale * min_load);
}

/* The CPU that became idle last, else the one with the least runnable load. Exit latencies of idle states are not known. */
static uint32_t idlest_in(const struct linux5 *m, const struct wakeif_wakeup *w, const struct wakeif_view *v, const wakeif_word *group, uint32_t cpu,
			  uint32_t *examined)
{
	uint32_t idle = WAKEIF_CPU_NONE, least = cpu;
	uint64_t min = UINT64_MAX;

	wi_mask_for_each (c, group, m->domains.words) {
		if (!wi_mask_test(w->allowed, c))
			continue;
		++*examined;
		if (wi_mask_test(v->idle, c)) {
			if (idle == WAKEIF_CPU_NONE || v->cpu[c].idle_since_ns > v->cpu[idle].idle_since_ns)
				idle = c;
		} else if (idle == WAKEIF_CPU_NONE) {
			uint64_t load = m->host->runnable_load(m->host->ctx, c);

			if (load < min) {
				min = load;
				least = c;
			}
		}
	}
	return idle != WAKEIF_CPU_NONE ? idle : least;
}

static bool select_slow(struct linux5 *m, const struct wakeif_wakeup *w, const struct wakeif_view *v, struct wakeif_choice *choice)
{
	uint32_t cpu = w->waker_cpu, words = m->domains.words;
	wakeif_word *best = malloc(2 * words * sizeof(*best));
	int i = m->domains.nr[cpu] - 1;

	while (best && i >= 0) {
		uint32_t nr, weight = wi_old_domains_of(&m->domains, cpu, &nr)[i].weight, c;

		if (!idlest_group(m, w, cpu, (uint32_t)i, best, best + words) || (c = idlest_in(m, w, v, best, cpu, &choice->examined)) == cpu) {
			i--;
			continue;
		}
		cpu = c;
		const struct wi_old_domain *dom = wi_old_domains_of(&m->domains, cpu, &nr);
		for (i = (int)nr - 1; i >= 0 && dom[i].weight >= weight; i--)
			;
	}
	choice->cpu = cpu;
	choice->rule = WAKEIF_RULE_SLOW;
	if (!best)
		return false;
	free(best);
	return true;
}

/* ---- hooks ---- */

static void linux5_fini(void *model)
{
	struct linux5 *m = model;

	wi_fair_state_free(m->fair);
	wi_old_domains_fini(&m->domains);
	free(m->scan_cost);
	free(m->wake_idle);
	free(m->wake_jiffy);
	free(m);
}

static void *init(const struct wakeif_host *host, const int64_t *v, uint32_t version)
{
	const struct wakeif_topology *t = host->topology;
	struct linux5 *m = calloc(1, sizeof(*m));
	struct wi_fair_state_opts o = { .knobs = wi_fair_knobs_of(version),
					.observed = v[P_HISTORY],
					.forks_elsewhere = version < V(5, 5),
					.runnable_load = version < V(5, 7),
					.nr_idle_scan = version >= V(5, 14) ? v[P_NR_IDLE_SCAN] : -1,
					.prop_budget = prop_budget,
					.prop_searched = prop_searched,
					.prop_ctx = m };

	o.knobs.budget = v[P_SIS] == SIS_UTIL ? WI_FAIR_BUDGET_UTIL : v[P_SIS] == SIS_PROP || v[P_AVG_CPU] ? WI_FAIR_BUDGET_PROP : WI_FAIR_BUDGET_NONE;
	if (o.knobs.budget != WI_FAIR_BUDGET_PROP)
		o.prop_searched = NULL; /* what searches cost is asked by that budget alone */
	o.knobs.wa_idle = v[P_WA_IDLE];
	o.knobs.wa_weight = v[P_WA_WEIGHT];
	o.knobs.wa_bias = v[P_WA_BIAS];
	if (!m) {
		host->say(host->ctx, "out of memory");
		return NULL;
	}
	m->host = host;
	m->version = version;
	m->avg_cpu = v[P_AVG_CPU];
	m->prop = v[P_SIS] == SIS_PROP;
	m->prop_nr = v[P_PROP_NR];
	m->scan_base_ns = (uint64_t)v[P_SCAN_BASE];
	m->scan_cpu_ns = (uint64_t)v[P_SCAN_CPU];
	m->scan_cost = calloc(t->nr_groups[WAKEIF_LLC] + 1, sizeof(*m->scan_cost));
	m->wake_idle = calloc(t->nr_cpus, sizeof(*m->wake_idle));
	m->wake_jiffy = calloc(t->nr_cpus, sizeof(*m->wake_jiffy));
	if (m->scan_cost && m->wake_idle && m->wake_jiffy && wi_old_domains_init(&m->domains, t))
		m->fair = wi_fair_state_new(host, &o);
	m->ages = version >= V(5, 14) && o.knobs.budget == WI_FAIR_BUDGET_PROP;
	if (m->fair && host->observe_only && host->cores_idled && !o.forks_elsewhere)
		host->observe_only(host->ctx, 1u << WAKEIF_PLACED | 1u << WAKEIF_TASK_BEGAN | (m->ages ? 1u << WAKEIF_CPU_WAKES : 0));
	if (m->fair)
		return m;
	host->say(host->ctx, "out of memory");
	linux5_fini(m);
	return NULL;
}

static bool select_cpu(void *model, const struct wakeif_wakeup *w, const struct wakeif_view *v, struct wakeif_choice *choice)
{
	struct linux5 *m = model;

	if (w->waker_cpu >= v->topology->nr_cpus || w->prev_cpu >= v->topology->nr_cpus || v->topology->group[WAKEIF_LLC][w->waker_cpu] == UINT32_MAX)
		return false;
	m->waker = w->waker_cpu;
	m->now_ns = w->now_ns;
	if (m->version < V(5, 5) && (w->class_ == WAKEIF_FORK || w->class_ == WAKEIF_EXEC))
		return select_slow(m, w, v, choice);
	return wi_fair_state_select(m->fair, w, v, choice);
}

static void observe(void *model, const struct wakeif_happening *h)
{
	struct linux5 *m = model;

	wi_fair_state_observe(m->fair, h);
	if (h->type == WAKEIF_CPU_WAKES && m->ages) {
		m->now_ns = h->now_ns;
		m->wake_idle[h->cpu] = m->host->avg_idle_ns(m->host->ctx, h->cpu) / 2;
		m->wake_jiffy[h->cpu] = jiffy(m);
	}
}

#define MODEL(id, major, minor, table, text, from, how)                                                                \
	static void *init_##id(const struct wakeif_host *host, const int64_t *values)                                  \
	{                                                                                                              \
		return init(host, values, V(major, minor));                                                            \
	}                                                                                                              \
	const struct wakeif_model_ops wi_model_linux_##id = {                                                          \
		.abi = WAKEIF_ABI,                                                                                     \
		.size = sizeof(struct wakeif_model_ops),                                                               \
		.name = "linux-" #major "." #minor,                                                                    \
		.summary = text,                                                                                       \
		.source = from,                                                                                        \
		.confidence = how,                                                                                     \
		.needs = WAKEIF_NEED_LOAD | WAKEIF_NEED_FLIPS | WAKEIF_NEED_SCAN_BUDGET | WAKEIF_NEED_RUNNABLE_LOAD |  \
			 WAKEIF_NEED_AVG_IDLE | WAKEIF_NEED_WAKING | WAKEIF_NEED_TOPOLOGY | WAKEIF_NEED_SYNC,         \
		.nr_params = V(major, minor) >= V(5, 14) ? NR_PARAMS : P_NR_IDLE_SCAN,                                 \
		.params = table,                                                                                       \
		.init = init_##id,                                                                                     \
		.fini = linux5_fini,                                                                                   \
		.select_cpu = select_cpu,                                                                              \
		.observe = observe,                                                                                    \
	}

#define COSTS "; costs of searches are assumed"
MODEL(4_8, 4, 8, params_avg_cpu, "4.8: idle core, idle CPU, idle sibling from the target on; wake_affine by load", "mainline 4.9.115", "code read" COSTS);
MODEL(4_13, 4, 13, params_prop, "4.13: SIS_PROP; wake_affine pulls within an LLC", "a tree labelled 4.12.4 with the wake_affine of the 4.13 cycle",
      "code read, but sums across nodes from memory" COSTS);
MODEL(4_14, 4, 14, params_prop, "4.14: wake_affine by idle waker or weight", "mainline 4.14.74, 4.14.177", "code read" COSTS);
MODEL(4_16, 4, 16, params_prop, "4.16 to 4.19: an idle previous CPU wins, recent_used_cpu", "mainline 4.19.304",
      "code read; the release is from memory" COSTS);
MODEL(5_4, 5, 4, params_prop, "5.4: SCHED_IDLE-only CPUs count as idle", "mainline 5.4.59", "code read" COSTS);
MODEL(5_10, 5, 10, params_prop, "5.10: loads with blocked tasks, per-CPU kernel threads, groups by type in the slow path", "mainline 5.10.7", "code read" COSTS);
MODEL(5_15, 5, 15, params_util, "5.15: one pass behind the target; SIS_UTIL as 5.15.y has it (sis=prop: as 5.15.0)", "mainline 5.15.100", "code read" COSTS);

struct wi_fair_state *wi_linux5_state(const struct wakeif_model_ops *ops, void *state)
{
	return ops->select_cpu == select_cpu ? ((struct linux5 *)state)->fair : NULL;
}
