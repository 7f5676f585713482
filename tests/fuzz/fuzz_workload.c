/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Saved workloads: whole files (they begin with "wakeifwl"), or the contents of one without header and packing. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/base/cpumask.h"
#include "analyzer/sim/saved.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool truth)
{
	if (!truth)
		__builtin_trap();
}

/* The promises of struct wakeif_topology that others rely on without checking. */
static void check_topology(const struct wakeif_topology *t)
{
	must(t->nr_cpus && t->nr_words == wi_mask_words(t->nr_cpus) && t->source && t->note);
	must(!wi_mask_empty(t->online, t->nr_words) && wi_mask_subset(t->online, t->present, t->nr_words));
	for (uint32_t c = 0; c < t->nr_cpus; c++) {
		bool present = wi_mask_test(t->present, c);

		for (int s = 0; s < WAKEIF_NR_SCOPES; s++) {
			uint32_t g = t->group[s][c];

			must(present ? g < t->nr_groups[s] && wi_mask_test(t->span[s][g], c) : g == UINT32_MAX);
			must(!present || !s ||
			     wi_mask_subset(t->span[s - 1][t->group[s - 1][c]], t->span[s][g], t->nr_words));
		}
		must(present ? t->package[c] < t->nr_packages : t->package[c] == UINT32_MAX);
		for (uint32_t d = 0; d < t->nr_domains[c]; d++)
			must(wi_mask_test(t->domains[c][d].span, c) && t->domains[c][d].name &&
			     wi_mask_subset(t->domains[c][d].span, t->present, t->nr_words));
		must(t->llc_size[c] >= 1 && t->llc_size[c] <= wi_mask_weight(t->present, t->nr_words));
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	bool file = size >= 8 && !memcmp(data, "wakeifwl", 8);
	struct wi_err err = { 0 };
	struct wi_saved s;
	bool ok;

	if (size > 1 << 20)
		return 0;
	ok = (file ? wi_saved_unpack : wi_saved_contents)(&s, data, size, "fuzz", &err);
	must(ok ? err.code == WI_OK : err.code != WI_OK && err.msg[0]);
	if (ok) {
		struct wi_bytes_out again = { 0 };

		check_topology(s.workload->topology);
		must(wi_workload_check(s.workload, &err));
		wi_saved_put(s.workload, &s.recorded, &again);
		must(again.failed || file || (again.nr == size && !memcmp(again.at, data, size)));
		free(again.at);
	}
	wi_saved_fini(&s);
	return 0;
}
