/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analyzer/store/schema.h"

#include <stdlib.h>
#include <string.h>

#include "analyzer/store/catalog.h"
#include "analyzer/store/schema_priv.h"

/* No step yet: version 1 is the first. */
const struct wi_schema_step *const wi_schema_steps = NULL;

/* ---- tables ---- */

#define KEY_TRACE "trace", "INTEGER NOT NULL REFERENCES trace(id) ON DELETE CASCADE", "id", "table trace"
#define KEY_RUN "run", "INTEGER NOT NULL REFERENCES run(id) ON DELETE CASCADE", "id", "table run"
#define KEY_METRIC "metric", "INTEGER NOT NULL REFERENCES metric(id)", "id", "table metric"
#define END                                                                                                            \
	{                                                                                                              \
		NULL, NULL, NULL, NULL                                                                                 \
	}

static const struct wi_schema_column trace[] = {
	{ "id", "INTEGER PRIMARY KEY", "id", "row of this database only" },
	{ "sha256", "BLOB NOT NULL CHECK (length(sha256) = 32)", "bytes",
	  "SHA-256 of the file as it is, compressed or not: names and places do not matter" },
	{ "size_bytes", "INTEGER NOT NULL CHECK (size_bytes >= 0)", "bytes", "size of the file" },
	END,
};

static const struct wi_schema_column trace_path[] = {
	{ KEY_TRACE },
	{ "path", "TEXT NOT NULL CHECK (path <> '')", "text",
	  "where a copy of it was found, as it was named; bytes that are no printable text as \\xNN" },
	END,
};

static const struct wi_schema_column tag[] = {
	{ KEY_TRACE },
	{ "path", "TEXT NOT NULL", "text",
	  "the copy that told the tag, table trace_path; empty: markers in the trace itself told it" },
	{ "key", "TEXT NOT NULL CHECK (key <> '')", "text", "name of the tag" },
	{ "value", "TEXT NOT NULL CHECK (value <> '')", "text", "a key may have several values, of several copies" },
	END,
};

static const struct wi_schema_column analysis[] = {
	{ "id", "INTEGER PRIMARY KEY", "id", "row of this database only" },
	{ "text", "TEXT NOT NULL UNIQUE", "JSON",
	  "all that can change a result but the version: models with parameters, options, hashes of side files; its "
	  "keys are sorted" },
	END,
};

static const struct wi_schema_column topology[] = {
	{ "id", "INTEGER PRIMARY KEY", "id", "row of this database only" },
	END,
};

static const struct wi_schema_column run[] = {
	{ "id", "INTEGER PRIMARY KEY", "id", "row of this database only" },
	{ KEY_TRACE },
	{ "analysis", "INTEGER NOT NULL REFERENCES analysis(id)", "id", "table analysis" },
	{ "version", "TEXT NOT NULL", "text", "version of wakeif" },
	{ "status",
	  "TEXT NOT NULL CHECK (status IN ('ok', 'damaged', 'refused', 'failed', 'timeout', 'memory', 'crashed'))",
	  "text",
	  "ok; damaged (what was whole was analysed); refused (not a trace that can be analysed); failed; timeout; "
	  "memory (limits of batch); crashed" },
	{ "reason", "TEXT", "text", "why it is not ok, one line" },
	{ "signal", "INTEGER NOT NULL", "number", "signal that ended the worker; 0: none" },
	{ "exit_status", "INTEGER NOT NULL", "number", "exit status of the worker" },
	{ "stderr_tail", "TEXT", "text", "the last 4096 bytes of what the worker wrote to stderr; NULL: nothing" },
	{ "topology", "INTEGER REFERENCES topology(id)", "id", "table topology; NULL: not analysed so far" },
	{ "digest", "BLOB NOT NULL CHECK (length(digest) = 32)", "bytes",
	  "SHA-256 over outcome and figures: equal results have equal ones" },
	END,
};

static const struct wi_schema_column quality[] = {
	{ "run", "INTEGER PRIMARY KEY REFERENCES run(id) ON DELETE CASCADE", "id", "table run" },
	END,
};

