/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Missed idle (METRICS, rules 21 to 25): what idled at the decision instant while the wakee was put elsewhere, and what
 * that cost. The missed CPU is watched from the decision on: it is on a list of its CPU until it stops being idle.
 */
#include "analyzer/metrics/priv.h"

static const enum wakeif_scope wide_scope[WI_NR_WIDE] = {
#define X(id, name, scope) scope,
	WI_WIDE_SCOPES(X)
#undef X
};

bool m_missed_init(struct wi_metrics *m)
{
	struct m_missed *s = &m->missed;
	uint32_t cpus = m->lay.nr_cpus + 1, words = m->lay.words + 1;

	s->r.max_worst = s->max_worst = m->opt.worst_n ? m->opt.worst_n : 20;
	s->sched_idle_rule = m->opt.kernel_version >= KERNEL_5_4;
	s->watch_head = malloc(cpus * sizeof(*s->watch_head));
	s->worst_head = malloc(cpus * sizeof(*s->worst_head));
	s->core_idle = calloc(m->lay.nr_cores + 1, sizeof(*s->core_idle));
	s->idle_core = calloc(words, sizeof(*s->idle_core));
	s->idle = calloc(words, sizeof(*s->idle));
	s->idle_since_ns = calloc(cpus, sizeof(*s->idle_since_ns));
	s->scratch_cand = calloc(words, sizeof(*s->scratch_cand));
	s->coming = calloc(cpus, sizeof(*s->coming));
	if (!s->watch_head || !s->worst_head || !s->core_idle || !s->idle_core || !s->idle || !s->idle_since_ns ||
	    !s->scratch_cand || !s->coming)
		return false;
	memset(s->watch_head, 0xff, cpus * sizeof(*s->watch_head));
	memset(s->worst_head, 0xff, cpus * sizeof(*s->worst_head));
	return true;
}

void m_missed_fini(struct wi_metrics *m)
{
	struct m_missed *s = &m->missed;

	free(s->watch_head);
	free(s->worst_head);
	free(s->worst);
	free(s->heap);
	free(s->core_idle);
	free(s->idle_core);
	free(s->idle);
	free(s->idle_since_ns);
	free(s->scratch_cand);
	free(s->coming);
	wi_missed_results_fini(&s->r);
}

/* ---- watches ---- */

static struct m_watch *watch_at(struct wi_metrics *m, uint32_t number)
{
	return &m->wake[number / NR_WATCHES].watch[number % NR_WATCHES];
}

static void watch_link(struct wi_metrics *m, struct m_wake *d, int which, uint32_t cpu, uint64_t since_ns)
{
	struct m_watch *w = &d->watch[which];
	uint32_t number = (uint32_t)(d - m->wake) * NR_WATCHES + (uint32_t)which;

	*w = (struct m_watch){ .cpu = cpu,
			       .next = m->missed.watch_head[cpu],
			       .prev = NONE,
			       .linked = true,
			       .since_ns = since_ns,
			       .until_ns = WI_TIME_UNKNOWN };
	if (w->next != NONE)
		watch_at(m, w->next)->prev = number;
	m->missed.watch_head[cpu] = number;
}

static void watch_unlink(struct wi_metrics *m, struct m_watch *w)
{
	if (!w->linked)
		return;
	w->linked = false;
	if (w->prev != NONE)
		watch_at(m, w->prev)->next = w->next;
	else
		m->missed.watch_head[w->cpu] = w->next;
	if (w->next != NONE)
		watch_at(m, w->next)->prev = w->prev;
}

void m_missed_unlink(struct wi_metrics *m, struct m_wake *d)
{
	for (int i = 0; i < NR_WATCHES; i++)
		watch_unlink(m, &d->watch[i]);
}

