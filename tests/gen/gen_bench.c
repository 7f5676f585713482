/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A large, plausible trace for the benchmarks: N CPUs, four tasks a CPU that run, wake others, block and are preempted.
 * The switch chain holds, wakeups are waking -> (migrate) -> wakeup -> switch, idle CPUs leave and enter idle.
 *
 *   gen_bench -o FILE [-e EVENTS] [-c CPUS] [-V 6|7] [-z none|zlib|zstd] [-k CHUNK_PAGES] [-p PAGE_BYTES] [-s SEED]
 *   gen_bench -o FOLDER -n COUNT ...     so many traces, the seeds of which follow each other
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/gen/tracedat_writer.h"

#define QUEUE 64
#define FOLDER_TRACES 100

struct task {
	int32_t pid;
	char comm[16];
	uint32_t cpu; /* last or current */
	bool asleep;
	int16_t prio;
};

struct cpu {
	uint64_t now, last; /* next moment; last record */
	int32_t current;    /* task, -1: idle */
	uint32_t queue[QUEUE], nr_queued;
	bool idle_entered;
};

struct gen {
	struct tdw *w;
	struct task *task;
	uint32_t nr_tasks, nr_cpus;
	struct cpu *cpu;
	uint64_t left, seed;
};

static uint64_t rnd(struct gen *g)
{
	g->seed ^= g->seed << 13;
	g->seed ^= g->seed >> 7;
	g->seed ^= g->seed << 17;
	return g->seed;
}

static uint64_t between(struct gen *g, uint64_t lo, uint64_t hi)
{
	return lo + rnd(g) % (hi - lo);
}

static void emit(struct gen *g, struct wi_event *ev, uint32_t c, uint8_t flags, const char *comm, const char *comm2)
{
	struct cpu *cpu = &g->cpu[c];

	ev->ts_ns = cpu->last = cpu->now;
	ev->cpu = c;
	ev->common_flags = flags;
	ev->common_pid = cpu->current < 0 ? 0 : g->task[cpu->current].pid;
	tdw_event(g->w, 0, ev, comm, comm2);
	cpu->now += between(g, 300, 1500);
	if (g->left)
		g->left--;
}

static void idle_event(struct gen *g, uint32_t c, uint32_t state)
{
	struct wi_event ev = { .type = WI_EV_CPU_IDLE, .idle = { .state = state, .cpu_id = c } };

	emit(g, &ev, c, WI_FLAG_IRQS_OFF, NULL, NULL);
	g->cpu[c].idle_entered = state != UINT32_MAX;
}

static void name_of(const struct gen *g, int32_t t, uint32_t c, char out[16], int32_t *pid, int16_t *prio)
{
	if (t < 0) {
		snprintf(out, 16, "swapper/%u", c);
		*pid = 0;
		*prio = 120;
		return;
	}
	memcpy(out, g->task[t].comm, 16);
	*pid = g->task[t].pid;
	*prio = g->task[t].prio;
}

static void switch_to(struct gen *g, uint32_t c, int32_t next, char state, bool preempted)
{
	struct cpu *cpu = &g->cpu[c];
	struct wi_event ev = { .type = WI_EV_SCHED_SWITCH };
	char prev_comm[16], next_comm[16];

	name_of(g, cpu->current, c, prev_comm, &ev.sw.prev_pid, &ev.sw.prev_prio);
	name_of(g, next, c, next_comm, &ev.sw.next_pid, &ev.sw.next_prio);
	ev.sw.prev_state = state;
	ev.sw.preempted = preempted;
	emit(g, &ev, c, WI_FLAG_IRQS_OFF, prev_comm, next_comm);
	cpu->current = next;
	if (next >= 0)
		g->task[next].cpu = c;
}

static int32_t sleeper(struct gen *g)
{
	for (int i = 0; i < 8; i++) {
		uint32_t t = (uint32_t)(rnd(g) % g->nr_tasks);

		if (g->task[t].asleep)
			return (int32_t)t;
	}
	return -1;
}

/* Where a wakee goes: its last CPU if that idles, another idle one near it, or its last CPU all the same. */
static uint32_t place(struct gen *g, const struct task *p)
{
	for (uint32_t i = 0; i < 8 && i < g->nr_cpus; i++) {
		uint32_t c = (p->cpu + i) % g->nr_cpus;

		if (g->cpu[c].current < 0 && !g->cpu[c].nr_queued)
			return c;
	}
	return p->cpu;
}

