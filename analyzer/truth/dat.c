/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analyzer/truth/dat.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <trace-cmd.h>

#include "analyzer/base/cpumask.h"
#include "models/fair.h"
#include "parsers/spool.h"
#include "parsers/trial.h"

#define JOIN_NS 50000000u	/* a sched_waking belongs to a decision that follows within this time */
#define SETTLE_NS 1000000000u	/* ttwu_queue_wakelist of a decision comes within this time, or not at all */
#define MAX_TESTS 65536u
#define MAX_SITES 256u

struct waking {
	uint64_t ns;
	int32_t pid;
	uint32_t cpu;
	bool used;
};

struct wi_truth_dat {
	char *path;
	int fd;
	uint64_t bytes;
	struct waking *waking; /* by CPU, pid, time */
	size_t nr, room;
	uint64_t from_ns, to_ns;	     /* of the trace */
	uint64_t smt[MAX_SITES];	     /* return addresses of the idle tests of a target's siblings */
	uint32_t nr_smt;
	uint64_t truth_from_ns, truth_to_ns; /* of the probe events */
};

/* ---- file ---- */

static const char magic[] = "\x17\x08\x44tracing";

static bool is_trace_dat(const uint8_t *head, size_t len)
{
	return len >= sizeof(magic) - 1 && !memcmp(head, magic, sizeof(magic) - 1);
}

/* An fd at offset 0 of the unwrapped file; -1: err set. */
static int open_unwrapped(const char *path, struct wi_err *err)
{
	struct wi_spool_in in = { .path = path, .max_bytes = WI_MAX_SPOOL_DEFAULT };
	struct wi_spool_out out = { .fd = -1 };
	uint8_t head[64];
	const char *wrapper;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	long got = fd < 0 ? -1 : wi_read_full(fd, head, sizeof(head));

	if (got < 0) {
		wi_err_at(err, WI_EIO, path, WI_NO_OFFSET, "cannot be read: %s", strerror(errno));
		goto fail;
	}
	wrapper = wi_spool_wrapper(head, (size_t)got);
	if (lseek(fd, 0, SEEK_SET) != 0) {
		wi_err_at(err, WI_EIO, path, WI_NO_OFFSET, "cannot be read: %s", strerror(errno));
		goto fail;
	}
	if (!*wrapper)
		return fd;
	in.fd = fd;
	if (!wi_spool(&in, wrapper, &out, err))
		goto fail;
	close(fd);
	fd = out.fd;
	if (!*out.damage)
		return fd;
	wi_err_at(err, WI_EREFUSED, path, out.damage_at, "%s", out.damage);
fail:
	if (fd >= 0)
		close(fd);
	return -1;
}

bool wi_truth_dat_is(const char *path)
{
	struct wi_err ignored = { 0 };
	uint8_t head[64];
	struct stat st;
	long got;
	int fd;

	if (stat(path, &st) || !S_ISREG(st.st_mode)) /* looking would take it away */
		return false;
	fd = open_unwrapped(path, &ignored);
	if (fd < 0)
		return false;
	got = wi_read_full(fd, head, sizeof(head));
	close(fd);
	return got > 0 && is_trace_dat(head, (size_t)got);
}

/* ---- probe events, in time order ---- */

struct reader {
	struct tracecmd_input *top, *in;
	struct tep_handle *tep;
	struct tep_record **head; /* by CPU */
	uint32_t nr_cpus;
};

static void reader_fini(struct reader *r)
{
	for (uint32_t c = 0; r->head && c < r->nr_cpus; c++)
		if (r->head[c])
			tracecmd_free_record(r->head[c]);
	free(r->head);
	if (r->in && r->in != r->top)
		tracecmd_close(r->in);
	if (r->top)
		tracecmd_close(r->top);
	*r = (struct reader){ 0 };
}

static const char *event_name(const struct reader *r, const struct tep_record *rec, struct tep_event **event)
{
	*event = tep_find_event(r->tep, tep_data_type(r->tep, (struct tep_record *)rec));
	return *event && (*event)->name ? (*event)->name : "";
}

