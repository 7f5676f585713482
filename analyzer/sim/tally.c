/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Integrals are kept from the start and copied at checkpoints, every so many wakings: the window can then be cut when
 * all wakings are known. When there are too many checkpoints every second one is dropped.
 */
#include "analyzer/sim/tally.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/base/cpumask.h"

#define MAX_CHECKPOINTS 512u

/* Sums up to a point in time; all are uint64_t. */
struct sums {
	uint64_t at_ns, waking; /* when, and wakings before it */
	uint64_t busy_ns, forced_ns, unknown_ns, corun_ns, waiting_ns;
	uint64_t idle_while_waiting_ns[WAKEIF_NR_SCOPES];
	uint64_t migrations, placed_moves, preemptions, ipis;
};

struct waking {
	uint64_t waking_ns, queued_ns, ran_ns; /* UINT64_MAX: not yet */
	bool decided, stayed, oncpu;
};

struct group {
	uint32_t nr_busy, nr_unknown, nr_waiting, nr_idle;
	uint64_t idle_since_ns, idle_ns;
	bool idle;
};

struct cpu {
	uint8_t state; /* 0 unknown, 1 idle, 2 busy */
	bool forced;
	uint64_t idle_since_ns, idle_ns;
	uint32_t nr_waiting;
};

struct wi_tally {
	struct wi_tally_opts o;
	const struct wakeif_topology *topo;
	struct sums now;
	struct cpu *cpu;
	struct group *group[WAKEIF_NR_SCOPES], *package;
	uint32_t nr_vector; /* idle times of a checkpoint: CPUs, groups of all scopes, packages */
	uint32_t nr_busy, nr_unknown, nr_forced, nr_corun, nr_waiting, nr_hit[WAKEIF_NR_SCOPES];
	struct waking *waking;
	size_t nr_wakings, room;
	struct sums *point;
	uint64_t *vector; /* nr_vector for each checkpoint */
	uint32_t nr_points;
	uint64_t step;
	bool failed;
};

struct wi_tally *wi_tally_new(const struct wi_tally_opts *opts, struct wi_err *err)
{
	struct wi_tally *t = calloc(1, sizeof(*t));
	const struct wakeif_topology *topo = opts->topology;

	if (!t) {
		wi_err_nomem(err);
		return NULL;
	}
	t->o = *opts;
	if (!t->o.from && !t->o.to) {
		t->o.from = 0.03;
		t->o.to = 0.97;
	}
	t->topo = topo;
	t->step = 1;
	t->cpu = calloc(topo->nr_cpus, sizeof(*t->cpu));
	t->package = calloc(topo->nr_packages + 1, sizeof(*t->package));
	t->failed = !t->cpu || !t->package;
	t->nr_vector = topo->nr_cpus + topo->nr_packages;
	for (uint32_t s = 0; s < WAKEIF_NR_SCOPES; s++) {
		t->group[s] = calloc(topo->nr_groups[s] + 1, sizeof(*t->group[s]));
		t->failed |= !t->group[s];
		t->nr_vector += topo->nr_groups[s];
	}
	t->point = calloc(MAX_CHECKPOINTS, sizeof(*t->point));
	t->vector = calloc((size_t)MAX_CHECKPOINTS * t->nr_vector, sizeof(*t->vector));
	if (t->failed || !t->point || !t->vector) {
		wi_tally_free(t);
		wi_err_nomem(err);
		return NULL;
	}
	for (uint32_t c = 0; c < topo->nr_cpus; c++) {
		if (!wi_mask_test(topo->online, c))
			continue;
		t->nr_unknown++;
		t->package[topo->package[c]].nr_unknown++;
		for (uint32_t s = 0; s < WAKEIF_NR_SCOPES; s++)
			t->group[s][topo->group[s][c]].nr_unknown++;
	}
	return t;
}

