/* SPDX-License-Identifier: GPL-2.0-or-later */
/* wakeif simulate: the recorded workload run again under other policies, and how far that can be trusted. */
#include "analyzer/cmd_simulate.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analyzer/base/kernel.h"
#include "analyzer/cmd_saved.h"
#include "analyzer/report/simulate.h"
#include "analyzer/report/workload.h"
#include "analyzer/sim_jobs.h"

void wi_simulate_note(struct simulate_cmd *c, const char *fmt, ...)
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
	uint32_t moved = 0;

	wi_workload_doubts(c->w, c->notes, sizeof(c->notes));
	for (size_t p = 0; p < c->nr_policies; p++)
		for (uint32_t i = 0; i < c->policy[p].nr_runs; i++) {
			invalid += c->policy[p].run[i].invalid;
			undone += c->policy[p].run[i].tasks_undone;
			if (c->policy[p].run[i].moved_pins > moved)
				moved = c->policy[p].run[i].moved_pins;
		}
	if (undone)
		wi_simulate_note(
			c,
			"%llu tasks of all runs did not come to the end of their tapes: they wait for wakes that never "
			"came\n",
			(unsigned long long)undone);
	if (invalid)
		wi_simulate_note(c, "%llu answers of models were illegal and replaced by the kernel's fallback\n",
				 (unsigned long long)invalid);
	if (moved)
		wi_simulate_note(
			c,
			"%u sets of CPUs that tasks are bound to have no CPU on the other machine: those tasks "
			"run anywhere\n",
			moved);
	if (c->nr_unknown_cookies)
		wi_simulate_note(c, "of %u tasks the map cannot tell the cookie: they have none\n",
				 c->nr_unknown_cookies);
	if (c->what_if)
		wi_simulate_note(
			c,
			"in a guest on a shared host what-ifs that change the number of busy CPUs are unreliable (see "
			"--host-cpus)\n");
	if (c->w->kernel >= WI_KERNEL(6, 6))
		wi_simulate_note(
			c, "EEVDF (kernels from 6.6) is simulated, but has not been measured against recordings as CFS "
			   "has\n");
}

static bool simulate(struct simulate_cmd *c, struct wi_err *err)
{
	if (!wi_simulate_policies(c, err) || !run_all(c, err))
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
	wi_simulate_policies_fini(c);
	wi_tally_recorded_free(c->tally);
	wi_tally_result_fini(&c->recorded);
	wi_workload_free(c->w);
}

int wi_cmd_simulate(int argc, char **argv)
{
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	struct simulate_cmd c = { .seeds = 5,
				  .baseline = "linux-auto",
				  .jobs = cpus > 0 && cpus < 1024 ? (uint32_t)cpus : 1 };
	struct wi_err err = { 0 };
	int status;

	wi_opts_parse(&wi_argp_simulate, argc, argv, &c.c.r.o);
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
