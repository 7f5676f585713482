/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the files of this room share. One part a metric; metrics.c calls them in a fixed order. CPUs and tasks are
 * indices; nothing here allocates in a hook but to grow a table.
 */
#ifndef WI_METRICS_PRIV_H
#define WI_METRICS_PRIV_H

#include <stdlib.h>
#include <string.h>

#include "analyzer/metrics/hist.h"
#include "analyzer/metrics/layout.h"
#include "analyzer/metrics/metrics.h"
#include "analyzer/metrics/tasktab.h"
#include "analyzer/metrics/waste.h"

/* ---- one open wakeup, by its slot ---- */

/* CPU of the waker; NONE where an interrupt on the target's CPU stands for it (rule 16). */
static inline uint32_t m_waker_cpu(const struct wi_wakeup *w)
{
	return w->only_wakeup && w->pub.waker_pid < 0 ? NONE : w->pub.waker_cpu;
}

struct m_watch {      /* on a missed CPU: when does it first stop being idle? */
	uint32_t cpu; /* NONE: none */
	bool linked;
	uint32_t next, prev; /* watch numbers: slot * 2 + which */
	uint64_t since_ns, until_ns;
};

enum { WATCH_RING, WATCH_CORE, NR_WATCHES };

struct m_wake {
	bool seen;    /* its decision was seen */
	bool decided; /* SELECT, counts, and its decision was seen */
	bool counts;
	bool stacked, prev_idle_elsewhere, on_sched_idle_only, chosen_unknown, ran_waking;
	bool missed_sched_idle; /* of WATCH_RING: ran SCHED_IDLE tasks only */
	bool affine;		/* counts in wake_affine */
	uint8_t row, idle_core, half_busy, placement, prev_distance, waker_distance;
	int32_t ran_pid;
	uint32_t ran_comm, comm; /* comm: the wakee's at the decision */
	struct m_watch watch[NR_WATCHES];
};

/* ---- parts ---- */

struct m_worst { /* a candidate of worst[] */
	struct wi_worst_row row;
	uint64_t missed_since_ns;
	uint32_t next; /* of those whose missed CPU still idles, by CPU; NONE */
	bool idles;
};

struct m_cost {
	struct m_hist wait, avoidable;
};

struct m_missed {
	struct wi_missed_results r;			/* its histograms are filled in at the end */
	struct m_hist row_avoidable[WI_NR_MISSED_ROWS]; /* the wait: m_latency.queue_wait */
	struct m_cost queued_while_idle_core[WI_NR_WIDE], half_busy_core[WI_NR_WIDE];
	struct m_cost stacked_on_waker;
	struct m_worst *worst; /* heap order is in heap[]: the least of them first */
	uint32_t *heap;
	uint32_t nr_worst, max_worst, nr_unnamed; /* nr_unnamed: rows whose ran has no name yet */
	wakeif_word *idle;			  /* online CPUs that are idle, or count as idle by rule 22 */
	wakeif_word *idle_core;			  /* CPUs of cores whose online CPUs are all idle(c) */
	uint32_t nr_idle_cores;
	wakeif_word *scratch_cand;
	bool sched_idle_rule; /* the kernel is new enough */
	bool sched_idle_seen; /* and a task of this policy was seen */
};

struct m_pair_slot {  /* two threads of a core */
	uint64_t key; /* of the pair of groups that it holds, or held last; 0 none */
	uint64_t ns;  /* its time that is not yet in the table */
	uint64_t since_ns;
	bool on; /* both run now */
};

struct m_corun_group {
	uint32_t nr_corun, nr_idle, min;
	struct m_corun_level *level;
};

struct m_core {
	uint64_t since_ns;
	uint32_t nr_busy, nr_unknown, nr_idle; /* busy, unknown: kind; idle: idle(c) */
	uint32_t nr_threads;		       /* online */
	bool corun, idle, has_candidate;
	uint8_t share; /* enum m_share of its running tasks */
	struct m_cpu **thread;
	struct m_pair_slot *slot;
	uint64_t *busy_ns; /* by number of busy threads */
	uint64_t unknown_ns;
	struct m_corun_group *group[WI_NR_WIDE + 1]; /* where it counts; NULL ends */
};

struct m_pair {	      /* one place of the table */
	uint64_t key; /* numbers of the groups, lower << 32 | higher, plus one; 0 free */
	uint64_t ns;
};

