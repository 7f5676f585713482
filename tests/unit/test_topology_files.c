/* SPDX-License-Identifier: GPL-2.0-or-later */
/* File trees, archives good and hostile, and the capture of a machine. */
#include <archive.h>
#include <archive_entry.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cmocka.h>

#include "analyzer/base/cpumask.h"
#include "analyzer/topology/capture.h"
#include "analyzer/topology/tasks.h"
#include "tests/unit/topo_fixture.h"

static void add(struct wi_filetree *t, const char *path, const char *content)
{
	struct wi_err err = { WI_OK, "" };

	if (!wi_filetree_add(t, path, content, strlen(content), &err))
		fail_msg("%s", err.msg);
}

static void normalised(void **state)
{
	(void)state;
	static const char *const cases[][2] = {
		{ "sys/a", "sys/a" },
		{ "/sys/a", "sys/a" },
		{ "./sys/a", "sys/a" },
		{ "././/x86_64-64cpu/sys//a", "sys/a" },
		{ "a/b/c/proc/stat", "proc/stat" },
		{ "proc/sys/kernel/x", "proc/sys/kernel/x" },
		{ "sys/proc/x", "sys/proc/x" },
		{ "xsys/y", "xsys/y" },
		{ "d/tasks", "tasks" },
		{ "d/tasks.before", "tasks.before" },
		{ "d/tasks.d/x", "d/tasks.d/x" },
		{ "topology/node12/cpu3/topology/core_id", "sys/devices/system/node/node12/cpu3/topology/core_id" },
		{ "dir/topology/node0/cpu3/x", "sys/devices/system/node/node0/cpu3/x" },
		{ "topology/nodes", "topology/nodes" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct wi_filetree *t = wi_filetree_new();

		add(t, cases[i][0], "x");
		assert_string_equal(wi_filetree_at(t, 0).path, cases[i][1]);
		wi_filetree_free(t);
	}
}

static void refused_names(void **state)
{
	(void)state;
	struct wi_filetree *t = wi_filetree_new();
	char longer[WI_FILETREE_MAX_PATH + 100];

	memset(longer, 'a', sizeof(longer));
	longer[sizeof(longer) - 1] = '\0';
	const char *const bad[] = { "", "/", ".", "../etc/passwd", "sys/../x", "a/..", longer };
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		struct wi_err err = { WI_OK, "" };

		assert_false(wi_filetree_add(t, bad[i], "x", 1, &err));
		assert_int_equal(err.code, WI_EREFUSED);
	}
	assert_int_equal(wi_filetree_count(t), 0);
	assert_null(wi_filetree_get(t, "x", NULL));
	wi_filetree_free(t);
	wi_filetree_free(NULL);
}

static void get_and_iterate(void **state)
{
	(void)state;
	struct wi_filetree *t = wi_filetree_new();
	struct wi_err err = { WI_OK, "" };
	struct wi_file f;
	char path[64];
	size_t len, at = 0, nr = 0;
	char *last = strdup("");

	for (int i = 4999; i >= 0; i--) {
		snprintf(path, sizeof(path), "sys/%c/%d", "abc"[i % 3], i);
		add(t, path, path);
	}
	assert_int_equal(wi_filetree_count(t), 5000);
	assert_string_equal(wi_filetree_get(t, "sys/a/3", &len), "sys/a/3");
	assert_int_equal(len, 7);
	assert_null(wi_filetree_get(t, "sys/a/4", NULL));
	while (wi_filetree_next(t, "sys/b/", &at, &f)) {
		assert_true(strcmp(last, f.path) < 0);
		free(last);
		last = strdup(f.path);
		assert_true(!strncmp(f.path, "sys/b/", 6));
		nr++;
	}
	assert_int_equal(nr, 1667);
	free(last);
	at = 0;
	assert_false(wi_filetree_next(t, "sys/d", &at, &f));
	for (at = nr = 0; wi_filetree_next(t, "", &at, &f);)
		nr++;
	assert_int_equal(nr, 5000);
	/* bytes with a NUL, replaced, empty */
	assert_true(wi_filetree_add(t, "sys/a/3", "x\0y", 3, &err));
	assert_int_equal(wi_filetree_count(t), 5000);
	assert_memory_equal(wi_filetree_get(t, "sys/a/3", &len), "x\0y", 4);
	assert_int_equal(len, 3);
	add(t, "sys/empty", "");
	assert_string_equal(wi_filetree_get(t, "sys/empty", &len), "");
	assert_int_equal(len, 0);
	wi_filetree_free(t);
}

