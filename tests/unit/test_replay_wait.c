/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Estimated waits, end by end, worked out by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analyzer/replay/wait.h"

struct log {
	char text[1024];
};

static void note_end(void *ctx, uint64_t models, enum wi_wait_end how, uint64_t ns)
{
	static const char *const name[] = { "over", "unknown", "censored", "dropped" };
	struct log *l = ctx;
	size_t at = strlen(l->text);

	snprintf(l->text + at, sizeof(l->text) - at, "%s%llx %s %llu", at ? "; " : "", (unsigned long long)models, name[how],
		 (unsigned long long)ns);
}

struct bench {
	struct wi_waits w;
	struct log log;
};

static struct bench *begin(void)
{
	struct bench *b = calloc(1, sizeof(*b));

	assert_non_null(b);
	assert_true(wi_waits_init(&b->w, 4));
	b->w.end = note_end;
	b->w.ctx = &b->log;
	return b;
}

static void end(struct bench *b, const char *expected)
{
	wi_waits_finish(&b->w);
	assert_false(b->w.failed);
	assert_string_equal(b->log.text, expected);
	wi_waits_fini(&b->w);
	free(b);
}

static void tell(struct bench *b, uint64_t ns, enum wakeif_event_type type, uint32_t task, uint32_t cpu)
{
	struct wakeif_happening h = { .size = sizeof(h), .type = (uint8_t)type, .now_ns = ns, .task = task, .cpu = cpu };

	wi_waits_happened(&b->w, &h);
}

/* A runs, B waits; both must have been switched out. C comes later and does not count. */
static void all_switched_out(void **state)
{
	struct bench *b = begin();

	(void)state;
	tell(b, 10, WAKEIF_TASK_ENQUEUED, 10, 1);
	tell(b, 10, WAKEIF_TASK_RUNS, 10, 1);
	tell(b, 20, WAKEIF_TASK_ENQUEUED, 11, 1);
	wi_waits_add(&b->w, 100, 1, false, 5);
	tell(b, 110, WAKEIF_TASK_ENQUEUED, 12, 1);
	tell(b, 200, WAKEIF_TASK_PREEMPTED, 10, 1);
	assert_string_equal(b->log.text, "");
	tell(b, 200, WAKEIF_TASK_RUNS, 11, 1);
	tell(b, 350, WAKEIF_TASK_SLEEPS, 11, 1);
	end(b, "5 over 250");
}

static void idle_first(void **state)
{
	struct bench *b = begin();

	(void)state;
	tell(b, 10, WAKEIF_TASK_ENQUEUED, 10, 1);
	wi_waits_add(&b->w, 100, 1, false, 1);
	wi_waits_add(&b->w, 120, 1, false, 2);
	wi_waits_add(&b->w, 120, 2, false, 4); /* another CPU */
	tell(b, 300, WAKEIF_TASK_SLEEPS, 10, 1);
	assert_string_equal(b->log.text, ""); /* the queue is empty: whether the CPU idles is told next */
	wi_waits_cpu_idle(&b->w, 300, 1);
	end(b, "1 over 200; 2 over 180; 4 censored 0");
}

/* Who waits is waited for although it leaves by migration; where it goes it joins behind. */
static void moved_away(void **state)
{
	struct bench *b = begin();

	(void)state;
	tell(b, 10, WAKEIF_TASK_ENQUEUED, 10, 1);
	tell(b, 20, WAKEIF_TASK_ENQUEUED, 11, 1);
	tell(b, 30, WAKEIF_TASK_ENQUEUED, 12, 2);
	wi_waits_add(&b->w, 100, 1, false, 1);
	wi_waits_add(&b->w, 100, 2, false, 2);
	tell(b, 150, WAKEIF_TASK_MOVED, 11, 2);
	tell(b, 160, WAKEIF_TASK_ENQUEUED, 13, 1);
	assert_string_equal(b->log.text, "");
	tell(b, 200, WAKEIF_TASK_PREEMPTED, 10, 1); /* 10 goes behind 13: all who were there have been out */
	tell(b, 260, WAKEIF_TASK_SLEEPS, 12, 2);    /* 11 came to CPU 2 later */
	end(b, "1 over 100; 2 over 160");
}

/* A wakee on its way there is waited for, too. */
static void one_on_its_way(void **state)
{
	struct bench *b = begin();

	(void)state;
	wi_waits_add(&b->w, 100, 1, true, 1);
	tell(b, 110, WAKEIF_TASK_ENQUEUED, 10, 1);
	assert_string_equal(b->log.text, "");
	tell(b, 120, WAKEIF_TASK_ENQUEUED, 11, 1);
	tell(b, 200, WAKEIF_TASK_PREEMPTED, 10, 1);
	end(b, "1 over 100");
}

static void cpu_lost(void **state)
{
	struct bench *b = begin();

	(void)state;
	tell(b, 10, WAKEIF_TASK_ENQUEUED, 10, 1);
	wi_waits_add(&b->w, 100, 1, false, 1);
	tell(b, 150, WAKEIF_CPU_LOST, 1, 1);
	tell(b, 150, WAKEIF_TASK_LOST, 10, 1);
	end(b, "1 unknown 50");
}

/* A moved task that is not queued (asleep) changes no queue; a slot is reused after its task ended. */
static void not_queued(void **state)
{
	struct bench *b = begin();

	(void)state;
	tell(b, 10, WAKEIF_TASK_ENQUEUED, 10, 1);
	wi_waits_add(&b->w, 100, 1, false, 1);
	tell(b, 110, WAKEIF_TASK_MOVED, 11, 1);
	tell(b, 120, WAKEIF_TASK_ENDED, 10, 1);
	tell(b, 130, WAKEIF_TASK_ENQUEUED, 10, 1);
	end(b, "1 over 30");
}

static uint64_t nr_ended[4];

static void count_end(void *ctx, uint64_t models, enum wi_wait_end how, uint64_t ns)
{
	(void)ctx;
	(void)models;
	(void)ns;
	nr_ended[how]++;
}

static void bounded(void **state)
{
	struct bench *b = begin();

	(void)state;
	b->w.end = count_end;
	tell(b, 10, WAKEIF_TASK_ENQUEUED, 10, 1);
	for (uint64_t i = 0; i < WI_WAITS_PER_CPU + 1000u; i++)
		wi_waits_add(&b->w, 100 + i, 1, false, 1);
	assert_int_equal(nr_ended[WI_WAIT_DROPPED], 1000);
	assert_true(b->w.nr_waits <= WI_WAITS_PER_CPU);
	tell(b, 1000000, WAKEIF_TASK_PREEMPTED, 10, 1);
	assert_int_equal(nr_ended[WI_WAIT_OVER], WI_WAITS_PER_CPU);
	end(b, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_switched_out), cmocka_unit_test(idle_first), cmocka_unit_test(moved_away),
		cmocka_unit_test(one_on_its_way),   cmocka_unit_test(cpu_lost),	  cmocka_unit_test(not_queued),
		cmocka_unit_test(bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
