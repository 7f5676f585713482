/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Names inside a body may hold the body's own separators, so each form is split at the place where everything that
 * must follow does follow; a name of at most 15 characters is too short to hold that much.
 */
#include "parsers/text_body.h"

#include <string.h>

#include "analyzer/base/cpumask.h"

#define KERNEL_COMM_MAX (WI_COMM_LEN - 1)

struct cursor {
	const char *p, *end;
};

static inline const char *skip_blanks(const char *p, const char *end)
{
	while (p < end && (*p == ' ' || *p == '\t'))
		p++;
	return p;
}

static bool take(struct cursor *c, const char *text, uint32_t len)
{
	if ((size_t)(c->end - c->p) < len || memcmp(c->p, text, len))
		return false;
	c->p += len;
	return true;
}
#define TAKE(c, literal) take(c, literal, sizeof(literal) - 1)

static bool take_int(struct cursor *c, int64_t *v)
{
	const char *p = wi_text_int(c->p, c->end, v);

	if (!p)
		return false;
	c->p = p;
	return true;
}

/* "KEY=number", blanks in front allowed. */
static bool take_field(struct cursor *c, const char *key, uint32_t len, int64_t *v)
{
	struct cursor t = *c;

	t.p = skip_blanks(t.p, t.end);
	if (!take(&t, key, len) || !take_int(&t, v))
		return false;
	*c = t;
	return true;
}
#define FIELD(c, literal, v) take_field(c, literal, sizeof(literal) - 1, v)

/* Last place of text in [p, end), or NULL. */
static const char *find_last(const char *p, const char *end, const char *text, uint32_t len)
{
	if (end - p < (ptrdiff_t)len)
		return NULL;
	for (const char *q = end - len;; q--) {
		if (*q == *text && !memcmp(q, text, len))
			return q;
		if (q == p)
			return NULL;
	}
}
#define FIND_LAST(p, end, literal) find_last(p, end, literal, sizeof(literal) - 1)
#define FIND(p, end, literal) ((const char *)memmem(p, (size_t)((end) - (p)), literal, sizeof(literal) - 1))

static bool good_pid(int64_t v)
{
	return v >= 0 && v <= WI_PID_MAX;
}

static bool good_prio(int64_t v)
{
	return v >= -1 && v < 1000;
}

static bool good_cpu(int64_t v)
{
	return v >= 0 && v < WI_MAX_CPUS;
}

static uint32_t intern(struct wi_text_decoder *d, const char *p, const char *end)
{
	return wi_names_intern(d->names, p, (size_t)(end - p));
}

/* ---- sched_switch ---- */

struct switch_text {
	struct wi_str prev_comm, state, next_comm;
	int64_t prev_pid, prev_prio, next_pid, next_prio;
	bool plugin;
};

/* Behind "prev_pid=": number, prev_prio, prev_state, and the next task's name begins. */
static bool kv_switch_middle(struct cursor *c, struct switch_text *s)
{
	const char *start;

	if (!take_int(c, &s->prev_pid) || !FIELD(c, "prev_prio=", &s->prev_prio))
		return false;
	c->p = skip_blanks(c->p, c->end);
	if (!TAKE(c, "prev_state="))
		return false;
	for (start = c->p; c->p < c->end && *c->p != ' '; c->p++)
		;
	s->state = (struct wi_str){ start, (uint32_t)(c->p - start) };
	c->p = skip_blanks(c->p, c->end);
	if (TAKE(c, "==>"))
		c->p = skip_blanks(c->p, c->end);
	return TAKE(c, "next_comm=");
}

static bool kv_switch(const char *p, const char *end, struct switch_text *s)
{
	const char *name = p + 10, *q, *r;
	struct cursor c;

	for (q = FIND(name, end, " prev_pid="); q; q = FIND(q + 1, end, " prev_pid=")) {
		c = (struct cursor){ q + 10, end };
		if (kv_switch_middle(&c, s))
			break;
	}
	if (!q)
		return false;
	s->prev_comm = (struct wi_str){ name, (uint32_t)(q - name) };
	r = FIND_LAST(c.p, end, " next_pid=");
	if (!r)
		return false;
	s->next_comm = (struct wi_str){ c.p, (uint32_t)(r - c.p) };
	c.p = r + 10;
	return take_int(&c, &s->next_pid) && FIELD(&c, "next_prio=", &s->next_prio);
}