void wi_tally_free(struct wi_tally *t)
{
	if (!t)
		return;
	free(t->cpu);
	free(t->package);
	for (uint32_t s = 0; s < WAKEIF_NR_SCOPES; s++)
		free(t->group[s]);
	free(t->waking);
	free(t->point);
	free(t->vector);
	free(t);
}

static void advance(struct wi_tally *t, uint64_t now_ns)
{
	struct sums *n = &t->now;
	uint64_t dt = now_ns - n->at_ns;

	if (!dt)
		return;
	n->at_ns = now_ns;
	n->busy_ns += dt * t->nr_busy;
	n->forced_ns += dt * t->nr_forced;
	n->unknown_ns += dt * t->nr_unknown;
	n->corun_ns += dt * t->nr_corun;
	n->waiting_ns += dt * t->nr_waiting;
	for (uint32_t s = 0; s < WAKEIF_NR_SCOPES; s++)
		n->idle_while_waiting_ns[s] += dt * t->nr_hit[s];
}

/* ---- state ---- */

static bool hit(const struct group *g)
{
	return g->nr_waiting && g->nr_idle;
}

static void set_group_idle(struct group *g, uint64_t now_ns)
{
	bool idle = !g->nr_busy && !g->nr_unknown;

	if (idle == g->idle)
		return;
	if (g->idle)
		g->idle_ns += now_ns - g->idle_since_ns;
	g->idle = idle;
	g->idle_since_ns = now_ns;
}

static void change_group(struct group *g, uint64_t now_ns, uint8_t from, uint8_t to)
{
	g->nr_unknown -= from == 0;
	g->nr_idle += (uint32_t)(to == 1) - (uint32_t)(from == 1);
	g->nr_busy += (uint32_t)(to == 2) - (uint32_t)(from == 2);
	set_group_idle(g, now_ns);
}

/* CPUs of a core that run beside another one that does. */
static uint32_t corun_of(const struct group *core)
{
	return core->nr_busy > 1 ? core->nr_busy : 0;
}

static void change(struct wi_tally *t, uint64_t now_ns, uint32_t c, uint8_t to)
{
	struct cpu *cpu = &t->cpu[c];
	uint8_t from = cpu->state;
	struct group *core = &t->group[WAKEIF_CORE][t->topo->group[WAKEIF_CORE][c]];

	t->nr_corun -= corun_of(core);
	for (uint32_t s = 0; s < WAKEIF_NR_SCOPES; s++) {
		struct group *g = &t->group[s][t->topo->group[s][c]];

		t->nr_hit[s] -= hit(g);
		change_group(g, now_ns, from, to);
		t->nr_hit[s] += hit(g);
	}
	change_group(&t->package[t->topo->package[c]], now_ns, from, to);
	t->nr_corun += corun_of(core);
	t->nr_unknown -= from == 0;
	t->nr_busy += (uint32_t)(to == 2) - (uint32_t)(from == 2);
	if (from == 1)
		cpu->idle_ns += now_ns - cpu->idle_since_ns;
	cpu->idle_since_ns = now_ns;
	cpu->state = to;
}

void wi_tally_cpu(struct wi_tally *t, uint64_t now_ns, uint32_t c, bool busy, bool forced_idle)
{
	struct cpu *cpu = &t->cpu[c];
	uint8_t to = busy ? 2 : 1;

	if (!wi_mask_test(t->topo->online, c))
		return;
	advance(t, now_ns);
	t->nr_forced += (uint32_t)forced_idle - (uint32_t)cpu->forced;
	cpu->forced = forced_idle;
	if (cpu->state != to)
		change(t, now_ns, c, to);
}

void wi_tally_wait(struct wi_tally *t, uint64_t now_ns, uint32_t c, int delta)
{
	if (!wi_mask_test(t->topo->online, c))
		return;
	advance(t, now_ns);
	t->nr_waiting += (uint32_t)delta;
	t->cpu[c].nr_waiting += (uint32_t)delta;
	for (uint32_t s = 0; s < WAKEIF_NR_SCOPES; s++) {
		struct group *g = &t->group[s][t->topo->group[s][c]];

		t->nr_hit[s] -= hit(g);
		g->nr_waiting += (uint32_t)delta;
		t->nr_hit[s] += hit(g);
	}
}

