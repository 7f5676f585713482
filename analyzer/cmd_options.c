/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/base/cpumask.h"
#include "analyzer/base/pattern.h"
#include "analyzer/cmd.h"

enum {
	KEY_TOPOLOGY = 0x100,
	KEY_TASKS,
	KEY_BUFFER,
	KEY_BESIDE,
	KEY_READER,
	KEY_MAX_SPOOL,
	KEY_QUIET_CPUS,
	KEY_TIME,
	KEY_COMM,
	KEY_JSON,
	KEY_CSV,
	KEY_WORST,
	KEY_USAGE
};

static bool usage(struct wi_err *err, const char *option, const char *what, const char *found)
{
	return wi_err_set(err, WI_EUSAGE, "%s: %s: '%s'", option, what, found);
}

/* "512M", "16G", "1048576"; powers of 1024. */
static bool parse_size(const char *text, uint64_t *bytes, struct wi_err *err)
{
	static const char unit[] = "KMGTP";
	char *end;

	errno = 0;
	unsigned long long n = strtoull(text, &end, 10);
	unsigned int shift = 0;
	const char *u = *end ? strchr(unit, toupper((unsigned char)*end)) : NULL;

	if (u) {
		shift = 10 * (unsigned int)(u - unit + 1);
		end++;
		if (*end == 'i')
			end++;
		if (*end == 'B')
			end++;
	}
	if (!isdigit((unsigned char)text[0]) || *end || errno || !n || n > UINT64_MAX >> shift)
		return usage(err, "--max-spool", "not a size such as 512M or 16G", text);
	*bytes = (uint64_t)n << shift;
	return true;
}

/* Seconds with up to nine decimals. */
static bool parse_stamp(const char *text, size_t len, uint64_t *ns)
{
	uint64_t sec = 0, frac = 0, scale = 1000000000;
	size_t i = 0;

	for (; i < len && isdigit((unsigned char)text[i]); i++) {
		if (sec > UINT64_MAX / 10 / 1000000000)
			return false;
		sec = sec * 10 + (uint64_t)(text[i] - '0');
	}
	if (!i)
		return false;
	if (i < len && text[i] == '.')
		for (i++; i < len && isdigit((unsigned char)text[i]) && scale > 1; i++) {
			scale /= 10;
			frac += (uint64_t)(text[i] - '0') * scale;
		}
	*ns = sec * 1000000000 + frac;
	return i == len && sec <= UINT64_MAX / 1000000000 - 1;
}

/* "10%" -> 0.1; *end behind the sign. */
static bool parse_percent(const char *text, double *fraction, const char **end)
{
	char *stop;

	if (!isdigit((unsigned char)text[0]))
		return false;
	*fraction = strtod(text, &stop) / 100;
	if (*stop != '%' || !isfinite(*fraction))
		return false;
	*end = stop + 1;
	return true;
}

static bool parse_percent_range(const char *text, struct wi_time_range *r)
{
	const char *at;

	r->percent = true;
	if (!parse_percent(text, &r->from, &at))
		return false;
	if (*at == '-') {
		if (!parse_percent(at + 1, &r->to, &at) || *at)
			return false;
	} else if (*at == '/') { /* the n-th slice of that size */
		char *stop;
		unsigned long n = strtoul(at + 1, &stop, 10);
		double size = r->from;

		if (!isdigit((unsigned char)at[1]) || *stop || !n)
			return false;
		r->from = size * (double)(n - 1);
		r->to = fmin(size * (double)n, 1);
	} else if (!*at) { /* the first part */
		r->to = r->from;
		r->from = 0;
	} else {
		return false;
	}
	return r->from < r->to && r->to <= 1;
}

bool wi_time_range_parse(const char *text, struct wi_time_range *r, struct wi_err *err)
{
	const char *comma = strchr(text, ',');

	*r = (struct wi_time_range){ .stop_ns = UINT64_MAX };
	if (strchr(text, '%')) {
		if (!parse_percent_range(text, r))
			return usage(err, "--time", "not a part of a recording such as 10%-20% or 10%/2", text);
		return true;
	}
	if (!comma || strchr(comma + 1, ','))
		return usage(err, "--time", "not START,STOP in seconds, either may be empty", text);
	if (comma != text && !parse_stamp(text, (size_t)(comma - text), &r->start_ns))
		return usage(err, "--time", "START is not a stamp in seconds", text);
	if (comma[1] && !parse_stamp(comma + 1, strlen(comma + 1), &r->stop_ns))
		return usage(err, "--time", "STOP is not a stamp in seconds", text);
	if (r->start_ns > r->stop_ns)
		return usage(err, "--time", "START lies behind STOP", text);
	return true;
}

