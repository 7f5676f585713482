/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The longest waits and who ran meanwhile on the CPU where the task waited (METRICS rule 35). Which waits are among the
 * longest is known at their end only, so each CPU keeps its latest stretches of one task each, and a waiting task the
 * queues that it was moved from.
 */
#include "analyzer/metrics/priv.h"

#define STINT_UNKNOWN (-1) /* pid: the CPU's state is not known */
#define STINT_NOBODY (-2)  /* pid: busy with a task that is not known */
#define STINT_NONE (-3)	   /* pid of the latest: there is none yet */
#define RAN_SLOTS (LONGEST_STINTS * (LONGEST_HOPS + 1) * 2)

bool m_longest_init(struct wi_metrics *m)
{
	struct m_longest *s = &m->longest;
	size_t cpus = m->lay.nr_cpus + 1;

	s->stint = calloc(cpus * LONGEST_STINTS, sizeof(*s->stint)); /* touched only as far as it is used */
	s->cursor = calloc(m->lay.max_threads + 1, sizeof(*s->cursor));
	if (!s->stint || !s->cursor)
		return false;
	for (uint32_t c = 0; c < m->lay.nr_cpus; c++) {
		m->cpu[c].stint = &s->stint[(size_t)c * LONGEST_STINTS];
		m->cpu[c].stint_pid = STINT_NONE;
	}
	return true;
}

void m_longest_fini(struct wi_metrics *m)
{
	struct m_longest *s = &m->longest;

	free(s->stint);
	free(s->hops);
	free(s->ran);
	free(s->ran_used);
	free(s->cursor);
}

/* ---- who ran where ---- */

static inline struct m_stint *stint_at(const struct m_cpu *c, uint64_t number)
{
	return &c->stint[number % LONGEST_STINTS];
}

void m_longest_ran(struct m_cpu *c, uint64_t now_ns, enum wi_cpu_kind kind, const struct wi_task *task)
{
	uint64_t nr = c->nr_stints;
	int32_t pid = task		       ? task->pid
		      : kind == WI_CPU_IDLE    ? 0
		      : kind == WI_CPU_UNKNOWN ? STINT_UNKNOWN
					       : STINT_NOBODY;

	if (c->stint_pid == pid)
		return;
	*stint_at(c, nr) = (struct m_stint){ now_ns, pid, task ? task->comm : WI_NAME_NONE };
	c->stint_pid = pid;
	__builtin_prefetch(stint_at(c, nr + 4), 1); /* the next cache line */
	c->nr_stints = nr + 1;
}

void m_longest_renamed(struct wi_metrics *m, const struct wi_task *task)
{
	struct m_cpu *c = task->cpu < m->lay.nr_cpus ? &m->cpu[task->cpu] : NULL;

	if (c && c->stint_pid == task->pid)
		stint_at(c, c->nr_stints - 1)->comm = task->comm;
}

/* A task that no record had named got its name. */
void m_longest_named(struct wi_metrics *m, const struct wi_task *task)
{
	struct m_longest *s = &m->longest;

	for (uint32_t i = 0; s->nr_unnamed && i < s->nr; i++) {
		for (int k = 0; k < s->row[i].nr_behind; k++) {
			struct wi_behind *b = &s->row[i].behind[k];

			if (b->pid == task->pid && b->comm == WI_NAME_NONE)
				b->comm = task->comm;
		}
	}
}

/* How many of the latest stretches of the CPU are kept. */
static uint32_t kept(const struct m_cpu *c)
{
	return c->nr_stints < LONGEST_STINTS ? (uint32_t)c->nr_stints : LONGEST_STINTS;
}

/* ---- where a task waited before it was moved ---- */

static uint32_t hops_take(struct m_longest *s)
{
	if (s->free_hops) {
		uint32_t i = s->free_hops - 1;

		s->free_hops = s->hops[i].next_free;
		return i;
	}
	if (s->nr_hops == s->cap_hops) {
		uint32_t cap = s->cap_hops ? s->cap_hops * 2 : 16;
		struct m_hops *hops = realloc(s->hops, cap * sizeof(*hops));

		if (!hops)
			return NONE;
		s->hops = hops;
		s->cap_hops = cap;
	}
	return s->nr_hops++;
}

