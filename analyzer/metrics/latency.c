/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Wakeup latency, queue wait, transit (METRICS rule 18) and their splits. */
#include "analyzer/metrics/priv.h"

bool m_latency_init(struct wi_metrics *m)
{
	struct m_split *s = &m->latency.by_waker;

	if (!m->opt.split_waker)
		return true;
	s->hash_mask = 255;
	s->hash = calloc(s->hash_mask + 1, sizeof(*s->hash));
	return s->hash != NULL;
}

static void split_fini(struct m_split *s)
{
	for (uint32_t i = 0; i < s->nr; i++)
		wi_chist_fini(&s->row[i].wakeup);
	free(s->row);
	free(s->hash);
}

void m_latency_fini(struct wi_metrics *m)
{
	split_fini(&m->latency.by_cpu);
	split_fini(&m->latency.by_waker);
	for (int r = 0; r <= WI_MISSED_NONE; r++)
		m_hist_fini(&m->latency.queue_wait[r]);
	m_hist_fini(&m->latency.transit);
	for (int c = 0; c < WAKEIF_NR_CLASSES; c++)
		m_hist_fini(&m->latency.by_class[c]);
	for (int p = 0; p <= WI_NR_PLACEMENTS; p++)
		m_hist_fini(&m->latency.by_placement[p]);
}

static struct wi_split_row *split_append(struct wi_metrics *m, struct m_split *s)
{
	if (s->nr == s->cap) {
		uint32_t cap = s->cap ? s->cap * 2 : 64;
		struct wi_split_row *row = realloc(s->row, cap * sizeof(*row));

		if (!row) {
			m->failed = true;
			return NULL;
		}
		s->row = row;
		s->cap = cap;
	}
	struct wi_split_row *row = &s->row[s->nr++];
	*row = (struct wi_split_row){
		.pid = WI_PID_NONE, .comm = WI_NAME_NONE, .cpu = WI_CPU_NONE, .context = WAKEIF_CTX_TASK
	};
	return row;
}

static struct wi_split_row *row_of_cpu(struct wi_metrics *m, uint32_t cpu)
{
	struct m_split *s = &m->latency.by_cpu;

	while (s->nr <= cpu) { /* a row a CPU, by number; the empty ones are dropped at the end */
		struct wi_split_row *row = split_append(m, s);

		if (!row)
			return NULL;
		row->cpu = s->nr - 1;
	}
	return &s->row[cpu];
}

static uint32_t waker_hash(const struct wi_split_row *r)
{
	uint64_t h = ((uint64_t)(uint32_t)r->pid << 32 | r->comm) ^ (uint64_t)r->context << 29;

	return (uint32_t)(h * 0x9e3779b97f4a7c15ull >> 32);
}

static bool same_waker(const struct wi_split_row *a, const struct wi_split_row *b)
{
	return a->pid == b->pid && a->comm == b->comm && a->context == b->context;
}

static bool waker_hash_grow(struct m_split *s)
{
	uint32_t size = (s->hash_mask + 1) * 2, *hash = calloc(size, sizeof(*hash));

	if (!hash)
		return false;
	for (uint32_t i = 0; i < s->nr; i++) {
		uint32_t h = waker_hash(&s->row[i]) & (size - 1);

		while (hash[h])
			h = (h + 1) & (size - 1);
		hash[h] = i + 1;
	}
	free(s->hash);
	s->hash = hash;
	s->hash_mask = size - 1;
	return true;
}

static struct wi_split_row *row_of_waker(struct wi_metrics *m, const struct wi_wakeup *w)
{
	struct m_split *s = &m->latency.by_waker;
	bool task = w->pub.context == WAKEIF_CTX_TASK && w->pub.waker_pid > 0;
	struct wi_split_row key = { .pid = task ? w->pub.waker_pid : WI_PID_NONE,
				    .comm = task ? w->waker_comm : WI_NAME_NONE,
				    .context = task || w->pub.context != WAKEIF_CTX_TASK ? w->pub.context
											 : WAKEIF_CTX_UNKNOWN };

