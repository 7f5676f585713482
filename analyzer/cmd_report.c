/* SPDX-License-Identifier: GPL-2.0-or-later */
/* wakeif report: everything, from an overview down to tables. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "analyzer/cmd_print.h"
#include "analyzer/report/replay.h"
#include "analyzer/session_replay.h"

struct report_opts {
	struct wi_opts o; /* first: the option groups take a struct wi_opts */
	const char *table;
	const char *cookies; /* NULL: not asked for */
	bool replay;
	const struct wi_session *s; /* for the writers */
};

enum { KEY_TABLE = 0x200, KEY_REPLAY, KEY_COOKIES };

static const struct argp_option own_options[] = {
	{ "table", KEY_TABLE, "NAME", 0, "with --csv: only this table; \"list\" names them", 2 },
	{ "replay", KEY_REPLAY, NULL, 0,
	  "also what the model of the recording's kernel says: verdicts of wake_affine, searches for an idle CPU, "
	  "agreement "
	  "(see wakeif replay)",
	  2 },
	{ "cookies", KEY_COOKIES, "tgid|comm|cgroup|FILE", 0,
	  "also what core scheduling would have forbidden, with these cookies (see wakeif smt --cookies)", 2 },
	{ 0 },
};

static error_t own_key(int key, char *arg, struct argp_state *state)
{
	struct report_opts *r = state->input;

	if (key == KEY_REPLAY) {
		r->replay = true;
		return 0;
	}
	if (key == KEY_COOKIES) {
		r->cookies = arg;
		return 0;
	}
	if (key != KEY_TABLE)
		return wi_opts_key(key, arg, state);
	if (!strcmp(arg, "list")) {
		for (size_t i = 0; wi_report_csv_name(i); i++)
			puts(wi_report_csv_name(i));
		exit(WI_OK);
	}
	if (!wi_report_csv_exists(arg))
		argp_error(state, "--table: no table of this name: '%s' (--table list names them)", arg);
	r->table = arg;
	return 0;
}

static const struct argp_child children[] = {
	{ &wi_argp_input, 0, "Input:", 1 },
	{ &wi_argp_filter, 0, "Which wakeups count (everything else stays that of the whole machine):", 3 },
	{ &wi_argp_output, 0, "Output:", 4 },
	{ &wi_argp_common, 0, NULL, -1 },
	{ 0 },
};

/* Every table into a folder, one file each. */
static bool csv_folder(const char *folder, const struct wi_report *rep, struct wi_err *err)
{
	if (mkdir(folder, 0777) && errno != EEXIST)
		return wi_err_at(err, WI_EIO, folder, WI_NO_OFFSET, "cannot be made: %s", strerror(errno));
	for (size_t i = 0; wi_report_csv_name(i); i++) {
		const char *name = wi_report_csv_name(i);
		char *path;
		FILE *out;
		bool ok;

		if (asprintf(&path, "%s/%s.csv", folder, name) < 0)
			return wi_err_nomem(err);
		out = wi_out_open(path, err);
		ok = out && wi_report_csv(out, rep, name, err);
		if (out)
			ok = wi_out_close(out, path, err) && ok;
		free(path);
		if (!ok)
			return false;
	}
	return true;
}

/* All tables on one stream, each headed by a line "# table NAME" and parted by an empty one. */
static bool csv_stream(FILE *out, const struct wi_report *rep, struct wi_err *err)
{
	for (size_t i = 0; wi_report_csv_name(i); i++) {
		fprintf(out, "%s# table %s\n", i ? "\n" : "", wi_report_csv_name(i));
		if (!wi_report_csv(out, rep, wi_report_csv_name(i), err))
			return false;
	}
	return true;
}

static struct wi_replay_report replay_of(const struct report_opts *r, const struct wi_report *rep)
{
	return (struct wi_replay_report){ .rep = rep,
					  .r = r->s->replayed,
					  .notes = wi_session_replay_notes(r->s),
					  .sync = wi_sync_mode_name(WI_SYNC_LEARNED),
					  .verbose = rep->verbose };
}

static void affine_members(struct wi_json *j, const void *ctx)
{
	wi_replay_json_affine(j, ((const struct wi_replay_report *)ctx)->r);
}

static void more_members(struct wi_json *j, const void *ctx)
{
	const struct wi_replay_report *p = ctx;

	wi_replay_json_search(j, p->r);
	wi_replay_json(j, p);
}

