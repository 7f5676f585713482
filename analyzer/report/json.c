/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The report as JSON: doc/json.md, key by key and in its order. */
#include <stdlib.h>

#include "analyzer/report/report.h"
#include "analyzer/report/topology.h"
#include "analyzer/report/document.h"

static void write_input(struct wi_json *j, const struct wi_source_info *in)
{
	wi_json_array(j, "input");
	wi_json_object(j, NULL);
	wi_json_string(j, "file", in->path);
	wi_json_string(j, "format", in->format);
	wi_json_string(j, "wrapper", in->wrapper);
	wi_json_string(j, "kernel", in->kernel);
	wi_json_string(j, "arch", in->arch);
	wi_json_string(j, "clock", in->clock);
	wi_json_u64(j, "time_res_ns", in->time_res_ns);
	wi_json_u64(j, "nr_cpus", in->nr_cpus);
	wi_json_array(j, "buffers");
	for (uint32_t i = 0; i < in->nr_buffers; i++) {
		wi_json_object_flat(j, NULL);
		wi_json_string(j, "name", in->buffers[i].name);
		wi_json_u64(j, "bytes", in->buffers[i].bytes);
		wi_json_bool(j, "chosen", in->buffers[i].chosen);
		wi_json_end_object(j);
	}
	wi_json_end_array(j);
	wi_json_bool(j, "damaged", in->nr_damage > 0);
	wi_json_array(j, "damage");
	for (uint32_t i = 0; i < in->nr_damage; i++) {
		wi_json_object_flat(j, NULL);
		if (in->damage[i].offset != WI_NO_OFFSET)
			wi_json_u64(j, "offset", in->damage[i].offset);
		wi_json_string(j, "what", in->damage[i].what);
		wi_json_end_object(j);
	}
	wi_json_end_array(j);
	wi_json_end_object(j);
	wi_json_end_array(j);
}

static void write_window(struct wi_json *j, const struct wi_results *r)
{
	wi_json_object(j, "window");
	wi_json_u64(j, "start_ns", r->quality.window_start_ns);
	wi_json_u64(j, "end_ns", r->quality.window_end_ns);
	wi_json_u64(j, "recording_start_ns", r->quality.recording_start_ns);
	wi_json_u64(j, "recording_end_ns", r->quality.recording_end_ns);
	wi_json_share(j, "coverage", r->cpu_ns - r->quality.unknown_ns, r->cpu_ns);
	wi_json_end_object(j);
}

static void write_repairs(struct wi_json *j, const struct wi_repairs *repairs)
{
	wi_json_object(j, "repairs");
#define X(field, name, meaning) wi_json_u64(j, name, repairs->field);
	WI_REPAIRS(X)
#undef X
	wi_json_end_object(j);
}

static void write_allowed(struct wi_json *j, const struct wi_results *r)
{
	static const char *const name[WAKEIF_NR_ALLOWED_SOURCES] = { "recorded", "inferred", "assumed" };

	wi_json_object_flat(j, "allowed");
	for (int s = 0; s < WAKEIF_NR_ALLOWED_SOURCES; s++)
		wi_json_u64(j, name[s], r->missed.allowed[s]);
	wi_json_end_object(j);
}

static void write_policies(struct wi_json *j, const struct wi_results *r)
{
	wi_json_u64(j, "throttle_suspected", r->tasks.throttle_suspected);
	wi_json_object_flat(j, "policies");
	wi_json_u64(j, "known", r->tasks.policy_known);
	wi_json_u64(j, "unknown", r->tasks.policy_unknown);
	wi_json_end_object(j);
}

static bool write_quality(struct wi_json *j, const struct wi_report *rep, struct wi_err *err)
{
	const struct wi_timeline_quality *q = &rep->results->quality;
	char *unused = wi_report_unused_cpus(rep->results);

	if (!unused)
		return wi_err_nomem(err);
	wi_json_object(j, "quality");
	wi_json_u64(j, "lost_marks", q->lost_marks);
	wi_json_u64(j, "lost_events", q->lost_events);
	wi_json_u64(j, "chain_breaks", q->chain_breaks);
	write_repairs(j, &q->repairs);
	wi_json_u64(j, "unordered", rep->info->unordered);
	wi_json_u64(j, "unparsed", rep->info->unparsed);
	wi_json_u64(j, "unknown_state_letters", rep->info->unknown_state_letters);
	wi_json_u64(j, "skew_ns", q->skew.ns);
	if (q->skew.ns) {
		wi_json_object_flat(j, "skew");
		wi_json_u64(j, "cpu_a", q->skew.cpu_a);
		wi_json_u64(j, "cpu_b", q->skew.cpu_b);
		wi_json_u64(j, "ns", q->skew.ns);
		wi_json_u64(j, "count", q->skew.count);
		wi_json_end_object(j);
	}
	wi_json_u64(j, "quiet_cpus", q->quiet_cpus);
	if (wi_report_unused_known(rep->results) && !rep->facts_only)
		wi_json_string(j, "unused_cpus", unused);
	free(unused);
	wi_json_u64(j, "waking_gap_ns", rep->survey->gap_ns);
	wi_json_u64(j, "waking_gap_samples", rep->survey->gap_samples);
	wi_json_bool(j, "has_waking", rep->survey->has_waking);
	if (!rep->facts_only)
		write_allowed(j, rep->results);
	wi_json_u64(j, "tasks", q->nr_tasks);
	wi_json_u64(j, "unnamed_tasks", q->unnamed_tasks);
	if (!rep->facts_only)
		write_policies(j, rep->results);
	if (rep->note[0])
		wi_json_string(j, "note", rep->note);
	wi_json_end_object(j);
	return true;
}