static void wake(struct gen *g, uint32_t c, uint8_t flags)
{
	int32_t t = sleeper(g);

	if (t < 0)
		return;
	struct task *p = &g->task[t];
	uint32_t to = place(g, p);
	struct wi_event ev = { .type = WI_EV_SCHED_WAKING,
			       .wk = { .pid = p->pid, .prio = p->prio, .target_cpu = (int32_t)p->cpu, .success = 1 } };

	if (g->cpu[to].nr_queued == QUEUE)
		return;
	emit(g, &ev, c, flags, p->comm, NULL);
	if (to != p->cpu) {
		struct wi_event mig = {
			.type = WI_EV_SCHED_MIGRATE_TASK,
			.mig = { .pid = p->pid, .prio = p->prio, .orig_cpu = (int32_t)p->cpu, .dest_cpu = (int32_t)to }
		};

		emit(g, &mig, c, flags, p->comm, NULL);
	}
	ev.type = WI_EV_SCHED_WAKEUP;
	ev.wk.target_cpu = (int32_t)to;
	emit(g, &ev, c, flags, p->comm, NULL);
	p->asleep = false;
	p->cpu = to;
	g->cpu[to].queue[g->cpu[to].nr_queued++] = (uint32_t)t;
	if (to != c && g->cpu[to].current < 0) {
		uint64_t soon = g->cpu[c].now + between(g, 1000, 4000);

		if (soon <= g->cpu[to].last)
			soon = g->cpu[to].last + 300;
		if (g->cpu[to].now > soon)
			g->cpu[to].now = soon;
	}
}

static int32_t pop(struct cpu *cpu)
{
	uint32_t t = cpu->queue[0];

	if (!cpu->nr_queued)
		return -1;
	memmove(cpu->queue, cpu->queue + 1, --cpu->nr_queued * sizeof(cpu->queue[0]));
	return (int32_t)t;
}

static void run_idle(struct gen *g, uint32_t c)
{
	struct cpu *cpu = &g->cpu[c];

	if (!cpu->nr_queued && rnd(g) % 3 == 0)
		wake(g, c, WI_FLAG_IRQS_OFF | WI_FLAG_HARDIRQ);
	if (!cpu->nr_queued) {
		if (!cpu->idle_entered && rnd(g) % 4 == 0)
			idle_event(g, c, (uint32_t)(rnd(g) % 3));
		cpu->now += between(g, 20000, 200000);
		return;
	}
	if (cpu->idle_entered)
		idle_event(g, c, UINT32_MAX);
	switch_to(g, c, pop(cpu), 'R', false);
	cpu->now += between(g, 5000, 40000);
}

static void run_task(struct gen *g, uint32_t c)
{
	struct cpu *cpu = &g->cpu[c];
	uint64_t dice = rnd(g) % 100;

	if (dice < 45) {
		wake(g, c, rnd(g) % 4 ? 0 : WI_FLAG_IRQS_OFF | WI_FLAG_SOFTIRQ);
	} else if (dice < 60 && cpu->nr_queued) {
		uint32_t prev = (uint32_t)cpu->current;

		switch_to(g, c, pop(cpu), 'R', true);
		cpu->queue[cpu->nr_queued++] = prev;
	} else {
		struct task *p = &g->task[cpu->current];

		switch_to(g, c, pop(cpu), rnd(g) % 10 ? 'S' : 'D', false);
		p->asleep = true;
	}
	cpu->now += between(g, 3000, 30000);
}

/* The CPU that is furthest behind; a scan is fast enough for a few hundred. */
static uint32_t earliest(const struct gen *g)
{
	uint32_t best = 0;

	for (uint32_t i = 1; i < g->nr_cpus; i++)
		if (g->cpu[i].now < g->cpu[best].now)
			best = i;
	return best;
}

