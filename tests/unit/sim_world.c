/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tests/unit/sim_world.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/base/cpumask.h"

static void need(bool ok, const char *what)
{
	if (ok)
		return;
	fprintf(stderr, "sim_world: %s\n", what);
	abort();
}

void sim_world_begin(struct sim_world *w, const struct wakeif_topology *topo, uint32_t kernel, uint64_t seed)
{
	struct wi_err err = { 0 };

	memset(w, 0, sizeof(*w));
	w->b = wi_work_builder_new(&err);
	need(w->b, err.msg);
	w->topo = topo;
	w->rng = seed * 0x9e3779b97f4a7c15ull + 0x1234567;
	w->noise = (struct wi_wake_noise){ 0, 0, 0, 0, 0 };
	w->m = (struct wi_work_machine){
		.kernel = kernel, .hz = 250, .window_ns = 1, .smt_speed = 1024, .topology = topo, .source = "made up"
	};
}

struct wi_workload *sim_world_end(struct sim_world *w)
{
	struct wi_err err = { 0 };
	struct wi_workload *load;

	for (uint32_t t = 0; t < w->nr_tasks; t++) {
		size_t nr = wi_work_nr_ops(w->b, t);
		const struct wi_op *last = nr ? wi_work_op(w->b, t, nr - 1) : NULL;

		if (!last || (last->kind != WI_OP_EXIT && last->kind != WI_OP_END))
			sim_op(w, t, 0, WI_OP_EXIT, 0, 0);
	}
	load = wi_work_build(w->b, &w->m, NULL, &err);
	w->b = NULL;
	need(load, err.msg);
	return load;
}

uint64_t sim_lot(struct sim_world *w, uint64_t below)
{
	uint64_t h = w->rng += 0x9e3779b97f4a7c15ull;

	h = (h ^ h >> 30) * 0xbf58476d1ce4e5b9ull;
	h = (h ^ h >> 27) * 0x94d049bb133111ebull;
	h ^= h >> 31;
	return below ? h % below : 0;
}

uint64_t sim_exponential(struct sim_world *w, uint64_t mean_ns)
{
	double u = ((double)sim_lot(w, 1ull << 52) + 1) / (double)(1ull << 52);

	return (uint64_t)(-log(u) * (double)mean_ns + 0.5);
}

/* ---- pieces ---- */

static uint32_t by_turns(const struct sim_world *w, uint32_t i)
{
	uint32_t nr = wi_mask_weight(w->topo->online, w->topo->nr_words), cpu = 0;

	cpu = wi_mask_next(w->topo->online, w->topo->nr_words, 0);
	for (i %= nr; i; i--)
		cpu = wi_mask_next(w->topo->online, w->topo->nr_words, cpu + 1);
	return cpu;
}

uint32_t sim_task(struct sim_world *w, const char *comm, uint32_t cpu, enum wi_work_start start)
{
	struct wi_work_task t = { .pid = 1000 + (int32_t)w->nr_tasks,
				  .tgid = 1000 + (int32_t)w->nr_tasks,
				  .comm = comm,
				  .prio = 120,
				  .policy = WAKEIF_POLICY_NORMAL,
				  .start = (uint8_t)start,
				  .cpu = start == WI_START_UNBORN ? WI_WORK_NONE : cpu,
				  .parent = WI_WORK_NONE,
				  .allowed = WI_WORK_NONE };

	w->nr_tasks++;
	return wi_work_add_task(w->b, &t);
}

void sim_nice(struct sim_world *w, uint32_t task, int nice)
{
	wi_work_task(w->b, task)->prio = (int16_t)(120 + nice);
}

void sim_pin(struct sim_world *w, uint32_t task, uint32_t cpu)
{
	wakeif_word *mask = calloc(w->topo->nr_words, sizeof(*mask));

	need(mask, "out of memory");
	wi_mask_set(mask, cpu);
	wi_work_task(w->b, task)->allowed = wi_work_add_mask(w->b, mask, w->topo->nr_words);
	free(mask);
}

