/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The database: opening, versions, transactions, what is put and found. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "analyzer/store/bundle_priv.h"
#include "analyzer/store/db.h"
#include "analyzer/store/schema.h"
#include "analyzer/store/select.h"
#include "share.h"
#include "store_fixture.h"

static void assert_refused(const char *path, enum wi_store_mode mode, enum wi_err_code code, const char *why)
{
	struct wi_err err = { 0 };
	struct wi_store *store = wi_store_open(path, mode, &err);

	assert_null(store);
	if (err.code != code || !strstr(err.msg, why) || strncmp(err.msg, path, strlen(path)) || strchr(err.msg, '\n'))
		fail_msg("%d: %s, not %s", err.code, err.msg, why);
}

static void not_a_database(void **state)
{
	assert_refused(store_file("none"), WI_STORE_READ, WI_EIO, "No such file");
	assert_refused(store_file("none"), WI_STORE_WRITE, WI_EIO, "No such file");
	assert_refused(store_file("no/where"), WI_STORE_CREATE, WI_EIO, "No such file");
	assert_refused(*state, WI_STORE_READ, WI_EREFUSED, "not a regular file");
	store_write_file(store_file("empty"), "", 0);
	assert_refused(store_file("empty"), WI_STORE_READ, WI_EREFUSED, "empty file");
	store_write_file(store_file("text"), "some words that are no database at all, but long enough to be looked at",
			 70);
	assert_refused(store_file("text"), WI_STORE_READ, WI_EREFUSED, "not an SQLite database");
	assert_refused(store_file("text"), WI_STORE_CREATE, WI_EREFUSED, "not an SQLite database");
	store_sql(store_file("other"), "CREATE TABLE x(a)");
	assert_refused(store_file("other"), WI_STORE_READ, WI_EREFUSED, "not one of wakeif");
	assert_refused(store_file("other"), WI_STORE_CREATE, WI_EREFUSED, "not one of wakeif");
}

/* An empty file is what mktemp leaves: it becomes a database. */
static void made_where_there_was_nothing(void **state)
{
	(void)state;
	store_write_file(store_file("e"), "", 0);
	store_close(store_open(store_file("e"), WI_STORE_CREATE));
	store_close(store_open(store_file("e"), WI_STORE_READ));
	store_close(store_open(store_file("f"), WI_STORE_CREATE));
	assert_int_not_equal(access(store_file("f-wal"), F_OK), 0); /* one file, without companions */
	assert_int_not_equal(access(store_file("f-journal"), F_OK), 0);
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
		/* analysis is made anew, which runs refer to. */
		{ "CREATE TABLE shade(trace INTEGER, x INTEGER) STRICT; INSERT INTO shade SELECT id, 7 FROM trace; "
		  "CREATE TABLE anew(text TEXT NOT NULL UNIQUE, id INTEGER PRIMARY KEY, x INTEGER) STRICT; "
		  "INSERT INTO anew(id, text) SELECT id, text FROM analysis; DROP TABLE analysis; "
		  "ALTER TABLE anew RENAME TO analysis" },
	};
	static const struct wi_schema_step losing[] = { { "DELETE FROM trace" }, { "SELECT 1" } };
	static const struct wi_schema_step broken[] = {
		{ "ALTER TABLE trace ADD COLUMN colour TEXT" },
		{ "CREATE TABLE shade(trace INTEGER); INSERT INTO nowhere VALUES (1)" },
	};
	struct wi_err err = { 0 };
	sqlite3 *db;

	(void)state;
	store_some(store_file("v1"), 5, 1);
	int traces;

	assert_int_equal(sqlite3_open(store_file("v1"), &db), SQLITE_OK);
	traces = count_columns(db, "trace");
	/* A step that fails leaves nothing of the steps before it. */
	assert_false(wi_schema_bring(db, "v1", 3, broken, &err));
	assert_non_null(strstr(err.msg, "nowhere"));
	assert_int_equal(count_columns(db, "trace"), traces);
	sqlite3_close(db);
	store_close(store_open(store_file("v1"), WI_STORE_WRITE)); /* still one of version 1 */
	int runs = store_count(store_file("v1"), "SELECT count(*) FROM run");

	err = (struct wi_err){ 0 };
	assert_int_equal(sqlite3_open(store_file("v1"), &db), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db, "DROP VIEW run_list", NULL, NULL, NULL), SQLITE_OK);
	if (!wi_schema_bring(db, "v1", 3, steps, &err))
		fail_msg("%s", err.msg);
	assert_int_equal(count_columns(db, "trace"), traces + 1);
	assert_int_equal(count_columns(db, "shade"), 2);
	assert_true(count_columns(db, "run_list") > 5); /* views are made anew */
	assert_int_equal(count_columns(db, "analysis"), 3);
	assert_int_equal(
		store_count(store_file("v1"), "SELECT count(*) FROM run JOIN analysis ON analysis.id = run.analysis"),
		runs);
	assert_true(runs > 2);
	/* Again: nothing to do. */
	assert_true(wi_schema_bring(db, "v1", 3, steps, &err));
	/* A step that would lose what others refer to is not taken. */
	assert_int_equal(sqlite3_exec(db, "PRAGMA user_version = 1", NULL, NULL, NULL), SQLITE_OK);
	assert_false(wi_schema_bring(db, "v1", 3, losing, &err));
	assert_non_null(strstr(err.msg, "rows that are not there"));
	err = (struct wi_err){ 0 };
	assert_int_equal(store_count(store_file("v1"), "SELECT count(*) FROM run"), runs);
	/* From 2 to 3 only the second step runs. */
	assert_int_equal(sqlite3_exec(db, "DROP TABLE shade; PRAGMA user_version = 2", NULL, NULL, NULL), SQLITE_OK);
	assert_true(wi_schema_bring(db, "v1", 3, steps, &err));
	assert_int_equal(count_columns(db, "shade"), 2);
	sqlite3_close(db);

	/* What is now of version 3 is newer than this program. */
	assert_refused(store_file("v1"), WI_STORE_READ, WI_EREFUSED, "newer wakeif (schema 3");
	assert_refused(store_file("v1"), WI_STORE_CREATE, WI_EREFUSED, "newer wakeif (schema 3");
}

