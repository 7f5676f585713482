/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Topology from sysfs files held in memory. Read by ourselves and not through hwloc, which drops offline CPUs, isolated
 * ones, contradictions and the kernel's domains.
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>

#include "analyzer/topology/filetree.h"
#include "analyzer/topology/masks.h"
#include "analyzer/topology/partition.h"
#include "analyzer/topology/raw.h"
#include "analyzer/topology/sysfs_reader.h"
#include "analyzer/topology/sysinfo.h"

#define MAX_CACHES 16u

/* ---- finding the CPUs ---- */

/* "12/rest" -> 12, *p at "rest" (or at the end when there is no slash). */
static bool take_number(const char **p, uint32_t *value)
{
	const char *at = *p;
	uint32_t v = 0;

	if (!isdigit((unsigned char)*at))
		return false;
	for (; isdigit((unsigned char)*at); at++) {
		v = v * 10 + (uint32_t)(*at - '0');
		if (v >= WI_MAX_CPUS)
			return false;
	}
	if (*at && *at != '/')
		return false;
	*p = at + (*at == '/');
	*value = v;
	return true;
}

struct place {
	uint32_t cpu, node; /* TOPO_NONE: none in this path */
	bool topology;
};

/* What CPU and node folders a path names. */
static bool place_of(const char *path, struct place *at)
{
	*at = (struct place){ TOPO_NONE, TOPO_NONE, false };
	if (!strncmp(path, CPU_DIR "cpu", sizeof(CPU_DIR) + 2)) {
		path += sizeof(CPU_DIR) + 2;
	} else if (!strncmp(path, NODE_DIR "node", sizeof(NODE_DIR) + 3)) {
		path += sizeof(NODE_DIR) + 3;
		if (!take_number(&path, &at->node))
			return false;
		if (strncmp(path, "cpu", 3) != 0)
			return true;
		path += 3;
		if (!take_number(&path, &at->cpu)) /* "cpulist", "cpumap" */
			return at->cpu = TOPO_NONE, true;
	} else {
		return false;
	}
	if (at->cpu == TOPO_NONE && !take_number(&path, &at->cpu))
		return false;
	at->topology = !strncmp(path, "topology/", 9);
	return true;
}

bool topo_list_file(struct reader *r, const char *path, uint64_t **mask, uint32_t *words)
{
	struct wi_err bad = { WI_OK, "" };
	size_t len;
	const char *text = wi_filetree_get(r->tree, path, &len);

	*mask = NULL;
	*words = 0;
	if (!text || wi_mask_parse_list(text, len, mask, words, &bad))
		return true;
	if (bad.code == WI_EIO)
		return wi_err_nomem(r->err);
	r->unreadable++;
	return true;
}

static uint32_t above_highest(const uint64_t *mask, uint32_t words)
{
	while (words && !mask[words - 1])
		words--;
	return words ? words * 64 - (uint32_t)__builtin_clzll(mask[words - 1]) : 0;
}

void topo_copy_mask(uint64_t *to, uint32_t to_words, const uint64_t *from, uint32_t words)
{
	for (uint32_t w = 0; w < words && w < to_words; w++)
		to[w] |= from[w];
}

static bool by_cpu_arrays(struct reader *r, uint32_t n)
{
	r->flag = calloc(n, 1);
	r->llc_index = calloc(n, 1);
	r->l2_index = calloc(n, 1);
	r->llc_level = calloc(n, 1);
	r->node_dir = malloc(n * sizeof(*r->node_dir));
	r->last_mask = calloc(wi_mask_words(n), sizeof(*r->last_mask));
	return r->flag && r->llc_index && r->l2_index && r->llc_level && r->node_dir && r->last_mask;
}

/* Node ids: every change of id while walking is noted, then sorted and made unique. */
static bool note_node(struct reader *r, uint32_t id, uint32_t *cap)
{
	if (r->nr_nodes && r->node[r->nr_nodes - 1] == id)
		return true;
	if (r->nr_nodes == *cap) {
		uint32_t *node = realloc(r->node, (*cap ? *cap * 2 : 64) * sizeof(*node));

		if (!node)
			return wi_err_nomem(r->err);
		r->node = node;
		*cap = *cap ? *cap * 2 : 64;
	}
	r->node[r->nr_nodes++] = id;
	return true;
}

