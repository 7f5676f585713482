/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * wakeif diff, in steps: groups of runs, from an archive or from traces; strata; what is compared in each; gates. Each
 * step fills its part of struct wi_diff_cmd.
 */
#ifndef WI_CMD_DIFF_H
#define WI_CMD_DIFF_H

#include "analyzer/cmd_archive.h"
#include "analyzer/cmd_replay_opts.h"
#include "analyzer/gate.h"
#include "analyzer/report/diff.h"

struct wi_words { /* of an option that may be given several times; lent */
	const char **word;
	size_t nr, room;
};

struct wi_diff_cmd {
	struct wi_replay_cmd r; /* first: it begins with the struct wi_opts of the option groups; of traces */
	struct wi_archive_opts o;
	/* as given */
	struct wi_words files, groups, metrics, hists, by, gates;
	const char *a, *b, *baseline_name;
	bool all, stats;
	/* groups */
	struct wi_store *store;
	bool damaged; /* a trace is */
	struct wi_runs selected;
	struct wi_diff_group *group; /* name is owned */
	size_t nr_groups, baseline;
	struct wi_runs runs; /* those of groups, lent from selected */
	size_t *group_of;    /* [runs.nr] */
	/* what is compared */
	struct wi_texts all_metrics, all_hists;
	struct wi_path_list metric, hist;
	double *value; /* [metric.nr * runs.nr], NAN where unknown */
	/* strata */
	char **key_value;   /* [runs.nr * by.nr], NULL unknown */
	size_t *stratum_of; /* [runs.nr] */
	struct wi_diff_stratum *stratum;
	size_t nr_strata;
	/* verdicts */
	struct wi_gate *gate;
	size_t nr_gates;
	struct wi_diff_verdict *verdict;
	size_t nr_verdicts, nr_failed;
};

bool wi_words_add(struct wi_words *w, const char *word);

/* cmd_diff_groups.c: groups of an archive's runs. */
bool wi_diff_groups(struct wi_diff_cmd *c, struct wi_err *err);
/* Names that a column's title would cut to the same text give way to letters; the head of the report has both. */
bool wi_diff_short_names(struct wi_diff_cmd *c, struct wi_err *err);
void wi_diff_groups_fini(struct wi_diff_cmd *c);

/* cmd_diff_strata.c: what is compared, and the comparisons. */
bool wi_diff_compare(struct wi_diff_cmd *c, struct wi_err *err);
void wi_diff_compare_fini(struct wi_diff_cmd *c);
/* Of other metrics than the table's in a stratum: values of table [nr * runs.nr] */
struct wi_comparison *wi_diff_compare_these(const struct wi_diff_cmd *c, size_t stratum, const char *const *metric,
					    size_t nr, const double *table, uint32_t resamples, struct wi_err *err);

/* cmd_diff_gates.c */
bool wi_diff_gates_parse(struct wi_diff_cmd *c, struct wi_err *err);
bool wi_diff_gates_judge(struct wi_diff_cmd *c, struct wi_err *err);
void wi_diff_gates_fini(struct wi_diff_cmd *c);

/* cmd_diff_traces.c: a group a trace, analysed into an archive in memory. */
bool wi_diff_traces(struct wi_diff_cmd *c, struct wi_err *err);

#endif
