/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analyzer/session.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/base/cpumask.h"
#include "analyzer/base/fmt.h"
#include "analyzer/base/kernel.h"
#include "analyzer/session_replay.h"
#include "analyzer/topology/markers.h"

#define BATCH 1024
#define MARKER_SEARCH 200000 /* events; markers are written before the workload */
#define TAG_SEARCH 10000      /* events behind a complete set of markers; tags are written with them */
#define SCHED_EVENTS                                                                                                   \
	(WI_EV_BIT(SCHED_SWITCH) | WI_EV_BIT(SCHED_WAKING) | WI_EV_BIT(SCHED_WAKEUP) | WI_EV_BIT(SCHED_WAKEUP_NEW) |   \
	 WI_EV_BIT(SCHED_MIGRATE_TASK))

static bool is_chunk(const struct wi_event *ev)
{
	return ev->type == WI_EV_MARKER && ev->marker.text &&
	       memmem(ev->marker.text, ev->marker.len, WI_MARKERS_PREFIX, strlen(WI_MARKERS_PREFIX));
}

struct marker_search {
	struct wi_session *s;
	struct wi_marker_set *set;
	uint64_t since_last; /* events without a chunk */
};

#define TAG_PREFIX "wakeif-tag "
#define TAG_PREFIX_WITHIN 128u /* bytes: what text forms of traces put in front of a marker */
#define TAG_TEXTS_MAX (64u << 10)

/* "wakeif-tag KEY=VALUE": kept as it is, up to the line's end. */
static bool keep_tag(struct wi_session *s, const struct wi_event *ev, struct wi_err *err)
{
	size_t prefix = strlen(TAG_PREFIX), within = TAG_PREFIX_WITHIN, len;
	const char *at, *end;

	if (ev->type != WI_EV_MARKER || !ev->marker.text)
		return true;
	at = memmem(ev->marker.text, ev->marker.len < within ? ev->marker.len : within, TAG_PREFIX, prefix);
	if (!at)
		return true;
	at += prefix;
	len = ev->marker.len - (size_t)(at - ev->marker.text);
	end = memchr(at, '\n', len);
	len = end ? (size_t)(end - at) : len;
	len = strnlen(at, len);
	if (s->tags.nr + len + 1 > TAG_TEXTS_MAX)
		return wi_err_at(err, WI_EREFUSED, s->o->path, WI_NO_OFFSET, "its tags take more than %u bytes",
				 TAG_TEXTS_MAX);
	char *more = realloc(s->tags.text, s->tags.nr + len + 1);

	if (!more)
		return wi_err_nomem(err);
	s->tags.text = more;
	memcpy(more + s->tags.nr, at, len);
	more[s->tags.nr + len] = '\0';
	s->tags.nr += len + 1;
	return true;
}

/* Events from the start on, until a set of markers is complete, or MARKER_SEARCH events have brought no chunk. */
static bool look_for_markers(void *ctx, const struct wi_event *ev, int nr, bool *more, struct wi_err *err)
{
	struct marker_search *m = ctx;

	bool tags = m->s->o->wants_tags;

	for (int i = 0; i < nr; i++, m->since_last++) {
		if (tags && !keep_tag(m->s, &ev[i], err))
			return false;
		if (!is_chunk(&ev[i]))
			continue;
		m->since_last = 0;
		if (!wi_markers_add(m->set, ev[i].marker.text, ev[i].marker.len, err))
			return false;
	}
	*more = wi_markers_status(m->set).state != WI_MARKERS_COMPLETE ? m->since_last < MARKER_SEARCH :
									 tags && m->since_last < TAG_SEARCH;
	return true;
}

static bool survey(struct wi_session *s, struct wi_marker_set *set, struct wi_err *err)
{
	struct marker_search search = { .s = s, .set = set };
	const struct wi_survey_guest guest = { .ctx = &search, .look = look_for_markers };

	return wi_survey_with(s->src, &guest, &s->survey, err);
}