static void write_events(struct wi_json *j, const struct wi_timeline_quality *q)
{
	wi_json_object(j, "events");
	for (int t = 0; t < WI_NR_EVENT_TYPES; t++) {
		if (t == WI_EV_LOST || t == WI_EV_OTHER || t == WI_EV_MARKER)
			continue;
		if (q->events[t] || t == WI_EV_SCHED_SWITCH)
			wi_json_u64(j, wi_event_name((enum wi_event_type)t), q->events[t]);
	}
	wi_json_end_object(j);
}

static void write_wakeups(struct wi_json *j, const struct wi_report *rep)
{
	const struct wi_results *r = rep->results;
	const struct wi_wakeup_results *w = &r->wakeups;

	wi_json_object(j, "wakeups");
	wi_json_u64(j, "total", w->total);
	wi_json_u64(j, "censored", w->censored);
	if (w->censored)
		wi_json_u64(j, "censored_oldest_ns", r->quality.censored_oldest_ns);
	wi_json_object(j, "by_class");
	for (int c = 0; c < WAKEIF_NR_CLASSES; c++)
		wi_json_u64(j, wi_class_name((enum wakeif_class)c), w->by_class[c]);
	wi_json_end_object(j);
	wi_json_u64(j, "exec", r->quality.exec_count);
	wi_json_u64(j, "stalled", w->stalled);
	if (rep->maybe_delayed_known)
		wi_json_u64(j, "maybe_delayed", w->maybe_delayed);
	wi_json_object_flat(j, "not_measured");
	wi_json_u64(j, "running", w->running);
	wi_json_u64(j, "died", w->died);
	wi_json_u64(j, "replaced", w->replaced);
	wi_json_u64(j, "unknown", w->unknown);
	wi_json_end_object(j);
	wi_json_end_object(j);
}

/* The members of a latency object L. */
static void write_hist_members(struct wi_json *j, const struct wi_hist *h, bool buckets)
{
	wi_json_u64(j, "count", h->count);
	wi_json_u64(j, "sum_ns", h->sum_ns);
	if (h->count) {
		wi_json_u64(j, "min_ns", h->min_ns);
		wi_json_u64(j, "max_ns", h->max_ns);
		wi_json_u64(j, "p50_ns", wi_hist_quantile(h, 0.5));
		wi_json_u64(j, "p90_ns", wi_hist_quantile(h, 0.9));
		wi_json_u64(j, "p99_ns", wi_hist_quantile(h, 0.99));
		wi_json_u64(j, "p999_ns", wi_hist_quantile(h, 0.999));
	}
	if (buckets)
		wi_document_histogram(j, h);
}

void wi_report_json_latency(struct wi_json *j, const char *key, const struct wi_hist *h, bool buckets)
{
	if (buckets)
		wi_json_object(j, key);
	else
		wi_json_object_flat(j, key);
	write_hist_members(j, h, buckets);
	wi_json_end_object(j);
}

static bool write_chist_members(struct wi_json *j, const struct wi_chist *c, bool buckets, struct wi_err *err)
{
	struct wi_hist h = { 0 };
	bool ok = wi_chist_expand(c, &h);

	if (ok)
		write_hist_members(j, &h, buckets);
	wi_hist_fini(&h);
	return ok || wi_err_nomem(err);
}

