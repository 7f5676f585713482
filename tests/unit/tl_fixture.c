/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tests/unit/tl_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analyzer/base/cpumask.h"

static void *zalloc(size_t n, size_t size)
{
	void *p = calloc(n ? n : 1, size);

	if (!p)
		abort();
	return p;
}

struct wakeif_topology *tl_fixture_topology(uint32_t nodes, uint32_t llcs, uint32_t cores, uint32_t threads)
{
	uint32_t n = nodes * llcs * cores * threads, words = wi_mask_words(n);
	uint32_t per[WAKEIF_NR_SCOPES] = { threads, threads, threads * cores, threads * cores * llcs, n };
	struct wakeif_topology *t = zalloc(1, sizeof(*t));
	wakeif_word *all = zalloc(words, sizeof(*all));
	uint32_t *package = zalloc(n, sizeof(*package)), *size = zalloc(n, sizeof(*size)), *capacity = zalloc(n, sizeof(*capacity));
	int32_t *core_id = zalloc(n, sizeof(*core_id));

	t->size = sizeof(*t);
	t->nr_cpus = n;
	t->nr_words = words;
	t->source = "fixture";
	t->note = "";
	t->smt = threads;
	t->nr_packages = nodes;
	for (uint32_t c = 0; c < n; c++) {
		wi_mask_set(all, c);
		package[c] = c / per[WAKEIF_NODE];
		size[c] = threads * cores;
		capacity[c] = 1024;
		core_id[c] = (int32_t)(c / threads);
	}
	for (int s = 0; s < WAKEIF_NR_SCOPES; s++) {
		uint32_t groups = n / per[s], *group = zalloc(n, sizeof(*group));
		const wakeif_word **span = zalloc(groups, sizeof(*span));

		for (uint32_t g = 0; g < groups; g++) {
			wakeif_word *m = zalloc(words, sizeof(*m));

			for (uint32_t c = g * per[s]; c < (g + 1) * per[s]; c++) {
				wi_mask_set(m, c);
				group[c] = g;
			}
			span[g] = m;
		}
		t->nr_groups[s] = groups;
		t->group[s] = group;
		t->span[s] = span;
	}
	t->present = t->online = all;
	t->isolated = zalloc(words, sizeof(*all));
	t->package = package;
	t->core_id = t->package_id = t->node_id = core_id;
	t->capacity = capacity;
	t->llc_size = size;
	return t;
}

void tl_fixture_topology_free(struct wakeif_topology *t)
{
	for (int s = 0; s < WAKEIF_NR_SCOPES; s++) {
		for (uint32_t g = 0; g < t->nr_groups[s]; g++)
			free((void *)t->span[s][g]);
		free((void *)t->span[s]);
		free((void *)t->group[s]);
	}
	free((void *)t->present);
	free((void *)t->isolated);
	free((void *)t->package);
	free((void *)t->core_id);
	free((void *)t->capacity);
	free((void *)t->llc_size);
	free(t);
}

/* ---- events from text ---- */

static int32_t task_word(char *word, struct wi_names *names, uint32_t *comm)
{
	char *eq = strchr(word, '='), name[32];

	if (eq) {
		*eq = '\0';
		snprintf(name, sizeof(name), "%s", eq + 1);
	} else {
		snprintf(name, sizeof(name), "t%s", word);
	}
	int32_t pid = (int32_t)strtol(word, NULL, 10);
	*comm = wi_names_intern(names, name, strlen(name));
	return pid;
}

