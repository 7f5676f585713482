/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Facts of the recorded machine that ride along with its topology and that reports and models want: kernel, command
 * line, scheduler features and settings. What the files do not say is "" or -1: unknown, never a default.
 */
#ifndef WI_TOPOLOGY_SYSINFO_H
#define WI_TOPOLOGY_SYSINFO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyzer/base/err.h"

struct wi_filetree;

/* One setting: "base_slice_ns" = "2800000"; names as under sys/kernel/debug/sched/ or proc/sys/kernel/. */
struct wi_setting {
	const char *name;
	const char *value; /* first line, without blanks at its ends */
};

struct wi_sysinfo {
	const char *release;	/* "6.1.0-57-amd64"; "" unknown */
	const char *version;	/* /proc/version, one line */
	const char *cmdline;	/* kernel command line */
	const char *features;	/* "GENTLE_FAIR_SLEEPERS START_DEBIT NO_NEXT_BUDDY ..." in the kernel's order */
	const char *preempt;	/* "none", "voluntary", "full", "lazy" as in effect */
	const char *smt;	/* smt/control: "on", "off", "forceoff", "notsupported" */
	uint32_t kernel;	/* WI_KERNEL(), 0 unknown */
	bool x86, amd_zen;	/* known to be; false = no or not known */
	int32_t numa_balancing; /* value of the sysctl */
	int32_t autogroup;
	int32_t hz;			   /* tick frequency, worked out from jiffies and uptime */
	const struct wi_setting *settings; /* every scheduler setting found, sorted by name */
	uint32_t nr_settings;
};

/* NULL: err set (out of memory). Free with wi_sysinfo_free. */
const struct wi_sysinfo *wi_sysinfo_from_tree(const struct wi_filetree *tree, struct wi_err *err);
void wi_sysinfo_free(const struct wi_sysinfo *info); /* NULL is allowed */

/* 1: the feature is on, 0: off, -1: not known ("SIS_UTIL"; NO_SIS_UTIL in the list means off). */
int wi_sysinfo_feature(const struct wi_sysinfo *info, const char *feature);

/* Value of a setting; NULL if it was not recorded. */
const char *wi_sysinfo_setting(const struct wi_sysinfo *info, const char *name);

#endif
