/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The database: opening, versions, transactions, what is put and found, locks, full disks, damage. */
#include <fcntl.h>
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

#include "analyzer/store/bundle_priv.h"
#include "analyzer/store/db.h"
#include "analyzer/store/schema.h"
#include "analyzer/store/select.h"
#include "share.h"
#include "store_fixture.h"

static char *folder;

static const char *file(const char *name)
{
	static char path[8][256];
	static int n;
	char *p = path[n++ % 8];

	snprintf(p, 256, "%s/%s", folder, name);
	return p;
}

static int set_up(void **state)
{
	(void)state;
	folder = store_folder();
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	store_remove(folder);
	return 0;
}

static void assert_refused(const char *path, enum wi_store_mode mode, enum wi_err_code code, const char *why)
{
	struct wi_err err = { 0 };
	struct wi_store *store = wi_store_open(path, mode, &err);

	assert_null(store);
	if (err.code != code || !strstr(err.msg, why) || strncmp(err.msg, path, strlen(path)) || strchr(err.msg, '\n'))
		fail_msg("%d: %s, not %s", err.code, err.msg, why);
}

static void write_file(const char *path, const void *bytes, size_t nr)
{
	FILE *f = fopen(path, "wb");

	assert_non_null(f);
	assert_int_equal(fwrite(bytes, 1, nr, f), nr);
	assert_int_equal(fclose(f), 0);
}

static char *read_file(const char *path, size_t *nr)
{
	FILE *f = fopen(path, "rb");
	char *bytes = malloc(1 << 22);

	assert_non_null(f);
	*nr = fread(bytes, 1, 1 << 22, f);
	fclose(f);
	return bytes;
}

static void some(const char *path, uint32_t nr, uint64_t seed)
{
	struct wi_store *store = store_open(path, WI_STORE_CREATE);
	struct wi_bundle b;

	while (nr--) {
		store_bundle(&b, &seed, 20);
		store_put(store, &b, WI_PUT_MERGE);
	}
	store_close(store);
}

static void not_a_database(void **state)
{
	(void)state;
	assert_refused(file("none"), WI_STORE_READ, WI_EIO, "No such file");
	assert_refused(file("none"), WI_STORE_WRITE, WI_EIO, "No such file");
	assert_refused(file("no/where"), WI_STORE_CREATE, WI_EIO, "No such file");
	assert_refused(folder, WI_STORE_READ, WI_EREFUSED, "not a regular file");
	write_file(file("empty"), "", 0);
	assert_refused(file("empty"), WI_STORE_READ, WI_EREFUSED, "empty file");
	write_file(file("text"), "some words that are no database at all, but long enough to be looked at", 70);
	assert_refused(file("text"), WI_STORE_READ, WI_EREFUSED, "not an SQLite database");
	assert_refused(file("text"), WI_STORE_CREATE, WI_EREFUSED, "not an SQLite database");
	store_sql(file("other"), "CREATE TABLE x(a)");
	assert_refused(file("other"), WI_STORE_READ, WI_EREFUSED, "not one of wakeif");
	assert_refused(file("other"), WI_STORE_CREATE, WI_EREFUSED, "not one of wakeif");
}

/* An empty file is what mktemp leaves: it becomes a database. */
static void made_where_there_was_nothing(void **state)
{
	(void)state;
	write_file(file("e"), "", 0);
	store_close(store_open(file("e"), WI_STORE_CREATE));
	store_close(store_open(file("e"), WI_STORE_READ));
	store_close(store_open(file("f"), WI_STORE_CREATE));
	assert_int_not_equal(access(file("f-wal"), F_OK), 0); /* one file, without companions */
	assert_int_not_equal(access(file("f-journal"), F_OK), 0);
}

/* ---- versions ---- */

static int count_columns(sqlite3 *db, const char *table)
{
	sqlite3_stmt *s;
	char sql[100];
	int nr = 0;

	snprintf(sql, sizeof(sql), "SELECT * FROM %s", table);
	if (sqlite3_prepare_v2(db, sql, -1, &s, NULL) == SQLITE_OK)
		nr = sqlite3_column_count(s);
	sqlite3_finalize(s);
	return nr;
}

