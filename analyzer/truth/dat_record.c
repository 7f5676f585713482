/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What one probe event says of the decision that it belongs to. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/truth/dat_priv.h"

#define MAX_TESTS 65536u

void wi_dat_made_free(struct made *m)
{
	if (!m)
		return;
	free(m->raw);
	free(m->tests);
	free(m->llc);
	free(m->rq);
	free(m);
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

bool wi_dat_on_rq(struct stream *s, uint32_t at, struct tep_event *event, const struct tep_record *rec,
		  struct wi_err *err)
{
	for (const struct tep_format_field *f = event->format.fields; f; f = f->next) {
		char name[16];
		uint32_t cpu;
		int64_t v;

		if (!name_and_cpu(f->name, name, &cpu) || !wi_dat_value(f, rec, &v))
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

uint32_t wi_dat_cpu(int64_t v)
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
		d->prev = wi_dat_cpu(v);
	else if (IS("wf"))
		d->wake_flags = (uint32_t)v;
	else if (IS("ncpus"))
		d->nr_allowed = (uint32_t)clamp(v, UINT32_MAX);
	else if (IS("mask"))
		m->mask = (wakeif_word)v;
	else if (IS("recent"))
		d->recent = wi_dat_cpu(v);
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

bool wi_dat_on_entry(struct stream *s, uint32_t at, struct tep_event *event, const struct tep_record *rec,
		     struct wi_err *err)
{
	struct made *m = calloc(1, sizeof(*m));

	if (!m)
		return wi_err_nomem(err);
	wi_dat_made_free(s->open[at]);
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

		if (wi_dat_value(f, rec, &v) && !take_entry(m, f->name, v, err))
			return false;
	}
	return true;
}

static bool on_test(struct made *m, struct tep_event *event, const struct tep_record *rec, struct wi_err *err)
{
	struct wi_truth_decision *d = &m->d;
	int64_t ip = 0, idle = 0;

	if (m->tested == WI_TRUTH_NO_CPU || d->nr_tests == MAX_TESTS || !wi_dat_field(event, rec, "idle", &idle))
		return true;
	wi_dat_field(event, rec, "__probe_ret_ip", &ip);
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
bool wi_dat_on_inside(struct made *m, const char *name, struct tep_event *event, const struct tep_record *rec,
		      struct wi_err *err)
{
	struct wi_truth_decision *d = &m->d;
	int64_t v = 0, w = 0;

	if (!strcmp(name, "aic")) {
		m->tested = wi_dat_field(event, rec, "cpu", &v) ? wi_dat_cpu(v) : WI_TRUTH_NO_CPU;
	} else if (!strcmp(name, "aic_ret")) {
		return on_test(m, event, rec, err);
	} else if (!strcmp(name, "sis")) {
		d->sis_target = wi_dat_field(event, rec, "target", &v) ? wi_dat_cpu(v) : WI_TRUTH_NO_CPU;
		m->phase = SEARCH;
	} else if (!strcmp(name, "wa")) {
		d->called_affine = true;
		d->affine_this = wi_dat_field(event, rec, "this_cpu", &v) ? wi_dat_cpu(v) : WI_TRUTH_NO_CPU;
		d->affine_prev = wi_dat_field(event, rec, "prev_cpu", &v) ? wi_dat_cpu(v) : WI_TRUTH_NO_CPU;
		d->sync = wi_dat_field(event, rec, "sync", &v) && v;
	} else if (!strcmp(name, "siscpu")) {
		d->wanted_core = wi_dat_field(event, rec, "has_idle_core", &v) ? (v & 0xff) != 0 : -1;
		m->phase = SCAN;
	} else if (!strcmp(name, "waw") && wi_dat_field(event, rec, "this_eff", &v) &&
		   wi_dat_field(event, rec, "prev_eff", &w)) {
		d->compared = true;
		d->this_eff = v;
		d->prev_eff = w;
	}
	return true;
}
