/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Errors are values: every function that can fail takes a struct wi_err as its
 * last parameter and returns false, NULL or a negative number. Nothing below
 * the cmd_*.c files prints an error or leaves the process.
 */
#ifndef WI_BASE_ERR_H
#define WI_BASE_ERR_H

#include <stdbool.h>
#include <stdint.h>

/* The values are the exit statuses of the program (doc/METRICS.md, "Contract for scripts"). */
enum wi_err_code {
	WI_OK = 0,
	WI_EIO = 1,	 /* own or I/O failure: no memory, read error, spool limit */
	WI_EUSAGE = 2,	 /* the command line is wrong */
	WI_EREFUSED = 3, /* input refused, nothing analysed */
	WI_EDAMAGED = 4, /* input damaged, what was whole was analysed and is named */
	WI_EGATE = 5,	 /* all went well, and a gate of --fail-if tells of a regression */
};

#define WI_NO_OFFSET UINT64_MAX

struct wi_err {
	enum wi_err_code code;
	char msg[640]; /* complete, one line, without the leading "wakeif: " and without '\n' */
};

/* Sets code and message; an error that is already set is kept (the first cause wins). Always returns false. */
bool wi_err_set(struct wi_err *err, enum wi_err_code code, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/*
 * Same, with the position: the message becomes "FILE@0xOFFSET: " and the text; "FILE: " when offset is
 * WI_NO_OFFSET. Unprintable bytes of the file name and of the text are shown as \xNN.
 */
bool wi_err_at(struct wi_err *err, enum wi_err_code code, const char *file, uint64_t offset, const char *fmt, ...)
	__attribute__((format(printf, 5, 6)));

/* What is wrong, of a message that wi_err_at() made for this file: the text behind "FILE@0xOFFSET: ". Points into err.
 */
const char *wi_err_reason(const struct wi_err *err, const char *file);

/* "out of memory" as WI_EIO. Always returns false. */
bool wi_err_nomem(struct wi_err *err);

#endif
