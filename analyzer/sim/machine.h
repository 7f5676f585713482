/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The machine's parts and who does what with them:
 *
 *	machine.c	begin, main loop, end
 *	run.c		who runs on a CPU: schedule, account, the operations of tapes
 *	wake.c		a wakeup: waking, decision, enqueue, preemption check
 *	answers.c	whom a server answers
 *	timers.c	sleeping tasks whose timers may go off with other interrupts
 *	place.c		what a model sees and answers; placement without a model
 *	events.c	what is due when; draws
 *	groups.c	which group of CPUs has too much to do
 *	balance.c	tasks that wait are taken elsewhere
 *	realtime.c	where real-time tasks go
 *	core_sched.c	the threads of a core run tasks of one cookie
 *	power.c		2009: tasks of a half-empty package or core are taken to a fuller one
 *	tell.c		what happened, to estimates, the model, the sink
 *
 * Work is counted in 1/1024 ns at solo speed, so that a speed in 1/1024 conserves it exactly.
 */
#ifndef WI_SIM_MACHINE_H
#define WI_SIM_MACHINE_H

#include "analyzer/base/cpumask.h"
#include "analyzer/sim/queue.h"
#include "analyzer/sim/sim.h"
#include "models/estimates.h"

#define NONE UINT32_MAX
#define WORK 1024u /* units of work in a ns */

/* Of a wakeup that the recording does not have. */
static const struct wi_wake_noise s_no_noise = { WI_NOISE_UNKNOWN, WI_NOISE_UNKNOWN, WI_NOISE_UNKNOWN, 0, 0 };

enum sim_state {
	S_UNBORN,
	S_BLOCKED, /* by a BLOCK, a TAKE or a SLEEP: wait_kind tells */
	S_WAKING,  /* sched_waking to decision */
	S_PENDING, /* decision to enqueue */
	S_RUNNABLE,
	S_RUNNING,
	S_OVER /* dead, or its tape has ended */
};

struct sim_task {
	struct wi_entity e;
	const struct wi_work_task *about;
	const wakeif_word *allowed; /* CPUs that are online here; never empty */
	uint32_t nr_allowed;	    /* CPUs in it */
	size_t op, end_op;
	uint64_t left;		  /* work before ops[op] takes effect, in units */
	uint64_t credit;	  /* units that the last op got too much */
	uint8_t state, wait_kind; /* enum sim_state; enum wi_op_kind */
	bool requeues;		  /* its wake came while it was on its way out */
	bool stalls;		  /* between STALL and RESUME: its CPU heeds nothing while it runs */
	bool moves;		  /* to be placed anew when it leaves its CPU: exec */
	uint32_t cpu;
	uint32_t waits_for; /* counter or sleep */
	uint32_t nr_blocks; /* reached */
	/* as a client: its servers, list. As a server: who asks, list; the counter where they ask; answers given before
	 * anybody asked */
	uint32_t first_server, first_asker, last_asker, asked_at, answers_ahead;
	uint64_t block_ns, ran_until_ns, rr_ns, touched; /* touched: order in which tasks were queued or ran last */
	uint64_t due_ns;				 /* when its sleeps can end at the earliest; 0: not known */
	size_t first_late, nr_late;			 /* in late_ns[] */
	uint32_t next_sleeper, prev_sleeper;		 /* on its CPU */
	uint32_t timer_gen;				 /* of the timer event */
	bool timed;					 /* among the CPU's sleepers */
	uint64_t wait_since_ns;				 /* runnable, not running; kept where cookies are */
	uint32_t cookie_rank, occupation;		 /* busy threads of its core when it was last picked */
	/* the wakeup under way */
	struct wi_wake_noise noise;
	uint64_t waking_ns;
	uint32_t waking; /* tally's number; NONE */
	uint32_t waker, waker_cpu;
	uint8_t context, kind;
	bool placing; /* decided: counts in pending of cpu */
};

/* How often a look for waiting tasks before idling has found one, of all looks. */
struct sim_newidle {
	uint32_t tries, found, ratio; /* ratio in 1/1024 */
};