uint32_t sim_counter(struct sim_world *w, uint32_t task)
{
	return wi_work_add_counter(w->b, task);
}

void sim_op(struct sim_world *w, uint32_t task, uint64_t run_ns, enum wi_op_kind kind, uint32_t target, uint64_t value)
{
	struct wi_op op = { .kind = kind, .target = target, .value = value };

	if (run_ns > UINT32_MAX) {
		wi_work_add_op(w->b, task, (struct wi_op){ .kind = WI_OP_RUN, .value = run_ns });
		run_ns = 0;
	}
	op.work_ns = (uint32_t)run_ns;
	wi_work_add_op(w->b, task, op);
}

void sim_run(struct sim_world *w, uint32_t task, uint64_t run_ns)
{
	sim_op(w, task, 0, WI_OP_RUN, 0, run_ns);
}

void sim_wake(struct sim_world *w, uint32_t task, uint64_t run_ns, uint32_t counter, bool sync)
{
	struct wi_op op = { .work_ns = (uint32_t)run_ns, .kind = WI_OP_WAKE, .target = counter, .wake = w->noise };

	op.wake.flags |= WI_WAKE_SYNC_KNOWN | (sync ? WI_WAKE_SYNC : 0);
	wi_work_add_op(w->b, task, op);
	w->nr_wakes++;
}

void sim_block(struct sim_world *w, uint32_t task, uint64_t run_ns, uint32_t counter)
{
	sim_op(w, task, run_ns, WI_OP_BLOCK, counter, 0);
	w->nr_blocks++;
}

void sim_sleep(struct sim_world *w, uint32_t task, uint64_t run_ns, uint64_t length_ns)
{
	struct wi_work_sleep s = { .length_ns = length_ns,
				   .wake_ns = length_ns,
				   .waker_cpu = 0,
				   .context = WAKEIF_CTX_HARDIRQ,
				   .on_own_cpu = true,
				   .timer = true,
				   .wake = w->noise };

	s.waker_cpu = by_turns(w, 0);
	s.wake.kind |= WI_WAKE_IRQ;
	sim_op(w, task, run_ns, WI_OP_SLEEP, wi_work_add_sleep(w->b, &s), 0);
}

/* ---- worlds ---- */

void sim_hogs(struct sim_world *w, uint32_t nr, uint64_t each_ns)
{
	for (uint32_t i = 0; i < nr; i++)
		sim_run(w, sim_task(w, "hog", by_turns(w, i), WI_START_RUNNABLE), each_ns);
}

void sim_arrivals(struct sim_world *w, uint32_t nr, uint64_t apart_ns, uint64_t work_ns)
{
	uint64_t at_ns = 0;

	for (uint32_t i = 0; i < nr; i++) {
		uint32_t t = sim_task(w, "job", by_turns(w, i), WI_START_BLOCKED);

		at_ns += sim_exponential(w, apart_ns);
		sim_sleep(w, t, 0, at_ns);
		sim_run(w, t, sim_exponential(w, work_ns) + 1);
	}
}

void sim_ping_pong(struct sim_world *w, uint32_t pairs, uint32_t rounds, uint64_t run_ns)
{
	for (uint32_t p = 0; p < pairs; p++) {
		uint32_t a = sim_task(w, "ping", by_turns(w, 2 * p), WI_START_RUNNABLE);
		uint32_t b = sim_task(w, "pong", by_turns(w, 2 * p + 1), WI_START_BLOCKED);
		uint32_t to_a = sim_counter(w, a), to_b = sim_counter(w, b);

		for (uint32_t r = 0; r < rounds; r++) {
			sim_wake(w, a, run_ns, to_b, true);
			sim_block(w, a, run_ns / 4, to_a);
			sim_block(w, b, r ? run_ns / 4 : 0, to_b);
			sim_wake(w, b, run_ns, to_a, true);
		}
	}
}

