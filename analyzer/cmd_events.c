/* SPDX-License-Identifier: GPL-2.0-or-later */
/* wakeif events: what the parsers make of a trace, one line an event. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/base/fmt.h"
#include "analyzer/base/json.h"
#include "analyzer/cmd.h"

#define BATCH 4096
#define MAX_FIELDS 12
#define MAX_TEXT 65536 /* of one field: the longest that a ring-buffer page holds */

/* One field of an event under the tracepoint's own name. */
struct field {
	const char *key;
	bool is_text;
	int64_t number;
	const char *text; /* borrowed; len bytes */
	size_t len;
};

struct fields {
	struct field f[MAX_FIELDS];
	size_t nr;
};

struct events_cmd {
	const struct wi_opts *o;
	struct wi_names *names;
	struct wi_source *src;
	FILE *out;
	uint32_t *comm_of; /* by pid: name id + 1 by time; 0 unknown */
	size_t nr_comms;
	uint64_t nr_events, nr_shown;
	char flags[8];
	char text[MAX_TEXT], escaped[4 * MAX_TEXT];
};

static void add_number(struct fields *fs, const char *key, int64_t number)
{
	fs->f[fs->nr++] = (struct field){ .key = key, .number = number };
}

static void add_text(struct fields *fs, const char *key, const char *text, size_t len)
{
	fs->f[fs->nr++] = (struct field){ .key = key, .is_text = true, .text = text, .len = len };
}

static void add_name(struct fields *fs, const char *key, const struct events_cmd *c, uint32_t id)
{
	const char *name = wi_names_get(c->names, id);

	add_text(fs, key, name, strlen(name));
}

static void add_switch(struct fields *fs, const struct events_cmd *c, const struct wi_event *ev, char state[4])
{
	add_name(fs, "prev_comm", c, ev->sw.prev_comm);
	add_number(fs, "prev_pid", ev->sw.prev_pid);
	add_number(fs, "prev_prio", ev->sw.prev_prio);
	snprintf(state, 4, "%c%s", ev->known & WI_KNOWN_STATE ? ev->sw.prev_state : '?',
		 ev->sw.preempted		  ? "+"
		 : ev->known & WI_KNOWN_PREEMPTED ? ""
						  : "?");
	add_text(fs, "prev_state", state, strlen(state));
	add_name(fs, "next_comm", c, ev->sw.next_comm);
	add_number(fs, "next_pid", ev->sw.next_pid);
	add_number(fs, "next_prio", ev->sw.next_prio);
}

static void add_task(struct fields *fs, const struct events_cmd *c, uint32_t comm, int32_t pid, int16_t prio)
{
	add_name(fs, "comm", c, comm);
	add_number(fs, "pid", pid);
	add_number(fs, "prio", prio);
}

