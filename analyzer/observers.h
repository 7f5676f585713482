/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One observer of the timeline for several: each hook calls those of them that have it, in their order. Hooks that
 * nobody has stay NULL, so what they would tell is not worked out. wi_task.observer belongs to at most one of them.
 */
#ifndef WI_OBSERVERS_H
#define WI_OBSERVERS_H

#include "analyzer/timeline/timeline.h"

#define WI_OBSERVERS 4u

struct wi_observers {
	struct wi_timeline_observer obs; /* for wi_timeline_new(); its ctx is this struct, which must stay where it is */
	struct wi_timeline_observer of[WI_OBSERVERS];
	uint32_t nr;
};

/* At most WI_OBSERVERS; NULL ones are left out. One alone is asked without a detour. */
const struct wi_timeline_observer *wi_observers_join(struct wi_observers *o, const struct wi_timeline_observer *const *list,
						     uint32_t nr);

#endif
