/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Small traces of every container shape into a folder, and raw dumps (raw-le, raw-be), for tests that run whole
 * programs and as seeds for the fuzzers.
 *
 *   gen_shapes FOLDER [--tiny]     --tiny: a few events each, one page size
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "tests/gen/tracedat_writer.h"

static uint64_t seed = 1;

static uint32_t rnd(uint32_t n)
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(seed >> 33) % n;
}

static void switch_to(struct tdw *w, uint32_t buffer, uint32_t cpu, uint64_t ts, int32_t *current, int32_t next,
		      char state)
{
	struct wi_event ev = { .type = WI_EV_SCHED_SWITCH, .cpu = cpu, .ts_ns = ts, .common_pid = *current };
	char prev_comm[16], next_comm[16];

	ev.sw.prev_pid = *current;
	ev.sw.next_pid = next;
	ev.sw.prev_prio = ev.sw.next_prio = 120;
	ev.sw.prev_state = state;
	snprintf(prev_comm, 16, *current ? "task %d" : "swapper/%d", *current ? *current : (int)cpu);
	snprintf(next_comm, 16, next ? "task %d" : "swapper/%d", next ? next : (int)cpu);
	tdw_event(w, buffer, &ev, prev_comm, next_comm);
	*current = next;
}

static void wakeup(struct tdw *w, uint32_t buffer, uint32_t cpu, uint64_t ts, int32_t current, int32_t pid, uint32_t to)
{
	struct wi_event ev = { .type = WI_EV_SCHED_WAKING, .cpu = cpu, .ts_ns = ts, .common_pid = current };
	char comm[32];

	snprintf(comm, sizeof(comm), "task %d", pid);
	ev.wk.pid = pid;
	ev.wk.prio = 120;
	ev.wk.success = 1;
	ev.wk.target_cpu = (int32_t)to;
	tdw_event(w, buffer, &ev, comm, NULL);
	ev.type = WI_EV_SCHED_WAKEUP;
	ev.ts_ns += 100;
	tdw_event(w, buffer, &ev, comm, NULL);
}

/* One task a CPU that sleeps and is woken by the neighbour. */
static void fill(struct tdw *w, const struct tdw_cfg *cfg, uint32_t buffer, uint32_t rounds)
{
	int32_t *current = calloc(cfg->nr_cpus, sizeof(*current));
	uint64_t ts = 1000000000;

	if (!current)
		exit(1);
	for (uint32_t i = 0; i < rounds; i++) {
		for (uint32_t c = 0; c < cfg->nr_cpus; c++, ts += 1000 + rnd(5000)) {
			int32_t task = 100 + (int32_t)c;
			struct wi_event marker = {
				.type = WI_EV_MARKER, .cpu = c, .ts_ns = ts, .common_pid = current[c]
			};

			wakeup(w, buffer, (c + 1) % cfg->nr_cpus, ts, current[(c + 1) % cfg->nr_cpus], task, c);
			switch_to(w, buffer, c, ts + 500, &current[c], task, 'R');
			switch_to(w, buffer, c, ts + 900, &current[c], 0, "SDt"[rnd(3)]);
			if (i == 3 && !c) {
				marker.ts_ns = ts + 950;
				marker.common_pid = 0;
				marker.marker.text = "a marker";
				marker.marker.len = 8;
				tdw_event(w, buffer, &marker, NULL, NULL);
			}
			if (i == 5 && c == 1) {
				struct wi_event lost = { .type = WI_EV_LOST, .cpu = c, .lost = { .nr_lost = 12 } };

				tdw_event(w, buffer, &lost, NULL, NULL);
			}
		}
		ts += rnd(10) ? 0 : 300000000;
	}
	free(current);
}

static void write_one(const char *folder, const char *name, const struct tdw_cfg *cfg, uint32_t rounds)
{
	char path[4096];
	struct tdw *w = tdw_new(cfg);

	fill(w, cfg, 0, rounds);
	for (uint32_t i = 0; cfg->buffers[i]; i++)
		fill(w, cfg, i + 1, rounds * (i + 2));
	tdw_cmdline(w, 100, "task 100");
	snprintf(path, sizeof(path), "%s/%s", folder, name);
	tdw_finish(w, path);
}

int main(int argc, char **argv)
{
	const bool tiny = argc > 2 && !strcmp(argv[2], "--tiny");
	const uint32_t rounds = tiny ? 8 : 200;
	static const char *const codecs[] = { "none", "zlib", "zstd" };
	static const uint32_t pages[] = { 4096, 1024, 65536 };
	char name[128];

	if (argc < 2) {
		fprintf(stderr, "usage: %s FOLDER [--tiny]\n", argv[0]);
		return 2;
	}
	mkdir(argv[1], 0777);
	for (uint32_t version = 6; version <= 7; version++)
		for (uint32_t codec = 0; codec < (version == 7 ? 3u : 1u); codec++)
			for (int big = 0; big < 2; big++)
				for (uint32_t lng = 4; lng <= 8; lng += 4)
					for (int p = 0; p < (tiny ? 1 : 3); p++) {
						struct tdw_cfg cfg = { .version = version,
								       .codec = (enum tdw_codec)codec,
								       .big_endian = big,
								       .long_size = lng,
								       .page_bytes = tiny ? 1024 : pages[p],
								       .nr_cpus = 3,
								       .uname = "Linux h 6.1.0 x86_64",
								       .clock = "[local] global",
								       .success_field = lng == 4,
								       .loc_comm = big };

						snprintf(name, sizeof(name), "v%u-%s-%s-%u-%u.dat", version,
							 codecs[codec], big ? "be" : "le", lng * 8, cfg.page_bytes);
						write_one(argv[1], name, &cfg, rounds);
					}
	for (uint32_t version = 6; version <= 7; version++) {
		struct tdw_cfg cfg = { .version = version,
				       .codec = version == 7 ? TDW_ZSTD : TDW_NONE,
				       .long_size = 8,
				       .page_bytes = 4096,
				       .nr_cpus = 2,
				       .buffers = { "first", "second" },
				       .extra_common = true,
				       .kernel = TDW_KERNEL_4_11,
				       .uname = "Linux h 4.11.0 x86_64" };

		snprintf(name, sizeof(name), "v%u-buffers.dat", version);
		write_one(argv[1], name, &cfg, rounds / 4);
	}
	for (int big = 0; big < 2; big++) {
		struct tdw_cfg cfg = {
			.version = 6, .long_size = 8, .page_bytes = tiny ? 1024 : 4096, .nr_cpus = 2, .big_endian = big
		};
		struct tdw *w = tdw_new(&cfg);

		fill(w, &cfg, 0, rounds);
		snprintf(name, sizeof(name), "%.100s/raw-%s", argv[1], big ? "be" : "le");
		tdw_finish_raw(w, name);
	}
	return 0;
}
