/* SPDX-License-Identifier: GPL-2.0-or-later */
/* doc/schema.md out of the declarations: a test compares, so that the document cannot fall behind. */
#include <stdlib.h>
#include <string.h>

#include "analyzer/store/bundle.h"
#include "analyzer/store/catalog.h"
#include "analyzer/store/schema.h"
#include "analyzer/store/schema_priv.h"

static const char intro[] =
	"# The archive's database\n"
	"\n"
	"`wakeif batch` and `wakeif merge` write one SQLite file ([archives.md](archives.md), [batch.md](batch.md)). "
	"It is read with "
	"`wakeif runs`, `diff` and `trend`, or with any SQLite from 3.38 on: `sqlite3 results.db \"SELECT ...\"`.\n"
	"This document is made from the program's own declarations (`make schema`); a test holds the two against each "
	"other and runs "
	"the queries.\n"
	"\n"
	"- `PRAGMA application_id` is %u, `PRAGMA user_version` the schema's version: %d. A newer program brings an "
	"older file up to "
	"date when it writes to it; an older program refuses a newer file.\n"
	"- A **trace** is a content: copies and renames of a file are one trace with several paths. A **run** is what "
	"one analysis "
	"(models, options; table `analysis`) made of one trace. A database that `batch` made has one run a trace; "
	"`merge` may bring "
	"several analyses together, so a query over all runs should name the analysis if there is more than one.\n"
	"- What could not be measured has no row, or NULL: it is never 0.\n"
	"- Every number of a report is a figure but those that say which, where or when (pids, CPU numbers, stamps) "
	"and those of "
	"`input`, `window` and `topology`, which are columns here. Texts are columns of the tables below or are left "
	"out.\n"
	"- A figure's name is its path in the JSON report ([json.md](json.md)); what it means: "
	"[METRICS.md](METRICS.md). Lists of "
	"models and policies are keyed by label, `models[linux-6.1].agree.cpu_share`; lists of numbers by index from "
	"0, "
	"`smt.busy_threads_ns[1]`. With `batch --detail full` the other lists are there too, keyed by what names their "
	"members, "
	"`idle.cpu[3].idle_ns`. A `.`, `[`, `]` or `\\` in a name has a `\\` before it.\n"
	"- Ids are of one file only: order by content hash, path and the like, not by id. Nothing tells when, where or "
	"how fast "
	"something was analysed.\n"
	"- Of two rows of the same trace and analysis one stays when databases are merged: that of the higher version "
	"of wakeif, then "
	"of the better status (in the order below), then of the greater digest. Paths and tags are united. So any "
	"order and grouping "
	"of merges gives the same rows.\n"
	"- While a batch writes, `results.db-wal` and `results.db-shm` belong to the file. Queries may go on "
	"meanwhile.\n";

static const char *clean(const char *text)
{
	return text ? text : "";
}

static void print_declaration(FILE *out, const char *declaration)
{
	/* "INTEGER NOT NULL REFERENCES trace(id) ..." is its type to a reader, and whether it may be NULL. */
	size_t n = strcspn(declaration, " ");
	bool never = strstr(declaration, "NOT NULL") || strstr(declaration, "PRIMARY KEY");

	fprintf(out, "%.*s%s", (int)n, declaration, never ? "" : ", may be NULL");
}

static void print_table(FILE *out, const struct wi_schema_table *t)
{
	static const char *const type[] = { "ANY", "INTEGER", "REAL", "TEXT" };

	fprintf(out, "\n### %s\n%s", t->name, t->meaning);
	if (t->constraints && strchr(t->constraints, '(')) {
		const char *from = strchr(t->constraints, '('), *to = strchr(t->constraints, ')');

		fprintf(out, " A row is named by %.*s.", (int)(to - from - 1), from + 1);
	}
	fputs("\n\n| column | type | unit | |\n|---|---|---|---|\n", out);
	for (const struct wi_schema_column *c = t->before; c->name; c++) {
		fprintf(out, "| %s | ", c->name);
		print_declaration(out, c->declaration);
		fprintf(out, " | %s | %s |\n", c->unit, c->meaning);
	}
	for (size_t i = 0; t->part >= 0 && i < wi_part_info((enum wi_part)t->part)->nr; i++) {
		const struct wi_column_info *c = &wi_part_info((enum wi_part)t->part)->column[i];
		bool key = t->part_not_null && strstr(t->part_not_null, c->name);

		fprintf(out, "| %s | %s%s | %s | %s |\n", c->name, type[c->type], key ? "" : ", may be NULL", c->unit,
			c->meaning);
	}
}

