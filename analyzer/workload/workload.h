/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A recorded workload, free of the placement that it was recorded under: for every task a tape of how long it runs, in
 * solo-speed work, before it wakes somebody, blocks, forks or ends. Preemptions and migrations are not on the tape; the
 * machine (analyzer/sim/) makes its own.
 *
 * Plain data, nothing changes it after it was made: one workload serves all policies and seeds, also those of other
 * processes. Task order is that of first appearance. Times count from the window's start.
 */
#ifndef WI_WORKLOAD_H
#define WI_WORKLOAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyzer/base/err.h"
#include "models/wakeif_model.h"

#define WI_WORK_NONE UINT32_MAX

/*
 * What a task does after it has run for work_ns more.
 * X(id, name, what `target` is, meaning)
 */
#define WI_OPS(X)                                                                                                      \
	X(RUN, "run", "-", "runs on; `value` more ns (for what work_ns does not hold)")                                \
	X(WAKE, "wake", "counter", "adds one to the counter, which wakes its task if that blocks on it")               \
	X(BLOCK, "block", "counter", "takes one from the counter; sleeps until there is one")                          \
	X(SLEEP, "sleep", "sleep", "sleeps until something outside of all tasks wakes it: timer, device")              \
	X(UNSEEN, "unseen", "counter", "as WAKE, but its task was awake in the recording: it is inferred")             \
	X(TAKE, "take", "counter", "as BLOCK, but one was there in the recording: it is inferred")                     \
	X(YIELD, "yield", "-", "gives way to other runnable tasks, stays runnable")                                    \
	X(FORK, "fork", "task", "makes the child runnable for the first time")                                         \
	X(EXEC, "exec", "-", "executes a new program: the kernel places it anew")                                      \
	X(RENICE, "renice", "-", "`value`: prio << 8 | policy from here on")                                           \
	X(STALL, "stall", "-", "a host runs others in place of its CPU, which heeds nothing until RESUME")             \
	X(RESUME, "resume", "-", "its CPU goes on")                                                                    \
	X(EXIT, "exit", "-", "dies")                                                                                   \
	X(END, "end", "-", "the recording ends here: never runs again")

enum wi_op_kind {
#define X(id, name, target, help) WI_OP_##id,
	WI_OPS(X)
#undef X
		WI_NR_OPS
};

/*
 * How a wakeup was carried out, as recorded: a draw for the machine's latencies. Durations are codes of
 * wi_noise_encode(), exact to 0.1 %; 0xffff: not known.
 */
struct wi_wake_noise {
	uint16_t gap;	  /* sched_waking to decision */
	uint16_t transit; /* sched_waking to enqueue (sched_wakeup) */
	uint16_t
		start; /* enqueue to switch-in, where the CPU was idle or the wakee preempted at once; else not known */
	uint8_t kind;  /* bits of enum wi_wake_kind */
	uint8_t flags; /* enum wi_wake_note */
};

enum wi_wake_kind {
	WI_WAKE_BUSY = 1 << 0,	 /* the chosen CPU was not idle at the enqueue */
	WI_WAKE_REMOTE = 1 << 1, /* chosen CPU is not the waker's */
	WI_WAKE_IRQ = 1 << 2,	 /* hardirq or softirq context, or the idle task */
	WI_NR_WAKE_KINDS = 8
};

enum wi_wake_note {
	WI_WAKE_SYNC = 1 << 0,	     /* WF_SYNC is set */
	WI_WAKE_SYNC_KNOWN = 1 << 1, /* ... or known not to be; else unknown */
	WI_WAKE_SOFTIRQ = 1 << 2,    /* by a softirq that interrupted the waker and is counted as its own work */
	WI_WAKE_PREEMPTED = 1 << 3,  /* `start` is a preemption's latency */
	WI_WAKE_ONCPU = 1 << 4,	     /* class ONCPU as recorded */
	WI_WAKE_STAYS = 1 << 5,	     /* class PINNED or SELF: one CPU */
	WI_WAKE_REQUEST = 1 << 6,    /* asks its task for an answer */
	WI_WAKE_ANSWER = 1 << 7	     /* answers a request of its task; another's if that has not asked */
};

