/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "parsers/refuse.h"

#include <stdio.h>
#include <string.h>

/* Name of the file as a shell word. */
static void shell_word(char *out, size_t size, const char *path)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./,:@%+-";
	size_t n = 0;

	if (path[strspn(path, plain)] == '\0') {
		snprintf(out, size, "%s%s", path[0] == '-' ? "./" : "", path);
		return;
	}
	out[n++] = '\'';
	for (; *path && n + 7 < size; path++) {
		if (*path == '\'') {
			memcpy(out + n, "'\\''", 4);
			n += 4;
		} else {
			out[n++] = *path;
		}
	}
	out[n++] = '\'';
	out[n] = '\0';
}

static bool refuse_perf(const char *path, const char *wrapper, struct wi_err *err)
{
	char word[200];

	if (*wrapper && strcmp(wrapper, "pipe"))
		return wi_err_at(err, WI_EREFUSED, path, WI_NO_OFFSET,
				 "perf.data is not read directly: unpack the .%s file to perf.data, then: perf script "
				 "-i perf.data --ns "
				 "-F trace:comm,pid,tid,cpu,time,event,trace --show-lost-events --header > perf.txt",
				 wrapper);
	shell_word(word, sizeof(word), *wrapper || !strcmp(path, "-") ? "perf.data" : path);
	return wi_err_at(err, WI_EREFUSED, path, WI_NO_OFFSET,
			 "perf.data is not read directly; make it readable with: perf script -i %s --ns "
			 "-F trace:comm,pid,tid,cpu,time,event,trace --show-lost-events --header > perf.txt",
			 word);
}

static bool is_text(const uint8_t *head, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (head[i] < 9 || (head[i] > 13 && head[i] < 32 && head[i] != 27))
			return false;
	return true;
}

static const struct {
	const char *magic;
	size_t len, at;
	const char *what;
} kinds[] = {
	{ "\x7f"
	  "ELF",
	  4, 0, "an ELF program or library" },
	{ "PK\x03\x04", 4, 0, "a zip archive" },
	{ "\x89PNG", 4, 0, "a PNG picture" },
	{ "%PDF", 4, 0, "a PDF document" },
	{ "SQLite format 3", 15, 0, "an SQLite database" },
	{ "\x37\x7f\x06\x82", 4, 0, "an SQLite write-ahead log" },
	{ "7z\xbc\xaf\x27\x1c", 6, 0, "a 7z archive" },
	{ "\xff\xd8\xff", 3, 0, "a JPEG picture" },
	{ "GIF8", 4, 0, "a GIF picture" },
	{ "!<arch>\n", 8, 0, "an ar archive" },
	{ "<?xml", 5, 0, "an XML document" },
};

static bool has(const uint8_t *head, size_t len, const char *text)
{
	return memmem(head, len, text, strlen(text)) != NULL;
}

static bool is_ctf(const uint8_t *head, size_t len, struct wi_err *err, const char *path)
{
	static const uint8_t stream[2][4] = { { 0xc1, 0x1f, 0xfc, 0xc1 }, { 0xc1, 0xfc, 0x1f, 0xc1 } };
	static const uint8_t packet[2][4] = { { 0x57, 0x1d, 0xd1, 0x75 }, { 0x75, 0xd1, 0x1d, 0x57 } };
	size_t first = len < 512 ? len : 512;

	if (has(head, first, "\"type\":\"preamble\"") || has(head, first, "\"type\": \"preamble\"")) {
		wi_err_at(err, WI_EREFUSED, path, 0, "format not supported: CTF 2 metadata");
		return true;
	}
	if (len < 4)
		return false;
	for (int i = 0; i < 2; i++) {
		if (!memcmp(head, stream[i], 4) || !memcmp(head, packet[i], 4)) {
			wi_err_at(err, WI_EREFUSED, path, 0, "format not supported: CTF");
			return true;
		}
	}
	if (len >= 8 && !memcmp(head, "/* CTF 1", 8)) {
		wi_err_at(err, WI_EREFUSED, path, 0, "format not supported: CTF 1 metadata");
		return true;
	}
	return false;
}

static bool is_perf(const uint8_t *head, size_t len)
{
	return len >= 8 && (!memcmp(head, "PERFILE2", 8) || !memcmp(head, "2ELIFREP", 8) || !memcmp(head, "PERFFILE", 8));
}

bool wi_refuse_foreign(const uint8_t *head, size_t len)
{
	struct wi_err unused = { 0 };

	return is_perf(head, len) || is_ctf(head, len, &unused, "");
}

static void describe_bytes(char *out, size_t size, const uint8_t *head, size_t len)
{
	size_t n = 0;

	for (size_t i = 0; i < len && i < 8 && n + 4 < size; i++)
		n += (size_t)snprintf(out + n, size - n, "%s%02x", i ? " " : "", head[i]);
}

bool wi_refuse(const char *path, const uint8_t *head, size_t len, uint64_t bytes, const char *wrapper,
	       struct wi_err *err)
{
	char start[64] = "";

	if (!bytes || !len)
		return wi_err_at(err, WI_EREFUSED, path, WI_NO_OFFSET, "not a trace: the file is empty");
	if (is_perf(head, len))
		return refuse_perf(path, wrapper, err);
	if (is_ctf(head, len, err, path))
		return false;
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		if (len >= kinds[i].len && !memcmp(head, kinds[i].magic, kinds[i].len))
			return wi_err_at(err, WI_EREFUSED, path, 0, "not a trace: found %s", kinds[i].what);
	if (!is_text(head, len)) {
		describe_bytes(start, sizeof(start), head, len);
		return wi_err_at(err, WI_EREFUSED, path, 0,
				 "not a trace: no trace-cmd magic (of a file cut by split only the first piece has "
				 "it): found %s",
				 start);
	}
	if (has(head, len < 512 ? len : 512, "Tracing meta data in file"))
		return wi_err_at(err, WI_EREFUSED, path, 0,
				 "not a trace: found the output of trace-cmd dump, which holds no events; give its "
				 "trace.dat instead");
	if (has(head, len, "[tid/pid]") && has(head, len, "sch delay"))
		return wi_err_at(
			err, WI_EREFUSED, path, 0,
			"not a trace: found the output of perf sched timehist; give the output of perf script instead");
	for (size_t i = 0; i < len && i < 40 && head[i] != '\n'; i++)
		start[i] = (char)head[i];
	return wi_err_at(err, WI_EREFUSED, path, 0,
			 "not a trace: no trace-cmd magic and no line of ftrace, trace-cmd report or perf script text: "
			 "found \"%s\"",
			 start);
}
