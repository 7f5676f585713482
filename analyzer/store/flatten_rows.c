/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/store/bundle_priv.h"
#include "analyzer/store/flatten.h"

#define NO_COLUMN ((size_t)-1)

/* The value at "a.b.c" below an object; NULL: not there. */
static const json_t *below(const json_t *object, const char *path)
{
	while (object && *path) {
		size_t n = strcspn(path, ".");
		char key[64];

		if (n >= sizeof(key))
			return NULL;
		memcpy(key, path, n);
		key[n] = '\0';
		object = json_object_get(object, key);
		path += n + (path[n] == '.');
	}
	return object;
}

static bool same_cell(const struct wi_cell *a, const struct wi_cell *b)
{
	if (a->type != b->type)
		return false;
	return a->type == WI_CELL_TEXT	 ? !strcmp(a->text, b->text)
	       : a->type == WI_CELL_REAL ? a->real == b->real
					 : a->integer == b->integer;
}

/* Sets a cell that is not known yet; one that is must be the same. */
static bool set(struct wi_row *row, size_t column, struct wi_cell value, struct wi_err *err)
{
	const struct wi_part_info *info = wi_part_info(row->part);
	struct wi_cell *c = &row->cell[column];

	if (value.type == WI_CELL_NONE || (c->type != WI_CELL_NONE && same_cell(c, &value)))
		return true;
	if (c->type != WI_CELL_NONE)
		return wi_err_set(err, WI_EIO, "two documents of one analysis disagree on %s of %s",
				  info->column[column].name, info->table);
	*c = value;
	return true;
}

static struct wi_cell integer(int64_t v)
{
	return (struct wi_cell){ .type = WI_CELL_INTEGER, .integer = v };
}

static bool set_text(struct wi_bundle *b, struct wi_row *row, const char *column, const char *text, size_t len,
		     struct wi_err *err)
{
	struct wi_cell c = { .type = WI_CELL_TEXT, .text = wi_bundle_copy(b, text, len) };

	return c.text ? set(row, wi_part_column(row->part, column), c, err) : wi_err_nomem(err);
}

static bool set_integer(struct wi_row *row, const char *column, int64_t v, struct wi_err *err)
{
	return set(row, wi_part_column(row->part, column), integer(v), err);
}

/* A JSON value as a cell of the column's type; unknown if it is of another type or NULL. */
static struct wi_cell to_cell(struct wi_bundle *b, const json_t *v, enum wi_cell_type type)
{
	struct wi_cell c = { .type = WI_CELL_NONE };

	if (type == WI_CELL_INTEGER && json_is_integer(v))
		c = integer(json_integer_value(v));
	else if (type == WI_CELL_INTEGER && json_is_boolean(v))
		c = integer(json_is_true(v));
	else if (type == WI_CELL_REAL && json_is_number(v))
		c = (struct wi_cell){ .type = WI_CELL_REAL, .real = json_number_value(v) + 0.0 };
	else if (type == WI_CELL_TEXT && json_is_string(v))
		c = (struct wi_cell){ .type = WI_CELL_TEXT,
				      .text = wi_bundle_copy(b, json_string_value(v), json_string_length(v)) };
	return c;
}

/* The columns that are copied. */
static bool copy_columns(struct wi_bundle *b, struct wi_row *row, const json_t *object, struct wi_err *err)
{
	const struct wi_part_info *info = wi_part_info(row->part);

	for (size_t i = 0; i < info->nr; i++) {
		const char *member = info->column[i].member;
		struct wi_cell c = { .type = WI_CELL_NONE };

		if (member)
			c = to_cell(b, below(object, member), info->column[i].type);
		if (c.type == WI_CELL_TEXT && !c.text)
			return wi_err_nomem(err);
		if (!set(row, i, c, err))
			return false;
	}
	return true;
}

static bool add_input(struct wi_bundle *b, const json_t *root, struct wi_err *err)
{
	const json_t *list = json_object_get(root, "input"), *input = json_array_get(list, 0),
		     *damage = json_object_get(input, "damage");
	const char *what = json_string_value(json_object_get(json_array_get(damage, 0), "what"));
	struct wi_row *row;

	if (!input)
		return true;
	if (json_array_size(list) > 1)
		return wi_err_set(err, WI_EREFUSED, "a document of several recordings is no analysis of one");
	row = wi_bundle_row(b, WI_PART_INPUT, NO_COLUMN, NULL, NO_COLUMN, 0, err);
	return row && copy_columns(b, row, input, err) &&
	       set_integer(row, "damage_count", (int64_t)json_array_size(damage), err) &&
	       (!what || set_text(b, row, "damage", what, strlen(what), err));
}

static bool add_quality(struct wi_bundle *b, const json_t *root, struct wi_err *err)
{
	const json_t *repairs = below(root, "quality.repairs");
	struct wi_row *row;
	int64_t sum = 0;
	const char *key;
	json_t *v;

	if (!json_object_get(root, "window") && !json_object_get(root, "quality"))
		return true;
	row = wi_bundle_row(b, WI_PART_QUALITY, NO_COLUMN, NULL, NO_COLUMN, 0, err);
	if (!row || !copy_columns(b, row, root, err))
		return false;
	json_object_foreach((json_t *)repairs, key, v)
	{
		if (json_is_integer(v) && __builtin_add_overflow(sum, json_integer_value(v), &sum))
			return wi_err_set(err, WI_EREFUSED, "more repairs than can be counted");
	}
	return !repairs || set_integer(row, "repairs", sum, err);
}