	if (key.context == WAKEIF_CTX_UNKNOWN &&
	    w->pub.waker_pid > 0) { /* format without flags: the task is known all the same */
		key.pid = w->pub.waker_pid;
		key.comm = w->waker_comm;
	}
	uint32_t h = waker_hash(&key) & s->hash_mask;
	for (; s->hash[h]; h = (h + 1) & s->hash_mask)
		if (same_waker(&s->row[s->hash[h] - 1], &key))
			return &s->row[s->hash[h] - 1];
	if ((s->nr + 1) * 2 > s->hash_mask) {
		if (!waker_hash_grow(s)) {
			m->failed = true;
			return NULL;
		}
		for (h = waker_hash(&key) & s->hash_mask; s->hash[h];)
			h = (h + 1) & s->hash_mask;
	}
	struct wi_split_row *row = split_append(m, s);
	if (!row)
		return NULL;
	*row = key;
	row->cpu = WI_CPU_NONE;
	s->hash[h] = s->nr;
	return row;
}

m_rare static void split_count(struct wi_metrics *m, struct wi_split_row *row, const uint64_t *wakeup_ns,
			       uint64_t queue_wait_ns)
{
	if (!row)
		return;
	row->wakeups++;
	row->queue_wait_ns += queue_wait_ns;
	if (wakeup_ns && !wi_chist_add(&row->wakeup, *wakeup_ns))
		m->failed = true;
}

/* What is known of the outcomes, as the results have it. */
static void add_outcomes(struct m_latency *l)
{
	struct wi_wakeup_results *r = &l->wakeups;

	for (int c = 0; c < WAKEIF_NR_CLASSES; c++)
		r->total += r->by_class[c];
	r->running = l->outcome[WI_OUT_RUNNING];
	r->died = l->outcome[WI_OUT_DIED];
	r->replaced = l->outcome[WI_OUT_REPLACED];
	r->unknown = l->outcome[WI_OUT_UNKNOWN] + l->runs_unmeasured;
	r->censored = l->outcome[WI_OUT_CENSORED];
}

/* Decided wakeups are counted by placement, which adds up to their class. */
static inline struct m_hist *histogram_of(struct m_latency *l, const struct wi_wakeup *w, const struct m_wake *d)
{
	return d->decided ? &l->by_placement[d->placement] : &l->by_class[w->pub.class_];
}

void m_latency_closed(struct wi_metrics *m, uint64_t now_ns, const struct wi_wakeup *w, enum wi_outcome outcome,
		      const struct m_wake *d, struct m_task *t)
{
	struct m_latency *l = &m->latency;
	uint64_t start = wi_wakeup_start_ns(w), wakeup_ns = 0, queue_wait_ns = 0;
	bool measured = outcome == WI_OUT_RUN && start <= w->run_ns; /* WI_TIME_UNKNOWN is later than any time */

	l->wakeups.by_class[w->pub.class_]++;
	l->outcome[outcome]++;
	if (w->pub.waker_stalled | w->maybe_delayed && w->pub.class_ == WAKEIF_SELECT) {
		l->wakeups.stalled += w->pub.waker_stalled;
		l->wakeups.maybe_delayed += w->maybe_delayed;
	}
	if (measured) {
		uint32_t index;

		wakeup_ns = w->run_ns - start;
		index = wi_hist_index(wakeup_ns);
		m_hist_add_at(m, histogram_of(l, w, d), wakeup_ns, index);
		if (d->affine)
			m_hist_add_at(m, &m->affine.context[w->pub.context].latency, wakeup_ns, index);
		if (t && !m_task_add_latency(t, wakeup_ns, index))
			m->failed = true;
		if (wakeup_ns >= m->longest.least_ns)
			m_longest_offer(m, w, wakeup_ns, w->run_ns, false, t);
		if (w->enq_ns <= w->run_ns) {
			queue_wait_ns = w->run_ns - w->enq_ns;
			m_hist_add(m, &l->queue_wait[d->row], queue_wait_ns);
			if (!w->was_running && !w->only_wakeup && w->pub.class_ != WAKEIF_FORK)
				m_hist_add(m, &l->transit, w->enq_ns - w->pub.wake_ns);
		}
	} else if (outcome == WI_OUT_CENSORED && start <= now_ns) {
		m_longest_offer(m, w, now_ns - start, now_ns, true, t);
	} else {
		l->runs_unmeasured += outcome == WI_OUT_RUN;
	}
	if (t) {
		t->wakeups++;
		t->queue_wait_ns += queue_wait_ns;
	}
	if (m->opt.split_cpu) {
		uint32_t cpu = measured ? w->run_cpu : w->chosen_cpu;

		if (cpu < m->lay.nr_cpus)
			split_count(m, row_of_cpu(m, cpu), measured ? &wakeup_ns : NULL, queue_wait_ns);
	}
	if (m->opt.split_waker)
		split_count(m, row_of_waker(m, w), measured ? &wakeup_ns : NULL, queue_wait_ns);
}