/* Backwards over "NAME:PID [PRIO]" that ends at end: the name's end, pid and prio. NULL: no such text. */
static const char *back_task(const char *p, const char *end, int64_t *pid, int64_t *prio)
{
	const char *q = end, *r;

	if (q == p || q[-1] != ']')
		return NULL;
	while (q > p && q[-1] != '[')
		q--;
	if (q == p || wi_text_int(q, end - 1, prio) != end - 1)
		return NULL;
	q--;
	while (q > p && q[-1] == ' ')
		q--;
	for (r = q; r > p && r[-1] >= '0' && r[-1] <= '9'; r--)
		;
	if (r == q || r == p || r[-1] != ':' || wi_text_int(r, q, pid) != q)
		return NULL;
	return r - 1;
}

/* "a:1 [120] S ==> b:2 [120]"; 2.6.3x: "task a:1 [120] (S) ==> b:2 [120]". */
static bool plugin_switch(const char *p, const char *end, struct switch_text *s)
{
	struct switch_text t, first = { 0 };
	const char *arrow, *name_end;

	while (end > p && end[-1] == ' ')
		end--;
	name_end = back_task(p, end, &t.next_pid, &t.next_prio);
	if (!name_end)
		return false;
	for (arrow = FIND(p, name_end, " ==> "); arrow; arrow = FIND(arrow + 1, name_end, " ==> ")) {
		const char *state = arrow, *before, *name = p;

		while (state > p && state[-1] != ' ')
			state--;
		for (before = state; before > p && before[-1] == ' '; before--)
			;
		t.state = (struct wi_str){ state, (uint32_t)(arrow - state) };
		before = back_task(p, before, &t.prev_pid, &t.prev_prio);
		if (!before || !t.state.len)
			continue;
		if (t.state.len > 2 && state[0] == '(' && arrow[-1] == ')') {
			t.state = (struct wi_str){ state + 1, t.state.len - 2 };
			if (before - name > 5 && !memcmp(name, "task ", 5))
				name += 5;
		}
		t.prev_comm = (struct wi_str){ name, (uint32_t)(before - name) };
		t.next_comm = (struct wi_str){ arrow + 5, (uint32_t)(name_end - arrow - 5) };
		t.plugin = true;
		if (t.prev_comm.len <= KERNEL_COMM_MAX && t.next_comm.len <= KERNEL_COMM_MAX) {
			*s = t;
			return true;
		}
		if (!first.plugin)
			first = t;
	}
	*s = first;
	return first.plugin;
}

static bool parse_switch(const struct wi_text_head *h, struct switch_text *s)
{
	const char *p = h->body.p, *end = p + h->body.len;

	memset(s, 0, sizeof(*s));
	if (h->body.len > 10 && !memcmp(p, "prev_comm=", 10))
		return kv_switch(p, end, s);
	return plugin_switch(p - h->lead, end, s);
}

/*
 * trace-cmd's plugin prints the letters of kernels before 3.9 whatever the kernel is, and no mark of preemption: R may
 * have been preempted; Z and X are swapped on newer kernels, both are dead; x (dead or parked) and W (waking, killable
 * or idle) are no knowledge. It never prints a '+', P, I or K; where one stands, the text is of a library that knows.
 * A blocked task was not preempted.
 */
static struct wi_state plugin_state(struct wi_str s, uint8_t *known)
{
	struct wi_state st = wi_state_parse_letters(s.p, s.len);