/* ---- topology ---- */

static json_int_t number(const json_t *object, const char *key)
{
	return json_integer_value(json_object_get(object, key));
}

bool wi_flatten_guessed(const json_t *topology)
{
	const json_t *v;
	size_t i;

	json_array_foreach(json_object_get(topology, "flags"), i,
			   v) if (json_is_string(v) && !strcmp(json_string_value(v), "fallback")) return true;
	return false;
}

/*
 * "8cpu/4core/1llc smt2"; nodes and packages only where there are several. Where nothing told the machine, "8cpu
 * guessed": the groups of the flat guess must not pass for a machine without SMT.
 */
static bool name_topology(struct wi_bundle *b, struct wi_row *row, const json_t *t, struct wi_err *err)
{
	char name[256];
	size_t n;

	if (wi_flatten_guessed(t)) {
		n = (size_t)snprintf(name, sizeof(name), "%lldcpu guessed", (long long)number(t, "nr_online"));
		return set_text(b, row, "name", name, n, err);
	}
	n = (size_t)snprintf(name, sizeof(name), "%lldcpu/%lldcore/%lldllc", (long long)number(t, "nr_online"),
			     (long long)number(t, "nr_cores"), (long long)number(t, "nr_llcs"));
	if (number(t, "nr_nodes") > 1)
		n += (size_t)snprintf(name + n, sizeof(name) - n, "/%lldnode", (long long)number(t, "nr_nodes"));
	if (number(t, "nr_packages") > 1)
		n += (size_t)snprintf(name + n, sizeof(name) - n, "/%lldpackage", (long long)number(t, "nr_packages"));
	if (number(t, "smt") > 1)
		n += (size_t)snprintf(name + n, sizeof(name) - n, " smt%lld", (long long)number(t, "smt"));
	return set_text(b, row, "name", name, n, err);
}

static bool join_flags(struct wi_bundle *b, struct wi_row *row, const json_t *t, struct wi_err *err)
{
	char text[1024] = "";
	size_t n = 0, i;
	const json_t *v;

	json_array_foreach(json_object_get(t, "flags"), i, v)
	{
		const char *flag = json_string_value(v);
		int w = flag ? snprintf(text + n, sizeof(text) - n, "%s%s", n ? "," : "", flag) : 0;

		if (w < 0 || (size_t)w >= sizeof(text) - n)
			return wi_err_set(err, WI_EREFUSED, "the topology's flags are longer than %zu bytes",
					  sizeof(text));
		n += (size_t)w;
	}
	return set_text(b, row, "flags", text, n, err);
}

static bool add_topology(struct wi_bundle *b, const json_t *root, struct wi_err *err)
{
	const json_t *t = json_object_get(root, "topology"), *cpus = json_object_get(t, "cpus");
	struct wi_row *row;
	char *layout;
	bool ok;

	if (!t)
		return true;
	row = wi_bundle_row(b, WI_PART_TOPOLOGY, NO_COLUMN, NULL, NO_COLUMN, 0, err);
	if (!row || !copy_columns(b, row, t, err) || !name_topology(b, row, t, err) || !join_flags(b, row, t, err))
		return false;
	layout = json_dumps(cpus, JSON_COMPACT | JSON_SORT_KEYS);
	if (!layout)
		return cpus ? wi_err_nomem(err) : wi_err_set(err, WI_EREFUSED, "a topology without CPUs");
	ok = set_text(b, row, "layout", layout, strlen(layout), err);
	free(layout);
	return ok;
}

/* ---- models, worst wakeups ---- */

static bool add_models(struct wi_bundle *b, const json_t *root, struct wi_err *err)
{
	size_t label = wi_part_column(WI_PART_MODEL, "model"), i;
	const json_t *list = json_object_get(root, "models"), *m;

	json_array_foreach(list, i, m)
	{
		const char *name = json_string_value(json_object_get(m, "name"));
		struct wi_row *row;

		if (!name)
			return wi_err_set(err, WI_EREFUSED, "a model without a name");
		name = wi_bundle_copy(b, name, strlen(name));
		if (!name)
			return wi_err_nomem(err);
		row = wi_bundle_row(b, WI_PART_MODEL, label, name, NO_COLUMN, 0, err);
		if (!row || !copy_columns(b, row, m, err))
			return false;
	}
	return true;
}

static bool add_worst(struct wi_bundle *b, const json_t *list, const char *kind, struct wi_err *err)
{
	size_t text = wi_part_column(WI_PART_WORST, "kind"), rank = wi_part_column(WI_PART_WORST, "rank"), i;
	const json_t *v;

	json_array_foreach(list, i, v)
	{
		struct wi_row *row = wi_bundle_row(b, WI_PART_WORST, text, kind, rank, (int64_t)i + 1, err);

		if (!row || !copy_columns(b, row, v, err))
			return false;
	}
	return true;
}

bool wi_flatten_rows(struct wi_bundle *b, const json_t *root, struct wi_err *err)
{
	return add_input(b, root, err) && add_quality(b, root, err) && add_topology(b, root, err) &&
	       add_models(b, root, err) && add_worst(b, below(root, "missed_idle.worst"), "missed_idle", err) &&
	       add_worst(b, below(root, "latency.longest"), "latency", err);
}
