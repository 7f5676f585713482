/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analyzer/report/explain.h"

#include <inttypes.h>
#include <string.h>

#include "analyzer/base/fmt.h"

#define NR(a) (sizeof(a) / sizeof(*(a)))
#define CPU_ROWS 64u /* machines with more CPUs: only those that matter are listed */

struct text {
	FILE *out;
	const struct wi_explain_report *p;
	const struct wi_explained *x;
	const struct wakeif_topology *topo;
};

static const char *cpu(char out[WI_FMT_LEN], uint32_t c)
{
	return wi_fmt_cpu(out, WI_FMT_LEN, c);
}

static const char *task(const struct text *t, char *out, size_t size, uint32_t comm, int32_t pid)
{
	const char *name = comm != WI_NAME_NONE ? wi_names_get(t->p->names, comm) : NULL;

	return wi_fmt_task(out, size, name, pid);
}

static const char *stamp(const struct text *t, char out[WI_FMT_LEN], uint64_t ns)
{
	return wi_fmt_stamp(out, WI_FMT_LEN, ns, t->p->rep->nanoseconds);
}

/* ---- head ---- */

static const char *class_means(uint8_t class_)
{
	static const char *const text[WAKEIF_NR_CLASSES] = {
		[WAKEIF_SELECT] = "the kernel chose a CPU",
		[WAKEIF_SELF] = "the task woke itself: no choice was made",
		[WAKEIF_ONRQ] = "it had not left its run queue: no choice was made",
		[WAKEIF_ONCPU] = "it was being switched out and was queued where it was: no choice was made",
		[WAKEIF_DELAYED] = "its dequeue was still delayed: it stayed where it was, no choice was made",
		[WAKEIF_PINNED] = "it may run on one CPU only: no choice was made",
		[WAKEIF_FALLBACK] = "its previous CPU is not allowed any more: the kernel took a fallback CPU",
		[WAKEIF_FORK] = "a new task: the kernel chose a CPU by the slow path",
		[WAKEIF_RT] = "a realtime task: other rules, which no model here has",
		[WAKEIF_DL] = "a deadline task: other rules, which no model here has",
		[WAKEIF_UNKNOWN] = "the state of the task or of a CPU was not known at this instant",
	};

	return class_ < WAKEIF_NR_CLASSES && text[class_] ? text[class_] : "no choice was made";
}

static const char *allowed_means(uint8_t source)
{
	return source == WAKEIF_ALLOWED_RECORDED ? "recorded" :
	       source == WAKEIF_ALLOWED_INFERRED ? "inferred from its name: a per-CPU kernel thread" :
						   "assumed: affinity was not recorded";
}

static void print_allowed(const struct text *t)
{
	uint32_t nr = 0, from = WAKEIF_CPU_NONE, online = 0;

	for (uint32_t c = 0; c < t->topo->nr_cpus; c++)
		online += t->x->cpu[c].online;
	fprintf(t->out, "  allowed CPUs: ");
	if (t->x->nr_allowed >= online)
		fputs("all", t->out);
	for (uint32_t c = 0; t->x->nr_allowed < online && c <= t->topo->nr_cpus; c++) {
		bool in = c < t->topo->nr_cpus && t->x->cpu[c].allowed;

		if (in && from == WAKEIF_CPU_NONE)
			from = c;
		if (in || from == WAKEIF_CPU_NONE)
			continue;
		fprintf(t->out, "%s%" PRIu32, nr++ ? "," : "", from);
		if (c - 1 > from)
			fprintf(t->out, "-%" PRIu32, c - 1);
		from = WAKEIF_CPU_NONE;
	}
	fprintf(t->out, " (%s)\n", allowed_means(t->x->w.pub.allowed_source));
}

static const char *sync_means(const struct wi_explained *x)
{
	switch (x->sync_mode) {
	case WI_SYNC_RECORDED:
		return "recorded";
	case WI_SYNC_NEVER:
		return "not recorded, taken as never set";
	case WI_SYNC_ALWAYS:
		return "not recorded, taken as always set";
	default:
		break;
	}
	return x->sync_source == WI_SYNC_BY_PAIR    ? "learned from other wakeups of this pair of names in this context" :
	       x->sync_source == WI_SYNC_BY_CONTEXT ? "learned from other wakeups in this context; none of this pair tells" :
						      "no other wakeup of the kind tells: taken as most are";
}

