/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a source said -> checked, repaired, numbered, flat. */
#include <stdio.h>
#include <stdlib.h>

#include "analyzer/topology/domains.h"
#include "analyzer/topology/laid.h"
#include "analyzer/topology/partition.h"
#include "analyzer/topology/raw.h"
#include "analyzer/topology/topology.h"

#define MAX_PRESENT 32768u	   /* CPUs; no kernel has more than 8,192 */
#define MAX_NODES 1024u		   /* as many as a kernel can have */
#define MAX_SPAN_BYTES (16u << 20) /* a scope; 8,192 CPUs in pairs need 4 MiB */
#define OWN 0x80000000u		   /* labels made here; those of the sources are below */

void wi_topology_free(const struct wakeif_topology *topo)
{
	struct topology *t = (struct topology *)topo;

	if (!t)
		return;
	topo_arena_free(&t->arena);
	free(t);
}

static bool is(const uint64_t *mask, uint32_t cpu)
{
	return wi_mask_test(mask, cpu);
}

/* The label that all labelled CPUs share; TOPO_NONE if there are several, OWN if there is none. */
static uint32_t only_label(const struct topo_raw *raw, enum topo_part part)
{
	uint32_t only = OWN;

	wi_mask_for_each (c, raw->present, raw->nr_words) {
		uint32_t label = raw->label[part][c];

		if (label == TOPO_NONE || label == only)
			continue;
		if (only != OWN)
			return TOPO_NONE;
		only = label;
	}
	return only;
}

/* Packages and nodes of CPUs that the source has none for. */
static void complete_outer(struct topo_raw *raw)
{
	uint32_t package = only_label(raw, TOPO_PACKAGE), node = only_label(raw, TOPO_NODE), nodeless = 0;

	wi_mask_for_each (c, raw->present, raw->nr_words) {
		bool placed = raw->label[TOPO_PACKAGE][c] != TOPO_NONE || is(raw->online, c);

		if (raw->label[TOPO_PACKAGE][c] == TOPO_NONE)
			raw->label[TOPO_PACKAGE][c] = package != TOPO_NONE ? package : placed ? OWN : OWN + 1;
		if (raw->label[TOPO_NODE][c] != TOPO_NONE)
			continue;
		if (node == OWN || (node != TOPO_NONE && !is(raw->online, c))) {
			raw->label[TOPO_NODE][c] = node;
			continue;
		}
		uint32_t p = raw->label[TOPO_PACKAGE][c];
		raw->label[TOPO_NODE][c] = !is(raw->online, c) ? OWN + 1 : p >= OWN ? p + 2 : OWN + 4 + p;
		nodeless += is(raw->online, c);
	}
	if (nodeless)
		topo_note(raw, "%u online CPUs are in no node: a node of their own for each package", nodeless);
}

/* LLC of CPUs without one: that of a thread of the same core, else none is shared. */
static void complete_llc(struct topo_raw *raw)
{
	uint32_t *llc = raw->label[TOPO_LLC], *core = raw->label[TOPO_CORE], n = raw->nr_cpus, unknown = 0;

	if (!raw->has_cache_info) {
		raw->flags |= WAKEIF_TOPO_NO_CACHE_INFO;
		topo_note(raw, "no cache information: one LLC for each package");
		for (uint32_t c = 0; c < n; c++)
			llc[c] = raw->label[TOPO_PACKAGE][c];
		return;
	}
	/* core is a partition already: core[c] is the lowest CPU of c's core. */
	for (uint32_t c = 0; c < n; c++)
		if (core[c] != TOPO_NONE && llc[c] != TOPO_NONE && llc[core[c]] == TOPO_NONE)
			llc[core[c]] = llc[c];
	wi_mask_for_each (c, raw->present, raw->nr_words) {
		if (llc[c] != TOPO_NONE)
			continue;
		llc[c] = llc[core[c]];
		if (llc[c] != TOPO_NONE)
			continue;
		llc[c] = is(raw->online, c) ? OWN + 1 + core[c] : OWN;
		unknown += is(raw->online, c);
	}
	if (unknown)
		topo_note(raw, "%u online CPUs have no cache information: their cores share no LLC with others",
			  unknown);
}

