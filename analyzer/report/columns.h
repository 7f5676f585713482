/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Tables of groups side by side: a label and a name at the left, then a cell a group. What is wider than a mail may be
 * is printed as several tables, each with the baseline's cells; a name that leaves no room stands on a line of its own.
 */
#ifndef WI_REPORT_COLUMNS_H
#define WI_REPORT_COLUMNS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#define WI_COLUMNS_WIDTH 100
#define WI_COLUMNS_TITLE 24 /* columns of a title: what is longer is cut, its last one then a '+' */

/* Decimals of numbers like v: two as mmtests prints; more for small ones so that four digits are told, none for large
 * ones. */
int wi_columns_decimals(double v);

struct wi_columns;

/* title: of each group, lent until it is printed; escaped here. NULL: out of memory; all functions take NULL. */
struct wi_columns *wi_columns_new(const char *const *title, size_t nr_groups, size_t baseline);
/* A row; its cells follow, one a group. Both texts are copied, name is escaped. */
void wi_columns_row(struct wi_columns *c, const char *label, const char *name);
void wi_columns_cell(struct wi_columns *c, const char *value, const char *note); /* note: the difference; "" none */
/* Prints and frees it; a table without rows prints nothing. false: out of memory. */
bool wi_columns_print(struct wi_columns *c, FILE *out);

#endif
