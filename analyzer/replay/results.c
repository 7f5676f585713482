/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names, merge and release of the results. */
#include "analyzer/replay/results.h"

#include <stdlib.h>
#include <string.h>

#define NR(a) (sizeof(a) / sizeof((a)[0]))

static const char *const reason_name[] = {
#define X(id, name, help) name,
	WI_REASONS(X)
#undef X
};

static const char *const reason_help[] = {
#define X(id, name, help) help,
	WI_REASONS(X)
#undef X
};

static const char *const rule_name[] = {
#define X(id, name, help) name,
	WAKEIF_RULES(X)
#undef X
};

static const char *const rule_help[] = {
#define X(id, name, help) help,
	WAKEIF_RULES(X)
#undef X
};

static const char *const affine_name[] = {
#define X(id, name) name,
	WAKEIF_AFFINE_VERDICTS(X)
#undef X
};

static const char *const sync_mode_name[] = {
#define X(id, name) name,
	WI_SYNC_MODES(X)
#undef X
};

const char *wi_reason_name(enum wi_reason r)
{
	return (size_t)r < NR(reason_name) ? reason_name[r] : "other";
}

const char *wi_reason_help(enum wi_reason r)
{
	return (size_t)r < NR(reason_help) ? reason_help[r] : "";
}

const char *wi_rule_name(enum wakeif_rule r)
{
	return (size_t)r < NR(rule_name) ? rule_name[r] : rule_name[WAKEIF_RULE_NO_RULE];
}

const char *wi_rule_help(enum wakeif_rule r)
{
	return (size_t)r < NR(rule_help) ? rule_help[r] : rule_help[WAKEIF_RULE_NO_RULE];
}

const char *wi_affine_name(enum wakeif_affine a)
{
	return (size_t)a < NR(affine_name) ? affine_name[a] : affine_name[WAKEIF_AFFINE_NOT_ASKED];
}

const char *wi_sync_mode_name(enum wi_sync_mode m)
{
	return (size_t)m < NR(sync_mode_name) ? sync_mode_name[m] : "";
}

const char *wi_load_bucket_name(uint32_t bucket)
{
	static const char *const name[WI_NR_LOAD_BUCKETS] = { "0", "below_25", "below_50", "below_75", "below_100", "100" };

	return bucket < WI_NR_LOAD_BUCKETS ? name[bucket] : "";
}

/* Structs of counters only: added word by word. */
static void add_counters(void *into, const void *from, size_t size)
{
	uint64_t *a = into;
	const uint64_t *b = from;

	for (size_t i = 0; i < size / sizeof(*a); i++)
		a[i] += b[i];
}

#define ADD(into, from, field) add_counters(&(into)->field, &(from)->field, sizeof((into)->field))

static bool add_model(struct wi_model_results *into, const struct wi_model_results *from)
{
	if (from->position < into->position)
		into->position = from->position;
	into->of_kernel |= from->of_kernel;
	into->needs |= from->needs;
	ADD(into, from, select);
	ADD(into, from, stalled);
	ADD(into, from, fork);
	ADD(into, from, exec);
	ADD(into, from, invalid);
	ADD(into, from, unanswered);
	ADD(into, from, rule);
	ADD(into, from, affine);
	ADD(into, from, affine_sync);
	ADD(into, from, tagged);
	ADD(into, from, sync_matters);
	ADD(into, from, disagree);
	ADD(into, from, missed);
	ADD(into, from, moves);
	ADD(into, from, examined);
	ADD(into, from, search);
	into->est_wait.censored += from->est_wait.censored;
	into->est_wait.unknown += from->est_wait.unknown;
	into->est_wait.dropped += from->est_wait.dropped;
	return wi_hist_merge(&into->est_wait.wait, &from->est_wait.wait) &&
	       wi_hist_merge(&into->real_wait, &from->real_wait);
}

static int model_cmp(const struct wi_model_results *a, const struct wi_model_results *b)
{
	int by_label = strcmp(a->label, b->label);

	return by_label ? by_label : strcmp(a->params, b->params);
}

static int order_cmp(const void *va, const void *vb)
{
	const struct wi_model_results *a = va, *b = vb;

	return a->position != b->position ? (a->position < b->position ? -1 : 1) : model_cmp(a, b);
}

static struct wi_model_results *model_like(struct wi_replay_results *r, const struct wi_model_results *m)
{
	for (size_t i = 0; i < r->nr_models; i++)
		if (!model_cmp(&r->model[i], m) && !r->model[i].position == !m->position)
			return &r->model[i];

	struct wi_model_results *grown = realloc(r->model, (r->nr_models + 1) * sizeof(*grown));
	struct wi_model_results *new;
	if (!grown)
		return NULL;
	r->model = grown;
	new = &grown[r->nr_models];
	*new = (struct wi_model_results){ .label = strdup(m->label), .params = strdup(m->params), .position = m->position };
	if (!new->label || !new->params) {
		free(new->label);
		free(new->params);
		return NULL;
	}
	r->nr_models++;
	return new;
}

bool wi_replay_results_merge(struct wi_replay_results *into, const struct wi_replay_results *from, struct wi_err *err)
{
	into->nr_traces += from->nr_traces;
	into->decided += from->decided;
	into->stalled += from->stalled;
	into->not_replayed += from->not_replayed;
	ADD(into, from, by_class);
	ADD(into, from, allowed);
	ADD(into, from, sync);
	for (size_t i = 0; i < from->nr_models; i++) {
		struct wi_model_results *m = model_like(into, &from->model[i]);

		if (!m || !add_model(m, &from->model[i]))
			return wi_err_nomem(err);
	}
	if (into->nr_models)
		qsort(into->model, into->nr_models, sizeof(*into->model), order_cmp);
	return true;
}

struct wi_replay_results *wi_replay_results_new(struct wi_err *err)
{
	struct wi_replay_results *r = calloc(1, sizeof(*r));

	if (!r)
		wi_err_nomem(err);
	return r;
}

void wi_replay_results_free(struct wi_replay_results *r)
{
	if (!r)
		return;
	for (size_t i = 0; i < r->nr_models; i++) {
		free(r->model[i].label);
		free(r->model[i].params);
		wi_hist_fini(&r->model[i].est_wait.wait);
		wi_hist_fini(&r->model[i].real_wait);
	}
	free(r->model);
	free(r);
}