/* Every present CPU gets a label in every part, every other none; then labels become partitions. */
static bool complete(struct topo_raw *raw, struct wi_err *err)
{
	uint32_t n = raw->nr_cpus;

	for (int p = 0; p < TOPO_NR_PARTS; p++)
		for (uint32_t c = 0; c < n; c++)
			if (!is(raw->present, c))
				raw->label[p][c] = TOPO_NONE;
	complete_outer(raw);
	wi_mask_for_each (c, raw->present, raw->nr_words)
		if (raw->label[TOPO_CORE][c] == TOPO_NONE)
			raw->label[TOPO_CORE][c] = OWN + c;
	if (!topo_group(raw->label[TOPO_CORE], raw->label[TOPO_CORE], n, err))
		return false;
	complete_llc(raw);
	wi_mask_for_each (c, raw->present, raw->nr_words)
		if (raw->label[TOPO_CLUSTER][c] == TOPO_NONE)
			raw->label[TOPO_CLUSTER][c] = OWN + raw->label[TOPO_CORE][c];
	return topo_group(raw->label[TOPO_CLUSTER], raw->label[TOPO_CLUSTER], n, err) &&
	       topo_group(raw->label[TOPO_LLC], raw->label[TOPO_LLC], n, err) &&
	       topo_group(raw->label[TOPO_NODE], raw->label[TOPO_NODE], n, err) &&
	       topo_group(raw->label[TOPO_PACKAGE], raw->label[TOPO_PACKAGE], n, err);
}

/* core within cluster within LLC within node. */
static bool nest(struct topo_raw *raw, struct wi_err *err)
{
	uint32_t **l = raw->label, n = raw->nr_cpus;
	bool core_cut, llc_cut, llc_joined, cluster_cut, cluster_joined;

	if (!topo_cut(l[TOPO_CORE], l[TOPO_NODE], n, &core_cut, err) ||
	    !topo_cut(l[TOPO_LLC], l[TOPO_NODE], n, &llc_cut, err) ||
	    !topo_join(l[TOPO_LLC], l[TOPO_CORE], n, &llc_joined, err) ||
	    !topo_cut(l[TOPO_CLUSTER], l[TOPO_LLC], n, &cluster_cut, err) ||
	    !topo_join(l[TOPO_CLUSTER], l[TOPO_CORE], n, &cluster_joined, err))
		return false;
	if (core_cut) {
		raw->flags |= WAKEIF_TOPO_CONTRADICTION;
		topo_note(raw, "threads of one core are in different nodes: the core was cut at the node border");
	}
	if (llc_cut && raw->has_cache_info) {
		raw->flags |= WAKEIF_TOPO_LLC_SPLIT;
		topo_note(raw, "a last-level cache is shared across nodes: cut at the node border as the kernel does");
	}
	if (llc_joined) {
		raw->flags |= WAKEIF_TOPO_CONTRADICTION;
		topo_note(raw, "threads of one core have different last-level caches: taken as one");
	}
	if (cluster_cut && !llc_cut)
		topo_note(raw, "a cluster reaches beyond its last-level cache: cut there");
	return true;
}

/* Packages and nodes may contain one another, either way; partial overlap is a contradiction (seen in virtual
 * machines). */
