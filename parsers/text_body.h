/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The fields of an event, from the text behind its name: key=value (kernel, -N, -R, perf) and trace-cmd's plugin texts.
 */
#ifndef WI_TEXT_BODY_H
#define WI_TEXT_BODY_H

#include <stdbool.h>
#include <stdint.h>

#include "analyzer/base/names.h"
#include "parsers/event.h"
#include "parsers/state.h"
#include "parsers/text_line.h"

/* What a line is. Types of event.h, and: */
#define WI_TEXT_IGNORE (WI_NR_EVENT_TYPES + 0)	   /* ftrace's own records, and what cannot be told from them */
#define WI_TEXT_LOST_TIMED (WI_NR_EVENT_TYPES + 1) /* perf's PERF_RECORD_LOST with a stamp */

/* Type of a line by its event name. report: the file is trace-cmd's, where every name is a real event's. */
uint32_t wi_text_event_type(const struct wi_text_head *h, bool report);

static inline bool wi_text_is_sched(uint32_t type)
{
	return type >= WI_EV_SCHED_WAKING && type <= WI_EV_SCHED_PROCESS_EXIT;
}

struct wi_text_decoder {
	struct wi_names *names;
	struct wi_state_table states; /* for prev_state printed as a number */
	uint64_t unknown_letters;     /* counted up */
};

/*
 * Fills the union of ev (ev->type set, rest zeroed by the caller) and the KNOWN bits of the state. Marker text is
 * lent: it points into h->body. false: the text does not have the fields of the type; ev is then undefined.
 */
bool wi_text_decode(struct wi_text_decoder *d, const struct wi_text_head *h, struct wi_event *ev);

/*
 * The raw prev_state of a sched_switch line, who it belongs to, and whether the idle task follows. false: it is not
 * printed as a number.
 */
bool wi_text_raw_state(const struct wi_text_head *h, uint64_t *raw, struct wi_str *prev_comm, bool *to_idle);

#endif