/* Does this buffer hold decisions? Leaves the heads at its start. */
static bool begin_buffer(struct reader *r, struct tracecmd_input *in)
{
	bool found = false;

	for (uint32_t c = 0; c < r->nr_cpus; c++) {
		struct tep_record *rec = tracecmd_read_cpu_first(in, (int)c);
		struct tep_event *event;

		while (rec && !found) {
			found = !strcmp(event_name(r, rec, &event), "strf");
			tracecmd_free_record(rec);
			rec = tracecmd_read_data(in, (int)c);
		}
		if (rec)
			tracecmd_free_record(rec);
	}
	for (uint32_t c = 0; found && c < r->nr_cpus; c++)
		r->head[c] = tracecmd_read_cpu_first(in, (int)c);
	return found;
}

static bool reader_init(struct reader *r, const struct wi_truth_dat *t, struct wi_err *err)
{
	char self[64];
	int own, cpus, nr;

	*r = (struct reader){ 0 };
	snprintf(self, sizeof(self), "/proc/self/fd/%d", t->fd);
	own = open(self, O_RDONLY | O_CLOEXEC);
	if (own < 0)
		return wi_err_at(err, WI_EIO, t->path, WI_NO_OFFSET, "cannot be read: %s", strerror(errno));
	tracecmd_set_loglevel(TEP_LOG_NONE);
	r->top = tracecmd_open_fd(own, TRACECMD_FL_LOAD_NO_PLUGINS);
	if (!r->top) {
		close(own);
		return wi_err_at(err, WI_EREFUSED, t->path, WI_NO_OFFSET, "libtracecmd cannot read this file");
	}
	r->tep = tracecmd_get_tep(r->top);
	cpus = tep_get_cpus(r->tep);
	if (cpus <= 0 || cpus > (int)WI_MAX_CPUS)
		return wi_err_at(err, WI_EREFUSED, t->path, WI_NO_OFFSET, "impossible number of CPUs: %d", cpus);
	r->nr_cpus = (uint32_t)cpus;
	r->head = calloc(r->nr_cpus, sizeof(struct tep_record *));
	if (!r->head)
		return wi_err_nomem(err);
	nr = tracecmd_buffer_instances(r->top);
	for (int i = nr - 1; i >= -1 && !r->in; i--) {
		struct tracecmd_input *in = i < 0 ? r->top : tracecmd_buffer_instance_handle(r->top, i);

		if (in && begin_buffer(r, in))
			r->in = in;
		else if (in && in != r->top)
			tracecmd_close(in);
	}
	return r->in || wi_err_at(err, WI_EREFUSED, t->path, WI_NO_OFFSET,
				  "is a trace.dat, but holds no probe event strf (the entry of select_task_rq_fair): no truth");
}

/* The next record; the caller frees it. NULL: the end. */
static struct tep_record *reader_next(struct reader *r, uint32_t *cpu)
{
	struct tep_record *rec;
	uint32_t best = UINT32_MAX;

	for (uint32_t c = 0; c < r->nr_cpus; c++)
		if (r->head[c] && (best == UINT32_MAX || r->head[c]->ts < r->head[best]->ts))
			best = c;
	if (best == UINT32_MAX)
		return NULL;
	rec = r->head[best];
	r->head[best] = tracecmd_read_data(r->in, (int)best);
	*cpu = best;
	return rec;
}

static bool read_field(const struct tep_format_field *f, const struct tep_record *rec, int64_t *out)
{
	unsigned long long v;

	if (f->offset < 0 || f->size < 0 || f->offset + f->size > (int)rec->size ||
	    tep_read_number_field((struct tep_format_field *)f, rec->data, &v))
		return false;
	*out = !(f->flags & TEP_FIELD_IS_SIGNED) ? (int64_t)v :
	       f->size == 4			 ? (int32_t)v :
	       f->size == 2			 ? (int16_t)v :
	       f->size == 1			 ? (int8_t)v :
						   (int64_t)v;
	return true;
}

static bool field(struct tep_event *event, const struct tep_record *rec, const char *name, int64_t *out)
{
	const struct tep_format_field *f = tep_find_field(event, name);

	return f && read_field(f, rec, out);
}

/* ---- decisions ---- */

enum phase { BEFORE_SEARCH, SEARCH, SCAN };

