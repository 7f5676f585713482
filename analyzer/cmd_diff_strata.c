/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is compared: metrics and histograms by their names, runs by the values of --by. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/cmd_diff.h"

/* ---- names ---- */

static bool match_words(struct wi_diff_cmd *c, const struct wi_words *words, const char *option, bool hists,
			struct wi_path_list *list, struct wi_err *err)
{
	const struct wi_texts *all = hists ? &c->all_hists : &c->all_metrics;

	for (size_t i = 0; i < words->nr; i++)
		if (!wi_archive_match(all, words->word[i], list, err))
			return err->code ? false : wi_archive_no_metric(c->store, option, words->word[i], hists, err);
	return true;
}

/* Without --metric: what users of mmtests look at first, as far as these runs have it. */
static bool default_metrics(struct wi_diff_cmd *c, struct wi_err *err)
{
	size_t nr;
	const char *const *headline = wi_catalog_headline(&nr);

	for (size_t i = 0; i < nr; i++) {
		wi_archive_match(&c->all_metrics, headline[i], &c->metric, err);
		if (err->code)
			return false;
	}
	return true;
}

static bool find_names(struct wi_diff_cmd *c, struct wi_err *err)
{
	if (!wi_select_metrics(c->store, &c->runs, NULL, &c->all_metrics, err) ||
	    !wi_select_hists(c->store, &c->runs, NULL, &c->all_hists, err))
		return false;
	if (c->all) {
		wi_archive_match(&c->all_metrics, "*", &c->metric, err);
		if (err->code)
			return false;
	} else if (c->metrics.nr) {
		if (!match_words(c, &c->metrics, "--metric", false, &c->metric, err))
			return false;
	} else if (!default_metrics(c, err)) {
		return false;
	}
	return match_words(c, &c->hists, "--histogram", true, &c->hist, err);
}

/* All values in one pass over the database. */
static double *read_values(const struct wi_diff_cmd *c, const char **metric, size_t nr, struct wi_err *err)
{
	double *value = calloc(nr * c->runs.nr + 1, sizeof(*value));
	const struct wi_texts paths = { metric, nr };

	if (!value) {
		wi_err_nomem(err);
		return NULL;
	}
	if (nr && !wi_select_table(c->store, &c->runs, &paths, value, err)) {
		free(value);
		return NULL;
	}
	return value;
}

/* ---- strata ---- */

static bool read_keys(struct wi_diff_cmd *c, struct wi_err *err)
{
	bool ok = true;

	c->key_value = calloc(c->runs.nr * c->by.nr + 1, sizeof(*c->key_value));
	if (!c->key_value)
		return wi_err_nomem(err);
	for (size_t i = 0; ok && i < c->runs.nr; i++)
		for (size_t k = 0; ok && k < c->by.nr; k++)
			c->key_value[i * c->by.nr + k] = wi_archive_value(&c->runs.run[i], c->by.word[k], &ok);
	return ok || wi_err_nomem(err);
}

struct in_order {
	size_t run;
	char *const *value; /* [nr_by] */
	size_t nr_by;
};

static int compare_keys(char *const *a, char *const *b, size_t nr)
{
	for (size_t k = 0; k < nr; k++) {
		int order = wi_archive_compare(a[k], b[k]);

		if (order)
			return order;
	}
	return 0;
}

static int by_keys(const void *va, const void *vb)
{
	const struct in_order *a = va, *b = vb;
	int order = compare_keys(a->value, b->value, a->nr_by);

	return order ? order : a->run < b->run ? -1 : a->run > b->run;
}

static bool add_stratum(struct wi_diff_cmd *c, char *const *value, struct wi_err *err)
{
	struct wi_diff_stratum *more = realloc(c->stratum, (c->nr_strata + 1) * sizeof(*more));
	size_t *nr_runs = calloc(c->nr_groups, sizeof(*nr_runs));

	if (more)
		c->stratum = more;
	if (!more || !nr_runs) {
		free(nr_runs);
		return wi_err_nomem(err);
	}
	c->stratum[c->nr_strata++] =
		(struct wi_diff_stratum){ .value = (const char *const *)value, .nr_runs = nr_runs };
	return true;
}

