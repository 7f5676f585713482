/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tracedat_fixture.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct sim_cpu {
	uint64_t ts;
	int32_t current;
	int32_t leaving; /* -1 */
	bool other_run;
	int32_t other_pid;
	uint64_t last_seen; /* stamp of the last record of any kind */
	bool any;
	struct expected *e;
	size_t nr, cap, next;
};

struct sim {
	struct tdw *w;
	const struct tdw_cfg *cfg;
	uint32_t buffer;
	unsigned int flags;
	uint64_t seed;
	struct sim_cpu *cpu;
};

static uint32_t rnd(struct sim *s, uint32_t n)
{
	s->seed = s->seed * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(s->seed >> 33) % n;
}

static void *must(void *p)
{
	if (!p)
		abort();
	return p;
}

static void want(struct sim_cpu *c, const struct expected *e)
{
	if (c->nr == c->cap) {
		c->cap = c->cap ? c->cap * 2 : 64;
		c->e = must(realloc(c->e, c->cap * sizeof(*c->e)));
	}
	c->e[c->nr++] = *e;
}

static void name_of(char *out, int32_t pid)
{
	static const char *const odd[] = { "",	  "a: b [001] 1.0:", "x ==> next_comm", "sixteen-chars--", "DOM Worker",
					   "-29", "[kthread]" };

	if (pid % 9 < 7 && pid)
		snprintf(out, 17, "%s", odd[pid % 7]);
	else
		snprintf(out, 17, "task%d", pid);
}

static void write_event(struct sim *s, uint32_t c, struct expected *e)
{
	e->ev.cpu = c;
	e->ev.ts_ns = s->cpu[c].ts;
	if (e->ev.type == WI_EV_MARKER) {
		e->ev.marker.text = e->text;
		e->ev.marker.len = (uint32_t)strlen(e->text);
	}
	tdw_event(s->w, s->buffer, &e->ev, e->comm[0], e->comm[1]);
	s->cpu[c].last_seen = s->cpu[c].ts;
	s->cpu[c].any = true;
}

/* A record that must be delivered. */
static void event(struct sim *s, uint32_t c, struct expected *e)
{
	struct sim_cpu *cpu = &s->cpu[c];

	e->ev.common_flags = (uint8_t)(rnd(s, 4) ? 0 : WI_FLAG_IRQS_OFF | WI_FLAG_HARDIRQ);
	e->ev.common_preempt_count = (uint8_t)rnd(s, 3);
	e->ev.common_pid = cpu->current;
	e->ev.known |= WI_KNOWN_FLAGS | WI_KNOWN_COMMON_PID | WI_KNOWN_PREEMPT_COUNT;
	write_event(s, c, e);
	want(cpu, e);
	if (e->ev.type != WI_EV_MARKER) {
		cpu->other_run = e->ev.type == WI_EV_OTHER;
		cpu->other_pid = cpu->current;
		cpu->leaving = -1;
	}
}

static void do_switch(struct sim *s, uint32_t c)
{
	static const char states[] = "SDTtSSXZSS";
	struct sim_cpu *cpu = &s->cpu[c];
	struct expected e = { .ev = { .type = WI_EV_SCHED_SWITCH, .known = WI_KNOWN_STATE | WI_KNOWN_PREEMPTED } };
	int32_t next;

	do
		next = rnd(s, 4) ? (int32_t)(100 + rnd(s, 50)) : 0;
	while (next == cpu->current);
	e.ev.sw.prev_pid = cpu->current;
	e.ev.sw.next_pid = next;
	e.ev.sw.prev_prio = cpu->current % 7 == 3 ? -1 : (int16_t)(98 + cpu->current % 30);
	e.ev.sw.next_prio = (int16_t)(next % 140);
	e.ev.sw.prev_state = rnd(s, 3) ? states[rnd(s, 10)] : 'R';
	e.ev.sw.preempted = e.ev.sw.prev_state == 'R' && rnd(s, 2);
	name_of(e.comm[0], cpu->current);
	name_of(e.comm[1], next);
	event(s, c, &e);
	cpu->leaving = cpu->current;
	cpu->current = next;
}