static void set_up(struct gen *g)
{
	static const char *const names[] = { "worker", "nginx",	    "kworker/u16:", "mysqld",
					     "java",   "rcu_sched", "DOM Worker",   "vhost-29" };

	g->task = calloc(g->nr_tasks, sizeof(*g->task));
	g->cpu = calloc(g->nr_cpus, sizeof(*g->cpu));
	if (!g->task || !g->cpu)
		exit(1);
	for (uint32_t i = 0; i < g->nr_tasks; i++) {
		g->task[i] = (struct task){
			.pid = (int32_t)(1000 + i), .cpu = i % g->nr_cpus, .asleep = true, .prio = i % 50 ? 120 : 98
		};
		snprintf(g->task[i].comm, 16, "%.12s%u", names[i % 8], i % 100);
		tdw_cmdline(g->w, g->task[i].pid, g->task[i].comm);
	}
	for (uint32_t i = 0; i < g->nr_cpus; i++) {
		g->cpu[i].current = -1;
		g->cpu[i].now = 1000000000 + i * 1000;
	}
}

static const char *option(int argc, char **argv, const char *name, const char *fallback)
{
	for (int i = 1; i + 1 < argc; i++)
		if (!strcmp(argv[i], name))
			return argv[i + 1];
	return fallback;
}

static uint64_t write_trace(const struct tdw_cfg *cfg, uint64_t events, uint64_t seed, const char *path)
{
	struct gen g = { .left = events, .nr_cpus = cfg->nr_cpus, .nr_tasks = cfg->nr_cpus * 4 };

	g.seed = seed * 0x9e3779b97f4a7c15u | 1;
	g.w = tdw_new(cfg);
	set_up(&g);
	while (g.left) {
		uint32_t c = earliest(&g);

		if (g.cpu[c].current < 0)
			run_idle(&g, c);
		else
			run_task(&g, c);
	}
	free(g.task);
	free(g.cpu);
	return tdw_finish(g.w, path);
}

/* An archive: folders of FOLDER_TRACES traces, each with a seed of its own. */
static uint64_t write_archive(const struct tdw_cfg *cfg, uint64_t events, uint64_t seed, const char *root,
			      unsigned count)
{
	char path[4096];
	uint64_t bytes = 0;

	for (unsigned i = 0; i < count; i++) {
		int len = snprintf(path, sizeof(path), "%s/%03u", root, i / FOLDER_TRACES);

		if (len >= (int)sizeof(path) - 16 || (i % FOLDER_TRACES == 0 && mkdir(path, 0777) && errno != EEXIST)) {
			fprintf(stderr, "%s: no such folder can be made\n", path);
			exit(1);
		}
		snprintf(path + len, sizeof(path) - (size_t)len, "/%05u.dat", i);
		bytes += write_trace(cfg, events, seed + i, path);
	}
	return bytes;
}

int main(int argc, char **argv)
{
	const char *out = option(argc, argv, "-o", NULL), *codec = option(argc, argv, "-z", "none");
	struct tdw_cfg cfg = {
		.version = (uint32_t)atoi(option(argc, argv, "-V", "6")),
		.long_size = 8,
		.page_bytes = (uint32_t)atoi(option(argc, argv, "-p", "4096")),
		.codec = !strcmp(codec, "zstd")	  ? TDW_ZSTD
			 : !strcmp(codec, "zlib") ? TDW_ZLIB
						  : TDW_NONE,
		.chunk_pages = (uint32_t)atoi(option(argc, argv, "-k", "10")),
		.nr_cpus = (uint32_t)atoi(option(argc, argv, "-c", "8")),
		.uname = "Linux bench 6.1.0-57-amd64 x86_64",
		.clock = "[local] global mono",
	};
	uint64_t events = strtoull(option(argc, argv, "-e", "8000000"), NULL, 10), bytes;
	uint64_t seed = strtoull(option(argc, argv, "-s", "1"), NULL, 10);
	unsigned count = (unsigned)strtoul(option(argc, argv, "-n", "0"), NULL, 10);

	if (!out || !cfg.nr_cpus || cfg.nr_cpus > 4096 || cfg.page_bytes < 1024) {
		fprintf(stderr,
			"usage: %s -o FILE [-e EVENTS] [-c CPUS] [-V 6|7] [-z none|zlib|zstd] [-k CHUNK_PAGES] [-p "
			"PAGE_BYTES] [-s SEED] [-n COUNT, FILE is a folder]\n",
			argv[0]);
		return 2;
	}
	bytes = count ? write_archive(&cfg, events, seed, out, count) : write_trace(&cfg, events, seed, out);
	printf("%s: %llu bytes\n", out, (unsigned long long)bytes);
	return 0;
}
