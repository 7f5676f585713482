/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * CPU sets of any width as arrays of 64-bit words; the width in words is the caller's (it is the same for every mask
 * of one topology). Bits at and above the number of CPUs are zero.
 */
#ifndef WI_BASE_CPUMASK_H
#define WI_BASE_CPUMASK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "analyzer/base/err.h"

#define WI_MAX_CPUS 65536u /* CPU numbers at or above this are refused as impossible */

static inline uint32_t wi_mask_words(uint32_t nr_cpus)
{
	return (nr_cpus + 63) / 64;
}

static inline bool wi_mask_test(const uint64_t *m, uint32_t cpu)
{
	return m[cpu >> 6] >> (cpu & 63) & 1;
}

static inline void wi_mask_set(uint64_t *m, uint32_t cpu)
{
	m[cpu >> 6] |= 1ull << (cpu & 63);
}

static inline void wi_mask_clear(uint64_t *m, uint32_t cpu)
{
	m[cpu >> 6] &= ~(1ull << (cpu & 63));
}

static inline uint32_t wi_mask_weight(const uint64_t *m, uint32_t words)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < words; i++)
		n += (uint32_t)__builtin_popcountll(m[i]);
	return n;
}

static inline bool wi_mask_empty(const uint64_t *m, uint32_t words)
{
	for (uint32_t i = 0; i < words; i++)
		if (m[i])
			return false;
	return true;
}

static inline bool wi_mask_subset(const uint64_t *a, const uint64_t *of, uint32_t words)
{
	for (uint32_t i = 0; i < words; i++)
		if (a[i] & ~of[i])
			return false;
	return true;
}

static inline bool wi_mask_equal(const uint64_t *a, const uint64_t *b, uint32_t words)
{
	return !memcmp(a, b, words * sizeof(*a));
}

/* Lowest CPU at or above from; UINT32_MAX if none. */
static inline uint32_t wi_mask_next(const uint64_t *m, uint32_t words, uint32_t from)
{
	uint32_t i = from >> 6;

	if (i >= words)
		return UINT32_MAX;
	uint64_t w = m[i] & (~0ull << (from & 63));
	while (!w) {
		if (++i >= words)
			return UINT32_MAX;
		w = m[i];
	}
	return i * 64 + (uint32_t)__builtin_ctzll(w);
}

#define wi_mask_for_each(cpu, m, words) \
	for (uint32_t cpu = wi_mask_next(m, words, 0); cpu != UINT32_MAX; cpu = wi_mask_next(m, words, cpu + 1))

/*
 * Kernel list grammar: "0-3,8,10-20:2/4", also the kernel's "N-M:used/group" stride, blanks and newline around it; an
 * empty text is the empty set. *mask is allocated (caller frees), *words set to the width needed. CPU >= WI_MAX_CPUS
 * or anything else: false, err set (WI_EREFUSED) with the character position.
 */
bool wi_mask_parse_list(const char *text, size_t len, uint64_t **mask, uint32_t *words, struct wi_err *err);

/* Kernel hex grammar: "000f,ff000fff": 32 bits a group from the right whatever the first group's length; 0x accepted. */
bool wi_mask_parse_hex(const char *text, size_t len, uint64_t **mask, uint32_t *words, struct wi_err *err);

/* "0-3,8"; "" for the empty set. Returns the length that was needed, as snprintf. */
size_t wi_mask_format(char *out, size_t size, const uint64_t *m, uint32_t words);

#endif
