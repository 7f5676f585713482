/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The open database: for the files of the store. */
#ifndef WI_STORE_DB_H
#define WI_STORE_DB_H

#include <sqlite3.h>

#include "analyzer/store/store.h"

/* Statements that are prepared once. */
#define WI_STATEMENTS(X)                                                                                               \
	X(FIND_TRACE, "SELECT id FROM trace WHERE sha256 = ?1 AND size_bytes = ?2")                                    \
	X(ADD_TRACE, "INSERT INTO trace(sha256, size_bytes) VALUES (?1, ?2)")                                          \
	X(ADD_PATH, "INSERT OR IGNORE INTO trace_path(trace, path) VALUES (?1, ?2)")                                   \
	X(TAGS_OF_PATH, "SELECT key, value FROM tag WHERE trace = ?1 AND path = ?2 ORDER BY key, value")               \
	X(DROP_TAGS, "DELETE FROM tag WHERE trace = ?1 AND path = ?2")                                                 \
	X(ADD_TAG, "INSERT OR IGNORE INTO tag(trace, path, key, value) VALUES (?1, ?2, ?3, ?4)")                       \
	X(FIND_ANALYSIS, "SELECT id FROM analysis WHERE text = ?1")                                                    \
	X(ADD_ANALYSIS, "INSERT INTO analysis(text) VALUES (?1)")                                                      \
	X(FIND_RUN, "SELECT id, status, version, digest FROM run WHERE trace = ?1 AND analysis = ?2")                  \
	X(DROP_RUN, "DELETE FROM run WHERE id = ?1")                                                                   \
	X(DROP_OTHERS, "DELETE FROM run WHERE trace = ?1 AND analysis <> ?2")                                          \
	X(FIND_METRIC, "SELECT id FROM metric WHERE path = ?1")                                                        \
	X(ADD_METRIC, "INSERT INTO metric(path, unit, direction, headline) VALUES (?1, ?2, ?3, ?4)")                   \
	X(ADD_VALUE, "INSERT INTO value(run, metric, value) VALUES (?1, ?2, ?3)")                                      \
	X(ADD_HIST, "INSERT INTO histogram(run, metric, count, sum_ns, min_ns, max_ns, buckets) "                      \
		    "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)")                                                             \
	X(DROP_ANALYSES, "DELETE FROM analysis WHERE id NOT IN (SELECT analysis FROM run)")                            \
	X(DROP_TOPOLOGIES,                                                                                             \
	  "DELETE FROM topology WHERE id NOT IN (SELECT topology FROM run WHERE topology IS NOT NULL)")                \
	X(GET_CACHE, "SELECT sha256 FROM file_cache WHERE path = ?1 AND dev = ?2 AND ino = ?3 AND size_bytes = ?4 "    \
		     "AND mtime_ns = ?5 AND ctime_ns = ?6")                                                            \
	X(PUT_CACHE, "INSERT OR REPLACE INTO file_cache(path, dev, ino, size_bytes, mtime_ns, ctime_ns, sha256) "      \
		     "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)")                                                            \
	X(GET_VALUES, "SELECT metric, value FROM value WHERE run = ?1")                                                \
	X(GET_VALUE, "SELECT value FROM value WHERE run = ?1 AND metric = ?2")                                         \
	X(GET_HISTS, "SELECT metric, count, sum_ns, min_ns, max_ns, buckets FROM histogram WHERE run = ?1")            \
	X(GET_HIST, "SELECT metric, count, sum_ns, min_ns, max_ns, buckets FROM histogram WHERE run = ?1 "             \
		    "AND metric = ?2")                                                                                 \
	X(GET_PATHS, "SELECT path FROM trace_path WHERE trace = ?1 ORDER BY path")                                     \
	X(GET_TAGS, "SELECT DISTINCT key, value FROM tag WHERE trace = ?1 ORDER BY key, value")

enum wi_statement {
#define X(name, sql) WI_SQL_##name,
	WI_STATEMENTS(X)
#undef X
	/* made from the columns of each part */
	WI_SQL_ADD_PART,
	WI_SQL_GET_PART = WI_SQL_ADD_PART + WI_NR_PARTS,
	WI_SQL_FIND_TOPOLOGY = WI_SQL_GET_PART + WI_NR_PARTS,
	WI_NR_STATEMENTS
};

struct wi_metric_ids; /* paths and their rows */

struct wi_store {
	sqlite3 *db;
	char *file; /* for messages */
	enum wi_store_mode mode;
	bool open;    /* a transaction of begin */
	bool orphans; /* rows of this transaction may have left analyses and topologies alone */
	sqlite3_stmt *statement[WI_NR_STATEMENTS];
	struct wi_metric_ids *metrics;
};

/* The statement, ready for its parameters; NULL: err is set. Valid until the same one is asked for again. */
sqlite3_stmt *wi_db_statement(struct wi_store *store, enum wi_statement which, struct wi_err *err);
/* SQL of the statements of a part. The caller's to free; NULL: no memory. */
char *wi_db_part_sql(enum wi_statement which);

/* Runs a statement without rows and resets it. */
bool wi_db_run(struct wi_store *store, sqlite3_stmt *s, struct wi_err *err);
/* The next row: 1; no more: 0, reset; error: -1, reset, err set. */
int wi_db_row(struct wi_store *store, sqlite3_stmt *s, struct wi_err *err);
bool wi_db_error(struct wi_store *store, int rc, const char *doing, struct wi_err *err);
/* "FILE: damaged: what". Always returns false. */
bool wi_db_damaged(struct wi_store *store, const char *what, struct wi_err *err);

/* Binding; NULL texts as NULL. The text must live until the statement is reset. */
void wi_db_bind_text(sqlite3_stmt *s, int at, const char *text);
void wi_db_bind_cell(sqlite3_stmt *s, int at, const struct wi_cell *c);

/* Row of a metric: found, or with make added with what the catalog knows. 0: not there, or err is set. */
int64_t wi_db_metric(struct wi_store *store, const char *path, bool make, struct wi_err *err);
/* Path of a metric's row, which lives as long as the store; NULL: no such row, or err is set. */
const char *wi_db_metric_path(struct wi_store *store, int64_t id, struct wi_err *err);
/* All metrics: path of the i-th, sorted as bytes; *nr of them. NULL: err is set, or none. */
const char *const *wi_db_metric_paths(struct wi_store *store, size_t *nr, struct wi_err *err);
void wi_db_forget_metrics(struct wi_store *store);

/* A run as a bundle without path and tags; b: initialised and empty. */
bool wi_db_read_run(struct wi_store *store, int64_t run, struct wi_bundle *b, struct wi_err *err);
/* A histogram of the current row of GET_HISTS or GET_HIST, checked. */
bool wi_db_read_hist(struct wi_store *store, sqlite3_stmt *s, const char *path, struct wi_hist *h, struct wi_err *err);
/* Which of two rows of one analysis stays: > 0: the first. */
int wi_db_compare(const char *version_a, enum wi_run_status status_a, const uint8_t digest_a[WI_SHA256_BYTES],
		  const char *version_b, enum wi_run_status status_b, const uint8_t digest_b[WI_SHA256_BYTES]);

enum wi_put_outcome { WI_PUT_ADDED, WI_PUT_BETTER, WI_PUT_DROPPED };
/* put without path and tags; *trace: row of its trace. */
bool wi_db_put_run(struct wi_store *store, struct wi_bundle *b, enum wi_put how, int64_t *trace,
		   enum wi_put_outcome *outcome, struct wi_err *err);

#endif
