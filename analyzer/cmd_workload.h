/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What workload and simulate share: how tapes are taken from a trace. */
#ifndef WI_CMD_WORKLOAD_H
#define WI_CMD_WORKLOAD_H

#include "analyzer/cmd_replay_opts.h"
#include "analyzer/session_workload.h"

struct wi_workload_cmd {
	struct wi_replay_cmd r; /* first: it begins with the struct wi_opts of the option groups */
	struct wi_workload_wanted wanted;
};

/* --edge, --smt-speed, --host-cpus, --softirq, --no-orders; the input is a struct wi_workload_cmd. */
extern const struct argp wi_argp_workload;

/* "0.62", "1": 0.5 .. 1 in 1/1024. false: it is none. */
bool wi_smt_speed_parse(const char *text, uint32_t *speed);

/* A name out of a list that '|' separates, as an index; -1: none of them. */
int wi_cmd_pick(const char *arg, const char *list);

#endif
