/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Interned task names. A comm is at most 16 bytes in the kernel; text formats may show more (a thread name that
 * perf resolved), up to WI_NAME_MAX bytes are kept. An id stays valid for the life of the table. Memory grows with
 * the number of distinct names only.
 */
#ifndef WI_BASE_NAMES_H
#define WI_BASE_NAMES_H

#include <stddef.h>
#include <stdint.h>

#define WI_NAME_MAX 255
#define WI_NAME_NONE 0u /* no name known ("<...>", or a format without names) */
#define WI_COMM_LEN 16

struct wi_names;

struct wi_names *wi_names_new(void); /* NULL: out of memory */
void wi_names_free(struct wi_names *names);

/*
 * Id of the comm stored in a 16-byte kernel field: what follows the first NUL is ignored (old kernels leave
 * rubbish there); 16 bytes without a NUL are 16 characters. An empty comm has its own id, it is not WI_NAME_NONE.
 * "<...>" gives WI_NAME_NONE. Returns WI_NAME_NONE when out of memory. Hot path: one hash, no allocation when seen before.
 */
uint32_t wi_names_comm(struct wi_names *names, const void *comm16);

/* Same for a string of len bytes (cut at WI_NAME_MAX). */
uint32_t wi_names_intern(struct wi_names *names, const char *s, size_t len);

/*
 * Name that the kernel gives a task that executes path (len bytes): what follows the last '/', at most 15 bytes
 * (begin_new_exec() of fs/exec.c). WI_NAME_NONE for an empty path.
 */
uint32_t wi_names_of_exec(struct wi_names *names, const char *path, size_t len);

/* NUL-terminated text of an id, borrowed; "<...>" for WI_NAME_NONE and for an id that does not exist. */
const char *wi_names_get(const struct wi_names *names, uint32_t id);

/* Number of ids given out, WI_NAME_NONE included; ids are 0 .. count-1. */
uint32_t wi_names_count(const struct wi_names *names);

#endif