static bool write_latency_tasks(struct wi_json *j, const struct wi_report *rep, struct wi_err *err)
{
	const struct wi_results *r = rep->results;
	const struct wi_task_row *row[WI_REPORT_LATENCY_TASKS];
	size_t nr = wi_results_tasks(r, WI_TASKS_BY_LATENCY, row, WI_REPORT_LATENCY_TASKS);

	wi_json_array(j, "by_task");
	for (size_t i = 0; i < nr; i++) {
		wi_json_object_flat(j, NULL);
		wi_json_i64(j, "pid", row[i]->pid);
		wi_json_string(j, "comm", wi_results_name(r, row[i]->comm));
		if (!write_chist_members(j, &row[i]->latency, rep->histograms, err))
			return false;
		wi_json_u64(j, "queue_wait_ns", row[i]->queue_wait_ns);
		wi_json_u64(j, "wakeups", row[i]->latency_wakeups);
		wi_json_end_object(j);
	}
	wi_json_end_array(j);
	wi_json_u64(j, "by_task_total", r->tasks.total[WI_TASKS_BY_LATENCY]);
	return true;
}

static bool write_split(struct wi_json *j, const struct wi_report *rep, bool by_cpu, struct wi_err *err)
{
	const struct wi_results *r = rep->results;
	const struct wi_split_row *row = by_cpu ? r->latency.by_cpu : r->latency.by_waker;
	size_t nr = by_cpu ? r->latency.nr_by_cpu : r->latency.nr_by_waker;

	if (!row)
		return true;
	wi_json_array(j, by_cpu ? "by_cpu" : "by_waker");
	for (size_t i = 0; i < nr; i++) {
		wi_json_object_flat(j, NULL);
		if (by_cpu) {
			if (row[i].cpu != WI_CPU_NONE)
				wi_json_u64(j, "cpu", row[i].cpu);
		} else if (row[i].pid == WI_PID_NONE) {
			wi_json_string(j, "context", wi_context_name((enum wakeif_context)row[i].context));
		} else {
			wi_json_i64(j, "pid", row[i].pid);
			wi_json_string(j, "comm", wi_results_name(r, row[i].comm));
		}
		if (!write_chist_members(j, &row[i].wakeup, rep->histograms, err))
			return false;
		wi_json_u64(j, "queue_wait_ns", row[i].queue_wait_ns);
		wi_json_u64(j, "wakeups", row[i].wakeups);
		wi_json_end_object(j);
	}
	wi_json_end_array(j);
	return true;
}

static void write_behind(struct wi_json *j, const struct wi_results *r, const struct wi_longest_row *w)
{
	if (!w->behind_known)
		return;
	wi_json_array_flat(j, "behind");
	for (int i = 0; i < w->nr_behind; i++) {
		wi_json_object_flat(j, NULL);
		wi_json_i64(j, "pid", w->behind[i].pid);
		wi_json_string(j, "comm", w->behind[i].pid ? wi_results_name(r, w->behind[i].comm) : "idle");
		wi_json_u64(j, "ns", w->behind[i].ns);
		wi_json_end_object(j);
	}
	wi_json_end_array(j);
	wi_json_bool(j, "behind_complete", w->behind_complete);
	if (w->sibling_idle_ns != WI_TIME_UNKNOWN)
		wi_json_u64(j, "sibling_idle_ns", w->sibling_idle_ns);
}

static void write_cpu(struct wi_json *j, const char *key, uint32_t cpu)
{
	if (cpu != WI_CPU_NONE)
		wi_json_u64(j, key, cpu);
}

static void write_waker(struct wi_json *j, const struct wi_results *r, int32_t pid, uint32_t comm, uint32_t cpu)
{
	if (pid >= 0) {
		wi_json_i64(j, "waker_pid", pid);
		wi_json_string(j, "waker_comm", pid ? wi_results_name(r, comm) : "swapper");
	}
	write_cpu(j, "waker_cpu", cpu);
}

static void write_longest(struct wi_json *j, const struct wi_results *r)
{
	wi_json_array(j, "longest");
	for (size_t i = 0; i < r->latency.nr_longest; i++) {
		const struct wi_longest_row *w = &r->latency.longest[i];

		wi_json_object_flat(j, NULL);
		wi_json_u64(j, "wake_ns", w->wake_ns);
		wi_json_i64(j, "pid", w->pid);
		wi_json_string(j, "comm", wi_results_name(r, w->comm));
		wi_json_string(j, "class", wi_class_name((enum wakeif_class)w->class_));
		write_waker(j, r, w->waker_pid, w->waker_comm, w->waker_cpu);
		write_cpu(j, "prev_cpu", w->prev_cpu);
		write_cpu(j, "chosen_cpu", w->chosen_cpu);
		write_cpu(j, "run_cpu", w->run_cpu);
		wi_json_u64(j, "latency_ns", w->latency_ns);
		if (w->queue_wait_ns != WI_TIME_UNKNOWN)
			wi_json_u64(j, "queue_wait_ns", w->queue_wait_ns);
		write_behind(j, r, w);
		if (w->censored)
			wi_json_bool(j, "censored", true);
		wi_json_end_object(j);
	}
	wi_json_end_array(j);
}

