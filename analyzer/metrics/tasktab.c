/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Living tasks by id: a pool and an open-addressed hash. Ids are given out in order, so their low bits spread well. */
#include "analyzer/metrics/priv.h"

bool m_tasktab_init(struct m_tasktab *t)
{
	t->hash_mask = 1023;
	t->hash = calloc(t->hash_mask + 1, sizeof(*t->hash));
	t->free_head = NONE;
	return t->hash != NULL;
}

void m_tasktab_fini(struct m_tasktab *t)
{
	for (uint32_t i = 0; i < t->nr_used; i++)
		wi_chist_fini(&t->task[i].latency);
	free(t->task);
	free(t->hash);
}

static void hash_put(struct m_tasktab *t, uint32_t index)
{
	uint32_t h = t->task[index].id & t->hash_mask;

	while (t->hash[h])
		h = (h + 1) & t->hash_mask;
	t->hash[h] = index + 1;
}

static bool hash_grow(struct m_tasktab *t)
{
	uint32_t size = (t->hash_mask + 1) * 2;
	uint32_t *hash = calloc(size, sizeof(*hash));

	if (!hash)
		return false;
	free(t->hash);
	t->hash = hash;
	t->hash_mask = size - 1;
	for (uint32_t i = 0; i < t->nr_used; i++)
		if (t->task[i].id)
			hash_put(t, i);
	return true;
}

static uint32_t pool_take(struct m_tasktab *t)
{
	if (t->free_head != NONE) {
		uint32_t i = t->free_head;

		t->free_head = t->task[i].wait_next;
		return i;
	}
	if (t->nr_used == t->cap) {
		uint32_t cap = t->cap ? t->cap * 2 : 256;
		struct m_task *task = realloc(t->task, cap * sizeof(*task));

		if (!task)
			return NONE;
		t->task = task;
		t->cap = cap;
	}
	return t->nr_used++;
}

uint32_t m_task_add(struct m_tasktab *t, uint32_t id)
{
	if ((t->nr_live + 1) * 2 > t->hash_mask && !hash_grow(t))
		return NONE;
	uint32_t i = pool_take(t);
	if (i == NONE)
		return NONE;
	t->task[i] = (struct m_task){
		.id = id,
		.wait_cpu = NONE,
		.wait_next = NONE,
		.wait_prev = NONE,
		.wait_left_ns = WI_TIME_UNKNOWN,
		.mask = NONE,
		.queue_cpu = NONE,
		.hops = NONE,
		.bounce = NONE,
	};
	hash_put(t, i);
	t->nr_live++;
	return i;
}

void m_task_del(struct m_tasktab *t, uint32_t index)
{
	struct m_task *task = &t->task[index];
	uint32_t h = task->id & t->hash_mask;

	while (t->hash[h] != index + 1)
		h = (h + 1) & t->hash_mask;
	/* Close the hole: move back every later entry of the run that may stand there. */
	for (uint32_t next = (h + 1) & t->hash_mask; t->hash[next]; next = (next + 1) & t->hash_mask) {
		uint32_t home = t->task[t->hash[next] - 1].id & t->hash_mask;

		if (((next - home) & t->hash_mask) < ((next - h) & t->hash_mask))
			continue;
		t->hash[h] = t->hash[next];
		h = next;
	}
	t->hash[h] = 0;
	t->nr_live--;
	wi_chist_fini(&task->latency);
	t->last_id = 0;
	task->id = 0;
	task->wait_next = t->free_head;
	t->free_head = index;
}
