/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analyzer/replay/oracle.h"

#include <stdlib.h>
#include <string.h>

#include "models/cpuset.h"

#define NONE UINT32_MAX

struct start {
	uint32_t cpu; /* NONE: not known yet */
	uint64_t wait_ns;
};

struct question {
	uint32_t next; /* of the open or the free ones */
	uint32_t generation;
	uint32_t wakee; /* slot */
	uint32_t speed_percent;
	uint32_t nr_waits; /* CPUs whose start is still open */
	uint64_t since_ns;
	struct start alone, beside; /* earliest start with the siblings idle, and with one busy */
	uint64_t ran_ns, runs_since_ns;
	bool runs, run_known;
	bool open;
	struct wi_oracle_answer answer;
	struct wi_verdict *verdict; /* by CPU */
};

struct wi_oracle {
	const struct wakeif_topology *topo;
	void (*done)(void *ctx, const struct wi_oracle_answer *a);
	void *ctx;
	struct wi_waits waits;
	struct question *q;
	uint32_t nr, open, free;
	uint64_t now_ns;
	const struct wakeif_view *view; /* of the call in progress */
	bool failed;
};

/* What a wait is for: question, its generation, CPU. */
static uint64_t pack(uint32_t q, uint32_t generation, uint32_t cpu)
{
	return (uint64_t)q << 40 | (uint64_t)(generation & 0xffffff) << 16 | cpu;
}

static void wait_ended(void *ctx, uint64_t what, enum wi_wait_end how, uint64_t ns);

struct wi_oracle *wi_oracle_new(const struct wakeif_topology *topo, void (*done)(void *ctx, const struct wi_oracle_answer *a), void *ctx)
{
	struct wi_oracle *o = calloc(1, sizeof(*o));

	if (!o || !wi_waits_init(&o->waits, topo->nr_cpus)) {
		free(o);
		return NULL;
	}
	o->topo = topo;
	o->done = done;
	o->ctx = ctx;
	o->open = o->free = NONE;
	o->waits.end = wait_ended;
	o->waits.ctx = o;
	return o;
}

void wi_oracle_free(struct wi_oracle *o)
{
	if (!o)
		return;
	for (uint32_t i = 0; i < o->nr; i++)
		free(o->q[i].verdict);
	free(o->q);
	wi_waits_fini(&o->waits);
	free(o);
}

static uint64_t run_ns(const struct wi_oracle *o, const struct question *q)
{
	return q->ran_ns + (q->runs && o->now_ns > q->runs_since_ns ? o->now_ns - q->runs_since_ns : 0);
}

static uint64_t done_ns(const struct start *s, uint64_t run, uint32_t percent)
{
	return s->cpu == NONE ? UINT64_MAX : s->wait_ns + run * 100 / percent;
}

static void answer(struct wi_oracle *o, struct question *q, const struct start *s, enum wi_wait_end how)
{
	uint32_t cpu = s && s->cpu != NONE ? s->cpu : q->answer.cpu;

	q->answer.how = s && s->cpu != NONE ? WI_WAIT_OVER : how;
	q->answer.cpu = cpu;
	q->answer.wait_ns = s && s->cpu != NONE ? s->wait_ns : 0;
	q->answer.verdict = q->verdict[cpu];
	q->open = false;
	q->generation++; /* waits that are still open are for nobody */
	o->done(o->ctx, &q->answer);
}

static const struct start *better(const struct question *q, uint64_t run)
{
	return done_ns(&q->alone, run, 100) <= done_ns(&q->beside, run, q->speed_percent) ? &q->alone : &q->beside;
}

/* Answers if nothing that is still open could be better. */
static void try_answer(struct wi_oracle *o, struct question *q)
{
	uint64_t run = run_ns(o, q);
	const struct start *best = better(q, run);
	uint64_t best_ns = best->cpu == NONE ? UINT64_MAX : best == &q->alone ? done_ns(best, run, 100) : done_ns(best, run, q->speed_percent);

	if (!q->open)
		return;
	if (q->speed_percent == 100) { /* the run is the same everywhere */
		if (best->cpu != NONE)
			answer(o, q, best, WI_WAIT_OVER);
		else if (!q->nr_waits)
			answer(o, q, NULL, WI_WAIT_UNKNOWN);
		return;
	}
	if (!q->nr_waits && best->cpu == NONE)
		answer(o, q, NULL, WI_WAIT_UNKNOWN);
	else if (q->run_known && best->cpu != NONE && (!q->nr_waits || o->now_ns - q->since_ns + run >= best_ns))
		answer(o, q, best, WI_WAIT_OVER);
}

static bool siblings_idle(const struct wi_oracle *o, uint32_t cpu)
{
	const wakeif_word *core = wi_span(o->topo, WAKEIF_CORE, cpu);

	for (uint32_t i = 0; i < o->topo->nr_words; i++) {
		wakeif_word rest = core[i] & o->topo->online[i];

		if (cpu >> 6 == i)
			rest &= ~(1ull << (cpu & 63));
		if (rest & ~o->view->idle[i])
			return false;
	}
	return true;
}

static void wait_ended(void *ctx, uint64_t what, enum wi_wait_end how, uint64_t ns)
{
	struct wi_oracle *o = ctx;
	struct question *q = &o->q[what >> 40];
	uint32_t cpu = what & 0xffff;

	if (!q->open || (q->generation & 0xffffff) != (what >> 16 & 0xffffff))
		return;
	q->nr_waits--;
	if (how == WI_WAIT_OVER) {
		struct start *s = siblings_idle(o, cpu) ? &q->alone : &q->beside;

		if (s->cpu == NONE || ns < s->wait_ns)
			*s = (struct start){ cpu, ns };
	}
	try_answer(o, q);
}

