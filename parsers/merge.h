/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Tournament (loser tree) over N streams that are sorted by time: one comparison a level when the winner moves on,
 * without branches on the outcome. Ties have the order of parsers/event.h: rank of the event type, then number of the
 * stream.
 *
 * A key is one word: time since base_ns, rank, stream. Heads that lie too far ahead for it share the time "far"; when
 * the first of them wins, everything else has been delivered, and the tree is built again on a later base.
 */
#ifndef WI_MERGE_H
#define WI_MERGE_H

#include <stdbool.h>
#include <stdint.h>

#define WI_MERGE_RANK_BITS 5
#define WI_MERGE_RANKS ((1u << WI_MERGE_RANK_BITS) - 1) /* the last one is that of no key */
#define WI_MERGE_END UINT64_MAX				/* key of a stream that is exhausted */

struct wi_merge_head {
	uint64_t ts_ns;
	uint32_t rank;
	bool live;
};

struct wi_merge {
	uint32_t leaves;     /* power of two >= number of streams */
	uint32_t time_shift; /* bits of a key below its time */
	uint32_t rank_shift;
	uint64_t base_ns;
	uint64_t far_time;	    /* the time "far", since base_ns */
	uint64_t far;		    /* smallest key with that time */
	uint64_t *node;		    /* 1 .. leaves - 1: key of the loser of that match; 0: of the winner */
	struct wi_merge_head *head; /* leaves of them, as the caller told */
};

/* false: out of memory. All streams are exhausted then, up to wi_merge_start. */
bool wi_merge_init(struct wi_merge *m, uint32_t nr_streams);
void wi_merge_fini(struct wi_merge *m);

/* First head of a stream (live false: it has none), for all streams before wi_merge_build. rank < WI_MERGE_RANKS. */
static inline void wi_merge_start(struct wi_merge *m, uint32_t stream, uint64_t ts_ns, uint32_t rank, bool live)
{
	m->head[stream] = (struct wi_merge_head){ ts_ns, rank, live };
}

/* Plays all matches. */
void wi_merge_build(struct wi_merge *m);

/* The winner lies far ahead of the base, or there is none. false: none. */
bool wi_merge_rebase(struct wi_merge *m);

/* Is there a winner? */
static inline bool wi_merge_more(struct wi_merge *m)
{
	return __builtin_expect(m->node[0] < m->far, 1) || wi_merge_rebase(m);
}

/* Stream with the smallest key; only after wi_merge_more. */
static inline uint32_t wi_merge_winner(const struct wi_merge *m)
{
	return (uint32_t)m->node[0] & (m->leaves - 1);
}

/* Its rank. */
static inline uint32_t wi_merge_winner_rank(const struct wi_merge *m)
{
	return (uint32_t)(m->node[0] >> m->rank_shift) & WI_MERGE_RANKS;
}

static inline uint64_t wi_merge_key(const struct wi_merge *m, uint64_t ts_ns, uint32_t rank, uint32_t stream)
{
	uint64_t t = ts_ns - m->base_ns;

	return (t < m->far_time ? t : m->far_time) << m->time_shift | (uint64_t)rank << m->rank_shift | stream;
}

static inline void wi_merge_play(struct wi_merge *m, uint32_t stream, uint64_t key)
{
	for (uint32_t t = (stream + m->leaves) >> 1; t; t >>= 1) {
		uint64_t other = m->node[t];

		m->node[t] = key < other ? other : key;
		key = key < other ? key : other;
	}
	m->node[0] = key;
}

/* The winner's stream has moved on to this head, which is not earlier than the one before. */
static inline void wi_merge_replace(struct wi_merge *m, uint32_t stream, uint64_t ts_ns, uint32_t rank)
{
	m->head[stream].ts_ns = ts_ns;
	m->head[stream].rank = rank;
	wi_merge_play(m, stream, wi_merge_key(m, ts_ns, rank, stream));
}

/* The winner's stream is exhausted. */
static inline void wi_merge_end(struct wi_merge *m, uint32_t stream)
{
	m->head[stream].live = false;
	wi_merge_play(m, stream, WI_MERGE_END);
}

#endif
