/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analyzer/replay/logic.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/base/cpumask.h"
#include "analyzer/replay/runnable.h"

#define IDLED_KEPT 16 /* times at which a CPU became idle; decisions may come that late, by as many idlings */

struct idled {
	uint64_t ns[IDLED_KEPT]; /* ring */
	uint64_t nr;		 /* so far */
};

struct wi_logic {
	struct wi_fair_machine machine;
	struct wi_fair_knobs knobs;
	struct wi_fair_ask ask;
	struct wi_fair_inputs in;
	struct wi_logic_results results;
	const struct wi_truth_decision *d;
	uint32_t nr_cpus, nr_words;
	wakeif_word *allowed, *idle, *sidle;
	struct wakeif_cpu *cpu;
	uint64_t *stamp;     /* when the CPU became idle, by the trace; 0: not known */
	struct idled *idled; /* by CPU */
	struct wi_runnable runnable;
	uint32_t *budget; /* by CPU that is the lowest of its LLC */
	bool *cores;
	uint32_t at;   /* next recorded test */
	bool diverged; /* a test was asked that the kernel did not make there */
	bool weighed;
};

static const char *const reason_names[] = {
#define X(id, name, help) name,
	WI_LOGIC_REASONS(X)
#undef X
};

static const char *const reason_meanings[] = {
#define X(id, name, help) help,
	WI_LOGIC_REASONS(X)
#undef X
};

const char *wi_logic_reason_name(enum wi_logic_reason reason)
{
	return reason < WI_LOGIC_NR_REASONS ? reason_names[reason] : "unknown";
}

const char *wi_logic_reason_meaning(enum wi_logic_reason reason)
{
	return reason < WI_LOGIC_NR_REASONS ? reason_meanings[reason] : "unknown";
}

void wi_logic_merge(struct wi_logic_results *into, const struct wi_logic_results *from)
{
	_Static_assert(sizeof(*into) % sizeof(uint64_t) == 0, "made of counters only");
	uint64_t *a = (uint64_t *)into;
	const uint64_t *b = (const uint64_t *)from;

	for (size_t i = 0; i < sizeof(*into) / sizeof(uint64_t); i++)
		a[i] += b[i];
}

static bool ask_idle(void *ctx, uint32_t cpu, enum wi_fair_site site)
{
	struct wi_logic *l = ctx;

	if (l->at < l->d->nr_tests && !l->diverged) {
		const struct wi_truth_test *t = &l->d->tests[l->at];

		if (t->cpu == cpu && t->site == (char)site) {
			l->at++;
			return t->idle;
		}
	}
	l->diverged = true;
	return wi_mask_test(l->idle, cpu);
}

/* Recorded outcome; where the sums were not recorded, the target tells. */
static bool ask_weight(void *ctx, int64_t this_eff, int64_t prev_eff)
{
	struct wi_logic *l = ctx;
	const struct wi_truth_decision *d = l->d;

	l->weighed = true;
	if (d->compared)
		return d->this_eff < d->prev_eff;
	if (d->sis_target != WI_TRUTH_NO_CPU)
		return d->sis_target == d->cpu;
	return this_eff < prev_eff;
}

static uint64_t less(uint64_t a, uint64_t b)
{
	return a > b ? a - b : 0;
}

/* util_est: the last activation's value, its top bit a flag; 6.1 keeps the average in the upper half. */
static uint64_t own_util_est(const struct wi_truth_decision *d)
{
	uint64_t enqueued = d->util_est & 0x7fffffff, average = d->util_est >> 32;

	return enqueued > average ? enqueued : average;
}

static uint64_t ask_load(void *ctx, uint32_t cpu, bool without)
{
	const struct wi_logic *l = ctx;

	return less(l->d->rq[cpu].load, without ? l->d->load : 0);
}

