/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Real machines: the dumps of util-linux and hwloc with what those tools say of them, all against hwloc itself, and our
 * own recordings, whose kernels told their scheduling domains. Skipped visibly where the inputs are not there.
 */
#include <dirent.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>
#include <hwloc.h>

#include "analyzer/base/cpumask.h"
#include "analyzer/base/kernel.h"
#include "analyzer/topology/sysinfo.h"
#include "analyzer/topology/tasks.h"
#include "tests/unit/share.h"
#include "tests/unit/topo_fixture.h"

static char *read_whole(const char *path, size_t *len)
{
	FILE *f = fopen(path, "r");
	char *text = calloc(1, 1 << 20);

	assert_non_null(f);
	*len = fread(text, 1, (1 << 20) - 1, f);
	fclose(f);
	return text;
}

/* The group numbers of two partitions correspond, over the CPUs that both know. Says which CPU is the first that
 * differs. */
static void same_partition(const char *what, const char *file, const uint32_t *a, const uint32_t *b, uint32_t n)
{
	for (uint32_t c = 0; c < n; c++)
		for (uint32_t d = 0; d < c; d++) {
			if (a[c] == UINT32_MAX || a[d] == UINT32_MAX || b[c] == UINT32_MAX || b[d] == UINT32_MAX)
				continue;
			if ((a[c] == a[d]) != (b[c] == b[d]))
				fail_msg("%s: %s: CPUs %u and %u are %s, expected %s", file, what, d, c,
					 a[c] == a[d] ? "together" : "apart", b[c] == b[d] ? "together" : "apart");
		}
}

static const char *public_file(const char *name, const char *suffix)
{
	char rel[300];

	snprintf(rel, sizeof(rel), "public/topology/%s%s", name, suffix);
	return tf_shared(rel);
}

/* ---- util-linux: the first table of NAME.expected is the text of lscpu -p ---- */

static const char *write_table(const char *expected)
{
	static char name[256];
	const char *tmp = getenv("TMPDIR"), *at = strstr(expected, "# CPU,Core");

	assert_non_null(at);
	const char *end = strstr(at, "\n\n");
	size_t len = end ? (size_t)(end - at) + 1 : strlen(at);
	snprintf(name, sizeof(name), "%s/topo-lscpu-XXXXXX", tmp && *tmp ? tmp : P_tmpdir);
	int fd = mkstemp(name);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, at, len), (ssize_t)len);
	close(fd);
	return name;
}

static void compare_lscpu(const char *name, const char *suffix, bool sockets, bool caches)
{
	const char *path = public_file(name, suffix);
	char tree_path[4096];
	size_t len;

	if (!path)
		skip();
	snprintf(tree_path, sizeof(tree_path), "%s", path);
	const struct wakeif_topology *tree = tf_load(tree_path);
	char *expected = read_whole(public_file(name, ".expected"), &len);
	const char *table = write_table(expected);
	const struct wakeif_topology *text = tf_load(table);

	unlink(table);
	for (uint32_t c = 0; c < text->nr_cpus; c++)
		assert_int_equal(wi_mask_test(text->online, c), wi_mask_test(tree->online, c));
	uint32_t n = text->nr_cpus < tree->nr_cpus ? text->nr_cpus : tree->nr_cpus;
	same_partition("core", name, tree->group[WAKEIF_CORE], text->group[WAKEIF_CORE], n);
	same_partition("node", name, tree->group[WAKEIF_NODE], text->group[WAKEIF_NODE], n);
	if (sockets)
		same_partition("package", name, tree->package, text->package, n);
	if (caches)
		same_partition("llc", name, tree->group[WAKEIF_LLC], text->group[WAKEIF_LLC], n);
	wi_topology_free(tree);
	wi_topology_free(text);
	free(expected);
}

