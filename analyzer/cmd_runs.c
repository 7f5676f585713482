/* SPDX-License-Identifier: GPL-2.0-or-later */
/* wakeif runs: what an archive holds. */
#include "analyzer/cmd_archive.h"
#include "analyzer/report/runs.h"

struct runs_cmd {
	struct wi_archive_opts o; /* first: the option groups' */
	const char *db;
};

static error_t own_key(int key, char *arg, struct argp_state *state)
{
	struct runs_cmd *c = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		for (size_t i = 0; i < 2; i++)
			state->child_inputs[i] = &c->o;
		return 0;
	case ARGP_KEY_ARG:
		if (c->db)
			argp_error(state, "one database at a time: '%s'", arg);
		c->db = arg;
		return 0;
	case ARGP_KEY_END:
		if (!c->db)
			argp_error(state, "no database is named");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp_child children[] = {
	{ &wi_argp_archive_runs, 0, "Runs:", 1 },
	{ &wi_argp_archive_out, 0, "Output:", 2 },
	{ 0 },
};

static bool print(const struct runs_cmd *c, const struct wi_runs *runs, struct wi_err *err)
{
	const struct wi_runs_report report = { WAKEIF_VERSION, c->db, runs, c->o.verbose };
	FILE *out = wi_out_open(c->o.out, err);
	bool ok;

	if (!out)
		return false;
	ok = c->o.format == WI_ARCHIVE_JSON  ? wi_runs_json(out, &report, err)
	     : c->o.format == WI_ARCHIVE_CSV ? wi_runs_csv(out, &report, err)
					     : wi_runs_text(out, &report, err);
	return wi_out_close(out, c->o.out, err) && ok;
}

int wi_cmd_runs(int argc, char **argv)
{
	const struct argp argp = { NULL,
				   own_key,
				   "DB",
				   "Lists the runs of an archive: what went wrong first, with the reason.\v"
				   "doc/archives.md tells how runs are selected, doc/batch.md what becomes a run.",
				   children,
				   NULL,
				   NULL };
	struct runs_cmd c = { .db = NULL };
	struct wi_err err = { 0 };
	struct wi_runs runs = { 0 };
	struct wi_store *store;
	bool ok;

	argp_parse(&argp, argc, argv, ARGP_NO_HELP, NULL, &c);
	store = wi_store_open(c.db, WI_STORE_READ, &err);
	ok = store && wi_archive_select(store, c.db, &c.o, &runs, &err) && print(&c, &runs, &err);
	wi_runs_fini(&runs);
	ok = wi_store_close(store, &err) && ok;
	return ok ? WI_OK : wi_cmd_fail(&err);
}