void sim_stream(struct sim_world *w, uint32_t pairs, uint32_t packets, uint64_t send_ns, uint64_t receive_ns)
{
	for (uint32_t p = 0; p < pairs; p++) {
		uint32_t s = sim_task(w, "sender", by_turns(w, 2 * p), WI_START_RUNNABLE);
		uint32_t r = sim_task(w, "receiver", by_turns(w, 2 * p + 1), WI_START_BLOCKED);
		uint32_t c = sim_counter(w, r);

		for (uint32_t n = 0; n < packets; n++) {
			sim_wake(w, s, send_ns, c, true);
			sim_block(w, r, n ? receive_ns : 0, c);
		}
		sim_run(w, r, receive_ns);
	}
}

void sim_hackbench(struct sim_world *w, uint32_t groups, uint32_t senders, uint32_t receivers, uint32_t rounds,
		   uint64_t run_ns)
{
	for (uint32_t g = 0; g < groups; g++) {
		uint32_t counter = 0;

		for (uint32_t r = 0; r < receivers; r++) {
			uint32_t t = sim_task(w, "hackbench", by_turns(w, w->nr_tasks), WI_START_BLOCKED),
				 c = sim_counter(w, t);

			counter = r ? counter : c;
			for (uint32_t n = 0; n < senders * rounds; n++)
				sim_block(w, t, n ? run_ns / 4 + sim_lot(w, run_ns / 2) : 0, c);
			sim_run(w, t, run_ns);
		}
		for (uint32_t s = 0; s < senders; s++) {
			uint32_t t = sim_task(w, "hackbench", by_turns(w, w->nr_tasks), WI_START_RUNNABLE);

			for (uint32_t n = 0; n < rounds * receivers; n++)
				sim_wake(w, t, run_ns + sim_lot(w, run_ns), counter + n % receivers, true);
		}
	}
}

void sim_make(struct sim_world *w, uint32_t jobs, uint32_t total, uint64_t each_ns)
{
	uint32_t make = sim_task(w, "make", by_turns(w, 0), WI_START_RUNNABLE), done = sim_counter(w, make);

	for (uint32_t i = 0; i < total; i++) {
		uint32_t cc = sim_task(w, "cc1", 0, WI_START_UNBORN);

		if (i >= jobs)
			sim_block(w, make, 20 * US, done);
		wi_work_task(w->b, cc)->parent = make;
		sim_op(w, make, 100 * US, WI_OP_FORK, cc, 0);
		sim_op(w, cc, 100 * US, WI_OP_EXEC, 0, 0);
		sim_wake(w, cc, sim_exponential(w, each_ns) + 50 * US, done, false);
		sim_op(w, cc, 20 * US, WI_OP_EXIT, 0, 0);
	}
	for (uint32_t i = 0; i < (jobs < total ? jobs : total); i++)
		sim_block(w, make, 20 * US, done);
}

void sim_mutexes(struct sim_world *w, uint32_t threads, uint32_t mutexes, uint32_t rounds, uint64_t hold_ns,
		 uint64_t outside_ns)
{
	uint32_t first = w->nr_tasks, counter = 0;

	for (uint32_t t = 0; t < threads; t++) {
		uint32_t task = sim_task(w, "sysbench", by_turns(w, t), WI_START_BLOCKED), c = sim_counter(w, task);

		counter = t ? counter : c;
	}
	for (uint32_t m = 0; m < mutexes; m++)
		wi_work_counter(w->b, counter + m)->initial = 1;
	for (uint32_t t = 0; t < threads; t++)
		for (uint32_t r = 0; r < rounds; r++) { /* those of one mutex form a ring */
			uint32_t next = t + mutexes < threads ? t + mutexes : t % mutexes;

			sim_block(w, first + t, r ? outside_ns : 0, counter + t);
			sim_op(w, first + t, hold_ns / 2, WI_OP_YIELD, 0, 0);
			sim_wake(w, first + t, hold_ns / 2, counter + next, false);
		}
}

