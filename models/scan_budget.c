/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "models/scan_budget.h"

#include <stdlib.h>

#include "analyzer/base/cpumask.h"

#define BUSY_FACTOR 16
#define DEFAULT_PCT 117

struct cpu {
	uint64_t last_balance; /* jiffy of the last pass of the LLC domain */
	uint32_t interval_ms;
	uint32_t llc, core;
	int32_t nr; /* tasks queued */
	bool idle, known;
	bool counted; /* in nr_busy: it was busy at its last tick */
};

struct llc {
	const wakeif_word *span;
	uint32_t weight; /* the kernel's llc_size; below 2 there is no search */
	uint32_t pct;
	uint32_t value, min, max;
	uint32_t prev; /* the value before */
	uint32_t nr_busy;
	bool known;
	uint32_t last_due; /* CPU that was the last to compute the budget in this pass; UINT32_MAX none */
};

struct wi_scan_budget {
	const struct wakeif_topology *topo;
	struct wi_scan_budget_host host;
	uint32_t hz;
	uint32_t nr_idle, nr_known, nr_counted; /* CPUs */
	struct cpu *cpu;
	struct llc *llc;
};

uint32_t wi_scan_budget_formula(uint64_t sum_util, uint32_t weight, uint32_t pct)
{
	uint64_t x, t;

	if (!weight)
		return 0;
	x = sum_util / weight;
	t = x * x * pct * pct / (10000 * 1024);
	if (t > 1024)
		t = 1024;
	return (uint32_t)((1024 - t) * weight / 1024);
}

/* Imbalance percentage of the outermost domain of c that shares a cache. */
static uint32_t llc_pct(const struct wakeif_topology *topo, uint32_t c)
{
	uint32_t pct = DEFAULT_PCT;

	for (uint32_t i = 0; topo->nr_domains && i < topo->nr_domains[c]; i++)
		if (topo->domains[c][i].flags & WAKEIF_SD_SHARE_LLC)
			pct = topo->domains[c][i].imbalance_pct;
	return pct;
}

static void init_llc(struct wi_scan_budget *b, uint32_t g)
{
	const struct wakeif_topology *topo = b->topo;
	struct llc *l = &b->llc[g];
	uint32_t first;

	l->last_due = UINT32_MAX;
	l->span = topo->span[WAKEIF_LLC][g];
	first = wi_mask_next(l->span, topo->nr_words, 0);
	if (first >= topo->nr_cpus)
		return;
	l->weight = topo->llc_size[first];
	l->pct = llc_pct(topo, first);
	l->max = l->weight;
	l->value = l->prev = l->weight ? l->weight - 1 : 0;
}

struct wi_scan_budget *wi_scan_budget_new(const struct wakeif_topology *topo, uint32_t hz,
					  const struct wi_scan_budget_host *host)
{
	struct wi_scan_budget *b = calloc(1, sizeof(*b));

	if (!b)
		return NULL;
	b->topo = topo;
	b->hz = hz;
	b->host = *host;
	b->cpu = calloc(topo->nr_cpus, sizeof(*b->cpu));
	b->llc = calloc(topo->nr_groups[WAKEIF_LLC] ? topo->nr_groups[WAKEIF_LLC] : 1, sizeof(*b->llc));
	if (!b->cpu || !b->llc) {
		wi_scan_budget_free(b);
		return NULL;
	}
	for (uint32_t g = 0; g < topo->nr_groups[WAKEIF_LLC]; g++)
		init_llc(b, g);
	for (uint32_t c = 0; c < topo->nr_cpus; c++) {
		b->cpu[c].llc = topo->group[WAKEIF_LLC][c];
		b->cpu[c].core = topo->group[WAKEIF_CORE][c];
		b->cpu[c].interval_ms = topo->llc_size[c];
	}
	return b;
}

void wi_scan_budget_free(struct wi_scan_budget *b)
{
	if (!b)
		return;
	free(b->cpu);
	free(b->llc);
	free(b);
}

static void count_busy(struct wi_scan_budget *b, struct cpu *cpu, bool busy)
{
	if (cpu->counted == busy || cpu->llc == UINT32_MAX)
		return;
	cpu->counted = busy;
	b->llc[cpu->llc].nr_busy += busy ? 1 : UINT32_MAX;
	b->nr_counted += busy ? 1 : UINT32_MAX;
}

void wi_scan_budget_idle(struct wi_scan_budget *b, uint32_t c, bool idle)
{
	struct cpu *cpu = &b->cpu[c];

	if (!cpu->known) {
		cpu->known = true;
		b->nr_known++;
	}
	if (cpu->idle == idle)
		return;
	cpu->idle = idle;
	b->nr_idle += idle ? 1 : UINT32_MAX;
}

void wi_scan_budget_queue(struct wi_scan_budget *b, uint32_t c, int delta)
{
	b->cpu[c].nr += delta;
	if (b->cpu[c].nr < 0)
		b->cpu[c].nr = 0;
}

void wi_scan_budget_pulled(struct wi_scan_budget *b, uint32_t c, uint32_t from)
{
	if (b->cpu[c].llc == b->cpu[from].llc && b->cpu[c].core != b->cpu[from].core)
		b->cpu[c].interval_ms = b->topo->llc_size[c];
}

static bool is_idle(const struct cpu *cpu)
{
	return cpu->idle && !cpu->nr;
}

