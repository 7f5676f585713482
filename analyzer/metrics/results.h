/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the metrics found: every number that a report prints. Plain data, owned by struct wi_results, with no pointer
 * into the timeline. Names are ids of the result's own table (wi_results.names).
 *
 * Every struct merges: results of several traces, or of shards of one, combine associatively and commutatively. All
 * sums are exact integers; lists are kept in the order in which a report prints them. Shares, percentiles and
 * rates are derived by the reader of the struct. doc/METRICS.md says what each number means.
 */
#ifndef WI_METRICS_RESULTS_H
#define WI_METRICS_RESULTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyzer/base/err.h"
#include "analyzer/base/hist.h"
#include "analyzer/base/names.h"
#include "analyzer/timeline/timeline.h"
#include "models/wakeif_model.h"

#define WI_PID_NONE INT32_MIN

/* Where a decided wakeup was placed: prev_cpu or elsewhere, and what its state was. */
#define WI_PLACEMENTS(X)                                                                                               \
	X(PREV_IDLE, "prev_idle")		  /* chosen == prev, idle */                                           \
	X(PREV_BUSY, "prev_busy")		  /* chosen == prev, busy */                                           \
	X(IDLE_CORE, "idle_core")		  /* elsewhere, every thread of the core idle */                       \
	X(IDLE_SIBLING_BUSY, "idle_sibling_busy") /* elsewhere, idle, a sibling busy */                                \
	X(BUSY, "busy")				  /* elsewhere, busy */

enum wi_placed {
#define X(id, name) WI_PLACED_##id,
	WI_PLACEMENTS(X)
#undef X
		WI_NR_PLACEMENTS,
	WI_PLACED_UNKNOWN = WI_NR_PLACEMENTS /* not decided, or a state that matters is unknown */
};

/* How far apart two CPUs are. */
#define WI_DISTANCES(X)                                                                                                \
	X(CPU, "cpu")	/* the same CPU */                                                                             \
	X(CORE, "core") /* another thread of the core */                                                               \
	X(CLUSTER, "cluster")                                                                                          \
	X(LLC, "llc")                                                                                                  \
	X(NODE, "node")                                                                                                \
	X(REMOTE, "remote")

enum wi_distance {
#define X(id, name) WI_DIST_##id,
	WI_DISTANCES(X)
#undef X
		WI_NR_DISTANCES,
	WI_DIST_UNKNOWN = WI_NR_DISTANCES
};

/* Rows of missed idle that exclude each other. */
#define WI_MISSED_ROWS(X)                                                                                              \
	X(NO_IDLE, "no_idle")                                                                                          \
	X(SIBLING, "sibling")                                                                                          \
	X(CLUSTER, "cluster")                                                                                          \
	X(LLC, "llc")                                                                                                  \
	X(NODE, "node")                                                                                                \
	X(MACHINE, "machine")                                                                                          \
	X(UNKNOWN, "unknown")

enum wi_missed_row {
#define X(id, name) WI_MISSED_##id,
	WI_MISSED_ROWS(X)
#undef X
		WI_NR_MISSED_ROWS,
	WI_MISSED_NONE = WI_NR_MISSED_ROWS /* placed on an idle CPU, or not decided */
};

/* Scopes in which an idle core, or an avoidable co-run, is looked for. */
#define WI_WIDE_SCOPES(X)                                                                                              \
	X(LLC, "llc", WAKEIF_LLC)                                                                                      \
	X(NODE, "node", WAKEIF_NODE)                                                                                   \
	X(MACHINE, "machine", WAKEIF_MACHINE)

enum wi_wide_scope {
#define X(id, name, scope) WI_WIDE_##id,
	WI_WIDE_SCOPES(X)
#undef X
		WI_NR_WIDE
};

static inline enum wakeif_scope wi_wide_scope(enum wi_wide_scope s)
{
	static const enum wakeif_scope scope[WI_NR_WIDE] = {
#define X(id, name, model_scope) [WI_WIDE_##id] = model_scope,
		WI_WIDE_SCOPES(X)
#undef X
	};

	return scope[s];
}

