/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Baseline policies to hold a kernel against. Each obeys the wakee's affinity, looks at the view only, and keeps nothing
 * but a seed. Unless a policy says otherwise, a tie goes to the first CPU from prev_cpu on, wrapping. A CPU whose state
 * is unknown is never taken for idle.
 */
#include <stdlib.h>
#include <string.h>

#include "models/builtin.h"
#include "models/cpuset.h"

struct reference {
	const struct wakeif_host *host;
	const struct wakeif_topology *topo;
	uint32_t words;
	wakeif_word *cand, *near; /* scratch */
	uint64_t rng;
	int64_t param[1];
};

/* One decision as these policies see it. */
struct sight {
	struct reference *r;
	const struct wakeif_wakeup *w;
	const struct wakeif_view *v;
	const wakeif_word *cand; /* online, allowed, not isolated unless recorded affinity names it */
	struct wakeif_choice *choice;
};

static void reference_fini(void *model)
{
	struct reference *r = model;

	free(r->cand);
	free(r->near);
	free(r);
}

static struct reference *reference_new(const struct wakeif_host *host)
{
	struct reference *r = calloc(1, sizeof(*r));

	if (!r)
		return NULL;
	r->host = host;
	r->topo = host->topology;
	r->words = r->topo->nr_words;
	r->cand = calloc(r->words, sizeof(*r->cand));
	r->near = calloc(r->words, sizeof(*r->near));
	r->rng = host->seed * 2 + 1;
	if (r->cand && r->near)
		return r;
	reference_fini(r);
	return NULL;
}

static void *reference_init(const struct wakeif_host *host, const int64_t *values)
{
	(void)values;
	return reference_new(host);
}

static void *reference_init_param(const struct wakeif_host *host, const int64_t *values)
{
	struct reference *r = reference_new(host);

	if (r)
		r->param[0] = values[0];
	return r;
}

static struct sight look(void *model, const struct wakeif_wakeup *w, const struct wakeif_view *v, struct wakeif_choice *choice)
{
	struct reference *r = model;
	bool named = w->allowed_source == WAKEIF_ALLOWED_RECORDED;

	for (uint32_t i = 0; i < r->words; i++)
		r->cand[i] = w->allowed[i] & r->topo->online[i] & (named ? ~(wakeif_word)0 : ~r->topo->isolated[i]);
	return (struct sight){ r, w, v, r->cand, choice };
}

static bool choose(const struct sight *s, uint32_t cpu, enum wakeif_rule rule)
{
	s->choice->cpu = cpu;
	s->choice->rule = (uint16_t)rule;
	return true;
}

static bool is_candidate(const struct sight *s, uint32_t cpu)
{
	return cpu < s->r->topo->nr_cpus && wi_mask_test(s->cand, cpu);
}

static bool idle_candidate(const struct sight *s, uint32_t cpu)
{
	s->choice->examined++;
	return is_candidate(s, cpu) && wi_mask_test(s->v->idle, cpu);
}

static bool idle_core_candidate(const struct sight *s, uint32_t cpu)
{
	return idle_candidate(s, cpu) && wi_core_is_idle(s->v, cpu);
}

/* r->near = candidates within span. */
static const wakeif_word *within(const struct sight *s, const wakeif_word *span)
{
	for (uint32_t i = 0; i < s->r->words; i++)
		s->r->near[i] = s->cand[i] & span[i];
	return s->r->near;
}

/* First idle candidate of span from prev_cpu on. */
static uint32_t find_idle(const struct sight *s, const wakeif_word *span)
{
	const wakeif_word *in = within(s, span);
	uint32_t words = s->r->words, from = s->w->prev_cpu, c = wi_mask_first_from(in, s->v->idle, words, from);

	s->choice->examined += c == WAKEIF_CPU_NONE ? wi_mask_weight(in, words) : wi_mask_steps(in, words, from, c);
	return c;
}

