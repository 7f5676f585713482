/* SPDX-License-Identifier: GPL-2.0-or-later */
/* wakeif compare: placement policies side by side. */
#include <string.h>

#include "analyzer/cmd_replay_opts.h"

enum { KEY_HIST = 0x200, KEY_ENGINE };

static const struct argp_option own_options[] = {
	{ "hist", KEY_HIST, NULL, 0, "histograms of the waits, policy by policy", 3 },
	{ "engine", KEY_ENGINE, "open", 0, "open: the recorded state stays true (default); closed loop: wakeif simulate", 3 },
	{ 0 },
};

static error_t own_key(int key, char *arg, struct argp_state *state)
{
	struct wi_replay_cmd *c = state->input;

	switch (key) {
	case KEY_HIST:
		c->hist = true;
		return 0;
	case KEY_ENGINE:
		if (!strcmp(arg, "closed") || !strcmp(arg, "both"))
			argp_error(state, "--engine: compare is open loop; the closed loop is wakeif simulate: '%s'", arg);
		if (strcmp(arg, "open"))
			argp_error(state, "--engine: not an engine: '%s'", arg);
		return 0;
	default:
		return wi_replay_cmd_key(key, arg, state);
	}
}

static const struct argp_child children[] = {
	{ &wi_argp_input, 0, "Input:", 1 },
	{ &wi_argp_models, 0, "Policies:", 2 },
	{ &wi_argp_output, 0, "Output:", 4 },
	{ &wi_argp_common, 0, NULL, -1 },
	{ 0 },
};

int wi_cmd_compare(int argc, char **argv)
{
	const struct argp argp = { own_options,
				   own_key,
				   "[FILE]",
				   "What if other placement policies had decided: metrics of each policy's answers, with "
				   "the difference to what happened and to the model of the recording's kernel, which is "
				   "always among them.\v"
				   "doc/replay.md says what each number means.",
				   children,
				   NULL,
				   NULL };
	struct wi_replay_cmd c = { 0 };
	struct wi_err err = { 0 };

	wi_opts_parse(&argp, argc, argv, &c.o);
	c.wanted.kernel_too = true;
	return wi_replay_cmd_run(&c, wi_replay_text_compare, &err);
}
