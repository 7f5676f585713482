/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Scheduling domains. Read from the kernel where the source has them; else built as the kernel builds them: levels
 * SMT, CLS, MC, PKG (DIE before 6.7), one NUMA level for each distance; a level that adds no CPU to the one below it
 * is left out, and so is a level of one CPU. The PKG level spans the node, not the package. On x86 machines with
 * several nodes in a package the node level is called NODE.
 */
#include "analyzer/topology/domains.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/base/kernel.h"

#define SD_BASE (WAKEIF_SD_BALANCE_NEWIDLE | WAKEIF_SD_BALANCE_EXEC | WAKEIF_SD_BALANCE_FORK | WAKEIF_SD_WAKE_AFFINE)
#define MAX_LEVELS TOPO_MAX_DOMAINS

struct level {
	const char *name;
	uint32_t flags, imbalance_pct;
	const uint32_t *group;	     /* by CPU: index into span */
	const uint64_t *const *span; /* already cut to the CPUs that have domains */
};

struct levels {
	uint32_t nr;
	struct level level[MAX_LEVELS];
};

struct make {
	struct wakeif_topology *t;
	struct topo_raw *raw;
	struct topo_arena *a;
	const uint64_t *domain_cpus; /* online and not isolated */
	uint64_t *scratch;	     /* nr_words */
	const uint64_t *none;	     /* nr_words, no CPU */
	struct wi_err *err;
};

/* Spans of nr groups, each cut to the CPUs with domains. What is left of one CPU is no domain, and needs no copy. */
static const uint64_t *const *cut_spans(struct make *m, const uint64_t *const *span, uint32_t nr)
{
	uint32_t words = m->t->nr_words;
	const uint64_t **out = topo_alloc(m->a, nr * sizeof(*out));

	for (uint32_t g = 0; out && g < nr; g++) {
		for (uint32_t w = 0; w < words; w++)
			m->scratch[w] = span[g][w] & m->domain_cpus[w];
		out[g] = wi_mask_weight(m->scratch, words) < 2 ? m->none : topo_intern_mask(m->a, m->scratch, words);
		if (!out[g])
			return NULL;
	}
	return out;
}

static bool add_level(struct make *m, struct levels *l, const char *name, uint32_t flags, uint32_t imbalance,
		      const uint32_t *group, const uint64_t *const *span, uint32_t nr)
{
	const uint64_t *const *cut = cut_spans(m, span, nr);

	if (!cut)
		return wi_err_nomem(m->err);
	l->level[l->nr++] = (struct level){ name, flags, imbalance, group, cut };
	return true;
}

/* More than one node in some package: x86 then has no PKG level, the node level shows under its own name. */
static bool nodes_in_package(const struct wakeif_topology *t)
{
	for (uint32_t g = 0; g < t->nr_groups[WAKEIF_NODE]; g++)
		for (uint32_t h = 0; h < g; h++) {
			uint32_t a = wi_mask_next(t->span[WAKEIF_NODE][g], t->nr_words, 0);
			uint32_t b = wi_mask_next(t->span[WAKEIF_NODE][h], t->nr_words, 0);

			if (t->package[a] == t->package[b] && wi_mask_test(t->online, a) && wi_mask_test(t->online, b))
				return true;
		}
	return false;
}

/* Distance between nodes g and h as a level of the kernel: unknown pairs are the farthest. */
static uint32_t distance(const struct wakeif_topology *t, uint32_t g, uint32_t h)
{
	if (g == h)
		return 0;
	uint32_t d = t->nodes_distance ? t->nodes_distance[(size_t)g * t->nr_groups[WAKEIF_NODE] + h] : 0;

	return d ? d : UINT32_MAX;
}

/* The next distance above d between nodes that have CPUs with domains; 0 if there is none. */
static uint32_t next_distance(const struct make *m, uint32_t d)
{
	const struct wakeif_topology *t = m->t;
	uint32_t nr = t->nr_groups[WAKEIF_NODE], next = 0;

	for (uint32_t g = 0; g < nr; g++)
		for (uint32_t h = 0; h < nr; h++) {
			uint32_t dist = distance(t, g, h);

			if (dist > d && (!next || dist < next) && g != h)
				next = dist;
		}
	return next;
}

static bool numa_levels(struct make *m, struct levels *l, uint32_t imbalance)
{
	const struct wakeif_topology *t = m->t;
	uint32_t nr = t->nr_groups[WAKEIF_NODE], words = t->nr_words;

	for (uint32_t d = next_distance(m, 0); d && l->nr < MAX_LEVELS; d = next_distance(m, d)) {
		uint64_t *bits = topo_alloc(m->a, (size_t)nr * words * sizeof(*bits));
		const uint64_t **span = topo_alloc(m->a, nr * sizeof(*span));
		uint32_t flags = WAKEIF_SD_BALANCE_NEWIDLE | WAKEIF_SD_NUMA;

		if (!bits || !span)
			return wi_err_nomem(m->err);
		if (l->nr == MAX_LEVELS - 1) /* no real machine: take the rest as one level */
			d = UINT32_MAX;
		for (uint32_t g = 0; g < nr; g++) {
			uint64_t *out = bits + (size_t)g * words;

			span[g] = out;
			for (uint32_t h = 0; h < nr; h++)
				for (uint32_t w = 0; w < words && distance(t, g, h) <= d; w++)
					out[w] |= t->span[WAKEIF_NODE][h][w];
		}
		if (d <= m->raw->reclaim_distance || d == UINT32_MAX)
			flags |= SD_BASE;
		if (!add_level(m, l, "NUMA", flags, imbalance, t->group[WAKEIF_NODE], span, nr))
			return false;
		if (d == UINT32_MAX)
			break;
	}
	return true;
}

