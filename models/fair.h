/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The fair class's choice of a CPU, as a function of everything that the kernel looks at. No state of its own: what the
 * kernel would remember is told in the result, for the caller to keep. Kernels 4.8 .. 6.19 by knobs; the
 * slow path is that of 5.5 and later.
 *
 *   wi_fair_machine    what does not change: LLCs, cores, as the kernel's scheduling domains have them
 *   wi_fair_knobs      what differs between kernels, scheduler features and proposed patches
 *   wi_fair_inputs     one decision
 *   wi_fair_select()   -> wi_fair_result
 *
 * Sources: Debian linux-source 6.1.192, 6.12.117; 4.19.304, 5.4.59, 5.10.7, 5.15.100, 6.8.1, 6.18.2, 6.19.9 (read);
 * mails of the patches that were not merged, named at their knobs.
 */
#ifndef WI_MODELS_FAIR_H
#define WI_MODELS_FAIR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "models/wakeif_model.h"

/* Where in the kernel an idle state is looked at; the letters are those of recorded decisions. */
enum wi_fair_site {
	WI_FAIR_AFFINE = 'A',	/* wake_affine_idle */
	WI_FAIR_SIS = 'T',	/* select_idle_sibling: target, previous, recent CPU */
	WI_FAIR_CORE = 'C',	/* select_idle_core */
	WI_FAIR_SCAN = 'S',	/* select_idle_cpu, one CPU at a time */
	WI_FAIR_SMT = 'M',	/* select_idle_smt */
	WI_FAIR_CAPACITY = 'K', /* select_idle_capacity */
	WI_FAIR_SLOW = 'F'	/* find_idlest_group_cpu */
};

/* Per CPU, from the topology; and room for the sets that a search works on. */
struct wi_fair_machine {
	const struct wakeif_topology *topology;
	uint32_t nr_cpus, nr_words;
	const struct wakeif_domain **llc;  /* sd_llc: outermost domain that shares a cache; NULL none */
	uint32_t *llc_id;		   /* its lowest CPU; the CPU itself without such a domain */
	const struct wakeif_domain **asym; /* innermost domain with CPUs of every capacity; NULL none */
	const wakeif_word **core;	   /* SMT siblings that are online, the CPU itself included */
	wakeif_word *cores;		   /* room for them */
	uint32_t *cluster_id; /* lowest CPU of the cluster domain; llc_id where there is none (cpus_share_resources) */
	const struct wakeif_domain **cluster; /* domain of the CPU's cluster, NULL none */
	bool smt;			      /* a core with two online threads exists */
	bool clusters;			      /* a cluster domain smaller than the LLC and bigger than a core exists */
	bool asymmetric;		      /* CPUs of different capacity */
	uint32_t imb_numa_nr;		      /* of the first level above the LLC */
	uint32_t numa_weight;		      /* CPUs in the first NUMA level; 0 none */
	wakeif_word *scratch;		      /* 4 sets of nr_words */
};

/* false: out of memory (m is empty then). The topology is borrowed. */
bool wi_fair_machine_init(struct wi_fair_machine *m, const struct wakeif_topology *topology);
void wi_fair_machine_fini(struct wi_fair_machine *m);

static inline bool wi_fair_share(const struct wi_fair_machine *m, uint32_t a, uint32_t b)
{
	return a == b || m->llc_id[a] == m->llc_id[b];
}

/* wake_wide(): do both tasks wake so many others that pulling them together would pile them up? factor: sd_llc_size */
static inline bool wi_fair_wide(uint32_t waker_flips, uint32_t wakee_flips, uint32_t factor)
{
	uint32_t most = waker_flips > wakee_flips ? waker_flips : wakee_flips,
		 least = waker_flips > wakee_flips ? wakee_flips : waker_flips;

	return least >= factor && most >= (uint64_t)least * factor;
}

