/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A workload as bytes, with its topology (doc/workload.md): the contents of a saved workload. */
#ifndef WI_WORKLOAD_PACK_H
#define WI_WORKLOAD_PACK_H

#include "analyzer/base/bytes.h"
#include "analyzer/workload/workload.h"

void wi_workload_pack(const struct wi_workload *w, struct wi_bytes_out *out);
/* Nothing in it is trusted. NULL: err set, without file and offset: in->pos is near. wi_workload_free() frees it. */
struct wi_workload *wi_workload_unpack(struct wi_bytes_in *in, struct wi_err *err);

#endif