static bool find_cpus(struct reader *r)
{
	size_t n = wi_filetree_count(r->tree);
	uint64_t *present = NULL, *online = NULL;
	uint32_t nr = 0, present_words, online_words, cap = 0;
	struct place at;
	bool ok = false;

	if (!topo_list_file(r, CPU_DIR "present", &present, &present_words) ||
	    !topo_list_file(r, CPU_DIR "online", &online, &online_words))
		goto out;
	for (size_t i = 0; i < n; i++)
		if (place_of(wi_filetree_at(r->tree, i).path, &at)) {
			if (at.cpu != TOPO_NONE && at.cpu >= nr)
				nr = at.cpu + 1;
			if (at.node != TOPO_NONE && !note_node(r, at.node, &cap))
				goto out;
		}
	uint32_t p = above_highest(present, present_words), o = above_highest(online, online_words);
	nr = p > nr ? p : nr;
	nr = o > nr ? o : nr;
	if (!nr) {
		wi_err_set(r->err, WI_EREFUSED, "no CPU found: no sys/devices/system/cpu/cpu0");
		goto out;
	}
	if (!topo_raw_init(r->raw, nr, r->err))
		goto out;
	if (!by_cpu_arrays(r, nr)) {
		wi_err_nomem(r->err);
		goto out;
	}
	memset(r->node_dir, 0xff, nr * sizeof(*r->node_dir));
	if (present)
		topo_copy_mask(r->raw->present, r->raw->nr_words, present, present_words);
	if (online) {
		topo_copy_mask(r->raw->present, r->raw->nr_words, online, online_words);
		topo_copy_mask(r->raw->online, r->raw->nr_words, online, online_words);
	}
	for (size_t i = 0; i < n; i++) {
		if (!place_of(wi_filetree_at(r->tree, i).path, &at) || at.cpu == TOPO_NONE)
			continue;
		uint8_t has = at.topology ? HAS_TOPOLOGY : 0;

		wi_mask_set(r->raw->present, at.cpu);
		if (at.node == TOPO_NONE) {
			has |= HAS_DIR;
			if (at.topology)
				r->flag[at.cpu] &= (uint8_t)~UNDER_NODE;
		} else {
			r->node_dir[at.cpu] = at.node;
			if (at.topology && !(r->flag[at.cpu] & HAS_TOPOLOGY))
				has |= UNDER_NODE;
		}
		r->flag[at.cpu] |= has;
	}
	ok = true;
out:
	free(present);
	free(online);
	return ok;
}

/* Dropped by a regular folder that comes after the one under a node, see above. */
static void cpu_path(const struct reader *r, uint32_t cpu, const char *file, char *out, size_t size)
{
	if (r->flag[cpu] & UNDER_NODE)
		snprintf(out, size, NODE_DIR "node%u/cpu%u/%s", r->node_dir[cpu], cpu, file);
	else
		snprintf(out, size, CPU_DIR "cpu%u/%s", cpu, file);
}

static const char *cpu_file(const struct reader *r, uint32_t cpu, const char *file)
{
	char path[128];

	cpu_path(r, cpu, file, path, sizeof(path));
	return wi_filetree_get(r->tree, path, NULL);
}

/* Number in a file of a CPU; -1 when absent, negative or no number. */
static int32_t cpu_number(const struct reader *r, uint32_t cpu, const char *file)
{
	const char *text = cpu_file(r, cpu, file);
	char *end;

	if (!text)
		return -1;
	long v = strtol(text, &end, 10);
	return end == text || v < 0 || v >= TOPO_MAX_LABEL ? -1 : (int32_t)v;
}