struct made {
	struct made *next;
	struct wi_truth_decision d;
	struct test {
		uint64_t ip; /* where the answer went */
		uint32_t cpu;
		enum phase phase;
		bool idle;
	} *raw;
	struct wi_truth_test *tests;
	struct wi_truth_llc *llc;
	struct wi_truth_rq *rq;
	wakeif_word mask;
	uint32_t room_raw, tested; /* tested: CPU of the test whose answer is awaited */
	enum phase phase;
	uint64_t ret_ns;
	bool settled;
};

struct stream {
	struct wi_truth_dat *t;
	struct reader r;
	bool learning, nodecision;
	struct made **open, **last; /* by CPU: entered; returned, and not yet followed by anything */
	struct wi_truth_rq **rq;    /* by CPU: run queues told before the entry */
	uint32_t *nr_rq, *room_rq;
	struct made *first, **end;  /* returned, in that order */
	struct made *shown;
	uint64_t now_ns, number;
	size_t at_waking;
	bool over;
};

static void free_made(struct made *m)
{
	if (!m)
		return;
	free(m->raw);
	free(m->tests);
	free(m->llc);
	free(m->rq);
	free(m);
}

static void stream_close(void *self)
{
	struct stream *s = self;

	if (!s)
		return;
	for (uint32_t c = 0; c < s->r.nr_cpus; c++) {
		if (s->open)
			free_made(s->open[c]);
		if (s->rq)
			free(s->rq[c]);
	}
	for (struct made *m = s->first, *next; m; m = next) {
		next = m->next;
		free_made(m);
	}
	free_made(s->shown);
	free(s->open);
	free(s->last);
	free(s->rq);
	free(s->nr_rq);
	free(s->room_rq);
	reader_fini(&s->r);
	free(s);
}

static uint64_t clamp(int64_t v, uint64_t max)
{
	return v < 0 || (uint64_t)v > max ? 0 : (uint64_t)v;
}

/* "nr12" -> "nr", 12. false: no number. */
static bool name_and_cpu(const char *field_name, char name[16], uint32_t *cpu)
{
	size_t len = strcspn(field_name, "0123456789");
	char *end;
	unsigned long n = strtoul(field_name + len, &end, 10);

	if (!len || len > 15 || !isdigit((unsigned char)field_name[len]) || *end || n >= WI_MAX_CPUS)
		return false;
	memcpy(name, field_name, len);
	name[len] = '\0';
	*cpu = (uint32_t)n;
	return true;
}

static bool room_for_rq(struct stream *s, uint32_t at, uint32_t cpu)
{
	if (cpu >= s->room_rq[at]) {
		uint32_t room = cpu + 16;
		struct wi_truth_rq *rq = realloc(s->rq[at], room * sizeof(*rq));

		if (!rq)
			return false;
		memset(rq + s->room_rq[at], 0, (room - s->room_rq[at]) * sizeof(*rq));
		s->rq[at] = rq;
		s->room_rq[at] = room;
	}
	if (cpu >= s->nr_rq[at])
		s->nr_rq[at] = cpu + 1;
	return true;
}

static bool on_rq(struct stream *s, uint32_t at, struct tep_event *event, const struct tep_record *rec, struct wi_err *err)
{
	for (const struct tep_format_field *f = event->format.fields; f; f = f->next) {
		char name[16];
		uint32_t cpu;
		int64_t v;

		if (!name_and_cpu(f->name, name, &cpu) || !read_field(f, rec, &v))
			continue;
		if (!room_for_rq(s, at, cpu))
			return wi_err_nomem(err);
		struct wi_truth_rq *q = &s->rq[at][cpu];

#define TAKE(text, member, max)                                                                                        \
	if (!strcmp(name, text))                                                                                       \
	q->member = (__typeof__(q->member))clamp(v, max)
		TAKE("nr", nr_running, UINT32_MAX);
		TAKE("h", h_nr_running, UINT32_MAX);
		TAKE("i", idle_h_nr_running, UINT32_MAX);
		TAKE("ld", load, INT64_MAX);
		TAKE("ut", util, INT64_MAX);
		TAKE("ue", util_est, INT64_MAX);
		TAKE("rn", runnable, INT64_MAX);
		TAKE("cap", capacity, UINT32_MAX);
		TAKE("clk", clock_ns, INT64_MAX);
		TAKE("fl", curr_flips, UINT32_MAX);
#undef TAKE
		if (!strcmp(name, "pend"))
			q->pending = v;
		if (!strcmp(name, "cur"))
			q->curr_pid = v < -1 || v > INT32_MAX ? -1 : (int32_t)v;
	}
	return true;
}

