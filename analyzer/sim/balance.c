/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Tasks that wait beside an idle CPU are taken there: by a CPU that is about to idle, by idle CPUs at the tick, by busy
 * ones where the queues differ. After the essentials of 6.1's rules (doc/simulate.md); distances from near to far.
 */
#include <stdlib.h>

#include "analyzer/sim/machine.h"

#define MIGRATION_COST_NS 500000u
#define LOOP_MAX 32u

/* Failures after which warm caches do not count: cache_nice_tries of SMT, of what shares a cache, of nodes. */
static uint32_t nice_tries(const struct wakeif_domain *sd)
{
	return sd->flags & WAKEIF_SD_SHARE_CPUCAPACITY ? 0 : sd->flags & WAKEIF_SD_NUMA ? 2 : 1;
}

/* It ran here a moment ago: its cache is warm; or its cookie is not that of the core. Between the threads of a core
 * that costs nothing. */
static bool hot(const struct sim *s, const struct sim_task *t, uint32_t to, const struct wakeif_domain *sd)
{
	if (sd->flags & WAKEIF_SD_SHARE_CPUCAPACITY)
		return false;
	if (!s_core_fits(s, to, t))
		return true;
	return t->ran_until_ns && s->now_ns - t->ran_until_ns < MIGRATION_COST_NS * s->params.scale;
}

void s_pull(struct sim *s, struct sim_task *t, uint32_t to)
{
	uint32_t from = t->cpu;

	s_account(s, from);
	s->fair->detach(&s->cpu[from].q, &t->e);
	wi_queue_remove(&s->cpu[from].q, &t->e);
	wi_tally_wait(s->tally, s->now_ns, from, -1);
	wi_tally_moved(s->tally, s->now_ns, from, to, false);
	s_sink_migrate(s, t, from, to);
	t->cpu = to;
	s_tell_task(s, t, WAKEIF_TASK_MOVED, 0, to, from);
	s_view_cpu(s, from);
	s_account(s, to);
	s->fair->place(&s->cpu[to].q, &t->e, false, false);
	s->failed |= !wi_queue_add(&s->cpu[to].q, &t->e);
	wi_tally_wait(s->tally, s->now_ns, to, 1);
	s_view_cpu(s, to);
}

static bool may_move(const struct sim *s, const struct sim_task *t, uint32_t to, const struct wakeif_domain *sd,
		     uint32_t failed)
{
	return !t->e.delayed && wi_mask_test(t->allowed, to) && (failed > nice_tries(sd) || !hot(s, t, to, sd));
}

/* One that waits on `from` and may run on `to`, least recently run or queued first; NULL: none. */
static struct sim_task *movable(struct sim *s, uint32_t from, uint32_t to, const struct wakeif_domain *sd,
				uint32_t failed)
{
	const struct wi_queue *q = &s->cpu[from].q;
	struct sim_task *best = NULL;

	for (uint32_t i = q->nr_waiting, seen = 0; i-- > 0 && seen < LOOP_MAX; seen++) {
		struct sim_task *t = &s->task[q->waiting[i]->task];

		if (may_move(s, t, to, sd, failed) && (!best || t->touched < best->touched))
			best = t;
	}
	return best;
}

/* Takes what should move; the number of tasks. One: at most one. */
static uint32_t take(struct sim *s, uint32_t from, uint32_t cpu, const struct wakeif_domain *sd, uint32_t failed,
		     bool idle, bool one, enum sim_move kind, uint64_t amount)
{
	uint32_t nr = 0;

	while (amount && s->view_cpu[from].nr_cfs > (idle ? 1u : 0u) && nr < LOOP_MAX) {
		struct sim_task *t = movable(s, from, cpu, sd, failed);
		uint64_t part = !t			 ? 0
				: kind == SIM_MOVE_TASKS ? 1
				: kind == SIM_MOVE_LOAD	 ? t->e.weight >> (failed < 16 ? failed : 16)
							 : 1024 / s->view_cpu[from].nr_cfs;

		if (!t || (kind != SIM_MOVE_TASKS && part > amount))
			break;
		s_pull(s, t, cpu);
		nr++;
		if (one)
			break;
		amount -= part < amount ? part : amount;
	}
	return nr;
}

/* ---- before a CPU idles ---- */

/* A CPU's idle time is remembered as an average, at most twice what a look costs, so that long ones weigh no more. */
void s_idle_ended(struct sim *s, uint32_t cpu, bool woken)
{
	struct sim_cpu *c = &s->cpu[cpu];
	uint64_t idle_ns = s->now_ns - c->idle_since_ns, most = MIGRATION_COST_NS * s->params.scale;

	if (!woken) /* by what it has taken from others */
		return;
	if (most < s->newidle_cost_ns)
		most = s->newidle_cost_ns;
	most *= 2;
	c->avg_idle_ns += (uint64_t)(((int64_t)idle_ns - (int64_t)c->avg_idle_ns) / 8);
	if (c->avg_idle_ns > most)
		c->avg_idle_ns = most;
}

