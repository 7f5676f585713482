/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Running programs, and staying alive to clean up after them when the user interrupts. */
#ifndef WI_RECORD_RUN_H
#define WI_RECORD_RUN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "analyzer/base/err.h"

/* Where the program lies: a path if name has a slash, else by $PATH. False: not found or not executable. */
bool wi_find_program(const char *name, char *path, size_t size);

struct wi_run {
	int keep_fd;	    /* stays open in the child; -1: none */
	uint32_t stop_secs; /* > 0: SIGTERM after so many seconds */
	const char *user;   /* NULL: as we are; else run as this user */
	/* Whom signals sent to us alone go to; 0 or NULL: the child. */
	pid_t (*signal_to)(void *ctx);
	void *ctx;
};

/*
 * Runs argv (argv[0] is searched in $PATH) and waits for it. SIGINT and SIGTERM sent to us alone are passed on; those
 * of the terminal reach the child anyway; we survive both. The result is an exit status as a shell gives it: of the
 * child, 128 + signal, 126 or 127 if it could not be started, and why (err) in that case. -1: err set.
 */
int wi_run(char *const *argv, const struct wi_run *how, struct wi_err *err);

/* Drops to the user's uid, gid and groups. False: err set. */
bool wi_become_user(const char *user, struct wi_err *err);

/* From now on SIGINT, SIGTERM and SIGHUP are kept until wi_wait() looks at them. */
void wi_hold_signals(void);

/*
 * Waits until SIGINT, SIGTERM or SIGHUP comes, secs (0: no limit) have passed, or the process pid (0: none) has ended.
 * False: err set (no such process).
 */
bool wi_wait(pid_t pid, uint32_t secs, struct wi_err *err);

#endif
