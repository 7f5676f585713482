/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tests/unit/topo_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "analyzer/base/cpumask.h"

#define SYS "sys/devices/system/"

static unsigned one(unsigned n)
{
	return n ? n : 1;
}

static void put(struct wi_filetree *t, const char *path, const char *content)
{
	struct wi_err err = { WI_OK, "" };

	if (!wi_filetree_add(t, path, content, strlen(content), &err))
		fail_msg("%s: %s", path, err.msg);
}

__attribute__((format(printf, 3, 4))) static void putf(struct wi_filetree *t, const char *path, const char *fmt, ...)
{
	char text[32768];
	va_list ap;

	va_start(ap, fmt);
	assert_true((size_t)vsnprintf(text, sizeof(text), fmt, ap) < sizeof(text));
	va_end(ap);
	put(t, path, text);
}

struct sizes {
	unsigned cores, cpus, threads;
	enum tf_numbering numbering;
};

static unsigned cpu_of(const struct sizes *s, unsigned core, unsigned thread)
{
	return s->numbering == TF_ADJACENT ? core * s->threads + thread : core + thread * s->cores;
}

/* List (or hex mask) of the CPUs of cores first .. first + nr - 1. */
static char *cpus_of(const struct sizes *s, unsigned first, unsigned nr, bool hex)
{
	uint32_t words = wi_mask_words(s->cpus);
	uint64_t *m = calloc(words, sizeof(*m));
	size_t size = 32768;
	char *out = malloc(size);

	for (unsigned k = first; k < first + nr; k++)
		for (unsigned t = 0; t < s->threads; t++)
			wi_mask_set(m, cpu_of(s, k, t));
	if (hex) {
		size_t at = 0;

		for (uint32_t group = (s->cpus + 31) / 32; group--;)
			at += (size_t)snprintf(out + at, size - at, "%08x%s",
					       (uint32_t)(m[group / 2] >> (group % 2 * 32)), group ? "," : "\n");
	} else {
		wi_mask_format(out, size, m, words);
	}
	free(m);
	return out;
}

static void put_mask(struct wi_filetree *t, const struct tf_machine *m, const struct sizes *s, const char *path,
		     const char *suffix, unsigned first, unsigned nr)
{
	char *text = cpus_of(s, first, nr, m->hex_only), full[256];

	snprintf(full, sizeof(full), "%s%s", path, m->hex_only ? "" : suffix);
	put(t, full, text);
	free(text);
}

static void put_cache(struct wi_filetree *t, const struct tf_machine *m, const struct sizes *s, unsigned cpu,
		      unsigned index, unsigned level, const char *type, unsigned first, unsigned nr)
{
	char path[200];

	snprintf(path, sizeof(path), SYS "cpu/cpu%u/cache/index%u/level", cpu, index);
	putf(t, path, "%u\n", level);
	snprintf(path, sizeof(path), SYS "cpu/cpu%u/cache/index%u/type", cpu, index);
	putf(t, path, "%s\n", type);
	if (level == 3 && m->id_in_l3) {
		snprintf(path, sizeof(path), SYS "cpu/cpu%u/cache/index%u/id", cpu, index);
		putf(t, path, "%u\n", first / nr);
	}
	snprintf(path, sizeof(path), SYS "cpu/cpu%u/cache/index%u/shared_cpu_%s", cpu, index,
		 m->hex_only ? "map" : "list");
	put_mask(t, m, s, path, "", first, nr);
}

