/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analyzer/record/plan.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const stock[] = {
	"sched:sched_switch",	    "sched:sched_waking",	"sched:sched_wakeup",
	"sched:sched_wakeup_new",   "sched:sched_migrate_task", "sched:sched_process_fork",
	"sched:sched_process_exec", "sched:sched_process_exit", "power:cpu_idle",
};

static const char *const deep_events[] = {
	"irq_vectors:local_timer_entry", "irq_vectors:call_function_single_entry",
	"irq_vectors:reschedule_entry",	 "timer:hrtimer_start",
	"timer:hrtimer_expire_entry",	 "sched:sched_stat_runtime",
	"raw_syscalls:sys_enter",	 "raw_syscalls:sys_exit",
};

#define NR(a) (sizeof(a) / sizeof(*(a)))

static void add(struct wi_record_plan *p, const struct wi_tracefs *fs, const char *event)
{
	size_t len = strlen(p->missing);

	if (wi_tracefs_has_event(fs, event))
		p->event[p->nr_events++] = event;
	else
		snprintf(p->missing + len, sizeof(p->missing) - len, "%s%s", len ? " " : "", event);
}

bool wi_record_plan(struct wi_record_plan *p, const struct wi_tracefs *fs, bool deep, const char *const *extra,
		    size_t nr_extra, struct wi_err *err)
{
	*p = (struct wi_record_plan){ 0 };
	if (nr_extra > WI_MAX_RECORD_EVENTS - NR(stock) - NR(deep_events))
		return wi_err_set(err, WI_EUSAGE, "too many -e options: %zu", nr_extra);
	if (!wi_tracefs_has_event(fs, stock[0]))
		return wi_err_set(err, WI_EIO, "this kernel cannot be recorded: it has no event %s in %s/events",
				  stock[0], fs->dir);
	for (size_t i = 0; i < NR(stock); i++)
		add(p, fs, stock[i]);
	p->no_waking = strstr(p->missing, "sched:sched_waking");
	for (size_t i = 0; deep && i < NR(deep_events); i++)
		add(p, fs, deep_events[i]);
	for (size_t i = 0; i < nr_extra; i++) {
		/* Whole systems ("irq") and patterns are trace-cmd's to judge. */
		if (strchr(extra[i], ':') && !strpbrk(extra[i], "*?[") && !wi_tracefs_has_event(fs, extra[i]))
			return wi_err_set(err, WI_EIO, "-e %s: this kernel has no such event", extra[i]);
		p->event[p->nr_events++] = extra[i];
	}
	return true;
}

uint32_t wi_record_buffer_kb(uint32_t nr_cpus, uint64_t available_bytes, bool deep)
{
	uint64_t max = deep ? WI_BUFFER_DEEP_MAX_KB : WI_BUFFER_MAX_KB, kb = max;

	if (available_bytes)
		kb = available_bytes / 8 / 1024 / (nr_cpus ? nr_cpus : 1) & ~255ull;
	if (kb > max)
		kb = max;
	return kb < WI_BUFFER_MIN_KB ? WI_BUFFER_MIN_KB : (uint32_t)kb;
}

uint64_t wi_available_memory(const char *meminfo)
{
	const char *at = strstr(meminfo, "MemAvailable:");

	if (!at)
		return 0;
	return strtoull(at + strlen("MemAvailable:"), NULL, 10) * 1024;
}
