/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Histograms of groups compared: quantile by quantile, and bars laid over each other. */
#ifndef WI_REPORT_QUANTILES_H
#define WI_REPORT_QUANTILES_H

#include "analyzer/report/diff.h"
#include "analyzer/report/table.h"

bool wi_quantiles_text(FILE *out, const struct wi_diff_report *r, const struct wi_diff_hist *h, struct wi_err *err);
bool wi_quantiles_markdown(FILE *out, const struct wi_diff_report *r, const struct wi_diff_hist *h, struct wi_err *err);
void wi_quantiles_json(struct wi_json *j, const struct wi_diff_report *r, const struct wi_diff_hist *h);
/* Rows of the table "quantiles" of one histogram; the caller wrote the header and gives the fields that come first. */
void wi_quantiles_csv(struct wi_csv *csv, const struct wi_diff_report *r, const struct wi_diff_stratum *s,
		      const struct wi_diff_hist *h);
#define WI_QUANTILES_CSV                                                                                               \
	"histogram,group,baseline,runs,runs_empty,count,quantile,ns,low_ns,high_ns,interval,diff_ns,diff_low_ns,"      \
	"diff_high_ns,ratio,ratio_low,ratio_high,diff_interval,significant"

#endif