void sim_timers(struct sim_world *w, uint32_t nr, uint32_t rounds, uint64_t run_ns, uint64_t sleep_ns)
{
	for (uint32_t i = 0; i < nr; i++) {
		uint32_t t = sim_task(w, "timer", by_turns(w, i), WI_START_BLOCKED);

		for (uint32_t r = 0; r < rounds; r++)
			sim_sleep(w, t, r ? run_ns / 2 + sim_lot(w, run_ns) : 0, sleep_ns + i * 1000);
		sim_run(w, t, run_ns);
	}
}

void sim_requests(struct sim_world *w, uint32_t messengers, uint32_t workers, uint32_t rounds, uint64_t think_ns)
{
	for (uint32_t m = 0; m < messengers; m++) {
		uint32_t boss = sim_task(w, "message", by_turns(w, w->nr_tasks), WI_START_RUNNABLE);
		uint32_t answer = sim_counter(w, boss), first = w->nr_tasks, counter = 0;

		for (uint32_t i = 0; i < workers; i++) {
			uint32_t t = sim_task(w, "worker", by_turns(w, w->nr_tasks), WI_START_BLOCKED),
				 c = sim_counter(w, t);

			counter = i ? counter : c;
		}
		for (uint32_t r = 0; r < rounds; r++) {
			for (uint32_t i = 0; i < workers; i++) {
				sim_wake(w, boss, 5 * US, counter + i, false);
				sim_block(w, first + i, r ? 3 * US : 0, counter + i);
				sim_wake(w, first + i, sim_exponential(w, think_ns) + 1, answer, false);
			}
			for (uint32_t i = 0; i < workers; i++)
				sim_block(w, boss, 2 * US, answer);
			sim_sleep(w, boss, 2 * US, think_ns / 2 + sim_lot(w, think_ns));
		}
	}
}

/* ---- latencies ---- */

void sim_latencies(struct sim_world *w, uint64_t exit_ns)
{
	for (uint32_t kind = 0; kind < WI_NR_WAKE_KINDS; kind++)
		for (uint32_t i = 0; i < 64; i++) {
			bool remote = kind & WI_WAKE_REMOTE, busy = kind & WI_WAKE_BUSY;
			uint64_t gap_ns = 200 + sim_lot(w, 200), sent_ns = remote ? 400 + sim_lot(w, 800) : 100,
				 start_ns = !busy    ? exit_ns / 2 + sim_lot(w, exit_ns)
					    : remote ? 700 + sim_lot(w, 1500)
						     : 300 + sim_lot(w, 300);
			struct wi_wake_noise n = { wi_noise_encode(gap_ns), wi_noise_encode(gap_ns + sent_ns),
						   wi_noise_encode(start_ns), (uint8_t)kind,
						   busy ? WI_WAKE_PREEMPTED : 0 };

			wi_work_add_noise(w->b, &n);
		}
	w->noise.gap = w->noise.transit = w->noise.start = WI_NOISE_UNKNOWN;
}

/* ---- anything ---- */

/*
 * Tapes are written as one order of events that comes to an end. Each counter is taken from by one task and nobody's
 * tape depends on who came first, so every other order comes to an end as well.
 */
struct anything {
	struct sim_world *w;
	uint32_t n, first, nr_ready;
	struct {
		enum { NOT_BORN, READY, BLOCKED, OVER } is;
		uint32_t on; /* counter */
		uint32_t blocks;
	} * task;
	uint32_t first_counter, stored[3 * 64];
	bool strange, plain;
};

#define COUNTERS 3 /* of each task */

static void wake_by(struct anything *a, uint32_t t, uint32_t counter)
{
	uint32_t wakee = counter / COUNTERS;

	sim_wake(a->w, a->first + t, (a->plain ? US : 0) + sim_lot(a->w, 200 * US), a->first_counter + counter,
		 sim_lot(a->w, 2));
	if (a->task[wakee].is == BLOCKED && a->task[wakee].on == counter) {
		a->task[wakee].is = READY;
		a->nr_ready++;
	} else {
		a->stored[counter]++;
	}
}

