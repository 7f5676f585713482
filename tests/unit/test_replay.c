/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The engine on hand-made traces, with models that read their answers from a list. Machine: one LLC, four cores of two
 * threads: 0-1, 2-3, 4-5, 6-7. Task 100 on CPU 0 wakes 200, which slept on CPU 1; the kernel chooses CPU 4.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/replay_fixture.h"

#define HEAD                                                                                                           \
	"1000000 0 100 other\n"                                                                                        \
	"1000000 1 200 switch S 0\n"
#define WAKES                                                                                                          \
	"2000000 0 100 waking 200 1\n"                                                                                 \
	"2000500 0 100 migrate 200 1 4\n"
#define RUNS                                                                                                           \
	"2010000 4 0 wakeup 200 4\n"                                                                                   \
	"2030000 4 0 switch R 200\n"
#define TAIL                                                                                                           \
	"2500500 0 100 switch S 0\n"                                                                                   \
	"9000000 0 0 other\n"

static const wakeif_word all_cpus[] = { 0xff }, core_2[] = { 0x30 };
static const struct wi_task_fact knows_all[] = { { .pid = 100, .policy = 0, .nice = 0, .allowed = all_cpus },
						 { .pid = 200, .policy = 0, .nice = 0, .allowed = all_cpus } };
static const struct wi_task_fact knows_core[] = { { .pid = 100, .policy = 0, .nice = 0, .allowed = all_cpus },
						  { .pid = 200, .policy = 0, .nice = 0, .allowed = core_2 } };

static struct wakeif_topology *machine;

static int make_machine(void **state)
{
	(void)state;
	machine = tl_fixture_topology(1, 1, 4, 2);
	return 0;
}

static int free_machine(void **state)
{
	(void)state;
	tl_fixture_topology_free(machine);
	return 0;
}

static struct tl_fixture_opts known(void)
{
	return (struct tl_fixture_opts){ .topology = machine, .facts = knows_all, .nr_facts = 2, .kernel_version = 6 << 16 | 1 << 8 };
}

/* One scripted model of one choice. */
static struct wi_replay_results *run_one(const struct tl_fixture_opts *tl, struct wakeif_choice choice, const char *events)
{
	struct rx_script script = { .choice = &choice, .nr = 1 };
	struct wi_replay_model model = rx_scripted(&script, "m");
	struct wi_replay_opts opts = { .models = &model, .nr_models = 1, .sync = WI_SYNC_NEVER };
	struct wi_replay_results *r = rx_run(tl, &opts, events);

	assert_int_equal(script.asked, 1);
	assert_true(script.happenings > 0);
	return r;
}

static void expect_agreement(const struct wi_agreement *a, uint64_t decided, uint64_t cpu, uint64_t core, uint64_t llc, uint64_t busy)
{
	assert_int_equal(a->decided, decided);
	assert_int_equal(a->cpu, cpu);
	assert_int_equal(a->core, core);
	assert_int_equal(a->llc, llc);
	assert_int_equal(a->busy, busy);
}

