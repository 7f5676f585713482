/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Metrics of a few lines of events (tests/unit/tl_fixture.h has their grammar) run through the real timeline; an oracle
 * that computes the same in the plainest way from the same hooks; and results as text, to compare them.
 */
#ifndef METRICS_FIXTURE_H
#define METRICS_FIXTURE_H

#include "analyzer/metrics/metrics.h"
#include "tests/unit/tl_fixture.h"

/* Runs the events; tl->topology must be set. oracle: check against the oracle, fail the test where they differ. */
struct wi_results *mx_run(const struct tl_fixture_opts *tl, const struct wi_metrics_opts *opts, const char *events, bool oracle);

/* Everything in r, names by text. The caller frees. */
char *mx_dump(const struct wi_results *r);

/* What must hold for any results of one trace; fails the test. */
void mx_invariants(const struct wi_results *r);

/* Pseudo-random numbers, the same everywhere. */
struct mx_rng {
	uint64_t state;
};
uint32_t mx_random(struct mx_rng *rng, uint32_t below);

/* A random but possible trace of nr actions, as event lines. lost: with gaps. The caller frees. */
char *mx_random_trace(struct mx_rng *rng, const struct wakeif_topology *topo, const struct wi_task_fact *facts, size_t nr_facts, int nr,
		      bool lost);

#endif
