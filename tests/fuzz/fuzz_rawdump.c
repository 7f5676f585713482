/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A tar of any bytes as a raw ring-buffer dump. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "parsers/source.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static uint64_t read_all(const struct wi_parser_ops *ops, void *self, const struct wi_source_info *info)
{
	struct wi_event ev[64];
	struct wi_err err = { 0 };
	uint64_t last = 0, total = 0;
	int n;

	while (total < 200000 && (n = ops->next_batch(self, ev, 64, &err)) > 0) {
		for (int i = 0; i < n; i++) {
			if (ev[i].ts_ns < last || ev[i].cpu >= info->nr_cpus || ev[i].type >= WI_NR_EVENT_TYPES)
				abort();
			last = ev[i].ts_ns;
		}
		total += (uint64_t)n;
	}
	return total;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct wi_parser_ops *ops = &wi_rawdump_ops;
	const struct wi_open_opts opts = { .max_spool_bytes = 16 << 20 };
	struct wi_source_info info = { .path = "fuzz", .kernel = "", .arch = "", .clock = "" };
	struct wi_names *names = wi_names_new();
	struct wi_err err = { 0 };
	int fd = memfd_create("fuzz", MFD_CLOEXEC);
	void *self;

	if (fd < 0 || !names || (size && pwrite(fd, data, size, 0) != (ssize_t)size))
		abort();
	ops->probe(data, size, size);
	if (size) {
		self = ops->open(fd, size, "fuzz", &opts, names, &info, &err);
		if (self) {
			uint64_t first = read_all(ops, self, &info);

			if (!ops->rewind(self, &err) || read_all(ops, self, &info) != first)
				abort();
			ops->comm_of(self, 1);
			ops->close(self);
		} else if (err.code == WI_OK || !*err.msg || strchr(err.msg, '\n')) {
			abort();
		}
	}
	close(fd);
	wi_names_free(names);
	return 0;
}
