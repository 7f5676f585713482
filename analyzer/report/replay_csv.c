/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analyzer/report/replay.h"

static void header(FILE *out)
{
	fputs("model,params,happened,of_kernel,decided,agree_cpu,agree_core,agree_llc,agree_busy,stalled,stalled_agree,fork,"
	      "fork_agree,exec,exec_agree,tagged,tagged_agree,turns_with_sync,invalid,unanswered",
	      out);
	for (int k = 0; k < WI_NR_REASONS; k++)
		fprintf(out, ",differ_%s", wi_reason_name((enum wi_reason)k));
	fputs(",chosen_idle,queued_on_busy,chosen_unknown", out);
	for (int k = 0; k < WI_NR_MISSED_ROWS; k++)
		fprintf(out, ",missed_%s", wi_missed_row_name((enum wi_missed_row)k));
	for (int k = 0; k < WI_NR_WIDE; k++)
		fprintf(out, ",queued_while_idle_core_%s", wi_wide_scope_name((enum wi_wide_scope)k));
	for (int k = 0; k < WI_NR_WIDE; k++)
		fprintf(out, ",half_busy_core_%s", wi_wide_scope_name((enum wi_wide_scope)k));
	fputs(",stacked_on_waker,prev_idle_elsewhere,on_sched_idle_only,est_wait_count,est_wait_sum_ns,est_wait_p50_ns,"
	      "est_wait_p90_ns,est_wait_p99_ns,est_wait_max_ns,est_wait_censored,est_wait_unknown,est_wait_dropped",
	      out);
	for (int d = 0; d < WI_NR_DISTANCES; d++)
		fprintf(out, ",moves_%s", wi_distance_name((enum wi_distance)d));
	fputs(",examined,search_tries,search_scans,search_found,search_failed,idle_core_wanted,idle_core_found\n", out);
}

/* Empty for what happened: nothing was answered. */
static void of_model(struct wi_csv *c, const struct wi_model_results *m, uint64_t n)
{
	if (m->position)
		wi_csv_u64(c, n);
	else
		wi_csv_none(c);
}

static void waits(struct wi_csv *c, const struct wi_est_wait *e)
{
	static const double quantile[] = { 0.5, 0.9, 0.99 };

	wi_csv_u64(c, e->wait.count);
	wi_csv_u64(c, e->wait.sum_ns);
	for (int k = 0; k < 3; k++)
		if (e->wait.count)
			wi_csv_u64(c, wi_hist_quantile(&e->wait, quantile[k]));
		else
			wi_csv_none(c);
	if (e->wait.count)
		wi_csv_u64(c, e->wait.max_ns);
	else
		wi_csv_none(c);
	wi_csv_u64(c, e->censored);
	wi_csv_u64(c, e->unknown);
	wi_csv_u64(c, e->dropped);
}

static void row(struct wi_csv *c, const struct wi_model_results *m)
{
	const struct wi_model_missed *x = &m->missed;

	wi_csv_text(c, m->label);
	wi_csv_text(c, m->params);
	wi_csv_u64(c, !m->position);
	wi_csv_u64(c, m->of_kernel);
	wi_csv_u64(c, m->select.decided);
	of_model(c, m, m->select.cpu);
	of_model(c, m, m->select.core);
	of_model(c, m, m->select.llc);
	of_model(c, m, m->select.busy);
	wi_csv_u64(c, m->stalled.decided);
	of_model(c, m, m->stalled.cpu);
	wi_csv_u64(c, m->fork.decided);
	of_model(c, m, m->fork.cpu);
	wi_csv_u64(c, m->exec.decided);
	of_model(c, m, m->exec.cpu);
	of_model(c, m, m->tagged.answers);
	of_model(c, m, m->tagged.agree);
	if (m->needs & WAKEIF_NEED_SYNC)
		wi_csv_u64(c, m->sync_matters);
	else
		wi_csv_none(c);
	of_model(c, m, m->invalid);
	of_model(c, m, m->unanswered);
	for (int k = 0; k < WI_NR_REASONS; k++)
		of_model(c, m, m->disagree[k]);
	wi_csv_u64(c, x->chosen_idle);
	wi_csv_u64(c, x->queued_on_busy);
	wi_csv_u64(c, x->chosen_unknown);
	for (int k = 0; k < WI_NR_MISSED_ROWS; k++)
		wi_csv_u64(c, x->row[k]);
	for (int k = 0; k < WI_NR_WIDE; k++)
		wi_csv_u64(c, x->queued_while_idle_core[k]);
	for (int k = 0; k < WI_NR_WIDE; k++)
		wi_csv_u64(c, x->half_busy_core[k]);
	wi_csv_u64(c, x->stacked_on_waker);
	wi_csv_u64(c, x->prev_idle_elsewhere);
	wi_csv_u64(c, x->on_sched_idle_only);
	waits(c, &m->est_wait);
	for (int d = 0; d < WI_NR_DISTANCES; d++)
		wi_csv_u64(c, m->moves[d]);
	of_model(c, m, m->examined);
	of_model(c, m, m->search.all.tries);
	of_model(c, m, m->search.all.scans);
	of_model(c, m, m->search.all.found);
	of_model(c, m, m->search.all.failed);
	of_model(c, m, m->search.core_wanted);
	of_model(c, m, m->search.core_found);
	wi_csv_end(c);
}

void wi_replay_csv(FILE *out, const struct wi_replay_report *p)
{
	struct wi_csv c = { .out = out };

	header(out);
	for (size_t i = 0; i < p->r->nr_models; i++)
		row(&c, &p->r->model[i]);
}