static struct wi_truth_llc *llc_of(struct made *m, uint32_t first_cpu)
{
	struct wi_truth_decision *d = &m->d;
	struct wi_truth_llc *llc;

	for (uint32_t i = 0; i < d->nr_llcs; i++)
		if (m->llc[i].first_cpu == first_cpu)
			return &m->llc[i];
	llc = realloc(m->llc, (d->nr_llcs + 1) * sizeof(*llc));
	if (!llc)
		return NULL;
	m->llc = llc;
	llc[d->nr_llcs] = (struct wi_truth_llc){ .first_cpu = first_cpu };
	return &llc[d->nr_llcs++];
}

static bool take_llc(struct made *m, const char *name, int64_t v, struct wi_err *err)
{
	struct wi_truth_llc *llc;
	char *end;
	unsigned long first = strtoul(name + 3, &end, 10);

	if (end == name + 3 || *end != '_' || first >= WI_MAX_CPUS)
		return true;
	llc = llc_of(m, (uint32_t)first);
	if (!llc)
		return wi_err_nomem(err);
	if (!strcmp(end, "_scan"))
		llc->nr_idle_scan = (uint32_t)clamp(v, WI_MAX_CPUS);
	else if (!strcmp(end, "_idlecores"))
		llc->has_idle_cores = v;
	else if (!strcmp(end, "_busy"))
		llc->nr_busy = (uint32_t)clamp(v, WI_MAX_CPUS);
	return true;
}

static uint32_t cpu_of(int64_t v)
{
	return v < 0 || v >= WI_MAX_CPUS ? WI_TRUTH_NO_CPU : (uint32_t)v;
}

static bool take_entry(struct made *m, const char *name, int64_t v, struct wi_err *err)
{
	struct wi_truth_decision *d = &m->d;

#define IS(text) (!strcmp(name, text))
	if (IS("pid"))
		d->pid = (int32_t)clamp(v, INT32_MAX);
	else if (IS("prev"))
		d->prev = cpu_of(v);
	else if (IS("wf"))
		d->wake_flags = (uint32_t)v;
	else if (IS("ncpus"))
		d->nr_allowed = (uint32_t)clamp(v, UINT32_MAX);
	else if (IS("mask"))
		m->mask = (wakeif_word)v;
	else if (IS("recent"))
		d->recent = cpu_of(v);
	else if (IS("flips"))
		d->flips = (uint32_t)v;
	else if (IS("lastw"))
		d->last_wakee = v < -1 || v > INT32_MAX ? -1 : (int32_t)v;
	else if (IS("prio"))
		d->prio = v < -1 || v > 139 ? 120 : (int16_t)v;
	else if (IS("policy"))
		d->policy = v < 0 || v > 255 ? WAKEIF_POLICY_UNKNOWN : (uint8_t)v;
	else if (IS("util"))
		d->util = (uint64_t)v;
	else if (IS("uest"))
		d->util_est = (uint64_t)v;
	else if (IS("lut"))
		d->update_ns = (uint64_t)v;
	else if (IS("weight"))
		d->weight = (uint64_t)v;
	else if (IS("load")) {
		d->load = (uint64_t)v;
		d->has_load = true;
	} else if (!strncmp(name, "llc", 3))
		return take_llc(m, name, v, err);
#undef IS
	return true;
}

