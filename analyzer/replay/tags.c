/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analyzer/replay/tags.h"

#include <stdlib.h>
#include <string.h>

#include "analyzer/base/cpumask.h"

/* One decision with all that the kernel could have looked at, until its window is over. */
struct open_tag {
	struct open_tag *next;
	struct wi_fair_inputs in;
	struct wi_fair_ask ask;
	void *what;
	uint64_t until_ns;	  /* end of the window */
	uint64_t waker_next_ns;	  /* the waker's CPU is certain up to its next record */
	uint64_t own_ns;	  /* when the decision's own effect shows ... */
	uint32_t own_cpu;	  /* ... on this CPU; WI_CPU_NONE: it has */
	uint32_t kernel_cpu;
	uint64_t waker_load, prev_load, waker_task_load, wakee_load, wakee_util;
	struct {
		uint32_t value, min, max;
	} waker_budget, prev_budget;
	wakeif_word *words; /* five sets, in the order of enum set */
	struct wakeif_cpu *cpu;
};

enum set { SET_UNCERTAIN, SET_IDLE, SET_SIDLE, SET_UNKNOWN, SET_ALLOWED, NR_SETS };

struct wi_tags {
	struct wi_tags_opts opt;
	uint32_t nr_words, nr_cpus;
	uint64_t *changed_ns; /* by CPU: last change of its idle state + 1; 0 none yet */
	bool *became_idle;    /* ... and that it was one to idle */
	struct open_tag *open, *free;
	uint64_t due_ns; /* the earliest until_ns of all open ones */
};

static void free_tag(struct open_tag *o)
{
	free(o->words);
	free(o->cpu);
	free(o);
}

void wi_tags_free(struct wi_tags *t)
{
	if (!t)
		return;
	for (struct open_tag *lists[] = { t->open, t->free }, **l = lists; l < lists + 2; l++)
		for (struct open_tag *o = *l, *next; o; o = next) {
			next = o->next;
			free_tag(o);
		}
	free(t->changed_ns);
	free(t->became_idle);
	free(t);
}

struct wi_tags *wi_tags_new(const struct wi_tags_opts *opts, struct wi_err *err)
{
	struct wi_tags *t = calloc(1, sizeof(*t));

	if (t) {
		t->opt = *opts;
		t->nr_words = opts->topology->nr_words;
		t->nr_cpus = opts->topology->nr_cpus;
		t->due_ns = UINT64_MAX;
		t->changed_ns = calloc(t->nr_cpus, sizeof(*t->changed_ns));
		t->became_idle = calloc(t->nr_cpus, sizeof(*t->became_idle));
	}
	if (t && t->changed_ns && t->became_idle)
		return t;
	wi_tags_free(t);
	wi_err_nomem(err);
	return NULL;
}

static wakeif_word *set_of(const struct wi_tags *t, const struct open_tag *o, enum set which)
{
	return o->words + (size_t)which * t->nr_words;
}

/* ---- what the kept decision answers ---- */

static uint64_t cpu_load(void *ctx, uint32_t cpu, bool without)
{
	const struct open_tag *o = ctx;
	uint64_t load = cpu == o->in.waker_cpu ? o->waker_load : o->prev_load;

	return !without ? load : load > o->wakee_load ? load - o->wakee_load : 0;
}

static uint64_t task_load(void *ctx, uint32_t task)
{
	const struct open_tag *o = ctx;

	return task == o->in.wakee ? o->wakee_load : o->waker_task_load;
}

static uint64_t task_util(void *ctx, uint32_t task)
{
	const struct open_tag *o = ctx;

	return task == o->in.wakee ? o->wakee_util : 0;
}

/* Asked by the slow path alone, which no wakeup takes. */
static uint64_t not_asked(void *ctx, uint32_t cpu, bool without)
{
	(void)ctx;
	(void)cpu;
	(void)without;
	return 0;
}

