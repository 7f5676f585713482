/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analyzer/base/json.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "analyzer/base/fmt.h"
#include "analyzer/base/utf8.h"

void wi_json_init(struct wi_json *j, FILE *out)
{
	memset(j, 0, sizeof(*j));
	j->out = out;
}

static void put_string(FILE *out, const char *s)
{
	size_t len = strlen(s);

	putc_unlocked('"', out);
	for (size_t i = 0; i < len;) {
		uint32_t cp;
		size_t used = wi_utf8_next(s + i, len - i, &cp);

		if (cp == WI_UTF8_INVALID)
			fputs("\xef\xbf\xbd", out);
		else if (cp == '"' || cp == '\\')
			fprintf(out, "\\%c", (int)cp);
		else if (wi_utf8_unsafe(cp) && cp > 0xffff)
			fprintf(out, "\\u%04" PRIx32 "\\u%04" PRIx32, 0xd800 + ((cp - 0x10000) >> 10),
				0xdc00 + (cp & 0x3ff));
		else if (wi_utf8_unsafe(cp))
			fprintf(out, "\\u%04" PRIx32, cp);
		else
			fwrite(s + i, 1, used, out);
		i += used;
	}
	putc_unlocked('"', out);
}

/* Comma, line break and key before a value. */
static void begin_member(struct wi_json *j, const char *key)
{
	if (j->depth) {
		bool flat = j->flat[j->depth - 1];

		if (j->has_member[j->depth - 1])
			fputs(flat ? ", " : ",", j->out);
		if (!flat)
			fprintf(j->out, "\n%*s", (int)(2 * j->depth), "");
		j->has_member[j->depth - 1] = true;
	}
	if (key) {
		put_string(j->out, key);
		fputs(": ", j->out);
	}
}

static void open_level(struct wi_json *j, const char *key, char bracket, bool flat)
{
	begin_member(j, key);
	putc_unlocked(bracket, j->out);
	if (j->depth < WI_JSON_DEPTH) {
		j->has_member[j->depth] = false;
		j->flat[j->depth] = flat || (j->depth && j->flat[j->depth - 1]);
		j->depth++;
	}
}

static void close_level(struct wi_json *j, char bracket)
{
	if (!j->depth)
		return;
	j->depth--;
	if (j->has_member[j->depth] && !j->flat[j->depth])
		fprintf(j->out, "\n%*s", (int)(2 * j->depth), "");
	putc_unlocked(bracket, j->out);
	if (!j->depth)
		putc_unlocked('\n', j->out);
}

void wi_json_object(struct wi_json *j, const char *key)
{
	open_level(j, key, '{', false);
}

void wi_json_object_flat(struct wi_json *j, const char *key)
{
	open_level(j, key, '{', true);
}

void wi_json_array(struct wi_json *j, const char *key)
{
	open_level(j, key, '[', false);
}

void wi_json_array_flat(struct wi_json *j, const char *key)
{
	open_level(j, key, '[', true);
}

void wi_json_end_object(struct wi_json *j)
{
	close_level(j, '}');
}

void wi_json_end_array(struct wi_json *j)
{
	close_level(j, ']');
}

void wi_json_u64(struct wi_json *j, const char *key, uint64_t value)
{
	begin_member(j, key);
	fprintf(j->out, "%" PRIu64, value);
}

void wi_json_i64(struct wi_json *j, const char *key, int64_t value)
{
	begin_member(j, key);
	fprintf(j->out, "%" PRId64, value);
}

void wi_json_bool(struct wi_json *j, const char *key, bool value)
{
	begin_member(j, key);
	fputs(value ? "true" : "false", j->out);
}

void wi_json_string(struct wi_json *j, const char *key, const char *value)
{
	begin_member(j, key);
	put_string(j->out, value);
}

void wi_json_fraction(struct wi_json *j, const char *key, double value)
{
	if (!isfinite(value))
		return;
	begin_member(j, key);
	fprintf(j->out, "%.6f", value);
}

void wi_json_real(struct wi_json *j, const char *key, double value)
{
	char text[WI_FMT_LEN];

	if (!isfinite(value))
		return;
	begin_member(j, key);
	fputs(wi_fmt_real(text, sizeof(text), value), j->out);
}

void wi_json_share(struct wi_json *j, const char *key, uint64_t part, uint64_t whole)
{
	if (whole)
		wi_json_fraction(j, key, (double)part / (double)whole);
}
