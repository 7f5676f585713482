/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What single change of its inputs would have made a decision come out as the kernel's did. Part of explain.c. */
#ifndef WI_REPLAY_EXPLAIN_TURNS_H
#define WI_REPLAY_EXPLAIN_TURNS_H

#include "analyzer/replay/explain.h"

/* *turns: allocated, NULL if there is none. false: out of memory. */
bool wi_explain_turns(const struct wi_fair_inputs *in, uint32_t kernel_cpu, struct wi_turn **turns, uint32_t *nr);

#endif
