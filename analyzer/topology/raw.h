/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Inside analyzer/topology only: what a source says, before it is checked, repaired and laid out flat by
 * topo_build(). A source fills labels: two CPUs are in the same core (cluster, ...) when they have the same label.
 */
#ifndef WI_TOPOLOGY_RAW_H
#define WI_TOPOLOGY_RAW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyzer/base/cpumask.h"
#include "analyzer/base/err.h"
#include "models/wakeif_model.h"

#define TOPO_NONE UINT32_MAX	   /* label: not known */
#define TOPO_MAX_LABEL 0x40000000u /* labels that a source gives are below */

enum topo_part { TOPO_CORE, TOPO_CLUSTER, TOPO_LLC, TOPO_NODE, TOPO_PACKAGE, TOPO_NR_PARTS };

/* A scheduling domain as read from the kernel. */
struct topo_read_domain {
	char name[16];	/* "" unknown */
	uint32_t flags; /* enum wakeif_domain_flag */
	bool flags_known;
	uint32_t imbalance_pct; /* 0 unknown */
	uint64_t *span;		/* nr_words, allocated or shared with the same level of the CPU before; NULL unknown */
	bool span_owned;
};

#define TOPO_MAX_DOMAINS 12u /* the kernel has at most 4 levels and one a NUMA distance */

struct topo_read_cpu {
	uint32_t nr;
	struct topo_read_domain *domain; /* TOPO_MAX_DOMAINS when nr > 0 */
};

struct topo_raw {
	uint32_t nr_cpus, nr_words;
	uint64_t *present, *online, *isolated;
	uint32_t *label[TOPO_NR_PARTS];
	int32_t *core_id, *package_id, *node_id; /* as the source numbers them, -1 unknown */
	uint32_t *capacity;
	bool has_cache_info;
	uint32_t flags; /* enum wakeif_topology_flag found by the source */

	uint32_t nr_dist; /* distance matrix between the nodes dist_node[]: row major; 0 entries unknown */
	int32_t *dist_node;
	uint32_t *dist;

	/* What decides how this kernel builds its domains. 0 = not known: as the newest. */
	uint32_t kernel; /* WI_KERNEL() */
	bool x86;
	uint32_t reclaim_distance; /* node_reclaim_distance */

	/* Domains of the kernel itself, by CPU; NULL: the source has none. */
	struct topo_read_cpu *read;
	bool read_spans; /* the spans are the kernel's own (schedstat) */

	char *note;
	size_t note_len;
	uint32_t nr_notes;
};

/* All arrays for nr_cpus CPUs (1 .. WI_MAX_CPUS), labels TOPO_NONE, ids -1, capacity 1024. False: err set. */
bool topo_raw_init(struct topo_raw *raw, uint32_t nr_cpus, struct wi_err *err);
void topo_raw_fini(struct topo_raw *raw);

/* Appends one remark; the first TOPO_MAX_NOTES are kept, the others counted. */
#define TOPO_MAX_NOTES 20u
void topo_note(struct topo_raw *raw, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Domain lists of CPU cpu, to be filled; allocates raw->read on first use. NULL: out of memory or too deep. */
struct topo_read_domain *topo_read_domain(struct topo_raw *raw, uint32_t cpu, uint32_t level);

/* Checks, repairs, numbers and lays out. source is copied. NULL: err set. */
const struct wakeif_topology *topo_build(struct topo_raw *raw, const char *source, struct wi_err *err);

/* The sources. Each fills raw (initialised by itself; the caller calls topo_raw_fini in any case). */
struct wi_filetree;
bool topo_from_sysfs(struct topo_raw *raw, const struct wi_filetree *tree, struct wi_err *err);
bool topo_from_lscpu(struct topo_raw *raw, const char *text, size_t len, const char *name, struct wi_err *err);
bool topo_from_synthetic(struct topo_raw *raw, const char *spec, struct wi_err *err);
bool topo_from_xml(struct topo_raw *raw, const char *xml, size_t len, const char *name, struct wi_err *err);
/* The same in this process, which hwloc may take down. */
bool topo_from_synthetic_here(struct topo_raw *raw, const char *spec, size_t len, const char *name, struct wi_err *err);
bool topo_from_xml_here(struct topo_raw *raw, const char *xml, size_t len, const char *name, struct wi_err *err);
bool topo_from_hwloc_live(struct topo_raw *raw, struct wi_err *err);

/* Kernel's domains from debugfs, /proc/sys/kernel/sched_domain and /proc/schedstat into raw->read (none: left NULL). */
bool topo_read_domains(struct topo_raw *raw, const struct wi_filetree *tree, struct wi_err *err);

#endif
