/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef WI_RECORD_TASKS_H
#define WI_RECORD_TASKS_H

#include <stdbool.h>

#include "analyzer/base/err.h"
#include "analyzer/topology/filetree.h"

/* First line of the tasks table; a line a thread follows. */
#define WI_TASKS_HEADER "tid\tpid\tcomm\tprio\tnice\tpolicy\trtprio\tcpu\tallowed\tcgroup\tautogroup\n"

/*
 * Adds the file "tasks": all threads of the machine as the folder proc ("/proc") shows them, in the order of pid, then
 * tid. prio, nice, policy, rtprio and cpu are the numbers of /proc/PID/stat; allowed is a CPU list. A control
 * character in a name is written as '?'. Threads that end meanwhile are left out. False: err set.
 */
bool wi_tasks_capture(struct wi_filetree *t, const char *proc, struct wi_err *err);

#endif
