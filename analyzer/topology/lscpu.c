/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Topology from the text of lscpu -p (comma separated, the last comment line names the columns) or lscpu -e (blanks,
 * the first line names them). Any columns, in any order; a cell that is empty or "-" is not known.
 */
#include <ctype.h>
#include <stdlib.h>
#include <strings.h>

#include "analyzer/topology/raw.h"

#define MAX_COLUMNS 64u

enum column { C_IGNORED, C_CPU, C_CORE, C_SOCKET, C_NODE, C_ONLINE, C_L1D, C_L2, C_L3, C_L4, C_CACHES, C_NR };

struct cell {
	const char *at;
	size_t len;
};

struct table {
	const char *name; /* of the file */
	const char *text;
	size_t len;
	bool blanks; /* lscpu -e */
	uint8_t column[MAX_COLUMNS];
	uint32_t nr_columns;
	/* the caches behind a C_CACHES column ("L1d:L1i:L2:L3"), in order */
	uint8_t caches[8];
	uint32_t nr_caches;
};

static enum column column_named(const char *s, size_t len)
{
	static const struct {
		const char *name;
		enum column column;
	} names[] = { { "CPU", C_CPU },	      { "Core", C_CORE }, { "Socket", C_SOCKET }, { "Node", C_NODE },
		      { "Online", C_ONLINE }, { "L1d", C_L1D },	  { "L1", C_L1D },	  { "L2", C_L2 },
		      { "L3", C_L3 },	      { "L4", C_L4 } };

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (strlen(names[i].name) == len && !strncasecmp(names[i].name, s, len))
			return names[i].column;
	return C_IGNORED;
}

/* Splits a line into cells; returns their number (at most MAX_COLUMNS + 1). */
static uint32_t split(const struct table *t, const char *line, size_t len, struct cell *cell)
{
	uint32_t nr = 0;
	size_t at = 0;

	while (at <= len && nr <= MAX_COLUMNS) {
		size_t start, end;

		if (t->blanks) {
			while (at < len && isspace((unsigned char)line[at]))
				at++;
			if (at >= len)
				break;
		}
		start = at;
		while (at < len && (t->blanks ? !isspace((unsigned char)line[at]) : line[at] != ','))
			at++;
		end = at++;
		if (nr < MAX_COLUMNS)
			cell[nr] = (struct cell){ line + start, end - start };
		nr++;
	}
	return nr;
}

static bool take_header(struct table *t, const char *line, size_t len)
{
	struct cell cell[MAX_COLUMNS];
	uint32_t nr = split(t, line, len, cell);

	if (nr > MAX_COLUMNS)
		return false;
	bool cpu = false;
	t->nr_caches = 0;
	for (uint32_t i = 0; i < nr; i++) {
		const char *colon = memchr(cell[i].at, ':', cell[i].len);

		t->column[i] = (uint8_t)column_named(cell[i].at, cell[i].len);
		cpu |= t->column[i] == C_CPU;
		if (!colon || t->nr_caches)
			continue;
		t->column[i] = C_CACHES;
		const char *at = cell[i].at, *end = at + cell[i].len;
		while (at <= end && t->nr_caches < sizeof(t->caches)) {
			const char *next = memchr(at, ':', (size_t)(end - at));
			size_t n = (size_t)((next ? next : end) - at);

			t->caches[t->nr_caches++] = (uint8_t)column_named(at, n);
			if (!next)
				break;
			at = next + 1;
		}
	}
	if (cpu)
		t->nr_columns = nr;
	return cpu;
}

/* A number that is the whole cell; -1 for an empty cell or "-"; -2 for anything else. */
static int64_t number(struct cell c)
{
	int64_t v = 0;

	while (c.len && isspace((unsigned char)c.at[c.len - 1]))
		c.len--;
	if (!c.len || (c.len == 1 && c.at[0] == '-'))
		return -1;
	for (size_t i = 0; i < c.len; i++) {
		if (!isdigit((unsigned char)c.at[i]) || v >= TOPO_MAX_LABEL)
			return -2;
		v = v * 10 + (c.at[i] - '0');
	}
	return v < TOPO_MAX_LABEL ? v : -2;
}

struct row {
	int64_t value[C_NR]; /* -1 unknown */
};

static bool take_caches(const struct table *t, struct cell c, struct row *row)
{
	const char *at = c.at, *end = c.at + c.len;

	for (uint32_t i = 0; i < t->nr_caches && at <= end; i++) {
		const char *next = memchr(at, ':', (size_t)(end - at));
		int64_t v = number((struct cell){ at, (size_t)((next ? next : end) - at) });

		if (v < -1)
			return false;
		if (t->caches[i] != C_IGNORED)
			row->value[t->caches[i]] = v;
		if (!next)
			break;
		at = next + 1;
	}
	return true;
}

/* "Y", "yes", "N", "no"; anything else is unknown. */
static int64_t yes_no(struct cell c)
{
	if (!c.len)
		return -1;
	return toupper((unsigned char)*c.at) == 'Y' ? 1 : toupper((unsigned char)*c.at) == 'N' ? 0 : -1;
}

