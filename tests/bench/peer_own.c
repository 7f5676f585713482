/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Our reader alone: every event of a file decoded and merged, nothing done with them.
 *
 *   peer_own FILE [own|libtracecmd]
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "parsers/source.h"

#define BATCH 512

static double cpu_seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

int main(int argc, char **argv)
{
	static struct wi_event ev[BATCH];
	struct wi_names *names = wi_names_new();
	struct wi_open_opts opts = { .reader = WI_READER_OWN };
	struct wi_err err = { 0 };
	struct wi_source *src;
	struct rusage ru;
	uint64_t events = 0, sum = 0;
	double open_s, all_s;
	int n;

	if (argc < 2 || !names) {
		fprintf(stderr, "usage: %s FILE [own|libtracecmd]\n", argv[0]);
		return 2;
	}
	if (argc > 2 && !strcmp(argv[2], "libtracecmd"))
		opts.reader = WI_READER_LIBTRACECMD;
	src = wi_source_open(argv[1], &opts, names, &err);
	if (!src) {
		fprintf(stderr, "%s\n", err.msg);
		return (int)err.code;
	}
	open_s = cpu_seconds();
	while ((n = wi_source_next_batch(src, ev, BATCH, &err)) > 0) {
		for (int i = 0; i < n; i++)
			sum += ev[i].ts_ns + ev[i].cpu + (uint32_t)ev[i].common_pid;
		events += (uint64_t)n;
	}
	all_s = cpu_seconds();
	getrusage(RUSAGE_SELF, &ru);
	printf("%s: %" PRIu64 " events, %.3f s CPU, %.2f M events/s, peak %ld KB (open %.1f ms; sum %" PRIx64 ")\n",
	       wi_source_info(src)->format, events, all_s - open_s, (double)events / (all_s - open_s) * 1e-6,
	       ru.ru_maxrss, open_s * 1e3, sum);
	wi_source_close(src);
	wi_names_free(names);
	return n < 0 ? (int)err.code : 0;
}
