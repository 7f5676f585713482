/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Rows into bundles. Anybody may have written the file: types, lengths and texts are checked here. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "analyzer/store/bundle_priv.h"
#include "analyzer/store/db.h"
#include "analyzer/store/hist_blob.h"

/* Text of a column, the bundle's; *out NULL where the column is NULL. */
static bool get_text(struct wi_store *store, sqlite3_stmt *s, int at, struct wi_bundle *b, const char **out,
		     struct wi_err *err)
{
	const char *text;
	size_t nr;

	*out = NULL;
	if (sqlite3_column_type(s, at) == SQLITE_NULL)
		return true;
	text = (const char *)sqlite3_column_text(s, at);
	nr = (size_t)sqlite3_column_bytes(s, at);
	if (!text)
		return wi_err_nomem(err);
	if (!wi_bundle_is_text(text, nr))
		return wi_db_damaged(store, "a text is no UTF-8", err);
	*out = wi_bundle_copy(b, text, nr);
	return *out || wi_err_nomem(err);
}

static bool get_cell(struct wi_store *store, sqlite3_stmt *s, int at, enum wi_cell_type type, struct wi_bundle *b,
		     struct wi_cell *c, struct wi_err *err)
{
	if (sqlite3_column_type(s, at) == SQLITE_NULL)
		return true;
	c->type = type;
	if (type == WI_CELL_INTEGER)
		c->integer = sqlite3_column_int64(s, at);
	else if (type == WI_CELL_REAL)
		c->real = sqlite3_column_double(s, at);
	else
		return get_text(store, s, at, b, &c->text, err);
	return type != WI_CELL_REAL || isfinite(c->real) || wi_db_damaged(store, "a number is not finite", err);
}

static bool get_row(struct wi_store *store, sqlite3_stmt *s, int first, enum wi_part part, struct wi_bundle *b,
		    struct wi_err *err)
{
	const struct wi_part_info *info = wi_part_info(part);
	struct wi_row *row = wi_bundle_put_row(b, part, err);

	if (!row)
		return false;
	for (size_t k = 0; k < info->nr; k++)
		if (!get_cell(store, s, first + (int)k, info->column[k].type, b, &row->cell[k], err))
			return false;
	size_t text, number;

	wi_part_key(part, &text, &number);
	return text == (size_t)-1 || row->cell[text].text || wi_db_damaged(store, "a row has no name", err);
}

static bool all_unknown(const struct wi_row *row)
{
	for (size_t k = 0; k < wi_part_info(row->part)->nr; k++)
		if (row->cell[k].type != WI_CELL_NONE)
			return false;
	return true;
}

static bool get_head(struct wi_store *store, int64_t run, struct wi_bundle *b, int64_t *topology, struct wi_err *err)
{
	sqlite3_stmt *s = wi_db_statement(store, WI_SQL_GET_PART + WI_PART_INPUT, err);
	const char *status = NULL;
	bool ok = false;

	if (!s)
		return false;
	sqlite3_bind_int64(s, 1, run);
	int row = wi_db_row(store, s, err);

	if (row <= 0)
		return row < 0 ? false : wi_db_damaged(store, "a run has no trace or no analysis", err);
	if (!get_text(store, s, 0, b, &b->version, err) || !get_text(store, s, 1, b, &status, err) ||
	    !get_text(store, s, 2, b, &b->reason, err) || !get_text(store, s, 5, b, &b->stderr_tail, err) ||
	    !get_text(store, s, 9, b, &b->analysis, err))
		goto out;
	b->signal = sqlite3_column_int(s, 3);
	b->exit_status = sqlite3_column_int(s, 4);
	*topology = sqlite3_column_int64(s, 6);
	b->size_bytes = (uint64_t)sqlite3_column_int64(s, 8);
	if (!status || !wi_run_status_parse(status, &b->status) || sqlite3_column_bytes(s, 7) != WI_SHA256_BYTES ||
	    b->size_bytes > INT64_MAX || !b->version || !b->analysis) {
		wi_db_damaged(store, "a run's head cannot be one", err);
		goto out;
	}
	memcpy(b->sha256, sqlite3_column_blob(s, 7), WI_SHA256_BYTES);
	ok = get_row(store, s, 10, WI_PART_INPUT, b, err);
	if (ok && all_unknown(&b->row[b->nr_rows - 1]))
		b->nr_rows--; /* of a run without an analysis: none was put */
out:
	sqlite3_reset(s);
	return ok;
}