	*known = st.known ? WI_KNOWN_STATE | (st.preempted || st.letter != 'R' ? WI_KNOWN_PREEMPTED : 0) : 0;
	if (st.letter == 'x' || st.letter == 'W') {
		st.letter = '?';
		*known = 0;
	} else if (st.letter == 'Z') {
		st.letter = 'X';
	}
	return st;
}

static bool decode_switch(struct wi_text_decoder *d, const struct wi_text_head *h, struct wi_event *ev)
{
	struct switch_text s;
	struct wi_state st;
	uint8_t known;
	uint64_t raw;

	if (!parse_switch(h, &s) || !good_pid(s.prev_pid) || !good_pid(s.next_pid) || !good_prio(s.prev_prio) ||
	    !good_prio(s.next_prio))
		return false;
	if (s.plugin) {
		st = plugin_state(s.state, &known);
	} else if (s.state.len && s.state.p[0] >= '0' && s.state.p[0] <= '9') {
		if (wi_text_uint(s.state.p, s.state.p + s.state.len, &raw) != s.state.p + s.state.len)
			return false;
		st = wi_state_decode(&d->states, raw);
		known = st.known ? WI_KNOWN_STATE | WI_KNOWN_PREEMPTED : 0;
	} else {
		st = wi_state_parse_letters(s.state.p, s.state.len);
		known = st.known ? WI_KNOWN_STATE | WI_KNOWN_PREEMPTED : 0;
	}
	d->unknown_letters += !st.known;
	ev->known |= known;
	ev->sw.prev_pid = (int32_t)s.prev_pid;
	ev->sw.next_pid = (int32_t)s.next_pid;
	ev->sw.prev_prio = (int16_t)s.prev_prio;
	ev->sw.next_prio = (int16_t)s.next_prio;
	ev->sw.prev_comm = intern(d, s.prev_comm.p, s.prev_comm.p + s.prev_comm.len);
	ev->sw.next_comm = intern(d, s.next_comm.p, s.next_comm.p + s.next_comm.len);
	ev->sw.prev_state = st.letter;
	ev->sw.preempted = st.preempted;
	return true;
}

bool wi_text_raw_state(const struct wi_text_head *h, uint64_t *raw, struct wi_str *prev_comm, bool *to_idle)
{
	struct switch_text s;

	if (!parse_switch(h, &s))
		return false;
	*prev_comm = s.prev_comm;
	*to_idle = s.next_pid == 0;
	if (s.plugin || !s.state.len || s.state.p[0] < '0' || s.state.p[0] > '9')
		return false;
	return wi_text_uint(s.state.p, s.state.p + s.state.len, raw) == s.state.p + s.state.len;
}

/* ---- the other sched events ---- */

/* "comm=NAME pid=N" at the head of [p, end): the name, and a cursor behind the number. */
static bool comm_pid(const char *p, const char *end, struct wi_str *comm, int64_t *pid, struct cursor *c)
{
	const char *q;

	if (end - p < 5 || memcmp(p, "comm=", 5))
		return false;
	p += 5;
	q = FIND_LAST(p, end, " pid=");
	if (!q)
		return false;
	*comm = (struct wi_str){ p, (uint32_t)(q - p) };
	*c = (struct cursor){ q + 5, end };
	return take_int(c, pid) && good_pid(*pid);
}

/* "NAME:PID [PRIO] success=1 CPU:003" */
static bool plugin_wakeup(const char *p, const char *end, struct wi_str *comm, int64_t *pid, int64_t *prio,
			  int64_t *success, int64_t *cpu)
{
	const char *q = FIND_LAST(p, end, " CPU:"), *r;
	struct cursor c;

	if (!q)
		return false;
	c = (struct cursor){ q + 5, end };
	if (!take_int(&c, cpu))
		return false;
	r = FIND_LAST(p, q, "]");
	if (!r)
		return false;
	c = (struct cursor){ r + 1, q };
	FIELD(&c, "success=", success);
	q = back_task(p, r + 1, pid, prio);
	if (!q)
		return false;
	*comm = (struct wi_str){ p, (uint32_t)(q - p) };
	return true;
}