static void block_by(struct anything *a, uint32_t t, uint64_t run_ns)
{
	uint32_t counter = t * COUNTERS + (uint32_t)sim_lot(a->w, COUNTERS);

	if (!a->stored[counter] && a->nr_ready < 2)
		return;
	sim_block(a->w, a->first + t, run_ns, a->first_counter + counter);
	a->task[t].blocks++;
	if (a->stored[counter]) {
		a->stored[counter]--;
		return;
	}
	a->task[t].is = BLOCKED;
	a->task[t].on = counter;
	a->nr_ready--;
}

static uint64_t any_prio(struct anything *a)
{
	static const uint8_t fair[] = { WAKEIF_POLICY_NORMAL, WAKEIF_POLICY_NORMAL, WAKEIF_POLICY_BATCH,
					WAKEIF_POLICY_IDLE };

	if (a->strange && !sim_lot(a->w, 4))
		return (50 + sim_lot(a->w, 10)) << 8 | (sim_lot(a->w, 2) ? WAKEIF_POLICY_FIFO : WAKEIF_POLICY_RR);
	return (110 + sim_lot(a->w, 20)) << 8 | fair[sim_lot(a->w, 4)];
}

static void any_op(struct anything *a, uint32_t t)
{
	struct sim_world *w = a->w;
	uint32_t self = a->first + t, other = (uint32_t)sim_lot(w, a->n), what = (uint32_t)sim_lot(w, 16);
	uint64_t run_ns = (a->plain ? US : 0) + (sim_lot(w, 4) ? sim_lot(w, 100 * US) : sim_lot(w, 5 * MS));

	if (a->plain && (what == 11 || what == 13))
		what = 0;
	switch (what) {
	case 0:
		sim_op(w, self, sim_lot(w, US), WI_OP_RUN, 0, run_ns);
		break;
	case 1:
	case 2:
	case 3:
	case 4:
		wake_by(a, t, other * COUNTERS + (uint32_t)sim_lot(w, COUNTERS));
		break;
	case 5:
	case 6:
	case 7:
	case 8:
		block_by(a, t, run_ns);
		break;
	case 9:
	case 10:
		sim_sleep(w, self, run_ns, sim_lot(w, 2 * MS));
		a->task[t].blocks++;
		break;
	case 11:
		if (other == t || a->task[other].is == NOT_BORN || a->task[other].is == OVER)
			break;
		sim_op(w, self, run_ns, WI_OP_UNSEEN, a->first_counter + other * COUNTERS, 0);
		sim_op(w, a->first + other, run_ns, WI_OP_TAKE, a->first_counter + other * COUNTERS, 0);
		break;
	case 12:
		if (!a->plain && sim_lot(w, 2)) {
			sim_op(w, self, run_ns, WI_OP_STALL, 0, 0);
			sim_op(w, self, sim_lot(w, 10 * MS), WI_OP_RESUME, 0, 0);
			break;
		}
		sim_op(w, self, run_ns, WI_OP_YIELD, 0, 0);
		break;
	case 13:
		sim_op(w, self, run_ns, sim_lot(w, 2) ? WI_OP_EXEC : WI_OP_RENICE, 0, any_prio(a));
		break;
	case 14:
		if (a->task[other].is != NOT_BORN)
			break;
		sim_op(w, self, run_ns, WI_OP_FORK, a->first + other, 0);
		a->task[other].is = READY;
		a->nr_ready++;
		break;
	default:
		if (a->nr_ready < 2 || sim_lot(w, 8))
			break;
		sim_op(w, self, run_ns, sim_lot(w, 2) ? WI_OP_EXIT : WI_OP_END, 0, 0);
		a->task[t].is = OVER;
		a->nr_ready--;
	}
}

static uint32_t any_ready(struct anything *a)
{
	uint32_t t = (uint32_t)sim_lot(a->w, a->n);

	while (a->task[t].is != READY)
		t = (t + 1) % a->n;
	return t;
}

