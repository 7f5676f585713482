/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One trace from file to results: the only place that wires source, topology, timeline and metrics together.
 *
 *   wi_session_open()      opens the trace, looks for markers, surveys it, finds topology and task facts
 *   wi_session_analyse()   the main loop
 *   wi_session_report()    what the report writers need
 */
#ifndef WI_SESSION_H
#define WI_SESSION_H

#include "analyzer/cmd.h"
#include "analyzer/metrics/metrics.h"
#include "analyzer/report/report.h"
#include "analyzer/session_machine.h"

struct wi_session_replay;
struct wi_replay_results;

struct wi_session {
	const struct wi_opts *o; /* borrowed */
	struct wi_names *names;
	struct wi_source *src;
	struct wi_machine machine; /* topology and facts of tasks */
	struct wi_survey survey;
	struct wi_metrics *metrics;
	struct wi_timeline *timeline;
	const struct wi_results *results; /* borrowed from metrics, or from replaying */
	struct wi_session_replay *replaying; /* NULL: nothing is replayed */
	const struct wi_replay_results *replayed; /* borrowed from replaying */
	uint64_t *filter_cpus;		  /* o->cpus in the topology's width */
	uint32_t kernel; /* WI_KERNEL(); 0 unknown */
	bool late_markers;
	struct {
		uint64_t seen_ns;	  /* of the last record so far; 0: none */
		uint64_t from_ns, to_ns; /* the longest time without a record of any CPU */
	} silence;
	struct {
		char *text; /* nr bytes: texts of the trace that name tags, each with a NUL; NULL: none */
		size_t nr;
	} tags; /* with o->wants_tags */
	char filter[256]; /* in words; "" none */
	char note[512];	  /* for the report; "" nothing */
};

/* Zeroes s first; wi_session_close() is right after success and after failure. */
bool wi_session_open(struct wi_session *s, const struct wi_opts *o, struct wi_err *err);
/*
 * wanted: the metrics' options beyond what the command line and the trace say (worst_n, groups, splits, sink); the rest
 * is filled in here. false: err set; WI_EREFUSED when the trace holds no scheduler events.
 */
bool wi_session_analyse(struct wi_session *s, const struct wi_metrics_opts *wanted, struct wi_err *err);
/*
 * The steps of that, for those who observe the timeline with more than the metrics: the kernel's version and the window
 * from what was surveyed; metrics; a timeline; all events through it (pass: what the
 * progress line says; last: no other pass follows, so what was noticed goes into the note).
 */
void wi_session_find_kernel(struct wi_session *s);
bool wi_session_metrics(struct wi_session *s, const struct wi_metrics_opts *wanted, struct wi_err *err);
bool wi_session_timeline(struct wi_session *s, const struct wi_timeline_observer *obs, struct wi_err *err);
bool wi_session_read(struct wi_session *s, const char *pass, bool last, struct wi_err *err);
struct wi_report wi_session_report(const struct wi_session *s); /* borrows from s */
void wi_session_close(struct wi_session *s);

#endif
