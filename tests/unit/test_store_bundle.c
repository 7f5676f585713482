/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Bundles: documents in, bytes out and in again, through a database and back; histogram blobs; patterns; the catalog.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analyzer/store/bundle_priv.h"
#include "analyzer/store/catalog.h"
#include "analyzer/store/glob.h"
#include "analyzer/store/hist_blob.h"
#include "share.h"
#include "store_fixture.h"

#define HEAD "{\"schema\":\"wakeif/1\","

static bool add(struct wi_bundle *b, const char *json, enum wi_detail detail, struct wi_err *err)
{
	*err = (struct wi_err){ 0 };
	return wi_bundle_add_document(b, json, strlen(json), detail, err) && wi_bundle_finish(b, err);
}

static const struct wi_metric_value *metric(const struct wi_bundle *b, const char *path)
{
	for (size_t i = 0; i < b->nr_metrics; i++)
		if (!strcmp(b->metric[i].path, path))
			return &b->metric[i];
	return NULL;
}

static void assert_integer(const struct wi_bundle *b, const char *path, int64_t v)
{
	const struct wi_metric_value *m = metric(b, path);

	if (!m)
		fail_msg("no %s", path);
	assert_false(m->is_real);
	assert_int_equal(m->integer, v);
}

static const char document[] = HEAD
	"\"tool\":{\"version\":\"1\"},\"input\":[{\"format\":\"trace.dat v6\",\"kernel\":\"6.1\",\"nr_cpus\":4,"
	"\"damage\":[{\"offset\":3,\"what\":\"torn\"}]}],"
	"\"window\":{\"start_ns\":10,\"end_ns\":9007199254740993,\"coverage\":0.5},"
	"\"quality\":{\"lost_events\":3,\"has_waking\":true,\"repairs\":{\"a\":2,\"b\":5},\"skew\":{\"cpu_a\":1,\"ns\":"
	"7}},"
	"\"topology\":{\"smt\":2,\"nr_cpus\":4,\"nr_online\":4,\"nr_cores\":2,\"nr_llcs\":1,\"nr_nodes\":1,\"nr_"
	"packages\":1,"
	"\"flags\":[\"no_cache_info\",\"llc_split\"],\"cpus\":[{\"core\":0,\"cpu\":0},{\"cpu\":1,\"core\":0}]},"
	"\"latency\":{\"wakeup\":{\"count\":3,\"sum_ns\":1009,\"min_ns\":4,\"max_ns\":1001,"
	"\"histogram\":[[4,1,2],[1000,8,1]]},\"longest\":[{\"wake_ns\":5,\"pid\":7,\"comm\":\"x\",\"latency_ns\":1001}]"
	"},"
	"\"missed_idle\":{\"worst\":[{\"wake_ns\":9,\"avoidable_ns\":4,\"censored\":true}]},"
	"\"smt\":{\"busy_threads_ns\":[5,6,7],\"cores\":[{\"core\":0,\"unknown_ns\":3},{\"core\":1,\"unknown_ns\":4}]},"
	"\"wake_affine\":{\"matrix\":[[1,2],[3,4]]},"
	"\"idle_while_waiting\":{\"core\":{\"longest\":{\"start_ns\":5,\"ns\":6,\"task\":{\"pid\":3}}}},"
	"\"tasks\":[{\"pid\":5,\"comm\":\"a.b\",\"run_ns\":8},{\"pid\":5,\"comm\":\"a.b\",\"run_ns\":9}],"
	"\"models\":[{\"name\":\"what happened\",\"happened\":true,\"decided\":4},"
	"{\"name\":\"linux-6.1\",\"params\":\"p\",\"decided\":4,\"agree\":{\"cpu\":3,\"cpu_share\":0.75}}],"
	"\"big\":9223372036854775807}";