/* The fields of ev; state is storage that must live as long as fs. */
static void fields_of(struct fields *fs, const struct events_cmd *c, const struct wi_event *ev, char state[4])
{
	fs->nr = 0;
	switch ((enum wi_event_type)ev->type) {
	case WI_EV_SCHED_SWITCH:
		add_switch(fs, c, ev, state);
		break;
	case WI_EV_SCHED_WAKING:
	case WI_EV_SCHED_WAKEUP:
	case WI_EV_SCHED_WAKEUP_NEW:
		add_task(fs, c, ev->wk.comm, ev->wk.pid, ev->wk.prio);
		add_number(fs, "target_cpu", ev->wk.target_cpu);
		if (!ev->wk.success)
			add_number(fs, "success", 0);
		break;
	case WI_EV_SCHED_MIGRATE_TASK:
		add_task(fs, c, ev->mig.comm, ev->mig.pid, ev->mig.prio);
		add_number(fs, "orig_cpu", ev->mig.orig_cpu);
		add_number(fs, "dest_cpu", ev->mig.dest_cpu);
		break;
	case WI_EV_SCHED_PROCESS_FORK:
		add_name(fs, "comm", c, ev->fork.parent_comm);
		add_number(fs, "pid", ev->fork.parent_pid);
		add_name(fs, "child_comm", c, ev->fork.child_comm);
		add_number(fs, "child_pid", ev->fork.child_pid);
		break;
	case WI_EV_SCHED_PROCESS_EXEC:
		add_name(fs, "comm", c, ev->exec.comm);
		add_number(fs, "pid", ev->exec.pid);
		add_number(fs, "old_pid", ev->exec.old_pid);
		break;
	case WI_EV_SCHED_PROCESS_EXIT:
		add_task(fs, c, ev->exit.comm, ev->exit.pid, ev->exit.prio);
		break;
	case WI_EV_CPU_IDLE:
		add_number(fs, "state", ev->idle.state);
		add_number(fs, "cpu_id", ev->idle.cpu_id);
		break;
	case WI_EV_SCHED_STAT_RUNTIME:
		add_number(fs, "pid", ev->stat.pid);
		add_number(fs, "runtime", (int64_t)ev->stat.runtime_ns);
		break;
	case WI_EV_HRTIMER_START:
		add_number(fs, "hrtimer", (int64_t)ev->hrtimer.hrtimer);
		add_number(fs, "expires", (int64_t)ev->hrtimer.expires_ns);
		break;
	case WI_EV_HRTIMER_EXPIRE_ENTRY:
		add_number(fs, "hrtimer", (int64_t)ev->hrtimer.hrtimer);
		break;
	case WI_EV_SYS_ENTER:
	case WI_EV_SYS_EXIT:
		add_number(fs, "id", ev->sys.nr);
		break;
	case WI_EV_MARKER:
		add_text(fs, "text", ev->marker.text, ev->marker.len);
		break;
	case WI_EV_LOST:
		add_text(fs, "kind", ev->lost.kind == WI_LOST_CHAIN ? "chain" : "mark",
			 ev->lost.kind == WI_LOST_CHAIN ? 5 : 4);
		if (ev->lost.nr_lost)
			add_number(fs, "lost", (int64_t)ev->lost.nr_lost);
		break;
	default:
		break;
	}
}

/* Name of a pid by time: from the events seen so far, then the file's table, then the record's own column. */
static bool note_comm(struct events_cmd *c, int32_t pid, uint32_t comm, struct wi_err *err)
{
	if (pid <= 0 || pid > WI_PID_MAX || comm == WI_NAME_NONE)
		return true;
	if ((size_t)pid >= c->nr_comms) {
		size_t nr = (size_t)pid + 1024;
		uint32_t *more = realloc(c->comm_of, nr * sizeof(*more));

		if (!more)
			return wi_err_nomem(err);
		memset(more + c->nr_comms, 0, (nr - c->nr_comms) * sizeof(*more));
		c->comm_of = more;
		c->nr_comms = nr;
	}
	c->comm_of[pid] = comm + 1;
	return true;
}

static bool note_comms(struct events_cmd *c, const struct wi_event *ev, struct wi_err *err)
{
	switch ((enum wi_event_type)ev->type) {
	case WI_EV_SCHED_SWITCH:
		return note_comm(c, ev->sw.prev_pid, ev->sw.prev_comm, err) &&
		       note_comm(c, ev->sw.next_pid, ev->sw.next_comm, err);
	case WI_EV_SCHED_WAKING:
	case WI_EV_SCHED_WAKEUP:
	case WI_EV_SCHED_WAKEUP_NEW:
		return note_comm(c, ev->wk.pid, ev->wk.comm, err);
	case WI_EV_SCHED_MIGRATE_TASK:
		return note_comm(c, ev->mig.pid, ev->mig.comm, err);
	case WI_EV_SCHED_PROCESS_FORK:
		return note_comm(c, ev->fork.child_pid, ev->fork.child_comm, err);
	default:
		return true;
	}
}

static const char *comm_of_pid(const struct events_cmd *c, const struct wi_event *ev)
{
	int32_t pid = ev->common_pid;
	uint32_t id = pid > 0 && (size_t)pid < c->nr_comms && c->comm_of[pid] ? c->comm_of[pid] - 1 : WI_NAME_NONE;

	if (pid == 0)
		return "swapper";
	if (id == WI_NAME_NONE)
		id = wi_source_comm_of(c->src, pid);
	if (id == WI_NAME_NONE)
		id = ev->common_comm;
	return wi_names_get(c->names, id);
}

/* As the latency column of ftrace: interrupts, need-resched, context, preempt depth; '?' where the format does not
 * tell. */
