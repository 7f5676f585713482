/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analyzer/session_bundle.h"

#include <stdlib.h>
#include <string.h>

#include "analyzer/bundle_simulate.h"
#include "analyzer/report/replay.h"
#include "analyzer/report/report.h"

struct documents {
	const struct wi_bundle_wanted *w;
	struct wi_opts o;
	struct wi_session s;
	struct wi_cookie_map *cookies;
};

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

static bool analyse(struct documents *d, struct wi_err *err)
{
	struct wi_replay_wanted replay = *d->w->replay;
	struct wi_metrics_opts metrics = { 0 };

	if (replay.cookies) {
		metrics.cookies = d->cookies = wi_cookie_map_new(replay.cookies, err);
		if (!d->cookies)
			return false;
	}
	replay.metrics = &metrics;
	return replay.nr_specs ? wi_session_replay(&d->s, &replay, err) : wi_session_analyse(&d->s, &metrics, err);
}

/* As report --json writes it, with the models of replay --json. */
static bool write_report(FILE *out, const struct documents *d, struct wi_err *err)
{
	bool full = d->w->detail == WI_DETAIL_FULL;
	struct wi_report rep = wi_session_report(&d->s);
	struct wi_replay_report p = { .rep = &rep,
				      .r = d->s.replayed,
				      .notes = wi_session_replay_notes(&d->s),
				      .sync = wi_sync_mode_name(d->w->replay->sync),
				      .hist = full };

	rep.histograms = full;
	if (d->s.replayed) {
		rep.affine_members = affine_members;
		rep.members = more_members;
		rep.affine_ctx = rep.members_ctx = &p;
	}
	return wi_report_json(out, &rep, WI_SECTION_ALL, err);
}

static bool add_report(const struct documents *d, struct wi_bundle *b, struct wi_err *err)
{
	char *text = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&text, &len);
	bool ok = out && write_report(out, d, err);

	if (!out || fclose(out))
		ok = wi_err_nomem(err);
	ok = ok && wi_bundle_add_document(b, text, len, d->w->detail, err);
	free(text);
	return ok;
}

/* Texts in the trace that name tags: one that is no tag is nothing of ours. */
static bool add_tags(const struct wi_session *s, struct wi_bundle *b, struct wi_err *err)
{
	for (size_t at = 0; at < s->tags.nr; at += strlen(s->tags.text + at) + 1) {
		char *key = s->tags.text + at, *equals = strchr(key, '=');
		struct wi_err why = { 0 };
		bool ok;

		if (!equals)
			continue;
		*equals = '\0';
		ok = wi_bundle_tag(b, key, equals + 1, &why);
		*equals = '=';
		if (!ok && why.code == WI_EIO)
			return wi_err_set(err, why.code, "%s", why.msg);
	}
	return true;
}

static bool add_damage(const struct wi_source_info *info, struct wi_bundle *b, struct wi_err *err)
{
	char where[32] = "", more[64] = "", text[sizeof(info->damage->what) + sizeof(where) + sizeof(more)];

	if (!info->nr_damage)
		return true;
	if (info->damage[0].offset != WI_NO_OFFSET)
		snprintf(where, sizeof(where), "@0x%llx: ", (unsigned long long)info->damage[0].offset);
	if (info->nr_damage > 1)
		snprintf(more, sizeof(more), " (%u places in all)", info->nr_damage);
	snprintf(text, sizeof(text), "%s%s%s", where, info->damage[0].what, more);
	return wi_bundle_outcome(b, WI_RUN_DAMAGED, text, 0, WI_EDAMAGED, NULL, 0, err);
}

bool wi_session_bundle(const struct wi_bundle_wanted *w, const char *path, struct wi_bundle *b, bool *no_trace,
		       struct wi_err *err)
{
	struct documents d = { .w = w, .o = *w->o };
	bool ok;

	d.o.path = path;
	d.o.quiet = d.o.wants_tags = true;
	d.o.open.progress = NULL;
	d.o.open.no_trace = no_trace;
	ok = wi_session_open(&d.s, &d.o, err) && analyse(&d, err) && add_report(&d, b, err) &&
	     add_damage(wi_source_info(d.s.src), b, err) && add_tags(&d.s, b, err);
	wi_session_close(&d.s);
	wi_cookie_map_free(d.cookies);
	if (ok && w->simulate)
		ok = wi_bundle_simulate(w, path, b, err);
	return ok;
}
