/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Probes on the placement functions of the fair class: what the kernel was asked and what it answered. They are dynamic
 * events of the system "wakeif", removed by wi_probes_remove() or, after a crash, by the next wi_probes_add().
 *
 *	select_task_rq_fair       pid (where the kernel has type data), prev, wake_flags
 *	select_task_rq_fair_ret   cpu: the choice
 *	select_idle_sibling       prev, target
 *	select_idle_sibling_ret   cpu
 */
#ifndef WI_RECORD_PROBE_H
#define WI_RECORD_PROBE_H

#include <stdbool.h>
#include <stdint.h>

#include "analyzer/base/err.h"
#include "analyzer/record/tracefs.h"

#define WI_PROBE_SYSTEM "wakeif"
#define WI_MAX_PROBES 4

struct wi_probes {
	uint32_t nr;
	char event[WI_MAX_PROBES][64]; /* "wakeif:select_task_rq_fair", for trace-cmd -e */
	char refused[400];	       /* those that this kernel does not allow, and why; "" if none */
};

/*
 * False: err set, none is left behind: the kernel allows no probes at all. btf: file of the kernel's type data;
 * release: as uname -r says (arguments moved in 5.11).
 */
bool wi_probes_add(struct wi_probes *p, const struct wi_tracefs *fs, const char *btf, const char *release,
		   struct wi_err *err);

/* Removes every probe of the system "wakeif". False: err names those that stayed. Safe to call when there are none. */
bool wi_probes_remove(const struct wi_tracefs *fs, struct wi_err *err);

#endif
