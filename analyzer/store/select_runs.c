/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdlib.h>
#include <string.h>

#include "analyzer/store/bundle_priv.h"
#include "analyzer/store/db.h"
#include "analyzer/store/select.h"

/* The texts of a list of runs live in a bundle that holds nothing else. */
struct texts {
	struct wi_bundle b;
	const char *last[16]; /* by column: most runs repeat what the one before them had */
};

struct reader {
	struct wi_store *store;
	struct texts *texts;
	struct wi_err *err;
};

static const char *keep(struct reader *r, sqlite3_stmt *s, int at)
{
	const char *text = (const char *)sqlite3_column_text(s, at), **last = &r->texts->last[at & 15];
	size_t nr = (size_t)sqlite3_column_bytes(s, at);

	if (sqlite3_column_type(s, at) == SQLITE_NULL)
		return NULL;
	if (!text) {
		wi_err_nomem(r->err);
		return NULL;
	}
	if (*last && !strcmp(*last, text) && strlen(text) == nr)
		return *last;
	if (!wi_bundle_is_text(text, nr)) {
		wi_db_damaged(r->store, "a text is no UTF-8", r->err);
		return NULL;
	}
	*last = wi_bundle_copy(&r->texts->b, text, nr);
	if (!*last)
		wi_err_nomem(r->err);
	return *last;
}

static const char runs_sql[] =
	"SELECT run.reason, run.stderr_tail, run.version, analysis.text, run.format, run.wrapper, run.kernel, "
	"run.arch, "
	"topology.name, run.id, trace.sha256, trace.size_bytes, run.status, run.signal, run.exit_status, run.trace, "
	"quality.end_ns - quality.start_ns, instr(',' || topology.flags || ',', ',fallback,') > 0 "
	"FROM run JOIN trace ON trace.id = run.trace JOIN analysis ON analysis.id = run.analysis "
	"LEFT JOIN topology ON topology.id = run.topology LEFT JOIN quality ON quality.run = run.id "
	"ORDER BY trace.sha256, trace.size_bytes, analysis.text";

static bool read_run(struct reader *r, sqlite3_stmt *s, struct wi_run *run)
{
	const char **const text[] = { &run->reason,  &run->stderr_tail, &run->version, &run->analysis, &run->format,
				      &run->wrapper, &run->kernel,	&run->arch,    &run->topology };
	const char *status = (const char *)sqlite3_column_text(s, 12);

	*run = (struct wi_run){ .id = sqlite3_column_int64(s, 9),
				.size_bytes = (uint64_t)sqlite3_column_int64(s, 11),
				.signal = sqlite3_column_int(s, 13),
				.exit_status = sqlite3_column_int(s, 14),
				.window_known = sqlite3_column_type(s, 16) == SQLITE_INTEGER,
				.window_ns = (uint64_t)sqlite3_column_int64(s, 16),
				.topology_guessed = sqlite3_column_int(s, 17) != 0 };
	for (int i = 0; i < 9; i++)
		*text[i] = keep(r, s, i);
	if (r->err->code)
		return false;
	if (sqlite3_column_bytes(s, 10) != WI_SHA256_BYTES || !status || !wi_run_status_parse(status, &run->status) ||
	    !run->version || !run->analysis)
		return wi_db_damaged(r->store, "a run's head cannot be one", r->err);
	memcpy(run->sha256, sqlite3_column_blob(s, 10), WI_SHA256_BYTES);
	return true;
}

/* Rows of one or two texts about a trace, into arrays of the list's memory. */
static bool read_paths(struct reader *r, int64_t trace, struct wi_run *run)
{
	sqlite3_stmt *s = wi_db_statement(r->store, WI_SQL_GET_PATHS, r->err);
	const char **path = NULL;
	size_t room = 0;
	int row = -1;

	if (!s)
		return false;
	sqlite3_bind_int64(s, 1, trace);
	while ((row = wi_db_row(r->store, s, r->err)) > 0) {
		if (run->nr_paths == room) {
			room = room ? 2 * room : 1;
			const char **more = (const char **)(void *)wi_bundle_take(&r->texts->b, room * sizeof(*path));

			if (!more)
				goto fail;
			if (run->nr_paths)
				memcpy(more, path, run->nr_paths * sizeof(*path));
			path = more;
		}
		path[run->nr_paths] = keep(r, s, 0);
		if (!path[run->nr_paths++])
			goto fail;
	}
	run->path = path;
	return !row;
fail:
	sqlite3_reset(s);
	return wi_err_nomem(r->err);
}