static uint64_t ask_util(void *ctx, uint32_t cpu, bool without)
{
	const struct wi_logic *l = ctx;
	uint64_t util = less(l->d->rq[cpu].util, without ? l->d->util : 0);
	uint64_t est = less(l->d->rq[cpu].util_est, without ? own_util_est(l->d) : 0);

	return util > est ? util : est;
}

static uint64_t ask_runnable(void *ctx, uint32_t cpu, bool without)
{
	const struct wi_logic *l = ctx;

	return less(l->d->rq[cpu].runnable, without ? l->d->util : 0);
}

static uint64_t ask_task_load(void *ctx, uint32_t task)
{
	(void)task;
	return ((const struct wi_logic *)ctx)->d->load;
}

static uint64_t ask_task_util(void *ctx, uint32_t task)
{
	const struct wi_logic *l = ctx;

	(void)task;
	return l->d->util > own_util_est(l->d) ? l->d->util : own_util_est(l->d);
}

static uint32_t ask_budget(void *ctx, uint32_t cpu, uint32_t *min, uint32_t *max)
{
	const struct wi_logic *l = ctx;

	return *min = *max = l->budget[l->machine.llc_id[cpu]];
}

/* A CPU that idles since before the trace has been idle for longer than any whose switch was seen. */
static uint64_t ask_stamp(void *ctx, uint32_t cpu)
{
	const struct wi_logic *l = ctx;

	return l->stamp[cpu] ? l->stamp[cpu] : 1;
}

struct wi_logic *wi_logic_new(const struct wakeif_topology *topology, const struct wi_fair_knobs *knobs,
			      struct wi_err *err)
{
	struct wi_logic *l = calloc(1, sizeof(*l));

	if (!l)
		goto nomem;
	l->knobs = *knobs;
	l->nr_cpus = topology->nr_cpus;
	l->nr_words = topology->nr_words;
	if (!wi_fair_machine_init(&l->machine, topology) || !wi_runnable_init(&l->runnable, topology->nr_cpus))
		goto nomem;
	l->allowed = calloc(l->nr_words, sizeof(*l->allowed));
	l->idle = calloc(l->nr_words, sizeof(*l->idle));
	l->sidle = calloc(l->nr_words, sizeof(*l->sidle));
	l->cpu = calloc(l->nr_cpus, sizeof(*l->cpu));
	l->stamp = calloc(l->nr_cpus, sizeof(*l->stamp));
	l->idled = calloc(l->nr_cpus, sizeof(*l->idled));
	l->budget = calloc(l->nr_cpus, sizeof(*l->budget));
	l->cores = calloc(l->nr_cpus, sizeof(*l->cores));
	if (!l->allowed || !l->idle || !l->sidle || !l->cpu || !l->stamp || !l->idled || !l->budget || !l->cores)
		goto nomem;
	l->ask = (struct wi_fair_ask){ .ctx = l,
				       .idle = ask_idle,
				       .weight = ask_weight,
				       .cpu_load = ask_load,
				       .cpu_util = ask_util,
				       .cpu_runnable = ask_runnable,
				       .task_load = ask_task_load,
				       .task_util = ask_task_util,
				       .scan_budget = ask_budget,
				       .idle_stamp = ask_stamp };
	l->in = (struct wi_fair_inputs){ .machine = &l->machine,
					 .knobs = &l->knobs,
					 .ask = &l->ask,
					 .allowed = l->allowed,
					 .idle = l->idle,
					 .sidle = l->sidle,
					 .cpu = l->cpu,
					 .exec_counted = true };
	return l;
nomem:
	wi_err_nomem(err);
	wi_logic_free(l);
	return NULL;
}

void wi_logic_free(struct wi_logic *l)
{
	if (!l)
		return;
	wi_fair_machine_fini(&l->machine);
	wi_runnable_fini(&l->runnable);
	free(l->allowed);
	free(l->idle);
	free(l->sidle);
	free(l->cpu);
	free(l->stamp);
	free(l->idled);
	free(l->budget);
	free(l->cores);
	free(l);
}