static void older_ones_are_brought_up_to_date(void **state)
{
	static const struct wi_schema_step steps[] = {
		{ "ALTER TABLE trace ADD COLUMN colour TEXT" },
		{ "CREATE TABLE shade(trace INTEGER, x INTEGER) STRICT; INSERT INTO shade SELECT id, 7 FROM trace" },
	};
	static const struct wi_schema_step broken[] = {
		{ "ALTER TABLE trace ADD COLUMN colour TEXT" },
		{ "CREATE TABLE shade(trace INTEGER); INSERT INTO nowhere VALUES (1)" },
	};
	struct wi_err err = { 0 };
	sqlite3 *db;

	(void)state;
	some(file("v1"), 5, 1);
	int traces;

	assert_int_equal(sqlite3_open(file("v1"), &db), SQLITE_OK);
	traces = count_columns(db, "trace");
	/* A step that fails leaves nothing of the steps before it. */
	assert_int_equal(sqlite3_exec(db, "BEGIN", NULL, NULL, NULL), SQLITE_OK);
	assert_false(wi_schema_bring(db, "v1", 3, broken, &err));
	assert_non_null(strstr(err.msg, "nowhere"));
	assert_int_equal(sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL), SQLITE_OK);
	assert_int_equal(count_columns(db, "trace"), traces);
	sqlite3_close(db);
	store_close(store_open(file("v1"), WI_STORE_WRITE)); /* still one of version 1 */

	err = (struct wi_err){ 0 };
	assert_int_equal(sqlite3_open(file("v1"), &db), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db, "BEGIN; DROP VIEW run_list", NULL, NULL, NULL), SQLITE_OK);
	assert_true(wi_schema_bring(db, "v1", 3, steps, &err));
	assert_int_equal(sqlite3_exec(db, "COMMIT", NULL, NULL, NULL), SQLITE_OK);
	assert_int_equal(count_columns(db, "trace"), traces + 1);
	assert_int_equal(count_columns(db, "shade"), 2);
	assert_true(count_columns(db, "run_list") > 5); /* views are made anew */
	/* Again: nothing to do. */
	assert_true(wi_schema_bring(db, "v1", 3, steps, &err));
	/* From 2 to 3 only the second step runs. */
	assert_int_equal(sqlite3_exec(db, "DROP TABLE shade; PRAGMA user_version = 2", NULL, NULL, NULL), SQLITE_OK);
	assert_true(wi_schema_bring(db, "v1", 3, steps, &err));
	assert_int_equal(count_columns(db, "shade"), 2);
	sqlite3_close(db);

	/* What is now of version 3 is newer than this program. */
	assert_refused(file("v1"), WI_STORE_READ, WI_EREFUSED, "newer wakeif (schema 3");
	assert_refused(file("v1"), WI_STORE_CREATE, WI_EREFUSED, "newer wakeif (schema 3");
}

static void changed_schemas_are_refused(void **state)
{
	static const struct {
		const char *sql, *why;
	} change[] = {
		{ "CREATE TRIGGER t AFTER INSERT ON value BEGIN DELETE FROM value; END", "triggers" },
		{ "DROP TABLE worst", "table worst" },
		{ "ALTER TABLE run ADD COLUMN x TEXT", "table run" },
		{ "PRAGMA application_id = 5", "not one of wakeif" },
		{ "PRAGMA user_version = 0", "not one of wakeif" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(change) / sizeof(*change); i++) {
		unlink(file("c"));
		some(file("c"), 1, 2);
		store_sql(file("c"), change[i].sql);
		assert_refused(file("c"), WI_STORE_READ, WI_EREFUSED, change[i].why);
		assert_refused(file("c"), WI_STORE_WRITE, WI_EREFUSED, change[i].why);
	}
	/* A view, an index, a table of the user's own are his. */
	unlink(file("c"));
	some(file("c"), 1, 2);
	store_sql(file("c"), "CREATE VIEW mine AS SELECT 1; CREATE TABLE own(a); CREATE INDEX i ON value(metric)");
	store_close(store_open(file("c"), WI_STORE_WRITE));
}

/* ---- putting ---- */

static int count(const char *path, const char *sql)
{
	sqlite3 *db;
	sqlite3_stmt *s;

	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &s, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_step(s), SQLITE_ROW);
	int n = sqlite3_column_int(s, 0);

	sqlite3_finalize(s);
	sqlite3_close(db);
	return n;
}

