/* SPDX-License-Identifier: GPL-2.0-or-later */
/* From a session's trace to a workload, in the passes of a replay: WF_SYNC is found as the replay finds it. */
#ifndef WI_SESSION_WORKLOAD_H
#define WI_SESSION_WORKLOAD_H

#include "analyzer/session_replay.h"
#include "analyzer/workload/extract.h"

#define WI_SMT_SPEEDS 64u /* speeds by name, at most */

struct wi_workload_wanted {
	enum wi_sync_mode sync;
	enum wi_edge edge;
	uint32_t smt_speed; /* 1/1024 */
	struct {
		const char *comm; /* glob pattern */
		uint32_t speed;
	} smt_speed_of[WI_SMT_SPEEDS];
	uint32_t nr_smt_speeds;
	uint32_t host_cpus;
	bool softirq_external, no_orders;
	bool chosen; /* one of these was asked for on the command line */
	const struct wi_timeline_observer *observer;	 /* told in the same pass; may be NULL */
	void (*bind)(void *ctx, struct wi_timeline *tl); /* before its first event; may be NULL */
	void *bind_ctx;
};

/* NULL: err set. The workload borrows the session's topology: free it before the session is closed. */
struct wi_workload *wi_session_workload(struct wi_session *s, const struct wi_workload_wanted *wanted,
					struct wi_err *err);

/* Speed of a task beside a busy sibling, by the first pattern that its name matches. */
uint32_t wi_workload_smt_speed(const struct wi_workload_wanted *wanted, const char *comm);

#endif
