/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the machine looks like: any source of topology -> one flat, immutable struct wakeif_topology
 * (models/wakeif_model.h), as the kernel believes it.
 *
 * What is filled, and how (doc/topology.md):
 *  - present: CPUs that the source knows, offline ones included; online: the CPUs that can be idle candidates.
 *  - Scopes nest: core within cluster within LLC within node within machine. A source that says otherwise is repaired
 *    (an LLC, a cluster or a core that crosses a node is cut there; LLCs that one core belongs to are joined) and note
 *    says so.
 *  - Offline CPUs count as members of their groups; wi_topology_nr_online_groups() counts without them.
 *  - CPUs of which nothing is known (offline CPUs have no sysfs topology) are a core each; all of them together are one
 *    LLC and, on a machine with several nodes, one node. No online CPU is in such a group.
 *  - Online CPUs that no node lists form one node per package (node_id -1).
 *  - nodes_distance: 0 = this pair is not known.
 */
#ifndef WI_TOPOLOGY_H
#define WI_TOPOLOGY_H

#include <stdbool.h>
#include <stdint.h>

#include "analyzer/base/err.h"
#include "models/wakeif_model.h"

struct wi_filetree;

/*
 * spec is one of
 *  - "live": this machine; /sys and /proc, with hwloc as a second opinion, or hwloc alone without them
 *  - a folder with sys/ (and proc/) in it, or one folder below
 *  - an archive of such a folder (tar, cpio, zip; gz xz zst bz2): wakeif's own captures, hwloc-gather-topology,
 *    util-linux dumps, SchedViz archives
 *  - an hwloc XML file
 *  - a text of lscpu -p, any columns; also of lscpu -e
 *  - a synthetic string as hwloc's, "pack:2 l3:1 core:4 pu:2", when no such file exists
 *
 * NULL: err set; WI_EIO when the file cannot be read, WI_EREFUSED when it is none of these or holds no CPU.
 */
const struct wakeif_topology *wi_topology_load(const char *spec, struct wi_err *err);

/* Same for a regular file (not a folder) that is open; path is for messages, fd stays the caller's. */
const struct wakeif_topology *wi_topology_load_fd(int fd, const char *path, struct wi_err *err);

/* From files in memory (sysfs paths). source_name becomes topo->source. NULL: err set (WI_EREFUSED: no CPU in it). */
const struct wakeif_topology *wi_topology_from_tree(const struct wi_filetree *tree, const char *source_name,
						    struct wi_err *err);

/* Nothing known but the number of CPUs: no SMT, one LLC, one node; flagged WAKEIF_TOPO_FALLBACK. 1 <= nr_cpus <=
 * WI_FALLBACK_MAX_CPUS, more than any kernel has (NULL, WI_EREFUSED otherwise). */
#define WI_FALLBACK_MAX_CPUS 8192u
const struct wakeif_topology *wi_topology_fallback(uint32_t nr_cpus, struct wi_err *err);

/*
 * True if every CPU of seen (words words, may be wider or narrower than the topology's masks) is present. Else false,
 * err set to WI_EREFUSED: "topology SOURCE lacks CPU 7 seen in trace NAME".
 */
bool wi_topology_check(const struct wakeif_topology *topo, const wakeif_word *seen, uint32_t words,
		       const char *seen_name, struct wi_err *err);

/* Groups of a scope, and packages, that have an online CPU: what a person means by "4 cores". */
uint32_t wi_topology_nr_online_groups(const struct wakeif_topology *topo, enum wakeif_scope scope);
uint32_t wi_topology_nr_online_packages(const struct wakeif_topology *topo);

void wi_topology_free(const struct wakeif_topology *topo); /* NULL is allowed */

#endif
