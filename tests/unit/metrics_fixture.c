/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tests/unit/metrics_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/metrics_oracle.h"

/* First stamp and current task of each CPU. */
static void make_survey(struct wi_survey *s, const struct tl_fixture_opts *o, uint32_t nr_cpus, const struct wi_event *ev, int n)
{
	memset(s, 0, sizeof(*s));
	s->gap_ns = o->gap_ns ? o->gap_ns : 10;
	s->has_waking = !o->no_waking;
	s->has_wakeups = true;
	s->nr_cpus = nr_cpus;
	s->first_pid = calloc(nr_cpus, sizeof(*s->first_pid));
	s->first_ts_ns = calloc(nr_cpus, sizeof(*s->first_ts_ns));
	s->overwritten = calloc(nr_cpus, sizeof(*s->overwritten));
	assert_true(s->first_pid && s->first_ts_ns && s->overwritten);
	for (uint32_t c = 0; c < nr_cpus; c++) {
		s->first_pid[c] = -1;
		s->first_ts_ns[c] = WI_TIME_UNKNOWN;
	}
	for (int i = 0; i < n; i++) {
		uint32_t c = ev[i].cpu;

		if (c >= nr_cpus || s->first_ts_ns[c] != WI_TIME_UNKNOWN)
			continue;
		s->first_ts_ns[c] = ev[i].ts_ns;
		s->first_pid[c] = ev[i].common_pid;
	}
	s->recording_start_ns = s->window_start_ns = n ? ev[0].ts_ns : 0;
}

struct wi_results *mx_run(const struct tl_fixture_opts *tl_opts, const struct wi_metrics_opts *opts, const char *events, bool oracle)
{
	struct wi_names *names = wi_names_new();
	struct wi_metrics_opts mo = opts ? *opts : (struct wi_metrics_opts){ 0 };
	struct wi_err err = { 0 };
	struct wi_event *ev;
	struct wi_survey survey;
	int n = tl_fixture_parse(events, names, &ev);

	mo.topology = tl_opts->topology;
	mo.names = names;
	if (!mo.kernel_version)
		mo.kernel_version = tl_opts->kernel_version;
	struct wi_metrics *m = wi_metrics_new(&mo, &err);
	if (!m)
		fail_msg("%s", err.msg);
	struct mx_oracle *o = mx_oracle_new(mo.topology, names, wi_metrics_observer(m));
	make_survey(&survey, tl_opts, mo.topology->nr_cpus, ev, n);
	struct wi_timeline_opts to = { .topology = mo.topology,
				       .names = names,
				       .survey = &survey,
				       .facts = tl_opts->facts,
				       .nr_facts = tl_opts->nr_facts,
				       .start_ns = tl_opts->start_ns,
				       .stop_ns = tl_opts->stop_ns,
				       .kernel_version = tl_opts->kernel_version,
				       .oncpu_ns = tl_opts->oncpu_ns,
				       .quiet_unknown = tl_opts->quiet_unknown };
	struct wi_timeline *tl = wi_timeline_new(&to, oracle ? mx_oracle_observer(o) : wi_metrics_observer(m), &err);
	if (!tl)
		fail_msg("%s", err.msg);
	wi_metrics_bind(m, tl);
	mx_oracle_bind(o, tl);
	if (!tl_fixture_feed(tl, ev, n, &err) || !wi_timeline_finish(tl, &err))
		fail_msg("%s", err.msg);
	if (!wi_metrics_finish(m, &err))
		fail_msg("%s", err.msg);
	struct wi_results *r = wi_metrics_take(m);
	if (oracle)
		mx_oracle_check(o, r);
	mx_oracle_free(o);
	wi_timeline_free(tl);
	wi_metrics_free(m);
	wi_survey_fini(&survey);
	wi_names_free(names);
	free(ev);
	return r;
}

/* ---- results as text ---- */

typedef unsigned long long ull;

static void dump_hist(FILE *f, const char *what, const struct wi_hist *h)
{
	fprintf(f, "%s %llu %llu", what, (ull)h->count, (ull)h->sum_ns);
	if (h->count)
		fprintf(f, " %llu %llu", (ull)h->min_ns, (ull)h->max_ns);
	for (uint32_t i = 0; i < h->nr; i++)
		if (h->bucket[i])
			fprintf(f, " %u:%llu", i, (ull)h->bucket[i]);
	fputc('\n', f);
}

