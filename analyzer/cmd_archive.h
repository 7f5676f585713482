/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the commands that read archives share: options, selecting runs and metrics, the order of values. */
#ifndef WI_CMD_ARCHIVE_H
#define WI_CMD_ARCHIVE_H

#include "analyzer/cmd.h"
#include "analyzer/store/select.h"

enum wi_archive_format { WI_ARCHIVE_TEXT, WI_ARCHIVE_JSON, WI_ARCHIVE_CSV, WI_ARCHIVE_MARKDOWN };

struct wi_archive_opts {
	const char *select, *analysis; /* NULL: all */
	enum wi_archive_format format;
	const char *out; /* NULL: standard output */
	bool quiet, verbose, nanoseconds;
	uint64_t seed;
	uint32_t resamples; /* 0: the default */
};

/* Option groups; their input is the command's struct wi_archive_opts. */
extern const struct argp wi_argp_archive_runs;	/* --select, --analysis */
extern const struct argp wi_argp_archive_stats; /* --seed, --resamples */
extern const struct argp wi_argp_archive_out;	/* --json, --csv, -o, -q, -v, -h */

/*
 * The runs that the options and, if not NULL, more select, out of the database at path (for messages). once: each trace
 * may be among them only once; more than one analysis of it is an error that tells how to choose. false: err set; *out
 * is then empty.
 */
bool wi_archive_select(struct wi_store *store, const char *path, const struct wi_archive_opts *o, struct wi_runs *out,
		       struct wi_err *err);
/* false: err (WI_EUSAGE) names a trace that the runs hold twice, and its analyses. */
bool wi_archive_once(const struct wi_runs *runs, struct wi_err *err);

/*
 * Adds to list the paths that pattern names: the very path, or a pattern (analyzer/store/glob.h). all: what there is.
 * Returns how many matched.
 */
struct wi_path_list {
	const char **path; /* of what there is */
	size_t nr, room;
};
size_t wi_archive_match(const struct wi_texts *all, const char *pattern, struct wi_path_list *list, struct wi_err *err);
void wi_path_list_fini(struct wi_path_list *list);

/* "no metric is named 'x'; did you mean 'y'?" as WI_EUSAGE. Always false. */
bool wi_archive_no_metric(struct wi_store *store, const char *what, const char *text, bool hists, struct wi_err *err);

/*
 * What a run has as the value of a key: several values as one text "a|b"; NULL where it has none (*ok stays true), or
 * no memory (*ok false). The key "day" is the tag day, or the date of the tag date. The caller frees it.
 */
char *wi_archive_value(const struct wi_run *run, const char *key, bool *ok);

/* Order of people: numbers in texts by their value ("6.9" before "6.12"), else bytes. NULL is last. */
int wi_archive_compare(const char *a, const char *b);

#endif
