/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Agreement of several recordings -> bytes: one row each, then the sums by kernel in full. */
#ifndef WI_REPORT_VALIDATE_POOL_H
#define WI_REPORT_VALIDATE_POOL_H

#include "analyzer/replay/validate_pool.h"
#include "analyzer/report/report.h"

struct wi_validate_pool_report { /* all borrowed */
	const struct wi_validated *one;
	size_t nr;
	const struct wi_validate_pool *pool;
	size_t nr_pools;
	const char *sync;    /* --sync as in effect */
	const char *version; /* of this program */
};

bool wi_validate_pool_text(FILE *out, const struct wi_validate_pool_report *p, struct wi_err *err);
void wi_validate_pool_json(FILE *out, const struct wi_validate_pool_report *p); /* doc/json.md */
void wi_validate_pool_csv(
	FILE *out,
	const struct wi_validate_pool_report *p); /* as wi_validate_csv(), with the recording or pool in front */

#endif
