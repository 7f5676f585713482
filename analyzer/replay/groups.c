/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analyzer/replay/groups.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "models/pelt.h"

/* "/autogroup-12 nice 0": the number, which is never 0, and the weight of the nice value. false: names none. */
static bool parse(const char *text, uint64_t *number, uint32_t *shares)
{
	unsigned long long n;
	int nice = 0;

	if (!text || sscanf(text, "/autogroup-%llu nice %d", &n, &nice) < 1 || nice < -20 || nice > 19)
		return false;
	*number = n;
	*shares = wi_pelt_weight(120 + nice, false);
	return true;
}

static int by_number(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/* Sorts the numbers and leaves each once; returns how many. */
static size_t unique(uint64_t *number, size_t nr)
{
	size_t n = 0;

	qsort(number, nr, sizeof(*number), by_number);
	for (size_t i = 0; i < nr; i++)
		if (!n || number[i] != number[n - 1])
			number[n++] = number[i];
	return n;
}

static void find_largest(struct wi_groups *g, uint32_t *count)
{
	uint32_t most = 0;

	for (size_t i = 0; i < g->nr_members; i++)
		if (g->members[i].group && ++count[g->members[i].group - 1] > most) {
			most = count[g->members[i].group - 1];
			g->other = g->members[i].group;
		}
}

bool wi_groups_find(struct wi_groups *g, const struct wi_task_fact *facts, size_t nr_facts, struct wi_err *err)
{
	uint64_t *number = calloc(nr_facts + 1, sizeof(*number)), n;
	uint32_t *count = NULL, shares;
	size_t nr = 0;
	bool ok = false;

	memset(g, 0, sizeof(*g));
	for (size_t i = 0; number && i < nr_facts; i++)
		if (parse(facts[i].autogroup, &n, &shares))
			number[nr++] = n;
	if (number && !nr) {
		ok = true;
		goto out;
	}
	nr = number ? unique(number, nr) : 0;
	g->members = calloc(nr_facts + 1, sizeof(*g->members));
	g->shares = calloc(nr + 1, sizeof(*g->shares));
	count = calloc(nr + 1, sizeof(*count));
	if (!number || !g->members || !g->shares || !count) {
		wi_err_nomem(err);
		goto out;
	}
	g->nr = (uint32_t)nr;
	g->nr_members = nr_facts;
	for (size_t i = 0; i < nr_facts; i++) {
		g->members[i].pid = facts[i].pid;
		if (!parse(facts[i].autogroup, &n, &shares))
			continue;
		g->members[i].group =
			(uint32_t)((uint64_t *)bsearch(&n, number, nr, sizeof(n), by_number) - number) + 1;
		g->shares[g->members[i].group - 1] = shares;
	}
	find_largest(g, count);
	ok = true;
out:
	free(number);
	free(count);
	return ok;
}

void wi_groups_fini(struct wi_groups *g)
{
	free(g->members);
	free(g->shares);
	memset(g, 0, sizeof(*g));
}