enum wi_fair_affine_idle {
	WI_FAIR_AFFINE_OR,    /* 4.14: waker's CPU idle, or sync and alone there */
	WI_FAIR_AFFINE_CACHE, /* 4.16: an idle waker's CPU counts in the same LLC only, and yields to an idle previous
				 CPU */
	WI_FAIR_AFFINE_PREV,  /* 5.11: at last, the previous CPU if it is idle */
	WI_FAIR_AFFINE_LOAD,  /* 4.8: loads alone */
	WI_FAIR_AFFINE_SHARED /* 4.13: the waker's CPU within an LLC, loads of the nodes beyond */
};

enum wi_fair_recent {
	WI_FAIR_RECENT_NONE,   /* before 4.16 */
	WI_FAIR_RECENT_ON_HIT, /* set to the previous CPU on a hit; the waker's is set to its CPU (the caller's work) */
	WI_FAIR_RECENT_ALWAYS  /* 5.15: set whenever the test is reached */
};

enum wi_fair_kthread {
	WI_FAIR_KTHREAD_NONE,
	WI_FAIR_KTHREAD_ANY /* 5.6 */,
	WI_FAIR_KTHREAD_TASK /* 5.15: not from interrupts */
};

enum wi_fair_passes {
	WI_FAIR_THREE_PASSES, /* idle core, idle CPU, sibling of the target: 4.8 .. 5.10 */
	WI_FAIR_ONE_PASS      /* sibling of the previous CPU first, then one walk: 5.13 */
};

enum wi_fair_budget {
	WI_FAIR_BUDGET_NONE, /* the whole LLC is searched */
	WI_FAIR_BUDGET_PROP, /* SIS_PROP: ask.prop_budget */
	WI_FAIR_BUDGET_UTIL  /* SIS_UTIL: ask.scan_budget */
};

/* CPUs that run SCHED_IDLE tasks only. */
enum wi_fair_sidle {
	WI_FAIR_SIDLE_NONE,   /* before 5.4 */
	WI_FAIR_SIDLE_SECOND, /* 5.4: in a scan, only when no CPU is idle */
	WI_FAIR_SIDLE_EQUAL,  /* 5.10: as good as idle */
	WI_FAIR_SIDLE_TIP2026 /* ... but not for a SCHED_IDLE wakee */
};

enum wi_fair_sync {
	WI_FAIR_SYNC_OFF,     /* as merged: in wake_affine only */
	WI_FAIR_SYNC_VAGIN,   /* 20221027202603.670616-1-avagin@google.com: stay on the waker's CPU if it runs the waker
				 alone */
	WI_FAIR_SYNC_CURRENT, /* SIS_CURRENT v7: no look at sync; two short tasks that wake each other only */
	WI_FAIR_SYNC_SHORT    /* SIS_SHORT v4-v6: two short tasks while no core is idle */
};

enum wi_fair_cache { WI_FAIR_CACHE_OFF, WI_FAIR_CACHE_RFC, WI_FAIR_CACHE_V1 };

#define WI_FAIR_WF_CURRENT_CPU 0x40u /* 6.6: seccomp's user notification */

struct wi_fair_knobs {
	uint8_t affine_idle;   /* enum wi_fair_affine_idle */
	uint8_t recent;	       /* enum wi_fair_recent */
	uint8_t kthread;       /* enum wi_fair_kthread */
	uint8_t passes;	       /* enum wi_fair_passes */
	uint8_t budget;	       /* enum wi_fair_budget */
	uint8_t sidle;	       /* enum wi_fair_sidle */
	uint8_t sync;	       /* enum wi_fair_sync */
	uint8_t cache;	       /* enum wi_fair_cache */
	bool from_target;      /* the scan begins at the target (before 5.15), not behind it */
	bool recent_fixed;     /* the affinity of the recent CPU is tested, not of the previous one (6.5, 6.1.4x) */
	bool cluster_scan;     /* 6.7 */
	bool sis_node;	       /* the other LLCs of the node are searched, too (June 2023, in no release) */
	bool current_cpu;      /* WF_CURRENT_CPU is obeyed (6.6) */
	bool less_delayed;     /* the sync rule does not count delayed tasks (6.16, 6.12.y) */
	bool sync_exiting;     /* an exiting waker's sync counts (before 4.16) */
	bool weight_le;	       /* 4.14: the waker's CPU wins at equal load */
	bool prop_core_budget; /* the budget of SIS_PROP counts CPUs that are not allowed (4.13 .. 4.18) */
	bool wa_idle, wa_weight, wa_bias; /* scheduler features */
	uint32_t short_run_ns;		  /* SIS_CURRENT, SIS_SHORT: both tasks run less than this a time */
};

