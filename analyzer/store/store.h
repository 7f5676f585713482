/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The archive: an SQLite database of analyses (doc/schema.md). In short: open, ask what is in, put bundles in
 * transactions, merge, close. Reading and comparing: select.h.
 *
 * What a database holds is a function of the set of analyses put into it: order, sharding and row ids do not show in
 * any query of the documented views. Two rows of the same trace and analysis become one: the higher version of wakeif,
 * then the better status (wi_run_status), then the greater digest stays. Tags and paths are united.
 *
 * Errors: WI_EREFUSED: not a database of ours, newer than this program, damaged; WI_EIO: disk full, read-only, locked
 * for longer than WI_STORE_BUSY_MS. Each message is one line and names the file.
 */
#ifndef WI_STORE_STORE_H
#define WI_STORE_STORE_H

#include "analyzer/store/bundle.h"

#define WI_STORE_BUSY_MS 30000 /* a lock of another process is waited for so long */

struct wi_store;

enum wi_store_mode {
	WI_STORE_READ,	 /* must exist; nothing is changed; needs no right to write */
	WI_STORE_WRITE,	 /* must exist; brought up to this version's schema */
	WI_STORE_CREATE, /* made if it is not there, else as WRITE */
	WI_STORE_MEMORY, /* a new one in memory; path is a name for messages */
};

struct wi_store *wi_store_open(const char *path, enum wi_store_mode mode, struct wi_err *err);
/*
 * Leaves one file without companions, if nobody else has the database open. A transaction that is open is rolled back.
 * NULL is fine. false: err tells what could not be written.
 */
bool wi_store_close(struct wi_store *store, struct wi_err *err);

/*
 * Transactions. begin takes the one writer's lock (waits up to WI_STORE_BUSY_MS). commit returns when the rows are on
 * the disk. put and the other changes need an open transaction.
 */
bool wi_store_begin(struct wi_store *store, struct wi_err *err);
bool wi_store_commit(struct wi_store *store, struct wi_err *err);
void wi_store_rollback(struct wi_store *store);

/*
 * From now on commits do not wait for the disk: they survive the death of this process, but a power failure takes those
 * since the last wi_store_sync() or close; what is left is whole. *lazy false: the database cannot do that (it has no
 * WAL there), each commit waits as before.
 */
bool wi_store_lazy(struct wi_store *store, bool *lazy, struct wi_err *err);
/* Outside of transactions: what was committed is on the disk. */
bool wi_store_sync(struct wi_store *store, struct wi_err *err);

/* What is in of a trace under an analysis (exact text). */
struct wi_store_known {
	bool found;
	enum wi_run_status status;
	char version[64]; /* of wakeif that made it */
};
bool wi_store_find(struct wi_store *store, const uint8_t sha256[WI_SHA256_BYTES], uint64_t size_bytes,
		   const char *analysis, struct wi_store_known *known, struct wi_err *err);

enum wi_put {
	WI_PUT_MERGE,	/* beside other analyses of the trace; of equal ones the better stays, see above */
	WI_PUT_REPLACE, /* the trace's only analysis: others of it, and the same by another version, are removed */
};

/*
 * Puts a bundle. With a path, its tags are those of that path: they replace what the path had. Without one they are
 * what markers in the trace tell: they belong to the content, and stay when paths and their tags change.
 */
bool wi_store_put(struct wi_store *store, struct wi_bundle *b, enum wi_put how, struct wi_err *err);

/*
 * A path of a trace that is in (put, earlier or in this transaction) with its tags, which replace those that this path
 * of this trace had: for copies, renames and changed tags, without a new analysis. *changed: something was other than
 * before; may be NULL.
 */
bool wi_store_put_path(struct wi_store *store, const uint8_t sha256[WI_SHA256_BYTES], uint64_t size_bytes,
		       const char *path, const struct wi_tag *tag, size_t nr_tags, bool *changed, struct wi_err *err);

/*
 * Unites the database at path into this one, inside the open transaction: it may be rolled back as a whole. The other
 * database is only read. Tags of a path are united, not replaced.
 */
struct wi_merge_count {
	uint64_t runs;	  /* in the other database */
	uint64_t added;	  /* not there before */
	uint64_t better;  /* replaced the row that was there */
	uint64_t dropped; /* the row that was there is the same or better */
};
bool wi_store_merge(struct wi_store *into, const char *path, struct wi_merge_count *count, struct wi_err *err);

/*
 * file_cache: hashes of files seen, so that an unchanged one is not read again. Of this machine and directory tree
 * only; never merged. found: false when unknown or when size, time or inode differ.
 */
struct wi_file_id {
	const char *path;
	uint64_t dev, ino, size_bytes;
	int64_t mtime_ns, ctime_ns;
};
bool wi_store_cached_hash(struct wi_store *store, const struct wi_file_id *id, uint8_t sha256[WI_SHA256_BYTES],
			  bool *found, struct wi_err *err);
bool wi_store_cache_hash(struct wi_store *store, const struct wi_file_id *id, const uint8_t sha256[WI_SHA256_BYTES],
			 struct wi_err *err);

#endif
