/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analyzer/replay/sync.h"

#include <stdlib.h>

struct votes { /* by fold; set minus not set is what counts */
	uint64_t set[2], clear[2];
};

struct pair {
	struct wi_sync_key key;
	bool used;
	struct votes votes;
};

struct wi_sync_table {
	struct pair *pair;
	uint32_t mask, nr; /* mask + 1 places, at most half of them used */
	struct votes context[WAKEIF_NR_CONTEXTS], all;
};

struct wi_sync_table *wi_sync_table_new(void)
{
	struct wi_sync_table *t = calloc(1, sizeof(*t));

	if (!t)
		return NULL;
	t->mask = 255;
	t->pair = calloc(t->mask + 1u, sizeof(*t->pair));
	if (!t->pair) {
		free(t);
		return NULL;
	}
	return t;
}

void wi_sync_table_free(struct wi_sync_table *t)
{
	if (!t)
		return;
	free(t->pair);
	free(t);
}

static bool same(const struct wi_sync_key *a, const struct wi_sync_key *b)
{
	return a->waker == b->waker && a->wakee == b->wakee && a->context == b->context;
}

/* Its place, or the free one where it belongs. */
static struct pair *place_of(struct pair *pair, uint32_t mask, const struct wi_sync_key *key)
{
	uint64_t h = ((uint64_t)key->waker << 32 | key->wakee) * 0x9e3779b97f4a7c15u + key->context;

	h ^= h >> 29;
	h *= 0xbf58476d1ce4e5b9u;
	for (uint32_t i = (uint32_t)(h >> 32);; i++)
		if (!pair[i & mask].used || same(&pair[i & mask].key, key))
			return &pair[i & mask];
}

static bool grow(struct wi_sync_table *t)
{
	uint32_t mask = t->mask * 2 + 1;
	struct pair *pair = calloc((size_t)mask + 1, sizeof(*pair));

	if (!pair)
		return false;
	for (uint32_t i = 0; i <= t->mask; i++)
		if (t->pair[i].used)
			*place_of(pair, mask, &t->pair[i].key) = t->pair[i];
	free(t->pair);
	t->pair = pair;
	t->mask = mask;
	return true;
}

static void count(struct votes *v, unsigned int fold, bool set)
{
	if (set)
		v->set[fold]++;
	else
		v->clear[fold]++;
}

bool wi_sync_vote(struct wi_sync_table *t, const struct wi_sync_key *key, uint64_t decision, bool set)
{
	unsigned int fold = decision & 1;
	struct pair *p = place_of(t->pair, t->mask, key);

	count(&t->all, fold, set);
	if (key->context < WAKEIF_NR_CONTEXTS)
		count(&t->context[key->context], fold, set);
	if (!p->used) {
		if (t->nr >= WI_SYNC_PAIRS)
			return true;
		if (t->nr * 2 >= t->mask) {
			if (!grow(t))
				return false;
			p = place_of(t->pair, t->mask, key);
		}
		p->key = *key;
		p->used = true;
		t->nr++;
	}
	count(&p->votes, fold, set);
	return true;
}

bool wi_sync_ask(const struct wi_sync_table *t, const struct wi_sync_key *key, uint64_t decision,
		 enum wi_sync_source *source)
{
	unsigned int other = !(decision & 1);
	const struct votes *v = &place_of(t->pair, t->mask, key)->votes; /* a free place has none */

	*source = WI_SYNC_BY_PAIR;
	if (v->set[other] != v->clear[other])
		return v->set[other] > v->clear[other];
	*source = WI_SYNC_BY_CONTEXT;
	v = &t->context[key->context < WAKEIF_NR_CONTEXTS ? key->context : WAKEIF_CTX_UNKNOWN];
	if (v->set[other] != v->clear[other])
		return v->set[other] > v->clear[other];
	*source = WI_SYNC_BY_DEFAULT;
	return t->all.set[other] > t->all.clear[other];
}

struct wi_sync_totals wi_sync_totals(const struct wi_sync_table *t)
{
	const struct votes *v = &t->all;

	return (struct wi_sync_totals){ t->nr, v->set[0] + v->set[1] + v->clear[0] + v->clear[1], v->set[0] + v->set[1] };
}
