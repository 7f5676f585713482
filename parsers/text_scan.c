/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "parsers/text_scan.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/base/cpumask.h"

struct scan {
	struct wi_text_facts *facts;
	struct wi_names *names;
	struct wi_text_decoder trial; /* to see whether sched lines decode at all */
	uint64_t last_ts, late;
	uint64_t *ring; /* highest stamp up to a line, of the last WI_TEXT_WINDOW lines */
	uint64_t nr_ordered;
	bool out_of_window;
	/* numbers in prev_state */
	uint64_t nr_raw, nr_letters;
	uint64_t small_seen;  /* bit v: value v < 64 seen */
	uint64_t bits_seen;   /* all values or-ed */
	uint64_t single_seen; /* values with one bit, or-ed */
	bool many_bits, kthread_8, mark_256_to_idle;
};

static bool text_in(struct wi_str s, const char *text, uint32_t *at)
{
	const char *p = s.len ? memmem(s.p, s.len, text, strlen(text)) : NULL;

	if (p)
		*at = (uint32_t)(p - s.p) + (uint32_t)strlen(text);
	return p != NULL;
}

static uint64_t number_at(struct wi_str s, uint32_t at)
{
	const char *p = s.p + at, *end = s.p + s.len;
	uint64_t v;

	while (p < end && (*p == ' ' || *p == ':'))
		p++;
	return wi_text_uint(p, end, &v) ? v : 0;
}

static void word_at(struct wi_str s, uint32_t at, char *out, size_t size)
{
	const char *p = s.p + at, *end = s.p + s.len;
	size_t n = 0;

	while (p < end && (*p == ' ' || *p == ':' || *p == '\t'))
		p++;
	while (p < end && *p != ' ' && *p != '\t' && n + 1 < size)
		out[n++] = *p++;
	out[n] = '\0';
}

static bool grow_cpus(struct wi_text_facts *facts, uint32_t cpu)
{
	uint32_t room = facts->cpu_room ? facts->cpu_room : 64;
	struct wi_text_cpu *p;

	if (cpu < facts->cpu_room)
		return true;
	while (room <= cpu)
		room *= 2;
	p = realloc(facts->cpu, room * sizeof(*p));
	if (!p)
		return false;
	memset(p + facts->cpu_room, 0, (room - facts->cpu_room) * sizeof(*p));
	facts->cpu = p;
	facts->cpu_room = room;
	return true;
}

/* "# entries-in-buffer/entries-written: 69657/223807   #P:4", the header of perf script, of a latency tracer. */
static bool comment_line(struct wi_text_facts *facts, struct wi_str s)
{
	uint32_t at, n;
	uint64_t cpu;

	wi_text_header_line(&facts->columns, s.p, s.len);
	if (text_in(s, "buffer started ####", &at) && text_in(s, "##### CPU", &at)) {
		cpu = number_at(s, at);
		if (cpu >= WI_MAX_CPUS)
			return true;
		if (!grow_cpus(facts, (uint32_t)cpu))
			return false;
		facts->cpu[cpu].buffer_started = true;
		return true;
	}
	facts->tracer_header |= text_in(s, "# tracer:", &at);
	if (text_in(s, "entries-in-buffer/entries-written:", &at)) {
		const char *slash = memchr(s.p + at, '/', s.len - at);

		facts->in_buffer += number_at(s, at);
		facts->written += slash ? number_at(s, (uint32_t)(slash - s.p) + 1) : 0;
	}
	if (text_in(s, "#P:", &at) || text_in(s, "# nrcpus avail :", &at)) {
		n = (uint32_t)number_at(s, at);
		if (n <= WI_MAX_CPUS && n > facts->header_cpus)
			facts->header_cpus = n;
	}
	if (text_in(s, "# os release :", &at) || (text_in(s, "latency trace v", &at) && text_in(s, " on ", &at)))
		word_at(s, at, facts->kernel, sizeof(facts->kernel));
	else if (text_in(s, "# arch :", &at))
		word_at(s, at, facts->arch, sizeof(facts->arch));
	else if (text_in(s, "# clockid:", &at) || text_in(s, "# clock:", &at))
		word_at(s, at, facts->clock, sizeof(facts->clock));
	return true;
}

