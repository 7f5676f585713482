/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analyzer/report/columns.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/base/fmt.h"
#include "analyzer/base/utf8.h"

#define GAP 2	    /* blanks before a group's cell */
#define NAME_MIN 12 /* columns for names that are always there */

int wi_columns_decimals(double v)
{
	double a = fabs(v);

	if (!(a > 0) || a >= 10)
		return a >= 1e5 ? 0 : 2;
	int n = 3 - (int)floor(log10(a));

	return n > 9 ? 9 : n;
}

struct row {
	char *label, *name;
	char **value, **note; /* [nr_groups] */
	size_t nr_cells;
};

struct wi_columns {
	char **title;
	size_t nr_groups, baseline;
	struct row *row;
	size_t nr_rows, room;
	bool failed;
};

/* Cuts s in place to WI_COLUMNS_TITLE columns, its last one then a '+'. */
static void cut_title(char *s)
{
	size_t len = strlen(s), i = 0, used = 0;

	if (wi_utf8_columns(s) <= WI_COLUMNS_TITLE)
		return;
	while (i < len) {
		uint32_t cp;
		size_t n = wi_utf8_next(s + i, len - i, &cp);

		used += cp == WI_UTF8_INVALID ? 1 : wi_utf8_width(cp);
		if (used > WI_COLUMNS_TITLE - 1)
			break;
		i += n;
	}
	strcpy(s + i, "+");
}

static void columns_free(struct wi_columns *c)
{
	if (!c)
		return;
	for (size_t g = 0; c->title && g < c->nr_groups; g++)
		free(c->title[g]);
	free(c->title);
	for (size_t i = 0; i < c->nr_rows; i++) {
		struct row *r = &c->row[i];

		for (size_t g = 0; r->value && r->note && g < c->nr_groups; g++) {
			free(r->value[g]);
			free(r->note[g]);
		}
		free(r->value);
		free(r->note);
		free(r->label);
		free(r->name);
	}
	free(c->row);
	free(c);
}

static char *escaped(const char *s)
{
	char text[WI_FMT_NAME_LEN];

	return strdup(wi_fmt_name(text, sizeof(text), s));
}

struct wi_columns *wi_columns_new(const char *const *title, size_t nr_groups, size_t baseline)
{
	struct wi_columns *c = calloc(1, sizeof(*c));
	bool ok = c;

	if (c) {
		c->title = calloc(nr_groups + 1, sizeof(*c->title));
		c->nr_groups = nr_groups;
		c->baseline = baseline;
		ok = c->title;
	}
	for (size_t g = 0; ok && g < nr_groups; g++) {
		c->title[g] = escaped(title[g]);
		ok = c->title[g];
		if (ok)
			cut_title(c->title[g]);
	}
	if (!ok) {
		columns_free(c);
		c = NULL;
	}
	return c;
}

static bool more_rows(struct wi_columns *c)
{
	size_t room = c->room ? 2 * c->room : 32;
	struct row *more;

	if (c->nr_rows < c->room)
		return true;
	more = realloc(c->row, room * sizeof(*more));
	if (!more)
		return false;
	c->row = more;
	c->room = room;
	return true;
}

void wi_columns_row(struct wi_columns *c, const char *label, const char *name)
{
	struct row *r;

	if (!c || c->failed || !more_rows(c)) {
		if (c)
			c->failed = true;
		return;
	}
	r = &c->row[c->nr_rows++];
	memset(r, 0, sizeof(*r));
	r->label = strdup(label);
	r->name = escaped(name);
	r->value = calloc(c->nr_groups + 1, sizeof(*r->value));
	r->note = calloc(c->nr_groups + 1, sizeof(*r->note));
	c->failed = !r->label || !r->name || !r->value || !r->note;
}

void wi_columns_cell(struct wi_columns *c, const char *value, const char *note)
{
	struct row *r;

	if (!c || c->failed || !c->nr_rows)
		return;
	r = &c->row[c->nr_rows - 1];
	if (r->nr_cells == c->nr_groups)
		return;
	r->value[r->nr_cells] = strdup(value);
	r->note[r->nr_cells] = strdup(note);
	c->failed = !r->value[r->nr_cells] || !r->note[r->nr_cells];
	r->nr_cells++;
}

struct widths {
	size_t label, name;
	size_t value, note; /* of all groups: columns of one width can be read across */
	size_t cell;	    /* of a group, with the gap */
};

static void widen(size_t *width, const char *text)
{
	size_t n = text ? wi_utf8_columns(text) : 0;

	if (n > *width)
		*width = n;
}

