/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analyzer/replay/truth.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/base/cpumask.h"
#include "analyzer/replay/tsv.h"

/* X(id, needed) */
#define DECISION_COLUMNS(X)                                                                                            \
	X(ts_ns, 1)                                                                                                    \
	X(waking_ts_ns, 0) X(cpu, 1) X(waker, 0) X(pid, 1) X(prev, 1) X(wf, 1) X(ncpus, 0) X(mask, 0) X(recent, 0)     \
		X(flips, 0) X(lastw, 0) X(prio, 0) X(policy, 0) X(util, 0) X(uest, 0) X(load, 0) X(lut, 0)             \
			X(weight, 0) X(wa_this, 0) X(wa_prev, 0) X(wa_sync, 0) X(this_eff, 0) X(prev_eff, 0)           \
				X(sis_target, 0) X(has_idle_core, 0) X(ret, 1) X(queued, 0) X(scans, 0) X(llc, 0)      \
					X(rq, 0)

#define NODECISION_COLUMNS(X)                                                                                          \
	X(waking_ts_ns, 1)                                                                                             \
	X(cpu, 0) X(pid, 1) X(prio, 0) X(target_cpu, 0) X(wakeup_ts_ns, 0) X(wakeup_cpu, 0) X(reason, 1)

enum {
#define X(id, needed) D_##id,
	DECISION_COLUMNS(X)
#undef X
		NR_D
};

enum {
#define X(id, needed) N_##id,
	NODECISION_COLUMNS(X)
#undef X
		NR_N
};

static const struct column {
	const char *name;
	bool needed;
} decision_columns[NR_D] = {
#define X(id, needed) { #id, needed },
	DECISION_COLUMNS(X)
#undef X
}, nodecision_columns[NR_N] = {
#define X(id, needed) { #id, needed },
	NODECISION_COLUMNS(X)
#undef X
};

_Static_assert((int)NR_D >= (int)NR_N, "one array holds the columns of either");

struct wi_truth {
	const struct wi_truth_ops *ops; /* NULL: a table */
	void *self;
	struct wi_tsv tsv;
	const struct column *columns;
	int at[NR_D];		 /* field index of a column; -1 not there */
	unsigned int nr_columns; /* of the file */
	wakeif_word *mask;
	struct wi_truth_test *tests;
	struct wi_truth_llc *llc;
	struct wi_truth_rq *rq;
	uint32_t mask_size, tests_size, llc_size, rq_size;
};

/* Text of a column; NULL for "-" and for one that is not there. */
static char *text_of(const struct wi_truth *t, int column)
{
	char *s = t->at[column] >= 0 ? t->tsv.field[t->at[column]] : NULL;

	return s && strcmp(s, "-") ? s : NULL;
}

static bool wrong(const struct wi_truth *t, int column, const char *found, const char *want, struct wi_err *err)
{
	return wi_tsv_err(&t->tsv, err, "column %s: is no %s: \"%.40s\"", t->columns[column].name, want, found);
}

/* A number of min .. max up to `end`; the text behind it in *next. */
static bool number(const char *s, int64_t min, uint64_t max, bool hex, int64_t *out, char **next)
{
	bool negative = *s == '-';
	const char *digits = s + negative;
	int base = hex && digits[0] == '0' && (digits[1] == 'x' || digits[1] == 'X') ? 16 : 10;

	if (base == 16)
		digits += 2;
	if (!((*digits >= '0' && *digits <= '9') ||
	      (base == 16 && ((*digits >= 'a' && *digits <= 'f') || (*digits >= 'A' && *digits <= 'F')))))
		return false;
	errno = 0;
	unsigned long long v = strtoull(digits, next, base);

	if (errno || (negative ? v > (uint64_t)-min : v > max))
		return false;
	*out = negative ? -(int64_t)v : (int64_t)v;
	return true;
}

/* Whole field; *out keeps its value where nothing was recorded. */
static bool field(const struct wi_truth *t, int column, int64_t min, uint64_t max, int64_t *out, struct wi_err *err)
{
	const char *s = text_of(t, column);
	char *end;

	if (!s) {
		if (t->columns[column].needed)
			return wi_tsv_err(&t->tsv, err, "column %s: is empty", t->columns[column].name);
		return true;
	}
	if (!number(s, min, max, true, out, &end) || *end)
		return wrong(t, column, s, "number in its range", err);
	return true;
}

