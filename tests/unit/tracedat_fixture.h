/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Random but consistent recordings for the tests of the trace.dat reader: what is written, and what must come out. */
#ifndef TRACEDAT_FIXTURE_H
#define TRACEDAT_FIXTURE_H

#include "parsers/source.h"
#include "tests/gen/tracedat_writer.h"

struct expected {
	struct wi_event ev; /* without comm ids and pos */
	char comm[2][17];
	char text[64]; /* of a marker */
};

struct expected_list {
	struct expected *e;
	size_t nr;
};

enum recording_flags {
	REC_LOST = 1,	   /* lost marks */
	REC_ALL_TYPES = 2, /* else only switch, waking, wakeup, migrate and idle */
	REC_HIDDEN = 4,	   /* function records, records within a switch */
	REC_TIMES = 8,	   /* time extends, absolute stamps, discarded records */
	REC_EMPTY_CPU = 16 /* CPU 1 has no data */
};

/*
 * Writes about nr events into buffer (0: top); the events that must be delivered, in order. seed decides everything.
 * map_ts, if not NULL, is applied to every stamp of the expectation.
 */
struct expected_list record(struct tdw *w, const struct tdw_cfg *cfg, uint32_t buffer, uint32_t nr, unsigned int flags,
			    uint64_t seed, uint64_t (*map_ts)(uint32_t cpu, uint64_t ts));
void expected_free(struct expected_list *l);

/* A file in the tests' folder, removed at exit. The text is valid for eight calls. */
const char *test_path(const char *name);

struct opened {
	int fd;
	const struct wi_parser_ops *ops;
	void *self;
	struct wi_names *names;
	struct wi_source_info *info;
	struct wi_err err;
};

/* self is NULL when refused. */
struct opened open_with(const struct wi_parser_ops *ops, const char *path, const struct wi_open_opts *opts);
void close_opened(struct opened *o);

/* Reads to the end in batches of the given size and compares; false with a message on stderr. */
bool delivers(struct opened *o, const struct expected_list *want, int batch);

/* Reads to the end, counts by type. false: next_batch failed. */
bool count_events(struct opened *o, uint64_t by_type[WI_NR_EVENT_TYPES]);

#endif
