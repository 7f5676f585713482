/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Turns the answers to one decision into counts. The CPUs that were chosen are judged once each. */
#include <stdlib.h>
#include <string.h>

#include "analyzer/replay/priv.h"

bool r_count_init(struct wi_replay *r)
{
	struct wi_replay_results *res = r->results;

	res->model = calloc(r->nr + 1, sizeof(*res->model));
	if (!res->model)
		return false;
	for (uint32_t i = 0; i <= r->nr; i++) {
		const struct wi_replay_model *m = i ? &r->model[i - 1].m : NULL;
		struct wi_model_results *row = &res->model[i];

		res->nr_models = i + 1;
		row->label = strdup(m ? m->label : "what happened");
		row->params = strdup(m ? m->params : "");
		row->position = i;
		row->of_kernel = m && m->of_kernel;
		row->needs = m ? m->ops->needs : 0;
		if (!row->label || !row->params)
			return false;
	}
	return true;
}

/* The verdict on a CPU, and that model (bit of `by`) chose it. */
static const struct wi_verdict *chosen(struct wi_replay *r, uint32_t cpu, uint64_t by)
{
	if (r->stamp[cpu] != r->serial) {
		r->stamp[cpu] = r->serial;
		r->asked_by[cpu] = 0;
		r->verdict[cpu] = wi_judge_cpu(&r->judge, cpu);
		r->distinct[r->nr_distinct++] = cpu;
	}
	r->asked_by[cpu] |= by;
	return &r->verdict[cpu];
}

static void add_bits(uint64_t *count, uint8_t bits)
{
	for (int i = 0; bits; i++, bits >>= 1)
		count[i] += bits & 1;
}

static void count_missed(struct wi_model_missed *m, const struct wi_verdict *v)
{
	m->decided++;
	m->chosen_idle += v->state == WI_CPU_IDLE;
	m->queued_on_busy += v->state == WI_CPU_BUSY;
	m->chosen_unknown += v->state == WI_CPU_UNKNOWN;
	if (v->row < WI_NR_MISSED_ROWS)
		m->row[v->row]++;
	add_bits(m->queued_while_idle_core, v->idle_core);
	add_bits(m->half_busy_core, v->half_busy);
	m->stacked_on_waker += v->stacked_on_waker;
	m->prev_idle_elsewhere += v->prev_idle_elsewhere;
	m->on_sched_idle_only += v->on_sched_idle_only;
}

static void count_agreement(struct wi_agreement *a, const struct wakeif_topology *t, uint32_t cpu, uint32_t kernel,
			    bool same_state)
{
	a->decided++;
	a->cpu += cpu == kernel;
	a->core += t->group[WAKEIF_CORE][cpu] == t->group[WAKEIF_CORE][kernel];
	a->llc += t->group[WAKEIF_LLC][cpu] == t->group[WAKEIF_LLC][kernel];
	a->busy += same_state;
}

static void tally(struct wi_tally *t, bool agrees)
{
	t->answers++;
	t->agree += agrees;
}

static bool is_hit(enum wakeif_rule rule)
{
	switch (rule) {
	case WAKEIF_RULE_TARGET_IDLE:
	case WAKEIF_RULE_PREV_IDLE:
	case WAKEIF_RULE_KTHREAD:
	case WAKEIF_RULE_RECENT:
	case WAKEIF_RULE_SMT_SIBLING:
	case WAKEIF_RULE_IDLE_CORE:
	case WAKEIF_RULE_IDLE_CPU:
	case WAKEIF_RULE_CORE_NONE:
	case WAKEIF_RULE_CLUSTER:
	case WAKEIF_RULE_OTHER_LLC:
	case WAKEIF_RULE_CAPACITY:
		return true;
	default:
		return false;
	}
}

/* Bucket of the share of busy CPUs in the LLC of target; models mostly ask for the same one. */
static uint32_t load_bucket(struct wi_replay *r, uint32_t target)
{
	const struct wi_judge *j = &r->judge;
	const struct wakeif_topology *t = j->topo;
	uint32_t llc = t->group[WAKEIF_LLC][target], nr = 0, busy = 0;
	const wakeif_word *span = t->span[WAKEIF_LLC][llc];

	if (r->bucket.serial == r->serial && r->bucket.llc == llc)
		return r->bucket.bucket;
	for (uint32_t i = 0; i < j->words; i++) {
		nr += (uint32_t)__builtin_popcountll(span[i] & t->online[i]);
		busy += (uint32_t)__builtin_popcountll(span[i] & t->online[i] & ~j->idle[i]);
	}
	r->bucket.serial = r->serial;
	r->bucket.llc = llc;
	r->bucket.bucket = !busy ? 0 : busy == nr ? WI_NR_LOAD_BUCKETS - 1 : 1 + busy * 4 / nr;
	return r->bucket.bucket;
}

