/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The first pass: what the state machine must know before its first event. Reads only as far as it must; a source
 * that does not look ahead is read to its end, since only the end tells where the records have holes.
 */
#include <stdlib.h>
#include <string.h>

#include "analyzer/base/cpumask.h"
#include "analyzer/timeline/lookahead.h"
#include "parsers/chain.h"
#include "parsers/source.h"

#define GAP_SAMPLES 10000u
#define WAKEUPS_WITHOUT_WAKING 10000u
#define GAP_DEFAULT_NS 1000u
#define BATCH 1024

#define SCHED_TYPES                                                                                                     \
	(WI_EV_BIT(SCHED_WAKING) | WI_EV_BIT(SCHED_MIGRATE_TASK) | WI_EV_BIT(SCHED_WAKEUP) | WI_EV_BIT(SCHED_WAKEUP_NEW) |     \
	 WI_EV_BIT(SCHED_SWITCH) | WI_EV_BIT(SCHED_PROCESS_FORK) | WI_EV_BIT(SCHED_PROCESS_EXEC) | WI_EV_BIT(SCHED_PROCESS_EXIT))

struct surveyor {
	struct wi_survey *s;
	struct wi_lookahead *la;
	uint64_t *sample; /* waking→migrate gaps */
	uint32_t nr_samples;
	uint64_t nr_waking, nr_wakeup;
	bool whole; /* read to the end */
	struct wi_chain *chain;
	uint64_t *last_ns; /* by CPU: stamp of its latest record */
	uint32_t cpu_cap;
	size_t gap_cap;
	struct wi_err *err;
};

static bool grow_cpus(struct surveyor *v, uint32_t nr)
{
	struct wi_survey *s = v->s;

	if (nr > v->cpu_cap) {
		uint32_t cap = (nr + 63) & ~63u;
		int32_t *pid = realloc(s->first_pid, cap * sizeof(*pid));

		if (pid)
			s->first_pid = pid;
		uint64_t *first = realloc(s->first_ts_ns, cap * sizeof(*first));
		if (first)
			s->first_ts_ns = first;
		bool *overwritten = realloc(s->overwritten, cap * sizeof(*overwritten));
		if (overwritten)
			s->overwritten = overwritten;
		struct wi_chain *chain = realloc(v->chain, cap * sizeof(*chain));
		if (chain)
			v->chain = chain;
		uint64_t *last = realloc(v->last_ns, cap * sizeof(*last));
		if (last)
			v->last_ns = last;
		if (!pid || !first || !overwritten || !chain || !last)
			return wi_err_nomem(v->err);
		for (uint32_t c = v->cpu_cap; c < cap; c++) {
			s->first_pid[c] = -1;
			s->first_ts_ns[c] = WI_TIME_UNKNOWN;
			s->overwritten[c] = false;
			v->chain[c] = WI_CHAIN_START;
			v->last_ns[c] = WI_TIME_UNKNOWN;
		}
		v->cpu_cap = cap;
	}
	if (nr > s->nr_cpus)
		s->nr_cpus = nr;
	return true;
}

static bool add_gap(struct surveyor *v, const struct wi_event *ev, enum wi_lost_kind kind, uint64_t nr)
{
	struct wi_survey *s = v->s;

	if (s->nr_gaps == v->gap_cap) {
		size_t cap = v->gap_cap ? v->gap_cap * 2 : 64;
		struct wi_gap *g = realloc(s->gaps, cap * sizeof(*g));

		if (!g)
			return wi_err_nomem(v->err);
		s->gaps = g;
		v->gap_cap = cap;
	}
	uint64_t from = v->last_ns[ev->cpu] != WI_TIME_UNKNOWN ? v->last_ns[ev->cpu] : ev->ts_ns;
	s->gaps[s->nr_gaps++] = (struct wi_gap){ .from_ns = from, .cpu = ev->cpu, .kind = (uint8_t)kind, .nr = nr };
	return true;
}

/* Start and continuity of each CPU, for a source that cannot tell at open. */
static bool follow_cpu(struct surveyor *v, const struct wi_event *ev)
{
	if (!grow_cpus(v, ev->cpu + 1))
		return false;
	struct wi_chain *chain = &v->chain[ev->cpu];
	if (ev->type == WI_EV_LOST) {
		if (!add_gap(v, ev, WI_LOST_MARK, ev->lost.nr_lost))
			return false;
	} else {
		int32_t pid = ev->type == WI_EV_SCHED_SWITCH	     ? ev->sw.prev_pid
			      : (ev->known & WI_KNOWN_COMMON_PID) && ev->type != WI_EV_MARKER ? ev->common_pid
								     : WI_CHAIN_UNKNOWN;

		if (v->s->first_ts_ns[ev->cpu] == WI_TIME_UNKNOWN)
			v->s->first_ts_ns[ev->cpu] = ev->ts_ns;
		if (v->s->first_pid[ev->cpu] < 0)
			v->s->first_pid[ev->cpu] = pid;
		if (wi_chain_broken(chain, ev) && !add_gap(v, ev, WI_LOST_CHAIN, 0))
			return false;
		v->last_ns[ev->cpu] = ev->ts_ns;
	}
	wi_chain_follow(chain, ev);
	return true;
}

