/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analyzer/record/marker_encode.h"
#include "analyzer/record/slim.h"
#include "analyzer/topology/markers.h"

/* The chunks of one set. */
struct chunks {
	char *text[4096];
	uint32_t nr;
};

static bool keep(void *ctx, const char *text, size_t len, struct wi_err *err)
{
	struct chunks *c = ctx;

	(void)err;
	assert_true(len <= WI_MARKERS_MAX_TEXT + 1);
	assert_true(c->nr < 4096);
	for (size_t i = 0; i + 1 < len; i++)
		assert_true(text[i] >= ' ' && text[i] <= '~');
	assert_int_equal(text[len - 1], '\n');
	c->text[c->nr++] = strndup(text, len);
	return true;
}

static void drop(struct chunks *c)
{
	while (c->nr)
		free(c->text[--c->nr]);
}

static void put(struct wi_filetree *t, const char *path, const char *bytes, size_t len)
{
	struct wi_err err = { 0 };

	assert_true(wi_filetree_add(t, path, bytes, len, &err));
}

static void puts_file(struct wi_filetree *t, const char *path, const char *text)
{
	put(t, path, text, strlen(text));
}

static void encode(struct chunks *c, const struct wi_filetree *t, const char *set)
{
	struct wi_err err = { 0 };
	uint32_t nr = 0;

	c->nr = 0;
	assert_true(wi_markers_encode(t, set, keep, c, &nr, &err));
	assert_int_equal(nr, c->nr);
}

static void add(struct wi_marker_set *s, const char *text)
{
	struct wi_err err = { 0 };

	assert_true(wi_markers_add(s, text, strlen(text), &err));
}

static void assert_same_tree(const struct wi_filetree *a, const struct wi_filetree *b)
{
	assert_non_null(a);
	assert_non_null(b);
	assert_int_equal(wi_filetree_count(a), wi_filetree_count(b));
	for (size_t i = 0; i < wi_filetree_count(a); i++) {
		struct wi_file f = wi_filetree_at(a, i);
		size_t len = 0;
		const char *bytes = wi_filetree_get(b, f.path, &len);

		if (!bytes || len != f.len || memcmp(bytes, f.bytes, len))
			fail_msg("%s differs", f.path);
	}
}

/* A machine of nr CPUs, two siblings a core (N, N + nr/2), and enough text that it needs several chunks. */
static struct wi_filetree *machine(unsigned nr)
{
	struct wi_filetree *t = wi_filetree_new();
	char path[200], text[200];

	assert_non_null(t);
	for (unsigned c = 0; c < nr; c++) {
		unsigned core = c % (nr / 2);

		snprintf(path, sizeof(path), "sys/devices/system/cpu/cpu%u/topology/core_cpus_list", c);
		snprintf(text, sizeof(text), "%u,%u\n", core, core + nr / 2);
		puts_file(t, path, text);
		snprintf(path, sizeof(path), "sys/devices/system/cpu/cpu%u/topology/physical_package_id", c);
		puts_file(t, path, "0\n");
		snprintf(path, sizeof(path), "sys/devices/system/cpu/cpu%u/topology/core_id", c);
		snprintf(text, sizeof(text), "%u\n", core);
		puts_file(t, path, text);
	}
	for (unsigned i = 0; i < 200; i++) {
		snprintf(path, sizeof(path), "proc/sys/kernel/sched_%u", i);
		snprintf(text, sizeof(text), "%u\n", i * i);
		puts_file(t, path, text);
	}
	snprintf(text, sizeof(text), "0-%u\n", nr - 1);
	puts_file(t, "sys/devices/system/node/node0/cpulist", text);
	puts_file(t, "proc/version", "Linux version 6.1.0 (some one) #1 SMP\n");
	return t;
}

static void test_round_trip(void **state)
{
	struct wi_filetree *t = machine(64);
	struct wi_marker_set *s = wi_markers_new();
	struct chunks c = { 0 };

	(void)state;
	encode(&c, t, "a1");
	assert_true(c.nr > 1);
	assert_int_equal(wi_markers_status(s).state, WI_MARKERS_NONE);
	assert_null(wi_markers_tree(s));
	for (uint32_t i = 0; i < c.nr; i++) {
		assert_null(wi_markers_tree(s));
		add(s, c.text[i]);
	}
	struct wi_markers_status st = wi_markers_status(s);
	assert_int_equal(st.state, WI_MARKERS_COMPLETE);
	assert_int_equal(st.got, c.nr);
	assert_int_equal(st.total, c.nr);
	assert_int_equal(st.nr_sets, 1);
	assert_int_equal(st.nr_damaged, 0);
	assert_string_equal(st.what, "");
	assert_same_tree(t, wi_markers_tree(s));
	struct wi_filetree *own = wi_markers_take_tree(s);
	assert_null(wi_markers_tree(s));
	wi_markers_free(s);
	assert_same_tree(t, own);
	wi_filetree_free(own);
	wi_filetree_free(t);
	drop(&c);
}

