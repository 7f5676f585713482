/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "analyzer/batch/pool.h"

static bool put(struct pool *p, struct slot *s, struct wi_bundle *b, struct wi_err *err)
{
	enum wi_run_status status = b->status;
	const char *reason = b->reason;
	bool ok = wi_bundle_identify(b, s->sha256, s->bytes, NULL, p->opts->version, s->analysis, err) &&
		  wi_pool_begin(p, err) && wi_store_put(p->store, b, WI_PUT_REPLACE, err) &&
		  wi_pool_put_path(p, s, err);

	if (!ok)
		return false;
	p->count->status[status]++;
	wi_pool_tell(p, s, status, wi_run_status_name(status), reason);
	return true;
}

/* What a worker printed belongs to what went wrong. */
static bool add_printed(const struct slot *s, struct wi_bundle *b, struct wi_err *err)
{
	char *reason = b->reason ? strdup(b->reason) : NULL;
	bool ok = wi_bundle_outcome(b, b->status, reason, b->signal, b->exit_status, s->worker.tail, s->worker.nr_tail,
				    err);

	free(reason);
	return ok;
}

bool wi_pool_put_heard(struct pool *p, struct slot *s, const uint8_t *bytes, size_t nr, struct wi_err *err)
{
	struct wi_err why = { 0 };
	struct wi_bundle b = { .nr_tags = 0 };
	bool ok = wi_bundle_init(&b, err);

	if (ok && !wi_bundle_decode(&b, bytes, nr, &why)) {
		wi_bundle_fini(&b);
		ok = wi_bundle_init(&b, err) && wi_bundle_outcome(&b, WI_RUN_FAILED, why.msg, 0, 0, NULL, 0, err);
	}
	if (ok && b.status != WI_RUN_OK && s->worker.nr_tail)
		ok = add_printed(s, &b, err);
	ok = ok && put(p, s, &b, err);
	wi_bundle_fini(&b);
	return ok;
}

bool wi_pool_text_heard(struct pool *p, struct slot *s, enum wi_said said, const uint8_t *bytes, size_t nr,
			struct wi_err *err)
{
	char *text = strndup((const char *)bytes, nr);
	bool no_trace = said == WI_SAID_NO_TRACE;

	if (!text)
		return wi_err_nomem(err);
	*(no_trace ? &p->count->no_trace : &p->count->no_row) += 1;
	s->last_word = true;
	wi_pool_tell(p, s, WI_NR_RUN_STATUSES, no_trace ? "no trace" : "unreadable", text);
	free(text);
	return true;
}

/* Signals that a process brings upon itself. Others come from outside, and say nothing of the trace. */
static bool is_fault(int sig)
{
	return sig == SIGSEGV || sig == SIGBUS || sig == SIGILL || sig == SIGFPE || sig == SIGABRT || sig == SIGTRAP ||
	       sig == SIGSYS;
}

struct end {
	enum wi_run_status status;
	int signal, exit_status;
	char why[200];
};

static struct end judge_end(const struct pool *p, const struct slot *s, int status)
{
	struct end e = { .status = WI_RUN_FAILED };

	e.signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
	e.exit_status = WIFEXITED(status) ? WEXITSTATUS(status) : 0;
	if (s->worker.late || e.signal == SIGXCPU) {
		e.status = WI_RUN_TIMEOUT;
		snprintf(e.why, sizeof(e.why), "not done after %u s (--timeout)", p->opts->limits.timeout_s);
	} else if (e.signal && is_fault(e.signal)) {
		e.status = WI_RUN_CRASHED;
		snprintf(e.why, sizeof(e.why), "its worker crashed: signal %d (%s)", e.signal, strsignal(e.signal));
	} else if (s->worker.too_much) {
		snprintf(e.why, sizeof(e.why), "its results are larger than %u bytes", WI_BUNDLE_MAX);
	} else if (e.signal) {
		snprintf(e.why, sizeof(e.why), "its worker was killed, by hand or for want of memory: signal %d (%s)",
			 e.signal, strsignal(e.signal));
	} else {
		snprintf(e.why, sizeof(e.why), "its worker ended without a result: exit status %d", e.exit_status);
	}
	return e;
}

/* It ended without a last word. */
bool wi_pool_put_end(struct pool *p, struct slot *s, int status, struct wi_err *err)
{
	struct end e = judge_end(p, s, status);
	struct wi_bundle b = { .nr_tags = 0 };
	bool ok;

	if (s->state == HASHING) { /* who it is was never known: there can be no row */
		p->count->no_row++;
		wi_pool_tell(p, s, WI_NR_RUN_STATUSES, "unreadable", e.why);
		return true;
	}
	ok = wi_bundle_init(&b, err) &&
	     wi_bundle_outcome(&b, e.status, e.why, s->worker.late || s->worker.too_much ? 0 : e.signal, e.exit_status,
			       s->worker.tail, s->worker.nr_tail, err) &&
	     put(p, s, &b, err);
	wi_bundle_fini(&b);
	return ok;
}