/*
 * The kernel remembers the longest that a look at a domain has taken, at least 5 us here. That is not on record;
 * a placement decision looks at about as many CPUs, and those are: the longest that one CPU of many meets.
 */
#define DEFAULT_COST_NS 5000u

static int by_ns(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

bool s_balance_begin(struct sim *s)
{
	const struct wi_workload *w = s->w;
	uint64_t *ns;
	size_t nr = 0, room = 1, cpus = w->topology->nr_cpus;

	for (uint32_t k = 0; k < WI_NR_WAKE_KINDS; k++)
		room += w->draw[k].nr;
	ns = malloc(room * sizeof(*ns));
	if (!ns)
		return false;
	for (uint32_t k = 0; k < WI_NR_WAKE_KINDS; k++)
		for (uint32_t i = 0; i < w->draw[k].nr; i++)
			if (w->draw[k].noise[i].gap != WI_NOISE_UNKNOWN)
				ns[nr++] = wi_noise_decode(w->draw[k].noise[i].gap);
	qsort(ns, nr, sizeof(*ns), by_ns);
	s->newidle_cost_ns = nr > cpus && s->o.noise != WI_NOISE_NONE ? ns[nr - cpus] : DEFAULT_COST_NS;
	if (s->newidle_cost_ns < DEFAULT_COST_NS)
		s->newidle_cost_ns = DEFAULT_COST_NS;
	s->newidle_cost_ns *= s->params.scale;
	for (uint32_t c = 0; c < s->topo->nr_cpus; c++)
		for (uint32_t d = 0; d < SIM_DOMAINS; d++)
			s->cpu[c].domain[d].newidle = (struct sim_newidle){ 512, 256, 512 };
	free(ns);
	return true;
}

/* Kernels of late look in proportion to how often a look has found something. true: look. */
static bool dice(struct sim *s, uint32_t cpu, uint32_t d)
{
	const struct sim_newidle *n = &s->cpu[cpu].domain[d].newidle;

	return s_hash(s, cpu << 4 | d, s->seq, 13) % 1024 <= n->ratio + 1u;
}

static void learn(struct sim_newidle *n, uint32_t found)
{
	n->found += found;
	if (++n->tries < 1024)
		return;
	n->ratio = n->found < 1024 ? n->found : 1024;
	n->tries /= 2;
	n->found /= 2;
}

static uint32_t nr_levels(const struct sim *s, uint32_t cpu)
{
	return s->topo->nr_domains[cpu] < SIM_DOMAINS ? s->topo->nr_domains[cpu] : SIM_DOMAINS;
}

/* Of the domain the CPU where most wait beside one that runs. */
static uint32_t longest(const struct sim *s, const struct wakeif_domain *sd, uint32_t cpu)
{
	uint32_t best = NONE, most = 1;

	for (uint32_t c = wi_mask_next(sd->span, s->topo->nr_words, 0); c != UINT32_MAX;
	     c = wi_mask_next(sd->span, s->topo->nr_words, c + 1))
		if (c != cpu && s->cpu[c].online && s->view_cpu[c].nr_cfs > most) {
			most = s->view_cpu[c].nr_cfs;
			best = c;
		}
	return best;
}

bool s_newidle(struct sim *s, uint32_t cpu)
{
	struct sim_cpu *c = &s->cpu[cpu];
	uint64_t cost_ns = 0;
	bool always = s->o.pick == WI_PICK_FIFO; /* as queueing theory has it: nobody waits beside an idle CPU */

	if (!s->nr_overloaded || c->pending)
		return false;
	for (uint32_t level = 0; level < nr_levels(s, cpu); level++) {
		const struct wakeif_domain *sd = &s->topo->domains[cpu][level];
		struct sim_newidle *n = &c->domain[level].newidle;
		enum sim_move kind;
		uint64_t amount;

		if (!(sd->flags & WAKEIF_SD_BALANCE_NEWIDLE) && !always)
			continue;
		cost_ns += s->newidle_cost_ns;
		if (c->avg_idle_ns < cost_ns && !always)
			break;
		if (!always && !dice(s, cpu, level)) {
			learn(n, 0);
			continue;
		}
		uint32_t weight = 1 + n->ratio;
		uint32_t from = always ? longest(s, sd, cpu) : s_find_busiest(s, cpu, level, true, &kind, &amount);
		bool pulled = from != NONE && take(s, from, cpu, sd, always ? UINT32_MAX : c->domain[level].failed,
						   true, true, always ? SIM_MOVE_TASKS : kind, always ? 1 : amount);

		learn(n, pulled ? (1024 + weight / 2) / weight : 0);
		if (pulled) {
			s->result->newidle_moves++;
			return true;
		}
	}
	return false;
}

/* ---- at the tick ---- */

/* The task that runs on `from` is taken off it and queued on `to`. */
void s_push_running(struct sim *s, uint32_t from, uint32_t to)
{
	struct sim_task *t = &s->task[s->cpu[from].curr];

	s_account(s, from);
	t->state = S_BLOCKED; /* as far as its CPU is concerned */
	t->moves = true;
	s_schedule(s, from);
	t->moves = false;
	s->fair->detach(&s->cpu[from].q, &t->e);
	wi_tally_moved(s->tally, s->now_ns, from, to, false);
	s_sink_migrate(s, t, from, to);
	s_tell_task(s, t, WAKEIF_TASK_MOVED, 0, to, from);
	t->kind = WI_WAKE_REMOTE;
	t->noise = s_no_noise;
	if (s_queue_on(s, s_number(s, t), to, false, false))
		s_check_preempt(s, s_number(s, t));
	s->result->active_moves++;
}

/* Busy CPUs look this much more seldom. */
#define BUSY_FACTOR 16u

static uint64_t interval_ns(const struct sim *s, uint64_t base_ns, bool busy)
{
	uint64_t ns = busy ? base_ns * BUSY_FACTOR : base_ns, most = s->tick_ns * (s->o.hz * s->params.nr_cpus / 10);

	if (busy)
		ns = ns > s->tick_ns ? ns - s->tick_ns : 0;
	return ns > most && most ? most : ns;
}

static bool look(struct sim *s, uint32_t cpu, uint32_t level, bool idle)
{
	const struct wakeif_domain *sd = &s->topo->domains[cpu][level];
	struct sim_domain *d = &s->cpu[cpu].domain[level];
	uint64_t least_ns = 1000000ull * sd->weight * s->params.scale, amount;
	enum sim_move kind;
	uint32_t from = s_find_busiest(s, cpu, level, idle, &kind, &amount), moved;

	if (from == NONE) {
		d->failed = 0;
		d->interval_ns = d->interval_ns < 2 * least_ns ? 2 * d->interval_ns : d->interval_ns;
		return false;
	}
	d->interval_ns = least_ns;
	moved = s->view_cpu[from].nr_cfs > 1 ? take(s, from, cpu, sd, d->failed, idle, false, kind, amount) : 0;
	s->result->balance_moves += moved;
	if (moved) {
		d->failed = 0;
		if (idle)
			s_schedule(s, cpu);
		return true;
	}
	const struct sim_task *t = s->cpu[from].curr != NONE ? &s->task[s->cpu[from].curr] : NULL;

	if (++d->failed <= nice_tries(sd) + 2 || kind != SIM_MOVE_TASKS || !t || s_is_rt(t) || t->stalls ||
	    !wi_mask_test(t->allowed, cpu))
		return false;
	d->failed = nice_tries(sd) + 1;
	s_push_running(s, from, cpu);
	return true;
}

void s_balance(struct sim *s, uint32_t cpu)
{
	struct sim_cpu *c = &s->cpu[cpu];
	bool idle = c->curr == NONE && !c->pending && !c->resched && !s->view_cpu[cpu].nr_running;

	if (idle && (s->o.power_mc || s->o.power_smt)) {
		s_save_power(s, cpu);
		idle = c->curr == NONE && !c->resched;
	}
	if (!s->nr_overloaded && (s->nr_busy < 2 || !idle))
		return;
	bool busy = !idle && !wi_mask_test(s->sched_idle_only, cpu);

	for (uint32_t level = 0; level < nr_levels(s, cpu); level++) {
		struct sim_domain *d = &c->domain[level];
		uint64_t weight_ns = 1000000ull * s->topo->domains[cpu][level].weight * s->params.scale;

		d->interval_ns = d->interval_ns ? d->interval_ns : weight_ns;
		if (s->now_ns < d->last_ns + interval_ns(s, d->interval_ns, busy))
			continue;
		d->last_ns = s->now_ns;
		if (!s_looks_for_group(s, cpu, level)) {
			d->interval_ns = d->interval_ns < 2 * weight_ns ? 2 * d->interval_ns : d->interval_ns;
			return;
		}
		if (look(s, cpu, level, idle) && idle)
			return;
	}
}
