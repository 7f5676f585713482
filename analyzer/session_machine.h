/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where the description of the traced machine comes from. Topology: --topology, else a file beside the trace, else the
 * markers in it, else a flat fallback. Tasks: markers, then the topology's capture, then the file beside the trace,
 * then --tasks; a later one replaces what an earlier one said of a task.
 */
#ifndef WI_SESSION_MACHINE_H
#define WI_SESSION_MACHINE_H

#include "analyzer/cmd.h"
#include "analyzer/timeline/timeline.h"
#include "models/wakeif_model.h"

struct wi_tasks;
struct wi_filetree;

struct wi_machine {
	const struct wakeif_topology *topology;
	struct wi_tasks *tasks;
	struct wi_task_fact *facts; /* of tasks, in the topology's width; borrows from tasks */
	size_t nr_facts;
	wakeif_word *masks; /* of the facts */
	char release[64];   /* kernel release of the described machine; "" unknown */
};

/*
 * Finds topology and tasks for the trace in o. markers: tree of the trace's markers or NULL. seen: CPUs that the trace
 * shows (words words); nr_cpus: highest CPU number that a record names + 1, for the fallback; told: number of CPUs that
 * the file itself counts, 0 unknown. false: err set; WI_EREFUSED when the topology lacks a CPU of the trace, or none is
 * known and the CPU numbers are absurd (doc/topology.md).
 */
bool wi_machine_find(struct wi_machine *m, const struct wi_opts *o, const struct wi_filetree *markers,
		     const wakeif_word *seen, uint32_t words, uint32_t nr_cpus, uint32_t told,
		     struct wi_err *err);
void wi_machine_fini(struct wi_machine *m);

/* Adds facts, sorted by pid; what they say of a task replaces what was known. Their masks and names are borrowed. */
bool wi_machine_add_facts(struct wi_machine *m, const struct wi_task_fact *more, size_t nr, struct wi_err *err);

/*
 * The file or folder beside the trace that tells its machine's topology, its tasks: one that carries the trace's name,
 * else the one that --beside names. NULL: none. The caller frees it.
 */
char *wi_side_topology(const struct wi_opts *o, const char *trace);
char *wi_side_tasks(const struct wi_opts *o, const char *trace);

/* "web.dat.zst" -> "web.topology.tar.gz" and the like, where such a file exists; NULL: none. The caller frees it. */
char *wi_side_file(const char *trace, const char *const *suffixes);

#endif