static void bounded(void **state)
{
	(void)state;
	struct wi_filetree *t = wi_filetree_new();
	struct wi_err err = { WI_OK, "" };
	char *block = calloc(1, 32 << 20);
	char path[32];
	int n = 0;

	for (; n < 20; n++) {
		snprintf(path, sizeof(path), "sys/%d", n);
		if (!wi_filetree_add(t, path, block, 32 << 20, &err))
			break;
	}
	assert_int_equal(n, 7); /* eight of them and a path are more than the bound */
	assert_int_equal(err.code, WI_EREFUSED);
	free(block);
	wi_filetree_free(t);
}

static void wanted(void **state)
{
	(void)state;
	static const char *const yes[] = {
		"sys/devices/system/cpu/online",
		"sys/devices/system/cpu/cpu12/topology/core_id",
		"sys/devices/system/cpu/cpu0/cache/index3/shared_cpu_list",
		"sys/devices/system/cpu/smt/active",
		"sys/devices/system/node/node3/distance",
		"sys/devices/system/node/has_cpu",
		"sys/kernel/debug/sched/features",
		"sys/kernel/debug/sched/domains/cpu3/domain1/flags",
		"proc/sys/kernel/sched_domain/cpu0/domain0/name",
		"proc/schedstat",
		"proc/cmdline",
		"proc/sys/kernel/numa_balancing",
		"tasks",
		"tasks.before",
	};
	static const char *const no[] = {
		"sys/devices/system/cpu/cpu0/cache/index3/power/async",
		"sys/devices/system/cpu/cpu0/cpufreq/x",
		"sys/devices/system/cpu/cpux/topology/core_id",
		"sys/kernel/debug/sched/debug",
		"sys/kernel/debug/sched/domains/cpu3/domain1/max_newidle_lb_cost",
		"proc/kcore",
		"proc/1/stat",
		"etc/passwd",
		"tasksel",
	};

	for (size_t i = 0; i < sizeof(yes) / sizeof(*yes); i++)
		assert_true(wi_filetree_wants(yes[i]));
	for (size_t i = 0; i < sizeof(no) / sizeof(*no); i++)
		assert_false(wi_filetree_wants(no[i]));
}

/* ---- archives ---- */

struct member {
	const char *path, *content, *link; /* link: a symbolic link there; content NULL and link NULL: a folder */
	bool hard;
};

static void write_archive(const char *name, const struct member *m, size_t nr)
{
	struct archive *a = archive_write_new();

	archive_write_set_format_pax(a);
	archive_write_add_filter_gzip(a);
	assert_int_equal(archive_write_open_filename(a, name), ARCHIVE_OK);
	for (size_t i = 0; i < nr; i++) {
		struct archive_entry *e = archive_entry_new();

		archive_entry_set_pathname(e, m[i].path);
		archive_entry_set_perm(e, 0644);
		archive_entry_set_filetype(e, m[i].link && !m[i].hard ? AE_IFLNK : m[i].content ? AE_IFREG : AE_IFDIR);
		if (m[i].hard)
			archive_entry_set_hardlink(e, m[i].link);
		else if (m[i].link)
			archive_entry_set_symlink(e, m[i].link);
		archive_entry_set_size(e, m[i].content ? (la_int64_t)strlen(m[i].content) : 0);
		assert_int_equal(archive_write_header(a, e), ARCHIVE_OK);
		if (m[i].content)
			archive_write_data(a, m[i].content, strlen(m[i].content));
		archive_entry_free(e);
	}
	archive_write_close(a);
	archive_write_free(a);
}

