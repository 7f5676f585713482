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

#include "analyzer/batch/pool.h"

#define SYNC_NS 1000000000ull /* rows are on the disk after so long */
#define HOLD_NS 30000000ull   /* they are committed, without waiting for the disk, after so long */
#define EAGER_NS 200000000ull /* or, where each commit waits for it, committed after so long */
#define WAIT_NS 200000000ull  /* at most, for workers: there is progress to tell */
#define STEPS_AHEAD 64	      /* of the search, between two looks at the workers */

/* ---- database ---- */

bool wi_pool_begin(struct pool *p, struct wi_err *err)
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
 * again: a kill -9 costs what is in work. The disk is waited for about once a second, which bounds what a power failure
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
	return wi_pool_begin(p, err) && wi_store_cache_hash(p->store, &id, s->sha256, err);
}

/* ---- slots ---- */

void wi_pool_tell(struct pool *p, const struct slot *s, enum wi_run_status status, const char *what, const char *why)
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

/* ---- what workers say ---- */

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
	if (!wi_pool_describe(p, s, &ok, err)) {
		clear(s);
		return ok;
	}
	if (!wi_pool_decide(p, s, &v, err))
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
		if (!wi_pool_decide(p, s, &v, err))
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

static bool fill(struct pool *p, bool *none, struct wi_err *err);

/* Its slot has the next trace in work while its results are written. */
static bool finish(struct pool *p, struct slot *s, const uint8_t *bytes, size_t nr, struct wi_err *err)
{
	struct slot done = *s;
	bool none, ok;

	empty(s);
	p->putting = &done;
	ok = fill(p, &none, err) && wi_pool_put_heard(p, &done, bytes, nr, err);
	p->putting = NULL;
	clear(&done); /* it has nothing more to say: its process is ended, not waited for */
	return ok && wake_waiting(p, err);
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
			ok = wi_pool_text_heard(p, s, said, bytes, nr, err);
	}
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
		if (!s->last_word && !wi_pool_put_end(p, s, status, err))
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
	if (wi_pool_in_work(p, s)) /* the worker waits in our place */
		return start(p, s, true, err);
	s->bytes = s->found.size_bytes;
	if (!wi_pool_describe(p, s, &ok, err)) {
		clear(s);
		return ok;
	}
	if (!wi_pool_decide(p, s, &v, err))
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
