/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The report as CSV tables. doc/json.md lists them; columns have the names of the JSON keys. */
#include <stdlib.h>
#include <string.h>

#include "analyzer/report/report.h"
#include "analyzer/report/topology.h"

#define NR(a) (sizeof(a) / sizeof(*(a)))

struct csv_table {
	const char *name;
	bool (*write)(struct wi_csv *c, const struct wi_report *rep); /* false: out of memory */
};

#define LATENCY_COLUMNS "count,sum_ns,min_ns,max_ns,p50_ns,p90_ns,p99_ns,p999_ns"

static void hist_fields(struct wi_csv *c, const struct wi_hist *h)
{
	static const double quantile[] = { 0.5, 0.9, 0.99, 0.999 };

	wi_csv_u64(c, h->count);
	wi_csv_u64(c, h->sum_ns);
	if (!h->count) {
		for (size_t i = 0; i < 2 + NR(quantile); i++)
			wi_csv_none(c);
		return;
	}
	wi_csv_u64(c, h->min_ns);
	wi_csv_u64(c, h->max_ns);
	for (size_t i = 0; i < NR(quantile); i++)
		wi_csv_u64(c, wi_hist_quantile(h, quantile[i]));
}

static bool chist_fields(struct wi_csv *c, const struct wi_chist *compact)
{
	struct wi_hist h = { 0 };
	bool ok = wi_chist_expand(compact, &h);

	if (ok)
		hist_fields(c, &h);
	wi_hist_fini(&h);
	return ok;
}

static void fact(struct wi_csv *c, const char *key, uint64_t value)
{
	wi_csv_text(c, key);
	wi_csv_u64(c, value);
	wi_csv_end(c);
}

static void fact_text(struct wi_csv *c, const char *key, const char *value)
{
	wi_csv_text(c, key);
	wi_csv_text(c, value);
	wi_csv_end(c);
}

static bool write_facts(struct wi_csv *c, const struct wi_report *rep)
{
	const struct wi_results *r = rep->results;
	const struct wi_timeline_quality *q = &r->quality;
	char *unused = wi_report_unused_cpus(r);

	if (!unused)
		return false;
	wi_csv_header(c, "key,value");
	fact_text(c, "file", rep->info->path);
	fact_text(c, "format", rep->info->format);
	fact_text(c, "kernel", rep->info->kernel);
	fact_text(c, "clock", rep->info->clock);
	fact_text(c, "filter", rep->filter);
	fact(c, "damaged", rep->info->nr_damage > 0);
	fact(c, "window_start_ns", q->window_start_ns);
	fact(c, "window_end_ns", q->window_end_ns);
	wi_csv_text(c, "coverage");
	wi_csv_share(c, r->cpu_ns - q->unknown_ns, r->cpu_ns);
	wi_csv_end(c);
	fact(c, "lost_marks", q->lost_marks);
	fact(c, "lost_events", q->lost_events);
	fact(c, "chain_breaks", q->chain_breaks);
#define X(field, name, meaning) fact(c, "repairs." name, q->repairs.field);
	WI_REPAIRS(X)
#undef X
	fact(c, "unordered", rep->info->unordered);
	fact(c, "unparsed", rep->info->unparsed);
	fact(c, "unknown_state_letters", rep->info->unknown_state_letters);
	fact(c, "skew_ns", q->skew.ns);
	fact(c, "quiet_cpus", q->quiet_cpus);
	fact_text(c, "unused_cpus", wi_report_unused_known(r) ? unused : "");
	free(unused);
	fact(c, "waking_gap_ns", rep->survey->gap_ns);
	fact(c, "allowed.recorded", r->missed.allowed[WAKEIF_ALLOWED_RECORDED]);
	fact(c, "allowed.inferred", r->missed.allowed[WAKEIF_ALLOWED_INFERRED]);
	fact(c, "allowed.assumed", r->missed.allowed[WAKEIF_ALLOWED_ASSUMED]);
	fact(c, "policies.known", r->tasks.policy_known);
	fact(c, "policies.unknown", r->tasks.policy_unknown);
	fact(c, "missed_idle.decided", r->missed.decided);
	fact(c, "missed_idle.chosen_idle", r->missed.chosen_idle);
	fact(c, "missed_idle.chosen_unknown", r->missed.chosen_unknown);
	fact(c, "missed_idle.queued_on_busy", r->missed.queued_on_busy);
	fact(c, "missed_idle.queued_on_busy.on_waker_cpu", r->missed.on_waker_cpu);
	fact(c, "missed_idle.queued_on_busy.on_waker_cpu_alone", r->missed.on_waker_cpu_alone);
	fact(c, "tasks_total", r->tasks.total[WI_TASKS_BY_RUN]);
	fact(c, "latency_tasks_total", r->tasks.total[WI_TASKS_BY_LATENCY]);
	fact(c, "smt_tasks_total", r->tasks.total[WI_TASKS_BY_CORUN]);
	fact_text(c, "topology.source", rep->topology->source);
	fact_text(c, "topology.note", rep->topology->note);
	return true;
}