/* Runs of equal values become a stratum; strata stand in the order of their values, the unknown last. */
static bool find_strata(struct wi_diff_cmd *c, struct wi_err *err)
{
	struct in_order *order = calloc(c->runs.nr + 1, sizeof(*order));
	bool ok;

	c->stratum_of = calloc(c->runs.nr + 1, sizeof(*c->stratum_of));
	ok = order && c->stratum_of ? read_keys(c, err) : wi_err_nomem(err);
	for (size_t i = 0; ok && i < c->runs.nr; i++)
		order[i] = (struct in_order){ i, c->key_value + i * c->by.nr, c->by.nr };
	if (ok)
		qsort(order, c->runs.nr, sizeof(*order), by_keys);
	for (size_t i = 0; ok && i < c->runs.nr; i++) {
		if (!i || compare_keys(order[i - 1].value, order[i].value, c->by.nr))
			ok = add_stratum(c, order[i].value, err);
		if (!ok)
			break;
		c->stratum_of[order[i].run] = c->nr_strata - 1;
		((size_t *)c->stratum[c->nr_strata - 1].nr_runs)[c->group_of[order[i].run]]++;
	}
	free(order);
	return ok;
}

static bool lacks_a_group(const struct wi_diff_cmd *c, const struct wi_diff_stratum *s)
{
	for (size_t g = 0; g < c->nr_groups; g++)
		if (!s->nr_runs[g])
			return true;
	return false;
}

/* ---- comparisons ---- */

/* Known values of a group in a stratum go to v; returns the sample. */
static struct wi_sample sample_of(const struct wi_diff_cmd *c, size_t stratum, size_t group, const double *value,
				  double *v)
{
	struct wi_sample s = { v, 0, 0 };

	for (size_t i = 0; i < c->runs.nr; i++) {
		if (c->stratum_of[i] != stratum || c->group_of[i] != group)
			continue;
		if (!isnan(value[i]))
			v[s.n++] = value[i];
		else if (c->runs.run[i].status <= WI_RUN_DAMAGED) /* runs without any results are told apart */
			s.nr_unknown++;
	}
	return s;
}

struct wi_comparison *wi_diff_compare_these(const struct wi_diff_cmd *c, size_t stratum, const char *const *metric,
					    size_t nr, const double *table, uint32_t resamples, struct wi_err *err)
{
	const struct wi_compare_options options = { c->nr_groups, c->baseline, resamples, c->o.seed, 0 };
	struct wi_compare_metric *m = calloc(nr + 1, sizeof(*m));
	struct wi_sample *sample = calloc(nr * c->nr_groups + 1, sizeof(*sample));
	double *v = calloc(nr * c->runs.nr + 1, sizeof(*v));
	struct wi_comparison *found = NULL;
	size_t used = 0;

	if (!m || !sample || !v)
		wi_err_nomem(err);
	for (size_t i = 0; !err->code && i < nr; i++) {
		struct wi_metric_info info;

		wi_catalog_find(metric[i], &info);
		m[i] = (struct wi_compare_metric){ metric[i], info.direction, sample + i * c->nr_groups };
		for (size_t g = 0; g < c->nr_groups; g++) {
			struct wi_sample *s = &sample[i * c->nr_groups + g];

			*s = sample_of(c, stratum, g, table + i * c->runs.nr, v + used);
			used += s->n;
		}
	}
	if (!err->code)
		found = wi_compare(m, nr, &options, err);
	free(v);
	free(sample);
	free(m);
	return found;
}

static const char **units_of(const struct wi_diff_cmd *c)
{
	const char **unit = calloc(c->metric.nr + 1, sizeof(*unit));

	for (size_t i = 0; unit && i < c->metric.nr; i++) {
		struct wi_metric_info info;

		wi_catalog_find(c->metric.path[i], &info);
		unit[i] = info.unit;
	}
	return unit;
}

/* ---- histograms ---- */