static void lscpu_power7(void **state)
{
	(void)state;
	compare_lscpu("lscpu-ppc64-POWER7", ".tar.gz", true, false); /* lscpu knows L1 only, and tells no LLC */
	const struct wakeif_topology *t = tf_load(public_file("lscpu-ppc64-POWER7", ".tar.gz"));
	assert_int_equal(t->smt, 4);
	wi_topology_free(t);
}

static void lscpu_s390(void **state)
{
	(void)state;
	compare_lscpu("lscpu-s390-lpar", ".tar.gz", true, false);
	const struct wakeif_topology *t = tf_load(public_file("lscpu-s390-lpar", ".tar.gz"));
	assert_string_equal(tf_list(t, t->online), "1-5,8-19");
	assert_string_equal(tf_list(t, t->present), "0-19");
	wi_topology_free(t);
}

static void lscpu_sparc(void **state)
{
	(void)state;
	compare_lscpu("lscpu-sparc64", ".tar.gz", false,
		      false); /* lscpu makes a socket of every CPU when nothing is known */
	const struct wakeif_topology *t = tf_load(public_file("lscpu-sparc64", ".tar.gz"));
	assert_string_equal(tf_list(t, t->online), "6-7,10-11,14-15");
	wi_topology_free(t);
}

static void lscpu_vmware(void **state)
{
	(void)state;
	compare_lscpu("lscpu-vmware_fpe", ".tar.gz", true, true);
}

static void lscpu_64cpu(void **state)
{
	(void)state;
	compare_lscpu("lscpu-x86_64-64cpu", ".tar.gz", true, true);
	const struct wakeif_topology *t = tf_load(public_file("lscpu-x86_64-64cpu", ".tar.gz"));
	assert_int_equal(t->nr_cpus, 64); /* possible 0-79 */
	assert_int_equal(t->nr_groups[WAKEIF_NODE], 3);
	assert_int_equal(t->nr_packages, 4);
	assert_int_equal(t->llc_size[0], 16);
	wi_topology_free(t);
}

static void lscpu_e4310(void **state)
{
	(void)state;
	compare_lscpu("lscpu-x86_64-dell_e4310", ".tar.gz", true, true);
}

static void lscpu_epyc(void **state)
{
	(void)state;
	compare_lscpu("lscpu-x86_64-epyc_7451", ".tar.gz", true, true);
	const struct wakeif_topology *t = tf_load(public_file("lscpu-x86_64-epyc_7451", ".tar.gz"));
	assert_int_equal(t->llc_size[95], 6); /* three cores of two threads */
	assert_int_equal(t->nr_groups[WAKEIF_LLC], 16);
	assert_int_equal(t->nr_groups[WAKEIF_NODE], 8);
	assert_string_equal(tf_domains(t, 3), "SMT[3,51] MC[3-5,51-53] NODE[0-5,48-53] NUMA[0-95]");
	wi_topology_free(t);
}

/* ---- hwloc: NAME.console is the text of lstopo ---- */

struct console {
	uint32_t n, package[1024], core[1024], llc[1024], node[1024], offline;
};

/* "  L3Cache L#0 (P#..." : indentation, type, logical number, number in parentheses */
static void take_console_line(struct console *k, const char *line, uint32_t *open, unsigned *indent)
{
	static const char *const type[] = { "Package L#", "Core L#", "L3Cache L#", "L2Cache L#" };
	unsigned blanks = (unsigned)strspn(line, " "), number, pu;
	const char *s = line + blanks;

	for (int i = 0; i < 4; i++) {
		/* an object closes those that began as far right */
		if (open[i] != UINT32_MAX && blanks <= indent[i])
			open[i] = UINT32_MAX;
		if (!strncmp(s, type[i], strlen(type[i])) && sscanf(s + strlen(type[i]), "%u", &number) == 1) {
			open[i] = number;
			indent[i] = blanks;
		}
	}
	if (sscanf(s, "PU L#%u (P#%u", &number, &pu) == 2 && pu < 1024) {
		k->package[pu] = open[0];
		k->core[pu] = open[1];
		k->llc[pu] = open[2] != UINT32_MAX ? open[2] : open[3];
		k->n = pu + 1 > k->n ? pu + 1 : k->n;
	}
	const char *at = strstr(line, " processors not represented");
	if (at)
		k->offline = (uint32_t)atoi(line);
}

