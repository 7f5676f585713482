/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tests/unit/replay_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void *script_init(const struct wakeif_host *host, const int64_t *values)
{
	(void)host;
	return (void *)(intptr_t)values[0];
}

static void script_fini(void *model)
{
	(void)model;
}

static bool script_select(void *model, const struct wakeif_wakeup *w, const struct wakeif_view *v, struct wakeif_choice *c)
{
	struct rx_script *s = model;

	(void)v;
	if (w->wake_flags & WAKEIF_WF_SYNC)
		s->sync_seen |= 1u << (s->asked & 31);
	s->classes |= 1u << w->class_;
	if (s->asked < 8)
		s->prev[s->asked] = w->prev_cpu;
	s->asked++;
	if (s->next < s->nr) {
		uint32_t size = c->size;

		*c = s->choice[s->next++];
		c->size = size;
		return c->rule != WAKEIF_NR_RULES; /* stands for "no answer" */
	}
	c->cpu = w->prev_cpu;
	c->rule = WAKEIF_RULE_STAY;
	return true;
}

static void script_observe(void *model, const struct wakeif_happening *h)
{
	(void)h;
	((struct rx_script *)model)->happenings++;
}

static const struct wakeif_param script_params[] = { { "script", WAKEIF_PARAM_INT, "0", INT64_MIN, INT64_MAX, NULL, "where it is" } };

static const struct wakeif_model_ops script_ops = {
	.abi = WAKEIF_ABI,
	.size = sizeof(script_ops),
	.name = "scripted",
	.summary = "reads its answers from a list",
	.source = "this test",
	.confidence = "certain",
	.needs = WAKEIF_NEED_SYNC,
	.nr_params = 1,
	.params = script_params,
	.init = script_init,
	.fini = script_fini,
	.select_cpu = script_select,
	.observe = script_observe,
};

struct wi_replay_model rx_scripted(struct rx_script *script, const char *label)
{
	static int64_t values[64];
	static size_t next;
	int64_t *value = &values[next++ % 64];

	*value = (int64_t)(intptr_t)script;
	return (struct wi_replay_model){ .ops = &script_ops, .values = value, .label = label, .params = "" };
}

struct wi_replay_results *rx_run(const struct tl_fixture_opts *o, const struct wi_replay_opts *opts, const char *events)
{
	struct wi_replay_opts ro = *opts;
	struct wi_names *names = wi_names_new();
	struct wi_err err = { 0 };
	struct wi_survey survey;
	struct wi_event *ev;
	int n = tl_fixture_parse(events, names, &ev);

	ro.topology = o->topology;
	if (!ro.kernel_version)
		ro.kernel_version = o->kernel_version;
	tl_fixture_survey(&survey, o, o->topology->nr_cpus, ev, n);
	struct wi_replay *r = wi_replay_new(&ro, &err);
	if (!r)
		fail_msg("%s", err.msg);
	struct wi_timeline_opts to = { .topology = o->topology,
				       .names = names,
				       .survey = &survey,
				       .facts = o->facts,
				       .nr_facts = o->nr_facts,
				       .start_ns = o->start_ns,
				       .stop_ns = o->stop_ns,
				       .kernel_version = o->kernel_version,
				       .oncpu_ns = o->oncpu_ns ? o->oncpu_ns : 1,
				       .quiet_unknown = o->quiet_unknown };
	struct wi_timeline *tl = wi_timeline_new(&to, wi_replay_observer(r), &err);
	if (!tl)
		fail_msg("%s", err.msg);
	wi_replay_bind(r, tl);
	if (!tl_fixture_feed(tl, ev, n, &err) || !wi_timeline_finish(tl, &err) || !wi_replay_finish(r, &err))
		fail_msg("%s", err.msg);
	struct wi_replay_results *res = wi_replay_take(r);
	wi_timeline_free(tl);
	wi_replay_free(r);
	wi_survey_fini(&survey);
	wi_names_free(names);
	free(ev);
	return res;
}

/* ---- results as text ---- */

typedef unsigned long long ull;

static void dump_counters(FILE *f, const char *what, const void *data, size_t size)
{
	const uint64_t *n = data;

	fprintf(f, "%s", what);
	for (size_t i = 0; i < size / sizeof(*n); i++)
		fprintf(f, " %llu", (ull)n[i]);
	fputc('\n', f);
}

static void dump_hist(FILE *f, const char *what, const struct wi_hist *h)
{
	fprintf(f, "%s %llu %llu", what, (ull)h->count, (ull)h->sum_ns);
	if (h->count)
		fprintf(f, " %llu %llu", (ull)h->min_ns, (ull)h->max_ns);
	for (uint32_t i = 0; i < h->nr; i++)
		if (h->bucket[i])
			fprintf(f, " %u:%llu", i, (ull)h->bucket[i]);
	fputc('\n', f);
}

#define DUMP(what, field) dump_counters(f, what, &(field), sizeof(field))

char *rx_dump(const struct wi_replay_results *r)
{
	char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	fprintf(f, "traces %llu decided %llu stalled %llu not replayed %llu\n", (ull)r->nr_traces, (ull)r->decided, (ull)r->stalled,
		(ull)r->not_replayed);
	DUMP("classes", r->by_class);
	DUMP("allowed", r->allowed);
	DUMP("sync", r->sync);
	for (size_t i = 0; i < r->nr_models; i++) {
		const struct wi_model_results *m = &r->model[i];

		fprintf(f, "model %s (%s) at %u kernel %d needs %x\n", m->label, m->params, m->position, m->of_kernel, m->needs);
		DUMP(" select", m->select);
		DUMP(" stalled", m->stalled);
		DUMP(" fork", m->fork);
		DUMP(" exec", m->exec);
		DUMP(" rule", m->rule);
		DUMP(" affine", m->affine);
		DUMP(" affine sync", m->affine_sync);
		DUMP(" tagged", m->tagged);
		DUMP(" disagree", m->disagree);
		DUMP(" missed", m->missed);
		DUMP(" moves", m->moves);
		DUMP(" search", m->search);
		fprintf(f, " invalid %llu unanswered %llu sync %llu examined %llu\n", (ull)m->invalid, (ull)m->unanswered,
			(ull)m->sync_matters, (ull)m->examined);
		dump_hist(f, " est", &m->est_wait.wait);
		fprintf(f, " est censored %llu unknown %llu dropped %llu\n", (ull)m->est_wait.censored, (ull)m->est_wait.unknown,
			(ull)m->est_wait.dropped);
		dump_hist(f, " real", &m->real_wait);
	}
	fclose(f);
	return text;
}