/* cpuN/online says more than the list, which containers rewrite; CPUs without that file follow the list. */
static void find_online(struct reader *r)
{
	bool have_list = !wi_mask_empty(r->raw->online, r->raw->nr_words), any_topology = false;
	uint32_t differ = 0;

	for (uint32_t c = 0; c < r->raw->nr_cpus; c++)
		any_topology |= (r->flag[c] & HAS_TOPOLOGY) != 0;
	wi_mask_for_each (c, r->raw->present, r->raw->nr_words) {
		int32_t own = cpu_number(r, c, "online");
		bool list = wi_mask_test(r->raw->online, c);
		bool on = own >= 0	 ? own > 0
			  : have_list	 ? list
			  : any_topology ? (r->flag[c] & HAS_TOPOLOGY) != 0
					 : true;

		differ += have_list && own >= 0 && on != list;
		if (on)
			wi_mask_set(r->raw->online, c);
		else
			wi_mask_clear(r->raw->online, c);
	}
	if (differ) {
		r->raw->flags |= WAKEIF_TOPO_CONTRADICTION;
		topo_note(r->raw,
			  "cpu/online and the CPUs' own online files disagree about %u CPUs (a container?): the latter "
			  "were taken",
			  differ);
	}
}

/* ---- groups ---- */

bool topo_parse_mask(struct reader *r, const char *text, size_t len, bool list, uint64_t *out)
{
	struct topo_raw *raw = r->raw;

	if (!r->last_text || r->last_list != list || r->last_len != len || memcmp(r->last_text, text, len) != 0) {
		struct wi_err bad = { WI_OK, "" };
		uint64_t *mask;
		uint32_t words;

		if (!(list ? wi_mask_parse_list : wi_mask_parse_hex)(text, len, &mask, &words, &bad)) {
			r->unreadable++;
			return false;
		}
		memset(r->last_mask, 0, raw->nr_words * sizeof(*mask));
		topo_copy_mask(r->last_mask, raw->nr_words, mask, words);
		free(mask);
		r->last_text = text;
		r->last_len = len;
		r->last_list = list;
	}
	memcpy(out, r->last_mask, raw->nr_words * sizeof(*out));
	return true;
}

static bool is_list(const char *name)
{
	size_t len = strlen(name);

	return len > 4 && !strcmp(name + len - 4, "list");
}

/* topo_mask_fn: the first of r->mask_name that this CPU has. */
static bool topology_mask(void *ctx, uint32_t cpu, uint64_t *out)
{
	struct reader *r = ctx;
	char path[128];
	size_t len;

	if (!(r->flag[cpu] & HAS_TOPOLOGY))
		return false;
	for (const char *const *name = r->mask_name; *name; name++) {
		cpu_path(r, cpu, *name, path, sizeof(path));
		const char *text = wi_filetree_get(r->tree, path, &len);

		if (text && topo_parse_mask(r, text, len, is_list(*name), out) && !wi_mask_empty(out, r->raw->nr_words))
			return true;
	}
	return false;
}

/* topo_mask_fn: who shares the last-level (or, cache_l2, the second-level) cache. */
static bool cache_mask(void *ctx, uint32_t cpu, uint64_t *out)
{
	struct reader *r = ctx;
	uint8_t index = r->cache_l2 ? r->l2_index[cpu] : r->llc_index[cpu];
	char file[64], path[128];
	size_t len;

	if (!index)
		return false;
	for (int list = 1; list >= 0; list--) {
		snprintf(file, sizeof(file), "cache/index%u/%s", index - 1u,
			 list ? "shared_cpu_list" : "shared_cpu_map");
		cpu_path(r, cpu, file, path, sizeof(path));
		const char *text = wi_filetree_get(r->tree, path, &len);

		if (text && topo_parse_mask(r, text, len, list, out) && !wi_mask_empty(out, r->raw->nr_words))
			return true;
	}
	return false;
}

/* Numbers that name the same thing get the same label, in the order they are met. pair = (a, b), both >= 0. */
struct pair {
	uint64_t key;
	uint32_t cpu;
};

static int by_pair(const void *a, const void *b)
{
	const struct pair *x = a, *y = b;

	if (x->key != y->key)
		return x->key < y->key ? -1 : 1;
	return x->cpu < y->cpu ? -1 : x->cpu > y->cpu;
}

/* label[c] = lowest CPU with the same key; key[c] UINT64_MAX: not known. */
static bool label_by_key(struct reader *r, const uint64_t *key, uint32_t *label)
{
	uint32_t n = r->raw->nr_cpus, nr = 0, low = 0;
	struct pair *p = malloc(n * sizeof(*p));

	if (!p)
		return wi_err_nomem(r->err);
	for (uint32_t c = 0; c < n; c++)
		if (key[c] != UINT64_MAX)
			p[nr++] = (struct pair){ key[c], c };
	qsort(p, nr, sizeof(*p), by_pair);
	for (uint32_t i = 0; i < nr; i++) {
		if (!i || p[i].key != p[i - 1].key)
			low = p[i].cpu;
		label[p[i].cpu] = low;
	}
	free(p);
	return true;
}