/* ---- checkpoints ---- */

static uint64_t group_idle_ns(const struct group *g, uint64_t now_ns)
{
	return g->idle_ns + (g->idle ? now_ns - g->idle_since_ns : 0);
}

static void fill_vector(const struct wi_tally *t, uint64_t *v)
{
	uint64_t now_ns = t->now.at_ns;

	for (uint32_t c = 0; c < t->topo->nr_cpus; c++)
		*v++ = t->cpu[c].idle_ns + (t->cpu[c].state == 1 ? now_ns - t->cpu[c].idle_since_ns : 0);
	for (uint32_t s = 0; s < WAKEIF_NR_SCOPES; s++)
		for (uint32_t g = 0; g < t->topo->nr_groups[s]; g++)
			*v++ = group_idle_ns(&t->group[s][g], now_ns);
	for (uint32_t p = 0; p < t->topo->nr_packages; p++)
		*v++ = group_idle_ns(&t->package[p], now_ns);
}

static void thin(struct wi_tally *t)
{
	for (uint32_t i = 1; 2 * i < t->nr_points; i++) {
		t->point[i] = t->point[2 * i];
		memcpy(t->vector + (size_t)i * t->nr_vector, t->vector + (size_t)2 * i * t->nr_vector,
		       t->nr_vector * sizeof(*t->vector));
	}
	t->nr_points = (t->nr_points + 1) / 2;
	t->step *= 2;
}

static void checkpoint(struct wi_tally *t)
{
	if (t->nr_wakings % t->step)
		return;
	if (t->nr_points == MAX_CHECKPOINTS)
		thin(t);
	if (t->nr_wakings % t->step)
		return;
	t->now.waking = t->nr_wakings;
	t->point[t->nr_points] = t->now;
	fill_vector(t, t->vector + (size_t)t->nr_points * t->nr_vector);
	t->nr_points++;
}

/* ---- wakings ---- */

uint32_t wi_tally_waking(struct wi_tally *t, uint64_t now_ns, enum wakeif_class class_)
{
	advance(t, now_ns);
	checkpoint(t);
	if (t->nr_wakings == t->room) {
		size_t room = t->room ? t->room * 2 : 1024;
		struct waking *more = realloc(t->waking, room * sizeof(*more));

		if (!more) {
			t->failed = true;
			return UINT32_MAX;
		}
		t->waking = more;
		t->room = room;
	}
	t->waking[t->nr_wakings] = (struct waking){
		.waking_ns = now_ns, .queued_ns = UINT64_MAX, .ran_ns = UINT64_MAX, .oncpu = class_ == WAKEIF_ONCPU
	};
	return (uint32_t)t->nr_wakings++;
}

void wi_tally_placed(struct wi_tally *t, uint32_t waking, uint32_t prev_cpu, uint32_t cpu, bool decided)
{
	if (waking >= t->nr_wakings)
		return;
	t->waking[waking].decided = decided;
	t->waking[waking].stayed = decided && prev_cpu == cpu;
}

void wi_tally_oncpu(struct wi_tally *t, uint32_t waking)
{
	if (waking < t->nr_wakings)
		t->waking[waking].oncpu = true;
}

void wi_tally_queued(struct wi_tally *t, uint64_t now_ns, uint32_t waking)
{
	if (waking < t->nr_wakings)
		t->waking[waking].queued_ns = now_ns;
}

void wi_tally_ran(struct wi_tally *t, uint64_t now_ns, uint32_t waking)
{
	if (waking < t->nr_wakings)
		t->waking[waking].ran_ns = now_ns;
}

void wi_tally_moved(struct wi_tally *t, uint64_t now_ns, uint32_t from_cpu, uint32_t to_cpu, bool placement)
{
	(void)from_cpu;
	(void)to_cpu;
	advance(t, now_ns);
	t->now.migrations++;
	t->now.placed_moves += placement;
}

