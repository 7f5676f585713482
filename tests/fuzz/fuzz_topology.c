/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * First byte: what the rest is.
 *  - L: text of lscpu
 *  - l: CPU list
 *  - h: hex mask
 *  - else files: "=PATH", then lines of its contents up to the next line that begins with "=". A path that begins with
 *    "cpu" or "node" is below sys/devices/system/ (cpu0/... below cpu/).
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/topology/filetree.h"
#include "analyzer/topology/raw.h"
#include "analyzer/topology/sysinfo.h"
#include "analyzer/topology/topology.h"
#include "tests/fuzz/promises.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void finish(const struct wakeif_topology *t, const struct wi_err *err)
{
	must(t ? err->code == WI_OK : err->code != WI_OK && err->msg[0]);
	if (t)
		must_be_sound(t);
	wi_topology_free(t);
}

static void lscpu(const char *text, size_t len)
{
	struct wi_err err = { WI_OK, "" };
	struct topo_raw raw = { 0 };
	const struct wakeif_topology *t = NULL;

	if (topo_from_lscpu(&raw, text, len, "fuzz", &err) && raw.nr_cpus <= 4096)
		t = topo_build(&raw, "fuzz", &err);
	else if (err.code == WI_OK)
		wi_err_set(&err, WI_EREFUSED, "too big for fuzzing");
	topo_raw_fini(&raw);
	finish(t, &err);
}

/* What a mask is written as reads back as the same. */
static void mask(bool list, const char *text, size_t len)
{
	struct wi_err err = { WI_OK, "" };
	uint64_t *m, *again = NULL;
	uint32_t words, words_again = 0;
	static char out[1 << 20];

	if (!(list ? wi_mask_parse_list : wi_mask_parse_hex)(text, len, &m, &words, &err)) {
		must(err.code != WI_OK && err.msg[0]);
		return;
	}
	size_t n = wi_mask_format(out, sizeof(out), m, words);
	must(n < sizeof(out) && wi_mask_parse_list(out, n, &again, &words_again, &err));
	must(words_again <= words && wi_mask_equal(m, again, words_again) &&
	     wi_mask_weight(m, words) == wi_mask_weight(again, words_again));
	free(m);
	free(again);
}

static void add_file(struct wi_filetree *tree, const char *path, size_t path_len, const char *bytes, size_t len)
{
	static const char sys[] = "sys/devices/system/";
	struct wi_err err = { WI_OK, "" };
	char full[512];
	size_t at = 0;

	if (path_len >= 3 && !memcmp(path, "cpu", 3)) {
		at = (size_t)snprintf(full, sizeof(full), "%s%s", sys, path_len > 3 && path[3] == '/' ? "" : "cpu/");
	} else if (path_len >= 4 && !memcmp(path, "node", 4)) {
		at = (size_t)snprintf(full, sizeof(full), "%s", sys);
	}
	if (path_len > sizeof(full) - 1 - at)
		path_len = sizeof(full) - 1 - at;
	memcpy(full + at, path, path_len);
	full[at + path_len] = '\0';
	wi_filetree_add(tree, full, bytes, len, &err);
}

static struct wi_filetree *files(const char *at, const char *end)
{
	struct wi_filetree *tree = wi_filetree_new();

	while (tree && at < end) {
		const char *eol = memchr(at, '\n', (size_t)(end - at));
		size_t path = (size_t)((eol ? eol : end) - at);
		const char *from = eol ? eol + 1 : end, *to = from;

		while (to < end && *to != '=') {
			const char *next = memchr(to, '\n', (size_t)(end - to));

			to = next ? next + 1 : end;
		}
		if (path && *at == '=')
			add_file(tree, at + 1, path - 1, from, (size_t)(to - from));
		at = to;
	}
	return tree;
}

/* Numbers as big as the bounds allow cost time and say nothing new. */
static bool small(const struct wi_filetree *tree)
{
	struct wi_err err = { WI_OK, "" };
	struct topo_raw raw = { 0 };
	bool ok = !topo_from_sysfs(&raw, tree, &err) || raw.nr_cpus <= 4096;

	topo_raw_fini(&raw);
	return ok;
}

static void tree(const char *text, size_t len)
{
	struct wi_filetree *t = files(text, text + len);
	struct wi_err err = { WI_OK, "" };

	if (t && small(t)) {
		const struct wi_sysinfo *info = wi_sysinfo_from_tree(t, &err);

		must(info != NULL);
		wi_sysinfo_free(info);
		finish(wi_topology_from_tree(t, "fuzz", &err), &err);
	}
	wi_filetree_free(t);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text;

	if (!size || size > 1 << 16)
		return 0;
	text = malloc(size); /* its own allocation: a read beyond the end is seen */
	if (!text)
		return 0;
	memcpy(text, data + 1, size - 1);
	switch (data[0]) {
	case 'L':
		lscpu(text, size - 1);
		break;
	case 'l':
	case 'h':
		mask(data[0] == 'l', text, size - 1);
		break;
	default:
		tree(text, size - 1);
	}
	free(text);
	return 0;
}