void m_longest_moved(struct wi_metrics *m, struct m_task *t)
{
	if (t->hops == NONE) {
		t->hops = hops_take(&m->longest);
		if (t->hops == NONE) {
			m->failed = true;
			return;
		}
		m->longest.hops[t->hops].nr = 0;
	}
	struct m_hops *h = &m->longest.hops[t->hops];
	if (h->nr == LONGEST_HOPS) /* the earliest one is forgotten */
		memmove(&h->hop[0], &h->hop[1], --h->nr * sizeof(h->hop[0]));
	h->hop[h->nr].from_ns = t->wait_join_ns;
	h->hop[h->nr++].cpu = t->queue_cpu;
}

void m_longest_forget(struct wi_metrics *m, struct m_task *t)
{
	if (t->hops == NONE)
		return;
	m->longest.hops[t->hops].next_free = m->longest.free_hops;
	m->longest.free_hops = t->hops + 1;
	t->hops = NONE;
}

/* ---- what happened during a wait ---- */

struct wait {
	bool siblings, siblings_known; /* there are some; their state is known throughout */
	uint64_t known_ns, sibling_idle_ns;
};

static bool ran_init(struct m_longest *s)
{
	if (s->ran)
		return true;
	s->ran = calloc(RAN_SLOTS, sizeof(*s->ran)); /* touched only where it is used, as is ran_used */
	s->ran_used = malloc(RAN_SLOTS * sizeof(*s->ran_used));
	return s->ran && s->ran_used;
}

/* Never full: it has twice the places that the stretches of one wait can take. */
static void ran_add(struct m_longest *s, const struct m_stint *stint, uint64_t ns)
{
	uint32_t h = (uint32_t)stint->pid * 0x9e3779b1u >> 16 & (RAN_SLOTS - 1), key = (uint32_t)stint->pid + 1;

	while (s->ran[h].key && s->ran[h].key != key)
		h = (h + 1) & (RAN_SLOTS - 1);
	if (!s->ran[h].key) {
		s->ran[h] = (struct m_ran){ key, stint->comm, 0 };
		s->ran_used[s->nr_ran++] = h;
	}
	s->ran[h].ns += ns;
}

/* Adds who ran on cpu in [from, to]; latest first, so that the name is the latest one. */
static void add_ran(struct wi_metrics *m, struct wait *wait, const struct m_cpu *c, uint64_t from_ns, uint64_t to_ns)
{
	for (uint32_t i = 1; i <= kept(c) && to_ns > from_ns; i++) {
		const struct m_stint *stint = stint_at(c, c->nr_stints - i);
		uint64_t begin = stint->from_ns > from_ns ? stint->from_ns : from_ns;

		if (begin >= to_ns)
			continue;
		if (stint->pid >= 0) {
			ran_add(&m->longest, stint, to_ns - begin);
			wait->known_ns += to_ns - begin;
		}
		to_ns = begin;
	}
}

/* The stretch of c that was under way just before to_ns, from the cursor-th latest on; NULL: not kept. */
static const struct m_stint *stint_before(const struct m_cpu *c, uint32_t *cursor, uint64_t to_ns)
{
	for (; *cursor <= kept(c); ++*cursor)
		if (stint_at(c, c->nr_stints - *cursor)->from_ns < to_ns)
			return stint_at(c, c->nr_stints - *cursor);
	return NULL;
}

/* Adds the time in [from, to] in which a sibling of cpu ran the idle task: all siblings are walked back together. */
static void add_siblings(struct wi_metrics *m, struct wait *wait, const struct m_cpu *c, uint64_t from_ns,
			 uint64_t to_ns)
{
	const struct m_core *core = m_core_of(m, c);
	uint32_t n = core ? core->nr_threads : 0, *cursor = m->longest.cursor;

	for (uint32_t i = 0; i < n; i++) {
		cursor[i] = 1;
		wait->siblings |= core->thread[i] != c;
	}
	while (to_ns > from_ns) {
		uint64_t begin = from_ns;
		bool idle = false, unknown = false;

		for (uint32_t i = 0; i < n; i++) {
			if (core->thread[i] == c)
				continue;
			const struct m_stint *stint = stint_before(core->thread[i], &cursor[i], to_ns);
			idle |= stint && stint->pid == 0;
			unknown |= !stint || stint->pid == STINT_UNKNOWN;
			if (stint && stint->from_ns > begin)
				begin = stint->from_ns;
		}
		if (idle)
			wait->sibling_idle_ns += to_ns - begin;
		else if (unknown)
			wait->siblings_known = false;
		to_ns = begin;
	}
}

