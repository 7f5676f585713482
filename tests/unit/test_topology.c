/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Hand-made machines: regular ones, and the awkward ones of public bug reports by number (B 31 .. 46). */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "analyzer/base/cpumask.h"
#include "tests/unit/topo_fixture.h"

#define BASE "NEWIDLE|EXEC|FORK|AFFINE"

static void regular_machine(void **state)
{
	(void)state;
	const struct tf_machine m = { .packages = 2, .llcs_per_node = 2, .cores_per_llc = 2, .threads = 2 };
	const struct wakeif_topology *t = tf_build(tf_machine_tree(&m));

	assert_string_equal(tf_groups(t, WAKEIF_CORE), "{0-1} {2-3} {4-5} {6-7} {8-9} {10-11} {12-13} {14-15}");
	assert_ptr_equal(t->group[WAKEIF_CLUSTER], t->group[WAKEIF_CORE]);
	assert_string_equal(tf_groups(t, WAKEIF_LLC), "{0-3} {4-7} {8-11} {12-15}");
	assert_string_equal(tf_groups(t, WAKEIF_NODE), "{0-7} {8-15}");
	assert_string_equal(tf_packages(t), "{0-7} {8-15}");
	assert_string_equal(tf_groups(t, WAKEIF_MACHINE), "{0-15}");
	assert_int_equal(t->smt, 2);
	assert_int_equal(t->flags, WAKEIF_TOPO_DOMAINS_DERIVED);
	assert_string_equal(t->note, "");
	assert_string_equal(t->source, "test");
	assert_int_equal(t->core_id[10], 1);
	assert_int_equal(t->package_id[10], 1);
	assert_int_equal(t->node_id[10], 1);
	assert_int_equal(t->nodes_distance[1], 32);
	assert_int_equal(t->nodes_distance[3], 10);
	/* distance 32 is beyond node_reclaim_distance 30: no EXEC, FORK and WAKE_AFFINE */
	assert_string_equal(tf_domains_full(t, 5),
			    "SMT[4-5]:110:" BASE "|SMT|LLC|PREFER MC[4-7]:117:" BASE "|LLC|PREFER "
			    "PKG[0-7]:117:" BASE "|PREFER NUMA[0-15]:117:NEWIDLE|NUMA");
	assert_int_equal(t->llc_size[5], 4);
	wi_topology_free(t);
}

static void one_cpu(void **state)
{
	(void)state;
	const struct tf_machine m = { 0 };
	const struct wakeif_topology *t = tf_build(tf_machine_tree(&m));

	assert_string_equal(tf_groups(t, WAKEIF_CORE), "{0}");
	assert_int_equal(t->nr_domains[0], 0);
	assert_int_equal(t->llc_size[0], 1);
	wi_topology_free(t);
}

static void b31_holes_and_offline(void **state)
{
	(void)state;
	struct wi_filetree *tree = wi_filetree_new();

	tf_put(tree,
	       "cpu/possible=0-3\ncpu/present=0-3\ncpu/online=0,2\n"
	       "cpu0/topology/core_id=0\ncpu0/topology/physical_package_id=0\ncpu0/topology/thread_siblings_list=0\n"
	       "cpu2/topology/core_id=1\ncpu2/topology/physical_package_id=0\ncpu2/topology/thread_siblings_list=2\n"
	       "cpu0/cache/index0/level=3\ncpu0/cache/index0/type=Unified\ncpu0/cache/index0/shared_cpu_list=0,2\n"
	       "cpu2/cache/index0/level=3\ncpu2/cache/index0/type=Unified\ncpu2/cache/index0/shared_cpu_list=0,2\n"
	       "cpu1/online=0\ncpu3/online=0\n");
	const struct wakeif_topology *t = tf_build(tree);
	assert_int_equal(t->nr_cpus, 4);
	assert_string_equal(tf_list(t, t->online), "0,2");
	assert_string_equal(tf_list(t, t->present), "0-3");
	assert_string_equal(tf_groups(t, WAKEIF_CORE), "{0} {1} {2} {3}");
	assert_string_equal(tf_groups(t, WAKEIF_LLC), "{0,2} {1,3}");
	assert_string_equal(tf_domains(t, 0), "MC[0,2]");
	assert_int_equal(wi_topology_nr_online_groups(t, WAKEIF_CORE), 2);
	assert_int_equal(wi_topology_nr_online_groups(t, WAKEIF_LLC), 1);
	assert_int_equal(wi_topology_nr_online_packages(t), 1);
	wi_topology_free(t);
}

