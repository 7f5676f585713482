/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Fans the timeline's hooks out to the metrics, in one fixed order, and gathers their results. */
#include "analyzer/metrics/priv.h"

/* Time goes on: what changed at the last instant is complete. */
static inline void advance(struct wi_metrics *m, uint64_t now_ns)
{
	if (now_ns <= m->now_ns)
		return;
	if (m->waste.unsettled)
		m_waste_settle(m);
	m->now_ns = now_ns;
	m->counted_ns = now_ns > m->start_ns ? now_ns : m->start_ns;
}

static inline struct m_task *task_of(struct wi_metrics *m, const struct wi_task *task)
{
	struct m_task *mine = task->observer;

	if (mine)
		return mine;
	mine = m_task_add(&m->tasks, task);
	if (!mine)
		m->failed = true;
	((struct wi_task *)task)->observer = mine;
	return mine;
}

/* Until a SCHED_IDLE task shows up, idle(c) alone tells which CPUs count as idle. */
static inline void note_policy(struct wi_metrics *m, const struct wi_task *task)
{
	if (task->policy == WAKEIF_POLICY_IDLE && m->missed.sched_idle_rule)
		m->missed.sched_idle_seen = true;
}

static void kind_changed(struct wi_metrics *m, uint64_t now_ns, struct m_cpu *c, enum wi_cpu_kind kind,
			 struct m_task *t, uint32_t group)
{
	if (c->kind == WI_CPU_UNKNOWN || kind == WI_CPU_UNKNOWN)
		m_waste_cpu_known(m, c, kind != WI_CPU_UNKNOWN);
	if (c->online) {
		if (m->lay.max_threads > 1)
			m_smt_kind_changed(m, now_ns, c, kind, t, group);
		m_idle_kind_changed(m, now_ns, c, kind);
	}
	c->kind = (uint8_t)kind;
	if (c->nr_wait)
		m_waste_kind_changed(m, c);
}

static void on_cpu_changed(void *ctx, uint64_t now_ns, uint32_t cpu, enum wi_cpu_kind kind, const struct wi_task *task)
{
	struct wi_metrics *m = ctx;
	struct m_cpu *c = &m->cpu[cpu];
	struct m_task *t = NULL;
	uint32_t group = 0;

	advance(m, now_ns);
	if (kind == WI_CPU_BUSY && task) {
		t = task_of(m, task);
		note_policy(m, task);
	}
	if (t) {
		t->wait_left_ns = WI_TIME_UNKNOWN; /* it ran */
		if (t->bounce != NONE && c->online)
			m_affine_switched_in(m, now_ns, cpu, t);
		group = m->opt.smt_group == WI_GROUP_COMM ? task->comm : m_smt_group_of(m, task, t);
	}
	c->coming.pid = 0;
	m_longest_ran(c, now_ns, kind, task);
	if (c->kind != kind)
		kind_changed(m, now_ns, c, kind, t, group);
	else if (c->online && m->lay.max_threads > 1)
		m_smt_task_changed(m, now_ns, c, t, group);
	if (__builtin_expect(m->cookies != NULL, 0))
		m_cookies_cpu_changed(m, now_ns, cpu, kind, t);
	if (m->missed.sched_idle_seen && c->online)
		m_missed_touch(m, now_ns, c, false);
}

static void on_idle_changed(void *ctx, uint64_t now_ns, uint32_t cpu, bool idle)
{
	struct wi_metrics *m = ctx;
	struct m_cpu *c = &m->cpu[cpu];
	struct m_core *core = c->core;

	advance(m, now_ns);
	if (c->idle == idle || !core)
		return;
	c->idle = idle;
	if (c->package)
		c->package->nr_idle += idle ? 1u : -1u;
	if (m->missed.sched_idle_seen)
		m_missed_touch(m, now_ns, c, false);
	else
		m_missed_idle_changed(m, now_ns, c, idle);
	if (idle ? ++core->nr_idle == core->nr_threads : core->nr_idle-- == core->nr_threads) {
		m_missed_core_idle(m, core, idle);
		if (m->lay.max_threads > 1)
			m_smt_core_idle(m, now_ns, core);
	}
	if (c->candidate)
		m_waste_idle_changed(m, now_ns, c, idle);
}

