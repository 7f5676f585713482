/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What replay, compare and report --replay share: which models, how WF_SYNC is found, and the frame of a run. */
#ifndef WI_CMD_REPLAY_OPTS_H
#define WI_CMD_REPLAY_OPTS_H

#include "analyzer/cmd_print.h"
#include "analyzer/report/replay.h"
#include "analyzer/session_replay.h"

struct wi_replay_cmd {
	struct wi_opts o; /* first: the option groups take a struct wi_opts */
	struct wi_replay_wanted wanted;
	const char *specs[WI_REPLAY_MODELS];
	bool hist;
	const char *sync_text;
};

/* -m, --sync, --history, --seed; the input is a struct wi_replay_cmd. */
extern const struct argp wi_argp_models;

/* Parser for a command's argp: the file, and the groups' inputs. Commands with keys of their own call it for the rest. */
error_t wi_replay_cmd_key(int key, char *arg, struct argp_state *state);

/*
 * Opens, replays, prints with text (or the JSON and CSV writers), ends; returns the exit status. Options are parsed
 * already.
 */
int wi_replay_cmd_run(struct wi_replay_cmd *c,
		      bool (*text)(FILE *out, const struct wi_replay_report *p, struct wi_err *err), struct wi_err *err);

#endif