static void compare_console(const char *name, bool cores)
{
	const char *path = public_file(name, ".tar.bz2");
	static struct console k;
	uint32_t open[4] = { UINT32_MAX, UINT32_MAX, UINT32_MAX, UINT32_MAX };
	unsigned indent[4] = { 0 };
	size_t len;

	if (!path)
		skip();
	const struct wakeif_topology *t = tf_load(path);
	char *text = read_whole(public_file(name, ".console"), &len);
	memset(&k, 0xff, sizeof(k));
	k.n = k.offline = 0;
	for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n"))
		take_console_line(&k, line, open, indent);
	assert_true(k.n > 0);
	for (uint32_t c = 0; c < t->nr_cpus; c++)
		assert_int_equal(wi_mask_test(t->online, c), c < k.n && k.core[c] != UINT32_MAX);
	assert_int_equal(wi_mask_weight(t->present, t->nr_words) - wi_mask_weight(t->online, t->nr_words), k.offline);
	uint32_t n = k.n < t->nr_cpus ? k.n : t->nr_cpus;
	if (cores)
		same_partition("core", name, t->group[WAKEIF_CORE], k.core, n);
	same_partition("llc", name, t->group[WAKEIF_LLC], k.llc, n);
	same_partition("package", name, t->package, k.package, n);
	wi_topology_free(t);
	free(text);
}

#define CONSOLE(id, name, cores)                                                                                       \
	static void hwloc_##id(void **state)                                                                           \
	{                                                                                                              \
		(void)state;                                                                                           \
		compare_console(name, cores);                                                                          \
	}
CONSOLE(offlines, "hwloc-16em64t-4s2c2t-offlines", true)
CONSOLE(hybrid, "hwloc-20em64t-hybrid-1p6c2t+2ca4co1t", true)
CONSOLE(intel32, "hwloc-32intel64-2p8co2t+8ve", true)
CONSOLE(amd48, "hwloc-48amd64-4pa2n6c-sparse", true)
/* That hwloc took the two halves of a Bulldozer module as cores; the kernel says they are thread siblings. */
CONSOLE(amd64, "hwloc-64amd64-4s2n4ca2co", false)
CONSOLE(em64t8, "hwloc-8em64t-2s2ca2c", true)
CONSOLE(power9, "hwloc-nvidiagpunumanodes", true)

static void details(void **state)
{
	(void)state;
	const char *path = public_file("hwloc-nvidiagpunumanodes", ".tar.bz2");

	if (!path)
		skip();
	const struct wakeif_topology *t = tf_load(path);
	assert_string_equal(tf_list(t, t->online), "0-15,88-103");
	assert_int_equal(t->smt, 4);
	assert_int_equal(t->nr_groups[WAKEIF_NODE], 2); /* the six nodes of GPU memory have no CPU */
	assert_int_equal(t->nodes_distance[1], 40);
	assert_string_equal(tf_groups(t, WAKEIF_LLC), "{0-7} {8-15} {88-95} {96-103}");
	wi_topology_free(t);
	t = tf_load(public_file("hwloc-20em64t-hybrid-1p6c2t+2ca4co1t", ".tar.bz2"));
	assert_string_equal(tf_groups(t, WAKEIF_CLUSTER), "{0-1} {2-3} {4-5} {6-7} {8-9} {10-11} {12-15} {16-19}");
	assert_string_equal(tf_domains(t, 13), "CLS[12-15] MC[0-19]");
	wi_topology_free(t);
	t = tf_load(public_file("hwloc-48amd64-4pa2n6c-sparse", ".tar.bz2"));
	assert_int_equal(t->node_id[47], 73);
	assert_int_equal(t->nodes_distance[7 * 8 + 0], 22);
	assert_int_equal(t->nodes_distance[7 * 8 + 1], 16);
	assert_string_equal(tf_domains(t, 0), "MC[0-5] NUMA[0-17,24-29,36-41] NUMA[0-47]");
	wi_topology_free(t);
}

