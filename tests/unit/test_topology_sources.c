/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Kinds of source: lscpu text, synthetic strings, XML, SchedViz archives, this machine, nothing, and what is none. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#include <hwloc.h>

#include "analyzer/base/cpumask.h"
#include "analyzer/base/kernel.h"
#include "analyzer/topology/sysinfo.h"
#include "tests/unit/topo_fixture.h"

static const char *temp_file(const char *content, size_t len)
{
	static char name[256];
	const char *tmp = getenv("TMPDIR");
	int fd;

	snprintf(name, sizeof(name), "%s/topo-test-XXXXXX", tmp && *tmp ? tmp : P_tmpdir);
	fd = mkstemp(name);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, content, len), (ssize_t)len);
	close(fd);
	return name;
}

static const struct wakeif_topology *load_text(const char *content, struct wi_err *err)
{
	const char *name = temp_file(content, strlen(content));
	const struct wakeif_topology *t = wi_topology_load(name, err);

	unlink(name);
	if (t)
		tf_invariants(t);
	return t;
}

static void lscpu_text(void **state)
{
	(void)state;
	struct wi_err err = { WI_OK, "" };
	const struct wakeif_topology *t;

	/* any columns, empty cells, offline CPUs */
	t = load_text("# The following\n# "
		      "Online,CPU,Core,Socket,Node,,L3,L1d,MAXMHZ\nY,0,0,0,0,,0,0,3000.0\nY,1,0,0,0,,0,0,\nN,2,,,,,,,"
		      "\nY,4,1,1,1,,1,1,\n",
		      &err);
	assert_non_null(t);
	assert_true(!strncmp(t->source, "lscpu ", 6));
	assert_string_equal(tf_list(t, t->present), "0-2,4");
	assert_string_equal(tf_list(t, t->online), "0-1,4");
	assert_string_equal(tf_groups(t, WAKEIF_CORE), "{0-1} {2} {4}");
	assert_string_equal(tf_groups(t, WAKEIF_NODE), "{0-1} {2} {4}");
	assert_string_equal(tf_domains(t, 0), "SMT[0-1] NUMA[0-1,4]");
	wi_topology_free(t);

	/* only CPU and core */
	t = load_text("# CPU,Core\n0,0\n1,1\n2,0\n3,1\n", &err);
	assert_string_equal(tf_groups(t, WAKEIF_CORE), "{0,2} {1,3}");
	assert_true(t->flags & WAKEIF_TOPO_NO_CACHE_INFO);
	wi_topology_free(t);

	/* no header: the columns of a plain lscpu -p; core numbers that repeat per package */
	t = load_text("0,0,0,0,,0,0,0,0\n1,1,0,0,,1,1,1,0\n2,0,1,1,,2,2,2,1\n3,1,1,1,,3,3,3,1\n", &err);
	assert_string_equal(tf_groups(t, WAKEIF_CORE), "{0} {1} {2} {3}");
	assert_string_equal(tf_groups(t, WAKEIF_LLC), "{0-1} {2-3}");
	wi_topology_free(t);

	t = load_text("# CPU,Core,Socket\n0,0,0\n1,1,0\n2,0,1\n3,1,1\n", &err);
	assert_string_equal(tf_groups(t, WAKEIF_CORE), "{0} {1} {2} {3}");
	wi_topology_free(t);

	/* lscpu -e */
	t = load_text(
		"CPU NODE SOCKET CORE L1d:L1i:L2:L3 ONLINE MAXMHZ\n  0    0      0    0 0:0:0:0          yes 4000\n  1 "
		"   0      0    0 0:0:0:0          yes 4000\n  2    -      -    - -                 no    -\n",
		&err);
	assert_non_null(t);
	assert_string_equal(tf_groups(t, WAKEIF_CORE), "{0-1} {2}");
	assert_string_equal(tf_list(t, t->online), "0-1");
	assert_false(t->flags & WAKEIF_TOPO_NO_CACHE_INFO);
	wi_topology_free(t);

	static const char *const bad[] = { "# CPU,Core\n0,x\n",
					   "# CPU,Core\n0,0,0\n",
					   "# CPU,Core\n,0\n",
					   "# CPU,Core\n99999999,0\n",
					   "# CPU,Core\n",
					   "CPUS\n",
					   "#\n" };
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		err = (struct wi_err){ WI_OK, "" };
		assert_null(load_text(bad[i], &err));
		assert_int_equal(err.code, WI_EREFUSED);
	}
	assert_null(load_text("# CPU,Core\n0,0\n1,zz\n", &(struct wi_err){ 0 }));
	err = (struct wi_err){ WI_OK, "" };
	load_text("# CPU,Core\n0,0\n1,zz\n", &err);
	assert_non_null(strstr(err.msg, "@0xf: not a number in lscpu text: \"zz\""));
}

