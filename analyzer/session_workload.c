/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analyzer/session_workload.h"

#include <fnmatch.h>

#include "analyzer/observers.h"

struct pass {
	const struct wi_workload_wanted *wanted;
	const struct wi_names *names;
	struct wi_extract *extract;
	struct wi_observers observers;
};

uint32_t wi_workload_smt_speed(const struct wi_workload_wanted *wanted, const char *comm)
{
	for (uint32_t i = 0; comm && i < wanted->nr_smt_speeds; i++)
		if (!fnmatch(wanted->smt_speed_of[i].comm, comm, 0))
			return wanted->smt_speed_of[i].speed;
	return wanted->smt_speed;
}

static uint32_t smt_speed_of(void *ctx, uint32_t comm)
{
	const struct pass *p = ctx;

	return wi_workload_smt_speed(p->wanted, comm != WI_NAME_NONE ? wi_names_get(p->names, comm) : NULL);
}

static void bind(void *ctx, struct wi_timeline *tl)
{
	struct pass *p = ctx;

	wi_extract_bind(p->extract, tl);
	if (p->wanted->bind)
		p->wanted->bind(p->wanted->bind_ctx, tl);
}

/* Of each decision: the flag as the models were told it. */
static void decided(void *ctx, const struct wi_replay_decision *d)
{
	struct pass *p = ctx;

	if (d->asked->class_ == WAKEIF_SELECT)
		wi_extract_sync(p->extract, d->w, d->asked->wake_flags & WAKEIF_WF_SYNC);
}

struct wi_workload *wi_session_workload(struct wi_session *s, const struct wi_workload_wanted *wanted,
					struct wi_err *err)
{
	struct pass p = { .wanted = wanted, .names = s->names };
	struct wi_replay_wanted rw = { .kernel_too = true,
				       .sync = wanted->sync,
				       .seed = 1,
				       .sink = decided,
				       .sink_ctx = &p,
				       .bind = bind,
				       .bind_ctx = &p };
	struct wi_workload *w = NULL;

	wi_session_find_kernel(s);
	struct wi_extract_opts xo = { .topology = s->machine.topology,
				      .names = s->names,
				      .kernel = s->kernel,
				      .smt_speed = wanted->smt_speed,
				      .smt_speed_of = wanted->nr_smt_speeds ? smt_speed_of : NULL,
				      .smt_ctx = &p,
				      .host_cpus = wanted->host_cpus,
				      .edge = wanted->edge,
				      .softirq_external = wanted->softirq_external,
				      .no_orders = wanted->no_orders };

	p.extract = wi_extract_new(&xo, err);
	if (!p.extract)
		return NULL;
	const struct wi_timeline_observer *const list[] = { wi_extract_observer(p.extract), wanted->observer };

	rw.observer = wi_observers_join(&p.observers, list, 2);
	if (wi_session_replay(s, &rw, err))
		w = wi_extract_finish(p.extract, err);
	if (w)
		snprintf(w->source, sizeof(w->source), "%s", wi_source_info(s->src)->format);
	wi_extract_free(p.extract);
	return w;
}