static bool kernel_before(const struct make *m, uint32_t number)
{
	return m->raw->kernel && m->raw->kernel < number;
}

static bool make_levels(struct make *m, struct levels *l)
{
	const struct wakeif_topology *t = m->t;
	const uint32_t llc = SD_BASE | WAKEIF_SD_SHARE_LLC | WAKEIF_SD_PREFER_SIBLING;
	const uint32_t outer = kernel_before(m, WI_KERNEL(5, 10)) ? 125 : 117;
	bool llc_known =
		m->raw->has_cache_info || !m->raw->x86; /* x86 takes nothing as shared without cache information */
	const char *node_name = m->raw->x86 && nodes_in_package(t) ? "NODE" : kernel_before(m, WI_KERNEL(6, 7)) ? "DIE" : "PKG";

	l->nr = 0;
	if (!add_level(m, l, "SMT", llc | WAKEIF_SD_SHARE_CPUCAPACITY, 110, t->group[WAKEIF_CORE], t->span[WAKEIF_CORE],
		       t->nr_groups[WAKEIF_CORE]))
		return false;
	if (!kernel_before(m, WI_KERNEL(5, 16)) && llc_known &&
	    !add_level(m, l, "CLS", llc, 117, t->group[WAKEIF_CLUSTER], t->span[WAKEIF_CLUSTER],
		       t->nr_groups[WAKEIF_CLUSTER]))
		return false;
	if (llc_known &&
	    !add_level(m, l, "MC", llc, 117, t->group[WAKEIF_LLC], t->span[WAKEIF_LLC], t->nr_groups[WAKEIF_LLC]))
		return false;
	if (!add_level(m, l, node_name, SD_BASE | WAKEIF_SD_PREFER_SIBLING, outer, t->group[WAKEIF_NODE],
		       t->span[WAKEIF_NODE], t->nr_groups[WAKEIF_NODE]))
		return false;
	return numa_levels(m, l, outer);
}

/* The domains of cpu by the rules; returns their number. Spans are interned, so equal spans are equal pointers. */
static uint32_t derive(const struct make *m, const struct levels *l, uint32_t cpu, struct wakeif_domain *out)
{
	uint32_t nr = 0;

	if (!wi_mask_test(m->domain_cpus, cpu))
		return 0;
	for (uint32_t i = 0; i < l->nr; i++) {
		const struct level *v = &l->level[i];
		const uint64_t *span = v->span[v->group[cpu]];
		uint32_t weight = wi_mask_weight(span, m->t->nr_words);

		if (weight < 2 || (nr && span == out[nr - 1].span))
			continue;
		out[nr++] = (struct wakeif_domain){ v->name, span, weight, v->flags, v->imbalance_pct };
	}
	return nr;
}

static const struct wakeif_domain *same_span(const struct wakeif_domain *d, uint32_t nr, const uint64_t *span)
{
	for (uint32_t i = 0; i < nr; i++)
		if (d[i].span == span)
			return &d[i];
	return NULL;
}

/* The span that the rules give a domain of this name, for sources that have names only. */
static const uint64_t *span_by_name(const struct wakeif_domain *d, uint32_t nr, const char *name, const uint64_t *below)
{
	bool node = !strcmp(name, "DIE") || !strcmp(name, "PKG") || !strcmp(name, "NODE");

	for (uint32_t i = 0; i < nr; i++) {
		bool same = node ? !strcmp(d[i].name, "DIE") || !strcmp(d[i].name, "PKG") || !strcmp(d[i].name, "NODE")
				 : !strcmp(d[i].name, name);

		/* several NUMA levels have one name: the next one out */
		if (same && (!below || d[i].span != below))
			if (strcmp(name, "NUMA") != 0 || !same_span(d + i, nr - i, below))
				return d[i].span;
	}
	return NULL;
}

static const char *domain_name(struct make *m, const char *name)
{
	static const char *const known[] = { "SMT", "CLS", "MC", "DIE", "PKG", "NODE", "NUMA" };

	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
		if (!strcmp(name, known[i]))
			return known[i];
	return topo_strdup(m->a, name);
}

/*
 * What the kernel says of one CPU, completed from the rules where it does not say all. Returns the number of domains,
 * -1 if what was read cannot be (then the rules are taken for every CPU), -2 with err set.
 */