static void note_markers(struct wi_session *s, const struct wi_marker_set *set)
{
	struct wi_markers_status m = wi_markers_status(set);

	if (m.state == WI_MARKERS_PARTIAL)
		snprintf(s->note, sizeof(s->note),
			 "markers in the trace are incomplete (%" PRIu32 " of %" PRIu32
			 " chunks): nothing taken from them%s%s",
			 m.got, m.total, m.what[0] ? "; " : "", m.what);
	else if (m.nr_damaged || m.nr_other_version)
		snprintf(s->note, sizeof(s->note),
			 "%" PRIu32 " marker chunks damaged, %" PRIu32 " of another version: %s", m.nr_damaged,
			 m.nr_other_version, m.what);
}

/* CPUs that the trace shows: those with records. The caller frees the mask. */
static uint64_t *seen_cpus(const struct wi_session *s, uint32_t *words)
{
	const struct wi_source_info *info = wi_source_info(s->src);
	uint32_t nr = s->survey.nr_cpus > info->nr_cpus ? s->survey.nr_cpus : info->nr_cpus;
	uint64_t *mask;

	*words = wi_mask_words(nr ? nr : 1);
	mask = calloc(*words, sizeof(*mask));
	for (uint32_t c = 0; mask && c < nr; c++)
		if ((c < s->survey.nr_cpus && s->survey.first_ts_ns[c] != WI_TIME_UNKNOWN) ||
		    (c < info->nr_cpus && info->cpu && info->cpu[c].has_data))
			wi_mask_set(mask, c);
	return mask;
}

static bool find_machine(struct wi_session *s, const struct wi_marker_set *set, struct wi_err *err)
{
	const struct wi_source_info *info = wi_source_info(s->src);
	uint32_t words, nr = info->nr_cpus, told = info->looks_ahead ? nr : info->told_cpus;
	uint64_t *seen = seen_cpus(s, &words);
	bool ok;

	if (!seen)
		return wi_err_nomem(err);
	if (s->survey.nr_cpus > nr)
		nr = s->survey.nr_cpus;
	ok = wi_machine_find(&s->machine, s->o, wi_markers_tree(set), seen, words, nr, told, err);
	free(seen);
	return ok;
}

static void describe_filter(struct wi_session *s)
{
	const struct wi_opts *o = s->o;

	if (wi_opts_filtered(o))
		snprintf(s->filter, sizeof(s->filter), "wakeups of%s%s%s%s%s%s", o->cpus ? " CPUs " : "",
			 o->cpus ? o->cpus_text : "", o->pids ? " pids " : "", o->pids ? o->pids_text : "",
			 o->has_comm ? " tasks named " : "", o->has_comm ? o->comm_text : "");
}

bool wi_session_open(struct wi_session *s, const struct wi_opts *o, struct wi_err *err)
{
	struct wi_marker_set *set = NULL;
	bool ok = false;

	memset(s, 0, sizeof(*s));
	s->o = o;
	s->names = wi_names_new();
	set = wi_markers_new();
	if (!s->names || !set) {
		wi_err_nomem(err);
		goto out;
	}
	describe_filter(s);
	wi_progress_start(o);
	s->src = wi_source_open(o->path, &o->open, s->names, err);
	if (!s->src)
		goto out;
	wi_progress_pass("surveying");
	if (!survey(s, set, err))
		goto out;
	note_markers(s, set);
	ok = find_machine(s, set, err);
out:
	wi_markers_free(set);
	return ok;
}

/* Stamp of the last event, for --time in percent. */
static bool recording_end(struct wi_session *s, uint64_t *end_ns, struct wi_err *err)
{
	struct wi_event *ev = malloc(BATCH * sizeof(*ev));
	int n;

	if (!ev)
		return wi_err_nomem(err);
	*end_ns = s->survey.recording_start_ns;
	while ((n = wi_source_next_batch(s->src, ev, BATCH, err)) > 0)
		if (ev[n - 1].ts_ns > *end_ns)
			*end_ns = ev[n - 1].ts_ns;
	free(ev);
	return !n && wi_source_rewind(s->src, err);
}

static bool window(struct wi_session *s, uint64_t *start_ns, uint64_t *stop_ns, struct wi_err *err)
{
	const struct wi_time_range *t = &s->o->time;
	uint64_t start = s->survey.recording_start_ns, end = start;

	*start_ns = t->start_ns;
	*stop_ns = t->stop_ns;
	if (!t->percent)
		return true;
	if (!recording_end(s, &end, err))
		return false;
	*start_ns = start + (uint64_t)(t->from * (double)(end - start));
	*stop_ns = t->to >= 1 ? end : start + (uint64_t)(t->to * (double)(end - start));
	return true;
}

