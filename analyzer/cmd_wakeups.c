/* SPDX-License-Identifier: GPL-2.0-or-later */
/* wakeif wakeups: one line a wakeup. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/base/fmt.h"
#include "analyzer/cmd_print.h"

#define NR(a) (sizeof(a) / sizeof(*(a)))

/* What --missed can ask for. */
enum missed { ANY, SIBLING, CLUSTER, LLC, NODE, MACHINE, IDLE_CORE, HALF_BUSY, STACKED, PREV, NR_MISSED };

static const char *const missed_name[NR_MISSED] = { "any",     "core",	    "cluster",	 "llc",	    "node",
						    "machine", "idle-core", "half-busy", "stacked", "prev" };

static const char *const outcome_name[] = {
	[WI_OUT_RUN] = "run",		[WI_OUT_RUNNING] = "running", [WI_OUT_DIED] = "died",
	[WI_OUT_REPLACED] = "replaced", [WI_OUT_UNKNOWN] = "unknown", [WI_OUT_CENSORED] = "censored",
};

/* Which record told chosen_cpu. */
static const char *const chosen_by[] = {
	[WI_CHOSEN_MIGRATE] = "migrate",
	[WI_CHOSEN_WAKEUP] = "wakeup",
	[WI_CHOSEN_SWITCH] = "switch",
};

/* A wakeup that --worst keeps: what its line needs after the timeline has forgotten it. */
struct line {
	struct wi_wakeup w;
	struct wi_wakeup_verdict v;
	int32_t pid;
	uint32_t comm;
	uint64_t key, order;
};

struct wakeups_cmd {
	struct wi_opts o;
	uint32_t missed, classes; /* bits; 0: all */
	FILE *out;
	struct wi_session *s;
	struct line *kept; /* a heap, the least bad on top, while there are o.worst of them */
	size_t nr_kept, room;
	uint64_t nr_seen, nr_shown;
	bool no_memory;
};

enum { KEY_MISSED = 0x200, KEY_CLASS };

static const struct argp_option own_options[] = {
	{ "missed", KEY_MISSED, "WHAT", 0,
	  "only those queued on a busy CPU while the nearest idle one was in the core, cluster, llc, node or machine, "
	  "or any; idle-core: while a whole "
	  "core was idle; half-busy: placed beside a busy sibling while a core was idle; stacked: on the waker's CPU; "
	  "prev: left an idle previous CPU. "
	  "A list such as core,llc is any of them",
	  2 },
	{ "class", KEY_CLASS, "LIST", 0,
	  "only these classes: select self onrq oncpu delayed pinned fallback fork rt dl unknown", 2 },
	{ 0 },
};

/* Bits of the names in a comma-separated list; 0: a name that is none. */
static uint32_t name_bits(const char *list, const char *(*name)(int i), int nr)
{
	uint32_t bits = 0;

	for (;;) {
		size_t len = strcspn(list, ",");
		uint32_t bit = 0;

		for (int i = 0; i < nr; i++)
			if (strlen(name(i)) == len && !memcmp(name(i), list, len))
				bit = 1u << i;
		if (!bit)
			return 0;
		bits |= bit;
		if (!list[len])
			return bits;
		list += len + 1;
	}
}

static const char *missed_text(int i)
{
	return missed_name[i];
}

static const char *class_text(int i)
{
	return wi_class_name((enum wakeif_class)i);
}

static error_t own_key(int key, char *arg, struct argp_state *state)
{
	struct wakeups_cmd *c = state->input;

	switch (key) {
	case KEY_MISSED:
		c->missed = !strcmp(arg, "sibling") ? 1u << SIBLING : name_bits(arg, missed_text, NR_MISSED);
		if (!c->missed)
			argp_error(state,
				   "--missed: not a list of any, core, cluster, llc, node, machine, idle-core, "
				   "half-busy, stacked, prev: '%s'",
				   arg);
		return 0;
	case KEY_CLASS:
		c->classes = name_bits(arg, class_text, WAKEIF_NR_CLASSES);
		if (!c->classes)
			argp_error(state, "--class: not a list of wakeup classes: '%s'", arg);
		return 0;
	default:
		return wi_opts_key(key, arg, state);
	}
}

static const struct argp_child children[] = {
	{ &wi_argp_input, 0, "Input:", 1 },
	{ &wi_argp_filter, 0, "Which wakeups count:", 3 },
	{ &wi_argp_output, 0, "Output:", 4 },
	{ &wi_argp_common, 0, NULL, -1 },
	{ 0 },
};