static bool write_events(struct wi_csv *c, const struct wi_report *rep)
{
	const uint64_t *n = rep->results->quality.events;

	wi_csv_header(c, "event,count");
	for (int t = 0; t < WI_NR_EVENT_TYPES; t++)
		if (t != WI_EV_LOST && t != WI_EV_OTHER && t != WI_EV_MARKER && (n[t] || t == WI_EV_SCHED_SWITCH))
			fact(c, wi_event_name((enum wi_event_type)t), n[t]);
	return true;
}

static bool write_cpus(struct wi_csv *c, const struct wi_report *rep)
{
	wi_report_topology_csv(c, rep->topology);
	return true;
}

static bool write_wakeups(struct wi_csv *c, const struct wi_report *rep)
{
	const struct wi_wakeup_results *w = &rep->results->wakeups;

	wi_csv_header(c, "key,count");
	fact(c, "total", w->total);
	fact(c, "censored", w->censored);
	for (int k = 0; k < WAKEIF_NR_CLASSES; k++)
		fact(c, wi_class_name((enum wakeif_class)k), w->by_class[k]);
	fact(c, "exec", rep->results->quality.exec_count);
	fact(c, "stalled", w->stalled);
	if (rep->maybe_delayed_known)
		fact(c, "maybe_delayed", w->maybe_delayed);
	else
		fact_text(c, "maybe_delayed", "");
	fact(c, "not_measured.running", w->running);
	fact(c, "not_measured.died", w->died);
	fact(c, "not_measured.replaced", w->replaced);
	fact(c, "not_measured.unknown", w->unknown);
	return true;
}

static void latency_row(struct wi_csv *c, const char *by, const char *key, const struct wi_hist *h)
{
	wi_csv_text(c, by);
	wi_csv_text(c, key);
	hist_fields(c, h);
	wi_csv_end(c);
}

static bool write_latency(struct wi_csv *c, const struct wi_report *rep)
{
	const struct wi_latency_results *l = &rep->results->latency;

	wi_csv_header(c, "by,key," LATENCY_COLUMNS);
	latency_row(c, "part", "wakeup", &l->wakeup);
	latency_row(c, "part", "queue_wait", &l->queue_wait);
	latency_row(c, "part", "transit", &l->transit);
	for (int k = 0; k < WAKEIF_NR_CLASSES; k++)
		latency_row(c, "class", wi_class_name((enum wakeif_class)k), &l->by_class[k]);
	for (int p = 0; p < WI_NR_PLACEMENTS; p++)
		latency_row(c, "placement", wi_placed_name((enum wi_placed)p), &l->by_placement[p]);
	return true;
}

static void histogram_rows(struct wi_csv *c, const char *part, const struct wi_hist *h)
{
	for (uint32_t i = 0; i < h->nr; i++) {
		if (!h->bucket[i])
			continue;
		wi_csv_text(c, part);
		wi_csv_u64(c, wi_hist_lower_ns(i));
		wi_csv_u64(c, wi_hist_width_ns(i));
		wi_csv_u64(c, h->bucket[i]);
		wi_csv_end(c);
	}
}

