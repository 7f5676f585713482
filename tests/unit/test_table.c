/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Aligned tables and CSV: analyzer/report/table.h. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analyzer/base/utf8.h"
#include "analyzer/report/table.h"

static char *text;
static size_t len;

static FILE *open_text(void)
{
	FILE *out = open_memstream(&text, &len);

	assert_non_null(out);
	return out;
}

static int drop_text(void **state)
{
	(void)state;
	free(text);
	text = NULL;
	return 0;
}

static void aligned(void **state)
{
	static const struct wi_column columns[] = { { "task", true, false },
						    { "n", false, false },
						    { "CPU", true, false } };
	struct wi_table *t = wi_table_new(columns, 3);
	FILE *out = open_text();

	(void)state;
	wi_table_task(t, "\xe6\xbc\xa2", 1);
	wi_table_count(t, 12345);
	wi_table_cpu(t, 3);
	wi_table_name(t, "x\033");
	wi_table_ns(t, 5);
	wi_table_none(t);
	assert_true(wi_table_print(t, out, 2));
	fclose(out);
	assert_string_equal(text, "  task       n  CPU\n"
				  "  \xe6\xbc\xa2:1   12345  [003]\n"
				  "  x\\x1b   5 ns  -\n");
}

/* Names give way where the table would be too wide; the pid stays. */
static void narrowed(void **state)
{
	static const struct wi_column columns[] = { { "number", false, false },
						    { "task", true, true },
						    { "other", true, true } };
	struct wi_table *t = wi_table_new(columns, 3);
	FILE *out = open_text();

	(void)state;
	wi_table_text(t, "12345678901234567890123456789012345678901234567890");
	wi_table_task(t, "a-very-long-name-of-a-task-that-somebody-chose", 4194304);
	wi_table_name(t, "b-very-long-name-without-a-number-at-its-end-at-all");
	assert_true(wi_table_print(t, out, 0));
	fclose(out);
	for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n"))
		assert_true(wi_utf8_columns(line) <= WI_TABLE_WIDTH);
	assert_non_null(strstr(text + strlen(text) + 1, "+:4194304"));
}

/* What stands behind a pid is kept with it. */
static void narrowed_with_remark(void **state)
{
	static const struct wi_column columns[] = { { "number", false, false }, { "task", true, true } };
	struct wi_table *t = wi_table_new(columns, 2);
	FILE *out = open_text();
	char number[WI_TABLE_WIDTH - 21];

	(void)state;
	memset(number, '1', sizeof(number) - 1);
	number[sizeof(number) - 1] = '\0';
	wi_table_text(t, number);
	wi_table_text(t, "a-long-name-of-a-task:77 (waking)");
	assert_true(wi_table_print(t, out, 0));
	fclose(out);
	assert_non_null(strstr(text, "a-long-+:77 (waking)\n"));
}

static void csv(void **state)
{
	FILE *out = open_text();
	struct wi_csv c = { .out = out };

	(void)state;
	wi_csv_header(&c, "a,b,c,d,e");
	wi_csv_text(&c, "say \"hi\", you");
	wi_csv_u64(&c, UINT64_MAX);
	wi_csv_none(&c);
	wi_csv_share(&c, 1, 3);
	wi_csv_text(&c, "two\nlines\xff");
	wi_csv_end(&c);
	wi_csv_text(&c, " padded");
	wi_csv_i64(&c, -1);
	wi_csv_share(&c, 0, 0);
	wi_csv_fraction(&c, 1.0 / 0.0);
	wi_csv_text(&c, "");
	wi_csv_end(&c);
	fclose(out);
	assert_string_equal(
		text, "a,b,c,d,e\n\"say \"\"hi\"\", you\",18446744073709551615,,0.333333,two\\x0alines\\xff\n"
		      "\" padded\",-1,,,\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(aligned, drop_text),
		cmocka_unit_test_teardown(narrowed, drop_text),
		cmocka_unit_test_teardown(narrowed_with_remark, drop_text),
		cmocka_unit_test_teardown(csv, drop_text),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
