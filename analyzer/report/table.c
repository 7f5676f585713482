/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analyzer/report/table.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/base/fmt.h"
#include "analyzer/base/utf8.h"

struct wi_table {
	const struct wi_column *columns;
	size_t nr_columns;
	char **cell;
	size_t nr_cells, room;
	bool failed;
};

struct wi_table *wi_table_new(const struct wi_column *columns, size_t nr_columns)
{
	struct wi_table *t = calloc(1, sizeof(*t));

	if (t) {
		t->columns = columns;
		t->nr_columns = nr_columns;
	}
	return t;
}

void wi_table_text(struct wi_table *t, const char *text)
{
	char *copy;

	if (!t || t->failed)
		return;
	if (t->nr_cells == t->room) {
		size_t room = t->room ? 2 * t->room : 8 * t->nr_columns;
		char **more = realloc(t->cell, room * sizeof(*more));

		if (!more) {
			t->failed = true;
			return;
		}
		t->cell = more;
		t->room = room;
	}
	copy = strdup(text);
	if (copy)
		t->cell[t->nr_cells++] = copy;
	else
		t->failed = true;
}

void wi_table_textf(struct wi_table *t, const char *fmt, ...)
{
	char *text;
	va_list ap;

	if (!t || t->failed)
		return;
	va_start(ap, fmt);
	if (vasprintf(&text, fmt, ap) < 0)
		text = NULL;
	va_end(ap);
	if (text)
		wi_table_text(t, text);
	else
		t->failed = true;
	free(text);
}

void wi_table_name(struct wi_table *t, const char *name)
{
	char text[WI_FMT_NAME_LEN];

	wi_table_text(t, wi_fmt_name(text, sizeof(text), name));
}

void wi_table_task(struct wi_table *t, const char *comm, int32_t pid)
{
	char text[WI_FMT_NAME_LEN];

	wi_table_text(t, wi_fmt_task(text, sizeof(text), comm, pid));
}

void wi_table_count(struct wi_table *t, uint64_t n)
{
	char text[WI_FMT_LEN];

	wi_table_text(t, wi_fmt_count(text, sizeof(text), n));
}

void wi_table_ns(struct wi_table *t, uint64_t ns)
{
	char text[WI_FMT_LEN];

	wi_table_text(t, wi_fmt_ns(text, sizeof(text), ns));
}

void wi_table_share(struct wi_table *t, uint64_t part, uint64_t whole)
{
	char text[WI_FMT_LEN];

	wi_table_text(t, wi_fmt_share(text, sizeof(text), part, whole));
}

void wi_table_cpu(struct wi_table *t, uint32_t cpu)
{
	char text[WI_FMT_LEN];

	wi_table_text(t, wi_fmt_cpu(text, sizeof(text), cpu));
}

void wi_table_none(struct wi_table *t)
{
	wi_table_text(t, "-");
}

static void print_cell(FILE *out, const char *text, bool left, size_t width, bool last)
{
	size_t columns = wi_utf8_columns(text);
	int pad = columns < width ? (int)(width - columns) : 0;

	if (!left)
		fprintf(out, "%*s%s", pad, "", text);
	else if (last)
		fputs(text, out);
	else
		fprintf(out, "%s%*s", text, pad, "");
}

/* Bytes of text that fill at most the given columns. */
static size_t prefix_len(const char *text, size_t len, size_t columns)
{
	size_t used = 0, i = 0;

	while (i < len) {
		uint32_t cp;
		size_t n = wi_utf8_next(text + i, len - i, &cp);

		used += cp == WI_UTF8_INVALID ? 1 : wi_utf8_width(cp);
		if (used > columns)
			break;
		i += n;
	}
	return i;
}

/* Cuts a name to width columns: "a very long name:1234" -> "a very l+:1234"; what follows the pid after a blank stays,
 * too. */
static bool cut_end(char **cell, size_t width)
{
	const char *text = *cell, *tail = strrchr(text, ':');
	char *cut, after = 0;
	int rc;

	if (wi_utf8_columns(text) <= width)
		return true;
	if (tail)
		after = tail[1 + strspn(tail + 1, "0123456789")];
	if (!tail || (after && after != ' ') || wi_utf8_columns(tail) + 2 > width)
		tail = text + strlen(text);
	rc = asprintf(&cut, "%.*s+%s", (int)prefix_len(text, (size_t)(tail - text), width - 1 - wi_utf8_columns(tail)),
		      text, tail);
	if (rc < 0)
		return false;
	free(*cell);
	*cell = cut;
	return true;
}

/* "a/long/path/trace.dat" -> "+path/trace.dat" */
static bool cut_start(char **cell, size_t width)
{
	const char *from = *cell;
	char *cut;

	if (wi_utf8_columns(from) <= width)
		return true;
	while (wi_utf8_columns(from) + 1 > width) {
		uint32_t cp;

		from += wi_utf8_next(from, strlen(from), &cp);
	}
	if (asprintf(&cut, "+%s", from) < 0)
		return false;
	free(*cell);
	*cell = cut;
	return true;
}