/* First candidate of span from prev_cpu on whose core is idle altogether. */
static uint32_t find_idle_core(const struct sight *s, const wakeif_word *span)
{
	const wakeif_word *in = within(s, span);
	uint32_t words = s->r->words, from = s->w->prev_cpu, first = wi_mask_first_from(in, s->v->idle, words, from), c = first;

	while (c != WAKEIF_CPU_NONE && !wi_core_is_idle(s->v, c)) {
		c = wi_mask_first_from(in, s->v->idle, words, c + 1);
		if (c == first)
			c = WAKEIF_CPU_NONE;
	}
	s->choice->examined += c == WAKEIF_CPU_NONE ? wi_mask_weight(in, words) : wi_mask_steps(in, words, from, c);
	return c;
}

/* Scopes of a search that widens from the LLC; a scope that is no wider than the last one is not searched again. */
static const enum wakeif_scope wide[] = { WAKEIF_LLC, WAKEIF_NODE, WAKEIF_MACHINE };

typedef uint32_t (*search_fn)(const struct sight *s, const wakeif_word *span);

static uint32_t search_outwards(const struct sight *s, uint32_t cpu, search_fn find, size_t first_scope)
{
	const wakeif_word *last = NULL;

	for (size_t i = first_scope; i < sizeof(wide) / sizeof(*wide); i++) {
		const wakeif_word *span = wi_span(s->r->topo, wide[i], cpu);
		uint32_t c;

		if (last && wi_mask_equal(last, span, s->r->words))
			continue;
		c = find(s, span);
		if (c != WAKEIF_CPU_NONE)
			return c;
		last = span;
	}
	return WAKEIF_CPU_NONE;
}

/* Candidate of span with the least load; ties: prev_cpu, its LLC, then the first from prev_cpu on. */
static uint32_t find_least(const struct sight *s, const wakeif_word *span, bool by_load)
{
	const wakeif_word *in = within(s, span);
	const struct wakeif_topology *t = s->r->topo;
	uint32_t words = s->r->words, prev = s->w->prev_cpu, best = WAKEIF_CPU_NONE;
	uint64_t best_key = UINT64_MAX;
	uint32_t first = wi_mask_first_from(in, in, words, prev), c = first;

	while (c != WAKEIF_CPU_NONE) {
		uint64_t load = by_load ? s->r->host->cpu_load(s->r->host->ctx, c) : s->v->cpu[c].nr_running;
		uint64_t distance = c == prev ? 0 : prev < t->nr_cpus && t->group[WAKEIF_LLC][c] == t->group[WAKEIF_LLC][prev] ? 1 : 2;
		uint64_t key = load << 2 | distance;

		s->choice->examined++;
		if (!wi_mask_test(s->v->unknown, c) && key < best_key) {
			best_key = key;
			best = c;
		}
		c = wi_mask_first_from(in, in, words, c + 1);
		if (c == first)
			break;
	}
	return best;
}

static bool has_scopes(const struct sight *s, uint32_t cpu)
{
	return cpu < s->r->topo->nr_cpus && s->r->topo->group[WAKEIF_LLC][cpu] != UINT32_MAX;
}

/* ---- the policies ---- */

static bool prev_select(void *model, const struct wakeif_wakeup *w, const struct wakeif_view *v, struct wakeif_choice *choice)
{
	struct sight s = look(model, w, v, choice);

	return choose(&s, w->prev_cpu, WAKEIF_RULE_STAY);
}

static bool waker_select(void *model, const struct wakeif_wakeup *w, const struct wakeif_view *v, struct wakeif_choice *choice)
{
	struct sight s = look(model, w, v, choice);

	if (is_candidate(&s, w->waker_cpu))
		return choose(&s, w->waker_cpu, WAKEIF_RULE_WAKER);
	return choose(&s, w->prev_cpu, WAKEIF_RULE_STAY);
}

