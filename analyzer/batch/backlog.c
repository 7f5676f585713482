/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analyzer/batch/backlog.h"

#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/base/sha256.h"

#define STATEMENTS(X)                                                                                                  \
	X(ADD, "INSERT OR IGNORE INTO todo VALUES (?1, ?2, ?3, ?4)")                                                   \
	X(NEXT, "SELECT root, link, path, below FROM todo ORDER BY root, link, path LIMIT 1")                          \
	X(DROP, "DELETE FROM todo WHERE root = ?1 AND link = ?2 AND path = ?3")                                        \
	X(FOLDER, "INSERT OR IGNORE INTO folder VALUES (?1, ?2)")                                                      \
	X(FOUND, "INSERT INTO trace VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)")                                      \
	X(TAKE, "SELECT * FROM trace ORDER BY seq LIMIT 1")                                                            \
	X(TAKEN, "DELETE FROM trace WHERE seq = ?1")                                                                   \
	X(MEET, "INSERT OR IGNORE INTO met VALUES (?1, ?2)")                                                           \
	X(MET, "SELECT analysis = ?2 FROM met WHERE sha256 = ?1")

enum statement {
#define X(name, sql) S_##name,
	STATEMENTS(X)
#undef X
		NR_STATEMENTS
};

static const char *const sqls[] = {
#define X(name, sql) sql,
	STATEMENTS(X)
#undef X
};

/* One transaction that never ends: nothing of this is to survive. */
static const char schema[] = "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA cache_size = -1000;"
			     "CREATE TABLE todo (root INTEGER, link INTEGER, path BLOB, below INTEGER, PRIMARY KEY "
			     "(root, link, path)) WITHOUT "
			     "ROWID;"
			     "CREATE TABLE folder (dev INTEGER, ino INTEGER, PRIMARY KEY (dev, ino)) WITHOUT ROWID;"
			     "CREATE TABLE trace (seq INTEGER PRIMARY KEY, path BLOB, below INTEGER, dev INTEGER, ino "
			     "INTEGER, size INTEGER, "
			     "mtime INTEGER, ctime INTEGER, folder INTEGER);"
			     "CREATE TABLE met (sha256 BLOB PRIMARY KEY, analysis BLOB) WITHOUT ROWID;"
			     "BEGIN";

struct wi_backlog {
	sqlite3 *db;
	sqlite3_stmt *s[NR_STATEMENTS];
};

static bool failed(const struct wi_backlog *q, struct wi_err *err)
{
	return wi_err_set(err, WI_EIO, "the temporary list of files ($TMPDIR) failed: %s",
			  q->db ? sqlite3_errmsg(q->db) : "out of memory");
}

struct wi_backlog *wi_backlog_new(struct wi_err *err)
{
	struct wi_backlog *q = calloc(1, sizeof(*q));
	bool ok;

	if (!q) {
		wi_err_nomem(err);
		return NULL;
	}
	ok = sqlite3_open_v2("", &q->db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, NULL) == SQLITE_OK &&
	     sqlite3_exec(q->db, schema, NULL, NULL, NULL) == SQLITE_OK;
	for (int i = 0; ok && i < NR_STATEMENTS; i++)
		ok = sqlite3_prepare_v3(q->db, sqls[i], -1, SQLITE_PREPARE_PERSISTENT, &q->s[i], NULL) == SQLITE_OK;
	if (ok)
		return q;
	failed(q, err);
	wi_backlog_free(q);
	return NULL;
}

void wi_backlog_free(struct wi_backlog *q)
{
	if (!q)
		return;
	for (int i = 0; i < NR_STATEMENTS; i++)
		sqlite3_finalize(q->s[i]);
	sqlite3_close(q->db);
	free(q);
}

static void put(sqlite3_stmt *s, int at, int64_t n)
{
	sqlite3_bind_int64(s, at, n);
}

static void put_bytes(sqlite3_stmt *s, int at, const void *bytes, size_t nr)
{
	sqlite3_bind_blob64(s, at, bytes, nr, SQLITE_STATIC);
}

static bool run(struct wi_backlog *q, sqlite3_stmt *s, struct wi_err *err)
{
	bool ok = sqlite3_step(s) == SQLITE_DONE;

	if (!ok)
		failed(q, err);
	sqlite3_reset(s);
	return ok;
}

/* A row, or none. true: it is there; read it, then reset. */
static bool row(struct wi_backlog *q, sqlite3_stmt *s, bool *got, struct wi_err *err)
{
	int status = sqlite3_step(s);

	*got = status == SQLITE_ROW;
	if (status == SQLITE_ROW || status == SQLITE_DONE)
		return true;
	failed(q, err);
	sqlite3_reset(s);
	return false;
}