/* Package of each CPU: by id; by the sibling masks where the kernel has no ids (-1). */
static bool find_packages(struct reader *r)
{
	static const char *const names[] = { "topology/package_cpus_list", "topology/core_siblings_list",
					     "topology/package_cpus", "topology/core_siblings", NULL };
	struct topo_raw *raw = r->raw;
	uint32_t n = raw->nr_cpus, *by_mask = malloc(n * sizeof(*by_mask)), *label = raw->label[TOPO_PACKAGE];
	bool ok = true, differ = false;

	if (!by_mask)
		return wi_err_nomem(r->err);
	r->mask_name = names;
	enum topo_agree agree = topo_labels_from_masks(raw, topology_mask, r, by_mask, r->err);
	if (agree == TOPO_DISAGREE)
		ok = topo_labels_join_masks(raw, topology_mask, r, by_mask, r->err);
	ok = ok && agree != TOPO_MASK_NOMEM;
	/* Ids and masks in one space of labels: ids below half of it, masks (lowest CPU) above. */
	for (uint32_t c = 0; ok && c < n; c++) {
		raw->package_id[c] = r->flag[c] & HAS_TOPOLOGY ? cpu_number(r, c, "topology/physical_package_id") : -1;
		if (raw->package_id[c] >= 0)
			label[c] = (uint32_t)raw->package_id[c] & (TOPO_MAX_LABEL / 2 - 1);
		else if (agree != TOPO_NO_MASKS && by_mask[c] != TOPO_NONE)
			label[c] = TOPO_MAX_LABEL / 2 + by_mask[c];
	}
	/* Masks that agree and say something else than the ids, or masks that do not agree: hotplug while they were
	 * read. */
	if (agree == TOPO_DISAGREE)
		differ = true;
	uint32_t *rep = ok ? malloc(n * sizeof(*rep)) : NULL;
	ok = ok && (rep ? topo_group(rep, label, n, r->err) : wi_err_nomem(r->err));
	for (uint32_t c = 0; ok && agree == TOPO_AGREE && c < n; c++) {
		uint32_t low = by_mask[c];

		if (low == TOPO_NONE || raw->package_id[c] < 0 || raw->package_id[low] < 0)
			continue;
		differ |= label[low] != label[c] || (by_mask[rep[c]] != TOPO_NONE && by_mask[rep[c]] != low);
	}
	free(rep);
	if (differ) {
		raw->flags |= WAKEIF_TOPO_CONTRADICTION;
		topo_note(raw, "sibling masks of packages disagree (read while CPUs were plugged?): grouped by "
			       "physical_package_id");
	}
	free(by_mask);
	return ok;
}

/* (package, die, core_id) of each CPU; UINT64_MAX without a core_id. */
static uint64_t *core_keys(struct reader *r)
{
	uint32_t n = r->raw->nr_cpus;
	uint64_t *key = malloc(n * sizeof(*key));

	if (!key) {
		wi_err_nomem(r->err);
		return NULL;
	}
	for (uint32_t c = 0; c < n; c++) {
		int32_t core = r->raw->core_id[c],
			die = r->flag[c] & HAS_TOPOLOGY ? cpu_number(r, c, "topology/die_id") : -1;
		uint64_t package = r->raw->label[TOPO_PACKAGE][c] & (TOPO_MAX_LABEL - 1);

		key[c] = core < 0 ? UINT64_MAX
				  : package << 34 | (uint64_t)(die & 0x3ff) << 24 | (uint64_t)(core & 0xffffff);
	}
	return key;
}