static __attribute__((noinline)) void wait_begins(struct wi_metrics *m, uint64_t now_ns, struct m_cpu *c,
						  struct m_task *t)
{
	bool moved = t->wait_left_ns == now_ns;

	if (moved)
		m_longest_moved(m, t);
	else if (t->hops != NONE)
		m_longest_forget(m, t);
	t->queue_cpu = c->number;
	t->wait_join_ns = now_ns;
	t->wait_left_ns = WI_TIME_UNKNOWN;
	m_waste_wait_begin(m, now_ns, c, t, moved);
}

static inline void wait_changes(struct wi_metrics *m, uint64_t now_ns, struct m_cpu *c, struct m_task *t, int delta)
{
	if (delta > 0) {
		wait_begins(m, now_ns, c, t);
		return;
	}
	t->wait_left_ns = now_ns;
	m_waste_wait_end(m, t);
}

/* The same where somebody else wants to know, too. */
m_rare static void wait_changes_for_all(struct wi_metrics *m, uint64_t now_ns, struct m_cpu *c, struct m_task *t, int delta)
{
	wait_changes(m, now_ns, c, t, delta);
	if (m->cookies)
		m_cookies_wait_changed(m, now_ns, c->number, t, delta);
	if (m->missed.sched_idle_seen && c->online)
		m_missed_touch(m, now_ns, c, delta < 0);
}

static void on_wait_changed(void *ctx, uint64_t now_ns, uint32_t cpu, const struct wi_task *task, int delta)
{
	struct wi_metrics *m = ctx;
	struct m_cpu *c = &m->cpu[cpu];
	struct m_task *t = task_of(m, task);

	advance(m, now_ns);
	if (!t)
		return;
	note_policy(m, task);
	if (__builtin_expect(m->cookies || m->missed.sched_idle_seen, 0))
		wait_changes_for_all(m, now_ns, c, t, delta);
	else
		wait_changes(m, now_ns, c, t, delta);
}

/* ---- wakeups ---- */

m_rare static bool more_wakes(struct wi_metrics *m, uint32_t slot)
{
	uint32_t nr = (slot + 64) & ~63u;
	struct m_wake *wake = realloc(m->wake, nr * sizeof(*wake));

	if (!wake) {
		m->failed = true;
		return false;
	}
	memset(wake + m->nr_wake, 0, (nr - m->nr_wake) * sizeof(*wake));
	m->wake = wake;
	m->nr_wake = nr;
	return true;
}

static inline struct m_wake *wake_at(struct wi_metrics *m, uint32_t slot)
{
	return slot < m->nr_wake || more_wakes(m, slot) ? &m->wake[slot] : NULL;
}

static inline void wake_begin(struct wi_metrics *m, const struct wi_wakeup *w, struct m_wake *d)
{
	static const struct m_wake fresh = {
		.row = WI_MISSED_NONE,
		.placement = WI_PLACED_UNKNOWN,
		.prev_distance = WI_DIST_UNKNOWN,
		.waker_distance = WI_DIST_UNKNOWN,
		.ran_pid = -1,
		.ran_comm = WI_NAME_NONE,
		.comm = WI_NAME_NONE,
	};

	memcpy(d, &fresh, offsetof(struct m_wake, watch));
	for (int i = 0; i < NR_WATCHES; i++) {
		d->watch[i].cpu = NONE;
		d->watch[i].linked = false;
	}
	d->counts = w->in_window && (!m->filter.any || m_filter_match(m, w));
	d->decided = d->counts && w->pub.class_ == WAKEIF_SELECT;
}