static uint32_t missed_bits(const struct wi_wakeup_verdict *v)
{
	uint32_t bits = 0;

	if (v->row >= WI_MISSED_SIBLING && v->row <= WI_MISSED_MACHINE)
		bits |= 1u << ANY | 1u << (SIBLING + (v->row - WI_MISSED_SIBLING));
	bits |= v->idle_core ? 1u << IDLE_CORE : 0;
	bits |= v->half_busy ? 1u << HALF_BUSY : 0;
	bits |= v->stacked_on_waker ? 1u << STACKED : 0;
	bits |= v->prev_idle_elsewhere ? 1u << PREV : 0;
	return bits;
}

/* How it ended. One that ran, but of which it is not known since when it waited, is counted as unknown. */
static enum wi_outcome outcome_of(const struct wi_wakeup_verdict *v)
{
	return v->outcome == WI_OUT_RUN && v->latency_ns == WI_TIME_UNKNOWN ? WI_OUT_UNKNOWN : v->outcome;
}

/* "" where the chosen CPU is not known. */
static const char *chosen_by_text(const struct wi_wakeup *w)
{
	return w->chosen_cpu != WI_CPU_NONE && w->chosen_source < NR(chosen_by) ? chosen_by[w->chosen_source] : "";
}

static const char *missed_words(const struct wi_wakeup_verdict *v)
{
	return v->row == WI_MISSED_NONE ? "" : wi_missed_row_name((enum wi_missed_row)v->row);
}

static const char *name_of(const struct wakeups_cmd *c, uint32_t id)
{
	return wi_names_get(c->s->names, id);
}

/* What was missed: the last part of a line. */
static void write_missed(struct wakeups_cmd *c, const struct wi_wakeup_verdict *v)
{
	bool queued = v->row >= WI_MISSED_SIBLING && v->row <= WI_MISSED_MACHINE;
	char cpu[WI_FMT_LEN], wait[WI_FMT_LEN];

	if (v->missed_cpu == WI_CPU_NONE)
		return;
	wi_fmt_cpu(cpu, sizeof(cpu), v->missed_cpu);
	if (!queued && v->half_busy) {
		fprintf(c->out, " beside a busy sibling; core of %s idle", cpu);
		return;
	}
	if (v->row == WI_MISSED_SIBLING)
		fprintf(c->out, ", sibling %s idle", cpu);
	else if (queued)
		fprintf(c->out, ", %s idle in the %s", cpu,
			v->row == WI_MISSED_LLC ? "LLC" : wi_missed_row_name((enum wi_missed_row)v->row));
	else
		fprintf(c->out, ", core of %s idle", cpu);
	if (v->avoidable_ns != WI_TIME_UNKNOWN)
		fprintf(c->out, ", %s avoidable", wi_fmt_ns(wait, sizeof(wait), v->avoidable_ns));
}

/* What the columns are, above the first line. */
static void write_text_header(struct wakeups_cmd *c, const char *stamp)
{
	fprintf(c->out, "%-*s %-21s <- %-21s %4s->%-6s %-7s %8s %s\n", (int)strlen(stamp), "woken at", "task", "waker",
		"prev", "chosen", "by", "latency", "class (wakeup latency: from sched_waking to running)");
}

static void write_text(struct wakeups_cmd *c, const struct line *l)
{
	const struct wi_wakeup *w = &l->w;
	const struct wi_wakeup_verdict *v = &l->v;
	char stamp[WI_FMT_LEN], prev[WI_FMT_LEN], chosen[WI_FMT_LEN], wait[WI_FMT_LEN] = "-";
	char task[WI_FMT_NAME_LEN], waker[WI_FMT_NAME_LEN];
	bool censored = v->outcome == WI_OUT_CENSORED && v->latency_ns != WI_TIME_UNKNOWN;
	bool irq = w->pub.context == WAKEIF_CTX_HARDIRQ || w->pub.context == WAKEIF_CTX_SOFTIRQ;

	if (v->latency_ns != WI_TIME_UNKNOWN)
		wi_fmt_ns(wait + censored, sizeof(wait) - censored, v->latency_ns);
	if (censored)
		wait[0] = '>';
	wi_fmt_stamp(stamp, sizeof(stamp), w->pub.wake_ns, c->o.nanoseconds);
	if (c->nr_shown == 1)
		write_text_header(c, stamp);
	fprintf(c->out, "%s %-21s <- %-21s %s->%s %-7s %8s %s", stamp,
		wi_fmt_task(task, sizeof(task), name_of(c, l->comm), l->pid),
		irq ? wi_context_name((enum wakeif_context)w->pub.context)
		    : wi_fmt_task(waker, sizeof(waker), name_of(c, w->waker_comm), w->pub.waker_pid),
		wi_fmt_cpu(prev, sizeof(prev), w->pub.prev_cpu), wi_fmt_cpu(chosen, sizeof(chosen), w->chosen_cpu),
		*chosen_by_text(w) ? chosen_by_text(w) : "-", wait, wi_class_name((enum wakeif_class)w->pub.class_));
	if (outcome_of(v) != WI_OUT_RUN)
		fprintf(c->out, " %s", outcome_name[outcome_of(v)]);
	if (v->ran_pid == 0 && v->row != WI_MISSED_NONE)
		fputs(" behind another wakeup", c->out);
	else if (v->ran_pid > 0 && v->row != WI_MISSED_NONE)
		fprintf(c->out, " behind %s%s", wi_fmt_task(task, sizeof(task), name_of(c, v->ran_comm), v->ran_pid),
			v->ran_waking ? " (waking)" : "");
	write_missed(c, v);
	if (v->prev_idle_elsewhere)
		fprintf(c->out, ", left idle %s", prev);
	putc('\n', c->out);
}