#define NUMBER(member, column, min, max, dflt)                                                                         \
	do {                                                                                                           \
		int64_t v_ = (int64_t)(dflt);                                                                          \
		if (!field(t, column, min, max, &v_, err))                                                             \
			return false;                                                                                  \
		(member) = (__typeof__(member))v_;                                                                     \
	} while (0)

#define CPU(member, column) NUMBER(member, column, 0, WI_MAX_CPUS - 1, WI_TRUTH_NO_CPU)

static bool grow(void *array, uint32_t *size, uint32_t need, size_t each, struct wi_err *err)
{
	void **p = array;

	if (need <= *size)
		return true;
	uint32_t want = *size * 2 > need ? *size * 2 : need + 16;
	void *fresh = realloc(*p, want * each);

	if (!fresh)
		return wi_err_nomem(err);
	*p = fresh;
	*size = want;
	return true;
}

/* "0xff", of any length. */
static bool parse_mask(struct wi_truth *t, struct wi_truth_decision *d, struct wi_err *err)
{
	const char *s = text_of(t, D_mask);

	if (!s)
		return true;
	const char *hex = s + (s[0] == '0' && (s[1] == 'x' || s[1] == 'X') ? 2 : 0);
	size_t len = strspn(hex, "0123456789abcdefABCDEF");

	if (!len || hex[len] || len > WI_MAX_CPUS / 4)
		return wrong(t, D_mask, s, "hexadecimal CPU set", err);
	uint32_t words = (uint32_t)((len + 15) / 16);

	if (!grow(&t->mask, &t->mask_size, words, sizeof(*t->mask), err))
		return false;
	memset(t->mask, 0, words * sizeof(*t->mask));
	for (size_t i = 0; i < len; i++) {
		char c = hex[len - 1 - i];
		uint64_t v = (uint64_t)(c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10);

		t->mask[i / 16] |= v << (i % 16 * 4);
	}
	d->allowed = t->mask;
	d->allowed_words = words;
	return true;
}

/* The parts of "a:b:c" as numbers, all of them, then ';' or the end. */
static bool parts(char **at, int64_t *v, unsigned int nr, const int64_t *min, const uint64_t *max)
{
	for (unsigned int i = 0; i < nr; i++) {
		char *end;

		if (!number(*at, min ? min[i] : 0, max[i], false, &v[i], &end))
			return false;
		if (i + 1 < nr ? *end != ':' : *end && *end != ';')
			return false;
		*at = end + (i + 1 < nr);
	}
	if (**at == ';')
		(*at)++;
	return true;
}

static bool parse_tests(struct wi_truth *t, struct wi_truth_decision *d, struct wi_err *err)
{
	static const uint64_t max[2] = { WI_MAX_CPUS - 1, 1 };
	char *s = text_of(t, D_scans);
	uint32_t n = 0;

	for (char *at = s; at && *at; n++) {
		int64_t v[2];
		char site = *at;

		if (!((site >= 'A' && site <= 'Z') || site == '?') || at[1] != ':')
			return wrong(t, D_scans, at, "site:cpu:idle", err);
		char *from = at;

		at += 2;
		if (!parts(&at, v, 2, NULL, max))
			return wrong(t, D_scans, from, "site:cpu:idle", err);
		if (!grow(&t->tests, &t->tests_size, n + 1, sizeof(*t->tests), err))
			return false;
		t->tests[n] = (struct wi_truth_test){ .cpu = (uint32_t)v[0], .site = site, .idle = v[1] };
	}
	d->tests = t->tests;
	d->nr_tests = n;
	return true;
}

static bool parse_llc(struct wi_truth *t, struct wi_truth_decision *d, struct wi_err *err)
{
	static const uint64_t max[4] = { WI_MAX_CPUS - 1, WI_MAX_CPUS, 1, WI_MAX_CPUS };
	uint32_t n = 0;

	for (char *at = text_of(t, D_llc); at && *at; n++) {
		int64_t v[4];
		char *from = at;

		if (!parts(&at, v, 4, NULL, max))
			return wrong(t, D_llc, from, "firstcpu:nr_idle_scan:has_idle_cores:nr_busy_cpus", err);
		if (!grow(&t->llc, &t->llc_size, n + 1, sizeof(*t->llc), err))
			return false;
		t->llc[n] = (struct wi_truth_llc){ (uint32_t)v[0], (uint32_t)v[1], (uint32_t)v[3], v[2] };
	}
	d->llc = t->llc;
	d->nr_llcs = n;
	return true;
}