static const char *flags_text(struct events_cmd *c, const struct wi_event *ev)
{
	uint8_t f = ev->common_flags;

	if (!(ev->known & WI_KNOWN_FLAGS)) {
		memcpy(c->flags, "????", 5);
		return c->flags;
	}
	c->flags[0] = f & WI_FLAG_IRQS_OFF ? (f & WI_FLAG_BH_OFF ? 'D' : 'd') : f & WI_FLAG_BH_OFF ? 'b' : '.';
	c->flags[1] = f & WI_FLAG_NEED_RESCHED	    ? (f & WI_FLAG_PREEMPT_RESCHED ? 'N' : 'n')
		      : f & WI_FLAG_PREEMPT_RESCHED ? 'p'
						    : '.';
	c->flags[2] = f & WI_FLAG_NMI	    ? (f & WI_FLAG_HARDIRQ ? 'Z' : 'z')
		      : f & WI_FLAG_HARDIRQ ? (f & WI_FLAG_SOFTIRQ ? 'H' : 'h')
		      : f & WI_FLAG_SOFTIRQ ? 's'
					    : '.';
	c->flags[3] = '.';
	if (ev->known & WI_KNOWN_PREEMPT_COUNT && ev->common_preempt_count & 0xf)
		c->flags[3] = "0123456789abcdef"[ev->common_preempt_count & 0xf];
	c->flags[4] = '\0';
	return c->flags;
}

static const char *field_text(struct events_cmd *c, const struct field *f)
{
	size_t n = f->len < sizeof(c->text) - 1 ? f->len : sizeof(c->text) - 1;

	memcpy(c->text, f->text, n);
	c->text[n] = '\0';
	return c->text;
}

static void write_args(struct events_cmd *c, FILE *out, const struct fields *fs)
{
	for (size_t i = 0; i < fs->nr; i++)
		if (fs->f[i].is_text)
			fprintf(out, " %s=%s", fs->f[i].key,
				wi_fmt_name(c->escaped, sizeof(c->escaped), field_text(c, &fs->f[i])));
		else
			fprintf(out, " %s=%" PRId64, fs->f[i].key, fs->f[i].number);
}

static void write_text(struct events_cmd *c, const struct wi_event *ev, const struct fields *fs)
{
	char stamp[WI_FMT_LEN], cpu[WI_FMT_LEN], task[WI_FMT_NAME_LEN] = "unknown";

	if (ev->known & WI_KNOWN_COMMON_PID)
		wi_fmt_task(task, sizeof(task), comm_of_pid(c, ev), ev->common_pid);
	fprintf(c->out, "%s %s %s %s %s:", wi_fmt_stamp(stamp, sizeof(stamp), ev->ts_ns, c->o->nanoseconds),
		wi_fmt_cpu(cpu, sizeof(cpu), ev->cpu), flags_text(c, ev), task, wi_event_name(ev->type));
	write_args(c, c->out, fs);
	if (c->o->verbose)
		fprintf(c->out, " @0x%" PRIx64, ev->pos);
	putc('\n', c->out);
}

/* One object a line, for jq and the like. */
static void write_json(struct events_cmd *c, const struct wi_event *ev, const struct fields *fs)
{
	struct wi_json j;

	wi_json_init(&j, c->out);
	wi_json_object_flat(&j, NULL);
	wi_json_u64(&j, "ts_ns", ev->ts_ns);
	wi_json_u64(&j, "cpu", ev->cpu);
	wi_json_string(&j, "event", wi_event_name(ev->type));
	if (ev->known & WI_KNOWN_COMMON_PID) {
		wi_json_i64(&j, "common_pid", ev->common_pid);
		wi_json_string(&j, "common_comm", comm_of_pid(c, ev));
	}
	if (ev->known & WI_KNOWN_FLAGS)
		wi_json_string(&j, "flags", flags_text(c, ev));
	for (size_t i = 0; i < fs->nr; i++)
		if (fs->f[i].is_text)
			wi_json_string(&j, fs->f[i].key, field_text(c, &fs->f[i]));
		else
			wi_json_i64(&j, fs->f[i].key, fs->f[i].number);
	wi_json_end_object(&j);
}

