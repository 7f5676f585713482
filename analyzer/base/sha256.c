/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analyzer/base/sha256.h"

void wi_sha256_init(struct wi_sha256 *h)
{
	sha256_init(&h->ctx);
}

void wi_sha256_update(struct wi_sha256 *h, const void *p, size_t size)
{
	sha256_update(&h->ctx, size, p);
}

void wi_sha256_final(struct wi_sha256 *h, uint8_t out[WI_SHA256_BYTES])
{
	sha256_digest(&h->ctx, WI_SHA256_BYTES, out);
}

void wi_sha256(const void *p, size_t size, uint8_t out[WI_SHA256_BYTES])
{
	struct wi_sha256 h;

	wi_sha256_init(&h);
	wi_sha256_update(&h, p, size);
	wi_sha256_final(&h, out);
}

const char *wi_sha256_hex(const uint8_t hash[WI_SHA256_BYTES], char out[WI_SHA256_HEX])
{
	static const char digit[] = "0123456789abcdef";

	for (int i = 0; i < WI_SHA256_BYTES; i++) {
		out[2 * i] = digit[hash[i] >> 4];
		out[2 * i + 1] = digit[hash[i] & 15];
	}
	out[2 * WI_SHA256_BYTES] = '\0';
	return out;
}