static void on_decision(void *ctx, uint64_t now_ns, const struct wi_wakeup *w)
{
	struct wi_metrics *m = ctx;

	advance(m, now_ns);
	struct m_wake *d = wake_at(m, w->slot);
	if (!d)
		return;
	wake_begin(m, w, d);
	d->seen = true;
	if (d->decided) {
		m_missed_decision(m, w, d);
		m_affine_decision(m, w, d);
	} else if (m->opt.sink && w->chosen_cpu < m->lay.nr_cpus)
		m_missed_names(m, w, d);
	if (m->missed.sched_idle_seen)
		m_missed_on_its_way(m, now_ns, w);
	if (w->chosen_cpu < m->lay.nr_cpus)
		m->cpu[w->chosen_cpu].coming =
			(struct m_coming){ w->pub.pid, w->wakee ? w->wakee->comm : WI_NAME_NONE };
}

static uint64_t since(uint64_t end_ns, uint64_t start_ns)
{
	return start_ns <= end_ns ? end_ns - start_ns : WI_TIME_UNKNOWN;
}

m_rare static void tell_sink(struct wi_metrics *m, uint64_t now_ns, const struct wi_wakeup *w, enum wi_outcome outcome,
			     const struct m_wake *d)
{
	bool open = outcome == WI_OUT_CENSORED;
	uint64_t end_ns = outcome == WI_OUT_RUN ? w->run_ns : open ? now_ns : 0;
	bool timed = outcome == WI_OUT_RUN || open;
	const struct m_watch *watch = d->watch[WATCH_RING].cpu != NONE ? &d->watch[WATCH_RING] : &d->watch[WATCH_CORE];
	bool missed = watch->cpu != NONE;
	struct wi_wakeup_verdict v = {
		.w = w,
		.outcome = outcome,
		.latency_ns = timed ? since(end_ns, wi_wakeup_start_ns(w)) : WI_TIME_UNKNOWN,
		.queue_wait_ns = timed ? since(end_ns, w->enq_ns) : WI_TIME_UNKNOWN,
		.transit_ns = w->enq_ns != WI_TIME_UNKNOWN && !w->was_running && !w->only_wakeup &&
					      w->pub.class_ != WAKEIF_FORK
				      ? since(w->enq_ns, w->pub.wake_ns)
				      : WI_TIME_UNKNOWN,
		.placement = d->placement,
		.row = d->row,
		.idle_core = d->idle_core,
		.half_busy = d->half_busy,
		.decided = d->decided,
		.stacked_on_waker = d->stacked,
		.prev_idle_elsewhere = d->prev_idle_elsewhere,
		.on_sched_idle_only = d->on_sched_idle_only,
		.chosen_unknown = d->chosen_unknown,
		.missed_cpu = missed ? watch->cpu : WI_CPU_NONE,
		.missed_since_ns = missed ? watch->since_ns : WI_TIME_UNKNOWN,
		.missed_until_ns = missed ? watch->until_ns : WI_TIME_UNKNOWN,
		.avoidable_ns = missed && timed && w->enq_ns <= end_ns ? m_avoidable_ns(watch, w->enq_ns, end_ns)
								       : WI_TIME_UNKNOWN,
		.ran_pid = d->ran_pid,
		.ran_comm = d->ran_comm,
		.ran_waking = d->ran_waking,
		.prev_distance = d->prev_distance,
		.waker_distance = d->waker_distance,
	};

	m->opt.sink(m->opt.sink_ctx, &v);
}

static void on_wakeup_closed(void *ctx, uint64_t now_ns, const struct wi_wakeup *w, enum wi_outcome outcome)
{
	struct wi_metrics *m = ctx;

	advance(m, now_ns);
	struct m_wake *d = wake_at(m, w->slot);
	if (!d)
		return;
	if (!d->seen) { /* over before it was decided: nothing is known of the choice */
		wake_begin(m, w, d);
		if (d->decided)
			m_missed_undecided(m, d);
	}
	if (d->counts) {
		struct m_task *t = w->wakee ? task_of(m, w->wakee) : NULL;

		m_latency_closed(m, now_ns, w, outcome, d, t);
		if (d->decided)
			m_missed_closed(m, now_ns, w, outcome, d);
		if (d->affine)
			m_affine_closed(m, w, outcome, t);
		if (m->opt.sink)
			tell_sink(m, now_ns, w, outcome, d);
	}
	m_missed_unlink(m, d);
	d->seen = false;
}