static void what_is_put_reads_back(void **state)
{
	uint64_t seed = 8;

	(void)state;
	for (unsigned int i = 0; i < test_share(60); i++) {
		struct wi_store *store = store_open("memory", WI_STORE_MEMORY);
		uint8_t one[WI_SHA256_BYTES], two[WI_SHA256_BYTES];
		struct wi_bundle a, b;
		struct wi_err err = { 0 };

		store_bundle(&a, &seed, 3);
		assert_true(wi_bundle_digest(&a, one, &err));
		store_put(store, &a, WI_PUT_MERGE);
		assert_true(wi_bundle_init(&b, &err));
		if (!wi_db_read_run(store, 1, &b, &err) || !wi_bundle_digest(&b, two, &err))
			fail_msg("%s", err.msg);
		assert_memory_equal(one, two, sizeof(one));
		wi_bundle_fini(&b);
		store_close(store);
	}
}

static void replacing(void **state)
{
	struct wi_store *store = store_open(file("r"), WI_STORE_CREATE);
	struct wi_store_known known;
	struct wi_err err = { 0 };
	uint8_t hash[WI_SHA256_BYTES];
	struct wi_bundle b;

	(void)state;
	store_hash(1, hash);
	assert_true(wi_store_find(store, hash, 1, "{\"m\":1}", &known, &err));
	assert_false(known.found);
	store_plain(&b, 1, "x", "{\"m\":1}", "a", 1);
	store_put(store, &b, WI_PUT_REPLACE);
	store_plain(&b, 2, "y", "{\"m\":1}", "a", 2);
	store_put(store, &b, WI_PUT_REPLACE);
	assert_true(wi_store_find(store, hash, 1, "{\"m\":1}", &known, &err));
	assert_true(known.found);
	assert_string_equal(known.version, "1.0");
	assert_int_equal(known.status, WI_RUN_OK);
	assert_true(wi_store_find(store, hash, 2, "{\"m\":1}", &known, &err)); /* another size: another trace */
	assert_false(known.found);
	/* Another analysis takes the place; that of the other trace stays. */
	store_plain(&b, 1, "x", "{\"m\":2}", "a", 3);
	store_put(store, &b, WI_PUT_REPLACE);
	assert_true(wi_store_find(store, hash, 1, "{\"m\":1}", &known, &err));
	assert_false(known.found);
	/* An older version too, in a batch's own database: else it would be analysed again for ever. */
	store_plain(&b, 1, "x", "{\"m\":2}", "a", 4);
	b.version = "0.5";
	store_put(store, &b, WI_PUT_REPLACE);
	assert_true(wi_store_find(store, hash, 1, "{\"m\":2}", &known, &err));
	assert_string_equal(known.version, "0.5");
	/* The same again, failed this time: what was analysed stays. */
	store_plain(&b, 1, "x", "{\"m\":2}", NULL, 0);
	b.version = "0.5";
	assert_true(wi_bundle_outcome(&b, WI_RUN_TIMEOUT, "60 s", 0, 0, NULL, 0, &err));
	store_put(store, &b, WI_PUT_REPLACE);
	assert_true(wi_store_find(store, hash, 1, "{\"m\":2}", &known, &err));
	assert_int_equal(known.status, WI_RUN_OK);
	/* MERGE keeps both analyses. */
	store_plain(&b, 1, "x", "{\"m\":3}", "a", 5);
	store_put(store, &b, WI_PUT_MERGE);
	store_close(store);
	assert_int_equal(count(file("r"), "SELECT count(*) FROM run"), 3);
	assert_int_equal(count(file("r"), "SELECT count(*) FROM value"), 3);
	assert_int_equal(count(file("r"), "SELECT count(*) FROM analysis"), 3);
	assert_int_equal(count(file("r"), "SELECT count(*) FROM trace"), 2);
}

