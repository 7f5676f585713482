/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Bundles into rows. */
#include <stdlib.h>
#include <string.h>

#include "analyzer/store/bundle_priv.h"
#include "analyzer/store/db.h"
#include "analyzer/store/hist_blob.h"

/* The number that a statement answers; 0: no row, or err is set. */
static int64_t answer(struct wi_store *store, sqlite3_stmt *s, struct wi_err *err)
{
	int64_t v = wi_db_row(store, s, err) > 0 ? sqlite3_column_int64(s, 0) : 0;

	sqlite3_reset(s);
	return v;
}

static int64_t added(struct wi_store *store, sqlite3_stmt *s, struct wi_err *err)
{
	return wi_db_run(store, s, err) ? sqlite3_last_insert_rowid(store->db) : 0;
}

static int64_t find_trace(struct wi_store *store, const uint8_t sha256[WI_SHA256_BYTES], uint64_t size, bool make,
			  struct wi_err *err)
{
	int64_t id = 0;

	for (int i = 0; !id && i <= make; i++) {
		sqlite3_stmt *s = wi_db_statement(store, i ? WI_SQL_ADD_TRACE : WI_SQL_FIND_TRACE, err);

		if (!s)
			return 0;
		sqlite3_bind_blob(s, 1, sha256, WI_SHA256_BYTES, SQLITE_STATIC);
		sqlite3_bind_int64(s, 2, (int64_t)size);
		id = i ? added(store, s, err) : answer(store, s, err);
		if (err->code)
			return 0;
	}
	return id;
}

static int64_t find_analysis(struct wi_store *store, const char *text, bool make, struct wi_err *err)
{
	int64_t id = 0;

	for (int i = 0; !id && i <= make; i++) {
		sqlite3_stmt *s = wi_db_statement(store, i ? WI_SQL_ADD_ANALYSIS : WI_SQL_FIND_ANALYSIS, err);

		if (!s)
			return 0;
		wi_db_bind_text(s, 1, text);
		id = i ? added(store, s, err) : answer(store, s, err);
		if (err->code)
			return 0;
	}
	return id;
}

static int64_t find_topology(struct wi_store *store, const struct wi_row *row, struct wi_err *err)
{
	int64_t id = 0;

	for (int i = 0; !id && i < 2; i++) {
		sqlite3_stmt *s =
			wi_db_statement(store, i ? WI_SQL_ADD_PART + WI_PART_TOPOLOGY : WI_SQL_FIND_TOPOLOGY, err);

		if (!s)
			return 0;
		for (size_t k = 0; k < wi_part_info(WI_PART_TOPOLOGY)->nr; k++)
			wi_db_bind_cell(s, (int)k + 1, &row->cell[k]);
		id = i ? added(store, s, err) : answer(store, s, err);
		if (err->code)
			return 0;
	}
	return id;
}

/* ---- what is there ---- */

struct present {
	int64_t id; /* 0: nothing */
	enum wi_run_status status;
	char version[64];
	uint8_t digest[WI_SHA256_BYTES];
};

static bool find_run(struct wi_store *store, int64_t trace, int64_t analysis, struct present *p, struct wi_err *err)
{
	sqlite3_stmt *s = wi_db_statement(store, WI_SQL_FIND_RUN, err);

	*p = (struct present){ 0 };
	if (!s)
		return false;
	sqlite3_bind_int64(s, 1, trace);
	sqlite3_bind_int64(s, 2, analysis);
	int row = wi_db_row(store, s, err);

	if (row <= 0)
		return !row;
	const char *status = (const char *)sqlite3_column_text(s, 1),
		   *version = (const char *)sqlite3_column_text(s, 2);
	const void *digest = sqlite3_column_blob(s, 3);
	bool ok = status && version && strlen(version) < sizeof(p->version) && digest &&
		  sqlite3_column_bytes(s, 3) == WI_SHA256_BYTES && wi_run_status_parse(status, &p->status);

	if (ok) {
		p->id = sqlite3_column_int64(s, 0);
		strcpy(p->version, version);
		memcpy(p->digest, digest, WI_SHA256_BYTES);
	}
	sqlite3_reset(s);
	return ok || wi_db_damaged(store, "a run's status, version or digest cannot be one", err);
}

