/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The container of a trace.dat, versions 6 and 7 (trace-cmd.dat.v6(5), trace-cmd.dat.v7(5)): where the formats, the
 * options and each CPU's data are. Kernel symbols and printk formats are stepped over. Internal to the trace.dat
 * reader.
 */
#ifndef WI_TRACEDAT_HEAD_H
#define WI_TRACEDAT_HEAD_H

#include "parsers/evfmt.h"
#include "parsers/ringbuf_stream.h"
#include "parsers/tracedat_file.h"

#define WI_TD_BUFFERS_MAX 256u
#define WI_TD_REGIONS_MAX (1u << 18) /* CPUs of all buffers together */

struct wi_td_cpu {
	uint32_t cpu;
	uint64_t offset;
	uint64_t bytes; /* that are in the file */
	bool cut;	/* the file ends before this CPU's data do (bytes 0: all of them are lost) */
};

struct wi_td_buffer {
	char *name;  /* "" is the top instance */
	char *clock; /* NULL: the file's */
	uint32_t page_bytes;
	bool compressed, text; /* text: latency data, no ring buffer */
	uint64_t offset;       /* v6: of its "flyrecord"; v7: of its section */
	struct wi_td_cpu *cpu; /* ascending by CPU */
	uint32_t nr_cpus;
	uint64_t bytes;
};

/* A "per_cpu/cpuN/stats" text. */
struct wi_td_stat {
	uint64_t end; /* raw time after the recording; 0 unknown */
	char *buffer;
	uint32_t cpu;
	uint64_t entries, overrun, dropped, read;
};

/* A v7 section. */
struct wi_td_section {
	uint64_t offset; /* of its payload; 0: not there */
	uint64_t bytes;
	bool compressed;
};

enum wi_td_section_id {
	WI_TD_SEC_OPTIONS = 0,
	WI_TD_SEC_BUFFER = 3,
	WI_TD_SEC_STRINGS = 15,
	WI_TD_SEC_HEADER_INFO = 16,
	WI_TD_SEC_FTRACE_EVENTS = 17,
	WI_TD_SEC_EVENT_FORMATS = 18,
	WI_TD_SEC_KALLSYMS = 19,
	WI_TD_SEC_PRINTK = 20,
	WI_TD_SEC_CMDLINES = 21,
	WI_TD_SEC_BUFFER_TEXT = 22,
	WI_TD_NR_SECTIONS
};

struct wi_td {
	struct wi_td_file file;
	uint32_t version;
	bool big_endian;
	uint32_t long_size, page_bytes;
	char codec_name[32];
	bool unknown; /* open failed on something that a newer libtracecmd may know */

	struct wi_rb_layout layout;
	struct wi_evfmt_set *formats;
	struct wi_rb_clock time;
	struct wi_rb_shift *shift;
	char *kernel, *arch, *clock;
	uint32_t cpu_count;	/* CPUs of the machine, as far as the file says */
	uint64_t odd_cpu_count; /* file offset of a CPUCOUNT option that is none (gpuvis); 0: not there */

	struct wi_td_buffer *buffer;
	uint32_t nr_buffers, nr_regions;
	struct wi_td_stat *stat;
	uint32_t nr_stats;
	char *stat_buffer; /* whose statistics the next CPUSTAT options are */

	struct wi_td_section section[WI_TD_NR_SECTIONS];
	uint64_t first_section;	       /* v7: end of the initial header */
	uint64_t options_end;	       /* v7: end of the last options section that was read */
	uint64_t options_bytes;	       /* v7: of all options sections that were read, inflated */
	struct wi_td_section cmdlines; /* payload: the text itself in v6 (bytes), the section in v7 */
	struct wi_damage_log *log;
};

/* Zeroed td with file and log set. false: err set; wi_td_fini either way. */
bool wi_td_open(struct wi_td *td, struct wi_err *err);
void wi_td_fini(struct wi_td *td);

/* Steps of wi_td_open, in files of their own. */
bool wi_td_read_v6(struct wi_td *td, struct wi_td_cursor *c, struct wi_err *err);
bool wi_td_read_v7(struct wi_td *td, uint64_t options, struct wi_err *err);

/* Header texts and format sections at the cursor; the same bytes in v6 and v7. */
bool wi_td_read_headers(struct wi_td *td, struct wi_td_cursor *c, struct wi_err *err);
bool wi_td_read_ftrace_formats(struct wi_td *td, struct wi_td_cursor *c, struct wi_err *err);
bool wi_td_read_event_formats(struct wi_td *td, struct wi_td_cursor *c, struct wi_err *err);

/* One option; data is NUL-terminated behind n. v7's BUFFER, section and DONE options are wi_td_read_v7's. false: out of
 * memory. */
bool wi_td_option(struct wi_td *td, uint32_t id, char *data, uint32_t n, uint64_t offset, struct wi_err *err);
enum { WI_TD_OPT_DONE = 0, WI_TD_OPT_BUFFER = 3, WI_TD_OPT_BUFFER_TEXT = 22 };
#define WI_TD_OPTION_MAX (4u << 20)

/* "[local] global ..." -> local. NULL: out of memory. */
char *wi_td_chosen_clock(const char *text, size_t len);

/* The number behind a label ("overrun: ") at the start of a line of a per-CPU statistics text; 0 if it is not there. */
uint64_t wi_td_stat_number(const char *text, const char *label);

/* A new, empty buffer; NULL: out of memory or too many (err set). */
struct wi_td_buffer *wi_td_add_buffer(struct wi_td *td, const char *name, uint64_t offset, struct wi_err *err);

/* Room for the CPUs of a buffer. false: err set, WI_EREFUSED when all buffers together would have absurdly many. */
bool wi_td_room_for_cpus(struct wi_td *td, struct wi_td_buffer *b, uint32_t nr, struct wi_err *err);

/* Takes the last buffer away again. */
void wi_td_drop_buffer(struct wi_td *td);

/*
 * Cuts the CPU regions to what the file has and to where the next one begins, notes what is missing, sorts by CPU and
 * sums up. false: err set.
 */
bool wi_td_check_buffer(struct wi_td *td, struct wi_td_buffer *b, struct wi_err *err);

/* v7 file cut before the BUFFER option: finds sections (tracedat_salvage.c). false: err set. */
bool wi_td_scan_sections(struct wi_td *td, uint64_t from, struct wi_err *err);
bool wi_td_salvage_buffer(struct wi_td *td, struct wi_err *err);
bool wi_td_read_options(struct wi_td *td, uint64_t offset, uint64_t *next, struct wi_err *err);
bool wi_td_section_at(const struct wi_td *td, uint64_t offset, uint32_t *id, struct wi_td_section *out);

#endif