static bool check_packages(struct topo_raw *raw, struct wi_err *err)
{
	const uint32_t *package = raw->label[TOPO_PACKAGE], *node = raw->label[TOPO_NODE];
	uint32_t n = raw->nr_cpus;
	uint32_t *both = malloc(n * sizeof(*both)), *size = calloc(3 * (size_t)n, sizeof(*size));
	bool ok = both && size;

	if (!ok) {
		wi_err_nomem(err);
		goto out;
	}
	memcpy(both, package, n * sizeof(*both));
	ok = topo_cut(both, node, n, NULL, err);
	if (!ok)
		goto out;
	uint32_t *in_package = size, *in_node = size + n, *in_both = size + 2 * (size_t)n;
	for (uint32_t c = 0; c < n; c++)
		if (package[c] != TOPO_NONE && is(raw->online, c)) {
			in_package[package[c]]++;
			in_node[node[c]]++;
			in_both[both[c]]++;
		}
	for (uint32_t c = 0; c < n; c++) {
		if (!in_both[c] || in_both[c] == in_package[package[c]] || in_both[c] == in_node[node[c]])
			continue;
		raw->flags |= WAKEIF_TOPO_CONTRADICTION;
		topo_note(raw, "package %d and node %d cross: %u CPUs in both, the package has %u, the node %u",
			  raw->package_id[c], raw->node_id[c], in_both[c], in_package[package[c]], in_node[node[c]]);
	}
out:
	free(both);
	free(size);
	return ok;
}

/* Members of each group; the caller frees it. *shared: groups with more than one. NULL: out of memory. */
static uint32_t *count_members(const uint32_t *index, uint32_t n, uint32_t nr, uint32_t *shared)
{
	uint32_t *size = calloc(nr, sizeof(*size));

	*shared = 0;
	for (uint32_t c = 0; size && c < n; c++)
		if (index[c] != TOPO_NONE)
			*shared += ++size[index[c]] == 2;
	return size;
}

/* Groups that could be: no kernel has so many nodes, or so many CPUs that the sets of a scope would need that much. */
static bool check_sizes(const struct topo_raw *raw, const char *source, struct wi_err *err)
{
	const uint32_t n = raw->nr_cpus, *node = raw->label[TOPO_NODE];
	uint32_t nr_nodes = 0, shared = 0;
	bool ok = true;

	for (int p = 0; ok && p < TOPO_NR_PARTS; p++) {
		uint32_t *size = count_members(raw->label[p], n, n, &shared);

		if (!size)
			return wi_err_nomem(err);
		free(size);
		ok = (uint64_t)shared * raw->nr_words * sizeof(uint64_t) <= MAX_SPAN_BYTES;
	}
	if (!ok)
		return wi_err_at(err, WI_EREFUSED, source, WI_NO_OFFSET, "an impossible number of CPUs: %u",
				 wi_mask_weight(raw->present, raw->nr_words));
	for (uint32_t c = 0; c < n; c++)
		nr_nodes += node[c] == c;
	return nr_nodes <= MAX_NODES ||
	       wi_err_at(err, WI_EREFUSED, source, WI_NO_OFFSET, "an impossible number of nodes: %u", nr_nodes);
}

/* ---- laying out ---- */

static const uint64_t *keep_mask(struct topology *t, const uint64_t *mask)
{
	return topo_intern_mask(&t->arena, mask, t->pub.nr_words);
}

static const void *keep_array(struct topology *t, const void *array, size_t size)
{
	void *p = topo_alloc(&t->arena, size);

	if (p)
		memcpy(p, array, size);
	return p;
}

/*
 * Spans of single CPUs, which would take CPUs squared bits on a flat machine: the mask of CPU c is a window of
 * nr_words words into a row of zeros with bit c % 64 set in its middle word, of which there are 64.
 */
static const wakeif_word *span_of_one(struct topology *t, uint32_t c)
{
	size_t words = t->pub.nr_words, row = 2 * words - 1;

	if (!t->ones) {
		t->ones = topo_alloc(&t->arena, 64 * row * sizeof(*t->ones));
		for (uint32_t bit = 0; t->ones && bit < 64; bit++)
			t->ones[bit * row + words - 1] = 1ull << bit;
	}
	return t->ones ? t->ones + c % 64 * row + words - 1 - c / 64 : NULL;
}

