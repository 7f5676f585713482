/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the files of this room share. One part a metric; metrics.c calls them in a fixed order. CPUs and tasks are
 * indices; nothing here allocates in a hook but to grow a table.
 */
#ifndef WI_METRICS_PRIV_H
#define WI_METRICS_PRIV_H

#include <stdlib.h>
#include <string.h>

#include "analyzer/base/cpumask.h"
#include "analyzer/metrics/metrics.h"

#define NONE UINT32_MAX
#define m_rare __attribute__((noinline, cold)) /* off the path of most events */

/* ---- layout.c: the topology as the metrics need it ---- */

/* One partition of the CPUs; scopes with the same partition share it. */
struct m_level {
	enum wakeif_scope scope; /* the nearest scope that it stands for */
	uint32_t nr_groups;
	const uint32_t *group; /* by CPU */
	const wakeif_word *const *span;
	bool trivial; /* no group has two online CPUs */
};

struct m_layout {
	const struct wakeif_topology *topo;
	uint32_t nr_cpus, words;
	wakeif_word *candidates; /* online, not isolated */
	uint32_t nr_levels, level_of[WAKEIF_NR_SCOPES];
	struct m_level level[WAKEIF_NR_SCOPES];
	uint32_t nr_cores;
	uint32_t *core_threads; /* by core: online CPUs */
	uint32_t *core_first;	/* by core: index of its first online CPU in core_cpu */
	uint32_t *core_cpu;	/* online CPUs, core by core */
	uint32_t *thread;	/* by CPU: index within its core */
	uint32_t max_threads;
	uint8_t *distance; /* of CPUs a, b at a * nr_cpus + b; NULL on machines too large for it */
};

bool m_layout_init(struct m_layout *l, const struct wakeif_topology *topo);
void m_layout_fini(struct m_layout *l);
enum wi_distance m_distance_of(const struct wakeif_topology *t, uint32_t a, uint32_t b);
/* "0-3,8" of mask & also (also may be NULL); malloced, NULL: out of memory. */
char *m_cpu_list(const wakeif_word *mask, const wakeif_word *also, uint32_t words);

static inline bool m_online(const struct m_layout *l, uint32_t cpu)
{
	return wi_mask_test(l->topo->online, cpu);
}

static inline enum wi_distance m_distance(const struct m_layout *l, uint32_t a, uint32_t b)
{
	if (a >= l->nr_cpus || b >= l->nr_cpus)
		return WI_DIST_UNKNOWN;
	return l->distance ? (enum wi_distance)l->distance[a * l->nr_cpus + b] : m_distance_of(l->topo, a, b);
}

/* CPU of the waker; NONE where an interrupt on the target's CPU stands for it (rule 16). */
static inline uint32_t m_waker_cpu(const struct wi_wakeup *w)
{
	return w->only_wakeup && w->pub.waker_pid < 0 ? NONE : w->pub.waker_cpu;
}

static inline bool m_same_llc(const struct wakeif_topology *t, uint32_t a, uint32_t b)
{
	return t->group[WAKEIF_LLC][a] == t->group[WAKEIF_LLC][b];
}

/* ---- tasktab.c: what the metrics keep of a living task, at wi_task.observer ---- */

struct m_cpu;

/* Places of m_task.share_ns: run time by what the siblings did. */
enum m_share { SHARE_CORUN, SHARE_ALONE, SHARE_UNKNOWN, NR_SHARES };

/* The least and the greatest of some values; zeroed: none. One comparison tells whether a value changes either. */
struct m_extent {
	uint64_t min_ns;
	uint64_t range_ns; /* greatest - least + 1; 0 none. Durations are less than 2^64 - 1 */
};

static inline bool m_extent_holds(const struct m_extent *e, uint64_t ns)
{
	return ns - e->min_ns < e->range_ns;
}

m_rare void m_extent_add(struct m_extent *e, uint64_t ns); /* hist.c */

static inline uint64_t m_extent_max(const struct m_extent *e)
{
	return e->min_ns + (e->range_ns - 1);
}

#define M_RECENT_FIRST 16u
#define M_RECENT_MAX 1024u

