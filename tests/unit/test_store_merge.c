/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Merging: whatever the order and the grouping, the same rows. What is expected is worked out here a second time, from
 * the bundles themselves: the best bundle of each trace and analysis, the union of paths and tags.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "share.h"
#include "store_fixture.h"

#define NR 14
#define NR_TRACES 3

struct shards {
	char *folder;
	uint64_t seed;
	uint32_t next; /* number of the next file */
};

static void name(const struct shards *s, char path[256], uint32_t n)
{
	snprintf(path, 256, "%s/%u.db", s->folder, n);
}

/* A new database out of two, merged in this order; a, b and the same one twice. */
static uint32_t merged(struct shards *s, uint32_t a, uint32_t b, bool twice)
{
	char path[256], from[256];
	struct wi_err err = { 0 };
	struct wi_merge_count count;
	struct wi_store *store;

	name(s, path, s->next);
	store = store_open(path, WI_STORE_CREATE);
	assert_true(wi_store_begin(store, &err));
	for (int i = 0; i < 2 + twice; i++) {
		name(s, from, i == 1 ? b : a);
		if (!wi_store_merge(store, from, &count, &err))
			fail_msg("%s", err.msg);
		assert_int_equal(count.runs, count.added + count.better + count.dropped);
		if (i == 2)
			assert_int_equal(count.added + count.better, 0);
	}
	assert_true(wi_store_commit(store, &err));
	store_close(store);
	return s->next++;
}

/* Merges the databases first .. first + nr - 1 two at a time in a random tree; returns the one that is left. */
static uint32_t merge_all(struct shards *s, uint32_t first, uint32_t nr)
{
	uint32_t left[NR];

	for (uint32_t i = 0; i < nr; i++)
		left[i] = first + i;
	while (nr > 1) {
		uint32_t a = store_below(&s->seed, nr), b = store_below(&s->seed, nr - 1);

		b += b >= a;
		uint32_t both = merged(s, left[a], left[b], !store_below(&s->seed, 3));

		left[a < b ? a : b] = both;
		left[a < b ? b : a] = left[--nr];
	}
	return left[0];
}

static void any_order_and_grouping(void **state)
{
	(void)state;
	for (uint32_t round = 0; round < test_share(6); round++) {
		struct shards s = { .folder = store_folder(), .seed = round * 77 + 1 };
		char *expected = NULL, path[256];

		for (; s.next < NR; s.next++) {
			struct wi_bundle b;

			name(&s, path, s.next);
			struct wi_store *store = store_open(path, WI_STORE_CREATE);

			store_bundle(&b, &s.seed, NR_TRACES);
			store_put(store, &b, WI_PUT_MERGE);
			store_close(store);
		}
		for (uint32_t trial = 0; trial < 4; trial++) {
			name(&s, path, merge_all(&s, 0, NR));
			char *dump = store_dump(path);

			if (!expected)
				expected = strdup(dump);
			assert_string_equal(dump, expected);
			free(dump);
		}
		free(expected);
		store_remove(s.folder);
	}
}

/* Which of two bundles of one analysis stays, by the rule as the header tells it. */
static bool better(const struct wi_bundle *a, const struct wi_bundle *b)
{
	uint8_t da[WI_SHA256_BYTES], db[WI_SHA256_BYTES];
	struct wi_err err = { 0 };

	if (strcmp(a->version, b->version))
		return !strcmp(a->version, "0.10.0");
	if (a->status != b->status)
		return a->status < b->status;
	assert_true(wi_bundle_digest((struct wi_bundle *)a, da, &err) &&
		    wi_bundle_digest((struct wi_bundle *)b, db, &err));
	return memcmp(da, db, sizeof(da)) > 0;
}

