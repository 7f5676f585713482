/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Core scheduling: the threads of a core run tasks of one cookie. A pick is made for the whole core; whoever would run
 * elsewhere on it and does not fit gives way to a task that does, or idles by force (doc/simulate.md).
 *
 * Siblings obey at once: the time an interrupt takes to them is not modelled, as in the kernel no two cookies overlap
 * in user mode.
 */
#include <stdlib.h>
#include <string.h>

#include "analyzer/base/cookie_map.h"
#include "analyzer/sim/machine.h"

#define ALLOWANCE_NS 5000000

/* ---- cookies ---- */

static uint32_t cookie_of(const struct sim *s, const struct sim_task *t)
{
	uint32_t k = s->o.cookie[s_number(s, t)];

	return k == WI_COOKIE_UNKNOWN ? WI_COOKIE_NONE : k;
}

static int by_value(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

/* The cookies in ascending order, and every task's place among them. */
static void rank(struct sim *s)
{
	struct wi_sim_result *r = s->result;

	for (uint32_t i = 0; i < s->w->nr_tasks; i++)
		r->cookie[i] = cookie_of(s, &s->task[i]);
	qsort(r->cookie, s->w->nr_tasks, sizeof(*r->cookie), by_value);
	for (uint32_t i = 0; i < s->w->nr_tasks; i++)
		if (!r->nr_cookies || r->cookie[r->nr_cookies - 1] != r->cookie[i])
			r->cookie[r->nr_cookies++] = r->cookie[i];
	for (uint32_t i = 0; i < s->w->nr_tasks; i++) {
		uint32_t k = cookie_of(s, &s->task[i]);
		const uint32_t *at = bsearch(&k, r->cookie, r->nr_cookies, sizeof(*r->cookie), by_value);

		s->task[i].cookie_rank = (uint32_t)(at - r->cookie);
	}
}

/* Of a core. */
#define MAX_THREADS 64u

static bool check_threads(const struct sim *s, struct wi_err *err)
{
	for (uint32_t g = 0; g < s->topo->nr_groups[WAKEIF_CORE]; g++)
		if (wi_mask_weight(s->topo->span[WAKEIF_CORE][g], s->topo->nr_words) > MAX_THREADS)
			return wi_err_set(err, WI_EREFUSED, "core scheduling: a core has more than %u threads: %s",
					  MAX_THREADS, s->topo->source);
	return true;
}

bool s_core_begin(struct sim *s, struct wi_err *err)
{
	struct wi_sim_result *r = s->result;
	size_t n = s->w->nr_tasks + 1;

	if (!s->o.cookie)
		return true;
	if (s->o.core_sched != WI_CORE_SCHED_OFF && !check_threads(s, err))
		return false;
	s->core = calloc(s->topo->nr_groups[WAKEIF_CORE] + 1, sizeof(*s->core));
	r->cookie = calloc(n, sizeof(*r->cookie));
	r->cookie_ran_ns = calloc(n, sizeof(*r->cookie_ran_ns));
	r->cookie_wait_ns = calloc(n, sizeof(*r->cookie_wait_ns));
	r->cookie_forced_ns = calloc(n, sizeof(*r->cookie_forced_ns));
	if (!s->core || !r->cookie || !r->cookie_ran_ns || !r->cookie_wait_ns || !r->cookie_forced_ns)
		return wi_err_nomem(err);
	for (uint32_t c = 0; c < s->topo->nr_cpus; c++)
		s->cpu[c].q.allowance_ns = ALLOWANCE_NS * (int64_t)s->params.scale;
	rank(s);
	return true;
}

/* ---- time ---- */

static const wakeif_word *threads(const struct sim *s, uint32_t cpu)
{
	return s->topo->span[WAKEIF_CORE][s->cpu[cpu].core];
}

#define for_each_thread(i, s, cpu) wi_mask_for_each (i, threads(s, cpu), (s)->topo->nr_words)

/* csc_tim: whoever runs beside a thread that idles by force uses up what its queue was allowed. */
static void use_allowance(struct sim *s, uint32_t cpu, uint64_t dt_ns)
{
	bool below = false, above = false;

	for_each_thread(i, s, cpu)
	{
		struct sim_cpu *c = &s->cpu[i];

		if (c->curr != NONE)
			c->q.allowance_ns -= (int64_t)dt_ns;
		below |= c->q.allowance_ns < 0;
		above |= c->q.allowance_ns > 0;
	}
	if (!below || above)
		return;
	for_each_thread(i, s, cpu) s->cpu[i].q.allowance_ns += ALLOWANCE_NS * (int64_t)s->params.scale;
}

/* What went by on the core since somebody last came or went there. */
void s_core_note(struct sim *s, uint32_t cpu)
{
	struct sim_core *core = &s->core[s->cpu[cpu].core];
	struct wi_sim_result *r = s->result;
	uint64_t dt_ns = s->now_ns - core->since_ns;
	uint32_t nr = 0, first = 0;
	bool mixed = false;

	core->since_ns = s->now_ns;
	if (!dt_ns)
		return;
	for_each_thread(i, s, cpu)
	{
		if (s->cpu[i].curr == NONE)
			continue;
		uint32_t k = s->task[s->cpu[i].curr].cookie_rank;

		first = nr++ ? first : k;
		mixed |= k != first;
	}
	if (nr > 1)
		*(mixed ? &r->incompatible_corun_ns : &r->compatible_corun_ns) += dt_ns;
	if (!core->nr_forced)
		return;
	r->forced_idle_ns += dt_ns * core->nr_forced;
	for_each_thread(i, s, cpu) if (s->cpu[i].curr != NONE)
		r->cookie_forced_ns[s->task[s->cpu[i].curr].cookie_rank] += dt_ns * core->nr_forced / nr;
	if (s->o.core_sched == WI_CORE_SCHED_CSC_TIM)
		use_allowance(s, cpu, dt_ns);
}

void s_core_end(struct sim *s)
{
	if (s->core)
		for (uint32_t c = 0; c < s->topo->nr_cpus; c++)
			if (s->cpu[c].online)
				s_core_note(s, c);
}

/* csc_vruntime: the queues of a core have one min_vruntime. */
void s_core_vruntime(struct sim *s, uint32_t cpu)
{
	struct sim_core *core = &s->core[s->cpu[cpu].core];
	int64_t least = INT64_MAX;

	if (s->o.core_sched != WI_CORE_SCHED_CSC_VRUNTIME || s->fair != &wi_cfs_ops)
		return;
	for_each_thread(i, s, cpu)
	{
		const struct wi_queue *q = &s->cpu[i].q;

		if (q->curr && q->curr->vruntime < least)
			least = q->curr->vruntime;
		if (q->nr_waiting && q->waiting[0]->vruntime < least)
			least = q->waiting[0]->vruntime;
	}
	if (least != INT64_MAX && least > core->min_vruntime)
		core->min_vruntime = least;
	for_each_thread(i, s, cpu) s->cpu[i].q.min_vruntime = core->min_vruntime;
}

/* ---- who is more urgent ---- */

/* mainline: where the queue stood when idling by force began; now, while there is none of it. */
static void snapshot(struct sim *s, uint32_t cpu, bool forced)
{
	struct sim_cpu *c = &s->cpu[cpu];
	uint32_t seq = s->core[c->core].seq;

	if (forced && c->forced_seq == seq)
		return;
	if (forced)
		c->forced_seq = seq;
	c->q.min_vruntime_fi = c->q.min_vruntime;
}

static bool fair_less(struct sim *s, const struct sim_task *a, const struct sim_task *b, bool forced)
{
	const struct wi_queue *qa = &s->cpu[a->cpu].q, *qb = &s->cpu[b->cpu].q;
	int64_t va = a->e.vruntime, vb = b->e.vruntime;

	if (s->fair == &wi_fifo_ops)
		return a->e.arrived > b->e.arrived;
	if (a->cpu == b->cpu)
		return va > vb;
	switch (s->o.core_sched) {
	case WI_CORE_SCHED_MAINLINE:
		snapshot(s, a->cpu, forced);
		snapshot(s, b->cpu, forced);
		return va - vb + qb->min_vruntime_fi - qa->min_vruntime_fi > 0;
	case WI_CORE_SCHED_CSC_TIM:
		if (cookie_of(s, a) != cookie_of(s, b))
			return qa->allowance_ns < qb->allowance_ns;
		break;
	case WI_CORE_SCHED_CSC_VRUNTIME:
		if (s->fair == &wi_cfs_ops) /* their min_vruntime is the same */
			return va > vb;
		break;
	default:
		break;
	}
	return va > vb - qb->min_vruntime + qa->min_vruntime;
}

/* forced: a thread of the core idles by force as the pick begins. */
static bool less(struct sim *s, const struct sim_task *a, const struct sim_task *b, bool forced)
{
	int pa = s_is_rt(a) ? a->e.prio : 100, pb = s_is_rt(b) ? b->e.prio : 100;

	return pa != pb ? pa > pb : pa == 100 && fair_less(s, a, b, forced);
}

/* ---- the pick ---- */

static struct sim_task *better(struct sim *s, struct sim_task *best, struct wi_entity *e, uint32_t cookie)
{
	struct sim_task *t = e ? &s->task[e->task] : NULL;

	if (!t || e->delayed || cookie_of(s, t) != cookie)
		return best;
	return !best || less(s, best, t, false) ? t : best;
}

/* The most urgent one of the CPU with this cookie. */
static struct sim_task *find(struct sim *s, uint32_t cpu, uint32_t cookie)
{
	struct sim_cpu *c = &s->cpu[cpu];
	struct sim_task *best = better(s, NULL, c->rt.curr, cookie);

	for (uint32_t i = 0; i < c->rt.nr_waiting; i++)
		best = better(s, best, c->rt.waiting[i], cookie);
	best = better(s, best, c->q.curr, cookie);
	for (uint32_t i = 0; i < c->q.nr_waiting; i++)
		best = better(s, best, c->q.waiting[i], cookie);
	return best;
}

/* A task of the core's cookie that waits on another core, for a thread that idles by force. */
static struct sim_task *to_steal(struct sim *s, uint32_t cpu, uint32_t from)
{
	const struct sim_cpu *c = &s->cpu[cpu], *f = &s->cpu[from];
	uint32_t cookie = s->core[c->core].cookie;

	for (uint32_t i = 0; i < f->q.nr_waiting; i++) {
		struct sim_task *t = &s->task[f->q.waiting[i]->task];

		if (!t->e.delayed && cookie_of(s, t) == cookie && wi_mask_test(t->allowed, cpu) &&
		    t->occupation <= c->occupation)
			return t;
	}
	return NULL;
}

static void steal(struct sim *s, uint32_t cpu)
{
	struct sim_cpu *c = &s->cpu[cpu];

	if (!s->core[c->core].cookie || s->o.balance == WI_BALANCE_OFF || c->stole_ns == s->now_ns + 1)
		return;
	for (uint32_t scope = WAKEIF_CORE; scope < WAKEIF_NR_SCOPES; scope++) {
		const wakeif_word *span = s->topo->span[scope][s->topo->group[scope][cpu]];

		for (uint32_t n = 0, i = cpu; n < s->topo->nr_cpus; n++) {
			i = i + 1 == s->topo->nr_cpus ? 0 : i + 1;
			if (i == cpu || !wi_mask_test(span, i) || !s->cpu[i].q.nr_waiting ||
			    (s->cpu[i].curr == NONE && s->cpu[i].resched))
				continue;
			struct sim_task *t = to_steal(s, cpu, i);

			if (!t)
				continue;
			s_pull(s, t, cpu);
			s->result->newidle_moves++;
			c->stole_ns = s->now_ns + 1; /* once an instant */
			c->resched = true;
			s_push(s, s->now_ns, EV_SWITCH, cpu, c->switch_gen);
			return;
		}
	}
}

/* What a thread runs now. */
static void obey(struct sim *s, uint32_t cpu, uint32_t prev, struct sim_task *t, bool forced, bool woken)
{
	struct sim_cpu *c = &s->cpu[cpu];

	s_switch_to(s, cpu, prev, t, woken);
	if (c->forced != forced)
		wi_tally_cpu(s->tally, s->now_ns, cpu, c->curr != NONE, forced);
	c->forced = forced;
}

static void obey_sibling(struct sim *s, uint32_t cpu, struct sim_task *t, bool forced)
{
	struct sim_cpu *c = &s->cpu[cpu];

	if (c->curr == NONE && c->resched && t) /* its own start is under way */
		return;
	if (t ? c->curr != s_number(s, t) : c->curr != NONE) {
		wi_tally_ipi(s->tally, s->now_ns);
		c->resched = false;
		c->switch_gen++;
	}
	obey(s, cpu, c->curr, t, forced, true);
}

void s_core_schedule(struct sim *s, uint32_t cpu, uint32_t prev, struct sim_task *own, bool woken)
{
	struct sim_core *core = &s->core[s->cpu[cpu].core];
	struct sim_task *cand[MAX_THREADS] = { own }, *max = own;
	uint32_t thread[MAX_THREADS] = { cpu }, nr = 1, occupation = 0;
	bool forced_before = core->nr_forced, forced[MAX_THREADS];

	if (!core->cookie && !core->nr_forced && own && !cookie_of(s, own)) {
		obey(s, cpu, prev, own, false, woken);
		return;
	}
	for (int round = 0; round < 2; round++) /* the siblings from cpu on, and around */
		for_each_thread(i, s, cpu) if ((round ? i < cpu : i > cpu) && nr < MAX_THREADS)
		{
			s_account(s, i);
			thread[nr] = i;
			cand[nr] = s_pick(s, i);
			if (cand[nr] && (!max || less(s, max, cand[nr], forced_before)))
				max = cand[nr];
			nr++;
		}
	core->cookie = max ? cookie_of(s, max) : 0;
	core->nr_forced = 0;
	for (uint32_t k = 0; k < nr; k++) {
		struct sim_task *t = cand[k];

		if (t && cookie_of(s, t) != core->cookie)
			t = core->cookie ? find(s, thread[k], core->cookie) : NULL;
		forced[k] = cand[k] && !t;
		core->nr_forced += forced[k];
		occupation += t != NULL;
		cand[k] = t;
	}
	core->seq += core->nr_forced && !forced_before;
	for (uint32_t k = 0; k < nr; k++) {
		*(cand[k] ? &cand[k]->occupation : &s->cpu[thread[k]].occupation) = occupation;
		if (cand[k] && !s_is_rt(cand[k]) && !(forced_before && core->nr_forced))
			snapshot(s, thread[k], core->nr_forced);
	}
	for (uint32_t k = nr - 1; k > 0; k--) /* who has to go goes before anybody comes */
		if (!cand[k])
			obey_sibling(s, thread[k], NULL, forced[k]);
	for (uint32_t k = nr - 1; k > 0; k--)
		if (cand[k])
			obey_sibling(s, thread[k], cand[k], false);
	obey(s, cpu, prev, cand[0], forced[0], woken);
	s_core_vruntime(s, cpu);
	for (uint32_t k = 0; k < nr; k++)
		if (forced[k])
			steal(s, thread[k]);
}

/* ---- elsewhere ---- */

/* A queue of one that runs beside a thread which idles by force: has it run for long enough? */
bool s_core_tick(struct sim *s, uint32_t cpu)
{
	const struct sim_cpu *c = &s->cpu[cpu];
	const struct wi_entity *e = c->q.curr;
	uint64_t slice_ns = s->fair == &wi_cfs_ops ? s->params.latency_ns
			    : e && e->slice_ns	   ? e->slice_ns
						   : s->params.base_slice_ns;

	if (!e || c->q.nr != 1 || !s->core[c->core].nr_forced)
		return false;
	switch (s->o.core_sched) {
	case WI_CORE_SCHED_MAINLINE:
		return e->ran_ns * 2 > slice_ns;
	case WI_CORE_SCHED_CSC_STALLFIX:
	case WI_CORE_SCHED_CSC_TIM:
	case WI_CORE_SCHED_CSC_VRUNTIME:
		return e->ran_ns > slice_ns;
	default:
		return false;
	}
}

/* sched_core_cookie_match(): an idle core takes any cookie. */
bool s_core_fits(const struct sim *s, uint32_t cpu, const struct sim_task *t)
{
	bool idle = true;

	if (!s_core_scheds(s))
		return true;
	for_each_thread(i, s, cpu) idle &= wi_mask_test(s->idle, i);
	return idle || s->core[s->cpu[cpu].core].cookie == cookie_of(s, t);
}
