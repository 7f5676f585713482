/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How numbers and names look in text. One place, so that every table and message agrees:
 *   durations    three significant digits and a unit: "0 ns", "981 ns", "12.3 us", "39.7 ms", "1.24 s"
 *   counts       plain digits without separators, so that awk and sort can read every column
 *   shares       one decimal: "3.1 %"; "<0.1 %" and ">99.9 %" where rounding would say none or all; "-" of nothing
 *   stamps       seconds.microseconds, rounded as trace-cmd report does; nanoseconds with -t
 *   CPUs         "[003]", tasks "comm:pid"
 * All return their first argument, always NUL-terminated.
 */
#ifndef WI_BASE_FMT_H
#define WI_BASE_FMT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WI_FMT_LEN 32	     /* enough for every function here without a name */
#define WI_FMT_NAME_LEN 1600 /* enough for an escaped name of WI_NAME_MAX bytes */

const char *wi_fmt_ns(char *out, size_t size, uint64_t ns);
const char *wi_fmt_count(char *out, size_t size, uint64_t n);
const char *wi_fmt_bytes(char *out, size_t size, uint64_t bytes);
const char *wi_fmt_share(char *out, size_t size, uint64_t part, uint64_t whole);
const char *wi_fmt_ratio(char *out, size_t size, uint64_t part, uint64_t whole); /* "0.51", "-" of nothing */
/* 15 digits, finite: all that does not depend on the order of a sum; whole numbers are exact up to there. */
const char *wi_fmt_real(char *out, size_t size, double v);
const char *wi_fmt_stamp(char *out, size_t size, uint64_t ns, bool nanoseconds);
const char *wi_fmt_cpu(char *out, size_t size, uint32_t cpu); /* UINT32_MAX: "[???]" */

/* A name as a terminal may see it: control, invisible and invalid bytes as \xNN or \uNNNN, a backslash doubled. */
const char *wi_fmt_name(char *out, size_t size, const char *name);
/* The same of one character of s, len > 0 bytes: *used of them become the bytes of out, whose number is returned. */
#define WI_FMT_CHAR_LEN 48
size_t wi_fmt_char(char out[WI_FMT_CHAR_LEN], const char *s, size_t len, size_t *used);
/* "comm:pid"; pid 0 is "swapper:0"; a negative pid "unknown"; a name that nobody told is "<...>". */
const char *wi_fmt_task(char *out, size_t size, const char *comm, int32_t pid);

#endif
