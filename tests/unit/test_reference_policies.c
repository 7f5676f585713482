/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The baselines on hand-made machine states; machine: 2 nodes of 1 LLC of 2 cores of 2 threads: cores 0-1 2-3 | 4-5 6-7. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "models/registry.h"
#include "tests/unit/model_fixture.h"
#include "tests/unit/tl_fixture.h"

static const struct model_case cases[] = {
	{ "prev", "prev=3 waker=0 idle=0-2", "3 stay" },
	{ "waker", "prev=3 waker=0", "0 waker" },
	{ "waker", "prev=3 waker=0 allowed=2-3", "3 stay" },

	{ "prev-idle", "prev=3 waker=0 idle=3,0", "3 prev" },
	{ "prev-idle", "prev=3 waker=0 idle=0-2", "0 scan" },	 /* from 3 on, wrapping within the LLC 0-3 */
	{ "prev-idle", "prev=1 waker=0 idle=2-7", "2 scan" },	 /* 2 is the next one */
	{ "prev-idle", "prev=1 waker=0 idle=4-7", "4 scan" },	 /* nothing in the LLC: the machine */
	{ "prev-idle", "prev=6 waker=0 idle=0,5", "5 scan" },	 /* own LLC before a nearer number */
	{ "prev-idle", "prev=1 waker=0", "1 stay" },
	{ "prev-idle", "prev=1 waker=0 idle=1-7 allowed=6", "6 scan" },
	{ "prev-idle", "prev=1 waker=0 unknown=0-7", "1 stay" }, /* unknown is not idle */

	{ "least-loaded", "prev=1 waker=0 nr=0:3,1:2,2:2,3:2,4:1,5:1,6:2,7:3", "4 least-loaded" },
	{ "least-loaded", "prev=6 waker=0 nr=0:1,1:2,2:2,3:2,4:1,5:2,6:2,7:3", "4 least-loaded" }, /* tie 0, 4: prev's LLC */
	{ "least-loaded", "prev=6 waker=0 nr=0:1,1:2,2:2,3:2,4:1,5:2,6:1,7:3", "6 least-loaded" }, /* tie: prev */
	{ "least-loaded", "prev=6 waker=0 nr=0:2,1:1,2:2,3:1,4:3,5:2,6:2,7:3", "1 least-loaded" }, /* tie 1, 3: first from 6 on */
	{ "least-loaded", "prev=1 waker=0 nr=0:0,1:2,2:2,3:2 unknown=0 allowed=0-3", "1 least-loaded" },
	{ "least-loaded,by=load", "prev=1 waker=0 load=0:900,1:700,2:100,3:800 allowed=0-3", "2 least-loaded" },

	{ "idle-core-first", "prev=1 waker=0 idle=0-1,2-3", "1 prev" },
	{ "idle-core-first", "prev=1 waker=0 idle=1-3", "2 core" },	/* prev idle, but its core is not */
	{ "idle-core-first", "prev=1 waker=0 idle=1,6-7", "6 core" },	/* a core of another LLC before a half-busy one */
	{ "idle-core-first", "prev=1 waker=0 idle=1,2,6", "1 prev" },
	{ "idle-core-first", "prev=1 waker=0 idle=3,6", "3 scan" },
	{ "idle-core-first", "prev=1 waker=0 idle=6", "6 scan" },
	{ "idle-core-first", "prev=1 waker=0", "1 stay" },
	{ "idle-core-first", "prev=1 waker=0 idle=2-3 allowed=1,3", "3 core" }, /* the sibling need not be allowed */

	{ "llc-only", "prev=1 waker=4 idle=4-7", "1 least-loaded" },	/* idle cores elsewhere do not count */
	{ "llc-only", "prev=1 waker=4 idle=2-7", "2 core" },
	{ "llc-only", "prev=1 waker=4 idle=0,6-7", "0 scan" },
	{ "llc-only", "prev=1 waker=4 idle=4-7 nr=0:3,1:2,2:1,3:1", "2 least-loaded" },

	{ "waker-llc", "prev=1 waker=4 idle=0-3,6-7", "6 core" },
	{ "waker-llc", "prev=1 waker=2 idle=0-1", "1 target" },		/* same LLC: prev stays home */
	{ "waker-llc", "prev=1 waker=5 idle=0-3", "4 least-loaded" },	/* a tie of 4-7: the first from prev on */

	{ "pack", "prev=7 waker=0 idle=1,4-7", "1 pack" },
	{ "pack", "prev=7 waker=0 idle=2-7", "2 scan" },		/* core 0 is full, no half-busy core */
	{ "pack", "prev=7 waker=0 idle=0-3,5-7", "5 pack" },
	{ "pack", "prev=7 waker=0 idle=0,2-3,5-7 unknown=1", "5 pack" }, /* beside an unknown CPU is not beside a busy one */
	{ "pack", "prev=7 waker=0", "7 stay" },

	{ "oldest-idle", "prev=1 waker=0 idle=1,2-3 since=1:900,2:100,3:50", "1 prev" },
	{ "oldest-idle", "prev=1 waker=0 idle=2-3,7 since=2:100,3:50,7:70", "3 oldest-idle" },
	{ "oldest-idle", "prev=1 waker=0 idle=2-3 since=2:50,3:50", "2 oldest-idle" },
	{ "oldest-idle", "prev=1 waker=0", "1 stay" },
};

