/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tests/unit/metrics_oracle.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analyzer/base/cpumask.h"

#define MAX_CPUS 256
#define MAX_LIST 4096
#define NEVER UINT64_MAX

struct waiter {
	uint32_t id, cpu;
	wakeif_word mask[MAX_CPUS / 64];
};

struct share { /* run time of a task */
	uint32_t id;
	uint64_t corun, alone, unknown;
};

struct pair {
	char a[24], b[24];
	uint64_t ns;
};

struct judged { /* a decided wakeup */
	uint32_t slot;
	bool open, closed, measured, queued, stacked;
	int row; /* enum wi_missed_row */
	bool idle_core[WI_NR_WIDE], half_busy[WI_NR_WIDE];
	uint32_t missed, missed_core;
	uint64_t missed_since, missed_stop, core_stop;
	uint64_t wake, wait, enq, end;
	int32_t pid;
};

struct bounce {
	uint32_t id, llc;
	uint64_t until;
};

struct waste {
	uint64_t wall, behind, cpu, task, longest, longest_start, begin, over[WI_NR_EPISODES];
	bool open;
};

struct mx_oracle {
	const struct wakeif_topology *t;
	struct wi_names *names;
	struct wi_timeline *tl;
	struct wi_timeline_observer next, obs;
	uint64_t start, now;
	enum wi_cpu_kind kind[MAX_CPUS];
	bool idle[MAX_CPUS];
	uint64_t idle_since[MAX_CPUS];
	uint32_t cur_id[MAX_CPUS];
	char cur_name[MAX_CPUS][24];
	struct waiter waiter[MAX_LIST];
	int nr_waiters;
	struct waste waste[WAKEIF_NR_SCOPES];
	uint64_t avoidable[WI_NR_WIDE], busy[16], smt_unknown;
	struct share share[MAX_LIST];
	int nr_shares;
	struct pair pair[MAX_LIST];
	int nr_pairs;
	uint64_t kind_ns[4][MAX_CPUS][3]; /* cpu, core, llc, package */
	struct judged *judged;
	int nr_judged;
	struct bounce bounce[MAX_LIST];
	int nr_bounces;
	uint64_t bounced, considered, matrix[WI_NR_DISTANCES][WI_NR_DISTANCES], touched, elsewhere, elsewhere_by[WI_NR_DISTANCES];
	uint64_t chosen_idle, chosen_unknown, by_class[WAKEIF_NR_CLASSES], total, measured, latency_sum, wait_sum;
	uint64_t migrations, by_distance[WI_NR_DISTANCES + 1];
	bool affine[MAX_LIST];
};

static uint32_t group(const struct mx_oracle *o, int scope, uint32_t cpu)
{
	return o->t->group[scope][cpu];
}

static bool online(const struct mx_oracle *o, uint32_t cpu)
{
	return wi_mask_test(o->t->online, cpu);
}

static bool isolated(const struct mx_oracle *o, uint32_t cpu)
{
	return wi_mask_test(o->t->isolated, cpu);
}

/* ---- idle while waiting ---- */

struct graph {
	int nr_left;
	bool edge[256][MAX_CPUS];
	int owner[MAX_CPUS];
	bool seen[MAX_CPUS];
};

static bool find_path(struct graph *g, int left, uint32_t cpus)
{
	for (uint32_t c = 0; c < cpus; c++) {
		if (!g->edge[left][c] || g->seen[c])
			continue;
		g->seen[c] = true;
		if (g->owner[c] < 0 || find_path(g, g->owner[c], cpus)) {
			g->owner[c] = left;
			return true;
		}
	}
	return false;
}

static uint32_t match(struct graph *g, uint32_t cpus)
{
	uint32_t n = 0;

	for (uint32_t c = 0; c < cpus; c++)
		g->owner[c] = -1;
	for (int i = 0; i < g->nr_left; i++) {
		memset(g->seen, 0, sizeof(g->seen));
		n += find_path(g, i, cpus);
	}
	return n;
}