static bool parse_pids(const char *text, struct wi_opts *o, struct wi_err *err)
{
	for (const char *at = text;;) {
		char *end;
		long pid;

		errno = 0;
		pid = strtol(at, &end, 10);
		if (!isdigit((unsigned char)*at) || errno || pid > WI_PID_MAX || (*end && *end != ','))
			return usage(err, "--pid", "not a list of pids such as 12,345", text);
		int32_t *more = realloc(o->pids, (o->nr_pids + 1) * sizeof(*more));

		if (!more)
			return wi_err_nomem(err);
		o->pids = more;
		o->pids[o->nr_pids++] = (int32_t)pid;
		if (!*end)
			return true;
		at = end + 1;
	}
}

static bool parse_comm(const char *text, struct wi_opts *o, struct wi_err *err)
{
	if (o->has_comm)
		return wi_err_set(err, WI_EUSAGE, "--comm: given twice; use one expression such as 'a|b'");
	if (!wi_pattern_compile(&o->comm, "--comm", text, err))
		return false;
	o->has_comm = true;
	o->comm_text = text;
	return true;
}

static bool parse_reader(const char *text, struct wi_opts *o, struct wi_err *err)
{
	if (!strcmp(text, "auto"))
		o->open.reader = WI_READER_AUTO;
	else if (!strcmp(text, "own"))
		o->open.reader = WI_READER_OWN;
	else if (!strcmp(text, "libtracecmd"))
		o->open.reader = WI_READER_LIBTRACECMD;
	else
		return usage(err, "--reader", "neither auto, own nor libtracecmd", text);
	return true;
}

static bool add_tasks(const char *path, struct wi_opts *o, struct wi_err *err)
{
	const char **more = realloc(o->tasks, (o->nr_tasks + 1) * sizeof(*more));

	if (!more)
		return wi_err_nomem(err);
	o->tasks = more;
	o->tasks[o->nr_tasks++] = path;
	return true;
}

/* "topology=NAME" or "tasks=NAME"; NAME is relative to the trace's folder. */
static bool set_beside(const char *text, struct wi_opts *o, struct wi_err *err)
{
	const char *name = strchr(text, '=');
	size_t kind = name ? (size_t)(name - text) : 0;
	const char **what = kind == 8 && !strncmp(text, "topology", kind) ? &o->beside_topology
			    : kind == 5 && !strncmp(text, "tasks", kind)  ? &o->beside_tasks
									  : NULL;

	if (!what || !name[1])
		return usage(err, "--beside", "neither topology=NAME nor tasks=NAME", text);
	if (name[1] == '/')
		return usage(err, "--beside", "a name in the trace's folder is wanted, not a path from the root", text);
	*what = name + 1;
	return true;
}

/* argp's own way out: the message, where to look, status 2; status 1 for what is not the user's fault. */
static error_t parsed(bool ok, const struct wi_err *err, struct argp_state *state)
{
	if (!ok && err->code == WI_EUSAGE)
		argp_error(state, "%s", err->msg);
	else if (!ok)
		argp_failure(state, err->code, 0, "%s", err->msg);
	return 0;
}

static bool set_path(struct wi_opts *o, const char *path, struct wi_err *err)
{
	if (o->path_given)
		return wi_err_set(err, WI_EUSAGE, "one trace at a time: '%s' after '%s'", path, o->path);
	if (!*path)
		return wi_err_set(err, WI_EUSAGE, "the trace's name is empty");
	o->path = path;
	o->path_given = true;
	return true;
}

error_t wi_opts_key(int key, char *arg, struct argp_state *state)
{
	struct wi_opts *o = state->input;
	struct wi_err err = { 0 };

	if (key == ARGP_KEY_INIT) {
		for (size_t i = 0; state->root_argp->children && state->root_argp->children[i].argp; i++)
			state->child_inputs[i] = o;
		return 0;
	}
	if (key == ARGP_KEY_ARG)
		return parsed(set_path(o, arg, &err), &err, state);
	return ARGP_ERR_UNKNOWN;
}

