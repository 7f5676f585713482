/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The estimates against what kernel probes recorded: every full recording of the corpus goes through the timeline into
 * the estimates, and at each decision each value is compared with the kernel's own. WAKEIF_CALIB=1 prints the figures
 * by recording. Skipped where the corpus is not there.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "analyzer/base/cpumask.h"
#include "analyzer/timeline/timeline.h"
#include "analyzer/topology/tasks.h"
#include "analyzer/topology/topology.h"
#include "models/estimates_priv.h"
#include "parsers/source.h"
#include "tests/unit/share.h"

#define MAX_CPUS 64
#define MAX_LLCS 8

/* One line of decisions.tsv. */
struct truth {
	uint64_t waking_ns, ts_ns;
	int32_t pid, waker;
	uint32_t cpu, prev, flags, ncpus, mask, ret;
	uint32_t util, load, flips, weight;
	int32_t policy;
	uint64_t lut_ns; /* of the wakee's last update, on the run queue's clock */
	uint64_t uest, this_eff, prev_eff;
	bool has_eff, sync, wide_known, wide;
	uint32_t llc_first[MAX_LLCS], nr_idle_scan[MAX_LLCS], nr_busy[MAX_LLCS], nr_llcs;
	uint32_t nr_rq;
	struct {
		uint32_t nr, h_nr, idle_nr, pending, load, util, est, runnable, cap;
		int32_t curr;
		uint32_t flips;
		uint64_t clock;
	} rq[MAX_CPUS];
};

struct quantiles {
	float *v;
	size_t nr, max;
};

static void add_value(struct quantiles *q, double v)
{
	if (q->nr == q->max) {
		q->max = q->max ? 2 * q->max : 4096;
		q->v = realloc(q->v, q->max * sizeof(*q->v));
		assert_non_null(q->v);
	}
	q->v[q->nr++] = (float)v;
}

static int by_value(const void *a, const void *b)
{
	float x = *(const float *)a, y = *(const float *)b;

	return x < y ? -1 : x > y;
}

static double quantile(struct quantiles *q, double at)
{
	if (!q->nr)
		return 0;
	qsort(q->v, q->nr, sizeof(*q->v), by_value);
	return q->v[(size_t)(at * (double)(q->nr - 1))];
}

struct share {
	uint64_t right, all;
};

static void count(struct share *s, bool right)
{
	s->all++;
	s->right += right;
}

static double percent(const struct share *s)
{
	return s->all ? 100.0 * (double)s->right / (double)s->all : 100.0;
}

struct figures {
	struct quantiles cpu_load, cpu_util, cpu_runnable, cpu_est, task_load, task_util, step_util, step_load;
	struct share weight, budget, budget1, budget_range, idle, wide, flips, busy, est_equal;
	uint64_t joined, missing;
};

/* Latest changes of a CPU's idle state: the kernel's answers are of its entry into the decision, a little earlier. */
#define HISTORY 32
struct history {
	uint64_t t[HISTORY];
	bool idle[HISTORY];
	uint32_t nr;
};

/* A task set to the kernel's own values at one decision, to see where one sleep and one run on the same CPU take it. */
#define MAX_SHADOWS 8192
struct shadow {
	struct wi_pelt_task pelt;
	uint64_t run_ns, ran_ns; /* its run began; length of the one before its last sleep */
	uint32_t nr_runs;
	bool set, queued;
};

struct run {
	struct shadow *shadow;
	bool grouped;	   /* autogroups count */
	uint64_t clock_ns; /* what the trace's clock is ahead of the run queues' */
	struct history history[MAX_CPUS];
	struct wi_timeline *tl;
	struct wi_estimates *est;
	struct wakeif_host host;
	const struct wakeif_topology *topo;
	struct truth *truth;
	size_t nr_truth;
	struct figures *f;
};

static char *read_zst(const char *path)
{
	char cmd[700], *text = NULL;
	size_t len = 0, max = 0, n;
	FILE *in;

	snprintf(cmd, sizeof(cmd), "zstd -dcq '%s' 2>/dev/null", path);
	in = popen(cmd, "r");
	assert_non_null(in);
	do {
		if (max - len < 65536) {
			max = max ? 2 * max : 1 << 20;
			text = realloc(text, max + 1);
			assert_non_null(text);
		}
		n = fread(text + len, 1, max - len, in);
		len += n;
	} while (n);
	pclose(in);
	text[len] = 0;
	return text;
}