/* The CPU stopped being idle: all who watch it know. */
static void watches_end(struct wi_metrics *m, uint64_t now_ns, uint32_t cpu)
{
	while (m->missed.watch_head[cpu] != NONE) {
		struct m_watch *w = watch_at(m, m->missed.watch_head[cpu]);

		w->until_ns = now_ns;
		watch_unlink(m, w);
	}
	if (m->missed.worst_head[cpu] != NONE)
		m_worst_idle_ended(m, now_ns, cpu);
}

/* The CPU begins or ceases to be idle in the sense of rule 22. */
static void idle_begins(struct wi_metrics *m, uint64_t now_ns, uint32_t cpu)
{
	struct m_missed *s = &m->missed;

	wi_mask_set(s->idle, cpu);
	s->idle_since_ns[cpu] = now_ns;
}

static void idle_ends(struct wi_metrics *m, uint64_t now_ns, uint32_t cpu)
{
	wi_mask_clear(m->missed.idle, cpu);
	watches_end(m, now_ns, cpu);
}

/* idle(c) changed: rule 23 asks for it on every thread of a core. */
void m_missed_core_touch(struct wi_metrics *m, uint32_t cpu, bool idle)
{
	struct m_missed *s = &m->missed;
	uint32_t core = m->lay.topo->group[WAKEIF_CORE][cpu], n = m->lay.core_threads[core];
	const uint32_t *sibling = &m->lay.core_cpu[m->lay.core_first[core]];

	if (idle ? ++s->core_idle[core] < n : s->core_idle[core]-- < n)
		return;
	for (uint32_t i = 0; i < n; i++) {
		if (idle)
			wi_mask_set(s->idle_core, sibling[i]);
		else
			wi_mask_clear(s->idle_core, sibling[i]);
	}
}

static bool is_idle(const struct wi_metrics *m, const struct wakeif_view *v, uint32_t cpu)
{
	if (wi_mask_test(v->idle, cpu))
		return true;
	return m->missed.sched_idle_seen && wi_mask_test(v->sched_idle_only, cpu) && !wi_mask_test(v->pending, cpu);
}

/* The state of the CPU changed. leaving: a task just left its queue and may be on its way to run there. */
void m_missed_touch(struct wi_metrics *m, uint64_t now_ns, uint32_t cpu, bool leaving)
{
	bool idle = is_idle(m, wi_timeline_view(m->tl), cpu);

	if (idle == wi_mask_test(m->missed.idle, cpu))
		return;
	if (idle)
		idle_begins(m, now_ns, cpu);
	else if (!leaving)
		idle_ends(m, now_ns, cpu);
}

/* The wakee is on its way to a CPU that runs SCHED_IDLE tasks only: no hook tells, as idle(c) does not change. */
void m_missed_on_its_way(struct wi_metrics *m, uint64_t now_ns, const struct wi_wakeup *w)
{
	uint32_t c = w->chosen_cpu;
	bool comes = w->enq_ns == WI_TIME_UNKNOWN && !w->only_wakeup && w->pub.class_ != WAKEIF_FORK &&
		     w->pub.class_ != WAKEIF_SELF && w->pub.class_ != WAKEIF_ONRQ && w->wakee &&
		     w->wakee->state != WI_TASK_RUNNABLE;

	if (comes && c < m->lay.nr_cpus && m_online(&m->lay, c) && wi_mask_test(m->missed.idle, c) &&
	    !wi_mask_test(wi_timeline_view(m->tl)->idle, c))
		idle_ends(m, now_ns, c);
}

/* ---- the decision ---- */

/* The machine at a decision, seen with the eyes of this wakee. */
struct sight {
	const struct wakeif_view *view;
	const wakeif_word *idle;      /* online ones, by rule 22: SCHED_IDLE-only included where they count */
	const wakeif_word *idle_core; /* CPUs of idle cores */
	const wakeif_word *cand;      /* online, allowed, not isolated unless named */
	uint32_t words;
};

