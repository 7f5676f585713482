/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Collecting the chunks of marker sets. markers_expand.c turns a complete payload into files. */
#include "analyzer/topology/markers.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/topology/markers_expand.h"

#define MAX_BEFORE 128u /* bytes that a text form may put before the chunk */

struct chunk {
	char *bytes; /* NULL: not seen */
	uint32_t len;
};

struct open_set {
	char name[WI_MARKERS_MAX_SET + 1]; /* "": slot is free */
	uint32_t total, got;
	size_t bytes;
	uint64_t touched;    /* tick of the last add */
	struct chunk *chunk; /* total entries */
};

struct wi_marker_set {
	struct open_set open[WI_MARKERS_MAX_OPEN];
	struct wi_filetree *tree;
	uint64_t tick;
	size_t bytes;	     /* of all open sets */
	uint32_t nr_started; /* sets */
	uint32_t files_left; /* that sets may still expand to */
	struct wi_markers_status status;
};

/* One chunk as it stands in a text; all borrowed. */
struct header {
	const char *name, *payload;
	size_t name_len, payload_len;
	uint32_t version, nr, total;
};

struct wi_marker_set *wi_markers_new(void)
{
	struct wi_marker_set *s = calloc(1, sizeof(*s));

	if (s)
		s->files_left = WI_MARKERS_MAX_FILES_IN_ALL;
	return s;
}

static void close_set(struct open_set *o)
{
	for (uint32_t i = 0; o->chunk && i < o->total; i++)
		free(o->chunk[i].bytes);
	free(o->chunk);
	*o = (struct open_set){ 0 };
}

void wi_markers_free(struct wi_marker_set *s)
{
	if (!s)
		return;
	for (uint32_t i = 0; i < WI_MARKERS_MAX_OPEN; i++)
		close_set(&s->open[i]);
	wi_filetree_free(s->tree);
	free(s);
}

