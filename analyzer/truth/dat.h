/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The probe events themselves as truth: a trace.dat, plain or compressed, of kprobes named as in doc/replay.md, turned
 * into the decisions that decisions.tsv would tell. Read with libtracecmd; a decision is joined to the sched_waking of the
 * validated trace that it belongs to, so those are handed in first.
 */
#ifndef WI_TRUTH_DAT_H
#define WI_TRUTH_DAT_H

#include "analyzer/replay/truth.h"
#include "parsers/source.h"

struct wi_truth_dat;

/* Is it a trace.dat, as it is or within a compressed file? false also when it cannot be read. */
bool wi_truth_dat_is(const char *path);

/* NULL: err set (WI_EIO; WI_EREFUSED: no trace.dat, or one without the probe events). */
struct wi_truth_dat *wi_truth_dat_new(const char *path, struct wi_err *err);
void wi_truth_dat_free(struct wi_truth_dat *t);

/* Takes the sched_waking events of the trace; it is read once and rewound. Decisions outside its time are left out. */
bool wi_truth_dat_trace(struct wi_truth_dat *t, struct wi_source *src, struct wi_err *err);

/*
 * Streams for validate, ctx: the struct wi_truth_dat, which must outlive them; one at a time. nodecision: the sched_waking
 * events that no decision of the streams before belonged to. NULL: err set.
 */
struct wi_truth *wi_truth_dat_open(void *ctx, bool nodecision, struct wi_err *err);

#endif
