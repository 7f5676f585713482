/* SPDX-License-Identifier: GPL-2.0-or-later */
/* wakeif validate: a model's answers against what the kernel's own probes recorded, for one recording or several. */
#include <stdlib.h>
#include <string.h>

#include "analyzer/cmd_replay_opts.h"
#include "analyzer/cmd_validate_find.h"
#include "analyzer/report/validate.h"
#include "analyzer/report/validate_pool.h"
#include "analyzer/truth/dat.h"

enum { KEY_TRUTH = 0x200, KEY_NODECISION, KEY_TASKS };

struct validate_cmd {
	struct wi_replay_cmd r;	      /* first: the option groups take it */
	const char **paths, **truths; /* as the command line names them; of argc places */
	size_t nr_paths, nr_truths;
	const char *nodecision;
	bool tasks_of_truth;
};

/* One recording on its way. */
struct run {
	const struct validate_cmd *c;
	struct wi_recording files;
	struct wi_opts o; /* the command's, with what belongs to this recording */
	const char **tasks;
	struct wi_session s;
	struct wi_truth_dat *dat; /* NULL: the truth is a table */
	struct wi_validate *validate;
	const struct wi_validate_results *results;
};

static const struct argp_option own_options[] = {
	{ "truth", KEY_TRUTH, "FILE", 0,
	  "the kernel's own decisions: decisions.tsv, or the trace.dat of the probe events; plain or .zst (default: "
	  "X.decisions.tsv or X.truth.dat beside X.dat). With several "
	  "traces once for each, in their order, or not at all",
	  3 },
	{ "nodecision", KEY_NODECISION, "FILE", 0,
	  "wakeups that came to no decision (default: beside the truth, X.nodecision.tsv of X.decisions.tsv, plain or "
	  ".zst)",
	  3 },
	{ "tasks-of-truth", KEY_TASKS, NULL, 0,
	  "affinity and policy of tasks as the truth tells them, where no list of tasks was taken while they lived",
	  3 },
	{ 0 },
};

static void check_together(const struct validate_cmd *c, const struct argp_state *state)
{
	size_t nr = c->nr_paths ? c->nr_paths : 1;

	if (c->nr_truths && c->nr_truths != nr)
		argp_error(state, "--truth: %zu of them for %zu traces", c->nr_truths, nr);
	if (nr > 1 && (c->nodecision || c->r.o.nr_tasks))
		argp_error(state, "%s: belongs to one recording, and there are %zu",
			   c->nodecision ? "--nodecision" : "--tasks", nr);
	if (c->r.wanted.nr_specs > 1)
		argp_error(state, "-m: one model at a time");
}

