/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Runs of the simulated machine in processes of their own, as many at once as asked for. */
#ifndef WI_SIM_JOBS_H
#define WI_SIM_JOBS_H

#include "analyzer/sim/sim.h"

struct wi_sim_job {
	const struct wi_workload *workload;
	struct wi_sim_opts opts;
	const char *label;	      /* for messages */
	struct wi_sim_result *result; /* filled */
};

/* false: err set, the first job's that failed, in the order of jobs; results of others may be filled: finish them all.
 */
bool wi_sim_jobs(struct wi_sim_job *jobs, size_t nr, uint32_t at_once, struct wi_err *err);

#endif
