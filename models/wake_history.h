/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Who wakes whom and for how long: wakee_flips, run and sleep lengths of tasks, avg_overlap of 2.6.29, and avg_idle of
 * CPUs. All by task slot (wakeif_model.h); plain data of which the estimates keep an array.
 */
#ifndef WI_MODELS_WAKE_HISTORY_H
#define WI_MODELS_WAKE_HISTORY_H

#include <stdbool.h>
#include <stdint.h>

/*
 * How often a task changed whom it wakes. The kernel compares task pointers; here `id` stands for a task, and is never
 * used twice. A new task inherits all from its parent. What a task had counted before the recording is unknown; it goes
 * on with it, halved as the rest is, and so do its children, who may be many: `unknown` names the tasks that it is the
 * same number for, and wi_flips_guess is what their wakeups say of it.
 */
struct wi_flips {
	uint64_t last_wakee; /* id; 0 none */
	uint64_t decay_jiffy;
	uint32_t flips;	  /* counted in the recording */
	uint32_t unknown; /* whose unknown count this one began with; 0: it began with none */
	uint32_t shift;	  /* times that has been halved since */
};

#define WI_FLIPS_GUESSES 7

/*
 * Guesses at the unknown count, as multiples of the LLC's size: none, and such that may turn wake_wide around. Each
 * wakeup about which they disagree, and which goes to the waker's CPU unless it is wide, speaks for or against them,
 * nine to one. None holds until another is e^3 times as likely.
 */
struct wi_flips_guess {
	float score[WI_FLIPS_GUESSES]; /* logarithms of likelihoods */
	uint8_t best;
};

uint32_t wi_flips_guessed(uint8_t guess, uint32_t llc_size);
/* wide: bit g is what guess g would have said; on_waker: it was sent there, and not to its previous CPU. */
void wi_flips_learn(struct wi_flips_guess *g, uint32_t wide, bool on_waker);

/* The kernel's wake_wide(). */
static inline bool wi_wake_wide(uint32_t waker, uint32_t wakee, uint32_t llc_size)
{
	uint32_t big = waker > wakee ? waker : wakee, small = waker > wakee ? wakee : waker;

	return small >= llc_size && big >= (uint64_t)small * llc_size;
}

/* The task wakes `wakee` and a placement is to be decided. reset: 3.12 .. 4.2, zeroed after a second instead of halved.
 */
static inline void wi_flips_record(struct wi_flips *f, uint64_t wakee, uint64_t jiffy, uint32_t hz, bool reset)
{
	if (jiffy > f->decay_jiffy + hz) {
		f->flips = reset ? 0 : f->flips >> 1;
		f->shift = reset || f->shift > 30 ? 31 : f->shift + 1;
		f->decay_jiffy = jiffy;
	}
	if (f->last_wakee != wakee) {
		f->last_wakee = wakee;
		f->flips++;
	}
}

/* The kernel's update_avg(): an eighth of the way, rounded as its shift of a signed number rounds. */
static inline uint64_t wi_eighth(uint64_t avg, uint64_t sample)
{
	int64_t d = (int64_t)sample - (int64_t)avg;

	return (uint64_t)((int64_t)avg + (d >= 0 ? d / 8 : -((-d + 7) / 8)));
}

/*
 * Lengths of runs that ended in a sleep and of sleeps that ended in a wakeup. A first value is taken as it is. overlap:
 * how long the task went on running after its last wakeup of another one, by its own run time.
 */
struct wi_lengths {
	uint64_t run_avg_ns, sleep_avg_ns, overlap_avg_ns;
	uint64_t run_begin_ns; /* 0: does not run */
	uint64_t run_ns;       /* since it last slept, without a run under way */
	uint64_t sleep_ns;     /* when it went to sleep; 0 unknown */
	uint64_t woke_ns;      /* run time since it last slept when it last woke another task, + 1; 0: it did not */
	bool run_known, sleep_known, run_whole; /* run_whole: seen from its beginning */
};

void wi_lengths_runs(struct wi_lengths *l, uint64_t now_ns);
void wi_lengths_stops(struct wi_lengths *l, uint64_t now_ns, bool sleeps);
void wi_lengths_woken(struct wi_lengths *l, uint64_t now_ns);
void wi_lengths_wakes_other(struct wi_lengths *l, uint64_t now_ns);
void wi_lengths_forget(struct wi_lengths *l); /* it was lost sight of */

/*
 * avg_idle of a CPU: how long its idle times are that a wakeup ends. Longest value counted: twice the cost of a
 * migration, 1 ms; that is the initial value, too.
 */
#define WI_AVG_IDLE_MAX_NS 1000000u

struct wi_avg_idle {
	uint64_t avg_ns;
	uint64_t idle_ns; /* began to idle, no wakeup yet; 0: not so */
};

static inline void wi_avg_idle_wakeup(struct wi_avg_idle *a, uint64_t now_ns)
{
	if (!a->idle_ns)
		return;
	a->avg_ns = wi_eighth(a->avg_ns, now_ns - a->idle_ns);
	if (a->avg_ns > WI_AVG_IDLE_MAX_NS)
		a->avg_ns = WI_AVG_IDLE_MAX_NS;
	a->idle_ns = 0;
}

#endif