/* The names of a view's columns, as SQLite has them. */
static bool print_columns(FILE *out, sqlite3 *db, const char *view)
{
	char sql[128];
	sqlite3_stmt *s = NULL;

	snprintf(sql, sizeof(sql), "SELECT * FROM %s", view);
	if (sqlite3_prepare_v2(db, sql, -1, &s, NULL) != SQLITE_OK)
		return false;
	for (int i = 0; i < sqlite3_column_count(s); i++)
		fprintf(out, "%s`%s`", i ? ", " : "", sqlite3_column_name(s, i));
	sqlite3_finalize(s);
	return true;
}

static bool print_views(FILE *out, sqlite3 *db)
{
	for (size_t i = 0; i < wi_schema_nr_views; i++) {
		const struct wi_schema_view *v = &wi_schema_view[i];

		fprintf(out, "\n### %s\n%s\n\nColumns: ", v->name, v->meaning);
		if (!print_columns(out, db, v->name))
			return false;
		fprintf(out, ".\n\nFor example, %s:\n```sql\n%s\n```\n", v->question, v->example);
	}
	return true;
}

static void print_statuses(FILE *out)
{
	fputs("\n## Status of a run, the best first\n\n| status | |\n|---|---|\n", out);
#define X(name, text, meaning) fprintf(out, "| %s | %s |\n", text, meaning);
	WI_RUN_STATUSES(X)
#undef X
}

static void print_headline(FILE *out)
{
	size_t nr;
	const char *const *path = wi_catalog_headline(&nr);

	fputs("\n## Headline metrics\nWhat default tables show, in this order; the view `headline` has a column for "
	      "each.\n\n"
	      "| metric | unit | better | |\n|---|---|---|---|\n",
	      out);
	for (size_t i = 0; i < nr; i++) {
		struct wi_metric_info info;

		wi_catalog_find(path[i], &info);
		fprintf(out, "| %s | %s | %s | %s |\n", path[i], info.unit, wi_direction_name(info.direction),
			clean(info.meaning));
	}
}

static const char histograms[] = "\n## Histograms\n"
				 "Index i of a bucket to time: i < 128: the value i alone; else the values from (64 + "
				 "(i - 128) mod 64) * 2^((i - 128) / 64 + 1) "
				 "on, as many as 2^((i - 128) / 64 + 1) (divisions without remainder): a bucket is at "
				 "most 1/64 of its lower edge wide. The view "
				 "`histogram_bucket` decodes the blobs in SQL alone. Buckets of several runs are added "
				 "up to their common histogram, without error.\n";

bool wi_schema_document(FILE *out)
{
	char *tables = wi_schema_tables(), *views = wi_schema_views();
	sqlite3 *db = NULL;
	bool ok = tables && views && sqlite3_open(":memory:", &db) == SQLITE_OK &&
		  sqlite3_exec(db, tables, NULL, NULL, NULL) == SQLITE_OK &&
		  sqlite3_exec(db, views, NULL, NULL, NULL) == SQLITE_OK;

	fprintf(out, intro, WI_SCHEMA_APPLICATION, WI_SCHEMA_VERSION);
	if (ok) {
		fputs("\n## Views\nThe common questions.\n", out);
		ok = print_views(out, db);
		print_headline(out);
		fputs("\n## Tables\n", out);
		for (size_t i = 0; i < wi_schema_nr_tables; i++)
			print_table(out, &wi_schema_table[i]);
		print_statuses(out);
		fputs(histograms, out);
	}
	sqlite3_close(db);
	free(tables);
	free(views);
	return ok && !ferror(out);
}
