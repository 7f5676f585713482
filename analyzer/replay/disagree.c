/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Why an answer is not what the kernel did. Each disagreement gets the first reason that holds (WI_REASONS). */
#include <stdlib.h>
#include <string.h>

#include "analyzer/replay/priv.h"

bool r_disagree_init(struct wi_replay *r)
{
	r->dis.change = calloc(r->topo->nr_cpus + 1, sizeof(*r->dis.change));
	r->dis.own_cpu = NONE;
	return r->dis.change != NULL;
}

void r_disagree_fini(struct wi_replay *r)
{
	for (uint32_t i = 0; i < r->dis.nr_ran_on; i++)
		free(r->dis.ran_on[i]);
	free(r->dis.ran_on);
	free(r->dis.change);
	free(r->dis.open);
}

/* ---- race window ---- */

/* Did idle(cpu) change since from_ns, but by the wakee of this very decision? The window's end is now. */
static bool changed(const struct wi_replay *r, const struct r_open *o, uint32_t cpu)
{
	const struct r_change *c = &r->dis.change[cpu];
	uint64_t ns = c->by == o->serial ? c->before_ns : c->ns;

	return ns && ns >= o->from_ns;
}

static bool core_changed(const struct wi_replay *r, const struct r_open *o, uint32_t cpu)
{
	const struct wakeif_topology *t = r->topo;

	wi_mask_for_each (c, t->span[WAKEIF_CORE][t->group[WAKEIF_CORE][cpu]], t->nr_words)
		if (changed(r, o, c))
			return true;
	return false;
}

/*
 * The CPUs that the two answers hang on: both of them with their cores, and where the search began. Others that were
 * looked at would have led to a third answer.
 */
static bool is_race(const struct wi_replay *r, const struct r_open *o)
{
	return core_changed(r, o, o->answer) || core_changed(r, o, o->kernel) || changed(r, o, o->prev) ||
	       changed(r, o, o->waker) || (o->target != NONE && changed(r, o, o->target));
}

void r_disagree_settle(struct wi_replay *r, uint64_t now_ns)
{
	struct r_disagree *d = &r->dis;

	while (d->nr && d->open[d->head].until_ns < now_ns) {
		const struct r_open *o = &d->open[d->head];

		r->results->model[o->model].disagree[o->reason != WI_REASON_HINDSIGHT && is_race(r, o) ? WI_REASON_RACE : o->reason]++;
		d->head = (d->head + 1) & d->mask;
		d->nr--;
	}
}

void r_disagree_idle_changed(struct wi_replay *r, uint64_t now_ns, uint32_t cpu, bool idle)
{
	struct r_disagree *d = &r->dis;
	struct r_change *c = &d->change[cpu];
	bool own = cpu == d->own_cpu && now_ns == d->own_ns && !idle;

	if (d->nr && d->open[d->head].until_ns < now_ns)
		r_disagree_settle(r, now_ns);
	*c = (struct r_change){ .ns = now_ns, .before_ns = c->ns, .by = own ? d->own_serial : 0 };
	if (own)
		d->own_cpu = NONE;
}

/* ---- the other reasons ---- */

static bool ran_there(const struct wi_replay *r, uint32_t task, uint32_t cpu)
{
	return task < r->dis.nr_ran_on && r->dis.ran_on[task] && wi_mask_test(r->dis.ran_on[task], cpu);
}

static bool by_load(const struct wakeif_choice *c)
{
	return c->affine == WAKEIF_AFFINE_LOAD_WAKER || c->affine == WAKEIF_AFFINE_LOAD_PREV ||
	       c->rule == WAKEIF_RULE_LEAST_LOADED || c->rule == WAKEIF_RULE_SLOW;
}

/* An unknown CPU among those that could have been chosen near the wakee or the waker. */
static bool unknown_near(const struct wi_replay *r, const struct wi_wakeup *w)
{
	const struct wakeif_topology *t = r->topo;
	const struct wi_judge *j = &r->judge;
	const wakeif_word *prev = t->span[WAKEIF_LLC][t->group[WAKEIF_LLC][w->pub.prev_cpu]],
			  *waker = t->span[WAKEIF_LLC][t->group[WAKEIF_LLC][w->pub.waker_cpu]];

	for (uint32_t i = 0; i < t->nr_words; i++)
		if (j->view->unknown[i] & j->cand[i] & (prev[i] | waker[i]))
			return true;
	return false;
}

