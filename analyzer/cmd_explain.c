/* SPDX-License-Identifier: GPL-2.0-or-later */
/* wakeif explain: one wakeup step by step, as models and the kernel saw it. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/base/fmt.h"
#include "analyzer/cmd_replay_opts.h"
#include "analyzer/report/explain.h"

enum { KEY_AT = 0x200, KEY_NR };

struct explain_cmd {
	struct wi_replay_cmd r; /* first: the option groups take it */
	const char *at;
	uint64_t from_ns;
	int32_t pid;
	uint32_t nr;
	struct wi_explain *explain;
	const struct wi_explained *found;
	size_t nr_found;
};

static const struct argp_option own_options[] = {
	{ "at", KEY_AT, "STAMP", 0, "the wakeup whose sched_waking is nearest at or after STAMP, in seconds as reports print them", 3 },
	{ "pid", 'p', "N", 0, "wakeups of task N; without --at the first ones of the trace", 3 },
	{ "nr", KEY_NR, "K", 0, "so many wakeups, one after another (default: 1)", 3 },
	{ 0 },
};

static uint32_t number(const char *arg, const char *option, uint32_t min, uint32_t max, struct argp_state *state)
{
	char *end;
	unsigned long n;

	errno = 0;
	n = strtoul(arg, &end, 10);
	if (errno || *end || arg[0] < '0' || arg[0] > '9' || n < min || n > max)
		argp_error(state, "%s: not a number of %" PRIu32 " to %" PRIu32 ": '%s'", option, min, max, arg);
	return (uint32_t)n;
}

/* Reports round stamps to the digits that they print: what is shown as STAMP may lie half a digit before it. */
static void parse_at(struct explain_cmd *c, const char *arg, struct argp_state *state)
{
	const char *point = strchr(arg, '.');
	size_t digits = point ? strlen(point + 1) : 0;
	struct wi_time_range range;
	struct wi_err err = { 0 };
	uint64_t half = 500000000;
	char text[64];

	snprintf(text, sizeof(text), "%s,", arg);
	if (!*arg || strlen(arg) > 40 || strpbrk(arg, ",%") || !wi_time_range_parse(text, &range, &err))
		argp_error(state, "--at: not a stamp in seconds: '%s'", arg);
	for (size_t i = 0; i < digits; i++)
		half /= 10;
	c->at = arg;
	c->from_ns = digits && range.start_ns > half ? range.start_ns - half : range.start_ns;
}

static error_t own_key(int key, char *arg, struct argp_state *state)
{
	struct explain_cmd *c = state->input;

	switch (key) {
	case KEY_AT:
		parse_at(c, arg, state);
		return 0;
	case 'p':
		c->pid = (int32_t)number(arg, "--pid", 0, INT32_MAX, state);
		return 0;
	case KEY_NR:
		c->nr = number(arg, "--nr", 1, WI_EXPLAIN_MAX, state);
		return 0;
	case ARGP_KEY_END:
		if (!c->at && c->pid < 0)
			argp_error(state, "--at STAMP or --pid N is needed: which wakeup?");
		break;
	default:
		break;
	}
	return wi_replay_cmd_key(key, arg, state);
}

static const struct argp_child children[] = {
	{ &wi_argp_input, 0, "Input:", 1 },
	{ &wi_argp_models, 0, "Models:", 2 },
	{ &wi_argp_output, 0, "Output:", 4 },
	{ &wi_argp_common, 0, NULL, -1 },
	{ 0 },
};

static void json_members(struct wi_json *j, const void *ctx)
{
	wi_explain_json(j, ctx);
}

struct printing {
	const struct explain_cmd *c;
	const struct wi_session *s;
};

static bool print(FILE *out, const struct wi_report *rep, const void *ctx, struct wi_err *err)
{
	const struct printing *pr = ctx;
	struct wi_report with = *rep;
	struct wi_explain_report p = { .rep = rep,
				       .x = pr->c->found,
				       .nr = pr->c->nr_found,
				       .r = pr->s->replayed,
				       .names = pr->s->names,
				       .notes = wi_session_replay_notes(pr->s) };

	if (pr->c->r.o.format == WI_FORMAT_JSON) {
		with.members = json_members;
		with.members_ctx = &p;
		return wi_report_json(out, &with, 0, err);
	}
	wi_cmd_headline(out, rep);
	return wi_explain_text(out, &p, err);
}

/* No such wakeup: which of the conditions was it? */
static bool nothing(const struct explain_cmd *c, const struct wi_session *s, struct wi_err *err)
{
	struct wi_explain_seen seen = wi_explain_seen(c->explain);
	char last[WI_FMT_LEN];

	if (!seen.wakeups)
		return wi_err_at(err, WI_EREFUSED, s->o->path, WI_NO_OFFSET, "no wakeup in the window");
	if (!seen.of_pid)
		return wi_err_at(err, WI_EREFUSED, s->o->path, WI_NO_OFFSET, "no wakeup of task %" PRId32 " in the window, which has %" PRIu64, c->pid,
				 seen.wakeups);
	return wi_err_at(err, WI_EREFUSED, s->o->path, WI_NO_OFFSET, "no wakeup%s at or after %s: the last one is at %s", c->pid >= 0 ? " of that task" : "",
			 c->at, wi_fmt_stamp(last, sizeof(last), seen.last_ns, false));
}

static bool explain(struct explain_cmd *c, struct wi_session *s, struct wi_err *err)
{
	struct wi_replay_wanted *w = &c->r.wanted;
	struct wi_explain_opts o = { .topology = s->machine.topology, .timeline = &s->timeline, .from_ns = c->from_ns, .pid = c->pid, .nr = c->nr };

	c->explain = wi_explain_new(&o, err);
	if (!c->explain)
		return false;
	w->specs = c->r.specs;
	w->kernel_too = true;
	w->sink = wi_explain_sink;
	w->sink_ctx = c->explain;
	w->observer = wi_explain_observer(c->explain);
	if (!wi_session_replay(s, w, err))
		return false;
	c->found = wi_explain_finish(c->explain, &c->nr_found, err);
	if (!c->found)
		return false;
	return c->nr_found || nothing(c, s, err);
}

int wi_cmd_explain(int argc, char **argv)
{
	const struct argp argp = { own_options,
				   own_key,
				   "[FILE]",
				   "One wakeup step by step: who woke whom, which CPUs were idle, each rule that the model of the recording's kernel tries, "
				   "what it and the other models choose and why, what the kernel chose, and what came of it.\v"
				   "Estimates (loads, wakee_flips, nr_idle_scan, has_idle_cores) are named as such; doc/replay.md says how they are made.",
				   children,
				   NULL,
				   NULL };
	struct explain_cmd c = { .pid = -1, .nr = 1 };
	struct wi_session s = { 0 };
	struct wi_err err = { 0 };
	const struct printing pr = { &c, &s };
	int status;

	wi_opts_parse(&argp, argc, argv, &c.r.o);
	if (c.r.o.format == WI_FORMAT_CSV)
		wi_err_set(&err, WI_EUSAGE, "explain writes text or JSON, no CSV");
	if (!err.code && wi_session_open(&s, &c.r.o, &err) && explain(&c, &s, &err))
		wi_session_print(&s, print, &pr, &err);
	status = wi_session_end(&s, &err);
	wi_explain_free(c.explain);
	wi_opts_fini(&c.r.o);
	return status;
}
