/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Cookies of core scheduling: which tasks may share a core. Tasks of one cookie may; so may those without any (untagged
 * ones). The kernel knows cookies, no trace event tells them: the user does, by a map (doc/METRICS.md, rule 36).
 */
#ifndef WI_BASE_COOKIE_MAP_H
#define WI_BASE_COOKIE_MAP_H

#include <stdbool.h>
#include <stdint.h>

#include "analyzer/base/err.h"

#define WI_COOKIE_NONE 0u	     /* untagged */
#define WI_COOKIE_UNKNOWN UINT32_MAX /* what the map asks for is not known of the task */

struct wi_cookie_map;

/* What is known of a task. */
struct wi_cookie_who {
	int32_t pid, tgid;  /* tgid 0 unknown */
	const char *comm;   /* NULL unknown */
	const char *cgroup; /* NULL unknown */
};

/* text: "tgid", "comm", "cgroup", or a file's name. NULL: err set (WI_EUSAGE, WI_EIO). */
struct wi_cookie_map *wi_cookie_map_new(const char *text, struct wi_err *err);
void wi_cookie_map_free(struct wi_cookie_map *map);

/* The task's cookie: NONE, UNKNOWN, or a number from 1 on, given out in order of appearance. */
uint32_t wi_cookie_of(struct wi_cookie_map *map, const struct wi_cookie_who *who);
const char *wi_cookie_name(const struct wi_cookie_map *map, uint32_t cookie); /* of numbers from 1 on; borrowed */
bool wi_cookie_map_failed(const struct wi_cookie_map *map); /* out of memory: answers since then are UNKNOWN */

/* Is it one of the names that the kernel gives its own threads? They are untagged. */
bool wi_is_kernel_thread(int32_t pid, const char *comm);

#endif