static bool write_histogram(struct wi_csv *c, const struct wi_report *rep)
{
	const struct wi_latency_results *l = &rep->results->latency;

	wi_csv_header(c, "part,lower_ns,width_ns,count");
	histogram_rows(c, "wakeup", &l->wakeup);
	histogram_rows(c, "queue_wait", &l->queue_wait);
	histogram_rows(c, "transit", &l->transit);
	return true;
}

/* All rows of one order that the results kept, as wi_results_tasks(); freed by the caller. NULL: out of memory. */
static const struct wi_task_row **kept_tasks(const struct wi_results *r, enum wi_task_order order, size_t *nr)
{
	const struct wi_task_row **row = malloc((r->tasks.nr ? r->tasks.nr : 1) * sizeof(*row));

	if (row)
		*nr = wi_results_tasks(r, order, row, r->tasks.nr);
	return row;
}

static bool write_latency_tasks(struct wi_csv *c, const struct wi_report *rep)
{
	const struct wi_results *r = rep->results;
	size_t nr;
	const struct wi_task_row **row = kept_tasks(r, WI_TASKS_BY_LATENCY, &nr);
	bool ok = row != NULL;

	wi_csv_header(c, "pid,comm,wakeups,queue_wait_ns," LATENCY_COLUMNS);
	for (size_t i = 0; ok && i < nr; i++) {
		wi_csv_i64(c, row[i]->pid);
		wi_csv_text(c, wi_results_name(r, row[i]->comm));
		wi_csv_u64(c, row[i]->latency_wakeups);
		wi_csv_u64(c, row[i]->queue_wait_ns);
		ok = chist_fields(c, &row[i]->latency);
		wi_csv_end(c);
	}
	free(row);
	return ok;
}

static bool write_latency_cpus(struct wi_csv *c, const struct wi_report *rep)
{
	const struct wi_latency_results *l = &rep->results->latency;

	wi_csv_header(c, "cpu,wakeups,queue_wait_ns," LATENCY_COLUMNS);
	for (size_t i = 0; i < l->nr_by_cpu; i++) {
		if (l->by_cpu[i].cpu == WI_CPU_NONE)
			wi_csv_none(c);
		else
			wi_csv_u64(c, l->by_cpu[i].cpu);
		wi_csv_u64(c, l->by_cpu[i].wakeups);
		wi_csv_u64(c, l->by_cpu[i].queue_wait_ns);
		if (!chist_fields(c, &l->by_cpu[i].wakeup))
			return false;
		wi_csv_end(c);
	}
	return true;
}

static bool write_latency_wakers(struct wi_csv *c, const struct wi_report *rep)
{
	const struct wi_results *r = rep->results;

	wi_csv_header(c, "waker_pid,waker_comm,context,wakeups,queue_wait_ns," LATENCY_COLUMNS);
	for (size_t i = 0; i < r->latency.nr_by_waker; i++) {
		const struct wi_split_row *s = &r->latency.by_waker[i];

		if (s->pid == WI_PID_NONE) {
			wi_csv_none(c);
			wi_csv_none(c);
			wi_csv_text(c, wi_context_name((enum wakeif_context)s->context));
		} else {
			wi_csv_i64(c, s->pid);
			wi_csv_text(c, wi_results_name(r, s->comm));
			wi_csv_text(c, wi_context_name(WAKEIF_CTX_TASK));
		}
		wi_csv_u64(c, s->wakeups);
		wi_csv_u64(c, s->queue_wait_ns);
		if (!chist_fields(c, &s->wakeup))
			return false;
		wi_csv_end(c);
	}
	return true;
}

static void cost_part(struct wi_csv *c, const struct wi_hist *h)
{
	wi_csv_u64(c, h->sum_ns);
	if (h->count) {
		wi_csv_u64(c, wi_hist_quantile(h, 0.5));
		wi_csv_u64(c, wi_hist_quantile(h, 0.99));
		wi_csv_u64(c, h->max_ns);
		return;
	}
	for (int i = 0; i < 3; i++)
		wi_csv_none(c);
}

