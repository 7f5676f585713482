/* SPDX-License-Identifier: GPL-2.0-or-later */
/* wakeif simulate: the recorded workload run again under other policies, and how far that can be trusted. */
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analyzer/base/cookie_map.h"
#include "analyzer/base/kernel.h"
#include "analyzer/cmd_saved.h"
#include "analyzer/report/simulate.h"
#include "analyzer/report/workload.h"
#include "analyzer/sim/tally_recorded.h"
#include "analyzer/sim_jobs.h"
#include "analyzer/topology/smt_off.h"
#include "analyzer/topology/topology.h"
#include "models/params.h"
#include "models/registry.h"

enum {
	KEY_SEEDS = 0x600,
	KEY_JOBS,
	KEY_SMT,
	KEY_MACHINE,
	KEY_EXTERNAL,
	KEY_NO_PREEMPTION,
	KEY_BALANCE,
	KEY_PICK,
	KEY_NO_SENSITIVITY,
	KEY_IDLE,
	KEY_BASELINE,
	KEY_POWER,
	KEY_CORE_SCHED
};

/* SMT speeds at which the what-ifs are repeated, in 1/1024: 0.5, 0.62, 0.9. */
static const uint32_t speeds[] = { 512, 635, 922 };
#define NR_SPEEDS (sizeof(speeds) / sizeof(*speeds))

/* A workload taken from the trace again; its topology is that of its session. */
struct sensitive {
	struct wi_session s;
	struct wi_workload *w;
};

struct simulate_cmd {
	struct wi_workload_cmd c; /* first: it begins with the struct wi_opts of the option groups */
	uint32_t seeds, jobs;
	bool smt_off, no_preemption, no_sensitivity, idle_tables;
	const char *machine, *baseline;
	uint32_t power_mc, power_smt; /* levels 0 .. 2 */
	enum wi_core_sched core_sched;
	struct wi_cookie_map *map; /* of cookies; NULL: none was given */
	uint32_t *cookie;	   /* by task */
	uint32_t nr_unknown_cookies;
	bool power;
	enum wi_sim_external external;
	enum wi_sim_balance balance;
	enum wi_sim_pick pick;
	/* of a run */
	struct wi_session s;
	struct wi_workload *w;
	struct wi_tally_recorded *tally;
	struct wi_tally_result recorded;
	bool saved; /* from a saved workload: there is no trace, s is empty */
	const struct wakeif_topology *what_if; /* NULL: the recorded machine */
	struct wi_model_spec
		spec[WI_REPLAY_MODELS + 5]; /* those of the baseline, --power-savings and --core-sched, too */
	size_t core_spec;		    /* the kernel's model with core scheduling; 0: it has none */
	size_t nr_specs;
	struct wi_sim_policy *policy;
	struct wi_sim_opts *opts;	       /* by policy */
	const struct wi_workload **of;	       /* by policy: what it runs */
	struct sensitive sensitive[NR_SPEEDS]; /* the tapes at other SMT speeds */
	size_t nr_policies, room;
	size_t first_what_if, nr_what_ifs, first_sensitivity, nr_sensitivity;
	struct wi_self_replay self;
	char notes[2048];
};

static const struct argp_option own_options[] = {
	{ "seeds", KEY_SEEDS, "N", 0, "runs of each policy, 1 .. 1000 (default: 5)", 0 },
	{ "jobs", KEY_JOBS, "N", 0, "processes at once (default: one a CPU)", 0 },
	{ "smt", KEY_SMT, "on|off", 0, "off: what if SMT were switched off", 0 },
	{ "machine", KEY_MACHINE, "SOURCE", 0, "what if it ran on this machine (any source that --topology takes)", 0 },
	{ "external", KEY_EXTERNAL, "auto|absolute|relative", 0,
	  "when wakes from outside come in a what-if: at their recorded time, or as long after the block as recorded "
	  "(auto, the default: kernel threads "
	  "absolute, others relative)",
	  0 },
	{ "no-wakeup-preemption", KEY_NO_PREEMPTION, NULL, 0, "what if no wakeup preempted a fair task", 0 },
	{ "balance", KEY_BALANCE, "full|newidle|off", 0, "load balancing of the machine (default: full)", 0 },
	{ "pick", KEY_PICK, "auto|cfs|eevdf|fifo", 0, "who runs next (default: auto, by the recording's kernel)", 0 },
	{ "no-sensitivity", KEY_NO_SENSITIVITY, NULL, 0, "do not repeat the what-ifs under other assumptions", 0 },
	{ "baseline", KEY_BASELINE, "MODEL", 0,
	  "the model that the recording was made under (default: linux-auto), where its scheduler features were not "
	  "the default ones",
	  0 },
	{ "power-savings", KEY_POWER, "mc=N,smt=N", 0,
	  "what if it ran under Linux 2.6.29 with sched_mc_power_savings and sched_smt_power_savings at each level up "
	  "to these (0 .. 2)",
	  0 },
	{ "core-sched", KEY_CORE_SCHED, "VARIANT", 0,
	  "what if cores were shared by tasks of one cookie only (--cookies): csc, csc_stallfix, csc_tim, csc_vruntime "
	  "(2019) or mainline",
	  0 },
	{ "idle", KEY_IDLE, NULL, 0, "idle share of each CPU, core and package", 0 },
	{ 0 },
};