static const char *apart(const struct text *t, uint32_t prev, uint32_t waker)
{
	enum wi_distance d = prev < t->topo->nr_cpus && waker < t->topo->nr_cpus ? wi_cpu_distance(t->topo, prev, waker) : WI_DIST_UNKNOWN;

	switch (d) {
	case WI_DIST_CPU:
		return "the waker's";
	case WI_DIST_CORE:
		return "in the waker's core";
	case WI_DIST_CLUSTER:
		return "in the waker's cluster";
	case WI_DIST_LLC:
		return "in the waker's LLC";
	case WI_DIST_NODE:
		return "in the waker's node, another LLC";
	case WI_DIST_REMOTE:
		return "in another node than the waker's";
	default:
		return "where from the waker's is not known";
	}
}

static void print_head(const struct text *t, size_t number)
{
	const struct wi_explained *x = t->x;
	const struct wi_wakeup *w = &x->w;
	char a[WI_FMT_NAME_LEN], b[WI_FMT_NAME_LEN], s[WI_FMT_LEN], c[WI_FMT_LEN];

	fprintf(t->out, "\nWakeup %zu of %zu: %s woke %s at %s on %s, context %s\n", number, t->p->nr,
		task(t, a, sizeof(a), x->waker_comm, w->pub.waker_pid), task(t, b, sizeof(b), x->comm, x->pid),
		stamp(t, s, w->pub.wake_ns), cpu(c, w->pub.waker_cpu), wi_context_name((enum wakeif_context)w->pub.context));
	fprintf(t->out, "  class %s: %s\n", wi_class_name((enum wakeif_class)w->pub.class_), class_means(w->pub.class_));
	if (w->maybe_delayed)
		fputs("  it may have been a delayed dequeue, then no choice was made\n", t->out);
	fprintf(t->out, "  previous CPU %s, %s", cpu(c, w->pub.prev_cpu), apart(t, w->pub.prev_cpu, w->pub.waker_cpu));
	if (w->pub.slept_ns != UINT64_MAX)
		fprintf(t->out, "; had slept %s", wi_fmt_ns(s, sizeof(s), w->pub.slept_ns));
	fputc('\n', t->out);
	fprintf(t->out, "  decided at %s, %s after sched_waking%s\n", stamp(t, c, w->pub.now_ns),
		wi_fmt_ns(s, sizeof(s), w->pub.now_ns - w->pub.wake_ns),
		w->chosen_source == WI_CHOSEN_MIGRATE ? " (its sched_migrate_task)" : " (estimated: usual gap, or the next record)");
	if (w->pub.waker_stalled)
		fputs("  the waker's CPU wrote nothing for more than 100 us then: the instant is uncertain\n", t->out);
	print_allowed(t);
	if (x->asked && x->sync_used)
		fprintf(t->out, "  WF_SYNC: %s (%s)%s\n", x->sync ? "set" : "not set", sync_means(x),
			w->pub.waker_exiting ? "; the waker is exiting, so the kernel ignores it" : "");
}

/* ---- CPUs ---- */

static bool matters(const struct text *t, uint32_t c)
{
	const struct wi_explained *x = t->x;
	bool does = c == x->w.pub.prev_cpu || c == x->w.pub.waker_cpu || c == x->w.chosen_cpu;

	for (uint32_t i = 0; i < x->nr_models && !does; i++) {
		does = c == x->model[i].cpu;
		for (uint32_t k = 0; k < x->model[i].nr_steps && !does; k++)
			does = x->model[i].steps[k].s.kind == WI_FAIR_STEP_IDLE && x->model[i].steps[k].s.cpu == c;
	}
	return does;
}

static const char *state_of(const struct wi_explained_cpu *c)
{
	return !c->online ? "offline" : c->unknown ? "unknown" : c->idle ? "idle" : c->pending ? "wakeup on its way" :
	       c->sched_idle_only ? "SCHED_IDLE only" : "busy";
}

static const char *who(const struct text *t, uint32_t c, char out[64])
{
	const struct wi_explained *x = t->x;

	snprintf(out, 64, "%s%s%s%s", c == x->w.pub.waker_cpu ? "waker " : "", c == x->w.pub.prev_cpu ? "previous " : "",
		 c == x->w.chosen_cpu ? "chosen " : "", x->cpu[c].online && !x->cpu[c].allowed ? "not-allowed " : "");
	if (*out)
		out[strlen(out) - 1] = '\0';
	return out;
}

