/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A group a trace: each is analysed into an archive in memory, which is then compared like any other. */
#include <stdlib.h>
#include <string.h>

#include "analyzer/batch/hash.h"
#include "analyzer/cmd_diff.h"
#include "analyzer/session_bundle.h"

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

/* Base names, or paths where two traces have the same. */
static bool name_groups(struct wi_diff_cmd *c, struct wi_err *err)
{
	bool paths = false;

	c->group = calloc(c->files.nr, sizeof(*c->group));
	if (!c->group)
		return wi_err_nomem(err);
	for (size_t i = 0; i < c->files.nr; i++)
		for (size_t k = i + 1; k < c->files.nr; k++)
			paths |= !strcmp(base_name(c->files.word[i]), base_name(c->files.word[k]));
	for (size_t i = 0; i < c->files.nr; i++) {
		const char *path = c->files.word[i];
		char *name = strdup(paths ? path : base_name(path));

		if (!name)
			return wi_err_nomem(err);
		c->group[c->nr_groups++] = (struct wi_diff_group){ .name = name, .selector = path };
	}
	return wi_diff_short_names(c, err);
}

struct identity {
	uint8_t sha256[WI_SHA256_BYTES];
	uint64_t size_bytes;
};

static bool same(const struct identity *a, const uint8_t sha256[WI_SHA256_BYTES], uint64_t size_bytes)
{
	return a->size_bytes == size_bytes && !memcmp(a->sha256, sha256, WI_SHA256_BYTES);
}

static bool put_trace(struct wi_diff_cmd *c, const struct wi_bundle_wanted *wanted, const char *path,
		      const struct identity *id, struct wi_err *err)
{
	struct wi_bundle b = { 0 };
	char *analysis = wi_session_bundle_describe(wanted, path, err);
	bool ok = analysis && wi_bundle_init(&b, err) &&
		  wi_bundle_identify(&b, id->sha256, id->size_bytes, path, WAKEIF_VERSION, analysis, err) &&
		  wi_session_bundle(wanted, path, &b, NULL, err);

	if (ok && b.status == WI_RUN_DAMAGED) {
		struct wi_err damage = { 0 };

		wi_err_set(&damage, WI_EDAMAGED, "%s%s%s", path, b.reason && b.reason[0] == '@' ? "" : ": ",
			   b.reason ? b.reason : "damaged");
		wi_cmd_fail(&damage);
		c->damaged = true;
	}
	ok = ok && wi_store_begin(c->store, err) && wi_store_put(c->store, &b, WI_PUT_MERGE, err) &&
	     wi_store_commit(c->store, err);
	wi_bundle_fini(&b);
	free(analysis);
	return ok;
}

static bool identify(struct wi_diff_cmd *c, struct identity *id, size_t i, struct wi_err *err)
{
	if (!wi_hash_path(c->files.word[i], id[i].sha256, &id[i].size_bytes, err))
		return false;
	for (size_t k = 0; k < i; k++)
		if (same(&id[k], id[i].sha256, id[i].size_bytes))
			return wi_err_set(err, WI_EUSAGE, "%s and %s are the same trace", c->files.word[k],
					  c->files.word[i]);
	return true;
}

/* Whose run is whose. */
static bool assign(struct wi_diff_cmd *c, const struct identity *id, struct wi_err *err)
{
	if (!wi_select_runs(c->store, NULL, &c->selected, err))
		return false;
	c->runs.run = calloc(c->selected.nr + 1, sizeof(*c->runs.run));
	c->group_of = calloc(c->selected.nr + 1, sizeof(*c->group_of));
	if (!c->runs.run || !c->group_of)
		return wi_err_nomem(err);
	for (size_t i = 0; i < c->selected.nr; i++) {
		const struct wi_run *run = &c->selected.run[i];

		for (size_t g = 0; g < c->nr_groups; g++) {
			if (!same(&id[g], run->sha256, run->size_bytes))
				continue;
			c->group_of[i] = g;
			c->group[g].nr_runs++;
			c->group[g].nr_status[run->status]++;
			c->group[g].nr_guessed += run->topology_guessed;
		}
		c->runs.run[c->runs.nr++] = *run;
	}
	return true;
}

bool wi_diff_traces(struct wi_diff_cmd *c, struct wi_err *err)
{
	const struct wi_bundle_wanted wanted = { .o = &c->r.o, .replay = &c->r.wanted };
	struct identity *id = calloc(c->files.nr, sizeof(*id));
	bool ok = id || wi_err_nomem(err);

	c->r.wanted.specs = c->r.specs;
	ok = ok && wi_bundle_wanted_check(&wanted, err) && name_groups(c, err);
	if (ok)
		c->store = wi_store_open("traces", WI_STORE_MEMORY, err);
	ok = ok && c->store;
	for (size_t i = 0; ok && i < c->files.nr; i++)
		ok = identify(c, id, i, err) && put_trace(c, &wanted, c->files.word[i], &id[i], err);
	ok = ok && assign(c, id, err);
	free(id);
	return ok;
}