static void any_task(struct anything *a, uint32_t i)
{
	struct sim_world *w = a->w;
	enum wi_work_start start = i ? (enum wi_work_start)sim_lot(w, 4) : WI_START_RUNNABLE;
	uint32_t t = sim_task(w, "any", by_turns(w, (uint32_t)sim_lot(w, 64)), start);

	if (!i)
		a->first = t;
	if (a->plain) {
		sim_nice(w, t, (int)sim_lot(w, 3) * ((int)sim_lot(w, 20) - 10));
	} else if (!sim_lot(w, 4)) {
		uint64_t prio = any_prio(a);

		wi_work_task(w->b, t)->prio = (int16_t)(prio >> 8);
		wi_work_task(w->b, t)->policy = (uint8_t)prio;
	}
	for (uint32_t c = 0; c < COUNTERS; c++) {
		uint32_t counter = sim_counter(w, t);

		if (!i && !c)
			a->first_counter = counter;
	}
	a->task[i].is = start == WI_START_UNBORN ? NOT_BORN : READY;
	a->nr_ready += start != WI_START_UNBORN;
	if (start == WI_START_BLOCKED && (a->nr_ready < 2 || sim_lot(w, 2))) {
		sim_sleep(w, t, 0, sim_lot(w, 2 * MS));
		a->task[i].blocks++;
	} else if (start == WI_START_BLOCKED) {
		block_by(a, i, 0);
	}
	if (a->plain || sim_lot(w, 3) || (start == WI_START_UNBORN && !a->strange))
		return;
	wakeif_word *mask = calloc(w->topo->nr_words, sizeof(*mask));

	need(mask, "out of memory");
	for (uint32_t n = 1 + (uint32_t)sim_lot(w, 4); n; n--)
		wi_mask_set(mask, by_turns(w, (uint32_t)sim_lot(w, 64)));
	wi_work_task(w->b, t)->allowed = wi_work_add_mask(w->b, mask, w->topo->nr_words);
	if (start != WI_START_UNBORN && !wi_mask_test(mask, wi_work_task(w->b, t)->cpu))
		wi_work_task(w->b, t)->cpu = wi_mask_next(mask, w->topo->nr_words, 0);
	free(mask);
}

static void any_world(struct sim_world *w, uint32_t nr_tasks, uint32_t nr_ops, bool strange, bool plain)
{
	struct anything a = { .w = w, .n = nr_tasks > 64 ? 64 : nr_tasks, .strange = strange, .plain = plain };

	a.task = calloc(a.n, sizeof(*a.task));
	need(a.task, "out of memory");
	for (uint32_t i = 0; i < a.n; i++)
		any_task(&a, i);
	for (uint32_t n = 0; n < nr_ops; n++)
		any_op(&a, any_ready(&a));
	for (uint32_t i = 0; i < a.n; i++) {
		if (a.task[i].is == BLOCKED)
			wake_by(&a, any_ready(&a), a.task[i].on);
		if (plain && a.task[i].is != OVER)
			sim_op(w, a.first + i, 1 + sim_lot(w, MS), WI_OP_RUN, 0,
			       1 + sim_lot(w, MS)); /* no two things at one instant */
		if (a.task[i].is != NOT_BORN)
			continue;
		wi_work_task(w->b, a.first + i)->born_unseen = true;
		wi_work_task(w->b, a.first + i)->cpu = by_turns(w, i);
		wi_work_task(w->b, a.first + i)->start_ns = sim_lot(w, 20 * MS);
		sim_run(w, a.first + i, sim_lot(w, MS));
	}
	free(a.task);
}

void sim_anything(struct sim_world *w, uint32_t nr_tasks, uint32_t nr_ops, bool strange)
{
	any_world(w, nr_tasks, nr_ops, strange, false);
}

void sim_plain(struct sim_world *w, uint32_t nr_tasks, uint32_t nr_ops)
{
	any_world(w, nr_tasks, nr_ops, false, true);
}
