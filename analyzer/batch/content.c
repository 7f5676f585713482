/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdlib.h>
#include <string.h>

#include "analyzer/batch/pool.h"

static void note(struct pool *p, const char *text)
{
	if (p->events->note)
		p->events->note(p->events->ctx, text);
}

/* The tags that the path gives: what cannot be used is told, and costs no more than that. */
static bool find_tags(struct pool *p, struct slot *s, struct wi_err *err)
{
	struct wi_err why = { 0 };
	bool matched = !p->opts->nr_patterns, ok = true;
	char *file;

	for (size_t i = 0; ok && i < p->opts->nr_patterns; i++) {
		bool one;

		ok = wi_tag_pattern_match(p->opts->pattern[i], s->found.path + s->found.below, &s->tags, &one, &why);
		matched |= one;
	}
	s->untagged = !matched;
	file = p->ops->tag_file(p->ops->ctx, s->found.path);
	if (file && ok)
		ok = wi_tag_set_of_json(file, &s->tags, &why);
	free(file);
	if (ok)
		return true;
	if (why.code == WI_EIO && !strcmp(why.msg, "out of memory"))
		return wi_err_nomem(err);
	p->count->bad_sides++;
	note(p, why.msg);
	return true;
}

bool wi_pool_put_path(struct pool *p, struct slot *s, struct wi_err *err)
{
	bool changed;

	p->count->untagged += s->untagged; /* only now is it sure that this is a trace */
	return wi_pool_begin(p, err) &&
	       wi_store_put_path(p->store, s->sha256, s->bytes, s->found.path, s->tags.tag, s->tags.nr, &changed, err);
}

bool wi_pool_in_work(const struct pool *p, const struct slot *s)
{
	if (p->putting && !memcmp(p->putting->sha256, s->sha256, WI_SHA256_BYTES))
		return true;
	for (size_t i = 0; i < p->opts->jobs; i++)
		if (&p->slot[i] != s && p->slot[i].state == WORKING &&
		    !memcmp(p->slot[i].sha256, s->sha256, WI_SHA256_BYTES))
			return true;
	return false;
}

static bool is_good(const struct pool *p, const struct wi_store_known *k)
{
	if (!k->found || strcmp(k->version, p->opts->version) != 0)
		return false;
	switch (k->status) {
	case WI_RUN_FAILED:
		return false;
	case WI_RUN_TIMEOUT:
	case WI_RUN_MEMORY:
	case WI_RUN_CRASHED:
		return !p->opts->retry;
	default:
		return true;
	}
}

static void count_known(struct pool *p, const struct slot *s, const struct wi_store_known *k)
{
	p->count->known++;
	p->count->kept_failures +=
		k->status == WI_RUN_TIMEOUT || k->status == WI_RUN_MEMORY || k->status == WI_RUN_CRASHED;
	wi_pool_tell(p, s, WI_NR_RUN_STATUSES, "already in", "");
}

/* The hash is known. false: the database failed. */
bool wi_pool_decide(struct pool *p, struct slot *s, enum verdict *v, struct wi_err *err)
{
	struct wi_store_known known = { .found = false };
	bool met, same;

	*v = LATER;
	if (wi_pool_in_work(p, s))
		return true;
	if (!wi_discover_meet(p->d, s->sha256, s->analysis, &met, &same, err) ||
	    !wi_store_find(p->store, s->sha256, s->bytes, s->analysis, &known, err))
		return false;
	*v = DONE;
	if (met && !same) {
		p->count->copies++;
		p->count->other_sides++;
		wi_pool_tell(p, s, WI_NR_RUN_STATUSES, "a copy", "of a trace that has other files beside it");
		return wi_pool_put_path(p, s, err);
	}
	if (met && known.found) {
		p->count->copies++;
		wi_pool_tell(p, s, WI_NR_RUN_STATUSES, "a copy", "");
		return wi_pool_put_path(p, s, err);
	}
	if (is_good(p, &known)) {
		count_known(p, s, &known);
		return wi_pool_put_path(p, s, err);
	}
	*v = ANALYSE;
	return true;
}

/* What the row of this trace will be called. false: *ok tells whether the pool can go on. */
bool wi_pool_describe(struct pool *p, struct slot *s, bool *ok, struct wi_err *err)
{
	struct wi_err why = { 0 };

	*ok = find_tags(p, s, err);
	if (!*ok)
		return false;
	s->analysis = p->ops->describe(p->ops->ctx, s->found.path, &why);
	if (s->analysis)
		return true;
	p->count->no_row++;
	wi_pool_tell(p, s, WI_NR_RUN_STATUSES, "unreadable", why.msg);
	return false;
}