static bool decode_wakeup(struct wi_text_decoder *d, const struct wi_text_head *h, struct wi_event *ev)
{
	const char *p = h->body.p, *end = p + h->body.len;
	int64_t pid, prio, success = 1, cpu;
	struct wi_str comm;
	struct cursor c;

	if (comm_pid(p, end, &comm, &pid, &c)) {
		if (!FIELD(&c, "prio=", &prio))
			return false;
		FIELD(&c, "success=", &success);
		if (!FIELD(&c, "target_cpu=", &cpu))
			return false;
	} else if (!plugin_wakeup(p - h->lead, end, &comm, &pid, &prio, &success, &cpu)) {
		return false;
	}
	if (!good_pid(pid) || !good_prio(prio) || !good_cpu(cpu))
		return false;
	ev->wk.pid = (int32_t)pid;
	ev->wk.comm = intern(d, comm.p, comm.p + comm.len);
	ev->wk.prio = (int16_t)prio;
	ev->wk.success = success != 0;
	ev->wk.target_cpu = (int32_t)cpu;
	return true;
}

static bool decode_migrate(struct wi_text_decoder *d, const struct wi_text_head *h, struct wi_event *ev)
{
	const char *p = h->body.p, *end = p + h->body.len;
	int64_t pid, prio, orig, dest;
	struct wi_str comm;
	struct cursor c;

	if (!comm_pid(p, end, &comm, &pid, &c) || !FIELD(&c, "prio=", &prio) || !FIELD(&c, "orig_cpu=", &orig) ||
	    !FIELD(&c, "dest_cpu=", &dest) || !good_prio(prio) || !good_cpu(orig) || !good_cpu(dest))
		return false;
	ev->mig.pid = (int32_t)pid;
	ev->mig.comm = intern(d, comm.p, comm.p + comm.len);
	ev->mig.prio = (int16_t)prio;
	ev->mig.orig_cpu = (int32_t)orig;
	ev->mig.dest_cpu = (int32_t)dest;
	return true;
}

/* "comm=A pid=1 child_comm=B child_pid=2"; raw: parent_comm, parent_pid. */
static bool decode_fork(struct wi_text_decoder *d, const struct wi_text_head *h, struct wi_event *ev)
{
	const char *p = h->body.p, *end = p + h->body.len, *q, *child, *r;
	bool raw = h->body.len > 12 && !memcmp(p, "parent_comm=", 12);
	int64_t parent, kid;
	struct cursor c;

	r = FIND_LAST(p, end, " child_pid=");
	if (!r || (!raw && (h->body.len < 5 || memcmp(p, "comm=", 5))))
		return false;
	c = (struct cursor){ r + 11, end };
	if (!take_int(&c, &kid))
		return false;
	p += raw ? 12 : 5;
	for (child = FIND(p, r, " child_comm="); child; child = FIND(child + 1, r, " child_comm=")) {
		q = raw ? FIND_LAST(p, child, " parent_pid=") : FIND_LAST(p, child, " pid=");
		if (!q)
			continue;
		c = (struct cursor){ q + (raw ? 12 : 5), child };
		if (take_int(&c, &parent) && c.p == child)
			break;
	}
	if (!child || !good_pid(parent) || !good_pid(kid))
		return false;
	ev->fork.parent_pid = (int32_t)parent;
	ev->fork.child_pid = (int32_t)kid;
	ev->fork.parent_comm = intern(d, p, q);
	ev->fork.child_comm = intern(d, child + 12, r);
	return true;
}

static bool decode_exec(struct wi_text_decoder *d, const struct wi_text_head *h, struct wi_event *ev)
{
	static const char filename[] = "filename=";
	const char *p = h->body.p, *end = p + h->body.len, *q = FIND_LAST(p, end, " pid=");
	int64_t pid, old;
	struct cursor c;

	if (!q)
		return false;
	c = (struct cursor){ q + 5, end };
	if (!take_int(&c, &pid) || !FIELD(&c, "old_pid=", &old) || !good_pid(pid) || !good_pid(old))
		return false;
	ev->exec.pid = (int32_t)pid;
	ev->exec.old_pid = (int32_t)old;
	if ((size_t)(q - p) > sizeof(filename) - 1 && !memcmp(p, filename, sizeof(filename) - 1))
		ev->exec.comm = wi_names_of_exec(d->names, p + sizeof(filename) - 1, (size_t)(q - p) - (sizeof(filename) - 1));
	return true;
}

