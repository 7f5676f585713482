/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Missed idle (METRICS, rules 21 to 25): what idled at the decision instant while the wakee was put elsewhere, and what
 * that cost. The missed CPU is watched from the decision on: it is on a list of its CPU until it stops being idle.
 */
#include "analyzer/base/kernel.h"
#include "analyzer/metrics/priv.h"

bool m_missed_init(struct wi_metrics *m)
{
	struct m_missed *s = &m->missed;
	uint32_t words = m->lay.words + 1;

	s->r.max_worst = s->max_worst = m->opt.worst_n ? m->opt.worst_n : 20;
	s->sched_idle_rule = m->opt.kernel_version >= WI_KERNEL(5, 4);
	s->idle_core = calloc(words, sizeof(*s->idle_core));
	s->idle = calloc(words, sizeof(*s->idle));
	s->scratch_cand = calloc(words, sizeof(*s->scratch_cand));
	return s->idle_core && s->idle && s->scratch_cand;
}

static void cost_fini(struct m_cost *c)
{
	m_hist_fini(&c->wait);
	m_hist_fini(&c->avoidable);
}

void m_missed_fini(struct wi_metrics *m)
{
	struct m_missed *s = &m->missed;

	for (int i = 0; i < WI_NR_MISSED_ROWS; i++)
		m_hist_fini(&s->row_avoidable[i]);
	for (int i = 0; i < WI_NR_WIDE; i++) {
		cost_fini(&s->queued_while_idle_core[i]);
		cost_fini(&s->half_busy_core[i]);
	}
	cost_fini(&s->stacked_on_waker);
	free(s->worst);
	free(s->heap);
	free(s->idle_core);
	free(s->idle);
	free(s->scratch_cand);
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
			       .next = m->cpu[cpu].watch_head,
			       .prev = NONE,
			       .linked = true,
			       .since_ns = since_ns,
			       .until_ns = WI_TIME_UNKNOWN };
	if (w->next != NONE)
		watch_at(m, w->next)->prev = number;
	m->cpu[cpu].watch_head = number;
}

static void watch_unlink(struct wi_metrics *m, struct m_watch *w)
{
	w->linked = false;
	if (w->prev != NONE)
		watch_at(m, w->prev)->next = w->next;
	else
		m->cpu[w->cpu].watch_head = w->next;
	if (w->next != NONE)
		watch_at(m, w->next)->prev = w->prev;
}

void m_missed_unlink(struct wi_metrics *m, struct m_wake *d)
{
	for (int i = 0; i < NR_WATCHES; i++)
		if (d->watch[i].linked)
			watch_unlink(m, &d->watch[i]);
}

/* The CPU stopped being idle: all who watch it know. */
m_rare static void watches_end(struct wi_metrics *m, uint64_t now_ns, struct m_cpu *c)
{
	while (c->watch_head != NONE) {
		struct m_watch *w = watch_at(m, c->watch_head);

		w->until_ns = now_ns;
		watch_unlink(m, w);
	}
	if (c->worst_head != NONE)
		m_worst_idle_ended(m, now_ns, c);
}

/* The CPU ceases to be idle in the sense of rule 22. */
static inline void idle_ends(struct wi_metrics *m, uint64_t now_ns, struct m_cpu *c)
{
	wi_mask_clear(m->missed.idle, c->number);
	if (c->watch_head != NONE || c->worst_head != NONE)
		watches_end(m, now_ns, c);
}

void m_missed_core_idle(struct wi_metrics *m, const struct m_core *core, bool idle)
{
	struct m_missed *s = &m->missed;

	s->nr_idle_cores += idle ? 1u : -1u;
	for (uint32_t i = 0; i < core->nr_threads; i++) {
		if (idle)
			wi_mask_set(s->idle_core, core->thread[i]->number);
		else
			wi_mask_clear(s->idle_core, core->thread[i]->number);
	}
}

static bool is_idle(const struct wi_metrics *m, const struct wakeif_view *v, uint32_t cpu)
{
	if (wi_mask_test(v->idle, cpu))
		return true;
	return m->missed.sched_idle_seen && wi_mask_test(v->sched_idle_only, cpu) && !wi_mask_test(v->pending, cpu);
}

/* The state of the CPU changed. leaving: a task just left its queue and may be on its way to run there. */
static inline void idle_changed(struct wi_metrics *m, uint64_t now_ns, struct m_cpu *c, bool idle)
{
	if (!idle) {
		idle_ends(m, now_ns, c);
		return;
	}
	wi_mask_set(m->missed.idle, c->number);
	c->idleish_ns = now_ns;
}

/* idle(c) changed, and no SCHED_IDLE task was seen. */
void m_missed_idle_changed(struct wi_metrics *m, uint64_t now_ns, struct m_cpu *c, bool idle)
{
	idle_changed(m, now_ns, c, idle);
}

