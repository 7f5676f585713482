/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Opening and closing. A database that is written is in WAL mode: readers go on meanwhile, and a kill -9 at any moment
 * leaves what was committed. synchronous is FULL: in WAL mode NORMAL may lose the last commits when the power fails,
 * and a lost commit is work of hours on a fleet. A writer that commits each result as it comes asks for NORMAL, and
 * waits for the disk now and then (wi_store_lazy(), wi_store_sync()).
 */
#include "analyzer/store/db.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "analyzer/store/schema.h"

/* A database no larger than this is checked whole when it is opened; pages of larger ones are checked as they are read.
 */
#define QUICK_CHECK_BYTES (4 << 20)

bool wi_db_error(struct wi_store *store, int rc, const char *doing, struct wi_err *err)
{
	return wi_schema_error(store->db, rc, store->file, doing, err);
}

bool wi_db_damaged(struct wi_store *store, const char *what, struct wi_err *err)
{
	return wi_err_at(err, WI_EREFUSED, store->file, WI_NO_OFFSET, "the database is damaged: %s", what);
}

static bool run_sql(struct wi_store *store, const char *sql, const char *doing, struct wi_err *err)
{
	int rc = sqlite3_exec(store->db, sql, NULL, NULL, NULL);

	return rc == SQLITE_OK || wi_db_error(store, rc, doing, err);
}

/* ---- opening ---- */

/* The first word that a pragma answers, "" if it answers none. */
static bool ask(struct wi_store *store, const char *sql, char *answer, size_t size, struct wi_err *err)
{
	sqlite3_stmt *s = NULL;
	int rc = sqlite3_prepare_v2(store->db, sql, -1, &s, NULL);

	answer[0] = '\0';
	if (rc == SQLITE_OK)
		rc = sqlite3_step(s);
	if (rc == SQLITE_ROW && sqlite3_column_text(s, 0))
		snprintf(answer, size, "%s", (const char *)sqlite3_column_text(s, 0));
	sqlite3_finalize(s);
	return rc == SQLITE_ROW || rc == SQLITE_DONE || wi_db_error(store, rc, "cannot be read", err);
}