static void synthetic(void **state)
{
	(void)state;
	struct wi_err err = { WI_OK, "" };
	const struct wakeif_topology *t = tf_load("pack:2 l3:1 core:4 pu:2");

	assert_string_equal(t->source, "synthetic pack:2 l3:1 core:4 pu:2");
	assert_string_equal(tf_groups(t, WAKEIF_LLC), "{0-7} {8-15}");
	assert_string_equal(tf_groups(t, WAKEIF_NODE), "{0-15}");
	assert_int_equal(t->smt, 2);
	wi_topology_free(t);
	t = tf_load("numa:4 l3:2 core:2 pu:1");
	assert_int_equal(t->nr_groups[WAKEIF_NODE], 4);
	assert_int_equal(t->nr_groups[WAKEIF_LLC], 8);
	wi_topology_free(t);
	t = tf_load("pack:2 core:2 pu:8");
	assert_int_equal(t->smt, 8);
	assert_true(t->flags & WAKEIF_TOPO_NO_CACHE_INFO);
	wi_topology_free(t);

	static const char *const bad[] = {
		"pack:x", "pu:", "pack:0 pu:1", "foo:2 bar:3", ":", "pu:10000000", "pack:999999 core:999999"
	};
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		err = (struct wi_err){ WI_OK, "" };
		assert_null(wi_topology_load(bad[i], &err));
		assert_int_equal(err.code, WI_EREFUSED);
	}
	/* nothing of what hwloc was told stays in the environment for children */
	assert_null(getenv("HWLOC_PLUGINS_PATH"));
}

static char *xml_of(const char *spec, int *len)
{
	hwloc_topology_t h;
	char *xml, *copy;

	setenv("HWLOC_PLUGINS_PATH", "/nonexistent", 1);
	assert_int_equal(hwloc_topology_init(&h), 0);
	assert_int_equal(hwloc_topology_set_synthetic(h, spec), 0);
	assert_int_equal(hwloc_topology_load(h), 0);
	assert_int_equal(hwloc_topology_export_xmlbuffer(h, &xml, len, 0), 0);
	copy = strdup(xml);
	hwloc_free_xmlbuffer(h, xml);
	hwloc_topology_destroy(h);
	unsetenv("HWLOC_PLUGINS_PATH");
	return copy;
}

static void xml(void **state)
{
	(void)state;
	struct wi_err err = { WI_OK, "" };
	int len;
	char *text = xml_of("numa:2 l3:2 l2:2 core:2 pu:2", &len);
	const struct wakeif_topology *t = load_text(text, &err);

	assert_non_null(t);
	assert_true(!strncmp(t->source, "hwloc xml ", 10));
	assert_string_equal(tf_groups(t, WAKEIF_LLC), "{0-7} {8-15} {16-23} {24-31}");
	assert_string_equal(tf_groups(t, WAKEIF_CLUSTER), "{0-3} {4-7} {8-11} {12-15} {16-19} {20-23} {24-27} {28-31}");
	assert_string_equal(tf_domains(t, 0), "SMT[0-1] CLS[0-3] MC[0-7] PKG[0-15] NUMA[0-31]");
	assert_int_equal(t->node_id[31], 1);
	wi_topology_free(t);
	free(text);
}

/* hwloc itself crashes on some of these; here they are a topology or an error, and nothing is left running. */
static void damaged_xml(void **state)
{
	(void)state;
	static const char *const nasty[] = { "",      "-1",	 "4294967296", "0xffffffff,0xffffffff",
					     "65535", "0xf...f", "PU",	       "Core" };
	int len, refused = 0, taken = 0;
	char *text = xml_of("numa:2 l3:1 core:2 pu:2", &len);
	uint32_t seed = 1;

	for (int i = 0; i < 400; i++) {
		struct wi_err err = { WI_OK, "" };
		size_t n = strlen(text);
		char *bad = calloc(1, n + 64);

		seed = seed * 1664525 + 1013904223;
		size_t at = seed >> 8;
		at %= n;
		memcpy(bad, text, n);
		if (i % 4 == 0) {
			bad[at] = '\0';
		} else if (i % 4 == 1) {
			bad[at] = (char)('!' + i % 90);
		} else if (i % 4 == 2) {
			memmove(bad + at, bad + at + (i % 50 < (int)(n - at) ? i % 50 : 0),
				strlen(bad + at + (i % 50 < (int)(n - at) ? i % 50 : 0)) + 1);
		} else { /* another value for some attribute */
			char *open = strchr(bad + at, '"'), *end = open ? strchr(open + 1, '"') : NULL;
			const char *value = nasty[(unsigned)i / 4 % 8];

			if (end) {
				memmove(open + 1 + strlen(value), end, strlen(end) + 1);
				memcpy(open + 1, value, strlen(value));
			}
		}
		const struct wakeif_topology *t = load_text(bad, &err);
		assert_true(t ? err.code == WI_OK : err.code == WI_EREFUSED && err.msg[0]);
		taken += t != NULL;
		refused += !t;
		wi_topology_free(t);
		free(bad);
	}
	assert_true(refused > 20);
	print_message("%d refused, %d still a topology\n", refused, taken);
	free(text);
}