static void dump_chist(FILE *f, const char *what, const struct wi_chist *h)
{
	struct wi_hist full = { 0 };

	assert_true(wi_chist_expand(h, &full));
	dump_hist(f, what, &full);
	wi_hist_fini(&full);
}

static void dump_cost(FILE *f, const char *what, const struct wi_missed_cost *c)
{
	fprintf(f, "%s %llu\n", what, (ull)c->count);
	dump_hist(f, " wait", &c->wait);
	dump_hist(f, " avoidable", &c->avoidable);
}

static void dump_array(FILE *f, const char *what, const uint64_t *v, size_t nr)
{
	fprintf(f, "%s", what);
	for (size_t i = 0; i < nr; i++)
		fprintf(f, " %llu", (ull)v[i]);
	fputc('\n', f);
}

static void dump_latency(FILE *f, const struct wi_results *r)
{
	const struct wi_wakeup_results *w = &r->wakeups;
	const struct wi_latency_results *l = &r->latency;

	dump_array(f, "classes", w->by_class, WAKEIF_NR_CLASSES);
	fprintf(f, "wakeups %llu %llu %llu %llu %llu %llu %llu %llu\n", (ull)w->total, (ull)w->censored, (ull)w->stalled, (ull)w->running,
		(ull)w->died, (ull)w->replaced, (ull)w->unknown, (ull)w->maybe_delayed);
	dump_hist(f, "wakeup", &l->wakeup);
	dump_hist(f, "queue wait", &l->queue_wait);
	dump_hist(f, "transit", &l->transit);
	for (int c = 0; c < WAKEIF_NR_CLASSES; c++)
		dump_hist(f, wi_class_name((enum wakeif_class)c), &l->by_class[c]);
	for (int p = 0; p < WI_NR_PLACEMENTS; p++)
		dump_hist(f, wi_placed_name((enum wi_placed)p), &l->by_placement[p]);
	for (size_t i = 0; i < l->nr_longest; i++) {
		const struct wi_longest_row *x = &l->longest[i];

		fprintf(f, "longest %llu %llu %llu sibling %llu %d=%s by %d=%s@%u prev %u on %u ran %u class %d%s%s%s\n", (ull)x->wake_ns,
			(ull)x->latency_ns, (ull)x->queue_wait_ns, (ull)x->sibling_idle_ns, x->pid, wi_results_name(r, x->comm), x->waker_pid,
			wi_results_name(r, x->waker_comm), x->waker_cpu, x->prev_cpu, x->chosen_cpu, x->run_cpu, x->class_,
			x->censored ? " censored" : "", x->behind_known ? " known" : "", x->behind_complete ? " complete" : "");
		for (int k = 0; k < x->nr_behind; k++)
			fprintf(f, " behind %d=%s %llu\n", x->behind[k].pid, wi_results_name(r, x->behind[k].comm), (ull)x->behind[k].ns);
	}
	for (size_t i = 0; i < l->nr_by_cpu; i++) {
		fprintf(f, "cpu %u %llu %llu\n", l->by_cpu[i].cpu, (ull)l->by_cpu[i].wakeups, (ull)l->by_cpu[i].queue_wait_ns);
		dump_chist(f, " ", &l->by_cpu[i].wakeup);
	}
	for (size_t i = 0; i < l->nr_by_waker; i++) {
		const struct wi_split_row *s = &l->by_waker[i];

		fprintf(f, "waker %d %s %s %llu %llu\n", s->pid, wi_results_name(r, s->comm), wi_context_name(s->context), (ull)s->wakeups,
			(ull)s->queue_wait_ns);
		dump_chist(f, " ", &s->wakeup);
	}
}