/* What a file of somebody else may hold must not act: no functions with effects from its schema, no odd pages. */
static bool distrust(struct wi_store *store, struct wi_err *err)
{
	sqlite3_db_config(store->db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
	sqlite3_db_config(store->db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
	sqlite3_limit(store->db, SQLITE_LIMIT_LENGTH, (int)WI_BUNDLE_MAX);
	sqlite3_busy_timeout(store->db, WI_STORE_BUSY_MS);
	return run_sql(store, "PRAGMA cell_size_check = ON; PRAGMA foreign_keys = ON", "cannot be opened", err);
}

static bool check_pages(struct wi_store *store, struct wi_err *err)
{
	char answer[256];
	struct stat st;

	if (stat(store->file, &st) || st.st_size > QUICK_CHECK_BYTES)
		return true;
	if (!ask(store, "PRAGMA quick_check(1)", answer, sizeof(answer), err))
		return false;
	answer[strcspn(answer, "\n")] = '\0';
	return !strcmp(answer, "ok") || wi_db_damaged(store, answer, err);
}

static int64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* Changing the journal's mode needs the whole file for a moment, and SQLite does not always wait for it. */
static int change_journal(struct wi_store *store, const char *sql)
{
	int64_t end = now_ms() + WI_STORE_BUSY_MS;

	for (;;) {
		int rc = sqlite3_exec(store->db, sql, NULL, NULL, NULL);

		if ((rc & 0xff) != SQLITE_BUSY || now_ms() >= end)
			return rc;
		nanosleep(&(struct timespec){ .tv_nsec = 20000000 }, NULL);
	}
}

static bool prepare_writing(struct wi_store *store, struct wi_err *err)
{
	return wi_schema_bring(store->db, store->file, WI_SCHEMA_VERSION, wi_schema_steps, err) &&
	       wi_schema_check(store->db, store->file, err);
}

/* One state of the database for all that is read. */
static bool prepare_reading(struct wi_store *store, struct wi_err *err)
{
	return run_sql(store, "BEGIN", "cannot be read", err) && wi_schema_check(store->db, store->file, err);
}

/* SQLite would say of a folder in which nothing can be made that the file is not there. */
static bool check_folder(const char *path, struct wi_err *err)
{
	const char *slash = strrchr(path, '/');
	char *folder = slash ? strndup(path, (size_t)(slash - path) + 1) : strdup(".");
	bool ok;

	if (!folder)
		return wi_err_nomem(err);
	ok = !access(folder, W_OK | X_OK) ||
	     wi_err_at(err, WI_EIO, path, WI_NO_OFFSET, "cannot be made: %s", strerror(errno));
	free(folder);
	return ok;
}

static bool check_file(const char *path, enum wi_store_mode mode, struct wi_err *err)
{
	struct stat st;

	if (mode == WI_STORE_MEMORY)
		return true;
	if (stat(path, &st))
		return errno == ENOENT && mode == WI_STORE_CREATE
			       ? check_folder(path, err)
			       : wi_err_at(err, WI_EIO, path, WI_NO_OFFSET, "cannot open: %s", strerror(errno));
	if (!S_ISREG(st.st_mode))
		return wi_err_at(err, WI_EREFUSED, path, WI_NO_OFFSET, "not a regular file");
	if (!st.st_size && mode != WI_STORE_CREATE)
		return wi_err_at(err, WI_EREFUSED, path, WI_NO_OFFSET, "an empty file, not a database");
	return true;
}

/* Why a file cannot be opened or made, in the system's words: SQLite tries twice and keeps those of the second time. */
static const char *why_not(const char *path)
{
	char *folder = strdup(path), *slash = folder ? strrchr(folder, '/') : NULL;
	const char *at = slash ? folder : ".";

	if (slash)
		slash[slash == folder] = '\0';
	errno = 0;
	if (!access(path, F_OK))
		errno = access(path, R_OK) ? errno : 0;
	else if (!access(at, W_OK | X_OK))
		errno = 0;
	free(folder);
	return errno ? strerror(errno) : NULL;
}

static bool open_db(struct wi_store *store, const char *name, int flags, struct wi_err *err)
{
	int rc = sqlite3_open_v2(name, &store->db, flags | SQLITE_OPEN_EXRESCODE | SQLITE_OPEN_NOMUTEX, NULL);

	if (rc != SQLITE_OK) {
		const char *why = (rc & 0xff) == SQLITE_CANTOPEN ? why_not(store->file) : NULL;

		return why ? wi_err_at(err, WI_EIO, store->file, WI_NO_OFFSET, "cannot be opened: %s", why)
			   : wi_db_error(store, rc, "cannot be opened", err);
	}
	return distrust(store, err);
}

/* file:PATH?immutable=1 with what has a meaning in it written as %NN; NULL: no memory. */
static char *immutable_uri(const char *path)
{
	char *uri = malloc(3 * strlen(path) + 32), *at = uri;

	if (!uri)
		return NULL;
	at = stpcpy(at, "file:");
	for (; *path; path++)
		at += strchr("?#%", *path) ? sprintf(at, "%%%02x", (unsigned char)*path) : sprintf(at, "%c", *path);
	stpcpy(at, "?immutable=1");
	return uri;
}

/*
 * A database left in WAL mode cannot be read where its companions cannot be made (a read-only folder). Without a
 * journal beside it all is in the file, and nobody there can write it.
 */
static bool reconnect_immutable(struct wi_store *store, struct wi_err *err)
{
	char *wal = NULL, *uri = immutable_uri(store->file);
	bool ok = false;

	if (!uri || asprintf(&wal, "%s-wal", store->file) < 0) {
		wi_err_nomem(err);
	} else {
		struct stat st;

		if (stat(wal, &st) && errno == ENOENT) {
			sqlite3_close(store->db);
			store->db = NULL;
			ok = open_db(store, uri, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, err);
		} else {
			wi_err_at(err, WI_EIO, store->file, WI_NO_OFFSET,
				  "cannot be read: its journal is there but its folder cannot be written");
		}
	}
	free(uri);
	free(wal);
	return ok;
}

static bool open_reading(struct wi_store *store, struct wi_err *err)
{
	if (!open_db(store, store->file, SQLITE_OPEN_READONLY, err))
		return false;
	int rc = sqlite3_exec(store->db, "SELECT count(*) FROM sqlite_schema", NULL, NULL, NULL);

	if (((rc & 0xff) == SQLITE_CANTOPEN || (rc & 0xff) == SQLITE_READONLY) && !reconnect_immutable(store, err))
		return false;
	return check_pages(store, err) && prepare_reading(store, err);
}

/*
 * Some network file systems cannot share memory between processes, which WAL needs. There a rollback journal does:
 * readers wait while it is written. The way back leads through exclusive use, for which WAL needs no shared memory; it
 * fails as long as another process has the file. EXTRA: the journal's removal, which is the commit, is on the disk too.
 */
static bool use_rollback_journal(struct wi_store *store, int flags, struct wi_err *err)
{
	sqlite3_close(store->db);
	store->db = NULL;
	if (!open_db(store, store->file, flags, err))
		return false;
	int rc = change_journal(store, "PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = DELETE; "
				       "PRAGMA locking_mode = NORMAL; PRAGMA synchronous = EXTRA; "
				       "BEGIN IMMEDIATE; COMMIT");

	return rc == SQLITE_OK || wi_db_error(store, rc, "cannot be written", err);
}

static bool choose_journal(struct wi_store *store, int flags, struct wi_err *err)
{
	/* Whether it works shows when something would be written. */
	int rc = change_journal(store, "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; BEGIN IMMEDIATE; COMMIT");

	switch (rc & 0xff) {
	case SQLITE_OK:
		return true;
	case SQLITE_IOERR:
	case SQLITE_CANTOPEN:
	case SQLITE_READONLY:
	case SQLITE_PROTOCOL:
		return use_rollback_journal(store, flags, err);
	default:
		return wi_db_error(store, rc, "cannot be written", err);
	}
}

static bool open_writing(struct wi_store *store, struct wi_err *err)
{
	int flags = SQLITE_OPEN_READWRITE;

	if (store->mode == WI_STORE_CREATE)
		flags |= SQLITE_OPEN_CREATE;
	if (store->mode == WI_STORE_MEMORY)
		return open_db(store, ":memory:", flags | SQLITE_OPEN_CREATE, err) && prepare_writing(store, err);
	return open_db(store, store->file, flags, err) && choose_journal(store, flags, err) &&
	       check_pages(store, err) && prepare_writing(store, err);
}

struct wi_store *wi_store_open(const char *path, enum wi_store_mode mode, struct wi_err *err)
{
	struct wi_store *store;

	if (!check_file(path, mode, err))
		return NULL;
	store = calloc(1, sizeof(*store));
	if (!store || !(store->file = strdup(path))) {
		free(store);
		wi_err_nomem(err);
		return NULL;
	}
	store->mode = mode;
	if (mode == WI_STORE_READ ? open_reading(store, err) : open_writing(store, err))
		return store;
	wi_store_close(store, &(struct wi_err){ 0 });
	return NULL;
}

bool wi_store_close(struct wi_store *store, struct wi_err *err)
{
	bool ok = true;

	if (!store)
		return true;
	wi_store_rollback(store);
	for (int i = 0; i < WI_NR_STATEMENTS; i++)
		sqlite3_finalize(store->statement[i]);
	if (store->db && (store->mode == WI_STORE_WRITE || store->mode == WI_STORE_CREATE)) {
		/* Only the last one can; the others leave it to that. */
		sqlite3_busy_timeout(store->db, 0);
		int rc = sqlite3_exec(store->db, "PRAGMA journal_mode = DELETE", NULL, NULL, NULL);

		if (rc != SQLITE_OK && (rc & 0xff) != SQLITE_BUSY && (rc & 0xff) != SQLITE_LOCKED)
			ok = wi_db_error(store, rc, "cannot be closed", err);
	}
	sqlite3_close(store->db);
	wi_db_forget_metrics(store);
	free(store->file);
	free(store);
	return ok;
}

/* ---- transactions ---- */

bool wi_store_begin(struct wi_store *store, struct wi_err *err)
{
	if (!run_sql(store, "BEGIN IMMEDIATE", "cannot be written", err))
		return false;
	store->open = true;
	return true;
}

bool wi_store_commit(struct wi_store *store, struct wi_err *err)
{
	if (store->orphans) {
		sqlite3_stmt *s = wi_db_statement(store, WI_SQL_DROP_ANALYSES, err);

		if (!s || !wi_db_run(store, s, err) || !(s = wi_db_statement(store, WI_SQL_DROP_TOPOLOGIES, err)) ||
		    !wi_db_run(store, s, err))
			return false;
	}
	if (!run_sql(store, "COMMIT", "cannot be written", err))
		return false;
	store->open = store->orphans = false;
	return true;
}

bool wi_store_lazy(struct wi_store *store, bool *lazy, struct wi_err *err)
{
	sqlite3_stmt *s = NULL;
	int rc = sqlite3_prepare_v2(store->db, "PRAGMA journal_mode", -1, &s, NULL);

	*lazy = rc == SQLITE_OK && sqlite3_step(s) == SQLITE_ROW &&
		!strcmp((const char *)sqlite3_column_text(s, 0), "wal");
	sqlite3_finalize(s);
	if (rc != SQLITE_OK)
		return wi_db_error(store, rc, "cannot be written", err);
	return !*lazy || run_sql(store, "PRAGMA synchronous = NORMAL", "cannot be written", err);
}

/* A checkpoint waits for the log first. Others may keep it from copying all of that: it is on the disk all the same. */
bool wi_store_sync(struct wi_store *store, struct wi_err *err)
{
	int rc = sqlite3_wal_checkpoint_v2(store->db, NULL, SQLITE_CHECKPOINT_PASSIVE, NULL, NULL);

	return rc == SQLITE_OK || (rc & 0xff) == SQLITE_BUSY || wi_db_error(store, rc, "cannot be written", err);
}

void wi_store_rollback(struct wi_store *store)
{
	if (store->open && !sqlite3_get_autocommit(store->db))
		sqlite3_exec(store->db, "ROLLBACK", NULL, NULL, NULL);
	if (store->open)
		wi_db_forget_metrics(store); /* rows of metrics may be gone */
	store->open = store->orphans = false;
}

/* ---- statements ---- */

static const char *const fixed_sql[] = {
#define X(name, sql) sql,
	WI_STATEMENTS(X)
#undef X
};

sqlite3_stmt *wi_db_statement(struct wi_store *store, enum wi_statement which, struct wi_err *err)
{
	sqlite3_stmt **s = &store->statement[which];

	if (!*s) {
		char *made = which >= WI_SQL_ADD_PART ? wi_db_part_sql(which) : NULL;
		const char *sql = which >= WI_SQL_ADD_PART ? made : fixed_sql[which];
		int rc =
			sql ? sqlite3_prepare_v3(store->db, sql, -1, SQLITE_PREPARE_PERSISTENT, s, NULL) : SQLITE_NOMEM;

		free(made);
		if (rc != SQLITE_OK) {
			wi_db_error(store, rc, "cannot be used", err);
			return NULL;
		}
	}
	sqlite3_reset(*s);
	sqlite3_clear_bindings(*s);
	return *s;
}

bool wi_db_run(struct wi_store *store, sqlite3_stmt *s, struct wi_err *err)
{
	int rc = sqlite3_step(s);
	bool ok = rc == SQLITE_DONE || rc == SQLITE_ROW || wi_db_error(store, rc, "cannot be written", err);

	sqlite3_reset(s);
	return ok;
}

int wi_db_row(struct wi_store *store, sqlite3_stmt *s, struct wi_err *err)
{
	int rc = sqlite3_step(s);

	if (rc == SQLITE_ROW)
		return 1;
	if (rc != SQLITE_DONE)
		wi_db_error(store, rc, "cannot be read", err);
	sqlite3_reset(s);
	return rc == SQLITE_DONE ? 0 : -1;
}

void wi_db_bind_text(sqlite3_stmt *s, int at, const char *text)
{
	if (text)
		sqlite3_bind_text(s, at, text, -1, SQLITE_STATIC);
	else
		sqlite3_bind_null(s, at);
}

void wi_db_bind_cell(sqlite3_stmt *s, int at, const struct wi_cell *c)
{
	switch (c->type) {
	case WI_CELL_INTEGER:
		sqlite3_bind_int64(s, at, c->integer);
		break;
	case WI_CELL_REAL:
		sqlite3_bind_double(s, at, c->real);
		break;
	case WI_CELL_TEXT:
		wi_db_bind_text(s, at, c->text);
		break;
	case WI_CELL_NONE:
		sqlite3_bind_null(s, at);
		break;
	}
}
