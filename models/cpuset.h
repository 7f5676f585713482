/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Searches of CPU sets as the models need them: wrapping at the end, counting what was looked at. */
#ifndef WI_MODELS_CPUSET_H
#define WI_MODELS_CPUSET_H

#include "analyzer/base/cpumask.h"
#include "models/wakeif_model.h"

/* CPUs of m that are below cpu. */
static inline uint32_t wi_mask_rank(const wakeif_word *m, uint32_t cpu)
{
	uint32_t n = wi_mask_weight(m, cpu >> 6);

	return cpu & 63 ? n + (uint32_t)__builtin_popcountll(m[cpu >> 6] & ((1ull << (cpu & 63)) - 1)) : n;
}

/* First CPU of a ∩ b from `from` on, wrapping; WAKEIF_CPU_NONE if none. */
static inline uint32_t wi_mask_first_from(const wakeif_word *a, const wakeif_word *b, uint32_t words, uint32_t from)
{
	uint32_t start = from >> 6;

	if (start >= words)
		start = from = 0;
	for (uint32_t k = 0; k <= words; k++) {
		uint32_t i = start + k < words ? start + k : start + k - words;
		wakeif_word w = a[i] & b[i];

		if (k == 0)
			w &= ~0ull << (from & 63);
		else if (k == words)
			w &= ~(~0ull << (from & 63));
		if (w)
			return i * 64 + (uint32_t)__builtin_ctzll(w);
	}
	return WAKEIF_CPU_NONE;
}

/* How many CPUs of m a walk from `from`, wrapping, has looked at when it stops on cpu (counted itself). */
static inline uint32_t wi_mask_steps(const wakeif_word *m, uint32_t words, uint32_t from, uint32_t cpu)
{
	uint32_t start = from >> 6 < words ? wi_mask_rank(m, from) : 0, end = wi_mask_rank(m, cpu) + 1;

	return end > start ? end - start : wi_mask_weight(m, words) - start + end;
}

static inline const wakeif_word *wi_span(const struct wakeif_topology *t, enum wakeif_scope scope, uint32_t cpu)
{
	return t->span[scope][t->group[scope][cpu]];
}

static inline bool wi_core_is_idle(const struct wakeif_view *v, uint32_t cpu)
{
	const struct wakeif_topology *t = v->topology;
	const wakeif_word *core = wi_span(t, WAKEIF_CORE, cpu);

	for (uint32_t i = 0; i < t->nr_words; i++)
		if (core[i] & t->online[i] & ~v->idle[i])
			return false;
	return true;
}

#endif
