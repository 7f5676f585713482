/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What batch tells while it works, and at its end. */
#ifndef WI_BATCH_TELL_H
#define WI_BATCH_TELL_H

#include <stdio.h>

#include "analyzer/batch/batch.h"

struct wi_batch_tell {
	bool quiet, verbose;
	bool terminal; /* one line that is written over; else a line now and then */
	bool shown;    /* there is such a line */
	uint64_t start_ns, told_ns;
};

void wi_batch_tell_init(struct wi_batch_tell *t, bool quiet, bool verbose);

/* Events of the batch; ctx is a struct wi_batch_tell. */
void wi_batch_tell_trace(void *ctx, const char *path, enum wi_run_status status, const char *what, const char *why);
void wi_batch_tell_note(void *ctx, const char *text);
void wi_batch_tell_progress(void *ctx, const struct wi_discover_count *found, const struct wi_batch_count *done);
/* And of the search. */
void wi_batch_tell_finding(void *ctx, const char *path, enum wi_finding finding, const char *why);

void wi_batch_tell_end(struct wi_batch_tell *t); /* takes the line away */

/* What became of everything that was found; the numbers of each line add up to its first. */
void wi_batch_summary(FILE *out, const struct wi_discover_count *found, const struct wi_batch_count *done);

#endif
