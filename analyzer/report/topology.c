/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analyzer/report/topology.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/base/cpumask.h"
#include "analyzer/base/fmt.h"
#include "analyzer/report/report.h"
#include "analyzer/topology/topology.h"

#define WIDTH 96 /* of a picture's line */

char *wi_report_cpu_list(const wakeif_word *set, uint32_t words)
{
	size_t len = wi_mask_format(NULL, 0, set, words);
	char *text = malloc(len + 1);

	if (text)
		wi_mask_format(text, len + 1, set, words);
	return text;
}

char *wi_report_unused_cpus(const struct wi_results *r)
{
	const struct wi_idle_table *t = &r->idle.cpu;
	uint32_t words = wi_mask_words(t->nr ? t->row[t->nr - 1].id + 1 : 1);
	wakeif_word *set = calloc(words, sizeof(*set));
	char *list;

	if (!set)
		return NULL;
	for (size_t i = 0; i < t->nr; i++)
		if (!t->row[i].busy_ns)
			wi_mask_set(set, t->row[i].id);
	list = wi_report_cpu_list(set, words);
	free(set);
	return list;
}

bool wi_report_topology_flag(uint32_t flags, unsigned int *at, const char **name, const char **meaning)
{
	static const struct {
		uint32_t flag;
		const char *name, *meaning;
	} known[] = {
		{ WAKEIF_TOPO_FALLBACK, "fallback",
		  "NOTHING IS KNOWN OF THE MACHINE: taken for flat, without SMT, one LLC; give --topology" },
		{ WAKEIF_TOPO_NO_CACHE_INFO, "no_cache_info", "no cache information: one LLC a package" },
		{ WAKEIF_TOPO_LLC_SPLIT, "llc_split", "an LLC crossed a node and was cut there, as the kernel does" },
		{ WAKEIF_TOPO_CONTRADICTION, "contradiction", "the source contradicts itself" },
		{ WAKEIF_TOPO_DOMAINS_DERIVED, "domains_derived",
		  "scheduling domains derived, not read from the kernel" },
	};

	for (; *at < sizeof(known) / sizeof(*known); ++*at)
		if (flags & known[*at].flag) {
			*name = known[*at].name;
			*meaning = known[(*at)++].meaning;
			return true;
		}
	return false;
}

static const char *plural(uint32_t n)
{
	return n == 1 ? "" : "s";
}

static void llc_size_range(const struct wakeif_topology *t, uint32_t *min, uint32_t *max)
{
	*min = UINT32_MAX;
	*max = 0;
	wi_mask_for_each (cpu, t->online, t->nr_words) {
		if (t->llc_size[cpu] < *min)
			*min = t->llc_size[cpu];
		if (t->llc_size[cpu] > *max)
			*max = t->llc_size[cpu];
	}
}

bool wi_report_topology_line(FILE *out, const struct wakeif_topology *t, struct wi_err *err)
{
	uint32_t online = wi_mask_weight(t->online, t->nr_words), present = wi_mask_weight(t->present, t->nr_words);
	uint32_t cores = wi_topology_nr_online_groups(t, WAKEIF_CORE),
		 llcs = wi_topology_nr_online_groups(t, WAKEIF_LLC),
		 nodes = wi_topology_nr_online_groups(t, WAKEIF_NODE);
	uint32_t packages = wi_topology_nr_online_packages(t), min, max;

	fprintf(out, "%" PRIu32 " CPU%s", online, plural(online));
	if (present != online)
		fprintf(out, " online of %" PRIu32, present);
	fprintf(out, ", %" PRIu32 " core%s", cores, plural(cores));
	if (t->smt > 1)
		fprintf(out, cores * t->smt == online ? " x %" PRIu32 " threads" : " of up to %" PRIu32 " threads",
			t->smt);
	else
		fputs(" without SMT", out);
	fprintf(out, ", %" PRIu32 " LLC%s, %" PRIu32 " node%s, %" PRIu32 " package%s", llcs, plural(llcs), nodes,
		plural(nodes), packages, plural(packages));
	llc_size_range(t, &min, &max);
	if (min == max)
		fprintf(out, ", llc_size %" PRIu32, max);
	else if (max)
		fprintf(out, ", llc_size %" PRIu32 " to %" PRIu32, min, max);
	if (!wi_mask_empty(t->isolated, t->nr_words)) {
		char *list = wi_report_cpu_list(t->isolated, t->nr_words);

		if (!list)
			return wi_err_nomem(err);
		fprintf(out, ", isolated %s", list);
		free(list);
	}
	return true;
}

