/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Maximum matching of idle CPUs and waiting tasks under affinity, for one group of CPUs.
 *
 * Tasks that may run on every candidate of the group need no search: they take whatever the others leave. The others
 * are matched by augmenting paths, breadth first and without recursion. Tasks with one mask are alike, so a mask with k
 * waiting tasks tries k times. For CPU pairs a CPU with waiting tasks stands for all of them: its mask is their union.
 */
#include "analyzer/metrics/priv.h"

bool m_match_init(struct wi_metrics *m)
{
	struct m_waste *s = &m->waste;
	size_t n = m->lay.nr_cpus + 1;

	s->owner_of = malloc(n * sizeof(*s->owner_of));
	s->parent_of = malloc(n * sizeof(*s->parent_of));
	s->queue = malloc(n * sizeof(*s->queue));
	s->seen = malloc((m->lay.words + 1) * sizeof(*s->seen));
	return s->owner_of && s->parent_of && s->queue && s->seen;
}

void m_match_fini(struct wi_metrics *m)
{
	free(m->waste.owner_of);
	free(m->waste.parent_of);
	free(m->waste.queue);
	free(m->waste.seen);
	free(m->waste.adjacent);
}

/* Left side of the graph: nr adjacency masks in m->waste.adjacent, already cut down to the idle CPUs of the group. */
static wakeif_word *row_of(struct wi_metrics *m, uint32_t row)
{
	return m->waste.adjacent + (size_t)row * m->lay.words;
}

static bool reserve_rows(struct wi_metrics *m, uint32_t nr)
{
	struct m_waste *s = &m->waste;

	if (nr <= s->cap_adjacent)
		return true;
	nr = (nr + 15) & ~15u;
	wakeif_word *adjacent = realloc(s->adjacent, (size_t)nr * (m->lay.words + 1) * sizeof(*adjacent));
	if (!adjacent) {
		m->failed = true;
		return false;
	}
	s->adjacent = adjacent;
	s->cap_adjacent = nr;
	return true;
}

/* owner_of[cpu]: row that holds the CPU, or NONE. One more CPU for `row`, by changing others' CPUs if need be. */
static bool augment(struct wi_metrics *m, uint32_t row)
{
	struct m_waste *s = &m->waste;
	uint32_t head = 0, tail = 0, from_cpu = NONE, at_row = row;

	memset(s->seen, 0, m->lay.words * sizeof(*s->seen));
	for (;;) {
		const wakeif_word *adj = row_of(m, at_row);

		for (uint32_t i = 0; i < m->lay.words; i++) {
			for (wakeif_word left = adj[i] & ~s->seen[i]; left; left &= left - 1) {
				uint32_t c = i * 64 + (uint32_t)__builtin_ctzll(left);

				s->parent_of[c] = from_cpu;
				if (s->owner_of[c] != NONE) {
					s->queue[tail++] = c;
					continue;
				}
				while (c != NONE) { /* every CPU of the path goes to the row that found it */
					uint32_t before = s->parent_of[c];

					s->owner_of[c] = before == NONE ? row : s->owner_of[before];
					c = before;
				}
				return true;
			}
			s->seen[i] |= adj[i];
		}
		if (head == tail)
			return false;
		from_cpu = s->queue[head++];
		at_row = s->owner_of[from_cpu];
	}
}

static void forget_owners(struct wi_metrics *m, const wakeif_word *span)
{
	for (uint32_t i = 0; i < m->lay.words; i++)
		for (wakeif_word left = span[i] & m->waste.idle[i]; left; left &= left - 1)
			m->waste.owner_of[i * 64 + (uint32_t)__builtin_ctzll(left)] = NONE;
}

/* row |= mask & idle candidates of span; false: nothing in it. */
static bool add_idle(struct wi_metrics *m, wakeif_word *row, const wakeif_word *mask, const wakeif_word *span)
{
	wakeif_word any = 0;

	for (uint32_t i = 0; i < m->lay.words; i++) {
		row[i] |= mask[i] & span[i] & m->waste.idle[i];
		any |= row[i];
	}
	return any != 0;
}

/* Idle CPUs that the restricted tasks of the group can take, at most limit. */
static uint32_t match_tasks(struct wi_metrics *m, const struct m_waste_group *group, const wakeif_word *span,
			    uint32_t limit)
{
	uint32_t matched = 0;

	if (!reserve_rows(m, group->restricted.nr))
		return 0;
	forget_owners(m, span);
	for (uint32_t i = 0; i < group->restricted.nr && matched < limit; i++) {
		const struct m_mask_count *item = &group->restricted.item[i];
		wakeif_word *row = row_of(m, i);
		uint32_t got = 0;

		memset(row, 0, m->lay.words * sizeof(*row));
		if (!add_idle(m, row, m->waste.mask[item->mask].words, span))
			continue;
		while (got < item->nr && matched + got < limit && augment(m, i))
			got++;
		matched += got;
	}
	return matched;
}

/*
 * Has the CPU only waiting tasks that do not cover the group? Then row becomes the idle CPUs that any of them may take.
 * *any: whether there are such CPUs.
 */
static bool only_restricted(struct wi_metrics *m, const struct m_cpu *c, const wakeif_word *span, wakeif_word *row,
			    bool *any)
{
	uint32_t nr = 0;

	*any = false;
	memset(row, 0, m->lay.words * sizeof(*row));
	for (uint32_t k = 0; k < c->restricted.nr; k++) {
		const wakeif_word *mask = m->waste.mask[c->restricted.item[k].mask].words;

		if (m_mask_covers(m, mask, span))
			return false;
		nr += c->restricted.item[k].nr;
		*any |= add_idle(m, row, mask, span);
	}
	return nr == c->nr_wait;
}

/* Idle CPUs that the CPUs with waiting tasks can take, one each. nr_wcpus: CPUs with waiting tasks in the group. */
static uint32_t match_cpus(struct wi_metrics *m, const wakeif_word *span, uint32_t nr_wcpus, uint32_t nr_idle)
{
	struct m_waste *s = &m->waste;
	uint32_t nr = 0, nr_free = nr_wcpus, matched = 0;

	for (uint32_t i = 0; i < m->lay.words; i++) {
		for (wakeif_word left = span[i] & s->restricted_cpus[i]; left; left &= left - 1) {
			bool any;

			if (!reserve_rows(m, nr + 1))
				return 0;
			if (!only_restricted(m, &m->cpu[i * 64 + (uint32_t)__builtin_ctzll(left)], span, row_of(m, nr),
					     &any))
				continue;
			nr_free--;
			nr += any;
		}
	}
	forget_owners(m, span);
	for (uint32_t i = 0; i < nr && nr_free + matched < nr_idle; i++)
		matched += augment(m, i);
	return nr_free + matched < nr_idle ? nr_free + matched : nr_idle;
}

void m_match_group(struct wi_metrics *m, const struct m_waste_group *group, uint32_t *pairs, uint32_t *cpu_pairs)
{
	const wakeif_word *span = group->level->in_layout->span[group->number];
	uint32_t idle = group->nr_idle, nr_free = m_waiting_tasks(group->waiting) - group->nr_restricted;

	*pairs = idle;
	if (nr_free < idle)
		*pairs = nr_free + match_tasks(m, group, span, idle - nr_free);
	*cpu_pairs = match_cpus(m, span, m_waiting_cpus(group->waiting), idle);
}
