/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The pool's parts. Internal to the room.
 *
 *   pool.c     the loop: slots, workers, transactions
 *   content.c  a hash is known: what is to be done with the trace
 *   result.c   a worker said its last word, or ended without one: which row that is
 */
#ifndef WI_BATCH_POOL_H
#define WI_BATCH_POOL_H

#include "analyzer/batch/talk.h"

enum state { FREE, HASHING, WAITING, WORKING };

struct slot {
	enum state state;
	struct wi_found found;
	struct wi_task task;
	struct wi_worker worker;
	uint8_t sha256[WI_SHA256_BYTES];
	uint64_t bytes;
	char *analysis;
	struct wi_tag_set tags;
	size_t heard; /* bytes of worker.in that are understood */
	bool last_word;
	bool untagged; /* there are patterns, and its path matches none */
};

struct pool {
	struct wi_store *store;
	struct wi_discover *d;
	const struct wi_batch_opts *opts;
	const struct wi_batch_ops *ops;
	const struct wi_batch_events *events;
	struct wi_batch_count *count;
	struct slot *slot;
	struct pollfd *poll;
	const struct slot *putting; /* what is being written, out of its slot; NULL: nothing */
	bool searched;		    /* everything is found */
	bool open;		    /* a transaction */
	uint64_t due_ns;	    /* when it is to end */
	bool lazy;		    /* commits do not wait for the disk */
	bool floating;		    /* there are such since it was last waited for */
	uint64_t synced_ns;
};

/* pool.c: a transaction is open; a trace is through. */
bool wi_pool_begin(struct pool *p, struct wi_err *err);
void wi_pool_tell(struct pool *p, const struct slot *s, enum wi_run_status status, const char *what, const char *why);

/* content.c */
enum verdict { ANALYSE, LATER, DONE };
/* Is another slot at the same content? */
bool wi_pool_in_work(const struct pool *p, const struct slot *s);
/* Tags, and what its row will be called. false: there can be no row; *ok: the pool can go on. */
bool wi_pool_describe(struct pool *p, struct slot *s, bool *ok, struct wi_err *err);
/* The hash is known. false: the database failed. */
bool wi_pool_decide(struct pool *p, struct slot *s, enum verdict *v, struct wi_err *err);
bool wi_pool_put_path(struct pool *p, struct slot *s, struct wi_err *err);

/* result.c: rows of a bundle, of a text that says why there is no row, of an end without a last word. */
bool wi_pool_put_heard(struct pool *p, struct slot *s, const uint8_t *bytes, size_t nr, struct wi_err *err);
bool wi_pool_text_heard(struct pool *p, struct slot *s, enum wi_said said, const uint8_t *bytes, size_t nr,
			struct wi_err *err);
bool wi_pool_put_end(struct pool *p, struct slot *s, int status, struct wi_err *err);

#endif