static bool write_latency(struct wi_json *j, const struct wi_report *rep, struct wi_err *err)
{
	const struct wi_latency_results *l = &rep->results->latency;

	wi_json_object(j, "latency");
	wi_report_json_latency(j, "wakeup", &l->wakeup, true);
	wi_report_json_latency(j, "queue_wait", &l->queue_wait, true);
	wi_report_json_latency(j, "transit", &l->transit, true);
	wi_json_object(j, "by_class");
	for (int c = 0; c < WAKEIF_NR_CLASSES; c++)
		wi_report_json_latency(j, wi_class_name((enum wakeif_class)c), &l->by_class[c], rep->histograms);
	wi_json_end_object(j);
	wi_json_object(j, "by_placement");
	for (int p = 0; p < WI_NR_PLACEMENTS; p++)
		wi_report_json_latency(j, wi_placed_name((enum wi_placed)p), &l->by_placement[p], rep->histograms);
	wi_json_end_object(j);
	write_longest(j, rep->results);
	if (!write_latency_tasks(j, rep, err) || !write_split(j, rep, true, err) || !write_split(j, rep, false, err))
		return false;
	wi_json_end_object(j);
	return true;
}

static void write_cost_part(struct wi_json *j, const char *const key[4], const struct wi_hist *h)
{
	wi_json_u64(j, key[0], h->sum_ns);
	if (!h->count)
		return;
	wi_json_u64(j, key[1], wi_hist_quantile(h, 0.5));
	wi_json_u64(j, key[2], wi_hist_quantile(h, 0.99));
	wi_json_u64(j, key[3], h->max_ns);
}

/* A row R. */
static void write_cost(struct wi_json *j, const char *key, const struct wi_missed_cost *c, uint64_t decided,
		       bool avoidable)
{
	static const char *const wait[] = { "wait_ns", "wait_p50_ns", "wait_p99_ns", "wait_max_ns" };
	static const char *const avoid[] = { "avoidable_ns", "avoidable_p50_ns", "avoidable_p99_ns",
					     "avoidable_max_ns" };

	wi_json_object_flat(j, key);
	wi_json_u64(j, "count", c->count);
	wi_json_share(j, "share", c->count, decided);
	write_cost_part(j, wait, &c->wait);
	if (avoidable)
		write_cost_part(j, avoid, &c->avoidable);
	wi_json_end_object(j);
}

void wi_report_json_distances(struct wi_json *j, const char *key, const uint64_t n[WI_NR_DISTANCES],
			      enum wi_distance first)
{
	wi_json_object_flat(j, key);
	for (int d = (int)first; d < WI_NR_DISTANCES; d++)
		wi_json_u64(j, wi_distance_name((enum wi_distance)d), n[d]);
	wi_json_end_object(j);
}

static void write_worst(struct wi_json *j, const struct wi_results *r)
{
	wi_json_array(j, "worst");
	for (size_t i = 0; i < r->missed.nr_worst; i++) {
		const struct wi_worst_row *w = &r->missed.worst[i];

		wi_json_object_flat(j, NULL);
		wi_json_u64(j, "wake_ns", w->wake_ns);
		wi_json_i64(j, "pid", w->pid);
		wi_json_string(j, "comm", wi_results_name(r, w->comm));
		write_waker(j, r, w->waker_pid, w->waker_comm, w->waker_cpu);
		wi_json_u64(j, "prev_cpu", w->prev_cpu);
		wi_json_u64(j, "chosen_cpu", w->chosen_cpu);
		wi_json_string(j, "scope", wi_missed_row_name((enum wi_missed_row)w->row));
		wi_json_u64(j, "wait_ns", w->wait_ns);
		wi_json_u64(j, "avoidable_ns", w->avoidable_ns);
		if (w->ran_pid >= 0) {
			wi_json_i64(j, "ran_pid", w->ran_pid);
			wi_json_string(j, "ran_comm", w->ran_pid ? wi_results_name(r, w->ran_comm) : "swapper");
		}
		if (w->ran_waking)
			wi_json_bool(j, "ran_waking", true);
		wi_json_u64(j, "missed_cpu", w->missed_cpu);
		wi_json_u64(j, "missed_idle_ns", w->missed_idle_ns);
		if (w->missed_sched_idle)
			wi_json_bool(j, "missed_sched_idle", true);
		if (w->censored)
			wi_json_bool(j, "censored", true);
		wi_json_end_object(j);
	}
	wi_json_end_array(j);
}