const char *wi_placed_name(enum wi_placed p);	      /* "unknown" for WI_PLACED_UNKNOWN and other numbers */
const char *wi_distance_name(enum wi_distance d);     /* same */
const char *wi_missed_row_name(enum wi_missed_row r); /* "none" for WI_MISSED_NONE and other numbers */
const char *wi_wide_scope_name(enum wi_wide_scope s);
const char *wi_scope_name(enum wakeif_scope s);	    /* "core", "cluster", "llc", "node", "machine" */
const char *wi_class_name(enum wakeif_class c);	    /* "select", ... */
const char *wi_context_name(enum wakeif_context c); /* "task", "softirq", "hardirq", "idle", "unknown" */

/*
 * Compact histogram with the buckets of analyzer/base/hist.h, for the many that hold few values: bucket numbers one by
 * one while they are few, counts over the used range afterwards. Expand it to read it.
 */
struct wi_chist {
	uint64_t count, sum_ns, min_ns, max_ns; /* min, max: undefined while count is 0 */
	void *data; /* uint16_t[cap]; dense: uint32_t[cap], wide: uint64_t[cap], from bucket base on */
	uint16_t base, cap;
	uint8_t form; /* private */
};

bool wi_chist_add_slowly(struct wi_chist *h, uint64_t ns, uint32_t index);

enum { WI_CHIST_LIST, WI_CHIST_DENSE, WI_CHIST_WIDE }; /* wi_chist.form: private */

/* index: wi_hist_index(ns). false: out of memory, nothing was counted. */
static inline bool wi_chist_add_at(struct wi_chist *h, uint64_t ns, uint32_t index)
{
	uint32_t at = index - h->base;

	if (h->form != WI_CHIST_DENSE || at >= h->cap || h->count >= UINT32_MAX) /* so no bucket can overflow */
		return wi_chist_add_slowly(h, ns, index);
	((uint32_t *)h->data)[at]++;
	h->min_ns = ns < h->min_ns ? ns : h->min_ns;
	h->max_ns = ns > h->max_ns ? ns : h->max_ns;
	h->count++;
	h->sum_ns += ns;
	return true;
}

/* Adds nr values, of which the buckets, the sum, the least and the greatest are known. */
bool wi_chist_add_many(struct wi_chist *h, const uint16_t *index, uint32_t nr, uint64_t sum_ns, uint64_t min_ns,
		       uint64_t max_ns);

static inline bool wi_chist_add(struct wi_chist *h, uint64_t ns)
{
	return wi_chist_add_at(h, ns, wi_hist_index(ns));
}

bool wi_chist_merge(struct wi_chist *into, const struct wi_chist *from);
bool wi_chist_expand(const struct wi_chist *h, struct wi_hist *into); /* adds to into */
void wi_chist_fini(struct wi_chist *h);

/* .wakeups: counts of the window (and of the filter, if any) */
struct wi_wakeup_results {
	uint64_t total, censored, stalled; /* stalled: among SELECT */
	uint64_t maybe_delayed;		   /* among SELECT; not measurable, and 0, for kernels before 6.12 */
	uint64_t by_class[WAKEIF_NR_CLASSES];
	/* Not measured, by why. total = censored + these four + latency.wakeup.count */
	uint64_t running, died, replaced, unknown;
};

/* One row of a split of the wakeup latency that was asked for (struct wi_metrics_opts.split_*). */
struct wi_split_row {
	int32_t pid;	  /* by waker: of the waker, WI_PID_NONE where context names it; by CPU: WI_PID_NONE */
	uint32_t comm;	  /* by waker: name id */
	uint32_t cpu;	  /* by CPU: where it ran; WI_CPU_NONE */
	uint8_t context;  /* by waker: HARDIRQ, SOFTIRQ, IDLE, UNKNOWN: all wakers of this context together */
	uint64_t wakeups; /* measured or not */
	uint64_t queue_wait_ns;
	struct wi_chist wakeup;
};

#define WI_LONGEST 20
#define WI_BEHIND 3