static void look(struct wi_metrics *m, const struct wi_wakeup *w, struct sight *s)
{
	struct m_missed *ms = &m->missed;
	const wakeif_word *base =
		w->pub.allowed_source == WAKEIF_ALLOWED_RECORDED ? m->lay.topo->online : m->lay.candidates;

	s->view = wi_timeline_view(m->tl);
	s->words = m->lay.words;
	s->idle = ms->idle;
	s->idle_core = ms->idle_core;
	for (uint32_t i = 0; i < s->words; i++)
		ms->scratch_cand[i] = base[i] & w->pub.allowed[i];
	s->cand = ms->scratch_cand;
}

static const wakeif_word *span_of(const struct wi_metrics *m, enum wakeif_scope scope, uint32_t cpu)
{
	const struct wakeif_topology *t = m->lay.topo;

	return t->span[scope][t->group[scope][cpu]];
}

/* Does a CPU of a & b & c exist? */
static bool any3(const wakeif_word *a, const wakeif_word *b, const wakeif_word *c, uint32_t words)
{
	for (uint32_t i = 0; i < words; i++)
		if (a[i] & b[i] & c[i])
			return true;
	return false;
}

/* Does a idle longer than b? What runs SCHED_IDLE tasks only comes after all that idle. */
static bool idles_longer(const struct wi_metrics *m, const struct sight *s, uint32_t a, uint32_t b)
{
	bool idle_a = wi_mask_test(s->view->idle, a), idle_b = wi_mask_test(s->view->idle, b);

	return idle_a != idle_b ? idle_a : m->missed.idle_since_ns[a] < m->missed.idle_since_ns[b];
}

/* Of pool & span & candidates: the CPU that idles longest, then the lowest. */
static void watch_missed(struct wi_metrics *m, struct m_wake *d, int which, const struct sight *s,
			 const wakeif_word *pool, const wakeif_word *span)
{
	uint32_t best = NONE;

	for (uint32_t i = 0; i < s->words; i++) {
		for (wakeif_word left = pool[i] & span[i] & s->cand[i]; left; left &= left - 1) {
			uint32_t c = i * 64 + (uint32_t)__builtin_ctzll(left);

			if (best == NONE || idles_longer(m, s, c, best))
				best = c;
		}
	}
	if (best == NONE)
		return;
	if (which == WATCH_RING)
		d->missed_sched_idle = !wi_mask_test(s->view->idle, best);
	watch_link(m, d, which, best, m->missed.idle_since_ns[best]);
}

/* Rule 21: the nearest ring with an idle candidate. An inner ring that held neither idle nor unknown ones adds nothing.
 */
static enum wi_missed_row find_ring(struct wi_metrics *m, const struct sight *s, uint32_t c, struct m_wake *d)
{
	static const enum wi_missed_row row[WAKEIF_NR_SCOPES] = { WI_MISSED_SIBLING, WI_MISSED_CLUSTER, WI_MISSED_LLC,
								  WI_MISSED_NODE, WI_MISSED_MACHINE };

	for (int scope = WAKEIF_CORE; scope < WAKEIF_NR_SCOPES; scope++) {
		if (scope && m->lay.level_of[scope] == m->lay.level_of[scope - 1])
			continue;
		const wakeif_word *span = span_of(m, (enum wakeif_scope)scope, c);
		if (any3(s->idle, span, s->cand, s->words)) {
			watch_missed(m, d, WATCH_RING, s, s->idle, span);
			return row[scope];
		}
		if (any3(s->view->unknown, span, s->cand, s->words))
			return WI_MISSED_UNKNOWN;
	}
	return WI_MISSED_NO_IDLE;
}

/* Wide scopes around c that hold an idle core, a bit each. */
static uint8_t find_idle_cores(const struct wi_metrics *m, const struct sight *s, uint32_t c)
{
	uint8_t found = 0;

	if (wi_mask_empty(s->idle_core, s->words))
		return 0;
	for (int i = 0; i < WI_NR_WIDE; i++)
		if (found || any3(s->idle_core, span_of(m, wide_scope[i], c), s->cand, s->words))
			found |= (uint8_t)(1 << i); /* scopes contain each other */
	return found;
}

