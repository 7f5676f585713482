/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The text report from its top: facts of the recording, what is known and what not, the verdict. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/base/cpumask.h"
#include "analyzer/base/kernel.h"
#include "analyzer/base/utf8.h"
#include "analyzer/report/text_priv.h"
#include "analyzer/report/topology.h"

#define LABEL 11 /* columns of the labels at the left of the head */

static void para_grow(struct wi_para *p, const char *text, size_t len)
{
	if (p->failed)
		return;
	if (p->len + len + 1 > p->room) {
		size_t room = 2 * p->room + len + 256;
		char *more = realloc(p->text, room);

		if (!more) {
			p->failed = true;
			return;
		}
		p->text = more;
		p->room = room;
	}
	memcpy(p->text + p->len, text, len);
	p->len += len;
	p->text[p->len] = '\0';
}

void wi_para_add(struct wi_para *p, const char *fmt, ...)
{
	char *text;
	va_list ap;
	int len;

	va_start(ap, fmt);
	len = vasprintf(&text, fmt, ap);
	va_end(ap);
	if (len < 0) {
		p->failed = true;
		return;
	}
	para_grow(p, text, (size_t)len);
	free(text);
}

void wi_para_name(struct wi_para *p, const char *name)
{
	char text[WI_FMT_NAME_LEN];

	wi_fmt_name(text, sizeof(text), name);
	para_grow(p, text, strlen(text));
}

/* Bytes of the first line: up to the last blank that fits, a whole word where none does. */
static size_t line_len(const char *text, size_t columns)
{
	size_t len = strlen(text), last_blank = 0, used = 0;

	for (size_t i = 0; i < len;) {
		uint32_t cp;
		size_t n = wi_utf8_next(text + i, len - i, &cp);

		if (cp == ' ')
			last_blank = i;
		used += cp == WI_UTF8_INVALID ? 1 : wi_utf8_width(cp);
		if (used > columns) {
			if (last_blank)
				return last_blank;
			return i + strcspn(text + i, " ");
		}
		i += n;
	}
	return len;
}

bool wi_para_print(struct wi_para *p, FILE *out, const char *label, int indent)
{
	bool ok = !p->failed;

	if (ok && p->len) {
		const char *at = p->text;

		fprintf(out, "%-*s", indent, label);
		while (*at) {
			size_t n = line_len(at, (size_t)(WI_TEXT_WIDTH - indent));

			fprintf(out, "%.*s\n", (int)n, at);
			at += n;
			while (*at == ' ')
				at++;
			if (*at)
				fprintf(out, "%*s", indent, "");
		}
	}
	free(p->text);
	memset(p, 0, sizeof(*p));
	return ok;
}

bool wi_scope_differs(const struct wakeif_topology *t, enum wakeif_scope scope)
{
	return scope == WAKEIF_CORE ? t->smt > 1 : t->nr_groups[scope] != t->nr_groups[scope - 1];
}

const char *wi_text_s(uint64_t n)
{
	return n == 1 ? "" : "s";
}

const char *wi_text_scope(enum wakeif_scope s)
{
	return s == WAKEIF_LLC ? "LLC" : wi_scope_name(s);
}

const char *wi_text_distance(enum wi_distance d)
{
	static const char *const text[WI_NR_DISTANCES] = {
		[WI_DIST_CPU] = "same CPU", [WI_DIST_CORE] = "core",	  [WI_DIST_CLUSTER] = "cluster",
		[WI_DIST_LLC] = "LLC",	    [WI_DIST_NODE] = "same node", [WI_DIST_REMOTE] = "other node",
	};

	return d < WI_NR_DISTANCES ? text[d] : "unknown";
}

void wi_text_title(FILE *out, const char *title)
{
	fprintf(out, "\n%s\n", title);
}

void wi_text_more(FILE *out, uint64_t total, uint64_t shown, const char *what)
{
	if (total > shown)
		fprintf(out, "  and %" PRIu64 " more %.*s\n", total - shown,
			(int)(strlen(what) - (total - shown == 1 ? 1 : 0)), what);
}