struct m_corun_level {
	struct m_corun_group *group;
	uint64_t sum, since_ns, ns;
};

struct m_smt {
	struct m_core *core;
	struct m_cpu **thread; /* core_first[core] + thread */
	uint64_t *busy_ns;     /* core_first[core] + core + n */
	struct m_pair_slot *slot;
	uint32_t nr_slots;
	struct m_corun_level level[WAKEIF_NR_SCOPES]; /* only those that a wide scope uses */
	struct m_pair *pair;
	uint32_t pair_mask, nr_pairs;
	uint64_t folded_ns;
	struct wi_names *task_names; /* WI_GROUP_TASK: "comm:pid"; else NULL */
};

struct m_bounce {
	uint64_t until_ns;
	uint32_t llc, next;
	uint8_t context;
};

struct m_affine {
	struct m_affine_context {
		uint64_t matrix[WI_NR_DISTANCES][WI_NR_DISTANCES], bounce;
		struct m_hist latency;
	} context[WAKEIF_NR_CONTEXTS];
	struct m_bounce *node;
	uint32_t nr_nodes, cap_nodes, free_head;
};

struct m_idle_group {
	uint32_t nr_busy, nr_unknown;
	uint8_t state;		  /* enum wi_cpu_kind */
	uint64_t since_ns, ns[3]; /* by enum wi_cpu_kind */
};

enum { IDLE_CORE, IDLE_LLC, IDLE_PACKAGE, NR_IDLE_TABLES };

struct m_cstate_cpu {
	uint32_t nr, cap, current; /* current: index; NONE */
	uint64_t since_ns;
	struct m_cstate {
		uint32_t state;
		uint64_t ns, entries;
	} * item;
};

struct m_package {
	uint32_t nr_online, nr_idle; /* idle(c) */
};

struct m_idle {
	struct m_idle_group *table[NR_IDLE_TABLES]; /* the same as another one's where the groups are the same */
	struct m_package *package;
	struct m_cstate_cpu *cstate; /* NULL until a cpu_idle event comes */
	uint64_t touched, dropped;
};

struct m_split {
	struct wi_split_row *row;
	uint32_t nr, cap;
	uint32_t *hash, hash_mask; /* by waker only */
};

struct m_latency {
	struct wi_wakeup_results wakeups;		 /* its counts by outcome, and total, are added up at the end */
	uint64_t outcome[WI_OUT_CENSORED + 1];		 /* by enum wi_outcome */
	uint64_t runs_unmeasured;			 /* of WI_OUT_RUN */
	struct m_hist queue_wait[WI_NR_MISSED_ROWS + 1]; /* by row of .missed, WI_MISSED_NONE too */
	struct m_hist transit;
	struct m_hist by_class[WAKEIF_NR_CLASSES];	  /* all but the decided ones */
	struct m_hist by_placement[WI_NR_PLACEMENTS + 1]; /* decided ones; the last: placement not known */
	struct m_split by_cpu, by_waker;
};

#define LONGEST_STINTS 512u /* of each CPU, kept to tell who ran during a wait */
#define LONGEST_HOPS 7u

struct m_stint { /* a stretch of time in which a CPU ran one task; the next one ends it */
	uint64_t from_ns;
	int32_t pid; /* 0 idle task; STINT_UNKNOWN, STINT_NOBODY */
	uint32_t comm;
};

struct m_hops { /* queues that a waiting task was moved from, latest last */
	uint32_t nr, next_free;
	struct {
		uint64_t from_ns;
		uint32_t cpu;
	} hop[LONGEST_HOPS];
};

struct m_longest {
	struct wi_longest_row row[WI_LONGEST]; /* sorted */
	uint32_t nr;
	uint64_t nr_unnamed;   /* behind[] without a name, some of them perhaps gone from the list */
	uint64_t least_ns;     /* a shorter one is not among them */
	struct m_stint *stint; /* LONGEST_STINTS a CPU */
	struct m_hops *hops;
	uint32_t nr_hops, cap_hops, free_hops; /* free_hops: index + 1 */
	struct m_ran {
		uint32_t key; /* pid + 1; 0 free */
		uint32_t comm;
		uint64_t ns;
	} * ran; /* scratch: a hash by pid, and which of its places are used */
	uint32_t *ran_used, nr_ran;
	uint32_t *cursor; /* scratch: by thread of a core */
};

