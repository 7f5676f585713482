/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the subcommands share: the option groups and what is done with their values. Every subcommand is one function in
 * the table of main.c; it returns the exit status (doc/METRICS.md, "Contract for scripts").
 */
#ifndef WI_CMD_H
#define WI_CMD_H

#include <argp.h>
#include <regex.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "analyzer/base/err.h"
#include "parsers/source.h"

int wi_cmd_report(int argc, char **argv);
int wi_cmd_latency(int argc, char **argv);
int wi_cmd_wakeups(int argc, char **argv);
int wi_cmd_smt(int argc, char **argv);
int wi_cmd_affine(int argc, char **argv);
int wi_cmd_models(int argc, char **argv);
int wi_cmd_replay(int argc, char **argv);
int wi_cmd_compare(int argc, char **argv);
int wi_cmd_explain(int argc, char **argv);
int wi_cmd_validate(int argc, char **argv);
int wi_cmd_simulate(int argc, char **argv);
int wi_cmd_workload(int argc, char **argv);
int wi_cmd_merge(int argc, char **argv);
int wi_cmd_runs(int argc, char **argv);
int wi_cmd_diff(int argc, char **argv);
int wi_cmd_trend(int argc, char **argv);
int wi_cmd_topology(int argc, char **argv);
int wi_cmd_events(int argc, char **argv);
int wi_cmd_batch(int argc, char **argv);
int wi_cmd_record(int argc, char **argv);
int wi_cmd_record_exec(int argc, char **argv);

enum wi_format { WI_FORMAT_TEXT, WI_FORMAT_JSON, WI_FORMAT_CSV };

/* --time: stamps in the trace's clock, or parts of the recording. */
struct wi_time_range {
	bool percent;
	uint64_t start_ns, stop_ns; /* !percent; 0 and UINT64_MAX: the recording's ends */
	double from, to;	    /* percent: 0 .. 1 of the recording */
};

struct wi_opts {
	/* input */
	const char *path; /* never NULL after parsing */
	bool path_given;
	const char *topology; /* NULL: side file, markers, fallback */
	const char *beside_topology, *beside_tasks; /* names of files in the trace's own folder; NULL: none */
	const char **tasks;
	size_t nr_tasks;
	struct wi_open_opts open;
	struct wi_time_range time;
	const char *time_text; /* as given; NULL: not */
	bool quiet_unknown;
	bool wants_tags; /* texts in the trace that name tags are looked for (doc/batch.md) */
	/* what to look at */
	uint64_t *cpus; /* NULL: all */
	uint32_t cpu_words;
	int32_t *pids; /* NULL: all */
	size_t nr_pids;
	regex_t comm;
	bool has_comm;
	const char *comm_text;		   /* the expression */
	const char *cpus_text, *pids_text; /* as given */
	/* output */
	enum wi_format format;
	const char *out; /* NULL: standard output */
	bool quiet, verbose, nanoseconds;
	uint32_t worst; /* 0: the command's default */
};

/* Option groups, to be named as children of a command's argp; their input is the command's struct wi_opts. */
extern const struct argp wi_argp_input, wi_argp_filter, wi_argp_output, wi_argp_common;

/*
 * Parses a command line whose groups are children of argp and whose own options are handled by argp->parser. Every
 * child gets o as its input, so does argp->parser. A usage error ends the program with status 2, -h with status 0. o is
 * zeroed first.
 */
void wi_opts_parse(const struct argp *argp, int argc, char **argv, struct wi_opts *o);
void wi_opts_fini(struct wi_opts *o);

/* For a command's parser: takes the positional file; returns 0, or ARGP_ERR_UNKNOWN for keys that are the command's
 * own. */
error_t wi_opts_key(int key, char *arg, struct argp_state *state);

/* "START,STOP" in seconds, "10%-20%", "10%/2" as perf. false: err set (WI_EUSAGE). */
bool wi_time_range_parse(const char *text, struct wi_time_range *r, struct wi_err *err);

/* Does the task or CPU pass -p, --comm, -C? comm: text of a name. */
bool wi_opts_task_matches(const struct wi_opts *o, int32_t pid, const char *comm);
bool wi_opts_cpu_matches(const struct wi_opts *o, uint32_t cpu);
static inline bool wi_opts_filtered(const struct wi_opts *o)
{
	return o->cpus || o->pids || o->has_comm;
}

/* Where the output goes. Closing tells whether all of it arrived; a reader that went away (broken pipe) is no error
 * message. */
FILE *wi_out_open(const char *path, struct wi_err *err); /* NULL path: standard output */
bool wi_out_close(FILE *out, const char *path, struct wi_err *err);

/* Prints "wakeif: MESSAGE" on standard error and returns the exit status that belongs to it. */
int wi_cmd_fail(const struct wi_err *err);

/* A line on standard error, "wakeif: ...", unless -q. */
void wi_cmd_note(const struct wi_opts *o, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Tells of damage in the input, one line; returns WI_EDAMAGED if there was any, else WI_OK. */
int wi_cmd_damage(const struct wi_source_info *info);

/* Progress on a terminal: shown when the work has taken more than a second. One at a time. */
void wi_progress_start(const struct wi_opts *o);
void wi_progress_pass(const char *what);
void wi_progress_update(void *ctx, uint64_t done, uint64_t total); /* for struct wi_open_opts */
void wi_progress_end(void);

#endif