static enum wi_reason reason_of(const struct wi_replay *r, const struct wi_wakeup *w, uint32_t model, bool sync_known)
{
	const struct wakeif_choice *c = &r->choice[model];

	if (r->model[model].m.ops->needs & WAKEIF_NEED_FUTURE)
		return WI_REASON_HINDSIGHT;
	if (c->flags & WAKEIF_CHOICE_AMBIGUOUS)
		return WI_REASON_SIS_AMBIGUOUS;
	if (!sync_known && c->flags & WAKEIF_CHOICE_KNOWS_SYNC && c->other_sync_cpu == w->chosen_cpu)
		return WI_REASON_SYNC_UNKNOWN;
	if (w->pub.allowed_source == WAKEIF_ALLOWED_ASSUMED && !ran_there(r, w->pub.wakee_task, r->answer[model]))
		return WI_REASON_AFFINITY_UNKNOWN;
	if (by_load(c))
		return WI_REASON_LOAD;
	if (w->maybe_delayed || w->chosen_source == WI_CHOSEN_SWITCH || w->chosen_source == WI_CHOSEN_NONE ||
	    unknown_near(r, w))
		return WI_REASON_REPAIR;
	return WI_REASON_OTHER;
}

static bool make_room(struct r_disagree *d)
{
	uint32_t places = d->open ? d->mask + 1 : 0;
	struct r_open *grown;

	if (d->nr < places)
		return true;
	grown = malloc((places ? places * 2 : 64) * sizeof(*grown));
	if (!grown)
		return false;
	for (uint32_t i = 0; i < d->nr; i++)
		grown[i] = d->open[(d->head + i) & d->mask];
	free(d->open);
	d->open = grown;
	d->head = 0;
	d->mask = (places ? places * 2 : 64) - 1;
	return true;
}

void r_disagree_add(struct wi_replay *r, uint64_t now_ns, const struct wi_wakeup *w, uint32_t model, bool sync_known)
{
	struct r_disagree *d = &r->dis;
	const struct wakeif_choice *c = &r->choice[model];

	r_disagree_settle(r, now_ns);
	if (!make_room(d)) {
		r->failed = true;
		return;
	}
	d->open[(d->head + d->nr++) & d->mask] = (struct r_open){
		.from_ns = w->pub.wake_ns > RACE_NS ? w->pub.wake_ns - RACE_NS : 0,
		.until_ns = now_ns + RACE_NS,
		.serial = r->serial,
		.answer = r->answer[model],
		.kernel = w->chosen_cpu,
		.prev = w->pub.prev_cpu,
		.waker = w->pub.waker_cpu,
		.target = wi_cpu_present(r->topo, c->target) ? c->target : NONE,
		.model = (uint16_t)(model + 1),
		.reason = (uint8_t)reason_of(r, w, model, sync_known),
	};
}

/* ---- where tasks ran ---- */

static wakeif_word *mask_of(struct wi_replay *r, uint32_t task)
{
	struct r_disagree *d = &r->dis;

	if (task >= d->nr_ran_on) {
		uint32_t nr = (task | 255) + 1;
		wakeif_word **grown = task == NONE ? NULL : realloc(d->ran_on, nr * sizeof(*grown));

		if (!grown) {
			r->failed = true;
			return NULL;
		}
		memset(grown + d->nr_ran_on, 0, (nr - d->nr_ran_on) * sizeof(*grown));
		d->ran_on = grown;
		d->nr_ran_on = nr;
	}
	if (!d->ran_on[task])
		d->ran_on[task] = calloc(r->topo->nr_words, sizeof(**d->ran_on));
	if (!d->ran_on[task])
		r->failed = true;
	return d->ran_on[task];
}

void r_disagree_happened(struct wi_replay *r, const struct wakeif_happening *h)
{
	wakeif_word *mask;

	if (h->type == WAKEIF_TASK_RUNS && h->cpu < r->topo->nr_cpus) {
		mask = mask_of(r, h->task);
		if (mask)
			wi_mask_set(mask, h->cpu);
	} else if (h->type == WAKEIF_TASK_ENDED && h->task < r->dis.nr_ran_on && r->dis.ran_on[h->task]) {
		memset(r->dis.ran_on[h->task], 0, r->topo->nr_words * sizeof(wakeif_word));
	}
}
