/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analyzer/base/err.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

/* Appends text to out, control bytes and DEL as \xNN, so that a message is one line whatever a file name holds. */
static void append_printable(char *out, size_t size, const char *text)
{
	size_t n = 0;

	while (n < size && out[n])
		n++;
	for (; *text && n + 5 < size; text++) {
		unsigned char c = (unsigned char)*text;

		if (c < 0x20 || c == 0x7f)
			n += (size_t)snprintf(out + n, size - n, "\\x%02x", c);
		else
			out[n++] = (char)c;
	}
	out[n] = '\0';
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

bool wi_err_nomem(struct wi_err *err)
{
	return wi_err_set(err, WI_EIO, "out of memory");
}
