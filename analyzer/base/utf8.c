/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analyzer/base/utf8.h"

#include <string.h>

/* Range that the second byte must lie in, by first byte (Unicode standard, table of well-formed sequences). */
static void second_byte_range(uint8_t first, uint8_t *lo, uint8_t *hi)
{
	*lo = 0x80;
	*hi = 0xbf;
	if (first == 0xe0)
		*lo = 0xa0;
	else if (first == 0xed)
		*hi = 0x9f;
	else if (first == 0xf0)
		*lo = 0x90;
	else if (first == 0xf4)
		*hi = 0x8f;
}

size_t wi_utf8_next(const char *s, size_t len, uint32_t *cp)
{
	const uint8_t *b = (const uint8_t *)s;
	size_t need;
	uint8_t lo, hi;

	if (b[0] < 0x80) {
		*cp = b[0];
		return 1;
	}
	*cp = WI_UTF8_INVALID;
	if (b[0] >= 0xc2 && b[0] <= 0xdf)
		need = 2;
	else if (b[0] >= 0xe0 && b[0] <= 0xef)
		need = 3;
	else if (b[0] >= 0xf0 && b[0] <= 0xf4)
		need = 4;
	else
		return 1;
	second_byte_range(b[0], &lo, &hi);

	uint32_t value = b[0] & (0x7fu >> need);
	for (size_t i = 1; i < need; i++) {
		if (i >= len || b[i] < lo || b[i] > hi)
			return i;
		value = value << 6 | (b[i] & 0x3f);
		lo = 0x80;
		hi = 0xbf;
	}
	*cp = value;
	return need;
}

struct range {
	uint32_t first, last;
};

static bool in_ranges(uint32_t cp, const struct range *r, size_t nr)
{
	for (size_t i = 0; i < nr; i++)
		if (cp >= r[i].first && cp <= r[i].last)
			return true;
	return false;
}

#define IN_RANGES(cp, table) in_ranges(cp, table, sizeof(table) / sizeof(*(table)))

bool wi_utf8_unsafe(uint32_t cp)
{
	static const struct range unsafe[] = {
		{ 0x00, 0x1f },	    { 0x7f, 0x9f },	{ 0xad, 0xad },	    { 0x61c, 0x61c },	{ 0x200b, 0x200f },
		{ 0x2028, 0x202e }, { 0x2060, 0x206f }, { 0xfeff, 0xfeff }, { 0xfff9, 0xfffb }, { 0xe0000, 0xe0fff },
	};

	return IN_RANGES(cp, unsafe);
}

unsigned int wi_utf8_width(uint32_t cp)
{
	static const struct range combining[] = {
		{ 0x300, 0x36f },   { 0x483, 0x489 },	{ 0x591, 0x5bd },   { 0x1ab0, 0x1aff },
		{ 0x1dc0, 0x1dff }, { 0x20d0, 0x20ff }, { 0xfe00, 0xfe0f }, { 0xfe20, 0xfe2f },
	};
	static const struct range wide[] = {
		{ 0x1100, 0x115f },   { 0x2e80, 0x303e },   { 0x3041, 0xa4cf },	  { 0xac00, 0xd7a3 },
		{ 0xf900, 0xfaff },   { 0xfe30, 0xfe6f },   { 0xff00, 0xff60 },	  { 0xffe0, 0xffe6 },
		{ 0x1f300, 0x1f64f }, { 0x1f900, 0x1f9ff }, { 0x20000, 0x3fffd },
	};

	if (IN_RANGES(cp, combining))
		return 0;
	return IN_RANGES(cp, wide) ? 2 : 1;
}

size_t wi_utf8_columns(const char *s)
{
	size_t len = strlen(s), columns = 0;

	for (size_t i = 0; i < len;) {
		uint32_t cp;

		i += wi_utf8_next(s + i, len - i, &cp);
		columns += cp == WI_UTF8_INVALID ? 1 : wi_utf8_width(cp);
	}
	return columns;
}
