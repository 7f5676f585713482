/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "parsers/merge.h"

#include <stdlib.h>

bool wi_merge_init(struct wi_merge *m, uint32_t nr_streams)
{
	*m = (struct wi_merge){ .leaves = 1, .winner = WI_MERGE_END };
	if (nr_streams > WI_MERGE_STREAMS)
		return false;
	while (m->leaves < nr_streams)
		m->leaves *= 2;
	m->node = calloc(m->leaves, sizeof(*m->node));
	m->head = calloc(m->leaves, sizeof(*m->head));
	if (!m->node || !m->head) {
		wi_merge_fini(m);
		return false;
	}
	return true;
}

void wi_merge_fini(struct wi_merge *m)
{
	free(m->node);
	free(m->head);
	m->node = NULL;
	m->head = NULL;
}

/* Winner of the subtree under node t; losers stay in their nodes. */
static uint64_t play(struct wi_merge *m, uint32_t t)
{
	if (t >= m->leaves) {
		const struct wi_merge_head *h = &m->head[t - m->leaves];

		uint64_t since_ns = h->ts_ns - m->base_ns;

		return h->live ? wi_merge_key(since_ns < WI_MERGE_FAR ? since_ns : WI_MERGE_FAR, h->rank, t - m->leaves)
			       : WI_MERGE_END;
	}
	uint64_t a = play(m, 2 * t), b = play(m, 2 * t + 1);

	m->node[t] = a < b ? b : a;
	return a < b ? a : b;
}

void wi_merge_build(struct wi_merge *m)
{
	m->base_ns = UINT64_MAX;
	for (uint32_t i = 0; i < m->leaves; i++)
		if (m->head[i].live && m->head[i].ts_ns < m->base_ns)
			m->base_ns = m->head[i].ts_ns;
	m->winner = play(m, 1);
}

bool wi_merge_rebase(struct wi_merge *m)
{
	if (m->winner == WI_MERGE_END)
		return false;
	wi_merge_build(m);
	return true;
}
