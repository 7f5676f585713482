/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The switch chain of each CPU: the task current when a record is written (common_pid; sched_switch: prev_pid) must be the one that
 * the last sched_switch put there. A break proves that a switch is missing, whatever lost-events marks say.
 * Shared by readers that look ahead and by the survey of those that do not.
 */
#ifndef WI_CHAIN_H
#define WI_CHAIN_H

#include <stdbool.h>
#include <stdint.h>

#include "parsers/event.h"

#define WI_CHAIN_UNKNOWN (-1)

struct wi_chain {
	int32_t pid;	 /* current task, or WI_CHAIN_UNKNOWN (start, after a lost mark) */
	int32_t leaving; /* the task that the last record, a sched_switch, switched out; else WI_CHAIN_UNKNOWN */
};

#define WI_CHAIN_START ((struct wi_chain){ WI_CHAIN_UNKNOWN, WI_CHAIN_UNKNOWN })

/*
 * sched_switch is written before the kernel changes "current": what is written within the switch (tlb_flush, FPU and
 * timer events) still carries the old pid, which proves neither a missing switch nor who runs.
 */
static inline bool wi_chain_stale(const struct wi_chain *c, const struct wi_event *ev)
{
	return (ev->type == WI_EV_OTHER || ev->type == WI_EV_HRTIMER_START) && (ev->known & WI_KNOWN_COMMON_PID) &&
	       ev->common_pid == c->leaving && ev->common_pid != c->pid;
}

/* Does ev (a record of this CPU) contradict the chain? Then follow it anyway: call wi_chain_follow next. */
static inline bool wi_chain_broken(const struct wi_chain *c, const struct wi_event *ev)
{
	if (c->pid == WI_CHAIN_UNKNOWN || ev->type == WI_EV_LOST || ev->type == WI_EV_MARKER || wi_chain_stale(c, ev))
		return false;
	if (ev->type == WI_EV_SCHED_SWITCH)
		return ev->sw.prev_pid != c->pid;
	if (ev->type == WI_EV_SCHED_PROCESS_EXEC) /* a thread that execs takes its leader's pid */
		return ev->exec.pid != c->pid && ev->exec.old_pid != c->pid;
	return (ev->known & WI_KNOWN_COMMON_PID) && ev->common_pid != c->pid;
}

static inline void wi_chain_follow(struct wi_chain *c, const struct wi_event *ev)
{
	if (wi_chain_stale(c, ev))
		return;
	c->leaving = ev->type == WI_EV_SCHED_SWITCH ? ev->sw.prev_pid : WI_CHAIN_UNKNOWN;
	if (ev->type == WI_EV_LOST)
		c->pid = WI_CHAIN_UNKNOWN;
	else if (ev->type == WI_EV_SCHED_SWITCH)
		c->pid = ev->sw.next_pid;
	else if (ev->type == WI_EV_SCHED_PROCESS_EXEC)
		c->pid = ev->exec.pid;
	else if (ev->type != WI_EV_MARKER && (ev->known & WI_KNOWN_COMMON_PID)) /* as all of ftrace's own, a marker proves nothing */
		c->pid = ev->common_pid;
}

#endif
