/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The machine as wakeif believes it to be, for people and programs. */
#ifndef WI_REPORT_TOPOLOGY_H
#define WI_REPORT_TOPOLOGY_H

#include <stdbool.h>
#include <stdio.h>

#include "analyzer/base/err.h"
#include "analyzer/base/json.h"
#include "analyzer/report/table.h"
#include "models/wakeif_model.h"

/* One line: "16 CPUs, 8 cores x 2 threads, 2 LLCs, 2 nodes, 2 packages; llc_size 8". */
bool wi_report_topology_line(FILE *out, const struct wakeif_topology *t, struct wi_err *err);
/* Packages, nodes, LLCs, cores and CPUs as a picture; domains; source and notes. verbose: the domains of every CPU. */
bool wi_report_topology_text(FILE *out, const struct wakeif_topology *t, bool verbose, struct wi_err *err);
void wi_report_topology_json(struct wi_json *j, const char *key, const struct wakeif_topology *t);
void wi_report_topology_csv(struct wi_csv *c, const struct wakeif_topology *t);

/* Names of set WAKEIF_TOPO_* flags, one call each; false at the end. */
bool wi_report_topology_flag(uint32_t flags, unsigned int *at, const char **name, const char **meaning);
/* "0-3,8" of a set of CPUs; NULL: out of memory; freed by the caller. */
char *wi_report_cpu_list(const wakeif_word *set, uint32_t words);

#endif
