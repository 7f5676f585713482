/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The table of pairs of task groups that shared a core, and how co-run results merge. */
#include <stdio.h>

#include "analyzer/metrics/priv.h"

#define MAX_PAIRS 262144u

static uint32_t key_hash(uint64_t key)
{
	return (uint32_t)((key ^ key >> 29) * 0x9e3779b97f4a7c15ull >> 32);
}

static void hash_put(struct m_pair_hash *hash, uint32_t mask, uint64_t key, uint32_t index)
{
	uint32_t h = key_hash(key) & mask;

	while (hash[h].index)
		h = (h + 1) & mask;
	hash[h] = (struct m_pair_hash){ key, index + 1 };
}

static bool hash_grow(struct m_smt *s)
{
	uint32_t size = (s->pair_hash_mask + 1) * 2;
	struct m_pair_hash *hash = calloc(size, sizeof(*hash));

	if (!hash)
		return false;
	for (uint32_t i = 0; i < s->nr_pairs; i++)
		hash_put(hash, size - 1, s->pair_key[i], i);
	free(s->pair_hash);
	s->pair_hash = hash;
	s->pair_hash_mask = size - 1;
	return true;
}

static bool reserve(struct m_smt *s)
{
	if (s->nr_pairs < s->cap_pairs)
		return true;
	uint32_t cap = s->cap_pairs ? s->cap_pairs * 2 : 256;
	uint64_t *key = realloc(s->pair_key, cap * sizeof(*key));
	if (!key)
		return false;
	s->pair_key = key;
	uint64_t *ns = realloc(s->pair_ns, cap * sizeof(*ns));
	if (!ns)
		return false;
	s->pair_ns = ns;
	s->cap_pairs = cap;
	return true;
}

static uint32_t pair_add(struct wi_metrics *m, uint64_t key)
{
	struct m_smt *s = &m->smt;

	if (s->nr_pairs == MAX_PAIRS)
		return NONE;
	if (!reserve(s) || ((s->nr_pairs + 1) * 4 > s->pair_hash_mask && !hash_grow(s))) {
		m->failed = true;
		return NONE;
	}
	s->pair_key[s->nr_pairs] = key;
	s->pair_ns[s->nr_pairs] = 0;
	hash_put(s->pair_hash, s->pair_hash_mask, key, s->nr_pairs);
	return s->nr_pairs++;
}

uint32_t m_pair_index(struct wi_metrics *m, uint64_t key)
{
	const struct m_smt *s = &m->smt;

	for (uint32_t h = key_hash(key) & s->pair_hash_mask; s->pair_hash[h].index; h = (h + 1) & s->pair_hash_mask)
		if (s->pair_hash[h].key == key)
			return s->pair_hash[h].index - 1;
	return pair_add(m, key);
}

/* Name id, in the results' table, of a group number of smt.c. */
static uint32_t label(struct wi_metrics *m, struct wi_names *names, uint32_t group, bool *ok)
{
	char number[16];
	const char *text = "(unknown)";

	switch (m->opt.smt_group) {
	case WI_GROUP_COMM:
		return m_name_copy(names, m->opt.names, group, ok);
	case WI_GROUP_TGID:
		snprintf(number, sizeof(number), "%u", group);
		text = group ? number : text;
		break;
	case WI_GROUP_CGROUP:
		if (group != WI_NAME_NONE)
			return m_name_copy(names, m->opt.names, group, ok);
		break;
	case WI_GROUP_MAP:
		text = group < m->nr_map ? m->map_group[group] : "(other)";
		break;
	}
	uint32_t id = wi_names_intern(names, text, strlen(text));
	if (id == WI_NAME_NONE)
		*ok = false;
	return id;
}

static void order(struct wi_smt_pair_row *p, const struct wi_names *names)
{
	if (strcmp(wi_names_get(names, p->a), wi_names_get(names, p->b)) <= 0)
		return;
	uint32_t swap = p->a;
	p->a = p->b;
	p->b = swap;
}

static int cmp_key(const void *a, const void *b)
{
	const struct wi_smt_pair_row *x = a, *y = b;

	if (x->a != y->a)
		return x->a < y->a ? -1 : 1;
	return x->b < y->b ? -1 : x->b > y->b;
}

static int cmp_output(const void *a, const void *b, void *names)
{
	const struct wi_smt_pair_row *x = a, *y = b;

	if (x->ns != y->ns)
		return x->ns > y->ns ? -1 : 1;
	int d = strcmp(wi_names_get(names, x->a), wi_names_get(names, y->a));
	return d ? d : strcmp(wi_names_get(names, x->b), wi_names_get(names, y->b));
}

/* Rows with one key become one; then the order of output. Equal texts have equal ids in one table. */
static void fold_and_sort(struct wi_smt_pair_row *row, size_t *nr, struct wi_names *names)
{
	size_t n = 0;

	if (!*nr)
		return;
	qsort(row, *nr, sizeof(*row), cmp_key);
	for (size_t i = 0; i < *nr; i++) {
		if (n && !cmp_key(&row[n - 1], &row[i]))
			row[n - 1].ns += row[i].ns;
		else
			row[n++] = row[i];
	}
	*nr = n;
	qsort_r(row, n, sizeof(*row), cmp_output, names);
}

