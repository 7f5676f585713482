/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Nodes, distances and isolated CPUs from sysfs files held in memory. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>

#include "analyzer/topology/sysfs_reader.h"

#define MAX_NODES 4096u

static int by_value(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

bool topo_find_nodes(struct reader *r)
{
	struct topo_raw *raw = r->raw;
	uint64_t *mask = calloc(raw->nr_words, sizeof(*mask));
	uint32_t twice = 0, nr = 0;
	char path[128];
	size_t len;

	if (!mask)
		return wi_err_nomem(r->err);
	if (r->nr_nodes)
		qsort(r->node, r->nr_nodes, sizeof(*r->node), by_value);
	for (uint32_t i = 0; i < r->nr_nodes; i++)
		if (!i || r->node[i] != r->node[i - 1])
			r->node[nr++] = r->node[i];
	r->nr_nodes = nr;
	for (uint32_t i = 0; i < nr; i++) {
		bool known = false;

		for (int list = 1; list >= 0 && !known; list--) {
			snprintf(path, sizeof(path), NODE_DIR "node%u/%s", r->node[i], list ? "cpulist" : "cpumap");
			const char *text = wi_filetree_get(r->tree, path, &len);

			memset(mask, 0, raw->nr_words * sizeof(*mask));
			known = text && topo_parse_mask(r, text, len, list, mask);
		}
		wi_mask_for_each (c, mask, raw->nr_words) {
			if (!wi_mask_test(raw->present, c))
				continue;
			if (raw->node_id[c] >= 0 && raw->node_id[c] != (int32_t)r->node[i])
				twice++;
			else
				raw->node_id[c] = (int32_t)r->node[i];
		}
	}
	for (uint32_t c = 0; c < raw->nr_cpus; c++) {
		if (raw->node_id[c] < 0 && r->node_dir[c] != TOPO_NONE)
			raw->node_id[c] = (int32_t)r->node_dir[c];
		if (raw->node_id[c] >= 0)
			raw->label[TOPO_NODE][c] = (uint32_t)raw->node_id[c];
	}
	if (twice) {
		raw->flags |= WAKEIF_TOPO_CONTRADICTION;
		topo_note(raw, "%u CPUs are in two nodes: the lower one was taken", twice);
	}
	free(mask);
	return true;
}

/* Ids of the columns of the distance files: the online nodes. */
static bool distance_columns(struct reader *r, uint32_t **column, uint32_t *nr)
{
	uint64_t *mask;
	uint32_t words, n = 0;

	if (!topo_list_file(r, NODE_DIR "online", &mask, &words))
		return false;
	uint32_t count = mask ? wi_mask_weight(mask, words) : r->nr_nodes;
	*column = malloc((count ? count : 1) * sizeof(**column));
	if (!*column) {
		free(mask);
		return wi_err_nomem(r->err);
	}
	if (mask) {
		wi_mask_for_each (id, mask, words)
			(*column)[n++] = id;
	} else {
		for (; n < count; n++)
			(*column)[n] = r->node[n];
	}
	*nr = n;
	free(mask);
	return true;
}

/* nr numbers and nothing else; otherwise false and the row is zeros (unknown). */
static bool distance_row(const char *text, uint32_t *row, uint32_t nr)
{
	uint32_t k = 0;

	for (; k < nr; k++) {
		char *end;
		unsigned long v = strtoul(text, &end, 10);

		if (end == text || v > 65535)
			break;
		row[k] = (uint32_t)v;
		text = end;
	}
	if (k == nr && !text[strspn(text, " \t\n")])
		return true;
	memset(row, 0, nr * sizeof(*row));
	return false;
}

bool topo_find_distances(struct reader *r)
{
	struct topo_raw *raw = r->raw;
	uint32_t *column = NULL, nr = 0, rows = 0, skipped = 0;
	char path[128];
	bool ok = true;

	if (!r->nr_nodes)
		return true;
	if (!distance_columns(r, &column, &nr))
		return false;
	if (!nr || nr > MAX_NODES)
		goto out;
	raw->dist_node = malloc(nr * sizeof(*raw->dist_node));
	raw->dist = calloc((size_t)nr * nr, sizeof(*raw->dist));
	ok = (raw->dist_node && raw->dist) || wi_err_nomem(r->err);
	for (uint32_t i = 0; ok && i < nr; i++) {
		snprintf(path, sizeof(path), NODE_DIR "node%u/distance", column[i]);
		const char *text = wi_filetree_get(r->tree, path, NULL);

		raw->dist_node[i] = (int32_t)column[i];
		if (!text)
			continue;
		if (distance_row(text, raw->dist + (size_t)i * nr, nr))
			rows++;
		else
			skipped++;
	}
	raw->nr_dist = rows ? nr : 0;
	if (skipped)
		topo_note(raw, "distances of %u nodes do not fit the number of nodes (%u): left out", skipped, nr);
out:
	free(column);
	return ok;
}

/* ---- isolated CPUs ---- */

static bool mark_isolated(struct reader *r, const char *text, size_t len)
{
	struct wi_err bad = { WI_OK, "" };
	uint64_t *mask;
	uint32_t words;

	if (!wi_mask_parse_list(text, len, &mask, &words, &bad))
		return bad.code != WI_EIO;
	topo_copy_mask(r->raw->isolated, r->raw->nr_words, mask, words);
	free(mask);
	return true;
}

/* isolcpus=[flag,]list on the command line; without flags, or with "domain" among them, it takes CPUs out of the
 * domains. */
static bool isolcpus(struct reader *r, const char *cmdline)
{
	const char *at = strstr(cmdline, "isolcpus=");
	bool flags = false, domain = false;

	if (!at || (at != cmdline && at[-1] != ' '))
		return true;
	at += strlen("isolcpus=");
	size_t len = strcspn(at, " \n");
	while (len && !isdigit((unsigned char)*at)) {
		size_t word = strcspn(at, ", \n");

		flags = true;
		domain |= word == 6 && !memcmp(at, "domain", 6);
		word += at[word] == ',';
		at += word;
		len -= word < len ? word : len;
	}
	return (flags && !domain) || mark_isolated(r, at, len);
}

bool topo_find_isolated(struct reader *r)
{
	static const char *const files[] = { CPU_DIR "isolated", "sys/fs/cgroup/cpuset.cpus.isolated" };
	bool known = false;

	for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++) {
		size_t len;
		const char *text = wi_filetree_get(r->tree, files[i], &len);

		if (!text)
			continue;
		known |= !i;
		if (!mark_isolated(r, text, len))
			return wi_err_nomem(r->err);
	}
	const char *cmdline = wi_filetree_get(r->tree, "proc/cmdline", NULL);
	return known || !cmdline || isolcpus(r, cmdline) || wi_err_nomem(r->err);
}

/* A CPU for which the kernel has no domain while others have some is isolated, whatever made it so (a cpuset
 * partition). */
void topo_isolated_by_domains(struct topo_raw *raw)
{
	uint32_t with = 0, without = 0;

	if (!raw->read || !raw->read_spans)
		return;
	wi_mask_for_each (c, raw->online, raw->nr_words)
		with += raw->read[c].nr > 0;
	for (uint32_t c = 0; with && c < raw->nr_cpus; c++) {
		if (!wi_mask_test(raw->online, c) || raw->read[c].nr || wi_mask_test(raw->isolated, c))
			continue;
		wi_mask_set(raw->isolated, c);
		without++;
	}
	if (without)
		topo_note(raw, "%u online CPUs have no scheduling domain: taken as isolated", without);
}