static void cost_row(struct wi_csv *c, const char *row, const char *scope, const struct wi_missed_cost *cost,
		     uint64_t decided, bool avoidable)
{
	wi_csv_text(c, row);
	wi_csv_text(c, scope);
	wi_csv_u64(c, cost->count);
	wi_csv_share(c, cost->count, decided);
	cost_part(c, &cost->wait);
	if (avoidable)
		cost_part(c, &cost->avoidable);
	else
		for (int i = 0; i < 4; i++)
			wi_csv_none(c);
	wi_csv_end(c);
}

static bool write_missed(struct wi_csv *c, const struct wi_report *rep)
{
	const struct wi_missed_results *m = &rep->results->missed;
	const struct {
		const char *row;
		const struct wi_missed_cost *cost;
	} wide[] = { { "queued_while_idle_core", m->queued_while_idle_core }, { "half_busy_core", m->half_busy_core } };

	wi_csv_header(c, "row,scope,count,share,wait_ns,wait_p50_ns,wait_p99_ns,wait_max_ns,avoidable_ns,avoidable_p50_"
			 "ns,avoidable_p99_ns,"
			 "avoidable_max_ns");
	for (int i = 0; i < WI_NR_MISSED_ROWS; i++)
		cost_row(c, wi_missed_row_name((enum wi_missed_row)i), "", &m->row[i], m->decided,
			 i != WI_MISSED_NO_IDLE && i != WI_MISSED_UNKNOWN);
	for (size_t k = 0; k < NR(wide); k++)
		for (int s = 0; s < WI_NR_WIDE; s++)
			cost_row(c, wide[k].row, wi_wide_scope_name((enum wi_wide_scope)s), &wide[k].cost[s],
				 m->decided, true);
	cost_row(c, "stacked_on_waker", "", &m->stacked_on_waker, m->decided, true);
	return true;
}

static void task_fields(struct wi_csv *c, const struct wi_results *r, int32_t pid, uint32_t comm)
{
	if (pid < 0) {
		wi_csv_none(c);
		wi_csv_none(c);
		return;
	}
	wi_csv_i64(c, pid);
	wi_csv_text(c, pid ? wi_results_name(r, comm) : "swapper");
}

static void cpu_field(struct wi_csv *c, uint32_t cpu)
{
	if (cpu == WI_CPU_NONE)
		wi_csv_none(c);
	else
		wi_csv_u64(c, cpu);
}

static void ns_field(struct wi_csv *c, uint64_t ns)
{
	if (ns == WI_TIME_UNKNOWN)
		wi_csv_none(c);
	else
		wi_csv_u64(c, ns);
}

static bool write_worst(struct wi_csv *c, const struct wi_report *rep)
{
	const struct wi_results *r = rep->results;

	wi_csv_header(c, "wake_ns,pid,comm,waker_pid,waker_comm,waker_cpu,prev_cpu,chosen_cpu,scope,wait_ns,avoidable_"
			 "ns,ran_pid,ran_comm,"
			 "missed_cpu,missed_idle_ns,censored,ran_waking,missed_sched_idle");
	for (size_t i = 0; i < r->missed.nr_worst; i++) {
		const struct wi_worst_row *w = &r->missed.worst[i];

		wi_csv_u64(c, w->wake_ns);
		task_fields(c, r, w->pid, w->comm);
		task_fields(c, r, w->waker_pid, w->waker_comm);
		cpu_field(c, w->waker_cpu);
		wi_csv_u64(c, w->prev_cpu);
		wi_csv_u64(c, w->chosen_cpu);
		wi_csv_text(c, wi_missed_row_name((enum wi_missed_row)w->row));
		wi_csv_u64(c, w->wait_ns);
		wi_csv_u64(c, w->avoidable_ns);
		task_fields(c, r, w->ran_pid, w->ran_comm);
		wi_csv_u64(c, w->missed_cpu);
		wi_csv_u64(c, w->missed_idle_ns);
		wi_csv_u64(c, w->censored);
		wi_csv_u64(c, w->ran_waking);
		wi_csv_u64(c, w->missed_sched_idle);
		wi_csv_end(c);
	}
	return true;
}

