/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Servers answer whoever asked; what was inferred of a recording can be left out; timers that nothing disturbs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analyzer/base/kernel.h"
#include "analyzer/base/names.h"
#include "analyzer/topology/topology.h"
#include "tests/unit/sim_world.h"

enum { SERVER, A, B, NR };

struct look {
	uint64_t in_ns[NR][4]; /* switches in, by task */
	uint32_t nr_in[NR];
};

static bool note(void *ctx, const struct wi_event *ev)
{
	struct look *l = ctx;
	uint32_t task = ev->type == WI_EV_SCHED_SWITCH && ev->sw.next_comm != WI_NAME_NONE ? ev->sw.next_comm - 1 : NR;

	if (task < NR && l->nr_in[task] < 4)
		l->in_ns[task][l->nr_in[task]++] = ev->ts_ns;
	return true;
}

struct world {
	struct sim_world w;
	const struct wakeif_topology *topo;
	uint32_t requests, answer[NR]; /* counters: of the server; of the clients */
};

/* Each on a CPU of its own; the server sleeps, or not. */
static void begin(struct world *x, bool server_sleeps)
{
	struct wi_err err = { 0 };

	x->topo = wi_topology_load("pack:1 l3:1 core:3 pu:1", &err);
	if (!x->topo)
		fail_msg("%s", err.msg);
	sim_world_begin(&x->w, x->topo, WI_KERNEL(6, 1), 1);
	for (uint32_t i = 0; i < NR; i++) {
		uint32_t t = sim_task(&x->w, i ? "client" : "server", i,
				      !i && server_sleeps ? WI_START_BLOCKED : WI_START_RUNNING);

		sim_pin(&x->w, t, i);
		x->answer[i] = sim_counter(&x->w, t);
	}
	x->requests = x->answer[SERVER];
}

static void ask(struct world *x, uint32_t client, uint64_t run_ns)
{
	x->w.noise.flags = WI_WAKE_REQUEST;
	sim_wake(&x->w, client, run_ns, x->requests, false);
	sim_block(&x->w, client, 0, x->answer[client]);
	x->w.noise.flags = 0;
}

static void answer(struct world *x, uint64_t run_ns, uint32_t client)
{
	x->w.noise.flags = WI_WAKE_ANSWER;
	sim_wake(&x->w, SERVER, run_ns, x->answer[client], false);
	x->w.noise.flags = 0;
}

static struct wi_sim_result run(struct world *x, bool no_orders, struct look *l)
{
	struct sim_opts o = { .o = { .noise = WI_NOISE_NONE, .no_orders = no_orders }, .also = note, .also_ctx = l };
	struct wi_workload *w = sim_world_end(&x->w);
	struct wi_sim_result r, numbers;
	struct sim_seen seen;
	struct wi_err err = { 0 };
	const char *wrong;

	memset(l, 0, sizeof(*l));
	wrong = sim_run_watched(w, &o, &r, &seen, &err);
	if (wrong)
		fail_msg("%s %s", wrong, err.msg);
	assert_int_equal(r.ran_ns, r.tape_ns);
	numbers = r;
	sim_run_fini(&r, &seen);
	wi_workload_free(w);
	wi_topology_free(x->topo);
	return numbers;
}

/* The tape answers A, then B. B asks after 1 ms, A after 5 ms: B goes on first. inferred: or left out. */
static void who_asked_first(bool no_orders, uint64_t a_ns, uint64_t b_ns)
{
	struct world x;
	struct look l;

	begin(&x, true);
	sim_block(&x.w, SERVER, 0, x.requests);
	answer(&x, MS, A);
	sim_block(&x.w, SERVER, 0, x.requests);
	answer(&x, MS, B);
	ask(&x, A, 5 * MS);
	ask(&x, B, MS);
	sim_run(&x.w, A, MS);
	sim_run(&x.w, B, MS);
	struct wi_sim_result r = run(&x, no_orders, &l);

	assert_int_equal(r.tasks_undone, 0);
	assert_int_equal(l.nr_in[B], 2);
	assert_int_equal(l.in_ns[B][1], b_ns);
	assert_int_equal(l.nr_in[A], a_ns ? 2 : 1);
	assert_int_equal(l.in_ns[A][1], a_ns);
}

static void test_answers_go_to_who_asked(void **state)
{
	(void)state;
	who_asked_first(false, 6 * MS, 2 * MS);
	who_asked_first(true, 0, 6 * MS); /* A finds its answer there, B waits for A's request */
}