static void keeps_the_best_of_each(void **state)
{
	uint64_t seed = 4711;

	(void)state;
	for (uint32_t round = 0; round < test_share(20); round++) {
		char *folder = store_folder(), path[256], best_path[256];
		struct wi_bundle b[NR];
		struct wi_store *all, *best;

		snprintf(path, sizeof(path), "%s/all.db", folder);
		snprintf(best_path, sizeof(best_path), "%s/best.db", folder);
		all = store_open(path, WI_STORE_CREATE);
		best = store_open(best_path, WI_STORE_CREATE);
		for (int i = 0; i < NR; i++) {
			store_bundle(&b[i], &seed, NR_TRACES);
			/* In a batch a path's tags are those that it has now; here they shall not differ. */
			b[i].nr_tags = 0;
			b[i].path = b[i].path ? b[i].path : "p0";
			assert_true(wi_bundle_tag(&b[i], "path", b[i].path, &(struct wi_err){ 0 }));
		}
		for (int i = 0; i < NR; i++) {
			bool beaten = false;
			struct wi_err err = { 0 };

			for (int k = 0; k < NR; k++)
				beaten |= k != i && b[k].size_bytes == b[i].size_bytes &&
					  !strcmp(b[k].analysis, b[i].analysis) && better(&b[k], &b[i]);
			assert_true(wi_store_begin(all, &err) && wi_store_put(all, &b[i], WI_PUT_MERGE, &err) &&
				    wi_store_commit(all, &err));
			if (beaten)
				continue;
			assert_true(wi_store_begin(best, &err) && wi_store_put(best, &b[i], WI_PUT_MERGE, &err) &&
				    wi_store_commit(best, &err));
		}
		for (int i = 0; i < NR; i++) {
			struct wi_err err = { 0 };

			assert_true(wi_store_begin(best, &err) &&
				    wi_store_put_path(best, b[i].sha256, b[i].size_bytes, b[i].path, b[i].tag,
						      b[i].nr_tags, NULL, &err) &&
				    wi_store_commit(best, &err));
			wi_bundle_fini(&b[i]);
		}
		store_close(all);
		store_close(best);
		char *one = store_dump(path), *two = store_dump(best_path);

		assert_string_equal(one, two);
		free(one);
		free(two);
		store_remove(folder);
	}
}

static void a_failed_merge_changes_nothing(void **state)
{
	char *folder = store_folder(), path[256], bad[256];
	struct wi_merge_count count;
	struct wi_err err = { 0 };
	struct wi_bundle b;
	struct wi_store *store;

	(void)state;
	snprintf(path, sizeof(path), "%s/a.db", folder);
	snprintf(bad, sizeof(bad), "%s/b.db", folder);
	store = store_open(bad, WI_STORE_CREATE);
	for (uint32_t n = 0; n < 3; n++) {
		store_plain(&b, n + 10, "x", "{}", "a", n);
		store_put(store, &b, WI_PUT_MERGE);
	}
	store_close(store);
	store_sql(bad, "PRAGMA ignore_check_constraints = ON; UPDATE run SET status = 'fine' WHERE id = 3");
	store = store_open(path, WI_STORE_CREATE);
	store_plain(&b, 1, "x", "{}", "a", 1);
	store_put(store, &b, WI_PUT_MERGE);
	store_close(store);
	char *before = store_dump(path);

	store = store_open(path, WI_STORE_WRITE);
	assert_true(wi_store_begin(store, &err));
	assert_false(wi_store_merge(store, bad, &count, &err));
	assert_int_equal(err.code, WI_EREFUSED);
	assert_non_null(strstr(err.msg, "b.db"));
	wi_store_rollback(store);
	store_close(store);
	char *after = store_dump(path);

	assert_string_equal(before, after);
	free(before);
	free(after);
	store_remove(folder);
}

static void merging_into_itself(void **state)
{
	struct shards s = { .folder = store_folder(), .seed = 3 };
	char path[256];
	struct wi_merge_count count;
	struct wi_err err = { 0 };
	struct wi_bundle b;

	(void)state;
	name(&s, path, 0);
	struct wi_store *store = store_open(path, WI_STORE_CREATE);

	for (int i = 0; i < 5; i++) {
		store_bundle(&b, &s.seed, 2);
		store_put(store, &b, WI_PUT_MERGE);
	}
	store_close(store);
	char *before = store_dump(path);

	store = store_open(path, WI_STORE_WRITE);
	assert_true(wi_store_begin(store, &err) && wi_store_merge(store, path, &count, &err) &&
		    wi_store_commit(store, &err));
	assert_int_equal(count.added + count.better, 0);
	store_close(store);
	char *after = store_dump(path);

	assert_string_equal(before, after);
	free(before);
	free(after);
	store_remove(s.folder);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(any_order_and_grouping),
		cmocka_unit_test(keeps_the_best_of_each),
		cmocka_unit_test(a_failed_merge_changes_nothing),
		cmocka_unit_test(merging_into_itself),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