static void fallback(void **state)
{
	(void)state;
	struct wi_err err = { WI_OK, "" };
	const struct wakeif_topology *t = wi_topology_fallback(6, &err);

	assert_non_null(t);
	tf_invariants(t);
	assert_true(t->flags & WAKEIF_TOPO_FALLBACK);
	assert_string_equal(tf_groups(t, WAKEIF_CORE), "{0} {1} {2} {3} {4} {5}");
	assert_string_equal(tf_groups(t, WAKEIF_LLC), "{0-5}");
	assert_string_equal(tf_groups(t, WAKEIF_NODE), "{0-5}");
	assert_int_equal(t->smt, 1);
	assert_string_equal(t->source, "fallback");
	assert_true(strlen(t->note) > 0);
	wi_topology_free(t);
	assert_null(wi_topology_fallback(0, &err));
	err = (struct wi_err){ WI_OK, "" };
	assert_null(wi_topology_fallback(WI_MAX_CPUS + 1, &err));
	assert_int_equal(err.code, WI_EREFUSED);
	err = (struct wi_err){ WI_OK, "" };
	assert_null(wi_topology_fallback(WI_FALLBACK_MAX_CPUS + 1, &err));
	assert_int_equal(err.code, WI_EREFUSED);
	t = wi_topology_fallback(WI_FALLBACK_MAX_CPUS, &err);
	tf_invariants(t);
	assert_int_equal(t->nr_groups[WAKEIF_CORE], WI_FALLBACK_MAX_CPUS);
	for (uint32_t c = 0; c < t->nr_cpus; c += 61) {
		assert_int_equal(wi_mask_weight(t->span[WAKEIF_CORE][c], t->nr_words), 1);
		assert_true(wi_mask_test(t->span[WAKEIF_CORE][c], c));
	}
	wi_topology_free(t);
	wi_topology_free(NULL);
}

static void refused(void **state)
{
	(void)state;
	struct wi_err err = { WI_OK, "" };

	assert_null(wi_topology_load("no-such-file", &err));
	assert_int_equal(err.code, WI_EIO);
	err = (struct wi_err){ WI_OK, "" };
	assert_null(load_text("", &err));
	assert_int_equal(err.code, WI_EREFUSED);
	err = (struct wi_err){ WI_OK, "" };
	assert_null(load_text("this is no topology\n", &err));
	assert_int_equal(err.code, WI_EREFUSED);
	err = (struct wi_err){ WI_OK, "" };
	assert_null(load_text("<?xml version=\"1.0\"?>\n<topology version=\"2.0\"><obj>\n", &err));
	assert_int_equal(err.code, WI_EREFUSED);
	err = (struct wi_err){ WI_OK, "" };
	struct wi_filetree *tree = wi_filetree_new();
	tf_put(tree, "proc/version=Linux\n");
	assert_null(wi_topology_from_tree(tree, "x.tar", &err));
	assert_int_equal(err.code, WI_EREFUSED);
	assert_non_null(strstr(err.msg, "x.tar: no CPU found"));
	wi_filetree_free(tree);
	/* a CPU list of sixty thousand CPUs costs nothing but an error */
	err = (struct wi_err){ WI_OK, "" };
	tree = wi_filetree_new();
	tf_put(tree, "cpu/present=0-65535\n");
	assert_null(wi_topology_from_tree(tree, "x.tar", &err));
	assert_non_null(strstr(err.msg, "impossible number of CPUs"));
	wi_filetree_free(tree);
	/* but a high number alone is all right */
	tree = wi_filetree_new();
	tf_put(tree, "cpu/present=0,65535\n");
	const struct wakeif_topology *t = tf_build(tree);
	assert_int_equal(t->nr_cpus, 65536);
	wi_topology_free(t);
}