bool wi_store_find(struct wi_store *store, const uint8_t sha256[WI_SHA256_BYTES], uint64_t size_bytes,
		   const char *analysis, struct wi_store_known *known, struct wi_err *err)
{
	struct present p;
	int64_t trace = find_trace(store, sha256, size_bytes, false, err);
	int64_t id = trace ? find_analysis(store, analysis, false, err) : 0;

	*known = (struct wi_store_known){ 0 };
	if (err->code || !id)
		return !err->code;
	if (!find_run(store, trace, id, &p, err))
		return false;
	known->found = p.id != 0;
	known->status = p.status;
	strcpy(known->version, p.version);
	return true;
}

int wi_db_compare(const char *version_a, enum wi_run_status status_a, const uint8_t digest_a[WI_SHA256_BYTES],
		  const char *version_b, enum wi_run_status status_b, const uint8_t digest_b[WI_SHA256_BYTES])
{
	int c = strverscmp(version_a, version_b);

	if (!c)
		c = strcmp(version_a, version_b);
	if (!c)
		c = (status_b > status_a) - (status_b < status_a);
	return c ? c : memcmp(digest_a, digest_b, WI_SHA256_BYTES);
}

/* ---- rows of a run ---- */

static int64_t add_run(struct wi_store *store, const struct wi_bundle *b, int64_t trace, int64_t analysis,
		       const uint8_t digest[WI_SHA256_BYTES], struct wi_err *err)
{
	sqlite3_stmt *s = wi_db_statement(store, WI_SQL_ADD_PART + WI_PART_INPUT, err);
	size_t nr;
	const struct wi_row *topology = wi_bundle_rows(b, WI_PART_TOPOLOGY, &nr),
			    *input = wi_bundle_rows(b, WI_PART_INPUT, &nr);
	int64_t machine = topology ? find_topology(store, topology, err) : 0;

	if (!s || (topology && !machine))
		return 0;
	sqlite3_bind_int64(s, 1, trace);
	sqlite3_bind_int64(s, 2, analysis);
	wi_db_bind_text(s, 3, b->version);
	wi_db_bind_text(s, 4, wi_run_status_name(b->status));
	wi_db_bind_text(s, 5, b->reason);
	sqlite3_bind_int64(s, 6, b->signal);
	sqlite3_bind_int64(s, 7, b->exit_status);
	wi_db_bind_text(s, 8, b->stderr_tail);
	if (machine)
		sqlite3_bind_int64(s, 9, machine);
	sqlite3_bind_blob(s, 10, digest, WI_SHA256_BYTES, SQLITE_STATIC);
	for (size_t k = 0; input && k < wi_part_info(WI_PART_INPUT)->nr; k++)
		wi_db_bind_cell(s, (int)k + 11, &input->cell[k]);
	return added(store, s, err);
}

static bool add_rows(struct wi_store *store, const struct wi_bundle *b, int64_t run, struct wi_err *err)
{
	for (size_t i = 0; i < b->nr_rows; i++) {
		enum wi_part part = b->row[i].part;
		sqlite3_stmt *s;

		if (part == WI_PART_INPUT || part == WI_PART_TOPOLOGY)
			continue;
		if (!(s = wi_db_statement(store, WI_SQL_ADD_PART + part, err)))
			return false;
		sqlite3_bind_int64(s, 1, run);
		for (size_t k = 0; k < wi_part_info(part)->nr; k++)
			wi_db_bind_cell(s, (int)k + 2, &b->row[i].cell[k]);
		if (!wi_db_run(store, s, err))
			return false;
	}
	return true;
}

