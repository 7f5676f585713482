/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What was wrong in a file while it was read, as info->damage shows it. Repeated damage of one kind on one CPU is
 * one note with a count, and the number of notes is bounded, so that a file full of damage costs no memory.
 */
#ifndef WI_RINGBUF_DAMAGE_H
#define WI_RINGBUF_DAMAGE_H

#include <stdint.h>

#include "parsers/source.h"

#define WI_DAMAGE_MAX 64

enum wi_damage_kind {
	WI_DMG_HEAD,	/* metadata */
	WI_DMG_CUT,	/* the file ends before its data */
	WI_DMG_CHUNK,	/* a compressed chunk */
	WI_DMG_PAGE,	/* a sub-buffer's header */
	WI_DMG_RECORD,	/* a record's size */
	WI_DMG_CONTENT, /* a record's fields */
	WI_DMG_MORE	/* more notes than fit */
};

struct wi_damage_log {
	struct wi_source_info *info;
	struct wi_damage notes[WI_DAMAGE_MAX];
	struct {
		enum wi_damage_kind kind;
		uint32_t cpu;
		uint64_t count;
		uint8_t what_len; /* of the text without the count */
	} key[WI_DAMAGE_MAX];
	uint32_t nr;
};

void wi_damage_init(struct wi_damage_log *log, struct wi_source_info *info);

/* cpu: UINT32_MAX if it concerns none. offset: WI_NO_OFFSET if unknown. The text is "what is wrong: what was found". */
void wi_damage_note(struct wi_damage_log *log, enum wi_damage_kind kind, uint32_t cpu, uint64_t offset, const char *fmt,
		    ...) __attribute__((format(printf, 5, 6)));

/* Forgets the notes from mark on (a second pass finds them again). */
void wi_damage_rewind(struct wi_damage_log *log, uint32_t mark);

#endif
