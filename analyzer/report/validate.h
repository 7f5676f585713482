/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Agreement with recorded truth -> bytes (doc/replay.md, "Validation"). */
#ifndef WI_REPORT_VALIDATE_H
#define WI_REPORT_VALIDATE_H

#include "analyzer/replay/validate.h"
#include "analyzer/report/report.h"

struct wi_validate_report { /* all borrowed */
	const struct wi_report *rep;
	const struct wi_validate_results *v;
	const char *model, *sync; /* what was asked, and --sync as in effect */
	const char *notes;	  /* lines of what the reader should know; "" none */
};

bool wi_validate_text(FILE *out, const struct wi_validate_report *p, struct wi_err *err);
void wi_validate_json(struct wi_json *j, const struct wi_validate_report *p); /* member .validate of the open object */
void wi_validate_csv(FILE *out, const struct wi_validate_report *p);	      /* one line a figure: group, name, cases, agree, tagged, tagged_agree */

/* Their parts, for results that are of several recordings. */
bool wi_validate_text_tables(FILE *out, const struct wi_validate_results *v, const char *model, const char *sync, struct wi_err *err);
void wi_validate_json_object(struct wi_json *j, const struct wi_validate_results *v, const char *model, const char *sync);
#define WI_VALIDATE_CSV_COLUMNS "group,name,cases,agree,tagged,tagged_agree"
/* recording and kernel: two fields in front of each line; NULL: without them. */
void wi_validate_csv_lines(struct wi_csv *c, const struct wi_validate_results *v, const char *model, const char *recording, const char *kernel);

#endif
