/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The loop: traces from the search into free slots, what workers say into the database.
 *
 * A slot hashes first. What is then known of the content decides: analyse; nothing to do; or wait, while another slot
 * is at the same content. Only the row of what a worker told as a whole, or of how it ended, is ever written.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>

#include "analyzer/batch/talk.h"

#define SYNC_NS 1000000000ull /* rows are on the disk after so long */
#define HOLD_NS 30000000ull   /* they are committed, without waiting for the disk, after so long */
#define EAGER_NS 200000000ull /* or, where each commit waits for it, committed after so long */
#define WAIT_NS 200000000ull  /* at most, for workers: there is progress to tell */
#define STEPS_AHEAD 64	      /* of the search, between two looks at the workers */

enum state { FREE, HASHING, WAITING, WORKING };

struct slot {
	enum state state;
	struct wi_found found;
	struct wi_task task;
	struct wi_worker worker;
	uint8_t sha256[WI_SHA256_BYTES];
	uint64_t bytes;
	char *analysis;
	struct wi_tag_set tags;
	size_t heard; /* bytes of worker.in that are understood */
	bool last_word;
};

struct pool {
	struct wi_store *store;
	struct wi_discover *d;
	const struct wi_batch_opts *opts;
	const struct wi_batch_ops *ops;
	const struct wi_batch_events *events;
	struct wi_batch_count *count;
	struct slot *slot;
	struct pollfd *poll;
	const struct slot *putting; /* what is being written, out of its slot; NULL: nothing */
	bool searched;		    /* everything is found */
	bool open;		    /* a transaction */
	uint64_t due_ns;	    /* when it is to end */
	bool lazy;		    /* commits do not wait for the disk */
	bool floating;		    /* there are such since it was last waited for */
	uint64_t synced_ns;
};

static void note(struct pool *p, const char *text)
{
	if (p->events->note)
		p->events->note(p->events->ctx, text);
}

/* ---- database ---- */

static bool begin(struct pool *p, struct wi_err *err)
{
	if (p->open)
		return true;
	if (!wi_store_begin(p->store, err))
		return false;
	p->open = true;
	p->due_ns = wi_now_ns() + (p->lazy ? HOLD_NS : EAGER_NS);
	return true;
}

/*
 * What has arrived is committed at once, but for results that come so fast that each commit would write the same pages
 * again: a kill -9 costs what is in work. The disk is waited for now and then only, which bounds what a power failure
 * costs. Where each commit waits for it, they are fewer.
 */
static bool commit(struct pool *p, bool now, struct wi_err *err)
{
	if (!p->open || (!now && wi_now_ns() < p->due_ns))
		return true;
	p->open = false;
	p->floating = true;
	return wi_store_commit(p->store, err);
}

static bool sync_now_and_then(struct pool *p, struct wi_err *err)
{
	uint64_t now = wi_now_ns();

	if (!p->lazy || !p->floating || p->open || now - p->synced_ns < SYNC_NS)
		return true;
	p->synced_ns = now;
	p->floating = false;
	return wi_store_sync(p->store, err);
}

static struct wi_file_id file_id(const struct wi_found *f)
{
	return (struct wi_file_id){ .path = f->path,
				    .dev = f->dev,
				    .ino = f->ino,
				    .size_bytes = f->size_bytes,
				    .mtime_ns = f->mtime_ns,
				    .ctime_ns = f->ctime_ns };
}

#define SETTLED_NS                                                                                                     \
	2000000000ll /* a file that changed later than so long ago may change again within its time stamp              \
		      */

static bool cache_hash(struct pool *p, const struct slot *s, struct wi_err *err)
{
	const struct wi_file_id id = file_id(&s->found);
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	if (s->found.folder || (int64_t)now.tv_sec * 1000000000 - s->found.ctime_ns < SETTLED_NS)
		return true;
	return begin(p, err) && wi_store_cache_hash(p->store, &id, s->sha256, err);
}

/* ---- slots ---- */

static void tell_trace(struct pool *p, const struct slot *s, enum wi_run_status status, const char *what,
		       const char *why)
{
	p->count->done++;
	p->count->done_bytes += s->found.size_bytes;
	if (p->events->trace)
		p->events->trace(p->events->ctx, s->found.path, status, what, why ? why : "");
}

static void empty(struct slot *s)
{
	memset(s, 0, sizeof(*s));
	s->worker.from = s->worker.errors = s->worker.to = -1;
}

