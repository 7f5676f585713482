/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tags, shards, hashes and the search for traces: the parts of batch that need no worker. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "analyzer/batch/discover.h"
#include "analyzer/batch/hash.h"
#include "analyzer/batch/tags.h"

#define TEXT_TRACE "# tracer: nop\n"

static char folder[64];

static int set_up(void **state)
{
	(void)state;
	snprintf(folder, sizeof(folder), "/tmp/wakeif-batch-XXXXXX");
	return mkdtemp(folder) ? chdir(folder) : -1;
}

static int tear_down(void **state)
{
	char command[128];

	(void)state;
	snprintf(command, sizeof(command), "rm -rf '%s'", folder);
	return chdir("/") || system(command);
}

static void put(const char *path, const void *bytes, size_t nr)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	assert_int_equal(fwrite(bytes, 1, nr, f), nr);
	assert_int_equal(fclose(f), 0);
}

static void put_text(const char *path, const char *text)
{
	put(path, text, strlen(text));
}

/* ---- tags ---- */

/* "a=1 b=2", in the order of adding. */
static const char *shown(const struct wi_tag_set *t)
{
	static char text[4096];

	text[0] = '\0';
	for (size_t i = 0; i < t->nr; i++)
		snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s%s=%s", i ? " " : "", t->tag[i].key,
			 t->tag[i].value);
	return text;
}

static void match(const char *pattern, const char *path, const char *want)
{
	struct wi_err err = { 0 };
	struct wi_tag_pattern *p = wi_tag_pattern_new(pattern, &err);
	struct wi_tag_set t = { 0 };
	bool matched;

	assert_non_null(p);
	assert_true(wi_tag_pattern_match(p, path, &t, &matched, &err));
	assert_int_equal(matched, want != NULL);
	assert_string_equal(shown(&t), want ? want : "");
	wi_tag_set_fini(&t);
	wi_tag_pattern_free(p);
}

static void tags_of_paths(void **state)
{
	(void)state;
	match("workload,kernel=^([^/]*)/([^/]*)/", "hackbench/6.1/1.dat", "workload=hackbench kernel=6.1");
	match("workload,-,run=^([^/]*)/([^/]*)/([0-9]+)", "hackbench/6.1/17.dat", "workload=hackbench run=17");
	match("a,b=(x)|(y)", "y", "b=y");	 /* a group that took no part */
	match("a,b=(x*)(y)", "y", "b=y");	 /* one that matched nothing */
	match("a,a=(x).*(y)", "x y", "a=x a=y"); /* a key may have two values */
	match("a,a=(x).*(x)", "x x", "a=x");	 /* a set */
	match("a=(z)", "xy", NULL);
	match("a=(.*)", "tab\there \xff", "a=tab\\x09here \\xff");
	match("a.b-c_1=(x)", "x", "a.b-c_1=x");
	match("a=k=(.)", "k=v", "a=v"); /* the first '=' ends the names */
}

