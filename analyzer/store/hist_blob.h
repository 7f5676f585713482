/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Buckets of a histogram as bytes. In short: for each bucket that is not empty, rising: the distance of its index from
 * the one before (the first: from -1), then its count, each a LEB128 number (7 bits a byte, the lowest first, bit 7:
 * more follow). Both are at least 1. Latencies of 2^63 ns (292 years) and more have no place: SQLite's integers end
 * there.
 */
#ifndef WI_STORE_HIST_BLOB_H
#define WI_STORE_HIST_BLOB_H

#include "analyzer/base/bytes.h"
#include "analyzer/base/err.h"
#include "analyzer/base/hist.h"

/* Appends the buckets of h. A bucket beyond 2^63 ns sets out->failed. */
void wi_hist_blob_put(struct wi_bytes_out *out, const struct wi_hist *h);
/* Appends one bucket; *last is the index of the one before, UINT32_MAX before the first. */
void wi_hist_blob_put_one(struct wi_bytes_out *out, uint32_t index, uint32_t *last, uint64_t count);

/*
 * Reads buckets back and checks them against the exact figures: their counts add up to count, min and max lie in the
 * first and the last bucket, the sum is possible. false: *h is empty and what is wrong stands in *why.
 */
bool wi_hist_blob_get(struct wi_hist *h, const uint8_t *blob, size_t nr, const struct wi_hist *exact, const char **why);

#endif
