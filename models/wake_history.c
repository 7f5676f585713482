/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "models/wake_history.h"

/* In quarters of the LLC's size. */
static const uint8_t guess_quarters[WI_FLIPS_GUESSES] = { 0, 4, 5, 6, 8, 12, 16 };

#define LIKELY -0.105f	 /* log 0.9 */
#define UNLIKELY -2.303f /* log 0.1 */
#define HOLDS_AGAINST 3.0f
#define LEAST_SCORE -20.0f

uint32_t wi_flips_guessed(uint8_t guess, uint32_t llc_size)
{
	return guess_quarters[guess] * llc_size / 4;
}

void wi_flips_learn(struct wi_flips_guess *g, uint32_t wide, bool on_waker)
{
	float top = LEAST_SCORE;

	for (uint32_t i = 0; i < WI_FLIPS_GUESSES; i++) {
		bool w = wide >> i & 1;

		g->score[i] += w == on_waker ? UNLIKELY : LIKELY;
		if (g->score[i] > top)
			top = g->score[i];
	}
	g->best = 0;
	for (uint32_t i = 0; i < WI_FLIPS_GUESSES; i++) {
		g->score[i] = g->score[i] - top < LEAST_SCORE ? LEAST_SCORE : g->score[i] - top;
		if (g->score[i] > g->score[g->best] && g->score[i] > g->score[0] + HOLDS_AGAINST)
			g->best = (uint8_t)i;
	}
}

static void average(uint64_t *avg, bool *known, uint64_t sample)
{
	*avg = *known ? wi_eighth(*avg, sample) : sample;
	*known = true;
}

void wi_lengths_runs(struct wi_lengths *l, uint64_t now_ns)
{
	if (!l->run_begin_ns)
		l->run_begin_ns = now_ns ? now_ns : 1;
}

void wi_lengths_stops(struct wi_lengths *l, uint64_t now_ns, bool sleeps)
{
	if (l->run_begin_ns) {
		l->run_ns += now_ns - l->run_begin_ns;
		l->run_begin_ns = 0;
	}
	if (!sleeps)
		return;
	if (l->run_whole)
		average(&l->run_avg_ns, &l->run_known, l->run_ns);
	if (l->woke_ns)
		l->overlap_avg_ns = wi_eighth(l->overlap_avg_ns, l->run_ns - (l->woke_ns - 1));
	l->woke_ns = 0;
	l->run_ns = 0;
	l->sleep_ns = now_ns ? now_ns : 1;
	l->run_whole = false;
}

void wi_lengths_wakes_other(struct wi_lengths *l, uint64_t now_ns)
{
	if (l->run_begin_ns)
		l->woke_ns = l->run_ns + now_ns - l->run_begin_ns + 1;
}

void wi_lengths_woken(struct wi_lengths *l, uint64_t now_ns)
{
	if (l->sleep_ns)
		average(&l->sleep_avg_ns, &l->sleep_known, now_ns - l->sleep_ns);
	l->sleep_ns = 0;
	l->run_whole = true;
}

void wi_lengths_forget(struct wi_lengths *l)
{
	l->run_begin_ns = l->run_ns = l->sleep_ns = l->woke_ns = 0;
	l->run_whole = false;
}