static bool get_rows(struct wi_store *store, int64_t key, enum wi_part part, struct wi_bundle *b, struct wi_err *err)
{
	sqlite3_stmt *s = wi_db_statement(store, WI_SQL_GET_PART + part, err);
	int row = -1;

	if (!s)
		return false;
	sqlite3_bind_int64(s, 1, key);
	while ((row = wi_db_row(store, s, err)) > 0)
		if (!get_row(store, s, 0, part, b, err)) {
			sqlite3_reset(s);
			return false;
		}
	return !row;
}

/* The path of a metric's row, which must be there; of the store, not of the bundle. */
static const char *metric_path(struct wi_store *store, int64_t id, struct wi_err *err)
{
	const char *path = wi_db_metric_path(store, id, err);

	if (!path && !err->code)
		wi_db_damaged(store, "a figure has no name", err);
	return path;
}

static bool get_values(struct wi_store *store, int64_t run, struct wi_bundle *b, struct wi_err *err)
{
	sqlite3_stmt *s = wi_db_statement(store, WI_SQL_GET_VALUES, err);
	int row = -1;

	if (!s)
		return false;
	sqlite3_bind_int64(s, 1, run);
	while ((row = wi_db_row(store, s, err)) > 0) {
		struct wi_metric_value v = { .path = metric_path(store, sqlite3_column_int64(s, 0), err) };
		int type = sqlite3_column_type(s, 1);

		v.is_real = type == SQLITE_FLOAT;
		v.integer = v.is_real ? 0 : sqlite3_column_int64(s, 1);
		v.real = v.is_real ? sqlite3_column_double(s, 1) : 0;
		if (v.path && ((type != SQLITE_INTEGER && type != SQLITE_FLOAT) || !isfinite(v.real)))
			wi_db_damaged(store, "a figure is no number", err);
		if (err->code || !wi_bundle_put_metric(b, &v, err)) {
			sqlite3_reset(s);
			return false;
		}
	}
	return !row;
}

bool wi_db_read_hist(struct wi_store *store, sqlite3_stmt *s, const char *path, struct wi_hist *h, struct wi_err *err)
{
	struct wi_hist exact = { .count = (uint64_t)sqlite3_column_int64(s, 1),
				 .sum_ns = (uint64_t)sqlite3_column_int64(s, 2),
				 .min_ns = (uint64_t)sqlite3_column_int64(s, 3),
				 .max_ns = (uint64_t)sqlite3_column_int64(s, 4) };
	const uint8_t *blob = sqlite3_column_blob(s, 5);
	char what[256];
	const char *why;

	if (wi_hist_blob_get(h, blob, (size_t)sqlite3_column_bytes(s, 5), &exact, &why))
		return true;
	snprintf(what, sizeof(what), "histogram %.128s: %s", path, why);
	return wi_db_damaged(store, what, err);
}

static bool get_hists(struct wi_store *store, int64_t run, struct wi_bundle *b, struct wi_err *err)
{
	sqlite3_stmt *s = wi_db_statement(store, WI_SQL_GET_HISTS, err);
	int row = -1;

	if (!s)
		return false;
	sqlite3_bind_int64(s, 1, run);
	while ((row = wi_db_row(store, s, err)) > 0) {
		const char *path = metric_path(store, sqlite3_column_int64(s, 0), err);
		struct wi_hist h;

		if (!path || !wi_db_read_hist(store, s, path, &h, err) || !wi_bundle_put_hist(b, path, &h, err)) {
			sqlite3_reset(s);
			return false;
		}
	}
	return !row;
}

bool wi_db_read_run(struct wi_store *store, int64_t run, struct wi_bundle *b, struct wi_err *err)
{
	int64_t topology = 0;

	return get_head(store, run, b, &topology, err) && get_rows(store, run, WI_PART_QUALITY, b, err) &&
	       (!topology || get_rows(store, topology, WI_PART_TOPOLOGY, b, err)) &&
	       get_rows(store, run, WI_PART_MODEL, b, err) && get_rows(store, run, WI_PART_WORST, b, err) &&
	       get_values(store, run, b, err) && get_hists(store, run, b, err) && wi_bundle_finish(b, err);
}
