/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analyzer/sim/tally_recorded.h"

#include <stdlib.h>

struct wi_tally_recorded {
	struct wi_timeline_observer obs;
	struct wi_timeline *tl;
	struct wi_tally *tally;
	uint64_t from_ns;
	uint32_t *waking; /* by the timeline's wakeup slot */
	size_t room;
	bool failed;
};

static uint64_t at(const struct wi_tally_recorded *r, uint64_t now_ns)
{
	return now_ns > r->from_ns ? now_ns - r->from_ns : 0;
}

static void cpu_changed(void *ctx, uint64_t now_ns, uint32_t cpu, enum wi_cpu_kind kind, const struct wi_task *task)
{
	struct wi_tally_recorded *r = ctx;

	(void)task;
	if (kind != WI_CPU_UNKNOWN)
		wi_tally_cpu(r->tally, at(r, now_ns), cpu, kind == WI_CPU_BUSY, false);
}

static void wait_changed(void *ctx, uint64_t now_ns, uint32_t cpu, const struct wi_task *task, int delta)
{
	struct wi_tally_recorded *r = ctx;

	(void)task;
	wi_tally_wait(r->tally, at(r, now_ns), cpu, delta);
}

/* Had it blocked, or was it about to? Others never came to a wakeup's end. */
static bool counts(const struct wi_wakeup *w)
{
	return w->pub.class_ != WAKEIF_FORK;
}

static uint32_t *place(struct wi_tally_recorded *r, uint32_t slot)
{
	if (slot >= r->room) {
		size_t room = slot < 32 ? 64 : (size_t)slot * 2;
		uint32_t *more = realloc(r->waking, room * sizeof(*more));

		if (!more) {
			r->failed = true;
			return NULL;
		}
		for (size_t i = r->room; i < room; i++)
			more[i] = UINT32_MAX;
		r->waking = more;
		r->room = room;
	}
	return &r->waking[slot];
}

static void waking(void *ctx, uint64_t now_ns, const struct wi_wakeup *w)
{
	struct wi_tally_recorded *r = ctx;
	uint32_t *p = place(r, w->slot);

	if (!p)
		return;
	*p = UINT32_MAX;
	/* One that had not left its queue (ONRQ) waits for nothing: it ends no block. */
	if (counts(w) && now_ns >= r->from_ns &&
	    (w->wakee->state == WI_TASK_BLOCKED || w->wakee->state == WI_TASK_UNKNOWN || w->was_running))
		*p = wi_tally_waking(r->tally, at(r, now_ns), WAKEIF_SELECT);
}

static void closed(void *ctx, uint64_t now_ns, const struct wi_wakeup *w, enum wi_outcome outcome)
{
	struct wi_tally_recorded *r = ctx;
	uint32_t *p = place(r, w->slot), nr = p ? *p : UINT32_MAX;

	(void)now_ns;
	if (nr == UINT32_MAX)
		return;
	*p = UINT32_MAX;
	wi_tally_placed(r->tally, nr, w->pub.prev_cpu, w->chosen_cpu, w->pub.class_ == WAKEIF_SELECT);
	if (w->pub.class_ == WAKEIF_ONCPU)
		wi_tally_oncpu(r->tally, nr);
	if (w->enq_ns != WI_TIME_UNKNOWN)
		wi_tally_queued(r->tally, at(r, w->enq_ns), nr);
	if (outcome == WI_OUT_RUN)
		wi_tally_ran(r->tally, at(r, w->run_ns), nr);
}

static void migrated(void *ctx, uint64_t now_ns, const struct wi_task *task, uint32_t orig, uint32_t dest,
		     bool inferred, bool placement)
{
	struct wi_tally_recorded *r = ctx;

	(void)task;
	(void)inferred;
	if (now_ns >= r->from_ns)
		wi_tally_moved(r->tally, at(r, now_ns), orig, dest, placement);
}

static void happened(void *ctx, const struct wakeif_happening *h)
{
	struct wi_tally_recorded *r = ctx;

	if (h->type == WAKEIF_TASK_PREEMPTED && h->now_ns >= r->from_ns)
		wi_tally_preempted(r->tally, at(r, h->now_ns));
}

struct wi_tally_recorded *wi_tally_recorded_new(const struct wi_tally_opts *opts, struct wi_err *err)
{
	struct wi_tally_recorded *r = calloc(1, sizeof(*r));

	if (!r) {
		wi_err_nomem(err);
		return NULL;
	}
	r->tally = wi_tally_new(opts, err);
	if (!r->tally) {
		free(r);
		return NULL;
	}
	r->obs = (struct wi_timeline_observer){ .ctx = r,
						.cpu_changed = cpu_changed,
						.wait_changed = wait_changed,
						.waking = waking,
						.wakeup_closed = closed,
						.migrated = migrated,
						.happened = happened };
	return r;
}

const struct wi_timeline_observer *wi_tally_recorded_observer(struct wi_tally_recorded *r)
{
	return &r->obs;
}

void wi_tally_recorded_bind(struct wi_tally_recorded *r, struct wi_timeline *tl)
{
	r->tl = tl;
	r->from_ns = wi_timeline_window_start_ns(tl);
}

bool wi_tally_recorded_finish(struct wi_tally_recorded *r, struct wi_tally_result *out, struct wi_err *err)
{
	if (r->failed)
		return wi_err_nomem(err);
	return wi_tally_finish(r->tally, at(r, wi_timeline_quality(r->tl)->window_end_ns), out, err);
}

void wi_tally_recorded_free(struct wi_tally_recorded *r)
{
	if (!r)
		return;
	wi_tally_free(r->tally);
	free(r->waking);
	free(r);
}
