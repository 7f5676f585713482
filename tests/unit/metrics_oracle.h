/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The metrics computed in the plainest way: state from the timeline's hooks, every sum anew for every stretch of time. */
#ifndef METRICS_ORACLE_H
#define METRICS_ORACLE_H

#include "analyzer/metrics/metrics.h"

struct mx_oracle;

/* Sits between the timeline and next (which is told everything too). */
struct mx_oracle *mx_oracle_new(const struct wakeif_topology *topo, struct wi_names *names, const struct wi_timeline_observer *next);
const struct wi_timeline_observer *mx_oracle_observer(struct mx_oracle *o);
void mx_oracle_bind(struct mx_oracle *o, struct wi_timeline *tl);

/* After wi_timeline_finish: fails the test at the first number that differs. */
void mx_oracle_check(struct mx_oracle *o, const struct wi_results *r);
void mx_oracle_free(struct mx_oracle *o);

#endif