static const struct wi_schema_column of_run[] = {
	{ KEY_RUN },
	END,
};

static const struct wi_schema_column metric[] = {
	{ "id", "INTEGER PRIMARY KEY", "id", "row of this database only" },
	{ "path", "TEXT NOT NULL UNIQUE", "text", "its place in the JSON report: latency.wakeup.p99_ns" },
	{ "unit", "TEXT NOT NULL", "text", "ns, count, share (0 to 1), per second, ..." },
	{ "direction", "TEXT NOT NULL CHECK (direction IN ('lower', 'higher', 'none'))", "text", "which is better" },
	{ "headline", "INTEGER NOT NULL", "number", "place in default tables; 0: not in them" },
	END,
};

static const struct wi_schema_column value[] = {
	{ KEY_RUN },
	{ KEY_METRIC },
	{ "value", "ANY NOT NULL CHECK (typeof(value) IN ('integer', 'real'))", "metric.unit",
	  "what was measured; what could not be measured has no row" },
	END,
};

static const struct wi_schema_column histogram[] = {
	{ KEY_RUN },
	{ KEY_METRIC },
	{ "count", "INTEGER NOT NULL CHECK (count >= 0)", "count", "values in it, exact" },
	{ "sum_ns", "INTEGER NOT NULL CHECK (sum_ns >= 0)", "ns", "their sum, exact" },
	{ "min_ns", "INTEGER", "ns", "the least, exact; NULL when there is none" },
	{ "max_ns", "INTEGER", "ns", "the greatest, exact; NULL when there is none" },
	{ "buckets", "BLOB NOT NULL", "bytes",
	  "for each bucket that is not empty, rising: distance of its index from the one before (the first: from -1), "
	  "count; each as LEB128 (7 bits a byte, lowest first, bit 7: more follow). Index to time: view "
	  "histogram_bucket" },
	END,
};

static const struct wi_schema_column file_cache[] = {
	{ "path", "BLOB PRIMARY KEY", "bytes", "a file that was hashed: its name as the system has it" },
	{ "dev", "INTEGER NOT NULL", "number", "device" },
	{ "ino", "INTEGER NOT NULL", "number", "inode" },
	{ "size_bytes", "INTEGER NOT NULL", "bytes", "its size then" },
	{ "mtime_ns", "INTEGER NOT NULL", "ns", "when it was written" },
	{ "ctime_ns", "INTEGER NOT NULL", "ns", "when its inode changed" },
	{ "sha256", "BLOB NOT NULL CHECK (length(sha256) = 32)", "bytes", "its hash then" },
	END,
};

#define ROWID "STRICT"
#define KEYED "STRICT, WITHOUT ROWID"

/* Tables that others refer to come first. */
const struct wi_schema_table wi_schema_table[] = {
	{ "trace", "One row a content. Every copy of a file is the same trace.", trace, -1, NULL,
	  "UNIQUE (sha256, size_bytes)", ROWID, NULL },
	{ "trace_path", "Where copies of a trace were found.", trace_path, -1, NULL, "PRIMARY KEY (trace, path)", KEYED,
	  NULL },
	{ "tag",
	  "What is told of a trace besides what is in it: by the path of a copy, by a file beside it, by markers in "
	  "it.",
	  tag, -1, NULL, "PRIMARY KEY (trace, path, key, value)", KEYED,
	  "CREATE INDEX tag_by_key ON tag(key, value);" },
	{ "analysis", "How traces were analysed.", analysis, -1, NULL, NULL, ROWID, NULL },
	{ "topology", "Machines, as far as the analysis knew them; runs share rows.", topology, WI_PART_TOPOLOGY,
	  "layout", NULL, ROWID, "CREATE INDEX topology_by_layout ON topology(layout);" },
	{ "run", "One row a trace and analysis: what came of it, and what the file says of itself.", run, WI_PART_INPUT,
	  NULL, "UNIQUE (trace, analysis)", ROWID,
	  "CREATE INDEX run_by_analysis ON run(analysis); CREATE INDEX run_by_topology ON run(topology);" },
	{ "quality", "How much of the recording can be trusted.", quality, WI_PART_QUALITY, NULL, NULL, ROWID, NULL },
	{ "metric", "Names of figures and histograms. It may hold names that no run has any more.", metric, -1, NULL,
	  NULL, ROWID, NULL },
	{ "value", "The figures, one row a run and metric.", value, -1, NULL, "PRIMARY KEY (run, metric)", KEYED,
	  NULL },
	{ "histogram", "Distributions of latencies; those of several runs add up exactly.", histogram, -1, NULL,
	  "UNIQUE (run, metric)", ROWID, NULL },
	{ "worst", "The wakeups that cost most, of each run.", of_run, WI_PART_WORST, "kind,rank",
	  "PRIMARY KEY (run, kind, rank)", KEYED, NULL },
	{ "model_summary", "Models that were asked at each recorded wakeup (-m), and what happened, a row each.",
	  of_run, WI_PART_MODEL, "model", "PRIMARY KEY (run, model)", KEYED, NULL },
	{ "file_cache",
	  "Hashes of files on this machine, so that unchanged files are not read again. Not part of the results, not "
	  "merged.",
	  file_cache, -1, NULL, NULL, KEYED, NULL },
};
const size_t wi_schema_nr_tables = sizeof(wi_schema_table) / sizeof(*wi_schema_table);