static int from_kernel(struct make *m, uint32_t cpu, const struct wakeif_domain *rule, uint32_t nr_rule,
		       struct wakeif_domain *out)
{
	const struct topo_read_cpu *r = &m->raw->read[cpu];
	uint32_t words = m->t->nr_words;

	for (uint32_t i = 0; i < r->nr; i++) {
		const struct topo_read_domain *d = &r->domain[i];
		const uint64_t *below = i ? out[i - 1].span : NULL, *span;

		if (d->span) {
			span = topo_intern_mask(m->a, d->span, words);
			if (!span) {
				wi_err_nomem(m->err);
				return -2;
			}
		} else {
			span = span_by_name(rule, nr_rule, d->name, below);
			m->t->flags |= WAKEIF_TOPO_DOMAINS_DERIVED;
		}
		if (!span || !wi_mask_test(span, cpu) || (below && !wi_mask_subset(below, span, words)) ||
		    !wi_mask_subset(span, m->t->present, words))
			return -1;
		const struct wakeif_domain *same = same_span(rule, nr_rule, span);
		if (!same && (!d->name[0] || !d->flags_known || !d->imbalance_pct))
			m->t->flags |= WAKEIF_TOPO_DOMAINS_DERIVED;
		out[i] = (struct wakeif_domain){
			.name = d->name[0] ? domain_name(m, d->name)
				: same	   ? same->name
					   : "?",
			.span = span,
			.weight = wi_mask_weight(span, words),
			.flags = d->flags_known ? d->flags
				 : same		? same->flags
						: SD_BASE,
			.imbalance_pct = d->imbalance_pct ? d->imbalance_pct
					 : same		  ? same->imbalance_pct
							  : 117,
		};
		if (!out[i].name) {
			wi_err_nomem(m->err);
			return -2;
		}
	}
	return (int)r->nr;
}

static uint32_t llc_weight(const struct wakeif_domain *d, uint32_t nr)
{
	uint32_t weight = 1;

	for (uint32_t i = 0; i < nr; i++)
		if (d[i].flags & WAKEIF_SD_SHARE_LLC)
			weight = d[i].weight;
	return weight;
}

/* 1: done; 0: what the kernel said cannot be, nothing was decided; -1: err set */
static int fill(struct make *m, const struct levels *l, bool read, uint32_t *nr_domains,
		const struct wakeif_domain **domains, uint32_t *llc_size)
{
	for (uint32_t c = 0; c < m->t->nr_cpus; c++) {
		struct wakeif_domain rule[MAX_LEVELS], kernel[MAX_LEVELS], *use = rule;
		int nr;

		nr_domains[c] = 0;
		llc_size[c] = 1;
		domains[c] = NULL;
		if (!wi_mask_test(m->t->present, c))
			continue;
		nr = (int)derive(m, l, c, rule);
		if (read) {
			use = kernel;
			nr = from_kernel(m, c, rule, (uint32_t)nr, kernel);
			if (nr < 0)
				return nr == -1 ? 0 : -1;
		}
		struct wakeif_domain *own = topo_alloc(m->a, (size_t)nr * sizeof(*own));
		if (!own) {
			wi_err_nomem(m->err);
			return -1;
		}
		memcpy(own, use, (size_t)nr * sizeof(*own));
		nr_domains[c] = (uint32_t)nr;
		domains[c] = own;
		llc_size[c] = llc_weight(own, (uint32_t)nr);
	}
	return 1;
}

bool topo_make_domains(struct wakeif_topology *t, struct topo_raw *raw, struct topo_arena *a, struct wi_err *err)
{
	uint32_t n = t->nr_cpus, *nr_domains = topo_alloc(a, n * sizeof(*nr_domains)),
		 *llc_size = topo_alloc(a, n * sizeof(*llc_size));
	const struct wakeif_domain **domains = topo_alloc(a, n * sizeof(*domains));
	uint64_t *domain_cpus = topo_alloc(a, t->nr_words * sizeof(*domain_cpus)),
		 *scratch = topo_alloc(a, t->nr_words * sizeof(*scratch)),
		 *none = topo_alloc(a, t->nr_words * sizeof(*none));
	struct make m = { t, raw, a, domain_cpus, scratch, none, err };
	struct levels l;
	int done = 0;

	if (!nr_domains || !llc_size || !domains || !domain_cpus || !scratch || !none)
		return wi_err_nomem(err);
	for (uint32_t w = 0; w < t->nr_words; w++)
		domain_cpus[w] = t->online[w] & ~t->isolated[w];
	if (!make_levels(&m, &l))
		return false;
	if (raw->read) {
		uint32_t flags = t->flags;

		done = fill(&m, &l, true, nr_domains, domains, llc_size);
		if (!done) {
			t->flags = flags;
			topo_note(raw, "the kernel's scheduling domains as recorded contradict themselves: derived "
				       "from the topology instead");
		}
	}
	if (!done) {
		t->flags |= WAKEIF_TOPO_DOMAINS_DERIVED;
		done = fill(&m, &l, false, nr_domains, domains, llc_size);
	}
	t->nr_domains = nr_domains;
	t->domains = domains;
	t->llc_size = llc_size;
	return done > 0;
}
