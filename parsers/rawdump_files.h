/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Raw ring-buffer dumps as they lie in a directory or a tar: one file a CPU (cpuN, *.cpuN, cpuN/trace_pipe_raw) beside
 * the event formats (SYSTEM/EVENT/format, header_page, header_event) and, if there, saved_cmdlines, trace_clock, uname
 * and per_cpu/cpuN/stats. Internal to the raw-dump reader.
 */
#ifndef WI_RAWDUMP_FILES_H
#define WI_RAWDUMP_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyzer/base/err.h"

struct wi_raw_cpu {
	uint32_t cpu;
	int fd;		 /* own, or -1: in the spool */
	uint64_t offset; /* in that file */
	uint64_t bytes;
	bool cut; /* the tar ends inside this file */
	char *path;
};

struct wi_raw_format {
	char *system;
	char *path;
	char *text;
	size_t len;
};

struct wi_raw_stat {
	uint32_t cpu;
	char *text;
};

struct wi_raw_files {
	const char *path; /* of the whole, for messages */
	struct wi_raw_cpu *cpu;
	uint32_t nr_cpus, cap_cpus;
	struct wi_raw_format *format;
	uint32_t nr_formats, cap_formats;
	struct wi_raw_stat *stat;
	uint32_t nr_stats, cap_stats;
	char *header_page, *header_event, *cmdlines, *clock, *uname;
	size_t cmdlines_len;
	int spool; /* -1: none */
	uint64_t spool_bytes, max_spool;
	uint64_t files_seen;
	char damage[128]; /* not "": the tar is damaged behind the files that were found */
};

/* Zeroed f with path and max_spool set and spool -1. false: err set; wi_raw_files_fini either way. */
bool wi_raw_files_dir(struct wi_raw_files *f, int dir_fd, struct wi_err *err);
bool wi_raw_files_tar(struct wi_raw_files *f, int fd, struct wi_err *err);
void wi_raw_files_fini(struct wi_raw_files *f);

#endif
