/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A text trace: read to its end, rewound, read again. The second pass must give the same events in the same order. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <sys/mman.h>
#include <unistd.h>

#include "analyzer/base/cpumask.h"
#include "parsers/source.h"

#define BATCH 61

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static uint64_t mix(uint64_t h, uint64_t v)
{
	return (h ^ v) * 0x9e3779b97f4a7c15u;
}

static uint64_t mix_name(uint64_t h, const struct wi_names *names, uint32_t id)
{
	return mix(h, strlen(wi_names_get(names, id)));
}

/* Touches all that an event holds, so that the sanitizers see it. */
static uint64_t digest(uint64_t h, const struct wi_names *names, const struct wi_event *e)
{
	h = mix(mix(mix(h, e->ts_ns), e->cpu), (uint64_t)e->type << 32 | (uint32_t)e->common_pid);
	h = mix_name(h, names, e->common_comm);
	switch (e->type) {
	case WI_EV_SCHED_SWITCH:
		h = mix_name(mix_name(h, names, e->sw.prev_comm), names, e->sw.next_comm);
		if (e->sw.prev_pid < 0 || e->sw.prev_pid > WI_PID_MAX || e->sw.next_pid < 0 ||
		    e->sw.next_pid > WI_PID_MAX)
			abort();
		return mix(h, (uint64_t)e->sw.prev_state);
	case WI_EV_SCHED_WAKING:
	case WI_EV_SCHED_WAKEUP:
	case WI_EV_SCHED_WAKEUP_NEW:
		if (e->wk.pid < 0 || e->wk.pid > WI_PID_MAX || e->wk.target_cpu < 0 ||
		    e->wk.target_cpu >= (int32_t)WI_MAX_CPUS)
			abort();
		return mix_name(h, names, e->wk.comm);
	case WI_EV_MARKER:
		for (uint32_t i = 0; i < e->marker.len; i++)
			h = mix(h, (uint8_t)e->marker.text[i]);
		return h;
	}
	return h;
}

static uint64_t read_all(void *t, const struct wi_names *names, struct wi_err *err)
{
	struct wi_event ev[BATCH];
	uint64_t h = 0, last = 0;
	int n;

	while ((n = wi_text_ops.next_batch(t, ev, BATCH, err)) > 0) {
		for (int i = 0; i < n; i++) {
			if (ev[i].ts_ns < last || ev[i].type >= WI_NR_EVENT_TYPES || ev[i].cpu >= WI_MAX_CPUS)
				abort();
			last = ev[i].ts_ns;
			h = digest(h, names, &ev[i]);
		}
	}
	return h;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct wi_source_info info = { .format = "", .kernel = "", .arch = "", .clock = "" };
	struct wi_names *names = wi_names_new();
	struct wi_err err = { 0 };
	int fd = memfd_create("fuzz", 0);
	void *t = NULL;

	wi_text_ops.probe(data, size, size);
	if (names && fd >= 0 && write(fd, data, size) == (ssize_t)size)
		t = wi_text_ops.open(fd, size, "fuzz", NULL, names, &info, &err);
	if (t) {
		uint64_t first = read_all(t, names, &err);

		if (!wi_text_ops.rewind(t, &err) || read_all(t, names, &err) != first)
			abort();
		for (uint32_t i = 0; i < info.nr_cpus; i++)
			if (info.cpu[i].first_pid > WI_PID_MAX)
				abort();
		wi_text_ops.close(t);
	} else if (!err.code) {
		abort();
	}
	wi_names_free(names);
	close(fd);
	return 0;
}