static bool find_cores(struct reader *r)
{
	static const char *const names[] = { "topology/core_cpus_list", "topology/thread_siblings_list",
					     "topology/core_cpus", "topology/thread_siblings", NULL };
	struct topo_raw *raw = r->raw;
	uint32_t *label = raw->label[TOPO_CORE], n = raw->nr_cpus;

	for (uint32_t c = 0; c < n; c++)
		if (r->flag[c] & HAS_TOPOLOGY)
			raw->core_id[c] = cpu_number(r, c, "topology/core_id");
	r->mask_name = names;
	enum topo_agree agree = topo_labels_from_masks(raw, topology_mask, r, label, r->err);
	if (agree == TOPO_AGREE)
		return true;
	if (agree == TOPO_MASK_NOMEM)
		return false;
	uint64_t *key = core_keys(r);
	if (!key)
		return false;
	bool ids = false;
	for (uint32_t c = 0; c < n; c++)
		ids |= key[c] != UINT64_MAX;
	bool ok = ids ? label_by_key(r, key, label)
		      : agree == TOPO_NO_MASKS || topo_labels_join_masks(raw, topology_mask, r, label, r->err);
	free(key);
	if (agree == TOPO_DISAGREE) {
		raw->flags |= WAKEIF_TOPO_CONTRADICTION;
		topo_note(raw, "sibling masks of cores disagree (read while CPUs were plugged?): grouped by %s",
			  ids ? "core_id" : "what any mask names together");
	}
	return ok;
}

/* Highest-level data or unified cache, and the one of level 2, of each CPU. */
static void find_caches(struct reader *r)
{
	char file[64];

	wi_mask_for_each (c, r->raw->present, r->raw->nr_words) {
		if (!(r->flag[c] & (HAS_DIR | UNDER_NODE)))
			continue;
		for (unsigned i = 0; i < MAX_CACHES; i++) {
			snprintf(file, sizeof(file), "cache/index%u/level", i);
			int32_t level = cpu_number(r, c, file);

			if (level < 0 && i >= 4) /* folders may be missing, but not many */
				break;
			snprintf(file, sizeof(file), "cache/index%u/type", i);
			const char *type = level > 0 ? cpu_file(r, c, file) : NULL;

			if (level <= 0 || level > 255 || (type && type[0] == 'I'))
				continue;
			if (level == 2)
				r->l2_index[c] = (uint8_t)(i + 1);
			if (level > r->llc_level[c]) {
				r->llc_level[c] = (uint8_t)level;
				r->llc_index[c] = (uint8_t)(i + 1);
			}
		}
	}
}

/* (level, id) of each CPU's last-level cache. False if some CPU that has a cache has no id for it. */
static bool cache_keys(struct reader *r, uint64_t *key)
{
	char file[64];

	for (uint32_t c = 0; c < r->raw->nr_cpus; c++) {
		key[c] = UINT64_MAX;
		if (!r->llc_index[c])
			continue;
		snprintf(file, sizeof(file), "cache/index%u/id", r->llc_index[c] - 1u);
		int32_t id = cpu_number(r, c, file);

		if (id < 0)
			return false;
		key[c] = (uint64_t)r->llc_level[c] << 32 | (uint32_t)id;
	}
	return true;
}

static bool find_llcs(struct reader *r)
{
	struct topo_raw *raw = r->raw;
	uint32_t *label = raw->label[TOPO_LLC];

	find_caches(r);
	r->cache_l2 = false;
	enum topo_agree agree = topo_labels_from_masks(raw, cache_mask, r, label, r->err);
	raw->has_cache_info = agree == TOPO_AGREE || agree == TOPO_DISAGREE;
	if (agree != TOPO_DISAGREE)
		return agree != TOPO_MASK_NOMEM;
	uint64_t *key = malloc(raw->nr_cpus * sizeof(*key));
	if (!key)
		return wi_err_nomem(r->err);
	bool ids = cache_keys(r, key);
	bool ok = ids ? label_by_key(r, key, label) : topo_labels_join_masks(raw, cache_mask, r, label, r->err);
	free(key);
	raw->flags |= WAKEIF_TOPO_CONTRADICTION;
	topo_note(raw, "masks of last-level caches disagree (read while CPUs were plugged?): grouped by %s",
		  ids ? "cache id" : "what any mask names together");
	return ok;
}

/*
 * A cluster that holds the whole LLC of a CPU is none (the kernel falls back to the core there), unless it is a shared
 * L2. l2: labels of the CPUs that share one; NULL: not known.
 */
