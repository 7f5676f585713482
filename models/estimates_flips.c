/* SPDX-License-Identifier: GPL-2.0-or-later */
/* wakee_flips, and what placements tell of the counts that tasks brought into the recording. */
#include <stdlib.h>

#include "analyzer/base/cpumask.h"
#include "models/estimates_priv.h"

/* A number for an unknown count; 0 when there is no memory for it: it is then taken as 0. */
static uint32_t new_unknown(struct wi_estimates *e)
{
	if (e->flips_from_zero)
		return 0;
	if (e->nr_guesses + 1 >= e->max_guesses) {
		uint32_t max = e->max_guesses ? 2 * e->max_guesses : 256;
		struct wi_flips_guess *more = realloc(e->guess, max * sizeof(*more));

		if (!more)
			return 0;
		e->guess = more;
		e->max_guesses = max;
	}
	e->guess[++e->nr_guesses] = (struct wi_flips_guess){ 0 };
	return e->nr_guesses;
}

void est_flips_begin(struct wi_estimates *e, uint32_t slot)
{
	if (e->flips)
		e->flips[slot] = (struct wi_flips){ .decay_jiffy = e->jiffy, .unknown = new_unknown(e) };
	if (e->flips_reset)
		e->flips_reset[slot] = (struct wi_flips){ .decay_jiffy = e->jiffy };
}

/* Guesses are multiples of the largest LLC. */
static uint32_t count_of(const struct wi_estimates *e, const struct wi_flips *f, uint8_t guess)
{
	return f->flips + (f->unknown ? wi_flips_guessed(guess, e->llc_size) >> f->shift : 0);
}

uint32_t est_flips(const struct wi_estimates *e, const struct wi_flips *all, uint32_t slot)
{
	const struct wi_flips *f;

	if (!all || slot >= e->nr_slots)
		return 0;
	f = &all[slot];
	return count_of(e, f, f->unknown ? e->guess[f->unknown].best : 0);
}

/*
 * Both CPUs are busy, and the waker's so much less loaded that the search begins there if the wakeup is not wide, sync
 * or not. Wide, it begins at the previous CPU; and finding nothing, ends where it began.
 */
static bool waker_less_loaded(struct wi_estimates *e, const struct wakeif_wakeup *w)
{
	uint64_t task = est_host_task_load(e, w->wakee_task), here = est_host_cpu_load(e, w->waker_cpu),
		 there = est_host_cpu_load(e, w->prev_cpu);

	return there > task && (here + task) * 5 < (there - task) * 4;
}

static bool telling(struct wi_estimates *e, const struct wakeif_wakeup *w)
{
	const struct wakeif_topology *t = e->topo;
	uint32_t a = w->waker_cpu, b = w->prev_cpu;

	return a < t->nr_cpus && b < t->nr_cpus && a != b && !e->cpu[a].idle && !e->cpu[b].idle &&
	       t->group[WAKEIF_LLC][a] == t->group[WAKEIF_LLC][b] && w->allowed && wi_mask_test(w->allowed, a) &&
	       wi_mask_test(w->allowed, b) && waker_less_loaded(e, w);
}

static void ask(struct wi_estimates *e, const struct wakeif_wakeup *w)
{
	const struct wi_flips *f = &e->flips[w->wakee_task];
	uint32_t waker = est_flips(e, e->flips, w->waker_task), wide = 0;

	if (!f->unknown)
		return;
	for (uint8_t g = 0; g < WI_FLIPS_GUESSES; g++) {
		uint32_t from = e->flips[w->waker_task].unknown == f->unknown ? count_of(e, &e->flips[w->waker_task], g)
									      : waker;

		wide |= (uint32_t)wi_wake_wide(from, count_of(e, f, g), e->topo->llc_size[w->waker_cpu]) << g;
	}
	if (wide && wide != (1u << WI_FLIPS_GUESSES) - 1 && telling(e, w))
		e->asked = (struct est_asked){ w->wakee_task, w->waker_cpu, w->prev_cpu, f->unknown, wide };
}

/* Only wakeups whose placement is decided count. */
void est_flips_wakeup(struct wi_estimates *e, const struct wakeif_wakeup *w)
{
	uint64_t id = e->task[w->wakee_task].id;

	e->asked.task = NONE;
	if (e->flips) {
		wi_flips_record(&e->flips[w->waker_task], id, e->jiffy, e->hz, false);
		if (e->loads)
			ask(e, w);
	}
	if (e->flips_reset)
		wi_flips_record(&e->flips_reset[w->waker_task], id, e->jiffy, e->hz, true);
}

void est_flips_placed(struct wi_estimates *e, const struct wakeif_happening *h)
{
	if (h->task == e->asked.task && (h->cpu == e->asked.waker_cpu || h->cpu == e->asked.prev_cpu))
		wi_flips_learn(&e->guess[e->asked.unknown], e->asked.wide, h->cpu == e->asked.waker_cpu);
	e->asked.task = NONE;
}
