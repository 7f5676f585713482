/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a workload holds -> bytes (doc/workload.md). */
#ifndef WI_REPORT_WORKLOAD_H
#define WI_REPORT_WORKLOAD_H

#include "analyzer/report/report.h"
#include "analyzer/workload/workload.h"

/* verbose: a line a task as well. */
bool wi_workload_text(FILE *out, const struct wi_workload *w, bool verbose, struct wi_err *err);
/* Member .workload of the object that is open; ctx: struct wi_workload. */
void wi_workload_json(struct wi_json *j, const struct wi_workload *w);

/* What a replay of it can hardly be right about, a line each; "" nothing. size: of text. */
void wi_workload_doubts(const struct wi_workload *w, char *text, size_t size);

#endif