static void paths_and_tags(void **state)
{
	struct wi_store *store = store_open(file("t"), WI_STORE_CREATE);
	const struct wi_tag tag[] = { { "k", "1" }, { "k", "2" } };
	struct wi_err err = { 0 };
	uint8_t hash[WI_SHA256_BYTES];
	struct wi_bundle b;
	bool changed;

	(void)state;
	store_hash(1, hash);
	store_plain(&b, 1, "x", "{}", "a", 1);
	assert_true(wi_bundle_tag(&b, "k", "1", &err));
	store_put(store, &b, WI_PUT_REPLACE);
	assert_true(wi_store_begin(store, &err));
	assert_true(wi_store_put_path(store, hash, 1, "x", tag, 1, &changed, &err));
	assert_false(changed);
	assert_true(wi_store_put_path(store, hash, 1, "copy", tag, 2, &changed, &err));
	assert_true(changed);
	assert_true(wi_store_put_path(store, hash, 1, "copy", tag, 2, &changed, &err));
	assert_false(changed);
	assert_true(wi_store_put_path(store, hash, 1, "x", NULL, 0, &changed, &err));
	assert_true(changed);
	assert_false(wi_store_put_path(store, hash, 2, "x", NULL, 0, &changed, &err));
	assert_non_null(strstr(err.msg, "no trace of this hash"));
	err = (struct wi_err){ 0 };
	assert_true(wi_store_commit(store, &err));
	store_close(store);
	assert_int_equal(count(file("t"), "SELECT count(*) FROM trace_path"), 2);
	assert_int_equal(count(file("t"), "SELECT count(*) FROM tag WHERE path = 'copy'"), 2);
	assert_int_equal(count(file("t"), "SELECT count(*) FROM tag"), 2);
	assert_int_equal(count(file("t"), "SELECT count(*) FROM run_tag"), 2);
}

/* Markers are in the trace: what they tell stays when paths come, go and change their tags. */
static void tags_of_markers(void **state)
{
	struct wi_store *store = store_open(file("k"), WI_STORE_CREATE);
	const struct wi_tag tag = { "k", "path" };
	struct wi_err err = { 0 };
	uint8_t hash[WI_SHA256_BYTES];
	struct wi_bundle b;

	(void)state;
	store_hash(1, hash);
	store_plain(&b, 1, NULL, "{}", "a", 1);
	assert_true(wi_bundle_tag(&b, "m", "marker", &err));
	store_put(store, &b, WI_PUT_REPLACE);
	assert_true(wi_store_begin(store, &err) && wi_store_put_path(store, hash, 1, "x", &tag, 1, NULL, &err) &&
		    wi_store_put_path(store, hash, 1, "x", NULL, 0, NULL, &err) &&
		    wi_store_put_path(store, hash, 1, "y", &tag, 1, NULL, &err) && wi_store_commit(store, &err));
	/* A worse run that did not get to the markers changes nothing. */
	store_plain(&b, 1, NULL, "{}", NULL, 0);
	assert_true(wi_bundle_outcome(&b, WI_RUN_TIMEOUT, "60 s", 0, 0, NULL, 0, &err));
	store_put(store, &b, WI_PUT_REPLACE);
	store_close(store);
	assert_int_equal(count(file("k"), "SELECT count(*) FROM run_tag WHERE key = 'm' AND value = 'marker'"), 1);
	assert_int_equal(count(file("k"), "SELECT count(*) FROM tag"), 2);
	assert_int_equal(count(file("k"), "SELECT count(*) FROM trace_path"), 2);
	/* They are merged. */
	struct wi_merge_count merged;

	store = store_open(file("k2"), WI_STORE_CREATE);
	assert_true(wi_store_begin(store, &err) && wi_store_merge(store, file("k"), &merged, &err) &&
		    wi_store_commit(store, &err));
	store_close(store);
	char *one = store_dump(file("k")), *two = store_dump(file("k2"));

	assert_string_equal(one, two);
	free(one);
	free(two);
	/* An analysis that finds others replaces them. */
	store = store_open(file("k"), WI_STORE_WRITE);
	store_plain(&b, 1, NULL, "{\"m\":1}", "a", 1);
	assert_true(wi_bundle_tag(&b, "m", "other", &err));
	store_put(store, &b, WI_PUT_REPLACE);
	store_close(store);
	assert_int_equal(count(file("k"), "SELECT count(*) FROM tag WHERE path = '' AND value = 'other'"), 1);
	assert_int_equal(count(file("k"), "SELECT count(*) FROM tag"), 2);
}

