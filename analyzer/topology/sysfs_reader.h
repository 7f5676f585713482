/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Inside analyzer/topology only: what the parts of the sysfs reader share (sysfs.c, sysfs_nodes.c). */
#ifndef WI_TOPOLOGY_SYSFS_READER_H
#define WI_TOPOLOGY_SYSFS_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyzer/topology/filetree.h"
#include "analyzer/topology/raw.h"

#define CPU_DIR "sys/devices/system/cpu/"
#define NODE_DIR "sys/devices/system/node/"

enum cpu_flag { HAS_DIR = 1, HAS_TOPOLOGY = 2, UNDER_NODE = 4 }; /* UNDER_NODE: only nodeN/cpuM/topology is there */

struct reader {
	struct topo_raw *raw;
	const struct wi_filetree *tree;
	struct wi_err *err;
	uint8_t *flag;	    /* by CPU */
	uint32_t *node_dir; /* by CPU: N of the nodeN/cpuM folder it was found in, TOPO_NONE */
	uint32_t *node;	    /* ids of the node folders, ascending */
	uint32_t nr_nodes;
	uint8_t *llc_index, *l2_index, *llc_level; /* by CPU: cacheN/indexI + 1; 0: none */
	/* which files the mask callback looks for, best first */
	const char *const *mask_name;
	bool cache_l2;
	/* the text parsed last: neighbours show the same one */
	const char *last_text;
	size_t last_len;
	bool last_list;
	uint64_t *last_mask;
	uint32_t unreadable; /* files whose contents made no sense */
};

/* A list file as a mask of its own; *mask NULL if the file is not there or makes no sense. False: out of memory. */
bool topo_list_file(struct reader *r, const char *path, uint64_t **mask, uint32_t *words);

/* Sets the bits of a mask of another width that fit. */
void topo_copy_mask(uint64_t *to, uint32_t to_words, const uint64_t *from, uint32_t words);

/* Parses one list or hex mask into out; the same text as last time is not parsed again. False: it makes no sense. */
bool topo_parse_mask(struct reader *r, const char *text, size_t len, bool list, uint64_t *out);

/* Nodes, their distances, isolated CPUs. */
bool topo_find_nodes(struct reader *r);
bool topo_find_distances(struct reader *r);
bool topo_find_isolated(struct reader *r);
void topo_isolated_by_domains(struct topo_raw *raw);

#endif