static void add_recording(struct wi_para *p, const struct wi_source_info *in)
{
	bool others = false;

	wi_para_name(p, in->format);
	if (in->wrapper[0])
		wi_para_add(p, " (%s)", in->wrapper);
	if (in->kernel[0]) {
		wi_para_add(p, ", Linux ");
		wi_para_name(p, in->kernel);
	} else {
		wi_para_add(p, ", kernel not told");
	}
	if (in->arch[0]) {
		wi_para_add(p, " ");
		wi_para_name(p, in->arch);
	}
	if (in->clock[0]) {
		wi_para_add(p, ", clock ");
		wi_para_name(p, in->clock);
	} else {
		wi_para_add(p, ", clock not told");
	}
	if (in->time_res_ns > 1)
		wi_para_add(p, " (stamps of %" PRIu32 " ns)", in->time_res_ns);
	for (uint32_t i = 0; i < in->nr_buffers; i++) {
		if (in->nr_buffers < 2)
			break;
		if (in->buffers[i].chosen) {
			wi_para_add(p, ", buffer \"");
			wi_para_name(p, in->buffers[i].name);
			wi_para_add(p, "\"");
		}
	}
	for (uint32_t i = 0; i < in->nr_buffers; i++) {
		if (in->buffers[i].chosen)
			continue;
		wi_para_add(p, others ? ", \"" : "; not analysed: \"");
		wi_para_name(p, in->buffers[i].name);
		wi_para_add(p, "\"");
		others = true;
	}
}

static void add_window(struct wi_para *p, const struct wi_report *rep)
{
	const struct wi_timeline_quality *q = &rep->results->quality;
	char a[WI_FMT_LEN], b[WI_FMT_LEN], c[WI_FMT_LEN];

	wi_para_add(p, "%s, from %s to %s", wi_fmt_ns(a, sizeof(a), rep->results->window_ns),
		    wi_fmt_stamp(b, sizeof(b), q->window_start_ns, rep->nanoseconds),
		    wi_fmt_stamp(c, sizeof(c), q->window_end_ns, rep->nanoseconds));
	if (q->window_start_ns > q->recording_start_ns)
		wi_para_add(p, "; the first %s of the recording left out%s",
			    wi_fmt_ns(a, sizeof(a), q->window_start_ns - q->recording_start_ns),
			    q->window_start_ns == rep->survey->window_start_ns ? " (buffers overwritten there)" : "");
	if (q->window_end_ns < q->recording_end_ns)
		wi_para_add(p, "; ends before the recording does");
}

static void add_events(struct wi_para *p, const struct wi_timeline_quality *q)
{
	bool any = false;

	for (int t = 0; t < WI_NR_EVENT_TYPES; t++) {
		if (t == WI_EV_LOST || t == WI_EV_OTHER || t == WI_EV_MARKER || !q->events[t])
			continue;
		wi_para_add(p, "%s%s %" PRIu64, any ? ", " : "", wi_event_name((enum wi_event_type)t), q->events[t]);
		any = true;
	}
	if (!any)
		wi_para_add(p, "none of the scheduler");
}

/* CPUs that never switched: known idle only as far as one presumes it. */
static void add_quiet(struct wi_para *p, const struct wi_report *rep)
{
	uint64_t quiet = rep->results->quality.quiet_cpus;
	uint64_t online = wi_mask_weight(rep->topology->online, rep->topology->nr_words);

	if (!quiet)
		return;
	if (quiet <= online && rep->results->nr_traces <= 1)
		wi_para_add(p, "; %" PRIu64 " of %" PRIu64 " CPU%s seen, ", online - quiet, online, wi_text_s(online));
	else
		wi_para_add(p, "; not seen and ");
	wi_para_add(p, "%" PRIu64 " %s (--quiet-cpus)", quiet,
		    rep->quiet_unknown ? "taken as unknown" : "presumed idle");
}