static void do_task(struct sim *s, uint32_t c, enum wi_event_type type)
{
	struct expected e = { .ev = { .type = (uint8_t)type } };
	int32_t pid = (int32_t)(100 + rnd(s, 50)), prio = (int32_t)rnd(s, 141) - 1;

	name_of(e.comm[0], pid);
	if (type == WI_EV_SCHED_MIGRATE_TASK) {
		e.ev.mig.pid = pid;
		e.ev.mig.prio = (int16_t)prio;
		e.ev.mig.orig_cpu = (int32_t)rnd(s, s->cfg->nr_cpus);
		e.ev.mig.dest_cpu = (int32_t)rnd(s, s->cfg->nr_cpus);
	} else if (type == WI_EV_SCHED_PROCESS_EXIT) {
		e.ev.exit.pid = pid;
		e.ev.exit.prio = (int16_t)prio;
	} else {
		e.ev.wk.pid = pid;
		e.ev.wk.prio = (int16_t)prio;
		e.ev.wk.target_cpu = (int32_t)rnd(s, s->cfg->nr_cpus);
		e.ev.wk.success = !s->cfg->success_field || rnd(s, 5);
	}
	event(s, c, &e);
}

static void do_rare(struct sim *s, uint32_t c)
{
	struct sim_cpu *cpu = &s->cpu[c];
	struct expected e = { 0 };
	int32_t old;

	switch (rnd(s, 12)) {
	case 0:
		e.ev.type = WI_EV_SCHED_PROCESS_FORK;
		e.ev.fork.parent_pid = cpu->current;
		e.ev.fork.child_pid = (int32_t)(1000 + rnd(s, 1000));
		name_of(e.comm[0], cpu->current);
		name_of(e.comm[1], e.ev.fork.child_pid);
		break;
	case 1:
		old = cpu->current;
		cpu->current = (int32_t)(100 + rnd(s, 50)); /* the thread takes its leader's pid before the event */
		e.ev.type = WI_EV_SCHED_PROCESS_EXEC;
		e.ev.exec.pid = cpu->current;
		e.ev.exec.old_pid = old;
		break;
	case 2:
		do_task(s, c, WI_EV_SCHED_PROCESS_EXIT);
		return;
	case 3:
		e.ev.type = WI_EV_SCHED_STAT_RUNTIME;
		e.ev.stat.pid = cpu->current;
		e.ev.stat.runtime_ns = rnd(s, 1000000) * 1000ull;
		e.ev.stat.vruntime_ns = s->seed;
		name_of(e.comm[0], cpu->current);
		break;
	case 4:
		e.ev.type = WI_EV_LOCAL_TIMER_ENTRY;
		break;
	case 5:
		e.ev.type = WI_EV_CALL_FUNCTION_SINGLE_ENTRY;
		break;
	case 6:
		e.ev.type = WI_EV_RESCHEDULE_ENTRY;
		break;
	case 7:
		e.ev.type = WI_EV_HRTIMER_START;
		e.ev.hrtimer.hrtimer = 0x80001000u + rnd(s, 99);
		e.ev.hrtimer.expires_ns = cpu->ts + rnd(s, 1000000);
		break;
	case 8:
		e.ev.type = WI_EV_HRTIMER_EXPIRE_ENTRY;
		e.ev.hrtimer.hrtimer = 0x80001000u + rnd(s, 99);
		break;
	case 9:
		e.ev.type = rnd(s, 2) ? WI_EV_SYS_ENTER : WI_EV_SYS_EXIT;
		e.ev.sys.nr = (int64_t)rnd(s, 400) - 1;
		break;
	case 10:
		e.ev.type = WI_EV_MARKER;
		snprintf(e.text, sizeof(e.text), rnd(s, 2) ? "wakeif: 1 marker %u" : "two\nlines %u, sched_switch: x",
			 rnd(s, 100));
		break;
	default:
		if (cpu->other_run && cpu->other_pid == cpu->current)
			return;
		e.ev.type = WI_EV_OTHER;
	}
	event(s, c, &e);
}

