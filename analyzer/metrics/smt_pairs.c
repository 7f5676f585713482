/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The table of pairs of task groups that shared a core, and how co-run results merge. */
#include <stdio.h>

#include "analyzer/metrics/priv.h"

#define MAX_PAIRS 262144u

static uint32_t key_hash(uint64_t key)
{
	return (uint32_t)((key ^ key >> 29) * 0x9e3779b97f4a7c15ull >> 32);
}

static struct m_pair *place_of(struct m_pair *table, uint32_t mask, uint64_t key)
{
	uint32_t h = key_hash(key) & mask;

	while (table[h].key && table[h].key != key)
		h = (h + 1) & mask;
	return &table[h];
}

static bool grow(struct m_smt *s)
{
	uint32_t size = (s->pair_mask + 1) * 2;
	struct m_pair *pair = calloc(size, sizeof(*pair));

	if (!pair)
		return false;
	for (uint32_t i = 0; i <= s->pair_mask; i++)
		if (s->pair[i].key)
			*place_of(pair, size - 1, s->pair[i].key) = s->pair[i];
	free(s->pair);
	s->pair = pair;
	s->pair_mask = size - 1;
	return true;
}

void m_pair_expect(const struct wi_metrics *m, uint64_t key)
{
	__builtin_prefetch(&m->smt.pair[key_hash(key) & m->smt.pair_mask], 1);
}

void m_pair_add(struct wi_metrics *m, uint64_t key, uint64_t ns)
{
	struct m_smt *s = &m->smt;
	struct m_pair *p = place_of(s->pair, s->pair_mask, key);

	if (!p->key && s->nr_pairs == MAX_PAIRS) {
		s->folded_ns += ns;
		return;
	}
	if (!p->key) {
		p->key = key;
		s->nr_pairs++;
	}
	p->ns += ns;
	if (s->nr_pairs * 2 > s->pair_mask && !grow(s))
		m->failed = true;
}

/* Name id, in the results' table, of a group number of smt.c. */
static uint32_t label(struct wi_metrics *m, struct wi_names *names, uint32_t group, bool *ok)
{
	char number[16];
	const char *text = "(unknown)";

	switch (m->opt.smt_group) {
	case WI_GROUP_COMM:
		return m_name_copy(names, m->opt.names, group, ok);
	case WI_GROUP_TASK:
		return m_name_copy(names, m->smt.task_names, group, ok);
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
	for (uint32_t i = 0; i <= s->pair_mask; i++) {
		uint64_t key = s->pair[i].key - 1;

		if (!s->pair[i].key)
			continue;
		struct wi_smt_pair_row *row = &r->smt.pair[r->smt.nr_pair++];
		*row = (struct wi_smt_pair_row){ label(m, r->names, (uint32_t)(key >> 32), &ok),
						 label(m, r->names, (uint32_t)key, &ok), s->pair[i].ns };
		order(row, r->names);
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
	return merge_threads(into, from) && merge_cores(into, from) && merge_pairs(into, names, from, from_names) &&
	       wi_cookie_results_merge(&into->cookies, names, &from->cookies, from_names);
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
	wi_cookie_results_fini(&r->cookies);
	*r = (struct wi_smt_results){ 0 };
}
