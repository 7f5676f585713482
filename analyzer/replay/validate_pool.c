/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analyzer/replay/validate_pool.h"

#include <stdlib.h>
#include <string.h>

void wi_validated_fini(struct wi_validated *one)
{
	free(one->file);
	free(one->model);
	free(one->notes);
	*one = (struct wi_validated){ 0 };
}

static void add(struct wi_validate_pool *p, const struct wi_validated *one)
{
	if (!p->v.nr_traces)
		p->model = one->model;
	else if (p->model && strcmp(p->model, one->model))
		p->model = NULL;
	wi_validate_merge(&p->v, &one->v);
}

static int by_kernel(const void *a, const void *b)
{
	uint32_t x = ((const struct wi_validate_pool *)a)->kernel, y = ((const struct wi_validate_pool *)b)->kernel;

	return x < y ? -1 : x > y;
}

size_t wi_validate_pool(const struct wi_validated *one, size_t nr, struct wi_validate_pool *pool)
{
	size_t n = 0, k;

	for (size_t i = 0; i < nr; i++) {
		for (k = 0; k < n && pool[k].kernel != one[i].kernel; k++)
			;
		if (k == n)
			pool[n++] = (struct wi_validate_pool){ .kernel = one[i].kernel };
		add(&pool[k], &one[i]);
	}
	qsort(pool, n, sizeof(*pool), by_kernel);
	if (n < 2)
		return n;
	pool[n] = (struct wi_validate_pool){ .all = true };
	for (size_t i = 0; i < nr; i++)
		add(&pool[n], &one[i]);
	return n + 1;
}