/* ---- every tree against hwloc reading the same files ---- */

static void make_dirs(char *path)
{
	for (char *at = strchr(path + 1, '/'); at; at = strchr(at + 1, '/')) {
		*at = '\0';
		assert_true(!mkdir(path, 0700) || errno == EEXIST);
		*at = '/';
	}
}

static void remove_all(const char *dir)
{
	char cmd[512];

	snprintf(cmd, sizeof(cmd), "rm -rf '%s'", dir);
	assert_int_equal(system(cmd), 0);
}

static void hwloc_says(const char *root, const struct wakeif_topology *t, const char *name)
{
	static uint32_t core[1024], package[1024], llc[1024], node[1024];
	hwloc_topology_t h;
	hwloc_obj_t pu = NULL;

	memset(core, 0xff, sizeof(core));
	memset(package, 0xff, sizeof(package));
	memset(llc, 0xff, sizeof(llc));
	memset(node, 0xff, sizeof(node));
	setenv("HWLOC_FSROOT", root, 1);
	setenv("HWLOC_THISSYSTEM", "0", 1);
	setenv("HWLOC_COMPONENTS", "linux,stop", 1);
	setenv("HWLOC_HIDE_ERRORS", "2", 1);
	setenv("HWLOC_PLUGINS_PATH", "/nonexistent", 1);
	assert_int_equal(hwloc_topology_init(&h), 0);
	hwloc_topology_set_flags(h, HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED);
	assert_int_equal(hwloc_topology_load(h), 0);
	while ((pu = hwloc_get_next_obj_by_type(h, HWLOC_OBJ_PU, pu))) {
		uint32_t c = pu->os_index;
		hwloc_obj_t n = NULL;

		assert_true(c < 1024 && c < t->nr_cpus);
		for (hwloc_obj_t o = pu->parent; o; o = o->parent) {
			if (o->type == HWLOC_OBJ_CORE)
				core[c] = o->logical_index;
			else if (o->type == HWLOC_OBJ_PACKAGE)
				package[c] = o->logical_index;
			else if (hwloc_obj_type_is_dcache(o->type))
				llc[c] = o->attr->cache.depth * 10000 + o->logical_index;
		}
		while ((n = hwloc_get_next_obj_by_type(h, HWLOC_OBJ_NUMANODE, n)))
			if (hwloc_bitmap_isset(n->cpuset, c) && node[c] == UINT32_MAX)
				node[c] = n->logical_index;
		assert_true(wi_mask_test(t->online, c));
	}
	assert_int_equal(hwloc_get_nbobjs_by_type(h, HWLOC_OBJ_PU), wi_mask_weight(t->online, t->nr_words));
	same_partition("core (hwloc)", name, t->group[WAKEIF_CORE], core, t->nr_cpus);
	same_partition("llc (hwloc)", name, t->group[WAKEIF_LLC], llc, t->nr_cpus);
	same_partition("node (hwloc)", name, t->group[WAKEIF_NODE], node, t->nr_cpus);
	same_partition("package (hwloc)", name, t->package, package, t->nr_cpus);
	hwloc_topology_destroy(h);
	unsetenv("HWLOC_FSROOT");
	unsetenv("HWLOC_THISSYSTEM");
	unsetenv("HWLOC_COMPONENTS");
	unsetenv("HWLOC_HIDE_ERRORS");
	unsetenv("HWLOC_PLUGINS_PATH");
}

static struct wi_filetree *load_archive(const char *path)
{
	struct wi_filetree *tree = wi_filetree_new();
	struct wi_err err = { WI_OK, "" };

	if (!wi_filetree_add_archive(tree, path, &err))
		fail_msg("%s", err.msg);
	return tree;
}

