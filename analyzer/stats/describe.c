/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analyzer/stats/describe.h"

#include <math.h>

/* Divided before it is added up, so that no sum is beyond what a number can hold; the second round takes back the
 * rounding of the first. */
static double mean_of(const double *v, size_t n)
{
	double mean = 0, rest = 0;

	for (size_t i = 0; i < n; i++)
		mean += v[i] / (double)n;
	for (size_t i = 0; i < n; i++)
		rest += (v[i] - mean) / (double)n;
	return mean + rest;
}

/* Deviations are taken in units of the greatest one: their squares neither overflow nor vanish. */
static double stddev_of(const double *v, size_t n, double mean, double greatest)
{
	double sum = 0, rest = 0;

	if (n < 2)
		return NAN;
	if (greatest == 0)
		return 0;
	for (size_t i = 0; i < n; i++) {
		double d = (v[i] - mean) / greatest;
		sum += d * d;
		rest += d;
	}
	return greatest * sqrt((sum - rest * rest / (double)n) / (double)(n - 1));
}

static double harmonic_of(const double *v, size_t n, double min)
{
	double sum = 0;

	if (!(min > 0))
		return NAN;
	for (size_t i = 0; i < n; i++)
		sum += min / v[i]; /* at most 1 each */
	return min * ((double)n / sum);
}

struct wi_describe wi_describe(const struct wi_sample *s)
{
	struct wi_describe d = { s->n, s->nr_unknown, NAN, NAN, NAN, NAN, NAN, NAN };

	if (!s->n)
		return d;
	d.min = d.max = s->v[0];
	for (size_t i = 1; i < s->n; i++) {
		d.min = fmin(d.min, s->v[i]);
		d.max = fmax(d.max, s->v[i]);
	}
	/* The mean of equal values is that value, to the last bit: what has no spread shows none. */
	d.mean = d.min == d.max ? d.min : mean_of(s->v, s->n);
	d.hmean = d.min == d.max && d.min > 0 ? d.min : harmonic_of(s->v, s->n, d.min);
	d.stddev = stddev_of(s->v, s->n, d.mean, fmax(d.max - d.mean, d.mean - d.min));
	if (d.mean != 0)
		d.cv = d.stddev / fabs(d.mean);
	return d;
}