static bool print_cpus(const struct text *t, struct wi_err *err)
{
	static const struct wi_column columns[] = { { "CPU", false, false },	 { "core", false, false },    { "LLC", false, false },
						    { "state", true, false },	 { "for", false, false },     { "queued", false, false },
						    { "fair", false, false },	 { "running", true, true },   { "", true, false } };
	struct wi_table *table = wi_table_new(columns, NR(columns));
	uint32_t left_out = 0;

	fputs("\n  The CPUs at that instant, without the wakee\n", t->out);
	for (uint32_t c = 0; c < t->topo->nr_cpus; c++) {
		const struct wi_explained_cpu *k = &t->x->cpu[c];
		char text[WI_FMT_NAME_LEN], roles[64];

		if (t->topo->group[WAKEIF_CORE][c] == UINT32_MAX)
			continue;
		if (t->topo->nr_cpus > CPU_ROWS && !matters(t, c)) {
			left_out++;
			continue;
		}
		wi_table_cpu(table, c);
		wi_table_count(table, t->topo->group[WAKEIF_CORE][c]);
		wi_table_count(table, t->topo->group[WAKEIF_LLC][c]);
		wi_table_text(table, state_of(k));
		if (k->idle && k->idle_since_ns <= t->x->w.pub.now_ns)
			wi_table_ns(table, t->x->w.pub.now_ns - k->idle_since_ns);
		else
			wi_table_none(table);
		if (k->unknown || !k->online) {
			wi_table_none(table);
			wi_table_none(table);
		} else {
			wi_table_count(table, k->nr_running);
			wi_table_count(table, k->nr_cfs);
		}
		wi_table_text(table, k->curr_pid == 0 || !k->online ? "-" : task(t, text, sizeof(text), k->curr_comm, k->curr_pid));
		wi_table_text(table, who(t, c, roles));
	}
	if (!wi_table_print(table, t->out, 4))
		return wi_err_nomem(err);
	if (left_out)
		fprintf(t->out, "    and %" PRIu32 " CPUs that nobody looked at (JSON has all)\n", left_out);
	return true;
}

/* ---- steps ---- */

static const char *looked_for(const struct text *t, const struct wi_explained_model *m, const struct wi_fair_step *s)
{
	const struct wi_explained *x = t->x;

	switch (s->site) {
	case WI_FAIR_AFFINE:
		return s->cpu == x->w.pub.waker_cpu ? "wake_affine, waker's CPU" : "wake_affine, previous CPU";
	case WI_FAIR_SIS:
		return s->cpu == m->choice.target ? "target" : s->cpu == x->w.pub.prev_cpu ? "previous CPU" : "recently used CPU";
	case WI_FAIR_CORE:
		return "whole core idle?";
	case WI_FAIR_SCAN:
		return "any idle CPU?";
	case WI_FAIR_SMT:
		return "idle sibling?";
	case WI_FAIR_CAPACITY:
		return "idle and big enough?";
	default:
		return "idlest CPU?";
	}
}

static const char *found(const struct text *t, const struct wi_fair_step *s)
{
	if (t->x->cpu[s->cpu].unknown)
		return "unknown, taken as busy";
	return s->value == 1 ? "idle" : s->value == 2 ? "as good as idle: SCHED_IDLE tasks only" :
	       t->x->cpu[s->cpu].pending ? "not idle: a wakeup is on its way there" : "busy";
}

static const char *affine_means(uint64_t verdict)
{
	static const char *const text[WAKEIF_NR_AFFINE] = {
		[WAKEIF_AFFINE_IDLE_WAKER] = "the waker's CPU: idle",
		[WAKEIF_AFFINE_IDLE_PREV] = "the previous CPU: idle",
		[WAKEIF_AFFINE_SYNC] = "the waker's CPU: sync wakeup, the waker is alone there",
		[WAKEIF_AFFINE_LOAD_WAKER] = "the waker's CPU: less loaded",
		[WAKEIF_AFFINE_LOAD_PREV] = "the previous CPU: not more loaded",
	};

	return verdict < WAKEIF_NR_AFFINE && text[verdict] ? text[verdict] : "the previous CPU";
}