/* The state of the CPU changed. leaving: a task just left its queue and may be on its way to run there. */
void m_missed_touch(struct wi_metrics *m, uint64_t now_ns, struct m_cpu *c, bool leaving)
{
	bool idle = is_idle(m, wi_timeline_view(m->tl), c->number);

	if (idle == wi_mask_test(m->missed.idle, c->number))
		return;
	if (idle || !leaving)
		idle_changed(m, now_ns, c, idle);
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
		idle_ends(m, now_ns, &m->cpu[c]);
}

/* ---- the decision ---- */

/* The machine at a decision, seen with the eyes of this wakee. */
struct sight {
	const struct wakeif_view *view;
	const wakeif_word *cand; /* online, allowed, not isolated unless named */
	uint32_t words;
};

static inline void look(struct wi_metrics *m, const struct wi_wakeup *w, struct sight *s)
{
	const wakeif_word *base =
		w->pub.allowed_source == WAKEIF_ALLOWED_RECORDED ? m->lay.topo->online : m->lay.candidates;
	wakeif_word *cand = m->missed.scratch_cand;

	s->view = wi_timeline_view(m->tl);
	s->words = m->lay.words;
	s->cand = cand;
	cand[0] = base[0] & w->pub.allowed[0];
	for (uint32_t i = 1; i < s->words; i++)
		cand[i] = base[i] & w->pub.allowed[i];
}

/* Does a CPU of a & b & c exist? There is at least one word. */
static inline bool any3(const wakeif_word *a, const wakeif_word *b, const wakeif_word *c, uint32_t words)
{
	if (a[0] & b[0] & c[0])
		return true;
	for (uint32_t i = 1; i < words; i++)
		if (a[i] & b[i] & c[i])
			return true;
	return false;
}

/* Does a idle longer than b? What runs SCHED_IDLE tasks only comes after all that idle. */
static bool idles_longer(const struct wi_metrics *m, const struct sight *s, uint32_t a, uint32_t b)
{
	bool idle_a = wi_mask_test(s->view->idle, a), idle_b = wi_mask_test(s->view->idle, b);

	return idle_a != idle_b ? idle_a : m->cpu[a].idleish_ns < m->cpu[b].idleish_ns;
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
	watch_link(m, d, which, best, m->cpu[best].idleish_ns);
}

/* Rule 21: the nearest ring with an idle candidate. An inner ring that held neither idle nor unknown ones adds nothing.
 */
static inline enum wi_missed_row find_ring(struct wi_metrics *m, const struct sight *s, const struct m_cpu *c,
					   struct m_wake *d)
{
	static const enum wi_missed_row row[WAKEIF_NR_SCOPES] = { WI_MISSED_SIBLING, WI_MISSED_CLUSTER, WI_MISSED_LLC,
								  WI_MISSED_NODE, WI_MISSED_MACHINE };

	for (uint32_t l = 0; l < m->lay.nr_levels; l++) {
		const wakeif_word *span = c->span[l];

		if (any3(m->missed.idle, span, s->cand, s->words)) {
			watch_missed(m, d, WATCH_RING, s, m->missed.idle, span);
			return row[m->lay.level[l].scope];
		}
		if (any3(s->view->unknown, span, s->cand, s->words))
			return WI_MISSED_UNKNOWN;
	}
	return WI_MISSED_NO_IDLE;
}

/* Wide scopes around c that hold an idle core, a bit each. */
static uint8_t find_idle_cores(const struct wi_metrics *m, const struct sight *s, const struct m_cpu *c)
{
	uint8_t found = 0;

	for (int i = 0; i < WI_NR_WIDE; i++)
		if (found || any3(m->missed.idle_core, c->span[m->lay.level_of[wi_wide_scope((enum wi_wide_scope)i)]],
				  s->cand, s->words))
			found |= (uint8_t)(1 << i); /* scopes contain each other */
	return found;
}

static inline uint8_t idle_cores(const struct wi_metrics *m, const struct sight *s, const struct m_cpu *c)
{
	return m->missed.nr_idle_cores ? find_idle_cores(m, s, c) : 0;
}

enum sibling_state { SIBLINGS_IDLE, SIBLING_BUSY, SIBLING_UNKNOWN };

static inline enum sibling_state state_of(const struct sight *s, const struct m_cpu *sibling)
{
	return wi_mask_test(s->view->idle, sibling->number)	 ? SIBLINGS_IDLE
	       : wi_mask_test(s->view->unknown, sibling->number) ? SIBLING_UNKNOWN
								 : SIBLING_BUSY;
}

static enum sibling_state state_of_many(const struct wi_metrics *m, const struct sight *s, const struct m_cpu *c)
{
	const struct m_core *core = m_core_of(m, c);
	enum sibling_state state = SIBLINGS_IDLE;

