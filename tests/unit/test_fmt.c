/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How numbers and names look: analyzer/base/fmt.h, utf8.h, json.h. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analyzer/base/fmt.h"
#include "analyzer/base/json.h"
#include "analyzer/base/utf8.h"

#define NR(a) (sizeof(a) / sizeof(*(a)))

static void durations(void **state)
{
	static const struct {
		uint64_t ns;
		const char *text;
	} t[] = {
		{ 0, "0 ns" },
		{ 999, "999 ns" },
		{ 1000, "1.00 us" },
		{ 12345, "12.3 us" },
		{ 99949, "99.9 us" },
		{ 99950, "100 us" },
		{ 999499, "999 us" },
		{ 999500, "1.00 ms" },
		{ 39718472, "39.7 ms" },
		{ 999499999, "999 ms" },
		{ 999500000, "1.00 s" },
		{ 1240000000, "1.24 s" },
		{ 3600ull * 1000000000, "3600 s" },
		{ UINT64_MAX, "18446744074 s" },
	};
	char out[WI_FMT_LEN];

	(void)state;
	for (size_t i = 0; i < NR(t); i++)
		assert_string_equal(wi_fmt_ns(out, sizeof(out), t[i].ns), t[i].text);
}

static void shares(void **state)
{
	static const struct {
		uint64_t part, whole;
		const char *text;
	} t[] = {
		{ 0, 0, "-" },
		{ 0, 5, "0 %" },
		{ 5, 5, "100 %" },
		{ 31, 1000, "3.1 %" },
		{ 1, 3, "33.3 %" },
		{ 1, 1000000, "<0.1 %" },
		{ 999999, 1000000, ">99.9 %" },
		{ 1, 2000, "0.1 %" },
	};
	char out[WI_FMT_LEN];

	(void)state;
	for (size_t i = 0; i < NR(t); i++)
		assert_string_equal(wi_fmt_share(out, sizeof(out), t[i].part, t[i].whole), t[i].text);
	assert_string_equal(wi_fmt_ratio(out, sizeof(out), 1, 2), "0.50");
	assert_string_equal(wi_fmt_ratio(out, sizeof(out), 1, 0), "-");
}

static void stamps(void **state)
{
	char out[WI_FMT_LEN];

	(void)state;
	assert_string_equal(wi_fmt_stamp(out, sizeof(out), 259888335538, false),
			    "259.888336"); /* as trace-cmd report rounds */
	assert_string_equal(wi_fmt_stamp(out, sizeof(out), 259888335538, true), "259.888335538");
	assert_string_equal(wi_fmt_stamp(out, sizeof(out), 1999999500, false), "2.000000");
	assert_string_equal(wi_fmt_stamp(out, sizeof(out), 0, false), "0.000000");
	assert_string_equal(wi_fmt_cpu(out, sizeof(out), 3), "[003]");
	assert_string_equal(wi_fmt_cpu(out, sizeof(out), 1280), "[1280]");
	assert_string_equal(wi_fmt_cpu(out, sizeof(out), UINT32_MAX), "[???]");
	assert_string_equal(wi_fmt_bytes(out, sizeof(out), 999), "999 B");
	assert_string_equal(wi_fmt_bytes(out, sizeof(out), 415428608), "415 MB");
	assert_string_equal(wi_fmt_bytes(out, sizeof(out), UINT64_MAX), "18.4 EB");
}

static void names(void **state)
{
	static const struct {
		const char *name, *text;
	} t[] = {
		{ "kworker/0:1", "kworker/0:1" },
		{ "a\033[31mb", "a\\x1b[31mb" },
		{ "a\nb", "a\\x0ab" },
		{ "back\\slash", "back\\\\slash" },
		{ "caf\xc3\xa9", "caf\xc3\xa9" },
		{ "bad\xff", "bad\\xff" },
		{ "cut\xe6\xbc", "cut\\xe6\\xbc" },
		{ "c1\xc2\x9b", "c1\\u009b" },
		{ "\xe2\x80\xaegnp", "\\u202egnp" },
		{ "\xf3\xa0\x80\xa1", "\\U000e0021" },
		{ "", "" },
	};
	char out[WI_FMT_NAME_LEN], small[6];

	(void)state;
	for (size_t i = 0; i < NR(t); i++)
		assert_string_equal(wi_fmt_name(out, sizeof(out), t[i].name), t[i].text);
	assert_string_equal(wi_fmt_name(small, sizeof(small), "ab\033cd"), "ab"); /* an escape is never cut */
	assert_string_equal(wi_fmt_task(out, sizeof(out), "fio", 12), "fio:12");
	assert_string_equal(wi_fmt_task(out, sizeof(out), NULL, 12), "<...>:12");
	assert_string_equal(wi_fmt_task(out, sizeof(out), "x", 0), "swapper:0");
	assert_string_equal(wi_fmt_task(out, sizeof(out), "x", -1), "unknown");
}