/* An answer before anybody has asked is for whoever asks first; the other one waits for the next. */
static void test_answer_ahead(void **state)
{
	struct world x;
	struct look l;

	(void)state;
	begin(&x, false);
	answer(&x, MS, A);
	answer(&x, 9 * MS, B);
	ask(&x, A, 5 * MS);
	ask(&x, B, 2 * MS);
	sim_run(&x.w, A, MS);
	sim_run(&x.w, B, MS);
	struct wi_sim_result r = run(&x, false, &l);

	assert_int_equal(r.tasks_undone, 0);
	assert_int_equal(l.nr_in[B], 1);
	assert_int_equal(l.nr_in[A], 2);
	assert_int_equal(l.in_ns[A][1], 10 * MS);
}

/* The tape takes two requests before it answers one, but B only asks once A has been answered. */
static void test_server_does_not_sleep_while_asked(void **state)
{
	struct world x;
	struct look l;
	uint32_t go;

	(void)state;
	begin(&x, true);
	go = sim_counter(&x.w, B);
	sim_block(&x.w, SERVER, 0, x.requests);
	sim_block(&x.w, SERVER, 0, x.requests);
	answer(&x, MS, A);
	answer(&x, MS, B);
	ask(&x, A, MS);
	sim_wake(&x.w, A, MS, go, false);
	sim_block(&x.w, B, 0, go);
	ask(&x, B, MS);
	struct wi_sim_result r = run(&x, false, &l);

	assert_int_equal(r.tasks_undone, 0);
	assert_int_equal(l.in_ns[A][1], 2 * MS);
}

/* A does not go on before B has come as far; without what is inferred it does. */
static void inferred(bool no_orders, uint64_t end_ns)
{
	struct world x;
	struct look l;

	begin(&x, false);
	sim_op(&x.w, A, MS, WI_OP_TAKE, x.answer[A], 0);
	sim_run(&x.w, A, MS);
	sim_op(&x.w, B, 7 * MS, WI_OP_UNSEEN, x.answer[A], 0);
	struct wi_sim_result r = run(&x, no_orders, &l);

	assert_int_equal(r.tasks_undone, 0);
	assert_int_equal(r.wakes_lost, 0);
	assert_int_equal(r.end_ns, end_ns);
}

static void test_inferred(void **state)
{
	(void)state;
	inferred(false, 8 * MS);
	inferred(true, 7 * MS);
}

/* 20 sleeps of 1 ms to 1.19 ms and two of 3 ms. One of 1 ms is cut short by another's wakeup: it takes as long as one
 * of the others, whichever, where nothing disturbs it. */
static void test_disturbed_timers_go_on(void **state)
{
	uint64_t end_ns, least_ns = 22 * 10 * US + 20 * MS + 190 * 10 * US + 6 * MS;

	(void)state;
	for (uint64_t seed = 0; seed < 8; seed++) {
		struct world x;
		struct look l;

		begin(&x, false);
		for (uint32_t i = 0; i < 22; i++)
			sim_sleep(&x.w, A, 10 * US, i < 20 ? MS + i * 10 * US : 3 * MS);
		for (uint32_t i = 0; i < 22; i++)
			wi_work_sleep(x.w.b, i)->disturbed = seed && i == 19;
		struct sim_opts o = { .o = { .noise = WI_NOISE_NONE, .seed = seed }, .also = note, .also_ctx = &l };
		struct wi_workload *w = sim_world_end(&x.w);
		struct wi_sim_result r;
		struct wi_err err = { 0 };
		struct sim_seen seen;

		memset(&l, 0, sizeof(l));
		assert_null(sim_run_watched(w, &o, &r, &seen, &err));
		end_ns = r.end_ns;
		if (!seed)
			assert_int_equal(end_ns, least_ns);
		else /* the only ones that are longer */
			assert_int_equal(end_ns, least_ns + 3 * MS - 1190 * US);
		sim_run_fini(&r, &seen);
		wi_workload_free(w);
		wi_topology_free(x.topo);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_answers_go_to_who_asked),
					    cmocka_unit_test(test_answer_ahead),
					    cmocka_unit_test(test_server_does_not_sleep_while_asked),
					    cmocka_unit_test(test_inferred),
					    cmocka_unit_test(test_disturbed_timers_go_on) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
