/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Results -> bytes. Writers print what the metrics found; they derive shares, percentiles and rates from exact sums and
 * compute nothing else. The same names stand in text, JSON (doc/json.md) and CSV.
 */
#ifndef WI_REPORT_H
#define WI_REPORT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "analyzer/base/err.h"
#include "analyzer/base/json.h"
#include "analyzer/metrics/results.h"
#include "analyzer/report/table.h"
#include "parsers/event.h"
#include "parsers/source.h"

/* Everything that a report is made of; all borrowed. */
struct wi_report {
	const struct wi_results *results;
	const struct wakeif_topology *topology;
	const struct wi_source_info *info;
	const struct wi_survey *survey;
	const char *version;	   /* of this program */
	const char *filter;	   /* the filter in effect in words; "" none */
	const char *note;	   /* what the reader should know of how the input was found; "" nothing */
	bool preempted_known;	   /* some switch tells preemption from blocking */
	bool has_facts;		   /* affinity and policy of tasks came with the trace or from a side file */
	bool maybe_delayed_known;  /* the kernel is one that delays dequeues (6.12+) */
	uint32_t kernel_version;   /* WI_KERNEL(); 0 unknown */
	bool quiet_unknown;	   /* --quiet-cpus=unknown */
	bool facts_only;	   /* nothing was measured: the results hold the window and the quality alone */
	bool nanoseconds, verbose; /* -t, -v */
	uint32_t worst;		   /* --worst: rows of the lists of waits in text; 0: the writer's choice */
	bool histograms;	   /* JSON: the buckets of every latency, not only of the parts */
	/* JSON: what a command adds at the end of .wake_affine; may be NULL. */
	void (*affine_members)(struct wi_json *j, const void *ctx);
	const void *affine_ctx;
	/* JSON: what a command adds at the end of the report; may be NULL. */
	void (*members)(struct wi_json *j, const void *ctx);
	const void *members_ctx;
};

/* Parts of a report; the head (input, window, quality, events, topology) belongs to every one. */
enum wi_report_section {
	WI_SECTION_WAKEUPS = 1 << 0,
	WI_SECTION_LATENCY = 1 << 1,
	WI_SECTION_MISSED = 1 << 2,
	WI_SECTION_WASTE = 1 << 3,
	WI_SECTION_SMT = 1 << 4,
	WI_SECTION_AFFINE = 1 << 5,
	WI_SECTION_IDLE = 1 << 6,
	WI_SECTION_MIGRATIONS = 1 << 7,
	WI_SECTION_TASKS = 1 << 8,
	WI_SECTION_ALL = (1 << 9) - 1
};

/* Rows of the lists in JSON, and in text; CSV has all that the results kept. */
#define WI_REPORT_LATENCY_TASKS 50
#define WI_REPORT_PAIRS 50
#define WI_REPORT_COOKIES 50
#define WI_REPORT_SMT_TASKS 50
#define WI_REPORT_TASKS 100
#define WI_REPORT_TEXT_ROWS 10

/* One JSON object of the given sections. */
bool wi_report_json(FILE *out, const struct wi_report *rep, uint32_t sections, struct wi_err *err);
/* Its parts, for what commands add: a latency object L, and an object of counts by distance. */
void wi_report_json_latency(struct wi_json *j, const char *key, const struct wi_hist *h, bool buckets);
void wi_report_json_distances(struct wi_json *j, const char *key, const uint64_t n[WI_NR_DISTANCES],
			      enum wi_distance first);

/* The whole report for people: facts, verdict, then tables. */
bool wi_report_text(FILE *out, const struct wi_report *rep, struct wi_err *err);
/* Its parts, for the commands that show one. */
bool wi_report_text_head(FILE *out, const struct wi_report *rep, struct wi_err *err);
void wi_report_text_verdict(FILE *out, const struct wi_report *rep);
bool wi_report_text_latency(FILE *out, const struct wi_report *rep, struct wi_err *err);
bool wi_report_text_missed(FILE *out, const struct wi_report *rep, struct wi_err *err);
bool wi_report_text_smt(FILE *out, const struct wi_report *rep, size_t max_rows, struct wi_err *err);
bool wi_report_text_affine(FILE *out, const struct wi_report *rep, struct wi_err *err);
/* Histogram with one bar a power of two. */
void wi_report_text_hist(FILE *out, const struct wi_hist *h, unsigned int indent);

/* "4-7": online CPUs never seen to run a task in the window; NULL: out of memory; freed by the caller. */
char *wi_report_unused_cpus(const struct wi_results *r);
/* Can it be told which? */
static inline bool wi_report_unused_known(const struct wi_results *r)
{
	return r->quality.types & WI_EV_BIT(SCHED_SWITCH);
}

/* The CSV tables: names in the order of the report; NULL behind the last. */
const char *wi_report_csv_name(size_t i);
bool wi_report_csv_exists(const char *name);
/* One table with its header line. false: err set, also when there is no table of that name (WI_EUSAGE). */
bool wi_report_csv(FILE *out, const struct wi_report *rep, const char *name, struct wi_err *err);

#endif