static void parse_event(char *line, struct wi_names *names, struct wi_event *e)
{
	char *w[8] = { 0 }, *save = NULL;
	int n = 0;

	for (char *p = strtok_r(line, " \t", &save); p && n < 8; p = strtok_r(NULL, " \t", &save))
		w[n++] = p;
	if (n < 4)
		fail_msg("event line too short");
	memset(e, 0, sizeof(*e));
	e->ts_ns = strtoull(w[0], NULL, 10);
	e->cpu = (uint32_t)strtoul(w[1], NULL, 10);
	char *end = w[2] + strlen(w[2]) - 1;
	bool digit = end > w[2] && end[-1] >= '0' && end[-1] <= '9';
	if (digit && *end == 'h')
		e->common_flags |= WI_FLAG_HARDIRQ;
	if (digit && *end == 's')
		e->common_flags |= WI_FLAG_SOFTIRQ;
	if (digit && (*end == 'h' || *end == 's'))
		*end = '\0';
	uint32_t comm;
	e->common_pid = task_word(w[2], names, &comm);
	e->known = WI_KNOWN_FLAGS | WI_KNOWN_COMMON_PID | WI_KNOWN_STATE | WI_KNOWN_PREEMPTED;
	if (!strcmp(w[3], "switch")) {
		e->type = WI_EV_SCHED_SWITCH;
		e->sw.prev_pid = e->common_pid;
		e->sw.prev_comm = e->common_pid ? comm : WI_NAME_NONE;
		e->sw.prev_state = w[4][0];
		e->sw.preempted = w[4][1] == '+';
		e->sw.next_pid = task_word(w[5], names, &e->sw.next_comm);
		e->sw.prev_prio = 120;
		e->sw.next_prio = (int16_t)(w[6] ? strtol(w[6], NULL, 10) : 120);
	} else if (!strcmp(w[3], "waking") || !strcmp(w[3], "wakeup") || !strcmp(w[3], "new")) {
		e->type = !strcmp(w[3], "waking") ? WI_EV_SCHED_WAKING : !strcmp(w[3], "wakeup") ? WI_EV_SCHED_WAKEUP : WI_EV_SCHED_WAKEUP_NEW;
		e->wk.pid = task_word(w[4], names, &e->wk.comm);
		e->wk.target_cpu = (int32_t)strtol(w[5], NULL, 10);
		e->wk.prio = (int16_t)(w[6] ? strtol(w[6], NULL, 10) : 120);
		e->wk.success = 1;
	} else if (!strcmp(w[3], "failed")) {
		e->type = WI_EV_SCHED_WAKEUP;
		e->wk.pid = task_word(w[4], names, &e->wk.comm);
		e->wk.target_cpu = (int32_t)strtol(w[5], NULL, 10);
	} else if (!strcmp(w[3], "migrate")) {
		e->type = WI_EV_SCHED_MIGRATE_TASK;
		e->mig.pid = task_word(w[4], names, &e->mig.comm);
		e->mig.orig_cpu = (int32_t)strtol(w[5], NULL, 10);
		e->mig.dest_cpu = (int32_t)strtol(w[6], NULL, 10);
		e->mig.prio = 120;
	} else if (!strcmp(w[3], "fork")) {
		e->type = WI_EV_SCHED_PROCESS_FORK;
		e->fork.parent_pid = e->common_pid;
		e->fork.parent_comm = comm;
		e->fork.child_pid = task_word(w[4], names, &e->fork.child_comm);
	} else if (!strcmp(w[3], "exec")) {
		e->type = WI_EV_SCHED_PROCESS_EXEC;
		e->exec.pid = (int32_t)strtol(w[4], NULL, 10);
		e->exec.old_pid = (int32_t)strtol(w[5], NULL, 10);
		if (w[6])
			e->exec.comm = wi_names_of_exec(names, w[6], strlen(w[6]));
	} else if (!strcmp(w[3], "exit")) {
		e->type = WI_EV_SCHED_PROCESS_EXIT;
		e->exit.pid = e->common_pid;
		e->exit.comm = comm;
	} else if (!strcmp(w[3], "lost") || !strcmp(w[3], "chain")) {
		e->type = WI_EV_LOST;
		e->lost.kind = w[3][0] == 'l' ? WI_LOST_MARK : WI_LOST_CHAIN;
	} else if (!strcmp(w[3], "cpu_idle")) {
		e->type = WI_EV_CPU_IDLE;
		e->idle.state = (uint32_t)strtol(w[4], NULL, 10);
		e->idle.cpu_id = e->cpu;
	} else if (!strcmp(w[3], "other")) {
		e->type = WI_EV_OTHER;
	} else {
		fail_msg("unknown event type %s", w[3]);
	}
}

