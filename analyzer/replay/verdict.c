/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analyzer/replay/verdict.h"

#include <stdlib.h>

#include "analyzer/base/cpumask.h"

#define KERNEL_5_4 (5u << 16 | 4u << 8)

bool wi_judge_init(struct wi_judge *j, const struct wakeif_topology *topo, uint32_t kernel_version)
{
	uint32_t nr_cores = topo->nr_groups[WAKEIF_CORE], words = topo->nr_words;

	*j = (struct wi_judge){ .topo = topo, .words = words, .sched_idle_rule = kernel_version >= KERNEL_5_4 };
	j->threads = calloc(nr_cores + 1, sizeof(*j->threads));
	j->idle_threads = calloc(nr_cores + 1, sizeof(*j->idle_threads));
	j->idle_core = calloc(words + 1, sizeof(*j->idle_core));
	j->candidates = calloc(words + 1, sizeof(*j->candidates));
	j->idle = calloc(words + 1, sizeof(*j->idle));
	j->cand = calloc(words + 1, sizeof(*j->cand));
	if (!j->threads || !j->idle_threads || !j->idle_core || !j->candidates || !j->idle || !j->cand)
		return false;
	wi_mask_for_each (c, topo->online, words)
		if (topo->group[WAKEIF_CORE][c] < nr_cores)
			j->threads[topo->group[WAKEIF_CORE][c]]++;
	for (uint32_t i = 0; i < words; i++)
		j->candidates[i] = topo->online[i] & ~topo->isolated[i];
	return true;
}

void wi_judge_fini(struct wi_judge *j)
{
	free(j->threads);
	free(j->idle_threads);
	free(j->idle_core);
	free(j->candidates);
	free(j->idle);
	free(j->cand);
	*j = (struct wi_judge){ 0 };
}

void wi_judge_idle_changed(struct wi_judge *j, uint32_t cpu, bool idle)
{
	const struct wakeif_topology *t = j->topo;
	uint32_t core = t->group[WAKEIF_CORE][cpu];

	if (core >= t->nr_groups[WAKEIF_CORE] || !wi_mask_test(t->online, cpu))
		return;
	if (idle ? ++j->idle_threads[core] != j->threads[core] : j->idle_threads[core]-- != j->threads[core])
		return;
	j->nr_idle_cores += idle ? 1u : -1u;
	for (uint32_t i = 0; i < j->words; i++) {
		wakeif_word span = t->span[WAKEIF_CORE][core][i] & t->online[i];

		j->idle_core[i] = idle ? j->idle_core[i] | span : j->idle_core[i] & ~span;
	}
}

void wi_judge_look(struct wi_judge *j, const struct wakeif_view *view, const struct wi_wakeup *w)
{
	const wakeif_word *base = w->pub.allowed_source == WAKEIF_ALLOWED_RECORDED ? j->topo->online : j->candidates;

	j->view = view;
	j->w = w;
	j->waker_cpu = w->only_wakeup && w->pub.waker_pid < 0 ? WI_CPU_NONE : w->pub.waker_cpu;
	for (uint32_t i = 0; i < j->words; i++) {
		j->cand[i] = base[i] & w->pub.allowed[i];
		j->idle[i] = view->idle[i];
		if (j->sched_idle_rule)
			j->idle[i] |= view->sched_idle_only[i] & ~view->pending[i];
		j->idle[i] &= j->topo->online[i];
	}
}

static bool any3(const wakeif_word *a, const wakeif_word *b, const wakeif_word *c, uint32_t words)
{
	for (uint32_t i = 0; i < words; i++)
		if (a[i] & b[i] & c[i])
			return true;
	return false;
}

static const wakeif_word *span_of(const struct wi_judge *j, int scope, uint32_t cpu)
{
	return j->topo->span[scope][j->topo->group[scope][cpu]];
}

/* The nearest scope with an idle candidate; an unknown CPU within it leaves the question open. */
static enum wi_missed_row find_row(const struct wi_judge *j, uint32_t cpu)
{
	static const enum wi_missed_row row[WAKEIF_NR_SCOPES] = { WI_MISSED_SIBLING, WI_MISSED_CLUSTER, WI_MISSED_LLC,
								  WI_MISSED_NODE, WI_MISSED_MACHINE };

	for (int s = 0; s < WAKEIF_NR_SCOPES; s++) {
		const wakeif_word *span = span_of(j, s, cpu);

		if (any3(j->idle, span, j->cand, j->words))
			return row[s];
		if (any3(j->view->unknown, span, j->cand, j->words))
			return WI_MISSED_UNKNOWN;
	}
	return WI_MISSED_NO_IDLE;
}