static bool is_key(const char *list, const char *name)
{
	size_t n = strlen(name);

	for (const char *at = list; at && (at = strstr(at, name)); at += n)
		if ((at == list || at[-1] == ',') && (!at[n] || at[n] == ','))
			return true;
	return false;
}

static void print_table(FILE *out, const struct wi_schema_table *t)
{
	static const char *const type[] = { "ANY", "INTEGER", "REAL", "TEXT" };
	const char *comma = "";

	fprintf(out, "CREATE TABLE %s(", t->name);
	for (const struct wi_schema_column *c = t->before; c->name; c++, comma = ", ")
		fprintf(out, "%s%s %s", comma, c->name, c->declaration);
	for (size_t i = 0; t->part >= 0 && i < wi_part_info((enum wi_part)t->part)->nr; i++, comma = ", ") {
		const struct wi_column_info *c = &wi_part_info((enum wi_part)t->part)->column[i];

		fprintf(out, "%s\"%s\" %s%s", comma, c->name, type[c->type],
			is_key(t->part_not_null, c->name) ? " NOT NULL" : "");
	}
	if (t->constraints)
		fprintf(out, ", %s", t->constraints);
	fprintf(out, ") %s;\n%s%s", t->options, t->indices ? t->indices : "", t->indices ? "\n" : "");
}

char *wi_schema_tables(void)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		return NULL;
	for (size_t i = 0; i < wi_schema_nr_tables; i++)
		print_table(out, &wi_schema_table[i]);
	if (!fclose(out))
		return text;
	free(text);
	return NULL;
}

/* ---- bringing up to date ---- */

bool wi_schema_error(sqlite3 *db, int rc, const char *file, const char *doing, struct wi_err *err)
{
	enum wi_err_code code = WI_EIO;
	const char *what = db ? sqlite3_errmsg(db) : sqlite3_errstr(rc);
	int number = db ? sqlite3_system_errno(db) : 0;

	switch (rc & 0xff) {
	case SQLITE_NOMEM:
		return wi_err_nomem(err);
	case SQLITE_BUSY:
	case SQLITE_LOCKED:
		what = "another process has it locked for longer than 30 s";
		break;
	case SQLITE_FULL:
		what = "no space left on the device";
		break;
	case SQLITE_READONLY:
		what = "it, or its folder, cannot be written";
		break;
	case SQLITE_NOTADB:
		code = WI_EREFUSED;
		what = "not an SQLite database";
		break;
	case SQLITE_CORRUPT:
		code = WI_EREFUSED;
		what = "the database is damaged";
		break;
	case SQLITE_CONSTRAINT:
		code = WI_EREFUSED;
		break;
	case SQLITE_CANTOPEN:
	case SQLITE_IOERR:
		if (number)
			what = strerror(number);
		break;
	}
	return wi_err_at(err, code, file, WI_NO_OFFSET, "%s: %s", doing, what);
}

