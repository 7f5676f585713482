/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analyzer/topology/flat.h"

#include <stdlib.h>
#include <string.h>

#include "analyzer/base/cpumask.h"
#include "analyzer/topology/laid.h"
#include "analyzer/topology/topology.h"

#define MAX_CPUS 32768u /* present; as for every other source */
#define MAX_DOMAINS 64u /* of a CPU */
#define MAX_NODES 1024u
#define MAX_SPAN_BYTES (64u << 20) /* of a scope */
#define MAX_DISTANCE 65536u

void wi_topology_pack(const struct wakeif_topology *t, struct wi_bytes_out *out)
{
	wi_bytes_put_u32(out, t->nr_cpus);
	wi_bytes_put_u32(out, t->flags);
	wi_bytes_put_text(out, t->source);
	wi_bytes_put_text(out, t->note);
	wi_bytes_put_u64s(out, t->present, t->nr_words);
	wi_bytes_put_u64s(out, t->online, t->nr_words);
	wi_bytes_put_u64s(out, t->isolated, t->nr_words);
	for (int s = 0; s < WAKEIF_NR_SCOPES; s++)
		wi_bytes_put_u32s(out, t->group[s], t->nr_cpus);
	wi_bytes_put_u32s(out, t->package, t->nr_cpus);
	wi_bytes_put_u32s(out, (const uint32_t *)t->core_id, t->nr_cpus);
	wi_bytes_put_u32s(out, (const uint32_t *)t->package_id, t->nr_cpus);
	wi_bytes_put_u32s(out, (const uint32_t *)t->node_id, t->nr_cpus);
	wi_bytes_put_u32s(out, t->capacity, t->nr_cpus);
	wi_bytes_put_u32s(out, t->llc_size, t->nr_cpus);
	wi_bytes_put_u32s(out, t->nr_domains, t->nr_cpus);
	for (uint32_t c = 0; c < t->nr_cpus; c++)
		for (uint32_t d = 0; d < t->nr_domains[c]; d++) {
			const struct wakeif_domain *sd = &t->domains[c][d];

			wi_bytes_put_text(out, sd->name);
			wi_bytes_put_u64s(out, sd->span, t->nr_words);
			wi_bytes_put_u32(out, sd->flags);
			wi_bytes_put_u32(out, sd->imbalance_pct);
		}
	wi_bytes_put_u32(out, t->nodes_distance != NULL);
	if (t->nodes_distance)
		wi_bytes_put_u32s(out, t->nodes_distance,
				  (size_t)t->nr_groups[WAKEIF_NODE] * t->nr_groups[WAKEIF_NODE]);
}

struct flat {
	struct topology *t;
	struct wi_bytes_in *in;
	struct wi_err *err;
};

static bool wrong(struct flat *f, const char *what, uint32_t at)
{
	return wi_err_set(f->err, WI_EREFUSED, "topology: %s, number %u", what, at);
}

static const char *text(struct flat *f)
{
	size_t len;
	const char *from = wi_bytes_get_text(f->in, &len);
	char *to = topo_alloc(&f->t->arena, len + 1);

	if (!to)
		wi_err_nomem(f->err);
	else if (!from || memchr(from, 0, len))
		f->in->failed = true;
	else
		memcpy(to, from, len);
	return to;
}

static const uint32_t *by_cpu(struct flat *f)
{
	uint32_t *v = topo_alloc(&f->t->arena, f->t->pub.nr_cpus * sizeof(*v));

	if (v)
		wi_bytes_get_u32s(f->in, v, f->t->pub.nr_cpus);
	else
		wi_err_nomem(f->err);
	return v;
}

/* A set of CPUs below nr_cpus. */
static const wakeif_word *mask(struct flat *f)
{
	const struct wakeif_topology *p = &f->t->pub;
	wakeif_word *m = malloc(p->nr_words * sizeof(*m));
	const wakeif_word *own;

	if (!m) {
		wi_err_nomem(f->err);
		return NULL;
	}
	wi_bytes_get_u64s(f->in, m, p->nr_words);
	if (p->nr_cpus % 64 && m[p->nr_words - 1] >> p->nr_cpus % 64)
		f->in->failed = true;
	own = topo_intern_mask(&f->t->arena, m, p->nr_words);
	free(m);
	if (!own)
		wi_err_nomem(f->err);
	return own;
}

