/* SPDX-License-Identifier: GPL-2.0-or-later */
/* wakeif topology: what is believed about a machine, and capturing it. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analyzer/report/topology.h"
#include "analyzer/session.h"
#include "analyzer/topology/capture.h"
#include "analyzer/topology/topology.h"

struct topology_cmd {
	struct wi_opts o;
	bool capture;
};

enum { KEY_CAPTURE = 0x200 };

static const struct argp_option own_options[] = {
	{ "capture", KEY_CAPTURE, NULL, 0,
	  "write this machine's topology, scheduler settings and tasks into the archive -o FILE.tar.gz, for traces "
	  "recorded without wakeif",
	  2 },
	{ 0 },
};

static error_t own_key(int key, char *arg, struct argp_state *state)
{
	struct topology_cmd *t = state->input;

	if (key != KEY_CAPTURE)
		return wi_opts_key(key, arg, state);
	t->capture = true;
	return 0;
}

static const struct argp_child children[] = {
	{ &wi_argp_input, 0, "Input:", 1 },
	{ &wi_argp_output, 0, "Output:", 4 },
	{ &wi_argp_common, 0, NULL, -1 },
	{ 0 },
};

static bool capture(const struct wi_opts *o, struct wi_err *err)
{
	struct wi_filetree *tree;
	bool ok;

	if (!o->out)
		return wi_err_set(err, WI_EUSAGE, "topology: --capture needs -o FILE.tar.gz");
	tree = wi_capture_live(err);
	if (!tree)
		return false;
	ok = wi_capture_write_tar(tree, o->out, err);
	wi_filetree_free(tree);
	return ok;
}

static bool print(const struct wi_opts *o, const struct wakeif_topology *t, struct wi_err *err)
{
	FILE *out = wi_out_open(o->out, err);
	struct wi_csv csv = { .out = out };
	struct wi_json json;
	bool ok = true;

	if (!out)
		return false;
	if (o->format == WI_FORMAT_JSON) {
		wi_json_init(&json, out);
		wi_report_topology_json(&json, NULL, t);
	} else if (o->format == WI_FORMAT_CSV) {
		wi_report_topology_csv(&csv, t);
	} else {
		ok = wi_report_topology_text(out, t, o->verbose, err);
	}
	return wi_out_close(out, o->out, err) && ok;
}

/* The topology that a report of this trace would use. */
static bool of_trace(const struct wi_opts *o, struct wi_err *err)
{
	struct wi_session s;
	bool ok = wi_session_open(&s, o, err) && print(o, s.machine.topology, err);

	if (ok && s.note[0])
		wi_cmd_note(o, "%s", s.note);
	if (ok && wi_source_info(s.src)->nr_damage) {
		const struct wi_damage *first = wi_source_info(s.src)->damage;

		ok = wi_err_at(err, WI_EDAMAGED, o->path, first->offset, "%s", first->what);
	}
	wi_session_close(&s);
	return ok;
}

/* The argument is a source of topology, or else a trace. */
static bool of_argument(const struct wi_opts *o, struct wi_err *err)
{
	struct wi_err why = { 0 }, trace = { 0 };
	const struct wakeif_topology *t = wi_topology_load(o->path, &why);
	bool ok;

	if (t) {
		ok = print(o, t, err);
		wi_topology_free(t);
		return ok;
	}
	/* What is no file can only be a synthetic string. */
	if (why.code == WI_EIO || (access(o->path, F_OK) && strchr(o->path, ':'))) {
		*err = why;
		return false;
	}
	if (of_trace(o, &trace))
		return true;
	if (trace.code == WI_EREFUSED)
		return wi_err_set(err, WI_EREFUSED, "%.300s; as a source of topology: %.300s", trace.msg, why.msg);
	*err = trace;
	return false;
}

int wi_cmd_topology(int argc, char **argv)
{
	const struct argp argp = {
		own_options,
		own_key,
		"[TRACE|SOURCE]",
		"Shows what wakeif believes about a machine: packages, nodes, last-level caches, cores, CPUs, "
		"scheduling domains. Without an "
		"argument this machine; of a trace, what a report would use; else any source that --topology takes.",
		children,
		NULL,
		NULL
	};
	struct topology_cmd t = { 0 };
	struct wi_err err = { 0 };

	wi_opts_parse(&argp, argc, argv, &t.o);
	if (!t.o.path_given)
		t.o.path = "live";
	if (t.capture)
		capture(&t.o, &err);
	else if (t.o.topology || !strcmp(t.o.path, "-"))
		of_trace(&t.o, &err);
	else
		of_argument(&t.o, &err);
	wi_opts_fini(&t.o);
	return err.code ? wi_cmd_fail(&err) : WI_OK;
}