static error_t own_key(int key, char *arg, struct argp_state *state)
{
	struct validate_cmd *c = state->input;

	switch (key) {
	case KEY_TRUTH:
		c->truths[c->nr_truths++] = arg;
		return 0;
	case KEY_NODECISION:
		c->nodecision = arg;
		return 0;
	case KEY_TASKS:
		c->tasks_of_truth = true;
		return 0;
	case ARGP_KEY_ARG:
		if (!*arg)
			argp_error(state, "the trace's name is empty");
		c->paths[c->nr_paths++] = arg;
		return c->nr_paths > 1 ? 0 : wi_replay_cmd_key(key, arg, state);
	case ARGP_KEY_END:
		check_together(c, state);
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

/* ---- one recording ---- */

/* The options with the recording's own files: those of a folder come first, so that the user's win. */
static bool own_options_of(struct run *r, struct wi_err *err)
{
	const struct wi_opts *all = &r->c->r.o;
	size_t n = 0;

	r->o = *all;
	r->o.path = r->files.trace;
	if (!all->topology)
		r->o.topology = r->files.topology;
	r->tasks = calloc(r->files.nr_tasks + all->nr_tasks + 1, sizeof(*r->tasks));
	if (!r->tasks)
		return wi_err_nomem(err);
	for (size_t i = 0; i < r->files.nr_tasks; i++)
		r->tasks[n++] = r->files.tasks[i];
	for (size_t i = 0; i < all->nr_tasks; i++)
		r->tasks[n++] = all->tasks[i];
	r->o.tasks = r->tasks;
	r->o.nr_tasks = n;
	return true;
}

/* The truth is a trace.dat of probe events. */
static bool open_dat(struct run *r, struct wi_validate_opts *o, struct wi_err *err)
{
	r->dat = wi_truth_dat_new(r->files.truth, err);
	o->open = wi_truth_dat_open;
	o->open_ctx = r->dat;
	return r->dat && wi_truth_dat_trace(r->dat, r->s.src, err);
}

static bool take_tasks_of_truth(struct run *r, struct wi_err *err)
{
	size_t nr;
	const struct wi_task_fact *facts = wi_validate_facts(r->validate, &nr);

	return wi_machine_add_facts(&r->s.machine, facts, nr, err);
}

static bool validate(struct run *r, struct wi_err *err)
{
	const struct validate_cmd *c = r->c;
	struct wi_replay_wanted w = c->r.wanted;
	struct wi_validate_opts o = { .truth = r->files.truth,
				      .nodecision = c->nodecision ? c->nodecision : r->files.nodecision,
				      .logic = true };

	wi_session_find_kernel(&r->s);
	o.topology = r->s.machine.topology;
	o.kernel_version = r->s.kernel;
	if (wi_truth_dat_is(r->files.truth) && !open_dat(r, &o, err))
		return false;
	r->validate = wi_validate_new(&o, err);
	if (!r->validate || (c->tasks_of_truth && !take_tasks_of_truth(r, err)))
		return false;
	w.specs = c->r.specs;
	w.kernel_too = !w.nr_specs;
	w.sink = wi_validate_sink;
	w.sink_ctx = w.sync_ctx = r->validate;
	w.sync_of = wi_validate_sync_of;
	w.observer = wi_validate_observer(r->validate);
	if (wi_session_replay(&r->s, &w, err))
		r->results = wi_validate_finish(r->validate, err);
	return r->results;
}

static bool begin(struct run *r, const struct validate_cmd *c, size_t i, struct wi_err *err)
{
	const char *path = i < c->nr_paths ? c->paths[i] : c->r.o.path;

	*r = (struct run){ .c = c };
	if (!wi_recording_find(&r->files, path, i < c->nr_truths ? c->truths[i] : NULL, err))
		return false;
	if (!r->files.truth)
		return wi_err_set(
			err, WI_EUSAGE,
			"--truth FILE is needed: what the kernel decided, recorded with probes; none is beside %.200s",
			path);
	return own_options_of(r, err) && wi_session_open(&r->s, &r->o, err) && validate(r, err);
}

/* Tells what was wrong; returns the exit status. */
static int end(struct run *r, struct wi_err *err)
{
	int status = wi_session_end(&r->s, err);

	wi_validate_free(r->validate);
	wi_truth_dat_free(r->dat);
	wi_recording_fini(&r->files);
	free(r->tasks);
	return status;
}

static const char *model_of(const struct run *r)
{
	return r->s.replayed->nr_models > 1 ? r->s.replayed->model[1].label : "no model";
}

/* What the replay has to note, and where the facts of tasks come from. The caller frees. */
static char *all_notes(const struct run *r)
{
	char *notes = NULL;

	if (asprintf(&notes, "%s%s", wi_session_replay_notes(&r->s),
		     r->c->tasks_of_truth ? "affinity and policy of tasks are the truth's\n" : "") < 0)
		return NULL;
	return notes;
}

static void json_members(struct wi_json *j, const void *ctx)
{
	wi_validate_json(j, ctx);
}

static bool print(FILE *out, const struct wi_report *rep, const void *ctx, struct wi_err *err)
{
	const struct run *r = ctx;
	struct wi_report with = *rep;
	char *notes = all_notes(r);
	bool ok = true;
	struct wi_validate_report p = { .rep = rep,
					.v = r->results,
					.model = model_of(r),
					.sync = r->c->r.sync_text,
					.notes = notes ? notes : "" };

	switch (r->o.format) {
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

static int validate_one(const struct validate_cmd *c)
{
	struct wi_err err = { 0 };
	struct run r;

	if (begin(&r, c, 0, &err))
		wi_session_print(&r.s, print, &r, &err);
	return end(&r, &err);
}

/* ---- several ---- */

static bool keep(struct wi_validated *one, const struct run *r, const char *path, struct wi_err *err)
{
	one->file = strdup(path);
	one->model = strdup(model_of(r));
	one->notes = all_notes(r);
	one->kernel = r->s.kernel;
	one->v = *r->results;
	return (one->file && one->model && one->notes) || wi_err_nomem(err);
}

static bool print_pools(const struct validate_cmd *c, const struct wi_validate_pool_report *p, struct wi_err *err)
{
	FILE *out = wi_out_open(c->r.o.out, err);
	bool ok = true;

	if (!out)
		return false;
	if (c->r.o.format == WI_FORMAT_JSON)
		wi_validate_pool_json(out, p);
	else if (c->r.o.format == WI_FORMAT_CSV)
		wi_validate_pool_csv(out, p);
	else
		ok = wi_validate_pool_text(out, p, err);
	return wi_out_close(out, c->r.o.out, err) && ok;
}

/* Damage in one is told and the others go on; an error ends it. */
static int validate_several(const struct validate_cmd *c)
{
	struct wi_validated *one = calloc(c->nr_paths, sizeof(*one));
	struct wi_validate_pool *pool = calloc(c->nr_paths + 1, sizeof(*pool));
	struct wi_validate_pool_report p = { one, c->nr_paths, pool, 0, c->r.sync_text, WAKEIF_VERSION };
	struct wi_err err = { 0 };
	int status = 0;

	if (!one || !pool)
		wi_err_nomem(&err);
	for (size_t i = 0; i < c->nr_paths && !err.code; i++) {
		struct run r;
		int found;

		if (begin(&r, c, i, &err))
			keep(&one[i], &r, c->paths[i], &err);
		found = end(&r, &err);
		status = found ? found : status;
	}
	if (!err.code) {
		p.nr_pools = wi_validate_pool(one, c->nr_paths, pool);
		if (!print_pools(c, &p, &err))
			status = wi_cmd_fail(&err);
	} else if (!status) {
		status = wi_cmd_fail(&err);
	}
	for (size_t i = 0; one && i < c->nr_paths; i++)
		wi_validated_fini(&one[i]);
	free(one);
	free(pool);
	return status;
}

int wi_cmd_validate(int argc, char **argv)
{
	const struct argp argp = {
		own_options,
		own_key,
		"[FILE|FOLDER...]",
		"How far a model's answers agree with what the kernel decided, by its own account: a file of decisions "
		"recorded with "
		"probes beside the trace. Doubtful decisions are tagged by the trace alone; the decision logic is "
		"checked from the "
		"kernel's own state where the truth holds it. Of several recordings each has a row, and their sums by "
		"kernel follow. A "
		"folder is a recording that holds trace.dat, decisions.tsv or truth.dat, topology.tar.gz, "
		"tasks.before, tasks.during.\v"
		"--sync recorded takes WF_SYNC from the truth. doc/replay.md says what each number means.",
		children,
		NULL,
		NULL
	};
	struct validate_cmd c = { .paths = calloc((size_t)argc + 1, sizeof(*c.paths)),
				  .truths = calloc((size_t)argc + 1, sizeof(*c.truths)) };
	struct wi_err err = { 0 };
	int status;

	if (!c.paths || !c.truths) {
		wi_err_nomem(&err);
		status = wi_cmd_fail(&err);
	} else {
		wi_opts_parse(&argp, argc, argv, &c.r.o);
		status = c.nr_paths > 1 ? validate_several(&c) : validate_one(&c);
		wi_opts_fini(&c.r.o);
	}
	free(c.paths);
	free(c.truths);
	return status;
}
