/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tasks by pid: incarnations, names, affinity and policy (METRICS rules 10, 11, 33). */
#include <stdlib.h>
#include <string.h>

#include "analyzer/timeline/internal.h"

#define LEAF 1024

struct task *tl_task_find(struct wi_timeline *tl, int32_t pid)
{
	struct task **leaf = tl->pid_leaf[(uint32_t)pid / LEAF];

	return leaf ? leaf[(uint32_t)pid % LEAF] : NULL;
}

static struct task **task_slot(struct wi_timeline *tl, int32_t pid)
{
	struct task ***leaf = &tl->pid_leaf[(uint32_t)pid / LEAF];

	if (!*leaf)
		*leaf = calloc(LEAF, sizeof(**leaf));
	return *leaf ? &(*leaf)[(uint32_t)pid % LEAF] : NULL;
}

static int fact_by_pid(const void *key, const void *elem)
{
	int32_t a = *(const int32_t *)key, b = ((const struct wi_task_fact *)elem)->pid;

	return a < b ? -1 : a > b;
}

static const struct wi_task_fact *find_fact(const struct wi_timeline *tl, int32_t pid)
{
	return tl->opt.nr_facts ? bsearch(&pid, tl->opt.facts, tl->opt.nr_facts, sizeof(*tl->opt.facts), fact_by_pid) : NULL;
}

static void apply_fact(struct wi_timeline *tl, struct task *t, const struct wi_task_fact *f)
{
	t->pub.tgid = f->tgid > 0 ? f->tgid : 0;
	if (f->policy >= 0)
		t->pub.policy = (uint8_t)f->policy;
	tl->have_sched_idle |= t->pub.policy == WAKEIF_POLICY_IDLE;
	if (f->cgroup)
		t->pub.cgroup = wi_names_intern(tl->opt.names, f->cgroup, strlen(f->cgroup));
	if (f->allowed) {
		t->pub.allowed = f->allowed;
		t->pub.allowed_source = WAKEIF_ALLOWED_RECORDED;
	}
}

static void inherit(struct task *t, const struct task *parent)
{
	t->pub.policy = parent->pub.policy;
	t->pub.cgroup = parent->pub.cgroup;
	if (parent->pub.allowed_source == WAKEIF_ALLOWED_ASSUMED || parent->own_mask)
		return;
	t->pub.allowed = parent->pub.allowed;
	t->pub.allowed_source = WAKEIF_ALLOWED_INFERRED;
}

static struct task *task_alloc(struct wi_timeline *tl)
{
	struct task *t = tl->free_tasks;

	if (t) {
		uint32_t slot = t->pub.slot;

		tl->free_tasks = t->next_alive;
		memset(t, 0, sizeof(*t));
		t->pub.slot = slot;
		return t;
	}
	t = calloc(1, sizeof(*t));
	if (t)
		t->pub.slot = tl->nr_cpus + tl->nr_task_slots++;
	return t;
}

tl_rare static struct task *task_create(struct wi_timeline *tl, int32_t pid, uint32_t comm, const struct task *parent)
{
	struct task **slot = task_slot(tl, pid);
	struct task *t = slot ? task_alloc(tl) : NULL;

	if (!t) {
		tl->failed = true;
		wi_err_nomem(tl->err);
		return NULL;
	}
	t->pub.pid = pid;
	t->pub.id = ++tl->next_task_id;
	t->pub.cpu = WI_CPU_NONE;
	t->pub.state = WI_TASK_UNKNOWN;
	t->pub.policy = WAKEIF_POLICY_UNKNOWN;
	t->pub.prio = WI_PRIO_UNKNOWN;
	t->pub.born_ns = t->pub.died_ns = t->pub.blocked_ns = WI_TIME_UNKNOWN;
	t->pub.since_ns = tl->start_ns;
	t->pub.allowed = tl->all;
	t->pub.allowed_source = WAKEIF_ALLOWED_ASSUMED;
	t->skew_cpu = WI_CPU_NONE;
	t->ghost_cpu = WI_CPU_NONE;
	t->pinned_by_name = 0;
	const struct wi_task_fact *f = find_fact(tl, pid);
	if (f)
		apply_fact(tl, t, f);
	else if (parent)
		inherit(t, parent);
	tl_task_name(tl, t, comm);
	*slot = t;
	t->next_alive = tl->alive;
	if (tl->alive)
		tl->alive->prev_alive = t;
	tl->alive = t;
	tl->q.nr_tasks++;
	tl_tell_task(tl, t, WAKEIF_TASK_BEGAN, parent ? WAKEIF_EV_NEW : 0, WI_CPU_NONE, parent ? parent->pub.slot : WAKEIF_TASK_NONE);
	return t;
}

struct task *tl_task_get(struct wi_timeline *tl, int32_t pid, uint32_t comm)
{
	if (pid <= 0)
		return NULL;
	struct task *t = tl_task_find(tl, pid);
	if (!t)
		return task_create(tl, pid, comm, NULL);
	if (comm != t->pub.comm)
		tl_task_name(tl, t, comm);
	return t;
}

struct task *tl_task_born(struct wi_timeline *tl, int32_t pid, uint32_t comm, struct task *parent)
{
	struct task *old = tl_task_find(tl, pid);

	if (old) {
		tl_count_repair(tl, &tl->q.repairs.reused_pids);
		tl_task_gone(tl, old);
	}
	struct task *t = task_create(tl, pid, comm, parent);
	if (!t)
		return NULL;
	t->pub.born_ns = tl->now_ns;
	t->pub.since_ns = tl->now_ns > tl->start_ns ? tl->now_ns : tl->start_ns;
	t->pub.state = WI_TASK_WAKING;
	t->fresh = true;
	return t;
}

