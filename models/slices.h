/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How long fair tasks run beside each other: the kernel's defaults, by version and number of CPUs. */
#ifndef WI_MODELS_SLICES_H
#define WI_MODELS_SLICES_H

#include <stdbool.h>
#include <stdint.h>

#include "analyzer/base/kernel.h"

/* 1 + log2 of the CPUs, at most 8 of them: "log" scaling of the tunables. */
static inline uint32_t wi_slice_scale(uint32_t nr_cpus)
{
	uint32_t n = nr_cpus > 8 ? 8 : nr_cpus ? nr_cpus : 1, f = 1;

	for (; n > 1; n /= 2)
		f++;
	return f;
}

/* version 0: unknown, taken for a late one */
static inline bool wi_slice_oldest(uint32_t version)
{
	return version && version <= WI_KERNEL(2, 6);
}

/* CFS: in this time all run once, unless they are so many that each would get less than the granularity. */
static inline uint64_t wi_slice_latency_ns(uint32_t version, uint32_t nr_cpus)
{
	return (wi_slice_oldest(version) ? 20000000u : 6000000u) * (uint64_t)wi_slice_scale(nr_cpus);
}

static inline uint64_t wi_slice_min_granularity_ns(uint32_t version, uint32_t nr_cpus)
{
	return (wi_slice_oldest(version) ? 4000000u : 750000u) * (uint64_t)wi_slice_scale(nr_cpus);
}

static inline uint64_t wi_slice_wakeup_granularity_ns(uint32_t version, uint32_t nr_cpus)
{
	return (wi_slice_oldest(version) ? 5000000u : 1000000u) * (uint64_t)wi_slice_scale(nr_cpus);
}

/* EEVDF */
static inline uint64_t wi_slice_base_ns(uint32_t version, uint32_t nr_cpus)
{
	bool smaller = version >= WI_KERNEL(6, 15) || version == WI_KERNEL(6, 12); /* 6.12 by a backport */

	return (smaller ? 700000u : 750000u) * (uint64_t)wi_slice_scale(nr_cpus);
}

#endif
