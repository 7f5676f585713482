/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Tasks that wait beside an idle CPU are taken there: by a CPU that is about to idle, by idle CPUs at the tick, by busy
 * ones where the queues differ. After the essentials of 6.1's rules (doc/simulate.md); distances from near to far.
 */
#include <stdlib.h>

#include "analyzer/sim/machine.h"

#define MIGRATION_COST_NS 500000u
#define LOOP_MAX 32u

/* It ran here a moment ago: its cache is warm. Between the threads of a core that costs nothing. */
static bool hot(const struct sim *s, const struct sim_task *t, enum wakeif_scope scope)
{
	return scope > WAKEIF_CORE && s->now_ns - t->ran_until_ns < MIGRATION_COST_NS * s->params.scale &&
	       t->ran_until_ns;
}

static void pull(struct sim *s, struct sim_task *t, uint32_t to)
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

/* One that waits on `from` and may run on `to`, least recently run first; NULL: none. */
static struct sim_task *movable(struct sim *s, uint32_t from, uint32_t to, enum wakeif_scope scope, bool also_hot)
{
	const struct wi_queue *q = &s->cpu[from].q;

	for (uint32_t i = q->nr_waiting, seen = 0; i-- > 0 && seen < LOOP_MAX; seen++) {
		struct sim_task *t = &s->task[q->waiting[i]->task];

		if (!t->e.delayed && wi_mask_test(t->allowed, to) && (also_hot || !hot(s, t, scope)))
			return t;
	}
	return NULL;
}

/* The CPU of the scope's group with the most runnable tasks, more than one; NONE: none has. */
static uint32_t busiest(const struct sim *s, uint32_t cpu, enum wakeif_scope scope)
{
	const wakeif_word *span = s->topo->span[scope][s->topo->group[scope][cpu]];
	uint32_t best = NONE, most = 1;

	for (uint32_t c = wi_mask_next(span, s->topo->nr_words, 0); c != UINT32_MAX;
	     c = wi_mask_next(span, s->topo->nr_words, c + 1))
		if (c != cpu && s->cpu[c].online && s->view_cpu[c].nr_cfs > most && s->cpu[c].curr != NONE) {
			most = s->view_cpu[c].nr_cfs;
			best = c;
		}
	return best;
}

static bool same_group(const struct sim *s, uint32_t cpu, enum wakeif_scope a, enum wakeif_scope b)
{
	return wi_mask_equal(s->topo->span[a][s->topo->group[a][cpu]], s->topo->span[b][s->topo->group[b][cpu]],
			     s->topo->nr_words);
}

static bool pull_from(struct sim *s, uint32_t cpu, enum wakeif_scope scope, bool also_hot)
{
	uint32_t from = busiest(s, cpu, scope);
	struct sim_task *t = from != NONE ? movable(s, from, cpu, scope, also_hot) : NULL;

	if (t)
		pull(s, t, cpu);
	return t;
}

/* ---- before a CPU idles ---- */

/* A CPU's idle time is remembered as an average, at most twice the migration cost, so that long ones weigh no more. */
void s_idle_ended(struct sim *s, uint32_t cpu, bool woken)
{
	struct sim_cpu *c = &s->cpu[cpu];
	uint64_t idle_ns = s->now_ns - c->idle_since_ns, most = 2 * MIGRATION_COST_NS * s->params.scale;

	if (!woken) /* by what it has taken from others */
		return;
	c->avg_idle_ns += (uint64_t)(((int64_t)idle_ns - (int64_t)c->avg_idle_ns) / 8);
	if (c->avg_idle_ns > most)
		c->avg_idle_ns = most;
}

