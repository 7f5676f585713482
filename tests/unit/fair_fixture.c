/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tests/unit/fair_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analyzer/base/cpumask.h"
#include "analyzer/topology/topology.h"

static struct fair_fixture *of(void *ctx)
{
	return ctx;
}

static uint64_t less(uint64_t a, uint64_t b)
{
	return a > b ? a - b : 0;
}

static uint64_t cpu_load(void *ctx, uint32_t cpu, bool without)
{
	return less(of(ctx)->load[cpu], without ? of(ctx)->task_load[1] : 0);
}

static uint64_t cpu_util(void *ctx, uint32_t cpu, bool without)
{
	return less(of(ctx)->util[cpu], without ? of(ctx)->task_util : 0);
}

static uint64_t cpu_runnable(void *ctx, uint32_t cpu, bool without)
{
	return less(of(ctx)->runnable[cpu], without ? of(ctx)->task_util : 0);
}

static uint64_t task_load(void *ctx, uint32_t task)
{
	return of(ctx)->task_load[task & 1];
}

static uint64_t task_util(void *ctx, uint32_t task)
{
	(void)task;
	return of(ctx)->task_util;
}

static uint32_t scan_budget(void *ctx, uint32_t cpu, uint32_t *min, uint32_t *max)
{
	(void)cpu;
	*min = of(ctx)->min;
	*max = of(ctx)->max;
	return of(ctx)->budget;
}

static uint32_t prop_budget(void *ctx, uint32_t cpu)
{
	(void)cpu;
	return of(ctx)->prop;
}

static bool idle_cores(void *ctx, uint32_t cpu)
{
	return of(ctx)->cores >> of(ctx)->machine.llc_id[cpu] & 1;
}

static const char *spec_of(char machine)
{
	switch (machine) {
	case 'S':
	case 'B':
		return "pack:1 l3:1 core:4 pu:2";
	case 'N':
	case 'X':
		return "node:2 l3:1 core:2 pu:2";
	case 'P':
		return "pack:1 l3:2 core:2 pu:2";
	case 'C':
		return "pack:1 l3:1 l2:2 core:4 pu:1";
	default:
		return "pack:2 core:1 pu:1";
	}
}

void ff_machine(struct fair_fixture *f, char machine)
{
	struct wi_err err = { WI_OK, "" };

	memset(f, 0, sizeof(*f));
	f->topo = wi_topology_load(spec_of(machine), &err);
	if (!f->topo)
		fail_msg("%s", err.msg);
	/* The fixture owns the topology and may bend it. */
	if (machine == 'X')
		for (uint32_t c = 0; c < f->topo->nr_cpus; c++)
			for (uint32_t i = 0; i < f->topo->nr_domains[c]; i++) {
				struct wakeif_domain *d = (struct wakeif_domain *)&f->topo->domains[c][i];

				if (d->flags & WAKEIF_SD_NUMA)
					d->flags &= ~(uint32_t)(WAKEIF_SD_WAKE_AFFINE | WAKEIF_SD_BALANCE_FORK |
								WAKEIF_SD_BALANCE_EXEC);
			}
	if (machine == 'B')
		for (uint32_t c = 4; c < 8; c++)
			((uint32_t *)f->topo->capacity)[c] = 512;
	assert_true(wi_fair_machine_init(&f->machine, f->topo));
}

void ff_fini(struct fair_fixture *f)
{
	wi_fair_machine_fini(&f->machine);
	wi_topology_free(f->topo);
}

static bool word_is(const char *word, size_t len, const char *name)
{
	return strlen(name) == len && !memcmp(word, name, len);
}

void ff_kernel(struct fair_fixture *f, const char *text)
{
	unsigned major, minor;
	int used;

	if (sscanf(text, "%u.%u%n", &major, &minor, &used) != 2)
		fail_msg("no kernel: %s", text);
	f->knobs = wi_fair_knobs_of(major << 16 | minor << 8);
	for (const char *w = text + used; *w;) {
		w += strspn(w, " ");
		size_t len = strcspn(w, " ");

		if (word_is(w, len, "vagin"))
			f->knobs.sync = WI_FAIR_SYNC_VAGIN;
		else if (word_is(w, len, "sis-current"))
			f->knobs.sync = WI_FAIR_SYNC_CURRENT;
		else if (word_is(w, len, "sis-short"))
			f->knobs.sync = WI_FAIR_SYNC_SHORT;
		else if (word_is(w, len, "cache-rfc"))
			f->knobs.cache = WI_FAIR_CACHE_RFC;
		else if (word_is(w, len, "cache-v1"))
			f->knobs.cache = WI_FAIR_CACHE_V1;
		else if (word_is(w, len, "sis-node"))
			f->knobs.sis_node = true;
		else if (word_is(w, len, "no-idle"))
			f->knobs.wa_idle = false;
		else if (word_is(w, len, "no-weight"))
			f->knobs.wa_weight = false;
		else if (word_is(w, len, "no-bias"))
			f->knobs.wa_bias = false;
		else if (word_is(w, len, "tip2026"))
			f->knobs.sidle = WI_FAIR_SIDLE_TIP2026;
		else if (word_is(w, len, "recent-bug"))
			f->knobs.recent_fixed = false;
		else if (word_is(w, len, "no-budget"))
			f->knobs.budget = WI_FAIR_BUDGET_NONE;
		else if (len)
			fail_msg("no such knob: %s", w);
		w += len;
	}
}