static void put_core(struct wi_filetree *t, const struct tf_machine *m, const struct sizes *s, unsigned core)
{
	unsigned per_llc = one(m->cores_per_llc), per_node = per_llc * one(m->llcs_per_node);
	unsigned per_package = per_node * one(m->nodes_per_package);
	char path[200];

	for (unsigned thread = 0; thread < s->threads; thread++) {
		unsigned cpu = cpu_of(s, core, thread);

		snprintf(path, sizeof(path), SYS "cpu/cpu%u/topology/core_id", cpu);
		putf(t, path, "%u\n", core % per_package);
		snprintf(path, sizeof(path), SYS "cpu/cpu%u/topology/physical_package_id", cpu);
		putf(t, path, "%u\n", core / per_package);
		snprintf(path, sizeof(path), SYS "cpu/cpu%u/topology/thread_siblings", cpu);
		put_mask(t, m, s, path, "_list", core, 1);
		snprintf(path, sizeof(path), SYS "cpu/cpu%u/topology/core_siblings", cpu);
		put_mask(t, m, s, path, "_list", core / per_package * per_package, per_package);
		if (m->no_caches)
			continue;
		put_cache(t, m, s, cpu, 0, 1, "Data", core, 1);
		put_cache(t, m, s, cpu, 1, 1, "Instruction", core, 1);
		put_cache(t, m, s, cpu, 2, 2, "Unified", core, 1);
		put_cache(t, m, s, cpu, 3, 3, "Unified", core / per_llc * per_llc, per_llc);
	}
}

struct wi_filetree *tf_machine_tree(const struct tf_machine *m)
{
	unsigned per_node = one(m->cores_per_llc) * one(m->llcs_per_node),
		 nodes = one(m->packages) * one(m->nodes_per_package);
	struct sizes s = { .cores = per_node * nodes, .threads = one(m->threads), .numbering = m->numbering };
	struct wi_filetree *t = wi_filetree_new();
	char path[200], list[64];

	s.cpus = s.cores * s.threads;
	snprintf(list, sizeof(list), "0-%u\n", s.cpus - 1);
	put(t, SYS "cpu/online", s.cpus > 1 ? list : "0\n");
	put(t, SYS "cpu/present", s.cpus > 1 ? list : "0\n");
	for (unsigned core = 0; core < s.cores; core++)
		put_core(t, m, &s, core);
	for (unsigned n = 0; n < nodes && !m->no_nodes; n++) {
		char row[4096];
		size_t at = 0;

		for (unsigned k = 0; k < nodes; k++)
			at += (size_t)snprintf(row + at, sizeof(row) - at, "%s%u", k ? " " : "",
					       k == n								? 10
					       : k / one(m->nodes_per_package) == n / one(m->nodes_per_package) ? 12
														: 32);
		snprintf(path, sizeof(path), SYS "node/node%u/distance", n);
		putf(t, path, "%s\n", row);
		snprintf(path, sizeof(path), SYS "node/node%u/cpu%s", n, m->hex_only ? "map" : "list");
		put_mask(t, m, &s, path, "", n * per_node, per_node);
	}
	return t;
}

static void full_path(const char *path, size_t len, char *out, size_t size)
{
	bool short_ = !strncmp(path, "cpu", 3) || !strncmp(path, "node/", 5);

	assert_true(len + 64 < size);
	if (short_ && strncmp(path, "cpu/", 4) != 0 && strncmp(path, "node/", 5) != 0)
		snprintf(out, size, SYS "cpu/%.*s", (int)len, path);
	else
		snprintf(out, size, "%s%.*s", short_ ? SYS : "", (int)len, path);
}

void tf_put(struct wi_filetree *t, const char *lines)
{
	char path[4096], content[32768];

	while (*lines) {
		size_t len = strcspn(lines, "\n"), name = strcspn(lines, "=");

		assert_true(name < len || !len);
		if (len) {
			full_path(lines, name, path, sizeof(path));
			snprintf(content, sizeof(content), "%.*s\n", (int)(len - name - 1), lines + name + 1);
			put(t, path, content);
		}
		lines += len + (lines[len] == '\n');
	}
}

struct wi_filetree *tf_without(struct wi_filetree *t, const char *prefix)
{
	struct wi_filetree *out = wi_filetree_new();
	struct wi_err err = { WI_OK, "" };
	char full[4096];

	full_path(prefix, strlen(prefix), full, sizeof(full));
	for (size_t i = 0; i < wi_filetree_count(t); i++) {
		struct wi_file f = wi_filetree_at(t, i);

		if (strncmp(f.path, full, strlen(full)) != 0)
			assert_true(wi_filetree_add(out, f.path, f.bytes, f.len, &err));
	}
	assert_true(wi_filetree_count(out) < wi_filetree_count(t));
	wi_filetree_free(t);
	return out;
}

