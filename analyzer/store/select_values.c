/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/store/db.h"
#include "analyzer/store/glob.h"
#include "analyzer/store/select.h"

void wi_texts_fini(struct wi_texts *texts)
{
	free(texts->text);
	*texts = (struct wi_texts){ 0 };
}

/* ---- which paths there are ---- */

static int by_text(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static int by_number(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return x < y ? -1 : x > y;
}

/* Ids of metrics, a set that grows: few thousand, of rows that are millions. */
struct ids {
	int64_t *id;
	size_t nr, room, sorted;
};

static void settle(struct ids *s)
{
	size_t n = 0;

	if (s->sorted == s->nr)
		return;
	qsort(s->id, s->nr, sizeof(*s->id), by_number);
	for (size_t i = 0; i < s->nr; i++)
		if (!n || s->id[n - 1] != s->id[i])
			s->id[n++] = s->id[i];
	s->nr = s->sorted = n;
}

static bool add_id(struct ids *s, int64_t id)
{
	if (s->sorted && bsearch(&id, s->id, s->sorted, sizeof(id), by_number))
		return true;
	if (s->nr == s->room) {
		settle(s);
		if (s->nr * 2 >= s->room) {
			size_t room = s->room ? 2 * s->room : 4096;
			int64_t *more = reallocarray(s->id, room, sizeof(*more));

			if (!more)
				return false;
			s->id = more;
			s->room = room;
		}
	}
	s->id[s->nr++] = id;
	return true;
}

/* The metrics that one run has rows of. */
static bool add_ids_of(struct wi_store *store, enum wi_statement which, int64_t run, struct ids *ids,
		       struct wi_err *err)
{
	sqlite3_stmt *s = wi_db_statement(store, which, err);
	int row = -1;

	if (!s)
		return false;
	sqlite3_bind_int64(s, 1, run);
	while ((row = wi_db_row(store, s, err)) > 0)
		if (!add_id(ids, sqlite3_column_int64(s, 0))) {
			sqlite3_reset(s);
			return wi_err_nomem(err);
		}
	settle(ids);
	return !row;
}

static bool collect(struct wi_store *store, enum wi_statement which, const struct wi_runs *runs, const char *glob,
		    struct wi_texts *out, struct wi_err *err)
{
	struct ids ids = { 0 };
	bool ok = true;

	*out = (struct wi_texts){ 0 };
	for (size_t i = 0; ok && i < runs->nr; i++)
		ok = add_ids_of(store, which, runs->run[i].id, &ids, err);
	if (ok && ids.nr) {
		out->text = calloc(ids.nr, sizeof(*out->text));
		ok = out->text || wi_err_nomem(err);
	}
	for (size_t i = 0; ok && i < ids.nr; i++) {
		const char *path = wi_db_metric_path(store, ids.id[i], err);

		if (!path)
			ok = err->code ? false : wi_db_damaged(store, "a figure has no name", err);
		else if (!glob || wi_glob(glob, path))
			out->text[out->nr++] = path;
	}
	free(ids.id);
	if (!ok)
		wi_texts_fini(out);
	else if (out->nr)
		qsort(out->text, out->nr, sizeof(*out->text), by_text);
	return ok;
}

bool wi_select_metrics(struct wi_store *store, const struct wi_runs *runs, const char *glob, struct wi_texts *out,
		       struct wi_err *err)
{
	return collect(store, WI_SQL_GET_VALUES, runs, glob, out, err);
}

bool wi_select_hists(struct wi_store *store, const struct wi_runs *runs, const char *glob, struct wi_texts *out,
		     struct wi_err *err)
{
	return collect(store, WI_SQL_GET_HISTS, runs, glob, out, err);
}

/* ---- values ---- */

/* A figure as a number; only finite ones are ever written. */
static bool to_double(struct wi_store *store, sqlite3_stmt *s, int at, double *out, struct wi_err *err)
{
	int type = sqlite3_column_type(s, at);

	*out = sqlite3_column_double(s, at);
	return ((type == SQLITE_INTEGER || type == SQLITE_FLOAT) && isfinite(*out)) ||
	       wi_db_damaged(store, "a figure is no number", err);
}

bool wi_select_values(struct wi_store *store, const struct wi_runs *runs, const char *path, double *out,
		      struct wi_err *err)
{
	int64_t metric = wi_db_metric(store, path, false, err);

	if (err->code)
		return false;
	for (size_t i = 0; i < runs->nr; i++) {
		sqlite3_stmt *s = metric ? wi_db_statement(store, WI_SQL_GET_VALUE, err) : NULL;
		int row = 0;

		out[i] = NAN;
		if (metric && !s)
			return false;
		if (s) {
			sqlite3_bind_int64(s, 1, runs->run[i].id);
			sqlite3_bind_int64(s, 2, metric);
			row = wi_db_row(store, s, err);
		}
		if (row < 0 || (row && !to_double(store, s, 0, &out[i], err)))
			return false;
		if (row)
			sqlite3_reset(s);
	}
	return true;
}

struct place {
	int64_t metric;
	size_t m;
};

static int by_metric(const void *a, const void *b)
{
	return by_number(&((const struct place *)a)->metric, &((const struct place *)b)->metric);
}

static bool fill_run(struct wi_store *store, const struct wi_runs *runs, size_t i, const struct place *place, size_t nr,
		     double *out, struct wi_err *err)
{
	sqlite3_stmt *s = wi_db_statement(store, WI_SQL_GET_VALUES, err);
	int row = -1;

	if (!s)
		return false;
	sqlite3_bind_int64(s, 1, runs->run[i].id);
	while ((row = wi_db_row(store, s, err)) > 0) {
		struct place key = { .metric = sqlite3_column_int64(s, 0) };
		const struct place *p = nr ? bsearch(&key, place, nr, sizeof(key), by_metric) : NULL;

		if (p && !to_double(store, s, 1, &out[p->m * runs->nr + i], err)) {
			sqlite3_reset(s);
			return false;
		}
	}
	return !row;
}

bool wi_select_table(struct wi_store *store, const struct wi_runs *runs, const struct wi_texts *paths, double *out,
		     struct wi_err *err)
{
	struct place *place = calloc(paths->nr + 1, sizeof(*place));
	size_t nr = 0;
	bool ok = place || wi_err_nomem(err);

	for (size_t i = 0; i < paths->nr * runs->nr; i++)
		out[i] = NAN;
	for (size_t m = 0; ok && m < paths->nr; m++) {
		int64_t metric = wi_db_metric(store, paths->text[m], false, err);

		ok = !err->code;
		if (metric)
			place[nr++] = (struct place){ metric, m };
	}
	if (ok && nr)
		qsort(place, nr, sizeof(*place), by_metric);
	for (size_t i = 0; ok && i < runs->nr; i++)
		ok = fill_run(store, runs, i, place, nr, out, err);
	free(place);
	return ok;
}

bool wi_select_hist(struct wi_store *store, const struct wi_run *run, const char *path, struct wi_hist *out,
		    bool *found, struct wi_err *err)
{
	int64_t metric = wi_db_metric(store, path, false, err);
	sqlite3_stmt *s = metric ? wi_db_statement(store, WI_SQL_GET_HIST, err) : NULL;

	*out = (struct wi_hist){ 0 };
	*found = false;
	if (!s)
		return !err->code;
	sqlite3_bind_int64(s, 1, run->id);
	sqlite3_bind_int64(s, 2, metric);
	int row = wi_db_row(store, s, err);

	if (row <= 0)
		return !row;
	*found = wi_db_read_hist(store, s, path, out, err);
	sqlite3_reset(s);
	return *found;
}

/* ---- a name that was meant ---- */

/* Insertions, deletions and changes from a to b; only what is no more than limit matters. */
static size_t distance(const char *a, const char *b, size_t *row)
{
	size_t na = strlen(a), nb = strlen(b);

	for (size_t j = 0; j <= nb; j++)
		row[j] = j;
	for (size_t i = 1; i <= na; i++) {
		size_t corner = row[0];

		row[0] = i;
		for (size_t j = 1; j <= nb; j++) {
			size_t above = row[j], best = corner + (a[i - 1] != b[j - 1]);

			if (above + 1 < best)
				best = above + 1;
			if (row[j - 1] + 1 < best)
				best = row[j - 1] + 1;
			corner = above;
			row[j] = best;
		}
	}
	return row[nb];
}

/* Does any run have a histogram, or a figure, of this path? */
static bool is_of_kind(struct wi_store *store, const char *path, bool hists)
{
	struct wi_err err = { 0 };
	int64_t metric = wi_db_metric(store, path, false, &err);
	sqlite3_stmt *s = NULL;
	bool found = false;

	if (sqlite3_prepare_v2(store->db, "SELECT 1 FROM histogram WHERE metric = ?1 LIMIT 1", -1, &s, NULL) ==
	    SQLITE_OK) {
		sqlite3_bind_int64(s, 1, metric);
		found = sqlite3_step(s) == SQLITE_ROW;
	}
	sqlite3_finalize(s);
	return found == hists;
}

char *wi_select_nearest(struct wi_store *store, const char *text, bool hists)
{
	struct wi_err err = { 0 };
	size_t nr, best = strlen(text) / 2 + 1, *row;
	const char *const *path = wi_db_metric_paths(store, &nr, &err), *found = NULL;

	if (!path || strlen(text) > WI_METRIC_PATH_MAX)
		return NULL;
	row = calloc(WI_METRIC_PATH_MAX + 2, sizeof(*row));
	for (size_t i = 0; row && i < nr; i++) {
		size_t d = distance(text, path[i], row);

		if (d < best && is_of_kind(store, path[i], hists)) {
			best = d;
			found = path[i];
		}
	}
	free(row);
	return found ? strdup(found) : NULL;
}