static char *const *columns(char *line)
{
	static char *col[64];
	int n = 0;

	memset(col, 0, sizeof(col));
	for (char *p; n < 64 && (p = strsep(&line, "\t")); n++)
		col[n] = p;
	return col;
}

static bool parse_truth(char *line, struct truth *t)
{
	char *const *col = columns(line);

	if (!col[30])
		return false;
	memset(t, 0, sizeof(*t));
	t->ts_ns = strtoull(col[0], NULL, 10);
	t->waking_ns = *col[1] == '-' ? 0 : strtoull(col[1], NULL, 10);
	t->cpu = (uint32_t)atoi(col[2]);
	t->waker = atoi(col[3]);
	t->pid = atoi(col[4]);
	t->prev = (uint32_t)atoi(col[5]);
	t->flags = (uint32_t)strtoul(col[6], NULL, 0);
	t->ncpus = (uint32_t)atoi(col[7]);
	t->mask = (uint32_t)strtoul(col[8], NULL, 0);
	t->flips = (uint32_t)atoi(col[10]);
	t->policy = atoi(col[13]);
	t->util = (uint32_t)atoi(col[14]);
	t->uest = strtoull(col[15], NULL, 0);
	t->load = (uint32_t)atoi(col[16]);
	t->lut_ns = strtoull(col[17], NULL, 10);
	t->weight = (uint32_t)(atoi(col[18]) / 1024);
	t->wide_known = t->cpu != t->prev && (t->mask >> t->cpu & 1) && t->flags == (t->flags & 0x18);
	t->wide = *col[19] == '-';
	t->sync = *col[21] == '1';
	t->has_eff = *col[22] != '-';
	t->this_eff = strtoull(col[22], NULL, 10);
	t->prev_eff = strtoull(col[23], NULL, 10);
	t->ret = (uint32_t)atoi(col[26]);
	for (char *s = col[29], *p; (p = strsep(&s, ";")) && t->nr_llcs < MAX_LLCS; t->nr_llcs++) {
		uint32_t l = t->nr_llcs, hic;

		if (sscanf(p, "%u:%u:%u:%u", &t->llc_first[l], &t->nr_idle_scan[l], &hic, &t->nr_busy[l]) != 4)
			break;
	}
	for (char *s = col[30], *p; (p = strsep(&s, ";")) && t->nr_rq < MAX_CPUS; t->nr_rq++) {
		unsigned long long clock;
		uint32_t c = t->nr_rq;

		if (sscanf(p, "%u:%u:%u:%u:%u:%u:%u:%u:%u:%d:%u:%llu", &t->rq[c].nr, &t->rq[c].h_nr, &t->rq[c].idle_nr,
			   &t->rq[c].pending, &t->rq[c].load, &t->rq[c].util, &t->rq[c].est, &t->rq[c].runnable,
			   &t->rq[c].cap, &t->rq[c].curr, &t->rq[c].flips, &clock) != 12)
			break;
		t->rq[c].clock = clock;
	}
	return true;
}

static int by_waking(const void *a, const void *b)
{
	const struct truth *x = a, *y = b;

	if (x->waking_ns != y->waking_ns)
		return x->waking_ns < y->waking_ns ? -1 : 1;
	return x->pid < y->pid ? -1 : x->pid > y->pid;
}

static void load_truth(struct run *r, const char *folder)
{
	char path[600], *text, *rest, *line;
	size_t max = 0;

	snprintf(path, sizeof(path), "%s/decisions.tsv.zst", folder);
	rest = text = read_zst(path);
	for (const char *p = text; *p; p++)
		max += *p == '\n';
	r->truth = calloc(max + 1, sizeof(*r->truth));
	assert_non_null(r->truth);
	strsep(&rest, "\n");
	while ((line = strsep(&rest, "\n")) && *line && r->nr_truth <= max)
		r->nr_truth += parse_truth(line, &r->truth[r->nr_truth]);
	free(text);
	r->clock_ns = UINT64_MAX;
	for (size_t i = 0; i < r->nr_truth; i++)
		for (uint32_t c = 0; c < r->truth[i].nr_rq; c++)
			if (r->truth[i].ts_ns - r->truth[i].rq[c].clock < r->clock_ns)
				r->clock_ns = r->truth[i].ts_ns - r->truth[i].rq[c].clock;
	qsort(r->truth, r->nr_truth, sizeof(*r->truth), by_waking);
}

