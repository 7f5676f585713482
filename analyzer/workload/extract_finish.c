/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Raw tapes to a workload, when all wakes are known: which wakes are a task's own doing and which come from outside,
 * which blocks and wakes share a counter, which soft edges hold.
 */
#include <string.h>

#include "analyzer/base/cookie_map.h"
#include "analyzer/workload/extract_priv.h"

/* ---- what the end works with ---- */

struct softirqs {
	uint32_t all, interrupt_task;
};

struct finish {
	struct wi_extract *x;
	struct wi_work_builder *b;
	struct softirqs *softirq;   /* by wakee */
	uint32_t *nr_woken;	    /* by wakee: by tasks */
	struct wi_pairs counters;   /* wakee, group -> counter */
	struct wi_pairs woke;	    /* waker, wakee -> times */
	struct wi_pairs served;	    /* server, client -> 1 */
	const struct order **order; /* soft edges by the task that must come first, and its block */
	size_t next_order;
	uint64_t lead_ns;	 /* mean work of the tape's task from a wake to the block after it */
	uint64_t last_length_ns; /* of the task's last sleep that a hardirq ended; 0 none */
	uint32_t last_sleep;
	bool failed;
};

/* A softirq belongs to the task that it interrupts where most of the wakee's do interrupt one: loopback traffic. */
#define SOFTIRQ_OWN_PERCENT 60

static bool is_internal(const struct finish *f, const struct wake *k)
{
	if (!k->on_tape || k->waker == k->wakee)
		return false;
	if (k->context != WAKEIF_CTX_SOFTIRQ)
		return true;
	const struct softirqs *s = &f->softirq[k->wakee];

	return !f->x->opt.softirq_external &&
	       (uint64_t)s->interrupt_task * 100 >= (uint64_t)s->all * SOFTIRQ_OWN_PERCENT;
}

static void find_internal(struct finish *f)
{
	for (uint32_t i = 0; i < f->x->wake.nr; i++) {
		const struct wake *k = x_wake(f->x, i);

		if (k->context != WAKEIF_CTX_SOFTIRQ)
			continue;
		f->softirq[k->wakee].all++;
		f->softirq[k->wakee].interrupt_task += k->waker != NONE;
	}
	for (uint32_t i = 0; i < f->x->wake.nr; i++)
		x_wake(f->x, i)->internal = is_internal(f, x_wake(f->x, i));
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
	if (k->internal) {
		n->internal++;
		n->sync += !!(k->noise.flags & WI_WAKE_SYNC);
		n->sync_unknown += !(k->noise.flags & WI_WAKE_SYNC_KNOWN);
		n->softirq += k->context == WAKEIF_CTX_SOFTIRQ;
	} else {
		n->external++;
	}
}

