/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A trace file as a stream of events: bytes in, struct wi_event out, in time order, in batches (pull).
 * One ops table a format; wi_source_open() finds the format by content, not by name.
 */
#ifndef WI_SOURCE_H
#define WI_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyzer/base/err.h"
#include "analyzer/base/names.h"
#include "parsers/event.h"

#define WI_MAX_SPOOL_DEFAULT (16ull << 30)

enum wi_reader { WI_READER_AUTO, WI_READER_OWN, WI_READER_LIBTRACECMD };

struct wi_open_opts {
	enum wi_reader reader;	  /* trace.dat: AUTO = own, libtracecmd for what own does not know */
	const char *buffer;	  /* instance name; NULL: the one with sched events (most bytes of data); "" = top */
	uint64_t max_spool_bytes; /* 0: WI_MAX_SPOOL_DEFAULT */
	/* progress: bytes read of total; NULL: none. Called at most a few times per MiB. */
	void (*progress)(void *ctx, uint64_t done, uint64_t total);
	void *progress_ctx;
	bool *no_trace; /* set when the file is refused because it holds no trace of any kind; NULL: not asked */
};

/* What a file says of one CPU's ring buffer. */
struct wi_cpu_info {
	bool has_data;	       /* at least one record */
	bool overwritten;      /* the start of the buffer was overwritten (overrun > 0, flight recorder) */
	uint64_t first_ts_ns;  /* of its first record of any kind; 0 without data. Known at open if info->looks_ahead, else after a pass */
	int32_t first_pid;     /* common_pid of that record: the task that ran there from the recording's start; -1 unknown */
	uint64_t bytes;	       /* of data in the file; 0 for text */
	uint64_t overrun;      /* records overwritten, as its CPU statistics say */
	uint64_t lost;	       /* records dropped, as its CPU statistics say */
};

struct wi_damage {
	uint64_t offset; /* file offset, WI_NO_OFFSET if none */
	char what[160];	 /* "what is wrong: what was found" */
};

struct wi_buffer_info {
	const char *name; /* "" = top instance */
	uint64_t bytes;	  /* of event data */
	bool chosen;
};

/* Facts about the recording. Borrowed from the source, valid until close. Strings are "" when the file does not say. */
struct wi_source_info {
	const char *path;    /* as given */
	const char *format;  /* "trace.dat v7 zstd", "ftrace text", "trace-cmd report text", "perf script text", "systrace html", ... */
	const char *wrapper; /* "gz", "xz", "zst", "bz2", "pipe" or "" */
	const char *kernel;  /* release, "6.1.0-57-amd64" */
	const char *arch;    /* "x86_64" */
	const char *clock;   /* "local", "mono", "x86-tsc", "tsc2nsec", ... */
	uint32_t time_res_ns; /* 1, or 1000 for microsecond stamps */
	uint32_t nr_cpus;    /* highest CPU number + 1: of the recording where the file says (text: header "#P:" or seen so far) */
	uint32_t told_cpus;  /* CPUs that a text's header counts, whether or not its lines show them; 0: it does not, or no text */
	bool big_endian;
	uint32_t long_size; /* 4, 8; 0 unknown */
	uint32_t page_size; /* 0 unknown */
	const struct wi_cpu_info *cpu; /* nr_cpus entries */
	const struct wi_buffer_info *buffers;
	uint32_t nr_buffers;
	const struct wi_damage *damage; /* grows while reading */
	uint32_t nr_damage;
	uint64_t file_bytes;
	bool looks_ahead;    /* cpu[] is complete at open and WI_EV_LOST comes at the start of its gap (see event.h) */
	uint64_t last_ts_ns; /* of the latest record of any kind, delivered or not; complete after a pass; 0 unknown */
	uint64_t unparsed;   /* sched records or lines that could not be decoded, so far */
	uint64_t unordered;  /* records that came earlier than a predecessor and were delivered at the predecessor's time, so far */
	uint64_t unknown_state_letters;
};

struct wi_source;

/*
 * One format. All calls but probe get the object that open made.
 * next_batch: fills up to max events, returns their number; 0 at the end; -1: err set (WI_EIO or WI_EREFUSED).
 *   Damage inside the data is no error: the reader goes on at the next whole page or line and notes it in info->damage.
 * rewind: start again from the first event (a second pass); same events, same order.
 * set_filter: from now on only these types (bits WI_EV_BIT) need be delivered; others may still come. 
 * open: fd is lent, at offset 0, seekable, valid until close returned; the caller closes it. A directory
 *   comes as an fd opened with O_RDONLY | O_DIRECTORY and file_bytes 0.
 * comm_of: name of a pid from the file's own table of latest names (saved_cmdlines), or WI_NAME_NONE. Use last.
 */
struct wi_parser_ops {
	const char *name;
	int (*probe)(const uint8_t *head, size_t len, uint64_t file_bytes); /* 0: no .. 100: certain */
	void *(*open)(int fd, uint64_t file_bytes, const char *path, const struct wi_open_opts *opts, struct wi_names *names,
		      struct wi_source_info *info, struct wi_err *err);
	int (*next_batch)(void *self, struct wi_event *ev, int max, struct wi_err *err);
	bool (*rewind)(void *self, struct wi_err *err);
	void (*set_filter)(void *self, uint32_t type_bits);
	uint32_t (*comm_of)(void *self, int32_t pid);
	void (*close)(void *self);
};

extern const struct wi_parser_ops wi_tracedat_ops;    /* trace.dat v6, v7: own reader */
extern const struct wi_parser_ops wi_tracecmdlib_ops; /* the same through libtracecmd; chosen by opts->reader, never by probe */
extern const struct wi_parser_ops wi_text_ops;	      /* every text form */
extern const struct wi_parser_ops wi_rawdump_ops;     /* directory or tar of per-CPU ring-buffer dumps + formats/ */

/*
 * What a file is by its beginning (the more of it the better, 64 KiB are enough), without opening it. WRAPPED: a
 * compressed file, to be opened for the answer. FOREIGN: a trace of a kind that is refused with advice.
 */
enum wi_probe { WI_PROBE_NO, WI_PROBE_TRACE, WI_PROBE_WRAPPED, WI_PROBE_FOREIGN };
enum wi_probe wi_source_probe(const uint8_t *head, size_t len, uint64_t file_bytes);
#define WI_PROBE_BYTES (64u << 10)

/* Is this directory as a whole a raw dump: does it hold header_page, in itself or in formats/ or events/? */
bool wi_source_probe_dir(const char *path);

/*
 * Opens a file, "-" (standard input) or a directory of raw dumps. Compressed files and pipes are spooled to an unlinked
 * file in $TMPDIR. names is borrowed and must outlive the source. NULL: err set.
 */
struct wi_source *wi_source_open(const char *path, const struct wi_open_opts *opts, struct wi_names *names, struct wi_err *err);
int wi_source_next_batch(struct wi_source *src, struct wi_event *ev, int max, struct wi_err *err);
bool wi_source_rewind(struct wi_source *src, struct wi_err *err);
void wi_source_set_filter(struct wi_source *src, uint32_t type_bits);
uint32_t wi_source_comm_of(struct wi_source *src, int32_t pid);
const struct wi_source_info *wi_source_info(const struct wi_source *src);
void wi_source_close(struct wi_source *src);

#endif