static bool decode_exit(struct wi_text_decoder *d, const struct wi_text_head *h, struct wi_event *ev)
{
	struct wi_str comm;
	int64_t pid, prio;
	struct cursor c;

	if (!comm_pid(h->body.p, h->body.p + h->body.len, &comm, &pid, &c) || !FIELD(&c, "prio=", &prio) ||
	    !good_prio(prio))
		return false;
	ev->exit.pid = (int32_t)pid;
	ev->exit.comm = intern(d, comm.p, comm.p + comm.len);
	ev->exit.prio = (int16_t)prio;
	return true;
}

/* ---- the rest ---- */

static bool decode_idle(const struct wi_text_head *h, struct wi_event *ev)
{
	struct cursor c = { h->body.p, h->body.p + h->body.len };
	int64_t state, cpu;

	if (!FIELD(&c, "state=", &state) || !FIELD(&c, "cpu_id=", &cpu) || !good_cpu(cpu) || state < -1 ||
	    state > UINT32_MAX)
		return false;
	ev->idle.state = (uint32_t)state;
	ev->idle.cpu_id = (uint32_t)cpu;
	return true;
}

/* "comm=A pid=1 runtime=123 [ns] vruntime=456 [ns]" */
static bool decode_stat(const struct wi_text_head *h, struct wi_event *ev)
{
	const char *p = h->body.p, *end = p + h->body.len, *q;
	struct wi_str comm;
	struct cursor c;
	int64_t pid;

	if (!comm_pid(p, end, &comm, &pid, &c))
		return false;
	c.p = skip_blanks(c.p, end);
	if (!TAKE(&c, "runtime=") || !(q = wi_text_uint(c.p, end, &ev->stat.runtime_ns)))
		return false;
	ev->stat.pid = (int32_t)pid;
	ev->stat.vruntime_ns = UINT64_MAX;
	q = FIND(q, end, "vruntime=");
	return !q || wi_text_uint(q + 9, end, &ev->stat.vruntime_ns);
}

static bool hex_field(const char *p, const char *end, const char *key, uint64_t *v)
{
	const char *q = memmem(p, (size_t)(end - p), key, strlen(key));

	if (!q)
		return false;
	q += strlen(key);
	if (end - q > 2 && q[0] == '0' && q[1] == 'x')
		return wi_text_uint(q, end, v);
	for (*v = 0, p = q; q < end && q - p < 16; q++) {
		unsigned int c = (unsigned char)*q, d = c - '0' < 10	       ? c - '0'
							: (c | 0x20) - 'a' < 6 ? (c | 0x20) - 'a' + 10
									       : 16;

		if (d > 15)
			break;
		*v = *v << 4 | d;
	}
	return q > p;
}

static bool decode_hrtimer(const struct wi_text_head *h, struct wi_event *ev)
{
	const char *p = h->body.p, *end = p + h->body.len, *q;

	if (!hex_field(p, end, "hrtimer=", &ev->hrtimer.hrtimer))
		return false;
	ev->hrtimer.expires_ns = 0;
	if (ev->type == WI_EV_HRTIMER_EXPIRE_ENTRY)
		return true;
	q = FIND(p, end, " expires=");
	return q && wi_text_uint(q + 9, end, &ev->hrtimer.expires_ns);
}

/* "NR 202 (...)" and "NR 202 = 1"; raw: "id=202 ..." */
static bool decode_sys(const struct wi_text_head *h, struct wi_event *ev)
{
	struct cursor c = { h->body.p, h->body.p + h->body.len };

	return (TAKE(&c, "NR ") || TAKE(&c, "id=")) && take_int(&c, &ev->sys.nr);
}

