/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Saved workloads: whole files (they begin with "wakeifwl"), or the contents of one without header and packing. What is
 * taken is run.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/sim/saved.h"
#include "analyzer/sim/sim.h"
#include "models/params.h"
#include "tests/fuzz/promises.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Much work and many CPUs cost time and say nothing new. */
static bool small(const struct wi_workload *w)
{
	uint64_t work_ns = 0;

	for (uint32_t i = 0; i < w->nr_tasks; i++)
		work_ns += w->task[i].work_ns < 1ull << 40 ? w->task[i].work_ns : 1ull << 40;
	return work_ns < 1000000000u && w->nr_ops < 5000 && w->topology->nr_cpus <= 64;
}

static void run(const struct wi_workload *w, uint64_t lot)
{
	static const char *const models[] = { "linux-6.1", "linux-6.12", "prev", "least-loaded", "linux-2.6.29" };
	uint32_t *cookie = calloc(w->nr_tasks + 1, sizeof(*cookie));
	struct wi_model_spec model;
	struct wi_err err = { 0 };
	struct wi_sim_result r;
	size_t at;

	for (uint32_t i = 0; cookie && i < w->nr_tasks; i++)
		cookie[i] = i % 3;
	must(wi_model_spec_parse(models[lot % 5], &model, &at, &err));
	const struct wi_sim_opts o = { .ops = model.ops,
				       .values = model.values,
				       .seed = 1,
				       .commit_ns = UINT64_MAX,
				       .pick = (enum wi_sim_pick)(lot / 5 % 4),
				       .external = (enum wi_sim_external)(lot / 20 % 3),
				       .noise = (enum wi_sim_noise)(lot / 60 % 2),
				       .host_cpus = w->host_cpus,
				       .power_mc = lot / 120 % 3,
				       .cookie = cookie,
				       .core_sched = cookie ? (enum wi_core_sched)(lot / 360 % WI_NR_CORE_SCHEDS) : 0 };
	bool ok = wi_sim_run(w, &o, &r, &err);

	must(ok ? err.code == WI_OK : err.code != WI_OK && err.msg[0]);
	must(!ok || (r.ops_done <= r.ops_total && (r.tasks_undone || r.ops_done == r.ops_total)));
	wi_sim_result_fini(&r);
	wi_model_spec_fini(&model);
	free(cookie);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	bool file = size >= 8 && !memcmp(data, "wakeifwl", 8);
	struct wi_err err = { 0 };
	struct wi_saved s;
	uint64_t lot = 0;
	bool ok;

	if (size > 1 << 20)
		return 0;
	ok = (file ? wi_saved_unpack : wi_saved_contents)(&s, data, size, "fuzz", &err);
	must(ok ? err.code == WI_OK : err.code != WI_OK && err.msg[0]);
	if (ok) {
		struct wi_bytes_out again = { 0 };

		must_be_sound(s.workload->topology);
		must(wi_workload_check(s.workload, &err));
		wi_saved_put(s.workload, &s.recorded, &again);
		must(again.failed || file || (again.nr == size && !memcmp(again.at, data, size)));
		free(again.at);
		for (size_t i = 0; i < size; i++)
			lot = lot * 31 + data[i];
		if (small(s.workload))
			run(s.workload, lot % 2160);
	}
	wi_saved_fini(&s);
	return 0;
}
