/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "models/old_domains.h"

#include <stdlib.h>
#include <string.h>

#include "models/cpuset.h"

static const enum wakeif_scope scope_of[WI_NR_OLD_LEVELS] = { WAKEIF_CORE, WAKEIF_LLC, WAKEIF_NODE, WAKEIF_MACHINE };

void wi_old_domains_fini(struct wi_old_domains *d)
{
	free(d->spans);
	free(d->dom);
	free(d->nr);
	free(d->group);
	free(d->left);
	free(d->best);
	memset(d, 0, sizeof(*d));
}

/* Online CPUs of every group of every scope, once each. */
static bool make_spans(struct wi_old_domains *d, uint32_t first[WI_NR_OLD_LEVELS])
{
	const struct wakeif_topology *t = d->topo;
	uint64_t n = 0;

	for (int l = 0; l < WI_NR_OLD_LEVELS; l++) {
		first[l] = (uint32_t)n;
		n += t->nr_groups[scope_of[l]];
	}
	d->spans = calloc(n + 1, d->words * sizeof(*d->spans));
	if (!d->spans)
		return false;
	for (int l = 0; l < WI_NR_OLD_LEVELS; l++)
		for (uint32_t g = 0; g < t->nr_groups[scope_of[l]]; g++)
			for (uint32_t i = 0; i < d->words; i++)
				d->spans[(first[l] + g) * (uint64_t)d->words + i] = t->span[scope_of[l]][g][i] & t->online[i] & ~t->isolated[i];
	return true;
}

static void make_list(struct wi_old_domains *d, uint32_t cpu, const uint32_t first[WI_NR_OLD_LEVELS])
{
	const wakeif_word *child = NULL;
	uint32_t weight = 1;

	for (int l = 0; l < WI_NR_OLD_LEVELS; l++) {
		const wakeif_word *span = &d->spans[(first[l] + d->topo->group[scope_of[l]][cpu]) * (uint64_t)d->words];
		uint32_t w = wi_mask_weight(span, d->words);

		if (w <= weight)
			continue;
		d->dom[(uint64_t)cpu * WI_NR_OLD_LEVELS + d->nr[cpu]++] = (struct wi_old_domain){ (enum wi_old_level)l, span, child, w };
		child = span;
		weight = w;
	}
}

bool wi_old_domains_init(struct wi_old_domains *d, const struct wakeif_topology *topo)
{
	uint32_t first[WI_NR_OLD_LEVELS];

	memset(d, 0, sizeof(*d));
	d->topo = topo;
	d->words = topo->nr_words;
	d->dom = calloc((uint64_t)topo->nr_cpus * WI_NR_OLD_LEVELS + 1, sizeof(*d->dom));
	d->nr = calloc(topo->nr_cpus + 1, sizeof(*d->nr));
	d->group = calloc(d->words, sizeof(*d->group));
	d->left = calloc(d->words, sizeof(*d->left));
	d->best = calloc(d->words, sizeof(*d->best));
	if (!d->dom || !d->nr || !d->group || !d->left || !d->best || !make_spans(d, first)) {
		wi_old_domains_fini(d);
		return false;
	}
	wi_mask_for_each (cpu, topo->online, d->words)
		if (!wi_mask_test(topo->isolated, cpu))
			make_list(d, cpu, first);
	return true;
}

void wi_old_groups_begin(struct wi_old_domains *d, uint32_t cpu, uint32_t i)
{
	memcpy(d->left, d->dom[(uint64_t)cpu * WI_NR_OLD_LEVELS + i].span, d->words * sizeof(*d->left));
	d->cpu = cpu;
	d->level = d->dom[(uint64_t)cpu * WI_NR_OLD_LEVELS + i].level;
	d->single = !d->dom[(uint64_t)cpu * WI_NR_OLD_LEVELS + i].child;
}

