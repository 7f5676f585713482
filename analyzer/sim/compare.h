/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Simulations side by side: means and intervals over seeds, differences to the baseline seed by seed, and the error of
 * the self-replay below which no difference is believed.
 */
#ifndef WI_SIM_COMPARE_H
#define WI_SIM_COMPARE_H

#include "analyzer/sim/sim.h"

/*
 * X(id, name in JSON, title, how it is shown, floor of the error, is it an error of a share (absolute) or relative)
 * How: PERCENT (share of 1), NS, NUMBER
 */
#define WI_SIM_METRICS(X)                                                                                              \
	X(UTIL, "util", "utilisation", PERCENT, 0.01, false)                                                           \
	X(CORUN, "corun", "co-run of SMT siblings", PERCENT, 0.015, true)                                              \
	X(STAY, "stay", "stays on prev_cpu", PERCENT, 0.01, true)                                                      \
	X(MIGRATIONS, "migrations", "migrations per waking", NUMBER, 0.02, false)                                      \
	X(MIGRATIONS_PER_S, "migrations_per_s", "migrations per s", NUMBER, 0, false)                                  \
	X(WAKINGS_PER_S, "wakings_per_s", "wakings per s", NUMBER, 0, false)                                           \
	X(P50, "p50_ns", "wakeup latency p50", NS, 10000, false)                                                       \
	X(P90, "p90_ns", "wakeup latency p90", NS, 10000, false)                                                       \
	X(P99, "p99_ns", "wakeup latency p99", NS, 10000, false)                                                       \
	X(WAIT_P50, "queue_wait_p50_ns", "queue wait p50", NS, 10000, false)                                           \
	X(WAIT_P99, "queue_wait_p99_ns", "queue wait p99", NS, 10000, false)                                           \
	X(WAITING, "waiting", "tasks waiting, mean", NUMBER, 0, false)                                                 \
	X(IDLE_WAIT_CORE, "idle_while_waiting_core", "idle sibling while waiting", PERCENT, 0.01, true)                \
	X(IDLE_WAIT_LLC, "idle_while_waiting_llc", "idle CPU in LLC while waiting", PERCENT, 0.01, true)               \
	X(PREEMPTIONS_PER_S, "preemptions_per_s", "preemptions per s", NUMBER, 0, false)                               \
	X(MAKESPAN, "makespan_ns", "time to do all the work", NS, 0, false)

enum wi_sim_metric {
#define X(id, name, title, how, floor, absolute) WI_SIM_##id,
	WI_SIM_METRICS(X)
#undef X
		WI_NR_SIM_METRICS
};

struct wi_sim_stat {			/* over seeds */
	double mean, stddev, low, high; /* 95 % interval by Student's t; NAN: not measurable, or one seed */
	uint32_t nr;
};

/* Runs of one policy, a result a seed. */
struct wi_sim_policy {
	char *label;   /* owned */
	uint32_t base; /* number of the policy that it is compared with; UINT32_MAX: none */
	struct wi_sim_result *run;
	uint32_t nr_runs;
	struct wi_sim_stat value[WI_NR_SIM_METRICS];
	struct wi_sim_stat difference[WI_NR_SIM_METRICS]; /* to the baseline, pair by pair */
	double ks;					  /* of latency to the baseline's, all seeds together */
	struct wi_hist latency;
};

struct wi_self_replay {
	double recorded[WI_NR_SIM_METRICS];
	struct wi_sim_stat own[WI_NR_SIM_METRICS], drawn[WI_NR_SIM_METRICS];
	double error[WI_NR_SIM_METRICS], error_drawn[WI_NR_SIM_METRICS]; /* of the means; absolute */
	double ks, ks_drawn;						 /* mean over seeds */
};

double wi_sim_metric(const struct wi_tally_result *t, uint64_t end_ns, enum wi_sim_metric m);
void wi_sim_stat(const double *values, uint32_t nr, struct wi_sim_stat *out);
double wi_student_t(uint32_t degrees); /* two-sided 95 % quantile */

/* Fills value[], and difference[] to base (may be NULL: none). false: out of memory. */
bool wi_sim_policy_summarise(struct wi_sim_policy *p, const struct wi_sim_policy *base);
void wi_sim_policy_fini(struct wi_sim_policy *p);
void wi_self_replay(const struct wi_tally_result *recorded, uint64_t recorded_end_ns, const struct wi_sim_policy *own,
		    const struct wi_sim_policy *drawn, struct wi_self_replay *out);
/* Is |difference| above the self-replay's error of that metric? */
bool wi_sim_believable(const struct wi_self_replay *s, enum wi_sim_metric m, double difference);

#endif