static void clear(struct slot *s)
{
	wi_worker_fini(&s->worker);
	free(s->found.path);
	free(s->analysis);
	wi_tag_set_fini(&s->tags);
	empty(s);
}

static bool start(struct pool *p, struct slot *s, bool hash, struct wi_err *err)
{
	size_t nr = 0;
	int *fds = malloc((p->opts->jobs + 1) * 3 * sizeof(*fds));
	bool ok;

	if (!fds)
		return wi_err_nomem(err);
	for (size_t i = 0; i <= p->opts->jobs; i++) {
		const struct slot *other = i < p->opts->jobs ? &p->slot[i] : p->putting;

		if (!other)
			continue;
		fds[nr++] = other->worker.from;
		fds[nr++] = other->worker.errors;
		fds[nr++] = other->worker.to;
	}
	s->task = (struct wi_task){ .ops = p->ops, .found = &s->found, .hash = hash };
	s->state = hash ? HASHING : WORKING;
	ok = wi_worker_start(&s->worker, &p->opts->limits, wi_talk_work, &s->task, fds, nr, err);
	free(fds);
	return ok;
}

/* The tags that the path gives: what cannot be used is told, and costs no more than that. */
static bool find_tags(struct pool *p, struct slot *s, struct wi_err *err)
{
	struct wi_err why = { 0 };
	bool matched = !p->opts->nr_patterns, ok = true;
	char *file;

	for (size_t i = 0; ok && i < p->opts->nr_patterns; i++) {
		bool one;

		ok = wi_tag_pattern_match(p->opts->pattern[i], s->found.path + s->found.below, &s->tags, &one, &why);
		matched |= one;
	}
	p->count->untagged += !matched;
	file = p->ops->tag_file(p->ops->ctx, s->found.path);
	if (file && ok)
		ok = wi_tag_set_of_json(file, &s->tags, &why);
	free(file);
	if (ok)
		return true;
	if (why.code == WI_EIO && !strcmp(why.msg, "out of memory"))
		return wi_err_nomem(err);
	p->count->bad_sides++;
	note(p, why.msg);
	return true;
}

static bool put_path(struct pool *p, struct slot *s, struct wi_err *err)
{
	bool changed;

	return begin(p, err) &&
	       wi_store_put_path(p->store, s->sha256, s->bytes, s->found.path, s->tags.tag, s->tags.nr, &changed, err);
}

/* ---- what to do with a content ---- */

static bool in_work(const struct pool *p, const struct slot *s)
{
	if (p->putting && !memcmp(p->putting->sha256, s->sha256, WI_SHA256_BYTES))
		return true;
	for (size_t i = 0; i < p->opts->jobs; i++)
		if (&p->slot[i] != s && p->slot[i].state == WORKING &&
		    !memcmp(p->slot[i].sha256, s->sha256, WI_SHA256_BYTES))
			return true;
	return false;
}

static bool is_good(const struct pool *p, const struct wi_store_known *k)
{
	if (!k->found || strcmp(k->version, p->opts->version) != 0)
		return false;
	switch (k->status) {
	case WI_RUN_FAILED:
		return false;
	case WI_RUN_TIMEOUT:
	case WI_RUN_MEMORY:
	case WI_RUN_CRASHED:
		return !p->opts->retry;
	default:
		return true;
	}
}

static void count_known(struct pool *p, const struct slot *s, const struct wi_store_known *k)
{
	p->count->known++;
	p->count->kept_failures +=
		k->status == WI_RUN_TIMEOUT || k->status == WI_RUN_MEMORY || k->status == WI_RUN_CRASHED;
	tell_trace(p, s, WI_NR_RUN_STATUSES, "already in", "");
}

enum verdict { ANALYSE, LATER, DONE };

/* The hash is known. false: the database failed. */
static bool decide(struct pool *p, struct slot *s, enum verdict *v, struct wi_err *err)
{
	struct wi_store_known known = { .found = false };
	bool met, same;

	*v = LATER;
	if (in_work(p, s))
		return true;
	if (!wi_discover_meet(p->d, s->sha256, s->analysis, &met, &same, err) ||
	    !wi_store_find(p->store, s->sha256, s->bytes, s->analysis, &known, err))
		return false;
	*v = DONE;
	if (met && !same) {
		p->count->copies++;
		p->count->other_sides++;
		tell_trace(p, s, WI_NR_RUN_STATUSES, "a copy", "of a trace that has other files beside it");
		return put_path(p, s, err);
	}
	if (met && known.found) {
		p->count->copies++;
		tell_trace(p, s, WI_NR_RUN_STATUSES, "a copy", "");
		return put_path(p, s, err);
	}
	if (is_good(p, &known)) {
		count_known(p, s, &known);
		return put_path(p, s, err);
	}
	*v = ANALYSE;
	return true;
}