static const struct argp_option input_options[] = {
	{ "input", 'i', "FILE", 0, "trace to read; '-' is standard input (default: trace.dat)", 0 },
	{ "topology", KEY_TOPOLOGY, "SOURCE", 0,
	  "the traced machine: a capture (wakeif topology --capture), sysfs folder or archive, hwloc XML, lscpu -p "
	  "text, \"live\", or "
	  "a string such as \"pack:2 l3:1 core:4 pu:2\"",
	  0 },
	{ "tasks", KEY_TASKS, "FILE", 0,
	  "affinity and policy of tasks (tab-separated, as captures hold it); may be repeated, later files win", 0 },
	{ "beside", KEY_BESIDE, "topology=NAME|tasks=NAME", 0,
	  "archives with a folder a recording: the file of this name in the trace's folder tells its topology or its "
	  "tasks, where none carries the trace's own name; may be given for both",
	  0 },
	{ "buffer", KEY_BUFFER, "NAME", 0,
	  "buffer instance to analyse (default: the one with scheduler events; \"\" is the top one)", 0 },
	{ "time", KEY_TIME, "START,STOP", 0,
	  "window in the trace's seconds, either may be empty; or 10%-20%, or 10%/2 for the second tenth", 0 },
	{ "quiet-cpus", KEY_QUIET_CPUS, "idle|unknown", 0, "what CPUs without any switch are taken for (default: idle)",
	  0 },
	{ "max-spool", KEY_MAX_SPOOL, "SIZE", 0,
	  "most bytes to unpack into $TMPDIR for compressed traces and pipes (default: 16G)", 0 },
	{ "reader", KEY_READER, "auto|own|libtracecmd", 0, "how a trace.dat is read (default: auto)", 0 },
	{ 0 },
};

static error_t input_key(int key, char *arg, struct argp_state *state)
{
	struct wi_opts *o = state->input;
	struct wi_err err = { 0 };
	bool ok = true;

	switch (key) {
	case 'i':
		ok = set_path(o, arg, &err);
		break;
	case KEY_TOPOLOGY:
		o->topology = arg;
		break;
	case KEY_TASKS:
		ok = add_tasks(arg, o, &err);
		break;
	case KEY_BESIDE:
		ok = set_beside(arg, o, &err);
		break;
	case KEY_BUFFER:
		o->open.buffer = arg;
		break;
	case KEY_TIME:
		o->time_text = arg;
		ok = wi_time_range_parse(arg, &o->time, &err);
		break;
	case KEY_QUIET_CPUS:
		o->quiet_unknown = !strcmp(arg, "unknown");
		if (!o->quiet_unknown && strcmp(arg, "idle") != 0)
			ok = usage(&err, "--quiet-cpus", "neither idle nor unknown", arg);
		break;
	case KEY_MAX_SPOOL:
		ok = parse_size(arg, &o->open.max_spool_bytes, &err);
		break;
	case KEY_READER:
		ok = parse_reader(arg, o, &err);
		break;
	default:
		return ARGP_ERR_UNKNOWN;
	}
	return parsed(ok, &err, state);
}

const struct argp wi_argp_input = { input_options, input_key, NULL, NULL, NULL, NULL, NULL };

static const struct argp_option filter_options[] = {
	{ "cpu", 'C', "LIST", 0, "only these CPUs, such as 0-3,8", 0 },
	{ "pid", 'p', "LIST", 0, "only these tasks", 0 },
	{ "comm", KEY_COMM, "RE", 0, "only tasks whose name matches this extended regular expression", 0 },
	{ 0 },
};

static error_t filter_key(int key, char *arg, struct argp_state *state)
{
	struct wi_opts *o = state->input;
	struct wi_err err = { 0 };
	bool ok;

	switch (key) {
	case 'C':
		o->cpus_text = arg;
		free(o->cpus);
		o->cpus = NULL;
		ok = wi_mask_parse_list(arg, strlen(arg), &o->cpus, &o->cpu_words, &err);
		if (ok && wi_mask_empty(o->cpus, o->cpu_words))
			ok = usage(&err, "--cpu", "no CPU in the list", arg);
		else if (!ok)
			err.code = WI_EUSAGE;
		break;
	case 'p':
		ok = parse_pids(arg, o, &err);
		o->pids_text = arg;
		break;
	case KEY_COMM:
		ok = parse_comm(arg, o, &err);
		break;
	default:
		return ARGP_ERR_UNKNOWN;
	}
	return parsed(ok, &err, state);
}

