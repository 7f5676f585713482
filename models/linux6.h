/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Models of 6.1 and later: what built-in code may know of them beyond their answers. */
#ifndef WI_MODELS_LINUX6_H
#define WI_MODELS_LINUX6_H

#include "models/fair_state.h"

/* state: what ops->init returned. NULL: not one of the models of models/linux6.c. */
struct wi_fair_state *wi_linux6_state(const struct wakeif_model_ops *ops, void *state);
struct wi_fair_state *wi_linux5_state(const struct wakeif_model_ops *ops, void *state); /* of models/linux5.c */

#endif
