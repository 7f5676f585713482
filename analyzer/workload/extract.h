/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * From a recording's timeline to a workload: an observer that writes tapes. What is a cause and what is not is decided
 * by the rules of doc/workload.md (edges, softirq, soft order edges, external wakes, bursts at solo speed).
 */
#ifndef WI_WORKLOAD_EXTRACT_H
#define WI_WORKLOAD_EXTRACT_H

#include "analyzer/timeline/timeline.h"
#include "analyzer/workload/workload.h"

struct wi_extract;

struct wi_extract_opts {
	const struct wakeif_topology *topology; /* borrowed */
	struct wi_names *names;			/* borrowed */
	uint32_t kernel, hz;
	uint32_t smt_speed; /* speed of a thread beside a busy sibling, 1/1024: 512 .. 1024 */
	uint32_t (*smt_speed_of)(void *ctx, uint32_t comm); /* by name; NULL: the same for all */
	void *smt_ctx;
	uint32_t host_cpus; /* 0: CPUs are real */
	enum wi_edge edge;
	bool softirq_external;	 /* wakes in softirq context are never the interrupted task's own */
	bool no_orders;		 /* nothing is inferred: no soft order edges, no unseen requests */
	uint64_t from_ns, to_ns; /* part of the window, absolute; 0, UINT64_MAX: all */
};

struct wi_extract *wi_extract_new(const struct wi_extract_opts *opts, struct wi_err *err);
const struct wi_timeline_observer *wi_extract_observer(struct wi_extract *x); /* borrowed */
void wi_extract_bind(struct wi_extract *x, struct wi_timeline *tl);	      /* before the first event */
/* WF_SYNC of w, told between its decision and its end by one who knows or has learned it. */
void wi_extract_sync(struct wi_extract *x, const struct wi_wakeup *w, bool set);
/* After wi_timeline_finish(). NULL: err set. Once. */
struct wi_workload *wi_extract_finish(struct wi_extract *x, struct wi_err *err);
void wi_extract_free(struct wi_extract *x);

#endif
