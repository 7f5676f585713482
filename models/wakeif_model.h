/* SPDX-License-Identifier: MIT */
/*
 * wakeif_model.h: what a placement decision is and what can be known when it is made. Shared by the analyzer, by the
 * built-in models and by plug-ins. Needs the C library only; C and C++.
 *
 * Every struct starts with its size, so that fields can be added at the end.
 */
#ifndef WAKEIF_MODEL_H
#define WAKEIF_MODEL_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define WAKEIF_ABI 1

/* CPU sets: bit c of word c/64; nr_words words each (struct wakeif_topology). */
typedef uint64_t wakeif_word;

/* Scopes from near to far; each contains the one before it. */
enum wakeif_scope {
	WAKEIF_CORE,	/* SMT siblings */
	WAKEIF_CLUSTER, /* CPUs that share an L2 (equal to the core where the L2 is per core) */
	WAKEIF_LLC,	/* CPUs that share the last-level cache, cut at node borders as the kernel does */
	WAKEIF_NODE,	/* NUMA node */
	WAKEIF_MACHINE,
	WAKEIF_NR_SCOPES
};

/* Why a scope is what it is. */
enum wakeif_topology_flag {
	WAKEIF_TOPO_FALLBACK = 1 << 0,	   /* nothing known: flat, no SMT, one LLC */
	WAKEIF_TOPO_NO_CACHE_INFO = 1 << 1, /* no cache information: one LLC a package */
	WAKEIF_TOPO_LLC_SPLIT = 1 << 2,	   /* an LLC crossed a node and was cut */
	WAKEIF_TOPO_CONTRADICTION = 1 << 3, /* packages and nodes cross, or sources disagree; see the note */
	WAKEIF_TOPO_DOMAINS_DERIVED = 1 << 4 /* scheduling domains derived from the topology, not read from the kernel */
};

/* One scheduling domain of one CPU, innermost first; the kernel's view (doc/topology.md). */
struct wakeif_domain {
	const char *name;	  /* "SMT", "CLS", "MC", "DIE", "PKG", "NUMA" */
	const wakeif_word *span;
	uint32_t weight;	  /* CPUs in span */
	uint32_t flags;		  /* enum wakeif_domain_flag */
	uint32_t imbalance_pct;
};

enum wakeif_domain_flag {
	WAKEIF_SD_BALANCE_NEWIDLE = 1 << 0,
	WAKEIF_SD_BALANCE_EXEC = 1 << 1,
	WAKEIF_SD_BALANCE_FORK = 1 << 2,
	WAKEIF_SD_BALANCE_WAKE = 1 << 3,
	WAKEIF_SD_WAKE_AFFINE = 1 << 4,
	WAKEIF_SD_SHARE_CPUCAPACITY = 1 << 5, /* SMT */
	WAKEIF_SD_SHARE_LLC = 1 << 6,
	WAKEIF_SD_PREFER_SIBLING = 1 << 7,
	WAKEIF_SD_NUMA = 1 << 8
};

struct wakeif_topology {
	uint32_t size;
	uint32_t nr_cpus;  /* highest CPU number + 1; CPU numbers may have holes */
	uint32_t nr_words; /* words of every CPU set */
	uint32_t flags;	   /* enum wakeif_topology_flag */
	const char *source; /* "sysfs", "hwloc xml", "lscpu", "markers", "synthetic", "fallback", ... with the path */
	const char *note;   /* contradictions and repairs, "" if none */
	const wakeif_word *present;  /* CPUs that the source knows */
	const wakeif_word *online;   /* subset of present */
	const wakeif_word *isolated; /* isolcpus and isolated partitions: not candidates unless affinity names them */
	/* group[s][c]: index of the scope-s group of CPU c, 0 .. nr_groups[s]-1, numbered by lowest CPU; UINT32_MAX if c is not present. */
	uint32_t nr_groups[WAKEIF_NR_SCOPES];
	const uint32_t *group[WAKEIF_NR_SCOPES];
	const wakeif_word *const *span[WAKEIF_NR_SCOPES]; /* span[s][g]: the present CPUs of group g */
	uint32_t nr_packages;
	const uint32_t *package;	 /* by CPU; UINT32_MAX if not present */
	const int32_t *core_id, *package_id, *node_id; /* by CPU, the source's own numbers for display; -1 unknown */
	const uint32_t *capacity;	 /* by CPU, 1024 = the biggest */
	uint32_t smt;			 /* most online threads of any core; 1 = no SMT */
	const uint32_t *nr_domains;	 /* by CPU */
	const struct wakeif_domain *const *domains; /* by CPU: array, innermost first */
	const uint32_t *llc_size;	 /* by CPU: the kernel's sd_llc_size (1 if no domain shares a cache) */
	const uint32_t *nodes_distance;	 /* nr_groups[NODE] squared, row major; NULL unknown */
};