/* The knobs of a mainline kernel, version as major << 16 | minor << 8 (4.8 and later). */
struct wi_fair_knobs wi_fair_knobs_of(uint32_t version);

/*
 * What costs something to know, asked only where the kernel looks. Those marked (opt) may be NULL. without: less the
 * wakee's own part, if the wakee is on that CPU.
 */
struct wi_fair_ask {
	void *ctx;
	bool (*idle)(void *ctx, uint32_t cpu,
		     enum wi_fair_site site); /* (opt) available_idle_cpu; NULL: the idle mask tells */
	bool (*weight)(void *ctx, int64_t this_eff, int64_t prev_eff); /* (opt) is the waker's CPU less loaded? */
	uint64_t (*cpu_load)(void *ctx, uint32_t cpu, bool without);
	uint64_t (*cpu_util)(void *ctx, uint32_t cpu, bool without); /* max(util_avg, util_est) */
	uint64_t (*cpu_runnable)(void *ctx, uint32_t cpu, bool without);
	uint64_t (*task_load)(void *ctx, uint32_t task); /* h_load */
	uint64_t (*task_util)(void *ctx, uint32_t task);
	/* nr_idle_scan of cpu's LLC; *min and *max: what it could be as well */
	uint32_t (*scan_budget)(void *ctx, uint32_t cpu, uint32_t *min, uint32_t *max);
	uint32_t (*prop_budget)(void *ctx, uint32_t cpu); /* (opt) SIS_PROP */
	/* (opt) cpuidle's exit latency of the state that an idle CPU is in; UINT32_MAX not known */
	uint32_t (*exit_latency)(void *ctx, uint32_t cpu);
	bool (*idle_cores)(void *ctx, uint32_t cpu);	 /* (opt) has_idle_cores of cpu's LLC; for sis_node only */
	uint64_t (*idle_stamp)(void *ctx, uint32_t cpu); /* (opt) when it became idle; NULL: cpu[].idle_since_ns */
};

/* Kinds of steps: X(id, what cpu and value are) */
#define WI_FAIR_STEPS(X)                                                                                               \
	X(IDLE, "idle test of cpu: value 1 idle, 2 runs SCHED_IDLE tasks only, 0 busy")                                \
	X(NOT_ALLOWED, "cpu is not allowed")                                                                           \
	X(NO_SHARE, "cpu shares no cache with the target")                                                             \
	X(WIDE, "wake_wide: value 1 wide")                                                                             \
	X(WAKER_FORBIDDEN, "the wakee may not run on cpu, the waker's")                                                \
	X(AFFINE, "wake_affine chose cpu; value: enum wakeif_affine")                                                  \
	X(SYNC, "sync: value tasks are queued on cpu")                                                                 \
	X(THIS_EFF, "effective load of the waker's CPU")                                                               \
	X(PREV_EFF, "effective load of the previous CPU")                                                              \
	X(TARGET, "the search begins at cpu")                                                                          \
	X(RECENT, "cpu is the recently used one")                                                                      \
	X(WANT_CORE, "value: has_idle_cores of the LLC of cpu")                                                        \
	X(BUDGET, "value CPUs may be looked at in the LLC of cpu")                                                     \
	X(HOT, "cpu is idle but reserved for a task that will be back soon")                                           \
	X(COOKIE, "cpu will not do: its core has another cookie than the wakee; value 1: one of both is not known")    \
	X(GROUP, "the group with cpu is compared; value: idle CPUs in it")                                             \
	X(GROUP_CHOSEN, "the group with cpu is idlest")                                                                \
	X(GROUP_STAY, "the group of cpu is kept")                                                                      \
	X(ANSWER, "cpu is the answer; value: enum wakeif_rule")

