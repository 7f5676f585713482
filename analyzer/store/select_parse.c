/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdlib.h>
#include <string.h>

#include "analyzer/store/glob.h"
#include "analyzer/store/select.h"

#define MAX_TERMS 64u
#define MAX_TEXT 65536u

struct term {
	char *key, *glob;
	bool negated;
};

struct wi_select {
	struct term term[MAX_TERMS];
	size_t nr;
};

/* End of the term that begins at s: a comma without a backslash before it, or the end. */
static size_t term_length(const char *s)
{
	size_t n = 0;

	while (s[n] && s[n] != ',')
		n += s[n] == '\\' && s[n + 1] ? 2 : 1;
	return n;
}

static bool parse_term(struct wi_select *select, const char *text, const char *at, size_t nr, struct wi_err *err)
{
	const char *equals = memchr(at, '=', nr);
	struct term *t = &select->term[select->nr];
	size_t key = equals ? (size_t)(equals - at) : 0;
	bool negated = key && at[key - 1] == '!';

	key -= negated;
	if (!equals || !key)
		return wi_err_set(err, WI_EUSAGE, "selector '%.200s': '%.*s' is not key=pattern", text, (int)nr, at);
	if (select->nr == MAX_TERMS)
		return wi_err_set(err, WI_EUSAGE, "selector '%.200s': more than %u terms", text, MAX_TERMS);
	t->negated = negated;
	t->key = strndup(at, key);
	t->glob = strndup(equals + 1, nr - (size_t)(equals + 1 - at));
	select->nr++;
	return (t->key && t->glob) || wi_err_nomem(err);
}

struct wi_select *wi_select_parse(const char *text, struct wi_err *err)
{
	struct wi_select *select = calloc(1, sizeof(*select));

	if (!select) {
		wi_err_nomem(err);
		return NULL;
	}
	if (strlen(text) > MAX_TEXT) {
		wi_err_set(err, WI_EUSAGE, "a selector longer than %u bytes", MAX_TEXT);
		goto fail;
	}
	for (const char *at = text; *at;) {
		size_t n = term_length(at);

		if (!parse_term(select, text, at, n, err))
			goto fail;
		at += n;
		if (*at == ',' && !*++at) {
			wi_err_set(err, WI_EUSAGE, "selector '%.200s': nothing after the last comma", text);
			goto fail;
		}
	}
	return select;
fail:
	wi_select_free(select);
	return NULL;
}

void wi_select_free(struct wi_select *select)
{
	for (size_t i = 0; select && i < select->nr; i++) {
		free(select->term[i].key);
		free(select->term[i].glob);
	}
	free(select);
}

/* ---- values of keys ---- */

static const char *text_of(const char *const *at)
{
	return *at && **at ? *at : NULL; /* what a file does not tell is empty there, and unknown here */
}

/* Is key one that every run has? *value NULL: not known of this one. */
static bool built_in(const struct wi_run *run, const char *key, const char **value, char buf[WI_SHA256_HEX])
{
	const struct {
		const char *key;
		const char *const *text;
	} named[] = {
		{ "kernel", &run->kernel },	{ "arch", &run->arch },	      { "format", &run->format },
		{ "topology", &run->topology }, { "version", &run->version }, { "analysis", &run->analysis },
	};

	if (!strcmp(key, "status")) {
		*value = wi_run_status_name(run->status);
		return true;
	}
	if (!strcmp(key, "sha256")) {
		*value = wi_sha256_hex(run->sha256, buf);
		return true;
	}
	for (size_t i = 0; i < sizeof(named) / sizeof(*named); i++)
		if (!strcmp(key, named[i].key)) {
			*value = text_of(named[i].text);
			return true;
		}
	return false;
}

size_t wi_run_values(const struct wi_run *run, const char *key, const char **out, size_t max, char buf[WI_SHA256_HEX])
{
	const char *value;
	size_t n = 0;

	if (!strcmp(key, "path")) {
		for (; n < run->nr_paths; n++)
			if (n < max)
				out[n] = run->path[n];
		return n;
	}
	if (built_in(run, key, &value, buf)) {
		if (value && max)
			out[0] = value;
		return value != NULL;
	}
	if (!strncmp(key, "tag.", 4))
		key += 4;
	for (size_t i = 0; i < run->nr_tags; i++)
		if (!strcmp(run->tag[i].key, key)) {
			if (n < max)
				out[n] = run->tag[i].value;
			n++;
		}
	return n;
}

/* Does a value of the key match? Over all of them, however many there are. */
static bool any_matches(const struct wi_run *run, const struct term *t)
{
	char buf[WI_SHA256_HEX];
	const char *key = t->key, *value;

	if (!strcmp(key, "path")) {
		for (size_t i = 0; i < run->nr_paths; i++)
			if (wi_glob(t->glob, run->path[i]))
				return true;
		return false;
	}
	if (built_in(run, key, &value, buf))
		return value && wi_glob(t->glob, value);
	if (!strncmp(key, "tag.", 4))
		key += 4;
	for (size_t i = 0; i < run->nr_tags; i++)
		if (!strcmp(run->tag[i].key, key) && wi_glob(t->glob, run->tag[i].value))
			return true;
	return false;
}

bool wi_select_matches(const struct wi_select *select, const struct wi_run *run)
{
	for (size_t i = 0; select && i < select->nr; i++)
		if (any_matches(run, &select->term[i]) == select->term[i].negated)
			return false;
	return true;
}
