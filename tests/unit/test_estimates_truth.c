/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The estimates against what kernel probes recorded: every full recording of the corpus goes through the timeline into
 * the estimates, and at each decision each value is compared with the kernel's own. WAKEIF_CALIB=1 prints the figures by
 * recording. Skipped where the corpus is not there.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analyzer/base/cpumask.h"
#include "analyzer/timeline/timeline.h"
#include "analyzer/topology/tasks.h"
#include "analyzer/topology/topology.h"
#include "models/estimates_priv.h"
#include "parsers/source.h"

#define MAX_CPUS 64
#define MAX_LLCS 8

/* One line of decisions.tsv. */
struct truth {
	uint64_t waking_ns, ts_ns;
	int32_t pid, waker;
	uint32_t cpu, prev, flags, ncpus, mask, ret;
	uint32_t util, load, flips, weight;
	uint64_t uest, this_eff, prev_eff;
	bool has_eff, wide_known, wide;
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

struct run {
	const char *name;
	struct wi_timeline *tl;
	struct wi_estimates *est;
	struct wakeif_host host;
	const struct wakeif_topology *topo;
	struct truth *truth;
	size_t nr_truth;
	struct figures *f;
	struct step { int32_t pid; uint32_t cpu; uint64_t t; } *last; /* by pid % 4096: previous decision of the task */
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
	t->util = (uint32_t)atoi(col[14]);
	t->uest = strtoull(col[15], NULL, 0);
	t->load = (uint32_t)atoi(col[16]);
	t->weight = (uint32_t)(atoi(col[18]) / 1024);
	t->wide_known = t->cpu != t->prev && (t->mask >> t->cpu & 1) && t->flags == (t->flags & 0x18);
	t->wide = *col[19] == '-';
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
			   &t->rq[c].pending, &t->rq[c].load, &t->rq[c].util, &t->rq[c].est, &t->rq[c].runnable, &t->rq[c].cap,
			   &t->rq[c].curr, &t->rq[c].flips, &clock) != 12)
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
	qsort(r->truth, r->nr_truth, sizeof(*r->truth), by_waking);
}

static const struct truth *find_truth(const struct run *r, const struct wakeif_wakeup *w)
{
	struct truth key = { .waking_ns = w->wake_ns, .pid = w->pid };

	return bsearch(&key, r->truth, r->nr_truth, sizeof(key), by_waking);
}

