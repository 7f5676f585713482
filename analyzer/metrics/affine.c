/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where wakees went relative to their waker and their previous CPU, and whether they came back (METRICS rule 32). */
#include "analyzer/metrics/priv.h"

#define BOUNCE_NS 10000000u

void m_affine_decision(struct wi_metrics *m, const struct wi_wakeup *w, struct m_wake *d)
{
	if (m_waker_cpu(w) == w->pub.prev_cpu || d->prev_distance >= WI_NR_DISTANCES ||
	    d->waker_distance >= WI_NR_DISTANCES)
		return;
	d->affine = true;
	m->affine.context[w->pub.context].matrix[d->prev_distance][d->waker_distance]++;
}

/* ---- bounce: a watch on the task, one for each wakeup that took it off its LLC less than 10 ms ago ---- */

static void watch(struct wi_metrics *m, struct m_task *t, uint32_t llc, uint8_t context, uint64_t run_ns)
{
	struct m_affine *a = &m->affine;
	uint32_t i;

	if (a->free_head) {
		i = a->free_head - 1;
		a->free_head = a->node[i].next;
	} else {
		if (a->nr_nodes == a->cap_nodes) {
			uint32_t cap = a->cap_nodes ? a->cap_nodes * 2 : 64;
			struct m_bounce *node = realloc(a->node, cap * sizeof(*node));

			if (!node) {
				m->failed = true;
				return;
			}
			a->node = node;
			a->cap_nodes = cap;
		}
		i = a->nr_nodes++;
	}
	a->node[i] = (struct m_bounce){ run_ns + BOUNCE_NS, llc, t->bounce, context };
	t->bounce = i;
}

static void release(struct m_affine *a, uint32_t i)
{
	a->node[i].next = a->free_head; /* here index + 1, 0 ends */
	a->free_head = i + 1;
}

void m_affine_switched_in(struct wi_metrics *m, uint64_t now_ns, uint32_t cpu, struct m_task *t)
{
	struct m_affine *a = &m->affine;
	uint32_t llc = m->lay.topo->group[WAKEIF_LLC][cpu];
	uint32_t *at = &t->bounce;

	while (*at != NONE) {
		uint32_t i = *at;
		bool over = now_ns > a->node[i].until_ns;

		if (!over && a->node[i].llc != llc) {
			at = &a->node[i].next;
			continue;
		}
		if (!over)
			a->context[a->node[i].context].bounce++;
		*at = a->node[i].next;
		release(a, i);
	}
}

void m_affine_task_gone(struct wi_metrics *m, struct m_task *t)
{
	while (t->bounce != NONE) {
		uint32_t i = t->bounce;

		t->bounce = m->affine.node[i].next;
		release(&m->affine, i);
	}
}

void m_affine_closed(struct wi_metrics *m, const struct wi_wakeup *w, enum wi_outcome outcome, struct m_task *t)
{
	const struct wakeif_topology *topo = m->lay.topo;

	if (outcome != WI_OUT_RUN || m_same_llc(topo, w->pub.prev_cpu, w->chosen_cpu) || w->run_cpu >= m->lay.nr_cpus)
		return;
	if (m_same_llc(topo, w->pub.prev_cpu, w->run_cpu))
		m->affine.context[w->pub.context].bounce++;
	else if (t)
		watch(m, t, topo->group[WAKEIF_LLC][w->pub.prev_cpu], w->pub.context, w->run_ns);
}

void m_affine_fini(struct wi_metrics *m)
{
	free(m->affine.node);
	for (int c = 0; c < WAKEIF_NR_CONTEXTS; c++)
		m_hist_fini(&m->affine.context[c].latency);
}

static void add_matrix(struct wi_affine_results *r, struct wi_affine_part *part,
		       uint64_t n[WI_NR_DISTANCES][WI_NR_DISTANCES])
{
	for (int prev = 0; prev < WI_NR_DISTANCES; prev++) {
		for (int waker = 0; waker < WI_NR_DISTANCES; waker++) {
			part->considered += n[prev][waker];
			part->prev[prev] += n[prev][waker];
			part->waker[waker] += n[prev][waker];
			part->cross_llc += prev > WI_DIST_LLC ? n[prev][waker] : 0;
			r->matrix[prev][waker] += n[prev][waker];
		}
	}
}

static bool merge_part(struct wi_affine_part *into, const struct wi_affine_part *from)
{
	into->considered += from->considered;
	into->cross_llc += from->cross_llc;
	into->bounce += from->bounce;
	for (int i = 0; i < WI_NR_DISTANCES; i++) {
		into->prev[i] += from->prev[i];
		into->waker[i] += from->waker[i];
	}
	return wi_hist_merge(&into->latency, &from->latency);
}

bool m_affine_finish(struct wi_metrics *m, struct wi_results *r)
{
	for (int i = 0; i < WAKEIF_NR_CONTEXTS; i++) {
		struct m_affine_context *c = &m->affine.context[i];
		struct wi_affine_part *part = &r->affine.by_context[i];

		add_matrix(&r->affine, part, c->matrix);
		part->bounce = c->bounce;
		if (!m_hist_move(&c->latency, &part->latency) || !merge_part(&r->affine.all, part))
			return false;
	}
	return true;
}

/* ---- results ---- */

bool wi_affine_results_merge(struct wi_affine_results *into, const struct wi_affine_results *from)
{
	bool ok = merge_part(&into->all, &from->all);

	for (int c = 0; ok && c < WAKEIF_NR_CONTEXTS; c++)
		ok = merge_part(&into->by_context[c], &from->by_context[c]);
	for (int i = 0; i < WI_NR_DISTANCES; i++)
		for (int k = 0; k < WI_NR_DISTANCES; k++)
			into->matrix[i][k] += from->matrix[i][k];
	return ok;
}

void wi_affine_results_fini(struct wi_affine_results *r)
{
	wi_hist_fini(&r->all.latency);
	for (int c = 0; c < WAKEIF_NR_CONTEXTS; c++)
		wi_hist_fini(&r->by_context[c].latency);
	*r = (struct wi_affine_results){ 0 };
}
