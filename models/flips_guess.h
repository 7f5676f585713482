/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How many wakee_flips a task had when the recording began. They are not recorded, and every task forked later inherits
 * them from its parent; but where the answers with and without wake_wide differ, the kernel's choice tells what
 * wake_wide said. Each such choice votes on the values that the first ancestor seen may have begun with; the value with
 * the most votes is taken, the least of them in a tie, 0 without votes. A count of that age halves with the task's own.
 */
#ifndef WI_MODELS_FLIPS_GUESS_H
#define WI_MODELS_FLIPS_GUESS_H

#include <stdbool.h>
#include <stdint.h>

struct wi_flips_guess;

/* Slots below nr_cpus are idle tasks. NULL: out of memory. */
struct wi_flips_guess *wi_flips_guess_new(uint32_t nr_cpus);
void wi_flips_guess_free(struct wi_flips_guess *g); /* NULL is allowed */

/* A task begins in slot; parent UINT32_MAX: it was there before. false: out of memory. */
bool wi_flips_guess_began(struct wi_flips_guess *g, uint32_t slot, uint32_t parent);

/* The task in slot wakes another one, a placement is to be decided. */
void wi_flips_guess_wakes(struct wi_flips_guess *g, uint32_t slot, uint64_t now_ns);

/* What is left of the unknown beginning in the task's wakee_flips. */
uint32_t wi_flips_guess_extra(const struct wi_flips_guess *g, uint32_t slot);

/* Is more evidence of these two wanted? Each true counts as one look. */
bool wi_flips_guess_open(struct wi_flips_guess *g, uint32_t waker, uint32_t wakee);

/* The kernel found them wide, or not, with these flips counted since the beginning; factor as in wake_wide. */
void wi_flips_guess_vote(struct wi_flips_guess *g, uint32_t waker, uint32_t wakee, uint32_t waker_flips,
			 uint32_t wakee_flips, uint32_t factor, bool wide);

#endif
