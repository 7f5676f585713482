/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What an archive holds -> bytes. For people what went wrong comes first, for programs the order is that of hashes. */
#ifndef WI_REPORT_RUNS_H
#define WI_REPORT_RUNS_H

#include <stdio.h>

#include "analyzer/store/select.h"

struct wi_runs_report {	     /* all borrowed */
	const char *version; /* of this program */
	const char *source;
	const struct wi_runs *runs;
	bool verbose; /* text: with whole hashes, all paths, what failed ones wrote on stderr */
};

bool wi_runs_text(FILE *out, const struct wi_runs_report *r, struct wi_err *err);
bool wi_runs_json(FILE *out, const struct wi_runs_report *r, struct wi_err *err);
bool wi_runs_csv(FILE *out, const struct wi_runs_report *r, struct wi_err *err);

#endif
