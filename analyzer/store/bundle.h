/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A bundle: all that the archive keeps of one analysis of one trace. In short: a worker makes one from the JSON
 * documents of the analysis and sends it to the writer through a pipe; the writer puts it into the database; a merge
 * reads it out of one database and puts it into another.
 *
 * A bundle of a trace that could not be analysed holds its identity, its status and the reason, and no figures.
 * All texts and rows belong to the bundle; what is lent to its functions is copied.
 */
#ifndef WI_STORE_BUNDLE_H
#define WI_STORE_BUNDLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyzer/base/bytes.h"
#include "analyzer/base/err.h"
#include "analyzer/base/hist.h"
#include "analyzer/base/sha256.h"
#include "analyzer/store/columns.h"

/* What came of an analysis. Of two rows of one analysis by one version the one that is first here stays. */
#define WI_RUN_STATUSES(X)                                                                                             \
	X(OK, "ok", "analysed whole")                                                                                  \
	X(DAMAGED, "damaged", "the trace is damaged; what was whole of it was analysed")                               \
	X(REFUSED, "refused", "not a trace that can be analysed; the reason tells why")                                \
	X(FAILED, "failed", "the analysis failed for a reason of its own, such as a read error")                       \
	X(TIMEOUT, "timeout", "stopped at the time limit")                                                             \
	X(MEMORY, "memory", "stopped at the memory limit")                                                             \
	X(CRASHED, "crashed", "the worker process died of a signal")

enum wi_run_status {
#define X(name, text, meaning) WI_RUN_##name,
	WI_RUN_STATUSES(X)
#undef X
		WI_NR_RUN_STATUSES
};

const char *wi_run_status_name(enum wi_run_status status); /* "ok", ... */
bool wi_run_status_parse(const char *text, enum wi_run_status *status);

#define WI_STDERR_TAIL 4096u	   /* bytes of a worker's stderr that are kept: its end */
#define WI_BUNDLE_MAX (256u << 20) /* bytes of an encoded bundle; more is an error, told as such */
#define WI_BUNDLE_MAX_HISTS 4096u  /* histograms of one analysis; more is an error */
#define WI_BUNDLE_MAX_TAGS 1024u   /* tags of one path; more is an error */
#define WI_BUNDLE_MAX_ROWS 4096u   /* models and worst wakeups of one analysis; more is an error */
#define WI_TAG_KEY_MAX 64u	   /* bytes of a tag's key */
#define WI_TAG_VALUE_MAX 1024u	   /* bytes of a tag's value */
#define WI_STORE_PATH_MAX 4096u	   /* bytes of a trace's path */
#define WI_METRIC_PATH_MAX 1024u   /* bytes of a metric's path */

struct wi_metric_value {
	const char
		*path; /* JSON path: latency.wakeup.p99_ns, models[linux-6.1].agree.cpu_share, smt.busy_threads_ns[1] */
	bool is_real;  /* real holds it; else integer, exact */
	int64_t integer;
	double real; /* finite */
};

struct wi_metric_hist {
	const char *path; /* of the latency object: latency.wakeup */
	struct wi_hist hist;
};

/* A row of one of the tables of columns.h. */
struct wi_row {
	enum wi_part part;
	struct wi_cell *cell; /* wi_part_columns(part).nr of them */
};

struct wi_tag {
	const char *key, *value;
};

struct wi_bundle {
	/* identity */
	uint8_t sha256[WI_SHA256_BYTES]; /* of the file's bytes as they are, compressed or not */
	uint64_t size_bytes;
	const char *path;     /* one path of the trace; NULL: none told, tags are those of markers in it */
	const char *version;  /* of wakeif */
	const char *analysis; /* canonical JSON of all else that can change a result: models, options, side files */
	/* outcome */
	enum wi_run_status status;
	const char *reason;	 /* NULL when ok; else one line */
	int32_t signal;		 /* the worker died of it; 0: none */
	int32_t exit_status;	 /* of the worker; 0 also when a signal ended it */
	const char *stderr_tail; /* NULL: nothing was written there; bytes that are no UTF-8 as U+FFFD */
	/* figures; sorted once wi_bundle_finish() has been called */
	struct wi_metric_value *metric;
	size_t nr_metrics;
	struct wi_metric_hist *hist;
	size_t nr_hists;
	struct wi_row *row; /* by part, then by what names them there */
	size_t nr_rows;
	struct wi_tag *tag; /* a set */
	size_t nr_tags;
	struct wi_bundle_memory *memory;
};

bool wi_bundle_init(struct wi_bundle *b, struct wi_err *err);
void wi_bundle_fini(struct wi_bundle *b); /* also of a zeroed one, also twice */

/*
 * Whose analysis this is. path may be NULL. Bytes of path that are no UTF-8 or are control characters are kept as the
 * escapes of wi_fmt_name(), so that the text names the file and is text.
 */
bool wi_bundle_identify(struct wi_bundle *b, const uint8_t sha256[WI_SHA256_BYTES], uint64_t size_bytes,
			const char *path, const char *version, const char *analysis, struct wi_err *err);

/*
 * The outcome, when it is not "ok". reason: one line; stderr_bytes: what the worker wrote, of which the last
 * WI_STDERR_TAIL bytes are kept (NULL: nothing).
 */
bool wi_bundle_outcome(struct wi_bundle *b, enum wi_run_status status, const char *reason, int signal, int exit_status,
		       const char *stderr_bytes, size_t nr, struct wi_err *err);

/* Adds a tag; the same one again is kept once. false: key or value empty, too long or no text (WI_EUSAGE), no memory.
 */
bool wi_bundle_tag(struct wi_bundle *b, const char *key, const char *value, struct wi_err *err);

enum wi_detail {
	WI_DETAIL_DEFAULT, /* numbers of objects, arrays of numbers, histograms, worst wakeups, models, policies */
	WI_DETAIL_FULL,	   /* the numbers of the other lists as well: per CPU, task, pair ... */
};

/*
 * Takes the figures out of a document that report, replay or simulate wrote with --json. Several documents of one
 * analysis may be added; where they tell the same path they must tell the same value. false: not such a document
 * (WI_EREFUSED), a number that no column can hold, no memory.
 */
bool wi_bundle_add_document(struct wi_bundle *b, const char *json, size_t len, enum wi_detail detail,
			    struct wi_err *err);

/* Sorts what was added, so that equal results are equal bytes. Called by encode and put; harmless again. */
bool wi_bundle_finish(struct wi_bundle *b, struct wi_err *err);

/*
 * The bundle as bytes: a head that tells the length, the content, a checksum at the end: a part of one is never taken
 * for a whole. out is the caller's to free; on failure it holds nothing of use.
 */
bool wi_bundle_encode(struct wi_bundle *b, struct wi_bytes_out *out, struct wi_err *err);

#define WI_BUNDLE_HEAD 16u /* bytes after which the length is known */
/* Length of the whole encoded bundle from its first WI_BUNDLE_HEAD bytes; 0: these are not the head of one. */
size_t wi_bundle_length(const uint8_t head[WI_BUNDLE_HEAD]);

/* Reads what encode wrote, trusting nothing of it. b: initialised and empty. false: err (WI_EREFUSED) tells what is
 * wrong. */
bool wi_bundle_decode(struct wi_bundle *b, const uint8_t *bytes, size_t nr, struct wi_err *err);

/* Hash of all of the outcome and the figures (not of identity, path and tags): equal bundles have equal ones. */
bool wi_bundle_digest(struct wi_bundle *b, uint8_t digest[WI_SHA256_BYTES], struct wi_err *err);

#endif
