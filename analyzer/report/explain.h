/* SPDX-License-Identifier: GPL-2.0-or-later */
/* wakeif explain: one wakeup after another, step by step, as text or JSON. */
#ifndef WI_REPORT_EXPLAIN_H
#define WI_REPORT_EXPLAIN_H

#include "analyzer/base/names.h"
#include "analyzer/replay/explain.h"
#include "analyzer/report/report.h"

struct wi_explain_report {
	const struct wi_report *rep;
	const struct wi_explained *x;
	size_t nr;
	const struct wi_replay_results *r; /* model i's label is that of its row i + 1 */
	const struct wi_names *names;
	const char *notes; /* wi_session_replay_notes() */
};

bool wi_explain_text(FILE *out, const struct wi_explain_report *p, struct wi_err *err);
/* Adds the member "explain" to the report. */
void wi_explain_json(struct wi_json *j, const struct wi_explain_report *p);

#endif