enum sibling_state { SIBLINGS_IDLE, SIBLING_BUSY, SIBLING_UNKNOWN };

static enum sibling_state siblings_of(const struct wi_metrics *m, const struct sight *s, uint32_t c)
{
	uint32_t core = m->lay.topo->group[WAKEIF_CORE][c];
	const uint32_t *sibling = &m->lay.core_cpu[m->lay.core_first[core]];
	enum sibling_state state = SIBLINGS_IDLE;

	for (uint32_t i = 0; i < m->lay.core_threads[core]; i++) {
		if (sibling[i] == c || wi_mask_test(s->view->idle, sibling[i]))
			continue;
		if (!wi_mask_test(s->view->unknown, sibling[i]))
			return SIBLING_BUSY;
		state = SIBLING_UNKNOWN;
	}
	return state;
}

static enum wi_placed placement_of(bool idle, bool stayed, enum sibling_state siblings)
{
	if (stayed)
		return idle ? WI_PLACED_PREV_IDLE : WI_PLACED_PREV_BUSY;
	if (!idle)
		return WI_PLACED_BUSY;
	return siblings == SIBLINGS_IDLE  ? WI_PLACED_IDLE_CORE
	       : siblings == SIBLING_BUSY ? WI_PLACED_IDLE_SIBLING_BUSY
					  : WI_PLACED_UNKNOWN;
}

static void note_prev_idle(struct wi_metrics *m, const struct sight *s, const struct wi_wakeup *w, struct m_wake *d)
{
	uint32_t prev = w->pub.prev_cpu, c = w->chosen_cpu;

	if (prev == c || prev >= m->lay.nr_cpus || !wi_mask_test(s->idle, prev) || !wi_mask_test(s->cand, prev))
		return;
	d->prev_idle_elsewhere = true;
	m->missed.r.prev_idle_elsewhere++;
	if (d->prev_distance < WI_NR_DISTANCES)
		m->missed.r.prev_idle_by_distance[d->prev_distance]++;
	/* On one LLC an idle prev_cpu is returned whatever wake_affine says. */
	m->missed.r.prev_idle_affine_possible += m_waker_cpu(w) < m->lay.nr_cpus && m_waker_cpu(w) != prev &&
						 m_same_llc(m->lay.topo, c, m_waker_cpu(w)) &&
						 !m_same_llc(m->lay.topo, prev, c);
}

static void count_wide(struct wi_missed_cost *cost, uint8_t bits)
{
	for (int i = 0; i < WI_NR_WIDE; i++)
		cost[i].count += bits >> i & 1;
}

/* Who runs on the chosen CPU; where nobody does and it is yet not idle: who was sent there last. */
void m_missed_names(struct wi_metrics *m, const struct wi_wakeup *w, struct m_wake *d)
{
	const struct wakeif_view *v = wi_timeline_view(m->tl);
	uint32_t c = w->chosen_cpu;
	const struct wi_task *ran = wi_timeline_current(m->tl, c);

	d->comm = w->wakee ? w->wakee->comm : WI_NAME_NONE;
	d->ran_pid = v->cpu[c].curr_pid;
	d->ran_comm = ran ? ran->comm : WI_NAME_NONE;
	if (d->ran_pid || wi_mask_test(v->idle, c) || !m->missed.coming[c].pid)
		return;
	d->ran_waking = true;
	d->ran_pid = m->missed.coming[c].pid;
	d->ran_comm = m->missed.coming[c].comm;
}