static void test_odd_bytes(void **state)
{
	static const char all_marks[] = "a|b;c@d=e%f\\g\\n\n\n\ttab \r \x01\x7f\xff\xc3\xa4 \\c \\x41 \0nul\0";
	struct wi_filetree *t = wi_filetree_new();
	struct wi_marker_set *s = wi_markers_new();
	struct chunks c = { 0 };

	(void)state;
	put(t, "tasks", all_marks, sizeof(all_marks) - 1);
	puts_file(t, "proc/empty", "");
	puts_file(t, "proc/newline", "\n");
	puts_file(t, "proc/two", "\n\n");
	puts_file(t, "proc/none", "no newline at its end");
	puts_file(t, "proc/odd @=%;|\\ name\n", "x\n");
	puts_file(t, "sys/cpu007/zeros", "not a number that would come back\n");
	puts_file(t, "sys/cpu99999/far", "too far\n");
	puts_file(t, "sys/cpu5/a", "7\n");
	puts_file(t, "sys/cpu6/a", "7\n");
	puts_file(t, "sys/cpu8/a", "7\n");
	puts_file(t, "sys/cpu7/a", "8\n");
	encode(&c, t, "odd");
	for (uint32_t i = 0; i < c.nr; i++)
		add(s, c.text[i]);
	assert_int_equal(wi_markers_status(s).nr_damaged, 0);
	assert_same_tree(t, wi_markers_tree(s));
	wi_markers_free(s);
	wi_filetree_free(t);
	drop(&c);
}

static void test_order_and_repetition(void **state)
{
	struct wi_filetree *t = machine(64);
	struct wi_marker_set *s = wi_markers_new();
	struct chunks c = { 0 };

	(void)state;
	encode(&c, t, "a1");
	for (uint32_t i = c.nr; i-- > 0;) {
		add(s, c.text[i]);
		if (i)
			add(s, c.text[i]);
	}
	assert_int_equal(wi_markers_status(s).nr_damaged, 0);
	assert_int_equal(wi_markers_status(s).nr_sets, 1);
	assert_same_tree(t, wi_markers_tree(s));
	wi_markers_free(s);
	wi_filetree_free(t);
	drop(&c);
}

static void test_last_complete_set_wins(void **state)
{
	struct wi_filetree *one = machine(64), *two = machine(128);
	struct wi_marker_set *s = wi_markers_new();
	struct chunks a = { 0 }, b = { 0 };

	(void)state;
	encode(&a, one, "one");
	encode(&b, two, "two");
	for (uint32_t i = 0; i < a.nr || i < b.nr; i++) {
		if (i < b.nr)
			add(s, b.text[i]);
		if (i + 1 < a.nr)
			add(s, a.text[i]);
	}
	assert_same_tree(two, wi_markers_tree(s));
	add(s, a.text[a.nr - 1]);
	assert_same_tree(one, wi_markers_tree(s));
	/* A later set that is not complete changes nothing. */
	for (uint32_t i = 1; i < b.nr; i++)
		add(s, b.text[i]);
	assert_same_tree(one, wi_markers_tree(s));
	struct wi_markers_status st = wi_markers_status(s);
	assert_int_equal(st.state, WI_MARKERS_COMPLETE);
	assert_int_equal(st.total, a.nr);
	assert_int_equal(st.nr_sets, 2);
	wi_markers_free(s);
	wi_filetree_free(one);
	wi_filetree_free(two);
	drop(&a);
	drop(&b);
}

static void test_missing_chunk(void **state)
{
	struct wi_filetree *t = machine(64);
	struct wi_marker_set *s = wi_markers_new();
	struct chunks c = { 0 };

	(void)state;
	encode(&c, t, "a1");
	for (uint32_t i = 0; i < c.nr; i++)
		if (i != 1)
			add(s, c.text[i]);
	struct wi_markers_status st = wi_markers_status(s);
	assert_int_equal(st.state, WI_MARKERS_PARTIAL);
	assert_int_equal(st.got, c.nr - 1);
	assert_int_equal(st.total, c.nr);
	assert_null(wi_markers_tree(s));
	wi_markers_free(s);
	wi_filetree_free(t);
	drop(&c);
}