/* A says what the kernel did, B the sibling of that CPU, C the waker's CPU, which is busy until 2500500. */
static void agreement_and_meaning(void **state)
{
	struct wakeif_choice choice[3] = { { .cpu = 4, .rule = WAKEIF_RULE_IDLE_CORE, .target = 1, .examined = 4,
					     .flags = WAKEIF_CHOICE_SEARCHED | WAKEIF_CHOICE_WANTED_CORE },
					   { .cpu = 5, .rule = WAKEIF_RULE_IDLE_CPU, .target = 1, .examined = 6, .flags = WAKEIF_CHOICE_SEARCHED },
					   { .cpu = 0, .rule = WAKEIF_RULE_WAKER, .target = WAKEIF_CPU_NONE, .affine = WAKEIF_AFFINE_SYNC } };
	struct rx_script script[3];
	struct wi_replay_model models[3];
	struct tl_fixture_opts tl = known();

	(void)state;
	for (int i = 0; i < 3; i++) {
		script[i] = (struct rx_script){ .choice = &choice[i], .nr = 1 };
		models[i] = rx_scripted(&script[i], (const char *[]){ "A", "B", "C" }[i]);
	}
	struct wi_replay_opts opts = { .models = models, .nr_models = 3, .sync = WI_SYNC_NEVER };
	struct wi_replay_results *r = rx_run(&tl, &opts, HEAD WAKES RUNS TAIL);
	assert_int_equal(r->nr_models, 4);
	assert_int_equal(r->decided, 1);
	assert_int_equal(r->by_class[WAKEIF_SELECT], 1);
	assert_int_equal(r->allowed[WAKEIF_ALLOWED_RECORDED], 1);
	const struct wi_model_results *h = &r->model[0], *a = &r->model[1], *b = &r->model[2], *c = &r->model[3];
	expect_agreement(&h->select, 1, 1, 1, 1, 1);
	expect_agreement(&a->select, 1, 1, 1, 1, 1);
	expect_agreement(&b->select, 1, 0, 1, 1, 1);
	expect_agreement(&c->select, 1, 0, 0, 1, 0);
	assert_int_equal(a->rule[WAKEIF_RULE_IDLE_CORE].agree, 1);
	assert_int_equal(b->rule[WAKEIF_RULE_IDLE_CPU].answers, 1);
	assert_int_equal(b->rule[WAKEIF_RULE_IDLE_CPU].agree, 0);
	assert_int_equal(c->affine[WAKEIF_AFFINE_SYNC].answers, 1);
	/* CPU 0's sibling idles, and so do whole cores of its LLC; 100 alone runs there: not stacked */
	assert_int_equal(a->missed.chosen_idle, 1);
	assert_int_equal(c->missed.queued_on_busy, 1);
	assert_int_equal(c->missed.row[WI_MISSED_SIBLING], 1);
	assert_int_equal(c->missed.queued_while_idle_core[WI_WIDE_LLC], 1);
	assert_int_equal(c->missed.stacked_on_waker, 0);
	assert_int_equal(a->missed.prev_idle_elsewhere, 1); /* CPU 1 idled */
	assert_int_equal(h->moves[WI_DIST_LLC], 1);
	assert_int_equal(c->moves[WI_DIST_CORE], 1);
	assert_int_equal(a->est_wait.wait.count, 1);
	assert_int_equal(a->est_wait.wait.max_ns, 0);
	assert_int_equal(c->est_wait.wait.count, 1);
	assert_int_equal(c->est_wait.wait.max_ns, 500000);
	assert_int_equal(h->real_wait.count, 1);
	assert_int_equal(h->real_wait.max_ns, 20000);
	/* searches: one CPU of eight is busy */
	assert_int_equal(a->search.all.tries, 1);
	assert_int_equal(a->search.core_wanted, 1);
	assert_int_equal(a->search.core_found, 1);
	assert_int_equal(a->search.by_load[1].examined, 4);
	assert_int_equal(b->search.all.found, 1);
	assert_int_equal(c->search.all.tries, 0);
	assert_int_equal(b->disagree[WI_REASON_OTHER], 1);
	assert_int_equal(c->disagree[WI_REASON_OTHER], 1);
	wi_replay_results_free(r);
}

/* ---- reasons ---- */

static void expect_reason(const struct tl_fixture_opts *tl, struct wakeif_choice choice, const char *events, enum wi_reason reason)
{
	struct wi_replay_results *r = run_one(tl, choice, events);

	for (int k = 0; k < WI_NR_REASONS; k++)
		if (r->model[1].disagree[k] != (k == (int)reason))
			fail_msg("%s: %d, expected %s", wi_reason_name((enum wi_reason)k), (int)r->model[1].disagree[k], wi_reason_name(reason));
	wi_replay_results_free(r);
}

static const struct wakeif_choice says_5 = { .cpu = 5, .rule = WAKEIF_RULE_IDLE_CPU, .target = WAKEIF_CPU_NONE };