static void pairs_of_group(struct mx_oracle *o, int scope, uint32_t g, uint32_t *tasks, uint32_t *cpus, bool *behind)
{
	static struct graph by_task, by_cpu;
	int row_of_cpu[MAX_CPUS];

	by_task.nr_left = by_cpu.nr_left = 0;
	memset(by_cpu.edge, 0, sizeof(by_cpu.edge));
	for (uint32_t c = 0; c < o->t->nr_cpus; c++)
		row_of_cpu[c] = -1;
	for (int i = 0; i < o->nr_waiters; i++) {
		const struct waiter *w = &o->waiter[i];

		if (group(o, scope, w->cpu) != g || o->kind[w->cpu] == WI_CPU_UNKNOWN)
			continue;
		if (row_of_cpu[w->cpu] < 0)
			row_of_cpu[w->cpu] = by_cpu.nr_left++;
		for (uint32_t c = 0; c < o->t->nr_cpus; c++) {
			bool edge = o->idle[c] && online(o, c) && !isolated(o, c) && group(o, scope, c) == g && wi_mask_test(w->mask, c);

			by_task.edge[by_task.nr_left][c] = edge;
			by_cpu.edge[row_of_cpu[w->cpu]][c] |= edge;
			*behind |= edge && o->kind[w->cpu] == WI_CPU_BUSY;
		}
		by_task.nr_left++;
	}
	*tasks += match(&by_task, o->t->nr_cpus);
	*cpus += match(&by_cpu, o->t->nr_cpus);
}

static void end_episode(struct waste *w, uint64_t end)
{
	static const uint64_t limit[WI_NR_EPISODES] = { 1000000, 10000000, 100000000 };

	if (!w->open)
		return;
	w->open = false;
	for (int i = 0; i < WI_NR_EPISODES; i++)
		w->over[i] += end - w->begin > limit[i];
	if (end - w->begin > w->longest) {
		w->longest = end - w->begin;
		w->longest_start = w->begin;
	}
}

static void stretch_waste(struct mx_oracle *o, uint64_t from, uint64_t to)
{
	for (int s = 0; s < WAKEIF_NR_SCOPES; s++) {
		struct waste *w = &o->waste[s];
		uint32_t tasks = 0, cpus = 0;
		bool behind = false;

		for (uint32_t g = 0; g < o->t->nr_groups[s] && o->nr_waiters; g++)
			pairs_of_group(o, s, g, &tasks, &cpus, &behind);
		if (!tasks) {
			end_episode(w, from);
			continue;
		}
		w->wall += to - from;
		w->behind += behind ? to - from : 0;
		w->cpu += (to - from) * cpus;
		w->task += (to - from) * tasks;
		if (!w->open)
			w->begin = from;
		w->open = true;
	}
}

/* ---- cores ---- */

static struct share *share_of(struct mx_oracle *o, uint32_t id)
{
	for (int i = 0; i < o->nr_shares; i++)
		if (o->share[i].id == id)
			return &o->share[i];
	assert_true(o->nr_shares < MAX_LIST);
	o->share[o->nr_shares] = (struct share){ .id = id };
	return &o->share[o->nr_shares++];
}

static void add_pair(struct mx_oracle *o, const char *x, const char *y, uint64_t ns)
{
	const char *a = strcmp(x, y) <= 0 ? x : y, *b = a == x ? y : x;
	int i = 0;

	while (i < o->nr_pairs && (strcmp(o->pair[i].a, a) || strcmp(o->pair[i].b, b)))
		i++;
	if (i == o->nr_pairs) {
		assert_true(o->nr_pairs < MAX_LIST);
		snprintf(o->pair[i].a, sizeof(o->pair[i].a), "%s", a);
		snprintf(o->pair[i].b, sizeof(o->pair[i].b), "%s", b);
		o->pair[i].ns = 0;
		o->nr_pairs++;
	}
	o->pair[i].ns += ns;
}

static void stretch_core(struct mx_oracle *o, uint32_t g, uint64_t ns, bool *corun, bool *idle)
{
	uint32_t busy = 0, unknown = 0, nr = 0, nr_idle = 0, candidates = 0;

	for (uint32_t c = 0; c < o->t->nr_cpus; c++) {
		if (!online(o, c) || group(o, WAKEIF_CORE, c) != g)
			continue;
		nr++;
		busy += o->kind[c] == WI_CPU_BUSY;
		unknown += o->kind[c] == WI_CPU_UNKNOWN;
		nr_idle += o->idle[c];
		candidates += !isolated(o, c);
	}
	if (!nr)
		return;
	if (unknown)
		o->smt_unknown += ns;
	else
		o->busy[busy] += ns;
	*corun = !unknown && busy >= 2;
	*idle = nr_idle == nr && candidates;
	for (uint32_t c = 0; c < o->t->nr_cpus; c++) {
		if (!online(o, c) || group(o, WAKEIF_CORE, c) != g || o->kind[c] != WI_CPU_BUSY || !o->cur_id[c])
			continue;
		struct share *s = share_of(o, o->cur_id[c]);
		if (busy >= 2)
			s->corun += ns;
		else if (unknown)
			s->unknown += ns;
		else
			s->alone += ns;
		for (uint32_t d = c + 1; d < o->t->nr_cpus; d++)
			if (online(o, d) && group(o, WAKEIF_CORE, d) == g && o->kind[d] == WI_CPU_BUSY && o->cur_id[d])
				add_pair(o, o->cur_name[c], o->cur_name[d], ns);
	}
}