	for (uint32_t i = 0; core && i < core->nr_threads && state != SIBLING_BUSY; i++)
		if (core->thread[i] != c && state_of(s, core->thread[i]) != SIBLINGS_IDLE)
			state = state_of(s, core->thread[i]);
	return state;
}

static inline enum sibling_state siblings_of(const struct wi_metrics *m, const struct sight *s, const struct m_cpu *c)
{
	return c->sibling ? state_of(s, c->sibling) : state_of_many(m, s, c);
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

/* prev_cpu is idle, and a candidate; the choice was another one. */
m_rare static void note_prev_idle(struct wi_metrics *m, const struct wi_wakeup *w, struct m_wake *d)
{
	struct wi_missed_results *r = &m->missed.r;
	uint32_t prev = w->pub.prev_cpu, waker = m_waker_cpu(w), c = w->chosen_cpu;

	d->prev_idle_elsewhere = true;
	r->prev_idle_elsewhere++;
	if (d->prev_distance < WI_NR_DISTANCES)
		r->prev_idle_by_distance[d->prev_distance]++;
	/* On one LLC an idle prev_cpu is returned whatever wake_affine says. */
	r->prev_idle_affine_possible += waker < m->lay.nr_cpus && waker != prev && m_same_llc(m->lay.topo, c, waker) &&
					!m_same_llc(m->lay.topo, prev, c);
}

static inline void count_wide(struct wi_missed_cost *cost, uint8_t bits)
{
	if (!bits)
		return;
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
	if (d->ran_pid || wi_mask_test(v->idle, c) || !m->cpu[c].coming.pid)
		return;
	d->ran_waking = true;
	d->ran_pid = m->cpu[c].coming.pid;
	d->ran_comm = m->cpu[c].coming.comm;
}

/* Queued on c, without the wakee itself. */
static uint32_t nr_running(const struct sight *s, const struct wi_wakeup *w, uint32_t c)
{
	const struct wi_task *t = w->wakee;
	bool itself = t && t->cpu == c && (t->state == WI_TASK_RUNNING || t->state == WI_TASK_RUNNABLE);

	return s->view->cpu[c].nr_running - (itself && s->view->cpu[c].nr_running);
}

static inline void placed_on_busy(struct wi_metrics *m, const struct sight *s, const struct wi_wakeup *w,
				  struct m_wake *d)
{
	struct wi_missed_results *r = &m->missed.r;
	const struct m_cpu *c = &m->cpu[w->chosen_cpu];

	r->queued_on_busy++;
	r->stalled_queued_on_busy += w->pub.waker_stalled;
	d->row = (uint8_t)find_ring(m, s, c, d);
	r->row[d->row].count++;
	d->idle_core = idle_cores(m, s, c);
	count_wide(r->queued_while_idle_core, d->idle_core);
	m_missed_names(m, w, d);
	if (c->number != m_waker_cpu(w))
		return;
	uint32_t running = nr_running(s, w, c->number);
	r->on_waker_cpu++;
	r->on_waker_cpu_alone += running == 1;
	d->stacked = running >= 2 && d->idle_core >> WI_WIDE_MACHINE & 1;
	r->stacked_on_waker.count += d->stacked;
}

static inline void placed_on_idle(struct wi_metrics *m, const struct sight *s, const struct wi_wakeup *w,
				  struct m_wake *d, enum sibling_state siblings)
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
	if (siblings != SIBLING_BUSY)
		return;
	d->half_busy = idle_cores(m, s, &m->cpu[w->chosen_cpu]);
	count_wide(r->half_busy_core, d->half_busy);
}

m_rare static void watch_idle_core(struct wi_metrics *m, const struct sight *s, const struct m_cpu *c, struct m_wake *d)
{
	uint32_t scope = wi_wide_scope((enum wi_wide_scope)__builtin_ctz(d->idle_core | d->half_busy));

	watch_missed(m, d, WATCH_CORE, s, m->missed.idle_core, c->span[m->lay.level_of[scope]]);
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
	const struct m_cpu *c = w->chosen_cpu < m->lay.nr_cpus ? &m->cpu[w->chosen_cpu] : NULL;
	uint32_t prev = w->pub.prev_cpu;
	struct sight s;

	r->allowed[w->pub.allowed_source]++;
	r->stalled_decided += w->pub.waker_stalled;
	if (!c || !c->span[0]) {
		m_missed_undecided(m, d);
		return;
	}
	r->decided++;
	look(m, w, &s);
	d->prev_distance = (uint8_t)m_distance(&m->lay, prev, c->number);
	d->waker_distance = (uint8_t)m_distance(&m->lay, m_waker_cpu(w), c->number);
	if (prev != c->number && prev < m->lay.nr_cpus && wi_mask_test(m->missed.idle, prev) &&
	    wi_mask_test(s.cand, prev))
		note_prev_idle(m, w, d);
	if (c->package)
		m->idle.touched += c->package->nr_idle == c->package->nr_online && c->package->nr_online;
	if (wi_mask_test(s.view->unknown, c->number)) {
		d->chosen_unknown = true;
		d->row = WI_MISSED_UNKNOWN;
		r->chosen_unknown++;
		r->row[WI_MISSED_UNKNOWN].count++;
		return;
	}
	bool idle = wi_mask_test(m->missed.idle, c->number);
	enum sibling_state siblings = idle ? siblings_of(m, &s, c) : SIBLING_UNKNOWN;
	if (prev < m->lay.nr_cpus)
		d->placement = (uint8_t)placement_of(idle, c->number == prev, siblings);
	if (idle)
		placed_on_idle(m, &s, w, d, siblings);
	else
		placed_on_busy(m, &s, w, d);
	if (d->idle_core | d->half_busy)
		watch_idle_core(m, &s, c, d);
}