static bool on_entry(struct stream *s, uint32_t at, struct tep_event *event, const struct tep_record *rec, struct wi_err *err)
{
	struct made *m = calloc(1, sizeof(*m));

	if (!m)
		return wi_err_nomem(err);
	free_made(s->open[at]);
	s->open[at] = m;
	m->tested = WI_TRUTH_NO_CPU;
	m->d = (struct wi_truth_decision){ .ts_ns = rec->ts,
					   .waking_ts_ns = WI_TRUTH_NO_TIME,
					   .cpu = at,
					   .waker = tep_data_pid(s->r.tep, (struct tep_record *)rec),
					   .prev = WI_TRUTH_NO_CPU,
					   .ret = WI_TRUTH_NO_CPU,
					   .recent = WI_TRUTH_NO_CPU,
					   .last_wakee = -1,
					   .prio = 120,
					   .policy = WAKEIF_POLICY_UNKNOWN,
					   .affine_this = WI_TRUTH_NO_CPU,
					   .affine_prev = WI_TRUTH_NO_CPU,
					   .sis_target = WI_TRUTH_NO_CPU,
					   .wanted_core = -1,
					   .queued = -1 };
	m->rq = s->rq[at];
	m->d.nr_rqs = s->nr_rq[at];
	s->rq[at] = NULL;
	s->nr_rq[at] = s->room_rq[at] = 0;
	for (const struct tep_format_field *f = event->format.fields; f; f = f->next) {
		int64_t v;

		if (read_field(f, rec, &v) && !take_entry(m, f->name, v, err))
			return false;
	}
	return true;
}

static bool on_test(struct made *m, struct tep_event *event, const struct tep_record *rec, struct wi_err *err)
{
	struct wi_truth_decision *d = &m->d;
	int64_t ip = 0, idle = 0;

	if (m->tested == WI_TRUTH_NO_CPU || d->nr_tests == MAX_TESTS || !field(event, rec, "idle", &idle))
		return true;
	field(event, rec, "__probe_ret_ip", &ip);
	if (d->nr_tests == m->room_raw) {
		uint32_t room = m->room_raw ? m->room_raw * 2 : 16;
		struct test *raw = realloc(m->raw, room * sizeof(*raw));

		if (!raw)
			return wi_err_nomem(err);
		m->raw = raw;
		m->room_raw = room;
	}
	m->raw[d->nr_tests++] = (struct test){ (uint64_t)ip, m->tested, m->phase, idle != 0 };
	d->has_tests = true;
	return true;
}

/* What happens between entry and return. */
static bool on_inside(struct made *m, const char *name, struct tep_event *event, const struct tep_record *rec, struct wi_err *err)
{
	struct wi_truth_decision *d = &m->d;
	int64_t v = 0, w = 0;

	if (!strcmp(name, "aic")) {
		m->tested = field(event, rec, "cpu", &v) ? cpu_of(v) : WI_TRUTH_NO_CPU;
	} else if (!strcmp(name, "aic_ret")) {
		return on_test(m, event, rec, err);
	} else if (!strcmp(name, "sis")) {
		d->sis_target = field(event, rec, "target", &v) ? cpu_of(v) : WI_TRUTH_NO_CPU;
		m->phase = SEARCH;
	} else if (!strcmp(name, "wa")) {
		d->called_affine = true;
		d->affine_this = field(event, rec, "this_cpu", &v) ? cpu_of(v) : WI_TRUTH_NO_CPU;
		d->affine_prev = field(event, rec, "prev_cpu", &v) ? cpu_of(v) : WI_TRUTH_NO_CPU;
		d->sync = field(event, rec, "sync", &v) && v;
	} else if (!strcmp(name, "siscpu")) {
		d->wanted_core = field(event, rec, "has_idle_core", &v) ? (v & 0xff) != 0 : -1;
		m->phase = SCAN;
	} else if (!strcmp(name, "waw") && field(event, rec, "this_eff", &v) && field(event, rec, "prev_eff", &w)) {
		d->compared = true;
		d->this_eff = v;
		d->prev_eff = w;
	}
	return true;
}

static bool is_smt(const struct wi_truth_dat *t, uint64_t ip)
{
	for (uint32_t i = 0; i < t->nr_smt; i++)
		if (t->smt[i] == ip)
			return true;
	return false;
}

/* Between the first tests and the scan only a sibling can be another CPU than the three that were named. */
static void learn_sites(struct wi_truth_dat *t, const struct made *m)
{
	for (uint32_t i = 0; i < m->d.nr_tests; i++) {
		const struct test *x = &m->raw[i];

		if (x->phase == SEARCH && x->cpu != m->d.sis_target && x->cpu != m->d.prev && x->cpu != m->d.recent && t->nr_smt < MAX_SITES &&
		    !is_smt(t, x->ip))
			t->smt[t->nr_smt++] = x->ip;
	}
}

