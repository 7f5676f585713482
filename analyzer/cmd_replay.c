/* SPDX-License-Identifier: GPL-2.0-or-later */
/* wakeif replay: what placement models would have chosen, against what the kernel did. */
#include "analyzer/cmd_replay_opts.h"

static const struct argp_child children[] = {
	{ &wi_argp_input, 0, "Input:", 1 },
	{ &wi_argp_models, 0, "Models:", 2 },
	{ &wi_argp_output, 0, "Output:", 4 },
	{ &wi_argp_common, 0, NULL, -1 },
	{ 0 },
};

int wi_cmd_replay(int argc, char **argv)
{
	const struct argp argp = { NULL,
				   wi_replay_cmd_key,
				   "[FILE]",
				   "Asks placement models at each recorded wakeup where they would have put the wakee, and "
				   "compares the answers with what the kernel did: agreement, reasons of disagreement, missed "
				   "idle CPUs, estimated waits. Without -m the model of the recording's own kernel is asked.\v"
				   "doc/replay.md says what each number means.",
				   children,
				   NULL,
				   NULL };
	struct wi_replay_cmd c = { 0 };
	struct wi_err err = { 0 };

	wi_opts_parse(&argp, argc, argv, &c.o);
	c.wanted.kernel_too = !c.wanted.nr_specs;
	return wi_replay_cmd_run(&c, wi_replay_text, &err);
}
