/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One database into another: the runs as bundles, by the rules of put, then paths and tags as the union of sets. All of
 * it is a maximum or a union, so that any order and grouping of merges gives the same rows.
 */
#include <string.h>

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

/* A row of paths with a tag, or without one: (sha256, size_bytes, path, key, value). */
static bool merge_tag(struct wi_store *into, struct wi_store *from, sqlite3_stmt *row, struct wi_err *err)
{
	sqlite3_stmt *s = wi_db_statement(into, WI_SQL_FIND_TRACE, err);
	int64_t trace = 0;

	if (!s)
		return false;
	if (sqlite3_column_bytes(row, 0) != WI_SHA256_BYTES ||
	    sqlite3_column_bytes(row, 2) > 4 * (int)WI_STORE_PATH_MAX ||
	    sqlite3_column_bytes(row, 3) > (int)WI_TAG_KEY_MAX || sqlite3_column_bytes(row, 4) > (int)WI_TAG_VALUE_MAX)
		return wi_db_damaged(from, "a path or a tag cannot be one", err);
	sqlite3_bind_value(s, 1, sqlite3_column_value(row, 0));
	sqlite3_bind_value(s, 2, sqlite3_column_value(row, 1));
	if (wi_db_row(into, s, err) > 0)
		trace = sqlite3_column_int64(s, 0);
	sqlite3_reset(s);
	if (!trace)
		return err->code ? false : wi_db_damaged(from, "a path belongs to no run", err);
	for (int with_tag = 0; with_tag <= (sqlite3_column_type(row, 3) != SQLITE_NULL); with_tag++) {
		s = wi_db_statement(into, with_tag ? WI_SQL_ADD_TAG : WI_SQL_ADD_PATH, err);
		if (!s)
			return false;
		sqlite3_bind_int64(s, 1, trace);
		for (int i = 2; i <= (with_tag ? 4 : 2); i++)
			sqlite3_bind_value(s, i, sqlite3_column_value(row, i));
		if (!wi_db_run(into, s, err))
			return false;
	}
	return true;
}

static bool merge_tags(struct wi_store *into, struct wi_store *from, struct wi_err *err)
{
	sqlite3_stmt *s = NULL;
	int rc = sqlite3_prepare_v2(
		    from->db,
		    "SELECT trace.sha256, trace.size_bytes, p.path, tag.key, tag.value FROM trace_path p "
		    "JOIN trace ON trace.id = p.trace "
		    "LEFT JOIN tag ON tag.trace = p.trace AND tag.path = p.path",
		    -1, &s, NULL),
	    row = -1;

	if (rc != SQLITE_OK)
		return wi_db_error(from, rc, "cannot be read", err);
	while ((row = wi_db_row(from, s, err)) > 0)
		if (!merge_tag(into, from, s, err)) {
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
	ok = merge_runs(into, from, count, err) && merge_tags(into, from, err);
	wi_store_close(from, &(struct wi_err){ 0 });
	return ok;
}