/* ---- the rest ---- */

static void on_migrated(void *ctx, uint64_t now_ns, const struct wi_task *task, uint32_t orig_cpu, uint32_t dest_cpu,
			bool inferred, bool placement)
{
	struct wi_metrics *m = ctx;

	(void)task;
	advance(m, now_ns);
	m_migrated(m, now_ns, orig_cpu, dest_cpu, inferred, placement);
}

/* Rows that were made before the task had any name. */
static void named(struct wi_metrics *m, const struct wi_task *task)
{
	if (task->comm == WI_NAME_NONE)
		return;
	m_longest_named(m, task);
	m_worst_named(m, task);
}

static void on_renamed(void *ctx, uint64_t now_ns, const struct wi_task *task)
{
	struct wi_metrics *m = ctx;
	struct m_task *t = task->observer;

	advance(m, now_ns);
	m_longest_renamed(m, task);
	named(m, task);
	if (!t)
		return;
	t->comm = task->comm;
	t->mask_allowed = NULL;
	if (t->nr_threads)
		m_smt_renamed(m, now_ns, t);
	if (m->cookies)
		m_cookies_renamed(m, now_ns, t);
}

static void on_cpu_idle(void *ctx, uint64_t now_ns, uint32_t cpu, uint32_t state)
{
	struct wi_metrics *m = ctx;

	if (m_online(&m->lay, cpu))
		m_idle_cpu_idle(m, now_ns, cpu, state);
}

static void on_task_gone(void *ctx, uint64_t now_ns, const struct wi_task *task)
{
	struct wi_metrics *m = ctx;
	struct m_task *t = task->observer;

	advance(m, now_ns);
	if (t) {
		m_waste_wait_end(m, t);
		m_longest_forget(m, t);
		m_smt_task_gone(m, now_ns, t);
		if (m->cookies)
			m_cookies_task_gone(m, now_ns, t);
		m_affine_task_gone(m, t);
	}
	named(m, task);
	m_tasks_gone(m, task, t);
	if (t)
		m_task_del(&m->tasks, t);
	((struct wi_task *)task)->observer = NULL;
}

/* ---- life ---- */

static bool copy_rules(struct wi_metrics *m)
{
	size_t nr = m->opt.nr_group_rules;

	if (m->opt.smt_group != WI_GROUP_MAP || !nr)
		return true;
	m->map_pid = calloc(nr, sizeof(*m->map_pid));
	m->map_comm = calloc(nr, sizeof(*m->map_comm));
	m->map_group = calloc(nr, sizeof(*m->map_group));
	if (!m->map_pid || !m->map_comm || !m->map_group)
		return false;
	for (m->nr_map = 0; m->nr_map < nr; m->nr_map++) {
		const struct wi_group_rule *rule = &m->opt.group_rules[m->nr_map];

		m->map_pid[m->nr_map] = rule->pid;
		m->map_group[m->nr_map] = strdup(rule->group);
		m->map_comm[m->nr_map] = rule->comm ? strdup(rule->comm) : NULL;
		if (!m->map_group[m->nr_map] || (rule->comm && !m->map_comm[m->nr_map])) {
			m->nr_map++;
			return false;
		}
	}
	return true;
}

static void rules_fini(struct wi_metrics *m)
{
	for (size_t i = 0; i < m->nr_map; i++) {
		free(m->map_comm[i]);
		free(m->map_group[i]);
	}
	free(m->map_comm);
	free(m->map_group);
	free(m->map_pid);
}

static bool make_cpus(struct wi_metrics *m)
{
	const struct m_layout *lay = &m->lay;

	m->cpu = calloc(lay->nr_cpus + 1, sizeof(*m->cpu));
	if (!m->cpu)
		return false;
	for (uint32_t n = 0; n < lay->nr_cpus; n++) {
		struct m_cpu *c = &m->cpu[n];

		c->number = n;
		c->online = m_online(lay, n);
		c->candidate = wi_mask_test(lay->candidates, n);
		c->watch_head = c->worst_head = NONE;
		for (uint32_t l = 0; l < lay->nr_levels; l++)
			if (lay->level[l].group[n] < lay->level[l].nr_groups)
				c->span[l] = lay->level[l].span[lay->level[l].group[n]];
	}
	return true;
}

