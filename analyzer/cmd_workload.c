/* SPDX-License-Identifier: GPL-2.0-or-later */
/* wakeif workload: the tapes of a trace, and how much of it they explain. */
#include "analyzer/cmd_workload.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/base/fmt.h"
#include "analyzer/report/workload.h"

enum { KEY_EDGE = 0x400, KEY_SMT_SPEED, KEY_HOST_CPUS, KEY_SOFTIRQ, KEY_NO_ORDERS };

#define DEFAULT_SMT_SPEED 635u /* 0.62 */

static const struct argp_option options[] = {
	{ "edge", KEY_EDGE, "group|strict|any", 0,
	  "which wakes can end a block: those of wakers with the recorded waker's name (group, the default), the "
	  "recorded one alone (strict), all (any)",
	  0 },
	{ "smt-speed", KEY_SMT_SPEED, "S[,COMM=S...]", 0,
	  "speed of a thread beside a busy SMT sibling, 0.5 .. 1 of its speed alone (default: 0.62); by name (a glob "
	  "pattern) where it differs",
	  0 },
	{ "host-cpus", KEY_HOST_CPUS, "N", 0, "the recording is a guest's whose virtual CPUs shared N CPUs of the host",
	  0 },
	{ "softirq", KEY_SOFTIRQ, "auto|external", 0,
	  "wakes in softirq context: the interrupted task's own work where most of the wakee's are (auto, the "
	  "default), or nobody's",
	  0 },
	{ "no-orders", KEY_NO_ORDERS, NULL, 0, "no soft order edges between a waker and the wakee that preempted it",
	  0 },
	{ 0 },
};

int wi_cmd_pick(const char *arg, const char *list)
{
	size_t len = strlen(arg);
	int nr = 0;

	for (const char *p = list; len && *p; nr++) {
		size_t n = strcspn(p, "|");

		if (n == len && !strncmp(p, arg, n))
			return nr;
		p += n + (p[n] == '|');
	}
	return -1;
}

bool wi_smt_speed_parse(const char *text, uint32_t *speed)
{
	char *end;
	double v = strtod(text, &end);

	if (end == text || *end || !(v >= 0.5 && v <= 1))
		return false;
	*speed = (uint32_t)(v * 1024 + 0.5);
	return true;
}

/* "0.62,mysqld=0.7": changes arg. */
static bool parse_speeds(char *arg, struct wi_workload_wanted *w)
{
	char *next;

	for (char *part = arg; part; part = next) {
		next = strchr(part, ',');
		if (next)
			*next++ = '\0';
		char *eq = strrchr(part, '=');

		if (!eq) {
			if (!wi_smt_speed_parse(part, &w->smt_speed))
				return false;
			continue;
		}
		*eq = '\0';
		if (w->nr_smt_speeds == WI_SMT_SPEEDS ||
		    !wi_smt_speed_parse(eq + 1, &w->smt_speed_of[w->nr_smt_speeds].speed))
			return false;
		w->smt_speed_of[w->nr_smt_speeds++].comm = part;
	}
	return true;
}

static error_t workload_key(int key, char *arg, struct argp_state *state)
{
	struct wi_workload_wanted *w = &((struct wi_workload_cmd *)state->input)->wanted;
	char *end;
	int i;

	switch (key) {
	case ARGP_KEY_INIT:
		w->smt_speed = DEFAULT_SMT_SPEED;
		break;
	case KEY_EDGE:
		i = wi_cmd_pick(arg, "group|strict|any");
		if (i < 0)
			argp_error(state, "--edge: neither group, strict nor any: '%s'", arg);
		w->edge = (enum wi_edge)i;
		break;
	case KEY_SMT_SPEED:
		if (!parse_speeds(arg, w))
			argp_error(state, "--smt-speed: not a speed of 0.5 .. 1, or more than %u names: '%s'",
				   WI_SMT_SPEEDS, arg);
		break;
	case KEY_HOST_CPUS: {
		unsigned long n = strtoul(arg, &end, 10);

		if (*end || arg[0] < '0' || arg[0] > '9' || !n || n > 65536)
			argp_error(state, "--host-cpus: not a number of CPUs: '%s'", arg);
		w->host_cpus = (uint32_t)n;
		break;
	}
	case KEY_SOFTIRQ:
		i = wi_cmd_pick(arg, "auto|external");
		if (i < 0)
			argp_error(state, "--softirq: neither auto nor external: '%s'", arg);
		w->softirq_external = i == 1;
		break;
	case KEY_NO_ORDERS:
		w->no_orders = true;
		break;
	default:
		return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

const struct argp wi_argp_workload = { options, workload_key, NULL, NULL, NULL, NULL, NULL };

enum { KEY_SYNC = 0x500 };

static const struct argp_option own_options[] = {
	{ "sync", KEY_SYNC, "learned|recorded|never|always", 0,
	  "how WF_SYNC of a wakeup is found (default: learned; as recorded where it was)", 0 },
	{ 0 },
};

static error_t own_key(int key, char *arg, struct argp_state *state)
{
	struct wi_workload_cmd *c = state->input;

	if (key == KEY_SYNC) {
		int i = wi_cmd_pick(arg, "learned|recorded|never|always");

		if (i < 0)
			argp_error(state, "--sync: neither learned, recorded, never nor always: '%s'", arg);
		c->wanted.sync = (enum wi_sync_mode)i;
		return 0;
	}
	return wi_replay_cmd_key(key, arg, state);
}

static const struct argp_child children[] = {
	{ &wi_argp_input, 0, "Input:", 1 },
	{ &wi_argp_workload, 0, "Workload:", 2 },
	{ &wi_argp_output, 0, "Output:", 4 },
	{ &wi_argp_common, 0, NULL, -1 },
	{ 0 },
};

static void json_members(struct wi_json *j, const void *ctx)
{
	wi_workload_json(j, ctx);
}

struct printing {
	const struct wi_workload_cmd *c;
	const struct wi_workload *w;
};

static bool print(FILE *out, const struct wi_report *rep, const void *ctx, struct wi_err *err)
{
	const struct printing *p = ctx;
	struct wi_report with = *rep;

	if (p->c->r.o.format == WI_FORMAT_JSON) {
		with.members = json_members;
		with.members_ctx = p->w;
		return wi_report_json(out, &with, 0, err);
	}
	wi_cmd_headline(out, rep);
	return wi_workload_text(out, p->w, rep->verbose, err);
}

int wi_cmd_workload(int argc, char **argv)
{
	const struct argp argp = {
		own_options,
		own_key,
		"[FILE]",
		"Takes the workload out of a trace: how long each task runs before it wakes somebody, blocks or ends, "
		"free of "
		"the placement that it was recorded under. Tells how much of the trace that explains.\v"
		"doc/workload.md says what each number means.",
		children,
		NULL,
		NULL
	};
	struct wi_workload_cmd c = { .wanted = { .smt_speed = 0 } };
	struct wi_session s = { 0 };
	struct wi_err err = { 0 };
	struct printing p = { .c = &c };
	struct wi_workload *w = NULL;
	int status;

	wi_opts_parse(&argp, argc, argv, &c.r.o);
	if (c.r.o.format == WI_FORMAT_CSV)
		wi_err_set(&err, WI_EUSAGE, "workload writes text or JSON, no CSV");
	if (!err.code && wi_session_open(&s, &c.r.o, &err))
		w = wi_session_workload(&s, &c.wanted, &err);
	p.w = w;
	if (w)
		wi_session_print(&s, print, &p, &err);
	wi_workload_free(w);
	status = wi_session_end(&s, &err);
	wi_opts_fini(&c.r.o);
	return status;
}