static void what_a_document_holds(void **state)
{
	struct wi_bundle b;
	struct wi_err err;
	size_t nr;

	(void)state;
	assert_true(wi_bundle_init(&b, &(struct wi_err){ 0 }));
	if (!add(&b, document, WI_DETAIL_DEFAULT, &err))
		fail_msg("%s", err.msg);
	assert_integer(&b, "quality.lost_events", 3);
	assert_integer(&b, "quality.repairs.b", 5);
	assert_integer(&b, "quality.skew.ns", 7);
	assert_integer(&b, "latency.wakeup.count", 3);
	assert_integer(&b, "smt.busy_threads_ns[2]", 7);
	assert_integer(&b, "wake_affine.matrix[1][0]", 3);
	assert_integer(&b, "idle_while_waiting.core.longest.ns", 6);
	assert_integer(&b, "models[what happened].decided", 4);
	assert_integer(&b, "models[linux-6.1].agree.cpu", 3);
	assert_integer(&b, "big", INT64_MAX);
	assert_true(metric(&b, "models[linux-6.1].agree.cpu_share")->is_real);
	assert_int_equal(b.nr_metrics, 21);
	assert_int_equal(b.nr_hists, 1);
	assert_string_equal(b.hist[0].path, "latency.wakeup");
	assert_int_equal(b.hist[0].hist.count, 3);
	assert_int_equal(b.hist[0].hist.bucket[4], 2);
	assert_int_equal(b.hist[0].hist.max_ns, 1001);

	const struct wi_row *r = wi_bundle_rows(&b, WI_PART_INPUT, &nr);

	assert_int_equal(nr, 1);
	assert_string_equal(r->cell[wi_part_column(WI_PART_INPUT, "kernel")].text, "6.1");
	assert_string_equal(r->cell[wi_part_column(WI_PART_INPUT, "damage")].text, "torn");
	assert_int_equal(r->cell[wi_part_column(WI_PART_INPUT, "damage_count")].integer, 1);
	assert_int_equal(r->cell[wi_part_column(WI_PART_INPUT, "arch")].type, WI_CELL_NONE);
	r = wi_bundle_rows(&b, WI_PART_QUALITY, &nr);
	assert_int_equal(r->cell[wi_part_column(WI_PART_QUALITY, "end_ns")].integer, 9007199254740993);
	assert_int_equal(r->cell[wi_part_column(WI_PART_QUALITY, "repairs")].integer, 7);
	assert_int_equal(r->cell[wi_part_column(WI_PART_QUALITY, "has_waking")].integer, 1);
	r = wi_bundle_rows(&b, WI_PART_TOPOLOGY, &nr);
	assert_string_equal(r->cell[wi_part_column(WI_PART_TOPOLOGY, "name")].text, "4cpu/2core/1llc smt2");
	assert_string_equal(r->cell[wi_part_column(WI_PART_TOPOLOGY, "flags")].text, "no_cache_info,llc_split");
	assert_string_equal(r->cell[wi_part_column(WI_PART_TOPOLOGY, "layout")].text,
			    "[{\"core\":0,\"cpu\":0},{\"core\":0,\"cpu\":1}]");
	r = wi_bundle_rows(&b, WI_PART_MODEL, &nr);
	assert_int_equal(nr, 2);
	assert_string_equal(r->cell[0].text, "linux-6.1"); /* by name */
	r = wi_bundle_rows(&b, WI_PART_WORST, &nr);
	assert_int_equal(nr, 2);
	assert_int_equal(r[0].cell[wi_part_column(WI_PART_WORST, "latency_ns")].integer, 1001);
	assert_int_equal(r[1].cell[wi_part_column(WI_PART_WORST, "censored")].integer, 1);

	/* The same document again changes nothing. */
	nr = b.nr_metrics;
	assert_true(add(&b, document, WI_DETAIL_DEFAULT, &err));
	assert_int_equal(b.nr_metrics, nr);
	assert_int_equal(b.nr_hists, 1);
	wi_bundle_fini(&b);
}