static void against_hwloc(const char *archive)
{
	struct wi_filetree *tree = load_archive(archive);
	const char *tmp = getenv("TMPDIR");
	char root[256], path[4600];
	struct wi_err err = { WI_OK, "" };

	snprintf(root, sizeof(root), "%s/topo-hwloc-XXXXXX", tmp && *tmp ? tmp : "/tmp");
	assert_non_null(mkdtemp(root));
	for (size_t i = 0; i < wi_filetree_count(tree); i++) {
		struct wi_file f = wi_filetree_at(tree, i);

		snprintf(path, sizeof(path), "%s/%s", root, f.path);
		make_dirs(path);
		FILE *out = fopen(path, "w");
		assert_non_null(out);
		assert_int_equal(fwrite(f.bytes, 1, f.len, out), f.len);
		fclose(out);
	}
	const struct wakeif_topology *t = wi_topology_from_tree(tree, archive, &err);
	assert_non_null(t);
	tf_invariants(t);
	hwloc_says(root, t, archive);
	/* the folder gives what the archive gave */
	const struct wakeif_topology *dir = tf_load(root);
	char *groups = strdup(tf_groups(t, WAKEIF_LLC));
	assert_string_equal(tf_groups(dir, WAKEIF_LLC), groups);
	free(groups);
	for (uint32_t c = 0; c < t->nr_cpus; c++) {
		char *domains = strdup(tf_domains_full(t, c));
		assert_string_equal(tf_domains_full(dir, c), domains);
		free(domains);
	}
	wi_topology_free(dir);
	wi_topology_free(t);
	wi_filetree_free(tree);
	remove_all(root);
}

static void every_dump_against_hwloc(void **state)
{
	(void)state;
	static const char *const names[] = {
		"hwloc-16em64t-4s2c2t-offlines.tar.bz2",
		"hwloc-20em64t-hybrid-1p6c2t+2ca4co1t.tar.bz2",
		"hwloc-32intel64-2p8co2t+8ve.tar.bz2",
		"hwloc-48amd64-4pa2n6c-sparse.tar.bz2",
		"hwloc-64amd64-4s2n4ca2co.tar.bz2",
		"hwloc-8em64t-2s2ca2c.tar.bz2",
		"hwloc-nvidiagpunumanodes.tar.bz2",
		"lscpu-ppc64-POWER7.tar.gz",
		"lscpu-vmware_fpe.tar.gz",
		"lscpu-x86_64-64cpu.tar.gz",
		"lscpu-x86_64-dell_e4310.tar.gz",
		"lscpu-x86_64-epyc_7451.tar.gz",
		"lscpu-s390-lpar.tar.gz",
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i += test_share_step()) {
		const char *path = public_file(names[i], "");

		if (!path)
			skip();
		against_hwloc(path);
	}
}

/* ---- our recordings ---- */

struct corpus {
	char name[64][300]; /* folders that hold a topology.tar.gz */
	unsigned nr;
};

static void find_recordings(struct corpus *k, const char *rel)
{
	struct dirent **list = NULL;
	const char *root = tf_shared(rel);
	int n = root ? scandir(root, &list, NULL, alphasort) : 0;

	for (int i = 0; i < n; i++) {
		char file[600];

		snprintf(file, sizeof(file), "%s/%s/topology.tar.gz", rel, list[i]->d_name);
		if (list[i]->d_name[0] != '.' && k->nr < 64 && strlen(file) < 300) {
			const char *shared = getenv("WAKEIF_SHARED");
			char full[1024];

			snprintf(full, sizeof(full), "%s/%s", shared ? shared : "../shared", file);
			if (!access(full, R_OK))
				snprintf(k->name[k->nr++], sizeof(*k->name), "%.*s",
					 (int)(strlen(file) - strlen("/topology.tar.gz")), file);
		}
		free(list[i]);
	}
	free(list);
}

