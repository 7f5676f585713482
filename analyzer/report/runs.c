/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analyzer/report/runs.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/base/fmt.h"
#include "analyzer/base/json.h"
#include "analyzer/report/table.h"
#include "analyzer/report/document.h"

#define HASH_SHOWN 12 /* digits that tell apart what an archive holds; -v shows all */

/* ---- text ---- */

static const char *first_path(const struct wi_run *run)
{
	return run->nr_paths ? run->path[0] : "";
}

/* What went worst comes first, then by path, then as the hashes are. */
static int by_trouble(const void *va, const void *vb)
{
	const struct wi_run *a = *(const struct wi_run *const *)va, *b = *(const struct wi_run *const *)vb;
	int order;

	if (a->status != b->status)
		return a->status > b->status ? -1 : 1;
	order = strcmp(first_path(a), first_path(b));
	return order ? order : a < b ? -1 : a > b;
}

static const struct wi_run **in_order_of_trouble(const struct wi_runs *runs)
{
	const struct wi_run **order = calloc(runs->nr + 1, sizeof(const struct wi_run *));

	for (size_t i = 0; order && i < runs->nr; i++)
		order[i] = &runs->run[i];
	if (order)
		qsort(order, runs->nr, sizeof(const struct wi_run *), by_trouble);
	return order;
}

static char *joined_tags(const struct wi_run *run, const char *between)
{
	char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);
	bool failed;

	if (!f)
		return NULL;
	for (size_t i = 0; i < run->nr_tags; i++)
		fprintf(f, "%s%s=%s", i ? between : "", run->tag[i].key, run->tag[i].value);
	failed = ferror(f);
	if (fclose(f) || failed) {
		free(text);
		return NULL;
	}
	return text;
}

static char *joined_paths(const struct wi_run *run)
{
	char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);
	bool failed;

	if (!f)
		return NULL;
	for (size_t i = 0; i < run->nr_paths; i++)
		fprintf(f, "%s%s", i ? "|" : "", run->path[i]);
	failed = ferror(f);
	if (fclose(f) || failed) {
		free(text);
		return NULL;
	}
	return text;
}

static void table_known(struct wi_table *t, const char *text)
{
	if (text && *text)
		wi_table_name(t, text);
	else
		wi_table_none(t);
}

static void add_run(struct wi_table *t, const struct wi_run *run, bool verbose)
{
	char hash[WI_SHA256_HEX], path[WI_FMT_NAME_LEN];
	char *tags = joined_tags(run, " ");

	wi_sha256_hex(run->sha256, hash);
	if (!verbose)
		hash[HASH_SHOWN] = '\0';
	wi_table_text(t, wi_run_status_name(run->status));
	wi_table_text(t, hash);
	table_known(t, run->kernel);
	table_known(t, run->topology);
	if (run->window_known)
		wi_table_ns(t, run->window_ns);
	else
		wi_table_none(t);
	table_known(t, tags);
	if (run->nr_paths > 1)
		wi_table_textf(t, "%s (+%zu)", wi_fmt_name(path, sizeof(path), run->path[0]), run->nr_paths - 1);
	else
		table_known(t, first_path(run));
	free(tags);
}

static const struct wi_column columns[] = {
	{ "status", true, false },	{ "sha256", true, false },  { "kernel", true, true },
	{ "machine", true, true },	{ "window", false, false }, { "tags", true, true },
	{ "path", true, WI_CUT_START },
};

#define NR_COLUMNS (sizeof(columns) / sizeof(columns[0]))

/* Lines of another program's stderr, none of which may control the terminal. */
static void print_tail(FILE *out, const char *tail)
{
	while (*tail) {
		size_t n = strcspn(tail, "\n");
		char *line = strndup(tail, n), text[WI_FMT_NAME_LEN];

		if (line && n)
			fprintf(out, "    | %s\n", wi_fmt_name(text, sizeof(text), line));
		free(line);
		tail += n + (tail[n] == '\n');
	}
}

static void print_trouble(FILE *out, const struct wi_run *run, bool verbose)
{
	char text[WI_FMT_NAME_LEN], hash[WI_SHA256_HEX];

	wi_sha256_hex(run->sha256, hash);
	hash[HASH_SHOWN] = '\0';
	fprintf(out, "  %s %s: ", hash, wi_run_status_name(run->status));
	if (!verbose && run->nr_paths)
		fprintf(out, "%s: ", wi_fmt_name(text, sizeof(text), run->path[0]));
	fprintf(out, "%s", run->reason ? wi_fmt_name(text, sizeof(text), run->reason) : "no reason is known");
	if (run->signal)
		fprintf(out, " (signal %" PRId32 ")", run->signal);
	putc('\n', out);
	if (!verbose)
		return;
	for (size_t i = 0; i < run->nr_paths; i++)
		fprintf(out, "    %s\n", wi_fmt_name(text, sizeof(text), run->path[i]));
	if (run->stderr_tail)
		print_tail(out, run->stderr_tail);
}

static void print_sum(FILE *out, const struct wi_runs_report *r)
{
	size_t nr[WI_NR_RUN_STATUSES] = { 0 };
	char text[WI_FMT_NAME_LEN];
	const char *before = ": ";

	for (size_t i = 0; i < r->runs->nr; i++)
		nr[r->runs->run[i].status]++;
	fprintf(out, "%s: %zu run%s", wi_fmt_name(text, sizeof(text), r->source), r->runs->nr,
		r->runs->nr == 1 ? "" : "s");
	for (enum wi_run_status s = 0; s < WI_NR_RUN_STATUSES; s++)
		if (nr[s]) {
			fprintf(out, "%s%zu %s", before, nr[s], wi_run_status_name(s));
			before = ", ";
		}
	putc('\n', out);
}

