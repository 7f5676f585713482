/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Groups side by side, metric by metric: what a table of "wakeif diff" shows. Pure: arrays in, plain numbers out; it
 * knows no database and prints nothing.
 */
#ifndef WI_STATS_COMPARE_H
#define WI_STATS_COMPARE_H

#include "analyzer/base/direction.h"
#include "analyzer/stats/bootstrap.h"
#include "analyzer/stats/hypothesis.h"

#define WI_VALUE_MAX 1e300 /* of the magnitude of a value; differences and sums still are numbers */

struct wi_compare_metric {
	const char *name; /* lent: the caller's for as long as it uses the results */
	enum wi_direction direction;
	const struct wi_sample *group; /* [nr_groups]; lent for the call */
};

struct wi_compare_options {
	size_t nr_groups, baseline; /* the number of the baseline: any of them */
	uint32_t resamples;	    /* 0: WI_RESAMPLES */
	uint64_t seed;
	double level; /* of intervals; 0: 0.95 */
};

enum wi_change {
	WI_CHANGE_UNKNOWN, /* no interval */
	WI_CHANGE_NONE,	   /* the interval contains 0 */
	WI_CHANGE_BETTER,
	WI_CHANGE_WORSE,
	WI_CHANGE_OTHER, /* it changed, and neither way is better */
};

/* A group against the baseline. */
struct wi_against {
	struct wi_boot boot; /* differences, intervals, significance (the mark "*") */
	struct wi_welch welch;
	struct wi_mwu mwu;
	double welch_holm, mwu_holm; /* corrected over all metrics and groups of the comparison; NAN where p is */
	enum wi_change change;
};

struct wi_compare_row {
	const char *name;
	enum wi_direction direction;
	struct wi_describe *group;  /* [nr_groups] */
	struct wi_against *against; /* [nr_groups]; the baseline's own is all unknown */
};

struct wi_comparison {
	struct wi_compare_options options; /* with what was 0 filled in */
	size_t nr_rows;
	struct wi_compare_row *row; /* in the order of the metrics */
	/* Sizes of the two families that Holm's correction is over: p values that are known. */
	size_t welch_family, mwu_family;
};

/*
 * Compares. A row depends on its own values, on the seed and, in the columns of Holm alone, on the other rows.
 * NULL: the options make no sense (WI_EUSAGE), a value is not finite or beyond WI_VALUE_MAX, or out of memory (WI_EIO).
 */
struct wi_comparison *wi_compare(const struct wi_compare_metric *metric, size_t nr,
				 const struct wi_compare_options *options, struct wi_err *err);
void wi_comparison_free(struct wi_comparison *c);

/*
 * A relative difference as mmtests prints it: positive = better. Where lower is better the sign is turned; where
 * neither way is better the difference stays as it is.
 */
double wi_gain(double ratio, enum wi_direction direction);

#endif