static void print_step(const struct text *t, const struct wi_explained_model *m, const struct wi_explained_step *at)
{
	const struct wi_fair_step *s = &at->s;
	FILE *out = t->out;
	char c[WI_FMT_LEN];

	cpu(c, s->cpu);
	switch (s->kind) {
	case WI_FAIR_STEP_IDLE:
		fprintf(out, "%s: %s is %s\n", looked_for(t, m, s), c, found(t, s));
		return;
	case WI_FAIR_STEP_NOT_ALLOWED:
		fprintf(out, "%s is not allowed\n", c);
		return;
	case WI_FAIR_STEP_NO_SHARE:
		fprintf(out, "%s shares no cache with the target: passed over\n", c);
		return;
	case WI_FAIR_STEP_WIDE:
		fprintf(out, "wake_wide: %s (wakee_flips, estimated: waker %" PRIu32 ", wakee %" PRIu32 "; factor %" PRIu32 ")\n",
			s->value ? "wide, the waker's CPU is no candidate" : "not wide", m->waker_flips, m->wakee_flips, m->wide_factor);
		return;
	case WI_FAIR_STEP_WAKER_FORBIDDEN:
		fprintf(out, "the wakee may not run on %s, the waker's CPU: no candidate\n", c);
		return;
	case WI_FAIR_STEP_AFFINE:
		fprintf(out, "wake_affine: %s, %s\n", c, affine_means(s->value));
		return;
	case WI_FAIR_STEP_SYNC:
		fprintf(out, "wake_affine, sync: %" PRIu64 " task%s queued on %s%s\n", s->value, s->value == 1 ? "" : "s", c,
			s->value != 1 ? ": the flag does not count" : t->x->sync ? ", and the wakeup is sync" : ", but the wakeup is not sync");
		return;
	case WI_FAIR_STEP_THIS_EFF:
		fprintf(out, "wake_affine, loads (estimated): %s %" PRIu64 ", waker %" PRIu64 ", wakee %" PRIu64 "; compared as %" PRIu64 "\n", c,
			m->waker_cpu_load, m->waker_load, m->wakee_load, s->value);
		return;
	case WI_FAIR_STEP_PREV_EFF:
		fprintf(out, "    with previous CPU %s %" PRIu64 ", compared as %" PRIu64 "\n", c, m->prev_cpu_load, s->value);
		return;
	case WI_FAIR_STEP_TARGET:
		fprintf(out, "search for an idle CPU begins at %s\n", c);
		return;
	case WI_FAIR_STEP_RECENT:
		fprintf(out, "recently used CPU (from the model's memory): %s%s\n", c,
			s->cpu == m->choice.target || s->cpu == t->x->w.pub.prev_cpu ? ", looked at already" : "");
		return;
	case WI_FAIR_STEP_WANT_CORE:
		fprintf(out, "has_idle_cores (estimated) of the LLC of %s: %s\n", c, s->value ? "yes, look for an idle core" : "no");
		return;
	case WI_FAIR_STEP_BUDGET:
		fprintf(out, "nr_idle_scan (estimated): %" PRIu64, s->value);
		if (at->min != at->max)
			fprintf(out, ", could be %" PRIu32 " to %" PRIu32, at->min, at->max);
		fputs(s->value ? "\n" : ": no search\n", out);
		return;
	case WI_FAIR_STEP_HOT:
		fprintf(out, "%s is idle, but left to a task that will be back soon\n", c);
		return;
	case WI_FAIR_STEP_COOKIE:
		fprintf(out, "%s will not do: %s\n", c,
			at->s.value ? "its core's cookie or the wakee's is not known" :
				      "its core has another cookie than the wakee");
		return;
	case WI_FAIR_STEP_GROUP:
		fprintf(out, "slow path: the group with %s has %" PRIu64 " idle CPUs\n", c, s->value);
		return;
	case WI_FAIR_STEP_GROUP_CHOSEN:
		fprintf(out, "slow path: the group with %s is the idlest\n", c);
		return;
	case WI_FAIR_STEP_GROUP_STAY:
		fprintf(out, "slow path: the group of %s is kept\n", c);
		return;
	case WI_FAIR_STEP_ANSWER:
		fprintf(out, "answer: %s, %s\n", c, wi_rule_help((enum wakeif_rule)s->value));
		return;
	}
}