/* Questions that were answered go back to the free ones. */
static void sweep(struct wi_oracle *o)
{
	for (uint32_t *at = &o->open; *at != NONE;) {
		struct question *q = &o->q[*at];
		uint32_t i = *at;

		try_answer(o, q);
		if (q->open) {
			at = &q->next;
			continue;
		}
		*at = q->next;
		q->next = o->free;
		o->free = i;
	}
}

static void run_changes(struct wi_oracle *o, const struct wakeif_happening *h)
{
	for (uint32_t i = o->open; i != NONE; i = o->q[i].next) {
		struct question *q = &o->q[i];

		if (!q->open || q->wakee != h->task || q->run_known)
			continue;
		if (h->type == WAKEIF_TASK_RUNS) {
			q->runs = true;
			q->runs_since_ns = h->now_ns;
			continue;
		}
		q->ran_ns = run_ns(o, q);
		q->runs = false;
		q->run_known = h->type != WAKEIF_TASK_PREEMPTED;
		try_answer(o, q);
	}
}

void wi_oracle_happened(struct wi_oracle *o, const struct wakeif_happening *h, const struct wakeif_view *view)
{
	o->now_ns = h->now_ns;
	o->view = view;
	wi_waits_happened(&o->waits, h);
	switch (h->type) {
	case WAKEIF_TASK_RUNS:
	case WAKEIF_TASK_PREEMPTED:
	case WAKEIF_TASK_SLEEPS:
	case WAKEIF_TASK_LOST:
	case WAKEIF_TASK_ENDED:
		if (o->open != NONE)
			run_changes(o, h);
		break;
	default:
		break;
	}
}

void wi_oracle_cpu_idle(struct wi_oracle *o, uint64_t now_ns, uint32_t cpu, const struct wakeif_view *view)
{
	o->now_ns = now_ns;
	o->view = view;
	wi_waits_cpu_idle(&o->waits, now_ns, cpu);
}

static struct question *take(struct wi_oracle *o, uint32_t *index)
{
	if (o->free == NONE) {
		uint32_t nr = o->nr ? o->nr * 2 : 16;
		struct question *q = nr < 1u << 24 ? realloc(o->q, nr * sizeof(*q)) : NULL;

		if (!q)
			return NULL;
		memset(q + o->nr, 0, (nr - o->nr) * sizeof(*q));
		for (uint32_t i = o->nr; i < nr; i++)
			q[i].next = i + 1 < nr ? i + 1 : NONE;
		o->free = o->nr;
		o->q = q;
		o->nr = nr;
	}
	struct question *q = &o->q[o->free];

	if (!q->verdict)
		q->verdict = calloc(o->topo->nr_cpus, sizeof(*q->verdict));
	if (!q->verdict)
		return NULL;
	*index = o->free;
	o->free = q->next;
	q->next = o->open;
	o->open = *index;
	return q;
}

/* A CPU that would let the wakee run now, beside a busy sibling: the first from prev_cpu on, prev's LLC first. */
static void start_now(const struct wi_oracle *o, struct question *q, const struct wi_judge *j, uint32_t prev)
{
	uint32_t best_rank = UINT32_MAX, first, c;

	first = c = wi_mask_first_from(j->cand, j->view->idle, o->topo->nr_words, prev);
	while (c != WAKEIF_CPU_NONE) {
		uint32_t rank = c == prev ? 0 : o->topo->group[WAKEIF_LLC][c] == o->topo->group[WAKEIF_LLC][prev] ? 1 : 2;

		if (rank < best_rank) {
			best_rank = rank;
			q->beside = (struct start){ c, 0 };
		}
		c = wi_mask_first_from(j->cand, j->view->idle, o->topo->nr_words, c + 1);
		if (c == first)
			break;
	}
}

void wi_oracle_ask(struct wi_oracle *o, uint64_t now_ns, const struct wi_wakeup *w, const struct wi_judge *judge, uint32_t model, uint32_t speed_percent)
{
	uint32_t index;
	struct question *q;
	struct wi_verdict *verdict;

	o->now_ns = now_ns;
	o->view = judge->view;
	sweep(o);
	q = take(o, &index);
	if (!q) {
		o->failed = true;
		return;
	}
	verdict = q->verdict;
	*q = (struct question){ .next = q->next,
				.generation = q->generation,
				.wakee = w->pub.wakee_task,
				.speed_percent = speed_percent,
				.since_ns = now_ns,
				.alone = { NONE, 0 },
				.beside = { NONE, 0 },
				.open = true,
				.verdict = verdict,
				.answer = { .model = model, .cpu = w->pub.prev_cpu, .kernel_cpu = w->chosen_cpu, .stalled = w->pub.waker_stalled } };
	q->answer.kernel_state = wi_judge_cpu(judge, w->chosen_cpu).state;
	verdict[w->pub.prev_cpu] = wi_judge_cpu(judge, w->pub.prev_cpu);
	start_now(o, q, judge, w->pub.prev_cpu);
	wi_mask_for_each (c, judge->cand, o->topo->nr_words) {
		verdict[c] = wi_judge_cpu(judge, c);
		if (wi_mask_test(judge->view->idle, c) || wi_mask_test(judge->view->unknown, c))
			continue;
		q->nr_waits++;
		wi_waits_add(&o->waits, now_ns, c, wi_mask_test(judge->view->pending, c), pack(index, q->generation, c));
	}
}

bool wi_oracle_finish(struct wi_oracle *o)
{
	for (uint32_t i = o->open; i != NONE; i = o->q[i].next) {
		struct question *q = &o->q[i];

		if (q->open)
			answer(o, q, better(q, run_ns(o, q)), WI_WAIT_CENSORED);
	}
	return !o->failed && !o->waits.failed;
}
