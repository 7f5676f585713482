/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "text_fixture.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#define BATCH 7 /* odd and small, so that batches end everywhere */

static char context_of(const struct wi_event *e)
{
	uint8_t f = e->common_flags;

	if (!(e->known & WI_KNOWN_FLAGS))
		return '-';
	if (f & WI_FLAG_NMI)
		return 'z';
	if ((f & WI_FLAG_HARDIRQ) && (f & WI_FLAG_SOFTIRQ))
		return 'H';
	return f & WI_FLAG_HARDIRQ ? 'h' : f & WI_FLAG_SOFTIRQ ? 's' : 't';
}

static void print_event(FILE *to, const struct wi_names *n, const struct wi_event *e)
{
	fprintf(to, "%" PRIu64 " %u %d", e->ts_ns, e->cpu, e->common_pid);
	if (e->common_tgid)
		fprintf(to, "/%d", e->common_tgid);
	fprintf(to, " %c%s %s", context_of(e), e->common_flags & WI_FLAG_IRQS_OFF ? "d" : "", wi_event_name(e->type));
	switch (e->type) {
	case WI_EV_SCHED_SWITCH:
		fprintf(to, " %s:%d/%d %c%s > %s:%d/%d", wi_names_get(n, e->sw.prev_comm), e->sw.prev_pid,
			e->sw.prev_prio, e->sw.prev_state,
			!(e->known & WI_KNOWN_PREEMPTED) ? "~"
			: e->sw.preempted		 ? "+"
							 : "",
			wi_names_get(n, e->sw.next_comm), e->sw.next_pid, e->sw.next_prio);
		break;
	case WI_EV_SCHED_WAKING:
	case WI_EV_SCHED_WAKEUP:
	case WI_EV_SCHED_WAKEUP_NEW:
		fprintf(to, " %s:%d/%d cpu=%d%s", wi_names_get(n, e->wk.comm), e->wk.pid, e->wk.prio, e->wk.target_cpu,
			e->wk.success ? "" : " failed");
		break;
	case WI_EV_SCHED_MIGRATE_TASK:
		fprintf(to, " %s:%d/%d %d>%d", wi_names_get(n, e->mig.comm), e->mig.pid, e->mig.prio, e->mig.orig_cpu,
			e->mig.dest_cpu);
		break;
	case WI_EV_SCHED_PROCESS_FORK:
		fprintf(to, " %s:%d > %s:%d", wi_names_get(n, e->fork.parent_comm), e->fork.parent_pid,
			wi_names_get(n, e->fork.child_comm), e->fork.child_pid);
		break;
	case WI_EV_SCHED_PROCESS_EXEC:
		fprintf(to, " %d was %d", e->exec.pid, e->exec.old_pid);
		break;
	case WI_EV_SCHED_PROCESS_EXIT:
		fprintf(to, " %s:%d/%d", wi_names_get(n, e->exit.comm), e->exit.pid, e->exit.prio);
		break;
	case WI_EV_CPU_IDLE:
		fprintf(to, " %d cpu=%u", (int)e->idle.state, e->idle.cpu_id);
		break;
	case WI_EV_SCHED_STAT_RUNTIME:
		fprintf(to, " %d %" PRIu64 " %" PRId64, e->stat.pid, e->stat.runtime_ns, (int64_t)e->stat.vruntime_ns);
		break;
	case WI_EV_HRTIMER_START:
	case WI_EV_HRTIMER_EXPIRE_ENTRY:
		fprintf(to, " %" PRIx64 " %" PRIu64, e->hrtimer.hrtimer, e->hrtimer.expires_ns);
		break;
	case WI_EV_SYS_ENTER:
	case WI_EV_SYS_EXIT:
		fprintf(to, " %" PRId64, e->sys.nr);
		break;
	case WI_EV_MARKER:
		fprintf(to, " '%.*s'", (int)e->marker.len, e->marker.text);
		break;
	case WI_EV_LOST:
		fprintf(to, " %" PRIu64, e->lost.nr_lost);
		break;
	}
	fputc('\n', to);
}

/* One format's calls, so that the same loop reads wi_text_ops and wi_source. */
struct reader {
	struct wi_source *src;
	void *text;
	struct wi_source_info info;
};

static int next_batch(struct reader *r, struct wi_event *ev, struct wi_err *err)
{
	return r->src ? wi_source_next_batch(r->src, ev, BATCH, err) : wi_text_ops.next_batch(r->text, ev, BATCH, err);
}