static void stretch_smt(struct mx_oracle *o, uint64_t ns)
{
	static const int wide[WI_NR_WIDE] = { WAKEIF_LLC, WAKEIF_NODE, WAKEIF_MACHINE };
	uint32_t corun[WI_NR_WIDE][MAX_CPUS] = { 0 }, idle[WI_NR_WIDE][MAX_CPUS] = { 0 };

	for (uint32_t g = 0; g < o->t->nr_groups[WAKEIF_CORE]; g++) {
		bool is_corun = false, is_idle = false;
		uint32_t cpu = wi_mask_next(o->t->span[WAKEIF_CORE][g], o->t->nr_words, 0);

		stretch_core(o, g, ns, &is_corun, &is_idle);
		for (int w = 0; w < WI_NR_WIDE; w++) {
			corun[w][group(o, wide[w], cpu)] += is_corun;
			idle[w][group(o, wide[w], cpu)] += is_idle;
		}
	}
	for (int w = 0; w < WI_NR_WIDE; w++)
		for (uint32_t g = 0; g < o->t->nr_groups[wide[w]]; g++)
			o->avoidable[w] += ns * (corun[w][g] < idle[w][g] ? corun[w][g] : idle[w][g]);
}

static uint32_t table_group(const struct mx_oracle *o, int table, uint32_t cpu)
{
	return table == 0 ? cpu : table == 1 ? group(o, WAKEIF_CORE, cpu) : table == 2 ? group(o, WAKEIF_LLC, cpu) : o->t->package[cpu];
}

static void stretch_idle(struct mx_oracle *o, uint64_t ns)
{
	for (int table = 0; table < 4; table++)
		for (uint32_t g = 0; g < o->t->nr_cpus; g++) {
			bool any = false, busy = false, unknown = false;

			for (uint32_t c = 0; c < o->t->nr_cpus; c++) {
				if (!online(o, c) || table_group(o, table, c) != g)
					continue;
				any = true;
				busy |= o->kind[c] == WI_CPU_BUSY;
				unknown |= o->kind[c] == WI_CPU_UNKNOWN;
			}
			if (any)
				o->kind_ns[table][g][busy ? WI_CPU_BUSY : unknown ? WI_CPU_UNKNOWN : WI_CPU_IDLE] += ns;
		}
}

static void advance(struct mx_oracle *o, uint64_t now)
{
	uint64_t from = o->now > o->start ? o->now : o->start;

	if (now <= o->now)
		return;
	o->now = now;
	if (now <= from)
		return;
	stretch_waste(o, from, now);
	stretch_smt(o, now - from);
	stretch_idle(o, now - from);
}

/* ---- hooks ---- */

static void on_cpu(void *ctx, uint64_t now, uint32_t cpu, enum wi_cpu_kind kind, const struct wi_task *t)
{
	struct mx_oracle *o = ctx;

	advance(o, now);
	o->kind[cpu] = kind;
	o->cur_id[cpu] = t ? t->id : 0;
	if (t)
		snprintf(o->cur_name[cpu], sizeof(o->cur_name[cpu]), "%s", wi_names_get(o->names, t->comm));
	for (int i = 0; t && i < o->nr_bounces; i++) {
		struct bounce *b = &o->bounce[i];

		if (b->id != t->id || b->llc != group(o, WAKEIF_LLC, cpu))
			continue;
		o->bounced += now <= b->until;
		*b = o->bounce[--o->nr_bounces];
		i--;
	}
	o->next.cpu_changed(o->next.ctx, now, cpu, kind, t);
}