/* How a wakeup was handled by the kernel, decided at its decision instant. */
#define WAKEIF_CLASSES(X)                                                             \
	X(SELECT, "select")	/* a placement decision was made */                   \
	X(SELF, "self")		/* the task woke itself */                            \
	X(ONRQ, "onrq")		/* it had not left the run queue: no decision */      \
	X(ONCPU, "oncpu")	/* it was being switched out: queued where it was */  \
	X(DELAYED, "delayed")	/* known to be a delayed dequeue (6.12+): no decision */ \
	X(PINNED, "pinned")	/* one CPU allowed */                                 \
	X(FALLBACK, "fallback") /* previous CPU not allowed any more */               \
	X(FORK, "fork")                                                               \
	X(EXEC, "exec")                                                               \
	X(RT, "rt")                                                                   \
	X(DL, "dl")                                                                   \
	X(UNKNOWN, "unknown")	/* the wakee's or the CPU's state is not known */

enum wakeif_class {
#define X(id, name) WAKEIF_##id,
	WAKEIF_CLASSES(X)
#undef X
	WAKEIF_NR_CLASSES
};

enum wakeif_context { WAKEIF_CTX_TASK, WAKEIF_CTX_SOFTIRQ, WAKEIF_CTX_HARDIRQ, WAKEIF_CTX_IDLE, WAKEIF_CTX_UNKNOWN, WAKEIF_NR_CONTEXTS };

enum wakeif_allowed_source { WAKEIF_ALLOWED_RECORDED, WAKEIF_ALLOWED_INFERRED, WAKEIF_ALLOWED_ASSUMED, WAKEIF_NR_ALLOWED_SOURCES };

enum wakeif_policy { WAKEIF_POLICY_NORMAL = 0, WAKEIF_POLICY_FIFO = 1, WAKEIF_POLICY_RR = 2, WAKEIF_POLICY_BATCH = 3,
		     WAKEIF_POLICY_IDLE = 5, WAKEIF_POLICY_DEADLINE = 6, WAKEIF_POLICY_UNKNOWN = 255 };

enum wakeif_wake_flag { WAKEIF_WF_EXEC = 0x02, WAKEIF_WF_FORK = 0x04, WAKEIF_WF_TTWU = 0x08, WAKEIF_WF_SYNC = 0x10 };

/* One wakeup as a model may know it. */
struct wakeif_wakeup {
	uint32_t size;
	uint64_t now_ns;   /* decision instant */
	uint64_t wake_ns;  /* sched_waking */
	int32_t pid;	   /* wakee */
	int16_t prio;	   /* -1 DL, 0..99 RT, 100..139 fair */
	uint8_t policy;	   /* enum wakeif_policy */
	uint8_t context;   /* enum wakeif_context, of the waker */
	uint32_t prev_cpu;
	uint32_t waker_cpu;
	int32_t waker_pid; /* task current on waker_cpu; in irq context the interrupted one; 0 = idle task; -1 unknown */
	uint32_t wake_flags, wake_flags_known; /* enum wakeif_wake_flag: value, and which bits are known */
	uint64_t slept_ns; /* since it blocked; UINT64_MAX unknown */
	const wakeif_word *allowed; /* CPUs the wakee may run on */
	uint8_t allowed_source;	    /* enum wakeif_allowed_source */
	uint8_t class_; /* enum wakeif_class */
	uint8_t waker_stalled; /* more than 100 us from sched_waking to the waker CPU's next record */
	uint8_t waker_exiting; /* the waker has begun to exit: the kernel then ignores WF_SYNC */
	uint8_t waker_pinned;  /* the waker is a kernel thread bound to one CPU */
	uint32_t wakee_task, waker_task; /* task slots (below); WAKEIF_TASK_NONE unknown */
};

