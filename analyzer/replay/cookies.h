/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The cookies of tasks by slot, for models with core scheduling: an observer that is told before the replay is. */
#ifndef WI_REPLAY_COOKIES_H
#define WI_REPLAY_COOKIES_H

#include "analyzer/base/cookie_map.h"
#include "analyzer/timeline/timeline.h"

struct wi_replay_cookies;

struct wi_replay_cookies *wi_replay_cookies_new(struct wi_cookie_map *map,
						const struct wi_names *names); /* both borrowed */
void wi_replay_cookies_free(struct wi_replay_cookies *k);
const struct wi_timeline_observer *wi_replay_cookies_observer(struct wi_replay_cookies *k);
uint32_t wi_replay_cookie(void *cookies, uint32_t slot); /* of the task that ran or woke there last; 0, UNKNOWN */
bool wi_replay_cookies_failed(const struct wi_replay_cookies *k); /* out of memory */

#endif
