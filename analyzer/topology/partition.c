/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analyzer/topology/partition.h"

#include <stdlib.h>
#include <string.h>

#include "analyzer/topology/raw.h"

struct key {
	uint64_t key;
	uint32_t cpu;
};

static int by_key(const void *a, const void *b)
{
	const struct key *x = a, *y = b;

	if (x->key != y->key)
		return x->key < y->key ? -1 : 1;
	return x->cpu < y->cpu ? -1 : x->cpu > y->cpu;
}

/* Sorted runs of equal keys become groups; returns how many CPUs got another representative than they had. */
static uint32_t regroup(uint32_t *rep, struct key *k, uint32_t nr)
{
	uint32_t changed = 0, low = 0;

	qsort(k, nr, sizeof(*k), by_key);
	for (uint32_t i = 0; i < nr; i++) {
		if (!i || k[i].key != k[i - 1].key)
			low = k[i].cpu;
		changed += rep[k[i].cpu] != low;
		rep[k[i].cpu] = low;
	}
	return changed;
}

bool topo_group(uint32_t *rep, const uint32_t *label, uint32_t n, struct wi_err *err)
{
	struct key *k = malloc((n ? n : 1) * sizeof(*k));
	uint32_t nr = 0;

	if (!k)
		return wi_err_nomem(err);
	for (uint32_t c = 0; c < n; c++) {
		if (label[c] != TOPO_NONE)
			k[nr++] = (struct key){ label[c], c };
		rep[c] = label[c];
	}
	regroup(rep, k, nr);
	free(k);
	return true;
}

bool topo_cut(uint32_t *rep, const uint32_t *by, uint32_t n, bool *cut, struct wi_err *err)
{
	struct key *k = malloc((n ? n : 1) * sizeof(*k));
	uint32_t nr = 0;

	if (!k)
		return wi_err_nomem(err);
	for (uint32_t c = 0; c < n; c++)
		if (rep[c] != TOPO_NONE)
			k[nr++] = (struct key){ (uint64_t)rep[c] << 32 | by[c], c };
	bool changed = regroup(rep, k, nr) > 0;
	if (cut)
		*cut = changed;
	free(k);
	return true;
}

static uint32_t find(uint32_t *parent, uint32_t c)
{
	while (parent[c] != c) {
		parent[c] = parent[parent[c]];
		c = parent[c];
	}
	return c;
}

bool topo_join(uint32_t *rep, const uint32_t *by, uint32_t n, bool *joined, struct wi_err *err)
{
	uint32_t *parent = malloc((n ? n : 1) * sizeof(*parent));
	bool changed = false;

	if (!parent)
		return wi_err_nomem(err);
	memcpy(parent, rep, n * sizeof(*parent));
	for (uint32_t c = 0; c < n; c++) {
		if (rep[c] == TOPO_NONE || by[c] == TOPO_NONE || rep[by[c]] == TOPO_NONE)
			continue;
		uint32_t a = find(parent, c), b = find(parent, by[c]);

		if (a == b)
			continue;
		changed = true;
		if (a < b)
			parent[b] = a;
		else
			parent[a] = b;
	}
	for (uint32_t c = 0; c < n; c++)
		if (rep[c] != TOPO_NONE)
			rep[c] = find(parent, c);
	if (joined)
		*joined = changed;
	free(parent);
	return true;
}

uint32_t topo_number(uint32_t *index, const uint32_t *rep, uint32_t n)
{
	uint32_t nr = 0;

	/* The representative is the lowest of its group, so it is numbered before the others are met. */
	for (uint32_t c = 0; c < n; c++) {
		if (rep[c] == TOPO_NONE)
			index[c] = TOPO_NONE;
		else
			index[c] = rep[c] == c ? nr++ : index[rep[c]];
	}
	return nr;
}