/* Which test it was: by the function that asked where it is one of its own, else by where in the decision it came. */
static char site_of(const struct stream *s, const struct made *m, const struct test *x)
{
	static const struct {
		const char *function;
		char site;
	} known[] = { { "wake_affine", WI_FAIR_AFFINE },	{ "select_idle_core", WI_FAIR_CORE },	    { "__select_idle_cpu", WI_FAIR_SCAN },
		      { "select_idle_smt", WI_FAIR_SMT },	{ "select_idle_capacity", WI_FAIR_CAPACITY }, { "find_idlest", WI_FAIR_SLOW },
		      { "sched_balance_find_dst", WI_FAIR_SLOW } };
	const char *function = tep_find_function(s->r.tep, x->ip);

	for (size_t i = 0; function && i < sizeof(known) / sizeof(*known); i++)
		if (!strncmp(function, known[i].function, strlen(known[i].function)))
			return known[i].site;
	switch (x->phase) {
	case SCAN:
		return m->d.wanted_core == 1 ? WI_FAIR_CORE : WI_FAIR_SCAN;
	case SEARCH:
		return is_smt(s->t, x->ip) ? WI_FAIR_SMT : WI_FAIR_SIS;
	default:
		return m->d.called_affine ? WI_FAIR_AFFINE : WI_FAIR_SLOW;
	}
}

static int by_place(const void *a, const void *b)
{
	const struct waking *x = a, *y = b;

	if (x->cpu != y->cpu)
		return x->cpu < y->cpu ? -1 : 1;
	if (x->pid != y->pid)
		return x->pid < y->pid ? -1 : 1;
	return x->ns < y->ns ? -1 : x->ns > y->ns;
}

/* The latest sched_waking of the wakee on that CPU before the decision. */
static void join(struct wi_truth_dat *t, struct wi_truth_decision *d)
{
	struct waking key = { .ns = d->ts_ns, .pid = d->pid, .cpu = d->cpu };
	size_t from = 0, to = t->nr;

	if (!(d->wake_flags & WAKEIF_WF_TTWU))
		return;
	while (from < to) { /* the first one behind key */
		size_t middle = from + (to - from) / 2;

		if (by_place(&t->waking[middle], &key) <= 0)
			from = middle + 1;
		else
			to = middle;
	}
	if (!from)
		return;
	struct waking *w = &t->waking[from - 1];

	if (w->cpu != d->cpu || w->pid != d->pid || d->ts_ns - w->ns >= JOIN_NS)
		return;
	w->used = true;
	d->waking_ts_ns = w->ns;
}

static void settle(struct stream *s, uint32_t at)
{
	if (s->last[at])
		s->last[at]->settled = true;
	s->last[at] = NULL;
}

static void on_return(struct stream *s, uint32_t at, struct tep_event *event, const struct tep_record *rec)
{
	struct made *m = s->open[at];
	int64_t v;

	s->open[at] = NULL;
	settle(s, at);
	m->ret_ns = rec->ts;
	m->d.ret = field(event, rec, "cpu", &v) ? cpu_of(v) : WI_TRUTH_NO_CPU;
	if (s->learning) {
		learn_sites(s->t, m);
		free_made(m);
		return;
	}
	s->last[at] = m;
	*s->end = m;
	s->end = &m->next;
}

static bool on_record(struct stream *s, uint32_t at, const struct tep_record *rec, struct wi_err *err)
{
	struct tep_event *event;
	const char *name = event_name(&s->r, rec, &event);
	int64_t v;

	s->now_ns = rec->ts;
	if (!strncmp(name, "rq", 2) && isdigit((unsigned char)name[2]))
		return on_rq(s, at, event, rec, err);
	if (!strcmp(name, "strf")) {
		settle(s, at);
		return on_entry(s, at, event, rec, err);
	}
	if (!strcmp(name, "ttwu"))
		settle(s, at);
	else if (!strcmp(name, "wakelist_ret") && s->last[at] && field(event, rec, "queued", &v)) {
		s->last[at]->d.queued = v == 0 || v == 1 ? (int8_t)v : -1;
		settle(s, at);
	} else if (!strcmp(name, "wakelist") && s->last[at] && field(event, rec, "pid", &v) && v != s->last[at]->d.pid)
		settle(s, at);
	if (!s->open[at])
		return true;
	if (strcmp(name, "strf_ret") != 0)
		return on_inside(s->open[at], name, event, rec, err);
	on_return(s, at, event, rec);
	return true;
}

