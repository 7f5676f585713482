/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One run of the machine as text, for a reference that does the same by brute force (tests/reference/sim.py): the
 * machine, the tapes, then the events. No balancing, no latencies, fair tasks of CFS.
 *
 *	sim_dump SEED
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "analyzer/base/kernel.h"
#include "analyzer/topology/topology.h"
#include "models/params.h"
#include "tests/unit/sim_world.h"

static const struct {
	const char *spec;
	uint32_t threads;
} machines[] = { { "pu:1", 1 },
		 { "pack:1 l3:1 core:2 pu:1", 1 },
		 { "pack:1 l3:1 core:1 pu:2", 2 },
		 { "pack:1 l3:1 core:2 pu:2", 2 },
		 { "pack:1 l3:1 core:3 pu:1", 1 },
		 { "pack:1 l3:1 core:4 pu:2", 2 } };

static bool print(void *ctx, const struct wi_event *ev)
{
	(void)ctx;
	switch (ev->type) {
	case WI_EV_SCHED_SWITCH:
		printf("ev %" PRIu64 " switch %u %u %u %c\n", ev->ts_ns, ev->cpu, ev->sw.prev_comm, ev->sw.next_comm,
		       ev->sw.prev_state);
		break;
	case WI_EV_SCHED_WAKING:
		printf("ev %" PRIu64 " waking %u %u %d\n", ev->ts_ns, ev->cpu, ev->wk.comm, ev->wk.target_cpu);
		break;
	case WI_EV_SCHED_WAKEUP:
	case WI_EV_SCHED_WAKEUP_NEW:
		printf("ev %" PRIu64 " %s %u %d\n", ev->ts_ns, ev->type == WI_EV_SCHED_WAKEUP ? "wakeup" : "new",
		       ev->wk.comm, ev->wk.target_cpu);
		break;
	case WI_EV_SCHED_MIGRATE_TASK:
		printf("ev %" PRIu64 " migrate %u %d %d\n", ev->ts_ns, ev->mig.comm, ev->mig.orig_cpu,
		       ev->mig.dest_cpu);
		break;
	default:
		break;
	}
	return true;
}

static void print_tapes(const struct wi_workload *w)
{
	static const char *const start[] = { "running", "runnable", "blocked", "unborn" };

	for (uint32_t i = 0; i < w->nr_counters; i++)
		printf("counter %u %u\n", w->counter[i].task, w->counter[i].initial);
	for (uint32_t i = 0; i < w->nr_sleeps; i++)
		printf("sleep %" PRIu64 "\n", w->sleep[i].length_ns);
	for (uint32_t i = 0; i < w->nr_tasks; i++) {
		const struct wi_work_task *t = &w->task[i];

		printf("task %s %d %d %" PRIu64 "\n", start[t->start], t->cpu == WI_WORK_NONE ? -1 : (int)t->cpu,
		       t->prio, t->born_unseen ? t->start_ns : 0);
		for (size_t n = 0; n < t->nr_ops; n++) {
			const struct wi_op *op = &w->ops[t->first_op + n];

			printf("op %s %u %u %" PRIu64 "\n", wi_op_name((enum wi_op_kind)op->kind), op->work_ns,
			       op->target, op->kind == WI_OP_RUN ? op->value : 0);
		}
	}
}

int main(int argc, char **argv)
{
	uint64_t seed = argc == 2 ? strtoull(argv[1], NULL, 10) : 0;
	const char *name = seed & 1 ? "idle-core-first" : "prev";
	size_t m = seed / 2 % (sizeof(machines) / sizeof(*machines)), at;
	struct wi_err err = { 0 };
	const struct wakeif_topology *topo = wi_topology_load(machines[m].spec, &err);
	struct wi_model_spec model;
	struct wi_sim_result r;
	struct sim_world w;

	if (argc != 2 || !topo || !wi_model_spec_parse(name, &model, &at, &err)) {
		fprintf(stderr, "sim_dump: %s\n", argc != 2 ? "usage: sim_dump SEED" : err.msg);
		return 1;
	}
	sim_world_begin(&w, topo, WI_KERNEL(6, 1), seed);
	sim_plain(&w, 2 + (uint32_t)sim_lot(&w, 12), 100 + (uint32_t)sim_lot(&w, 300));

	const uint32_t speed[] = { 1024, 512, 635 };
	struct wi_sim_opts o = { .seed = seed,
				 .ops = model.ops,
				 .values = model.values,
				 .pick = WI_PICK_CFS,
				 .balance = WI_BALANCE_OFF,
				 .noise = WI_NOISE_NONE,
				 .external = WI_EXTERNAL_RELATIVE,
				 .smt_speed = speed[sim_lot(&w, 3)],
				 .tick_ns = 1000000 + sim_lot(&w, 4) * 1000000,
				 .no_wakeup_preemption = !sim_lot(&w, 6),
				 .sink = print };
	struct wi_workload *load = sim_world_end(&w);

	for (uint32_t i = 0; i < load->nr_sleeps;
	     i++) /* all timers are CPU 0's, so that none goes off with another's interrupt */
		load->sleep[i].on_own_cpu = false;
	printf("machine %u %u\nopts %s %" PRIu64 " %u %" PRIu64 " %d\n", topo->nr_cpus, machines[m].threads, name, seed,
	       o.smt_speed, o.tick_ns, o.no_wakeup_preemption);
	print_tapes(load);
	if (!wi_sim_run(load, &o, &r, &err)) {
		fprintf(stderr, "sim_dump: %s\n", err.msg);
		return 1;
	}
	printf("end %" PRIu64 "\n", r.end_ns);
	wi_sim_result_fini(&r);
	wi_workload_free(load);
	wi_model_spec_fini(&model);
	wi_topology_free(topo);
	return 0;
}