/* The group that c stands for in its LLC domain: its core where there is SMT, else itself. */
static bool may_balance(const struct wi_scan_budget *b, uint32_t c)
{
	const struct wakeif_topology *topo = b->topo;
	uint32_t core = b->cpu[c].core, first = UINT32_MAX;

	if (core == UINT32_MAX)
		return true;
	for (uint32_t s = wi_mask_next(topo->span[WAKEIF_CORE][core], topo->nr_words, 0); s < topo->nr_cpus;
	     s = wi_mask_next(topo->span[WAKEIF_CORE][core], topo->nr_words, s + 1)) {
		if (!wi_mask_test(topo->online, s))
			continue;
		if (first == UINT32_MAX)
			first = s;
		if (is_idle(&b->cpu[s]))
			return s == c;
	}
	return first == c;
}

static void update(struct wi_scan_budget *b, struct llc *l)
{
	uint64_t sum = 0;

	for (uint32_t c = wi_mask_next(l->span, b->topo->nr_words, 0); c < b->topo->nr_cpus;
	     c = wi_mask_next(l->span, b->topo->nr_words, c + 1))
		sum += b->host.util(b->host.ctx, c);
	l->prev = l->known ? l->value : wi_scan_budget_formula(sum, l->weight, l->pct);
	l->value = wi_scan_budget_formula(sum, l->weight, l->pct);
	l->min = l->value < l->prev ? l->value : l->prev;
	l->max = l->value < l->prev ? l->prev : l->value;
	l->known = true;
}

/* Balances c's LLC domain if that is due; who may balance is to compute the budget. */
static void balance(struct wi_scan_budget *b, uint32_t c, uint64_t jiffy)
{
	struct cpu *cpu = &b->cpu[c];
	uint32_t weight = b->topo->llc_size[c];
	uint64_t wait;

	if (cpu->llc == UINT32_MAX || weight < 2)
		return;
	wait = (uint64_t)cpu->interval_ms * (is_idle(cpu) ? 1 : BUSY_FACTOR) * b->hz;
	wait = (wait + 999) / 1000;
	if (!is_idle(cpu) && wait > 1)
		wait--;
	if (wait < 1)
		wait = 1;
	if (wait > (uint64_t)b->hz * b->topo->nr_cpus / 10 && b->hz * b->topo->nr_cpus >= 10)
		wait = (uint64_t)b->hz * b->topo->nr_cpus / 10;
	if (cpu->last_balance && jiffy < cpu->last_balance + wait)
		return;
	if (may_balance(b, c))
		b->llc[cpu->llc].last_due = c;
	cpu->last_balance = jiffy;
	if (cpu->interval_ms < 2 * weight)
		cpu->interval_ms *= 2;
}

/* A tick that finds the CPU busy counts it as such; the first that finds it idle is its last, and balances it. */
static bool tick(struct wi_scan_budget *b, uint32_t c, uint64_t jiffy, uint64_t now_ns)
{
	struct cpu *cpu = &b->cpu[c];

	if (cpu->idle && !cpu->counted)
		return false;
	count_busy(b, cpu, !cpu->idle);
	if (cpu->idle)
		b->host.decay(b->host.ctx, c, now_ns);
	balance(b, c, jiffy);
	return !cpu->idle && (cpu->nr >= 2 || (cpu->llc != UINT32_MAX && b->llc[cpu->llc].nr_busy > 1));
}

/* The budget is that of the last CPU that computes it: idle CPUs that come after it are not yet brought up to date
 * then. */
static void compute_at(struct wi_scan_budget *b, uint32_t c)
{
	struct llc *l = b->cpu[c].llc == UINT32_MAX ? NULL : &b->llc[b->cpu[c].llc];

	if (!l || l->last_due != c)
		return;
	update(b, l);
	l->last_due = UINT32_MAX;
}

/* On behalf of the CPUs whose tick is off. */
static void balance_idle(struct wi_scan_budget *b, uint64_t jiffy, uint64_t now_ns)
{
	for (uint32_t c = 0; c < b->topo->nr_cpus; c++)
		if (b->cpu[c].known && is_idle(&b->cpu[c]))
			balance(b, c, jiffy);
	for (uint32_t c = 0; c < b->topo->nr_cpus; c++)
		if (b->cpu[c].known && is_idle(&b->cpu[c])) {
			b->host.decay(b->host.ctx, c, now_ns);
			compute_at(b, c);
		}
}

void wi_scan_budget_tick(struct wi_scan_budget *b, uint64_t jiffy, uint64_t now_ns)
{
	bool kick = false;

	if (b->nr_idle == b->nr_known && !b->nr_counted) /* no tick anywhere */
		return;
	for (uint32_t c = 0; c < b->topo->nr_cpus; c++)
		if (b->cpu[c].known && tick(b, c, jiffy, now_ns))
			kick = true;
	for (uint32_t c = 0; c < b->topo->nr_cpus; c++)
		compute_at(b, c);
	if (kick && b->nr_idle)
		balance_idle(b, jiffy, now_ns);
}

uint32_t wi_scan_budget_get(const struct wi_scan_budget *b, uint32_t llc, uint32_t *min, uint32_t *max)
{
	const struct llc *l;

	if (llc >= b->topo->nr_groups[WAKEIF_LLC])
		return *min = *max = 0;
	l = &b->llc[llc];
	*min = l->min;
	*max = l->max;
	return l->value;
}

uint32_t wi_scan_budget_nr_busy(const struct wi_scan_budget *b, uint32_t llc)
{
	return b->llc[llc].nr_busy;
}