static void hostile_archive(void **state)
{
	(void)state;
	static const struct member m[] = {
		{ "x/sys/devices/system/cpu/online", "0-1\n", NULL, false },
		{ "../sys/devices/system/cpu/present", "0-9\n", NULL, false },
		{ "/sys/../sys/devices/system/cpu/isolated", "1\n", NULL, false },
		{ "x/sys/devices/system/cpu/possible", NULL, "/etc/passwd", false },
		{ "x/sys/devices/system/cpu/offline", "", "x/sys/devices/system/cpu/online", true },
		{ "x/sys/devices/system/cpu/cpu0", NULL, NULL, false },
		{ "x/proc/kcore", "zzz", NULL, false },
	};
	struct wi_filetree *t = wi_filetree_new();
	struct wi_err err = { WI_OK, "" };

	write_archive("topo-hostile.tar.gz", m, sizeof(m) / sizeof(*m));
	bool ok = wi_filetree_add_archive(t, "topo-hostile.tar.gz", &err);
	unlink("topo-hostile.tar.gz");
	assert_true(ok);
	assert_int_equal(wi_filetree_count(t), 1);
	assert_string_equal(wi_filetree_get(t, "sys/devices/system/cpu/online", NULL), "0-1\n");
	wi_filetree_free(t);
}

/* Cut anywhere: an error or, where only the padding is gone, the whole; never a part without a word. */
static void cut_archive(void **state)
{
	(void)state;
	static const char name[] = "topo-cut.tar.gz";
	const struct tf_machine machine = { .cores_per_llc = 2, .threads = 2 };
	struct wi_filetree *tree = tf_machine_tree(&machine);
	struct wi_err err = { WI_OK, "" };
	char whole[65536];

	assert_true(wi_capture_write_tar(tree, name, &err));
	FILE *f = fopen(name, "r");
	size_t len = fread(whole, 1, sizeof(whole), f);
	fclose(f);
	for (size_t cut = 0; cut < len; cut += cut < 64 ? 1 : 37) {
		struct wi_filetree *t = wi_filetree_new();

		f = fopen(name, "w");
		fwrite(whole, 1, cut, f);
		fclose(f);
		err = (struct wi_err){ WI_OK, "" };
		bool ok = wi_filetree_add_archive(t, name, &err);
		if (ok && wi_filetree_count(t) != wi_filetree_count(tree))
			fail_msg("cut at %zu of %zu: %zu of %zu files without an error", cut, len, wi_filetree_count(t),
				 wi_filetree_count(tree));
		if (!ok)
			assert_int_equal(err.code, WI_EREFUSED);
		wi_filetree_free(t);
	}
	unlink(name);
	wi_filetree_free(tree);
}

static void no_topology_in_it(void **state)
{
	(void)state;
	static const struct member m[] = { { "etc/passwd", "root\n", NULL, false } };
	struct wi_filetree *t = wi_filetree_new();
	struct wi_err err = { WI_OK, "" };

	write_archive("topo-other.tar.gz", m, 1);
	bool ok = wi_filetree_add_archive(t, "topo-other.tar.gz", &err);
	unlink("topo-other.tar.gz");
	assert_false(ok);
	assert_int_equal(err.code, WI_EREFUSED);
	err = (struct wi_err){ WI_OK, "" };
	assert_false(wi_filetree_add_archive(t, "no-such-file", &err));
	assert_int_equal(err.code, WI_EIO);
	err = (struct wi_err){ WI_OK, "" };
	assert_int_equal(mkdir("topo-empty", 0700), 0);
	ok = wi_filetree_add_dir(t, "topo-empty", &err);
	rmdir("topo-empty");
	assert_false(ok);
	assert_int_equal(err.code, WI_EREFUSED);
	wi_filetree_free(t);
}

