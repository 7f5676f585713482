/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Tables: aligned columns for people, comma-separated values for programs. Cells are given one after another, row by
 * row.
 */
#ifndef WI_REPORT_TABLE_H
#define WI_REPORT_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define WI_TABLE_WIDTH 120

/* What may be done to the cells of a column where the table would be wider than WI_TABLE_WIDTH; '+' marks the cut. */
enum wi_cut {
	WI_CUT_NOT = false,
	WI_CUT_END = true, /* names: a pid behind ':' stays */
	WI_CUT_START,	   /* paths: what tells them apart stands at the end */
};

struct wi_column {
	const char *title;
	bool left; /* numbers stand right */
	enum wi_cut shrink;
};

struct wi_table;

/* columns is borrowed until the table is printed. NULL: out of memory; all functions below take NULL and do nothing
 * then. */
struct wi_table *wi_table_new(const struct wi_column *columns, size_t nr_columns);
void wi_table_text(struct wi_table *t,
		   const char *text); /* printed as it is: escape names before, or use wi_table_name */
void wi_table_textf(struct wi_table *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void wi_table_name(struct wi_table *t, const char *name);
void wi_table_task(struct wi_table *t, const char *comm, int32_t pid);
void wi_table_count(struct wi_table *t, uint64_t n);
void wi_table_ns(struct wi_table *t, uint64_t ns);
void wi_table_share(struct wi_table *t, uint64_t part, uint64_t whole);
void wi_table_cpu(struct wi_table *t, uint32_t cpu);
void wi_table_none(struct wi_table *t); /* "-": not measurable, or nothing to show */

/* A table that is not to be printed after all. */
void wi_table_free(struct wi_table *t);

/* Prints it with indent blanks before each row and frees it. false: out of memory somewhere on the way, nothing was
 * printed. */
bool wi_table_print(struct wi_table *t, FILE *out, unsigned int indent);

/* CSV after RFC 4180, lines ended by a newline alone. Text is escaped as wi_fmt_name() does. */
struct wi_csv {
	FILE *out;
	bool in_row;
};

void wi_csv_header(struct wi_csv *c, const char *columns); /* "a,b,c" */
void wi_csv_u64(struct wi_csv *c, uint64_t value);
void wi_csv_i64(struct wi_csv *c, int64_t value);
void wi_csv_text(struct wi_csv *c, const char *text);
void wi_csv_fraction(struct wi_csv *c, double value);		    /* 6 decimals; empty unless finite */
void wi_csv_real(struct wi_csv *c, double value);		    /* 15 digits; empty unless finite */
void wi_csv_share(struct wi_csv *c, uint64_t part, uint64_t whole); /* empty when whole is 0 */
void wi_csv_none(struct wi_csv *c);				    /* empty field: not measurable */
void wi_csv_end(struct wi_csv *c);

#endif
