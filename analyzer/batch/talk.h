/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a worker does and says, and what the pool understands of it. Internal to the room. */
#ifndef WI_BATCH_TALK_H
#define WI_BATCH_TALK_H

#include "analyzer/batch/batch.h"

/* A message: its kind (u32), the length of what follows (u64), and that. */
enum wi_said {
	WI_SAID_HASH,	  /* size (u64), hash: now it waits to be told whether to go on */
	WI_SAID_BUNDLE,	  /* the last word */
	WI_SAID_NO_TRACE, /* the last word: a text that says what else it is */
	WI_SAID_NO_ROW,	  /* the last word: a text that says why */
	WI_NR_SAID
};
#define WI_SAID_HEAD 12u
#define WI_SAID_MAX ((size_t)WI_BUNDLE_MAX + 1024)

struct wi_task {
	const struct wi_batch_ops *ops;
	const struct wi_found *found;
	bool hash; /* to be found out; else the worker begins at once */
};

/* In the worker; ctx is a struct wi_task. */
int wi_talk_work(void *ctx, int say, int hear);

/* The next whole message in w->in from *at on, which moves behind it. */
bool wi_talk_next(const struct wi_worker *w, size_t *at, enum wi_said *said, const uint8_t **bytes, size_t *nr);

bool wi_talk_go_on(struct wi_worker *w);

#endif
