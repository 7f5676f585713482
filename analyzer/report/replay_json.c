/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdlib.h>
#include <string.h>

#include "analyzer/report/replay.h"

static void write_agreement(struct wi_json *j, const char *key, const struct wi_agreement *a)
{
	wi_json_object_flat(j, key);
	wi_json_u64(j, "decided", a->decided);
	wi_json_u64(j, "cpu", a->cpu);
	wi_json_u64(j, "core", a->core);
	wi_json_u64(j, "llc", a->llc);
	wi_json_u64(j, "busy", a->busy);
	wi_json_share(j, "cpu_share", a->cpu, a->decided);
	wi_json_share(j, "core_share", a->core, a->decided);
	wi_json_share(j, "llc_share", a->llc, a->decided);
	wi_json_share(j, "busy_share", a->busy, a->decided);
	wi_json_end_object(j);
}

static void write_tally(struct wi_json *j, const char *key, const struct wi_tally *t)
{
	wi_json_object_flat(j, key);
	wi_json_u64(j, "count", t->answers);
	wi_json_u64(j, "agree", t->agree);
	wi_json_share(j, "agree_share", t->agree, t->answers);
	wi_json_end_object(j);
}

static void write_missed(struct wi_json *j, const struct wi_model_missed *m)
{
	wi_json_object(j, "missed_idle");
	wi_json_u64(j, "decided", m->decided);
	wi_json_u64(j, "chosen_idle", m->chosen_idle);
	wi_json_u64(j, "queued_on_busy", m->queued_on_busy);
	wi_json_u64(j, "chosen_unknown", m->chosen_unknown);
	wi_json_object_flat(j, "nearest_idle");
	for (int k = 0; k < WI_NR_MISSED_ROWS; k++)
		wi_json_u64(j, wi_missed_row_name((enum wi_missed_row)k), m->row[k]);
	wi_json_end_object(j);
	wi_json_object_flat(j, "queued_while_idle_core");
	for (int k = 0; k < WI_NR_WIDE; k++)
		wi_json_u64(j, wi_wide_scope_name((enum wi_wide_scope)k), m->queued_while_idle_core[k]);
	wi_json_end_object(j);
	wi_json_object_flat(j, "half_busy_core");
	for (int k = 0; k < WI_NR_WIDE; k++)
		wi_json_u64(j, wi_wide_scope_name((enum wi_wide_scope)k), m->half_busy_core[k]);
	wi_json_end_object(j);
	wi_json_u64(j, "stacked_on_waker", m->stacked_on_waker);
	wi_json_u64(j, "prev_idle_elsewhere", m->prev_idle_elsewhere);
	wi_json_u64(j, "on_sched_idle_only", m->on_sched_idle_only);
	wi_json_end_object(j);
}

static void write_waits(struct wi_json *j, const struct wi_model_results *m, bool buckets)
{
	const struct wi_est_wait *e = &m->est_wait;

	wi_json_object(j, "est_wait");
	wi_report_json_latency(j, "wait", &e->wait, buckets);
	wi_json_u64(j, "waits", e->wait.count ? e->wait.count - e->wait.bucket[0] : 0);
	wi_json_u64(j, "censored", e->censored);
	wi_json_u64(j, "unknown", e->unknown);
	wi_json_u64(j, "dropped", e->dropped);
	wi_json_end_object(j);
	if (!m->position)
		wi_report_json_latency(j, "queue_wait", &m->real_wait, buckets);
}

static void write_search_members(struct wi_json *j, const struct wi_search *s)
{
	wi_json_u64(j, "tries", s->tries);
	wi_json_u64(j, "scans", s->scans);
	wi_json_u64(j, "examined", s->examined);
	wi_json_u64(j, "found", s->found);
	wi_json_u64(j, "failed", s->failed);
	wi_json_share(j, "success", s->found, s->tries);
	wi_json_share(j, "efficiency", s->tries, s->examined);
}

static void write_search(struct wi_json *j, const struct wi_search_results *s)
{
	if (!s->all.tries)
		return;
	wi_json_object(j, "search");
	write_search_members(j, &s->all);
	wi_json_u64(j, "target", s->target);
	wi_json_u64(j, "prev", s->prev);
	wi_json_u64(j, "recent", s->recent);
	wi_json_u64(j, "kthread", s->kthread);
	wi_json_u64(j, "smt", s->smt);
	wi_json_object_flat(j, "idle_core");
	wi_json_u64(j, "wanted", s->core_wanted);
	wi_json_u64(j, "found", s->core_found);
	wi_json_u64(j, "missed", s->core_wanted - s->core_found);
	wi_json_end_object(j);
	wi_json_object(j, "by_busy_percent");
	for (uint32_t b = 0; b < WI_NR_LOAD_BUCKETS; b++) {
		wi_json_object_flat(j, wi_load_bucket_name(b));
		write_search_members(j, &s->by_load[b]);
		wi_json_end_object(j);
	}
	wi_json_end_object(j);
	wi_json_end_object(j);
}

void wi_replay_json_search(struct wi_json *j, const struct wi_replay_results *r)
{
	const struct wi_model_results *m = wi_replay_kernel_row(r);

	if (m)
		write_search(j, &m->search);
}

static void write_verdict(struct wi_json *j, const char *key, const struct wi_model_results *m)
{
	uint64_t asked = 0;

	for (int k = WAKEIF_AFFINE_NOT_ASKED + 1; k < WAKEIF_NR_AFFINE; k++)
		asked += m->affine[k].answers;
	if (!asked)
		return;
	wi_json_object(j, key);
	for (int k = 0; k < WAKEIF_NR_AFFINE; k++)
		write_tally(j, wi_affine_name((enum wakeif_affine)k), &m->affine[k]);
	write_tally(j, "turns_with_sync", &m->affine_sync);
	wi_json_end_object(j);
}

