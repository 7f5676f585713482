/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The door of its own through which models with hindsight are known. */
#ifndef WI_MODELS_ORACLE_H
#define WI_MODELS_ORACLE_H

#include "models/wakeif_model.h"

/* Speed beside a busy sibling that the oracle reckons with, percent; 100: only the start counts; 0: no oracle. */
uint32_t wi_oracle_speed_percent(const struct wakeif_model_ops *ops, const void *state);

#endif