void wi_tally_preempted(struct wi_tally *t, uint64_t now_ns)
{
	advance(t, now_ns);
	t->now.preemptions++;
}

void wi_tally_ipi(struct wi_tally *t, uint64_t now_ns)
{
	advance(t, now_ns);
	t->now.ipis++;
}

/* ---- the end ---- */

/* The checkpoint nearest to this waking; not before `least`. */
static uint32_t nearest(const struct wi_tally *t, double waking, uint32_t least)
{
	uint32_t best = least;

	for (uint32_t i = least; i < t->nr_points; i++)
		if (fabs((double)t->point[i].waking - waking) < fabs((double)t->point[best].waking - waking))
			best = i;
	return best;
}

static bool take_wakings(const struct wi_tally *t, uint64_t from, uint64_t to, struct wi_tally_result *r)
{
	for (uint64_t i = from; i < to; i++) {
		const struct waking *w = &t->waking[i];

		r->wakings++;
		r->decided += w->decided;
		r->stayed += w->stayed;
		r->oncpu += w->oncpu;
		if (w->ran_ns == UINT64_MAX)
			continue;
		if (w->ran_ns >= w->waking_ns && !wi_hist_add(&r->latency, w->ran_ns - w->waking_ns))
			return false;
		if (w->queued_ns <= w->ran_ns && !wi_hist_add(&r->queue_wait, w->ran_ns - w->queued_ns))
			return false;
	}
	return true;
}

static bool alloc_result(const struct wakeif_topology *topo, struct wi_tally_result *r)
{
	bool ok;

	r->nr_cpus = topo->nr_cpus;
	r->nr_packages = topo->nr_packages;
	r->cpu_idle_ns = calloc(r->nr_cpus + 1, sizeof(*r->cpu_idle_ns));
	r->package_idle_ns = calloc(r->nr_packages + 1, sizeof(*r->package_idle_ns));
	ok = r->cpu_idle_ns && r->package_idle_ns;
	for (uint32_t s = 0; s < WAKEIF_NR_SCOPES; s++) {
		r->nr_groups[s] = topo->nr_groups[s];
		r->group_idle_ns[s] = calloc(topo->nr_groups[s] + 1, sizeof(*r->group_idle_ns[s]));
		ok &= r->group_idle_ns[s] != NULL;
	}
	return ok;
}

/* from: NULL, the start. */
static void take_vector(struct wi_tally_result *r, const uint64_t *from, const uint64_t *to)
{
	size_t i = 0;

	for (uint32_t c = 0; c < r->nr_cpus; c++, i++)
		r->cpu_idle_ns[c] = to[i] - (from ? from[i] : 0);
	for (uint32_t s = 0; s < WAKEIF_NR_SCOPES; s++)
		for (uint32_t g = 0; g < r->nr_groups[s]; g++, i++)
			r->group_idle_ns[s][g] = to[i] - (from ? from[i] : 0);
	for (uint32_t p = 0; p < r->nr_packages; p++, i++)
		r->package_idle_ns[p] = to[i] - (from ? from[i] : 0);
}

static void take_sums(const struct wi_tally *t, const struct sums *a, const struct sums *b, struct wi_tally_result *r)
{
	r->from_ns = a->at_ns;
	r->to_ns = b->at_ns;
	r->cpu_ns = (b->at_ns - a->at_ns) * wi_mask_weight(t->topo->online, t->topo->nr_words);
	r->busy_ns = b->busy_ns - a->busy_ns;
	r->forced_idle_ns = b->forced_ns - a->forced_ns;
	r->unknown_ns = b->unknown_ns - a->unknown_ns;
	r->corun_ns = b->corun_ns - a->corun_ns;
	r->waiting_ns = b->waiting_ns - a->waiting_ns;
	for (uint32_t s = 0; s < WAKEIF_NR_SCOPES; s++)
		r->idle_while_waiting_ns[s] = b->idle_while_waiting_ns[s] - a->idle_while_waiting_ns[s];
	r->migrations = b->migrations - a->migrations;
	r->placed_moves = b->placed_moves - a->placed_moves;
	r->preemptions = b->preemptions - a->preemptions;
	r->ipis = b->ipis - a->ipis;
}

