/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Statements over the tables of columns.h. Their parameters and results: fixed ones first, then the part's columns. */
#include <stdio.h>
#include <stdlib.h>

#include "analyzer/store/db.h"

static void print_columns(FILE *out, enum wi_part part, const char *prefix)
{
	for (size_t i = 0; i < wi_part_info(part)->nr; i++)
		fprintf(out, "%s%s\"%s\"", i ? ", " : "", prefix, wi_part_info(part)->column[i].name);
}

/* "?4, ?5, ?6" */
static void print_parameters(FILE *out, size_t first, size_t nr)
{
	for (size_t i = 0; i < nr; i++)
		fprintf(out, "%s?%zu", i ? ", " : "", first + i);
}

static void print_add(FILE *out, enum wi_part part)
{
	size_t nr = wi_part_info(part)->nr;
	const char *fixed = part == WI_PART_INPUT ? "trace, analysis, version, status, reason, signal, exit_status, "
						    "stderr_tail, topology, digest, "
			    : part == WI_PART_TOPOLOGY ? ""
						       : "run, ";
	size_t nr_fixed = part == WI_PART_INPUT ? 10 : part == WI_PART_TOPOLOGY ? 0 : 1;

	fprintf(out, "INSERT INTO %s(%s", wi_part_info(part)->table, fixed);
	print_columns(out, part, "");
	fputs(") VALUES (", out);
	print_parameters(out, 1, nr_fixed + nr);
	fputc(')', out);
}

static void print_get(FILE *out, enum wi_part part)
{
	if (part == WI_PART_INPUT) {
		fputs("SELECT run.version, run.status, run.reason, run.signal, run.exit_status, run.stderr_tail, "
		      "run.topology, trace.sha256, trace.size_bytes, analysis.text, ",
		      out);
		print_columns(out, part, "run.");
		fputs(" FROM run JOIN trace ON trace.id = run.trace JOIN analysis ON analysis.id = run.analysis "
		      "WHERE run.id = ?1",
		      out);
		return;
	}
	fputs("SELECT ", out);
	print_columns(out, part, "");
	fprintf(out, " FROM %s WHERE %s = ?1", wi_part_info(part)->table, part == WI_PART_TOPOLOGY ? "id" : "run");
}

static void print_find_topology(FILE *out)
{
	const struct wi_part_info *info = wi_part_info(WI_PART_TOPOLOGY);

	fputs("SELECT id FROM topology WHERE ", out);
	for (size_t i = 0; i < info->nr; i++)
		fprintf(out, "%s\"%s\" IS ?%zu", i ? " AND " : "", info->column[i].name, i + 1);
}

char *wi_db_part_sql(enum wi_statement which)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		return NULL;
	if (which == WI_SQL_FIND_TOPOLOGY)
		print_find_topology(out);
	else if (which >= WI_SQL_GET_PART)
		print_get(out, (enum wi_part)(which - WI_SQL_GET_PART));
	else
		print_add(out, (enum wi_part)(which - WI_SQL_ADD_PART));
	if (!fclose(out))
		return text;
	free(text);
	return NULL;
}
