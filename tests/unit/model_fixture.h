/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Asks a model about a machine state written as text.
 *
 * Words of a state: idle=LIST unknown=LIST pending=LIST allowed=LIST (default: all) recorded (affinity is recorded)
 *   nr=CPU:N,... queued tasks (default: 0 where idle, else 1)   since=CPU:NS,... idle since
 *   prev=CPU waker=CPU pid=N waker_pid=N sync (known to be set) nosync (known to be clear) fork
 *   load=CPU:N,... (cpu_load, queue_weight) runnable=CPU:N,... ticked=CPU:N,... (old_cpu_load) avg_idle=CPU:NS,...
 *   task=SLOT:N,... (task_load) util=CPU:N,... (cpu_util) overlap=SLOT:NS,... flips=SLOT:N,... wakee=SLOT by=SLOT budget=LLC:N,... (what the host's functions answer)
 * Cookies: slots below 40 none, 40-49 1, 50-59 2, others not known.
 */
#ifndef MODEL_FIXTURE_H
#define MODEL_FIXTURE_H

#include "models/params.h"

/* The model's answer; fails the test when text or spec is wrong. model: from model_fixture_new(). */
struct model_fixture;
struct model_fixture *model_fixture_new(const struct wakeif_topology *topo, const char *spec); /* topo: borrowed */
struct wakeif_choice model_fixture_ask(struct model_fixture *f, const char *state);
void model_fixture_observe(struct model_fixture *f, const struct wakeif_happening *h);
void model_fixture_free(struct model_fixture *f);

/* Asks and compares with "CPU rule", e.g. "3 prev"; fails the test with both when they differ. */
void model_expect(struct model_fixture *f, const char *state, const char *expected);

/* Each case is asked of a model of its own. */
struct model_case {
	const char *spec, *state, *expected;
};
void model_expect_all(const struct wakeif_topology *topo, const struct model_case *cases, size_t nr);

const char *model_rule_name(unsigned rule);

#endif