static bool metrics_new(struct wi_session *s, const struct wi_metrics_opts *wanted, uint32_t kernel, struct wi_err *err)
{
	const struct wi_opts *o = s->o;
	const struct wakeif_topology *t = s->machine.topology;
	struct wi_metrics_opts mo = *wanted;

	mo.topology = t;
	mo.names = s->names;
	mo.kernel_version = kernel;
	if (o->worst)
		mo.worst_n = o->worst;
	mo.filter_pids = o->pids;
	mo.nr_filter_pids = o->nr_pids;
	mo.filter_comm = o->comm_text;
	if (o->cpus) {
		s->filter_cpus = calloc(t->nr_words, sizeof(*s->filter_cpus));
		if (!s->filter_cpus)
			return wi_err_nomem(err);
		for (uint32_t w = 0; w < t->nr_words && w < o->cpu_words; w++)
			s->filter_cpus[w] = o->cpus[w];
		mo.filter_cpus = s->filter_cpus;
	}
	s->metrics = wi_metrics_new(&mo, err);
	return s->metrics != NULL;
}

static uint32_t comm_of(void *src, int32_t pid)
{
	return wi_source_comm_of(src, pid);
}

bool wi_session_timeline(struct wi_session *s, const struct wi_timeline_observer *obs, struct wi_err *err)
{
	struct wi_timeline_opts to = {
		.topology = s->machine.topology,
		.names = s->names,
		.trace_name = s->o->path,
		.survey = &s->survey,
		.facts = s->machine.facts,
		.nr_facts = s->machine.nr_facts,
		.comm_of = comm_of,
		.comm_of_ctx = s->src,
		.oncpu_ns = 5000,
		.quiet_unknown = s->o->quiet_unknown,
		.kernel_version = s->kernel,
	};

	if (!window(s, &to.start_ns, &to.stop_ns, err))
		return false;
	s->timeline = wi_timeline_new(&to, obs, err);
	return s->timeline != NULL;
}

/* Markers that turn up after the search for them has ended are not used, and said to be there. */
static void note_late_markers(struct wi_session *s, const struct wi_event *ev, int n)
{
	if (s->late_markers || !(s->machine.topology->flags & WAKEIF_TOPO_FALLBACK))
		return;
	for (int i = 0; i < n; i++)
		s->late_markers |= is_chunk(&ev[i]);
}

#define SILENCE_NS 1000000000ull

/* The longest silence, if it is long; looked for record by record only in batches that could hold it. */
static void watch_silence(struct wi_session *s, const struct wi_event *ev, int n)
{
	uint64_t longest = s->silence.to_ns - s->silence.from_ns, prev = s->silence.seen_ns;

	if (!prev)
		prev = ev[0].ts_ns;
	s->silence.seen_ns = ev[n - 1].ts_ns;
	if (ev[n - 1].ts_ns - prev <= longest || ev[n - 1].ts_ns - prev < SILENCE_NS)
		return;
	for (int i = 0; i < n; prev = ev[i++].ts_ns)
		if (ev[i].ts_ns > prev && ev[i].ts_ns - prev > longest) {
			longest = ev[i].ts_ns - prev;
			s->silence.from_ns = prev;
			s->silence.to_ns = ev[i].ts_ns;
		}
}

/*
 * A time stamp with a wrong bit in the first or last sub-buffer of a CPU moves it away from all others. Nothing tells
 * that from a machine (or a filter) that was silent for so long, so it is no damage, but it is told.
 */
static void note_silence(struct wi_session *s)
{
	uint64_t longest = s->silence.to_ns - s->silence.from_ns, start = s->survey.recording_start_ns;
	char ns[WI_FMT_LEN], from[WI_FMT_LEN], to[WI_FMT_LEN];
	size_t len = strlen(s->note);

	if (longest < SILENCE_NS || longest < (s->silence.seen_ns - start) / 2)
		return;
	snprintf(s->note + len, sizeof(s->note) - len,
		 "%snothing was recorded on any CPU for %s, from %s to %s: if that cannot be, a time stamp is damaged",
		 len ? "; " : "", wi_fmt_ns(ns, sizeof(ns), longest),
		 wi_fmt_stamp(from, sizeof(from), s->silence.from_ns, s->o->nanoseconds),
		 wi_fmt_stamp(to, sizeof(to), s->silence.to_ns, s->o->nanoseconds));
}