static const char *in_folder(const char *folder, const char *file)
{
	static char path[2][1400];
	static int turn;
	const char *shared = getenv("WAKEIF_SHARED");

	turn ^= 1;
	snprintf(path[turn], sizeof(path[turn]), "%s/%s/%s", shared ? shared : "../shared", folder, file);
	return path[turn];
}

/* The domains that the rules give are those that the kernel told, for every CPU of every recording. */
static void corpus_domains(void **state)
{
	(void)state;
	static struct corpus k;

	k.nr = 0;
	find_recordings(&k, "corpus");
	find_recordings(&k, "corpus/ab");
	if (!k.nr)
		skip();
	assert_true(k.nr >= 28);
	for (unsigned i = 0; i < k.nr; i += test_share_step()) {
		struct wi_filetree *tree = load_archive(in_folder(k.name[i], "topology.tar.gz"));
		struct wi_err err = { WI_OK, "" };
		const struct wakeif_topology *read = wi_topology_from_tree(tree, "read", &err);

		assert_non_null(read);
		tf_invariants(read);
		assert_int_equal(read->flags, 0);
		assert_string_equal(read->note, "");
		tree = tf_without(tf_without(tree, "sys/kernel/debug/sched/domains/"), "proc/schedstat");
		const struct wakeif_topology *derived = tf_build(tree);
		assert_int_equal(derived->flags, WAKEIF_TOPO_DOMAINS_DERIVED);
		for (uint32_t c = 0; c < read->nr_cpus; c++) {
			char *a = strdup(tf_domains_full(read, c));

			assert_true(*a);
			assert_string_equal(tf_domains_full(derived, c), a);
			assert_int_equal(derived->llc_size[c], read->llc_size[c]);
			free(a);
		}
		wi_topology_free(read);
		wi_topology_free(derived);
	}
	print_message("%u recordings\n", k.nr);
}

static void corpus_lscpu(void **state)
{
	(void)state;
	static struct corpus k;

	k.nr = 0;
	find_recordings(&k, "corpus");
	if (!k.nr)
		skip();
	for (unsigned i = 0; i < k.nr; i += test_share_step()) {
		const struct wakeif_topology *tree = tf_load(in_folder(k.name[i], "topology.tar.gz"));
		const struct wakeif_topology *text = tf_load(in_folder(k.name[i], "lscpu-p.txt"));

		assert_int_equal(tree->nr_cpus, text->nr_cpus);
		assert_int_equal(tree->smt, text->smt);
		for (int s = 0; s < WAKEIF_NR_SCOPES; s++) {
			char *a = strdup(tf_groups(tree, (enum wakeif_scope)s));

			assert_string_equal(tf_groups(text, (enum wakeif_scope)s), a);
			free(a);
		}
		for (uint32_t c = 0; c < tree->nr_cpus; c++)
			assert_int_equal(tree->llc_size[c], text->llc_size[c]);
		wi_topology_free(tree);
		wi_topology_free(text);
	}
}

static void corpus_against_hwloc(void **state)
{
	(void)state;
	static const char *const names[] = { "61-smt8-idle", "61-numa16-forks", "61-nosmt4-hb-pipe-full",
					     "612-smt8-idle", "61rt-smt8-schbench-none" };

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i += test_share_step()) {
		char rel[200];

		snprintf(rel, sizeof(rel), "corpus/%s/topology.tar.gz", names[i]);
		const char *path = tf_shared(rel);
		if (!path)
			skip();
		against_hwloc(path);
	}
}