/* One of the longest waits, closed or censored, and who ran meanwhile on the CPU where it waited. */
struct wi_longest_row {
	uint64_t wake_ns, latency_ns;
	uint64_t queue_wait_ns;	   /* WI_TIME_UNKNOWN: its enqueue was not seen; then nothing is known of what ran */
	uint64_t sibling_idle_ns;  /* some SMT sibling ran the idle task; WI_TIME_UNKNOWN: no SMT, or not known */
	int32_t pid, waker_pid;	   /* waker: -1 unknown, 0 idle task */
	uint32_t comm, waker_comm; /* name ids */
	uint32_t waker_cpu, prev_cpu, chosen_cpu, run_cpu; /* WI_CPU_NONE: not known; run_cpu: censored */
	uint8_t class_;					   /* enum wakeif_class */
	uint8_t nr_behind;
	bool censored;	      /* still waiting at the window's end: latency and wait are its age */
	bool behind_known;    /* behind holds what is known of its wait; false: nothing is */
	bool behind_complete; /* all of the wait is accounted for */
	struct wi_behind {
		int32_t pid; /* 0 idle task */
		uint32_t comm;
		uint64_t ns;
	} behind[WI_BEHIND]; /* who ran longest during the wait: by ns falling, pid */
};

/* .latency. The splits by class and placement are exact parts of `wakeup`. */
struct wi_latency_results {
	struct wi_hist wakeup, queue_wait, transit;
	struct wi_hist by_class[WAKEIF_NR_CLASSES];
	struct wi_hist by_placement[WI_NR_PLACEMENTS]; /* decided ones */
	struct wi_longest_row *longest; /* the longest, of all classes: by latency_ns falling, wake_ns, pid */
	size_t nr_longest;		/* at most WI_LONGEST */
	struct wi_split_row *by_cpu,
		*by_waker; /* NULL unless asked for; by_cpu: by CPU; by_waker: by sum falling, context, pid, comm */
	size_t nr_by_cpu, nr_by_waker;
};

/* One row of missed idle. wait and avoidable hold the wakeups that were switched in and whose enqueue was seen. */
struct wi_missed_cost {
	uint64_t count;
	struct wi_hist wait, avoidable; /* avoidable: empty where no CPU was missed (no_idle, unknown) */
};

/* One of the worst: queued on a busy CPU while another was idle. */
struct wi_worst_row {
	uint64_t wake_ns, wait_ns, avoidable_ns;
	uint64_t missed_idle_ns; /* from when the missed CPU became idle to when it stopped, or the window's end */
	int32_t pid, waker_pid,
		ran_pid; /* waker, ran: -1 unknown, 0 idle task. ran: current on the chosen CPU at the decision */
	uint32_t comm, waker_comm, ran_comm;		      /* name ids */
	uint32_t waker_cpu, prev_cpu, chosen_cpu, missed_cpu; /* waker_cpu: WI_CPU_NONE unknown */
	uint8_t row;					      /* enum wi_missed_row: SIBLING .. MACHINE */
	bool censored;		/* still waiting at the window's end: wait_ns is its age */
	bool ran_waking;	/* nobody ran there: ran is the wakee that was sent there before */
	bool missed_sched_idle; /* the missed CPU was not idle at the decision but ran SCHED_IDLE tasks only */
};

/* .missed_idle. chosen_idle + queued_on_busy + chosen_unknown = decided; chosen_idle + sum of rows = decided. */
struct wi_missed_results {
	uint64_t decided, chosen_idle, queued_on_busy, chosen_unknown; /* chosen_unknown: part of row[UNKNOWN] */
	uint64_t on_waker_cpu,
		on_waker_cpu_alone; /* of queued_on_busy: chosen was the waker's CPU; only it ran there */
	struct wi_missed_cost row[WI_NR_MISSED_ROWS];
	struct wi_missed_cost queued_while_idle_core[WI_NR_WIDE], half_busy_core[WI_NR_WIDE], stacked_on_waker;
	uint64_t prev_idle_elsewhere, prev_idle_by_distance[WI_NR_DISTANCES], prev_idle_affine_possible;
	uint64_t on_sched_idle_only;
	uint64_t stalled_decided, stalled_queued_on_busy;
	uint64_t allowed[WAKEIF_NR_ALLOWED_SOURCES]; /* decided wakeups by source of the affinity */
	struct wi_worst_row *worst; /* by avoidable, then wait (both falling), then wake_ns, then pid */
	size_t nr_worst, max_worst; /* max_worst: rows kept at most */
};