static const struct truth *find_truth(const struct run *r, const struct wakeif_wakeup *w)
{
	struct truth key = { .waking_ns = w->wake_ns, .pid = w->pid };

	return bsearch(&key, r->truth, r->nr_truth, sizeof(key), by_waking);
}

static bool load_says_waker(const struct run *r, const struct wakeif_wakeup *w, bool sync)
{
	const struct wakeif_host *h = &r->host;
	int64_t th = (int64_t)h->cpu_load(h->ctx, w->waker_cpu), tl = (int64_t)h->task_load(h->ctx, w->wakee_task);
	int64_t pv;
	uint32_t pct = 117;

	for (uint32_t i = 0; i < r->topo->nr_domains[w->waker_cpu]; i++)
		if (wi_mask_test(r->topo->domains[w->waker_cpu][i].span, w->prev_cpu)) {
			pct = r->topo->domains[w->waker_cpu][i].imbalance_pct;
			break;
		}
	if (sync) {
		int64_t cl = (int64_t)h->task_load(h->ctx, w->waker_task);

		if (cl > th)
			return true;
		th -= cl;
	}
	th = (th + tl) * 100;
	pv = ((int64_t)h->cpu_load(h->ctx, w->prev_cpu) - tl) * (100 + (pct - 100) / 2);
	return th < pv + sync;
}

static bool idle_at(const struct run *r, uint32_t c, uint64_t t, bool now)
{
	const struct history *h = &r->history[c];

	for (uint32_t i = h->nr; i && i + HISTORY > h->nr; i--) {
		uint32_t k = (i - 1) % HISTORY;

		if (h->t[k] <= t)
			return h->idle[k];
		now = !h->idle[k];
	}
	return now;
}

static void compare_cpus(struct run *r, const struct truth *t, const struct wakeif_view *v)
{
	struct figures *f = r->f;
	const struct wakeif_host *h = &r->host;

	for (uint32_t c = 0; c < t->nr_rq && c < r->topo->nr_cpus; c++) {
		struct est_cpu *cpu = &r->est->cpu[c];
		bool kernel_idle = !t->rq[c].nr && !t->rq[c].curr && !t->rq[c].pending;

		if (!wi_mask_test(v->unknown, c))
			count(&f->idle, idle_at(r, c, t->ts_ns, wi_mask_test(v->idle, c)) == kernel_idle);
		h->cpu_load(h->ctx, c); /* up to the last tick */
		add_value(&f->cpu_load, (double)(r->grouped ? cpu->pelt.load_avg : cpu->flat.load_avg) - t->rq[c].load);
		add_value(&f->cpu_util, (double)cpu->pelt.util_avg - t->rq[c].util);
		add_value(&f->cpu_runnable, (double)cpu->pelt.runnable_avg - t->rq[c].runnable);
		add_value(&f->cpu_est, (double)cpu->pelt.util_est - t->rq[c].est);
	}
}

static void compare_budget(struct run *r, const struct truth *t)
{
	struct figures *f = r->f;

	for (uint32_t i = 0; i < t->nr_llcs; i++) {
		uint32_t lo, hi, v, g;

		if (t->llc_first[i] >= r->topo->nr_cpus)
			continue;
		g = r->topo->group[WAKEIF_LLC][t->llc_first[i]];
		v = r->host.scan_budget(r->host.ctx, g, &lo, &hi);
		if (g != r->topo->group[WAKEIF_LLC][t->prev])
			continue;
		count(&f->budget, v == t->nr_idle_scan[i]);
		count(&f->budget1, v <= t->nr_idle_scan[i] + 1 && v + 1 >= t->nr_idle_scan[i]);
		count(&f->budget_range, t->nr_idle_scan[i] >= lo && t->nr_idle_scan[i] <= hi);
		count(&f->busy, wi_scan_budget_nr_busy(r->est->budget, g) == t->nr_busy[i]);
	}
}

