/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analyzer/session_replay.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/base/cpumask.h"
#include "analyzer/observers.h"
#include "analyzer/replay/cookies.h"
#include "models/params.h"
#include "models/registry.h"

#define AUTO "linux-auto"

struct wi_session_replay {
	struct wi_model_spec spec[WI_REPLAY_MODELS];
	struct wi_replay_model model[WI_REPLAY_MODELS];
	size_t nr;
	const struct wakeif_model_ops *kernel_ops; /* NULL: none is built in */
	bool kernel_exact;
	struct wi_sync_table *table; /* NULL: nothing was learned */
	struct wi_cookie_map *map; /* NULL: none */
	struct wi_replay_cookies *cookies;
	struct wi_observers observers;
	struct wi_replay *replay;
	struct wi_results *facts; /* without metrics */
	char notes[2048];
};

static void note(struct wi_session_replay *r, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

static void note(struct wi_session_replay *r, const char *fmt, ...)
{
	size_t at = strlen(r->notes);
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(r->notes + at, sizeof(r->notes) - at, fmt, ap);
	va_end(ap);
	at = strlen(r->notes);
	if (at + 1 < sizeof(r->notes))
		strcpy(r->notes + at, "\n");
}

/* ---- models ---- */

static bool is_auto(const char *text)
{
	size_t n = strlen(AUTO);

	return !strncmp(text, AUTO, n) && (!text[n] || text[n] == ',');
}

static const struct wakeif_param *param(const struct wakeif_model_ops *ops, const char *name)
{
	for (uint32_t i = 0; i < ops->nr_params; i++)
		if (!strcmp(ops->params[i].name, name))
			return &ops->params[i];
	return NULL;
}

bool wi_replay_spec_check(const char *text, size_t *wrong_at, struct wi_err *err)
{
	struct wi_model_spec spec;

	*wrong_at = 0;
	if (is_auto(text))
		return true;
	if (!wi_model_spec_parse(text, &spec, wrong_at, err))
		return false;
	wi_model_spec_fini(&spec);
	return true;
}

/* The model's spec with the history that belongs to it, unless it names one itself or has no such parameter. */
static char *with_history(const struct wi_session_replay *r, const char *text, const struct wi_model_spec *spec,
			  enum wi_history history)
{
	const char *value = history == WI_HISTORY_OBSERVED || (history == WI_HISTORY_DEFAULT && spec->ops == r->kernel_ops) ?
				    "observed" :
				    "own";
	char *more;

	if (!param(spec->ops, "history") || strstr(text, ",history="))
		return NULL;
	return asprintf(&more, "%s,history=%s", text, value) < 0 ? NULL : more;
}

/* "linux-auto,a=b" with the kernel's own model in its place. */
static char *resolve(const struct wi_session *s, const char *text, struct wi_err *err)
{
	const struct wakeif_model_ops *ops = s->replaying->kernel_ops;
	char *named;

	if (!is_auto(text))
		named = strdup(text);
	else if (!ops) {
		wi_err_set(err, WI_EUSAGE, "%s: no kernel's model is built in", AUTO);
		return NULL;
	} else if (asprintf(&named, "%s%s", ops->name, text + strlen(AUTO)) < 0)
		named = NULL;
	if (!named)
		wi_err_nomem(err);
	return named;
}

/* The history that a model has by default is not part of its label, unless two of them differ in it. */
static bool set_label(struct wi_session_replay *r, struct wi_model_spec *spec, char *plain, struct wi_err *err)
{
	bool taken = false;

	for (size_t i = 0; plain && i < r->nr; i++)
		taken |= !strcmp(r->spec[i].label, plain);
	if (taken && !strstr(plain, "history=") && param(spec->ops, "history")) {
		char *longer = NULL;

		if (asprintf(&longer, "%s,history=%s", plain, strstr(spec->params, "history=observed") ? "observed" : "own") < 0)
			return wi_err_nomem(err);
		free(plain);
		plain = longer;
	}
	if (!plain)
		return wi_err_nomem(err);
	free(spec->label);
	spec->label = plain;
	return true;
}

/* Parses text, and once more with the history that belongs to it. */
static bool parse(struct wi_session_replay *r, const char *text, enum wi_history history, struct wi_model_spec *spec,
		  struct wi_err *err)
{
	size_t wrong_at;
	char *more, *plain;
	bool ok;

	if (!wi_model_spec_parse(text, spec, &wrong_at, err))
		return false;
	more = with_history(r, text, spec, history);
	if (!more)
		return set_label(r, spec, strdup(spec->label), err);
	plain = strdup(spec->label);
	wi_model_spec_fini(spec);
	ok = wi_model_spec_parse(more, spec, &wrong_at, err);
	free(more);
	if (ok)
		return set_label(r, spec, plain, err);
	free(plain);
	return false;
}

static bool add_model(struct wi_session *s, const char *text, enum wi_history history, struct wi_err *err)
{
	struct wi_session_replay *r = s->replaying;
	struct wi_model_spec *spec = &r->spec[r->nr];
	char *named = resolve(s, text, err);
	bool ok;

	if (!named)
		return false;
	if (r->nr == WI_REPLAY_MODELS) {
		free(named);
		return wi_err_set(err, WI_EUSAGE, "more than %u models in one run", WI_REPLAY_MODELS);
	}
	ok = parse(r, named, history, spec, err);
	free(named);
	if (!ok)
		return false;
	for (size_t i = 0; i < r->nr; i++)
		if (r->spec[i].ops == spec->ops && !strcmp(r->spec[i].params, spec->params)) { /* named twice: one row */
			wi_model_spec_fini(spec);
			return true;
		}
	r->model[r->nr++] = (struct wi_replay_model){ .ops = spec->ops,
						      .values = spec->values,
						      .label = spec->label,
						      .params = spec->params,
						      .plugin = spec->plugin != NULL,
						      .of_kernel = spec->ops == r->kernel_ops };
	return true;
}

static void describe_kernel(struct wi_session *s)
{
	struct wi_session_replay *r = s->replaying;

	if (!r->kernel_ops)
		return;
	if (!s->kernel)
		note(r, "the trace does not tell which kernel made it: %s stands for it", r->kernel_ops->name);
	else if (!r->kernel_exact)
		note(r, "kernel %u.%u has no model of its own: %s is the nearest older one, or the oldest", s->kernel >> 16,
		     s->kernel >> 8 & 0xff, r->kernel_ops->name);
}

static bool add_models(struct wi_session *s, const struct wi_replay_wanted *wanted, struct wi_err *err)
{
	if (wanted->kernel_too && s->replaying->kernel_ops && !add_model(s, AUTO, wanted->history, err))
		return false;
	for (size_t i = 0; i < wanted->nr_specs; i++)
		if (!add_model(s, wanted->specs[i], wanted->history, err))
			return false;
	return true;
}

/* Cookies are the user's: no trace tells them. */
static bool find_cookies(struct wi_session *s, const struct wi_replay_wanted *wanted, struct wi_err *err)
{
	struct wi_session_replay *r = s->replaying;

	for (size_t i = 0; i < r->nr && !wanted->cookies; i++) {
		const struct wakeif_param *p = param(r->spec[i].ops, "core-sched");

		if (r->spec[i].ops->needs & WAKEIF_NEED_COOKIES || (p && r->spec[i].values[p - r->spec[i].ops->params]))
			return wi_err_set(err, WI_EUSAGE, "model %s: core scheduling needs cookies: no --cookies MAP",
					  r->spec[i].label);
	}
	if (!wanted->cookies)
		return true;
	r->map = wi_cookie_map_new(wanted->cookies, err);
	if (!r->map)
		return false;
	r->cookies = wi_replay_cookies_new(r->map, s->names);
	return r->cookies || wi_err_nomem(err);
}

static uint32_t all_needs(const struct wi_session_replay *r)
{
	uint32_t needs = 0;

	for (size_t i = 0; i < r->nr; i++)
		needs |= r->spec[i].ops->needs;
	return needs;
}

static void describe_lacks(struct wi_session *s)
{
	struct wi_session_replay *r = s->replaying;
	const struct wakeif_topology *t = s->machine.topology;
	uint32_t needs = all_needs(r);

	if (needs & WAKEIF_NEED_WAKING && !s->survey.has_waking)
		note(r, "no sched_waking in this trace: wakeups are judged at their sched_wakeup, wakers behind an IPI are not known, answers of kernels' models are approximate");
	if (needs & WAKEIF_NEED_TOPOLOGY && t->flags & WAKEIF_TOPO_FALLBACK)
		note(r, "the topology is not known: models see one LLC without SMT");
	if (!s->machine.nr_facts && r->nr)
		note(r, "affinity and policy of tasks are not known: all CPUs are taken as allowed, but for per-CPU kernel threads");
}

/* ---- passes ---- */

static struct wi_replay_opts engine_opts(const struct wi_session *s, const struct wi_replay_wanted *wanted)
{
	const struct wi_session_replay *r = s->replaying;

	return (struct wi_replay_opts){ .topology = s->machine.topology,
					.kernel_version = s->kernel,
					.seed = wanted->seed,
					.facts = s->machine.facts,
					.nr_facts = s->machine.nr_facts,
					.models = r->model,
					.nr_models = r->nr,
					.sync = wanted->sync,
					.learned = r->table,
					.sync_of = wanted->sync_of,
					.sync_ctx = wanted->sync_ctx,
					.cookie = r->cookies ? wi_replay_cookie : NULL,
					.cookie_ctx = r->cookies,
					.sink = wanted->sink,
					.sink_ctx = wanted->sink_ctx };
}

/* A pass of its own, with the kernel's model alone. */
static bool learn(struct wi_session *s, const struct wi_replay_wanted *wanted, struct wi_err *err)
{
	struct wi_session_replay *r = s->replaying;
	struct wi_replay_opts ro = engine_opts(s, wanted);
	struct wi_replay_model model = { .of_kernel = true };
	struct wi_model_spec spec;
	struct wi_replay *replay;
	char *text = NULL;
	size_t wrong_at;
	bool ok;

	if (asprintf(&text, "%s%s", r->kernel_ops->name, param(r->kernel_ops, "history") ? ",history=observed" : "") < 0)
		return wi_err_nomem(err);
	ok = wi_model_spec_parse(text, &spec, &wrong_at, err);
	free(text);
	if (!ok)
		return false;
	r->table = wi_sync_table_new();
	model.ops = spec.ops;
	model.values = spec.values;
	model.label = spec.label;
	model.params = spec.params;
	ro.models = &model;
	ro.nr_models = 1;
	ro.learn = r->table;
	ro.learned = NULL;
	ro.cookie = NULL;
	ro.sink = NULL;
	replay = r->table ? wi_replay_new(&ro, err) : NULL;
	if (!r->table)
		wi_err_nomem(err);
	ok = replay && wi_session_timeline(s, wi_replay_observer(replay), err);
	if (ok) {
		wi_replay_bind(replay, s->timeline);
		ok = wi_session_read(s, "learning WF_SYNC", false, err) && wi_replay_finish(replay, err) &&
		     wi_source_rewind(s->src, err);
	}
	wi_timeline_free(s->timeline);
	s->timeline = NULL;
	wi_replay_free(replay);
	wi_model_spec_fini(&spec);
	return ok;
}

/* Window and quality, for the head of a report without metrics. */
static bool take_facts(struct wi_session *s, struct wi_err *err)
{
	const struct wi_timeline_quality *q = wi_timeline_quality(s->timeline);
	const struct wakeif_topology *t = s->machine.topology;
	struct wi_results *r = wi_results_new(err);

	if (!r)
		return false;
	r->nr_traces = 1;
	r->quality = *q;
	r->window_ns = q->window_end_ns > q->window_start_ns ? q->window_end_ns - q->window_start_ns : 0;
	r->cpu_ns = r->window_ns * wi_mask_weight(t->online, t->nr_words);
	s->replaying->facts = r;
	s->results = r;
	return true;
}

static bool judge(struct wi_session *s, const struct wi_replay_wanted *wanted, struct wi_err *err)
{
	struct wi_session_replay *r = s->replaying;
	struct wi_replay_opts ro = engine_opts(s, wanted);
	const struct wi_timeline_observer *list[4] = { NULL };

	r->replay = wi_replay_new(&ro, err);
	if (!r->replay || (wanted->metrics && !wi_session_metrics(s, wanted->metrics, err)))
		return false;
	list[0] = s->metrics ? wi_metrics_observer(s->metrics) : NULL;
	list[1] = wanted->observer;
	list[2] = r->cookies ? wi_replay_cookies_observer(r->cookies) : NULL;
	list[3] = wi_replay_observer(r->replay);
	if (!wi_session_timeline(s, wi_observers_join(&r->observers, list, 4), err))
		return false;
	if (s->metrics)
		wi_metrics_bind(s->metrics, s->timeline);
	wi_replay_bind(r->replay, s->timeline);
	if (wanted->bind)
		wanted->bind(wanted->bind_ctx, s->timeline);
	if (!wi_session_read(s, "replaying", true, err))
		return false;
	if (r->cookies && wi_replay_cookies_failed(r->cookies))
		return wi_err_nomem(err);
	s->replayed = wi_replay_finish(r->replay, err);
	if (!s->replayed)
		return false;
	if (!s->metrics)
		return take_facts(s, err);
	s->results = wi_metrics_finish(s->metrics, err);
	return s->results != NULL;
}

bool wi_session_replay(struct wi_session *s, const struct wi_replay_wanted *wanted, struct wi_err *err)
{
	struct wi_session_replay *r = calloc(1, sizeof(*r));

	if (!r)
		return wi_err_nomem(err);
	s->replaying = r;
	wi_session_find_kernel(s);
	r->kernel_ops = wi_model_of_kernel(s->kernel, &r->kernel_exact);
	describe_kernel(s);
	if (!add_models(s, wanted, err) || !find_cookies(s, wanted, err))
		return false;
	describe_lacks(s);
	if (wanted->sync == WI_SYNC_LEARNED && r->kernel_ops && r->kernel_ops->needs & WAKEIF_NEED_SYNC &&
	    all_needs(r) & WAKEIF_NEED_SYNC && s->survey.has_waking && !learn(s, wanted, err))
		return false;
	return judge(s, wanted, err);
}

void wi_session_replay_fini(struct wi_session *s)
{
	struct wi_session_replay *r = s->replaying;

	if (!r)
		return;
	wi_replay_free(r->replay);
	for (size_t i = 0; i < r->nr; i++)
		wi_model_spec_fini(&r->spec[i]);
	wi_sync_table_free(r->table);
	wi_replay_cookies_free(r->cookies);
	wi_cookie_map_free(r->map);
	wi_results_free(r->facts);
	free(r);
	s->replaying = NULL;
}

const char *wi_session_replay_notes(const struct wi_session *s)
{
	return s->replaying ? s->replaying->notes : "";
}
