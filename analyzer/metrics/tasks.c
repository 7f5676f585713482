/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One row a task. Of the tasks that are gone only those are kept that are among the first `max` of some order, so
 * memory does not grow with the number of tasks a trace ever had. First of each order: a set that merges in any order.
 */
#include "analyzer/metrics/priv.h"

static uint64_t order_key(const struct wi_task_row *r, enum wi_task_order order)
{
	return order == WI_TASKS_BY_RUN ? r->run_ns : order == WI_TASKS_BY_LATENCY ? r->latency.sum_ns : r->corun_ns;
}

static bool belongs(const struct wi_task_row *r, enum wi_task_order order)
{
	if (order == WI_TASKS_BY_LATENCY)
		return r->latency.count != 0;
	return order == WI_TASKS_BY_RUN || r->corun_ns + r->alone_ns + r->smt_unknown_ns != 0;
}

/* Rows that two traces share in all that is printed are alike; any order of them is the same bytes. */
static int cmp_rest(const struct wi_task_row *a, const struct wi_task_row *b, const struct wi_names *names)
{
#define UP(f)                                                                                                          \
	if (a->f != b->f)                                                                                              \
	return a->f < b->f ? -1 : 1
	UP(pid);
	UP(seq);
	UP(run_ns);
	UP(latency.sum_ns);
	UP(corun_ns);
	UP(wait_ns);
	UP(sleep_ns);
	UP(unknown_ns);
	UP(wakeups);
	UP(switches_in);
	UP(preempted);
	UP(preempt_unknown);
	UP(migrations);
	UP(alone_ns);
	UP(smt_unknown_ns);
	UP(latency_wakeups);
	UP(latency.count);
	UP(queue_wait_ns);
	UP(tgid);
#undef UP
	return strcmp(wi_names_get(names, a->comm), wi_names_get(names, b->comm));
}

struct cmp_ctx {
	const struct wi_names *names;
	enum wi_task_order order;
};

static int cmp_in_order(const struct wi_task_row *a, const struct wi_task_row *b, const struct cmp_ctx *ctx)
{
	bool in_a = belongs(a, ctx->order), in_b = belongs(b, ctx->order);

	if (in_a != in_b)
		return in_a ? -1 : 1;
	uint64_t x = order_key(a, ctx->order), y = order_key(b, ctx->order);
	return x != y ? (x > y ? -1 : 1) : cmp_rest(a, b, ctx->names);
}

static int cmp_pointers(const void *a, const void *b, void *ctx)
{
	return cmp_in_order(*(const struct wi_task_row *const *)a, *(const struct wi_task_row *const *)b, ctx);
}

static int cmp_rows(const void *a, const void *b, void *ctx)
{
	return cmp_in_order(a, b, ctx);
}

/* Keeps the first max of each order. */
static bool prune(struct wi_task_results *t, const struct wi_names *names)
{
	const struct wi_task_row **at;
	uint8_t *keep;
	size_t n = 0;

	if (t->nr <= t->max)
		return true;
	at = malloc(t->nr * sizeof(*at));
	keep = calloc(t->nr, 1);
	if (!at || !keep) {
		free(at);
		free(keep);
		return false;
	}
	for (int o = 0; o < WI_NR_TASK_ORDERS; o++) {
		struct cmp_ctx ctx = { names, (enum wi_task_order)o };

		for (size_t i = 0; i < t->nr; i++)
			at[i] = &t->row[i];
		qsort_r(at, t->nr, sizeof(*at), cmp_pointers, &ctx);
		for (size_t i = 0; i < t->max && belongs(at[i], ctx.order); i++)
			keep[at[i] - t->row] = 1;
	}
	for (size_t i = 0; i < t->nr; i++) {
		if (keep[i])
			t->row[n++] = t->row[i];
		else
			wi_chist_fini(&t->row[i].latency);
	}
	t->nr = n;
	free(at);
	free(keep);
	return true;
}

static bool append(struct wi_task_results *t, const struct wi_task_row *row)
{
	if (!t->nr || !(t->nr & (t->nr - 1))) { /* a power of two: full */
		struct wi_task_row *grown = realloc(t->row, (t->nr ? t->nr * 2 : 1) * sizeof(*grown));

		if (!grown)
			return false;
		t->row = grown;
	}
	t->row[t->nr++] = *row;
	return true;
}

static void count(struct wi_task_results *t, const struct wi_task_row *row)
{
	for (int o = 0; o < WI_NR_TASK_ORDERS; o++)
		t->total[o] += belongs(row, (enum wi_task_order)o);
	t->throttle_suspected += row->throttle_suspected;
	t->preempt_unknown += row->preempt_unknown;
}

