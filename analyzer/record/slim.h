/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef WI_RECORD_SLIM_H
#define WI_RECORD_SLIM_H

#include "analyzer/base/err.h"
#include "analyzer/topology/filetree.h"

/*
 * A copy of a captured machine (analyzer/topology/capture.h) without what markers need not carry: of proc/schedstat the
 * counters go (CPUs, domains and their spans stay), of proc/cpuinfo all but the identity of the first CPU if sysfs
 * describes the CPUs. The caller owns it. NULL: err set.
 */
struct wi_filetree *wi_machine_slim(const struct wi_filetree *t, struct wi_err *err);

#endif