struct m_filter {
	const wakeif_word *cpus;
	int32_t *pids; /* sorted */
	size_t nr_pids;
	void *regex;   /* regex_t; NULL */
	bool any;      /* of the three */
	uint8_t *comm; /* by name id: 0 not asked, 1 matches, 2 does not */
	uint32_t nr_comm;
};

/* ---- what is kept of a CPU, by number ---- */

struct m_cpu {
	uint8_t kind;		/* enum wi_cpu_kind */
	bool online, candidate; /* candidate: online, not isolated */
	bool idle;		/* idle(c); online CPUs only */
	uint32_t number;
	/* smt.c; of online CPUs */
	struct m_core *core;	 /* NULL: offline */
	struct m_cpu *sibling;	 /* in a core of two threads */
	struct m_task *task;	 /* current; NULL: idle, or not known */
	uint64_t share_since_ns; /* its run time is accounted for up to here */
	uint32_t group;		 /* of the task, for pairs */
	uint32_t thread;	 /* within the core */
	/* missed_idle.c */
	struct m_coming {
		int32_t pid; /* 0: none */
		uint32_t comm;
	} coming;				   /* wakee of the last decision for the CPU, until it switches */
	uint32_t watch_head;			   /* watch number; NONE */
	uint32_t worst_head;			   /* index of m_missed.worst; NONE */
	uint64_t idleish_ns;			   /* since when it counts as idle, by rule 22 */
	const wakeif_word *span[WAKEIF_NR_SCOPES]; /* by level; NULL: not in the topology */
	/* longest.c */
	struct m_stint *stint;
	int32_t stint_pid;  /* of the latest */
	uint64_t nr_stints; /* also of those that are no longer kept */
	/* idle.c */
	uint64_t kind_since_ns, kind_ns[3];		     /* by enum wi_cpu_kind */
	struct m_idle_group *idle_group[NR_IDLE_TABLES + 1]; /* each once; NULL ends */
	struct m_package *package;			     /* NULL: offline or none */
	/* idle_while_waiting.c */
	struct m_waste_group *group_of[WAKEIF_NR_SCOPES + 1]; /* with more than one online CPU; NULL ends */
	struct m_task *waiting;				      /* first of those that wait */
	uint32_t nr_wait;
	bool waits_behind; /* it runs a task while others wait there */
	uint64_t idle_since_ns;
	struct m_mask_bag restricted; /* masks that do not cover the machine */
};

struct wi_metrics {
	struct wi_metrics_opts opt;
	struct m_cpu *cpu;
	struct wi_timeline *tl;
	struct wi_timeline_observer obs;
	struct m_layout lay;
	uint64_t now_ns;
	uint64_t counted_ns; /* now_ns, or the window's start if that is later */
	uint64_t start_ns;   /* of the window */
	bool failed;	     /* out of memory in a hook */
	struct m_tasktab tasks;
	struct m_wake *wake; /* by slot */
	uint32_t nr_wake;
	struct m_filter filter;
	struct m_latency latency;
	struct m_longest longest;
	struct m_missed missed;
	struct m_waste waste;
	struct m_smt smt;
	struct m_cookies *cookies; /* NULL: no map */
	struct m_affine affine;
	struct m_idle idle;
	struct wi_migration_results migrations;
	struct wi_task_results rows;  /* of tasks that are gone; names of the timeline's table until finish */
	char **map_comm, **map_group; /* user map: copies */
	int32_t *map_pid;
	size_t nr_map;
	struct wi_results *results;
};

/* latency.c */
bool m_latency_init(struct wi_metrics *m);
void m_latency_fini(struct wi_metrics *m);
void m_latency_closed(struct wi_metrics *m, uint64_t now_ns, const struct wi_wakeup *w, enum wi_outcome outcome,
		      const struct m_wake *d, struct m_task *t);
bool m_latency_finish(struct wi_metrics *m, struct wi_results *r);

/* missed_idle.c, worst.c */
bool m_missed_init(struct wi_metrics *m);
void m_missed_fini(struct wi_metrics *m);
void m_missed_idle_changed(struct wi_metrics *m, uint64_t now_ns, struct m_cpu *c, bool idle);
void m_missed_touch(struct wi_metrics *m, uint64_t now_ns, struct m_cpu *c, bool leaving);
void m_missed_core_idle(struct wi_metrics *m, const struct m_core *core,
			bool idle); /* all its threads are, or one ceases */