const struct wakeif_topology *tf_build(struct wi_filetree *t)
{
	struct wi_err err = { WI_OK, "" };
	const struct wakeif_topology *topo = wi_topology_from_tree(t, "test", &err);

	wi_filetree_free(t);
	if (!topo)
		fail_msg("%s", err.msg);
	tf_invariants(topo);
	return topo;
}

const struct wakeif_topology *tf_load(const char *spec)
{
	struct wi_err err = { WI_OK, "" };
	const struct wakeif_topology *topo = wi_topology_load(spec, &err);

	if (!topo)
		fail_msg("%s", err.msg);
	tf_invariants(topo);
	return topo;
}

/* ---- invariants ---- */

static void check_scope(const struct wakeif_topology *t, int s)
{
	uint32_t *seen = calloc(t->nr_groups[s], sizeof(*seen)), next = 0, in_spans = 0;

	assert_true(t->nr_groups[s] >= 1);
	for (uint32_t c = 0; c < t->nr_cpus; c++) {
		uint32_t g = t->group[s][c];

		if (!wi_mask_test(t->present, c)) {
			assert_int_equal(g, UINT32_MAX);
			continue;
		}
		assert_true(g < t->nr_groups[s]);
		assert_true(wi_mask_test(t->span[s][g], c));
		if (!seen[g]++)
			assert_int_equal(g, next++); /* numbered by lowest CPU */
		if (s > 0) {
			uint32_t inner = t->group[s - 1][c];

			assert_true(wi_mask_subset(t->span[s - 1][inner], t->span[s][g], t->nr_words));
		}
	}
	assert_int_equal(next, t->nr_groups[s]);
	for (uint32_t g = 0; g < t->nr_groups[s]; g++) {
		assert_true(wi_mask_subset(t->span[s][g], t->present, t->nr_words));
		in_spans += wi_mask_weight(t->span[s][g], t->nr_words);
	}
	assert_int_equal(in_spans, wi_mask_weight(t->present, t->nr_words)); /* with the above: a partition */
	free(seen);
}

static void check_domains(const struct wakeif_topology *t, uint32_t c)
{
	uint32_t llc = 1;

	for (uint32_t d = 0; d < t->nr_domains[c]; d++) {
		const struct wakeif_domain *dom = &t->domains[c][d];

		assert_non_null(dom->name);
		assert_true(wi_mask_test(dom->span, c));
		assert_true(wi_mask_subset(dom->span, t->present, t->nr_words));
		assert_int_equal(dom->weight, wi_mask_weight(dom->span, t->nr_words));
		assert_true(dom->weight > 1);
		assert_true(dom->imbalance_pct >= 100);
		if (d) {
			assert_true(wi_mask_subset(t->domains[c][d - 1].span, dom->span, t->nr_words));
			assert_true(dom->weight > t->domains[c][d - 1].weight);
		}
		if (dom->flags & WAKEIF_SD_SHARE_LLC)
			llc = dom->weight;
	}
	assert_int_equal(t->llc_size[c], llc);
}

void tf_invariants(const struct wakeif_topology *t)
{
	uint32_t smt = 1, packages = 0;

	assert_int_equal(t->size, sizeof(*t));
	assert_int_equal(t->nr_words, (t->nr_cpus + 63) / 64);
	assert_non_null(t->source);
	assert_non_null(t->note);
	assert_true(wi_mask_test(t->present, t->nr_cpus - 1) || t->nr_cpus > 1);
	assert_true(wi_mask_subset(t->online, t->present, t->nr_words));
	assert_true(wi_mask_subset(t->isolated, t->present, t->nr_words));
	assert_false(wi_mask_empty(t->online, t->nr_words));
	if (t->nr_cpus % 64)
		assert_int_equal(t->present[t->nr_words - 1] >> (t->nr_cpus % 64), 0);
	for (int s = 0; s < WAKEIF_NR_SCOPES; s++)
		check_scope(t, s);
	assert_int_equal(t->nr_groups[WAKEIF_MACHINE], 1);
	for (uint32_t g = 0; g < t->nr_groups[WAKEIF_CORE]; g++) {
		uint32_t nr = 0;

		wi_mask_for_each (c, t->span[WAKEIF_CORE][g], t->nr_words)
			nr += wi_mask_test(t->online, c);
		smt = nr > smt ? nr : smt;
	}
	assert_int_equal(t->smt, smt);
	for (uint32_t c = 0; c < t->nr_cpus; c++) {
		bool present = wi_mask_test(t->present, c);

		assert_true(present ? t->package[c] < t->nr_packages : t->package[c] == UINT32_MAX);
		if (present && t->package[c] + 1 > packages)
			assert_int_equal(t->package[c], packages++);
		assert_true(t->capacity[c] > 0);
		if (!wi_mask_test(t->online, c))
			assert_int_equal(t->nr_domains[c], 0);
		check_domains(t, c);
	}
	assert_int_equal(t->nr_packages, packages);
}