/* Every pair and the edges of longer sequences, against the rules of the standard written another way. */
static void utf8_pairs(void **state)
{
	(void)state;
	for (unsigned int a = 0; a < 256; a++)
		for (unsigned int b = 0; b < 256; b++) {
			char s[2] = { (char)a, (char)b };
			uint32_t cp;
			size_t n = wi_utf8_next(s, 2, &cp);

			if (a < 0x80) {
				assert_int_equal(n, 1);
				assert_int_equal(cp, a);
			} else if (a >= 0xc2 && a < 0xe0 && (b & 0xc0) == 0x80) {
				assert_int_equal(n, 2);
				assert_int_equal(cp, (a & 0x1f) << 6 | (b & 0x3f));
			} else {
				assert_int_equal(cp, WI_UTF8_INVALID);
				assert_true(n == 1 || n == 2);
			}
		}
}

static void utf8_edges(void **state)
{
	static const struct {
		const char *s;
		uint32_t cp;
		size_t used;
	} t[] = {
		{ "\xe0\xa0\x80", 0x800, 3 },
		{ "\xe0\x9f\x80", WI_UTF8_INVALID, 1 },
		{ "\xed\x9f\xbf", 0xd7ff, 3 },
		{ "\xed\xa0\x80", WI_UTF8_INVALID, 1 },
		{ "\xef\xbf\xbf", 0xffff, 3 },
		{ "\xf0\x90\x80\x80", 0x10000, 4 },
		{ "\xf0\x8f\x80\x80", WI_UTF8_INVALID, 1 },
		{ "\xf4\x8f\xbf\xbf", 0x10ffff, 4 },
		{ "\xf4\x90\x80\x80", WI_UTF8_INVALID, 1 },
		{ "\xf0\x9f\x98", WI_UTF8_INVALID, 3 },
		{ "\xf5\x80", WI_UTF8_INVALID, 1 },
		{ "\xc0\x80", WI_UTF8_INVALID, 1 },
	};

	(void)state;
	for (size_t i = 0; i < NR(t); i++) {
		uint32_t cp;

		assert_int_equal(wi_utf8_next(t[i].s, strlen(t[i].s), &cp), t[i].used);
		assert_int_equal(cp, t[i].cp);
	}
	assert_int_equal(wi_utf8_columns("\xe6\xbc\xa2\xe5\xad\x97"), 4);
	assert_int_equal(wi_utf8_columns("e\xcc\x81"), 1);
}

static void json(void **state)
{
	char *text = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&text, &len);
	struct wi_json j;

	(void)state;
	assert_non_null(out);
	wi_json_init(&j, out);
	wi_json_object(&j, NULL);
	wi_json_u64(&j, "max", UINT64_MAX);
	wi_json_i64(&j, "min", INT64_MIN);
	wi_json_fraction(&j, "f", 0.1234567);
	wi_json_fraction(&j, "nan", 0.0 / 0.0);
	wi_json_share(&j, "none", 1, 0);
	wi_json_string(&j, "s", "\"\\\n\x01\x7f\xff\xe6\xbcx\xc3\xa9");
	wi_json_array_flat(&j, "a");
	wi_json_object(&j, NULL);
	wi_json_bool(&j, "t", true);
	wi_json_end_object(&j);
	wi_json_u64(&j, NULL, 1);
	wi_json_end_array(&j);
	wi_json_object(&j, "empty");
	wi_json_end_object(&j);
	wi_json_end_object(&j);
	assert_int_equal(fclose(out), 0);
	assert_string_equal(
		text, "{\n  \"max\": 18446744073709551615,\n  \"min\": -9223372036854775808,\n  \"f\": 0.123457,\n"
		      "  \"s\": \"\\\"\\\\\\u000a\\u0001\\u007f\xef\xbf\xbd\xef\xbf\xbdx\xc3\xa9\",\n"
		      "  \"a\": [{\"t\": true}, 1],\n  \"empty\": {}\n}\n");
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(durations), cmocka_unit_test(shares),	   cmocka_unit_test(stamps),
		cmocka_unit_test(names),     cmocka_unit_test(utf8_pairs), cmocka_unit_test(utf8_edges),
		cmocka_unit_test(json),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