void m_missed_names(struct wi_metrics *m, const struct wi_wakeup *w, struct m_wake *d);
m_rare void m_missed_on_its_way(struct wi_metrics *m, uint64_t now_ns, const struct wi_wakeup *w);
void m_missed_decision(struct wi_metrics *m, const struct wi_wakeup *w, struct m_wake *d);
m_rare void m_missed_undecided(struct wi_metrics *m, struct m_wake *d); /* SELECT, but its decision was not seen */
void m_missed_closed(struct wi_metrics *m, uint64_t now_ns, const struct wi_wakeup *w, enum wi_outcome outcome,
		     struct m_wake *d);
void m_missed_unlink(struct wi_metrics *m, struct m_wake *d);
uint64_t m_avoidable_ns(const struct m_watch *watch, uint64_t enq_ns, uint64_t run_ns);
bool m_missed_finish(struct wi_metrics *m, struct wi_results *r, uint64_t end_ns);
m_rare void m_worst_offer(struct wi_metrics *m, const struct wi_worst_row *row, const struct m_watch *watch);
void m_worst_idle_ended(struct wi_metrics *m, uint64_t now_ns, struct m_cpu *c);
void m_worst_named(struct wi_metrics *m, const struct wi_task *task);
bool m_worst_finish(struct wi_metrics *m, struct wi_missed_results *out, struct wi_names *names, uint64_t end_ns);
int m_worst_cmp(const struct wi_worst_row *a,
		const struct wi_worst_row *b); /* < 0: a is worse; names are not compared */

/* longest.c */
bool m_longest_init(struct wi_metrics *m);
void m_longest_fini(struct wi_metrics *m);
void m_longest_ran(struct m_cpu *c, uint64_t now_ns, enum wi_cpu_kind kind, const struct wi_task *task);
m_rare void m_longest_renamed(struct wi_metrics *m, const struct wi_task *task);
m_rare void m_longest_named(struct wi_metrics *m, const struct wi_task *task);
m_rare void m_longest_moved(struct wi_metrics *m,
			    struct m_task *t); /* between queues; the first one still stands there */
m_rare void m_longest_forget(struct wi_metrics *m, struct m_task *t); /* its former queues */
m_rare void m_longest_offer(struct wi_metrics *m, const struct wi_wakeup *w, uint64_t latency_ns, uint64_t end_ns,
			    bool censored, const struct m_task *t);
bool m_longest_finish(struct wi_metrics *m, struct wi_results *r);
bool m_longest_merge(struct wi_latency_results *into, struct wi_names *names, const struct wi_latency_results *from,
		     const struct wi_names *from_names);

/* The core of a CPU, offline or not; NULL: not in the topology. */
static inline const struct m_core *m_core_of(const struct wi_metrics *m, const struct m_cpu *c)
{
	uint32_t k = m->lay.topo->group[WAKEIF_CORE][c->number];

	return c->core ? c->core : k < m->lay.nr_cores ? &m->smt.core[k] : NULL;
}

/* smt.c, smt_pairs.c */
bool m_smt_init(struct wi_metrics *m);
void m_smt_start(struct wi_metrics *m, uint64_t start_ns);
void m_smt_fini(struct wi_metrics *m);
/* The current task of a busy CPU changed; its kind too: c->kind is still the old one. task NULL: none, or not known. */
void m_smt_task_changed(struct wi_metrics *m, uint64_t now_ns, struct m_cpu *c, struct m_task *t, uint32_t group);
void m_smt_kind_changed(struct wi_metrics *m, uint64_t now_ns, struct m_cpu *c, enum wi_cpu_kind kind, struct m_task *t,
			uint32_t group);
void m_smt_core_idle(struct wi_metrics *m, uint64_t now_ns, struct m_core *core); /* its idle threads changed */
m_rare void m_smt_renamed(struct wi_metrics *m, uint64_t now_ns, struct m_task *t);
void m_smt_task_gone(struct wi_metrics *m, uint64_t now_ns, struct m_task *t);
bool m_smt_finish(struct wi_metrics *m, struct wi_results *r, uint64_t end_ns);
uint32_t m_smt_group_of(struct wi_metrics *m, const struct wi_task *task, struct m_task *t);
void m_pair_add(struct wi_metrics *m, uint64_t key, uint64_t ns);
void m_pair_expect(const struct wi_metrics *m, uint64_t key); /* will be added to soon */
bool m_pairs_finish(struct wi_metrics *m, struct wi_results *r);