/* What the row of this trace will be called. false: *ok tells whether the pool can go on. */
static bool describe(struct pool *p, struct slot *s, bool *ok, struct wi_err *err)
{
	struct wi_err why = { 0 };

	*ok = find_tags(p, s, err);
	if (!*ok)
		return false;
	s->analysis = p->ops->describe(p->ops->ctx, s->found.path, &why);
	if (s->analysis)
		return true;
	p->count->no_row++;
	tell_trace(p, s, WI_NR_RUN_STATUSES, "unreadable", why.msg);
	return false;
}

static bool hash_heard(struct pool *p, struct slot *s, const uint8_t *bytes, size_t nr, struct wi_err *err)
{
	struct wi_bytes_in in = { .at = bytes, .nr = nr };
	enum verdict v;
	bool ok;

	if (nr != 8 + WI_SHA256_BYTES || s->state != HASHING)
		return true; /* no worker of ours says that: it will be told from how it ends */
	s->bytes = wi_bytes_get_u64(&in);
	memcpy(s->sha256, bytes + 8, WI_SHA256_BYTES);
	if (!cache_hash(p, s, err))
		return false;
	if (!describe(p, s, &ok, err)) {
		clear(s);
		return ok;
	}
	if (!decide(p, s, &v, err))
		return false;
	if (v == DONE) {
		clear(s);
	} else if (v == LATER) {
		s->state = WAITING;
	} else {
		s->state = WORKING;
		wi_talk_go_on(&s->worker); /* if it is no more, its end tells */
	}
	return true;
}

/* A content that is no longer in work: slots that waited for it. */
static bool wake_waiting(struct pool *p, struct wi_err *err)
{
	for (size_t i = 0; i < p->opts->jobs; i++) {
		struct slot *s = &p->slot[i];
		enum verdict v;

		if (s->state != WAITING)
			continue;
		if (!decide(p, s, &v, err))
			return false;
		if (v == DONE) {
			clear(s);
		} else if (v == ANALYSE) {
			s->state = WORKING;
			if (s->worker.deadline_ns != UINT64_MAX)
				s->worker.deadline_ns = wi_now_ns() + p->opts->limits.timeout_s * 1000000000ull;
			wi_talk_go_on(&s->worker);
		}
	}
	return true;
}

/* ---- what comes of it ---- */

