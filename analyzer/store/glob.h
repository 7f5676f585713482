/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Patterns of selectors and metric paths: '*' any text, '?' one character, "a|b" one of several, '\' takes the next
 * character as it is. Brackets stand for themselves: they are part of metric paths (models[linux-6.1].decided).
 * Time grows with the product of the lengths, whatever the pattern.
 */
#ifndef WI_STORE_GLOB_H
#define WI_STORE_GLOB_H

#include <stdbool.h>
#include <stddef.h>

bool wi_glob(const char *pattern, const char *text);
/* The same of the first nr bytes of pattern. */
bool wi_glob_n(const char *pattern, size_t nr, const char *text);
/* Does it have a character with a meaning, so that it is more than a name? */
bool wi_glob_is_pattern(const char *text);

#endif
