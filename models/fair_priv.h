/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the files of the fair class's decision share. */
#ifndef WI_MODELS_FAIR_PRIV_H
#define WI_MODELS_FAIR_PRIV_H

#include "analyzer/base/cpumask.h"
#include "models/cpuset.h"
#include "models/fair.h"

/* One run of a decision. */
struct fair {
	const struct wi_fair_inputs *in;
	struct wi_fair_machine *m;
	const struct wi_fair_knobs *k;
	struct wi_fair_result *r;
	const wakeif_word *sidle; /* as the knobs have it; NULL: none */
	uint64_t util;		  /* of the wakee, on machines of unequal capacity */
	bool quiet;		  /* a run beside the real one: nothing is traced */
};

static inline void fair_step(const struct fair *f, enum wi_fair_step_kind kind, enum wi_fair_site site, uint32_t cpu,
			     uint64_t value)
{
	if (__builtin_expect(!f->in->trace, 1) || f->quiet)
		return;
	struct wi_fair_step s = { kind, site, cpu, value };

	f->in->trace(f->in->trace_ctx, &s);
}

/* available_idle_cpu() without a trace step. */
static inline bool fair_ask_idle(const struct fair *f, uint32_t cpu, enum wi_fair_site site)
{
	const struct wi_fair_inputs *in = f->in;

	f->r->examined++;
	if (in->unknown && wi_mask_test(in->unknown, cpu))
		f->r->unknown_matters = true;
	return in->ask->idle ? in->ask->idle(in->ask->ctx, cpu, site) : wi_mask_test(in->idle, cpu);
}

static inline bool fair_is_sidle(const struct fair *f, uint32_t cpu)
{
	return f->sidle && wi_mask_test(f->sidle, cpu);
}

static inline bool fair_idle(const struct fair *f, uint32_t cpu, enum wi_fair_site site)
{
	bool idle = fair_ask_idle(f, cpu, site);

	fair_step(f, WI_FAIR_STEP_IDLE, site, cpu, idle);
	return idle;
}

static inline bool fair_idle_or_sidle(const struct fair *f, uint32_t cpu, enum wi_fair_site site)
{
	uint32_t how = fair_ask_idle(f, cpu, site) ? 1 : fair_is_sidle(f, cpu) ? 2 : 0;

	fair_step(f, WI_FAIR_STEP_IDLE, site, cpu, how);
	return how;
}

/* sched_cpu_cookie_match(); one that is not known is another. */
static inline bool fair_cookie_fits(const struct fair *f, uint32_t cpu)
{
	const struct wi_fair_inputs *in = f->in;

	if (__builtin_expect(!in->core_cookie, 1))
		return true;
	bool unknown = in->cookie == WAKEIF_COOKIE_UNKNOWN || in->core_cookie[cpu] == WAKEIF_COOKIE_UNKNOWN;

	if (unknown)
		f->r->unknown_matters = true;
	else if (in->core_cookie[cpu] == in->cookie)
		return true;
	fair_step(f, WI_FAIR_STEP_COOKIE, 0, cpu, unknown);
	return false;
}

/* A walk of a set from `from` on, wrapping, each CPU once, while CPUs may be taken out of the set. */
struct fair_wrap {
	uint32_t from, at;
	bool wrapped;
};

static inline uint32_t fair_wrap_next(struct fair_wrap *w, const wakeif_word *set, uint32_t words)
{
	uint32_t c = wi_mask_next(set, words, w->at);

	if (c == UINT32_MAX && !w->wrapped) {
		w->wrapped = true;
		c = wi_mask_next(set, words, 0);
	}
	if (c == UINT32_MAX || (w->wrapped && c >= w->from))
		return WAKEIF_CPU_NONE;
	w->at = c + 1;
	return c;
}

static inline struct fair_wrap fair_wrap(uint32_t from)
{
	return from ? (struct fair_wrap){ from, from, false } : (struct fair_wrap){ UINT32_MAX, 0, true };
}

/*
 * Where a walk of `set` from `from` on, wrapping, first meets a CPU of hits (a subset): *steps is the number of CPUs
 * looked at, that one included; WAKEIF_CPU_NONE: it meets none, *steps is all of them.
 */
static inline uint32_t fair_first_hit(const wakeif_word *set, const wakeif_word *hits, uint32_t words, uint32_t from,
				      uint32_t *steps)
{
	if (words == 1) {
		uint32_t by = from & 63;
		uint64_t s = by ? set[0] >> by | set[0] << (64 - by) : set[0],
			 h = by ? hits[0] >> by | hits[0] << (64 - by) : hits[0];

		if (from > 63) {
			s = set[0];
			h = hits[0];
			by = 0;
		}
		if (!h) {
			*steps = (uint32_t)__builtin_popcountll(s);
			return WAKEIF_CPU_NONE;
		}
		uint32_t at = (uint32_t)__builtin_ctzll(h);

		*steps = (uint32_t)__builtin_popcountll(s & (h ^ (h - 1)));
		return (at + by) & 63;
	}
	uint32_t c = wi_mask_first_from(hits, hits, words, from);

	*steps = c == WAKEIF_CPU_NONE ? wi_mask_weight(set, words) : wi_mask_steps(set, words, from, c);
	return c;
}

static inline bool fair_fits(uint64_t util, uint32_t capacity)
{
	return util * 1280 < (uint64_t)capacity * 1024;
}

/* ---- fair_scan.c ---- */

struct fair_scan {
	uint32_t found;
	enum wakeif_rule rule; /* of found, or why nothing was */
	bool clears;	       /* no idle core: the flag goes */
	uint32_t left;	       /* CPUs that may be looked at */
	uint32_t idle_cpu;     /* while looking for a core: the first idle CPU met */
	uint32_t hot_cpu;      /* SIS_CACHE v1: the first hot one met, and how many may still be skipped */
	uint32_t skips;
};

/* The LLC of target, whose domain is d. */
void fair_search(const struct fair *f, const struct wakeif_domain *d, bool want_core, uint32_t target,
		 struct fair_scan *s);
/* The other LLCs of its node; WAKEIF_CPU_NONE: no idle CPU. */
uint32_t fair_search_node(const struct fair *f, const struct wakeif_domain *llc, uint32_t target);

#endif
