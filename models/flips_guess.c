/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "models/flips_guess.h"

#include <stdlib.h>
#include <string.h>

#include "models/fair.h"

#define NONE UINT32_MAX
#define SECOND_NS 1000000000ull
#define FINE 32u /* candidates 0 .. 31 one by one, then every eighth up to 248 */
#define NR_VALUES (FINE + 28u)
#define MARGIN 3 /* votes that a value needs more than none has: single choices have other reasons, too */
#define MAX_LOOKS 20000u

struct ancestor {
	uint16_t best; /* value */
	uint32_t looks, nr_votes;
	uint32_t nr_tasks; /* that descend from it; 0: free, next_free is valid */
	uint32_t next_free;
	int32_t votes[NR_VALUES]; /* for, less against */
};

struct descent {
	uint32_t ancestor; /* index of those made; NONE: slot not in use */
	uint8_t halvings;
	uint64_t decay_ns; /* 0: did not wake anybody yet */
};

struct wi_flips_guess {
	struct descent *task;
	struct ancestor *ancestor;
	uint32_t nr_tasks, nr_ancestors, size, first_free;
};

static uint32_t value(uint32_t i)
{
	return i < FINE ? i : FINE + (i - FINE) * 8;
}

static uint32_t new_ancestor(struct wi_flips_guess *g)
{
	uint32_t i = g->first_free;

	if (i != NONE) {
		g->first_free = g->ancestor[i].next_free;
	} else {
		if (g->nr_ancestors == g->size) {
			uint32_t size = g->size ? g->size * 2 : 64;
			struct ancestor *a = realloc(g->ancestor, size * sizeof(*a));

			if (!a)
				return NONE;
			g->ancestor = a;
			g->size = size;
		}
		i = g->nr_ancestors++;
	}
	memset(&g->ancestor[i], 0, sizeof(*g->ancestor));
	return i;
}

/* A slot that is given anew: its task before is gone. */
static void forget(struct wi_flips_guess *g, uint32_t slot)
{
	uint32_t i = g->task[slot].ancestor;

	g->task[slot].ancestor = NONE;
	if (i != NONE && --g->ancestor[i].nr_tasks == 0) {
		g->ancestor[i].next_free = g->first_free;
		g->first_free = i;
	}
}

struct wi_flips_guess *wi_flips_guess_new(uint32_t nr_cpus)
{
	struct wi_flips_guess *g = calloc(1, sizeof(*g));

	if (g)
		g->first_free = NONE;
	for (uint32_t c = 0; g && c < nr_cpus; c++)
		if (!wi_flips_guess_began(g, c, NONE)) {
			wi_flips_guess_free(g);
			return NULL;
		}
	return g;
}

void wi_flips_guess_free(struct wi_flips_guess *g)
{
	if (!g)
		return;
	free(g->task);
	free(g->ancestor);
	free(g);
}

bool wi_flips_guess_began(struct wi_flips_guess *g, uint32_t slot, uint32_t parent)
{
	if (slot >= g->nr_tasks) {
		uint32_t n = slot < 32 ? 64 : slot < NONE / 2 ? slot * 2 : slot + 1;
		struct descent *t = realloc(g->task, n * sizeof(*t));

		if (!t)
			return false;
		for (uint32_t i = g->nr_tasks; i < n; i++)
			t[i] = (struct descent){ .ancestor = NONE };
		g->task = t;
		g->nr_tasks = n;
	}
	struct descent d = { .ancestor = NONE };

	if (parent < g->nr_tasks && parent != slot)
		d = g->task[parent];
	forget(g, slot);
	if (d.ancestor == NONE)
		d = (struct descent){ .ancestor = new_ancestor(g) };
	if (d.ancestor == NONE)
		return false;
	g->ancestor[d.ancestor].nr_tasks++;
	g->task[slot] = d;
	return true;
}

void wi_flips_guess_wakes(struct wi_flips_guess *g, uint32_t slot, uint64_t now_ns)
{
	if (slot >= g->nr_tasks)
		return;
	struct descent *t = &g->task[slot];

	if (!t->decay_ns) {
		t->decay_ns = now_ns;
	} else if (now_ns - t->decay_ns > SECOND_NS) {
		t->decay_ns = now_ns;
		t->halvings += t->halvings < 16;
	}
}

uint32_t wi_flips_guess_extra(const struct wi_flips_guess *g, uint32_t slot)
{
	if (slot >= g->nr_tasks || g->task[slot].ancestor == NONE)
		return 0;
	return (uint32_t)g->ancestor[g->task[slot].ancestor].best >> g->task[slot].halvings;
}

static struct ancestor *ancestor_of(struct wi_flips_guess *g, uint32_t slot)
{
	return slot < g->nr_tasks && g->task[slot].ancestor != NONE ? &g->ancestor[g->task[slot].ancestor] : NULL;
}

/* Nothing of the beginning is left after a few halvings. */
static bool matters(const struct wi_flips_guess *g, uint32_t slot)
{
	return g->task[slot].halvings < 6;
}

bool wi_flips_guess_open(struct wi_flips_guess *g, uint32_t waker, uint32_t wakee)
{
	struct ancestor *a = ancestor_of(g, waker), *b = ancestor_of(g, wakee);

	if (!a || !b || (!matters(g, waker) && !matters(g, wakee)) || (a->looks >= MAX_LOOKS && b->looks >= MAX_LOOKS))
		return false;
	a->looks++;
	if (b != a)
		b->looks++;
	return true;
}

static void settle(struct ancestor *a)
{
	uint32_t best = 0;

	for (uint32_t i = 1; i < NR_VALUES; i++)
		if (a->votes[i] > a->votes[best])
			best = i;
	a->nr_votes++;
	a->best = a->votes[best] >= a->votes[0] + MARGIN + (int32_t)(a->nr_votes / 8) ? (uint16_t)value(best) : 0;
}

void wi_flips_guess_vote(struct wi_flips_guess *g, uint32_t waker, uint32_t wakee, uint32_t waker_flips,
			 uint32_t wakee_flips, uint32_t factor, bool wide)
{
	struct ancestor *a = ancestor_of(g, waker), *b = ancestor_of(g, wakee);

	if (!a || !b)
		return;
	uint32_t ha = g->task[waker].halvings, hb = g->task[wakee].halvings;
	uint32_t known_a = waker_flips + (a->best >> ha), known_b = wakee_flips + (b->best >> hb);

	for (uint32_t i = 0; i < NR_VALUES; i++) {
		uint32_t va = waker_flips + (value(i) >> ha), vb = wakee_flips + (value(i) >> hb);

		if (a == b) {
			a->votes[i] += wi_fair_wide(va, vb, factor) == wide ? 1 : -1;
			continue;
		}
		a->votes[i] += wi_fair_wide(va, known_b, factor) == wide ? 1 : -1;
		b->votes[i] += wi_fair_wide(known_a, vb, factor) == wide ? 1 : -1;
	}
	settle(a);
	if (b != a)
		settle(b);
}
