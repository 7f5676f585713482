/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The worst of the missed: a heap of the N worst so far. A row whose missed CPU still idles when its wakeup is over
 * stays on a list of that CPU until the CPU stops, to learn how long it idled in all.
 */
#include "analyzer/metrics/priv.h"

int m_worst_cmp(const struct wi_worst_row *a, const struct wi_worst_row *b)
{
#define DOWN(f)                                                                                                        \
	if (a->f != b->f)                                                                                              \
	return a->f > b->f ? -1 : 1
#define UP(f)                                                                                                          \
	if (a->f != b->f)                                                                                              \
	return a->f < b->f ? -1 : 1
	DOWN(avoidable_ns);
	DOWN(wait_ns);
	UP(wake_ns);
	UP(pid);
	UP(waker_cpu);
	UP(waker_pid);
	UP(prev_cpu);
	UP(chosen_cpu);
	UP(missed_cpu);
	UP(ran_pid);
	UP(row);
	UP(censored);
	UP(ran_waking);
	UP(missed_sched_idle);
	UP(missed_idle_ns);
#undef DOWN
#undef UP
	return 0;
}

/* The heap's top is the row that has to go first. */
static bool milder(const struct m_missed *s, uint32_t a, uint32_t b)
{
	return m_worst_cmp(&s->worst[a].row, &s->worst[b].row) > 0;
}

static void sift_down(struct m_missed *s, uint32_t at)
{
	for (;;) {
		uint32_t child = at * 2 + 1, top = at;

		if (child < s->nr_worst && milder(s, s->heap[child], s->heap[top]))
			top = child;
		if (child + 1 < s->nr_worst && milder(s, s->heap[child + 1], s->heap[top]))
			top = child + 1;
		if (top == at)
			return;
		uint32_t swap = s->heap[at];
		s->heap[at] = s->heap[top];
		s->heap[top] = swap;
		at = top;
	}
}

static void sift_up(struct m_missed *s, uint32_t at)
{
	while (at && milder(s, s->heap[at], s->heap[(at - 1) / 2])) {
		uint32_t up = (at - 1) / 2, swap = s->heap[at];

		s->heap[at] = s->heap[up];
		s->heap[up] = swap;
		at = up;
	}
}

static void unlink_idling(struct wi_metrics *m, uint32_t index)
{
	struct m_missed *s = &m->missed;
	struct m_worst *e = &s->worst[index];
	uint32_t *at = &m->cpu[e->row.missed_cpu].worst_head;

	while (*at != index)
		at = &s->worst[*at].next;
	*at = e->next;
	e->idles = false;
}

static bool reserve(struct m_missed *s)
{
	/* Doubling: a user may ask for very many rows. nr_worst is a power of two when an array is full. */
	if (s->nr_worst & (s->nr_worst - 1) || (s->nr_worst && s->nr_worst < 16))
		return true;
	uint32_t cap = s->nr_worst ? s->nr_worst * 2 : 16;
	struct m_worst *worst = realloc(s->worst, cap * sizeof(*worst));
	if (!worst)
		return false;
	s->worst = worst;
	uint32_t *heap = realloc(s->heap, cap * sizeof(*heap));
	if (!heap)
		return false;
	s->heap = heap;
	return true;
}

static bool unnamed(const struct wi_worst_row *row)
{
	return row->ran_pid > 0 && row->ran_comm == WI_NAME_NONE;
}

void m_worst_offer(struct wi_metrics *m, const struct wi_worst_row *row, const struct m_watch *watch)
{
	struct m_missed *s = &m->missed;
	bool full = s->nr_worst == s->max_worst;
	uint32_t index = full ? s->heap[0] : s->nr_worst;

	if (full && m_worst_cmp(row, &s->worst[index].row) >= 0)
		return;
	if (!full && !reserve(s)) {
		m->failed = true;
		return;
	}
	if (full && s->worst[index].idles)
		unlink_idling(m, index);
	s->nr_unnamed -= full && unnamed(&s->worst[index].row);
	s->nr_unnamed += unnamed(row);
	struct m_worst *e = &s->worst[index];
	*e = (struct m_worst){ .row = *row, .missed_since_ns = watch->since_ns, .next = NONE };
	if (watch->linked) { /* still idle */
		e->idles = true;
		e->next = m->cpu[watch->cpu].worst_head;
		m->cpu[watch->cpu].worst_head = index;
	} else {
		e->row.missed_idle_ns = watch->until_ns - watch->since_ns;
	}
	if (full) {
		sift_down(s, 0);
		return;
	}
	s->heap[s->nr_worst++] = index;
	sift_up(s, s->nr_worst - 1);
}

void m_worst_idle_ended(struct wi_metrics *m, uint64_t now_ns, struct m_cpu *c)
{
	struct m_missed *s = &m->missed;

	for (uint32_t i = c->worst_head; i != NONE; i = s->worst[i].next) {
		s->worst[i].idles = false;
		s->worst[i].row.missed_idle_ns = now_ns - s->worst[i].missed_since_ns;
	}
	c->worst_head = NONE;
}

/* A task that no record had named got its name. */
void m_worst_named(struct wi_metrics *m, const struct wi_task *task)
{
	struct m_missed *s = &m->missed;

	for (uint32_t i = 0; s->nr_unnamed && i < s->nr_worst; i++) {
		struct wi_worst_row *row = &s->worst[i].row;

		if (row->ran_pid != task->pid || row->ran_comm != WI_NAME_NONE)
			continue;
		row->ran_comm = task->comm;
		s->nr_unnamed--;
	}
}