static void test_text_forms(void **state)
{
	static const char *const before[] = { "",
					      "  ",
					      "tracing_mark_write: ",
					      "print: tracing_mark_write: ",
					      "print:                0xffffffff8123abcd: ",
					      "0: " };
	static const char *const after[] = { "", "\n", "\r\n", "  \n" };
	char text[300];

	(void)state;
	for (size_t i = 0; i < sizeof(before) / sizeof(*before); i++) {
		for (size_t j = 0; j < sizeof(after) / sizeof(*after); j++) {
			struct wi_marker_set *s = wi_markers_new();

			snprintf(text, sizeof(text), "%swakeif/1 x 1/1 @proc/version=six;|%s", before[i], after[j]);
			add(s, text);
			assert_int_equal(wi_markers_status(s).state, WI_MARKERS_COMPLETE);
			assert_string_equal(wi_filetree_get(wi_markers_tree(s), "proc/version", NULL), "six\n");
			wi_markers_free(s);
		}
	}
}

static void test_foreign_texts(void **state)
{
	static const char *const foreign[] = { "",
					       "\n",
					       "hello",
					       "B|1234|drawFrame",
					       "see wakeif/1 x 1/1 @proc/version=six;|",
					       "wakeif/",
					       "wakeif/x 1 1/1 a|",
					       "wakeif 1" };
	struct wi_marker_set *s = wi_markers_new();

	(void)state;
	for (size_t i = 0; i < sizeof(foreign) / sizeof(*foreign); i++)
		add(s, foreign[i]);
	struct wi_markers_status st = wi_markers_status(s);
	assert_int_equal(st.state, WI_MARKERS_NONE);
	assert_int_equal(st.nr_damaged, 0);
	add(s, "wakeif/2 x 1/1 something new");
	st = wi_markers_status(s);
	assert_int_equal(st.state, WI_MARKERS_NONE);
	assert_int_equal(st.nr_other_version, 1);
	assert_non_null(strstr(st.what, "version 2"));
	wi_markers_free(s);
}

static void test_damaged_chunks(void **state)
{
	static const char *const bad[] = {
		"wakeif/1 x 1/2 @proc/version=six;",   /* cut off */
		"wakeif/1 x 1/2 @proc/ver|sion=six;|", /* an end mark in its middle */
		"wakeif/1 x 0/2 a|",
		"wakeif/1 x 3/2 a|",
		"wakeif/1 x 1/65537 a|",
		"wakeif/1 x 1/4294967298 a|",
		"wakeif/1 x 99999999999999999999/2 a|",
		"wakeif/1 x 1 2 a|",
		"wakeif/1 x-y 1/2 a|",
		"wakeif/1 name0123456789abc 1/2 a|",
		"wakeif/1  1/2 a|",
		"wakeif/1 x 1/2",
		"wakeif/1 x",
		"wakeif/1",
		"wakeif/99999999999999 x 1/2 a|",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		struct wi_marker_set *s = wi_markers_new();

		add(s, bad[i]);
		struct wi_markers_status st = wi_markers_status(s);
		if (st.nr_damaged != 1 || st.state != WI_MARKERS_NONE || !st.what[0])
			fail_msg("\"%s\": state %d, damaged %u", bad[i], st.state, st.nr_damaged);
		wi_markers_free(s);
	}
}

static void test_damaged_payloads(void **state)
{
	static const char *const bad[] = {
		"",	      "x",	   "@a=b",	  "@a;",
		"@=b;",	      "@a=b;c",	   "@a=\\q;",	  "@a=\\x4;",
		"@a=\\xGG;",  "@a=b\\",	   "@a\\x00b=c;", "@a\\c=c;",
		"@a=\\cb;",   "1@a=b;",	   "@a%=b;",	  "70000@a%=b;",
		"3-1@a%=b;",  "-@a%=b;",   ",@a%=b;",	  "@../etc/passwd=b;",
		"@a/../b=c;", "@=x;@a=b;", "1-2x@a%=b;",
	};
	char text[200];

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		struct wi_marker_set *s = wi_markers_new();

		snprintf(text, sizeof(text), "wakeif/1 x 1/1 %s|", bad[i]);
		add(s, text);
		struct wi_markers_status st = wi_markers_status(s);
		if (st.nr_damaged != 1 || wi_markers_tree(s) || st.state == WI_MARKERS_COMPLETE)
			fail_msg("\"%s\" was taken: %s", bad[i], st.what);
		wi_markers_free(s);
	}
}

