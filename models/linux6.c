/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Linux 6.1, 6.6, 6.12 and 6.18: fair placement with their features and proposed patches as parameters. */
#include "models/linux6.h"

#include "models/builtin.h"

#define V(major, minor) ((uint32_t)(major) << 16 | (uint32_t)(minor) << 8)

/* X(id, name, type, default, min, max, choices, help); CLUSTER: the default that differs */
#define PARAMS(X, CLUSTER)                                                                                             \
	X(HISTORY, "history", CHOICE, "own", 0, 0, "own|observed",                                                     \
	  "recent_used_cpu and has_idle_cores from the model's own run, or corrected by what the recording kernel "    \
	  "chose")                                                                                                     \
	X(WF_SYNC, "wf-sync", CHOICE, "off", 0, 0, "off|vagin|sis-current|sis-short",                                  \
	  "proposed use of WF_SYNC in the search (Vagin 2022), or of short runs (SIS_CURRENT v7, SIS_SHORT v4-v6)")    \
	X(SHORT_RUN, "short-run", NS, "375us", 1, 1000000000, NULL,                                                    \
	  "what a short run is, for sis-current and sis-short")                                                        \
	X(SIS_CACHE, "sis-cache", CHOICE, "off", 0, 0, "off|rfc|v1",                                                   \
	  "an idle CPU is left to a task that sleeps briefly (2023)")                                                  \
	X(SIS_NODE, "sis-node", BOOL, "off", 0, 0, NULL, "the other LLCs of the node are searched, too (June 2023)")   \
	X(SIS_UTIL, "sis-util", BOOL, "on", 0, 0, NULL, "the search looks at nr_idle_scan CPUs; off: at all")          \
	X(NR_IDLE_SCAN, "nr-idle-scan", INT, "-1", -1, 65536, NULL, "fixed nr_idle_scan; -1: estimated")               \
	X(CLUSTER_SCAN, "cluster-scan", BOOL, CLUSTER, 0, 0, NULL, "the search begins in the target's cluster (6.7)")  \
	X(RECENT_FIX, "recent-fix", BOOL, "on", 0, 0, NULL,                                                            \
	  "the recent CPU's affinity is tested (6.5, 6.1.y since July 2023)")                                          \
	X(SCHED_IDLE, "sched-idle", CHOICE, "equal", 0, 0, "off|equal|tip-2026",                                       \
	  "a CPU with SCHED_IDLE tasks only is as good as idle; tip-2026: not for a SCHED_IDLE wakee")                 \
	X(WA_IDLE, "wa-idle", BOOL, "on", 0, 0, NULL, "scheduler feature WA_IDLE")                                     \
	X(WA_WEIGHT, "wa-weight", BOOL, "on", 0, 0, NULL, "scheduler feature WA_WEIGHT")                               \
	X(WA_BIAS, "wa-bias", BOOL, "on", 0, 0, NULL, "scheduler feature WA_BIAS")                                     \
	X(CORE_SCHED, "core-sched", BOOL, "off", 0, 0, NULL,                                                           \
	  "core scheduling, with a map of cookies: a scan takes idle CPUs of cores with the wakee's cookie only")      \
	X(VCPU_PREEMPTED, "vcpu-preempted", NS, "0", 0, INT64_MAX, NULL,                                               \
	  "in a guest, CPUs idle for longer are taken as preempted by the host, hence busy; 0: never")

enum {
#define X(id, name, type, dflt, min, max, choices, help) P_##id,
	PARAMS(X, "")
#undef X
		NR_PARAMS
};

#define X(id, name, type, dflt, min, max, choices, help) { name, WAKEIF_PARAM_##type, dflt, min, max, choices, help },
static const struct wakeif_param params_clusters[] = { PARAMS(X, "on") }, params_no_clusters[] = { PARAMS(X, "off") };
#undef X

static const uint8_t sidle_of[] = { WI_FAIR_SIDLE_NONE, WI_FAIR_SIDLE_EQUAL, WI_FAIR_SIDLE_TIP2026 };

static void *init(const struct wakeif_host *host, const int64_t *v, uint32_t version)
{
	struct wi_fair_state_opts o = { .knobs = wi_fair_knobs_of(version),
					.observed = v[P_HISTORY],
					.nr_idle_scan = v[P_NR_IDLE_SCAN],
					.vcpu_preempted_ns = (uint64_t)v[P_VCPU_PREEMPTED] };

	o.core_sched = v[P_CORE_SCHED];
	o.knobs.sync = (uint8_t)v[P_WF_SYNC];
	o.knobs.short_run_ns = (uint32_t)v[P_SHORT_RUN];
	o.knobs.cache = (uint8_t)v[P_SIS_CACHE];
	o.knobs.sis_node = v[P_SIS_NODE];
	o.knobs.budget = v[P_SIS_UTIL] ? WI_FAIR_BUDGET_UTIL : WI_FAIR_BUDGET_NONE;
	o.knobs.cluster_scan = v[P_CLUSTER_SCAN];
	o.knobs.recent_fixed = v[P_RECENT_FIX];
	o.knobs.sidle = sidle_of[v[P_SCHED_IDLE]];
	o.knobs.wa_idle = v[P_WA_IDLE];
	o.knobs.wa_weight = v[P_WA_WEIGHT];
	o.knobs.wa_bias = v[P_WA_BIAS];
	return wi_fair_state_new(host, &o);
}

static void fini(void *model)
{
	wi_fair_state_free(model);
}

static bool select_cpu(void *model, const struct wakeif_wakeup *w, const struct wakeif_view *v,
		       struct wakeif_choice *choice)
{
	return wi_fair_state_select(model, w, v, choice);
}

static void observe(void *model, const struct wakeif_happening *h)
{
	wi_fair_state_observe(model, h);
}

#define MODEL(id, major, minor, table, text, from)                                                                     \
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
		.confidence = "code read",                                                                             \
		.needs = WAKEIF_NEED_LOAD | WAKEIF_NEED_FLIPS | WAKEIF_NEED_SCAN_BUDGET | WAKEIF_NEED_WAKING |         \
			 WAKEIF_NEED_TOPOLOGY | WAKEIF_NEED_SYNC,                                                      \
		.nr_params = NR_PARAMS,                                                                                \
		.params = table,                                                                                       \
		.init = init_##id,                                                                                     \
		.fini = fini,                                                                                          \
		.select_cpu = select_cpu,                                                                              \
		.observe = observe,                                                                                    \
	}

MODEL(6_1, 6, 1, params_no_clusters, "6.1: SIS_UTIL, one pass for idle cores and CPUs, wake_affine by idle and weight",
      "Debian linux-source-6.1 6.1.192-3, read line by line; checked against decisions recorded with probes");
MODEL(6_6, 6, 6, params_no_clusters, "6.6: as 6.1, WF_CURRENT_CPU",
      "6.8.1 and the dates of commits; no tree of 6.6 was read");
MODEL(6_12, 6, 12, params_clusters, "6.12: as 6.6, clusters are searched first, delayed dequeue",
      "Debian linux-source-6.12 (6.12.117), read; checked against decisions recorded with probes");
MODEL(6_18, 6, 18, params_clusters, "6.18: the wakeup path of 6.12",
      "6.18.2, 6.18.13 and 6.19.9, compared with 6.12.117");

struct wi_fair_state *wi_linux6_state(const struct wakeif_model_ops *ops, void *state)
{
	return ops->select_cpu == select_cpu ? state : NULL;
}
