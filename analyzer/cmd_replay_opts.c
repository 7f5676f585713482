/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analyzer/cmd_replay_opts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { KEY_SYNC = 0x300, KEY_HISTORY, KEY_SEED, KEY_COOKIES };

static const struct argp_option options[] = {
	{ "model", 'm', "MODEL[,NAME=VALUE...]", 0,
	  "a model (wakeif models lists them), linux-auto for the recording's own kernel, or a plug-in by its path; "
	  "may "
	  "be given several times",
	  0 },
	{ "sync", KEY_SYNC, "learned|recorded|never|always", 0,
	  "how WF_SYNC of a wakeup is found (default: learned; as recorded where it was)", 0 },
	{ "history", KEY_HISTORY, "own|observed", 0,
	  "what models with a memory remember: their own answers, or what the kernel did (default: observed for the "
	  "model "
	  "of the recording's kernel, own for the others)",
	  0 },
	{ "cookies", KEY_COOKIES, "tgid|comm|cgroup|FILE", 0,
	  "cookies of tasks, for models with core scheduling (see wakeif smt --cookies)", 0 },
	{ "seed", KEY_SEED, "N", 0, "for models that draw lots (default: 1)", 0 },
	{ 0 },
};

#define SHOWN 500 /* longest spec that is shown again */

/* A wrong spec, shown with a caret below the first wrong character. */
static void refuse_spec(const char *text, size_t at, const struct wi_err *err)
{
	size_t width = 0;

	for (size_t i = 0; i < at && text[i]; i++)
		width += ((unsigned char)text[i] & 0xc0) != 0x80;
	wi_cmd_fail(err);
	for (const char *c = text; *c && (unsigned char)*c >= 0x20 && *c != 0x7f && c < text + SHOWN; c++)
		if (!c[1])
			fprintf(stderr, "  -m %s\n     %*s^\n", text, (int)width, "");
	exit((int)err->code);
}

static bool pick(const char *arg, const char *const *names, int nr, int *value)
{
	for (int i = 0; i < nr; i++)
		if (!strcmp(arg, names[i])) {
			*value = i;
			return true;
		}
	return false;
}

static void parse_seed(const char *arg, struct wi_replay_cmd *c, struct argp_state *state)
{
	char *end;

	errno = 0;
	c->wanted.seed = strtoull(arg, &end, 10);
	if (errno || *end || arg[0] < '0' || arg[0] > '9')
		argp_error(state, "--seed: not a number below 2^64: '%s'", arg);
}

static error_t models_key(int key, char *arg, struct argp_state *state)
{
	static const char *const sync[] = {
#define X(id, name) name,
		WI_SYNC_MODES(X)
#undef X
	};
	static const char *const history[] = { "", "own", "observed" };
	struct wi_replay_cmd *c = state->input;
	struct wi_err err = { 0 };
	size_t at = 0;
	int value = 0;

	switch (key) {
	case ARGP_KEY_INIT:
		c->wanted.seed = 1;
		c->sync_text = "learned";
		break;
	case 'm':
		if (c->wanted.nr_specs == WI_REPLAY_MODELS)
			argp_error(state, "-m: more than %u models", WI_REPLAY_MODELS);
		if (!wi_replay_spec_check(arg, &at, &err))
			refuse_spec(arg, at, &err);
		c->specs[c->wanted.nr_specs++] = arg;
		break;
	case KEY_SYNC:
		if (!pick(arg, sync, WI_NR_SYNC_MODES, &value))
			argp_error(state, "--sync: neither learned, recorded, never nor always: '%s'", arg);
		c->wanted.sync = (enum wi_sync_mode)value;
		c->sync_text = arg;
		break;
	case KEY_HISTORY:
		if (!*arg || !pick(arg, history, 3, &value))
			argp_error(state, "--history: neither own nor observed: '%s'", arg);
		c->wanted.history = (enum wi_history)value;
		break;
	case KEY_COOKIES:
		c->wanted.cookies = arg;
		break;
	case KEY_SEED:
		parse_seed(arg, c, state);
		break;
	default:
		return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

const struct argp wi_argp_models = { options, models_key, NULL, NULL, NULL, NULL, NULL };

error_t wi_replay_cmd_key(int key, char *arg, struct argp_state *state)
{
	return wi_opts_key(key, arg, state);
}

struct printing {
	struct wi_replay_cmd *c;
	const struct wi_session *s;
	bool (*text)(FILE *out, const struct wi_replay_report *p, struct wi_err *err);
};

static void json_members(struct wi_json *j, const void *ctx)
{
	wi_replay_json(j, ctx);
}

static bool print(FILE *out, const struct wi_report *rep, const void *ctx, struct wi_err *err)
{
	const struct printing *pr = ctx;
	struct wi_report with = *rep;
	struct wi_replay_report p = { .rep = rep,
				      .r = pr->s->replayed,
				      .notes = wi_session_replay_notes(pr->s),
				      .sync = pr->c->sync_text,
				      .verbose = rep->verbose,
				      .hist = pr->c->hist };

	switch (pr->c->o.format) {
	case WI_FORMAT_JSON:
		with.members = json_members;
		with.members_ctx = &p;
		return wi_report_json(out, &with, 0, err);
	case WI_FORMAT_CSV:
		wi_replay_csv(out, &p);
		return true;
	default:
		wi_cmd_headline(out, rep);
		return pr->text(out, &p, err);
	}
}

int wi_replay_cmd_run(struct wi_replay_cmd *c,
		      bool (*text)(FILE *out, const struct wi_replay_report *p, struct wi_err *err), struct wi_err *err)
{
	struct wi_session s = { .o = &c->o };
	const struct printing pr = { c, &s, text };
	int status;

	c->wanted.specs = c->specs;
	if (!err->code && wi_session_open(&s, &c->o, err) && wi_session_replay(&s, &c->wanted, err))
		wi_session_print(&s, print, &pr, err);
	status = wi_session_end(&s, err);
	wi_opts_fini(&c->o);
	return status;
}