static void compare(struct run *r, const struct truth *t, const struct wakeif_wakeup *w)
{
	struct figures *f = r->f;
	const struct est_task *p = &r->est->task[w->wakee_task];
	uint32_t uest = (uint32_t)(t->uest >> 32) > ((uint32_t)t->uest & 0x7fffffff) ? (uint32_t)(t->uest >> 32)
										     : ((uint32_t)t->uest & 0x7fffffff);

	f->joined++;
	compare_cpus(r, t, wi_timeline_view(r->tl));
	compare_budget(r, t);
	add_value(&f->task_load, (double)p->pelt.load_avg - t->load);
	add_value(&f->task_util, (double)p->pelt.util_avg - t->util);
	count(&f->est_equal, labs((long)wi_pelt_est(&p->pelt) - (long)uest) <= 5);
	count(&f->flips, r->host.wakee_flips(r->host.ctx, w->wakee_task) == t->flips);
	if (t->wide_known)
		count(&f->wide, wi_wake_wide(r->host.wakee_flips(r->host.ctx, w->waker_task),
					     r->host.wakee_flips(r->host.ctx, w->wakee_task),
					     r->topo->llc_size[w->waker_cpu]) == t->wide);
	if (t->has_eff)
		if (t->has_eff)
			count(&f->weight,
			      load_says_waker(r, w, t->sync) == ((int64_t)t->this_eff < (int64_t)t->prev_eff));
}

static void shadow_happened(struct run *r, const struct wakeif_happening *h)
{
	struct shadow *s = h->task < MAX_SHADOWS ? &r->shadow[h->task] : NULL;

	if (!s)
		return;
	if (h->type == WAKEIF_TASK_SLEEPS) {
		s->ran_ns = h->now_ns - s->run_ns;
		return; /* the kernel says when it was accounted for, see compare_step() */
	}
	if (h->type == WAKEIF_TASK_RUNS) {
		s->run_ns = h->now_ns;
		s->nr_runs++;
	}
	if (!s->set)
		return;
	wi_pelt_update_task(&s->pelt, h->now_ns, s->queued, false);
	if (h->type == WAKEIF_TASK_ENQUEUED)
		s->queued = true;
	else if (h->type != WAKEIF_TASK_RUNS)
		s->set = false; /* preempted, moved, or lost sight of */
}

/* Only from the end of a run in which a period ended to the next: else the averages are behind what was summed up. */
static void compare_step(struct run *r, const struct truth *t, const struct wi_wakeup *w)
{
	struct shadow *s = w->pub.wakee_task < MAX_SHADOWS ? &r->shadow[w->pub.wakee_task] : NULL;

	if (!s)
		return;
	if (s->set && s->nr_runs == 1 && s->ran_ns > WI_PELT_UNIT * WI_PELT_UNIT) {
		wi_pelt_update_task(&s->pelt, t->lut_ns + r->clock_ns, true, true);
		add_value(&r->f->step_util, (double)s->pelt.util_avg - t->util);
		add_value(&r->f->step_load, ((double)s->pelt.load_avg - t->load) * 1024 / t->weight);
	}
	s->pelt = r->est->task[w->pub.wakee_task].pelt;
	s->nr_runs = 0;
	s->queued = false;
	s->set = w->chosen_cpu == w->pub.prev_cpu && t->weight && s->ran_ns > WI_PELT_UNIT * WI_PELT_UNIT;
	s->pelt.weight = t->weight;
	s->pelt.last_ns = t->lut_ns + r->clock_ns;
	s->pelt.util_avg = t->util;
	s->pelt.load_avg = t->load;
	s->pelt.util_sum = t->util * wi_pelt_divider(s->pelt.contrib);
	s->pelt.load_sum = t->weight ? t->load * wi_pelt_divider(s->pelt.contrib) / t->weight : 0;
}

