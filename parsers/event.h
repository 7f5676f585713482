/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One normalised event. Field names are the tracepoints' own. A parser delivers events in time order; ties on one CPU
 * keep the file's order, ties across CPUs are ordered by wi_event_rank(), then by CPU.
 */
#ifndef WI_EVENT_H
#define WI_EVENT_H

#include <stdbool.h>
#include <stdint.h>

/* type, name as the kernel writes it. The order is the rank of events with one time stamp on different CPUs. */
#define WI_EVENT_TYPES(X)                                                                                             \
	X(LOST, "lost_events")		       /* this CPU lost records before this instant */                        \
	X(SCHED_WAKING, "sched_waking")                                                                               \
	X(SCHED_MIGRATE_TASK, "sched_migrate_task")                                                                   \
	X(SCHED_WAKEUP, "sched_wakeup")                                                                               \
	X(SCHED_WAKEUP_NEW, "sched_wakeup_new")                                                                       \
	X(SCHED_SWITCH, "sched_switch")                                                                               \
	X(SCHED_PROCESS_FORK, "sched_process_fork")                                                                   \
	X(SCHED_PROCESS_EXEC, "sched_process_exec")                                                                   \
	X(SCHED_PROCESS_EXIT, "sched_process_exit")                                                                   \
	X(CPU_IDLE, "cpu_idle")                                                                                       \
	X(SCHED_STAT_RUNTIME, "sched_stat_runtime")                                                                   \
	X(LOCAL_TIMER_ENTRY, "local_timer_entry")                                                                     \
	X(CALL_FUNCTION_SINGLE_ENTRY, "call_function_single_entry")                                                   \
	X(RESCHEDULE_ENTRY, "reschedule_entry")                                                                       \
	X(HRTIMER_START, "hrtimer_start")                                                                             \
	X(HRTIMER_EXPIRE_ENTRY, "hrtimer_expire_entry")                                                               \
	X(SYS_ENTER, "sys_enter")                                                                                     \
	X(SYS_EXIT, "sys_exit")                                                                                       \
	X(MARKER, "print")		       /* text written to trace_marker */                                     \
	X(OTHER, "other")                      /* any other trace event: first of a run on its CPU, see below */

enum wi_event_type {
#define X(t, name) WI_EV_##t,
	WI_EVENT_TYPES(X)
#undef X
	WI_NR_EVENT_TYPES
};

#define WI_EV_BIT(t) (1u << WI_EV_##t)

const char *wi_event_name(enum wi_event_type type); /* static string; "unknown" for a number that is no type */

/* Order of events with one time stamp on different CPUs: lower first (a waking before the wakeup it leads to). */
static inline uint32_t wi_event_rank(uint8_t type)
{
	return type;
}

/*
 * Records that no part of wakeif reads (WI_EV_OTHER) still prove two things: their CPU had moved on, and who was
 * current there. A parser therefore delivers at least the first of every unbroken run of such records on a CPU, and
 * again when common_pid changes within the run; one that does not look ahead delivers them all, since the last one tells
 * where a gap begins. Records of the ftrace system itself (function, function_graph, kernel_stack,
 * user_stack, bprint, bputs, ...) are never delivered: they may be written in the middle of a wakeup.
 * sched_switch is written before the kernel changes "current": other records (tlb_flush, x86_fpu_*, hrtimer_start) that
 * follow it on its CPU and still carry its prev_pid prove nothing; they are not delivered, hrtimer_start without WI_KNOWN_COMMON_PID.
 */

/* wi_event.known: what the format could express. A bit that is clear means unknown, never 0 or none. */
enum wi_event_known {
	WI_KNOWN_FLAGS = 1 << 0,	/* common_flags: irq context bits are real */
	WI_KNOWN_COMMON_PID = 1 << 1,	/* common_pid */
	WI_KNOWN_STATE = 1 << 2,	/* sw.prev_state is real (else '?') */
	WI_KNOWN_PREEMPTED = 1 << 3,	/* sw.preempted is real (a plugin text drops the '+') */
	WI_KNOWN_PREEMPT_COUNT = 1 << 4 /* common_preempt_count */
};