bool wi_tally_finish(struct wi_tally *t, uint64_t end_ns, struct wi_tally_result *out, struct wi_err *err)
{
	memset(out, 0, sizeof(*out));
	if (end_ns > t->now.at_ns)
		advance(t, end_ns);
	if (t->nr_points == MAX_CHECKPOINTS)
		thin(t);
	t->now.waking = t->nr_wakings; /* the end is a checkpoint in any case */
	t->point[t->nr_points] = t->now;
	fill_vector(t, t->vector + (size_t)t->nr_points * t->nr_vector);
	t->nr_points++;
	if (t->failed || !alloc_result(t->topo, out))
		goto nomem;

	static const struct sums start;
	bool whole = !t->nr_wakings || t->o.from <= 0; /* from the very start, not from the first waking */
	uint32_t a = whole ? 0 : nearest(t, t->o.from * (double)t->nr_wakings, 0);
	uint32_t b = t->nr_wakings ? nearest(t, t->o.to * (double)t->nr_wakings, a) : t->nr_points - 1;
	const struct sums *from = whole ? &start : &t->point[a];

	take_sums(t, from, &t->point[b], out);
	take_vector(out, whole ? NULL : t->vector + (size_t)a * t->nr_vector, t->vector + (size_t)b * t->nr_vector);
	if (take_wakings(t, from->waking, t->point[b].waking, out))
		return true;
nomem:
	wi_tally_result_fini(out);
	return wi_err_nomem(err);
}

void wi_tally_result_fini(struct wi_tally_result *r)
{
	wi_hist_fini(&r->latency);
	wi_hist_fini(&r->queue_wait);
	free(r->cpu_idle_ns);
	free(r->package_idle_ns);
	for (uint32_t s = 0; s < WAKEIF_NR_SCOPES; s++)
		free(r->group_idle_ns[s]);
	memset(r, 0, sizeof(*r));
}

/* ---- shares and distances ---- */

static double share(uint64_t part, uint64_t whole)
{
	return whole ? (double)part / (double)whole : NAN;
}

double wi_tally_util(const struct wi_tally_result *r)
{
	return share(r->busy_ns, r->cpu_ns - r->unknown_ns);
}

double wi_tally_corun(const struct wi_tally_result *r)
{
	return share(r->corun_ns, r->cpu_ns - r->unknown_ns);
}

double wi_tally_stay(const struct wi_tally_result *r)
{
	return share(r->stayed, r->decided);
}

double wi_tally_migrations(const struct wi_tally_result *r)
{
	return share(r->migrations, r->wakings);
}

static double per_s(uint64_t nr, const struct wi_tally_result *r)
{
	return r->to_ns > r->from_ns ? (double)nr * 1e9 / (double)(r->to_ns - r->from_ns) : NAN;
}

double wi_tally_migrations_per_s(const struct wi_tally_result *r)
{
	return per_s(r->migrations, r);
}

double wi_tally_wakings_per_s(const struct wi_tally_result *r)
{
	return per_s(r->wakings, r);
}

double wi_hist_ks(const struct wi_hist *a, const struct wi_hist *b)
{
	uint32_t nr = a->nr > b->nr ? a->nr : b->nr;
	uint64_t sum_a = 0, sum_b = 0;
	double worst = 0;

	if (!a->count || !b->count)
		return NAN;
	for (uint32_t i = 0; i < nr; i++) {
		sum_a += i < a->nr ? a->bucket[i] : 0;
		sum_b += i < b->nr ? b->bucket[i] : 0;
		double apart = fabs((double)sum_a / (double)a->count - (double)sum_b / (double)b->count);

		worst = apart > worst ? apart : worst;
	}
	return worst;
}