static bool run_sql(sqlite3 *db, const char *file, const char *sql, struct wi_err *err)
{
	int rc = sql ? sqlite3_exec(db, sql, NULL, NULL, NULL) : SQLITE_NOMEM;

	return rc == SQLITE_OK || wi_schema_error(db, rc, file, "cannot be written", err);
}

/* A number that a statement answers; -1: err is set. */
static int64_t ask(sqlite3 *db, const char *file, const char *sql, struct wi_err *err)
{
	sqlite3_stmt *s = NULL;
	int rc = sqlite3_prepare_v2(db, sql, -1, &s, NULL);
	int64_t v = -1;

	if (rc == SQLITE_OK)
		rc = sqlite3_step(s);
	if (rc == SQLITE_ROW)
		v = sqlite3_column_int64(s, 0);
	else
		wi_schema_error(db, rc, file, "cannot be read", err);
	sqlite3_finalize(s);
	return v;
}

/* Views are what their names say today; those of an older version would also stand in the way of changes of tables. */
static bool drop_views(sqlite3 *db, const char *file, struct wi_err *err)
{
	char sql[256];

	for (size_t i = 0; i < wi_schema_nr_views; i++) {
		snprintf(sql, sizeof(sql), "DROP VIEW IF EXISTS %s", wi_schema_view[i].name);
		if (!run_sql(db, file, sql, err))
			return false;
	}
	return true;
}

static bool make_views(sqlite3 *db, const char *file, struct wi_err *err)
{
	char *views = wi_schema_views();
	bool ok = run_sql(db, file, views, err);

	free(views);
	return ok;
}

/* What application and version a database is of. Empty: *version 0. */
static bool read_version(sqlite3 *db, const char *file, int newest, int64_t *version, struct wi_err *err)
{
	int64_t application = ask(db, file, "PRAGMA application_id", err);
	int64_t objects = application < 0 ? -1 : ask(db, file, "SELECT count(*) FROM sqlite_schema", err);

	*version = objects < 0 ? -1 : ask(db, file, "PRAGMA user_version", err);
	if (err->code)
		return false;
	if (!application && !*version && !objects)
		return true;
	if (application != WI_SCHEMA_APPLICATION || *version < 1)
		return wi_err_at(err, WI_EREFUSED, file, WI_NO_OFFSET, "an SQLite database, but not one of wakeif");
	if (*version > newest)
		return wi_err_at(err, WI_EREFUSED, file, WI_NO_OFFSET,
				 "made by a newer wakeif (schema %lld; this one knows up to %d)", (long long)*version,
				 newest);
	return true;
}

/* Steps from one version on; 0: all tables. */
static bool change_tables(sqlite3 *db, const char *file, int64_t from, int version, const struct wi_schema_step *steps,
			  struct wi_err *err)
{
	if (!from) {
		char *tables = wi_schema_tables();
		bool ok = run_sql(db, file, tables, err);

		free(tables);
		return ok;
	}
	for (int64_t v = from; v < version; v++)
		if (!run_sql(db, file, steps[v - 1].sql, err))
			return false;
	int64_t lost = ask(db, file, "SELECT count(*) FROM pragma_foreign_key_check", err);

	return !lost || (lost > 0 && wi_err_at(err, WI_EREFUSED, file, WI_NO_OFFSET,
					       "the database is damaged: %lld rows refer to rows that are not there",
					       (long long)lost));
}

static bool bring(sqlite3 *db, const char *file, int version, const struct wi_schema_step *steps, struct wi_err *err)
{
	char sql[128];
	int64_t now;

	if (!read_version(db, file, version, &now, err))
		return false;
	if (now == version)
		return true;
	snprintf(sql, sizeof(sql), "PRAGMA application_id = %d; PRAGMA user_version = %d", WI_SCHEMA_APPLICATION,
		 version);
	return drop_views(db, file, err) && change_tables(db, file, now, version, steps, err) &&
	       make_views(db, file, err) && run_sql(db, file, sql, err);
}

