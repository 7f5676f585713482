/* SPDX-License-Identifier: GPL-2.0-or-later */
/* wakeif trend: metrics of an archive's runs over the values of a key. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/cmd_archive.h"
#include "analyzer/report/trend.h"

enum { KEY_METRIC = 0x800, KEY_BY };

struct trend_cmd {
	struct wi_archive_opts o; /* first: the option groups' */
	const char *db, *by;
	const char **pattern;
	size_t nr_patterns;
	/* found */
	struct wi_store *store;
	struct wi_runs runs;
	struct wi_texts all;
	struct wi_path_list metric;
	char **value;  /* [runs.nr], NULL unknown */
	size_t *order; /* [runs.nr]: runs by value */
	size_t *first; /* [nr_points + 1]: places in order */
	size_t nr_points;
	struct wi_trend_series *series;
};

static const struct argp_option options[] = {
	{ "metric", KEY_METRIC, "PATH", 0, "this metric, by its JSON path; * and ? match; may be given again", 0 },
	{ "by", KEY_BY, "KEY", 0, "a line for each value of this key: day, kernel, or any tag", 0 },
	{ 0 },
};

static bool add_pattern(struct trend_cmd *c, const char *pattern)
{
	const char **more = realloc(c->pattern, (c->nr_patterns + 1) * sizeof(*more));

	if (!more)
		return false;
	c->pattern = more;
	c->pattern[c->nr_patterns++] = pattern;
	return true;
}

static void require_all(const struct trend_cmd *c, struct argp_state *state)
{
	if (!c->db)
		argp_error(state, "no database is named");
	if (!c->nr_patterns)
		argp_error(state, "--metric is missing");
	if (!c->by)
		argp_error(state, "--by is missing");
}