static void write_missed(struct wi_json *j, const struct wi_results *r)
{
	const struct wi_missed_results *m = &r->missed;

	wi_json_object(j, "missed_idle");
	wi_json_u64(j, "decided", m->decided);
	wi_json_u64(j, "chosen_idle", m->chosen_idle);
	wi_json_u64(j, "chosen_unknown", m->chosen_unknown);
	wi_json_object_flat(j, "queued_on_busy");
	wi_json_u64(j, "count", m->queued_on_busy);
	wi_json_share(j, "share", m->queued_on_busy, m->decided);
	wi_json_u64(j, "on_waker_cpu", m->on_waker_cpu);
	wi_json_u64(j, "on_waker_cpu_alone", m->on_waker_cpu_alone);
	wi_json_end_object(j);
	for (int i = 0; i < WI_NR_MISSED_ROWS; i++)
		write_cost(j, wi_missed_row_name((enum wi_missed_row)i), &m->row[i], m->decided,
			   i != WI_MISSED_NO_IDLE && i != WI_MISSED_UNKNOWN);
	wi_json_object(j, "queued_while_idle_core");
	for (int s = 0; s < WI_NR_WIDE; s++)
		write_cost(j, wi_wide_scope_name((enum wi_wide_scope)s), &m->queued_while_idle_core[s], m->decided,
			   true);
	wi_json_end_object(j);
	wi_json_object(j, "half_busy_core");
	for (int s = 0; s < WI_NR_WIDE; s++)
		write_cost(j, wi_wide_scope_name((enum wi_wide_scope)s), &m->half_busy_core[s], m->decided, true);
	wi_json_end_object(j);
	write_cost(j, "stacked_on_waker", &m->stacked_on_waker, m->decided, true);
	wi_json_object(j, "prev_idle_elsewhere");
	wi_json_u64(j, "count", m->prev_idle_elsewhere);
	wi_json_share(j, "share", m->prev_idle_elsewhere, m->decided);
	wi_report_json_distances(j, "by_distance", m->prev_idle_by_distance, WI_DIST_CORE);
	wi_json_u64(j, "affine_possible", m->prev_idle_affine_possible);
	wi_json_end_object(j);
	wi_json_u64(j, "on_sched_idle_only", m->on_sched_idle_only);
	wi_json_object_flat(j, "stalled");
	wi_json_u64(j, "decided", m->stalled_decided);
	wi_json_u64(j, "queued_on_busy", m->stalled_queued_on_busy);
	wi_json_end_object(j);
	write_worst(j, r);
	wi_json_end_object(j);
}

static void write_waste(struct wi_json *j, const struct wi_results *r)
{
	static const char *const over[WI_NR_EPISODES] = { "over_1ms", "over_10ms", "over_100ms" };

	wi_json_object(j, "idle_while_waiting");
	for (int s = 0; s < WAKEIF_NR_SCOPES; s++) {
		const struct wi_waste *w = &r->waste[s];

		wi_json_object(j, wi_scope_name((enum wakeif_scope)s));
		wi_json_u64(j, "wall_ns", w->wall_ns);
		wi_json_u64(j, "behind_ns", w->behind_ns);
		wi_json_u64(j, "cpu_ns", w->cpu_ns);
		wi_json_u64(j, "task_ns", w->task_ns);
		wi_json_object_flat(j, "episodes");
		for (int e = 0; e < WI_NR_EPISODES; e++)
			wi_json_u64(j, over[e], w->episodes[e]);
		wi_json_end_object(j);
		if (w->longest_ns) {
			wi_json_object_flat(j, "longest");
			wi_json_u64(j, "start_ns", w->longest_start_ns);
			wi_json_u64(j, "ns", w->longest_ns);
			wi_json_object_flat(j, "task");
			wi_json_i64(j, "pid", w->pid);
			wi_json_string(j, "comm", wi_results_name(r, w->comm));
			wi_json_end_object(j);
			wi_json_u64(j, "waiting_cpu", w->waiting_cpu);
			wi_json_u64(j, "idle_cpu", w->idle_cpu);
			wi_json_end_object(j);
		}
		wi_json_end_object(j);
	}
	wi_json_end_object(j);
}

static void write_numbers(struct wi_json *j, const char *key, const uint64_t *n, size_t nr)
{
	wi_json_array_flat(j, key);
	for (size_t i = 0; i < nr; i++)
		wi_json_u64(j, NULL, n[i]);
	wi_json_end_array(j);
}

