/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The rows of table metric in memory: by path for writing, by row for reading. A writer keeps no more than MAX_KEPT of
 * them: with full detail every trace brings names of its own tasks, and a writer's memory must not grow with traces.
 */
#include <stdlib.h>
#include <string.h>

#include "analyzer/store/catalog.h"
#include "analyzer/store/db.h"

#define MAX_KEPT 65536u

struct entry {
	char *path;
	int64_t id;
};

struct wi_metric_ids {
	struct entry *by_path; /* a hash table with open places */
	size_t nr, room;       /* room: a power of two */
	struct entry *by_id;   /* sorted; shares the paths. nr_by_id < nr: to be made anew */
	size_t nr_by_id;
	const char **sorted;
	bool complete; /* all rows are here */
};

static size_t place(const struct wi_metric_ids *m, const char *path)
{
	uint64_t h = 0xcbf29ce484222325u; /* FNV-1a */

	for (const char *c = path; *c; c++)
		h = (h ^ (unsigned char)*c) * 0x100000001b3u;
	for (size_t i = (h ^ h >> 32) & (m->room - 1);; i = (i + 1) & (m->room - 1))
		if (!m->by_path[i].path || !strcmp(m->by_path[i].path, path))
			return i;
}

static bool grow(struct wi_metric_ids *m)
{
	struct wi_metric_ids more = { .room = m->room ? 2 * m->room : 2048 };

	if (2 * (m->nr + 1) <= m->room)
		return true;
	more.by_path = calloc(more.room, sizeof(*more.by_path));
	if (!more.by_path)
		return false;
	for (size_t i = 0; i < m->room; i++)
		if (m->by_path[i].path)
			more.by_path[place(&more, m->by_path[i].path)] = m->by_path[i];
	free(m->by_path);
	m->by_path = more.by_path;
	m->room = more.room;
	return true;
}

static bool remember(struct wi_metric_ids *m, const char *path, int64_t id)
{
	if (!grow(m))
		return false;
	struct entry *e = &m->by_path[place(m, path)];

	if (e->path)
		return true;
	e->path = strdup(path);
	e->id = id;
	m->nr += e->path != NULL;
	return e->path != NULL;
}

void wi_db_forget_metrics(struct wi_store *store)
{
	struct wi_metric_ids *m = store->metrics;

	for (size_t i = 0; m && i < m->room; i++)
		free(m->by_path[i].path);
	if (m) {
		free(m->by_path);
		free(m->by_id);
		free(m->sorted);
	}
	free(m);
	store->metrics = NULL;
}

static bool ready(struct wi_store *store, struct wi_err *err)
{
	if (!store->metrics)
		store->metrics = calloc(1, sizeof(*store->metrics));
	return (store->metrics && grow(store->metrics)) || wi_err_nomem(err);
}

static bool load(struct wi_store *store, struct wi_err *err)
{
	sqlite3_stmt *s = NULL;
	int rc, row;

	if (!ready(store, err))
		return false;
	if (store->metrics->complete)
		return true;
	rc = sqlite3_prepare_v2(store->db, "SELECT id, path FROM metric", -1, &s, NULL);
	if (rc != SQLITE_OK)
		return wi_db_error(store, rc, "cannot be read", err);
	while ((row = wi_db_row(store, s, err)) > 0) {
		const char *path = (const char *)sqlite3_column_text(s, 1);
		int64_t id = sqlite3_column_int64(s, 0);

		if (!path || !*path || id <= 0 || strlen(path) > WI_METRIC_PATH_MAX ||
		    strlen(path) != (size_t)sqlite3_column_bytes(s, 1) || !remember(store->metrics, path, id)) {
			row = -1;
			wi_db_damaged(store, "a metric has no name that could be one", err);
			break;
		}
	}
	sqlite3_finalize(s);
	store->metrics->complete = !row;
	return !row;
}

static int64_t add(struct wi_store *store, const char *path, struct wi_err *err)
{
	sqlite3_stmt *s = wi_db_statement(store, WI_SQL_ADD_METRIC, err);
	struct wi_metric_info info;

	if (!s)
		return 0;
	wi_catalog_find(path, &info);
	wi_db_bind_text(s, 1, path);
	wi_db_bind_text(s, 2, info.unit);
	wi_db_bind_text(s, 3, wi_direction_name(info.direction));
	sqlite3_bind_int64(s, 4, info.headline);
	if (!wi_db_run(store, s, err))
		return 0;
	return sqlite3_last_insert_rowid(store->db);
}

static int64_t look(struct wi_store *store, const char *path, struct wi_err *err)
{
	sqlite3_stmt *s = wi_db_statement(store, WI_SQL_FIND_METRIC, err);
	int64_t id = 0;

	if (!s)
		return 0;
	wi_db_bind_text(s, 1, path);
	if (wi_db_row(store, s, err) > 0)
		id = sqlite3_column_int64(s, 0);
	sqlite3_reset(s);
	return id;
}

int64_t wi_db_metric(struct wi_store *store, const char *path, bool make, struct wi_err *err)
{
	if (make && store->metrics && store->metrics->nr >= MAX_KEPT)
		wi_db_forget_metrics(store);
	if (!ready(store, err))
		return 0;
	const struct entry *e = &store->metrics->by_path[place(store->metrics, path)];

	if (e->path)
		return e->id;
	/* Not met so far, or added by another process. */
	int64_t id = look(store, path, err);

	if (!id && make && !err->code)
		id = add(store, path, err);
	if (id && !remember(store->metrics, path, id)) {
		wi_err_nomem(err);
		return 0;
	}
	return id;
}

static int by_id(const void *a, const void *b)
{
	int64_t x = ((const struct entry *)a)->id, y = ((const struct entry *)b)->id;

	return x < y ? -1 : x > y;
}

static int by_text(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static bool sort(struct wi_metric_ids *m)
{
	size_t n = 0;

	if (m->nr_by_id == m->nr)
		return true;
	free(m->by_id);
	free(m->sorted);
	m->nr_by_id = 0;
	m->by_id = calloc(m->nr, sizeof(*m->by_id));
	m->sorted = calloc(m->nr, sizeof(*m->sorted));
	if (!m->by_id || !m->sorted)
		return false;
	for (size_t i = 0; i < m->room; i++)
		if (m->by_path[i].path) {
			m->sorted[n] = m->by_path[i].path;
			m->by_id[n++] = m->by_path[i];
		}
	qsort(m->by_id, n, sizeof(*m->by_id), by_id);
	qsort(m->sorted, n, sizeof(*m->sorted), by_text);
	m->nr_by_id = n;
	return true;
}

const char *wi_db_metric_path(struct wi_store *store, int64_t id, struct wi_err *err)
{
	if (!load(store, err))
		return NULL;
	if (!sort(store->metrics)) {
		wi_err_nomem(err);
		return NULL;
	}
	struct entry key = { .id = id };
	const struct entry *e =
		store->metrics->nr ? bsearch(&key, store->metrics->by_id, store->metrics->nr_by_id, sizeof(key), by_id)
				   : NULL;

	return e ? e->path : NULL;
}

const char *const *wi_db_metric_paths(struct wi_store *store, size_t *nr, struct wi_err *err)
{
	*nr = 0;
	if (!load(store, err))
		return NULL;
	if (!sort(store->metrics)) {
		wi_err_nomem(err);
		return NULL;
	}
	*nr = store->metrics->nr_by_id;
	return store->metrics->sorted;
}
