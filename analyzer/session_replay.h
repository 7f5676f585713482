/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Replays a session's trace against models: which models, in how many passes, with which other observers. */
#ifndef WI_SESSION_REPLAY_H
#define WI_SESSION_REPLAY_H

#include "analyzer/replay/engine.h"
#include "analyzer/session.h"

enum wi_history { WI_HISTORY_DEFAULT, WI_HISTORY_OWN, WI_HISTORY_OBSERVED };

struct wi_replay_wanted {
	const char *const *specs; /* as the user wrote them; "linux-auto": the model of the recording's kernel */
	size_t nr_specs;
	bool kernel_too; /* put the model of the recording's kernel in front, if specs do not name it as it is */
	enum wi_sync_mode sync;
	enum wi_history history; /* DEFAULT: observed for the model of the recording's kernel, own for the others */
	uint64_t seed;
	const char *cookies; /* map of core scheduling's cookies, as wi_cookie_map_new() takes it; NULL none */
	const struct wi_metrics_opts *metrics; /* measure what happened in the same pass; NULL: no */
	void (*sink)(void *ctx, const struct wi_replay_decision *d); /* may be NULL */
	void *sink_ctx;
	bool (*sync_of)(void *ctx, const struct wi_wakeup *w, bool *set); /* for RECORDED; may be NULL */
	void *sync_ctx;
	const struct wi_timeline_observer *observer; /* told in the last pass, before the replay; may be NULL */
	void (*bind)(void *ctx, struct wi_timeline *tl); /* before the first event of the last pass; may be NULL */
	void *bind_ctx;
};

/* In the place of wi_session_analyse(): fills s->replayed, and s->results (without metrics: the recording's facts only). */
bool wi_session_replay(struct wi_session *s, const struct wi_replay_wanted *wanted, struct wi_err *err);
void wi_session_replay_fini(struct wi_session *s); /* by wi_session_close() */

/* What the reader should know of the models and what the trace lacks for them, line by line; "" nothing. */
const char *wi_session_replay_notes(const struct wi_session *s);

/* Is text a model? Without opening a trace. false: err set, *wrong_at: first wrong character of text. */
bool wi_replay_spec_check(const char *text, size_t *wrong_at, struct wi_err *err);

#endif
