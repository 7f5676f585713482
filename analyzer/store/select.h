/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reading the archive: which runs, the values of a metric over them, their histograms. Everything comes in an order
 * that does not depend on how the database came to be: runs by content hash, then size, then analysis.
 */
#ifndef WI_STORE_SELECT_H
#define WI_STORE_SELECT_H

#include "analyzer/store/catalog.h"
#include "analyzer/store/store.h"

/*
 * A selector: "key=glob[,key=glob]...", all of which must hold; "key!=glob" holds if no value of the key matches. Globs
 * are those of glob.h: '*', '?', "a|b", and '\' before a character (also a comma) that shall stand for itself.
 * Keys: kernel, arch, format, topology, path, sha256, status, version, analysis, and any tag's key; a tag that is named
 * as one of these is reached as tag.KEY. A key with several values (paths, tags of copies) matches if one of them does.
 * The empty selector selects all.
 */
struct wi_select;
struct wi_select *wi_select_parse(const char *text, struct wi_err *err); /* NULL: WI_EUSAGE, what is wrong and where */
void wi_select_free(struct wi_select *select);

struct wi_run {
	int64_t id; /* row of this database: for the functions here, never to be shown */
	uint8_t sha256[WI_SHA256_BYTES];
	uint64_t size_bytes;
	enum wi_run_status status;
	int32_t signal, exit_status;
	/* texts, NULL where not known */
	const char *reason, *stderr_tail, *version, *analysis;
	const char *format, *wrapper, *kernel, *arch;
	const char *topology; /* "8cpu/4core/1llc smt2"; of a machine nobody told: "8cpu guessed" */
	const char *const *path;
	size_t nr_paths; /* sorted as bytes */
	const struct wi_tag *tag;
	size_t nr_tags;	       /* sorted by key, value; a set */
	bool topology_guessed; /* nothing told the machine: no core is known to have siblings, no LLC to have an end */
	bool window_known;
	uint64_t window_ns; /* analysed */
};

struct wi_runs {
	struct wi_run *run;
	size_t nr;
	void *memory;
};

/* The runs that select (NULL: all) selects. Memory grows with their number. */
bool wi_select_runs(struct wi_store *store, const struct wi_select *select, struct wi_runs *out, struct wi_err *err);
void wi_runs_fini(struct wi_runs *runs);
/* NULL matches all. */
bool wi_select_matches(const struct wi_select *select, const struct wi_run *run);

/*
 * The values that a run has of a selector key, at most max; returns how many there are. Hash and the like are written
 * into buf where they need room. 0: the run has none (a group of its own: "unknown").
 */
size_t wi_run_values(const struct wi_run *run, const char *key, const char **out, size_t max, char buf[WI_SHA256_HEX]);

/*
 * A trace that runs holds more than once (two analyses of it): its index, or (size_t)-1. Statistics over such a list
 * would count it twice.
 */
size_t wi_runs_twice(const struct wi_runs *runs);

/* Sorted texts, which are the store's: they live until it is closed, a bundle is put or a
 * transaction is rolled back. */
struct wi_texts {
	const char **text;
	size_t nr;
};
void wi_texts_fini(struct wi_texts *texts);

/* All paths of metrics that these runs have values of and that match glob (NULL: all), sorted as bytes. */
bool wi_select_metrics(struct wi_store *store, const struct wi_runs *runs, const char *glob, struct wi_texts *out,
		       struct wi_err *err);
/* The same of histograms. */
bool wi_select_hists(struct wi_store *store, const struct wi_runs *runs, const char *glob, struct wi_texts *out,
		     struct wi_err *err);

/* out[i]: the value of run i, NAN where it has none. */
bool wi_select_values(struct wi_store *store, const struct wi_runs *runs, const char *path, double *out,
		      struct wi_err *err);

/* The same for many metrics in one pass over the database: out[m * runs->nr + i]. */
bool wi_select_table(struct wi_store *store, const struct wi_runs *runs, const struct wi_texts *paths, double *out,
		     struct wi_err *err);

/* Histogram of one run; *found false: it has none of this path, *out is empty. out is the caller's to wi_hist_fini().
 */
bool wi_select_hist(struct wi_store *store, const struct wi_run *run, const char *path, struct wi_hist *out,
		    bool *found, struct wi_err *err);

/* The path (metric or, with hists, histogram) of the database that is most like text; NULL: none is. The caller's to
 * free. */
char *wi_select_nearest(struct wi_store *store, const char *text, bool hists);

#endif
