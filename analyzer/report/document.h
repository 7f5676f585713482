/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the JSON documents share: how they begin, how a histogram is written (doc/json.md). */
#ifndef WI_REPORT_DOCUMENT_H
#define WI_REPORT_DOCUMENT_H

#include "analyzer/base/hist.h"
#include "analyzer/base/json.h"

/* Opens the object of a document and tells its schema and the program's version; the caller ends the object. */
void wi_document_begin(struct wi_json *j, FILE *out, const char *version);

/* Member "histogram": [lower_ns, width_ns, count] of each bucket that is not empty, rising. */
void wi_document_histogram(struct wi_json *j, const struct wi_hist *h);

#endif
