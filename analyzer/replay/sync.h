/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * WF_SYNC learned from outcomes. The flag is not recorded, but it belongs to the code that wakes: to a pair of names
 * and a context. Where a model's answer turns with the flag and the kernel's choice is one of the two, the choice tells
 * the flag. Those votes are counted by waker's name, wakee's name and context.
 *
 * Two folds, by the number of the decision (even, odd): a decision is judged with the votes of the other fold, so none
 * judges itself. Where the other fold has no majority for the pair, its majority for the context decides, then its
 * majority for all; with none at all the flag is taken as not set.
 */
#ifndef WI_REPLAY_SYNC_H
#define WI_REPLAY_SYNC_H

#include <stdbool.h>
#include <stdint.h>

#include "models/wakeif_model.h"

enum wi_sync_source { WI_SYNC_BY_PAIR, WI_SYNC_BY_CONTEXT, WI_SYNC_BY_DEFAULT };

struct wi_sync_key {
	uint32_t waker, wakee; /* name ids */
	uint8_t context;       /* enum wakeif_context */
};

struct wi_sync_table;

#define WI_SYNC_PAIRS 262144u /* pairs kept; the votes of others count for their context only */

struct wi_sync_table *wi_sync_table_new(void); /* NULL: out of memory */
void wi_sync_table_free(struct wi_sync_table *t);

/* The outcome of decision number `decision` says that the flag was set, or not. false: out of memory. */
bool wi_sync_vote(struct wi_sync_table *t, const struct wi_sync_key *key, uint64_t decision, bool set);

/* Was the flag set at decision number `decision`, by what the other fold knows? */
bool wi_sync_ask(const struct wi_sync_table *t, const struct wi_sync_key *key, uint64_t decision,
		 enum wi_sync_source *source);

struct wi_sync_totals {
	uint64_t pairs, votes, votes_set;
};

struct wi_sync_totals wi_sync_totals(const struct wi_sync_table *t);

#endif
