/* SPDX-License-Identifier: GPL-2.0-or-later */
/* --fail-if: each gate, judged in each stratum for each group against the baseline. What cannot be judged fails. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/cmd_diff.h"

#define NOBODY ((size_t)-1)

bool wi_diff_gates_parse(struct wi_diff_cmd *c, struct wi_err *err)
{
	c->gate = calloc(c->gates.nr + 1, sizeof(*c->gate));
	if (!c->gate)
		return wi_err_nomem(err);
	for (size_t i = 0; i < c->gates.nr; i++) {
		if (!wi_gate_parse(&c->gate[i], c->gates.word[i], err))
			return false;
		c->nr_gates++;
	}
	return true;
}

static bool add_verdict(struct wi_diff_cmd *c, struct wi_diff_verdict v, const char *found, struct wi_err *err)
{
	struct wi_diff_verdict *more = realloc(c->verdict, (c->nr_verdicts + 1) * sizeof(*more));
	char *text = strdup(found);

	if (more)
		c->verdict = more;
	if (!more || !text) {
		free(text);
		return wi_err_nomem(err);
	}
	v.found = text;
	c->nr_failed += v.passed != WI_DIFF_PASSED;
	c->verdict[c->nr_verdicts++] = v;
	return true;
}

static enum wi_diff_passed passed(enum wi_gate_verdict v)
{
	return v == WI_GATE_PASSED ? WI_DIFF_PASSED : v == WI_GATE_FAILED ? WI_DIFF_FAILED : WI_DIFF_UNJUDGED;
}

static struct wi_gate_case case_of(const struct wi_diff_cmd *c, const struct wi_compare_row *row, size_t g)
{
	const struct wi_boot *b = &row->against[g].boot;
	enum wi_tristate excludes = b->significant ? WI_YES
				    : b->ratio_in.state == WI_INTERVAL_KNOWN || b->diff_in.state == WI_INTERVAL_KNOWN
					    ? WI_NO
					    : WI_UNKNOWN;

	return (struct wi_gate_case){ row->group[c->baseline].mean, row->group[g].mean, excludes };
}

/* Failed is worse than not judged (which says less), both are worse than passed; then what is farther beyond. */
static bool is_worse(const struct wi_gate_judgement *a, const struct wi_gate_judgement *b)
{
	static const int rank[] = { [WI_GATE_PASSED] = 0, [WI_GATE_UNJUDGED] = 1, [WI_GATE_FAILED] = 2 };

	if (a->verdict != b->verdict)
		return rank[a->verdict] > rank[b->verdict];
	return a->beyond > b->beyond;
}

static bool judge_group(struct wi_diff_cmd *c, const struct wi_gate *gate, const struct wi_comparison *of,
			size_t stratum, size_t g, struct wi_err *err)
{
	struct wi_diff_verdict v = { .gate = gate->text, .stratum = stratum, .group = g, .nr_metrics = of->nr_rows };
	struct wi_gate_judgement worst = { 0 };

	for (size_t i = 0; i < of->nr_rows; i++) {
		struct wi_gate_case at = case_of(c, &of->row[i], g);
		struct wi_gate_judgement now;

		wi_gate_judge(gate, &at, &now);
		if (i && !is_worse(&now, &worst))
			continue;
		worst = now;
		v.metric = of->row[i].name;
	}
	v.passed = passed(worst.verdict);
	return add_verdict(c, v, worst.text, err);
}

/* A stratum in which a group has no runs. */
static bool lacking(struct wi_diff_cmd *c, const struct wi_gate *gate, size_t stratum, struct wi_err *err)
{
	const struct wi_diff_stratum *s = &c->stratum[stratum];
	char text[256];

	for (size_t g = 0; g < c->nr_groups; g++) {
		if (s->nr_runs[g])
			continue;
		snprintf(text, sizeof(text), "no runs of %s", c->group[g].name);
		return add_verdict(
			c,
			(struct wi_diff_verdict){
				.gate = gate->text, .stratum = stratum, .group = NOBODY, .passed = WI_DIFF_UNJUDGED },
			text, err);
	}
	return true;
}

static bool judge_stratum(struct wi_diff_cmd *c, const struct wi_gate *gate, const struct wi_path_list *metrics,
			  const double *value, size_t stratum, struct wi_err *err)
{
	/* Only the word "significant" asks for intervals. */
	uint32_t resamples = gate->significant ? c->o.resamples : WI_RESAMPLES_MIN;
	struct wi_comparison *of;
	bool ok = true;

	if (!c->stratum[stratum].comparison)
		return lacking(c, gate, stratum, err);
	of = wi_diff_compare_these(c, stratum, metrics->path, metrics->nr, value, resamples, err);
	for (size_t g = 0; of && ok && g < c->nr_groups; g++)
		ok = g == c->baseline || judge_group(c, gate, of, stratum, g, err);
	wi_comparison_free(of);
	return of && ok;
}

/* A metric that nobody measured, or that does not exist: the difference is told, both fail. */
static bool absent(struct wi_diff_cmd *c, const struct wi_gate *gate, struct wi_err *err)
{
	struct wi_err why = { 0 };

	wi_archive_no_metric(c->store, "absent", gate->path, false, &why);
	return add_verdict(c,
			   (struct wi_diff_verdict){
				   .gate = gate->text, .stratum = NOBODY, .group = NOBODY, .passed = WI_DIFF_UNJUDGED },
			   why.msg, err);
}

static bool judge(struct wi_diff_cmd *c, const struct wi_gate *gate, struct wi_err *err)
{
	struct wi_path_list metrics = { 0 };
	size_t nr = wi_archive_match(&c->all_metrics, gate->path, &metrics, err);
	const struct wi_texts paths = { metrics.path, metrics.nr };
	double *value = calloc(metrics.nr * c->runs.nr + 1, sizeof(*value));
	bool ok = value || wi_err_nomem(err);

	if (ok && !err->code && !nr)
		ok = absent(c, gate, err);
	else if (ok && !err->code) {
		ok = wi_select_table(c->store, &c->runs, &paths, value, err);
		for (size_t s = 0; ok && s < c->nr_strata; s++)
			ok = judge_stratum(c, gate, &metrics, value, s, err);
	}
	free(value);
	wi_path_list_fini(&metrics);
	return ok && !err->code;
}

bool wi_diff_gates_judge(struct wi_diff_cmd *c, struct wi_err *err)
{
	for (size_t i = 0; i < c->nr_gates; i++)
		if (!judge(c, &c->gate[i], err))
			return false;
	return true;
}

void wi_diff_gates_fini(struct wi_diff_cmd *c)
{
	for (size_t i = 0; i < c->nr_gates; i++)
		wi_gate_fini(&c->gate[i]);
	free(c->gate);
	for (size_t i = 0; i < c->nr_verdicts; i++)
		free((char *)c->verdict[i].found);
	free(c->verdict);
}
