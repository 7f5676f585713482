/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What fuzz targets share: a promise that is broken ends the program where a fuzzer sees it. */
#ifndef WI_FUZZ_PROMISES_H
#define WI_FUZZ_PROMISES_H

#include "analyzer/base/cpumask.h"
#include "models/wakeif_model.h"

static inline void must(bool truth)
{
	if (!truth)
		__builtin_trap();
}

/* Those of struct wakeif_topology that others rely on without checking. */
static inline void must_be_sound(const struct wakeif_topology *t)
{
	must(t->nr_cpus && t->nr_words == wi_mask_words(t->nr_cpus) && t->source && t->note);
	must(!wi_mask_empty(t->online, t->nr_words) && wi_mask_subset(t->online, t->present, t->nr_words));
	must(wi_mask_subset(t->isolated, t->present, t->nr_words));
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

#endif