static void test_contradictions(void **state)
{
	struct wi_marker_set *s = wi_markers_new();

	(void)state;
	add(s, "wakeif/1 x 1/2 @proc/version=|");
	add(s, "wakeif/1 x 1/2 @proc/vers10n=|"); /* the first one stays */
	add(s, "wakeif/1 x 2/3 six;|");
	assert_int_equal(wi_markers_status(s).nr_damaged, 2);
	assert_int_equal(wi_markers_status(s).got, 1);
	add(s, "wakeif/1 x 2/2 six;|");
	assert_string_equal(wi_filetree_get(wi_markers_tree(s), "proc/version", NULL), "six\n");
	wi_markers_free(s);
}

static void test_bounded_sets(void **state)
{
	struct wi_marker_set *s = wi_markers_new();
	char text[100];

	(void)state;
	for (unsigned i = 0; i < 1000; i++) {
		snprintf(text, sizeof(text), "wakeif/1 s%u 1/65536 x|", i);
		add(s, text);
	}
	assert_int_equal(wi_markers_status(s).nr_damaged, 1000 - WI_MARKERS_MAX_OPEN);
	assert_non_null(strstr(wi_markers_status(s).what, "given up"));
	add(s, "wakeif/1 last 1/1 @proc/version=six;|");
	assert_int_equal(wi_markers_status(s).state, WI_MARKERS_COMPLETE);
	wi_markers_free(s);
}

static void test_bounded_expansion(void **state)
{
	struct wi_marker_set *s = wi_markers_new();
	char text[WI_MARKERS_MAX_TEXT + 1];

	(void)state;
	/* 65,536 files of 900 bytes a record, three records: more than a set may hold. */
	for (unsigned i = 1; i <= 3; i++) {
		int n = snprintf(text, sizeof(text), "wakeif/1 x %u/3 0-65535@sys/cpu%%/%u=", i, i);

		memset(text + n, 'a', 900);
		strcpy(text + n + 900, ";|");
		add(s, text);
	}
	struct wi_markers_status st = wi_markers_status(s);
	assert_int_not_equal(st.state, WI_MARKERS_COMPLETE);
	assert_int_equal(st.nr_damaged, 1);
	assert_non_null(strstr(st.what, "expands to too much"));
	wi_markers_free(s);
}

/* What doc/markers.md promises: 256 CPUs, all files of a machine and 4,000 tasks, in a few hundred chunks. */
static void test_compact(void **state)
{
	static const char *const same[] = {
		"topology/die_id",    "topology/package_cpus_list", "topology/core_siblings_list",
		"cache/index0/level", "cache/index0/type",	    "cache/index0/size",
		"cache/index3/level", "cache/index3/type",	    "cache/index3/shared_cpu_list"
	};
	static const char *const cached[] = { "cache/index0", "cache/index1", "cache/index2" };
	struct wi_filetree *t = machine(256);
	struct chunks c = { 0 };
	char path[200], text[200], *stat, *tasks;
	size_t len = 0;

	(void)state;
	for (unsigned i = 0; i < 256; i++) {
		for (size_t k = 0; k < sizeof(same) / sizeof(*same); k++) {
			snprintf(path, sizeof(path), "sys/devices/system/cpu/cpu%u/%s", i, same[k]);
			puts_file(t, path, "something that is the same on all CPUs\n");
		}
		for (size_t k = 0; k < sizeof(cached) / sizeof(*cached); k++) {
			snprintf(path, sizeof(path), "sys/devices/system/cpu/cpu%u/%s/shared_cpu_list", i, cached[k]);
			snprintf(text, sizeof(text), "%u,%u\n", i % 128, i % 128 + 128);
			puts_file(t, path, text);
		}
		for (unsigned d = 0; d < 4; d++) {
			snprintf(path, sizeof(path), "sys/kernel/debug/sched/domains/cpu%u/domain%u/flags", i, d);
			puts_file(t, path, "SD_BALANCE_NEWIDLE SD_BALANCE_EXEC SD_BALANCE_FORK SD_WAKE_AFFINE\n");
		}
	}
	FILE *f = open_memstream(&stat, &len);
	for (unsigned i = 0; i < 256; i++) {
		fprintf(f, "cpu%u 0 0 0 0 0 0 35107126116 47858550776 19082\n", i);
		for (unsigned d = 0; d < 4; d++) {
			fprintf(f, "domain%u ", d);
			for (unsigned k = 0; k < 8; k++)
				fprintf(f, "%08x%s", 1u << (i & 31), k < 7 ? "," : "");
			for (unsigned k = 0; k < 36; k++)
				fprintf(f, " %u", i * k);
			fputc('\n', f);
		}
	}
	fclose(f);
	put(t, "proc/schedstat", stat, len);
	f = open_memstream(&tasks, &len);
	for (unsigned i = 0; i < 4000; i++)
		fprintf(f, "%u\t%u\tkworker/%u:%u\t20\t0\t0\t0\t%u\t%u\t0::/\t\n", i, i, i % 256, i / 256, i % 256,
			i % 256);
	fclose(f);
	put(t, "tasks", tasks, len);
	struct wi_err err = { 0 };
	struct wi_filetree *slim = wi_machine_slim(t, &err);
	encode(&c, slim, "big");
	print_message("256 CPUs, 4000 tasks: %u chunks\n", c.nr);
	assert_true(c.nr < 400);
	wi_filetree_free(slim);
	wi_filetree_free(t);
	free(stat);
	free(tasks);
	drop(&c);
}

