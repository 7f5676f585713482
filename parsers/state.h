/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a raw prev_state means. The constants differ by kernel (a preempt mark of 0x100, 0x200, 0x400, 0x800, 0x1000;
 * 4.14 writes the state's index instead of its bit), so the event's print fmt is read first and a table by kernel
 * version is the fallback. Sources: include/trace/events/sched.h of 3.4 .. 6.18.
 */
#ifndef WI_STATE_H
#define WI_STATE_H

#include <stdbool.h>
#include <stdint.h>

#define WI_STATE_BITS 16

struct wi_state_table {
	char letter[WI_STATE_BITS]; /* letter of bit i; 0: none */
	uint64_t preempt_mark;	    /* 0: this kernel has none */
	uint64_t mask;		    /* bits that carry the state (below the mark) */
	bool index_states;	    /* 4.14: the value is an index (0 R, 1 S, 2 D, 3 T, 4 t, 5 X, 6 Z, 7 P, 8 I) */
	const char *source;	    /* "print fmt", "table 4.14", ... static */
};

/*
 * From the print fmt of sched_switch ("" or NULL: none) and the kernel release ("" if unknown). Always succeeds: what cannot be read
 * from the print fmt comes from the table; without a known release from the newest table.
 */
void wi_state_table_init(struct wi_state_table *t, const char *print_fmt, const char *kernel_release);

struct wi_state {
	char letter; /* 'R' when still runnable; the lowest bit's letter when several are set; '?' for bits without a letter */
	bool preempted, known;
};

struct wi_state wi_state_decode(const struct wi_state_table *t, uint64_t raw);

/* Text form: "S", "R+", "D|K", "x" ...; len 0 or unknown letters: known false, letter '?'. */
struct wi_state wi_state_parse_letters(const char *s, uint32_t len);

#endif
