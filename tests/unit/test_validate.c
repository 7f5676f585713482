/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Truth against a hand-made trace. Task 100 on CPU 0 wakes 200, which slept on CPU 1, at 2000000; the kernel chooses CPU
 * 4. Machine: one LLC, cores 0-1 2-3 4-5 6-7; all but CPU 0 idle.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "analyzer/replay/validate.h"
#include "tests/unit/replay_fixture.h"

#define EVENTS                                                                                                         \
	"1000000 0 100 other\n"                                                                                        \
	"1000000 1 200 switch S 0\n"                                                                                   \
	"2000000 0 100 waking 200 1\n"                                                                                 \
	"2000500 0 100 migrate 200 1 4\n"                                                                              \
	"2010000 4 0 wakeup 200 4\n"                                                                                   \
	"2030000 4 0 switch R 200\n"                                                                                   \
	"2500500 0 100 switch S 0\n"                                                                                   \
	"9000000 0 0 other\n"
/* The same, but it stays on CPU 1. */
#define STAYS                                                                                                          \
	"1000000 0 100 other\n"                                                                                        \
	"1000000 1 200 switch S 0\n"                                                                                   \
	"2000000 0 100 waking 200 1\n"                                                                                 \
	"2010000 1 0 wakeup 200 1\n"                                                                                   \
	"2030000 1 0 switch R 200\n"                                                                                   \
	"2500500 0 100 switch S 0\n"                                                                                   \
	"9000000 0 0 other\n"
#define COLUMNS "ts_ns\twaking_ts_ns\tcpu\tpid\tprev\twf\twa_this\tsis_target\tret\n"

static const wakeif_word all_cpus[] = { 0xff };
static const struct wi_task_fact knows_all[] = { { .pid = 100, .policy = 0, .nice = 0, .allowed = all_cpus },
						 { .pid = 200, .policy = 0, .nice = 0, .allowed = all_cpus } };

static struct wakeif_topology *machine;
static char path[2][64];

static void put(int which, const char *text)
{
	int fd;

	snprintf(path[which], sizeof(path[which]), "/tmp/wakeif-validate-XXXXXX");
	fd = mkstemp(path[which]);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	close(fd);
}

static struct wi_validate *begin(const char *decisions, const char *nodecisions, struct wi_err *err)
{
	struct wi_validate_opts o = { .topology = machine, .kernel_version = 6 << 16 | 1 << 8, .logic = true };
	struct wi_validate *v;

	put(0, decisions);
	o.truth = path[0];
	if (nodecisions) {
		put(1, nodecisions);
		o.nodecision = path[1];
	}
	v = wi_validate_new(&o, err);
	unlink(path[0]);
	if (nodecisions)
		unlink(path[1]);
	return v;
}

/* The first wakeup of a trace is over; its sched_wakeup was recorded by the CPU that it went to. */
static void arrived(struct wi_validate *v, uint32_t cpu)
{
	const struct wi_timeline_observer *obs = wi_validate_observer(v);
	struct wi_wakeup w = { .slot = 0, .chosen_cpu = cpu, .enq_record_cpu = cpu, .enq_ns = 2010000 };

	obs->wakeup_closed(obs->ctx, 2030000, &w, WI_OUT_RUN);
}

/* The results of a model that gives this answer, against the truth. */
static struct wi_validate_results against_in(const char *events, struct wakeif_choice choice, const char *decisions, enum wi_sync_mode sync)
{
	struct wi_err err = { 0 };
	struct wi_validate *v = begin(decisions, NULL, &err);
	struct tl_fixture_opts tl = { .topology = machine, .facts = knows_all, .nr_facts = 2, .kernel_version = 6 << 16 | 1 << 8 };
	struct rx_script script = { .choice = &choice, .nr = 1 };
	struct wi_replay_model model = rx_scripted(&script, "m");
	struct wi_replay_opts opts = { .models = &model, .nr_models = 1, .sync = sync, .sink = wi_validate_sink, .sink_ctx = v,
				       .sync_of = wi_validate_sync_of, .sync_ctx = v };
	const struct wi_validate_results *r;
	struct wi_validate_results copy;

	assert_non_null(v);
	wi_replay_results_free(rx_run(&tl, &opts, events));
	arrived(v, !strcmp(events, STAYS) ? 1 : 4);
	r = wi_validate_finish(v, &err);
	assert_non_null(r);
	copy = *r;
	wi_validate_free(v);
	return copy;
}

static struct wi_validate_results against(struct wakeif_choice choice, const char *decisions, enum wi_sync_mode sync)
{
	return against_in(EVENTS, choice, decisions, sync);
}

#define DECISION(wf, target, ret) COLUMNS "2000100\t2000000\t0\t200\t1\t" wf "\t0\t" target "\t" ret "\n"