static void on_idle(void *ctx, uint64_t now, uint32_t cpu, bool idle)
{
	struct mx_oracle *o = ctx;

	advance(o, now);
	o->idle[cpu] = idle;
	if (idle)
		o->idle_since[cpu] = now;
	for (int i = 0; !idle && i < o->nr_judged; i++) {
		struct judged *j = &o->judged[i];

		if (j->missed == cpu && j->missed_stop == NEVER)
			j->missed_stop = now;
		if (j->missed_core == cpu && j->core_stop == NEVER)
			j->core_stop = now;
	}
	o->next.idle_changed(o->next.ctx, now, cpu, idle);
}

static void on_wait(void *ctx, uint64_t now, uint32_t cpu, const struct wi_task *t, int delta)
{
	struct mx_oracle *o = ctx;

	advance(o, now);
	for (int i = 0; delta < 0 && i < o->nr_waiters; i++)
		if (o->waiter[i].id == t->id)
			o->waiter[i--] = o->waiter[--o->nr_waiters];
	if (delta > 0 && !t->throttle_suspected) {
		assert_true(o->nr_waiters < 256);
		struct waiter *w = &o->waiter[o->nr_waiters++];
		w->id = t->id;
		w->cpu = cpu;
		memcpy(w->mask, t->allowed, o->t->nr_words * sizeof(*w->mask));
	}
	o->next.wait_changed(o->next.ctx, now, cpu, t, delta);
}

static bool candidate(const struct mx_oracle *o, const struct wi_wakeup *w, uint32_t c)
{
	return online(o, c) && wi_mask_test(w->pub.allowed, c) &&
	       (!isolated(o, c) || w->pub.allowed_source == WAKEIF_ALLOWED_RECORDED);
}

static uint32_t longest(const struct mx_oracle *o, const bool *set)
{
	uint32_t best = UINT32_MAX;

	for (uint32_t c = 0; c < o->t->nr_cpus; c++)
		if (set[c] && (best == UINT32_MAX || o->idle_since[c] < o->idle_since[best]))
			best = c;
	return best;
}

static int ring_row(const struct mx_oracle *o, const struct wi_wakeup *w, uint32_t *missed)
{
	static const int row[WAKEIF_NR_SCOPES] = { WI_MISSED_SIBLING, WI_MISSED_CLUSTER, WI_MISSED_LLC, WI_MISSED_NODE, WI_MISSED_MACHINE };
	uint32_t chosen = w->chosen_cpu;

	for (int s = 0; s < WAKEIF_NR_SCOPES; s++) {
		bool idle[MAX_CPUS] = { false }, any = false, unknown = false;

		for (uint32_t c = 0; c < o->t->nr_cpus; c++) {
			bool in_ring = c != chosen && group(o, s, c) == group(o, s, chosen) && (!s || group(o, s - 1, c) != group(o, s - 1, chosen));

			if (!in_ring || !candidate(o, w, c))
				continue;
			idle[c] = o->idle[c];
			any |= o->idle[c];
			unknown |= o->kind[c] == WI_CPU_UNKNOWN;
		}
		if (any) {
			*missed = longest(o, idle);
			return row[s];
		}
		if (unknown)
			return WI_MISSED_UNKNOWN;
	}
	return WI_MISSED_NO_IDLE;
}

static bool core_idle(const struct mx_oracle *o, uint32_t cpu)
{
	for (uint32_t c = 0; c < o->t->nr_cpus; c++)
		if (online(o, c) && group(o, WAKEIF_CORE, c) == group(o, WAKEIF_CORE, cpu) && !o->idle[c])
			return false;
	return true;
}

static void idle_cores(const struct mx_oracle *o, const struct wi_wakeup *w, bool *wide, uint32_t *missed)
{
	static const int scope[WI_NR_WIDE] = { WAKEIF_LLC, WAKEIF_NODE, WAKEIF_MACHINE };

	for (int i = 0; i < WI_NR_WIDE; i++) {
		bool set[MAX_CPUS] = { false };

		for (uint32_t c = 0; c < o->t->nr_cpus; c++)
			set[c] = group(o, scope[i], c) == group(o, scope[i], w->chosen_cpu) && candidate(o, w, c) && core_idle(o, c);
		uint32_t best = longest(o, set);
		wide[i] = best != UINT32_MAX;
		if (wide[i] && *missed == UINT32_MAX)
			*missed = best;
	}
}