static bool prev_idle_select(void *model, const struct wakeif_wakeup *w, const struct wakeif_view *v, struct wakeif_choice *choice)
{
	struct sight s = look(model, w, v, choice);
	uint32_t c;

	if (idle_candidate(&s, w->prev_cpu))
		return choose(&s, w->prev_cpu, WAKEIF_RULE_PREV_IDLE);
	if (has_scopes(&s, w->prev_cpu) && (c = search_outwards(&s, w->prev_cpu, find_idle, 0)) != WAKEIF_CPU_NONE)
		return choose(&s, c, WAKEIF_RULE_IDLE_CPU);
	return choose(&s, w->prev_cpu, WAKEIF_RULE_STAY);
}

/* xorshift64*, so that a seed gives the same answers everywhere. */
static uint64_t draw(struct reference *r)
{
	r->rng ^= r->rng >> 12;
	r->rng ^= r->rng << 25;
	r->rng ^= r->rng >> 27;
	return r->rng * 0x2545f4914f6cdd1dull;
}

/* The nth CPU (from 0) of a ∩ b. */
static uint32_t nth(const wakeif_word *a, const wakeif_word *b, uint32_t words, uint32_t n)
{
	for (uint32_t i = 0; i < words; i++) {
		wakeif_word w = a[i] & b[i];
		uint32_t here = (uint32_t)__builtin_popcountll(w);

		if (n >= here) {
			n -= here;
			continue;
		}
		while (n--)
			w &= w - 1;
		return i * 64 + (uint32_t)__builtin_ctzll(w);
	}
	return WAKEIF_CPU_NONE;
}

static uint32_t weight_of_both(const wakeif_word *a, const wakeif_word *b, uint32_t words)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < words; i++)
		n += (uint32_t)__builtin_popcountll(a[i] & b[i]);
	return n;
}

static bool random_idle_select(void *model, const struct wakeif_wakeup *w, const struct wakeif_view *v, struct wakeif_choice *choice)
{
	struct sight s = look(model, w, v, choice);
	const wakeif_word *from = v->idle;
	uint32_t words = s.r->words, n = weight_of_both(s.cand, from, words);
	uint64_t lot = draw(s.r);

	choice->examined = wi_mask_weight(s.cand, words);
	if (!n) {
		from = s.cand;
		n = choice->examined;
	}
	if (!n)
		return choose(&s, w->prev_cpu, WAKEIF_RULE_STAY);
	return choose(&s, nth(s.cand, from, words, (uint32_t)((lot >> 32) * n >> 32)), WAKEIF_RULE_RANDOM);
}

static bool least_loaded_select(void *model, const struct wakeif_wakeup *w, const struct wakeif_view *v, struct wakeif_choice *choice)
{
	struct sight s = look(model, w, v, choice);
	uint32_t c = find_least(&s, s.r->topo->present, s.r->param[0]);

	return c == WAKEIF_CPU_NONE ? choose(&s, w->prev_cpu, WAKEIF_RULE_STAY) : choose(&s, c, WAKEIF_RULE_LEAST_LOADED);
}

static bool idle_core_first_select(void *model, const struct wakeif_wakeup *w, const struct wakeif_view *v, struct wakeif_choice *choice)
{
	struct sight s = look(model, w, v, choice);
	uint32_t prev = w->prev_cpu, c;

	if (idle_core_candidate(&s, prev))
		return choose(&s, prev, WAKEIF_RULE_PREV_IDLE);
	if (has_scopes(&s, prev)) {
		if ((c = search_outwards(&s, prev, find_idle_core, 0)) != WAKEIF_CPU_NONE)
			return choose(&s, c, WAKEIF_RULE_IDLE_CORE);
		if (idle_candidate(&s, prev))
			return choose(&s, prev, WAKEIF_RULE_PREV_IDLE);
		if ((c = search_outwards(&s, prev, find_idle, 0)) != WAKEIF_CPU_NONE)
			return choose(&s, c, WAKEIF_RULE_IDLE_CPU);
	}
	return choose(&s, prev, WAKEIF_RULE_STAY);
}

