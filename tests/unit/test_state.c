/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Meaning of prev_state by print fmt and by kernel release. Print fmts here are cut to what matters, in our own words.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "parsers/state.h"

#define OLD_LETTERS                                                                                                    \
	"{ 1, \"S\"} , { 2, \"D\" }, { 4, \"T\" }, { 8, \"t\" }, { 16, \"Z\" }, { 32, \"X\" }, { 64, \"x\" }, "
#define FMT_3_2                                                                                                        \
	"\"a=%d b=%s\", REC->prev_pid, REC->prev_state ? __print_flags(REC->prev_state, \"|\", " OLD_LETTERS           \
	"{ 128, \"W\" }) : \"R\", REC->next_prio"
#define FMT_3_4                                                                                                        \
	"\"b=%s%s\", REC->prev_state & (512-1) ? __print_flags(REC->prev_state & (512-1), \"|\", " OLD_LETTERS         \
	"{ 128, \"K\" }, { 256, \"W\" }) : \"R\", REC->prev_state & 512 ? \"+\" : \"\", REC->next_prio"
#define FMT_3_9                                                                                                        \
	"\"b=%s%s\", REC->prev_state & (1024-1) ? __print_flags(REC->prev_state & (1024-1), \"|\", " OLD_LETTERS       \
	"{ 128, \"K\" }, { 256, \"W\" }, { 512, \"P\" }) : \"R\", REC->prev_state & 1024 ? \"+\" : \"\", "             \
	"REC->next_prio"
#define FMT_4_4                                                                                                        \
	"\"b=%s%s\", REC->prev_state & (2048-1) ? __print_flags(REC->prev_state & (2048-1), \"|\", " OLD_LETTERS       \
	"{ 128, \"K\" }, { 256, \"W\" }, { 512, \"P\" }, { 1024, \"N\" }) : \"R\", REC->prev_state & 2048 ? \"+\" : "  \
	"\"\", REC->x"
#define FMT_4_9                                                                                                        \
	"\"b=%s%s\", REC->prev_state & (4096-1) ? __print_flags(REC->prev_state & (4096-1), \"|\", " OLD_LETTERS       \
	"{ 128, \"K\" }, { 256, \"W\" }, { 512, \"P\" }, { 1024, \"N\" }) : \"R\", REC->prev_state & 4096 ? \"+\" : "  \
	"\"\", REC->x"
#define REPORT "0x0000 | 0x0001 | 0x0002 | 0x0004 | 0x0008 | 0x0010 | 0x0020 | 0x0040"
#define NEW_MASK "((((" REPORT ") + 1) << 1) - 1)"
#define NEW_LETTERS                                                                                                    \
	"{ 0x0001, \"S\" }, { 0x0002, \"D\" }, { 0x0004, \"T\" }, { 0x0008, \"t\" }, { 0x0010, \"X\" }, { 0x0020, "    \
	"\"Z\" }, "                                                                                                    \
	"{ 0x0040, \"P\" }, { 0x0080, \"I\" }"
#define NEW_FMT(mark)                                                                                                  \
	"\"b=%s%s\", (REC->prev_state & " NEW_MASK ") ? __print_flags(REC->prev_state & " NEW_MASK                     \
	", \"|\", " NEW_LETTERS ") : \"R\", REC->prev_state & " mark " ? \"+\" : \"\", REC->next_comm"
#define FMT_4_14 NEW_FMT("0x1000")
#define FMT_5_0 NEW_FMT("(((" REPORT ") + 1) << 1)")
#define FMT_LITERAL NEW_FMT("(0x100)")