static bool finish(struct stream *s, struct made *m, struct wi_err *err)
{
	struct wi_truth_decision *d = &m->d;

	d->line = ++s->number;
	if (d->prev == WI_TRUTH_NO_CPU || d->ret == WI_TRUTH_NO_CPU)
		return wi_err_at(err, WI_EREFUSED, s->t->path, WI_NO_OFFSET, "decision at %" PRIu64 " ns of task %" PRId32 ": %s is no CPU", d->ts_ns, d->pid,
				 d->ret == WI_TRUTH_NO_CPU ? "what it returned" : "its prev");
	m->tests = calloc((size_t)d->nr_tests + 1, sizeof(*m->tests));
	if (!m->tests)
		return wi_err_nomem(err);
	for (uint32_t i = 0; i < d->nr_tests; i++)
		m->tests[i] = (struct wi_truth_test){ m->raw[i].cpu, site_of(s, m, &m->raw[i]), m->raw[i].idle };
	d->tests = m->tests;
	d->llc = m->llc;
	d->rq = m->rq;
	d->allowed = m->mask ? &m->mask : NULL;
	d->allowed_words = m->mask ? 1 : 0;
	join(s->t, d);
	return true;
}

static int next_decision(void *self, struct wi_truth_decision *d, struct wi_err *err)
{
	struct stream *s = self;

	for (;;) {
		struct made *m = s->first;

		while (!s->over && !(m && (m->settled || m->ret_ns + SETTLE_NS < s->now_ns))) {
			uint32_t at = 0;
			struct tep_record *rec = reader_next(&s->r, &at);
			bool ok = !rec || on_record(s, at, rec, err);

			s->over = !rec;
			if (rec)
				tracecmd_free_record(rec);
			if (!ok)
				return -1;
			m = s->first;
		}
		if (!m)
			return 0;
		if (!m->settled && s->last[m->d.cpu] == m)
			s->last[m->d.cpu] = NULL;
		s->first = m->next;
		if (!s->first)
			s->end = &s->first;
		free_made(s->shown);
		s->shown = m;
		if (m->d.ts_ns < s->t->from_ns || m->d.ts_ns > s->t->to_ns) /* probes run longer than the trace */
			continue;
		if (!finish(s, m, err))
			return -1;
		*d = m->d;
		return 1;
	}
}

static int next_nodecision(void *self, struct wi_truth_nodecision *d, struct wi_err *err)
{
	struct stream *s = self;
	struct wi_truth_dat *t = s->t;

	(void)err;
	while (s->at_waking < t->nr) {
		const struct waking *w = &t->waking[s->at_waking++];

		if (w->used || w->ns < t->truth_from_ns || w->ns > t->truth_to_ns)
			continue;
		*d = (struct wi_truth_nodecision){ .line = s->at_waking,
						   .waking_ts_ns = w->ns,
						   .wakeup_ts_ns = WI_TRUTH_NO_TIME,
						   .cpu = w->cpu,
						   .target_cpu = WI_TRUTH_NO_CPU,
						   .wakeup_cpu = WI_TRUTH_NO_CPU,
						   .pid = w->pid,
						   .reason = "no decision in the truth" };
		return 1;
	}
	return 0;
}

static struct stream *stream_new(struct wi_truth_dat *t, struct wi_err *err)
{
	struct stream *s = calloc(1, sizeof(*s));
	uint32_t n;

	if (!s) {
		wi_err_nomem(err);
		return NULL;
	}
	s->t = t;
	s->end = &s->first;
	if (!reader_init(&s->r, t, err))
		goto fail;
	n = s->r.nr_cpus;
	s->open = calloc(n, sizeof(struct made *));
	s->last = calloc(n, sizeof(struct made *));
	s->rq = calloc(n, sizeof(struct wi_truth_rq *));
	s->nr_rq = calloc(n, sizeof(*s->nr_rq));
	s->room_rq = calloc(n, sizeof(*s->room_rq));
	if (s->open && s->last && s->rq && s->nr_rq && s->room_rq)
		return s;
	wi_err_nomem(err);
fail:
	stream_close(s);
	return NULL;
}