static void file_cache(void **state)
{
	struct wi_store *store = store_open(file("f"), WI_STORE_CREATE);
	struct wi_file_id id = { "a\xff", UINT64_MAX, 2, 3, 4, 5 };
	struct wi_err err = { 0 };
	uint8_t hash[WI_SHA256_BYTES], got[WI_SHA256_BYTES];
	bool found;

	(void)state;
	store_hash(9, hash);
	assert_true(wi_store_cached_hash(store, &id, got, &found, &err));
	assert_false(found);
	assert_true(wi_store_begin(store, &err) && wi_store_cache_hash(store, &id, hash, &err) &&
		    wi_store_commit(store, &err));
	assert_true(wi_store_cached_hash(store, &id, got, &found, &err));
	assert_true(found);
	assert_memory_equal(got, hash, sizeof(hash));
	id.mtime_ns++;
	assert_true(wi_store_cached_hash(store, &id, got, &found, &err));
	assert_false(found);
	store_close(store);
}

/* With full detail the names of figures are many, and a writer keeps some of them only. */
static void more_names_than_are_kept(void **state)
{
	struct wi_store *store = store_open(file("n"), WI_STORE_CREATE);
	struct wi_err err = { 0 };
	struct wi_texts paths;
	struct wi_runs runs;

	(void)state;
	assert_true(wi_store_begin(store, &err));
	for (uint32_t n = 0; n < 80; n++) {
		struct wi_bundle b;

		store_plain(&b, n, "x", "{}", "shared", n);
		for (uint32_t i = 0; i < 1000; i++) {
			char path[32];
			int nr = snprintf(path, sizeof(path), "t[%u].%u", n, i);
			struct wi_metric_value v = { .path = wi_bundle_copy(&b, path, (size_t)nr), .integer = n + i };

			assert_true(wi_bundle_put_metric(&b, &v, &err));
		}
		assert_true(wi_store_put(store, &b, WI_PUT_MERGE, &err));
		wi_bundle_fini(&b);
	}
	assert_true(wi_store_commit(store, &err));
	store_close(store);
	assert_int_equal(count(file("n"), "SELECT count(*) FROM metric"), 80001);
	assert_int_equal(count(file("n"), "SELECT count(*) FROM value"), 80080);
	assert_int_equal(count(file("n"), "SELECT value FROM metric_value WHERE path = 't[79].999'"), 79 + 999);
	assert_int_equal(count(file("n"), "SELECT value FROM metric_value WHERE path = 't[3].7'"), 10);
	store = store_open(file("n"), WI_STORE_READ);
	assert_true(wi_select_runs(store, NULL, &runs, &err) && wi_select_metrics(store, &runs, NULL, &paths, &err));
	assert_int_equal(paths.nr, 80001);
	wi_texts_fini(&paths);
	wi_runs_fini(&runs);
	store_close(store);
}