#define SIM_DOMAINS 8u

/* One CPU in one of its domains. */
struct sim_domain {
	uint64_t last_ns, interval_ns; /* of the last look at a tick, and until the next */
	uint32_t failed;
	struct sim_newidle newidle;
};

/* What a CPU has had to do: share of time busy, tasks on it, their weight; decayed as the kernel does. */
enum sim_load_kind { SIM_UTIL, SIM_RUNNABLE, SIM_WEIGHT, SIM_LOADS };

struct sim_load {
	uint64_t last; /* 1024 ns */
	uint64_t value[SIM_LOADS], part[SIM_LOADS], sum[SIM_LOADS];
};

enum sim_move { SIM_MOVE_TASKS, SIM_MOVE_UTIL, SIM_MOVE_LOAD };

struct sim_cpu {
	struct wi_queue q;
	struct wi_rt_queue rt;
	uint32_t curr;	    /* task; NONE: idle */
	uint32_t on_record; /* as the last switch on record says: a task that leaves is current until its switch */
	uint32_t speed;
	uint64_t since_ns; /* accounted for up to here */
	uint64_t idle_since_ns, avg_idle_ns;
	uint32_t gen, switch_gen; /* of the progress event and of the switch that is due */
	bool resched;		  /* a switch is due */
	bool missed_switch;	  /* ... and was not made, for it stalled */
	bool missed_tick;
	bool online;
	uint32_t pending;
	uint32_t core, busy_core; /* core's number */
	uint32_t sleepers;	  /* tasks whose timers may go off early, list */
	uint32_t failed_savings;
	bool forced;			 /* idles by force */
	uint32_t forced_seq, occupation; /* core's seq at the snapshot; busy siblings when it last idled */
	uint64_t stole_ns;
	uint32_t rt_last; /* CPU that it last chose by turns for a real-time task */
	struct sim_domain domain[SIM_DOMAINS];
	struct sim_load load;
};

/* A package or core, for power savings. */
struct sim_filling {
	uint32_t nr_tasks;		       /* that run or wait there */
	uint32_t nr_cpus, nr_cores, first_cpu; /* online */
};

struct sim_core {	      /* of core scheduling */
	uint32_t cookie;      /* of the latest pick for the core */
	uint32_t nr_forced;   /* threads that idle by force */
	uint32_t seq;	      /* how often that began */
	uint64_t since_ns;    /* accounted for up to here */
	int64_t min_vruntime; /* csc_vruntime */
};

enum sim_event_type { EV_PROGRESS, EV_SWITCH, EV_DECIDE, EV_ENQUEUE, EV_TIMER, EV_BIRTH, EV_TICK };

struct sim_event {
	uint64_t at_ns, seq;
	uint32_t id, gen;
	uint8_t type;
};

/* Of a task and a server of its. */
struct sim_client {
	uint32_t server, counter;
	uint32_t nr_asked; /* and not answered */
	uint32_t next_server, next_asker;
};

struct sim_counter {
	int64_t stored; /* below 0: a server has gone on because of requests whose wakes had been taken */
	uint64_t last_ns;
	uint32_t last_waker; /* task + 1; 0: nobody */
};

struct sim {
	const struct wi_workload *w;
	struct wi_sim_opts o;
	const struct wakeif_topology *topo;
	struct wi_queue_params params;
	const struct wi_queue_ops *fair;
	struct sim_task *task;
	struct sim_cpu *cpu;
	struct sim_counter *counter;
	struct sim_client *client;
	uint32_t nr_clients;
	uint64_t *late_ns;     /* sleeps that nothing disturbed, by task, sorted */
	struct sim_core *core; /* NULL: no cookies */
	wakeif_word *masks;    /* of the workload's sets, as they are here; one more: all online CPUs */
	struct sim_filling *package, *core_filling; /* NULL: no power savings */
	uint32_t *core_busy;			    /* busy threads, by core */
	uint32_t nr_busy;
	uint64_t now_ns, tick_ns;