struct wi_op {
	uint32_t work_ns; /* solo-speed work before it takes effect */
	uint32_t kind : 5, target : 27;
	union {
		struct wi_wake_noise wake; /* WAKE, UNSEEN, FORK */
		uint64_t value;
	};
};

_Static_assert(sizeof(struct wi_op) == 16, "a tape is millions of these");
#define WI_OP_MAX_TARGET ((1u << 27) - 1)

/* A block that something outside of all tasks ends. */
struct wi_work_sleep {
	uint64_t length_ns; /* from the block to sched_waking */
	uint64_t wake_ns;   /* absolute: when sched_waking came */
	uint32_t waker_cpu; /* that wrote it; WI_WORK_NONE: never woken within the window */
	uint8_t context;    /* enum wakeif_context */
	bool on_own_cpu;    /* waker_cpu is where the task slept: it follows the task */
	bool disturbed;	    /* another wakeup had just reached its CPU, which idled: it may have slept on otherwise */
	bool timer;	    /* likely a timer of the task's own (length repeats, or hrtimer records say so) */
	struct wi_wake_noise wake;
};

/* Wakes and blocks that belong together: one task blocks, a group of wakers adds. */
struct wi_work_counter {
	uint32_t task;	  /* that blocks on it */
	uint32_t initial; /* wakes on their way when the window began */
};

enum wi_work_start { WI_START_RUNNING, WI_START_RUNNABLE, WI_START_BLOCKED, WI_START_UNBORN };

struct wi_work_task {
	int32_t pid, tgid;  /* tgid 0: unknown */
	const char *comm;   /* "" unknown */
	const char *cgroup; /* NULL unknown */
	int16_t prio;	    /* -1 DL, 0..99 RT, 100..139; at the window's start or birth. 120 if it was never told */
	uint8_t policy;	    /* enum wakeif_policy, UNKNOWN where neither side file nor prio tells */
	uint8_t start;	    /* enum wi_work_start. BLOCKED: its tape begins with a block, work 0 */
	bool kthread;
	bool born_unseen;  /* UNBORN, but no FORK op names it: appears at start_ns */
	uint32_t cpu;	   /* where it runs, waits or slept at the start; WI_WORK_NONE unknown or unborn */
	uint32_t parent;   /* task; WI_WORK_NONE */
	uint32_t allowed;  /* set number in masks; WI_WORK_NONE: all */
	uint64_t start_ns; /* UNBORN: birth */
	size_t first_op;   /* in ops[], contiguous */
	size_t nr_ops;
	uint64_t work_ns; /* sum of all work on the tape */
	uint64_t ran_ns;  /* as recorded, SMT slowdown included */
	uint32_t nr_blocks;
};

/* What of the trace is on the tapes, and what had to be left out. All are counts in the window unless named otherwise.
 */