/* Which of package and node holds the other: packages outside unless a node spans several. */
static bool package_outside(const struct wakeif_topology *t)
{
	for (uint32_t g = 0; g < t->nr_groups[WAKEIF_NODE]; g++) {
		uint32_t package = UINT32_MAX;

		wi_mask_for_each (cpu, t->span[WAKEIF_NODE][g], t->nr_words) {
			if (!wi_mask_test(t->online, cpu))
				continue;
			if (package != UINT32_MAX && t->package[cpu] != package)
				return false;
			package = t->package[cpu];
		}
	}
	return true;
}

struct picture {
	FILE *out;
	const struct wakeif_topology *t;
	bool package_first, any_offline, any_isolated;
	uint32_t *order; /* LLC groups as they are drawn */
	size_t column;
};

static uint32_t first_cpu(const struct wakeif_topology *t, enum wakeif_scope scope, uint32_t g)
{
	return wi_mask_next(t->span[scope][g], t->nr_words, 0);
}

static uint64_t draw_key(const struct picture *p, uint32_t llc)
{
	uint32_t cpu = first_cpu(p->t, WAKEIF_LLC, llc);
	uint32_t package = p->t->package[cpu], node = p->t->group[WAKEIF_NODE][cpu];

	return p->package_first ? (uint64_t)package << 32 | node : (uint64_t)node << 32 | package;
}

static int by_draw_key(const void *a, const void *b, void *picture)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	uint64_t kx = draw_key(picture, x), ky = draw_key(picture, y);

	if (kx != ky)
		return kx < ky ? -1 : 1;
	return x < y ? -1 : x > y;
}

/* Number to show for a group: the source's own, else ours. */
static int64_t shown(int32_t own, uint32_t index)
{
	return own >= 0 ? own : (int64_t)index;
}

static bool draw_list(struct picture *p, const wakeif_word *set, struct wi_err *err)
{
	char *list = wi_report_cpu_list(set, p->t->nr_words);

	if (!list)
		return wi_err_nomem(err);
	fputs(list, p->out);
	free(list);
	return true;
}

static void draw_package(struct picture *p, uint32_t cpu, int indent)
{
	fprintf(p->out, "%*spackage %" PRId64 "\n", indent, "", shown(p->t->package_id[cpu], p->t->package[cpu]));
}

static bool draw_node(struct picture *p, uint32_t cpu, int indent, struct wi_err *err)
{
	const struct wakeif_topology *t = p->t;
	uint32_t node = t->group[WAKEIF_NODE][cpu], nr = t->nr_groups[WAKEIF_NODE];

	fprintf(p->out, "%*snode %" PRId64 "  CPUs ", indent, "", shown(t->node_id[cpu], node));
	if (!draw_list(p, t->span[WAKEIF_NODE][node], err))
		return false;
	if (t->nodes_distance && nr > 1) {
		fputs("  distance", p->out);
		for (uint32_t n = 0; n < nr && n < 16; n++)
			fprintf(p->out, " %" PRIu32, t->nodes_distance[(size_t)node * nr + n]);
		if (nr > 16)
			fputs(" ...", p->out);
	}
	putc('\n', p->out);
	return true;
}

/* Words of a line, parted by blanks; the line breaks before one that does not fit. */
static void draw_text(struct picture *p, const char *text, int indent)
{
	size_t len = strlen(text) + 1;

	if (p->column + len > WIDTH) {
		fprintf(p->out, "\n%*s", indent, "");
		p->column = (size_t)indent;
	} else if (p->column > (size_t)indent) {
		putc(' ', p->out);
	}
	fputs(text, p->out);
	p->column += len;
}

