/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analyzer/workload/pairs.h"

#include <stdlib.h>

static uint64_t key_of(uint32_t a, uint32_t b)
{
	return ((uint64_t)a << 32 | b) + 1;
}

static struct wi_pair *place(const struct wi_pairs *m, uint64_t key)
{
	size_t i = (key * 0x9e3779b97f4a7c15ull >> 32) & (m->room - 1);

	while (m->at[i].key && m->at[i].key != key)
		i = (i + 1) & (m->room - 1);
	return &m->at[i];
}

static bool grow(struct wi_pairs *m)
{
	struct wi_pairs bigger = { .room = m->room ? m->room * 2 : 64 };

	bigger.at = calloc(bigger.room, sizeof(*bigger.at));
	if (!bigger.at)
		return false;
	for (size_t i = 0; i < m->room; i++)
		if (m->at[i].key)
			*place(&bigger, m->at[i].key) = m->at[i];
	bigger.nr = m->nr;
	free(m->at);
	*m = bigger;
	return true;
}

uint32_t *wi_pairs_get(struct wi_pairs *m, uint32_t a, uint32_t b, bool *fresh)
{
	if (m->nr * 2 >= m->room && !grow(m))
		return NULL;
	struct wi_pair *p = place(m, key_of(a, b));

	*fresh = !p->key;
	m->nr += *fresh;
	p->key = key_of(a, b);
	return &p->value;
}

uint32_t wi_pairs_value(const struct wi_pairs *m, uint32_t a, uint32_t b)
{
	const struct wi_pair *p = m->room ? place(m, key_of(a, b)) : NULL;

	return p && p->key ? p->value : 0;
}
