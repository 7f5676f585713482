/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analyzer/cmd_print.h"

#include <string.h>

#include "analyzer/base/fmt.h"

int wi_session_start(struct wi_session *s, const struct wi_opts *o, const struct wi_metrics_opts *wanted,
		     struct wi_err *err)
{
	memset(s, 0, sizeof(*s));
	s->o = o;
	if (!err->code && wi_session_open(s, o, err))
		wi_session_analyse(s, wanted, err);
	return err->code;
}

bool wi_session_print(struct wi_session *s,
		      bool (*write)(FILE *out, const struct wi_report *rep, const void *ctx, struct wi_err *err),
		      const void *ctx, struct wi_err *err)
{
	struct wi_report rep = wi_session_report(s);
	FILE *out = wi_out_open(s->o->out, err);
	bool ok;

	if (!out)
		return false;
	ok = write(out, &rep, ctx, err);
	return wi_out_close(out, s->o->out, err) && ok;
}

/* A window or a filter that leaves nothing is told, lest an empty report be taken for a quiet machine. */
static void note_emptiness(const struct wi_session *s)
{
	const struct wi_timeline_quality *q = &s->results->quality;
	char a[WI_FMT_LEN], b[WI_FMT_LEN];
	uint64_t events = 0;

	for (int t = WI_EV_SCHED_WAKING; t <= WI_EV_SCHED_SWITCH; t++)
		events += q->events[t];
	if (!events)
		wi_cmd_note(s->o, "%s: no scheduler event in the window; the recording runs from %s to %s", s->o->path,
			    wi_fmt_stamp(a, sizeof(a), q->recording_start_ns, false),
			    wi_fmt_stamp(b, sizeof(b), q->recording_end_ns, false));
	else if (s->filter[0] && !s->results->wakeups.total)
		wi_cmd_note(s->o, "%s: no wakeup passes the filter (%s)", s->o->path, s->filter);
	if (s->machine.topology->flags & WAKEIF_TOPO_FALLBACK)
		wi_cmd_note(s->o,
			    "%s: the machine's topology is not known; SMT and cache results mean nothing (--topology)",
			    s->o->path);
}

int wi_session_end(struct wi_session *s, struct wi_err *err)
{
	int status = WI_OK;

	wi_progress_end();
	if (err->code) {
		status = wi_cmd_fail(err);
	} else {
		note_emptiness(s);
		status = wi_cmd_damage(wi_source_info(s->src));
	}
	wi_session_close(s);
	return status;
}

void wi_cmd_headline(FILE *out, const struct wi_report *rep)
{
	const struct wi_results *r = rep->results;
	char name[WI_FMT_NAME_LEN], a[WI_FMT_LEN], b[WI_FMT_LEN], c[WI_FMT_LEN], d[WI_FMT_LEN];

	fprintf(out, "%s: %s from %s to %s, %s of CPU time known\n", wi_fmt_name(name, sizeof(name), rep->info->path),
		wi_fmt_ns(a, sizeof(a), r->window_ns),
		wi_fmt_stamp(b, sizeof(b), r->quality.window_start_ns, rep->nanoseconds),
		wi_fmt_stamp(c, sizeof(c), r->quality.window_end_ns, rep->nanoseconds),
		wi_fmt_share(d, sizeof(d), r->cpu_ns - r->quality.unknown_ns, r->cpu_ns));
	if (rep->filter[0])
		fprintf(out, "only %s\n", wi_fmt_name(name, sizeof(name), rep->filter));
}
