/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A topology as bytes, as it is: for files that must outlive its source. */
#ifndef WI_TOPOLOGY_FLAT_H
#define WI_TOPOLOGY_FLAT_H

#include "analyzer/base/bytes.h"
#include "analyzer/base/err.h"
#include "models/wakeif_model.h"

void wi_topology_pack(const struct wakeif_topology *t, struct wi_bytes_out *out);
/*
 * Checks everything that holders of a topology rely on. NULL: err set (WI_EREFUSED or no memory), without file and
 * offset. The caller's: wi_topology_free().
 */
const struct wakeif_topology *wi_topology_unpack(struct wi_bytes_in *in, struct wi_err *err);

#endif
