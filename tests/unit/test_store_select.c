/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Selectors and what they select; figures and histograms of runs; orders that do not depend on how the rows came in. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analyzer/store/bundle_priv.h"
#include "analyzer/store/select.h"
#include "store_fixture.h"

#define NR 6

/* Run n: kernel 6.N, tags workload and (of even ones) odd=no; two paths for run 0. */
static void put_run(struct wi_store *store, uint32_t n)
{
	struct wi_err err = { 0 };
	struct wi_bundle b;
	char text[32];
	struct wi_hist h = { 0 };

	snprintf(text, sizeof(text), "d/%u,x.dat", n);
	store_plain(&b, n, text, "{}", n == 3 ? NULL : "latency.wakeup.p99_ns", n * 1.5);
	struct wi_row *row = wi_bundle_put_row(&b, WI_PART_INPUT, &err);
	struct wi_cell *kernel = &row->cell[wi_part_column(WI_PART_INPUT, "kernel")];

	snprintf(text, sizeof(text), "6.%u.0", n);
	*kernel =
		(struct wi_cell){ .type = WI_CELL_TEXT, .text = n == 5 ? "" : wi_bundle_copy(&b, text, strlen(text)) };
	assert_true(wi_bundle_tag(&b, "workload", n < 3 ? "pipe" : "schbench", &err));
	assert_true(wi_bundle_tag(&b, "kernel", "tagged", &err));
	if (n % 2 == 0)
		assert_true(wi_bundle_tag(&b, "odd", "no", &err));
	for (uint64_t i = 0; i < n; i++)
		assert_true(wi_hist_add(&h, 1000 * i));
	assert_true(wi_bundle_put_hist(&b, "latency.wakeup", &h, &err));
	if (n == 4)
		assert_true(wi_bundle_outcome(&b, WI_RUN_TIMEOUT, "60 s", 9, 0, "x", 1, &err));
	store_put(store, &b, WI_PUT_MERGE);
	if (n)
		return;
	const struct wi_tag tag[] = { { "workload", "other" } };
	uint8_t hash[WI_SHA256_BYTES];

	store_hash(0, hash);
	assert_true(wi_store_begin(store, &err) && wi_store_put_path(store, hash, 0, "copy", tag, 1, NULL, &err) &&
		    wi_store_commit(store, &err));
}

static struct wi_store *make(const uint32_t order[NR])
{
	struct wi_store *store = store_open("memory", WI_STORE_MEMORY);

	for (int i = 0; i < NR; i++)
		put_run(store, order[i]);
	return store;
}

static const uint32_t rising[NR] = { 0, 1, 2, 3, 4, 5 }, mixed[NR] = { 3, 5, 0, 4, 2, 1 };

/* The numbers of the runs that a selector selects, rising: "0 2 4". */
static void selected(struct wi_store *store, const char *text, char out[64])
{
	struct wi_err err = { 0 };
	struct wi_select *select = wi_select_parse(text, &err);
	struct wi_runs runs;

	if (!select)
		fail_msg("%s", err.msg);
	assert_true(wi_select_runs(store, select, &runs, &err));
	out[0] = '\0';
	for (uint32_t n = 0; n < NR; n++)
		for (size_t i = 0; i < runs.nr; i++)
			if (runs.run[i].size_bytes == n)
				sprintf(out + strlen(out), "%s%u", *out ? " " : "", n);
	wi_runs_fini(&runs);
	wi_select_free(select);
}

static void selectors(void **state)
{
	static const struct {
		const char *text, *expected;
	} row[] = {
		{ "", "0 1 2 3 4 5" },
		{ "kernel=6.1.0", "1" },
		{ "kernel=6.*", "0 1 2 3 4" }, /* the file of 5 does not tell: unknown is no kernel */
		{ "kernel!=6.*", "5" },
		{ "kernel=*", "0 1 2 3 4" },
		{ "kernel=6.1.*|6.2.*", "1 2" },
		{ "tag.kernel=tagged", "0 1 2 3 4 5" },
		{ "workload=pipe", "0 1 2" },
		{ "workload=other", "0" },
		{ "workload=p*,odd=no", "0 2" },
		{ "workload!=pipe", "3 4 5" },
		{ "odd!=*", "1 3 5" },
		{ "status=ok", "0 1 2 3 5" },
		{ "status=timeout|crashed", "4" },
		{ "path=copy", "0" },
		{ "path=d/2\\,x.dat", "2" },
		{ "version=1.?", "0 1 2 3 4 5" },
		{ "analysis={}", "0 1 2 3 4 5" },
		{ "nothing=x", "" },
		{ "topology=*", "" },
	};
	struct wi_store *store = make(mixed);
	char out[64], hash[80] = "sha256=", hex[WI_SHA256_HEX];
	uint8_t sha256[WI_SHA256_BYTES];

	(void)state;
	for (size_t i = 0; i < sizeof(row) / sizeof(*row); i++) {
		selected(store, row[i].text, out);
		if (strcmp(out, row[i].expected))
			fail_msg("%s: %s, not %s", row[i].text, out, row[i].expected);
	}
	store_hash(2, sha256);
	strcat(hash, wi_sha256_hex(sha256, hex));
	selected(store, hash, out);
	assert_string_equal(out, "2");
	store_close(store);
}

