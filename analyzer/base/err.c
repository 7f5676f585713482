/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analyzer/base/err.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "analyzer/base/utf8.h"

/* Appends text to out; control characters, marks that turn or hide text, and what is no UTF-8 as \xNN, so that a
 * message is one harmless line whatever a file or its name holds. */
static void append_printable(char *out, size_t size, const char *text)
{
	size_t n = strnlen(out, size), len = strlen(text), used;
	uint32_t cp;

	for (; len; text += used, len -= used) {
		bool plain;

		used = wi_utf8_next(text, len, &cp);
		plain = cp != WI_UTF8_INVALID && !wi_utf8_unsafe(cp);
		if (n + used * (plain ? 1 : 4) >= size)
			break;
		for (size_t i = 0; i < used; i++)
			n += (size_t)snprintf(out + n, size - n, plain ? "%c" : "\\x%02x", (unsigned char)text[i]);
	}
}

bool wi_err_set(struct wi_err *err, enum wi_err_code code, const char *fmt, ...)
{
	char text[sizeof(err->msg)];
	va_list ap;

	if (!err || err->code != WI_OK)
		return false;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	err->code = code;
	err->msg[0] = '\0';
	append_printable(err->msg, sizeof(err->msg), text);
	return false;
}

bool wi_err_at(struct wi_err *err, enum wi_err_code code, const char *file, uint64_t offset, const char *fmt, ...)
{
	char text[sizeof(err->msg)], where[32] = "";
	va_list ap;

	if (!err || err->code != WI_OK)
		return false;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (offset != WI_NO_OFFSET)
		snprintf(where, sizeof(where), "@0x%" PRIx64, offset);
	err->code = code;
	err->msg[0] = '\0';
	append_printable(err->msg, sizeof(err->msg) / 2, file);
	append_printable(err->msg, sizeof(err->msg), where);
	append_printable(err->msg, sizeof(err->msg), ": ");
	append_printable(err->msg, sizeof(err->msg), text);
	return false;
}

const char *wi_err_reason(const struct wi_err *err, const char *file)
{
	char start[sizeof(err->msg) / 2] = "";
	const char *text = err->msg;

	append_printable(start, sizeof(start), file);
	if (strncmp(text, start, strlen(start)) != 0)
		return text;
	text += strlen(start);
	if (!strncmp(text, "@0x", 3))
		text += 3 + strspn(text + 3, "0123456789abcdef");
	return strncmp(text, ": ", 2) ? err->msg : text + 2;
}

bool wi_err_nomem(struct wi_err *err)
{
	return wi_err_set(err, WI_EIO, "out of memory");
}