/* Idle core, idle CPU, least busy CPU, all within the LLC of home; home itself first where it is as good. */
static bool select_in_llc(const struct sight *s, uint32_t home)
{
	const wakeif_word *llc;
	uint32_t c;

	if (!has_scopes(s, home))
		return choose(s, s->w->prev_cpu, WAKEIF_RULE_STAY);
	llc = wi_span(s->r->topo, WAKEIF_LLC, home);
	if (idle_core_candidate(s, home))
		return choose(s, home, WAKEIF_RULE_TARGET_IDLE);
	if ((c = find_idle_core(s, llc)) != WAKEIF_CPU_NONE)
		return choose(s, c, WAKEIF_RULE_IDLE_CORE);
	if (idle_candidate(s, home))
		return choose(s, home, WAKEIF_RULE_TARGET_IDLE);
	if ((c = find_idle(s, llc)) != WAKEIF_CPU_NONE)
		return choose(s, c, WAKEIF_RULE_IDLE_CPU);
	if ((c = find_least(s, llc, false)) != WAKEIF_CPU_NONE)
		return choose(s, c, WAKEIF_RULE_LEAST_LOADED);
	return choose(s, s->w->prev_cpu, WAKEIF_RULE_STAY);
}

static bool llc_only_select(void *model, const struct wakeif_wakeup *w, const struct wakeif_view *v, struct wakeif_choice *choice)
{
	struct sight s = look(model, w, v, choice);

	return select_in_llc(&s, w->prev_cpu);
}

/* prev_cpu stays the home when it lies in the waker's LLC. */
static bool waker_llc_select(void *model, const struct wakeif_wakeup *w, const struct wakeif_view *v, struct wakeif_choice *choice)
{
	struct sight s = look(model, w, v, choice);
	const struct wakeif_topology *t = s.r->topo;
	bool same = has_scopes(&s, w->prev_cpu) && has_scopes(&s, w->waker_cpu) && t->group[WAKEIF_LLC][w->prev_cpu] == t->group[WAKEIF_LLC][w->waker_cpu];

	return select_in_llc(&s, same ? w->prev_cpu : w->waker_cpu);
}

static bool core_is_in_use(const struct sight *s, uint32_t cpu)
{
	const struct wakeif_topology *t = s->r->topo;
	const wakeif_word *core = wi_span(t, WAKEIF_CORE, cpu);

	for (uint32_t i = 0; i < t->nr_words; i++)
		if (core[i] & t->online[i] & ~s->v->idle[i] & ~s->v->unknown[i])
			return true;
	return false;
}

static bool pack_select(void *model, const struct wakeif_wakeup *w, const struct wakeif_view *v, struct wakeif_choice *choice)
{
	struct sight s = look(model, w, v, choice);
	uint32_t words = s.r->words, lowest = WAKEIF_CPU_NONE, best = WAKEIF_CPU_NONE, best_core = UINT32_MAX;

	choice->examined = wi_mask_weight(s.cand, words);
	for (uint32_t i = 0; i < words; i++) {
		for (wakeif_word left = s.cand[i] & v->idle[i]; left; left &= left - 1) {
			uint32_t c = i * 64 + (uint32_t)__builtin_ctzll(left), core = s.r->topo->group[WAKEIF_CORE][c];

			if (lowest == WAKEIF_CPU_NONE)
				lowest = c;
			if (core < best_core && core_is_in_use(&s, c)) { /* cores are numbered by their lowest CPU */
				best = c;
				best_core = core;
			}
		}
	}
	if (best != WAKEIF_CPU_NONE)
		return choose(&s, best, WAKEIF_RULE_PACK);
	if (lowest != WAKEIF_CPU_NONE)
		return choose(&s, lowest, WAKEIF_RULE_IDLE_CPU);
	return choose(&s, w->prev_cpu, WAKEIF_RULE_STAY);
}

static bool has_nothing_queued(const struct sight *s, uint32_t cpu)
{
	s->choice->examined++;
	return !wi_mask_test(s->v->unknown, cpu) && !s->v->cpu[cpu].nr_running;
}

