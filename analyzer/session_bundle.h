/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One trace from file to bundle: what the archive keeps of it. In short: the JSON documents of report (with replay,
 * where models are asked for) and simulate are made in memory, and their figures taken out.
 */
#ifndef WI_SESSION_BUNDLE_H
#define WI_SESSION_BUNDLE_H

#include "analyzer/session_replay.h"
#include "analyzer/store/bundle.h"

struct wi_bundle_wanted {
	const struct wi_opts *o;	       /* of the input; its path is not looked at */
	const struct wi_replay_wanted *replay; /* its models, if it names any; its cookies for the report as well */
	bool simulate;
	uint32_t seeds; /* of the simulation; 0: the default */
	enum wi_detail detail;
	const char *options; /* from wi_bundle_options(), where many traces are described; NULL: worked out for each */
};

/* Can these be used, for any trace? Once, before the first one. */
bool wi_bundle_wanted_check(const struct wi_bundle_wanted *w, struct wi_err *err);

/*
 * Canonical texts (JSON) of what can change results besides the trace's bytes and the program. Options: those that are
 * not the default, models in the order of their names, hashes of the files that they name. Describe: these, and the
 * hashes of the files beside the trace at path. NULL: err set. The caller frees it.
 */
char *wi_bundle_options(const struct wi_bundle_wanted *w, struct wi_err *err);
char *wi_session_bundle_describe(const struct wi_bundle_wanted *w, const char *path, struct wi_err *err);

/*
 * Analyses the trace at path into b, which has been initialised: outcome, figures and the trace's own tags, not its
 * identity. false: err set; *no_trace (may be NULL): the file holds none. Standard output is used on the way when a
 * simulation is wanted: it is for processes that have none to lose.
 */
bool wi_session_bundle(const struct wi_bundle_wanted *w, const char *path, struct wi_bundle *b, bool *no_trace,
		       struct wi_err *err);

#endif