static void dump_missed(FILE *f, const struct wi_results *r)
{
	const struct wi_missed_results *m = &r->missed;

	fprintf(f, "missed %llu %llu %llu %llu waker's %llu %llu\n", (ull)m->decided, (ull)m->chosen_idle, (ull)m->queued_on_busy,
		(ull)m->chosen_unknown, (ull)m->on_waker_cpu, (ull)m->on_waker_cpu_alone);
	for (int i = 0; i < WI_NR_MISSED_ROWS; i++)
		dump_cost(f, wi_missed_row_name((enum wi_missed_row)i), &m->row[i]);
	for (int i = 0; i < WI_NR_WIDE; i++) {
		dump_cost(f, "queued while idle core", &m->queued_while_idle_core[i]);
		dump_cost(f, "half busy", &m->half_busy_core[i]);
	}
	dump_cost(f, "stacked", &m->stacked_on_waker);
	dump_array(f, "prev idle", m->prev_idle_by_distance, WI_NR_DISTANCES);
	fprintf(f, "prev idle %llu %llu sched_idle %llu stalled %llu %llu\n", (ull)m->prev_idle_elsewhere, (ull)m->prev_idle_affine_possible,
		(ull)m->on_sched_idle_only, (ull)m->stalled_decided, (ull)m->stalled_queued_on_busy);
	dump_array(f, "allowed", m->allowed, WAKEIF_NR_ALLOWED_SOURCES);
	for (size_t i = 0; i < m->nr_worst; i++) {
		const struct wi_worst_row *w = &m->worst[i];

		fprintf(f, "worst %llu wait %llu avoidable %llu idle %llu %d=%s by %d=%s@%u prev %u on %u behind %d=%s missed %u %s%s\n",
			(ull)w->wake_ns, (ull)w->wait_ns, (ull)w->avoidable_ns, (ull)w->missed_idle_ns, w->pid, wi_results_name(r, w->comm),
			w->waker_pid, wi_results_name(r, w->waker_comm), w->waker_cpu, w->prev_cpu, w->chosen_cpu, w->ran_pid,
			wi_results_name(r, w->ran_comm), w->missed_cpu, wi_missed_row_name((enum wi_missed_row)w->row),
			w->censored ? " censored" : w->ran_waking ? " waking" : "");
	}
	for (int s = 0; s < WAKEIF_NR_SCOPES; s++) {
		const struct wi_waste *w = &r->waste[s];

		fprintf(f, "waste %s %llu %llu %llu %llu", wi_scope_name((enum wakeif_scope)s), (ull)w->wall_ns, (ull)w->behind_ns, (ull)w->cpu_ns, (ull)w->task_ns);
		dump_array(f, "", w->episodes, WI_NR_EPISODES);
		if (w->longest_ns)
			fprintf(f, " longest %llu at %llu %d=%s on %u idle %u\n", (ull)w->longest_ns, (ull)w->longest_start_ns, w->pid,
				wi_results_name(r, w->comm), w->waiting_cpu, w->idle_cpu);
	}
}

static void dump_part(FILE *f, const struct wi_affine_part *p)
{
	fprintf(f, "affine %llu %llu %llu\n", (ull)p->considered, (ull)p->cross_llc, (ull)p->bounce);
	dump_array(f, " prev", p->prev, WI_NR_DISTANCES);
	dump_array(f, " waker", p->waker, WI_NR_DISTANCES);
	dump_hist(f, " latency", &p->latency);
}

static void dump_table(FILE *f, const char *what, const struct wi_idle_table *t)
{
	for (size_t i = 0; i < t->nr; i++)
		fprintf(f, "%s %u %s %llu %llu %llu\n", what, t->row[i].id, t->row[i].cpus, (ull)t->row[i].idle_ns, (ull)t->row[i].busy_ns,
			(ull)t->row[i].unknown_ns);
}