static void reason_race(void **state)
{
	struct tl_fixture_opts tl = known();

	(void)state;
	/* CPU 5 up to 2 us after the decision, and from 2 us before sched_waking on */
	expect_reason(&tl, says_5, HEAD WAKES "2002500 5 0 switch R 300\n" RUNS TAIL, WI_REASON_RACE);
	expect_reason(&tl, says_5, HEAD WAKES "2002501 5 0 switch R 300\n" RUNS TAIL, WI_REASON_OTHER);
	expect_reason(&tl, says_5, HEAD "1998000 5 300 switch S 0\n" WAKES RUNS TAIL, WI_REASON_RACE);
	expect_reason(&tl, says_5, HEAD "1997999 5 300 switch S 0\n" WAKES RUNS TAIL, WI_REASON_OTHER);
	/* a CPU that neither answer hangs on */
	expect_reason(&tl, says_5, HEAD WAKES "2001000 7 0 switch R 300\n" RUNS TAIL, WI_REASON_OTHER);
	/* where the search began */
	struct wakeif_choice from_7 = { .cpu = 5, .rule = WAKEIF_RULE_IDLE_CPU, .target = 7 };
	expect_reason(&tl, from_7, HEAD WAKES "2001000 7 0 switch R 300\n" RUNS TAIL, WI_REASON_RACE);
	/* the wakee's own way to CPU 4 is no race, not even where CPU 4 became idle a little before */
	expect_reason(&tl, says_5, HEAD "1999000 4 400 switch S 0\n" WAKES RUNS TAIL, WI_REASON_RACE);
	expect_reason(&tl, says_5, HEAD "1997000 4 400 switch S 0\n" WAKES RUNS TAIL, WI_REASON_OTHER);
}

static void reason_by_choice(void **state)
{
	struct tl_fixture_opts tl = known();
	struct wakeif_choice c = says_5;

	(void)state;
	c.flags = WAKEIF_CHOICE_AMBIGUOUS;
	expect_reason(&tl, c, HEAD WAKES RUNS TAIL, WI_REASON_SIS_AMBIGUOUS);
	c.flags = WAKEIF_CHOICE_KNOWS_SYNC;
	c.other_sync_cpu = 4;
	expect_reason(&tl, c, HEAD WAKES RUNS TAIL, WI_REASON_SYNC_UNKNOWN);
	c.flags |= WAKEIF_CHOICE_AMBIGUOUS; /* the first that holds */
	expect_reason(&tl, c, HEAD WAKES RUNS TAIL, WI_REASON_SIS_AMBIGUOUS);
	c.flags = WAKEIF_CHOICE_KNOWS_SYNC;
	c.other_sync_cpu = 6;
	expect_reason(&tl, c, HEAD WAKES RUNS TAIL, WI_REASON_OTHER);
	c.affine = WAKEIF_AFFINE_LOAD_PREV;
	expect_reason(&tl, c, HEAD WAKES RUNS TAIL, WI_REASON_LOAD);
}

static void reason_affinity(void **state)
{
	struct tl_fixture_opts tl = { .topology = machine, .kernel_version = 6 << 16 | 1 << 8 };

	(void)state;
	expect_reason(&tl, says_5, HEAD WAKES RUNS TAIL, WI_REASON_AFFINITY_UNKNOWN);
	/* it ran on CPU 5 before: it may */
	expect_reason(&tl, says_5,
		      "1000000 0 100 other\n"
		      "1000000 5 0 switch R 200\n"
		      "1100000 5 200 switch R+ 300\n"
		      "1200000 0 100 migrate 200 5 1\n"
		      "1300000 1 0 switch R 200\n"
		      "1400000 1 200 switch S 0\n"
		      "1500000 5 300 switch S 0\n" WAKES RUNS TAIL,
		      WI_REASON_OTHER);
}

static void reason_repair(void **state)
{
	struct tl_fixture_opts tl = known();

	(void)state;
	expect_reason(&tl, says_5, HEAD "1500000 7 300 lost\n" WAKES RUNS "2400000 7 300 switch S 0\n" TAIL, WI_REASON_REPAIR);
}

/* ---- illegal answers ---- */

static void invalid_answers(void **state)
{
	struct tl_fixture_opts tl = known();
	struct wakeif_choice beyond = { .cpu = 8, .target = WAKEIF_CPU_NONE }, none = { .cpu = 4, .rule = WAKEIF_NR_RULES };

	(void)state;
	struct wi_replay_results *r = run_one(&tl, beyond, HEAD WAKES RUNS TAIL);
	assert_int_equal(r->model[1].invalid, 1);
	assert_int_equal(r->model[1].unanswered, 0);
	expect_agreement(&r->model[1].select, 1, 0, 0, 1, 0); /* the fallback: CPU 0, the lowest of the node */
	wi_replay_results_free(r);

	r = run_one(&tl, none, HEAD WAKES RUNS TAIL);
	assert_int_equal(r->model[1].invalid, 1);
	assert_int_equal(r->model[1].unanswered, 1);
	wi_replay_results_free(r);

	/* not allowed there: the lowest allowed CPU, which is what the kernel chose */
	tl.facts = knows_core;
	struct wakeif_choice elsewhere = { .cpu = 2, .target = WAKEIF_CPU_NONE };
	const char *events = "1000000 0 100 other\n1000000 5 200 switch S 0\n2000000 0 100 waking 200 5\n2000500 0 100 migrate 200 5 4\n" RUNS TAIL;
	r = run_one(&tl, elsewhere, events);
	assert_int_equal(r->model[1].invalid, 1);
	expect_agreement(&r->model[1].select, 1, 1, 1, 1, 1);
	wi_replay_results_free(r);
}