static void decided(void *ctx, uint64_t now_ns, const struct wi_wakeup *w)
{
	struct run *r = ctx;
	const struct truth *t;

	(void)now_ns;
	wi_estimates_wakeup(r->est, &w->pub);
	if (w->pub.class_ != WAKEIF_SELECT)
		return;
	t = find_truth(r, &w->pub);
	if (t) {
		compare(r, t, &w->pub);
		compare_step(r, t, w);
	} else {
		r->f->missing++;
	}
}

static void idle_changed(void *ctx, uint64_t now_ns, uint32_t c, bool idle)
{
	struct history *h = &((struct run *)ctx)->history[c];

	h->t[h->nr % HISTORY] = now_ns;
	h->idle[h->nr++ % HISTORY] = idle;
}

static void happened(void *ctx, const struct wakeif_happening *h)
{
	wi_estimates_happened(((struct run *)ctx)->est, h);
	if (h->type >= WAKEIF_TASK_ENQUEUED && h->type <= WAKEIF_TASK_RENICED)
		shadow_happened(ctx, h);
}

static int by_pid(const void *a, const void *b)
{
	const struct wi_task_fact *x = a, *y = b;

	return x->pid < y->pid ? -1 : x->pid > y->pid;
}

/* Of the tasks listed before the recording, and the policies of those that came later, as a complete side file would
 * say. */
static struct wi_task_fact *facts_of(const struct run *r, const struct wi_tasks *tasks, size_t *nr)
{
	struct wi_task_fact *f = calloc(tasks->nr + r->nr_truth + 1, sizeof(*f));
	size_t n = 0, m = 0;

	assert_non_null(f);
	for (uint32_t i = 0; i < tasks->nr; i++) {
		const struct wi_task_entry *t = &tasks->task[i];

		f[n] = (struct wi_task_fact){ .pid = t->tid,
					      .policy = t->policy == WAKEIF_POLICY_UNKNOWN ? -1 : t->policy,
					      .nice = t->nice };
		if (t->allowed && t->allowed_words >= r->topo->nr_words)
			f[n].allowed = t->allowed;
		n++;
	}
	for (size_t i = 0; i < r->nr_truth; i++)
		if (!wi_tasks_find(tasks, r->truth[i].pid) && r->truth[i].policy)
			f[n++] = (struct wi_task_fact){ .pid = r->truth[i].pid,
							.policy = r->truth[i].policy,
							.nice = INT32_MIN };
	qsort(f, n, sizeof(*f), by_pid);
	for (size_t i = 0; i < n; i++)
		if (!i || f[i].pid != f[m - 1].pid)
			f[m++] = f[i];
	*nr = m;
	return f;
}

static void feed(struct run *r, struct wi_source *src, struct wi_err *err)
{
	int max, n;
	struct wi_event *ev;

	while ((ev = wi_timeline_room(r->tl, &max)) &&
	       (n = wi_source_next_batch(src, ev, max < 1024 ? max : 1024, err)) > 0)
		assert_true(wi_timeline_take(r->tl, ev, n, err));
	assert_true(wi_timeline_finish(r->tl, err));
}