static void behind_fields(struct wi_csv *c, const struct wi_results *r, const struct wi_longest_row *w)
{
	if (w->behind_known)
		wi_csv_u64(c, w->behind_complete);
	else
		wi_csv_none(c);
	ns_field(c, w->sibling_idle_ns);
	for (int i = 0; i < WI_BEHIND; i++) {
		if (i >= w->nr_behind) {
			for (int k = 0; k < 3; k++)
				wi_csv_none(c);
			continue;
		}
		wi_csv_i64(c, w->behind[i].pid);
		wi_csv_text(c, w->behind[i].pid ? wi_results_name(r, w->behind[i].comm) : "idle");
		wi_csv_u64(c, w->behind[i].ns);
	}
}

static bool write_longest(struct wi_csv *c, const struct wi_report *rep)
{
	const struct wi_results *r = rep->results;

	wi_csv_header(c, "wake_ns,pid,comm,class,waker_pid,waker_comm,waker_cpu,prev_cpu,chosen_cpu,run_cpu,latency_ns,"
			 "queue_wait_ns,censored,behind_complete,sibling_idle_ns,behind1_pid,behind1_comm,behind1_ns,"
			 "behind2_pid,behind2_comm,behind2_ns,behind3_pid,behind3_comm,behind3_ns");
	for (size_t i = 0; i < r->latency.nr_longest; i++) {
		const struct wi_longest_row *w = &r->latency.longest[i];

		wi_csv_u64(c, w->wake_ns);
		task_fields(c, r, w->pid, w->comm);
		wi_csv_text(c, wi_class_name((enum wakeif_class)w->class_));
		task_fields(c, r, w->waker_pid, w->waker_comm);
		cpu_field(c, w->waker_cpu);
		cpu_field(c, w->prev_cpu);
		cpu_field(c, w->chosen_cpu);
		cpu_field(c, w->run_cpu);
		wi_csv_u64(c, w->latency_ns);
		ns_field(c, w->queue_wait_ns);
		wi_csv_u64(c, w->censored);
		behind_fields(c, r, w);
		wi_csv_end(c);
	}
	return true;
}

static bool write_waste(struct wi_csv *c, const struct wi_report *rep)
{
	const struct wi_results *r = rep->results;

	wi_csv_header(
		c,
		"scope,wall_ns,behind_ns,cpu_ns,task_ns,over_1ms,over_10ms,over_100ms,longest_ns,longest_start_ns,pid,"
		"comm,waiting_cpu,idle_cpu");
	for (int s = 0; s < WAKEIF_NR_SCOPES; s++) {
		const struct wi_waste *w = &r->waste[s];

		wi_csv_text(c, wi_scope_name((enum wakeif_scope)s));
		wi_csv_u64(c, w->wall_ns);
		wi_csv_u64(c, w->behind_ns);
		wi_csv_u64(c, w->cpu_ns);
		wi_csv_u64(c, w->task_ns);
		for (int e = 0; e < WI_NR_EPISODES; e++)
			wi_csv_u64(c, w->episodes[e]);
		if (w->longest_ns) {
			wi_csv_u64(c, w->longest_ns);
			wi_csv_u64(c, w->longest_start_ns);
			task_fields(c, r, w->pid, w->comm);
			wi_csv_u64(c, w->waiting_cpu);
			wi_csv_u64(c, w->idle_cpu);
		} else {
			for (int i = 0; i < 6; i++)
				wi_csv_none(c);
		}
		wi_csv_end(c);
	}
	return true;
}

static void threads_rows(struct wi_csv *c, const char *core, const char *cpus, const uint64_t *ns, uint32_t nr_threads,
			 uint64_t unknown_ns)
{
	for (uint32_t i = 0; i <= nr_threads + 1; i++) {
		wi_csv_text(c, core);
		wi_csv_text(c, cpus);
		if (i <= nr_threads)
			wi_csv_u64(c, i);
		else
			wi_csv_text(c, "unknown");
		wi_csv_u64(c, i <= nr_threads ? ns[i] : unknown_ns);
		wi_csv_end(c);
	}
}