/* CPUs that the recording shows no task on. */
static void add_unused(struct wi_para *p, const struct wi_results *r)
{
	char *list = wi_report_unused_known(r) ? wi_report_unused_cpus(r) : NULL;

	if (!list && wi_report_unused_known(r))
		p->failed = true;
	else if (list && list[0])
		wi_para_add(p, "CPU%s %s never seen to run a task", strpbrk(list, ",-") ? "s" : "", list);
	free(list);
}

static void add_coverage(struct wi_para *p, const struct wi_report *rep)
{
	const struct wi_results *r = rep->results;
	const struct wi_timeline_quality *q = &r->quality;
	char a[WI_FMT_LEN];

	wi_para_add(p, "%s of CPU time known", wi_fmt_share(a, sizeof(a), r->cpu_ns - q->unknown_ns, r->cpu_ns));
	if (q->lost_marks)
		wi_para_add(p, "; %" PRIu64 " gap%s marked as lost", q->lost_marks, wi_text_s(q->lost_marks));
	if (q->lost_events)
		wi_para_add(p, " (%" PRIu64 " event%s)", q->lost_events, wi_text_s(q->lost_events));
	if (q->chain_breaks)
		wi_para_add(p, "; %" PRIu64 " break%s in the switch chain (records missing without a mark)",
			    q->chain_breaks, wi_text_s(q->chain_breaks));
	if (!q->lost_marks && !q->lost_events && !q->chain_breaks)
		wi_para_add(p, "; nothing lost");
	add_quiet(p, rep);
	if (rep->info->nr_damage)
		wi_para_add(p, "; INPUT DAMAGED in %" PRIu32 " place%s: only what was whole is counted",
			    rep->info->nr_damage, rep->info->nr_damage == 1 ? "" : "s");
}

static void add_repairs(struct wi_para *p, const struct wi_report *rep)
{
	const struct wi_timeline_quality *q = &rep->results->quality;
	char a[WI_FMT_LEN];
	bool any = false;

#define X(field, name, meaning)                                                                                        \
	if (q->repairs.field) {                                                                                        \
		wi_para_add(p, "%s%" PRIu64 " %s", any ? ", " : "", q->repairs.field, meaning);                        \
		any = true;                                                                                            \
	}
	WI_REPAIRS(X)
#undef X
	if (rep->info->unordered) {
		wi_para_add(p, "%s%" PRIu64 " record%s out of order", any ? ", " : "", rep->info->unordered,
			    wi_text_s(rep->info->unordered));
		any = true;
	}
	if (rep->info->unparsed) {
		wi_para_add(p, "%s%" PRIu64 " scheduler record%s not understood", any ? ", " : "", rep->info->unparsed,
			    wi_text_s(rep->info->unparsed));
		any = true;
	}
	if (rep->info->unknown_state_letters) {
		wi_para_add(p, "%s%" PRIu64 " unknown task state%s", any ? ", " : "", rep->info->unknown_state_letters,
			    wi_text_s(rep->info->unknown_state_letters));
		any = true;
	}
	if (q->unnamed_tasks) {
		wi_para_add(p, "%s%" PRIu64 " task%s that nothing names", any ? ", " : "", q->unnamed_tasks,
			    wi_text_s(q->unnamed_tasks));
		any = true;
	}
	if (rep->results->tasks.throttle_suspected) {
		wi_para_add(p, "%s%" PRIu64 " task%s throttled (left out of idle while waiting)", any ? ", " : "",
			    rep->results->tasks.throttle_suspected,
			    rep->results->tasks.throttle_suspected == 1 ? " looks" : "s look");
		any = true;
	}
	if (q->skew.ns) {
		wi_para_add(p,
			    "%sCLOCK SKEW of at least %s between CPUs %" PRIu32 " and %" PRIu32
			    ": latencies below that mean nothing",
			    any ? ", " : "", wi_fmt_ns(a, sizeof(a), q->skew.ns), q->skew.cpu_a, q->skew.cpu_b);
		any = true;
	}
	if (!any)
		wi_para_add(p, "none");
}

