/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Raw tapes to a workload, when all wakes are known: which wakes are a task's own doing and which come from outside,
 * which blocks and wakes share a counter, which soft edges hold.
 */
#include <string.h>

#include "analyzer/base/cookie_map.h"
#include "analyzer/workload/extract_priv.h"

/* ---- a map from pairs of numbers to a number ---- */

struct pair {
	uint64_t key; /* plus 1; 0: free */
	uint32_t value;
};

struct pairs {
	struct pair *at;
	size_t nr, room;
};

static uint64_t pair_key(uint32_t a, uint32_t b)
{
	return ((uint64_t)a << 32 | b) + 1;
}

static struct pair *pair_place(const struct pairs *m, uint64_t key)
{
	size_t i = (key * 0x9e3779b97f4a7c15ull >> 32) & (m->room - 1);

	while (m->at[i].key && m->at[i].key != key)
		i = (i + 1) & (m->room - 1);
	return &m->at[i];
}

static bool pairs_grow(struct pairs *m)
{
	struct pairs bigger = { .room = m->room ? m->room * 2 : 64 };

	bigger.at = calloc(bigger.room, sizeof(*bigger.at));
	if (!bigger.at)
		return false;
	for (size_t i = 0; i < m->room; i++)
		if (m->at[i].key)
			*pair_place(&bigger, m->at[i].key) = m->at[i];
	bigger.nr = m->nr;
	free(m->at);
	*m = bigger;
	return true;
}

/* The value's place; *fresh: it was not there. NULL: out of memory. */
static uint32_t *pairs_get(struct pairs *m, uint32_t a, uint32_t b, bool *fresh)
{
	if (m->nr * 2 >= m->room && !pairs_grow(m))
		return NULL;
	struct pair *p = pair_place(m, pair_key(a, b));

	*fresh = !p->key;
	m->nr += *fresh;
	p->key = pair_key(a, b);
	return &p->value;
}

/* ---- what the end works with ---- */

struct softirqs {
	uint32_t all, interrupt_task;
};

struct finish {
	struct wi_extract *x;
	struct wi_work_builder *b;
	struct softirqs *softirq; /* by wakee */
	uint32_t *nr_woken;	  /* by wakee: by tasks */
	struct pairs counters;	  /* wakee, group -> counter */
	struct pairs woke;	  /* waker, wakee -> times */
	uint64_t last_length_ns;  /* of the task's last sleep that a hardirq ended; 0 none */
	uint32_t last_sleep;
	bool failed;
};

/* A softirq belongs to the task that it interrupts where most of the wakee's do interrupt one: loopback traffic. */
#define SOFTIRQ_OWN_PERCENT 60

static bool internal(const struct finish *f, const struct wake *k)
{
	if (!k->on_tape || k->waker == k->wakee)
		return false;
	if (k->context != WAKEIF_CTX_SOFTIRQ)
		return true;
	const struct softirqs *s = &f->softirq[k->wakee];

	return !f->x->opt.softirq_external &&
	       (uint64_t)s->interrupt_task * 100 >= (uint64_t)s->all * SOFTIRQ_OWN_PERCENT;
}

static void count_softirqs(struct finish *f)
{
	for (uint32_t i = 0; i < f->x->wake.nr; i++) {
		const struct wake *k = x_wake(f->x, i);

		if (k->context != WAKEIF_CTX_SOFTIRQ)
			continue;
		f->softirq[k->wakee].all++;
		f->softirq[k->wakee].interrupt_task += k->waker != NONE;
	}
}

static void count_class(struct finish *f, const struct wake *k)
{
	struct wi_work_facts *n = &f->x->facts;

	n->onrq += k->class_ == WAKEIF_ONRQ;
	if (k->fate != WAKE_ENDED_BLOCK)
		return;
	n->wakes++;
	n->oncpu += k->class_ == WAKEIF_ONCPU;
	n->unknown += k->waker == NONE && k->context != WAKEIF_CTX_HARDIRQ && k->context != WAKEIF_CTX_SOFTIRQ &&
		      k->context != WAKEIF_CTX_IDLE;
	if (internal(f, k)) {
		n->internal++;
		n->sync += !!(k->noise.flags & WI_WAKE_SYNC);
		n->sync_unknown += !(k->noise.flags & WI_WAKE_SYNC_KNOWN);
		n->softirq += k->context == WAKEIF_CTX_SOFTIRQ;
	} else {
		n->external++;
	}
}

