/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The options of wakeif simulate. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/cmd_simulate.h"
#include "analyzer/sim_jobs.h"

enum {
	KEY_SEEDS = 0x600,
	KEY_JOBS,
	KEY_SMT,
	KEY_MACHINE,
	KEY_EXTERNAL,
	KEY_NO_PREEMPTION,
	KEY_BALANCE,
	KEY_PICK,
	KEY_NO_SENSITIVITY,
	KEY_IDLE,
	KEY_BASELINE,
	KEY_POWER,
	KEY_CORE_SCHED
};

static const struct argp_option own_options[] = {
	{ "seeds", KEY_SEEDS, "N", 0, "runs of each policy, 1 .. 1000 (default: 5)", 0 },
	{ "jobs", KEY_JOBS, "N", 0, "processes at once (default: one a CPU)", 0 },
	{ "smt", KEY_SMT, "on|off", 0, "off: what if SMT were switched off", 0 },
	{ "machine", KEY_MACHINE, "SOURCE", 0, "what if it ran on this machine (any source that --topology takes)", 0 },
	{ "external", KEY_EXTERNAL, "auto|absolute|relative", 0,
	  "when wakes from outside come in a what-if: at their recorded time, or as long after the block as recorded "
	  "(auto, the default: kernel threads "
	  "absolute, others relative)",
	  0 },
	{ "no-wakeup-preemption", KEY_NO_PREEMPTION, NULL, 0, "what if no wakeup preempted a fair task", 0 },
	{ "balance", KEY_BALANCE, "full|newidle|off", 0, "load balancing of the machine (default: full)", 0 },
	{ "pick", KEY_PICK, "auto|cfs|eevdf|fifo", 0, "who runs next (default: auto, by the recording's kernel)", 0 },
	{ "no-sensitivity", KEY_NO_SENSITIVITY, NULL, 0, "do not repeat the what-ifs under other assumptions", 0 },
	{ "baseline", KEY_BASELINE, "MODEL", 0,
	  "the model that the recording was made under (default: linux-auto), where its scheduler features were not "
	  "the default ones",
	  0 },
	{ "power-savings", KEY_POWER, "mc=N,smt=N", 0,
	  "what if it ran under Linux 2.6.29 with sched_mc_power_savings and sched_smt_power_savings at each level up "
	  "to these (0 .. 2)",
	  0 },
	{ "core-sched", KEY_CORE_SCHED, "VARIANT", 0,
	  "what if cores were shared by tasks of one cookie only (--cookies): csc, csc_stallfix, csc_tim, csc_vruntime "
	  "(2019) or mainline",
	  0 },
	{ "idle", KEY_IDLE, NULL, 0, "idle share of each CPU, core and package", 0 },
	{ 0 },
};

static uint32_t number(struct argp_state *state, const char *option, const char *arg, uint32_t most)
{
	char *end;
	unsigned long n;

	errno = 0;
	n = strtoul(arg, &end, 10);
	if (errno || *end || arg[0] < '0' || arg[0] > '9' || !n || n > most)
		argp_error(state, "--%s: not a number of 1 .. %u: '%s'", option, most, arg);
	return (uint32_t)n;
}

static int choice(struct argp_state *state, const char *option, const char *arg, const char *list)
{
	int i = wi_cmd_pick(arg, list);

	if (i < 0)
		argp_error(state, "--%s: none of %s: '%s'", option, list, arg);
	return i;
}

static const char core_scheds[] = ""
#define X(id, name, help) name "|"
	WI_CORE_SCHEDS(X)
#undef X
	;

/* "mc=2", "mc=1,smt=2" */
static bool parse_power(struct simulate_cmd *c, const char *arg)
{
	c->power = c->idle_tables = true;
	for (const char *p = arg;;) {
		bool smt = !strncmp(p, "smt=", 4);
		const char *digit = smt ? p + 4 : !strncmp(p, "mc=", 3) ? p + 3 : NULL;

		if (!digit || *digit < '0' || *digit > '2' || (digit[1] && digit[1] != ','))
			return false;
		*(smt ? &c->power_smt : &c->power_mc) = (uint32_t)(*digit - '0');
		if (!digit[1])
			return true;
		p = digit + 2;
	}
}

static error_t own_key(int key, char *arg, struct argp_state *state)
{
	struct simulate_cmd *c = state->input;

	switch (key) {
	case KEY_SEEDS:
		c->seeds = number(state, "seeds", arg, 1000);
		return 0;
	case KEY_JOBS:
		c->jobs = number(state, "jobs", arg, 1024);
		return 0;
	case KEY_SMT:
		c->smt_off = choice(state, "smt", arg, "on|off") == 1;
		return 0;
	case KEY_MACHINE:
		c->machine = arg;
		return 0;
	case KEY_EXTERNAL:
		c->external = (enum wi_sim_external)choice(state, "external", arg, "auto|absolute|relative");
		return 0;
	case KEY_NO_PREEMPTION:
		c->no_preemption = true;
		return 0;
	case KEY_BALANCE:
		c->balance = (enum wi_sim_balance)choice(state, "balance", arg, "full|newidle|off");
		return 0;
	case KEY_PICK:
		c->pick = (enum wi_sim_pick)choice(state, "pick", arg, "auto|cfs|eevdf|fifo");
		return 0;
	case KEY_NO_SENSITIVITY:
		c->no_sensitivity = true;
		return 0;
	case KEY_POWER:
		if (!parse_power(c, arg))
			argp_error(state, "--power-savings: not mc=0..2,smt=0..2: '%s'", arg);
		return 0;
	case KEY_CORE_SCHED:
		c->core_sched = (enum wi_core_sched)choice(state, "core-sched", arg, core_scheds);
		return 0;
	case KEY_BASELINE: {
		struct wi_err err = { 0 };
		size_t at;

		if (!wi_replay_spec_check(arg, &at, &err))
			argp_error(state, "--baseline: %s", err.msg);
		c->baseline = arg;
		return 0;
	}
	case KEY_IDLE:
		c->idle_tables = true;
		return 0;
	default:
		return wi_replay_cmd_key(key, arg, state);
	}
}

static const struct argp_child children[] = {
	{ &wi_argp_input, 0, "Input:", 1 },	  { &wi_argp_models, 0, "Models:", 2 },
	{ &wi_argp_workload, 0, "Workload:", 3 }, { &wi_argp_output, 0, "Output:", 4 },
	{ &wi_argp_common, 0, NULL, -1 },	  { 0 },
};

const struct argp wi_argp_simulate = {
	own_options,
	own_key,
	"[FILE]",
	"Runs the recorded workload again on a simulated machine, under the recording's own kernel "
	"(self-replay: how well "
	"that reproduces the trace) and under other policies: their choices change what follows.\v"
	"A difference that is smaller than the error of the self-replay is marked. doc/simulate.md says what "
	"each number means.",
	children,
	NULL,
	NULL
};