struct wakeif_cpu {
	uint32_t nr_running;	/* queued tasks of all classes, the running one included */
	uint32_t nr_cfs;	/* of them fair */
	uint32_t nr_sched_idle; /* of them known SCHED_IDLE */
	int32_t curr_pid;	/* 0 idle task; -1 unknown */
	int16_t curr_prio;	/* 140 for the idle task */
	int16_t highest_rt_prio; /* lowest number of a queued RT task; 100: none */
	uint64_t idle_since_ns; /* when it became idle, or last stopped to be (see idle) */
};

/* The machine just before a decision, without the wakee. */
struct wakeif_view {
	uint32_t size;
	uint64_t now_ns;
	const struct wakeif_topology *topology;
	const wakeif_word *idle;	    /* METRICS: idle(c); never set together with unknown */
	const wakeif_word *unknown;	    /* state not known */
	const wakeif_word *pending;	    /* a wakeup is on its way there */
	const wakeif_word *sched_idle_only; /* runs SCHED_IDLE tasks only (policies known) */
	const struct wakeif_cpu *cpu;	    /* topology->nr_cpus entries */
};

/*
 * Task slots: small numbers that stand for a task while it lives, so that a model keeps its own state of tasks in an
 * array. Slot c < topology->nr_cpus is the idle task of CPU c. Others are given at WAKEIF_TASK_BEGAN (or with the first
 * event that names the task) and reused after WAKEIF_TASK_ENDED.
 */
#define WAKEIF_TASK_NONE UINT32_MAX
#define WAKEIF_CPU_NONE UINT32_MAX

/* What happened, for models that keep history. Events come in time order, a wakeup's own after its select_cpu. */
enum wakeif_event_type {
	WAKEIF_TASK_BEGAN,     /* task; other: slot of the parent, WAKEIF_TASK_NONE for a task that was there already */
	WAKEIF_TASK_ENQUEUED,  /* task became runnable on cpu: woken, or new (flags WAKEIF_EV_NEW) */
	WAKEIF_TASK_RUNS,      /* task was switched in on cpu */
	WAKEIF_TASK_PREEMPTED, /* task was switched out on cpu and stays runnable there */
	WAKEIF_TASK_SLEEPS,    /* task left cpu's run queue: blocked, or dead (flags WAKEIF_EV_DEAD) */
	WAKEIF_TASK_MOVED,     /* task goes from CPU `other` to cpu: still asleep (WAKEIF_EV_WAKING: part of a wakeup), or runnable */
	WAKEIF_TASK_LOST,      /* where the task is is not known any more; cpu: where it was, WAKEIF_CPU_NONE unknown */
	WAKEIF_TASK_ENDED,     /* the slot will be reused */
	WAKEIF_TASK_RENICED,   /* prio or policy changed */
	WAKEIF_CPU_IDLES,      /* the idle task was switched in on cpu */
	WAKEIF_CPU_WAKES,      /* the idle task was switched out on cpu */
	WAKEIF_CPU_LOST,       /* state of cpu not known any more */
	WAKEIF_TICK,	       /* timer interrupt on cpu (recorded: irq_vectors) */
	WAKEIF_PLACED	       /* the kernel chose cpu for task, a decided wakeup or a fork; other: its previous CPU */
};

enum wakeif_event_flag { WAKEIF_EV_NEW = 1 << 0, WAKEIF_EV_DEAD = 1 << 1, WAKEIF_EV_WAKING = 1 << 2 };

