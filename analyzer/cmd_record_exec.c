/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * wakeif record-exec: writes the markers into the running trace, then runs a command. It is what "wakeif record" lets
 * trace-cmd run, and works under a trace-cmd called by hand as well:
 *	trace-cmd record ... wakeif record-exec -- COMMAND
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analyzer/cmd.h"
#include "analyzer/record/run.h"
#include "analyzer/record/slim.h"
#include "analyzer/record/tracefs.h"
#include "analyzer/topology/capture.h"

struct helper {
	const char *tracefs, *instance, *user, *root;
	int status_fd; /* -1: none; the command then takes our place */
	uint32_t duration;
	int32_t pid;
	bool no_markers, wait;
	char **command;
};

enum {
	KEY_TRACEFS = 0x100,
	KEY_INSTANCE,
	KEY_USER,
	KEY_STATUS_FD,
	KEY_DURATION,
	KEY_PID,
	KEY_NO_MARKERS,
	KEY_WAIT,
	KEY_ROOT,
	KEY_USAGE
};

static const struct argp_option options[] = {
	{ "tracefs", KEY_TRACEFS, "DIR", 0, "where the tracing file system is mounted", 1 },
	{ "instance", KEY_INSTANCE, "NAME", 0, "write to this trace instance (trace-cmd -B NAME), not to the top one",
	  1 },
	{ "no-markers", KEY_NO_MARKERS, NULL, 0, "write nothing", 1 },
	{ "root", KEY_ROOT, "DIR", 0, "describe the machine whose sys and proc are below DIR", 1 },
	{ "user", KEY_USER, "USER", 0, "run COMMAND as this user", 2 },
	{ "wait", KEY_WAIT, NULL, 0, "without COMMAND: wait for a signal, --duration or --pid", 2 },
	{ "pid", KEY_PID, "PID", 0, "with --wait: until this process ends", 2 },
	{ "duration", KEY_DURATION, "SECONDS", 0, "at most so long", 2 },
	{ "status-fd", KEY_STATUS_FD, "N", 0, "write our pid and the command's exit status there", 2 },
	{ "help", 'h', NULL, 0, "give this help list", -1 },
	{ "usage", KEY_USAGE, NULL, 0, "give a short usage message", -1 },
	{ 0 },
};

static int32_t number(struct argp_state *state, const char *option, const char *arg, int32_t max)
{
	char *end;

	errno = 0;
	long v = strtol(arg, &end, 10);
	if (!*arg || *end || errno || v < 0 || v > max)
		argp_error(state, "%s: not a number from 0 to %d: '%s'", option, max, arg);
	return (int32_t)v;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct helper *h = state->input;

	switch (key) {
	case KEY_TRACEFS:
		h->tracefs = arg;
		break;
	case KEY_INSTANCE:
		h->instance = arg;
		break;
	case KEY_ROOT:
		h->root = arg;
		break;
	case KEY_USER:
		h->user = arg;
		break;
	case KEY_STATUS_FD:
		h->status_fd = number(state, "--status-fd", arg, 1 << 20);
		break;
	case KEY_DURATION:
		h->duration = (uint32_t)number(state, "--duration", arg, 1000000);
		break;
	case KEY_PID:
		h->pid = number(state, "--pid", arg, WI_PID_MAX);
		break;
	case KEY_NO_MARKERS:
		h->no_markers = true;
		break;
	case KEY_WAIT:
		h->wait = true;
		break;
	case 'h':
		argp_state_help(state, stdout, ARGP_HELP_STD_HELP);
		break;
	case KEY_USAGE:
		argp_state_help(state, stdout, ARGP_HELP_USAGE | ARGP_HELP_EXIT_OK);
		break;
	case ARGP_KEY_ARG:
		h->command = &state->argv[state->next - 1];
		state->next = state->argc;
		break;
	default:
		return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

static const struct argp argp = {
	options,
	parse,
	"[--] [COMMAND [ARG...]]",
	"Writes topology, scheduler settings and tasks of this machine into the running trace, then runs COMMAND.",
	NULL,
	NULL,
	NULL,
};

static bool write_markers(const struct helper *h, struct wi_err *err)
{
	struct wi_filetree *all = NULL, *slim = NULL;
	struct wi_tracefs fs;
	uint32_t nr = 0, failed = 0;

	if (wi_tracefs_find(&fs, h->tracefs, err))
		all = wi_capture_root(h->root, true, err);
	if (all)
		slim = wi_machine_slim(all, err);
	bool ok = slim && wi_tracefs_write_markers(&fs, h->instance, slim, &nr, &failed, err);
	if (ok && failed)
		ok = wi_err_set(err, WI_EIO, "the kernel took %u of %u markers: is tracing on?", nr - failed, nr);
	wi_filetree_free(slim);
	wi_filetree_free(all);
	return ok;
}

static int run_command(const struct helper *h, struct wi_err *err)
{
	struct wi_run how = { .keep_fd = -1, .stop_secs = h->duration, .user = h->user };

	if (h->status_fd >= 0 || h->duration) {
		int status = wi_run(h->command, &how, err);

		return status < 0 ? 1 : status;
	}
	if (h->user && !wi_become_user(h->user, err))
		return 126;
	execvp(h->command[0], h->command);
	wi_err_set(err, WI_EIO, "cannot run %.200s: %s", h->command[0], strerror(errno));
	return errno == ENOENT ? 127 : 126;
}

int wi_cmd_record_exec(int argc, char **argv)
{
	struct helper h = { .status_fd = -1, .root = "/" };
	struct wi_err marker_err = { 0 }, err = { 0 };
	int status = 0;

	argp_parse(&argp, argc, argv, ARGP_IN_ORDER | ARGP_NO_HELP, NULL, &h);
	if (h.status_fd >= 0)
		fcntl(h.status_fd, F_SETFD, FD_CLOEXEC);
	/* Whoever interrupts wants the recording to end, not to lose it: a signal that comes now counts when we wait.
	 */
	if (h.wait)
		wi_hold_signals();
	if (h.status_fd >= 0)
		dprintf(h.status_fd, "pid %d\n", (int)getpid());
	/* A trace without markers is better than none: the command runs all the same. */
	if (!h.no_markers && !write_markers(&h, &marker_err)) {
		fprintf(stderr, "wakeif: the trace will lack topology and tasks: %s\n", marker_err.msg);
		if (!h.command && !h.wait)
			return WI_EIO;
	}
	if (h.command)
		status = run_command(&h, &err);
	else if (h.wait && !wi_wait(h.pid, h.duration, &err))
		status = WI_EIO;
	if (err.code)
		fprintf(stderr, "wakeif: %s\n", err.msg);
	if (h.status_fd >= 0)
		dprintf(h.status_fd, "status %d\n", status);
	return status;
}
