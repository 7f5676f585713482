/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Numbers drawn by lot: xoshiro256++ (Blackman, Vigna 2019), seeded through splitmix64 as its authors advise. The same
 * seed and stream give the same numbers on every machine; streams of one seed are independent of each other.
 */
#ifndef WI_BASE_RANDOM_H
#define WI_BASE_RANDOM_H

#include <stdint.h>

struct wi_random {
	uint64_t s[4];
};

void wi_random_seed(struct wi_random *r, uint64_t seed, uint64_t stream);

static inline uint64_t wi_random_rotl(uint64_t x, int by)
{
	return x << by | x >> (64 - by);
}

static inline uint64_t wi_random_u64(struct wi_random *r)
{
	uint64_t result = wi_random_rotl(r->s[0] + r->s[3], 23) + r->s[0], t = r->s[1] << 17;

	r->s[2] ^= r->s[0];
	r->s[3] ^= r->s[1];
	r->s[1] ^= r->s[2];
	r->s[0] ^= r->s[3];
	r->s[2] ^= t;
	r->s[3] = wi_random_rotl(r->s[3], 45);
	return result;
}

/* See wi_random_scale(): what is left of it when the low half of the product is less than below. */
uint32_t wi_random_scale_slowly(struct wi_random *r, uint64_t product, uint32_t below);

/*
 * 32 random bits to [0, below), without bias, below > 0: the high half of the product (Lemire). Some products whose low
 * half is small would favour their results: instead of these, others are drawn.
 */
static inline uint32_t wi_random_scale(struct wi_random *r, uint32_t bits, uint32_t below)
{
	uint64_t product = (uint64_t)bits * below;

	return (uint32_t)product < below ? wi_random_scale_slowly(r, product, below) : (uint32_t)(product >> 32);
}

static inline uint32_t wi_random_below(struct wi_random *r, uint32_t below)
{
	return wi_random_scale(r, (uint32_t)(wi_random_u64(r) >> 32), below);
}

/* Uniform in (0, 1): never 0, never 1. */
static inline double wi_random_unit(struct wi_random *r)
{
	return ((double)(wi_random_u64(r) >> 12) + 0.5) * 0x1p-52;
}

double wi_random_normal(struct wi_random *r);			/* mean 0, standard deviation 1 */
double wi_random_gamma(struct wi_random *r, double shape);	/* scale 1; shape >= 1 */
double wi_random_beta(struct wi_random *r, double a, double b); /* a, b >= 1 */

#endif