static void changed_schemas_are_refused(void **state)
{
	static const struct {
		const char *sql, *why;
	} change[] = {
		{ "CREATE TRIGGER t AFTER INSERT ON value BEGIN DELETE FROM value; END", "triggers" },
		{ "DROP TABLE worst", "table worst" },
		{ "ALTER TABLE run ADD COLUMN x TEXT", "table run" },
		{ "ALTER TABLE run ADD COLUMN x TEXT GENERATED ALWAYS AS (hex(status))", "table run" },
		{ "DROP TABLE file_cache; CREATE VIEW file_cache AS SELECT 1", "table file_cache" },
		{ "PRAGMA application_id = 5", "not one of wakeif" },
		{ "PRAGMA user_version = 0", "not one of wakeif" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(change) / sizeof(*change); i++) {
		unlink(store_file("c"));
		store_some(store_file("c"), 1, 2);
		store_sql(store_file("c"), change[i].sql);
		assert_refused(store_file("c"), WI_STORE_READ, WI_EREFUSED, change[i].why);
		assert_refused(store_file("c"), WI_STORE_WRITE, WI_EREFUSED, change[i].why);
	}
	/* How a table came to be what it is does not matter: a step of a later version may make it anew. */
	unlink(store_file("c"));
	store_some(store_file("c"), 3, 2);
	store_sql(store_file("c"), "CREATE TABLE made(text TEXT NOT NULL UNIQUE, id INTEGER PRIMARY KEY) STRICT; "
				   "INSERT INTO made(id, text) SELECT id, text FROM analysis; "
				   "PRAGMA foreign_keys = OFF; DROP VIEW run_list; DROP TABLE analysis; ALTER TABLE "
				   "made RENAME TO analysis");
	store_close(store_open(store_file("c"), WI_STORE_WRITE));
	/* A view, an index, a table of the user's own are his. */
	unlink(store_file("c"));
	store_some(store_file("c"), 1, 2);
	store_sql(store_file("c"),
		  "CREATE VIEW mine AS SELECT 1; CREATE TABLE own(a); CREATE INDEX i ON value(metric)");
	store_close(store_open(store_file("c"), WI_STORE_WRITE));
}

/* ---- putting ---- */

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
	struct wi_store *store = store_open(store_file("r"), WI_STORE_CREATE);
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
	assert_int_equal(store_count(store_file("r"), "SELECT count(*) FROM run"), 3);
	assert_int_equal(store_count(store_file("r"), "SELECT count(*) FROM value"), 3);
	assert_int_equal(store_count(store_file("r"), "SELECT count(*) FROM analysis"), 3);
	assert_int_equal(store_count(store_file("r"), "SELECT count(*) FROM trace"), 2);
}

