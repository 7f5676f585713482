/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a sched trace does not carry of the tasks: policy, nice, affinity, cgroup, autogroup. Read from a text with one
 * task a line and tabs between the columns; the first line names the columns, in any order:
 *
 * "tid pid comm prio nice policy rtprio cpu allowed cgroup autogroup"
 *
 * Columns that are missing, and cells that are empty or "-", are unknown; other columns are ignored. pid is the thread
 * group. policy is a number or a name (OTHER FIFO RR BATCH IDLE DEADLINE, also as ps prints them), allowed a CPU list.
 * In comm, cgroup and autogroup \t, \n and \\ stand for tab, newline and backslash.
 */
#ifndef WI_TOPOLOGY_TASKS_H
#define WI_TOPOLOGY_TASKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyzer/base/err.h"
#include "models/wakeif_model.h"

#define WI_NICE_UNKNOWN INT32_MIN

struct wi_filetree;

struct wi_task_entry {
	int32_t tid;
	int32_t tgid;			       /* -1 unknown */
	int32_t nice;			       /* -20..19; WI_NICE_UNKNOWN */
	int32_t rtprio;			       /* 1..99, 0 = none; -1 unknown */
	int32_t cpu;			       /* where it was when the list was made; -1 unknown */
	uint8_t policy;			       /* enum wakeif_policy, 7 = sched_ext */
	uint32_t allowed_words;		       /* width of allowed */
	const wakeif_word *allowed;	       /* NULL unknown */
	const char *comm, *cgroup, *autogroup; /* "" unknown */
};

struct wi_tasks {
	uint32_t nr;
	const struct wi_task_entry *task; /* ascending by tid, one a tid */
};

/*
 * Adds the tasks of a file (WI_EIO if it cannot be read) or of a text in memory to *tasks (start with NULL). A tid that
 * is there already is replaced: the last one wins. A damaged line: false, err (WI_EREFUSED) names file and line, *tasks
 * unchanged.
 */
bool wi_tasks_add_file(struct wi_tasks **tasks, const char *path, struct wi_err *err);
bool wi_tasks_add_text(struct wi_tasks **tasks, const char *name, const char *text, size_t len, struct wi_err *err);

/* The files "tasks" and "tasks.*" of a tree, in this order (tasks.before, then tasks.during). None: true, *tasks as it
 * was. */
bool wi_tasks_add_tree(struct wi_tasks **tasks, const struct wi_filetree *tree, const char *source_name,
		       struct wi_err *err);

const struct wi_task_entry *wi_tasks_find(const struct wi_tasks *tasks, int32_t tid); /* tasks may be NULL; NULL: not there */
void wi_tasks_free(struct wi_tasks *tasks);					/* NULL is allowed */

#endif