/* ---- texts ---- */

static char text[1 << 20];

const char *tf_list(const struct wakeif_topology *t, const wakeif_word *mask)
{
	wi_mask_format(text, sizeof(text), mask, t->nr_words);
	return text;
}

const char *tf_groups(const struct wakeif_topology *t, enum wakeif_scope scope)
{
	size_t at = 0;

	for (uint32_t g = 0; g < t->nr_groups[scope]; g++) {
		at += (size_t)snprintf(text + at, sizeof(text) - at, "%s{", g ? " " : "");
		at += wi_mask_format(text + at, sizeof(text) - at, t->span[scope][g], t->nr_words);
		at += (size_t)snprintf(text + at, sizeof(text) - at, "}");
		assert_true(at < sizeof(text) / 2);
	}
	return text;
}

const char *tf_packages(const struct wakeif_topology *t)
{
	uint64_t *m = calloc(t->nr_words, sizeof(*m));
	size_t at = 0;

	for (uint32_t p = 0; p < t->nr_packages; p++) {
		memset(m, 0, t->nr_words * sizeof(*m));
		for (uint32_t c = 0; c < t->nr_cpus; c++)
			if (t->package[c] == p)
				wi_mask_set(m, c);
		at += (size_t)snprintf(text + at, sizeof(text) - at, "%s{", p ? " " : "");
		at += wi_mask_format(text + at, sizeof(text) - at, m, t->nr_words);
		at += (size_t)snprintf(text + at, sizeof(text) - at, "}");
	}
	free(m);
	return text;
}

static const char *domains(const struct wakeif_topology *t, unsigned cpu, bool full)
{
	static const char *const flag[] = {
		"NEWIDLE", "EXEC", "FORK", "WAKE", "AFFINE", "SMT", "LLC", "PREFER", "NUMA"
	};
	size_t at = 0;

	text[0] = '\0';
	for (uint32_t d = 0; d < t->nr_domains[cpu]; d++) {
		const struct wakeif_domain *dom = &t->domains[cpu][d];

		at += (size_t)snprintf(text + at, sizeof(text) - at, "%s%s[", d ? " " : "", dom->name);
		at += wi_mask_format(text + at, sizeof(text) - at, dom->span, t->nr_words);
		at += (size_t)snprintf(text + at, sizeof(text) - at, "]");
		if (!full)
			continue;
		at += (size_t)snprintf(text + at, sizeof(text) - at, ":%u:", dom->imbalance_pct);
		for (unsigned f = 0, nr = 0; f < sizeof(flag) / sizeof(*flag); f++)
			if (dom->flags >> f & 1)
				at += (size_t)snprintf(text + at, sizeof(text) - at, "%s%s", nr++ ? "|" : "", flag[f]);
	}
	return text;
}

const char *tf_domains(const struct wakeif_topology *t, unsigned cpu)
{
	return domains(t, cpu, false);
}

const char *tf_domains_full(const struct wakeif_topology *t, unsigned cpu)
{
	return domains(t, cpu, true);
}

const char *tf_shared(const char *name)
{
	static char path[4096];
	const char *root = getenv("WAKEIF_SHARED");

	snprintf(path, sizeof(path), "%s/%s", root ? root : "../shared", name);
	if (!access(path, R_OK))
		return path;
	print_message("skipped: no %s (WAKEIF_SHARED)\n", path);
	return NULL;
}