static error_t own_key(int key, char *arg, struct argp_state *state)
{
	struct trend_cmd *c = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		for (size_t i = 0; i < 3; i++)
			state->child_inputs[i] = &c->o;
		return 0;
	case KEY_METRIC:
		if (!add_pattern(c, arg))
			argp_failure(state, WI_EIO, 0, "out of memory");
		return 0;
	case KEY_BY:
		c->by = arg;
		return 0;
	case ARGP_KEY_ARG:
		if (c->db)
			argp_error(state, "one database at a time: '%s'", arg);
		c->db = arg;
		return 0;
	case ARGP_KEY_END:
		require_all(c, state);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp_child children[] = {
	{ &wi_argp_archive_runs, 0, "Runs:", 1 },
	{ &wi_argp_archive_stats, 0, "Statistics:", 2 },
	{ &wi_argp_archive_out, 0, "Output:", 3 },
	{ 0 },
};

/* ---- points ---- */

struct in_order {
	const char *value;
	size_t run;
};

static int by_value(const void *va, const void *vb)
{
	const struct in_order *a = va, *b = vb;
	int order = wi_archive_compare(a->value, b->value);

	return order ? order : a->run < b->run ? -1 : a->run > b->run;
}

static bool read_keys(struct trend_cmd *c, struct in_order *sorted, struct wi_err *err)
{
	bool ok = true;

	for (size_t i = 0; ok && i < c->runs.nr; i++) {
		c->value[i] = wi_archive_value(&c->runs.run[i], c->by, &ok);
		sorted[i] = (struct in_order){ c->value[i], i };
	}
	return ok || wi_err_nomem(err);
}

static bool find_points(struct trend_cmd *c, struct wi_err *err)
{
	struct in_order *sorted = calloc(c->runs.nr + 1, sizeof(*sorted));
	bool ok;

	c->value = calloc(c->runs.nr + 1, sizeof(*c->value));
	c->order = calloc(c->runs.nr + 1, sizeof(*c->order));
	c->first = calloc(c->runs.nr + 1, sizeof(*c->first));
	ok = sorted && c->value && c->order && c->first ? read_keys(c, sorted, err) : wi_err_nomem(err);
	if (ok)
		qsort(sorted, c->runs.nr, sizeof(*sorted), by_value);
	for (size_t i = 0; ok && i < c->runs.nr; i++) {
		if (!i || wi_archive_compare(sorted[i - 1].value, sorted[i].value))
			c->first[c->nr_points++] = i;
		c->order[i] = sorted[i].run;
	}
	if (ok)
		c->first[c->nr_points] = c->runs.nr;
	free(sorted);
	return ok;
}

static bool find_metrics(struct trend_cmd *c, struct wi_err *err)
{
	if (!wi_select_metrics(c->store, &c->runs, NULL, &c->all, err))
		return false;
	for (size_t i = 0; i < c->nr_patterns; i++)
		if (!wi_archive_match(&c->all, c->pattern[i], &c->metric, err))
			return err->code ? false
					 : wi_archive_no_metric(c->store, "--metric", c->pattern[i], false, err);
	return true;
}

/* ---- numbers ---- */

/* The change to the last point that has values; *before is that point's resamples and becomes this one's. */
static bool measure_point(const struct trend_cmd *c, size_t i, const double *value, double *room,
			  struct wi_resamples *before, struct wi_trend_point *p, struct wi_err *err)
{
	uint32_t resamples = c->o.resamples ? c->o.resamples : WI_RESAMPLES;
	struct wi_sample sample = { room, 0, 0 };
	struct wi_resamples now = { 0 };

	p->value = c->value[c->order[c->first[i]]];
	p->nr_runs = c->first[i + 1] - c->first[i];
	for (size_t k = c->first[i]; k < c->first[i + 1]; k++) {
		double v = value[c->order[k]];

		if (!isnan(v))
			room[sample.n++] = v;
		else if (c->runs.run[c->order[k]].status <= WI_RUN_DAMAGED)
			sample.nr_unknown++;
	}
	p->of = wi_describe(&sample);
	if (!sample.n)
		return true;
	if (!wi_resample(&sample, resamples, c->o.seed, i, &now, err))
		return false;
	p->has_previous = before->of.n > 0 && p->value; /* runs of an unknown day follow no other day */
	if (p->has_previous && !wi_boot_difference(before, &now, 0.95, &p->change, err)) {
		wi_resamples_fini(&now);
		return false;
	}
	wi_resamples_fini(before);
	*before = now;
	return true;
}

static bool measure_series(const struct trend_cmd *c, const double *value, struct wi_trend_point *point,
			   struct wi_err *err)
{
	double *room = calloc(c->runs.nr + 1, sizeof(*room));
	struct wi_resamples before = { 0 };
	bool ok = room || wi_err_nomem(err);

	for (size_t i = 0; ok && i < c->nr_points; i++)
		ok = measure_point(c, i, value, room, &before, &point[i], err);
	wi_resamples_fini(&before);
	free(room);
	return ok;
}

static bool measure(struct trend_cmd *c, struct wi_err *err)
{
	const struct wi_texts paths = { c->metric.path, c->metric.nr };
	double *value = calloc(c->metric.nr * c->runs.nr + 1, sizeof(*value));
	bool ok;

	c->series = calloc(c->metric.nr + 1, sizeof(*c->series));
	ok = value && c->series ? wi_select_table(c->store, &c->runs, &paths, value, err) : wi_err_nomem(err);
	for (size_t m = 0; ok && m < c->metric.nr; m++) {
		struct wi_trend_point *point = calloc(c->nr_points + 1, sizeof(*point));

		c->series[m] = (struct wi_trend_series){ .metric = c->metric.path[m], .point = point };
		wi_catalog_find(c->metric.path[m], &c->series[m].info);
		c->series[m].nr = c->nr_points;
		ok = point ? measure_series(c, value + m * c->runs.nr, point, err) : wi_err_nomem(err);
	}
	free(value);
	return ok;
}

static bool print(const struct trend_cmd *c, struct wi_err *err)
{
	const struct wi_trend_report report = {
		.version = WAKEIF_VERSION,
		.source = c->db,
		.by = c->by,
		.series = c->series,
		.nr_series = c->metric.nr,
		.resamples = c->o.resamples ? c->o.resamples : WI_RESAMPLES,
		.seed = c->o.seed,
	};
	FILE *out = wi_out_open(c->o.out, err);
	bool ok;

	if (!out)
		return false;
	ok = c->o.format == WI_ARCHIVE_JSON  ? wi_trend_json(out, &report, err)
	     : c->o.format == WI_ARCHIVE_CSV ? wi_trend_csv(out, &report, err)
					     : wi_trend_text(out, &report, err);
	return wi_out_close(out, c->o.out, err) && ok;
}

static void fini(struct trend_cmd *c)
{
	for (size_t m = 0; c->series && m < c->metric.nr; m++)
		free((struct wi_trend_point *)c->series[m].point);
	free(c->series);
	for (size_t i = 0; c->value && i < c->runs.nr; i++)
		free(c->value[i]);
	free(c->value);
	free(c->order);
	free(c->first);
	free(c->pattern);
	wi_path_list_fini(&c->metric);
	wi_texts_fini(&c->all);
	wi_runs_fini(&c->runs);
}

int wi_cmd_trend(int argc, char **argv)
{
	const struct argp argp = {
		options,
		own_key,
		"DB --metric PATH --by KEY",
		"A metric of an archive's runs over the values of a key, each with the change to the one before.\v"
		"doc/archives.md has examples.",
		children,
		NULL,
		NULL
	};
	struct trend_cmd c = { .db = NULL };
	struct wi_err err = { 0 };
	bool ok;

	argp_parse(&argp, argc, argv, ARGP_NO_HELP, NULL, &c);
	c.store = wi_store_open(c.db, WI_STORE_READ, &err);
	ok = c.store && wi_archive_select(c.store, c.db, &c.o, &c.runs, &err) && wi_archive_once(&c.runs, &err) &&
	     find_points(&c, &err) && find_metrics(&c, &err) && measure(&c, &err) && print(&c, &err);
	fini(&c);
	ok = wi_store_close(c.store, &err) && ok;
	return ok ? WI_OK : wi_cmd_fail(&err);
}
