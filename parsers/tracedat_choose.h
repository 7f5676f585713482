/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which of a file's buffers is read, and the layout of its pages. Internal to the trace.dat reader. */
#ifndef WI_TRACEDAT_CHOOSE_H
#define WI_TRACEDAT_CHOOSE_H

#include "parsers/tracedat_head.h"

/* name NULL: the buffer with sched events, of several the one with most data. NULL: err set. Borrowed from td. */
const struct wi_td_buffer *wi_td_choose_buffer(struct wi_td *td, const char *name, struct wi_err *err);

/* false: err set (I/O). */
bool wi_td_buffer_layout(struct wi_td *td, const struct wi_td_buffer *b, struct wi_rb_layout *l, struct wi_err *err);

#endif
