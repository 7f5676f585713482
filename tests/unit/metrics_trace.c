/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Random traces for the metrics: a small machine whose CPUs run, preempt, block, wake, fork and move tasks at random. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/base/cpumask.h"
#include "tests/unit/metrics_fixture.h"

#define MAX_TASKS 320
#define MAX_CPUS 256
#define FIRST_PID 100

uint32_t mx_random(struct mx_rng *rng, uint32_t below)
{
	rng->state = rng->state * 6364136223846793005ull + 1442695040888963407ull;
	return below ? (uint32_t)(rng->state >> 33) % below : 0;
}

enum { BLOCKED, WAKING, QUEUED, RUNNING, DEAD };

struct sim_task {
	int pid, state;
	uint32_t cpu, target; /* target: where a wakeup will put it */
	uint64_t enqueue_ns;  /* earliest time of that */
	int waker_cpu;
};

struct sim {
	FILE *out;
	struct mx_rng *rng;
	const struct wakeif_topology *topo;
	const struct wi_task_fact *facts;
	size_t nr_facts;
	struct sim_task task[MAX_TASKS];
	int nr_tasks, next_pid;
	int current[MAX_CPUS]; /* index; -1 idle */
	uint64_t now;
};

static uint32_t roll(struct sim *s, uint32_t below)
{
	return mx_random(s->rng, below);
}

static bool may_run(const struct sim *s, int pid, uint32_t cpu)
{
	for (size_t i = 0; i < s->nr_facts; i++)
		if (s->facts[i].pid == pid && s->facts[i].allowed)
			return wi_mask_test(s->facts[i].allowed, cpu);
	return true;
}

static uint32_t random_cpu(struct sim *s, int pid)
{
	for (int i = 0; i < 200; i++) {
		uint32_t c = roll(s, s->topo->nr_cpus);

		if (wi_mask_test(s->topo->online, c) && may_run(s, pid, c))
			return c;
	}
	return wi_mask_next(s->topo->online, s->topo->nr_words, 0);
}

static int pid_on(const struct sim *s, uint32_t cpu)
{
	return s->current[cpu] < 0 ? 0 : s->task[s->current[cpu]].pid;
}

static void line(struct sim *s, uint32_t cpu, const char *flags, const char *text)
{
	fprintf(s->out, "%llu %u %d%s %s\n", (unsigned long long)s->now, cpu, pid_on(s, cpu), flags, text);
}

static void wake(struct sim *s)
{
	int i = (int)roll(s, (uint32_t)s->nr_tasks);
	struct sim_task *t = &s->task[i];
	uint32_t waker = random_cpu(s, -1);
	char text[64];

	if (t->state != BLOCKED)
		return;
	t->target = roll(s, 3) ? random_cpu(s, t->pid) : t->cpu;
	t->state = WAKING;
	t->waker_cpu = (int)waker;
	snprintf(text, sizeof(text), "waking %d %u", t->pid, t->cpu);
	line(s, waker, roll(s, 4) ? "" : roll(s, 2) ? "h" : "s", text);
	if (t->target != t->cpu) {
		s->now += roll(s, 12);
		snprintf(text, sizeof(text), "migrate %d %u %u", t->pid, t->cpu, t->target);
		line(s, waker, "", text);
	}
	t->cpu = t->target;
	t->enqueue_ns = s->now + roll(s, 400);
}

static void enqueue(struct sim *s, struct sim_task *t)
{
	char text[64];

	snprintf(text, sizeof(text), "wakeup %d %u", t->pid, t->cpu);
	line(s, roll(s, 2) ? t->cpu : (uint32_t)t->waker_cpu, "", text);
	t->state = QUEUED;
}

static int pick_queued(struct sim *s, uint32_t cpu)
{
	int found = -1, seen = 0;

	for (int i = 0; i < s->nr_tasks; i++)
		if (s->task[i].state == QUEUED && s->task[i].cpu == cpu && !roll(s, (uint32_t)++seen))
			found = i;
	return found;
}