static bool fill_spans(struct topology *t, const uint32_t *index, const wakeif_word **span, uint32_t nr)
{
	const uint32_t n = t->pub.nr_cpus;
	uint32_t shared, *size = count_members(index, n, nr, &shared);
	wakeif_word **of = calloc(nr, sizeof(*of)), *bits;
	bool ok = size && of;

	bits = ok ? topo_alloc(&t->arena, (size_t)shared * t->pub.nr_words * sizeof(*bits)) : NULL;
	ok = bits != NULL;
	for (uint32_t c = 0; ok && c < n; c++) {
		uint32_t g = index[c];

		if (g == TOPO_NONE)
			continue;
		if (size[g] == 1) {
			span[g] = span_of_one(t, c);
			ok = span[g] != NULL;
			continue;
		}
		if (!of[g]) {
			span[g] = of[g] = bits;
			bits += t->pub.nr_words;
		}
		wi_mask_set(of[g], c);
	}
	free(size);
	free(of);
	return ok;
}

/* Group numbers and spans of one scope; a scope equal to the one before shares its arrays. */
static bool lay_scope(struct topology *t, enum wakeif_scope s, const uint32_t *rep)
{
	struct wakeif_topology *p = &t->pub;
	uint32_t n = p->nr_cpus;
	uint32_t *index = topo_alloc(&t->arena, n * sizeof(*index));

	if (!index)
		return false;
	uint32_t nr = topo_number(index, rep, n);
	p->nr_groups[s] = nr;
	if (s && nr == p->nr_groups[s - 1] && !memcmp(index, p->group[s - 1], n * sizeof(*index))) {
		p->group[s] = p->group[s - 1];
		p->span[s] = p->span[s - 1];
		return true;
	}
	const wakeif_word **span = topo_alloc(&t->arena, nr * sizeof(*span));
	if (!span || !fill_spans(t, index, span, nr))
		return false;
	p->group[s] = index;
	p->span[s] = span;
	return true;
}

static uint32_t most_threads(const struct wakeif_topology *p)
{
	uint32_t most = 1;

	for (uint32_t g = 0; g < p->nr_groups[WAKEIF_CORE]; g++) {
		uint32_t nr = 0;

		for (uint32_t w = 0; w < p->nr_words; w++)
			nr += (uint32_t)__builtin_popcountll(p->span[WAKEIF_CORE][g][w] & p->online[w]);
		if (nr > most)
			most = nr;
	}
	return most;
}

static bool lay_distances(struct topology *t, const struct topo_raw *raw)
{
	struct wakeif_topology *p = &t->pub;
	uint32_t nr = p->nr_groups[WAKEIF_NODE];

	if (!raw->nr_dist)
		return true;
	uint32_t *dist = topo_alloc(&t->arena, (size_t)nr * nr * sizeof(*dist));
	uint32_t *at = topo_alloc(&t->arena, nr * sizeof(*at));
	if (!dist || !at)
		return false;
	for (uint32_t g = 0; g < nr; g++) {
		int32_t id = raw->node_id[wi_mask_next(p->span[WAKEIF_NODE][g], p->nr_words, 0)];

		at[g] = TOPO_NONE;
		for (uint32_t i = 0; i < raw->nr_dist && id >= 0; i++)
			if (raw->dist_node[i] == id)
				at[g] = i;
	}
	for (uint32_t g = 0; g < nr; g++)
		for (uint32_t h = 0; h < nr; h++)
			if (at[g] != TOPO_NONE && at[h] != TOPO_NONE)
				dist[(size_t)g * nr + h] = raw->dist[(size_t)at[g] * raw->nr_dist + at[h]];
	p->nodes_distance = dist;
	return true;
}

