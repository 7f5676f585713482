/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * First pass over a text trace: what it is, how many CPUs and buffers it has, whether its lines are in time order,
 * what its numeric states mean, and the names in its task column.
 */
#ifndef WI_TEXT_SCAN_H
#define WI_TEXT_SCAN_H

#include <stdbool.h>
#include <stdint.h>

#include "analyzer/base/err.h"
#include "analyzer/base/names.h"
#include "parsers/source.h"
#include "parsers/text_body.h"
#include "parsers/text_file.h"
#include "parsers/text_line.h"

#define WI_TEXT_MAX_INSTANCES 64
#define WI_TEXT_WINDOW                                                                                                 \
	65536 /* lines that a late line may have to move forward before all lines are sorted by an index */

enum wi_text_order {
	WI_ORDER_SORTED, /* as the file is */
	WI_ORDER_WINDOW, /* small inversions: a heap of WI_TEXT_WINDOW lines sorts it */
	WI_ORDER_INDEX,	 /* anything else */
};

struct wi_text_instance {
	char name[256]; /* a folder's name in tracefs */
	uint64_t nr_sched, bytes;
};

/* What one CPU's lines were so far. */
struct wi_text_cpu {
	bool seen;
	bool buffer_started; /* "##### CPU n buffer started ####": printed only when a buffer was overwritten */
	uint64_t first_ts_ns;
	int32_t first_pid; /* of the line with that stamp; -1 unknown */
};

struct wi_text_pid {
	int32_t pid;   /* -1: free */
	uint32_t name; /* last in the task column */
};

struct wi_text_facts {
	const char *format;
	bool html, report, tracer_header;
	struct wi_text_columns columns;
	char kernel[96], arch[32], clock[32];
	uint32_t header_cpus;	     /* "#P:8", "cpus=8"; 0: none */
	uint64_t in_buffer, written; /* "entries-in-buffer/entries-written" */
	uint32_t nr_cpus;	     /* highest CPU seen + 1 */
	struct wi_text_cpu *cpu;     /* nr_cpus allocated or more */
	uint32_t cpu_room;
	uint64_t last_ts_ns; /* highest stamp of any line */
	struct wi_text_instance instance[WI_TEXT_MAX_INSTANCES];
	bool more_instances;	       /* than there is room for */
	uint32_t nr_instances, chosen; /* nr_instances 0: the text names none */
	uint64_t nr_lines, nr_events, nr_sched, nr_decoded_sched;
	uint64_t first_bad; /* position of the first sched line that does not decode */
	uint64_t form[4];   /* lines by enum wi_text_form */
	uint64_t nr_gap;    /* lines with two or more blanks behind the event's name */
	uint32_t max_digits, min_digits;
	enum wi_text_order order;
	struct wi_state_table states;
	struct wi_text_pid *pids;
	uint32_t nr_pids, pid_slots;
};

/*
 * buffer: as wi_open_opts. false: err set (WI_EREFUSED: nothing in the file is a trace line; a buffer that is not
 * there). wi_text_facts_fini in any case.
 */
bool wi_text_scan(struct wi_text_file *f, const char *buffer, struct wi_names *names, const struct wi_open_opts *opts,
		  struct wi_text_facts *facts, struct wi_err *err);
void wi_text_facts_fini(struct wi_text_facts *facts);

uint32_t wi_text_pid_name(const struct wi_text_facts *facts, int32_t pid);

/* Is this line of the chosen buffer instance? */
bool wi_text_chosen(const struct wi_text_facts *facts, const struct wi_text_head *h);

/* "CPU:3 [LOST 12 EVENTS]", "CPU:3 [12 EVENTS DROPPED]", "CPU:3 [EVENTS DROPPED]": nr 0 if the text gives no number. */
bool wi_text_parse_lost(struct wi_str line, uint32_t *cpu, uint64_t *nr);

/* A line without a readable front that nevertheless names a sched event and its fields. */
bool wi_text_broken_sched(struct wi_str line);

#endif