static bool drain(struct surveyor *v)
{
	const struct wi_placement *p;
	const struct wi_event *ev;

	while ((ev = wi_lookahead_pop(v->la, &p)))
		if (p && p->by_migrate && v->nr_samples < GAP_SAMPLES)
			v->sample[v->nr_samples++] = p->dec_ns - ev->ts_ns;
	return true;
}

/* Highest CPU number that the event names. */
static uint32_t highest_cpu(const struct wi_event *ev)
{
	int64_t a = ev->cpu, b = -1, c = -1;

	if (ev->type == WI_EV_SCHED_WAKING || ev->type == WI_EV_SCHED_WAKEUP || ev->type == WI_EV_SCHED_WAKEUP_NEW) {
		b = ev->wk.target_cpu;
	} else if (ev->type == WI_EV_SCHED_MIGRATE_TASK) {
		b = ev->mig.orig_cpu;
		c = ev->mig.dest_cpu;
	}
	a = b > a ? b : a;
	return (uint32_t)(c > a ? c : a);
}

static bool take(struct surveyor *v, const struct wi_event *ev)
{
	uint32_t cpu = highest_cpu(ev);

	if (v->whole && !follow_cpu(v, ev))
		return false;
	if (cpu < WI_MAX_CPUS && !grow_cpus(v, cpu + 1))
		return false;
	v->s->has_wakeups |= ev->type == WI_EV_SCHED_WAKING || ev->type == WI_EV_SCHED_WAKEUP;
	v->nr_waking += ev->type == WI_EV_SCHED_WAKING;
	v->nr_wakeup += ev->type == WI_EV_SCHED_WAKEUP;
	if (!v->nr_waking && v->nr_wakeup >= WAKEUPS_WITHOUT_WAKING)
		v->s->has_waking = false;
	if (v->nr_samples < GAP_SAMPLES && v->s->has_waking && ev->type != WI_EV_LOST && ev->cpu < WI_MAX_CPUS && !wi_lookahead_push(v->la, ev))
		return wi_err_nomem(v->err);
	return true;
}

static bool enough(const struct surveyor *v)
{
	return !v->whole && (v->nr_samples == GAP_SAMPLES || !v->s->has_waking);
}

/* The value that sorting would put at index k; reorders. Linear but for orders made to be bad, and GAP_SAMPLES bounds those. */
static uint64_t nth_value(uint64_t *v, size_t nr, size_t k)
{
	size_t lo = 0, hi = nr - 1;

	while (lo < hi) {
		uint64_t a = v[lo], b = v[lo + (hi - lo) / 2], c = v[hi];
		uint64_t pivot = a < b ? (b < c ? b : a < c ? c : a) : (a < c ? a : b < c ? c : b);
		size_t i = lo, j = hi;

		for (;;) {
			while (v[i] < pivot)
				i++;
			while (v[j] > pivot)
				j--;
			if (i >= j)
				break;
			uint64_t swap = v[i];
			v[i++] = v[j];
			v[j--] = swap;
		}
		/* up to j all are <= pivot, behind it all are >= */
		if (k <= j)
			hi = j;
		else
			lo = j + 1;
	}
	return v[k];
}

static int by_start(const void *a, const void *b)
{
	const struct wi_gap *x = a, *y = b;

	if (x->from_ns != y->from_ns)
		return x->from_ns < y->from_ns ? -1 : 1;
	return x->cpu < y->cpu ? -1 : x->cpu > y->cpu;
}

/* Where the recording starts, and where a window begins that no overwritten CPU spoils (METRICS rules 3, 5). */
static void set_start(struct wi_survey *s, const struct wi_source_info *info)
{
	uint64_t start = WI_TIME_UNKNOWN, window = 0;

	for (uint32_t c = 0; c < s->nr_cpus; c++) {
		uint64_t first = s->first_ts_ns[c];

		if (first == WI_TIME_UNKNOWN)
			continue;
		if (first < start)
			start = first;
		s->overwritten[c] = c < info->nr_cpus && info->cpu && info->cpu[c].overwritten;
		if (s->overwritten[c] && first > window)
			window = first;
	}
	s->recording_start_ns = start == WI_TIME_UNKNOWN ? 0 : start;
	s->window_start_ns = window > s->recording_start_ns ? window : s->recording_start_ns;
}