/* The lines trace-cmd report begins with. */
static bool report_line(struct wi_text_facts *facts, struct wi_str s)
{
	uint64_t n;

	if (s.len > 5 && !memcmp(s.p, "cpus=", 5)) {
		n = number_at(s, 5);
		facts->report = true;
		if (n <= WI_MAX_CPUS && n > facts->header_cpus)
			facts->header_cpus = (uint32_t)n;
		return true;
	}
	if (s.len > 10 && !memcmp(s.p, "version = ", 10)) {
		facts->report = true;
		return true;
	}
	return false;
}

bool wi_text_parse_lost(struct wi_str s, uint32_t *cpu, uint64_t *nr)
{
	const char *p = s.p, *end = s.p + s.len;
	uint64_t n;

	while (p < end && (*p == ' ' || *p == '\t'))
		p++;
	if (end - p < 8 || memcmp(p, "CPU:", 4))
		return false;
	p = wi_text_uint(p + 4, end, &n);
	if (!p || n >= WI_MAX_CPUS || end - p < 3 || p[0] != ' ' || p[1] != '[')
		return false;
	*cpu = (uint32_t)n;
	*nr = 0;
	p += 2;
	if (end - p >= 5 && !memcmp(p, "LOST ", 5))
		p += 5;
	const char *q = wi_text_uint(p, end, nr);

	if (q)
		p = q + (q < end && *q == ' ');
	return end - p >= 6 && !memcmp(p, "EVENTS", 6);
}

bool wi_text_broken_sched(struct wi_str s)
{
	static const char *const marks[] = { "sched_switch: prev_comm=", "sched_wakeup: comm=", "sched_waking: comm=",
					     "sched_wakeup_new: comm=", "sched_migrate_task: comm=" };

	if (s.len < 40 || !memmem(s.p, s.len, "sched_", 6))
		return false;
	for (size_t i = 0; i < sizeof(marks) / sizeof(*marks); i++)
		if (memmem(s.p, s.len, marks[i], strlen(marks[i])))
			return true;
	return false;
}

/* ---- names by pid ---- */

static uint32_t pid_slot(const struct wi_text_facts *facts, int32_t pid)
{
	uint32_t i = (uint32_t)pid * 2654435761u & (facts->pid_slots - 1);

	while (facts->pids[i].pid != -1 && facts->pids[i].pid != pid)
		i = (i + 1) & (facts->pid_slots - 1);
	return i;
}

static bool grow_pids(struct wi_text_facts *facts)
{
	struct wi_text_facts old = *facts;
	uint32_t slots = old.pid_slots ? old.pid_slots * 2 : 1024;
	struct wi_text_pid *p = malloc(slots * sizeof(*p));

	if (!p)
		return false;
	memset(p, 0xff, slots * sizeof(*p));
	facts->pids = p;
	facts->pid_slots = slots;
	for (uint32_t i = 0; i < old.pid_slots; i++)
		if (old.pids[i].pid != -1)
			p[pid_slot(facts, old.pids[i].pid)] = old.pids[i];
	free(old.pids);
	return true;
}

static bool is_a_name(const struct wi_text_head *h)
{
	if (h->pid <= 0 || !h->comm.len ||
	    (h->comm.p[0] == '<' && (WI_STR_IS(h->comm, "<...>") || WI_STR_IS(h->comm, "<idle>"))))
		return false;
	if (h->form == WI_TEXT_PERF && h->comm.p[0] == ':')
		return false;
	return !(h->form == WI_TEXT_LATENCY && h->comm.len >= 8); /* cut to 8 */
}

static bool note_name(struct scan *s, const struct wi_text_head *h)
{
	struct wi_text_facts *facts = s->facts;
	struct wi_text_pid *p;

	if (!is_a_name(h))
		return true;
	if (facts->nr_pids * 2 >= facts->pid_slots && !grow_pids(facts))
		return false;
	p = &facts->pids[pid_slot(facts, h->pid)];
	if (p->pid == h->pid) {
		if (wi_str_equal(h->comm, wi_names_get(s->names, p->name)))
			return true;
	} else {
		facts->nr_pids++;
	}
	p->pid = h->pid;
	p->name = wi_names_intern(s->names, h->comm.p, h->comm.len);
	return true;
}

