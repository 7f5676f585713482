/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The verdict of the text report: what was found, in sentences. */
#include <inttypes.h>
#include <stdlib.h>

#include "analyzer/report/text_priv.h"

/* Which CPUs a task may use is an assumption for most of the wakeups counted here. */
static bool affinity_assumed(const struct wi_results *r)
{
	const uint64_t *n = r->missed.allowed;

	return n[WAKEIF_ALLOWED_ASSUMED] > n[WAKEIF_ALLOWED_RECORDED] + n[WAKEIF_ALLOWED_INFERRED];
}

/* The end of a sentence that rests on what tasks were allowed to do. */
static const char *stop(const struct wi_results *r)
{
	return affinity_assumed(r) ? " (affinity assumed)." : ".";
}

static void add_worst(struct wi_para *p, const struct wi_results *r)
{
	const struct wi_worst_row *w = r->missed.nr_worst ? &r->missed.worst[0] : NULL;
	char a[WI_FMT_LEN], b[WI_FMT_LEN], task[WI_FMT_NAME_LEN];

	if (!w)
		return;
	wi_para_add(p, ", worst %s %s", wi_fmt_ns(a, sizeof(a), w->wait_ns),
		    wi_fmt_task(task, sizeof(task), wi_results_name(r, w->comm), w->pid));
	if (w->ran_pid == 0)
		wi_para_add(p, " behind another wakeup");
	else if (w->ran_pid > 0)
		wi_para_add(p, " behind %s%s",
			    wi_fmt_task(task, sizeof(task), wi_results_name(r, w->ran_comm), w->ran_pid),
			    w->ran_waking ? " (waking)" : "");
	wi_para_add(p, ", CPU %" PRIu32 " %s", w->missed_cpu,
		    w->missed_sched_idle ? "ran only SCHED_IDLE tasks" : "idle");
	if (w->avoidable_ns < w->wait_ns)
		wi_para_add(p, " for %s of it", wi_fmt_ns(b, sizeof(b), w->avoidable_ns));
	else if (!w->missed_sched_idle)
		wi_para_add(p, " throughout");
}

static const char *was(uint64_t n)
{
	return n == 1 ? "was" : "were";
}

static void verdict_missed(FILE *out, const struct wi_results *r)
{
	const struct wi_missed_results *m = &r->missed;
	uint64_t missed = 0, avoidable = 0;
	char a[WI_FMT_LEN], b[WI_FMT_LEN];
	struct wi_para p = { 0 };

	for (int i = WI_MISSED_SIBLING; i <= WI_MISSED_MACHINE; i++) {
		missed += m->row[i].count;
		avoidable += m->row[i].avoidable.sum_ns;
	}
	if (!m->decided) {
		wi_para_add(&p, "No wakeup of this window had its CPU chosen by a placement decision.");
	} else if (!missed) {
		wi_para_add(&p, "No decided wakeup queued on a busy CPU while another CPU that it could use was idle.");
	} else {
		wi_para_add(&p,
			    "%s of the decided wakeups (%" PRIu64 " of %" PRIu64
			    ") queued on a busy CPU while another was idle: %s avoidable wait",
			    wi_fmt_share(a, sizeof(a), missed, m->decided), missed, m->decided,
			    wi_fmt_ns(b, sizeof(b), avoidable));
		add_worst(&p, r);
		wi_para_add(&p, "%s", stop(r));
	}
	wi_para_print(&p, out, "  *", 4);
}

/* ", n of them with one in the chosen CPU's LLC", where that is not all the machine. */
static void add_in_llc(struct wi_para *p, const struct wi_report *rep, const struct wi_missed_cost cost[WI_NR_WIDE])
{
	if (rep->topology->nr_groups[WAKEIF_LLC] > 1)
		wi_para_add(p, ", %" PRIu64 " of them with one in the same LLC", cost[WI_WIDE_LLC].count);
}