static uint32_t number(struct argp_state *state, const char *option, const char *arg, uint32_t most)
{
	char *end;
	unsigned long n;

	errno = 0;
	n = strtoul(arg, &end, 10);
	if (errno || *end || arg[0] < '0' || arg[0] > '9' || !n || n > most)
		argp_error(state, "--%s: not a number of 1 .. %u: '%s'", option, most, arg);
	return (uint32_t)n;
}

static int choice(struct argp_state *state, const char *option, const char *arg, const char *list)
{
	int i = wi_cmd_pick(arg, list);

	if (i < 0)
		argp_error(state, "--%s: none of %s: '%s'", option, list, arg);
	return i;
}

static const char core_scheds[] = ""
#define X(id, name, help) name "|"
	WI_CORE_SCHEDS(X)
#undef X
	;

/* "mc=2", "mc=1,smt=2" */
static bool parse_power(struct simulate_cmd *c, const char *arg)
{
	c->power = c->idle_tables = true;
	for (const char *p = arg;;) {
		bool smt = !strncmp(p, "smt=", 4);
		const char *digit = smt ? p + 4 : !strncmp(p, "mc=", 3) ? p + 3 : NULL;

		if (!digit || *digit < '0' || *digit > '2' || (digit[1] && digit[1] != ','))
			return false;
		*(smt ? &c->power_smt : &c->power_mc) = (uint32_t)(*digit - '0');
		if (!digit[1])
			return true;
		p = digit + 2;
	}
}

static error_t own_key(int key, char *arg, struct argp_state *state)
{
	struct simulate_cmd *c = state->input;

	switch (key) {
	case KEY_SEEDS:
		c->seeds = number(state, "seeds", arg, 1000);
		return 0;
	case KEY_JOBS:
		c->jobs = number(state, "jobs", arg, 1024);
		return 0;
	case KEY_SMT:
		c->smt_off = choice(state, "smt", arg, "on|off") == 1;
		return 0;
	case KEY_MACHINE:
		c->machine = arg;
		return 0;
	case KEY_EXTERNAL:
		c->external = (enum wi_sim_external)choice(state, "external", arg, "auto|absolute|relative");
		return 0;
	case KEY_NO_PREEMPTION:
		c->no_preemption = true;
		return 0;
	case KEY_BALANCE:
		c->balance = (enum wi_sim_balance)choice(state, "balance", arg, "full|newidle|off");
		return 0;
	case KEY_PICK:
		c->pick = (enum wi_sim_pick)choice(state, "pick", arg, "auto|cfs|eevdf|fifo");
		return 0;
	case KEY_NO_SENSITIVITY:
		c->no_sensitivity = true;
		return 0;
	case KEY_POWER:
		if (!parse_power(c, arg))
			argp_error(state, "--power-savings: not mc=0..2,smt=0..2: '%s'", arg);
		return 0;
	case KEY_CORE_SCHED:
		c->core_sched = (enum wi_core_sched)choice(state, "core-sched", arg, core_scheds);
		return 0;
	case KEY_BASELINE: {
		struct wi_err err = { 0 };
		size_t at;

		if (!wi_replay_spec_check(arg, &at, &err))
			argp_error(state, "--baseline: %s", err.msg);
		c->baseline = arg;
		return 0;
	}
	case KEY_IDLE:
		c->idle_tables = true;
		return 0;
	default:
		return wi_replay_cmd_key(key, arg, state);
	}
}