/* A folder with links and a pipe in it: links are not followed, pipes not waited for. */
static void hostile_folder(void **state)
{
	(void)state;
	struct wi_filetree *t = wi_filetree_new();
	struct wi_err err = { WI_OK, "" };

	assert_int_equal(system("mkdir -p topo-dir/m/sys/devices/system/cpu/cpu0/topology && cd "
				"topo-dir/m/sys/devices/system/cpu && echo 0 > online && "
				"ln -s /etc/passwd present && mkfifo isolated && echo 0 > cpu0/topology/core_id && ln "
				"-s . cpu1 && ln -s ../.. cpu0/cache"),
			 0);
	bool ok = wi_filetree_add_dir(t, "topo-dir", &err);
	assert_int_equal(system("rm -rf topo-dir"), 0);
	assert_true(ok);
	assert_int_equal(wi_filetree_count(t), 2);
	assert_non_null(wi_filetree_get(t, "sys/devices/system/cpu/cpu0/topology/core_id", NULL));
	wi_filetree_free(t);
}

/* ---- capture ---- */

static void capture_and_back(void **state)
{
	(void)state;
	static const char *const names[] = { "topo-capture.tar.gz", "topo-capture.tar", "topo-capture.tar.zst",
					     "topo-capture.tar.xz", "topo-capture.tar.bz2" };
	struct wi_err err = { WI_OK, "" };
	struct wi_filetree *tree = wi_capture_live(&err);

	if (!tree)
		fail_msg("%s", err.msg);
	const struct wakeif_topology *live = wi_topology_from_tree(tree, "live", &err);
	assert_non_null(live);
	tf_invariants(live);
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		struct wi_filetree *back = wi_filetree_new();
		struct wi_file f;
		size_t at = 0;

		if (!wi_capture_write_tar(tree, names[i], &err) || !wi_filetree_add_archive(back, names[i], &err))
			fail_msg("%s", err.msg);
		const struct wakeif_topology *t = tf_load(names[i]);
		unlink(names[i]);
		assert_int_equal(wi_filetree_count(back), wi_filetree_count(tree));
		while (wi_filetree_next(tree, "", &at, &f)) {
			size_t len;
			const char *bytes = wi_filetree_get(back, f.path, &len);

			assert_non_null(bytes);
			assert_int_equal(len, f.len);
			assert_memory_equal(bytes, f.bytes, len);
		}
		for (int s = 0; s < WAKEIF_NR_SCOPES; s++) {
			char *groups = strdup(tf_groups(live, (enum wakeif_scope)s));

			assert_string_equal(tf_groups(t, (enum wakeif_scope)s), groups);
			free(groups);
		}
		wi_topology_free(t);
		wi_filetree_free(back);
	}
	wi_topology_free(live);
	wi_filetree_free(tree);
}

static void captured_tasks(void **state)
{
	(void)state;
	struct wi_err err = { WI_OK, "" };
	struct wi_filetree *tree = wi_capture_live(&err);
	struct wi_tasks *tasks = NULL;

	assert_non_null(tree);
	if (!wi_tasks_add_tree(&tasks, tree, "capture", &err))
		fail_msg("%s", err.msg);
	const struct wi_task_entry *me = wi_tasks_find(tasks, (int32_t)syscall(SYS_gettid));
	assert_non_null(me);
	assert_int_equal(me->tgid, getpid());
	assert_string_equal(me->comm, "test_topology_f");
	assert_int_equal(me->policy, WAKEIF_POLICY_NORMAL);
	assert_int_equal(me->rtprio, 0);
	assert_int_equal(me->nice, 0 + nice(0));
	assert_non_null(me->allowed);
	assert_true(me->cpu >= 0);
	wi_tasks_free(tasks);
	wi_filetree_free(tree);
}