static void csv_ns(struct wi_csv *csv, uint64_t ns)
{
	if (ns == WI_TIME_UNKNOWN)
		wi_csv_none(csv);
	else
		wi_csv_u64(csv, ns);
}

static void csv_cpu(struct wi_csv *csv, uint32_t cpu)
{
	if (cpu == WI_CPU_NONE)
		wi_csv_none(csv);
	else
		wi_csv_u64(csv, cpu);
}

static void csv_task(struct wi_csv *csv, const struct wakeups_cmd *c, int32_t pid, uint32_t comm)
{
	if (pid < 0) {
		wi_csv_none(csv);
		wi_csv_none(csv);
		return;
	}
	wi_csv_i64(csv, pid);
	wi_csv_text(csv, pid ? name_of(c, comm) : "swapper");
}

#define CSV_COLUMNS                                                                                                    \
	"wake_ns,pid,comm,waker_pid,waker_comm,waker_context,waker_cpu,prev_cpu,chosen_cpu,chosen_by,run_cpu,"         \
	"latency_ns,queue_wait_ns,transit_ns,class,outcome,placement,missed,queued_while_idle_core,half_busy_core,"    \
	"stacked_on_waker,prev_idle_elsewhere,ran_pid,ran_comm,missed_cpu,missed_since_ns,avoidable_ns,allowed,"       \
	"ran_waking"

static const char *const allowed_name[WAKEIF_NR_ALLOWED_SOURCES] = { "recorded", "inferred", "assumed" };

static const char *placement_text(const struct wi_wakeup_verdict *v)
{
	return v->placement < WI_NR_PLACEMENTS ? wi_placed_name((enum wi_placed)v->placement) : "";
}

static void write_csv(struct wakeups_cmd *c, const struct line *l)
{
	const struct wi_wakeup *w = &l->w;
	const struct wi_wakeup_verdict *v = &l->v;
	struct wi_csv csv = { .out = c->out };

	wi_csv_u64(&csv, w->pub.wake_ns);
	csv_task(&csv, c, l->pid, l->comm);
	csv_task(&csv, c, w->pub.waker_pid, w->waker_comm);
	wi_csv_text(&csv, wi_context_name((enum wakeif_context)w->pub.context));
	csv_cpu(&csv, w->pub.waker_cpu);
	csv_cpu(&csv, w->pub.prev_cpu);
	csv_cpu(&csv, w->chosen_cpu);
	wi_csv_text(&csv, chosen_by_text(w));
	csv_cpu(&csv, v->outcome == WI_OUT_RUN ? w->run_cpu : WI_CPU_NONE);
	csv_ns(&csv, v->latency_ns);
	csv_ns(&csv, v->queue_wait_ns);
	csv_ns(&csv, v->transit_ns);
	wi_csv_text(&csv, wi_class_name((enum wakeif_class)w->pub.class_));
	wi_csv_text(&csv, outcome_name[outcome_of(v)]);
	wi_csv_text(&csv, placement_text(v));
	wi_csv_text(&csv, missed_words(v));
	wi_csv_u64(&csv, v->idle_core != 0);
	wi_csv_u64(&csv, v->half_busy != 0);
	wi_csv_u64(&csv, v->stacked_on_waker);
	wi_csv_u64(&csv, v->prev_idle_elsewhere);
	csv_task(&csv, c, v->ran_pid, v->ran_comm);
	csv_cpu(&csv, v->missed_cpu);
	csv_ns(&csv, v->missed_cpu == WI_CPU_NONE ? WI_TIME_UNKNOWN : v->missed_since_ns);
	csv_ns(&csv, v->avoidable_ns);
	wi_csv_text(&csv, w->pub.allowed_source < WAKEIF_NR_ALLOWED_SOURCES ? allowed_name[w->pub.allowed_source] : "");
	wi_csv_u64(&csv, v->ran_waking);
	wi_csv_end(&csv);
}