static bool fine(const struct flat *f)
{
	return !f->in->failed && !f->err->code;
}

/* Numbers from 0 by lowest CPU; *nr: how many there are. */
static bool numbered(struct flat *f, const uint32_t *group, const char *what, uint32_t *nr)
{
	const struct wakeif_topology *p = &f->t->pub;

	*nr = 0;
	for (uint32_t c = 0; c < p->nr_cpus; c++) {
		bool present = wi_mask_test(p->present, c);

		if (present ? group[c] > *nr : group[c] != UINT32_MAX)
			return wrong(f, what, c);
		*nr += present && group[c] == *nr;
	}
	return true;
}

static bool make_spans(struct flat *f, int s)
{
	struct wakeif_topology *p = &f->t->pub;
	uint32_t nr = p->nr_groups[s];

	if ((uint64_t)nr * p->nr_words * sizeof(wakeif_word) > MAX_SPAN_BYTES)
		return wrong(f, "an impossible number of groups", nr);
	wakeif_word **span = topo_alloc(&f->t->arena, nr * sizeof(*span));
	wakeif_word *words = topo_alloc(&f->t->arena, (size_t)nr * p->nr_words * sizeof(*words));

	if (!span || !words)
		return wi_err_nomem(f->err);
	for (uint32_t g = 0; g < nr; g++)
		span[g] = words + (size_t)g * p->nr_words;
	for (uint32_t c = 0; c < p->nr_cpus; c++)
		if (p->group[s][c] != UINT32_MAX)
			wi_mask_set(span[p->group[s][c]], c);
	p->span[s] = (const wakeif_word *const *)span;
	return true;
}

/* Groups of one scope, and that those of the scope before lie within. */
static bool read_scope(struct flat *f, int s)
{
	struct wakeif_topology *p = &f->t->pub;

	p->group[s] = by_cpu(f);
	if (!fine(f) || !numbered(f, p->group[s], "a group's number", &p->nr_groups[s]) || !make_spans(f, s))
		return false;
	if (s == WAKEIF_MACHINE && p->nr_groups[s] != 1)
		return wrong(f, "machines", p->nr_groups[s]);
	for (uint32_t g = 0; s && g < p->nr_groups[s - 1]; g++) {
		const wakeif_word *in = p->span[s - 1][g];
		uint32_t first = wi_mask_next(in, p->nr_words, 0);

		if (!wi_mask_subset(in, p->span[s][p->group[s][first]], p->nr_words))
			return wrong(f, "a group that lies in two", g);
	}
	return true;
}

static bool read_cpus(struct flat *f)
{
	struct wakeif_topology *p = &f->t->pub;

	p->package = by_cpu(f);
	if (!fine(f) || !numbered(f, p->package, "a package's number", &p->nr_packages))
		return false;
	p->core_id = (const int32_t *)by_cpu(f);
	p->package_id = (const int32_t *)by_cpu(f);
	p->node_id = (const int32_t *)by_cpu(f);
	p->capacity = by_cpu(f);
	p->llc_size = by_cpu(f);
	p->nr_domains = by_cpu(f);
	if (!fine(f))
		return false;
	for (uint32_t c = 0; c < p->nr_cpus; c++)
		if (!p->llc_size[c] || p->llc_size[c] > wi_mask_weight(p->present, p->nr_words) ||
		    p->capacity[c] > 1024 || p->nr_domains[c] > MAX_DOMAINS ||
		    (p->nr_domains[c] && !wi_mask_test(p->present, c)))
			return wrong(f, "a CPU's capacity, cache or domains", c);
	return true;
}

static bool read_domain(struct flat *f, struct wakeif_domain *sd, uint32_t cpu)
{
	const struct wakeif_topology *p = &f->t->pub;

	sd->name = text(f);
	sd->span = mask(f);
	sd->flags = wi_bytes_get_u32(f->in);
	sd->imbalance_pct = wi_bytes_get_u32(f->in);
	if (!fine(f))
		return false;
	sd->weight = wi_mask_weight(sd->span, p->nr_words);
	if (!wi_mask_test(sd->span, cpu) || !wi_mask_subset(sd->span, p->present, p->nr_words) ||
	    sd->imbalance_pct > 10000)
		return wrong(f, "a scheduling domain", cpu);
	return true;
}

