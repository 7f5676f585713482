/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A library that damaged files crash reads the file in a child process first. */
#ifndef WI_TRIAL_H
#define WI_TRIAL_H

#include <stdint.h>

#include "analyzer/base/err.h"

/*
 * Runs all(ctx) in a child of bounded memory and processor time, in which it must not print. false: err set,
 * WI_EREFUSED when it crashed, printed, left or ran into a bound (name is the library's), WI_EIO when there was no
 * child.
 */
bool wi_trial(void (*all)(void *ctx), void *ctx, const char *name, uint64_t file_bytes, const char *path,
	      struct wi_err *err);

#endif
