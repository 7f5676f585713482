/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What goes wrong with a database: other processes, locks, folders that cannot be written, full disks, damage. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "analyzer/store/db.h"
#include "analyzer/store/select.h"
#include "share.h"
#include "store_fixture.h"

static char *read_file(const char *path, size_t *nr)
{
	FILE *f = fopen(path, "rb");
	char *bytes = malloc(1 << 22);

	assert_non_null(f);
	*nr = fread(bytes, 1, 1 << 22, f);
	fclose(f);
	return bytes;
}

/* ---- other processes ---- */

static void two_writers(void **state)
{
	pid_t pid[2];

	(void)state;
	for (int k = 0; k < 2; k++) {
		pid[k] = fork();
		assert_true(pid[k] >= 0);
		if (pid[k])
			continue;
		struct wi_err err = { 0 };
		struct wi_store *store = wi_store_open(store_file("w"), WI_STORE_CREATE, &err);
		bool ok = store != NULL;

		for (uint32_t i = 0; ok && i < 60; i++) {
			struct wi_bundle b;

			store_plain(&b, i, k ? "one" : "two", "{}", i % 2 ? "a" : "b", i);
			ok = wi_store_begin(store, &err) && wi_store_put(store, &b, WI_PUT_REPLACE, &err) &&
			     wi_store_commit(store, &err);
			wi_bundle_fini(&b);
		}
		ok = ok && wi_store_close(store, &err);
		if (!ok)
			fprintf(stderr, "%s\n", err.msg);
		_exit(!ok);
	}
	for (int k = 0; k < 2; k++) {
		int status;

		assert_int_equal(waitpid(pid[k], &status, 0), pid[k]);
		assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	}
	assert_int_equal(store_count(store_file("w"), "SELECT count(*) FROM run"), 60);
	assert_int_equal(store_count(store_file("w"), "SELECT count(*) FROM value"), 60);
	assert_int_equal(store_count(store_file("w"), "SELECT count(*) FROM trace_path"), 120);
	assert_int_equal(store_count(store_file("w"),
				     "SELECT count(*) FROM pragma_integrity_check WHERE integrity_check = 'ok'"),
			 1);
}

/* A folder in the place of the shared memory: as on a file system that has none. */
static void without_shared_memory(void **state)
{
	struct wi_bundle b;

	(void)state;
	assert_int_equal(mkdir(store_file("n-shm"), 0755), 0);
	for (uint32_t i = 0; i < 2; i++) {
		struct wi_store *store = store_open(store_file("n"), WI_STORE_CREATE);

		store_plain(&b, i, "x", "{}", "a", 1);
		store_put(store, &b, WI_PUT_MERGE);
		store_close(store);
	}
	assert_int_equal(rmdir(store_file("n-shm")), 0);
	assert_int_equal(store_count(store_file("n"), "SELECT count(*) FROM run"), 2);
}

static void readers_see_one_state(void **state)
{
	struct wi_err err = { 0 };
	struct wi_bundle b;
	struct wi_runs runs;

	(void)state;
	struct wi_store *writer = store_open(store_file("s"), WI_STORE_CREATE);

	store_plain(&b, 1, "x", "{}", "a", 1);
	store_put(writer, &b, WI_PUT_MERGE);
	struct wi_store *reader = store_open(store_file("s"), WI_STORE_READ);

	store_plain(&b, 2, "x", "{}", "a", 1);
	store_put(writer, &b, WI_PUT_MERGE);
	assert_true(wi_select_runs(reader, NULL, &runs, &err));
	assert_int_equal(runs.nr, 1);
	wi_runs_fini(&runs);
	store_close(reader);
	store_close(writer);
	reader = store_open(store_file("s"), WI_STORE_READ);
	assert_true(wi_select_runs(reader, NULL, &runs, &err));
	assert_int_equal(runs.nr, 2);
	wi_runs_fini(&runs);
	store_close(reader);
}

static void a_lock_is_waited_for_with_a_bound(void **state)
{
	struct wi_store *one = store_open(store_file("l"), WI_STORE_CREATE),
			*two = store_open(store_file("l"), WI_STORE_CREATE);
	struct wi_err err = { 0 };
	struct wi_bundle b;

	(void)state;
	assert_true(wi_store_begin(one, &err));
	sqlite3_busy_timeout(two->db, 50);
	assert_false(wi_store_begin(two, &err));
	assert_int_equal(err.code, WI_EIO);
	assert_non_null(strstr(err.msg, "another process has it locked"));
	store_plain(&b, 1, "x", "{}", "a", 1);
	err = (struct wi_err){ 0 };
	assert_true(wi_store_put(one, &b, WI_PUT_MERGE, &err) && wi_store_commit(one, &err));
	wi_bundle_fini(&b);
	/* Nothing is left of the failure: the other one can write now. */
	store_plain(&b, 2, "x", "{}", "a", 1);
	store_put(two, &b, WI_PUT_MERGE);
	store_close(one);
	store_close(two);
	assert_int_equal(store_count(store_file("l"), "SELECT count(*) FROM run"), 2);
	assert_int_not_equal(access(store_file("l-wal"), F_OK), 0);
}

