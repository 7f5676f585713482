/* SPDX-License-Identifier: GPL-2.0-or-later */
/* "RELEASE\nPRINT FMT" into a table of states, then every value and letters through it. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "parsers/state.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(struct wi_state s)
{
	if (!s.letter || (s.preempted && s.letter != 'R') || (!s.known && s.letter != '?'))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1), *fmt;
	struct wi_state_table t;

	if (!text)
		return 0;
	memcpy(text, data, size);
	text[size] = '\0';
	fmt = strchr(text, '\n');
	if (fmt)
		*fmt++ = '\0';
	wi_state_table_init(&t, fmt, text);
	for (uint64_t v = 0; v < 0x2100; v++)
		check(wi_state_decode(&t, v));
	for (int bit = 0; bit < 64; bit++)
		check(wi_state_decode(&t, 1ull << bit));
	check(wi_state_decode(&t, UINT64_MAX));
	check(wi_state_parse_letters(text, (uint32_t)(size < 64 ? size : 64)));
	free(text);
	return 0;
}