/* "(0 1)", "(2 3-)" with an offline CPU, "(4! 5!)" isolated ones. */
static void draw_core(struct picture *p, uint32_t core, int indent)
{
	const struct wakeif_topology *t = p->t;
	char text[512];
	size_t n = (size_t)snprintf(text, sizeof(text), "(");
	const char *blank = "";

	wi_mask_for_each (cpu, t->span[WAKEIF_CORE][core], t->nr_words) {
		bool offline = !wi_mask_test(t->online, cpu), isolated = wi_mask_test(t->isolated, cpu);

		if (n + 32 > sizeof(text)) { /* no real core has so many threads */
			n += (size_t)snprintf(text + n, sizeof(text) - n, " ...");
			break;
		}
		n += (size_t)snprintf(text + n, sizeof(text) - n, "%s%" PRIu32 "%s%s", blank, cpu, offline ? "-" : "",
				      isolated ? "!" : "");
		p->any_offline |= offline;
		p->any_isolated |= isolated;
		blank = " ";
	}
	snprintf(text + n, sizeof(text) - n, ")");
	draw_text(p, text, indent);
}

/* Are clusters something else than cores and LLCs here? */
static bool clusters_matter(const struct wakeif_topology *t)
{
	return t->nr_groups[WAKEIF_CLUSTER] != t->nr_groups[WAKEIF_CORE] &&
	       t->nr_groups[WAKEIF_CLUSTER] != t->nr_groups[WAKEIF_LLC];
}

static bool draw_llc(struct picture *p, uint32_t llc, int indent, struct wi_err *err)
{
	const struct wakeif_topology *t = p->t;
	uint32_t first = first_cpu(t, WAKEIF_LLC, llc), last = UINT32_MAX;
	bool clusters = clusters_matter(t);

	fprintf(p->out, "%*sLLC %" PRIu32 "  CPUs ", indent, "", llc);
	if (!draw_list(p, t->span[WAKEIF_LLC][llc], err))
		return false;
	fprintf(p->out, "  llc_size %" PRIu32 "\n%*s", t->llc_size[first], indent + 2, "");
	p->column = (size_t)indent + 2;
	wi_mask_for_each (cpu, t->span[WAKEIF_LLC][llc], t->nr_words) {
		uint32_t core = t->group[WAKEIF_CORE][cpu];

		if (first_cpu(t, WAKEIF_CORE, core) != cpu)
			continue;
		if (clusters && last != UINT32_MAX && t->group[WAKEIF_CLUSTER][last] != t->group[WAKEIF_CLUSTER][cpu])
			draw_text(p, "|", indent + 2);
		draw_core(p, core, indent + 2);
		last = cpu;
	}
	putc('\n', p->out);
	return true;
}

static bool group_online(const struct wakeif_topology *t, uint32_t llc)
{
	for (uint32_t w = 0; w < t->nr_words; w++)
		if (t->span[WAKEIF_LLC][llc][w] & t->online[w])
			return true;
	return false;
}

/* CPUs of groups that are offline as a whole: nothing is known of where they are. */
static bool draw_offline(struct picture *p, struct wi_err *err)
{
	const struct wakeif_topology *t = p->t;
	wakeif_word *off = calloc(t->nr_words, sizeof(*off));
	bool ok = true;

	if (!off)
		return wi_err_nomem(err);
	for (uint32_t g = 0; g < t->nr_groups[WAKEIF_LLC]; g++) {
		if (group_online(t, g))
			continue;
		for (uint32_t w = 0; w < t->nr_words; w++)
			off[w] |= t->span[WAKEIF_LLC][g][w];
	}
	if (!wi_mask_empty(off, t->nr_words)) {
		fputs("offline: ", p->out);
		ok = draw_list(p, off, err);
		putc('\n', p->out);
	}
	free(off);
	return ok;
}

static bool draw_machine(struct picture *p, struct wi_err *err)
{
	const struct wakeif_topology *t = p->t;
	uint64_t last = UINT64_MAX;

	for (uint32_t i = 0; i < t->nr_groups[WAKEIF_LLC]; i++) {
		if (!group_online(t, p->order[i]))
			continue;

		uint32_t cpu = first_cpu(t, WAKEIF_LLC, p->order[i]);
		uint64_t key = draw_key(p, p->order[i]);
		bool outer = last == UINT64_MAX || key >> 32 != last >> 32, inner = outer || key != last;

		last = key;
		if (outer && p->package_first)
			draw_package(p, cpu, 0);
		else if (outer && !draw_node(p, cpu, 0, err))
			return false;
		if (inner && !p->package_first)
			draw_package(p, cpu, 2);
		else if (inner && !draw_node(p, cpu, 2, err))
			return false;
		if (!draw_llc(p, p->order[i], 4, err))
			return false;
	}
	if (!draw_offline(p, err))
		return false;
	if (clusters_matter(t))
		fputs("(a b): threads of a core   | : border of CPUs that share an L2\n", p->out);
	if (p->any_offline || p->any_isolated)
		fprintf(p->out, "%s%s\n", p->any_offline ? "n-: offline   " : "",
			p->any_isolated ? "n!: isolated" : "");
	return true;
}

