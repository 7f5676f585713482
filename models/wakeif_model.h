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

#ifdef __cplusplus
}
#endif
#endif