/* ---- the end of the wakeup ---- */

uint64_t m_avoidable_ns(const struct m_watch *watch, uint64_t enq_ns, uint64_t run_ns)
{
	uint64_t end = watch->until_ns < run_ns ? watch->until_ns : run_ns;

	return end > enq_ns ? end - enq_ns : 0;
}

static void add_cost(struct wi_metrics *m, struct m_cost *cost, const struct m_watch *watch, uint64_t enq_ns,
		     uint64_t run_ns)
{
	m_hist_add(m, &cost->wait, run_ns - enq_ns);
	if (watch->cpu != NONE)
		m_hist_add(m, &cost->avoidable, m_avoidable_ns(watch, enq_ns, run_ns));
}

/* Rows that a wakeup is in besides its own one; most are in none. */
m_rare static void add_more_costs(struct wi_metrics *m, const struct m_wake *d, uint64_t enq_ns, uint64_t run_ns)
{
	struct m_missed *s = &m->missed;
	const struct m_watch *watch = &d->watch[WATCH_CORE];

	for (int i = 0; i < WI_NR_WIDE; i++) {
		if (d->idle_core >> i & 1)
			add_cost(m, &s->queued_while_idle_core[i], watch, enq_ns, run_ns);
		if (d->half_busy >> i & 1)
			add_cost(m, &s->half_busy_core[i], watch, enq_ns, run_ns);
	}
	if (d->stacked)
		add_cost(m, &s->stacked_on_waker, watch, enq_ns, run_ns);
}

m_rare static void offer_worst(struct wi_metrics *m, const struct wi_wakeup *w, const struct m_wake *d, uint64_t end_ns,
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
	uint64_t end_ns = outcome == WI_OUT_RUN ? w->run_ns : now_ns;

	if ((outcome != WI_OUT_RUN && outcome != WI_OUT_CENSORED) || w->enq_ns > end_ns)
		return; /* what it waited is not known */
	if (outcome == WI_OUT_RUN) {
		if (d->watch[WATCH_RING].cpu != NONE)
			m_hist_add(m, &m->missed.row_avoidable[d->row],
				   m_avoidable_ns(&d->watch[WATCH_RING], w->enq_ns, end_ns));
		if (d->idle_core | d->half_busy)
			add_more_costs(m, d, w->enq_ns, end_ns);
	}
	if (d->watch[WATCH_RING].cpu != NONE)
		offer_worst(m, w, d, end_ns, outcome == WI_OUT_CENSORED);
}

static bool cost_move(struct m_cost *from, struct wi_missed_cost *into)
{
	return m_hist_move(&from->wait, &into->wait) && m_hist_move(&from->avoidable, &into->avoidable);
}

bool m_missed_finish(struct wi_metrics *m, struct wi_results *r, uint64_t end_ns)
{
	struct m_missed *s = &m->missed;
	struct wi_missed_results *out = &r->missed;
	bool ok = true;

	*out = s->r;
	for (int i = 0; i < WI_NR_MISSED_ROWS; i++)
		ok = ok && m_hist_move(&m->latency.queue_wait[i], &out->row[i].wait) &&
		     wi_hist_merge(&r->latency.queue_wait, &out->row[i].wait) &&
		     m_hist_move(&s->row_avoidable[i], &out->row[i].avoidable);
	for (int i = 0; i < WI_NR_WIDE; i++)
		ok = ok && cost_move(&s->queued_while_idle_core[i], &out->queued_while_idle_core[i]) &&
		     cost_move(&s->half_busy_core[i], &out->half_busy_core[i]);
	if (!ok || !cost_move(&s->stacked_on_waker, &out->stacked_on_waker))
		return false;
	return m_worst_finish(m, &r->missed, r->names, end_ns);
}
