/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A timeline fed from a few lines of text, and what it told its observer as text.
 *
 * Event lines:  STAMP CPU CURRENT[h|s] TYPE ARGS      CURRENT: pid of the record (h hardirq, s softirq)
 *   switch STATE NEXT     STATE: S, D, R, R+, X ...   (prev = CURRENT) optional third argument: prio of NEXT (default 120)
 *   waking PID TARGET | wakeup PID TARGET | new PID TARGET    optional third argument: prio (default 120)
 *   migrate PID ORIG DEST | fork CHILD | exec PID OLD | exit | other | lost | chain
 * Task names are "t<pid>" unless PID is written PID=NAME.
 */
#ifndef TL_FIXTURE_H
#define TL_FIXTURE_H

#include "analyzer/timeline/timeline.h"

/* A regular machine: CPU numbers run thread by thread through cores, LLCs, nodes. Freed with tl_fixture_topology_free(). */
struct wakeif_topology *tl_fixture_topology(uint32_t nodes, uint32_t llcs_per_node, uint32_t cores_per_llc, uint32_t threads);
void tl_fixture_topology_free(struct wakeif_topology *topo);

struct tl_fixture_opts {
	struct wakeif_topology *topology; /* NULL: 1 node, 1 LLC, 4 cores of 2 threads */
	uint64_t gap_ns;		  /* default 10 */
	uint64_t oncpu_ns;		  /* default 5000 */
	bool no_waking, switch_only;
	uint64_t start_ns, stop_ns;
	uint32_t kernel_version;
	const struct wi_task_fact *facts;
	size_t nr_facts;
	bool quiet_unknown;
	const char *first; /* "CPU=PID ..." current task of CPUs at the start; others are quiet */
};

/* First stamp and current task of each CPU, as wi_survey() would find them; wi_survey_fini() frees. */
void tl_fixture_survey(struct wi_survey *s, const struct tl_fixture_opts *o, uint32_t nr_cpus, const struct wi_event *ev, int n);

/* Hands an array of events to the timeline. */
bool tl_fixture_feed(struct wi_timeline *tl, const struct wi_event *ev, int nr, struct wi_err *err);

/*
 * Runs the events and returns what was told, one line each, filtered by kind letters:
 *   D decision  C closed  I idle_changed  W wait_changed  K cpu_changed  M migrated  G task_gone  H happened
 * quality, if not NULL, gets the counters. The caller frees.
 */
char *tl_fixture_run(const struct tl_fixture_opts *opts, const char *events, const char *kinds, struct wi_timeline_quality *quality);

/* Parses the event lines; returns their number; *ev is the caller's to free. */
int tl_fixture_parse(const char *text, struct wi_names *names, struct wi_event **ev);

/* Fails the running cmocka test with both texts when they differ. */
void tl_expect(const struct tl_fixture_opts *opts, const char *events, const char *kinds, const char *expected);

#endif