bool wi_runs_text(FILE *out, const struct wi_runs_report *r, struct wi_err *err)
{
	const struct wi_run **order = in_order_of_trouble(r->runs);
	struct wi_table *t;
	bool ok, trouble = false;

	if (!order)
		return wi_err_nomem(err);
	print_sum(out, r);
	t = wi_table_new(columns, NR_COLUMNS);
	for (size_t i = 0; i < r->runs->nr; i++) {
		trouble |= order[i]->status != WI_RUN_OK;
		add_run(t, order[i], r->verbose);
	}
	if (trouble)
		fputs("\nWhat went wrong:\n", out);
	for (size_t i = 0; i < r->runs->nr && order[i]->status != WI_RUN_OK; i++)
		print_trouble(out, order[i], r->verbose);
	if (r->runs->nr)
		putc('\n', out);
	if (r->runs->nr)
		ok = wi_table_print(t, out, 0) || wi_err_nomem(err);
	else
		ok = (wi_table_free(t), true);
	free(order);
	return ok;
}

/* ---- JSON ---- */

static void json_known(struct wi_json *j, const char *key, const char *text)
{
	if (text)
		wi_json_string(j, key, text);
}

/* Tags are sorted by key: a key's values follow each other. */
static void json_tags(struct wi_json *j, const struct wi_run *run)
{
	wi_json_object(j, "tags");
	for (size_t i = 0; i < run->nr_tags;) {
		const char *key = run->tag[i].key;

		wi_json_array_flat(j, key);
		for (; i < run->nr_tags && !strcmp(run->tag[i].key, key); i++)
			wi_json_string(j, NULL, run->tag[i].value);
		wi_json_end_array(j);
	}
	wi_json_end_object(j);
}

static void json_run(struct wi_json *j, const struct wi_run *run)
{
	char hash[WI_SHA256_HEX];

	wi_json_object(j, NULL);
	wi_json_string(j, "sha256", wi_sha256_hex(run->sha256, hash));
	wi_json_u64(j, "size_bytes", run->size_bytes);
	wi_json_string(j, "status", wi_run_status_name(run->status));
	json_known(j, "reason", run->reason);
	if (run->signal)
		wi_json_i64(j, "signal", run->signal);
	if (run->status != WI_RUN_OK)
		wi_json_i64(j, "exit_status", run->exit_status);
	json_known(j, "stderr_tail", run->stderr_tail);
	json_known(j, "version", run->version);
	json_known(j, "analysis", run->analysis);
	json_known(j, "format", run->format);
	json_known(j, "wrapper", run->wrapper);
	json_known(j, "kernel", run->kernel);
	json_known(j, "arch", run->arch);
	json_known(j, "topology", run->topology);
	if (run->window_known)
		wi_json_u64(j, "window_ns", run->window_ns);
	wi_json_array(j, "paths");
	for (size_t i = 0; i < run->nr_paths; i++)
		wi_json_string(j, NULL, run->path[i]);
	wi_json_end_array(j);
	json_tags(j, run);
	wi_json_end_object(j);
}

bool wi_runs_json(FILE *out, const struct wi_runs_report *r, struct wi_err *err)
{
	struct wi_json j;

	(void)err;
	wi_document_begin(&j, out, r->version);
	wi_json_array(&j, "runs");
	for (size_t i = 0; i < r->runs->nr; i++)
		json_run(&j, &r->runs->run[i]);
	wi_json_end_array(&j);
	wi_json_end_object(&j);
	return true;
}

/* ---- CSV ---- */

static void csv_known(struct wi_csv *csv, const char *text)
{
	if (text)
		wi_csv_text(csv, text);
	else
		wi_csv_none(csv);
}

static bool csv_run(struct wi_csv *csv, const struct wi_run *run)
{
	char hash[WI_SHA256_HEX];
	char *tags = joined_tags(run, "|"), *paths = joined_paths(run);
	bool ok = tags && paths;

	wi_csv_text(csv, wi_sha256_hex(run->sha256, hash));
	wi_csv_u64(csv, run->size_bytes);
	wi_csv_text(csv, wi_run_status_name(run->status));
	csv_known(csv, run->reason);
	if (run->signal)
		wi_csv_i64(csv, run->signal);
	else
		wi_csv_none(csv);
	csv_known(csv, run->version);
	csv_known(csv, run->analysis);
	csv_known(csv, run->format);
	csv_known(csv, run->wrapper);
	csv_known(csv, run->kernel);
	csv_known(csv, run->arch);
	csv_known(csv, run->topology);
	if (run->window_known)
		wi_csv_u64(csv, run->window_ns);
	else
		wi_csv_none(csv);
	csv_known(csv, paths);
	csv_known(csv, tags);
	wi_csv_end(csv);
	free(tags);
	free(paths);
	return ok;
}

bool wi_runs_csv(FILE *out, const struct wi_runs_report *r, struct wi_err *err)
{
	struct wi_csv csv = { out, false };

	wi_csv_header(&csv, "sha256,size_bytes,status,reason,signal,version,analysis,format,wrapper,kernel,arch,"
			    "topology,window_ns,paths,tags");
	for (size_t i = 0; i < r->runs->nr; i++)
		if (!csv_run(&csv, &r->runs->run[i]))
			return wi_err_nomem(err);
	return true;
}
