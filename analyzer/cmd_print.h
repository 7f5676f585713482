/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The frame that the commands which analyse a trace share: analyse, print, tell what was wrong, exit status. */
#ifndef WI_CMD_PRINT_H
#define WI_CMD_PRINT_H

#include "analyzer/session.h"

/* Opens and analyses, unless *err is set already. Returns err->code. s is to be ended in any case. */
int wi_session_start(struct wi_session *s, const struct wi_opts *o, const struct wi_metrics_opts *wanted,
		     struct wi_err *err);

/* Writes to -o or standard output. false: err set. */
bool wi_session_print(struct wi_session *s,
		      bool (*write)(FILE *out, const struct wi_report *rep, const void *ctx, struct wi_err *err),
		      const void *ctx, struct wi_err *err);

/* Notes what deserves it, prints the error or the damage and closes the session; returns the exit status. */
int wi_session_end(struct wi_session *s, struct wi_err *err);

/* "FILE: 2.13 s from 259.888 to 262.018, 99 % of CPU time known" and the filter, for commands that print one table. */
void wi_cmd_headline(FILE *out, const struct wi_report *rep);

#endif