struct wi_metrics *wi_metrics_new(const struct wi_metrics_opts *opts, struct wi_err *err)
{
	struct wi_metrics *m = calloc(1, sizeof(*m));

	if (!m) {
		wi_err_nomem(err);
		return NULL;
	}
	m->opt = *opts;
	m->rows.max = opts->max_tasks ? opts->max_tasks : 1024;
	m->obs = (struct wi_timeline_observer){
		.ctx = m,
		.cpu_changed = on_cpu_changed,
		.idle_changed = on_idle_changed,
		.wait_changed = on_wait_changed,
		.decision = on_decision,
		.wakeup_closed = on_wakeup_closed,
		.migrated = on_migrated,
		.cpu_idle = on_cpu_idle,
		.renamed = on_renamed,
		.task_gone = on_task_gone,
	};
	if (!m_layout_init(&m->lay, opts->topology) || !make_cpus(m) || !copy_rules(m) || !m_latency_init(m) ||
	    !m_longest_init(m) || !m_missed_init(m) || !m_waste_init(m) || !m_smt_init(m) || !m_idle_init(m) ||
	    !m_cookies_init(m)) {
		wi_err_nomem(err);
		wi_metrics_free(m);
		return NULL;
	}
	if (!m_filter_init(m, err)) {
		wi_metrics_free(m);
		return NULL;
	}
	return m;
}

const struct wi_timeline_observer *wi_metrics_observer(struct wi_metrics *m)
{
	return &m->obs;
}

void wi_metrics_bind(struct wi_metrics *m, struct wi_timeline *tl)
{
	uint64_t start_ns = wi_timeline_window_start_ns(tl);

	m->tl = tl;
	m->start_ns = m->counted_ns = start_ns;
	m_smt_start(m, start_ns);
	m_idle_start(m, start_ns);
	m_cookies_start(m, start_ns);
}

static bool gather(struct wi_metrics *m, struct wi_results *r)
{
	const struct wi_timeline_quality *q = wi_timeline_quality(m->tl);
	uint64_t end_ns = q->window_end_ns;
	uint64_t online = wi_mask_weight(m->lay.topo->online, m->lay.words);

	r->nr_traces = 1;
	r->quality = *q;
	r->window_ns = end_ns > q->window_start_ns ? end_ns - q->window_start_ns : 0;
	r->cpu_ns = r->window_ns * online;
	r->migrations = m->migrations;
	return m_waste_finish(m, r, end_ns) && m_latency_finish(m, r) && m_missed_finish(m, r, end_ns) &&
	       m_smt_finish(m, r, end_ns) && m_cookies_finish(m, r, end_ns) && m_affine_finish(m, r) &&
	       m_idle_finish(m, r, end_ns) && m_tasks_finish(m, r);
}

const struct wi_results *wi_metrics_finish(struct wi_metrics *m, struct wi_err *err)
{
	if (m->results)
		return m->results;
	m->results = wi_results_new(err);
	if (!m->results)
		return NULL;
	if (!gather(m, m->results) || m->failed) {
		wi_results_free(m->results);
		m->results = NULL;
		wi_err_nomem(err);
	}
	return m->results;
}

struct wi_results *wi_metrics_take(struct wi_metrics *m)
{
	struct wi_results *r = m->results;

	m->results = NULL;
	return r;
}

void wi_metrics_free(struct wi_metrics *m)
{
	if (!m)
		return;
	m_latency_fini(m);
	m_longest_fini(m);
	m_missed_fini(m);
	m_waste_fini(m);
	m_smt_fini(m);
	m_cookies_fini(m);
	m_affine_fini(m);
	m_idle_fini(m);
	m_filter_fini(m);
	m_tasktab_fini(&m->tasks);
	wi_task_results_fini(&m->rows);
	rules_fini(m);
	m_layout_fini(&m->lay);
	free(m->cpu);
	free(m->wake);
	wi_results_free(m->results);
	free(m);
}