static void wrong_patterns(void **state)
{
	static const struct {
		const char *text, *why;
	} wrong[] = {
		{ "a", "not NAMES=EXPRESSION" },
		{ "=x", "not NAMES=EXPRESSION" },
		{ "a=", "not NAMES=EXPRESSION" },
		{ "a,b=(x)", "2 names, but" },
		{ "a=x", "1 names, but" },
		{ "a b=(x)", "no name of a tag" },
		{ "a,,b=(x)(y)(z)", "no name of a" },
		{ "a=(x", "--tag: " },
		{ "a=(x)\\1", "--tag: " },
		{ "a=((x{99}){99}){99}", "too long" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		struct wi_err err = { 0 };

		assert_null(wi_tag_pattern_new(wrong[i].text, &err));
		assert_int_equal(err.code, WI_EUSAGE);
		assert_non_null(strstr(err.msg, wrong[i].why));
	}
}

static void json(const char *text, const char *want)
{
	struct wi_tag_set t = { 0 };
	struct wi_err err = { 0 };

	put_text("tags.json", text);
	assert_int_equal(wi_tag_set_of_json("tags.json", &t, &err), want != NULL);
	if (want)
		assert_string_equal(shown(&t), want);
	else
		assert_int_equal(strncmp(err.msg, "tags.json", 9), 0);
	wi_tag_set_fini(&t);
}

static void tags_of_files(void **state)
{
	char *large = malloc(WI_TAG_FILE_BYTES + 10), *deep;
	struct wi_tag_set t = { 0 };
	struct wi_err err = { 0 };

	(void)state;
	json("{\"a\": \"x\", \"b\": 3, \"c\": 0.1, \"d\": true, \"e\": null, \"f\": [1], \"g\": {\"h\": 1}}",
	     "a=x b=3 c=0.1 d=true");
	json("{\"tags\": {\"a\": \"x\"}, \"b\": 1}", "a=x");
	json("{\"tags\": \"no object\", \"b\": 1}", "tags=no object b=1");
	json("{\"schema\": \"wakeif/1\", \"tool\": {}}", "");
	json("{\"schema\": \"wakeif/1\", \"tags\": {\"a\": 1}}", "a=1");
	json("{\"big\": 9223372036854775807, \"empty\": \"\"}", "big=9223372036854775807");
	json("{}", "");
	json("{\"a\": \"x\", \"a\": \"y\"}", NULL);
	json("{\"a b\": \"x\"}", NULL);
	json("[1]", NULL);
	json("{\"a\": ", NULL);
	json("", NULL);
	assert_non_null(large);
	memset(large, ' ', WI_TAG_FILE_BYTES + 9);
	large[WI_TAG_FILE_BYTES + 9] = '\0';
	json(large, NULL);
	deep = memset(large, '[', 100000);
	deep[100000] = '\0';
	json(deep, NULL);
	free(large);
	assert_int_equal(mkfifo("fifo.json", 0600), 0);
	assert_false(wi_tag_set_of_json("fifo.json", &t, &err)); /* told at once: nobody waits for a writer */
	assert_non_null(strstr(err.msg, "not a regular file"));
	wi_tag_set_fini(&t);
}

static void many_tags(void **state)
{
	char text[WI_TAG_FILE_NR * 16 + 64] = "{", *end = text + 1;

	(void)state;
	for (unsigned int i = 0; i < WI_TAG_FILE_NR; i++)
		end += sprintf(end, "%s\"k%u\": %u", i ? ", " : "", i, i);
	strcpy(end, "}");
	put_text("tags.json", text);
	struct wi_tag_set t = { 0 };
	struct wi_err err = { 0 };

	assert_true(wi_tag_set_of_json("tags.json", &t, &err));
	assert_int_equal(t.nr, WI_TAG_FILE_NR);
	wi_tag_set_fini(&t);
	strcpy(end, ", \"more\": 1}");
	json(text, NULL);
}

static void bounds_of_a_tag(void **state)
{
	char value[WI_TAG_VALUE_MAX + 2], key[WI_TAG_KEY_MAX + 2];
	struct wi_tag_set t = { 0 };
	struct wi_err err = { 0 };

	(void)state;
	memset(value, 'v', sizeof(value));
	memset(key, 'k', sizeof(key));
	assert_true(wi_tag_set_add(&t, key, WI_TAG_KEY_MAX, value, WI_TAG_VALUE_MAX, &err));
	assert_false(wi_tag_set_add(&t, key, WI_TAG_KEY_MAX + 1, value, 1, &err));
	err = (struct wi_err){ 0 };
	assert_false(wi_tag_set_add(&t, key, 1, value, WI_TAG_VALUE_MAX + 1, &err));
	err = (struct wi_err){ 0 };
	assert_false(wi_tag_set_add(&t, key, 1, "", 0, &err));
	memset(value, '\n', sizeof(value)); /* as "\x0a" it is too long */
	err = (struct wi_err){ 0 };
	assert_false(wi_tag_set_add(&t, key, 1, value, WI_TAG_VALUE_MAX, &err));
	assert_int_equal(t.nr, 1);
	wi_tag_set_fini(&t);
}

/* ---- hashes and shards ---- */

static void hash_is(const char *path, const char *want)
{
	uint8_t sum[WI_SHA256_BYTES], mapped[WI_SHA256_BYTES];
	char hex[WI_SHA256_HEX];
	struct wi_err err = { 0 };
	uint64_t bytes;

	assert_true(wi_hash_path(path, sum, &bytes, &err));
	assert_string_equal(wi_sha256_hex(sum, hex), want);
	assert_true(wi_hash_trace(path, mapped, &bytes, &err));
	assert_memory_equal(sum, mapped, sizeof(sum));
}

static void hashes_of_files(void **state)
{
	uint8_t sum[WI_SHA256_BYTES], mapped[WI_SHA256_BYTES];
	struct wi_err err = { 0 };
	uint64_t bytes, size = (4u << 20) * 2 + 12345;
	char *large = malloc(size);

	(void)state;
	put_text("abc", "abc"); /* FIPS 180-2, B.1 */
	hash_is("abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
	put_text("empty", "");
	hash_is("empty", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
	assert_non_null(large);
	for (size_t i = 0; i < size; i++)
		large[i] = (char)(i * 7 + i / 4096);
	put("large", large, size);
	free(large);
	assert_true(wi_hash_path("large", sum, &bytes, &err));
	assert_int_equal(bytes, size);
	assert_true(wi_hash_trace("large", mapped, &bytes, &err));
	assert_int_equal(bytes, size);
	assert_memory_equal(sum, mapped, sizeof(sum));
	assert_false(wi_hash_path("gone", sum, &bytes, &err));
	assert_int_equal(err.code, WI_EIO);
}

static void folder_hash(const char *path, uint8_t sum[WI_SHA256_BYTES])
{
	struct wi_err err = { 0 };
	uint64_t bytes;

	assert_true(wi_hash_path(path, sum, &bytes, &err));
}

static void hashes_of_folders(void **state)
{
	uint8_t a[WI_SHA256_BYTES], b[WI_SHA256_BYTES];

	(void)state;
	assert_int_equal(mkdir("a", 0700) | mkdir("a/in", 0700) | mkdir("b", 0700) | mkdir("b/in", 0700), 0);
	put_text("a/one", "1");
	put_text("a/in/two", "22");
	put_text("b/in/two", "22"); /* the order of making is none of the folder's */
	put_text("b/one", "1");
	folder_hash("a", a);
	folder_hash("b", b);
	assert_memory_equal(a, b, sizeof(a));
	put_text("b/one", "2");
	folder_hash("b", b);
	assert_memory_not_equal(a, b, sizeof(a));
	put_text("b/one", "1");
	assert_int_equal(rename("b/one", "b/on"), 0);
	folder_hash("b", b);
	assert_memory_not_equal(a, b, sizeof(a));
}

static uint32_t shard_of(const char *path, uint32_t nr)
{
	int fd = open(path, O_RDONLY);
	uint32_t shard = 0;
	struct stat st;

	assert_true(fd >= 0);
	assert_int_equal(fstat(fd, &st), 0);
	assert_true(wi_hash_shard(fd, (uint64_t)st.st_size, nr, &shard));
	close(fd);
	assert_true(shard >= 1 && shard <= nr);
	return shard;
}

/* Each file is in one shard, and 1,000 files that differ in one byte are spread evenly. */
static void shards(void **state)
{
	char bytes[200000];
	uint32_t count[7] = { 0 }, shard;

	(void)state;
	memset(bytes, 'x', sizeof(bytes));
	for (uint32_t i = 0; i < 1000; i++) {
		size_t at = i % 2 ? sizeof(bytes) - 4 : 4; /* at the start, or at the end */

		memcpy(bytes + at, &i, sizeof(i));
		put("file", bytes, sizeof(bytes));
		shard = shard_of("file", 7);
		count[shard - 1]++;
		assert_int_equal(shard_of("file", 7), shard);
		assert_int_equal(shard_of("file", 1), 1);
	}
	for (int i = 0; i < 7; i++) /* mean 143, 5 standard deviations of 11 */
		assert_in_range(count[i], 88, 198);
}

/* ---- the search ---- */

struct told {
	char text[8192];
};

static void tell(void *ctx, const char *path, enum wi_finding finding, const char *why)
{
	struct told *t = ctx;
	size_t len = strlen(t->text);

	(void)why;
	snprintf(t->text + len, sizeof(t->text) - len, "%s: %s\n", path, wi_finding_name(finding));
}

static void search_all(struct wi_discover *d)
{
	struct wi_err err = { 0 };
	bool done = false;

	for (int i = 0; i < 100000 && !done; i++)
		assert_true(wi_discover_step(d, &done, &err));
	assert_true(done);
}

/* The traces as lines "PATH|BELOW". */
static const char *found(struct wi_discover *d)
{
	static char text[16384];
	struct wi_err err = { 0 };
	struct wi_found f;
	bool got;

	text[0] = '\0';
	while (wi_discover_take(d, &f, &got, &err) && got) {
		size_t len = strlen(text);

		snprintf(text + len, sizeof(text) - len, "%s|%s\n", f.path, f.path + f.below);
		free(f.path);
	}
	return text;
}

static void makes_order_of_names(void **state)
{
	struct told told = { "" };
	const struct wi_discover_opts opts = { .tell = tell, .ctx = &told, .own = "top/own.db" };
	struct wi_err err = { 0 };
	struct wi_discover *d = wi_discover_new(&opts, &err);

	(void)state;
	assert_non_null(d);
	assert_int_equal(mkdir("top", 0700) | mkdir("top/b", 0700) | mkdir("top/b/c", 0700) | mkdir("other", 0700), 0);
	put_text("top/z", TEXT_TRACE);
	put_text("top/a.txt", TEXT_TRACE);
	put_text("top/b/c/x", TEXT_TRACE);
	put_text("top/b/none", "no trace\n");
	put_text("top/empty", "");
	put_text("top/own.db", TEXT_TRACE); /* even if it looks like one */
	put_text("top/own.db-wal", TEXT_TRACE);
	put_text("top/own.db-other", TEXT_TRACE);
	put_text("other/y", TEXT_TRACE);
	assert_int_equal(mkfifo("top/fifo", 0600), 0);
	assert_int_equal(
		symlink("../../top", "top/b/loop") | symlink("../other", "top/aa") | symlink("nothing", "top/gone"), 0);
	assert_true(wi_discover_add(d, "top/", &err));
	assert_true(wi_discover_add(d, "other", &err)); /* the link has led there before */
	assert_true(wi_discover_add(d, "top/z", &err));
	search_all(d);
	assert_string_equal(found(d), "top/a.txt|a.txt\ntop/b/c/x|b/c/x\ntop/own.db-other|own.db-other\ntop/z|z\n"
				      "top/aa/y|aa/y\ntop/z|top/z\n");
	assert_string_equal(told.text,
			    "top/b/none: not traces\ntop/empty: empty\ntop/fifo: special\ntop/gone: unreadable\n");
	assert_int_equal(wi_discover_count(d).again, 2);
	assert_int_equal(wi_discover_count(d).nr[WI_FINDING_TRACE], 6);
	wi_discover_free(d);
}

static void lists_of_names(void **state)
{
	const struct wi_discover_opts opts = { .nr_shards = 0 };
	struct wi_err err = { 0 };
	struct wi_discover *d = wi_discover_new(&opts, &err);

	(void)state;
	put_text("2", TEXT_TRACE);
	put_text("1", TEXT_TRACE);
	put_text("line\nend", TEXT_TRACE);
	put("list", "2\0\0line\nend\0001", 14);
	assert_true(wi_discover_list(d, "list", true, &err));
	search_all(d);
	assert_string_equal(found(d), "2|2\nline\nend|line\nend\n1|1\n");
	wi_discover_free(d);
	d = wi_discover_new(&opts, &err);
	assert_false(wi_discover_list(d, "no list", false, &err));
	wi_discover_free(d);
}

/* However many parts: each trace is in one of them. */
static void parts_of_a_folder(void **state)
{
	(void)state;
	assert_int_equal(mkdir("many", 0700), 0);
	for (int i = 0; i < 40; i++) {
		char path[32], text[64];

		snprintf(path, sizeof(path), "many/%d", i);
		snprintf(text, sizeof(text), TEXT_TRACE "# %d\n", i / 2); /* two of each */
		put_text(path, text);
	}
	for (uint32_t nr = 1; nr <= 7; nr += 3) {
		uint64_t traces = 0;

		for (uint32_t k = 1; k <= nr; k++) {
			const struct wi_discover_opts opts = { .shard = k, .nr_shards = nr };
			struct wi_err err = { 0 };
			struct wi_discover *d = wi_discover_new(&opts, &err);
			struct wi_discover_count c;

			assert_true(wi_discover_add(d, "many", &err));
			search_all(d);
			c = wi_discover_count(d);
			assert_int_equal(c.nr[WI_FINDING_TRACE] + c.nr[WI_FINDING_OTHER_SHARD], 40);
			assert_int_equal(c.nr[WI_FINDING_TRACE] % 2, 0); /* copies stay together */
			traces += c.nr[WI_FINDING_TRACE];
			wi_discover_free(d);
		}
		assert_int_equal(traces, 40);
	}
}

static void contents_met_before(void **state)
{
	const struct wi_discover_opts opts = { .nr_shards = 0 };
	struct wi_err err = { 0 };
	struct wi_discover *d = wi_discover_new(&opts, &err);
	uint8_t a[32] = { 1 }, b[32] = { 2 };
	bool met, same;

	(void)state;
	assert_true(wi_discover_meet(d, a, "one", &met, &same, &err));
	assert_false(met);
	assert_true(wi_discover_meet(d, a, "one", &met, &same, &err));
	assert_true(met && same);
	assert_true(wi_discover_meet(d, a, "other", &met, &same, &err));
	assert_true(met && !same);
	assert_true(wi_discover_meet(d, b, "other", &met, &same, &err));
	assert_false(met);
	wi_discover_free(d);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(tags_of_paths),	    TEST(wrong_patterns),  TEST(tags_of_files),	    TEST(many_tags),
		TEST(bounds_of_a_tag),	    TEST(hashes_of_files), TEST(hashes_of_folders), TEST(shards),
		TEST(makes_order_of_names), TEST(lists_of_names),  TEST(parts_of_a_folder), TEST(contents_met_before),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
