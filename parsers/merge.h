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

/* From the lowest bit: stream, rank, time. */
#define WI_MERGE_STREAM_BITS 16
#define WI_MERGE_RANK_BITS 5
#define WI_MERGE_TIME_SHIFT (WI_MERGE_STREAM_BITS + WI_MERGE_RANK_BITS)
#define WI_MERGE_STREAMS (1u << WI_MERGE_STREAM_BITS)
#define WI_MERGE_RANKS ((1u << WI_MERGE_RANK_BITS) - 1)	 /* the last one is that of no key */
#define WI_MERGE_END UINT64_MAX				 /* key of a stream that is exhausted */
#define WI_MERGE_FAR (UINT64_MAX >> WI_MERGE_TIME_SHIFT) /* the time "far", since base_ns: 2.4 hours */
#define WI_MERGE_FAR_KEY (WI_MERGE_FAR << WI_MERGE_TIME_SHIFT)

struct wi_merge_head {
	uint64_t ts_ns;
	uint32_t rank;
	bool live;
};

struct wi_merge {
	uint32_t leaves; /* power of two >= number of streams */
	uint64_t base_ns;
	uint64_t winner;	    /* its key; WI_MERGE_END: none */
	uint64_t *node;		    /* 1 .. leaves - 1: key of the loser of that match */
	struct wi_merge_head *head; /* leaves of them, as the caller told; afterwards of those alone that are "far" */
};

/* false: out of memory, or more than WI_MERGE_STREAMS. All streams are exhausted then, up to wi_merge_start. */
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

/* Is there a winner? The address of m goes nowhere, so a local copy of it can stay in registers. */
static inline bool wi_merge_more(struct wi_merge *m)
{
	if (__builtin_expect(m->winner < WI_MERGE_FAR_KEY, 1))
		return true;
	struct wi_merge rebased = *m;
	bool more = wi_merge_rebase(&rebased);

	*m = rebased;
	return more;
}

/* Stream with the smallest key; only after wi_merge_more. */
static inline uint32_t wi_merge_winner(const struct wi_merge *m)
{
	return (uint32_t)m->winner & (WI_MERGE_STREAMS - 1);
}

/* Its rank. */
static inline uint32_t wi_merge_winner_rank(const struct wi_merge *m)
{
	return (uint32_t)(m->winner >> WI_MERGE_STREAM_BITS) & WI_MERGE_RANKS;
}

/* since_ns: since the base. */
static inline uint64_t wi_merge_key(uint64_t since_ns, uint32_t rank, uint32_t stream)
{
	return since_ns << WI_MERGE_TIME_SHIFT | rank << WI_MERGE_STREAM_BITS | stream;
}

static inline void wi_merge_play(struct wi_merge *m, uint32_t stream, uint64_t key)
{
	for (uint64_t t = (stream + m->leaves) >> 1; t; t >>= 1) {
		uint64_t other = m->node[t];

		m->node[t] = key < other ? other : key;
		key = key < other ? key : other;
	}
	m->winner = key;
}

/* The winner's stream has moved on to this head, which is not earlier than the one before. */
static inline void wi_merge_replace(struct wi_merge *m, uint32_t stream, uint64_t ts_ns, uint32_t rank)
{
	uint64_t since_ns = ts_ns - m->base_ns;

	if (__builtin_expect(since_ns >= WI_MERGE_FAR, 0)) {
		m->head[stream].ts_ns = ts_ns;
		m->head[stream].rank = rank;
		since_ns = WI_MERGE_FAR;
	}
	wi_merge_play(m, stream, wi_merge_key(since_ns, rank, stream));
}

/* The winner's stream is exhausted. */
static inline void wi_merge_end(struct wi_merge *m, uint32_t stream)
{
	m->head[stream].live = false;
	wi_merge_play(m, stream, WI_MERGE_END);
}

#endif