uint32_t wi_text_pid_name(const struct wi_text_facts *facts, int32_t pid)
{
	uint32_t i;

	if (!facts->pid_slots || pid < 0)
		return WI_NAME_NONE;
	i = pid_slot(facts, pid);
	return facts->pids[i].pid == pid ? facts->pids[i].name : WI_NAME_NONE;
}

/* ---- numeric states ---- */

static void note_state(struct scan *s, const struct wi_text_head *h)
{
	struct wi_str comm;
	uint64_t raw;
	bool to_idle;

	if (!s->nr_raw && s->nr_letters > 1000)
		return;
	if (!wi_text_raw_state(h, &raw, &comm, &to_idle)) {
		s->nr_letters++;
		return;
	}
	s->nr_raw++;
	s->bits_seen |= raw;
	if (raw < 64)
		s->small_seen |= 1ull << raw;
	if (raw && !(raw & (raw - 1)))
		s->single_seen |= raw;
	else if (raw > 8)
		s->many_bits = true;
	if (raw == 8 &&
	    ((comm.len > 7 && !memcmp(comm.p, "kworker", 7)) || (comm.len > 4 && !memcmp(comm.p, "rcu_", 4))))
		s->kthread_8 = true;
	if (raw == 256 && to_idle)
		s->mark_256_to_idle = true;
}

/*
 * A raw report does not name its kernel, but the values it holds tell which set of constants they are of: the highest
 * one is the preempt mark, or is a bit that only some sets have. A preempted task is still runnable, so a value in
 * front of the idle task is no mark. Names of tables are those of wi_state_table_init.
 */
static const char *guess_release(const struct scan *s)
{
	bool index = (s->small_seen & (1 << 3 | 1 << 5 | 1 << 6 | 1 << 7)) && s->bits_seen % 0x1000 < 16;

	if (s->single_seen & 0x1000)
		return index || (s->kthread_8 && s->bits_seen % 0x1000 < 16) ? "4.14" : "4.8";
	if (s->single_seen & 0x800)
		return "4.2";
	if (s->single_seen & 0x400)
		return "3.9";
	if (s->bits_seen & 0x400)
		return "4.8";
	if (s->single_seen & 0x200)
		return "3.4";
	if (s->many_bits)
		return "4.8";
	if (index)
		return "4.14";
	if (s->single_seen & 0xb0) /* idle kthread, dead, zombie by themselves: 4.14 and later; there a throttled task leaves for idle, too */
		return "";
	if (s->mark_256_to_idle)
		return "4.8";
	if ((s->single_seen & 0x40) && !(s->single_seen & 0x1b0))
		return "4.8";
	return "";
}

/* ---- the pass ---- */

static void note_instance(struct wi_text_facts *facts, const struct wi_text_head *h, bool sched, uint32_t bytes)
{
	char name[sizeof(facts->instance[0].name)];
	uint32_t i;

	if (!facts->nr_instances) {
		if (!h->instance.len)
			return;
		/* what came before belongs to the top instance */
		facts->nr_instances = 1;
		facts->instance[0] = (struct wi_text_instance){ .nr_sched = facts->nr_sched };
	}
	snprintf(name, sizeof(name), "%.*s", (int)h->instance.len, h->instance.p);
	for (i = 0; i < facts->nr_instances; i++)
		if (!strcmp(facts->instance[i].name, name))
			break;
	if (i == WI_TEXT_MAX_INSTANCES) {
		facts->more_instances = true;
		return;
	}
	if (i == facts->nr_instances) {
		facts->nr_instances++;
		facts->instance[i] = (struct wi_text_instance){ 0 };
		memcpy(facts->instance[i].name, name, sizeof(name));
	}
	facts->instance[i].nr_sched += sched;
	facts->instance[i].bytes += bytes;
}

/* A heap of WI_TEXT_WINDOW lines sorts the file if no line is earlier than the highest stamp that many lines before it.
 */
static void note_order(struct scan *s, uint64_t ts)
{
	uint64_t *slot = &s->ring[s->nr_ordered % WI_TEXT_WINDOW];

	if (ts < s->last_ts) {
		s->late++;
		if (s->nr_ordered >= WI_TEXT_WINDOW && ts < *slot)
			s->out_of_window = true;
	} else {
		s->last_ts = ts;
	}
	*slot = s->last_ts;
	s->nr_ordered++;
}