static const struct argp_child children[] = {
	{ &wi_argp_input, 0, "Input:", 1 },	  { &wi_argp_models, 0, "Models:", 2 },
	{ &wi_argp_workload, 0, "Workload:", 3 }, { &wi_argp_output, 0, "Output:", 4 },
	{ &wi_argp_common, 0, NULL, -1 },	  { 0 },
};

static void note(struct simulate_cmd *c, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

static void note(struct simulate_cmd *c, const char *fmt, ...)
{
	size_t at = strlen(c->notes);
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(c->notes + at, sizeof(c->notes) - at, fmt, ap);
	va_end(ap);
}

/* ---- the recording ---- */

static void bind(void *ctx, struct wi_timeline *tl)
{
	struct simulate_cmd *c = ctx;

	wi_tally_recorded_bind(c->tally, tl);
}

static bool refuse_losses(const struct simulate_cmd *c, struct wi_err *err)
{
	if (!c->w->lost_events && !c->w->lost_marks)
		return true;
	return wi_err_at(err, WI_EREFUSED, c->c.r.o.path, WI_NO_OFFSET,
			 "records were lost in the window: what was lost may have been a cause; --time chooses "
			 "a part %swithout losses",
			 c->saved ? "of the trace " : "");
}

static bool read_saved(struct simulate_cmd *c, struct wi_err *err)
{
	struct wi_saved saved = { 0 };
	bool ok = wi_cmd_saved_open(&c->c, &saved, err);

	c->w = saved.workload;
	c->recorded = saved.recorded;
	return ok && refuse_losses(c, err);
}

static bool read_trace(struct simulate_cmd *c, struct wi_err *err)
{
	struct wi_workload_wanted *wanted = &c->c.wanted;

	if (!wi_session_open(&c->s, &c->c.r.o, err))
		return false;
	const struct wi_tally_opts to = { .topology = c->s.machine.topology };

	c->tally = wi_tally_recorded_new(&to, err);
	if (!c->tally)
		return false;
	wanted->sync = c->c.r.wanted.sync;
	wanted->observer = wi_tally_recorded_observer(c->tally);
	wanted->bind = bind;
	wanted->bind_ctx = c;
	c->w = wi_session_workload(&c->s, wanted, err);
	if (!c->w)
		return false;
	if (!refuse_losses(c, err))
		return false;
	return wi_tally_recorded_finish(c->tally, &c->recorded, err);
}

/* ---- policies ---- */

static bool add_spec(struct simulate_cmd *c, const char *text, struct wi_err *err)
{
	const char *rest = !strncmp(text, "linux-auto", 10) ? text + 10 : NULL;
	bool exact, ok;
	char *named = NULL;
	size_t at;

	if (rest && asprintf(&named, "%s%s", wi_model_of_kernel(c->w->kernel, &exact)->name, rest) < 0)
		return wi_err_nomem(err);
	ok = wi_model_spec_parse(named ? named : text, &c->spec[c->nr_specs], &at, err);
	free(named);
	c->nr_specs += ok;
	return ok;
}

static struct wi_sim_opts *add_policy(struct simulate_cmd *c, const struct wi_model_spec *spec,
				      const struct wi_sim_opts *like, struct wi_err *err, const char *fmt, ...)
	__attribute__((format(printf, 5, 6)));

static struct wi_sim_opts *add_policy(struct simulate_cmd *c, const struct wi_model_spec *spec,
				      const struct wi_sim_opts *like, struct wi_err *err, const char *fmt, ...)
{
	struct wi_sim_policy *p;
	struct wi_sim_opts *o;
	char *more = NULL;
	va_list ap;

	if (c->nr_policies == c->room) {
		size_t room = c->room ? c->room * 2 : 8;

		p = realloc(c->policy, room * sizeof(*p));
		c->policy = p ? p : c->policy;
		o = p ? realloc(c->opts, room * sizeof(*o)) : NULL;
		c->opts = o ? o : c->opts;
		const struct wi_workload **of = o ? realloc(c->of, room * sizeof(*of)) : NULL;

		c->of = of ? of : c->of;
		if (!of) {
			wi_err_nomem(err);
			return NULL;
		}
		c->room = room;
	}
	p = &c->policy[c->nr_policies];
	o = &c->opts[c->nr_policies];
	*o = *like;
	o->ops = spec->ops;
	o->values = spec->values;
	memset(p, 0, sizeof(*p));
	p->base = UINT32_MAX;
	c->of[c->nr_policies] = c->w;
	va_start(ap, fmt);
	if (vasprintf(&more, fmt, ap) < 0)
		more = NULL;
	va_end(ap);
	if (!more || asprintf(&p->label, "%s%s", spec->label, more) < 0)
		p->label = NULL;
	free(more);
	p->run = calloc(c->seeds, sizeof(*p->run));
	p->nr_runs = c->seeds;
	c->nr_policies++;
	if (!p->label || !p->run) {
		wi_err_nomem(err);
		return NULL;
	}
	return o;
}

static uint32_t smt_speed_of(void *ctx, const char *comm)
{
	return wi_workload_smt_speed(ctx, comm);
}

static bool find_machine(struct simulate_cmd *c, struct wi_err *err)
{
	const struct wakeif_topology *from = NULL;

	if (c->machine) {
		c->what_if = wi_topology_load(c->machine, err);
		if (!c->what_if)
			return false;
	}
	if (!c->smt_off)
		return true;
	from = c->what_if;
	if ((from ? from : c->w->topology)->smt < 2)
		return wi_err_set(err, WI_EUSAGE, "--smt=off: the machine (%s) has no SMT",
				  (from ? from : c->w->topology)->source);
	c->what_if = wi_topology_smt_off(from ? from : c->w->topology, err);
	wi_topology_free(from);
	return c->what_if != NULL;
}

/* Cookies of the workload's tasks, for core scheduling and for what the baseline does to them. */
static bool find_cookies(struct simulate_cmd *c, struct wi_err *err)
{
	const char *map = c->c.r.wanted.cookies;

	if (c->core_sched && !map)
		return wi_err_set(err, WI_EUSAGE, "core scheduling needs cookies: no --cookies MAP");
	if (!map)
		return true;
	c->map = wi_cookie_map_new(map, err);
	c->cookie = c->map ? calloc(c->w->nr_tasks + 1, sizeof(*c->cookie)) : NULL;
	if (!c->cookie)
		return c->map ? wi_err_nomem(err) : false;
	for (uint32_t i = 0; i < c->w->nr_tasks; i++) {
		const struct wi_work_task *t = &c->w->task[i];
		const struct wi_cookie_who who = { t->pid, t->tgid, t->comm[0] ? t->comm : NULL, t->cgroup };

		c->cookie[i] = wi_cookie_of(c->map, &who);
		c->nr_unknown_cookies += c->cookie[i] == WI_COOKIE_UNKNOWN;
		if (c->cookie[i] == WI_COOKIE_UNKNOWN)
			c->cookie[i] = WI_COOKIE_NONE;
	}
	return !wi_cookie_map_failed(c->map) || wi_err_nomem(err);
}

static const char *core_sched_name(enum wi_core_sched k)
{
	static const char *const names[] = {
#define X(id, name, help) name,
		WI_CORE_SCHEDS(X)
#undef X
	};

	return names[k];
}

/* The what-ifs: every model on the machine asked for, under the options asked for. */
static bool add_what_ifs(struct simulate_cmd *c, const struct wi_sim_opts *base, struct wi_err *err)
{
	bool other = c->what_if || c->no_preemption || c->core_sched; /* then the baseline's model is a what-if, too */
	struct wi_sim_opts like = *base;
	const char *machine = c->smt_off ? ", SMT off" : c->machine ? ", other machine" : "";

	like.topology = c->what_if;
	like.no_wakeup_preemption = c->no_preemption;
	like.core_sched = c->core_sched;
	for (size_t i = other ? 0 : 1; i < c->nr_specs; i++) {
		if (i && c->spec[i].ops == c->spec[0].ops && !strcmp(c->spec[i].params, c->spec[0].params))
			continue; /* the baseline itself */
		if (c->core_spec && i == c->core_spec)
			continue; /* it stands for the baseline's model */
		if (!add_policy(c, &c->spec[i || !c->core_spec ? i : c->core_spec], &like, err, "%s%s%s%s", machine,
				c->no_preemption ? ", no wakeup preemption" : "",
				c->core_sched ? ", core scheduling " : "",
				c->core_sched ? core_sched_name(c->core_sched) : ""))
			return false;
	}
	return true;
}

/* 2.6.29 at every level up to those asked for, side by side. */
static bool add_power_savings(struct simulate_cmd *c, const struct wi_sim_opts *base, struct wi_err *err)
{
	uint32_t most = c->power_mc > c->power_smt ? c->power_mc : c->power_smt;

	for (uint32_t level = 0; c->power && level <= most; level++) {
		struct wi_sim_opts like = *base;
		char text[64];

		like.topology = c->what_if;
		like.power_mc = level < c->power_mc ? level : c->power_mc;
		like.power_smt = level < c->power_smt ? level : c->power_smt;
		snprintf(text, sizeof(text), "linux-2.6.29,mc=%u,smt=%u", like.power_mc, like.power_smt);
		if (!add_spec(c, text, err) || !add_policy(c, &c->spec[c->nr_specs - 1], &like, err, "%s", ""))
			return false;
	}
	return true;
}

/* The same what-ifs with wakes from outside timed the other way, and without inferred wakes. */
static bool add_sensitivity(struct simulate_cmd *c, struct wi_err *err)
{
	for (size_t i = 0; i < c->nr_what_ifs && !c->no_sensitivity; i++) {
		for (int k = 0; k < 3; k++) {
			static const char *const name[] = { ", wakes from outside at recorded times",
							    ", wakes from outside after recorded lengths",
							    ", without inferred wakes" };
			struct wi_sim_opts like = c->opts[c->first_what_if + i];
			struct wi_model_spec spec = { .ops = like.ops,
						      .values = (int64_t *)(uintptr_t)like.values,
						      .label = c->policy[c->first_what_if + i].label };

			if (k == 2 && !c->w->facts.orders && !c->w->facts.requests)
				continue;
			like.external = k == 0 ? WI_EXTERNAL_ABSOLUTE : k == 1 ? WI_EXTERNAL_RELATIVE : like.external;
			like.no_orders |= k == 2;
			if (!add_policy(c, &spec, &like, err, "%s", name[k]))
				return false;
		}
	}
	return true;
}

/* And with other SMT speeds, at which the tapes hold other amounts of work: each against the baseline at its speed. */
static bool add_speed(struct simulate_cmd *c, const struct wi_sim_opts *base, struct sensitive *at, uint32_t speed,
		      struct wi_err *err)
{
	struct wi_workload_wanted wanted = c->c.wanted;
	uint32_t own_base = (uint32_t)c->nr_policies;
	struct wi_sim_opts like = *base;

	wanted.smt_speed = speed;
	wanted.nr_smt_speeds = 0;
	wanted.observer = NULL;
	wanted.bind = NULL;
	if (!wi_session_open(&at->s, &c->c.r.o, err))
		return false;
	at->w = wi_session_workload(&at->s, &wanted, err);
	like.smt_speed_of = NULL;
	if (!at->w || !add_policy(c, &c->spec[0], &like, err, ", SMT speed %.2f", speed / 1024.0))
		return false;
	c->of[own_base] = at->w;
	for (size_t i = 0; i < c->nr_what_ifs; i++) {
		struct wi_model_spec spec = { .label = c->policy[c->first_what_if + i].label };

		like = c->opts[c->first_what_if + i];
		like.smt_speed_of = NULL;
		spec.ops = like.ops;
		spec.values = (int64_t *)(uintptr_t)like.values;
		if (!add_policy(c, &spec, &like, err, ", SMT speed %.2f", speed / 1024.0))
			return false;
		c->policy[c->nr_policies - 1].base = own_base;
		c->of[c->nr_policies - 1] = at->w;
	}
	return true;
}

static bool add_speeds(struct simulate_cmd *c, const struct wi_sim_opts *base, struct wi_err *err)
{
	bool smt = c->w->topology->smt > 1 || (c->what_if && c->what_if->smt > 1);

	if (c->no_sensitivity || !c->nr_what_ifs || !smt)
		return true;
	if (c->saved) {
		note(c, "the what-ifs were not repeated at other SMT speeds: that needs the trace\n");
		return true;
	}
	for (size_t i = 0; i < NR_SPEEDS; i++)
		if (speeds[i] != c->w->smt_speed && !add_speed(c, base, &c->sensitive[i], speeds[i], err))
			return false;
	return true;
}

static bool has_param(const struct wakeif_model_ops *ops, const char *name)
{
	for (uint32_t i = 0; i < ops->nr_params; i++)
		if (!strcmp(ops->params[i].name, name))
			return true;
	return false;
}

static bool add_policies(struct simulate_cmd *c, struct wi_err *err)
{
	struct wi_sim_opts base = {
		.external = c->external, .balance = c->balance, .pick = c->pick, .commit_ns = UINT64_MAX
	};
	struct wi_sim_opts *o;

	if (c->c.wanted.nr_smt_speeds) {
		base.smt_speed_of = smt_speed_of;
		base.smt_ctx = &c->c.wanted;
	}
	base.host_cpus = c->w->host_cpus;
	if (!find_cookies(c, err))
		return false;
	base.cookie = c->cookie;
	if (!add_spec(c, c->baseline, err))
		return false;
	for (size_t i = 0; i < c->c.r.wanted.nr_specs; i++)
		if (!add_spec(c, c->c.r.specs[i], err))
			return false;
	if (c->core_sched && has_param(c->spec[0].ops, "core-sched")) {
		c->core_spec = c->nr_specs;
		if (!add_spec(c, "linux-auto,core-sched=on", err))
			return false;
	}
	if (!find_machine(c, err) || !add_policy(c, &c->spec[0], &base, err, "%s", ""))
		return false;
	o = add_policy(c, &c->spec[0], &base, err, ", resampled latencies");
	if (!o)
		return false;
	o->noise = WI_NOISE_DRAWN;
	c->first_what_if = c->nr_policies;
	if (!add_what_ifs(c, &base, err) || !add_power_savings(c, &base, err))
		return false;
	c->nr_what_ifs = c->nr_policies - c->first_what_if;
	c->first_sensitivity = c->nr_policies;
	if (!add_sensitivity(c, err))
		return false;
	for (size_t i = c->first_what_if; i < c->nr_policies; i++)
		c->policy[i].base = 0;
	if (!add_speeds(c, &base, err))
		return false;
	c->nr_sensitivity = c->nr_policies - c->first_sensitivity;
	return true;
}

/* ---- runs ---- */

static bool run_all(struct simulate_cmd *c, struct wi_err *err)
{
	size_t nr = c->nr_policies * c->seeds;
	struct wi_sim_job *job = calloc(nr, sizeof(*job));
	bool ok;

	if (!job)
		return wi_err_nomem(err);
	for (size_t i = 0; i < nr; i++) {
		size_t p = i / c->seeds, seed = i % c->seeds;

		job[i] = (struct wi_sim_job){ .workload = c->of[p],
					      .opts = c->opts[p],
					      .label = c->policy[p].label,
					      .result = &c->policy[p].run[seed] };
		job[i].opts.seed = c->c.r.wanted.seed + seed;
	}
	wi_progress_pass("simulating");
	ok = wi_sim_jobs(job, nr, c->jobs, err);
	wi_progress_end();
	free(job);
	return ok;
}

static void describe(struct simulate_cmd *c)
{
	uint64_t invalid = 0, undone = 0;

	wi_workload_doubts(c->w, c->notes, sizeof(c->notes));
	for (size_t p = 0; p < c->nr_policies; p++)
		for (uint32_t i = 0; i < c->policy[p].nr_runs; i++) {
			invalid += c->policy[p].run[i].invalid;
			undone += c->policy[p].run[i].tasks_undone;
		}
	if (undone)
		note(c,
		     "%llu tasks of all runs did not come to the end of their tapes: they wait for wakes that never "
		     "came\n",
		     (unsigned long long)undone);
	if (invalid)
		note(c, "%llu answers of models were illegal and replaced by the kernel's fallback\n",
		     (unsigned long long)invalid);
	if (c->nr_unknown_cookies)
		note(c, "of %u tasks the map cannot tell the cookie: they have none\n", c->nr_unknown_cookies);
	if (c->what_if)
		note(c, "in a guest on a shared host what-ifs that change the number of busy CPUs are unreliable (see "
			"--host-cpus)\n");
	if (c->w->kernel >= WI_KERNEL(6, 6))
		note(c, "EEVDF (kernels from 6.6) is simulated, but has not been measured against recordings as CFS "
			"has\n");
}

static bool simulate(struct simulate_cmd *c, struct wi_err *err)
{
	if (!add_policies(c, err) || !run_all(c, err))
		return false;
	for (size_t p = 0; p < c->nr_policies; p++)
		if (!wi_sim_policy_summarise(&c->policy[p],
					     c->policy[p].base != UINT32_MAX ? &c->policy[c->policy[p].base] : NULL))
			return wi_err_nomem(err);
	wi_self_replay(&c->recorded, c->w->window_ns, &c->policy[0], &c->policy[1], &c->self);
	describe(c);
	return true;
}

static void json_members(struct wi_json *j, const void *ctx)
{
	wi_simulate_json(j, ctx);
}

/* rep: NULL of a saved workload. */
static bool print(FILE *out, const struct wi_report *rep, const void *ctx, struct wi_err *err)
{
	const struct simulate_cmd *c = ctx;
	struct wi_simulate_report r = { .workload = c->w,
					.self = &c->self,
					.policy = c->policy,
					.nr_policies = c->nr_policies,
					.first_what_if = c->first_what_if,
					.nr_what_ifs = c->nr_what_ifs,
					.first_sensitivity = c->first_sensitivity,
					.nr_sensitivity = c->nr_sensitivity,
					.recorded = &c->recorded,
					.notes = c->notes,
					.nr_seeds = c->seeds,
					.verbose = c->c.r.o.verbose,
					.idle_tables = c->idle_tables,
					.cookies = c->map };

	switch (c->c.r.o.format) {
	case WI_FORMAT_JSON: {
		if (!rep) {
			wi_cmd_saved_json(out, &c->c.r.o, c->w, json_members, &r);
			return true;
		}
		struct wi_report with = *rep;

		with.members = json_members;
		with.members_ctx = &r;
		return wi_report_json(out, &with, 0, err);
	}
	case WI_FORMAT_CSV:
		wi_simulate_csv(out, &r);
		return true;
	default:
		if (rep)
			wi_cmd_headline(out, rep);
		else
			wi_cmd_saved_headline(out, &c->c.r.o, c->w);
		return wi_simulate_text(out, &r, err);
	}
}

static bool print_saved(const struct simulate_cmd *c, struct wi_err *err)
{
	FILE *out = wi_out_open(c->c.r.o.out, err);
	bool ok = out && print(out, NULL, c, err);

	return out && wi_out_close(out, c->c.r.o.out, err) && ok;
}

static void fini(struct simulate_cmd *c)
{
	for (size_t i = 0; i < c->nr_policies; i++)
		wi_sim_policy_fini(&c->policy[i]);
	free(c->policy);
	free(c->opts);
	free(c->of);
	free(c->cookie);
	wi_cookie_map_free(c->map);
	for (size_t i = 0; i < NR_SPEEDS; i++) {
		wi_workload_free(c->sensitive[i].w);
		wi_session_close(&c->sensitive[i].s);
	}
	for (size_t i = 0; i < c->nr_specs; i++)
		wi_model_spec_fini(&c->spec[i]);
	wi_tally_recorded_free(c->tally);
	wi_tally_result_fini(&c->recorded);
	wi_topology_free(c->what_if);
	wi_workload_free(c->w);
}

int wi_cmd_simulate(int argc, char **argv)
{
	const struct argp argp = {
		own_options,
		own_key,
		"[FILE]",
		"Runs the recorded workload again on a simulated machine, under the recording's own kernel "
		"(self-replay: how well "
		"that reproduces the trace) and under other policies: their choices change what follows.\v"
		"A difference that is smaller than the error of the self-replay is marked. doc/simulate.md says what "
		"each number means.",
		children,
		NULL,
		NULL
	};
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	struct simulate_cmd c = { .seeds = 5,
				  .baseline = "linux-auto",
				  .jobs = cpus > 0 && cpus < 1024 ? (uint32_t)cpus : 1 };
	struct wi_err err = { 0 };
	int status;

	wi_opts_parse(&argp, argc, argv, &c.c.r.o);
	c.saved = wi_saved_is(c.c.r.o.path);
	if ((c.saved ? read_saved(&c, &err) : read_trace(&c, &err)) && simulate(&c, &err)) {
		if (c.saved)
			print_saved(&c, &err);
		else
			wi_session_print(&c.s, print, &c, &err);
	}
	fini(&c);
	if (c.saved)
		status = err.code ? wi_cmd_fail(&err) : WI_OK;
	else
		status = wi_session_end(&c.s, &err);
	wi_opts_fini(&c.c.r.o);
	return status;
}
