/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analyzer/base/pattern.h"

#include <ctype.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define DEPTH 64
#define HUGE_SIZE (1ull << 32)

/* What a group, and the last thing in it, come to with all repetitions written out. */
struct size {
	uint64_t all, last;
};

static void append(struct size *s, uint64_t n)
{
	s->all = s->all + n < HUGE_SIZE ? s->all + n : HUGE_SIZE;
	s->last = n < HUGE_SIZE ? n : HUGE_SIZE;
}

/* Behind the "]" of the bracket expression at p; the end of the text if it has none. */
static const char *skip_bracket(const char *p)
{
	p++;
	p += *p == '^';
	p += *p == ']';
	while (*p && *p != ']') {
		if (*p == '[' && p[1] && strchr(".:=", p[1])) {
			const char end[] = { p[1], ']', '\0' }, *close = strstr(p + 2, end);

			p = close ? close + 1 : p;
		}
		p++;
	}
	return p + (*p == ']');
}

/* "{3}", "{3,}", "{,4}" or "{3,4}" at p: how often the thing before it is written; 0: no such thing. */
static uint64_t repetitions(const char *p, const char **end)
{
	char *at = (char *)p + 1;
	uint64_t low = isdigit((unsigned char)*at) ? strtoul(at, &at, 10) : 0, high = low;

	if (at == p + 1 && *at != ',')
		return 0;
	if (*at == ',') {
		at++;
		high = isdigit((unsigned char)*at) ? strtoul(at, &at, 10) : low + 1;
	}
	*end = at + (*at == '}');
	high = high > low ? high : low;
	return high < HUGE_SIZE ? high + !high : HUGE_SIZE;
}

/* NULL, or what is wrong with it. */
static const char *excess(const char *p)
{
	struct size stack[DEPTH] = { { 0, 0 } }, *top = stack;

	while (*p) {
		char c = *p;
		uint64_t times;

		if (c == '\\' && p[1]) {
			if (p[1] >= '1' && p[1] <= '9')
				return "back-references are not supported";
			append(top, 1);
			p += 2;
		} else if (c == '[') {
			append(top, 1);
			p = skip_bracket(p);
		} else if (c == '(') {
			if (top == stack + DEPTH - 1)
				return "groups are nested too deeply";
			*++top = (struct size){ 1, 0 };
			p++;
		} else if (c == ')' && top > stack) {
			top--;
			append(top, top[1].all);
			p++;
		} else if (c == '{' && (times = repetitions(p, &p))) {
			top->all -= top->last;
			append(top, top->last * times);
		} else {
			append(top, c == '*' || c == '+' || c == '?' ? top->last + 1 : 1);
			if (c == '*' || c == '+' || c == '?')
				top->all -= top->last - 1;
			p++;
		}
		if (top->all > WI_PATTERN_MAX)
			return "too long with all repetitions written out";
	}
	return NULL;
}

static bool compile(regex_t *re, const char *what, const char *text, int flags, struct wi_err *err)
{
	const char *why = excess(text);
	char message[128];
	int rc = why ? 0 : regcomp(re, text, REG_EXTENDED | flags);

	if (rc) {
		regerror(rc, re, message, sizeof(message));
		why = message;
	}
	return !why || wi_err_set(err, WI_EUSAGE, "%s: %s: '%s'", what, why, text);
}

bool wi_pattern_compile(regex_t *re, const char *what, const char *text, struct wi_err *err)
{
	return compile(re, what, text, REG_NOSUB, err);
}

bool wi_pattern_compile_groups(regex_t *re, const char *what, const char *text, struct wi_err *err)
{
	return compile(re, what, text, 0, err);
}
