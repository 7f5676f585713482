/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Load tracking as Linux 4.14 .. 6.18 does it, in the kernel's own integers: time in units of 1024 ns, in periods of
 * 1024 units, each worth y = 2^(-1/32) of the next. Sums decay when a period ends; averages are formed then, and only
 * then. Read from the kernel's description of the algorithm and checked against recorded values (test_pelt.c,
 * test_estimates_truth.c).
 *
 * Two objects: a task, and the queue of fair tasks of a CPU. Both are plain data: the callers say when something is
 * updated, because readers see the value of the last update.
 */
#ifndef WI_MODELS_PELT_H
#define WI_MODELS_PELT_H

#include <stdbool.h>
#include <stdint.h>

#define WI_PELT_UNIT 1024u /* ns in a unit, units in a period, and the full scale of util */
#define WI_PELT_MAX 47742u /* the sum of an endless run: 1024 * (1 + y + y^2 ...), as the integers give it */
#define WI_PELT_MIN_DIVIDER (WI_PELT_MAX - WI_PELT_UNIT)
#define WI_PELT_WEIGHT_NICE0 1024u
#define WI_PELT_WEIGHT_IDLE 3u

/* floor((2^32 - 1) * 2^(-k/32)), k = 0 .. 31 */
extern const uint32_t wi_pelt_inverse[32];

/* Weights of nice -20 .. 19. */
extern const uint32_t wi_pelt_nice_weight[40];

/* Weight of a fair task; prio 100 .. 139, everything else counts as nice 0. idle: its policy is SCHED_IDLE. */
static inline uint32_t wi_pelt_weight(int prio, bool idle)
{
	return idle			   ? WI_PELT_WEIGHT_IDLE
	       : prio >= 100 && prio < 140 ? wi_pelt_nice_weight[prio - 100]
					   : WI_PELT_WEIGHT_NICE0;
}

/* v * y^periods */
static inline uint64_t wi_pelt_decay(uint64_t v, uint64_t periods)
{
	if (periods > 63 * 32)
		return 0;
	v >>= periods / 32;
	return (uint64_t)(((unsigned __int128)v * wi_pelt_inverse[periods % 32]) >> 32);
}

static inline uint32_t wi_pelt_divider(uint32_t contrib)
{
	return WI_PELT_MIN_DIVIDER + contrib;
}

struct wi_pelt_task {
	uint64_t last_ns;  /* of the last update, in whole units from where it began */
	uint32_t contrib;  /* units of the period begun, 0 .. 1023 */
	uint32_t load_sum; /* time on the queue, decayed; at most WI_PELT_MAX */
	uint32_t util_sum; /* time running, decayed, times 1024 */
	uint32_t weight;
	uint32_t load_avg;		 /* weight times the share of time on the queue */
	uint32_t runnable_avg;		 /* 1024 times the same share */
	uint32_t util_avg;		 /* 1024 times the share of time running */
	uint16_t est_enqueued, est_ewma; /* util_est */
	bool est_unchanged;		 /* util_avg has not moved since the last util_est update */
	bool attached;			 /* false: on its way to another CPU, or new; last_ns means nothing */
};

struct wi_pelt_cpu {
	uint64_t last_ns;
	uint64_t load_sum;   /* weights times time, decayed; sleepers' shares included */
	uint64_t queued_sum; /* the same of queued tasks only: what 3.9 .. 5.6 compared */
	uint64_t runnable_sum, util_sum;
	uint32_t contrib;
	uint32_t nr;	 /* fair tasks queued */
	uint64_t weight; /* sum of their weights */
	uint64_t load_avg, queued_avg, runnable_avg, util_avg;
	uint32_t util_est; /* sum over queued tasks */
	bool running;	   /* a fair task runs */
	bool has_removed;
	uint64_t removed_load, removed_runnable,
		removed_util; /* of tasks that left by a wakeup elsewhere; taken off at the next update */
};

/* Accounts for the time since the last update, in which the input was as the arguments or *c say. */
void wi_pelt_update_task(struct wi_pelt_task *t, uint64_t now_ns, bool queued, bool running);
void wi_pelt_update_cpu(struct wi_pelt_cpu *c, uint64_t now_ns);

/* A task joins the CPU's averages, which are up to date; or leaves them at once, both being up to date. */
void wi_pelt_attach(struct wi_pelt_cpu *c, struct wi_pelt_task *t);
void wi_pelt_detach(struct wi_pelt_cpu *c, struct wi_pelt_task *t);

/*
 * A sleeping task is sent elsewhere by a wakeup, or has died: what it contributed at the CPU's last update is taken off
 * at the next one. The task's own average decays on to now when the CPU is idle, where the kernel guesses the lag.
 */
void wi_pelt_remove(struct wi_pelt_cpu *c, struct wi_pelt_task *t, uint64_t now_ns, bool idle);

/* Joins or leaves the queue; both are up to date. */
void wi_pelt_enqueue(struct wi_pelt_cpu *c, struct wi_pelt_task *t);
void wi_pelt_dequeue(struct wi_pelt_cpu *c, struct wi_pelt_task *t);

/* Changes the weight of a task; queued tells whether it counts in the CPU's queue. Both are up to date. */
void wi_pelt_reweight(struct wi_pelt_cpu *c, struct wi_pelt_task *t, bool queued, uint32_t weight);

/* A new task of this weight: full load, and half of what utilisation the CPU has left, before it is attached.
 * unscaled: the ratio to the CPU's load is taken with the weight times 1024, as before 6.10. */
void wi_pelt_init_new(const struct wi_pelt_cpu *c, struct wi_pelt_task *t, uint32_t weight, bool unscaled);

/* util_est of a task that goes to sleep, after its update. single: 6.8 on, one value kept instead of two. */
void wi_pelt_est_sleep(struct wi_pelt_task *t, bool single);

static inline uint32_t wi_pelt_est(const struct wi_pelt_task *t)
{
	return t->est_ewma > t->est_enqueued ? t->est_ewma : t->est_enqueued;
}

static inline uint64_t wi_pelt_cpu_util(const struct wi_pelt_cpu *c)
{
	uint64_t u = c->util_avg > c->util_est ? c->util_avg : c->util_est;

	return u > WI_PELT_UNIT ? WI_PELT_UNIT : u;
}

#endif