static void replay(struct run *r, const char *folder)
{
	struct wi_timeline_observer obs = {
		.ctx = r, .decision = decided, .idle_changed = idle_changed, .happened = happened
	};
	struct wi_open_opts open = { 0 };
	struct wi_names *names = wi_names_new();
	struct wi_survey survey;
	struct wi_tasks *tasks = NULL;
	struct wi_err err = { 0 };
	struct wi_source *src;
	char path[600];

	snprintf(path, sizeof(path), "%s/topology.tar.gz", folder);
	r->topo = wi_topology_load(path, &err);
	assert_non_null(r->topo);
	snprintf(path, sizeof(path), "%s/tasks.before", folder);
	assert_true(wi_tasks_add_file(&tasks, path, &err));
	snprintf(path, sizeof(path), "%s/trace.dat", folder);
	src = wi_source_open(path, &open, names, &err);
	assert_non_null(src);
	assert_true(wi_survey(src, &survey, &err));

	size_t nr_facts;
	struct wi_task_fact *facts = facts_of(r, tasks, &nr_facts);
	uint32_t kernel = strstr(folder, "/612") ? 6u << 16 | 12u << 8 : 6u << 16 | 1u << 8;
	struct wi_timeline_opts to = { .topology = r->topo,
				       .names = names,
				       .trace_name = path,
				       .survey = &survey,
				       .facts = facts,
				       .nr_facts = nr_facts,
				       .stop_ns = UINT64_MAX,
				       .kernel_version = kernel };
	struct wi_estimates_opts eo = { .topology = r->topo,
					.kernel_version = kernel,
					.needs = WAKEIF_NEED_LOAD | WAKEIF_NEED_FLIPS | WAKEIF_NEED_SCAN_BUDGET };

	struct wi_estimates_member *members = calloc(tasks->nr + 1, sizeof(*members));

	assert_non_null(members);
	/* All tasks that have an autogroup have the same; only in the 6.12 guests it counts, which nothing but
	 * placements tells. */
	for (uint32_t i = 0; i < tasks->nr; i++)
		members[i] = (struct wi_estimates_member){ .pid = tasks->task[i].tid,
							   .group = tasks->task[i].autogroup[0] != 0 };
	r->grouped = kernel >= (6u << 16 | 12u << 8);
	eo.nr_groups = 1;
	eo.members = members;
	eo.nr_members = tasks->nr;
	eo.other_group = 1;
	r->shadow = calloc(MAX_SHADOWS, sizeof(*r->shadow));
	assert_non_null(r->shadow);
	r->est = wi_estimates_new(&eo, &err);
	assert_non_null(r->est);
	wi_estimates_host(r->est, &r->host);
	r->tl = wi_timeline_new(&to, &obs, &err);
	assert_non_null(r->tl);
	feed(r, src, &err);
	assert_true(wi_estimates_ok(r->est, &err));
	assert_false(wi_estimates_grouped(r->est) && !r->grouped);
	if (strstr(folder, "612-smt8-hb-pipe"))
		assert_true(wi_estimates_grouped(r->est));
	if (getenv("WAKEIF_CALIB"))
		printf("  loads count groups: %s (score %.1f)\n", wi_estimates_grouped(r->est) ? "yes" : "no",
		       r->est->group_score);
	wi_timeline_free(r->tl);
	wi_estimates_free(r->est);
	free(facts);
	free(members);
	wi_tasks_free(tasks);
	wi_survey_fini(&survey);
	wi_source_close(src);
	wi_names_free(names);
	wi_topology_free(r->topo);
	free(r->truth);
	free(r->shadow);
}

static void print_quantiles(const char *what, struct quantiles *q)
{
	if (q->nr)
		printf("  %-13s %8zu  5 %%: %6.0f  25 %%: %6.0f  50 %%: %6.0f  75 %%: %6.0f  95 %%: %6.0f\n", what,
		       q->nr, quantile(q, 0.05), quantile(q, 0.25), quantile(q, 0.5), quantile(q, 0.75),
		       quantile(q, 0.95));
}

static void print_share(const char *what, const struct share *s)
{
	if (s->all)
		printf("  %-13s %8llu  %6.2f %%\n", what, (unsigned long long)s->all, percent(s));
}

static void print(const char *name, struct figures *f)
{
	printf("%s: %llu decisions compared, %llu without a line of truth\n", name, (unsigned long long)f->joined,
	       (unsigned long long)f->missing);
	print_quantiles("cpu load", &f->cpu_load);
	print_quantiles("cpu util", &f->cpu_util);
	print_quantiles("cpu runnable", &f->cpu_runnable);
	print_quantiles("cpu util_est", &f->cpu_est);
	print_quantiles("task load", &f->task_load);
	print_quantiles("task util", &f->task_util);
	print_quantiles("step util", &f->step_util);
	print_quantiles("step load", &f->step_load);
	print_share("util_est +-5", &f->est_equal);
	print_share("load compare", &f->weight);
	print_share("budget", &f->budget);
	print_share("budget +-1", &f->budget1);
	print_share("in its range", &f->budget_range);
	print_share("nr_busy", &f->busy);
	print_share("idle", &f->idle);
	print_share("wakee flips", &f->flips);
	print_share("wide", &f->wide);
}

