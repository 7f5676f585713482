/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is due when: a heap ordered by time, then by the order in which it was put in. And draws. */
#include <stdlib.h>

#include "analyzer/sim/machine.h"

static bool before(const struct sim_event *a, const struct sim_event *b)
{
	return a->at_ns < b->at_ns || (a->at_ns == b->at_ns && a->seq < b->seq);
}

void s_push(struct sim *s, uint64_t at_ns, enum sim_event_type type, uint32_t id, uint32_t gen)
{
	struct sim_event ev = { at_ns, s->seq++, id, gen, (uint8_t)type };
	size_t i;

	if (s->nr_heap == s->heap_room) {
		size_t room = s->heap_room ? s->heap_room * 2 : 256;
		struct sim_event *more = realloc(s->heap, room * sizeof(*more));

		if (!more) {
			s->failed = true;
			return;
		}
		s->heap = more;
		s->heap_room = room;
	}
	s->nr_ticks += type == EV_TICK;
	for (i = s->nr_heap++; i && before(&ev, &s->heap[(i - 1) / 4]); i = (i - 1) / 4)
		s->heap[i] = s->heap[(i - 1) / 4];
	s->heap[i] = ev;
}

bool s_pop(struct sim *s, struct sim_event *ev)
{
	if (!s->nr_heap)
		return false;
	*ev = s->heap[0];
	s->nr_ticks -= ev->type == EV_TICK;

	struct sim_event last = s->heap[--s->nr_heap];
	size_t i = 0;

	for (;;) {
		size_t first = i * 4 + 1, best = first;

		if (first >= s->nr_heap)
			break;
		for (size_t c = first + 1; c < first + 4 && c < s->nr_heap; c++)
			if (before(&s->heap[c], &s->heap[best]))
				best = c;
		if (!before(&s->heap[best], &last))
			break;
		s->heap[i] = s->heap[best];
		i = best;
	}
	if (s->nr_heap)
		s->heap[i] = last;
	return true;
}

/* By what it is for, not by a stream: two policies draw alike where they agree. */
uint64_t s_hash(const struct sim *s, uint64_t a, uint64_t b, uint64_t purpose)
{
	uint64_t h = s->o.seed * 0x9e3779b97f4a7c15ull + a * 0xbf58476d1ce4e5b9ull + b * 0x94d049bb133111ebull +
		     purpose * 0xd6e8feb86659fd93ull;

	h = (h ^ h >> 30) * 0xbf58476d1ce4e5b9ull;
	h = (h ^ h >> 27) * 0x94d049bb133111ebull;
	return h ^ h >> 31;
}

enum purpose { FOR_GAP = 1, FOR_TRANSIT, FOR_START };

struct table {
	const struct wi_wake_noise *noise;
	uint32_t nr;
};

/* Wakeups that nobody decides are over sooner: they draw among their like, unless that is rare. */
#define DRAWS 8u

static const struct wi_wake_noise *pick(const struct sim *s, const struct sim_task *t, struct table from,
					enum purpose purpose)
{
	const struct wi_wake_noise *n = NULL;

	for (uint32_t i = 0; i < DRAWS; i++) {
		n = &from.noise[s_hash(s, s_number(s, t), (uint64_t)t->nr_blocks << 32 | t->op, purpose + 16 * i) %
				from.nr];
		if (!((n->flags ^ t->noise.flags) & WI_WAKE_STAYS))
			break;
	}
	return n;
}

/*
 * A recorded wakeup of this kind; where there are too few for a distribution, of the kinds that differ in less and less
 * important bits: a what-if may make thousands of wakeups of a kind that was recorded once, with an outlier.
 */
#define ENOUGH 32u

static const struct wi_wake_noise *draw(const struct sim *s, const struct sim_task *t, int which, uint32_t kind,
					enum purpose purpose)
{
	static const uint8_t like[] = { 0,
					WI_WAKE_IRQ,
					WI_WAKE_REMOTE,
					WI_WAKE_IRQ | WI_WAKE_REMOTE,
					WI_WAKE_BUSY,
					WI_WAKE_BUSY | WI_WAKE_IRQ,
					WI_WAKE_BUSY | WI_WAKE_REMOTE,
					WI_WAKE_BUSY | WI_WAKE_IRQ | WI_WAKE_REMOTE };

	struct table most = { NULL, 0 };

	for (uint32_t i = 0; i < sizeof(like) && most.nr < ENOUGH; i++) {
		uint32_t k = kind ^ like[i];
		struct table from = which == 0 ? (struct table){ s->w->draw[k].noise, s->w->draw[k].nr }
				    : which == 1
					    ? (struct table){ s->w->draw_idle[k].noise, s->w->draw_idle[k].nr }
					    : (struct table){ s->w->draw_preempt[k].noise, s->w->draw_preempt[k].nr };

		if (from.nr > most.nr)
			most = from;
	}
	return most.nr ? pick(s, t, most, purpose) : NULL;
}

static uint64_t known(uint16_t code)
{
	return code == WI_NOISE_UNKNOWN ? 0 : wi_noise_decode(code);
}

static bool own(struct sim *s, const struct sim_task *t, uint16_t code)
{
	/* What a waker does on its own CPU takes as long whether or not somebody runs there. */
	uint8_t like = t->kind & WI_WAKE_REMOTE ? 0xff : (uint8_t)~WI_WAKE_BUSY;
	bool is = s->o.noise == WI_NOISE_OWN && code != WI_NOISE_UNKNOWN && !((t->noise.kind ^ t->kind) & like);

	s->result->noise_own += is;
	s->result->noise_drawn += !is;
	return is;
}

uint64_t s_gap_ns(struct sim *s, const struct sim_task *t)
{
	const struct wi_wake_noise *n;

	if (s->o.noise == WI_NOISE_NONE)
		return 0;
	if (s->o.noise == WI_NOISE_OWN && t->noise.gap != WI_NOISE_UNKNOWN)
		return known(t->noise.gap);
	n = draw(s, t, 0, t->kind, FOR_GAP);
	return n ? known(n->gap) : 0;
}

uint64_t s_transit_ns(struct sim *s, const struct sim_task *t)
{
	const struct wi_wake_noise *n;

	if (s->o.noise == WI_NOISE_NONE)
		return 0;
	if (own(s, t, t->noise.transit))
		return known(t->noise.transit);
	/* What comes after the decision is drawn; the decision was when it was. */
	n = draw(s, t, 0, t->kind, FOR_TRANSIT);
	if (!n || n->transit == WI_NOISE_UNKNOWN)
		return 0;
	uint64_t transit_ns = known(n->transit), gap_ns = known(n->gap);

	return s->now_ns - t->waking_ns + (transit_ns > gap_ns ? transit_ns - gap_ns : 0);
}

uint64_t s_start_ns(struct sim *s, const struct sim_task *t, bool preempts)
{
	const struct wi_wake_noise *n;
	bool like = !!(t->noise.flags & WI_WAKE_PREEMPTED) == preempts;

	if (s->o.noise == WI_NOISE_NONE)
		return 0;
	if (like && own(s, t, t->noise.start))
		return known(t->noise.start);
	n = draw(s, t, preempts ? 2 : 1, preempts ? t->kind | WI_WAKE_BUSY : t->kind & ~(uint32_t)WI_WAKE_BUSY,
		 FOR_START);
	return n ? known(n->start) : 0;
}
