/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Lines of tab-separated fields from a plain or zstd-compressed file. */
#ifndef WI_REPLAY_TSV_H
#define WI_REPLAY_TSV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyzer/base/err.h"

#define WI_TSV_MAX_FIELDS 128
#define WI_TSV_MAX_LINE (16u << 20)

struct wi_tsv {
	const char *path;
	uint64_t line;			/* number of the current one, from 1 */
	char *field[WI_TSV_MAX_FIELDS]; /* NUL-terminated, writable, valid until the next line */
	unsigned int nr_fields;
	struct wi_tsv_input *input;
};

bool wi_tsv_open(struct wi_tsv *t, const char *path, struct wi_err *err);
int wi_tsv_next(struct wi_tsv *t, struct wi_err *err); /* 1 a line, 0 the end, -1 err set */
void wi_tsv_close(struct wi_tsv *t);

/* "FILE:LINE: " and the text, WI_EREFUSED. Always false. */
bool wi_tsv_err(const struct wi_tsv *t, struct wi_err *err, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

#endif
