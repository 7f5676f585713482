/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A trace.dat of any bytes: opened, read twice, asked for names. Both passes must be the same, and every event sane. */
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "analyzer/base/cpumask.h"
#include "parsers/source.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define BATCH 64
#define EVENTS_MAX 200000

static uint64_t mix(uint64_t h, uint64_t v)
{
	return (h ^ v) * 0x9e3779b97f4a7c15u;
}

/* Sum over all events; every one is checked. */
static uint64_t read_all(const struct wi_parser_ops *ops, void *self, const struct wi_source_info *info)
{
	struct wi_event ev[BATCH];
	struct wi_err err = { 0 };
	uint64_t sum = 1, last = 0, total = 0;
	int n;

	while (total < EVENTS_MAX && (n = ops->next_batch(self, ev, BATCH, &err)) > 0) {
		for (int i = 0; i < n; i++) {
			if (ev[i].ts_ns < last || ev[i].cpu >= info->nr_cpus || ev[i].type >= WI_NR_EVENT_TYPES)
				abort();
			if (ev[i].common_pid < 0 || ev[i].common_pid > WI_PID_MAX)
				abort();
			last = ev[i].ts_ns;
			sum = mix(mix(mix(sum, ev[i].ts_ns), ev[i].cpu), ev[i].type);
			if (ev[i].type == WI_EV_MARKER)
				for (uint32_t k = 0; k < ev[i].marker.len; k++)
					sum = mix(sum, (uint8_t)ev[i].marker.text[k]);
			if (ev[i].type == WI_EV_SCHED_SWITCH)
				sum = mix(mix(sum, (uint64_t)ev[i].sw.prev_pid), (uint64_t)ev[i].sw.next_pid);
		}
		total += (uint64_t)n;
	}
	for (uint32_t i = 0; i < info->nr_damage; i++)
		if (!memchr(info->damage[i].what, '\0', sizeof(info->damage[i].what)))
			abort();
	return sum;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct wi_parser_ops *ops = &wi_tracedat_ops;
	const struct wi_open_opts opts = { .reader = WI_READER_OWN };
	struct wi_source_info info = { .path = "fuzz", .kernel = "", .arch = "", .clock = "" };
	struct wi_names *names = wi_names_new();
	struct wi_err err = { 0 };
	int fd = memfd_create("fuzz", MFD_CLOEXEC);
	void *self;

	if (fd < 0 || !names || (size && pwrite(fd, data, size, 0) != (ssize_t)size))
		abort();
	self = ops->open(fd, size, "fuzz", &opts, names, &info, &err);
	if (self) {
		uint64_t first = read_all(ops, self, &info), damage = info.nr_damage;

		if (!ops->rewind(self, &err) || read_all(ops, self, &info) != first || info.nr_damage != damage)
			abort();
		ops->comm_of(self, 1);
		ops->close(self);
	} else if (err.code == WI_OK || !*err.msg || strchr(err.msg, '\n')) {
		abort();
	}
	close(fd);
	wi_names_free(names);
	return 0;
}