/* A task that dies tells its parent with WF_SYNC, but the kernel heeds that of no task that is exiting. */
static void mark_dying(struct wi_extract *x, const struct xtask *t)
{
	if (!t->nr_ops || t->ops[t->nr_ops - 1].kind != WI_OP_EXIT || t->about.parent == WI_WORK_NONE)
		return;
	for (size_t i = t->nr_ops - 1; i-- > 0 && t->ops[i].kind != WI_OP_BLOCK;) {
		struct wake *k = t->ops[i].kind == WI_OP_WAKE ? x_wake(x, t->ops[i].target) : NULL;

		if (!k || k->wakee != t->about.parent)
			continue;
		k->noise.flags = (uint8_t)((k->noise.flags & ~WI_WAKE_SYNC) | WI_WAKE_SYNC_KNOWN);
		return; /* what it told it before was said alive */
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
		if (k->fate != WAKE_ENDED_BLOCK || !k->internal)
			continue;
		f->nr_woken[k->wakee]++;
		uint32_t *times = wi_pairs_get(&f->woke, k->waker, k->wakee, &fresh);
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

/* Threads of a pool differ by a number at the end of their names. */
static uint32_t group_of(const struct finish *f, uint32_t comm)
{
	const char *name = comm != WI_NAME_NONE ? wi_names_get(f->x->opt.names, comm) : "";
	size_t all = strlen(name), len = all;

	if (f->x->opt.edge == WI_EDGE_ANY)
		return 0;
	while (len && name[len - 1] >= '0' && name[len - 1] <= '9')
		len--;
	return !len || len == all ? comm : wi_names_intern(f->x->opt.names, name, len);
}

static uint32_t counter_number(struct finish *f, uint32_t wakee, uint32_t group)
{
	bool fresh;
	uint32_t *counter = wi_pairs_get(&f->counters, wakee, group, &fresh);

	if (!counter) {
		f->failed = true;
		return 0;
	}
	if (fresh)
		*counter = wi_work_add_counter(f->b, wakee);
	return *counter;
}

static uint32_t counter_of(struct finish *f, const struct wake *k, uint32_t wake)
{
	return counter_number(f, k->wakee, f->x->opt.edge == WI_EDGE_STRICT ? wake : group_of(f, k->waker_comm));
}

/* Of what is inferred, with a waker of this name; pair: a number of its own where edges are strict. */
static uint32_t inferred_counter(struct finish *f, uint32_t wakee, uint32_t waker, uint32_t pair)
{
	bool strict = f->x->opt.edge == WI_EDGE_STRICT;

	return counter_number(f, wakee, strict ? ~pair : group_of(f, x_task(f->x, waker)->comm));
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
		s.disturbed = k->disturbed;
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

/*
 * A task that others wait for wakes them often: at least a twentieth of their wakeups and of how often they wake it.
 * What servers and clients wait for is known.
 */
static bool answers(const struct finish *f, const struct order *o)
{
	uint64_t times = wi_pairs_value(&f->woke, o->first, o->waits);

	return times && times * 20 >= f->nr_woken[o->waits] &&
	       times * 20 >= wi_pairs_value(&f->woke, o->waits, o->first) &&
	       !wi_pairs_value(&f->served, o->first, o->waits) && !wi_pairs_value(&f->served, o->waits, o->first);
}

static uint32_t order_number(const struct finish *f, const struct order *o)
{
	return (uint32_t)(o - (const struct order *)f->x->order.at);
}

static uint32_t order_counter(struct finish *f, const struct order *o)
{
	return inferred_counter(f, o->waits, o->first, (uint32_t)f->x->wake.nr + order_number(f, o));
}

/* A wake of `task` that left no event, so long before the block that follows as its wakes are. What is left of the
 * work before that block. */
static uint32_t put_unseen(struct finish *f, uint32_t task, uint32_t work_ns, uint32_t counter,
			   const struct wi_wake_noise *noise)
{
	uint32_t lead_ns = work_ns < f->lead_ns ? work_ns : (uint32_t)f->lead_ns;

	wi_work_add_op(f->b, task,
		       (struct wi_op){
			       .work_ns = work_ns - lead_ns, .kind = WI_OP_UNSEEN, .target = counter, .wake = *noise });
	return lead_ns;
}

/* In the burst before a block: the request that the wake asks for which ended it. */
static uint32_t put_request(struct finish *f, uint32_t task, uint32_t work_ns, uint32_t wake)
{
	const struct wake *k = wake != NO_WAKE ? x_wake(f->x, wake) : NULL;
	struct wi_wake_noise noise = { WI_NOISE_UNKNOWN, WI_NOISE_UNKNOWN, WI_NOISE_UNKNOWN, 0, 0 };

	if (!k || !k->unseen_request)
		return work_ns;
	if (k->last_request)
		noise = x_wake(f->x, k->last_request - 1)->noise;
	noise.flags = (uint8_t)((noise.flags & ~WI_WAKE_ANSWER) | WI_WAKE_REQUEST);
	f->x->facts.requests++;
	return put_unseen(f, task, work_ns, inferred_counter(f, k->waker, task, wake), &noise);
}

/* ... and what others wait for who were preempted by the task. */
static uint32_t put_orders(struct finish *f, uint32_t task, uint32_t work_ns, uint32_t nr_blocks)
{
	for (; f->next_order < f->x->order.nr; f->next_order++) {
		const struct order *o = f->order[f->next_order];

		if (o->first > task || (o->first == task && o->nr_blocks > nr_blocks))
			break;
		if (o->first == task && o->nr_blocks == nr_blocks && answers(f, o))
			work_ns = put_unseen(f, task, work_ns, order_counter(f, o), &o->noise);
	}
	return work_ns;
}

/* Turns one raw op into its last form. false: it leaves the tape, its work goes to the next one. */
static bool turn(struct finish *f, uint32_t task, const struct wi_op *raw, uint32_t work_ns)
{
	struct wi_extract *x = f->x;
	struct wi_op op = *raw;

	op.work_ns = work_ns;
	if (raw->kind == WI_OP_WAKE) {
		const struct wake *k = x_wake(x, raw->target);

		if (k->fate != WAKE_ENDED_BLOCK || !k->internal)
			return false;
		if (k->unseen_request) { /* it has taken note of that */
			wi_work_add_op(f->b, task,
				       (struct wi_op){ .work_ns = work_ns,
						       .kind = WI_OP_TAKE,
						       .target = inferred_counter(f, task, k->wakee, raw->target) });
			op.work_ns = 0;
		}
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

		if (!k || !k->internal) {
			add_sleep(f, task, work_ns, raw->target);
			return true;
		}
		op.target = counter_of(f, k, raw->target);
	} else if (raw->kind == WI_OP_TAKE) {
		const struct order *o = (const struct order *)x->order.at + raw->target;

		if (!answers(f, o))
			return false;
		op.target = order_counter(f, o);
		x->facts.orders++;
	}
	wi_work_add_op(f->b, task, op);
	return true;
}

/* Mean work from a task's last wake to the block behind it. */
static uint64_t mean_lead(const struct finish *f, const struct xtask *t)
{
	uint64_t sum_ns = 0, since_ns = 0, nr = 0;
	bool open = false;

	for (size_t i = 0; i < t->nr_ops; i++) {
		const struct wi_op *op = &t->ops[i];
		const struct wake *k = op->kind == WI_OP_WAKE ? x_wake(f->x, op->target) : NULL;

		since_ns += op->work_ns;
		if (k && k->fate == WAKE_ENDED_BLOCK && k->internal) {
			open = true;
			since_ns = 0;
		} else if (op->kind == WI_OP_BLOCK) {
			sum_ns += open ? since_ns : 0;
			nr += open;
			open = false;
		}
	}
	return nr ? sum_ns / nr : 0;
}

static void turn_tape(struct finish *f, uint32_t task)
{
	struct xtask *t = x_task(f->x, task);
	uint64_t carry_ns = 0;
	uint32_t nr_blocks = 0;

	f->lead_ns = mean_lead(f, t);

	f->last_length_ns = 0;
	f->last_sleep = NONE;
	for (size_t i = 0; i < t->nr_ops && !f->failed; i++) {
		uint64_t work_ns = carry_ns + t->ops[i].work_ns;

		carry_ns = 0;
		if (work_ns > UINT32_MAX) {
			wi_work_add_op(f->b, task, (struct wi_op){ .kind = WI_OP_RUN, .value = work_ns });
			work_ns = 0;
		}
		if (t->ops[i].kind == WI_OP_BLOCK) {
			work_ns = put_request(f, task, (uint32_t)work_ns, t->ops[i].target);
			work_ns = put_orders(f, task, (uint32_t)work_ns, ++nr_blocks);
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

static int by_first(const void *a, const void *b)
{
	const struct order *x = *(const struct order *const *)a, *y = *(const struct order *const *)b;

	if (x->first != y->first)
		return x->first < y->first ? -1 : 1;
	if (x->nr_blocks != y->nr_blocks)
		return x->nr_blocks < y->nr_blocks ? -1 : 1;
	return x < y ? -1 : x > y;
}

static bool sort_orders(struct finish *f)
{
	f->order = malloc((f->x->order.nr + 1) * sizeof(*f->order));
	if (!f->order)
		return false;
	for (size_t i = 0; i < f->x->order.nr; i++)
		f->order[i] = (const struct order *)f->x->order.at + i;
	qsort(f->order, f->x->order.nr, sizeof(*f->order), by_first);
	return true;
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
	find_internal(f);
	for (uint32_t i = 0; i < x->task.nr; i++)
		mark_dying(x, x_task(x, i));
	count_wakes(f);
	find_commit(f);
	f->failed |= (!x->opt.no_orders && !wi_talk_find(x, &f->woke, f->nr_woken, &f->served)) || !sort_orders(f);
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
	free(f.served.at);
	free(f.order);
	return w;
}