/* Sibling masks of packages read while CPUs came up: package ids decide, not distinct masks. */
static void b32_masks_disagree(void **state)
{
	(void)state;
	const struct tf_machine m = { .packages = 2, .cores_per_llc = 4, .threads = 1 };
	struct wi_filetree *tree = tf_machine_tree(&m);

	tf_put(tree, "cpu0/topology/core_siblings_list=0\ncpu1/topology/core_siblings_list=0-1\ncpu2/topology/"
		     "core_siblings_list=0-2\n"
		     "cpu6/topology/core_siblings_list=4-6\n");
	const struct wakeif_topology *t = tf_build(tree);
	assert_string_equal(tf_packages(t), "{0-3} {4-7}");
	assert_true(t->flags & WAKEIF_TOPO_CONTRADICTION);
	assert_non_null(strstr(t->note, "disagree"));
	wi_topology_free(t);

	/* masks that agree with one another, but split what the ids say is one package */
	tree = tf_machine_tree(&m);
	tf_put(tree, "cpu0/topology/core_siblings_list=0-1\ncpu1/topology/core_siblings_list=0-1\n"
		     "cpu2/topology/core_siblings_list=2-3\ncpu3/topology/core_siblings_list=2-3\n");
	t = tf_build(tree);
	assert_string_equal(tf_packages(t), "{0-3} {4-7}");
	assert_true(t->flags & WAKEIF_TOPO_CONTRADICTION);
	wi_topology_free(t);

	/* the same for cores: core_id decides */
	const struct tf_machine smt = { .packages = 2, .cores_per_llc = 2, .threads = 2 };
	tree = tf_machine_tree(&smt);
	tf_put(tree, "cpu0/topology/thread_siblings_list=0\n");
	t = tf_build(tree);
	assert_string_equal(tf_groups(t, WAKEIF_CORE), "{0-1} {2-3} {4-5} {6-7}");
	assert_true(t->flags & WAKEIF_TOPO_CONTRADICTION);
	assert_non_null(strstr(t->note, "core_id"));
	wi_topology_free(t);

	/* caches: by id when there is one, else by what any mask names together */
	for (int id = 0; id < 2; id++) {
		const struct tf_machine llc = { .llcs_per_node = 2, .cores_per_llc = 2, .threads = 1, .id_in_l3 = id };

		tree = tf_machine_tree(&llc);
		tf_put(tree, "cpu1/cache/index3/shared_cpu_list=1\n");
		t = tf_build(tree);
		assert_string_equal(tf_groups(t, WAKEIF_LLC), "{0-1} {2-3}");
		assert_true(t->flags & WAKEIF_TOPO_CONTRADICTION);
		assert_non_null(strstr(t->note, id ? "cache id" : "names together"));
		wi_topology_free(t);
	}
}

static void b33_cpu0_offline(void **state)
{
	(void)state;
	const struct tf_machine m = { .cores_per_llc = 2, .threads = 2 };
	struct wi_filetree *tree = tf_without(tf_without(tf_machine_tree(&m), "cpu0/topology"), "cpu0/cache");

	tf_put(tree, "cpu/online=1-3\ncpu0/online=0\ncpu1/topology/thread_siblings_list=1\n"
		     "cpu1/cache/index3/shared_cpu_list=1-3\ncpu2/cache/index3/shared_cpu_list=1-3\ncpu3/cache/index3/"
		     "shared_cpu_list=1-3\n"
		     "cpu1/cache/index2/shared_cpu_list=1\n");
	const struct wakeif_topology *t = tf_build(tree);
	assert_string_equal(tf_list(t, t->online), "1-3");
	assert_string_equal(tf_groups(t, WAKEIF_CORE), "{0} {1} {2-3}");
	assert_string_equal(tf_groups(t, WAKEIF_LLC), "{0} {1-3}");
	assert_string_equal(tf_domains(t, 1), "MC[1-3]");
	assert_int_equal(t->llc_size[1], 3);
	wi_topology_free(t);
}

/* core_id and package id, not the first sibling: here the first sibling of a core is offline, its masks name it or not.
 */
static void b34_first_sibling_offline(void **state)
{
	(void)state;
	const struct tf_machine m = { .packages = 2, .cores_per_llc = 2, .threads = 2, .numbering = TF_HALVES };
	struct wi_filetree *tree = tf_machine_tree(&m);

	tree = tf_without(tf_without(tree, "cpu2/topology"), "cpu2/cache");
	tf_put(tree, "cpu2/online=0\ncpu/online=0-1,3-7\n");
	const struct wakeif_topology *t = tf_build(tree); /* cpu6's mask still says 2,6 */
	assert_string_equal(tf_groups(t, WAKEIF_CORE), "{0,4} {1,5} {2,6} {3,7}");
	assert_string_equal(tf_list(t, t->online), "0-1,3-7");
	assert_string_equal(tf_domains(t, 6), "MC[3,6-7] NUMA[0-1,3-7]");
	wi_topology_free(t);

	tree = tf_without(tf_without(tf_machine_tree(&m), "cpu2/topology"), "cpu2/cache");
	tf_put(tree, "cpu2/online=0\ncpu/online=0-1,3-7\ncpu6/topology/thread_siblings_list=6\n");
	t = tf_build(tree);
	assert_string_equal(tf_groups(t, WAKEIF_CORE), "{0,4} {1,5} {2} {3,7} {6}");
	wi_topology_free(t);
}

static void b36_llc_across_nodes(void **state)
{
	(void)state;
	const struct tf_machine m = { .packages = 1, .nodes_per_package = 2, .cores_per_llc = 2, .threads = 2 };
	struct wi_filetree *tree = tf_machine_tree(&m);
	char line[256];

	for (int c = 0; c < 8; c++) {
		snprintf(line, sizeof(line), "cpu%d/cache/index3/shared_cpu_list=0-7\n", c);
		tf_put(tree, line);
	}
	const struct wakeif_topology *t = tf_build(tree);
	assert_string_equal(tf_groups(t, WAKEIF_LLC), "{0-3} {4-7}");
	assert_true(t->flags & WAKEIF_TOPO_LLC_SPLIT);
	assert_non_null(strstr(t->note, "cut at the node border"));
	assert_int_equal(t->llc_size[0], 4);
	wi_topology_free(t);
}

static void b37_no_cache_dir(void **state)
{
	(void)state;
	const struct tf_machine m = { .packages = 2, .cores_per_llc = 2, .threads = 2, .no_caches = true };
	const struct wakeif_topology *t = tf_build(tf_machine_tree(&m));

	assert_string_equal(tf_groups(t, WAKEIF_LLC), "{0-3} {4-7}");
	assert_true(t->flags & WAKEIF_TOPO_NO_CACHE_INFO);
	assert_string_equal(tf_domains(t, 0), "SMT[0-1] MC[0-3] NUMA[0-7]");
	wi_topology_free(t);

	/* On x86 the kernel then takes nothing as shared beyond the core: the scope stays, sd_llc does not. */
	struct wi_filetree *tree = tf_machine_tree(&m);
	tf_put(tree, "proc/cpuinfo=vendor_id\t: GenuineIntel\n");
	t = tf_build(tree);
	assert_string_equal(tf_groups(t, WAKEIF_LLC), "{0-3} {4-7}");
	assert_string_equal(tf_domains(t, 0), "SMT[0-1] PKG[0-3] NUMA[0-7]");
	assert_int_equal(t->llc_size[0], 2);
	wi_topology_free(t);
}