static void add_queue(struct wi_metrics *m, struct wait *wait, uint32_t cpu, uint64_t from_ns, uint64_t to_ns)
{
	if (cpu >= m->lay.nr_cpus)
		return;
	add_ran(m, wait, &m->cpu[cpu], from_ns, to_ns);
	add_siblings(m, wait, &m->cpu[cpu], from_ns, to_ns);
}

static bool ran_longer(const struct m_ran *a, const struct wi_behind *b)
{
	return a->ns != b->ns ? a->ns > b->ns : (int32_t)(a->key - 1) < b->pid;
}

static void pick_behind(struct m_longest *s, struct wi_longest_row *row)
{
	for (uint32_t i = 0; i < s->nr_ran; i++) {
		const struct m_ran ran = s->ran[s->ran_used[i]];
		int32_t pid = (int32_t)(ran.key - 1);
		int at = row->nr_behind;

		s->ran[s->ran_used[i]].key = 0; /* free for the next wait */
		while (at > 0 && ran_longer(&ran, &row->behind[at - 1]))
			at--;
		if (at == WI_BEHIND)
			continue;
		if (row->nr_behind < WI_BEHIND)
			row->nr_behind++;
		for (int k = row->nr_behind - 1; k > at; k--)
			row->behind[k] = row->behind[k - 1];
		row->behind[at] = (struct wi_behind){ pid, ran.comm, ran.ns };
		s->nr_unnamed += pid && ran.comm == WI_NAME_NONE;
	}
	s->nr_ran = 0;
}

/* From the enqueue to the end, queue by queue, the latest first. */
static void tell_wait(struct wi_metrics *m, struct wi_longest_row *row, const struct m_task *t, uint64_t enq_ns,
		      uint64_t end_ns)
{
	struct m_longest *s = &m->longest;
	const struct m_hops *h = t->hops == NONE ? NULL : &s->hops[t->hops];
	struct wait wait = { .siblings_known = true };
	uint64_t to = t->wait_left_ns < end_ns ? t->wait_left_ns : end_ns, from = t->wait_join_ns;
	uint64_t waited_ns = 0;
	uint32_t cpu = t->queue_cpu;

	for (uint32_t left = h ? h->nr : 0;; left--) {
		uint64_t begin = from > enq_ns ? from : enq_ns;

		if (to > begin) {
			add_queue(m, &wait, cpu, begin, to);
			waited_ns += to - begin;
			to = begin;
		}
		if (!left)
			break;
		from = h->hop[left - 1].from_ns;
		cpu = h->hop[left - 1].cpu;
	}
	pick_behind(s, row);
	row->behind_known = true;
	row->behind_complete = wait.known_ns == end_ns - enq_ns;
	if (wait.siblings && wait.siblings_known && waited_ns == end_ns - enq_ns)
		row->sibling_idle_ns = wait.sibling_idle_ns;
}

/* ---- the list ---- */

/* < 0: a comes first; names are not compared. */
static int cmp_row(const struct wi_longest_row *a, const struct wi_longest_row *b)
{
#define UP(f)                                                                                                          \
	if (a->f != b->f)                                                                                              \
	return a->f < b->f ? -1 : 1
	if (a->latency_ns != b->latency_ns)
		return a->latency_ns > b->latency_ns ? -1 : 1;
	UP(wake_ns);
	UP(pid);
	UP(censored);
	UP(queue_wait_ns);
	UP(waker_cpu);
	UP(waker_pid);
	UP(prev_cpu);
	UP(chosen_cpu);
	UP(run_cpu);
	UP(class_);
	UP(sibling_idle_ns);
	UP(behind_complete);
	UP(nr_behind);
	for (int i = 0; i < a->nr_behind; i++) {
		UP(behind[i].ns);
		UP(behind[i].pid);
	}
#undef UP
	return 0;
}

