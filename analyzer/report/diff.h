/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Comparisons of groups of runs -> bytes (doc/archives.md): tables as mmtests prints them for people, JSON, CSV and
 * Markdown with all that is known. Writers compute nothing but what mmtests' percentages are made of.
 */
#ifndef WI_REPORT_DIFF_H
#define WI_REPORT_DIFF_H

#include "analyzer/base/json.h"
#include "analyzer/stats/compare.h"
#include "analyzer/stats/quantiles.h"
#include "analyzer/store/select.h"

struct wi_diff_group {
	const char *name;     /* heads its columns */
	const char *selector; /* what chose its runs: a selector, or a trace's path */
	size_t nr_runs;	      /* all of them */
	size_t nr_status[WI_NR_RUN_STATUSES];
	size_t nr_guessed; /* of whose machine nothing is known: their figures about siblings and LLCs tell nothing */
};

struct wi_diff_hist {
	const char *path;
	const struct wi_quantile_table *table;
};

/* Runs that have the same values of the keys of --by; the only one if there are no keys. */
struct wi_diff_stratum {
	const char *const *value;		/* [nr_by]; NULL: these runs tell no value */
	const size_t *nr_runs;			/* [nr_groups] */
	const struct wi_comparison *comparison; /* NULL: not all groups have runs here */
	const char *const *unit;		/* of each row of the comparison */
	const struct wi_diff_hist *hist;
	size_t nr_hists;
};

enum wi_diff_passed { WI_DIFF_FAILED, WI_DIFF_PASSED, WI_DIFF_UNJUDGED };

/* What a gate said of a group in a stratum. */
struct wi_diff_verdict {
	const char *gate;   /* the expression */
	const char *metric; /* the one that decided it; NULL: none matched */
	size_t stratum;	    /* (size_t)-1: of the whole comparison */
	size_t group;	    /* (size_t)-1: of all of them */
	size_t nr_metrics;  /* judged: the one above is the worst of them */
	enum wi_diff_passed passed;
	const char *found; /* in words */
};

struct wi_diff_report { /* all borrowed */
	const char *version;
	const char *source; /* the database; NULL: traces */
	const struct wi_diff_group *group;
	size_t nr_groups, baseline;
	const char *const *by;
	size_t nr_by;
	const struct wi_diff_stratum *stratum;
	size_t nr_strata;
	const struct wi_diff_verdict *verdict;
	size_t nr_verdicts;
	uint32_t resamples;
	uint64_t seed;
	bool stats;	  /* text: with the table of intervals and p values */
	bool nanoseconds; /* text: durations of quantiles in ns */
};

bool wi_diff_text(FILE *out, const struct wi_diff_report *r, struct wi_err *err);
bool wi_diff_markdown(FILE *out, const struct wi_diff_report *r, struct wi_err *err);
bool wi_diff_json(FILE *out, const struct wi_diff_report *r, struct wi_err *err);
bool wi_diff_csv(FILE *out, const struct wi_diff_report *r, struct wi_err *err);

/* Shared by these writers. */
const char *wi_diff_change_name(enum wi_change change);	     /* "better", ... */
const char *wi_diff_passed_name(enum wi_diff_passed passed); /* "passed", ... */
/* "workload=hackbench, kernel=6.1": allocated, escaped for terminals; "" without keys. NULL: out of memory. */
char *wi_diff_stratum_name(const struct wi_diff_report *r, const struct wi_diff_stratum *s);
/* A line a verdict, each behind prefix. */
bool wi_diff_verdicts(FILE *out, const struct wi_diff_report *r, const char *prefix, struct wi_err *err);
/* The table of --stats of a comparison. */
bool wi_diff_text_stats(FILE *out, const struct wi_diff_report *r, const struct wi_comparison *c, struct wi_err *err);
/* "0.0123", "<.0001", "-" */
const char *wi_diff_fmt_p(char *out, size_t size, double p);

#endif
