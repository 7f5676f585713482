/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "models/wake_history.h"

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
