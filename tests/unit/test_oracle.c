/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Hindsight on hand-made traces; the gap from waking to decision is 10 ns. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "models/params.h"
#include "tests/unit/replay_fixture.h"

static struct wi_replay_results *ask(struct wakeif_topology *topo, const char *spec, const char *events)
{
	struct tl_fixture_opts tl = { .topology = topo, .kernel_version = 6 << 16 | 1 << 8 };
	struct wi_model_spec parsed;
	struct wi_err err = { 0 };
	size_t at;

	if (!wi_model_spec_parse(spec, &parsed, &at, &err))
		fail_msg("%s", err.msg);
	struct wi_replay_model model = { .ops = parsed.ops, .values = parsed.values, .label = parsed.label, .params = parsed.params };
	struct wi_replay_opts opts = { .models = &model, .nr_models = 1, .sync = WI_SYNC_NEVER };
	struct wi_replay_results *r = rx_run(&tl, &opts, events);

	wi_model_spec_fini(&parsed);
	assert_int_equal(r->decided, 1);
	assert_int_equal(r->model[1].select.decided, 1);
	return r;
}

static void expect(struct wakeif_topology *topo, const char *spec, const char *events, bool agrees, uint64_t wait_ns)
{
	struct wi_replay_results *r = ask(topo, spec, events);
	const struct wi_model_results *m = &r->model[1];

	assert_int_equal(m->select.cpu, agrees);
	assert_int_equal(m->disagree[WI_REASON_HINDSIGHT], !agrees);
	assert_int_equal(m->rule[WAKEIF_RULE_HINDSIGHT].answers, 1);
	assert_int_equal(m->est_wait.wait.count, 1);
	assert_int_equal(m->est_wait.wait.max_ns, wait_ns);
	wi_replay_results_free(r);
}

/* Two CPUs, both busy; the kernel leaves 200 on CPU 1, where 300 runs for another 100 us. */
#define TWO_BUSY                           \
	"1000000 0 100 other\n"            \
	"1000000 1 200 switch S 300\n"     \
	"2000000 0 100 waking 200 1\n"     \
	"2000500 0 100 wakeup 200 1\n"

static void first_to_run(void **state)
{
	struct wakeif_topology *topo = tl_fixture_topology(1, 1, 2, 1);

	(void)state;
	expect(topo, "oracle-lat", TWO_BUSY "2100000 1 300 switch S 200\n2300000 0 100 switch S 0\n", true, 99990);
	/* CPU 0 is free sooner. */
	expect(topo, "oracle-lat", TWO_BUSY "2050000 0 100 switch S 0\n2100000 1 300 switch S 200\n", false, 49990);
	/* A third task takes its turn on CPU 0 before: 100 was switched out once, so 200 would have run at 2050000 as well. */
	expect(topo, "oracle-lat", TWO_BUSY "2050000 0 100 switch R 0\n2100000 1 300 switch S 200\n", false, 49990);
	tl_fixture_topology_free(topo);
}

/* An idle CPU needs no hindsight; nothing shows until the end: censored. */
static void at_once_and_never(void **state)
{
	struct wakeif_topology *topo = tl_fixture_topology(1, 1, 2, 1);
	struct wi_replay_results *r;

	(void)state;
	expect(topo, "oracle-lat", "1000000 0 100 other\n1000000 1 200 switch S 0\n2000000 0 100 waking 200 1\n2000500 1 0 wakeup 200 1\n", true, 0);
	r = ask(topo, "oracle-lat", TWO_BUSY "2001000 0 100 other\n");
	assert_int_equal(r->model[1].est_wait.censored, 1);
	assert_int_equal(r->model[1].est_wait.wait.count, 0);
	assert_int_equal(r->model[1].select.cpu, 1); /* no better one was seen: the previous CPU */
	wi_replay_results_free(r);
	tl_fixture_topology_free(topo);
}

/*
 * Cores 0-1 and 2-3; 100 runs on 0, 300 on 2. On CPU 1 the wakee would run at once, beside 100, at 0.62 of its speed; on CPU
 * 2 alone, 99990 ns later. It runs for n ns: n / 0.62 < 99990 + n up to n = 163141.
 */
#define HALF_BUSY                          \
	"1000000 0 100 other\n"            \
	"1000000 2 300 other\n"            \
	"1000000 1 200 switch S 0\n"       \
	"2000000 0 100 waking 200 1\n"     \
	"2000500 1 0 wakeup 200 1\n"       \
	"2001000 1 0 switch R 200\n"       \
	"2100000 2 300 switch S 0\n"

static void first_to_finish(void **state)
{
	struct wakeif_topology *topo = tl_fixture_topology(1, 1, 2, 2);

	(void)state;
	expect(topo, "oracle-smt", HALF_BUSY "2161000 1 200 switch S 0\n9000000 0 100 other\n", true, 0);
	expect(topo, "oracle-smt", HALF_BUSY "2401000 1 200 switch S 0\n9000000 0 100 other\n", false, 99990);
	/* At full speed beside a sibling nothing is gained by waiting. */
	expect(topo, "oracle-smt,speed=100", HALF_BUSY "2401000 1 200 switch S 0\n9000000 0 100 other\n", true, 0);
	tl_fixture_topology_free(topo);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(first_to_run), cmocka_unit_test(at_once_and_never), cmocka_unit_test(first_to_finish) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
