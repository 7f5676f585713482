/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The simulation's part of a bundle: the command simulate itself runs, and its document is read. */
#ifndef WI_BUNDLE_SIMULATE_H
#define WI_BUNDLE_SIMULATE_H

#include "analyzer/session_bundle.h"

#define WI_TAG_NOT_SIMULATED "not_simulated" /* tag of traces that simulate refuses: the reason */

/* Standard output is used on the way, and is lost. */
bool wi_bundle_simulate(const struct wi_bundle_wanted *w, const char *path, struct wi_bundle *b, struct wi_err *err);

#endif