static void count_search(struct wi_replay *r, struct wi_search_results *s, const struct wakeif_choice *c)
{
	bool hit = is_hit((enum wakeif_rule)c->rule);
	struct wi_search *to[2] = { &s->all, NULL };

	if (!wi_cpu_present(r->topo, c->target))
		return;
	to[1] = &s->by_load[load_bucket(r, c->target)];
	for (int i = 0; i < 2; i++) {
		to[i]->tries++;
		to[i]->scans += (c->flags & WAKEIF_CHOICE_SEARCHED) != 0;
		to[i]->found += hit;
		to[i]->failed += !hit;
		to[i]->examined += c->examined;
	}
	s->target += c->rule == WAKEIF_RULE_TARGET_IDLE;
	s->prev += c->rule == WAKEIF_RULE_PREV_IDLE;
	s->recent += c->rule == WAKEIF_RULE_RECENT;
	s->kthread += c->rule == WAKEIF_RULE_KTHREAD;
	s->smt += c->rule == WAKEIF_RULE_SMT_SIBLING;
	s->core_wanted += (c->flags & WAKEIF_CHOICE_WANTED_CORE) != 0;
	s->core_found += c->rule == WAKEIF_RULE_IDLE_CORE;
}

static bool turns_with_sync(const struct wakeif_choice *c)
{
	return c->flags & WAKEIF_CHOICE_KNOWS_SYNC && c->other_sync_cpu != c->cpu;
}

/* What only models have: rules, wake_affine, search. */
static void count_choice(struct wi_replay *r, struct wi_model_results *row, const struct wakeif_choice *c,
			 const struct wi_wakeup *w, uint32_t answer)
{
	bool agrees = answer == w->chosen_cpu;

	row->invalid += answer != c->cpu;
	row->unanswered += c->cpu == WAKEIF_CPU_NONE;
	tally(&row->rule[c->rule < WAKEIF_NR_RULES ? c->rule : WAKEIF_RULE_NO_RULE], agrees);
	if (w->pub.waker_cpu != w->pub.prev_cpu) {
		tally(&row->affine[c->affine < WAKEIF_NR_AFFINE ? c->affine : WAKEIF_AFFINE_NOT_ASKED], agrees);
		if (turns_with_sync(c))
			tally(&row->affine_sync, agrees);
	}
	if (c->flags & WAKEIF_CHOICE_AMBIGUOUS)
		tally(&row->tagged, agrees);
	row->sync_matters += turns_with_sync(c);
	row->examined += c->examined;
	count_search(r, &row->search, c);
}

static void count_answer(struct wi_replay *r, struct wi_model_results *row, uint32_t cpu, uint32_t kernel_cpu, bool stalled,
			 const struct wi_verdict *v, uint8_t kernel_state)
{
	count_agreement(&row->select, r->topo, cpu, kernel_cpu, v->state == kernel_state);
	if (stalled)
		count_agreement(&row->stalled, r->topo, cpu, kernel_cpu, v->state == kernel_state);
	count_missed(&row->missed, v);
	row->moves[v->prev_distance]++;
}

/* Every CPU chosen begins one wait, for all who chose it. */
static void begin_waits(struct wi_replay *r, uint64_t now_ns)
{
	for (uint32_t i = 0; i < r->nr_distinct; i++) {
		uint32_t cpu = r->distinct[i];
		uint64_t by = r->asked_by[cpu];

		if (r->verdict[cpu].state == WI_CPU_BUSY) {
			wi_waits_add(&r->waits, now_ns, cpu, wi_mask_test(r->judge.view->pending, cpu), by);
			continue;
		}
		for (; by; by &= by - 1) {
			uint32_t m = (uint32_t)__builtin_ctzll(by);

			if (r->verdict[cpu].state == WI_CPU_UNKNOWN)
				r->results->model[m].est_wait.unknown++;
			else
				r->no_wait[m]++;
		}
	}
}

