/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Regular expressions (POSIX extended) that a user gives, within bounds: regcomp() writes {m,n} out, so that a few
 * nested ones take any amount of memory, and matching references back to a group takes any amount of time.
 */
#ifndef WI_BASE_PATTERN_H
#define WI_BASE_PATTERN_H

#include <regex.h>
#include <stdbool.h>

#include "analyzer/base/err.h"

#define WI_PATTERN_MAX 4096u /* characters, with every repetition written out */

/* Compiles text into re, which the caller frees with regfree(). false: err set (WI_EUSAGE), it begins with what. */
bool wi_pattern_compile(regex_t *re, const char *what, const char *text, struct wi_err *err);
/* The same for those who ask regexec() where the groups matched. */
bool wi_pattern_compile_groups(regex_t *re, const char *what, const char *text, struct wi_err *err);

#endif