struct wakeif_happening {
	uint32_t size;
	uint8_t type;	/* enum wakeif_event_type */
	uint8_t flags;	/* enum wakeif_event_flag */
	uint8_t policy; /* of task; enum wakeif_policy */
	int16_t prio;	/* of task; -1 DL, 0..99 RT, 100..139 */
	uint64_t now_ns;
	uint32_t task;	/* slot */
	uint32_t cpu;
	uint32_t other; /* see the type */
	int32_t pid;
};

/* The rule that gave an answer. X(id, name, what it means) */
#define WAKEIF_RULES(X)                                                                                                \
	X(NO_RULE, "none", "not told")                                                                                 \
	X(TARGET_IDLE, "target", "the target CPU of the search was idle")                                              \
	X(PREV_IDLE, "prev", "the previous CPU was idle")                                                              \
	X(KTHREAD, "kthread", "woken by a per-CPU kernel thread on its own CPU")                                       \
	X(RECENT, "recent", "the recently used CPU was idle")                                                          \
	X(SMT_SIBLING, "smt", "an idle SMT sibling")                                                                   \
	X(IDLE_CORE, "core", "an idle core")                                                                           \
	X(IDLE_CPU, "scan", "an idle CPU found by the search of the LLC")                                              \
	X(CORE_NONE, "corenone", "no idle core; the first idle CPU met on the way")                                    \
	X(CLUSTER, "cluster", "an idle CPU of the cluster")                                                            \
	X(OTHER_LLC, "other-llc", "an idle CPU of another LLC")                                                        \
	X(BUDGET_ZERO, "budget0", "the search was not begun: its budget is nil")                                       \
	X(BUDGET, "budget", "the search ended without a find: its budget was used up")                                 \
	X(NONE_IDLE, "noidle", "the search found no idle CPU")                                                         \
	X(NO_LLC, "nollc", "no domain shares a cache: no search")                                                      \
	X(WAKE_SYNC, "sync", "the waker's CPU, soon to be idle")                                                       \
	X(AFFINE, "affine", "the waker's CPU by wake_affine alone")                                                    \
	X(ON_CURRENT, "current", "the waker's CPU: both tasks run briefly")                                            \
	X(SLOW, "slow", "slow path: idlest group, idlest CPU")                                                         \
	X(NOMINATED, "nominated", "the preferred wakeup CPU of power saving")                                          \
	X(CAPACITY, "capacity", "a CPU that is big enough")                                                            \
	X(ONE_ALLOWED, "pinned", "one CPU allowed")                                                                    \
	X(STAY, "stay", "the previous CPU, unconditionally")                                                           \
	X(WAKER, "waker", "the waker's CPU, unconditionally")                                                          \
	X(LEAST_LOADED, "least-loaded", "the CPU with the least load")                                                 \
	X(RANDOM, "random", "drawn by lot")                                                                            \
	X(PACK, "pack", "an idle sibling of a busy core, to keep other cores idle")                                    \
	X(OLDEST_IDLE, "oldest-idle", "the CPU idle for longest")                                                      \
	X(WARM, "warm", "a core in use not long ago (Nest)")                                                           \
	X(RESERVE, "reserve", "a core of the reserve (Nest)")                                                          \
	X(GREEDY, "greedy", "another domain that has room")                                                            \
	X(HINDSIGHT, "hindsight", "the best CPU as the trace went on to show")

enum wakeif_rule {
#define X(id, name, help) WAKEIF_RULE_##id,
	WAKEIF_RULES(X)
#undef X
	WAKEIF_NR_RULES
};

/* What wake_affine said, and by which test. */
#define WAKEIF_AFFINE_VERDICTS(X)                                                                                      \
	X(NOT_ASKED, "not_asked")   /* waker CPU is the previous CPU, or no such step in the model */                  \
	X(WIDE, "wide")		    /* wake_wide or the waker's CPU not allowed: previous CPU, not asked */            \
	X(NO_DOMAIN, "no_domain")   /* no common domain with wake_affine: previous CPU */                              \
	X(IDLE_WAKER, "idle_waker") /* waker's CPU: idle */                                                            \
	X(IDLE_PREV, "idle_prev")   /* previous CPU: idle */                                                           \
	X(SYNC, "sync")		    /* waker's CPU: sync wakeup, nothing else queued there */                          \
	X(LOAD_WAKER, "load_waker") /* waker's CPU: less loaded */                                                     \
	X(LOAD_PREV, "load_prev")   /* previous CPU: not more loaded */