void r_count_select(struct wi_replay *r, uint64_t now_ns, const struct wi_wakeup *w, bool sync_known)
{
	struct wi_replay_results *res = r->results;

	res->decided++;
	res->stalled += w->pub.waker_stalled;
	res->allowed[w->pub.allowed_source]++;
	r->nr_distinct = 0;
	const struct wi_verdict *kernel = chosen(r, w->chosen_cpu, 1);
	count_answer(r, &res->model[0], w->chosen_cpu, w->chosen_cpu, w->pub.waker_stalled, kernel, kernel->state);
	for (uint32_t i = 0; i < r->nr; i++) {
		uint32_t cpu = r->answer[i];

		if (r->later >> i & 1)
			continue;
		const struct wi_verdict *v = chosen(r, cpu, 2ull << i);

		count_answer(r, &res->model[i + 1], cpu, w->chosen_cpu, w->pub.waker_stalled, v, kernel->state);
		count_choice(r, &res->model[i + 1], &r->choice[i], w, cpu);
		if (cpu != w->chosen_cpu)
			r_disagree_add(r, now_ns, w, i, sync_known);
	}
	begin_waits(r, now_ns);
}

/* An answer that came later. */
void r_count_hindsight(void *ctx, const struct wi_oracle_answer *a)
{
	struct wi_replay *r = ctx;
	struct wi_model_results *row = &r->results->model[a->model + 1];
	bool agrees = a->cpu == a->kernel_cpu;

	count_answer(r, row, a->cpu, a->kernel_cpu, a->stalled, &a->verdict, a->kernel_state);
	tally(&row->rule[WAKEIF_RULE_HINDSIGHT], agrees);
	row->disagree[WI_REASON_HINDSIGHT] += !agrees;
	r_count_wait_ended(r, 2ull << a->model, a->how, a->wait_ns);
}

/* Agreement alone, for a row of its own (fork, exec) at offset of struct wi_model_results. */
void r_count_simple(struct wi_replay *r, size_t offset, uint32_t kernel_cpu, const uint32_t *answer,
		    const wakeif_word *idle, const wakeif_word *unknown)
{
	for (uint32_t i = 0; i <= r->nr; i++) {
		uint32_t cpu = i ? answer[i - 1] : kernel_cpu;

		count_agreement((struct wi_agreement *)((char *)&r->results->model[i] + offset), r->topo, cpu, kernel_cpu,
				wi_mask_test(idle, cpu) == wi_mask_test(idle, kernel_cpu) &&
					wi_mask_test(unknown, cpu) == wi_mask_test(unknown, kernel_cpu));
	}
}

void r_count_wait_ended(void *ctx, uint64_t models, enum wi_wait_end how, uint64_t ns)
{
	struct wi_replay *r = ctx;

	for (; models; models &= models - 1) {
		struct wi_est_wait *e = &r->results->model[__builtin_ctzll(models)].est_wait;

		switch (how) {
		case WI_WAIT_OVER:
			if (!wi_hist_add(&e->wait, ns))
				r->failed = true;
			break;
		case WI_WAIT_UNKNOWN:
			e->unknown++;
			break;
		case WI_WAIT_CENSORED:
			e->censored++;
			break;
		case WI_WAIT_DROPPED:
			e->dropped++;
			break;
		}
	}
}

/* n times a wait of nothing. */
static bool add_no_waits(struct wi_hist *h, uint64_t n)
{
	if (!n)
		return true;
	if (!wi_hist_add(h, 0))
		return false;
	h->bucket[0] += n - 1;
	h->count += n - 1;
	return true;
}

bool r_count_finish(struct wi_replay *r)
{
	bool ok = true;

	r->results->nr_traces = 1;
	for (uint32_t i = 0; i <= r->nr; i++)
		ok = add_no_waits(&r->results->model[i].est_wait.wait, r->no_wait[i]) && ok;
	if (r->opt.learned) {
		struct wi_sync_totals t = wi_sync_totals(r->opt.learned);

		r->results->sync.pairs = t.pairs;
		r->results->sync.votes = t.votes;
		r->results->sync.votes_sync = t.votes_set;
	}
	return ok;
}
