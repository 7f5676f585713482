/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Marker texts, one a line: collecting sets and expanding them; then whatever came out is encoded and read again. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/record/marker_encode.h"
#include "analyzer/topology/markers.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool add_again(void *ctx, const char *text, size_t len, struct wi_err *err)
{
	return wi_markers_add(ctx, text, len, err);
}

static void same(const struct wi_filetree *a, const struct wi_filetree *b)
{
	if (!b || wi_filetree_count(a) != wi_filetree_count(b))
		abort();
	for (size_t i = 0; i < wi_filetree_count(a); i++) {
		struct wi_file f = wi_filetree_at(a, i);
		size_t len;
		const char *bytes = wi_filetree_get(b, f.path, &len);

		if (!bytes || len != f.len || memcmp(bytes, f.bytes, len) != 0)
			abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct wi_marker_set *s = wi_markers_new(), *again = wi_markers_new();
	const char *at = (const char *)data, *end = at + size;
	struct wi_err err = { 0 };

	while (s && at < end) {
		const char *nl = memchr(at, '\n', (size_t)(end - at));
		size_t len = nl ? (size_t)(nl - at) : (size_t)(end - at);

		wi_markers_add(s, at, len, &err);
		at += len + 1;
	}
	if (s && again && wi_markers_tree(s) &&
	    wi_markers_encode(wi_markers_tree(s), "again", add_again, again, NULL, &err))
		same(wi_markers_tree(s), wi_markers_tree(again));
	wi_markers_free(s);
	wi_markers_free(again);
	return 0;
}