#define WI_NR_EPISODES 3 /* longer than 1, 10, 100 ms */

/* .idle_while_waiting, one scope */
struct wi_waste {
	uint64_t wall_ns, cpu_ns, task_ns;
	uint64_t behind_ns; /* part of wall_ns in which such a task waited on a CPU that ran another one */
	uint64_t episodes[WI_NR_EPISODES];
	uint64_t longest_ns, longest_start_ns; /* longest_ns 0: no episode, the rest is undefined */
	int32_t pid;			       /* the task that waited longest in the longest episode */
	uint32_t comm, waiting_cpu, idle_cpu;
};

/* A group of CPUs (core, LLC, package) and how long it was idle. */
struct wi_idle_row {
	uint32_t id; /* group number, by lowest CPU; CPU tables: the CPU */
	char *cpus;  /* "0-3,8"; owned */
	uint64_t idle_ns, busy_ns, unknown_ns;
};

struct wi_idle_table {
	struct wi_idle_row *row; /* by id, then cpus */
	size_t nr;
};

struct wi_cstate_row {
	uint32_t cpu, state;
	uint64_t ns, entries;
};

/* .idle */
struct wi_idle_results {
	struct wi_idle_table cpu, core, llc, package;
	uint64_t decided, touched_idle_package; /* of decided wakeups */
	struct wi_cstate_row *cstate;		/* by cpu, state; none without cpu_idle events */
	size_t nr_cstate;
	uint64_t cstate_entries_dropped; /* entries of more than 32 different states on one CPU */
};

struct wi_smt_core_row {
	uint32_t id;
	char *cpus; /* owned */
	uint32_t nr_threads;
	uint64_t *busy_threads_ns; /* nr_threads + 1; owned */
	uint64_t unknown_ns;
};

struct wi_smt_pair_row {
	uint32_t a, b; /* name ids of the groups; text of a <= text of b as bytes */
	uint64_t ns;
};

/* Core-scheduling cookies: what a core's time was. */
#define WI_COOKIE_CLASSES(X)                                                                                           \
	X(IDLE, "idle")			    /* no thread busy */                                                       \
	X(SINGLE, "single")		    /* one */                                                                  \
	X(COMPATIBLE, "compatible")	    /* two or more, of one cookie */                                           \
	X(INCOMPATIBLE, "incompatible")	    /* ... two of which have different cookies */                              \
	X(CORUN_UNKNOWN, "corun_unknown")   /* ... whose cookies are not known well enough to tell */                  \
	X(UNKNOWN, "unknown")		    /* a thread is unknown */

enum wi_cookie_class {
#define X(id, name) WI_COOKIE_CLASS_##id,
	WI_COOKIE_CLASSES(X)
#undef X
		WI_NR_COOKIE_CLASSES
};

/* What a task's run time was, by its busy siblings. */
#define WI_COOKIE_SHARES(X)                                                                                            \
	X(COMPATIBLE, "compatible")	/* all have its cookie */                                                      \
	X(INCOMPATIBLE, "incompatible") /* one has another */                                                          \
	X(ALONE, "alone")		/* none */                                                                     \
	X(UNKNOWN, "unknown")

enum wi_cookie_share {
#define X(id, name) WI_COOKIE_SHARE_##id,
	WI_COOKIE_SHARES(X)
#undef X
		WI_NR_COOKIE_SHARES
};

#define WI_COOKIE_KINDS(X) X(TAGGED, "tagged") X(UNTAGGED, "untagged") X(UNKNOWN, "unknown")

enum wi_cookie_kind {
#define X(id, name) WI_COOKIE_KIND_##id,
	WI_COOKIE_KINDS(X)
#undef X
};

const char *wi_cookie_class_name(enum wi_cookie_class c);
const char *wi_cookie_share_name(enum wi_cookie_share s);
const char *wi_cookie_kind_name(enum wi_cookie_kind k);

