/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analyzer/affine_pairs.h"

#include <stdlib.h>
#include <string.h>

struct wi_affine_pairs {
	bool by_waker, by_wakee, no_memory;
	struct wi_affine_pair *row;
	size_t nr, room;
	uint32_t *slot; /* row + 1; 0 free; a power of two, at most half full */
	size_t nr_slots;
};

struct wi_affine_pairs *wi_affine_pairs_new(bool by_waker, bool by_wakee)
{
	struct wi_affine_pairs *p = calloc(1, sizeof(*p));

	if (p) {
		p->by_waker = by_waker;
		p->by_wakee = by_wakee;
	}
	return p;
}

void wi_affine_pairs_free(struct wi_affine_pairs *p)
{
	if (!p)
		return;
	for (size_t i = 0; i < p->nr; i++)
		wi_hist_fini(&p->row[i].latency);
	free(p->row);
	free(p->slot);
	free(p);
}

static size_t hash(const struct wi_affine_pair *k)
{
	uint64_t h = ((uint64_t)k->waker << 32 | k->wakee) * 0x9e3779b97f4a7c15ull + k->context;

	return (size_t)(h ^ h >> 29);
}

static bool same(const struct wi_affine_pair *a, const struct wi_affine_pair *b)
{
	return a->waker == b->waker && a->wakee == b->wakee && a->context == b->context;
}

static size_t find_slot(const struct wi_affine_pairs *p, const struct wi_affine_pair *key)
{
	size_t i = hash(key) & (p->nr_slots - 1);

	while (p->slot[i] && !same(&p->row[p->slot[i] - 1], key))
		i = (i + 1) & (p->nr_slots - 1);
	return i;
}

static bool grow(struct wi_affine_pairs *p)
{
	size_t room = p->room ? 2 * p->room : 256;
	struct wi_affine_pair *row = realloc(p->row, room * sizeof(*row));
	uint32_t *slot = row ? calloc(2 * room, sizeof(*slot)) : NULL;

	if (row)
		p->row = row;
	if (!slot)
		return false;
	free(p->slot);
	p->slot = slot;
	p->nr_slots = 2 * room;
	p->room = room;
	for (size_t i = 0; i < p->nr; i++)
		p->slot[find_slot(p, &p->row[i])] = (uint32_t)i + 1;
	return true;
}

static struct wi_affine_pair *pair_of(struct wi_affine_pairs *p, const struct wi_affine_pair *key)
{
	size_t slot;

	if (p->nr == p->room && !grow(p))
		return NULL;
	slot = find_slot(p, key);
	if (!p->slot[slot]) {
		p->row[p->nr++] = *key;
		p->slot[slot] = (uint32_t)p->nr;
	}
	return &p->row[p->slot[slot] - 1];
}

/* prev_cpu and chosen share no LLC from this distance on. */
static bool crosses_llc(uint8_t distance)
{
	return distance == WI_DIST_NODE || distance == WI_DIST_REMOTE;
}

void wi_affine_pairs_sink(void *pairs, const struct wi_wakeup_verdict *v)
{
	struct wi_affine_pairs *p = pairs;
	struct wi_affine_pair key = { .context = WAKEIF_CTX_TASK }, *row;

	if (!v->decided || v->w->pub.waker_cpu == v->w->pub.prev_cpu || v->prev_distance >= WI_NR_DISTANCES ||
	    v->waker_distance >= WI_NR_DISTANCES)
		return;
	if (p->by_waker) {
		key.context = v->w->pub.context;
		key.waker = key.context == WAKEIF_CTX_TASK ? v->w->waker_comm : WI_NAME_NONE;
	}
	if (p->by_wakee)
		key.wakee = v->w->wakee->comm;
	row = pair_of(p, &key);
	if (!row) {
		p->no_memory = true;
		return;
	}
	row->considered++;
	row->prev[v->prev_distance]++;
	row->waker_distance[v->waker_distance]++;
	row->cross_llc += crosses_llc(v->prev_distance);
	if (v->outcome == WI_OUT_RUN && v->latency_ns != WI_TIME_UNKNOWN && !wi_hist_add(&row->latency, v->latency_ns))
		p->no_memory = true;
}

static int by_count(const void *a, const void *b, void *names)
{
	const struct wi_affine_pair *x = a, *y = b;
	int c;

	if (x->considered != y->considered)
		return x->considered > y->considered ? -1 : 1;
	c = strcmp(wi_names_get(names, x->waker), wi_names_get(names, y->waker));
	if (!c)
		c = strcmp(wi_names_get(names, x->wakee), wi_names_get(names, y->wakee));
	return c ? c : (int)x->context - (int)y->context;
}

bool wi_affine_pairs_rows(struct wi_affine_pairs *p, const struct wi_names *names, const struct wi_affine_pair **row,
			  size_t *nr)
{
	if (p->no_memory)
		return false;
	if (p->nr)
		qsort_r(p->row, p->nr, sizeof(*p->row), by_count, (void *)names);
	*row = p->row;
	*nr = p->nr;
	return true;
}
