/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The message for a file that no parser takes: what it is instead, and what to do about it. */
#ifndef WI_REFUSE_H
#define WI_REFUSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyzer/base/err.h"

/* head: first bytes after unwrapping; bytes: their number in all; wrapper: "" or as wi_source_info. Always false. */
bool wi_refuse(const char *path, const uint8_t *head, size_t len, uint64_t bytes, const char *wrapper,
	       struct wi_err *err);

/* A trace of another tool (perf.data, CTF): refused with advice, but a trace. */
bool wi_refuse_foreign(const uint8_t *head, size_t len);

#endif