/* In the order of the key, so that a leaf of the tree is filled once; the order of metric rows is not that of paths. */
struct ordered {
	int64_t metric;
	size_t i;
};

static int by_metric(const void *a, const void *b)
{
	int64_t x = ((const struct ordered *)a)->metric, y = ((const struct ordered *)b)->metric;

	return x < y ? -1 : x > y;
}

static bool add_values(struct wi_store *store, const struct wi_bundle *b, int64_t run, struct wi_err *err)
{
	struct ordered *o = b->nr_metrics ? calloc(b->nr_metrics, sizeof(*o)) : NULL;
	bool ok = o || !b->nr_metrics || wi_err_nomem(err);

	for (size_t i = 0; ok && i < b->nr_metrics; i++) {
		o[i] = (struct ordered){ wi_db_metric(store, b->metric[i].path, true, err), i };
		ok = o[i].metric != 0;
	}
	if (ok && b->nr_metrics)
		qsort(o, b->nr_metrics, sizeof(*o), by_metric);
	for (size_t i = 0; ok && i < b->nr_metrics; i++) {
		const struct wi_metric_value *v = &b->metric[o[i].i];
		sqlite3_stmt *s = wi_db_statement(store, WI_SQL_ADD_VALUE, err);

		if (!(ok = s != NULL))
			break;
		sqlite3_bind_int64(s, 1, run);
		sqlite3_bind_int64(s, 2, o[i].metric);
		if (v->is_real)
			sqlite3_bind_double(s, 3, v->real);
		else
			sqlite3_bind_int64(s, 3, v->integer);
		ok = wi_db_run(store, s, err);
	}
	free(o);
	return ok;
}

static bool add_hist(struct wi_store *store, const struct wi_metric_hist *h, int64_t run, struct wi_err *err)
{
	int64_t metric = wi_db_metric(store, h->path, true, err);
	sqlite3_stmt *s = metric ? wi_db_statement(store, WI_SQL_ADD_HIST, err) : NULL;
	struct wi_bytes_out blob = { 0 };
	bool ok;

	if (!s)
		return false;
	wi_hist_blob_put(&blob, &h->hist);
	sqlite3_bind_int64(s, 1, run);
	sqlite3_bind_int64(s, 2, metric);
	sqlite3_bind_int64(s, 3, (int64_t)h->hist.count);
	sqlite3_bind_int64(s, 4, (int64_t)h->hist.sum_ns);
	if (h->hist.count) {
		sqlite3_bind_int64(s, 5, (int64_t)h->hist.min_ns);
		sqlite3_bind_int64(s, 6, (int64_t)h->hist.max_ns);
	}
	if (blob.nr)
		sqlite3_bind_blob(s, 7, blob.at, (int)blob.nr, SQLITE_STATIC);
	else
		sqlite3_bind_zeroblob(s, 7, 0);
	ok = blob.failed ? wi_err_nomem(err) : wi_db_run(store, s, err);
	free(blob.at);
	return ok;
}

static bool drop(struct wi_store *store, enum wi_statement which, int64_t a, int64_t b, struct wi_err *err)
{
	sqlite3_stmt *s = wi_db_statement(store, which, err);

	if (!s)
		return false;
	sqlite3_bind_int64(s, 1, a);
	if (which == WI_SQL_DROP_OTHERS)
		sqlite3_bind_int64(s, 2, b);
	if (!wi_db_run(store, s, err))
		return false;
	store->orphans |= sqlite3_changes(store->db) > 0;
	return true;
}

static bool is_open(struct wi_store *store, struct wi_err *err)
{
	if (store->open && !sqlite3_get_autocommit(store->db))
		return true;
	return wi_err_at(err, WI_EIO, store->file, WI_NO_OFFSET, "cannot be written: no transaction is open");
}