static bool learn(struct wi_truth_dat *t, struct wi_err *err)
{
	struct stream *s = stream_new(t, err);
	struct tep_record *rec;
	uint32_t at = 0;
	bool ok = s != NULL;

	t->truth_from_ns = UINT64_MAX;
	while (ok && (rec = reader_next(&s->r, &at))) {
		s->learning = true;
		ok = on_record(s, at, rec, err);
		if (rec->ts < t->truth_from_ns)
			t->truth_from_ns = rec->ts;
		t->truth_to_ns = rec->ts;
		tracecmd_free_record(rec);
	}
	stream_close(s);
	return ok;
}

static void try_once(void *ctx)
{
	struct wi_err ignored = { 0 };

	learn(ctx, &ignored);
}

struct wi_truth_dat *wi_truth_dat_new(const char *path, struct wi_err *err)
{
	struct wi_truth_dat *t = calloc(1, sizeof(*t));
	struct stat st;

	if (!t || !(t->path = strdup(path))) {
		free(t);
		wi_err_nomem(err);
		return NULL;
	}
	t->to_ns = UINT64_MAX;
	t->fd = open_unwrapped(path, err);
	if (t->fd >= 0) {
		t->bytes = fstat(t->fd, &st) ? 0 : (uint64_t)st.st_size;
		/* libtracecmd believes the sizes and offsets in a file: damaged ones crash it */
		if (wi_trial(try_once, t, "libtracecmd", t->bytes, path, err) && learn(t, err))
			return t;
	}
	wi_truth_dat_free(t);
	return NULL;
}

void wi_truth_dat_free(struct wi_truth_dat *t)
{
	if (!t)
		return;
	if (t->fd >= 0)
		close(t->fd);
	free(t->waking);
	free(t->path);
	free(t);
}

static bool keep_waking(struct wi_truth_dat *t, const struct wi_event *ev, struct wi_err *err)
{
	if (t->nr == t->room) {
		size_t room = t->room ? t->room * 2 : 4096;
		struct waking *w = realloc(t->waking, room * sizeof(*w));

		if (!w)
			return wi_err_nomem(err);
		t->waking = w;
		t->room = room;
	}
	t->waking[t->nr++] = (struct waking){ .ns = ev->ts_ns, .pid = ev->wk.pid, .cpu = ev->cpu };
	return true;
}

bool wi_truth_dat_trace(struct wi_truth_dat *t, struct wi_source *src, struct wi_err *err)
{
	struct wi_event ev[256];
	bool ok = true;
	int n = 0;

	t->from_ns = UINT64_MAX;
	t->to_ns = 0;
	while (ok && (n = wi_source_next_batch(src, ev, 256, err)) > 0)
		for (int i = 0; ok && i < n; i++) {
			t->from_ns = ev[i].ts_ns < t->from_ns ? ev[i].ts_ns : t->from_ns;
			t->to_ns = ev[i].ts_ns > t->to_ns ? ev[i].ts_ns : t->to_ns;
			if (ev[i].type == WI_EV_SCHED_WAKING)
				ok = keep_waking(t, &ev[i], err);
		}
	if (t->nr)
		qsort(t->waking, t->nr, sizeof(*t->waking), by_place);
	return ok && !n && wi_source_rewind(src, err);
}

struct wi_truth *wi_truth_dat_open(void *ctx, bool nodecision, struct wi_err *err)
{
	static const struct wi_truth_ops ops = { next_decision, next_nodecision, stream_close };
	struct wi_truth_dat *t = ctx;
	struct stream *s = nodecision ? calloc(1, sizeof(*s)) : stream_new(t, err);
	struct wi_truth *truth;

	if (!s) {
		wi_err_nomem(err);
		return NULL;
	}
	s->t = t;
	truth = wi_truth_of(&ops, s, err);
	if (!truth)
		stream_close(s);
	return truth;
}
