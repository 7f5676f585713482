/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One database into another: the runs as bundles, by the rules of put, then paths and tags as the union of sets. All of
 * it is a maximum or a union, so that any order and grouping of merges gives the same rows.
 */
#include "analyzer/store/bundle_priv.h"
#include "analyzer/store/db.h"

static bool merge_run(struct wi_store *into, struct wi_store *from, int64_t run, struct wi_merge_count *count,
		      struct wi_err *err)
{
	enum wi_put_outcome outcome = WI_PUT_DROPPED;
	struct wi_bundle b;
	int64_t trace;
	bool ok;

	if (!wi_bundle_init(&b, err))
		return false;
	ok = wi_db_read_run(from, run, &b, err) && wi_db_put_run(into, &b, WI_PUT_MERGE, &trace, &outcome, err);
	wi_bundle_fini(&b);
	if (!ok)
		return false;
	count->runs++;
	count->added += outcome == WI_PUT_ADDED;
	count->better += outcome == WI_PUT_BETTER;
	count->dropped += outcome == WI_PUT_DROPPED;
	return true;
}

static bool merge_runs(struct wi_store *into, struct wi_store *from, struct wi_merge_count *count, struct wi_err *err)
{
	sqlite3_stmt *s = NULL;
	int rc = sqlite3_prepare_v2(from->db, "SELECT id FROM run ORDER BY id", -1, &s, NULL), row = -1;

	if (rc != SQLITE_OK)
		return wi_db_error(from, rc, "cannot be read", err);
	while ((row = wi_db_row(from, s, err)) > 0)
		if (!merge_run(into, from, sqlite3_column_int64(s, 0), count, err)) {
			row = -1;
			break;
		}
	sqlite3_finalize(s);
	return !row;
}

/* Row of the trace that a row of the other database is about: (sha256, size_bytes, ...). 0: err is set. */
static int64_t trace_of(struct wi_store *into, struct wi_store *from, sqlite3_stmt *row, struct wi_err *err)
{
	sqlite3_stmt *s = wi_db_statement(into, WI_SQL_FIND_TRACE, err);
	int64_t trace = 0;

	if (!s)
		return 0;
	sqlite3_bind_value(s, 1, sqlite3_column_value(row, 0));
	sqlite3_bind_value(s, 2, sqlite3_column_value(row, 1));
	if (wi_db_row(into, s, err) > 0)
		trace = sqlite3_column_int64(s, 0);
	sqlite3_reset(s);
	if (!trace && !err->code)
		wi_db_damaged(from, "a path or a tag belongs to no run", err);
	return trace;
}

/* What may stand in columns 2 .. of a row: at least min bytes of UTF-8, no more than max. */
static bool check_text(struct wi_store *from, sqlite3_stmt *row, int at, int min, int max, struct wi_err *err)
{
	const char *text = (const char *)sqlite3_column_text(row, at);
	int nr = sqlite3_column_bytes(row, at);

	return (text && nr >= min && nr <= max && wi_bundle_is_text(text, (size_t)nr)) ||
	       wi_db_damaged(from, "a path or a tag cannot be one", err);
}

#define MAX_PATH_TEXT ((int)(WI_STORE_PATH_MAX * 4)) /* with escapes */

/* A row of paths, or of tags with the path that told them: columns 2 .. into the same columns of a row of ours. */
static bool merge_text_row(struct wi_store *into, struct wi_store *from, sqlite3_stmt *row, bool tags,
			   struct wi_err *err)
{
	sqlite3_stmt *s;
	int64_t trace;

	if (!check_text(from, row, 2, !tags, MAX_PATH_TEXT, err) ||
	    (tags && (!check_text(from, row, 3, 1, WI_TAG_KEY_MAX, err) ||
		      !check_text(from, row, 4, 1, WI_TAG_VALUE_MAX, err))))
		return false;
	if (!(trace = trace_of(into, from, row, err)) ||
	    !(s = wi_db_statement(into, tags ? WI_SQL_ADD_TAG : WI_SQL_ADD_PATH, err)))
		return false;
	sqlite3_bind_int64(s, 1, trace);
	for (int i = 2; i <= (tags ? 4 : 2); i++)
		sqlite3_bind_value(s, i, sqlite3_column_value(row, i));
	return wi_db_run(into, s, err);
}

static bool merge_texts(struct wi_store *into, struct wi_store *from, bool tags, struct wi_err *err)
{
	static const char *const sql[] = {
		"SELECT t.sha256, t.size_bytes, x.path FROM trace_path x JOIN trace t ON t.id = x.trace",
		"SELECT t.sha256, t.size_bytes, x.path, x.key, x.value FROM tag x JOIN trace t ON t.id = x.trace",
	};
	sqlite3_stmt *s = NULL;
	int rc = sqlite3_prepare_v2(from->db, sql[tags], -1, &s, NULL), row = -1;

	if (rc != SQLITE_OK)
		return wi_db_error(from, rc, "cannot be read", err);
	while ((row = wi_db_row(from, s, err)) > 0)
		if (!merge_text_row(into, from, s, tags, err)) {
			row = -1;
			break;
		}
	sqlite3_finalize(s);
	return !row;
}

bool wi_store_merge(struct wi_store *into, const char *path, struct wi_merge_count *count, struct wi_err *err)
{
	struct wi_store *from = wi_store_open(path, WI_STORE_READ, err);
	bool ok;

	*count = (struct wi_merge_count){ 0 };
	if (!from)
		return false;
	ok = merge_runs(into, from, count, err) && merge_texts(into, from, false, err) &&
	     merge_texts(into, from, true, err);
	wi_store_close(from, &(struct wi_err){ 0 });
	return ok;
}