int tl_fixture_parse(const char *text, struct wi_names *names, struct wi_event **out)
{
	char *copy = strdup(text), *save = NULL;
	int n = 0, cap = 16;
	struct wi_event *ev = zalloc((size_t)cap, sizeof(*ev));

	for (char *line = strtok_r(copy, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		line += strspn(line, " \t");
		if (!*line)
			continue;
		if (n == cap)
			ev = realloc(ev, (size_t)(cap *= 2) * sizeof(*ev));
		parse_event(line, names, &ev[n++]);
	}
	free(copy);
	*out = ev;
	return n;
}

/* ---- what the observer is told, as text ---- */

struct recorder {
	FILE *out;
	const char *kinds;
	struct wi_timeline *tl;
	uint32_t words;
	const struct wi_names *names;
};

static bool wanted(const struct recorder *r, char kind)
{
	return strchr(r->kinds, kind) != NULL;
}

static void on_cpu(void *ctx, uint64_t now, uint32_t cpu, enum wi_cpu_kind kind, const struct wi_task *t)
{
	struct recorder *r = ctx;

	if (wanted(r, 'K'))
		fprintf(r->out, "K %llu cpu%u %s %d\n", (unsigned long long)now, cpu, (const char *[]){ "unknown", "idle", "busy" }[kind], t ? t->pid : 0);
}

static void on_idle(void *ctx, uint64_t now, uint32_t cpu, bool idle)
{
	struct recorder *r = ctx;

	if (wanted(r, 'I'))
		fprintf(r->out, "I %llu cpu%u %d\n", (unsigned long long)now, cpu, idle);
}

static void on_wait(void *ctx, uint64_t now, uint32_t cpu, const struct wi_task *t, int delta)
{
	struct recorder *r = ctx;

	if (wanted(r, 'W'))
		fprintf(r->out, "W %llu cpu%u %d %+d\n", (unsigned long long)now, cpu, t->pid, delta);
}

static void on_decision(void *ctx, uint64_t now, const struct wi_wakeup *w)
{
	static const char *const class[] = {
#define X(id, name) name,
		WAKEIF_CLASSES(X)
#undef X
	};
	struct recorder *r = ctx;
	const struct wakeif_view *v = wi_timeline_view(r->tl);
	char idle[256], unknown[256];

	if (!wanted(r, 'D'))
		return;
	wi_mask_format(idle, sizeof(idle), v->idle, r->words);
	wi_mask_format(unknown, sizeof(unknown), v->unknown, r->words);
	fprintf(r->out, "D %llu %d %s%s waker %d@%u prev %u chosen %d idle %s%s%s%s\n", (unsigned long long)now, w->pub.pid, class[w->pub.class_], w->maybe_delayed ? "(delayed?)" : "",
		w->pub.waker_pid, w->pub.waker_cpu, w->pub.prev_cpu, (int)w->chosen_cpu, *idle ? idle : "-", *unknown ? " unknown " : "", unknown,
		w->pub.waker_stalled ? " stalled" : "");
}

static void on_closed(void *ctx, uint64_t now, const struct wi_wakeup *w, enum wi_outcome outcome)
{
	static const char *const name[] = { "run", "running", "died", "replaced", "unknown", "censored" };
	struct recorder *r = ctx;

	if (!wanted(r, 'C'))
		return;
	fprintf(r->out, "C %llu %d %s", (unsigned long long)now, w->pub.pid, name[outcome]);
	if (outcome == WI_OUT_RUN) {
		fprintf(r->out, " latency %llu", (unsigned long long)(w->run_ns - wi_wakeup_start_ns(w)));
		if (w->enq_ns != WI_TIME_UNKNOWN)
			fprintf(r->out, " wait %llu", (unsigned long long)(w->run_ns - w->enq_ns));
		fprintf(r->out, " on %u after %d", w->run_cpu, w->run_after_pid);
	}
	fprintf(r->out, "\n");
}

static void on_migrated(void *ctx, uint64_t now, const struct wi_task *t, uint32_t orig, uint32_t dest, bool inferred, bool placement)
{
	struct recorder *r = ctx;

	if (wanted(r, 'M'))
		fprintf(r->out, "M %llu %d %u>%u%s%s\n", (unsigned long long)now, t->pid, orig, dest, inferred ? " inferred" : "",
			placement ? " placement" : "");
}

static void on_happened(void *ctx, const struct wakeif_happening *h)
{
	static const char *const name[] = { "began", "enqueued", "runs",     "preempted", "sleeps", "moved", "lost",
					    "ended", "reniced",  "cpu idles", "cpu wakes", "cpu lost", "tick", "placed" };
	struct recorder *r = ctx;

	if (!wanted(r, 'H'))
		return;
	fprintf(r->out, "H %llu %s", (unsigned long long)h->now_ns, name[h->type]);
	if (h->pid)
		fprintf(r->out, " %d/%u", h->pid, h->task);
	if (h->cpu != WI_CPU_NONE)
		fprintf(r->out, " cpu%u", h->cpu);
	if (h->other != WI_CPU_NONE)
		fprintf(r->out, " from %u", h->other);
	fprintf(r->out, "%s%s%s\n", h->flags & WAKEIF_EV_NEW ? " new" : "", h->flags & WAKEIF_EV_DEAD ? " dead" : "",
		h->flags & WAKEIF_EV_WAKING ? " waking" : "");
}

static void on_gone(void *ctx, uint64_t now, const struct wi_task *t)
{
	struct recorder *r = ctx;
	char plain[32], name[64] = "";

	(void)now;
	snprintf(plain, sizeof(plain), "t%d", t->pid);
	if (t->comm != WI_NAME_NONE && strcmp(plain, wi_names_get(r->names, t->comm)) != 0)
		snprintf(name, sizeof(name), "%s:", wi_names_get(r->names, t->comm));
	if (wanted(r, 'G'))
		fprintf(r->out, "G %s%d run %llu wait %llu sleep %llu unknown %llu%s\n", name, t->pid, (unsigned long long)t->state_ns[WI_TASK_RUNNING],
			(unsigned long long)t->state_ns[WI_TASK_RUNNABLE],
			(unsigned long long)(t->state_ns[WI_TASK_BLOCKED] + t->state_ns[WI_TASK_WAKING]),
			(unsigned long long)t->state_ns[WI_TASK_UNKNOWN], t->throttle_suspected ? " throttled" : "");
}

/* First stamp and current task of each CPU, as a survey would find them. */
void tl_fixture_survey(struct wi_survey *s, const struct tl_fixture_opts *o, uint32_t nr_cpus, const struct wi_event *ev, int n)
{
	memset(s, 0, sizeof(*s));
	s->gap_ns = o->gap_ns ? o->gap_ns : 10;
	s->has_waking = !o->no_waking;
	s->has_wakeups = !o->switch_only;
	s->nr_cpus = nr_cpus;
	s->first_pid = zalloc(nr_cpus, sizeof(*s->first_pid));
	s->first_ts_ns = zalloc(nr_cpus, sizeof(*s->first_ts_ns));
	s->overwritten = zalloc(nr_cpus, sizeof(*s->overwritten));
	for (uint32_t c = 0; c < nr_cpus; c++) {
		s->first_pid[c] = -1;
		s->first_ts_ns[c] = WI_TIME_UNKNOWN;
	}
	s->recording_start_ns = n ? ev[0].ts_ns : 0;
	for (int i = 0; i < n; i++)
		if (ev[i].cpu < nr_cpus && s->first_ts_ns[ev[i].cpu] == WI_TIME_UNKNOWN) {
			s->first_ts_ns[ev[i].cpu] = ev[i].ts_ns;
			s->first_pid[ev[i].cpu] = ev[i].common_pid;
		}
	for (const char *p = o->first; p && *p;) {
		unsigned int cpu;
		int pid, used;

		if (sscanf(p, " %u=%d%n", &cpu, &pid, &used) != 2)
			break;
		s->first_pid[cpu] = pid;
		s->first_ts_ns[cpu] = s->recording_start_ns;
		p += used;
	}
	s->window_start_ns = s->recording_start_ns;
}

bool tl_fixture_feed(struct wi_timeline *tl, const struct wi_event *ev, int nr, struct wi_err *err)
{
	while (nr > 0) {
		int max;
		struct wi_event *room = wi_timeline_room(tl, &max);

		if (!room)
			return wi_err_nomem(err);
		if (max > nr)
			max = nr;
		memcpy(room, ev, (size_t)max * sizeof(*ev));
		if (!wi_timeline_take(tl, room, max, err))
			return false;
		ev += max;
		nr -= max;
	}
	return true;
}

char *tl_fixture_run(const struct tl_fixture_opts *o, const char *events, const char *kinds, struct wi_timeline_quality *quality)
{
	struct wakeif_topology *topo = o->topology ? o->topology : tl_fixture_topology(1, 1, 4, 2);
	struct wi_names *names = wi_names_new();
	struct wi_err err = { 0 };
	struct wi_event *ev;
	struct wi_survey s;
	char *text = NULL;
	size_t len;
	struct recorder r = { .out = open_memstream(&text, &len), .kinds = kinds, .words = topo->nr_words, .names = names };
	struct wi_timeline_observer obs = { .ctx = &r, .cpu_changed = on_cpu, .idle_changed = on_idle, .wait_changed = on_wait, .decision = on_decision,
					    .wakeup_closed = on_closed, .migrated = on_migrated, .task_gone = on_gone,
					    .happened = on_happened };
	int n = tl_fixture_parse(events, names, &ev);

	tl_fixture_survey(&s, o, topo->nr_cpus, ev, n);
	struct wi_timeline_opts opts = { .topology = topo, .names = names, .survey = &s, .facts = o->facts, .nr_facts = o->nr_facts,
					 .start_ns = o->start_ns, .stop_ns = o->stop_ns, .kernel_version = o->kernel_version, .oncpu_ns = o->oncpu_ns,
					 .quiet_unknown = o->quiet_unknown };
	r.tl = wi_timeline_new(&opts, &obs, &err);
	if (!r.tl || !tl_fixture_feed(r.tl, ev, n, &err) || !wi_timeline_finish(r.tl, &err))
		fail_msg("%s", err.msg);
	if (quality)
		*quality = *wi_timeline_quality(r.tl);
	wi_timeline_free(r.tl);
	wi_survey_fini(&s);
	wi_names_free(names);
	free(ev);
	fclose(r.out);
	if (!o->topology)
		tl_fixture_topology_free(topo);
	return text;
}

void tl_expect(const struct tl_fixture_opts *opts, const char *events, const char *kinds, const char *expected)
{
	char *got = tl_fixture_run(opts, events, kinds, NULL);

	if (strcmp(got, expected))
		fail_msg("expected:\n%s\ngot:\n%s", expected, got);
	free(got);
}