bool wi_schema_bring(sqlite3 *db, const char *file, int version, const struct wi_schema_step *steps, struct wi_err *err)
{
	/* A step may make a table anew; with foreign keys on, dropping the old one would take what refers to it along.
	 */
	bool ok = run_sql(db, file, "PRAGMA foreign_keys = OFF; BEGIN IMMEDIATE", err) &&
		  bring(db, file, version, steps, err) && run_sql(db, file, "COMMIT", err);

	if (!ok && !sqlite3_get_autocommit(db))
		sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL);
	return sqlite3_exec(db, "PRAGMA foreign_keys = ON", NULL, NULL, NULL) == SQLITE_OK && ok;
}

/* The tables that a database of this version has, made in memory: the texts to hold another against. */
static bool reference(sqlite3 **db, const char *file, struct wi_err *err)
{
	int rc = sqlite3_open(":memory:", db);
	char *tables = wi_schema_tables();
	bool ok = rc == SQLITE_OK ? run_sql(*db, file, tables, err) : wi_err_nomem(err);

	free(tables);
	return ok;
}

/*
 * What a table is to those who read and write it: kind, and its columns by name. Not its text, which differs between a
 * table that was made so and one that a step made so.
 */
static const char describe_sql[] =
	"SELECT (SELECT strict || wr FROM pragma_table_list WHERE schema = 'main' AND type = 'table' AND name = ?1) || "
	"(SELECT group_concat(name || ' ' || type || ' ' || \"notnull\" || ' ' || (pk > 0) || ' ' || hidden, ', ') "
	"FROM (SELECT * FROM pragma_table_xinfo(?1) ORDER BY name))";

/* The caller's to free; NULL: no such table, no memory, or it cannot be read. */
static char *describe(sqlite3 *db, const char *table)
{
	sqlite3_stmt *s = NULL;
	char *text = NULL;

	if (sqlite3_prepare_v2(db, describe_sql, -1, &s, NULL) == SQLITE_OK &&
	    sqlite3_bind_text(s, 1, table, -1, SQLITE_STATIC) == SQLITE_OK && sqlite3_step(s) == SQLITE_ROW &&
	    sqlite3_column_text(s, 0))
		text = strdup((const char *)sqlite3_column_text(s, 0));
	sqlite3_finalize(s);
	return text;
}

static bool same_table(sqlite3 *db, sqlite3 *made, const char *table, const char *file, struct wi_err *err)
{
	char *is = describe(db, table), *should = describe(made, table);
	bool ok = should ? is && !strcmp(is, should) : wi_err_nomem(err);

	if (should && !ok)
		wi_err_at(err, WI_EREFUSED, file, WI_NO_OFFSET, "its table %s is not as wakeif made it", table);
	free(is);
	free(should);
	return ok;
}

bool wi_schema_check(sqlite3 *db, const char *file, struct wi_err *err)
{
	int64_t version;
	sqlite3 *made = NULL;
	bool ok;

	if (!read_version(db, file, WI_SCHEMA_VERSION, &version, err))
		return false;
	if (!version)
		return wi_err_at(err, WI_EREFUSED, file, WI_NO_OFFSET, "an empty database");
	if (version < WI_SCHEMA_VERSION)
		return wi_err_at(err, WI_EREFUSED, file, WI_NO_OFFSET,
				 "made by an older wakeif (schema %lld, this one has %d): wakeif merge FILE -o FILE "
				 "brings it up to date",
				 (long long)version, WI_SCHEMA_VERSION);
	int64_t triggers = ask(db, file, "SELECT count(*) FROM sqlite_schema WHERE type = 'trigger'", err);

	if (triggers)
		return triggers > 0 ? wi_err_at(err, WI_EREFUSED, file, WI_NO_OFFSET,
						"it has triggers, which wakeif never "
						"makes")
				    : false;
	ok = reference(&made, file, err);
	for (size_t i = 0; ok && i < wi_schema_nr_tables; i++)
		ok = same_table(db, made, wi_schema_table[i].name, file, err);
	sqlite3_close(made);
	return ok;
}