static int cmp_cpu_row(const void *a, const void *b)
{
	const struct wi_split_row *x = a, *y = b;

	return x->cpu < y->cpu ? -1 : x->cpu > y->cpu;
}

static int cmp_waker_row(const void *a, const void *b, void *names)
{
	const struct wi_split_row *x = a, *y = b;

	if (x->wakeup.sum_ns != y->wakeup.sum_ns)
		return x->wakeup.sum_ns > y->wakeup.sum_ns ? -1 : 1;
	if (x->context != y->context)
		return x->context < y->context ? -1 : 1;
	if (x->pid != y->pid)
		return x->pid < y->pid ? -1 : 1;
	return strcmp(wi_names_get(names, x->comm), wi_names_get(names, y->comm));
}

static void sort_splits(struct wi_latency_results *r, struct wi_names *names)
{
	if (r->nr_by_cpu)
		qsort(r->by_cpu, r->nr_by_cpu, sizeof(*r->by_cpu), cmp_cpu_row);
	if (r->nr_by_waker)
		qsort_r(r->by_waker, r->nr_by_waker, sizeof(*r->by_waker), cmp_waker_row, names);
}

/* The splits become rows of the results, with the results' names. */
static bool split_finish(struct wi_metrics *m, struct m_split *s, struct wi_names *names, struct wi_split_row **out,
			 size_t *nr)
{
	bool ok = true;

	*nr = 0;
	for (uint32_t i = 0; i < s->nr; i++) {
		if (!s->row[i].wakeups)
			continue; /* holds no memory */
		struct wi_split_row row = s->row[i];
		row.comm = m_name_copy(names, m->opt.names, row.comm, &ok);
		s->row[(*nr)++] = row;
	}
	*out = s->row;
	s->row = NULL;
	s->nr = s->cap = 0;
	return ok;
}

bool m_latency_finish(struct wi_metrics *m, struct wi_results *r)
{
	struct m_latency *l = &m->latency;

	add_outcomes(l);
	r->wakeups = l->wakeups;
	/* m_missed_finish() adds the queue waits of its rows. */
	if (!m_hist_move(&l->queue_wait[WI_MISSED_NONE], &r->latency.queue_wait) ||
	    !m_hist_move(&l->transit, &r->latency.transit))
		return false;
	struct wi_hist *select = &r->latency.by_class[WAKEIF_SELECT];
	for (int p = 0; p < WI_NR_PLACEMENTS; p++)
		if (!m_hist_move(&l->by_placement[p], &r->latency.by_placement[p]) ||
		    !wi_hist_merge(select, &r->latency.by_placement[p]))
			return false;
	if (!m_hist_move(&l->by_placement[WI_NR_PLACEMENTS], select))
		return false;
	for (int c = 0; c < WAKEIF_NR_CLASSES; c++)
		if (!m_hist_move(&l->by_class[c], &r->latency.by_class[c]) ||
		    !wi_hist_merge(&r->latency.wakeup, &r->latency.by_class[c]))
			return false;
	if (!split_finish(m, &l->by_cpu, r->names, &r->latency.by_cpu, &r->latency.nr_by_cpu) ||
	    !split_finish(m, &l->by_waker, r->names, &r->latency.by_waker, &r->latency.nr_by_waker))
		return false;
	sort_splits(&r->latency, r->names);
	return m_longest_finish(m, r);
}

