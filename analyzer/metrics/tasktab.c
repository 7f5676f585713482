/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the metrics keep of living tasks: places in blocks whose addresses stay, so that tasks can point at them; their
 * latencies.
 */
#include "analyzer/metrics/priv.h"

static void task_fini(struct m_task *t)
{
	wi_chist_fini(&t->latency);
	free(t->recent.index);
	t->recent.index = NULL;
}

void m_tasktab_fini(struct m_tasktab *t)
{
	for (uint32_t b = 0; b < t->nr_blocks; b++) {
		for (uint32_t i = 0; i < TASKS_PER_BLOCK; i++)
			task_fini(&t->block[b][i]);
		free(t->block[b]);
	}
	free(t->block);
}

static bool add_block(struct m_tasktab *t)
{
	if (t->nr_blocks == t->cap_blocks) {
		uint32_t cap = t->cap_blocks ? t->cap_blocks * 2 : 16;
		struct m_task **block = realloc(t->block, cap * sizeof(*block));

		if (!block)
			return false;
		t->block = block;
		t->cap_blocks = cap;
	}
	struct m_task *task = aligned_alloc(64, TASKS_PER_BLOCK * sizeof(*task)); /* a multiple of 64 bytes */
	if (!task)
		return false;
	memset(task, 0, TASKS_PER_BLOCK * sizeof(*task));
	t->block[t->nr_blocks++] = task;
	for (uint32_t i = TASKS_PER_BLOCK; i-- > 0;) {
		task[i].next_free = t->free;
		t->free = &task[i];
	}
	return true;
}

struct m_task *m_task_add(struct m_tasktab *t, const struct wi_task *task)
{
	if (!t->free && !add_block(t))
		return NULL;
	struct m_task *mine = t->free;
	t->free = mine->next_free;
	*mine = (struct m_task){
		.task = task,
		.wait_left_ns = WI_TIME_UNKNOWN,
		.queue_cpu = NONE,
		.hops = NONE,
		.bounce = NONE,
	};
	return mine;
}

void m_task_del(struct m_tasktab *t, struct m_task *mine)
{
	task_fini(mine);
	mine->next_free = t->free;
	t->free = mine;
}

bool m_task_settle(struct m_task *t)
{
	struct m_recent *r = &t->recent;
	bool ok = !r->nr || wi_chist_add_many(&t->latency, r->index, r->nr, r->sum_ns, r->extent.min_ns,
					      m_extent_max(&r->extent));

	r->nr = 0;
	r->sum_ns = 0;
	return ok;
}

bool m_task_recent_room(struct m_task *t)
{
	struct m_recent *r = &t->recent;

	if (!m_task_settle(t))
		return false;
	if (r->cap == M_RECENT_MAX)
		return true;
	uint32_t cap = r->cap ? r->cap * 2 : M_RECENT_FIRST;
	uint16_t *index = realloc(r->index, cap * sizeof(*index));
	if (!index)
		return false;
	r->index = index;
	r->cap = cap;
	return true;
}