static bool same_domains(const struct wakeif_topology *t, uint32_t a, uint32_t b, bool exact)
{
	if (t->nr_domains[a] != t->nr_domains[b])
		return false;
	for (uint32_t i = 0; i < t->nr_domains[a]; i++) {
		const struct wakeif_domain *x = &t->domains[a][i], *y = &t->domains[b][i];

		if (strcmp(x->name, y->name) != 0 || x->weight != y->weight || x->flags != y->flags ||
		    x->imbalance_pct != y->imbalance_pct)
			return false;
		if (exact && !wi_mask_equal(x->span, y->span, t->nr_words))
			return false;
	}
	return true;
}

/* CPUs that have not been told of yet and whose domains are like those of cpu. */
static bool draw_domains_of(struct picture *p, uint32_t cpu, bool exact, wakeif_word *told, struct wi_err *err)
{
	const struct wakeif_topology *t = p->t;
	wakeif_word *alike = calloc(t->nr_words, sizeof(*alike));
	bool ok;

	if (!alike)
		return wi_err_nomem(err);
	wi_mask_for_each (c, t->online, t->nr_words) {
		if (!wi_mask_test(told, c) && same_domains(t, cpu, c, exact)) {
			wi_mask_set(alike, c);
			wi_mask_set(told, c);
		}
	}
	fputs("  CPUs ", p->out);
	ok = draw_list(p, alike, err);
	putc(':', p->out);
	if (!t->nr_domains[cpu])
		fputs(" none", p->out);
	for (uint32_t i = 0; ok && i < t->nr_domains[cpu]; i++) {
		const struct wakeif_domain *d = &t->domains[cpu][i];

		fprintf(p->out, "%s %s %" PRIu32, i ? "," : "", d->name, d->weight);
		if (exact) {
			fputs(" (", p->out);
			ok = draw_list(p, d->span, err);
			putc(')', p->out);
		}
	}
	putc('\n', p->out);
	free(alike);
	return ok;
}

static bool draw_domains(struct picture *p, bool exact, struct wi_err *err)
{
	const struct wakeif_topology *t = p->t;
	wakeif_word *told = calloc(t->nr_words, sizeof(*told));
	bool ok = true;

	if (!told)
		return wi_err_nomem(err);
	fprintf(p->out, "scheduling domains, innermost first (%s)\n",
		t->flags & WAKEIF_TOPO_DOMAINS_DERIVED ? "derived from the topology" : "as the kernel reports them");
	wi_mask_for_each (cpu, t->online, t->nr_words) {
		if (ok && !wi_mask_test(told, cpu))
			ok = draw_domains_of(p, cpu, exact, told, err);
	}
	free(told);
	return ok;
}

static void print_notes(FILE *out, const struct wakeif_topology *t)
{
	char text[WI_FMT_NAME_LEN];
	const char *name, *meaning;
	unsigned int at = 0;

	fprintf(out, "source: %s\n", wi_fmt_name(text, sizeof(text), t->source));
	while (wi_report_topology_flag(t->flags, &at, &name, &meaning))
		if (strcmp(name, "domains_derived") != 0)
			fprintf(out, "note: %s\n", meaning);
	if (t->note[0])
		fprintf(out, "note: %s\n", wi_fmt_name(text, sizeof(text), t->note));
}

bool wi_report_topology_text(FILE *out, const struct wakeif_topology *t, bool verbose, struct wi_err *err)
{
	struct picture p = { .out = out, .t = t, .package_first = package_outside(t) };
	bool ok;

	p.order = malloc(t->nr_groups[WAKEIF_LLC] * sizeof(*p.order));
	if (!p.order)
		return wi_err_nomem(err);
	for (uint32_t i = 0; i < t->nr_groups[WAKEIF_LLC]; i++)
		p.order[i] = i;
	qsort_r(p.order, t->nr_groups[WAKEIF_LLC], sizeof(*p.order), by_draw_key, &p);
	ok = wi_report_topology_line(out, t, err);
	putc('\n', out);
	print_notes(out, t);
	ok = ok && draw_machine(&p, err) && draw_domains(&p, verbose, err);
	free(p.order);
	return ok;
}

