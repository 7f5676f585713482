/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A metric over the values of a key -> bytes: days, kernels, commits of a bisection. */
#ifndef WI_REPORT_TREND_H
#define WI_REPORT_TREND_H

#include <stdio.h>

#include "analyzer/stats/bootstrap.h"
#include "analyzer/store/select.h"

struct wi_trend_point {
	const char *value; /* of the key; NULL: these runs tell none */
	size_t nr_runs;
	struct wi_describe of;
	bool has_previous;     /* an earlier point has values of the metric */
	struct wi_boot change; /* from that one to this */
};

struct wi_trend_series {
	const char *metric;
	struct wi_metric_info info;
	const struct wi_trend_point *point; /* in the key's order; the unknown last */
	size_t nr;
};

struct wi_trend_report { /* all borrowed */
	const char *version;
	const char *source, *by;
	const struct wi_trend_series *series;
	size_t nr_series;
	uint32_t resamples;
	uint64_t seed;
};

bool wi_trend_text(FILE *out, const struct wi_trend_report *r, struct wi_err *err);
bool wi_trend_json(FILE *out, const struct wi_trend_report *r, struct wi_err *err);
bool wi_trend_csv(FILE *out, const struct wi_trend_report *r, struct wi_err *err);

#endif