/* Queued on c, without the wakee itself. */
static uint32_t nr_running(const struct sight *s, const struct wi_wakeup *w, uint32_t c)
{
	const struct wi_task *t = w->wakee;
	bool itself = t && t->cpu == c && (t->state == WI_TASK_RUNNING || t->state == WI_TASK_RUNNABLE);

	return s->view->cpu[c].nr_running - (itself && s->view->cpu[c].nr_running);
}

static void placed_on_busy(struct wi_metrics *m, const struct sight *s, const struct wi_wakeup *w, struct m_wake *d)
{
	struct wi_missed_results *r = &m->missed.r;
	uint32_t c = w->chosen_cpu;

	r->queued_on_busy++;
	r->stalled_queued_on_busy += w->pub.waker_stalled;
	d->row = (uint8_t)find_ring(m, s, c, d);
	d->idle_core = find_idle_cores(m, s, c);
	count_wide(r->queued_while_idle_core, d->idle_core);
	m_missed_names(m, w, d);
	if (c != m_waker_cpu(w))
		return;
	uint32_t running = nr_running(s, w, c);
	r->on_waker_cpu++;
	r->on_waker_cpu_alone += running == 1;
	d->stacked = running >= 2 && d->idle_core >> WI_WIDE_MACHINE & 1;
	r->stacked_on_waker.count += d->stacked;
}

static void placed_on_idle(struct wi_metrics *m, const struct sight *s, const struct wi_wakeup *w, struct m_wake *d,
			   enum sibling_state siblings)
{
	struct wi_missed_results *r = &m->missed.r;

	r->chosen_idle++;
	if (!wi_mask_test(s->view->idle, w->chosen_cpu)) {
		d->on_sched_idle_only = true;
		r->on_sched_idle_only++;
		m_missed_names(m, w, d);
	} else {
		d->ran_pid = 0;
	}
	if (siblings == SIBLING_BUSY)
		d->half_busy = find_idle_cores(m, s, w->chosen_cpu);
	count_wide(r->half_busy_core, d->half_busy);
}

static void watch_idle_core(struct wi_metrics *m, const struct sight *s, uint32_t c, struct m_wake *d)
{
	uint8_t bits = d->idle_core | d->half_busy;

	if (bits)
		watch_missed(m, d, WATCH_CORE, s, s->idle_core, span_of(m, wide_scope[__builtin_ctz(bits)], c));
}

void m_missed_undecided(struct wi_metrics *m, struct m_wake *d)
{
	m->missed.r.decided++;
	m->missed.r.chosen_unknown++;
	m->missed.r.row[WI_MISSED_UNKNOWN].count++;
	d->chosen_unknown = true;
	d->row = WI_MISSED_UNKNOWN;
}

void m_missed_decision(struct wi_metrics *m, const struct wi_wakeup *w, struct m_wake *d)
{
	struct wi_missed_results *r = &m->missed.r;
	uint32_t c = w->chosen_cpu;
	struct sight s;

	r->allowed[w->pub.allowed_source]++;
	r->stalled_decided += w->pub.waker_stalled;
	if (c >= m->lay.nr_cpus || m->lay.topo->group[WAKEIF_CORE][c] == UINT32_MAX) {
		m_missed_undecided(m, d);
		return;
	}
	r->decided++;
	look(m, w, &s);
	d->prev_distance = (uint8_t)m_distance(m->lay.topo, w->pub.prev_cpu, c);
	d->waker_distance = (uint8_t)m_distance(m->lay.topo, m_waker_cpu(w), c);
	note_prev_idle(m, &s, w, d);
	if (wi_mask_test(s.view->unknown, c)) {
		d->chosen_unknown = true;
		d->row = WI_MISSED_UNKNOWN;
		r->chosen_unknown++;
	} else {
		bool idle = wi_mask_test(s.idle, c);
		enum sibling_state siblings = idle ? siblings_of(m, &s, c) : SIBLING_UNKNOWN;

		if (w->pub.prev_cpu < m->lay.nr_cpus)
			d->placement = (uint8_t)placement_of(idle, c == w->pub.prev_cpu, siblings);
		if (idle)
			placed_on_idle(m, &s, w, d, siblings);
		else
			placed_on_busy(m, &s, w, d);
		watch_idle_core(m, &s, c, d);
	}
	if (d->row != WI_MISSED_NONE)
		r->row[d->row].count++;
}