bool wi_logic_happened(struct wi_logic *l, const struct wakeif_happening *h)
{
	if (h->type == WAKEIF_CPU_IDLES && h->cpu < l->nr_cpus) {
		struct idled *i = &l->idled[h->cpu];

		i->ns[i->nr++ % IDLED_KEPT] = h->now_ns;
	}
	return wi_runnable_happened(&l->runnable, h);
}

static bool cpus_fit(const struct wi_logic *l, const struct wi_truth_decision *d, const char *path, struct wi_err *err)
{
	uint32_t worst = d->cpu > d->prev ? d->cpu : d->prev;

	worst = d->ret > worst ? d->ret : worst;
	if (d->sis_target != WI_TRUTH_NO_CPU && d->sis_target > worst)
		worst = d->sis_target;
	for (uint32_t i = 0; i < d->nr_llcs; i++)
		worst = d->llc[i].first_cpu > worst ? d->llc[i].first_cpu : worst;
	for (uint32_t i = 0; i < d->nr_tests; i++)
		worst = d->tests[i].cpu > worst ? d->tests[i].cpu : worst;
	if (d->nr_rqs > worst)
		worst = d->nr_rqs - 1;
	if (worst >= l->nr_cpus)
		return wi_err_set(err, WI_EREFUSED, "%.200s:%" PRIu64 ": names a CPU that the topology lacks: %" PRIu32,
				  path, d->line, worst);
	return true;
}

static uint64_t idle_since(const struct idled *i, uint64_t ns)
{
	for (uint64_t n = i->nr; n && n + IDLED_KEPT > i->nr; n--)
		if (i->ns[(n - 1) % IDLED_KEPT] < ns)
			return i->ns[(n - 1) % IDLED_KEPT];
	return 0;
}

/*
 * The run queues were read a little before the function was entered, and hold delayed tasks. Of the waker's CPU the
 * trace tells how many tasks were runnable at the entry.
 */
static void load_waker(struct wi_logic *l, const struct wi_truth_decision *d)
{
	struct wakeif_cpu *w = &l->cpu[d->cpu];
	uint32_t runnable;

	l->in.delayed_on_waker = 0;
	if (!wi_runnable_at(&l->runnable, d->cpu, d->ts_ns, &runnable) || !runnable)
		return;
	if (!l->knobs.less_delayed || runnable > w->nr_running)
		w->nr_running = runnable;
	l->in.delayed_on_waker = w->nr_running - runnable;
}