static int cmp_rows(const void *a, const void *b, void *names)
{
	const struct wi_worst_row *x = a, *y = b;
	int d = m_worst_cmp(x, y);

	if (!d)
		d = strcmp(wi_names_get(names, x->comm), wi_names_get(names, y->comm));
	if (!d)
		d = strcmp(wi_names_get(names, x->waker_comm), wi_names_get(names, y->waker_comm));
	return d ? d : strcmp(wi_names_get(names, x->ran_comm), wi_names_get(names, y->ran_comm));
}

bool m_worst_finish(struct wi_metrics *m, struct wi_missed_results *out, struct wi_names *names, uint64_t end_ns)
{
	struct m_missed *s = &m->missed;
	bool ok = true;

	out->max_worst = s->max_worst;
	if (!s->nr_worst)
		return true;
	out->worst = calloc(s->nr_worst, sizeof(*out->worst));
	if (!out->worst)
		return false;
	for (uint32_t i = 0; i < s->nr_worst; i++) {
		struct wi_worst_row *row = &out->worst[i];

		*row = s->worst[i].row;
		if (s->worst[i].idles)
			row->missed_idle_ns =
				end_ns > s->worst[i].missed_since_ns ? end_ns - s->worst[i].missed_since_ns : 0;
		row->comm = m_name_copy(names, m->opt.names, row->comm, &ok);
		row->waker_comm = m_name_copy(names, m->opt.names, row->waker_comm, &ok);
		row->ran_comm = m_name_copy(names, m->opt.names, row->ran_comm, &ok);
	}
	out->nr_worst = s->nr_worst;
	qsort_r(out->worst, out->nr_worst, sizeof(*out->worst), cmp_rows, names);
	return ok;
}

/* ---- results ---- */

static bool merge_cost(struct wi_missed_cost *into, const struct wi_missed_cost *from)
{
	into->count += from->count;
	return wi_hist_merge(&into->wait, &from->wait) && wi_hist_merge(&into->avoidable, &from->avoidable);
}

static bool merge_worst(struct wi_missed_results *into, struct wi_names *names, const struct wi_missed_results *from,
			const struct wi_names *from_names)
{
	size_t nr = into->nr_worst + from->nr_worst;
	bool ok = true;

	if (from->max_worst > into->max_worst)
		into->max_worst = from->max_worst;
	if (!from->nr_worst)
		return true;
	struct wi_worst_row *row = realloc(into->worst, nr * sizeof(*row));
	if (!row)
		return false;
	into->worst = row;
	for (size_t i = 0; i < from->nr_worst; i++) {
		struct wi_worst_row *to = &row[into->nr_worst + i];

		*to = from->worst[i];
		to->comm = m_name_copy(names, from_names, to->comm, &ok);
		to->waker_comm = m_name_copy(names, from_names, to->waker_comm, &ok);
		to->ran_comm = m_name_copy(names, from_names, to->ran_comm, &ok);
	}
	qsort_r(row, nr, sizeof(*row), cmp_rows, names);
	into->nr_worst = nr < into->max_worst ? nr : into->max_worst;
	return ok;
}

bool wi_missed_results_merge(struct wi_missed_results *into, struct wi_names *names,
			     const struct wi_missed_results *from, const struct wi_names *from_names)
{
	bool ok = true;

	into->decided += from->decided;
	into->chosen_idle += from->chosen_idle;
	into->queued_on_busy += from->queued_on_busy;
	into->chosen_unknown += from->chosen_unknown;
	into->on_waker_cpu += from->on_waker_cpu;
	into->on_waker_cpu_alone += from->on_waker_cpu_alone;
	for (int i = 0; ok && i < WI_NR_MISSED_ROWS; i++)
		ok = merge_cost(&into->row[i], &from->row[i]);
	for (int i = 0; ok && i < WI_NR_WIDE; i++)
		ok = merge_cost(&into->queued_while_idle_core[i], &from->queued_while_idle_core[i]) &&
		     merge_cost(&into->half_busy_core[i], &from->half_busy_core[i]);
	ok = ok && merge_cost(&into->stacked_on_waker, &from->stacked_on_waker);
	into->prev_idle_elsewhere += from->prev_idle_elsewhere;
	for (int i = 0; i < WI_NR_DISTANCES; i++)
		into->prev_idle_by_distance[i] += from->prev_idle_by_distance[i];
	into->prev_idle_affine_possible += from->prev_idle_affine_possible;
	into->on_sched_idle_only += from->on_sched_idle_only;
	into->stalled_decided += from->stalled_decided;
	into->stalled_queued_on_busy += from->stalled_queued_on_busy;
	for (int i = 0; i < WAKEIF_NR_ALLOWED_SOURCES; i++)
		into->allowed[i] += from->allowed[i];
	return ok && merge_worst(into, names, from, from_names);
}

static void cost_fini(struct wi_missed_cost *c)
{
	wi_hist_fini(&c->wait);
	wi_hist_fini(&c->avoidable);
}

void wi_missed_results_fini(struct wi_missed_results *r)
{
	for (int i = 0; i < WI_NR_MISSED_ROWS; i++)
		cost_fini(&r->row[i]);
	for (int i = 0; i < WI_NR_WIDE; i++) {
		cost_fini(&r->queued_while_idle_core[i]);
		cost_fini(&r->half_busy_core[i]);
	}
	cost_fini(&r->stacked_on_waker);
	free(r->worst);
	*r = (struct wi_missed_results){ 0 };
}