static void agreement(void **state)
{
	const struct wakeif_choice right = { .cpu = 4, .rule = WAKEIF_RULE_IDLE_CORE, .target = 1 };
	struct wi_validate_results r = against(right, DECISION("0x8", "1", "4"), WI_SYNC_NEVER);

	(void)state;
	assert_int_equal(r.truth_wakeups, 1);
	assert_int_equal(r.decided, 1);
	assert_int_equal(r.agree, 1);
	assert_int_equal(r.choice_wrong, 0);
	assert_int_equal(r.sync_right, 1);
	assert_int_equal(r.by_rule[WAKEIF_RULE_IDLE_CORE].answers, 1);
	assert_int_equal(r.by_rule[WAKEIF_RULE_IDLE_CORE].agree, 1);
	assert_int_equal(r.affine_asked, 1);
	assert_int_equal(r.affine_agree, 1);
	assert_false(r.has_tags); /* nobody knows what a scripted model looks at */
	assert_false(r.has_logic);
	/* the truth is what counts, not what the trace shows */
	r = against(right, DECISION("0x8", "0", "5"), WI_SYNC_NEVER);
	assert_int_equal(r.agree, 0);
	assert_int_equal(r.choice_wrong, 1);
	assert_int_equal(r.affine_agree, 0);
	/* another time, another task: nothing in common */
	r = against(right, COLUMNS "2000100\t2000001\t0\t200\t1\t8\t0\t1\t4\n2000100\t2000000\t0\t201\t1\t8\t0\t1\t4\n", WI_SYNC_NEVER);
	assert_int_equal(r.truth_wakeups, 2);
	assert_int_equal(r.decided, 0);
	/* forks and execs are counted apart; a wakeup without its sched_waking is not in the trace */
	r = against(right, COLUMNS "1\t-\t0\t5\t1\t4\t-\t-\t4\n2\t-\t0\t5\t1\t2\t-\t-\t4\n3\t-\t0\t5\t1\t8\t-\t-\t4\n", WI_SYNC_NEVER);
	assert_int_equal(r.truth_forks, 1);
	assert_int_equal(r.truth_execs, 1);
	assert_int_equal(r.truth_wakeups, 1);
	assert_int_equal(r.not_in_trace, 1);
}

/* The model says 4 without WF_SYNC and 0 with it. */
static void sync_each_way(void **state)
{
	const struct wakeif_choice without = { .cpu = 4, .rule = WAKEIF_RULE_IDLE_CORE, .target = 1, .flags = WAKEIF_CHOICE_KNOWS_SYNC, .other_sync_cpu = 0 };
	const struct wakeif_choice with = { .cpu = 0, .rule = WAKEIF_RULE_AFFINE, .target = 0, .flags = WAKEIF_CHOICE_KNOWS_SYNC, .other_sync_cpu = 4 };
	struct wi_validate_results r = against(without, DECISION("0x18", "1", "4"), WI_SYNC_NEVER);

	(void)state;
	assert_int_equal(r.agree, 1);
	assert_int_equal(r.sync_right, 0);
	assert_int_equal(r.sync_agree[WI_SYNC_NEVER], 1);
	assert_int_equal(r.sync_agree[WI_SYNC_ALWAYS], 0);
	assert_int_equal(r.sync_agree[WI_SYNC_RECORDED], 0); /* it was set */
	r = against(with, DECISION("0x18", "1", "4"), WI_SYNC_RECORDED);
	assert_int_equal(r.agree, 0);
	assert_int_equal(r.sync_right, 1);
	assert_int_equal(r.sync_agree[WI_SYNC_NEVER], 1);
	assert_int_equal(r.sync_agree[WI_SYNC_RECORDED], 0);
	r = against(without, DECISION("0x8", "1", "4"), WI_SYNC_RECORDED);
	assert_int_equal(r.sync_right, 1);
	assert_int_equal(r.sync_agree[WI_SYNC_RECORDED], 1);
}

static void forms(void **state)
{
	const struct wakeif_choice any = { .cpu = 4 };
	struct wi_validate_results r = against(any, DECISION("0x8", "1", "4"), WI_SYNC_NEVER);

	(void)state;
	/* CPU 1 idles and is left: does not hold. CPU 4 idled and wrote the sched_wakeup itself. */
	assert_int_equal(r.forms[WI_FORM_PREV_IDLE].cases, 1);
	assert_int_equal(r.forms[WI_FORM_PREV_IDLE].hold, 0);
	assert_int_equal(r.forms[WI_FORM_WAKER_IDLE].cases, 0);
	assert_int_equal(r.forms[WI_FORM_NONE_IDLE].cases, 0);
	assert_int_equal(r.forms[WI_FORM_WAKELIST].cases, 1);
	assert_int_equal(r.forms[WI_FORM_WAKELIST].hold, 1);
	assert_int_equal(r.forms[WI_FORM_DIRECT].cases, 0);
	/* it stays, and CPU 1 writes the sched_wakeup itself: both hold */
	r = against_in(STAYS, any, DECISION("0x8", "1", "1"), WI_SYNC_NEVER);
	assert_int_equal(r.forms[WI_FORM_PREV_IDLE].cases, 1);
	assert_int_equal(r.forms[WI_FORM_PREV_IDLE].hold, 1);
	assert_int_equal(r.forms[WI_FORM_WAKELIST].cases, 1);
	assert_int_equal(r.forms[WI_FORM_WAKELIST].hold, 1);
	assert_int_equal(r.forms[WI_FORM_DIRECT].cases, 0);
}