static const struct {
	const char *fmt, *release;
	uint64_t raw;
	const char *means; /* letter, '+' when preempted; "?" unknown */
} decodes[] = {
	{ FMT_3_2, "", 0, "R" },
	{ FMT_3_2, "", 1, "S" },
	{ FMT_3_2, "", 0x80, "W" },
	{ FMT_3_2, "", 0x40, "x" },
	{ FMT_3_2, "", 0x200, "?" },
	{ FMT_3_4, "", 0x200, "R+" },
	{ FMT_3_4, "", 0x100, "W" },
	{ FMT_3_4, "", 0x82, "D" },
	{ FMT_3_4, "", 0x400, "?" },
	{ FMT_3_9, "", 0x200, "P" },
	{ FMT_3_9, "", 0x400, "R+" },
	{ FMT_3_9, "", 0x40, "x" },
	{ FMT_4_4, "", 0x800, "R+" },
	{ FMT_4_4, "", 0x400, "N" },
	{ FMT_4_4, "", 0x402, "D" },
	{ FMT_4_9, "", 0x1000, "R+" },
	{ FMT_4_9, "", 0x800, "?" },
	{ FMT_4_9, "", 0x81, "S" },
	{ FMT_4_9, "", 0x10, "Z" },
	{ FMT_4_14, "4.14.62-v7", 0, "R" },
	{ FMT_4_14, "4.14.62-v7", 1, "S" },
	{ FMT_4_14, "4.14.62-v7", 2, "D" },
	{ FMT_4_14, "4.14.62-v7", 3, "T" },
	{ FMT_4_14, "4.14.62-v7", 4, "t" },
	{ FMT_4_14, "4.14.62-v7", 5, "X" },
	{ FMT_4_14, "4.14.62-v7", 6, "Z" },
	{ FMT_4_14, "4.14.62-v7", 7, "P" },
	{ FMT_4_14, "4.14.62-v7", 8, "I" },
	{ FMT_4_14, "4.14.62-v7", 9, "?" },
	{ FMT_4_14, "4.14.62-v7", 0x80, "?" },
	{ FMT_4_14, "4.14.62-v7", 0x1000, "R+" },
	{ FMT_4_14, "", 8, "I" }, /* the recorder gave no uname */
	{ FMT_5_0, "5.0.0-1032-azure", 0x80, "I" },
	{ FMT_5_0, "5.0.0-1032-azure", 0x20, "Z" },
	{ FMT_5_0, "5.0.0-1032-azure", 0x10, "X" },
	{ FMT_5_0, "5.0.0-1032-azure", 0x40, "P" },
	{ FMT_5_0, "5.0.0-1032-azure", 0x100, "R+" },
	{ FMT_5_0, "5.0.0-1032-azure", 8, "t" },
	{ FMT_5_0, "4.14.180", 8, "t" }, /* a 4.14 that got the later fix back: the mark tells */
	{ FMT_LITERAL, "6.1.0-57-rt-amd64", 0x100, "R+" },
	{ FMT_LITERAL, "", 0x80, "I" },
	{ FMT_LITERAL, "", 0x200, "?" },
	{ FMT_LITERAL, "", UINT64_MAX, "R+" },
	/* no print fmt: by release */
	{ "", "3.4.113", 0x200, "R+" },
	{ "", "3.4.113", 0x80, "K" },
	{ "", "3.8.0-test+", 0x20, "X" },
	{ "", "3.9.11", 0x400, "R+" },
	{ "", "4.1.0", 0x200, "P" },
	{ "", "4.4.3", 0x800, "R+" },
	{ "", "4.7.0", 0x10, "X" },
	{ "", "4.9.0-19-amd64", 0x1000, "R+" },
	{ "", "4.9.0-19-amd64", 0x800, "n" },
	{ "", "4.13.9", 0x82, "D" },
	{ "", "4.14.355", 8, "I" },
	{ "", "4.14.355", 0x1000, "R+" },
	{ "", "4.15.0", 8, "t" },
	{ "", "4.19.0", 0x80, "I" },
	{ "", "5.15.0", 0x100, "R+" },
	{ "", "6.12.117+deb12", 0x100, "R+" },
	{ "", "10.0.1", 0x100, "R+" },
	{ "", "", 0x100, "R+" },
	{ "", "not a release", 0x80, "I" },
	/* a print fmt that cannot be understood degrades to the table */
	{ "\"x\", __print_flags(REC->prev_state & FOO, \"|\", { 1, \"S\" })", "4.9.0", 0x1000, "R+" },
	{ "\"x\", __print_flags(REC->prev_state & (1 / 0), \"|\", { 1, \"S\" })", "4.9.0", 0x1000, "R+" },
	{ "\"x\", __print_flags(REC->prev_state, \"|\", { 3, \"S\" })", "", 0x80, "I" },
	{ "\"x\", __print_flags(REC->prev_state", "", 1, "S" },
	{ "\"unterminated", "", 1, "S" },
	/* letters can be read, the mark cannot: the mark is the table's */
	{ "\"x\", __print_flags(REC->prev_state & 0xff, \"|\", { 1, \"S\" }), REC->prev_state & MARK ? \"+\" : \"\"",
	  "5.4.0", 0x100, "R+" },
};