static void print_turn(const struct text *t, const struct wi_turn *turn)
{
	char c[WI_FMT_LEN];

	switch (turn->kind) {
	case WI_TURN_SYNC:
		fprintf(t->out, "WF_SYNC %s", turn->value ? "set" : "not set");
		return;
	case WI_TURN_WIDE:
		fprintf(t->out, "wake_wide said %s", turn->value ? "wide" : "not wide");
		return;
	case WI_TURN_LOAD:
		fputs("the loads compared the other way", t->out);
		return;
	case WI_TURN_CORES:
		fprintf(t->out, "has_idle_cores %s", turn->value ? "set" : "not set");
		return;
	case WI_TURN_BUDGET:
		fprintf(t->out, "nr_idle_scan %" PRIu32, turn->value);
		return;
	case WI_TURN_RECENT:
		fprintf(t->out, "the recently used CPU %s", cpu(c, turn->cpu));
		return;
	case WI_TURN_IDLE:
		fprintf(t->out, "%s idle", cpu(c, turn->cpu));
		return;
	default:
		fprintf(t->out, "%s busy", cpu(c, turn->cpu));
		return;
	}
}

#define TURNS_SHOWN 8u

static void print_turns(const struct text *t, const struct wi_explained_model *m)
{
	if (!m->nr_turns) {
		fputs("    no single change of what it looked at gives the kernel's choice\n", t->out);
		return;
	}
	fputs("    the kernel's choice would follow from any one of: ", t->out);
	for (uint32_t i = 0; i < m->nr_turns && i < TURNS_SHOWN; i++) {
		fputs(i ? "; " : "", t->out);
		print_turn(t, &m->turns[i]);
	}
	if (m->nr_turns > TURNS_SHOWN)
		fprintf(t->out, "; and %" PRIu32 " more (JSON has all)", m->nr_turns - TURNS_SHOWN);
	fputc('\n', t->out);
}

/* Oracles answer when the trace has shown them, not at the decision. */
static bool in_hindsight(const struct wi_explain_report *p, uint32_t i, const struct wi_explained_model *m)
{
	return p->r->model[i + 1].needs & WAKEIF_NEED_FUTURE && m->choice.cpu == WAKEIF_CPU_NONE;
}

static void print_model(const struct text *t, uint32_t i)
{
	const struct wi_explained_model *m = &t->x->model[i];
	const struct wakeif_choice *k = &m->choice;
	char name[WI_FMT_NAME_LEN], c[WI_FMT_LEN];

	if (in_hindsight(t->p, i, m)) {
		fprintf(t->out, "\n  %s: answers with what came later, in replay and compare only\n", wi_fmt_name(name, sizeof(name), t->p->r->model[i + 1].label));
		return;
	}
	fprintf(t->out, "\n  %s: %s, %s%s\n", wi_fmt_name(name, sizeof(name), t->p->r->model[i + 1].label), cpu(c, m->cpu),
		m->cpu == t->x->w.chosen_cpu ? "as the kernel" : "not as the kernel", m->illegal ? "; its own answer is not allowed, the kernel's fallback stands here" : "");
	fprintf(t->out, "    rule %s: %s", wi_rule_name((enum wakeif_rule)k->rule), wi_rule_help((enum wakeif_rule)k->rule));
	if (k->examined)
		fprintf(t->out, "; %" PRIu32 " idle test%s", k->examined, k->examined == 1 ? "" : "s");
	fputc('\n', t->out);
	if (k->flags & WAKEIF_CHOICE_AMBIGUOUS)
		fputs("    hangs on an estimate whose error could turn it\n", t->out);
	if (t->x->sync_used && k->flags & WAKEIF_CHOICE_KNOWS_SYNC && k->other_sync_cpu != k->cpu)
		fprintf(t->out, "    with WF_SYNC the other way round: %s\n", cpu(c, k->other_sync_cpu));
	for (uint32_t s = 0; s < m->nr_steps; s++) {
		fprintf(t->out, "    %2" PRIu32 ". ", s + 1);
		print_step(t, m, &m->steps[s]);
	}
	if (m->nr_steps_all > m->nr_steps)
		fprintf(t->out, "    and %" PRIu32 " more steps\n", m->nr_steps_all - m->nr_steps);
	if (m->has_steps && m->asked && t->x->sync_used && m->cpu != t->x->w.chosen_cpu)
		print_turns(t, m);
}

/* ---- what came of it ---- */