/* By cache line: what a wait, a switch, and the end of a wakeup touch. */
struct m_task {
	const struct wi_task *task;
	/* idle_while_waiting.c */
	struct m_cpu *wait_cpu;		     /* NULL: does not wait, or is not counted */
	struct m_task *wait_next, **wait_at; /* wait_at: what points at it, in the list of wait_cpu */
	int32_t pid;			     /* pid, comm: when it began to wait, or took a new name */
	uint32_t comm;
	uint64_t wait_since_ns;
	uint64_t wait_join_ns; /* when it joined the queue of queue_cpu */
	uint64_t wait_left_ns; /* when it left it; WI_TIME_UNKNOWN: it has not, or it ran since. Taken up again at the
				* same instant it was moved */
	/* Where its affinity mask was when it was asked, never followed. NULL: not yet, or not since its name changed,
	 * with which an inferred mask can change. */
	const wakeif_word *mask_allowed;
	uint32_t mask;	 /* number of the mask */
	bool covers_all; /* the mask covers all candidates */
	/* smt.c */
	bool group_known;
	uint32_t nr_threads; /* threads on which it is current: one, or more when clocks disagree */
	uint64_t share_ns[NR_SHARES];
	/* affine.c, longest.c */
	uint32_t bounce;    /* first of its watches; NONE */
	uint32_t hops;	    /* where it waited before, in the same wait; NONE */
	uint32_t queue_cpu; /* where it waits, or waited last, counted or not; NONE */
	uint32_t group;
	/* latency.c */
	struct m_recent {
		struct m_extent extent; /* of all latencies */
		uint64_t sum_ns;
		uint16_t *index; /* buckets */
		uint32_t nr, cap;
	} recent; /* latencies that are not yet in `latency` */
	uint64_t wakeups, queue_wait_ns;
	struct wi_chist latency;
	uint32_t group_comm;
	struct m_task *next_free;
};

#define TASKS_PER_BLOCK 64u

struct m_tasktab {
	struct m_task **block; /* their addresses stay */
	uint32_t nr_blocks, cap_blocks;
	struct m_task *free;
};

void m_tasktab_fini(struct m_tasktab *t);
m_rare struct m_task *m_task_add(struct m_tasktab *t, const struct wi_task *task); /* NULL: out of memory */
void m_task_del(struct m_tasktab *t, struct m_task *task);
/* What is recent goes into the task's histogram. All of these: false: out of memory. */
bool m_task_settle(struct m_task *t);
m_rare bool m_task_recent_room(struct m_task *t);

/*
 * Latencies of one task come one by one, and its buckets are rarely in the cache: they are counted many at once.
 * index: wi_hist_index(ns).
 */
static inline bool m_task_add_latency(struct m_task *t, uint64_t ns, uint32_t index)
{
	struct m_recent *r = &t->recent;

	if (r->nr == r->cap && !m_task_recent_room(t))
		return false;
	r->index[r->nr++] = (uint16_t)index;
	r->sum_ns += ns;
	if (!m_extent_holds(&r->extent, ns))
		m_extent_add(&r->extent, ns);
	return true;
}

/* ---- one open wakeup, by its slot ---- */

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

/* ---- hist.c: a histogram while it is filled: half the size of struct wi_hist ---- */

struct m_hist {
	uint32_t *bucket;
	uint64_t sum_ns;
	struct m_extent extent;
	uint32_t nr;	      /* buckets allocated: at least up to the greatest value's */
	struct wi_hist *full; /* what was counted before a bucket was full; NULL */
};

m_rare bool m_hist_add_slowly(struct m_hist *h, uint64_t ns, uint32_t index);
bool m_hist_move(struct m_hist *h, struct wi_hist *into); /* adds it to into, and empties it */
void m_hist_fini(struct m_hist *h);

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

struct m_mask_count {
	uint32_t mask, nr;
};

struct m_mask_bag { /* which restricted masks wait here, and how often */
	struct m_mask_count *item;
	uint32_t nr, cap;
};

/*
 * Waiting tasks, CPUs with waiting tasks, and those of them that run another task, in one word: what changes together
 * is added in one go. Tasks take 30 bits (memory ends before), CPUs 17 bits.
 */
typedef uint64_t m_waiting;

#define M_WAITING_TASK 1ull
#define M_WAITING_CPU (1ull << 30)
#define M_WAITING_BEHIND (1ull << 47)

static inline uint32_t m_waiting_tasks(m_waiting w)
{
	return (uint32_t)(w & (M_WAITING_CPU - 1));
}

static inline uint32_t m_waiting_cpus(m_waiting w)
{
	return (uint32_t)(w >> 30 & 0x1ffff);
}

static inline bool m_waiting_behind(m_waiting w)
{
	return w >= M_WAITING_BEHIND;
}

struct m_waste_group {
	struct m_waste_level *level;
	m_waiting waiting;
	uint32_t nr_idle; /* idle candidates */
	uint32_t pairs, cpu_pairs;
	uint32_t nr_restricted;	 /* waiting tasks whose affinity does not cover the group's candidates */
	uint32_t number;	 /* of the group at its level */
	bool to_match;		 /* is in m_waste.to_match */
	bool behind;		 /* one of its pairs has a task that waits on a CPU that runs another one */
	uint64_t pairs_ended_ns; /* when pairs last went to 0; valid while it is 0 */
	struct m_mask_bag restricted;
};