static struct widths measure(const struct wi_columns *c)
{
	struct widths w = { 0 };
	size_t most;

	for (size_t i = 0; i < c->nr_rows; i++) {
		widen(&w.label, c->row[i].label);
		for (size_t g = 0; g < c->nr_groups; g++) {
			widen(&w.value, c->row[i].value[g]);
			widen(&w.note, c->row[i].note[g]);
		}
	}
	w.cell = GAP + w.value + (w.note ? 1 + w.note : 0);
	for (size_t g = 0; g < c->nr_groups; g++)
		if (GAP + wi_utf8_columns(c->title[g]) > w.cell) {
			w.value += GAP + wi_utf8_columns(c->title[g]) - w.cell;
			w.cell = GAP + wi_utf8_columns(c->title[g]);
		}
	/* A name may take what the baseline and one more group leave; those that fit set the width of the column. */
	most = w.label + 1 + (c->nr_groups > 1 ? 2 : 1) * w.cell;
	most = most + NAME_MIN < WI_COLUMNS_WIDTH ? WI_COLUMNS_WIDTH - most : NAME_MIN;
	for (size_t i = 0; i < c->nr_rows; i++)
		if (wi_utf8_columns(c->row[i].name) <= most)
			widen(&w.name, c->row[i].name);
	return w;
}

/* Writes a line without blanks at its end: they are due only once more text follows. */
struct pen {
	FILE *out;
	size_t blanks;
};

static void put_text(struct pen *p, const char *text)
{
	if (!*text)
		return;
	fprintf(p->out, "%*s%s", (int)p->blanks, "", text);
	p->blanks = 0;
}

static void put_cell(struct pen *p, const char *text, size_t width, bool left)
{
	size_t n = wi_utf8_columns(text), pad = n < width ? width - n : 0;

	if (!left)
		p->blanks += pad;
	put_text(p, text);
	if (left)
		p->blanks += pad;
}

static void end_line(struct pen *p)
{
	putc('\n', p->out);
	p->blanks = 0;
}

/* The groups of one table: the baseline, then those from first on. */
struct part {
	size_t group[64], nr;
};

static void put_titles(FILE *out, const struct wi_columns *c, const struct widths *w, const struct part *p)
{
	struct pen pen = { out, w->label + 1 + w->name };

	for (size_t i = 0; i < p->nr; i++)
		put_cell(&pen, c->title[p->group[i]], w->cell, false);
	end_line(&pen);
}

static void put_row(FILE *out, const struct widths *w, const struct row *r, const struct part *p)
{
	struct pen pen = { out, 0 };

	put_cell(&pen, r->label, w->label, true);
	pen.blanks++;
	put_cell(&pen, r->name, w->name, true);
	if (wi_utf8_columns(r->name) > w->name) {
		end_line(&pen);
		pen.blanks = w->label + 1 + w->name;
	}
	for (size_t i = 0; i < p->nr; i++) {
		size_t g = p->group[i];

		pen.blanks += GAP;
		put_cell(&pen, r->value[g] ? r->value[g] : "", w->value, false);
		if (!w->note)
			continue;
		pen.blanks++;
		put_cell(&pen, r->note[g] ? r->note[g] : "", w->note, true);
	}
	end_line(&pen);
}

/* false: all groups have been told. *next: the first that has not. */
static bool next_part(const struct wi_columns *c, const struct widths *w, size_t *next, struct part *p)
{
	size_t used = w->label + 1 + w->name + w->cell;

	p->nr = 0;
	p->group[p->nr++] = c->baseline;
	while (*next < c->nr_groups && p->nr < sizeof(p->group) / sizeof(p->group[0])) {
		if (*next == c->baseline) {
			(*next)++;
			continue;
		}
		if (p->nr > 1 && used + w->cell > WI_COLUMNS_WIDTH)
			break;
		p->group[p->nr++] = (*next)++;
		used += w->cell;
	}
	return p->nr > 1 || c->nr_groups == 1;
}

bool wi_columns_print(struct wi_columns *c, FILE *out)
{
	bool ok = c && !c->failed;
	size_t next = 0;
	struct widths w;
	struct part p;

	if (ok && c->nr_rows) {
		w = measure(c);
		for (bool first = true; next_part(c, &w, &next, &p); first = false) {
			if (!first)
				putc('\n', out);
			put_titles(out, c, &w, &p);
			for (size_t i = 0; i < c->nr_rows; i++)
				put_row(out, &w, &c->row[i], &p);
			if (c->nr_groups == 1)
				break;
		}
	}
	columns_free(c);
	return ok;
}
