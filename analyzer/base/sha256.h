/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * SHA-256 (FIPS 180-4) by nettle: its licence (LGPL 3 or GPL 2, each or later) suits ours, it has no global state to
 * set up in every process, and it uses the CPU's SHA instructions.
 */
#ifndef WI_BASE_SHA256_H
#define WI_BASE_SHA256_H

#include <nettle/sha2.h>
#include <stddef.h>
#include <stdint.h>

#define WI_SHA256_BYTES 32
#define WI_SHA256_HEX (2 * WI_SHA256_BYTES + 1) /* as text, with its NUL */

struct wi_sha256 {
	struct sha256_ctx ctx;
};

void wi_sha256_init(struct wi_sha256 *h);
void wi_sha256_update(struct wi_sha256 *h, const void *p, size_t size);
void wi_sha256_final(struct wi_sha256 *h, uint8_t out[WI_SHA256_BYTES]);

void wi_sha256(const void *p, size_t size, uint8_t out[WI_SHA256_BYTES]);
/* Lower-case hexadecimal digits; returns out. */
const char *wi_sha256_hex(const uint8_t hash[WI_SHA256_BYTES], char out[WI_SHA256_HEX]);

#endif