static const char *const recordings[] = {
	"61-nosmt4-hb-pipe-full", "61-nosmt4-schbench-full", "61-numa16-cpuset-full",  "61-numa16-hb-pipe-full",
	"61-numa16-mix-full",	  "61-numa16-pp-N-full",     "61-smt8-forks-full",     "61-smt8-hb-pipe-full",
	"61-smt8-overload-full",  "61-smt8-perfpipe-full",   "61-smt8-policies-full",  "61-smt8-schbench-full",
	"61-smt8-schedidle-full", "612-smt8-hb-pipe-full",   "612-smt8-perfpipe-full", "612-smt8-policies-full",
};

static void free_figures(struct figures *f)
{
	free(f->cpu_load.v);
	free(f->cpu_util.v);
	free(f->cpu_runnable.v);
	free(f->cpu_est.v);
	free(f->task_load.v);
	free(f->task_util.v);
	free(f->step_util.v);
	free(f->step_load.v);
}

static void add_share(struct share *to, const struct share *s)
{
	to->right += s->right;
	to->all += s->all;
}

static void pool(struct figures *to, const struct figures *f)
{
	add_share(&to->weight, &f->weight);
	add_share(&to->budget, &f->budget);
	add_share(&to->budget1, &f->budget1);
	add_share(&to->budget_range, &f->budget_range);
	add_share(&to->idle, &f->idle);
	add_share(&to->wide, &f->wide);
	add_share(&to->flips, &f->flips);
	add_share(&to->busy, &f->busy);
	add_share(&to->est_equal, &f->est_equal);
	to->joined += f->joined;
	to->missing += f->missing;
}

static void at_least(const char *what, const struct share *s, double bar)
{
	if (percent(s) < bar)
		fail_msg("%s: %.2f %% of %llu, not %.2f", what, percent(s), (unsigned long long)s->all, bar);
}

static void add_quantiles(struct quantiles *to, const struct quantiles *q)
{
	for (size_t i = 0; i < q->nr; i++)
		add_value(to, (double)q->v[i]);
}

static void against_the_kernel(void **state)
{
	const char *shared = getenv("WAKEIF_SHARED"), *only = getenv("WAKEIF_CALIB_ONLY");
	struct figures all[2] = { 0 };
	char folder[500];

	(void)state;
	snprintf(folder, sizeof(folder), "%s/corpus", shared ? shared : "../shared");
	if (access(folder, R_OK)) {
		print_message("skipped: no recordings in %s\n", folder);
		skip();
	}
	for (size_t i = 0; i < sizeof(recordings) / sizeof(*recordings); i += test_share_step()) {
		struct figures f = { 0 }, *sum = &all[recordings[i][2] == '2'];
		struct run r = { .f = &f };

		if (only && !strstr(recordings[i], only))
			continue;
		snprintf(folder, sizeof(folder), "%s/corpus/%s", shared ? shared : "../shared", recordings[i]);
		load_truth(&r, folder);
		replay(&r, folder);
		if (getenv("WAKEIF_CALIB"))
			print(recordings[i], &f);
		pool(sum, &f);
		add_quantiles(&sum->step_util, &f.step_util);
		add_quantiles(&sum->step_load, &f.step_load);
		add_quantiles(&sum->cpu_load, &f.cpu_load);
		free_figures(&f);
	}
	if (getenv("WAKEIF_CALIB")) {
		print("all 6.1", &all[0]);
		print("all 6.12", &all[1]);
	}
	if (!only && test_share_percent() == 100) {
		at_least("load compare", &all[0].weight, 92);
		at_least("nr_idle_scan", &all[0].budget, 84);
		at_least("nr_idle_scan +-1", &all[0].budget1, 97.5);
		at_least("idle state", &all[0].idle, 98.5);
		at_least("wake_wide", &all[0].wide, 99);
		at_least("wake_wide on 6.12", &all[1].wide, 96); /* 88 with unknown counts taken as 0 */
		assert_true(all[0].joined > 70000);
		/* with the group's part of the root; without it the median is off by 1000 and more */
		assert_true(quantile(&all[1].cpu_load, 0.1) >= -100 && quantile(&all[1].cpu_load, 0.9) <= 100);
		assert_true(quantile(&all[0].step_util, 0.05) >= -5 && quantile(&all[0].step_util, 0.95) <= 5);
	}
	free_figures(&all[0]);
	free_figures(&all[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(against_the_kernel) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