/* No L3: the highest level is the LLC, here an L2 of two cores; levels without a shared file are no help. */
static void no_l3(void **state)
{
	(void)state;
	const struct tf_machine m = { .cores_per_llc = 4, .threads = 1 };
	struct wi_filetree *tree = tf_machine_tree(&m);
	char line[256];

	for (int c = 0; c < 4; c++) {
		snprintf(line, sizeof(line), "cpu%d/cache/index3", c);
		tree = tf_without(tree, line);
		snprintf(line, sizeof(line), "cpu%d/cache/index2/shared_cpu_list=%s\n", c, c < 2 ? "0-1" : "2-3");
		tf_put(tree, line);
	}
	const struct wakeif_topology *t = tf_build(tree);
	assert_string_equal(tf_groups(t, WAKEIF_LLC), "{0-1} {2-3}");
	assert_string_equal(tf_groups(t, WAKEIF_CLUSTER), "{0-1} {2-3}");
	assert_string_equal(tf_domains(t, 0), "CLS[0-1] PKG[0-3]");
	assert_int_equal(t->llc_size[3], 2);
	wi_topology_free(t);

	/* the virtual machine trap: private L2 only, no SMT: no domain shares a cache */
	tree = tf_machine_tree(&m);
	for (int c = 0; c < 4; c++) {
		snprintf(line, sizeof(line), "cpu%d/cache/index3", c);
		tree = tf_without(tree, line);
	}
	t = tf_build(tree);
	assert_string_equal(tf_groups(t, WAKEIF_LLC), "{0} {1} {2} {3}");
	assert_string_equal(tf_domains(t, 0), "PKG[0-3]");
	assert_int_equal(t->llc_size[0], 1);
	wi_topology_free(t);
}

static void b38_list_grammar(void **state)
{
	(void)state;
	static const struct {
		const char *online, *expect;
	} cases[] = { { "0", "0" },	  { "0,2", "0,2" }, { "0-1,3", "0-1,3" }, { "0-7:2/4", "0-1,4-5" },
		      { " 0-3 ", "0-3" }, { "7", "7" } };

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct wi_filetree *tree = wi_filetree_new();
		char line[256];

		snprintf(line, sizeof(line), "cpu/present=0-7\ncpu/online=%s\n", cases[i].online);
		tf_put(tree, line);
		const struct wakeif_topology *t = tf_build(tree);
		assert_string_equal(tf_list(t, t->online), cases[i].expect);
		assert_string_equal(tf_list(t, t->present), "0-7");
		wi_topology_free(t);
	}
	/* a container's rewritten list against the CPUs' own files */
	struct wi_filetree *tree = wi_filetree_new();
	tf_put(tree, "cpu/online=0-1\ncpu1/online=1\ncpu2/online=1\ncpu3/online=0\ncpu0/topology/core_id=0\n");
	const struct wakeif_topology *t = tf_build(tree);
	assert_string_equal(tf_list(t, t->online), "0-2");
	assert_true(t->flags & WAKEIF_TOPO_CONTRADICTION);
	assert_non_null(strstr(t->note, "container"));
	wi_topology_free(t);
	/* empty files say nothing */
	tree = wi_filetree_new();
	tf_put(tree, "cpu/online=\ncpu/isolated=\ncpu/offline=\ncpu0/topology/core_id=0\ncpu1/topology/core_id=1\n");
	t = tf_build(tree);
	assert_string_equal(tf_list(t, t->online), "0-1");
	assert_string_equal(tf_list(t, t->isolated), "");
	wi_topology_free(t);
}

static void b39_any_numbering(void **state)
{
	(void)state;
	static const unsigned threads[] = { 1, 2, 4, 8 };

	for (size_t i = 0; i < sizeof(threads) / sizeof(*threads); i++)
		for (int numbering = 0; numbering < 2; numbering++)
			for (int hex = 0; hex < 2; hex++) {
				const struct tf_machine m = { .packages = 2,
							      .cores_per_llc = 4,
							      .threads = threads[i],
							      .numbering = (enum tf_numbering)numbering,
							      .hex_only = hex };
				const struct wakeif_topology *t = tf_build(tf_machine_tree(&m));

				assert_int_equal(t->smt, threads[i]);
				assert_int_equal(t->nr_groups[WAKEIF_CORE], 8);
				assert_int_equal(t->nr_groups[WAKEIF_LLC], 2);
				assert_int_equal(t->llc_size[0], 4 * threads[i]);
				for (uint32_t c = 0; c < t->nr_cpus; c++)
					assert_int_equal(t->group[WAKEIF_CORE][c],
							 numbering == TF_ADJACENT ? c / threads[i] : c % 8);
				assert_string_equal(t->note, "");
				wi_topology_free(t);
			}
	/* 0,4,8,12 / 1,5,... : cores interleaved over packages as well */
	struct wi_filetree *tree = wi_filetree_new();
	for (int c = 0; c < 16; c++) {
		char line[512];

		snprintf(line, sizeof(line),
			 "cpu%d/topology/core_id=%d\ncpu%d/topology/physical_package_id=%d\ncpu%d/topology/"
			 "thread_siblings_list=%d,%d,%d,%d\n",
			 c, c % 4 / 2, c, c % 2, c, c % 4, c % 4 + 4, c % 4 + 8, c % 4 + 12);
		tf_put(tree, line);
	}
	const struct wakeif_topology *t = tf_build(tree);
	assert_string_equal(tf_groups(t, WAKEIF_CORE), "{0,4,8,12} {1,5,9,13} {2,6,10,14} {3,7,11,15}");
	assert_string_equal(tf_packages(t), "{0,2,4,6,8,10,12,14} {1,3,5,7,9,11,13,15}");
	wi_topology_free(t);
}