static bool note_cpu(struct scan *s, const struct wi_text_head *h)
{
	struct wi_text_facts *facts = s->facts;
	struct wi_text_cpu *c;

	if (h->cpu >= facts->cpu_room && !grow_cpus(facts, h->cpu))
		return false;
	c = &facts->cpu[h->cpu];
	if (!c->seen || h->ts_ns < c->first_ts_ns) {
		c->first_ts_ns = h->ts_ns;
		c->first_pid = h->pid;
	}
	c->seen = true;
	if (h->ts_ns > facts->last_ts_ns)
		facts->last_ts_ns = h->ts_ns;
	if (h->cpu >= facts->nr_cpus)
		facts->nr_cpus = h->cpu + 1;
	return true;
}

static bool event_line(struct scan *s, const struct wi_text_head *h, uint64_t offset, uint32_t len, bool second)
{
	struct wi_text_facts *facts = s->facts;
	uint32_t type = wi_text_event_type(h, true);
	bool sched = wi_text_is_sched(type);

	if (!second)
		note_instance(facts, h, sched, len);
	if (second && !wi_text_chosen(facts, h))
		return true;
	facts->nr_events++;
	facts->form[h->form]++;
	facts->nr_gap += h->gap > 1 && h->form != WI_TEXT_PERF;
	if (facts->nr_events == 1 || h->ts_digits < facts->min_digits)
		facts->min_digits = h->ts_digits;
	if (h->ts_digits > facts->max_digits)
		facts->max_digits = h->ts_digits;
	if (type < WI_NR_EVENT_TYPES)
		note_order(s, h->ts_ns);
	if (sched) {
		struct wi_event ev = { .type = (uint8_t)type };

		facts->nr_sched++;
		if (!facts->nr_decoded_sched) {
			facts->nr_decoded_sched = wi_text_decode(&s->trial, h, &ev);
			if (!facts->nr_decoded_sched && facts->first_bad == WI_NO_OFFSET)
				facts->first_bad = offset;
		}
		if (type == WI_EV_SCHED_SWITCH)
			note_state(s, h);
	}
	return note_cpu(s, h) && note_name(s, h);
}

static int one_line(struct scan *s, struct wi_text_file *f, struct wi_err *err, bool second)
{
	struct wi_text_facts *facts = s->facts;
	struct wi_text_head h;
	struct wi_str line;
	uint64_t offset;
	int rc = wi_text_file_next(f, &line, &offset, err);

	if (rc <= 0)
		return rc;
	facts->nr_lines++;
	if (line.len && *line.p == '#')
		return comment_line(facts, line) || wi_err_nomem(err) ? 1 : -1;
	if (wi_text_parse_head(line.p, line.len, &h))
		return event_line(s, &h, offset, line.len, second) || wi_err_nomem(err) ? 1 : -1;
	if (report_line(facts, line))
		return 1;
	if (wi_text_broken_sched(line)) {
		facts->nr_sched++;
		if (facts->first_bad == WI_NO_OFFSET)
			facts->first_bad = offset;
	}
	return 1;
}

static bool one_pass(struct scan *s, struct wi_text_file *f, const struct wi_open_opts *opts, struct wi_err *err,
		     bool second)
{
	uint64_t next_report = 0;
	int rc;

	wi_text_file_rewind(f);
	while ((rc = one_line(s, f, err, second)) > 0) {
		if (opts->progress && f->base >= next_report) {
			opts->progress(opts->progress_ctx, f->base, 2 * f->bytes);
			next_report = f->base + (1 << 20);
		}
	}
	return rc == 0;
}

bool wi_text_chosen(const struct wi_text_facts *facts, const struct wi_text_head *h)
{
	if (!facts->nr_instances)
		return true;
	return wi_str_equal(h->instance, facts->instance[facts->chosen].name);
}