	struct sim_event *heap;
	size_t nr_heap, heap_room;
	uint64_t seq, nr_ticks;
	uint64_t nr_ticks_done; /* without those at which nothing was to be done */

	/* what a model sees */
	struct wakeif_view view;
	struct wakeif_cpu *view_cpu;
	wakeif_word *idle, *unknown, *pending, *sched_idle_only, *left, *lowest; /* left, lowest: scratch */
	struct wi_estimates *est;
	struct wakeif_host host;
	void *model;
	uint32_t types; /* that the model wants told */
	char said[256];

	struct wi_tally *tally;
	struct wi_sim_result *result;
	uint64_t newidle_cost_ns;
	uint32_t nr_overloaded; /* CPUs with somebody waiting */
	bool failed;
};

/* events.c */
void s_push(struct sim *s, uint64_t at_ns, enum sim_event_type type, uint32_t id, uint32_t gen);
bool s_pop(struct sim *s, struct sim_event *ev);
uint64_t s_hash(const struct sim *s, uint64_t a, uint64_t b, uint64_t purpose);
/* Latencies of a wakeup of this kind: own if it is of the kind that was recorded, else drawn. */
uint64_t s_gap_ns(struct sim *s, const struct sim_task *t);
uint64_t s_transit_ns(struct sim *s, const struct sim_task *t);
uint64_t s_start_ns(struct sim *s, const struct sim_task *t, bool preempts);

/* run.c */
void s_account(struct sim *s, uint32_t cpu);
void s_switch_due(struct sim *s, uint32_t cpu); /* a wakeup's call */
void s_schedule(struct sim *s, uint32_t cpu);	/* the task that runs may have blocked, or has to give way */
void s_progress(struct sim *s, uint32_t cpu);
void s_rekey(struct sim *s, uint32_t cpu);
struct sim_task *s_pick(struct sim *s,
			uint32_t cpu); /* whom its classes would run next, curr or another; NULL: nobody */
/* prev has left, or gives way; woken: if it was idle, by a wakeup */
void s_switch_to(struct sim *s, uint32_t cpu, uint32_t prev, struct sim_task *next, bool woken);
void s_load_op(struct sim *s, struct sim_task *t);
void s_block_first(struct sim *s, uint32_t task); /* it sleeps when the window begins */
void s_tick(struct sim *s);

/* wake.c */
void s_wake(struct sim *s, uint32_t task, uint32_t waker, uint32_t cpu, enum wakeif_context context,
	    const struct wi_wake_noise *noise);
void s_timer(struct sim *s, uint32_t task);
void s_decide(struct sim *s, uint32_t task);
void s_enqueue(struct sim *s, uint32_t task); /* the end of a transit */
void s_fork(struct sim *s, uint32_t parent, uint32_t child, const struct wi_wake_noise *noise);
bool s_queue_on(struct sim *s, uint32_t task, uint32_t cpu, bool initial, bool woken);
void s_dequeue(struct sim *s, uint32_t task);
void s_check_preempt(struct sim *s, uint32_t task);
void s_wake_oncpu(struct sim *s, uint32_t task); /* it has left its CPU, and its wake came before that */

/* answers.c */
bool s_answers_begin(struct sim *s); /* false: out of memory */
void s_ask(struct sim *s, struct sim_task *t, uint32_t counter);
uint32_t s_answer(struct sim *s, struct sim_task *t, uint32_t counter);

/* timers.c */
bool s_timers_begin(struct sim *s); /* false: out of memory */
/* When it will go off, if nothing else wakes its CPU. */
uint64_t s_timer_set(struct sim *s, struct sim_task *t, const struct wi_work_sleep *e);
void s_timer_clear(struct sim *s, struct sim_task *t);
void s_timer_expires(struct sim *s, uint32_t task);
void s_timers_due(struct sim *s, uint32_t cpu); /* an interrupt has reached a CPU that idled */

/* place.c */
void s_view_cpu(struct sim *s, uint32_t cpu); /* after anything changed there */
uint32_t s_place(struct sim *s, struct sim_task *t, uint32_t flags, enum wakeif_class *class_);

