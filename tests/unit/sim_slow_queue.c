/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tests/unit/sim_slow_queue.h"

#include "analyzer/base/kernel.h"
#include "models/wakeif_model.h"

int64_t slow_scaled(int64_t ns, uint32_t w)
{
	return ns * 1024 / w;
}

bool slow_here(const struct slow *s, int q, int i)
{
	return s->e[i].queue == q;
}

int slow_nr(const struct slow *s, int q)
{
	int n = 0;

	for (int i = 0; i < NR_ENT; i++)
		n += slow_here(s, q, i);
	return n;
}

int64_t slow_weights(const struct slow *s, int q)
{
	int64_t n = 0;

	for (int i = 0; i < NR_ENT; i++)
		n += slow_here(s, q, i) ? s->e[i].w : 0;
	return n;
}

/* Leftmost of those that wait, but not `but`. */
static int leftmost(const struct slow *s, int q, int but)
{
	int best = -1;

	for (int i = 0; i < NR_ENT; i++)
		if (slow_here(s, q, i) && i != s->q[q].curr && i != but &&
		    (best < 0 || s->e[i].v < s->e[best].v ||
		     (s->e[i].v == s->e[best].v && s->e[i].came < s->e[best].came)))
			best = i;
	return best;
}

static __int128 sum_from(const struct slow *s, int q, int64_t v)
{
	__int128 n = 0;

	for (int i = 0; i < NR_ENT; i++)
		if (slow_here(s, q, i))
			n += (__int128)(s->e[i].v - v) * s->e[i].w;
	return n;
}

int64_t slow_avg(const struct slow *s, int q)
{
	__int128 n = sum_from(s, q, 0);
	int64_t w = slow_weights(s, q);

	if (!w)
		return s->q[q].min_v;
	if (n >= 0)
		return (int64_t)(n / w);
	return -(int64_t)((-n + w - 1) / w);
}

bool slow_eligible(const struct slow *s, int i)
{
	return sum_from(s, s->e[i].queue, s->e[i].v) >= 0;
}

int64_t slow_own_slice(const struct slow *s, int i)
{
	return s->e[i].slice ? s->e[i].slice : (int64_t)s->p.base_slice_ns;
}

int64_t slow_cfs_slice(const struct slow *s, int q, int i, bool more)
{
	int64_t n = slow_nr(s, q) + more, w = slow_weights(s, q) + (more ? s->e[i].w : 0);
	int64_t period = n > 8 ? n * (int64_t)s->p.min_granularity_ns : (int64_t)s->p.latency_ns;
	int64_t least = (int64_t)s->p.min_granularity_ns, slice = w ? period * s->e[i].w / w : period;
	bool others = false;

	for (int k = 0; k < NR_ENT; k++)
		others |= slow_here(s, q, k) && s->e[k].policy != WAKEIF_POLICY_IDLE;
	if (s->e[i].policy == WAKEIF_POLICY_IDLE && others)
		least = 750000;
	return slice > least ? slice : least;
}

static void slow_advance(struct slow *s, int q)
{
	int l = leftmost(s, q, -1), c = s->q[q].curr;
	int64_t v;

	if (s->eevdf) {
		if (c >= 0 || l >= 0)
			s->q[q].min_v = slow_avg(s, q) > s->q[q].min_v ? slow_avg(s, q) : s->q[q].min_v;
		return;
	}
	if (l < 0 && c < 0)
		return;
	v = l < 0 ? s->e[c].v : c < 0 ? s->e[l].v : s->e[c].v < s->e[l].v ? s->e[c].v : s->e[l].v;
	s->q[q].min_v = v > s->q[q].min_v ? v : s->q[q].min_v;
}

static bool is_prot(const struct slow *s, int i)
{
	return s->e[i].v < s->e[i].prot;
}

void slow_update(struct slow *s, int q, int64_t ns)
{
	int i = s->q[q].curr;
	struct slow_ent *e = &s->e[i];

	e->v += slow_scaled(ns, e->w);
	e->ran += ns;
	slow_advance(s, q);
	if (!s->eevdf)
		return;
	if (e->v >= e->d) {
		e->d = e->v + slow_scaled(slow_own_slice(s, i), e->w);
		e->over |= slow_nr(s, q) > 1;
	}
	if (slow_nr(s, q) > 1 && !is_prot(s, i)) {
		if (s->p.version >= WI_KERNEL(6, 17))
			e->over = true;
		else if (s->p.version >= WI_KERNEL(6, 12) && !slow_eligible(s, i))
			e->over = true;
	}
}

int64_t slow_lag(const struct slow *s, int i)
{
	int64_t l = slow_avg(s, s->e[i].queue) - s->e[i].v, most = 2 * slow_own_slice(s, i);

	most = slow_scaled(most > (int64_t)s->p.tick_ns ? most : (int64_t)s->p.tick_ns, s->e[i].w);
	return l > most ? most : l < -most ? -most : l;
}

static bool behind(const struct slow *s, int a, int b, int gran_of) /* a by more than the granularity */
{
	return s->e[a].v - s->e[b].v > slow_scaled((int64_t)s->p.wakeup_granularity_ns, s->e[gran_of].w);
}

static int slow_pick_cfs(const struct slow *s, int q)
{
	const struct slow_queue *Q = &s->q[q];
	int first = leftmost(s, q, -1), left = first, e, second;

	if (left < 0 || (Q->curr >= 0 && s->e[Q->curr].v < s->e[left].v))
		left = Q->curr;
	e = left;
	if (left >= 0 && Q->skip == left) {
		if (left == Q->curr) {
			second = first;
		} else {
			second = leftmost(s, q, left);
			if (second < 0 || (Q->curr >= 0 && s->e[Q->curr].v < s->e[second].v))
				second = Q->curr;
		}
		if (second >= 0 && !behind(s, second, left, left))
			e = second;
	}
	if (Q->next >= 0 && !behind(s, Q->next, left, left))
		return Q->next;
	if (Q->last >= 0 && !behind(s, Q->last, left, left))
		return Q->last;
	return e;
}