static void b40_hex_masks(void **state)
{
	(void)state;
	static const struct {
		const char *map, *expect;
	} cases[] = {
		{ "000f,ff000fff", "0-11,24-35" },
		{ "0,00000003", "0-1" },
		{ "1,00000000,00000000", "64" },
		{ "3,,3", "0-1,64-65" },
		{ "0x3", "0-1" },
		{ "00000000,00000001,ffffffff,00000000", "32-64" },
		{ "80000000,00000000", "63" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct wi_filetree *tree = wi_filetree_new();
		char line[128];

		snprintf(line, sizeof(line), "cpu/present=0-127\nnode/node3/cpumap=%s\nnode/node4/cpumap=0\n",
			 cases[i].map);
		tf_put(tree, line);
		const struct wakeif_topology *t = tf_build(tree);
		uint32_t words = t->nr_words;
		uint64_t *m = calloc(words, sizeof(*m));
		for (uint32_t c = 0; c < t->nr_cpus; c++)
			if (t->node_id[c] == 3)
				wi_mask_set(m, c);
		assert_string_equal(tf_list(t, m), cases[i].expect);
		free(m);
		wi_topology_free(t);
	}
}

static void b41_many_cpus(void **state)
{
	(void)state;
	static const struct tf_machine many[] = {
		{ .packages = 16, .llcs_per_node = 1, .cores_per_llc = 10, .threads = 8 }, /* 1,280 threads, SMT8 */
		{ .packages = 16,
		  .nodes_per_package = 2,
		  .llcs_per_node = 8,
		  .cores_per_llc = 8,
		  .threads = 2,
		  .numbering = TF_HALVES }, /* 4,096 */
		{ .packages = 16,
		  .nodes_per_package = 2,
		  .llcs_per_node = 8,
		  .cores_per_llc = 8,
		  .threads = 2,
		  .hex_only = true },
	};

	for (size_t i = 0; i < sizeof(many) / sizeof(*many); i++) {
		struct wi_filetree *tree = tf_machine_tree(&many[i]);
		struct wi_err err = { WI_OK, "" };
		clock_t start = clock();
		const struct wakeif_topology *t = wi_topology_from_tree(tree, "test", &err);
		double ms = (double)(clock() - start) * 1e3 / CLOCKS_PER_SEC;

		assert_non_null(t);
		print_message("%u CPUs, %zu files: %.1f ms\n", t->nr_cpus, wi_filetree_count(tree), ms);
		wi_filetree_free(tree);
		assert_int_equal(t->nr_cpus, i ? 4096 : 1280);
		assert_int_equal(t->nr_groups[WAKEIF_CORE], i ? 2048 : 160);
		assert_int_equal(t->nr_groups[WAKEIF_LLC], i ? 256 : 16);
		assert_int_equal(t->nr_groups[WAKEIF_NODE], i ? 32 : 16);
		assert_int_equal(t->llc_size[t->nr_cpus - 1], i ? 16 : 80);
		tf_invariants(t);
		wi_topology_free(t);
	}
}

static void b43_packages_cross_nodes(void **state)
{
	(void)state;
	struct wi_filetree *tree = wi_filetree_new();
	char line[512];

	/* packages 0-31,64-95 and 32-63,96-127; nodes 0-63 and 64-127 */
	for (int c = 0; c < 128; c++) {
		snprintf(line, sizeof(line), "cpu%d/topology/core_id=%d\ncpu%d/topology/physical_package_id=%d\n", c,
			 c % 32, c, c / 32 % 2);
		tf_put(tree, line);
		snprintf(line, sizeof(line), "cpu%d/topology/thread_siblings_list=%d-%d\n", c, c & ~1, c | 1);
		tf_put(tree, line);
		snprintf(line, sizeof(line),
			 "cpu%d/cache/index0/level=3\ncpu%d/cache/index0/type=Unified\ncpu%d/cache/index0/"
			 "shared_cpu_list=%d-%d\n",
			 c, c, c, c & ~15, c | 15);
		tf_put(tree, line);
	}
	tf_put(tree, "node/node0/cpulist=0-63\nnode/node1/cpulist=64-127\n");
	const struct wakeif_topology *t = tf_build(tree);
	assert_int_equal(t->nr_groups[WAKEIF_LLC], 8);
	assert_int_equal(t->nr_groups[WAKEIF_CORE], 64);
	assert_string_equal(tf_packages(t), "{0-31,64-95} {32-63,96-127}");
	assert_string_equal(tf_groups(t, WAKEIF_NODE), "{0-63} {64-127}");
	assert_true(t->flags & WAKEIF_TOPO_CONTRADICTION);
	assert_non_null(strstr(t->note, "package 0 and node 0 cross"));
	wi_topology_free(t);
}

static void b44_cores_in_no_node(void **state)
{
	(void)state;
	const struct tf_machine m = { .packages = 2, .cores_per_llc = 2, .threads = 2 };
	struct wi_filetree *tree = tf_machine_tree(&m);

	tf_put(tree, "node/node0/cpulist=0-3\nnode/node1/cpulist=\n");
	const struct wakeif_topology *t = tf_build(tree);
	assert_string_equal(tf_groups(t, WAKEIF_NODE), "{0-3} {4-7}");
	assert_int_equal(t->node_id[5], -1);
	assert_non_null(strstr(t->note, "in no node"));
	assert_int_equal(t->nodes_distance[0], 10);
	assert_int_equal(t->nodes_distance[1], 0);
	wi_topology_free(t);

	/* cpu0/ empty in a container */
	tree = tf_without(tf_machine_tree(&m), "cpu0/");
	t = tf_build(tree);
	assert_string_equal(tf_groups(t, WAKEIF_CORE), "{0-1} {2-3} {4-5} {6-7}"); /* cpu1's mask names it */
	assert_string_equal(tf_list(t, t->online), "0-7");
	wi_topology_free(t);
}

static void b45_hybrid(void **state)
{
	(void)state;
	const struct tf_machine m = { .cores_per_llc = 4, .threads = 2 };
	struct wi_filetree *tree = tf_machine_tree(&m);
	char line[256];

	/* cores 2 and 3 become four efficient cores with one thread each, sharing an L2 */
	for (int c = 4; c < 8; c++) {
		snprintf(line, sizeof(line),
			 "cpu%d/topology/core_id=%d\ncpu%d/topology/thread_siblings_list=%d\ncpu%d/cache/index2/"
			 "shared_cpu_list=4-7\ncpu%d/cpu_capacity=600\n",
			 c, 10 + c, c, c, c, c);
		tf_put(tree, line);
	}
	const struct wakeif_topology *t = tf_build(tree);
	assert_string_equal(tf_groups(t, WAKEIF_CORE), "{0-1} {2-3} {4} {5} {6} {7}");
	assert_string_equal(tf_groups(t, WAKEIF_CLUSTER), "{0-1} {2-3} {4-7}");
	assert_string_equal(tf_domains(t, 0), "SMT[0-1] MC[0-7]");
	assert_string_equal(tf_domains(t, 4), "CLS[4-7] MC[0-7]");
	assert_int_equal(t->capacity[0], 1024);
	assert_int_equal(t->capacity[4], 600);
	assert_int_equal(t->smt, 2);
	wi_topology_free(t);

	/* HT off on the big ones: no core has two online threads */
	tree = tf_machine_tree(&m);
	tf_put(tree, "cpu/online=0,2,4,6\ncpu1/online=0\ncpu3/online=0\ncpu5/online=0\ncpu7/online=0\n");
	t = tf_build(tree);
	assert_int_equal(t->smt, 1);
	assert_string_equal(tf_domains(t, 0), "MC[0,2,4,6]");
	wi_topology_free(t);
}

static void b46_lacks_cpus(void **state)
{
	(void)state;
	const struct tf_machine m = { .cores_per_llc = 4, .threads = 1 };
	const struct wakeif_topology *t = tf_build(tf_machine_tree(&m));
	struct wi_err err = { WI_OK, "" };
	uint64_t seen[3] = { 0xf, 0, 0 };

	assert_true(wi_topology_check(t, seen, 3, "a.dat", &err));
	assert_true(wi_topology_check(t, seen, 1, "a.dat", &err));
	seen[0] |= 1 << 7;
	assert_false(wi_topology_check(t, seen, 1, "a.dat", &err));
	assert_int_equal(err.code, WI_EREFUSED);
	assert_string_equal(err.msg, "topology test lacks CPU 7 seen in trace a.dat");
	seen[2] = 2;
	err = (struct wi_err){ WI_OK, "" };
	assert_false(wi_topology_check(t, seen, 3, "a.dat", &err));
	assert_string_equal(err.msg, "topology test lacks CPUs 7,129 seen in trace a.dat");
	wi_topology_free(t);
}

/* ---- what else a source may get wrong ---- */

static void core_across_nodes(void **state)
{
	(void)state;
	const struct tf_machine m = { .cores_per_llc = 2, .threads = 2 };
	struct wi_filetree *tree = tf_machine_tree(&m);

	tf_put(tree, "node/node0/cpulist=0,2\nnode/node1/cpulist=1,3\n");
	const struct wakeif_topology *t = tf_build(tree);
	assert_string_equal(tf_groups(t, WAKEIF_CORE), "{0} {1} {2} {3}");
	assert_string_equal(tf_groups(t, WAKEIF_LLC), "{0,2} {1,3}");
	assert_true(t->flags & WAKEIF_TOPO_CONTRADICTION);
	wi_topology_free(t);
}

static void core_across_llcs(void **state)
{
	(void)state;
	const struct tf_machine m = { .llcs_per_node = 2, .cores_per_llc = 1, .threads = 2 };
	struct wi_filetree *tree = tf_machine_tree(&m);

	for (int c = 0; c < 4; c++) {
		char line[256];

		snprintf(line, sizeof(line), "cpu%d/cache/index3/shared_cpu_list=%s\n", c, c % 2 ? "1,3" : "0,2");
		tf_put(tree, line);
	}
	const struct wakeif_topology *t = tf_build(tree);
	assert_string_equal(tf_groups(t, WAKEIF_CORE), "{0-1} {2-3}");
	assert_string_equal(tf_groups(t, WAKEIF_LLC), "{0-3}");
	assert_true(t->flags & WAKEIF_TOPO_CONTRADICTION);
	wi_topology_free(t);
}

/* The lower LLC is that of the higher thread. */
static void core_across_llcs_upwards(void **state)
{
	(void)state;
	const struct tf_machine m = { .cores_per_llc = 4, .threads = 1 };
	struct wi_filetree *tree = tf_machine_tree(&m);

	tf_put(tree, "cpu2/topology/thread_siblings_list=2-3\ncpu3/topology/thread_siblings_list=2-3\n"
		     "cpu0/cache/index3/shared_cpu_list=0,3\ncpu3/cache/index3/shared_cpu_list=0,3\n"
		     "cpu1/cache/index3/shared_cpu_list=1\ncpu2/cache/index3/shared_cpu_list=2\n");
	const struct wakeif_topology *t = tf_build(tree);
	assert_string_equal(tf_groups(t, WAKEIF_CORE), "{0} {1} {2-3}");
	assert_string_equal(tf_groups(t, WAKEIF_LLC), "{0,2-3} {1}");
	wi_topology_free(t);
}

/* Caches for instructions alone are no place where a waking task finds its data. */
static void instruction_caches(void **state)
{
	(void)state;
	struct wi_filetree *tree = wi_filetree_new();

	for (int c = 0; c < 4; c++) {
		char line[256];

		snprintf(line, sizeof(line),
			 "cpu%d/cache/index0/level=1\ncpu%d/cache/index0/type=Data\ncpu%d/cache/index0/"
			 "shared_cpu_list=%s\n",
			 c, c, c, c < 2 ? "0-1" : "2-3");
		tf_put(tree, line);
		snprintf(line, sizeof(line),
			 "cpu%d/cache/index1/level=2\ncpu%d/cache/index1/type=Instruction\ncpu%d/cache/index1/"
			 "shared_cpu_list=0-3\n",
			 c, c, c);
		tf_put(tree, line);
	}
	const struct wakeif_topology *t = tf_build(tree);
	assert_string_equal(tf_groups(t, WAKEIF_LLC), "{0-1} {2-3}");
	wi_topology_free(t);
}

/* Some CPUs without cache information: a core knows what one of its threads knows, other cores share nothing. */
static void some_caches_unknown(void **state)
{
	(void)state;
	const struct tf_machine m = { .cores_per_llc = 4, .threads = 2 };
	struct wi_filetree *tree = tf_machine_tree(&m);

	for (int c = 1; c < 6; c++) {
		char line[256];

		snprintf(line, sizeof(line), "cpu%d/cache", c);
		tree = tf_without(tree, line);
	}
	tf_put(tree, "cpu0/cache/index3/shared_cpu_list=0,6-7\ncpu6/cache/index3/shared_cpu_list=0,6-7\ncpu7/cache/"
		     "index3/shared_cpu_list=0,6-7\n");
	const struct wakeif_topology *t = tf_build(tree);
	assert_string_equal(tf_groups(t, WAKEIF_LLC), "{0-1,6-7} {2-3} {4-5}");
	assert_non_null(strstr(t->note, "no cache information"));
	assert_false(t->flags & WAKEIF_TOPO_NO_CACHE_INFO);
	wi_topology_free(t);
}

/* Masks that differ only in what they say of a CPU that is offline and cannot speak for itself. */
static void masks_disagree_about_offline(void **state)
{
	(void)state;
	struct wi_filetree *tree = wi_filetree_new();

	tf_put(tree,
	       "cpu/present=0-2\ncpu/online=1-2\ncpu0/online=0\n"
	       "cpu1/topology/thread_siblings_list=0-1\ncpu1/topology/core_id=0\ncpu1/topology/physical_package_id=0\n"
	       "cpu2/topology/thread_siblings_list=0,2\ncpu2/topology/core_id=1\ncpu2/topology/"
	       "physical_package_id=0\n");
	const struct wakeif_topology *t = tf_build(tree);
	assert_string_equal(tf_groups(t, WAKEIF_CORE), "{0} {1} {2}");
	assert_true(t->flags & WAKEIF_TOPO_CONTRADICTION);
	wi_topology_free(t);
}

static void cpu_in_two_nodes(void **state)
{
	(void)state;
	const struct tf_machine m = { .cores_per_llc = 4, .threads = 1 };
	struct wi_filetree *tree = tf_machine_tree(&m);

	tf_put(tree, "node/node0/cpulist=0-2\nnode/node1/cpulist=2-3\n");
	const struct wakeif_topology *t = tf_build(tree);
	assert_string_equal(tf_groups(t, WAKEIF_NODE), "{0-2} {3}");
	assert_true(t->flags & WAKEIF_TOPO_CONTRADICTION);
	wi_topology_free(t);
}

/* Old AMD: core ids repeat in the two nodes of a package; also without sibling masks. */
static void core_ids_repeat(void **state)
{
	(void)state;
	struct wi_filetree *tree = wi_filetree_new();
	char line[256];

	for (int c = 0; c < 8; c++) {
		snprintf(line, sizeof(line), "cpu%d/topology/core_id=%d\ncpu%d/topology/physical_package_id=%d\n", c,
			 c % 2, c, c / 4);
		tf_put(tree, line);
	}
	tf_put(tree,
	       "node/node0/cpulist=0-1\nnode/node1/cpulist=2-3\nnode/node2/cpulist=4-5\nnode/node3/cpulist=6-7\n");
	const struct wakeif_topology *t = tf_build(tree);
	assert_string_equal(tf_groups(t, WAKEIF_CORE), "{0} {1} {2} {3} {4} {5} {6} {7}");
	assert_int_equal(t->smt, 1);
	wi_topology_free(t);
}

/* The kernel's clusters where it shows them; one as large as the LLC is none unless it is an L2. */
static void clusters(void **state)
{
	(void)state;
	const struct tf_machine m = { .llcs_per_node = 2, .cores_per_llc = 4, .threads = 1 };
	struct wi_filetree *tree = tf_machine_tree(&m);
	char line[256];

	for (int c = 0; c < 8; c++) {
		snprintf(line, sizeof(line), "cpu%d/topology/cluster_cpus_list=%d-%d\n", c, c & ~1, c | 1);
		tf_put(tree, line);
	}
	const struct wakeif_topology *t = tf_build(tree);
	assert_string_equal(tf_groups(t, WAKEIF_CLUSTER), "{0-1} {2-3} {4-5} {6-7}");
	assert_string_equal(tf_domains(t, 5), "CLS[4-5] MC[4-7] PKG[0-7]");
	wi_topology_free(t);

	tree = tf_machine_tree(&m);
	for (int c = 0; c < 8; c++) {
		snprintf(line, sizeof(line), "cpu%d/topology/cluster_cpus_list=%s\n", c, c < 4 ? "0-3" : "4-7");
		tf_put(tree, line);
	}
	t = tf_build(tree);
	assert_ptr_equal(t->group[WAKEIF_CLUSTER], t->group[WAKEIF_CORE]);
	assert_string_equal(tf_domains(t, 5), "MC[4-7] PKG[0-7]");
	wi_topology_free(t);
}

static void isolated_cpus(void **state)
{
	(void)state;
	static const struct {
		const char *file, *expect;
	} cases[] = {
		{ "cpu/isolated=2-3", "2-3" },
		{ "proc/cmdline=quiet isolcpus=1,3", "1,3" },
		{ "proc/cmdline=isolcpus=managed_irq,domain,2", "2" },
		{ "proc/cmdline=isolcpus=nohz,2", "" },
		{ "proc/cmdline=nohz_full=2 xisolcpus=1", "" },
		{ "cpu/isolated=\nproc/cmdline=isolcpus=3", "" }, /* the kernel's own word is the last */
		{ "cpu/isolated=\nsys/fs/cgroup/cpuset.cpus.isolated=1-2", "1-2" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		const struct tf_machine m = { .cores_per_llc = 4, .threads = 1 };
		struct wi_filetree *tree = tf_machine_tree(&m);
		char line[128];

		snprintf(line, sizeof(line), "%s\n", cases[i].file);
		tf_put(tree, line);
		const struct wakeif_topology *t = tf_build(tree);
		assert_string_equal(tf_list(t, t->isolated), cases[i].expect);
		for (uint32_t c = 0; c < 4; c++)
			assert_int_equal(t->nr_domains[c], !wi_mask_test(t->isolated, c));
		wi_topology_free(t);
	}
}

/* ---- the kernel's own domains ---- */

static const char smt_flags[] = "SD_BALANCE_NEWIDLE SD_BALANCE_EXEC SD_BALANCE_FORK SD_WAKE_AFFINE "
				"SD_SHARE_CPUCAPACITY SD_SHARE_PKG_RESOURCES SD_PREFER_SIBLING ";

static void put_domains(struct wi_filetree *tree, const char *root, const char *smt, const char *mc)
{
	for (int c = 0; c < 4; c++) {
		char lines[1024];

		snprintf(lines, sizeof(lines),
			 "%s/cpu%d/domain0/name=SMT\n%s/cpu%d/domain0/flags=%s\n%s/cpu%d/domain0/imbalance_pct=111\n"
			 "%s/cpu%d/domain1/name=MC\n%s/cpu%d/domain1/flags=%s\n%s/cpu%d/domain1/imbalance_pct=118\n",
			 root, c, root, c, smt, root, c, root, c, root, c, mc, root, c);
		tf_put(tree, lines);
	}
}

static void domains_read(void **state)
{
	(void)state;
	static const char stat15[] =
		"version 15\ntimestamp 1\ncpu0 0 0\ndomain0 3 0 0\ndomain1 f 0\ncpu1 0 0\ndomain0 3 0 0\ndomain1 f 0\n"
		"cpu2 0 0\ndomain0 c 0 0\ndomain1 f 0\ncpu3 0 0\ndomain0 c 0 0\ndomain1 f 0\n";
	static const char stat17[] =
		"version 17\ncpu0 0 0\ndomain0 SMT 3 0 0\ndomain1 MC f 0\ncpu1 0 0\ndomain0 SMT 3 0 0\ndomain1 MC f 0\n"
		"cpu2 0 0\ndomain0 SMT c 0 0\ndomain1 MC f 0\ncpu3 0 0\ndomain0 SMT c 0 0\ndomain1 MC f 0\n";
	const struct tf_machine m = { .cores_per_llc = 2, .threads = 2 };
	struct wi_err err = { WI_OK, "" };

	/* debugfs and schedstat: everything is the kernel's */
	struct wi_filetree *tree = tf_machine_tree(&m);
	put_domains(tree, "sys/kernel/debug/sched/domains", smt_flags, "SD_BALANCE_NEWIDLE SD_SHARE_LLC");
	assert_true(wi_filetree_add(tree, "proc/schedstat", stat15, sizeof(stat15) - 1, &err));
	const struct wakeif_topology *t = tf_build(tree);
	assert_int_equal(t->flags, 0);
	assert_string_equal(tf_domains_full(t, 2), "SMT[2-3]:111:" BASE "|SMT|LLC|PREFER MC[0-3]:118:NEWIDLE|LLC");
	wi_topology_free(t);

	/* an old kernel: numbers, and elsewhere */
	tree = tf_machine_tree(&m);
	put_domains(tree, "proc/sys/kernel/sched_domain", "4783", "559");
	t = tf_build(tree);
	assert_string_equal(tf_domains_full(t, 2), "SMT[2-3]:111:" BASE "|SMT|LLC|PREFER MC[0-3]:118:" BASE "|LLC");
	assert_int_equal(t->flags, WAKEIF_TOPO_DOMAINS_DERIVED); /* spans by name */
	wi_topology_free(t);

	/* schedstat alone, where it adds nothing unknown: spans are the kernel's, the rest follows from them */
	for (int v = 0; v < 2; v++) {
		tree = tf_machine_tree(&m);
		const char *stat = v ? stat17 : stat15;
		assert_true(wi_filetree_add(tree, "proc/schedstat", stat, strlen(stat), &err));
		t = tf_build(tree);
		assert_int_equal(t->flags, 0);
		assert_string_equal(tf_domains(t, 2), "SMT[2-3] MC[0-3]");
		wi_topology_free(t);
	}

	/* a cpuset partition: 2-3 on their own, 1 without domains */
	static const char part[] = "version 15\ncpu0 0\ncpu1 0\ncpu2 0\ndomain0 c 0\ncpu3 0\ndomain0 c 0\n";
	tree = tf_machine_tree(&m);
	assert_true(wi_filetree_add(tree, "proc/schedstat", part, sizeof(part) - 1, &err));
	t = tf_build(tree);
	assert_string_equal(tf_list(t, t->isolated), "0-1");
	assert_string_equal(tf_domains(t, 2), "SMT[2-3]");
	assert_int_equal(t->llc_size[2], 2);
	assert_int_equal(t->llc_size[0], 1);
	wi_topology_free(t);

	/* domains that cannot be (CPU 2 is not in its own): derived, and said so */
	static const char wrong[] =
		"version 15\ncpu0 0\ndomain0 3 0\ncpu1 0\ndomain0 3 0\ncpu2 0\ndomain0 3 0\ncpu3 0\ndomain0 c 0\n";
	tree = tf_machine_tree(&m);
	assert_true(wi_filetree_add(tree, "proc/schedstat", wrong, sizeof(wrong) - 1, &err));
	t = tf_build(tree);
	assert_int_equal(t->flags, WAKEIF_TOPO_DOMAINS_DERIVED);
	assert_string_equal(tf_domains(t, 2), "SMT[2-3] MC[0-3]");
	assert_non_null(strstr(t->note, "contradict"));
	wi_topology_free(t);
}

static void domains_by_kernel(void **state)
{
	(void)state;
	const struct tf_machine m = {
		.packages = 2, .nodes_per_package = 2, .llcs_per_node = 2, .cores_per_llc = 2, .threads = 1
	};
	static const struct {
		const char *files, *expect;
	} cases[] = {
		{ "proc/sys/kernel/osrelease=6.7.1", "MC[0-1] PKG[0-3] NUMA[0-7] NUMA[0-15]" },
		{ "proc/version=Linux version 6.6.0-rc1 (x)", "MC[0-1] DIE[0-3] NUMA[0-7] NUMA[0-15]" },
		{ "proc/cpuinfo=vendor_id\t: AuthenticAMD", "MC[0-1] NODE[0-3] NUMA[0-7] NUMA[0-15]" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct wi_filetree *tree = tf_machine_tree(&m);
		char line[128];

		snprintf(line, sizeof(line), "%s\n", cases[i].files);
		tf_put(tree, line);
		const struct wakeif_topology *t = tf_build(tree);
		assert_string_equal(tf_domains(t, 0), cases[i].expect);
		wi_topology_free(t);
	}
	/* 5.4: outer levels had 125 */
	struct wi_filetree *tree = tf_machine_tree(&m);
	tf_put(tree, "proc/sys/kernel/osrelease=5.4.0-1-amd64\n");
	const struct wakeif_topology *t = tf_build(tree);
	assert_string_equal(tf_domains_full(t, 0), "MC[0-1]:117:" BASE "|LLC|PREFER DIE[0-3]:125:" BASE "|PREFER "
						   "NUMA[0-7]:125:" BASE "|NUMA NUMA[0-15]:125:NEWIDLE|NUMA");
	wi_topology_free(t);
	static const char zen[] = "vendor_id\t: AuthenticAMD\ncpu family\t: 25\n";
	/* Zen raises node_reclaim_distance to 32 */
	tree = tf_machine_tree(&m);
	assert_true(wi_filetree_add(tree, "proc/cpuinfo", zen, sizeof(zen) - 1, &(struct wi_err){ 0 }));
	t = tf_build(tree);
	assert_int_equal(t->domains[0][3].flags & WAKEIF_SD_WAKE_AFFINE, WAKEIF_SD_WAKE_AFFINE);
	wi_topology_free(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(regular_machine),
		cmocka_unit_test(one_cpu),
		cmocka_unit_test(b31_holes_and_offline),
		cmocka_unit_test(b32_masks_disagree),
		cmocka_unit_test(b33_cpu0_offline),
		cmocka_unit_test(b34_first_sibling_offline),
		cmocka_unit_test(b36_llc_across_nodes),
		cmocka_unit_test(b37_no_cache_dir),
		cmocka_unit_test(no_l3),
		cmocka_unit_test(b38_list_grammar),
		cmocka_unit_test(b39_any_numbering),
		cmocka_unit_test(b40_hex_masks),
		cmocka_unit_test(b41_many_cpus),
		cmocka_unit_test(b43_packages_cross_nodes),
		cmocka_unit_test(b44_cores_in_no_node),
		cmocka_unit_test(b45_hybrid),
		cmocka_unit_test(b46_lacks_cpus),
		cmocka_unit_test(core_across_nodes),
		cmocka_unit_test(core_across_llcs),
		cmocka_unit_test(core_across_llcs_upwards),
		cmocka_unit_test(instruction_caches),
		cmocka_unit_test(some_caches_unknown),
		cmocka_unit_test(masks_disagree_about_offline),
		cmocka_unit_test(cpu_in_two_nodes),
		cmocka_unit_test(core_ids_repeat),
		cmocka_unit_test(clusters),
		cmocka_unit_test(isolated_cpus),
		cmocka_unit_test(domains_read),
		cmocka_unit_test(domains_by_kernel),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