static char *read_all(struct reader *r, const struct wi_names *names, uint64_t *count, struct wi_err *err)
{
	struct wi_event ev[BATCH];
	uint64_t last = 0;
	size_t size;
	char *text;
	FILE *to = open_memstream(&text, &size);
	int n;

	assert_non_null(to);
	while ((n = next_batch(r, ev, err)) > 0) {
		for (int i = 0; i < n; i++) {
			assert_true(ev[i].type < WI_NR_EVENT_TYPES);
			assert_true(ev[i].cpu < 65536);
			if (ev[i].ts_ns < last)
				fail_msg("event at %" PRIu64 " after one at %" PRIu64, ev[i].ts_ns, last);
			last = ev[i].ts_ns;
			count[ev[i].type]++;
			print_event(to, names, &ev[i]);
		}
	}
	fclose(to);
	return text;
}

static void copy_info(const struct wi_source_info *info, struct text_run *run)
{
	snprintf(run->format, sizeof(run->format), "%s", info->format);
	snprintf(run->kernel, sizeof(run->kernel), "%s", info->kernel);
	snprintf(run->clock, sizeof(run->clock), "%s", info->clock);
	run->time_res_ns = info->time_res_ns;
	run->nr_cpus = info->nr_cpus;
	run->nr_damage = info->nr_damage;
	run->nr_buffers = info->nr_buffers;
	run->unparsed = info->unparsed;
	run->unknown_state_letters = info->unknown_state_letters;
	if (info->nr_damage)
		snprintf(run->first_damage, sizeof(run->first_damage), "%s", info->damage[0].what);
	for (uint32_t i = 0; i < info->nr_cpus && i < sizeof(run->cpu) / sizeof(*run->cpu); i++)
		run->cpu[i] = info->cpu[i];
}

static void run_twice(struct reader *r, const struct wi_names *names, struct text_run *run)
{
	uint64_t again_count[WI_NR_EVENT_TYPES] = { 0 };
	char *again;

	run->events = read_all(r, names, run->count, &run->err);
	copy_info(r->src ? wi_source_info(r->src) : &r->info, run);
	if (run->err.code)
		return;
	assert_true(r->src ? wi_source_rewind(r->src, &run->err) : wi_text_ops.rewind(r->text, &run->err));
	again = read_all(r, names, again_count, &run->err);
	assert_string_equal(run->events, again);
	assert_memory_equal(run->count, again_count, sizeof(again_count));
	free(again);
}

void text_run(const char *text, size_t len, const char *buffer, struct text_run *run)
{
	struct wi_names *names = wi_names_new();
	struct reader r = { .info = { .format = "", .kernel = "", .arch = "", .clock = "" } };
	struct wi_open_opts opts = { .buffer = buffer };
	int fd = memfd_create("text", 0);

	assert_true(fd >= 0);
	memset(run, 0, sizeof(*run));
	assert_int_equal(write(fd, text, len), (ssize_t)len);
	run->probe = wi_text_ops.probe((const uint8_t *)text, len < 65536 ? len : 65536, len);
	r.text = wi_text_ops.open(fd, len, "test.txt", &opts, names, &r.info, &run->err);
	if (r.text) {
		run_twice(&r, names, run);
		wi_text_ops.close(r.text);
	}
	wi_names_free(names);
	close(fd);
}

void text_run_file(const char *path, struct text_run *run)
{
	struct wi_names *names = wi_names_new();
	struct reader r = { 0 };

	memset(run, 0, sizeof(*run));
	r.src = wi_source_open(path, NULL, names, &run->err);
	if (r.src) {
		run_twice(&r, names, run);
		wi_source_close(r.src);
	}
	wi_names_free(names);
}

void text_run_free(struct text_run *run)
{
	free(run->events);
	run->events = NULL;
}

void text_expect(const char *text, const char *expected)
{
	struct text_run run;

	text_run(text, strlen(text), NULL, &run);
	if (!run.events)
		fail_msg("refused: %s", run.err.msg);
	if (strcmp(run.events, expected))
		fail_msg("events differ\n--- expected\n%s--- got\n%s", expected, run.events);
	text_run_free(&run);
}

const char *shared_path(const char *below)
{
	static char path[4096];
	const char *root = getenv("WAKEIF_SHARED");

	snprintf(path, sizeof(path), "%s/%s", root ? root : "../shared", below);
	if (!access(path, R_OK))
		return path;
	printf("skipped: %s is absent\n", path);
	return NULL;
}