#define WI_WORK_FACTS(X)                                                                                               \
	X(events, "events", "scheduler events read in the window")                                                     \
	X(switches_in, "switches_in", "switch-ins of tasks")                                                           \
	X(implied, "implied", "switch-ins after a block that nothing on record ended")                                 \
	X(busy_ns, "busy_ns", "time that tasks ran")                                                                   \
	X(tape_ns, "tape_ns", "of it on tapes, as run time")                                                           \
	X(wakes, "wakes", "wakeups that ended a block")                                                                \
	X(internal, "internal", "of them by a task's own progress")                                                    \
	X(softirq, "softirq", "of those in softirq context")                                                           \
	X(external, "external", "of them from outside: timer, interrupt, idle CPU")                                    \
	X(timers, "timers", "of those likely timers of the wakee's own")                                               \
	X(oncpu, "oncpu", "wakeups of a task that was being switched out")                                             \
	X(onrq, "onrq", "wakeups of a task that had not left its run queue: not on the tapes")                         \
	X(unknown, "unknown", "wakeups by a task that is not known: taken as external")                                \
	X(sync, "sync", "of those by a task: with WF_SYNC, recorded or learned")                                       \
	X(sync_unknown, "sync_unknown", "of those by a task: it is not known whether with WF_SYNC")                    \
	X(orders, "orders", "soft order edges")                                                                        \
	X(requests, "requests", "requests that found their server awake: inferred")                                    \
	X(forks, "forks", "tasks born of a known parent")                                                              \
	X(births, "births", "tasks that appear otherwise")                                                             \
	X(exits, "exits", "tasks that died")                                                                           \
	X(yields, "yields", "switches away that were neither a block nor a preemption")                                \
	X(preemptions, "preemptions", "switches away from a runnable task: not on the tapes")                          \
	X(throttled_ns, "throttled_ns",                                                                                \
	  "time that tasks were runnable beside an idle CPU of their own: bandwidth limits")                           \
	X(commit_ns, "commit_ns", "mean time from being bound to sleep to the switch-out, by the wakeups oncpu")       \
	X(stalls, "stalls", "times that a CPU let the moment pass when it had to switch")                              \
	X(stalled_ns, "stalled_ns", "time on tapes in which a CPU heeds nothing")                                      \
	X(smt_ns, "smt_ns", "time that tasks ran beside a busy SMT sibling")

struct wi_work_facts {
#define X(id, name, help) uint64_t id;
	WI_WORK_FACTS(X)
#undef X
};

enum wi_edge {
	WI_EDGE_GROUP,	/* one counter a wakee and waker's name */
	WI_EDGE_STRICT, /* one counter a block: only the recorded wake ends it */
	WI_EDGE_ANY
}; /* one counter a wakee */

struct wi_workload {
	uint32_t kernel; /* major << 16 | minor << 8; 0 unknown */
	uint32_t hz;	 /* 0 unknown */
	uint64_t window_ns;
	uint32_t smt_speed;			    /* in 1/1024: what the work was scaled with */
	uint32_t host_cpus;			    /* likewise; 0: CPUs are real */
	uint8_t edge;				    /* enum wi_edge */
	const struct wakeif_topology *topology;	    /* of the recording; borrowed */
	const struct wakeif_topology *own_topology; /* the same, freed with the workload; NULL: it is another's */

	struct wi_work_task *task;
	uint32_t nr_tasks;
	struct wi_op *ops;
	size_t nr_ops;
	struct wi_work_sleep *sleep;
	uint32_t nr_sleeps;
	struct wi_work_counter *counter;
	uint32_t nr_counters;
	wakeif_word *masks; /* nr_masks sets of topology->nr_words words */
	uint32_t nr_masks;

	/* Recorded latencies of all wakeups, by kind, for draws. start is known in some of them: those of start[] only.
	 */
	struct {
		const struct wi_wake_noise *noise;
		uint32_t nr;
	} draw[WI_NR_WAKE_KINDS], draw_idle[WI_NR_WAKE_KINDS], draw_preempt[WI_NR_WAKE_KINDS];

	struct wi_work_facts facts;
	uint64_t lost_events, lost_marks; /* in the window: a replay is refused if there are any */
	char source[64];		  /* format of the trace it was taken from */
};

/* 0 .. 65534 for 0 .. 2^37 ns: 11 bits of mantissa; longer ones are 65534. */
uint16_t wi_noise_encode(uint64_t ns);
uint64_t wi_noise_decode(uint16_t code);
#define WI_NOISE_UNKNOWN 0xffffu

const char *wi_op_name(enum wi_op_kind kind);

/* One block of memory or several, as wi_workload_new... made it. NULL is fine. */
void wi_workload_free(struct wi_workload *w);

/* Invariants that the machine relies on: indices, order, sums. false: err set, what is wrong. For builders and files.
 */
bool wi_workload_check(const struct wi_workload *w, struct wi_err *err);

#endif
