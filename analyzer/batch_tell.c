/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analyzer/batch_tell.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analyzer/base/fmt.h"

#define DRAWN_EVERY_NS 100000000ull
#define LINE_EVERY_NS 10000000000ull

void wi_batch_tell_init(struct wi_batch_tell *t, bool quiet, bool verbose)
{
	const char *term = getenv("TERM");

	*t = (struct wi_batch_tell){ .quiet = quiet, .verbose = verbose };
	t->terminal = !quiet && isatty(STDERR_FILENO) && term && strcmp(term, "dumb") != 0;
	t->start_ns = t->told_ns = wi_now_ns();
}

void wi_batch_tell_end(struct wi_batch_tell *t)
{
	if (t->shown)
		fputs("\r\033[K", stderr);
	t->shown = false;
}

/* "wakeif: PATH: WHAT: WHY" */
static void line(struct wi_batch_tell *t, const char *path, const char *what, const char *why)
{
	struct wi_err text = { 0 };

	wi_batch_tell_end(t);
	wi_err_at(&text, WI_EIO, path, WI_NO_OFFSET, "%s%s%s", what, *why ? ": " : "", why);
	fprintf(stderr, "wakeif: %s\n", text.msg);
}

void wi_batch_tell_trace(void *ctx, const char *path, enum wi_run_status status, const char *what, const char *why)
{
	struct wi_batch_tell *t = ctx;
	bool bad = status != WI_NR_RUN_STATUSES && status != WI_RUN_OK; /* a row tells that, too */

	if (t->verbose || (bad && !t->quiet) || !strcmp(what, "unreadable"))
		line(t, path, what, why);
}

void wi_batch_tell_note(void *ctx, const char *text)
{
	struct wi_batch_tell *t = ctx;

	if (t->quiet)
		return;
	wi_batch_tell_end(t);
	fprintf(stderr, "wakeif: %s\n", text);
}

void wi_batch_tell_finding(void *ctx, const char *path, enum wi_finding finding, const char *why)
{
	struct wi_batch_tell *t = ctx;

	if (t->verbose || finding == WI_FINDING_UNREADABLE)
		line(t, path, wi_finding_name(finding), why);
}

static void left(char *out, size_t size, const struct wi_batch_tell *t, uint64_t now, const struct wi_discover_count *f,
		 const struct wi_batch_count *d)
{
	uint64_t spent = (now - t->start_ns) / 1000000000;
	double share = f->bytes ? (double)d->done_bytes / (double)f->bytes : 0;

	if (!f->done)
		snprintf(out, size, ", still searching");
	else if (share <= 0 || spent < 2)
		out[0] = '\0';
	else {
		uint64_t s = (uint64_t)((double)spent / share * (1 - share));

		snprintf(out, size, ", %" PRIu64 ":%02" PRIu64 ":%02" PRIu64 " left", s / 3600, s / 60 % 60, s % 60);
	}
}

static uint64_t failures(const struct wi_batch_count *d)
{
	uint64_t n = d->no_row;

	for (int i = WI_RUN_REFUSED + 1; i < WI_NR_RUN_STATUSES; i++)
		n += d->status[i];
	return n;
}

void wi_batch_tell_progress(void *ctx, const struct wi_discover_count *found, const struct wi_batch_count *done)
{
	struct wi_batch_tell *t = ctx;
	char of[WI_FMT_LEN], a[WI_FMT_LEN], eta[64];
	uint64_t now;

	if (t->quiet)
		return;
	now = wi_now_ns();
	if (now - t->told_ns < (t->terminal ? DRAWN_EVERY_NS : LINE_EVERY_NS))
		return;
	t->told_ns = now;
	left(eta, sizeof(eta), t, now, found, done);
	fprintf(stderr, "%s%" PRIu64 " of %" PRIu64 " files, %s of %s, %" PRIu64 " refused, %" PRIu64 " failed%s%s",
		t->terminal ? "\r" : "wakeif: ", done->done, found->nr[WI_FINDING_TRACE],
		wi_fmt_bytes(a, sizeof(a), done->done_bytes), wi_fmt_bytes(of, sizeof(of), found->bytes),
		done->status[WI_RUN_REFUSED], failures(done), eta, t->terminal ? "\033[K" : "\n");
	t->shown = t->terminal;
}

void wi_batch_summary(FILE *out, const struct wi_discover_count *found, const struct wi_batch_count *done)
{
	uint64_t traces = found->nr[WI_FINDING_TRACE] - done->no_trace - done->no_row, others;
	uint64_t not_traces = found->nr[WI_FINDING_NOT_TRACE] + done->no_trace;
	uint64_t unreadable = found->nr[WI_FINDING_UNREADABLE] + done->no_row;
	uint64_t through = done->done - done->no_trace - done->no_row;

	fprintf(out, "%" PRIu64 " traces: ", traces);
	for (int i = 0; i < WI_NR_RUN_STATUSES; i++)
		fprintf(out, "%" PRIu64 " %s, ", done->status[i], wi_run_status_name((enum wi_run_status)i));
	fprintf(out, "%" PRIu64 " already in, %" PRIu64 " copies", done->known, done->copies);
	if (traces > through)
		fprintf(out, ", %" PRIu64 " not done", traces - through);
	others = not_traces + unreadable + found->nr[WI_FINDING_EMPTY] + found->nr[WI_FINDING_SPECIAL] +
		 found->nr[WI_FINDING_OTHER_SHARD];
	fprintf(out,
		"\n%" PRIu64 " others: %" PRIu64 " not traces, %" PRIu64 " empty, %" PRIu64 " special, %" PRIu64
		" unreadable",
		others, not_traces, found->nr[WI_FINDING_EMPTY], found->nr[WI_FINDING_SPECIAL], unreadable);
	if (found->nr[WI_FINDING_OTHER_SHARD])
		fprintf(out, ", %" PRIu64 " of other shards", found->nr[WI_FINDING_OTHER_SHARD]);
	fputc('\n', out);
	if (done->other_sides)
		fprintf(out, "%" PRIu64 " of the copies have other files beside them and were not analysed again\n",
			done->other_sides);
	if (done->kept_failures)
		fprintf(out, "%" PRIu64 " of those already in failed before: --retry tries them again\n",
			done->kept_failures);
	if (done->untagged)
		fprintf(out, "%" PRIu64 " traces match no --tag expression\n", done->untagged);
	if (done->bad_sides)
		fprintf(out, "%" PRIu64 " traces have tags that could not be used\n", done->bad_sides);
}