static uint32_t scan_budget(void *ctx, uint32_t cpu, uint32_t *min, uint32_t *max)
{
	const struct open_tag *o = ctx;
	bool at_waker = wi_fair_share(o->in.machine, cpu, o->in.waker_cpu);

	*min = at_waker ? o->waker_budget.min : o->prev_budget.min;
	*max = at_waker ? o->waker_budget.max : o->prev_budget.max;
	return at_waker ? o->waker_budget.value : o->prev_budget.value;
}

static void keep_asked(struct open_tag *o, const struct wi_fair_inputs *in)
{
	const struct wi_fair_ask *a = in->ask;

	o->waker_load = a->cpu_load(a->ctx, in->waker_cpu, false);
	o->prev_load = a->cpu_load(a->ctx, in->prev_cpu, false);
	o->waker_task_load = in->waker != WAKEIF_TASK_NONE ? a->task_load(a->ctx, in->waker) : 0;
	o->wakee_load = in->wakee != WAKEIF_TASK_NONE ? a->task_load(a->ctx, in->wakee) : 0;
	o->waker_budget.value = a->scan_budget(a->ctx, in->waker_cpu, &o->waker_budget.min, &o->waker_budget.max);
	o->prev_budget.value = a->scan_budget(a->ctx, in->prev_cpu, &o->prev_budget.min, &o->prev_budget.max);
	o->wakee_util = in->wakee != WAKEIF_TASK_NONE ? a->task_util(a->ctx, in->wakee) : 0;
	o->ask = (struct wi_fair_ask){ .ctx = o,
				       .cpu_load = cpu_load,
				       .cpu_util = not_asked,
				       .cpu_runnable = not_asked,
				       .task_load = task_load,
				       .task_util = task_util,
				       .scan_budget = scan_budget };
}

/* ---- open decisions ---- */

static struct open_tag *take(struct wi_tags *t)
{
	struct open_tag *o = t->free;

	if (o) {
		t->free = o->next;
		return o;
	}
	o = calloc(1, sizeof(*o));
	if (!o)
		return NULL;
	o->words = calloc((size_t)NR_SETS * t->nr_words, sizeof(*o->words));
	o->cpu = calloc(t->nr_cpus, sizeof(*o->cpu));
	if (o->words && o->cpu)
		return o;
	free_tag(o);
	return NULL;
}

static const wakeif_word *keep_set(const struct wi_tags *t, struct open_tag *o, enum set which, const wakeif_word *from)
{
	wakeif_word *to = set_of(t, o, which);

	if (!from)
		return NULL;
	memcpy(to, from, t->nr_words * sizeof(*to));
	return to;
}

/*
 * The idle task is made current just before that is recorded: from then on the CPU is idle until something is sent to
 * it. When a CPU ceases to be idle is told by whoever sends something, and is not as certain.
 */
static bool was_idle_by_then(const struct wi_tags *t, uint32_t cpu, uint64_t wake_ns)
{
	return t->became_idle[cpu] && t->changed_ns[cpu] - 1 + WI_TAGS_RECORD_NS < wake_ns;
}

/* CPUs that changed shortly before, or whose idle task is current though something is on its way. */
static void begin_uncertain(const struct wi_tags *t, struct open_tag *o, uint64_t wake_ns, uint64_t now_ns)
{
	wakeif_word *uncertain = set_of(t, o, SET_UNCERTAIN);

	memset(uncertain, 0, t->nr_words * sizeof(*uncertain));
	for (uint32_t c = 0; c < t->nr_cpus; c++) {
		uint64_t changed = t->changed_ns[c];
		bool recent = changed && changed - 1 + t->opt.around_ns >= wake_ns && !was_idle_by_then(t, c, wake_ns);
		bool glitch = changed && o->cpu[c].curr_pid == 0 && !wi_mask_test(o->in.idle, c) && changed - 1 + t->opt.glitch_ns >= now_ns;

		if (recent || (t->opt.glitch_ns && glitch))
			wi_mask_set(uncertain, c);
	}
}

