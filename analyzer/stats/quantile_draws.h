/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Resamples of a group's histograms: the buckets in which the quantiles of each resample lie. */
#ifndef WI_STATS_QUANTILE_DRAWS_H
#define WI_STATS_QUANTILE_DRAWS_H

#include "analyzer/stats/quantiles.h"

/* First bucket whose cumulative count is >= rank, from 1 to the histogram's count. */
uint32_t wi_hist_bucket_of_rank(const struct wi_hist *h, uint64_t rank);

/* Rank of the q-quantile of n values, n > 0: as wi_hist_quantile() takes it. */
uint64_t wi_quantile_rank(double q, uint64_t n);

/*
 * Over runs: run[nr_runs], none empty, are drawn with replacement; of the wakeups of all drawn ones, the quantiles.
 * bucket: [WI_NR_QUANTILES * nr], quantile by quantile. Needs 8 bytes for each run and bucket that is not empty. The
 * order of the runs makes no difference. false: out of memory.
 */
bool wi_draw_runs(const struct wi_hist *const *run, size_t nr_runs, const struct wi_hist *all, uint32_t nr,
		  uint64_t seed, uint64_t stream, uint32_t *bucket, struct wi_err *err);

/* Over the wakeups of one histogram that is not empty, as if each were independent of the others. */
bool wi_draw_wakeups(const struct wi_hist *h, uint32_t nr, uint64_t seed, uint64_t stream, uint32_t *bucket,
		     struct wi_err *err);

#endif
