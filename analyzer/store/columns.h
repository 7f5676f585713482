/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The wide tables of the archive, declared once: where each column's value stands in the JSON documents, what it
 * means. Reading documents, the bundle's bytes, the database's tables and doc/schema.md all follow this declaration.
 */
#ifndef WI_STORE_COLUMNS_H
#define WI_STORE_COLUMNS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum wi_part {
	WI_PART_INPUT,	  /* columns of table run: the file's facts; one row */
	WI_PART_QUALITY,  /* table quality: one row a run */
	WI_PART_TOPOLOGY, /* table topology: shared by runs */
	WI_PART_MODEL,	  /* table model_summary: a row a model of a replay */
	WI_PART_WORST,	  /* table worst: the wakeups that cost most */
	WI_NR_PARTS
};

enum wi_cell_type { WI_CELL_NONE, WI_CELL_INTEGER, WI_CELL_REAL, WI_CELL_TEXT };

/* NONE: not known, not measured. Booleans are integers 0 and 1. */
struct wi_cell {
	enum wi_cell_type type;
	int64_t integer;
	double real;
	const char *text; /* valid UTF-8 */
};

struct wi_column_info {
	const char *name;
	enum wi_cell_type type;
	const char *member;  /* path of the value below the row's JSON object, "a.b"; NULL: worked out, not copied */
	const char *unit;    /* "ns", "bytes", "count", "share" (0 to 1), "text", "0/1", "number" ... */
	const char *meaning; /* a sentence for doc/schema.md */
};

struct wi_part_info {
	const char *table;
	const struct wi_column_info *column;
	size_t nr;
};

const struct wi_part_info *wi_part_info(enum wi_part part);
/* Index of a column; (size_t)-1: the part has none of this name. */
size_t wi_part_column(enum wi_part part, const char *name);
/* The columns that name a row within its run: a text and a number; (size_t)-1 where there is none. */
void wi_part_key(enum wi_part part, size_t *text, size_t *number);

#endif