static void json_ns(struct wi_json *j, const char *key, uint64_t ns)
{
	if (ns != WI_TIME_UNKNOWN)
		wi_json_u64(j, key, ns);
}

static void json_cpu(struct wi_json *j, const char *key, uint32_t cpu)
{
	if (cpu != WI_CPU_NONE)
		wi_json_u64(j, key, cpu);
}

static void json_task(struct wi_json *j, const struct wakeups_cmd *c, const char *pid_key, const char *comm_key,
		      int32_t pid, uint32_t comm)
{
	if (pid < 0)
		return;
	wi_json_i64(j, pid_key, pid);
	wi_json_string(j, comm_key, pid ? name_of(c, comm) : "swapper");
}

static void write_json(struct wakeups_cmd *c, const struct line *l)
{
	const struct wi_wakeup *w = &l->w;
	const struct wi_wakeup_verdict *v = &l->v;
	struct wi_json j;

	wi_json_init(&j, c->out);
	wi_json_object_flat(&j, NULL);
	wi_json_u64(&j, "wake_ns", w->pub.wake_ns);
	json_task(&j, c, "pid", "comm", l->pid, l->comm);
	json_task(&j, c, "waker_pid", "waker_comm", w->pub.waker_pid, w->waker_comm);
	wi_json_string(&j, "waker_context", wi_context_name((enum wakeif_context)w->pub.context));
	json_cpu(&j, "waker_cpu", w->pub.waker_cpu);
	json_cpu(&j, "prev_cpu", w->pub.prev_cpu);
	json_cpu(&j, "chosen_cpu", w->chosen_cpu);
	if (*chosen_by_text(w))
		wi_json_string(&j, "chosen_by", chosen_by_text(w));
	json_cpu(&j, "run_cpu", v->outcome == WI_OUT_RUN ? w->run_cpu : WI_CPU_NONE);
	json_ns(&j, "latency_ns", v->latency_ns);
	json_ns(&j, "queue_wait_ns", v->queue_wait_ns);
	json_ns(&j, "transit_ns", v->transit_ns);
	wi_json_string(&j, "class", wi_class_name((enum wakeif_class)w->pub.class_));
	wi_json_string(&j, "outcome", outcome_name[outcome_of(v)]);
	if (*placement_text(v))
		wi_json_string(&j, "placement", placement_text(v));
	if (*missed_words(v))
		wi_json_string(&j, "missed", missed_words(v));
	wi_json_bool(&j, "queued_while_idle_core", v->idle_core != 0);
	wi_json_bool(&j, "half_busy_core", v->half_busy != 0);
	wi_json_bool(&j, "stacked_on_waker", v->stacked_on_waker);
	wi_json_bool(&j, "prev_idle_elsewhere", v->prev_idle_elsewhere);
	json_task(&j, c, "ran_pid", "ran_comm", v->ran_pid, v->ran_comm);
	json_cpu(&j, "missed_cpu", v->missed_cpu);
	if (v->missed_cpu != WI_CPU_NONE)
		json_ns(&j, "missed_since_ns", v->missed_since_ns);
	json_ns(&j, "avoidable_ns", v->avoidable_ns);
	if (w->pub.allowed_source < WAKEIF_NR_ALLOWED_SOURCES)
		wi_json_string(&j, "allowed", allowed_name[w->pub.allowed_source]);
	wi_json_bool(&j, "ran_waking", v->ran_waking);
	wi_json_end_object(&j);
}

static void write_line(struct wakeups_cmd *c, const struct line *l)
{
	c->nr_shown++;
	if (c->o.format == WI_FORMAT_CSV)
		write_csv(c, l);
	else if (c->o.format == WI_FORMAT_JSON)
		write_json(c, l);
	else
		write_text(c, l);
}

/* Order of badness: the key, then the earlier one. */
static bool worse(const struct line *a, const struct line *b)
{
	return a->key != b->key ? a->key > b->key : a->order < b->order;
}