static void print_outcome(const struct text *t)
{
	const struct wi_explained *x = t->x;
	const struct wi_wakeup *w = &x->w;
	uint64_t start = wi_wakeup_start_ns(w);
	char c[WI_FMT_LEN], s[WI_FMT_LEN], d[WI_FMT_LEN];

	fputs("\n  The kernel", t->out);
	if (w->chosen_cpu == WI_CPU_NONE) {
		fputs("'s choice is not in the trace\n", t->out);
		return;
	}
	fprintf(t->out, " %s %s", x->asked ? "chose" : "used", cpu(c, w->chosen_cpu));
	if (x->asked)
		fprintf(t->out, ": %s", state_of(&x->cpu[w->chosen_cpu]));
	if (x->asked && x->verdict.row == WI_MISSED_SIBLING)
		fputs(", while its SMT sibling was idle", t->out);
	else if (x->asked && x->verdict.row > WI_MISSED_SIBLING && x->verdict.row <= WI_MISSED_MACHINE)
		fprintf(t->out, ", while another CPU of its %s was idle", wi_missed_row_name((enum wi_missed_row)x->verdict.row));
	fputc('\n', t->out);
	if (w->enq_ns != WI_TIME_UNKNOWN)
		fprintf(t->out, "  queued at %s%s\n", stamp(t, s, w->enq_ns),
			w->enq_record_cpu == w->chosen_cpu && w->chosen_cpu != w->pub.waker_cpu ? " by that CPU itself (wakelist)" : "");
	if (x->closed && x->outcome == WI_OUT_RUN && w->run_ns >= start) {
		fprintf(t->out, "  ran at %s on %s: latency %s", stamp(t, s, w->run_ns), cpu(c, w->run_cpu), wi_fmt_ns(d, sizeof(d), w->run_ns - start));
		if (w->enq_ns != WI_TIME_UNKNOWN && w->enq_ns <= w->run_ns)
			fprintf(t->out, ", of it %s in the queue", wi_fmt_ns(d, sizeof(d), w->run_ns - w->enq_ns));
		fputc('\n', t->out);
	} else if (x->closed && x->outcome == WI_OUT_RUNNING) {
		fputs("  it was running, and went on\n", t->out);
	} else {
		fputs("  it does not run again in this recording, or records of it are missing\n", t->out);
	}
}

static void print_notes(FILE *out, const char *notes)
{
	while (*notes) {
		size_t n = strcspn(notes, "\n");

		fprintf(out, "note: %.*s\n", (int)n, notes);
		notes += n + (notes[n] == '\n');
	}
}

bool wi_explain_text(FILE *out, const struct wi_explain_report *p, struct wi_err *err)
{
	print_notes(out, p->notes);
	fprintf(out, "topology: %s\n", p->rep->topology->source);
	for (size_t i = 0; i < p->nr; i++) {
		const struct text t = { out, p, &p->x[i], p->rep->topology };

		print_head(&t, i + 1);
		if (!print_cpus(&t, err))
			return false;
		for (uint32_t k = 0; k < t.x->nr_models; k++)
			print_model(&t, k);
		print_outcome(&t);
	}
	return true;
}

/* ---- JSON ---- */

static void json_cpu(struct wi_json *j, const char *key, uint32_t c)
{
	if (c != WI_CPU_NONE)
		wi_json_u64(j, key, c);
}

static void json_task(struct wi_json *j, const struct wi_explain_report *p, const char *pid_key, const char *comm_key, int32_t pid, uint32_t comm)
{
	if (pid >= 0)
		wi_json_i64(j, pid_key, pid);
	if (comm != WI_NAME_NONE)
		wi_json_string(j, comm_key, wi_names_get(p->names, comm));
}

static void json_time(struct wi_json *j, const char *key, uint64_t ns)
{
	if (ns != WI_TIME_UNKNOWN)
		wi_json_u64(j, key, ns);
}

