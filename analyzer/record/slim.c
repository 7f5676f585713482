/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analyzer/record/slim.h"

#include <stdlib.h>
#include <string.h>

#define SCHEDSTAT "proc/schedstat"
#define CPUINFO "proc/cpuinfo"
#define CPU_DIR "sys/devices/system/cpu/cpu"

/* Length of the first n blank-separated words of a line. */
static size_t words_len(const char *line, size_t len, int n)
{
	size_t at = 0;

	for (; n > 0 && at < len; n--) {
		while (at < len && line[at] == ' ')
			at++;
		while (at < len && line[at] != ' ')
			at++;
	}
	return at;
}

/*
 * "cpu0 1 2 3" -> "cpu0"; "domain0 ff 1 2" -> "domain0 ff"; with names (version 17 on): "domain0 SMT ff 1 2" ->
 * "domain0 SMT ff". Other lines (version, timestamp) stay.
 */
static size_t slim_line(const char *line, size_t len)
{
	if (len > 3 && !memcmp(line, "cpu", 3))
		return words_len(line, len, 1);
	if (len > 6 && !memcmp(line, "domain", 6)) {
		size_t one = words_len(line, len, 1), two = words_len(line, len, 2);
		bool named = false;

		for (size_t i = one + 1; i < two && !named; i++)
			named = !strchr("0123456789abcdef,", line[i]);
		return named ? words_len(line, len, 3) : two;
	}
	return len;
}

static bool slim_schedstat(struct wi_filetree *out, const struct wi_file *f, struct wi_err *err)
{
	char *text = malloc(f->len + 1);
	size_t n = 0;

	if (!text)
		return wi_err_nomem(err);
	for (size_t at = 0; at < f->len;) {
		const char *line = f->bytes + at, *nl = memchr(line, '\n', f->len - at);
		size_t len = nl ? (size_t)(nl - line) : f->len - at, keep = slim_line(line, len);

		memcpy(text + n, line, keep);
		n += keep;
		if (nl)
			text[n++] = '\n';
		at += len + !!nl;
	}
	bool ok = wi_filetree_add(out, f->path, text, n, err);
	free(text);
	return ok;
}

static bool slim_cpuinfo(struct wi_filetree *out, const struct wi_file *f, struct wi_err *err)
{
	static const char *const keep[] = { "processor", "vendor_id", "cpu family", "model",   "stepping",
					    "CPU ",	 "cpu\t",     "machine",    "platform" };
	char text[2048];
	size_t n = 0;

	for (size_t at = 0; at < f->len;) {
		const char *line = f->bytes + at, *nl = memchr(line, '\n', f->len - at);
		size_t len = nl ? (size_t)(nl - line) : f->len - at;
		bool want = false;

		if (!len)
			break;
		for (size_t i = 0; i < sizeof(keep) / sizeof(*keep); i++)
			want |= len > strlen(keep[i]) && !memcmp(line, keep[i], strlen(keep[i]));
		if (want && len < sizeof(text) - n - 1) {
			memcpy(text + n, line, len);
			n += len;
			text[n++] = '\n';
		}
		at += len + !!nl;
	}
	return wi_filetree_add(out, f->path, text, n, err);
}

static bool has_sysfs_topology(const struct wi_filetree *t)
{
	struct wi_file f;
	size_t at = 0;

	while (wi_filetree_next(t, CPU_DIR, &at, &f))
		if (strstr(f.path, "/topology/"))
			return true;
	return false;
}

struct wi_filetree *wi_machine_slim(const struct wi_filetree *t, struct wi_err *err)
{
	struct wi_filetree *out = wi_filetree_new();
	bool sysfs = has_sysfs_topology(t), ok = out || wi_err_nomem(err);

	for (size_t i = 0; ok && i < wi_filetree_count(t); i++) {
		struct wi_file f = wi_filetree_at(t, i);

		if (!strcmp(f.path, SCHEDSTAT))
			ok = slim_schedstat(out, &f, err);
		else if (!strcmp(f.path, CPUINFO) && sysfs)
			ok = slim_cpuinfo(out, &f, err);
		else
			ok = wi_filetree_add(out, f.path, f.bytes, f.len, err);
	}
	if (!ok) {
		wi_filetree_free(out);
		out = NULL;
	}
	return out;
}