static bool read_tags(struct reader *r, int64_t trace, struct wi_run *run)
{
	sqlite3_stmt *s = wi_db_statement(r->store, WI_SQL_GET_TAGS, r->err);
	struct wi_tag *tag = NULL;
	size_t room = 0;
	int row = -1;

	if (!s)
		return false;
	sqlite3_bind_int64(s, 1, trace);
	while ((row = wi_db_row(r->store, s, r->err)) > 0) {
		if (run->nr_tags == room) {
			room = room ? 2 * room : 4;
			struct wi_tag *more = wi_bundle_take(&r->texts->b, room * sizeof(*tag));

			if (!more)
				goto fail;
			if (run->nr_tags)
				memcpy(more, tag, run->nr_tags * sizeof(*tag));
			tag = more;
		}
		tag[run->nr_tags] = (struct wi_tag){ keep(r, s, 0), keep(r, s, 1) };
		if (!tag[run->nr_tags].key || !tag[run->nr_tags].value)
			goto fail;
		run->nr_tags++;
	}
	run->tag = tag;
	return !row;
fail:
	sqlite3_reset(s);
	return wi_err_nomem(r->err);
}

static bool add_run(struct reader *r, sqlite3_stmt *s, const struct wi_select *select, struct wi_runs *out,
		    size_t *room)
{
	struct wi_run run;
	int64_t trace = sqlite3_column_int64(s, 15);

	if (!read_run(r, s, &run) || !read_paths(r, trace, &run) || !read_tags(r, trace, &run))
		return false;
	if (!wi_select_matches(select, &run))
		return true;
	if (out->nr == *room) {
		size_t more = *room ? 2 * *room : 64;
		struct wi_run *p = reallocarray(out->run, more, sizeof(*p));

		if (!p)
			return wi_err_nomem(r->err);
		out->run = p;
		*room = more;
	}
	out->run[out->nr++] = run;
	return true;
}

bool wi_select_runs(struct wi_store *store, const struct wi_select *select, struct wi_runs *out, struct wi_err *err)
{
	struct texts *texts = calloc(1, sizeof(*texts));
	struct reader r = { store, texts, err };
	sqlite3_stmt *s = NULL;
	size_t room = 0;
	int row = -1, rc;

	*out = (struct wi_runs){ .memory = texts };
	if (!texts)
		return wi_err_nomem(err);
	if (!wi_bundle_init(&texts->b, err))
		goto out;
	rc = sqlite3_prepare_v2(store->db, runs_sql, -1, &s, NULL);
	if (rc != SQLITE_OK) {
		wi_db_error(store, rc, "cannot be read", err);
		goto out;
	}
	while ((row = wi_db_row(store, s, err)) > 0)
		if (!add_run(&r, s, select, out, &room)) {
			row = -1;
			break;
		}
out:
	sqlite3_finalize(s);
	if (row)
		wi_runs_fini(out);
	return !row;
}

void wi_runs_fini(struct wi_runs *runs)
{
	struct texts *texts = runs->memory;

	if (texts)
		wi_bundle_fini(&texts->b);
	free(texts);
	free(runs->run);
	*runs = (struct wi_runs){ 0 };
}

size_t wi_runs_twice(const struct wi_runs *runs)
{
	for (size_t i = 1; i < runs->nr; i++)
		if (!memcmp(runs->run[i - 1].sha256, runs->run[i].sha256, WI_SHA256_BYTES) &&
		    runs->run[i - 1].size_bytes == runs->run[i].size_bytes)
			return i;
	return (size_t)-1;
}
