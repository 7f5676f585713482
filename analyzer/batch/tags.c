/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analyzer/batch/tags.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analyzer/base/fmt.h"
#include "analyzer/base/pattern.h"

#define MAX_GROUPS 32

struct wi_tag_pattern {
	regex_t re;
	bool compiled;
	char *names; /* cut into the names */
	const char *name[MAX_GROUPS];
	size_t nr;
};

void wi_tag_set_fini(struct wi_tag_set *t)
{
	for (size_t i = 0; i < t->nr; i++) {
		free((char *)t->tag[i].key);
		free((char *)t->tag[i].value);
	}
	free(t->tag);
	memset(t, 0, sizeof(*t));
}

/* Letters, digits and _ . - : what a selector and a file name can hold without quotes. */
static bool is_key(const char *s, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (!((s[i] >= 'a' && s[i] <= 'z') || (s[i] >= 'A' && s[i] <= 'Z') || (s[i] >= '0' && s[i] <= '9') ||
		      s[i] == '_' || s[i] == '.' || s[i] == '-'))
			return false;
	return len > 0 && len <= WI_TAG_KEY_MAX && s[0] != '-';
}

static bool has(const struct wi_tag_set *t, const char *key, const char *value)
{
	for (size_t i = 0; i < t->nr; i++)
		if (!strcmp(t->tag[i].key, key) && !strcmp(t->tag[i].value, value))
			return true;
	return false;
}

bool wi_tag_set_add(struct wi_tag_set *t, const char *key, size_t key_len, const char *value, size_t value_len,
		    struct wi_err *err)
{
	char *k, *v, raw[WI_TAG_VALUE_MAX + 1], shown[WI_TAG_VALUE_MAX * 8];

	if (!is_key(key, key_len))
		return wi_err_set(err, WI_EUSAGE,
				  "'%.*s' is no name of a tag: 1 to %u letters, digits and _ . - are one",
				  (int)(key_len < 100 ? key_len : 100), key, WI_TAG_KEY_MAX);
	if (!value_len || value_len > WI_TAG_VALUE_MAX || memchr(value, '\0', value_len))
		return wi_err_set(err, WI_EUSAGE, "tag %.*s: its value is %s", (int)key_len, key,
				  !value_len			 ? "empty"
				  : value_len > WI_TAG_VALUE_MAX ? "too long"
								 : "no text");
	memcpy(raw, value, value_len); /* may end where it does */
	raw[value_len] = '\0';
	wi_fmt_name(shown, sizeof(shown), raw);
	if (strlen(shown) > WI_TAG_VALUE_MAX)
		return wi_err_set(err, WI_EUSAGE, "tag %.*s: its value is too long", (int)key_len, key);
	k = strndup(key, key_len);
	v = strdup(shown);
	if (k && v && !has(t, k, v)) {
		if (t->nr == t->room) {
			size_t room = t->room ? t->room * 2 : 8;
			struct wi_tag *more = realloc(t->tag, room * sizeof(*more));

			if (!more)
				goto nomem;
			t->tag = more;
			t->room = room;
		}
		t->tag[t->nr++] = (struct wi_tag){ k, v };
		return true;
	}
	if (!k || !v)
		goto nomem;
	free(k);
	free(v);
	return true;
nomem:
	free(k);
	free(v);
	return wi_err_nomem(err);
}

/* ---- of paths ---- */

static bool split_names(struct wi_tag_pattern *p, struct wi_err *err)
{
	char *at = p->names;

	for (char *name; (name = strsep(&at, ","));) {
		if (p->nr == MAX_GROUPS)
			return wi_err_set(err, WI_EUSAGE, "--tag: more than %d names", MAX_GROUPS);
		if (strcmp(name, "-") != 0 && !is_key(name, strlen(name)))
			return wi_err_set(err, WI_EUSAGE,
					  "--tag: '%s' is no name of a tag: letters, digits and _ . - are one", name);
		p->name[p->nr++] = name;
	}
	return true;
}

struct wi_tag_pattern *wi_tag_pattern_new(const char *text, struct wi_err *err)
{
	const char *equals = strchr(text, '=');
	struct wi_tag_pattern *p;

	if (!equals || equals == text || !equals[1]) {
		wi_err_set(err, WI_EUSAGE,
			   "--tag: not NAMES=EXPRESSION, such as 'workload,kernel=([^/]*)/([^/]*)/': '%s'", text);
		return NULL;
	}
	p = calloc(1, sizeof(*p));
	if (p)
		p->names = strndup(text, (size_t)(equals - text));
	if (!p || !p->names) {
		wi_err_nomem(err);
		goto failed;
	}
	if (!split_names(p, err))
		goto failed;
	if (!wi_pattern_compile_groups(&p->re, "--tag", equals + 1, err))
		goto failed;
	p->compiled = true;
	if (p->re.re_nsub >= p->nr)
		return p;
	wi_err_set(err, WI_EUSAGE, "--tag: %zu names, but the expression has %zu groups: '%s'", p->nr, p->re.re_nsub,
		   text);
failed:
	wi_tag_pattern_free(p);
	return NULL;
}

