/* SPDX-License-Identifier: GPL-2.0-or-later */
/* wakeif validate: a model's answers against what the kernel's own probes recorded. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analyzer/cmd_replay_opts.h"
#include "analyzer/report/validate.h"
#include "analyzer/truth/dat.h"

enum { KEY_TRUTH = 0x200, KEY_NODECISION, KEY_TASKS };

struct validate_cmd {
	struct wi_replay_cmd r; /* first: the option groups take it */
	const char *truth, *nodecision;
	bool tasks_of_truth;
	struct wi_truth_dat *dat; /* NULL: the truth is a table */
	struct wi_validate *validate;
	const struct wi_validate_results *results;
};

static const struct argp_option own_options[] = {
	{ "truth", KEY_TRUTH, "FILE", 0, "the kernel's own decisions: decisions.tsv, or the trace.dat of the probe events; plain or .zst", 3 },
	{ "nodecision", KEY_NODECISION, "FILE", 0, "wakeups that came to no decision (default: beside the truth, X.nodecision.tsv of X.decisions.tsv, plain or .zst)", 3 },
	{ "tasks-of-truth", KEY_TASKS, NULL, 0, "affinity and policy of tasks as the truth tells them, where no list of tasks was taken while they lived", 3 },
	{ 0 },
};

static error_t own_key(int key, char *arg, struct argp_state *state)
{
	struct validate_cmd *c = state->input;

	switch (key) {
	case KEY_TRUTH:
		c->truth = arg;
		return 0;
	case KEY_NODECISION:
		c->nodecision = arg;
		return 0;
	case KEY_TASKS:
		c->tasks_of_truth = true;
		return 0;
	case ARGP_KEY_END:
		if (!c->truth)
			argp_error(state, "--truth FILE is needed: what the kernel decided, recorded with probes");
		if (c->r.wanted.nr_specs > 1)
			argp_error(state, "-m: one model at a time");
		break;
	default:
		break;
	}
	return wi_replay_cmd_key(key, arg, state);
}

static const struct argp_child children[] = {
	{ &wi_argp_input, 0, "Input:", 1 },
	{ &wi_argp_models, 0, "Model:", 2 },
	{ &wi_argp_output, 0, "Output:", 4 },
	{ &wi_argp_common, 0, NULL, -1 },
	{ 0 },
};

/* "DIR/X.decisions.tsv.zst" -> "DIR/X.nodecision.tsv.zst", plain or packed, if it is there; else without X. The caller frees. */
static char *beside(const char *truth)
{
	static const char *const names[] = { "nodecision.tsv.zst", "nodecision.tsv" };
	const char *slash = strrchr(truth, '/'), *base = slash ? slash + 1 : truth;
	const char *own = strstr(base, "decisions.tsv");
	const size_t lens[] = { own ? (size_t)(own - truth) : (size_t)(base - truth), (size_t)(base - truth) };

	for (size_t i = 0; i < 4; i++) {
		char *path = NULL;

		if (asprintf(&path, "%.*s%s", (int)lens[i / 2], truth, names[i % 2]) < 0)
			return NULL;
		if (!access(path, R_OK))
			return path;
		free(path);
	}
	return NULL;
}

static void json_members(struct wi_json *j, const void *ctx)
{
	wi_validate_json(j, ctx);
}

struct printing {
	const struct validate_cmd *c;
	const struct wi_session *s;
};

/* What the replay has to note, and where the facts of tasks come from. The caller frees. */
static char *all_notes(const struct validate_cmd *c, const struct wi_session *s)
{
	char *notes = NULL;

	if (asprintf(&notes, "%s%s", wi_session_replay_notes(s), c->tasks_of_truth ? "affinity and policy of tasks are the truth's\n" : "") < 0)
		return NULL;
	return notes;
}

static bool print(FILE *out, const struct wi_report *rep, const void *ctx, struct wi_err *err)
{
	const struct printing *pr = ctx;
	struct wi_report with = *rep;
	char *notes = all_notes(pr->c, pr->s);
	bool ok = true;
	struct wi_validate_report p = { .rep = rep,
					.v = pr->c->results,
					.model = pr->s->replayed->nr_models > 1 ? pr->s->replayed->model[1].label : "no model",
					.sync = pr->c->r.sync_text,
					.notes = notes ? notes : "" };

	switch (pr->c->r.o.format) {
	case WI_FORMAT_JSON:
		with.members = json_members;
		with.members_ctx = &p;
		ok = wi_report_json(out, &with, 0, err);
		break;
	case WI_FORMAT_CSV:
		wi_validate_csv(out, &p);
		break;
	default:
		wi_cmd_headline(out, rep);
		ok = wi_validate_text(out, &p, err);
		break;
	}
	free(notes);
	return ok;
}

/* The truth is a trace.dat of probe events. */
static bool open_dat(struct validate_cmd *c, struct wi_session *s, struct wi_validate_opts *o, struct wi_err *err)
{
	c->dat = wi_truth_dat_new(c->truth, err);
	o->open = wi_truth_dat_open;
	o->open_ctx = c->dat;
	return c->dat && wi_truth_dat_trace(c->dat, s->src, err);
}

static bool validate(struct validate_cmd *c, struct wi_session *s, struct wi_err *err)
{
	struct wi_replay_wanted *w = &c->r.wanted;
	struct wi_validate_opts o = { .truth = c->truth, .nodecision = c->nodecision, .logic = true };
	char *found = c->nodecision ? NULL : beside(c->truth);

	if (found)
		o.nodecision = found;
	wi_session_find_kernel(s);
	o.topology = s->machine.topology;
	o.kernel_version = s->kernel;
	if (!wi_truth_dat_is(c->truth) || open_dat(c, s, &o, err))
		c->validate = wi_validate_new(&o, err);
	if (c->validate && c->tasks_of_truth) {
		size_t nr;
		const struct wi_task_fact *facts = wi_validate_facts(c->validate, &nr);

		if (!wi_machine_add_facts(&s->machine, facts, nr, err)) {
			wi_validate_free(c->validate);
			c->validate = NULL;
		}
	}
	if (c->validate) {
		w->specs = c->r.specs;
		w->kernel_too = !w->nr_specs;
		w->sink = wi_validate_sink;
		w->sink_ctx = w->sync_ctx = c->validate;
		w->sync_of = wi_validate_sync_of;
		w->observer = wi_validate_observer(c->validate);
		if (wi_session_replay(s, w, err))
			c->results = wi_validate_finish(c->validate, err);
	}
	free(found);
	return c->results;
}

int wi_cmd_validate(int argc, char **argv)
{
	const struct argp argp = { own_options,
				   own_key,
				   "[FILE]",
				   "How far a model's answers agree with what the kernel decided, by its own account: a file of decisions recorded with "
				   "probes beside the trace. Doubtful decisions are tagged by the trace alone; the decision logic is checked from the "
				   "kernel's own state where the truth holds it.\v"
				   "--sync recorded takes WF_SYNC from the truth. doc/replay.md says what each number means.",
				   children,
				   NULL,
				   NULL };
	struct validate_cmd c = { .truth = NULL };
	struct wi_session s = { 0 };
	struct wi_err err = { 0 };
	const struct printing pr = { &c, &s };
	int status;

	wi_opts_parse(&argp, argc, argv, &c.r.o);
	if (wi_session_open(&s, &c.r.o, &err) && validate(&c, &s, &err))
		wi_session_print(&s, print, &pr, &err);
	status = wi_session_end(&s, &err);
	wi_validate_free(c.validate);
	wi_truth_dat_free(c.dat);
	wi_opts_fini(&c.r.o);
	return status;
}