static bool write_smt_cores(struct wi_csv *c, const struct wi_report *rep)
{
	const struct wi_smt_results *s = &rep->results->smt;

	wi_csv_header(c, "core,cpus,busy_threads,ns");
	if (!s->present)
		return true;
	threads_rows(c, "all", "", s->busy_threads_ns, s->nr_threads, s->unknown_ns);
	for (size_t i = 0; i < s->nr_core; i++) {
		char id[16];

		snprintf(id, sizeof(id), "%u", s->core[i].id);
		threads_rows(c, id, s->core[i].cpus, s->core[i].busy_threads_ns, s->core[i].nr_threads,
			     s->core[i].unknown_ns);
	}
	return true;
}

static bool write_smt_avoidable(struct wi_csv *c, const struct wi_report *rep)
{
	wi_csv_header(c, "scope,avoidable_corun_ns");
	for (int i = 0; rep->results->smt.present && i < WI_NR_WIDE; i++)
		fact(c, wi_wide_scope_name((enum wi_wide_scope)i), rep->results->smt.avoidable_corun_ns[i]);
	return true;
}

static void cookie_time(struct wi_csv *c, const char *core, const char *cpus, const struct wi_cookie_time *t)
{
	wi_csv_text(c, core);
	wi_csv_text(c, cpus);
	for (int i = 0; i < WI_NR_COOKIE_CLASSES; i++)
		wi_csv_u64(c, t->ns[i]);
	wi_csv_u64(c, t->idle_min_ns);
	wi_csv_share(c, t->ns[WI_COOKIE_CLASS_COMPATIBLE],
		     t->ns[WI_COOKIE_CLASS_COMPATIBLE] + t->ns[WI_COOKIE_CLASS_INCOMPATIBLE]);
	wi_csv_end(c);
}

static bool write_smt_cookies(struct wi_csv *c, const struct wi_report *rep)
{
	const struct wi_cookie_results *k = &rep->results->smt.cookies;
	char id[16];

	wi_csv_header(c, "core,cpus,idle_ns,single_ns,compatible_ns,incompatible_ns,corun_unknown_ns,unknown_ns,"
			 "forced_idle_min_ns,compatibility");
	if (!k->present)
		return true;
	cookie_time(c, "all", "", &k->all);
	for (size_t i = 0; i < k->nr_core; i++) {
		snprintf(id, sizeof(id), "%u", k->core[i].id);
		cookie_time(c, id, k->core[i].cpus, &k->core[i].time);
	}
	return true;
}

static bool write_smt_cookie_groups(struct wi_csv *c, const struct wi_report *rep)
{
	const struct wi_cookie_results *k = &rep->results->smt.cookies;

	wi_csv_header(c, "kind,cookie,run_ns,compatible_ns,incompatible_ns,alone_ns,unknown_ns");
	for (size_t i = 0; i < k->nr_group; i++) {
		const struct wi_cookie_group_row *g = &k->group[i];

		wi_csv_text(c, wi_cookie_kind_name(g->kind));
		if (g->kind == WI_COOKIE_KIND_TAGGED)
			wi_csv_text(c, wi_results_name(rep->results, g->name));
		else
			wi_csv_none(c);
		wi_csv_u64(c, wi_cookie_group_run_ns(g));
		for (int s = 0; s < WI_NR_COOKIE_SHARES; s++)
			wi_csv_u64(c, g->ns[s]);
		wi_csv_end(c);
	}
	return true;
}

static bool write_smt_pairs(struct wi_csv *c, const struct wi_report *rep)
{
	const struct wi_results *r = rep->results;

	wi_csv_header(c, "a,b,ns");
	for (size_t i = 0; r->smt.present && i < r->smt.nr_pair; i++) {
		wi_csv_text(c, wi_results_name(r, r->smt.pair[i].a));
		wi_csv_text(c, wi_results_name(r, r->smt.pair[i].b));
		wi_csv_u64(c, r->smt.pair[i].ns);
		wi_csv_end(c);
	}
	return true;
}