const struct argp wi_argp_filter = { filter_options, filter_key, NULL, NULL, NULL, NULL, NULL };

static const struct argp_option output_options[] = {
	{ "json", KEY_JSON, NULL, 0, "JSON (doc/json.md)", 0 },
	{ "csv", KEY_CSV, NULL, 0, "comma-separated values", 0 },
	{ "output", 'o', "FILE", 0, "write there instead of to standard output", 0 },
	{ "worst", KEY_WORST, "N", 0, "length of the list of worst wakeups (default: 20)", 0 },
	{ "ns", 't', NULL, 0, "stamps in nanoseconds", 0 },
	{ 0 },
};

static bool parse_worst(const char *text, uint32_t *n, struct wi_err *err)
{
	char *end;
	unsigned long v = strtoul(text, &end, 10);

	if (!isdigit((unsigned char)text[0]) || *end || !v || v > 1000000)
		return usage(err, "--worst", "not a number from 1 to 1000000", text);
	*n = (uint32_t)v;
	return true;
}

static error_t output_key(int key, char *arg, struct argp_state *state)
{
	struct wi_opts *o = state->input;
	struct wi_err err = { 0 };
	bool ok = true;

	switch (key) {
	case KEY_JSON:
	case KEY_CSV:
		if (o->format != WI_FORMAT_TEXT && o->format != (key == KEY_JSON ? WI_FORMAT_JSON : WI_FORMAT_CSV))
			ok = wi_err_set(&err, WI_EUSAGE, "--json and --csv exclude each other");
		o->format = key == KEY_JSON ? WI_FORMAT_JSON : WI_FORMAT_CSV;
		break;
	case 'o':
		o->out = arg;
		break;
	case KEY_WORST:
		ok = parse_worst(arg, &o->worst, &err);
		break;
	case 't':
		o->nanoseconds = true;
		break;
	default:
		return ARGP_ERR_UNKNOWN;
	}
	return parsed(ok, &err, state);
}

const struct argp wi_argp_output = { output_options, output_key, NULL, NULL, NULL, NULL, NULL };

static const struct argp_option common_options[] = {
	{ "quiet", 'q', NULL, 0, "no progress, no notes on standard error", -1 },
	{ "verbose", 'v', NULL, 0, "more detail", -1 },
	{ "help", 'h', NULL, 0, "this text", -1 },
	{ "usage", KEY_USAGE, NULL, 0, "the options on a few lines", -1 },
	{ 0 },
};

static error_t common_key(int key, char *arg, struct argp_state *state)
{
	struct wi_opts *o = state->input;

	(void)arg;
	switch (key) {
	case 'q':
		o->quiet = true;
		break;
	case 'v':
		o->verbose = true;
		break;
	case 'h':
		argp_state_help(state, stdout, ARGP_HELP_STD_HELP);
		break;
	case KEY_USAGE:
		argp_state_help(state, stdout, ARGP_HELP_USAGE | ARGP_HELP_EXIT_OK);
		break;
	default:
		return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

const struct argp wi_argp_common = { common_options, common_key, NULL, NULL, NULL, NULL, NULL };

void wi_opts_parse(const struct argp *argp, int argc, char **argv, struct wi_opts *o)
{
	memset(o, 0, sizeof(*o));
	o->path = "trace.dat";
	o->time.stop_ns = UINT64_MAX;
	o->open.max_spool_bytes = WI_MAX_SPOOL_DEFAULT;
	o->open.progress = wi_progress_update;
	argp_parse(argp, argc, argv, ARGP_NO_HELP, NULL, o);
}

void wi_opts_fini(struct wi_opts *o)
{
	free(o->cpus);
	free(o->pids);
	free(o->tasks);
	if (o->has_comm)
		regfree(&o->comm);
}

bool wi_opts_task_matches(const struct wi_opts *o, int32_t pid, const char *comm)
{
	if (o->pids) {
		size_t i = 0;

		while (i < o->nr_pids && o->pids[i] != pid)
			i++;
		if (i == o->nr_pids)
			return false;
	}
	return !o->has_comm || !regexec(&o->comm, comm, 0, NULL, 0);
}

bool wi_opts_cpu_matches(const struct wi_opts *o, uint32_t cpu)
{
	return !o->cpus || (cpu < o->cpu_words * 64 && wi_mask_test(o->cpus, cpu));
}