/* The machine as it was recorded at entry. */
static void load_state(struct wi_logic *l, const struct wi_truth_decision *d)
{
	struct wi_fair_inputs *in = &l->in;

	memset(l->allowed, 0, l->nr_words * sizeof(*l->allowed));
	memset(l->idle, 0, l->nr_words * sizeof(*l->idle));
	memset(l->sidle, 0, l->nr_words * sizeof(*l->sidle));
	memset(l->budget, 0, l->nr_cpus * sizeof(*l->budget));
	memset(l->cores, 0, l->nr_cpus * sizeof(*l->cores));
	memset(l->cpu, 0, l->nr_cpus * sizeof(*l->cpu));
	for (uint32_t i = 0; i < l->nr_words && i < d->allowed_words; i++)
		l->allowed[i] = d->allowed[i];
	for (uint32_t c = 0; c < d->nr_rqs; c++) {
		const struct wi_truth_rq *rq = &d->rq[c];

		l->cpu[c].nr_running = rq->nr_running;
		l->cpu[c].nr_cfs = rq->h_nr_running;
		l->cpu[c].nr_sched_idle = rq->idle_h_nr_running;
		if (!rq->nr_running && !rq->curr_pid && !rq->pending)
			wi_mask_set(l->idle, c);
		if (rq->nr_running && rq->idle_h_nr_running == rq->nr_running)
			wi_mask_set(l->sidle, c);
	}
	for (uint32_t i = 0; i < d->nr_llcs; i++) {
		uint32_t id = l->machine.llc_id[d->llc[i].first_cpu];

		l->budget[id] = d->llc[i].nr_idle_scan;
		l->cores[id] = d->llc[i].has_idle_cores;
	}
	/* The argument of select_idle_cpu() was recorded where that was reached: nearer to the use than the entry is.
	 */
	if (d->wanted_core >= 0 && d->sis_target != WI_TRUTH_NO_CPU)
		l->cores[l->machine.llc_id[d->sis_target]] = d->wanted_core;
	in->flags = d->wake_flags & ~(uint32_t)WAKEIF_WF_SYNC;
	if (d->called_affine ? d->sync : d->wake_flags & WAKEIF_WF_SYNC)
		in->flags |= WAKEIF_WF_SYNC;
	in->now_ns = d->ts_ns;
	in->waker_cpu = d->cpu;
	in->prev_cpu = d->prev;
	in->recent_cpu = d->recent < l->nr_cpus ? d->recent : WAKEIF_CPU_NONE;
	in->wakee_flips = d->flips;
	in->waker_flips = d->cpu < d->nr_rqs ? d->rq[d->cpu].curr_flips : 0;
	in->wakee_idle_policy = d->policy == WAKEIF_POLICY_IDLE;
	in->delayed_on_waker = 0;
	if (d->wake_flags & WAKEIF_WF_TTWU)
		load_waker(l, d);
	for (uint32_t c = 0; c < l->nr_cpus; c++)
		l->stamp[c] = idle_since(&l->idled[c], d->ts_ns);
}

/*
 * The waker's flips were seen before record_wakee(), which may halve them and may add one: the value under which
 * wake_wide says what it was seen to say, if there is one.
 */
static void settle_flips(struct wi_logic *l, struct wi_logic_case *out)
{
	struct wi_fair_inputs *in = &l->in;
	const struct wi_truth_decision *d = l->d;
	uint32_t f = in->waker_flips, factor = l->machine.topology->llc_size[d->cpu];
	uint32_t tries[4] = { f, f + 1, f / 2, f / 2 + 1 };
	bool common = false;

	for (uint32_t i = 0; i < l->machine.topology->nr_domains[d->cpu]; i++) {
		const struct wakeif_domain *sd = &l->machine.topology->domains[d->cpu][i];

		common |= (sd->flags & WAKEIF_SD_WAKE_AFFINE) && wi_mask_test(sd->span, d->prev);
	}
	if (d->cpu == d->prev || !common || !wi_mask_test(l->allowed, d->cpu))
		return;
	out->wide_known = true;
	out->wide = !d->called_affine;
	for (size_t i = 0; i < 4 && !out->wide_ok; i++)
		if (wi_fair_wide(tries[i], in->wakee_flips, factor) == out->wide) {
			in->waker_flips = tries[i];
			out->wide_ok = true;
		}
}

static struct wi_fair_result run(struct wi_logic *l)
{
	uint32_t prev = l->machine.llc_id[l->in.prev_cpu], waker = l->machine.llc_id[l->in.waker_cpu];

	l->at = 0;
	l->diverged = l->weighed = false;
	l->in.prev_idle_cores = l->cores[prev];
	l->in.waker_idle_cores = l->cores[waker];
	return wi_fair_select(&l->in);
}

/* Does the state as it is now give what was recorded? */
static bool explains(struct wi_logic *l)
{
	struct wi_fair_result r = run(l);

	return r.cpu == l->d->ret && !l->diverged && l->at == l->d->nr_tests;
}

static enum wi_logic_reason vary(struct wi_logic *l, bool slow, int depth);

/* The state was changed in one place for `reason`: does it explain, alone or (depth) with another change? */
static enum wi_logic_reason tried(struct wi_logic *l, bool slow, enum wi_logic_reason reason, int depth)
{
	if (depth)
		return vary(l, slow, depth - 1) != WI_LOGIC_UNEXPLAINED ? WI_LOGIC_TWO : WI_LOGIC_UNEXPLAINED;
	return explains(l) ? reason : WI_LOGIC_UNEXPLAINED;
}