enum wi_fair_step_kind {
#define X(id, help) WI_FAIR_STEP_##id,
	WI_FAIR_STEPS(X)
#undef X
};

struct wi_fair_step {
	enum wi_fair_step_kind kind;
	enum wi_fair_site site; /* IDLE only */
	uint32_t cpu;
	uint64_t value;
};

struct wi_fair_inputs {
	struct wi_fair_machine *machine;
	const struct wi_fair_knobs *knobs;
	const struct wi_fair_ask *ask;
	uint64_t now_ns;
	uint32_t flags; /* enum wakeif_wake_flag */
	uint32_t waker_cpu, prev_cpu;
	uint32_t waker, wakee;		   /* task slots, for ask */
	uint32_t waker_flips, wakee_flips; /* after record_wakee() */
	uint32_t recent_cpu;		   /* the wakee's recent_used_cpu; WAKEIF_CPU_NONE not known: never taken */
	bool waker_exiting;
	bool waker_pinned;			/* kernel thread bound to one CPU */
	bool waker_in_task;			/* not in an interrupt */
	bool wakee_idle_policy;			/* SCHED_IDLE */
	bool exec_counted;			/* cpu[].nr_running counts the task that execs */
	bool mutual;				/* each is the other's last wakee, and no others' (SIS_CURRENT) */
	bool short_tasks;			/* both run less than knobs.short_run_ns a time */
	bool waker_idle_cores, prev_idle_cores; /* has_idle_cores of the LLCs of waker_cpu and prev_cpu */
	const wakeif_word *allowed, *idle;
	const wakeif_word *sidle;   /* NULL: none */
	const wakeif_word *unknown; /* NULL: none; a CPU in it is taken as busy, and the answer marked */
	const struct wakeif_cpu *cpu;
	uint32_t delayed_on_waker; /* delayed tasks that nr_running of waker_cpu counts (6.12) */
	const uint64_t *hot_until; /* by CPU (SIS_CACHE); NULL: none */
	const uint32_t *core_cookie; /* by CPU: its core's cookie, WAKEIF_COOKIE_UNKNOWN; NULL: no core scheduling */
	uint32_t cookie;	     /* the wakee's */
	wakeif_word *cleared; /* sis_node: gets the lowest CPUs of other LLCs whose has_idle_cores becomes 0; NULL: not
				 told */
	void (*trace)(void *ctx, const struct wi_fair_step *step); /* NULL: nobody listens */
	void *trace_ctx;
};

struct wi_fair_budget_range {
	uint32_t n, min, max; /* CPUs that may be looked at, and what that could be as well; UINT32_MAX: all */
};

/*
 * The search of the LLC in one pass, and what would have come of it with another budget. A walk for an idle CPU ends at
 * `cpu` when the budget reaches it; a search for an idle core asks only whether the budget is nil.
 */
struct wi_fair_walk {
	enum { WI_FAIR_NO_WALK, WI_FAIR_WALK_CORE, WI_FAIR_WALK_CPU, WI_FAIR_WALK_UNTOLD } what;
	struct wi_fair_budget_range budget;
	uint32_t before; /* idle states looked at before the walk */
	uint32_t at;	 /* looks until the first idle CPU, that one included; UINT32_MAX: none is idle */
	uint32_t length; /* looks of a walk without a budget */
	uint32_t cpu, instead; /* the answers of a walk that gets to an idle CPU, and that does not */
	uint16_t rule, instead_rule; /* instead_rule: WAKEIF_RULE_NO_RULE: as the walk ended */
};

