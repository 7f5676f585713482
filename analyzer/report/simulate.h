/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Results of simulations -> bytes (doc/simulate.md): self-replay first, then policies against the baseline. */
#ifndef WI_REPORT_SIMULATE_H
#define WI_REPORT_SIMULATE_H

#include "analyzer/base/cookie_map.h"
#include "analyzer/report/report.h"
#include "analyzer/sim/compare.h"
#include "analyzer/workload/workload.h"

struct wi_simulate_report { /* all borrowed */
	const struct wi_workload *workload;
	const struct wi_self_replay *self;
	const struct wi_sim_policy *
		policy; /* [0] the baseline, recorded latencies; [1] the same, drawn; then what-ifs, then sensitivity */
	size_t nr_policies, first_what_if, nr_what_ifs, first_sensitivity, nr_sensitivity;
	const struct wakeif_topology *what_if_topology; /* of the what-ifs */
	const struct wi_tally_result *recorded;
	const char *notes; /* lines; "" none */
	uint32_t nr_seeds;
	bool verbose, idle_tables;
	const struct wi_cookie_map *cookies; /* NULL: none were given */
};

bool wi_simulate_text(FILE *out, const struct wi_simulate_report *r, struct wi_err *err);
void wi_simulate_json(struct wi_json *j, const struct wi_simulate_report *r); /* member .simulate */
void wi_simulate_csv(FILE *out, const struct wi_simulate_report *r);

#endif