static void write_text(const char *path, const char *text)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

/* Another root: names with blanks, brackets and tabs, real-time tasks, cgroup v1, threads that vanish, sched/verbose.
 */
static void captured_root(void **state)
{
	(void)state;
	struct wi_err err = { WI_OK, "" };
	struct wi_tasks *tasks = NULL;
	char verbose[8] = "";

	assert_int_equal(system("mkdir -p topo-root/proc/12/task/12 topo-root/proc/12/task/13 topo-root/proc/7/task/7 "
				"topo-root/proc/9/task/9 "
				"topo-root/sys/devices/system/cpu/cpu0/topology topo-root/sys/kernel/debug/sched"),
			 0);
	write_text("topo-root/sys/devices/system/cpu/online", "0-1\n");
	write_text("topo-root/sys/kernel/debug/sched/verbose", "N\n");
	write_text("topo-root/sys/kernel/debug/sched/features", "SIS_UTIL\n");
	write_text("topo-root/proc/12/autogroup", "/autogroup-3 nice 0\n");
	write_text("topo-root/proc/12/task/12/stat", "12 (a ) b\t(c) S 1 12 12 0 -1 4194304 1 0 0 0 0 0 0 0 25 5 2 0 "
						     "100 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 17 1 0 3 0 0 0\n");
	write_text("topo-root/proc/12/task/12/status",
		   "Name:\ta\nCpus_allowed:\t3\nCpus_allowed_list:\t0-1\nMems_allowed:\t1\n");
	write_text("topo-root/proc/12/task/12/cgroup", "5:memory:/m\n4:cpu,cpuacct:/web\n0::/\n");
	write_text("topo-root/proc/12/task/13/stat", "13 (rt) R 1 12 12 0 -1 0 0 0 0 0 0 0 0 0 -51 0 2 0 100 0 0 0 0 0 "
						     "0 0 0 0 0 0 0 0 0 0 17 0 50 1 0 0 0\n");
	write_text("topo-root/proc/12/task/13/cgroup", "1:name=systemd:/x\n0::/user\n");
	write_text("topo-root/proc/7/task/7/stat", "7 (x\n");
	struct wi_filetree *tree = wi_capture_root("topo-root", true, &err);
	FILE *f = fopen("topo-root/sys/kernel/debug/sched/verbose", "r");
	assert_int_equal(fread(verbose, 1, 2, f), 2);
	fclose(f);
	assert_int_equal(system("rm -rf topo-root"), 0);
	if (!tree)
		fail_msg("%s", err.msg);
	assert_string_equal(verbose, "N\n"); /* as it was */
	assert_string_equal(wi_filetree_get(tree, "sys/kernel/debug/sched/verbose", NULL), "Y\n");
	assert_non_null(wi_filetree_get(tree, "sys/kernel/debug/sched/features", NULL));
	if (!wi_tasks_add_tree(&tasks, tree, "capture", &err))
		fail_msg("%s", err.msg);
	assert_int_equal(tasks->nr, 2);
	const struct wi_task_entry *p = wi_tasks_find(tasks, 12);
	assert_string_equal(p->comm, "a ) b\t(c");
	assert_int_equal(p->nice, 5);
	assert_int_equal(p->policy, WAKEIF_POLICY_BATCH);
	assert_int_equal(p->cpu, 1);
	assert_string_equal(p->cgroup, "4:cpu,cpuacct:/web");
	assert_string_equal(p->autogroup, "/autogroup-3");
	assert_int_equal(wi_mask_weight(p->allowed, p->allowed_words), 2);
	p = wi_tasks_find(tasks, 13);
	assert_int_equal(p->policy, WAKEIF_POLICY_FIFO);
	assert_int_equal(p->rtprio, 50);
	assert_null(p->allowed);
	assert_int_equal(p->tgid, 12);
	assert_string_equal(p->cgroup, "0::/user");
	wi_tasks_free(tasks);
	wi_filetree_free(tree);
}