static void judge(struct mx_oracle *o, const struct wi_wakeup *w)
{
	const struct wakeif_view *v = wi_timeline_view(o->tl);
	uint32_t c = w->chosen_cpu, prev = w->pub.prev_cpu;
	bool sibling_busy = false, package_idle = true;

	o->judged = realloc(o->judged, (size_t)(o->nr_judged + 1) * sizeof(*o->judged));
	struct judged *j = &o->judged[o->nr_judged++];
	*j = (struct judged){ .slot = w->slot, .open = true, .row = WI_MISSED_NONE, .missed = UINT32_MAX, .missed_core = UINT32_MAX,
			      .missed_stop = NEVER, .core_stop = NEVER, .wake = w->pub.wake_ns, .pid = w->pub.pid };
	for (uint32_t d = 0; d < o->t->nr_cpus; d++) {
		if (!online(o, d))
			continue;
		sibling_busy |= d != c && group(o, WAKEIF_CORE, d) == group(o, WAKEIF_CORE, c) && !o->idle[d] && o->kind[d] != WI_CPU_UNKNOWN;
		package_idle &= o->t->package[d] != o->t->package[c] || o->idle[d];
	}
	o->touched += package_idle;
	if (prev != c && o->idle[prev] && candidate(o, w, prev)) {
		o->elsewhere++;
		for (int s = 0, d = WI_DIST_CORE; s <= WAKEIF_MACHINE; s++, d++)
			if (group(o, s, prev) == group(o, s, c)) {
				o->elsewhere_by[d]++;
				break;
			}
	}
	if (o->kind[c] == WI_CPU_UNKNOWN) {
		o->chosen_unknown++;
		j->row = WI_MISSED_UNKNOWN;
		return;
	}
	if (o->idle[c]) {
		o->chosen_idle++;
		if (sibling_busy)
			idle_cores(o, w, j->half_busy, &j->missed_core);
		return;
	}
	j->queued = true;
	j->row = ring_row(o, w, &j->missed);
	if (j->missed != UINT32_MAX)
		j->missed_since = o->idle_since[j->missed];
	idle_cores(o, w, j->idle_core, &j->missed_core);
	j->stacked = c == w->pub.waker_cpu && v->cpu[c].nr_running >= 2 && j->idle_core[WI_WIDE_MACHINE];
}

static int relation(const struct mx_oracle *o, uint32_t a, uint32_t b)
{
	if (a == b)
		return WI_DIST_CPU;
	for (int s = 0; s < WAKEIF_MACHINE; s++)
		if (group(o, s, a) == group(o, s, b))
			return WI_DIST_CORE + s;
	return WI_DIST_REMOTE;
}

static void on_decision(void *ctx, uint64_t now, const struct wi_wakeup *w)
{
	struct mx_oracle *o = ctx;

	advance(o, now);
	assert_true(w->slot < MAX_LIST);
	o->affine[w->slot] = false;
	if (w->in_window && w->pub.class_ == WAKEIF_SELECT) {
		judge(o, w);
		if (w->pub.waker_cpu != w->pub.prev_cpu) {
			o->affine[w->slot] = true;
			o->considered++;
			o->matrix[relation(o, w->pub.prev_cpu, w->chosen_cpu)][relation(o, w->pub.waker_cpu, w->chosen_cpu)]++;
		}
	}
	o->next.decision(o->next.ctx, now, w);
}

static void close_judged(struct mx_oracle *o, uint64_t now, const struct wi_wakeup *w, enum wi_outcome outcome)
{
	for (int i = o->nr_judged; i-- > 0;) {
		struct judged *j = &o->judged[i];

		if (j->slot != w->slot || !j->open)
			continue;
		j->open = false;
		j->enq = w->enq_ns;
		j->end = outcome == WI_OUT_RUN ? w->run_ns : now;
		j->closed = outcome == WI_OUT_RUN && w->enq_ns != WI_TIME_UNKNOWN;
		j->measured = (outcome == WI_OUT_RUN || outcome == WI_OUT_CENSORED) && w->enq_ns != WI_TIME_UNKNOWN;
		j->wait = j->end - j->enq;
		return;
	}
}

static void close_affine(struct mx_oracle *o, const struct wi_wakeup *w)
{
	uint32_t llc = group(o, WAKEIF_LLC, w->pub.prev_cpu);

	if (group(o, WAKEIF_LLC, w->chosen_cpu) == llc)
		return;
	if (group(o, WAKEIF_LLC, w->run_cpu) == llc) {
		o->bounced++;
		return;
	}
	assert_true(o->nr_bounces < MAX_LIST);
	o->bounce[o->nr_bounces++] = (struct bounce){ w->wakee->id, llc, w->run_ns + 10000000 };
}

