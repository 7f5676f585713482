/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analyzer/stats/compare.h"

#include <math.h>
#include <stdlib.h>

double wi_gain(double ratio, enum wi_direction direction)
{
	return direction == WI_LOWER_IS_BETTER ? -ratio : ratio;
}

static bool check_options(struct wi_compare_options *o, struct wi_err *err)
{
	if (!o->resamples)
		o->resamples = WI_RESAMPLES;
	if (o->level == 0)
		o->level = WI_LEVEL;
	if (!o->nr_groups || o->baseline >= o->nr_groups)
		return wi_err_set(err, WI_EUSAGE, "no baseline among %zu groups", o->nr_groups);
	return wi_resamples_check(o->resamples, o->level, err);
}

static bool check_values(const struct wi_compare_metric *m, size_t nr_groups, struct wi_err *err)
{
	for (size_t g = 0; g < nr_groups; g++)
		for (size_t i = 0; i < m->group[g].n; i++)
			if (!(fabs(m->group[g].v[i]) <= WI_VALUE_MAX))
				return wi_err_set(err, WI_EIO, "%s: a value that is no measurement: %g", m->name,
						  m->group[g].v[i]);
	return true;
}

static enum wi_change change_of(const struct wi_boot *b, enum wi_direction direction)
{
	if (b->ratio_in.state != WI_INTERVAL_KNOWN && b->diff_in.state != WI_INTERVAL_KNOWN)
		return WI_CHANGE_UNKNOWN;
	if (!b->significant)
		return WI_CHANGE_NONE;
	if (direction == WI_NO_DIRECTION)
		return WI_CHANGE_OTHER;
	return (b->diff < 0) == (direction == WI_LOWER_IS_BETTER) ? WI_CHANGE_BETTER : WI_CHANGE_WORSE;
}

static const struct wi_against nothing = {
	.boot = { NAN, NAN, { NAN, NAN, WI_INTERVAL_NO_VALUES }, { NAN, NAN, WI_INTERVAL_NO_VALUES }, false },
	.welch = { NAN, NAN, NAN },
	.mwu = { NAN, NAN, false },
	.welch_holm = NAN,
	.mwu_holm = NAN,
};

/* The draws of the baseline serve all other groups. */
static bool fill_row(struct wi_compare_row *row, const struct wi_compare_metric *m, const struct wi_compare_options *o,
		     struct wi_err *err)
{
	struct wi_resamples base = { 0 }, other = { 0 };
	bool ok = check_values(m, o->nr_groups, err) &&
		  wi_resample(&m->group[o->baseline], o->resamples, o->seed, o->baseline, &base, err);

	row->group[o->baseline] = base.of;
	row->against[o->baseline] = nothing;
	for (size_t g = 0; ok && g < o->nr_groups; g++) {
		struct wi_against *x = &row->against[g];
		if (g == o->baseline)
			continue;
		*x = nothing;
		ok = wi_resample(&m->group[g], o->resamples, o->seed, g, &other, err) &&
		     wi_boot_difference(&base, &other, o->level, &x->boot, err) &&
		     wi_mwu(&m->group[o->baseline], &m->group[g], &x->mwu, err);
		row->group[g] = other.of;
		x->welch = wi_welch(&base.of, &other.of);
		x->change = change_of(&x->boot, m->direction);
		wi_resamples_fini(&other);
	}
	wi_resamples_fini(&base);
	return ok;
}

static size_t known(const double *p, size_t n)
{
	size_t nr = 0;

	for (size_t i = 0; i < n; i++)
		nr += !isnan(p[i]);
	return nr;
}

static bool correct(struct wi_comparison *c, struct wi_err *err)
{
	size_t nr_groups = c->options.nr_groups, n = c->nr_rows * nr_groups;
	double *welch = malloc((2 * n + 1) * sizeof(*welch)), *mwu = welch + n;
	bool ok = false;

	if (!welch)
		return wi_err_nomem(err);
	for (size_t i = 0; i < n; i++) {
		const struct wi_against *x = &c->row[i / nr_groups].against[i % nr_groups];
		welch[i] = x->welch.p;
		mwu[i] = x->mwu.p;
	}
	c->welch_family = known(welch, n);
	c->mwu_family = known(mwu, n);
	if (!wi_holm(welch, n, welch, err) || !wi_holm(mwu, n, mwu, err))
		goto out;
	for (size_t i = 0; i < n; i++) {
		struct wi_against *x = &c->row[i / nr_groups].against[i % nr_groups];
		x->welch_holm = welch[i];
		x->mwu_holm = mwu[i];
	}
	ok = true;
out:
	free(welch);
	return ok;
}

struct wi_comparison *wi_compare(const struct wi_compare_metric *metric, size_t nr,
				 const struct wi_compare_options *options, struct wi_err *err)
{
	struct wi_comparison *c = calloc(1, sizeof(*c));

	if (!c) {
		wi_err_nomem(err);
		return NULL;
	}
	c->options = *options;
	c->row = calloc(nr ? nr : 1, sizeof(*c->row));
	if (!c->row) {
		wi_err_nomem(err);
		goto fail;
	}
	if (!check_options(&c->options, err))
		goto fail;
	for (size_t i = 0; i < nr; i++) {
		struct wi_compare_row *row = &c->row[i];
		c->nr_rows++;
		row->name = metric[i].name;
		row->direction = metric[i].direction;
		row->group = calloc(options->nr_groups, sizeof(*row->group));
		row->against = calloc(options->nr_groups, sizeof(*row->against));
		if (!row->group || !row->against) {
			wi_err_nomem(err);
			goto fail;
		}
		if (!fill_row(row, &metric[i], &c->options, err))
			goto fail;
	}
	if (correct(c, err))
		return c;
fail:
	wi_comparison_free(c);
	return NULL;
}

void wi_comparison_free(struct wi_comparison *c)
{
	if (!c)
		return;
	for (size_t i = 0; i < c->nr_rows; i++) {
		free(c->row[i].group);
		free(c->row[i].against);
	}
	free(c->row);
	free(c);
}