static void sift_down(struct line *heap, size_t nr)
{
	for (size_t i = 0;;) {
		size_t least = i, left = 2 * i + 1;
		struct line tmp;

		for (size_t k = left; k < left + 2 && k < nr; k++)
			if (worse(&heap[least], &heap[k]))
				least = k;
		if (least == i)
			return;
		tmp = heap[i];
		heap[i] = heap[least];
		heap[least] = tmp;
		i = least;
	}
}

static void sift_up(struct line *heap, size_t i)
{
	while (i && worse(&heap[(i - 1) / 2], &heap[i])) {
		struct line tmp = heap[i];

		heap[i] = heap[(i - 1) / 2];
		heap[(i - 1) / 2] = tmp;
		i = (i - 1) / 2;
	}
}

static void keep(struct wakeups_cmd *c, const struct line *l)
{
	if (c->nr_kept < c->o.worst) {
		if (c->nr_kept == c->room) {
			size_t room = c->room ? 2 * c->room : 64;
			struct line *more = realloc(c->kept, room * sizeof(*more));

			if (!more) {
				c->no_memory = true;
				return;
			}
			c->kept = more;
			c->room = room;
		}
		c->kept[c->nr_kept++] = *l;
		sift_up(c->kept, c->nr_kept - 1);
	} else if (worse(l, &c->kept[0])) {
		c->kept[0] = *l;
		sift_down(c->kept, c->nr_kept);
	}
}

static void on_wakeup(void *ctx, const struct wi_wakeup_verdict *v)
{
	struct wakeups_cmd *c = ctx;
	struct line l = { .w = *v->w, .v = *v, .order = c->nr_seen++ };
	/* Beside a busy sibling, and away from an idle CPU, no wait was avoidable. */
	bool by_avoidable = c->missed & ~(1u << PREV | 1u << HALF_BUSY);

	if (c->missed && !(missed_bits(v) & c->missed))
		return;
	if (c->classes && !(c->classes >> v->w->pub.class_ & 1))
		return;
	l.pid = v->w->pub.pid;
	l.comm = v->w->wakee ? v->w->wakee->comm : WI_NAME_NONE;
	if (!c->o.worst) {
		write_line(c, &l);
		return;
	}
	l.key = by_avoidable ? (v->avoidable_ns == WI_TIME_UNKNOWN ? 0 : v->avoidable_ns) : v->latency_ns;
	if (l.key != WI_TIME_UNKNOWN)
		keep(c, &l);
}

static int by_badness(const void *a, const void *b)
{
	return worse(a, b) ? -1 : 1;
}

static void write_kept(struct wakeups_cmd *c)
{
	if (c->nr_kept)
		qsort(c->kept, c->nr_kept, sizeof(*c->kept), by_badness);
	for (size_t i = 0; i < c->nr_kept; i++)
		write_line(c, &c->kept[i]);
}

int wi_cmd_wakeups(int argc, char **argv)
{
	const struct argp argp = { own_options,
				   own_key,
				   "[FILE]",
				   "Prints one line a wakeup, in the order of their ends: when, who, woken by whom, "
				   "previous and chosen CPU, how long it "
				   "waited, class, who ran there, who idled. With --worst N the N longest waits (with "
				   "--missed, but for half-busy and prev: the most avoidable) come first.",
				   children,
				   NULL,
				   NULL };
	struct wakeups_cmd c = { 0 };
	struct wi_session s = { 0 };
	struct wi_err err = { 0 };
	int status;

	wi_opts_parse(&argp, argc, argv, &c.o);
	s.o = &c.o;
	c.s = &s;
	if (wi_session_open(&s, &c.o, &err))
		c.out = wi_out_open(c.o.out, &err);
	if (c.out) {
		struct wi_metrics_opts wanted = { .sink = on_wakeup, .sink_ctx = &c };

		if (c.o.format == WI_FORMAT_CSV)
			fputs(CSV_COLUMNS "\n", c.out);
		if (wi_session_analyse(&s, &wanted, &err) && !c.no_memory)
			write_kept(&c);
		if (c.no_memory)
			wi_err_nomem(&err);
		wi_out_close(c.out, c.o.out, &err);
		if (!err.code && c.nr_seen && !c.nr_shown)
			wi_cmd_note(&c.o, "none of %" PRIu64 " wakeups is of this kind", c.nr_seen);
	}
	status = wi_session_end(&s, &err);
	wi_opts_fini(&c.o);
	free(c.kept);
	return status;
}