static bool decode_marker(const struct wi_text_head *h, struct wi_event *ev)
{
	struct cursor c = { h->body.p, h->body.p + h->body.len }, t;
	uint64_t ip;
	const char *q;

	/* trace-cmd shows in front where the write came from: a symbol, an address, or the raw fields */
	if (WI_STR_IS(h->event, "print")) {
		t = c;
		if (TAKE(&t, "ip=") && (q = wi_text_uint(t.p, t.end, &ip))) {
			t.p = skip_blanks(q, t.end);
			if (TAKE(&t, "buf="))
				c = t;
		} else if (TAKE(&t, "tracing_mark_write: ") || TAKE(&t, "tracing_mark_write:")) {
			c = t;
		} else if (c.end - c.p > 2 && c.p[0] == '0' && c.p[1] == 'x' && (q = wi_text_uint(c.p, c.end, &ip)) &&
			   c.end - q > 1 && (*q == ':' || (*q == 's' && q[1] == ':'))) {
			c.p = q + (*q == 's') + 1;
			c.p = skip_blanks(c.p, c.end);
		}
	}
	ev->marker.text = c.p;
	ev->marker.len = (uint32_t)(c.end - c.p);
	return true;
}

bool wi_text_decode(struct wi_text_decoder *d, const struct wi_text_head *head, struct wi_event *ev)
{
	static const char failed[] = "[FAILED TO PARSE] ";
	struct wi_text_head h = *head;

	if (h.body.len >= sizeof(failed) - 1 && !memcmp(h.body.p, failed, sizeof(failed) - 1)) {
		h.body.p += sizeof(failed) - 1;
		h.body.len -= sizeof(failed) - 1;
		h.lead = 0;
	}
	switch (ev->type) {
	case WI_EV_SCHED_SWITCH:
		return decode_switch(d, &h, ev);
	case WI_EV_SCHED_WAKING:
	case WI_EV_SCHED_WAKEUP:
	case WI_EV_SCHED_WAKEUP_NEW:
		return decode_wakeup(d, &h, ev);
	case WI_EV_SCHED_MIGRATE_TASK:
		return decode_migrate(d, &h, ev);
	case WI_EV_SCHED_PROCESS_FORK:
		return decode_fork(d, &h, ev);
	case WI_EV_SCHED_PROCESS_EXEC:
		return decode_exec(d, &h, ev);
	case WI_EV_SCHED_PROCESS_EXIT:
		return decode_exit(d, &h, ev);
	case WI_EV_CPU_IDLE:
		return decode_idle(&h, ev);
	case WI_EV_SCHED_STAT_RUNTIME:
		return decode_stat(&h, ev);
	case WI_EV_HRTIMER_START:
	case WI_EV_HRTIMER_EXPIRE_ENTRY:
		return decode_hrtimer(&h, ev);
	case WI_EV_SYS_ENTER:
	case WI_EV_SYS_EXIT:
		return decode_sys(&h, ev);
	case WI_EV_MARKER:
		return decode_marker(&h, ev);
	}
	return true;
}

/* ---- which event ---- */

/* ftrace's own records: not trace events, and written at any instant. */
static bool is_ftrace_record(struct wi_str e)
{
	static const char *const names[] = { "function",       "funcgraph_entry", "funcgraph_exit",
					     "kernel_stack",   "user_stack",	  "bprint",
					     "bputs",	       "branch",	  "wakeup",
					     "context_switch", "mmiotrace_rw",	  "mmiotrace_map",
					     "hwlat",	       "osnoise",	  "timerlat",
					     "raw_data",       "func_repeats",	  "fgraph_retaddr_entry" };

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (wi_str_is(e, names[i], (uint32_t)strlen(names[i])))
			return true;
	return false;
}

/*
 * In the kernel's own text a trace_printk looks as an event whose name is a function. Only names of the subsystems
 * whose events are common beside sched's, and bodies that start as key=value, are taken for events.
 */