static void verdict_idle_core(FILE *out, const struct wi_report *rep)
{
	const struct wi_missed_results *m = &rep->results->missed;
	const struct wi_missed_cost *c = &m->queued_while_idle_core[WI_WIDE_MACHINE],
				    *h = &m->half_busy_core[WI_WIDE_MACHINE];
	char a[WI_FMT_LEN], b[WI_FMT_LEN];
	struct wi_para p = { 0 };

	if (rep->topology->smt > 1 && c->count) {
		wi_para_add(&p, "%s (%" PRIu64 ") queued on a busy CPU while a whole core was idle",
			    wi_fmt_share(a, sizeof(a), c->count, m->decided), c->count);
		add_in_llc(&p, rep, m->queued_while_idle_core);
		wi_para_add(&p, ": %s avoidable wait%s", wi_fmt_ns(b, sizeof(b), c->avoidable.sum_ns),
			    stop(rep->results));
	}
	wi_para_print(&p, out, "  *", 4);
	if (rep->topology->smt > 1 && h->count) {
		wi_para_add(&p, "%s (%" PRIu64 ") %s placed beside a busy sibling while a whole core was idle",
			    wi_fmt_share(a, sizeof(a), h->count, m->decided), h->count, was(h->count));
		add_in_llc(&p, rep, m->half_busy_core);
		wi_para_add(&p, "%s", stop(rep->results));
	}
	wi_para_print(&p, out, "  *", 4);
	if (m->stacked_on_waker.count)
		wi_para_add(&p,
			    "%s (%" PRIu64
			    ") %s stacked on a waker's CPU that had others waiting while a core was idle: %s of wait%s",
			    wi_fmt_share(a, sizeof(a), m->stacked_on_waker.count, m->decided),
			    m->stacked_on_waker.count, was(m->stacked_on_waker.count),
			    wi_fmt_ns(b, sizeof(b), m->stacked_on_waker.wait.sum_ns), stop(rep->results));
	wi_para_print(&p, out, "  *", 4);
}

static void verdict_waste(FILE *out, const struct wi_results *r)
{
	const struct wi_waste *w = &r->waste[WAKEIF_MACHINE];
	char a[WI_FMT_LEN], b[WI_FMT_LEN], c[WI_FMT_LEN], d[WI_FMT_LEN], task[WI_FMT_NAME_LEN];
	struct wi_para p = { 0 };

	if (w->wall_ns)
		wi_para_add(&p,
			    "For %s (%s of the window) a CPU idled while a task that could run there waited: %s of it "
			    "behind another task, else for its own idle CPU to switch to it; longest "
			    "%s: %s waited on CPU %" PRIu32 ", CPU %" PRIu32 " idled%s",
			    wi_fmt_ns(a, sizeof(a), w->wall_ns), wi_fmt_share(b, sizeof(b), w->wall_ns, r->window_ns),
			    wi_fmt_ns(d, sizeof(d), w->behind_ns), wi_fmt_ns(c, sizeof(c), w->longest_ns),
			    wi_fmt_task(task, sizeof(task), wi_results_name(r, w->comm), w->pid), w->waiting_cpu,
			    w->idle_cpu, stop(r));
	wi_para_print(&p, out, "  *", 4);
}

static void verdict_smt(FILE *out, const struct wi_results *r)
{
	const struct wi_smt_results *s = &r->smt;
	char a[WI_FMT_LEN], b[WI_FMT_LEN], c[WI_FMT_LEN];
	uint64_t shared = 0, busy = 0;
	struct wi_para p = { 0 };

	for (uint32_t i = 1; s->present && i <= s->nr_threads; i++) {
		busy += s->busy_threads_ns[i];
		shared += i > 1 ? s->busy_threads_ns[i] : 0;
	}
	if (shared)
		wi_para_add(&p,
			    "Cores ran two or more tasks at once for %s of their busy time (%s); for %s of it another "
			    "core of the machine was idle.",
			    wi_fmt_share(a, sizeof(a), shared, busy), wi_fmt_ns(b, sizeof(b), shared),
			    wi_fmt_share(c, sizeof(c), s->avoidable_corun_ns[WI_WIDE_MACHINE], shared));
	wi_para_print(&p, out, "  *", 4);
}

static void verdict_affine(FILE *out, const struct wi_report *rep)
{
	const struct wi_affine_part *a = &rep->results->affine.all;
	const struct wi_missed_results *m = &rep->results->missed;
	char x[WI_FMT_LEN], y[WI_FMT_LEN];
	struct wi_para p = { 0 };

	if (a->considered && rep->topology->nr_groups[WAKEIF_LLC] > 1)
		wi_para_add(&p,
			    "Of %" PRIu64 " decided wakeup%s whose waker ran on another CPU than the previous one %s "
			    "left the LLC of their previous CPU; %s of those came back within 10 ms.",
			    a->considered, wi_text_s(a->considered),
			    wi_fmt_share(x, sizeof(x), a->cross_llc, a->considered),
			    wi_fmt_share(y, sizeof(y), a->bounce, a->cross_llc));
	wi_para_print(&p, out, "  *", 4);
	if (m->prev_idle_elsewhere)
		wi_para_add(&p, "%s (%" PRIu64 ") left a previous CPU that was idle.",
			    wi_fmt_share(x, sizeof(x), m->prev_idle_elsewhere, m->decided), m->prev_idle_elsewhere);
	wi_para_print(&p, out, "  *", 4);
}