static void json_list(struct wi_json *j, const char *key, const wakeif_word *set, uint32_t words)
{
	char *list = wi_report_cpu_list(set, words);

	if (list)
		wi_json_string(j, key, list);
	free(list);
}

static void json_cpu(struct wi_json *j, const struct wakeif_topology *t, uint32_t cpu)
{
	wi_json_object_flat(j, NULL);
	wi_json_u64(j, "cpu", cpu);
	wi_json_u64(j, "core", t->group[WAKEIF_CORE][cpu]);
	wi_json_u64(j, "cluster", t->group[WAKEIF_CLUSTER][cpu]);
	wi_json_u64(j, "llc", t->group[WAKEIF_LLC][cpu]);
	wi_json_u64(j, "node", t->group[WAKEIF_NODE][cpu]);
	wi_json_u64(j, "package", t->package[cpu]);
	wi_json_bool(j, "online", wi_mask_test(t->online, cpu));
	wi_json_bool(j, "isolated", wi_mask_test(t->isolated, cpu));
	wi_json_u64(j, "llc_size", t->llc_size[cpu]);
	wi_json_end_object(j);
}

void wi_report_topology_json(struct wi_json *j, const char *key, const struct wakeif_topology *t)
{
	const char *name, *meaning;
	unsigned int at = 0;

	wi_json_object(j, key);
	wi_json_string(j, "source", t->source);
	wi_json_string(j, "note", t->note);
	wi_json_u64(j, "smt", t->smt);
	wi_json_u64(j, "nr_cpus", t->nr_cpus);
	wi_json_u64(j, "nr_online", wi_mask_weight(t->online, t->nr_words));
	wi_json_u64(j, "nr_cores", wi_topology_nr_online_groups(t, WAKEIF_CORE));
	wi_json_u64(j, "nr_llcs", wi_topology_nr_online_groups(t, WAKEIF_LLC));
	wi_json_u64(j, "nr_nodes", wi_topology_nr_online_groups(t, WAKEIF_NODE));
	wi_json_u64(j, "nr_packages", wi_topology_nr_online_packages(t));
	wi_json_array_flat(j, "flags");
	while (wi_report_topology_flag(t->flags, &at, &name, &meaning))
		wi_json_string(j, NULL, name);
	wi_json_end_array(j);
	wi_json_array(j, "llcs");
	for (uint32_t g = 0; g < t->nr_groups[WAKEIF_LLC]; g++) {
		wi_json_object_flat(j, NULL);
		json_list(j, "cpus", t->span[WAKEIF_LLC][g], t->nr_words);
		wi_json_u64(j, "llc_size", t->llc_size[first_cpu(t, WAKEIF_LLC, g)]);
		wi_json_end_object(j);
	}
	wi_json_end_array(j);
	wi_json_array(j, "nodes");
	for (uint32_t g = 0; g < t->nr_groups[WAKEIF_NODE]; g++) {
		wi_json_object_flat(j, NULL);
		json_list(j, "cpus", t->span[WAKEIF_NODE][g], t->nr_words);
		wi_json_end_object(j);
	}
	wi_json_end_array(j);
	wi_json_array(j, "cpus");
	wi_mask_for_each (cpu, t->present, t->nr_words)
		json_cpu(j, t, cpu);
	wi_json_end_array(j);
	wi_json_end_object(j);
}

void wi_report_topology_csv(struct wi_csv *c, const struct wakeif_topology *t)
{
	wi_csv_header(c, "cpu,core,cluster,llc,node,package,online,isolated,llc_size");
	wi_mask_for_each (cpu, t->present, t->nr_words) {
		wi_csv_u64(c, cpu);
		wi_csv_u64(c, t->group[WAKEIF_CORE][cpu]);
		wi_csv_u64(c, t->group[WAKEIF_CLUSTER][cpu]);
		wi_csv_u64(c, t->group[WAKEIF_LLC][cpu]);
		wi_csv_u64(c, t->group[WAKEIF_NODE][cpu]);
		wi_csv_u64(c, t->package[cpu]);
		wi_csv_u64(c, wi_mask_test(t->online, cpu));
		wi_csv_u64(c, wi_mask_test(t->isolated, cpu));
		wi_csv_u64(c, t->llc_size[cpu]);
		wi_csv_end(c);
	}
}