/* Records that must not be delivered, and one that is but says nothing about who runs. */
static void do_hidden(struct sim *s, uint32_t c)
{
	struct sim_cpu *cpu = &s->cpu[c];
	struct expected e = { .ev = { .type = WI_EV_OTHER } };

	if (rnd(s, 2)) {
		tdw_function(s->w, s->buffer, c, cpu->ts, rnd(s, 2) ? cpu->current : 7);
		cpu->last_seen = cpu->ts;
		cpu->any = true;
	} else if (cpu->other_run && cpu->other_pid == cpu->current) {
		e.ev.common_pid = cpu->current;
		write_event(s, c, &e);
	} else if (cpu->leaving >= 0 && cpu->leaving != cpu->current) {
		e.ev.common_pid = cpu->leaving;
		if (rnd(s, 2)) {
			e.ev.type = WI_EV_HRTIMER_START;
			e.ev.hrtimer.hrtimer = 0x1000;
			e.ev.hrtimer.expires_ns = 77;
			e.ev.known = WI_KNOWN_FLAGS | WI_KNOWN_PREEMPT_COUNT;
			write_event(s, c, &e);
			want(cpu, &e);
			cpu->other_run = false;
			return;
		}
		write_event(s, c, &e);
	}
}

static void do_lost(struct sim *s, uint32_t c)
{
	struct sim_cpu *cpu = &s->cpu[c];
	struct expected e = { .ev = { .type = WI_EV_LOST, .cpu = c, .lost = { .kind = WI_LOST_MARK } } };

	e.ev.lost.nr_lost = rnd(s, 2) ? 1 + rnd(s, 1000) : 0;
	tdw_event(s->w, s->buffer, &e.ev, NULL, NULL);
	e.ev.ts_ns = cpu->last_seen;
	if (!cpu->any)
		e.ev.ts_ns = UINT64_MAX; /* dated when the first record of all is known */
	want(cpu, &e);
	cpu->other_run = false;
	cpu->leaving = -1;
	cpu->current = (int32_t)(100 + rnd(s, 50));
	cpu->ts += rnd(s, 5000);
	do_switch(s, c); /* a mark stands in front of a record */
}

static void advance_time(struct sim *s, uint32_t c)
{
	struct sim_cpu *cpu = &s->cpu[c];

	cpu->ts += rnd(s, 8) ? rnd(s, 3000) : 0;
	if (!(s->flags & REC_TIMES))
		return;
	switch (rnd(s, 40)) {
	case 0:
		cpu->ts += 200000000ull + rnd(s, 1000000000);
		break;
	case 1:
		tdw_absolute(s->w, s->buffer, c);
		break;
	case 2:
		cpu->ts += 10;
		tdw_discarded(s->w, s->buffer, c, cpu->ts, 4 * (1 + rnd(s, 20)));
		cpu->ts += 10;
		break;
	case 3:
		tdw_page_break(s->w, s->buffer, c);
		break;
	default:
		break;
	}
}

static void step(struct sim *s)
{
	uint32_t c = rnd(s, s->cfg->nr_cpus), dice = rnd(s, 100);

	if (c == 1 && (s->flags & REC_EMPTY_CPU))
		return;
	advance_time(s, c);
	if (dice < 35) {
		do_switch(s, c);
	} else if (dice < 50) {
		do_task(s, c, WI_EV_SCHED_WAKING);
	} else if (dice < 60) {
		do_task(s, c, WI_EV_SCHED_WAKEUP);
	} else if (dice < 65) {
		do_task(s, c, WI_EV_SCHED_MIGRATE_TASK);
	} else if (dice < 72) {
		struct expected e = { .ev = { .type = WI_EV_CPU_IDLE,
					      .idle = { rnd(s, 2) ? UINT32_MAX : rnd(s, 4), c } } };

		event(s, c, &e);
	} else if (dice < 85) {
		if (s->flags & REC_ALL_TYPES)
			do_rare(s, c);
	} else if (dice < 97) {
		if (s->flags & REC_HIDDEN)
			do_hidden(s, c);
	} else if (s->flags & REC_LOST) {
		do_lost(s, c);
	}
}

