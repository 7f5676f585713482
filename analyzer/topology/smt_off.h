/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A machine as it would be with SMT switched off. */
#ifndef WI_TOPOLOGY_SMT_OFF_H
#define WI_TOPOLOGY_SMT_OFF_H

#include "models/wakeif_model.h"

struct wi_err;

/* The first online CPU of each core stays, with its number. The caller's (wi_topology_free()). NULL: err set. */
const struct wakeif_topology *wi_topology_smt_off(const struct wakeif_topology *topo, struct wi_err *err);

#endif
