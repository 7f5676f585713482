/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The front of a trace line: task, pid, CPU, flags, time stamp and event name, in every form that ftrace, trace-cmd
 * report and perf script print it.
 *
 *   ftrace: a TGID column, "(  959)", may stand in front of [003]
 *      bash-1977    [003] d..2.   12.345678: sched_switch: ...
 *   trace-cmd report
 *      bash-1977    [003]    12.345678: sched_switch:         ...
 *   trace-cmd report -l: names cut to 8; with -R 3-0x1 instead of 3d..2.
 *      bash-1977    3d..2.    12.345678: sched_switch:         ...
 *   perf script: 1977/1977 with -F pid,tid
 *      bash  1977 [003]    12.345678: sched:sched_switch: ...
 */
#ifndef WI_TEXT_LINE_H
#define WI_TEXT_LINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum wi_text_form { WI_TEXT_NONE, WI_TEXT_FTRACE, WI_TEXT_LATENCY, WI_TEXT_PERF };

/* A piece of the line; not NUL-terminated. */
struct wi_str {
	const char *p;
	uint32_t len;
};

struct wi_text_head {
	enum wi_text_form form;
	struct wi_str instance; /* buffer instance that trace-cmd report puts in front, or empty */
	struct wi_str comm;	/* task column, blanks around it removed */
	int32_t pid;		/* -1: the line does not say */
	int32_t tgid;		/* 0: the line does not say */
	uint32_t cpu;
	struct wi_str flags;	     /* letters; empty: none */
	int32_t raw_flags;	     /* common_flags as a number (-l -R); -1: none */
	uint64_t ts_ns;		     /* a stamp without a point is taken as it is */
	uint8_t ts_digits;	     /* digits after the point; 0: no point */
	struct wi_str system, event; /* system: perf's "sched:" without the colon, or empty */
	bool event_colon;	     /* a colon follows the event's name; without: function tracer and the like */
	uint8_t gap;		     /* blanks between that colon and the body (two and more: trace-cmd report) */
	struct wi_str body; /* without blanks in front; of those, lead may belong to it (a name in a plugin's text) */
	uint32_t lead;
};

/* false: the line has no such front. cpu < WI_MAX_CPUS and pid <= WI_PID_MAX are checked. */
bool wi_text_parse_head(const char *line, uint32_t len, struct wi_text_head *h);

/* What the columns of flags mean; the header of an ftrace text tells, otherwise their number does. */
enum wi_text_column {
	WI_COL_NONE,
	WI_COL_IRQ,
	WI_COL_RESCHED,
	WI_COL_LAZY,
	WI_COL_CONTEXT,
	WI_COL_DEPTH,
	WI_COL_OTHER
};

struct wi_text_columns {
	uint8_t nr;
	uint8_t what[8];
};

/* Takes in a "#" line; one that starts a new header resets cols. */
void wi_text_header_line(struct wi_text_columns *cols, const char *line, uint32_t len);

/* common_flags (enum wi_event_flags), preempt count and WI_KNOWN_* bits of a head. */
struct wi_text_flags {
	uint8_t flags, preempt_count, known;
};
struct wi_text_flags wi_text_decode_flags(const struct wi_text_columns *cols, const struct wi_text_head *h);

/* Number at p (decimal, 0x hex, sign): position behind it, or NULL if there is none or it does not fit. */
const char *wi_text_int(const char *p, const char *end, int64_t *v);
const char *wi_text_uint(const char *p, const char *end, uint64_t *v);

static inline bool wi_str_is(struct wi_str s, const char *text, uint32_t len)
{
	return s.len == len && !__builtin_memcmp(s.p, text, len);
}
/* Same for a NUL-terminated text; s may hold NUL bytes. */
static inline bool wi_str_equal(struct wi_str s, const char *text)
{
	return __builtin_strlen(text) == s.len && (!s.len || !__builtin_memcmp(s.p, text, s.len));
}

#define WI_STR_IS(s, literal) wi_str_is(s, literal, sizeof(literal) - 1)

#endif
