/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef WI_RECORD_MACHINE_H
#define WI_RECORD_MACHINE_H

#include <stdbool.h>

#include "analyzer/base/err.h"
#include "analyzer/topology/filetree.h"

/*
 * Everything wakeif wants to know of the machine below root ("/" = this one): the files that wi_filetree_wants() and
 * the table "tasks". Kernels that show their scheduling domains only in verbose mode are switched to it for the moment,
 * if that is allowed. False: err set.
 */
bool wi_machine_capture(struct wi_filetree *t, const char *root, struct wi_err *err);

/*
 * A copy without what markers need not carry: of proc/schedstat the counters go (CPUs, domains and their spans stay),
 * of proc/cpuinfo all but the identity of the first CPU if sysfs describes the CPUs. The caller owns it. NULL: err set.
 */
struct wi_filetree *wi_machine_slim(const struct wi_filetree *t, struct wi_err *err);

#endif