static void write_smt_tasks(struct wi_json *j, const struct wi_results *r)
{
	const struct wi_task_row *row[WI_REPORT_SMT_TASKS];
	size_t nr = wi_results_tasks(r, WI_TASKS_BY_CORUN, row, WI_REPORT_SMT_TASKS);

	wi_json_array(j, "tasks");
	for (size_t i = 0; i < nr; i++) {
		const struct wi_task_row *t = row[i];

		wi_json_object_flat(j, NULL);
		wi_json_i64(j, "pid", t->pid);
		wi_json_string(j, "comm", wi_results_name(r, t->comm));
		wi_json_u64(j, "run_ns", t->run_ns);
		wi_json_u64(j, "corun_ns", t->corun_ns);
		wi_json_u64(j, "alone_ns", t->alone_ns);
		wi_json_u64(j, "unknown_ns", t->smt_unknown_ns);
		wi_json_object_flat(j, "lost_ns");
		wi_json_u64(j, "s050", wi_smt_lost_ns(t->corun_ns, WI_SMT_SPEED_LOW));
		wi_json_u64(j, "s062", wi_smt_lost_ns(t->corun_ns, WI_SMT_SPEED_DEFAULT));
		wi_json_u64(j, "s090", wi_smt_lost_ns(t->corun_ns, WI_SMT_SPEED_HIGH));
		wi_json_end_object(j);
		wi_json_end_object(j);
	}
	wi_json_end_array(j);
	wi_json_u64(j, "tasks_total", r->tasks.total[WI_TASKS_BY_CORUN]);
}

static void cookie_time(struct wi_json *j, const struct wi_cookie_time *t)
{
	char key[32];

	for (int i = 0; i < WI_NR_COOKIE_CLASSES; i++) {
		snprintf(key, sizeof(key), "%s_ns", wi_cookie_class_name((enum wi_cookie_class)i));
		wi_json_u64(j, key, t->ns[i]);
	}
	wi_json_u64(j, "forced_idle_min_ns", t->idle_min_ns);
	wi_json_share(j, "compatibility", t->ns[WI_COOKIE_CLASS_COMPATIBLE],
		      t->ns[WI_COOKIE_CLASS_COMPATIBLE] + t->ns[WI_COOKIE_CLASS_INCOMPATIBLE]);
}

static void write_cookies(struct wi_json *j, const struct wi_results *r)
{
	const struct wi_cookie_results *k = &r->smt.cookies;
	char key[32];

	wi_json_object(j, "cookies");
	cookie_time(j, &k->all);
	wi_json_array(j, "cores");
	for (size_t i = 0; i < k->nr_core; i++) {
		wi_json_object_flat(j, NULL);
		wi_json_u64(j, "core", k->core[i].id);
		wi_json_string(j, "cpus", k->core[i].cpus);
		cookie_time(j, &k->core[i].time);
		wi_json_end_object(j);
	}
	wi_json_end_array(j);
	wi_json_array(j, "groups");
	for (size_t i = 0; i < k->nr_group && i < WI_REPORT_COOKIES; i++) {
		const struct wi_cookie_group_row *g = &k->group[i];

		wi_json_object_flat(j, NULL);
		wi_json_string(j, "kind", wi_cookie_kind_name(g->kind));
		if (g->kind == WI_COOKIE_KIND_TAGGED)
			wi_json_string(j, "cookie", wi_results_name(r, g->name));
		wi_json_u64(j, "run_ns", wi_cookie_group_run_ns(g));
		for (int s = 0; s < WI_NR_COOKIE_SHARES; s++) {
			snprintf(key, sizeof(key), "%s_ns", wi_cookie_share_name((enum wi_cookie_share)s));
			wi_json_u64(j, key, g->ns[s]);
		}
		wi_json_end_object(j);
	}
	wi_json_end_array(j);
	wi_json_u64(j, "groups_total", k->nr_group);
	wi_json_end_object(j);
}