static void on_closed(void *ctx, uint64_t now, const struct wi_wakeup *w, enum wi_outcome outcome)
{
	struct mx_oracle *o = ctx;

	advance(o, now);
	if (w->in_window) {
		o->total++;
		o->by_class[w->pub.class_]++;
		close_judged(o, now, w, outcome);
		if (outcome == WI_OUT_RUN && o->affine[w->slot])
			close_affine(o, w);
		uint64_t start = w->was_running ? w->enq_ns : w->pub.wake_ns;
		if (outcome == WI_OUT_RUN && start != WI_TIME_UNKNOWN) {
			o->measured++;
			o->latency_sum += w->run_ns - start;
			o->wait_sum += w->enq_ns == WI_TIME_UNKNOWN ? 0 : w->run_ns - w->enq_ns;
		}
	}
	o->next.wakeup_closed(o->next.ctx, now, w, outcome);
}

static void on_migrated(void *ctx, uint64_t now, const struct wi_task *t, uint32_t orig, uint32_t dest, bool inferred, bool placement)
{
	struct mx_oracle *o = ctx;

	advance(o, now);
	if (now >= o->start) {
		int d = relation(o, orig, dest);

		o->migrations++;
		o->by_distance[d == WI_DIST_CPU ? WI_DIST_CORE : d]++;
	}
	o->next.migrated(o->next.ctx, now, t, orig, dest, inferred, placement);
}

static void on_cpu_idle(void *ctx, uint64_t now, uint32_t cpu, uint32_t state)
{
	struct mx_oracle *o = ctx;

	o->next.cpu_idle(o->next.ctx, now, cpu, state);
}

static void on_gone(void *ctx, uint64_t now, const struct wi_task *t)
{
	struct mx_oracle *o = ctx;

	advance(o, now);
	for (uint32_t c = 0; c < o->t->nr_cpus; c++)
		if (o->cur_id[c] == t->id)
			o->cur_id[c] = 0;
	for (int i = 0; i < o->nr_bounces; i++)
		if (o->bounce[i].id == t->id)
			o->bounce[i--] = o->bounce[--o->nr_bounces];
	o->next.task_gone(o->next.ctx, now, t);
}

struct mx_oracle *mx_oracle_new(const struct wakeif_topology *topo, struct wi_names *names, const struct wi_timeline_observer *next)
{
	struct mx_oracle *o = calloc(1, sizeof(*o));

	assert_non_null(o);
	assert_true(topo->nr_cpus <= MAX_CPUS);
	o->t = topo;
	o->names = names;
	o->next = *next;
	o->obs = (struct wi_timeline_observer){ .ctx = o,
						.cpu_changed = on_cpu,
						.idle_changed = on_idle,
						.wait_changed = on_wait,
						.decision = on_decision,
						.wakeup_closed = on_closed,
						.migrated = on_migrated,
						.cpu_idle = on_cpu_idle,
						.task_gone = on_gone };
	return o;
}

const struct wi_timeline_observer *mx_oracle_observer(struct mx_oracle *o)
{
	return &o->obs;
}

void mx_oracle_bind(struct mx_oracle *o, struct wi_timeline *tl)
{
	o->tl = tl;
	o->start = wi_timeline_window_start_ns(tl);
}

void mx_oracle_free(struct mx_oracle *o)
{
	free(o->judged);
	free(o);
}

/* ---- comparing ---- */

#define SAME(what, a, b)                                                                                               \
	do {                                                                                                           \
		unsigned long long x_ = (a), y_ = (b);                                                                 \
		if (x_ != y_)                                                                                          \
			fail_msg("%s: oracle %llu, metrics %llu", what, x_, y_);                                       \
	} while (0)

static void check_waste(struct mx_oracle *o, const struct wi_results *r)
{
	for (int s = 0; s < WAKEIF_NR_SCOPES; s++) {
		struct waste *w = &o->waste[s];

		end_episode(w, r->quality.window_end_ns);
		SAME("wall", w->wall, r->waste[s].wall_ns);
		SAME("behind", w->behind, r->waste[s].behind_ns);
		SAME("cpu", w->cpu, r->waste[s].cpu_ns);
		SAME("task", w->task, r->waste[s].task_ns);
		SAME("longest", w->longest, r->waste[s].longest_ns);
		if (w->longest)
			SAME("longest start", w->longest_start, r->waste[s].longest_start_ns);
		for (int i = 0; i < WI_NR_EPISODES; i++)
			SAME("episodes", w->over[i], r->waste[s].episodes[i]);
	}
}

