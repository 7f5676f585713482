/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The file's own table of task names ("saved_cmdlines"), read when somebody asks. Internal to the trace.dat reader. */
#ifndef WI_TRACEDAT_CMDLINES_H
#define WI_TRACEDAT_CMDLINES_H

#include "analyzer/base/names.h"
#include "parsers/tracedat_head.h"

struct wi_td_cmdline {
	int32_t pid;
	uint32_t name;
};

struct wi_td_cmdlines {
	bool loaded;
	struct wi_td_cmdline *entry; /* ascending by pid */
	uint32_t nr;
};

/* Name of a pid, WI_NAME_NONE if the table has none or cannot be read. */
uint32_t wi_td_cmdlines_find(struct wi_td_cmdlines *t, struct wi_td *td, struct wi_names *names, int32_t pid);

/* Fills the table from a text of lines "PID NAME". For raw dumps. */
void wi_td_cmdlines_parse(struct wi_td_cmdlines *t, struct wi_names *names, const char *text, size_t len);
void wi_td_cmdlines_fini(struct wi_td_cmdlines *t);

#endif