static void write_smt(struct wi_json *j, const struct wi_results *r)
{
	const struct wi_smt_results *s = &r->smt;

	if (!s->present)
		return;
	wi_json_object(j, "smt");
	wi_json_u64(j, "unknown_ns", s->unknown_ns);
	write_numbers(j, "busy_threads_ns", s->busy_threads_ns, s->nr_threads + 1);
	wi_json_object_flat(j, "avoidable_corun_ns");
	for (int i = 0; i < WI_NR_WIDE; i++)
		wi_json_u64(j, wi_wide_scope_name((enum wi_wide_scope)i), s->avoidable_corun_ns[i]);
	wi_json_end_object(j);
	wi_json_array(j, "cores");
	for (size_t i = 0; i < s->nr_core; i++) {
		wi_json_object_flat(j, NULL);
		wi_json_u64(j, "core", s->core[i].id);
		wi_json_string(j, "cpus", s->core[i].cpus);
		write_numbers(j, "busy_threads_ns", s->core[i].busy_threads_ns, s->core[i].nr_threads + 1);
		wi_json_u64(j, "unknown_ns", s->core[i].unknown_ns);
		wi_json_end_object(j);
	}
	wi_json_end_array(j);
	wi_json_array(j, "pairs");
	for (size_t i = 0; i < s->nr_pair && i < WI_REPORT_PAIRS; i++) {
		wi_json_object_flat(j, NULL);
		wi_json_string(j, "a", wi_results_name(r, s->pair[i].a));
		wi_json_string(j, "b", wi_results_name(r, s->pair[i].b));
		wi_json_u64(j, "ns", s->pair[i].ns);
		wi_json_end_object(j);
	}
	wi_json_end_array(j);
	wi_json_u64(j, "pairs_total", s->nr_pair);
	if (s->pairs_folded_ns)
		wi_json_u64(j, "pairs_folded_ns", s->pairs_folded_ns);
	write_smt_tasks(j, r);
	if (s->cookies.present)
		write_cookies(j, r);
	wi_json_end_object(j);
}

static void write_affine_context(struct wi_json *j, const char *key, const struct wi_affine_part *p)
{
	wi_json_object(j, key);
	wi_json_u64(j, "considered", p->considered);
	wi_report_json_distances(j, "prev", p->prev, WI_DIST_CPU);
	wi_report_json_distances(j, "waker", p->waker, WI_DIST_CPU);
	wi_json_u64(j, "cross_llc", p->cross_llc);
	wi_json_u64(j, "bounce", p->bounce);
	wi_report_json_latency(j, "latency", &p->latency, false);
	wi_json_end_object(j);
}

static void write_affine(struct wi_json *j, const struct wi_report *rep)
{
	const struct wi_affine_results *a = &rep->results->affine;

	wi_json_object(j, "wake_affine");
	wi_json_u64(j, "considered", a->all.considered);
	wi_json_object(j, "outcome");
	wi_report_json_distances(j, "prev", a->all.prev, WI_DIST_CPU);
	wi_report_json_distances(j, "waker", a->all.waker, WI_DIST_CPU);
	wi_json_end_object(j);
	wi_json_array(j, "matrix");
	for (int p = 0; p < WI_NR_DISTANCES; p++)
		write_numbers(j, NULL, a->matrix[p], WI_NR_DISTANCES);
	wi_json_end_array(j);
	wi_json_object(j, "by_context");
	for (int c = 0; c < WAKEIF_NR_CONTEXTS; c++)
		write_affine_context(j, wi_context_name((enum wakeif_context)c), &a->by_context[c]);
	wi_json_end_object(j);
	wi_json_u64(j, "cross_llc", a->all.cross_llc);
	wi_json_u64(j, "bounce", a->all.bounce);
	wi_report_json_latency(j, "latency", &a->all.latency, false);
	if (rep->affine_members)
		rep->affine_members(j, rep->affine_ctx);
	wi_json_end_object(j);
}

static void write_idle_table(struct wi_json *j, const char *key, const struct wi_idle_table *t, bool with_cpus)
{
	wi_json_array(j, key);
	for (size_t i = 0; i < t->nr; i++) {
		wi_json_object_flat(j, NULL);
		wi_json_u64(j, key, t->row[i].id);
		if (with_cpus)
			wi_json_string(j, "cpus", t->row[i].cpus);
		wi_json_u64(j, "idle_ns", t->row[i].idle_ns);
		wi_json_u64(j, "busy_ns", t->row[i].busy_ns);
		wi_json_u64(j, "unknown_ns", t->row[i].unknown_ns);
		wi_json_end_object(j);
	}
	wi_json_end_array(j);
}

static void write_cstates(struct wi_json *j, const struct wi_idle_results *d)
{
	wi_json_array(j, "cstates");
	for (size_t i = 0; i < d->nr_cstate; i++) {
		wi_json_object_flat(j, NULL);
		wi_json_u64(j, "cpu", d->cstate[i].cpu);
		wi_json_u64(j, "state", d->cstate[i].state);
		wi_json_u64(j, "ns", d->cstate[i].ns);
		wi_json_u64(j, "entries", d->cstate[i].entries);
		wi_json_end_object(j);
	}
	wi_json_end_array(j);
}