bool m_pairs_finish(struct wi_metrics *m, struct wi_results *r)
{
	const struct m_smt *s = &m->smt;
	bool ok = true;

	if (!s->nr_pairs)
		return true;
	r->smt.pair = calloc(s->nr_pairs, sizeof(*r->smt.pair));
	if (!r->smt.pair)
		return false;
	for (uint32_t i = 0; i < s->nr_pairs; i++) {
		struct wi_smt_pair_row *row = &r->smt.pair[r->smt.nr_pair];

		if (!s->pair_ns[i])
			continue;
		*row = (struct wi_smt_pair_row){ label(m, r->names, (uint32_t)(s->pair_key[i] >> 32), &ok),
						 label(m, r->names, (uint32_t)s->pair_key[i], &ok), s->pair_ns[i] };
		order(row, r->names);
		r->smt.nr_pair++;
	}
	fold_and_sort(r->smt.pair, &r->smt.nr_pair, r->names);
	return ok;
}

/* ---- results ---- */

static bool merge_threads(struct wi_smt_results *into, const struct wi_smt_results *from)
{
	if (from->nr_threads > into->nr_threads || !into->busy_threads_ns) {
		uint64_t *ns = realloc(into->busy_threads_ns, (from->nr_threads + 1) * sizeof(*ns));

		if (!ns)
			return false;
		for (uint32_t i = into->busy_threads_ns ? into->nr_threads + 1 : 0; i <= from->nr_threads; i++)
			ns[i] = 0;
		into->busy_threads_ns = ns;
		into->nr_threads = from->nr_threads;
	}
	for (uint32_t i = 0; from->busy_threads_ns && i <= from->nr_threads; i++)
		into->busy_threads_ns[i] += from->busy_threads_ns[i];
	return true;
}

static int cmp_core(const void *a, const void *b)
{
	const struct wi_smt_core_row *x = a, *y = b;

	if (x->id != y->id)
		return x->id < y->id ? -1 : 1;
	return strcmp(x->cpus, y->cpus);
}

static bool add_core(struct wi_smt_results *into, const struct wi_smt_core_row *from)
{
	size_t k = 0;

	while (k < into->nr_core && cmp_core(&into->core[k], from))
		k++;
	struct wi_smt_core_row *row = &into->core[k];
	if (k == into->nr_core) {
		*row = (struct wi_smt_core_row){ .id = from->id, .nr_threads = from->nr_threads };
		row->cpus = strdup(from->cpus);
		row->busy_threads_ns = calloc(from->nr_threads + 1, sizeof(*row->busy_threads_ns));
		into->nr_core++;
		if (!row->cpus || !row->busy_threads_ns)
			return false;
	}
	row->unknown_ns += from->unknown_ns;
	for (uint32_t i = 0; i <= from->nr_threads && i <= row->nr_threads; i++)
		row->busy_threads_ns[i] += from->busy_threads_ns[i];
	return true;
}

static bool merge_cores(struct wi_smt_results *into, const struct wi_smt_results *from)
{
	if (!from->nr_core)
		return true;
	struct wi_smt_core_row *row = realloc(into->core, (into->nr_core + from->nr_core) * sizeof(*row));
	if (!row)
		return false;
	into->core = row;
	for (size_t i = 0; i < from->nr_core; i++)
		if (!add_core(into, &from->core[i]))
			return false;
	qsort(into->core, into->nr_core, sizeof(*into->core), cmp_core);
	return true;
}

static bool merge_pairs(struct wi_smt_results *into, struct wi_names *names, const struct wi_smt_results *from,
			const struct wi_names *from_names)
{
	bool ok = true;

	if (!from->nr_pair)
		return true;
	struct wi_smt_pair_row *row = realloc(into->pair, (into->nr_pair + from->nr_pair) * sizeof(*row));
	if (!row)
		return false;
	into->pair = row;
	for (size_t i = 0; i < from->nr_pair; i++)
		row[into->nr_pair++] = (struct wi_smt_pair_row){ m_name_copy(names, from_names, from->pair[i].a, &ok),
								 m_name_copy(names, from_names, from->pair[i].b, &ok),
								 from->pair[i].ns };
	fold_and_sort(row, &into->nr_pair, names);
	return ok;
}

bool wi_smt_results_merge(struct wi_smt_results *into, struct wi_names *names, const struct wi_smt_results *from,
			  const struct wi_names *from_names)
{
	into->present |= from->present;
	into->unknown_ns += from->unknown_ns;
	into->pairs_folded_ns += from->pairs_folded_ns;
	for (int i = 0; i < WI_NR_WIDE; i++)
		into->avoidable_corun_ns[i] += from->avoidable_corun_ns[i];
	return merge_threads(into, from) && merge_cores(into, from) && merge_pairs(into, names, from, from_names);
}

void wi_smt_results_fini(struct wi_smt_results *r)
{
	for (size_t i = 0; i < r->nr_core; i++) {
		free(r->core[i].cpus);
		free(r->core[i].busy_threads_ns);
	}
	free(r->core);
	free(r->pair);
	free(r->busy_threads_ns);
	*r = (struct wi_smt_results){ 0 };
}