static bool surely_event(const struct wi_text_head *h)
{
	static const char *const prefixes[] = { "sched_", "irq_",	"softirq_", "timer_",	  "hrtimer_",
						"tick_",  "workqueue_", "rcu_",	    "sys_enter_", "sys_exit_",
						"ipi_",	  "cpu_",	"signal_" };
	const char *p = h->body.p, *end = p + h->body.len;

	if (!h->event_colon)
		return false;
	for (size_t i = 0; i < sizeof(prefixes) / sizeof(*prefixes); i++) {
		size_t n = strlen(prefixes[i]);

		if (h->event.len > n && !memcmp(h->event.p, prefixes[i], n))
			goto key_value;
	}
	return false;
key_value:
	while (p < end && ((*p >= 'a' && *p <= 'z') || *p == '_'))
		p++;
	return p > h->body.p && p < end && *p == '=';
}

static uint32_t other_type(const struct wi_text_head *h, bool report)
{
	if (h->form == WI_TEXT_PERF)
		return h->system.len ? WI_EV_OTHER : WI_TEXT_IGNORE;
	if (report)
		return h->event_colon && !is_ftrace_record(h->event) ? WI_EV_OTHER : WI_TEXT_IGNORE;
	return surely_event(h) ? WI_EV_OTHER : WI_TEXT_IGNORE;
}

#define IS(literal, type)                                                                                              \
	if (WI_STR_IS(h->event, literal))                                                                              \
	return type

uint32_t wi_text_event_type(const struct wi_text_head *h, bool report)
{
	if (!h->event.len)
		return WI_TEXT_IGNORE;
	if (!h->event_colon) {
		IS("PERF_RECORD_LOST", WI_TEXT_LOST_TIMED);
		IS("PERF_RECORD_LOST_SAMPLES", WI_TEXT_LOST_TIMED);
		return WI_TEXT_IGNORE;
	}
	switch (h->event.p[0]) {
	case 's':
		IS("sched_switch", WI_EV_SCHED_SWITCH);
		IS("sched_waking", WI_EV_SCHED_WAKING);
		IS("sched_wakeup", WI_EV_SCHED_WAKEUP);
		IS("sched_migrate_task", WI_EV_SCHED_MIGRATE_TASK);
		IS("sched_stat_runtime", WI_EV_SCHED_STAT_RUNTIME);
		IS("sched_wakeup_new", WI_EV_SCHED_WAKEUP_NEW);
		IS("sched_process_fork", WI_EV_SCHED_PROCESS_FORK);
		IS("sched_process_exec", WI_EV_SCHED_PROCESS_EXEC);
		IS("sched_process_exit", WI_EV_SCHED_PROCESS_EXIT);
		IS("sys_enter", WI_EV_SYS_ENTER);
		IS("sys_exit", WI_EV_SYS_EXIT);
		break;
	case 'c':
		IS("cpu_idle", WI_EV_CPU_IDLE);
		IS("call_function_single_entry", WI_EV_CALL_FUNCTION_SINGLE_ENTRY);
		break;
	case 'h':
		IS("hrtimer_start", WI_EV_HRTIMER_START);
		IS("hrtimer_expire_entry", WI_EV_HRTIMER_EXPIRE_ENTRY);
		break;
	case 'l':
		IS("local_timer_entry", WI_EV_LOCAL_TIMER_ENTRY);
		break;
	case 'r':
		IS("reschedule_entry", WI_EV_RESCHEDULE_ENTRY);
		break;
	case 't':
		IS("tracing_mark_write", WI_EV_MARKER);
		break;
	case 'p':
		IS("print", WI_EV_MARKER);
		break;
	case '0':
		IS("0", WI_EV_MARKER);
		break;
	case 'P':
		IS("PERF_RECORD_LOST", WI_TEXT_LOST_TIMED);
		IS("PERF_RECORD_LOST_SAMPLES", WI_TEXT_LOST_TIMED);
		break;
	}
	return other_type(h, report);
}
