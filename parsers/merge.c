/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "parsers/merge.h"

#include <stdlib.h>

bool wi_merge_init(struct wi_merge *m, uint32_t nr_streams)
{
	m->leaves = 1;
	while (m->leaves < nr_streams)
		m->leaves *= 2;
	m->node = calloc(m->leaves, sizeof(*m->node));
	m->start = calloc(m->leaves, sizeof(*m->start));
	if (!m->node || !m->start) {
		wi_merge_fini(m);
		return false;
	}
	for (uint32_t i = 0; i < m->leaves; i++)
		m->start[i] = WI_MERGE_END;
	m->node[0] = WI_MERGE_END;
	return true;
}

void wi_merge_fini(struct wi_merge *m)
{
	free(m->node);
	free(m->start);
	m->node = m->start = NULL;
}

/* Winner of the subtree under node t; losers stay in their nodes. */
static wi_merge_key play(struct wi_merge *m, uint32_t t)
{
	if (t >= m->leaves)
		return m->start[t - m->leaves];

	wi_merge_key a = play(m, 2 * t), b = play(m, 2 * t + 1);
	m->node[t] = a < b ? b : a;
	return a < b ? a : b;
}

void wi_merge_build(struct wi_merge *m)
{
	m->node[0] = play(m, 1);
}