static bool drop_wide_clusters(struct reader *r, uint32_t *label, const uint32_t *l2)
{
	uint32_t n = r->raw->nr_cpus;
	uint32_t *group = malloc(3 * (size_t)n * sizeof(*group)), *cluster = group, *llc = group + n,
		 *second = group + 2 * (size_t)n;
	bool *whole = malloc(n * sizeof(*whole)); /* by lowest CPU of an LLC: it lies in one cluster */
	bool ok = group && whole;

	if (!ok) {
		wi_err_nomem(r->err);
		goto out;
	}
	ok = topo_group(cluster, label, n, r->err) && topo_group(llc, r->raw->label[TOPO_LLC], n, r->err) &&
	     topo_group(second, l2 ? l2 : label, n, r->err);
	if (!ok)
		goto out;
	memset(whole, true, n * sizeof(*whole));
	for (uint32_t c = 0; c < n; c++)
		if (llc[c] != TOPO_NONE && cluster[c] != cluster[llc[c]])
			whole[llc[c]] = false;
	for (uint32_t c = 0; c < n; c++)
		if (llc[c] != TOPO_NONE && whole[llc[c]] && (!l2 || second[c] != cluster[c] || second[c] != llc[c]))
			label[c] = TOPO_NONE;
out:
	free(group);
	free(whole);
	return ok;
}

/*
 * Clusters: as the kernel reports them; where it does not (before 5.16), the CPUs that share an L2. A kernel's cluster
 * that is no smaller than the LLC is no cluster (the kernel falls back to the core) unless it is a shared L2.
 */
static bool find_clusters(struct reader *r)
{
	static const char *const names[] = { "topology/cluster_cpus_list", "topology/cluster_cpus", NULL };
	struct topo_raw *raw = r->raw;
	uint32_t n = raw->nr_cpus, *label = raw->label[TOPO_CLUSTER], *l2 = malloc(n * sizeof(*l2));

	if (!l2)
		return wi_err_nomem(r->err);
	r->cache_l2 = true;
	enum topo_agree by_l2 = topo_labels_from_masks(raw, cache_mask, r, l2, r->err);
	r->mask_name = names;
	enum topo_agree agree = topo_labels_from_masks(raw, topology_mask, r, label, r->err);
	bool ok = by_l2 != TOPO_MASK_NOMEM && agree != TOPO_MASK_NOMEM;
	if (ok && agree == TOPO_AGREE) {
		ok = !raw->has_cache_info || drop_wide_clusters(r, label, by_l2 == TOPO_AGREE ? l2 : NULL);
	} else if (ok && by_l2 == TOPO_AGREE) {
		memcpy(label, l2, n * sizeof(*label));
	}
	free(l2);
	return ok;
}

/* ---- all of it ---- */

static void find_capacity(struct reader *r)
{
	wi_mask_for_each (c, r->raw->present, r->raw->nr_words) {
		int32_t v = cpu_number(r, c, "cpu_capacity");

		if (v > 0 && v <= 65536)
			r->raw->capacity[c] = (uint32_t)v;
	}
}

static bool find_kernel(struct reader *r)
{
	const struct wi_sysinfo *info = wi_sysinfo_from_tree(r->tree, r->err);

	if (!info)
		return false;
	r->raw->kernel = info->kernel;
	r->raw->x86 = info->x86;
	r->raw->reclaim_distance = info->amd_zen ? 32 : 30;
	wi_sysinfo_free(info);
	return true;
}

bool topo_from_sysfs(struct topo_raw *raw, const struct wi_filetree *tree, struct wi_err *err)
{
	struct reader r = { .raw = raw, .tree = tree, .err = err };
	bool ok = false;

	if (!find_cpus(&r))
		goto out;
	find_online(&r);
	find_capacity(&r);
	ok = find_packages(&r) && find_cores(&r) && find_llcs(&r) && find_clusters(&r) && topo_find_nodes(&r) &&
	     topo_find_distances(&r) && topo_find_isolated(&r) && find_kernel(&r) && topo_read_domains(raw, tree, err);
	if (ok)
		topo_isolated_by_domains(raw);
	if (ok && r.unreadable)
		topo_note(raw, "%u files hold no CPU set: left out", r.unreadable);
out:
	free(r.flag);
	free(r.node_dir);
	free(r.node);
	free(r.llc_index);
	free(r.l2_index);
	free(r.llc_level);
	free(r.last_mask);
	return ok;
}