/* ---- WF_SYNC ---- */

static uint32_t sync_seen(enum wi_sync_mode mode, const struct wi_sync_table *table, struct wi_sync_results *out)
{
	struct tl_fixture_opts tl = known();
	struct rx_script script = { 0 };
	struct wi_replay_model model = rx_scripted(&script, "m");
	struct wi_replay_opts opts = { .models = &model, .nr_models = 1, .sync = mode, .learned = table };
	struct wi_replay_results *r = rx_run(&tl, &opts, HEAD WAKES RUNS "2040000 4 200 switch S 0\n"
								       "3000000 0 100 waking 200 4\n3000500 0 100 migrate 200 4 6\n"
								       "3010000 6 0 wakeup 200 6\n3030000 6 0 switch R 200\n"
								       "9000000 0 100 other\n");

	assert_int_equal(script.asked, 2);
	*out = r->sync;
	wi_replay_results_free(r);
	return script.sync_seen;
}

static void sync_modes(void **state)
{
	struct wi_sync_table *t = wi_sync_table_new();
	struct wi_sync_results s;
	struct wi_sync_key unlike = { 1000, 1001, WAKEIF_CTX_TASK };

	(void)state;
	assert_int_equal(sync_seen(WI_SYNC_NEVER, NULL, &s), 0);
	assert_int_equal(s.asked[WI_SYNC_NEVER], 2);
	assert_int_equal(sync_seen(WI_SYNC_ALWAYS, NULL, &s), 3);
	assert_int_equal(s.set, 2);
	assert_int_equal(sync_seen(WI_SYNC_RECORDED, NULL, &s), 0); /* nothing is recorded: as never */
	assert_int_equal(s.asked[WI_SYNC_NEVER], 2);
	/* votes of even decisions judge the odd one */
	assert_true(wi_sync_vote(t, &unlike, 0, true));
	assert_int_equal(sync_seen(WI_SYNC_LEARNED, t, &s), 2);
	assert_int_equal(s.asked[WI_SYNC_LEARNED], 2);
	assert_int_equal(s.by_context, 1);
	assert_int_equal(s.by_default, 1);
	assert_int_equal(s.votes, 1);
	wi_sync_table_free(t);
}

static struct wi_sync_totals learn(struct wakeif_choice choice)
{
	struct tl_fixture_opts tl = known();
	struct wi_sync_table *t = wi_sync_table_new();
	struct rx_script script = { .choice = &choice, .nr = 1 };
	struct wi_replay_model model = rx_scripted(&script, "m");
	struct wi_replay_opts opts = { .models = &model, .nr_models = 1, .learn = t };
	struct wi_replay_results *r = rx_run(&tl, &opts, HEAD WAKES RUNS TAIL);
	struct wi_sync_totals n = wi_sync_totals(t);

	assert_int_equal(r->nr_models, 0);
	assert_int_equal(script.sync_seen, 0);
	wi_replay_results_free(r);
	wi_sync_table_free(t);
	return n;
}

static void learning(void **state)
{
	struct wakeif_choice c = { .cpu = 4, .flags = WAKEIF_CHOICE_KNOWS_SYNC, .other_sync_cpu = 0 };

	(void)state;
	assert_int_equal(learn(c).votes, 1);
	assert_int_equal(learn(c).votes_set, 0);
	c.cpu = 0;
	c.other_sync_cpu = 4;
	assert_int_equal(learn(c).votes_set, 1);
	c.other_sync_cpu = 6; /* neither is what the kernel did */
	assert_int_equal(learn(c).votes, 0);
	c.other_sync_cpu = 0; /* it makes no difference */
	assert_int_equal(learn(c).votes, 0);
	c.other_sync_cpu = 4;
	c.flags = 0;
	assert_int_equal(learn(c).votes, 0);
}

/* ---- rows of their own ---- */

