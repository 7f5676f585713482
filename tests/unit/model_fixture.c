/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tests/unit/model_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analyzer/base/cpumask.h"

#define SLOTS 256

struct model_fixture {
	const struct wakeif_topology *topo;
	struct wi_model_spec spec;
	struct wakeif_host host;
	void *model;
	uint64_t load[SLOTS], task[SLOTS], util[SLOTS], runnable[SLOTS], ticked[SLOTS], avg_idle[SLOTS], overlap[SLOTS], flips[SLOTS], budget[SLOTS];
};

static uint64_t cpu_load(void *ctx, uint32_t cpu)
{
	return ((struct model_fixture *)ctx)->load[cpu];
}

static uint64_t task_load(void *ctx, uint32_t slot)
{
	return ((struct model_fixture *)ctx)->task[slot];
}

static uint64_t cpu_util(void *ctx, uint32_t cpu)
{
	return ((struct model_fixture *)ctx)->util[cpu];
}

static uint64_t nothing(void *ctx, uint32_t which)
{
	(void)ctx;
	(void)which;
	return 0;
}

static uint64_t runnable_load(void *ctx, uint32_t cpu)
{
	return ((struct model_fixture *)ctx)->runnable[cpu];
}

static uint64_t old_cpu_load(void *ctx, uint32_t cpu, uint32_t idx)
{
	(void)idx;
	return ((struct model_fixture *)ctx)->ticked[cpu];
}

static uint64_t avg_idle_ns(void *ctx, uint32_t cpu)
{
	return ((struct model_fixture *)ctx)->avg_idle[cpu];
}

static uint64_t avg_overlap_ns(void *ctx, uint32_t slot)
{
	return ((struct model_fixture *)ctx)->overlap[slot];
}

static uint32_t flips(void *ctx, uint32_t slot)
{
	return (uint32_t)((struct model_fixture *)ctx)->flips[slot];
}

static uint32_t budget(void *ctx, uint32_t llc, uint32_t *min, uint32_t *max)
{
	uint32_t n = (uint32_t)((struct model_fixture *)ctx)->budget[llc];

	*min = *max = n;
	return n;
}

static uint32_t cookie(void *ctx, uint32_t slot)
{
	(void)ctx;
	return slot < 40 ? 0 : slot < 50 ? 1 : slot < 60 ? 2 : WAKEIF_COOKIE_UNKNOWN;
}

static void say(void *ctx, const char *reason)
{
	(void)ctx;
	print_error("model: %s\n", reason);
}

struct model_fixture *model_fixture_new(const struct wakeif_topology *topo, const char *spec)
{
	struct model_fixture *f = calloc(1, sizeof(*f));
	struct wi_err err = { 0 };
	size_t at;

	assert_non_null(f);
	f->topo = topo;
	if (!wi_model_spec_parse(spec, &f->spec, &at, &err))
		fail_msg("%s (at %zu)", err.msg, at);
	f->host = (struct wakeif_host){ .size = sizeof(f->host),
					.hz = 250,
					.seed = 1,
					.topology = topo,
					.ctx = f,
					.cpu_load = cpu_load,
					.cpu_util = cpu_util,
					.cpu_runnable = nothing,
					.task_load = task_load,
					.task_util = nothing,
					.wakee_flips = flips,
					.wakee_flips_reset = flips,
					.scan_budget = budget,
					.runnable_load = runnable_load,
					.queue_weight = cpu_load,
					.old_cpu_load = old_cpu_load,
					.avg_idle_ns = avg_idle_ns,
					.avg_overlap_ns = avg_overlap_ns,
					.run_avg_ns = nothing,
					.sleep_avg_ns = nothing,
					.cookie = cookie,
					.say = say };
	f->model = f->spec.ops->init(&f->host, f->spec.values);
	assert_non_null(f->model);
	return f;
}

void model_fixture_observe(struct model_fixture *f, const struct wakeif_happening *h)
{
	f->spec.ops->observe(f->model, h);
}

void model_fixture_free(struct model_fixture *f)
{
	f->spec.ops->fini(f->model);
	wi_model_spec_fini(&f->spec);
	free(f);
}

const char *model_rule_name(unsigned rule)
{
	static const char *const name[] = {
#define X(id, n, help) n,
		WAKEIF_RULES(X)
#undef X
	};

	return rule < WAKEIF_NR_RULES ? name[rule] : "?";
}

static void list(const char *text, wakeif_word *mask, uint32_t words)
{
	struct wi_err err = { 0 };
	uint64_t *m;
	uint32_t n;

	if (!wi_mask_parse_list(text, strlen(text), &m, &n, &err))
		fail_msg("%s", err.msg);
	memset(mask, 0, words * sizeof(*mask));
	for (uint32_t i = 0; i < n && i < words; i++)
		mask[i] = m[i];
	free(m);
}

/* "0:3,4:1" */
static void pairs(const char *text, uint64_t *value)
{
	for (const char *p = text; *p;) {
		char *end;
		unsigned long i = strtoul(p, &end, 10);

		assert_true(*end == ':' && i < SLOTS);
		value[i] = strtoull(end + 1, &end, 10);
		p = *end == ',' ? end + 1 : end;
	}
}

