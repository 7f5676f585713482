/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analyzer/workload/build.h"

#include <stdio.h>
#include <string.h>

#include "analyzer/workload/priv.h"

struct tape {
	struct wi_op *ops;
	size_t nr, room;
};

struct array {
	void *at;
	size_t nr, room;
};

struct wi_work_builder {
	struct array task, tape, counter, sleep, mask;
	struct array noise[WI_NR_WAKE_KINDS], idle[WI_NR_WAKE_KINDS], preempt[WI_NR_WAKE_KINDS];
	uint32_t mask_words;
	bool failed;
};

static void *add(struct wi_work_builder *b, struct array *a, size_t size)
{
	if (b->failed || !wi_work_grow(&a->at, a->nr, &a->room, size)) {
		b->failed = true;
		return NULL;
	}
	void *p = (char *)a->at + a->nr++ * size;

	memset(p, 0, size);
	return p;
}

struct wi_work_builder *wi_work_builder_new(struct wi_err *err)
{
	struct wi_work_builder *b = calloc(1, sizeof(*b));

	if (!b)
		wi_err_nomem(err);
	return b;
}

void wi_work_builder_free(struct wi_work_builder *b)
{
	if (!b)
		return;
	for (size_t i = 0; i < b->task.nr; i++) {
		free((void *)((struct wi_work_task *)b->task.at)[i].comm);
		free((void *)((struct wi_work_task *)b->task.at)[i].cgroup);
	}
	for (size_t i = 0; i < b->tape.nr; i++)
		free(((struct tape *)b->tape.at)[i].ops);
	free(b->task.at);
	free(b->tape.at);
	free(b->counter.at);
	free(b->sleep.at);
	free(b->mask.at);
	for (uint32_t k = 0; k < WI_NR_WAKE_KINDS; k++) {
		free(b->noise[k].at);
		free(b->idle[k].at);
		free(b->preempt[k].at);
	}
	free(b);
}

static char *copy(struct wi_work_builder *b, const char *text)
{
	char *p = text ? strdup(text) : NULL;

	b->failed |= text && !p;
	return p;
}

uint32_t wi_work_add_task(struct wi_work_builder *b, const struct wi_work_task *task)
{
	struct tape *tape = add(b, &b->tape, sizeof(*tape));
	struct wi_work_task *t = tape ? add(b, &b->task, sizeof(*t)) : NULL;

	if (!t)
		return WI_WORK_NONE;
	*t = *task;
	t->comm = copy(b, task->comm ? task->comm : "");
	t->cgroup = copy(b, task->cgroup);
	return (uint32_t)b->task.nr - 1;
}

struct wi_work_task *wi_work_task(struct wi_work_builder *b, uint32_t task)
{
	return task < b->task.nr ? (struct wi_work_task *)b->task.at + task : NULL;
}

void wi_work_name_task(struct wi_work_builder *b, uint32_t task, const char *comm)
{
	struct wi_work_task *t = wi_work_task(b, task);

	if (!t)
		return;
	free((void *)t->comm);
	t->comm = copy(b, comm);
}

uint32_t wi_work_add_counter(struct wi_work_builder *b, uint32_t task)
{
	struct wi_work_counter *c = add(b, &b->counter, sizeof(*c));

	if (!c)
		return WI_WORK_NONE;
	c->task = task;
	return (uint32_t)b->counter.nr - 1;
}

struct wi_work_counter *wi_work_counter(struct wi_work_builder *b, uint32_t counter)
{
	return counter < b->counter.nr ? (struct wi_work_counter *)b->counter.at + counter : NULL;
}

uint32_t wi_work_add_sleep(struct wi_work_builder *b, const struct wi_work_sleep *sleep)
{
	struct wi_work_sleep *s = add(b, &b->sleep, sizeof(*s));

	if (!s)
		return WI_WORK_NONE;
	*s = *sleep;
	return (uint32_t)b->sleep.nr - 1;
}

struct wi_work_sleep *wi_work_sleep(struct wi_work_builder *b, uint32_t sleep)
{
	return sleep < b->sleep.nr ? (struct wi_work_sleep *)b->sleep.at + sleep : NULL;
}

uint32_t wi_work_add_mask(struct wi_work_builder *b, const wakeif_word *mask, uint32_t nr_words)
{
	size_t size = nr_words * sizeof(*mask);

	if (b->mask.nr && b->mask_words != nr_words) {
		b->failed = true;
		return WI_WORK_NONE;
	}
	b->mask_words = nr_words;
	for (size_t i = b->mask.nr; i-- > 0;)
		if (!memcmp((char *)b->mask.at + i * size, mask, size))
			return (uint32_t)i;
	void *p = add(b, &b->mask, size);

	if (!p)
		return WI_WORK_NONE;
	memcpy(p, mask, size);
	return (uint32_t)b->mask.nr - 1;
}

