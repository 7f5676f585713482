/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Decisions as the probes tell them, and the sched_waking that each belongs to. */
#include "analyzer/truth/dat.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analyzer/truth/dat_priv.h"
#include "models/fair.h"
#include "parsers/trial.h"

#define JOIN_NS 50000000u     /* a sched_waking belongs to a decision that follows within this time */
#define SETTLE_NS 1000000000u /* ttwu_queue_wakelist of a decision comes within this time, or not at all */

static void stream_close(void *self)
{
	struct stream *s = self;

	if (!s)
		return;
	for (uint32_t c = 0; c < s->r.nr_cpus; c++) {
		if (s->open)
			wi_dat_made_free(s->open[c]);
		if (s->rq)
			free(s->rq[c]);
	}
	for (struct made *m = s->first, *next; m; m = next) {
		next = m->next;
		wi_dat_made_free(m);
	}
	wi_dat_made_free(s->shown);
	free(s->open);
	free(s->last);
	free(s->rq);
	free(s->nr_rq);
	free(s->room_rq);
	wi_dat_reader_fini(&s->r);
	free(s);
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

		if (x->phase == SEARCH && x->cpu != m->d.sis_target && x->cpu != m->d.prev && x->cpu != m->d.recent &&
		    t->nr_smt < MAX_SITES && !is_smt(t, x->ip))
			t->smt[t->nr_smt++] = x->ip;
	}
}

/* Which test it was: by the function that asked where it is one of its own, else by where in the decision it came. */
static char site_of(const struct stream *s, const struct made *m, const struct test *x)
{
	static const struct {
		const char *function;
		char site;
	} known[] = { { "wake_affine", WI_FAIR_AFFINE },
		      { "select_idle_core", WI_FAIR_CORE },
		      { "__select_idle_cpu", WI_FAIR_SCAN },
		      { "select_idle_smt", WI_FAIR_SMT },
		      { "select_idle_capacity", WI_FAIR_CAPACITY },
		      { "find_idlest", WI_FAIR_SLOW },
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
	m->d.ret = wi_dat_field(event, rec, "cpu", &v) ? wi_dat_cpu(v) : WI_TRUTH_NO_CPU;
	if (s->learning) {
		learn_sites(s->t, m);
		wi_dat_made_free(m);
		return;
	}
	s->last[at] = m;
	*s->end = m;
	s->end = &m->next;
}

static bool on_record(struct stream *s, uint32_t at, const struct tep_record *rec, struct wi_err *err)
{
	struct tep_event *event;
	const char *name = wi_dat_event_name(&s->r, rec, &event);
	int64_t v;

	s->now_ns = rec->ts;
	if (!strncmp(name, "rq", 2) && isdigit((unsigned char)name[2]))
		return wi_dat_on_rq(s, at, event, rec, err);
	if (!strcmp(name, "strf")) {
		settle(s, at);
		return wi_dat_on_entry(s, at, event, rec, err);
	}
	if (!strcmp(name, "ttwu"))
		settle(s, at);
	else if (!strcmp(name, "wakelist_ret") && s->last[at] && wi_dat_field(event, rec, "queued", &v)) {
		s->last[at]->d.queued = v == 0 || v == 1 ? (int8_t)v : -1;
		settle(s, at);
	} else if (!strcmp(name, "wakelist") && s->last[at] && wi_dat_field(event, rec, "pid", &v) &&
		   v != s->last[at]->d.pid)
		settle(s, at);
	if (!s->open[at])
		return true;
	if (strcmp(name, "strf_ret") != 0)
		return wi_dat_on_inside(s->open[at], name, event, rec, err);
	on_return(s, at, event, rec);
	return true;
}

static bool finish(struct stream *s, struct made *m, struct wi_err *err)
{
	struct wi_truth_decision *d = &m->d;

	d->line = ++s->number;
	if (d->prev == WI_TRUTH_NO_CPU || d->ret == WI_TRUTH_NO_CPU)
		return wi_err_at(err, WI_EREFUSED, s->t->path, WI_NO_OFFSET,
				 "decision at %" PRIu64 " ns of task %" PRId32 ": %s is no CPU", d->ts_ns, d->pid,
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
			struct tep_record *rec = wi_dat_reader_next(&s->r, &at);
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
		wi_dat_made_free(s->shown);
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
	if (!wi_dat_reader_init(&s->r, t, err))
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
	while (ok && (rec = wi_dat_reader_next(&s->r, &at))) {
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
	t->fd = wi_dat_open(path, err);
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