static void fork_and_exec(void **state)
{
	struct tl_fixture_opts tl = { .topology = machine };
	struct wakeif_choice choice[3] = { { .cpu = 2 }, { .cpu = 3 }, { .cpu = 5 } };
	struct rx_script script = { .choice = choice, .nr = 3 };
	struct wi_replay_model model = rx_scripted(&script, "m");
	struct wi_replay_opts opts = { .models = &model, .nr_models = 1, .sync = WI_SYNC_NEVER };
	/* 300 is put on CPU 2; 100 execs: the stopper of CPU 0 takes it to CPU 3; then again, staying there */
	struct wi_replay_results *r = rx_run(&tl, &opts,
					     "1000000 0 20=migration/0 switch S 100\n"
					     "1100000 0 100 fork 300\n"
					     "1200000 0 100 new 300 2\n"
					     "1210000 2 0 switch R 300\n"
					     "2000000 0 100 waking 20=migration/0 0 0\n"
					     "2000100 0 100 wakeup 20=migration/0 0 0\n"
					     "2000200 0 100 switch R+ 20=migration/0\n"
					     "2000300 0 20=migration/0 migrate 100 0 3\n"
					     "2000400 0 20=migration/0 switch S 0\n"
					     "2000500 3 0 switch R 100\n"
					     "2900000 3 100 exec 100 100\n"
					     "3900000 3 100 exec 100 100\n"
					     "9000000 3 100 other\n");

	(void)state;
	assert_int_equal(script.asked, 3);
	assert_int_equal(script.classes, 1u << WAKEIF_FORK | 1u << WAKEIF_EXEC);
	expect_agreement(&r->model[1].fork, 1, 1, 1, 1, 1);
	assert_int_equal(script.prev[1], 0);
	assert_int_equal(script.prev[2], 3);
	/* the first exec as the kernel did; at the second the model would go from CPU 3, free without the task, to CPU 5 */
	expect_agreement(&r->model[1].exec, 2, 1, 1, 2, 2);
	assert_int_equal(r->by_class[WAKEIF_EXEC], 2);
	assert_int_equal(r->by_class[WAKEIF_PINNED], 1);
	assert_int_equal(r->decided, 0);
	wi_replay_results_free(r);
}

static void before_the_window(void **state)
{
	struct tl_fixture_opts tl = known();

	(void)state;
	tl.start_ns = 5000000;
	struct wi_replay_results *r = run_one(&tl, says_5, HEAD WAKES RUNS TAIL); /* asked, for its memory */
	assert_int_equal(r->decided, 0);
	assert_int_equal(r->model[1].select.decided, 0);
	wi_replay_results_free(r);
}

static void stalled_row(void **state)
{
	struct tl_fixture_opts tl = known();

	(void)state;
	struct wi_replay_results *r = run_one(&tl, says_5, HEAD "2000000 0 100 waking 200 1\n2000005 1 0 wakeup 200 1\n2030000 1 0 switch R 200\n" TAIL);
	assert_int_equal(r->stalled, 1);
	assert_int_equal(r->model[1].stalled.decided, 1);
	assert_int_equal(r->model[1].select.decided, 1);
	wi_replay_results_free(r);
}

static void open_waits(void **state)
{
	struct tl_fixture_opts tl = known();
	struct wakeif_choice says_0 = { .cpu = 0, .target = WAKEIF_CPU_NONE };

	(void)state;
	struct wi_replay_results *r = run_one(&tl, says_0, HEAD WAKES RUNS "9000000 0 100 other\n");
	assert_int_equal(r->model[1].est_wait.censored, 1);
	assert_int_equal(r->model[1].est_wait.wait.count, 0);
	wi_replay_results_free(r);
	r = run_one(&tl, says_0, HEAD WAKES RUNS "3000000 0 100 lost\n9000000 0 100 other\n");
	assert_int_equal(r->model[1].est_wait.unknown, 1);
	wi_replay_results_free(r);
}

/* ---- merging ---- */

static struct wi_replay_results *with_models(const char *first, const char *second, uint32_t cpu, const char *events)
{
	struct tl_fixture_opts tl = known();
	struct wakeif_choice choice = { .cpu = cpu, .rule = WAKEIF_RULE_IDLE_CPU, .target = 1, .examined = cpu };
	struct rx_script script[2] = { { .choice = &choice, .nr = 1 }, { 0 } };
	struct wi_replay_model models[2] = { rx_scripted(&script[0], first), rx_scripted(&script[1], second) };
	struct wi_replay_opts opts = { .models = models, .nr_models = 2, .sync = WI_SYNC_NEVER };

