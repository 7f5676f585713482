/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What really happened: consumes the timeline's hooks, measures, and gives a struct wi_results.
 *
 *   m = wi_metrics_new(&opts, &err);
 *   tl = wi_timeline_new(&topts, wi_metrics_observer(m), &err);
 *   wi_metrics_bind(m, tl);             before the first event
 *   ... wi_timeline_room, wi_timeline_take ... wi_timeline_finish(tl, &err);
 *   r = wi_metrics_finish(m, &err);     borrowed until wi_metrics_free, or wi_metrics_take
 */
#ifndef WI_METRICS_H
#define WI_METRICS_H

#include "analyzer/base/cookie_map.h"
#include "analyzer/metrics/results.h"

enum wi_smt_group { WI_GROUP_COMM, WI_GROUP_TASK, WI_GROUP_TGID, WI_GROUP_CGROUP, WI_GROUP_MAP };

/* A line of the user's map: tasks of this pid, or of this name, are of this group; pid lines win. */
struct wi_group_rule {
	int32_t pid;	   /* -1: comm decides */
	const char *comm;  /* NULL: pid decides */
	const char *group; /* never NULL */
};

/* One wakeup that counts, at its end, for `wakeif wakeups`. Borrowed for the length of the call. */
struct wi_wakeup_verdict {
	const struct wi_wakeup *w;
	enum wi_outcome outcome;
	uint64_t latency_ns, queue_wait_ns, transit_ns; /* WI_TIME_UNKNOWN: not measured. Censored: the age so far */
	uint8_t placement;				/* enum wi_placed */
	uint8_t row;	   /* enum wi_missed_row; NONE: not decided, or placed on an idle CPU */
	uint8_t idle_core; /* bit per enum wi_wide_scope: queued on a busy CPU while an idle core existed there */
	uint8_t half_busy; /* bit per enum wi_wide_scope: placed beside a busy sibling while an idle core existed there
			    */
	bool decided, stacked_on_waker, prev_idle_elsewhere, on_sched_idle_only, chosen_unknown;
	uint32_t missed_cpu;	  /* of row; else of idle_core/half_busy/stacked; WI_CPU_NONE: none was missed */
	uint64_t missed_since_ns; /* when it became idle */
	uint64_t missed_until_ns; /* when it stopped; WI_TIME_UNKNOWN: still idle now */
	uint64_t avoidable_ns;	  /* WI_TIME_UNKNOWN: none, or not measured */
	int32_t ran_pid;   /* current on the chosen CPU at the decision, or see ran_waking; 0 idle task; -1 unknown */
	uint32_t ran_comm; /* name id of the timeline's table; WI_NAME_NONE */
	bool ran_waking;   /* the CPU ran nobody: ran is the wakee that was sent there before */
	uint8_t prev_distance, waker_distance; /* enum wi_distance of chosen; UNKNOWN */
};

struct wi_metrics_opts {
	const struct wakeif_topology *topology; /* borrowed */
	struct wi_names *names;			/* borrowed: the timeline's */
	uint32_t kernel_version; /* WI_KERNEL(); 0 unknown: SCHED_IDLE-only CPUs do not count as idle */
	uint32_t worst_n;	 /* rows of worst[]; 0: 20 */
	uint32_t max_tasks;	 /* task rows kept in each order; 0: 1024 */
	enum wi_smt_group smt_group;
	const struct wi_group_rule *group_rules; /* WI_GROUP_MAP; copied */
	size_t nr_group_rules;
	struct wi_cookie_map *cookies; /* borrowed; NULL: no smt.cookies */
	bool split_cpu, split_waker; /* keep latency.by_cpu, latency.by_waker */
	/* Which wakeups count; the other metrics see everything. NULL, 0: all. Borrowed. */
	const wakeif_word *filter_cpus; /* chosen CPU; topology's nr_words */
	const int32_t *filter_pids;	/* wakee */
	size_t nr_filter_pids;
	const char *filter_comm; /* extended regular expression, wakee's name; copied */
	/* Called for every wakeup that counts, in order of their ends. May be NULL. */
	void (*sink)(void *ctx, const struct wi_wakeup_verdict *v);
	void *sink_ctx;
};

struct wi_metrics;

/* NULL: err set (out of memory; WI_EUSAGE: the expression is wrong). */
struct wi_metrics *wi_metrics_new(const struct wi_metrics_opts *opts, struct wi_err *err);
const struct wi_timeline_observer *wi_metrics_observer(struct wi_metrics *m); /* borrowed from m */
/* Before the first event; until a hook says otherwise every CPU is unknown. */
void wi_metrics_bind(struct wi_metrics *m, struct wi_timeline *tl);
/* After wi_timeline_finish(). NULL: err set (out of memory in a hook or here). Once. */
const struct wi_results *wi_metrics_finish(struct wi_metrics *m, struct wi_err *err);
struct wi_results *wi_metrics_take(struct wi_metrics *m); /* the results become the caller's; after finish */
void wi_metrics_free(struct wi_metrics *m);

#endif