static void add_affinity(struct wi_para *p, const struct wi_results *r)
{
	const uint64_t *n = r->missed.allowed;
	uint64_t all = n[WAKEIF_ALLOWED_RECORDED] + n[WAKEIF_ALLOWED_INFERRED] + n[WAKEIF_ALLOWED_ASSUMED];
	char a[WI_FMT_LEN], b[WI_FMT_LEN], c[WI_FMT_LEN];

	if (!all)
		return;
	wi_para_add(p, "of the decided wakeups %s recorded, %s inferred, %s assumed to be all CPUs",
		    wi_fmt_share(a, sizeof(a), n[WAKEIF_ALLOWED_RECORDED], all),
		    wi_fmt_share(b, sizeof(b), n[WAKEIF_ALLOWED_INFERRED], all),
		    wi_fmt_share(c, sizeof(c), n[WAKEIF_ALLOWED_ASSUMED], all));
}

/* Whose policy is known: a CPU that runs SCHED_IDLE tasks only counts as idle. */
static void add_policies(struct wi_para *p, const struct wi_report *rep)
{
	const struct wi_task_results *t = &rep->results->tasks;
	uint64_t all = t->policy_known + t->policy_unknown;

	if (!all)
		return;
	wi_para_add(p, "known for %" PRIu64 " of %" PRIu64 " task%s that ran", t->policy_known, all, wi_text_s(all));
	if (t->policy_unknown && (!rep->kernel_version || rep->kernel_version >= WI_KERNEL(5, 4)))
		wi_para_add(p, "; on kernels >= 5.4 the others are taken as not SCHED_IDLE");
}

/* Clocks that are not one for all CPUs. */
static void add_clock(struct wi_para *p, const struct wi_report *rep)
{
	if (!strcmp(rep->info->clock, "local"))
		wi_para_add(p, "local: stamps of different CPUs may disagree by microseconds; record with -C mono");
}

/* What this recording cannot tell, and why. */
static void add_missing(struct wi_para *p, const struct wi_report *rep)
{
	const struct wi_timeline_quality *q = &rep->results->quality;
	const uint64_t *n = q->events;
	bool wakes = n[WI_EV_SCHED_WAKING] || n[WI_EV_SCHED_WAKEUP];

	if (!wakes)
		wi_para_add(p, "no wakeup events: wakeup latency and placement are not measurable; ");
	else if (!rep->survey->has_waking)
		wi_para_add(p, "no sched_waking: latency starts at sched_wakeup, the waker may be unknown; ");
	if (!n[WI_EV_SCHED_SWITCH])
		wi_para_add(p, "no sched_switch: occupancy is not measurable; ");
	if (wakes && !n[WI_EV_SCHED_MIGRATE_TASK])
		wi_para_add(p, "no sched_migrate_task: migrations inferred; ");
	if (!n[WI_EV_SCHED_PROCESS_FORK] && !n[WI_EV_SCHED_PROCESS_EXIT])
		wi_para_add(p, "no fork and exit events: reuse of pids is guessed; ");
	if (!n[WI_EV_CPU_IDLE])
		wi_para_add(p, "no cpu_idle: C-states; ");
	if (!rep->preempted_known)
		wi_para_add(p, "preemption (the format drops it); ");
	else if (rep->results->tasks.preempt_unknown)
		wi_para_add(p, "whether %" PRIu64 " task%s switched out runnable %s preempted (the format drops it); ",
			    rep->results->tasks.preempt_unknown, wi_text_s(rep->results->tasks.preempt_unknown),
			    rep->results->tasks.preempt_unknown == 1 ? "was" : "were");
	wi_para_add(p, "the sync flag of wakeups");
	if (!rep->has_facts)
		wi_para_add(p, "; policies and affinity of tasks (--tasks)");
	if (rep->topology->smt > 1)
		wi_para_add(p, "; core-scheduling cookies (a forced-idle CPU looks idle)");
}