/*
 * An episode is a time in which a level has pairs. It is over when time goes on without pairs: it may end and go on at
 * one instant.
 */
struct m_waste_level {
	const struct m_level *in_layout;
	struct m_waste_group *group;
	uint64_t pairs, cpu_pairs, nr_behind; /* sums over groups */
	/*
	 * Their integrals over time, but for what follows from the end: a rise by n at t counts n x (end - t). Modulo
	 * 2^64, as is the sum at the end.
	 */
	uint64_t pairs_ns, cpu_pairs_ns;
	uint64_t episode_ns;	   /* start of the latest; WI_TIME_UNKNOWN: there was none */
	uint64_t episode_ended_ns; /* valid while pairs is 0 */
	struct wi_waste r;
};

struct m_left { /* what ceased at the present instant, for the names of an episode that it ends */
	uint64_t since_ns;
	int32_t pid;		  /* WI_PID_NONE: an idle CPU */
	uint32_t comm, cpu, mask; /* mask: number of the task's */
};

struct m_mask {
	wakeif_word *words;
	bool covers_all;
};

struct m_waste {
	struct m_waste_level level[WAKEIF_NR_SCOPES];
	struct m_mask *mask;
	uint32_t nr_masks, cap_masks;
	uint32_t *mask_hash; /* number + 1 */
	uint32_t mask_hash_mask;
	wakeif_word *restricted_cpus; /* CPUs with a waiting task whose mask does not cover the machine */
	wakeif_word *idle;	      /* idle candidates */
	bool unsettled;		      /* one of the following has to be worked off before time goes on */
	struct m_waste_group **to_match;
	uint32_t nr_to_match;
	/* An episode that ends after this instant may be the longest of its level: its names will be asked for. */
	uint64_t names_from_ns;
	struct m_left *left;
	uint32_t nr_left, cap_left;
	/* matching.c: scratch */
	uint32_t *parent_of, *queue, *owner_of;
	wakeif_word *seen, *adjacent;
	uint32_t cap_adjacent;
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
		int32_t pid; /* -1 free */
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

/* idle_while_waiting.c, matching.c */
bool m_waste_init(struct wi_metrics *m);
void m_waste_fini(struct wi_metrics *m);
void m_waste_settle(struct wi_metrics *m); /* works off what changed at m->now_ns, before time goes on */
m_rare void m_waste_kind_changed(struct wi_metrics *m, struct m_cpu *c);	  /* where tasks go on waiting */
m_rare void m_waste_cpu_known(struct wi_metrics *m, struct m_cpu *c, bool known); /* c->kind is still the old one */
void m_waste_idle_changed(struct wi_metrics *m, uint64_t now_ns, struct m_cpu *c, bool idle);
void m_waste_wait_begin(struct wi_metrics *m, uint64_t now_ns, struct m_cpu *c, struct m_task *t, bool moved);
void m_waste_wait_end(struct wi_metrics *m, struct m_task *t);
bool m_waste_finish(struct wi_metrics *m, struct wi_results *r, uint64_t end_ns);
bool m_mask_covers(const struct wi_metrics *m, const wakeif_word *mask, const wakeif_word *span);
void m_match_group(struct wi_metrics *m, const struct m_waste_group *group, uint32_t *pairs, uint32_t *cpu_pairs);
bool m_match_init(struct wi_metrics *m);
void m_match_fini(struct wi_metrics *m);

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

/*
 * Adds to a histogram; out of memory is remembered and reported at finish. index: wi_hist_index(ns), for one ns in
 * many.
 */
static inline void m_hist_add_at(struct wi_metrics *m, struct m_hist *h, uint64_t ns, uint32_t index)
{
	if (!m_extent_holds(&h->extent, ns) || h->bucket[index] == UINT32_MAX) {
		if (!m_hist_add_slowly(h, ns, index))
			m->failed = true;
		return;
	}
	h->bucket[index]++;
	h->sum_ns += ns;
}

static inline void m_hist_add(struct wi_metrics *m, struct m_hist *h, uint64_t ns)
{
	m_hist_add_at(m, h, ns, wi_hist_index(ns));
}

/* Part of (from, to] that lies in the window; start_ns is from or the window's start, never later than to. */
static inline uint64_t m_elapsed(uint64_t *since_ns, uint64_t now_ns)
{
	if (now_ns <= *since_ns)
		return 0;
	uint64_t ns = now_ns - *since_ns;
	*since_ns = now_ns;
	return ns;
}

#endif