static void paths_and_tags(void **state)
{
	struct wi_store *store = store_open(store_file("t"), WI_STORE_CREATE);
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
	assert_int_equal(store_count(store_file("t"), "SELECT count(*) FROM trace_path"), 2);
	assert_int_equal(store_count(store_file("t"), "SELECT count(*) FROM tag WHERE path = 'copy'"), 2);
	assert_int_equal(store_count(store_file("t"), "SELECT count(*) FROM tag"), 2);
	assert_int_equal(store_count(store_file("t"), "SELECT count(*) FROM run_tag"), 2);
}

/* Markers are in the trace: what they tell stays when paths come, go and change their tags. */
static void tags_of_markers(void **state)
{
	struct wi_store *store = store_open(store_file("k"), WI_STORE_CREATE);
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
	assert_int_equal(
		store_count(store_file("k"), "SELECT count(*) FROM run_tag WHERE key = 'm' AND value = 'marker'"), 1);
	assert_int_equal(store_count(store_file("k"), "SELECT count(*) FROM tag"), 2);
	assert_int_equal(store_count(store_file("k"), "SELECT count(*) FROM trace_path"), 2);
	/* They are merged. */
	struct wi_merge_count merged;

	store = store_open(store_file("k2"), WI_STORE_CREATE);
	assert_true(wi_store_begin(store, &err) && wi_store_merge(store, store_file("k"), &merged, &err) &&
		    wi_store_commit(store, &err));
	store_close(store);
	char *one = store_dump(store_file("k")), *two = store_dump(store_file("k2"));

	assert_string_equal(one, two);
	free(one);
	free(two);
	/* An analysis that finds others replaces them. */
	store = store_open(store_file("k"), WI_STORE_WRITE);
	store_plain(&b, 1, NULL, "{\"m\":1}", "a", 1);
	assert_true(wi_bundle_tag(&b, "m", "other", &err));
	store_put(store, &b, WI_PUT_REPLACE);
	store_close(store);
	assert_int_equal(store_count(store_file("k"), "SELECT count(*) FROM tag WHERE path = '' AND value = 'other'"),
			 1);
	assert_int_equal(store_count(store_file("k"), "SELECT count(*) FROM tag"), 2);
}

static void file_cache(void **state)
{
	struct wi_store *store = store_open(store_file("f"), WI_STORE_CREATE);
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
	struct wi_store *store = store_open(store_file("n"), WI_STORE_CREATE);
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
	assert_int_equal(store_count(store_file("n"), "SELECT count(*) FROM metric"), 80001);
	assert_int_equal(store_count(store_file("n"), "SELECT count(*) FROM value"), 80080);
	assert_int_equal(store_count(store_file("n"), "SELECT value FROM metric_value WHERE path = 't[79].999'"),
			 79 + 999);
	assert_int_equal(store_count(store_file("n"), "SELECT value FROM metric_value WHERE path = 't[3].7'"), 10);
	store = store_open(store_file("n"), WI_STORE_READ);
	assert_true(wi_select_runs(store, NULL, &runs, &err) && wi_select_metrics(store, &runs, NULL, &paths, &err));
	assert_int_equal(paths.nr, 80001);
	wi_texts_fini(&paths);
	wi_runs_fini(&runs);
	store_close(store);
}

static void transactions(void **state)
{
	struct wi_store *store = store_open(store_file("x"), WI_STORE_CREATE);
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
	assert_int_equal(store_count(store_file("x"), "SELECT count(*) FROM run"), 1);
	assert_int_equal(store_count(store_file("x"), "SELECT count(*) FROM metric"), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(not_a_database, store_set_up, store_tear_down),
		cmocka_unit_test_setup_teardown(made_where_there_was_nothing, store_set_up, store_tear_down),
		cmocka_unit_test_setup_teardown(older_ones_are_brought_up_to_date, store_set_up, store_tear_down),
		cmocka_unit_test_setup_teardown(changed_schemas_are_refused, store_set_up, store_tear_down),
		cmocka_unit_test_setup_teardown(what_is_put_reads_back, store_set_up, store_tear_down),
		cmocka_unit_test_setup_teardown(replacing, store_set_up, store_tear_down),
		cmocka_unit_test_setup_teardown(paths_and_tags, store_set_up, store_tear_down),
		cmocka_unit_test_setup_teardown(tags_of_markers, store_set_up, store_tear_down),
		cmocka_unit_test_setup_teardown(file_cache, store_set_up, store_tear_down),
		cmocka_unit_test_setup_teardown(more_names_than_are_kept, store_set_up, store_tear_down),
		cmocka_unit_test_setup_teardown(transactions, store_set_up, store_tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
