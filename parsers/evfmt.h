/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Event formats of a binary trace: which record is which event and where its fields lie. Format texts go through
 * libtraceevent once; records are then read at fixed offsets. Nothing here allocates per record.
 */
#ifndef WI_EVFMT_H
#define WI_EVFMT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyzer/base/err.h"
#include "analyzer/base/names.h"
#include "parsers/event.h"
#include "parsers/ringbuf_damage.h"
#include "parsers/state.h"

/* Fields of one format, in the order that its decoder expects (evfmt.c has the names). */
#define WI_EVFMT_FIELDS 7

enum wi_evfmt_kind {
	WI_FK_ABSENT,
	WI_FK_U4,    /* 4-byte integer, any sign */
	WI_FK_INT,   /* integer of another size: 1, 2 or 8 bytes */
	WI_FK_COMM,  /* 16 bytes in the record */
	WI_FK_CHARS, /* character array of another length */
	WI_FK_LOC,   /* __data_loc: u32 (length << 16 | offset from the record's start) */
	WI_FK_REL,   /* __rel_loc: the same, offset from the end of the field */
	WI_FK_TAIL   /* text from here to the end of the record */
};

struct wi_evfmt_field {
	uint16_t offset;
	uint16_t size;
	uint8_t kind; /* enum wi_evfmt_kind */
	bool is_signed;
};

struct wi_evfmt {
	uint8_t type;	  /* enum wi_event_type */
	bool plain;	  /* integers are 4 bytes and names 16 bytes in the record: a fast path */
	bool usual;	  /* laid out as 64-bit kernels of today do (evfmt_decode.h): the fastest path */
	uint32_t min_len; /* shortest record that holds every field */
	struct wi_evfmt_field f[WI_EVFMT_FIELDS];
};

/* What a record's common_type says, one byte an id. */
enum { WI_SLOT_OTHER = WI_NR_EVENT_TYPES, WI_SLOT_HIDDEN /* of the ftrace system */ };

#define WI_STATE_CACHE 8192

struct wi_evfmt_set {
	uint8_t slot[65536]; /* by common_type: enum wi_event_type, WI_SLOT_OTHER or WI_SLOT_HIDDEN */
	struct wi_evfmt fmt[WI_NR_EVENT_TYPES];
	bool have[WI_NR_EVENT_TYPES];
	uint32_t common_len; /* shortest possible record */
	struct wi_evfmt_field common_type, common_flags, common_preempt, common_pid;
	bool have_common;
	bool swap;	    /* the file's byte order is not ours */
	uint8_t flags_mask; /* of common_flags: what this kernel means by it */
	struct wi_state_table states;
	struct wi_state state_cache[WI_STATE_CACHE];
	char *switch_print_fmt;
	uint32_t nr_formats; /* seen, needed or not */
	uint32_t owner[65536]; /* by ID: hash of the event's name, its lowest bit set if its records are read; 0: none */
	struct tep_handle *tep;
};

/* NULL: out of memory. long_size: 4 or 8, of the recording. */
struct wi_evfmt_set *wi_evfmt_new(bool big_endian, uint32_t long_size);
void wi_evfmt_free(struct wi_evfmt_set *set);

/* Does this event have to be read? Cheap test on the first bytes of a format text, so that the rest can be skipped. */
bool wi_evfmt_wanted(const char *system, const char *head, size_t len);

/*
 * Every format text, wanted or not, or its first bytes: two events cannot have one ID when the records of either are
 * read. false: err set (WI_EREFUSED), names the event.
 */
bool wi_evfmt_claim_id(struct wi_evfmt_set *set, const char *system, const char *head, size_t len, const char *path,
		       uint64_t offset, struct wi_err *err);

/*
 * One format text of a system ("sched", "ftrace", ...). Formats that nobody needs are only counted, ids of ftrace's
 * own events are remembered. A needed format that lacks a field is reported in log and its records count as
 * WI_EV_OTHER; a sched_switch without its pids is refused. false: err set.
 */
bool wi_evfmt_add(struct wi_evfmt_set *set, const char *system, const char *text, size_t len, const char *path,
		  uint64_t offset, struct wi_damage_log *log, struct wi_err *err);

/* After the last format. kernel_release: "" if unknown. */
void wi_evfmt_finish(struct wi_evfmt_set *set, const char *kernel_release);

#endif