size_t wi_work_add_op(struct wi_work_builder *b, uint32_t task, struct wi_op op)
{
	struct tape *t = task < b->tape.nr ? (struct tape *)b->tape.at + task : NULL;

	if (!t || b->failed || !wi_work_grow((void **)&t->ops, t->nr, &t->room, sizeof(*t->ops))) {
		b->failed = true;
		return SIZE_MAX;
	}
	t->ops[t->nr] = op;
	return t->nr++;
}

struct wi_op *wi_work_op(struct wi_work_builder *b, uint32_t task, size_t nr)
{
	struct tape *t = task < b->tape.nr ? (struct tape *)b->tape.at + task : NULL;

	return t && nr < t->nr ? &t->ops[nr] : NULL;
}

size_t wi_work_nr_ops(const struct wi_work_builder *b, uint32_t task)
{
	return task < b->tape.nr ? ((const struct tape *)b->tape.at)[task].nr : 0;
}

void wi_work_add_noise(struct wi_work_builder *b, const struct wi_wake_noise *noise)
{
	uint32_t kind = noise->kind % WI_NR_WAKE_KINDS;
	struct array *start = noise->start == WI_NOISE_UNKNOWN	 ? NULL
			      : noise->flags & WI_WAKE_PREEMPTED ? &b->preempt[kind]
								 : &b->idle[kind];
	struct wi_wake_noise *n = add(b, &b->noise[kind], sizeof(*n));

	if (n)
		*n = *noise;
	n = start ? add(b, start, sizeof(*n)) : NULL;
	if (n)
		*n = *noise;
}

/* One task's tape into the common array, with its sums; its own memory is given back at once. */
static void take_tape(struct wi_workload *w, uint32_t i, struct tape *tape)
{
	struct wi_work_task *t = &w->task[i];

	t->first_op = w->nr_ops;
	t->nr_ops = tape->nr;
	t->work_ns = 0;
	t->nr_blocks = 0;
	for (size_t n = 0; n < tape->nr; n++) {
		const struct wi_op *op = &tape->ops[n];

		t->work_ns += op->work_ns + (op->kind == WI_OP_RUN ? op->value : 0);
		t->nr_blocks += op->kind == WI_OP_BLOCK || op->kind == WI_OP_SLEEP;
		w->ops[w->nr_ops++] = *op;
	}
	free(tape->ops);
	tape->ops = NULL;
}

static bool take_tapes(struct wi_work_builder *b, struct wi_workload *w)
{
	struct tape *tape = b->tape.at;
	size_t nr = 0;

	for (size_t i = 0; i < b->tape.nr; i++)
		nr += tape[i].nr;
	w->ops = malloc((nr ? nr : 1) * sizeof(*w->ops));
	if (!w->ops)
		return false;
	for (uint32_t i = 0; i < w->nr_tasks; i++)
		take_tape(w, i, &tape[i]);
	return true;
}

static void *take(struct array *a, uint32_t *nr)
{
	void *p = a->at;

	*nr = (uint32_t)a->nr;
	a->at = NULL;
	a->nr = 0;
	return p;
}

struct wi_workload *wi_work_build(struct wi_work_builder *b, const struct wi_work_machine *m,
				  const struct wi_work_facts *facts, struct wi_err *err)
{
	struct wi_workload *w = calloc(1, sizeof(*w));

	if (!w || b->failed) {
		wi_err_nomem(err);
		goto out;
	}
	w->kernel = m->kernel;
	w->hz = m->hz;
	w->window_ns = m->window_ns;
	w->smt_speed = m->smt_speed ? m->smt_speed : 1024;
	w->host_cpus = m->host_cpus;
	w->edge = m->edge;
	w->topology = m->topology;
	w->lost_events = m->lost_events;
	w->lost_marks = m->lost_marks;
	snprintf(w->source, sizeof(w->source), "%s", m->source ? m->source : "");
	if (facts)
		w->facts = *facts;
	w->task = take(&b->task, &w->nr_tasks);
	w->sleep = take(&b->sleep, &w->nr_sleeps);
	w->counter = take(&b->counter, &w->nr_counters);
	w->masks = take(&b->mask, &w->nr_masks);
	for (uint32_t k = 0; k < WI_NR_WAKE_KINDS; k++) {
		w->draw[k].noise = take(&b->noise[k], &w->draw[k].nr);
		w->draw_idle[k].noise = take(&b->idle[k], &w->draw_idle[k].nr);
		w->draw_preempt[k].noise = take(&b->preempt[k], &w->draw_preempt[k].nr);
	}
	if (!take_tapes(b, w))
		wi_err_nomem(err);
	else if (wi_workload_check(w, err))
		goto out;
	wi_workload_free(w);
	w = NULL;
out:
	if (b->failed) {
		wi_workload_free(w);
		w = NULL;
	}
	wi_work_builder_free(b);
	return w;
}
