/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analyzer/topology/markers_expand.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/base/cpumask.h"
#include "analyzer/topology/markers.h"

struct expand {
	struct wi_filetree *tree;
	const char *start, *at, *end;
	char *path; /* of the record before this, unescaped; marks are kept as the bytes below */
	size_t path_len;
	char *content;
	uint64_t bytes; /* expanded so far */
	uint64_t files;
	uint32_t *files_left;
	struct wi_err *err;
};

/* A number's place in an unescaped path: a byte that no path can hold. */
#define PLACE '\0'

static bool refuse(struct expand *x, const char *what)
{
	return wi_err_set(x->err, WI_EREFUSED, "payload byte %zu: %s", (size_t)(x->at - x->start), what);
}

static int hex(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* What follows a backslash; *cut is set by "\c": no newline at the content's end. */
static bool take_escape(struct expand *x, char *out, size_t *n, bool *cut)
{
	if (x->at == x->end)
		return refuse(x, "a backslash at the end");
	switch (*x->at++) {
	case '\\':
		out[(*n)++] = '\\';
		return true;
	case 'n':
		out[(*n)++] = '\n';
		return true;
	case 't':
		out[(*n)++] = '\t';
		return true;
	case 'c':
		*cut = true;
		return true;
	case 'x':
		if (x->end - x->at >= 2 && hex(x->at[0]) >= 0 && hex(x->at[1]) >= 0) {
			out[(*n)++] = (char)(hex(x->at[0]) << 4 | hex(x->at[1]));
			x->at += 2;
			return true;
		}
		break;
	}
	return refuse(x, "an unknown escape");
}

/* Unescapes up to the mark, which is consumed. out has room for what is left of the payload. */
static bool take_text(struct expand *x, char mark, char *out, size_t *len, bool *cut)
{
	size_t n = 0;

	*cut = false;
	while (x->at < x->end && *x->at != mark) {
		char c = *x->at++;

		if (*cut)
			return refuse(x, "something after \\c");
		if (c == WI_MARKERS_RECORD_END)
			return refuse(x, "a record ends too early");
		if (c == '\\') {
			if (!take_escape(x, out, &n, cut))
				return false;
		} else {
			out[n++] = c;
		}
	}
	if (x->at == x->end)
		return refuse(x, "the last record has no end");
	x->at++;
	*len = n;
	return true;
}

/* The path up to '='; empty: as before. */
static bool take_path(struct expand *x)
{
	char name[WI_FILETREE_MAX_PATH + 1];
	size_t n = 0;

	if (x->at < x->end && *x->at == WI_MARKERS_PATH_END) {
		x->at++;
		return x->path_len || refuse(x, "the first record has no path");
	}
	while (x->at < x->end && *x->at != WI_MARKERS_PATH_END) {
		char c = *x->at++;
		bool cut = false;

		if (n + 2 > sizeof(name))
			return refuse(x, "a path is too long");
		if (c == WI_MARKERS_RECORD_END)
			return refuse(x, "a record has no '='");
		if (c == WI_MARKERS_NUMBER)
			name[n++] = PLACE;
		else if (c != '\\')
			name[n++] = c;
		else if (!take_escape(x, name, &n, &cut))
			return false;
		else if (cut || !name[n - 1])
			return refuse(x, "an escape that no path can hold");
	}
	if (x->at == x->end)
		return refuse(x, "the last record has no '='");
	x->at++;
	memcpy(x->path, name, n);
	x->path_len = n;
	return true;
}

static bool add_file(struct expand *x, const char *path, const char *content, size_t len)
{
	x->bytes += strlen(path) + len;
	if (++x->files > WI_MARKERS_MAX_FILES || x->bytes > WI_MARKERS_MAX_BYTES || !*x->files_left)
		return refuse(x, "the set expands to too much");
	--*x->files_left;
	return wi_filetree_add(x->tree, path, content, len, x->err);
}

/* The path with every number's place filled in. */
static bool add_numbered(struct expand *x, uint32_t number, const char *content, size_t len)
{
	char name[WI_FILETREE_MAX_PATH + 1], digits[12];
	size_t n = 0, nr_digits = (size_t)snprintf(digits, sizeof(digits), "%u", number);

	for (size_t i = 0; i < x->path_len; i++) {
		bool place = x->path[i] == PLACE;

		if (n + (place ? nr_digits : 1) >= sizeof(name))
			return refuse(x, "a path is too long");
		if (place)
			memcpy(name + n, digits, nr_digits);
		else
			name[n] = x->path[i];
		n += place ? nr_digits : 1;
	}
	name[n] = '\0';
	return add_file(x, name, content, len);
}

static bool take_record(struct expand *x)
{
	const char *list = x->at;
	uint64_t *mask = NULL;
	uint32_t words = 0;
	size_t len = 0;
	bool cut, ok = false;

	while (x->at < x->end && ((*x->at >= '0' && *x->at <= '9') || *x->at == ',' || *x->at == '-'))
		x->at++;
	if (x->at == x->end || *x->at != WI_MARKERS_LIST_END)
		return refuse(x, "a record does not begin with a list of numbers and '@'");
	if (x->at > list && !wi_mask_parse_list(list, (size_t)(x->at - list), &mask, &words, x->err))
		return false;
	x->at++;
	if (!take_path(x) || !take_text(x, WI_MARKERS_RECORD_END, x->content, &len, &cut))
		goto out;
	if (!cut)
		x->content[len++] = '\n';
	bool numbered = x->path_len && memchr(x->path, PLACE, x->path_len);
	if (numbered != !!mask) {
		refuse(x,
		       mask ? "numbers without a place in the path" : "a path with a place for numbers but none given");
		goto out;
	}
	ok = true;
	if (!mask)
		ok = add_numbered(x, 0, x->content, len);
	for (uint32_t i = mask ? wi_mask_next(mask, words, 0) : UINT32_MAX; ok && i != UINT32_MAX;
	     i = wi_mask_next(mask, words, i + 1))
		ok = add_numbered(x, i, x->content, len);
out:
	free(mask);
	return ok;
}

struct wi_filetree *wi_markers_expand(const char *payload, size_t len, uint32_t *files_left, struct wi_err *err)
{
	struct expand x = {
		.start = payload, .at = payload, .end = payload + len, .files_left = files_left, .err = err
	};
	bool ok;

	x.tree = wi_filetree_new();
	x.path = malloc(WI_FILETREE_MAX_PATH + 1);
	x.content = malloc(len + 2); /* unescaping never makes a text longer; one newline more */
	ok = (x.tree && x.path && x.content) || wi_err_nomem(err);
	while (ok && x.at < x.end)
		ok = take_record(&x);
	if (ok && !x.files)
		ok = refuse(&x, "no file in it");
	free(x.content);
	free(x.path);
	if (!ok) {
		wi_filetree_free(x.tree);
		x.tree = NULL;
	}
	return x.tree;
}
