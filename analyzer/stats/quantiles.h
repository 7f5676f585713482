/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Latency histograms of groups, quantile by quantile, with intervals.
 *
 * A group of several runs: runs are resampled with replacement (cluster bootstrap), since the wakeups of one run
 * resemble each other; WI_CLUSTER_MIN_RUNS at least. The percentile intervals are widened for the few runs
 * (Hesterberg's expanded percentiles): with 5 runs their tails are 0.1 % instead of 2.5 %, and with 4 they would be
 * less than the chance of drawing one run four times, so that no resample could tell. A group of one run: the order
 * statistics of its wakeups, which tell what these wakeups tell and nothing of the next run's. A group of 2 to 4 runs:
 * values, but no intervals. No interval reaches beyond what the counts can tell: the rank that bounds it has to exist
 * among the wakeups (p99.99 takes about 37,000), else it is unknown. Ends are the outer edges of the histogram's
 * buckets, so the width of a bucket never makes an interval too short.
 */
#ifndef WI_STATS_QUANTILES_H
#define WI_STATS_QUANTILES_H

#include "analyzer/base/hist.h"
#include "analyzer/stats/bootstrap.h"

/* X(id, name, q) */
#define WI_QUANTILES(X)                                                                                                \
	X(P50, "p50", 0.5)                                                                                             \
	X(P75, "p75", 0.75)                                                                                            \
	X(P90, "p90", 0.9)                                                                                             \
	X(P95, "p95", 0.95)                                                                                            \
	X(P99, "p99", 0.99)                                                                                            \
	X(P99_9, "p99.9", 0.999)                                                                                       \
	X(P99_99, "p99.99", 0.9999)

enum wi_quantile {
#define X(id, name, q) WI_QUANTILE_##id,
	WI_QUANTILES(X)
#undef X
		WI_NR_QUANTILES
};

const char *wi_quantile_name(enum wi_quantile q);
double wi_quantile_of(enum wi_quantile q); /* 0.5 ... */

#define WI_CLUSTER_MIN_RUNS 5

struct wi_hist_group {
	const struct wi_hist *const *run; /* lent; empty histograms are left out and counted */
	size_t nr_runs;
};

struct wi_quantile_value {
	double ns; /* of all wakeups together, as wi_hist_quantile() tells; NAN: no wakeups */
	struct wi_interval in;
};

struct wi_quantile_against {
	double diff_ns, ratio; /* to the baseline; ratio 0.05 = +5 %, NAN if the baseline is 0 */
	struct wi_interval diff_in, ratio_in;
	bool significant; /* diff_in is known and does not contain 0; nor does ratio_in then */
};

struct wi_quantile_group {
	size_t nr_runs, nr_empty; /* with and without wakeups */
	struct wi_hist all;	  /* merged */
	struct wi_quantile_value value[WI_NR_QUANTILES];
	struct wi_quantile_against against[WI_NR_QUANTILES]; /* the baseline's own: all unknown */
};

struct wi_quantile_table {
	size_t nr_groups, baseline;
	uint32_t resamples;
	uint64_t seed;
	double level;
	struct wi_quantile_group *group;
};

/* resamples 0: WI_RESAMPLES; level 0: 0.95. NULL: no group, no such baseline (WI_EUSAGE), a
 * histogram whose buckets do not add up, or out of memory (WI_EIO). */
struct wi_quantile_table *wi_quantiles(const struct wi_hist_group *group, size_t nr_groups, size_t baseline,
				       uint32_t resamples, uint64_t seed, double level, struct wi_err *err);
void wi_quantile_table_free(struct wi_quantile_table *t);

#endif