static void classes(void **state)
{
	static const struct {
		uint64_t wake_ns;
		int32_t pid;
		enum wakeif_class class_;
	} seen[] = { { 10, 1, WAKEIF_SELECT }, { 20, 1, WAKEIF_SELECT }, { 30, 1, WAKEIF_SELECT }, { 20, 2, WAKEIF_ONRQ }, { 10, 2, WAKEIF_FORK }, { 40, 3, WAKEIF_ONRQ } };
	struct wi_err err = { 0 };
	struct wi_validate *v = begin(COLUMNS "11\t10\t0\t1\t1\t8\t-\t-\t4\n41\t40\t0\t3\t1\t8\t-\t-\t4\n51\t50\t0\t3\t1\t8\t-\t-\t4\n",
				      "waking_ts_ns\tpid\treason\n20\t1\tpinned\n20\t2\tpinned\n", &err);
	const struct wi_timeline_observer *obs;
	const struct wi_validate_results *r;

	(void)state;
	assert_non_null(v);
	obs = wi_validate_observer(v);
	for (size_t i = 0; i < sizeof(seen) / sizeof(*seen); i++) {
		struct wi_wakeup w = { .pub = { .wake_ns = seen[i].wake_ns, .pid = seen[i].pid, .class_ = (uint8_t)seen[i].class_ } };

		obs->decision(obs->ctx, seen[i].wake_ns, &w);
	}
	r = wi_validate_finish(v, &err);
	assert_non_null(r);
	assert_int_equal(r->by_class[WAKEIF_SELECT].decided, 1);
	assert_int_equal(r->by_class[WAKEIF_SELECT].not_decided, 1);
	assert_int_equal(r->by_class[WAKEIF_SELECT].not_told, 1);
	assert_int_equal(r->by_class[WAKEIF_ONRQ].decided, 1);
	assert_int_equal(r->by_class[WAKEIF_ONRQ].not_decided, 1);
	assert_int_equal(r->by_class[WAKEIF_FORK].decided + r->by_class[WAKEIF_FORK].not_told, 0);
	assert_int_equal(r->not_in_trace, 1); /* the one at 50 */
	wi_validate_free(v);
}

static void refused(void **state)
{
	struct wi_err err = { 0 };

	(void)state;
	assert_null(begin(COLUMNS "11\t10\t0\t1\t1\t8\t-\t-\t8\n", NULL, &err));
	assert_int_equal(err.code, WI_EREFUSED);
	assert_non_null(strstr(err.msg, "line 2 names CPU 8"));
}

static void merge(void **state)
{
	struct wi_validate_results a = { .nr_traces = 1, .decided = 10, .agree = 9, .tagged = 2, .has_tags = true }, b = { .nr_traces = 2, .decided = 5, .agree = 1 }, ab = a, ba = b;

	(void)state;
	a.by_rule[WAKEIF_RULE_IDLE_CPU].answers = 3;
	b.by_rule[WAKEIF_RULE_IDLE_CPU].answers = 4;
	b.by_class[WAKEIF_RT].not_told = 7;
	b.forms[WI_FORM_DIRECT].hold = 6;
	b.sync_agree[WI_SYNC_ALWAYS] = 8;
	b.has_logic = true;
	b.logic.ret_ok = 11;
	ab = a;
	ba = b;
	wi_validate_merge(&ab, &b);
	wi_validate_merge(&ba, &a);
	assert_memory_equal(&ab, &ba, sizeof(ab));
	assert_int_equal(ab.nr_traces, 3);
	assert_int_equal(ab.decided, 15);
	assert_int_equal(ab.agree, 10);
	assert_int_equal(ab.tagged, 2);
	assert_int_equal(ab.by_rule[WAKEIF_RULE_IDLE_CPU].answers, 7);
	assert_int_equal(ab.by_class[WAKEIF_RT].not_told, 7);
	assert_int_equal(ab.forms[WI_FORM_DIRECT].hold, 6);
	assert_int_equal(ab.sync_agree[WI_SYNC_ALWAYS], 8);
	assert_int_equal(ab.logic.ret_ok, 11);
	assert_true(ab.has_tags && ab.has_logic);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(agreement), cmocka_unit_test(sync_each_way), cmocka_unit_test(forms),
		cmocka_unit_test(classes),   cmocka_unit_test(refused),	      cmocka_unit_test(merge),
	};
	int failed;

	machine = tl_fixture_topology(1, 1, 4, 2);
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	tl_fixture_topology_free(machine);
	return failed;
}
