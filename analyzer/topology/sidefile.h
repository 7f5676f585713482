/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Opening the small files that a user names beside the trace (--topology, --tasks). A pipe, as the shell makes of
 * <(COMMAND), is read to its end into memory first, since a source may be looked at more than once.
 */
#ifndef WI_TOPOLOGY_SIDEFILE_H
#define WI_TOPOLOGY_SIDEFILE_H

#include <stdint.h>

#include "analyzer/base/err.h"

#define WI_SIDE_PIPE_BYTES (64u << 20) /* most that is taken from a pipe */
#define WI_SIDE_WRITER_SECS 5	       /* so long a named pipe may be without a writer */

/*
 * A descriptor of a regular file at its start (of the pipe's contents, if path is a pipe), which the caller closes.
 * -1: err set; WI_EIO when it cannot be opened or read, or when nobody writes to a named pipe; WI_EREFUSED for folders,
 * devices and sockets, and for a pipe that brings more than WI_SIDE_PIPE_BYTES.
 */
int wi_side_open(const char *path, struct wi_err *err);

#endif
