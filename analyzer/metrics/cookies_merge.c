/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Results of core-scheduling cookies: names, order, merge, release. */
#include "analyzer/metrics/priv.h"

#define X(id, name) name,
static const char *const class_name[] = { WI_COOKIE_CLASSES(X) };
static const char *const share_name[] = { WI_COOKIE_SHARES(X) };
static const char *const kind_name[] = { WI_COOKIE_KINDS(X) };
#undef X

const char *wi_cookie_class_name(enum wi_cookie_class c)
{
	return class_name[c];
}

const char *wi_cookie_share_name(enum wi_cookie_share s)
{
	return share_name[s];
}

const char *wi_cookie_kind_name(enum wi_cookie_kind k)
{
	return kind_name[k];
}

void m_cookie_time_add(struct wi_cookie_time *into, const struct wi_cookie_time *from)
{
	for (int i = 0; i < WI_NR_COOKIE_CLASSES; i++)
		into->ns[i] += from->ns[i];
	into->idle_min_ns += from->idle_min_ns;
}

uint64_t wi_cookie_group_run_ns(const struct wi_cookie_group_row *g)
{
	uint64_t ns = 0;

	for (int i = 0; i < WI_NR_COOKIE_SHARES; i++)
		ns += g->ns[i];
	return ns;
}

static int cmp_group(const void *a, const void *b, void *names)
{
	const struct wi_cookie_group_row *x = a, *y = b;
	uint64_t run_x = wi_cookie_group_run_ns(x), run_y = wi_cookie_group_run_ns(y);

	if (run_x != run_y)
		return run_x > run_y ? -1 : 1;
	if (x->kind != y->kind)
		return x->kind < y->kind ? -1 : 1;
	return strcmp(wi_names_get(names, x->name), wi_names_get(names, y->name));
}

void m_cookie_groups_sort(struct wi_cookie_results *r, struct wi_names *names)
{
	if (r->nr_group)
		qsort_r(r->group, r->nr_group, sizeof(*r->group), cmp_group, names);
}

static int cmp_core(const void *a, const void *b)
{
	const struct wi_cookie_core_row *x = a, *y = b;

	if (x->id != y->id)
		return x->id < y->id ? -1 : 1;
	return strcmp(x->cpus, y->cpus);
}

static bool merge_cores(struct wi_cookie_results *into, const struct wi_cookie_results *from)
{
	struct wi_cookie_core_row *row = realloc(into->core, (into->nr_core + from->nr_core + 1) * sizeof(*row));

	if (!row)
		return false;
	into->core = row;
	for (size_t i = 0; i < from->nr_core; i++) {
		size_t k = 0;

		while (k < into->nr_core && cmp_core(&row[k], &from->core[i]))
			k++;
		if (k == into->nr_core) {
			row[k] = (struct wi_cookie_core_row){ .id = from->core[i].id };
			row[k].cpus = strdup(from->core[i].cpus);
			if (!row[k].cpus)
				return false;
			into->nr_core++;
		}
		m_cookie_time_add(&row[k].time, &from->core[i].time);
	}
	if (into->nr_core)
		qsort(row, into->nr_core, sizeof(*row), cmp_core);
	return true;
}

/* Equal texts have equal ids in one table. */
static int cmp_group_key(const void *a, const void *b)
{
	const struct wi_cookie_group_row *x = a, *y = b;

	if (x->kind != y->kind)
		return x->kind < y->kind ? -1 : 1;
	return x->name < y->name ? -1 : x->name > y->name;
}

static bool merge_groups(struct wi_cookie_results *into, struct wi_names *names, const struct wi_cookie_results *from,
			 const struct wi_names *from_names)
{
	struct wi_cookie_group_row *row = realloc(into->group, (into->nr_group + from->nr_group + 1) * sizeof(*row));
	size_t nr = into->nr_group, n = 0;
	bool ok = true;

	if (!row)
		return false;
	into->group = row;
	for (size_t i = 0; i < from->nr_group; i++, nr++) {
		row[nr] = from->group[i];
		row[nr].name = m_name_copy(names, from_names, from->group[i].name, &ok);
	}
	if (nr)
		qsort(row, nr, sizeof(*row), cmp_group_key);
	for (size_t i = 0; i < nr; i++) {
		if (!n || cmp_group_key(&row[n - 1], &row[i])) {
			row[n++] = row[i];
			continue;
		}
		for (int s = 0; s < WI_NR_COOKIE_SHARES; s++)
			row[n - 1].ns[s] += row[i].ns[s];
	}
	into->nr_group = n;
	m_cookie_groups_sort(into, names);
	return ok;
}

bool wi_cookie_results_merge(struct wi_cookie_results *into, struct wi_names *names,
			     const struct wi_cookie_results *from, const struct wi_names *from_names)
{
	if (!from->present)
		return true;
	into->present = true;
	m_cookie_time_add(&into->all, &from->all);
	return merge_cores(into, from) && merge_groups(into, names, from, from_names);
}

void wi_cookie_results_fini(struct wi_cookie_results *r)
{
	for (size_t i = 0; i < r->nr_core; i++)
		free(r->core[i].cpus);
	free(r->core);
	free(r->group);
	*r = (struct wi_cookie_results){ 0 };
}