static bool oldest_idle_select(void *model, const struct wakeif_wakeup *w, const struct wakeif_view *v, struct wakeif_choice *choice)
{
	struct sight s = look(model, w, v, choice);
	uint32_t best = WAKEIF_CPU_NONE;

	if (is_candidate(&s, w->prev_cpu) && has_nothing_queued(&s, w->prev_cpu))
		return choose(&s, w->prev_cpu, WAKEIF_RULE_PREV_IDLE);
	wi_mask_for_each (c, s.cand, s.r->words)
		if (has_nothing_queued(&s, c) && (best == WAKEIF_CPU_NONE || v->cpu[c].idle_since_ns < v->cpu[best].idle_since_ns))
			best = c;
	return best == WAKEIF_CPU_NONE ? choose(&s, w->prev_cpu, WAKEIF_RULE_STAY) : choose(&s, best, WAKEIF_RULE_OLDEST_IDLE);
}

/* ---- the table ---- */

static const struct wakeif_param least_loaded_params[] = {
	{ "by", WAKEIF_PARAM_CHOICE, "nr", 0, 0, "nr|load", "what is least: queued tasks, or the kernel's load average (PELT)" },
};

#define BASELINE "a baseline of this project"
#define POLICY_OPS(id, model_name, text, src, conf, select, ...)                                                       \
	const struct wakeif_model_ops wi_model_##id = { .abi = WAKEIF_ABI,                                             \
							.size = sizeof(struct wakeif_model_ops),                       \
							.name = model_name,                                            \
							.summary = text,                                               \
							.source = src,                                                 \
							.confidence = conf,                                            \
							.init = reference_init,                                        \
							.fini = reference_fini,                                        \
							.select_cpu = select,                                          \
							__VA_ARGS__ }

POLICY_OPS(prev, "prev", "stay on the previous CPU", BASELINE, "exact", prev_select, .needs = 0);
POLICY_OPS(waker, "waker", "the waker's CPU if allowed, else the previous one", BASELINE, "exact", waker_select, .needs = WAKEIF_NEED_WAKING);
POLICY_OPS(prev_idle, "prev-idle", "the previous CPU if idle, else the nearest idle CPU", BASELINE, "exact", prev_idle_select,
	   .needs = WAKEIF_NEED_TOPOLOGY);
POLICY_OPS(random_idle, "random-idle", "any idle CPU by lot, any CPU if none is idle", BASELINE, "exact", random_idle_select, .needs = 0);
const struct wakeif_model_ops wi_model_least_loaded = { .abi = WAKEIF_ABI,
							.size = sizeof(struct wakeif_model_ops),
							.name = "least-loaded",
							.summary = "the CPU with the fewest queued tasks (or the least load)",
							.source = BASELINE,
							.confidence = "exact; load: estimated",
							.needs = WAKEIF_NEED_LOAD,
							.nr_params = 1,
							.params = least_loaded_params,
							.init = reference_init_param,
							.fini = reference_fini,
							.select_cpu = least_loaded_select };
POLICY_OPS(idle_core_first, "idle-core-first", "an idle core wherever there is one, nearest first; then an idle CPU", BASELINE, "exact",
	   idle_core_first_select, .needs = WAKEIF_NEED_TOPOLOGY);
POLICY_OPS(llc_only, "llc-only", "as idle-core-first, but never leaves the previous CPU's LLC", BASELINE, "exact", llc_only_select,
	   .needs = WAKEIF_NEED_TOPOLOGY);
POLICY_OPS(waker_llc, "waker-llc", "as llc-only, in the LLC of the waker", BASELINE, "exact", waker_llc_select,
	   .needs = WAKEIF_NEED_TOPOLOGY | WAKEIF_NEED_WAKING);
POLICY_OPS(pack, "pack", "idle siblings of busy cores first, to keep cores idle", BASELINE, "exact", pack_select, .needs = WAKEIF_NEED_TOPOLOGY);
POLICY_OPS(oldest_idle, "oldest-idle", "the previous CPU if nothing is queued there, else the CPU idle for longest",
	   "Lozi et al., The Linux Scheduler: a Decade of Wasted Cores, EuroSys 2016: overload-on-wakeup fix; with no idle CPU: the previous CPU",
	   "code read", oldest_idle_select, .needs = 0);
