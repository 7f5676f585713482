/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Little-endian bytes of files of our own. Both sides remember a failure (no memory; read beyond the end), so that only
 * the end needs a check: after it puts do nothing and gets are 0.
 */
#ifndef WI_BASE_BYTES_H
#define WI_BASE_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct wi_bytes_out {
	uint8_t *at; /* the caller's to free */
	size_t nr, room;
	bool failed;
};

struct wi_bytes_in {
	const uint8_t *at; /* borrowed */
	size_t nr, pos;
	bool failed;
};

void wi_bytes_put(struct wi_bytes_out *o, const void *p, size_t size);
void wi_bytes_put_u16(struct wi_bytes_out *o, uint16_t v);
void wi_bytes_put_u32(struct wi_bytes_out *o, uint32_t v);
void wi_bytes_put_u64(struct wi_bytes_out *o, uint64_t v);
void wi_bytes_put_u32s(struct wi_bytes_out *o, const uint32_t *v, size_t nr);
void wi_bytes_put_u64s(struct wi_bytes_out *o, const uint64_t *v, size_t nr);
void wi_bytes_put_text(struct wi_bytes_out *o, const char *text); /* NULL is kept */

uint16_t wi_bytes_get_u16(struct wi_bytes_in *i);
uint32_t wi_bytes_get_u32(struct wi_bytes_in *i);
uint64_t wi_bytes_get_u64(struct wi_bytes_in *i);
void wi_bytes_get_u32s(struct wi_bytes_in *i, uint32_t *v, size_t nr);
void wi_bytes_get_u64s(struct wi_bytes_in *i, uint64_t *v, size_t nr);
/* A text as it was put, up to 64 KiB: its start (not terminated) in *text and its length; NULL: it was NULL, or failed.
 */
const char *wi_bytes_get_text(struct wi_bytes_in *i, size_t *len);
/* A count of things that take `each` bytes or more: one that cannot be true of what is left is a failure, 0. */
uint32_t wi_bytes_get_count(struct wi_bytes_in *i, size_t each);

#endif