enum wakeif_affine {
#define X(id, name) WAKEIF_AFFINE_##id,
	WAKEIF_AFFINE_VERDICTS(X)
#undef X
	WAKEIF_NR_AFFINE
};

enum wakeif_choice_flag {
	WAKEIF_CHOICE_AMBIGUOUS = 1 << 0,    /* hangs on an estimate whose error could turn it */
	WAKEIF_CHOICE_SEARCHED = 1 << 1,     /* the search of the LLC was begun */
	WAKEIF_CHOICE_WANTED_CORE = 1 << 2,  /* ... for an idle core first */
	WAKEIF_CHOICE_KNOWS_SYNC = 1 << 3    /* other_sync_cpu is set */
};

/* A model's answer. Zeroed before the call; cpu = WAKEIF_CPU_NONE. */
struct wakeif_choice {
	uint32_t size;
	uint32_t cpu;	   /* must be online and allowed; anything else is counted as invalid and replaced by the kernel's fallback */
	uint16_t rule;	   /* enum wakeif_rule */
	uint16_t affine;   /* enum wakeif_affine */
	uint32_t target;   /* CPU where the search began; WAKEIF_CPU_NONE: no search */
	uint32_t examined; /* CPUs whose idle state was looked at */
	uint32_t flags;	   /* enum wakeif_choice_flag */
	uint32_t other_sync_cpu; /* the answer if WF_SYNC were the other way round */
};

enum wakeif_param_type {
	WAKEIF_PARAM_BOOL,	/* 0, 1, on, off, yes, no */
	WAKEIF_PARAM_INT,	/* min .. max */
	WAKEIF_PARAM_NS,	/* a duration: digits with ns, us, ms or s (none: ns); min .. max in ns */
	WAKEIF_PARAM_CHOICE	/* one of `choices`, separated by '|'; the value is its index */
};

struct wakeif_param {
	const char *name; /* lower case, '-' between words */
	uint32_t type;	  /* enum wakeif_param_type */
	const char *dflt; /* as a user would write it */
	int64_t min, max; /* INT and NS */
	const char *choices;
	const char *help; /* one line */
};

/* What a model needs beyond the view. The analyzer says when the trace lacks it, and keeps only estimates that are asked for. */
enum wakeif_need {
	WAKEIF_NEED_LOAD = 1 << 0,	    /* cpu_load, cpu_util, cpu_runnable, task_load, task_util: PELT */
	WAKEIF_NEED_FLIPS = 1 << 1,	    /* wakee_flips, halved every second */
	WAKEIF_NEED_FLIPS_RESET = 1 << 2,   /* wakee_flips_reset: zeroed every second */
	WAKEIF_NEED_SCAN_BUDGET = 1 << 3,   /* nr_idle_scan; implies LOAD */
	WAKEIF_NEED_RUNNABLE_LOAD = 1 << 4, /* runnable_load, 3.9 .. 5.6 */
	WAKEIF_NEED_OLD_CPU_LOAD = 1 << 5,  /* old_cpu_load (cpu_load[] of the ticks, up to 5.1), queue_weight */
	WAKEIF_NEED_AVG_IDLE = 1 << 6,
	WAKEIF_NEED_AVG_OVERLAP = 1 << 7,   /* 2.6.29 */
	WAKEIF_NEED_RUN_LENGTH = 1 << 8,    /* run_avg, sleep_avg: EWMA of run and sleep lengths */
	WAKEIF_NEED_WAKING = 1 << 16,	    /* sched_waking events */
	WAKEIF_NEED_TOPOLOGY = 1 << 17,	    /* means nothing on a flat fallback topology */
	WAKEIF_NEED_SYNC = 1 << 18,	    /* answers hang on WF_SYNC */
	WAKEIF_NEED_COOKIES = 1 << 19,	    /* a map of core scheduling cookies */
	WAKEIF_NEED_FUTURE = 1 << 20	    /* hindsight; built-in models only, through a door of their own */
};