static void live(void **state)
{
	(void)state;
	const struct wakeif_topology *t = tf_load("live");

	assert_int_equal(wi_mask_weight(t->online, t->nr_words), sysconf(_SC_NPROCESSORS_ONLN));
	wi_topology_free(t);
}

static void sched_viz_archive(void **state)
{
	(void)state;
	struct wi_filetree *tree = wi_filetree_new();
	struct wi_err err = { WI_OK, "" };

	for (int c = 0; c < 4; c++) {
		char path[128], text[16];
		int node = c / 2;

		snprintf(path, sizeof(path), "topology/node%d/cpu%d/topology/core_id", node, c);
		snprintf(text, sizeof(text), "%d\n", c);
		assert_true(wi_filetree_add(tree, path, text, strlen(text), &err));
		snprintf(path, sizeof(path), "topology/node%d/cpu%d/topology/physical_package_id", node, c);
		snprintf(text, sizeof(text), "%d\n", node);
		assert_true(wi_filetree_add(tree, path, text, strlen(text), &err));
	}
	const struct wakeif_topology *t = tf_build(tree);
	assert_string_equal(tf_groups(t, WAKEIF_NODE), "{0-1} {2-3}");
	assert_string_equal(tf_packages(t), "{0-1} {2-3}");
	assert_int_equal(t->core_id[3], 3);
	wi_topology_free(t);
}

static void system_facts(void **state)
{
	(void)state;
	struct wi_filetree *tree = wi_filetree_new();
	struct wi_err err = { WI_OK, "" };

	tf_put(tree,
	       "proc/version=Linux version 6.1.0-57-amd64 (x) #1 SMP\nproc/cmdline=quiet "
	       "nokaslr\nproc/sys/kernel/numa_balancing=1\n"
	       "proc/sys/kernel/sched_autogroup_enabled=0\nsys/kernel/debug/sched/features=GENTLE NO_SIS_PROP SIS_UTIL "
	       "\n"
	       "sys/kernel/debug/sched/preempt=none voluntary (full)\nsys/kernel/debug/sched/base_slice_ns=2800000\n"
	       "sys/kernel/debug/sched/numa_balancing/scan_delay_ms=1000\nproc/schedstat=timestamp "
	       "4294896790\nproc/uptime=18.02 1.0\n"
	       "cpu/smt/control=on\nsys/kernel/debug/sched/domains/cpu0/domain0/name=SMT\n");
	const struct wi_sysinfo *info = wi_sysinfo_from_tree(tree, &err);
	assert_non_null(info);
	assert_string_equal(info->release, "6.1.0-57-amd64");
	assert_int_equal(info->kernel, WI_KERNEL(6, 1));
	assert_string_equal(info->cmdline, "quiet nokaslr");
	assert_string_equal(info->preempt, "full");
	assert_string_equal(info->smt, "on");
	assert_int_equal(info->numa_balancing, 1);
	assert_int_equal(info->autogroup, 0);
	assert_int_equal(info->hz, 250);
	assert_int_equal(wi_sysinfo_feature(info, "SIS_UTIL"), 1);
	assert_int_equal(wi_sysinfo_feature(info, "SIS_PROP"), 0);
	assert_int_equal(wi_sysinfo_feature(info, "SIS"), -1);
	assert_string_equal(wi_sysinfo_setting(info, "base_slice_ns"), "2800000");
	assert_string_equal(wi_sysinfo_setting(info, "numa_balancing/scan_delay_ms"), "1000");
	assert_null(wi_sysinfo_setting(info, "latency_ns"));
	assert_int_equal(info->nr_settings, 4);
	wi_sysinfo_free(info);
	wi_filetree_free(tree);

	tree = wi_filetree_new();
	info = wi_sysinfo_from_tree(tree, &err);
	assert_string_equal(info->release, "");
	assert_int_equal(info->kernel, 0);
	assert_int_equal(info->numa_balancing, -1);
	assert_int_equal(info->hz, -1);
	assert_int_equal(wi_sysinfo_feature(info, "SIS_UTIL"), -1);
	assert_int_equal(info->nr_settings, 0);
	wi_sysinfo_free(info);
	wi_filetree_free(tree);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lscpu_text),  cmocka_unit_test(synthetic),	    cmocka_unit_test(xml),
		cmocka_unit_test(damaged_xml), cmocka_unit_test(fallback),	    cmocka_unit_test(refused),
		cmocka_unit_test(live),	       cmocka_unit_test(sched_viz_archive), cmocka_unit_test(system_facts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
