/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analyzer/base/random.h"

#include <math.h>

/* splitmix64: neighbouring seeds become states that share nothing. */
static uint64_t mix(uint64_t *x)
{
	uint64_t z = *x += 0x9e3779b97f4a7c15ull;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ z >> 27) * 0x94d049bb133111ebull;
	return z ^ z >> 31;
}

void wi_random_seed(struct wi_random *r, uint64_t seed, uint64_t stream)
{
	uint64_t x = seed, y = stream ^ mix(&x); /* of the stream's number all bits count, and seed + 1 is no stream */

	for (int i = 0; i < 4; i++)
		r->s[i] = mix(&x) ^ mix(&y);
	if (!(r->s[0] | r->s[1] | r->s[2] | r->s[3]))
		r->s[0] = 1; /* the one state that it would never leave */
}

uint32_t wi_random_scale_slowly(struct wi_random *r, uint64_t product, uint32_t below)
{
	uint32_t unfair = -below % below;

	while ((uint32_t)product < unfair)
		product = (wi_random_u64(r) >> 32) * below;
	return (uint32_t)(product >> 32);
}

/* Marsaglia's polar method. Its second number is not kept: who draws has no state but the generator's. */
double wi_random_normal(struct wi_random *r)
{
	double x, y, s;

	do {
		x = 2 * wi_random_unit(r) - 1;
		y = 2 * wi_random_unit(r) - 1;
		s = x * x + y * y;
	} while (s >= 1 || s == 0);
	return x * sqrt(-2 * log(s) / s);
}

/* Marsaglia, Tsang (2000): the cube of a normal number, some drawn anew. */
double wi_random_gamma(struct wi_random *r, double shape)
{
	double d = shape - 1.0 / 3, c = 1 / sqrt(9 * d);

	for (;;) {
		double x = wi_random_normal(r), v = 1 + c * x;
		if (v <= 0)
			continue;
		v = v * v * v;
		if (log(wi_random_unit(r)) < x * x / 2 + d * (1 - v + log(v)))
			return d * v;
	}
}

double wi_random_beta(struct wi_random *r, double a, double b)
{
	double x = wi_random_gamma(r, a), y = wi_random_gamma(r, b);

	return x / (x + y);
}