static bool cut_cell(char **cell, size_t width, enum wi_cut how)
{
	return how == WI_CUT_START ? cut_start(cell, width) : cut_end(cell, width);
}

/* Narrows the widest of the columns that may be cut until the row fits. */
static bool fit(struct wi_table *t, size_t *width, unsigned int indent)
{
	size_t total = indent + 2 * (t->nr_columns - 1);

	for (size_t c = 0; c < t->nr_columns; c++)
		total += width[c];
	for (; total > WI_TABLE_WIDTH; total--) {
		size_t widest = SIZE_MAX;

		for (size_t c = 0; c < t->nr_columns; c++)
			if (t->columns[c].shrink && width[c] > 12 && (widest == SIZE_MAX || width[c] > width[widest]))
				widest = c;
		if (widest == SIZE_MAX)
			break;
		width[widest]--;
	}
	for (size_t c = 0; c < t->nr_columns; c++)
		for (size_t i = c; t->columns[c].shrink && i < t->nr_cells; i += t->nr_columns)
			if (!cut_cell(&t->cell[i], width[c], t->columns[c].shrink))
				return false;
	return true;
}

static void print_row(const struct wi_table *t, FILE *out, unsigned int indent, const size_t *width, char *const *cell)
{
	fprintf(out, "%*s", (int)indent, "");
	for (size_t c = 0; c < t->nr_columns; c++) {
		if (c)
			fputs("  ", out);
		print_cell(out, cell ? cell[c] : t->columns[c].title, t->columns[c].left, width[c],
			   c + 1 == t->nr_columns);
	}
	putc('\n', out);
}

void wi_table_free(struct wi_table *t)
{
	if (!t)
		return;
	for (size_t i = 0; i < t->nr_cells; i++)
		free(t->cell[i]);
	free(t->cell);
	free(t);
}

bool wi_table_print(struct wi_table *t, FILE *out, unsigned int indent)
{
	size_t *width = t ? calloc(t->nr_columns, sizeof(*width)) : NULL;
	bool ok = width && !t->failed;

	for (size_t c = 0; ok && c < t->nr_columns; c++) {
		width[c] = strlen(t->columns[c].title);
		for (size_t i = c; i < t->nr_cells; i += t->nr_columns) {
			size_t columns = wi_utf8_columns(t->cell[i]);

			if (columns > width[c])
				width[c] = columns;
		}
	}
	ok = ok && fit(t, width, indent);
	if (ok) {
		print_row(t, out, indent, width, NULL);
		for (size_t i = 0; i + t->nr_columns <= t->nr_cells; i += t->nr_columns)
			print_row(t, out, indent, width, t->cell + i);
	}
	free(width);
	wi_table_free(t);
	return ok;
}

void wi_csv_header(struct wi_csv *c, const char *columns)
{
	fprintf(c->out, "%s\n", columns);
}

static void next_field(struct wi_csv *c)
{
	if (c->in_row)
		putc(',', c->out);
	c->in_row = true;
}

void wi_csv_u64(struct wi_csv *c, uint64_t value)
{
	next_field(c);
	fprintf(c->out, "%" PRIu64, value);
}

void wi_csv_i64(struct wi_csv *c, int64_t value)
{
	next_field(c);
	fprintf(c->out, "%" PRId64, value);
}

void wi_csv_text(struct wi_csv *c, const char *text)
{
	size_t len = strlen(text);
	bool quote = text[strcspn(text, ",\"")] || text[0] == ' ' || (len && text[len - 1] == ' ');

	next_field(c);
	if (quote)
		putc('"', c->out);
	for (size_t i = 0; i < len;) {
		char part[WI_FMT_CHAR_LEN];
		size_t used, n = wi_fmt_char(part, text + i, len - i, &used);

		if (part[0] == '"')
			putc('"', c->out);
		fwrite(part, 1, n, c->out);
		i += used;
	}
	if (quote)
		putc('"', c->out);
}

void wi_csv_fraction(struct wi_csv *c, double value)
{
	next_field(c);
	if (isfinite(value))
		fprintf(c->out, "%.6f", value);
}

void wi_csv_real(struct wi_csv *c, double value)
{
	char text[WI_FMT_LEN];

	next_field(c);
	if (isfinite(value))
		fputs(wi_fmt_real(text, sizeof(text), value), c->out);
}

void wi_csv_share(struct wi_csv *c, uint64_t part, uint64_t whole)
{
	if (whole)
		wi_csv_fraction(c, (double)part / (double)whole);
	else
		wi_csv_none(c);
}

void wi_csv_none(struct wi_csv *c)
{
	next_field(c);
}

void wi_csv_end(struct wi_csv *c)
{
	putc('\n', c->out);
	c->in_row = false;
}