static bool take_row(const struct table *t, const char *line, size_t len, struct row *row, struct wi_err *err)
{
	struct cell cell[MAX_COLUMNS];
	uint32_t nr = split(t, line, len, cell);
	size_t offset = (size_t)(line - t->text);

	for (int i = 0; i < C_NR; i++)
		row->value[i] = -1;
	if (nr > t->nr_columns)
		return wi_err_at(err, WI_EREFUSED, t->name, offset, "more cells than columns in lscpu text: \"%.*s\"",
				 (int)(len > 80 ? 80 : len), line);
	for (uint32_t i = 0; i < nr; i++) {
		enum column k = t->column[i];
		bool good = true;

		if (k == C_ONLINE) {
			row->value[k] = yes_no(cell[i]);
		} else if (k == C_CACHES) {
			good = take_caches(t, cell[i], row);
		} else if (k != C_IGNORED) {
			row->value[k] = number(cell[i]);
			good = row->value[k] >= -1;
		}
		if (!good)
			return wi_err_at(err, WI_EREFUSED, t->name, offset, "not a number in lscpu text: \"%.*s\"",
					 (int)(cell[i].len > 80 ? 80 : cell[i].len), cell[i].at);
	}
	if (row->value[C_CPU] < 0 || row->value[C_CPU] >= WI_MAX_CPUS)
		return wi_err_at(err, WI_EREFUSED, t->name, offset, "not a CPU number in lscpu text: \"%.*s\"",
				 (int)(len > 80 ? 80 : len), line);
	return true;
}

struct lines {
	const char *at, *end;
};

static bool next_line(struct lines *l, const char **line, size_t *len)
{
	if (l->at >= l->end)
		return false;
	const char *eol = memchr(l->at, '\n', (size_t)(l->end - l->at));

	*line = l->at;
	*len = (size_t)((eol ? eol : l->end) - l->at);
	l->at = eol ? eol + 1 : l->end;
	while (*len && ((*line)[*len - 1] == '\r' || (*line)[*len - 1] == '\0'))
		--*len;
	return true;
}

/* Calls back for every row; the header is found on the way. The default columns are those of a plain lscpu -p. */
static bool each_row(struct table *t, bool (*use)(void *ctx, const struct row *row), void *ctx, struct wi_err *err)
{
	static const char plain[] = "CPU,Core,Socket,Node,,L1d,L1i,L2,L3";
	struct lines l = { t->text, t->text + t->len };
	const char *line;
	size_t len;

	t->blanks = false;
	t->nr_columns = 0;
	while (next_line(&l, &line, &len)) {
		struct row row;

		if (!len)
			continue;
		if (*line == '#') {
			for (line++, len--; len && *line == ' '; line++)
				len--;
			take_header(t, line, len);
			continue;
		}
		if (!t->nr_columns && isalpha((unsigned char)*line)) {
			t->blanks = true;
			if (!take_header(t, line, len))
				return wi_err_at(err, WI_EREFUSED, t->name, 0,
						 "not lscpu text: no CPU column in \"%.*s\"",
						 (int)(len > 80 ? 80 : len), line);
			continue;
		}
		if (!t->nr_columns)
			take_header(t, plain, sizeof(plain) - 1);
		if (!take_row(t, line, len, &row, err))
			return false;
		if (!use(ctx, &row))
			return wi_err_nomem(err);
	}
	return true;
}

static bool find_highest(void *ctx, const struct row *row)
{
	uint32_t *nr = ctx;

	if (row->value[C_CPU] >= *nr)
		*nr = (uint32_t)row->value[C_CPU] + 1;
	return true;
}

static void label(uint32_t *out, int64_t value)
{
	if (value >= 0)
		*out = (uint32_t)value;
}

static bool fill_cpu(void *ctx, const struct row *row)
{
	struct topo_raw *raw = ctx;
	uint32_t c = (uint32_t)row->value[C_CPU];

	wi_mask_set(raw->present, c);
	if (row->value[C_ONLINE])
		wi_mask_set(raw->online, c);
	else
		wi_mask_clear(raw->online, c);
	label(&raw->label[TOPO_CORE][c], row->value[C_CORE]);
	label(&raw->label[TOPO_PACKAGE][c], row->value[C_SOCKET]);
	label(&raw->label[TOPO_NODE][c], row->value[C_NODE]);
	label(&raw->label[TOPO_CLUSTER][c], row->value[C_L2]);
	for (int level = C_L4; level >= C_L1D; level--)
		if (row->value[level] >= 0) {
			/* numbers count by level */
			raw->label[TOPO_LLC][c] =
				(uint32_t)(level - C_L1D) << 28 | ((uint32_t)row->value[level] & 0xfffffff);
			raw->has_cache_info = true;
			break;
		}
	raw->core_id[c] = (int32_t)row->value[C_CORE];
	raw->package_id[c] = (int32_t)row->value[C_SOCKET];
	raw->node_id[c] = (int32_t)row->value[C_NODE];
	return true;
}

/* Old lscpu, and lscpu -y, number cores within the package: the same number in two packages is two cores. */
static void split_cores(struct topo_raw *raw)
{
	const uint32_t *package = raw->label[TOPO_PACKAGE];

	for (uint32_t c = 0; c < raw->nr_cpus; c++)
		if (raw->label[TOPO_CORE][c] != TOPO_NONE && package[c] != TOPO_NONE)
			raw->label[TOPO_CORE][c] = (package[c] & 0x3fff) << 16 | (raw->label[TOPO_CORE][c] & 0xffff);
}

bool topo_from_lscpu(struct topo_raw *raw, const char *text, size_t len, const char *name, struct wi_err *err)
{
	struct table t = { .name = name, .text = text, .len = len };
	uint32_t nr = 0;

	if (!each_row(&t, find_highest, &nr, err))
		return false;
	if (!nr)
		return wi_err_at(err, WI_EREFUSED, name, WI_NO_OFFSET, "no CPU in this lscpu text");
	if (!topo_raw_init(raw, nr, err) || !each_row(&t, fill_cpu, raw, err))
		return false;
	split_cores(raw);
	return true;
}