struct wi_cookie_time {
	uint64_t ns[WI_NR_COOKIE_CLASSES];
	uint64_t idle_min_ns; /* CPU time that core scheduling would have left idle, at least */
};

struct wi_cookie_core_row {
	uint32_t id;
	char *cpus; /* owned */
	struct wi_cookie_time time;
};

struct wi_cookie_group_row {
	enum wi_cookie_kind kind;
	uint32_t name; /* TAGGED: name id of the cookie */
	uint64_t ns[WI_NR_COOKIE_SHARES];
};

/* .smt.cookies */
struct wi_cookie_results {
	bool present; /* a map was given, and a core has two online threads */
	struct wi_cookie_time all;
	struct wi_cookie_core_row *core; /* by id, then cpus */
	size_t nr_core;
	struct wi_cookie_group_row *group; /* that ran, by run time falling, kind, name */
	size_t nr_group;
};

uint64_t wi_cookie_group_run_ns(const struct wi_cookie_group_row *g);

/* .smt. A per-task part is in struct wi_task_row. */
struct wi_smt_results {
	bool present;		   /* a core has two online threads */
	uint32_t nr_threads;	   /* of the largest core */
	uint64_t *busy_threads_ns; /* nr_threads + 1: time with 0, 1, ... busy threads, over all cores */
	uint64_t unknown_ns;
	uint64_t avoidable_corun_ns[WI_NR_WIDE];
	struct wi_smt_core_row *core; /* by id, then cpus */
	size_t nr_core;
	struct wi_smt_pair_row *pair; /* all pairs, by ns falling, then text of a, b */
	size_t nr_pair;
	uint64_t pairs_folded_ns; /* time of pairs beyond the first 262,144 different ones, 0 normally */
	struct wi_cookie_results cookies;
};

struct wi_affine_part {
	uint64_t considered, cross_llc, bounce;
	uint64_t prev[WI_NR_DISTANCES], waker[WI_NR_DISTANCES]; /* chosen relative to prev_cpu, to the waker's CPU */
	struct wi_hist latency;
};

/* .wake_affine: decided wakeups whose waker's CPU is not prev_cpu */
struct wi_affine_results {
	struct wi_affine_part all, by_context[WAKEIF_NR_CONTEXTS];
	uint64_t matrix[WI_NR_DISTANCES][WI_NR_DISTANCES]; /* [prev][waker] */
};

/* .migrations */
struct wi_migration_results {
	uint64_t total, inferred, placement;   /* inferred and placement are parts of total */
	uint64_t by_distance[WI_NR_DISTANCES]; /* CPU is always 0 */
	uint64_t distance_unknown;	       /* from a CPU that is not known or not in the topology */
};

/* One incarnation of a pid. */
struct wi_task_row {
	int32_t pid, tgid; /* tgid 0 unknown */
	uint32_t comm;	   /* name id, latest name */
	uint32_t seq;	   /* order of appearance in its trace, from 1 */
	bool throttle_suspected;
	uint64_t run_ns, wait_ns, sleep_ns, unknown_ns;
	uint64_t wakeups, switches_in, preempted, migrations;
	uint64_t preempt_unknown; /* switched out runnable without a word on preemption: not in preempted */
	uint64_t corun_ns, alone_ns, smt_unknown_ns; /* parts of the run time on online CPUs */
	uint64_t latency_wakeups;		     /* wakeups that count, measured or not */
	uint64_t queue_wait_ns;
	struct wi_chist latency; /* wakeup latency */
};

enum wi_task_order { WI_TASKS_BY_RUN, WI_TASKS_BY_LATENCY, WI_TASKS_BY_CORUN, WI_NR_TASK_ORDERS };

/*
 * Task rows. The list holds the first max of each order (so at most 3 * max rows), the totals count all.
 * by run: every task; by latency: tasks with a measured wakeup; by corun: tasks with run time.
 */
struct wi_task_results {
	struct wi_task_row *row; /* by run_ns falling, pid, seq */
	size_t nr, max;
	uint64_t total[WI_NR_TASK_ORDERS];
	uint64_t throttle_suspected;
	uint64_t preempt_unknown; /* of all tasks */
	uint64_t policy_known, policy_unknown; /* of tasks that ran */
};