/* The latest instant at which the decision may have been taken: the waker goes on, or the wakee arrives. */
static uint64_t latest_ns(const struct wi_wakeup *w)
{
	uint64_t ns = w->next_waker_record_ns;

	if (w->enq_ns < ns)
		ns = w->enq_ns;
	return ns == WI_TIME_UNKNOWN || ns < w->pub.now_ns ? w->pub.now_ns : ns;
}

bool wi_tags_add(struct wi_tags *t, const struct wi_wakeup *w, const struct wi_fair_inputs *in, void *what, struct wi_err *err)
{
	struct open_tag *o = take(t);

	if (!o)
		return wi_err_nomem(err);
	o->in = *in;
	o->what = what;
	o->kernel_cpu = o->own_cpu = w->chosen_cpu;
	o->own_ns = w->pub.now_ns;
	o->waker_next_ns = w->next_waker_record_ns;
	o->until_ns = latest_ns(w) + t->opt.around_ns;
	memcpy(o->cpu, in->cpu, t->nr_cpus * sizeof(*o->cpu));
	keep_asked(o, in);
	o->in.ask = &o->ask;
	o->in.cpu = o->cpu;
	o->in.idle = keep_set(t, o, SET_IDLE, in->idle);
	o->in.sidle = keep_set(t, o, SET_SIDLE, in->sidle);
	o->in.unknown = keep_set(t, o, SET_UNKNOWN, in->unknown);
	o->in.allowed = keep_set(t, o, SET_ALLOWED, in->allowed);
	o->in.cleared = NULL;
	o->in.trace = NULL;
	begin_uncertain(t, o, w->pub.wake_ns, w->pub.now_ns);
	o->next = t->open;
	t->open = o;
	if (o->until_ns < t->due_ns)
		t->due_ns = o->until_ns;
	return true;
}

void wi_tags_idle_changed(struct wi_tags *t, uint64_t now_ns, uint32_t cpu, bool idle)
{
	wi_tags_until(t, now_ns);
	t->changed_ns[cpu] = now_ns + 1;
	t->became_idle[cpu] = idle;
	for (struct open_tag *o = t->open; o; o = o->next) {
		if (o->own_cpu == cpu && !idle && now_ns == o->own_ns) { /* that is where the wakee went */
			o->own_cpu = WI_CPU_NONE;
			continue;
		}
		if (cpu == o->in.waker_cpu && now_ns >= o->waker_next_ns)
			continue;
		wi_mask_set(set_of(t, o, SET_UNCERTAIN), cpu);
	}
}

static void answer(struct wi_tags *t, const struct open_tag *o)
{
	struct wi_fair_doubt doubt = { .uncertain = set_of(t, o, SET_UNCERTAIN),
				       .load_percent = t->opt.load_percent,
				       .budget_steps = t->opt.budget_steps };
	struct wi_fair_reach reach = wi_fair_reachable(&o->in, &doubt, o->kernel_cpu);
	struct wi_tag tag = { reach.ambiguous, reach.other_found, reach.gave_up };

	t->opt.done(t->opt.ctx, o->what, &tag);
}

void wi_tags_until(struct wi_tags *t, uint64_t now_ns)
{
	if (now_ns <= t->due_ns)
		return;
	t->due_ns = UINT64_MAX;
	for (struct open_tag **at = &t->open, *o; (o = *at);) {
		if (o->until_ns >= now_ns) {
			if (o->until_ns < t->due_ns)
				t->due_ns = o->until_ns;
			at = &o->next;
			continue;
		}
		*at = o->next;
		answer(t, o);
		o->next = t->free;
		t->free = o;
	}
}

void wi_tags_finish(struct wi_tags *t)
{
	wi_tags_until(t, UINT64_MAX);
}