static char *path_of(sqlite3_stmt *s, int at)
{
	const void *bytes = sqlite3_column_blob(s, at);

	return bytes ? strndup(bytes, (size_t)sqlite3_column_bytes(s, at)) : NULL;
}

bool wi_backlog_add(struct wi_backlog *q, const struct wi_todo *t, struct wi_err *err)
{
	sqlite3_stmt *s = q->s[S_ADD];

	put(s, 1, t->root);
	put(s, 2, t->link);
	put_bytes(s, 3, t->path, strlen(t->path));
	put(s, 4, (int64_t)t->below);
	return run(q, s, err);
}

bool wi_backlog_next(struct wi_backlog *q, struct wi_todo *out, bool *got, struct wi_err *err)
{
	sqlite3_stmt *s = q->s[S_NEXT];

	if (!row(q, s, got, err))
		return false;
	if (*got)
		*out = (struct wi_todo){ .root = sqlite3_column_int64(s, 0),
					 .link = sqlite3_column_int(s, 1),
					 .path = path_of(s, 2),
					 .below = (size_t)sqlite3_column_int64(s, 3) };
	sqlite3_reset(s);
	if (!*got)
		return true;
	if (!out->path)
		return wi_err_nomem(err);
	s = q->s[S_DROP];
	put(s, 1, out->root);
	put(s, 2, out->link);
	put_bytes(s, 3, out->path, strlen(out->path));
	if (run(q, s, err))
		return true;
	free(out->path);
	return false;
}

bool wi_backlog_folder(struct wi_backlog *q, uint64_t dev, uint64_t ino, bool *first, struct wi_err *err)
{
	sqlite3_stmt *s = q->s[S_FOLDER];

	put(s, 1, (int64_t)dev);
	put(s, 2, (int64_t)ino);
	if (!run(q, s, err))
		return false;
	*first = sqlite3_changes(q->db) > 0;
	return true;
}

bool wi_backlog_found(struct wi_backlog *q, const struct wi_found *f, struct wi_err *err)
{
	sqlite3_stmt *s = q->s[S_FOUND];

	put(s, 1, (int64_t)f->seq);
	put_bytes(s, 2, f->path, strlen(f->path));
	put(s, 3, (int64_t)f->below);
	put(s, 4, (int64_t)f->dev);
	put(s, 5, (int64_t)f->ino);
	put(s, 6, (int64_t)f->size_bytes);
	put(s, 7, f->mtime_ns);
	put(s, 8, f->ctime_ns);
	put(s, 9, f->folder);
	return run(q, s, err);
}

bool wi_backlog_take(struct wi_backlog *q, struct wi_found *out, bool *got, struct wi_err *err)
{
	sqlite3_stmt *s = q->s[S_TAKE];

	if (!row(q, s, got, err))
		return false;
	if (*got)
		*out = (struct wi_found){ .seq = (uint64_t)sqlite3_column_int64(s, 0),
					  .path = path_of(s, 1),
					  .below = (size_t)sqlite3_column_int64(s, 2),
					  .dev = (uint64_t)sqlite3_column_int64(s, 3),
					  .ino = (uint64_t)sqlite3_column_int64(s, 4),
					  .size_bytes = (uint64_t)sqlite3_column_int64(s, 5),
					  .mtime_ns = sqlite3_column_int64(s, 6),
					  .ctime_ns = sqlite3_column_int64(s, 7),
					  .folder = sqlite3_column_int(s, 8) };
	sqlite3_reset(s);
	if (!*got)
		return true;
	if (!out->path)
		return wi_err_nomem(err);
	s = q->s[S_TAKEN];
	put(s, 1, (int64_t)out->seq);
	if (run(q, s, err))
		return true;
	free(out->path);
	return false;
}

bool wi_backlog_meet(struct wi_backlog *q, const uint8_t sha256[32], const char *analysis, bool *met, bool *same,
		     struct wi_err *err)
{
	sqlite3_stmt *s = q->s[S_MET];
	uint8_t sum[WI_SHA256_BYTES];

	wi_sha256(analysis, strlen(analysis), sum);
	put_bytes(s, 1, sha256, WI_SHA256_BYTES);
	put_bytes(s, 2, sum, sizeof(sum));
	if (!row(q, s, met, err))
		return false;
	*same = *met && sqlite3_column_int(s, 0);
	sqlite3_reset(s);
	if (*met)
		return true;
	s = q->s[S_MEET];
	put_bytes(s, 1, sha256, WI_SHA256_BYTES);
	put_bytes(s, 2, sum, sizeof(sum));
	return run(q, s, err);
}