/* ---- the end of the wakeup ---- */

uint64_t m_avoidable_ns(const struct m_watch *watch, uint64_t enq_ns, uint64_t run_ns)
{
	uint64_t end = watch->until_ns < run_ns ? watch->until_ns : run_ns;

	return end > enq_ns ? end - enq_ns : 0;
}

static void add_cost(struct wi_metrics *m, struct wi_missed_cost *cost, const struct m_watch *watch, uint64_t enq_ns,
		     uint64_t run_ns)
{
	m_hist_add(m, &cost->wait, run_ns - enq_ns);
	if (watch->cpu != NONE)
		m_hist_add(m, &cost->avoidable, m_avoidable_ns(watch, enq_ns, run_ns));
}

static void offer_worst(struct wi_metrics *m, const struct wi_wakeup *w, const struct m_wake *d, uint64_t end_ns,
			bool censored)
{
	const struct m_watch *watch = &d->watch[WATCH_RING];
	struct wi_worst_row row = {
		.wake_ns = w->pub.wake_ns,
		.wait_ns = end_ns - w->enq_ns,
		.avoidable_ns = m_avoidable_ns(watch, w->enq_ns, end_ns),
		.pid = w->pub.pid,
		.waker_pid = w->pub.waker_pid,
		.ran_pid = d->ran_pid,
		.comm = d->comm,
		.waker_comm = w->waker_comm,
		.ran_comm = d->ran_comm,
		.waker_cpu = m_waker_cpu(w),
		.prev_cpu = w->pub.prev_cpu,
		.chosen_cpu = w->chosen_cpu,
		.missed_cpu = watch->cpu,
		.row = d->row,
		.censored = censored,
		.ran_waking = d->ran_waking,
		.missed_sched_idle = d->missed_sched_idle,
	};

	m_worst_offer(m, &row, watch);
}

void m_missed_closed(struct wi_metrics *m, uint64_t now_ns, const struct wi_wakeup *w, enum wi_outcome outcome,
		     struct m_wake *d)
{
	struct wi_missed_results *r = &m->missed.r;
	uint64_t end_ns = outcome == WI_OUT_RUN ? w->run_ns : now_ns;

	if ((outcome != WI_OUT_RUN && outcome != WI_OUT_CENSORED) || w->enq_ns > end_ns)
		return; /* what it waited is not known */
	if (outcome == WI_OUT_RUN) {
		if (d->row != WI_MISSED_NONE)
			add_cost(m, &r->row[d->row], &d->watch[WATCH_RING], w->enq_ns, end_ns);
		for (int i = 0; i < WI_NR_WIDE; i++) {
			if (d->idle_core >> i & 1)
				add_cost(m, &r->queued_while_idle_core[i], &d->watch[WATCH_CORE], w->enq_ns, end_ns);
			if (d->half_busy >> i & 1)
				add_cost(m, &r->half_busy_core[i], &d->watch[WATCH_CORE], w->enq_ns, end_ns);
		}
		if (d->stacked)
			add_cost(m, &r->stacked_on_waker, &d->watch[WATCH_CORE], w->enq_ns, end_ns);
	}
	if (d->watch[WATCH_RING].cpu != NONE)
		offer_worst(m, w, d, end_ns, outcome == WI_OUT_CENSORED);
}

bool m_missed_finish(struct wi_metrics *m, struct wi_results *r, uint64_t end_ns)
{
	r->missed = m->missed.r; /* with its memory */
	m->missed.r = (struct wi_missed_results){ 0 };
	return m_worst_finish(m, &r->missed, r->names, end_ns);
}