__attribute__((format(printf, 2, 3))) static void note(struct wi_marker_set *s, const char *fmt, ...)
{
	va_list ap;

	if (s->status.what[0])
		return;
	va_start(ap, fmt);
	vsnprintf(s->status.what, sizeof(s->status.what), fmt, ap);
	va_end(ap);
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool is_name(char c)
{
	return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* A decimal number of 1 to 9 digits. */
static bool take_number(const char **at, const char *end, uint32_t *value)
{
	const char *start = *at;
	uint32_t v = 0;

	while (*at < end && is_digit(**at) && *at - start < 9)
		v = v * 10 + (uint32_t)(*(*at)++ - '0');
	*value = v;
	return *at > start;
}

static bool take(const char **at, const char *end, char c)
{
	if (*at >= end || **at != c)
		return false;
	(*at)++;
	return true;
}

/* Where a chunk begins in the text; NULL: this text is none. Before it only something like "print: " may stand. */
static const char *find_chunk(const char *text, size_t len)
{
	static const size_t plen = sizeof(WI_MARKERS_PREFIX) - 1;
	size_t head = len < MAX_BEFORE ? len : MAX_BEFORE;
	const char *at = memmem(text, head, WI_MARKERS_PREFIX, plen);

	if (!at || (size_t)(at - text) + plen >= len || !is_digit(at[plen]))
		return NULL;
	const char *before = at;
	while (before > text && (before[-1] == ' ' || before[-1] == '\t'))
		before--;
	return before == text || before[-1] == ':' ? at : NULL;
}

static const char *parse_header(const char *at, const char *end, struct header *h)
{
	*h = (struct header){ 0 };
	at += sizeof(WI_MARKERS_PREFIX) - 1;
	if (!take_number(&at, end, &h->version) || !take(&at, end, ' '))
		return "no version number";
	if (h->version != WI_MARKERS_VERSION)
		return NULL;
	h->name = at;
	while (at < end && is_name(*at))
		at++;
	h->name_len = (size_t)(at - h->name);
	if (!h->name_len || h->name_len > WI_MARKERS_MAX_SET || !take(&at, end, ' '))
		return "no name of a set";
	if (!take_number(&at, end, &h->nr) || !take(&at, end, '/') || !take_number(&at, end, &h->total) ||
	    !take(&at, end, ' '))
		return "no N/TOTAL";
	if (!h->nr || h->nr > h->total || h->total > WI_MARKERS_MAX_CHUNKS)
		return "impossible N/TOTAL";
	while (end > at && (end[-1] == '\n' || end[-1] == '\r' || end[-1] == ' ' || end[-1] == '\t' || !end[-1]))
		end--;
	if (end == at || end[-1] != WI_MARKERS_END)
		return "its end is cut off";
	h->payload = at;
	h->payload_len = (size_t)(end - 1 - at);
	if (memchr(at, WI_MARKERS_END, h->payload_len))
		return "an end mark in its middle";
	if (h->payload_len > WI_MARKERS_MAX_TEXT)
		return "longer than a chunk may be";
	return NULL;
}

static void damaged(struct wi_marker_set *s, const struct header *h, const char *why)
{
	s->status.nr_damaged++;
	if (h->total)
		note(s, "chunk %u of %u of set %.*s: %s", h->nr, h->total, (int)h->name_len, h->name, why);
	else
		note(s, "a chunk without a readable header: %s", why);
}

/* The set in progress of this name, or a slot for it: a free one, else the one that was least recently added to. */
static struct open_set *find_set(struct wi_marker_set *s, const struct header *h, bool *fresh)
{
	struct open_set *slot = &s->open[0];

	*fresh = false;
	for (uint32_t i = 0; i < WI_MARKERS_MAX_OPEN; i++) {
		struct open_set *o = &s->open[i];

		if (strlen(o->name) == h->name_len && !memcmp(o->name, h->name, h->name_len))
			return o;
		if (o->touched < slot->touched)
			slot = o;
	}
	*fresh = true;
	return slot;
}

static bool start_set(struct open_set *o, const struct header *h, struct wi_err *err)
{
	close_set(o);
	o->chunk = calloc(h->total, sizeof(*o->chunk));
	if (!o->chunk)
		return wi_err_nomem(err);
	memcpy(o->name, h->name, h->name_len);
	o->name[h->name_len] = '\0';
	o->total = h->total;
	return true;
}

/* All chunks are there: expand them, and make the result the tree that counts. */
static bool complete(struct wi_marker_set *s, struct open_set *o, struct wi_err *err)
{
	char *payload = malloc(o->bytes + 1), name[WI_MARKERS_MAX_SET + 1];
	struct wi_filetree *tree = NULL;
	struct wi_err why = { 0 };
	bool ok = true;

	if (!payload)
		return wi_err_nomem(err);
	size_t len = 0;
	for (uint32_t i = 0; i < o->total; i++) {
		memcpy(payload + len, o->chunk[i].bytes, o->chunk[i].len);
		len += o->chunk[i].len;
	}
	uint32_t total = o->total;
	memcpy(name, o->name, sizeof(name));
	s->bytes -= o->bytes;
	close_set(o); /* before the expansion: the two need not be held at once */
	tree = wi_markers_expand(payload, len, &s->files_left, &why);
	if (tree) {
		wi_filetree_free(s->tree);
		s->tree = tree;
		s->status.nr_sets++;
		s->status.state = WI_MARKERS_COMPLETE;
		s->status.got = s->status.total = total;
	} else if (why.code == WI_EIO) {
		ok = wi_err_set(err, why.code, "%s", why.msg);
	} else {
		s->status.nr_damaged++;
		note(s, "set %s: %.100s", name, why.msg);
	}
	free(payload);
	return ok;
}

static bool add_chunk(struct wi_marker_set *s, const struct header *h, struct wi_err *err)
{
	bool fresh;
	struct open_set *o = find_set(s, h, &fresh);

	if (fresh) {
		if (s->nr_started >= WI_MARKERS_MAX_SETS) {
			damaged(s, h, "too many sets before it");
			return true;
		}
		s->nr_started++;
		s->bytes -= o->bytes;
		if (o->name[0]) {
			s->status.nr_damaged++;
			note(s, "set %s given up at %u of %u chunks: more than %u sets at once", o->name, o->got,
			     o->total, WI_MARKERS_MAX_OPEN);
		}
		if (!start_set(o, h, err))
			return false;
	} else if (o->total != h->total) {
		damaged(s, h, "another chunk of this set has another total");
		return true;
	}
	o->touched = ++s->tick;
	struct chunk *c = &o->chunk[h->nr - 1];
	if (c->bytes) {
		if (c->len != h->payload_len || memcmp(c->bytes, h->payload, c->len) != 0)
			damaged(s, h, "came twice with different contents");
		return true;
	}
	if (h->payload_len > WI_MARKERS_MAX_OPEN_BYTES - s->bytes) {
		damaged(s, h, "too much text in sets of which chunks are missing");
		return true;
	}
	c->bytes = malloc(h->payload_len + 1);
	if (!c->bytes)
		return wi_err_nomem(err);
	memcpy(c->bytes, h->payload, h->payload_len);
	c->len = (uint32_t)h->payload_len;
	o->bytes += c->len;
	s->bytes += c->len;
	o->got++;
	if (s->status.state != WI_MARKERS_COMPLETE) {
		s->status.state = WI_MARKERS_PARTIAL;
		s->status.got = o->got;
		s->status.total = o->total;
	}
	return o->got < o->total || complete(s, o, err);
}

bool wi_markers_add(struct wi_marker_set *s, const char *text, size_t len, struct wi_err *err)
{
	const char *at = find_chunk(text, len), *why;
	struct header h;

	if (!at)
		return true;
	why = parse_header(at, text + len, &h);
	if (why) {
		damaged(s, &h, why);
		return true;
	}
	if (h.version != WI_MARKERS_VERSION) {
		s->status.nr_other_version++;
		note(s, "markers of version %u, which this program does not know", h.version);
		return true;
	}
	return add_chunk(s, &h, err);
}

struct wi_markers_status wi_markers_status(const struct wi_marker_set *s)
{
	return s->status;
}

const struct wi_filetree *wi_markers_tree(const struct wi_marker_set *s)
{
	return s->tree;
}

struct wi_filetree *wi_markers_take_tree(struct wi_marker_set *s)
{
	struct wi_filetree *t = s->tree;

	s->tree = NULL;
	return t;
}