static void json_cpus(struct wi_json *j, const struct wi_explain_report *p, const struct wi_explained *x)
{
	const struct wakeif_topology *t = p->rep->topology;

	wi_json_array(j, "cpus");
	for (uint32_t c = 0; c < t->nr_cpus; c++) {
		const struct wi_explained_cpu *k = &x->cpu[c];

		if (t->group[WAKEIF_CORE][c] == UINT32_MAX)
			continue;
		wi_json_object_flat(j, NULL);
		wi_json_u64(j, "cpu", c);
		wi_json_bool(j, "online", k->online);
		wi_json_bool(j, "allowed", k->allowed);
		if (k->unknown) {
			wi_json_bool(j, "unknown", true);
		} else if (k->online) {
			wi_json_bool(j, "idle", k->idle);
			wi_json_bool(j, "pending", k->pending);
			wi_json_bool(j, "sched_idle_only", k->sched_idle_only);
			wi_json_u64(j, "nr_running", k->nr_running);
			wi_json_u64(j, "nr_fair", k->nr_cfs);
			json_task(j, p, "pid", "comm", k->curr_pid, k->curr_comm);
			if (k->idle && k->idle_since_ns <= x->w.pub.now_ns)
				wi_json_u64(j, "idle_for_ns", x->w.pub.now_ns - k->idle_since_ns);
		}
		wi_json_end_object(j);
	}
	wi_json_end_array(j);
}

static void json_step(struct wi_json *j, const struct wi_explained_step *at)
{
	static const char *const kind[] = {
		[WI_FAIR_STEP_IDLE] = "idle_test",	     [WI_FAIR_STEP_NOT_ALLOWED] = "not_allowed",
		[WI_FAIR_STEP_NO_SHARE] = "no_share",	     [WI_FAIR_STEP_WIDE] = "wake_wide",
		[WI_FAIR_STEP_WAKER_FORBIDDEN] = "waker_not_allowed", [WI_FAIR_STEP_AFFINE] = "wake_affine",
		[WI_FAIR_STEP_SYNC] = "sync",		     [WI_FAIR_STEP_THIS_EFF] = "this_eff",
		[WI_FAIR_STEP_PREV_EFF] = "prev_eff",	     [WI_FAIR_STEP_TARGET] = "target",
		[WI_FAIR_STEP_RECENT] = "recent",	     [WI_FAIR_STEP_WANT_CORE] = "has_idle_cores",
		[WI_FAIR_STEP_BUDGET] = "nr_idle_scan",	     [WI_FAIR_STEP_HOT] = "hot",
		[WI_FAIR_STEP_COOKIE] = "cookie",
		[WI_FAIR_STEP_GROUP] = "group",		     [WI_FAIR_STEP_GROUP_CHOSEN] = "group_chosen",
		[WI_FAIR_STEP_GROUP_STAY] = "group_stay",    [WI_FAIR_STEP_ANSWER] = "answer",
	};
	const struct wi_fair_step *s = &at->s;
	const char site[2] = { (char)s->site, '\0' };

	wi_json_object_flat(j, NULL);
	wi_json_string(j, "step", kind[s->kind]);
	if (s->kind == WI_FAIR_STEP_IDLE)
		wi_json_string(j, "site", site);
	json_cpu(j, "cpu", s->cpu);
	if (s->kind == WI_FAIR_STEP_ANSWER)
		wi_json_string(j, "rule", wi_rule_name((enum wakeif_rule)s->value));
	else if (s->kind == WI_FAIR_STEP_AFFINE)
		wi_json_string(j, "verdict", wi_affine_name((enum wakeif_affine)s->value));
	else
		wi_json_u64(j, "value", s->value);
	if (s->kind == WI_FAIR_STEP_BUDGET) {
		wi_json_u64(j, "min", at->min);
		wi_json_u64(j, "max", at->max);
	}
	wi_json_end_object(j);
}

static void json_fair(struct wi_json *j, const struct wi_explained_model *m)
{
	wi_json_object_flat(j, "estimates");
	wi_json_u64(j, "waker_flips", m->waker_flips);
	wi_json_u64(j, "wakee_flips", m->wakee_flips);
	wi_json_u64(j, "wide_factor", m->wide_factor);
	json_cpu(j, "recent_cpu", m->recent_cpu);
	wi_json_bool(j, "waker_has_idle_cores", m->waker_idle_cores);
	wi_json_bool(j, "prev_has_idle_cores", m->prev_idle_cores);
	wi_json_u64(j, "waker_cpu_load", m->waker_cpu_load);
	wi_json_u64(j, "prev_cpu_load", m->prev_cpu_load);
	wi_json_u64(j, "waker_load", m->waker_load);
	wi_json_u64(j, "wakee_load", m->wakee_load);
	wi_json_end_object(j);
	wi_json_array(j, "steps");
	for (uint32_t i = 0; i < m->nr_steps; i++)
		json_step(j, &m->steps[i]);
	wi_json_end_array(j);
	wi_json_u64(j, "nr_steps", m->nr_steps_all);
	wi_json_array(j, "kernels_choice_if");
	for (uint32_t i = 0; i < m->nr_turns; i++) {
		wi_json_object_flat(j, NULL);
		wi_json_string(j, "change", wi_turn_name(m->turns[i].kind));
		if (m->turns[i].cpu != WAKEIF_CPU_NONE)
			wi_json_u64(j, "cpu", m->turns[i].cpu);
		else if (m->turns[i].kind != WI_TURN_LOAD)
			wi_json_u64(j, "value", m->turns[i].value);
		wi_json_end_object(j);
	}
	wi_json_end_array(j);
}