static void transactions(void **state)
{
	struct wi_store *store = store_open(file("x"), WI_STORE_CREATE);
	struct wi_err err = { 0 };
	struct wi_bundle b;

	(void)state;
	store_plain(&b, 1, "x", "{}", "a", 1);
	assert_false(wi_store_put(store, &b, WI_PUT_MERGE, &err));
	assert_non_null(strstr(err.msg, "no transaction"));
	err = (struct wi_err){ 0 };
	assert_true(wi_store_begin(store, &err) && wi_store_put(store, &b, WI_PUT_MERGE, &err));
	wi_store_rollback(store);
	/* The metric's row is gone with it; the next put makes it again. */
	store_put(store, &b, WI_PUT_MERGE);
	store_plain(&b, 2, "y", "{}", "b", 1);
	assert_true(wi_store_begin(store, &err) && wi_store_put(store, &b, WI_PUT_MERGE, &err));
	wi_bundle_fini(&b);
	store_close(store); /* an open transaction is not kept */
	assert_int_equal(count(file("x"), "SELECT count(*) FROM run"), 1);
	assert_int_equal(count(file("x"), "SELECT count(*) FROM metric"), 1);
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
		struct wi_store *store = wi_store_open(file("w"), WI_STORE_CREATE, &err);
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
	assert_int_equal(count(file("w"), "SELECT count(*) FROM run"), 60);
	assert_int_equal(count(file("w"), "SELECT count(*) FROM value"), 60);
	assert_int_equal(count(file("w"), "SELECT count(*) FROM trace_path"), 120);
	assert_int_equal(count(file("w"), "SELECT count(*) FROM pragma_integrity_check WHERE integrity_check = 'ok'"),
			 1);
}

static void readers_see_one_state(void **state)
{
	struct wi_err err = { 0 };
	struct wi_bundle b;
	struct wi_runs runs;

	(void)state;
	struct wi_store *writer = store_open(file("s"), WI_STORE_CREATE);

	store_plain(&b, 1, "x", "{}", "a", 1);
	store_put(writer, &b, WI_PUT_MERGE);
	struct wi_store *reader = store_open(file("s"), WI_STORE_READ);

	store_plain(&b, 2, "x", "{}", "a", 1);
	store_put(writer, &b, WI_PUT_MERGE);
	assert_true(wi_select_runs(reader, NULL, &runs, &err));
	assert_int_equal(runs.nr, 1);
	wi_runs_fini(&runs);
	store_close(reader);
	store_close(writer);
	reader = store_open(file("s"), WI_STORE_READ);
	assert_true(wi_select_runs(reader, NULL, &runs, &err));
	assert_int_equal(runs.nr, 2);
	wi_runs_fini(&runs);
	store_close(reader);
}

static void a_lock_is_waited_for_with_a_bound(void **state)
{
	struct wi_store *one = store_open(file("l"), WI_STORE_CREATE), *two = store_open(file("l"), WI_STORE_CREATE);
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
	assert_int_equal(count(file("l"), "SELECT count(*) FROM run"), 2);
	assert_int_not_equal(access(file("l-wal"), F_OK), 0);
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
	struct wi_store *store = wi_store_open(file("o"), WI_STORE_READ, &err);

	if (!store || !wi_select_runs(store, NULL, &runs, &err) || runs.nr != 3) {
		fprintf(stderr, "reading: %s\n", err.msg);
		return 1;
	}
	wi_runs_fini(&runs);
	if (!wi_store_close(store, &err))
		return 2;
	store = wi_store_open(file("o"), WI_STORE_WRITE, &err);
	if (store || err.code != WI_EIO || !strstr(err.msg, "cannot be written")) {
		fprintf(stderr, "writing: %s\n", err.msg);
		return 3;
	}
	err = (struct wi_err){ 0 };
	store = wi_store_open(file("new"), WI_STORE_CREATE, &err);
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
	struct wi_store *store = store_open(file("o"), WI_STORE_CREATE);

	for (uint32_t i = 0; i < 3; i++) {
		store_plain(&b, i, "x", "{}", "a", 1);
		store_put(store, &b, WI_PUT_MERGE);
	}
	store_close(store);
	store_sql(file("o"), "PRAGMA journal_mode = WAL");
	chmod(folder, 0555);
	chmod(file("o"), 0444);
	int status = in_child(read_only_job);

	chmod(folder, 0755);
	if (status == 100)
		skip();
	assert_int_equal(status, 0);
}