static bool write_smt_tasks(struct wi_csv *c, const struct wi_report *rep)
{
	const struct wi_results *r = rep->results;
	size_t nr;
	const struct wi_task_row **row = kept_tasks(r, WI_TASKS_BY_CORUN, &nr);
	bool ok = row != NULL;

	wi_csv_header(c, "pid,comm,run_ns,corun_ns,alone_ns,unknown_ns,lost_s050_ns,lost_s062_ns,lost_s090_ns");
	for (size_t i = 0; ok && r->smt.present && i < nr; i++) {
		task_fields(c, r, row[i]->pid, row[i]->comm);
		wi_csv_u64(c, row[i]->run_ns);
		wi_csv_u64(c, row[i]->corun_ns);
		wi_csv_u64(c, row[i]->alone_ns);
		wi_csv_u64(c, row[i]->smt_unknown_ns);
		wi_csv_u64(c, wi_smt_lost_ns(row[i]->corun_ns, WI_SMT_SPEED_LOW));
		wi_csv_u64(c, wi_smt_lost_ns(row[i]->corun_ns, WI_SMT_SPEED_DEFAULT));
		wi_csv_u64(c, wi_smt_lost_ns(row[i]->corun_ns, WI_SMT_SPEED_HIGH));
		wi_csv_end(c);
	}
	free(row);
	return ok;
}

static void affine_rows(struct wi_csv *c, const char *context, const struct wi_affine_part *p)
{
	for (int waker = 0; waker < 2; waker++) {
		wi_csv_text(c, context);
		wi_csv_text(c, waker ? "waker" : "prev");
		wi_csv_u64(c, p->considered);
		for (int d = 0; d < WI_NR_DISTANCES; d++)
			wi_csv_u64(c, waker ? p->waker[d] : p->prev[d]);
		wi_csv_u64(c, p->cross_llc);
		wi_csv_u64(c, p->bounce);
		hist_fields(c, &p->latency);
		wi_csv_end(c);
	}
}

static bool write_affine(struct wi_csv *c, const struct wi_report *rep)
{
	const struct wi_affine_results *a = &rep->results->affine;

	wi_csv_header(
		c, "context,relative_to,considered,cpu,core,cluster,llc,node,remote,cross_llc,bounce," LATENCY_COLUMNS);
	affine_rows(c, "all", &a->all);
	for (int k = 0; k < WAKEIF_NR_CONTEXTS; k++)
		affine_rows(c, wi_context_name((enum wakeif_context)k), &a->by_context[k]);
	return true;
}

static bool write_affine_matrix(struct wi_csv *c, const struct wi_report *rep)
{
	wi_csv_header(c, "prev,waker,count");
	for (int p = 0; p < WI_NR_DISTANCES; p++)
		for (int w = 0; w < WI_NR_DISTANCES; w++) {
			wi_csv_text(c, wi_distance_name((enum wi_distance)p));
			wi_csv_text(c, wi_distance_name((enum wi_distance)w));
			wi_csv_u64(c, rep->results->affine.matrix[p][w]);
			wi_csv_end(c);
		}
	return true;
}

static void idle_rows(struct wi_csv *c, const char *what, const struct wi_idle_table *t)
{
	for (size_t i = 0; i < t->nr; i++) {
		wi_csv_text(c, what);
		wi_csv_u64(c, t->row[i].id);
		wi_csv_text(c, t->row[i].cpus ? t->row[i].cpus : "");
		wi_csv_u64(c, t->row[i].idle_ns);
		wi_csv_u64(c, t->row[i].busy_ns);
		wi_csv_u64(c, t->row[i].unknown_ns);
		wi_csv_end(c);
	}
}

static bool write_idle(struct wi_csv *c, const struct wi_report *rep)
{
	const struct wi_idle_results *d = &rep->results->idle;

	wi_csv_header(c, "group,id,cpus,idle_ns,busy_ns,unknown_ns");
	idle_rows(c, "cpu", &d->cpu);
	idle_rows(c, "core", &d->core);
	idle_rows(c, "llc", &d->llc);
	idle_rows(c, "package", &d->package);
	return true;
}

static bool write_cstates(struct wi_csv *c, const struct wi_report *rep)
{
	const struct wi_idle_results *d = &rep->results->idle;

	wi_csv_header(c, "cpu,state,ns,entries");
	for (size_t i = 0; i < d->nr_cstate; i++) {
		wi_csv_u64(c, d->cstate[i].cpu);
		wi_csv_u64(c, d->cstate[i].state);
		wi_csv_u64(c, d->cstate[i].ns);
		wi_csv_u64(c, d->cstate[i].entries);
		wi_csv_end(c);
	}
	return true;
}