void m_tasks_gone(struct wi_metrics *m, const struct wi_task *task, struct m_task *t)
{
	struct wi_task_row row = {
		.pid = task->pid,
		.tgid = task->tgid,
		.comm = task->comm,
		.seq = task->id,
		.throttle_suspected = task->throttle_suspected,
		.run_ns = task->state_ns[WI_TASK_RUNNING],
		.wait_ns = task->state_ns[WI_TASK_RUNNABLE],
		.sleep_ns = task->state_ns[WI_TASK_BLOCKED] + task->state_ns[WI_TASK_WAKING],
		.unknown_ns = task->state_ns[WI_TASK_UNKNOWN],
		.wakeups = task->nr_wakeups,
		.switches_in = task->nr_switches_in,
		.preempted = task->nr_preempted,
		.preempt_unknown = task->nr_preempt_unknown,
		.migrations = task->nr_migrations,
	};

	if (task->died_ns < m->start_ns)
		return; /* not of this window */
	if (t) {
		row.corun_ns = t->share_ns[SHARE_CORUN];
		row.alone_ns = t->share_ns[SHARE_ALONE];
		row.smt_unknown_ns = t->share_ns[SHARE_UNKNOWN];
		row.latency_wakeups = t->wakeups;
		row.queue_wait_ns = t->queue_wait_ns;
		if (!m_task_settle(t))
			m->failed = true;
		row.latency = t->latency; /* with its memory */
		t->latency = (struct wi_chist){ 0 };
	}
	count(&m->rows, &row);
	if (row.run_ns) {
		m->rows.policy_known += task->policy != WAKEIF_POLICY_UNKNOWN;
		m->rows.policy_unknown += task->policy == WAKEIF_POLICY_UNKNOWN;
	}
	if (!append(&m->rows, &row)) {
		wi_chist_fini(&row.latency);
		m->failed = true;
		return;
	}
	if (m->rows.nr >= 8 * m->rows.max && !prune(&m->rows, m->opt.names))
		m->failed = true;
}

static bool sort(struct wi_task_results *t, const struct wi_names *names)
{
	struct cmp_ctx ctx = { names, WI_TASKS_BY_RUN };

	if (!prune(t, names))
		return false;
	if (t->nr)
		qsort_r(t->row, t->nr, sizeof(*t->row), cmp_rows, &ctx);
	return true;
}

bool m_tasks_finish(struct wi_metrics *m, struct wi_results *r)
{
	bool ok = true;

	r->tasks = m->rows; /* with its memory */
	m->rows = (struct wi_task_results){ .max = r->tasks.max };
	for (size_t i = 0; i < r->tasks.nr; i++)
		r->tasks.row[i].comm = m_name_copy(r->names, m->opt.names, r->tasks.row[i].comm, &ok);
	return ok && sort(&r->tasks, r->names);
}

/* ---- results ---- */

bool wi_task_results_merge(struct wi_task_results *into, struct wi_names *names, const struct wi_task_results *from,
			   const struct wi_names *from_names)
{
	bool ok = true;

	for (int o = 0; o < WI_NR_TASK_ORDERS; o++)
		into->total[o] += from->total[o];
	into->throttle_suspected += from->throttle_suspected;
	into->preempt_unknown += from->preempt_unknown;
	into->policy_known += from->policy_known;
	into->policy_unknown += from->policy_unknown;
	if (from->max > into->max)
		into->max = from->max;
	if (!from->nr)
		return true;
	struct wi_task_row *row = realloc(into->row, (into->nr + from->nr) * sizeof(*row));
	if (!row)
		return false;
	into->row = row;
	for (size_t i = 0; ok && i < from->nr; i++) {
		struct wi_task_row copy = from->row[i];

		copy.latency = (struct wi_chist){ 0 };
		copy.comm = m_name_copy(names, from_names, copy.comm, &ok);
		ok = ok && wi_chist_merge(&copy.latency, &from->row[i].latency);
		if (ok)
			row[into->nr++] = copy;
	}
	return ok && sort(into, names);
}

void wi_task_results_fini(struct wi_task_results *r)
{
	for (size_t i = 0; i < r->nr; i++)
		wi_chist_fini(&r->row[i].latency);
	free(r->row);
	*r = (struct wi_task_results){ 0 };
}

size_t wi_results_tasks(const struct wi_results *r, enum wi_task_order order, const struct wi_task_row **out,
			size_t max)
{
	struct cmp_ctx ctx = { r->names, order };
	const struct wi_task_row **all = malloc((r->tasks.nr + 1) * sizeof(*all));
	size_t n = 0;

	if (!all)
		return 0;
	for (size_t i = 0; i < r->tasks.nr; i++)
		if (belongs(&r->tasks.row[i], order))
			all[n++] = &r->tasks.row[i];
	if (n)
		qsort_r(all, n, sizeof(*all), cmp_pointers, &ctx);
	if (n > max)
		n = max;
	memcpy(out, all, n * sizeof(*out));
	free(all);
	return n;
}