/* Wide scopes around cpu that hold an idle core, a bit each. */
static uint8_t idle_cores(const struct wi_judge *j, uint32_t cpu)
{
	static const enum wakeif_scope scope[WI_NR_WIDE] = {
#define X(id, name, wide) wide,
		WI_WIDE_SCOPES(X)
#undef X
	};
	uint8_t found = 0;

	for (int i = 0; j->nr_idle_cores && i < WI_NR_WIDE; i++)
		if (found || any3(j->idle_core, span_of(j, (int)scope[i], cpu), j->cand, j->words))
			found |= (uint8_t)(1 << i); /* scopes contain each other */
	return found;
}

static bool sibling_is_busy(const struct wi_judge *j, uint32_t cpu)
{
	const wakeif_word *core = span_of(j, WAKEIF_CORE, cpu);

	for (uint32_t i = 0; i < j->words; i++) {
		wakeif_word others = core[i] & j->topo->online[i] & ~j->view->idle[i] & ~j->view->unknown[i];

		if (i == cpu / 64)
			others &= ~(1ull << (cpu & 63));
		if (others)
			return true;
	}
	return false;
}

/* Queued on cpu, without the wakee itself. */
static uint32_t nr_running(const struct wi_judge *j, uint32_t cpu)
{
	const struct wi_task *t = j->w->wakee;
	uint32_t nr = j->view->cpu[cpu].nr_running;
	bool itself = t && t->cpu == cpu && (t->state == WI_TASK_RUNNING || t->state == WI_TASK_RUNNABLE);

	return nr - (itself && nr);
}

struct wi_verdict wi_judge_cpu(const struct wi_judge *j, uint32_t cpu)
{
	uint32_t prev = j->w->pub.prev_cpu;
	struct wi_verdict v = {
		.row = WI_MISSED_NONE,
		.prev_distance = (uint8_t)wi_cpu_distance(j->topo, prev, cpu),
		.prev_idle_elsewhere = prev != cpu && prev < j->topo->nr_cpus && wi_mask_test(j->idle, prev) &&
				       wi_mask_test(j->cand, prev),
	};

	if (wi_mask_test(j->view->unknown, cpu)) {
		v.state = WI_CPU_UNKNOWN;
		v.row = WI_MISSED_UNKNOWN;
	} else if (wi_mask_test(j->idle, cpu)) {
		v.state = WI_CPU_IDLE;
		v.on_sched_idle_only = !wi_mask_test(j->view->idle, cpu);
		if (j->topo->smt > 1 && sibling_is_busy(j, cpu))
			v.half_busy = idle_cores(j, cpu);
	} else {
		v.state = WI_CPU_BUSY;
		v.row = (uint8_t)find_row(j, cpu);
		v.idle_core = idle_cores(j, cpu);
		v.stacked_on_waker = cpu == j->waker_cpu && v.idle_core >> WI_WIDE_MACHINE & 1 && nr_running(j, cpu) >= 2;
	}
	return v;
}

enum wi_distance wi_cpu_distance(const struct wakeif_topology *t, uint32_t a, uint32_t b)
{
	if (!wi_cpu_present(t, a) || !wi_cpu_present(t, b))
		return WI_DIST_UNKNOWN;
	if (a == b)
		return WI_DIST_CPU;
	for (int s = WAKEIF_CORE; s <= WAKEIF_NODE; s++)
		if (t->group[s][a] == t->group[s][b])
			return (enum wi_distance)(WI_DIST_CORE + s);
	return WI_DIST_REMOTE;
}

static uint32_t lowest3(const wakeif_word *a, const wakeif_word *b, const wakeif_word *c, uint32_t words)
{
	for (uint32_t i = 0; i < words; i++) {
		wakeif_word w = a[i] & (b ? b[i] : ~0ull) & (c ? c[i] : ~0ull);

		if (w)
			return i * 64 + (uint32_t)__builtin_ctzll(w);
	}
	return WI_CPU_NONE;
}

uint32_t wi_fallback_cpu(const struct wakeif_topology *t, const wakeif_word *allowed, uint32_t prev_cpu)
{
	uint32_t cpu = WI_CPU_NONE;

	if (wi_cpu_present(t, prev_cpu))
		cpu = lowest3(t->online, allowed, t->span[WAKEIF_NODE][t->group[WAKEIF_NODE][prev_cpu]], t->nr_words);
	if (cpu == WI_CPU_NONE)
		cpu = lowest3(t->online, allowed, NULL, t->nr_words);
	return cpu != WI_CPU_NONE ? cpu : lowest3(t->online, NULL, NULL, t->nr_words);
}