static bool write_migrations(struct wi_csv *c, const struct wi_report *rep)
{
	const struct wi_migration_results *m = &rep->results->migrations;

	wi_csv_header(c, "key,count");
	fact(c, "total", m->total);
	fact(c, "inferred", m->inferred);
	fact(c, "placement", m->placement);
	for (int d = WI_DIST_CORE; d < WI_NR_DISTANCES; d++)
		fact(c, wi_distance_name((enum wi_distance)d), m->by_distance[d]);
	fact(c, "distance_unknown", m->distance_unknown);
	return true;
}

static bool write_tasks(struct wi_csv *c, const struct wi_report *rep)
{
	const struct wi_results *r = rep->results;
	size_t nr;
	const struct wi_task_row **row = kept_tasks(r, WI_TASKS_BY_RUN, &nr);
	bool ok = row != NULL;

	wi_csv_header(c, "pid,comm,tgid,run_ns,wait_ns,sleep_ns,unknown_ns,wakeups,switches_in,preempted,preempt_"
			 "unknown,migrations");
	for (size_t i = 0; ok && i < nr; i++) {
		task_fields(c, r, row[i]->pid, row[i]->comm);
		if (row[i]->tgid)
			wi_csv_i64(c, row[i]->tgid);
		else
			wi_csv_none(c);
		wi_csv_u64(c, row[i]->run_ns);
		wi_csv_u64(c, row[i]->wait_ns);
		wi_csv_u64(c, row[i]->sleep_ns);
		wi_csv_u64(c, row[i]->unknown_ns);
		wi_csv_u64(c, row[i]->wakeups);
		wi_csv_u64(c, row[i]->switches_in);
		if (rep->preempted_known && wi_task_preempted_known(row[i]))
			wi_csv_u64(c, row[i]->preempted);
		else
			wi_csv_none(c);
		if (row[i]->preempt_unknown)
			wi_csv_u64(c, row[i]->preempt_unknown);
		else
			wi_csv_none(c);
		wi_csv_u64(c, row[i]->migrations);
		wi_csv_end(c);
	}
	free(row);
	return ok;
}

static const struct csv_table tables[] = {
	{ "facts", write_facts },
	{ "events", write_events },
	{ "cpus", write_cpus },
	{ "wakeups", write_wakeups },
	{ "latency", write_latency },
	{ "histogram", write_histogram },
	{ "latency_tasks", write_latency_tasks },
	{ "latency_cpus", write_latency_cpus },
	{ "latency_wakers", write_latency_wakers },
	{ "missed_idle", write_missed },
	{ "worst", write_worst },
	{ "longest", write_longest },
	{ "idle_while_waiting", write_waste },
	{ "smt_cores", write_smt_cores },
	{ "smt_avoidable", write_smt_avoidable },
	{ "smt_pairs", write_smt_pairs },
	{ "smt_tasks", write_smt_tasks },
	{ "smt_cookies", write_smt_cookies },
	{ "smt_cookie_groups", write_smt_cookie_groups },
	{ "wake_affine", write_affine },
	{ "wake_affine_matrix", write_affine_matrix },
	{ "migrations", write_migrations },
	{ "idle", write_idle },
	{ "cstates", write_cstates },
	{ "tasks", write_tasks },
};

const char *wi_report_csv_name(size_t i)
{
	return i < NR(tables) ? tables[i].name : NULL;
}

static const struct csv_table *find(const char *name)
{
	for (size_t i = 0; i < NR(tables); i++)
		if (!strcmp(tables[i].name, name))
			return &tables[i];
	return NULL;
}

bool wi_report_csv_exists(const char *name)
{
	return find(name) != NULL;
}

bool wi_report_csv(FILE *out, const struct wi_report *rep, const char *name, struct wi_err *err)
{
	const struct csv_table *t = find(name);
	struct wi_csv c = { .out = out };

	if (!t)
		return wi_err_set(err, WI_EUSAGE, "there is no table '%s'", name);
	return t->write(&c, rep) || wi_err_nomem(err);
}