/* A real machine's files: what markers carry is what a tarball carries. */
static void test_recorded_machines(void **state)
{
	static const char *const name[] = { "61-numa16-mix-full", "61-nosmt4-schbench-full", "612-smt8-policies-full" };
	const char *shared = getenv("WAKEIF_SHARED") ? getenv("WAKEIF_SHARED") : "../shared";
	char path[4096];

	(void)state;
	for (size_t i = 0; i < sizeof(name) / sizeof(*name); i++) {
		struct wi_filetree *t = wi_filetree_new(), *slim;
		struct wi_marker_set *s = wi_markers_new();
		struct chunks c = { 0 };
		struct wi_err err = { 0 };

		snprintf(path, sizeof(path), "%s/corpus/%s/topology.tar.gz", shared, name[i]);
		FILE *f = fopen(path, "r");
		if (!f) {
			print_message("skipped: no %s\n", path);
			wi_markers_free(s);
			wi_filetree_free(t);
			skip();
		}
		fclose(f);
		assert_true(wi_filetree_add_archive(t, path, &err));
		slim = wi_machine_slim(t, &err);
		assert_non_null(slim);
		assert_int_equal(wi_filetree_count(slim), wi_filetree_count(t));
		encode(&c, slim, "real");
		print_message("%s: %zu files, %u chunks\n", name[i], wi_filetree_count(slim), c.nr);
		for (uint32_t k = c.nr; k-- > 0;)
			add(s, c.text[k]);
		assert_same_tree(slim, wi_markers_tree(s));
		wi_markers_free(s);
		wi_filetree_free(slim);
		wi_filetree_free(t);
		drop(&c);
	}
}

static void test_encode_refuses(void **state)
{
	struct wi_filetree *t = wi_filetree_new();
	struct chunks c = { 0 };
	struct wi_err err = { 0 };

	(void)state;
	assert_false(wi_markers_encode(t, "x", keep, &c, NULL, &err));
	assert_int_equal(err.code, WI_EREFUSED);
	puts_file(t, "proc/version", "six\n");
	err = (struct wi_err){ 0 };
	assert_false(wi_markers_encode(t, "name0123456789abc", keep, &c, NULL, &err));
	assert_int_equal(err.code, WI_EREFUSED);
	assert_int_equal(c.nr, 0);
	wi_filetree_free(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_round_trip),
		cmocka_unit_test(test_odd_bytes),
		cmocka_unit_test(test_order_and_repetition),
		cmocka_unit_test(test_last_complete_set_wins),
		cmocka_unit_test(test_missing_chunk),
		cmocka_unit_test(test_text_forms),
		cmocka_unit_test(test_foreign_texts),
		cmocka_unit_test(test_damaged_chunks),
		cmocka_unit_test(test_damaged_payloads),
		cmocka_unit_test(test_contradictions),
		cmocka_unit_test(test_bounded_sets),
		cmocka_unit_test(test_bounded_expansion),
		cmocka_unit_test(test_compact),
		cmocka_unit_test(test_recorded_machines),
		cmocka_unit_test(test_encode_refuses),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
