/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Kernels' models that look at the same give the same answer: it is found once. */
#include "models/fair_state_priv.h"

#include "analyzer/base/cpumask.h"

/* Does the decision hang on nothing but what a view tells, these knobs, recent_used_cpu and has_idle_cores? */
static bool plain(const struct wi_fair_state *s)
{
	const struct wi_fair_knobs *k = &s->opt.knobs;

	return k->budget != WI_FAIR_BUDGET_PROP && !k->cache && !k->sis_node && s->host_follows && !s->picked &&
	       !s->opt.prop_searched;
}

/* Does wi_fair_rebudget() tell what another budget would lead to? */
static bool can_rebudget(const struct wi_fair_knobs *k)
{
	return k->passes == WI_FAIR_ONE_PASS && k->sync == WI_FAIR_SYNC_OFF;
}

static bool same_budgets(const struct wi_fair_state *a, const struct wi_fair_state *b)
{
	return a->opt.knobs.budget == b->opt.knobs.budget && a->opt.nr_idle_scan == b->opt.nr_idle_scan;
}

/* Where knobs differ that matter in some decisions only, take_from() sees to those: sync, recent_fixed, the budget. */
static bool like_knobs(const struct wi_fair_state *s, const struct wi_fair_state *like)
{
	const struct wi_fair_knobs *k = &s->opt.knobs, *l = &like->opt.knobs;

	if (k->sync != l->sync ? l->sync != WI_FAIR_SYNC_OFF : k->sync > WI_FAIR_SYNC_VAGIN)
		return false;
	if (!can_rebudget(l) && (!same_budgets(s, like) || s->evidence || like->evidence))
		return false;
	/* WF_CURRENT_CPU and delayed tasks on the waker's CPU are not told by any trace: what is made of them is the
	 * same. */
	return k->affine_idle == l->affine_idle && k->recent == l->recent && k->kthread == l->kthread &&
	       k->passes == l->passes && k->sidle == l->sidle && k->from_target == l->from_target &&
	       (k->cluster_scan == l->cluster_scan || !s->machine.clusters) && k->sync_exiting == l->sync_exiting &&
	       k->weight_le == l->weight_le && k->wa_idle == l->wa_idle && k->wa_weight == l->wa_weight &&
	       k->wa_bias == l->wa_bias;
}

bool wi_fair_state_pair(struct wi_fair_state *s, struct wi_fair_state *like)
{
	if (!plain(s) || !plain(like) || !like_knobs(s, like) || s->host->ctx != like->host->ctx || s->serial ||
	    like->serial || s->opt.runnable_load != like->opt.runnable_load ||
	    s->opt.vcpu_preempted_ns != like->opt.vcpu_preempted_ns || (s->opt.observed && !s->late))
		return false;
	if (!s->twin[0])
		s->twin[0] = like;
	s->twin[1] = like;
	return true;
}

/* recent_used_cpu in a search from target: 0 passed over unseen, 1 seen to be busy, 2 more than that. */
static int use_of_recent(const struct wi_fair_state *s, const struct wi_fair_inputs *in, uint32_t recent,
			 uint32_t target)
{
	if (recent >= s->nr_cpus || recent == in->prev_cpu || recent == target ||
	    !wi_fair_share(&s->machine, recent, target))
		return 0;
	return 1 +
	       (wi_mask_test(in->idle, recent) || wi_mask_test(in->sidle, recent) || wi_mask_test(in->unknown, recent));
}

/* Does the search from target go the same way with this recent_used_cpu? NONE: there was no search. */
static bool recent_alike(const struct wi_fair_state *s, const struct wi_fair_inputs *in, uint32_t recent,
			 uint32_t target)
{
	int use;

	if (recent == in->recent_cpu || target == NONE)
		return true;
	use = use_of_recent(s, in, recent, target);
	return use < 2 && use == use_of_recent(s, in, in->recent_cpu, target);
}

static bool cores_alike(const struct wi_fair_state *s, const struct wi_fair_inputs *in, const struct wi_fair_result *r)
{
	uint32_t waker = s->machine.llc_id[in->waker_cpu], prev = s->machine.llc_id[in->prev_cpu];

	if (!r->asked_cores && !r->other_asked_cores)
		return true;
	return in->waker_idle_cores == fair_has_idle_cores(s, waker) &&
	       (waker == prev || in->prev_idle_cores == fair_has_idle_cores(s, prev));
}