struct wi_results {
	struct wi_names *names; /* owned */
	uint64_t nr_traces;
	uint64_t window_ns;		    /* sum of the windows' lengths */
	uint64_t cpu_ns;		    /* sum of online CPUs x window */
	struct wi_timeline_quality quality; /* merged: sums; window and recording from the earliest to the latest */
	struct wi_wakeup_results wakeups;
	struct wi_latency_results latency;
	struct wi_missed_results missed;
	struct wi_waste waste[WAKEIF_NR_SCOPES];
	struct wi_smt_results smt;
	struct wi_affine_results affine;
	struct wi_idle_results idle;
	struct wi_migration_results migrations;
	struct wi_task_results tasks;
};

/*
 * Adds from to into. Any order and grouping of merges gives the same result (name ids may differ, their texts do not).
 * false: err set (out of memory); into is then only good for wi_results_free().
 */
bool wi_results_merge(struct wi_results *into, const struct wi_results *from, struct wi_err *err);
struct wi_results *wi_results_new(struct wi_err *err); /* empty: merging into it copies; NULL: err set */
void wi_results_free(struct wi_results *r);

static inline const char *wi_results_name(const struct wi_results *r, uint32_t id)
{
	return wi_names_get(r->names, id);
}

/*
 * The first max rows of one order, as pointers into r->tasks: out is the caller's array. Returns their number; less
 * than r->tasks.total[order] where the rows kept are fewer.
 */
size_t wi_results_tasks(const struct wi_results *r, enum wi_task_order order, const struct wi_task_row **out,
			size_t max);

/* Is it known how often the task was preempted, at least in part? Given that some switch of the trace tells. */
static inline bool wi_task_preempted_known(const struct wi_task_row *t)
{
	return t->preempted || !t->preempt_unknown;
}

/* corun_ns x (1 - s), s in thousandths (0..1000), rounded down. */
uint64_t wi_smt_lost_ns(uint64_t corun_ns, uint32_t speed_permille);
#define WI_SMT_SPEED_LOW 500
#define WI_SMT_SPEED_DEFAULT 620
#define WI_SMT_SPEED_HIGH 900

/* Merge and release of the parts, for those who keep a part only. All merges return false when out of memory. */
void wi_wakeup_results_merge(struct wi_wakeup_results *into, const struct wi_wakeup_results *from);
bool wi_latency_results_merge(struct wi_latency_results *into, struct wi_names *names,
			      const struct wi_latency_results *from, const struct wi_names *from_names);
void wi_latency_results_fini(struct wi_latency_results *r);
bool wi_missed_results_merge(struct wi_missed_results *into, struct wi_names *names,
			     const struct wi_missed_results *from, const struct wi_names *from_names);
void wi_missed_results_fini(struct wi_missed_results *r);
bool wi_waste_merge(struct wi_waste *into, struct wi_names *names, const struct wi_waste *from,
		    const struct wi_names *from_names);
bool wi_idle_results_merge(struct wi_idle_results *into, const struct wi_idle_results *from);
void wi_idle_results_fini(struct wi_idle_results *r);
bool wi_smt_results_merge(struct wi_smt_results *into, struct wi_names *names, const struct wi_smt_results *from,
			  const struct wi_names *from_names);
void wi_smt_results_fini(struct wi_smt_results *r);
bool wi_cookie_results_merge(struct wi_cookie_results *into, struct wi_names *names,
			     const struct wi_cookie_results *from, const struct wi_names *from_names);
void wi_cookie_results_fini(struct wi_cookie_results *r);
bool wi_affine_results_merge(struct wi_affine_results *into, const struct wi_affine_results *from);
void wi_affine_results_fini(struct wi_affine_results *r);
void wi_migration_results_merge(struct wi_migration_results *into, const struct wi_migration_results *from);
bool wi_task_results_merge(struct wi_task_results *into, struct wi_names *names, const struct wi_task_results *from,
			   const struct wi_names *from_names);
void wi_task_results_fini(struct wi_task_results *r);

#endif