static void by_hand(void **state)
{
	struct wakeif_topology *topo = tl_fixture_topology(2, 1, 2, 2);

	(void)state;
	model_expect_all(topo, cases, sizeof(cases) / sizeof(*cases));
	tl_fixture_topology_free(topo);
}

/* Every idle CPU is drawn about as often as any other, none that is busy is, and a seed repeats itself. */
static void random_idle(void **state)
{
	struct wakeif_topology *topo = tl_fixture_topology(2, 1, 2, 2);
	struct model_fixture *f = model_fixture_new(topo, "random-idle"), *g = model_fixture_new(topo, "random-idle");
	int drawn[8] = { 0 };

	(void)state;
	for (int i = 0; i < 3000; i++) {
		struct wakeif_choice a = model_fixture_ask(f, "prev=0 waker=1 idle=2,5,7"), b = model_fixture_ask(g, "prev=0 waker=1 idle=2,5,7");

		assert_int_equal(a.cpu, b.cpu);
		assert_true(a.cpu < 8);
		drawn[a.cpu]++;
	}
	for (int c = 0; c < 8; c++) {
		bool idle = c == 2 || c == 5 || c == 7;

		assert_true(idle ? drawn[c] > 900 && drawn[c] < 1100 : !drawn[c]);
	}
	assert_int_equal(model_fixture_ask(f, "prev=0 waker=1 allowed=4").cpu, 4); /* nothing idle: any allowed one */
	model_fixture_free(f);
	model_fixture_free(g);
	tl_fixture_topology_free(topo);
}

/* An allowed idle CPU is never passed over for a busy one; the answer is allowed. States by lot. */
static void idle_core_first_never_queues(void **state)
{
	struct wakeif_topology *topo = tl_fixture_topology(2, 2, 3, 2);
	struct model_fixture *f = model_fixture_new(topo, "idle-core-first");
	unsigned seed = 7;

	(void)state;
	for (int n = 0; n < 5000; n++) {
		char text[200], *p = text;
		uint32_t idle = 0, allowed = 0;

		for (int c = 0; c < 24; c++) {
			idle |= (uint32_t)(rand_r(&seed) % 4 == 0) << c;
			allowed |= (uint32_t)(rand_r(&seed) % 3 == 0) << c;
		}
		allowed |= 1u << (rand_r(&seed) % 24);
		p += sprintf(p, "prev=%d waker=%d recorded idle=", __builtin_ctz(allowed), rand_r(&seed) % 24);
		for (int c = 0; c < 24; c++)
			if (idle >> c & 1)
				p += sprintf(p, "%d,", c);
		p -= p[-1] == ',';
		p += sprintf(p, " allowed=");
		for (int c = 0; c < 24; c++)
			if (allowed >> c & 1)
				p += sprintf(p, "%d,", c);
		p[-1] = '\0';
		uint32_t cpu = model_fixture_ask(f, text).cpu;

		if (!(allowed >> cpu & 1) || ((idle & allowed) && !(idle >> cpu & 1)))
			fail_msg("%s: %u", text, cpu);
	}
	model_fixture_free(f);
	tl_fixture_topology_free(topo);
}

static void registry(void **state)
{
	const struct wakeif_model_ops *const *ops;
	const char *like[3];
	size_t nr;

	(void)state;
	ops = wi_models(&nr);
	for (size_t i = 0; i < nr; i++) {
		struct wi_err err = { 0 };

		if (!wi_model_ops_check(ops[i], "built in", &err))
			fail_msg("%s", err.msg);
		assert_ptr_equal(wi_model_find(ops[i]->name), ops[i]); /* names are unique */
	}
	assert_null(wi_model_find("nothing"));
	assert_int_equal(wi_edit_distance("abcd", "abdc"), 1);
	assert_int_equal(wi_edit_distance("", "abc"), 3);
	assert_int_equal(wi_edit_distance("kitten", "sitting"), 3);
	assert_true(wi_models_like("idle-core-frist", like, 3) >= 1);
	assert_string_equal(like[0], "idle-core-first");
	assert_int_equal(wi_models_like("zzzzzzzzz", like, 3), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(by_hand),
		cmocka_unit_test(random_idle),
		cmocka_unit_test(idle_core_first_never_queues),
		cmocka_unit_test(registry),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