/* cookies.c; where m->cookies, but for init, start, fini and finish. cpu_changed: the CPU's kind or task. */
bool m_cookies_init(struct wi_metrics *m);
void m_cookies_start(struct wi_metrics *m, uint64_t start_ns);
void m_cookies_fini(struct wi_metrics *m);
m_rare void m_cookies_cpu_changed(struct wi_metrics *m, uint64_t now_ns, uint32_t cpu, enum wi_cpu_kind kind,
				  struct m_task *t);
m_rare void m_cookies_wait_changed(struct wi_metrics *m, uint64_t now_ns, uint32_t cpu, struct m_task *t, int delta);
m_rare void m_cookies_renamed(struct wi_metrics *m, uint64_t now_ns, struct m_task *t);
m_rare void m_cookies_task_gone(struct wi_metrics *m, uint64_t now_ns, struct m_task *t);
bool m_cookies_finish(struct wi_metrics *m, struct wi_results *r, uint64_t end_ns);
/* cookies_merge.c */
void m_cookie_time_add(struct wi_cookie_time *into, const struct wi_cookie_time *from);
void m_cookie_groups_sort(struct wi_cookie_results *r, struct wi_names *names);

/* affine.c */
void m_affine_decision(struct wi_metrics *m, const struct wi_wakeup *w, struct m_wake *d);
void m_affine_closed(struct wi_metrics *m, const struct wi_wakeup *w, enum wi_outcome outcome, struct m_task *t);
void m_affine_switched_in(struct wi_metrics *m, uint64_t now_ns, uint32_t cpu, struct m_task *t);
void m_affine_task_gone(struct wi_metrics *m, struct m_task *t);
void m_affine_fini(struct wi_metrics *m);
bool m_affine_finish(struct wi_metrics *m, struct wi_results *r);

/* idle.c */
bool m_idle_init(struct wi_metrics *m);
void m_idle_start(struct wi_metrics *m, uint64_t start_ns);
void m_idle_fini(struct wi_metrics *m);
void m_idle_kind_changed(struct wi_metrics *m, uint64_t now_ns, struct m_cpu *c, enum wi_cpu_kind kind);
void m_idle_cpu_idle(struct wi_metrics *m, uint64_t now_ns, uint32_t cpu, uint32_t state);
bool m_idle_finish(struct wi_metrics *m, struct wi_results *r, uint64_t end_ns);

/* migrations.c */
void m_migrated(struct wi_metrics *m, uint64_t now_ns, uint32_t orig_cpu, uint32_t dest_cpu, bool inferred,
		bool placement);

/* tasks.c */
void m_tasks_gone(struct wi_metrics *m, const struct wi_task *task, struct m_task *t);
bool m_tasks_finish(struct wi_metrics *m, struct wi_results *r);

/* filter.c */
bool m_filter_init(struct wi_metrics *m, struct wi_err *err);
void m_filter_fini(struct wi_metrics *m);
m_rare bool m_filter_match(struct wi_metrics *m, const struct wi_wakeup *w); /* where filter.any */

/* results.c: id of the same text in another table; WI_NAME_NONE when out of memory (ok is then cleared) */
uint32_t m_name_copy(struct wi_names *to, const struct wi_names *from, uint32_t id, bool *ok);

/* Adds to a histogram; out of memory is remembered and reported at finish. index: wi_hist_index(ns). */
static inline void m_hist_add_at(struct wi_metrics *m, struct m_hist *h, uint64_t ns, uint32_t index)
{
	if (!m_hist_count(h, ns, index))
		m->failed = true;
}

static inline void m_hist_add(struct wi_metrics *m, struct m_hist *h, uint64_t ns)
{
	m_hist_add_at(m, h, ns, wi_hist_index(ns));
}

/* Time from *since_ns, which moves on to now_ns. It starts at the window's start: what is before counts nothing. */
static inline uint64_t m_take_ns(uint64_t *since_ns, uint64_t now_ns)
{
	if (now_ns <= *since_ns)
		return 0;
	uint64_t ns = now_ns - *since_ns;
	*since_ns = now_ns;
	return ns;
}

#endif