static bool parse_rq(struct wi_truth *t, struct wi_truth_decision *d, struct wi_err *err)
{
	static const int64_t min[12] = { [9] = -1 };
	static const uint64_t max[12] = { UINT32_MAX, UINT32_MAX, UINT32_MAX, 1,	 INT64_MAX,  INT64_MAX,
					  INT64_MAX,  INT64_MAX,  UINT32_MAX, INT32_MAX, UINT32_MAX, INT64_MAX };
	uint32_t n = 0;

	for (char *at = text_of(t, D_rq); at && *at; n++) {
		int64_t v[12];
		char *from = at;

		if (n == WI_MAX_CPUS || !parts(&at, v, 12, min, max))
			return wrong(t, D_rq, from, "run queue of 12 numbers", err);
		if (!grow(&t->rq, &t->rq_size, n + 1, sizeof(*t->rq), err))
			return false;
		t->rq[n] = (struct wi_truth_rq){ .nr_running = (uint32_t)v[0],
						 .h_nr_running = (uint32_t)v[1],
						 .idle_h_nr_running = (uint32_t)v[2],
						 .pending = v[3],
						 .load = (uint64_t)v[4],
						 .util = (uint64_t)v[5],
						 .util_est = (uint64_t)v[6],
						 .runnable = (uint64_t)v[7],
						 .capacity = (uint32_t)v[8],
						 .curr_pid = (int32_t)v[9],
						 .curr_flips = (uint32_t)v[10],
						 .clock_ns = (uint64_t)v[11] };
	}
	d->rq = t->rq;
	d->nr_rqs = n;
	return true;
}

static bool parse_decision(struct wi_truth *t, struct wi_truth_decision *d, struct wi_err *err)
{
	int64_t queued = -1;

	*d = (struct wi_truth_decision){ .line = t->tsv.line };
	NUMBER(d->ts_ns, D_ts_ns, 0, INT64_MAX, 0);
	NUMBER(d->waking_ts_ns, D_waking_ts_ns, 0, INT64_MAX, WI_TRUTH_NO_TIME);
	CPU(d->cpu, D_cpu);
	NUMBER(d->waker, D_waker, 0, INT32_MAX, -1);
	NUMBER(d->pid, D_pid, 0, INT32_MAX, 0);
	CPU(d->prev, D_prev);
	CPU(d->ret, D_ret);
	NUMBER(d->wake_flags, D_wf, 0, UINT32_MAX, 0);
	NUMBER(d->nr_allowed, D_ncpus, 0, UINT32_MAX, 0);
	NUMBER(d->recent, D_recent, -1, WI_MAX_CPUS - 1, -1);
	NUMBER(d->flips, D_flips, 0, UINT32_MAX, 0);
	NUMBER(d->last_wakee, D_lastw, -1, INT32_MAX, -1);
	NUMBER(d->prio, D_prio, -1, 139, 120);
	NUMBER(d->policy, D_policy, 0, 255, WAKEIF_POLICY_UNKNOWN);
	d->has_load = text_of(t, D_load);
	NUMBER(d->util, D_util, 0, INT64_MAX, 0);
	NUMBER(d->util_est, D_uest, 0, UINT64_MAX, 0);
	NUMBER(d->load, D_load, 0, INT64_MAX, 0);
	NUMBER(d->update_ns, D_lut, 0, INT64_MAX, 0);
	NUMBER(d->weight, D_weight, 0, INT64_MAX, 0);
	d->called_affine = text_of(t, D_wa_this);
	CPU(d->affine_this, D_wa_this);
	CPU(d->affine_prev, D_wa_prev);
	NUMBER(d->sync, D_wa_sync, 0, INT32_MAX, 0);
	d->compared = text_of(t, D_this_eff) && text_of(t, D_prev_eff);
	NUMBER(d->this_eff, D_this_eff, INT64_MIN + 1, INT64_MAX, 0);
	NUMBER(d->prev_eff, D_prev_eff, INT64_MIN + 1, INT64_MAX, 0);
	CPU(d->sis_target, D_sis_target);
	NUMBER(d->wanted_core, D_has_idle_core, 0, 1, -1);
	if (!field(t, D_queued, INT32_MIN, INT32_MAX, &queued, err))
		return false;
	d->queued = queued == 0 || queued == 1 ? (int8_t)queued : -1;
	d->has_tests = text_of(t, D_scans);
	return parse_mask(t, d, err) && parse_tests(t, d, err) && parse_llc(t, d, err) && parse_rq(t, d, err);
}