static void text_of(struct wi_state s, char out[3])
{
	out[0] = s.letter;
	out[1] = s.preempted ? '+' : '\0';
	out[2] = '\0';
}

static void test_decode(void **state)
{
	char got[3];

	(void)state;
	for (size_t i = 0; i < sizeof(decodes) / sizeof(*decodes); i++) {
		struct wi_state_table t;
		struct wi_state s;

		wi_state_table_init(&t, decodes[i].fmt, decodes[i].release);
		s = wi_state_decode(&t, decodes[i].raw);
		text_of(s, got);
		if (strcmp(got, decodes[i].means))
			fail_msg("%s | %s: 0x%llx is %s, expected %s", decodes[i].fmt, decodes[i].release,
				 (unsigned long long)decodes[i].raw, got, decodes[i].means);
		assert_int_equal(s.known, got[0] != '?');
	}
}

static void test_tables(void **state)
{
	struct wi_state_table t;

	(void)state;
	wi_state_table_init(&t, FMT_5_0, "5.0.0");
	assert_string_equal(t.source, "print fmt");
	assert_int_equal(t.preempt_mark, 0x100);
	assert_int_equal(t.mask, 0xff);
	assert_false(t.index_states);
	wi_state_table_init(&t, FMT_3_2, "");
	assert_int_equal(t.preempt_mark, 0);
	wi_state_table_init(&t, FMT_4_14, "");
	assert_true(t.index_states);
	wi_state_table_init(&t, NULL, "4.14.1");
	assert_true(t.index_states);
	assert_string_equal(t.source, "table 4.14");
}

/* Expressions as deep as a hostile file likes neither recurse without end nor are believed. */
static void test_hostile(void **state)
{
	static char fmt[300000];
	struct wi_state_table t;
	size_t n = (size_t)snprintf(fmt, sizeof(fmt), "\"x\", __print_flags(REC->prev_state & ");

	(void)state;
	memset(fmt + n, '(', 200000);
	snprintf(fmt + n + 200000, 100, ", \"|\", { 1, \"S\" })");
	wi_state_table_init(&t, fmt, "4.9.0");
	assert_string_equal(t.source, "table 4.8");
	memset(fmt + n, '~', 200000);
	wi_state_table_init(&t, fmt, "");
	assert_string_equal(t.source, "table 4.15");
}

static void test_letters(void **state)
{
	static const struct {
		const char *text, *means;
	} letters[] = {
		{ "S", "S" },	{ "R", "R" }, { "R+", "R+" }, { "D|K", "D" }, { "D|W", "D" }, { "x", "x" },
		{ "I", "I" },	{ "N", "N" }, { "n", "n" },   { "t", "t" },   { "P", "P" },   { "S+", "R+" },
		{ "X", "X" },	{ "Z", "Z" }, { "", "?" },    { "+", "?" },   { "q", "?" },   { "S|q", "?" },
		{ "R++", "?" }, { "|", "?" }, { "S|", "?" },  { "?", "?" },   { "R+S", "?" }, { "DK", "D" },
	};
	char got[3];

	(void)state;
	for (size_t i = 0; i < sizeof(letters) / sizeof(*letters); i++) {
		struct wi_state s = wi_state_parse_letters(letters[i].text, (uint32_t)strlen(letters[i].text));

		text_of(s, got);
		assert_string_equal(got, letters[i].means);
		assert_int_equal(s.known, got[0] != '?');
	}
	assert_false(wi_state_parse_letters("S\0", 2).known);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_decode),
		cmocka_unit_test(test_tables),
		cmocka_unit_test(test_hostile),
		cmocka_unit_test(test_letters),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