struct wakeif_choice model_fixture_ask(struct model_fixture *f, const char *state)
{
	const struct wakeif_topology *t = f->topo;
	uint32_t words = t->nr_words;
	wakeif_word *idle = calloc(words, 8), *unknown = calloc(words, 8), *pending = calloc(words, 8), *allowed = calloc(words, 8),
		    *none = calloc(words, 8);
	struct wakeif_cpu *cpu = calloc(t->nr_cpus, sizeof(*cpu));
	uint64_t nr[SLOTS], since[SLOTS] = { 0 };
	struct wakeif_wakeup w = { .size = sizeof(w),
				   .now_ns = 1000000000,
				   .wake_ns = 1000000000,
				   .pid = 100,
				   .prio = 120,
				   .waker_pid = 200,
				   .wake_flags = WAKEIF_WF_TTWU,
				   .wake_flags_known = WAKEIF_WF_TTWU,
				   .slept_ns = UINT64_MAX,
				   .allowed_source = WAKEIF_ALLOWED_ASSUMED,
				   .class_ = WAKEIF_SELECT,
				   .wakee_task = t->nr_cpus,
				   .waker_task = t->nr_cpus + 1 };
	char *text = strdup(state), *save;

	memcpy(allowed, t->online, words * sizeof(*allowed));
	memset(nr, 0xff, sizeof(nr));
	for (char *word = strtok_r(text, " ", &save); word; word = strtok_r(NULL, " ", &save)) {
		char *v = strchr(word, '=');

		if (v)
			*v++ = '\0';
		if (!strcmp(word, "idle"))
			list(v, idle, words);
		else if (!strcmp(word, "unknown"))
			list(v, unknown, words);
		else if (!strcmp(word, "pending"))
			list(v, pending, words);
		else if (!strcmp(word, "allowed"))
			list(v, allowed, words);
		else if (!strcmp(word, "recorded"))
			w.allowed_source = WAKEIF_ALLOWED_RECORDED;
		else if (!strcmp(word, "nr"))
			pairs(v, nr);
		else if (!strcmp(word, "since"))
			pairs(v, since);
		else if (!strcmp(word, "load"))
			pairs(v, f->load);
		else if (!strcmp(word, "task"))
			pairs(v, f->task);
		else if (!strcmp(word, "util"))
			pairs(v, f->util);
		else if (!strcmp(word, "runnable"))
			pairs(v, f->runnable);
		else if (!strcmp(word, "ticked"))
			pairs(v, f->ticked);
		else if (!strcmp(word, "avg_idle"))
			pairs(v, f->avg_idle);
		else if (!strcmp(word, "overlap"))
			pairs(v, f->overlap);
		else if (!strcmp(word, "flips"))
			pairs(v, f->flips);
		else if (!strcmp(word, "budget"))
			pairs(v, f->budget);
		else if (!strcmp(word, "prev"))
			w.prev_cpu = (uint32_t)atoi(v);
		else if (!strcmp(word, "waker"))
			w.waker_cpu = (uint32_t)atoi(v);
		else if (!strcmp(word, "pid"))
			w.pid = atoi(v);
		else if (!strcmp(word, "waker_pid"))
			w.waker_pid = atoi(v);
		else if (!strcmp(word, "wakee"))
			w.wakee_task = (uint32_t)atoi(v);
		else if (!strcmp(word, "by"))
			w.waker_task = (uint32_t)atoi(v);
		else if (!strcmp(word, "sync") || !strcmp(word, "nosync")) {
			w.wake_flags |= *word == 's' ? WAKEIF_WF_SYNC : 0;
			w.wake_flags_known |= WAKEIF_WF_SYNC;
		} else if (!strcmp(word, "fork")) {
			w.wake_flags = WAKEIF_WF_FORK;
			w.class_ = WAKEIF_FORK;
		} else {
			fail_msg("unknown word '%s'", word);
		}
	}
	for (uint32_t c = 0; c < t->nr_cpus; c++) {
		bool is_idle = wi_mask_test(idle, c);

		cpu[c] = (struct wakeif_cpu){ .nr_running = nr[c] != UINT64_MAX ? (uint32_t)nr[c] : !is_idle,
					      .curr_pid = is_idle ? 0 : 1000 + (int)c,
					      .curr_prio = is_idle ? 140 : 120,
					      .highest_rt_prio = 100,
					      .idle_since_ns = since[c] };
		cpu[c].nr_cfs = cpu[c].nr_running;
	}
	w.allowed = allowed;
	struct wakeif_view view = { .size = sizeof(view),
				    .now_ns = w.now_ns,
				    .topology = t,
				    .idle = idle,
				    .unknown = unknown,
				    .pending = pending,
				    .sched_idle_only = none,
				    .cpu = cpu };
	struct wakeif_choice choice = { .size = sizeof(choice), .cpu = WAKEIF_CPU_NONE, .target = WAKEIF_CPU_NONE, .other_sync_cpu = WAKEIF_CPU_NONE };
	if (!f->spec.ops->select_cpu(f->model, &w, &view, &choice))
		choice.cpu = WAKEIF_CPU_NONE;
	free(text);
	free(idle);
	free(unknown);
	free(pending);
	free(allowed);
	free(none);
	free(cpu);
	return choice;
}

void model_expect(struct model_fixture *f, const char *state, const char *expected)
{
	struct wakeif_choice c = model_fixture_ask(f, state);
	char got[64];

	snprintf(got, sizeof(got), "%d %s", (int)c.cpu, model_rule_name(c.rule));
	if (strcmp(got, expected))
		fail_msg("%s in \"%s\": expected %s, got %s", f->spec.label, state, expected, got);
}

void model_expect_all(const struct wakeif_topology *topo, const struct model_case *cases, size_t nr)
{
	for (size_t i = 0; i < nr; i++) {
		struct model_fixture *f = model_fixture_new(topo, cases[i].spec);

		model_expect(f, cases[i].state, cases[i].expected);
		model_fixture_free(f);
	}
}