static bool before(const struct expected *a, uint32_t ca, const struct expected *b, uint32_t cb)
{
	if (a->ev.ts_ns != b->ev.ts_ns)
		return a->ev.ts_ns < b->ev.ts_ns;
	if (a->ev.type != b->ev.type)
		return wi_event_rank(a->ev.type) < wi_event_rank(b->ev.type);
	return ca < cb;
}

/* Merge of the CPUs by the rule of parsers/event.h, one comparison at a time. */
static struct expected_list merge(struct sim *s)
{
	struct expected_list out = { 0 };
	size_t total = 0;

	for (uint32_t c = 0; c < s->cfg->nr_cpus; c++)
		total += s->cpu[c].nr;
	out.e = must(calloc(total + 1, sizeof(*out.e)));
	for (; out.nr < total; out.nr++) {
		struct sim_cpu *best = NULL;

		for (uint32_t c = 0; c < s->cfg->nr_cpus; c++) {
			struct sim_cpu *cpu = &s->cpu[c];

			if (cpu->next < cpu->nr &&
			    (!best || before(&cpu->e[cpu->next], c, &best->e[best->next], (uint32_t)(best - s->cpu))))
				best = cpu;
		}
		out.e[out.nr] = best->e[best->next++];
	}
	return out;
}

static void date_first_losses(struct sim *s, uint64_t first)
{
	for (uint32_t c = 0; c < s->cfg->nr_cpus; c++)
		for (size_t i = 0; i < s->cpu[c].nr; i++)
			if (s->cpu[c].e[i].ev.ts_ns == UINT64_MAX)
				s->cpu[c].e[i].ev.ts_ns = first;
}

struct expected_list record(struct tdw *w, const struct tdw_cfg *cfg, uint32_t buffer, uint32_t nr, unsigned int flags,
			    uint64_t seed, uint64_t (*map_ts)(uint32_t cpu, uint64_t ts))
{
	struct sim s = { .w = w, .cfg = cfg, .buffer = buffer, .flags = flags, .seed = seed };
	struct expected_list out;
	uint64_t first = UINT64_MAX;

	s.cpu = must(calloc(cfg->nr_cpus, sizeof(*s.cpu)));
	for (uint32_t c = 0; c < cfg->nr_cpus; c++) {
		s.cpu[c].ts = 5000000000ull + rnd(&s, 100000);
		s.cpu[c].leaving = -1;
		if (c == 1 && (flags & REC_EMPTY_CPU))
			continue;
		if ((flags & REC_LOST) && c % 3 == 2)
			do_lost(&s, c); /* an overwritten start */
		else
			do_switch(&s, c);
		if (s.cpu[c].last_seen < first)
			first = s.cpu[c].last_seen;
	}
	for (uint32_t i = 0; i < nr; i++)
		step(&s);
	date_first_losses(&s, first);
	for (uint32_t c = 0; c < cfg->nr_cpus && map_ts; c++)
		for (size_t i = 0; i < s.cpu[c].nr; i++)
			s.cpu[c].e[i].ev.ts_ns = map_ts(c, s.cpu[c].e[i].ev.ts_ns);
	out = merge(&s);
	for (uint32_t c = 0; c < cfg->nr_cpus; c++)
		free(s.cpu[c].e);
	free(s.cpu);
	return out;
}

void expected_free(struct expected_list *l)
{
	free(l->e);
	l->e = NULL;
	l->nr = 0;
}

static char folder[] = P_tmpdir "/wakeif-tracedat-XXXXXX";