/* ---- results ---- */

void wi_wakeup_results_merge(struct wi_wakeup_results *into, const struct wi_wakeup_results *from)
{
	into->total += from->total;
	into->censored += from->censored;
	into->stalled += from->stalled;
	into->maybe_delayed += from->maybe_delayed;
	for (int c = 0; c < WAKEIF_NR_CLASSES; c++)
		into->by_class[c] += from->by_class[c];
	into->running += from->running;
	into->died += from->died;
	into->replaced += from->replaced;
	into->unknown += from->unknown;
}

/* Adds the rows of from; rows with one key become one. from's names are already into's. */
static bool split_merge(struct wi_split_row **into, size_t *nr, const struct wi_split_row *from, size_t nr_from,
			struct wi_names *names, const struct wi_names *from_names)
{
	bool ok = true;

	if (!nr_from)
		return true;
	struct wi_split_row *row = realloc(*into, (*nr + nr_from) * sizeof(*row));
	if (!row)
		return false;
	*into = row;
	for (size_t i = 0; ok && i < nr_from; i++) {
		uint32_t comm = m_name_copy(names, from_names, from[i].comm, &ok);
		size_t k = 0;

		while (k < *nr && (row[k].cpu != from[i].cpu || row[k].pid != from[i].pid ||
				   row[k].context != from[i].context || row[k].comm != comm))
			k++;
		if (k == *nr) {
			row[(*nr)++] = (struct wi_split_row){
				.pid = from[i].pid, .comm = comm, .cpu = from[i].cpu, .context = from[i].context
			};
		}
		row[k].wakeups += from[i].wakeups;
		row[k].queue_wait_ns += from[i].queue_wait_ns;
		ok = ok && wi_chist_merge(&row[k].wakeup, &from[i].wakeup);
	}
	return ok;
}

bool wi_latency_results_merge(struct wi_latency_results *into, struct wi_names *names,
			      const struct wi_latency_results *from, const struct wi_names *from_names)
{
	bool ok = wi_hist_merge(&into->wakeup, &from->wakeup) && wi_hist_merge(&into->queue_wait, &from->queue_wait) &&
		  wi_hist_merge(&into->transit, &from->transit);

	for (int c = 0; ok && c < WAKEIF_NR_CLASSES; c++)
		ok = wi_hist_merge(&into->by_class[c], &from->by_class[c]);
	for (int p = 0; ok && p < WI_NR_PLACEMENTS; p++)
		ok = wi_hist_merge(&into->by_placement[p], &from->by_placement[p]);
	ok = ok && m_longest_merge(into, names, from, from_names);
	ok = ok && split_merge(&into->by_cpu, &into->nr_by_cpu, from->by_cpu, from->nr_by_cpu, names, from_names) &&
	     split_merge(&into->by_waker, &into->nr_by_waker, from->by_waker, from->nr_by_waker, names, from_names);
	if (ok)
		sort_splits(into, names);
	return ok;
}

static void rows_fini(struct wi_split_row *row, size_t nr)
{
	for (size_t i = 0; i < nr; i++)
		wi_chist_fini(&row[i].wakeup);
	free(row);
}

void wi_latency_results_fini(struct wi_latency_results *r)
{
	wi_hist_fini(&r->wakeup);
	wi_hist_fini(&r->queue_wait);
	wi_hist_fini(&r->transit);
	for (int c = 0; c < WAKEIF_NR_CLASSES; c++)
		wi_hist_fini(&r->by_class[c]);
	for (int p = 0; p < WI_NR_PLACEMENTS; p++)
		wi_hist_fini(&r->by_placement[p]);
	free(r->longest);
	rows_fini(r->by_cpu, r->nr_by_cpu);
	rows_fini(r->by_waker, r->nr_by_waker);
	*r = (struct wi_latency_results){ 0 };
}
