/* SPDX-License-Identifier: GPL-2.0-or-later */
/* wakeif report: everything, from an overview down to tables. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "analyzer/cmd_print.h"
#include "analyzer/session.h"

struct report_opts {
	struct wi_opts o; /* first: the option groups take a struct wi_opts */
	const char *table;
};

enum { KEY_TABLE = 0x200 };

static const struct argp_option own_options[] = {
	{ "table", KEY_TABLE, "NAME", 0, "with --csv: only this table; \"list\" names them", 2 },
	{ 0 },
};

static error_t own_key(int key, char *arg, struct argp_state *state)
{
	struct report_opts *r = state->input;

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

static bool write_report(FILE *out, const struct wi_report *rep, const void *ctx, struct wi_err *err)
{
	const struct report_opts *r = ctx;

	switch (r->o.format) {
	case WI_FORMAT_JSON:
		return wi_report_json(out, rep, WI_SECTION_ALL, err);
	case WI_FORMAT_CSV:
		return r->table ? wi_report_csv(out, rep, r->table, err) : csv_stream(out, rep, err);
	default:
		return wi_report_text(out, rep, err);
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
	if (r.table && r.o.format != WI_FORMAT_CSV)
		wi_err_set(&err, WI_EUSAGE, "report: --table belongs to --csv");
	status = wi_session_start(&s, &r.o, &wanted, &err);
	if (status == WI_OK && is_folder(&r)) {
		struct wi_report rep = wi_session_report(&s);

		csv_folder(r.o.out, &rep, &err);
	} else if (status == WI_OK) {
		wi_session_print(&s, write_report, &r, &err);
	}
	status = wi_session_end(&s, &err);
	wi_opts_fini(&r.o);
	return status;
}