static void reschedule(struct sim *s, uint32_t cpu)
{
	int next = pick_queued(s, cpu), prev = s->current[cpu];
	char text[64], letter = 'R';

	if (prev < 0 && next < 0)
		return;
	if (prev >= 0) {
		struct sim_task *t = &s->task[prev];
		bool stays = next >= 0 && roll(s, 2);

		t->state = stays ? QUEUED : BLOCKED;
		letter = stays ? 'R' : roll(s, 3) ? 'S' : 'D';
		if (!stays && !roll(s, 25)) {
			line(s, cpu, "", "exit");
			t->state = DEAD;
			letter = 'X';
		}
	}
	snprintf(text, sizeof(text), "switch %c %d", letter, next < 0 ? 0 : s->task[next].pid);
	line(s, cpu, "", text);
	if (next >= 0)
		s->task[next].state = RUNNING;
	s->current[cpu] = next;
}

static void fork_child(struct sim *s, uint32_t cpu)
{
	char text[64];
	int slot = -1;

	for (int i = 0; i < s->nr_tasks; i++)
		if (s->task[i].state == DEAD)
			slot = i;
	if (slot < 0 && s->nr_tasks < MAX_TASKS)
		slot = s->nr_tasks++;
	if (slot < 0 || s->current[cpu] < 0)
		return;
	struct sim_task *t = &s->task[slot];
	t->pid = s->next_pid++;
	snprintf(text, sizeof(text), "fork %d", t->pid);
	line(s, cpu, "", text);
	s->now += roll(s, 50);
	t->cpu = random_cpu(s, t->pid);
	t->state = QUEUED;
	snprintf(text, sizeof(text), "new %d %u", t->pid, t->cpu);
	line(s, cpu, "", text);
}

/* The balancer moves a task that waits. */
static void balance(struct sim *s)
{
	struct sim_task *t = &s->task[roll(s, (uint32_t)s->nr_tasks)];
	uint32_t dest = random_cpu(s, t->pid);
	char text[64];

	if (t->state != QUEUED || dest == t->cpu)
		return;
	snprintf(text, sizeof(text), "migrate %d %u %u", t->pid, t->cpu, dest);
	line(s, dest, "", text);
	t->cpu = dest;
}

static void act(struct sim *s, bool lost)
{
	uint32_t cpu = random_cpu(s, -1);

	s->now += roll(s, 5) ? roll(s, 700) : 0;
	for (int i = 0; i < s->nr_tasks; i++)
		if (s->task[i].state == WAKING && s->task[i].enqueue_ns <= s->now)
			enqueue(s, &s->task[i]);
	switch (roll(s, 16)) {
	case 0 ... 5:
		wake(s);
		break;
	case 6 ... 11:
		reschedule(s, cpu);
		break;
	case 12:
		balance(s);
		break;
	case 13:
		if (!roll(s, 3))
			fork_child(s, cpu);
		break;
	case 14:
		if (lost && !roll(s, 4))
			line(s, cpu, "", "lost");
		break;
	default:
		line(s, cpu, "", roll(s, 2) ? "other" : roll(s, 2) ? "cpu_idle 2" : "cpu_idle -1");
		break;
	}
}

char *mx_random_trace(struct mx_rng *rng, const struct wakeif_topology *topo, const struct wi_task_fact *facts, size_t nr_facts, int nr,
		      bool lost)
{
	struct sim s = { .rng = rng, .topo = topo, .facts = facts, .nr_facts = nr_facts, .now = 1000, .next_pid = FIRST_PID };
	char *text = NULL;
	size_t len;

	s.out = open_memstream(&text, &len);
	for (uint32_t c = 0; c < MAX_CPUS; c++)
		s.current[c] = -1;
	for (uint32_t i = 0; i < topo->nr_cpus * 2 && i < MAX_TASKS; i++) {
		struct sim_task *t = &s.task[s.nr_tasks++];

		t->pid = s.next_pid++;
		t->cpu = random_cpu(&s, t->pid);
	}
	wi_mask_for_each(c, topo->online, topo->nr_words)
		line(&s, c, "", "other"); /* idle from the start */
	for (int i = 0; i < nr; i++)
		act(&s, lost);
	fclose(s.out);
	return text;
}