/*
 * The kernel remembers the longest that a look at a domain has taken, up to the migration cost. That is not on record;
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
	uint64_t *ns, most = MIGRATION_COST_NS;
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
	if (s->newidle_cost_ns > most)
		s->newidle_cost_ns = most;
	s->newidle_cost_ns *= s->params.scale;
	for (uint32_t c = 0; c < s->topo->nr_cpus; c++)
		for (uint32_t d = 0; d < SIM_DOMAINS; d++)
			s->cpu[c].newidle[d] = (struct sim_newidle){ 512, 256, 512 };
	free(ns);
	return true;
}

/* Kernels of late look in proportion to how often a look has found something. true: look. */
static bool dice(struct sim *s, uint32_t cpu, uint32_t d)
{
	const struct sim_newidle *n = &s->cpu[cpu].newidle[d];

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

bool s_newidle(struct sim *s, uint32_t cpu)
{
	struct sim_cpu *c = &s->cpu[cpu];
	uint64_t cost_ns = 0;
	bool always = s->o.pick == WI_PICK_FIFO; /* as queueing theory has it: nobody waits beside an idle CPU */

	if (!s->nr_overloaded || c->pending)
		return false;
	for (uint32_t scope = WAKEIF_CORE; scope < WAKEIF_NR_SCOPES; scope++) {
		struct sim_newidle *n = &c->newidle[scope];

		if (scope > WAKEIF_CORE && same_group(s, cpu, scope, scope - 1))
			continue;
		if (scope == WAKEIF_CORE && s->topo->smt < 2)
			continue;
		cost_ns += s->newidle_cost_ns;
		if (c->avg_idle_ns < cost_ns && !always)
			break;
		if (!always && !dice(s, cpu, scope)) {
			learn(n, 0);
			continue;
		}
		uint32_t weight = 1 + n->ratio;
		bool pulled = pull_from(s, cpu, (enum wakeif_scope)scope, false);

		learn(n, pulled ? (1024 + weight / 2) / weight : 0);
		if (pulled) {
			s->result->newidle_moves++;
			return true;
		}
	}
	return false;
}

/* ---- at the tick ---- */

static bool core_idle(const struct sim *s, uint32_t cpu)
{
	return !s->core_busy[s->cpu[cpu].core];
}

/* A CPU whose core runs two tasks while this whole core idles: NONE if there is none in the scope. */
static uint32_t crowded_core(const struct sim *s, uint32_t cpu, enum wakeif_scope scope)
{
	const wakeif_word *span = s->topo->span[scope][s->topo->group[scope][cpu]];

	for (uint32_t c = wi_mask_next(span, s->topo->nr_words, 0); c != UINT32_MAX;
	     c = wi_mask_next(span, s->topo->nr_words, c + 1)) {
		const struct sim_task *t = s->cpu[c].online && s->cpu[c].curr != NONE ? &s->task[s->cpu[c].curr] : NULL;

		if (t && s->core_busy[s->cpu[c].core] > 1 && !s_is_rt(t) && wi_mask_test(t->allowed, cpu))
			return c;
	}
	return NONE;
}

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
	t->noise = (struct wi_wake_noise){ WI_NOISE_UNKNOWN, WI_NOISE_UNKNOWN, WI_NOISE_UNKNOWN, 0, 0 };
	if (s_queue_on(s, s_number(s, t), to, false, false))
		s_check_preempt(s, s_number(s, t));
	s->result->active_moves++;
}

static void balance_idle(struct sim *s, uint32_t cpu)
{
	struct sim_cpu *c = &s->cpu[cpu];
	bool also_hot = c->failed_balances > 1;
	uint32_t from;

	for (uint32_t scope = WAKEIF_CORE; scope < WAKEIF_NR_SCOPES && s->nr_overloaded; scope++) {
		if (scope > WAKEIF_CORE && same_group(s, cpu, scope, scope - 1))
			continue;
		if (!pull_from(s, cpu, scope, also_hot))
			continue;
		s->result->balance_moves++;
		c->failed_balances = 0;
		s_schedule(s, cpu);
		return;
	}
	/* Saving power among the cores of a package, two tasks on a core are what is wanted. */
	from = core_idle(s, cpu) && !s->o.power_smt ? crowded_core(s, cpu, WAKEIF_LLC) : NONE;
	if (from == NONE) {
		c->failed_balances = 0;
		return;
	}
	if (++c->failed_balances > 3) { /* as cache_nice_tries + 2 of the domain above SMT */
		c->failed_balances = 0;
		s_push_running(s, from, cpu);
	}
}

/* Queues that differ by two or more meet half way. */
static void balance_busy(struct sim *s, uint32_t cpu)
{
	for (uint32_t scope = WAKEIF_CORE; scope < WAKEIF_NR_SCOPES; scope++) {
		uint32_t from = busiest(s, cpu, scope);

		if ((scope > WAKEIF_CORE && same_group(s, cpu, scope, scope - 1)) || from == NONE)
			continue;
		uint32_t more = s->view_cpu[from].nr_cfs, here = s->view_cpu[cpu].nr_cfs;

		for (uint32_t nr = more > here + 1 ? (more - here) / 2 : 0; nr; nr--) {
			struct sim_task *t = movable(s, from, cpu, (enum wakeif_scope)scope, false);

			if (!t)
				break;
			pull(s, t, cpu);
			s->result->balance_moves++;
		}
	}
}

/* Idle CPUs look at every tick, busy ones 16 (busy_factor) domain weights apart. */
#define BUSY_FACTOR 16u

void s_balance(struct sim *s, uint32_t cpu)
{
	struct sim_cpu *c = &s->cpu[cpu];

	if (c->curr == NONE && !c->pending && !c->resched) {
		if (s->o.power_mc || s->o.power_smt)
			s_save_power(s, cpu);
		if ((s->nr_overloaded || s->nr_busy > 1) && c->curr == NONE && !c->resched)
			balance_idle(s, cpu);
		return;
	}
	if (s->now_ns < c->next_balance_ns)
		return;
	c->next_balance_ns = s->now_ns + s->tick_ns / 4 * BUSY_FACTOR * s->topo->llc_size[cpu];
	if (s->nr_overloaded)
		balance_busy(s, cpu);
}