static bool write_json(FILE *out, const struct wi_report *rep, const struct report_opts *r, struct wi_err *err)
{
	struct wi_replay_report p = replay_of(r, rep);
	struct wi_report with = *rep;

	if (r->replay) {
		with.affine_members = affine_members;
		with.members = more_members;
		with.affine_ctx = with.members_ctx = &p;
	}
	return wi_report_json(out, &with, WI_SECTION_ALL, err);
}

static bool write_text(FILE *out, const struct wi_report *rep, const struct report_opts *r, struct wi_err *err)
{
	struct wi_replay_report p = replay_of(r, rep);

	if (!wi_report_text(out, rep, err))
		return false;
	if (!r->replay)
		return true;
	fputs("\nreplay\n", out);
	return wi_replay_text(out, &p, err);
}

static bool write_report(FILE *out, const struct wi_report *rep, const void *ctx, struct wi_err *err)
{
	const struct report_opts *r = ctx;

	switch (r->o.format) {
	case WI_FORMAT_JSON:
		return write_json(out, rep, r, err);
	case WI_FORMAT_CSV:
		return r->table ? wi_report_csv(out, rep, r->table, err) : csv_stream(out, rep, err);
	default:
		return write_text(out, rep, r, err);
	}
}

/* -o names a folder when it is one, or when all tables are asked for and it does not look like a file. */
static bool is_folder(const struct report_opts *r)
{
	struct stat st;
	size_t len = r->o.out ? strlen(r->o.out) : 0;

	if (!len || r->o.format != WI_FORMAT_CSV || r->table)
		return false;
	if (!stat(r->o.out, &st))
		return S_ISDIR(st.st_mode);
	return r->o.out[len - 1] == '/' || !strchr(strrchr(r->o.out, '/') ? strrchr(r->o.out, '/') : r->o.out, '.');
}

/* In one pass with the metrics (two where WF_SYNC is learned). */
static int start_replay(struct wi_session *s, const struct report_opts *r, const struct wi_metrics_opts *metrics,
			struct wi_err *err)
{
	const struct wi_replay_wanted wanted = { .kernel_too = true, .seed = 1, .metrics = metrics };

	memset(s, 0, sizeof(*s));
	s->o = &r->o;
	if (!err->code && wi_session_open(s, &r->o, err))
		wi_session_replay(s, &wanted, err);
	return err->code;
}

static void check_options(const struct report_opts *r, struct wi_err *err)
{
	if (r->table && r->o.format != WI_FORMAT_CSV)
		wi_err_set(err, WI_EUSAGE, "report: --table belongs to --csv");
	if (r->replay && r->o.format == WI_FORMAT_CSV)
		wi_err_set(err, WI_EUSAGE, "report: --replay has no tables of its own: see wakeif replay --csv");
	if (r->replay && wi_opts_filtered(&r->o))
		wi_err_set(err, WI_EUSAGE, "report: --replay asks at every wakeup: it goes with no -p, --comm or -C");
}

int wi_cmd_report(int argc, char **argv)
{
	const struct argp argp = { own_options,
				   own_key,
				   "[FILE]",
				   "Tells what the wakeups of a trace met: facts and quality of the recording, a "
				   "verdict, then latency, missed idle CPUs, "
				   "SMT co-scheduling, wake_affine outcomes, migrations, idle and tasks.\v"
				   "With --csv and -o FOLDER every table becomes a file there.",
				   children,
				   NULL,
				   NULL };
	struct report_opts r = { 0 };
	struct wi_metrics_opts wanted = { 0 };
	struct wi_session s;
	struct wi_err err = { 0 };
	int status;

	wi_opts_parse(&argp, argc, argv, &r.o);
	check_options(&r, &err);
	if (r.cookies && !err.code)
		wanted.cookies = wi_cookie_map_new(r.cookies, &err);
	r.s = &s;
	status = r.replay ? start_replay(&s, &r, &wanted, &err) : wi_session_start(&s, &r.o, &wanted, &err);
	if (status == WI_OK && is_folder(&r)) {
		struct wi_report rep = wi_session_report(&s);

		csv_folder(r.o.out, &rep, &err);
	} else if (status == WI_OK) {
		wi_session_print(&s, write_report, &r, &err);
	}
	status = wi_session_end(&s, &err);
	wi_opts_fini(&r.o);
	wi_cookie_map_free(wanted.cookies);
	return status;
}
