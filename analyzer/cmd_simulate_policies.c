/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What wakeif simulate runs: the baseline twice, the what-ifs, and each of them again under other assumptions. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/base/kernel.h"
#include "analyzer/cmd_simulate.h"
#include "analyzer/topology/smt_off.h"
#include "analyzer/topology/topology.h"
#include "models/params.h"
#include "models/registry.h"

/* SMT speeds at which the what-ifs are repeated, in 1/1024: 0.5, 0.62, 0.9. */
static const uint32_t speeds[SIMULATE_SPEEDS] = { 512, 635, 922 };

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
		wi_simulate_note(c, "the what-ifs were not repeated at other SMT speeds: that needs the trace\n");
		return true;
	}
	for (size_t i = 0; i < SIMULATE_SPEEDS; i++)
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

bool wi_simulate_policies(struct simulate_cmd *c, struct wi_err *err)
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

void wi_simulate_policies_fini(struct simulate_cmd *c)
{
	for (size_t i = 0; i < c->nr_policies; i++)
		wi_sim_policy_fini(&c->policy[i]);
	free(c->policy);
	free(c->opts);
	free(c->of);
	free(c->cookie);
	wi_cookie_map_free(c->map);
	for (size_t i = 0; i < SIMULATE_SPEEDS; i++) {
		wi_workload_free(c->sensitive[i].w);
		wi_session_close(&c->sensitive[i].s);
	}
	for (size_t i = 0; i < c->nr_specs; i++)
		wi_model_spec_fini(&c->spec[i]);
	wi_topology_free(c->what_if);
}