void wi_replay_json_affine(struct wi_json *j, const struct wi_replay_results *r)
{
	const struct wi_model_results *m = wi_replay_kernel_row(r);
	uint64_t n = 0, agree = 0;

	if (!m)
		return;
	write_verdict(j, "verdict", m);
	for (int k = 0; k < WAKEIF_NR_AFFINE; k++) {
		n += m->affine[k].answers;
		agree += m->affine[k].agree;
	}
	wi_json_share(j, "agreement", agree, n);
}

/* What only a model has. */
static void write_answers(struct wi_json *j, const struct wi_model_results *m)
{
	write_agreement(j, "agree", &m->select);
	write_agreement(j, "stalled", &m->stalled);
	write_agreement(j, "fork", &m->fork);
	write_agreement(j, "exec", &m->exec);
	wi_json_u64(j, "tagged", m->tagged.answers);
	wi_json_u64(j, "agree_untagged", m->select.cpu - m->tagged.agree);
	wi_json_share(j, "agree_untagged_share", m->select.cpu - m->tagged.agree,
		      m->select.decided - m->tagged.answers);
	wi_json_u64(j, "invalid", m->invalid);
	wi_json_u64(j, "unanswered", m->unanswered);
	if (m->needs & WAKEIF_NEED_SYNC)
		wi_json_u64(j, "turns_with_sync", m->sync_matters);
	wi_json_object_flat(j, "disagree");
	for (int k = 0; k < WI_NR_REASONS; k++)
		wi_json_u64(j, wi_reason_name((enum wi_reason)k), m->disagree[k]);
	wi_json_end_object(j);
	wi_json_object(j, "rules");
	for (int k = 0; k < WAKEIF_NR_RULES; k++)
		if (m->rule[k].answers)
			write_tally(j, wi_rule_name((enum wakeif_rule)k), &m->rule[k]);
	wi_json_end_object(j);
	write_verdict(j, "wake_affine", m);
	write_search(j, &m->search);
	wi_json_u64(j, "examined", m->examined);
}

static void write_model(struct wi_json *j, const struct wi_model_results *m, bool buckets)
{
	wi_json_object(j, NULL);
	wi_json_string(j, "name", m->label);
	wi_json_string(j, "params", m->params);
	wi_json_string(j, "engine", "open");
	wi_json_bool(j, "happened", !m->position);
	wi_json_bool(j, "of_kernel", m->of_kernel);
	wi_json_u64(j, "decided", m->select.decided);
	if (m->position)
		write_answers(j, m);
	write_missed(j, &m->missed);
	write_waits(j, m, buckets);
	wi_json_object_flat(j, "moves");
	for (int d = 0; d < WI_NR_DISTANCES; d++)
		wi_json_u64(j, wi_distance_name((enum wi_distance)d), m->moves[d]);
	wi_json_end_object(j);
	wi_json_end_object(j);
}

static void write_notes(struct wi_json *j, const char *notes)
{
	wi_json_array(j, "notes");
	while (*notes) {
		size_t n = strcspn(notes, "\n");
		char *line = strndup(notes, n);

		if (line)
			wi_json_string(j, NULL, line);
		free(line);
		notes += n + (notes[n] == '\n');
	}
	wi_json_end_array(j);
}

static void write_replay(struct wi_json *j, const struct wi_replay_report *p)
{
	const struct wi_replay_results *r = p->r;
	const struct wi_sync_results *s = &r->sync;

	wi_json_object(j, "replay");
	wi_json_string(j, "engine", "open");
	write_notes(j, p->notes);
	wi_json_u64(j, "decided", r->decided);
	wi_json_u64(j, "stalled", r->stalled);
	wi_json_u64(j, "not_replayed", r->not_replayed);
	wi_json_object_flat(j, "by_class");
	for (int c = 0; c < WAKEIF_NR_CLASSES; c++)
		wi_json_u64(j, wi_class_name((enum wakeif_class)c), r->by_class[c]);
	wi_json_end_object(j);
	wi_json_object_flat(j, "affinity");
	wi_json_u64(j, "recorded", r->allowed[WAKEIF_ALLOWED_RECORDED]);
	wi_json_u64(j, "inferred", r->allowed[WAKEIF_ALLOWED_INFERRED]);
	wi_json_u64(j, "assumed", r->allowed[WAKEIF_ALLOWED_ASSUMED]);
	wi_json_end_object(j);
	wi_json_object(j, "sync");
	wi_json_string(j, "mode", p->sync);
	wi_json_object_flat(j, "asked");
	for (int k = 0; k < WI_NR_SYNC_MODES; k++)
		wi_json_u64(j, wi_sync_mode_name((enum wi_sync_mode)k), s->asked[k]);
	wi_json_end_object(j);
	wi_json_u64(j, "set", s->set);
	if (s->asked[WI_SYNC_LEARNED]) {
		wi_json_object_flat(j, "learned");
		wi_json_u64(j, "pairs", s->pairs);
		wi_json_u64(j, "votes", s->votes);
		wi_json_u64(j, "votes_set", s->votes_sync);
		wi_json_u64(j, "by_pair", s->by_pair);
		wi_json_u64(j, "by_context", s->by_context);
		wi_json_u64(j, "by_default", s->by_default);
		wi_json_end_object(j);
	}
	wi_json_end_object(j);
	wi_json_end_object(j);
}

void wi_replay_json(struct wi_json *j, const struct wi_replay_report *p)
{
	write_replay(j, p);
	wi_json_array(j, "models");
	for (size_t i = 0; i < p->r->nr_models; i++)
		write_model(j, &p->r->model[i], p->hist);
	wi_json_end_array(j);
}