/* A limit of the file's size stands for a disk that is full: writing beyond it fails in the same places. */
static int full_disk_job(void)
{
	struct wi_err err = { 0 };
	struct wi_store *store = wi_store_open(file("d"), WI_STORE_WRITE, &err);
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
	some(file("d"), 5, 1);
	chmod(file("d"), 0666);
	chmod(folder, 0777);
	assert_int_equal(in_child(full_disk_job), 0);
	assert_int_equal(count(file("d"), "SELECT count(*) FROM pragma_integrity_check WHERE integrity_check = 'ok'"),
			 1);
	assert_true(count(file("d"), "SELECT count(*) FROM run") > 10);
	/* Every run is whole: its figures give its digest again. */
	struct wi_err err = { 0 };
	struct wi_merge_count merged;
	struct wi_store *store = store_open("m", WI_STORE_MEMORY);

	assert_true(wi_store_begin(store, &err) && wi_store_merge(store, file("d"), &merged, &err));
	assert_int_equal(merged.added, count(file("d"), "SELECT count(*) FROM run"));
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
	some(file("good"), 20, 5);
	char *good = read_file(file("good"), &nr), *bad = malloc(nr);

	for (unsigned int i = 0; i < test_share(150); i++) {
		size_t keep = i % 5 ? nr : store_below(&seed, (uint32_t)nr);

		memcpy(bad, good, nr);
		for (uint32_t k = 1 + store_below(&seed, 20); k--;)
			bad[store_below(&seed, (uint32_t)nr)] = (char)store_random(&seed);
		write_file(file("bad"), bad, keep);
		read_all(file("bad"));
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

		unlink(file("rows"));
		some(file("rows"), 30, 5);
		snprintf(sql, sizeof(sql), "PRAGMA ignore_check_constraints = ON; PRAGMA foreign_keys = OFF; %s",
			 change[i]);
		store_sql(file("rows"), sql);
		read_all(file("rows"));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(not_a_database, set_up, tear_down),
		cmocka_unit_test_setup_teardown(made_where_there_was_nothing, set_up, tear_down),
		cmocka_unit_test_setup_teardown(older_ones_are_brought_up_to_date, set_up, tear_down),
		cmocka_unit_test_setup_teardown(changed_schemas_are_refused, set_up, tear_down),
		cmocka_unit_test_setup_teardown(what_is_put_reads_back, set_up, tear_down),
		cmocka_unit_test_setup_teardown(replacing, set_up, tear_down),
		cmocka_unit_test_setup_teardown(paths_and_tags, set_up, tear_down),
		cmocka_unit_test_setup_teardown(tags_of_markers, set_up, tear_down),
		cmocka_unit_test_setup_teardown(file_cache, set_up, tear_down),
		cmocka_unit_test_setup_teardown(more_names_than_are_kept, set_up, tear_down),
		cmocka_unit_test_setup_teardown(transactions, set_up, tear_down),
		cmocka_unit_test_setup_teardown(two_writers, set_up, tear_down),
		cmocka_unit_test_setup_teardown(readers_see_one_state, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_lock_is_waited_for_with_a_bound, set_up, tear_down),
		cmocka_unit_test_setup_teardown(read_only_folder, set_up, tear_down),
		cmocka_unit_test_setup_teardown(full_disk, set_up, tear_down),
		cmocka_unit_test_setup_teardown(damaged_bytes, set_up, tear_down),
		cmocka_unit_test_setup_teardown(damaged_rows, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
