/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The replay engine on a few lines of events (tests/unit/tl_fixture.h has their grammar), with models that read their answers from a list. */
#ifndef REPLAY_FIXTURE_H
#define REPLAY_FIXTURE_H

#include "analyzer/replay/engine.h"
#include "tests/unit/tl_fixture.h"

/* A model that gives these choices one after another; behind the last one it stays on the previous CPU. */
struct rx_script {
	const struct wakeif_choice *choice;
	size_t nr, next;
	uint64_t asked;	    /* questions so far */
	uint32_t sync_seen; /* bit n: question n had WF_SYNC set */
	uint32_t classes;   /* bits of the classes asked */
	uint32_t prev[8];   /* prev_cpu of the first questions */
	uint64_t happenings;
};

/* ops, and values that make it read script; label is its name. */
struct wi_replay_model rx_scripted(struct rx_script *script, const char *label);

/* Runs the events through a timeline and the engine; topology and models of opts are used. tl->topology must be set. */
struct wi_replay_results *rx_run(const struct tl_fixture_opts *tl, const struct wi_replay_opts *opts, const char *events);

/* Everything in r as text. The caller frees. */
char *rx_dump(const struct wi_replay_results *r);

#endif