/* groups.c */
void s_load_set(struct sim *s, uint32_t cpu, uint64_t util, uint64_t runnable, uint64_t weight);
void s_load_advance(struct sim *s, uint32_t cpu);
uint32_t s_find_busiest(struct sim *s, uint32_t cpu, uint32_t level, bool idle, enum sim_move *kind, uint64_t *amount);
bool s_looks_for_group(const struct sim *s, uint32_t cpu, uint32_t level);

/* balance.c */
bool s_balance_begin(struct sim *s); /* false: out of memory */
void s_idle_ended(struct sim *s, uint32_t cpu, bool woken);
bool s_newidle(struct sim *s, uint32_t cpu);		     /* true: a task was pulled */
void s_balance(struct sim *s, uint32_t cpu);		     /* at a tick */
void s_pull(struct sim *s, struct sim_task *t, uint32_t to); /* one that waits */

/* realtime.c */
uint32_t s_place_rt(struct sim *s, const struct sim_task *t);
void s_rt_push(struct sim *s, uint32_t cpu);	       /* somebody waits there behind a real-time task */
void s_rt_pull(struct sim *s, uint32_t cpu, int left); /* one of this prio has left, nobody was picked yet */

/* core_sched.c; all but begin, end and fits only where there are cookies */
bool s_core_begin(struct sim *s, struct wi_err *err);
void s_core_end(struct sim *s);
void s_core_note(struct sim *s, uint32_t cpu); /* before anybody comes or goes on its core */
void s_core_vruntime(struct sim *s, uint32_t cpu);
void s_core_schedule(struct sim *s, uint32_t cpu, uint32_t prev, struct sim_task *own, bool woken); /* own: s_pick() */
bool s_core_tick(struct sim *s, uint32_t cpu); /* shall the core be picked for anew? */
bool s_core_fits(const struct sim *s, uint32_t cpu, const struct sim_task *t);

void s_push_running(struct sim *s, uint32_t from, uint32_t to); /* the task that runs there is moved */

/* power.c */
bool s_power_begin(struct sim *s);					    /* false: out of memory */
void s_power_count(struct sim *s, uint32_t cpu, uint32_t was, uint32_t is); /* tasks that run or wait there */
void s_save_power(struct sim *s, uint32_t cpu);				    /* at a tick of an idle CPU */

/* tell.c */
void s_tell_task(struct sim *s, const struct sim_task *t, enum wakeif_event_type type, uint8_t flags, uint32_t cpu,
		 uint32_t other);
void s_tell_cpu(struct sim *s, uint32_t cpu, enum wakeif_event_type type);
void s_sink_waking(struct sim *s, const struct sim_task *t);
void s_sink_wakeup(struct sim *s, const struct sim_task *t, bool new_);
void s_sink_switch(struct sim *s, uint32_t cpu, uint32_t prev, uint32_t next, char prev_state, bool preempted);
void s_sink_migrate(struct sim *s, const struct sim_task *t, uint32_t from, uint32_t to);
void s_sink_fork(struct sim *s, const struct sim_task *parent, const struct sim_task *child);

static inline uint32_t s_number(const struct sim *s, const struct sim_task *t)
{
	return (uint32_t)(t - s->task);
}

/* Idle, and nothing on its way has woken it yet. */
static inline bool s_sleeps(const struct sim *s, uint32_t cpu)
{
	return s->cpu[cpu].curr == NONE && !s->cpu[cpu].resched;
}

/* A host runs others in its place: whatever comes is seen to when it goes on. */
static inline bool s_stalls(const struct sim *s, uint32_t cpu)
{
	return s->cpu[cpu].curr != NONE && s->task[s->cpu[cpu].curr].stalls;
}

static inline bool s_core_scheds(const struct sim *s)
{
	return s->core && s->o.core_sched != WI_CORE_SCHED_OFF;
}

static inline bool s_is_rt(const struct sim_task *t)
{
	return t->e.prio < 100;
}

#endif