/* The main loop: events from the source, through the timeline, to those who observe it. */
static bool read_all(struct wi_session *s, struct wi_err *err)
{
	while (!wi_timeline_done(s->timeline)) {
		int max, n;
		struct wi_event *ev = wi_timeline_room(s->timeline, &max);

		if (!ev)
			return wi_err_nomem(err);
		n = wi_source_next_batch(s->src, ev, max < BATCH ? max : BATCH, err);
		if (n <= 0)
			break;
		note_late_markers(s, ev, n);
		watch_silence(s, ev, n);
		if (!wi_timeline_take(s->timeline, ev, n, err))
			break;
	}
	if (err->code)
		return false;
	wi_timeline_set_end(s->timeline, wi_source_info(s->src)->last_ts_ns);
	return wi_timeline_finish(s->timeline, err);
}

static bool no_events(const struct wi_session *s, struct wi_err *err)
{
	const struct wi_source_info *info = wi_source_info(s->src);

	if (info->nr_damage)
		return wi_err_at(err, WI_EREFUSED, s->o->path, info->damage[0].offset,
				 "no scheduler events could be read: %s", info->damage[0].what);
	return wi_err_at(err, WI_EREFUSED, s->o->path, WI_NO_OFFSET,
			 "no scheduler events in this trace: sched_switch and sched_waking are needed");
}

void wi_session_find_kernel(struct wi_session *s)
{
	const char *release = wi_source_info(s->src)->kernel;

	s->kernel = wi_kernel_of(release[0] ? release : s->machine.release);
}

bool wi_session_read(struct wi_session *s, const char *pass, bool last, struct wi_err *err)
{
	wi_progress_pass(pass);
	memset(&s->silence, 0, sizeof(s->silence));
	if (!read_all(s, err))
		return false;
	wi_progress_end();
	if (!(wi_timeline_quality(s->timeline)->types & SCHED_EVENTS))
		return no_events(s, err);
	if (!last)
		return true;
	if (s->late_markers && !s->note[0])
		snprintf(s->note, sizeof(s->note),
			 "markers come late in this trace and were not used for the topology");
	note_silence(s);
	return true;
}

bool wi_session_metrics(struct wi_session *s, const struct wi_metrics_opts *wanted, struct wi_err *err)
{
	return metrics_new(s, wanted, s->kernel, err);
}

bool wi_session_analyse(struct wi_session *s, const struct wi_metrics_opts *wanted, struct wi_err *err)
{
	wi_session_find_kernel(s);
	if (!wi_session_metrics(s, wanted, err) || !wi_session_timeline(s, wi_metrics_observer(s->metrics), err))
		return false;
	wi_metrics_bind(s->metrics, s->timeline);
	if (!wi_session_read(s, "analysing", true, err))
		return false;
	s->results = wi_metrics_finish(s->metrics, err);
	return s->results != NULL;
}

struct wi_report wi_session_report(const struct wi_session *s)
{
	return (struct wi_report){
		.results = s->results,
		.topology = s->machine.topology,
		.info = wi_source_info(s->src),
		.survey = &s->survey,
		.version = WAKEIF_VERSION,
		.filter = s->filter,
		.note = s->note,
		.preempted_known = wi_timeline_quality(s->timeline)->switch_known & WI_KNOWN_PREEMPTED,
		.has_facts = s->machine.nr_facts > 0,
		.maybe_delayed_known = s->kernel >= WI_KERNEL(6, 12),
		.kernel_version = s->kernel,
		.quiet_unknown = s->o->quiet_unknown,
		.facts_only = !s->metrics,
		.nanoseconds = s->o->nanoseconds,
		.verbose = s->o->verbose,
		.worst = s->o->worst,
	};
}

void wi_session_close(struct wi_session *s)
{
	wi_progress_end();
	wi_timeline_free(s->timeline);
	wi_metrics_free(s->metrics);
	wi_session_replay_fini(s);
	wi_survey_fini(&s->survey);
	wi_machine_fini(&s->machine);
	wi_source_close(s->src);
	wi_names_free(s->names);
	free(s->filter_cpus);
	free(s->tags.text);
	memset(s, 0, sizeof(*s));
}
