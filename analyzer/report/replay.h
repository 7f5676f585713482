/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Results of a replay -> bytes (doc/replay.md). The same names stand in text, JSON (.models[], .replay) and CSV. */
#ifndef WI_REPORT_REPLAY_H
#define WI_REPORT_REPLAY_H

#include "analyzer/replay/results.h"
#include "analyzer/report/report.h"

struct wi_replay_report { /* all borrowed */
	const struct wi_report *rep;
	const struct wi_replay_results *r;
	const char *notes; /* lines of what the reader should know; "" none */
	const char *sync;  /* --sync as in effect */
	bool verbose;	   /* text: rules and searches of every model, not only of the kernel's */
	bool hist;	   /* compare: a histogram of estimated waits for every policy; JSON: buckets */
};

/* Agreement, reasons, missed idle, waits, moves, searches: a table each, a row a model. */
bool wi_replay_text(FILE *out, const struct wi_replay_report *p, struct wi_err *err);
/* What was replayed, notes. */
void wi_replay_text_head(FILE *out, const struct wi_replay_report *p);
/* Metrics x policies, with the differences to what happened and to the model of the recording's kernel. */
bool wi_replay_text_compare(FILE *out, const struct wi_replay_report *p, struct wi_err *err);

/* Members .replay and .models[] of the object that is open. */
void wi_replay_json(struct wi_json *j, const struct wi_replay_report *p);
/* Members .search and .wake_affine.verdict of the model of the recording's kernel; nothing if it was not run. */
void wi_replay_json_search(struct wi_json *j, const struct wi_replay_results *r);
void wi_replay_json_affine(struct wi_json *j, const struct wi_replay_results *r);

/* One row a model, every number of it a column. */
void wi_replay_csv(FILE *out, const struct wi_replay_report *p);

/* The row of the model of the recording's kernel; NULL: it was not run. */
const struct wi_model_results *wi_replay_kernel_row(const struct wi_replay_results *r);

#endif