static bool wide(uint32_t waker, uint32_t wakee, uint32_t factor)
{
	uint32_t big = waker > wakee ? waker : wakee, small = waker > wakee ? wakee : waker;

	return !(small < factor || big < small * factor);
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

static void compare_cpus(struct run *r, const struct truth *t, const struct wakeif_view *v, const struct wakeif_wakeup *w)
{
	struct figures *f = r->f;
	const struct wakeif_host *h = &r->host;

	for (uint32_t c = 0; c < t->nr_rq && c < r->topo->nr_cpus; c++) {
		struct est_cpu *cpu = &r->est->cpu[c];
		bool kernel_idle = !t->rq[c].nr && !t->rq[c].curr && !t->rq[c].pending;

		if (!wi_mask_test(v->unknown, c) && !(c == w->waker_cpu))
			count(&f->idle, wi_mask_test(v->idle, c) == kernel_idle);
		if (getenv("WAKEIF_CALIB_CPU")) {
			uint64_t before = cpu->pelt.last_ns;
			uint64_t l = h->cpu_load(h->ctx, c);
			printf("C %llu %llu %u %d %d %u %u %lld %lld %lld %llu %u %llu %u\n", (unsigned long long)t->ts_ns, (unsigned long long)w->now_ns, c, (int)wi_mask_test(v->idle, c), (int)kernel_idle, cpu->pelt.nr, t->rq[c].h_nr,
			  (long long)(t->ts_ns - t->rq[c].clock), (long long)(w->now_ns - before), (long long)(w->now_ns - cpu->pelt.last_ns), (unsigned long long)l, t->rq[c].load, (unsigned long long)cpu->pelt.util_avg, t->rq[c].util);
		}
		add_value(&f->cpu_load, (double)h->cpu_load(h->ctx, c) - t->rq[c].load);
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
		if (getenv("WAKEIF_CALIB_BUDGET"))
			printf("%llu %u model %u [%u %u] busy %u truth %u busy %u\n", (unsigned long long)t->ts_ns, g, v, lo, hi,
			       wi_scan_budget_nr_busy(r->est->budget, g), t->nr_idle_scan[i], t->nr_busy[i]);
	}
}

static void compare(struct run *r, const struct truth *t, const struct wakeif_wakeup *w)
{
	struct figures *f = r->f;
	const struct est_task *p = &r->est->task[w->wakee_task];
	uint32_t uest = (uint32_t)(t->uest >> 32) > ((uint32_t)t->uest & 0x7fffffff) ? (uint32_t)(t->uest >> 32) :
										       ((uint32_t)t->uest & 0x7fffffff);

	f->joined++;
	compare_cpus(r, t, wi_timeline_view(r->tl), w);
	compare_budget(r, t);
	add_value(&f->task_load, (double)r->host.task_load(r->host.ctx, w->wakee_task) - t->load);
	add_value(&f->task_util, (double)p->pelt.util_avg - t->util);
	count(&f->est_equal, labs((long)wi_pelt_est(&p->pelt) - (long)uest) <= 5);
	count(&f->flips, r->host.wakee_flips(r->host.ctx, w->wakee_task) == t->flips);
	if (t->wide_known)
		count(&f->wide, wide(r->host.wakee_flips(r->host.ctx, w->waker_task),
				     r->host.wakee_flips(r->host.ctx, w->wakee_task), r->topo->llc_size[w->waker_cpu]) == t->wide);
	if (t->has_eff)
		count(&f->weight, load_says_waker(r, w, t->flags & 0x10) == (t->this_eff < t->prev_eff));
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
	if (t)
		compare(r, t, &w->pub);
	else
		r->f->missing++;
}

static void happened(void *ctx, const struct wakeif_happening *h)
{
	wi_estimates_happened(((struct run *)ctx)->est, h);
}

static struct wi_task_fact *facts_of(const struct wi_tasks *tasks, const struct wakeif_topology *topo)
{
	struct wi_task_fact *f = calloc(tasks->nr + 1, sizeof(*f));

	assert_non_null(f);
	for (uint32_t i = 0; i < tasks->nr; i++) {
		const struct wi_task_entry *t = &tasks->task[i];

		f[i] = (struct wi_task_fact){ .pid = t->tid, .policy = t->policy == WAKEIF_POLICY_UNKNOWN ? -1 : t->policy, .nice = t->nice };
		if (t->allowed && t->allowed_words >= topo->nr_words)
			f[i].allowed = t->allowed;
	}
	return f;
}

static void feed(struct run *r, struct wi_source *src, struct wi_err *err)
{
	int max, n;
	struct wi_event *ev;

	while ((ev = wi_timeline_room(r->tl, &max)) && (n = wi_source_next_batch(src, ev, max < 1024 ? max : 1024, err)) > 0)
		assert_true(wi_timeline_take(r->tl, ev, n, err));
	assert_true(wi_timeline_finish(r->tl, err));
}

static void replay(struct run *r, const char *folder)
{
	struct wi_timeline_observer obs = { .ctx = r, .decision = decided, .happened = happened };
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

	struct wi_task_fact *facts = facts_of(tasks, r->topo);
	uint32_t kernel = strstr(folder, "/612") ? 6u << 16 | 12u << 8 : 6u << 16 | 1u << 8;
	struct wi_timeline_opts to = { .topology = r->topo, .names = names, .trace_name = path, .survey = &survey, .facts = facts,
				       .nr_facts = tasks->nr, .stop_ns = UINT64_MAX, .kernel_version = kernel };
	struct wi_estimates_opts eo = { .topology = r->topo, .kernel_version = kernel,
					.needs = WAKEIF_NEED_LOAD | WAKEIF_NEED_FLIPS | WAKEIF_NEED_SCAN_BUDGET };

	r->est = wi_estimates_new(&eo, &err);
	assert_non_null(r->est);
	wi_estimates_host(r->est, &r->host);
	r->tl = wi_timeline_new(&to, &obs, &err);
	assert_non_null(r->tl);
	feed(r, src, &err);
	assert_true(wi_estimates_ok(r->est, &err));
	wi_timeline_free(r->tl);
	wi_estimates_free(r->est);
	free(facts);
	wi_tasks_free(tasks);
	wi_survey_fini(&survey);
	wi_source_close(src);
	wi_names_free(names);
	wi_topology_free(r->topo);
	free(r->truth);
}

static void print(const char *name, struct figures *f)
{
	printf("%-24s %6llu/%llu load %5.0f %5.0f %5.0f | util %5.0f %5.0f %5.0f | est %4.0f %4.0f | p.load %5.0f %5.0f p.util %5.0f %5.0f | uest %5.1f | weight %5.1f of %llu | budget %5.1f 1: %5.1f in %5.1f busy %5.1f | idle %6.2f | flips %5.1f wide %6.2f of %llu\n",
	       name, (unsigned long long)f->joined, (unsigned long long)f->missing, quantile(&f->cpu_load, 0.05),
	       quantile(&f->cpu_load, 0.5), quantile(&f->cpu_load, 0.95), quantile(&f->cpu_util, 0.05), quantile(&f->cpu_util, 0.5),
	       quantile(&f->cpu_util, 0.95), quantile(&f->cpu_est, 0.05), quantile(&f->cpu_est, 0.95), quantile(&f->task_load, 0.05),
	       quantile(&f->task_load, 0.95), quantile(&f->task_util, 0.05), quantile(&f->task_util, 0.95), percent(&f->est_equal),
	       percent(&f->weight), (unsigned long long)f->weight.all, percent(&f->budget), percent(&f->budget1),
	       percent(&f->budget_range), percent(&f->busy), percent(&f->idle), percent(&f->flips), percent(&f->wide),
	       (unsigned long long)f->wide.all);
}

static const char *const recordings[] = {
	"61-nosmt4-hb-pipe-full", "61-nosmt4-schbench-full", "61-numa16-cpuset-full", "61-numa16-hb-pipe-full",
	"61-numa16-mix-full", "61-numa16-pp-N-full", "61-smt8-forks-full", "61-smt8-hb-pipe-full", "61-smt8-overload-full",
	"61-smt8-perfpipe-full", "61-smt8-policies-full", "61-smt8-schbench-full", "61-smt8-schedidle-full",
	"612-smt8-hb-pipe-full", "612-smt8-perfpipe-full", "612-smt8-policies-full",
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

static void against_the_kernel(void **state)
{
	const char *shared = getenv("WAKEIF_SHARED"), *only = getenv("WAKEIF_CALIB_ONLY");
	struct figures all[2] = { 0 };

	(void)state;
	if (!shared)
		shared = "../shared";
	for (size_t i = 0; i < sizeof(recordings) / sizeof(*recordings); i++) {
		struct figures f = { 0 };
		struct run r = { .name = recordings[i], .f = &f };
		char folder[500];

		if (only && !strstr(recordings[i], only))
			continue;
		snprintf(folder, sizeof(folder), "%s/corpus/%s", shared, recordings[i]);
		load_truth(&r, folder);
		replay(&r, folder);
		if (getenv("WAKEIF_CALIB"))
			print(recordings[i], &f);
		pool(&all[recordings[i][2] == '2'], &f);
		free_figures(&f);
	}
	if (getenv("WAKEIF_CALIB")) {
		print("all 6.1", &all[0]);
		print("all 6.12", &all[1]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(against_the_kernel) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
