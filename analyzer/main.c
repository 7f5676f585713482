/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <argp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "analyzer/cmd.h"

struct command {
	const char *name, *summary;
	int (*run)(int argc, char **argv);
	bool hidden;
};

static const struct command commands[] = {
	{ "report", "everything about the wakeups of a trace, from an overview down to tables", wi_cmd_report, false },
	{ "latency", "per-wakeup latency by task, CPU, waker or class, with histograms", wi_cmd_latency, false },
	{ "wakeups", "one line a wakeup: the worst ones, or those that missed an idle CPU", wi_cmd_wakeups, false },
	{ "smt", "who shared cores with whom, and what could have been avoided", wi_cmd_smt, false },
	{ "affine", "where wakees went relative to their waker and their previous CPU", wi_cmd_affine, false },
	{ "models", "the placement models that can be replayed, and their parameters", wi_cmd_models, false },
	{ "replay", "what placement models would have chosen, and how far they agree with the kernel", wi_cmd_replay, false },
	{ "compare", "placement policies side by side: what if another one had decided", wi_cmd_compare, false },
	{ "explain", "one wakeup step by step: who was idle, each rule tried, what each model chose and why", wi_cmd_explain, false },
	{ "validate", "agreement with what the kernel's own probes recorded", wi_cmd_validate, false },
	{ "simulate", "the recorded workload run again under other policies", wi_cmd_simulate, false },
	{ "workload", "what the tasks of a trace do, free of where they ran", wi_cmd_workload, false },
	{ "merge", "archives made in parts become one", wi_cmd_merge, false },
	{ "runs", "what an archive holds, and what went wrong", wi_cmd_runs, false },
	{ "diff", "groups of an archive's runs, or traces, compared; gates for regressions", wi_cmd_diff, false },
	{ "trend", "a metric of an archive over days, kernels or any tag", wi_cmd_trend, false },
	{ "topology", "what wakeif believes about the machine, and capturing it", wi_cmd_topology, false },
	{ "events", "the normalised events of a trace", wi_cmd_events, false },
	{ "batch", "folders of traces into one database, in parallel and resumable", wi_cmd_batch, false },
	{ "record", "record a trace that holds all that wakeif needs (runs trace-cmd)", wi_cmd_record, false },
	{ "record-exec", "helper of record: writes the markers, then runs the command", wi_cmd_record_exec, true },
};

#define NR_COMMANDS (sizeof(commands) / sizeof(commands[0]))

static void print_help(FILE *out)
{
	fputs("Usage: wakeif COMMAND [OPTIONS] [FILE]\n"
	      "Tells where the wakeups of a recorded Linux machine landed, what that cost, and who shared cores with "
	      "whom.\n\n",
	      out);
	for (size_t i = 0; i < NR_COMMANDS; i++)
		if (!commands[i].hidden)
			fprintf(out, "  %-10s %s\n", commands[i].name, commands[i].summary);
	fputs("\nFILE is trace.dat by default. 'wakeif COMMAND -h' or 'wakeif help COMMAND' shows a command's "
	      "options.\n"
	      "Exit status: 0 complete, 1 own or I/O failure, 2 usage, 3 input refused, 4 input damaged and analysed "
	      "as far as whole, 5 a gate of --fail-if failed.\n",
	      out);
}

static const struct command *find_command(const char *name)
{
	for (size_t i = 0; i < NR_COMMANDS; i++)
		if (!strcmp(commands[i].name, name))
			return &commands[i];
	return NULL;
}

/* Edit distance; names longer than the table's are far from everything. */
static unsigned int distance(const char *a, const char *b)
{
	unsigned int row[32];
	size_t la = strlen(a), lb = strlen(b);

	if (la >= 32 || lb >= 32)
		return 32;
	for (size_t j = 0; j <= lb; j++)
		row[j] = (unsigned int)j;
	for (size_t i = 1; i <= la; i++) {
		unsigned int diagonal = row[0];

		row[0] = (unsigned int)i;
		for (size_t j = 1; j <= lb; j++) {
			unsigned int best = diagonal + (a[i - 1] != b[j - 1]);

			diagonal = row[j];
			if (row[j] + 1 < best)
				best = row[j] + 1;
			if (row[j - 1] + 1 < best)
				best = row[j - 1] + 1;
			row[j] = best;
		}
	}
	return row[lb];
}

static int unknown_command(const char *name)
{
	struct wi_err err = { 0 };
	const struct command *nearest = NULL;
	unsigned int best = 4;
	struct stat st;

	for (size_t i = 0; i < NR_COMMANDS; i++) {
		unsigned int d = distance(name, commands[i].name);

		if (!commands[i].hidden && d < best && d < strlen(commands[i].name)) {
			best = d;
			nearest = &commands[i];
		}
	}
	if (name[0] == '-')
		wi_err_set(&err, WI_EUSAGE, "unknown option '%s': a command comes first (wakeif help)", name);
	else if (nearest)
		wi_err_set(&err, WI_EUSAGE, "unknown command '%s': did you mean '%s'?", name, nearest->name);
	else if (!stat(name, &st))
		wi_err_set(&err, WI_EUSAGE, "unknown command '%s': did you mean 'wakeif report %s'?", name, name);
	else
		wi_err_set(&err, WI_EUSAGE, "unknown command '%s': see 'wakeif help'", name);
	return wi_cmd_fail(&err);
}

static int run(const struct command *c, int argc, char **argv)
{
	static char name[64];

	snprintf(name, sizeof(name), "wakeif %s", c->name);
	argv[0] = name;
	return c->run(argc, argv);
}

static int help(int argc, char **argv)
{
	if (argc < 3) {
		print_help(stdout);
		return WI_OK;
	}
	const struct command *c = find_command(argv[2]);
	char dash_h[] = "-h", *args[] = { argv[0], dash_h, NULL };

	return c ? run(c, 2, args) : unknown_command(argv[2]);
}

/* A file larger than "ulimit -f" is an error of write(), not a silent end. */
static void file_too_large(int signal_number)
{
	(void)signal_number;
}

/* A handler, not SIG_IGN: programs that we run would inherit that. Who ignores it already has chosen for them too. */
static void survive_file_limit(void)
{
	const struct sigaction go_on = { .sa_handler = file_too_large, .sa_flags = SA_RESTART };
	struct sigaction old;

	if (!sigaction(SIGXFSZ, NULL, &old) && old.sa_handler == SIG_DFL)
		sigaction(SIGXFSZ, &go_on, NULL);
}

int main(int argc, char **argv)
{
	survive_file_limit();
	argp_err_exit_status = WI_EUSAGE;
	if (argc < 2) {
		print_help(stderr);
		return WI_EUSAGE;
	}
	if (!strcmp(argv[1], "help") || !strcmp(argv[1], "-h") || !strcmp(argv[1], "--help"))
		return help(argc, argv);
	if (!strcmp(argv[1], "version") || !strcmp(argv[1], "--version") || !strcmp(argv[1], "-V")) {
		puts("wakeif " WAKEIF_VERSION);
		return WI_OK;
	}
	const struct command *c = find_command(argv[1]);

	return c ? run(c, argc - 1, argv + 1) : unknown_command(argv[1]);
}
