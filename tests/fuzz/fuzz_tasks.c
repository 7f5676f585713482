/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A list of tasks: two of them, cut at the first NUL, merged. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/base/cpumask.h"
#include "analyzer/topology/tasks.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool truth)
{
	if (!truth)
		__builtin_trap();
}

static void check(const struct wi_tasks *t)
{
	for (uint32_t i = 0; t && i < t->nr; i++) {
		const struct wi_task_entry *p = &t->task[i];

		must(p->tid > 0 && (!i || p->tid > t->task[i - 1].tid) && wi_tasks_find(t, p->tid) == p);
		must(p->comm && p->cgroup && p->autogroup &&
		     (!p->allowed || !wi_mask_empty(p->allowed, p->allowed_words)));
	}
}

static void add(struct wi_tasks **tasks, const uint8_t *data, size_t size)
{
	struct wi_err err = { WI_OK, "" };
	char *text = malloc(size ? size : 1);

	if (!text)
		return;
	memcpy(text, data, size);
	bool ok = wi_tasks_add_text(tasks, "fuzz", text, size, &err);
	must(ok == (err.code == WI_OK) && (ok || err.msg[0]));
	check(*tasks);
	free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const uint8_t *cut = size ? memchr(data, 0, size) : NULL;
	size_t first = cut ? (size_t)(cut - data) : size;
	struct wi_tasks *tasks = NULL;

	if (size > 1 << 16)
		return 0;
	add(&tasks, data, first);
	if (cut)
		add(&tasks, cut + 1, size - first - 1);
	wi_tasks_free(tasks);
	return 0;
}