bool wi_db_put_run(struct wi_store *store, struct wi_bundle *b, enum wi_put how, int64_t *trace,
		   enum wi_put_outcome *outcome, struct wi_err *err)
{
	uint8_t digest[WI_SHA256_BYTES];
	struct present p;
	int64_t analysis, run;

	if (!is_open(store, err) || !wi_bundle_digest(b, digest, err))
		return false;
	if (!b->version || strlen(b->version) >= sizeof(p.version) || !b->analysis)
		return wi_err_set(err, WI_EREFUSED, "a result without version or analysis cannot be kept");
	if (!(*trace = find_trace(store, b->sha256, b->size_bytes, true, err)) ||
	    !(analysis = find_analysis(store, b->analysis, true, err)) || !find_run(store, *trace, analysis, &p, err))
		return false;
	if (how == WI_PUT_REPLACE && !drop(store, WI_SQL_DROP_OTHERS, *trace, analysis, err))
		return false;
	bool versions = how == WI_PUT_REPLACE && strcmp(p.version, b->version);

	*outcome = p.id ? WI_PUT_BETTER : WI_PUT_ADDED;
	if (p.id && !versions && wi_db_compare(b->version, b->status, digest, p.version, p.status, p.digest) <= 0) {
		*outcome = WI_PUT_DROPPED;
		return true;
	}
	if (p.id && !drop(store, WI_SQL_DROP_RUN, p.id, 0, err))
		return false;
	if (!(run = add_run(store, b, *trace, analysis, digest, err)) || !add_rows(store, b, run, err) ||
	    !add_values(store, b, run, err))
		return false;
	for (size_t i = 0; i < b->nr_hists; i++)
		if (!add_hist(store, &b->hist[i], run, err))
			return false;
	return true;
}

/* ---- paths and tags ---- */

static sqlite3_stmt *path_statement(struct wi_store *store, enum wi_statement which, int64_t trace, const char *path,
				    struct wi_err *err)
{
	sqlite3_stmt *s = wi_db_statement(store, which, err);

	if (s) {
		sqlite3_bind_int64(s, 1, trace);
		wi_db_bind_text(s, 2, path);
	}
	return s;
}

/* Are the tags of the path exactly these? They are sorted and differ. */
static int same_tags(struct wi_store *store, int64_t trace, const char *path, const struct wi_bundle *b,
		     struct wi_err *err)
{
	sqlite3_stmt *s = path_statement(store, WI_SQL_TAGS_OF_PATH, trace, path, err);
	size_t i = 0;
	bool same = true;
	int row = -1;

	while (s && (row = wi_db_row(store, s, err)) > 0) {
		const char *key = (const char *)sqlite3_column_text(s, 0),
			   *value = (const char *)sqlite3_column_text(s, 1);

		same = same && key && value && i < b->nr_tags && !strcmp(key, b->tag[i].key) &&
		       !strcmp(value, b->tag[i].value);
		i++;
	}
	return row < 0 ? -1 : same && i == b->nr_tags;
}

/* The tags of b in place of those that path of the trace had; path "": those of markers. */
static bool put_tags(struct wi_store *store, int64_t trace, const char *path, const struct wi_bundle *b, bool *changed,
		     struct wi_err *err)
{
	int same = same_tags(store, trace, path, b, err);
	sqlite3_stmt *s;

	if (same)
		return same > 0;
	*changed = true;
	s = path_statement(store, WI_SQL_DROP_TAGS, trace, path, err);
	if (!s || !wi_db_run(store, s, err))
		return false;
	for (size_t i = 0; i < b->nr_tags; i++) {
		if (!(s = path_statement(store, WI_SQL_ADD_TAG, trace, path, err)))
			return false;
		wi_db_bind_text(s, 3, b->tag[i].key);
		wi_db_bind_text(s, 4, b->tag[i].value);
		if (!wi_db_run(store, s, err))
			return false;
	}
	return true;
}

static bool put_path(struct wi_store *store, int64_t trace, const struct wi_bundle *b, bool *changed,
		     struct wi_err *err)
{
	sqlite3_stmt *s = path_statement(store, WI_SQL_ADD_PATH, trace, b->path, err);