static void selectors_that_are_none(void **state)
{
	static const char *const bad[] = { "kernel", "=x", "!=x", "a=b,", "a=b,c", ",", "a=1,,b=2" };

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		struct wi_err err = { 0 };

		assert_null(wi_select_parse(bad[i], &err));
		assert_int_equal(err.code, WI_EUSAGE);
		assert_non_null(strstr(err.msg, bad[i]));
	}
}

static void runs_in_an_order_of_their_own(void **state)
{
	struct wi_store *store[2] = { make(rising), make(mixed) };
	struct wi_runs runs[2];
	struct wi_err err = { 0 };

	(void)state;
	for (int k = 0; k < 2; k++)
		assert_true(wi_select_runs(store[k], NULL, &runs[k], &err));
	assert_int_equal(runs[0].nr, NR);
	for (size_t i = 0; i < NR; i++) {
		const struct wi_run *a = &runs[0].run[i], *b = &runs[1].run[i];

		assert_memory_equal(a->sha256, b->sha256, WI_SHA256_BYTES);
		assert_true(!i || memcmp(runs[0].run[i - 1].sha256, a->sha256, WI_SHA256_BYTES) < 0);
		assert_string_equal(a->kernel, b->kernel);
		assert_int_equal(a->nr_paths, a->size_bytes ? 1 : 2);
		assert_int_equal(a->nr_tags, (a->size_bytes % 2 ? 2 : 3) + !a->size_bytes);
		assert_int_equal(a->status, a->size_bytes == 4 ? WI_RUN_TIMEOUT : WI_RUN_OK);
		assert_true((a->reason != NULL) == (a->size_bytes == 4));
		assert_int_equal(a->signal, a->size_bytes == 4 ? 9 : 0);
		assert_false(a->window_known);
		assert_null(a->topology);
	}
	assert_int_equal(wi_runs_twice(&runs[0]), -1);
	for (int k = 0; k < 2; k++) {
		wi_runs_fini(&runs[k]);
		store_close(store[k]);
	}
}

static void values_of_keys(void **state)
{
	struct wi_store *store = make(rising);
	const char *value[3];
	char buf[WI_SHA256_HEX];
	struct wi_runs runs;
	struct wi_err err = { 0 };

	(void)state;
	assert_true(wi_select_runs(store, NULL, &runs, &err));
	for (size_t i = 0; i < runs.nr; i++) {
		const struct wi_run *r = &runs.run[i];

		assert_int_equal(wi_run_values(r, "kernel", value, 3, buf), r->size_bytes == 5 ? 0 : 1);
		assert_int_equal(wi_run_values(r, "tag.kernel", value, 3, buf), 1);
		assert_string_equal(value[0], "tagged");
		assert_int_equal(wi_run_values(r, "workload", value, 1, buf), r->size_bytes ? 1 : 2);
		assert_int_equal(wi_run_values(r, "absent", value, 3, buf), 0);
		assert_int_equal(wi_run_values(r, "status", value, 3, buf), 1);
		assert_int_equal(wi_run_values(r, "sha256", value, 3, buf), 1);
		assert_int_equal(strlen(value[0]), 64);
		assert_int_equal(wi_run_values(r, "path", value, 0, buf), r->nr_paths);
	}
	wi_runs_fini(&runs);
	store_close(store);
}