static enum wi_logic_reason vary_fast(struct wi_logic *l, int depth)
{
	uint32_t ids[2] = { l->machine.llc_id[l->in.waker_cpu], l->machine.llc_id[l->in.prev_cpu] };
	enum wi_logic_reason found = WI_LOGIC_UNEXPLAINED;

	for (int i = 0; i < 2 && found == WI_LOGIC_UNEXPLAINED; i++) {
		l->cores[ids[i]] ^= true;
		found = tried(l, false, WI_LOGIC_IDLE_CORES, depth);
		l->cores[ids[i]] ^= true;
	}
	for (int i = 0; i < 2 && found == WI_LOGIC_UNEXPLAINED; i++) {
		uint32_t was = l->budget[ids[i]], most = l->machine.topology->llc_size[ids[i]];

		for (uint32_t n = 0; n <= most && found == WI_LOGIC_UNEXPLAINED; n++) {
			l->budget[ids[i]] = n;
			if (n != was)
				found = tried(l, false, WI_LOGIC_BUDGET, depth);
		}
		l->budget[ids[i]] = was;
	}
	struct wakeif_cpu *w = &l->cpu[l->in.waker_cpu];
	uint32_t was = w->nr_running;

	if (found == WI_LOGIC_UNEXPLAINED) {
		w->nr_running = was == 1 ? 2 : 1;
		found = tried(l, false, WI_LOGIC_QUEUE, depth);
		w->nr_running = was;
	}
	return found;
}

static enum wi_logic_reason vary_slow(struct wi_logic *l, int depth)
{
	enum wi_logic_reason found = WI_LOGIC_UNEXPLAINED;

	for (uint32_t c = 0; c < l->d->nr_rqs && found == WI_LOGIC_UNEXPLAINED; c++) {
		uint32_t nr = l->cpu[c].nr_running;
		bool idle = wi_mask_test(l->idle, c);

		l->idle[c / 64] ^= 1ull << (c & 63);
		l->cpu[c].nr_running = idle ? 1 : 0;
		found = tried(l, true, WI_LOGIC_IDLE, depth);
		l->idle[c / 64] ^= 1ull << (c & 63);
		l->cpu[c].nr_running = nr;
	}
	for (uint32_t c = 0; c < l->d->nr_rqs && found == WI_LOGIC_UNEXPLAINED; c++) {
		uint32_t was = l->cpu[c].nr_running;

		for (uint32_t nr = was > 2 ? was - 1 : 1; nr <= was + 1 && found == WI_LOGIC_UNEXPLAINED; nr++) {
			l->cpu[c].nr_running = nr;
			if (nr != was)
				found = tried(l, true, WI_LOGIC_QUEUE, depth);
		}
		l->cpu[c].nr_running = was;
	}
	for (uint32_t c = 0; c < l->d->nr_rqs && found == WI_LOGIC_UNEXPLAINED; c++) {
		uint64_t was = l->stamp[c];

		if (wi_mask_test(l->idle, c)) {
			l->stamp[c] = was ? 0 : UINT64_MAX;
			found = tried(l, true, WI_LOGIC_STAMP, depth);
			l->stamp[c] = was;
		}
	}
	return found;
}

/* Changes one value after the other, and puts it back, until one explains what was recorded. */
static enum wi_logic_reason vary(struct wi_logic *l, bool slow, int depth)
{
	enum wi_logic_reason found = slow ? vary_slow(l, depth) : vary_fast(l, depth);

	for (uint32_t c = 0; c < l->d->nr_rqs && found == WI_LOGIC_UNEXPLAINED; c++) {
		l->sidle[c / 64] ^= 1ull << (c & 63);
		found = tried(l, slow, WI_LOGIC_SIDLE, depth);
		l->sidle[c / 64] ^= 1ull << (c & 63);
	}
	return found;
}