/* Who wakes whom how often, and the noise to draw from. */
static void count_wakes(struct finish *f)
{
	for (uint32_t i = 0; i < f->x->wake.nr; i++) {
		struct wake *k = x_wake(f->x, i);
		bool fresh;

		k->noise.flags |= k->class_ == WAKEIF_ONCPU ? WI_WAKE_ONCPU : 0;
		k->noise.flags |= k->class_ == WAKEIF_PINNED || k->class_ == WAKEIF_SELF ? WI_WAKE_STAYS : 0;
		count_class(f, k);
		if (k->noise.transit != WI_NOISE_UNKNOWN && k->fate == WAKE_ENDED_BLOCK && k->class_ != WAKEIF_ONCPU)
			wi_work_add_noise(f->b, &k->noise);
		if (k->fate != WAKE_ENDED_BLOCK || !internal(f, k))
			continue;
		f->nr_woken[k->wakee]++;
		uint32_t *times = pairs_get(&f->woke, k->waker, k->wakee, &fresh);
		if (!times) {
			f->failed = true;
			return;
		}
		*times = fresh ? 1 : *times + 1;
	}
}

static int by_ns(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/* Fewer wakes than that say nothing of how long a task is on its way out; so rare, the case need not be modelled. */
#define MIN_ONCPU 10

/*
 * Mean length of the way out, from what was left of it when a wake came, sorted. Long ways catch more wakes, so the
 * mean of what was left is no guide; but the density of what was left, at 0, is one over the mean length. A tenth lies
 * below the first decile, where the density is still about that.
 */
static uint64_t way_out(const uint64_t *ns, size_t nr)
{
	return ns[nr / 10] * 10;
}

/* How long before its switch-out a task is committed to sleep, from the wakes that came in between. */
static void find_commit(struct finish *f)
{
	uint64_t *ns = malloc((f->x->wake.nr + 1) * sizeof(*ns));
	size_t nr = 0;

	if (!ns) {
		f->failed = true;
		return;
	}
	for (uint32_t i = 0; i < f->x->wake.nr; i++) {
		const struct wake *k = x_wake(f->x, i);

		if (k->oncpu_ns && k->class_ == WAKEIF_ONCPU && k->fate == WAKE_ENDED_BLOCK)
			ns[nr++] = k->oncpu_ns;
	}
	qsort(ns, nr, sizeof(*ns), by_ns);
	f->x->facts.commit_ns = nr >= MIN_ONCPU ? way_out(ns, nr) : 0;
	free(ns);
}

/* ---- one tape ---- */

static uint32_t counter_of(struct finish *f, const struct wake *k, uint32_t wake)
{
	uint32_t group = f->x->opt.edge == WI_EDGE_STRICT ? wake : f->x->opt.edge == WI_EDGE_ANY ? 0 : k->waker_comm;
	bool fresh;
	uint32_t *counter = pairs_get(&f->counters, k->wakee, group, &fresh);

	if (!counter) {
		f->failed = true;
		return 0;
	}
	if (fresh)
		*counter = wi_work_add_counter(f->b, k->wakee);
	return *counter;
}

/* Lengths that repeat to a sixteenth are a timer's. */
static bool repeats(uint64_t a_ns, uint64_t b_ns)
{
	uint64_t apart = a_ns > b_ns ? a_ns - b_ns : b_ns - a_ns;

	return b_ns && apart <= b_ns / 16;
}

static void add_sleep(struct finish *f, uint32_t task, uint32_t work_ns, uint32_t wake)
{
	struct wi_work_sleep s = { .waker_cpu = WI_WORK_NONE, .context = WAKEIF_CTX_UNKNOWN };

	s.wake.gap = s.wake.transit = s.wake.start = WI_NOISE_UNKNOWN;
	if (wake != NO_WAKE) {
		const struct wake *k = x_wake(f->x, wake);

		s.length_ns = k->wake_ns > k->block_ns ? k->wake_ns - k->block_ns : 0;
		s.wake_ns = k->wake_ns - f->x->from_ns;
		s.waker_cpu = k->waker_cpu;
		s.context = k->context;
		s.on_own_cpu = k->waker_cpu == k->slept_cpu;
		s.wake = k->noise;
		if (k->context == WAKEIF_CTX_HARDIRQ || k->context == WAKEIF_CTX_IDLE) {
			s.timer = repeats(s.length_ns, f->last_length_ns);
			if (s.timer && f->last_sleep != NONE)
				wi_work_sleep(f->b, f->last_sleep)->timer = true;
			f->last_length_ns = s.length_ns;
		}
	}
	uint32_t nr = wi_work_add_sleep(f->b, &s);

	if (wake != NO_WAKE && f->last_length_ns == s.length_ns)
		f->last_sleep = nr;
	wi_work_add_op(f->b, task, (struct wi_op){ .work_ns = work_ns, .kind = WI_OP_SLEEP, .target = nr });
}

static uint64_t times_woken(struct finish *f, uint32_t waker, uint32_t wakee)
{
	bool fresh;
	uint32_t *times = pairs_get(&f->woke, waker, wakee, &fresh);

	f->failed |= !times;
	if (times && fresh)
		*times = 0;
	return times ? *times : 0;
}

/* A task that others wait for wakes them often: at least a twentieth of their wakeups and of how often they wake it. */
static bool answers(struct finish *f, const struct order *o)
{
	uint64_t times = times_woken(f, o->first, o->waits);

	return times && times * 20 >= f->nr_woken[o->waits] && times * 20 >= times_woken(f, o->waits, o->first);
}

/* Turns one raw op into its last form. false: it leaves the tape, its work goes to the next one. */
static bool turn(struct finish *f, uint32_t task, const struct wi_op *raw, uint32_t work_ns)
{
	struct wi_extract *x = f->x;
	struct wi_op op = *raw;

	op.work_ns = work_ns;
	if (raw->kind == WI_OP_WAKE) {
		const struct wake *k = x_wake(x, raw->target);

		if (k->fate != WAKE_ENDED_BLOCK || !internal(f, k))
			return false;
		op.target = counter_of(f, k, raw->target);
		op.wake = k->noise;
	} else if (raw->kind == WI_OP_FORK) {
		const struct wake *k = x_wake(x, raw->target);
		struct xtask *child = x_task(x, k->wakee);

		/* A number is born again without an end on record, or twice: who lives already stays as he is. */
		if (child->about.start != WI_START_UNBORN || child->forked)
			return false;
		child->forked = true;
		op.target = k->wakee;
		op.wake = k->noise;
	} else if (raw->kind == WI_OP_BLOCK) {
		const struct wake *k = raw->target != NO_WAKE ? x_wake(x, raw->target) : NULL;

		if (!k || !internal(f, k)) {
			add_sleep(f, task, work_ns, raw->target);
			return true;
		}
		op.target = counter_of(f, k, raw->target);
	} else if (raw->kind == WI_OP_ORDER) {
		const struct order *o = (const struct order *)x->order.at + raw->target;
		if (!answers(f, o))
			return false;
		op.target = wi_work_add_order(f->b, o->first, o->nr_blocks);
		x->facts.orders++;
	}
	wi_work_add_op(f->b, task, op);
	return true;
}

static void turn_tape(struct finish *f, uint32_t task)
{
	struct xtask *t = x_task(f->x, task);
	uint64_t carry_ns = 0;

	f->last_length_ns = 0;
	f->last_sleep = NONE;
	for (size_t i = 0; i < t->nr_ops && !f->failed; i++) {
		uint64_t work_ns = carry_ns + t->ops[i].work_ns;

		carry_ns = 0;
		if (work_ns > UINT32_MAX) {
			wi_work_add_op(f->b, task, (struct wi_op){ .kind = WI_OP_RUN, .value = work_ns });
			work_ns = 0;
		}
		if (!turn(f, task, &t->ops[i], (uint32_t)work_ns))
			carry_ns = work_ns;
	}
	free(t->ops);
	t->ops = NULL;
	t->nr_ops = t->room = 0;
}

/* What a task did when the window ended, and who it is. */
static void end_tape(struct wi_extract *x, struct xtask *t)
{
	if (!t->seen) { /* named by others only: nothing of it is known but that it did not run */
		t->about.start = WI_START_BLOCKED;
		t->about.cpu = t->cpu;
		wi_extract_put(x, t, (struct wi_op){ .kind = WI_OP_BLOCK, .target = NO_WAKE });
	}
	if (!t->nr_ops || t->ops[t->nr_ops - 1].kind != WI_OP_EXIT)
		wi_extract_put(x, t, (struct wi_op){ .kind = WI_OP_END });
	t->about.comm = t->comm != WI_NAME_NONE ? wi_names_get(x->opt.names, t->comm) : "";
	t->about.kthread = wi_is_kernel_thread(t->about.pid, t->about.comm);
	if (t->about.prio == WI_PRIO_UNKNOWN)
		t->about.prio = 120;
	if (t->about.cpu >= x->opt.topology->nr_cpus)
		t->about.cpu = WI_WORK_NONE;
	t->about.born_unseen = t->about.start == WI_START_UNBORN && !t->fork_seen;
	x->facts.forks += t->fork_seen;
	x->facts.births += t->about.born_unseen;
}

static struct wi_workload *build(struct finish *f, uint64_t end_ns, struct wi_err *err)
{
	struct wi_extract *x = f->x;
	const struct wi_timeline_quality *q = wi_timeline_quality(x->tl);
	struct wi_work_machine m = { .kernel = x->opt.kernel,
				     .hz = x->opt.hz,
				     .window_ns = end_ns > x->from_ns ? end_ns - x->from_ns : 0,
				     .smt_speed = x->opt.smt_speed,
				     .host_cpus = x->opt.host_cpus,
				     .edge = (uint8_t)x->opt.edge,
				     .topology = x->opt.topology,
				     .lost_events = q->lost_events,
				     .lost_marks = q->lost_marks };

	for (uint32_t i = 0; i < x->task.nr; i++) {
		end_tape(x, x_task(x, i));
		wi_work_add_task(f->b, &x_task(x, i)->about);
		x->facts.tape_ns += x_task(x, i)->about.ran_ns;
	}
	count_softirqs(f);
	count_wakes(f);
	find_commit(f);
	for (uint32_t i = 0; i < x->task.nr && !f->failed; i++)
		turn_tape(f, i);
	for (uint32_t i = 0; wi_work_sleep(f->b, i); i++)
		x->facts.timers += wi_work_sleep(f->b, i)->timer;
	for (uint32_t i = 0; i < WI_NR_EVENT_TYPES; i++)
		x->facts.events += i == WI_EV_OTHER || i == WI_EV_LOST || i == WI_EV_MARKER ? 0 : q->events[i];
	if (f->failed || x->failed) {
		wi_err_nomem(err);
		return NULL;
	}
	x->builder = NULL;
	return wi_work_build(f->b, &m, &x->facts, err);
}

struct wi_workload *wi_extract_finish(struct wi_extract *x, struct wi_err *err)
{
	uint64_t end_ns = wi_timeline_quality(x->tl)->window_end_ns;
	struct finish f = { .x = x, .b = x->builder };
	struct wi_workload *w = NULL;

	if (end_ns > x->opt.to_ns)
		end_ns = x->opt.to_ns;
	if (!x->over)
		wi_extract_count_to(x, end_ns);
	f.softirq = calloc(x->task.nr + 1, sizeof(*f.softirq));
	f.nr_woken = calloc(x->task.nr + 1, sizeof(*f.nr_woken));
	if (f.softirq && f.nr_woken)
		w = build(&f, end_ns, err);
	else
		wi_err_nomem(err);
	free(f.softirq);
	free(f.nr_woken);
	free(f.counters.at);
	free(f.woke.at);
	return w;
}