/* common_flags bits, as normalised by every parser whatever the kernel's numbers are. */
enum wi_event_flags {
	WI_FLAG_IRQS_OFF = 0x01,
	WI_FLAG_NEED_RESCHED = 0x04,
	WI_FLAG_HARDIRQ = 0x08,
	WI_FLAG_SOFTIRQ = 0x10,
	WI_FLAG_PREEMPT_RESCHED = 0x20,
	WI_FLAG_NMI = 0x40,
	WI_FLAG_BH_OFF = 0x80
};

/*
 * Why a CPU's records are not continuous. A source with info->looks_ahead delivers WI_EV_LOST straight after the last
 * record before the gap, with that record's stamp (there is nothing known in between); other sources at the gap's end,
 * before the record that shows it.
 */
enum wi_lost_kind {
	WI_LOST_MARK, /* the ring buffer says that records were lost */
	WI_LOST_CHAIN /* common_pid (sched_switch: prev_pid) of the next record is not the task last switched in: a switch is missing */
};

/* Highest pid a kernel can give (PID_MAX_LIMIT); above: the parser refuses the record as damage. */
#define WI_PID_MAX 4194304

struct wi_event {
	uint64_t ts_ns;	      /* in the trace's clock */
	uint64_t pos;	      /* file offset of the record (binary) or of the line (text), for messages */
	uint32_t cpu;	      /* CPU whose buffer holds the record; < WI_MAX_CPUS */
	int32_t common_pid;   /* task current when the record was written (on sched_switch: prev); 0 = the CPU's idle task */
	int32_t common_tgid;  /* 0: unknown */
	uint32_t common_comm; /* name in the record's task column (text only); may come from the future, use last. else WI_NAME_NONE */
	uint8_t type;	      /* enum wi_event_type */
	uint8_t common_flags; /* enum wi_event_flags */
	uint8_t common_preempt_count;
	uint8_t known; /* enum wi_event_known */
	union {
		struct {
			int32_t prev_pid, next_pid;
			uint32_t prev_comm, next_comm; /* name ids */
			int16_t prev_prio, next_prio;  /* -1 DL, 0..99 RT, 100..139 fair */
			char prev_state;	       /* R S D T t X Z P I x K W N n ..., the letter of the lowest blocked bit; '?' unknown */
			uint8_t preempted;	       /* the preempt bit ("R+"): still runnable */
		} sw;
		struct { /* sched_waking, sched_wakeup, sched_wakeup_new */
			int32_t pid;
			uint32_t comm;
			int32_t target_cpu; /* as the field says: on sched_waking this is prev_cpu */
			int16_t prio;
			uint8_t success; /* 1 where the format has no such field */
		} wk;
		struct {
			int32_t pid;
			uint32_t comm;
			int32_t orig_cpu, dest_cpu;
			int16_t prio;
		} mig;
		struct {
			int32_t parent_pid, child_pid;
			uint32_t parent_comm, child_comm;
		} fork;
		struct {
			int32_t pid, old_pid;
			uint32_t comm; /* the new name, from filename; WI_NAME_NONE where the record has none */
		} exec;
		struct {
			int32_t pid;
			uint32_t comm;
			int16_t prio;
		} exit;
		struct {
			uint32_t state; /* UINT32_MAX: leaving idle */
			uint32_t cpu_id;
		} idle;
		struct {
			int32_t pid;
			uint64_t runtime_ns, vruntime_ns; /* vruntime UINT64_MAX where the format lacks it (6.7+) */
		} stat;
		struct {
			uint64_t hrtimer, expires_ns; /* expires: hrtimer_start only */
		} hrtimer;
		struct {
			int64_t nr;
		} sys;
		struct {
			const char *text; /* not NUL-terminated; valid until the next call of next_batch */
			uint32_t len;
		} marker;
		struct {
			uint64_t nr_lost; /* 0: an unknown number. When this event comes: enum wi_lost_kind, chain.h, source.h looks_ahead */
			uint8_t kind; /* enum wi_lost_kind */
		} lost;
	};
};

_Static_assert(sizeof(struct wi_event) <= 64, "events are moved by the million");

#endif