static wakeif_word list_of(const char *text, size_t len)
{
	struct wi_err err = { WI_OK, "" };
	uint64_t *mask, v;
	uint32_t words;

	if (!wi_mask_parse_list(text, len, &mask, &words, &err))
		fail_msg("%s", err.msg);
	v = words ? mask[0] : 0;
	free(mask);
	return v;
}

/* "CPU:N,CPU:N" into out; "N,N" counts from 0. */
static void values_of(const char *text, size_t len, uint64_t *out, size_t nr)
{
	const char *end = text + len;

	for (uint64_t at = 0; text < end; at++) {
		char *next;
		uint64_t v = strtoull(text, &next, 10);

		if (*next == ':') {
			at = v;
			v = strtoull(next + 1, &next, 10);
		}
		if (at >= nr || next > end)
			fail_msg("bad values: %s", text);
		out[at] = v;
		text = next + 1;
	}
}

static bool set_flag(struct fair_fixture *f, const char *w, size_t len)
{
	struct wi_fair_inputs *in = &f->in;

	if (word_is(w, len, "sync"))
		in->flags |= WAKEIF_WF_SYNC;
	else if (word_is(w, len, "exiting"))
		in->waker_exiting = true;
	else if (word_is(w, len, "pinned"))
		in->waker_pinned = true;
	else if (word_is(w, len, "irq"))
		in->waker_in_task = false;
	else if (word_is(w, len, "idlepol"))
		in->wakee_idle_policy = true;
	else if (word_is(w, len, "mutual"))
		in->mutual = true;
	else if (word_is(w, len, "short"))
		in->short_tasks = true;
	else if (word_is(w, len, "fork"))
		in->flags = WAKEIF_WF_FORK;
	else if (word_is(w, len, "exec"))
		in->flags = WAKEIF_WF_EXEC;
	else if (word_is(w, len, "current"))
		in->flags |= WI_FAIR_WF_CURRENT_CPU;
	else
		return false;
	return true;
}

static void set_value(struct fair_fixture *f, const char *name, size_t name_len, const char *v, size_t len,
		      bool *nr_set, uint64_t *nr)
{
	struct wi_fair_inputs *in = &f->in;
	uint64_t n = strtoull(v, NULL, 10), two[2] = { 0, 0 };
	uint64_t per_cpu[FF_CPUS];

#define IS(text) word_is(name, name_len, text)
	if (IS("waker")) {
		in->waker_cpu = (uint32_t)n;
	} else if (IS("prev")) {
		in->prev_cpu = (uint32_t)n;
	} else if (IS("idle")) {
		f->idle = list_of(v, len);
	} else if (IS("sidle")) {
		f->sidle = list_of(v, len);
	} else if (IS("unknown")) {
		f->unknown = list_of(v, len);
	} else if (IS("allowed")) {
		f->allowed = list_of(v, len);
	} else if (IS("hic")) {
		wakeif_word m = list_of(v, len);

		wi_mask_for_each (c, &m, 1)
			f->cores |= 1ull << f->machine.llc_id[c];
	} else if (IS("cookie")) {
		in->cookie = (uint32_t)strtoul(v, NULL, 10);
		in->core_cookie = f->core_cookie;
	} else if (IS("cookies")) {
		uint64_t cookies[FF_CPUS] = { 0 };

		values_of(v, len, cookies, FF_CPUS);
		for (uint32_t c = 0; c < FF_CPUS; c++)
			f->core_cookie[c] = (uint32_t)cookies[c];
	} else if (IS("hot")) {
		wakeif_word m = list_of(v, len);

		wi_mask_for_each (c, &m, 1)
			f->hot[c] = UINT64_MAX;
	} else if (IS("nr")) {
		for (size_t i = 0; i < FF_CPUS; i++)
			nr[i] = UINT64_MAX;
		values_of(v, len, nr, FF_CPUS);
		*nr_set = true;
	} else if (IS("recent")) {
		in->recent_cpu = (uint32_t)n;
	} else if (IS("flips")) {
		values_of(v, len, two, 2);
		in->waker_flips = (uint32_t)two[0];
		in->wakee_flips = (uint32_t)two[1];
	} else if (IS("load")) {
		values_of(v, len, f->load, FF_CPUS);
	} else if (IS("util")) {
		values_of(v, len, f->util, FF_CPUS);
	} else if (IS("runnable")) {
		values_of(v, len, f->runnable, FF_CPUS);
	} else if (IS("since")) {
		memset(per_cpu, 0, sizeof(per_cpu));
		values_of(v, len, per_cpu, FF_CPUS);
		for (size_t i = 0; i < FF_CPUS; i++)
			if (per_cpu[i])
				f->cpu[i].idle_since_ns = per_cpu[i];
	} else if (IS("tload")) {
		values_of(v, len, f->task_load, 2);
	} else if (IS("tutil")) {
		f->task_util = n;
	} else if (IS("budget")) {
		f->budget = f->min = f->max = (uint32_t)n;
	} else if (IS("range")) {
		values_of(v, len, two, 2);
		f->min = (uint32_t)two[0];
		f->max = (uint32_t)two[1];
	} else if (IS("prop")) {
		f->prop = (uint32_t)n;
	} else if (IS("delayed")) {
		in->delayed_on_waker = (uint32_t)n;
	} else {
		fail_msg("no such word: %s", name);
	}
#undef IS
}