#define MAX_CPUS_TWO 64 /* two changes at a time are tried on machines up to this size */

static void count(struct wi_logic *l, const struct wi_logic_case *c)
{
	struct wi_logic_results *s = &l->results;

	if (!c->checked) {
		s->unchecked++;
		return;
	}
	if (c->class_ != WAKEIF_SELECT) {
		bool fork = c->class_ == WAKEIF_FORK;

		*(fork ? &s->fork : &s->exec) += 1;
		*(fork ? &s->fork_ok : &s->exec_ok) += c->ret_ok;
		s->slow_reasons[c->reason]++;
		return;
	}
	s->decisions++;
	s->ret_ok += c->ret_ok;
	s->sequence_ok += c->sequence_ok;
	s->delayed_seen += c->delayed > 0;
	s->delayed_assumed += c->delayed_assumed;
	s->wide_known += c->wide_known;
	s->wide_true += c->wide_known && c->wide;
	s->wide_ok += c->wide_ok;
	s->target_known += c->target_known;
	s->target_ok += c->target_ok;
	s->weight_known += c->weight_known;
	s->weight_ok += c->weight_ok;
	s->by_rule[c->rule].decisions++;
	s->by_rule[c->rule].wrong += !c->ret_ok;
	s->reasons[c->reason]++;
}

bool wi_logic_check(struct wi_logic *l, const struct wi_truth_decision *d, const char *path, struct wi_logic_case *out,
		    struct wi_err *err)
{
	bool wakeup = d->wake_flags & WAKEIF_WF_TTWU;

	*out = (struct wi_logic_case){ .line = d->line,
				       .ts_ns = d->ts_ns,
				       .pid = d->pid,
				       .class_ = wakeup				  ? WAKEIF_SELECT
						 : d->wake_flags & WAKEIF_WF_EXEC ? WAKEIF_EXEC
										  : WAKEIF_FORK,
				       .ret = d->ret,
				       .model = WAKEIF_CPU_NONE };
	if (!cpus_fit(l, d, path, err))
		return false;
	out->checked = d->nr_rqs && d->allowed && (d->has_tests || !wakeup);
	if (!out->checked) {
		count(l, out);
		return true;
	}
	l->d = d;
	load_state(l, d);
	if (wakeup)
		settle_flips(l, out);
	struct wi_fair_result r = run(l);
	bool differs = r.cpu != d->ret || l->diverged || l->at != d->nr_tests;

	out->delayed = wakeup ? l->in.delayed_on_waker : 0;
	if (wakeup && differs && l->knobs.less_delayed && l->cpu[d->cpu].nr_running > 1) {
		l->in.delayed_on_waker = l->cpu[d->cpu].nr_running - 1;
		out->delayed_assumed = explains(l);
		if (!out->delayed_assumed)
			l->in.delayed_on_waker = out->delayed;
		r = run(l);
	}
	out->model = r.cpu;
	out->rule = r.rule;
	out->ret_ok = r.cpu == d->ret;
	out->sequence_ok = !l->diverged && l->at == d->nr_tests;
	out->target_known = d->sis_target != WI_TRUTH_NO_CPU;
	out->target_ok = out->target_known && r.target == d->sis_target;
	out->weight_known = d->compared;
	out->weight_ok = d->compared && l->weighed;
	if (!out->ret_ok || (wakeup && !out->sequence_ok)) {
		enum wi_logic_reason reason = vary(l, !wakeup, 0);

		if (reason == WI_LOGIC_UNEXPLAINED && l->nr_cpus <= MAX_CPUS_TWO)
			reason = vary(l, !wakeup, 1);
		out->reason = (uint8_t)reason;
	}
	count(l, out);
	return true;
}

const struct wi_logic_results *wi_logic_results(const struct wi_logic *l)
{
	return &l->results;
}