/* Each run's histogram, group by group. */
static bool read_hists(struct wi_diff_cmd *c, size_t stratum, const char *path, struct wi_hist *hist,
		       const struct wi_hist **of, struct wi_hist_group *group, struct wi_err *err)
{
	size_t nr = 0;

	for (size_t g = 0; g < c->nr_groups; g++) {
		group[g].run = of + nr;
		for (size_t i = 0; i < c->runs.nr; i++) {
			bool found;

			if (c->stratum_of[i] != stratum || c->group_of[i] != g)
				continue;
			if (!wi_select_hist(c->store, &c->runs.run[i], path, &hist[nr], &found, err))
				return false;
			if (!found)
				continue; /* not measured is not empty */
			of[nr] = &hist[nr];
			nr++;
			group[g].nr_runs++;
		}
	}
	return true;
}

static struct wi_quantile_table *compare_hists(struct wi_diff_cmd *c, size_t stratum, const char *path,
					       struct wi_err *err)
{
	struct wi_hist *hist = calloc(c->runs.nr + 1, sizeof(*hist));
	const struct wi_hist **of = calloc(c->runs.nr + 1, sizeof(*of));
	struct wi_hist_group *group = calloc(c->nr_groups, sizeof(*group));
	struct wi_quantile_table *table = NULL;

	if (!hist || !of || !group)
		wi_err_nomem(err);
	else if (read_hists(c, stratum, path, hist, of, group, err))
		table = wi_quantiles(group, c->nr_groups, c->baseline, c->o.resamples, c->o.seed, 0, err);
	for (size_t i = 0; hist && i < c->runs.nr; i++)
		wi_hist_fini(&hist[i]);
	free(hist);
	free(of);
	free(group);
	return table;
}

static bool add_hists(struct wi_diff_cmd *c, size_t stratum, struct wi_err *err)
{
	struct wi_diff_hist *list = calloc(c->hist.nr + 1, sizeof(*list));

	if (!list)
		return wi_err_nomem(err);
	c->stratum[stratum].hist = list;
	for (size_t i = 0; i < c->hist.nr; i++) {
		list[i] = (struct wi_diff_hist){ c->hist.path[i], compare_hists(c, stratum, c->hist.path[i], err) };
		if (!list[i].table)
			return false;
		c->stratum[stratum].nr_hists++;
	}
	return true;
}

bool wi_diff_compare(struct wi_diff_cmd *c, struct wi_err *err)
{
	if (!find_names(c, err) || !find_strata(c, err))
		return false;
	c->value = read_values(c, c->metric.path, c->metric.nr, err);
	if (!c->value)
		return false;
	for (size_t i = 0; i < c->nr_strata; i++) {
		struct wi_diff_stratum *s = &c->stratum[i];

		if (lacks_a_group(c, s))
			continue;
		s->unit = units_of(c);
		if (!s->unit)
			return wi_err_nomem(err);
		s->comparison =
			wi_diff_compare_these(c, i, c->metric.path, c->metric.nr, c->value, c->o.resamples, err);
		if (!s->comparison || !add_hists(c, i, err))
			return false;
	}
	return true;
}

static void stratum_fini(struct wi_diff_stratum *s)
{
	for (size_t i = 0; i < s->nr_hists; i++)
		wi_quantile_table_free((struct wi_quantile_table *)s->hist[i].table);
	free((struct wi_diff_hist *)s->hist);
	wi_comparison_free((struct wi_comparison *)s->comparison);
	free((const char **)s->unit);
	free((size_t *)s->nr_runs);
}

void wi_diff_compare_fini(struct wi_diff_cmd *c)
{
	for (size_t i = 0; i < c->nr_strata; i++)
		stratum_fini(&c->stratum[i]);
	free(c->stratum);
	free(c->stratum_of);
	for (size_t i = 0; c->key_value && i < c->runs.nr * c->by.nr; i++)
		free(c->key_value[i]);
	free(c->key_value);
	free(c->value);
	wi_path_list_fini(&c->metric);
	wi_path_list_fini(&c->hist);
	wi_texts_fini(&c->all_metrics);
	wi_texts_fini(&c->all_hists);
}