static void dump_machine(FILE *f, const struct wi_results *r)
{
	if (r->smt.present)
		dump_array(f, "busy threads", r->smt.busy_threads_ns, r->smt.nr_threads + 1);
	fprintf(f, "smt unknown %llu folded %llu\n", (ull)r->smt.unknown_ns, (ull)r->smt.pairs_folded_ns);
	dump_array(f, "avoidable co-run", r->smt.avoidable_corun_ns, WI_NR_WIDE);
	for (size_t i = 0; i < r->smt.nr_core; i++) {
		fprintf(f, "core %u %s %llu", r->smt.core[i].id, r->smt.core[i].cpus, (ull)r->smt.core[i].unknown_ns);
		dump_array(f, "", r->smt.core[i].busy_threads_ns, r->smt.core[i].nr_threads + 1);
	}
	for (size_t i = 0; i < r->smt.nr_pair; i++)
		fprintf(f, "pair %s %s %llu\n", wi_results_name(r, r->smt.pair[i].a), wi_results_name(r, r->smt.pair[i].b), (ull)r->smt.pair[i].ns);
	dump_part(f, &r->affine.all);
	for (int c = 0; c < WAKEIF_NR_CONTEXTS; c++)
		dump_part(f, &r->affine.by_context[c]);
	for (int i = 0; i < WI_NR_DISTANCES; i++)
		dump_array(f, "matrix", r->affine.matrix[i], WI_NR_DISTANCES);
	dump_table(f, "idle cpu", &r->idle.cpu);
	dump_table(f, "idle core", &r->idle.core);
	dump_table(f, "idle llc", &r->idle.llc);
	dump_table(f, "idle package", &r->idle.package);
	fprintf(f, "touched %llu of %llu\n", (ull)r->idle.touched_idle_package, (ull)r->idle.decided);
	for (size_t i = 0; i < r->idle.nr_cstate; i++)
		fprintf(f, "cstate %u %u %llu %llu\n", r->idle.cstate[i].cpu, r->idle.cstate[i].state, (ull)r->idle.cstate[i].ns,
			(ull)r->idle.cstate[i].entries);
	fprintf(f, "migrations %llu %llu %llu %llu", (ull)r->migrations.total, (ull)r->migrations.inferred, (ull)r->migrations.placement,
		(ull)r->migrations.distance_unknown);
	dump_array(f, "", r->migrations.by_distance, WI_NR_DISTANCES);
}

static void dump_tasks(FILE *f, const struct wi_results *r)
{
	dump_array(f, "tasks", r->tasks.total, WI_NR_TASK_ORDERS);
	fprintf(f, "policies %llu %llu\n", (ull)r->tasks.policy_known, (ull)r->tasks.policy_unknown);
	for (size_t i = 0; i < r->tasks.nr; i++) {
		const struct wi_task_row *t = &r->tasks.row[i];

		fprintf(f, "task %d=%s %u %d %llu %llu %llu %llu n %llu %llu %llu %llu smt %llu %llu %llu\n", t->pid, wi_results_name(r, t->comm), t->seq,
			t->tgid, (ull)t->run_ns, (ull)t->wait_ns, (ull)t->sleep_ns, (ull)t->unknown_ns, (ull)t->wakeups, (ull)t->switches_in,
			(ull)t->preempted, (ull)t->migrations, (ull)t->corun_ns, (ull)t->alone_ns, (ull)t->smt_unknown_ns);
		fprintf(f, " %llu %llu %llu", (ull)t->preempt_unknown, (ull)t->latency_wakeups, (ull)t->queue_wait_ns);
		dump_chist(f, "", &t->latency);
	}
}

char *mx_dump(const struct wi_results *r)
{
	char *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);
	const struct wi_timeline_quality *q = &r->quality;

	fprintf(f, "traces %llu window %llu cpu %llu from %llu to %llu of %llu to %llu unknown %llu tasks %llu exec %llu\n", (ull)r->nr_traces,
		(ull)r->window_ns, (ull)r->cpu_ns, (ull)q->window_start_ns, (ull)q->window_end_ns, (ull)q->recording_start_ns,
		(ull)q->recording_end_ns, (ull)q->unknown_ns, (ull)q->nr_tasks, (ull)q->exec_count);
	fprintf(f, "skew %u %u %llu %llu oldest %llu %d\n", q->skew.cpu_a, q->skew.cpu_b, (ull)q->skew.ns, (ull)q->skew.count,
		(ull)q->censored_oldest_ns, q->censored_oldest_pid);
	dump_array(f, "events", q->events, WI_NR_EVENT_TYPES);
	dump_latency(f, r);
	dump_missed(f, r);
	dump_machine(f, r);
	dump_tasks(f, r);
	fclose(f);
	return text;
}

/* ---- what always holds ---- */

static void sum_of_buckets(const struct wi_hist *h)
{
	uint64_t n = 0;

	for (uint32_t i = 0; i < h->nr; i++)
		n += h->bucket[i];
	assert_int_equal(n, h->count);
}

static void check_table(const struct wi_idle_table *t, uint64_t window)
{
	for (size_t i = 0; i < t->nr; i++)
		assert_int_equal(t->row[i].idle_ns + t->row[i].busy_ns + t->row[i].unknown_ns, window);
}