/* Before 6.5 the previous CPU's affinity was tested where the recent one's is meant. */
static bool affinity_alike(const struct wi_fair_state *s, const struct wi_fair_state *like, uint32_t recent)
{
	const wakeif_word *allowed = like->in.allowed;

	return s->opt.knobs.recent_fixed == like->opt.knobs.recent_fixed || recent >= s->nr_cpus ||
	       (wi_mask_test(allowed, recent) && wi_mask_test(allowed, like->in.prev_cpu));
}

/* The same search with the budgets of s; false: another one could have ended otherwise. */
static bool rebudget(struct wi_fair_state *s, const struct wi_fair_state *like)
{
	struct wi_fair_budget_range own = { 0 }, other = { 0 };

	s->r = like->r;
	if (s->r.walk.what != WI_FAIR_NO_WALK)
		own = fair_budget(s, s->r.target);
	if (s->r.other_walk.what != WI_FAIR_NO_WALK)
		other = fair_budget(s, s->r.other_target);
	return wi_fair_rebudget(&s->r, &s->other_sync, &own, &other);
}

static bool searched(const struct wi_fair_result *r)
{
	return r->walk.what != WI_FAIR_NO_WALK || r->other_walk.what != WI_FAIR_NO_WALK;
}

/* What a proposed use of WF_SYNC makes of the answer without it; false: something else. */
static bool apply_sync(struct wi_fair_state *s, const struct wi_fair_state *like)
{
	const struct wi_fair_inputs *in = &like->in;
	const struct wi_fair_result *r = &like->r;
	uint32_t waker = in->waker_cpu, nr = in->cpu[waker].nr_running;

	if (s->opt.knobs.sync == like->opt.knobs.sync)
		return true;
	if (s->opt.knobs.sync != WI_FAIR_SYNC_VAGIN)
		return !s->in.short_tasks || nr > 1;
	if (nr != 1 || r->target == NONE || (in->waker_exiting && !s->opt.knobs.sync_exiting))
		return true;
	if (in->flags & WAKEIF_WF_SYNC)
		return r->target != waker;
	if ((r->other_target != NONE ? r->other_target : r->target) == waker)
		s->other_sync = waker;
	return true;
}

static bool take_from(struct wi_fair_state *s, const struct wi_fair_state *like, uint32_t recent,
		      const struct wakeif_wakeup *w)
{
	const struct wi_fair_inputs *in = &like->in;

	if (like->serial != s->serial || !like->answered || in->now_ns != w->now_ns || in->wakee != w->wakee_task ||
	    in->waker_cpu != w->waker_cpu || in->prev_cpu != w->prev_cpu || !affinity_alike(s, like, recent) ||
	    !recent_alike(s, in, recent, like->r.target) || !recent_alike(s, in, recent, like->r.other_target) ||
	    !cores_alike(s, in, &like->r))
		return false;
	s->other_sync = like->other_sync;
	s->rebudgeted = searched(&like->r) && (like->budget.corrected || s->evidence || !same_budgets(s, like));
	return (!s->rebudgeted || rebudget(s, like)) && apply_sync(s, like);
}

bool fair_take_over(struct wi_fair_state *s, const struct wakeif_wakeup *w)
{
	uint32_t recent = w->wakee_task < s->nr_slots ? s->recent[w->wakee_task] : NONE;

	for (int i = 0; i < 2; i++) {
		const struct wi_fair_state *like = s->twin[i]->taken ? s->twin[i]->taken : s->twin[i];

		if ((!i || like != s->twin[0]) && take_from(s, like, recent, w)) {
			s->taken = like;
			s->taken_recent = recent;
			return true;
		}
	}
	return false;
}

void fair_take_inputs(struct wi_fair_state *s)
{
	struct wi_fair_inputs own = s->taken->in;

	own.machine = &s->machine;
	own.knobs = &s->opt.knobs;
	own.ask = &s->ask;
	own.recent_cpu = s->taken_recent;
	own.short_tasks = s->in.short_tasks;
	own.mutual = s->in.mutual;
	if (!s->taken->r.asked_cores && !s->taken->r.other_asked_cores) { /* else they are alike */
		own.waker_idle_cores = fair_has_idle_cores(s, s->machine.llc_id[own.waker_cpu]);
		own.prev_idle_cores = fair_has_idle_cores(s, s->machine.llc_id[own.prev_cpu]);
	}
	s->in = own;
}