void ff_state(struct fair_fixture *f, const char *text)
{
	uint64_t nr[FF_CPUS];
	bool nr_set = false;

	f->idle = f->sidle = f->unknown = f->cores = 0;
	f->allowed = f->topo->online[0];
	f->budget = f->min = f->max = 7;
	f->prop = 0;
	memset(f->cpu, 0, sizeof(f->cpu));
	memset(f->load, 0, sizeof(f->load));
	memset(f->util, 0, sizeof(f->util));
	memset(f->runnable, 0, sizeof(f->runnable));
	memset(f->hot, 0, sizeof(f->hot));
	memset(f->core_cookie, 0, sizeof(f->core_cookie));
	f->task_load[0] = f->task_load[1] = f->task_util = 0;
	for (size_t i = 0; i < FF_CPUS; i++)
		f->cpu[i].idle_since_ns = 1;
	f->in = (struct wi_fair_inputs){ .machine = &f->machine,
					 .knobs = &f->knobs,
					 .ask = &f->ask,
					 .now_ns = 1000000,
					 .flags = WAKEIF_WF_TTWU,
					 .prev_cpu = f->topo->nr_cpus > 4 ? 4 : 1,
					 .waker = 0,
					 .wakee = 1,
					 .recent_cpu = WAKEIF_CPU_NONE,
					 .waker_in_task = true,
					 .exec_counted = true,
					 .allowed = &f->allowed,
					 .idle = &f->idle,
					 .sidle = &f->sidle,
					 .unknown = &f->unknown,
					 .cpu = f->cpu,
					 .hot_until = f->hot };
	for (const char *w = text; *w;) {
		w += strspn(w, " ");
		size_t len = strcspn(w, " "), name = strcspn(w, "= ");

		if (name < len)
			set_value(f, w, name, w + name + 1, len - name - 1, &nr_set, nr);
		else if (len && !set_flag(f, w, len))
			fail_msg("no such word: %s", w);
		w += len;
	}
	f->ask = (struct wi_fair_ask){ .ctx = f,
				       .cpu_load = cpu_load,
				       .cpu_util = cpu_util,
				       .cpu_runnable = cpu_runnable,
				       .task_load = task_load,
				       .task_util = task_util,
				       .scan_budget = scan_budget,
				       .prop_budget = f->prop ? prop_budget : NULL,
				       .idle_cores = idle_cores };
	for (uint32_t c = 0; c < f->topo->nr_cpus; c++) {
		f->cpu[c].nr_running = nr_set && nr[c] != UINT64_MAX ? (uint32_t)nr[c] : !(f->idle >> c & 1);
		f->cpu[c].nr_cfs = f->cpu[c].nr_running;
	}
	f->in.waker_idle_cores = f->cores >> f->machine.llc_id[f->in.waker_cpu] & 1;
	f->in.prev_idle_cores = f->cores >> f->machine.llc_id[f->in.prev_cpu] & 1;
}

const char *ff_answer(const struct wi_fair_result *r, bool count)
{
	static const char *const rules[] = {
#define X(id, name, help) name,
		WAKEIF_RULES(X)
#undef X
	};
	static const char *const affine[] = {
#define X(id, name) name,
		WAKEIF_AFFINE_VERDICTS(X)
#undef X
	};
	static char out[160];
	char examined[16] = "";

	if (count)
		snprintf(examined, sizeof(examined), " x%u", r->examined);
	snprintf(out, sizeof(out), "%u %s %s%s%s%s%s%s%s", r->cpu, rules[r->rule], affine[r->affine],
		 r->recent_reached ? " recent" : "", r->clears_idle_cores ? " clear" : "",
		 r->sync_looked_at ? " sync?" : "", r->budget_matters ? " budget?" : "",
		 r->unknown_matters ? " unknown?" : "", examined);
	return out;
}
