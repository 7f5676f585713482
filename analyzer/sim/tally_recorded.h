/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A tally of a recording: an observer of its timeline. Times count from the window's start. */
#ifndef WI_SIM_TALLY_RECORDED_H
#define WI_SIM_TALLY_RECORDED_H

#include "analyzer/sim/tally.h"
#include "analyzer/timeline/timeline.h"

struct wi_tally_recorded;

struct wi_tally_recorded *wi_tally_recorded_new(const struct wi_tally_opts *opts, struct wi_err *err);
const struct wi_timeline_observer *wi_tally_recorded_observer(struct wi_tally_recorded *r); /* borrowed */
void wi_tally_recorded_bind(struct wi_tally_recorded *r, struct wi_timeline *tl);
bool wi_tally_recorded_finish(struct wi_tally_recorded *r, struct wi_tally_result *out, struct wi_err *err);
void wi_tally_recorded_free(struct wi_tally_recorded *r);

#endif