/* CPU of a per-CPU kernel thread by its name; WI_CPU_NONE for any other name. */
static uint32_t cpu_in_name(const char *comm)
{
	static const char *const prefix[] = { "kworker/", "ksoftirqd/", "migration/", "cpuhp/", "rcuc/", "watchdog/", "idle_inject/", "irq_work/" };

	for (size_t i = 0; i < sizeof(prefix) / sizeof(*prefix); i++) {
		size_t len = strlen(prefix[i]);

		if (strncmp(comm, prefix[i], len))
			continue;
		char *end;
		unsigned long cpu = comm[len] >= '0' && comm[len] <= '9' ? strtoul(comm + len, &end, 10) : WI_MAX_CPUS;
		if (cpu >= WI_MAX_CPUS)
			return WI_CPU_NONE;
		return i == 0 ? (*end == ':' ? (uint32_t)cpu : WI_CPU_NONE) : (*end == '\0' ? (uint32_t)cpu : WI_CPU_NONE);
	}
	return WI_CPU_NONE;
}

static void infer_pin(struct wi_timeline *tl, struct task *t)
{
	uint32_t c = cpu_in_name(wi_names_get(tl->opt.names, t->pub.comm));

	t->names_cpu = c < tl->nr_cpus;
	if (!t->names_cpu || t->pub.allowed_source == WAKEIF_ALLOWED_RECORDED || t->pinned_by_name < 0)
		return;
	if (!t->own_mask)
		t->own_mask = calloc(tl->words, sizeof(*t->own_mask));
	if (!t->own_mask)
		return;
	memset(t->own_mask, 0, tl->words * sizeof(*t->own_mask));
	wi_mask_set(t->own_mask, c);
	t->pub.allowed = t->own_mask;
	t->pub.allowed_source = WAKEIF_ALLOWED_INFERRED;
	t->pinned_by_name = 1;
}

void tl_task_seen_on(struct wi_timeline *tl, struct task *t, uint32_t cpu)
{
	if (t->pinned_by_name <= 0 || wi_mask_test(t->own_mask, cpu))
		return;
	t->pinned_by_name = -1; /* the name is wrong (a rebound worker, or a user's own name) */
	t->pub.allowed = tl->all;
	t->pub.allowed_source = WAKEIF_ALLOWED_ASSUMED;
}

void tl_task_name(struct wi_timeline *tl, struct task *t, uint32_t comm)
{
	if (comm == WI_NAME_NONE || comm == t->pub.comm)
		return;
	t->pub.renamed = t->pub.comm != WI_NAME_NONE;
	t->pub.comm = comm;
	infer_pin(tl, t);
	if (tl->obs.renamed)
		tl->obs.renamed(tl->obs.ctx, tl->now_ns, &t->pub);
}

void tl_task_rename_pid(struct wi_timeline *tl, struct task *t, int32_t pid)
{
	struct task *leader = tl_task_find(tl, pid);

	if (leader == t)
		return;
	if (leader)
		tl_task_gone(tl, leader);
	struct task **slot = task_slot(tl, pid);
	if (!slot) {
		tl->failed = true;
		wi_err_nomem(tl->err);
		return;
	}
	*task_slot(tl, t->pub.pid) = NULL;
	t->pub.pid = pid;
	*slot = t;
}

/* Ends an incarnation: out of every queue, its wakeup closed, observers told, memory reused. */
void tl_task_gone(struct wi_timeline *tl, struct task *t)
{
	if (t->pub.state == WI_TASK_RUNNABLE)
		tl_wait_end(tl, t);
	if (t->pub.cpu != WI_CPU_NONE && tl->cpu[t->pub.cpu].cur == t) { /* its pid was given away while it ran */
		tl->cpu[t->pub.cpu].cur = NULL;
		tl_queue_uncount(tl, t->pub.cpu, t);
	}
	tl_wakeups_of_gone(tl, t);
	tl_set_state(tl, t, WI_TASK_DEAD);
	if (t->pub.died_ns == WI_TIME_UNKNOWN && !tl->done)
		t->pub.died_ns = tl->now_ns;
	if (t->pub.comm == WI_NAME_NONE) {
		uint32_t late = tl->opt.comm_of ? tl->opt.comm_of(tl->opt.comm_of_ctx, t->pub.pid) : WI_NAME_NONE;

		t->pub.comm = late;
		tl->q.unnamed_tasks += late == WI_NAME_NONE;
	}
	tl_tell_task(tl, t, WAKEIF_TASK_ENDED, 0, t->pub.cpu, WI_CPU_NONE);
	if (tl->obs.task_gone)
		tl->obs.task_gone(tl->obs.ctx, tl->now_ns, &t->pub);
	*task_slot(tl, t->pub.pid) = NULL;
	if (t->prev_alive)
		t->prev_alive->next_alive = t->next_alive;
	else
		tl->alive = t->next_alive;
	if (t->next_alive)
		t->next_alive->prev_alive = t->prev_alive;
	free(t->own_mask);
	t->next_alive = tl->free_tasks;
	tl->free_tasks = t;
}

void tl_tasks_free(struct wi_timeline *tl)
{
	for (struct task *t = tl->alive, *next; t; t = next) {
		next = t->next_alive;
		free(t->own_mask);
		free(t);
	}
	for (struct task *t = tl->free_tasks, *next; t; t = next) {
		next = t->next_alive;
		free(t);
	}
	for (uint32_t i = 0; tl->pid_leaf && i <= WI_PID_MAX / LEAF; i++)
		free(tl->pid_leaf[i]);
	free(tl->pid_leaf);
}
