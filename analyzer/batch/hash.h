/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Who a trace is: the hash of its bytes. A folder (a raw dump) is hashed as the sequence of its files by name. */
#ifndef WI_BATCH_HASH_H
#define WI_BATCH_HASH_H

#include <stdbool.h>
#include <stdint.h>

#include "analyzer/base/err.h"
#include "analyzer/base/sha256.h"

/* Hash and size of a file, as sha256sum tells it, or of a folder and all below it. */
bool wi_hash_path(const char *path, uint8_t out[WI_SHA256_BYTES], uint64_t *bytes, struct wi_err *err);

/* The same, faster, in a process that may be lost: it dies when the file is cut while it is read. */
bool wi_hash_trace(const char *path, uint8_t out[WI_SHA256_BYTES], uint64_t *bytes, struct wi_err *err);

/*
 * Which of nr shards (1 .. nr) a file is in: a hash of its size, its first and its last WI_SHARD_BYTES. Equal contents
 * are in the same shard wherever they lie, and no shard has to read what belongs to the others.
 */
#define WI_SHARD_BYTES (64u << 10)
bool wi_hash_shard(int fd, uint64_t bytes, uint32_t nr, uint32_t *shard);
bool wi_hash_shard_folder(const char *path, uint32_t nr, uint32_t *shard, struct wi_err *err);

#endif
