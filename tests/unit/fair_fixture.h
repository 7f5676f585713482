/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One decision of models/fair.c from text.
 *
 * Machines: S  1 LLC, cores 0-1 2-3 4-5 6-7         N  2 nodes of 1 LLC, cores 0-1 2-3 | 4-5 6-7
 *	     P  the same two LLCs in one node	     C  1 LLC, no SMT, clusters 0-3 4-7
 *	     V  2 CPUs that share no cache	     X  as N, but the nodes too far apart for fork, exec and wake_affine
 *	     B  as S, CPUs 4-7 with half the capacity
 * Kernel: "6.1", then words: vagin sis-current sis-short cache-rfc cache-v1 sis-node no-idle no-weight no-bias tip2026
 *	     recent-bug no-budget
 * State: waker=0 prev=4 (defaults) idle=LIST sidle=LIST unknown=LIST allowed=LIST nr=CPU:N,... (default: 0 where idle,
 *else 1) recent=CPU flips=WAKER,WAKEE load=CPU:N,... util=CPU:N,... runnable=CPU:N,... tload=WAKER,WAKEE tutil=N
 *	     since=CPU:NS,... hot=LIST hic=LIST (CPUs of the LLCs that have it) budget=N (default 7) range=MIN,MAX
 *cookie=N cookies=CPU:N,... (core scheduling; the cores' by CPU)
 *prop=N delayed=N sync exiting pinned irq idlepol mutual short fork exec current
 */
#ifndef FAIR_FIXTURE_H
#define FAIR_FIXTURE_H

#include "models/fair.h"

#define FF_CPUS 16

struct fair_fixture {
	const struct wakeif_topology *topo;
	struct wi_fair_machine machine;
	struct wi_fair_knobs knobs;
	struct wi_fair_ask ask;
	struct wi_fair_inputs in;
	wakeif_word idle, sidle, unknown, allowed, cores;
	struct wakeif_cpu cpu[FF_CPUS];
	uint64_t load[FF_CPUS], util[FF_CPUS], runnable[FF_CPUS], hot[FF_CPUS];
	uint32_t core_cookie[FF_CPUS];
	uint64_t task_load[2], task_util;
	uint32_t budget, min, max, prop;
};

void ff_machine(struct fair_fixture *f, char machine); /* empties f */
void ff_kernel(struct fair_fixture *f, const char *text);
void ff_state(struct fair_fixture *f, const char *text);
void ff_fini(struct fair_fixture *f);

/*
 * "CPU rule affine" and marks: recent (recent_used_cpu becomes prev), clear (has_idle_cores is cleared), sync? budget?
 * unknown? (could change the answer), xN (idle states looked at; only when count is set). Static buffer.
 */
const char *ff_answer(const struct wi_fair_result *r, bool count);

#endif
