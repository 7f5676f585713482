/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Hand-made machines for the topology tests, and what came out of them as text. All functions fail the running test on
 * error. */
#ifndef TOPO_FIXTURE_H
#define TOPO_FIXTURE_H

#include <stdbool.h>
#include <stddef.h>

#include "analyzer/topology/filetree.h"
#include "analyzer/topology/topology.h"

/* How CPU numbers run: thread t of core k (of all cores of the machine, nr_cores in all, threads each). */
enum tf_numbering {
	TF_ADJACENT, /* 0,1 are siblings */
	TF_HALVES,   /* k and k + nr_cores are siblings */
};

/* A regular machine as a sysfs tree. Zero counts mean 1. */
struct tf_machine {
	unsigned packages, nodes_per_package, llcs_per_node, cores_per_llc, threads;
	enum tf_numbering numbering;
	bool no_nodes, no_caches, hex_only; /* hex_only: masks instead of lists */
	bool id_in_l3;			    /* cache/index3/id */
};

struct wi_filetree *tf_machine_tree(const struct tf_machine *m);

/* Adds or replaces files: lines "PATH=CONTENT"; "cpuN/..." stands for sys/devices/system/cpu/cpuN/..., "node/..." and
 * "cpu/..." likewise. */
void tf_put(struct wi_filetree *t, const char *lines);

/* A copy without the files whose (shortened as above) path begins with prefix. Frees t. */
struct wi_filetree *tf_without(struct wi_filetree *t, const char *prefix);

/* Builds, checks the invariants, and frees the tree. */
const struct wakeif_topology *tf_build(struct wi_filetree *t);

/* wi_topology_load that must succeed, invariants checked. */
const struct wakeif_topology *tf_load(const char *spec);

/* Every promise of struct wakeif_topology. */
void tf_invariants(const struct wakeif_topology *t);

/* "{0-1} {2-3}": the groups of a scope. Static buffer, valid until the next call. */
const char *tf_groups(const struct wakeif_topology *t, enum wakeif_scope scope);
const char *tf_packages(const struct wakeif_topology *t);
const char *tf_list(const struct wakeif_topology *t, const wakeif_word *mask);

/* "SMT[0-1] MC[0-7]" and "SMT[0-1]:2:NEWIDLE|EXEC|...:110 ..." */
const char *tf_domains(const struct wakeif_topology *t, unsigned cpu);
const char *tf_domains_full(const struct wakeif_topology *t, unsigned cpu);

/* Path of a file of the shared test inputs, NULL when it is not there (the caller skips). Static buffer. */
const char *tf_shared(const char *name);

#endif
