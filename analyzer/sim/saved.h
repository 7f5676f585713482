/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A saved workload: one file that outlives its trace, with the machine and the tally of the recording, so that a
 * self-replay can be judged without it. Format: doc/workload.md.
 */
#ifndef WI_SIM_SAVED_H
#define WI_SIM_SAVED_H

#include <stdio.h>

#include "analyzer/base/bytes.h"
#include "analyzer/sim/tally.h"
#include "analyzer/workload/workload.h"

struct wi_saved {
	struct wi_workload *workload; /* with a topology of its own */
	struct wi_tally_result recorded;
};

/* The contents alone, not packed. recorded: by the workload's machine. */
void wi_saved_put(const struct wi_workload *w, const struct wi_tally_result *recorded, struct wi_bytes_out *out);
/* As bytes, ready to be written. false: err set. out->at is the caller's to free, in any case. */
bool wi_saved_pack(const struct wi_workload *w, const struct wi_tally_result *recorded, struct wi_bytes_out *out,
		   struct wi_err *err);
/* Replaces a file when it is complete; writes into what is none (a pipe, a device). */
bool wi_saved_write(const struct wi_workload *w, const struct wi_tally_result *recorded, const char *path,
		    struct wi_err *err);

/* Nothing in a file is trusted. false: err set with `name` and offset; wi_saved_fini() is right in any case. */
bool wi_saved_unpack(struct wi_saved *s, const void *bytes, size_t nr, const char *name, struct wi_err *err);
bool wi_saved_read(struct wi_saved *s, const char *path, struct wi_err *err);
/* Of the contents alone; offsets are those in them. */
bool wi_saved_contents(struct wi_saved *s, const void *bytes, size_t nr, const char *name, struct wi_err *err);
void wi_saved_fini(struct wi_saved *s);

bool wi_saved_is(const char *path); /* a regular file that begins as a saved workload does */

#endif