static void clean_up(void)
{
	char cmd[128];

	snprintf(cmd, sizeof(cmd), "rm -rf '%s'", folder);
	if (system(cmd))
		fprintf(stderr, "%s stays\n", folder);
}

const char *test_path(const char *name)
{
	static char path[8][256];
	static unsigned int turn;
	static bool made;

	if (!made) {
		if (!mkdtemp(folder))
			abort();
		atexit(clean_up);
		made = true;
	}
	char *p = path[turn++ % 8];

	snprintf(p, sizeof(path[0]), "%s/%s", folder, name);
	return p;
}

struct opened open_with(const struct wi_parser_ops *ops, const char *path, const struct wi_open_opts *opts)
{
	static const struct wi_open_opts none = { 0 };
	struct opened o = { .ops = ops };
	struct stat st;

	o.info = must(calloc(1, sizeof(*o.info)));
	*o.info = (struct wi_source_info){
		.path = path, .kernel = "", .arch = "", .clock = "", .format = "", .wrapper = ""
	};
	o.names = must(wi_names_new());
	o.fd = open(path, O_RDONLY | O_CLOEXEC);
	if (o.fd < 0 || fstat(o.fd, &st) < 0)
		abort();
	o.info->file_bytes = S_ISDIR(st.st_mode) ? 0 : (uint64_t)st.st_size;
	o.self = ops->open(o.fd, o.info->file_bytes, path, opts ? opts : &none, o.names, o.info, &o.err);
	return o;
}

void close_opened(struct opened *o)
{
	if (o->self)
		o->ops->close(o->self);
	close(o->fd);
	wi_names_free(o->names);
	free(o->info);
	o->self = NULL;
}

static bool name_is(const struct opened *o, uint32_t id, const char *want_name)
{
	return id != WI_NAME_NONE && !strcmp(wi_names_get(o->names, id), want_name);
}

static bool same_fields(const struct opened *o, const struct wi_event *a, const struct expected *e)
{
	const struct wi_event *b = &e->ev;

	switch (b->type) {
	case WI_EV_LOST:
		return a->lost.nr_lost == b->lost.nr_lost && a->lost.kind == b->lost.kind;
	case WI_EV_SCHED_SWITCH:
		return a->sw.prev_pid == b->sw.prev_pid && a->sw.next_pid == b->sw.next_pid &&
		       a->sw.prev_prio == b->sw.prev_prio && a->sw.next_prio == b->sw.next_prio &&
		       a->sw.prev_state == b->sw.prev_state && a->sw.preempted == b->sw.preempted &&
		       name_is(o, a->sw.prev_comm, e->comm[0]) && name_is(o, a->sw.next_comm, e->comm[1]);
	case WI_EV_SCHED_WAKING:
	case WI_EV_SCHED_WAKEUP:
	case WI_EV_SCHED_WAKEUP_NEW:
		return a->wk.pid == b->wk.pid && a->wk.prio == b->wk.prio && a->wk.target_cpu == b->wk.target_cpu &&
		       a->wk.success == b->wk.success && name_is(o, a->wk.comm, e->comm[0]);
	case WI_EV_SCHED_MIGRATE_TASK:
		return a->mig.pid == b->mig.pid && a->mig.prio == b->mig.prio && a->mig.orig_cpu == b->mig.orig_cpu &&
		       a->mig.dest_cpu == b->mig.dest_cpu && name_is(o, a->mig.comm, e->comm[0]);
	case WI_EV_SCHED_PROCESS_FORK:
		return a->fork.parent_pid == b->fork.parent_pid && a->fork.child_pid == b->fork.child_pid &&
		       name_is(o, a->fork.parent_comm, e->comm[0]) && name_is(o, a->fork.child_comm, e->comm[1]);
	case WI_EV_SCHED_PROCESS_EXEC:
		return a->exec.pid == b->exec.pid && a->exec.old_pid == b->exec.old_pid;
	case WI_EV_SCHED_PROCESS_EXIT:
		return a->exit.pid == b->exit.pid && a->exit.prio == b->exit.prio &&
		       name_is(o, a->exit.comm, e->comm[0]);
	case WI_EV_CPU_IDLE:
		return a->idle.state == b->idle.state && a->idle.cpu_id == b->idle.cpu_id;
	case WI_EV_SCHED_STAT_RUNTIME:
		return a->stat.pid == b->stat.pid && a->stat.runtime_ns == b->stat.runtime_ns &&
		       a->stat.vruntime_ns == b->stat.vruntime_ns;
	case WI_EV_HRTIMER_START:
	case WI_EV_HRTIMER_EXPIRE_ENTRY:
		return a->hrtimer.hrtimer == b->hrtimer.hrtimer && a->hrtimer.expires_ns == b->hrtimer.expires_ns;
	case WI_EV_SYS_ENTER:
	case WI_EV_SYS_EXIT:
		return a->sys.nr == b->sys.nr;
	case WI_EV_MARKER:
		return a->marker.len == strlen(e->text) && !memcmp(a->marker.text, e->text, a->marker.len);
	default:
		return true;
	}
}

