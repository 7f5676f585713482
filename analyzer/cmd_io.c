/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The commands' dealings with the terminal: output files, messages, progress. */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "analyzer/base/fmt.h"
#include "analyzer/cmd.h"

FILE *wi_out_open(const char *path, struct wi_err *err)
{
	FILE *out = path ? fopen(path, "we") : stdout;

	if (!out) {
		wi_err_at(err, WI_EIO, path, WI_NO_OFFSET, "cannot be written: %s", strerror(errno));
		return NULL;
	}
	return out;
}

bool wi_out_close(FILE *out, const char *path, struct wi_err *err)
{
	int failed = ferror(out), reason = failed ? EIO : 0;

	errno = 0;
	if (out == stdout ? fflush(out) : fclose(out)) {
		failed = 1;
		reason = errno;
	}
	if (failed && reason == EPIPE && err) { /* the reader has what it wanted */
		err->code = WI_EIO;
		err->msg[0] = '\0';
		return false;
	}
	return failed ? wi_err_at(err, WI_EIO, path ? path : "standard output", WI_NO_OFFSET, "cannot be written: %s",
				  strerror(reason))
		      : true;
}

int wi_cmd_fail(const struct wi_err *err)
{
	wi_progress_end();
	if (err->msg[0])
		fprintf(stderr, "wakeif: %s\n", err->msg);
	return err->code ? (int)err->code : WI_EIO;
}

void wi_cmd_note(const struct wi_opts *o, const char *fmt, ...)
{
	char text[sizeof(((struct wi_err *)0)->msg)];
	struct wi_err note = { 0 };
	va_list ap;

	if (o->quiet)
		return;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	wi_err_set(&note, WI_EIO, "%s", text); /* makes it printable */
	wi_cmd_fail(&note);
}

int wi_cmd_damage(const struct wi_source_info *info)
{
	struct wi_err err = { 0 };
	char more[64] = "";

	if (!info->nr_damage)
		return WI_OK;
	if (info->nr_damage > 1)
		snprintf(more, sizeof(more), " (%" PRIu32 " places in all)", info->nr_damage);
	wi_err_at(&err, WI_EDAMAGED, info->path, info->damage[0].offset, "%s%s", info->damage[0].what, more);
	return wi_cmd_fail(&err);
}

#define PROGRESS_AFTER_NS 1000000000ull
#define PROGRESS_EVERY_NS 100000000ull

static struct {
	bool wanted, shown;
	const char *pass;
	uint64_t start_ns, drawn_ns;
} progress;

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

void wi_progress_start(const struct wi_opts *o)
{
	const char *term = getenv("TERM");

	progress.wanted = !o->quiet && isatty(STDERR_FILENO) && term && strcmp(term, "dumb") != 0;
	progress.start_ns = progress.drawn_ns = progress.wanted ? now_ns() : 0;
	progress.pass = "reading";
}

void wi_progress_pass(const char *what)
{
	progress.pass = what;
}

void wi_progress_update(void *ctx, uint64_t done, uint64_t total)
{
	char a[WI_FMT_LEN], b[WI_FMT_LEN];
	uint64_t now;

	(void)ctx;
	if (!progress.wanted)
		return;
	now = now_ns();
	if (now - progress.start_ns < PROGRESS_AFTER_NS || now - progress.drawn_ns < PROGRESS_EVERY_NS)
		return;
	progress.drawn_ns = now;
	progress.shown = true;
	if (total)
		fprintf(stderr, "\r%s: %3.0f %% of %s\033[K", progress.pass, 100.0 * (double)done / (double)total,
			wi_fmt_bytes(a, sizeof(a), total));
	else
		fprintf(stderr, "\r%s: %s\033[K", progress.pass, wi_fmt_bytes(b, sizeof(b), done));
	fflush(stderr);
}

void wi_progress_end(void)
{
	if (progress.shown)
		fputs("\r\033[K", stderr);
	progress.shown = false;
}