static bool read_domains(struct flat *f)
{
	struct wakeif_topology *p = &f->t->pub;
	const struct wakeif_domain **all = topo_alloc(&f->t->arena, p->nr_cpus * sizeof(*all));

	if (!all)
		return wi_err_nomem(f->err);
	for (uint32_t c = 0; c < p->nr_cpus; c++) {
		struct wakeif_domain *own = topo_alloc(&f->t->arena, p->nr_domains[c] * sizeof(*own));

		if (!own)
			return wi_err_nomem(f->err);
		for (uint32_t d = 0; d < p->nr_domains[c]; d++)
			if (!read_domain(f, &own[d], c))
				return false;
		all[c] = own;
	}
	p->domains = all;
	return true;
}

static bool read_distances(struct flat *f)
{
	struct wakeif_topology *p = &f->t->pub;
	size_t nr = p->nr_groups[WAKEIF_NODE];

	uint32_t known = wi_bytes_get_u32(f->in);

	if (!known)
		return fine(f);
	if (!fine(f) || known != 1 || nr > MAX_NODES)
		return wrong(f, "nodes with distances", (uint32_t)nr);
	uint32_t *v = topo_alloc(&f->t->arena, nr * nr * sizeof(*v));

	if (!v)
		return wi_err_nomem(f->err);
	wi_bytes_get_u32s(f->in, v, nr * nr);
	for (size_t i = 0; i < nr * nr; i++)
		if (v[i] > MAX_DISTANCE)
			return wrong(f, "a distance of nodes", (uint32_t)i);
	p->nodes_distance = v;
	return fine(f);
}

static bool read_sets(struct flat *f)
{
	struct wakeif_topology *p = &f->t->pub;

	p->size = sizeof(*p);
	p->nr_cpus = wi_bytes_get_u32(f->in);
	/* a CPU takes more bytes than that: memory stays in proportion to the file */
	if (f->in->failed || !p->nr_cpus || p->nr_cpus > WI_MAX_CPUS || p->nr_cpus > (f->in->nr - f->in->pos) / 32)
		return wrong(f, "an impossible number of CPUs", p->nr_cpus);
	p->nr_words = wi_mask_words(p->nr_cpus);
	p->flags = wi_bytes_get_u32(f->in);
	p->source = text(f);
	p->note = text(f);
	p->present = mask(f);
	p->online = mask(f);
	p->isolated = mask(f);
	if (!fine(f))
		return false;
	if (wi_mask_empty(p->online, p->nr_words) || !wi_mask_subset(p->online, p->present, p->nr_words) ||
	    !wi_mask_subset(p->isolated, p->present, p->nr_words) || wi_mask_weight(p->present, p->nr_words) > MAX_CPUS)
		return wrong(f, "sets of CPUs that contradict each other", p->nr_cpus);
	return true;
}

static uint32_t most_threads(const struct wakeif_topology *p)
{
	uint32_t most = 1;

	for (uint32_t g = 0; g < p->nr_groups[WAKEIF_CORE]; g++) {
		uint32_t nr = 0;

		for (uint32_t w = 0; w < p->nr_words; w++)
			nr += (uint32_t)__builtin_popcountll(p->span[WAKEIF_CORE][g][w] & p->online[w]);
		most = nr > most ? nr : most;
	}
	return most;
}

const struct wakeif_topology *wi_topology_unpack(struct wi_bytes_in *in, struct wi_err *err)
{
	struct flat f = { calloc(1, sizeof(struct topology)), in, err };
	bool ok;

	if (!f.t) {
		wi_err_nomem(err);
		return NULL;
	}
	ok = read_sets(&f);
	for (int s = 0; ok && s < WAKEIF_NR_SCOPES; s++)
		ok = read_scope(&f, s);
	ok = ok && read_cpus(&f) && read_domains(&f) && read_distances(&f);
	if (ok && fine(&f)) {
		f.t->pub.smt = most_threads(&f.t->pub);
		return &f.t->pub;
	}
	wi_err_set(err, WI_EREFUSED, "topology: it ends too early, or a text or set is impossible");
	wi_topology_free(&f.t->pub);
	return NULL;
}
