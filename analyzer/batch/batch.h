/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * An archive from folders of traces: finds them, has each analysed in a process of its own, and puts what comes into
 * the database. This process is the only one that writes there. What an analysis is, it is told.
 */
#ifndef WI_BATCH_BATCH_H
#define WI_BATCH_BATCH_H

#include "analyzer/batch/discover.h"
#include "analyzer/batch/tags.h"
#include "analyzer/batch/worker.h"
#include "analyzer/store/store.h"

#define WI_BATCH_JOBS 1024u

struct wi_batch_ops {
	void *ctx;
	/*
	 * Canonical text of all that can change the results of the trace at path but its bytes and the program's
	 * version. The caller frees it; NULL: err set, with the file beside the trace that cannot be used.
	 */
	char *(*describe)(void *ctx, const char *path, struct wi_err *err);
	/* The file beside the trace that may hold tags; the caller frees it; NULL: none. */
	char *(*tag_file)(void *ctx, const char *path);
	/*
	 * In a process of its own: fills in outcome, figures and the tags that the trace itself holds. false: err set;
	 * *no_trace: because it is none. What it prints is kept as the worker's standard error.
	 */
	bool (*analyse)(void *ctx, const char *path, struct wi_bundle *b, bool *no_trace, struct wi_err *err);
};

struct wi_batch_opts {
	const char *version; /* of wakeif */
	uint32_t jobs;	     /* 1 .. WI_BATCH_JOBS */
	struct wi_worker_limits limits;
	bool retry; /* timeouts, crashes and lack of memory are tried again, too */
	const struct wi_tag_pattern *const *pattern;
	size_t nr_patterns;
};

/* What became of the traces; the sums of discover.h are those of the search. */
struct wi_batch_count {
	uint64_t status[WI_NR_RUN_STATUSES]; /* analysed now */
	uint64_t known;			     /* in the database already, as good as it would be now */
	uint64_t copies;		     /* of contents that this run met before */
	uint64_t other_sides;		     /* of these copies: those with other files beside them; not analysed */
	uint64_t no_trace;		     /* compressed files and tars that turned out to hold none */
	uint64_t no_row;		     /* that could not be read, or changed while they were: they have no row */
	uint64_t in_flight;		     /* given up by an interrupt */
	uint64_t bad_sides;		     /* files beside traces that could not be used for tags */
	uint64_t untagged;		     /* traces whose path no --tag expression matches */
	uint64_t kept_failures;	   /* of known: timeouts, crashes, lack of memory that --retry would try again */
	uint64_t done, done_bytes; /* of all these */
};

/* Told as it goes; any may be NULL. */
struct wi_batch_events {
	void *ctx;
	/* A trace is through. status: WI_NR_RUN_STATUSES when nothing was analysed; what: a word; why: the reason or
	 * "". */
	void (*trace)(void *ctx, const char *path, enum wi_run_status status, const char *what, const char *why);
	/* Something besides: a file beside a trace that cannot be used, and the like. */
	void (*note)(void *ctx, const char *text);
	void (*progress)(void *ctx, const struct wi_discover_count *found, const struct wi_batch_count *done);
	/* Is it time to stop? Asked between any two steps. */
	bool (*stop)(void *ctx);
	void *stop_ctx;
	const void *wait_mask; /* sigset_t under which it may wait: the signals that make it look at stop */
};

/*
 * Until everything that d finds is through, or stop says so. false: the database or the search failed; what was put
 * before is in it.
 */
bool wi_batch_run(struct wi_store *store, struct wi_discover *d, const struct wi_batch_opts *opts,
		  const struct wi_batch_ops *ops, const struct wi_batch_events *events, struct wi_batch_count *count,
		  struct wi_err *err);

#endif
