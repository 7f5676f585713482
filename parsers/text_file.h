/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Lines of a seekable file, one after another or by position, in bounded memory whatever a line's length is. */
#ifndef WI_TEXT_FILE_H
#define WI_TEXT_FILE_H

#include <stdbool.h>
#include <stdint.h>

#include "analyzer/base/err.h"
#include "parsers/text_line.h"

#define WI_LINE_MAX (64u << 10) /* what is behind it in a longer line is skipped */

struct wi_text_file {
	int fd; /* lent */
	const char *path;
	uint64_t bytes;
	bool html; /* lines are unescaped */

	char *buf;
	uint32_t have, pos;
	uint64_t base;	 /* position of buf[0] in the file */
	bool skip;	 /* the rest of an over-long line comes next */
	uint64_t nr_cut; /* lines longer than WI_LINE_MAX */

	char *plain; /* an unescaped line; one that lies across blocks */
	char *across;
	struct wi_text_block *blocks;
};

bool wi_text_file_init(struct wi_text_file *f, int fd, uint64_t bytes, const char *path, struct wi_err *err);
void wi_text_file_fini(struct wi_text_file *f);
void wi_text_file_rewind(struct wi_text_file *f);

/* Next line without its line end, and its position. 1, 0 at the end, -1 with err set. Valid until the next call. */
int wi_text_file_next(struct wi_text_file *f, struct wi_str *line, uint64_t *offset, struct wi_err *err);

/* The line at offset, which must be one that wi_text_file_next gave. Valid until the next call. false: err set. */
bool wi_text_file_at(struct wi_text_file *f, uint64_t offset, struct wi_str *line, struct wi_err *err);

#endif