static bool wanted(const struct events_cmd *c, const struct wi_event *ev, const struct fields *fs)
{
	const struct wi_time_range *t = &c->o->time;

	if (ev->ts_ns < t->start_ns || ev->ts_ns > t->stop_ns || !wi_opts_cpu_matches(c->o, ev->cpu))
		return false;
	if (!c->o->pids && !c->o->has_comm)
		return true;
	if ((ev->known & WI_KNOWN_COMMON_PID) && wi_opts_task_matches(c->o, ev->common_pid, comm_of_pid(c, ev)))
		return true;
	/* Any task that the event names: comm and pid come one after the other. */
	for (size_t i = 0; i + 1 < fs->nr; i++)
		if (fs->f[i].is_text && !fs->f[i + 1].is_text && strstr(fs->f[i + 1].key, "pid") &&
		    wi_opts_task_matches(c->o, (int32_t)fs->f[i + 1].number, fs->f[i].text))
			return true;
	return false;
}

static bool show(struct events_cmd *c, const struct wi_event *ev, struct wi_err *err)
{
	struct fields fs;
	char state[4];

	c->nr_events++;
	fields_of(&fs, c, ev, state);
	if (wanted(c, ev, &fs)) {
		c->nr_shown++;
		if (c->o->format == WI_FORMAT_JSON)
			write_json(c, ev, &fs);
		else
			write_text(c, ev, &fs);
	}
	return note_comms(c, ev, err);
}

static bool run(struct events_cmd *c, struct wi_err *err)
{
	struct wi_event *ev = malloc(BATCH * sizeof(*ev));
	int n = -1;

	if (!ev)
		return wi_err_nomem(err);
	while (!ferror(c->out) && (n = wi_source_next_batch(c->src, ev, BATCH, err)) > 0) {
		bool past = false;

		for (int i = 0; i < n; i++) {
			past = ev[i].ts_ns > c->o->time.stop_ns;
			if (past || !show(c, &ev[i], err))
				break;
		}
		if (past || err->code)
			break;
	}
	free(ev);
	return !err->code;
}

static const struct argp_child children[] = {
	{ &wi_argp_input, 0, "Input:", 1 },
	{ &wi_argp_filter, 0, "What to show:", 2 },
	{ &wi_argp_output, 0, "Output:", 3 },
	{ &wi_argp_common, 0, NULL, -1 },
	{ 0 },
};

static int finish(struct events_cmd *c, struct wi_err *err)
{
	int status = err->code ? wi_cmd_fail(err) : wi_cmd_damage(wi_source_info(c->src));

	wi_source_close(c->src);
	wi_names_free(c->names);
	free(c->comm_of);
	free(c);
	return status;
}

int wi_cmd_events(int argc, char **argv)
{
	const struct argp argp = { NULL,
				   wi_opts_key,
				   "[FILE]",
				   "Prints the events of a trace as the analysis sees them, one line each: stamp, CPU, "
				   "flags, current task, event, "
				   "fields; with -v the place in the file.",
				   children,
				   NULL,
				   NULL };
	struct wi_err err = { 0 };
	struct wi_opts o;

	wi_opts_parse(&argp, argc, argv, &o);
	struct events_cmd *c = calloc(1, sizeof(*c));

	if (!c) {
		wi_err_nomem(&err);
		return wi_cmd_fail(&err);
	}
	c->o = &o;
	c->names = wi_names_new();
	if (!c->names)
		wi_err_nomem(&err);
	else if (o.format == WI_FORMAT_CSV)
		wi_err_set(&err, WI_EUSAGE,
			   "events: --csv does not fit events of different fields; use --json (one object a line)");
	else if (o.time.percent)
		wi_err_set(&err, WI_EUSAGE, "events: --time takes START,STOP in seconds here");
	if (!err.code)
		c->src = wi_source_open(o.path, &o.open, c->names, &err);
	if (c->src)
		c->out = wi_out_open(o.out, &err);
	if (c->out) {
		wi_progress_start(&o);
		run(c, &err);
		wi_progress_end();
		wi_out_close(c->out, o.out, &err);
		if (!err.code && !c->nr_shown && c->nr_events)
			wi_cmd_note(&o, "%s: none of its events passes the filters", o.path);
	}
	int status = finish(c, &err);

	wi_opts_fini(&o);
	return status;
}