struct wi_fair_result {
	uint32_t cpu;
	uint32_t target;   /* where the search began; WAKEIF_CPU_NONE: no search */
	uint32_t examined; /* idle states looked at */
	uint16_t rule;	   /* enum wakeif_rule */
	uint16_t affine;   /* enum wakeif_affine */
	bool wide;
	bool wanted_affine; /* not wide, and the waker's CPU allowed: up to 5.14 the waker's recent_used_cpu becomes its
			       CPU */
	bool weighed;	    /* the loads were compared: this_eff, prev_eff */
	bool scanned;	    /* the search of the LLC was begun */
	bool wanted_core;   /* ... for an idle core first */
	bool asked_cores;   /* has_idle_cores was looked at */
	bool recent_reached;	/* the wakee's recent_used_cpu becomes prev_cpu */
	bool clears_idle_cores; /* has_idle_cores of the LLC of target becomes 0 */
	bool sync_looked_at;	/* the other value of sync could change the answer */
	bool budget_matters;	/* another nr_idle_scan within its range gives another answer */
	bool unknown_matters;	/* a CPU of unknown state was looked at */
	int64_t this_eff, prev_eff;
	bool turned_told;	/* turned_target: where the search had begun if WF_SYNC were the other way round */
	uint32_t turned_target;
	struct wi_fair_walk walk;
	/* Of wi_fair_other_sync(): where that search began, WAKEIF_CPU_NONE: there was none; has_idle_cores looked at */
	uint32_t other_target;
	bool other_asked_cores;
	struct wi_fair_walk other_walk;
};

/* A wakeup (flags WAKEIF_WF_TTWU), fork or exec. Does not change what in points to but for machine->scratch. */
void wi_fair_decide(const struct wi_fair_inputs *in, struct wi_fair_result *r);

static inline struct wi_fair_result wi_fair_select(const struct wi_fair_inputs *in)
{
	struct wi_fair_result r;

	wi_fair_decide(in, &r);
	return r;
}

/* The answer had WF_SYNC been the other way round; r: that of wi_fair_select() for the same inputs. */
uint32_t wi_fair_other_sync(const struct wi_fair_inputs *in, struct wi_fair_result *r);

/*
 * Changes r, and *other, the answer of wi_fair_other_sync(), to what they had been with other budgets: that of the LLC
 * of r->target, and that of r->other_target. For kernels that search in one pass by SIS_UTIL or without a budget, with
 * WI_FAIR_SYNC_OFF. false: that takes a new decision; r and *other are void then.
 */
bool wi_fair_rebudget(struct wi_fair_result *r, uint32_t *other, const struct wi_fair_budget_range *budget,
		      const struct wi_fair_budget_range *other_budget);

/* The search alone: select_idle_sibling() from target on. */
void wi_fair_search(const struct wi_fair_inputs *in, uint32_t target, struct wi_fair_result *r);

/* Slow path alone: idlest CPU from `from` on, in the domain at index `level` of its list. */
uint32_t wi_fair_idlest_cpu(const struct wi_fair_inputs *in, struct wi_fair_result *r, uint32_t level, uint32_t from);

/* What is uncertain about one decision. */
struct wi_fair_doubt {
	const wakeif_word *uncertain; /* CPUs that may be idle or not; NULL none */
	uint32_t load_percent;	      /* loads closer than this (of the greater one) may compare either way; 0: never */
	uint32_t budget_steps;	      /* nr_idle_scan may be this much less or more */
	bool each_test;		      /* a CPU may change between two looks at it */
	uint32_t max_runs;	      /* give up after this many paths, and say ambiguous; 0: 256 */
};

struct wi_fair_reach {
	bool ambiguous; /* more than one answer can be reached, or max_runs was reached */
	bool gave_up;
	bool other_found; /* `other` can be reached */
	uint32_t nr_runs;
};

/*
 * Tries every path that the doubts leave open, each once, until a second answer shows; with other < nr_cpus goes on
 * until that answer is found or no path is left, which tells whether it is among the reachable ones.
 */
struct wi_fair_reach wi_fair_reachable(const struct wi_fair_inputs *in, const struct wi_fair_doubt *doubt,
				       uint32_t other);

#endif
