/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A process of its own for one trace: whatever happens there costs that trace only. It has bounds of memory, processor
 * and wall-clock time, leaves no core file, is the first that the kernel ends when memory runs out, and dies with its
 * parent, however that dies. It leads a process group: what it started is ended with it, and a Ctrl-C at the terminal
 * goes to the parent alone.
 */
#ifndef WI_BATCH_WORKER_H
#define WI_BATCH_WORKER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "analyzer/base/bytes.h"
#include "analyzer/base/err.h"
#include "analyzer/store/bundle.h"

struct wi_worker_limits {
	uint64_t memory_bytes; /* of address space; 0: none */
	uint32_t timeout_s;    /* 0: none; the processor time is bounded too, in case the parent is stopped */
};

struct wi_worker {
	pid_t pid;		       /* 0: there is none */
	int from;		       /* what it says; -1: at its end */
	int errors;		       /* its standard error (and output); -1: at its end */
	int to;			       /* what it is told */
	uint64_t deadline_ns;	       /* CLOCK_MONOTONIC; UINT64_MAX: none */
	bool late;		       /* it was ended because of that */
	bool too_much;		       /* or because it said more than there was room for */
	struct wi_bytes_out in;	       /* what it has said */
	char tail[2 * WI_STDERR_TAIL]; /* the end of what it wrote there; nr_tail bytes */
	size_t nr_tail;
};

/*
 * work runs in the process, with the descriptors to say and to hear; its result is the exit status. close: descriptors
 * of the parent that the process must not keep.
 */
bool wi_worker_start(struct wi_worker *w, const struct wi_worker_limits *limits,
		     int (*work)(void *ctx, int say, int hear), void *ctx, const int *close_fds, size_t nr_close,
		     struct wi_err *err);

/* Reads what has come, without waiting; more bytes than max: it is ended. false: no memory. */
bool wi_worker_hear(struct wi_worker *w, size_t max, struct wi_err *err);

/* Has it ended? Then what it had said is complete, and how it ended, as waitpid() tells, is in *status. */
bool wi_worker_ended(struct wi_worker *w, size_t max, int *status);

void wi_worker_kill(struct wi_worker *w); /* with all that it started; it still has to be waited for */
void wi_worker_fini(struct wi_worker *w); /* kills, waits, frees */

uint64_t wi_now_ns(void); /* CLOCK_MONOTONIC */

#endif