static bool same(const struct opened *o, const struct wi_event *a, const struct expected *e)
{
	const struct wi_event *b = &e->ev;

	if (a->type != b->type || a->ts_ns != b->ts_ns || a->cpu != b->cpu || a->known != b->known)
		return false;
	if (a->type != WI_EV_LOST && (a->common_pid != b->common_pid || a->common_flags != b->common_flags ||
				      a->common_preempt_count != b->common_preempt_count))
		return false;
	return same_fields(o, a, e);
}

static void show(const char *what, const struct wi_event *ev)
{
	fprintf(stderr, "%s: %s at %llu on CPU %u, pid %d, flags %x, preempt %u, known %x\n", what,
		wi_event_name(ev->type), (unsigned long long)ev->ts_ns, ev->cpu, ev->common_pid, ev->common_flags,
		ev->common_preempt_count, ev->known);
	if (ev->type == WI_EV_LOST)
		fprintf(stderr, "  %llu lost, kind %d\n", (unsigned long long)ev->lost.nr_lost, ev->lost.kind);
	if (ev->type == WI_EV_SCHED_SWITCH)
		fprintf(stderr, "  state %c %d\n", ev->sw.prev_state, ev->sw.preempted);
}

bool delivers(struct opened *o, const struct expected_list *l, int batch)
{
	struct wi_event *ev = must(calloc((size_t)batch, sizeof(*ev)));
	size_t at = 0;
	int n;

	while ((n = o->ops->next_batch(o->self, ev, batch, &o->err)) > 0) {
		for (int i = 0; i < n; i++, at++) {
			if (at < l->nr && same(o, &ev[i], &l->e[at]))
				continue;
			fprintf(stderr, "event %zu of %zu differs\n", at, l->nr);
			show("got", &ev[i]);
			if (at < l->nr)
				show("want", &l->e[at].ev);
			free(ev);
			return false;
		}
	}
	free(ev);
	if (n < 0)
		fprintf(stderr, "%s\n", o->err.msg);
	else if (at < l->nr)
		fprintf(stderr, "%zu events of %zu came\n", at, l->nr);
	return n == 0 && at == l->nr;
}

bool count_events(struct opened *o, uint64_t by_type[WI_NR_EVENT_TYPES])
{
	static struct wi_event ev[256];
	uint64_t last = 0;
	int n;

	memset(by_type, 0, WI_NR_EVENT_TYPES * sizeof(*by_type));
	while ((n = o->ops->next_batch(o->self, ev, 256, &o->err)) > 0) {
		for (int i = 0; i < n; i++) {
			if (ev[i].type >= WI_NR_EVENT_TYPES || ev[i].ts_ns < last || ev[i].cpu >= o->info->nr_cpus)
				return false;
			last = ev[i].ts_ns;
			by_type[ev[i].type]++;
		}
	}
	return n == 0;
}