/* Figures about cores and caches that nobody told are no figures of the machine. */
static void a_guessed_machine(void **state)
{
	static const char guessed[] = HEAD
		"\"topology\":{\"smt\":1,\"nr_cpus\":4,\"nr_online\":3,\"nr_cores\":4,\"nr_llcs\":1,\"nr_nodes\":1,"
		"\"nr_packages\":1,\"flags\":[\"fallback\"],\"cpus\":[]},"
		"\"latency\":{\"wakeup\":{\"count\":1},\"by_placement\":{\"idle_core\":{\"count\":1,\"sum_ns\":4,"
		"\"min_ns\":4,\"max_ns\":4,\"histogram\":[[4,1,1]]}}},"
		"\"missed_idle\":{\"queued_on_busy\":{\"count\":2},\"no_idle\":{\"count\":1},\"sibling\":{\"count\":0},"
		"\"llc\":{\"count\":1},\"half_busy_core\":{\"llc\":{\"share\":0.0}}},"
		"\"wake_affine\":{\"considered\":5,\"bounce\":0},"
		"\"models\":[{\"name\":\"linux-6.1\",\"agree\":{\"cpu\":3,\"core\":3},\"examined\":7}]}";
	static const char *const kept[] = { "latency.wakeup.count",	   "missed_idle.queued_on_busy.count",
					    "missed_idle.no_idle.count",   "wake_affine.considered",
					    "models[linux-6.1].agree.cpu", "models[linux-6.1].examined" };
	struct wi_bundle b;
	struct wi_err err;
	size_t nr;

	(void)state;
	assert_true(wi_bundle_init(&b, &(struct wi_err){ 0 }));
	if (!add(&b, guessed, WI_DETAIL_DEFAULT, &err))
		fail_msg("%s", err.msg);
	for (size_t i = 0; i < sizeof(kept) / sizeof(*kept); i++)
		if (!metric(&b, kept[i]))
			fail_msg("no %s", kept[i]);
	assert_int_equal(b.nr_metrics, sizeof(kept) / sizeof(*kept));
	assert_int_equal(b.nr_hists, 0);
	assert_string_equal(
		wi_bundle_rows(&b, WI_PART_TOPOLOGY, &nr)->cell[wi_part_column(WI_PART_TOPOLOGY, "name")].text,
		"3cpu guessed");
	wi_bundle_fini(&b);
}

static void details(void **state)
{
	struct wi_bundle b;
	struct wi_err err;

	(void)state;
	assert_true(wi_bundle_init(&b, &(struct wi_err){ 0 }));
	assert_true(add(&b, document, WI_DETAIL_FULL, &err));
	assert_integer(&b, "smt.cores[1].unknown_ns", 4);
	assert_integer(&b, "tasks[5,a.b].run_ns", 8);
	assert_integer(&b, "tasks[5,a.b#2].run_ns", 9);
	assert_null(metric(&b, "tasks[5,a.b].pid"));
	assert_int_equal(b.nr_metrics, 25);
	wi_bundle_fini(&b);
}

static void names_are_one_place(void **state)
{
	struct wi_bundle b;
	struct wi_err err;

	(void)state;
	assert_true(wi_bundle_init(&b, &(struct wi_err){ 0 }));
	assert_true(add(&b, HEAD "\"q\":{\"a.b\":1,\"a\":{\"b\":2}},\"models\":[{\"name\":\"x].y[\\\\\",\"n\":3}]}",
			WI_DETAIL_DEFAULT, &err));
	assert_integer(&b, "q.a\\.b", 1);
	assert_integer(&b, "q.a.b", 2);
	assert_integer(&b, "models[x\\].y\\[\\\\].n", 3);
	wi_bundle_fini(&b);
}

