/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analyzer/report/validate_pool.h"

#include <inttypes.h>
#include <string.h>

#include "analyzer/base/fmt.h"
#include "analyzer/report/validate.h"

#define NR(a) (sizeof(a) / sizeof(*(a)))
#define SEVERAL_MODELS "the model of each one's kernel"

static const char *kernel_name(char *buf, size_t size, uint32_t kernel)
{
	if (kernel)
		snprintf(buf, size, "%" PRIu32 ".%" PRIu32, kernel >> 16, kernel >> 8 & 255);
	else
		snprintf(buf, size, "unknown");
	return buf;
}

static const char *pool_name(char *buf, size_t size, const struct wi_validate_pool *pool)
{
	return pool->all ? "all" : kernel_name(buf, size, pool->kernel);
}

static const char *pool_model(const struct wi_validate_pool *pool)
{
	return pool->model ? pool->model : SEVERAL_MODELS;
}

/* ---- text ---- */

static void add_row(struct wi_table *t, const char *name, const char *kernel, const struct wi_validate_results *v)
{
	uint64_t untagged = v->decided - v->tagged;

	wi_table_name(t, name);
	wi_table_text(t, kernel);
	wi_table_count(t, v->decided);
	wi_table_share(t, v->agree, v->decided);
	if (v->has_tags) {
		wi_table_share(t, v->tagged, v->decided);
		wi_table_share(t, v->agree - v->tagged_agree, untagged);
		wi_table_share(t, v->tagged_agree, v->tagged);
	} else {
		wi_table_none(t);
		wi_table_none(t);
		wi_table_none(t);
	}
	wi_table_share(t, v->sync_agree[WI_SYNC_RECORDED], v->decided);
	if (v->has_logic)
		wi_table_share(t, v->logic.ret_ok, v->logic.decisions);
	else
		wi_table_none(t);
}

static bool print_rows(FILE *out, const struct wi_validate_pool_report *p, struct wi_err *err)
{
	static const struct wi_column columns[] = {
		{ "recording", true, false },	  { "kernel", true, false },	    { "decided", false, false },
		{ "agree", false, false },	  { "tagged", false, false },	    { "untagged agree", false, false },
		{ "tagged agree", false, false }, { "true WF_SYNC", false, false }, { "logic", false, false }
	};
	struct wi_table *t = wi_table_new(columns, NR(columns));
	char name[32], label[48];

	fprintf(out, "\nAgreement by recording, exact CPU, WF_SYNC %s\n", p->sync);
	for (size_t i = 0; i < p->nr; i++)
		add_row(t, p->one[i].file, kernel_name(name, sizeof(name), p->one[i].kernel), &p->one[i].v);
	for (size_t i = 0; i < p->nr_pools; i++) {
		snprintf(label, sizeof(label), "sum of %" PRIu64, p->pool[i].v.nr_traces);
		add_row(t, label, pool_name(name, sizeof(name), &p->pool[i]), &p->pool[i].v);
	}
	return wi_table_print(t, out, 2) || wi_err_nomem(err);
}

static void print_notes(FILE *out, const struct wi_validated *one)
{
	char name[WI_FMT_NAME_LEN];

	for (const char *at = one->notes; *at;) {
		size_t n = strcspn(at, "\n");

		fprintf(out, "note: %s: %.*s\n", wi_fmt_name(name, sizeof(name), one->file), (int)n, at);
		at += n + (at[n] == '\n');
	}
}

bool wi_validate_pool_text(FILE *out, const struct wi_validate_pool_report *p, struct wi_err *err)
{
	char name[32];

	fprintf(out, "%zu recordings\n", p->nr);
	for (size_t i = 0; i < p->nr; i++)
		print_notes(out, &p->one[i]);
	if (!print_rows(out, p, err))
		return false;
	for (size_t i = 0; i < p->nr_pools; i++) {
		const struct wi_validate_pool *pool = &p->pool[i];

		if (pool->all)
			continue; /* of several kernels: its row says what can be said */
		fprintf(out,
			"\n== Kernel %s, %" PRIu64 " of %zu recordings: %" PRIu64
			" wakeups decided by the kernel, %" PRIu64 " forks, %" PRIu64 " execs\n",
			pool_name(name, sizeof(name), pool), pool->v.nr_traces, p->nr, pool->v.truth_wakeups,
			pool->v.truth_forks, pool->v.truth_execs);
		if (!wi_validate_text_tables(out, &pool->v, pool_model(pool), p->sync, err))
			return false;
	}
	return true;
}

/* ---- JSON ---- */

static void json_notes(struct wi_json *j, const char *notes)
{
	wi_json_array(j, "notes");
	while (*notes) {
		size_t n = strcspn(notes, "\n");
		char line[512];

		snprintf(line, sizeof(line), "%.*s", (int)(n < sizeof(line) ? n : sizeof(line) - 1), notes);
		wi_json_string(j, NULL, line);
		notes += n + (notes[n] == '\n');
	}
	wi_json_end_array(j);
}

void wi_validate_pool_json(FILE *out, const struct wi_validate_pool_report *p)
{
	struct wi_json j;
	char name[32];

	wi_json_init(&j, out);
	wi_json_object(&j, NULL);
	wi_json_string(&j, "schema", "wakeif/1");
	wi_json_object_flat(&j, "tool");
	wi_json_string(&j, "name", "wakeif");
	wi_json_string(&j, "version", p->version);
	wi_json_end_object(&j);
	wi_json_array(&j, "recordings");
	for (size_t i = 0; i < p->nr; i++) {
		wi_json_object(&j, NULL);
		wi_json_string(&j, "file", p->one[i].file);
		wi_json_string(&j, "kernel", kernel_name(name, sizeof(name), p->one[i].kernel));
		json_notes(&j, p->one[i].notes);
		wi_validate_json_object(&j, &p->one[i].v, p->one[i].model, p->sync);
		wi_json_end_object(&j);
	}
	wi_json_end_array(&j);
	wi_json_array(&j, "pooled");
	for (size_t i = 0; i < p->nr_pools; i++) {
		wi_json_object(&j, NULL);
		wi_json_string(&j, "kernel", pool_name(name, sizeof(name), &p->pool[i]));
		wi_json_u64(&j, "recordings", p->pool[i].v.nr_traces);
		wi_validate_json_object(&j, &p->pool[i].v, pool_model(&p->pool[i]), p->sync);
		wi_json_end_object(&j);
	}
	wi_json_end_array(&j);
	wi_json_end_object(&j);
}

/* ---- CSV ---- */

void wi_validate_pool_csv(FILE *out, const struct wi_validate_pool_report *p)
{
	struct wi_csv c = { out, false };
	char name[32];

	wi_csv_header(&c, "recording,kernel," WI_VALIDATE_CSV_COLUMNS);
	for (size_t i = 0; i < p->nr; i++)
		wi_validate_csv_lines(&c, &p->one[i].v, p->one[i].model, p->one[i].file,
				      kernel_name(name, sizeof(name), p->one[i].kernel));
	for (size_t i = 0; i < p->nr_pools; i++)
		wi_validate_csv_lines(&c, &p->pool[i].v, pool_model(&p->pool[i]), "",
				      pool_name(name, sizeof(name), &p->pool[i]));
}