static bool parse_nodecision(struct wi_truth *t, struct wi_truth_nodecision *d, struct wi_err *err)
{
	*d = (struct wi_truth_nodecision){ .line = t->tsv.line };
	NUMBER(d->waking_ts_ns, N_waking_ts_ns, 0, INT64_MAX, 0);
	NUMBER(d->wakeup_ts_ns, N_wakeup_ts_ns, 0, INT64_MAX, WI_TRUTH_NO_TIME);
	CPU(d->cpu, N_cpu);
	CPU(d->target_cpu, N_target_cpu);
	CPU(d->wakeup_cpu, N_wakeup_cpu);
	NUMBER(d->pid, N_pid, 0, INT32_MAX, 0);
	NUMBER(d->prio, N_prio, -1, 139, 120);
	d->reason = text_of(t, N_reason);
	if (!d->reason)
		return wi_tsv_err(&t->tsv, err, "column reason: is empty");
	return true;
}

static bool find_columns(struct wi_truth *t, unsigned int nr, struct wi_err *err)
{
	for (unsigned int c = 0; c < nr; c++) {
		t->at[c] = -1;
		for (unsigned int i = 0; i < t->tsv.nr_fields; i++) {
			if (strcmp(t->tsv.field[i], t->columns[c].name))
				continue;
			if (t->at[c] >= 0)
				return wi_tsv_err(&t->tsv, err, "column %s: is there twice", t->columns[c].name);
			t->at[c] = (int)i;
		}
		if (t->at[c] < 0 && t->columns[c].needed)
			return wi_tsv_err(&t->tsv, err, "column %s: is missing: \"%.40s\"", t->columns[c].name,
					  t->tsv.field[0]);
	}
	t->nr_columns = t->tsv.nr_fields;
	return true;
}

static struct wi_truth *open_table(const char *path, const struct column *columns, unsigned int nr, struct wi_err *err)
{
	struct wi_truth *t = calloc(1, sizeof(*t));

	if (!t) {
		wi_err_nomem(err);
		return NULL;
	}
	t->columns = columns;
	if (!wi_tsv_open(&t->tsv, path, err))
		goto fail;
	int got = wi_tsv_next(&t->tsv, err);

	if (got == 0) {
		t->tsv.line = 1;
		wi_tsv_err(&t->tsv, err, "is empty: no line with column names");
	}
	if (got <= 0 || !find_columns(t, nr, err))
		goto fail;
	return t;
fail:
	wi_truth_close(t);
	return NULL;
}

struct wi_truth *wi_truth_open(const char *path, struct wi_err *err)
{
	return open_table(path, decision_columns, NR_D, err);
}

struct wi_truth *wi_truth_open_nodecision(const char *path, struct wi_err *err)
{
	return open_table(path, nodecision_columns, NR_N, err);
}

struct wi_truth *wi_truth_of(const struct wi_truth_ops *ops, void *self, struct wi_err *err)
{
	struct wi_truth *t = calloc(1, sizeof(*t));

	if (!t) {
		wi_err_nomem(err);
		return NULL;
	}
	t->ops = ops;
	t->self = self;
	return t;
}

static int next_line(struct wi_truth *t, struct wi_err *err)
{
	int got = wi_tsv_next(&t->tsv, err);

	if (got > 0 && t->tsv.nr_fields != t->nr_columns) {
		wi_tsv_err(&t->tsv, err, "has not the %u fields of the first line: %u", t->nr_columns,
			   t->tsv.nr_fields);
		return -1;
	}
	return got;
}

int wi_truth_next(struct wi_truth *t, struct wi_truth_decision *d, struct wi_err *err)
{
	int got = t->ops ? t->ops->next(t->self, d, err) : next_line(t, err);

	return got <= 0 || t->ops || parse_decision(t, d, err) ? got : -1;
}

int wi_truth_next_nodecision(struct wi_truth *t, struct wi_truth_nodecision *d, struct wi_err *err)
{
	int got = t->ops ? t->ops->next_nodecision(t->self, d, err) : next_line(t, err);

	return got <= 0 || t->ops || parse_nodecision(t, d, err) ? got : -1;
}

void wi_truth_close(struct wi_truth *t)
{
	if (!t)
		return;
	if (t->ops)
		t->ops->close(t->self);
	wi_tsv_close(&t->tsv);
	free(t->mask);
	free(t->tests);
	free(t->llc);
	free(t->rq);
	free(t);
}
