/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Autogroups of the side file (or markers), as the estimates take them. */
#ifndef WI_REPLAY_GROUPS_H
#define WI_REPLAY_GROUPS_H

#include "analyzer/timeline/timeline.h"
#include "models/estimates.h"

struct wi_groups {
	struct wi_estimates_member *members; /* by pid */
	uint32_t *shares;
	uint32_t nr, other; /* groups; the one with the most tasks, taken for tasks that are not listed */
	size_t nr_members;
};

/* Zeroes g first. No fact names an autogroup: nr 0. false: out of memory, err set; wi_groups_fini() is right after
 * either. */
bool wi_groups_find(struct wi_groups *g, const struct wi_task_fact *facts, size_t nr_facts, struct wi_err *err);
void wi_groups_fini(struct wi_groups *g);

#endif
