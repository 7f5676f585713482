/* SPDX-License-Identifier: GPL-2.0-or-later */
/* wakeif workload: the tapes of a trace, and how much of it they explain. */
#include "analyzer/cmd_workload.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "analyzer/base/fmt.h"
#include "analyzer/cmd_saved.h"
#include "analyzer/report/workload.h"
#include "analyzer/sim/tally_recorded.h"

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
	{ "no-orders", KEY_NO_ORDERS, NULL, 0, "infer nothing that left no event: no soft order edges, no requests to a server that was awake",
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
	w->chosen |= key != ARGP_KEY_INIT;
	return 0;
}

const struct argp wi_argp_workload = { options, workload_key, NULL, NULL, NULL, NULL, NULL };

enum { KEY_SYNC = 0x500, KEY_SAVE };

static const struct argp_option own_options[] = {
	{ "sync", KEY_SYNC, "learned|recorded|never|always", 0,
	  "how WF_SYNC of a wakeup is found (default: learned; as recorded where it was)", 0 },
	{ "save", KEY_SAVE, "PATH", 0, "save the workload: simulate takes PATH in place of the trace", 0 },
	{ 0 },
};

struct own_cmd {
	struct wi_workload_cmd c; /* first: it begins with the struct wi_opts of the option groups */
	const char *save;	  /* NULL: no */
	struct wi_session s;
	struct wi_workload *w;
	struct wi_tally_recorded *tally; /* of what is saved */
};

static error_t own_key(int key, char *arg, struct argp_state *state)
{
	struct own_cmd *own = state->input;
	struct wi_workload_cmd *c = &own->c;

	if (key == KEY_SAVE) {
		own->save = arg;
		return 0;
	}
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

static bool print(FILE *out, const struct wi_report *rep, const void *ctx, struct wi_err *err)
{
	const struct own_cmd *own = ctx;
	struct wi_report with = *rep;

	if (own->c.r.o.format == WI_FORMAT_JSON) {
		with.members = json_members;
		with.members_ctx = own->w;
		return wi_report_json(out, &with, 0, err);
	}
	wi_cmd_headline(out, rep);
	return wi_workload_text(out, own->w, rep->verbose, err);
}

/* ---- a trace ---- */

static void bind(void *ctx, struct wi_timeline *tl)
{
	struct own_cmd *own = ctx;

	wi_tally_recorded_bind(own->tally, tl);
}

static bool save(struct own_cmd *own, struct wi_err *err)
{
	struct wi_tally_result recorded = { 0 };
	bool ok = wi_tally_recorded_finish(own->tally, &recorded, err) &&
		  wi_saved_write(own->w, &recorded, own->save, err);

	wi_tally_result_fini(&recorded);
	return ok;
}

static bool same_file(const char *a, const char *b)
{
	struct stat x, y;

	return !stat(a, &x) && !stat(b, &y) && S_ISREG(x.st_mode) && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

static bool take(struct own_cmd *own, struct wi_err *err)
{
	struct wi_workload_wanted *wanted = &own->c.wanted;

	if (own->save && wanted->nr_smt_speeds)
		return wi_err_set(err, WI_EUSAGE, "--save: SMT speeds by name are not kept in a saved workload");
	if (own->save && same_file(own->save, own->c.r.o.path))
		return wi_err_set(err, WI_EUSAGE, "--save: %s is the trace itself", own->save);
	if (!wi_session_open(&own->s, &own->c.r.o, err))
		return false;
	if (own->save) {
		const struct wi_tally_opts to = { .topology = own->s.machine.topology };

		own->tally = wi_tally_recorded_new(&to, err);
		if (!own->tally)
			return false;
		wanted->observer = wi_tally_recorded_observer(own->tally);
		wanted->bind = bind;
		wanted->bind_ctx = own;
	}
	own->w = wi_session_workload(&own->s, wanted, err);
	return own->w && (!own->save || save(own, err)) && wi_session_print(&own->s, print, own, err);
}

/* ---- a saved workload ---- */

static bool show(struct own_cmd *own, struct wi_err *err)
{
	const struct wi_opts *o = &own->c.r.o;
	struct wi_saved saved = { 0 };
	FILE *out = NULL;
	bool ok;

	if (own->save)
		wi_err_set(err, WI_EUSAGE, "--save: %s is a saved workload", o->path);
	ok = !err->code && wi_cmd_saved_open(&own->c, &saved, err);
	out = ok ? wi_out_open(o->out, err) : NULL;
	if (out && o->format == WI_FORMAT_JSON) {
		wi_cmd_saved_json(out, o, saved.workload, json_members, saved.workload);
	} else if (out) {
		wi_cmd_saved_headline(out, o, saved.workload);
		ok = wi_workload_text(out, saved.workload, o->verbose, err);
	}
	ok = out && wi_out_close(out, o->out, err) && ok;
	wi_saved_fini(&saved);
	return ok;
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
	struct own_cmd own = { .save = NULL };
	struct wi_err err = { 0 };
	int status;

	wi_opts_parse(&argp, argc, argv, &own.c.r.o);
	if (own.c.r.o.format == WI_FORMAT_CSV)
		wi_err_set(&err, WI_EUSAGE, "workload writes text or JSON, no CSV");
	if (!err.code && wi_saved_is(own.c.r.o.path)) {
		status = show(&own, &err) ? WI_OK : wi_cmd_fail(&err);
	} else {
		if (!err.code)
			take(&own, &err);
		wi_workload_free(own.w);
		wi_tally_recorded_free(own.tally);
		status = wi_session_end(&own.s, &err);
	}
	wi_opts_fini(&own.c.r.o);
	return status;
}