const wakeif_word *wi_old_groups_next(struct wi_old_domains *d)
{
	uint32_t c = wi_mask_first_from(d->left, d->left, d->words, d->cpu), nr;
	const wakeif_word *group = NULL;

	if (c == WAKEIF_CPU_NONE)
		return NULL;
	const struct wi_old_domain *dom = wi_old_domains_of(d, c, &nr);
	for (uint32_t k = 0; !d->single && k < nr && dom[k].level < d->level; k++)
		group = dom[k].span;
	if (!group) {
		memset(d->group, 0, d->words * sizeof(*d->group));
		wi_mask_set(d->group, c);
		group = d->group;
	}
	for (uint32_t w = 0; w < d->words; w++)
		d->left[w] &= ~group[w];
	return group;
}

int wi_old_llc(const struct wi_old_domains *d, uint32_t cpu)
{
	int llc = -1;

	for (int i = 0; i < d->nr[cpu]; i++)
		if (d->dom[(uint64_t)cpu * WI_NR_OLD_LEVELS + (uint32_t)i].level <= WI_OLD_MC)
			llc = i;
	return llc;
}

/* Copies the idlest group of domain i of cpu's list to d->best; false: the local one is good enough. */
static bool idlest_group(struct wi_old_domains *d, uint32_t cpu, uint32_t i, const wakeif_word *allowed, wi_old_load_fn load, void *ctx,
			 uint32_t pct, uint32_t *examined)
{
	enum wi_old_level level = d->dom[(uint64_t)cpu * WI_NR_OLD_LEVELS + i].level;
	uint64_t min_avg = UINT64_MAX, this_avg = 0;
	const wakeif_word *group;

	wi_old_groups_begin(d, cpu, i);
	while ((group = wi_old_groups_next(d))) {
		bool local = wi_mask_test(group, cpu), any = false;
		uint64_t sum = 0, n = 0;

		for (uint32_t w = 0; w < d->words; w++)
			any |= (group[w] & allowed[w]) != 0;
		if (!any)
			continue;
		wi_mask_for_each (c, group, d->words) {
			sum += load(ctx, c, local, level);
			n++;
		}
		*examined += (uint32_t)n;
		uint64_t avg = sum / n; /* every CPU has the same power */
		if (local) {
			this_avg = avg;
		} else if (avg < min_avg) {
			min_avg = avg;
			memcpy(d->best, group, d->words * sizeof(*d->best));
		}
	}
	return min_avg != UINT64_MAX && 100 * this_avg >= (100 + (pct - 100) / 2) * min_avg;
}

uint32_t wi_old_idlest(struct wi_old_domains *d, uint32_t cpu, int top, const wakeif_word *allowed, wi_old_load_fn load, void *ctx,
		       const uint32_t pct[WI_NR_OLD_LEVELS], uint32_t *examined)
{
	uint32_t chosen = WAKEIF_CPU_NONE;
	int i = top;

	while (i >= 0) {
		const struct wi_old_domain *dom = &d->dom[(uint64_t)cpu * WI_NR_OLD_LEVELS + (uint32_t)i];
		uint64_t min = UINT64_MAX;
		uint32_t idlest = WAKEIF_CPU_NONE;

		if (!idlest_group(d, cpu, (uint32_t)i, allowed, load, ctx, pct[dom->level], examined)) {
			i--;
			continue;
		}
		wi_mask_for_each (c, d->best, d->words) {
			uint64_t l;

			if (!wi_mask_test(allowed, c))
				continue;
			l = load(ctx, c, true, dom->level);
			++*examined;
			if (l < min || (l == min && c == cpu)) {
				min = l;
				idlest = c;
			}
		}
		if (idlest != WAKEIF_CPU_NONE)
			chosen = idlest;
		if (idlest == WAKEIF_CPU_NONE || idlest == cpu) {
			i--;
			continue;
		}
		/* On from the new CPU, in its domains that are smaller than the one just searched. */
		uint32_t weight = dom->weight;
		cpu = idlest;
		for (i = d->nr[cpu] - 1; i >= 0; i--)
			if (d->dom[(uint64_t)cpu * WI_NR_OLD_LEVELS + (uint32_t)i].weight < weight)
				break;
	}
	return chosen;
}
