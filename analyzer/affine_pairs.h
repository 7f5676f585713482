/* SPDX-License-Identifier: GPL-2.0-or-later */
/* wake_affine outcomes split by who woke whom, from the verdicts of single wakeups. */
#ifndef WI_AFFINE_PAIRS_H
#define WI_AFFINE_PAIRS_H

#include "analyzer/metrics/metrics.h"

struct wi_affine_pair {
	uint32_t waker, wakee; /* name ids; the side that is not split by is WI_NAME_NONE */
	uint8_t context;       /* enum wakeif_context; names the waker where it was no task */
	uint64_t considered, cross_llc;
	uint64_t prev[WI_NR_DISTANCES], waker_distance[WI_NR_DISTANCES];
	struct wi_hist latency;
};

struct wi_affine_pairs;

/* by_waker, by_wakee: at least one. NULL: out of memory. */
struct wi_affine_pairs *wi_affine_pairs_new(bool by_waker, bool by_wakee);
void wi_affine_pairs_free(struct wi_affine_pairs *p);
/* For struct wi_metrics_opts.sink. Counts decided wakeups whose waker's CPU is not prev_cpu, as struct
 * wi_affine_results does. */
void wi_affine_pairs_sink(void *pairs, const struct wi_wakeup_verdict *v);
/* Rows by considered falling, then names as bytes. false: out of memory since the start. */
bool wi_affine_pairs_rows(struct wi_affine_pairs *p, const struct wi_names *names, const struct wi_affine_pair **row,
			  size_t *nr);

#endif
