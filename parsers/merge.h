/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Tournament (loser tree) over N sorted streams: one comparison a level when the winner moves on, without branches on
 * the outcome. A key is 128 bits: time stamp, then rank of the event type, then number of the stream, so that ties
 * have the order of parsers/event.h.
 */
#ifndef WI_MERGE_H
#define WI_MERGE_H

#include <stdbool.h>
#include <stdint.h>

typedef unsigned __int128 wi_merge_key;

#define WI_MERGE_END (~(wi_merge_key)0) /* key of a stream that is exhausted */

struct wi_merge {
	uint32_t leaves;     /* power of two >= number of streams */
	wi_merge_key *node;  /* 1 .. leaves - 1: key of the loser of that match; 0: of the winner */
	wi_merge_key *start; /* leaves keys, set by the caller before wi_merge_build */
};

/* rank: below 2^16; stream: below 2^32. */
static inline wi_merge_key wi_merge_key_make(uint64_t ts, uint32_t rank, uint32_t stream)
{
	return (wi_merge_key)ts << 64 | (uint64_t)rank << 32 | stream;
}

/* false: out of memory. */
bool wi_merge_init(struct wi_merge *m, uint32_t nr_streams);
void wi_merge_fini(struct wi_merge *m);

/* Plays all matches over m->start. */
void wi_merge_build(struct wi_merge *m);

static inline bool wi_merge_done(const struct wi_merge *m)
{
	return m->node[0] == WI_MERGE_END;
}

/* Stream with the smallest key; only when not done. */
static inline uint32_t wi_merge_winner(const struct wi_merge *m)
{
	return (uint32_t)m->node[0];
}

/* The winner's stream has moved on to this key. */
static inline void wi_merge_replace(struct wi_merge *m, uint32_t stream, wi_merge_key key)
{
	for (uint32_t t = (stream + m->leaves) >> 1; t; t >>= 1) {
		wi_merge_key other = m->node[t];
		bool wins = key < other;

		m->node[t] = wins ? other : key;
		key = wins ? key : other;
	}
	m->node[0] = key;
}

#endif