static void corpus_facts(void **state)
{
	(void)state;
	static const struct {
		const char *name, *release;
		uint32_t kernel;
		int sis_util, hz;
		const char *setting, *value;
	} cases[] = {
		{ "61-smt8-idle", "6.1.0-57-amd64", WI_KERNEL(6, 1), 1, 250, "latency_ns", "24000000" },
		{ "612-smt8-idle", "6.12.117+deb12-amd64", WI_KERNEL(6, 12), 1, 250, "base_slice_ns", "2800000" },
		{ "61rt-smt8-schbench-none", "6.1.0-57-rt-amd64", WI_KERNEL(6, 1), 1, 250, "nr_migrate", "8" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct wi_err err = { WI_OK, "" };
		char rel[200];

		snprintf(rel, sizeof(rel), "corpus/%s/topology.tar.gz", cases[i].name);
		const char *path = tf_shared(rel);
		if (!path)
			skip();
		struct wi_filetree *tree = load_archive(path);
		const struct wi_sysinfo *info = wi_sysinfo_from_tree(tree, &err);
		assert_non_null(info);
		assert_string_equal(info->release, cases[i].release);
		assert_int_equal(info->kernel, cases[i].kernel);
		assert_true(info->x86);
		assert_int_equal(wi_sysinfo_feature(info, "SIS_UTIL"), cases[i].sis_util);
		assert_int_equal(info->hz, cases[i].hz);
		assert_non_null(wi_sysinfo_setting(info, cases[i].setting));
		assert_string_equal(wi_sysinfo_setting(info, cases[i].setting), cases[i].value);
		wi_sysinfo_free(info);
		wi_filetree_free(tree);
	}
}

static void corpus_tasks(void **state)
{
	(void)state;
	static struct corpus k;
	unsigned lists = 0;

	k.nr = 0;
	find_recordings(&k, "corpus");
	if (!k.nr)
		skip();
	for (unsigned i = 0; i < k.nr; i += test_share_step()) {
		static const char *const files[] = { "tasks.before", "tasks.during" };
		struct wi_tasks *tasks = NULL;
		struct wi_err err = { WI_OK, "" };

		for (int f = 0; f < 2; f++) {
			const char *path = in_folder(k.name[i], files[f]);

			if (access(path, R_OK))
				continue;
			if (!wi_tasks_add_file(&tasks, path, &err))
				fail_msg("%s", err.msg);
			lists++;
		}
		assert_non_null(tasks);
		const struct wi_task_entry *init = wi_tasks_find(tasks, 1);
		assert_non_null(init);
		assert_string_equal(init->comm, "init");
		assert_int_equal(init->policy, WAKEIF_POLICY_NORMAL);
		assert_non_null(init->allowed);
		for (uint32_t n = 0; n < tasks->nr; n++) {
			const struct wi_task_entry *p = &tasks->task[n];
			unsigned cpu;

			assert_true(!n || p->tid > tasks->task[n - 1].tid);
			assert_ptr_equal(wi_tasks_find(tasks, p->tid), p);
			if (sscanf(p->comm, "migration/%u", &cpu) == 1) {
				assert_int_equal(p->policy, WAKEIF_POLICY_FIFO);
				assert_int_equal(p->rtprio, 99);
				assert_int_equal(wi_mask_weight(p->allowed, p->allowed_words), 1);
				assert_true(wi_mask_test(p->allowed, cpu));
			}
		}
		wi_tasks_free(tasks);
	}
	print_message("%u lists of tasks\n", lists);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lscpu_power7),
		cmocka_unit_test(lscpu_s390),
		cmocka_unit_test(lscpu_sparc),
		cmocka_unit_test(lscpu_vmware),
		cmocka_unit_test(lscpu_64cpu),
		cmocka_unit_test(lscpu_e4310),
		cmocka_unit_test(lscpu_epyc),
		cmocka_unit_test(hwloc_offlines),
		cmocka_unit_test(hwloc_hybrid),
		cmocka_unit_test(hwloc_intel32),
		cmocka_unit_test(hwloc_amd48),
		cmocka_unit_test(hwloc_amd64),
		cmocka_unit_test(hwloc_em64t8),
		cmocka_unit_test(hwloc_power9),
		cmocka_unit_test(details),
		cmocka_unit_test(every_dump_against_hwloc),
		cmocka_unit_test(corpus_domains),
		cmocka_unit_test(corpus_lscpu),
		cmocka_unit_test(corpus_against_hwloc),
		cmocka_unit_test(corpus_facts),
		cmocka_unit_test(corpus_tasks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