	return rx_run(&tl, &opts, events);
}

static char *merged(struct wi_replay_results *const *r, const int *order, int nr)
{
	struct wi_err err = { 0 };
	struct wi_replay_results *sum = wi_replay_results_new(&err);

	for (int i = 0; i < nr; i++)
		assert_true(wi_replay_results_merge(sum, r[order[i]], &err));
	char *text = rx_dump(sum);
	wi_replay_results_free(sum);
	return text;
}

static void merges(void **state)
{
	static const int orders[][3] = { { 0, 1, 2 }, { 2, 1, 0 }, { 1, 0, 2 }, { 1, 2, 0 } };
	struct wi_replay_results *r[4];
	struct wi_err err = { 0 };

	(void)state;
	r[0] = with_models("a", "b", 4, HEAD WAKES RUNS TAIL);
	r[1] = with_models("b", "c", 0, HEAD WAKES RUNS TAIL);
	r[2] = with_models("c", "d", 0, HEAD WAKES RUNS "9000000 0 100 other\n");
	char *expected = merged(r, orders[0], 3);
	for (size_t i = 1; i < sizeof(orders) / sizeof(*orders); i++) {
		char *got = merged(r, orders[i], 3);

		assert_string_equal(got, expected);
		free(got);
	}
	/* (0 + 1) + 2 = 0 + (1 + 2) */
	r[3] = wi_replay_results_new(&err);
	assert_true(wi_replay_results_merge(r[3], r[1], &err) && wi_replay_results_merge(r[3], r[2], &err));
	char *got = merged(r, (const int[]){ 3, 0 }, 2);
	assert_string_equal(got, expected);
	assert_non_null(strstr(expected, "traces 3 decided 3"));
	assert_non_null(strstr(expected, "model d"));
	free(got);
	free(expected);
	/* a copy is the same */
	char *copy = merged(r, (const int[]){ 0 }, 1), *original = rx_dump(r[0]);
	assert_string_equal(copy, original);
	free(copy);
	free(original);
	for (int i = 0; i < 4; i++)
		wi_replay_results_free(r[i]);
}

/* ---- life ---- */

static void *refusing_init(const struct wakeif_host *host, const int64_t *values)
{
	(void)values;
	host->say(host->ctx, "no such machine");
	return NULL;
}

static void no_fini(void *model)
{
	(void)model;
}

static bool never_asked(void *model, const struct wakeif_wakeup *w, const struct wakeif_view *v, struct wakeif_choice *c)
{
	(void)model;
	(void)w;
	(void)v;
	(void)c;
	return false;
}

static void refusals(void **state)
{
	static const struct wakeif_model_ops ops = { .abi = WAKEIF_ABI, .size = sizeof(ops), .name = "no", .init = refusing_init, .fini = no_fini,
						     .select_cpu = never_asked };
	struct wi_replay_model one = { .ops = &ops, .label = "no", .params = "" }, many[WI_REPLAY_MODELS + 1];
	struct wi_replay_opts opts = { .topology = machine, .models = &one, .nr_models = 1 };
	struct wi_err err = { 0 };

	(void)state;
	assert_null(wi_replay_new(&opts, &err));
	assert_int_equal(err.code, WI_EREFUSED);
	assert_string_equal(err.msg, "model no: no such machine");
	memset(&err, 0, sizeof(err));
	opts.models = many;
	opts.nr_models = WI_REPLAY_MODELS + 1;
	assert_null(wi_replay_new(&opts, &err));
	assert_int_equal(err.code, WI_EUSAGE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(agreement_and_meaning), cmocka_unit_test(reason_race),	    cmocka_unit_test(reason_by_choice),
		cmocka_unit_test(reason_affinity),	 cmocka_unit_test(reason_repair),   cmocka_unit_test(invalid_answers),
		cmocka_unit_test(sync_modes),		 cmocka_unit_test(learning),	    cmocka_unit_test(fork_and_exec),
		cmocka_unit_test(before_the_window),	 cmocka_unit_test(stalled_row),	    cmocka_unit_test(open_waits),
		cmocka_unit_test(merges),		 cmocka_unit_test(refusals),
	};

	return cmocka_run_group_tests(tests, make_machine, free_machine);
}