static void verdict_latency(FILE *out, const struct wi_results *r)
{
	const struct wi_hist *h = &r->latency.wakeup;
	char a[WI_FMT_LEN], b[WI_FMT_LEN], c[WI_FMT_LEN], d[WI_FMT_LEN];
	struct wi_para p = { 0 };

	if (h->count)
		wi_para_add(&p, "Wakeup latency: p50 %s, p99 %s, max %s over %" PRIu64 " wakeup%s.",
			    wi_fmt_ns(a, sizeof(a), wi_hist_quantile(h, 0.5)),
			    wi_fmt_ns(b, sizeof(b), wi_hist_quantile(h, 0.99)), wi_fmt_ns(c, sizeof(c), h->max_ns),
			    h->count, wi_text_s(h->count));
	if (r->wakeups.censored)
		wi_para_add(&p, "%s%" PRIu64 " still waiting at the end, the longest for %s.", h->count ? " " : "",
			    r->wakeups.censored, wi_fmt_ns(d, sizeof(d), r->quality.censored_oldest_ns));
	wi_para_print(&p, out, "  *", 4);
}

static void add_longest(struct wi_para *p, const struct wi_results *r, const struct wi_longest_row *w)
{
	uint32_t cpu = w->run_cpu != WI_CPU_NONE ? w->run_cpu : w->chosen_cpu;
	char a[WI_FMT_LEN], b[WI_FMT_LEN], task[WI_FMT_NAME_LEN];

	wi_para_add(p, "%s %s%s (%s)", wi_fmt_task(task, sizeof(task), wi_results_name(r, w->comm), w->pid),
		    w->censored ? "still waiting after " : "", wi_fmt_ns(a, sizeof(a), w->latency_ns),
		    wi_class_name((enum wakeif_class)w->class_));
	if (cpu != WI_CPU_NONE)
		wi_para_add(p, " on CPU %" PRIu32, cpu);
	if (w->queue_wait_ns == WI_TIME_UNKNOWN || !w->behind_known || !w->nr_behind) {
		wi_para_add(p, ", who ran there is not known.");
		return;
	}
	wi_para_add(p, ", behind %s for %s of its queue wait",
		    w->behind[0].pid
			    ? wi_fmt_task(task, sizeof(task), wi_results_name(r, w->behind[0].comm), w->behind[0].pid)
			    : "the idle task",
		    wi_fmt_share(b, sizeof(b), w->behind[0].ns, w->queue_wait_ns));
	if (w->queue_wait_ns < w->latency_ns)
		wi_para_add(p, " of %s", wi_fmt_ns(a, sizeof(a), w->queue_wait_ns));
	if (w->sibling_idle_ns != WI_TIME_UNKNOWN && w->sibling_idle_ns)
		wi_para_add(p, ", a sibling idle for %s",
			    wi_fmt_share(b, sizeof(b), w->sibling_idle_ns, w->queue_wait_ns));
	wi_para_add(p, ".");
}

/* The longest wait of all classes, and the longest of which it is known who ran there meanwhile. */
static void verdict_longest(FILE *out, const struct wi_results *r)
{
	const struct wi_longest_row *w = r->latency.longest;
	struct wi_para p = { 0 };
	size_t known = 0;

	if (!r->latency.nr_longest)
		return;
	wi_para_add(&p, "Longest wait: ");
	add_longest(&p, r, &w[0]);
	while (known < r->latency.nr_longest && !(w[known].behind_known && w[known].nr_behind))
		known++;
	if (known && known < r->latency.nr_longest) {
		wi_para_add(&p, " The longest that is known better: ");
		add_longest(&p, r, &w[known]);
	}
	wi_para_print(&p, out, "  *", 4);
}

void wi_report_text_verdict(FILE *out, const struct wi_report *rep)
{
	wi_text_title(out, "VERDICT");
	if (!rep->results->wakeups.total) {
		struct wi_para p = { 0 };

		wi_para_add(&p, "%s", rep->filter[0] ? "No wakeup passes the filter." : "No wakeup in this window.");
		wi_para_print(&p, out, "  *", 4);
	} else {
		verdict_missed(out, rep->results);
		verdict_idle_core(out, rep);
	}
	verdict_waste(out, rep->results);
	verdict_smt(out, rep->results);
	if (rep->results->wakeups.total) {
		verdict_affine(out, rep);
		verdict_latency(out, rep->results);
		verdict_longest(out, rep->results);
	}
}