/* As an unprivileged user, for whom a folder can be read-only; runs in a child. */
static int in_child(int (*job)(void))
{
	pid_t pid = fork();
	int status;

	assert_true(pid >= 0);
	if (!pid) {
		if (geteuid() == 0 && (setgid(65534) || setuid(65534)))
			_exit(100);
		_exit(job());
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static int read_only_job(void)
{
	struct wi_err err = { 0 };
	struct wi_runs runs;
	struct wi_store *store = wi_store_open(store_file("o"), WI_STORE_READ, &err);

	if (!store || !wi_select_runs(store, NULL, &runs, &err) || runs.nr != 3) {
		fprintf(stderr, "reading: %s\n", err.msg);
		return 1;
	}
	wi_runs_fini(&runs);
	if (!wi_store_close(store, &err))
		return 2;
	store = wi_store_open(store_file("o"), WI_STORE_WRITE, &err);
	if (store || err.code != WI_EIO || !strstr(err.msg, "cannot be written")) {
		fprintf(stderr, "writing: %s\n", err.msg);
		return 3;
	}
	err = (struct wi_err){ 0 };
	store = wi_store_open(store_file("new"), WI_STORE_CREATE, &err);
	if (store || err.code != WI_EIO || !strstr(err.msg, "Permission denied")) {
		fprintf(stderr, "making: %s\n", err.msg);
		return 4;
	}
	return 0;
}

static void read_only_folder(void **state)
{
	struct wi_bundle b;

	(void)state;
	/* Left in WAL mode, as a batch on the same file leaves it when it is killed between its last commit and its
	 * end. */
	struct wi_store *store = store_open(store_file("o"), WI_STORE_CREATE);

	for (uint32_t i = 0; i < 3; i++) {
		store_plain(&b, i, "x", "{}", "a", 1);
		store_put(store, &b, WI_PUT_MERGE);
	}
	store_close(store);
	store_sql(store_file("o"), "PRAGMA journal_mode = WAL");
	chmod(*state, 0555);
	chmod(store_file("o"), 0444);
	int status = in_child(read_only_job);

	chmod(*state, 0755);
	if (status == 100)
		skip();
	assert_int_equal(status, 0);
}

/* A limit of the file's size stands for a disk that is full: writing beyond it fails in the same places. */
static int full_disk_job(void)
{
	struct wi_err err = { 0 };
	struct wi_store *store = wi_store_open(store_file("d"), WI_STORE_WRITE, &err);
	uint64_t seed = 77;
	bool ok = store != NULL;
	int put = 0;

	signal(SIGXFSZ, SIG_IGN);
	if (setrlimit(RLIMIT_FSIZE, &(struct rlimit){ 2000000, 2000000 }))
		return 1;
	for (; ok && put < 3000; put++) {
		struct wi_bundle b;

		store_bundle(&b, &seed, 100000);
		ok = wi_store_begin(store, &err) && wi_store_put(store, &b, WI_PUT_MERGE, &err) &&
		     wi_store_commit(store, &err);
		wi_bundle_fini(&b);
		if (!ok)
			wi_store_rollback(store);
	}
	if (ok || err.code != WI_EIO || !strstr(err.msg, "/d: cannot be written: ")) {
		fprintf(stderr, "%d %s\n", err.code, err.msg);
		return 2;
	}
	wi_store_close(store, &(struct wi_err){ 0 });
	return put > 10 ? 0 : 3;
}

static void full_disk(void **state)
{
	(void)state;
	store_some(store_file("d"), 5, 1);
	chmod(store_file("d"), 0666);
	chmod(*state, 0777);
	assert_int_equal(in_child(full_disk_job), 0);
	assert_int_equal(store_count(store_file("d"),
				     "SELECT count(*) FROM pragma_integrity_check WHERE integrity_check = 'ok'"),
			 1);
	assert_true(store_count(store_file("d"), "SELECT count(*) FROM run") > 10);
	/* Every run is whole: its figures give its digest again. */
	struct wi_err err = { 0 };
	struct wi_merge_count merged;
	struct wi_store *store = store_open("m", WI_STORE_MEMORY);

	assert_true(wi_store_begin(store, &err) && wi_store_merge(store, store_file("d"), &merged, &err));
	assert_int_equal(merged.added, store_count(store_file("d"), "SELECT count(*) FROM run"));
	store_close(store);
}

/* ---- damage ---- */

/* All that reads: none of it may crash or hang, whatever it answers. */
static void read_all(const char *path)
{
	struct wi_err err = { 0 };
	struct wi_store *store = wi_store_open(path, WI_STORE_READ, &err), *into;
	struct wi_merge_count merged;
	struct wi_runs runs;
	struct wi_texts texts = { 0 };

	assert_true(store || err.code);
	if (!store)
		return;
	if (wi_select_runs(store, NULL, &runs, &err)) {
		double *out = calloc(runs.nr * 16 + 1, sizeof(*out));
		struct wi_hist h;
		bool found;

		wi_select_values(store, &runs, "a", out, &(struct wi_err){ 0 });
		if (wi_select_metrics(store, &runs, NULL, &texts, &(struct wi_err){ 0 }) && texts.nr <= 16)
			wi_select_table(store, &runs, &texts, out, &(struct wi_err){ 0 });
		wi_texts_fini(&texts);
		for (size_t i = 0; i < runs.nr; i++) {
			wi_select_hist(store, &runs.run[i], "latency.wakeup", &h, &found, &(struct wi_err){ 0 });
			wi_hist_fini(&h);
		}
		free(wi_select_nearest(store, "b", false));
		free(out);
		wi_runs_fini(&runs);
	} else {
		assert_true(err.code);
	}
	store_close(store);
	into = store_open("m", WI_STORE_MEMORY);
	err = (struct wi_err){ 0 };
	assert_true(wi_store_begin(into, &err));
	if (!wi_store_merge(into, path, &merged, &err))
		assert_true(err.code && err.msg[0] && !strchr(err.msg, '\n'));
	store_close(into);
}

static void damaged_bytes(void **state)
{
	uint64_t seed = 31;
	size_t nr;

	(void)state;
	store_some(store_file("good"), 20, 5);
	char *good = read_file(store_file("good"), &nr), *bad = malloc(nr);

	for (unsigned int i = 0; i < test_share(150); i++) {
		size_t keep = i % 5 ? nr : store_below(&seed, (uint32_t)nr);

		memcpy(bad, good, nr);
		for (uint32_t k = 1 + store_below(&seed, 20); k--;)
			bad[store_below(&seed, (uint32_t)nr)] = (char)store_random(&seed);
		store_write_file(store_file("bad"), bad, keep);
		read_all(store_file("bad"));
	}
	free(good);
	free(bad);
}

/* Whole pages, but rows that no wakeif wrote. */
static void damaged_rows(void **state)
{
	static const char *const change[] = {
		"UPDATE run SET status = 'fine'",
		"UPDATE run SET digest = x'00'",
		"UPDATE run SET reason = CAST(x'ff' AS TEXT)",
		"UPDATE run SET version = CAST(x'610062' AS TEXT)",
		"UPDATE run SET topology = 999",
		"UPDATE run SET trace = 999 WHERE id = 1",
		"UPDATE trace SET sha256 = x'00' WHERE id = 1",
		"UPDATE trace SET size_bytes = -5 WHERE id = 1",
		"UPDATE value SET value = 9e999",
		"UPDATE value SET value = 'x'",
		"UPDATE value SET metric = 999 WHERE metric = 1",
		"UPDATE metric SET path = '' WHERE id = 1",
		"UPDATE metric SET path = CAST(x'ff' AS TEXT) WHERE id = 1",
		"UPDATE metric SET path = hex(randomblob(4000)) WHERE id = 1",
		"UPDATE histogram SET buckets = x'ff'",
		"UPDATE histogram SET buckets = randomblob(100000)",
		"UPDATE histogram SET count = count + 1",
		"UPDATE histogram SET min_ns = 5, max_ns = 3",
		"UPDATE worst SET comm = CAST(x'c3' AS TEXT)",
		"UPDATE quality SET end_ns = start_ns - 5",
		"UPDATE OR IGNORE trace_path SET path = hex(randomblob(20000))",
		"UPDATE OR IGNORE tag SET value = hex(randomblob(2000))",
		"DELETE FROM trace",
		"DELETE FROM analysis",
		"DELETE FROM metric",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(change) / sizeof(*change); i++) {
		char sql[300];

		unlink(store_file("rows"));
		store_some(store_file("rows"), 30, 5);
		snprintf(sql, sizeof(sql), "PRAGMA ignore_check_constraints = ON; PRAGMA foreign_keys = OFF; %s",
			 change[i]);
		store_sql(store_file("rows"), sql);
		read_all(store_file("rows"));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(two_writers, store_set_up, store_tear_down),
		cmocka_unit_test_setup_teardown(without_shared_memory, store_set_up, store_tear_down),
		cmocka_unit_test_setup_teardown(readers_see_one_state, store_set_up, store_tear_down),
		cmocka_unit_test_setup_teardown(a_lock_is_waited_for_with_a_bound, store_set_up, store_tear_down),
		cmocka_unit_test_setup_teardown(read_only_folder, store_set_up, store_tear_down),
		cmocka_unit_test_setup_teardown(full_disk, store_set_up, store_tear_down),
		cmocka_unit_test_setup_teardown(damaged_bytes, store_set_up, store_tear_down),
		cmocka_unit_test_setup_teardown(damaged_rows, store_set_up, store_tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
