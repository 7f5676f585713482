/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The tables and views of the archive, with what they mean: making a database, bringing an older one up to date and
 * doc/schema.md follow it.
 *
 * To change a table: raise WI_SCHEMA_VERSION, change the declaration in schema.c, and append to wi_schema_steps the
 * statements that make the tables of the version before into the new ones. Steps run without views and foreign keys: a table may be
 * made anew, with the same rows under the same ids. A change
 * of the catalog's headline metrics changes the view headline, so it needs a step too (an empty one).
 */
#ifndef WI_STORE_SCHEMA_H
#define WI_STORE_SCHEMA_H

#include <sqlite3.h>
#include <stdio.h>

#include "analyzer/base/err.h"

#define WI_SCHEMA_APPLICATION 0x57414b45 /* PRAGMA application_id: "WAKE" */
#define WI_SCHEMA_VERSION 1		 /* PRAGMA user_version */

/* A step from one version to the next: statements that change tables. */
struct wi_schema_step {
	const char *sql;
};
extern const struct wi_schema_step *const wi_schema_steps; /* [0]: from version 1 to 2; WI_SCHEMA_VERSION - 1 of them */

/* All statements that make the tables and indices, or the views, of this version; the caller's to free. NULL: no
 * memory. */
char *wi_schema_tables(void);
char *wi_schema_views(void);

/*
 * Makes the tables if db is empty, else runs the steps that are missing: in a transaction of its own, all or nothing.
 * Leaves foreign keys on. file: for messages. false: of another program, newer than version (WI_EREFUSED), SQLite's error.
 */
bool wi_schema_bring(sqlite3 *db, const char *file, int version, const struct wi_schema_step *steps,
		     struct wi_err *err);

/* Is what stands in the database the schema of this version? Without changing anything. Views and tables of others are
 * let be; triggers are not, they could change what is read and written. */
bool wi_schema_check(sqlite3 *db, const char *file, struct wi_err *err);

/* doc/schema.md. false: no memory. */
bool wi_schema_document(FILE *out);

/* SQLite's error as ours: one line that names the file. Always returns false. */
bool wi_schema_error(sqlite3 *db, int rc, const char *file, const char *doing, struct wi_err *err);

#endif