static bool put(struct pool *p, struct slot *s, struct wi_bundle *b, struct wi_err *err)
{
	enum wi_run_status status = b->status;
	const char *reason = b->reason;
	bool ok = wi_bundle_identify(b, s->sha256, s->bytes, NULL, p->opts->version, s->analysis, err) &&
		  begin(p, err) && wi_store_put(p->store, b, WI_PUT_REPLACE, err) && put_path(p, s, err);

	if (!ok)
		return false;
	p->count->status[status]++;
	tell_trace(p, s, status, wi_run_status_name(status), reason);
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

static bool put_heard(struct pool *p, struct slot *s, const uint8_t *bytes, size_t nr, struct wi_err *err)
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

static bool fill(struct pool *p, bool *none, struct wi_err *err);
static bool wake_waiting(struct pool *p, struct wi_err *err);

/* Its slot has the next trace in work while its results are written. */
static bool finish(struct pool *p, struct slot *s, const uint8_t *bytes, size_t nr, struct wi_err *err)
{
	struct slot done = *s;
	bool none, ok;

	empty(s);
	p->putting = &done;
	ok = fill(p, &none, err) && put_heard(p, &done, bytes, nr, err);
	p->putting = NULL;
	clear(&done); /* it has nothing more to say: its process is ended, not waited for */
	return ok && wake_waiting(p, err);
}

static bool text_heard(struct pool *p, struct slot *s, enum wi_said said, const uint8_t *bytes, size_t nr,
		       struct wi_err *err)
{
	char *text = strndup((const char *)bytes, nr);
	bool no_trace = said == WI_SAID_NO_TRACE;

	if (!text)
		return wi_err_nomem(err);
	*(no_trace ? &p->count->no_trace : &p->count->no_row) += 1;
	s->last_word = true;
	tell_trace(p, s, WI_NR_RUN_STATUSES, no_trace ? "no trace" : "unreadable", text);
	free(text);
	return true;
}

/* Whole messages, in their order. The slot may be free afterwards, or have another trace. */
static bool understand(struct pool *p, struct slot *s, struct wi_err *err)
{
	const uint8_t *bytes;
	enum wi_said said;
	size_t nr;
	bool ok = true;

	while (ok && s->state != FREE && !s->last_word && wi_talk_next(&s->worker, &s->heard, &said, &bytes, &nr)) {
		if (said == WI_SAID_HASH)
			ok = hash_heard(p, s, bytes, nr, err);
		else if (said == WI_SAID_BUNDLE && s->state == WORKING)
			ok = finish(p, s, bytes, nr, err);
		else if (said == WI_SAID_NO_TRACE || said == WI_SAID_NO_ROW)
			ok = text_heard(p, s, said, bytes, nr, err);
	}
	return ok;
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
static bool put_end(struct pool *p, struct slot *s, int status, struct wi_err *err)
{
	struct end e = judge_end(p, s, status);
	struct wi_bundle b = { .nr_tags = 0 };
	bool ok;

	if (s->state == HASHING) { /* who it is was never known: there can be no row */
		p->count->no_row++;
		tell_trace(p, s, WI_NR_RUN_STATUSES, "unreadable", e.why);
		return true;
	}
	ok = wi_bundle_init(&b, err) &&
	     wi_bundle_outcome(&b, e.status, e.why, s->worker.late || s->worker.too_much ? 0 : e.signal, e.exit_status,
			       s->worker.tail, s->worker.nr_tail, err) &&
	     put(p, s, &b, err);
	wi_bundle_fini(&b);
	return ok;
}

/* Killed while it waited: a new one finds out again. */
static bool start_again(struct pool *p, struct slot *s, struct wi_err *err)
{
	wi_worker_fini(&s->worker);
	wi_tag_set_fini(&s->tags);
	free(s->analysis);
	s->analysis = NULL;
	s->heard = 0;
	return start(p, s, true, err);
}

static bool through(struct pool *p, struct slot *s, struct wi_err *err)
{
	bool worked = s->state == WORKING;

	clear(s);
	return !worked || wake_waiting(p, err);
}

static bool attend(struct pool *p, struct slot *s, uint64_t now, struct wi_err *err)
{
	uint64_t seq = s->found.seq;
	int status;

	if (!wi_worker_hear(&s->worker, WI_SAID_MAX, err) || !understand(p, s, err))
		return false;
	if (s->state == FREE || s->found.seq != seq) /* it is through, and the next may be in its place */
		return true;
	if (s->last_word)
		return through(p, s, err);
	if (wi_worker_ended(&s->worker, WI_SAID_MAX, &status)) {
		if (!understand(p, s, err)) /* what came in between */
			return false;
		if (s->state == FREE || s->found.seq != seq)
			return true;
		if (!s->last_word && s->state == WAITING)
			return start_again(p, s, err);
		if (!s->last_word && !put_end(p, s, status, err))
			return false;
		return through(p, s, err);
	}
	if (s->state != WAITING && now > s->worker.deadline_ns && !s->worker.late) {
		s->worker.late = true;
		wi_worker_kill(&s->worker);
	}
	return true;
}

/* ---- the loop ---- */

/* A trace into a free slot. With a cached hash it may be through at once, without a worker. */
static bool take(struct pool *p, struct slot *s, bool *got, struct wi_err *err)
{
	enum verdict v = ANALYSE;
	bool cached = false, ok;

	if (!wi_discover_take(p->d, &s->found, got, err) || !*got)
		return !err->code;
	if (!s->found.folder) {
		const struct wi_file_id id = file_id(&s->found);

		if (!wi_store_cached_hash(p->store, &id, s->sha256, &cached, err))
			return false;
	}
	if (!cached)
		return start(p, s, true, err);
	if (in_work(p, s)) /* the worker waits in our place */
		return start(p, s, true, err);
	s->bytes = s->found.size_bytes;
	if (!describe(p, s, &ok, err)) {
		clear(s);
		return ok;
	}
	if (!decide(p, s, &v, err))
		return false;
	if (v == ANALYSE)
		return start(p, s, false, err);
	clear(s);
	return true;
}

/* Traces into all free slots; *none: there are no more of them at present. */
static bool fill(struct pool *p, bool *none, struct wi_err *err)
{
	*none = false;
	for (size_t i = 0; i < p->opts->jobs; i++) {
		/* One that was through at once leaves its slot free: a long run of these must not hold up the others.
		 */
		for (int n = 0; n < STEPS_AHEAD && !*none && p->slot[i].state == FREE; n++) {
			bool got;

			if (!take(p, &p->slot[i], &got, err))
				return false;
			*none = !got;
		}
	}
	return true;
}

static bool search(struct pool *p, struct wi_err *err)
{
	for (int i = 0; i < STEPS_AHEAD && !p->searched; i++)
		if (!wi_discover_step(p->d, &p->searched, err))
			return false;
	return true;
}

static size_t busy(const struct pool *p)
{
	size_t n = 0;

	for (size_t i = 0; i < p->opts->jobs; i++)
		n += p->slot[i].state != FREE;
	return n;
}

/* Until something can be done. */
static void wait_for_workers(struct pool *p, bool at_once)
{
	uint64_t now = wi_now_ns(), until = now + WAIT_NS;
	struct timespec ts = { 0 };
	nfds_t nr = 0;

	for (size_t i = 0; i < p->opts->jobs; i++) {
		const struct slot *s = &p->slot[i];
		const int fd[2] = { s->worker.from, s->worker.errors };

		if (s->state == FREE)
			continue;
		for (int k = 0; k < 2; k++)
			if (fd[k] >= 0)
				p->poll[nr++] = (struct pollfd){ .fd = fd[k], .events = POLLIN };
		if (s->worker.deadline_ns < until)
			until = s->worker.deadline_ns;
		if (fd[0] < 0) /* it hung up: its end comes now, and no descriptor tells */
			until = now + 1000000;
	}
	if (p->open && p->due_ns < until)
		until = p->due_ns;
	if (!at_once && until > now)
		ts.tv_nsec = (long)(until - now);
	ppoll(p->poll, nr, &ts, p->events->wait_mask);
}

static bool attend_all(struct pool *p, struct wi_err *err)
{
	uint64_t now = wi_now_ns();

	for (size_t i = 0; i < p->opts->jobs; i++)
		if (p->slot[i].state != FREE && !attend(p, &p->slot[i], now, err))
			return false;
	return true;
}

static void report(const struct pool *p)
{
	struct wi_discover_count found = wi_discover_count(p->d);

	if (p->events->progress)
		p->events->progress(p->events->ctx, &found, p->count);
}

static bool turn(struct pool *p, bool *more, struct wi_err *err)
{
	bool none;

	if (!fill(p, &none, err))
		return false;
	*more = busy(p) || !p->searched || !none;
	if (!p->searched && !search(p, err))
		return false;
	if (!commit(p, false, err) || !sync_now_and_then(p, err))
		return false;
	if (busy(p))
		wait_for_workers(p, !p->searched || (!none && busy(p) < p->opts->jobs));
	if (!attend_all(p, err))
		return false;
	report(p);
	return true;
}

bool wi_batch_run(struct wi_store *store, struct wi_discover *d, const struct wi_batch_opts *opts,
		  const struct wi_batch_ops *ops, const struct wi_batch_events *events, struct wi_batch_count *count,
		  struct wi_err *err)
{
	struct pool p = { .store = store, .d = d, .opts = opts, .ops = ops, .events = events, .count = count };
	bool more = true, ok = true;

	p.slot = calloc(opts->jobs, sizeof(*p.slot));
	p.poll = calloc(opts->jobs, 2 * sizeof(*p.poll));
	if (!p.slot || !p.poll)
		ok = wi_err_nomem(err);
	for (size_t i = 0; p.slot && i < opts->jobs; i++)
		empty(&p.slot[i]);
	ok = ok && wi_store_lazy(store, &p.lazy, err);
	while (ok && more && !(events->stop && events->stop(events->stop_ctx)))
		ok = turn(&p, &more, err);
	count->in_flight = p.slot ? busy(&p) : 0;
	/* What has arrived is kept, whatever went wrong or was asked. */
	if (p.open) {
		struct wi_err second = { 0 };

		ok = commit(&p, true, ok ? err : &second) && ok;
	}
	for (size_t i = 0; p.slot && i < opts->jobs; i++)
		clear(&p.slot[i]);
	free(p.slot);
	free(p.poll);
	return ok;
}