static void refused_documents(void **state)
{
	static const struct {
		const char *json;
		const char *why;
	} bad[] = {
		{ "", "JSON" },
		{ "{\"a\":1", "JSON" },
		{ "[]", "schema" },
		{ "{\"schema\":\"wakeif/2\"}", "schema" },
		{ HEAD "\"a\":1,\"a\":2}", "JSON" },
		{ HEAD "\"a\":9223372036854775808}", "JSON" },
		{ HEAD "\"a\":1e999}", "JSON" },
		{ HEAD "\"input\":[{},{}]}", "several" },
		{ HEAD "\"topology\":{}}", "without CPUs" },
		{ HEAD "\"models\":[{}]}", "without a name" },
		{ HEAD "\"l\":{\"histogram\":[]}}", "missing" },
		{ HEAD "\"l\":{\"count\":1,\"sum_ns\":5,\"min_ns\":5,\"max_ns\":5,\"histogram\":[[5,2,1]]}}",
		  "bucket" },
		{ HEAD "\"l\":{\"count\":1,\"sum_ns\":5,\"min_ns\":5,\"max_ns\":5,\"histogram\":[[5,1,0]]}}",
		  "no bucket" },
		{ HEAD "\"l\":{\"count\":2,\"sum_ns\":5,\"min_ns\":5,\"max_ns\":5,\"histogram\":[[5,1,1]]}}",
		  "add up" },
		{ HEAD "\"l\":{\"count\":1,\"sum_ns\":6,\"min_ns\":5,\"max_ns\":5,\"histogram\":[[5,1,1]]}}", "sum" },
		{ HEAD "\"l\":{\"count\":1,\"sum_ns\":5,\"min_ns\":4,\"max_ns\":5,\"histogram\":[[5,1,1]]}}",
		  "minimum" },
		{ HEAD "\"l\":{\"count\":2,\"sum_ns\":9,\"min_ns\":4,\"max_ns\":5,\"histogram\":[[5,1,1],[4,1,1]]}}",
		  "bucket" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		struct wi_bundle b;
		struct wi_err err;

		assert_true(wi_bundle_init(&b, &(struct wi_err){ 0 }));
		assert_false(add(&b, bad[i].json, WI_DETAIL_DEFAULT, &err));
		assert_int_equal(err.code, WI_EREFUSED);
		if (!strstr(err.msg, bad[i].why))
			fail_msg("%s: %s, not %s", bad[i].json, err.msg, bad[i].why);
		wi_bundle_fini(&b);
	}
}

static void documents_that_disagree(void **state)
{
	static const char *const other[] = {
		HEAD "\"quality\":{\"lost_events\":4}}",
		HEAD "\"quality\":{\"skew\":{\"ns\":7.5}}}",
		HEAD "\"window\":{\"start_ns\":11}}",
		HEAD "\"models\":[{\"name\":\"linux-6.1\",\"params\":\"q\"}]}",
		HEAD "\"latency\":{\"wakeup\":{\"count\":3,\"sum_ns\":1009,\"min_ns\":4,\"max_ns\":1002,"
		     "\"histogram\":[[4,1,2],[1000,8,1]]}}}",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(other) / sizeof(*other); i++) {
		struct wi_bundle b;
		struct wi_err err;

		assert_true(wi_bundle_init(&b, &(struct wi_err){ 0 }));
		assert_true(add(&b, document, WI_DETAIL_DEFAULT, &err));
		assert_false(add(&b, other[i], WI_DETAIL_DEFAULT, &err));
		assert_non_null(strstr(err.msg, "disagree"));
		wi_bundle_fini(&b);
	}
}

static void tags_and_outcomes(void **state)
{
	char long_text[2000];
	struct wi_bundle b;
	struct wi_err err = { 0 };

	(void)state;
	memset(long_text, 'x', sizeof(long_text) - 1);
	long_text[sizeof(long_text) - 1] = '\0';
	assert_true(wi_bundle_init(&b, &err));
	assert_true(wi_bundle_tag(&b, "k", "v", &err) && wi_bundle_tag(&b, "k", "v", &err) &&
		    wi_bundle_tag(&b, "k", "u", &err));
	assert_int_equal(b.nr_tags, 2);
	const char *const bad[][2] = {
		{ "", "v" }, { "k", "" }, { long_text, "v" }, { "k", long_text }, { "k", "\xff" }
	};

	for (size_t i = 0; i < 5; i++) {
		assert_false(wi_bundle_tag(&b, bad[i][0], bad[i][1], &err));
		assert_int_equal(err.code, WI_EUSAGE);
		err = (struct wi_err){ 0 };
	}
	for (unsigned int i = b.nr_tags; i < WI_BUNDLE_MAX_TAGS; i++) {
		char value[16];

		snprintf(value, sizeof(value), "%u", i);
		assert_true(wi_bundle_tag(&b, "k", value, &err));
	}
	assert_false(wi_bundle_tag(&b, "k", "one more", &err));
	assert_int_equal(err.code, WI_EUSAGE);
	err = (struct wi_err){ 0 };
	assert_true(wi_bundle_outcome(&b, WI_RUN_CRASHED, "a\nb", 11, 0, "\x80z\n\x01", 4, &err));
	assert_string_equal(b.reason, "a b");
	assert_string_equal(b.stderr_tail, "\xef\xbf\xbdz\n\xef\xbf\xbd");

	char many[WI_STDERR_TAIL + 10];

	memset(many, 'a', sizeof(many));
	memcpy(many + 9, "\xc3\xa4", 2); /* the cut falls into this character */
	assert_true(wi_bundle_outcome(&b, WI_RUN_CRASHED, "r", 11, 0, many, sizeof(many), &err));
	assert_int_equal(strlen(b.stderr_tail), WI_STDERR_TAIL - 1);
	assert_int_equal(b.stderr_tail[0], 'a');

	assert_true(wi_bundle_identify(&b, b.sha256, 1, "d/\xff\n\\", "1", "{}", &err));
	assert_string_equal(b.path, "d/\\xff\\x0a\\\\");
	wi_bundle_fini(&b);
}

static void bytes_and_back(void **state)
{
	uint64_t seed = 1;

	(void)state;
	for (unsigned int i = 0; i < test_share(400); i++) {
		struct wi_bytes_out one = { 0 }, two = { 0 };
		struct wi_bundle a, b;
		struct wi_err err = { 0 };

		store_bundle(&a, &seed, 5);
		assert_true(wi_bundle_init(&b, &err));
		assert_true(wi_bundle_encode(&a, &one, &err));
		assert_int_equal(wi_bundle_length(one.at), one.nr);
		if (!wi_bundle_decode(&b, one.at, one.nr, &err))
			fail_msg("%s", err.msg);
		assert_true(wi_bundle_encode(&b, &two, &err));
		assert_int_equal(one.nr, two.nr);
		assert_memory_equal(one.at, two.at, one.nr);
		wi_bundle_fini(&a);
		wi_bundle_fini(&b);
		free(one.at);
		free(two.at);
	}
}

static void no_part_is_taken_for_a_whole(void **state)
{
	uint64_t seed = 99;
	struct wi_bytes_out o = { 0 };
	struct wi_bundle a, b;
	struct wi_err err = { 0 };

	(void)state;
	store_bundle(&a, &seed, 5);
	assert_true(wi_bundle_encode(&a, &o, &err));
	for (size_t n = 0; n < o.nr; n += test_share_step()) {
		assert_true(wi_bundle_init(&b, &err));
		assert_false(wi_bundle_decode(&b, o.at, n, &err));
		wi_bundle_fini(&b);
		err = (struct wi_err){ 0 };
	}
	for (size_t bit = 0; bit < 8 * o.nr; bit += test_share_step()) {
		o.at[bit / 8] ^= (uint8_t)(1 << bit % 8);
		assert_true(wi_bundle_init(&b, &err));
		assert_false(wi_bundle_decode(&b, o.at, o.nr, &err));
		assert_int_equal(err.code, WI_EREFUSED);
		wi_bundle_fini(&b);
		err = (struct wi_err){ 0 };
		o.at[bit / 8] ^= (uint8_t)(1 << bit % 8);
	}
	wi_bundle_fini(&a);
	free(o.at);
}

/* What a worker gone mad may send is bounded in memory. */
static void bounds(void **state)
{
	struct wi_bundle b;
	struct wi_err err = { 0 };

	(void)state;
	assert_true(wi_bundle_init(&b, &err));
	for (unsigned int i = 0; i < WI_BUNDLE_MAX_ROWS; i++)
		assert_non_null(wi_bundle_put_row(&b, WI_PART_QUALITY, &err));
	assert_null(wi_bundle_put_row(&b, WI_PART_QUALITY, &err));
	assert_non_null(strstr(err.msg, "more than 4096"));
	err = (struct wi_err){ 0 };
	for (unsigned int i = 0; i < WI_BUNDLE_MAX_HISTS; i++)
		assert_true(wi_bundle_put_hist(&b, "a", &(struct wi_hist){ 0 }, &err));
	assert_false(wi_bundle_put_hist(&b, "a", &(struct wi_hist){ 0 }, &err));
	assert_non_null(strstr(err.msg, "more than 4096"));
	wi_bundle_fini(&b);
}

/* ---- histogram blobs ---- */

static void histograms_and_back(void **state)
{
	uint64_t seed = 5;

	(void)state;
	for (unsigned int i = 0; i < test_share(2000); i++) {
		struct wi_bytes_out blob = { 0 };
		struct wi_hist h = { 0 }, back;
		const char *why;

		for (uint32_t n = store_below(&seed, 50); n--;)
			assert_true(wi_hist_add(&h, store_random(&seed) >> (1 + store_below(&seed, 63))));
		wi_hist_blob_put(&blob, &h);
		assert_false(blob.failed);
		/* Values of 2^62 and more can wrap the sum, as they do in the program; the archive's columns end at
		 * 2^63. */
		if (!wi_hist_blob_get(&back, blob.at, blob.nr, &h, &why))
			fail_msg("%s", why);
		assert_int_equal(back.count, h.count);
		for (uint32_t k = 0; k < h.nr; k++)
			assert_int_equal(k < back.nr ? back.bucket[k] : 0, h.bucket[k]);
		for (double q = 0.1; h.count && q < 1; q += 0.2)
			assert_int_equal(wi_hist_quantile(&h, q), wi_hist_quantile(&back, q));
		wi_hist_fini(&back);
		/* One exact figure that is wrong is noticed. */
		struct wi_hist wrong = h;

		wrong.count++;
		assert_false(wi_hist_blob_get(&back, blob.at, blob.nr, &wrong, &why));
		wi_hist_fini(&h);
		free(blob.at);
	}
}

static void histograms_that_cannot_be(void **state)
{
	static const struct {
		uint8_t blob[24];
		size_t nr;
		const char *why;
	} bad[] = {
		{ { 0x80 }, 1, "read" },
		{ { 1 }, 1, "read" },
		{ { 0x80, 0x00, 1 }, 3, "read" },
		{ { 1, 0 }, 2, "rise" },
		{ { 0, 1 }, 2, "rise" },
		{ { 0x81, 0x1d, 1 }, 3, "2^63" },
		{ { 0xff, 0xff, 0x7f, 1 }, 4, "2^63" },
		{ { 1, 1, 0, 1 }, 4, "rise" },
		{ { 1, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f, 1, 1 }, 12, "large" },
		{ { 1, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1 }, 11, "read" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		const struct wi_hist exact = { .count = 1 };
		struct wi_hist h;
		const char *why;

		assert_false(wi_hist_blob_get(&h, bad[i].blob, bad[i].nr, &exact, &why));
		if (!strstr(why, bad[i].why))
			fail_msg("%zu: %s", i, why);
	}
	struct wi_hist beyond = { 0 };
	struct wi_bytes_out blob = { 0 };

	assert_true(wi_hist_add(&beyond, 1ull << 63));
	wi_hist_blob_put(&blob, &beyond);
	assert_true(blob.failed);
	wi_hist_fini(&beyond);
	free(blob.at);
}

/* ---- patterns, catalog ---- */

static void patterns(void **state)
{
	static const struct {
		const char *pattern, *text;
		bool match;
	} row[] = {
		{ "", "", true },
		{ "", "a", false },
		{ "*", "", true },
		{ "a*b", "ab", true },
		{ "a*b", "axxb", true },
		{ "a*b", "axxc", false },
		{ "?", "\xc3\xa4", true },
		{ "?", "ab", false },
		{ "a|b", "b", true },
		{ "a|b", "a|b", false },
		{ "a\\|b", "a|b", true },
		{ "\\*", "*", true },
		{ "\\*", "x", false },
		{ "[ab]", "a", false },
		{ "m[l-6.1].*", "m[l-6.1].x", true },
		{ "*a*a*b", "aaaaab", true },
		{ "6.1.*|6.12.*", "6.12.3", true },
		{ "a\\", "a\\", true },
		{ "*|", "", true },
		{ "**", "xyz", true },
		{ "x**", "x", true },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(row) / sizeof(*row); i++)
		if (wi_glob(row[i].pattern, row[i].text) != row[i].match)
			fail_msg("%s against %s", row[i].pattern, row[i].text);
	char stars[400], text[4000];

	for (size_t i = 0; i + 2 < sizeof(stars); i += 2)
		memcpy(stars + i, "*a", 3);
	memset(text, 'a', sizeof(text) - 1);
	text[sizeof(text) - 2] = 'b';
	text[sizeof(text) - 1] = '\0';
	assert_false(wi_glob(stars, text)); /* in no time */
}

static void catalog(void **state)
{
	static const struct {
		const char *path, *unit;
		enum wi_direction direction;
	} row[] = {
		{ "latency.wakeup.p99_ns", "ns", WI_LOWER_IS_BETTER },
		{ "latency.wakeup.count", "count", WI_NO_DIRECTION },
		{ "missed_idle.no_idle.share", "share", WI_NO_DIRECTION },
		{ "missed_idle.sibling.share", "share", WI_LOWER_IS_BETTER },
		{ "missed_idle.half_busy_core.llc.avoidable_p99_ns", "ns", WI_LOWER_IS_BETTER },
		{ "idle_while_waiting.llc.episodes.over_1ms", "count", WI_LOWER_IS_BETTER },
		{ "smt.avoidable_corun_ns.llc", "ns", WI_LOWER_IS_BETTER },
		{ "smt.busy_threads_ns[1]", "ns", WI_NO_DIRECTION },
		{ "models[linux-6.1].agree.cpu_share", "share", WI_HIGHER_IS_BETTER },
		{ "models[linux-6.1].agree.cpu", "count", WI_NO_DIRECTION },
		{ "models[a].est_wait.wait.p99_ns", "ns", WI_LOWER_IS_BETTER },
		{ "migrations.per_wakeup", "per wakeup", WI_LOWER_IS_BETTER },
		{ "migrations.by_distance.core", "count", WI_NO_DIRECTION },
		{ "simulate.policies[x, y].p99_ns.mean", "ns", WI_LOWER_IS_BETTER },
		{ "simulate.policies[x].util.stddev", "share", WI_NO_DIRECTION },
		{ "simulate.policies[x].p99_ns.n", "count", WI_NO_DIRECTION },
		{ "simulate.policies[x].difference.p99_ns.mean", "ns", WI_NO_DIRECTION },
		{ "simulate.self_replay.p99_err", "share", WI_NO_DIRECTION },
		{ "wakeups.total", "count", WI_NO_DIRECTION },
	};
	struct wi_metric_info info;
	size_t nr;

	(void)state;
	for (size_t i = 0; i < sizeof(row) / sizeof(*row); i++) {
		assert_true(wi_catalog_find(row[i].path, &info));
		if (strcmp(info.unit, row[i].unit) || info.direction != row[i].direction)
			fail_msg("%s: %s, %d", row[i].path, info.unit, info.direction);
	}
	assert_false(wi_catalog_find("nothing.known", &info));
	assert_string_equal(info.unit, "number");
	const char *const *headline = wi_catalog_headline(&nr);

	assert_in_range(nr, 10, 15);
	for (size_t i = 0; i < nr; i++) {
		assert_true(wi_catalog_find(headline[i], &info));
		assert_int_equal(info.headline, i + 1);
		assert_int_equal(info.direction, WI_LOWER_IS_BETTER);
		assert_non_null(info.meaning);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_a_document_holds),
		cmocka_unit_test(a_guessed_machine),
		cmocka_unit_test(details),
		cmocka_unit_test(names_are_one_place),
		cmocka_unit_test(refused_documents),
		cmocka_unit_test(documents_that_disagree),
		cmocka_unit_test(tags_and_outcomes),
		cmocka_unit_test(bytes_and_back),
		cmocka_unit_test(no_part_is_taken_for_a_whole),
		cmocka_unit_test(bounds),
		cmocka_unit_test(histograms_and_back),
		cmocka_unit_test(histograms_that_cannot_be),
		cmocka_unit_test(patterns),
		cmocka_unit_test(catalog),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