static void check_smt(struct mx_oracle *o, const struct wi_results *r)
{
	if (!r->smt.present)
		return;
	for (uint32_t n = 0; n <= r->smt.nr_threads; n++)
		SAME("busy threads", o->busy[n], r->smt.busy_threads_ns[n]);
	SAME("smt unknown", o->smt_unknown, r->smt.unknown_ns);
	for (int i = 0; i < WI_NR_WIDE; i++)
		SAME("avoidable co-run", o->avoidable[i], r->smt.avoidable_corun_ns[i]);
	size_t nr = 0;
	for (int i = 0; i < o->nr_pairs; i++)
		nr += o->pair[i].ns != 0;
	SAME("pairs", nr, r->smt.nr_pair);
	for (size_t k = 0; k < r->smt.nr_pair; k++) {
		const struct wi_smt_pair_row *p = &r->smt.pair[k];
		int i = 0;

		while (i < o->nr_pairs && (strcmp(o->pair[i].a, wi_results_name(r, p->a)) || strcmp(o->pair[i].b, wi_results_name(r, p->b))))
			i++;
		assert_true(i < o->nr_pairs);
		SAME("pair", o->pair[i].ns, p->ns);
	}
	for (size_t i = 0; i < r->tasks.nr; i++) {
		const struct wi_task_row *t = &r->tasks.row[i];
		const struct share *s = share_of(o, t->seq);

		SAME("corun", s->corun, t->corun_ns);
		SAME("alone", s->alone, t->alone_ns);
		SAME("unknown", s->unknown, t->smt_unknown_ns);
	}
}

static void check_idle(struct mx_oracle *o, const struct wi_results *r)
{
	const struct wi_idle_table *table[4] = { &r->idle.cpu, &r->idle.core, &r->idle.llc, &r->idle.package };

	for (int t = 0; t < 4; t++)
		for (size_t i = 0; i < table[t]->nr; i++) {
			const struct wi_idle_row *row = &table[t]->row[i];
			const uint64_t *ns = o->kind_ns[t][row->id];

			SAME("idle", ns[WI_CPU_IDLE], row->idle_ns);
			SAME("busy", ns[WI_CPU_BUSY], row->busy_ns);
			SAME("unknown", ns[WI_CPU_UNKNOWN], row->unknown_ns);
		}
	SAME("touched idle package", o->touched, r->idle.touched_idle_package);
}

static uint64_t cost(uint64_t stop, const struct judged *j)
{
	uint64_t end = stop < j->end ? stop : j->end;

	return end > j->enq ? end - j->enq : 0;
}

struct sums {
	uint64_t count, waits, wait, avoidable;
};

static void add(struct sums *s, const struct judged *j, uint32_t missed, uint64_t stop)
{
	s->count++;
	if (!j->closed)
		return;
	s->waits++;
	s->wait += j->wait;
	s->avoidable += missed == UINT32_MAX ? 0 : cost(stop, j);
}

static void check_cost(const char *what, const struct sums *s, const struct wi_missed_cost *c)
{
	SAME(what, s->count, c->count);
	SAME(what, s->waits, c->wait.count);
	SAME(what, s->wait, c->wait.sum_ns);
	SAME(what, s->avoidable, c->avoidable.sum_ns);
}

static int worse(const void *a, const void *b)
{
	const struct judged *x = a, *y = b;
	uint64_t ax = cost(x->missed_stop, x), ay = cost(y->missed_stop, y);

	if (ax != ay)
		return ax > ay ? -1 : 1;
	if (x->wait != y->wait)
		return x->wait > y->wait ? -1 : 1;
	if (x->wake != y->wake)
		return x->wake < y->wake ? -1 : 1;
	return x->pid < y->pid ? -1 : x->pid > y->pid;
}