static bool choose_instance(struct wi_text_facts *facts, const char *buffer, const char *path, struct wi_err *err)
{
	facts->chosen = 0;
	if (!facts->nr_instances)
		return !buffer || !*buffer ||
		       wi_err_at(err, WI_EREFUSED, path, WI_NO_OFFSET, "no buffer instance \"%s\": the text names none",
				 buffer);
	for (uint32_t i = 0; i < facts->nr_instances; i++) {
		if (buffer && !strcmp(facts->instance[i].name, buffer)) {
			facts->chosen = i;
			return true;
		}
		if (facts->instance[i].nr_sched > facts->instance[facts->chosen].nr_sched)
			facts->chosen = i;
	}
	return !buffer ||
	       wi_err_at(err, WI_EREFUSED, path, WI_NO_OFFSET, "no buffer instance \"%s\": there are %u, one is \"%s\"",
			 buffer, facts->nr_instances, facts->instance[facts->chosen].name);
}

static void reset_counts(struct scan *s)
{
	struct wi_text_facts *facts = s->facts;

	facts->nr_lines = facts->nr_events = facts->nr_sched = facts->nr_decoded_sched = facts->nr_gap = 0;
	facts->in_buffer = facts->written = 0;
	facts->max_digits = facts->min_digits = facts->nr_cpus = 0;
	facts->first_bad = WI_NO_OFFSET;
	memset(facts->form, 0, sizeof(facts->form));
	if (facts->cpu)
		memset(facts->cpu, 0, facts->cpu_room * sizeof(*facts->cpu));
	s->last_ts = s->late = s->nr_ordered = 0;
	s->out_of_window = false;
}

static void conclude(struct scan *s)
{
	struct wi_text_facts *facts = s->facts;

	facts->report |= !facts->tracer_header && facts->nr_gap * 4 > facts->nr_events;
	if (facts->html)
		facts->format = "systrace html";
	else if (facts->form[WI_TEXT_PERF] * 2 > facts->nr_events)
		facts->format = "perf script text";
	else if (facts->report || facts->form[WI_TEXT_LATENCY])
		facts->format = s->nr_raw ? "trace-cmd report -R text" : "trace-cmd report text";
	else
		facts->format = "ftrace text";
	facts->report |= facts->form[WI_TEXT_LATENCY] > 0;
	facts->order = !s->late ? WI_ORDER_SORTED : s->out_of_window ? WI_ORDER_INDEX : WI_ORDER_WINDOW;
	wi_state_table_init(&facts->states, NULL, facts->kernel[0] ? facts->kernel : guess_release(s));
}

bool wi_text_scan(struct wi_text_file *f, const char *buffer, struct wi_names *names, const struct wi_open_opts *opts,
		  struct wi_text_facts *facts, struct wi_err *err)
{
	struct scan s = { .facts = facts, .names = names, .trial.names = names };
	bool ok = false;

	s.ring = malloc(WI_TEXT_WINDOW * sizeof(*s.ring));
	if (!s.ring)
		return wi_err_nomem(err);
	facts->html = f->html;
	reset_counts(&s);
	if (!one_pass(&s, f, opts, err, false))
		goto out;
	if (!facts->nr_events) {
		if (facts->nr_sched)
			wi_err_at(err, WI_EREFUSED, f->path, facts->first_bad,
				  "no line can be read: a sched event without task, CPU and time stamp in front (perf "
				  "script prints "
				  "them with -F trace:comm,pid,tid,cpu,time,event,trace)");
		else
			wi_err_at(err, WI_EREFUSED, f->path, WI_NO_OFFSET,
				  "not a trace: no event in %" PRIu64 " lines of text", facts->nr_lines);
		goto out;
	}
	if (!choose_instance(facts, buffer, f->path, err))
		goto out;
	if (facts->nr_instances) {
		reset_counts(&s);
		if (!one_pass(&s, f, opts, err, true))
			goto out;
	}
	if (facts->nr_sched && !facts->nr_decoded_sched) {
		wi_err_at(err, WI_EREFUSED, f->path, facts->first_bad, "none of %" PRIu64 " sched lines can be read",
			  facts->nr_sched);
		goto out;
	}
	conclude(&s);
	ok = true;
out:
	free(s.ring);
	return ok;
}

void wi_text_facts_fini(struct wi_text_facts *facts)
{
	free(facts->cpu);
	free(facts->pids);
}
