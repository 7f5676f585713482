/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Cells of Markdown tables (GitHub's). */
#ifndef WI_REPORT_MARKDOWN_H
#define WI_REPORT_MARKDOWN_H

#include <stdio.h>

#include "analyzer/base/direction.h"
#include "analyzer/stats/bootstrap.h"

/* A text that shall read as it is: what Markdown takes for marks is escaped, what a terminal would obey as well. */
void wi_md_text(FILE *out, const char *text);
/* "[-1.20%, 3.40%]" of a relative difference, positive is better; "unknown: too few values". */
const char *wi_md_interval(char *out, size_t size, const struct wi_interval *ratio, enum wi_direction direction);

#endif