static void check_worst(struct mx_oracle *o, const struct wi_results *r)
{
	int nr = 0;

	for (int i = 0; i < o->nr_judged; i++)
		if (o->judged[i].measured && o->judged[i].queued && o->judged[i].missed != UINT32_MAX)
			o->judged[nr++] = o->judged[i];
	if (nr)
		qsort(o->judged, (size_t)nr, sizeof(*o->judged), worse);
	o->nr_judged = nr;
	SAME("rows of worst", (size_t)nr < r->missed.max_worst ? (size_t)nr : r->missed.max_worst, r->missed.nr_worst);
	for (size_t i = 0; i < r->missed.nr_worst; i++) {
		const struct judged *j = &o->judged[i];
		const struct wi_worst_row *w = &r->missed.worst[i];

		SAME("worst avoidable", cost(j->missed_stop, j), w->avoidable_ns);
		SAME("worst wait", j->wait, w->wait_ns);
		SAME("worst wake", j->wake, w->wake_ns);
		SAME("worst pid", (uint64_t)j->pid, (uint64_t)w->pid);
		SAME("worst row", (uint64_t)j->row, w->row);
		SAME("worst missed", j->missed, w->missed_cpu);
		SAME("worst missed idle", (j->missed_stop == NEVER ? r->quality.window_end_ns : j->missed_stop) - j->missed_since, w->missed_idle_ns);
	}
}

static void check_missed(struct mx_oracle *o, const struct wi_results *r)
{
	struct sums row[WI_NR_MISSED_ROWS] = { 0 }, queued[WI_NR_WIDE] = { 0 }, half[WI_NR_WIDE] = { 0 }, stacked = { 0 };
	uint64_t nr_queued = 0;

	for (int i = 0; i < o->nr_judged; i++) {
		const struct judged *j = &o->judged[i];

		nr_queued += j->queued;
		if (j->row < WI_NR_MISSED_ROWS)
			add(&row[j->row], j, j->missed, j->missed_stop);
		for (int k = 0; k < WI_NR_WIDE; k++) {
			if (j->idle_core[k])
				add(&queued[k], j, j->missed_core, j->core_stop);
			if (j->half_busy[k])
				add(&half[k], j, j->missed_core, j->core_stop);
		}
		if (j->stacked)
			add(&stacked, j, j->missed_core, j->core_stop);
	}
	SAME("decided", o->nr_judged, r->missed.decided);
	SAME("queued", nr_queued, r->missed.queued_on_busy);
	SAME("chosen idle", o->chosen_idle, r->missed.chosen_idle);
	SAME("chosen unknown", o->chosen_unknown, r->missed.chosen_unknown);
	for (int i = 0; i < WI_NR_MISSED_ROWS; i++)
		check_cost(wi_missed_row_name((enum wi_missed_row)i), &row[i], &r->missed.row[i]);
	for (int i = 0; i < WI_NR_WIDE; i++) {
		check_cost("queued while idle core", &queued[i], &r->missed.queued_while_idle_core[i]);
		check_cost("half-busy core", &half[i], &r->missed.half_busy_core[i]);
	}
	check_cost("stacked on waker", &stacked, &r->missed.stacked_on_waker);
	SAME("prev idle", o->elsewhere, r->missed.prev_idle_elsewhere);
	for (int i = 0; i < WI_NR_DISTANCES; i++)
		SAME("prev idle by distance", o->elsewhere_by[i], r->missed.prev_idle_by_distance[i]);
	check_worst(o, r);
}

static void check_counts(struct mx_oracle *o, const struct wi_results *r)
{
	SAME("total", o->total, r->wakeups.total);
	for (int c = 0; c < WAKEIF_NR_CLASSES; c++)
		SAME(wi_class_name((enum wakeif_class)c), o->by_class[c], r->wakeups.by_class[c]);
	SAME("measured", o->measured, r->latency.wakeup.count);
	SAME("latency", o->latency_sum, r->latency.wakeup.sum_ns);
	SAME("queue wait", o->wait_sum, r->latency.queue_wait.sum_ns);
	SAME("considered", o->considered, r->affine.all.considered);
	SAME("bounce", o->bounced, r->affine.all.bounce);
	for (int i = 0; i < WI_NR_DISTANCES; i++)
		for (int k = 0; k < WI_NR_DISTANCES; k++)
			SAME("matrix", o->matrix[i][k], r->affine.matrix[i][k]);
	SAME("migrations", o->migrations, r->migrations.total);
	for (int i = 0; i < WI_NR_DISTANCES; i++)
		SAME("migrations by distance", o->by_distance[i], r->migrations.by_distance[i]);
}

void mx_oracle_check(struct mx_oracle *o, const struct wi_results *r)
{
	advance(o, r->quality.window_end_ns);
	check_counts(o, r);
	check_waste(o, r);
	check_smt(o, r);
	check_idle(o, r);
	check_missed(o, r);
}