static bool lay_out(struct topology *t, struct topo_raw *raw)
{
	struct wakeif_topology *p = &t->pub;
	uint32_t n = raw->nr_cpus, *package = topo_alloc(&t->arena, n * sizeof(*package)), *machine;

	p->size = sizeof(*p);
	p->nr_cpus = n;
	p->nr_words = raw->nr_words;
	p->present = keep_mask(t, raw->present);
	p->online = keep_mask(t, raw->online);
	p->isolated = keep_mask(t, raw->isolated);
	p->core_id = keep_array(t, raw->core_id, n * sizeof(*raw->core_id));
	p->package_id = keep_array(t, raw->package_id, n * sizeof(*raw->package_id));
	p->node_id = keep_array(t, raw->node_id, n * sizeof(*raw->node_id));
	p->capacity = keep_array(t, raw->capacity, n * sizeof(*raw->capacity));
	if (!package || !p->present || !p->online || !p->isolated || !p->core_id || !p->package_id || !p->node_id ||
	    !p->capacity)
		return false;
	p->nr_packages = topo_number(package, raw->label[TOPO_PACKAGE], n);
	p->package = package;
	if (!lay_scope(t, WAKEIF_CORE, raw->label[TOPO_CORE]) ||
	    !lay_scope(t, WAKEIF_CLUSTER, raw->label[TOPO_CLUSTER]) ||
	    !lay_scope(t, WAKEIF_LLC, raw->label[TOPO_LLC]) || !lay_scope(t, WAKEIF_NODE, raw->label[TOPO_NODE]))
		return false;
	machine = topo_alloc(&t->arena, n * sizeof(*machine));
	if (!machine)
		return false;
	uint32_t first = wi_mask_next(raw->present, raw->nr_words, 0);
	for (uint32_t c = 0; c < n; c++)
		machine[c] = is(raw->present, c) ? first : TOPO_NONE;
	if (!lay_scope(t, WAKEIF_MACHINE, machine))
		return false;
	p->smt = most_threads(p);
	return lay_distances(t, raw);
}

static bool lay_texts(struct topology *t, const struct topo_raw *raw, const char *source)
{
	char more[40] = "";

	if (raw->nr_notes > TOPO_MAX_NOTES)
		snprintf(more, sizeof(more), "; and %u more", raw->nr_notes - TOPO_MAX_NOTES);
	char *note = topo_alloc(&t->arena, raw->note_len + sizeof(more));
	if (!note)
		return false;
	memcpy(note, raw->note ? raw->note : "", raw->note_len);
	memcpy(note + raw->note_len, more, sizeof(more));
	t->pub.note = note;
	t->pub.source = topo_strdup(&t->arena, source);
	return t->pub.source != NULL;
}

/* Sets of CPUs that make sense together. False: no CPU, or too many. */
static bool check_sets(struct topo_raw *raw, const char *source, struct wi_err *err)
{
	uint32_t nr = wi_mask_weight(raw->present, raw->nr_words);

	if (!nr)
		return wi_err_at(err, WI_EREFUSED, source, WI_NO_OFFSET, "no CPU in this topology");
	if (nr > MAX_PRESENT)
		return wi_err_at(err, WI_EREFUSED, source, WI_NO_OFFSET, "an impossible number of CPUs: %u", nr);
	for (uint32_t w = 0; w < raw->nr_words; w++) {
		raw->online[w] &= raw->present[w];
		raw->isolated[w] &= raw->present[w];
	}
	if (wi_mask_empty(raw->online, raw->nr_words)) {
		topo_note(raw, "no CPU is said to be online: all are taken as online");
		memcpy(raw->online, raw->present, raw->nr_words * sizeof(*raw->online));
	}
	return true;
}

const struct wakeif_topology *topo_build(struct topo_raw *raw, const char *source, struct wi_err *err)
{
	struct topology *t = NULL;

	if (!check_sets(raw, source, err) || !complete(raw, err) || !nest(raw, err) || !check_packages(raw, err) ||
	    !check_sizes(raw, source, err))
		return NULL;
	t = calloc(1, sizeof(*t));
	if (!t || !lay_out(t, raw)) {
		wi_err_nomem(err);
		goto fail;
	}
	t->pub.flags = raw->flags;
	if (!topo_make_domains(&t->pub, raw, &t->arena, err))
		goto fail;
	if (!lay_texts(t, raw, source)) {
		wi_err_nomem(err);
		goto fail;
	}
	return &t->pub;
fail:
	wi_topology_free(t ? &t->pub : NULL);
	return NULL;
}