static void check_wakeups(const struct wi_results *r)
{
	const struct wi_wakeup_results *w = &r->wakeups;
	const struct wi_missed_results *m = &r->missed;
	uint64_t classes = 0, rows = 0, sources = 0;

	for (int c = 0; c < WAKEIF_NR_CLASSES; c++)
		classes += w->by_class[c];
	assert_int_equal(classes, w->total);
	assert_int_equal(w->total, w->censored + w->running + w->died + w->replaced + w->unknown + r->latency.wakeup.count);
	sum_of_buckets(&r->latency.wakeup);
	sum_of_buckets(&r->latency.queue_wait);
	sum_of_buckets(&r->latency.transit);
	assert_int_equal(m->decided, w->by_class[WAKEIF_SELECT]);
	assert_int_equal(m->decided, m->chosen_idle + m->queued_on_busy + m->chosen_unknown);
	for (int i = 0; i < WI_NR_MISSED_ROWS; i++) {
		rows += m->row[i].count;
		assert_true(m->row[i].wait.count <= m->row[i].count);
		assert_true(m->row[i].avoidable.sum_ns <= m->row[i].wait.sum_ns);
	}
	assert_int_equal(m->decided, m->chosen_idle + rows);
	assert_true(m->on_waker_cpu_alone + m->stacked_on_waker.count <= m->on_waker_cpu && m->on_waker_cpu <= m->queued_on_busy);
	assert_int_equal(r->latency.nr_longest ? r->latency.longest[0].latency_ns >= r->latency.wakeup.max_ns : r->latency.wakeup.count == 0, 1);
	for (size_t i = 0; i < r->latency.nr_longest; i++) {
		const struct wi_longest_row *x = &r->latency.longest[i];
		uint64_t ran = 0;

		for (int k = 0; k < x->nr_behind; k++)
			ran += x->behind[k].ns;
		assert_true(!x->behind_known || ran <= x->queue_wait_ns);
		assert_true(!x->behind_complete || x->nr_behind == WI_BEHIND || ran == x->queue_wait_ns);
		assert_true(x->sibling_idle_ns == WI_TIME_UNKNOWN || x->sibling_idle_ns <= x->queue_wait_ns);
		assert_true(!i || x->latency_ns <= r->latency.longest[i - 1].latency_ns);
	}
	for (int i = 0; i < WAKEIF_NR_ALLOWED_SOURCES; i++)
		sources += m->allowed[i];
	assert_int_equal(sources, m->decided);
	for (int i = 1; i < WI_NR_WIDE; i++) {
		assert_true(m->queued_while_idle_core[i - 1].count <= m->queued_while_idle_core[i].count);
		assert_true(m->half_busy_core[i - 1].count <= m->half_busy_core[i].count);
		assert_true(r->smt.avoidable_corun_ns[i - 1] <= r->smt.avoidable_corun_ns[i]);
	}
}

void mx_invariants(const struct wi_results *r)
{
	uint64_t busy = 0, corun = 0;

	check_wakeups(r);
	for (int s = 0; s < WAKEIF_NR_SCOPES; s++) {
		const struct wi_waste *w = &r->waste[s];

		assert_true(w->behind_ns <= w->wall_ns && w->wall_ns <= w->cpu_ns && w->cpu_ns <= w->task_ns);
		assert_true(w->longest_ns <= w->wall_ns && w->wall_ns <= r->window_ns);
		assert_true(w->episodes[0] >= w->episodes[1] && w->episodes[1] >= w->episodes[2]);
		if (s)
			assert_true(r->waste[s - 1].wall_ns <= w->wall_ns && r->waste[s - 1].task_ns <= w->task_ns);
	}
	check_table(&r->idle.cpu, r->window_ns);
	check_table(&r->idle.core, r->window_ns);
	check_table(&r->idle.llc, r->window_ns);
	check_table(&r->idle.package, r->window_ns);
	for (size_t i = 0; i < r->idle.cpu.nr; i++)
		busy += r->idle.cpu.row[i].busy_ns;
	for (uint32_t n = 2; r->smt.present && n <= r->smt.nr_threads; n++)
		corun += r->smt.busy_threads_ns[n] * n;
	assert_true(corun <= busy);
	for (size_t i = 0; i < r->smt.nr_core; i++) {
		uint64_t sum = r->smt.core[i].unknown_ns;

		for (uint32_t n = 0; n <= r->smt.core[i].nr_threads; n++)
			sum += r->smt.core[i].busy_threads_ns[n];
		assert_int_equal(sum, r->window_ns);
	}
}