	if (!s || !wi_db_run(store, s, err))
		return false;
	*changed = sqlite3_changes(store->db) > 0;
	return put_tags(store, trace, b->path, b, changed, err);
}

bool wi_store_put(struct wi_store *store, struct wi_bundle *b, enum wi_put how, struct wi_err *err)
{
	enum wi_put_outcome outcome;
	int64_t trace;
	bool changed;

	if (!wi_db_put_run(store, b, how, &trace, &outcome, err))
		return false;
	if (b->path)
		return put_path(store, trace, b, &changed, err);
	/* Whoever did not get as far as the markers says nothing of them. */
	return outcome == WI_PUT_DROPPED || put_tags(store, trace, "", b, &changed, err);
}

bool wi_store_put_path(struct wi_store *store, const uint8_t sha256[WI_SHA256_BYTES], uint64_t size_bytes,
		       const char *path, const struct wi_tag *tag, size_t nr_tags, bool *changed, struct wi_err *err)
{
	struct wi_bundle b;
	bool ignored, ok = false;
	int64_t trace;

	if (!is_open(store, err) || !wi_bundle_init(&b, err))
		return false;
	if (!wi_bundle_identify(&b, sha256, size_bytes, path, "", "", err))
		goto out;
	for (size_t i = 0; i < nr_tags; i++)
		if (!wi_bundle_tag(&b, tag[i].key, tag[i].value, err))
			goto out;
	trace = find_trace(store, sha256, size_bytes, false, err);
	if (!trace && !err->code)
		wi_err_at(err, WI_EIO, store->file, WI_NO_OFFSET, "holds no trace of this hash to add a path to");
	ok = trace && wi_bundle_finish(&b, err) && put_path(store, trace, &b, changed ? changed : &ignored, err);
out:
	wi_bundle_fini(&b);
	return ok;
}

/* ---- file cache ---- */

static sqlite3_stmt *cache_statement(struct wi_store *store, enum wi_statement which, const struct wi_file_id *id,
				     struct wi_err *err)
{
	sqlite3_stmt *s = wi_db_statement(store, which, err);

	if (!s)
		return NULL;
	sqlite3_bind_blob(s, 1, id->path, (int)strlen(id->path), SQLITE_STATIC);
	sqlite3_bind_int64(s, 2, (int64_t)id->dev);
	sqlite3_bind_int64(s, 3, (int64_t)id->ino);
	sqlite3_bind_int64(s, 4, (int64_t)id->size_bytes);
	sqlite3_bind_int64(s, 5, id->mtime_ns);
	sqlite3_bind_int64(s, 6, id->ctime_ns);
	return s;
}

bool wi_store_cached_hash(struct wi_store *store, const struct wi_file_id *id, uint8_t sha256[WI_SHA256_BYTES],
			  bool *found, struct wi_err *err)
{
	sqlite3_stmt *s = cache_statement(store, WI_SQL_GET_CACHE, id, err);
	int row = s ? wi_db_row(store, s, err) : -1;

	*found = row > 0 && sqlite3_column_bytes(s, 0) == WI_SHA256_BYTES;
	if (*found)
		memcpy(sha256, sqlite3_column_blob(s, 0), WI_SHA256_BYTES);
	if (s)
		sqlite3_reset(s);
	return row >= 0;
}

bool wi_store_cache_hash(struct wi_store *store, const struct wi_file_id *id, const uint8_t sha256[WI_SHA256_BYTES],
			 struct wi_err *err)
{
	sqlite3_stmt *s = is_open(store, err) ? cache_statement(store, WI_SQL_PUT_CACHE, id, err) : NULL;

	if (!s)
		return false;
	sqlite3_bind_blob(s, 7, sha256, WI_SHA256_BYTES, SQLITE_STATIC);
	return wi_db_run(store, s, err);
}
