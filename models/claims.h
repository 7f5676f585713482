/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * CPUs that a policy has just promised to a task. The recorded run goes on without the model's choices, so a promise is
 * kept for a fixed time only: as long as a task sent to an idle CPU takes to arrive there.
 */
#ifndef WI_MODELS_CLAIMS_H
#define WI_MODELS_CLAIMS_H

#include <stdlib.h>
#include <string.h>

#include "models/cpuset.h"

struct wi_claims {
	uint64_t *until_ns; /* by CPU */
	wakeif_word *free;  /* idle and not promised, of the last wi_claims_look() */
	uint64_t hold_ns;
	uint32_t words;
};

static inline void wi_claims_fini(struct wi_claims *c)
{
	free(c->until_ns);
	free(c->free);
}

static inline bool wi_claims_init(struct wi_claims *c, const struct wakeif_topology *t, uint64_t hold_ns)
{
	c->until_ns = calloc(t->nr_cpus, sizeof(*c->until_ns));
	c->free = calloc(t->nr_words, sizeof(*c->free));
	c->hold_ns = hold_ns;
	c->words = t->nr_words;
	if (c->until_ns && c->free)
		return true;
	wi_claims_fini(c);
	return false;
}

/* CPUs that are idle and promised to nobody. */
static inline const wakeif_word *wi_claims_look(struct wi_claims *c, const struct wakeif_view *v)
{
	memcpy(c->free, v->idle, c->words * sizeof(*c->free));
	for (uint32_t i = 0; i < c->words; i++)
		for (wakeif_word left = c->free[i]; left; left &= left - 1) {
			uint32_t cpu = i * 64 + (uint32_t)__builtin_ctzll(left);

			if (c->until_ns[cpu] > v->now_ns)
				wi_mask_clear(c->free, cpu);
		}
	return c->free;
}

static inline void wi_claims_take(struct wi_claims *c, uint32_t cpu, uint64_t now_ns)
{
	c->until_ns[cpu] = now_ns + c->hold_ns;
	wi_mask_clear(c->free, cpu);
}

#endif
