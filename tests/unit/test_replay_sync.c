/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The table of learned WF_SYNC: folds, majorities, what decides where the pair is not known. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "analyzer/replay/sync.h"

static const struct wi_sync_key ab = { 1, 2, WAKEIF_CTX_TASK }, ba = { 2, 1, WAKEIF_CTX_TASK }, irq = { 1, 2, WAKEIF_CTX_HARDIRQ },
				cd = { 3, 4, WAKEIF_CTX_TASK };

static bool ask(const struct wi_sync_table *t, const struct wi_sync_key *k, uint64_t decision, enum wi_sync_source expected)
{
	enum wi_sync_source source;
	bool set = wi_sync_ask(t, k, decision, &source);

	assert_int_equal(source, expected);
	return set;
}

static void judged_by_the_other_fold(void **state)
{
	struct wi_sync_table *t = wi_sync_table_new();

	(void)state;
	assert_non_null(t);
	assert_false(ask(t, &ab, 0, WI_SYNC_BY_DEFAULT));
	assert_true(wi_sync_vote(t, &ab, 0, true));
	assert_false(ask(t, &ab, 0, WI_SYNC_BY_DEFAULT)); /* an even one does not hear even ones */
	assert_false(ask(t, &ab, 2, WI_SYNC_BY_DEFAULT));
	assert_true(ask(t, &ab, 1, WI_SYNC_BY_PAIR));
	assert_true(wi_sync_vote(t, &ab, 3, false));
	assert_false(ask(t, &ab, 0, WI_SYNC_BY_PAIR));
	assert_true(ask(t, &ab, 1, WI_SYNC_BY_PAIR));
	wi_sync_table_free(t);
}

static void pair_then_context_then_all(void **state)
{
	struct wi_sync_table *t = wi_sync_table_new();

	(void)state;
	for (uint64_t i = 0; i < 10; i++)
		assert_true(wi_sync_vote(t, &ab, 2 * i, true));
	for (uint64_t i = 0; i < 4; i++)
		assert_true(wi_sync_vote(t, &ba, 2 * i, false));
	for (uint64_t i = 0; i < 20; i++)
		assert_true(wi_sync_vote(t, &irq, 2 * i, false));
	assert_true(ask(t, &ab, 1, WI_SYNC_BY_PAIR));
	assert_false(ask(t, &ba, 1, WI_SYNC_BY_PAIR));
	assert_false(ask(t, &irq, 1, WI_SYNC_BY_PAIR));
	assert_true(ask(t, &cd, 1, WI_SYNC_BY_CONTEXT)); /* task context: 10 to 4 */
	assert_false(ask(t, &(struct wi_sync_key){ 3, 4, WAKEIF_CTX_IDLE }, 1, WI_SYNC_BY_DEFAULT)); /* 10 to 24 */
	/* a tie tells nothing */
	assert_true(wi_sync_vote(t, &cd, 0, false));
	assert_true(wi_sync_vote(t, &cd, 2, true));
	assert_true(ask(t, &cd, 1, WI_SYNC_BY_CONTEXT));
	struct wi_sync_totals n = wi_sync_totals(t);
	assert_int_equal(n.pairs, 4);
	assert_int_equal(n.votes, 36);
	assert_int_equal(n.votes_set, 11);
	wi_sync_table_free(t);
}

static void many_pairs(void **state)
{
	struct wi_sync_table *t = wi_sync_table_new();

	(void)state;
	for (uint32_t i = 0; i < 5000; i++)
		assert_true(wi_sync_vote(t, &(struct wi_sync_key){ i, i * 7, WAKEIF_CTX_TASK }, 0, i % 3 == 0));
	for (uint32_t i = 0; i < 5000; i++)
		assert_int_equal(ask(t, &(struct wi_sync_key){ i, i * 7, WAKEIF_CTX_TASK }, 1, WI_SYNC_BY_PAIR), i % 3 == 0);
	wi_sync_table_free(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(judged_by_the_other_fold), cmocka_unit_test(pair_then_context_then_all),
					    cmocka_unit_test(many_pairs) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