/* "source: notes" of the topology, loud where it is only a guess. */
static bool print_machine(FILE *out, const struct wi_report *rep, struct wi_err *err)
{
	const struct wakeif_topology *t = rep->topology;
	const char *name, *meaning;
	unsigned int at = 0;
	struct wi_para p = { 0 };
	char *line = NULL;
	size_t len = 0;
	FILE *mem = open_memstream(&line, &len);
	bool ok = mem && wi_report_topology_line(mem, t, err);

	if (mem && fclose(mem))
		ok = false;
	if (ok) {
		wi_para_add(&p, "%s; from ", line);
		wi_para_name(&p, t->source);
		while (wi_report_topology_flag(t->flags, &at, &name, &meaning))
			wi_para_add(&p, "; %s", meaning);
		if (t->note[0]) {
			wi_para_add(&p, "; ");
			wi_para_name(&p, t->note);
		}
		ok = wi_para_print(&p, out, "machine", LABEL);
	}
	free(line);
	return ok || wi_err_nomem(err);
}

bool wi_report_text_head(FILE *out, const struct wi_report *rep, struct wi_err *err)
{
	struct wi_para p = { 0 };
	bool ok;

	wi_para_name(&p, rep->info->path);
	ok = wi_para_print(&p, out, "trace", LABEL);
	add_recording(&p, rep->info);
	ok = wi_para_print(&p, out, "recorded", LABEL) && ok;
	add_window(&p, rep);
	ok = wi_para_print(&p, out, "window", LABEL) && ok;
	add_events(&p, &rep->results->quality);
	ok = wi_para_print(&p, out, "events", LABEL) && ok;
	ok = print_machine(out, rep, err) && ok;
	add_coverage(&p, rep);
	ok = wi_para_print(&p, out, "coverage", LABEL) && ok;
	add_unused(&p, rep->results);
	ok = wi_para_print(&p, out, "unused", LABEL) && ok;
	add_repairs(&p, rep);
	ok = wi_para_print(&p, out, "repairs", LABEL) && ok;
	add_affinity(&p, rep->results);
	ok = wi_para_print(&p, out, "affinity", LABEL) && ok;
	add_policies(&p, rep);
	ok = wi_para_print(&p, out, "policies", LABEL) && ok;
	add_clock(&p, rep);
	ok = wi_para_print(&p, out, "clock", LABEL) && ok;
	add_missing(&p, rep);
	ok = wi_para_print(&p, out, "not told", LABEL) && ok;
	wi_para_add(&p, "%s", rep->note);
	ok = wi_para_print(&p, out, "note", LABEL) && ok;
	wi_para_name(&p, rep->filter);
	ok = wi_para_print(&p, out, "filter", LABEL) && ok;
	return ok || wi_err_nomem(err);
}

bool wi_report_text(FILE *out, const struct wi_report *rep, struct wi_err *err)
{
	bool ok = wi_report_text_head(out, rep, err);
	size_t waits = rep->worst ? rep->worst : rep->verbose ? SIZE_MAX : WI_REPORT_TEXT_ROWS;

	if (ok)
		wi_report_text_verdict(out, rep);
	return ok && wi_text_wakeups(out, rep, err) && wi_report_text_latency(out, rep, err) &&
	       wi_report_text_missed(out, rep, err) && wi_text_longest(out, rep, waits, err) &&
	       wi_text_worst(out, rep, waits, err) && wi_text_waste(out, rep, err) &&
	       wi_report_text_smt(out, rep, rep->verbose ? WI_REPORT_PAIRS : WI_REPORT_TEXT_ROWS, err) &&
	       wi_report_text_affine(out, rep, err) && wi_text_migrations(out, rep, err) &&
	       wi_text_idle(out, rep, err) && wi_text_tasks(out, rep, err);
}