static void figures(void **state)
{
	struct wi_store *store = make(mixed);
	double v[NR], table[2 * NR];
	struct wi_runs runs;
	struct wi_texts paths;
	struct wi_err err = { 0 };
	const char *asked[] = { "latency.wakeup.p99_ns", "nothing.there" };

	(void)state;
	assert_true(wi_select_runs(store, NULL, &runs, &err));
	assert_true(wi_select_values(store, &runs, "latency.wakeup.p99_ns", v, &err));
	assert_true(wi_select_table(store, &runs, &(struct wi_texts){ asked, 2 }, table, &err));
	for (size_t i = 0; i < NR; i++) {
		uint64_t n = runs.run[i].size_bytes;

		assert_true(n == 3 ? isnan(v[i]) : v[i] == (double)n * 1.5);
		assert_true(n == 3 ? isnan(table[i]) : table[i] == v[i]);
		assert_true(isnan(table[NR + i]));
	}
	assert_true(wi_select_values(store, &runs, "nothing.there", v, &err));
	assert_true(isnan(v[0]) && isnan(v[NR - 1]));
	assert_true(wi_select_metrics(store, &runs, NULL, &paths, &err));
	assert_int_equal(paths.nr, 1);
	assert_string_equal(paths.text[0], "latency.wakeup.p99_ns");
	wi_texts_fini(&paths);
	assert_true(wi_select_metrics(store, &runs, "missed*", &paths, &err));
	assert_int_equal(paths.nr, 0);
	wi_texts_fini(&paths);
	assert_true(wi_select_hists(store, &runs, "latency.*", &paths, &err));
	assert_int_equal(paths.nr, 1);
	assert_string_equal(paths.text[0], "latency.wakeup");
	wi_texts_fini(&paths);
	wi_runs_fini(&runs);
	store_close(store);
}

static void histograms_add_up(void **state)
{
	struct wi_store *store = make(mixed);
	struct wi_hist sum = { 0 }, expected = { 0 };
	struct wi_runs runs;
	struct wi_err err = { 0 };
	bool found;

	(void)state;
	for (uint64_t n = 0; n < NR; n++)
		for (uint64_t i = 0; i < n; i++)
			assert_true(wi_hist_add(&expected, 1000 * i));
	assert_true(wi_select_runs(store, NULL, &runs, &err));
	for (size_t i = 0; i < NR; i++) {
		struct wi_hist h;

		assert_true(wi_select_hist(store, &runs.run[i], "latency.wakeup", &h, &found, &err));
		assert_true(found);
		assert_int_equal(h.count, runs.run[i].size_bytes);
		assert_true(wi_hist_merge(&sum, &h));
		wi_hist_fini(&h);
		assert_true(wi_select_hist(store, &runs.run[i], "latency.transit", &h, &found, &err));
		assert_false(found);
	}
	assert_int_equal(sum.count, expected.count);
	assert_int_equal(sum.sum_ns, expected.sum_ns);
	assert_int_equal(sum.max_ns, expected.max_ns);
	for (uint32_t i = 0; i < sum.nr && i < expected.nr; i++)
		assert_int_equal(sum.bucket[i], expected.bucket[i]);
	wi_hist_fini(&sum);
	wi_hist_fini(&expected);
	wi_runs_fini(&runs);
	store_close(store);
}

static void one_trace_twice(void **state)
{
	struct wi_store *store = make(mixed);
	struct wi_bundle b;
	struct wi_runs runs;
	struct wi_err err = { 0 };

	(void)state;
	store_plain(&b, 2, "again", "{\"m\":1}", "a", 1);
	store_put(store, &b, WI_PUT_MERGE);
	assert_true(wi_select_runs(store, NULL, &runs, &err));
	assert_int_equal(runs.nr, NR + 1);
	size_t at = wi_runs_twice(&runs);

	assert_true(at < runs.nr && runs.run[at].size_bytes == 2);
	wi_runs_fini(&runs);
	store_close(store);
}

static void names_that_were_meant(void **state)
{
	struct wi_store *store = make(rising);
	char *name = wi_select_nearest(store, "latency.wakup.p99_ns", false);

	(void)state;
	assert_string_equal(name, "latency.wakeup.p99_ns");
	free(name);
	name = wi_select_nearest(store, "latency.wakeu", true);
	assert_string_equal(name, "latency.wakeup");
	free(name);
	assert_null(wi_select_nearest(store, "x", false));
	store_close(store);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(selectors),
		cmocka_unit_test(selectors_that_are_none),
		cmocka_unit_test(runs_in_an_order_of_their_own),
		cmocka_unit_test(values_of_keys),
		cmocka_unit_test(figures),
		cmocka_unit_test(histograms_add_up),
		cmocka_unit_test(one_trace_twice),
		cmocka_unit_test(names_that_were_meant),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