/* By definition: among all whose vruntime is not above the average, the earliest deadline; on a tie whoever waits. */
static int slow_pick_eevdf(const struct slow *s, int q)
{
	int best = -1, c = s->q[q].curr;

	if (slow_nr(s, q) == 1)
		for (int i = 0; i < NR_ENT; i++)
			if (slow_here(s, q, i))
				return i;
	if (c >= 0 && slow_eligible(s, c) && is_prot(s, c))
		return c;
	for (int i = 0; i < NR_ENT; i++) {
		if (!slow_here(s, q, i) || !slow_eligible(s, i) || i == c)
			continue;
		if (best < 0 || s->e[i].d < s->e[best].d ||
		    (s->e[i].d == s->e[best].d && s->e[i].came < s->e[best].came))
			best = i;
	}
	if (c >= 0 && slow_eligible(s, c) && (best < 0 || s->e[c].d < s->e[best].d))
		best = c;
	return best;
}

int slow_pick(const struct slow *s, int q)
{
	return s->eevdf ? slow_pick_eevdf(s, q) : slow_pick_cfs(s, q);
}

void slow_place(struct slow *s, int q, int i, bool initial, bool woken)
{
	struct slow_ent *e = &s->e[i];
	int64_t W = slow_weights(s, q), V = slow_avg(s, q), v;

	if (s->eevdf) {
		int64_t l = initial ? 0 : e->lag, rest = e->d - e->v;
		bool moved = e->relative && !woken && !initial && s->p.version >= WI_KERNEL(6, 12);

		if (W)
			l = (int64_t)((__int128)l * (W + e->w) / W);
		e->v = W ? V - l : V;
		e->d = e->v + (moved ? rest : slow_scaled(slow_own_slice(s, i), e->w) / (initial ? 2 : 1));
		e->relative = false;
		return;
	}
	if (e->relative)
		e->v += s->q[q].min_v;
	e->relative = false;
	if (!woken)
		return;
	v = s->q[q].min_v - (int64_t)(e->policy == WAKEIF_POLICY_IDLE ? s->p.min_granularity_ns : s->p.latency_ns) / 2;
	e->v = v > e->v ? v : e->v;
}

bool slow_preempts(struct slow *s, int q, int i)
{
	struct slow_queue *Q = &s->q[q];
	int c = Q->curr;

	if (c < 0)
		return true;
	bool ci = s->e[c].policy == WAKEIF_POLICY_IDLE, pi = s->e[i].policy == WAKEIF_POLICY_IDLE;

	if (s->eevdf && s->e[c].over) {
		s->e[c].over = false;
		return true;
	}
	if (ci && !pi)
		return true;
	if (pi || s->e[i].policy == WAKEIF_POLICY_BATCH)
		return false;
	if (s->eevdf) {
		bool shorter = s->p.version >= WI_KERNEL(6, 12) && slow_own_slice(s, i) < slow_own_slice(s, c);

		if (shorter && slow_eligible(s, i) && (s->e[i].d < s->e[c].d || !slow_eligible(s, c)))
			s->e[c].prot = s->e[c].v;
		return slow_pick(s, q) == i;
	}
	if (!behind(s, c, i, i))
		return false;
	Q->next = i;
	if (slow_nr(s, q) >= 8)
		Q->last = c;
	return true;
}

bool slow_tick(struct slow *s, int q)
{
	struct slow_queue *Q = &s->q[q];
	int c = Q->curr, l = leftmost(s, q, -1);

	if (c < 0)
		return false;
	if (s->eevdf) {
		bool over = s->e[c].over && slow_nr(s, q) > 1;

		s->e[c].over = false;
		return over;
	}
	if (l < 0)
		return false;
	if (s->e[c].ran > slow_cfs_slice(s, q, c, false)) {
		Q->next = Q->next == c ? -1 : Q->next;
		Q->last = Q->last == c ? -1 : Q->last;
		return true;
	}
	return s->e[c].ran >= (int64_t)s->p.min_granularity_ns &&
	       s->e[c].v - s->e[l].v > slow_cfs_slice(s, q, c, false);
}

void slow_forget(struct slow *s, int q, int i)
{
	struct slow_queue *Q = &s->q[q];

	Q->next = Q->next == i ? -1 : Q->next;
	Q->last = Q->last == i ? -1 : Q->last;
	Q->skip = Q->skip == i ? -1 : Q->skip;
}

void slow_set(struct slow *s, int q, int i)
{
	s->q[q].curr = i;
	s->e[i].ran = 0;
	s->e[i].over = false;
	slow_forget(s, q, i);
	if (!s->eevdf) {
		slow_advance(s, q);
		return;
	}
	s->e[i].prot = s->e[i].d;
	if (s->p.version >= WI_KERNEL(6, 17)) {
		int64_t least = slow_own_slice(s, i);

		for (int k = 0; k < NR_ENT; k++)
			if (slow_here(s, q, k) && slow_own_slice(s, k) < least)
				least = slow_own_slice(s, k);
		if (s->e[i].v + slow_scaled(least, s->e[i].w) < s->e[i].prot)
			s->e[i].prot = s->e[i].v + slow_scaled(least, s->e[i].w);
	}
}
