/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Per-CPU runs of ring-buffer pages -> one stream of events in time order. Where the pages come from (a file, chunks
 * that are inflated, separate dumps) is the caller's business: it hands out blocks of whole pages.
 */
#ifndef WI_RINGBUF_STREAM_H
#define WI_RINGBUF_STREAM_H

#include "parsers/evfmt.h"
#include "parsers/merge.h"
#include "parsers/ringbuf.h"
#include "parsers/ringbuf_damage.h"
#include "parsers/source.h"

struct wi_rb_block {
	const uint8_t *data; /* whole pages; valid until the next block of this stream is asked for */
	size_t bytes;
	uint64_t pos;	   /* file offset of data */
	bool pos_linear;   /* false: inflated, pos is that of the compressed chunk */
	bool gap;	   /* data before this block (or before the end) is missing or damaged */
	uint64_t consumed; /* bytes of the file that this block stands for, for the progress display */
};

struct wi_rb_stream_ops {
	/* Next block of stream i: 1; 0 at its end (gap is read then too); -1 err set. */
	int (*next_block)(void *ctx, uint32_t i, struct wi_rb_block *out, struct wi_err *err);
	void (*rewind)(void *ctx); /* all streams start again */
};

/* Correction of time stamps, in this order: shift of the CPU (guest to host), TSC to nanoseconds, offset. */
struct wi_rb_shift_sample {
	uint64_t time;
	int64_t offset;
	uint64_t scaling, fraction;
};

struct wi_rb_shift {
	uint32_t nr;
	struct wi_rb_shift_sample *sample; /* ascending in time */
};

struct wi_rb_clock {
	uint64_t offset_ns;	  /* added; wraps */
	uint32_t mult, tsc_shift; /* mult 0: the stamps are nanoseconds already */
	bool interpolate;
	uint32_t nr_shift; /* CPUs with a shift */
	const struct wi_rb_shift *shift;
	uint64_t end; /* raw: what the clock said after the recording, so no record is later; 0 unknown */
};

/* "now ts: 12.345678\n" of a CPU's statistics, or a plain number of counting clocks, as raw time; 0: not there. */
uint64_t wi_rb_stats_end(const char *stats);

uint64_t wi_rb_clock_map(const struct wi_rb_clock *c, uint32_t cpu, uint64_t raw);

struct wi_rb_streams;

struct wi_rb_streams_cfg {
	const struct wi_rb_layout *layout;
	const struct wi_evfmt_set *formats;
	const struct wi_rb_clock *clock;
	struct wi_names *names;
	struct wi_source_info *info;
	struct wi_cpu_info *cpu_info; /* info->nr_cpus entries, filled at open */
	struct wi_damage_log *log;
	const struct wi_rb_stream_ops *ops;
	void *ctx;
	const uint32_t *cpu; /* CPU of each stream, ascending, below info->nr_cpus */
	uint32_t nr_streams;
	uint64_t total_bytes; /* for progress */
	void (*progress)(void *ctx, uint64_t done, uint64_t total);
	void *progress_ctx;
};

/* Reads the first record of every stream. What cfg points to must outlive the object. NULL: err set. */
struct wi_rb_streams *wi_rb_streams_open(const struct wi_rb_streams_cfg *cfg, struct wi_err *err);

/* As wi_parser_ops.next_batch. */
int wi_rb_streams_next(struct wi_rb_streams *r, struct wi_event *ev, int max, struct wi_err *err);
bool wi_rb_streams_rewind(struct wi_rb_streams *r, struct wi_err *err);
void wi_rb_streams_set_filter(struct wi_rb_streams *r, uint32_t type_bits);
void wi_rb_streams_close(struct wi_rb_streams *r);

#endif
