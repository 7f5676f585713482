/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Tags of a trace: from its path by an expression, from a JSON file beside it, from texts in the trace.
 * A set of them is what a path says; equal ones are kept once, a key may have several values.
 */
#ifndef WI_BATCH_TAGS_H
#define WI_BATCH_TAGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyzer/base/err.h"
#include "analyzer/store/bundle.h"

struct wi_tag_set {
	struct wi_tag *tag; /* texts are the set's */
	size_t nr, room;
};

void wi_tag_set_fini(struct wi_tag_set *t);

/* Copies both in; of the value, what no terminal should see as wi_fmt_name() writes it. false: WI_EUSAGE when one is
 * empty or too long. */
bool wi_tag_set_add(struct wi_tag_set *t, const char *key, size_t key_len, const char *value, size_t value_len,
		    struct wi_err *err);

/*
 * "workload,kernel,run=RE": names of tags in the order of the groups of a POSIX extended expression. What a group
 * matched is the tag's value; one that took no part in the match, or matched nothing, gives no tag. "-" as a name
 * passes over a group.
 */
struct wi_tag_pattern;
struct wi_tag_pattern *wi_tag_pattern_new(const char *text, struct wi_err *err); /* NULL: WI_EUSAGE */
void wi_tag_pattern_free(struct wi_tag_pattern *p);

/* Adds the tags of a path's text; *matched: the expression did. */
bool wi_tag_pattern_match(const struct wi_tag_pattern *p, const char *text, struct wi_tag_set *t, bool *matched,
			  struct wi_err *err);

/*
 * A JSON object: its member "tags" if that is an object, else the object itself; of it the members that are texts,
 * numbers and truth values. A document of wakeif's own ("schema": "wakeif/...") without "tags" gives none.
 * Bounded: WI_TAG_FILE_BYTES of file, WI_TAG_FILE_NR tags. false: err tells what is wrong with the file.
 */
#define WI_TAG_FILE_BYTES (1u << 20)
#define WI_TAG_FILE_NR 256u
bool wi_tag_set_of_json(const char *path, struct wi_tag_set *t, struct wi_err *err);

#endif
