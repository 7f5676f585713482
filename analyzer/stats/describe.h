/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Some measurements in a few numbers. What cannot be told is NAN in all of analyzer/stats/: unknown is never 0.
 */
#ifndef WI_STATS_DESCRIBE_H
#define WI_STATS_DESCRIBE_H

#include <stddef.h>

/*
 * Measurements of one metric in one group. The values are finite; a measurement that is missing or unknown is not among
 * them, it is counted apart.
 */
struct wi_sample {
	const double *v; /* lent */
	size_t n, nr_unknown;
};

struct wi_describe {
	size_t n, nr_unknown;
	double mean;	 /* arithmetic (Amean); unknown if n = 0 */
	double hmean;	 /* harmonic; unknown if n = 0 or if any value is not above 0 */
	double stddev;	 /* of the sample (n - 1); unknown if n < 2 */
	double cv;	 /* stddev / |mean|, 1 = 100 %; unknown if stddev is or mean = 0 */
	double min, max; /* unknown if n = 0 */
};

/* The order of the values makes no difference beyond the last bits of the sums. */
struct wi_describe wi_describe(const struct wi_sample *s);

#endif