/* A line that is not delivered may be a CPU's first. */
static void take_earlier_starts(struct wi_survey *s, const struct wi_source_info *info)
{
	for (uint32_t c = 0; info->cpu && c < s->nr_cpus && c < info->nr_cpus; c++)
		if (info->cpu[c].has_data && s->first_ts_ns[c] != WI_TIME_UNKNOWN && info->cpu[c].first_ts_ns < s->first_ts_ns[c])
			s->first_ts_ns[c] = info->cpu[c].first_ts_ns;
}

static bool take_info(struct surveyor *v, const struct wi_source_info *info)
{
	if (info->nr_cpus && !grow_cpus(v, info->nr_cpus))
		return false;
	for (uint32_t c = 0; !v->whole && c < info->nr_cpus; c++)
		if (info->cpu[c].has_data) {
			v->s->first_pid[c] = info->cpu[c].first_pid;
			v->s->first_ts_ns[c] = info->cpu[c].first_ts_ns;
		}
	return true;
}

/* Types that a guest alone has asked for are left out. */
static bool take_all(struct surveyor *v, const struct wi_event *ev, int n)
{
	uint32_t wanted = v->whole ? UINT32_MAX : SCHED_TYPES | WI_EV_BIT(LOST);

	for (int i = 0; i < n; i++)
		if (wanted >> ev[i].type & 1 && !take(v, &ev[i]))
			return false;
	return drain(v);
}

static void set_filter(const struct surveyor *v, struct wi_source *src, bool guest)
{
	wi_source_set_filter(src, v->whole || guest ? UINT32_MAX : SCHED_TYPES);
}

static bool read_through(struct surveyor *v, struct wi_source *src, const struct wi_survey_guest *guest)
{
	struct wi_event *ev = malloc(BATCH * sizeof(*ev));
	bool more = guest != NULL; /* for the guest */
	int n = 0;

	if (!ev)
		return wi_err_nomem(v->err);
	set_filter(v, src, more);
	while ((more || !enough(v)) && (n = wi_source_next_batch(src, ev, BATCH, v->err)) > 0) {
		bool ok = enough(v) || take_all(v, ev, n);

		if (ok && more) {
			ok = guest->look(guest->ctx, ev, n, &more, v->err);
			if (!more)
				set_filter(v, src, false);
		}
		if (!ok) {
			n = -1;
			break;
		}
	}
	free(ev);
	if (n < 0)
		return false;
	if (!enough(v)) {
		wi_lookahead_end(v->la);
		drain(v);
		if (!v->nr_waking)
			v->s->has_waking = false;
	}
	return true;
}

bool wi_survey_with(struct wi_source *src, const struct wi_survey_guest *guest, struct wi_survey *s, struct wi_err *err)
{
	const struct wi_source_info *info = wi_source_info(src);
	struct surveyor v = { .s = s, .whole = !info->looks_ahead, .err = err };
	bool ok = false;

	memset(s, 0, sizeof(*s));
	s->has_waking = true;
	s->gaps_dated = v.whole;
	v.la = wi_lookahead_new(WI_MAX_CPUS, GAP_DEFAULT_NS, true);
	v.sample = malloc(GAP_SAMPLES * sizeof(*v.sample));
	if (!v.la || !v.sample) {
		wi_err_nomem(err);
		goto out;
	}
	if (!take_info(&v, info))
		goto out;
	if (!read_through(&v, src, guest))
		goto out;
	wi_source_set_filter(src, UINT32_MAX);
	if (!wi_source_rewind(src, err))
		goto out;
	s->gap_samples = v.nr_samples;
	s->gap_ns = v.nr_samples ? nth_value(v.sample, v.nr_samples, (v.nr_samples - 1) / 2) : GAP_DEFAULT_NS;
	if (s->nr_gaps)
		qsort(s->gaps, s->nr_gaps, sizeof(*s->gaps), by_start);
	take_earlier_starts(s, info);
	set_start(s, info);
	ok = true;
out:
	wi_lookahead_free(v.la);
	free(v.sample);
	free(v.chain);
	free(v.last_ns);
	if (!ok)
		wi_survey_fini(s);
	return ok;
}

bool wi_survey(struct wi_source *src, struct wi_survey *s, struct wi_err *err)
{
	return wi_survey_with(src, NULL, s, err);
}

void wi_survey_fini(struct wi_survey *s)
{
	free(s->first_pid);
	free(s->first_ts_ns);
	free(s->overwritten);
	free(s->gaps);
	*s = (struct wi_survey){ 0 };
}
