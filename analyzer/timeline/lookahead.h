/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A queue of events between the reader and the state machine. An event leaves it when everything that the state
 * machine must know of it is known: for a sched_waking, what came of it (METRICS rules 13, 14, 20). The queue is as
 * long as the longest waking → enqueue gap, at most WI_LOOKAHEAD_RECORDS scheduler records.
 */
#ifndef WI_LOOKAHEAD_H
#define WI_LOOKAHEAD_H

#include "analyzer/timeline/timeline.h"

#define WI_LOOKAHEAD_RECORDS 32768u
#define WI_STALLED_NS 100000u

/* What came of a sched_waking. */
struct wi_placement {
	uint64_t dec_ns; /* decision instant: the migrate's stamp, else the earliest of waking + gap, the waker CPU's next record, the resolution */
	uint64_t enq_ns;		/* stamp of the sched_wakeup when that resolved it; else WI_TIME_UNKNOWN */
	uint64_t next_waker_record_ns;	/* WI_TIME_UNKNOWN: none within WI_STALLED_NS */
	uint32_t chosen_cpu;		/* WI_CPU_NONE: nothing chose one */
	uint32_t enq_record_cpu;	/* CPU that wrote that sched_wakeup; WI_CPU_NONE */
	uint8_t source;			/* enum wi_chosen_source */
	bool by_migrate;		/* a sched_migrate_task on the waker's CPU placed it: the task moves */
	bool switched_out;		/* the wakee was switched out between sched_waking and resolution */
	bool blocked;			/* and in a state in which it left its queue */
	bool stalled;
	bool unresolved; /* nothing within the look-ahead */
};

struct wi_lookahead;

struct wi_lookahead *wi_lookahead_new(uint32_t nr_cpus, uint64_t gap_ns, bool has_waking);
void wi_lookahead_free(struct wi_lookahead *la);

/*
 * Room for the reader's next events: *max (at least 1) contiguous ones, not yet in the queue. NULL: out of memory.
 * Valid until the next call.
 */
struct wi_event *wi_lookahead_room(struct wi_lookahead *la, uint32_t *max);
/*
 * Takes the first nr events of that room into the queue (time order). Less than nr: the event with this index names a
 * CPU >= nr_cpus, the queue cannot go on; -1: out of memory.
 */
int wi_lookahead_take(struct wi_lookahead *la, int nr);
/* Types (bits WI_EV_BIT) and knowledge bits (of sched_switch events: enum wi_event_known) of all events taken so far. */
uint32_t wi_lookahead_types(const struct wi_lookahead *la);
uint8_t wi_lookahead_switch_known(const struct wi_lookahead *la);
/* Room and take for one event that lies elsewhere; one that names a CPU >= nr_cpus is left out. */
bool wi_lookahead_push(struct wi_lookahead *la, const struct wi_event *ev);
void wi_lookahead_end(struct wi_lookahead *la); /* no more events will come */

/*
 * Next event that is ready, or NULL. *placement is set for a sched_waking, else NULL. Both are valid until the next push.
 */
const struct wi_event *wi_lookahead_pop(struct wi_lookahead *la, const struct wi_placement **placement);

/*
 * The same for many events at once. The head of the queue as far as it lies in one piece, left in the queue; places():
 * an event of it comes with a placement; placement(): of the first such event that was not asked for yet, once, NULL: not
 * ready; drop(): so many events at the head, all that was asked for among them, leave the queue. All is valid until the
 * next push.
 */
uint32_t wi_lookahead_stretch(const struct wi_lookahead *la, const struct wi_event **ev);
bool wi_lookahead_places(const struct wi_lookahead *la, const struct wi_event *ev);
const struct wi_placement *wi_lookahead_placement(struct wi_lookahead *la);
void wi_lookahead_drop(struct wi_lookahead *la, uint32_t nr);

#endif