void wi_tag_pattern_free(struct wi_tag_pattern *p)
{
	if (!p)
		return;
	if (p->compiled)
		regfree(&p->re);
	free(p->names);
	free(p);
}

bool wi_tag_pattern_match(const struct wi_tag_pattern *p, const char *text, struct wi_tag_set *t, bool *matched,
			  struct wi_err *err)
{
	regmatch_t m[MAX_GROUPS + 1];

	*matched = !regexec(&p->re, text, MAX_GROUPS + 1, m, 0);
	for (size_t i = 0; *matched && i < p->nr; i++) {
		const regmatch_t *g = &m[i + 1];

		if (g->rm_so < 0 || g->rm_eo == g->rm_so || !strcmp(p->name[i], "-"))
			continue;
		if (!wi_tag_set_add(t, p->name[i], strlen(p->name[i]), text + g->rm_so, (size_t)(g->rm_eo - g->rm_so),
				    err))
			return false;
	}
	return true;
}

/* ---- of files ---- */

/* A regular file of bounded size; whoever links a pipe there gets an error, not a wait. */
static char *read_file(const char *path, size_t *len, struct wi_err *err)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	char *text = malloc(WI_TAG_FILE_BYTES + 1);
	struct stat st;
	ssize_t n = -1;

	*len = 0;
	if (!text) {
		wi_err_nomem(err);
	} else if (fd < 0 || fstat(fd, &st)) {
		wi_err_at(err, WI_EIO, path, WI_NO_OFFSET, "cannot open: %s", strerror(errno));
	} else if (!S_ISREG(st.st_mode)) {
		wi_err_at(err, WI_EREFUSED, path, WI_NO_OFFSET, "not a regular file");
	} else {
		while (*len <= WI_TAG_FILE_BYTES &&
		       ((n = read(fd, text + *len, WI_TAG_FILE_BYTES + 1 - *len)) > 0 || (n < 0 && errno == EINTR)))
			*len += n > 0 ? (size_t)n : 0;
		if (n < 0)
			wi_err_at(err, WI_EIO, path, *len, "read error: %s", strerror(errno));
		else if (*len > WI_TAG_FILE_BYTES)
			n = wi_err_at(err, WI_EREFUSED, path, WI_NO_OFFSET, "tags: more than %u bytes",
				      WI_TAG_FILE_BYTES) -
			    1;
	}
	if (fd >= 0)
		close(fd);
	if (n >= 0)
		return text;
	free(text);
	return NULL;
}

static bool add_member(const char *path, const char *key, const json_t *value, struct wi_tag_set *t, struct wi_err *err)
{
	struct wi_err why = { 0 };
	char number[64];
	const char *text = number;
	size_t len;

	if (json_is_string(value)) {
		text = json_string_value(value);
		len = json_string_length(value);
		if (!len)
			return true;
	} else if (json_is_integer(value)) {
		len = (size_t)snprintf(number, sizeof(number), "%" JSON_INTEGER_FORMAT, json_integer_value(value));
	} else if (json_is_real(value)) {
		len = (size_t)snprintf(number, sizeof(number), "%.15g", json_real_value(value));
	} else if (json_is_boolean(value)) {
		text = json_is_true(value) ? "true" : "false";
		len = strlen(text);
	} else {
		return true;
	}
	return wi_tag_set_add(t, key, strlen(key), text, len, &why) ||
	       wi_err_at(err, why.code == WI_EUSAGE ? WI_EREFUSED : why.code, path, WI_NO_OFFSET, "%s", why.msg);
}

static bool is_report(const json_t *object)
{
	const char *schema = json_string_value(json_object_get(object, "schema"));

	return schema && !strncmp(schema, "wakeif/", 7);
}

bool wi_tag_set_of_json(const char *path, struct wi_tag_set *t, struct wi_err *err)
{
	size_t len, before = t->nr;
	char *text = read_file(path, &len, err);
	json_t *doc, *tags, *value;
	json_error_t why;
	const char *key;
	bool ok = true;

	if (!text)
		return false;
	doc = json_loadb(text, len, JSON_REJECT_DUPLICATES, &why);
	free(text);
	if (!doc)
		return wi_err_at(err, WI_EREFUSED, path, (uint64_t)(why.position > 0 ? why.position : 0), "no JSON: %s",
				 why.text);
	tags = json_object_get(doc, "tags");
	if (!json_is_object(tags))
		tags = doc;
	if (!json_is_object(tags)) {
		ok = wi_err_at(err, WI_EREFUSED, path, WI_NO_OFFSET, "tags: not a JSON object");
	} else if (tags != doc || !is_report(doc)) {
		json_object_foreach(tags, key, value)
		{
			ok = ok && add_member(path, key, value, t, err);
			if (ok && t->nr - before > WI_TAG_FILE_NR)
				ok = wi_err_at(err, WI_EREFUSED, path, WI_NO_OFFSET, "more than %u tags",
					       WI_TAG_FILE_NR);
		}
	}
	json_decref(doc);
	return ok;
}
