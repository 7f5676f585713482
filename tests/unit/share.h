/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How much of a long test is done: tests/run.py sets WAKEIF_TEST_SHARE to a percentage for the sanitized programs, which
 * are slow and repeat what the plain ones do in full. Without it: all.
 */
#ifndef TESTS_UNIT_SHARE_H
#define TESTS_UNIT_SHARE_H

#include <stdlib.h>

static inline unsigned int test_share_percent(void)
{
	const char *text = getenv("WAKEIF_TEST_SHARE");
	int percent = text ? atoi(text) : 100;

	return percent < 1 ? 1 : percent > 100 ? 100 : (unsigned int)percent;
}

/* Rounds to do of n: at least one. */
static inline unsigned int test_share(unsigned int n)
{
	unsigned int part = (unsigned int)((unsigned long long)n * test_share_percent() / 100);

	return part ? part : n ? 1 : 0;
}

/* Every how many-th element of a list to do. */
static inline unsigned int test_share_step(void)
{
	return 100 / test_share_percent();
}

#endif
