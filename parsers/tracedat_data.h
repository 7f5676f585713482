/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The data of a buffer's CPUs as blocks of whole pages: read as they lie, or inflated chunk by chunk. Internal to the
 * trace.dat reader. */
#ifndef WI_TRACEDAT_DATA_H
#define WI_TRACEDAT_DATA_H

#include "parsers/ringbuf_stream.h"
#include "parsers/tracedat_head.h"

struct wi_td_data;

/* td and b are lent and must outlive the object. page_bytes: of a sub-buffer. NULL: out of memory, err set. */
struct wi_td_data *wi_td_data_new(struct wi_td *td, const struct wi_td_buffer *b, uint32_t page_bytes,
				  struct wi_err *err);
void wi_td_data_free(struct wi_td_data *d);

/* ctx is a struct wi_td_data; stream i is b->cpu[i]. */
extern const struct wi_rb_stream_ops wi_td_data_ops;

#endif
