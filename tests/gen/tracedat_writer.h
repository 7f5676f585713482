/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Writes trace.dat files of every shape that a reader may meet: version 6 or 7, 32 or 64 bits, either byte order, none,
 * zlib or zstd, any page size, several buffers, lost marks, odd headers of vendor kernels. trace-cmd reads what it
 * writes (zlib apart, which Debian's trace-cmd refuses). Test code: it stops the program when it runs out of memory or
 * disk.
 */
#ifndef TRACEDAT_WRITER_H
#define TRACEDAT_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "parsers/event.h"

enum tdw_codec { TDW_NONE, TDW_ZLIB, TDW_ZSTD };

/* Kernels whose sched_switch formats differ. */
enum tdw_kernel {
	TDW_KERNEL_6_1,	 /* preempt mark 0x100, written as an expression */
	TDW_KERNEL_4_11, /* mark 0x1000, old letters */
	TDW_KERNEL_4_14, /* state indexes */
	TDW_KERNEL_4_4	 /* mark 0x800 */
};

struct tdw_cfg {
	uint32_t version; /* 6 or 7 */
	bool big_endian;
	uint32_t long_size; /* 4 or 8 */
	uint32_t page_bytes;
	uint32_t header_page_bytes; /* what the file header says; 0: page_bytes */
	enum tdw_codec codec;	    /* version 7 */
	uint32_t chunk_pages;	    /* 0: ten, as trace-cmd */
	uint32_t nr_cpus;
	const char *buffers[8]; /* instances beside the top one, ended by NULL */
	enum tdw_kernel kernel;
	const char *uname; /* NULL: no option */
	const char *clock; /* NULL: no option */
	bool success_field;
	bool loc_comm;		      /* names of sched_migrate_task are __data_loc, as 6.18 has them */
	bool extra_common;	      /* two more common fields and a gap, as RT vendor kernels have */
	bool no_sched_formats;	      /* only the others */
	uint32_t tsc_mult, tsc_shift; /* option TSC2NSEC if mult is not 0 */
	const char *offset_option, *date_option;
	bool gpuvis_tgids; /* option 8 with text */
	const void *time_shift;
	uint32_t time_shift_bytes;
	bool skip_empty_cpus; /* version 7: CPUs without data are left out of the table */
	bool latency;	      /* a latency file: text instead of data */
};

struct tdw;

/* cfg is copied, its strings are lent until tdw_finish. */
struct tdw *tdw_new(const struct tdw_cfg *cfg);

/*
 * One event into buffer (0: top, i: cfg.buffers[i - 1]) of CPU ev->cpu. Fields as in ev; comm, comm2 are the names
 * (prev and next, parent and child). WI_EV_LOST: the next record starts a page with the missed-events mark (nr_lost 0:
 * without a number). WI_EV_OTHER: an event of system irq. Stamps on a CPU must not run backward, except through
 * tdw_page_break.
 */
void tdw_event(struct tdw *w, uint32_t buffer, const struct wi_event *ev, const char *comm, const char *comm2);

/* A record of the ftrace system (function). */
void tdw_function(struct tdw *w, uint32_t buffer, uint32_t cpu, uint64_t ts, int32_t pid);

/* A record with any bytes; type is its common_type, written into the first two bytes. */
void tdw_raw_record(struct tdw *w, uint32_t buffer, uint32_t cpu, uint64_t ts, const void *rec, uint32_t len);
uint16_t tdw_event_id(enum wi_event_type type);

/* The next record of this CPU: with an absolute stamp; behind a discarded record; on a new page. */
void tdw_absolute(struct tdw *w, uint32_t buffer, uint32_t cpu);
void tdw_discarded(struct tdw *w, uint32_t buffer, uint32_t cpu, uint64_t ts, uint32_t len);
void tdw_page_break(struct tdw *w, uint32_t buffer, uint32_t cpu);

/* A whole page of any bytes. */
void tdw_raw_page(struct tdw *w, uint32_t buffer, uint32_t cpu, const void *page);

/* Statistics of a CPU for its CPUSTAT option (top buffer). */
void tdw_stat(struct tdw *w, uint32_t cpu, uint64_t overrun, uint64_t dropped);

/* "PID NAME\n" for the table of task names. */
void tdw_cmdline(struct tdw *w, int32_t pid, const char *comm);

/* Writes the file and frees w. Bytes written. */
uint64_t tdw_finish(struct tdw *w, const char *path);

/* Instead: a raw dump, directory/{formats,traces}; it must not exist. Frees w. */
void tdw_finish_raw(struct tdw *w, const char *directory);

#endif
