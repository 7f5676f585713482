/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Clients and servers. A client asks (wakes its server) and sleeps until the server answers (wakes it). A request that
 * finds the server awake, at work for others, leaves no event: the trace shows an answer that nobody asked for. Without
 * it the server of a simulation would answer before it was asked, or wait for one client while others have asked.
 */
#include <string.h>

#include "analyzer/workload/extract_priv.h"
#include "analyzer/workload/pairs.h"

/* A client's sleeps are ended by its server, and it is seen to ask every now and then. */
#define SERVED_PERCENT 90u
#define SEEN_PERCENT 20u
/*
 * What a server does not do, so few are accidents: to end a sleep although it slept itself when that began, and was not
 * asked; to go to sleep itself while a client waits (it would collect the requests of all before it answers one).
 */
#define DENIED_PERCENT 10u

/* What one task does to another: the wakes that ended its blocks. */
struct side {
	uint32_t asked, denied; /* of them: answers to a request that was seen; not those of a server */
	uint32_t last;		/* wake, plus 1; 0 none */
};

struct talks {
	struct wi_extract *x;
	const struct wi_pairs *woke; /* waker, wakee -> times */
	const uint32_t *nr_woken;    /* by wakee: by tasks */
	struct wi_pairs number;	     /* waker, wakee -> side, plus 1 */
	struct side *side;
	size_t nr, room;
	uint32_t *last; /* by task: wake that ended its last block, plus 1 */
};

static struct side *side_of(struct talks *t, uint32_t waker, uint32_t wakee)
{
	bool fresh;
	uint32_t *nr = wi_pairs_get(&t->number, waker, wakee, &fresh);

	if (!nr || (fresh && !wi_work_grow((void **)&t->side, t->nr, &t->room, sizeof(*t->side))))
		return NULL;
	if (fresh) {
		t->side[t->nr] = (struct side){ 0 };
		*nr = (uint32_t)t->nr++;
	}
	return &t->side[*nr];
}

/* Of the wake k, that ended a sleep: did the sleeper ask the waker in the burst before it? */
static bool asked(const struct talks *t, const struct wake *k, uint32_t last_request)
{
	uint32_t began = t->last[k->wakee];
	uint64_t burst_ns = began ? x_wake(t->x, began - 1)->wake_ns : 0;

	return last_request && x_wake(t->x, last_request - 1)->wake_ns >= burst_ns;
}

/* Did its waker sleep when the sleep that k ended began? A request would have woken it. */
static bool waker_slept(const struct talks *t, const struct wake *k)
{
	const struct wake *l = t->last[k->waker] ? x_wake(t->x, t->last[k->waker] - 1) : NULL;

	return l && l->block_ns <= k->block_ns && k->block_ns < l->wake_ns;
}

/* Did its waker go to sleep in the sleep that k ended? */
static bool postponed(const struct talks *t, const struct wake *k)
{
	return t->last[k->waker] && x_wake(t->x, t->last[k->waker] - 1)->block_ns > k->block_ns;
}

static bool exclusive(const struct talks *t, uint32_t waker, uint32_t wakee)
{
	return (uint64_t)wi_pairs_value(t->woke, waker, wakee) * 100 >= (uint64_t)t->nr_woken[wakee] * SERVED_PERCENT;
}

/* Two that only have each other are partners: neither waits while the other serves somebody else. */
static bool serves(const struct talks *t, uint32_t server, uint32_t client, const struct side *answers)
{
	uint64_t times = wi_pairs_value(t->woke, server, client), seen = wi_pairs_value(t->woke, client, server);

	if (x_task(t->x, server)->about.kthread || x_task(t->x, client)->about.kthread)
		return false;
	return answers->asked && (uint64_t)answers->denied * 100 <= (uint64_t)answers->asked * DENIED_PERCENT &&
	       seen * 100 >= times * SEEN_PERCENT && exclusive(t, server, client) && !exclusive(t, client, server);
}

/* An answer with its request, seen or not. */
static void mark(struct talks *t, struct wake *k, bool seen, uint32_t last_request)
{
	k->noise.flags |= WI_WAKE_ANSWER;
	if (seen)
		x_wake(t->x, last_request - 1)->noise.flags |= WI_WAKE_REQUEST;
	else
		k->unseen_request = true;
	k->last_request = last_request;
}

/* One pass over all wakes, in time. marking: the second one. false: out of memory. */
static bool pass(struct talks *t, bool marking, struct wi_pairs *served)
{
	for (size_t i = 0; i < t->nr; i++)
		t->side[i].last = 0;
	memset(t->last, 0, t->x->task.nr * sizeof(*t->last));
	for (uint32_t i = 0; i < t->x->wake.nr; i++) {
		struct wake *k = x_wake(t->x, i);
		bool fresh, seen, slept, late;

		if (k->fate != WAKE_ENDED_BLOCK)
			continue;
		if (!k->internal) {
			t->last[k->wakee] = i + 1;
			continue;
		}
		struct side *answers = side_of(t, k->wakee, k->waker); /* may move the other one */
		uint32_t last_request = answers ? answers->last : 0;

		answers = answers ? side_of(t, k->waker, k->wakee) : NULL;
		if (!answers)
			return false;
		seen = asked(t, k, last_request);
		slept = waker_slept(t, k);
		late = postponed(t, k);
		if (!marking) {
			answers->asked += seen && !late;
			answers->denied += late || (!seen && slept && answers->last);
		} else if (serves(t, k->waker, k->wakee, answers)) {
			uint32_t *yes = wi_pairs_get(served, k->waker, k->wakee, &fresh);

			if (!yes)
				return false;
			*yes = 1;
			if (!late && (seen || (!slept && answers->last)))
				mark(t, k, seen, last_request);
		}
		answers->last = t->last[k->wakee] = i + 1;
	}
	return true;
}

bool wi_talk_find(struct wi_extract *x, const struct wi_pairs *woke, const uint32_t *nr_woken, struct wi_pairs *served)
{
	struct talks t = { .x = x, .woke = woke, .nr_woken = nr_woken };
	bool ok;

	t.last = calloc(x->task.nr + 1, sizeof(*t.last));
	ok = t.last && pass(&t, false, served) && pass(&t, true, served);
	free(t.last);
	free(t.side);
	free(t.number.at);
	return ok;
}
