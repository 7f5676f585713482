/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names in a trace are bytes that anyone could choose: what may reach a terminal, a JSON text or a CSV field is decided
 * here. */
#ifndef WI_BASE_UTF8_H
#define WI_BASE_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WI_UTF8_INVALID UINT32_MAX

/*
 * Decodes one character of s[0..len), len > 0. *cp is its code point, or WI_UTF8_INVALID for bytes that are no UTF-8
 * (overlong forms and surrogates included). Returns the bytes used, at least 1; invalid bytes are taken as the longest
 * run that could have begun a character, so that each run is one replacement character, as the Unicode standard
 * advises.
 */
size_t wi_utf8_next(const char *s, size_t len, uint32_t *cp);

/* Would this character change a terminal's state or hide itself? Controls, DEL, C1, line separators, bidi and
 * zero-width marks. */
bool wi_utf8_unsafe(uint32_t cp);

/* Terminal columns of a printable character: 0 combining, 2 wide (CJK, emoji), else 1. */
unsigned int wi_utf8_width(uint32_t cp);

/* Terminal columns of a NUL-terminated text; an invalid byte counts 1. */
size_t wi_utf8_columns(const char *s);

#endif