static void json_models(struct wi_json *j, const struct wi_explain_report *p, const struct wi_explained *x)
{
	wi_json_array(j, "models");
	for (uint32_t i = 0; i < x->nr_models; i++) {
		const struct wi_explained_model *m = &x->model[i];

		if (in_hindsight(p, i, m))
			continue;
		wi_json_object(j, NULL);
		wi_json_string(j, "name", p->r->model[i + 1].label);
		wi_json_u64(j, "cpu", m->cpu);
		wi_json_bool(j, "as_kernel", m->cpu == x->w.chosen_cpu);
		wi_json_bool(j, "invalid", m->illegal);
		wi_json_string(j, "rule", wi_rule_name((enum wakeif_rule)m->choice.rule));
		wi_json_string(j, "wake_affine", wi_affine_name((enum wakeif_affine)m->choice.affine));
		json_cpu(j, "target", m->choice.target);
		wi_json_u64(j, "examined", m->choice.examined);
		wi_json_bool(j, "ambiguous", m->choice.flags & WAKEIF_CHOICE_AMBIGUOUS);
		if (x->sync_used && m->choice.flags & WAKEIF_CHOICE_KNOWS_SYNC)
			json_cpu(j, "other_sync_cpu", m->choice.other_sync_cpu);
		if (m->has_steps && m->asked)
			json_fair(j, m);
		wi_json_end_object(j);
	}
	wi_json_end_array(j);
}

static void json_wakeup(struct wi_json *j, const struct wi_explain_report *p, const struct wi_explained *x)
{
	static const char *const source[] = { "recorded", "inferred", "assumed" };
	const struct wi_wakeup *w = &x->w;

	wi_json_object(j, NULL);
	wi_json_u64(j, "waking_ns", w->pub.wake_ns);
	wi_json_u64(j, "decided_ns", w->pub.now_ns);
	json_task(j, p, "pid", "comm", x->pid, x->comm);
	json_task(j, p, "waker_pid", "waker_comm", w->pub.waker_pid, x->waker_comm);
	json_cpu(j, "waker_cpu", w->pub.waker_cpu);
	json_cpu(j, "prev_cpu", w->pub.prev_cpu);
	wi_json_string(j, "context", wi_context_name((enum wakeif_context)w->pub.context));
	wi_json_string(j, "class", wi_class_name((enum wakeif_class)w->pub.class_));
	wi_json_bool(j, "waker_stalled", w->pub.waker_stalled);
	wi_json_string(j, "allowed_source", source[w->pub.allowed_source]);
	if (x->asked && x->sync_used) {
		wi_json_bool(j, "sync", x->sync);
		wi_json_string(j, "sync_found", wi_sync_mode_name(x->sync_mode));
	}
	json_cpu(j, "chosen_cpu", w->chosen_cpu);
	json_time(j, "enqueued_ns", w->enq_ns);
	if (x->closed && x->outcome == WI_OUT_RUN) {
		json_time(j, "run_ns", w->run_ns);
		json_cpu(j, "run_cpu", w->run_cpu);
		if (w->enq_ns != WI_TIME_UNKNOWN && w->run_ns >= w->enq_ns)
			wi_json_u64(j, "wait_ns", w->run_ns - w->enq_ns);
	}
	if (x->asked)
		wi_json_string(j, "missed", wi_missed_row_name((enum wi_missed_row)x->verdict.row));
	json_cpus(j, p, x);
	json_models(j, p, x);
	wi_json_end_object(j);
}

void wi_explain_json(struct wi_json *j, const struct wi_explain_report *p)
{
	wi_json_array(j, "explain");
	for (size_t i = 0; i < p->nr; i++)
		json_wakeup(j, p, &p->x[i]);
	wi_json_end_array(j);
}
