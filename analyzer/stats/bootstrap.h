/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Intervals of the difference of two means, by the studentized bootstrap (bootstrap-t): groups are resampled with
 * replacement, each resample gives t* = (difference* - difference) / its own standard error, and quantiles of t* take
 * the place of Student's. The relative difference is the ratio of means less 1; its interval is found the same way on
 * the logarithm of the ratio. doc/statistics.md has the method, why not BCa, and the coverage that was measured.
 *
 * The mark of significance follows the interval of the relative difference, which holds better on skewed values, and
 * that of the difference where there is no relative one. Rarely, one of them contains 0 by a little and the other does
 * not.
 *
 * Same values, seed and streams: same bytes, whatever the order of the values.
 */
#ifndef WI_STATS_BOOTSTRAP_H
#define WI_STATS_BOOTSTRAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyzer/base/err.h"
#include "analyzer/stats/describe.h"

#define WI_RESAMPLES 10000 /* unless asked for another number */
#define WI_RESAMPLES_MIN 1000
#define WI_RESAMPLES_MAX 10000000
#define WI_LEVEL 0.95
#define WI_LEVEL_MIN 0.5
#define WI_LEVEL_MAX 0.999
#define WI_BOOT_MIN_N 3 /* values in each group below which an interval is unknown */

/* Why there is no interval: X(id, text) */
#define WI_INTERVAL_STATES(X)                                                                                          \
	X(KNOWN, "known")                                                                                              \
	X(NO_VALUES, "no values")                                                                                      \
	X(FEW, "too few values")                                                                                       \
	X(NO_SPREAD, "too few values, all equal")                                                                      \
	X(UNBOUNDED, "not bounded by these values")                                                                    \
	X(NO_BASE, "no baseline above 0")                                                                              \
	X(FEW_RUNS, "too few runs")                                                                                    \
	X(OTHER_BASIS, "one run against several")                                                                      \
	X(FEW_COUNTS, "too few wakeups for this quantile")

enum wi_interval_state {
#define X(id, text) WI_INTERVAL_##id,
	WI_INTERVAL_STATES(X)
#undef X
};

const char *wi_interval_state_text(enum wi_interval_state state);

struct wi_interval {
	double low, high; /* NAN, NAN unless known */
	enum wi_interval_state state;
};

/* false: the number of resamples or the level is out of range (WI_EUSAGE). */
bool wi_resamples_check(uint32_t resamples, double level, struct wi_err *err);

/* Of a group: how far the mean of each resample is from the group's, and its own squared standard error. */
struct wi_resamples {
	struct wi_describe of;
	double unit;	    /* of mean; se2 is in its square */
	uint32_t nr;	    /* 0: the group is too small, nothing was drawn */
	double *mean, *se2; /* [nr] */
};

/*
 * Draws nr resamples of s. stream: number of the group, so that the groups of a comparison are drawn independently and
 * the exchange of baseline and group mirrors the result. Allocates; fini frees. false: out of memory.
 */
bool wi_resample(const struct wi_sample *s, uint32_t nr, uint64_t seed, uint64_t stream, struct wi_resamples *out,
		 struct wi_err *err);
void wi_resamples_fini(struct wi_resamples *r);

struct wi_boot {
	double diff;  /* mean(b) - mean(a); NAN if either group is empty */
	double ratio; /* mean(b) / mean(a) - 1, 0.05 = +5 %; NAN if mean(a) <= 0 or a group is empty */
	struct wi_interval diff_in, ratio_in;
	bool significant; /* ratio_in, or else diff_in, is known and does not contain 0 */
};

/* Baseline a against b. level: 0.95 and the like, WI_LEVEL_MIN .. WI_LEVEL_MAX. Allocates for the while. false: out of
 * memory. */
bool wi_boot_difference(const struct wi_resamples *a, const struct wi_resamples *b, double level, struct wi_boot *out,
			struct wi_err *err);

#endif
