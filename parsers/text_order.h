/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Lines of a text in time order when the file is not: positions are sorted, lines are read again by position. Small
 * inversions go through a heap of WI_TEXT_WINDOW lines (1 MiB); else all lines are indexed (16 bytes a line).
 */
#ifndef WI_TEXT_ORDER_H
#define WI_TEXT_ORDER_H

#include <stdbool.h>
#include <stdint.h>

#include "analyzer/base/err.h"
#include "parsers/text_file.h"
#include "parsers/text_scan.h"

struct wi_text_place {
	uint64_t ts_ns;
	uint64_t offset;
};

struct wi_text_sorter;

/* facts->order must be WINDOW or INDEX. file is lent. NULL: err set. */
struct wi_text_sorter *wi_text_sorter_new(struct wi_text_file *file, const struct wi_text_facts *facts,
					  struct wi_err *err);
void wi_text_sorter_free(struct wi_text_sorter *s);

/* Next line in the order of (stamp, position). A line that tells of lost events has the stamp of its CPU's next line.
 * 1, 0 at the end, -1 with err set. */
int wi_text_sorter_next(struct wi_text_sorter *s, struct wi_text_place *place, struct wi_err *err);
void wi_text_sorter_rewind(struct wi_text_sorter *s);

#endif
