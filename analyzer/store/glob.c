/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analyzer/store/glob.h"

#include <string.h>

/* Bytes of the UTF-8 character (or lone byte) at s. */
static size_t step(const char *s)
{
	size_t n = 1;

	while (((unsigned char)s[n] & 0xc0) == 0x80)
		n++;
	return n;
}

/* One alternative, p[0..nr): after a mismatch the last '*' takes one more character. */
static bool match(const char *p, size_t nr, const char *t)
{
	const char *end = p + nr, *star = NULL, *resume = NULL;

	for (;;) {
		if (p < end && *p == '*') {
			star = ++p;
			resume = t;
			continue;
		}
		if (!*t && p == end)
			return true;
		if (*t && p < end && *p == '?') {
			p++;
			t += step(t);
			continue;
		}
		if (*t && p < end) {
			const char *c = *p == '\\' && p + 1 < end ? p + 1 : p;

			if (*c == *t) {
				p = c + 1;
				t++;
				continue;
			}
		}
		if (!star || !*resume)
			return false;
		p = star;
		t = ++resume;
	}
}

bool wi_glob_n(const char *pattern, size_t nr, const char *text)
{
	size_t from = 0;

	for (size_t i = 0; i <= nr; i++) {
		if (i < nr && pattern[i] == '\\' && i + 1 < nr) {
			i++;
		} else if (i == nr || pattern[i] == '|') {
			if (match(pattern + from, i - from, text))
				return true;
			from = i + 1;
		}
	}
	return false;
}

bool wi_glob(const char *pattern, const char *text)
{
	return wi_glob_n(pattern, strlen(pattern), text);
}

bool wi_glob_is_pattern(const char *text)
{
	return strpbrk(text, "*?|\\") != NULL;
}