static void same_tree_same_bytes(void **state)
{
	(void)state;
	const struct tf_machine m = { .cores_per_llc = 2, .threads = 2 };
	struct wi_err err = { WI_OK, "" };
	struct wi_filetree *a = tf_machine_tree(&m), *b = wi_filetree_new();

	for (size_t i = wi_filetree_count(a); i--;) {
		struct wi_file f = wi_filetree_at(a, i);

		assert_true(wi_filetree_add(b, f.path, f.bytes, f.len, &err));
	}
	assert_true(wi_capture_write_tar(a, "topo-a.tar.gz", &err));
	sleep(1); /* a time stamp would differ */
	assert_true(wi_capture_write_tar(b, "topo-b.tar.gz", &err));
	int differ = system("cmp -s topo-a.tar.gz topo-b.tar.gz");
	unlink("topo-a.tar.gz");
	unlink("topo-b.tar.gz");
	assert_int_equal(differ, 0);
	assert_false(wi_capture_write_tar(a, "no-such-folder/x.tar.gz", &err));
	assert_int_equal(err.code, WI_EIO);
	wi_filetree_free(a);
	wi_filetree_free(b);
}

/* A folder of its own: the names below are fixed, and two of these may run at once. */
static char own[4096];

static int enter(void **state)
{
	const char *tmp = getenv("TMPDIR");

	(void)state;
	snprintf(own, sizeof(own), "%s/topo-files-XXXXXX", tmp && *tmp ? tmp : P_tmpdir);
	return !mkdtemp(own) || chdir(own);
}

static int leave(void **state)
{
	(void)state;
	return chdir("..") || rmdir(own);
}

/* A device that takes nothing, and a link to it, are still there after the failed write. */
static void failed_capture_removes_no_device(void **state)
{
	(void)state;
	struct wi_filetree *t = wi_filetree_new();
	struct wi_err err = { WI_OK, "" };
	struct stat st;

	if (stat("/dev/full", &st) || !S_ISCHR(st.st_mode)) {
		printf("skipped: /dev/full is no device here\n");
		wi_filetree_free(t);
		skip();
	}
	add(t, "proc/version", "Linux version 6.1\n");
	assert_int_equal(symlink("/dev/full", "topo-link"), 0);
	assert_false(wi_capture_write_tar(t, "topo-link", &err));
	assert_int_equal(err.code, WI_EIO);
	assert_int_equal(lstat("topo-link", &st), 0);
	assert_true(S_ISLNK(st.st_mode));
	unlink("topo-link");
	if (!mknod("topo-node", S_IFCHR | 0600, makedev(1, 7))) { /* as root only */
		err = (struct wi_err){ WI_OK, "" };
		assert_false(wi_capture_write_tar(t, "topo-node", &err));
		assert_int_equal(lstat("topo-node", &st), 0);
		assert_true(S_ISCHR(st.st_mode));
		unlink("topo-node");
	}
	wi_filetree_free(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(failed_capture_removes_no_device),
		cmocka_unit_test(normalised),
		cmocka_unit_test(refused_names),
		cmocka_unit_test(get_and_iterate),
		cmocka_unit_test(bounded),
		cmocka_unit_test(wanted),
		cmocka_unit_test(hostile_archive),
		cmocka_unit_test(cut_archive),
		cmocka_unit_test(no_topology_in_it),
		cmocka_unit_test(hostile_folder),
		cmocka_unit_test(capture_and_back),
		cmocka_unit_test(captured_tasks),
		cmocka_unit_test(captured_root),
		cmocka_unit_test(same_tree_same_bytes),
	};

	return cmocka_run_group_tests(tests, enter, leave);
}
