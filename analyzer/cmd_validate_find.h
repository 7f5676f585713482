/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What belongs to one recording that is to be validated. A trace X.dat has its truth beside it, as X.decisions.tsv or
 * X.truth.dat, plain or .zst. A folder holds trace.dat, decisions.tsv or truth.dat, and what there is of
 * topology.tar.gz, tasks.before and tasks.during.
 */
#ifndef WI_CMD_VALIDATE_FIND_H
#define WI_CMD_VALIDATE_FIND_H

#include <stddef.h>

#include "analyzer/base/err.h"

struct wi_recording {
	char *trace;
	char *truth;	  /* NULL: none was found */
	char *nodecision; /* of a truth that is a table; NULL: none was found */
	char *topology;	  /* of a folder; NULL: none, or no folder */
	char *tasks[2];	  /* of a folder, in the order in which they were taken */
	size_t nr_tasks;
};

/* truth: the user's, NULL: what is beside the trace. false: out of memory. */
bool wi_recording_find(struct wi_recording *r, const char *path, const char *truth, struct wi_err *err);
void wi_recording_fini(struct wi_recording *r);

#endif