#define WAKEIF_COOKIE_UNKNOWN UINT32_MAX /* of a task of which the map of cookies cannot tell */

/*
 * What the analyzer lends to a model from init to fini. The estimates are those of the recorded run; those that were not
 * asked for are 0. Loads are as the kernel would read them: at their last update.
 */
struct wakeif_host {
	uint32_t size;
	uint32_t kernel_version; /* of the recording: major << 16 | minor << 8; 0 unknown */
	uint32_t hz;
	uint32_t nr_idle_states;
	uint64_t seed; /* for models that draw lots: same seed, same answers */
	const struct wakeif_topology *topology;
	void *ctx; /* for the functions below */
	uint64_t (*cpu_load)(void *ctx, uint32_t cpu);
	uint64_t (*cpu_util)(void *ctx, uint32_t cpu); /* max of util_avg and util_est; 0 .. 1024 */
	uint64_t (*cpu_runnable)(void *ctx, uint32_t cpu);
	uint64_t (*task_load)(void *ctx, uint32_t task);
	uint64_t (*task_util)(void *ctx, uint32_t task);
	uint32_t (*wakee_flips)(void *ctx, uint32_t task);
	uint32_t (*wakee_flips_reset)(void *ctx, uint32_t task); /* as 3.12 .. 4.2 kept them */
	uint32_t (*scan_budget)(void *ctx, uint32_t llc, uint32_t *min, uint32_t *max); /* nr_idle_scan of the group and its range */
	uint64_t (*runnable_load)(void *ctx, uint32_t cpu);
	uint64_t (*queue_weight)(void *ctx, uint32_t cpu); /* sum of the weights of all queued fair tasks, now */
	uint64_t (*old_cpu_load)(void *ctx, uint32_t cpu, uint32_t idx); /* cpu_load[idx], 0 .. 4 */
	uint64_t (*avg_idle_ns)(void *ctx, uint32_t cpu);
	uint64_t (*avg_overlap_ns)(void *ctx, uint32_t task);
	uint64_t (*run_avg_ns)(void *ctx, uint32_t task);
	uint64_t (*sleep_avg_ns)(void *ctx, uint32_t task);
	uint32_t (*cookie)(void *ctx, uint32_t task); /* core scheduling; 0: none, or no map was given */
	/* Why init fails, one line without a newline; copied. */
	void (*say)(void *ctx, const char *reason);
	/* May be NULL. From init: of what happens only these types (1 << enum wakeif_event_type) need be told; saves time. */
	void (*observe_only)(void *ctx, uint32_t types);
	/* May be NULL. How often all CPUs of a core have become idle, of the cores that share cpu's last-level cache (sd_llc). */
	uint64_t (*cores_idled)(void *ctx, uint32_t cpu);
};

/*
 * A placement model. Built-in ones are listed in models/registry.c; a plug-in exports one symbol, wakeif_model, of this
 * type. select_cpu is required; it may change only the model's own state. All functions are called from one thread.
 */
struct wakeif_model_ops {
	uint32_t abi;  /* WAKEIF_ABI */
	uint32_t size; /* sizeof(struct wakeif_model_ops) */
	const char *name;    /* lower case letters, digits and . _ + -; no built-in model's */
	const char *summary; /* one line */
	const char *source;  /* kernel version, paper, message-id */
	const char *confidence; /* "code read", "from memory", ... */
	uint32_t needs;	     /* enum wakeif_need */
	uint32_t nr_params;
	const struct wakeif_param *params;
	/* values: nr_params of them, in the order of params. NULL: refused, after host->say(). */
	void *(*init)(const struct wakeif_host *host, const int64_t *values);
	void (*fini)(void *model);
	/* false: the model cannot answer; counted as invalid. */
	bool (*select_cpu)(void *model, const struct wakeif_wakeup *w, const struct wakeif_view *v, struct wakeif_choice *choice);
	void (*observe)(void *model, const struct wakeif_happening *h); /* may be NULL */
};

#ifdef __cplusplus
}
#endif
#endif
