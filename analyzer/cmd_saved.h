/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Commands that take a saved workload in place of a trace. */
#ifndef WI_CMD_SAVED_H
#define WI_CMD_SAVED_H

#include "analyzer/base/json.h"
#include "analyzer/cmd_workload.h"
#include "analyzer/sim/saved.h"

/* c's file is one: read. Options that say how a trace is to be read are refused. wi_saved_fini() in any case. */
bool wi_cmd_saved_open(const struct wi_workload_cmd *c, struct wi_saved *s, struct wi_err *err);
void wi_cmd_saved_headline(FILE *out, const struct wi_opts *o, const struct wi_workload *w);
/* The report of a trace, without what only the trace knows: input, topology and a command's members. */
void wi_cmd_saved_json(FILE *out, const struct wi_opts *o, const struct wi_workload *w,
		       void (*members)(struct wi_json *j, const void *ctx), const void *ctx);

#endif
