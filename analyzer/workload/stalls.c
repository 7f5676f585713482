/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * CPUs of a guest that a host runs others in place of. No event tells; but a CPU that lets the moment pass at which the
 * scheduler's rules make it switch, and shows no sign of life until long after, cannot have run. Its task seems to work
 * in the meantime; what counts is that nobody can take its place.
 */
#include "analyzer/base/kernel.h"
#include "analyzer/workload/extract_priv.h"
#include "models/pelt.h"
#include "models/slices.h"

#define DEFAULT_HZ 250u
/* The longest that a CPU in good health takes from a request to switch to the switch. */
#define PREEMPTION_NS 1000000u

static uint32_t weight_of(const struct xtask *t)
{
	return wi_pelt_weight(t->prio, t->policy == WAKEIF_POLICY_IDLE);
}

static enum xrank rank_of(const struct xtask *t)
{
	return t->prio != WI_PRIO_UNKNOWN && t->prio < 100 ? RANK_RT
	       : t->policy == WAKEIF_POLICY_IDLE	   ? RANK_IDLE
							   : RANK_FAIR;
}

void wi_stall_waits(struct wi_extract *x, struct xtask *t, uint32_t cpu)
{
	struct xcpu *c;

	if (cpu != NONE && cpu >= x->opt.topology->nr_cpus)
		cpu = NONE;
	if (t->waits_on == cpu)
		return;
	if (t->waits_on != NONE) {
		c = &x->cpu[t->waits_on];
		for (uint32_t r = 0; r <= t->waits_rank; r++)
			c->waiting[r].nr--;
		c->weight -= t->waits_weight;
	}
	t->waits_on = cpu;
	if (cpu == NONE)
		return;
	c = &x->cpu[cpu];
	t->waits_weight = weight_of(t);
	t->waits_rank = (uint8_t)rank_of(t);
	c->weight += t->waits_weight;
	for (uint32_t r = 0; r <= t->waits_rank; r++)
		if (!c->waiting[r].nr++)
			c->waiting[r].since_ns = x->now_ns;
}

void wi_stall_runs(struct wi_extract *x, uint32_t cpu)
{
	x->cpu[cpu].acted_ns = x->cpu[cpu].run_ns = x->now_ns;
}

/* After so long, beside those that wait now, the tick calls for another task. */
static uint64_t slice_ns(const struct wi_extract *x, const struct xcpu *c, const struct xtask *t)
{
	uint32_t version = x->opt.kernel, nr = c->waiting[0].nr + 1;
	uint32_t cpus = wi_mask_weight(x->opt.topology->online, x->opt.topology->nr_words);
	uint64_t weight = weight_of(t), least = wi_slice_min_granularity_ns(version, cpus), period, ns;

	if (version >= WI_KERNEL(6, 6))
		return wi_slice_base_ns(version, cpus);
	period = wi_slice_latency_ns(version, cpus);
	if (nr * least > period)
		period = nr * least;
	ns = period * weight / (c->weight + weight);
	return ns > least ? ns : least;
}

static uint64_t later(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/* When the CPU has to have switched; UINT64_MAX: t may run on. */
static uint64_t due_ns(const struct wi_extract *x, const struct xcpu *c, const struct xtask *t)
{
	uint64_t tick_ns = 1000000000u / (x->opt.hz ? x->opt.hz : DEFAULT_HZ), due_ns = UINT64_MAX, urgent_ns;
	enum xrank rank = rank_of(t);

	if (rank == RANK_RT)
		return due_ns;
	if (c->waiting[0].nr)
		due_ns = later(c->run_ns + slice_ns(x, c, t), c->waiting[0].since_ns) + tick_ns;
	if (c->waiting[rank + 1].nr) {
		urgent_ns = later(c->run_ns, c->waiting[rank + 1].since_ns) + PREEMPTION_NS;
		due_ns = urgent_ns < due_ns ? urgent_ns : due_ns;
	}
	return due_ns;
}

/*
 * Where the stall began is not known. Until then the task was as quiet as it is wont to be: one that wakes somebody
 * every few microseconds was stopped at once, one that computes may have used its slice.
 */
static uint64_t began_ns(const struct xtask *t, uint64_t quiet_since_ns, uint64_t due_ns)
{
	uint64_t ns = t->nr_quiet ? quiet_since_ns + t->quiet_ns / t->nr_quiet : due_ns;

	return ns < due_ns ? ns : due_ns;
}

/* The last part of what t has done since its last operation was a stall. */
static void put_stall(struct wi_extract *x, struct xtask *t, uint64_t work)
{
	uint64_t all = t->work;

	t->work = all - work;
	wi_extract_put(x, t, (struct wi_op){ .kind = WI_OP_STALL });
	t->work += work;
	wi_extract_put(x, t, (struct wi_op){ .kind = WI_OP_RESUME });
}

void wi_stall_acts(struct wi_extract *x, uint32_t cpu)
{
	struct xcpu *c = &x->cpu[cpu];
	struct xtask *t = c->task != NONE ? x_task(x, c->task) : NULL;
	uint64_t since_ns = later(c->acted_ns, x->from_ns), due, from_ns, work;

	c->acted_ns = x->now_ns;
	if (!t || !x->begun || x->now_ns <= since_ns)
		return;
	due = later(due_ns(x, c, t), since_ns);
	if (x->now_ns <= due) {
		t->quiet_ns += x->now_ns - since_ns;
		t->nr_quiet++;
		return;
	}
	from_ns = began_ns(t, since_ns, due);
	wi_extract_count(x, cpu);
	work = (x->now_ns - from_ns) * wi_extract_speed(x, cpu, t);
	if (work > t->work)
		work = t->work;
	if (work < 1024)
		return;
	put_stall(x, t, work);
	x->facts.stalls++;
	x->facts.stalled_ns += x->now_ns - from_ns;
}