void m_longest_offer(struct wi_metrics *m, const struct wi_wakeup *w, uint64_t latency_ns, uint64_t end_ns,
		     bool censored, const struct m_task *t)
{
	struct m_longest *s = &m->longest;
	bool waited = w->enq_ns <= end_ns;
	struct wi_longest_row row = {
		.wake_ns = w->pub.wake_ns,
		.latency_ns = latency_ns,
		.queue_wait_ns = waited ? end_ns - w->enq_ns : WI_TIME_UNKNOWN,
		.sibling_idle_ns = WI_TIME_UNKNOWN,
		.pid = w->pub.pid,
		.waker_pid = w->pub.waker_pid,
		.comm = w->wakee ? w->wakee->comm : WI_NAME_NONE,
		.waker_comm = w->waker_comm,
		.waker_cpu = m_waker_cpu(w),
		.prev_cpu = w->pub.prev_cpu,
		.chosen_cpu = w->chosen_cpu,
		.run_cpu = censored ? WI_CPU_NONE : w->run_cpu,
		.class_ = w->pub.class_,
		.censored = censored,
	};
	uint32_t at = s->nr;

	while (at > 0 && cmp_row(&row, &s->row[at - 1]) < 0)
		at--;
	if (at == WI_LONGEST)
		return;
	if (!ran_init(s)) {
		m->failed = true;
		return;
	}
	if (waited && t && t->queue_cpu != NONE)
		tell_wait(m, &row, t, w->enq_ns, end_ns);
	if (s->nr < WI_LONGEST)
		s->nr++;
	memmove(&s->row[at + 1], &s->row[at], (s->nr - 1 - at) * sizeof(row));
	s->row[at] = row;
	if (s->nr == WI_LONGEST)
		s->least_ns = s->row[WI_LONGEST - 1].latency_ns;
}

/* ---- results ---- */

static void copy_names(struct wi_longest_row *row, struct wi_names *to, const struct wi_names *from, bool *ok)
{
	row->comm = m_name_copy(to, from, row->comm, ok);
	row->waker_comm = m_name_copy(to, from, row->waker_comm, ok);
	for (int i = 0; i < row->nr_behind; i++)
		row->behind[i].comm = m_name_copy(to, from, row->behind[i].comm, ok);
}

bool m_longest_finish(struct wi_metrics *m, struct wi_results *r)
{
	const struct m_longest *s = &m->longest;
	bool ok = true;

	if (!s->nr)
		return true;
	r->latency.longest = malloc(s->nr * sizeof(*s->row));
	if (!r->latency.longest)
		return false;
	memcpy(r->latency.longest, s->row, s->nr * sizeof(*s->row));
	r->latency.nr_longest = s->nr;
	for (uint32_t i = 0; i < s->nr; i++)
		copy_names(&r->latency.longest[i], r->names, m->opt.names, &ok);
	return ok;
}

static int cmp_output(const void *a, const void *b, void *names)
{
	const struct wi_longest_row *x = a, *y = b;
	int d = cmp_row(x, y);

	if (!d)
		d = strcmp(wi_names_get(names, x->comm), wi_names_get(names, y->comm));
	if (!d)
		d = strcmp(wi_names_get(names, x->waker_comm), wi_names_get(names, y->waker_comm));
	for (int i = 0; !d && i < x->nr_behind; i++)
		d = strcmp(wi_names_get(names, x->behind[i].comm), wi_names_get(names, y->behind[i].comm));
	return d;
}

bool m_longest_merge(struct wi_latency_results *into, struct wi_names *names, const struct wi_latency_results *from,
		     const struct wi_names *from_names)
{
	size_t nr = into->nr_longest + from->nr_longest;
	bool ok = true;

	if (!from->nr_longest)
		return true;
	struct wi_longest_row *row = realloc(into->longest, nr * sizeof(*row));
	if (!row)
		return false;
	into->longest = row;
	memcpy(row + into->nr_longest, from->longest, from->nr_longest * sizeof(*row));
	for (size_t i = into->nr_longest; i < nr; i++)
		copy_names(&row[i], names, from_names, &ok);
	qsort_r(row, nr, sizeof(*row), cmp_output, names);
	into->nr_longest = nr < WI_LONGEST ? nr : WI_LONGEST;
	return ok;
}