static void write_idle(struct wi_json *j, const struct wi_results *r)
{
	const struct wi_idle_results *d = &r->idle;

	wi_json_object(j, "idle");
	write_idle_table(j, "cpu", &d->cpu, false);
	write_idle_table(j, "core", &d->core, true);
	write_idle_table(j, "llc", &d->llc, true);
	write_idle_table(j, "package", &d->package, true);
	wi_json_object_flat(j, "touched_idle_package");
	wi_json_u64(j, "count", d->touched_idle_package);
	wi_json_share(j, "share", d->touched_idle_package, d->decided);
	wi_json_end_object(j);
	if (r->quality.events[WI_EV_CPU_IDLE]) /* else not measurable */
		write_cstates(j, d);
	if (d->cstate_entries_dropped)
		wi_json_u64(j, "cstate_entries_dropped", d->cstate_entries_dropped);
	wi_json_end_object(j);
}

static void write_migrations(struct wi_json *j, const struct wi_results *r)
{
	const struct wi_migration_results *m = &r->migrations;

	wi_json_object(j, "migrations");
	wi_json_u64(j, "total", m->total);
	wi_json_u64(j, "inferred", m->inferred);
	wi_json_u64(j, "placement", m->placement);
	wi_report_json_distances(j, "by_distance", m->by_distance, WI_DIST_CORE);
	if (m->distance_unknown)
		wi_json_u64(j, "distance_unknown", m->distance_unknown);
	wi_json_share(j, "per_wakeup", m->total, r->wakeups.total);
	if (r->window_ns)
		wi_json_fraction(j, "per_second", (double)m->total / ((double)r->window_ns / 1e9));
	wi_json_end_object(j);
}

static void write_tasks(struct wi_json *j, const struct wi_report *rep)
{
	const struct wi_results *r = rep->results;
	const struct wi_task_row *row[WI_REPORT_TASKS];
	size_t nr = wi_results_tasks(r, WI_TASKS_BY_RUN, row, WI_REPORT_TASKS);

	wi_json_array(j, "tasks");
	for (size_t i = 0; i < nr; i++) {
		const struct wi_task_row *t = row[i];

		wi_json_object_flat(j, NULL);
		wi_json_i64(j, "pid", t->pid);
		wi_json_string(j, "comm", wi_results_name(r, t->comm));
		if (t->tgid)
			wi_json_i64(j, "tgid", t->tgid);
		wi_json_u64(j, "run_ns", t->run_ns);
		wi_json_u64(j, "wait_ns", t->wait_ns);
		wi_json_u64(j, "sleep_ns", t->sleep_ns);
		wi_json_u64(j, "unknown_ns", t->unknown_ns);
		wi_json_u64(j, "wakeups", t->wakeups);
		wi_json_u64(j, "switches_in", t->switches_in);
		if (rep->preempted_known && wi_task_preempted_known(t))
			wi_json_u64(j, "preempted", t->preempted);
		if (t->preempt_unknown)
			wi_json_u64(j, "preempt_unknown", t->preempt_unknown);
		wi_json_u64(j, "migrations", t->migrations);
		wi_json_end_object(j);
	}
	wi_json_end_array(j);
	wi_json_u64(j, "tasks_total", r->tasks.total[WI_TASKS_BY_RUN]);
}

bool wi_report_json(FILE *out, const struct wi_report *rep, uint32_t sections, struct wi_err *err)
{
	const struct wi_results *r = rep->results;
	struct wi_json j;

	wi_json_init(&j, out);
	wi_json_object(&j, NULL);
	wi_json_string(&j, "schema", "wakeif/1");
	wi_json_object_flat(&j, "tool");
	wi_json_string(&j, "name", "wakeif");
	wi_json_string(&j, "version", rep->version);
	wi_json_end_object(&j);
	write_input(&j, rep->info);
	if (rep->filter[0])
		wi_json_string(&j, "filter", rep->filter);
	write_window(&j, r);
	if (!write_quality(&j, rep, err))
		return false;
	write_events(&j, &r->quality);
	wi_report_topology_json(&j, "topology", rep->topology);
	if (sections & WI_SECTION_WAKEUPS)
		write_wakeups(&j, rep);
	if ((sections & WI_SECTION_LATENCY) && !write_latency(&j, rep, err))
		return false;
	if (sections & WI_SECTION_MISSED)
		write_missed(&j, r);
	if (sections & WI_SECTION_WASTE)
		write_waste(&j, r);
	if (sections & WI_SECTION_SMT)
		write_smt(&j, r);
	if (sections & WI_SECTION_AFFINE)
		write_affine(&j, rep);
	if (sections & WI_SECTION_IDLE)
		write_idle(&j, r);
	if (sections & WI_SECTION_MIGRATIONS)
		write_migrations(&j, r);
	if (sections & WI_SECTION_TASKS)
		write_tasks(&j, rep);
	if (rep->members)
		rep->members(&j, rep->members_ctx);
	wi_json_end_object(&j);
	return true;
}
