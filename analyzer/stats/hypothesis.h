/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * "Could two groups differ this much by chance?" All p values are two-sided. Nothing here allocates unless it says so.
 */
#ifndef WI_STATS_HYPOTHESIS_H
#define WI_STATS_HYPOTHESIS_H

#include <stdbool.h>
#include <stddef.h>

#include "analyzer/base/err.h"
#include "analyzer/stats/describe.h"

/*
 * Welch's t test: equal means? Does not ask for equal variances. All NAN if either group has fewer than 2 values, or if
 * neither has any spread (then t is not defined).
 */
struct wi_welch {
	double t;  /* > 0: the mean of b is greater */
	double df; /* degrees of freedom by Welch and Satterthwaite, not rounded */
	double p;
};

struct wi_welch wi_welch(const struct wi_describe *a, const struct wi_describe *b);

/*
 * Mann-Whitney U (Wilcoxon's rank sum) test: same distribution? p is the chance, when the values are dealt to the
 *groups by lot, of an U at least as far from its mean as the one seen. exact   counted over all ways to deal the
 *values, with midranks for ties, while (na + nb) * min(na, nb) * na * nb is at most WI_MWU_EXACT_WORK: 30 against 30, 5
 *against 300, 2 against 700 else    by the normal approximation, its variance corrected for ties, with correction for
 *continuity NAN if either group is empty; p = 1 if all values are equal.
 */
#define WI_MWU_EXACT_WORK 2000000

struct wi_mwu {
	double u; /* pairs in which b's value is greater, ties count 1/2: 0 .. na * nb */
	double p;
	bool exact;
};

/* Allocates. false: out of memory. */
bool wi_mwu(const struct wi_sample *a, const struct wi_sample *b, struct wi_mwu *out, struct wi_err *err);

/*
 * Holm's step-down correction of a family of p values: adjusted[i] <= level keeps the chance of any wrong claim in the
 * family below level, whatever the dependence. NANs are not of the family and stay. In and out may be the same array.
 * Allocates. false: out of memory.
 */
bool wi_holm(const double *p, size_t n, double *adjusted, struct wi_err *err);

#endif
