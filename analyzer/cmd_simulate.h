/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Shared by the files of wakeif simulate: options (_opts), what is to be run (_policies), reading, running, printing.
 */
#ifndef WI_CMD_SIMULATE_H
#define WI_CMD_SIMULATE_H

#include "analyzer/base/cookie_map.h"
#include "analyzer/cmd_workload.h"
#include "analyzer/sim/compare.h"
#include "analyzer/sim/sim.h"
#include "analyzer/sim/tally_recorded.h"
#include "models/params.h"

#define SIMULATE_SPEEDS 3u /* SMT speeds at which the what-ifs are repeated */

/* A workload taken from the trace again; its topology is that of its session. */
struct sensitive {
	struct wi_session s;
	struct wi_workload *w;
};

struct simulate_cmd {
	struct wi_workload_cmd c; /* first: it begins with the struct wi_opts of the option groups */
	uint32_t seeds, jobs;
	bool smt_off, no_preemption, no_sensitivity, idle_tables;
	const char *machine, *baseline;
	uint32_t power_mc, power_smt; /* levels 0 .. 2 */
	enum wi_core_sched core_sched;
	struct wi_cookie_map *map; /* of cookies; NULL: none was given */
	uint32_t *cookie;	   /* by task */
	uint32_t nr_unknown_cookies;
	bool power;
	enum wi_sim_external external;
	enum wi_sim_balance balance;
	enum wi_sim_pick pick;
	/* of a run */
	struct wi_session s;
	struct wi_workload *w;
	struct wi_tally_recorded *tally;
	struct wi_tally_result recorded;
	bool saved;			       /* from a saved workload: there is no trace, s is empty */
	const struct wakeif_topology *what_if; /* NULL: the recorded machine */
	struct wi_model_spec
		spec[WI_REPLAY_MODELS + 5]; /* those of the baseline, --power-savings and --core-sched, too */
	size_t core_spec;		    /* the kernel's model with core scheduling; 0: it has none */
	size_t nr_specs;
	struct wi_sim_policy *policy;
	struct wi_sim_opts *opts;		     /* by policy */
	const struct wi_workload **of;		     /* by policy: what it runs */
	struct sensitive sensitive[SIMULATE_SPEEDS]; /* the tapes at other SMT speeds */
	size_t nr_policies, room;
	size_t first_what_if, nr_what_ifs, first_sensitivity, nr_sensitivity;
	struct wi_self_replay self;
	char notes[2048];
};

/* Its input is a struct simulate_cmd with the defaults filled in. */
extern const struct argp wi_argp_simulate;

/* A line below the tables. */
void wi_simulate_note(struct simulate_cmd *c, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Everything that has to be run, from the options and the workload: baseline, what-ifs, sensitivity. */
bool wi_simulate_policies(struct simulate_cmd *c, struct wi_err *err);
void wi_simulate_policies_fini(struct simulate_cmd *c);

#endif
