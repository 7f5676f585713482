/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Twin experiment: can a recording tell what another policy would do? The machine runs tapes and writes its own
 * recording; that is read and extracted like any other and predicts a change. Truth: the first tapes under the same
 *change. No kernel and no host is in the way, so what is missed is what extraction loses.
 *
 *	twin [-s SEEDS] [-f FIRST] [-p SMT_SPEED] [-v] [-k FOLDER] INPUT...
 *
 * INPUT: a trace (its folder's topology.tar.gz and tasks.before are used where they are), or world:NAME.
 * -k: the machine's recordings with the last seed stay there: twin.dat, truth-N.dat and told-N.dat under change N.
 * Prints one line a cell (input, change, metric), separated by tabs, then the summary as a table in Markdown.
 */
#include <getopt.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analyzer/base/cpumask.h"
#include "analyzer/base/kernel.h"
#include "analyzer/session.h"
#include "analyzer/session_workload.h"
#include "analyzer/topology/smt_off.h"
#include "analyzer/topology/topology.h"
#include "tests/gen/tracedat_writer.h"
#include "tests/unit/sim_world.h"

#define MAX_SEEDS 32u

/* X(id, name, floor below which a change is none, in the metric's unit; relative is 5 % for all) */
#define METRICS(X)                                                                                                     \
	X(STAY, "stay", 0.01)                                                                                          \
	X(MPW, "migrations per waking", 0.02)                                                                          \
	X(UTIL, "util", 0.01)                                                                                          \
	X(P50, "p50", 10e3)                                                                                            \
	X(P99, "p99", 10e3)                                                                                            \
	X(CORUN, "co-run", 0.015)                                                                                      \
	X(RATE, "wakings/s", 1)

enum {
#define X(id, name, floor) M_##id,
	METRICS(X)
#undef X
		NR_METRICS
};

static const char *const metric_name[] = {
#define X(id, name, floor) name,
	METRICS(X)
#undef X
};
static const double metric_floor[] = {
#define X(id, name, floor) floor,
	METRICS(X)
#undef X
};

enum { NOWAKE, NOSMT, PREV, NOPREEMPT, NR_CHANGES };
static const char *const change_name[] = { "nowake", "smt off", "place=prev", "no preemption" };

struct sums {
	uint32_t cells, direction, within_25, within_50;
};

static struct {
	uint32_t first, seeds, smt_speed;
	bool verbose;
	const char *keep;
	char dir[64];
	struct sums metric[NR_METRICS], change[NR_CHANGES], all;
} twin = { .seeds = 4, .smt_speed = 1024 };

static void die(const char *fmt, ...) __attribute__((format(printf, 1, 2), noreturn));
static void die(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	fprintf(stderr, "twin: ");
	vfprintf(stderr, fmt, ap);
	fprintf(stderr, "\n");
	va_end(ap);
	exit(1);
}

/* ---- from a trace to tapes ---- */

struct loaded {
	struct wi_opts o;
	struct wi_session s;
	const char *tasks[1];
	struct wi_workload *w;
};

static void load(struct loaded *l, const char *path, const char *topology, const char *tasks, uint32_t smt_speed)
{
	struct wi_err err = { 0 };
	struct wi_workload_wanted wanted = { .smt_speed = smt_speed };

	memset(l, 0, sizeof(*l));
	l->o.path = path;
	l->o.path_given = true;
	l->o.topology = topology;
	l->o.quiet = true;
	l->o.time.stop_ns = UINT64_MAX;
	l->o.open.max_spool_bytes = WI_MAX_SPOOL_DEFAULT;
	l->tasks[0] = tasks;
	l->o.tasks = l->tasks;
	l->o.nr_tasks = tasks != NULL;
	if (!wi_session_open(&l->s, &l->o, &err))
		die("%s: %s", path, err.msg);
	l->w = wi_session_workload(&l->s, &wanted, &err);
	if (!l->w)
		die("%s: %s", path, err.msg);
}

static void unload(struct loaded *l)
{
	wi_workload_free(l->w);
	wi_session_close(&l->s);
}

/* ---- the machine's own recording ---- */

struct recorder {
	const struct wi_workload *w;
	struct tdw *t;
	uint64_t last_ns;
};

static const char *comm(const struct recorder *r, uint32_t name)
{
	return name == WI_NAME_NONE ? "swapper" : r->w->task[name - 1].comm;
}

static bool record(void *ctx, const struct wi_event *ev)
{
	struct recorder *r = ctx;
	struct wi_event e = *ev;
	const char *a = NULL, *b = NULL;

	/* A clock does not begin at 0. One thing after the other also on different CPUs: order is what readers go by.
	 */
	e.ts_ns += 1000000000;
	if (e.ts_ns <= r->last_ns)
		e.ts_ns = r->last_ns + 1;
	r->last_ns = e.ts_ns;
	switch (ev->type) {
	case WI_EV_SCHED_SWITCH:
		a = comm(r, ev->sw.prev_comm);
		b = comm(r, ev->sw.next_comm);
		break;
	case WI_EV_SCHED_MIGRATE_TASK:
		a = comm(r, ev->mig.comm);
		break;
	case WI_EV_SCHED_PROCESS_FORK:
		a = comm(r, ev->fork.parent_comm);
		b = comm(r, ev->fork.child_comm);
		break;
	default:
		a = comm(r, ev->wk.comm);
	}
	tdw_event(r->t, 0, &e, a, b);
	return true;
}

static void take(const struct wi_sim_result *r, double *m)
{
	const struct wi_tally_result *t = &r->tally;

	m[M_STAY] = wi_tally_stay(t);
	m[M_MPW] = wi_tally_migrations(t);
	m[M_UTIL] = wi_tally_util(t);
	m[M_P50] = (double)wi_hist_quantile(&t->latency, 0.5);
	m[M_P99] = (double)wi_hist_quantile(&t->latency, 0.99);
	m[M_CORUN] = wi_tally_corun(t);
	m[M_RATE] = wi_tally_wakings_per_s(t);
}

static void run(const struct wi_workload *w, int change, const struct wakeif_topology *no_smt, uint64_t seed,
		const char *path, double *metrics)
{
	struct wi_err err = { 0 };
	struct wi_model_spec model;
	struct recorder rec = { .w = w };
	struct wi_sim_result r;
	struct wi_sim_opts o = { .seed = seed, .commit_ns = UINT64_MAX };
	size_t at;

	if (!wi_model_spec_parse(change == PREV	    ? "prev"
				 : change == NOWAKE ? "linux-6.1,wa-idle=off,wa-weight=off"
						    : "linux-6.1",
				 &model, &at, &err))
		die("%s", err.msg);
	o.ops = model.ops;
	o.values = model.values;
	o.topology = change == NOSMT ? no_smt : NULL;
	o.no_wakeup_preemption = change == NOPREEMPT;
	if (path) {
		const struct tdw_cfg cfg = { .version = 7,
					     .long_size = 8,
					     .page_bytes = 4096,
					     .codec = TDW_NONE,
					     .nr_cpus = w->topology->nr_cpus,
					     .kernel = TDW_KERNEL_6_1,
					     .uname = "Linux twin 6.1.0 #1 SMP x86_64",
					     .clock = "[mono]",
					     .skip_empty_cpus = false };
		rec.t = tdw_new(&cfg);
		o.sink = record;
		o.sink_ctx = &rec;
	}
	if (!wi_sim_run(w, &o, &r, &err))
		die("%s", err.msg);
	if (r.tasks_undone)
		fprintf(stderr, "twin: %" PRIu64 " tasks and %" PRIu64 " operations undone (%s)\n", r.tasks_undone,
			r.ops_total - r.ops_done, change < 0 ? "as it was" : change_name[change]);
	if (path)
		tdw_finish(rec.t, path);
	take(&r, metrics);
	wi_sim_result_fini(&r);
	wi_model_spec_fini(&model);
}

/* ---- cells ---- */

static void count(struct sums *s, bool direction, double size)
{
	s->cells++;
	s->direction += direction;
	s->within_25 += fabs(size - 1) <= 0.25;
	s->within_50 += fabs(size - 1) <= 0.5;
}

static double mean(const double *v, uint32_t n)
{
	double sum = 0;

	for (uint32_t i = 0; i < n; i++)
		sum += v[i];
	return sum / n;
}

static double deviation(const double *v, uint32_t n)
{
	double m = mean(v, n), sum = 0;

	for (uint32_t i = 0; i < n; i++)
		sum += (v[i] - m) * (v[i] - m);
	return n > 1 ? sqrt(sum / (n - 1)) : 0;
}

struct seed_values {
	double base[NR_METRICS], change[NR_CHANGES][NR_METRICS];
};

static void judge(const char *input, int c, int m, const struct seed_values *truth, const struct seed_values *told)
{
	double t[MAX_SEEDS], p[MAX_SEEDS], b[MAX_SEEDS], bp[MAX_SEEDS], d, pd, sd, size;
	bool cell, right;

	for (uint32_t i = 0; i < twin.seeds; i++) {
		b[i] = truth[i].base[m];
		bp[i] = told[i].base[m];
		t[i] = truth[i].change[c][m] - b[i];
		p[i] = told[i].change[c][m] - told[i].base[m];
	}
	d = mean(t, twin.seeds);
	pd = mean(p, twin.seeds);
	sd = deviation(t, twin.seeds);
	if (!isfinite(d) || !isfinite(pd))
		return;
	cell = fabs(d) > 3 * sd && fabs(d) > 0.05 * fabs(mean(b, twin.seeds)) && fabs(d) > metric_floor[m];
	right = d * pd > 0;
	size = d != 0 ? pd / d : NAN;
	if (cell || twin.verbose)
		printf("cell\t%s\t%s\t%s\t%.5g\t%.5g\t%.5g\t%.5g\t%.5g\t%.2f\t%s\n", input, change_name[c],
		       metric_name[m], mean(b, twin.seeds), mean(bp, twin.seeds), d, sd, pd, size,
		       !cell			? "-"
		       : !right			? "wrong"
		       : fabs(size - 1) <= 0.25 ? "25"
		       : fabs(size - 1) <= 0.5	? "50"
						: "far");
	if (!cell)
		return;
	count(&twin.metric[m], right, size);
	count(&twin.change[c], right, size);
	count(&twin.all, right, size);
}

/* Under a change, too, if recordings are kept. */
static const char *keep(const char *which, int change)
{
	static char path[4096];

	snprintf(path, sizeof(path), "%s/%s-%d.dat", twin.keep ? twin.keep : "", which, change);
	return twin.keep ? path : NULL;
}

static uint64_t work(const struct wi_workload *w)
{
	uint64_t ns = 0;

	for (uint32_t t = 0; t < w->nr_tasks; t++)
		ns += w->task[t].work_ns;
	return ns;
}

static void experiment(const char *input, const struct wi_workload *w, const char *topology, const char *tasks,
		       uint32_t smt_speed)
{
	struct wi_err err = { 0 };
	const struct wakeif_topology *no_smt = wi_topology_smt_off(w->topology, &err);
	bool smt = no_smt && wi_mask_weight(no_smt->online, no_smt->nr_words) <
				     wi_mask_weight(w->topology->online, w->topology->nr_words);
	struct seed_values truth[MAX_SEEDS], told[MAX_SEEDS];
	char path[4096];

	if (!no_smt)
		die("%s", err.msg);
	snprintf(path, sizeof(path), "%s/twin.dat", twin.keep ? twin.keep : twin.dir);
	for (uint32_t s = 0; s < twin.seeds; s++) {
		struct loaded second;

		run(w, -1, NULL, twin.first + s + 1, path, truth[s].base);
		load(&second, path, topology, tasks, smt_speed);
		if (twin.verbose)
			printf("tapes\t%s\t%" PRIu64 " wakes\t%" PRIu64 " internal\t%" PRIu64
			       " implied\t%" PRIu64 " orders\t%.3f of the work\n",
			       input, second.w->facts.wakes, second.w->facts.internal, second.w->facts.implied,
			       second.w->facts.orders, (double)work(second.w) / (double)work(w));
		run(second.w, -1, NULL, twin.first + s + 1001, keep("told", -1), told[s].base);
		for (int c = 0; c < NR_CHANGES; c++) {
			if (c == NOSMT && !smt)
				continue;
			run(w, c, no_smt, twin.first + s + 1, keep("truth", c), truth[s].change[c]);
			run(second.w, c, no_smt, twin.first + s + 1001, keep("told", c), told[s].change[c]);
		}
		unload(&second);
	}
	if (!twin.keep)
		unlink(path);
	for (int m = 0; m < NR_METRICS && twin.verbose; m++) {
		double a = 0, b = 0;

		for (uint32_t s = 0; s < twin.seeds; s++) {
			a += truth[s].base[m] / twin.seeds;
			b += told[s].base[m] / twin.seeds;
		}
		printf("self\t%s\t%s\t%.5g\t%.5g\t%+.1f %%\n", input, metric_name[m], a, b, 100 * (b - a) / a);
	}
	for (int c = 0; c < NR_CHANGES; c++)
		for (int m = 0; m < NR_METRICS; m++)
			if (c != NOSMT || smt)
				judge(input, c, m, truth, told);
	wi_topology_free(no_smt);
}

/* ---- made-up inputs ---- */

#define WORLD_MACHINE "pack:1 l3:1 core:4 pu:2"

static void make_world(struct sim_world *w, const char *name)
{
	sim_latencies(w, 8 * US);
	if (!strcmp(name, "ping-pong")) {
		sim_ping_pong(w, 3, 1500, 25 * US);
	} else if (!strcmp(name, "stream")) {
		sim_stream(w, 2, 2500, 40 * US, 30 * US);
	} else if (!strcmp(name, "hackbench")) {
		sim_hackbench(w, 2, 5, 5, 60, 15 * US);
	} else if (!strcmp(name, "requests")) {
		sim_requests(w, 2, 6, 200, 400 * US);
	} else if (!strcmp(name, "make")) {
		sim_make(w, 6, 120, 3 * MS);
		sim_timers(w, 3, 200, 100 * US, MS);
	} else if (!strcmp(name, "hogs")) {
		sim_hogs(w, 5, 120 * MS);
		sim_timers(w, 6, 150, 200 * US, MS);
	} else if (!strcmp(name, "mutexes")) {
		sim_mutexes(w, 12, 4, 300, 30 * US, 60 * US);
	} else if (!strcmp(name, "crowd")) {
		sim_ping_pong(w, 12, 300, 30 * US);
	} else if (!strcmp(name, "busy")) {
		sim_requests(w, 3, 8, 80, 700 * US);
		sim_timers(w, 6, 120, 200 * US, 500 * US);
	} else if (!strcmp(name, "mix")) {
		sim_hogs(w, 2, 100 * MS);
		sim_ping_pong(w, 2, 700, 30 * US);
		sim_requests(w, 1, 5, 120, 300 * US);
		sim_timers(w, 4, 100, 100 * US, MS);
	} else {
		die("no world is named %s", name);
	}
}

static void run_world(const char *name)
{
	struct wi_err err = { 0 };
	const struct wakeif_topology *topo = wi_topology_load(WORLD_MACHINE, &err);
	struct sim_world w;
	struct wi_workload *load_;

	if (!topo)
		die("%s", err.msg);
	sim_world_begin(&w, topo, WI_KERNEL(6, 1), 1);
	w.m.smt_speed = 635;
	make_world(&w, name);
	load_ = sim_world_end(&w);
	load_->facts.commit_ns = 3 * US;
	experiment(name, load_, WORLD_MACHINE, NULL, 635);
	wi_workload_free(load_);
	wi_topology_free(topo);
}

static void run_trace(const char *path)
{
	char topology[4096], tasks[4096], name[256];
	const char *slash = strrchr(path, '/'), *base;
	int dir = slash ? (int)(slash - path) : 1;
	struct loaded first;
	bool has_topology, has_tasks;

	snprintf(topology, sizeof(topology), "%.*s/topology.tar.gz", dir, slash ? path : ".");
	snprintf(tasks, sizeof(tasks), "%.*s/tasks.before", dir, slash ? path : ".");
	has_topology = !access(topology, R_OK);
	has_tasks = !access(tasks, R_OK);
	if (!has_topology) { /* a sample: NAME.dat beside NAME.topology.tar.gz and NAME.tasks */
		size_t len = strcspn(slash ? slash + 1 : path, ".") + (slash ? (size_t)(slash + 1 - path) : 0);

		snprintf(topology, sizeof(topology), "%.*s.topology.tar.gz", (int)len, path);
		snprintf(tasks, sizeof(tasks), "%.*s.tasks", (int)len, path);
		has_topology = !access(topology, R_OK);
		has_tasks = !access(tasks, R_OK);
	}
	snprintf(name, sizeof(name), "%s", path);
	if (slash && !strcmp(slash, "/trace.dat"))
		name[dir] = '\0';
	base = strrchr(name, '/');
	load(&first, path, has_topology ? topology : NULL, has_tasks ? tasks : NULL, twin.smt_speed);
	experiment(base ? base + 1 : name, first.w, has_topology ? topology : NULL, has_tasks ? tasks : NULL,
		   twin.smt_speed);
	unload(&first);
}

/* ---- summary ---- */

static void row(const char *name, const struct sums *s)
{
	if (s->cells)
		printf("| %s | %u | %u (%.0f %%) | %u (%.0f %%) | %u (%.0f %%) |\n", name, s->cells, s->direction,
		       100.0 * s->direction / s->cells, s->within_25, 100.0 * s->within_25 / s->cells, s->within_50,
		       100.0 * s->within_50 / s->cells);
}

int main(int argc, char **argv)
{
	int opt;

	while ((opt = getopt(argc, argv, "s:f:p:vk:")) != -1) {
		if (opt == 's')
			twin.seeds = (uint32_t)atoi(optarg);
		else if (opt == 'f')
			twin.first = (uint32_t)atoi(optarg);
		else if (opt == 'p')
			twin.smt_speed = (uint32_t)(atof(optarg) * 1024 + 0.5);
		else if (opt == 'k')
			twin.keep = optarg;
		else if (opt == 'v')
			twin.verbose = true;
		else
			die("usage: twin [-s SEEDS] [-f FIRST] [-p SMT_SPEED] [-v] [-k FOLDER] INPUT...");
	}
	if (twin.seeds < 2 || twin.seeds > MAX_SEEDS || twin.smt_speed < 512 || twin.smt_speed > 1024)
		die("2 .. %u seeds, a speed of 0.5 .. 1", MAX_SEEDS);
	snprintf(twin.dir, sizeof(twin.dir), "/tmp/wakeif-twin-XXXXXX");
	if (!mkdtemp(twin.dir))
		die("no temporary folder");
	for (int i = optind; i < argc; i++) {
		if (!strncmp(argv[i], "world:", 6))
			run_world(argv[i] + 6);
		else
			run_trace(argv[i]);
		fflush(stdout);
	}
	rmdir(twin.dir);
	printf("\n| | changed cells | direction right | within 25 %% | within 50 %% |\n|---|---|---|---|---|\n");
	for (int m = 0; m < NR_METRICS; m++)
		row(metric_name[m], &twin.metric[m]);
	for (int c = 0; c < NR_CHANGES; c++)
		row(change_name[c], &twin.change[c]);
	row("all", &twin.all);
	return 0;
}
