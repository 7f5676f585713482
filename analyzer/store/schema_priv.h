/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef WI_STORE_SCHEMA_PRIV_H
#define WI_STORE_SCHEMA_PRIV_H

#include <stddef.h>

#include "analyzer/store/columns.h"

struct wi_schema_column {
	const char *name, *declaration, *unit, *meaning;
};

struct wi_schema_table {
	const char *name, *meaning;
	const struct wi_schema_column *before; /* ended by a NULL name; then the columns of part */
	int part;			       /* enum wi_part; -1: none */
	const char *part_not_null;	       /* columns of part that are keys, "a,b"; NULL: none */
	const char *constraints;	       /* NULL: none */
	const char *options;		       /* "STRICT", "STRICT, WITHOUT ROWID" */
	const char *indices;		       /* statements; NULL: none */
};

struct wi_schema_view {
	const char *name, *meaning, *sql;
	const char *example; /* a query on it, and what it answers */
	const char *question;
};

extern const struct wi_schema_table wi_schema_table[];
extern const size_t wi_schema_nr_tables;
extern const struct wi_schema_view wi_schema_view[];
extern const size_t wi_schema_nr_views;

#endif
