/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is recorded, and with how much memory. */
#ifndef WI_RECORD_PLAN_H
#define WI_RECORD_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyzer/base/err.h"
#include "analyzer/record/tracefs.h"

#define WI_MAX_RECORD_EVENTS 64

#define WI_BUFFER_MIN_KB 1024u
#define WI_BUFFER_MAX_KB 16384u
#define WI_BUFFER_DEEP_MAX_KB 32768u

struct wi_record_plan {
	const char *event[WI_MAX_RECORD_EVENTS]; /* "system:event", borrowed */
	uint32_t nr_events;
	char missing[512]; /* events that were wanted and this kernel lacks, separated by blanks */
	bool no_waking;	   /* sched_waking is among them */
};

/*
 * The stock events, those of deep recordings if wanted, and extra ones. False: err set: sched_switch or an extra event
 * is not in this kernel, or there are too many.
 */
bool wi_record_plan(struct wi_record_plan *p, const struct wi_tracefs *fs, bool deep, const char *const *extra,
		    size_t nr_extra, struct wi_err *err);

/*
 * Ring buffer in KiB a CPU: the maximum above if all CPUs together stay within an eighth of the available memory, else
 * less, never below the minimum. available_bytes 0: unknown, the maximum.
 */
uint32_t wi_record_buffer_kb(uint32_t nr_cpus, uint64_t available_bytes, bool deep);

/* MemAvailable of a /proc/meminfo text, in bytes; 0 if it does not say. */
uint64_t wi_available_memory(const char *meminfo);

#endif
